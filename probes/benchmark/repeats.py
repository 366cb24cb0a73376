"""Several runs of the benchmark: do they agree with one another, and does the run leave what they span?

Checklist item 1 wants a benchmark with constant results; the MindFormers guide repeats it to learn what
chance does. Only runs of one recipe are repeats: `of_one_recipe` tells them from other benchmarks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...engine.model import Place
from .. import settings
from ..assembly import names as quantities
from ..config.values import number_of
from ..registry import Finding, View, absent, place, present, probe, unknown
from ..run import Run, Series
from .both import both, equal
from .compare import blocks, pair
from .end import LOWER, METRICS, comparable_length, end_of_metric

ONE = "one benchmark run cannot show what chance does to it; give each repeat with its own --benchmark"


# ----------------------------------------------------------------------------------------------- recipe


def of_one_recipe(
    benchmark: Run, others: Sequence[Run]
) -> tuple[tuple[Run, ...], tuple[tuple[Run, str], ...]]:
    """Return the repeats of a benchmark, and the runs that are none, each with the setting that differs."""
    kept, refused = [], []
    for other in others:
        why = _other_recipe(View(other, benchmark))
        if why is None:
            kept.append(other)
        else:
            refused.append((other, why))
    return tuple(kept), tuple(refused)


def _other_recipe(view: View) -> str | None:
    """Say which recorded setting differs between two benchmark runs; the seed may."""
    for key in (*settings.table().hyperparameters, "model", "dataset", "precision"):
        found = both(view, key)
        if found is not None and not equal(key, *found):
            return f"{key.replace('_', ' ')} is {found[0].value}, not {found[1].value}"
    return None


# ---------------------------------------------------------------------------------------------- results


@dataclass(frozen=True, slots=True)
class Ends:
    """The final value of one quantity in every benchmark run, with the scatter of one of them."""

    name: str
    values: tuple[float, ...]
    error: float
    fraction: bool

    @property
    def spread(self) -> float:
        """How far the runs lie apart."""
        return max(self.values) - min(self.values)

    def said(self) -> str:
        """One sentence."""
        low, high = min(self.values), max(self.values)
        return f"{self.name} ends between {low:.4g} and {high:.4g} in {len(self.values)} benchmark runs"


def ends(view: View) -> Ends | None:
    """Return where the benchmark runs end: a quality metric if all log one, else a loss."""
    if view.benchmark is None:
        return None
    runs = (view.benchmark, *view.repeats)
    metrics = [f"{split}/{base}" for split in ("eval", "train") for base in (*METRICS, *LOWER)]
    for name in (*metrics, "eval/loss", "train/loss"):
        curves = [r.series[name] for r in runs if name in r.series]
        if len(curves) < len(runs) or not _equally_long(curves):
            continue
        found = [e for c in curves if (e := end_of_metric(c)) is not None]
        if len(found) == len(runs):
            return _ends(name, found, runs)
    return None


def _equally_long(curves: Sequence[Series]) -> bool:
    """Repeats that were cut off end elsewhere for that reason alone."""
    first = curves[0]
    return all(comparable_length(c, first) and comparable_length(first, c) for c in curves)


def _ends(name: str, found: Sequence[tuple[float, float]], runs: Iterable[Run]) -> Ends:
    values, errors = zip(*found, strict=True)
    quantity = quantities.base(name)
    fraction = quantity is not None and quantity.fraction
    error = 2**0.5 * max(errors)
    samples = next((n for r in runs if (n := number_of(r, "eval_samples"))), None) if fraction else None
    middle = float(np.median(values))
    if samples and 0 < middle < 1:  # counting noise of a share of so many samples
        error = float(np.hypot(error, (2 * middle * (1 - middle) / samples) ** 0.5))
    return Ends(name, tuple(values), error, fraction)


@probe("benchmark")
def benchmark_unstable(view: View, absolute: float, relative: float) -> Finding:
    """Repeated benchmark runs end further apart than the tolerance and than their scatter explains.

    `absolute` is for shares such as accuracy, `relative` for every other quantity.
    """
    if not view.repeats:
        others = view.benchmark.others if view.benchmark is not None else ()
        more = f" ({len(others) + 1} runs lie in the benchmark directory)" if others else ""
        return unknown(f"{ONE}{more}")
    found = ends(view)
    if found is None:
        return unknown("the benchmark runs log no common metric or loss over a common length")
    level = max(abs(float(np.median(found.values))), 1e-12)
    limit = absolute if found.fraction else relative * level
    text = f"{found.said()}, {found.spread:.2g} apart"
    where = tuple(_end(r, found.name) for r in (view.benchmark, *view.repeats) if r is not None)
    if found.spread > max(limit, 2.5 * found.error):
        return present(text, value=found.spread, threshold=limit, where=where, series=(found.name,))
    if found.spread > limit:
        said = f"{text}, more than the tolerance of {limit:.2g} and no more than each scatters by itself"
        return unknown(said, value=found.spread, threshold=limit, series=(found.name,))
    return absent(text, value=found.spread, threshold=limit, series=(found.name,))


def _end(run: Run, name: str) -> Place:
    """The end of a curve, named by its run: the benchmark's repeats lie in directories of their own."""
    file, path = run.series[name].file, run.info.path
    parts = file.split("/")
    for n in range(len(parts) - 1, 0, -1):  # of runs beside one another files are told from the folder of all
        if path.endswith(f"/{'/'.join(parts[:n])}"):
            file = "/".join(parts[n:])
            break
    return replace(place(run.series[name], -1, "benchmark"), file=file if file == path else f"{path}/{file}")


