"""Figures of scripts worked out on a few made-up answers, so that they can be held against their definition.

The world: two held-out batches of unlike size, their truth and what was answered. Sums over batches, lists
that are joined, masks, confusion tables and functions of the script are carried out. Whatever is not
understood raises `Unknown`: nothing is said of such a figure. Nothing of the script is executed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name, receiver
from ...scripts.flow import flow, returns
from ...scripts.syntax import Function, Script
from ..shared.checks import gone_over
from ..shared.nodes import is_none
from ..shared.numbers import Unknown
from .answer_kinds import asks_model, batch_loop, grown_by, is_parameter, kind_of, starts_empty, turned_round
from .world_parts import (
    COUNT,
    FLOORS,
    LIBRARY,
    MONOTONE,
    SAME,
    TO_KIND,
    Scores,
    decided_kinds,
    in_batches,
    is_bool,
    is_value,
    is_whole,
    need_numbers,
)

_DEPTH = 30

_MOST = 4000  # expressions that are gone through for one figure

# Truth and answers of real values, and of two kinds: (hits, false alarms, misses, rest) = (5, 3, 1, 4).
REAL = (
    (np.array([2.0, 3.5, 7.0, 4.0]), np.array([2.5, 3.0, 9.0, 4.4])),
    (np.array([5.0, 11.0, 6.5]), np.array([3.0, 12.5, 8.0])),
)

KINDS = (
    (np.array([1, 1, 1, 0, 0, 1, 0, 0]), np.array([1, 1, 1, 0, 1, 0, 1, 0])),
    (np.array([1, 1, 0, 0, 0]), np.array([1, 1, 1, 0, 0])),
)

TABLE = np.array([[7.0, 2.0, 1.0], [3.0, 5.0, 4.0], [0.0, 6.0, 9.0]])  # of truth by answer


@dataclass
class World:
    """Works expressions of one script out; `decided`: answers are kinds, else real values."""

    source: Script
    decided: bool
    turned: bool | None = None  # the table is of answer by truth; None: not told
    names: dict[str, set[str]] = field(default_factory=dict)  # what truth and answers are called
    used: set[str] = field(default_factory=set)  # of "truth", "said", "table", "counts"
    left: int = _MOST
    _frames: list[tuple[Function, dict[str, Any]]] = field(default_factory=list)

    @property
    def batches(self) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        """(truth, answers) of each batch."""
        return KINDS if self.decided else REAL

    def leaf(self, kind: str, batch: int | None, node: ast.expr) -> Any:
        """The truth or the answers of one batch, or of all."""
        self.used.add(kind)
        while isinstance(node, ast.Subscript):
            node = node.value
        self.names.setdefault(kind, set()).add(unparse(node).lower())
        place = 0 if kind == "truth" else 1
        parts = [b[place] for b in self.batches]
        return np.concatenate(parts) if batch is None else parts[batch]

    def counts(self, which: str) -> float:
        """Hits, false alarms, misses and the rest over all batches."""
        self.used.add("counts")
        truth = np.concatenate([b[0] for b in KINDS])
        said = np.concatenate([b[1] for b in KINDS])
        pair = {"tp": (1, 1), "fp": (0, 1), "fn": (1, 0), "tn": (0, 0)}[which]
        return float(((truth == pair[0]) & (said == pair[1])).sum())

    # ------------------------------------------------------------------------------------------ values

    def of(self, node: ast.expr, batch: int | None = None, depth: int = _DEPTH) -> Any:
        """The value of an expression, in one batch (its number) or behind all. Raises Unknown."""
        self.left -= 1
        if depth <= 0 or self.left < 0:
            raise Unknown(unparse(node))
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return node.value
        if isinstance(node, ast.BinOp):
            return self._operation(node, batch, depth)
        if isinstance(node, ast.UnaryOp):
            return self._turned(node, batch, depth)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._compared(node, batch, depth)
        if isinstance(node, ast.IfExp):  # a guard of an empty count: the other side is worked out
            for side in (node.body, node.orelse):
                if not isinstance(side, ast.Constant):
                    return self.of(side, batch, depth - 1)
        if isinstance(node, ast.Call):
            return self._call(node, batch, depth)
        if isinstance(node, (ast.Tuple, ast.List)):
            return [self.of(e, batch, depth - 1) for e in node.elts]
        if isinstance(node, ast.Subscript):
            return self._part(node, batch, depth)
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self._name(node, batch, depth)
        raise Unknown(unparse(node))

    def _operation(self, node: ast.BinOp, batch: int | None, depth: int) -> Any:
        if isinstance(node.op, ast.Sub) and (length := self._span(node, batch)) is not None:
            return length
        one, other = (decided_kinds(self.of(side, batch, depth - 1)) for side in (node.left, node.right))
        need_numbers(node, one, other)
        steps: dict[type, Callable[[Any, Any], Any]] = {
            ast.Add: np.add,
            ast.Mult: np.multiply,
            ast.Div: np.true_divide,
            ast.FloorDiv: np.floor_divide,
            ast.Pow: lambda a, b: np.power(np.asarray(a, float), b),
            ast.BitAnd: np.logical_and,
            ast.BitOr: np.logical_or,
            ast.BitXor: np.logical_xor,
            ast.Sub: lambda a, b: np.subtract(np.asarray(a, float), np.asarray(b, float)),
        }
        step = steps.get(type(node.op))
        if isinstance(node.op, ast.Div) and not isinstance(node.right, ast.Constant):
            sizes = [g.value for g in flow(self.source).all_given(node.right)]
            if sizes and all(isinstance(v, ast.Constant) and v.value for v in sizes):
                raise Unknown(unparse(node))  # a number of rows that is written out
        if step is None:
            raise Unknown(unparse(node))
        if isinstance(node.op, ast.Add) and (is_bool(one) or is_bool(other)):
            one, other = np.asarray(one, float), np.asarray(other, float)
        with np.errstate(all="ignore"):
            return step(one, other)

    def _turned(self, node: ast.UnaryOp, batch: int | None, depth: int) -> Any:
        value = self.of(node.operand, batch, depth - 1)
        need_numbers(node, value)
        if isinstance(node.op, ast.USub):
            return -np.asarray(value, float)
        if isinstance(node.op, ast.Invert) and is_bool(value):
            return ~np.asarray(value)
        raise Unknown(unparse(node))

    def _compared(self, node: ast.Compare, batch: int | None, depth: int) -> Any:
        one = self.of(node.left, batch, depth - 1)
        if isinstance(one, Scores):  # wherever the threshold lies, it chooses
            if isinstance(node.ops[0], (ast.Gt, ast.GtE)):
                return one.kinds.astype(bool)
            if isinstance(node.ops[0], (ast.Lt, ast.LtE)) and _is_fraction(node.comparators[0]):
                raise Unknown(unparse(node))  # of a distance the small ones say yes
            one = decided_kinds(one)
        other = decided_kinds(self.of(node.comparators[0], batch, depth - 1))
        need_numbers(node, one, other)
        steps: dict[type, Callable[[Any, Any], Any]] = {
            ast.Eq: np.equal,
            ast.NotEq: np.not_equal,
            ast.Gt: np.greater,
            ast.GtE: np.greater_equal,
            ast.Lt: np.less,
            ast.LtE: np.less_equal,
        }
        if type(node.ops[0]) not in steps:
            raise Unknown(unparse(node))
        return steps[type(node.ops[0])](one, other)

    def _span(self, node: ast.BinOp, batch: int | None) -> int | None:
        """`j - i` of `Y[i:j]` in a batch, `hi - lo` of `range(lo, hi, size)`: how many rows there are."""
        scope = self.source.function_around(node) or self.source.tree
        low, high = unparse(node.right), unparse(node.left)
        if not isinstance(node.left, ast.Name) or not isinstance(node.right, ast.Name):
            return None
        for call in of(scope, ast.Call):
            if last_name(call.func) == "range" and [unparse(a) for a in call.args[:2]] == [low, high]:
                return sum(len(b[0]) for b in self.batches)
        for one in of(scope, ast.Slice):
            if one.lower is not None and one.upper is not None:
                if (unparse(one.lower), unparse(one.upper)) == (low, high):
                    inside = batch_loop(self.source, one) is not None
                    return self._rows(batch if inside else None)
        return None

    def _rows(self, batch: int | None) -> int:
        return sum(len(b[0]) for b in self.batches) if batch is None else len(self.batches[batch][0])

    # ------------------------------------------------------------------------------------------ calls

    def _call(self, node: ast.Call, batch: int | None, depth: int) -> Any:
        name, given = last_name(node.func), list(node.args)
        owner = receiver(node)
        if name == "len" and len(given) == 1:
            return self._length(given[0], batch, depth)
        made = flow(self.source).called(node)
        if len(made) == 1 and not made[0].name.startswith("__"):
            return self._run(made[0], node, batch, depth)
        if name == "epsilon" and not given:
            return 1e-7
        if name in ("size", "get_dataset_size", "numel", "nelement") and owner is not None:
            if name == "get_dataset_size":
                return len(self.batches)
            if name == "size" and given and not is_value(given[0], 0):
                raise Unknown(unparse(node))
            return self._length(owner, batch, depth)
        if owner is not None and not isinstance(owner, ast.Call) and LIBRARY.match(unparse(owner)):
            owner = None
        if owner is None and not given:
            raise Unknown(unparse(node))
        if asks_model(node):
            return Scores(self.leaf("said", batch, node)) if self.decided else self.leaf("said", batch, node)
        subject = owner if owner is not None else given.pop(0)
        value = self.of(subject, batch, depth - 1)
        return self._apply(node, name, value, given, batch, depth)

    def _apply(
        self, node: ast.Call, name: str, value: Any, given: list[ast.expr], batch: int | None, depth: int
    ) -> Any:
        if name in SAME:
            return value
        if isinstance(value, Scores):
            if name in MONOTONE:
                return value
            if name in TO_KIND:
                return value.kinds
            if value.chosen and name in ("sum", "eq", "equal", "reduce_sum", "mul", "multiply"):
                return self._apply(node, name, value.kinds, given, batch, depth)
            if name == "max" and (given or node.keywords):
                return [value, value.kinds]
            raise Unknown(unparse(node))
        if name in ("cat", "concatenate", "concat", "hstack", "vstack", "stack"):
            if isinstance(value, list) and value and all(isinstance(v, np.ndarray) for v in value):
                return np.concatenate(value)
            if isinstance(value, list) and value and all(isinstance(v, Scores) for v in value):
                return Scores(np.concatenate([v.kinds for v in value]))
            return np.asarray(value, float)
        if name == "sum" and isinstance(value, list):
            return float(np.sum([np.sum(v) for v in value]))
        need_numbers(node, value)
        axis = keyword(node, "dim") or keyword(node, "axis") or (given[0] if given else None)
        array = np.asarray(value, float)
        if name in ("sum", "mean", "nansum", "nanmean", "reduce_sum", "reduce_mean", "average"):
            along: int | None = None
            if axis is not None:
                places = {"0": 0, "1": 1, "-1": -1}
                if unparse(axis) != "None" and (unparse(axis) not in places or array.ndim != 2):
                    raise Unknown(unparse(node))
                along = places.get(unparse(axis))
            if len(node.keywords) + len(given) > (axis is not None):
                raise Unknown(unparse(node))
            step = np.nanmean if "mean" in name or name == "average" else np.nansum
            return step(array, axis=along)
        if name in ("diag", "diagonal", "diag_part", "trace") and array.ndim == 2 and not given:
            return np.diagonal(array) if name != "trace" else float(np.trace(array))
        if name == "argmax" and array.ndim == 1 and self.decided and array.dtype == float:
            return np.asarray(value)  # of one-hot truth
        return self._plain(node, name, value, array, given, batch, depth)

    def _plain(
        self,
        node: ast.Call,
        name: str,
        value: Any,
        array: np.ndarray,
        given: list[ast.expr],
        batch: int | None,
        depth: int,
    ) -> Any:
        one = {
            "abs": np.abs,
            "absolute": np.abs,
            "fabs": np.abs,
            "sqrt": np.sqrt,
            "square": np.square,
            "logical_not": np.logical_not,
        }.get(name)
        if one is not None and not given:
            return one(array)
        if name in FLOORS and not (name == "max" and not given and not node.keywords):
            return self._floored(node, array, given, batch, depth)
        if name in ("min", "minimum") and given and isinstance(given[0], ast.Constant):
            return array  # a ceiling that is not reached
        others = [decided_kinds(self.of(g, batch, depth - 1)) for g in given]
        need_numbers(node, *others)
        if name == "pow" and len(others) == 1:
            return np.power(array, others[0])
        two: Callable[[Any, Any], Any] | None = {
            "eq": np.equal,
            "equal": np.equal,
            "logical_and": np.logical_and,
            "logical_or": np.logical_or,
            "sub": np.subtract,
            "subtract": np.subtract,
            "mul": np.multiply,
            "multiply": np.multiply,
            "div": np.true_divide,
            "divide": np.true_divide,
            "true_divide": np.true_divide,
            "add": np.add,
        }.get(name)
        if two is not None and len(others) == 1:
            with np.errstate(all="ignore"):
                return two(value, others[0])
        raise Unknown(unparse(node))

    def _floored(
        self, node: ast.Call, array: np.ndarray, given: list[ast.expr], batch: int | None, depth: int
    ) -> Any:
        """`max(n, 1)`, `x.clamp(min=1e-8)`, `np.maximum(1, n)`: a floor that is not reached here."""
        bounds = [*given, *(k.value for k in node.keywords if k.arg in ("min", "max", "a_min", "a_max"))]
        values = [self.of(b, batch, depth - 1) for b in bounds if not is_none(b)]
        need_numbers(node, *values)
        if not values:
            raise Unknown(unparse(node))
        if not all(isinstance(b, (ast.Constant, ast.Name, ast.Attribute)) for b in bounds if not is_none(b)):
            raise Unknown(unparse(node))  # the larger one of two figures
        if array.ndim == 0 and last_name(node.func) in ("max", "maximum") and len(values) == 1:
            return np.maximum(array, values[0])
        low = values[0]
        if np.ndim(low) or len(values) > 2 or float(low) > 1:
            raise Unknown(unparse(node))
        return np.maximum(array, float(low)) if len(values) == 1 else array

    def _run(self, function: Function, node: ast.Call, batch: int | None, depth: int) -> Any:
        """What a function of the script gives back for these arguments."""
        if asks_model(node):
            return Scores(self.leaf("said", batch, node)) if self.decided else self.leaf("said", batch, node)
        names = [a.arg for a in function.args.args]
        if names[:1] in (["self"], ["cls"]):
            names = names[1:]
        frame: dict[str, Any] = {}
        pairs = [*zip(names, node.args, strict=False), *((str(k.arg), k.value) for k in node.keywords)]
        for name, value in pairs:
            try:
                frame[name] = self.of(value, batch, depth - 1)
            except Unknown:
                continue  # it may not be needed
        ends = returns(function)
        if len(ends) != 1 or len(self._frames) > 6:
            raise Unknown(function.name)
        self._frames.append((function, frame))
        try:
            return self.of(ends[0], batch, depth - 1)
        finally:
            self._frames.pop()

    def _length(self, node: ast.expr, batch: int | None, depth: int) -> Any:
        text = unparse(node)
        if isinstance(node, ast.Attribute) and node.attr in ("dataset", "sampler"):
            return self._rows(None)
        if any(unparse(gone_over(loop.iter)) == text for loop in self.source.of(ast.For) if in_batches(loop)):
            return len(self.batches)
        kind = kind_of(self.source, node)
        if kind == "given":
            return self._rows(batch)
        value = self.of(node, batch, depth - 1)
        if isinstance(value, Scores):
            return len(value.kinds)
        if isinstance(value, list) or np.ndim(value) == 1:
            return len(value)
        raise Unknown(text)

    # ------------------------------------------------------------------------------------------- parts

    def _part(self, node: ast.Subscript, batch: int | None, depth: int) -> Any:
        inner, place = node.value, node.slice
        if isinstance(inner, ast.Attribute) and inner.attr == "shape" and is_value(place, 0):
            return self._length(inner.value, batch, depth)
        if isinstance(inner, ast.Attribute) and inner.attr == "shape":
            raise Unknown(unparse(node))
        if isinstance(place, ast.Constant) and isinstance(place.value, str):
            return self._name(node, batch, depth)
        parts = place.elts if isinstance(place, ast.Tuple) else [place]
        if len(parts) > 1 and all(is_whole(p) for p in parts):  # `p[:, 0]`: a column of one
            return self.of(inner, batch, depth - 1)
        if isinstance(place, ast.Slice) or (
            isinstance(place, ast.Name) and not self._known(inner, batch, depth)
        ):
            kind = kind_of(self.source, node)
            if kind in ("truth", "said"):
                inside = batch_loop(self.source, node) is not None
                return self.leaf(kind, batch if inside else None, node)
            raise Unknown(unparse(node))
        value = self.of(inner, batch, depth - 1)
        if isinstance(value, list) and isinstance(place, ast.Constant) and isinstance(place.value, int):
            if -len(value) <= place.value < len(value):
                return value[place.value]
        chosen = self.of(place, batch, depth - 1)
        if isinstance(value, np.ndarray) and is_bool(chosen) and np.shape(chosen) == value.shape:
            return value[chosen]
        raise Unknown(unparse(node))

    def _known(self, node: ast.expr, batch: int | None, depth: int) -> bool:
        try:
            self.of(node, batch, depth - 1)
        except Unknown:
            return False
        return True

    # ------------------------------------------------------------------------------------------- names

    def _name(self, node: ast.expr, batch: int | None, depth: int) -> Any:
        if isinstance(node, ast.Attribute) and node.attr in ("T", "indices", "values", "data"):
            value = self.of(node.value, batch, depth - 1)
            if isinstance(value, list) and len(value) == 2 and node.attr == "indices":
                return value[1]
            return np.transpose(value) if node.attr == "T" and not isinstance(value, Scores) else value
        if isinstance(node, ast.Name):
            for function, frame in reversed(self._frames):
                if node.id in frame and function in self.source.above(node):
                    return frame[node.id]
        grown = grown_by(self.source, node)
        used, names = set(self.used), {k: set(v) for k, v in self.names.items()}
        try:
            return self._total(node, grown, depth) if grown else self._expanded(node, batch, depth)
        except Unknown:
            self.used, self.names = used, names
            return self._atom(node, batch)

    def _atom(self, node: ast.expr, batch: int | None) -> Any:
        """A value that cannot be taken apart further, by what it is."""
        name = last_name(node)
        if (found := COUNT.match(name)) and self.decided:
            return self.counts(found[1].lower())
        kind = kind_of(self.source, node)
        if kind == "table":
            self.used.add("table")
            told = turned_round(self.source, node)
            self.turned = told if self.turned is None else self.turned
            return TABLE.T if told else TABLE
        if kind == "truth" or (kind == "said" and not self.decided):
            inside = batch is not None and batch_loop(self.source, node) is not None
            value = self.leaf(kind, batch if inside or is_parameter(self.source, node) else None, node)
            tests = [isinstance(g.value, ast.Compare) for g in flow(self.source).all_given(node)]
            return value.astype(bool) if self.decided and tests and all(tests) else value
        if kind == "said" and is_parameter(self.source, node):
            return Scores(self.leaf(kind, batch, node), chosen=True)
        raise Unknown(unparse(node))

    def _expanded(self, node: ast.expr, batch: int | None, depth: int) -> Any:
        given = flow(self.source).all_given(node)
        if len(given) != 1 or given[0].value is node:
            raise Unknown(unparse(node))
        inside = batch_loop(self.source, given[0].value)
        if batch is None and inside is not None and batch_loop(self.source, node) is not inside:
            raise Unknown(unparse(node))  # what is left of the last round
        value = self.of(given[0].value, batch if inside is not None or self._frames else None, depth - 1)
        for place in given[0].places:
            rows = isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype == float
            if not (isinstance(value, list) or rows) or not isinstance(place, int) or place >= len(value):
                raise Unknown(unparse(node))
            value = value[place]
        return value

    def _total(self, node: ast.expr, grown: list[ast.stmt], depth: int) -> Any:
        """The sum (or the list) behind the batches, and what is done to it before it is read."""
        if not starts_empty(self.source, node):
            if kind_of(self.source, node) == "table":
                return self._atom(node, None)
            raise Unknown(unparse(node))
        if kind_of(self.source, node) == "table":
            return self._atom(node, None)
        value: Any = None
        for statement in grown:
            method = self.source.function_around(statement) is not self.source.function_around(node)
            loop = batch_loop(self.source, statement)
            if loop is not None and loop in self.source.above(node):
                raise Unknown(unparse(node))  # read while it grows
            if not method and statement.lineno >= getattr(node, "lineno", 0):
                continue
            rounds = list(range(len(self.batches))) if loop is not None or method else [None]
            if isinstance(statement, ast.AugAssign):
                parts = [self.of(statement.value, b, depth - 1) for b in rounds]
                need_numbers(node, *parts)
                if isinstance(statement.op, ast.Add) and (loop is not None or method):
                    value = (0 if value is None else value) + sum(np.asarray(p, float) for p in parts)
                elif isinstance(statement.op, (ast.Div, ast.Mult)) and loop is None and value is not None:
                    value = value / parts[0] if isinstance(statement.op, ast.Div) else value * parts[0]
                else:
                    raise Unknown(unparse(node))
            elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
                if loop is None and not method:
                    raise Unknown(unparse(node))
                more = [self.of(statement.value.args[0], b, depth - 1) for b in rounds]
                if last_name(statement.value.func) == "extend":
                    if not all(isinstance(m, np.ndarray) for m in more):
                        raise Unknown(unparse(node))
                    more = [np.concatenate(more)]
                value = [*(value or []), *more]
        if value is None:
            raise Unknown(unparse(node))
        return value

    def batch_of(self, node: ast.AST) -> int | None:
        """The first batch for what stands in the loop over batches, None for what stands behind it."""
        return None if batch_loop(self.source, node) is None else 0


def _is_fraction(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, float)
