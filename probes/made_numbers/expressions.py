"""Expressions of a program on made numbers."""

from __future__ import annotations

import ast
import math
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..code.shared.checks import extractor
from ..readers.script import last_name
from ..scripts.bounds import is_small
from ..scripts.syntax import Script
from .arrays import TWO, Array, Pair, Unfit, array, number
from .things import (
    CENTRE,
    SPREAD,
    Asked,
    Bound,
    Env,
    Instance,
    Kind,
    Library,
    Made,
    Routine,
    TooLong,
    Unknown,
)
from .world import ROWS, World

_STEPS = 6_000
_ODD = (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError)
_OPERATORS: dict[type, str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Lt: "lt",
    ast.LtE: "le",
}
_AGAINST_TRUTH = (ast.Sub, ast.Eq, ast.NotEq)


class Expressions:
    """The values of expressions. `batch`: which batch it is, None behind the loop over them."""

    def __init__(self, source: Script, world: World) -> None:
        self.source = source
        self.world = world
        self.batch: int | None = None
        self.left = _STEPS
        self.flat = False  # a mask held for all rows or for none: what it leaves out is not seen here
        self.guessed = False  # a condition that is not known was taken to hold
        self.coerced = False  # something was taken for the truth only for where it stands
        self.questions: dict[tuple[int | None, str], int] = {}

    @property
    def sure(self) -> bool:
        """Whether nothing was guessed so far."""
        return not self.guessed and not self.coerced

    def count(self) -> None:
        """One more step. Raises TooLong."""
        self.left -= 1
        if self.left < 0:
            raise TooLong

    @abstractmethod
    def call(self, node: ast.Call, env: Env) -> Any:
        """The value of a call."""

    def value(self, node: ast.expr, env: Env) -> Any:
        """The value of an expression; what cannot be worked out is unknown."""
        self.count()
        try:
            with np.errstate(all="ignore"):
                found = self._value(node, env)
        except (Unfit, *_ODD):
            found = Unknown(
                f"{type(node).__name__}@{getattr(node, 'lineno', 0)}.{getattr(node, 'col_offset', 0)}"
            )
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            if isinstance(found, Unknown) or (isinstance(found, Bound) and isinstance(found.owner, Unknown)):
                return self._written_elsewhere(node, found)
        return found

    def _written_elsewhere(self, node: ast.expr, found: Unknown | Bound) -> Any:
        """A setting by its default; the mean and the spread of the truth by their names."""
        if isinstance(found, Unknown) and (found.model or found.truth):
            return found
        if not isinstance(node, ast.Name):
            known, value, _ = extractor(self.source).value(node)
            if known and isinstance(value, (int, float)):
                return value
        if not isinstance(node, ast.Subscript) and not (isinstance(found, Bound) and found.owner.model):
            name = last_name(node)
            if SPREAD.search(name):
                return _SPREAD
            if CENTRE.search(name) and isinstance(found, Unknown):
                return _CENTRE
        return found

    def _value(self, node: ast.expr, env: Env) -> Any:
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return self._name(node.id, env)
            case ast.Attribute():
                return self.attribute(self.value(node.value, env), node.attr)
            case ast.Subscript():
                return self.item(self.value(node.value, env), node.slice, env)
            case ast.BinOp():
                return self.operation(type(node.op), self.value(node.left, env), self.value(node.right, env))
            case ast.UnaryOp():
                return self._turned(node, env)
            case ast.BoolOp():
                return self._both(node, env)
            case ast.Compare():
                return self._compared(node, env)
            case ast.IfExp():
                truth = self.truth_of(self.value(node.test, env))
                if truth is None:
                    self.guessed = True
                return self.value(node.body if truth is not False else node.orelse, env)
            case ast.Call():
                return self.call(node, env)
            case ast.Tuple():
                return tuple(self._elements(node.elts, env))
            case ast.List():
                return list(self._elements(node.elts, env))
            case ast.Dict():
                return self._mapping(node, env)
            case ast.ListComp() | ast.GeneratorExp():
                return list(self._each(node.elt, node.generators, env))
            case ast.Lambda():
                return Routine(node, env)
            case ast.NamedExpr():
                env[node.target.id] = self.value(node.value, env)
                return env[node.target.id]
            case ast.Starred() | ast.Await():
                return self.value(node.value, env)
            case ast.JoinedStr():
                return "".join(str(p.value) if isinstance(p, ast.Constant) else "?" for p in node.values)
        raise Unfit

    def _elements(self, nodes: list[ast.expr], env: Env) -> Iterator[Any]:
        for node in nodes:
            value = self.value(node, env)
            if isinstance(node, ast.Starred):
                if not isinstance(value, (list, tuple)):
                    raise Unfit
                yield from value
            else:
                yield value

    def _mapping(self, node: ast.Dict, env: Env) -> Any:
        found: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            held = self.value(value, env)
            if key is None:
                found.update(held if isinstance(held, dict) else {})
                continue
            name = self.value(key, env)
            if isinstance(name, (str, int, float)):
                found[name] = held
        return found

    def _each(self, element: ast.expr, over: list[ast.comprehension], env: Env) -> Iterator[Any]:
        """What a comprehension gives: for each known item, or for each batch."""
        if not over:
            yield self.value(element, env)
            return
        first, inner = over[0], dict(env)
        held = self.value(first.iter, env)
        rounds = self.rounds(held)
        if rounds is not None:
            if (
                isinstance(held, range)
                and len(rounds) > 1
                and last_name(first.target) == "_"
                and not first.ifs
            ):
                once = list(self._each(element, over[1:], inner))  # the same again and again
                yield from once * min(len(rounds), 200)
                return
            for item in rounds[:200]:
                self.bind(first.target, item, inner)
                if all(self.truth_of(self.value(c, inner)) is not False for c in first.ifs):
                    yield from self._each(element, over[1:], inner)
            return
        for _ in self.batches(first.target, held, inner):
            yield from self._each(element, over[1:], inner)

    def batches(self, target: ast.expr, over: Any, env: Env) -> Iterator[None]:
        """Bind a loop's target to one made batch after the other; within a batch, to that one alone."""
        before = self.batch
        for batch in range(len(ROWS)) if before is None else (before,):
            self.batch = batch
            self.questions.clear()
            self.bind(target, self.item_of(over, target), env)
            yield
        self.batch = before

    @abstractmethod
    def bind(self, target: ast.expr, value: Any, env: Env) -> None:
        """Give a name a value."""

    @staticmethod
    def rounds(over: Any) -> list[Any] | None:
        """The items of what a loop goes over, or None where they are batches."""
        if isinstance(over, range):
            return None if over.step > 1 else list(over[:200])
        if isinstance(over, (list, tuple)):
            return list(over)
        if isinstance(over, dict):
            return list(over)
        return None

    def item_of(self, over: Any, target: ast.expr) -> Any:
        """What one batch of something unknown is."""
        if isinstance(over, range):
            return Unknown(f"place {over.start}")
        if isinstance(over, np.ndarray):
            raise Unfit
        key = over.key if isinstance(over, Unknown) else "batch"
        if isinstance(target, ast.Tuple) and key.startswith("enumerate:"):
            return (0, Unknown(key.removeprefix("enumerate:"), pair=True))
        if isinstance(target, ast.Tuple) and key.startswith("zip:"):
            names = key.split(":")[1:]
            if len(names) == len(target.elts):
                return tuple(Unknown(n, truth=n.endswith("!")) for n in names)
        return Unknown(key, truth=isinstance(over, Unknown) and over.truth, pair=True)

    # ----------------------------------------------------------------------------------------- names

    def _name(self, name: str, env: Env) -> Any:
        if name in env:
            return env[name]
        around = env.get("__around__")
        while around is not None:
            if name in around:
                return around[name]
            around = around.get("__around__")
        return Library(name)

    def attribute(self, owner: Any, name: str) -> Any:
        """An attribute of a value."""
        if isinstance(owner, Instance):
            if name in owner.attributes:
                return owner.attributes[name]
            if (method := owner.kind.method(name)) is not None:
                if any(last_name(d) in ("property", "cached_property") for d in method.decorator_list):
                    return self.method(owner, name, 0)
                return Routine(method, owner.kind.around, owner)
            held = [
                s.value
                for s in owner.kind.node.body
                if isinstance(s, (ast.Assign, ast.AnnAssign))
                for t in (s.targets if isinstance(s, ast.Assign) else [s.target])
                if isinstance(t, ast.Name) and t.id == name and s.value is not None
            ]
            if held and not isinstance(held[0], ast.Call):
                return self.value(held[0], owner.kind.around)
            if "__model__" in owner.attributes:
                return Bound(owner.attributes["__model__"], name)
            return Unknown(f"{id(owner)}.{name}").renamed(name)
        if isinstance(owner, Library):
            return Library(name, owner.name)
        if isinstance(owner, np.ndarray):
            if name == "ndim":
                return owner.ndim
            if name in ("data", "logits", "logit", "values", "sample", "predictions", "real"):
                return owner
            if name == "T":
                return owner.T
            if name == "shape":
                return list(owner.shape)
        if isinstance(owner, Pair) and name in ("values", "indices"):
            return owner[name == "indices"]
        if isinstance(owner, Asked):
            return {"predictions": owner.answers, "label_ids": owner.truth}.get(name, Unknown(name))
        if isinstance(owner, dict) and name in owner:
            return owner[name]
        if isinstance(owner, Unknown) and owner.truth and name in ("shape", "ndim"):
            rows = array(self.numbers(owner))
            return list(rows.shape) if name == "shape" else rows.ndim
        if isinstance(owner, Kind):
            return self.attribute(Instance(owner), name)
        return Bound(owner, name)

    @abstractmethod
    def method(self, owner: Instance, name: str, unknown: int) -> Any:
        """The result of a method on so many unknown arguments."""

    def item(self, owner: Any, index: ast.expr, env: Env) -> Any:
        """A part of a value."""
        if isinstance(owner, Bound):
            owner = self.plain(owner)
        if isinstance(owner, Unknown):
            key = self.value(index, env) if not isinstance(index, (ast.Slice, ast.Tuple)) else None
            if isinstance(key, str):
                return Unknown(f"{owner.key}[{key}]").renamed(key)
            if isinstance(key, int) and owner.pair and not owner.truth:
                return Unknown(f"{owner.key}[{key}]", truth=key == 1)
            if owner.truth and isinstance(index, ast.Tuple) and any(map(_is_new_axis, index.elts)):
                return np.asarray(self.numbers(owner))[self._index(index, env)]
            if owner.truth or owner.model:
                return owner
            return Unknown(f"{owner.key}[{ast.unparse(index)}]")
        at = self._index(index, env)
        if isinstance(owner, np.ndarray):
            parts = at if isinstance(at, tuple) else (at,)
            if any(isinstance(p, Unknown) and not p.truth for p in parts):
                raise Unfit
            parts = tuple(array(self.numbers(p)).astype(int) if isinstance(p, Unknown) else p for p in parts)
            if isinstance(at, str):
                return owner  # `outputs["logits"]`
            return owner[parts if isinstance(at, tuple) else parts[0]]
        if isinstance(owner, (list, tuple, dict, str)):
            return owner[at]
        raise Unfit

    def _index(self, node: ast.expr, env: Env) -> Any:
        if isinstance(node, ast.Slice):
            ends = [None if e is None else self.value(e, env) for e in (node.lower, node.upper, node.step)]
            if any(isinstance(e, Unknown) for e in ends):
                raise Unfit
            return slice(*ends)
        if isinstance(node, ast.Tuple):
            return tuple(self._index(e, env) for e in node.elts)
        value = self.value(node, env)
        if isinstance(value, np.ndarray) and value.dtype == float:
            value = value.astype(int)
        return value

    # ------------------------------------------------------------------------------------ arithmetic

    def numbers(self, value: Any) -> Any:
        """A value as numbers: what is known for the truth by its name is the truth.

        Raises Unfit for what is not known.
        """
        if isinstance(value, Bound):
            value = self.plain(value)
        if isinstance(value, Unknown) and value.truth:
            return self.world.truth(self.batch)
        if isinstance(value, (list, tuple)):
            return [self.numbers(v) for v in value]
        if isinstance(value, (bool, int, float, np.generic, np.ndarray)):
            return value
        raise Unfit

    def as_truth(self, value: Any) -> Any:
        """What stands beside the answers, as numbers."""
        if isinstance(value, Unknown) and not value.model:
            self.coerced = self.coerced or not value.truth
            return self.numbers(Unknown(value.key, truth=True))
        return self.numbers(value)

    @staticmethod
    def plain(bound: Bound) -> Any:
        """An attribute that is no method of what is unknown: a field of it."""
        if isinstance(bound.owner, Unknown):
            return Unknown(f"{bound.owner.key}.{bound.name}", model=bound.owner.model).renamed(bound.name)
        raise Unfit

    def operation(self, operator: type, left: Any, right: Any) -> Any:
        """Two values and an operator."""
        if isinstance(left, str) or isinstance(right, str):
            return Unknown("text")
        if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)) and operator is ast.Add:
            return [*left, *right] if is_small(operator, left, right) else Unknown("large")
        if isinstance(left, list) and isinstance(right, int) and operator is ast.Mult:
            return left * right if is_small(operator, left, right) else Unknown("large")
        if operator in _AGAINST_TRUTH:
            if isinstance(left, np.ndarray) and left.ndim:
                right = self.as_truth(right)
            elif isinstance(right, np.ndarray) and right.ndim:
                left = self.as_truth(left)
        a, b = (number(array(self.numbers(v))) for v in (left, right))
        if a.ndim and b.ndim and a.ndim != b.ndim and operator is not ast.MatMult:
            if np.broadcast(a, b).size > max(a.size, b.size):
                raise Unfit  # rows by rows: the layout is not the program's
        if not is_small(operator, a, b):
            raise Unfit
        if operator in (ast.BitAnd, ast.BitOr, ast.BitXor):
            if not (np.isin(a, (0, 1)).all() and np.isin(b, (0, 1)).all()):
                raise Unfit
            whole = [x.astype(bool) for x in (a, b)]
            join = {ast.BitAnd: np.logical_and, ast.BitOr: np.logical_or, ast.BitXor: np.logical_xor}
            return join[operator](*whole)
        if operator is ast.FloorDiv:
            return _as_python(np.floor_divide(a, b))
        if operator is ast.Mod:
            return _as_python(np.mod(a, b))
        name = _OPERATORS.get(operator)
        if name is None:
            raise Unfit
        if name == "pow":
            a = a.astype(float)
        return _as_python(TWO[name](a, b))

    def _turned(self, node: ast.UnaryOp, env: Env) -> Any:
        value = self.value(node.operand, env)
        if isinstance(node.op, ast.Not):
            truth = self.truth_of(value)
            return Unknown("not") if truth is None else not truth
        held = array(self.numbers(value))
        if isinstance(node.op, ast.Invert):
            return ~held.astype(bool)
        return _as_python(-number(held) if isinstance(node.op, ast.USub) else held)

    def _both(self, node: ast.BoolOp, env: Env) -> Any:
        ends = isinstance(node.op, ast.Or)
        for one in node.values:
            value = self.value(one, env)
            truth = self.truth_of(value)
            if truth is None:
                return Unknown("condition")
            if truth is ends:
                return value
        return value

    def _compared(self, node: ast.Compare, env: Env) -> Any:
        left = self.value(node.left, env)
        held: Any = True
        for operator, other in zip(node.ops, node.comparators, strict=True):
            right = self.value(other, env)
            if isinstance(operator, (ast.Is, ast.IsNot)):
                if isinstance(left, Unknown):
                    return Unknown("condition")
                return (left is right) == isinstance(operator, ast.Is)
            if isinstance(operator, (ast.In, ast.NotIn)):
                if not isinstance(right, (list, tuple, dict, str)) or isinstance(left, Unknown):
                    return Unknown("condition")
                return (left in right) == isinstance(operator, ast.In)
            if isinstance(left, str) or isinstance(right, str) or left is None or right is None:
                return left == right if not isinstance(left, Unknown) else Unknown("condition")
            one = self.operation(type(operator), left, right)
            if np.ndim(one) and np.size(one) and (np.all(one) or not np.any(one)):
                self.flat = True
            held = one if held is True else np.logical_and(held, one)
            left = right
        return held

    @staticmethod
    def truth_of(value: Any) -> bool | None:
        """Whether a value is true, or None where that is not known."""
        if value is None or isinstance(value, (bool, int, float, str, list, tuple, dict)):
            return bool(value)
        if isinstance(value, (np.ndarray, np.generic)) and np.size(value) == 1:
            return bool(value)
        return None

    def question(self, key: str) -> Array:
        """What a model says to something: the same to the same."""
        place = (self.batch, key)
        known = [k for b, k in self.questions if b == self.batch]
        if place not in self.questions:
            self.questions[place] = len(known)
        return self.world.answers(self.questions[place], self.batch)

    def rows(self) -> int:
        """Samples of this batch, or of both."""
        return sum(ROWS) if self.batch is None else ROWS[self.batch]


def _is_new_axis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


_SPREAD = 1.7391
_CENTRE = 0.3127


def _as_python(value: Any) -> Any:
    if (
        isinstance(value, (np.ndarray, np.generic))
        and np.ndim(value) == 0
        and not isinstance(value, np.bool_)
    ):
        plain = value.item()
        return int(plain) if isinstance(plain, float) and plain.is_integer() and abs(plain) < 1e9 else plain
    return value


__all__ = ["Expressions", "Made", "math"]
