"""Samples in MindRecord pages, in TFRecord as rows of a table, and in compressed tables."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import sqlite3
import struct
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from traindoctor.engine.model import State
from traindoctor.probes.dataset.measure import measure

from ._make import HEADER, csv, example, reading, record, table

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN
_HEADER, _PAGE = 4096, 65536


def mindrecord(path: Path, rows: Sequence[Sequence[object]]) -> None:
    """Three float32 in a blob and a label in msgpack, laid out as MindSpore's FileWriter does it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fields = {"data": {"type": "float32", "shape": [-1]}, "label": {"type": "int64"}}
    header = json.dumps(
        {
            "header_size": _HEADER,
            "page_size": _PAGE,
            "compression_size": 0,
            "schema": [{"blob_fields": ["data"], "schema": fields}],
        }
    ).encode()
    blobs, raws = b"", b""
    with sqlite3.connect(f"{path}.db") as index:
        index.execute(
            "CREATE TABLE INDEXES(ROW_ID INT, PAGE_ID_RAW INT, PAGE_OFFSET_RAW INT, PAGE_OFFSET_RAW_END INT,"
            " ROW_GROUP_ID INT, PAGE_ID_BLOB INT, PAGE_OFFSET_BLOB INT, PAGE_OFFSET_BLOB_END INT,"
            " INC_0 INT, label_0 INTEGER)"
        )
        for i, row in enumerate(rows):
            numbers = np.array(row[:3], dtype="<f4").tobytes()
            blob = struct.pack("<Q", len(numbers)) + numbers
            packed = b"\x81\xa5label" + bytes([int(str(row[3]))])
            raw = struct.pack("<Q", len(packed)) + packed
            at = (1, len(raws), len(raws) + len(raw), 0, 0, len(blobs), len(blobs) + len(blob))
            index.execute("INSERT INTO INDEXES VALUES (?,?,?,?,?,?,?,?,0,?)", (i, *at, int(str(row[3]))))
            blobs, raws = blobs + blob, raws + raw
    index.close()
    head = (struct.pack("<Q", len(header)) + header).ljust(_HEADER, b"\0")
    path.write_bytes(head + blobs.ljust(_PAGE, b"\0") + raws)


def test_samples_of_mindrecord_are_read(tmp_path: Path) -> None:
    rows = table(300)
    mindrecord(tmp_path / "train.mindrecord", rows)
    mindrecord(tmp_path / "val.mindrecord", [*table(60, 1), *rows[:20]])

    train = measure(tmp_path).of("train")[0]

    assert (train.rows, train.looked) == (300, 300)
    assert [c.name for c in train.columns] == ["data[0]", "data[1]", "data[2]", "label"]
    assert train.columns[0].mean == pytest.approx(np.mean([float(str(r[0])) for r in rows]), abs=1e-6)
    assert reading("duplicate-samples-across-splits", tmp_path).value == pytest.approx(0.25)
    assert reading("data-missing-values", tmp_path).state is A
    assert reading("data-unreadable", tmp_path).state is A


def test_mindrecord_with_nan_and_outliers(tmp_path: Path) -> None:
    rows = table(300)
    rows[5][0], rows[9][1] = float("nan"), 1e6
    mindrecord(tmp_path / "train.mindrecord", rows)

    assert reading("data-missing-values", tmp_path).state is P
    assert reading("data-outliers", tmp_path).state is P


def test_mindrecord_that_is_cut_off_or_no_such_file(tmp_path: Path) -> None:
    file = tmp_path / "train.mindrecord"
    mindrecord(file, table(300))
    whole = file.read_bytes()
    for data in (whole[:-200], whole[: _HEADER + 500], whole[:50], b"", b"\xff" * 5000):
        file.write_bytes(data)
        assert reading("data-unreadable", tmp_path).state is P

    file.unlink()
    assert measure(tmp_path).parts[0].rows == 300
    assert reading("data-missing-values", tmp_path).state is U


def test_short_features_of_tfrecord_are_rows(tmp_path: Path) -> None:
    """A column that is the label is told as in a table; vectors count by their numbers."""
    rows = table(300)
    floats = [[float(str(v)) for v in r[:3]] for r in rows]
    some = [
        example({"x": x, "code": [7.5 if r[3] else 2.5], "label": [int(str(r[3]))]})
        for x, r in zip(floats, rows, strict=True)
    ]
    (tmp_path / "train.tfrecord").write_bytes(b"".join(map(record, some)))

    names = [c.name for c in measure(tmp_path).parts[0].columns]
    assert names == ["code", "label", "x[0]", "x[1]", "x[2]"]
    assert reading("data-column-is-label", tmp_path).state is P
    assert reading("data-duplicates", tmp_path).state is A


def test_pictures_in_tfrecord_are_no_rows(tmp_path: Path) -> None:
    some = [example({"image": [bytes([i, 200, 0, 255]) * 50], "label": [i % 2]}) for i in range(80)]
    (tmp_path / "train.tfrecord").write_bytes(b"".join(map(record, some + some[:20])))

    found = reading("data-duplicates", tmp_path)

    assert found.state is P
    assert found.value == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("ending", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)]
)
def test_compressed_tables(ending: str, pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    rows = table(300)
    rows[4][1] = ""
    csv(tmp_path / "plain" / "train.csv", HEADER, rows)
    (tmp_path / "set").mkdir()
    packed = tmp_path / "set" / f"train.csv.{ending}"
    packed.write_bytes(pack((tmp_path / "plain" / "train.csv").read_bytes()))

    (part,) = measure(tmp_path / "set").parts
    assert (part.split, part.rows, part.whole) == ("train", 300, True)
    assert reading("data-missing-values", tmp_path / "set").value == 1
    assert reading("data-unreadable", tmp_path / "set").state is A

    packed.write_bytes(packed.read_bytes()[:-20])
    assert reading("data-unreadable", tmp_path / "set").state is P


def test_compressed_lines_and_what_is_no_table(tmp_path: Path) -> None:
    lines = "".join(json.dumps({"text": f"a {i}", "label": i % 2}) + "\n" for i in range(50))
    (tmp_path / "train.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (tmp_path / "notes.txt.gz").write_bytes(gzip.compress(b"nothing"))
    (tmp_path / "val.csv.gz").write_bytes(b"no gzip at all")

    found = measure(tmp_path)

    assert [(p.format, p.rows) for p in found.parts] == [("JSON lines", 50)]
    assert [name for name, _ in found.not_read] == ["val.csv.gz"]


def test_a_bomb_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from traindoctor.probes.dataset import packed

    monkeypatch.setattr(packed, "MOST", 2 * 1024**2)
    monkeypatch.setattr(packed, "PIECE", 65536)
    (tmp_path / "train.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 2_000_000))

    (part,) = measure(tmp_path).parts

    assert not part.exact
    assert part.looked < 600_000
    assert any("first 2 MiB" in n for n in part.notes)
