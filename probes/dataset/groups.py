"""Whom or what the rows of a table are about: patients, speakers, sessions."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from .model import LIMIT, Grouped, Hashes
from .named import COLUMNS

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
# Copies of one picture or recording: "leaf_12_aug3.jpg", "cat-7_flip.png", "7_jpg.rf.<hash>.jpg" (Roboflow).
_COPY = re.compile(
    r"^(.+?)(?:[-_. ](?:aug(?:mented)?|copy|flip(?:ped)?|rot(?:ated|ation)?|mirror(?:ed)?|jitter)[-_]?\d{0,4}"
    r"|\.rf\.[0-9a-f]{8,64})(?:\.\w{1,5})?$",
    re.I,
)
_ITEMS = re.compile(r"^(?:item|movie|book|product|article|song|track|business|anime|game)s?_?id$", re.I)


def of(names: Sequence[str]) -> Groups | None:
    """Return what gathers the groups of a table; None where no column is called so, or it rates items."""
    plain = [re.sub(r"(?<=[a-z])(?=[A-Z])", "_", n.strip()) for n in names]
    found = [(i, n) for i, n in enumerate(names) if _NAMED.match(plain[i])][:4]
    if any(_ITEMS.match(n) for n in plain):
        return None
    at = next((i for i, n in enumerate(names) if n.strip().lower() in COLUMNS), None)
    return Groups(found, at if not found else None) if found or at is not None else None


def in_name(path: str) -> str | None:
    """Return the group that a file's name tells: "patient012_slice07.png" -> "patient012"; copies are one."""
    name = path.strip().replace("\\", "/").rpartition("/")[2]
    found = _IN_NAME.search(name) or _COPY.match(name)
    return found[1].lower() if found else None


class Groups:
    """The columns of a table that are called so; else what the names of its files tell."""

    def __init__(self, columns: Sequence[tuple[int, str]], files: int | None = None) -> None:
        self.columns = columns if files is None else [(files, "the files' names")]
        self.of_files = files is not None
        self.kept: list[list[Hashes]] = [[] for _ in self.columns]
        self.held = 0

    def add(self, found: Sequence[Sequence[str]], numbers: Sequence[int], file: int) -> None:
        """Take the next rows, by columns."""
        del numbers, file
        if self.held >= LIMIT:
            return
        for kept, (at, _) in zip(self.kept, self.columns, strict=True):
            told = [(in_name(c) or "") if self.of_files else c.strip() for c in found[at]]
            kept.append(np.array([hash(c) if c else 0 for c in told], dtype=np.int64))
        self.held += len(found[0])

    def found(self) -> tuple[Grouped, ...]:
        """Return the columns."""
        return tuple(
            Grouped(name, np.concatenate(kept), len(self.columns))
            for kept, (_, name) in zip(self.kept, self.columns, strict=True)
            if kept
        )
