"""Dumps of msprobe (mindstudio-probe): dump.json with stack.json, construct.json and tensor files.

One folder per step and rank (`step0/rank1`, or `step0/proc<pid>` for a run that is not distributed). Entries
stand in dump.json in the order of execution. Layout: FORMATS-ASCEND B3.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from ...engine.model import Scalar
from ..files import RunFile
from .layout import numbered
from .model import Direction, Dump, Operator, Role, Statistics, Tensor
from .npy import Unreadable, read_npy
from .numbers import type_of
from .pickle_walk import Opaque
from .stored import Stored
from .torch_file import read_torch

FORMAT = "msprobe"
MAX_JSON = 512 * 1024**2
MAX_OPERATORS = 2_000_000
MAX_DEPTH = 12  # of nested arguments
_MODULE = re.compile(
    r"^(?:Module|Cell)\.(?P<path>.+)\.(?P<kind>[^.]+)\.(?P<what>forward|backward|parameters_grad)\.\d+$"
)
_API = re.compile(r"^(?P<family>[^.]+)\.(?P<kind>.+)\.\d+\.(?P<what>forward|backward)$")
_FRAME = re.compile(
    r"File (?P<file>[^\n]+?), line (?P<line>\d+), in (?P<name>[^,\n]*),?\s*(?P<code>[^\n]*)$", re.S
)
# Frames of these are the framework's and the tool's own, not the user's.
_LIBRARY = re.compile(r"(?:site|dist)-packages/|/lib/python3[^/]*/|/(?:torch|torch_npu|mindspore|msprobe)/")


def find(files: Mapping[str, RunFile]) -> Iterator[Dump]:
    """Yield the dumps among these files (path -> file); one per step and rank."""
    for path, file in files.items():
        if file.name == "dump.json":
            dump = _read(file, PurePosixPath(path).parent.as_posix().removeprefix("."), files)
            if dump is not None:
                yield dump


def _read(file: RunFile, folder: str, files: Mapping[str, RunFile]) -> Dump | None:
    notes: list[str] = []
    content = _json(file, notes)
    if not isinstance(content, dict) or not isinstance(content.get("data"), dict):
        if notes:
            return Dump(FORMAT, folder, (), notes=tuple(notes))
        return None  # somebody else's dump.json
    step, rank = numbered(file, "step"), numbered(file, "rank")
    beside = f"{folder}/" if folder else ""
    source = _sources(files.get(beside + "stack.json"), notes)
    parents = _parents(files.get(beside + "construct.json"), notes)
    values = _Values(beside + "dump_tensor_data/", files, notes)
    operators: list[Operator] = []
    for name, entry in content["data"].items():
        if len(operators) >= MAX_OPERATORS:
            notes.append(f"only the first {MAX_OPERATORS} operators were looked at")
            break
        if isinstance(entry, dict):
            operators.append(_operator(str(name), entry, len(operators), source, parents, values, rank, step))
    if content.get("task") == "tensor" and not values.found:
        notes.append("a tensor dump without its dump_tensor_data folder: statistics only")
    framework = str(content.get("framework") or "").lower()
    return Dump(FORMAT, folder, _phases(operators), framework, rank, step, notes=tuple(dict.fromkeys(notes)))


def _json(file: RunFile, notes: list[str]) -> Any:
    """Parse; a file cut off at its end (the run was killed) gives the entries before the cut."""
    if file.size > MAX_JSON:
        notes.append(f"{file.path}: larger than {MAX_JSON >> 20} MiB, not read")
        return None
    text = file.read_text()
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    for end in _ends(text):
        try:
            found = json.loads(text[: end + 1] + "}}")
        except (ValueError, RecursionError):
            continue
        notes.append(f"{file.path}: damaged or cut off; what stands before that was read")
        return found
    if '"data"' in text[:4096]:
        notes.append(f"{file.path}: damaged, not read")
    return None


def _ends(text: str) -> Iterator[int]:
    """Places where the last entries of a cut dump.json may have ended, from the back."""
    at, tries = len(text), 0
    while tries < 200:
        at = text.rfind("}", 0, at)
        if at < 0:
            return
        tries += 1
        yield at


# ------------------------------------------------------------------------------------------ operators


def _operator(
    name: str,
    entry: dict[str, Any],
    order: int,
    source: Mapping[str, str],
    parents: Mapping[str, str],
    values: _Values,
    rank: int | None,
    step: int | None,
) -> Operator:
    kind, direction, module = told(name)
    arguments: dict[str, Scalar] = {}
    inputs: list[Tensor] = []
    outputs: list[Tensor] = []
    parameters: list[Tensor] = []
    # "input_args" in forward, "input" in backward; 8.x wrote backward as "grad_input" and "grad_output"
    grad_pair = "grad_input" in entry or "grad_output" in entry
    for key, value in entry.items():
        if key in ("input_args", "input", "grad_output" if grad_pair else "input"):
            _collect(name, "input", value, "", inputs, arguments, values)
        elif key == "input_kwargs":
            for word, item in value.items() if isinstance(value, dict) else ():
                _collect(name, "input", item, str(word), inputs, arguments, values)
        elif key in ("output", "grad_input" if grad_pair else "output"):
            _collect(name, "output", value, "", outputs, {}, values)
        elif key == "parameters":
            for word, item in value.items() if isinstance(value, dict) else ():
                _collect(name, "parameter", item, str(word), parameters, arguments, values)
        elif name.rpartition(".")[0].endswith("parameters_grad"):
            _collect(name, "gradient", value[0] if _single(value) else value, key, outputs, {}, values)
    return Operator(
        name,
        kind,
        order,
        direction,
        tuple(inputs),
        tuple(outputs),
        tuple(parameters),
        arguments,
        _scope(parents.get(name) or (name if module else "")),
        source.get(name) or source.get(name.replace(".backward", ".forward"), ""),
        module,
        rank,
        step,
    )


def _phases(operators: list[Operator]) -> tuple[Operator, ...]:
    """Call what runs after the last backward entry the optimizer's."""
    last = max((o.order for o in operators if o.direction == "backward"), default=len(operators))
    return tuple(
        replace(o, direction="optimizer")
        if o.order > last and o.direction == "forward" and not o.module
        else o
        for o in operators
    )


