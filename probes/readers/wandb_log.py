"""The binary log of a Weights & Biases run (`run-<id>.wandb`): history, configuration and how the run ended.

The file is a LevelDB log (32 KiB blocks, checksummed fragments) of protobuf records. `_step` counts calls of
`wandb.log`, unless the script gives it (`step=`): it is then the script's. A step that the script logged as a
value is preferred where it moves. Console
output, system metrics, host and user are passed over.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ...engine.model import Scalar
from ..assembly import names
from ..files import RunFile
from ..run import Event, FileContent, Series, Setting, StepUnit
from . import Gives
from ._events import fields, varint
from ._rows import Axis, Rows, masked, masked_event
from ._values import flatten, is_clock, is_wall, number, setting_value, step_kind
from .config_file import clean

FORMAT = "wandb"
GIVES = Gives(
    title="Weights & Biases offline logs",
    files="`run-*.wandb` (its `config.yaml`, `wandb-metadata.json` and summary are read beside it)",
    lacks=(
        "The console output, system metrics, media; training steps, where the script gave none and "
        "only calls are counted."
    ),
    scalars="yes",
    steps="some",
    epochs="some",
    walls="yes",
    settings="some",
    environment="some",
    restarts="some",
)
TRUST = 90
BLOCK = 32 * 1024
HEAD = 7  # the length of the file's header, and of each fragment's
MARK = b":W&B\xe1\xbe"
MAX_VALUES = 4_000_000
MAX_SEARCH = 64 * 1024**2  # bytes whose checksums are tried in search of the next whole fragment
MAX_JSON = 64 * 1024
MAX_SETTINGS = 5000
MAX_DEPTH = 8
INTERRUPTED = 255  # what W&B's exit hook records for Ctrl-C; 1 for any other exception
_FULL, _FIRST, _LAST = 1, 2, 4
_HISTORY, _SUMMARY, _CONFIG, _RUN, _EXIT = 2, 3, 5, 17, 18
_KEY, _NESTED, _JSON = 1, 2, 16
_SEEDS = {kind: zlib.crc32(bytes([kind])) for kind in (1, 2, 3, 4)}
_FRAMEWORKS = {"torch": "pytorch", "huggingface": "pytorch", "lightning": "pytorch"} | {
    "keras": "keras",
    "tensorflow": "tensorflow",
    "jax": "jax",
}


def sniff(file: RunFile) -> bool:
    """Say whether the file begins as a W&B log does (a damaged header needs the name and a whole record)."""
    head = file.head
    if head.startswith(MARK):
        return True
    return file.suffix == ".wandb" and _fragment(head, HEAD, min(len(head), BLOCK)) is not None


def read(file: RunFile) -> FileContent:
    """Read the history, the configuration and the exit code. Raises ValueError without one whole record."""
    data = file.read_bytes()
    damage = _Damage()
    log = _Log()
    whole = 0
    for record in _records(data, damage):
        whole += 1
        try:
            log.take(record)
        except ValueError:
            damage.odd += 1
    if not whole:
        raise ValueError("no whole record in it")
    return _content(file, log, damage)


# ------------------------------------------------------------------------------------------------ framing


@dataclass(slots=True)
class _Damage:
    """What could not be read."""

    places: int = 0
    lost: int = 0  # bytes passed over
    odd: int = 0  # records that are no protobuf
    cut: bool = False
    searched: int = 0

    def notes(self) -> Iterator[str]:
        """One sentence per kind of damage."""
        if self.places:
            yield f"damaged in {self.places} places: {self.lost} bytes passed over"
        if self.odd:
            yield f"{self.odd} records could not be understood"
        if self.cut:
            yield "the last record is incomplete"


def _records(data: bytes, damage: _Damage) -> Iterator[bytes]:
    """Yield the whole records, put together from their fragments."""
    parts: list[bytes] | None = None
    for kind, part in _fragments(data, damage):
        if kind == _FULL:
            parts = None
            yield part
        elif kind == _FIRST:
            parts = [part]
        elif kind == 0:
            parts = None
        elif parts is not None:
            parts.append(part)
            if kind == _LAST:
                yield b"".join(parts)
                parts = None
    damage.cut = damage.cut or parts is not None


def _fragments(data: bytes, damage: _Damage) -> Iterator[tuple[int, bytes]]:
    """Yield (kind, payload) of each whole fragment, and (0, nothing) where something is missing."""
    at = HEAD
    while at < len(data):
        end = min((at // BLOCK + 1) * BLOCK, len(data))
        found = _fragment(data, at, end)
        if found is not None:
            yield found
            at += HEAD + len(found[1])
        elif not any(data[at:end]):  # the rest of a block, or space that was never written
            at = end
        else:
            following = _following(data, at + 1, end, damage)
            if following is None and end == len(data) and _is_cut(data, at, end):
                damage.cut = True
            else:
                damage.places += 1
                damage.lost += (following or end) - at
            yield 0, b""
            at = following or end


def _fragment(data: bytes, at: int, end: int) -> tuple[int, bytes] | None:
    """The fragment at `at`, if it lies before `end` and its checksum (CRC32 of kind and payload) is right."""
    if end - at < HEAD:
        return None
    stored, length, kind = struct.unpack_from("<IHB", data, at)
    if kind not in _SEEDS or length > end - at - HEAD:
        return None
    part = data[at + HEAD : at + HEAD + length]
    return (kind, part) if zlib.crc32(part, _SEEDS[kind]) == stored else None


def _following(data: bytes, start: int, end: int, damage: _Damage) -> int | None:
    """Where the next whole fragment of this block begins."""
    for at in range(start, end - HEAD + 1):
        if damage.searched > MAX_SEARCH:
            return None
        if data[at + 6] in _SEEDS:
            damage.searched += data[at + 4] | data[at + 5] << 8
            if _fragment(data, at, end) is not None:
                return at
    return None


def _is_cut(data: bytes, at: int, end: int) -> bool:
    """The file ends before the fragment does."""
    return end - at < HEAD or at + HEAD + struct.unpack_from("<H", data, at + 4)[0] > end


# ------------------------------------------------------------------------------------------------ records


@dataclass(slots=True)
class _Row:
    """One call of `wandb.log`: numbers by name, steps by name, and the time of day."""

    values: dict[str, float]
    steps: dict[str, float]
    call: float
    wall: float | None


@dataclass(slots=True)
class _Log:
    """Collects what the records say."""

    rows: list[_Row] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, float] = field(default_factory=dict)
    exit_code: int | None = None
    resumed: bool = False
    count: int = 0  # values kept
    dropped: int = 0  # rows not kept

    def take(self, record: bytes) -> None:
        """Take one record. Raises ValueError when it is no protobuf."""
        for number_, wire, at, end in fields(record, 0, len(record)):
            if wire != 2:
                continue
            if number_ == _HISTORY:
                self._history(record, at, end)
            elif number_ == _SUMMARY:
                self._summarise(record, at, end)
            elif number_ == _CONFIG:
                self.config.update(_items(record, at, end))
            elif number_ == _RUN:
                self._run(record, at, end)
            elif number_ == _EXIT:
                self.exit_code = _exit_code(record, at, end)

    def _history(self, record: bytes, at: int, end: int) -> None:
        if self.count > MAX_VALUES:
            self.dropped += 1
            return
        row = _Row({}, {}, float(len(self.rows)), None)
        for number_, wire, a, b in fields(record, at, end):
            if number_ == 2 and wire == 2:
                row.call = float(_first_number(record, a, b))
        for key, value in flatten(dict(_items(record, at, end))):
            if (measured := number(value)) is not None:
                _sort(row, key, measured)
        self.count += len(row.values)
        self.rows.append(row)

    def _summarise(self, record: bytes, at: int, end: int) -> None:
        for key, value in flatten(dict(_items(record, at, end))):
            measured = number(value)
            if measured is not None and not key.startswith("_") and not is_clock(key):
                self.summary[key] = measured

    def _run(self, record: bytes, at: int, end: int) -> None:
        """The run's first configuration, and whether it goes on from an earlier one."""
        for number_, wire, a, b in fields(record, at, end):
            if number_ == 4 and wire == 2:
                self.config.update(_items(record, a, b))
            elif number_ == 18 and wire == 0:
                self.resumed = self.resumed or record[a] != 0


