"""Figures of parts of the data: divided by another part's size, or taken in another order than given."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.sides import words

_SUMS = ("sum", "count_nonzero", "int", "float", "item", "cpu")
_PARTS = {
    **dict.fromkeys(("train", "training", "trn"), "train"),
    **dict.fromkeys(("val", "valid", "validation"), "val"),
    **dict.fromkeys(("test", "testing"), "test"),
}


def share_of_all(source: Script) -> Finding | None:
    """`(pred[mask] == y[mask]).sum() / len(pred)`: hits of a part are divided by the number of all.

    Whatever the part is called. A divisor that is itself cut by the mask, or a count of the mask, is right.
    """
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, ast.Div):
            continue
        whole = _counted(node.right)
        held = _hits(source, node.left) if whole is not None else None
        if whole is None or held is None:
            continue
        left, right = held.left, held.comparators[0]
        if not (isinstance(left, ast.Subscript) and isinstance(right, ast.Subscript)):
            continue
        cut = unparse(left.slice)
        if cut != unparse(right.slice) or not isinstance(
            left.slice, (ast.Name, ast.Attribute, ast.Subscript)
        ):
            continue
        if unparse(whole) in (unparse(left.value), unparse(right.value)):
            why = f"hits among `{cut}` are divided by the number of all in `{unparse(whole)}`"
            return at(source, node, why)
    return None


def _hits(source: Script, node: ast.expr) -> ast.Compare | None:
    """The comparison whose hits are counted: `int((a == b).sum())`, also by a name that was given it."""
    for _ in range(8):
        if isinstance(node, ast.Name):
            given = flow(source).whole_given(node)
            if given is None:
                return None
            node = given
        elif isinstance(node, ast.Call) and last_name(node.func) in _SUMS:
            if isinstance(node.func, ast.Attribute) and not node.args:
                node = node.func.value
            elif node.args:
                node = node.args[0]
            else:
                return None
        else:
            break
    return node if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq) else None


def _counted(node: ast.expr) -> ast.expr | None:
    """`x` of `len(x)`, `x.shape[0]`, `x.size(0)`, `x.numel()`."""
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        if name == "len" and len(node.args) == 1:
            return node.args[0]
        if name in ("size", "numel") and isinstance(node.func, ast.Attribute):
            return node.func.value
    if (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "shape"
    ):
        return node.value.value
    return None


def parts_crossed(source: Script) -> Finding | None:
    """A function gives figures of train, test and validation, and its caller takes them in another order."""
    mine = flow(source)
    for node in source.of(ast.Assign):
        target, call = node.targets[0], node.value
        if not isinstance(target, (ast.Tuple, ast.List)) or not isinstance(call, ast.Call):
            continue
        taken = [part_of(unparse(e)) for e in target.elts]
        if len(taken) < 2 or None in taken or len(set(taken)) != len(taken):
            continue
        for function in mine.called(call):
            given = (
                _given(function) if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) else None
            )
            if given is not None and given != taken and sorted(map(str, given)) == sorted(map(str, taken)):
                order = ", ".join(map(str, given))
                return at(source, node, f"`{function.name}` gives its figures in the order {order}")
    return None


def part_of(name: str) -> str | None:
    """ "train", "val" or "test", where a name tells one of them."""
    found = {_PARTS[w] for w in words(name) if w in _PARTS}
    return found.pop() if len(found) == 1 else None


def _given(function: Function) -> list[str | None] | None:
    """Of which parts a function gives figures, in order: a tuple, or a list filled in a loop over parts."""
    ends = [n.value for n in of(function, ast.Return) if n.value is not None]
    if len(ends) != 1:
        return None
    end = ends[0]
    if isinstance(end, (ast.Tuple, ast.List)):
        parts = [part_of(unparse(e)) for e in end.elts]
        return None if None in parts else parts
    name = end.id if isinstance(end, ast.Name) else ""
    if isinstance(end, (ast.ListComp, ast.GeneratorExp)) and len(end.generators) == 1:
        return _looped(end.generators[0].iter)
    loops = [n for n in of(function, ast.For) if any(_fills(c, name) for c in of(n, ast.Call))]
    return _looped(loops[0].iter) if name and len(loops) == 1 else None


def _looped(over: ast.expr) -> list[str | None] | None:
    parts = list(_named(over))
    return None if len(parts) < 2 or None in parts else parts


def _named(over: ast.expr) -> Iterator[str | None]:
    if isinstance(over, (ast.Tuple, ast.List)):
        for one in over.elts:
            said = one.value if isinstance(one, ast.Constant) else unparse(one)
            yield part_of(str(said))


def _fills(call: ast.Call, name: str) -> bool:
    return (
        last_name(call.func) == "append"
        and isinstance(call.func, ast.Attribute)
        and unparse(call.func.value) == name
    )
