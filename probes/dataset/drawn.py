"""What manifests say of the samples that a run draws: taken entry by entry, held as numbers."""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np

from ...engine.model import Place
from ..files import RunFile
from . import lists, naming
from .gather import ColumnGather, HashGather, LabelGather, Problems
from .lists import Entry
from .model import Drawn, Epochs, Part, Split

BLOCK = 4096  # entries that are handed on together
MOST_NAMES = 1_000_000  # of all ranks together; with more the ranks are not compared
MOST_EPOCHS = 10_000  # of all ranks together; with more their orders are not compared
_MASK = 2**64 - 1
_FIGURES = ("low", "high", "mean", "std")


class Ranks:
    """The names of the samples that each rank draws in its first epoch, over all manifests."""

    def __init__(self) -> None:
        self.names: dict[int, set[str]] = defaultdict(set)
        self.files: dict[str, None] = {}
        self.first: dict[int, str] = {}
        self.count = 0

    def add(self, file: str, entry: Entry, name: str | None) -> None:
        """Take an entry that tells its rank; those of validation are passed over."""
        rank = entry.get("rank")
        if not isinstance(rank, int) or name is None or self.count > MOST_NAMES:
            return
        if naming.split_of(str(entry.get("split", ""))) == "eval":
            return
        epoch = str(entry.get("epoch", 0))
        if self.first.setdefault(rank, epoch) == epoch:
            before = len(self.names[rank])
            self.names[rank].add(name)
            self.count += len(self.names[rank]) - before
            self.files[file] = None

    def drop(self) -> None:
        """Forget everything: a manifest was not read whole, and its ranks would seem to leave samples out."""
        self.count = MOST_NAMES + 1

    def whole(self) -> dict[int, set[str]]:
        """Return the names by rank; nothing where some were left out."""
        return dict(self.names) if self.count <= MOST_NAMES else {}


class _Order:
    """The samples of one rank and epoch: their number, their order and which they are, as checksums."""

    __slots__ = ("count", "members", "order")

    def __init__(self) -> None:
        self.count = self.order = self.members = 0

    def add(self, name: str) -> None:
        code = hash(name) & _MASK
        self.count += 1
        self.order = (self.order * 1_000_003 + code) & _MASK
        self.members = (self.members + code * (code | 1)) & _MASK


