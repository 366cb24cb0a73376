"""Jupyter notebooks (.ipynb) as one Python text: their code cells in order. Nothing is executed.

Each cell is headed by a comment that names it, so that a line of the text can be given back as cell and line.
Magics (`%matplotlib`) and shell lines (`!pip`) are blanked; a cell in another language is left out whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..files import RunFile, decode
from ._pasted import readable

SUFFIX = ".ipynb"
MAX_SIZE = 64 * 1024**2  # with its pictures; the code in it is bounded as in other scripts
_HEAD = "# %% cell "
_OUTPUT = " output"
_HEADED = re.compile(rf"^{re.escape(_HEAD)}(\d+)$")
_TIMED = ("time", "timeit", "capture", "prun", "memit")


@lru_cache(maxsize=1)  # its code and what it printed are read one after the other
def document_of(file: RunFile) -> Any:
    """The parsed JSON of a notebook. Raises ValueError where this is none."""
    try:
        return json.loads(decode(file.read_bytes(MAX_SIZE)))
    except (ValueError, RecursionError) as error:
        raise ValueError("no notebook: not the JSON that Jupyter writes") from error


def python_of(document: Any) -> tuple[str, tuple[str, ...]]:
    """The code of a notebook as one Python text, and what was left out, one sentence each.

    Raises ValueError where this is no notebook, or one of another language.
    """
    cells = cells_of(document)
    language = _language(document)
    if language not in ("", "python"):
        raise ValueError(f"a notebook in {language[:20]}, not in Python")
    lines: list[str] = []
    notes: list[str] = []
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        given, left_out = _code(_source(cell))
        lines += [f"{_HEAD}{number}", *given]
        if left_out:
            notes.append(f"cell {number} is {left_out} and is left out")
    return "\n".join(lines) + "\n", tuple(notes)


def cell_at(lines: Sequence[str], line: int) -> tuple[int, int]:
    """The cell and the line in it (both from 1) of a line of what `python_of` made; (0, line) if none."""
    for above in range(min(line, len(lines)), 0, -1):
        found = _HEADED.match(lines[above - 1])
        if found:
            return int(found.group(1)), line - above
    return 0, line


def label(path: str, cell: int) -> str:
    """How a cell is named where a file is: "train.ipynb cell 3"."""
    return f"{path} cell {cell}"


def output_label(path: str, cell: int) -> str:
    """How what a cell printed is named: "train.ipynb cell 3 output"."""
    return f"{label(path, cell)}{_OUTPUT}"


def file_of(name: str) -> str:
    """The notebook that a cell, or its output, is named after; any other file as it is."""
    name = name.removesuffix(_OUTPUT)
    before, found, rest = name.rpartition(f"{SUFFIX} cell ")
    return before + SUFFIX if found and rest.isdigit() else name


def cells_of(document: Any) -> list[Any]:
    """Cells of format 4, or of the worksheets of format 3."""
    if isinstance(document, dict):
        cells = document.get("cells")
        if isinstance(cells, list):
            return cells
        sheets = document.get("worksheets")
        if isinstance(sheets, list):
            return [c for s in sheets if isinstance(s, dict) for c in s.get("cells") or []]
    raise ValueError("no notebook: it has no cells")


def _language(document: Any) -> str:
    about = document.get("metadata")
    about = about if isinstance(about, dict) else {}
    for key, name in (("kernelspec", "language"), ("language_info", "name")):
        found = about.get(key)
        if isinstance(found, dict) and isinstance(found.get(name), str):
            return str(found[name]).lower()
    return ""


def _source(cell: dict[str, Any]) -> str:
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        return "".join(s for s in source if isinstance(s, str))
    return source if isinstance(source, str) else ""


def _code(source: str) -> tuple[list[str], str]:
    """The lines of a cell with the same numbers, and why it was blanked ("" if it was not)."""
    lines = re.split(r"\r\n|\r|\n", source)
    first = next((line.strip() for line in lines if line.strip()), "")
    if first.startswith("%%"):
        word = re.split(r"\s", first[2:], maxsplit=1)[0]
        if word not in _TIMED:
            return [""] * len(lines), f"no Python (%%{word[:20]})"
        lines[next(i for i, line in enumerate(lines) if line.strip())] = ""
    try:
        return readable("\n".join(lines))[0].split("\n"), ""
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [""] * len(lines), "no Python that this version reads"
