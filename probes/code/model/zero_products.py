"""Products of two factors that both start at zero in scripts: neither gets a gradient, so both stay there.

`B(A(x))` of two layers without bias, `x @ self.A @ self.B`, `self.gate * self.out(h)`: the gradient of each
factor is made of the other. One factor at zero is how adapters start; the other has to be drawn.
"""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import Flow, flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.nodes import is_false

_LAYERS = re.compile(r"^(?:Linear|Dense|Conv[123][dD]|Embedding)$")
_DRAWS = re.compile(
    r"^(?:kaiming|xavier|normal|uniform|trunc_normal|orthogonal|ones|sparse|eye|dirac)\w*_$|^copy_$"
)
# what gives nothing of nothing
_KEEPS = re.compile(
    r"(?i)^(?:drop\w*|dropout|gelu|relu\w*|silu|tanh|leaky_?relu|identity|t|transpose|permute|view|reshape|to|float|contiguous"
    r"|matmul|linear|mm|bmm|einsum|mul|multiply|conv[123]d|unsqueeze|squeeze|mT|type_as|swapaxes)$"
)


def both_factors_zero(source: Script) -> Finding | None:
    """Judge the modules of one program."""
    seen, mine = None, flow(source)
    for function in source.passes:
        owner = source.parents.get(function)
        if not isinstance(owner, ast.ClassDef) or owner not in source.modules:
            continue
        zeros = _zeros(owner)
        if not zeros:
            continue
        seen = seen or owner
        if len(zeros) < 2:
            continue
        for node in of(function, ast.Call, ast.BinOp):
            found = _factors(mine, node, zeros, 8)
            if len(found) > 1:
                one, other = sorted(found)[:2]
                why = f"{one} and {other} both start at zero and are multiplied: neither gets a gradient"
                return at(source, zeros[one], why)
    return ok(source, seen, "a factor at zero stands beside one that is drawn") if seen is not None else None


def _zeros(owner: ast.ClassDef) -> dict[str, ast.AST]:
    """Attributes of a class that give zero at the start: parameters, and layers with nothing else in them."""
    found: dict[str, ast.AST] = {}
    layers: dict[str, ast.Call] = {}
    parts: dict[str, tuple[bool, ast.AST]] = {}  # the last that a weight or bias is filled with: zero or not
    nodes = sorted(of(owner, ast.Assign, ast.Call), key=lambda n: (n.lineno, n.col_offset))
    for node in nodes:
        if isinstance(node, ast.Assign):
            target = node.targets[0]
            if isinstance(target, ast.Attribute) and unparse(target.value) == "self":
                made = node.value
                if isinstance(made, ast.Call) and last_name(made.func) in ("Parameter", "Variable"):
                    given = argument(made, position=0)
                    while isinstance(given, ast.Call) and last_name(given.func) in (
                        "Tensor",
                        "tensor",
                        "float",
                    ):
                        given = argument(given, position=0)
                    zero = isinstance(given, ast.Call) and last_name(given.func) in ("zeros", "zeros_like")
                    parts[target.attr] = (zero, node)
                elif isinstance(made, ast.Call) and _LAYERS.match(last_name(made.func)):
                    layers[target.attr] = made
                else:
                    parts.pop(target.attr, None)
            continue
        name = last_name(node.func)
        on = node.args[0] if node.args and not name.startswith("zero_") else getattr(node.func, "value", None)
        place = (
            re.fullmatch(r"self\.(\w+(?:\.(?:weight|bias))?)(?:\.data)?", unparse(on))
            if on is not None
            else None
        )
        if place is None:
            continue
        if name in ("zeros_", "zero_"):
            parts[place.group(1)] = (True, node)
        elif name == "constant_" and len(node.args) > 1:
            parts[place.group(1)] = (getattr(node.args[1], "value", None) in (0, 0.0), node)
        elif _DRAWS.match(name):
            parts[place.group(1)] = (False, node)
    for attr, (zero, where) in parts.items():
        if zero and "." not in attr:
            found[attr] = where
    for attr, made in layers.items():
        told = _of_layer(attr, made, parts)
        if told is not None:
            found[attr] = told
    return found


