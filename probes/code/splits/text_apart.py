"""Texts that are changed on one side alone: held-out texts in capitals, training texts as they are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at

_CHANGES = frozenset(("upper", "lower", "casefold", "title", "swapcase", "capitalize", "translate"))
_HELD = re.compile(r"(?i)(?:^|_)(?:test|val|valid|validation|dev|eval|held|heldout|holdout)(?:$|_|s$)")
_ANSWERS = re.compile(r"(?i)pred|answer|label|refer|gold|target|truth|hyp|decoded|output|^y_|_y$|metric")
_Comprehension = ast.ListComp | ast.GeneratorExp


def texts_changed_apart(source: Script) -> Finding | None:
    """`encode([t.upper() for t in test_texts])` beside `encode(texts)`: one callee, one side changed.

    Answers and references of a metric are brought to one form on purpose: they are left alone.
    """
    changed = {_method(c) for c in source.calls} & _CHANGES
    for node in source.of(ast.ListComp, ast.GeneratorExp) if changed else ():
        method = next((m for m in _methods_of(node) if m in _CHANGES), None)
        drawn = " ".join(n for g in node.generators for n in names_in(g.iter))
        names = drawn.split()
        if (
            method is None
            or not any(_HELD.search(n) for n in names)
            or any(_ANSWERS.search(n) for n in names)
        ):
            continue
        call = source.parents.get(node)
        while isinstance(call, ast.List | ast.Tuple | ast.keyword):
            call = source.parents.get(call)
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name | ast.Attribute):
            continue
        others = [c for c in source.calls if c is not call and unparse(c.func) == unparse(call.func)]
        others = [c for c in others if c.args or c.keywords]
        if others and not _changed_elsewhere(source, method, node):
            return at(source, node, f"texts are changed by {method}() on the held-out side alone")
    return None


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _methods_of(node: _Comprehension) -> Iterator[str]:
    for call in of(node.elt, ast.Call):
        yield _method(call)


def _changed_elsewhere(source: Script, method: str, node: _Comprehension) -> bool:
    """The same change stands at another place: on the other side, or in what makes all texts."""
    within = set(of(node, ast.Call))
    return any(_method(c) == method for c in source.calls if c not in within)
