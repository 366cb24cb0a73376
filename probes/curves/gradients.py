"""Gradient norms, updates, weights and activations, where the run logged them.

Values that are no numbers are read by the numerics probes; here only the finite ones count. A small gradient
beside a small loss is how training ends, so what is too small is always judged together with the loss.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np

from ..registry import Finding, View, absent, place, place_of, present, unknown
from ..run import Floats, Run, Series
from . import situation, stats
from .course import spikes_of
from .judging import probe
from .shapes import Shape, rises_for_good, shape


def known_norm(run: Run, points: int) -> Shape | Finding:
    """The shape of the gradient norm, or why there is none."""
    curve = shape(run.series["grad_norm"])
    if curve is None or curve.count < points:
        found = int(np.sum(np.isfinite(run.series["grad_norm"].values)))
        return unknown(f"grad_norm has {found} finite points; {points} are needed")
    return curve


def _loss(run: Run) -> Shape | None:
    series = situation.main_loss(run)
    return None if series is None else shape(series)


def _seen(curve: Shape, value: float, threshold: float, *more: str) -> dict[str, Any]:
    return {"value": float(f"{value:.4g}"), "threshold": threshold, "series": (curve.name, *more)}


@probe("grad_norm")
def grad_explodes(view: View, ratio: float = 100.0) -> Finding:
    """The level of the norm grows by `ratio` over its lowest level before, and stays up for a window.

    Where single points of that window lie a tenth as high or lower, spikes come often, and nothing has grown.
    """
    curve = known_norm(view.run, 6)
    if isinstance(curve, Finding):
        return curve
    if not np.any(curve.y > 0):
        return absent("grad_norm is zero throughout", series=("grad_norm",))
    edges = stats.block_edges(curve.count, max(2, min(20, curve.count // 3)))
    levels = stats.block_medians(curve.y, edges)
    floor = np.maximum(np.minimum.accumulate(levels), max(1e-3 * float(levels[0]), 1e-12))
    lowest = np.array([float(np.min(curve.y[a:b])) for a, b in pairwise(edges.tolist())])
    grown = np.minimum(levels, 10 * lowest) / floor
    at = int(np.argmax(grown))
    words = f"the level of grad_norm grows {grown[at]:.3g} times, from {floor[at]:.3g} to {levels[at]:.3g}"
    last = curve.y[-max(2, curve.count // 20) :]
    ends_up = len(last) and min(float(np.median(last)), 10 * float(np.min(last))) / float(floor[-1]) >= ratio
    size = _seen(curve, float(grown[at]), ratio)
    if (grown[at] >= ratio or ends_up) and levels[at] > 1.0:
        first = int(edges[int(np.argmax(grown >= ratio))]) if grown[at] >= ratio else curve.count - len(last)
        where = (place(curve.series, int(curve.index[first])),)
        return present(words, step=curve.step(first), where=where, **size)
    return absent(words, **size)


@probe("grad_norm")
def grad_spikes(view: View, ratio: float = 20.0) -> Finding:
    """Single points lie `ratio` times above the level around them."""
    curve = known_norm(view.run, 20)
    if isinstance(curve, Finding):
        return curve
    found = _spikes(curve, ratio)
    if not found:
        highest = float(np.max(curve.y)) / max(float(np.median(curve.y)), 1e-300)
        return absent(
            f"the highest grad_norm is {highest:.3g} times its median", **_seen(curve, highest, ratio)
        )
    high = max(found, key=lambda s: s.height / max(s.before, 1e-300))
    size = high.height / max(high.before, 1e-300)
    return present(
        f"grad_norm has {len(found)} isolated spike(s), the highest {high.height:.3g} over {high.before:.3g}"
        f" at step {curve.step(high.peak):g}",
        step=curve.step(found[0].peak),
        where=tuple(place(curve.series, int(curve.index[s.peak])) for s in found[:5]),
        **_seen(curve, size, ratio),
    )


def _spikes(curve: Shape, ratio: float) -> list[stats.Spike]:
    return stats.spikes(np.maximum(curve.y, 1e-30), 6.0, ratio - 1)


def _high(run: Run) -> tuple[bool, str] | None:
    """Whether the loss is still high at its end, in words; None where that cannot be told."""
    loss = _loss(run)
    if loss is None or loss.count < 3:
        return None
    judged = situation.quality(run)
    words = f"{loss.name} stands at {loss.end.value:.4g} after {loss.start.value:.4g} at the start"
    if judged is not None:
        return judged[0] == "poor", f"{words}; {judged[1]}"
    if not loss.positive:
        return None
    return loss.end.value > 0.5 * loss.start.value and loss.end.value > 0.02, words


@probe("grad_norm")
def grad_vanishes(view: View, ratio: float = 1e-3, absolute: float = 1e-6) -> Finding:
    """The norm falls below `ratio` of its start or below `absolute` while the loss is high."""
    curve = known_norm(view.run, 6)
    if isinstance(curve, Finding):
        return curve
    end, first = curve.end.value, max(float(np.median(curve.y[: max(1, curve.count // 2)])), 1e-300)
    words = f"grad_norm ends at {end:.3g} (its first half had a median of {first:.3g})"
    size = _seen(curve, end / first, ratio)
    if end >= ratio * first and end >= absolute:
        return absent(words, **size)
    if end == 0:
        return absent(f"{words}: exactly zero, which is another thing", **size)
    high = _high(view.run)
    if high is None:
        return unknown(f"{words}, but it is not known whether the loss is high")
    if not high[0]:
        return absent(f"{words}, and the loss is low: {high[1]}", **size)
    below = int(np.argmax(curve.y < max(ratio * first, absolute)))
    return present(
        f"{words}, and yet {high[1]}",
        step=curve.step(below),
        where=(place(curve.series, int(curve.index[below])),),
        **size,
    )


@probe("grad_norm")
def grad_zero(view: View, share: float = 0.2) -> Finding:
    """`share` of the points are exactly zero, not merely printed so."""
    curve = known_norm(view.run, 3)
    if isinstance(curve, Finding):
        return curve
    zeros = curve.y == 0
    flags = view.run.series.get("overflow")
    if flags is not None and np.any(zeros):  # a skipped step is printed with a norm of 0
        skipped = flags.steps[np.nan_to_num(flags.values) > 0]
        zeros &= ~np.isin(curve.series.steps[curve.index], skipped)
    part = float(np.mean(zeros))
    words = f"grad_norm is exactly 0 at {np.sum(zeros)} of {curve.count} points"
    size = _seen(curve, part, share)
    if part < share:
        return absent(words, **size)
    smallest = float(np.min(curve.y[curve.y > 0])) if np.any(curve.y > 0) else None
    printed = stats.quantum(curve.y)
    if smallest is not None and printed > 0 and smallest <= 5.01 * printed:
        return unknown(f"{words}, but it is printed to {printed:g} only: they may be small values")
    at = int(np.argmax(zeros))
    return present(words, step=curve.step(at), where=(place(curve.series, int(curve.index[at])),), **size)


@probe("grad_norm")
def grad_grows_steadily(view: View, ratio: float = 5.0, monotony: float = 0.8) -> Finding:
    """The level grows by `ratio` from the first points to the last tenth, tenth by tenth.

    A sum of gradients is proportional to the number of steps at first and bends later, so most of its growth
    lies within the first tenth. A falling loss with a growing norm is common in long training, so the growth
    must be in the points too.
    """
    if reason := situation.reinforced(view.run):
        return unknown(f"{reason}, and its gradient follows what is sampled")
    curve = known_norm(view.run, 20)
    if isinstance(curve, Finding):
        return curve
    levels = stats.block_medians(curve.y, stats.block_edges(curve.count, 10))
    first = min(float(levels[0]), float(np.median(curve.y[:3])))
    grown = float(levels[-1] / max(first, 1e-300))
    steady = float(np.mean(levels[1:] >= 0.97 * levels[:-1]))  # noise on a plateau is no fall
    half = float(levels[4] / max(first, 1e-300))
    words = f"grad_norm grows {grown:.3g} times, from {first:.3g} to {levels[-1]:.3g}"
    size = _seen(curve, grown, ratio)
    if half < 2.0 <= grown / ratio:
        return absent(f"{words}, all of it in the second half: no sum grows so late", **size)
    if grown >= ratio and steady >= monotony and first > 0:
        where = (place(curve.series, int(curve.index[-1])),)
        return present(
            f"{words}; {steady:.0%} of its tenths do not fall below the one before",
            step=curve.step(0),
            where=where,
            **size,
        )
    return absent(words, **size)


@probe("grad_norm")
def grad_grows_linearly(view: View, tolerance: float = 0.25, ratio: float = 10.0) -> Finding:
    """From its first quarter on the norm is proportional to the step: each step adds the same again.

    Gradients that no one clears pile up. Where the weights move, they pile up in changing directions; only
    the gradients of weights that stand still keep their direction, and then the norm grows in a straight
    line through zero, while the loss does not run away. The level of each twentieth has to lie within
    `tolerance` of that line; before, a part that does train is still far from where its gradient is small.
    """
    curve = known_norm(view.run, 20)
    if isinstance(curve, Finding):
        return curve
    if curve.series.unit not in (*situation.STEPS, "unknown") or curve.step(0) > 0.2 * curve.step(-1):
        return unknown("the gradient norm is not logged over steps from the beginning on")
    edges = stats.block_edges(curve.count, min(20, curve.count // 2))
    steps = stats.block_medians(curve.series.steps[curve.index], edges)
    levels = stats.block_medians(curve.y, edges)
    grown = float(levels[-1] / max(float(levels[0]), 1e-300))
    late = slice(len(levels) // 4, None)
    steps, levels = steps[late], levels[late]
    slope = float(np.median(levels / np.maximum(steps, 1.0)))
    off = np.abs(levels / np.maximum(slope * steps, 1e-300) - 1)
    words = (
        f"grad_norm grows {grown:.3g} times; {np.mean(off <= tolerance):.0%} of its levels lie on a straight"
        f" line through zero of {slope:.3g} per step"
    )
    size = _seen(curve, float(np.quantile(off, 0.9)), tolerance)
    if grown >= ratio and float(np.quantile(off, 0.9)) <= tolerance:
        loss = _loss(view.run)
        if loss is None:
            return unknown(f"{words}; whether the weights move is not known without a loss", **size)
        if not loss.positive or loss.end.value > 1.2 * loss.start.value:
            return absent(f"{words}, but the loss runs away: the weights move", **size)
        return present(words, where=(place(curve.series, int(curve.index[-1])),), **size)
    return absent(words, **size)


@probe("grad_norm", "config:max_grad_norm")
def grad_far_above_clip(view: View, ratio: float = 10.0, share: float = 0.9) -> Finding:
    """`share` of the points exceed `ratio` times the clipping threshold."""
    curve = known_norm(view.run, 5)
    clip = situation.number(view.run, "max_grad_norm")
    if isinstance(curve, Finding):
        return curve
    if clip is None or clip <= 0:
        return unknown("gradients are not clipped")
    part = float(np.mean(curve.y > ratio * clip))
    words = f"{part:.0%} of the values of grad_norm exceed {ratio:g} times the clipping threshold {clip:g}"
    words += f" (median {np.median(curve.y):.3g})"
    if part >= share:
        where = (place(curve.series, int(curve.index[0])), place_of(view.run.settings["max_grad_norm"]))
        return present(words, step=curve.step(0), where=where, **_seen(curve, part, share))
    return absent(words, **_seen(curve, part, share))


@probe("grad_norm", "config:max_grad_norm")
def grad_stays_at_clip(view: View, share: float = 0.9, above: float = 1.4, points: int = 20) -> Finding:
    """After its first quarter the norm stays right above the clipping threshold, whatever the loss does.

    Where clipped gradients are not cleared, the next ones come on top of a rest that is exactly as long as
    the threshold. `share` of the norms lie between it and `above` times it then. Norms that were logged after
    clipping (never above it), and those that lie so from the first points on, tell nothing of that.
    """
    curve = known_norm(view.run, points)
    clip = situation.number(view.run, "max_grad_norm")
    if isinstance(curve, Finding):
        return curve
    if clip is None or clip <= 0:
        return unknown("gradients are not clipped")
    late = curve.y[curve.count // 4 :] / clip
    inside = float(np.mean((late >= 0.98) & (late <= above)))
    words = (
        f"{inside:.0%} of the later values of grad_norm lie between the clipping threshold {clip:g} and"
        f" {above:g} times it (median {np.median(curve.y):.3g}, first {curve.y[0]:.3g})"
    )
    size = _seen(curve, inside, share)
    if inside < share:
        return absent(words, **size)
    if float(np.median(late)) < 1.005:
        return unknown(f"{words}: it may have been logged after clipping", **size)
    if curve.y[0] >= 0.8 * clip:
        return unknown(f"{words}: it lies there from its first value on", **size)
    where = (place(curve.series, int(curve.index[-1])), place_of(view.run.settings["max_grad_norm"]))
    return present(words, step=curve.step(curve.count // 4), where=where, **size)


@probe("grad_norm", "config:max_grad_norm")
def grad_tiny_for_clip(view: View, ratio: float = 1e-3) -> Finding:
    """In fp16 the median norm lies below `ratio` of the clipping threshold while the loss is high."""
    curve = known_norm(view.run, 5)
    clip = situation.number(view.run, "max_grad_norm")
    if isinstance(curve, Finding):
        return curve
    if clip is None or clip <= 0:
        return unknown("gradients are not clipped")
    middle = float(np.median(curve.y)) / clip
    words = f"the median of grad_norm is {np.median(curve.y):.3g}, the clipping threshold {clip:g}"
    size = _seen(curve, middle, ratio)
    if middle >= ratio:
        return absent(words, **size)
    precision = situation.text(view.run, "precision")
    if not precision:
        return unknown(f"{words}, but the precision is not known")
    if "16" not in precision or "bf16" in precision:
        return absent(f"{words}; precision is {precision}, without a loss scale", **size)
    high = _high(view.run)
    if high is None:
        return unknown(f"{words}, but it is not known whether the loss is high")
    if not high[0]:
        return absent(f"{words}, and the loss is low: {high[1]}", **size)
    where = (place(curve.series, int(curve.index[0])), place_of(view.run.settings["max_grad_norm"]))
    return present(f"{words}; {high[1]}", step=curve.step(0), where=where, **size)


@probe("grad_norm")
def grad_small(view: View, absolute: float = 0.01) -> Finding:
    """The median norm is below `absolute` while the loss is high."""
    if reason := situation.reinforced(view.run):
        return unknown(f"{reason}, and its gradient is as large as what was earned differs")
    curve = known_norm(view.run, 5)
    if isinstance(curve, Finding):
        return curve
    middle = float(np.median(curve.y))
    words = f"the median of grad_norm is {middle:.3g}"
    size = _seen(curve, middle, absolute)
    if middle >= absolute:
        return absent(words, **size)
    high = _high(view.run)
    if high is None:
        return unknown(f"{words}, but it is not known whether the loss is high")
    if not high[0]:
        return absent(f"{words}, and the loss is low: {high[1]}", **size)
    loss = _loss(view.run)
    if situation.quality(view.run) is None and loss is not None and situation.trained_start(view.run, loss):
        return unknown(f"{words}, as can be in fine-tuning: {high[1]}")
    return present(
        f"{words}; {high[1]}", step=curve.step(0), where=(place(curve.series, int(curve.index[0])),), **size
    )


@probe("grad_norm")
def grad_huge_at_start(view: View, absolute: float = 100.0) -> Finding:
    """The first twentieth of the points (three at least) has a median above `absolute`, and few are below it.

    Where huge and usual norms take turns from the start, single batches are huge, and not the network.
    """
    curve = known_norm(view.run, 3)
    if isinstance(curve, Finding):
        return curve
    if situation.planned_share(view.run, curve.series) is not None and curve.index[0] > 0:
        return unknown("the first values of grad_norm are no numbers")
    count = max(3, curve.count // 20)
    middle = float(np.median(curve.y[:count]))
    words = f"the median of the first {count} values of grad_norm is {middle:.4g}"
    size = _seen(curve, middle, absolute)
    late = curve.series.unit in situation.STEPS and curve.step(0) > 1000
    usual = float(np.mean(curve.y[:count] <= absolute))
    if middle > absolute and usual > 0.34:
        return absent(f"{words}, {usual:.0%} of them at most {absolute:g}", **size)
    if middle > absolute and not late:
        return present(words, step=curve.step(0), where=(place(curve.series, int(curve.index[0])),), **size)
    return unknown(f"{words}, from step {curve.step(0):g}") if late else absent(words, **size)


# --------------------------------------------------------------------------------------- order of events


def _troubles(run: Run, loss: Shape) -> list[tuple[int, str]]:
    """Where the loss spikes or begins to rise for good: points and words."""
    found = [(s.first, f"spikes to {s.height:.4g}") for s in spikes_of(run, loss, 8.0, 0.5)]
    rise = rises_for_good(loss, 1.3)
    if rise is not None:
        found.append((rise.onset, f"begins to rise for good, to {rise.end.value:.4g}"))
    return sorted(found)


@probe("grad_norm")
def grad_spike_before_loss(view: View) -> Finding:
    """A spike of the gradient norm comes one to twenty points before a spike or rise of the loss."""
    curve = known_norm(view.run, 20)
    if isinstance(curve, Finding):
        return curve
    loss = _loss(view.run)
    if loss is None or loss.count < 20:
        return unknown("the training loss has too few points; 20 are needed")
    troubles = _troubles(view.run, loss)
    if not troubles:
        return absent("the loss has no spike and no rise for good", series=(loss.name, "grad_norm"))
    interval = float(np.median(np.diff(loss.x))) or 1.0
    for point, words in troubles:
        at = loss.step(point)
        for spike in _spikes(curve, 5.0):
            early = at - curve.step(spike.peak)
            if 0 < early <= 20 * interval:
                return present(
                    f"grad_norm jumps to {spike.height:.3g} (from {spike.before:.3g}) at step"
                    f" {curve.step(spike.peak):g}, {early:g} steps before {loss.name} {words} at step {at:g}",
                    value=early,
                    step=curve.step(spike.peak),
                    where=(
                        place(curve.series, int(curve.index[spike.peak])),
                        place(loss.series, int(loss.index[point])),
                    ),
                    series=("grad_norm", loss.name),
                )
    point, words = troubles[0]
    return absent(
        f"{loss.name} {words} at step {loss.step(point):g} without a spike of grad_norm before it",
        series=("grad_norm", loss.name),
    )


@probe("learning_rate")
def spike_at_lr_peak(view: View, within: float = 0.1) -> Finding:
    """The loss spikes, rises or ends in NaN within `within` of the run around the learning rate's peak."""
    run = view.run
    loss = _loss(run)
    if loss is None or loss.count < 8:
        return unknown("the training loss has too few points; 8 are needed")
    rate = run.series["learning_rate"]
    values = np.where(np.isfinite(rate.values), rate.values, -np.inf)
    if len(values) < 5:
        return unknown(f"learning_rate has {len(values)} points; 5 are needed")
    peak = int(np.argmax(values))
    if peak == 0 or not values[peak] > 1.2 * values[0]:
        return absent("the learning rate begins at its peak", series=("learning_rate",))
    span = float(loss.series.steps[-1] - loss.series.steps[0])
    at = float(rate.steps[peak])
    troubles = [(loss.step(p), w, int(loss.index[p])) for p, w in _troubles(run, loss)]
    bad = np.flatnonzero(~np.isfinite(loss.series.values))
    if len(bad):
        troubles.append((float(loss.series.steps[bad[0]]), "stops being a number", int(bad[0])))
    words = f"the learning rate has its peak {values[peak]:.3g} at step {at:g}"
    for step, what, index in sorted(troubles):
        reached = np.interp(step, rate.steps, np.where(np.isfinite(rate.values), rate.values, 0.0))
        if -0.5 * within * span <= step - at <= within * span and reached > 0.8 * values[peak]:
            return present(
                f"{words}, and {loss.name} {what} at step {step:g}",
                value=step - at,
                threshold=round(within * span, 3),
                step=step,
                where=(place(loss.series, index), place(rate, peak)),
                series=(loss.name, "learning_rate"),
            )
    if at >= float(rate.steps[-1]):
        return unknown(f"{words}, the last one logged")
    return absent(f"{words}; {loss.name} has no trouble there", series=(loss.name, "learning_rate"))