def _sort(row: _Row, key: str, value: float) -> None:
    """Put one number where it belongs: the call, the time, a step, or a quantity."""
    if key == "_step":
        row.call = value if math.isfinite(value) else row.call
    elif key == "_timestamp" or (is_wall(key) and value > 1e8):
        row.wall = value if math.isfinite(value) else None
    elif step_kind(key) is not None:
        if math.isfinite(value):
            row.steps[key] = value
    elif not key.startswith("_") and not is_clock(key):
        row.values[key] = value


def _items(record: bytes, at: int, end: int) -> Iterator[tuple[str, Any]]:
    """Yield (key, value) of the items of a history, summary or configuration; nested keys joined by "/"."""
    for number_, wire, start, stop in fields(record, at, end):
        if number_ != 1 or wire != 2:
            continue
        key, nested, value = "", [], None
        for inner, kind, a, b in fields(record, start, stop):
            if kind != 2:
                continue
            if inner == _KEY:
                key = record[a:b].decode("utf-8", errors="replace")
            elif inner == _NESTED:
                nested.append(record[a:b].decode("utf-8", errors="replace"))
            elif inner == _JSON and b - a <= MAX_JSON:
                value = _loaded(record[a:b])
        if (key or nested) and value is not None:
            yield (key or "/".join(nested))[:200], value


