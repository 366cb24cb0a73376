"""Expressions of a program while it is rehearsed."""

from __future__ import annotations

import ast
import copy as copying
import operator
import reprlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ..scripts.bounds import MOST_ITEMS, is_small, is_small_nest
from ..scripts.operators import COMPARISONS
from ..scripts.syntax import Script
from .journal import Event, Journal
from .values import (
    STRANGE,
    Instance,
    Library,
    Maybe,
    Partly,
    Routine,
    RowCount,
    Scope,
    Tensor,
    TooLong,
    Unknown,
    Way,
    put_behind,
    turned_out,
)

PLAIN = (bool, int, float, str, bytes, type(None))
BUILTINS = frozenset(dir(__builtins__) if not isinstance(__builtins__, dict) else __builtins__)
_TWO: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("add", operator.add),
    ast.Sub: ("sub", operator.sub),
    ast.Mult: ("mul", operator.mul),
    ast.Div: ("div", operator.truediv),
    ast.FloorDiv: ("floordiv", operator.floordiv),
    ast.Mod: ("mod", operator.mod),
    ast.Pow: ("pow", operator.pow),
    ast.MatMult: ("matmul", operator.matmul),
    ast.BitAnd: ("and", operator.and_),
    ast.BitOr: ("or", operator.or_),
    ast.BitXor: ("xor", operator.xor),
    ast.LShift: ("lshift", operator.lshift),
    ast.RShift: ("rshift", operator.rshift),
}
ODD = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError, MemoryError)


@lru_cache(maxsize=256)
def method_of(prefix: str, kind: str) -> str:
    """The name of the method that knows a kind of node."""
    return prefix + kind.lower()


@dataclass
class Grown:
    """A list, the loop that it grows in, by how much, and how many items in truth stand for one."""

    held: list[Any]
    loop: ast.AST | None
    count: int
    share: float


