"""Files that hold numbers alone, one curve each, and are named after it: `train_loss.txt`, `val_acc.csv`.

`numpy.savetxt`, a loop that prints, or `json.dump` of a list wrote them. One number in a row is a point; of
two the first is the step, where it always grows. A file whose name is that of no curve is not looked at.
"""

from __future__ import annotations

import re

import numpy as np

from ..assembly import names
from ..files import RunFile
from ..run import FileContent, Floats, Series
from . import Gives

FORMAT = "bare-numbers"
GIVES = Gives(
    title="Numbers without names in a file that is named after them",
    files="`train_loss.txt`, `val_losses.csv`, `loss.dat`, `losses.json` of own scripts",
    lacks="Epochs and settings. Steps, where each row holds one number.",
    scalars="yes",
    steps="some",
    lines="some",
)
MAX_SIZE = 64 * 1024**2
FEW = 8  # rows that are taken for a curve
LONG = 400  # characters in a row
_SUFFIXES = frozenset({".txt", ".csv", ".tsv", ".dat", ".log", ".out", ".json", ".lst", ""})
_PLURALS = {
    "losses": "loss",
    "accs": "acc",
    "accuracies": "acc",
    "errors": "error",
    "lrs": "lr",
    "ppls": "ppl",
    "rewards": "reward",
    "returns": "return",
}
_OF_A_FILE = frozenset(
    [
        "history",
        "hist",
        "curve",
        "curves",
        "values",
        "list",
        "log",
        "data",
        "record",
        "records",
        "all",
        "results",
    ]
)
_NUMBERS = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf)(?:inity)?", re.IGNORECASE)
_ELSE = re.compile(r"[^\d.eE+\-,;\sNnAaIiFfTtYy\[\]]")


def sniff(file: RunFile) -> bool:
    """Say whether the name is that of a curve, and the content are numbers."""
    if file.suffix not in _SUFFIXES or file.size > MAX_SIZE or not _named(file.name):
        return False
    text = file.head_text.rstrip("\0")  # what a power cut leaves behind
    if file.size > len(file.head):
        text = text[: max(text.rfind("\n"), text.rfind(","), 0)]
    return not _ELSE.search(text) and _curve(text) is not None


def read(file: RunFile) -> FileContent:
    """Read the curve. Raises ValueError where the file goes on as something else."""
    name = _named(file.name)
    found = _curve(file.read_text().rstrip("\0"))
    if name is None or found is None:
        raise ValueError("rows of different lengths, or no numbers")
    steps, values, lines = found
    counted = steps is not None and bool(np.any(np.diff(steps) != 1))  # else steps or epochs, who knows
    return FileContent(
        FORMAT,
        (
            Series(
                name,
                name,
                file.path,
                steps if steps is not None else np.arange(1.0, len(values) + 1),
                values,
                "step" if counted else "row",
                lines=lines,
            ),
        ),
        notes=() if counted else ("the numbers have no steps: they are counted",),
    )


def _named(name: str) -> str | None:
    """The curve after which a file is named, or None."""
    words = [w for w in re.split(r"[\W_]+", name.rpartition(".")[0] or name) if w]
    words = [_PLURALS.get(w.lower(), w) for w in words if w.lower() not in _OF_A_FILE]
    told = "_".join(words)
    return told if words and names.canonical(told) is not None else None


def _curve(text: str) -> tuple[Floats | None, Floats, np.ndarray | None] | None:
    """(steps, values, lines) of rows of one or two numbers each, or of one list; None for anything else."""
    if text.lstrip("\ufeff \t\r\n").startswith("["):
        listed = np.array([float(m) for m in _NUMBERS.findall(text)])
        return (None, listed, None) if len(listed) >= FEW and text.count("[") == 1 else None
    rows = [(at, row) for at, row in enumerate(text.splitlines(), start=1) if row.strip()]
    if len(rows) < FEW or len(rows[0][1]) > LONG or "[" in text:
        return None
    try:
        cells = [[float(c) for c in row.replace(",", " ").replace(";", " ").split()] for _, row in rows]
    except ValueError:
        return None
    if cells and len(cells[-1]) < len(cells[0]):
        cells, rows = cells[:-1], rows[:-1]  # cut off while it was written
    width = {len(row) for row in cells}
    lines = np.array([at for at, _ in rows], dtype=np.int64)
    if width == {1}:
        return None, np.array([row[0] for row in cells]), lines
    steps = np.array([row[0] for row in cells]) if width == {2} else np.empty(0)
    if len(steps) < FEW or not np.all(np.diff(steps) > 0) or np.any(steps != np.floor(steps)):
        return None
    return steps, np.array([row[1] for row in cells]), lines
