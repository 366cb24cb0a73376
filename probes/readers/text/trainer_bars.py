"""At which step the Hugging Face Trainer printed a row: it prints the epoch, and its progress bar the step.

The bar is drawn anew after each row, so the state after a row is the row's; the state before it lags where
steps are fast. Bars of evaluations count batches from 0 and are left out. Where the output was buffered, rows
and bars come apart; the printed epoch then tells the step, by the steps in an epoch that most rows agree on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean, median

Bar = tuple[float, float]  # step and total
SHARE = 0.2  # of the training rows that a bar must follow to count steps
FITTING = 0.6


@dataclass(slots=True)
class _Row:
    row: int
    epoch: float
    training: bool
    before: Bar
    after: Bar | None = None


class TrainerBars:
    """Collects rows and the states of bars around them; `steps` says where each row stands."""

    def __init__(self) -> None:
        self._rows: list[_Row] = []
        self._open: list[_Row] = []

    def drawn(self, bar: Bar) -> None:
        """A bar was drawn."""
        for row in self._open:
            row.after = bar
        self._open.clear()

    def printed(self, row: int, epoch: float, training: bool, before: Bar) -> None:
        """A row was printed; `epoch` may be NaN."""
        self._rows.append(_Row(row, epoch, training, before))
        self._open.append(self._rows[-1])

    def steps(self) -> Iterator[tuple[int, float]]:
        """Yield (row, step)."""
        training = [r for r in self._rows if r.training and r.after]
        counted = Counter(r.after[1] for r in training if r.after)
        totals = {total for total, count in counted.items() if count >= SHARE * len(training)}
        after = _length([(r.after[0], r.epoch) for r in training if r.after and r.after[1] in totals])
        before = _length([(r.before[0], r.epoch) for r in training if r.before[1] in totals])
        lagging = before is None or (after is not None and after[1] <= 2.0 * before[1])
        length = (after if lagging else before) or (0, 0.0)
        for row in self._rows:
            bars = (row.after, row.before) if lagging else (row.before, row.after)
            near = [bar[0] for bar in bars if bar and bar[1] in totals]
            if not length[0] or row.epoch != row.epoch:
                yield row.row, near[0] if near else row.before[0]
                continue
            fitting = [step for step in near if _fits(step, row.epoch, length[0])]
            yield row.row, fitting[0] if fitting else float(round(row.epoch * length[0]))


def _length(pairs: list[tuple[float, float]]) -> tuple[int, float] | None:
    """The steps in an epoch, a whole number that most (step, epoch) agree on, and how far off these are."""
    pairs = [(step, epoch) for step, epoch in pairs if epoch > 0]
    if not pairs:
        return None
    length = round(median(step / epoch for step, epoch in pairs))
    good = sum(_fits(step, epoch, length) for step, epoch in pairs)
    if not length or good < FITTING * len(pairs):
        return None
    return length, fmean(abs(step - epoch * length) for step, epoch in pairs)


def _fits(step: float, epoch: float, length: int) -> bool:
    """Within what the rounding of the printed epoch allows: two decimals, or four digits."""
    return abs(step - epoch * length) <= 1.0 + length * (0.006 + 0.0006 * epoch)
