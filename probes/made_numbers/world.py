"""Made answers and truth of one task, in each of the layouts that programs give them.

A loss or a score of two programs is the same where it comes out alike on the same numbers, however they lie:
`(rows, 1)` in the one and `(rows,)` in the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

ROWS = (17, 8)  # of two held-out batches, of unlike size
KINDS = 4  # classes
SIDE = 4  # of a picture
LONG = 3  # of a sequence

Array = np.ndarray


@dataclass(frozen=True)
class World:
    """A task ("reals", "kinds", "two kinds", "yes", "masks", ...) in one layout, by a seed."""

    task: str
    layout: str
    seed: int

    @property
    def again(self) -> World:
        """The same with other numbers."""
        return World(self.task, self.layout, 3 - self.seed)

    def answers(self, which: int, batch: int | None) -> Array:
        """What the model says to its `which`-th question: of one batch, or of both."""
        if batch is None:
            return np.concatenate([self.answers(which, b) for b in range(len(ROWS))])
        return _laid(self._numbers("answers", which, batch), self.layout, True)

    def truth(self, batch: int | None) -> Array:
        """What is true."""
        if batch is None:
            return np.concatenate([self.truth(b) for b in range(len(ROWS))])
        return _laid(self._numbers("truth", 0, batch), self.layout, False)

    def _numbers(self, what: str, which: int, batch: int) -> Array:
        key = ["answers", "truth"].index(what)
        of = np.random.default_rng([self.seed, key, which, batch])
        rows = ROWS[batch]
        if what == "answers":
            return of.normal(0.3, 1.3, _shape(self.task, rows))
        if self.task in ("reals", "rows of reals"):
            near = self._numbers("answers", 0, batch) + of.normal(0.2, 1.1, _shape(self.task, rows))
            return np.asarray(near)
        if self.task in ("yes", "masks", "tags"):
            return of.choice([0.0, 1.0], _shape(self.task, rows), p=[0.45, 0.55])
        return of.integers(0, 2 if self.task == "two kinds" else KINDS, _shape(self.task, rows)[:-1])


def _shape(task: str, rows: int) -> tuple[int, ...]:
    return {
        "reals": (rows,),
        "yes": (rows,),
        "rows of reals": (rows, 5),
        "tags": (rows, 5),
        "kinds": (rows, KINDS),
        "two kinds": (rows, 2),
        "sequences": (rows, LONG, KINDS),
        "pictures of kinds": (rows, SIDE, SIDE, KINDS),
        "masks": (rows, SIDE, SIDE),
    }[task]


# of each task the layouts of (answers, truth)
LAYOUTS = {
    "reals": ("n n", "n1 n", "n1 n1"),
    "yes": ("n n", "n1 n", "n1 n1"),
    "rows of reals": ("n n",),
    "tags": ("n n",),
    "kinds": ("n n", "n hot"),
    "two kinds": ("n n",),
    "sequences": ("n n",),
    "pictures of kinds": ("first n", "n n", "n hot", "first hot"),
    "masks": ("n n", "n1 n1", "c1 c1", "n1 n", "c1 n"),
}


@lru_cache(maxsize=1)
def worlds() -> tuple[World, ...]:
    """Every layout of every task, by two seeds."""
    return tuple(_worlds())


def _worlds() -> Iterator[World]:
    for task, layouts in LAYOUTS.items():
        for layout in layouts:
            for seed in (1, 2):
                yield World(task, layout, seed)


def _laid(numbers: Array, layout: str, answers: bool) -> Array:
    how = layout.split()[0 if answers else 1]
    if how == "hot":
        hot = np.eye(KINDS)[numbers]
        return np.moveaxis(hot, -1, 1) if layout.startswith("first") else hot
    if how == "first":
        return np.moveaxis(numbers, -1, 1)
    if how == "n1":
        return numbers[..., None]
    if how == "c1":
        return numbers[:, None]
    return numbers
