"""Words to be guessed (masked language models): how many are chosen, and labels that are the inputs."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.sides import behind, number

_COPIES = re.compile(r"clone|copy|where|tensor\(|list\(|\[:\]")
_IGNORED = ("-100", "IGNORE", "ignore_index", "IGNORE_INDEX")


def labels_are_inputs(source: Script) -> Finding | None:
    """`labels = ids` and `labels[mask] = -100`: the inputs lose the same places, for it is one tensor."""
    for node in source.of(ast.Assign):
        target, value = node.targets[0], node.value
        if len(node.targets) != 1 or not isinstance(target, (ast.Name, ast.Subscript)):
            continue
        name, of_ = unparse(target), unparse(value)
        if not re.search(r"(?i)label|target", name) or not re.search(r"(?i)(?:^|[_'])(?:input_)?ids\b", of_):
            continue
        if not _plain(value):
            continue
        scope = source.function_around(node) or source.tree
        written = [s for s in of(scope, ast.Assign) if s.lineno > node.lineno and _ignored_in(s, name)]
        anew = [
            s
            for s in of(scope, ast.Assign)
            if s is not node and any(unparse(t) in (name, of_) for t in s.targets) and s.lineno > node.lineno
        ]
        if written and not any(
            a.lineno < written[0].lineno or _COPIES.search(unparse(a.value)) for a in anew
        ):
            return at(source, written[0], f"`{name}` is `{of_}` itself: the inputs lose these places, too")
    return None


def _plain(node: ast.expr) -> bool:
    """A name, an attribute, or an item of a dict: no copy."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
    return isinstance(node, (ast.Name, ast.Attribute))


def _ignored_in(node: ast.Assign, name: str) -> bool:
    target = node.targets[0]
    return (
        isinstance(target, ast.Subscript)
        and unparse(target.value) == name
        and unparse(node.value) in _IGNORED
        and not isinstance(target.slice, ast.Constant)
    )


def most_words_masked(source: Script) -> Finding | None:
    """`rand(ids.shape) < 0.85` beside a token for masked words: nothing is left to guess from.

    Diffusion over words and programs that say that the share is drawn or on a schedule are left out.
    """
    if not re.search(r"mask_token|MASK_ID|mask_id|mlm", source.code) or re.search(
        r"(?i)diffus|maskgit|schedule_mask|masking_ratio", source.code
    ):
        return None
    for call in source.calls:
        share = keyword(call, "mlm_probability")
        value = number(source, share) if share is not None else None
        if share is not None and value is not None and 0.5 < value < 1:
            return at(source, share, f"{value:g} of the words are to be guessed")
    for node in source.of(ast.Compare):
        if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Lt, ast.LtE)):
            continue
        drawn = isinstance(node.left, ast.Call) and last_name(node.left.func) in (
            "rand",
            "rand_like",
            "random",
        )
        statement = source.statement(node)
        text = unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
        if (
            statement is None
            or not drawn
            or not re.search(r"(?i)chosen|masked|mask|pick|select|to_guess", text)
        ):
            continue
        values = {number(source, v) for v in behind(source, node.comparators[0])} - {None}
        values |= _default(source, node.comparators[0])
        if len(values) == 1 and 0.5 < (value := float(next(iter(values)) or 0)) < 1:
            if not _of_chosen(statement):
                return at(source, node, f"{value:g} of the words are to be guessed")
    return None


def _default(source: Script, node: ast.expr) -> set[float | None]:
    """The default of a parameter that no caller sets."""
    functions = [f for f in source.above(node) if isinstance(f, ast.FunctionDef)]
    for function in functions:
        args = function.args.args
        for arg, value in zip(reversed(args), reversed(function.args.defaults), strict=False):
            if isinstance(node, ast.Name) and arg.arg == node.id:
                calls = flow(source).calls_of(function)
                place = args.index(arg)
                if any(keyword(c, arg.arg) is not None or len(c.args) > place for c in calls):
                    return set()
                return {number(source, value)}
    return set()


def _of_chosen(statement: ast.stmt) -> bool:
    """`masked = chosen & (rand() < 0.8)`: a share of those that were chosen."""
    return any(isinstance(n.op, (ast.BitAnd, ast.Mult)) for n in of(statement, ast.BinOp)) or any(
        isinstance(n, ast.Call) and last_name(n.func) == "logical_and" for n in of(statement, ast.Call)
    )
