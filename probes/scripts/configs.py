"""DeepSpeed's configuration that belongs to a script: the JSON that it names, or that lies beside it.

Nothing is executed and no link leads out of the project; other JSON files are left alone.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterator, Mapping
from typing import Protocol

from ..files import RunFile
from ..readers import config_file, script
from ..readers._config_tree import parse_json
from ..run import FileContent

MAX_BESIDE = 200  # JSON files of one folder that are looked at
_OWN = frozenset(
    [
        "train_batch_size",
        "train_micro_batch_size_per_gpu",
        "gradient_accumulation_steps",
        "zero_optimization",
        "gradient_clipping",
        "fp16",
        "bf16",
        "optimizer",
        "scheduler",
        "steps_per_print",
        "wall_clock_breakdown",
        "amp",
    ]
)
_SURE = frozenset({"train_micro_batch_size_per_gpu", "zero_optimization", "train_batch_size"})
_LEAST = 2  # keys of DeepSpeed, one of them nobody else's


class Files(Protocol):
    """Where files are looked up by path, below a root."""

    def file(self, path: str) -> RunFile | None:
        """The file at a path."""

    def inside(self, folder: str) -> list[str]:
        """The names in a folder, sorted."""


def of_scripts(
    contents: Mapping[str, FileContent], disk: Files, notes: list[str]
) -> dict[str, dict[str, FileContent]]:
    """The configurations of each script that uses DeepSpeed, by the script's path and their own."""
    seen: dict[str, FileContent | None] = {}
    found: dict[str, dict[str, FileContent]] = {}
    for path, content in contents.items():
        if "deepspeed" not in (content.script or "").lower():
            continue
        folder = posixpath.dirname(path)
        named = {p: c for p in _named(path, content) if (c := _read(p, disk, seen)) is not None}
        if not named:
            near = [n for n in disk.inside(folder) if n.endswith(".json")][:MAX_BESIDE]
            paths = [posixpath.join(folder, n) for n in near]
            named = {p: c for p in paths if (c := _read(p, disk, seen)) is not None}
            if len(named) > 1:
                notes.append(
                    f"{path} names none of the {len(named)} DeepSpeed configurations beside it; none is read"
                )
                continue
        if named:
            found[path] = named
    return found


def _named(path: str, content: FileContent) -> Iterator[str]:
    """Paths that a script writes out: from its own folder, from the top."""
    for node in ast.walk(script.parsed(content.script or "")):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.endswith(".json"):
            for base in dict.fromkeys((posixpath.dirname(path), "")):
                full = posixpath.normpath(posixpath.join(base, node.value))
                if not full.startswith(("/", "..")):
                    yield full


def _read(path: str, disk: Files, seen: dict[str, FileContent | None]) -> FileContent | None:
    if path not in seen:
        try:
            seen[path] = _content(disk.file(path))
        except (OSError, ValueError, RecursionError):
            seen[path] = None
    return seen[path]


def _content(file: RunFile | None) -> FileContent | None:
    """What is configured in a file, if it is DeepSpeed's."""
    if file is None or file.size > config_file.MAX_SIZE or file.binary:
        return None
    root = parse_json(file.read_text(config_file.MAX_SIZE)).root
    if root is None or root.kind != "map":
        return None
    keys = set(root.items)
    if len(keys & _OWN) < _LEAST or not keys & _SURE:
        return None
    return config_file.read(file)
