"""Columns of tables in a rehearsal, and the rows that conditions on them choose.

A table has some made rows. Each constant that a column is compared with gets rows of its own, and thresholds
stand in order, so that conditions are concrete masks: `df[df.year < 2019]` and `df[df.year >= 2019]` share
no row. What a column's values are made into is a column of its own; a second one of the same column is not
known, since nothing tells how the two lie to one another.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...script_diff.vocabulary import word_set
from ..libraries import Call, function, method
from ..values import Maybe, Routine, Series, Tensor, Unknown

if TYPE_CHECKING:
    from ..machine import Machine

_ORDERED = re.compile(r"(?i)date|time|year|month|week|day|stamp|hour|season|step|epoch|order|(?:^|_)ts$")
BANDS = 8  # constants of a column that get rows of their own
GROUPS = 10  # values of a column that a program asks for: patients, speakers
FIRST_GROUP = 7_000_000  # the first of these values; those of another column are others
_FIRST = 0.7  # where the first threshold of a column lies


class Column:
    """How the values of a column lie over the rows of its table."""

    def __init__(self, name: str, rows: int) -> None:
        seed = sum(ord(c) * (i + 1) for i, c in enumerate(name))
        random = np.random.default_rng(seed)
        order = np.arange(rows) if _ORDERED.search(name) else random.permutation(rows)
        self.name = name
        self.place = np.empty(rows)
        self.place[order] = (np.arange(rows) + 0.5) / max(rows, 1)
        self.band = random.permutation(rows) % BANDS
        self.equal: dict[Any, int] = {}
        self.cuts: dict[Any, float] = {}
        self.key = ""
        self.groups = FIRST_GROUP + np.arange(GROUPS)  # its values, where a program asks which there are
        self.group = random.permutation(rows) % GROUPS

    def is_among(self, values: np.ndarray, rows: np.ndarray) -> np.ndarray | None:
        """Which rows have one of these of its values; None where they are none of its own."""
        if not np.isin(values, self.groups).all():
            return None
        return np.isin(self.groups[self.group[rows]], values)

    def is_equal(self, value: Any, rows: np.ndarray) -> np.ndarray | None:
        """Which rows have a value; None where there are too many values."""
        if isinstance(value, int) and value >= FIRST_GROUP:
            return self.is_among(np.asarray([value]), rows)
        if self.cuts:
            return None
        if isinstance(value, (bool, np.bool_)):
            return np.asarray((self.band[rows] < 2) == bool(value))
        if value not in self.equal and len(self.equal) >= BANDS:
            return None
        return np.asarray(self.band[rows] == self.equal.setdefault(value, len(self.equal)))

    def below(self, value: Any, rows: np.ndarray) -> np.ndarray | None:
        """Which rows lie below a threshold; None where its order among the others is not known."""
        if isinstance(value, Tensor):  # a quantile
            return np.asarray(self.place[rows] < value.place) if value.place is not None else None
        if self.equal:
            return None
        if value not in self.cuts:
            if self.cuts and any(str(v).startswith("?") for v in (value, *self.cuts)):
                return None  # one that is worked out: nothing tells how it lies to the others
            try:
                lower = [p for v, p in self.cuts.items() if v < value]
                upper = [p for v, p in self.cuts.items() if v > value]
            except TypeError:
                return None
            if not self.cuts:
                self.cuts[value] = _FIRST
            else:
                self.cuts[value] = (max(lower, default=0.0) + min(upper, default=1.0)) / 2
        return np.asarray(self.place[rows] < self.cuts[value])


def column_of(machine: Machine, held: Series) -> Column | None:
    """What is known of a column; None where another thing made of it was asked for before."""
    root = held.key.partition("|")[0]
    made = machine.columns.get((held.table, root))
    if made is None:
        made = machine.columns[held.table, root] = Column(root, machine.tables[held.table][1])
        made.groups += GROUPS * len(machine.columns)
        made.key = held.key
    return made if made.key == held.key else None


def masked(machine: Machine, op: ast.cmpop, left: Any, right: Any) -> Any:
    """A column compared with a constant, as a mask; `NotImplemented` where it is no such comparison."""
    turned = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE}
    kind: Any = type(op)
    if isinstance(right, Series) and not isinstance(left, Tensor):
        left, right, kind = right, left, turned.get(kind, kind)
    if isinstance(left, Tensor) and left.done in _SHARES and isinstance(right, float):
        return drawn_mask(machine, left, kind, right)
    cut = isinstance(right, Tensor) and right.place is not None
    if (
        not isinstance(left, Series)
        and isinstance(left, Tensor)
        and (labels := _labels(machine, left)) is not None
    ):
        left = labels
    if not isinstance(left, Series) or (isinstance(right, Tensor) and not cut) or left.asked:
        return NotImplemented
    return mask(machine, left, kind, right)


_NAMED_LABELS = re.compile(r"(?i)(?:^|_)(?:y|ys|labels?|targets?|class(?:es)?)(?:_|$)")


def _labels(machine: Machine, held: Tensor) -> Series | None:
    """The labels of a file of arrays, `arc["y"]`, as a column."""
    name = next((h for h in held.held if not h.startswith(("<", "file "))), "")
    if not _NAMED_LABELS.search(name) or whole_column(machine, held) is None:
        return None
    made = Series(key="+".join(sorted(held.held)))
    made.become(held)
    return made


_SHARES = (("random",), ("rand",))  # evenly drawn between 0 and 1


def drawn_mask(machine: Machine, held: Tensor, kind: Any, share: float) -> Any:
    """Which of many numbers that the program draws lie on one side of a share, by drawing some."""
    if held.rows is None or held.table not in machine.made_tables or kind in (ast.Eq, ast.NotEq):
        return NotImplemented
    numbers = np.random.default_rng(held.table).random(len(held.rows))
    below = numbers < share
    return Tensor(done=("mask",), number=below if kind in (ast.Lt, ast.LtE) else ~below)


def mask(machine: Machine, held: Series, kind: Any, value: Any) -> Any:
    """Which rows of a column compare so with a value."""
    root = held.key.partition("|")[0]
    made = held.like(done=("mask",), by=held.by | {root})
    if held.rows is None or held.table <= 0 or held.table not in machine.tables:
        return made
    column = column_of(machine, held)
    if isinstance(value, (Unknown, Maybe)):
        value = f"?{getattr(value, 'key', '')}" if getattr(value, "key", "") else None
    cut = isinstance(value, Tensor) and value.place is not None
    if column is None or held.vague or not (cut or isinstance(value, (bool, int, float, str))):
        return made
    if kind in (ast.Eq, ast.NotEq):
        found = column.is_equal(value, held.rows)
        made.number = found if kind is ast.Eq or found is None else ~found
    elif kind in (ast.Lt, ast.LtE):
        made.number = column.below(value, held.rows)
    elif kind in (ast.Gt, ast.GtE):
        found = column.below(value, held.rows)
        made.number = None if found is None else ~found
    return made


_COMPARES: dict[str, Any] = {
    "eq": ast.Eq,
    "ne": ast.NotEq,
    "lt": ast.Lt,
    "le": ast.LtE,
    "gt": ast.Gt,
    "ge": ast.GtE,
}


@method(Series, "isin", "is_in", "between", "is_between", *_COMPARES)
def _condition(call: Call) -> Any:
    held, name = call.callee.owner, call.callee.name
    if name in _COMPARES:
        return mask(call.machine, held, _COMPARES[name], call.given[0])
    if name in ("between", "is_between") and len(call.given) >= 2:
        low, high = (
            mask(call.machine, held, k, g) for k, g in zip((ast.GtE, ast.LtE), call.given, strict=False)
        )
        if isinstance(low.number, np.ndarray) and isinstance(high.number, np.ndarray):
            low.number = low.number & high.number
            return low
        return low.like()
    values = call.given[0] if call.given else ()
    if (known := among(call.machine, held, values)) is not None:
        return known
    made = held.like(done=("mask",), by=held.by | {held.key.partition("|")[0]})
    if isinstance(values, (list, tuple, set, frozenset)) and values:
        parts = [mask(call.machine, held, ast.Eq, v).number for v in values]
        if all(isinstance(p, np.ndarray) for p in parts):
            made.number = np.any(parts, axis=0)
    return made


def whole_column(machine: Machine, held: Any) -> Column | None:
    """The column of a table, or the array of a file, that a tensor is; None where its rows are not known."""
    if not isinstance(held, Tensor) or held.rows is None or held.vague or held.asked or held.deps:
        return None
    if held.table <= 0 or held.table not in machine.tables or machine.sampling or not held.held:
        return None
    if machine.exact or any(h.startswith("<") for h in held.held):
        return None  # numbers of another making; of a batch
    if isinstance(held, Series):
        return column_of(machine, held)
    if held.mixed or held.drawn or _OF_OTHERS & set(held.done):
        return None
    made = [done for done in held.done if done not in _AS_IT_IS]
    named = Series(key="+".join((*sorted(held.held), *made)))
    named.become(held)
    return column_of(machine, named)


_AS_IT_IS = word_set(
    "astype to_numpy numpy tolist array asarray copy part split load values reset_index squeeze stack"
    " concatenate item list"
)
_OF_OTHERS = word_set(
    "cumsum shift roll rank diff rolling groupby transform mean std set where"
)  # of other rows, too


def values_of(machine: Machine, held: Any) -> Tensor | None:
    """The values of a column, each once."""
    column = whole_column(machine, held)
    if column is None or len(held.rows) < GROUPS:
        return None
    return Tensor(number=column.groups[np.unique(column.group[held.rows])], done=("unique",))


def among(machine: Machine, held: Any, values: Any) -> Tensor | None:
    """Which rows of a column have one of some of its values, which the program asked for before."""
    given = values.number if isinstance(values, Tensor) and values.rows is None else values
    if isinstance(given, (list, tuple, set, frozenset)) and all(isinstance(v, int) for v in given):
        given = np.asarray(sorted(given), dtype=int)
    if not isinstance(given, np.ndarray) or not given.size or given.dtype.kind != "i":
        return None
    if given.min() < FIRST_GROUP or (column := whole_column(machine, held)) is None:
        return None
    number = column.is_among(given, held.rows)
    root = column.name
    return None if number is None else held.like(done=("mask",), by=held.by | {root}, number=number)


@function("unique", "isin", "in1d", of=("numpy.", "torch.", "pandas."))
def _values_and_members(call: Call) -> Any:
    known = None
    if call.callee.last == "unique" and len(call.given) == 1 and not call.named:
        known = values_of(call.machine, call.given[0])
    elif call.callee.last != "unique" and len(call.given) == 2 and not call.named:
        known = among(call.machine, *call.given)
    if known is not None:
        return known
    from .tensors import anything

    return anything(call.machine, call.callee.last, call.given, call.named, call.node)


# what leaves the values of a column what they are
_KEPT = word_set(
    "astype to_numpy fillna copy reset_index str values to_list tolist strip lower upper rename cat "
    "categories squeeze convert_dtypes infer_objects cast fill_null to_series"
)


@method(Series, *sorted(_KEPT))
def _kept(call: Call) -> Any:
    made = Series(key=call.callee.owner.key)
    made.become(call.callee.owner)
    return made


@method(Series, "map", "apply", "replace", "mod", "floordiv", "transform", "progress_apply", "round")
def _mapped(call: Call) -> Any:
    owner: Series = call.callee.owner
    for one in (*call.given, *call.named.values()):
        if isinstance(one, Routine):
            call.machine.call(one, [owner.like()], {}, call.node)
            break
    told = ast.unparse(call.node)[-120:] if isinstance(call.node, ast.Call) else ""
    made = Series(key=f"{owner.key}|{call.callee.name} {told}")
    made.become(call.machine.joined_tensors(call.callee.name, [owner, *call.machine.tensors(call.given)]))
    made.rows, made.table = owner.rows, owner.table
    return made


def derived(owner: Series, name: str) -> Series:
    """`df.date.dt.year`: another column, made of one."""
    made = Series(key=owner.key if name in ("str", "dt", "cat") else f"{owner.key}|{name}")
    made.become(owner.then(name))
    return made


@method(Series, "quantile")
def _quantile(call: Call) -> Any:
    """Figures of a column below which a share of its rows lies: they know where they cut."""
    held: Series = call.callee.owner
    asked = call.given[0] if call.given else call.named.get("q", 0.5)
    shares = list(asked) if isinstance(asked, (list, tuple)) else [asked]
    if not all(isinstance(s, float) and 0 <= s <= 1 for s in shares):
        return NotImplemented
    column = column_of(call.machine, held) if held.table in call.machine.tables else None
    found = []
    for share in shares:
        made = call.machine.joined_tensors("quantile", [held])
        made.rows = None
        made.fits |= call.machine.fit("quantile", held, call.node)
        if column is not None and held.rows is not None and len(held.rows) and not held.vague:
            made.place = float(np.quantile(column.place[held.rows], share))
        found.append(made)
    return found if isinstance(asked, (list, tuple)) else found[0]


@method(Series, "unique", "nunique", "value_counts", "mode", "drop_duplicates")
def _values_of(call: Call) -> Any:
    if call.callee.name == "unique" and (made := values_of(call.machine, call.callee.owner)) is not None:
        return made
    return Unknown(f"{call.callee.name} of {call.callee.owner.key} {getattr(call.node, 'lineno', 0)}")


def query(machine: Machine, column_named: Callable[[str], Tensor], node: ast.expr) -> Any:
    """The mask of an expression of columns and constants, or None."""
    if isinstance(node, ast.BoolOp):
        parts = [query(machine, column_named, v) for v in node.values]
        if all(isinstance(p, Tensor) and isinstance(p.number, np.ndarray) for p in parts):
            joined = np.all if isinstance(node.op, ast.And) else np.any
            by = frozenset(b for p in parts for b in p.by)
            return parts[0].like(number=joined([p.number for p in parts], axis=0), by=by)
        return None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.Invert)):
        inner = query(machine, column_named, node.operand)
        known = isinstance(inner, Tensor) and isinstance(inner.number, np.ndarray)
        return inner.like(number=~inner.number) if known else None
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.left, ast.Name):
        column = column_named(node.left.id)
        try:
            value = ast.literal_eval(node.comparators[0])
        except ValueError:
            return None
        if isinstance(column, Series):
            if isinstance(value, (list, tuple)) and isinstance(node.ops[0], (ast.Eq, ast.In, ast.NotIn)):
                parts = [mask(machine, column, ast.Eq, v) for v in value]
                if parts and all(isinstance(p.number, np.ndarray) for p in parts):
                    found = np.any([p.number for p in parts], axis=0)
                    return parts[0].like(number=~found if isinstance(node.ops[0], ast.NotIn) else found)
                return None
            return mask(machine, column, type(node.ops[0]), value)
    return None
