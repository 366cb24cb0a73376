"""Shares that scripts count in loops, `hits / seen`: whether all that is counted above counts below as well.

The conditions of both sums are tried on all small values of what they compare. What is compared in another
way is either true or not, whatever the rest.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ...readers._tree import of, unparse
from ...readers.script import last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.operators import COMPARISONS
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.factors import without_floor
from ..shared.nodes import block_of

_LIBRARY = ("np", "torch", "tf", "ops", "jnp", "K", "numpy", "mint")
_WRAPS = ("int", "float", "item", "numpy", "asnumpy", "cpu", "long", "astype", "cast", "detach", "to", "bool")
_SUMS = ("sum", "reduce_sum", "count_nonzero")
_ALL = ("len", "size", "numel", "nelement")
_MOST = 5  # names and free conditions that are tried together
_COUNTS = re.compile(r"(?i)loss|weight|ratio|odds|per_|rate_of|false|fp\b|_fp|err")


def counted_above_alone(source: Script) -> Finding | None:
    """`good += near.sum()`, `seen += (weight > 0).sum()`, `good / seen`: what is not seen counts as good."""
    for node in source.of(ast.BinOp):
        if not isinstance(node.op, ast.Div):
            continue
        above, below = _counter(node.left), _counter(without_floor(node.right))
        if above is None or below is None or above == below or _COUNTS.search(above):
            continue
        function = source.function_around(node)
        for over, under in _added_side_by_side(source, function, above, below):
            if _is_more(source, over.value, under.value):
                why = f"`{above}` counts what `{below}` does not, and their quotient is no share of it"
                return at(source, over, why)
    return None


def _counter(node: ast.expr) -> str | None:
    """What counts: a name, an attribute of the object, an entry of a list by a class."""
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Call) and last_name(node.func) in ("float", "maximum", "max", "clip", "clamp"):
        return _counter(node.args[0]) if node.args else None
    return unparse(node) if isinstance(node, (ast.Name, ast.Attribute)) else None


def _added_side_by_side(
    source: Script, function: ast.AST | None, above: str, below: str
) -> Iterator[tuple[ast.AugAssign, ast.AugAssign]]:
    scope = function or source.tree
    if above.startswith("self."):
        scope = source.class_around(function) or scope if function is not None else scope
    sums = [n for n in of(scope, ast.AugAssign) if isinstance(n.op, ast.Add)]
    over = [n for n in sums if _counter(n.target) == above]
    under = [n for n in sums if _counter(n.target) == below]
    if len(over) == len(under) == 1 and over[0] in block_of(source, under[0]):
        if unparse(over[0].target).removeprefix(above) == unparse(under[0].target).removeprefix(below):
            yield over[0], under[0]


@dataclass
class _Asked:
    """What the conditions compare: names with the values that they may have, and conditions of their own."""

    names: dict[str, list[int]] = field(default_factory=dict)
    free: list[str] = field(default_factory=list)
    numbers: set[int] = field(default_factory=set)
    answers: set[str] = field(default_factory=set)
    cut: list[str] = field(default_factory=list)  # by what their rows were picked before


_Test = Callable[[dict[str, Any]], bool]


def _is_more(source: Script, over: ast.expr, under: ast.expr) -> bool:
    """There is something that the sum above counts and the one below does not."""
    asked = _Asked()
    tests = [_counted(source, e, asked) for e in (over, under)]
    if tests[0] is None or tests[1] is None or not (asked.names or asked.free):
        return False
    if asked.cut or len(asked.names) + len(asked.free) > _MOST:
        return False
    more = both = less = False
    for values in _tried(asked):
        a, b = tests[0](values), tests[1](values)
        more, both, less = more or (a and not b), both or (a and b), less or not a
    return more and both and less


def _tried(asked: _Asked) -> Iterator[dict[str, Any]]:
    plain = sorted({0, 1, 2} | {n for n in asked.numbers if n >= 0})
    ranges = [plain if name in asked.answers else sorted({*plain, *asked.numbers}) for name in asked.names]
    for numbers in itertools.product(*ranges):
        for flags in itertools.product((False, True), repeat=len(asked.free)):
            yield {
                **dict(zip(asked.names, numbers, strict=True)),
                **dict(zip(asked.free, flags, strict=True)),
            }


def _counted(source: Script, node: ast.expr, asked: _Asked) -> _Test | None:
    """The condition of a sum: `((p == c) & (y == c)).sum().item()`; of a length, all there is."""
    for _ in range(6):
        if isinstance(node, ast.Call) and last_name(node.func) in (*_WRAPS, *_SUMS):
            if last_name(node.func) in _SUMS:
                inner = _about(node)
                return _condition(source, inner, asked, 5) if inner is not None else None
            inner = _about(node)
            if inner is None:
                return None
            node = inner
        elif (isinstance(node, ast.Call) and last_name(node.func) in _ALL) or (
            isinstance(node, ast.Subscript) and unparse(node.value).endswith(".shape")
        ):
            return lambda _: True
        else:
            return None
    return None


def _about(call: ast.Call) -> ast.expr | None:
    """What a method or function is about."""
    owner = receiver(call)
    if call.args and (owner is None or unparse(owner) in _LIBRARY):
        return call.args[0]
    return owner


def _condition(source: Script, node: ast.expr, asked: _Asked, depth: int) -> _Test | None:
    """A condition on each answer, as far as it is one."""
    if depth == 0:
        return None
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.Mult, ast.BitOr)):
        parts = [_condition(source, n, asked, depth - 1) for n in (node.left, node.right)]
        return _joined(parts, any if isinstance(node.op, ast.BitOr) else all)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        inner = _condition(source, node.operand, asked, depth - 1)
        return (lambda v: not inner(v)) if inner is not None else None
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _compared(source, node.left, node.ops[0], node.comparators[0], node, asked)
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        if name in ("logical_and", "logical_or") and len(node.args) == 2:
            parts = [_condition(source, n, asked, depth - 1) for n in node.args]
            return _joined(parts, any if name == "logical_or" else all)
        if name in _NAMED and len(node.args) == 2:
            return _compared(source, node.args[0], _NAMED[name], node.args[1], node, asked)
        if name == "eq" and len(node.args) == 1 and receiver(node) is not None:
            return _compared(source, receiver(node) or node, ast.Eq(), node.args[0], node, asked)
        inner_node = _about(node) if name in _WRAPS else None
        return _condition(source, inner_node, asked, depth - 1) if inner_node is not None else None
    if isinstance(node, ast.Name):
        given = flow(source).all_given(node)
        if len(given) == 1 and not given[0].places:
            return _condition(source, given[0].value, asked, depth - 1)
    return None


_NAMED: dict[str, ast.cmpop] = {"equal": ast.Eq(), "not_equal": ast.NotEq(), "greater": ast.Gt()}


def _joined(parts: list[_Test | None], how: Callable[[Iterator[bool]], bool]) -> _Test | None:
    whole = [p for p in parts if p is not None]
    if len(whole) != len(parts):
        return None
    return lambda v: how(p(v) for p in whole)


def _compared(
    source: Script, left: ast.expr, op: ast.cmpop, right: ast.expr, node: ast.expr, asked: _Asked
) -> _Test | None:
    picked = [s for one in (left, right) for s in of(one, ast.Subscript)]
    if any(isinstance(s.slice, (ast.Name, ast.Compare, ast.UnaryOp)) for s in picked):
        asked.cut.append(unparse(node))  # `pred[mine] == c`: of the rows that a mask picks
    sides = [_side(source, s, asked) for s in (left, right)]
    if sides[0] is not None and sides[1] is not None and type(op) in COMPARISONS:
        asks = COMPARISONS[type(op)]
        a, b = sides[0], sides[1]
        return lambda v: bool(asks(v.get(str(a), a), v.get(str(b), b)))
    text = unparse(node)
    if text not in asked.free:
        asked.free.append(text)
    for name in of(node, ast.Name):
        _remember_cuts(source, name, asked)
    return lambda v: bool(v[text])


def _side(source: Script, node: ast.expr, asked: _Asked) -> str | int | None:
    """A whole number, or a name that holds one for each answer."""
    number = node.value if isinstance(node, ast.Constant) else None
    if (
        isinstance(node, ast.UnaryOp)
        and isinstance(node.op, ast.USub)
        and isinstance(node.operand, ast.Constant)
    ):
        number = -node.operand.value if isinstance(node.operand.value, int) else None
    if isinstance(number, int) and not isinstance(number, bool):
        if abs(number) > 1000:
            return None
        asked.numbers.add(number)
        return number
    while isinstance(node, ast.Call) and last_name(node.func) in (
        *_WRAPS,
        "view",
        "reshape",
        "flatten",
        "squeeze",
    ):
        inner = _about(node)
        if inner is None:
            return None
        node = inner
    if isinstance(node, ast.Call) and last_name(node.func) in ("argmax", "max"):
        text = unparse(node)
        asked.names.setdefault(text, [])
        asked.answers.add(text)
        return text
    if not isinstance(node, ast.Name):
        return None
    _remember_cuts(source, node, asked)
    given = flow(source).all_given(node)
    asked.names.setdefault(node.id, [])
    if any("argmax" in unparse(g.value) or ".max(" in unparse(g.value) for g in given):
        asked.answers.add(node.id)
    if given and any(re.search(r"sigmoid|softmax|prob|\d\.\d", unparse(g.value)) for g in given):
        return None
    return node.id


def _remember_cuts(source: Script, name: ast.Name, asked: _Asked) -> None:
    """`p = p[keep]`, `masked_select(p, keep)`: rows that were picked, by what is counted below maybe."""
    for given in flow(source).all_given(name):
        for part in of(given.value, ast.Subscript):
            rows = part.slice.elts[0] if isinstance(part.slice, ast.Tuple) else part.slice
            if not isinstance(rows, (ast.Slice, ast.Constant)):
                asked.cut.append(unparse(rows))
        for call in of(given.value, ast.Call):
            if last_name(call.func) in ("masked_select", "boolean_mask", "where", "masked_fill", "gather"):
                asked.cut.append(unparse(call))
