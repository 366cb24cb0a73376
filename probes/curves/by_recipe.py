"""Curves together with a setting that explains them: what stands still by its recipe."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ...engine.model import Place, State
from ..config.optimisation import warmup_absent
from ..config.precision import pure_bf16_weights
from ..config.values import number_of, value_of
from ..registry import Finding, View, absent, place, present, unknown
from ..run import Run
from ..settings import number
from . import situation
from .judging import probe, see
from .metrics import finite
from .shapes import Shape, shape
from .stuck import at_token_frequencies
from .unlike_totals import weighed_classes

_ARCHITECTURE = re.compile(
    r"^(?:arch|type|model_type|architecture|model|model_name|encoder_type|decoder_type|encoder|decoder)$"
)


def _transformer(run: Run) -> str | None:
    """The setting that calls the model a transformer."""
    for setting in run.raw_settings:
        leaf = re.split(r"[./]", setting.key)[-1].replace("-", "_").lower()
        if _ARCHITECTURE.match(leaf) and "transformer" in str(setting.value).lower()[:80]:
            return f"{setting.key} = {setting.value}"
    return None


@probe("train/loss")
def stuck_without_warmup(view: View) -> Finding:
    """A transformer that is given no warm-up learns how often tokens occur and nothing more."""
    run = view.run
    without = warmup_absent(view)
    if without.state is not State.PRESENT:
        return without
    named = _transformer(run)
    if named is None:
        return unknown(f"{without.why}; nothing says that the model is a transformer")
    if why := situation.trained_start(run):
        return unknown(f"{without.why}, and {why}")
    stuck = at_token_frequencies(view)
    words = f"{named}, {without.why}; {stuck.why}"
    if stuck.state is State.PRESENT:
        where = (*without.where, *stuck.where)
        return present(words, value=stuck.value, where=where, step=stuck.step, series=stuck.series)
    return absent(words, series=stuck.series) if stuck.state is State.ABSENT else unknown(words)


@probe("train/loss")
def raw_columns(view: View, nats: float = 3.0) -> Finding:
    """The log describes columns of very different scales, and a classifier begins far above any guess.

    The logarithm of few classes is below `nats`; what costs more before anything is learned is sure and
    wrong, as where large inputs give large outputs. A program that scales what it described begins with the
    loss of a guess.
    """
    run = view.run
    told = next((e for e in run.events if e.kind == "worked-out" and e.data == "columns-apart"), None)
    if told is None:
        return unknown("no log describes the columns of a table")
    curve = shape(run.series["train/loss"])
    scored = any(situation.metric(run, s, ("accuracy", "f1", "auc")) for s in ("train", "eval", "test"))
    if curve is None or not scored:
        return unknown(f"{told.text}; nothing tells that classes are learned")
    first = float(curve.y[0])
    known = situation.classes(run)
    least = max(nats, 2 * situation.chance_loss(run, known.count)) if known is not None else nats
    words = f"{told.text}, and {curve.name} begins at {first:.3g}"
    rest: dict[str, Any] = {"value": first, "threshold": least, "series": (curve.name,)}
    where = (Place(told.file, told.line),)
    if first < least:
        return absent(words, where=where, **rest)
    if weighed := weighed_classes(run):
        return unknown(f"{words}; {weighed} makes a guess cost more", where=where, **rest)
    judged = situation.quality(run, ("eval", "train"))
    if judged is not None and judged[0] == "good":
        return unknown(f"{words}, but {judged[1]}", where=where, **rest)
    return present(words, where=(*where, *see(curve, 0)["where"]), **rest)


LEARNED = 0.3  # of the loss: answers that stay near zero never win so much


@probe()
def answers_near_nothing(view: View, points: int = 5, units: float = 50.0) -> Finding:
    """The relative error stays that of answering zero while the loss, in units of the target, is large.

    Who answers zero has a MAPE of 1 and a symmetric one of 2. A network's answers begin near zero, and by
    steps of usual size they never come to targets of thousands or millions.
    """
    run = view.run
    series = run.series.get("eval/mape") or run.series.get("train/mape")
    if series is None and "train/r2" in run.series:
        return _below_the_mean(run, points, units)
    held = run.series.get("eval/loss") or run.series.get("train/loss")
    if series is None or held is None:
        return unknown("no relative error is logged beside a loss")
    values, losses = finite(series), finite(held)
    if len(values) < points or len(losses) < points:
        return unknown(f"fewer than {points} relative errors")
    both = 2.0 if "smape" in series.raw.lower().replace("_", "") else 1.0
    shares = values / 100 if float(np.median(values)) > 2 * both else values
    end, loss = float(np.median(shares[-max(2, len(shares) // 5) :])), float(np.median(losses[-points:]))
    words = f"{series.raw} ends at {end:.3g}, where answers of zero have {both:g}; {held.name} is {loss:.4g}"
    rest: dict[str, Any] = {
        "value": round(end, 4),
        "threshold": 0.85 * both,
        "series": (series.name, held.name),
    }
    drawn = shape(held)
    if drawn is not None and drawn.progress >= LEARNED:
        return absent(f"{words}, {drawn.progress:.0%} less than at first", **rest)
    if 0.85 * both <= end <= 1.02 * both and float(np.max(shares)) <= 1.05 * both and loss >= units:
        return present(words, where=(place(series, len(series) - 1),), **rest)
    return absent(words, **rest)


def _falls_elsewhere(view: View, curve: Shape, fall: float) -> bool:
    """Whether the benchmark begins at the same loss, keeps its weights otherwise, and falls by `fall`."""
    other = None if view.benchmark is None else view.benchmark.series.get("train/loss")
    theirs = None if other is None else shape(other)
    if view.benchmark is None or theirs is None or theirs.count < 5 or theirs.start.value <= 0:
        return False
    if "precision" in view.benchmark.settings:
        if pure_bf16_weights(View(view.benchmark)).state is State.PRESENT:
            return False
    near = abs(theirs.start.value / curve.start.value - 1) <= 0.1
    return near and 1 - theirs.end.value / theirs.start.value >= fall


def _below_the_mean(run: Run, points: int, units: float, level: float = -0.5) -> Finding:
    """The share of the variance that is explained stays far below that of answering the mean, in training.

    Who answers zero has minus the squared ratio of the target's mean and deviation.
    """
    series, loss = run.series["train/r2"], run.series.get("train/loss")
    values, losses = finite(series), finite(loss) if loss is not None else np.empty(0)
    if len(values) < points or len(losses) < points:
        return unknown(f"fewer than {points} figures of the explained variance")
    best, end = float(np.max(values)), float(np.median(losses[-points:]))
    words = f"{series.raw} is at most {best:.3g}, where answering the mean has 0; the loss is {end:.4g}"
    rest: dict[str, Any] = {"value": round(best, 4), "threshold": level, "series": (series.name,)}
    if best <= level and end >= units:
        return present(words, where=(place(series, len(series) - 1),), **rest)
    return absent(words, **rest)


@probe("train/loss", "config:precision")
def stands_in_bf16(view: View, rate: float = 5e-5, fall: float = 0.02) -> Finding:
    """The loss does not fall, weights are in bf16 alone, and a step of Adam is below what bf16 can add.

    Near a weight of 0.02 or more the numbers of bf16 lie 1e-4 apart, and half of that rounds to nothing.
    """
    pure = pure_bf16_weights(view)
    if pure.state is not State.PRESENT:
        return pure
    run = view.run
    known, optimizer = number_of(run, "learning_rate"), str(value_of(run, "optimizer") or "adam").lower()
    curve = shape(run.series["train/loss"])
    if known is None or curve is None or curve.count < 5:
        return unknown(f"{pure.why}; the learning rate or the course of the loss is not known")
    gained = 1 - curve.end.value / curve.start.value if curve.start.value > 0 else float(np.nan)
    words = f"{pure.why}, the learning rate is {known:g}, and {curve.name} falls by {max(gained, 0):.1%}"
    if situation.trained_start(run) and not _falls_elsewhere(view, curve, 5 * fall):
        return unknown(f"{words}; the model is trained further, where losses move little")
    if "adam" not in optimizer or not np.isfinite(gained):
        return unknown(words)
    judged = situation.quality(run)
    if known <= rate and gained <= fall and (judged is None or judged[0] != "good"):
        where = (*pure.where, *see(curve, curve.count - 1)["where"])
        return present(words, value=known, threshold=rate, where=where, series=(curve.name,))
    return absent(words, series=(curve.name,))


MOST_DEPTH = 8
FEW_SPLITS = 4  # levels; a deeper tree asks many columns
_BOOSTS = frozenset(
    {"num_boost_round", "n_estimators", "num_leaves", "eta", "colsample_bytree", "boosting_type"}
)


@probe("eval/auc")
def solved_by_one_tree(view: View, level: float = 0.995) -> Finding:
    """Boosted trees rank evaluation data at `level` after the first of them.

    One tree of a few splits on one or two columns: whoever ranks nearly all rows by these has the answer
    among the columns.
    """
    run = view.run
    series = run.series["eval/auc"]
    boosts = _BOOSTS & {s.key.rpartition(".")[2] for s in run.raw_settings}
    if len(boosts) < 2 or len(series) < 5 or not np.isfinite(series.values[0]):
        return unknown("nothing tells that trees are boosted, or too few rounds are logged")
    if float(series.steps[0]) > 1 or situation.resumed_itself(run):
        return unknown("the first round is not logged")
    told = {s.key.rpartition(".")[2]: s.value for s in run.raw_settings}
    if (number(told.get("num_parallel_tree")) or 1) > 1 or told.get(
        "boosting_type", told.get("boosting")
    ) == "rf":
        return unknown("each round makes a forest")
    if any(told.get(key) for key in ("xgb_model", "init_model", "input_model")):
        return unknown("the rounds go on from trees that were there")
    depth, leaves = (number(told.get(key)) or 0 for key in ("max_depth", "num_leaves"))
    if depth > MOST_DEPTH or leaves > 2**MOST_DEPTH:
        return unknown("a tree as deep as these may rank rows by itself")
    if depth > FEW_SPLITS or not depth:
        level = max(level, 0.999)
    first = float(series.values[0])
    words = f"{series.raw} is {first:.5g} after the first tree"
    seen: dict[str, Any] = {"value": first, "threshold": level, "series": (series.name,)}
    if first < level:
        return absent(words, **seen)
    return present(words, step=float(series.steps[0]), where=(place(series, 0),), **seen)
