"""Damaged, hostile and huge files, for every reader that is registered: nothing here names one."""

from __future__ import annotations

import json
import math
import os
import random
import tracemalloc
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from time import process_time

import pytest

from traindoctor.probes.assembly import kinds
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.assembly.contents import READERS
from traindoctor.probes.files import RunFile, RunUnreadable, decode
from traindoctor.probes.run import Run

from ._golden import GOLDEN, content_of, data_of, golden_files, placed, points, tried

ALL = golden_files()
IDS = [f"{name}-{path.rpartition('/')[2]}" for name, path in ALL]
MIB = 1024**2
SMALL = 2048  # each format has a golden file of at most this size
each_file = pytest.mark.parametrize(("name", "path"), ALL, ids=IDS)


def is_text(data: bytes) -> bool:
    return b"\0" not in data and decode(data).encode() == data


TEXTS = [(n, p) for n, p in ALL if is_text(data_of(n, p))]
each_text = pytest.mark.parametrize(
    ("name", "path"), TEXTS, ids=[f"{n}-{p.rpartition('/')[2]}" for n, p in TEXTS]
)


def same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


@each_file
def test_cut_off_at_every_byte(tmp_path: Path, name: str, path: str) -> None:
    """What is left is a beginning of the whole: no point that is not in it, but for the one that was cut."""
    data, whole = data_of(name, path), points(content_of(name, path))
    most = 0
    for end in range(0, len(data), 1 if len(data) <= SMALL else 7):
        content, _ = tried(placed(tmp_path, path, data[:end]))
        for key, found in points(content).items():
            if key in whole:
                full = whole[key]
                assert len(found) <= len(full), (end, key)
                pairs = zip(found[:-1], full, strict=False)
                assert all(same(a[0], b[0]) and same(a[1], b[1]) for a, b in pairs), (end, key)
        most = max(most, sum(map(len, points(content).values())))

    assert most >= sum(map(len, whole.values())) - len(whole) or len(data) > SMALL


