"""Right training programs as guides, courses and competitions write them, put together of their idioms.

A book is one kind of program: axes of ways to do one thing (read a table, fill gaps, split, scale, score),
and a function that writes the program of one choice of each. Every program is right, so none may be given a
cause: what hundreds of published scripts showed one by one, a book shows at once and for good. `covering`
takes few programs that hold every idiom of a book; `score.py` of this folder counts over many at random.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

Choice = tuple[int, ...]


@dataclass(frozen=True)
class Book:
    """`axes` holds how many ways each axis has; `write` gives no program where ways do not go together."""

    name: str
    axes: tuple[int, ...]
    write: Callable[[Choice], str | None]

    def drawn(self, seed: int) -> Iterator[tuple[Choice, str]]:
        """Choices that go together with their programs, at random, without end."""
        draw = random.Random(seed)
        while True:
            choice = tuple(draw.randrange(n) for n in self.axes)
            if (text := self.write(choice)) is not None:
                yield choice, text

    def covering(self, seed: int = 1, tries: int = 2_000) -> list[tuple[Choice, str]]:
        """Programs that together hold each way of each axis, as few as a greedy choice finds."""
        drawn = self.drawn(seed)
        seen = dict(next(drawn) for _ in range(tries))
        left = {pair for choice in seen for pair in enumerate(choice)}
        kept: list[tuple[Choice, str]] = []
        while left:
            best = max(seen, key=lambda c: len(left & set(enumerate(c))))
            kept.append((best, seen[best]))
            left -= set(enumerate(best))
        return kept


def books() -> Sequence[Book]:
    """All books, the cheapest first."""
    from . import (
        control,
        dense,
        frames,
        frameworks,
        generative,
        keras_sets,
        language,
        launches,
        pandas_tables,
        pictures,
        recipes,
        series,
        tables,
        tasks,
        texts,
    )
    from .kits import KITS

    of_tables = (keras_sets, tables, series, pandas_tables, frames)
    others = (texts, pictures, recipes, generative, language, frameworks, control, dense, tasks, launches)
    return (*(m.BOOK for m in (*of_tables, *others)), *(kit.book for kit in KITS))
