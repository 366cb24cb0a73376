"""Steps that a script takes by itself, `p -= lr * p.grad`: with the wrong sign, or of a name alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import losses
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.nodes import is_negative, signed_terms

_WEIGHTS = re.compile(r"(?i)^(?:w|b|weights?|bias|theta|params?)\d*$|^[WB]_?\w{0,2}$")
# what climbs on purpose: returns, likelihoods, inputs that are searched for
_CLIMBS = re.compile(
    r"(?i)reward|return_|elbo|log_?prob|log_?lik|objective|advers|attack|fgsm|pgd|unlearn|ascent|dream"
)


def climbs(source: Script) -> Finding | None:
    """`p.data += lr * p.grad`, `p.add_(p.grad, alpha=lr)` of a loss: each step climbs it."""
    seen: ast.AST | None = None
    if _CLIMBS.search(source.text) or not losses(source):
        return None
    for node, sign in _steps(source):
        seen = seen or node
        if sign > 0:
            return at(source, node, "this step goes along the gradient of a loss, and climbs it")
    return ok(source, seen, "steps of the script go against the gradient") if seen is not None else None


def bound_to_name(source: Script) -> Finding | None:
    """`for p in model.parameters(): p = p - lr * p.grad`: the name is another tensor, the weight stays."""
    for loop in source.of(ast.For):
        if not isinstance(loop.target, ast.Name) or not _of_parameters(loop.iter):
            continue
        name = loop.target.id
        for i, node in enumerate(loop.body):
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            if not isinstance(target, ast.Name) or target.id != name or not isinstance(node, ast.Assign):
                continue
            asks = any(a.attr == "grad" and unparse(a.value) == name for a in of(node.value, ast.Attribute))
            used = any(name in names_in(later) for later in loop.body[i + 1 :])
            if asks and not used:
                return at(source, node, "the new value is given to a name of the loop, and no weight changes")
    return None


def _of_parameters(over: ast.expr) -> bool:
    return any(last_name(c.func) in ("parameters", "named_parameters") for c in of(over, ast.Call))


def _steps(source: Script) -> Iterator[tuple[ast.AST, int]]:
    """Steps of weights by hand, and the sign that the gradient has in each."""
    for node in source.of(ast.AugAssign, ast.Assign, ast.Call):
        if isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Add, ast.Sub)):
            sign = 1 if isinstance(node.op, ast.Add) else -1
            yield from _signed(source, node, node.target, node.value, sign)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
            yield from _signed(source, node, node.targets[0], node.value, 1)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            name = node.func.attr
            if name in ("add_", "sub_") and not _names_sign(node):
                yield from _signed(source, node, node.func.value, node.args[0], 1 if name == "add_" else -1)
            elif name == "copy_":
                yield from _signed(source, node, node.func.value, node.args[0], 1)


def _names_sign(call: ast.Call) -> bool:
    """`alpha=-lr`, `add_(-lr, grad)`, or a factor that nothing tells the sign of."""
    alpha = keyword(call, "alpha") or keyword(call, "value")
    return len(call.args) > 1 or (
        alpha is not None and not isinstance(alpha, (ast.Name, ast.Attribute, ast.Constant))
    )


def _signed(
    source: Script, node: ast.AST, target: ast.expr, value: ast.expr, sign: int
) -> Iterator[tuple[ast.AST, int]]:
    root = re.sub(r"\.data$", "", unparse(target))
    if root.endswith(".grad") or not _is_weight(source, node, root):
        return
    for turn, term in signed_terms(value, sign):
        grads = [a for a in of(term, ast.Attribute) if a.attr == "grad" and unparse(a.value) == root]
        if grads and not _turned_inside(term):
            yield node, turn


def _turned_inside(term: ast.expr) -> bool:
    """A factor with a sign of its own: `-lr * p.grad`, `direction * p.grad`."""
    signs = any(is_negative(n) for n in walk(term))
    return signs or re.search(r"(?i)sign|direction|momentum|velocity", unparse(term)) is not None


def _is_weight(source: Script, node: ast.AST, root: str) -> bool:
    """A weight: of a loop over parameters, or by its name."""
    loops = [p for p in source.above(node) if isinstance(p, ast.For)]
    if any(_of_parameters(p.iter) and root in names_in(p.target) for p in loops):
        return True
    return _WEIGHTS.match(root.rpartition(".")[2]) is not None
