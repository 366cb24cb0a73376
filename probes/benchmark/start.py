"""The first steps of two curves: loss and gradient norm, and where they part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..registry import Finding, View, absent, present, probe, unknown
from .common import NORM_SPREAD, SEED, SEED_SPREAD, blocks_of, places_of, same_batches
from .compare import Pair, band, pair, pair_noise

APART = "neither clearly different nor equal"


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


@dataclass(frozen=True, slots=True, eq=False)
class _First:
    """A point near the beginning, on both sides. `differs` is None where another seed may explain the gap.

    `agrees` is more than not to differ: the gap is allowed, however much the curves scatter later.
    """

    pair: Pair
    at: int
    differs: bool | None
    agrees: bool
    gap: float
    text: str

    @property
    def rest(self) -> dict[str, Any]:
        """The places of a finding about this point."""
        return {"step": float(self.pair.x[self.at]), "where": places_of(self.pair, self.at)}


def _first_differs(
    view: View, name: str, absolute: float, relative: float, spread: float = SEED_SPREAD, at: int = 0
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
    if same_batches(view, found):
        return _First(found, at, gap > max(strict, noise_of, chance), gap <= max(strict, chance), gap, text)
    wide = max(strict, spread * abs(theirs), chance)
    differs = True if gap > max(wide, noise_of) else False if gap <= max(strict, chance) else None
    return _First(found, at, differs, gap <= wide, gap, text)


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
    view: View, relative: float, loss_absolute: float = 0.005, loss_relative: float = 0.005, far: float = 0.0
) -> Finding:
    """The gradient norm of the first step differs while its loss agrees.

    Unknown below `far` of the benchmark's, where `grad_norm_below_at_start` tells it: it counts once.
    """
    loss = _first_differs(view, "train/loss", loss_absolute, loss_relative)
    if isinstance(loss, str):
        return unknown(loss)
    if loss.differs:
        return absent("the first losses differ already")
    if not loss.agrees:
        return unknown(f"{loss.text}: {APART}")
    first = _first_differs(view, "grad_norm", 0.0, relative, NORM_SPREAD)
    if isinstance(first, str):
        return unknown(first)
    share = first.gap / max(abs(float(first.pair.bench[0])), 1e-30)
    rest: dict[str, Any] = {"value": share, "threshold": relative, "series": ("grad_norm", "train/loss")}
    if first.differs is None:
        return unknown(f"{first.text}; {SEED}", **rest)
    if first.differs and len(first.pair) >= 5 and first.pair.run[0] < far * first.pair.bench[0]:
        return unknown(
            f"{first.text}: a small part of the benchmark's, which is a finding of its own", **rest
        )
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
    if not first.agrees:
        return unknown(f"{first.text}: {APART}")
    if not same_batches(view, first.pair):
        return unknown("seed or data order are not known to be equal: other batches have another second loss")
    before = _first_differs(view, "grad_norm", 0.0, norm, NORM_SPREAD)
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


@probe("train/loss", "benchmark:train/loss")
def departs_after_first(view: View, relative: float, within: float, points: int = 8) -> Finding:
    """First losses agree; in the first part of training the curves part and stay apart."""
    first = _first_differs(view, "train/loss", 0.005, 0.005)
    if isinstance(first, str):
        return unknown(first)
    if first.differs:
        return absent("the first losses differ already")
    if not first.agrees:
        return unknown(f"{first.text}: {APART}")
    made = blocks_of(view, "train/loss", points)
    if isinstance(made, str):
        return unknown(made)
    found, levels = made
    if not same_batches(view, found):
        relative = max(relative, SEED_SPREAD)
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
