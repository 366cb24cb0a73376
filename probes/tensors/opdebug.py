"""What Ascend hardware flags: decoded Opdebug files of overflow detection, in both dialects, bits in words.

Old: {"AI Core": {model_id, stream_id, task_id, status, ...}, "DHA Atomic Add": {...}, "L2 Atomic Add": {}};
new: {"magic", "version", "acc_list": {"acc_type", "data": {..., status}}}; its second version has four status
words. Layout: FORMATS-ASCEND B1, for blocks that were never decoded msaccucmp 26.2; bits: CANN overflow
documentation, as in precision_tool 0.1.11.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..files import RunFile
from .ascend_raw import ADVICE, read_raw
from .npy import Unreadable

MAX_SIZE = 1024**2
_NAME = re.compile(r"^Opdebug\..+\.(?P<task>\d+)\.(?P<stream>\d+)\.(?P<time>\d{10,20})\.output\.\d+\.json$")
_RAW = re.compile(r"^Opdebug\..+\.\d+\.\d+\.(?P<time>\d{10,20})$")
_INFO = {"DHA Atomic Add": (0, 512), "L2 Atomic Add": (128, 768), "AI Core": (256, 1040)}  # info, status
_BLOCK = 1048
_MAGIC = 0x5A5A5A5A
_HEAD = struct.Struct("<6I")  # magic, version, valid, unit, reserved, length of what follows in bytes
_UNITS = {0: "AIC", 1: "AIV", 2: "AICPU", 3: "SDMA"}
_STATUS = {"AIC": 10, "AIV": 10, "AICPU": 7, "SDMA": 9}  # which u64 of the data it is
_THREAD = {"AICPU": 6}  # else the sixth, behind the context
_WORDS = 4  # of a core's status in version 1
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
    status: tuple[int, ...]  # one word, or four
    words: tuple[str, ...]
    context: int | None = None
    thread: int | None = None

    @property
    def said(self) -> str:
        """E.g. "AI Core, status 0x20: floating-point arithmetic overflows"."""
        status = ", ".join(f"{word:#x}" for word in self.status)
        unknown = "no known bit" if len(self.status) == 1 else "bits that are not documented"
        return f"{self.unit}, status {status}: {'; '.join(self.words) or unknown}"


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
    for file in listed:
        match = _RAW.match(file.name)
        if match is None or file.name in decoded:
            continue
        content = _undecoded(file)
        if content is None:
            raw += 1
        else:
            found.extend(_of(content, file.path, int(match["time"])))
    if raw:
        notes.append(f"{raw} Opdebug files that were never decoded cannot be read here: {ADVICE}")
    return sorted(set(found), key=lambda f: (f.time, f.unit)), notes


def _undecoded(file: RunFile) -> dict[str, Any] | None:
    """The block as it was written, as its decoded form has it; None where it is anything else."""
    try:
        outputs = [t for t in read_raw(file) if t.side == "output"]
        if not outputs:
            return None
        with file.open() as handle:
            handle.seek(outputs[0].start)
            block = handle.read(min(outputs[0].size, _BLOCK))
    except (Unreadable, OSError):
        return None
    if block[:4] == struct.pack("<I", _MAGIC):
        return _new_block(block)
    return _old_block(block) if len(block) == _BLOCK else None


def _new_block(block: bytes) -> dict[str, Any] | None:
    """A head of six u32, then u64: model, stream, task, type of task, context, ..., status last."""
    if len(block) < _HEAD.size:
        return None
    _, version, valid, kind, _, length = _HEAD.unpack_from(block)
    unit = _UNITS.get(kind)
    if unit is None or valid != 1 or version > 1:
        return None
    words = _WORDS if version and unit in ("AIC", "AIV") else 1
    at = _STATUS[unit]
    if length < 8 * (at + words) or len(block) < _HEAD.size + 8 * (at + words):
        return None
    told = struct.unpack_from(f"<{at + words}Q", block, _HEAD.size)
    data = dict(zip(("model_id", "stream_id", "task_id", "task_type", "context_id"), told, strict=False))
    data["thread_id"] = told[_THREAD.get(unit, 5)]
    status = list(told[at:]) if words > 1 else told[at]
    return {"acc_list": {"acc_type": unit, "data": {**data, "status": status}}}


def _old_block(block: bytes) -> dict[str, Any]:
    """Six u64 per unit (model, stream, task, ...), then per unit its status.

    That of the AI core comes third, behind kernel and block.
    """
    found = {}
    for unit, (info, status) in _INFO.items():
        model, stream, task = struct.unpack_from("<3Q", block, info)
        (bits,) = struct.unpack_from("<Q", block, status)
        found[unit] = {"model_id": model, "stream_id": stream, "task_id": task, "status": bits}
    return found


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
    told = data.get("status")
    status = tuple(_number(word) or 0 for word in (told[:16] if isinstance(told, list) else [told]))
    if not any(status):
        return
    context, thread = _number(data.get("context_id")), _number(data.get("thread_id"))
    yield Flag(
        path,
        time,
        unit,
        _number(data.get("task_id")) or 0,
        _number(data.get("stream_id")) or 0,
        status,
        decode(unit, status[0]) if len(status) == 1 else (),
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
