"""Numbers of a program worked out: names, settings, functions of one number, lengths that are not known."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping

from ..readers.script import keyword, last_name
from ..scripts.operators import ARITHMETIC, COMPARISONS
from .side import Side

BATCHES = 50.0  # in an epoch, where only the data tell
ROWS = 3200.0  # in a table of which only the file tells
MAX_DEPTH = 24
_LOADERS = re.compile(r"(?i)loader|(?:^|_)dl$|batches|iterator")
_COUNTS = re.compile(r"(?i)^(?:get_dataset_size|steps_per_epoch|num_batches|cardinality)$")

_MATH: Mapping[str, Callable[..., float]] = {
    "cos": math.cos,
    "sin": math.sin,
    "exp": math.exp,
    "sqrt": math.sqrt,
    "log": math.log,
    "floor": math.floor,
    "ceil": math.ceil,
    "pow": pow,
    "min": min,
    "max": max,
    "minimum": min,
    "maximum": max,
    "abs": abs,
    "int": int,
    "float": float,
    "round": round,
}
_OPERATORS: Mapping[type, Callable[[float, float], float]] = {**ARITHMETIC, **COMPARISONS}
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Unseen(Exception):
    """What a number depends on is not seen."""


class Arithmetic:
    """Works out numbers; `lengths` collects which unknown lengths were guessed ("batches", "rows")."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.lengths: set[str] = set()

    def number(
        self, node: ast.expr | None, given: Mapping[str, float] | None = None, depth: int = 0
    ) -> float:
        """The number of an expression, with `given` for names.

        Raises Unseen.
        """
        if node is None or depth > MAX_DEPTH:
            raise Unseen
        given = given or {}
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return float(value)
            case ast.Name(id=name) if name in given:
                return given[name]
            case ast.UnaryOp(op=ast.USub()):
                return -self.number(node.operand, given, depth + 1)
            case ast.UnaryOp(op=ast.Not()):
                return float(not self.number(node.operand, given, depth + 1))
            case ast.BinOp():
                left, right = (self.number(x, given, depth + 1) for x in (node.left, node.right))
                return self._done(type(node.op), left, right)
            case ast.Compare(ops=[op], comparators=[other]):
                left, right = (self.number(x, given, depth + 1) for x in (node.left, other))
                return self._done(type(op), left, right)
            case ast.BoolOp():
                parts = [self.number(v, given, depth + 1) for v in node.values]
                return float(all(parts) if isinstance(node.op, ast.And) else any(parts))
            case ast.IfExp():
                test = self.number(node.test, given, depth + 1)
                return self.number(node.body if test else node.orelse, given, depth + 1)
            case ast.Call():
                return self._call(node, given, depth)
        if isinstance(node, (ast.Name, ast.Attribute)) and last_name(node) == "pi":
            return math.pi
        if isinstance(node, ast.Name):
            return self._named(node, depth)
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            known = self.side.number(node)
            if known is None and isinstance(node, ast.Attribute):
                made = self.side.given.get(node.attr, [])
                if len(made) == 1:
                    return self.number(made[0], None, depth + 1)
                if not made and _COUNTS.match(node.attr):
                    return self._length("batches")
            if known is not None:
                return known
        raise Unseen

    def _done(self, kind: type, left: float, right: float) -> float:
        try:
            return float(_OPERATORS[kind](left, right))
        except (KeyError, ArithmeticError, TypeError, ValueError) as odd:
            raise Unseen from odd

    def _length(self, kind: str) -> float:
        self.lengths.add(kind)
        return BATCHES if kind == "batches" else ROWS

    def _call(self, call: ast.Call, given: Mapping[str, float], depth: int) -> float:
        name = last_name(call.func)
        if name == "len" and len(call.args) == 1:
            return self._length("batches" if _LOADERS.search(last_name(call.args[0])) else "rows")
        if _COUNTS.match(name):
            return self._length("batches")
        if name in _MATH and not call.keywords and call.args:
            if not isinstance(call.func, ast.Attribute) or last_name(call.func.value) in (
                "math",
                "np",
                "numpy",
            ):
                parts = [self.number(a, given, depth + 1) for a in call.args]
                try:
                    return float(_MATH[name](*parts))
                except (ArithmeticError, TypeError, ValueError) as odd:
                    raise Unseen from odd
        function = self.function(call.func)
        if function is None or isinstance(function, ast.Lambda):
            raise Unseen
        values = [self.number(a, given, depth + 1) for a in call.args]
        named = {k.arg: self.number(k.value, given, depth + 1) for k in call.keywords if k.arg}
        return self.run(function, values, named, depth + 1)

    def function(self, node: ast.expr) -> _Function | ast.Lambda | None:
        """The function of the program that an expression names: `factor`, `self.factor`, a lambda."""
        if isinstance(node, ast.Lambda):
            return node
        if not isinstance(node, (ast.Name, ast.Attribute)):
            return None
        name = last_name(node)
        found = [f for f in self.side.source.of(ast.FunctionDef) if f.name == name]
        if len(found) == 1:
            return found[0]
        made = self.side.given.get(name, []) if not found else []
        return made[0] if len(made) == 1 and isinstance(made[0], ast.Lambda) else None

    def run(
        self,
        function: _Function | ast.Lambda,
        values: list[float],
        named: Mapping[str, float] | None = None,
        depth: int = 0,
    ) -> float:
        """What a function gives for these numbers.

        Raises Unseen.
        """
        arguments = function.args
        names = [a.arg for a in (*arguments.posonlyargs, *arguments.args) if a.arg not in ("self", "cls")]
        defaults = zip(names[::-1], arguments.defaults[::-1], strict=False)
        given = {n: self.number(d, None, depth + 1) for n, d in defaults}
        given |= {**dict(zip(names, values, strict=False)), **(named or {})}
        if isinstance(function, ast.Lambda):
            return self.number(function.body, given, depth + 1)
        found = self._body(function.body, given, depth)
        if found is None:
            raise Unseen
        return found

    def _body(self, body: list[ast.stmt], given: dict[str, float], depth: int) -> float | None:
        for statement in body:
            match statement:
                case ast.Return(value=value):
                    return self.number(value, given, depth + 1)
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    try:
                        given[name] = self.number(value, given, depth + 1)
                    except Unseen:
                        given.pop(name, None)  # `c = self.config`
                case ast.AugAssign(target=ast.Name(id=name), value=value) if name in given:
                    more = self.number(value, given, depth + 1)
                    given[name] = self._done(type(statement.op), given[name], more)
                case ast.If(test=test):
                    branch = statement.body if self.number(test, given, depth + 1) else statement.orelse
                    found = self._body(branch, given, depth)
                    if found is not None:
                        return found
                case ast.Expr(value=ast.Constant()) | ast.Pass():
                    continue
                case _:
                    raise Unseen
        return None

    def _named(self, node: ast.Name, depth: int) -> float:
        """A name by the function it stands in, then by those around it."""
        source = self.side.source
        scopes = [p for p in source.above(node) if isinstance(p, (ast.FunctionDef, ast.AsyncFunctionDef))]
        for scope in scopes:
            made = [v for v, at in self._assigned(node.id) if source.function_around(at) is scope]
            if len(made) == 1:
                return self.number(made[0], None, depth + 1)
            if made:
                raise Unseen
            if node.id in [a.arg for a in (*scope.args.args, *scope.args.kwonlyargs)]:
                return self._parameter(scope, node, depth)
        made = [v for v, at in self._assigned(node.id) if source.function_around(at) is None]
        if len(made) == 1:
            return self.number(made[0], None, depth + 1)
        value = self.side.number(node)
        if value is None and not made and _COUNTS.match(node.id):
            return self._length("batches")
        if value is None:
            raise Unseen
        return value

    def _assigned(self, name: str) -> list[tuple[ast.expr, ast.AST]]:
        found: list[tuple[ast.expr, ast.AST]] = []
        for node in self.side.source.of(ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    pairs = [(target, node.value)]
                    if isinstance(target, ast.Tuple):
                        values = getattr(node.value, "elts", None) or [node.value] * len(target.elts)
                        pairs = list(zip(target.elts, values, strict=False))
                    found += [(v, node) for t, v in pairs if isinstance(t, ast.Name) and t.id == name]
                continue
            if isinstance(node, (ast.For, ast.AugAssign, ast.AnnAssign)):
                value = node.iter if isinstance(node, ast.For) else node.value
                if isinstance(node.target, ast.Name) and node.target.id == name and value is not None:
                    found.append((value, node))
        return found

    def _parameter(self, function: _Function, node: ast.Name, depth: int) -> float:
        """What the only call of a function gives its parameter, or its default."""
        source = self.side.source
        names = [a.arg for a in function.args.args if a.arg not in ("self", "cls")]
        owner = source.class_around(function) if function.name == "__init__" else None
        calls = source.named(owner.name if owner is not None else function.name)
        if len(calls) > 1:
            raise Unseen
        for call in calls:
            value = keyword(call, node.id)
            place = names.index(node.id) if node.id in names else len(call.args)
            if value is None and place < len(call.args):
                value = call.args[place]
            if value is not None:
                return self.number(value, None, depth + 1)
        defaults = dict(zip(names[::-1], function.args.defaults[::-1], strict=False))
        if calls and node.id in defaults:
            return self.number(defaults[node.id], None, depth + 1)
        default = self.side.number(node)
        if default is None:
            raise Unseen
        return default