def _loaded(text: bytes) -> Any:
    """A JSON value; pictures, tables and histograms ({"_type": ...}) are none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return None if isinstance(value, dict) and "_type" in value else value


def _exit_code(record: bytes, at: int, end: int) -> int:
    """The exit code, an int32."""
    code = _first_number(record, at, end) & 0xFFFFFFFF
    return code - 2**32 if code >= 2**31 else code


def _first_number(record: bytes, at: int, end: int) -> int:
    """The number in a message's first field; zero is not written."""
    found = (varint(record, a, b)[0] for n, wire, a, b in fields(record, at, end) if n == 1 and wire == 0)
    return next(found, 0)


# ------------------------------------------------------------------------------------------------ content


def _content(file: RunFile, log: _Log, damage: _Damage) -> FileContent:
    notes = list(damage.notes())
    if log.dropped:
        notes.append(f"only the first {len(log.rows)} rows of the history were read")
    if log.exit_code is None:
        notes.append("the run ended without an exit record: it was killed, or it still runs")
    series, masking = _series(file, log.rows)
    facts = _facts(log)
    if not series:
        facts.update({f"final.{key}": value for key, value in log.summary.items()})
    events = [masking] if masking else []
    if log.resumed:
        events.append(Event("resume", file.path, text="W&B resumed an earlier run"))
    if log.exit_code is not None:
        code = log.exit_code
        how = "KeyboardInterrupt" if code == INTERRUPTED else ""
        events.append(Event("exit", file.path, value=float(code), text=f"exit code {code}", data=how))
    settings = tuple(_settings(file.path, log.config))
    return FileContent(FORMAT, series, settings, tuple(events), facts, tuple(notes))


def _series(file: RunFile, history: list[_Row]) -> tuple[tuple[Series, ...], Event | None]:
    """The curves, and the event that says where a loss of 0 stands for NaN."""
    axis = _axis_key(history)
    calls: StepUnit = "step" if _steps_given(history) else "call"
    rows = Rows(file.path)
    last: float | None = None
    for row in history:
        if row.values:
            rows.add(_axis(row, axis, last, calls), row.values)
        if axis is not None and step_kind(axis) is not None:
            last = row.steps.get(axis, last)
    curves = tuple(_said(s, axis) for s in rows.series())
    return _unmasked(file.path, history, curves) if axis == "train/global_step" else (curves, None)


def _steps_given(history: list[_Row]) -> bool:
    """W&B counts by ones; a step that mostly leaps was given by the script. A lost row is no leap."""
    leaps = sum(after.call - before.call > 1 for before, after in pairwise(history))
    return leaps > 0.5 * (len(history) - 1)


def _axis(row: _Row, key: str | None, last: float | None, calls: StepUnit) -> Axis:
    """Where a row stands; one without the step that the others have comes after the last that has it."""
    epoch = next((v for k, v in row.steps.items() if _unit(k) == "epoch"), None)
    if key is None:
        return Axis(row.call, calls, epoch, row.wall)
    step = row.steps.get(key, last if _unit(key) != "epoch" else None)
    if step is None:
        return Axis(row.call, calls, epoch, row.wall)
    return Axis(step, _unit(key), epoch, row.wall)


