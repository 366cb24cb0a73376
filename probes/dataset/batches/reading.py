"""The arrays of a folder of batches, field by field: which belong together, all batches in a row."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...assembly.layout import natural
from ...files import RunFile, walk
from .. import arrays, naming
from . import written
from .model import Difference

MOST_NUMBERS = 8_000_000  # of one field and side that are compared
_COUNTING = "batch batches step steps iter rank epoch npu gpu sample ms torch tf pt b npz npy"
_NOISE = frozenset(_COUNTING.split())
Fields = dict[str, list[arrays.Field]]


def read(path: Path, only: frozenset[str] | None) -> Fields:
    """Return the arrays of a folder by field, in the order of their files. Raises RunUnreadable."""
    files, _ = walk(path, limit=100_000)
    files = [f for f in files if only is None or f.path in only]
    found: Fields = defaultdict(list)
    for file in sorted((f for f in files if f.suffix in (".npy", ".npz")), key=lambda f: natural(f.path)):
        here = list(_readable(file))
        for one, name in zip(here, _names(here), strict=True):
            found[name].append(one)
    for file in sorted((f for f in files if written.is_batch(f.path)), key=lambda f: natural(f.path)):
        for one in written.fields(file):
            found[one.name].append(one)
    return dict(found)


def _readable(file: RunFile) -> Iterator[arrays.Field]:
    try:
        for one in arrays.fields(file):
            if not isinstance(one, tuple) and one.data.dtype.kind in "biuf" and one.data.size:
                yield one
    except (arrays.Refused, OSError):
        return


def _names(some: Sequence[arrays.Field]) -> list[str]:
    """The fields of one file. Numbers count batches, unless they alone tell the arrays of one file apart."""
    names = [_field_name(one) for one in some]
    shared = {n for n, count in Counter(names).items() if count > 1}
    return [
        one.name.lower() if n in shared and "batch" not in one.name.lower() else n
        for one, n in zip(some, names, strict=True)
    ]


def _field_name(one: arrays.Field) -> str:
    """The field without what numbers batches; "labels/0003.npy" holds labels, "batch_3.npy" data."""
    parts = one.file.path.split("/")[:-1] if one.file.suffix == ".npy" else []
    for text in (one.name, *reversed(parts)):
        kept = [w for w in (w.lower() for w in re.split(r"[^A-Za-z]+", text) if w) if w not in _NOISE]
        if kept:
            return "_".join(kept)
    return "data"


def matched(a: Fields, b: Fields) -> tuple[Fields, Fields]:
    """Call fields alike that only differ in name, where roles, or shapes and types, leave one choice."""
    lone_a, lone_b = [n for n in a if n not in b], [n for n in b if n not in a]
    for role in (naming.is_label, naming.is_mask, naming.is_input):
        mine, theirs = [n for n in lone_a if role(n)], [n for n in lone_b if role(n)]
        if len(mine) == len(theirs) == 1:
            b = {mine[0] if n == theirs[0] else n: v for n, v in b.items()}
            lone_a.remove(mine[0])
            lone_b.remove(theirs[0])
    for mine_one in list(lone_a):
        same = [n for n in lone_b if _form(b[n]) == _form(a[mine_one])]
        if len(same) == 1 and sum(_form(a[n]) == _form(a[mine_one]) for n in lone_a) == 1:
            b = {mine_one if n == same[0] else n: v for n, v in b.items()}
            lone_a.remove(mine_one)
            lone_b.remove(same[0])
    if len(lone_a) == len(lone_b) == 1:
        b = {lone_a[0] if n == lone_b[0] else n: v for n, v in b.items()}
    return a, b


def _form(some: Sequence[arrays.Field]) -> tuple[str, tuple[int, ...]]:
    return some[0].data.dtype.kind, some[0].data.shape[1:]


def unturned(a: Fields, b: Fields) -> list[Difference]:
    """Bring [time, batch, ...] beside [batch, time, ...] into the benchmark's order, and say so."""
    found = []
    for name in [n for n in a if n in b]:
        shapes = [[f.data.shape for f in side[name]] for side in (a, b)]
        if len(shapes[0]) != len(shapes[1]) or any(len(s) < 3 for side in shapes for s in side):
            continue
        if all(p != q and (p[1], p[0], *p[2:]) == q for p, q in zip(*shapes, strict=True)):
            a[name] = [replace(f, data=f.data.swapaxes(0, 1), rows=f.data.shape[1]) for f in a[name]]
            here = "x".join(map(str, shapes[0][0]))
            words = (
                f"{name}: batches of {here} here, {'x'.join(map(str, shapes[1][0]))} in the "
                "benchmark: the first two axes (batch and time) are exchanged"
            )
            found.append(Difference(name, "layout", words))
    return found


def stacked(some: Sequence[arrays.Field]) -> Any:
    """The batches of a field one after the other, as many as the bound allows, of the first one's shape."""
    first = some[0].data
    kept, left = [], MOST_NUMBERS
    for one in some:
        data = one.data
        if data.ndim != first.ndim or data.shape[1:] != first.shape[1:]:
            continue
        if data.size > left:
            data = data[: max(1, left // max(1, data[0].size))] if data.ndim else data
        kept.append(np.asarray(data))
        left -= data.size
        if left <= 0:
            break
    return np.concatenate(kept) if first.ndim else np.array([k[()] for k in kept])
