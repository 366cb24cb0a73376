"""Dropout that a script writes out: the share that is kept, what makes up for it, and when it acts."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Function, Script
from ..shared.checks import at

_ALWAYS = re.compile(r"(?i)mc_?drop|monte|bayes|always|concrete|uncertain|augment|noise")


def kept_share_misplaced(source: Script) -> Finding | None:
    """`mask = bernoulli_(p)`, `x * mask / (1 - p)`: what is left is divided by the share that is dropped."""
    for function in source.passes:
        for node, share, by in _dropped(function):
            if share is not None and by is not None and _complement(share, by):
                why = f"values are kept with the chance {share} and divided by {by}: their mean is not kept"
                return at(source, node, why)
    return None


def dropped_in_evaluation(source: Script) -> Finding | None:
    """A module drops by hand, divides by what it keeps, and never asks whether it trains."""
    for function in source.passes:
        owner = source.parents.get(function)
        if not isinstance(owner, ast.ClassDef) or owner not in source.modules:
            continue
        told = f"{unparse(function.args)} {unparse(owner)}"
        if re.search(r"training|deterministic|is_train|\btrain\b", told) or _ALWAYS.search(told):
            continue
        if not source.named("eval") or not _used(source, owner):
            continue
        for node, share, by in _dropped(function):
            if share is not None and share == by:
                return at(source, node, "this drops values in evaluation as well: nothing asks for the mode")
    return None


def _used(source: Script, owner: ast.ClassDef) -> bool:
    return bool(source.named(owner.name))


def _dropped(function: Function) -> list[tuple[ast.AST, str | None, str | None]]:
    """Products of a value and a mask drawn at random, with the chance to keep and what is divided by."""
    given = {t.id: a.value for a in of(function, ast.Assign) for t in a.targets if isinstance(t, ast.Name)}
    found: list[tuple[ast.AST, str | None, str | None]] = []
    for node in of(function, ast.BinOp):
        if not isinstance(node.op, ast.Div):
            continue
        product = node.left
        if not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult):
            continue
        for side in (product.left, product.right):
            made = given.get(side.id) if isinstance(side, ast.Name) else side
            share = _chance(made) if made is not None else None
            if share is not None:
                found.append((node, _text(given, share), _text(given, node.right)))
    return found


def _chance(made: ast.expr) -> ast.expr | None:
    """The chance of a one: `empty(...).bernoulli_(keep)`, `torch.rand(...) < keep`."""
    for call in of(made, ast.Call):
        if last_name(call.func) == "bernoulli_" and len(call.args) == 1:
            return call.args[0]
    for test in of(made, ast.Compare):
        left = test.left
        drawn = isinstance(left, ast.Call) and last_name(left.func) in ("rand", "rand_like", "uniform")
        if drawn and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Lt, ast.LtE)):
            return test.comparators[0]
    return None


def _text(given: dict[str, ast.expr], node: ast.expr) -> str | None:
    """A share as text, one name followed: `p` or `1 - p`."""
    if isinstance(node, ast.Name) and node.id in given:
        node = given[node.id]
    text = unparse(node).replace("1.0", "1").strip("()")
    return text if re.fullmatch(r"(?:1 - )?[\w.]+", text) else None


def _complement(one: str, other: str) -> bool:
    return one != other and (one == f"1 - {other}" or other == f"1 - {one}")
