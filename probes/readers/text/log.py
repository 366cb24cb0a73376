"""Reads a log line by line: what each line adds, given the lines before it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ....engine.model import Scalar
from ... import names
from ...run import Event, FileContent, Series, Setting, Window
from .._rows import masked
from . import arguments, environment, events
from .columns import NAN, Columns, Key, Split
from .lines import Lines
from .numbers import to_float
from .shape import DELETE, Metric, Shape, analyse, wall_of

MAX_SHAPES = 40_000
MAX_ALIKE = 12
MAX_POINTS = 6_000_000
_WINDOWS: dict[str, Window] = {
    "megatron": "mean-since-last",
    "hf": "mean-since-last",
    "openmmlab": "mean-since-last",
    "detectron2": "median",
    "fairseq": "mean-since-last",
    "keras": "epoch-mean",
    "mindspore": "point",
    "mindformers": "point",
}
_FRAMEWORKS = {
    "mindspore": "mindspore",
    "mindformers": "mindspore",
    "mindyolo": "mindspore",
    "megatron": "pytorch",
    "nemo": "pytorch",
    "deepspeed": "pytorch",
    "fairseq": "pytorch",
    "hf": "pytorch",
    "openmmlab": "pytorch",
    "detectron2": "pytorch",
    "torchtune": "pytorch",
    "torchtitan": "pytorch",
    "nanogpt": "pytorch",
    "modded-nanogpt": "pytorch",
    "keras": "tensorflow",
    "tensorflow": "tensorflow",
    "tf-slim": "tensorflow",
    "paddle": "paddle",
    "maxtext": "jax",
    "caffe": "caffe",
}
_NAMED = {"mindspore": "mindspore-lossmonitor", "tensorflow": "tf-estimator", "": "key-value"}


@dataclass(slots=True)
class Entry:
    """What is known of all lines of one shape."""

    shapes: list[Shape] = field(default_factory=list)
    rule: events.Rule | None = None
    setting: bool = False


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


class Log:
    """Reads one log. `content` gives the result."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.columns = Columns()
        self.events = events.Events(file)
        self.settings: dict[tuple[str, str], Setting] = {}
        self.facts: dict[str, Scalar] = {}
        self.notes: dict[str, None] = {}
        self.families: Counter[str] = Counter()
        self.places: dict[int | None, Where] = {}
        self._entries: dict[bytes, Entry | None] = {}
        self._traceback: int | None = None
        self._bar: tuple[float, float] | None = None
        self._pending: tuple[Shape, tuple[bytes, ...], int, int | None, bytes] | None = None
        self._bars_done: set[tuple[int | None, float]] = set()
        self._epoch_bars = 0.0
        self._points = 0
        self._loss_rows: dict[int | None, Key] = {}
        self._skipped: dict[int | None, float] = {}
        self._first_metric_line: int | None = None

    # ------------------------------------------------------------------------------------ lines

    def feed(self, lines: Lines) -> None:
        """Read all lines."""
        entries = self._entries
        for number, raw, rank, passing in lines:
            if self._traceback is not None and self._in_traceback(number, raw, rank):
                continue
            key = raw.translate(None, DELETE)
            try:
                entry = entries[key]
            except KeyError:
                entry = self._learn(key, raw, number)
            if entry is not None:
                self._line(entry, raw, number, rank, passing)
        self._flush_bar()
        self.notes.update(dict.fromkeys(lines.notes))
        if len(lines.workers) > 1:
            self.notes["worker processes are numbered in the order in which they appear"] = None

    def _learn(self, key: bytes, raw: bytes, number: int) -> Entry | None:
        """Look at the first line of a shape; None when lines like it say nothing."""
        if len(self._entries) > MAX_SHAPES:
            self._entries.clear()
        entry = Entry()
        shape = analyse(raw)
        if shape is not None:
            entry.shapes.append(shape)
        text = raw.decode("utf-8", "replace") if len(raw) < 8192 else raw[:8192].decode("utf-8", "replace")
        if events.HINT.search(raw[:8192]):
            found = events.match_rule(text[:4000])
            entry.rule = found[0] if found else None
        if (
            text.startswith(("Traceback (most recent", " Traceback"))
            or "Traceback (most recent call last)" in text
        ):
            self._traceback = number
            return None
        if shape is None or not shape.metrics:
            entry.setting = self._read_settings(
                text if len(raw) < 8192 else raw.decode("utf-8", "replace"), number
            )
            environment.look(text, self.facts)
        known = entry if entry.shapes or entry.rule or entry.setting else None
        self._entries[key] = known
        return known

    def _line(self, entry: Entry, raw: bytes, number: int, rank: int | None, passing: bool) -> None:
        rule = entry.rule
        if entry.shapes and not (rule and rule.nan):
            before = len(self.columns.steps)
            self._shaped(entry, raw, number, rank, passing)
            if rule is not None and rule.data == "printed" and len(self.columns.steps) > before:
                return  # a row of the curve that happens to hold NaN
        elif entry.setting and self._first_metric_line is None:
            self._read_settings(raw.decode("utf-8", "replace"), number)
        if rule is not None:
            self._event(rule, raw, number, rank)

    def _shaped(self, entry: Entry, raw: bytes, number: int, rank: int | None, passing: bool) -> None:
        for shape in entry.shapes:
            tokens = shape.tokens(raw)
            if tokens is not None:
                self._row(shape, tokens, number, rank, raw, passing)
                return
        shape = analyse(raw)
        if shape is None:
            return
        if len(entry.shapes) < MAX_ALIKE:
            entry.shapes.append(shape)
        tokens = shape.tokens(raw)
        if tokens is not None:
            self._row(shape, tokens, number, rank, raw, passing)

    # ------------------------------------------------------------------------------------- rows

    def _row(
        self,
        shape: Shape,
        tokens: tuple[bytes, ...],
        number: int,
        rank: int | None,
        raw: bytes,
        passing: bool,
    ) -> None:
        where = self.places.get(rank)
        if where is None:
            where = self.places.setdefault(rank, Where())
        if not shape.metrics:
            self._header(shape, tokens, where)
            return
        if shape.bar and self._hold(shape, tokens, number, rank, raw, passing, where):
            return
        self._add(shape, tokens, number, rank, raw, where)

    def _header(self, shape: Shape, tokens: Sequence[bytes], where: Where) -> None:
        """A line that only says where we are: "Epoch 3/10", "[step=10/1000,epoch=0]", "Validation:"."""
        step, total, epoch = _place(shape, tokens)
        if shape.bar and shape.step_kind == "bare":
            if step == step and total == total:
                self._bar = (step, total)
            return
        if epoch == epoch and epoch != where.epoch:
            self._flush_bar()
            where.epoch = epoch
            where.split = ""
        if step == step and shape.step_kind not in ("bare", "sample"):
            where.step, where.total, where.kind = step, total, shape.step_kind
            where.step_epoch = where.epoch
            where.split = ""
        if shape.header_split:
            where.split = shape.header_split

    def _hold(
        self,
        shape: Shape,
        tokens: tuple[bytes, ...],
        number: int,
        rank: int | None,
        raw: bytes,
        passing: bool,
        where: Where,
    ) -> bool:
        """Decide on a state of a progress bar: True when it is not (yet) a row."""
        step, total, epoch = _place(shape, tokens)
        if epoch == epoch and epoch != where.epoch:
            self._flush_bar()
            where.epoch = epoch
        in_epoch = where.epoch == where.epoch
        if step != step or shape.step_kind not in ("bare", "batch"):
            return passing and in_epoch
        self._bar = (step, total)
        if not in_epoch and "keras" not in shape.flags and b"[=" not in raw and b"ETA:" not in raw:
            return False
        if step < total or passing:
            self._pending = (shape, tokens, number, rank, raw)
            return True
        self._pending = None
        self._bar_done(shape, tokens, number, rank, raw, where)
        return True

    def _flush_bar(self) -> None:
        """A bar that never came to its end still says how far it came."""
        if self._pending is None:
            return
        shape, tokens, number, rank, raw = self._pending
        self._pending = None
        self._bar_done(shape, tokens, number, rank, raw, self.places.setdefault(rank, Where()))

    def _bar_done(
        self, shape: Shape, tokens: tuple[bytes, ...], number: int, rank: int | None, raw: bytes, where: Where
    ) -> None:
        """The last state of a bar stands for its epoch; a second bar in the same epoch is an evaluation."""
        epoch = where.epoch
        if epoch != epoch:
            self._epoch_bars += 1.0
            epoch = self._epoch_bars
        again = (rank, epoch) in self._bars_done and where.epoch == where.epoch
        self._bars_done.add((rank, epoch))
        row = self.columns.row(NAN, NAN, epoch, number, wall_of(raw) if shape.stamped else NAN, True, "step")
        for metric in shape.metrics:
            if again and not metric.split and metric.canonical.startswith("train/"):
                metric = replace(metric, raw=f"Test {metric.raw}", canonical="test/" + metric.canonical[6:])
            self._put(metric, tokens, row, "epoch", rank)
        self._count(shape, number)

    def _add(
        self, shape: Shape, tokens: tuple[bytes, ...], number: int, rank: int | None, raw: bytes, where: Where
    ) -> None:
        step, total, epoch = _place(shape, tokens)
        own_step, own_epoch = step == step, epoch == epoch
        evaluating = any(
            m.split == "eval" or m.canonical.startswith(("eval/", "test/")) for m in shape.metrics
        )
        hf = "hf" in shape.flags
        if hf and not own_step and self._bar is not None:
            step, own_step = self._bar[0], True
        if own_step:
            kind, group = shape.step_kind, "step"
            if not own_epoch:
                epoch = where.epoch
            if not (evaluating and shape.step_kind in ("bare", "batch", "sample")):
                where.step, where.total, where.kind = step, total, kind
                where.epoch = epoch
                where.step_epoch = epoch
            where.split = ""
        elif own_epoch:
            group, kind = "epoch", where.kind
            if where.step_epoch == epoch:
                step, total = where.step, where.total
            if epoch == math.floor(epoch):
                where.epoch = epoch
            where.split = ""
        elif where.known:
            step, total, epoch, kind = where.step, where.total, where.epoch, where.kind
            if where.step_epoch == where.step_epoch and where.step_epoch != epoch:
                step = total = NAN
            group = "step" if step == step else "epoch"
        else:
            if not shape.strong:
                return
            group, kind = "row", "step"
        wall = wall_of(raw) if shape.stamped else NAN
        row = self.columns.row(step, total, epoch, number, wall, own_step, kind)
        self._values(shape, tokens, row, group, rank, where, own_step or own_epoch)
        self._count(shape, number)

    def _values(
        self,
        shape: Shape,
        tokens: tuple[bytes, ...],
        row: int,
        group: str,
        rank: int | None,
        where: Where,
        own: bool,
    ) -> None:
        megatron = "megatron" in shape.flags
        unreported = megatron and any(
            m.canonical == "loss_scale" and to_float(tokens[m.slot]) == -1.0 for m in shape.metrics
        )
        has_loss = False
        for metric in shape.metrics:
            if not own and where.split and not metric.split and metric.canonical.startswith("train/"):
                metric = _as_split(metric, where.split)
            if unreported and metric.canonical in ("loss_scale", "grad_norm"):
                continue
            if metric.canonical == "skipped":
                self._skip(metric, tokens, row, group, rank, shape, megatron)
                continue
            has_loss = has_loss or metric.canonical == "train/loss"
            self._put(metric, tokens, row, group, rank)
        if "overflow-true" in shape.flags or "overflow-false" in shape.flags:
            self._overflow_cond(shape, tokens, row, group, rank)
        if (
            megatron
            and not has_loss
            and any(m.canonical in ("loss_scale", "learning_rate") for m in shape.metrics)
        ):
            self._lack_loss(row, group, rank)

    def _put(self, metric: Metric, tokens: tuple[bytes, ...], row: int, group: str, rank: int | None) -> None:
        value = to_float(tokens[metric.slot])
        if value is None or self._points >= MAX_POINTS:
            return
        if metric.percent:
            value /= 100.0
        elif metric.whole is not None:
            whole = to_float(tokens[metric.whole])
            if whole and value <= whole:
                value /= whole
        self._points += 1
        key: Key = (metric.raw, metric.split, group, rank)
        if metric.canonical == "train/loss":
            self._loss_rows.setdefault(rank, key)
        self.columns.put(key, row, value)

    def _skip(
        self,
        metric: Metric,
        tokens: tuple[bytes, ...],
        row: int,
        group: str,
        rank: int | None,
        shape: Shape,
        megatron: bool,
    ) -> None:
        """Skipped steps: Megatron counts those since its last line, DeepSpeed all since the start."""
        value = to_float(tokens[metric.slot])
        if value is None:
            return
        if not megatron:
            before = self._skipped.get(rank, 0.0)
            self._skipped[rank] = value
            value = value - before if value >= before else value
        self.columns.put((metric.raw, metric.split, group, rank), row, value)
        if value > 0:
            text = f"{value:g} steps skipped since the line before"
            line, step = self.columns.lines[row], _known(self.columns.steps[row])
            event = Event("skipped-step", self.file, line, step, value, rank, text)
            self.events.add(event, row + 1, once=False)

    def _overflow_cond(
        self, shape: Shape, tokens: tuple[bytes, ...], row: int, group: str, rank: int | None
    ) -> None:
        happened = "overflow-true" in shape.flags
        self.columns.put(("overflow cond", "", group, rank), row, float(happened))
        if happened:
            scale = next(
                (to_float(tokens[m.slot]) for m in shape.metrics if m.canonical == "loss_scale"), None
            )
            event = Event(
                "overflow",
                self.file,
                self.columns.lines[row],
                None,
                scale,
                rank,
                "overflow cond: True",
                "mindspore",
            )
            self.events.add(event, row + 1, once=False)

    def _lack_loss(self, row: int, group: str, rank: int | None) -> None:
        """Megatron leaves the loss out where its average is not above zero (so also where it is NaN)."""
        self.columns.lack(self._loss_rows.get(rank, ("lm loss", "", group, rank)), row)

    def _count(self, shape: Shape, number: int) -> None:
        if self._first_metric_line is None:
            self._first_metric_line = number
        for flag in shape.flags:
            self.families[flag] += 1
        if not shape.flags:
            self.families[""] += 1

    # ----------------------------------------------------------------------------------- events

    def _event(self, rule: events.Rule, raw: bytes, number: int, rank: int | None) -> events.Rule | None:
        text = raw.decode("utf-8", "replace")
        match = rule.pattern.search(text[:4000])
        if match is None:
            found = events.match_rule(text[:4000])
            if found is None:
                return None
            rule, match = found
        said = events.shorten(text)
        row = len(self.columns.steps)
        value = events.number_of(match, "value")
        own = events.number_of(match, "step")
        named = events.number_of(match, "rank")
        rank = rank if rank is not None or named is None else int(named)
        data = match.groupdict().get("data") or rule.data
        if rule.kind == "resume" and value is None:
            value = own
        if rule.nan:
            row = self._nan_point(match, own, number, rank) + 1
        event = Event(rule.kind, self.file, number, None, value, rank, said, data)
        if rule.kind == "overflow" and rule.data.startswith("deepspeed"):
            old = events.number_of(match, "old")
            event = replace(event, value=value if value is not None else old)
            self.events.overflow(event, row, f"{old}>{value}>{match.group(0)[-20:]}")
            self.families["deepspeed"] += 1
        else:
            if rule.kind == "resume" and own is not None:
                event = replace(event, step=own)
            self.events.add(event, row, once=rule.once, own_step=event.step is not None)
        return rule

    def _nan_point(self, match: object, step: float | None, number: int, rank: int | None) -> int:
        """The loss that the framework found to be no number: a point of the loss curve. Returns its row."""
        import re

        assert isinstance(match, re.Match)
        where = self.places.setdefault(rank, Where())
        epoch = events.number_of(match, "epoch")
        key = self._loss_key(rank)
        placed = step if step is not None and key[2] == "step" else where.step
        at = epoch if epoch is not None else where.epoch
        if key[2] == "epoch":
            placed = NAN
        row = self.columns.row(placed, where.total, at, number, NAN, True, where.kind)
        self.columns.put(key, row, NAN)
        return row

    def _loss_key(self, rank: int | None) -> Key:
        found = [
            k for k in self.columns.points if k[3] == rank and names.canonical(k[0], k[1]) == "train/loss"
        ]
        if found:
            return max(found, key=lambda k: len(self.columns.points[k].rows))
        return ("loss", "", "step", rank)

    def _in_traceback(self, number: int, raw: bytes, rank: int | None) -> bool:
        """Look for the end of a traceback; True for a line that is part of it and nothing else."""
        assert self._traceback is not None
        far = number - self._traceback
        text = raw.decode("utf-8", "replace")
        if (
            not text.strip()
            or text[0] in " \t"
            or text.startswith(("Traceback", "During handling", "The above"))
        ):
            if far > 400:
                self._traceback = None
            return bool(text.strip()) and text[0] in " \t"
        found = events.exception_of(text)
        if found is None:
            if far > 60:
                self._traceback = None
            return False
        self._traceback = None
        event = Event("traceback", self.file, number, None, None, rank, events.shorten(found[1]), found[0])
        self.events.add(event, len(self.columns.steps), once=True)
        return False

    # --------------------------------------------------------------------------------- settings

    def _read_settings(self, text: str, number: int) -> bool:
        """Take the settings out of a line; returns whether there were any."""
        found = arguments.dotted(text)
        if found:
            return self._set(found[0], arguments.scalar(found[1]), number, arguments.DUMP)
        any_found = False
        if "(" in text or "{" in text:
            for key, value in arguments.dumps(text):
                any_found = self._set(key, value, number, arguments.BANNER) or any_found
        if any_found:
            return True
        if " -" in text or "=" in text:
            for key, value in arguments.commands(text):
                any_found = self._set(key, value, number, arguments.COMMAND) or any_found
        if not any_found and self._first_metric_line is None and len(text) < 400:
            body = _without_prefix(text)
            found = arguments.banner(body)
            if found:
                return self._set(found[0], arguments.scalar(found[1]), number, arguments.BANNER)
        return any_found

    def _set(self, key: str, value: arguments.Value, number: int, trust: int) -> bool:
        if len(self.settings) < arguments.MAX_SETTINGS and 0 < len(key) <= 120:
            made = arguments.setting(key, value, self.file, number, trust)
            self.settings[(made.key, str(trust))] = made
        return True

    # ----------------------------------------------------------------------------------- result

    def content(self) -> FileContent:
        """Put everything together."""
        self._drop_unplaced()
        family = self._family()
        window = _WINDOWS.get(family, "unknown")
        series = self.columns.series(
            self.file, {"step": window, "epoch": "epoch-mean" if family == "keras" else "unknown"}
        )
        series = tuple(s for s in series if len(s.values) or len(s.absent))
        found = tuple(self._placed(f) for f in self.events.found)
        series, hidden = self._unmask(series)
        if self.events.dropped:
            self.notes[f"{self.events.dropped} further events were not kept"] = None
        if self._points >= MAX_POINTS:
            self.notes[f"only the first {MAX_POINTS} values were kept"] = None
        if family == "fairseq":
            self.notes["fairseq prints losses in bits (base 2)"] = None
            self.facts["loss_base"] = 2
        if family == "hf":
            self.facts.setdefault("trainer", "transformers")
        if family in _FRAMEWORKS:
            self.facts.setdefault("framework", _FRAMEWORKS[family])
        self.notes.update(self.columns.notes)
        settings = tuple(self.settings.values())
        name = "text-" + _NAMED.get(family, family)
        return FileContent(name, series, settings, found + hidden, dict(self.facts), tuple(self.notes))

    def _family(self) -> str:
        counts = Counter(
            {
                f: c
                for f, c in self.families.items()
                if f not in ("overflow-true", "overflow-false", "keras-like", "detection")
            }
        )
        if not counts:
            return "keras" if self.families["keras-like"] else ""
        for special in (
            "mindformers",
            "megatron",
            "fairseq",
            "hf",
            "nemo",
            "detectron2",
            "mindyolo",
            "paddle",
            "keras",
        ):
            if counts[special] and counts[special] >= 0.3 * max(counts.values()):
                return special
        return counts.most_common(1)[0][0]

    def _drop_unplaced(self) -> None:
        placed = sum(len(c.rows) for k, c in self.columns.points.items() if k[2] != "row")
        loose = sum(len(c.rows) for k, c in self.columns.points.items() if k[2] == "row")
        if placed and loose <= max(20, 3 * placed):
            self.columns.drop_rows_before(len(self.columns.steps))

    def _placed(self, found: events.Found) -> Event:
        if found.own_step:
            return found.event
        early = found.event.kind in ("overflow", "skipped-step", "loss-scale", "overflow-ignored")
        return replace(found.event, step=self.columns.step_at(found.row, found.event.rank, early=early))

    def _unmask(self, series: tuple[Series, ...]) -> tuple[tuple[Series, ...], tuple[Event, ...]]:
        """Undo the Trainer's zero for NaN: loss 0.0 on a row whose gradient norm is no number."""
        if not self.families["hf"]:
            return series, ()
        out, found = [], []
        for one in series:
            if one.raw != "loss" or one.lines is None or not len(one):
                out.append(one)
                continue
            import numpy as np

            norm = next((s for s in series if s.raw == "grad_norm" and s.rank == one.rank), None)
            beside = None
            if norm is not None and norm.lines is not None:
                by_line = dict(zip(norm.lines.tolist(), norm.values.tolist(), strict=True))
                beside = np.array([by_line.get(n, 0.0) for n in one.lines.tolist()])
            hidden = masked(one.values, beside)
            if not hidden.any():
                out.append(one)
                continue
            out.append(replace(one, values=np.where(hidden, NAN, one.values), masked=hidden))
            first = int(np.flatnonzero(hidden)[0])
            text = f"loss printed as 0.0 on {int(hidden.sum())} rows where it is no number"
            found.append(
                Event(
                    "masked-nan",
                    self.file,
                    int(one.lines[first]),
                    float(one.steps[first]),
                    None,
                    one.rank,
                    text,
                )
            )
        return tuple(out), tuple(found)


def _place(shape: Shape, tokens: Sequence[bytes]) -> tuple[float, float, float]:
    """Return (step, total, epoch) of a line; NaN where it does not say."""
    step = total = epoch = NAN
    if shape.step is not None:
        found = to_float(tokens[shape.step])
        step = NAN if found is None else found
        if shape.total is not None:
            found = to_float(tokens[shape.total])
            total = NAN if found is None else found
    if shape.epoch is not None:
        found = to_float(tokens[shape.epoch])
        epoch = NAN if found is None else found
    return step, total, epoch


def _as_split(metric: Metric, split: str) -> Metric:
    if split == "test":
        return replace(
            metric, raw=f"Test {metric.raw}", canonical="test/" + metric.canonical.partition("/")[2]
        )
    which: Split = "train" if split == "train" else "eval"
    return replace(metric, split=which)


def _known(value: float) -> float | None:
    return value if value == value else None


def _without_prefix(text: str) -> str:
    from .shape import PREFIX

    data = text.encode("utf-8", "replace")
    match = PREFIX.match(data)
    return data[match.end() :].decode("utf-8", "replace") if match else text
