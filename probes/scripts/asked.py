"""What of a function a call runs: branches that the constants which it hands over rule out."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from ..readers._tree import names_bound
from .branches import conditions
from .syntax import Function, Script

_UNKNOWN = object()


def ruled_out(source: Script, call: ast.Call, function: Function, node: ast.AST) -> bool:
    """Whether a call of a function never comes to one of its nodes.

    `net(x, raw=True)` does not reach what stands behind `if raw: return z`; an argument that is not given has
    its default. Arguments that are no constants, or that the function sets anew, say nothing.
    """
    asked = conditions(source, node)
    if not asked:
        return False
    known = _handed(call, function)
    if not known:
        return False
    for text, holds in asked:
        answer = _answer(text, known)
        if answer is not None and answer is not holds:
            return True
    return False


def answers(source: Script, call: ast.Call, function: Function, values: Sequence[ast.expr]) -> list[ast.expr]:
    """What a call gets of all that a function gives back, without what its constants rule out."""
    found: list[ast.expr] = []
    for value in values:
        if isinstance(value, ast.IfExp):
            both = (value.body, value.orelse)
            left = [v for v in both if not ruled_out(source, call, function, v)]
            found += left if len(left) == 1 else [value]
        elif not ruled_out(source, call, function, value):
            found.append(value)
    return found or list(values)


def caller_chooses(source: Script, node: ast.AST) -> bool:
    """Whether a parameter of the function around decides if a node runs: `if not raw: z = z.softmax(-1)`."""
    function = source.function_around(node)
    if function is None:
        return False
    names = {a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    return any(names & set(re.findall(r"\w+", text)) for text, _ in conditions(source, node))


def _handed(call: ast.Call, function: Function) -> dict[str, object]:
    """The constants that a call hands to a function, by parameter."""
    if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        return {}
    places = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    values: dict[str, ast.expr | None] = dict(
        zip(reversed(places), reversed(function.args.defaults), strict=False)
    )
    for parameter, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        values[parameter.arg] = default
    bound = places[1:] if places[:1] in (["self"], ["cls"]) else places
    values |= dict(zip(bound, call.args, strict=False))
    values |= {k.arg: k.value for k in call.keywords if k.arg is not None}
    stored = names_bound(function)
    return {
        name: value.value
        for name, value in values.items()
        if isinstance(value, ast.Constant) and name not in stored
    }


def _answer(text: str, known: dict[str, object]) -> bool | None:
    """Whether a test on one parameter holds; None where that is not known."""
    try:
        test = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    if isinstance(test, ast.Name):
        return bool(known[test.id]) if test.id in known else None
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.left, ast.Name)):
        return None
    mine, other = known.get(test.left.id, _UNKNOWN), test.comparators[0]
    if mine is _UNKNOWN or not isinstance(other, ast.Constant):
        return None
    return mine == other.value if isinstance(test.ops[0], (ast.Eq, ast.Is)) else None
