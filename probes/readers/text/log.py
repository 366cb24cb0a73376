"""Reads a log line by line: what each line adds, given the lines before it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import groupby

import numpy as np

from ....engine.model import Scalar
from ...run import Event, FileContent, Series, Setting, Window
from ...settings import canonical_key
from .._rows import masked
from . import arguments, blocks, counts, environment, events, families, first_weights, phrases, sizes
from .alike import LAYOUT, Mark, Stretch, lines_in
from .analysis import analyse
from .columns import NAN
from .lines import CHUNK, Lines
from .listed import listed
from .rows import MAX_POINTS, Line, Rows
from .shape import DELETE, Shape
from .sieve import Sieve
from .stamps import without_prefix
from .table import Table, header, heading, is_rule

MAX_SHAPES = 40_000
MAX_ALIKE = 12
LONG_TEXT = 8192
MANY = 16  # lines of one shape in a row from which they are read together,
FEW = 4  # after a look at so many of them
RECENT = 64 * 1024  # bytes before a line in which lines like it are looked for
# the head of Ultralytics' evaluation, on a line with a bar: "mAP@.5:.95: 100% 9/9" is no value of a metric
_EVALUATED = re.compile(rb"\s*Class\s+Images\s+\w+\s+\S.*mAP").match
_ASIDE = (b"Exception ignored in", b"Exception in thread")
_ZERO = re.compile(r"(?<![\w.])0(?![\w.])")
_END = re.compile(rb"\d*([.eE+-]\d*|)$")  # the last number of a line: what comes after its point
# Before the first row these are placed at that row: they tell of its beginning.
_EARLY = frozenset({"overflow", "skipped-step", "loss-scale", "overflow-ignored"})


@dataclass(slots=True)
class Entry:
    """What is known of all lines of one shape."""

    shapes: list[Shape] = field(default_factory=list)
    rule: phrases.Rule | None = None
    setting: bool = False

    @property
    def metrics(self) -> bool:
        """Whether such lines hold metrics."""
        return any(s.metrics for s in self.shapes)


_UNKNOWN = Entry()


class Log:
    """Reads one log: `feed` the lines, then `content` gives the result."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.rows = Rows(file)
        self.settings: dict[tuple[str, int], Setting] = {}
        self.facts: dict[str, Scalar] = {}
        self.notes: dict[str, None] = {}
        self._entries: dict[bytes, Entry | None] = {}
        self._sieve = Sieve()
        self._traceback: int | None = None
        self._aside = -1  # the line that says that the traceback below it ended nothing
        self._block: blocks.Block | None = None
        self._table: Table | None = None
        self._over = (-1, "")  # the last line that is only the name of a data set, and which
        self._outer: Table | None = None
        self._echo = -1  # the line that says again what an earlier one said
        self._held: list[Line] = []  # the lines of the block so far
        self._no_blocks = False

    # ------------------------------------------------------------------------------------ lines

    def feed(self, lines: Lines, watch: Callable[[float], None] | None = None) -> None:
        """Read all lines; `watch` is told the share that is done."""
        tail = lines.take_tail()
        if lines.simple:
            size, done, number = max(1, len(lines.data)), 0, 1
            for part in lines.chunks():
                if watch:
                    watch(done / size)
                    done += CHUNK
                number = self._feed_simple(number, part, lines)
        else:
            self._feed_each(lines)
        self._last(lines, tail)
        self._end_block()
        self.rows.finish()
        self.notes.update(dict.fromkeys(lines.notes))
        if len(lines.workers) > 1:
            self.notes["worker processes are numbered in the order in which they appear"] = None

    def _last(self, lines: Lines, tail: bytes) -> None:
        """Read the last line, which has no end; where others show that it is cut off, leave it out."""
        if not tail:
            return
        number = lines.count + 1
        text, rank = lines.untag(tail)
        before = (lines.untag(raw)[0] for raw in lines.recent(RECENT))
        if not self._inside and self._is_cut(text, list(before)):
            self.notes[f"the last line ({number}) is incomplete and left out"] = None
        else:
            self._feed_each([(number, text, rank, False)])

    def _is_cut(self, text: bytes, before: list[bytes]) -> bool:
        """Whether a line is the beginning of a kind of row, or ends in fewer digits than all like it."""
        key = text.translate(None, DELETE)
        if not text.strip():
            return False
        if key not in self._entries:
            rows = (k for k, e in self._entries.items() if e is not None and e.metrics)
            return any(k.startswith(key) for k in rows)
        digits = [_decimals(line) for line in before if line.translate(None, DELETE) == key]
        return len(digits) >= 3 and len(set(digits)) == 1 and _decimals(text) < digits[0]

    def _feed_simple(self, number: int, part: bytes, lines: Lines) -> int:
        """Read lines that are one text each, those of one shape together; return the next number.

        Lines that are known to say nothing are passed over, also between lines of one shape.
        """
        start, key = 0, b""
        alike: list[Stretch] = []
        data = part + b"\n"
        known: dict[bytes, tuple[Mark | None, bytes | None]] = {}
        for layout, same in groupby(part.translate(LAYOUT).split(b"\n")):
            count = len(list(same))
            found = known.get(layout)
            if found is None:
                found = known.setdefault(layout, _of_layout(layout, lines))
            mark, layout_key = found
            stretch = Stretch(layout, count, start, number, mark)
            start, number = start + count * (len(layout) + 1), number + count
            if layout_key is None:  # processes are numbered in the order in which they appear
                self._feed_alike(key, data, alike, lines)
                self._feed_lines(data, [stretch], lines)
                alike = []
                continue
            if alike and layout_key == key:
                alike.append(stretch)
                continue
            if self._says_nothing(layout_key) and (not alike or key in self._entries):
                continue
            self._feed_alike(key, data, alike, lines)
            if self._passed_over(layout_key, data, stretch):
                alike = []
                continue
            alike, key = [stretch], layout_key
        self._feed_alike(key, data, alike, lines)
        return number

    def _says_nothing(self, key: bytes) -> bool:
        return not self._inside and self._entries.get(key, _UNKNOWN) is None

    def _passed_over(self, key: bytes, data: bytes, stretch: Stretch) -> bool:
        """Whether a line is one of very many shapes that is not looked at; asked here as well, for speed."""
        if not self._sieve.full or self._inside or stretch.lines > 1 or key in self._entries:
            return False
        return not self._sieve.takes(key, data[stretch.start : stretch.start + len(stretch.layout)])

    def _feed_alike(self, key: bytes, data: bytes, alike: list[Stretch], lines: Lines) -> None:
        """Read lines of one shape: column by column if they are many, else one by one."""
        if not alike:
            return
        if sum(s.lines for s in alike) >= MANY:
            if self._together(key, data, alike):
                return
            first, alike = _parted(alike, FEW)
            self._feed_lines(data, first, lines)
            if not alike or self._together(key, data, alike):
                return
        self._feed_lines(data, alike, lines)

    def _feed_lines(self, data: bytes, stretches: list[Stretch], lines: Lines) -> None:
        numbers = (n for s in stretches for n in range(s.number, s.number + s.lines))
        texts = map(lines.untag, lines_in(data, stretches))
        self._feed_each((n, text, rank, False) for n, (text, rank) in zip(numbers, texts, strict=True))

    def _together(self, key: bytes, data: bytes, alike: list[Stretch]) -> bool:
        """Read lines of one shape column by column; False where they need a look at each."""
        entry = self._entries.get(key)
        if entry is None:
            return self._says_nothing(key)
        if entry.rule is not None or len(entry.shapes) != 1 or self._inside:
            return False
        return self.rows.take_many(entry.shapes[0], data, alike)

    @property
    def _inside(self) -> bool:
        """Whether a traceback, a configuration or a table has begun."""
        return self._traceback is not None or self._block is not None or self._table is not None

    def _feed_each(self, lines: Iterable[tuple[int, bytes, int | None, bool]]) -> None:
        entries = self._entries
        for number, raw, rank, passing in lines:
            if self._inside and self._goes_on(Line(number, raw, rank, passing)):
                continue
            key = raw.translate(None, DELETE)
            try:
                entry = entries[key]
            except KeyError:
                if not self._sieve.takes(key, raw):
                    continue
                entry = self._learn(key, raw, number)
            if entry is not None:
                self._line(entry, Line(number, raw, rank, passing))

    def _again(self, lines: list[Line]) -> None:
        """Read lines that were taken for a configuration and are none."""
        self._no_blocks = True
        for line in lines:
            if self._goes_on(line):
                continue
            key = line.raw.translate(None, DELETE)
            entry = self._entries[key] if key in self._entries else self._learn(key, line.raw, line.number)
            if entry is not None:
                self._line(entry, line)
        self._no_blocks = False

    def _learn(self, key: bytes, raw: bytes, number: int) -> Entry | None:
        """Look at the first line of a shape; None when lines like it say nothing."""
        if len(self._entries) > MAX_SHAPES:
            self._entries.clear()
        if raw.startswith(_ASIDE):
            self._aside = number
            return None
        if b"Traceback (most recent call last)" in raw[:400]:
            self._traceback = number
            return None
        if b"best iteration is" in raw[:80] or raw.rstrip().endswith(b"Best iteration:"):
            # LightGBM, XGBoost: the next line is the row of that iteration again
            self._echo = number + 1
            return None
        if self.rows.first_line is None and first_weights.tells(_text(raw)):
            return None  # read apart; its "l2" is no setting
        shape = None if arguments.listing(_text(raw)) else analyse(raw)
        telling = shape is not None and bool(shape.metrics) and (shape.strong or shape.placed)
        if (not telling or _EVALUATED(raw)) and self._begins_something(raw, number):
            return None
        text = _text(raw)
        entry = Entry([] if shape is None else [shape], _rule(raw, text, shape))
        if entry.rule is not None and entry.rule.kind in ("overflow", "loss-scale") and shape is not None:
            if all(m.canonical == "loss_scale" for m in shape.metrics):
                entry.shapes.clear()  # the event holds the scale
        if not telling:
            whole = text if len(raw) < LONG_TEXT else raw.decode("utf-8", "replace")
            entry.setting = self._read_settings(whole, number)
            environment.look(text, self.facts)
            counts.look(text, self.facts)
            sizes.look(text, self.facts)
            if (loaded := sizes.checkpoint(text)) is not None:
                self._set("loaded_checkpoint_file", loaded, number, arguments.BANNER)
            if (tokens := sizes.tokens(text)) is not None:
                self._set("tokenizer_vocab_size", tokens, number, arguments.BANNER)
            if (rows := sizes.resized(text)) is not None:
                self._set("embedding_rows_resized", rows, number, arguments.BANNER)
            if (size := sizes.documents(text)) is not None and self.rows.first_line is None:
                self._set("dataset_version", size, number, arguments.BANNER)
            told = any(key.startswith("class_counts.") for key, _ in self.settings)
            if not told and self.rows.first_line is None:  # behind rows: of batches, or said once more
                for name, samples in sizes.classes(whole):
                    self._set(f"class_counts.{name}", samples, number, arguments.BANNER)
        sizes.epochs(text, self.facts)
        known = entry if entry.shapes or entry.rule or entry.setting else None
        self._entries[key] = known
        return known

    def _line(self, entry: Entry, line: Line) -> None:
        if line.number == self._echo:
            return
        rule = entry.rule
        if rule is not None and (rule.nan or not entry.metrics):
            self._event(rule, line)
            return
        if entry.shapes:
            if entry.shapes[0].header_split:
                self._over = (line.number, heading(without_prefix(_text(line.raw))))
            before = len(self.rows.columns)
            self._shaped(entry, line)
            if rule is not None and rule.data == "printed" and len(self.rows.columns) > before:
                return  # a row of the curve that happens to hold NaN
        elif entry.setting and self.rows.first_line is None:
            self._read_settings(_text(line.raw), line.number)
        if rule is not None:
            self._event(rule, line)

    def _shaped(self, entry: Entry, line: Line) -> None:
        for shape in entry.shapes:
            tokens = shape.tokens(line.raw)
            if tokens is not None:
                self.rows.take(shape, tokens, line)
                return
        fresh = analyse(line.raw)
        if fresh is None:
            return
        if len(entry.shapes) < MAX_ALIKE:
            entry.shapes.append(fresh)
            entry.shapes.sort(key=lambda s: -len(s.needed))  # known by their texts up to what they need
        tokens = fresh.tokens(line.raw)
        if tokens is not None:
            self.rows.take(fresh, tokens, line)

    # -------------------------------------------------------------------- what takes several lines

    def _begins_something(self, raw: bytes, number: int) -> bool:
        """A configuration of many lines, or the head of a table."""
        first = None if self._no_blocks else blocks.begins(raw)
        if first is not None:
            self._held = []
            self._block = blocks.Block(first, number)
            return True
        if self.rows.first_line is None and not self._no_blocks:
            self._block = blocks.section(raw, number)
            if self._block is not None:
                self._held = []
                return True
        table = header(without_prefix(_text(raw))) if len(raw) < 1000 else None
        if table is not None:
            self._outer = self._table if table.within else None  # its head may not come again
            self._table = table
            if self._over[0] == number - 1:
                table.side = self._over[1]
        return table is not None

    def _goes_on(self, line: Line) -> bool:
        """Say whether a line belongs to what has begun before it: a traceback, a configuration, a table."""
        if self._traceback is not None and self._in_traceback(line):
            return True
        if self._block is not None:
            if self._block.takes(line.raw):
                self._held.append(line)
                return True
            self._end_block()
        return self._table is not None and self._in_table(self._table, line)

    def _in_traceback(self, line: Line) -> bool:
        """Look for the end of a traceback; True for a line that is part of it and nothing else."""
        far = line.number - (self._traceback or 0)
        text = _text(line.raw)
        if (
            not text.strip()
            or text[0] in " \t"
            or text.startswith(("Traceback", "During handling", "The above"))
        ):
            if far > 400:
                self._traceback = None
            return bool(text.strip()) and text[0] in " \t"
        found = events.exception_of(text)
        if found is not None or far > 60:
            self._traceback = None
        if found is not None and self._aside != line.number - far - 1:
            event = Event(
                "traceback", self.file, line.number, None, None, line.rank, events.shorten(found[1]), found[0]
            )
            self.rows.events.add(event, len(self.rows.columns), once=True)
        return False

    def _in_table(self, table: Table, line: Line) -> bool:
        """Read a row of the table that has begun; False for lines that are none."""
        text = without_prefix(_text(line.raw)) if len(line.raw) < 2000 else ""
        if is_rule(text):
            return True
        cells = table.cells(text)
        if cells is None:
            table.skipped += 1
            if table.skipped > 40:
                self._table = None
            return False
        table.skipped = 0
        if not line.passing:
            places, metrics = table.row(cells)
            step = places.get("step", places.get("iteration", NAN))
            kind = "iteration" if "iteration" in places else "step"
            self.rows.put_table(metrics, step, places.get("epoch", NAN), kind, line)
        if table.within and self._outer is not None:
            self._table, self._outer = self._outer, None
        return True

    def _end_block(self) -> None:
        block, self._block = self._block, None
        if block is None:
            return
        held, self._held = self._held, []
        found = list(block.settings())
        if not any(canonical_key(key) for key, _, _ in found) or blocks.is_measured(found):
            found = []
        for key, value, line in found:
            self._set(key, value, line, arguments.DUMP)
        if not found:
            self._again(held)

    # ----------------------------------------------------------------------------------- events

    def _event(self, rule: phrases.Rule, line: Line) -> None:
        text = line.raw[:4000].decode("utf-8", "replace")
        match = rule.pattern.search(text)
        if match is None:
            found = phrases.match_rule(text)
            if found is None:
                return
            rule, match = found
        if phrases.denied(rule, match, text):
            return
        value, own = phrases.number_of(match, "value"), phrases.number_of(match, "step")
        if rule.kind == "resume" and own == 0 and not self.rows.columns:
            return  # a start from the beginning, said in the same words
        named = phrases.number_of(match, "rank")
        rank = line.rank if line.rank is not None or named is None else int(named)
        event = Event(
            rule.kind,
            self.file,
            line.number,
            None,
            value if value is not None or rule.kind != "resume" else own,
            rank,
            events.shorten(text),
            match.groupdict().get("data") or rule.data,
        )
        row = len(self.rows.columns)
        if rule.nan:
            row = self.rows.nan_loss(own, phrases.number_of(match, "epoch"), line) + 1
        if rule.data.startswith("deepspeed"):
            self._deepspeed(event, row, events.Words(own, phrases.number_of(match, "old"), value))
            return
        if rule.kind == "resume" and own is not None:
            event = replace(event, step=own)
        self.rows.events.add(event, row, once=rule.once, own_step=event.step is not None)

    def _deepspeed(self, event: Event, row: int, words: events.Words) -> None:
        """A line that DeepSpeed prints on an overflow; a reduced hysteresis leaves the scale as it is."""
        self.rows.families["deepspeed"] += 1
        if event.kind == "loss-scale":
            self.rows.events.scale(words.old, words.new)
            return
        value = words.new if words.new is not None or words.step is not None else words.old
        placed = replace(event, step=words.step, value=value)
        self.rows.events.overflow(placed, row, words, own_step=words.step is not None)

    # --------------------------------------------------------------------------------- settings

    def _read_settings(self, text: str, number: int) -> bool:
        """Take the settings out of a line; returns whether there were any."""
        message = without_prefix(text)
        found = arguments.dotted(text) or arguments.dotted(message) or arguments.of_marian(message)
        if found:
            return self._set(found[0], arguments.scalar(found[1]), number, arguments.DUMP)
        several = [(k, v, arguments.DUMP) for k, v in arguments.listing(text)]
        if not several and ("(" in text or "{" in text):
            several += [(k, v, arguments.BANNER) for k, v in arguments.dumps(text)]
        if not several and (" -" in text or "=" in text):
            several += [(k, v, arguments.COMMAND) for k, v in arguments.commands(text)]
        for key, value, trust in several:
            self._set(key, value, number, trust)
        if several or self.rows.first_line is not None or len(text) > 400:
            return bool(several)
        several = [(k, v, arguments.BANNER) for k, v in listed(without_prefix(text))]
        for key, value, trust in several:
            self._set(key, value, number, trust)
        if several:
            return True
        for key, word in arguments.assigned(without_prefix(text)):
            several.append((key, word, arguments.BANNER))
            self._set(key, word, number, arguments.BANNER)
        if several:
            return True
        found = arguments.banner(without_prefix(text))
        return found is not None and self._set(found[0], arguments.scalar(found[1]), number, arguments.BANNER)

    def _set(self, key: str, value: arguments.Value, number: int, trust: int) -> bool:
        if key.startswith("sys."):
            return True  # mmengine's report of the machine: "sys.platform: linux" is no device
        if len(self.settings) < arguments.MAX_SETTINGS and 0 < len(key) <= 120:
            made = arguments.setting(key, value, self.file, number, trust)
            self.settings[(made.key, trust)] = made
        return True

    # ----------------------------------------------------------------------------------- result

    def content(self) -> FileContent:
        """Put everything together."""
        family = families.most(self.rows.families)
        windows: dict[str, Window] = {"step": families.WINDOWS.get(family, "unknown")}
        if family in ("keras", "fairseq"):
            windows["epoch"] = "epoch-mean"
        series = self.rows.columns.series(self.file, windows)
        series, hidden = self._unmask(tuple(s for s in series if len(s.values) or len(s.absent)))
        found = tuple(self._placed(f) for f in self.rows.events.found)
        self._describe(family)
        return FileContent(
            "text-" + families.NAMED.get(family, family),
            series,
            tuple(self.settings.values()),
            found + hidden,
            dict(self.facts),
            tuple(self.notes),
        )

    def _describe(self, family: str) -> None:
        if self.rows.events.dropped:
            self.notes[f"{self.rows.events.dropped} further events were not kept"] = None
        if self._sieve.passed:
            self.notes[self._sieve.note] = None
        if self.rows.points >= MAX_POINTS:
            self.notes[f"only the first {MAX_POINTS} values were kept"] = None
        if family == "fairseq":
            self.notes["fairseq prints losses in bits (base 2)"] = None
            self.facts["loss_base"] = 2
        if family == "hf":
            self.facts.setdefault("trainer", "transformers")
        if family == "keras" and self.rows.families["keras-2"]:
            self.facts.setdefault("framework", "tensorflow")
        if family in families.FRAMEWORKS:
            self.facts.setdefault("framework", families.FRAMEWORKS[family])
        self.notes.update(self.rows.columns.notes)

    def _placed(self, found: events.Found) -> Event:
        if found.own_step:
            return found.event
        early = found.event.kind in _EARLY
        return replace(found.event, step=self.rows.columns.step_at(found.row, found.event.rank, early=early))

    def _unmask(self, series: tuple[Series, ...]) -> tuple[tuple[Series, ...], tuple[Event, ...]]:
        """Undo the Trainer's zero for NaN: loss 0.0 on a row whose gradient norm is no number."""
        if not self.rows.families["hf"]:
            return series, ()
        out, found = [], []
        for one in series:
            shown = _shown(one, series) if one.raw == "loss" else one
            out.append(shown)
            if shown.masked is not None and shown.lines is not None:
                first = int(np.flatnonzero(shown.masked)[0])
                text = f"the loss is printed as 0.0 on {int(shown.masked.sum())} rows where it is no number"
                step, line = float(shown.steps[first]), int(shown.lines[first])
                found.append(Event("masked-nan", self.file, line, step, None, one.rank, text))
        return tuple(out), tuple(found)


