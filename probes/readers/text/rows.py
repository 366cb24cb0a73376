"""From lines that hold metrics to rows: where each stands, and what becomes of progress bars."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...assembly import names
from ...run import Event, Floats
from . import events, keys
from .alike import Stretch, numbers_of, spread
from .columns import NAN, Column, Columns, Key, Split
from .epoch_bars import EpochBars, State
from .numbers import to_float
from .shape import EPOCH_FIRST, SUMMARY, Metric, Shape
from .stamps import wall_of
from .trainer_bars import TrainerBars

BEYOND = 100.5  # no share: "5231.2%" is told as it stands (see curves.above_whole)
MAX_POINTS = 6_000_000
OF_SHARDS = 4  # counts of a bar that are no steps of a training
FEW_TOLD = 3  # lines beside bars, from which on they are a curve
Tokens = Sequence[bytes]


class Line(NamedTuple):
    """One line: its number from 1, its bytes, its rank, and whether it is a passing state of a bar."""

    number: int
    raw: bytes
    rank: int | None
    passing: bool


@dataclass(slots=True)
class Where:
    """The place that lines without one of their own belong to."""

    step: float = NAN
    total: float = NAN
    kind: str = "step"
    epoch: float = NAN
    step_epoch: float = NAN  # the epoch in which `step` was printed
    split: str = ""

    @property
    def known(self) -> bool:
        """Whether any step or epoch was seen."""
        return self.step == self.step or self.epoch == self.epoch


class Rows:
    """Puts metric lines into columns, each at its place."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.columns = Columns()
        self.events = events.Events(file)
        self.families: Counter[str] = Counter()
        self.first_line: int | None = None  # of a row of metrics
        self.points = 0
        self._places: dict[int | None, Where] = {}
        self._bar: tuple[float, float] | None = None
        self._trainer = TrainerBars()
        self._pending: tuple[Shape, Tokens, Line, float] | None = None
        self._bars_done: set[tuple[int | None, float]] = set()
        self._epoch_bars = 0.0
        self._bars = EpochBars()
        self._of_bars: set[int] = set()  # rows that a bar showed
        self._bars_ended = 0
        self._epoch_first = False  # "[2/7] step 45/280" was read
        self._partial: dict[int | None, tuple[Shape, Tokens, Line, str]] = {}  # states of evaluations
        self._losses: dict[int | None, Key] = {}
        self._skipped: dict[tuple[int | None, int], float] = {}
        self._engines: dict[int | None, tuple[float, int]] = {}
        self._targets: dict[tuple[int, str, int | None], list[tuple[int, Column]]] = {}
        self._shapes: list[Shape] = []  # keeps the ids in `_targets` unique

    def where(self, rank: int | None) -> Where:
        """The place reached by a rank."""
        found = self._places.get(rank)
        if found is None:
            found = self._places.setdefault(rank, Where())
        return found

    def take(self, shape: Shape, tokens: Tokens, line: Line) -> None:
        """Take in a line whose shape is known."""
        where = self.where(line.rank)
        if not shape.metrics:
            self._header(shape, tokens, where)
        elif not (shape.bar and self._hold(shape, tokens, line, where)):
            self._row(shape, tokens, line, where)

    def take_many(self, shape: Shape, data: bytes, stretches: list[Stretch]) -> bool:
        """Take lines of one shape that each name their place, column by column; `data` holds them.

        False, and nothing taken, where one of them needs a closer look.
        """
        count = sum(s.lines for s in stretches)
        if any(self._headed(shape, where) for where in self._places.values()):
            return False
        if not self._alike(shape) or self.points + count * len(shape.metrics) > MAX_POINTS:
            return False
        found = numbers_of(shape, _slots(shape), data, stretches)
        if found is None or self._unusual(shape, found.of):
            return False
        if any(at is not None and np.isnan(found.of[at]).any() for at in (shape.epoch, shape.step)):
            return False
        steps, totals, epochs = (
            np.full(count, NAN) if at is None else found.of[at]
            for at in (shape.step, shape.total, shape.epoch)
        )
        own, kind = shape.step is not None, str(shape.step_kind)
        group = "epoch" if SUMMARY in shape.flags else "step"
        ranks = _by_rank(found.ranks)
        for rank, at in ranks:
            where = self.where(rank)
            if shape.epoch is None:
                epochs[at] = where.epoch
            if own:
                self._move(shape, float(steps[at][-1]), float(totals[at][-1]), float(epochs[at][-1]), where)
                continue
            here = epochs[at] == where.step_epoch
            steps[at], totals[at] = np.where(here, where.step, NAN), np.where(here, where.total, NAN)
            group, kind = "epoch", where.kind
            whole = epochs[at][epochs[at] == np.floor(epochs[at])]
            where.epoch, where.split = float(whole[-1]) if len(whole) else where.epoch, ""
        lines = spread([s.number for s in stretches], [s.lines for s in stretches])
        start = self.columns.several(steps, totals, epochs, lines, found.walls, own, kind)
        rows = np.arange(start, start + count)
        columns = {m: _measured(m, found.of) for m in shape.metrics}
        for rank, at in ranks:
            for metric, values in columns.items():
                self.columns.put_many((metric.raw, metric.split, group, rank), rows[at], values[at])
        self.points += count * len(shape.metrics)
        self._count(shape, int(lines[0]), count)
        return True

    def _alike(self, shape: Shape) -> bool:
        """Whether lines of this shape say all that there is to say by themselves, as they stand."""
        counting = shape.step_kind in ("bare", "batch")
        if not shape.metrics or not shape.placed or {"overflow-true", "overflow-false"} & shape.flags:
            return False
        if shape.bar and (shape.step is None or counting or shape.epoch is not None):
            return False
        if shape.step is None and self._bar is not None and "hf" in shape.flags:
            return False
        if "printed-dict" in shape.flags and self.families["mindspore"]:
            return False
        return not (shape.evaluating and counting)

    @staticmethod
    def _unusual(shape: Shape, numbers: dict[int, Floats]) -> bool:
        """Skipped steps, and what Megatron prints where it knows no loss scale: to look at one by one."""
        megatron = "megatron" in shape.flags
        for metric in shape.metrics:
            if metric.canonical == "skipped" and not (megatron and bool((numbers[metric.slot] <= 0).all())):
                return True
            if metric.canonical == "loss_scale" and megatron and bool((numbers[metric.slot] == -1.0).any()):
                return True
        named = {m.canonical for m in shape.metrics}
        return megatron and "train/loss" not in named

    def finish(self) -> None:
        """All lines were read."""
        for rank in list(self._partial):
            self._end_partial(rank)
        self._flush_bar()
        self._states_of_bars()
        for row, step in self._trainer.steps():
            self.columns.rows.step[row] = step
        self._part_from_bars()
        placed = sum(len(c.rows) for k, c in self.columns.points.items() if k[2] != "row")
        loose = sum(len(c.rows) for k, c in self.columns.points.items() if k[2] == "row")
        if placed and loose <= max(20, 3 * placed):
            self.columns.drop_unplaced()

    def _note_bar(self, row: int, *, ended: bool) -> None:
        self._of_bars.add(row)
        self._bars_ended += ended

    def _part_from_bars(self) -> None:
        """Where a line tells each epoch what its bar showed under the same name, the line's numbers count."""
        if not self._of_bars:
            return
        for column in self.columns.points.values():
            told = [at for at, row in enumerate(column.rows) if row not in self._of_bars]
            if len(told) >= max(FEW_TOLD, self._bars_ended - 1) and len(told) < len(column.rows):
                column.rows = array("q", [column.rows[at] for at in told])
                column.values = array("d", [column.values[at] for at in told])

    # ------------------------------------------------------------------------------------ places

    def _header(self, shape: Shape, tokens: Tokens, where: Where) -> None:
        """A line that only says where we are: "Epoch 3/10", "[step=10/1000,epoch=0]", "Validation:"."""
        step, total, epoch = place(shape, tokens)
        if epoch == epoch and epoch != where.epoch:
            self._flush_bar()
            where.epoch = epoch
            where.split = ""
        if shape.bar and shape.step_kind == "bare":
            if total == total and total <= OF_SHARDS and self._bar is None:
                return  # a bar of so few counts files: of data that are loaded, of a checkpoint
            if step == step and total == total:
                self._bar = (step, total)
                self._trainer.drawn(self._bar)
            return
        if step == step and shape.places:
            where.step, where.total, where.kind = step, total, shape.step_kind
            where.step_epoch = where.epoch
            where.split = ""
        if shape.header_split:
            where.split = shape.header_split

    def _row(self, shape: Shape, tokens: Tokens, line: Line, where: Where) -> None:
        step, total, epoch = place(shape, tokens)
        headed = self._headed(shape, where) and step == step and where.total == where.total != total == total
        if headed and step < total:
            self._partial[line.rank] = (shape, tokens, line, where.split)
            return
        if headed:
            step = total = (
                NAN  # "Eval begin..." above "step 10/10 - loss: 0.5": it stands where training stands
            )
        if shape.evaluating and shape.step_kind in ("bare", "batch") and where.known:
            if self._epoch_first and shape.step_kind == "bare" and step == where.epoch and step < where.step:
                step, total, epoch = NAN, NAN, step  # "[2/7] val loss 0.5" below "[2/7] step 80/280 loss 0.4"
            elif epoch == epoch or step == total:
                step = total = NAN  # the batches of the evaluation: it stands where training stands
            elif step != where.step and total != where.total:
                self._partial[line.rank] = (shape, tokens, line, "")  # a state of the evaluation
                return
        if shape.evaluating or headed:
            self._partial.pop(line.rank, None)
        else:
            self._end_partial(line.rank)
        own_step, own = step == step, step == step or epoch == epoch
        kind: str = shape.step_kind
        beside = self._bar if not own_step and "hf" in shape.flags else None
        if beside is not None:
            step, own_step, own = beside[0], True, True
        if own_step:
            epoch = epoch if epoch == epoch else where.epoch
            self._move(shape, step, total, epoch, where)
            group = "epoch" if SUMMARY in shape.flags else "step"
        elif own:
            group, kind = "epoch", where.kind
            if where.step_epoch == epoch:
                step, total = where.step, where.total
            if epoch == math.floor(epoch):
                where.epoch = epoch
            where.split = ""
        elif where.known:
            epoch, kind = where.epoch, where.kind
            if where.step_epoch != where.step_epoch or where.step_epoch == epoch:
                step, total = where.step, where.total
            group = "step" if step == step else "epoch"
        elif shape.strong:
            group = "row"
        else:
            self._scale_alone(shape, tokens, line)
            return
        wall = wall_of(line.raw) if shape.stamped else NAN
        row = self.columns.row(step, total, epoch, line.number, wall, own_step, kind)
        if shape.bar:
            self._note_bar(row, ended=step == total)
        if beside is not None:
            training = any(m.canonical == "train/loss" for m in shape.metrics)
            self._trainer.printed(row, epoch, training, beside)
        split = "" if own else where.split
        if "printed-dict" in shape.flags and self.families["mindspore"]:
            split = "eval"  # beside LossMonitor's lines a dict is what model.eval gave
        if shape.plain and not split:
            self._plain(shape, tokens, row, group, line.rank)
        else:
            self._values(shape, tokens, row, group, line.rank, split)
        self._count(shape, line.number)

    @staticmethod
    def _headed(shape: Shape, where: Where) -> bool:
        """Whether a line that counts steps of its own stands below one that begins an evaluation."""
        return where.split in ("eval", "test") and shape.total is not None and not shape.evaluating

    def _end_partial(self, rank: int | None) -> None:
        """The last state that an evaluation was seen in stands for it where no line sums it up."""
        shape, tokens, line, split = self._partial.pop(rank, (None, (), None, ""))
        if shape is None or line is None:
            return
        where = self.where(rank)
        row = self.columns.row(where.step, where.total, where.epoch, line.number, NAN, False, where.kind)
        self._values(shape, tokens, row, "step" if where.step == where.step else "epoch", rank, split)

    @staticmethod
    def _move(shape: Shape, step: float, total: float, epoch: float, where: Where) -> None:
        """A row with a step: lines below stand there too, unless it counts batches of an evaluation."""
        if not (shape.evaluating and shape.step_kind in ("bare", "batch", "sample")):
            where.step, where.total, where.kind = step, total, shape.step_kind
            where.epoch = where.step_epoch = epoch
        where.split = ""

    # -------------------------------------------------------------------------------------- bars

    def _hold(self, shape: Shape, tokens: Tokens, line: Line, where: Where) -> bool:
        """Decide on a state of a progress bar: True when it is not (yet) a row."""
        step, total, epoch = place(shape, tokens)
        if epoch == epoch and epoch != where.epoch:
            self._flush_bar()
            where.epoch, where.split = epoch, ""
        in_epoch = where.epoch == where.epoch
        over_epochs = shape.step is None and shape.epoch is not None
        if step == step and shape.step_kind in ("bare", "batch"):
            self._bar = (step, total)
            if not in_epoch and "keras" not in shape.flags:
                return False
        elif not over_epochs:
            told = step == step and step != where.step and shape.step_kind in ("step", "iteration")
            return line.passing and in_epoch and (shape.evaluating or not told)
        if not over_epochs and "keras" not in shape.flags and line.rank is None:
            self._bars.drawn(State(shape, tokens, line.number, step, total))
        if over_epochs or step < total or line.passing:
            self._pending = (shape, tokens, line, where.epoch)
        else:
            self._pending = None
            self._bar_done(shape, tokens, line, where.epoch)
        return True

    def _states_of_bars(self) -> None:
        """Take the states of the bars of the training as rows, where these are points of a curve."""
        epochs = set()
        for epoch, state, metrics in self._bars.curve():
            epochs.add(epoch)
            kind = state.shape.step_kind
            row = self.columns.row(state.step, state.total, epoch, state.number, NAN, True, kind)
            self._note_bar(row, ended=False)
            for metric in metrics:
                self._put(metric, state.tokens, row, "step", None)
        if epochs:
            which = "the only epoch" if len(epochs) == 1 else "training"
            self.columns.notes[f"values of {which} are those that its progress bar showed"] = None

    def _flush_bar(self) -> None:
        """A bar that never came to its end still says how far it came."""
        if self._pending is not None:
            shape, tokens, line, epoch = self._pending
            self._pending = None
            self._bar_done(shape, tokens, line, epoch)

    def _bar_done(self, shape: Shape, tokens: Tokens, line: Line, epoch: float) -> None:
        """The last state of a bar stands for its epoch; a second bar in the same epoch is an evaluation."""
        counted = epoch != epoch
        if counted:
            self._epoch_bars += 1.0
            epoch = self._epoch_bars
        again = (line.rank, epoch) in self._bars_done and not counted
        self._bars_done.add((line.rank, epoch))
        if line.rank is None:
            self._bars.ended(epoch, training=not again and not shape.evaluating)
        wall = wall_of(line.raw) if shape.stamped else NAN
        row = self.columns.row(NAN, NAN, epoch, line.number, wall, True, "step")
        self._note_bar(row, ended=True)
        for metric in shape.metrics:
            if again and not metric.split and metric.canonical.startswith("train/"):
                metric = as_split(metric, "test")
            self._put(metric, tokens, row, "epoch", line.rank)
        self._count(shape, line.number)

    # ------------------------------------------------------------------------------------ values

    def _plain(self, shape: Shape, tokens: Tokens, row: int, group: str, rank: int | None) -> None:
        """The values of a shape that needs nothing special: the way that nearly all lines go."""
        targets = self._targets.get((id(shape), group, rank))
        if targets is None:
            targets = [(m.slot, self.columns.column((m.raw, m.split, group, rank))) for m in shape.metrics]
            self._shapes.append(shape)
            self._targets[(id(shape), group, rank)] = targets
        if self.points >= MAX_POINTS:
            return
        for slot, column in targets:
            try:
                value = float(tokens[slot])
            except ValueError:
                odd = to_float(tokens[slot])
                if odd is None:
                    continue
                value = odd
            column.rows.append(row)
            column.values.append(value)
        self.points += len(targets)
        if "overflow-false" in shape.flags:
            self.columns.put(("overflow cond", "", group, rank), row, 0.0)

    def _values(
        self, shape: Shape, tokens: Tokens, row: int, group: str, rank: int | None, split: str
    ) -> None:
        megatron = "megatron" in shape.flags
        unreported = megatron and any(
            m.canonical == "loss_scale" and to_float(tokens[m.slot]) == -1.0 for m in shape.metrics
        )
        for metric in shape.metrics:
            if split and not metric.split and metric.canonical.startswith("train/"):
                metric = metric if keys.names_split(metric.raw) else as_split(metric, split)
            if unreported and metric.canonical in ("loss_scale", "grad_norm"):
                continue
            if metric.canonical == "skipped":
                self._skip(metric, tokens, row, group, rank, megatron)
            else:
                self._put(metric, tokens, row, group, rank)
        if "overflow-true" in shape.flags or "overflow-false" in shape.flags:
            self._overflow_cond(shape, tokens, row, group, rank)
        found = {m.canonical for m in shape.metrics}
        if megatron and "train/loss" not in found and found & {"loss_scale", "learning_rate"}:
            self.columns.lack(self.loss_key(rank, "lm loss"), row)

    def _put(self, metric: Metric, tokens: Tokens, row: int, group: str, rank: int | None) -> None:
        value = to_float(tokens[metric.slot])
        if value is None or self.points >= MAX_POINTS:
            return
        if metric.percent:
            value = value / 100.0 if value <= BEYOND else value
        elif metric.whole is not None:
            whole = to_float(tokens[metric.whole])
            if whole and value <= whole:
                value /= whole
        self.points += 1
        self.columns.put((metric.raw, metric.split, group, rank), row, value)

    def put_table(self, metrics: dict[str, float], step: float, epoch: float, kind: str, line: Line) -> None:
        """Add a row of a table; without a place it stands where the lines before it stand."""
        where = self.where(line.rank)
        if step != step and epoch != epoch:
            epoch = where.epoch
        elif epoch == epoch:
            where.epoch = epoch
        if step == step:
            where.step, where.total, where.step_epoch = step, NAN, where.epoch
        row = self.columns.row(step, NAN, epoch, line.number, NAN, step == step, kind)
        group = "step" if step == step else "epoch" if epoch == epoch else "row"
        for name, value in metrics.items():
            self.columns.put((name, "", group, line.rank), row, value)
        self.points += len(metrics)
        self.families["table"] += 1
        self.first_line = self.first_line or line.number

    def _count(self, shape: Shape, number: int, lines: int = 1) -> None:
        if self.first_line is None:
            self.first_line = number
        flags = shape.flags - {EPOCH_FIRST, SUMMARY}
        self._epoch_first |= EPOCH_FIRST in shape.flags
        for flag in flags:
            self.families[flag] += lines
        if not flags:
            self.families[""] += lines

    # ----------------------------------------------------------------------- what is no curve only

    def loss_key(self, rank: int | None, default: str = "loss") -> Key:
        """The column of the training loss of a rank."""
        if rank in self._losses and self._losses[rank] in self.columns.points:
            return self._losses[rank]
        found = [
            k for k in self.columns.points if k[3] == rank and names.canonical(k[0], k[1]) == "train/loss"
        ]
        if not found:
            return (default, "", "step", rank)
        self._losses[rank] = max(found, key=lambda k: len(self.columns.points[k].rows))
        return self._losses[rank]

    def nan_loss(self, step: float | None, epoch: float | None, line: Line) -> int:
        """The framework says that the loss is no number: a point of its curve. Returns the row."""
        where, key = self.where(line.rank), self.loss_key(line.rank)
        at = epoch if epoch is not None else where.epoch
        placed = step if step is not None and key[2] == "step" else where.step
        if key[2] == "epoch":
            placed = NAN
        row = self.columns.row(placed, where.total, at, line.number, NAN, True, where.kind)
        self.columns.put(key, row, NAN)
        return row

    def _scale_alone(self, shape: Shape, tokens: Tokens, line: Line) -> None:
        """A loss scale printed before any step is no curve, but worth an event."""
        metric = next((m for m in shape.metrics if m.canonical == "loss_scale"), None)
        if metric is not None:
            text = events.shorten(line.raw.decode("utf-8", "replace"))
            value = to_float(tokens[metric.slot])
            event = Event("loss-scale", self.file, line.number, None, value, line.rank, text)
            self.events.add(event, len(self.columns), once=False)

    def _skip(
        self, metric: Metric, tokens: Tokens, row: int, group: str, rank: int | None, megatron: bool
    ) -> None:
        """Skipped steps: Megatron counts those since its last line, DeepSpeed all since the start."""
        value = to_float(tokens[metric.slot])
        if value is None:
            return
        step = self.columns.rows.step[row]
        if not megatron:
            value = self._since_last(value, step, rank)
        self.columns.put((metric.raw, metric.split, group, rank), row, value)
        if value > 0:
            text = f"{value:g} steps skipped since the line before"
            known = step if step == step else None
            event = Event("skipped-step", self.file, self.columns.rows.line[row], known, value, rank, text)
            self.events.add(event, row + 1, once=False)

    def _since_last(self, total: float, step: float, rank: int | None) -> float:
        """From the number of all skipped steps to those since the last line of the same engine.

        Where two engines train (actor and critic), each prints its own line at the same step.
        """
        at, engine = self._engines.get(rank, (NAN, 0))
        engine = engine + 1 if step == at else 0
        self._engines[rank] = (step, engine)
        before = self._skipped.get((rank, engine), 0.0)
        self._skipped[rank, engine] = total
        return total - before if total >= before else total

    def _overflow_cond(self, shape: Shape, tokens: Tokens, row: int, group: str, rank: int | None) -> None:
        """MindFormers prints on each line whether the step overflowed."""
        happened = "overflow-true" in shape.flags
        self.columns.put(("overflow cond", "", group, rank), row, float(happened))
        if not happened:
            return
        scales = (to_float(tokens[m.slot]) for m in shape.metrics if m.canonical == "loss_scale")
        line, text = self.columns.rows.line[row], "overflow cond: True"
        event = Event("overflow", self.file, line, None, next(scales, None), rank, text, "mindspore")
        self.events.add(event, row + 1, once=False)