def _single(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 1


def told(name: str) -> tuple[str, Direction, bool]:
    """What an entry's name tells: its kind, its phase, and whether it is a module."""
    module = _MODULE.match(name)
    if module:
        return module["kind"], "forward" if module["what"] == "forward" else "backward", True
    api = _API.match(name)
    if api:
        return api["kind"], "backward" if api["what"] == "backward" else "forward", False
    return name, "forward", False


def _scope(module: str) -> str:
    found = _MODULE.match(module)
    return found["path"] if found else ""


def _collect(
    operator: str,
    role: Role,
    value: Any,
    at: str,
    tensors: list[Tensor],
    scalars: dict[str, Scalar],
    values: _Values,
    depth: int = 0,
) -> None:
    """Gather tensors and scalars of nested arguments; `at` is the index so far ("1.0")."""
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for i, item in enumerate(value):
            _collect(operator, role, item, f"{at}.{i}" if at else str(i), tensors, scalars, values, depth + 1)
    elif isinstance(value, dict) and "shape" in value and "dtype" in value:
        tensors.append(values.tensor(operator, role, at or "0", value))
    elif isinstance(value, dict) and "value" in value and "type" in value:
        if isinstance(value["value"], (str, int, float, bool)):
            scalars[at if at and not at[0].isdigit() else f"{role}.{at}"] = value["value"]
    elif isinstance(value, dict) and "type" not in value:
        for word, item in value.items():
            _collect(
                operator, role, item, f"{at}.{word}" if at else str(word), tensors, scalars, values, depth + 1
            )


class _Values:
    """Makes tensors; knows where their files are."""

    def __init__(self, folder: str, files: Mapping[str, RunFile], notes: list[str]) -> None:
        self.folder = folder
        self.files = files
        self.notes = notes
        self.found = any(f.startswith(folder) for f in files)

    def tensor(self, operator: str, role: Role, index: str, told: dict[str, Any]) -> Tensor:
        shape = told["shape"]
        sizes = tuple(n for n in shape if isinstance(n, int)) if isinstance(shape, list) else ()
        dtype = str(told["dtype"])
        element = type_of(dtype)
        digest = told.get("md5")
        statistics = Statistics(
            _number(told.get("Min")),
            _number(told.get("Max")),
            _number(told.get("Mean")),
            _number(told.get("Norm")),
            digest=digest.lower() if isinstance(digest, str) else "",
            digest_kind=("crc32" if len(digest) <= 8 else "md5") if isinstance(digest, str) else "",
        )
        name = str(told.get("data_name") or "")
        file = self.folder + name if name and "/" not in name and name != "-1" else ""
        stored, note = self._stored(file, sizes) if file else (None, "")
        return Tensor(
            operator, role, index, element.name if element else dtype, sizes, file, statistics, stored, note
        )

    def _stored(self, path: str, shape: tuple[int, ...]) -> tuple[Stored | None, str]:
        file = self.files.get(path)
        if file is None:
            return None, "its file is missing" if self.found else ""
        try:
            found = read_npy(file) if file.suffix == ".npy" else read_torch(file)
        except (Unreadable, OSError) as error:
            return self._passed(path, str(error))
        if isinstance(found, Opaque):
            return self._passed(path, found.name)
        if not isinstance(found, Stored):
            return self._passed(path, "holds more than one tensor")
        if found.shape != shape and found.count != math.prod(shape):
            return self._passed(path, "its shape is not the one that dump.json tells")
        return found, ""

    def _passed(self, path: str, why: str) -> tuple[None, str]:
        self.notes.append(f"{path}: {why}; its statistics are used")
        return None, why


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, (int, float)):
        try:
            return float(value)
        except OverflowError:
            return math.inf
    if isinstance(value, str):  # 8.x and MindSpore write non-finite figures as words
        word = value.strip().lower()
        return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}.get(word)
    return None


