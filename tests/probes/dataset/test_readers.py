"""Reading data files: formats, damage, bounds; and that what should not matter does not."""

from __future__ import annotations

import json
import os
import sqlite3
import struct
import time
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from traindoctor.engine.model import State
from traindoctor.probes.dataset import naming, thrift
from traindoctor.probes.dataset.manifest import Manifest, describe
from traindoctor.probes.dataset.measure import measure
from traindoctor.probes.dataset.media import Damaged, read_header
from traindoctor.probes.dataset.model import Bounds, DataSet
from traindoctor.probes.files import RunFile, RunUnreadable

from . import _make
from ._make import HEADER, csv, example, png, reading, record, table


def written(path: Path, data: bytes) -> RunFile:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return RunFile(path.parent, path.name, len(data))


# ------------------------------------------------------------------------------------------- headers

JPEG = (
    b"\xff\xd8\xff\xe0\x00\x04\x00\x00\xff\xc0\x00\x11\x08"
    + struct.pack(">HH", 30, 40)
    + b"\x03"
    + b"\x00" * 9
) + b"\xff\xda\x00\x02data\xff\xd9"
BMP = b"BM" + struct.pack("<IHHIIiiHH", 60, 0, 0, 54, 40, 40, 30, 1, 24) + b"\x00" * 30
GIF = b"GIF89a" + struct.pack("<HH", 40, 30) + b"\x00\x00\x00" + b"\x2c\x00\x3b"
WEBP = b"RIFF" + struct.pack("<I", 30) + b"WEBPVP8 " + b"\x00" * 10 + struct.pack("<HH", 40, 30) + b"\x00" * 8


@pytest.mark.parametrize(
    ("name", "data"),
    [("a.png", png(40, 30)), ("a.jpg", JPEG), ("a.bmp", BMP), ("a.gif", GIF), ("a.webp", WEBP)],
)
def test_headers_tell_the_size(name: str, data: bytes, tmp_path: Path) -> None:
    found = read_header(written(tmp_path / name, data))

    assert (found.width, found.height) == (40, 30)


@pytest.mark.parametrize(
    ("name", "data"), [("a.png", png(40, 30)), ("a.jpg", JPEG), ("a.gif", GIF), ("a.webp", WEBP)]
)
def test_a_file_cut_off_anywhere_is_damaged(name: str, data: bytes, tmp_path: Path) -> None:
    for at in range(len(data) - 1):
        with pytest.raises(Damaged):
            read_header(written(tmp_path / name, data[:at]))


def test_wav(tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "a.wav"), "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(16000)
        sound.writeframes(b"\x01\x00" * 800)
    whole = (tmp_path / "a.wav").read_bytes()

    assert read_header(written(tmp_path / "a.wav", whole)).shape == "16000 Hz, 1 channel"
    for at in (0, 10, 30, 43, 500):
        with pytest.raises(Damaged):
            read_header(written(tmp_path / "b.wav", whole[:at]))


# -------------------------------------------------------------------------------------------- tables


def test_csv_dialects(tmp_path: Path) -> None:
    """TSV, quoted line ends, a byte-order mark, no header, CR LF: one row is one sample in each."""
    (tmp_path / "a.tsv").write_text("x\tlabel\n1\tcat\n2\tdog\n")
    (tmp_path / "b.csv").write_text('text,label\n"two\nlines, one cell",1\n"other",0\n')
    (tmp_path / "c.csv").write_bytes("\ufeffx;label\r\n1;0\r\n2;1\r\n".encode())
    (tmp_path / "d.csv").write_text("1.5,2,0\n2.5,3,1\n")
    found = {p.files[0]: p for p in measure(tmp_path).parts}

    assert {f: p.rows for f, p in found.items()} == {"a.tsv": 2, "b.csv": 2, "c.csv": 2, "d.csv": 2}
    assert [c.name for c in found["c.csv"].columns] == ["x", "label"]
    assert not any(p.problem_count for p in found.values())


def test_rows_of_another_width_are_told_with_their_line(tmp_path: Path) -> None:
    rows = [",".join(map(str, r)) for r in table(40)]
    rows[17] = "1,2"
    (tmp_path / "train.csv").write_text("\n".join(["a,b,c,label", *rows, "3,4"]))

    found = reading("data-unreadable", tmp_path)

    assert found.value == 2
    assert [p.line for p in found.where] == [19, 42]


