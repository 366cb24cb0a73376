"""Two runs with the same settings on two releases of the same software, one of which ends far worse."""

from __future__ import annotations

from ...engine.model import State
from ..registry import Finding, View, absent, present, probe, unknown
from ..run import Run
from ..settings import same
from .end import final_loss_above, final_metric_below
from .settings import versions_of

_DEVICE = ("torch-npu", "cann", "cuda", "rocm", "mindspore")  # what tells one kind of device from another


def _kind(versions: dict[str, str]) -> frozenset[str]:
    return frozenset(k for k in _DEVICE if k in versions)


def _apart(mine: Run, theirs: Run) -> tuple[int, list[str]]:
    """How many settings stand on both sides, and the names of those that differ or stand on one alone."""
    keys = mine.settings.keys() | theirs.settings.keys()
    both = mine.settings.keys() & theirs.settings.keys()
    differ = [
        k for k in sorted(keys) if k not in both or not same(mine.settings[k].value, theirs.settings[k].value)
    ]
    return len(both), differ


@probe("benchmark")
def versions_alone(view: View, least: int, relative: float, absolute: float) -> Finding:
    """The run ends worse than a benchmark on the same kind of device that differs in versions alone.

    `least` settings have to be recorded on both sides, none of them with two values, and scripts be the same.
    """
    if view.benchmark is None:
        return unknown("needs a benchmark run (--benchmark)")
    mine, theirs = versions_of(view.run), versions_of(view.benchmark)
    differ = sorted(k for k in mine.keys() & theirs.keys() if mine[k] != theirs[k])
    if not differ or _kind(mine) != _kind(theirs):
        return unknown("the two sides are not known to be two releases of the same software")
    both, apart = _apart(view.run, view.benchmark)
    if both < least or set(view.run.scripts.values()) != set(view.benchmark.scripts.values()):
        return unknown("too few settings are recorded on both sides, or their scripts differ")
    if apart:
        return absent(f"more than versions differs: {', '.join(apart[:4])}", value=len(apart))
    ends = (final_loss_above(view, relative), final_metric_below(view, absolute))
    worse = next((e for e in ends if e.state is State.PRESENT), None)
    listed = ", ".join(f"{k} {mine[k]} (benchmark {theirs[k]})" for k in differ[:4])
    if worse is None:
        return absent(f"{listed}; the run ends no worse", value=0)
    return present(
        f"{both} settings are equal, and {listed}; {worse.why}", value=len(differ), where=worse.where
    )