# ---------------------------------------------------------------------------------- stack, construct


def _sources(file: RunFile | None, notes: list[str]) -> dict[str, str]:
    """The user's own line behind each entry, from stack.json in either layout.

    26.x: {"0": [[entries], [frames]]}; 8.x: {entry: [frames]}.
    """
    content = _json(file, notes) if file is not None else None
    found: dict[str, str] = {}
    for key, value in content.items() if isinstance(content, dict) else ():
        if not isinstance(value, list):
            continue
        grouped = len(value) == 2 and isinstance(value[0], list) and isinstance(value[1], list)
        entries, frames = (value[0], value[1]) if grouped else ([key], value)
        line = own_line(frames)
        for entry in entries if line else ():
            found[str(entry)] = line
    return found


def own_line(frames: list[Any]) -> str:
    """The innermost frame outside the framework and the tool, as "train.py:18: code"."""
    for frame in frames[:200]:
        match = _FRAME.match(frame.strip()) if isinstance(frame, str) else None
        if match is None or _LIBRARY.search(match["file"].replace("\\", "/")):
            continue
        name = PurePosixPath(match["file"].replace("\\", "/")).name
        code = " ".join(match["code"].split())[:200]
        return f"{name}:{match['line']}" + (f": {code}" if code else "")
    return ""


def _parents(file: RunFile | None, notes: list[str]) -> dict[str, str]:
    content = _json(file, notes) if file is not None else None
    if not isinstance(content, dict):
        return {}
    found = {}
    for child, parent in content.items():
        told = parent[0] if isinstance(parent, list) and parent else parent  # 26.x may add the call's number
        if isinstance(told, str):
            found[str(child)] = told
    return found
