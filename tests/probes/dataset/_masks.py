"""Pictures with masks, made for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from traindoctor.engine.model import State

P, A, U = State.PRESENT, State.ABSENT, State.UNKNOWN
Pair = tuple[Any, Any]


def pair(random: np.random.Generator) -> Pair:
    """A noisy picture [48, 64, 3] with a bright box on a slope of grey, and its mask of 0 and 1."""
    rows, columns = np.mgrid[:48, :64]
    grey = 60.0 + rows + random.normal(0, 3, (48, 64))
    top, left = random.integers(4, 20), random.integers(4, 34)
    mask = (rows >= top) & (rows < top + 18) & (columns >= left) & (columns < left + 22)
    return np.repeat((grey + 90 * mask)[..., None], 3, 2).astype(np.uint8), mask.astype(np.uint8)


def masked(
    root: Path, change: Callable[[str, list[Pair]], list[Pair]], n: int = 24, end: str = "png"
) -> Path:
    images = pytest.importorskip("PIL.Image")
    random = np.random.default_rng(0)
    for split in ("train", "val"):
        for i, (picture, mask) in enumerate(change(split, [pair(random) for _ in range(n)])):
            for folder, found in (("images", picture), ("masks", mask)):
                path = root / split / folder / f"{i:03d}.{end if folder == 'masks' else 'png'}"
                path.parent.mkdir(parents=True, exist_ok=True)
                images.fromarray(found).save(path)
    return root


def one_on(_: str, pairs: list[Pair]) -> list[Pair]:
    return [(p, pairs[i - 1][1]) for i, (p, _) in enumerate(pairs)]


def smoothed(_: str, pairs: list[Pair]) -> list[Pair]:
    images = pytest.importorskip("PIL.Image")
    small = [images.fromarray(m * 255).resize((23, 17), images.Resampling.BILINEAR) for _, m in pairs]
    large = [np.asarray(s.resize((64, 48), images.Resampling.BILINEAR)) for s in small]
    return [(p, m) for (p, _), m in zip(pairs, large, strict=True)]


def loose(_: str, pairs: list[Pair]) -> list[Pair]:
    """Masks that leave room around what they are of, more on one side than on the other."""
    return [
        (p, np.maximum.reduce([np.roll(m, (r, c), (0, 1)) for r in (-2, 0, 3) for c in (-3, 0, 2)]))
        for p, m in pairs
    ]


def _whole(_: str, pairs: list[Pair]) -> list[Pair]:
    return [(p, m * 255) for p, m in pairs]


def _one(split: str, pairs: list[Pair]) -> list[Pair]:
    return [*smoothed(split, pairs)[:1], *_whole(split, pairs)[1:]]


CASES: list[tuple[str, Callable[[Path], object], State]] = [
    ("masks-smoothed", lambda root: masked(root, smoothed), P),
    ("masks-smoothed", lambda root: masked(root, _whole, end="jpg"), P),
    ("masks-smoothed", lambda root: masked(root, _whole), A),
    ("masks-smoothed", lambda root: masked(root, lambda _, p: p), A),
    ("masks-smoothed", lambda root: masked(root, _one), U),
]
