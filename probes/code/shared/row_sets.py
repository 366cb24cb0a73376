"""Sets of rows of a stand-in table, and the words by which calls that read tables are known."""

from __future__ import annotations

import ast
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ...readers._tree import unparse
from ...readers.script import last_name
from ...scripts.syntax import Function
from .sides import side

ROWS = 1000  # of the stand-in
ALL = frozenset(range(ROWS))
DEPTH = 24
MOST = 4000  # expressions that are asked for in one script
ROUNDS = {"int": int, "round": round, "floor": int, "ceil": lambda x: -int(-x // 1), "max": max, "min": min}
ORDER = ("permutation", "randperm", "arange", "range")
FIGURES = (
    *(
        "mean",
        "nanmean",
        "std",
        "nanstd",
        "var",
        "median",
        "nanmedian",
        "sum",
        "min",
        "max",
        "len",
        "groupby",
    ),
    *("quantile", "percentile", "bincount", "value_counts", "Counter", "nunique", "count", "corr", "any"),
    *("argmax", "argmin", "all", "describe", "mode", "item", "size", "print", "zip", "iter", "next", "join"),
    *("zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like", "fit", "eval"),
)
TWO_PARTS = ("train_test_split", "random_split", "split", "array_split", "split_dataset")
JOINS = ("concat", "concatenate", "vstack", "cat", "chain", "ConcatDataset", "concatenate_datasets", "union")
NO_COLUMNS = ("shape", "columns", "dtype", "size", "dtypes")
LIBRARIES = ("np", "torch", "pd", "tf", "random", "itertools")
LESS = ("difference", "setdiff1d")


READS = re.compile(
    r"(?i)read|load|open|^i?glob|listdir|scandir|walk|genfromtxt|loadtxt|fetch|list_|_list|scan|iterdir|sql|table|"
    r"rows|pairs|records|samples|windows|sequences|frame|files|items|(?:Dataset|Folder)$|^DataFrame$|gather|collect|"
    r"make_(?:data|moons|blobs|class)|simulate|generate_"
)
NO_DATA = re.compile(
    r"(?i)loader|prefetch|load_state|load_model|model|config|json|yaml|toml|pretrained|tokenizer|dotenv|metric|"
    r"lock|eval|valid|predict|writer|_iterator|log|shuffle|readout|reader$"
)


NO_ROWS = ("shape", "size", "dtype", "dtypes", "columns", "column_names", "features", "schema")  # of a table
OF_ROWS = re.compile(r"(?i)(?:^|_)(?:rows|samples|records|examples|pairs|part|subset|entries|lines)$")
COLUMNS = re.compile(
    r"(?i)(?:^|_)(?:cols?|columns?|features?|feats?|target|label|numeric\w*|categor\w*)(?:_|$)"
)


@dataclass(frozen=True)
class Rows:
    """Rows of a table: its name, which of the stand-in's, and the table that its groups are of."""

    table: str
    rows: frozenset[int]
    root: str = ""
    made_in: Function | None = None  # the function that reads the table

    @property
    def whole(self) -> bool:
        """All rows of the table."""
        return len(self.rows) == ROWS


def worked_out(op: ast.operator, left: float | None, right: float | None) -> float | None:
    """The outcome of plain arithmetic; None of what is not known."""
    if left is None or right is None:
        return None
    match op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div():
            return left / right if right else None
        case ast.FloorDiv():
            return left // right if right else None
    return None


def reaches_back(cut: ast.Slice) -> bool:
    """`rows[cut - window:]`: the name of another bound, less some steps."""
    low = cut.lower
    return isinstance(low, ast.BinOp) and isinstance(low.op, ast.Sub) and isinstance(low.left, ast.Name)


def index(value: object) -> int | None:
    """The row of the stand-in for a number or text that is written out."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if 0 <= value < ROWS else None
    return zlib.crc32(value.encode()) % ROWS if isinstance(value, str) else None


def inner(over: ast.expr) -> ast.expr:
    """What a loop goes over, behind `zip(paths, kinds)` and `enumerate(rows)`."""
    while (
        isinstance(over, ast.Call)
        and last_name(over.func) in ("zip", "enumerate", "iter", "tqdm")
        and over.args
    ):
        over = over.args[0]
    return over


def groups(held: Rows, about: str) -> Rows | None:
    """The groups of all rows, as a table of their own; of some rows they stay these rows."""
    if not held.whole:
        return held
    return Rows(f"{held.table}|groups of {about}", ALL, held.root or held.table, held.made_in)


def within(held: Rows | None, chosen: Rows) -> Rows | None:
    """Those of some rows for which a condition holds."""
    if held is None or held.whole:
        return chosen
    return replace(held, rows=held.rows & chosen.rows) if held.table == chosen.table else None


def joined(found: Iterable[Rows | None], meet: bool) -> Rows | None:
    """Rows that are in all of several, or in any of them, of one table."""
    parts = list(found)
    if not parts or any(p is None for p in parts):
        return None
    found_rows: frozenset[int] | None = None
    known = [p for p in parts if p is not None]
    for part in known:
        if part.table != known[0].table:
            return None
        if found_rows is None:
            found_rows = part.rows
        else:
            found_rows = found_rows & part.rows if meet else found_rows | part.rows
    return None if found_rows is None else replace(known[0], rows=found_rows)


def without(held: Rows | None, taken: Rows | None) -> Rows | None:
    """What is left of rows when others of the same table are taken away."""
    if held is None or taken is None or held.table != taken.table:
        return None
    return replace(held, rows=held.rows - taken.rows)


def one(found: Iterable[Rows | None]) -> Rows | None:
    """The rows that all that is known is of; None of several."""
    known = {f for f in found if f is not None and f.table != "numbers"}
    return next(iter(known)) if len(known) == 1 else None


def names_a_side(call: ast.Call) -> bool:
    """`load(files, "train")`, `part(rows, val=True)`: the function picks rows by what it is told."""
    texts = [a.value for a in (*call.args, *(k.value for k in call.keywords)) if isinstance(a, ast.Constant)]
    return any(isinstance(t, str) and side(t) is not None for t in texts) or any(
        k.arg is not None and side(k.arg) is not None and isinstance(k.value, ast.Constant)
        for k in call.keywords
    )


def root(node: ast.expr) -> str:
    """`table` of `table[mask].copy()`."""
    while True:
        if isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, (ast.Subscript, ast.Attribute)) and not (
            isinstance(node, ast.Attribute) and unparse(node.value) == "self"
        ):
            node = node.value
        else:
            return unparse(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""
