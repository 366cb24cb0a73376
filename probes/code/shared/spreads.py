"""Whether data are divided by their own spread: standardised; not a score that holds a spread."""

from __future__ import annotations

import ast

from ...readers._tree import names_in
from ...readers.script import argument, last_name
from ...scripts.flow import flow
from ...scripts.syntax import Script

_MODULES = frozenset(("linalg", "np", "numpy", "torch", "tf", "jnp", "ops", "mint"))
_REDUCTIONS = frozenset(
    ("mean", "sum", "average", "nanmean", "nansum", "median", "square", "abs", "absolute", "pow", "power")
)
_ERRORS = frozenset(
    ("mean_squared_error", "mean_absolute_error", "mse_loss", "l1_loss", "norm", "max", "min")
)


def of_itself(source: Script, node: ast.BinOp) -> bool:
    """`(x - m) / x.std(0)`; `error / truth.var(0)` is a share of what there is to explain: a score."""
    call = node.right
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
        return True
    plain = last_name(call.func.value) not in _MODULES
    operand = call.func.value if plain else argument(call, position=0)
    if operand is None:
        return True
    names = names_in(operand) - {"np", "torch"}
    ways = [node.left, *flow(source).values(node.left, 3)]
    return any(_in_full(way, names) for way in ways)


def _in_full(node: ast.expr, names: set[str]) -> bool:
    """Whether an expression has these values element by element: no mean, no square, no error."""
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Pow):
            return False
        subtracted = isinstance(node.op, ast.Sub)
        return _in_full(node.left, names) or (not subtracted and _in_full(node.right, names))
    if isinstance(node, ast.Call):
        if last_name(node.func) in _REDUCTIONS | _ERRORS:
            return False
        method = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        return any(_in_full(part, names) for part in (*method, *node.args))
    parts = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
    return any(_in_full(part, names) for part in parts)
