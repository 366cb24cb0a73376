"""The curves of the run held against its benchmark's, on one grid.

Curves count as different only beyond the size asked for *and* beyond their noise, so that two seeds of one
healthy recipe are equal. What a first step tells is used only where both sides logged it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..engine.model import Place
from . import names as quantities
from . import plateau, situation
from .benchmark import both, equal
from .compare import Blocks, Pair, band, blocks, cleaned, final, move_together, pair, pair_noise
from .config.values import number_of
from .learning_rate import curve
from .registry import Finding, View, absent, any_of, place, present, probe, unknown
from .run import Series
from .stats import noise


def places_of(found: Pair, at: int) -> tuple[Place, ...]:
    """Where point `at` of the grid stands on both sides."""
    places = []
    sides: tuple[tuple[Series, str], ...] = ((found.run_series, "run"), (found.bench_series, "benchmark"))
    for series, side in sides:
        if len(series.steps):
            nearest = int(np.argmin(np.abs(np.nan_to_num(series.steps, nan=np.inf) - found.x[at])))
            places.append(place(series, nearest, side))
    return tuple(places)


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


def _first(found: Pair) -> str | None:
    """Say why the first common points are not the first step of training, or None when they are."""
    for series in (found.run_series, found.bench_series):
        if series.unit not in ("step", "iteration", "unknown") or series.window in (
            "epoch-mean",
            "running-mean",
        ):
            return f"{found.name} is not logged step by step"
        if float(series.steps[0]) > 1:
            return f"the first step of {found.name} is not logged on both sides"
    if found.x[0] > 1:
        return f"the first steps of {found.name} do not coincide"
    return None


def _seeds_equal(view: View) -> bool | None:
    found = both(view, "seed")
    return None if found is None else equal("seed", *found)


# Without equal seeds two runs of one recipe begin apart (initialisation, first batch) and take other ways.
_SEED_SPREAD = 0.1
_NORM_SPREAD = 0.5  # the same for a gradient norm, which scatters far more


def _same_batches(view: View, found: Pair) -> bool:
    """The seeds are equal, or the curves move together: their difference scatters far less than either."""
    if _seeds_equal(view) is True:
        return True
    return move_together(found)


@dataclass(frozen=True, slots=True, eq=False)
class _First:
    """A point near the beginning, on both sides. `differs` is None where another seed may explain the gap."""

    pair: Pair
    at: int
    differs: bool | None
    gap: float
    text: str

    @property
    def rest(self) -> dict[str, Any]:
        """The places of a finding about this point."""
        return {"step": float(self.pair.x[self.at]), "where": places_of(self.pair, self.at)}


def _first_differs(
    view: View, name: str, absolute: float, relative: float, spread: float = _SEED_SPREAD, at: int = 0
) -> _First | str:
    """Compare point `at` of the common steps, the first one counting as 0, the next as 1.

    On the same batches the tolerance and the scatter of the *difference* decide. With other batches a gap
    beyond `spread`, the scatter and what repeats of the benchmark span is a difference, and one within the
    tolerance (or the repeats) is none: what lies between may be the seed.
    """
    found = pair(view, name, 3)
    if isinstance(found, str):
        return found
    reason = _first(found)
    if reason:
        return reason
    mine, theirs = float(found.run[at]), float(found.bench[at])
    gap = abs(mine - theirs)
    text = f"{name} at step {found.x[at]:g} is {mine:.5g}, in the benchmark {theirs:.5g}"
    strict, noise_of = max(absolute, relative * abs(theirs)), 4 * pair_noise(found)
    chance = band(found, slice(at, at + 1))
    if _same_batches(view, found):
        return _First(found, at, gap > max(strict, noise_of, chance), gap, text)
    wide = max(strict, spread * abs(theirs), noise_of, chance)
    differs = True if gap > wide else False if gap <= max(strict, chance) else None
    return _First(found, at, differs, gap, text)


SEED = "seed or data order are not known to be equal, and chance may explain that much"


@probe("train/loss", "benchmark:train/loss")
def first_loss_differs(view: View, absolute: float, relative: float) -> Finding:
    """The loss of the first step differs beyond tolerance and noise; see `_first_differs`."""
    first = _first_differs(view, "train/loss", absolute, relative)
    if isinstance(first, str):
        return unknown(first)
    rest: dict[str, Any] = {"value": first.gap, "threshold": absolute, "series": ("train/loss",)}
    if first.differs is None:
        return unknown(f"{first.text}; {SEED}", **rest)
    if first.differs:
        return present(first.text, **first.rest, **rest)
    return absent(first.text, where=first.rest["where"], **rest)


@probe("grad_norm", "benchmark:grad_norm")
def first_grad_norm_differs(
    view: View, relative: float, loss_absolute: float = 0.005, loss_relative: float = 0.005
) -> Finding:
    """The gradient norm of the first step differs while its loss agrees."""
    loss = _first_differs(view, "train/loss", loss_absolute, loss_relative)
    if isinstance(loss, str):
        return unknown(loss)
    if loss.differs:
        return absent("the first losses differ already")
    first = _first_differs(view, "grad_norm", 0.0, relative, _NORM_SPREAD)
    if isinstance(first, str):
        return unknown(first)
    share = first.gap / max(abs(float(first.pair.bench[0])), 1e-30)
    rest: dict[str, Any] = {"value": share, "threshold": relative, "series": ("grad_norm", "train/loss")}
    if first.differs is None:
        return unknown(f"{first.text}; {SEED}", **rest)
    if first.differs:
        return present(f"{first.text}; the losses agree", **first.rest, **rest)
    return absent(first.text, **rest)


@probe("train/loss", "benchmark:train/loss")
def second_loss_differs(view: View, absolute: float, relative: float, norm: float) -> Finding:
    """The loss after the first update differs while the first loss and the first gradient norm agree.

    Told only where both sides see the same batches: another second batch has another loss. `absolute` and
    `relative` are the tolerance of a loss, `norm` that of a gradient norm.
    """
    first = _first_differs(view, "train/loss", absolute, relative)
    if isinstance(first, str):
        return unknown(first)
    if first.differs:
        return absent("the first losses differ already")
    if not _same_batches(view, first.pair):
        return unknown("seed or data order are not known to be equal: other batches have another second loss")
    before = _first_differs(view, "grad_norm", 0.0, norm, _NORM_SPREAD)
    if isinstance(before, str):
        return unknown(f"{before}: backward pass and update cannot be told apart")
    if before.differs:
        return absent("the first gradient norms differ already")
    if first.pair.x[1] - first.pair.x[0] > 1:
        return unknown("the second step is not logged on both sides")
    second = _first_differs(view, "train/loss", absolute, relative, at=1)
    if isinstance(second, str) or second.differs is None or before.differs is None:
        return unknown("the first steps cannot be compared closely enough")
    rest: dict[str, Any] = {"value": second.gap, "threshold": absolute, "series": ("train/loss", "grad_norm")}
    if second.differs:
        text = f"{second.text}; the first loss and gradient norm agree"
        return present(text, **second.rest, **rest)
    return absent(second.text, **rest)


def _agree(view: View, share: float, tolerance: float) -> bool | None:
    """Whether the training losses agree over the first `share` of the common steps."""
    found = pair(view, "train/loss", 5)
    if isinstance(found, str):
        return None
    levels = blocks(found)
    early = slice(0, max(2, round(share * len(levels.x))))
    off = np.abs(levels.relative(found.span))[early]
    return bool(np.mean((off <= tolerance) | ~levels.significant()[early]) >= 0.8)


@probe("grad_norm", "benchmark:grad_norm")
def grad_norm_scaled(view: View, ratio: float, points: int = 6) -> Finding:
    """The gradient norm is a steady multiple of the benchmark's while the losses agree.

    Unknown where the learning rates differ: other steps take another path.
    """
    found = pair(view, "grad_norm", points)
    if isinstance(found, str):
        return unknown(found)
    other = _other_rate(view)
    if other:
        return unknown(other)
    positive = (found.run > 0) & (found.bench > 0)
    if np.sum(positive) < points:
        return unknown(f"fewer than {points} common positive gradient norms")
    logs = np.log(found.run[positive] / found.bench[positive])
    early = logs[: max(points, len(logs) // 3)]
    middle = float(np.median(early))
    spread = 1.4826 * float(np.median(np.abs(early - middle)))
    factor = float(np.exp(middle))
    text = (
        f"the gradient norm is {factor:.2f} times the benchmark's (median of the first {len(early)} points)"
    )
    rest: dict[str, Any] = {"value": factor, "threshold": ratio, "series": ("grad_norm", "train/loss")}
    error = spread / np.sqrt(len(early))
    if abs(middle) <= np.log(ratio) or abs(middle) < 4 * error:
        return absent(text, **rest)
    if spread > 0.5 * abs(middle):
        return absent(f"{text}, but the ratio is not steady", **rest)
    agree = _agree(view, 0.3, 0.1)
    if agree is None:
        return unknown(f"{text}; the losses cannot be compared", **rest)
    if not agree:
        return absent(f"{text}, and the losses differ too", **rest)
    return present(f"{text}; the losses agree", step=float(found.x[0]), where=places_of(found, 0), **rest)


@probe("grad_norm", "benchmark:grad_norm", "train/loss", "benchmark:train/loss")
def grad_norm_below_at_start(view: View, ratio: float, loss: float, points: int = 5) -> Finding:
    """Over the first `points` common points the gradient norm is below `ratio` of the benchmark's.

    The losses there have to agree within `loss` in the median: then the same error sends less gradient
    through the model, because part of it takes none. At most one norm may lie above the benchmark's.
    """
    found = pair(view, "grad_norm", points)
    losses = pair(view, "train/loss", points)
    if isinstance(found, str) or isinstance(losses, str):
        return unknown(found if isinstance(found, str) else str(losses))
    if np.any(found.bench[:points] <= 0) or np.any(losses.bench[:points] <= 0):
        return unknown("the benchmark's first gradient norms or losses are not positive")
    shares = found.run[:points] / found.bench[:points]
    share = float(np.median(shares))
    apart = float(np.median(np.abs(losses.run / losses.bench - 1)[:points]))
    text = (
        f"the first {points} gradient norms are {share:.2f} times the benchmark's,"
        f" the losses there differ by {apart:.1%}"
    )
    rest: dict[str, Any] = {"value": share, "threshold": ratio, "series": ("grad_norm", "train/loss")}
    if apart > loss:
        return unknown(f"{text}: too far apart to compare gradients")
    if share <= ratio and float(np.sort(shares)[-2]) < 1.0:
        return present(text, step=float(found.x[0]), where=places_of(found, 0), **rest)
    return absent(text, **rest)


def _other_rate(view: View, ratio: float = 1.25) -> str | None:
    """Say by how much the logged learning rates differ in the first third of the common steps, or None."""
    rates = pair(view, "learning_rate", 3)
    if isinstance(rates, str):
        return None
    early = slice(0, max(3, len(rates) // 3))
    mine, theirs = float(np.median(rates.run[early])), float(np.median(rates.bench[early]))
    if min(mine, theirs) <= 0 or max(mine / theirs, theirs / mine) < ratio:
        return None
    return (
        f"the learning rates differ ({mine:.3g}, in the benchmark {theirs:.3g}): gradients differ with them"
    )


def _levels(view: View, name: str, points: int) -> tuple[Pair, Blocks] | str:
    found = pair(view, name, points)
    return found if isinstance(found, str) else (found, blocks(found))


@probe("train/loss", "benchmark:train/loss")
def departs_after_first(view: View, relative: float, within: float, points: int = 8) -> Finding:
    """First losses agree; in the first part of training the curves part and stay apart."""
    first = _first_differs(view, "train/loss", 0.005, 0.005)
    if isinstance(first, str):
        return unknown(first)
    if first.differs:
        return absent("the first losses differ already")
    made = _levels(view, "train/loss", points)
    if isinstance(made, str):
        return unknown(made)
    found, levels = made
    if not _same_batches(view, found):
        relative = max(relative, _SEED_SPREAD)
    off = levels.relative(found.span)
    apart = (np.abs(off) > relative) & levels.significant()
    if len(found) <= 1:
        return unknown("one common point is no curve")
    early = np.flatnonzero(apart[: max(2, int(np.ceil(within * len(apart)))) + 1])
    rest: dict[str, Any] = {"threshold": relative, "series": ("train/loss",)}
    if not len(early):
        return absent(f"the losses agree over the first {within:.0%} of the common steps", **rest)
    start = int(early[0])
    after = apart[start:] & (np.sign(off[start:]) == np.sign(off[start]))
    if np.mean(after) < 0.7 or not np.all(after[-2:]):
        return absent("the losses part only for a while", **rest)
    size = float(np.median(off[start:]))
    at = int(np.searchsorted(found.x, levels.x[start]))
    text = f"first losses agree; from step {levels.x[start]:g} on the loss is {size:+.0%} off the benchmark's"
    return present(text, value=size, step=float(levels.x[start]), where=places_of(found, at), **rest)


@probe("train/loss", "benchmark:train/loss")
def departs_late(view: View, relative: float, after: float, points: int = 12) -> Finding:
    """The losses agree over the first `after` of the common steps and part for good later."""
    made = _levels(view, "train/loss", points)
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


@probe("train/loss", "benchmark:train/loss")
def loss_scaled(view: View, ratio: float, spread: float, points: int = 6) -> Finding:
    """The training loss is a constant multiple of the benchmark's over a curve that falls, and it alone.

    Constant: the logarithm of the ratio stays within `spread` (and twice its scatter) of its median. What
    adds up over the batches of a step leaves the evaluation alone: where its loss is a multiple, too, the
    model, its targets or the loss itself are on another scale.
    """
    made = _levels(view, "train/loss", points)
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
    beside = _levels(view, "eval/loss", 3)
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
    return present(text, step=float(found.x[0]), where=places_of(found, 0), **rest)


def _final(found: Pair, relative: float) -> tuple[float, float, float, bool, bool]:
    """Return run, benchmark, relative difference, and whether the run is above or below for sure.

    Relative differences are taken to the benchmark's level, but at least to a tenth of the ground it covered.
    """
    mine, theirs, error = final(found)
    base = max(abs(theirs), 0.1 * found.span, 1e-12)
    gap = mine - theirs
    chance = band(found, slice(-max(min(3, len(found)), round(0.1 * len(found))), None))
    counts = abs(gap) > relative * base and abs(gap) > max(3 * error, chance)
    return mine, theirs, gap / base, counts and gap > 0, counts and gap < 0


@probe("train/loss", "benchmark:train/loss")
def final_loss_above(view: View, relative: float, points: int = 5) -> Finding:
    """At the last common steps the run's training loss is above the benchmark's."""
    found = pair(view, "train/loss", points)
    if isinstance(found, str):
        return unknown(found)
    mine, theirs, off, above, _ = _final(found, relative)
    text = f"train/loss ends at {mine:.4g}, in the benchmark at {theirs:.4g} ({off:+.1%})"
    rest: dict[str, Any] = {"value": off, "threshold": relative, "series": ("train/loss",)}
    if above:
        return present(text, where=places_of(found, len(found) - 1), **rest)
    return absent(text, **rest)


METRICS = (
    "accuracy",
    "map",
    "map50",
    "f1",
    "auc",
    "iou",
    "dice",
    "bleu",
    "rouge",
    "reward",
    "psnr",
    "ssim",
    "r2",
)
LOWER = ("error", "wer", "perplexity", "bits", "rmse", "mse", "mae", "mape")


def metric_of_both(view: View) -> str | None:
    """The quality metric that both sides log, evaluation before training."""
    for split in ("eval", "train"):
        for base in (*METRICS, *LOWER):
            name = f"{split}/{base}"
            if view.benchmark is not None and name in view.run.series and name in view.benchmark.series:
                return name
    return None


@probe("benchmark")
def final_metric_below(view: View, absolute: float) -> Finding:
    """At the end the metric is worse than the benchmark's by `absolute` (relative for errors).

    With repeats of the benchmark it must be worse than the worst of them, and by more than they lie apart.
    """
    name = metric_of_both(view)
    if name is None:
        return unknown("no metric is logged on both sides")
    mine_series, their_series = view.run.series[name], (view.benchmark or view.run).series[name]
    ends = [end_of_metric(s) for s in (mine_series, their_series)]
    if ends[0] is None or ends[1] is None:
        return unknown(f"{name} has no finite value on one side")
    (mine, my_error), (theirs, their_error) = ends[0], ends[1]
    quantity = quantities.base(name)
    lower = quantity is not None and quantity.lower
    ends_of_all = _ends_of_all(view, name, theirs)
    worst = max(ends_of_all) if lower else min(ends_of_all)
    gap = mine - worst if lower else worst - mine
    fraction = quantity is not None and quantity.fraction
    limit = absolute if fraction else 2 * absolute * max(abs(theirs), 1e-12)
    error = float(np.hypot(my_error, their_error))
    samples = number_of(view.run, "eval_samples") if fraction else None
    if samples and 0 < theirs < 1:  # counting noise of a share of so many samples
        error = float(np.hypot(error, (2 * theirs * (1 - theirs) / samples) ** 0.5))
    text = f"{name} ends at {mine:.4g}, in the benchmark at {theirs:.4g}"
    rest: dict[str, Any] = {"value": mine, "threshold": theirs, "series": (name,)}
    if not comparable_length(mine_series, their_series):
        return unknown(f"{text}; the run is much shorter", **rest)
    if len(ends_of_all) > 1:
        text += f" ({len(ends_of_all)} benchmark runs: {min(ends_of_all):.4g} to {max(ends_of_all):.4g})"
    if gap > max(limit, 2.5 * error, max(ends_of_all) - min(ends_of_all)):
        return present(text, where=(place(mine_series, -1), place(their_series, -1, "benchmark")), **rest)
    return absent(text, **rest)


def _ends_of_all(view: View, name: str, theirs: float) -> list[float]:
    """Where the benchmark and its repeats end: what lies among them is explained by chance alone."""
    curves = [r.series[name] for r in view.repeats if name in r.series]
    return [theirs, *(e[0] for c in curves if (e := end_of_metric(c)) is not None)]


def comparable_length(mine: Series, theirs: Series) -> bool:
    """The run is not cut off: a fall short of the benchmark may only be a question of time."""
    if mine.unit != theirs.unit:
        return True
    return float(np.max(mine.steps)) >= 0.6 * float(np.max(theirs.steps))


def end_of_metric(series: Series) -> tuple[float, float] | None:
    """The median of the last points of a metric and its standard error."""
    values = series.values[np.isfinite(series.values)]
    if not len(values):
        return None
    count = max(1, min(len(values), max(3, len(values) // 10) if len(values) >= 6 else 1))
    if len(values) >= 8:
        return float(np.median(values[-count:])), noise(values[len(values) // 2 :]) / count**0.5
    # in a short curve the last change is as good a measure as the scatter, which holds the bend
    change = abs(float(values[-1] - values[-2])) if len(values) > 1 else 0.0
    return float(np.median(values[-count:])), min(noise(values), change) if len(values) > 3 else change


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


class _Held(NamedTuple):
    """What evaluation ends with on both sides; `worse` and `error` as shares, of a fraction as they are."""

    name: str
    mine: float
    theirs: float
    worse: float
    error: float

    @property
    def lower(self) -> bool:
        """Whether less of it is better."""
        quantity = quantities.base(self.name)
        return self.name == "eval/loss" or (quantity is not None and quantity.lower)


def _train_and_evals(view: View) -> tuple[Pair, list[_Held]] | str:
    """Return the training pair, and what is evaluated on both sides, metrics first; a string says why not."""
    train = pair(view, "train/loss", 3)
    if isinstance(train, str):
        return train
    for side, series in (("run", train.run_series), ("benchmark", train.bench_series)):
        if not np.all(np.isfinite(series.values[-max(1, len(series) // 5) :])):
            return f"the training loss of the {side} does not end as a number"
    made = []
    for name in (*(f"eval/{m}" for m in (*METRICS, *LOWER)), "eval/loss"):
        found = pair(view, name, 2)
        if isinstance(found, str):
            continue
        mine, theirs, error = final(found, 0.2)
        quantity = quantities.base(name)
        fraction = quantity is not None and quantity.fraction
        base = 1.0 if fraction else max(abs(theirs), 0.1 * found.span, 1e-12)
        held = _Held(name, mine, theirs, (mine - theirs) / base, error / base)
        made.append(held if held.lower else held._replace(worse=-held.worse))
    return (train, made) if made else "no evaluation is logged on both sides"


def _train_and_eval(view: View) -> tuple[Pair, _Held] | str:
    """The training pair and the first of what is evaluated on both sides."""
    made = _train_and_evals(view)
    return made if isinstance(made, str) else (made[0], made[1][0])


@probe("train/loss", "benchmark:train/loss")
def eval_worse_train_equal(
    view: View, train: float, eval: float, apart: float = 0.3, better: float = 0.05
) -> Finding:
    """The training losses end together, as far as their noise tells; evaluation is worse.

    A training loss that is lower counts as equal up to `better`: beyond it is `train_better_eval_worse`.

    Unknown where the noise lets ends count as equal that lie further than `apart` from each other.
    """
    made = _train_and_eval(view)
    if isinstance(made, str):
        return unknown(made)
    found, (name, mine, theirs, worse, error) = made
    _, _, off, above, _ = _final(found, train)
    below = _final(found, better)[4]
    text = f"train/loss ends {off:+.1%} off the benchmark's, {name} at {mine:.4g} against {theirs:.4g}"
    rest: dict[str, Any] = {"value": worse, "threshold": eval, "series": ("train/loss", name)}
    if not above and not below and worse > eval and worse > 3 * error:
        if abs(off) > apart:
            return unknown(f"{text}: too noisy to be called equal", **rest)
        return present(text, **rest)
    return absent(text, **rest)


@probe("train/loss", "benchmark:train/loss")
def far_better(view: View, ratio: float, gap: float) -> Finding:
    """Evaluation leaves under 1 / `ratio` of the benchmark's error (or loss); training ends lower, too.

    A fraction must also gain `gap`, so that 0.999 against 0.997 does not count.
    """
    made = _train_and_evals(view)
    if isinstance(made, str):
        return unknown(made)
    found, all_held = made
    told = []
    _, _, off, _, below = _final(found, 0.05)
    below = below and not any(
        h.worse > max(gap, 3 * h.error) for h in all_held
    )  # another loss, no better model
    for name, mine, theirs, worse, error in all_held:
        quantity = quantities.base(name)
        fraction = quantity is not None and quantity.fraction and not quantity.lower
        if not fraction and not _Held(name, mine, theirs, worse, error).lower:
            continue
        left, reference = (1 - mine, 1 - theirs) if fraction else (mine, theirs)
        text = f"{name} ends at {mine:.4g} against {theirs:.4g}, train/loss {off:+.1%} off the benchmark's"
        rest: dict[str, Any] = {"value": mine, "threshold": theirs, "series": ("train/loss", name)}
        better = below and 0 <= left * ratio < reference and -worse > gap and -worse > 3 * error
        told.append(present(text, **rest) if better else absent(text, **rest))
    return any_of(told) if told else unknown("what is evaluated has no best value to measure an error from")


@probe("train/loss", "benchmark:train/loss")
def train_better_eval_worse(view: View, relative: float) -> Finding:
    """The training loss ends below the benchmark's; evaluation is worse."""
    made = _train_and_eval(view)
    if isinstance(made, str):
        return unknown(made)
    found, (name, mine, theirs, worse, error) = made
    _, _, off, _, below = _final(found, relative)
    text = f"train/loss ends {off:+.1%} off the benchmark's, {name} at {mine:.4g} against {theirs:.4g}"
    rest: dict[str, Any] = {"value": worse, "threshold": relative, "series": ("train/loss", name)}
    if below and worse > relative / 2 and worse > 3 * error:
        return present(text, **rest)
    return absent(text, **rest)


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


