"""Damaged, hostile and huge logs."""

# ruff: noqa: E501  (the lines of logs are as long as they are)
from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindoctor.probes.readers import text_log
from traindoctor.probes.readers.text import lines, sieve
from traindoctor.probes.readers.text.analysis import analyse
from traindoctor.probes.readers.text.lines import lines_of
from traindoctor.probes.readers.text.log import Log
from traindoctor.probes.run import FileContent

from ._text import curve, file_of, points, read


def parse(data: bytes) -> FileContent:
    log = Log("train.log")
    log.feed(lines_of(data))
    return log.content()


LOG = (
    b"Namespace(lr=0.1, batch_size=32)\nEpoch 1/2\n"
    + b"".join(
        b"2024-01-01 10:00:%02d INFO step %d/50 loss: %.3f, lr: 1e-3, acc: 50.5%%\n" % (i, i, 3 - i / 50)
        for i in range(50)
    )
    + b"Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0\n"
    + b'val loss: 0.5\nTraceback (most recent call last):\n  File "a.py"\nValueError: In epoch: 1 step: 50, loss is NAN or INF\n'
)


@pytest.mark.parametrize("ends", [b"\r\n", b"\r\r\n", b"\r", b"\r\r"])
def test_line_ends(tmp_path: Path, ends: bytes) -> None:
    """Windows, doubled and old Macintosh line ends say the same as plain ones."""
    text = b"step 1 loss 2.0\nstep 2 loss 1.5\nstep 3 loss 1.0\n"

    assert points(read(tmp_path, text.replace(b"\n", ends)), "train/loss") == [(1, 2.0), (2, 1.5), (3, 1.0)]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le-bom"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    """A byte order mark and PowerShell's UTF-16 are understood."""
    text = "step 1 loss 2.0\nstep 2 loss 1.5\n"
    data = b"\xff\xfe" + text.encode("utf-16-le") if encoding == "utf-16-le-bom" else text.encode(encoding)

    assert points(read(tmp_path, data), "train/loss") == [(1, 2.0), (2, 1.5)]


def test_nul_tail_and_binary_in_the_middle(tmp_path: Path) -> None:
    """What a power loss or another process wrote costs only itself."""
    data = (
        b"step 1 loss 2.0\n" + bytes(range(128, 256)) + b"\x01\x02\n" + b"step 2 loss 1.5\n" + b"\x00" * 4096
    )
    content = read(tmp_path, data)

    assert points(content, "train/loss") == [(1, 2.0), (2, 1.5)]
    assert any("NUL" in note for note in content.notes)


def test_colours_and_titles(tmp_path: Path) -> None:
    """Terminal sequences are no part of the text."""
    text = "\x1b]0;user@host\x07\x1b[1;32mstep\x1b[0m \x1b[38;5;12m1\x1b[0m loss\x1b[K 2.0\n"

    assert points(read(tmp_path, text), "train/loss") == [(1, 2.0)]


def test_a_gigantic_line_is_passed_over(tmp_path: Path) -> None:
    """One line of megabytes costs itself and a note."""
    content = read(tmp_path, b"step 1 loss 2.0\n" + b"loss 3 " * 200_000 + b"\nstep 2 loss 1.5\n")

    assert points(content, "train/loss") == [(1, 2.0), (2, 1.5)]
    assert any("longer than" in note for note in content.notes)


ROW = "2024-05-01 10:00:0{i} INFO step {i}00/900 | loss {i}.25{i}0 | lr 3.00{i}e-04"