def test_json_lines(tmp_path: Path) -> None:
    lines = [json.dumps({"id": i, "text": f"sample {i}", "meta": {"label": i % 2}}) for i in range(30)]
    lines[5] = '{"id": 5, "text": '
    lines[9] = json.dumps({"id": 9, "text": "", "meta": {"label": 1}})
    (tmp_path / "train.jsonl").write_text("\n".join(lines))
    (part,) = measure(tmp_path).parts

    assert (part.rows, part.looked, part.problem_count) == (30, 29, 1)
    assert part.labels is not None
    assert dict(part.labels.counts) == {"1": 14, "0": 15} or dict(part.labels.counts) == {"0": 15, "1": 14}
    missing = reading("data-missing-values", tmp_path)
    assert missing.where[0].line == 10


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_the_order_of_rows_matters_only_to_order(seed: int) -> None:
    """Whatever is not about order says the same of shuffled rows."""
    import tempfile

    rows = table(200)
    rows[3][1], rows[9][0] = "", 5000.0
    rows += rows[:30]
    moved = rows[:]
    moved = [moved[i] for i in np.random.default_rng(seed).permutation(len(moved))]
    ordered = {"data-sorted-by-class"}
    with tempfile.TemporaryDirectory() as folder:
        sides = []
        for name, some in (("a", rows), ("b", moved)):
            csv(Path(folder) / name / "train.csv", HEADER, some)
            symptoms = [
                s for s in _make.rules().symptoms.values() if (s.probe or "").startswith("data_files.")
            ]
            found = {s.id: reading(s.id, Path(folder) / name) for s in symptoms if s.id not in ordered}
            sides.append({k: (r.state, r.value) for k, r in found.items()})

    assert {k: s for k, (s, _) in sides[0].items()} == {k: s for k, (s, _) in sides[1].items()}
    for key, (_, value) in sides[0].items():
        assert (
            value == pytest.approx(sides[1][key][1])
            if isinstance(value, float)
            else value == sides[1][key][1]
        )


# -------------------------------------------------------------------------------------------- arrays


def test_npz_of_two_splits(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(50, 3))
    np.savez(
        tmp_path / "data.npz",
        x_train=x[:40],
        y_train=np.arange(40) % 2,
        x_test=x[40:],
        y_test=np.arange(10) % 2,
    )
    parts = {p.split: p for p in measure(tmp_path).parts}

    assert {s: p.rows for s, p in parts.items()} == {"train": 40, "test": 10}
    assert all(p.labels is not None for p in parts.values())


def test_objects_are_never_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "x_train.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    found = reading("data-unreadable", tmp_path)

    assert "objects" in found.why


def test_an_array_cut_off_anywhere(tmp_path: Path) -> None:
    np.save(tmp_path / "x_train.npy", np.arange(12.0))
    whole = (tmp_path / "x_train.npy").read_bytes()
    for at in range(1, len(whole), 7):
        (tmp_path / "x_train.npy").write_bytes(whole[:at])

        assert reading("data-unreadable", tmp_path).state.value == "present"


def test_a_zip_cut_off(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.arange(100.0))
    whole = (tmp_path / "a.npz").read_bytes()
    for at in range(1, len(whole), 101):
        (tmp_path / "a.npz").write_bytes(whole[:at])

        assert reading("data-unreadable", tmp_path).state.value == "present"


# ------------------------------------------------------------------------------------------- records


def test_tfrecord(tmp_path: Path) -> None:
    rows = [example({"label": [i % 2], "x": [float(i), 1.0], "image": [bytes([i])]}) for i in range(60)]
    whole = b"".join(map(record, rows))
    (tmp_path / "train.tfrecord").write_bytes(whole)
    (part,) = measure(tmp_path).parts

    assert (part.rows, part.problem_count) == (60, 0)
    assert {c.name: c.number for c in part.columns} == {"label": True, "x": True, "image": False}
    assert part.labels is not None
    assert part.labels.counts == {"0": 30, "1": 30}
    (tmp_path / "train.tfrecord").write_bytes(whole[:-9])
    assert "cut off" in reading("data-unreadable", tmp_path).why
    (tmp_path / "train.tfrecord").write_bytes(whole[:30] + b"\xff" + whole[31:])
    assert "checksum" in reading("data-unreadable", tmp_path).why


