"""Dumps of ptdbg_ascend, msprobe's forerunner: text files called `.pkl`, a JSON list to a line.

`["Functional_linear_3_forward_input.0", [], "torch.float16", [8, 16], [max, min, mean]]`; some versions put a
step or a checksum between. Lines that end in `_stack_info` hold the frames of a call. Nothing is unpickled.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..files import RunFile
from . import msprobe
from .layout import numbered
from .model import Dump, Operator, Role, Statistics, Tensor
from .numbers import type_of

FORMAT = "ptdbg"
MAX_BYTES = 512 * 1024**2
MAX_LINES = 2_000_000
START = re.compile(r'^\["(?:Torch|Functional|Tensor|VF|NPU|Npu|Aten|Distributed|Module)_')
_NAME = re.compile(
    r"^(?P<family>[A-Za-z]+)_(?P<kind>.+)_(?P<call>\d+)_(?P<what>forward|backward)_(?P<role>input|output|stack_info)"
    r"(?:\.(?P<index>[\d.]+))?$"
)


def find(files: Mapping[str, RunFile]) -> Iterator[Dump]:
    """Yield the dumps among these files (path -> file); one per file."""
    for path, file in files.items():
        if is_ptdbg(file) and file.size <= MAX_BYTES:
            yield _read(path, file)


def is_ptdbg(file: RunFile) -> bool:
    """Whether a file is a table of ptdbg_ascend, by its first line. Raises OSError."""
    return file.suffix == ".pkl" and START.match(file.head_text) is not None


def place(name: str) -> tuple[str, Role, str, int] | None:
    """Operator, role and index of a name, as comparisons of ptdbg list it; the last is no time stamp."""
    told = _NAME.match(name)
    if told is None or told["role"] == "stack_info":
        return None
    call = f"{told['family']}.{told['kind']}.{told['call']}.{told['what']}"
    return call, "input" if told["role"] == "input" else "output", told["index"] or "0", 0


def _read(path: str, file: RunFile) -> Dump:
    notes: list[str] = []
    calls: dict[str, dict[str, list[Tensor]]] = {}
    frames: dict[str, str] = {}
    damaged = 0
    for number, line in enumerate(file.read_text().split("\n")):
        if number > MAX_LINES:
            notes.append(f"{path}: only the first {MAX_LINES} lines were looked at")
            break
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            entry = None
        told = (
            _NAME.match(entry[0]) if isinstance(entry, list) and entry and isinstance(entry[0], str) else None
        )
        if told is None:
            damaged += 1
            continue
        call = f"{told['family']}.{told['kind']}.{told['call']}.{told['what']}"
        if told["role"] == "stack_info":
            frames[call] = msprobe.own_line(
                [str(f) for f in entry[-1]] if isinstance(entry[-1], list) else []
            )
            continue
        tensor = _tensor(call, "input" if told["role"] == "input" else "output", told["index"] or "0", entry)
        if tensor is not None:
            calls.setdefault(call, {"input": [], "output": []})[told["role"]].append(tensor)
    if damaged:
        notes.append(f"{path}: {damaged} lines that name no tensor were passed over")
    step, rank = numbered(file, "step"), numbered(file, "rank")
    operators: list[Operator] = []
    for call, held in calls.items():
        kind, direction, module = msprobe.told(call)
        operators.append(
            Operator(
                call,
                kind,
                len(operators),
                direction,
                tuple(held["input"]),
                tuple(held["output"]),
                source=frames.get(call, ""),
                module=module,
                rank=rank,
                step=step,
            )
        )
    folder = path.rpartition("/")[0]
    return Dump(FORMAT, folder, tuple(operators), "pytorch", rank, step, notes=tuple(notes))


def _tensor(call: str, role: Role, index: str, entry: list[Any]) -> Tensor | None:
    """One line; None for a scalar argument."""
    at = next((n for n, v in enumerate(entry) if n and isinstance(v, str) and v.startswith("torch.")), None)
    if at is None or at + 2 >= len(entry):
        return None
    shape, figures = entry[at + 1], next((v for v in reversed(entry) if isinstance(v, list)), [])
    if not isinstance(shape, list) or figures is shape:
        return None
    numbers = [float(v) if isinstance(v, (int, float)) else None for v in figures[:4]]
    high, low, mean, norm = (*numbers, None, None, None, None)[:4]
    kind = type_of(entry[at])
    return Tensor(
        call,
        role,
        index,
        kind.name if kind else entry[at][:40],
        tuple(int(n) for n in shape if isinstance(n, int)),
        statistics=Statistics(low, high, mean, norm),
    )
