"""Optimizers that a script writes out: means of gradients and of squares, and a root."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from ...readers._tree import of, unparse, walk
from ...readers.script import keyword, last_name, receiver
from ...registry import Finding, View, probe, unframed
from ...scripts.syntax import Function, Script
from ..shared.checks import at, first, ok
from ..shared.nodes import factors

_OPTIMIZER = re.compile(r"(?i)optim|adam|rms_?prop|adagrad|adadelta|lamb$|^lion")
# methods that divide by a curvature, not by the root of a mean of squares, or take signs
_OTHERWISE = re.compile(r"(?i)sophia|fisher|natural|newton|hess|precond|kfac|shampoo|lion|sign")
_ROOTS = ("sqrt", "sqrt_", "rsqrt", "rsqrt_")
_STATEMENTS = (ast.Assign, ast.AugAssign, ast.Expr)


@probe()
@unframed
def moments_miscomputed(view: View) -> Finding:
    """An optimizer of the script's own divides by the mean of squares itself, or mixes its two decay rates.

    Adam and its kin divide by the root of the mean of squared gradients, so that a step has the size of the
    learning rate (Kingma and Ba 2015). Without the root a step grows as gradients fall. Weights of a running
    mean add up to one: `beta * m + (1 - beta) * g` of one and the same beta.
    """
    return first(view, _miscomputed, "the scripts write out no optimizer")


def _miscomputed(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    for function in source.of(ast.FunctionDef):
        owner = source.class_around(function)
        names = " ".join([function.name, *([owner.name, *map(unparse, owner.bases)] if owner else [])])
        if not _OPTIMIZER.search(names) or _OTHERWISE.search(names):
            continue
        squares = [node for node, _ in _means_of_squares(function)]
        if not squares:
            continue
        seen = seen or squares[0]
        for node, kept, added in _running_means(function):
            if kept != added:
                return at(source, node, f"a mean keeps {kept} of itself and takes 1 - {added} of what is new")
        if (power := _corrected_astray(function)) is not None:
            return at(source, power, "the correction of a mean is 1 - beta ** t, and this is (1 - beta) ** t")
        if (divided := _without_root(function)) is not None:
            return at(source, divided, "this divides by the mean of squares itself, without its root")
    return ok(source, seen, "the moments are computed as by the method") if seen is not None else None


def _corrected_astray(function: Function) -> ast.BinOp | None:
    """`v / (1 - beta2) ** t`: of a beta that a running mean of this function keeps."""
    kept = {text for _, text, _ in _running_means(function)}
    for node in of(function, ast.BinOp):
        left = node.left
        if isinstance(node.op, ast.Pow) and isinstance(left, ast.BinOp) and isinstance(left.op, ast.Sub):
            counted = not isinstance(node.right, ast.Constant)
            if counted and unparse(left.left) in ("1", "1.0") and unparse(left.right) in kept:
                return node
    return None


def _means_of_squares(function: Function) -> Iterator[tuple[ast.AST, str]]:
    """Statements that put squares into something, and its name: `v.mul_(b).addcmul_(g, g)`."""
    for node in _in_order(function):
        if isinstance(node, ast.Expr):
            call = node.value
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or not call.args:
                continue
            name, two = call.func.attr, [unparse(a) for a in call.args[:2]]
            if (name == "addcmul_" and len(two) == 2 and _plain(two[0]) == _plain(two[1])) or (
                name in ("add_", "lerp_") and _squared(call.args[0])
            ):
                yield node, _receiver(call)
        elif isinstance(node, (ast.Assign, ast.AugAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            itself = isinstance(node, ast.AugAssign) or _holds(node.value, _named(target))
            if itself and _squared(node.value) and not _rooted(node.value, ""):
                yield node, _named(target)


def _named(target: ast.expr) -> str:
    """`v` of `v[:] = ...`, what is set in place."""
    everything = isinstance(target, ast.Subscript) and unparse(target.slice) in (":", "...", "Ellipsis")
    return unparse(target.value if isinstance(target, ast.Subscript) and everything else target)


def _in_order(function: Function) -> list[ast.stmt]:
    return sorted(of(function, *_STATEMENTS), key=lambda n: n.lineno)


def _plain(text: str) -> str:
    return text.removesuffix(".conj()")


def _receiver(call: ast.Call) -> str:
    """`v` of `v.mul_(b).add_(g)`."""
    func: ast.expr = call.func
    while isinstance(func, ast.Attribute) and isinstance(func.value, ast.Call):
        func = func.value.func
    return unparse(func.value) if isinstance(func, ast.Attribute) else ""


def _squared(value: ast.expr) -> bool:
    """A square is in it: `g**2`, `g.pow(2)`, `g.square()`, `(1 - b) * g * g`."""
    for node in walk(value):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and _is(node.right, 2):
            return True
        if isinstance(node, ast.Call) and last_name(node.func) == "square":
            return True
        if isinstance(node, ast.Call) and last_name(node.func) in ("pow", "pow_") and _is(node.args[-1:], 2):
            return True
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            if max(Counter(unparse(f) for f in factors(node)).values()) > 1:
                return True
    return False


def _is(node: ast.expr | list[ast.expr], number: float) -> bool:
    one = node[0] if isinstance(node, list) and node else node
    return isinstance(one, ast.Constant) and one.value == number


def _holds(node: ast.AST, key: str) -> bool:
    return any(unparse(n) == key for n in of(node, ast.Name, ast.Attribute, ast.Subscript))


def _rooted(value: ast.AST, key: str) -> bool:
    """A root is taken of something with `key` in it; of anything where it is empty."""
    for node in walk(value):
        if isinstance(node, ast.Call) and last_name(node.func) in _ROOTS:
            if not key or _holds(node, key):
                return True
        half = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and not _is(node.right, 2)
        if (half or (isinstance(node, ast.Call) and last_name(node.func) in ("pow", "pow_"))) and key:
            if _holds(node, key):
                return True
    return False


def _without_root(function: Function) -> ast.AST | None:
    """The first division by a mean of squares, or by what is made of one, that no root was taken of."""
    made = {
        key: node.lineno for node, key in _means_of_squares(function) if isinstance(node, ast.stmt) and key
    }
    for node in _in_order(function):
        keys = [k for k, since in made.items() if since <= node.lineno]
        for top, below in _divisions(node):
            held = [k for k in keys if _holds(below, k)]
            if held and not any(_rooted(below, k) or _holds(top, k) for k in held):
                return node
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], (ast.Name, ast.Subscript)):
            continue
        target, held = unparse(node.targets[0]), [k for k in keys if _holds(node.value, k)]
        if held and made.get(target) != node.lineno:
            if any(_rooted(node.value, k) for k in held) or isinstance(node.value, (ast.Tuple, ast.Compare)):
                made.pop(target, None)
            else:
                made[target] = node.lineno
    return None


def _divisions(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    for node in of(statement, ast.BinOp, ast.Call):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            yield node.left, node.right
        elif isinstance(node, ast.Call) and last_name(node.func) in ("addcdiv_", "addcdiv"):
            if len(node.args) == 2:
                yield node.args[0], node.args[1]


def _running_means(function: Function) -> Iterator[tuple[ast.AST, str, str]]:
    """What `m.mul_(a).add_(g, alpha=1 - b)` keeps and takes: a and b; as well `m = a * m + (1 - b) * g`."""
    for node in of(function, ast.Assign):
        value = node.value
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            kept, taken = factors(value.left), factors(value.right)
            name = _named(node.targets[0])
            rests = [f for f in taken if isinstance(f, ast.BinOp) and isinstance(f.op, ast.Sub)]
            takes = [unparse(f.right) for f in rests if _is(f.left, 1)]
            mine = [unparse(f) for f in kept if unparse(f) != name]
            if len(kept) == 2 and len(mine) == 1 and len(takes) == 1 and "damp" not in takes[0]:
                yield node, mine[0], takes[0]
    for call in of(function, ast.Call):
        inner = receiver(call)
        if last_name(call.func) not in ("add_", "addcmul_") or not isinstance(inner, ast.Call):
            continue
        share = keyword(call, "alpha") or keyword(call, "value")
        rest = isinstance(share, ast.BinOp) and isinstance(share.op, ast.Sub) and _is(share.left, 1)
        if last_name(inner.func) == "mul_" and len(inner.args) == 1 and rest and isinstance(share, ast.BinOp):
            if "damp" not in unparse(share.right):
                yield call, unparse(inner.args[0]), unparse(share.right)
