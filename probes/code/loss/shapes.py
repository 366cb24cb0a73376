"""Shapes of outputs and targets in scripts that broadcast against one another in a loss."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding, View, probe
from ...rehearsal.judges import shows
from ...scripts.flow import flow, losses, returns
from ...scripts.syntax import Script
from ..model.activations import layer_of, width_of
from ..shared.checks import at, first, ok
from ..shared.sides import either
from .columns import columns_meet_rows
from .logits_column import logits_against_labels

_BROADCAST = (
    "mseloss",
    "mse_loss",
    "l1loss",
    "l1_loss",
    "smoothl1loss",
    "smooth_l1_loss",
    "huberloss",
    "huber_loss",
)


@probe()
def column_against_row(view: View) -> Finding:
    """A regression loss gets outputs of shape (batch, 1) and targets of shape (batch,).

    Each output is then held against each target of the batch, and the best answer is the mean. Present only
    where both shapes can be told: a last linear layer of one unit that nothing squeezes, and targets that
    are numbers one by one.
    """
    return first(
        view,
        either(_column, columns_meet_rows, logits_against_labels, shows("column-row")),
        "the scripts compute no regression loss whose shapes can be told",
    )


def _column(source: Script) -> Finding | None:
    mine = flow(source)
    for call, kind in losses(source):
        if kind not in _BROADCAST or len(call.args) < 2:
            continue
        ends = [v for v in mine.values(call.args[0]) if isinstance(v, ast.Call)]
        layers = [made for v in ends if (made := layer_of(source, v)) is not None]
        if not ends or len(layers) != len(ends) or any(width_of(source, m) != 1 for m in layers):
            continue
        flat = _flat(source, call.args[1])
        if flat is None:
            continue
        if flat:
            return at(source, call, "outputs of shape (batch, 1) are held against targets of shape (batch,)")
        return ok(source, call, "outputs and targets have one shape")
    return None


_RESHAPES = re.compile(
    r"unsqueeze|reshape|view|expand_dims|None\]|newaxis|keepdim|\[\[|vstack|column_stack|atleast_2d"
)


_MAKES = ("tensor", "array", "asarray", "as_tensor", "from_numpy", "FloatTensor", "Tensor")


def _flat(source: Script, target: ast.expr) -> bool | None:
    """Whether targets are (batch,), as far as it can be told."""
    if _RESHAPES.search(unparse(target)):
        return False
    kept = kept_targets(source) or [target]
    found = {_one_by_one(source, k) for k in kept}
    return found.pop() if len(found) == 1 else None


def kept_targets(source: Script) -> list[ast.expr]:
    """What targets are taken from, item by item: the last of what `__getitem__` gives, of a TensorDataset."""
    found: list[ast.expr] = []
    for node in source.of(ast.FunctionDef):
        if node.name == "__getitem__":
            for out in of(node, ast.Return):
                if isinstance(out.value, ast.Tuple) and len(out.value.elts) == 2:
                    found.append(out.value.elts[1])
    for call in source.named("TensorDataset"):
        if len(call.args) == 2:
            found.append(call.args[1])
    return found


def _one_by_one(source: Script, node: ast.expr) -> bool | None:
    """A number for each sample (True), an array for each (False), or it cannot be told."""
    for _ in range(8):
        text = unparse(node)
        if _RESHAPES.search(text):
            return False
        if isinstance(node, ast.Subscript):
            if _cuts_item(source, node):
                return False
            if isinstance(node.slice, ast.Tuple):
                return False if isinstance(node.slice.elts[-1], (ast.Slice, ast.List)) else None
            if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                return True if ".values" in text or "to_numpy" in text else None
            node = node.value
        elif isinstance(node, ast.BinOp):  # `(y - mean) / std`
            node = node.right if isinstance(node.left, ast.Constant) else node.left
        elif isinstance(node, ast.Call):
            name = last_name(node.func)
            method = isinstance(node.func, ast.Attribute) and unparse(node.func.value) not in (
                "torch",
                "np",
                "numpy",
            )
            if name in ("values", "to_numpy", "float", "astype", "long", "clone", "copy", "to") and method:
                inner = node.func.value if isinstance(node.func, ast.Attribute) else node
                if isinstance(inner, ast.Call) and last_name(inner.func) == "pop" and len(inner.args) == 1:
                    return True if name in ("values", "to_numpy") else None  # one column of a frame
                if isinstance(inner, ast.Subscript) and isinstance(inner.slice, ast.Constant):
                    return True if isinstance(inner.slice.value, str) else None
                node = inner
            elif name in (*_MAKES, "log1p", "log", "sqrt", "exp") and node.args:
                node = node.args[0]
            else:
                return None
        elif isinstance(node, ast.Attribute) and node.attr == "values":
            node = node.value
            if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
                return True if isinstance(node.slice.value, str) else None
        elif isinstance(node, (ast.Name, ast.Attribute)):
            if isinstance(node, ast.Name) and (appended := _appended(source, node)):
                return all(_is_number(a) and not _of_handed(source, a) for a in appended) or None
            given = flow(source).whole_given(node) or _of_own_function(source, node)
            if given is None:
                return None
            node = given
        elif isinstance(node, ast.ListComp):  # `[float(r["fee"]) for r in rows]`
            return _is_number(node.elt) or _gives_a_number(source, node.elt) or None
        else:
            return None
    return None


def _of_handed(source: Script, node: ast.expr) -> bool:
    """`rows[i + n]` of what a function is handed: a number, or a row of a table."""
    function = source.function_around(node)
    base = node.value if isinstance(node, ast.Subscript) else None
    if function is None or not isinstance(base, ast.Name):
        return False
    return base.id in {a.arg for a in (*function.args.posonlyargs, *function.args.args)}


def _of_own_function(source: Script, node: ast.expr) -> ast.expr | None:
    """`x, y, stats = arrays(rows)`: what stands at this place of the one tuple that the function gives."""
    given = flow(source).all_given(node)
    called = flow(source).called(given[0].value) if given and isinstance(given[0].value, ast.Call) else []
    ends = returns(called[0]) if len(called) == 1 else ()
    if len(given) != 1 or len(given[0].places) != 1 or len(ends) != 1 or not isinstance(ends[0], ast.Tuple):
        return None
    at_place = given[0].places[0]
    return ends[0].elts[at_place] if 0 <= at_place < len(ends[0].elts) else None


def _gives_a_number(source: Script, node: ast.expr) -> bool:
    """`number(field)` of the script's own: each of its ends is one."""
    called = flow(source).called(node) if isinstance(node, ast.Call) else []
    ends = returns(called[0]) if len(called) == 1 else ()
    return bool(ends) and all(_is_number(e) for e in ends)


def _cuts_item(source: Script, node: ast.Subscript) -> bool:
    """`self.y[i:i + 1]`, `self.y[i, :1]` of an item's number `i`: an array with an axis of its own."""
    function = source.function_around(node)
    if function is None or function.name != "__getitem__":
        return False
    numbers = {a.arg for a in function.args.args[1:]}
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    cut = any(isinstance(p, (ast.Slice, ast.List)) for p in parts)
    return cut and any(n.id in numbers for p in parts for n in of(p, ast.Name))


def _appended(source: Script, name: ast.Name) -> list[ast.expr]:
    scope = source.function_around(name)
    return [
        c.args[0]
        for c in source.named("append")
        if c.args and source.owner(c) == name.id and source.function_around(c) is scope
    ]


def _is_number(node: ast.expr) -> bool:
    """`rul[end - 1] / cap`, `float(row["y"])`."""
    if isinstance(node, ast.Call):
        return last_name(node.func) in ("float", "item", "int")
    if isinstance(node, ast.BinOp):
        return _is_number(node.left) or _is_number(node.right)
    if isinstance(node, ast.IfExp):
        return _is_number(node.body) and _is_number(node.orelse)
    return isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.BinOp, ast.UnaryOp, ast.Name))
