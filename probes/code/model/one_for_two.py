"""A layer that a script makes another one be: `self.conv2 = self.conv1`."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at
from .reused import NO_WEIGHTS

# an author who shares on purpose says so; tables of words are shared by design
_ON_PURPOSE = re.compile(r"(?i)shar|\bti(?:e|ed|es)\b|tying|siam|reus|same|twin|alias")
_TABLE = re.compile(r"(?i)embed")


def layer_is_another(source: Script) -> Finding | None:
    """One layer with weights is given a second name, and the model calls it by both.

    Left aside: tables of words, names that are asked of two inputs of the model (twin branches), conditions,
    and lines whose words or comment say that it is meant.
    """
    for owner in source.modules:
        for start in owner.body:
            if not isinstance(start, ast.FunctionDef) or start.name != "__init__":
                continue
            for node in start.body:
                if (
                    isinstance(node, ast.Assign)
                    and len(node.targets) == 1
                    and _one_layer(source, owner, node)
                ):
                    first, second = unparse(node.value), unparse(node.targets[0])
                    return at(source, node, f"{second} is {first}: both share one layer's weights")
    return None


def _one_layer(source: Script, owner: ast.ClassDef, node: ast.Assign) -> bool:
    second, first = _path(node.targets[0]), _path(node.value)
    if not first or not second or first == second or _said(source, node):
        return False
    holders = _holder(source, owner, first[:-1]), _holder(source, owner, second[:-1])
    if holders[0] is None or holders[1] is None or not _has_weights(source, holders[0], first[-1]):
        return False
    calls = [_calls(h, n) for h, n in zip(holders, (first[-1], second[-1]), strict=True)]
    return all(calls) and not _twins(*calls)


def _path(node: ast.expr) -> list[str]:
    """`self.layer1.conv` -> ["layer1", "conv"]."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return names if isinstance(node, ast.Name) and node.id == "self" else []


def _said(source: Script, node: ast.Assign) -> bool:
    near = source.lines[max(node.lineno - 2, 0) : node.lineno]
    here, above = near[-1] if near else "", near[0] if len(near) > 1 else ""
    comment = above if above.strip().startswith("#") else ""
    return _ON_PURPOSE.search(f"{here} {comment}") is not None


def _holder(source: Script, owner: ast.ClassDef | None, path: list[str]) -> ast.ClassDef | None:
    """The class of `self.layer1`, among those of the script."""
    for name in path:
        made = source.attribute(owner, name) if owner is not None else None
        owner = source.classes.get(last_name(made.func)) if isinstance(made, ast.Call) else None
    return owner if owner in source.modules else None


def _has_weights(source: Script, owner: ast.ClassDef, name: str) -> bool:
    made = source.attribute(owner, name)
    if not isinstance(made, ast.Call) or _TABLE.search(f"{name} {unparse(made.func)}"):
        return False
    kind = last_name(made.func)
    library = re.match(r"(?:torch\.)?nn\.|layers\.|mint\.nn\.", unparse(made.func)) is not None
    return not NO_WEIGHTS.match(kind) and (library or source.classes.get(kind) in source.modules)


def _calls(owner: ast.ClassDef | None, name: str) -> list[ast.Call]:
    """Where a class calls `self.name(...)`."""
    if owner is None:
        return []
    return [c for c in of(owner, ast.Call) if unparse(c.func) == f"self.{name}"]


def _twins(first: list[ast.Call], second: list[ast.Call]) -> bool:
    """Each is asked of an input of its own: `self.left(a)`, `self.right(b)`."""
    given = [{unparse(a) for a in c.args} for c in (*first, *second)]
    plain = all(isinstance(a, ast.Name) for c in (*first, *second) for a in c.args)
    return plain and len(first) == len(second) == 1 and not given[0] & given[1]
