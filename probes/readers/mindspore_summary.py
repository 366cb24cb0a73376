"""MindSpore summaries (MindInsight): scalars of summary files, settings and metrics of lineage files."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...engine.model import Scalar
from ..files import RunFile
from ..run import FileContent, Series, Setting
from . import Gives
from ._events import MINDSPORE, Curve, fields, notes_of, read_scalars
from ._records import scan
from ._values import flatten, number, setting_value

FORMAT = "mindspore-summary"
GIVES = Gives(
    title="MindSpore summaries and lineage",
    files="`*.summary.*_MS`, `*_lineage`",
    lacks="Epochs; graphs, histograms and images are passed over.",
    scalars="some",
    steps="yes",
    walls="yes",
    settings="some",
    environment="yes",
)
TRUST = 90
MAX_LINEAGE = 16 * 1024**2
MAX_DEPTH = 24
_MARK = b"MindSpore.Event:"
_LINEAGE = frozenset({6, 7, 9, 10})  # training, evaluation, data set, the user's own
_HYPER = {1: "optimizer", 2: "learning_rate", 3: "loss_function", 4: "epoch", 5: "parallel_mode"} | {
    6: "device_num",
    8: "batch_size",
}


def sniff(file: RunFile) -> bool:
    """Say whether the file begins with a record of a MindSpore summary or lineage."""
    head = file.head
    if len(head) < 16:
        return False
    (length,) = struct.unpack_from("<Q", head)
    if length < 200 and _MARK in head[12 : 12 + length]:
        return True
    if ".summary." not in file.name:
        return False
    return _MARK in head[:200] or (length <= len(head) and len(scan(head[: length + 16]).starts) == 1)


def read(file: RunFile) -> FileContent:
    """Read all scalars, or what the lineage says. Raises ValueError when there is neither."""
    data = file.read_bytes()
    found = read_scalars(data, MINDSPORE)
    series = tuple(_series(file, tag, curve) for tag, curve in found.curves.items())
    settings: list[Setting] = []
    facts: dict[str, Scalar] = {"framework": "mindspore"}
    if not series and file.size <= MAX_LINEAGE:
        for key, value in _lineage(file):
            if key.startswith("final."):
                facts[key] = value
            else:
                settings.append(Setting(key, value, file.path, None, TRUST))
    notes = tuple(notes_of(found))
    return FileContent(FORMAT, series, tuple(settings), facts=facts, notes=notes, histograms=found.histograms)


def _series(file: RunFile, tag: str, curve: Curve) -> Series:
    """One tag; the last step of an epoch is written twice, and counts once."""
    steps, values, walls = curve.steps, curve.values, curve.walls
    same = np.zeros(len(steps), dtype=bool)
    equal = (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
    same[1:] = (steps[1:] == steps[:-1]) & equal
    keep = ~same
    return Series(
        name=tag,
        raw=tag,
        file=file.path,
        steps=steps[keep].astype(np.float64),
        values=values[keep],
        unit="step",
        window="point",
        walls=None if np.isnan(walls).any() else walls[keep],
    )


# ------------------------------------------------------------------------------------------------ lineage


def _lineage(file: RunFile) -> Iterator[tuple[str, Scalar]]:
    """Yield the settings of a lineage file, and its metrics as "final.<name>"."""
    data = file.read_bytes(MAX_LINEAGE)
    records = scan(data)
    for start, length in zip(records.starts.tolist(), records.lengths.tolist(), strict=True):
        try:
            for number_, wire, a, b in fields(data, start, start + length):
                if number_ in _LINEAGE and wire == 2:
                    yield from _PARTS[number_](data, a, b)
        except ValueError:
            continue


def _training(data: bytes, at: int, end: int) -> Iterator[tuple[str, Scalar]]:
    for number_, wire, a, b in fields(data, at, end):
        if number_ == 1 and wire == 2:
            yield from _hyper_parameters(data, a, b)
        elif number_ == 3 and wire == 2:
            names = {1: "network", 2: "loss_function"}
            for inner, kind, c, d in fields(data, a, b):
                if inner in names and kind == 2:
                    yield names[inner], _text(data, c, d)
                elif inner == 2 and kind == 5:
                    yield "final.loss", struct.unpack_from("<f", data, c)[0]


def _hyper_parameters(data: bytes, at: int, end: int) -> Iterator[tuple[str, Scalar]]:
    for number_, wire, a, b in fields(data, at, end):
        if number_ in _HYPER:
            value = _plain(data, wire, a, b)
            if value is not None:
                yield _HYPER[number_], value


def _evaluation(data: bytes, at: int, end: int) -> Iterator[tuple[str, Scalar]]:
    for number_, wire, a, b in fields(data, at, end):
        if number_ == 2 and wire == 2:
            try:
                metrics = json.loads(_text(data, a, b))
            except (ValueError, RecursionError):
                continue
            for key, value in flatten(metrics) if isinstance(metrics, dict) else ():
                if (measured := number(value)) is not None:
                    yield f"final.eval/{key}", measured


def _data_set(data: bytes, at: int, end: int, depth: int = 0) -> Iterator[tuple[str, Scalar]]:
    """The batch operation of the input pipeline: each node holds its parameters and its children."""
    if depth > MAX_DEPTH:
        return
    for number_, wire, a, b in fields(data, at, end):
        if number_ == 1 and wire == 2:
            yield from _data_set(data, a, b, depth + 1)
        elif number_ == 2 and wire == 2:
            found = dict(_parameters(data, a, b))
            if found.get("op_type") == "Batch" and found.get("batch_size"):
                yield "batch_size", found["batch_size"]


def _parameters(data: bytes, at: int, end: int) -> Iterator[tuple[str, Scalar]]:
    for _, wire, a, b in fields(data, at, end):
        if wire != 2:
            continue
        key: str | None = None
        value: Scalar = None
        for inner, kind, c, d in fields(data, a, b):
            if inner == 1 and kind == 2:
                key = _text(data, c, d)
            elif inner == 2:
                value = _plain(data, kind, c, d)
        if key:
            yield key, value


def _user_defined(data: bytes, at: int, end: int) -> Iterator[tuple[str, Scalar]]:
    for number_, wire, a, b in fields(data, at, end):
        if number_ == 1 and wire == 2:
            for key, value in _parameters(data, a, b):
                usable, plain = setting_value(key, value)
                if usable and not isinstance(plain, tuple):
                    yield key[:200], plain


_PARTS: dict[int, Any] = {6: _training, 7: _evaluation, 9: _data_set, 10: _user_defined}


def _text(data: bytes, at: int, end: int) -> str:
    return data[at:end].decode("utf-8", errors="replace")


def _plain(data: bytes, wire: int, at: int, end: int) -> Scalar:
    """A scalar field as a number or a text."""
    if wire == 0:
        value = 0
        for shift, byte in enumerate(data[at:end]):
            value |= (byte & 0x7F) << (7 * shift)
        return value
    if wire == 5:
        return float(f"{struct.unpack_from('<f', data, at)[0]:.7g}")
    if wire == 1:
        return float(struct.unpack_from("<d", data, at)[0])
    return _text(data, at, end)[:200] if wire == 2 else None
