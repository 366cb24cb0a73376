"""Which data a metric is of whose name says nothing: that of the losses in whose rows it stands.

`epoch: 3, val_loss: 0.45, accuracy: 0.88`: the accuracy is that of the validation, although a bare "accuracy"
is one of the training wherever a bare "loss" stands beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..run import Series
from . import names

_OF_TRAINING = ("learning_rate", "grad_norm", "loss_scale", "overflow", "skipped")

_ERRORS = ("mse", "rmse", "mae", "nll", "perplexity", "error")  # what stands for a loss where none is logged

# What is counted from the same hits and misses, and so on the same data.
_COUNTED = ("eval/precision", "eval/recall")
_OF_ONE_COUNT = ("eval/f1", "eval/auc")


def by_file(files: Mapping[str, Iterable[Series]]) -> dict[str, str]:
    """Which data a file is of by its name alone: `valid.csv` beside `train.csv`, both with a column "loss".

    Only where another file holds a training loss, and where nothing in the file itself speaks of data sets
    or of what only a training has: somebody may call a whole log `test.log`.
    """
    found: dict[str, str] = {}
    trained = set()
    of_files = {path: (listed := list(curves), _known(listed)) for path, curves in files.items()}
    rated = {
        path: max(map(len, listed))
        for path, (listed, known) in of_files.items()
        if {"train/loss", "learning_rate"} <= set(known)
    }
    for path, (listed, known) in of_files.items():
        if "train/loss" in known:
            trained.add(path)
        mine = max(map(len, listed), default=0)
        if any(rows >= 2 * mine for other, rows in rated.items() if other != path):
            # the training's own file has its rate and more rows: here it is told beside the evaluation
            listed = [s for s in listed if names.canonical(s.raw, s.split) != "learning_rate"]
            known = [name for name in known if name != "learning_rate"]
        untold = all(_untold(s) for s in listed)
        split = _split_of_name(path)
        if known and untold and split and not any(n.startswith(_OF_TRAINING) for n in known):
            found[path] = split
    return found if trained - found.keys() else {}


def _known(listed: Iterable[Series]) -> list[str]:
    return [name for s in listed if (name := names.canonical(s.raw, s.split)) is not None]


def _split_of_name(path: str) -> str:
    """The data set that a file's name speaks of; "" for none, for the training's and for several."""
    stem = path.rpartition("/")[2].rpartition(".")[0]
    words = re.split(r"[\s_\-.]+", re.sub(r"(?i)h[eo]ld[-_ ]?out", "heldout", stem))
    words = [
        w.removesuffix("s") if re.fullmatch(r"(?i)validations|evaluations|evals", w) else w for w in words
    ]
    splits = {names.canonical(f"{word}/loss") for word in words if names.tells_split(word)}
    split = str(splits.pop()).partition("/")[0] if len(splits) == 1 else ""
    return split if split in ("eval", "test") else ""


def settled(series: Iterable[Series]) -> list[Series]:
    """The series (with canonical names), those moved to the evaluation that only stand in its rows."""
    found = list(series)
    by_file: dict[tuple[str, int | None], list[Series]] = {}
    for one in found:
        by_file.setdefault((one.file, one.rank), []).append(one)
    return [_of(one, by_file[one.file, one.rank]) for one in found]


def _of(one: Series, beside: list[Series]) -> Series:
    """The series as it is, or as one of the other data."""
    if _untold(one) and one.name.startswith("eval/"):
        return _of_training(one, beside)
    if not _untold(one) or not one.name.startswith("train/") or "/loss" in one.name:
        return one
    mine = _rows(one)
    name = "eval/" + one.name[len("train/") :]
    losses = [s for s in beside if "/loss" in s.name]
    if not losses and (named := [s for s in beside if not _untold(s)]):  # `trn_mse  val_mse  val_mae  r2`
        losses = [s for s in named if s.name.partition("/")[2] in _ERRORS]
    if not mine or any(s.name == name for s in beside):
        return one
    if name in _OF_ONE_COUNT and any(
        s.name in _COUNTED and _untold(s) and mine <= _rows(s) and _of_training(s, beside) is s
        for s in beside
    ):
        return replace(one, name=name, split="eval")
    evaluated = any(s.name.startswith("eval/") and not _untold(s) and mine <= _rows(s) for s in losses)
    trained = any(_untold(s) and s.name.startswith("train/") and mine & _rows(s) for s in losses)
    return replace(one, name=name, split="eval") if evaluated and not trained else one


def _of_training(one: Series, beside: list[Series]) -> Series:
    """`loss, dice_coef, val_loss, val_dice_coef`: a score that is mostly one of an evaluation stands twice.

    The one whose name does not say so is that of the training, where it stands in the rows of its loss.
    """
    mine = _rows(one)
    twice = any(s.name == one.name and names.tells_split(s.raw) for s in beside)
    trained = any(s.name.startswith("train/loss") and mine & _rows(s) for s in beside)
    if not (mine and twice and trained):
        return one
    return replace(one, name="train/" + one.name[len("eval/") :], split="train")


def _untold(one: Series) -> bool:
    """Whether neither the name nor the reader says which data a quantity is of."""
    return not one.split and not names.tells_split(one.raw)


def _rows(one: Series) -> frozenset[int]:
    return frozenset(one.lines.tolist()) if one.lines is not None else frozenset()
