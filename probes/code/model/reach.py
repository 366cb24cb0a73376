"""What of a forward pass reaches its output, in scripts: with its gradients, cut off, or not at all.

A forward method is gone through statement by statement, and each value is followed as the set of layers that
it was made by: those from which gradients come back (`live`), and those behind `detach`, `.data`, a block
without gradients, numpy (`cut`). Where that cannot be told (an unknown method of self, a nested function),
nothing is said.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ...readers._tree import of, unparse, walk
from ...readers.script import last_name
from ...scripts.syntax import Function, Script
from ...scripts.untaped import untaped_block, untaped_function
from ..shared.nodes import raises

_CUT_METHODS = ("detach", "numpy", "asnumpy", "item", "tolist")
_CUT_CALLS = ("stop_gradient", "StopGradient", "py_func", "py_function", "numpy_function")
_ABOUT_SHAPE = ("shape", "device", "dtype", "ndim", "training")
_MUTATES = ("append", "extend", "insert", "add", "update", "copy_", "add_", "scatter_", "index_add_")
_DEPTH = 4  # methods of self that call one another
_ROUNDS = 2  # of a loop: what its last round gave meets the first statements


@dataclass(frozen=True)
class Made:
    """The layers a value was made by: by name of the attribute, with and without gradients."""

    live: frozenset[str] = frozenset()
    cut: frozenset[str] = frozenset()

    def __or__(self, other: Made) -> Made:
        return Made(self.live | other.live, self.cut | other.cut)

    def cut_off(self) -> Made:
        """The same values without gradients."""
        return Made(frozenset(), self.live | self.cut)


NOTHING = Made()


class Untold(Exception):
    """The forward pass does something that is not followed."""


@dataclass
class Reach:
    """What a forward pass calls, and what of it gets out.

    `called`: layers by attribute with their calls; `out`: what is returned or kept in attributes; `aside`:
    what other statements read; `cuts`: where values lose their gradients.
    """

    called: dict[str, list[ast.Call]] = field(default_factory=dict)
    cuts: dict[str, ast.AST] = field(default_factory=dict)
    out: Made = NOTHING
    aside: Made = NOTHING


Names = dict[str, Made]


def reach(source: Script, owner: ast.ClassDef, function: Function, layers: Iterable[str]) -> Reach | None:
    """Go through a forward method; None where it cannot be followed."""
    walker = _Walker(source, owner, frozenset(layers))
    try:
        names: Names = {}
        walker.block(function.body, names, _DEPTH)
    except Untold:
        return None
    return walker.found


class _Walker:
    def __init__(self, source: Script, owner: ast.ClassDef, layers: frozenset[str]) -> None:
        self.source, self.layers = source, layers
        self.methods = {
            f.name: f
            for f in owner.body
            if isinstance(f, ast.FunctionDef) and not any("property" in unparse(d) for d in f.decorator_list)
        }
        self.found = Reach()
        self.off = 0  # blocks without gradients around
        self.returned: list[Made] = []  # of the methods of self that are gone into
        self.inside: list[str] = []

    # ------------------------------------------------------------------------------------- statements

    def block(self, body: Sequence[ast.stmt], names: Names, depth: int) -> bool:
        """Go through statements; say whether what follows them is never reached."""
        return any(self.statement(node, names, depth) for node in body)

    def statement(self, node: ast.stmt, names: Names, depth: int) -> bool:
        if isinstance(node, (ast.Return, ast.Raise)):
            if isinstance(node, ast.Return) and node.value is not None:
                self.give(self.value(node.value, names, depth))
            return True
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self.assign(target, node.value, names, depth)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.assign(node.target, node.value, names, depth)
        elif isinstance(node, ast.AugAssign):
            made = self.value(node.value, names, depth) | self.value(node.target, names, depth)
            self.store(node.target, made, names)
        elif isinstance(node, ast.Expr):
            self.aside(node.value, names, depth)
        elif isinstance(node, ast.If):
            return self.either([node.body, node.orelse], names, depth, node.test)
        elif isinstance(node, (ast.For, ast.While)):
            self.loop(node, names, depth)
        elif isinstance(node, ast.With):
            return self.within(node, names, depth)
        elif isinstance(node, ast.Try):
            self.either([[*node.body, *node.orelse], *(h.body for h in node.handlers)], names, depth, None)
            return self.block(node.finalbody, names, depth)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef, ast.Match)):
            raise Untold
        elif isinstance(node, ast.Assert):
            self.found.aside |= self.value(node.test, names, depth)
        return False

    def either(
        self, ways: Sequence[Sequence[ast.stmt]], names: Names, depth: int, test: ast.expr | None
    ) -> bool:
        if test is not None:
            self.found.aside |= self.value(test, names, depth)
        ends = []
        for way in ways:
            mine = dict(names)
            if not self.block(way, mine, depth):
                ends.append(mine)
        if not ends:
            return True
        together: Names = {}
        for end in ends:
            for name, made in end.items():
                together[name] = together.get(name, NOTHING) | made
        names.clear()
        names.update(together)
        return False

    def loop(self, node: ast.For | ast.While, names: Names, depth: int) -> None:
        before = dict(names)
        for _ in range(_ROUNDS):
            if isinstance(node, ast.For):
                self.bind(node.target, node.iter, names, depth)
            else:
                self.found.aside |= self.value(node.test, names, depth)
            self.block(node.body, names, depth)
        self.block(node.orelse, names, depth)
        for name, made in before.items():
            names[name] = names.get(name, NOTHING) | made

    def within(self, node: ast.With, names: Names, depth: int) -> bool:
        off = untaped_block(node)
        for item in node.items:
            made = self.value(item.context_expr, names, depth)
            if item.optional_vars is not None:
                self.store(item.optional_vars, made, names)
        self.off += off
        ended = self.block(node.body, names, depth)
        self.off -= off
        return ended

    def give(self, made: Made) -> None:
        if self.returned:
            self.returned[-1] |= made
        else:
            self.found.out |= made

    def aside(self, node: ast.expr, names: Names, depth: int) -> None:
        """A statement that is a call: it fills a list, or it looks at values."""
        if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)):
            raise Untold
        made = self.value(node, names, depth)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in _MUTATES or node.func.attr.endswith("_"):
                self.store(node.func.value, made, names, more=True)
                return
        self.found.aside |= made

    def assign(self, target: ast.expr, value: ast.expr, names: Names, depth: int) -> None:
        if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (ast.Tuple, ast.List)):
            if len(target.elts) == len(value.elts):
                given = [self.value(v, names, depth) for v in value.elts]
                for one, made in zip(target.elts, given, strict=True):
                    self.store(one, made, names)
                return
        self.store(target, self.value(value, names, depth), names)

    def store(self, target: ast.expr, made: Made, names: Names, more: bool = False) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            for one in target.elts:
                self.store(one, made, names, more)
        elif isinstance(target, ast.Starred):
            self.store(target.value, made, names, more)
        elif isinstance(target, ast.Name):
            names[target.id] = made | names.get(target.id, NOTHING) if more else made
        elif isinstance(target, ast.Subscript):
            self.store(target.value, made, names, more=True)
        else:  # an attribute: whoever holds the object may read it
            self.found.out |= made

    # ----------------------------------------------------------------------------------------- values

    def value(self, node: ast.expr | None, names: Names, depth: int) -> Made:
        made = self._value(node, names, depth)
        return made.cut_off() if self.off else made

    def _value(self, node: ast.expr | None, names: Names, depth: int) -> Made:
        if node is None or isinstance(node, ast.Constant):
            return NOTHING
        if isinstance(node, ast.Name):
            return names.get(node.id, NOTHING)
        if isinstance(node, ast.Attribute):
            return self.attribute(node, names, depth)
        if isinstance(node, ast.Call):
            return self.call(node, names, depth)
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            mine = dict(names)
            for each in node.generators:
                self.bind(each.target, each.iter, mine, depth)
            items = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
            return self.union(items, mine, depth)
        if isinstance(node, ast.NamedExpr):
            made = self.value(node.value, names, depth)
            self.store(node.target, made, names)
            return made
        if isinstance(node, ast.Lambda):
            return self.value(node.body, names, depth)
        if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)):
            raise Untold
        return self.union((n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)), names, depth)

    def union(self, nodes: Iterable[ast.expr], names: Names, depth: int) -> Made:
        made = NOTHING
        for node in nodes:
            made |= self.value(node, names, depth)
        return made

    def bind(self, target: ast.expr, over: ast.expr, names: Names, depth: int) -> None:
        """What a loop gives its names: each of several lists its own part."""
        if isinstance(over, ast.Call) and isinstance(target, (ast.Tuple, ast.List)):
            name = last_name(over.func)
            if name == "enumerate" and len(target.elts) == 2 and over.args:
                self.bind(target.elts[1], over.args[0], names, depth)
                self.store(target.elts[0], NOTHING, names)
                return
            if name == "zip" and len(over.args) == len(target.elts):
                for one, each in zip(target.elts, over.args, strict=True):
                    self.bind(one, each, names, depth)
                return
        self.store(target, self.value(over, names, depth), names)

    def attribute(self, node: ast.Attribute, names: Names, depth: int) -> Made:
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            if node.attr in self.layers:
                return Made(frozenset([node.attr]))
            return NOTHING
        if node.attr in _ABOUT_SHAPE:
            return NOTHING
        made = self.value(node.value, names, depth)
        if node.attr == "data" and made != NOTHING:
            return self.cut(node, made)
        return made

    def cut(self, node: ast.AST, made: Made) -> Made:
        for name in made.live:
            self.found.cuts.setdefault(name, node)
        return made.cut_off()

    def call(self, node: ast.Call, names: Names, depth: int) -> Made:
        name = last_name(node.func)
        given = [*node.args, *(k.value for k in node.keywords)]
        if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            if node.func.value.id == "self" and name in self.methods:
                return self.method(node, names, depth)
        if isinstance(node.func, ast.Call) and last_name(node.func.func) == "super":
            raise Untold
        made = self.union(given, names, depth) | self.value(node.func, names, depth)
        for attr in self.called(node):
            self.found.called.setdefault(attr, []).append(node)
            if self.off:
                self.found.cuts.setdefault(attr, node)
        if name in _CUT_CALLS or (name in _CUT_METHODS and isinstance(node.func, ast.Attribute)):
            return self.cut(node, made)
        return made

    def called(self, node: ast.Call) -> list[str]:
        """Layers that a call runs: by its name, or handed over to what runs them."""
        heads = [node.func, *node.args]
        texts = [m[1] for h in heads if (m := re.match(r"self\.(\w+)", unparse(h)))]
        return [t for t in texts if t in self.layers]

    def method(self, node: ast.Call, names: Names, depth: int) -> Made:
        """Go into a method of self with what it is given."""
        function = self.methods[last_name(node.func)]
        plain = not any(isinstance(a, ast.Starred) for a in node.args) and all(k.arg for k in node.keywords)
        if depth == 0 or function.name in self.inside or not plain or raises(function):
            raise Untold
        off = untaped_function(function)
        places = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
        if not any("staticmethod" in unparse(d) for d in function.decorator_list):
            places = places[1:]
        mine: Names = {p: self.value(a, names, depth) for p, a in zip(places, node.args, strict=False)}
        mine |= {k.arg: self.value(k.value, names, depth) for k in node.keywords if k.arg}
        self.returned.append(NOTHING)
        self.inside.append(function.name)
        self.off += off
        try:
            self.block(function.body, mine, depth - 1)
        finally:
            self.off -= off
            self.inside.pop()
            made = self.returned.pop()
        return made.cut_off() if off else made


def read_elsewhere(source: Script, owner: ast.ClassDef, name: str, within: Iterable[ast.AST]) -> bool:
    """An attribute of a class is read outside of its constructor and of these functions."""
    inside = {n for f in within for n in walk(f)}
    for node in source.mentions.get(name, ()):
        if isinstance(node, ast.Constant) or node in inside or not isinstance(node.ctx, ast.Load):
            continue
        function = source.function_around(node)
        around = source.class_around(node)
        if around is owner and function is not None and function.name in ("__init__", "setup", "build"):
            continue
        if around is not None and around is not owner and unparse(node.value) == "self":
            continue
        return True
    return False


def layers_with_weights(source: Script, owner: ast.ClassDef) -> dict[str, ast.expr]:
    """Attributes of self that hold layers which start at random, with what makes each."""
    found: dict[str, list[ast.expr]] = {}
    for node in of(owner, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Attribute) and unparse(target.value) == "self":
                found.setdefault(target.attr, []).append(node.value)
    return {n: v[0] for n, v in found.items() if len(v) == 1 and _weighty(source, v[0], 4)}


_WEIGHTY = re.compile(
    r"^(?:Linear|Dense|Conv[123]d|ConvTranspose[123]d|Conv[123]D(?:Transpose)?|Embedding(?:Bag)?|LSTM|GRU|RNN"
    r"|(?:LSTM|GRU)Cell|Bidirectional|Multi[hH]eadAttention|TransformerEncoder|TransformerDecoder|Bilinear)$"
)


def _weighty(source: Script, value: ast.expr, depth: int) -> bool:
    if depth == 0 or not isinstance(value, ast.Call):
        return False
    if re.search(r"(?i)pretrain|weights=|load|\.hub\b", unparse(value)):
        return False
    name = last_name(value.func)
    owner = source.classes.get(name)
    if owner is not None:
        if owner not in source.modules:
            return False
        return any(_weighty(source, c, depth - 1) for c in of(owner, ast.Call) if c is not value)
    if _WEIGHTY.match(name):
        return (
            re.match(r"(?:torch|nn|tf|keras|layers|mindspore|ms|mint|L)\b", unparse(value.func)) is not None
        )
    if name in ("Sequential", "SequentialCell", "ModuleList", "CellList", "ModuleDict"):
        return any(_weighty(source, c, depth - 1) for a in value.args for c in of(a, ast.Call))
    return False