def place(shape: Shape, tokens: Tokens) -> tuple[float, float, float]:
    """Return (step, total, epoch) of a line; NaN where it does not say."""
    step = NAN if shape.step is None else _number(tokens[shape.step])
    total = NAN if shape.total is None or shape.step is None else _number(tokens[shape.total])
    return step, total, NAN if shape.epoch is None else _number(tokens[shape.epoch])


def _measured(metric: Metric, numbers: dict[int, Floats]) -> Floats:
    """The values of a metric, from what stands in its slots."""
    values = numbers[metric.slot]
    if metric.percent:
        scaled: Floats = np.where(values > BEYOND, values, values / 100.0)
        return scaled
    return values if metric.whole is None else _part(values, numbers[metric.whole])


def _by_rank(ranks: Floats) -> list[tuple[int | None, slice | NDArray[np.int64]]]:
    """Ranks that n lines name (float64 [n], NaN: none), as they appear, with the places of their lines."""
    unknown = np.isnan(ranks)
    if unknown.all():
        return [(None, slice(None))]
    whole = np.where(unknown, -1, ranks).astype(np.int64)
    named, first = np.unique(whole, return_index=True)
    in_order = named[np.argsort(first)].tolist()
    return [(None if rank < 0 else rank, np.flatnonzero(whole == rank)) for rank in in_order]


def _slots(shape: Shape) -> set[int]:
    """The captured tokens that a line's place and metrics are read from."""
    places = (shape.step, shape.total, shape.epoch)
    wholes = (m.whole for m in shape.metrics)
    return {m.slot for m in shape.metrics} | {at for at in (*places, *wholes) if at is not None}


def _part(values: Floats, wholes: Floats) -> Floats:
    """The share that "9912/10000" says, where the second number is the larger one."""
    share = (wholes != 0) & (values <= wholes)
    return np.divide(values, wholes, out=values.copy(), where=share)


def _number(token: bytes) -> float:
    try:
        return float(token)
    except ValueError:
        found = to_float(token)
        return NAN if found is None else found


def as_split(metric: Metric, split: str) -> Metric:
    """The metric as one of another data set: "Accuracy" under "Test set:" is "Test Accuracy"."""
    if split == "test":
        return replace(
            metric, raw=f"Test {metric.raw}", canonical="test/" + metric.canonical.partition("/")[2]
        )
    which: Split = "train" if split == "train" else "eval"
    return replace(metric, split=which)
