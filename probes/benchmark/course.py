"""Learning rate and loss against the benchmark's in the course of training."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ...engine.model import State
from ..config import plateau
from ..curves import situation
from ..curves.learning_rate import curve
from ..curves.stats import noise
from ..registry import Finding, View, absent, present, probe, unknown
from .common import blocks_of, places_of, taught_apart
from .compare import Pair, blocks, cleaned, final, pair
from .end import goes_on, makes_up


@probe("learning_rate", "benchmark:learning_rate")
def lr_curve_differs(view: View, relative: float, points: int = 5) -> Finding:
    """The learning rates differ at a tenth of the common steps, and as shares of the run, too."""
    found = pair(view, "learning_rate", points)
    if isinstance(found, str):
        return unknown(found)
    mine, theirs = curve(view.run), curve(view.benchmark) if view.benchmark else None
    peak = max(mine.peak if mine else 0.0, theirs.peak if theirs else 0.0)
    if peak <= 0:
        return absent("both learning rates are zero", series=("learning_rate",))
    scale = np.maximum(np.maximum(found.run, found.bench), 0.01 * peak)
    off = np.abs(found.run - found.bench) / scale
    bad = np.flatnonzero(off > relative)
    rest: dict[str, Any] = {
        "value": float(len(bad) / len(off)),
        "threshold": 0.1,
        "series": ("learning_rate",),
    }
    if len(bad) < max(2, 0.1 * len(off)):
        return absent(f"the learning rates agree at {len(off) - len(bad)} of {len(off)} steps", **rest)
    if _stretched(found, relative):
        return absent("the learning rates are those of one schedule over runs of different length", **rest)
    if bad[0] > 0 and plateau.watches(view.run) and plateau.lowered_while_improving(view.run) is None:
        return unknown("the schedule follows how the run goes: another rate is what comes of it", **rest)
    at = int(bad[0])
    text = (
        f"the learning rates differ at {len(bad)} of {len(off)} steps, first at step {found.x[at]:g}"
        f" ({found.run[at]:g}, in the benchmark {found.bench[at]:g})"
    )
    return present(text, step=float(found.x[at]), where=places_of(found, at), **rest)


def _stretched(found: Pair, relative: float, points: int = 40) -> bool:
    """Whether both rates take the same course from beginning to end, over different numbers of steps."""
    sides = []
    for series in (found.run_series, found.bench_series):
        x, y = cleaned(series.steps, series.values)
        if len(x) < 5 or x[-1] <= 0:
            return False
        sides.append((x, y))
    (x, mine), (u, theirs) = sides
    if max(x[-1] / u[-1], u[-1] / x[-1]) < 1.1:
        return False
    grid = np.linspace(max(x[0] / x[-1], u[0] / u[-1]), 1.0, points)
    a, b = np.interp(grid * x[-1], x, mine), np.interp(grid * u[-1], u, theirs)
    peak = float(max(np.max(mine), np.max(theirs)))
    return float(np.mean(np.abs(a - b) <= relative * peak)) >= 0.9


@probe("train/loss", "benchmark:train/loss")
def departs_late(view: View, relative: float, after: float, points: int = 12) -> Finding:
    """The losses agree over the first `after` of the common steps and part for good later."""
    made = blocks_of(view, "train/loss", points)
    if isinstance(made, str):
        return unknown(made)
    found, levels = made
    off = levels.relative(found.span)
    apart = (np.abs(off) > relative) & levels.significant()
    rest: dict[str, Any] = {"threshold": relative, "series": ("train/loss",)}
    if not apart[-1] or not apart[-2]:
        return absent("the losses do not part at the end", **rest)
    joined = np.flatnonzero(~(apart & (np.sign(off) == np.sign(off[-1]))))
    start = int(joined[-1]) + 1 if len(joined) else 0
    if start < after * len(apart):
        return absent(f"the losses part at step {levels.x[start]:g}, not late", **rest)
    if np.mean(~apart[:start]) < 0.8:
        return absent("the losses do not agree before", **rest)
    if len(apart) - start < 2:
        return unknown("the losses part only in the last points")
    size = float(np.median(off[start:]))
    at = int(np.searchsorted(found.x, levels.x[start]))
    text = (
        f"the losses agree until step {levels.x[start]:g}, then the run's is {size:+.0%} off the benchmark's"
    )
    return present(text, value=size, step=float(levels.x[start]), where=places_of(found, at), **rest)


UNIT = 0.02  # of the logarithm: what two runs of one recipe leave between bits and nats


def _gradients_agree(view: View, apart: float) -> bool:
    """Whether the gradient norms lie far nearer than the losses, whose logarithms are `apart` apart."""
    norms = pair(view, "grad_norm", 6)
    if isinstance(norms, str) or np.any(norms.run <= 0) or np.any(norms.bench <= 0):
        return False
    limit = situation.number(view.run, "max_grad_norm")
    if limit and float(np.median(norms.run)) >= 0.95 * limit and float(np.ptp(norms.run)) < 0.1 * limit:
        return False  # logged after clipping
    return abs(float(np.median(np.log(norms.run / norms.bench)))) < 0.2 * apart


@probe("train/loss", "benchmark:train/loss")
def loss_scaled(view: View, ratio: float, spread: float, points: int = 6) -> Finding:
    """The training loss is a constant multiple of the benchmark's over a curve that falls, and it alone.

    Constant: the logarithm of the ratio stays within `spread` (and twice its scatter) of its median. What
    adds up over the batches of a step leaves the evaluation alone: where its loss is a multiple, too, the
    model, its targets or the loss itself are on another scale.
    """
    made = blocks_of(view, "train/loss", points)
    if isinstance(made, str):
        return unknown(made)
    found, levels = made
    if np.any(levels.run <= 0) or np.any(levels.bench <= 0):
        return unknown("losses that are not positive have no ratio")
    logs = np.log(levels.run / levels.bench)
    middle = float(np.median(logs))
    factor = float(np.exp(middle))
    text = f"the loss is {factor:.2f} times the benchmark's at all of {len(logs)} compared places"
    rest: dict[str, Any] = {"value": factor, "threshold": ratio, "series": ("train/loss",)}
    if abs(middle) <= np.log(ratio):
        return absent(f"the loss is {factor:.2f} times the benchmark's in the median", **rest)
    if float(np.max(np.abs(logs - middle))) > spread + 2 * min(float(noise(logs)), spread):
        return absent("the ratio of the losses is not constant", **rest)
    quarter = max(2, len(logs) // 4)  # a factor is there from the first place to the last one
    ends = [float(np.median(part)) for part in (logs[:quarter], logs[-quarter:])]
    if max(abs(end - middle) for end in (float(logs[0]), *ends)) > spread:
        return absent(
            f"the ratio of the losses begins at {np.exp(logs[0]):.2f} and ends at {np.exp(ends[1]):.2f}",
            **rest,
        )
    beside = blocks_of(view, "eval/loss", 3)
    if not isinstance(beside, str) and np.all(beside[1].run > 0) and np.all(beside[1].bench > 0):
        other = float(np.median(np.log(beside[1].run / beside[1].bench)))
        if abs(other) > 0.5 * abs(middle) and other * middle > 0:
            return absent(f"{text}, but so is the evaluation's ({np.exp(other):.2f} times)", **rest)
    # an offset and a factor look the same as long as the loss does not move
    shifted = levels.bench + float(np.median(levels.run - levels.bench))
    spread_of_offset = float(np.std(np.log(levels.run / shifted))) if np.all(shifted > 0) else float("inf")
    flat = float(np.max(levels.bench) / np.min(levels.bench)) < 1.3
    if flat or float(np.std(logs)) > 0.5 * spread_of_offset:
        return unknown(f"{text}; the curves are too flat to tell a factor from an offset", **rest)
    if abs(abs(middle) + np.log(np.log(2))) < UNIT:  # a factor of ln 2, or one over it
        return unknown(f"{text}: one side may log bits, the other nats", **rest)
    if _gradients_agree(view, abs(middle)):
        return unknown(f"{text}, and the gradients are not: what is logged is divided otherwise", **rest)
    return present(text, step=float(found.x[0]), where=places_of(found, 0), **rest)


@probe("train/loss", "benchmark:train/loss")
def multiple_of_batches(view: View, ratio: float, spread: float, near: float = 0.08) -> Finding:
    """The training loss is as many times the benchmark's as the batch is smaller: a whole number of times.

    Both told on their own: the factor by the curves (`loss_scaled`), the number by the batch sizes. Losses of
    n batches that are added up to one step and not divided by n are n times as large.
    """
    scaled = loss_scaled(view, ratio=ratio, spread=spread)
    if scaled.state is not State.PRESENT or view.benchmark is None:
        return Finding(scaled.state, scaled.why)
    mine, theirs = (situation.number(r, "global_batch_size") for r in (view.run, view.benchmark))
    if not mine or not theirs:
        return unknown(f"{scaled.why}; the batch sizes are not known")
    factor, times = float(scaled.value or 0.0), theirs / mine
    words = f"{scaled.why}; the batch is {mine:g}, in the benchmark {theirs:g}"
    rest: dict[str, Any] = {"value": factor, "threshold": times, "series": ("train/loss",)}
    if times < 1.5 or abs(times - round(times)) > 0.01 * times or abs(factor / times - 1) > near:
        return absent(words, **rest)
    return present(f"{words}, {times:g} times as large", where=scaled.where, **rest)


@probe("train/loss", "benchmark:train/loss")
def slower(view: View, ratio: float, points: int = 8) -> Finding:
    """The run needs `ratio` times the benchmark's steps to come half and most of the way down."""
    found = pair(view, "train/loss", points)
    if isinstance(found, str):
        return unknown(found)
    levels = blocks(found, 40)
    begin = max(float(levels.bench[0]), float(found.bench[0]))
    low = float(np.min(levels.bench))
    drop = begin - low
    if drop <= 3 * float(np.median(levels.error)) or drop < 0.05 * abs(begin):
        return unknown("the benchmark's loss falls too little to compare the speed")
    ratios = []
    for share in (0.5, 0.8):
        target = begin - share * drop
        theirs, mine = _reach(found, found.bench, target), _reach(found, found.run, target)
        if theirs is None or theirs <= 0:
            continue
        # not reached at all: as slow as the common length shows
        reached = mine if mine is not None else float(found.x[-1] - found.x[0])
        ratios.append((reached / theirs, share, mine is None))
    if not ratios:
        return unknown("the benchmark is down before its second point")
    text = "; ".join(
        f"{'at least ' if cut else ''}{r:.1f} times the steps for {share:.0%} of the way"
        for r, share, cut in ratios
    )
    rest: dict[str, Any] = {
        "value": min(r for r, *_ in ratios),
        "threshold": ratio,
        "series": ("train/loss",),
    }
    if all(r >= ratio for r, *_ in ratios):
        if said := makes_up(view) or taught_apart(view) or goes_on(view, found, 0.02):
            return unknown(f"the run needs {text}; {said}", **rest)
        return present(f"the run needs {text}", **rest)
    if any(cut and r < ratio for r, _, cut in ratios):
        return unknown(f"the run needs {text}; the common part is too short to tell", **rest)
    return absent(f"the run needs {text}", **rest)


