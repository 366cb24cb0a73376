"""Files that hold numbers alone, one curve each, and are named after it: `train_loss.txt`, `val_acc.csv`.

`numpy.savetxt`, a loop that prints, or `json.dump` of a list wrote them. One number in a row is a point; of
two the first is the step, where it always grows; of three the others are training and held-out data, in that
order, where both are of one size. What a loop printed (`print(step, loss.item())`) may have the name of any
output: there the step has to go on by one stride, and what stands beside it has to fall, to grow tenfold or
to end as no number. A file of another name is not looked at.
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
_PRINTED = frozenset(("out", "output", "stdout", "console", "nohup", "log", "print", "prints", "screen"))
_NUMBERS = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf)(?:inity)?", re.IGNORECASE)
_ELSE = re.compile(r"[^\d.eE+\-,;\sNnAaIiFfTtYy\[\]]")


def sniff(file: RunFile) -> bool:
    """Say whether the name is that of a curve, and the content are numbers."""
    if file.suffix not in _SUFFIXES or file.size > MAX_SIZE:
        return False
    name = _named(file.name)
    if name is None and not _is_output(file.name):
        return False
    text = file.head_text.rstrip("\0")  # what a power cut leaves behind
    if file.size > len(file.head):
        text = text[: max(text.rfind("\n"), text.rfind(","), 0)]
    found = None if _ELSE.search(text) else _curve(text)
    return found is not None and (name is not None or _printed(found[0], found[1]))


def read(file: RunFile) -> FileContent:
    """Read the curve. Raises ValueError where the file goes on as something else."""
    name = _named(file.name) or "loss"
    found = _curve(file.read_text().rstrip("\0"))
    if found is None:
        raise ValueError("rows of different lengths, or no numbers")
    steps, columns, lines = found
    counted = steps is not None and bool(np.any(np.diff(steps) != 1))  # else steps or epochs, who knows
    places = steps if steps is not None else np.arange(1.0, len(columns) + 1)
    notes: tuple[str, ...] = () if counted else ("the numbers have no steps: they are counted",)
    if _named(file.name) is None:
        notes += ("the numbers have no name: taken for the loss",)
    sides: tuple[str, ...] = ("",)
    if columns.shape[1] == 2:
        sides = ("train", "eval")
        notes += ("the columns have no names: taken for training and held-out data",)
    return FileContent(
        FORMAT,
        tuple(
            Series(
                f"{side} {name}".strip(),
                f"{side} {name}".strip(),
                file.path,
                places,
                columns[:, at],
                "step" if counted else "row",
                lines=lines,
            )
            for at, side in enumerate(sides)
        ),
        notes=notes,
    )


def _named(name: str) -> str | None:
    """The curve after which a file is named, or None."""
    words = [w for w in re.split(r"[\W_]+", name.rpartition(".")[0] or name) if w]
    words = [_PLURALS.get(w.lower(), w) for w in words if w.lower() not in _OF_A_FILE]
    told = "_".join(words)
    return told if words and names.canonical(told) is not None else None


def _is_output(name: str) -> bool:
    """`out.txt`, `console.log`, `nohup.out`: named after nothing but that it was printed."""
    words = [w.lower() for w in re.split(r"[\W_\d]+", name) if w]
    return bool(words) and all(w in _PRINTED or f".{w}" in _SUFFIXES for w in words)


def _printed(steps: Floats | None, columns: Floats) -> bool:
    """Whether one number beside a step with one stride goes as losses go, and as lists of results do not."""
    if steps is None or columns.shape[1] != 1 or len(set(np.diff(steps).tolist())) != 1:
        return False
    values = columns[:, 0]
    if not np.isfinite(values[-1]):
        return bool(np.isfinite(values[0]))
    known = values[np.isfinite(values)]
    third = max(1, len(known) // 3)
    first, last = float(np.median(known[:third])), float(np.median(known[-third:]))
    return first > 0 and (last < 0.9 * first or last > 10 * first)


def _curve(text: str) -> tuple[Floats | None, Floats, np.ndarray | None] | None:
    """(steps, columns, lines) of rows of one to three numbers each, or of one list; else None."""
    if text.lstrip("\ufeff \t\r\n").startswith("["):
        listed = np.array([float(m) for m in _NUMBERS.findall(text)])
        return (None, listed[:, None], None) if len(listed) >= FEW and text.count("[") == 1 else None
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
        return None, np.array(cells), lines
    if width not in ({2}, {3}):
        return None
    table = np.array(cells)
    steps, columns = table[:, 0], table[:, 1:]
    if len(steps) < FEW or not np.all(np.diff(steps) > 0) or np.any(steps != np.floor(steps)):
        return None
    return (steps, columns, lines) if _of_one_size(columns) else None


def _of_one_size(columns: Floats) -> bool:
    """Whether two columns may be one error of two data sets: positive, of one size at first, and falling.

    A rate that stands, or an accuracy that rises beside a loss, is no error of other data.
    """
    if columns.shape[1] == 1:
        return True
    first = columns[: max(3, len(columns) // 10)]
    if not np.all(np.isfinite(first)) or np.any(columns < 0):
        return False
    one, other = np.median(first, axis=0)
    falls = bool(np.all(np.nanmin(columns, axis=0) < 0.95 * columns[0]))
    return falls and bool(one > 0 and other > 0 and 0.1 < other / one < 10)
