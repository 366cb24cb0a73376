"""Windows of scripts that overlap their neighbours and are divided by chance."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.nodes import is_false
from ..shared.sides import literal

_KEEPS = (
    "concatenate",
    "vstack",
    "stack",
    "array",
    "asarray",
    "cat",
    "from_numpy",
    "tensor",
    "as_tensor",
    "astype",
)
_DRAWS = ("permutation", "randperm")
_CHANCE = re.compile(r"\b(?:rand|random|uniform|random_sample|binomial|choice)\(")


def overlapping_windows_divided(source: Script) -> Finding | None:
    """`windows(x)` of 128 samples every 64, and then `train_test_split`, a permutation or a drawn mask."""
    makers = {f.name for f in source.of(ast.FunctionDef) if _overlapping(source, f)}
    if not makers:
        return None
    for scope in (source.tree, *source.of(ast.FunctionDef)):
        held = _windows_in(source, scope, makers)
        if held and (node := _divided(source, scope, held)) is not None:
            return at(
                source, node, "windows that overlap are divided by chance: both sides hold the same samples"
            )
    return None


def _overlapping(source: Script, function: Function) -> bool:
    """`for s in range(0, len(x) - WIN + 1, hop): xs.append(x[s : s + WIN])`, with a hop below the width."""
    loops = of(function, ast.For, ast.comprehension)
    for loop in loops:
        over, place = loop.iter, loop.target
        if not isinstance(over, ast.Call) or last_name(over.func) not in ("range", "arange"):
            continue
        if not isinstance(place, ast.Name) or not 1 <= len(over.args) <= 3 or "len(" not in unparse(over):
            continue
        hop = _number(source, function, over.args[2]) if len(over.args) == 3 else 1
        inside = of(source.parents[loop] if isinstance(loop, ast.comprehension) else loop, ast.Subscript)
        ends = {
            n.targets[0].id: n.value for n in of(function, ast.Assign) if isinstance(n.targets[0], ast.Name)
        }
        for part in inside:
            cut = part.slice
            if not isinstance(cut, ast.Slice) or cut.lower is None or unparse(cut.lower) != place.id:
                continue
            upper = ends.get(cut.upper.id) if isinstance(cut.upper, ast.Name) else cut.upper
            if (
                isinstance(upper, ast.BinOp)
                and isinstance(upper.op, ast.Add)
                and unparse(upper.left) == place.id
            ):
                width = _number(source, function, upper.right)
                if hop is not None and width is not None and 0 < hop < width:
                    return True
    return False


def _number(source: Script, function: Function, node: ast.expr) -> float | None:
    """A number, also that of a parameter by default: `hop=HOP`, where no call gives it another."""
    if isinstance(node, ast.Name):
        places = [a.arg for a in function.args.args]
        if node.id in places:
            told = dict(zip(places[::-1], function.args.defaults[::-1], strict=False)).get(node.id)
            given = [keyword(c, node.id) for c in flow(source).calls_of(function)]
            known = [g for g in given if g is not None]
            at_place = [c for c in flow(source).calls_of(function) if len(c.args) > places.index(node.id)]
            if told is None or known or at_place:
                return None
            node = told
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv):
        parts = [literal(source, node.left), literal(source, node.right)]
        return parts[0] // parts[1] if all(isinstance(p, int) and p for p in parts) else None  # type: ignore[operator]
    value = literal(source, node)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _windows_in(source: Script, scope: ast.AST, makers: set[str]) -> set[str]:
    """Names of a scope that hold the windows of a whole recording, or of all of them joined."""
    held: set[str] = set()
    for _ in range(3):
        before = len(held)
        for node in of(scope, ast.Assign):
            if (source.function_around(node) or source.tree) is not scope:
                continue
            names = {n.id for t in node.targets for n in of(t, ast.Name)}
            made = [c for c in of(node.value, ast.Call) if last_name(c.func) in makers]
            if (made and not any(_part(a) for c in made for a in c.args)) or (
                _only_keeps(node.value) and names_in(node.value) & held
            ):
                held |= names
        if len(held) == before:
            break
    return held


def _part(node: ast.expr) -> bool:
    """A part of a recording: a slice, or what is named after a side."""
    return isinstance(node, (ast.Subscript, ast.Starred)) or bool(_SIDE.search(unparse(node)))


_SIDE = re.compile(r"(?i)(?:^|_)(?:train|tr|val|valid|va|test|te|dev|first|last|head|tail)(?:_|$)")


def _only_keeps(value: ast.expr) -> bool:
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    return all(isinstance(p, ast.Call) and last_name(p.func) in _KEEPS for p in parts)


def _divided(source: Script, scope: ast.AST, held: set[str]) -> ast.AST | None:
    for call in of(scope, ast.Call):
        first = argument(call, position=0)
        if last_name(call.func) == "train_test_split" and isinstance(first, ast.Name) and first.id in held:
            shuffle = keyword(call, "shuffle")
            if shuffle is None or not is_false(shuffle):
                return call
    for name, index in _indexed(scope, held):
        order = [n for n in of(index, ast.Name) if n.id != name]
        ways = [unparse(v) for n in order for v in flow(source).values(n, 3)]
        if any(f"{d}(" in w for d in _DRAWS for w in ways) and _cut(index):
            return index
        if any(_CHANCE.search(w) and re.search(r"[<>]", w) for w in ways):
            return index
    return None


def _cut(index: ast.expr) -> bool:
    """`order[:cut]`, or a name for such a part."""
    return isinstance(index, ast.Subscript) and isinstance(index.slice, ast.Slice)


def _indexed(scope: ast.AST, held: set[str]) -> Iterator[tuple[str, ast.expr]]:
    """`xs[order[:cut]]`, `xs[mask]`: the name, and what it is indexed by."""
    for node in of(scope, ast.Subscript):
        if isinstance(node.value, ast.Name) and node.value.id in held and isinstance(node.ctx, ast.Load):
            if isinstance(node.slice, (ast.Name, ast.Subscript, ast.UnaryOp)):
                yield node.value.id, node.slice
