"""How many layers of a class follow one another: branches and heads stand side by side, and do not add up."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

from ...readers._tree import unparse
from ...readers.script import last_name
from ...scripts.syntax import Function, Script

_HOLDS = ("add_module", "append", "extend", "insert", "add")
_DEPTH = 6  # methods that call one another


def in_a_row(
    source: Script, owner: ast.ClassDef, made: Sequence[ast.Call], repeats: Callable[[ast.Call], int]
) -> int | None:
    """The most layers that a value of `forward` goes through; None where a layer is held by no attribute.

    `made` are the calls that make the layers, each `repeats` times. What a loop goes over counts whole.
    """
    weights: dict[str, int] = {}
    for call in made:
        held = _holder(source, call)
        if held is None:
            return None
        weights[held] = weights.get(held, 0) + repeats(call)
    methods = {f.name: f for f in owner.body if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef))}
    start = next((methods[n] for n in ("forward", "construct", "call") if n in methods), None)
    if start is None:
        return None
    way = _Way(weights, methods)
    found = way.through(start, _DEPTH)
    return found if way.used >= set(weights) else None  # else some are run in a way that is not seen


def _holder(source: Script, call: ast.Call) -> str | None:
    """The attribute that a layer is kept in: `self.fc = Linear()`, `self.body.add_module(name, Linear())`."""
    for parent in source.above(call):
        if isinstance(parent, ast.Assign):
            target = parent.targets[0]
            return target.attr if _is_own(target) and isinstance(target, ast.Attribute) else None
        if isinstance(parent, ast.Call) and last_name(parent.func) in _HOLDS:
            held = getattr(parent.func, "value", None)
            return held.attr if isinstance(held, ast.Attribute) and _is_own(held) else None
        if isinstance(parent, ast.stmt) and not isinstance(parent, ast.Expr):
            return None
    return None


def _is_own(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and unparse(node.value) == "self"


class _Way:
    """Goes through methods in their order and keeps how many layers are behind each name."""

    def __init__(self, weights: Mapping[str, int], methods: Mapping[str, Function]) -> None:
        self.weights, self.methods = weights, methods
        self.used: set[str] = set()
        self.known: dict[str, int] = {}

    def through(self, function: Function, depth: int) -> int:
        """The most layers behind anything that a method makes."""
        if function.name not in self.known:
            self.known[function.name] = 0  # one that calls itself
            behind: dict[str, int] = {}
            self._block(function.body, behind, {}, depth)
            self.known[function.name] = max(behind.values(), default=0)
        return self.known[function.name]

    def _block(
        self, body: Sequence[ast.stmt], behind: dict[str, int], held: dict[str, str], depth: int
    ) -> None:
        for node in body:
            if isinstance(node, (ast.For, ast.AsyncFor)):
                for name in (n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)):
                    for over in (n for n in ast.walk(node.iter) if isinstance(n, ast.Attribute)):
                        if _is_own(over) and over.attr in self.weights:
                            held[name] = over.attr
            for inner in ("body", "orelse", "finalbody"):
                self._block(getattr(node, inner, []), behind, held, depth)
            value = getattr(node, "value", None)
            if isinstance(value, ast.expr):
                found = self._of(value, behind, held, depth)
                targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
                for name in (unparse(t) for target in targets for t in _names(target)):
                    before = behind.get(name, 0) if isinstance(node, ast.AugAssign) else 0
                    behind[name] = max(found, before)
                behind[""] = max(found, behind.get("", 0))

    def _of(self, node: ast.AST, behind: dict[str, int], held: dict[str, str], depth: int) -> int:
        if isinstance(node, (ast.Name, ast.Attribute)) and unparse(node) in behind:
            return behind[unparse(node)]
        most = max((self._of(n, behind, held, depth) for n in ast.iter_child_nodes(node)), default=0)
        if not isinstance(node, ast.Call):
            return most
        called = node.func.value if isinstance(node.func, ast.Subscript) else node.func
        name = held.get(called.id, "") if isinstance(called, ast.Name) else ""
        if isinstance(called, ast.Attribute) and _is_own(called):
            name = called.attr
        if name in self.weights:
            self.used.add(name)
            return most + self.weights[name]
        if name in self.methods and depth:
            return most + self.through(self.methods[name], depth - 1)
        return most


def _names(target: ast.AST | None) -> list[ast.expr]:
    if isinstance(target, (ast.Tuple, ast.List)):
        return [n for t in target.elts for n in _names(t)]
    return [target] if isinstance(target, (ast.Name, ast.Attribute)) else []
