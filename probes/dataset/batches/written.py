"""Batches that were dumped as text: CSV, and JSON lines of one sample or one batch each."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...files import RunFile
from .. import arrays, naming, tables

SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson")
MOST = 128 * 1024**2  # bytes of one file
_BATCH = re.compile(r"(?:^|[/_.-])(?:batch(?:es)?|dump(?:s|ed)?|iter|step)(?:[/_.-]|\d|$)", re.I)


def is_batch(path: str) -> bool:
    """Whether a table is called like a dumped batch: "batches/0.csv", "batch_3.jsonl"."""
    return path.lower().endswith(SUFFIXES) and bool(_BATCH.search(path))


def fields(file: RunFile) -> list[arrays.Field]:
    """Return what a file holds as arrays: of CSV the columns of numbers together and the labels apart."""
    if file.size > MOST:
        return []
    text = file.read_text().lstrip("\ufeff")
    found = _lines(text) if file.suffix in (".jsonl", ".ndjson") else _columns(file, text)
    return [arrays.Field(file, n, d, len(d), str(d.dtype)) for n, d in found.items() if d.size]


def _columns(file: RunFile, text: str) -> dict[str, Any]:
    told = tables.dialect(file)
    if told is None:
        return {}
    delimiter, names, header = told
    rows = [r for r in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if len(r) == len(names)]
    columns = list(zip(*rows[header:], strict=True))
    label = tables.label_of(names)
    inputs, found = [], {}
    for name, cells in zip(names, columns, strict=False):
        values = _numbers(cells)
        if values is None or (naming.is_identifier(name) and name != label):
            continue
        if name == label:
            found["label"] = values
        else:
            inputs.append(values)
    if inputs:
        found["inputs"] = np.stack(inputs, axis=1)
    return found


def _numbers(cells: Sequence[str]) -> Any:
    try:
        values = np.array([float(c) if c.strip() else np.nan for c in cells])
    except ValueError:
        return None
    whole = (
        np.isfinite(values).all()
        and bool((values == np.rint(values)).all())
        and "." not in "".join(cells[:50])
    )
    return values.astype(np.int64) if whole and np.abs(values).max(initial=0) < 2**53 else values


def _lines(text: str) -> dict[str, Any]:
    """Each key of the objects, stacked over the lines; what has another shape in some line is left out."""
    values: dict[str, list[Any]] = defaultdict(list)
    count = 0
    for line in text.splitlines():
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(row, dict):
            continue
        count += 1
        for key, value in row.items():
            values[key].append(value)
    found = {}
    for key, some in values.items():
        try:
            data = np.array(some)
        except (ValueError, OverflowError):
            continue
        if len(some) == count and data.dtype.kind in "biuf" and not naming.is_identifier(key):
            found[key.lower()] = data
    return found