# ------------------------------------------------------------------------------------------- layer by layer


def _layers(run: Run, quantity: str) -> dict[str, Series]:
    """Series of one quantity by layer, in natural order of the layers' names."""
    found = {
        n: s for n, s in run.series.items() if n.startswith(f"{quantity}/") and np.any(np.isfinite(s.values))
    }
    return dict(sorted(found.items(), key=lambda item: _natural(item[0])))


def _natural(name: str) -> list[tuple[int, int, str]]:
    return [(0, int(p), "") if p.isdigit() else (1, 0, p) for p in re.split(r"(\d+)", name)]


def _finite(series: Series) -> Floats:
    return series.values[np.isfinite(series.values)]


@probe()
def layer_gradient_zero(view: View) -> Finding:
    """Some layers' gradient norm is exactly zero (nine points of ten) while others' is not."""
    layers = _layers(view.run, "grad_norm")
    if len(layers) < 2:
        return unknown("no gradient norm per layer was logged")
    dead = [n for n, s in layers.items() if np.mean(_finite(s) == 0) >= 0.9]
    seen: dict[str, Any] = {"value": len(dead), "threshold": 1}
    if not dead or len(dead) == len(layers):
        words = "all layers have a gradient" if not dead else "no layer at all has a gradient"
        return absent(f"{words} ({len(layers)} were logged)", series=tuple(layers)[:3], **seen)
    short = ", ".join(n.partition("/")[2] for n in dead[:5])
    return present(
        f"{len(dead)} of {len(layers)} layers have a gradient of exactly zero: {short}",
        step=float(layers[dead[0]].steps[0]),
        where=tuple(place(layers[n], 0) for n in dead[:5]),
        series=tuple(dead[:5]),
        **seen,
    )


