"""Functions of a program gone through exactly, on inputs that are known: what is not understood ends it.

Numbers, lists, sets, mappings, arrays, the program's own functions and classes. Nothing of the program is
executed; steps and sizes are bounded.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..scripts.operators import ARITHMETIC, BITS, COMPARISONS, Operation
from ..scripts.syntax import Script
from . import sizes
from .arrays import Tensor, plain
from .calls import BUILTINS, LIBRARIES, QUIET, Calls
from .sizes import TooLong, Unfit, checked
from .things import Back, Break, Continue, Dotted, Kind, Method, Names, Object, Own

STEPS = 40_000  # of one call; a loop over the pixels of all pictures takes a tenth
ODD = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
_OPERATORS: Mapping[type, Operation] = {**ARITHMETIC, **BITS, ast.MatMult: operator.matmul}
_TESTS: Mapping[type, Operation] = {
    **COMPARISONS,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


class Interpreter(Calls):
    """One program, of which functions can be asked. All of `call` raises Unfit for what is not understood."""

    def __init__(self, source: Script, known: Names | None = None) -> None:
        super().__init__()
        self.source = source
        self.left, self.room = STEPS, sizes.MADE
        self.known = dict(known or {})
        self.module: Names = {}
        self._open: set[str] = set()
        self._defined: dict[str, ast.stmt] = {}
        for node in source.tree.body:
            for name in _given(node):
                if name in self._defined and not isinstance(node, (ast.Import, ast.ImportFrom)):
                    self._defined[name] = ast.Pass()  # given twice: which one holds is not known
                else:
                    self._defined[name] = node

    def call(self, function: ast.FunctionDef | ast.AsyncFunctionDef, given: list[Any], named: Names) -> Any:
        """What a function of the program gives. Raises Unfit."""
        self.left, self.room = STEPS, sizes.MADE
        return self._guarded(lambda: self._invoke(Own(function, [self.module]), given, named))

    def make(self, kind: ast.ClassDef, given: list[Any], named: Names) -> Object:
        """An object of a class of the program. Raises Unfit."""
        self.left, self.room = STEPS, sizes.MADE
        found = self._guarded(lambda: self._instance(Kind(kind), given, named))
        if not isinstance(found, Object):
            raise Unfit
        return found

    def ask(self, owner: Object, name: str, given: list[Any]) -> Any:
        """What a method of an object gives. Raises Unfit."""
        method = owner.kind.method(name)
        if method is None:
            raise Unfit
        self.left, self.room = STEPS, sizes.MADE
        return self._guarded(lambda: self._invoke(Own(method, [self.module], owner), given, {}))

    def _guarded(self, step: Callable[[], Any]) -> Any:
        try:
            with np.errstate(all="ignore"):
                return step()
        except ODD as odd:
            raise Unfit from odd
        except (Back, Break, Continue) as odd:
            raise Unfit from odd

    # ------------------------------------------------------------------------------------ statements

    def _block(self, body: list[ast.stmt], names: list[Names]) -> None:
        for node in body:
            self._count()
            self._statement(node, names)

    def _count(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise TooLong

    def _statement(self, node: ast.stmt, names: list[Names]) -> None:
        match node:
            case ast.FunctionDef():
                names[-1][node.name] = Own(node, names)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super"))))):
                pass  # what a library's class begins with; what is missing then is not understood later
            case ast.Assign():
                value = self.value(node.value, names)
                for target in node.targets:
                    self._bind(target, value, names)
            case ast.AnnAssign():
                if node.value is not None:
                    self._bind(node.target, self.value(node.value, names), names)
            case ast.AugAssign():
                old, new = self.value(_loaded(node.target), names), self.value(node.value, names)
                if isinstance(old, list) and isinstance(node.op, ast.Add):
                    old.extend(new)
                elif isinstance(old, set) and isinstance(node.op, ast.BitOr):
                    old.update(new)
                else:
                    self._bind(node.target, self._operation(node.op, old, new), names)
            case ast.Return():
                raise Back(None if node.value is None else self.value(node.value, names))
            case ast.Expr():
                if not isinstance(node.value, ast.Constant):
                    self.value(node.value, names)
            case ast.If():
                self._block(node.body if self._truth(node.test, names) else node.orelse, names)
            case ast.For():
                self._loop(node, names)
            case ast.While():
                self._while(node, names)
            case ast.With():
                if any(
                    "grad" not in ast.unparse(i) and "inference" not in ast.unparse(i) for i in node.items
                ):
                    raise Unfit
                self._block(node.body, names)
            case ast.Assert() | ast.Pass():
                pass
            case ast.Break():
                raise Break
            case ast.Continue():
                raise Continue
            case ast.Import() | ast.ImportFrom():
                for alias in node.names:
                    names[-1][alias.asname or alias.name.split(".")[0]] = Dotted(alias.asname or alias.name)
            case _:
                raise Unfit

    def _loop(self, node: ast.For, names: list[Names]) -> None:
        for item in self.items(self.value(node.iter, names)):
            self._count()
            self._bind(node.target, item, names)
            try:
                self._block(node.body, names)
            except Break:
                return
            except Continue:
                continue
        self._block(node.orelse, names)

    def _while(self, node: ast.While, names: list[Names]) -> None:
        while self._truth(node.test, names):
            self._count()
            try:
                self._block(node.body, names)
            except Break:
                return
            except Continue:
                continue

    def _bind(self, target: ast.expr, value: Any, names: list[Names]) -> None:
        match target:
            case ast.Name():
                names[-1][target.id] = value
            case ast.Tuple() | ast.List():
                parts = list(self.items(value))
                stars = [i for i, e in enumerate(target.elts) if isinstance(e, ast.Starred)]
                if stars:
                    rest = len(parts) - len(target.elts) + 1
                    at = stars[0]
                    parts = [*parts[:at], parts[at : at + rest], *parts[at + rest :]]
                if len(parts) != len(target.elts):
                    raise Unfit
                for one, part in zip(target.elts, parts, strict=True):
                    self._bind(one.value if isinstance(one, ast.Starred) else one, part, names)
            case ast.Subscript():
                owner = self.value(target.value, names)
                if not isinstance(owner, (list, dict, np.ndarray)):
                    raise Unfit
                at = self._slice(target.slice, names)
                sizes.shallow(at)
                owner[_place(at)] = value
            case ast.Attribute():
                owner = self.value(target.value, names)
                if not isinstance(owner, Object):
                    raise Unfit
                owner.held[target.attr] = value
            case _:
                raise Unfit

    # ----------------------------------------------------------------------------------- expressions

    def value(self, node: ast.expr, names: list[Names]) -> Any:
        """The value of an expression. Raises Unfit, or what Python raises."""
        self._count()
        found = checked(self._value(node, names))
        if isinstance(node, (ast.BinOp, ast.Call)):
            self.room -= sizes.size(found)
            if self.room < 0:
                raise TooLong
        return found

    def _value(self, node: ast.expr, names: list[Names]) -> Any:
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return self._name(node.id, names)
            case ast.Attribute():
                return self._attribute(node, names)
            case ast.Subscript():
                owner = self.value(node.value, names)
                if isinstance(owner, Dotted):
                    raise Unfit
                at = self._slice(node.slice, names)
                sizes.shallow(at)
                return owner[_place(at, owner)]
            case ast.BinOp():
                return self._operation(node.op, self.value(node.left, names), self.value(node.right, names))
            case ast.UnaryOp():
                return self._unary(node, names)
            case ast.BoolOp():
                return self._bool(node, names)
            case ast.Compare():
                return self._compared(node, names)
            case ast.IfExp():
                return self.value(node.body if self._truth(node.test, names) else node.orelse, names)
            case ast.Call():
                return self._call(node, names)
            case ast.Tuple():
                made = tuple(self._elements(node.elts, names))
                if any(isinstance(e, tuple) for e in made):
                    sizes.shallow(made)  # as a key its depth is gone through
                return made
            case ast.List():
                return list(self._elements(node.elts, names))
            case ast.Set():
                return set(self._elements(node.elts, names))
            case ast.Dict():
                if None in node.keys:
                    raise Unfit
                return {
                    self.value(k, names): self.value(v, names)
                    for k, v in zip(node.keys, node.values, strict=True)
                    if k is not None
                }
            case ast.ListComp() | ast.GeneratorExp():
                return list(self._each(lambda n: self.value(node.elt, n), node.generators, names))
            case ast.SetComp():
                return set(self._each(lambda n: self.value(node.elt, n), node.generators, names))
            case ast.DictComp():
                pair = lambda n: (self.value(node.key, n), self.value(node.value, n))  # noqa: E731
                return dict(self._each(pair, node.generators, names))
            case ast.Lambda():
                return Own(node, names)
            case ast.JoinedStr():
                return self._written(node, names)
        raise Unfit

    def _written(self, node: ast.JoinedStr, names: list[Names]) -> str:
        text = ""
        for part in node.values:
            held = part.value if isinstance(part, ast.Constant) else None
            if isinstance(part, ast.FormattedValue):
                held = self.value(part.value, names)
            sizes.shallow(held)
            text = checked(text + str(held))
        return text

    def _elements(self, nodes: list[ast.expr], names: list[Names]) -> Iterator[Any]:
        for node in nodes:
            if isinstance(node, ast.Starred):
                yield from self.items(self.value(node.value, names))
            else:
                yield self.value(node, names)

    def _each(
        self, make: Callable[[list[Names]], Any], over: list[ast.comprehension], names: list[Names]
    ) -> Iterator[Any]:
        if not over:
            yield make(names)
            return
        inner: list[Names] = [*names, {}]
        for item in self.items(self.value(over[0].iter, names)):
            self._count()
            self._bind(over[0].target, item, inner)
            if all(self._truth(t, inner) for t in over[0].ifs):
                yield from self._each(make, over[1:], inner)

    def _name(self, name: str, names: list[Names]) -> Any:
        for held in reversed(names):
            if name in held:
                return held[name]
        if name in self.known:
            return self.known[name]
        if name in self._defined:
            return self._of_module(name)
        if name in BUILTINS or name in LIBRARIES or name in QUIET:
            return Dotted(name)
        raise Unfit

    def _of_module(self, name: str) -> Any:
        node = self._defined[name]
        if name in self._open:
            raise Unfit
        self._open.add(name)
        try:
            match node:
                case ast.FunctionDef():
                    return Own(node, [self.module])
                case ast.ClassDef():
                    return Kind(node)
                case ast.Import() | ast.ImportFrom():
                    for alias in node.names:
                        if (alias.asname or alias.name.split(".")[0]) == name:
                            return Dotted(alias.name if isinstance(node, ast.ImportFrom) else name)
                case ast.Assign() | ast.AnnAssign() if node.value is not None:
                    value = self.value(node.value, [self.module])
                    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                        self._bind(target, value, [self.module])
                    return self.module[name]
            raise Unfit
        finally:
            self._open.discard(name)

    def _attribute(self, node: ast.Attribute, names: list[Names]) -> Any:
        owner, name = self.value(node.value, names), node.attr
        if isinstance(owner, Dotted):
            constants = {"nan": math.nan, "inf": math.inf, "pi": math.pi, "e": math.e, "newaxis": None}
            return constants[name] if name in constants else Dotted(f"{owner.path}.{name}")
        if isinstance(owner, Object):
            if name in owner.held:
                return owner.held[name]
            method = owner.kind.method(name)
            if method is None and name == "_convert_data":
                return Method(owner, name)  # of MindSpore's metrics
            if method is None:
                raise Unfit
            made = Own(method, [self.module], owner)
            if any("property" in ast.unparse(d) for d in method.decorator_list):
                return self._invoke(made, [], {})
            return made
        if isinstance(owner, (np.ndarray, np.generic)):
            if name in ("shape", "ndim", "T", "dtype"):
                return getattr(owner, name)
            if name == "size" and not isinstance(owner, Tensor):
                return owner.size
            if name == "device":
                return "cpu"
        if isinstance(owner, tuple) and name in ("values", "indices") and len(owner) == 2:
            return owner[name == "indices"]
        return Method(owner, name)

    def _slice(self, node: ast.expr, names: list[Names]) -> Any:
        if isinstance(node, ast.Slice):
            return slice(
                *(None if e is None else self.value(e, names) for e in (node.lower, node.upper, node.step))
            )
        if isinstance(node, ast.Tuple):
            return tuple(self._slice(e, names) for e in node.elts)
        return self.value(node, names)

    @staticmethod
    def _operation(op: ast.operator, left: Any, right: Any) -> Any:
        for one in (left, right):
            if isinstance(one, (Dotted, Method, Own, Object)) or one is None:
                raise Unfit
        sizes.operation(type(op), left, right)
        made = _OPERATORS.get(type(op))
        if made is None:
            raise Unfit
        arrays_of = [isinstance(x, np.ndarray) and x.dtype == bool for x in (left, right)]
        if all(arrays_of) and isinstance(op, ast.Sub):
            raise Unfit  # neither framework has it
        return made(left, right)

    def _unary(self, node: ast.UnaryOp, names: list[Names]) -> Any:
        if isinstance(node.op, ast.Not):
            return not self._truth(node.operand, names)
        value = self.value(node.operand, names)
        if isinstance(node.op, ast.USub):
            return -value
        if isinstance(node.op, ast.Invert) and isinstance(value, (np.ndarray, np.bool_)):
            return ~value
        if isinstance(node.op, ast.UAdd):
            return +value
        raise Unfit

    def _bool(self, node: ast.BoolOp, names: list[Names]) -> Any:
        value: Any = None
        for one in node.values:
            value = self.value(one, names)
            if self.holds(value) is isinstance(node.op, ast.Or):
                return value
        return value

    def _compared(self, node: ast.Compare, names: list[Names]) -> Any:
        left, found = self.value(node.left, names), True
        for op, other in zip(node.ops, node.comparators, strict=True):
            right = self.value(other, names)
            if any(isinstance(x, (Dotted, Method, Own)) for x in (left, right)):
                raise Unfit
            sizes.shallow(left, right)
            if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
                sizes.operation(ast.Add, left, right)  # of the same size
            found = _TESTS[type(op)](left, right)
            if len(node.ops) > 1 and not self.holds(found):
                return False
            left = right
        return found

    def _truth(self, node: ast.expr, names: list[Names]) -> bool:
        return self.holds(self.value(node, names))

    # ----------------------------------------------------------------------------------------- calls

    def _call(self, node: ast.Call, names: list[Names]) -> Any:
        callee = self.value(node.func, names)
        given = list(self._elements(node.args, names))
        named = {k.arg: self.value(k.value, names) for k in node.keywords if k.arg}
        if any(k.arg is None for k in node.keywords):
            raise Unfit
        return self.apply(callee, given, named)

    def apply(self, callee: Any, given: list[Any], named: Names) -> Any:
        """What anything that is called gives."""
        if isinstance(callee, Own):
            return self._invoke(callee, given, named)
        if isinstance(callee, Kind):
            return self._instance(callee, given, named)
        if isinstance(callee, Object):
            method = callee.kind.method("__call__") or callee.kind.method("forward")
            if method is None:
                raise Unfit
            return self._invoke(Own(method, [self.module], callee), given, named)
        if isinstance(callee, Dotted):
            return self.library(callee, given, named)
        if isinstance(callee, Method):
            return self.of_method(callee.owner, callee.name, given, named)
        raise Unfit

    def _instance(self, kind: Kind, given: list[Any], named: Names) -> Object:
        made = Object(kind)
        start = kind.method("__init__")
        if start is not None:
            self._invoke(Own(start, [self.module], made), given, named)
        elif given or named:
            raise Unfit
        return made

    def _invoke(self, own: Own, given: list[Any], named: Names) -> Any:
        args = own.node.args
        places = [a.arg for a in (*args.posonlyargs, *args.args)]
        mine: Names = {}
        decorated = [] if isinstance(own.node, ast.Lambda) else own.node.decorator_list
        if own.owner is not None and not any(ast.unparse(d) == "staticmethod" for d in decorated):
            given = [own.owner, *given]
        for place, default in zip(places[len(places) - len(args.defaults) :], args.defaults, strict=True):
            mine[place] = self.value(default, [self.module])
        for one, default_ in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            if default_ is not None:
                mine[one.arg] = self.value(default_, [self.module])
        if len(given) > len(places) and args.vararg is None:
            raise Unfit
        mine.update(zip(places, given, strict=False))
        if args.vararg is not None:
            mine[args.vararg.arg] = tuple(given[len(places) :])
        mine.update(named)
        if any(p not in mine for p in (*places, *(a.arg for a in args.kwonlyargs))):
            raise Unfit
        if isinstance(own.node, ast.Lambda):
            return self.value(own.node.body, [*own.around, mine])
        if any(
            isinstance(n, (ast.Yield, ast.YieldFrom, ast.Global, ast.Nonlocal)) for n in ast.walk(own.node)
        ):
            raise Unfit
        try:
            self._block(own.node.body, [*own.around, mine])
        except Back as back:
            return back.value
        return None


def _place(at: Any, owner: Any = None) -> Any:
    if isinstance(at, tuple):
        return tuple(map(_place, at))
    if isinstance(at, np.ndarray) and at.dtype != bool:
        if not isinstance(owner, (dict, list)):
            return plain(at).astype(int)
        at = at.item()
    if isinstance(owner, (list, tuple)) and isinstance(at, np.generic):
        return at.item()
    return plain(at) if isinstance(at, np.ndarray) else at


def _loaded(node: ast.Name | ast.Attribute | ast.Subscript) -> ast.expr:
    """A target as it is read."""
    found: ast.expr
    match node:
        case ast.Name():
            found = ast.Name(node.id, ast.Load())
        case ast.Attribute():
            found = ast.Attribute(node.value, node.attr, ast.Load())
        case ast.Subscript():
            found = ast.Subscript(node.value, node.slice, ast.Load())
    return ast.copy_location(found, node)


def _given(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef() | ast.ClassDef():
            yield node.name
        case ast.Import() | ast.ImportFrom():
            yield from (a.asname or a.name.split(".")[0] for a in node.names)
        case ast.Assign():
            yield from (n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name))
        case ast.AnnAssign() | ast.AugAssign() if isinstance(node.target, ast.Name):
            yield node.target.id
        case ast.If() | ast.Try() | ast.For() | ast.With() | ast.While():
            yield from (
                n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            )
