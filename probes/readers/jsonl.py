"""JSON lines: one object with named numbers per line, as many training scripts and frameworks write it.

Known dialects (detectron2, mmcv, mmengine, LLaMA-Factory) say what their steps and values mean; everything
else is read by the names of its keys.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, groupby, pairwise
from typing import Any

import numpy as np

from ...engine.model import Scalar
from ..assembly import names
from ..files import RunFile
from ..run import Event, EventKind, FileContent, Series, Setting, StepUnit, Window
from . import Gives
from ._rows import Axes, Axis, Rows, masked, masked_event
from ._values import (
    CONFIG_PARTS,
    MAX_LEAVES,
    SPLIT_KEYS,
    flatten,
    is_clock,
    is_loss,
    is_metric,
    is_wall,
    limited,
    number,
    plain,
    setting_value,
    settings_kept,
    split_of,
    step_kind,
)

FORMAT = "json-lines"
GIVES = Gives(
    title="JSON lines",
    files=(
        "`*.jsonl`, `metrics.json`, `log.txt`: detectron2, mmcv, mmengine, LLaMA-Factory, fairseq, "
        "timm, nanochat, own scripts"
    ),
    lacks="What a row leaves out; a window over which values were averaged, unless the dialect is known.",
    scalars="yes",
    steps="some",
    epochs="some",
    walls="some",
    lines="yes",
    settings="some",
    environment="some",
    ranks="some",
    restarts="some",
)
LOOK = 25  # lines that detection looks at
ENOUGH = 0.6  # this share of them must be rows of metrics
MAX_LINE = 4 * 1024**2
LONGEST_KEY = 200
MANY = 8  # rows alike from which it pays to take them column by column
_PLAIN = frozenset({int, float})
_EVENT_KEYS = ("event", "event_type", "message", "msg", "warning", "status")
_NAME_KEYS = ("metric", "name", "tag", "key", "scalar", "metric_name")
_SAMPLE_KEYS = frozenset({"id", "idx", "index", "sample", "sample_id", "text", "prompt", "label", "image"})
_RANK_KEYS = ("rank", "global_rank", "process_index", "local_rank")
_EVENT_WORDS: tuple[tuple[str, EventKind], ...] = (
    (r"still update", "overflow-ignored"),
    (r"scale .{0,30}(?:minimum|floor)", "scale-at-minimum"),
    (r"overflow|found_?inf", "overflow"),
    (r"skip\w*[ _-](?:step|update|batch|iter)|(?:step|update)s?[ _-]skipped", "skipped-step"),
    (r"(?:loss|output)\w*[ _](?:is |was |became )?(?:nan|inf|not finite)", "non-finite-loss"),
    (r"nan[ _-]?loss|non.?finite", "non-finite-loss"),
    (r"out of memory|\boom\b", "out-of-memory"),
    (r"loss[ _-]?scale", "loss-scale"),
    (r"resum(?:e|ed|ing)\b", "resume"),
    (r"\brestart", "restart"),
)
_EVENTS = tuple((re.compile(pattern, re.IGNORECASE), kind) for pattern, kind in _EVENT_WORDS)


def sniff(file: RunFile) -> bool:
    """Say whether most of the first lines are objects that hold a step or a metric."""
    head = file.head_text
    start = head.lstrip("\ufeff \t\r\n")
    if not start.startswith("{"):
        start = _after_banner(start) if file.suffix in (".jsonl", ".ndjson") else ""
    if not start:
        return False
    if start.startswith('{"env_info"'):
        return True
    lines = [line for line in start.splitlines() if line.strip()]
    if file.size > len(file.head) and len(lines) > 1:
        lines.pop()
    if len(lines) == 1 and file.suffix not in (".jsonl", ".ndjson") and not _is_lone_row(file, lines[0]):
        return False
    lines = lines[:LOOK]
    found = [rows for rows in map(_parsed, lines) if rows]
    if len(found) < 0.8 * len(lines) - 1 or not found:
        return False
    rows = [row for several in found for row in several]
    return sum(map(_is_row, rows)) >= max(1, ENOUGH * len(rows))


def _after_banner(text: str, lines: int = 5) -> str:
    """The text from its first line that begins an object on; "" when none of the first ones does.

    A script whose output is redirected to a .jsonl file prints a line or two of its own before the first row.
    """
    for _ in range(lines):
        _, _, text = text.partition("\n")
        if text.startswith("{"):
            return text
    return ""


def _is_lone_row(file: RunFile, line: str) -> bool:
    """A log of a single line: it looks like a row, not like a configuration or a result."""
    rows = _parsed(line)
    named = file.suffix in (".txt", ".log") or "log" in file.name or len(rows) > 1
    return bool(rows) and named and _is_row(rows[0]) and any(step_kind(k) for k in rows[0])


def _parsed(line: str) -> list[dict[str, Any]]:
    """Return the objects of one line; mostly one, several where somebody forgot the line ends."""
    text = line.strip().rstrip(",").lstrip("\x00\ufeff")
    if not text.startswith("{") or len(text) > MAX_LINE:
        return []
    try:
        loaded = json.loads(text)
    except RecursionError:
        return []
    except ValueError:
        return _several(text) if "}{" in text or "} {" in text else []
    return [loaded] if isinstance(loaded, dict) else []


def _several(text: str) -> list[dict[str, Any]]:
    decoder, at, found = json.JSONDecoder(), 0, []
    while at < len(text):
        try:
            row, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        if isinstance(row, dict):
            found.append(row)
        at = len(text) - len(text[at:].lstrip())  # lines are short: each holds a few objects
    return found


def _is_row(row: Mapping[str, Any]) -> bool:
    """A row of a log: a step with a metric or an event, a loss, or two metrics, and no long texts."""
    if any(isinstance(v, str) and len(v) > 1000 for v in row.values()):
        return False
    leaves = list(flatten(row))[:400]
    stepped = any(step_kind(k) and number(v) is not None for k, v in leaves)
    numeric = [k for k, v in leaves if v is None or number(v) is not None]
    metrics = sum(map(is_metric, numeric))
    if stepped:
        return metrics > 0 or any(k in row for k in _EVENT_KEYS) or _long_name(row) is not None
    told = row.get("metric")  # StyleGAN: {"results": {"fid50k_full": 12.9}, "metric": "fid50k_full", ...}
    if isinstance(told, str) and names.canonical(told) and any(k.endswith(told) for k in numeric):
        return True
    texts = sum(isinstance(v, str) and number(v) is None and len(v) > 40 for _, v in leaves)
    sample = any(plain(k) in _SAMPLE_KEYS for k, _ in leaves)
    return not texts and not sample and any(map(is_loss, numeric)) and metrics >= 2


def _long_name(row: Mapping[str, Any]) -> str | None:
    """The metric that a row in long form ({"metric": "loss", "value": 1.2}) is about."""
    if "value" not in row or number(row["value"]) is None:
        return None
    found = next((row[k] for k in _NAME_KEYS if isinstance(row.get(k), str)), None)
    return found if found and len(found) <= 200 else None


def read(file: RunFile) -> FileContent:
    """Read all lines. Raises ValueError when none holds anything."""
    reader = LineReader(file)
    text = file.read_text()
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if (rows := _all_at_once(text)) is not None:
        _take_alike(reader, rows)
    else:
        for line, row in _lines(text, reader.notes):
            reader.take(row, line)
    return reader.content(FORMAT)


def _take_alike(reader: LineReader, rows: list[dict[str, Any]]) -> None:
    """Take the rows of all lines, those with the same keys column by column where they hold only numbers."""
    line = 1
    for keys, several in groupby(rows, key=tuple):
        for numeric, alike in _by_kind(list(several)):
            if not numeric or len(alike) < MANY or not reader.take_many(keys, alike, line):
                for at, row in enumerate(alike, start=line):
                    reader.take(row, at)
            line += len(alike)


def _by_kind(rows: list[dict[str, Any]]) -> Iterator[tuple[bool, list[dict[str, Any]]]]:
    """Part rows where those that hold nothing but numbers begin and end."""
    if rows[0] and _PLAIN.issuperset(map(type, chain.from_iterable(map(dict.values, rows)))):
        yield True, rows
        return
    for numeric, several in groupby(rows, key=_is_numeric):
        yield numeric, list(several)


def _is_numeric(row: dict[str, Any]) -> bool:
    return bool(row) and _PLAIN.issuperset(map(type, row.values()))


def _lines(text: str, notes: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    bad: list[int] = []
    total = 0
    lines = text.split("\n")
    for at, line in enumerate(lines, start=1):
        if not line.strip("\x00 \t"):
            continue
        total = at
        rows = _parsed(line)
        if not rows:
            bad.append(at)
        for row in rows:
            yield at, row
    if bad:
        last = f"the last line ({total}) is incomplete"
        notes.append(last if bad == [total] else f"{len(bad)} lines are no JSON objects, first line {bad[0]}")


def _all_at_once(text: str) -> list[dict[str, Any]] | None:
    """Parse whole lines in one go, twice as fast as one by one; None where any is not one plain object."""
    text = text.removesuffix("\n")
    others = text.count("\n")
    if not (text.startswith("{") and text.endswith("}") and others == text.count("}\n{")):
        return None
    if len(text) > MAX_LINE and max(map(len, text.split("\n"))) > MAX_LINE:
        return None
    try:
        rows = json.loads(f"[{text.replace(chr(10), ',')}]")
    except (ValueError, RecursionError):
        return None
    return rows if len(rows) == others + 1 and {dict}.issuperset(map(type, rows)) else None


_OF_ALL = re.compile(r"(\d{1,12})/(\d{1,12})")
_OF_COCO = re.compile(r"^(?:test_|val_|eval_)?coco_eval(?:uator)?_?bbox$")


@lru_cache(maxsize=4096)
def _role(key: str) -> tuple[int, StepUnit] | str | None:
    """What a key is there for: a step (preference, unit), "wall", "rank", "skip", or None, a quantity."""
    kind = step_kind(key)
    if kind is not None:
        return kind[1], kind[0]
    if key in _RANK_KEYS:
        return "rank"
    return "wall" if is_wall(key) else "skip" if is_clock(key) else None


@dataclass(slots=True)
class _Place:
    """What one row says of where it stands."""

    step: float | None = None
    unit: StepUnit = "row"
    best: int = 99
    epoch: float | None = None
    epoch_best: int = 99
    wall: float | None = None
    rank: int | None = None

    def take(self, role: tuple[int, StepUnit] | str, value: float) -> None:
        """Take one key of the row."""
        if not math.isfinite(value):
            return
        if isinstance(role, tuple):
            preference, unit = role
            if preference < self.best:
                self.best, self.unit, self.step = preference, unit, value
            if unit == "epoch" and preference < self.epoch_best:
                self.epoch_best, self.epoch = preference, value
        elif role == "wall" and value > 1e8:
            self.wall = value
        elif role == "rank" and self.rank is None and 0 <= value < 1e6:
            self.rank = int(value)


def _leaves_of_long(row: Mapping[str, Any], name: str) -> Iterator[tuple[str, Any]]:
    """The leaves of a row in long form: its value under the metric's name, and its steps."""
    yield name, row["value"]
    for key, value in row.items():
        if _role(key) is not None:
            yield key, value