@probe("benchmark")
def benchmark_not_finite(view: View) -> Finding:
    """The benchmark has a loss that is NaN or infinite."""
    if view.benchmark is None:
        return unknown("needs a benchmark run (--benchmark)")
    series = view.benchmark.series.get("train/loss") or view.benchmark.series.get("eval/loss")
    said = view.benchmark.events_of("non-finite-loss")
    if said:
        where = tuple(Place(e.file, e.line, e.step, e.rank, "benchmark") for e in said[:3])
        return present(
            f"the benchmark says: {said[0].text or 'the loss is not finite'}", step=said[0].step, where=where
        )
    if series is None or not len(series.values):
        return unknown("the benchmark has no loss")
    bad = np.flatnonzero(~np.isfinite(series.values))
    if not len(bad):
        return absent(f"all {len(series.values)} losses of the benchmark are finite", value=0)
    at = int(bad[0])
    text = f"{series.raw} of the benchmark is not finite at {len(bad)} of {len(series.values)} points"
    where = (place(series, at, "benchmark"),)
    return present(text, value=len(bad), step=float(series.steps[at]), where=where)


def _identical(found: Pair, relative: float) -> bool:
    """Nineteen of twenty points agree within `relative`, and the curve is no constant."""
    gap = np.abs(found.run - found.bench) / np.maximum(np.abs(found.bench), 1e-12)
    return float(np.quantile(gap, 0.95)) <= relative and found.span > 10 * relative * abs(
        float(np.mean(found.bench))
    )


