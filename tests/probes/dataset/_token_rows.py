"""Rows of token ids with masks and labels, as tokenizers leave them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from traindoctor.engine.model import State

from ._make import csv

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN
Row = dict[str, Any]
WIDTH = 24


def row(i: int, side: str = "right", labels: bool = True) -> Row:
    """A row of 24 ids, 6 to 23 of them text, with its mask and labels."""
    text = np.random.default_rng(i).integers(10, 900, 6 + i % 18).tolist()
    pad = [0] * (WIDTH - len(text))
    mask, ignored = [1] * len(text), [-100] * len(pad)
    if side == "right":
        found: Row = {"input_ids": text + pad, "attention_mask": mask + pad, "labels": text + ignored}
    else:
        found = {"input_ids": pad + text, "attention_mask": pad + mask, "labels": ignored + text}
    if not labels:
        del found["labels"]
    return found


def rows(change: Callable[[int, Row], Row] = lambda _, r: r, n: int = 120) -> Callable[[Path], None]:
    def build(root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps(change(i, row(i))) for i in range(n)]
        (root / "train.jsonl").write_text("\n".join(lines) + "\n")

    return build


def cut(i: int, r: Row) -> Row:
    """Rows without padding, of different lengths; labels of every tenth are one shorter."""
    size = sum(r["attention_mask"])
    return {
        "input_ids": r["input_ids"][:size],
        "labels": r["labels"][: size - 1 if i % 10 == 0 else size],
    }


def answers(i: int, r: Row) -> Row:
    """Texts and their translations: labels are another sequence."""
    return {**r, "labels": r["labels"][: 3 + i % 5]}


def ones(_: int, r: Row) -> Row:
    return {**r, "attention_mask": [1] * WIDTH}


def full(i: int, _: Row) -> Row:
    """Rows packed to the end, none of them padded."""
    ids = np.random.default_rng(i).integers(10, 900, WIDTH).tolist()
    return {"input_ids": ids, "attention_mask": [1] * WIDTH, "labels": ids}


def nothing(root: Path) -> None:
    csv(root / "train.csv", ("a", "label"), [[i, i % 2] for i in range(60)])


CASES = [
    ("data-token-rows-odd", rows(), A),
    ("data-token-rows-odd", rows(lambda i, _: row(i, "left" if i % 6 == 0 else "right")), P),
    ("data-token-rows-odd", rows(lambda i, _: row(i, "left")), A),
    ("data-token-rows-odd", rows(lambda i, _: row(i, "left" if i == 7 else "right")), A),
    ("data-token-rows-odd", rows(ones), P),
    ("data-token-rows-odd", rows(full), A),
    ("data-token-rows-odd", rows(lambda i, r: {**r, "attention_mask": [1] * 5} if i % 9 == 0 else r), P),
    ("data-token-rows-odd", nothing, U),
    ("data-token-labels-odd", rows(), A),
    ("data-token-labels-odd", rows(lambda _, r: {**r, "labels": r["input_ids"]}), P),
    (
        "data-token-labels-odd",
        rows(lambda i, r: {**r, "labels": r["input_ids"]} if i == 3 else r, 300),
        U,
    ),
    ("data-token-labels-odd", rows(cut), P),
    ("data-token-labels-odd", rows(answers), A),
    ("data-token-labels-odd", rows(full), A),
    ("data-token-labels-odd", rows(lambda i, r: {**r, "labels": i % 3}), A),
    ("data-token-labels-odd", nothing, U),
]
