"""Positions that are turned into queries and keys in scripts: both of them, and by a rotation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.nodes import factors

_TURNS = re.compile(r"(?i)rotary|rope|^_?(?:apply_)?rot(?:ate|ation)?(?:_emb\w*|_pos\w*)?$")
_SHAPES = re.compile(
    r"^(?:transpose|permute|swapaxes|view|reshape|unsqueeze|contiguous|m?T|mH|repeat|expand|to|float|swapdims|repeat_kv)$"
)


def no_rotation(source: Script) -> Finding | None:
    """`a * cos + b * sin` beside `a * sin + b * cos`: just one has a minus in a rotation."""
    if "cos" not in source.code or "sin" not in source.code:
        return None
    for function in source.of(ast.FunctionDef, ast.Lambda):
        sums = [(n, p) for n in of(function, ast.BinOp) if (p := _two_products(n)) is not None]
        for place, (node, (one, two)) in enumerate(sums):
            for other, (third, fourth) in sums[place + 1 :]:
                if {*one, *two} != {*third, *fourth} or one in (third, fourth) or two in (third, fourth):
                    continue
                if isinstance(node.op, ast.Sub) == isinstance(other.op, ast.Sub):
                    return at(source, other, "these two sums are no rotation: one of both has a minus")
    return None


def _two_products(node: ast.BinOp) -> tuple[frozenset[str], frozenset[str]] | None:
    """`a * cos - b * sin` -> {a, cos}, {b, sin}: each a plain factor with one cosine or one sine."""
    if not isinstance(node.op, (ast.Add, ast.Sub)):
        return None
    sides = [[unparse(f) for f in factors(s)] for s in (node.left, node.right)]
    if any(len(s) != 2 for s in sides):
        return None
    kinds = [re.findall(r"cos|sin", " ".join(s)) for s in sides]
    if sorted(k for found in kinds for k in found) != ["cos", "sin"] or any(len(k) != 1 for k in kinds):
        return None
    return frozenset(sides[0]), frozenset(sides[1])


def turned_on_one_side(source: Script) -> Finding | None:
    """`q = rotate(q, cos, sin)`, and `q @ k.T` with keys that nothing turns."""
    if not _TURNS.search(" ".join(last_name(c.func) for c in source.calls)) and "rot" not in source.code:
        return None
    for function in source.passes:
        for node, left, right in _scores(function):
            sides = [_turned(function, n, 3) for n in (left, right)]
            if None in sides or sides[0] == sides[1]:
                continue
            still = right if sides[0] else left
            return at(source, node, f"positions are turned into one side of the scores, and not into {still}")
    return None


def _scores(function: Function) -> Iterator[tuple[ast.AST, str, str]]:
    """Products of queries and keys, with the names of both."""
    for node in of(function, ast.BinOp, ast.Call):
        pair: list[ast.expr] = []
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            pair = [node.left, node.right]
        elif isinstance(node, ast.Call) and last_name(node.func) in ("matmul", "bmm"):
            pair = list(node.args[:2])
        elif isinstance(node, ast.Call) and last_name(node.func) == "scaled_dot_product_attention":
            pair = list(node.args[:2])
            names = [_plain(n) for n in pair]
            if len(pair) == 2 and all(names):
                yield node, names[0] or "", names[1] or ""
            continue
        if len(pair) == 2 and re.search(r"transpose|swapaxes|permute|\.m?T$", unparse(pair[1])):
            names = [_plain(n) for n in pair]
            if all(names):
                yield node, names[0] or "", names[1] or ""


def _plain(node: ast.expr) -> str | None:
    """`k.transpose(-2, -1)` -> `k`."""
    while isinstance(node, (ast.Call, ast.Attribute)):
        inner = node.func if isinstance(node, ast.Call) else node
        if not isinstance(inner, ast.Attribute) or not _SHAPES.match(inner.attr):
            return None
        node = inner.value
    return node.id if isinstance(node, ast.Name) else None


def _turned(function: Function, name: str, depth: int) -> bool | None:
    """Whether a name holds something turned; None where it comes from outside of the function."""
    values = []
    for node in of(function, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Name) and target.id == name:
                values.append(node.value)
            elif isinstance(target, (ast.Tuple, ast.List)):
                places = [i for i, t in enumerate(target.elts) if isinstance(t, ast.Name) and t.id == name]
                apart = isinstance(node.value, (ast.Tuple, ast.List))
                values += [node.value.elts[i] if apart else node.value for i in places]  # type: ignore[attr-defined]
    if not values:
        return None
    for value in values:
        if any(_TURNS.search(last_name(c.func)) for c in of(value, ast.Call)):
            return True
        for inner in of(value, ast.Name):
            if depth and inner.id != name and _turned(function, inner.id, depth - 1):
                return True
    return False
