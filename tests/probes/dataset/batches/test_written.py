"""Batches that were dumped as text, held against the benchmark's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from traindoctor.engine.model import State

from .._make import csv, reading

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN


def tables(root: Path, edit: Any = lambda x: x, folder: str = "batches") -> None:
    random = np.random.default_rng(0)
    for i in range(3):
        x, y = random.normal(5, 2, size=(32, 4)), random.integers(0, 3, 32)
        rows = [[*map(float, r), int(v)] for r, v in zip(edit(x), y, strict=True)]
        csv(root / folder / f"{i}.csv", ("a", "b", "c", "d", "label"), rows)


def lines(root: Path, pad: str = "right") -> None:
    random = np.random.default_rng(1)
    root.mkdir(parents=True)
    for i in range(3):
        rows = []
        for _ in range(16):
            ids, gap = random.integers(5, 900, size=int(random.integers(4, 12))).tolist(), []
            gap = [0] * (12 - len(ids))
            row = {"input_ids": ids + gap if pad == "right" else gap + ids, "labels": int(ids[0]) % 2}
            rows.append(json.dumps(row))
        (root / f"batch_{i}.jsonl").write_text("\n".join(rows) + "\n")


def test_tables_of_batches(tmp_path: Path) -> None:
    tables(tmp_path / "mine", lambda x: (x - 5) / 2)
    tables(tmp_path / "theirs")
    tables(tmp_path / "same")

    found = reading("batches-scaled-differently", tmp_path / "mine", tmp_path / "theirs")
    assert found.state is P
    assert "inputs" in found.why
    assert reading("batches-scaled-differently", tmp_path / "same", tmp_path / "theirs").state is A
    assert reading("batches-labels-differ", tmp_path / "mine", tmp_path / "theirs").state is A


def test_columns_in_another_order(tmp_path: Path) -> None:
    tables(tmp_path / "mine", lambda x: x[:, [1, 0, 2, 3]])
    tables(tmp_path / "theirs")

    assert reading("batches-layout-differs", tmp_path / "mine", tmp_path / "theirs").state is P


def test_lines_of_tokens(tmp_path: Path) -> None:
    lines(tmp_path / "mine", pad="left")
    lines(tmp_path / "theirs")

    found = reading("batches-cut-differently", tmp_path / "mine", tmp_path / "theirs")
    assert found.state is P, found.why


def test_raw_tables_are_no_batches(tmp_path: Path) -> None:
    for side in ("mine", "theirs"):
        tables(tmp_path / side, folder="data")

    assert reading("batches-scaled-differently", tmp_path / "mine", tmp_path / "theirs").state is U