def _of_layer(attr: str, made: ast.Call, parts: dict[str, tuple[bool, ast.AST]]) -> ast.AST | None:
    """Where a layer's weights are made zero, if its bias is zero or not there."""
    start = keyword(made, "kernel_initializer") or keyword(made, "weight_init")
    zero, node = parts.get(f"{attr}.weight", (_says_zero(start), made))
    if not zero:
        return None
    if last_name(made.func) == "Embedding":
        return node
    for word in ("bias", "use_bias", "has_bias"):
        told = keyword(made, word)
        if is_false(told):
            return node
    filled = parts.get(f"{attr}.bias")
    if filled is not None:
        return node if filled[0] else None
    keras = keyword(made, "kernel_initializer") is not None and keyword(made, "bias_initializer") is None
    return node if keras or _says_zero(keyword(made, "bias_init")) else None


def _says_zero(given: ast.expr | None) -> bool:
    return (
        given is not None
        and re.fullmatch(r"(?i)['\"]?(?:\w+\.)*zeros?(?:\(\))?['\"]?", unparse(given)) is not None
    )


def _factors(mine: Flow, node: ast.expr, zeros: dict[str, ast.AST], depth: int) -> set[str]:
    """The attributes at zero that an expression is a product of."""
    if depth <= 0:
        return set()
    if isinstance(node, ast.Attribute):
        if unparse(node.value) == "self":
            return {node.attr} & zeros.keys()
        return _factors(mine, node.value, zeros, depth - 1) if node.attr in ("T", "mT", "H") else set()
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, (ast.Mult, ast.MatMult)):
            return _factors(mine, node.left, zeros, depth - 1) | _factors(mine, node.right, zeros, depth - 1)
        return _factors(mine, node.left, zeros, depth - 1) if isinstance(node.op, ast.Div) else set()
    if isinstance(node, ast.Subscript):
        return _factors(mine, node.value, zeros, depth - 1)
    if isinstance(node, ast.Name):
        given = mine.given(node)
        known = given is not None and not given.places
        return _factors(mine, given.value, zeros, depth - 1) if known and given is not None else set()
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        found: set[str] = set()
        for arg in node.args:
            found |= _factors(mine, arg, zeros, depth - 1)
        on_self = isinstance(node.func, ast.Attribute) and unparse(node.func.value) == "self"
        if on_self and name in zeros:
            return found | {name}
        if not _KEEPS.match(name):
            return set()
        if isinstance(node.func, ast.Attribute) and not on_self:
            found |= _factors(mine, node.func.value, zeros, depth - 1)
        return found
    return set()


def matrices_all_zero(source: Script) -> Finding | None:
    """`for a, b in zip(sizes, sizes[1:]): w = torch.zeros(a, b)`, trained: each matrix of the net is zero.

    Silent where anything in that loop is drawn at random, and for one table alone.
    """
    seen = None
    for loop in source.of(ast.For):
        bound = names_in(loop.target)
        made = [
            c
            for c in of(loop, ast.Call)
            if last_name(c.func) == "zeros" and len(c.args) == 2 and all(unparse(a) in bound for a in c.args)
        ]
        if not made or not re.search(r"requires_grad|Parameter\(|Variable\(", unparse(loop)):
            continue
        seen = seen or made[0]
        drawn = re.search(r"rand|normal|uniform|xavier|kaiming|orthogonal|glorot|eye\(", unparse(loop))
        if not drawn and not re.search(r"(?i)lora|adapter|momentum|velocity", unparse(loop)):
            return at(
                source, made[0], "the matrices of all layers start at zero, so that nothing gets a gradient"
            )
    return ok(source, seen, "matrices are drawn at random") if seen is not None else None
