"""A table of a thousand rows that stands in for one that a script reads, and what values tell of it."""

from __future__ import annotations

import ast
import math
import re
import zlib
from dataclasses import dataclass

from .values import Term

ROWS = 1000
GROUPS = 100
DEPTH = 60
ASIDE = ("sampler", "batch_sampler", "collate_fn", "weights", "class_weight", "stratify", "generator")
_TOP = 500  # bounds that are written out and larger than this are drawn together below ROWS


@dataclass(frozen=True)
class Held:
    """Rows of a table in their order.

    `groups`: the column whose groups they are; `windows`: each reaches over several rows; `torn`: such
    windows dealt by chance; `mask`: the rows that a condition holds for.
    """

    table: object
    rows: tuple[int, ...]
    groups: str = ""
    windows: bool = False
    torn: bool = False
    mask: bool = False

    @property
    def all(self) -> frozenset[int]:
        """The rows without their order."""
        return frozenset(self.rows)

    @property
    def whole(self) -> bool:
        """All rows of the table."""
        return len(self.all) == (GROUPS if self.groups else ROWS)


def seed_of(*told: object) -> int:
    """A seed of what is told."""
    return zlib.crc32(repr(told).encode())


_LOADS = ("load_dataset", "load_from_disk", "DatasetDict", "load", "from_csv", "File")
_ENTRIES = (
    *(
        "map",
        "filter",
        "remove_columns",
        "rename_column",
        "rename_columns",
        "cast_column",
        "with_format",
        "shuffle",
    ),
    *("set_format", "class_encode_column", "cast", "DatasetDict", "dict", "select_columns", "flatten"),
)


def entry_of(t: Term, name: str, depth: int = 12) -> Term | None:
    """What a dict of data sets holds under a name, behind what is done to all of them."""
    for _ in range(depth):
        if t.head == "dict" and name in t.value:
            found: Term = t.value[name]
            return found
        if t.head == "setitem" and t.args[1].head == "const":
            if t.args[1].value == name:
                return t.args[2]
            t = t.args[0]
        elif t.head.startswith("call:") and t.name in _ENTRIES and t.args:
            t = t.args[0]
        else:
            return None
    return None


def of_several(t: Term, depth: int = 12) -> bool:
    """A call that loads several parts at once, behind what is done to all of them."""
    for _ in range(depth):
        if t.head.startswith("call:") and t.name in _LOADS:
            return True
        if t.head in ("setitem",) or (t.head.startswith("call:") and t.name in _ENTRIES and t.args):
            t = t.args[0]
        else:
            return False
    return False


def small(rows: float) -> float:
    """A number of rows written out that is counted from the end: at most a tenth, as tables are larger.

    With `drawn`, no cut from the front meets one from the end: `x[:50000]` and `x[-10000:]` are apart.
    """
    if abs(rows) < 2:
        return rows
    near = abs(rows) / 10 if abs(rows) <= _TOP else 50 + 50 * (1 - _TOP / abs(rows))
    return math.copysign(max(1.0, near // 1), rows)


def drawn(bound: float) -> float:
    """A bound that is written out: from the front drawn together below ROWS, from the end a `small` one."""
    if bound < 0:
        return small(bound)
    return bound if bound <= _TOP else float(int(_TOP + (ROWS - _TOP) * 0.8 * (1 - _TOP / bound)))


def below(bound: int | None, n: int) -> int | None:
    """A bound within the stand-in."""
    return bound if bound is None or abs(bound) <= _TOP or abs(bound) <= n else int(drawn(bound))


def hashed(row: int, seed: int) -> int:
    """A number of a row that looks like chance."""
    return zlib.crc32(b"%d.%d" % (row, seed))


def group_of(row: int, salt: int) -> int:
    """The group that a row is of."""
    return hashed(row, salt) % GROUPS


def column_of(t: Term | None, depth: int = 12) -> str:
    """The column that a value is of: its name, or the key of the term."""
    first = t
    for _ in range(depth):
        if t is None:
            return ""
        if t.head == "item" and t.args[1].head == "const" and isinstance(t.args[1].value, str):
            return t.args[1].value
        if t.head.startswith("attr:") and t.name not in ("values", "iloc", "loc", "str", "dt", "index"):
            return t.name
        if t.head in ("each", "slice", "list_of", "item") or t.head.startswith(("call:", "attr:")):
            if not t.args:
                break
            if t.head.startswith("call:") and t.name not in _PLAIN:
                return f"{t.name} of {column_of(t.args[-1], depth - 1)}" if len(t.args) <= 2 else f"#{t.key}"
            t = t.args[0]
            continue
        break
    return f"#{first.key}" if first is not None else ""


_PLAIN = (
    *(
        "sorted",
        "list",
        "set",
        "unique",
        "tuple",
        "shuffled",
        "permutation",
        "to_numpy",
        "tolist",
        "array",
        "asarray",
    ),
    *("astype", "sample", "shuffle", "reset_index", "values", "int", "str"),
)


def counted(t: Term, depth: int = 8) -> bool:
    """It is made of the count of a loop; a length of what a loop has made is not."""
    if t.head == "count" or (t.head == "leaf" and t.value == "<n>"):
        return True
    if depth == 0 or t.head in ("call:len", "attr:shape", "call:size"):
        return False
    if t.head == "list_of" and any(k.startswith("if") for k in t.kw):
        return False  # those for which a condition holds: which, is told elsewhere or not at all
    return any(counted(a, depth - 1) for a in t.args)


def reaches(bounds: list[Term | None]) -> bool:
    """A cut from the count of a loop to some steps on: `rows[i : i + 30]`, whose neighbours overlap."""
    low, high = bounds[0], bounds[1]
    if low is None or high is None or high.head != "op:+" or low.head not in ("count", "leaf"):
        return False
    step = low.args[2] if len(low.args) >= 3 else None
    if step is not None and not (step.is_number and step.value == 1):
        return False
    return any(a.key == low.key for a in high.args)


def tells_little(test: Term) -> bool:
    """A condition that leaves out what is broken: an ending of a name, a length, a value that is there."""
    text = ast.unparse(test.node) if isinstance(test.node, ast.expr) else ""
    return (
        re.search(r"endswith|suffix|startswith|isfile|exists|len\(|is not None|strip|isnan|splitext", text)
        is not None
    )


def parted_at(t: Term) -> bool:
    """`np.split(ids, [a, b])`: a list of parts, cut at places; `x.split(64)` gives batches."""
    cuts = t.kw.get("indices_or_sections") or (t.args[-1] if len(t.args) > 1 else None)
    return t.name in ("split", "array_split", "tensor_split") and cuts is not None and cuts.head == "tuple"
