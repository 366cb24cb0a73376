"""What Ascend hardware flags: decoded Opdebug files of overflow detection, in both dialects, bits in words.

Old: {"AI Core": {model_id, stream_id, task_id, status, ...}, "DHA Atomic Add": {...}, "L2 Atomic Add": {}};
new: {"magic", "acc_list": {"acc_type", "data": {..., status}}}. Layout: FORMATS-ASCEND B1; bits: CANN
overflow documentation, as in precision_tool 0.1.11.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..files import RunFile

MAX_SIZE = 1024**2
_NAME = re.compile(r"^Opdebug\..+\.(?P<task>\d+)\.(?P<stream>\d+)\.(?P<time>\d{10,20})\.output\.\d+\.json$")
_RAW = re.compile(r"^Opdebug\..+\.\d+\.\d+\.\d{10,20}$")
AI_CORE = {
    0x8: "a negative number overflows when its sign is changed",
    0x10: "integer add, subtract, multiply or multiply-add overflows",
    0x20: "floating-point arithmetic overflows",
    0x80: "a negative float becomes an unsigned integer",
    0x100: "fp32 to fp16, or a 32-bit integer to fp16, overflows",
    0x400: "accumulation in the cube unit overflows",
}
_ATOMIC = {1: "overflows upwards", 2: "overflows downwards", 3: "has NaN as source", 4: "has NaN as target"}
_ATOMIC |= {5: "has NaN as source and target"}
NO_CONTEXT = 65535


@dataclass(frozen=True, slots=True)
class Flag:
    """One overflow that the hardware flagged; `unit` is "AI Core", "DHA Atomic Add", "AIC", ..."""

    file: str
    time: int  # microseconds; the smallest of a dump is the first overflow
    unit: str
    task: int
    stream: int
    status: int
    words: tuple[str, ...]
    context: int | None = None
    thread: int | None = None

    @property
    def said(self) -> str:
        """E.g. "AI Core, status 0x20: floating-point arithmetic overflows"."""
        return f"{self.unit}, status {self.status:#x}: {'; '.join(self.words) or 'no known bit'}"


def flags(files: Iterable[RunFile]) -> tuple[list[Flag], list[str]]:
    """Every flag of the decoded Opdebug files, the first overflow first, and what could not be read."""
    found: list[Flag] = []
    notes: list[str] = []
    raw = 0
    decoded: set[str] = set()
    listed = list(files)
    for file in listed:
        match = _NAME.match(file.name)
        if match is None:
            continue
        decoded.add(file.name.partition(".output.")[0])
        try:
            content = json.loads(file.read_text(MAX_SIZE))
        except (OSError, ValueError, RecursionError) as error:
            notes.append(f"{file.path}: {getattr(error, 'strerror', None) or 'damaged, not read'}")
            continue
        found.extend(_of(content, file.path, int(match["time"])))
    raw = sum(bool(_RAW.match(f.name)) and f.name not in decoded for f in listed)
    if raw:
        notes.append(
            f"{raw} Opdebug files were never decoded and are not read (decode them with the toolkit)"
        )
    return sorted(set(found), key=lambda f: (f.time, f.unit)), notes


def _of(content: Any, path: str, time: int) -> Iterable[Flag]:
    if not isinstance(content, dict):
        return
    listed = content.get("acc_list")
    if listed is not None:
        for entry in listed if isinstance(listed, list) else [listed]:
            data = entry.get("data") if isinstance(entry, dict) else None
            if isinstance(data, dict):
                yield from _flag(str(entry.get("acc_type") or "accelerator")[:40], data, path, time)
        return
    for unit, data in content.items():
        if isinstance(data, dict):
            yield from _flag(str(unit)[:40], data, path, time)


def _flag(unit: str, data: Mapping[str, Any], path: str, time: int) -> Iterable[Flag]:
    status = _number(data.get("status"))
    if not status:
        return
    context, thread = _number(data.get("context_id")), _number(data.get("thread_id"))
    yield Flag(
        path,
        time,
        unit,
        _number(data.get("task_id")) or 0,
        _number(data.get("stream_id")) or 0,
        status,
        decode(unit, status),
        None if context in (None, NO_CONTEXT) else context,
        None if thread in (None, NO_CONTEXT) else thread,
    )


def _number(value: Any) -> int | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        return int(value, 0) if isinstance(value, str) else int(value)
    except (ValueError, OverflowError, TypeError):
        return None


def decode(unit: str, status: int) -> tuple[str, ...]:
    """The status bits of one unit in words."""
    if unit.upper().startswith("DHA"):
        word = _ATOMIC.get(status - 8)
        return (f"an atomic addition {word}",) if word else ()
    if unit.upper().startswith("L2"):
        word = _ATOMIC.get(status >> 16 & 0b111)
        return (f"an atomic addition {word}",) if word else ()
    return tuple(words for bit, words in AI_CORE.items() if status & bit)
