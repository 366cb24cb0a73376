"""Going through a syntax tree, and writing out its parts, over and over again.

What was found is kept with the nodes: a tree must not be changed after the first question.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

_BELOW = "_below"
_ALL = "_all"
_TEXT = "_text"
_ASKED_OFTEN = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.While, ast.With)


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """The node and all nodes below it, from the top down, in the order of `ast.walk`."""
    if not isinstance(node, _ASKED_OFTEN):
        return _walk(node)
    found: tuple[ast.AST, ...] | None = node.__dict__.get(_ALL)
    if found is None:
        found = node.__dict__[_ALL] = tuple(_walk(node))
    return iter(found)


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    waiting = [node]
    for one in waiting:
        yield one
        below: tuple[ast.AST, ...] | None = one.__dict__.get(_BELOW)
        if below is None:
            below = one.__dict__[_BELOW] = tuple(ast.iter_child_nodes(one))
        waiting += below


def unparse(node: ast.AST) -> str:
    """The node as `ast.unparse` writes it: without comments, in one style."""
    found: str | None = node.__dict__.get(_TEXT)
    if found is None:
        found = node.__dict__[_TEXT] = ast.unparse(node)
    return found