def _shown(loss: Series, series: tuple[Series, ...]) -> Series:
    """The loss with its hidden NaNs shown."""
    norm = next((s for s in series if s.raw == "grad_norm" and s.rank == loss.rank), None)
    beside = None
    if norm is not None and norm.lines is not None and loss.lines is not None:
        by_line = dict(zip(norm.lines.tolist(), norm.values.tolist(), strict=True))
        beside = np.array([by_line.get(n, 0.0) for n in loss.lines.tolist()])
    hidden = masked(loss.values, beside)
    if not hidden.any():
        return loss
    return replace(loss, values=np.where(hidden, NAN, loss.values), masked=hidden)


def _rule(raw: bytes, text: str, shape: Shape | None) -> phrases.Rule | None:
    found = phrases.match_rule(text[:4000]) if phrases.HINT.search(raw[:LONG_TEXT]) else None
    if found is None and (shape is None or not shape.metrics) and _ZERO.search(text):
        # "double bit errors: 0" says nothing, and a later line of this shape may count some
        told = _ZERO.sub("1", text[:4000])
        found = phrases.match_rule(told) if phrases.HINT.search(told.encode()) else None
    if found is None or (shape is not None and shape.metrics and found[0].kind not in phrases.ON_ROWS):
        return None
    return found[0]


def _of_layout(layout: bytes, lines: Lines) -> tuple[Mark | None, bytes | None]:
    """Where lines of a layout name their rank, and their shape's key; None where they name a process."""
    try:
        mark = lines.mark(layout)
    except KeyError:
        return None, None
    return mark, (layout if mark is None else mark.without(layout)).translate(None, DELETE)


def _parted(alike: list[Stretch], few: int) -> tuple[list[Stretch], list[Stretch]]:
    """The first few of the lines, and the others."""
    first, left = [], []
    for one in alike:
        taken = min(one.lines, few)
        few -= taken
        if taken:
            first.append(one._replace(lines=taken))
        if taken < one.lines:
            start = one.start + taken * (len(one.layout) + 1)
            left.append(one._replace(lines=one.lines - taken, start=start, number=one.number + taken))
    return first, left


def _decimals(line: bytes) -> int:
    """How many characters the last number of a line has from its point or exponent on."""
    end = _END.search(line[-60:].rstrip())
    return len(end.group(1)) if end else 0


def _text(raw: bytes) -> str:
    return raw[:LONG_TEXT].decode("utf-8", "replace")
