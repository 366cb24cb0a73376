"""Going through a syntax tree, and writing out its parts, over and over again.

What was found is kept with the nodes: a tree must not be changed after the first question.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeVar, overload

A = TypeVar("A", bound=ast.AST)
B = TypeVar("B", bound=ast.AST)
C = TypeVar("C", bound=ast.AST)

_BELOW = "_below"
_ALL = "_all"
_OF = "_of"
_PLACES = "_places"
_TEXT = "_text"
_MARKS = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
_LEAVES = frozenset({ast.Name, ast.Constant, *(t for m in _MARKS for t in m.__subclasses__())})
_SET_APART = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_ASKED_OFTEN = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.While, ast.With)


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """The node and all nodes below it, in the order of `ast.walk`, without `ast.Load` and such."""
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
        waiting += below(one)


@overload
def of(node: ast.AST, first: type[A], /) -> tuple[A, ...]: ...


@overload
def of(node: ast.AST, first: type[A], second: type[B], /) -> tuple[A | B, ...]: ...


@overload
def of(node: ast.AST, first: type[A], second: type[B], third: type[C], /) -> tuple[A | B | C, ...]: ...


@overload
def of(node: ast.AST, *types: type[ast.AST]) -> tuple[ast.AST, ...]: ...


def of(node: ast.AST, *types: type[ast.AST]) -> tuple[ast.AST, ...]:
    """What `walk` gives of these types, in its order."""
    if not isinstance(node, _ASKED_OFTEN):
        return tuple(n for n in _walk(node) if isinstance(n, types))
    kept: dict[tuple[type[ast.AST], ...], tuple[ast.AST, ...]] = node.__dict__.setdefault(_OF, {})
    found = kept.get(types)
    if found is None:
        found = kept[types] = tuple(_of(node, types))
    return found


def _of(node: ast.AST, types: tuple[type[ast.AST], ...]) -> Iterable[ast.AST]:
    if not all(t._fields for t in types):  # `ast.stmt` and such stand for many types
        return (n for n in walk(node) if isinstance(n, types))
    places: dict[type[ast.AST], list[int]] | None = node.__dict__.get(_PLACES)
    if places is None:
        places = node.__dict__[_PLACES] = {}
        for n, one in enumerate(walk(node)):
            places.setdefault(type(one), []).append(n)
    every = node.__dict__[_ALL]
    return (every[n] for n in sorted(n for t in types for n in places.get(t, ())))


def forget(node: ast.AST) -> None:
    """Drop what was kept with this one node, as something was put directly below it."""
    for name in (_BELOW, _ALL, _OF, _PLACES, _TEXT):
        node.__dict__.pop(name, None)


def names_in(node: ast.AST) -> set[str]:
    """The plain names that stand in a node."""
    return {n.id for n in of(node, ast.Name)}


def names_bound(node: ast.AST) -> set[str]:
    """The plain names that a node gives a value."""
    return {n.id for n in of(node, ast.Name) if isinstance(n.ctx, ast.Store)}


def names_read(node: ast.AST) -> set[str]:
    """The plain names whose value a node reads."""
    return {n.id for n in of(node, ast.Name) if isinstance(n.ctx, ast.Load)}


def below(node: ast.AST) -> tuple[ast.AST, ...]:
    """What `ast.iter_child_nodes` gives, without `ast.Load` and such, kept with the node."""
    if type(node) in _LEAVES:
        return ()
    kept = node.__dict__
    found: tuple[ast.AST, ...] | None = kept.get(_BELOW)
    if found is None:
        nodes: list[ast.AST] = []
        for name in node._fields:
            value = kept.get(name)
            if isinstance(value, list):
                nodes += [v for v in value if isinstance(v, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, ast.expr_context):
                nodes.append(value)
        found = kept[_BELOW] = tuple(nodes)
    return found


def unparse(node: ast.AST) -> str:
    """The node as `ast.unparse` writes it: without comments, in one style."""
    found: str | None = node.__dict__.get(_TEXT)
    if found is None:
        known = _joined(node) if isinstance(node, ast.Module) else _dotted(node)
        found = node.__dict__[_TEXT] = known or ast.unparse(node)
    return found


def _joined(module: ast.Module) -> str:
    """The text of a module, put together of those of its statements, which are asked for as well."""
    lines: list[str] = []
    for statement in module.body:
        docstring = not lines and isinstance(statement, ast.Expr)
        text = ast.unparse(ast.Module([statement], [])) if docstring else unparse(statement)
        if lines and isinstance(statement, _SET_APART):
            lines.append("")
        lines.append(text)
    return "\n".join(lines)


def _dotted(node: ast.AST) -> str:
    """The text of `a.b.c`, which is asked for most, or ""."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join((node.id, *reversed(names))) if isinstance(node, ast.Name) else ""