@probe()
def layer_gradients_uneven(view: View, ratio: float = 1000.0) -> Finding:
    """The gradient norms of the first and of the last layers differ by `ratio`."""
    layers = {n: s for n, s in _layers(view.run, "grad_norm").items() if not n.endswith(("bias", ".b", "/b"))}
    medians = {n: float(np.median(_finite(s))) for n, s in layers.items()}
    alive = {n: m for n, m in medians.items() if m > 0}
    if len(alive) < 4:
        return unknown(f"gradient norms of {len(alive)} layers were logged; 4 are needed")
    names_ = list(alive)
    third = max(1, len(names_) // 3)
    first, last = (float(np.median([alive[n] for n in part])) for part in (names_[:third], names_[-third:]))
    factor = max(first / last, last / first)
    words = f"the median gradient norm is {first:.3g} in the first layers and {last:.3g} in the last"
    seen: dict[str, Any] = {
        "value": float(f"{factor:.4g}"),
        "threshold": ratio,
        "series": (names_[0], names_[-1]),
    }
    if factor >= ratio:
        where = (place(layers[names_[0]], 0), place(layers[names_[-1]], 0))
        return present(words, step=float(layers[names_[0]].steps[0]), where=where, **seen)
    return absent(words, **seen)


@probe()
def activations_dead(view: View, share: float = 0.7) -> Finding:
    """Logged shares of zero (or saturated) activations exceed `share` in half of the layers."""
    layers = _layers(view.run, "activation")
    words_ = ("dead", "zero", "sparsity", "saturat")
    shares = {n: s for n, s in layers.items() if any(w in s.raw.lower() for w in words_)}
    if not shares:
        return unknown("no share of dead activations was logged")
    ends = {n: situation.reached(s) for n, s in shares.items()}
    percent = max(ends.values()) > 1.5
    ends = {n: v / 100 if percent else v for n, v in ends.items()}
    dead = [n for n, v in ends.items() if v >= share]
    worst = max(ends, key=lambda n: ends[n])
    words = (
        f"{len(dead)} of {len(ends)} layers have {share:.0%} or more dead activations, the most"
        f" {ends[worst]:.0%}"
    )
    seen: dict[str, Any] = {"value": round(ends[worst], 4), "threshold": share, "series": (worst,)}
    if len(dead) >= max(1, len(ends) / 2):
        series = shares[worst]
        over = np.flatnonzero(series.values >= share * (100 if percent else 1))
        at = int(over[0]) if len(over) else 0
        return present(words, step=float(series.steps[at]), where=(place(series, at),), **seen)
    return absent(words, **seen)


@probe()
def weights_unchanged(view: View, relative: float = 1e-5) -> Finding:
    """Logged weights (or their norm) vary by less than `relative` over five points or more."""
    layers = _layers(view.run, "weight_norm")
    if "weight_norm" in view.run.series:
        layers = {"weight_norm": view.run.series["weight_norm"], **layers}
    usable = {n: s for n, s in layers.items() if len(_finite(s)) >= 5}
    if not usable:
        return unknown("no weights were logged at five points or more")
    changes = {
        n: float(np.ptp(_finite(s))) / max(float(np.max(np.abs(_finite(s)))), 1e-300)
        for n, s in usable.items()
    }
    still = [n for n, c in changes.items() if c < relative]
    least = min(changes, key=lambda n: changes[n])
    seen: dict[str, Any] = {"value": float(f"{changes[least]:.3g}"), "threshold": relative}
    if not still:
        return absent(f"all {len(usable)} logged weights change", series=(least,), **seen)
    coarse = [n for n in still if _coarse(_finite(usable[n]), relative)]
    if len(coarse) == len(still):
        return unknown(f"{still[0]} is constant as far as its printed digits tell")
    named = ", ".join(n.partition("/")[2] or n for n in still[:5])
    return present(
        f"{len(still)} of {len(usable)} logged weights do not change: {named}",
        step=float(usable[still[0]].steps[0]),
        where=tuple(place(usable[n], 0) for n in still[:5]),
        series=tuple(still[:5]),
        **seen,
    )


def _coarse(values: Floats, relative: float) -> bool:
    """Whether the values are printed too coarsely to show a change of this size."""
    printed = stats.quantum(values)
    return printed > 10 * relative * max(float(np.max(np.abs(values))), 1e-300)