def _reach(found: Pair, values: Any, target: float) -> float | None:
    """Steps from the beginning until the curve (block medians) is down to `target`."""
    width = max(1, len(values) // 40)
    medians = [float(np.median(values[i : i + width])) for i in range(0, len(values), width)]
    for block, value in enumerate(medians):
        if value <= target:
            interval = float(np.median(np.diff(found.x))) if len(found) > 1 else 1.0
            return float(found.x[min(block * width, len(found) - 1)] - found.x[0]) + interval
    return None


@probe("train/loss", "benchmark:train/loss")
def noisier(view: View, ratio: float, points: int = 24) -> Finding:
    """The run's loss scatters from point to point by a multiple of the benchmark's."""
    found = pair(view, "train/loss", points)
    if isinstance(found, str):
        return unknown(found)
    if found.run_series.window != found.bench_series.window:
        return unknown("the losses are averaged over different windows")
    gaps = [float(np.median(np.diff(np.unique(s.steps)))) for s in (found.run_series, found.bench_series)]
    if max(gaps) > 1.5 * min(gaps):
        return unknown("the losses are logged at different intervals, which changes their noise")
    thirds = np.array_split(np.arange(len(found)), 3)
    factors = []
    for part in thirds:
        mine, theirs = float(noise(found.run[part])), float(noise(found.bench[part]))
        # relative to the level: a loss that is twice as high scatters twice as much
        scale = max(1.0, float(np.median(found.run[part])) / max(float(np.median(found.bench[part])), 1e-12))
        floor = 1e-3 * max(abs(float(np.median(found.bench[part]))), 0.01 * found.span, 1e-12)
        factors.append(mine / scale / max(theirs, floor))
    factor = float(np.median(factors))
    text = f"the loss scatters {factor:.1f} times as much as the benchmark's"
    rest: dict[str, Any] = {"value": factor, "threshold": ratio, "series": ("train/loss",)}
    return present(text, **rest) if factor >= ratio else absent(text, **rest)


_PLACES = re.compile(
    r"(?<![a-z])(r?box|bbox|bb|loc|reg|giou|diou|ciou|iou|l1|dfl|xy|wh|offset|size)", re.IGNORECASE
)
_KINDS = re.compile(r"(?<![a-z])(cls|class|ce|cross|focal|label)", re.IGNORECASE)


def _term_of(name: str) -> str | None:
    """What a term of the loss is about: "class", "place", or None where its name does not tell."""
    base = name.rpartition("/")[2]
    if _PLACES.search(base):
        return "place"
    return "class" if _KINDS.search(base) else None


@probe("benchmark")
def term_apart(view: View, kind: str, ratio: float, equal: float) -> Finding:
    """Of several terms of the training loss only those of one kind end `ratio` above the benchmark's.

    Kinds are "class" (what something is) and "place" (where it is), told by the terms' names. Terms of the
    other kind have to end within a factor of `equal`: what hurts the whole model raises all of them.
    """
    if view.benchmark is None:
        return unknown("needs a benchmark run (--benchmark)")
    gaps: dict[str, list[tuple[float, str]]] = {"class": [], "place": []}
    for name in situation.terms(view.run):
        found, about = pair(view, name, 5), _term_of(name)
        if about is None or isinstance(found, str):
            continue
        mine, theirs, _ = final(found, 0.2)
        if mine > 0 and theirs > 0:
            gaps[about].append((mine / theirs, name))
    other = "place" if kind == "class" else "class"
    if not gaps["class"] or not gaps["place"]:
        return unknown("the loss is not logged in terms of class and place on both sides")
    (high, name), rest_of = max(gaps[kind]), [g for g, _ in gaps[other]]
    text = f"{name} ends at {high:.2f} times the benchmark's, the {other} terms at {max(rest_of):.2f} times"
    rest: dict[str, Any] = {"value": high, "threshold": ratio, "series": (name,)}
    if high >= ratio and 1 / equal <= min(rest_of) and max(rest_of) <= equal:
        return present(text, **rest)
    return absent(text, **rest)
