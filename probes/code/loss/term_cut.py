"""A term of the loss that is handed on as a number: `loss = first + second.item()`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import Flow, flow, objectives
from ...scripts.syntax import Script
from ..shared.checks import at, is_evaluation
from ..shared.nodes import factors, signed_terms
from .cuts import MADE_ANEW, cut_by, on_purpose, origin, reached

_LOSS = re.compile(r"(?i)loss|criterion|objective|penalty|^(?:kld?|bce|mse|nll|ce|dice|reg)(?:_\w+|\d+)?$")
_DEEPEST = 4


def term_cut_off(source: Script) -> Finding | None:
    """Beside terms that reach the model one stands as a number or a copy, which no gradient passes.

    Only a loss that is added by itself, or times a weight: a loss that is cut off to weigh another one
    (`a / b.item()`) is meant. Left aside: a term that is minimised elsewhere as well, or takes part uncut.
    """
    taken = objectives(source)
    if not taken:
        return None
    mine = flow(source)
    for call, objective in taken:
        if is_evaluation(source, call):
            continue
        found = list(_terms(mine, objective, _DEEPEST))
        cut = [(t, i) for t in found if (i := _inside(t)) is not None and _is_loss(mine, i)]
        if not cut or len(cut) == len(found):
            continue
        others = [t for t in found if all(t is not c for c, _ in cut)]
        uncut = [u for o in (*others, *(o for c, o in taken if c is not call)) for u in reached(mine, o)]
        roots = {origin(mine, u) for u in uncut if isinstance(u, (ast.Name, ast.Attribute))}
        for term, inside in cut:
            if any(inside is u for u in uncut) or on_purpose(unparse(inside).replace("loss", "")):
                continue
            if isinstance(inside, (ast.Name, ast.Attribute)) and origin(mine, inside) in roots:
                continue
            return at(source, term, f"{unparse(term)} is a term that no gradient passes")
    return None


def _terms(mine: Flow, node: ast.expr, depth: int) -> Iterator[ast.expr]:
    """What is added up to an objective, names and sums followed."""
    for _, term in signed_terms(node, 1):
        values = [g.value for g in mine.all_given(term) if not g.places] if isinstance(term, ast.Name) else []
        values += _added(mine, term)
        if len(values) == 1 and not isinstance(values[0], (ast.BinOp, ast.Name)):
            values = []
        if not depth or not values:
            yield _weighted(mine, term)
        for value in values if depth else []:
            yield from _terms(mine, value, depth - 1)


def _added(mine: Flow, term: ast.expr) -> list[ast.expr]:
    """What is added to a name by `+=` above the place where it is read."""
    scope = mine.source.function_around(term)
    return [
        n.value
        for n in of(scope or mine.source.tree, ast.AugAssign)
        if isinstance(n.op, ast.Add)
        and isinstance(term, ast.Name)
        and isinstance(n.target, ast.Name)
        and n.target.id == term.id
        and n.lineno < term.lineno
        and mine.source.function_around(n) is scope
    ]


def _weighted(mine: Flow, term: ast.expr) -> ast.expr:
    """What a weight is set to: `x` of `0.5 * x` and `self.weight * x`; the term where two losses meet."""
    whole = factors(term)
    others = [f for f in whole if _inside(f) is None]
    plain = all(
        isinstance(f, ast.Constant)
        or (
            isinstance(f, (ast.Name, ast.Attribute)) and not _LOSS.search(unparse(f)) and not _called(mine, f)
        )
        for f in others
    )
    cut = [f for f in whole if _inside(f) is not None]
    return cut[0] if plain and len(cut) == 1 else term


def _called(mine: Flow, node: ast.Name | ast.Attribute) -> bool:
    return any(isinstance(g.value, ast.Call) for g in mine.all_given(node))


def _inside(term: ast.expr) -> ast.expr | None:
    """What a term is a number or a copy of: `x` of `x.item()`, `float(x)` and `x.detach()`."""
    if isinstance(term, ast.Call) and last_name(term.func) in MADE_ANEW:
        return None  # a constant of its own
    if isinstance(term, ast.Call) and isinstance(term.func, ast.Name) and term.func.id == "float":
        return term.args[0] if term.args else None
    return cut_by(term)


def _is_loss(mine: Flow, node: ast.expr) -> bool:
    """A call of a loss, or what is named one and comes of a call."""
    while (inside := cut_by(node)) is not None:
        node = inside
    if isinstance(node, ast.Call):
        return _LOSS.search(last_name(node.func)) is not None
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return False
    made = [g.value for g in mine.all_given(node)]
    named = _LOSS.search(unparse(node)) is not None
    return bool(made) and all(isinstance(v, ast.Call) and (named or _is_loss(mine, v)) for v in made)
