"""Parts of one array that stand side by side, of which one is scaled and another is not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import assigned

_SCALES = re.compile(r"(?i)^(?:(?:fit_)?transform|normali[sz]e\w*|standardi[sz]e\w*|scale|rescale|z_?score)$")
_TRAIN = re.compile(r"(?i)(?:^|_)(?:train|training|trn)(?:_|$)")
_HELD = re.compile(r"(?i)(?:^|_)(?:val|valid|validation|dev|eval|test|holdout)(?:_|$)")


def part_left_unscaled(source: Script, labels: bool = False) -> Finding | None:
    """`{"train": scaler.transform(x[:a]), "val": x[a:]}`, and nothing scales the held-out part later."""
    if labels or source.loose:
        return None
    for pairs in _side_by_side(source):
        scaled = [(w, v) for n, v in pairs if _TRAIN.search(n) and (w := _whole(v)) is not None]
        plain = [(n, v) for n, v in pairs if _HELD.search(n) and isinstance(v, ast.Subscript)]
        if any(_worked_on(source, name) for name, _ in plain):
            continue
        for whole, value in scaled:
            for name, part in plain:
                if unparse(part.value) != whole or not isinstance(part.slice, ast.Slice):
                    continue
                others = [c for c in source.calls if _SCALES.match(last_name(c.func)) and c is not value]
                if not others:
                    return at(source, part, f"the training part is scaled here, and `{name}` is not")
    return None


def _worked_on(source: Script, name: str) -> bool:
    """The part is given another value, or counted with: it may be scaled by arithmetic."""
    stores = [n for n in source.of(ast.Name) if n.id == name and isinstance(n.ctx, ast.Store)]
    keyed = [
        s
        for s in source.of(ast.Subscript)
        if isinstance(s.slice, ast.Constant) and s.slice.value == name
        if isinstance(s.ctx, ast.Store) or isinstance(source.parents.get(s), ast.BinOp)
    ]
    counted = any(
        isinstance(source.parents.get(n), (ast.BinOp, ast.AugAssign))
        for n in source.of(ast.Name)
        if n.id == name
    )
    return len(stores) > 1 or bool(keyed) or counted


def _whole(value: ast.expr) -> str | None:
    """The array of which a scaled part is cut: `scaler.transform(x[:a])` -> "x"."""
    if not isinstance(value, ast.Call) or not _SCALES.match(last_name(value.func)) or not value.args:
        return None
    part = value.args[0]
    return (
        unparse(part.value) if isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Slice) else None
    )


def _side_by_side(source: Script) -> Iterator[list[tuple[str, ast.expr]]]:
    """Named values of one dict, of one call `dict(train=..., val=...)`, or of one assignment."""
    for node in source.of(ast.Dict):
        yield [
            (k.value, v)
            for k, v in zip(node.keys, node.values, strict=True)
            if isinstance(k, ast.Constant) and isinstance(k.value, str)
        ]
    for call in source.named("dict"):
        yield [(k.arg, k.value) for k in call.keywords if k.arg is not None]
    for scope in (None, *source.of(ast.FunctionDef)):
        yield [
            (t.id, v)
            for node in of(scope or source.tree, ast.Assign)
            if source.function_around(node) is scope
            for t, v in assigned(node)
            if isinstance(t, ast.Name)
        ]
