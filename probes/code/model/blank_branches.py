"""Branches of a model that are blanked out, in scripts: zeros of their shape stand where they were joined."""

from __future__ import annotations

import ast

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from .joins import functional

_JOINS = ("cat", "concat", "concatenate", "hstack", "Concatenate", "Concat", "Add", "add")
_ZEROS = ("zeros_like", "ZerosLike")


def zeros_for_branch(source: Script) -> Finding | None:
    """`torch.cat([up, torch.zeros_like(skip)], 1)`, `x + 0 * skip`: a branch of the forward pass is meant.

    Left aside: what stands under a condition, and zeros of the shape of the very value that they are put
    beside (a shortcut that is widened, an unconditional half).
    """
    for function in [*source.passes, *functional(source)]:
        owner = source.parents.get(function)
        if isinstance(owner, ast.ClassDef) and owner not in source.modules:
            continue
        made = _made(function)
        if not made:
            continue
        for node in of(function, ast.Call, ast.BinOp):
            parts = _parts(node)
            blank = [b for p in parts if (b := _blanked(p)) is not None]
            rest = {n for p in parts if _blanked(p) is None for n in names_in(p)}
            if len(blank) != 1 or not rest or blank[0] not in made or blank[0] in rest:
                continue
            if not _chosen(source, node, function):
                return at(
                    source, node, f"zeros stand here in the place of {blank[0]}, which is computed before"
                )
    return None


def _made(function: Function) -> set[str]:
    """Names that hold what a layer or another call gives."""
    return {
        t.id
        for node in of(function, ast.Assign)
        if isinstance(node.value, ast.Call)
        for t in node.targets
        if isinstance(t, ast.Name)
    }


def _parts(node: ast.Call | ast.BinOp) -> list[ast.expr]:
    """What a join or a sum puts together."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right] if isinstance(node.op, ast.Add) else []
    maker = node.func.func if isinstance(node.func, ast.Call) else node.func
    given = node.args[0] if node.args and last_name(maker) in _JOINS else None
    return list(given.elts) if isinstance(given, (ast.List, ast.Tuple)) else []


def _blanked(node: ast.expr) -> str | None:
    """`torch.zeros_like(skip)`, `skip * 0`, `0.0 * skip`: the name that is blanked."""
    if isinstance(node, ast.Call) and last_name(node.func) in _ZEROS and node.args:
        return node.args[0].id if isinstance(node.args[0], ast.Name) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(one, ast.Name) and unparse(other) in ("0", "0.0"):
                return one.id
    return None


def _chosen(source: Script, node: ast.AST, function: Function) -> bool:
    for parent in source.above(node):
        if parent is function:
            return False
        if isinstance(parent, (ast.If, ast.IfExp)):
            return True
    return False
