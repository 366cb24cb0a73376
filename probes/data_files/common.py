"""What the probes of data files share: asking for them, and saying what was looked at."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..dataset.model import Column, DataSet, Part
from ..registry import NO_DATA, Finding, View, probe, unknown

RAW = ("table", "records")
FINAL = ("batches", "manifest")


def _data(view: View) -> DataSet | None:
    return view.run.data


def needs_data(judge: Callable[..., Finding]) -> Callable[..., Finding]:
    """Make a probe of `judge(data, view, **params)`; without data files it is unknown."""

    def look(view: View, **params: Any) -> Finding:
        data = _data(view)
        if data is None:
            return unknown(NO_DATA)
        with np.errstate(all="ignore"):
            return judge(data, view, **params)

    look.__name__, look.__doc__, look.__module__ = judge.__name__, judge.__doc__, judge.__module__
    return probe()(look)


_PLURALS = {
    "class": "classes",
    "entry": "entries",
    "batch": "batches",
    "box": "boxes",
    "stretch": "stretches",
}


def many(n: int, what: str) -> str:
    """Return "1 column", "2 columns", "3 classes"."""
    first, _, rest = what.partition(" of ")
    head, last = first.rsplit(" ", 1) if " " in first else ("", first)
    word = last if n == 1 else _PLURALS.get(last, f"{last}s")
    return " of ".join(filter(None, (f"{n} {head} {word}".replace("  ", " "), rest)))


def looked_at(part: Part) -> str:
    """How much of a part was read, in words."""
    what = {"images": "image", "masks": "mask", "audio": "recording"}.get(part.kind, "sample")
    if part.whole or part.rows is None:
        return many(part.looked, what)
    about = "" if part.exact else "about "
    return f"{part.looked} of {about}{many(part.rows, what)}"


def columns_of(parts: Iterable[Part]) -> list[tuple[Part, Column]]:
    """Each column of these parts, with its part."""
    return [(p, c) for p in parts for c in p.columns]


def said_of(part: Part) -> str:
    """A part in words: its split, or else its format."""
    return f"the {part.name}" if part.split else part.format


NUMBERED = re.compile(r"\d+")  # of a column's name: pixel_0_3 and pixel_7_7 are alike


def said_of_all(parts: Sequence[Part]) -> str:
    """How much of the first parts was read, in words."""
    return "; ".join(f"{looked_at(p)} of {said_of(p)}" for p in parts[:3])
