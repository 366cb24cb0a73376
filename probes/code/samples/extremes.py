"""Samples that scripts make extreme: a few of them are multiplied, or far more is added to them."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name
from ...registry import Finding, View, probe, unframed
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, first
from ..shared.sides import literal

_DRAWS = ("choice", "choices", "randint", "integers", "permutation", "randperm", "sample", "random_sample")
_CHANCE = ("random", "rand", "uniform")
_NO_DATA = re.compile(
    r"(?i)weight|loss|mask|bias|logit|grad|score|lr|rate|param|attn|attention|noise|fake|synth"
)
_ON_PURPOSE = re.compile(
    r"(?i)anomal|outlier|corrupt|attack|poison|inject|simulat|synthetic|robust|make_|generate|adversar"
)


_FAR = 1000.0  # no pixel, standardised value or class is so large


@probe()
@unframed
def extremes_written(view: View, *, factor: float) -> Finding:
    """A few samples are made at least `factor` times as large as they are: by a stride, by chance, by a draw.

    `x[::50] *= 100`, `y[rng.choice(len(y), 20)] *= 30`, `if i % 40 == 0: x = x * 1000` of `__getitem__`. Rows
    that a condition on another column picks are turned to another unit, and are left alone.
    """
    return first(
        view, lambda s: _in_rows(s, factor) or _in_getitem(s, factor), "the scripts change no few samples"
    )


def _in_rows(source: Script, factor: float) -> Finding | None:
    for node in source.of(ast.Assign, ast.AugAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if not isinstance(target, ast.Subscript) or _left_alone(source, node, unparse(target.value)):
            continue
        if _grows(source, node, unparse(target), factor) and _few(source, target.slice):
            return at(source, node, "a few samples are made extreme")
    return None


def _in_getitem(source: Script, factor: float) -> Finding | None:
    for function in source.of(ast.FunctionDef):
        if function.name != "__getitem__" or len(function.args.args) != 2:
            continue
        index = function.args.args[1].arg
        for block in of(function, ast.If):
            if not (_each_so_many(block.test, index) or _seldom(source, block.test)):
                continue
            for node in block.body:
                if isinstance(node, (ast.Assign, ast.AugAssign)):
                    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                    name = unparse(target)
                    if not _left_alone(source, node, name) and _grows(source, node, name, factor):
                        return at(source, node, "a few samples are made extreme")
    return None


def _left_alone(source: Script, node: ast.AST, name: str) -> bool:
    function, owner = source.function_around(node), source.class_around(node)
    around = f"{getattr(function, 'name', '')} {getattr(owner, 'name', '')}"
    return _NO_DATA.search(name) is not None or _ON_PURPOSE.search(f"{around} {name}") is not None


def _grows(source: Script, node: ast.Assign | ast.AugAssign, name: str, factor: float) -> bool:
    """It is multiplied by far more than one, or a constant far beyond any usual range is written or added."""
    if isinstance(node, ast.AugAssign):
        op, by = node.op, literal(source, node.value)
    elif isinstance(node.value, ast.BinOp) and unparse(node.value.left) == name:
        op, by = node.value.op, literal(source, node.value.right)
    else:
        written = literal(source, node.value)
        return isinstance(written, (int, float)) and abs(written) >= _FAR
    known = isinstance(by, (int, float)) and abs(by) >= factor and by not in (255, 255.0)
    if known and isinstance(op, (ast.Add, ast.Sub)):
        return isinstance(by, (int, float)) and abs(by) >= _FAR
    return known and isinstance(op, ast.Mult)


def _few(source: Script, index: ast.expr) -> bool:
    """A stride of ten or more, or rows that are drawn."""
    part = index.elts[0] if isinstance(index, ast.Tuple) and index.elts else index
    if isinstance(part, ast.Subscript) and last_name(part.value) == "index":
        part = part.slice  # `table.loc[table.index[::200], "load"]`
    if isinstance(part, ast.Slice):
        step = literal(source, part.step) if part.step is not None else None
        return isinstance(step, int) and step >= 10
    made = [part, *(v for v in flow(source).values(part, 4))] if isinstance(part, ast.Name) else [part]
    for value in made:
        drawn = [c for c in of(value, ast.Call) if last_name(c.func) in (*_DRAWS, *_CHANCE)]
        if any(last_name(c.func) in _DRAWS for c in drawn):
            return True
        if drawn and isinstance(value, ast.Compare) and _seldom(source, value):
            return True
    return False


def _each_so_many(test: ast.expr, index: str) -> bool:
    return re.fullmatch(
        rf"\(?{re.escape(index)} % \w+ == \d+\)?", unparse(test)
    ) is not None and index in names_in(test)


def _seldom(source: Script, test: ast.expr) -> bool:
    """`random.random() < 0.02`"""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], (ast.Lt, ast.LtE)):
        return False
    chance = literal(source, test.comparators[0])
    drawn = any(last_name(c.func) in _CHANCE for c in of(test.left, ast.Call))
    return drawn and isinstance(chance, float) and chance <= 0.1
