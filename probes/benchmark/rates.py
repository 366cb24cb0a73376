"""The learning rate held against the benchmark's: as configured, and stage by stage as logged.

Training in stages (pre-training and fine-tuning, frozen and unfrozen) has a rate for each. Two schedules of
one form with another rate are multiples of each other from the first step of the stage to its last; schedules
of another form are so in passing at most.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..config import plateau
from ..registry import Finding, View, absent, present, probe, unknown
from ..run import Floats
from .both import both, both_numbers, equal, told_sides
from .common import adapters_apart
from .compare import Pair, pair
from .settings import setting_above, setting_below

POINTS = 400  # of a curve that are looked at
LEAST = 6  # points of a stage
ALIKE = 1.04  # factor within which a ratio counts as one
JUMP = 1.2  # factor by which it changes at once where a stage begins or ends
MOVES = 1.5  # factor by which the benchmark's rate falls where it can be told from a constant


@dataclass(frozen=True, slots=True)
class Stage:
    """Steps over which the run's rate is `ratio` times the benchmark's."""

    ratio: float
    first: float
    last: float
    mine: float  # the highest rates in it
    theirs: float


@probe("benchmark")
def rate_above(view: View, ratio: float, share: float) -> Finding:
    """The run's learning rate is more than `ratio` times the benchmark's, in all of the run or a stage of it.

    A stage takes `share` of the common steps, and the rate falls in it, on both sides alike.
    """
    return _judged(view, setting_above(view, "learning_rate", ratio), ratio, share)


@probe("benchmark")
def rate_below(view: View, ratio: float, share: float) -> Finding:
    """As `rate_above`, the other way round."""
    return _judged(view, setting_below(view, "learning_rate", ratio), 1.0 / ratio, share)


def _judged(view: View, plain: Finding, ratio: float, share: float) -> Finding:
    if plain.state == "present" and (said := adapters_apart(view) or _other_family(view)):
        return unknown(f"{plain.why}; {said}")
    if plain.state == "present" and (said := with_the_batch(view)):
        return absent(f"{plain.why}; {said}", value=plain.value, threshold=plain.threshold)
    if plain.state == "present" or plateau.watches(view.run):
        return plain
    rates = pair(view, "learning_rate", LEAST)
    if isinstance(rates, str):
        return plain
    found = [s for s in stages(rates, share) if (s.ratio > ratio if ratio > 1.0 else s.ratio < ratio)]
    if not found:
        return plain
    stage = max(found, key=lambda s: s.last - s.first)
    text = (
        f"from step {stage.first:g} to {stage.last:g} the learning rate is {stage.ratio:.3g} times the"
        f" benchmark's: up to {stage.mine:g}, in the benchmark up to {stage.theirs:g}"
    )
    rest: dict[str, Any] = {"value": stage.mine, "threshold": stage.theirs, "series": ("learning_rate",)}
    return present(text, step=stage.first, **rest)


def with_the_batch(view: View) -> str:
    """In words, that the rate follows the batch: lower by at most as much, or higher by at most as much.

    From the root of the ratio of the batches to the ratio itself is what recipes take (Goyal et al., 2017).
    """
    rates = both_numbers(both(view, "learning_rate"))
    batches = both_numbers(both(view, "global_batch_size") or both(view, "batch_size"))
    if rates is None or batches is None or min(*rates, *batches) <= 0:
        return ""
    rate, batch = rates[0] / rates[1], batches[0] / batches[1]
    if not (batch / SLACK <= rate < 1.0 or 1.0 < rate <= batch * SLACK):
        return ""
    return f"the batch is {batches[0]:g}, in the benchmark {batches[1]:g}: the rate follows it"


SLACK = 1.05  # a rate is rounded
_ADAMS = frozenset(("adam", "adamw", "nadam", "radam", "adamax", "amsgrad"))


def _other_family(view: View) -> str:
    """In words, that optimizers of two families train, whose rates are of other sizes; else ""."""
    found = both(view, "optimizer")
    if found is None or equal("optimizer", *found):
        return ""
    kinds = [re.sub(r"[^a-z]", "", str(side.value).lower()) for side in found]
    kinds = ["adam" if any(k.startswith(a) for a in _ADAMS) else k for k in kinds]
    return "" if kinds[0] == kinds[1] else f"{told_sides(found)}: their rates are of other sizes"


def stages(rates: Pair, share: float) -> list[Stage]:
    """Stretches in which one rate is a multiple of the other and both fall, from the first step on."""
    every = max(1, len(rates) // POINTS)
    x, mine, theirs = (a[::every] for a in (rates.x, rates.run, rates.bench))
    usable = (mine > 0) & (theirs > 0)
    logs = np.where(
        usable, np.log(np.where(usable, mine, 1.0)) - np.log(np.where(usable, theirs, 1.0)), np.nan
    )
    found, i = [], 0
    while i < len(x):
        end = _end(logs, i)
        whole = _apart(logs, i - 1, i) and _apart(logs, end, end - 1)
        if whole and end - i >= max(LEAST, share * len(x)) and _falls(theirs[i:end]):
            ratio = float(np.exp(np.median(logs[i:end])))
            found.append(
                Stage(
                    ratio,
                    float(x[i]),
                    float(x[end - 1]),
                    float(mine[i:end].max()),
                    float(theirs[i:end].max()),
                )
            )
        i = max(end, i + 1)
    return found


def _end(logs: Floats, start: int) -> int:
    """Where the ratio is no longer that of the first points."""
    low = high = logs[start]
    end = start
    while end < len(logs):
        low, high = min(low, logs[end]), max(high, logs[end])
        if not high - low <= np.log(ALIKE):  # also where there is no ratio
            break
        end += 1
    return end


def _apart(logs: Floats, outside: int, inside: int) -> bool:
    """Whether the ratio jumps here, or one of the curves begins or ends."""
    if not 0 <= outside < len(logs):
        return True
    return not abs(logs[outside] - logs[inside]) < np.log(JUMP)


def _falls(values: Floats) -> bool:
    return float(values.max()) >= MOVES * float(values[int(values.argmax()) :].min())
