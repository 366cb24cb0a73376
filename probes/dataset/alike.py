"""Pictures of an evaluation split that are training pictures saved anew: another size, format or compression.

Told by pictures reduced to a few squares, then by their detail. What is turned, cropped or only of the same
scene is not told; nor are pictures that are too small or too plain to be told apart.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...engine.model import Place
from ..files import RunFile
from ..run import Floats
from .gather import Budget
from .model import Alike, Part

MOST_HELD, MOST_TRAIN = 600, 3000  # pictures that are looked at, drawn with the seed
SECONDS = 8.0  # for all of them
COARSE, FINE = 16, 64  # rows and columns of the reduced pictures
SMALLEST = 32  # rows or columns of a picture that can be told
PLAIN = 12.0  # grey levels of deviation below which a picture is too plain
TOGETHER = 0.99  # correlation of coarse pictures
NEAR = 10.0  # grey levels between any two squares of them: one that moves in a still scene makes more
DETAIL = 0.9  # correlation of what the fine pictures have beyond the coarse ones
MOST_PIXELS = 50_000_000


def with_alike(parts: Sequence[Part], files: Mapping[str, RunFile], budget: Budget) -> list[Part]:
    """Hold evaluation pictures against training pictures; parts without either stay as they are."""
    train = [p for p in parts if p.kind == "images" and p.split == "train"]
    held = [p for p in parts if p.kind == "images" and p.split in ("eval", "test")]
    if not train or not held:
        return list(parts)
    try:
        from PIL import Image
    except ImportError:
        return list(parts)
    look = _Look(Image, files, budget)
    known = look.coarse(_drawn([f for p in train for f in p.files], MOST_TRAIN, budget))
    found = {}
    for part in held:
        mine = look.coarse(_drawn(part.files, MOST_HELD, budget))
        if len(mine) and len(known):
            found[id(part)] = look.alike(mine, known)
    return [replace(p, alike=found[id(p)]) if id(p) in found else p for p in parts]


def _drawn(paths: Sequence[str], most: int, budget: Budget) -> list[str]:
    if len(paths) <= most:
        return list(paths)
    chosen = np.random.default_rng(budget.bounds.seed).choice(len(paths), most, replace=False)
    return [paths[i] for i in sorted(chosen.tolist())]


class _Look:
    """Opens pictures until bytes or seconds are spent."""

    def __init__(self, images: Any, files: Mapping[str, RunFile], budget: Budget) -> None:
        self.images = images
        self.files = files
        self.budget = budget
        self.until = time.monotonic() + SECONDS
        self.shapes: dict[str, float] = {}  # width over height

    def coarse(self, paths: Sequence[str]) -> dict[str, Floats]:
        """Return the pictures that can be told, reduced: [COARSE * COARSE * 3] each."""
        found = {}
        for path in paths:
            file = self.files[path]
            if time.monotonic() > self.until or not self.budget.take(min(file.size, 1024**2)):
                break
            picture = self._reduced(file, COARSE)
            if picture is not None and picture.std() >= PLAIN:
                found[path] = picture.reshape(-1)
        return found

    def _reduced(self, file: RunFile, edge: int) -> Floats | None:
        try:
            with warnings.catch_warnings(), file.open() as handle, self.images.open(handle) as picture:
                warnings.simplefilter("ignore")
                width, height = picture.size
                if min(width, height) < SMALLEST or width * height > MOST_PIXELS:
                    return None
                if picture.mode.startswith(("I", "F")):
                    return None
                self.shapes[file.path] = width / height
                picture.draft("RGB", (2 * FINE, 2 * FINE))
                small = picture.convert("RGB").resize((edge, edge), self.images.Resampling.BOX)
                found: Floats = np.asarray(small, dtype=np.float32)
                return found
        except Exception:  # Pillow raises whatever its decoders meet; such a file is judged elsewhere
            return None

    def alike(self, mine: Mapping[str, Floats], known: Mapping[str, Floats]) -> Alike:
        """Return which of `mine` are one of `known`, saved anew."""
        names, others = list(mine), list(known)
        rows, columns = (np.stack([s[n] for n in some]) for s, some in ((mine, names), (known, others)))
        together = _normed(rows) @ _normed(columns).T
        pairs = []
        for i, name in enumerate(names):
            for j in np.argsort(together[i])[::-1][:3]:
                if together[i, j] < TOGETHER:
                    break
                apart = np.abs(rows[i] - columns[j]).reshape(-1, 3).mean(axis=1)
                if apart.max() <= NEAR and self._same(name, others[int(j)]):
                    pairs.append((Place(name), Place(others[int(j)])))
                    break
        return Alike(len(names), len(others), len(pairs), tuple(pairs[:5]))

    def _same(self, one: str, other: str) -> bool:
        """Whether two pictures have one shape, and one detail."""
        if abs(self.shapes[one] / self.shapes[other] - 1) > 0.03:
            return False
        a, b = (self._reduced(self.files[p], FINE) for p in (one, other))
        if a is None or b is None:
            return False
        left, right = _detail(a), _detail(b)
        size = float(np.sqrt((left**2).sum() * (right**2).sum()))
        return size > 0 and float((left * right).sum()) / size >= DETAIL


def _normed(rows: Floats) -> Floats:
    moved = rows - rows.mean(axis=1, keepdims=True)
    found: Floats = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    return found


def _detail(picture: Floats) -> Floats:
    """What a fine picture has beyond its coarse one."""
    step = FINE // COARSE
    coarse = picture.reshape(COARSE, step, COARSE, step, 3).mean(axis=(1, 3))
    found: Floats = picture - coarse.repeat(step, axis=0).repeat(step, axis=1)
    return found
