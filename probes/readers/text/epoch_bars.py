"""What the progress bars of a training showed on the way: a bar for each epoch, with the loss of the moment.

The last state of a bar stands for its epoch. Where a bar shows the loss of the batch at hand, its earlier
states are points of the curve as well, and the last one is no more than one of them. Where it shows the mean
since the epoch began, they are not: each epoch would begin with a leap. Their steps tell the two apart:
those of a mean shrink with the number of values in it, those of single values do not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from .numbers import to_float
from .shape import Metric, Shape

MAX_STATES = 200_000
MIN_STATES = 5  # of a bar, to be a curve
REDRAWN = 0.1  # share of the batches by which redrawings may miss their number: equal values are one
MIN_CHANGES = 6  # from state to state, in the earlier and in the later half of the bars each
SHRUNK = (
    0.6  # changes of the later half against those of the earlier one; a mean of 5 states or more is below
)


class State(NamedTuple):
    """One state of a bar: a line, and where the bar stands."""

    shape: Shape
    tokens: Sequence[bytes]
    number: int  # of the line
    step: float
    total: float


@dataclass(slots=True)
class EpochBars:
    """Collects states; `curve` gives those that are points of a curve."""

    _open: list[State] = field(default_factory=list)
    _done: list[tuple[float, list[State]]] = field(default_factory=list)
    _count: int = 0

    def drawn(self, state: State) -> None:
        """A state of the bar at hand, or the first one of another bar."""
        last = self._open[-1] if self._open else None
        if last is not None and (state.total != last.total or state.step < last.step):
            self._drop()
        if self._count < MAX_STATES:
            self._open.append(state)
            self._count += 1

    def ended(self, epoch: float, *, training: bool) -> None:
        """The bar at hand has come to its end, as one of the training or of something else."""
        if training and len(self._open) > 1:
            self._done.append((epoch, _placed(self._open)))
            self._open = []
        else:
            self._drop()

    def _drop(self) -> None:
        self._count -= len(self._open)
        self._open = []

    def curve(self) -> Iterator[tuple[float, State, tuple[Metric, ...]]]:
        """Yield (epoch, state, metrics that are points of a curve); nothing where bars do not allow it."""
        if not self._done or self._count >= MAX_STATES or any(len(b) < MIN_STATES for _, b in self._done):
            return
        if len({epoch for epoch, _ in self._done}) != len(self._done):
            return
        alone = len(self._done) == 1
        named = {m.raw: m for _, bar in self._done for m in bar[0].shape.metrics}
        taken = {raw for raw, m in named.items() if alone or self._of_the_moment(m)}
        for epoch, bar in self._done:
            for state in bar:
                metrics = tuple(m for m in state.shape.metrics if m.raw in taken)
                if metrics:
                    yield epoch, state, metrics

    def _of_the_moment(self, metric: Metric) -> bool:
        """Whether the bars show single values of a metric, not the mean since their beginning."""
        if metric.canonical in ("learning_rate", "grad_norm", "loss_scale"):
            return True
        bars = self._done[1:] if len(self._done) > 2 else self._done  # in the first epoch most is learned
        early: list[float] = []
        late: list[float] = []
        for _, bar in bars:
            values = [_value(s, metric.raw) for s in bar]
            changes = [abs(b - a) for a, b in pairwise(values) if b - a == b - a]
            half = len(changes) // 2
            early += changes[:half]
            late += changes[len(changes) - half :]
        if len(early) < MIN_CHANGES:
            return False
        before = median(early)
        return before > 0 and median(late) > SHRUNK * before


def _placed(bar: list[State]) -> list[State]:
    """The states of a bar that are points: one to a count, or each redrawing where there is one to a batch.

    tqdm draws itself anew whenever it is told of values (`set_postfix`), and moves its count less often.
    """
    told = [bar[0]]
    counts = [bar[0]]
    for state in bar[1:]:
        if _values(state) != _values(told[-1]):
            told.append(state)
        if state.step != counts[-1].step:
            counts.append(state)
    total = bar[-1].total
    if len(told) > len(counts) and abs(len(told) - total) <= max(1.0, REDRAWN * total):
        return [state._replace(step=min(float(at), total)) for at, state in enumerate(told)]
    return counts


def _values(state: State) -> list[bytes]:
    return [state.tokens[m.slot] for m in state.shape.metrics]


def _value(state: State, raw: str) -> float:
    for metric in state.shape.metrics:
        if metric.raw == raw:
            found = to_float(state.tokens[metric.slot])
            return float("nan") if found is None else found
    return float("nan")