@probe("train/loss", "benchmark:train/loss")
def eval_differs_train_identical(view: View, relative: float, eval: float, points: int = 10) -> Finding:
    """The training loss repeats the benchmark's digit by digit, and the evaluation is another.

    Equal training losses over a whole run mean equal weights, data and updates: only what is evaluated, on
    what, and how, can differ. `relative` is what still counts as equal digits, `eval` as another evaluation.
    """
    found = pair(view, "train/loss", points)
    if isinstance(found, str):
        return unknown(found)
    if not _identical(found, relative):
        return unknown("the training losses are not the benchmark's to their digits")
    seen = None
    for name in ("eval/loss", *(f"eval/{m}" for m in (*METRICS, *LOWER))):
        held = pair(view, name, 3)
        if isinstance(held, str):
            continue
        gap = np.abs(held.run - held.bench) / np.maximum(np.abs(held.bench), 1e-12)
        size = float(np.median(gap))
        text = f"train/loss is the benchmark's at all of {len(found)} points, {name} is {size:.1%} off it"
        rest: dict[str, Any] = {"value": size, "threshold": eval, "series": ("train/loss", name)}
        if size > eval:
            return present(text, where=places_of(held, len(held) - 1), **rest)
        seen = seen or absent(text, **rest)
    return seen or unknown("no evaluation is logged on both sides")


