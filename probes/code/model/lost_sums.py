"""Sums that a forward pass adds up over its layers and that nothing reads, in scripts."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at


def sum_without_reader(source: Script) -> Finding | None:
    """`total = total + skip` in a loop over layers, where only the last `skip` goes on.

    Only of a sum that a value of the loop is added to, and that nothing outside of the adding mentions.
    """
    for function in source.forwards:
        if not any(
            isinstance(n, (ast.FunctionDef, ast.Lambda)) and n is not function for n in walk(function)
        ):
            for name, node in _added_up(function):
                if not _is_read(function, name):
                    return at(source, node, f"{name} is added up over the layers and nothing reads it")
    return None


def _added_up(function: Function) -> list[tuple[str, ast.stmt]]:
    """Names that a loop adds the value of a layer to, or a name that it unpacks one to."""
    found: list[tuple[str, ast.stmt]] = []
    for loop in of(function, ast.For):
        called = {
            n.id
            for a in of(loop, ast.Assign)
            if isinstance(a.value, ast.Call) and _is_of_layers(a.value)
            for t in a.targets
            for n in of(t, ast.Name)
        }
        for node in walk(loop):
            name, added = _sum(node)
            if name and added is not None and isinstance(node, ast.stmt):
                by_layer = isinstance(added, ast.Call) and _is_of_layers(added)
                if (by_layer or (isinstance(added, ast.Name) and added.id in called)) and name not in called:
                    found.append((name, node))
    return found


def _is_of_layers(value: ast.Call) -> bool:
    """A part of the module or something that a name or an index holds is called.

    Not `torch.mean(torch.abs(real))`: a statistic of what is handed in, whose loss costs nothing.
    """
    return "self" in names_in(value) or any(
        isinstance(c.func, (ast.Name, ast.Subscript)) for c in of(value, ast.Call)
    )


def _sum(node: ast.AST) -> tuple[str, ast.expr | None]:
    """The name and what is added to it: `a += b`, `a = a + b`, `a = b + a`."""
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add) and isinstance(node.target, ast.Name):
        return node.target.id, node.value
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        value, name = node.value, node.targets[0].id
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            sides = (value.left, value.right)
            mine = [s for s in sides if unparse(s) == name]
            if len(mine) == 1:
                return name, next(s for s in sides if s is not mine[0])
    return "", None


def _is_read(function: Function, name: str) -> bool:
    """Whether anything but the adding itself mentions the name: a return, a call, `del`, `nonlocal`."""
    inside = {id(n) for s in walk(function) if _sum(s)[0] == name for n in walk(s) if isinstance(n, ast.Name)}
    for node in walk(function):
        if isinstance(node, ast.Name) and node.id == name and id(node) not in inside:
            if not isinstance(node.ctx, ast.Store):
                return True
        if isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names:
            return True
        if isinstance(node, ast.Call) and unparse(node.func) in ("locals", "vars"):
            return True
    return False


_RESIDUAL = re.compile(
    r"(?i)^\w*?(?:residual(?:_?(?:block|unit|layer))?|res_?(?:block|unit))(?:\d|_|[vV]\d|[1-3][dD])*$"
)
_ADDS = ("add", "add_", "cat", "concat", "concatenate", "sum", "stack", "addcmul", "lerp", "add_relu")


def residual_without_sum(source: Script) -> Finding | None:
    """`class ResidualBlock` whose `forward` gives back what its layers make, and adds the input nowhere."""
    for owner in source.modules:
        forwards = [f for f in source.forwards if f in owner.body]
        if not _RESIDUAL.match(owner.name) or len(forwards) != 1 or not source.named(owner.name):
            continue
        sums = [n for n in of(forwards[0], ast.BinOp, ast.AugAssign) if isinstance(n.op, (ast.Add, ast.Sub))]
        calls = [c for c in of(forwards[0], ast.Call) if last_name(c.func) in _ADDS]
        helped = [c for c in of(forwards[0], ast.Call) if flow(source).called(c)]
        inside = [f for f in owner.body if isinstance(f, ast.FunctionDef) and f is not forwards[0]]
        other = any(
            isinstance(n.op, ast.Add) for f in inside for n in of(f, ast.BinOp) if f.name != "__init__"
        )
        if not (sums or calls or helped or other or _added_by_its_owner(source, owner.name)):
            return at(source, forwards[0], f"`{owner.name}` adds its input nowhere")
    return None


def _added_by_its_owner(source: Script, name: str) -> bool:
    """`self.body = ResBlock(...)` of a unit whose `forward` adds: `x = self.body(x)`, `x = x + identity`."""
    held = {
        unparse(target)
        for made in source.of(ast.Assign)
        if any(last_name(c.func) == name for c in of(made.value, ast.Call))
        for target in made.targets
    }
    for forward in source.forwards:
        answers = {
            unparse(name)
            for made in of(forward, ast.Assign)
            if isinstance(made.value, ast.Call) and unparse(made.value.func) in held
            for target in made.targets
            for name in (target.elts if isinstance(target, ast.Tuple) else [target])
        }
        for node in of(forward, ast.BinOp, ast.AugAssign):
            sides = (node.target, node.value) if isinstance(node, ast.AugAssign) else (node.left, node.right)
            if isinstance(node.op, ast.Add) and any(
                unparse(s) in answers or (isinstance(s, ast.Call) and unparse(s.func) in held) for s in sides
            ):
                return True
    return False


__all__ = ["residual_without_sum", "sum_without_reader"]