def _unit(key: str) -> StepUnit:
    kind = step_kind(key)
    return kind[0] if kind else "unknown"


def _axis_key(history: list[_Row]) -> str | None:
    """The best step that the script logged itself and that moves from row to row, or None."""
    kinds = {k: kind for row in history for k in row.steps if (kind := step_kind(k)) is not None}
    for key, (unit, _) in sorted(kinds.items(), key=lambda kind: (kind[1][1], kind[0])):
        if unit not in ("epoch-step", "call") and _moves(history, key):
            return key
    return None


def _moves(history: list[_Row], key: str) -> bool:
    """Say whether a step can be an axis: it mostly changes, and does not begin again in each epoch.

    An epoch logged with every batch stands still; so does a global step at which several models were tested.
    """
    having = [row for row in history if key in row.steps and row.values]
    counted = Counter(name for row in having for name in row.values)
    if not counted:
        return False
    often = counted.most_common(1)[0][0]
    rows = [row for row in having if often in row.values]
    still = sum(a.steps[key] == b.steps[key] for a, b in pairwise(rows))
    again = sum(b.steps[key] < a.steps[key] and _epoch(b) > _epoch(a) for a, b in pairwise(rows))
    return still <= 0.5 * (len(rows) - 1) and (not again or _unit(key) == "epoch")


def _epoch(row: _Row) -> float:
    return next((v for k, v in row.steps.items() if _unit(k) == "epoch"), 0.0)


def _said(series: Series, axis: str | None) -> Series:
    """Add what one value stands for, where that is known."""
    name = names.canonical(series.raw, series.split) or ""
    if name.startswith(("eval/", "test/")):
        return replace(series, window="point")
    if name.startswith("train/") and series.unit == "epoch":
        return replace(series, window="epoch-mean")
    if axis == "train/global_step" and series.raw == "train/loss":
        return replace(series, window="mean-since-last")
    return series


def _unmasked(
    path: str, history: list[_Row], curves: tuple[Series, ...]
) -> tuple[tuple[Series, ...], Event | None]:
    """The Hugging Face Trainer writes 0 for a loss that is NaN; `train/global_step` is its step."""
    loss = next((s for s in curves if s.raw == "train/loss"), None)
    rows = [row.values for row in history if "train/loss" in row.values]
    if loss is None or len(rows) != len(loss):
        return curves, None
    known = any("train/grad_norm" in row for row in rows)
    norms = np.array([row.get("train/grad_norm", 0.0) for row in rows])
    hidden = masked(loss.values, norms if known else None)
    if not hidden.any():
        return curves, None
    shown = replace(loss, values=np.where(hidden, np.nan, loss.values), masked=hidden)
    because = "with grad_norm not finite" if known else "again and again after a positive loss"
    return tuple(shown if s is loss else s for s in curves), masked_event(path, shown, because)


def _settings(path: str, config: Mapping[str, Any]) -> Iterator[Setting]:
    count = 0
    for key, value in _leaves(config):
        usable, kept = setting_value(key, value)
        if usable and not key.startswith("_wandb") and count < MAX_SETTINGS:
            count += 1
            yield Setting(key, clean(key, kept), path, None, TRUST)


def _leaves(config: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Dotted keys of a configuration; `{"desc": ..., "value": ...}` is its value."""
    for key, value in config.items():
        name = prefix + str(key).replace("/", ".")[:200]
        while isinstance(value, dict) and value.keys() <= {"desc", "value"} and "value" in value:
            value = value["value"]
        if not isinstance(value, dict):
            yield name, value
        elif depth < MAX_DEPTH:
            yield from _leaves(value, f"{name}.", depth + 1)


def _facts(log: _Log) -> dict[str, Scalar]:
    """The framework and the versions that W&B itself found."""
    facts: dict[str, Scalar] = {}
    own = {k[7:]: value for k, value in _leaves(log.config) if k.startswith("_wandb.")}
    framework = own.get("framework")
    if isinstance(framework, str) and framework in _FRAMEWORKS:
        facts["framework"] = _FRAMEWORKS[framework]
    for key, fact in (("python_version", "version:python"), ("huggingface_version", "version:transformers")):
        if isinstance(own.get(key), str):
            facts[fact] = own[key][:20]
    return facts
