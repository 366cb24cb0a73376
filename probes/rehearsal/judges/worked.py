"""Figures of held-out data worked out on made answers, and held against what their names say."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from ...made_numbers.figures import kind_of
from ...scripts.syntax import Script
from ..journal import Told
from ..machine import Machine
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


def worked_otherwise(machine: Machine) -> Iterator[Verdict]:
    """A figure is named after one thing, and on made answers it comes to another, whatever the layout."""
    found = _truth(machine)
    if found is None or not trains(machine):
        return
    task, mark = found
    wrong: dict[tuple[int, str], list[bool]] = {}
    places: dict[tuple[int, str], tuple[Told, float, str]] = {}
    for layout in LAYOUTS[task]:
        runs = [_figures(machine.source, Numbers(task, layout, seed, mark)) for seed in (1, 2)]
        for key in runs[0].keys() & runs[1].keys():
            off = [_is_other(task, told, machine_) for told, machine_ in (runs[0][key], runs[1][key])]
            if None in off:
                continue
            wrong.setdefault(key, []).append(all(o is not False for o in off))
            told = runs[0][key][0]
            places[key] = (told, float(np.asarray(told.value.number).reshape(-1)[0]), kind_of(told.label))
    for key, off_ in wrong.items():
        if off_ and all(off_):
            told, value, kind = places[key]
            why = f"worked out on made answers, {told.label!r} is no {kind} ({value:.4g})"
            yield Verdict("worked-otherwise", told.node, why)


def _truth(machine: Machine) -> tuple[str, str] | None:
    """The task and the place of a batch that holds the truth, by the losses that are learnt from."""
    found = set()
    learnt = taught(machine)
    for name, given in machine.losses:
        task = next((t for t, ask in _KINDS if ask.match(name)), None)
        answers = [g for g in given if g.asked & learnt]
        others = [g for g in given if not g.asked]
        marks = [m for g in others for m in g.held if m.startswith("<")]
        if task is None or len(answers) != 1 or len(others) != 1 or len(marks) != 1:
            return None
        found.add((task, marks[0]))
    return found.pop() if len(found) == 1 else None


def _figures(source: Script, numbers: Numbers) -> dict[tuple[int, str], tuple[Told, Machine]]:
    machine = Machine(source, numbers=numbers)
    machine.run()
    learnt = taught(machine)
    found: dict[tuple[int, str], tuple[Told, Machine]] = {}
    for told in machine.journal.of(Told):
        value = told.value
        known = (
            value.number is not None
            and np.size(value.number) == 1
            and np.isfinite(np.asarray(value.number, float)).all()
        )
        if known and not value.asked & learnt and kind_of(told.label) and not _OTHER.search(told.label):
            found[getattr(told.node, "lineno", 0), told.label] = (told, machine)
    return found


def _is_other(task: str, told: Told, machine: Machine) -> bool | None:
    """Whether a figure is another one than its name says; None where its name says nothing here."""
    asks = [machine.asks[n] for n in sorted(told.value.asked) if n in machine.asks]
    if (
        not asks
        or any(a.rows is None for a in asks)
        or machine.numbers is None
        or len({a.net.serial for a in asks}) != 1
    ):
        return None
    rows = np.concatenate([a.rows for a in asks if a.rows is not None])
    if len(np.unique(rows)) != len(rows):
        return None  # rows that are asked twice: views, folds
    plain = Numbers(task, "n n", machine.numbers.seed, "")
    said, truth = plain.answers(rows), plain.truth(rows)
    value = float(np.asarray(told.value.number).reshape(-1)[0])
    kind = kind_of(told.label)
    wanted = list(_wanted(task, kind, said, truth))
    if not wanted:
        return None
    ways = [v for w in wanted for v in (w, 100 * w, 1 - w, 100 * (1 - w))]
    return not any(abs(value - w) <= _NEAR * max(abs(w), 1e-3) + 1e-9 for w in ways)


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
        shares = [float((guess[truth == k] == k).mean()) for k in np.unique(truth)]
        yield float(np.mean(shares))
    elif task == "yes" and kind in ("precision", "recall", "f1", "iou", "dice"):
        for one in (1, 0):
            tp = float(((guess == one) & (truth == one)).sum())
            p, t = float((guess == one).sum()), float((truth == one).sum())
            yield {
                "precision": tp / p,
                "recall": tp / t,
                "f1": 2 * tp / (p + t),
                "dice": 2 * tp / (p + t),
                "iou": tp / (p + t - tp),
            }[kind]
