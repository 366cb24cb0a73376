"""Batches as loaders dump them, for both sides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from traindoctor.probes.dataset.batches import Compared, compare

Array = NDArray[np.float64]
Ids = NDArray[np.int64]
Fields = Mapping[str, object]


def dump(folder: Path, fields: Fields, batches: int = 2) -> Path:
    """Write fields as some batches each."""
    folder.mkdir()
    parts = {name: np.array_split(np.asarray(values), batches) for name, values in fields.items()}
    for i in range(batches):
        np.savez(folder / f"batch_{i}.npz", **{name: part[i] for name, part in parts.items()})
    return folder


def compared(root: Path, mine: Fields, theirs: Fields) -> Compared:
    """Hold two sets of fields against each other."""
    found = compare(dump(root / "mine", mine), dump(root / "theirs", theirs))
    assert found is not None
    return found


def told(root: Path, mine: Fields, theirs: Fields) -> list[tuple[str, str]]:
    """(kind, words) of every difference."""
    return [(d.kind, d.words) for d in compared(root, mine, theirs).differences]


def pixels(seed: int = 0, n: int = 8, height: int = 32, width: int = 40) -> Array:
    """[n, 3, height, width] whole numbers from 0 to 255: blurred noise with grain, channels that differ."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, 3, height, width))
    for _ in range(6):
        x = blurred(x)
    x = x / x.std() * 50 + 120 + np.array([20, 0, -30])[:, None, None] + random.normal(size=x.shape) * 4
    return np.clip(np.rint(x), 0, 255)


def blurred(x: Array) -> Array:
    for axis in (2, 3):
        x = (np.roll(x, 1, axis) + 2 * x + np.roll(x, -1, axis)) / 4
    return x


def sentences(n: int = 12, length: int = 24) -> dict[str, Ids]:
    """Rows of ids with a start token 101, an end token 102 and padding 0 on the right."""
    random = np.random.default_rng(0)
    ids = np.zeros((n, length), dtype=np.int64)
    for row in ids:
        end = int(random.integers(10, length - 1))
        row[0], row[end] = 101, 102
        row[1:end] = random.zipf(1.5, end - 1) % 300 + 110
    return {"input_ids": ids, "attention_mask": (ids != 0).astype(np.int64)}


def retold(
    rows: Ids, change: Callable[[list[int]], list[int]], *, left: bool = False, pad: int = 0
) -> dict[str, Ids]:
    """The same sentences after `change`, padded and masked anew."""
    ids = np.full(rows.shape, pad)
    for at, row in enumerate(rows):
        some = change([int(v) for v in row if v])[: rows.shape[1]]
        if left:
            ids[at, rows.shape[1] - len(some) :] = some
        else:
            ids[at, : len(some)] = some
    return {"input_ids": ids, "attention_mask": (ids != pad).astype(np.int64)}