@probe("benchmark:train/loss")
def curves_apart(view: View, relative: float, share: float, floor: float, points: int = 8) -> Finding:
    """The loss curves of repeated benchmark runs lie apart in the second half, by more than their scatter.

    Levels are block medians; `relative` is held against the higher one, or against `floor` of all that the
    loss falls where that is more, and `share` against the blocks.
    """
    if not view.repeats or view.benchmark is None:
        return unknown(ONE)
    first, *rest = view.repeats
    found = pair(View(first, view.benchmark, tuple(rest)), "train/loss", points)
    if isinstance(found, str) or not all(np.isfinite(r).all() for r in found.repeats):
        return unknown("the benchmark runs do not log the loss over common steps")
    levels = blocks(found)
    high, low = np.maximum(levels.high, levels.run), np.minimum(levels.low, levels.run)
    late = slice(len(high) // 2, None)
    gap = ((high - low) / np.maximum(np.abs(high), max(floor * found.span, 1e-12)))[late]
    apart = (gap > relative) & ((high - low) > 3 * levels.error)[late]
    part, worst = float(np.mean(apart)), float(np.max(gap))
    runs = 1 + len(view.repeats)
    text = f"the loss curves of {runs} benchmark runs lie up to {worst:.2%} apart in their second half"
    report = present if part >= share else absent
    return report(text, value=worst, threshold=relative, series=("train/loss",))


@probe("train/loss", "benchmark:train/loss")
def leaves_band(view: View, relative: float, share: float, inside: float, points: int = 8) -> Finding:
    """The run's loss lies above every benchmark run, by more than these lie apart, for a share of the steps.

    Levels are block medians at equal steps; a difference below `relative` or three standard errors is none.
    Absent needs the run within or below them at `inside` of the steps: in between nothing is told.
    """
    if not view.repeats:
        return unknown(ONE)
    found = pair(view, "train/loss", points)
    if isinstance(found, str):
        return unknown(found)
    if not any(np.isfinite(r).all() for r in found.repeats):
        return unknown("the benchmark runs do not log the loss over common steps")
    levels = blocks(found)
    base = np.maximum(np.abs(levels.high), max(0.1 * found.span, 1e-12))
    room = np.maximum.reduce([levels.high - levels.low, 3 * levels.error, relative * base])
    outside = levels.run - levels.high > room
    part = float(np.mean(outside))
    within = float(np.mean(levels.run <= levels.high + np.maximum(levels.error, relative * base)))
    runs = 1 + len(view.repeats)
    if part >= share:
        at = int(np.argmax(outside))
        text = (
            f"the loss lies above all {runs} benchmark runs at {part:.0%} of the common steps,"
            f" first at step {levels.x[at]:g} ({levels.run[at]:.4g}, these {levels.low[at]:.4g} to"
            f" {levels.high[at]:.4g})"
        )
        return present(text, value=part, threshold=share, step=float(levels.x[at]), series=("train/loss",))
    text = f"the loss lies within or below what {runs} benchmark runs span at {within:.0%} of common steps"
    report = absent if within >= inside else unknown
    return report(text, value=part, threshold=share, series=("train/loss",))