@pytest.mark.parametrize(
    ("end", "whole"),
    [
        ("", True),
        ("\n", True),
        (" | lr 3.005e-04", True),
        (" | lr 3.005e-0", False),
        (" | lr 3.005e", False),
        (" | lr 3", False),
        (" |", False),
        ("7", False),
    ],
)
def test_a_last_line_that_is_cut_off_is_left_out(tmp_path: Path, end: str, whole: bool) -> None:
    """Told by the rows before it; a last line that lacks nothing but its end is whole."""
    before = "".join(ROW.format(i=i) + "\n" for i in range(1, 7))
    last = ROW.format(i=7) + "\n"
    if end not in ("", "\n"):
        last = last[: last.index(" | lr")] + end if end != "7" else last[:60]
    content = read(tmp_path, before + (last.rstrip("\n") if end != "\n" else last))

    assert curve(content, "train/loss").steps.tolist() == [100.0 * i for i in range(1, 7 + whole)]
    assert content.notes == (() if whole else ("the last line (7) is incomplete and left out",))


def test_a_last_line_of_another_kind_is_no_cut(tmp_path: Path) -> None:
    """A shorter row that was seen before, numbers of any length, and words after the rows."""
    rows = "step 1 loss 2.5 lr 0.1\nstep 1 loss 2.25\nstep 2 loss 1.75 lr 0.1\nstep 2 loss 1.5"
    content = read(tmp_path, rows)
    assert len(curve(content, "train/loss")) == 4 and not content.notes

    content = read(tmp_path, "".join(f"step {i} loss {i / 8}\n" for i in range(5)) + "step 5 loss 6")
    assert len(curve(content, "train/loss")) == 6 and not content.notes

    content = read(tmp_path, "".join(f"step {i} loss {i / 8:.3f}\n" for i in range(5)) + "done")
    assert not content.notes


def test_truncation_anywhere() -> None:
    """A log that ends in the middle of a line gives the rows before it."""
    for cut in range(0, len(LOG), 37):
        content = parse(LOG[:cut])
        rows = LOG[:cut].count(b"acc: 50.5%\n")
        found = [s for s in content.series if s.raw == "loss" and s.split == ""]

        assert not rows or len(found[0].values) >= rows


@given(st.binary(max_size=400), st.integers(0, len(LOG)))
def test_garbage_never_stops_the_reader(garbage: bytes, at: int) -> None:
    """Bytes of any kind anywhere never raise."""
    parse(LOG[:at] + garbage + LOG[at:])


@given(st.text(alphabet="step los:=,|[]()/%.0123456789-+e\r\n nai'\"{}_", max_size=300))
def test_texts_that_look_like_rows_never_stop_the_reader(text: str) -> None:
    """Whatever is made of the characters of rows never raises, and arrays fit each other."""
    for series in parse(text.encode()).series:
        assert len(series.steps) == len(series.values)
        assert series.lines is not None and len(series.lines) == len(series.values)


numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(repr),
    st.integers(0, 10**6).map(str),
    st.sampled_from(["nan", "inf", "-inf", "1e-05", "3.E+2", "-0.0"]),
)


@given(
    st.lists(numbers, min_size=1, max_size=20),
    st.sampled_from(
        [
            "step {} loss {}",
            "step={}, loss={}",
            "Step: {} | Loss: {}",
            "{{'step': {}, 'loss': {}}}",
            "[{}/999999] loss: {}",
        ]
    ),
)
def test_every_value_comes_back(values: list[str], form: str) -> None:
    """What a script prints is what the curve holds, in order, also when shapes change in between."""
    text = "".join(form.format(i, v) + "\n" for i, v in enumerate(values))
    loss = next(s for s in parse(text.encode()).series if s.raw.lower() == "loss")

    assert loss.steps.tolist() == list(range(len(values)))
    np.testing.assert_array_equal(loss.values, np.array([float(v) for v in values]))


@given(st.lists(st.tuples(st.integers(0, 9999), st.floats(-1e6, 1e6)), min_size=4, max_size=12))
def test_the_quick_way_reads_like_the_slow_way(rows: list[tuple[int, float]]) -> None:
    """The regular expression of a shape finds the same numbers as the analysis of each line."""
    lines = [
        f"2024-01-01 10:00:00,123 - INFO - {{ Epoch:[ 1/ 5], step:[{s:5d}/ 9999], loss:[{v:.4g}/1.5], lr: {v / 7:.3e}}}".encode()
        for s, v in rows
    ]
    shape = analyse(lines[0])

    assert shape is not None
    for line in lines * 2:
        fresh = analyse(line)

        assert fresh is not None and shape.tokens(line) == fresh.tokens(line)


