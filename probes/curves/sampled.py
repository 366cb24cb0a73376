"""What a policy samples: whether the sampling engine agrees with the trainer, and how the answers end.

Policies of language models are trained on answers that another program (vLLM, SGLang, MindIE) sampled. Where
it gives the same tokens other probabilities than the trainer does, the policy learns from another's answers.
Names and meanings are those of verl, TRL, slime and open-instruct.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..registry import Finding, View, absent, present, unknown
from ..run import Floats, Run, Series
from . import situation
from .judging import probe
from .policies import at_finite, gain, logged, thirds

KINDS = ("sampler_gap", "sampler_log_gap", "sampler_agreement")


@dataclass(frozen=True)
class _Gap:
    """How far sampler and trainer are apart by one series, in thirds of the run; `limit`: what is much."""

    series: Series
    values: Floats
    thirds: list[float]
    limit: float

    @property
    def grows(self) -> bool:
        """A gap grows with the disagreement, a correlation falls."""
        return not self.series.name.endswith("agreement")

    def beyond(self, value: float) -> bool:
        """Whether that is much."""
        return value >= self.limit if self.grows else value <= self.limit

    def far(self, value: float) -> float:
        """How far a value is from agreement, in limits."""
        return value / self.limit if self.grows else (1 - value) / (1 - self.limit)

    def told(self, value: float) -> str:
        """A value in words."""
        return f"{self.series.raw} is {value:.3g}"

    def first(self) -> int:
        """The first point that lies beyond the limit."""
        return int(np.argmax([self.beyond(v) for v in self.values]))


def _gaps(run: Run, limits: tuple[float, float, float], points: int) -> Iterator[_Gap]:
    """What was logged of the agreement of sampler and trainer. Zeros throughout: it was not computed."""
    for name, limit in zip(KINDS, limits, strict=True):
        series = run.series.get(name)
        values = logged(series)
        if series is not None and len(values) >= points and np.any(values != 0):
            yield _Gap(series, values, thirds(values), limit)


NOT_LOGGED = "whether sampler and trainer give the same tokens the same probabilities was not logged"


@probe()
def sampler_disagrees(
    view: View, gap: float = 0.02, log_gap: float = 0.1, agreement: float = 0.95, points: int = 5
) -> Finding:
    """From the start the sampler gives tokens other probabilities than the trainer, `gap` apart on average.

    verl's guide for Ascend takes 0.01 for the limit of runs that converge, and bf16 engines that agree stay
    at 0.003 to 0.01; slime's own tests refuse a mean difference of log-probabilities above `log_gap`; engines
    that agree correlate to 0.999.
    """
    read = list(_gaps(view.run, (gap, log_gap, agreement), points))
    if not read:
        return unknown(NOT_LOGGED)
    worst = max(read, key=lambda g: min(g.far(g.thirds[0]), g.far(g.thirds[-1])))
    level = min(worst.thirds[0], worst.thirds[-1], key=worst.far)
    seen: dict[str, Any] = {"value": round(level, 4), "threshold": worst.limit}
    if worst.beyond(worst.thirds[0]) and worst.beyond(worst.thirds[-1]):
        words = f"{worst.told(level)} from the start, where engines that agree stay " + (
            f"below {worst.limit / 2:.3g}" if worst.grows else "above 0.99"
        )
        return present(words, **seen, **at_finite(worst.series, worst.first()))
    return absent(worst.told(level), series=(worst.series.name,), **seen)


@probe()
def sampler_drifts(
    view: View,
    gap: float = 0.02,
    log_gap: float = 0.1,
    agreement: float = 0.95,
    times: float = 3.0,
    points: int = 9,
) -> Finding:
    """Sampler and trainer agree at first; in the last third they are `times` as far apart, beyond the limit.

    The limits are those of `sampler_disagrees`.
    """
    read = list(_gaps(view.run, (gap, log_gap, agreement), points))
    if not read:
        return unknown(NOT_LOGGED)
    worst = max(read, key=lambda g: g.far(g.thirds[-1]))
    first, last = worst.thirds[0], worst.thirds[-1]
    words = f"{worst.series.raw} goes from {first:.3g} to {last:.3g}"
    seen: dict[str, Any] = {"value": round(last, 4), "threshold": worst.limit}
    if worst.beyond(last) and not worst.beyond(first) and worst.far(last) >= times * worst.far(first):
        return present(words, **seen, **at_finite(worst.series, worst.first()))
    return absent(words, series=(worst.series.name,), **seen)


# ------------------------------------------------------------------------------------------- how answers end


def _cut(run: Run, points: int) -> tuple[Series, Floats] | None:
    """The share of answers that end at the longest that is allowed."""
    series = run.series.get("answers_cut")
    values = logged(series)
    return None if series is None or len(values) < points else (series, values)


@probe()
def answers_never_end(view: View, share: float = 0.9, points: int = 5) -> Finding:
    """From the start to the end, `share` of the answers are cut off at the greatest length.

    An answer that is cut off earns nothing whatever it would have come to.
    """
    read = _cut(view.run, points)
    if read is None:
        return unknown("the share of answers that are cut off was not logged")
    series, values = read
    first, last = thirds(values)[0], thirds(values)[-1]
    words = (
        f"{min(first, last):.0%} of the answers and more are cut off at their greatest length ({series.raw})"
    )
    seen: dict[str, Any] = {"value": round(min(first, last), 3), "threshold": share}
    returns = situation.metric(view.run, "train", ("reward",))
    if min(first, last) >= share and returns is not None and len(logged(returns)) >= 15:
        if gain(logged(returns)) > 1:
            return absent(f"{words}, and {returns.name} has risen", series=(series.name,), **seen)
    if min(first, last) >= share:
        return present(
            f"{words}, from the start", **seen, **at_finite(series, int(np.argmax(values >= share)))
        )
    return absent(words, series=(series.name,), **seen)


@probe()
def answers_run_on(view: View, before: float = 0.3, after: float = 0.8, points: int = 9) -> Finding:
    """Answers end by themselves at first; in the last third `after` of them are cut off, and earn no more.

    Answers that grow longer because they get better earn more.
    """
    read = _cut(view.run, points)
    returns = situation.metric(view.run, "train", ("reward",))
    if read is None or returns is None or len(logged(returns)) < points:
        return unknown("no course of both the reward and the share of answers that are cut off")
    series, values = read
    first, last = thirds(values)[0], thirds(values)[-1]
    words = f"the share of answers that are cut off ({series.raw}) goes from {first:.0%} to {last:.0%}"
    seen: dict[str, Any] = {"value": round(last, 3), "threshold": after}
    if first > before or last < after:
        return absent(words, series=(series.name,), **seen)
    if gain(logged(returns)) > 1:
        return absent(f"{words}, and {returns.name} has risen", series=(series.name, returns.name), **seen)
    return present(
        f"{words} while {returns.name} does not rise",
        **seen,
        **at_finite(series, int(np.argmax(values >= after))),
    )