def test_mindrecord_index(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "train.mindrecord.db")
    connection.execute("CREATE TABLE INDEXES (ROW_ID INT, SHARD_ID INT, label_0 INT)")
    connection.executemany("INSERT INTO INDEXES VALUES (?, 0, ?)", [(i, i % 3) for i in range(90)])
    connection.commit()
    connection.close()
    (part,) = measure(tmp_path).parts

    assert part.rows == 90
    assert part.labels is not None
    assert part.labels.counts == {"0": 30, "1": 30, "2": 30}
    whole = (tmp_path / "train.mindrecord.db").read_bytes()
    (tmp_path / "train.mindrecord.db").write_bytes(whole[:5000])
    assert reading("data-unreadable", tmp_path).state.value == "present"


def parquet(rows: int, names: list[str]) -> bytes:
    """A Parquet file as far as its footer: version 1, schema 2, rows 3 in Thrift's compact protocol."""

    def zigzag(value: int) -> bytes:
        return _make.varint(value << 1)

    def leaf(name: str) -> bytes:
        return b"\x48" + _make.varint(len(name)) + name.encode() + b"\x00"  # field 4 (delta 4), binary

    root = b"\x48\x01r\x15" + zigzag(len(names)) + b"\x00"  # name, then field 5: the number of children
    schema = b"\x19" + bytes([(len(names) + 1) << 4 | 12]) + root + b"".join(map(leaf, names))
    footer = b"\x15" + zigzag(1) + schema + b"\x16" + zigzag(rows) + b"\x00"
    return b"PAR1" + footer + struct.pack("<I", len(footer)) + b"PAR1"


def test_a_parquet_footer_by_hand(tmp_path: Path) -> None:
    from traindoctor.probes.dataset.stores import _footer

    whole = parquet(1234, ["a", "label"])

    assert _footer(written(tmp_path / "a.parquet", whole)) == (1234, ["a", "label"])
    for at in range(4, len(whole)):
        with pytest.raises(ValueError, match=r"footer|cut off"):
            _footer(written(tmp_path / "a.parquet", whole[:at]))


@given(st.binary(max_size=200))
def test_any_bytes_are_a_footer_or_refused(data: bytes) -> None:
    try:
        found = thrift.struct_of(data)
    except ValueError:
        return
    assert all(isinstance(k, int) for k in found)


# ------------------------------------------------------------------------------------------ manifests


def test_the_manifest_needs_no_numpy_and_appends(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"12345")
    for epoch in range(2):
        with Manifest(tmp_path / "m.jsonl", split="train", rank=3, epoch=epoch) as manifest:
            manifest.add(path=tmp_path / "a.bin", sample=b"12345", label="cat")
    rows = [json.loads(line) for line in (tmp_path / "m.jsonl").read_text().splitlines()]

    assert [r["epoch"] for r in rows] == [0, 1]
    assert rows[0]["size"] == 5
    assert rows[0]["rank"] == 3
    assert rows[0]["hash"] == describe(b"12345")["hash"]


def test_a_sample_that_is_no_array_is_refused() -> None:
    with pytest.raises(TypeError, match="not list"):
        describe([1, 2])


def test_tensors_are_brought_to_host_memory() -> None:
    class Tensor:
        def detach(self) -> Tensor:
            return self

        def cpu(self) -> Tensor:
            return self

        def numpy(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
            return np.array([1.0, 3.0])

    found = describe(Tensor())

    assert (found["low"], found["high"], found["mean"], found["shape"]) == (1.0, 3.0, 2.0, [2])


# --------------------------------------------------------------------------------------------- bounds


def within(seconds: float, path: Path, bounds: Bounds | None = None) -> DataSet:
    start = time.monotonic()
    found = measure(path, bounds)
    assert time.monotonic() - start < seconds
    return found


def test_a_sparse_table_of_a_hundred_gigabytes(tmp_path: Path) -> None:
    """Only stretches are looked at; the rest of the file is a hole."""
    csv(tmp_path / "train.csv", HEADER, table(2000))
    with (tmp_path / "train.csv").open("r+b") as file:
        file.truncate(100 * 1024**3)

    (part,) = within(30, tmp_path).parts

    assert not part.exact


def test_a_sparse_array_of_a_hundred_gigabytes(tmp_path: Path) -> None:
    """Mapped, and looked at in seeded blocks."""
    rows = 100 * 1024**3 // (64 * 4)
    with (tmp_path / "x_train.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f4", "fortran_order": False, "shape": (rows, 64)}
        )
        file.truncate(file.tell() + rows * 64 * 4)

    (part,) = within(30, tmp_path, Bounds(samples=20_000)).parts

    assert part.rows == rows
    assert 1000 < part.looked <= 21_000