@probe("grad_norm", "benchmark:grad_norm", "train/loss", "benchmark:train/loss")
def grad_norm_departs(view: View, relative: float, loss: float, points: int = 30) -> Finding:
    """On the same batches losses agree within `loss`, and the gradient norm is steadily off by `relative`.

    The median of the log-ratio over the last two thirds counts, beyond four of its standard errors.
    """
    found, losses = pair(view, "grad_norm", points), pair(view, "train/loss", points)
    if isinstance(found, str) or isinstance(losses, str):
        return unknown(found if isinstance(found, str) else str(losses))
    if not _same_batches(view, losses):
        return unknown("seed or data order are not known to be equal: other batches have other gradients")
    positive = (found.run > 0) & (found.bench > 0)
    if np.sum(positive) < points or np.any(losses.bench <= 0):
        return unknown("too few positive gradient norms or losses")
    apart = np.abs(losses.run / losses.bench - 1)
    logs = np.log(found.run[positive] / found.bench[positive])
    late = logs[len(logs) // 3 :]
    middle = float(np.median(late))
    error = 1.4826 * float(np.median(np.abs(late - middle))) * 1.2533 / len(late) ** 0.5
    text = (
        f"the gradient norm is {np.exp(middle):.3f} times the benchmark's on the same batches,"
        f" the losses differ by {float(np.median(apart)):.1%}"
    )
    rest: dict[str, Any] = {
        "value": float(np.exp(middle)),
        "threshold": 1 + relative,
        "series": ("grad_norm", "train/loss"),
    }
    if float(np.median(apart)) > loss:
        return unknown(f"{text}: too far apart to compare gradients", **rest)
    if abs(middle) > np.log(1 + relative) and abs(middle) > 4 * error:
        return present(text, where=places_of(found, len(found) - 1), **rest)
    return absent(text, **rest)


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