class Orders:
    """The order of the training samples over the epochs, rank by rank."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, _Order]] = defaultdict(dict)
        self.count = 0
        self.last = ""

    def add(self, entry: Entry, name: str | None) -> None:
        """Take an entry of the training split."""
        self.last = str(entry.get("epoch"))
        if name is None or "epoch" not in entry or self.count > MOST_EPOCHS:
            return
        epochs = self.found[str(entry.get("rank", ""))]
        if self.last not in epochs:
            epochs[self.last] = _Order()
            self.count += 1
        epochs[self.last].add(name)

    def epochs(self, file: str, whole: bool) -> Epochs | None:
        """Compare them; None without two epochs of named samples. Where a list is cut, the last is none."""
        if self.count > MOST_EPOCHS:
            return None
        kept = [[o for e, o in by.items() if whole or e != self.last] for by in self.found.values()]
        judged = [some for some in kept if len(some) >= 2]
        if not judged:
            return None
        pairs = [(one, some[0]) for some in judged for one in some[1:]]
        return Epochs(
            file,
            max(map(len, judged)),
            min(o.count for some in judged for o in some),
            all((a.count, a.order) == (b.count, b.order) for a, b in pairs),
            all((a.count, a.members) == (b.count, b.members) for a, b in pairs),
        )


class Samples:
    """What the first epoch of one split says of the samples themselves."""

    def __init__(self, file: RunFile, split: Split) -> None:
        self.file = file
        self.split = split
        self.epoch: str | None = None
        self.waiting: list[Entry] = []
        self.count = self.missing = 0
        self.missing_at: Place | None = None
        self.labels, self.hashes, self.paths = LabelGather("label"), HashGather(), HashGather()
        self.columns = {
            "low": ColumnGather("smallest value", 0),
            "high": ColumnGather("largest value", 1),
            "mean": ColumnGather("mean of a sample", 2),
        }
        self.texts = ColumnGather("text", 3)
        self.names, self.contents, self.classes = array("q"), array("q"), array("q")
        self.figures = {key: array("d") for key in _FIGURES}

    def add(self, entry: Entry) -> None:
        """Take an entry; those of later epochs are passed over."""
        epoch = str(entry.get("epoch", 0))
        if self.epoch is None:
            self.epoch = epoch
        if epoch != self.epoch:
            return
        self.waiting.append(entry)
        if len(self.waiting) >= BLOCK:
            self._hand_on()

    def _hand_on(self) -> None:
        some, self.waiting = self.waiting, []
        self.count += len(some)
        self._labels(some)
        hashed = [e for e in some if isinstance(e.get("hash"), str) and e["hash"]]
        self.hashes.add([hash(e["hash"]) for e in hashed], 0, [e["@"] for e in hashed])
        if not hashed:
            named = [e for e in some if lists.path_of(e)]
            self.paths.add([_stretch(e) for e in named], 0, [e["@"] for e in named])
        for key, gather in self.columns.items():
            held = [e for e in some if isinstance(e.get(key), (int, float))]
            if held:
                values = np.array([float(e[key]) for e in held])
                gather.add_numbers(values, lambda i, held=held: self._place(held[i]))
        spoken = [e for e in some if isinstance(e.get("text"), str)]
        if spoken:
            self.texts.add_texts([e["text"].strip() for e in spoken], lambda i: self._place(spoken[i]))
        for entry in some:
            if entry.get("finite") is False:
                self.missing += 1
                self.missing_at = self.missing_at or self._place(entry)
            name, digest, label = lists.identity(entry), entry.get("hash"), entry.get("label")
            self.names.append(hash(name) if name is not None else 0)
            self.contents.append(hash(digest) if isinstance(digest, str) else 0)
            self.classes.append(_code(label))
            for key, held_figures in self.figures.items():
                value = entry.get(key)
                held_figures.append(float(value) if isinstance(value, (int, float)) else math.nan)

    def _labels(self, some: list[Entry]) -> None:
        """Hand on the labels in their order: stretches of numbers, stretches of words."""
        at = 0
        while at < len(some):
            kind = _kind(some[at].get("label"))
            end = at + 1
            while end < len(some) and _kind(some[end].get("label")) == kind:
                end += 1
            run = some[at:end]
            if kind == "number":
                values = np.array([float(e["label"]) for e in run])
                self.labels.add_numbers(values, lambda i, run=run: self._place(run[i]))
            elif kind == "word":
                self.labels.add_texts([e["label"] for e in run])
            at = end

    def _place(self, entry: Entry) -> Place:
        return Place(self.file.path, entry["@"] or None)

    def part(self, problems: Problems, whole: bool) -> Part:
        """Return the samples as a part."""
        self._hand_on()
        columns = [g.column() for g in self.columns.values() if g.count]
        if self.missing or columns:
            columns = columns or [self.columns["low"].column()]
            count = columns[0].count + self.missing
            columns[0] = replace(
                columns[0], number=True, count=count, missing=self.missing, missing_at=self.missing_at
            )
        columns += [self.texts.column()] if self.texts.count else []
        hashes, file_of, row_of = self.hashes.arrays()
        hashed = "samples" if len(hashes) else ""
        if not hashed:
            hashes, file_of, row_of = self.paths.arrays()
            hashed = "paths" if len(hashes) else ""
        return Part(
            self.split,
            "manifest",
            "manifest",
            (self.file.path,),
            self.count if whole else None,
            whole,
            self.count,
            tuple(columns),
            self.labels.labels(),
            hashes=hashes,
            file_of=file_of,
            row_of=row_of,
            problems=tuple(problems.found),
            problem_count=problems.count,
            hashed=hashed,
        )

    def drawn(self) -> Drawn:
        """Return the samples in their order, to be held against the benchmark's."""
        return Drawn(
            self.split,
            (self.file.path,),
            np.frombuffer(self.names, dtype=np.int64) if self.names else np.empty(0, np.int64),
            np.frombuffer(self.contents, dtype=np.int64) if self.contents else np.empty(0, np.int64),
            np.frombuffer(self.classes, dtype=np.int64) if self.classes else np.empty(0, np.int64),
            np.array([np.array(self.figures[k]) for k in _FIGURES]),
        )


def _stretch(entry: Entry) -> int:
    """A hash of the file that an entry names, and of the stretch of it."""
    return hash((lists.path_of(entry), *(str(entry.get(k)) for k in ("offset", "start", "duration"))))


def _kind(label: Any) -> str:
    return "number" if isinstance(label, (bool, int, float)) else "word" if isinstance(label, str) else ""


def _code(label: Any) -> int:
    """A hash of a label that is one for 1, 1.0 and "1"; 0 for none."""
    if label is None:
        return 0
    try:
        return hash((float(label),))
    except (TypeError, ValueError):
        return hash(str(label))


def together(some: list[Drawn]) -> tuple[Drawn, ...]:
    """Bring the manifests of several ranks together, split by split, in the order of their files."""
    by_split: dict[Split, list[Drawn]] = defaultdict(list)
    for one in sorted(some, key=lambda d: d.files):
        by_split[one.split].append(one)
    return tuple(
        Drawn(
            split,
            tuple(f for d in held for f in d.files),
            np.concatenate([d.names for d in held]),
            np.concatenate([d.contents for d in held]),
            np.concatenate([d.labels for d in held]),
            np.concatenate([d.figures for d in held], axis=1),
        )
        for split, held in by_split.items()
    )