class Expressions:
    """The values of expressions."""

    def __init__(self, source: Script, steps: int) -> None:
        self.source = source
        self.steps = steps
        self.top = Scope()
        self.journal = Journal()
        self.loops: list[tuple[ast.AST, int]] = []
        self.lengths: dict[ast.AST, int] = {}  # rounds of a loop in truth, where they are known
        self.shares: dict[ast.AST, float] = {}  # how many rounds in truth stand for one that is gone through
        self.grown: dict[int, Grown] = {}  # lists that are filled in rounds
        self.guessed: list[ast.AST] = []
        self.guesses: dict[ast.AST, int] = {}
        self.calls: list[ast.AST] = []
        self.texts: dict[ast.JoinedStr, list[tuple[str, Any]]] = {}
        self.clock = 0
        self.without: frozenset[ast.AST] = frozenset()
        self.counts: set[ast.AST] = set()  # expressions that were plain numbers, not written out

    # ------------------------------------------------------------------------------------ bookkeeping

    def tick(self, count: int = 1) -> None:
        """Count what is gone through. Raises TooLong."""
        self.steps -= count
        if self.steps < 0:
            raise TooLong

    def now(self, node: ast.AST) -> dict[str, Any]:
        """When and where something happens, as `Event` wants it."""
        self.clock += 1
        return {
            "node": node,
            "time": self.clock,
            "loops": tuple(self.loops),
            "guessed": tuple(self.guessed),
            "calls": tuple(self.calls),
        }

    def note(self, event: Event) -> None:
        """Put down what happened."""
        self.journal.events.append(event)

    @contextmanager
    def guessing(self, node: ast.AST) -> Iterator[None]:
        """What happens within happens on a branch that was guessed."""
        self.guessed.append(node)
        try:
            yield
        finally:
            self.guessed.pop()

    def is_entry(self, node: ast.AST) -> bool:
        """Whether a node stands in the file that is started."""
        before = self.source.pieces[-1][0] if self.source.pieces else 0
        return getattr(node, "lineno", 0) > before

    # ------------------------------------------------------------------------------------ expressions

    def value(self, node: ast.expr, scope: Scope) -> Any:
        """The value of an expression; `Unknown` where it is not known."""
        self.tick()
        if node in self.without:
            return Unknown("", STRANGE)
        known = getattr(self, method_of("_of_", type(node).__name__), None)
        if known is None:
            return Unknown(type(node).__name__)
        try:
            made = known(node, scope)
        except ODD as error:
            self.journal.notes.append(f"{getattr(node, 'lineno', 0)}: {type(error).__name__}: {error}"[:200])
            return Unknown(ast.unparse(node)[:60])
        if type(made) in (int, float) and not isinstance(node, ast.Constant):
            self.counts.add(node)
        return made

    def _of_constant(self, node: ast.Constant, scope: Scope) -> Any:
        return node.value

    def _of_name(self, node: ast.Name, scope: Scope) -> Any:
        held: Scope | None = scope
        while held is not None:
            if node.id in held.names:
                return turned_out(held.names[node.id])
            held = held.around
        if node.id == "__name__":
            return "__main__"
        return Library(f"builtins.{node.id}") if node.id in BUILTINS else Unknown(node.id)

    def _of_attribute(self, node: ast.Attribute, scope: Scope) -> Any:
        return self.attribute(self.value(node.value, scope), node.attr, node)

    def _of_tuple(self, node: ast.Tuple, scope: Scope) -> Any:
        return tuple(self._each(node.elts, scope))

    def _of_list(self, node: ast.List, scope: Scope) -> Any:
        return list(self._each(node.elts, scope))

    def _of_set(self, node: ast.Set, scope: Scope) -> Any:
        held = list(self._each(node.elts, scope))
        return set(held) if all(is_key(h) for h in held) else held

    def _each(self, nodes: list[ast.expr], scope: Scope) -> Iterator[Any]:
        for one in nodes:
            if isinstance(one, ast.Starred):
                yield from self.items(self.value(one.value, scope), one)
            else:
                yield self.value(one, scope)

    def _of_dict(self, node: ast.Dict, scope: Scope) -> Any:
        found: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            held = self.value(value, scope)
            if key is None:
                if type(held) is Unknown and not found:
                    found = Partly()
                    found.rest = held
                if isinstance(held, dict):
                    found.update(held)
                continue
            name = self.value(key, scope)
            found[name if is_key(name) else self.key_of(name)] = held
        return found

    @staticmethod
    def key_of(value: Any) -> Any:
        """What stands for a value as a key of a mapping."""
        return ("object", id(value))

    def _of_joinedstr(self, node: ast.JoinedStr, scope: Scope) -> Any:
        """A text; the figures in it are kept with the words before each, for those who tell it."""
        parts: list[str] = []
        figures: list[tuple[str, Any]] = []
        before, known = "", True
        whole: Any = None  # a text of each sample: the name of its file
        for one in node.values:
            if isinstance(one, ast.FormattedValue):
                held = self.value(one.value, scope)
                if isinstance(held, Tensor) and held.rows is not None and not held.scalar:
                    whole = put_behind("".join(parts), held.then("text"))
                figures.append((before or ast.unparse(one.value), held))
                before = ""
                known = known and isinstance(held, PLAIN)
                parts.append(str(held) if isinstance(held, PLAIN) else f"{{{_told(held)}}}")
            elif isinstance(one, ast.Constant):
                before = str(one.value)
                parts.append(before)
        self.texts[node] = figures
        if whole is not None:
            return whole
        text = "".join(parts)[:MOST_ITEMS]
        return text if known else Unknown(text[:200])

    def _of_ifexp(self, node: ast.IfExp, scope: Scope) -> Any:
        told = self.truth(self.value(node.test, scope))
        if told is None:
            with self.guessing(node):
                return self.value(node.body, scope)
        return self.value(node.body if told else node.orelse, scope)

    def _of_lambda(self, node: ast.Lambda, scope: Scope) -> Any:
        return Routine(node, scope)

    def _of_namedexpr(self, node: ast.NamedExpr, scope: Scope) -> Any:
        value = self.value(node.value, scope)
        scope.put(node.target.id, value)
        return value

    def _of_starred(self, node: ast.Starred, scope: Scope) -> Any:
        return self.value(node.value, scope)

    def _of_await(self, node: ast.Await, scope: Scope) -> Any:
        return self.value(node.value, scope)

    def _of_yield(self, node: ast.Yield, scope: Scope) -> Any:
        held = self.value(node.value, scope) if node.value is not None else None
        return self.yielded(held, node)

    def _of_yieldfrom(self, node: ast.YieldFrom, scope: Scope) -> Any:
        for one in self.rounds(self.value(node.value, scope), node):
            self.yielded(one, node)
        return None

    def _of_boolop(self, node: ast.BoolOp, scope: Scope) -> Any:
        ends = isinstance(node.op, ast.Or)
        unknown: list[Any] = []
        value: Any = None
        for one in node.values:
            value = self.value(one, scope)
            told = self.truth(value)
            if told is ends:
                return value if not unknown else (value if isinstance(value, bool) else Maybe((value,)))
            if told is None:
                unknown.append(value)
        if unknown:
            return unknown[0] if len(unknown) == 1 and unknown[0] is value else Maybe(tuple(unknown))
        return value

    def _of_unaryop(self, node: ast.UnaryOp, scope: Scope) -> Any:
        value = self.value(node.operand, scope)
        if isinstance(node.op, ast.Not):
            told = self.truth(value)
            return Maybe((value,)) if told is None else not told
        if isinstance(value, Tensor):
            made = value.then("neg" if isinstance(node.op, ast.USub) else "not")
            if value.number is None:
                return made
            number = ~value.number if isinstance(node.op, ast.Invert) else -value.number
            return value.like(number=number, mark=made.mark, how=made.how)
        if isinstance(value, (bool, int, float)):
            if isinstance(node.op, ast.Invert):
                return ~int(value)
            return -value if isinstance(node.op, ast.USub) else value
        return Unknown("turned", how=Way("neg" if isinstance(node.op, ast.USub) else "not", (value,)))

    def _of_binop(self, node: ast.BinOp, scope: Scope) -> Any:
        return self.operation(node.op, self.value(node.left, scope), self.value(node.right, scope), node)

    def operation(self, op: ast.operator, left: Any, right: Any, node: ast.AST) -> Any:
        """Two values and an operator."""
        name, function = _TWO[type(op)]
        if isinstance(left, Instance) or isinstance(right, Instance):
            held = self.operator_of(left, right, name, node)
            if held is not None:
                return held
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            small = is_small(type(op), _number(left), _number(right))
            made = self.combined(name, [left, right], function if small else None)
            if isinstance(op, (ast.Add, ast.Div)) and isinstance(made, Tensor):
                behind = right.folder if isinstance(right, Tensor) else ""
                if isinstance(left, (str, Unknown)) or hasattr(left, "joined") or behind or _folder(left):
                    made.folder = behind
                    put_behind(left, made)
            return made
        if isinstance(left, RowCount) and isinstance(op, ast.FloorDiv) and type(right) is int:
            return max(left // right, 1) if right > 0 else Unknown("count")
        if isinstance(left, PLAIN) and isinstance(right, PLAIN):
            if isinstance(op, ast.Pow) and isinstance(right, (int, float)) and abs(right) > 64:
                return Unknown("power")
            return function(left, right) if is_small(type(op), left, right) else Unknown("large")
        if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)) and isinstance(op, ast.Add):
            if not is_small(ast.Add, left, right):
                return Unknown("large")
            both = [*left, *right]
            return tuple(both) if isinstance(left, tuple) and isinstance(right, tuple) else both
        if isinstance(left, (list, tuple)) and isinstance(right, int) and isinstance(op, ast.Mult):
            return left * max(0, min(right, MOST_ITEMS // max(len(left), 1)))
        if isinstance(left, (set, dict)) and isinstance(right, type(left)):
            return function(left, right)
        if isinstance(left, dict) and isinstance(right, str):
            return left  # a row that was written as JSON, and the end of its line
        if isinstance(op, ast.Div) and hasattr(left, "joined") and isinstance(right, (str, Unknown)):
            return left.joined(right)
        if isinstance(left, Unknown) or isinstance(right, Unknown):
            made = self.unknown_of(f"{_told(left)} {name} {_told(right)}"[:200], [left, right])
            made.how = Way(name, (left, right))
            return made
        return Unknown(name, how=Way(name, (left, right)))

    def _of_compare(self, node: ast.Compare, scope: Scope) -> Any:
        left = self.value(node.left, scope)
        held: Any = True
        for op, other in zip(node.ops, node.comparators, strict=True):
            right = self.value(other, scope)
            one = self.compared(op, left, right)
            if one is False:
                return False
            held = one if held is True else self.both(held, one)
            left = right
        return held

    def both(self, left: Any, right: Any) -> Any:
        """Two conditions that must both hold."""
        if right is True:
            return left
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            return self.combined("and", [left, right], operator.and_)
        return Maybe((left, right))

    def compared(self, op: ast.cmpop, left: Any, right: Any) -> Any:
        """A comparison of two values."""
        if isinstance(op, (ast.Is, ast.IsNot)):
            if any(isinstance(v, (Unknown, Maybe)) for v in (left, right)):
                return Maybe((left, right))
            return (left is right) == isinstance(op, ast.Is)
        if isinstance(op, (ast.In, ast.NotIn)):
            inside = self.inside(left, right)
            return Maybe((left, right)) if inside is None else inside == isinstance(op, ast.In)
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            return self.compared_tensors(op, left, right, COMPARISONS[type(op)])
        plain = (*PLAIN, list, tuple, dict, set, range)
        if isinstance(left, plain) and isinstance(right, plain):
            if not (is_small_nest(left) or is_small_nest(right)):
                return Maybe((left, right))
            return bool(COMPARISONS[type(op)](left, right))
        if isinstance(op, (ast.Eq, ast.NotEq)) and not isinstance(left, Unknown) and left is right:
            return isinstance(op, ast.Eq)
        return Maybe((left, right))

    def compared_tensors(
        self, op: ast.cmpop, left: Any, right: Any, function: Callable[[Any, Any], Any]
    ) -> Any:
        """A comparison with a tensor: of numbers a mask, of figures a condition that is not known."""
        small = is_small(ast.Add, _number(left), _number(right))
        made = self.combined(type(op).__name__.lower(), [left, right], function if small else None)
        if isinstance(made, Tensor) and made.scalar and made.number is None:
            return Maybe((left, right))
        return made

    def inside(self, item: Any, holder: Any) -> bool | None:
        """Whether something is among others, or None."""
        if isinstance(holder, str) and isinstance(item, str):
            return item in holder
        if isinstance(holder, (dict, set)):
            return item in holder if is_key(item) else None
        if isinstance(holder, range):
            return item in holder if isinstance(item, int) else None
        if isinstance(holder, (list, tuple)):
            if any(item is h for h in holder):
                return True
            if isinstance(item, PLAIN) and all(isinstance(h, PLAIN) for h in holder):
                return item in holder
        return None

    def truth(self, value: Any) -> bool | None:
        """Whether a value is true, or None where that is not known."""
        if value is None or isinstance(value, (bool, int, float, str, bytes, list, tuple, dict, set, range)):
            return bool(value)
        if isinstance(value, Tensor):
            if value.number is not None and np.size(value.number) == 1:
                return bool(np.all(value.number))
            return None
        if isinstance(value, (Unknown, Maybe)):
            return None
        return True

    # ------------------------------------------------------------------------------------ parts

    def _of_subscript(self, node: ast.Subscript, scope: Scope) -> Any:
        return self.item(self.value(node.value, scope), self.index(node.slice, scope), node)

    def index(self, node: ast.expr, scope: Scope) -> Any:
        """What stands between the brackets."""
        if isinstance(node, ast.Slice):
            ends = [None if e is None else self.value(e, scope) for e in (node.lower, node.upper, node.step)]
            ends = [_whole(e) for e in ends]
            if all(e is None or isinstance(e, int) for e in ends):
                return slice(*ends)
            return self.unknown_of("slice", ends)
        if isinstance(node, ast.Tuple):
            return tuple(self.index(e, scope) for e in node.elts)
        return self.value(node, scope)

    def _of_listcomp(self, node: ast.ListComp | ast.GeneratorExp, scope: Scope) -> Any:
        found: list[Any] = []
        for inner in self.comprehended(node.generators, Scope(scope)):
            found.append(self.value(node.elt, inner))
        share = prod(self.shares.get(g.iter, 1.0) for g in node.generators)
        if share > 1.0 and not any(g.ifs for g in node.generators):
            self.grown[id(found)] = Grown(found, None, len(found), share)
        return found

    _of_generatorexp = _of_listcomp

    def _of_setcomp(self, node: ast.SetComp, scope: Scope) -> Any:
        held = [self.value(node.elt, i) for i in self.comprehended(node.generators, Scope(scope))]
        return set(held) if all(is_key(h) for h in held) else held

    def _of_dictcomp(self, node: ast.DictComp, scope: Scope) -> Any:
        found: dict[Any, Any] = {}
        for inner in self.comprehended(node.generators, Scope(scope)):
            name = self.value(node.key, inner)
            name = name if is_key(name) else self.key_of(name)
            found[name] = self.value(node.value, inner)
        return found

    def grows(self, held: list[Any]) -> None:
        """A list is put to in the loop that is gone through."""
        if self.loops and len(held) < MOST_ITEMS:
            loop = self.loops[-1][0]
            one = self.grown.setdefault(id(held), Grown(held, loop, 0, self.shares.get(loop, 1.0)))
            one.count += 1
            if one.loop is not loop:
                one.share = 1.0

    def true_length(self, held: list[Any]) -> int:
        """How long a list is in truth that is filled in a loop whose first rounds alone are gone through."""
        one = self.grown.get(id(held))
        if one is None or one.held is not held or one.count != len(held):
            return len(held)
        return round(one.share * len(held))

    def comprehended(self, over: list[ast.comprehension], scope: Scope) -> Iterator[Scope]:
        """The scopes of a comprehension's rounds."""
        if not over:
            yield scope
            return
        first, rest = over[0], over[1:]
        for item in self.rounds(self.value(first.iter, scope), first.iter):
            self.tick()
            self.bind(first.target, item, scope)
            told = [self.truth(self.value(c, scope)) for c in first.ifs]
            if False not in told:
                if None in told:
                    self.bind(first.target, doubtful(item), scope)
                yield from self.comprehended(rest, scope)

    # ------------------------------------------------------------------------------------ to be given

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def unknown_of(self, key: str, parts: list[Any]) -> Unknown:
        """What is not known, made of these parts."""
        return Unknown(key)

    def items(self, value: Any, node: ast.AST) -> list[Any]:
        """The items of something; of what is not known one that is not known."""
        held = self.items_known(value)
        return held if held is not None else [Unknown("item")]


_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxlist, _SHORT.maxtuple, _SHORT.maxstring, _SHORT.maxother = 3, 40, 40, 100, 100


def _told(value: Any) -> str:
    """How a value is written in the key of one that is not known."""
    if isinstance(value, str):
        return value
    name = getattr(value, "key", getattr(value, "name", None))
    if isinstance(name, str):
        return name[:100]
    plain = isinstance(value, (*PLAIN, list, tuple, dict, set, range))
    return _SHORT.repr(value)[:100] if plain else type(value).__name__


def _number(value: Any) -> Any:
    return value.number if isinstance(value, Tensor) else value


def _folder(value: Any) -> str:
    return value.folder if isinstance(value, Tensor) else ""


def is_key(value: Any) -> bool:
    """Whether a value may be a key of a mapping as it is."""
    return isinstance(value, PLAIN) or (isinstance(value, tuple) and is_small_nest(value))


def doubtful(value: Any) -> Any:
    """The same, of which it is not known whether it is there: its rows are a guess."""
    if isinstance(value, (tuple, list)) and len(value) <= 16:
        return type(value)([doubtful(v) for v in value])
    if isinstance(value, Tensor) and value.rows is not None and not value.vague:
        value = copying.copy(value)
        value.vague = True
    return value


def _whole(value: Any) -> Any:
    if isinstance(value, Tensor) and value.number is not None and np.size(value.number) == 1:
        return int(np.asarray(value.number).reshape(-1)[0])
    return int(value) if isinstance(value, (bool, np.integer)) else value