def _with_summaries(leaves: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """COCO's summary is a list of twelve scores: overlaps of 0.5 to 0.95 first, that of 0.5 second."""
    for key, value in leaves:
        yield key, value
        if isinstance(value, list) and len(value) == 12 and _OF_COCO.search(key):
            yield _OF_COCO.sub("eval_bbox_map", key), value[0]
            yield _OF_COCO.sub("eval_bbox_map_50", key), value[1]


class LineReader:
    """Turns rows (dicts, in file order) into the content of a file."""

    def __init__(self, file: RunFile) -> None:
        self.file = file
        self.rows = Rows(file.path)
        self.events: list[Event] = []
        self.settings: list[Setting] = []
        self.facts: dict[str, Scalar] = {}
        self.notes: list[str] = []
        self.windows: dict[str, Window] = {}
        self.window: Window = "unknown"
        self.dialect = ""
        self._last = Axis(0.0, "row")
        self._inner: list[
            tuple[float, float]
        ] = []  # epoch and step of rows whose step counts inside an epoch
        self._count = 0

    def take(self, row: dict[str, Any], line: int) -> None:
        """Take one row."""
        if "env_info" in row or ("config" in row and isinstance(row["config"], str)):
            self._preamble(row, line)
            return
        if self._took_settings(row, line):
            return
        row = self._parted(row)
        if not self.dialect:
            self._recognise(row)
        self._count += 1
        name = _long_name(row)
        leaves = _leaves_of_long(row, name) if name else _with_summaries(flatten(row))
        split = next((s for k in SPLIT_KEYS if k in row and (s := split_of(row[k]))), "")
        if self.dialect == "mmengine" and not ({"iter", "lr"} & row.keys()):
            split = "eval"  # its evaluation rows say neither
        place = _Place()
        values: dict[str, float] = {}
        for key, value in leaves:
            if (measured := number(value)) is None:
                continue
            role = _role(key)
            if role is None:
                values[key] = measured
            else:
                place.take(role, measured)
        axis = self._axis(place, split, line)
        self._event(row, axis, place.rank)
        if values:
            self.rows.add(axis, values, split, place.rank)

    def _took_settings(self, row: Mapping[str, Any], line: int) -> bool:
        """Take a row that holds the settings of the run: `{"type": "config", ...}`, `{"args": {...}}`."""
        said = any(isinstance(row.get(k), str) and plain(row[k]) in CONFIG_PARTS for k in SPLIT_KEYS)
        held = [key for key, value in row.items() if plain(key) in CONFIG_PARTS and isinstance(value, dict)]
        if not said and not held:
            return False
        keys = held or [key for key in row if key not in SPLIT_KEYS and not is_wall(key)]
        self.settings += settings_kept({key: row[key] for key in keys}, self.file.path, line)
        return said or not any(is_metric(key) for key in row)

    def take_many(self, keys: tuple[str, ...], rows: list[dict[str, Any]], first: int) -> bool:
        """Take rows of the same keys that hold only numbers, column by column; False: take each by itself.

        `first` is the line of the first row; the others follow it line by line.
        """
        if not self.dialect:
            self._recognise(rows[0])
        if self.dialect != "plain" or len(keys) > MAX_LEAVES or max(map(len, keys), default=0) > LONGEST_KEY:
            return False
        try:
            table = np.fromiter(chain.from_iterable(map(dict.values, rows)), np.float64)
        except OverflowError:
            return False
        columns = {key: table[at :: len(keys)].copy() for at, key in enumerate(keys)}
        roles = {key: role for key in keys if (role := _role(key)) is not None}
        steppers = [(*role, key) for key, role in roles.items() if isinstance(role, tuple)]
        counts = sorted(steppers, key=lambda stepper: stepper[0])
        walls = [key for key, role in roles.items() if role == "wall"]
        if "rank" in roles.values() or not all(np.isfinite(columns[key]).all() for key in roles):
            return False
        epochs = next((columns[key] for _, counted, key in counts if counted == "epoch"), None)
        times = columns[walls[-1]] if walls and bool((columns[walls[-1]] > 1e8).all()) else None
        unit: StepUnit = "row"
        if counts:
            _, unit, key = counts[0]
            if unit == "epoch-step" and epochs is None:
                unit = "iteration"
            steps = columns[key]
        else:
            epochs = None
            steps = np.arange(self._count + 1, self._count + len(rows) + 1, dtype=np.float64)
        axes = Axes(steps, unit, epochs, times, np.arange(first, first + len(rows)))
        self._count += len(rows)
        if unit == "epoch-step" and epochs is not None:
            self._inner += zip(epochs.tolist(), steps.tolist(), strict=True)
        if counts:
            self._last = axes.last
        values = {key: limited(columns[key]) for key in keys if key not in roles}
        if values:
            self.rows.add_many(axes, values)
        return True

    def _recognise(self, row: Mapping[str, Any]) -> None:
        """Settle the dialect by the first row of metrics."""
        if "mode" in row and "iter" in row and "epoch" in row:
            self.dialect, self.window = "mmcv", "mean-since-last"
        elif "iteration" in row and ("total_loss" in row or "eta_seconds" in row) and "data_time" in row:
            self.dialect, self.window = "detectron2", "median"
        elif "current_steps" in row and "total_steps" in row:
            self.dialect, self.window = "llama-factory", "mean-since-last"
            self._planned(row)
        elif {"step", "iter", "epoch"} <= set(row) and ("data_time" in row or row["step"] == row["iter"]):
            self.dialect, self.window = "mmengine", "mean-since-last"
        else:
            self.dialect = "plain"
        if self.dialect in ("mmcv", "mmengine", "detectron2", "llama-factory"):
            self.facts.setdefault("framework", "pytorch")

    def _parted(self, row: dict[str, Any]) -> dict[str, Any]:
        """`"global_step/max_steps": "5/320"` of ms-swift: a step, and how many are planned."""
        for key, value in row.items():
            kept, _, of = key.partition("/")
            if not (of and isinstance(value, str) and step_kind(kept) is not None):
                continue
            if (pair := _OF_ALL.fullmatch(value)) is None:
                continue
            if not any(s.key == of for s in self.settings):
                self.settings.append(Setting(of, float(pair[2]), self.file.path, None, 90))
            return {kept: int(pair[1]), **{k: v for k, v in row.items() if k != key}}
        return row

    def _planned(self, row: Mapping[str, Any]) -> None:
        total = number(row["total_steps"])
        if total is not None and total > 0:
            self.settings.append(Setting("max_steps", total, self.file.path, None, 90))

    def _axis(self, place: _Place, split: str, line: int) -> Axis:
        """Where the row stands, by the best of its step keys."""
        epoch, wall = place.epoch, place.wall
        if self.dialect == "mmcv" and split == "eval":
            return replace(self._last, epoch=epoch, wall=wall, line=line)
        if place.step is None:
            return Axis(float(self._count), "row", None, wall, line)
        unit, step = place.unit, place.step
        if self.dialect == "mmengine" and epoch is None and self._is_epoch_number(step):
            return replace(self._last, epoch=step, wall=wall, line=line)
        if self.dialect == "mmcv" and unit == "iteration":
            unit = "epoch-step"
        if unit == "epoch-step" and epoch is None:
            unit = "iteration"
        axis = Axis(step, unit, epoch, wall, line)
        if unit == "epoch-step":
            self._inner.append((axis.epoch or 0.0, axis.step))
        self._last = axis
        return axis

    def _is_epoch_number(self, step: float) -> bool:
        """An mmengine evaluation row counts epochs where training rows count iterations."""
        return self._last.epoch is not None and step == self._last.epoch and step < self._last.step

    def _event(self, row: Mapping[str, Any], axis: Axis, rank: int | None) -> None:
        text = next((row[k] for k in _EVENT_KEYS if k in row and isinstance(row[k], str)), "")
        kind = next((kind for pattern, kind in _EVENTS if pattern.search(text[:300])), None) if text else None
        if kind is None:
            return
        scale = next((number(v) for k, v in row.items() if plain(k) in _SCALE_KEYS), None)
        step = axis.step if axis.unit != "row" else None
        shown = " ".join(f"{k}={v}" for k, v in row.items() if not isinstance(v, (dict, list)))
        self.events.append(Event(kind, self.file.path, axis.line, step, scale, rank, text=shown[:300]))

    def _preamble(self, row: Mapping[str, Any], line: int) -> None:
        """The first line of an mmcv log: environment, seed, configuration as text."""
        env = row.get("env_info")
        if isinstance(env, str):
            self.facts["framework"] = "pytorch"
            version = re.search(r"^PyTorch: ([\w.+]+)", env, re.MULTILINE)
            gpus = re.search(r"^GPU [\d,]+: (.{1,60})$", env, re.MULTILINE)
            for key, match in (("torch", version), ("device", gpus)):
                if match:
                    self.facts[key] = match.group(1)
        for key in ("seed", "exp_name", "mmdet_version", "mmcls_version", "mmseg_version"):
            usable, value = setting_value(key, row.get(key))
            if usable and value is not None:
                self.settings.append(Setting(key, value, self.file.path, line, 90))

    def content(self, fmt: str) -> FileContent:
        """Return everything that was read."""
        self._run_on()
        if not len(self.rows) and not self.events and not self.settings:
            raise ValueError("no row of metrics in it")
        series = tuple(self._say_window(s) for s in self.rows.series(self.window, self.windows))
        if self.dialect == "llama-factory":
            series = self._unmask(series)
        return FileContent(
            fmt, series, tuple(self.settings), tuple(self.events), self.facts, tuple(self.notes)
        )

    def _say_window(self, series: Series) -> Series:
        """A loss or metric of training written once per epoch is that epoch's mean."""
        name = names.canonical(series.raw, series.split) or ""
        if name.startswith("train/"):
            per_epoch = series.unit == "epoch" and series.window == "unknown"
            return replace(series, window="epoch-mean") if per_epoch else series
        return replace(series, window="point") if name.startswith(("eval/", "test/")) else series

    def _unmask(self, series: tuple[Series, ...]) -> tuple[Series, ...]:
        """LLaMA-Factory logs the same filtered loss as the Trainer, without a gradient norm beside it."""
        shown = []
        for one in series:
            hidden = masked(one.values, None) if one.raw == "loss" and len(one) else None
            if hidden is not None and hidden.any():
                one = replace(one, values=np.where(hidden, np.nan, one.values), masked=hidden)
                event = masked_event(self.file.path, one, "again and again after a positive loss")
                self.events.extend([event] if event else [])
            shown.append(one)
        return tuple(shown)

    def _run_on(self) -> None:
        """Where the step begins again in each epoch, turn it into a running one."""
        if not self._inner:
            return
        pairs = list(pairwise(self._inner))
        restarts = any(later[0] > earlier[0] and later[1] <= earlier[1] for earlier, later in pairs)
        first = min(epoch for epoch, _ in self._inner)
        if not restarts:
            if first <= 1 or any(later[0] > earlier[0] for earlier, later in pairs):
                self.rows.run_on(0.0, 0.0, "iteration")
            return
        length = max(step for _, step in self._inner)
        base = 0.0 if first == 0 else 1.0
        self.rows.run_on(length, base)
        self.notes.append(
            f"the step begins again in each epoch: read as (epoch - {base:g}) x {length:g} + step"
            " (the longest epoch seen)"
        )


_SCALE_KEYS = frozenset({"loss_scale", "scale", "new_scale", "grad_scale", "loss_scaler"})
