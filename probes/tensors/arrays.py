"""Plain folders of arrays: what people's own hooks write. One .npy, .npz or .pt per tensor, or one for many.

A name such as `fc1.input.0.npy` or `fc1_out.npy` tells operator and role; any other array is an output.
The order of execution is not known: names are taken in natural order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from ..assembly.layout import natural
from ..files import RunFile
from .layout import by_folder, numbered
from .model import Dump, Operator, Role, Tensor
from .npy import Unreadable, read_npy, read_npz
from .pickle_walk import Opaque
from .stored import Stored
from .torch_file import read_torch

FORMAT = "arrays"
MAX_ARRAYS = 200_000
_ROLE = re.compile(
    r"^(?P<name>.+?)[._-](?P<role>input|output|in|out|grad|weight|bias)s?(?:[._-](?P<slot>\d{1,4}))?$", re.I
)
_ROLES: dict[str, Role] = {
    "input": "input",
    "in": "input",
    "output": "output",
    "out": "output",
    "grad": "gradient",
    "weight": "parameter",
    "bias": "parameter",
}
_SUFFIXES = (".npy", ".npz", ".pt", ".pth")


def find(files: Mapping[str, RunFile]) -> Iterator[Dump]:
    """Yield one dump per folder that holds arrays (per step and rank, where folders are called so)."""
    for folder, members in by_folder({p: f for p, f in files.items() if f.suffix in _SUFFIXES}).items():
        notes: list[str] = []
        operators: dict[str, list[Tensor]] = {}
        for name, stored, file in _arrays(members, notes):
            tensor = _tensor(name, stored, file)
            operators.setdefault(tensor.operator, []).append(tensor)
        if not operators:
            continue
        rank, step = numbered(members[0], "rank"), numbered(members[0], "step")
        made = [
            Operator(
                name,
                name,
                order,
                inputs=tuple(t for t in tensors if t.role == "input"),
                outputs=tuple(t for t in tensors if t.role in ("output", "gradient")),
                parameters=tuple(t for t in tensors if t.role == "parameter"),
                rank=rank,
                step=step,
            )
            for order, (name, tensors) in enumerate(
                sorted(operators.items(), key=lambda item: natural(item[0]))
            )
        ]
        notes.append("the order of execution is not known: names are taken in natural order")
        yield Dump(FORMAT, folder, tuple(made), rank=rank, step=step, ordered=False, notes=tuple(notes))


def _arrays(members: list[RunFile], notes: list[str]) -> Iterator[tuple[str, Stored, RunFile]]:
    count = 0
    for file in members:
        for name, stored in _of_file(file):
            if isinstance(stored, Stored):
                count += 1
                if count > MAX_ARRAYS:
                    notes.append(f"only the first {MAX_ARRAYS} arrays were looked at")
                    return
                yield name, stored, file
            else:
                notes.append(f"{file.path}: {stored}; passed over")


def _of_file(file: RunFile) -> Iterator[tuple[str, Stored | str]]:
    stem = PurePosixPath(file.name).stem
    try:
        if file.suffix == ".npz":
            for name, found in read_npz(file):
                yield name, found if isinstance(found, Stored) else f"{name} {found}"
        elif file.suffix == ".npy":
            yield stem, read_npy(file)
        else:
            yield from _of_torch(stem, read_torch(file))
    except (Unreadable, OSError) as error:
        yield stem, str(error)


def _of_torch(name: str, found: Any, depth: int = 0) -> Iterator[tuple[str, Stored | str]]:
    if isinstance(found, Stored):
        yield name, found
    elif isinstance(found, Opaque) and found.name.startswith("a tensor"):
        yield name, found.name
    elif depth < 4 and isinstance(found, (dict, list, tuple)):
        items = found.items() if isinstance(found, dict) else enumerate(found)
        for key, value in items:
            yield from _of_torch(
                f"{name}.{key}" if depth or not isinstance(found, dict) else str(key), value, depth + 1
            )


def _tensor(name: str, stored: Stored, file: RunFile) -> Tensor:
    match = _ROLE.match(name)
    if match is None:
        return Tensor(name, "output", "0", stored.type.name, stored.shape, file.path, stored=stored)
    word = match["role"].lower()
    role = _ROLES[word]
    index = match["slot"] or ("0" if role in ("input", "output") else word)
    return Tensor(match["name"], role, index, stored.type.name, stored.shape, file.path, stored=stored)
