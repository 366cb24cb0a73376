"""What the digits of logged numbers say about the format they were computed in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...engine.model import State
from ..registry import Finding, View, absent, place, present, unknown
from ..run import Floats
from . import stats
from .judging import probe

HALF_MOST = 65504.0
BITS = {"bf16": 8, "fp16": 11}  # significant bits of a normal number


@probe("train/loss")
def loss_in_half_steps(view: View, share: float = 0.98, points: int = 20) -> Finding:
    """Almost all logged losses are numbers of a 16-bit format, though they were printed far more finely.

    A loss computed in fp32 (as autocast does) takes values in between. Only losses whose steps in the format
    are eight times coarser than the print count, so that a value meets one by chance in one case of eight.
    """
    series = view.run.series["train/loss"]
    values = np.unique(series.values[np.isfinite(series.values) & (series.values != 0)])
    printed = stats.quantum(series.values[np.isfinite(series.values)])
    seen = None
    for name, bits in BITS.items():
        step = 2.0 ** (np.floor(np.log2(np.abs(values))) + 1 - bits)
        fine = step >= 8 * max(printed, 1e-9)
        if np.sum(fine) < points:
            continue
        off = np.abs(values - np.round(values / step) * step)
        met = float(np.mean(_met(off, step, printed)[fine]))
        words = f"{met:.0%} of {np.sum(fine)} different values of {series.name} are {name} numbers"
        if met >= share:
            where = (place(series, len(series) - 1),)
            return present(words, value=round(met, 4), threshold=share, where=where, series=(series.name,))
        seen = seen or absent(words, value=round(met, 4), threshold=share, series=(series.name,))
    return seen or unknown("the losses are too few or printed too coarsely to tell their format")


@probe("train/loss")
def loss_overflows_half(view: View, share: float = 0.98, points: int = 20) -> Finding:
    """The loss is infinite at some points, and all that is finite of it are fp16 numbers, below 65504.

    Infinite by a logarithm of zero it would be in any format; a loss of fp16 ends at 65504.
    """
    series = view.run.series["train/loss"]
    endless = np.flatnonzero(np.isposinf(series.values))
    if not len(endless):
        return absent("the training loss is nowhere infinite", series=(series.name,))
    format_of = loss_in_half_steps(view, share=share, points=points)
    if format_of.state is not State.PRESENT:
        return replace(format_of, value=None, threshold=None)
    if "fp16" not in format_of.why:
        return unknown(f"{format_of.why}, which end where those of fp32 do")
    highest = float(np.max(series.values[np.isfinite(series.values)]))
    words = f"{series.name} is infinite at {len(endless)} points and at most {highest:.5g} elsewhere"
    if highest > HALF_MOST:
        return absent(f"{words}, beyond what fp16 holds", series=(series.name,))
    return present(
        f"{words}; all its finite values are fp16 numbers, which end at {HALF_MOST:g}",
        value=len(endless),
        threshold=HALF_MOST,
        step=float(series.steps[endless[0]]),
        where=(place(series, int(endless[0])),),
        series=(series.name,),
    )


def _met(off: Floats, step: Floats, printed: float) -> Floats:
    return np.asarray(off <= np.maximum(0.51 * printed, 1e-6 * step), dtype=np.float64)
