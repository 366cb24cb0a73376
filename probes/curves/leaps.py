"""The loss leaps where the gradient does, and stays up: what clipping would have held back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..config.values import number_of, says
from ..registry import Finding, View, absent, place, present, unknown
from ..run import Run
from . import situation, stats
from .gradients import known_norm
from .judging import probe
from .shapes import Shape, shape

_BEFORE, _AFTER = 12, 10  # points that the loss is compared over


@probe("grad_norm")
def leaps_unclipped(view: View, ratio: float = 10.0, sigmas: float = 8.0, least: int = 2) -> Finding:
    """`least` times the gradient norm leaps by `ratio`, and lifts the loss for longer than a bad batch does.

    A batch that is merely odd has a high loss itself; the next ones have not.
    """
    run = view.run
    if why := situation.objective(run):
        return unknown(why)
    if "max_grad_norm" not in run.settings:
        return unknown("whether gradients are clipped is not recorded")
    limit = number_of(run, "max_grad_norm")
    if limit is not None and 0 < limit < 1e6:
        return absent(f"gradients are clipped at {limit:g}")
    norm, loss = known_norm(run, 40), _loss(run)
    if isinstance(norm, Finding):
        return norm
    if loss is None or loss.count < 40:
        return unknown("the training loss has too few points; 40 are needed")
    rest = np.diff(loss.y)
    scatter = stats.deviation(rest) / np.sqrt(2)
    leaps = []
    for spike in stats.spikes(np.maximum(norm.y, 1e-30), 6.0, ratio - 1):
        lift = _lift(loss, norm.step(spike.first), norm.step(spike.peak))
        if lift is not None and lift[1] > max(sigmas * scatter / np.sqrt(_AFTER), 0.02 * abs(lift[0])):
            leaps.append((spike, lift))
    seen: dict[str, Any] = {"value": len(leaps), "threshold": least, "series": ("grad_norm", loss.name)}
    if len(leaps) < least:
        return absent(f"the gradient norm leaps and lifts {loss.name} {len(leaps)} times", **seen)
    high, (before, up) = max(leaps, key=lambda found: found[1][1])
    return present(
        f"{len(leaps)} times a leap of the gradient norm lifts {loss.name} for long, at step"
        f" {norm.step(high.peak):g} from {before:.4g} by {up:.3g}; gradients are not clipped"
        f" ({says(run.settings['max_grad_norm'])})",
        step=norm.step(leaps[0][0].peak),
        where=tuple(place(norm.series, int(norm.index[s.peak])) for s, _ in leaps[:5]),
        **seen,
    )


def _loss(run: Run) -> Shape | None:
    series = situation.main_loss(run)
    return None if series is None else shape(series)


def _lift(loss: Shape, first: float, peak: float) -> tuple[float, float] | None:
    """The level of the loss before the gradient leaps, and how far it is above that some points later."""
    earlier, later = loss.y[loss.x < first][-_BEFORE:], loss.y[loss.x > peak][:_AFTER]
    if len(earlier) < _BEFORE or len(later) < 3:
        return None
    before = float(np.median(earlier))
    return before, float(np.median(later)) - before
