"""Negative samples in scripts that are drawn until they are positives."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from ...readers._tree import of, unparse
from ...readers.script import last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok

_NEGATIVE = re.compile(r"(?i)(?:^|_)neg(?:s|ative|atives)?(?:_|$|\d)|^negs?$")
_HAD = re.compile(
    r"(?i)^(?:had|seen|pos|positives?|known|history|hist|clicked|bought|rated|watched|interacted|liked|items_of|owned)$"
    r"|(?:^|_)(?:seen|pos(?:itives?)?|history|clicked|bought|rated|watched|interacted|liked|had)(?:_|s?$|_items?$)"
)
_DRAWS = ("randint", "integers", "choice", "randrange", "sample", "random_integers", "randint_like")


def negatives_are_positives(source: Script) -> Finding | None:
    """`while t not in seen: t = randint(n)`, `bad = ~seen[u, neg]`: what is drawn again is what was right."""
    seen: ast.AST | None = None
    for loop in source.of(ast.While):
        scope = source.function_around(loop)
        named = {n.id for n in of(scope or source.tree, ast.Name)} | {scope.name if scope is not None else ""}
        if not any(_NEGATIVE.search(n) for n in named) or not _draws(loop.body):
            continue
        seen = seen or loop
        test = loop.test
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.NotIn):
            if _of_positives(test.comparators[0]) and _drawn_in(loop, unparse(test.left)):
                return at(source, loop, "negatives are drawn again until they are among the positives")
        if isinstance(test, ast.Call) and last_name(test.func) == "any":
            asked = receiver(test)
            asked = asked if not test.args else test.args[0]
            made = [] if asked is None else [asked, *(g.value for g in flow(source).all_given(asked))]
            if made and all(_turned(m) for m in made[1:] or made):
                return at(source, loop, "negatives are drawn again until they are among the positives")
    return ok(source, seen, "negatives that are positives are drawn again") if seen is not None else None


def _draws(body: Iterable[ast.AST]) -> bool:
    return any(last_name(c.func) in _DRAWS for s in body for c in of(s, ast.Call))


def _drawn_in(loop: ast.While, name: str) -> bool:
    return any(unparse(t) == name for s in loop.body for n in of(s, ast.Assign) for t in n.targets)


def _of_positives(node: ast.expr) -> bool:
    """`seen`, `pos[u]`, `self.history[user]`, `user_items.get(u)` are what it had; `pool` is not."""
    while isinstance(node, (ast.Subscript, ast.Call)):
        node = node.value if isinstance(node, ast.Subscript) else node.func
        if isinstance(node, ast.Attribute) and node.attr in ("get", "keys"):
            node = node.value
    return isinstance(node, (ast.Name, ast.Attribute)) and _HAD.search(last_name(node)) is not None


def _turned(node: ast.expr) -> bool:
    """`~seen[u, neg]`, `np.isin(neg, pos, invert=True)`."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        return _of_positives(node.operand)
    return False
