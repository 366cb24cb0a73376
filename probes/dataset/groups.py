"""Whom or what the rows of a table are about: patients, speakers, sessions."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from .model import LIMIT, Grouped, Hashes

# What is measured several times, and tells its rows apart from those of another: of these a model can learn
# whom it sees instead of what it is asked for.
_WHO = (
    "patient|subject|participant|person|user|customer|client|speaker|session|household|student|driver|rider|"
    "animal|author|writer|volunteer|player|video|clip|recording|study|case"
)
_NUMBERED = "machine|engine|bearing|battery|turbine|unit|vehicle|device"  # alone they may name a kind
_NAMED = re.compile(
    rf"^(?:{_WHO})s?(?:_?(?:id|no|nr|num|number|key|code|name|hash|uuid))?$"
    rf"|^(?:{_NUMBERED})_?(?:id|no|nr|num|number|uuid)$",
    re.I,
)
_IN_NAME = re.compile(rf"(?:^|[^a-z])((?:{_WHO}|pat|subj|spk|vid)[-_]?\d+)(?=[^0-9]|$)", re.I)
_ITEMS = re.compile(r"^(?:item|movie|book|product|article|song|track|business|anime|game)s?_?id$", re.I)


def of(names: Sequence[str]) -> Groups | None:
    """Return what gathers the groups of a table; None where no column is called so, or it rates items."""
    plain = [re.sub(r"(?<=[a-z])(?=[A-Z])", "_", n.strip()) for n in names]
    found = [(i, n) for i, n in enumerate(names) if _NAMED.match(plain[i])]
    if not found or any(_ITEMS.match(n) for n in plain):
        return None
    return Groups(found[:4])


def in_name(path: str) -> str | None:
    """Return the group that a file's name tells: "patient012_slice07.png" -> "patient012"."""
    found = _IN_NAME.search(path.rpartition("/")[2])
    return found[1].lower() if found else None


class Groups:
    """The columns of a table that are called so."""

    def __init__(self, columns: Sequence[tuple[int, str]]) -> None:
        self.columns = columns
        self.kept: list[list[Hashes]] = [[] for _ in columns]
        self.held = 0

    def add(self, found: Sequence[Sequence[str]], numbers: Sequence[int], file: int) -> None:
        """Take the next rows, by columns."""
        del numbers, file
        if self.held >= LIMIT:
            return
        for kept, (at, _) in zip(self.kept, self.columns, strict=True):
            kept.append(np.array([hash(c.strip()) if c.strip() else 0 for c in found[at]], dtype=np.int64))
        self.held += len(found[0])

    def found(self) -> tuple[Grouped, ...]:
        """Return the columns."""
        return tuple(
            Grouped(name, np.concatenate(kept), len(self.columns))
            for kept, (_, name) in zip(self.kept, self.columns, strict=True)
            if kept
        )
