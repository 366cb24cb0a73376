"""Which rows of which table a value of a symbolic run holds, worked out on a stand-in of a thousand rows.

A table is what one call reads. Cuts, conditions, groups, shuffles and splits by chance are carried out on the
stand-in, so that two values can be asked for the rows that they share. What cannot be told is None.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace

from ..code.shared.row_sets import NO_DATA, READS
from ..code.shared.sides import side
from .chains import inside
from .items import sample
from .machine import Left, OutOfSteps
from .row_parts import RowParts
from .stand_in import (
    ASIDE,
    DEPTH,
    ROWS,
    Held,
    below,
    column_of,
    counted,
    drawn,
    entry_of,
    group_of,
    of_several,
    parted_at,
    reaches,
    seed_of,
    small,
    tells_little,
)
from .values import Term
from .watched import Watch

_SIZES = ("len", "shape", "size", "nunique", "isnull", "isna", "exists", "print", "info", "cardinality")
FIGURES = (
    *("mean", "nanmean", "std", "nanstd", "var", "nanvar", "median", "nanmedian", "quantile", "percentile"),
    *("reduce_mean", "reduce_std", "moments", "average"),
)
BOUNDS = ("min", "max", "amin", "amax", "nanmin", "nanmax")
FITS = ("fit", "adapt", "partial_fit")
_COUNTS = (
    *(
        "sum",
        "bincount",
        "value_counts",
        "Counter",
        "any",
        "all",
        "argmax",
        "argmin",
        "describe",
        "unique_counts",
    ),
    *("compute_class_weight", "compute_sample_weight", "corr", "std_mean", "var_mean", "mode"),
)
_CHANCE = ("sample", "choice", "choices", "permuted", "permutation", "randperm", "shuffle", "shuffled")
_JOINS = (
    "concat",
    "concatenate",
    "vstack",
    "cat",
    "chain",
    "ConcatDataset",
    "concatenate_datasets",
    "hstack",
)
_ROW_NUMBERS = re.compile(r"(?i)^(?!#).*(?:rows?|idx|ind(?:ex|ices|s)?|ids?|split|perm|order)$")  # in a file
_MADE = ("full", "zeros", "ones", "empty", "rand", "randn", "randint", "normal", "uniform", "eye", "linspace")
_SETTINGS = ("safe_load", "full_load", "unsafe_load")
_SETTINGS_FILE = re.compile(
    r"(?i)\.(?:ya?ml|toml|ini|cfg|conf)$|(?:^|[_/.-])(?:conf|config|settings|hparams|params)\b"
)
_MASKS = ("isin", "is_in", "in1d", "contains")
_LESS = ("difference", "setdiff1d")


def _as_number(t: Term) -> bool:
    """It makes numbers of truth: `.astype("int64")`, `.long()`, `.float()`."""
    if t.name != "astype":
        return t.name in ("long", "float", "int", "double", "half")
    return len(t.args) > 1 and "bool" not in ast.unparse(t.args[1].node)


_EMPTY = ("isna", "isnull", "notna", "notnull")


def _by_row(t: Term) -> bool:
    """`frame.notna().all(axis=1)`: true or false for each row."""
    axis = t.kw.get("axis")
    return axis is not None and axis.value in (1, "columns", "'columns'")


class RowReader(RowParts):
    """Gives terms of one run their rows."""

    def __init__(self, run: Watch) -> None:
        self.run = run
        self.known: dict[int, Held | None] = {}
        self.busy: set[int] = set()
        self.buckets: dict[str, list[object]] = {}
        self.samples: dict[int, Term | None] = {}
        self.steps = 60_000

    # ---------------------------------------------------------------------------------------- of one term

    def held(self, t: Term, depth: int = DEPTH) -> Held | None:
        """The rows that a value holds; None where that cannot be told, or it is of no table or of several."""
        if t.key in self.known:
            return self.known[t.key]
        self.steps -= 1
        if depth <= 0 or t.key in self.busy or self.steps < 0:
            return None
        self.busy.add(t.key)
        try:
            found = self._found(t, depth - 1)
        finally:
            self.busy.discard(t.key)
        self.known[t.key] = found
        return found

    def _found(self, t: Term, depth: int) -> Held | None:
        head = t.head
        if head.startswith("call:"):
            return self._call(t, depth)
        if head.startswith("op:"):
            return self._operation(t, depth)
        if head.startswith("attr:"):
            if t.name in ("shape", "size", "columns", "column_names", "ndim", "dtype", "dtypes", "features"):
                return None
            return self.held(t.args[0], depth)
        if head in ("each", "starred"):
            return self.held(t.args[0], depth)
        if head == "slice":
            return self._slice(t, depth)
        if head == "item":
            return self._item(t, depth)
        if head == "list_of":
            return self._listed(t, depth)
        if head == "dict_of":
            return self.same(self.held(a, depth) for a in t.args)
        if head == "setitem":
            return self.held(t.args[0], depth) or self.held(t.args[2], depth)
        if head == "phi":
            return self._either(t, depth)
        if head == "tuple":
            return self.same(self.held(a, depth) for a in t.args)
        if head == "other:Compare":
            return self.compare(t, depth)
        if head == "other:UnaryOp" and t.args:
            inner = self.held(t.args[0], depth)
            turned = isinstance(t.node, ast.UnaryOp) and isinstance(t.node.op, (ast.Not, ast.Invert))
            return self.turned(inner) if turned else inner
        if head == "other:BoolOp" and isinstance(t.node, ast.BoolOp):
            parts = [self.held(a, depth) for a in t.args]
            return self.both(parts, isinstance(t.node.op, ast.And))
        if head in ("obj", "func"):
            return self._sampled(t, depth)
        return None

    def same(self, found: Iterator[Held | None]) -> Held | None:
        """What several values all are of."""
        known = [f for f in found if f is not None]
        if not known:
            return None
        first = known[0]
        if all(k.table == first.table and k.rows == first.rows and k.groups == first.groups for k in known):
            return replace(first, windows=any(k.windows for k in known), torn=any(k.torn for k in known))
        if all(k.table == first.table and k.all == first.all for k in known):
            return first
        return None

    def sample_of(self, t: Term) -> Term | None:
        """What a data set of the script gives for one place, or a function that takes nothing gives."""
        if t.head == "obj" and t.value.owner in self.run.source.modules:
            return None
        if t.head == "func" and (t.value.node.args.args or isinstance(t.value.node, ast.Lambda)):
            return None
        if t.key not in self.samples:
            self.samples[t.key] = None
            self.run.steps = max(self.run.steps, 3_000)
            with suppress(OutOfSteps, Left, RecursionError):
                one = self.run.call(t, (), {}, t.node) if t.head == "func" else sample(self.run, t, 6)
                self.samples[t.key] = one if one.key != t.key else None
        return self.samples[t.key]

    def _sampled(self, t: Term, depth: int) -> Held | None:
        """A data set of the script, by one of its samples; a function by what it gives."""
        one = self.sample_of(t)
        if one is not None:
            found = self.held(one, depth)
            if found is None and one.head == "tuple":
                parts = [self.held(a, depth) for a in one.args]
                found = next((p for p in parts if p is not None), None) if len(parts) == 2 else None
            if found is not None:
                return found
        if t.head == "obj":
            return self.same(self.held(v, depth) for v in t.value.attrs.values() if v.head != "func")
        return None

    def _either(self, t: Term, depth: int) -> Held | None:
        """One of two values: the same rows, or a list that grows where a condition holds."""
        empty = [a for a in t.args if a.head == "tuple" and not a.args]
        test = getattr(t.node, "test", None)
        grown = [a for a in t.args if a not in empty]
        if len(empty) == 1 and test is not None and test in self.run.tests:
            rows, mask = self.held(grown[0], depth), self.held(self.run.tests[test], depth)
            if rows is None or mask is None or not mask.mask:
                return None
            return self.kept(rows, mask if grown[0] is t.args[0] else self.turned(mask))
        told = [self.held(a, depth) for a in t.args if not (a.head == "const" and a.value is None)]
        return self.same(iter(told)) if all(x is not None for x in told) else None

    # -------------------------------------------------------------------------------------------- selections
    def _slice(self, t: Term, depth: int) -> Held | None:
        if not isinstance(t.node, ast.Subscript):
            return self.held(t.args[0], depth)
        whole = t.args[0]
        if whole.head == "tuple" or (whole.head == "list_of" and _goes_over_few(whole)):
            return None  # some of several values, no rows
        inner = whole
        while inner.head == "slice":
            inner = inner.args[0]
        if inner.head == "each":
            return self.held(inner, depth)  # a part of one sample: `for s in series: s[-84:]`
        held = self.held(whole, depth)
        cut, rest = t.node.slice, list(t.args[1:])
        if isinstance(cut, ast.Tuple):
            cut = cut.elts[0]
            if not isinstance(cut, ast.Slice):
                return held  # columns; the rows were taken before
        if held is None or not isinstance(cut, ast.Slice):
            return None
        bounds: list[Term | None] = []
        for part in (cut.lower, cut.upper, cut.step):
            bounds.append(rest.pop(0) if part is not None and rest else None)
        if any(b is not None and counted(b) for b in bounds[:2]):
            return replace(held, windows=held.windows or reaches(bounds))
        numbers = [None if b is None else self.number(b, depth) for b in bounds]
        if any(n is None and b is not None for n, b in zip(numbers, bounds, strict=True)):
            return None
        low, high, step = (None if n is None else int(n) for n in numbers)
        if step == 0:
            return None
        return replace(held, rows=held.rows[below(low, len(held.rows)) : below(high, len(held.rows)) : step])

    def _item(self, t: Term, depth: int) -> Held | None:
        whole, place = t.args
        if (given := self._of_a_pair(whole, place, depth)) is not None:
            return given
        found = self.part(whole, place, depth)
        if found is not None:
            return found
        if place.head == "const" and isinstance(place.value, str):
            entry = entry_of(whole, place.value)
            if entry is not None:
                return self.held(entry, depth) if entry.key != t.key else None
            held = self.held(whole, depth)
            if held is not None and side(place.value) is not None and of_several(whole) and held.whole:
                return replace(held, table=(held.table, place.value))
        held = self.held(whole, depth)
        index = self.held(place, depth) if place.head not in ("const", "count", "leaf") else None
        if held is None:
            return index if index is not None and not index.mask and index.table != "#" else None
        if index is not None:
            told = column_of(place)
            return None if not index.mask and _ROW_NUMBERS.search(told) else self.chosen(held, index)
        if place.head in ("const", "count") or (place.head == "leaf" and str(place.value).startswith("<")):
            return held
        if place.head == "tuple" and all(a.head == "const" for a in place.args):
            return held  # columns
        return held if place.head in ("each", "op:+", "op:-") and counted(place) else None

    def _of_a_pair(self, whole: Term, place: Term, depth: int) -> Held | None:
        """`(x_train, y_train), (x_test, y_test) = cifar10.load_data()`: each pair is a table of its own."""
        if whole.head != "item" or not place.is_number:
            return None
        made, which = whole.args
        if made.head != "call:load_data" or not which.is_number:
            return None
        held = self.held(made, depth)
        return replace(held, table=(held.table, which.value)) if held is not None else None

    # ------------------------------------------------------------------------------------------------ calls

    def _call(self, t: Term, depth: int) -> Held | None:
        name, args = t.name, t.args
        if name in ("all", "any") and args and _by_row(t):
            asked = args[0].args[0] if args[0].name in _EMPTY and args[0].args else args[0]
            held = self.held(asked, depth)
            return replace(held, mask=True) if held is not None else None
        if name in FIGURES or name in BOUNDS or name in _COUNTS or name in _SIZES or name in FITS:
            return None
        if args and args[0].head == "other:Compare" and _as_number(t):
            return self.held(
                args[0].args[0], depth
            )  # `(y > 0).astype(int)`: labels of all rows, no choice of rows
        if name in ("range", "arange", "trange", "randperm") or (name == "permutation" and len(args) >= 1):
            return self._numbers(t, depth)
        if name in _MADE:
            return None  # its sizes may be read from a file of settings
        if name in ("set", "unique", "drop_duplicates") and args:
            inner = self.held(args[0] if name == "drop_duplicates" else args[-1], depth)
            if name == "drop_duplicates" or inner is None or inner.groups:
                return inner
            column = column_of(args[-1])
            groups = {group_of(r, seed_of(column)) for r in inner.all}
            return Held(inner.table, tuple(sorted(groups)), column)
        if name in _MASKS and len(args) == 2:
            return self.member(args[0], args[1], self.held(args[0], depth), depth)
        if name in ("logical_not", "invert") and args:
            return self.turned(self.held(args[0], depth))
        if name in ("logical_and", "logical_or") and len(args) == 2:
            return self.both([self.held(a, depth) for a in args], name == "logical_and")
        if name == "where" and len(args) == 3 and args[0].head == "other:Compare":
            return self.held(args[0].args[0], depth)  # `where(y == 9, 1, 0)`: a value for each row
        if name in ("where", "nonzero", "flatnonzero", "argwhere") and len(args) == 1:
            mask = self.held(args[0], depth)
            return replace(mask, mask=False) if mask is not None and mask.table != "*" else None
        if name in _LESS or (name == "drop" and len(args) == 2 and "columns" not in t.kw):
            first, second = (self.held(a, depth) for a in args[:2])
            if first is None or second is None:
                return (
                    first if name == "drop" and len(args) > 1 and args[1].head in ("const", "tuple") else None
                )
            if first.table != second.table or first.groups != second.groups:
                return None
            return replace(first, rows=tuple(r for r in first.rows if r not in second.all))
        if name in ("take", "skip", "head", "tail", "islice") and len(args) >= 2:
            return self._first(t, name, depth)
        if name in _CHANCE and args:
            return self._by_chance(t, name, depth)
        if name in _JOINS:
            parts = args[0].args if args and args[0].head == "tuple" else args
            found = [self.held(a, depth) for a in parts]
            if not found or any(f is None for f in found):
                return None
            known = [f for f in found if f is not None]
            if any(k.table != known[0].table or k.groups != known[0].groups for k in known):
                return None
            return replace(known[0], rows=tuple(dict.fromkeys(r for k in known for r in k.rows)))
        if name == "Subset" and len(args) == 2:
            held, index = self.held(args[0], depth), self.held(args[1], depth)
            return self.chosen(held, index) if held is not None and index is not None else None
        if name in ("train_test_split", "random_split") or parted_at(t):
            return None  # several parts, of which each is asked for by its place
        if name == "select" and len(args) == 2:
            held, index = self.held(args[0], depth), self.held(args[1], depth)
            return self.chosen(held, index) if held is not None and index is not None else None
        if name in ("query", "shard", "filter", "nlargest", "nsmallest", "loc", "pop", "between"):
            return None
        if name == "transform" and len(args) == 2:
            return self.held(args[1], depth)
        sampler = t.kw.get("sampler")
        data = [self.held(a, depth) for a in (*args, *(v for k, v in t.kw.items() if k not in ASIDE))]
        found_ = self.same(iter(data))
        if sampler is not None and found_ is not None and sampler.head == "call:SubsetRandomSampler":
            index = self.held(sampler.args[0], depth) if sampler.args else None
            return self.chosen(found_, index) if index is not None else None
        if found_ is not None:
            return replace(
                found_, mask=found_.mask and name in ("to_numpy", "asarray", "array", "astype", "copy")
            )
        if any(d is not None for d in data):
            return None
        return self._table(t)

    def _table(self, t: Term) -> Held | None:
        """A call that reads a table."""
        if "from_directory" in t.name and t.args:
            return self._directory(t)
        if (name := t.name) in _SETTINGS or (name in ("load", "open") and _of_settings(t)):
            return None
        if (READS.search(t.name) or t.name in ("File", "memmap")) and not NO_DATA.search(t.name):
            return Held(t.key, tuple(range(ROWS)))
        return None

    def _directory(self, t: Term) -> Held | None:
        """Keras: one of two parts of a folder, parted by a seed, or by the order of the names."""
        given = t.args[1:] if t.name.startswith("flow") else t.args  # a method of what augments
        folder = given[0] if given else t.kw.get("directory")
        if folder is None:
            return None
        found = Held(("directory", folder.key), tuple(range(ROWS)))
        asked, share = t.kw.get("subset"), t.kw.get("validation_split")
        if asked is None or share is None or share.value is None:
            return found
        part = self.number(share, 8)
        if part is None or asked.value not in ("training", "validation"):
            return None
        seed, ordered = t.kw.get("seed"), t.kw.get("shuffle")
        if ordered is None or ordered.value not in (False, "False"):
            told = (seed.head, seed.value) if seed is not None else ("none", t.key)
            found = self.torn(found, seed_of(told))
        cut = round(ROWS * (1 - part))
        return replace(found, rows=found.rows[:cut] if asked.value == "training" else found.rows[cut:])

    def _numbers(self, t: Term, depth: int) -> Held | None:
        """`randperm(len(x))`, `np.arange(n)`: numbers of rows."""
        args = [a for a in t.args if not (a.head == "leaf" and "rng" in str(a.value))]
        args = [a for a in args if not a.head.startswith("call:default_rng")]
        if not args:
            return None
        over = self.held(args[-1], depth)
        if over is not None and t.name == "permutation":
            return self.torn(over, seed_of(t.key))
        told = [self.number(a, depth) for a in args[:3]]
        if any(n is None for n in told):
            return None
        numbers = [below(int(n or 0), ROWS) or 0 for n in told]
        if t.name in ("randperm", "permutation"):
            found = Held("#", tuple(range(min(numbers[-1], ROWS))), windows=True)
            return self.torn(found, seed_of(t.key))
        if len(numbers) == 3 and numbers[2] <= 0:
            return None
        return Held("#", tuple(range(*numbers)[:ROWS]))

    def _first(self, t: Term, name: str, depth: int) -> Held | None:
        rows = self.held(t.args[0], depth)
        count = self.number(t.args[1], depth)
        if rows is None or count is None:
            index = self.held(t.args[1], depth) if name == "take" else None
            return self.chosen(rows, index) if rows is not None and index is not None else None
        if name == "tail" and not _of_length(t.args[1]):
            count = small(self._number(t.args[1], depth) or 0)
        n = below(int(count), len(rows.rows)) or 0
        if name == "skip":
            return replace(rows, rows=rows.rows[n:])
        return replace(rows, rows=rows.rows[-n:] if name == "tail" and n else rows.rows[:n])

    def _by_chance(self, t: Term, name: str, depth: int) -> Held | None:
        """Rows in an order by chance; as many of them, or a share."""
        data = [a for a in t.args if self.held(a, depth) is not None]
        if not data:
            return None
        rows = self.held(data[0], depth)
        if rows is None:
            return None
        rest = [a for a in t.args if a is not data[0]]
        if name in ("shuffle", "shuffled", "permuted", "permutation"):
            return self.torn(rows, seed_of(t.key))
        share = self.number(t.kw["frac"], depth) if "frac" in t.kw else None
        told = t.kw.get("n") or t.kw.get("k") or t.kw.get("size") or (rest[-1] if rest else None)
        count = self.number(told, depth) if told is not None and share is None else None
        if share is None and count is None:
            return None
        n = len(rows.rows)
        size = round(share * n) if share is not None else below(int(count or 0), n) or 0
        return self.torn(rows, seed_of(t.key), size)

    def _listed(self, t: Term, depth: int) -> Held | None:
        """A comprehension: the rows of what it goes over for which its conditions hold."""
        rows = self.held(t.args[0], depth)
        over = t.value[2] if isinstance(t.value, tuple) else None
        span = self._spanned(over or t, None if over is not None else t.args[0], depth)
        if rows is None and over is not None:
            rows = self.held(over, depth)
            if rows is not None and rows.table == "#" and t.args[0].head != "count":
                rows = None
        if rows is not None and span is not None and rows.whole:
            rows = self.chosen(rows, span) or rows
        for name, test in t.kw.items():
            mask = self.held(test, depth) if name.startswith("if") else None
            if mask is None or not mask.mask:
                if rows is not None and name.startswith("if") and tells_little(test):
                    continue
                return None
            rows = self.kept(rows, mask)
        return rows

    def _spanned(self, over: Term, grown: Term | None, depth: int) -> Held | None:
        """`for i in range(a, b)`: places that are counted from a bound."""
        for one in [over] if over.head.startswith("call:") or grown is None else inside(grown, 60):
            counts = one.head in ("call:range", "call:arange") or (
                one.head == "count" and one.value == "range"
            )
            if counts and len(one.args) >= 2:
                numbers = self._numbers(self.run.make("call:range", one.node, one.args), depth)
                if numbers is not None and len(numbers.rows) >= 50:
                    return numbers
        return None

    # ---------------------------------------------------------------------------------- operations, numbers

    def _operation(self, t: Term, depth: int) -> Held | None:
        left, right = (self.held(a, depth) for a in t.args[:2])
        if left is not None and right is not None:
            if left.mask and right.mask and t.name in "&|":
                return self.both([left, right], t.name == "&")
            if left.table != right.table or left.groups != right.groups:
                return None
            if t.name == "-" and left.rows != right.rows:
                if not left.groups and t.args[0].head != "call:set":
                    return left  # numbers less other numbers
                return replace(left, rows=tuple(r for r in left.rows if r not in right.all))
            if t.name in "+|" and left.rows != right.rows:
                return replace(left, rows=tuple(dict.fromkeys((*left.rows, *right.rows))))
            return left if left.rows == right.rows else None
        return left or right

    def number(self, t: Term, depth: int) -> float | None:
        """The number behind a bound where a table has ROWS rows; one that is written out is drawn below."""
        told = self._number(t, depth)
        return told if told is None or _of_length(t) else drawn(told)

    def _number(self, t: Term, depth: int) -> float | None:
        self.steps -= 1
        if depth <= 0 or self.steps < 0:
            return None
        if t.is_number:
            return float(t.value)
        if t.head in ("op:+", "op:-", "op:*", "op:/", "op://") and len(t.args) == 2:
            a, b = (self._number(x, depth - 1) for x in t.args)
            if a is None or b is None:
                return None
            by_length = [_of_length(x) for x in t.args]
            if t.head in ("op:+", "op:-") and any(by_length):
                a, b = (x if of else small(x) for x, of in zip((a, b), by_length, strict=True))
            return _OPS[t.head](a, b) if b or t.head not in ("op:/", "op://") else None
        if (
            t.head in ("call:int", "call:round", "call:floor", "call:ceil", "call:float", "call:trunc")
            and t.args
        ):
            inner = self._number(t.args[-1] if len(t.args) == 1 else t.args[0], depth - 1)
            return None if inner is None else float(round(inner, 6) // 1) if "float" not in t.head else inner
        if t.head == "call:neg" and t.args:
            inner = self._number(t.args[0], depth - 1)
            return None if inner is None else -inner
        if t.head in ("call:max", "call:min") and len(t.args) >= 2:
            told = [self.number(a, depth - 1) for a in t.args]
            if any(n is None for n in told):
                return None
            return max(n or 0 for n in told) if t.head == "call:max" else min(n or 0 for n in told)
        if t.head in _LENGTHS and t.args:
            rows = self.held(t.args[0], depth - 1)
            return None if rows is None else float(len(rows.rows))
        if t.head == "item" and t.args[0].head == "attr:shape" and t.args[1].value == 0:
            rows = self.held(t.args[0].args[0], depth - 1)
            return None if rows is None else float(len(rows.rows))
        return None


def _of_settings(t: Term) -> bool:
    """`yaml.load(f)`, `open("config.json")`: settings, no rows."""
    made = t.node.func if isinstance(t.node, ast.Call) else None
    owner = made.value.id if isinstance(made, ast.Attribute) and isinstance(made.value, ast.Name) else ""
    if owner in ("yaml", "toml", "tomllib", "OmegaConf", "hydra"):
        return True
    told = [p.value for p in inside(t, 40) if p.head == "const" and isinstance(p.value, str)]
    return any(_SETTINGS_FILE.search(x) for x in told)


_LENGTHS = ("call:len", "call:cardinality", "call:get_dataset_size", "attr:size")


def _of_length(t: Term) -> bool:
    """A number that is counted from the rows of a table, not written out."""
    waiting, seen = [t], {t.key}
    while waiting:
        one = waiting.pop()
        if one.head in _LENGTHS or one.head == "attr:shape":
            return True
        if one.head.startswith(("op:", "call:")) or one.head == "item":
            waiting += [a for a in one.args if a.key not in seen]
            seen.update(a.key for a in one.args)
    return False


def _goes_over_few(t: Term) -> bool:
    return isinstance(t.value, tuple) and t.value[2] is not None and t.value[2].head == "tuple"


_OPS: dict[str, Callable[[float, float], float]] = {
    "op:+": lambda a, b: a + b,
    "op:-": lambda a, b: a - b,
    "op:*": lambda a, b: a * b,
    "op:/": lambda a, b: a / b,
    "op://": lambda a, b: a // b,
}
