"""Figures of held-out data worked out on made answers, and held against what their names say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...made_numbers.figures import kind_of
from ...scripts.syntax import Script
from ..journal import Asked, Told
from ..machine import STEPS, Machine
from ..numbers import LAYOUTS, Numbers
from .verdict import Verdict, taught, trains

_KINDS = (
    (
        "kinds",
        re.compile(r"(?i)^(?:cross_entropy|CrossEntropyLoss|nll_loss|NLLLoss|softmax_cross_entropy\w*)$"),
    ),
    ("yes", re.compile(r"(?i)^(?:BCEWithLogitsLoss|binary_cross_entropy_with_logits)$")),
    (
        "reals",
        re.compile(
            r"(?i)^(?:mse_loss|MSELoss|l1_loss|L1Loss|huber_loss|HuberLoss|smooth_l1_loss|SmoothL1Loss)$"
        ),
    ),
)
_OTHER = re.compile(
    r"(?i)top|balanced|class|macro|weighted|norm|rel|best|per[ _]|@|within|exact|seq|tok|word|char|log|scaled"
    r"|std|z_"
)
_NEAR = 2e-3
_CURVED = frozenset(
    ("exp", "expm1", "exp2", "log", "log1p", "inverse_transform", "clip", "clamp", "relu", "round")
)
_OVERLAPS = frozenset(("precision", "recall", "f1", "iou", "dice"))
_OF_MASKS = frozenset(("iou", "dice"))
_SHARES = frozenset(("accuracy", "error", *_OVERLAPS))
_OF_TASK = {"kinds": _SHARES, "yes": _SHARES, "reals": frozenset(("mae", "mse", "rmse", "r2"))}
_MANY = 50  # rows that a program writes out as a number
_CLASSES = 40  # of a program, as many as that are looked for
_CHANCES = (0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9, 0.95)
_CUTS = (*_CHANCES, *(float(np.log(p / (1 - p))) for p in _CHANCES))  # of scores and of chances


@dataclass(frozen=True)
class _Worked:
    """What a figure comes to, and what it may come to by its name: the plain definition first."""

    told: Told
    kind: str
    value: float
    wanted: tuple[float, ...]
    sizes: frozenset[int] = frozenset()  # of its batches, of all, and how many batches there are

    @property
    def ways(self) -> list[float]:
        """Each as it is and in percent; what is missing of the plain one to all."""
        missing = 1 - self.wanted[0]
        found = [v for w in (*self.wanted, missing) for v in (w, 100 * w)]
        plain = 100 * self.wanted[0]
        whole = self.kind in _SHARES and self.value > 1 and self.value in (np.floor(plain), np.round(plain))
        return [*found, self.value if whole else plain]  # `100 * hits // n`


def worked_otherwise(machine: Machine) -> Iterator[Verdict]:
    """A figure is named after one thing, and on made answers it comes to another, whatever the layout.

    Not judged: several networks or losses, rows that are asked twice, answers that are bent or cut.
    """
    found = _truth(machine)
    if found is None or not trains(machine) or machine.steps < STEPS // 3:
        return
    task, mark = found
    asked = {_key(told) for told in _named(machine) if kind_of(told.label) in _OF_TASK[task]}
    if not asked:
        return
    wrong: dict[tuple[int, str], list[bool]] = {}
    places: dict[tuple[int, str], _Worked] = {}
    for layout in LAYOUTS[task]:
        first = _figures(machine.source, Numbers(task, layout, 1, mark))
        if first is None:
            return
        first = {k: w for k, w in first.items() if all(wrong.get(k, ()))}
        met = {k for k, w in first.items() if _met_at_once(task, w)}
        second = (first.keys() - met and _figures(machine.source, Numbers(task, layout, 2, mark))) or {}
        for key, one in first.items():
            if layout.endswith("two") and one.kind not in _OVERLAPS:
                continue  # a share of hits is one of any number of classes
            if key in met:
                wrong.setdefault(key, []).append(False)
            elif key in second:
                wrong.setdefault(key, []).append(_is_other(task, one, second[key]))
                places[key] = one
        if all(not all(wrong.get(key, (True,))) for key in asked):
            return  # each is what its name says in some layout: no other one is gone through
    for key, off in wrong.items():
        if all(off):
            one = places[key]
            why = (
                f"worked out on made answers, {one.told.label!r} is no {one.kind}:"
                f" it comes to {one.value:.4g}, where that is {one.wanted[0]:.4g}"
            )
            yield Verdict("worked-otherwise", one.told.node, why)


def _met_at_once(task: str, one: _Worked) -> bool:
    """Whether a figure is what its name says on some numbers, which is enough but for means over classes."""
    return not _by_chance(task, one) and any(_near(one.value, way) for way in one.ways)


def _by_chance(task: str, one: _Worked) -> bool:
    """Whether there are so many means of its name that one is met on some numbers by chance."""
    return task == "kinds" and one.kind in _OVERLAPS


def _is_other(task: str, first: _Worked, second: _Worked) -> bool:
    """Whether a figure is none of what its name may say, on either numbers."""
    for one, other in zip(first.ways, second.ways, strict=True):
        hits = (_near(first.value, one), _near(second.value, other))
        if all(hits) or (any(hits) and not _by_chance(task, first)):
            return False
        if task == "reals" and one and other and _near(ratio := first.value / one, second.value / other):
            power = 2 if first.kind == "rmse" else 1
            ratios = (ratio**power, 1 / ratio**power if ratio else 0)
            return any(_near(r, size) for size in first.sizes for r in ratios)
    return True


def _near(value: float, wanted: float) -> bool:
    return abs(value - wanted) <= _NEAR * max(abs(wanted), 1e-3) + 1e-9


def _truth(machine: Machine) -> tuple[str, str] | None:
    """The task and the place of a batch that holds the truth, by the losses that are learnt from."""
    found = set()
    learnt = taught(machine)
    for name, given in machine.losses:
        answers = [g for g in given if g.asked & learnt]
        if not answers:
            continue  # of an evaluation
        task = next((t for t, ask in _KINDS if ask.match(name)), None)
        marks = {m for g in given if not g.asked for m in g.held if m.startswith("<")}
        if task is None or len(answers) != 1 or len(marks) != 1:
            return None
        found.add((task, marks.pop()))
    return found.pop() if len(found) == 1 else None


def _figures(source: Script, numbers: Numbers) -> dict[tuple[int, str], _Worked] | None:
    """What each figure comes to; None where that takes too long, as it then does in any layout."""
    machine = Machine(source, numbers=numbers)
    machine.run()
    found: dict[tuple[int, str], _Worked] = {}
    for told in _named(machine):
        worked = _worked(numbers, told, machine)
        if worked is not None:
            found[_key(told)] = worked
    return found if found or machine.steps >= 0 else None


def _key(told: Told) -> tuple[int, str]:
    """A figure by the line that tells it and its name."""
    return getattr(told.node, "lineno", 0), told.label


def _named(machine: Machine) -> Iterator[Told]:
    """Figures of answers that are not learnt from, by whose names it is known what they are."""
    learnt = taught(machine)
    for told in machine.journal.of(Told):
        if not told.value.asked & learnt and kind_of(told.label) and not _OTHER.search(told.label):
            yield told


def _worked(numbers: Numbers, told: Told, machine: Machine) -> _Worked | None:
    """What a figure comes to; None where it is not known, or its name says nothing of these answers."""
    value = np.asarray(told.value.number if told.value.number is not None else np.nan, float)
    asks = [machine.asks[n] for n in sorted(told.value.asked) if n in machine.asks]
    if value.size != 1 or not np.isfinite(value).all() or _CURVED.intersection(told.value.done):
        return None
    if not asks or any(a.rows is None for a in asks) or len({a.net.serial for a in asks}) != 1:
        return None
    rows = np.concatenate([a.rows for a in asks if a.rows is not None])
    if len(np.unique(rows)) != len(rows):
        return None  # rows that are asked twice: views, folds
    plain = numbers.plain
    kind = kind_of(told.label)
    wanted = tuple(_wanted(numbers.task, kind, plain.answers(rows), plain.truth(rows)))
    told_as = float(value.reshape(-1)[0])
    misses = kind in _SHARES and wanted and not _near(told_as, wanted[0])
    if misses and _by_a_written_number(machine.source, told_as, wanted[0] * len(rows)):
        return None
    if wanted and numbers.task == "kinds" and kind in _OVERLAPS:
        wanted += tuple(_of_more(wanted[0] * numbers.kinds, numbers.kinds, machine.source))
    if wanted and (kind in _OF_MASKS or (kind == "f1" and _of_masks(machine))):
        wanted += tuple(_mean_of_batches(numbers, kind, asks))
    sizes = frozenset((len(rows), len(asks), *(len(a.rows) for a in asks if a.rows is not None))) - {0, 1}
    return _Worked(told, kind, told_as, wanted, sizes) if wanted else None


def _by_a_written_number(source: Script, value: float, hits: float) -> bool:
    """Whether hits are divided by a number of rows that is written out: those of a rehearsal are made up."""
    written = {n.value for n in source.of(ast.Constant) if type(n.value) is int and n.value >= _MANY}
    written |= {a - b for a in written for b in written if a - b >= _MANY}
    return value > 0 and any(abs(hits * w / value - n) < 1e-6 * n for w in (1, 100) for n in written)


def _of_masks(machine: Machine) -> bool:
    """Whether the program tells an overlap of masks beside it."""
    return any(kind_of(told.label) in _OF_MASKS for told in machine.journal.of(Told))


def _mean_of_batches(numbers: Numbers, kind: str, asks: list[Asked]) -> Iterator[float]:
    """The plain one, worked out on each batch of masks and averaged, as is usual for overlaps of masks."""
    plain = numbers.plain
    each = [
        next(iter(_wanted(numbers.task, kind, plain.answers(a.rows), plain.truth(a.rows))), None)
        for a in asks
        if a.rows is not None
    ]
    known = [v for v in each if v is not None and np.isfinite(v)]
    if known and len(known) == len(each):
        yield float(np.mean(known))


def _wanted(task: str, kind: str, said: np.ndarray, truth: np.ndarray) -> Iterator[float]:
    if task == "reals":
        off = said - truth
        mse, mae = float((off**2).mean()), float(np.abs(off).mean())
        yield from {"mae": (mae,), "mse": (mse,), "rmse": (mse**0.5,)}.get(kind, ())
        if kind == "r2":
            yield 1 - mse / float(truth.var())
            yield float(np.corrcoef(said, truth)[0, 1] ** 2)
        return
    guess = said.argmax(1) if task == "kinds" else (said > 0).astype(float)
    if kind in ("accuracy", "error"):
        hits = float((guess == truth).mean())
        yield hits
        yield hits * len(truth)  # a count, divided later
        yield float(np.mean([float((guess[truth == k] == k).mean()) for k in np.unique(truth)]))
        if task == "kinds":
            kept = [truth != k for k in range(said.shape[1])]  # padding is left out
            yield from (float((guess == truth)[k].mean()) for k in kept if k.any())
            order = np.argsort(-said, axis=1)
            yield from (float((order[:, :k] == truth[:, None]).any(1).mean()) for k in (2, 3))
        else:
            yield from (float(((said > cut) == truth).mean()) for cut in _CUTS)
    elif task == "kinds" and kind in _OVERLAPS:
        yield from _over_classes(kind, said.argmax(1), truth, said.shape[1])
    elif task == "yes" and kind in _OVERLAPS:
        for cut in (0.0, *_CUTS):
            guess = (said > cut).astype(float)
            for one in (1, 0):
                yield _overlap(kind, guess == one, truth == one)


def _overlap(kind: str, guess: np.ndarray, truth: np.ndarray) -> float:
    """Precision, recall, F1, Dice or the share of overlap of one class."""
    tp = float((guess & truth).sum())
    p, t = float(guess.sum()), float(truth.sum())
    f1 = 2 * tp / max(p + t, 1)
    ways = {"precision": tp / max(p, 1), "recall": tp / max(t, 1), "f1": f1, "dice": f1}
    return ways.get(kind, tp / max(p + t - tp, 1))


def _over_classes(kind: str, guess: np.ndarray, truth: np.ndarray, kinds: int) -> Iterator[float]:
    """A figure of overlap over several classes: their mean, that without one of them, all taken together."""
    each = np.array([_overlap(kind, guess == k, truth == k) for k in range(kinds)])
    yield float(each.mean())
    for k in range(kinds):
        yield float(np.delete(each, k).mean())
        yield float(each[k])
    counts = np.bincount(truth.astype(int), minlength=kinds)
    hits = float((guess == truth).sum())
    yield hits / len(truth)
    yield hits / (2 * len(truth) - hits)
    yield float((each * counts).sum() / counts.sum())


def _of_more(total: float, kinds: int, source: Script) -> Iterator[float]:
    """The mean over more classes than there are here, as many as a number of the program says."""
    numbers = {n.value for n in source.of(ast.Constant) if type(n.value) is int}
    for more in sorted(numbers):
        if kinds < more < _CLASSES:
            yield from (total / more, (total + more - kinds) / more)