HOSTILE = {
    "blanks": b" " * 60_000 + b"loss 1\n",
    "blanks between": b"loss" + b" " * 7000 + b": 1\n",
    "digits": b"1" * 8000 + b"\nstep " + b"9" * 7000 + b" loss 1\n",
    "brackets": b"(" * 8000 + b"loss 1\n" + b"[" * 8000 + b"\n" + b"{'a':" * 1500 + b"\n",
    "names": b"loss:" * 1600 + b"1\n",
    "dots": b"a." * 4000 + b"\na" + b"." * 60 + b" " * 4000 + b"\n",
    "overflow": b"overflow " * 900 + b"\n",
    "resuming": b"resuming from " * 600 + b"\n",
    "nan": b"nan " * 2000 + b"loss\n",
    "failed": b"failed to load " * 500 + b"\n",
    "weights": b"weights " * 900 + b"\n",
    "commands": b"python " * 1000 + b" --x\n",
    "escapes": b"\x1b[" * 30_000 + b"\x1b]" + b"a" * 60_000,
    "carriage returns": b"\r".join(b"%d/1000 [..] loss %d" % (i, i) for i in range(5000)),
    "deep configuration": b"config:\n"
    + b"a: {" * 3000
    + b"\n"
    + b"- " * 3000
    + b"\nconfig:\nx = "
    + b"(" * 3000
    + b"\n",
    "aliases": b"config:\na: &a [x, y]\n" + b"".join(b"b%d: &b%d [*a, *a]\n" % (i, i) for i in range(500)),
    "articles": b"a " * 60_000 + b"\n" + b"with the " * 20_000 + b"\n",
    "names over no rule": b"a" * 120_000 + b"\n--- \n" + b"step 1 loss 2\n---\n" * 2000,
    "traceback": b"Traceback (most recent call last):\n" + b"A." * 4000 + b"\n" + b"A" * 8000 + b":\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_line_takes_long(name: str) -> None:
    """No text makes a pattern run away (seconds, where milliseconds are usual)."""
    begin = time.process_time()
    parse(HOSTILE[name])

    assert time.process_time() - begin < 3.0


def test_many_shapes_stay_bounded() -> None:
    """A log in which no two lines are alike is read all the same."""
    data = b"".join(
        b"key%s step %d loss_%s: %d\n" % (b"a" * (i % 40 + 1), i, b"b" * (i % 37 + 1), i) for i in range(2000)
    )

    assert sum(len(s) for s in parse(data).series) == 2000


def test_interleaved_shapes(tmp_path: Path) -> None:
    """Lines that differ only in digits of their names keep their own names."""
    text = "".join(f"step {i} loss_0: {i}.0\nstep {i} loss_1: {i}.5\n" for i in range(6))
    content = read(tmp_path, text)

    assert points(content, "train/loss/0")[-1] == (5, 5.0)
    assert points(content, "train/loss/1")[-1] == (5, 5.5)


def test_same_file_same_answer() -> None:
    """Reading is deterministic."""
    first, second = parse(LOG), parse(LOG)

    assert [s.raw for s in first.series] == [s.raw for s in second.series]
    assert (first.format, first.events, first.settings, first.notes) == (
        second.format,
        second.events,
        second.settings,
        second.notes,
    )


def test_nothing_readable_is_said(tmp_path: Path) -> None:
    """A file that turns out to hold nothing raises one sentence."""
    with pytest.raises(ValueError, match="no metrics"):
        text_log.read(file_of(tmp_path, "hello\nworld\n"))


def test_windows_are_kept(tmp_path: Path) -> None:
    """What one value stands for is said where it is known."""
    assert curve(read(tmp_path, "epoch: 1 step: 1, loss is 2.5\n"), "train/loss").window == "point"
    assert (
        curve(read(tmp_path, "Epoch 1/1\n8/8 [===] - 4s 1s/step - loss: 0.5\n"), "train/loss").window
        == "epoch-mean"
    )


def free_text(lines: int) -> list[bytes]:
    """Lines of which no two have one shape."""
    letters = [bytes([97 + at]) for at in range(26)]
    return [
        b"sample " + b"".join(letters[at // 26**p % 26] for p in range(4)) + b" was cut"
        for at in range(lines)
    ]


def test_free_text_without_end_costs_none_of_the_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that begin late, and a traceback, are found among lines that are passed over; that is said."""
    monkeypatch.setattr(sieve, "MANY", 50)
    text = free_text(3000)
    late = b"".join(
        b"%s\nepoch 1 step %d loss %.3f\n" % (text[at], at, 3 - at / 3000) for at in range(1000, 3000)
    )
    end = b"Traceback (most recent call last):\n  File 'a.py'\nValueError: wrong size\n"
    content = parse(b"\n".join(text[:1000]) + b"\n" + late + end)

    assert points(content, "train/loss")[-1] == (2999, 2.0)
    assert len(points(content, "train/loss")) >= 1999
    assert any(e.kind == "traceback" for e in content.events)
    assert any("of these a sample was read" in note for note in content.notes)


def test_all_is_read_of_a_log_with_few_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it is, nothing is passed over."""
    monkeypatch.setattr(sieve, "MANY", 50)
    content = parse(b"\n".join(free_text(40)) + b"\n" + b"step 1 loss 2.0\nstep 2 loss 1.5\n" * 2000)

    assert len(points(content, "train/loss")) == 4000 and not any("sample" in note for note in content.notes)


def test_of_rows_that_are_all_unlike_a_sample_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A curve of which each row names another file keeps its first rows and some of all others."""
    monkeypatch.setattr(sieve, "MANY", 100)
    rows = [b"step %d loss %.4f %s\n" % (at, 2 - at / 4000, line) for at, line in enumerate(free_text(4000))]
    steps = [step for step, _ in points(parse(b"".join(rows)), "train/loss")]

    assert steps[:100] == list(range(100)) and 120 <= len(steps) <= 200 and steps[-1] > 1000


@pytest.mark.parametrize("chunk", [40, 97, 1000])
def test_words_are_put_into_english_part_by_part(monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    """Where the parts end changes nothing, nor what the last line says."""
    rows = "".join(f"第{at}步 损失：{2 - at / 50:.2f} 学习率: 1e-3\n" for at in range(50))
    whole = parse(rows.encode() + "第50步 损失：1.00 学习率: 1e-3".encode())
    monkeypatch.setattr(lines, "CHUNK", chunk)
    parts = parse(rows.encode() + "第50步 损失：1.00 学习率: 1e-3".encode())

    assert points(parts, "train/loss") == points(whole, "train/loss")
    assert len(points(parts, "train/loss")) == 51
    assert curve(parts, "train/loss").lines is not None
    assert np.array_equal(curve(parts, "train/loss").lines, curve(whole, "train/loss").lines)


HEADS = (
    "[1/5] ",
    "[007] ",
    "Epoch 1/5 ",
    "(1/5) ",
    "[10/400] ",
    "1/5 ",
    "[1][10/400] ",
    "step 10: ",
    "it 10/40 ",
)


@pytest.mark.parametrize("first", HEADS)
@pytest.mark.parametrize("second", HEADS)
def test_any_two_counts_before_a_loss_are_read(first: str, second: str) -> None:
    """However a line counts, its loss is read: no beginning of a line costs the file."""
    rows = "".join(f"{first}{second}loss=0.{9 - i}\n" for i in range(3))
    assert [s.name for s in parse(rows.encode()).series] == ["loss"]
