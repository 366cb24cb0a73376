"""Which files of a run directory belong to operator dumps, by name alone: they are opened when asked for."""

from __future__ import annotations

import re

from ..files import RunFile

# Names that no other tool writes; without one of them nothing is taken for part of a dump.
_MINDSPORE = r"[^.]+\..+\.\d+\.\d+\.\d+\.(?:input|output)\.\d+\.[^.\d][^.]*(?:\.[^.]+)?\.npy"
_ASCEND = (
    r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.\d+(?:\.\d{1,9})?\.\d{10,20}(?:\.\d+){0,4}"
    r"\.(?:input|output)\.\d+.*\.npy"
)
_ANCHORS = re.compile(rf"^(?:{_MINDSPORE}|{_ASCEND})$")
_MEMBERS = re.compile(
    r"^(?:ms_(?:global_)?execution_order_graph_\d+\.csv|ms_output_trace_code_graph_\d+\.(?:pb|ir)"
    r"|statistic\.csv|.+\.\d{1,4}\.\d{10,20}\.npy)$"
)
_FLAGS = re.compile(r"^Opdebug\..+\.\d{10,20}(?:\.output\.\d+\.json)?$")  # what the hardware flags
_JSON = frozenset({"stack.json", "construct.json", "fusion_result.json"})


def is_anchor(file: RunFile) -> bool:
    """Whether a file shows that there is a dump: by name, dump.json and statistic.csv by content."""
    try:
        if file.name == "dump.json":
            start = file.head_text[:4096]
            return '"task"' in start and '"level"' in start
        if file.name == "statistic.csv":
            return file.head_text.startswith("Op Type,Op Name,")
    except OSError:
        return False
    if _FLAGS.match(file.name):
        return True
    return file.suffix == ".npy" and _ANCHORS.match(file.name) is not None


def is_dump_file(file: RunFile) -> bool:
    """Whether a file is part of a dump, in a directory that holds one."""
    return (
        file.name in _JSON
        or "/dump_tensor_data/" in f"/{file.path}"
        or _MEMBERS.match(file.name) is not None
        or is_anchor(file)
    )
