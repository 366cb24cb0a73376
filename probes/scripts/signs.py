"""The signs with which the standard losses of a script enter its objective."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ..readers.script import last_name, receiver
from .flow import MAX_DEPTH, MAX_VISITED, Flow, flow, losses
from .syntax import Script, moved


@dataclass(frozen=True)
class Sign:
    """A standard loss on its way to the objective: how often its sign is turned, and where last."""

    loss: ast.Call
    turned: int
    where: ast.expr | None


# losses of libraries beside those for classes and numbers; each is to be minimised
_FURTHER = frozenset(
    name.lower()
    for stem in (
        *("TripletMargin", "TripletMarginWithDistance", "CTC", "CosineEmbedding", "MarginRanking"),
        *("HingeEmbedding", "MultiMargin", "MultiLabelMargin", "MultiLabelSoftMargin", "SoftMargin"),
        *("PoissonNLL", "GaussianNLL"),
    )
    for name in (f"{stem}Loss", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", stem) + "_loss")
)


@lru_cache(maxsize=64)
def minimised_losses(source: Script) -> frozenset[ast.Call]:
    """Calls of losses of libraries: standard ones, and those of pairs, ranks, sequences and spreads."""
    mine = flow(source)
    found = {c for c, _ in losses(source)}
    for call in source.calls:
        if call in found or len(call.args) < 2:
            continue
        made = [moved(v) for v in mine.values(call.func, 3)] if not isinstance(call.func, ast.Call) else []
        names = [last_name(m.func if isinstance(m, ast.Call) else m) for m in (call.func, *made)]
        if any(name.lower() in _FURTHER for name in names) and last_name(call.func) not in mine.functions:
            found.add(call)
    return frozenset(found)


def signs(source: Script, node: ast.expr) -> list[Sign]:
    """The losses of libraries that an objective is made of, each with its sign."""
    return list(_signs(flow(source), minimised_losses(source), node))


def _signs(mine: Flow, standard: frozenset[ast.Call], start: ast.expr) -> Iterator[Sign]:
    """Each loss once for each sign; every expression is gone through once for each sign and depth."""
    seen: set[tuple[ast.expr, int, int]] = set()
    waiting: list[tuple[ast.expr, int, ast.expr | None, int]] = [(start, 0, None, MAX_DEPTH)]
    while waiting and len(seen) < MAX_VISITED:
        node, turned, where, depth = waiting.pop()
        if (node, turned % 2, depth) in seen or depth == 0:
            continue
        seen.add((node, turned % 2, depth))
        if isinstance(node, ast.Call) and node in standard:
            yield Sign(node, turned, where)
            continue
        again: list[tuple[ast.expr, bool]] = []
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            again = [(node.operand, True)]
        elif isinstance(node, ast.BinOp):
            again = _of_operation(node)
        elif isinstance(node, ast.Call) and last_name(node.func) in _KEEPS_SIGN:
            again = [(_operand(node), _turns(node))]
        else:
            again = [(v, False) for v in mine.values(node) if v is not node]
        waiting += [
            (part, turned + turns, node if turns else where, depth - 1) for part, turns in reversed(again)
        ]


_KEEPS_SIGN = frozenset(
    [
        "mean",
        "sum",
        "scale",
        "mul",
        "multiply",
        "div",
        "true_divide",
        "float",
        "to",
        "cuda",
        "neg",
        "negative",
        "scale_loss",
        "squeeze",
        "reduce_mean",
        "reduce_sum",
    ]
)


def _operand(call: ast.Call) -> ast.expr:
    owner = receiver(call)
    library = isinstance(owner, ast.Name) and owner.id in (
        "torch",
        "F",
        "ops",
        "tf",
        "np",
        "mindspore",
        "mint",
    )
    scaler = owner is not None and last_name(call.func) in ("scale", "scale_loss")
    if (owner is None or library or scaler) and call.args:
        return call.args[0]
    return owner if owner is not None else call


def _turns(call: ast.Call) -> bool:
    name = last_name(call.func)
    return name in ("neg", "negative") or (
        name in ("mul", "multiply", "div", "scale") and bool(call.args) and _negative(call.args[-1])
    )


def _of_operation(node: ast.BinOp) -> list[tuple[ast.expr, bool]]:
    if isinstance(node.op, ast.Add):
        return [(node.left, False), (node.right, False)]
    if isinstance(node.op, ast.Sub):
        return [(node.left, False), (node.right, True)]
    if isinstance(node.op, (ast.Mult, ast.Div)):
        return [(node.left, _negative(node.right)), (node.right, _negative(node.left))]
    return []


def _negative(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and isinstance(node.operand, ast.Constant)
        and bool(node.operand.value)
    )