def test_the_bound_of_bytes_is_said(tmp_path: Path) -> None:
    csv(tmp_path / "train.csv", HEADER, table(5000))
    csv(tmp_path / "val.csv", HEADER, table(5000, 1))

    found = measure(tmp_path, Bounds(bytes=100_000))

    assert any("looking ended" in n for n in found.notes)


def test_a_sample_is_the_same_for_one_seed(tmp_path: Path) -> None:
    csv(tmp_path / "train.csv", HEADER, table(20_000))
    first, again, other = (measure(tmp_path, Bounds(samples=2000, seed=s)).parts[0] for s in (1, 1, 2))

    assert first.columns[0].mean == again.columns[0].mean
    assert first.columns[0].mean != other.columns[0].mean
    assert not first.exact
    assert abs((first.rows or 0) - 20_000) < 1000


@pytest.mark.parametrize(
    "data", [b"\x00" * 5000, b'"' * 5000, b"a,b\n" + b"x" * 70_000, b"\xff\xfe\x00", b"{" * 3000]
)
def test_strangers_files_cost_a_note_at_most(data: bytes, tmp_path: Path) -> None:
    for suffix in (
        ".csv",
        ".jsonl",
        ".json",
        ".npy",
        ".npz",
        ".tfrecord",
        ".parquet",
        ".db",
        ".png",
        ".wav",
        ".arrow",
    ):
        (tmp_path / f"train{suffix}").write_bytes(data)
    (tmp_path / "manifest.jsonl").write_bytes(data)
    (tmp_path / "dataset_info.json").write_bytes(data)
    (tmp_path / "state.json").write_bytes(data)

    assert isinstance(measure(tmp_path), DataSet)


def test_links_out_are_not_followed(tmp_path: Path) -> None:
    csv(tmp_path / "else" / "train.csv", HEADER, table(20))
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "train.csv").symlink_to(tmp_path / "else" / "train.csv")

    found = measure(tmp_path / "set")

    assert found.parts == ()
    assert "leads out" in found.notes[0]


def test_no_such_path(tmp_path: Path) -> None:
    with pytest.raises(RunUnreadable):
        measure(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("path", "split"),
    [
        ("train.csv", "train"),
        ("data/train/x_val.npy", "eval"),
        ("X_test.npy", "test"),
        ("imagenet/train/n01440764/1.JPEG", "train"),
        ("constraint.csv", ""),
        ("trainTestSplit.csv", ""),
        ("data.csv", ""),
    ],
)
def test_splits_by_name(path: str, split: str) -> None:
    assert naming.split_of(path) == split


def test_a_file_that_grows_is_not_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its last row may be half written when it is read; one that rests and ends so is damaged."""
    from traindoctor.probes.dataset import tables

    path = tmp_path / "train.csv"
    path.write_text("a,b,c\n" + "".join(f"{i},{i * i},{i % 7}\n" for i in range(300)) + "7,")
    assert reading("data-unreadable", tmp_path).state is State.PRESENT

    whole = tables.read_csv

    def slow(*given: Any, **more: Any) -> Any:
        found = whole(*given, **more)
        with path.open("a") as handle:
            handle.write("8,9\n")
        later = path.stat().st_mtime + 7
        os.utime(path, (later, later))
        return found

    monkeypatch.setattr(tables, "read_csv", slow)
    (part,) = measure(tmp_path).parts
    assert not part.problems
    assert "written to" in part.notes[0]