@each_file
def test_flipped_bits(tmp_path: Path, name: str, path: str) -> None:
    """Two hundred single flips and fifty bursts cost what they hit; nothing crashes."""
    draw = random.Random(5)  # noqa: S311
    data = data_of(name, path)
    for at in range(250):
        broken = bytearray(data)
        for _ in range(1 if at < 200 else 20):
            broken[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        tried(placed(tmp_path, path, bytes(broken)))


def encodings(text: str) -> Iterator[tuple[str, bytes, bool]]:
    """(name, bytes, whether it must be read like the original)."""
    yield "byte order mark", text.encode("utf-8-sig"), True
    yield "UTF-16 with its mark", text.encode("utf-16"), True
    yield "UTF-16 big endian with its mark", b"\xfe\xff" + text.encode("utf-16-be"), True
    yield "UTF-16 without a mark", text.encode("utf-16-le"), False
    yield "latin-1", text.encode("latin-1", errors="replace").replace(b"e", b"\xe9"), False
    yield "UTF-32", text.encode("utf-32"), False
    yield "line ends of Windows", text.replace("\n", "\r\n").encode(), True


@each_text
def test_encodings(tmp_path: Path, name: str, path: str) -> None:
    """Files with a mark are read like the original; the others are read or refused, without a crash."""
    text, whole = data_of(name, path).decode(), content_of(name, path)
    for kind, data, alike in encodings(text):
        content, reason = tried(placed(tmp_path, path, data))
        if alike:
            assert content is not None, (kind, reason)
            assert points(content).keys() == points(whole).keys(), kind
            assert [s.key for s in content.settings] == [s.key for s in whole.settings], kind


@each_text
def test_gigantic_lines(tmp_path: Path, name: str, path: str) -> None:
    """A line of four megabytes before, within or after the rest takes no more than seconds.

    Each filling stands at one of the three places, another one in the next file.
    """
    data = data_of(name, path)
    middle = data.find(b"\n", len(data) // 2) + 1
    fillings = (b"x", b"[", b"0 ", b'{"loss": ', b"loss=1, ", b"- ")
    for n, filling in enumerate(fillings, TEXTS.index((name, path))):
        long = filling * (4 * MIB // len(filling))
        at = (0, middle, len(data))[n % 3]
        began = process_time()
        tried(placed(tmp_path, path, data[:at] + long + b"\n" * (at < len(data)) + data[at:]))
        assert process_time() - began < 20, filling


@each_text
def test_nesting_without_end(tmp_path: Path, name: str, path: str) -> None:
    """Brackets, keys and indentation a hundred thousand deep, alone or after the file, in turns."""
    deep = 100_000
    nests = (
        "[" * deep,
        '{"a":' * deep + "1" + "}" * deep,
        "".join(" " * k + f"k{k}:\n" for k in range(1500)),
        "- " * deep + "1",
        "a: " + "{b: " * deep,
        "x = " + "(" * deep + ")" * deep,
        "x = " + "-" * deep + "1",
        "a: &a [*a]\nb: &b [*a, *a]\nc: [*b, *b]\n",
        "a: &a "
        + "[x, x, x, x, x, x, x, x, x]\n"
        + "".join(
            f"{c}: &{c} [{', '.join([f'*{b}'] * 9)}]\n" for b, c in zip("abcdefgh", "bcdefghi", strict=True)
        ),
    )
    for n, nest in enumerate(nests, TEXTS.index((name, path))):
        before = data_of(name, path) + b"\n" if n % 2 else b""
        began = process_time()
        tried(placed(tmp_path, path, before + nest.encode()))
        assert process_time() - began < 20, nest[:20]


@each_file
def test_blocks_of_nul(tmp_path: Path, name: str, path: str) -> None:
    """A power cut leaves zeros: behind a file they cost nothing, within it what they overwrote."""
    data = data_of(name, path)
    content, _ = tried(placed(tmp_path, path, data + bytes(8192)))
    if name not in ("hf_trainer", "json_log", "config_file", "script"):
        assert points(content).keys() == points(content_of(name, path)).keys()
    half = len(data) // 2
    tried(placed(tmp_path, path, data[:half] + bytes(4096) + data[half:]))
    tried(placed(tmp_path, path, bytes(len(data))))


@each_file
def test_a_sparse_file_is_bounded(tmp_path: Path, name: str, path: str) -> None:
    """A file with a hole of 48 MiB takes bounded memory and seconds; one beyond the limit is not opened."""
    file = placed(tmp_path, path, data_of(name, path))
    size = file.size + 48 * MIB
    os.truncate(tmp_path / path, size)
    began = process_time()
    tracemalloc.start()
    try:
        tried(RunFile(tmp_path, path, size))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 5 * size
    assert process_time() - began < 30

    os.truncate(tmp_path / path, 3 * 1024**3)
    assert "larger than" in tried(RunFile(tmp_path, path, 3 * 1024**3))[1]


def test_an_archive_that_grows_when_opened(tmp_path: Path) -> None:
    """Archives that a reader opens are unpacked as far as is sane: a bomb costs no memory."""
    opened = [(n, p) for n, p in ALL if data_of(n, p).startswith(b"PK")]
    assert opened
    for _, path in opened:
        packed = BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            archive.writestr("archive/data.pkl", bytes(256 * MIB))
        file = placed(tmp_path, path, packed.getvalue())
        tracemalloc.start()
        try:
            content, reason = tried(file)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert content is None and "damaged" in reason
        assert peak < 64 * MIB


# ------------------------------------------------------------------------------------------ run directories


def everything(root: Path) -> None:
    """A run directory with all golden files, each reader's below a folder of its own."""
    for name, path in ALL:
        placed(root / name, path, data_of(name, path))


def notes_of(run: Run) -> str:
    return json.dumps([run.info.notes, run.info.not_read])


def test_what_is_no_regular_file_is_passed_over(tmp_path: Path) -> None:
    """Pipes, links out, links in circles and links to nowhere neither block nor lead anywhere."""
    root = tmp_path / "run"
    everything(root)
    plain = open_run(root)
    secret = tmp_path / "secret.log"
    secret.write_text("step 1 loss 1.0\nstep 2 loss 1.0\n")
    for folder in ("", *sorted({name for name, _ in ALL})):
        os.mkfifo(root / folder / "pipe.log")
        (root / folder / "out.log").symlink_to(secret)
        (root / folder / "loop").symlink_to(root)
        (root / folder / "self.log").symlink_to(root / folder / "self.log")
        (root / folder / "nowhere.log").symlink_to(root / folder / "missing")
    run = open_run(root)

    assert run.info.files_read == plain.info.files_read
    assert notes_of(run).count("leads out of the run directory") == len({name for name, _ in ALL}) + 1


def test_files_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without permission is named with the reason; the rest is read."""
    everything(tmp_path)
    plain = open_run(tmp_path).info
    opened = RunFile.open
    for lost in plain.files_read:

        def refusing(self: RunFile, lost: str = lost) -> object:
            if self.path == lost:
                raise PermissionError(13, "Permission denied")
            return opened(self)

        monkeypatch.setattr(RunFile, "open", refusing)
        info = open_run(tmp_path).info
        assert lost not in info.files_read
        assert (lost, "Permission denied") in info.not_read, lost
        assert set(plain.files_read) - {lost} <= set(info.files_read)


def test_files_that_vanish_while_the_run_is_read(tmp_path: Path) -> None:
    """Each file in turn is gone when its turn comes: it is named, the rest is read."""
    everything(tmp_path)
    plain = open_run(tmp_path).info
    for lost in plain.files_read:
        data = (tmp_path / lost).read_bytes()
        info = open_run(
            tmp_path, progress=lambda path, *_, lost=lost: _remove(tmp_path / lost, path == lost)
        ).info
        (tmp_path / lost).write_bytes(data)
        assert lost not in info.files_read
        assert any(path == lost for path, _ in info.not_read), lost
        assert set(plain.files_read) - {lost} <= set(info.files_read)


def _remove(path: Path, now: bool) -> None:
    if now:
        path.unlink(missing_ok=True)


def test_files_that_grow_while_the_run_is_read(tmp_path: Path) -> None:
    """A run that still trains: what is there when a file's turn comes is read, half a record included."""
    everything(tmp_path)
    plain = open_run(tmp_path).info

    written: set[str] = set()

    def write_on(path: str, *_: float) -> None:
        if path in written:
            return
        written.add(path)
        file = tmp_path / path
        data = file.read_bytes()
        file.write_bytes(data + data[-max(1, len(data) // 3) :][:-1])

    info = open_run(tmp_path, progress=write_on).info
    whole = {p for p in plain.files_read if p.endswith((".log", ".jsonl", ".csv", ".wandb", ".0", "_MS"))}
    assert whole <= set(info.files_read)
    assert not [why for _, why in info.not_read if why.startswith("reader error")]


@each_file
def test_half_a_file_alone_is_a_run_or_unreadable(tmp_path: Path, name: str, path: str) -> None:
    """Cut in half, a file is a run, or one sentence says why it is none."""
    data = data_of(name, path)
    placed(tmp_path, path, data[: len(data) // 2])
    with suppress(RunUnreadable):
        open_run(tmp_path)


def test_the_golden_files_are_small_and_asked_about() -> None:
    """The tests above read each of them thousands of times."""
    for reader in READERS:
        assert min(len(data_of(name, path)) for name, path in ALL if name == reader) <= SMALL
    for name, path in ALL:
        assert len(data_of(name, path)) <= 8192, (GOLDEN / name / path).name
        file = RunFile(GOLDEN / name, path, 1)
        card = (name, file.name) == (
            "model_card",
            "README.md",
        )  # the one prose file that a reader is asked about
        assert card or kinds.passed_over(file.name, file.suffix) is None
