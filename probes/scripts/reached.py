"""What a script can come to use of the modules that it imports: the rest of a library is not its program.

By name alone: a function or class at the top of a module belongs to the program where the entry file, or
something else that belongs to it, names it (as a name, an attribute or a string that a registry may look up).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from ..readers._tree import of, unparse, walk
from .conditions import asks_main

_CODE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_REGISTERED = re.compile(r"(?i)regist")
# Calls whose absence would be a finding: where code that is left out holds one, it cannot be told.
_MISSED = frozenset(
    (
        *(
            "zero_grad",
            "clear_grad",
            "clear_gradients",
            "step",
            "update",
            "unscale_",
            "set_epoch",
            "set_train",
        ),
        *("train", "eval", "GradScaler", "DistributedDataParallel", "DDP", "FSDP", "all_reduce", "shuffle"),
    )
)


def reached(
    entry: ast.Module, modules: Sequence[ast.Module]
) -> tuple[list[list[ast.stmt]], list[ast.stmt], bool]:
    """The statements of each module that belong to the entry's program, those left out, and if they matter.

    What a module does when it is imported stays, but not what it does only when it is run itself.
    """
    bodies = [[s for s in module.body if not _is_main(s) and not _lists_names(s)] for module in modules]
    defined: dict[str, list[ast.stmt]] = {}
    waiting: list[ast.AST] = [entry]
    for statement in (s for body in bodies for s in body):
        names = _names(statement)
        for name in names:
            defined.setdefault(name, []).append(statement)
        if not names or _is_registered(statement):
            waiting.append(statement)
    kept: set[ast.AST] = set()
    seen: set[str] = set()
    while waiting:
        node = waiting.pop()
        if node in kept:
            continue
        kept.add(node)
        for word in _words(node, node is entry or isinstance(node, _CODE)):
            if word not in seen:
                seen.add(word)
                waiting += defined.get(word, ())
    left_out = [s for body in bodies for s in body if s not in kept]
    return [[s for s in body if s in kept] for body in bodies], left_out, any(map(_matters, left_out))


def _names(statement: ast.stmt) -> list[str]:
    """The names that a statement at the top of a module defines, if it does nothing else."""
    if isinstance(statement, _CODE):
        return [statement.name]
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return [t.id for t in targets if isinstance(t, ast.Name)]
    return []


def _is_main(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and asks_main(statement.test)


def _lists_names(statement: ast.stmt) -> bool:
    """`__all__ = [...]` says what a module offers, not what is used."""
    return "__all__" in _names(statement)


def _is_registered(statement: ast.stmt) -> bool:
    """A decorator hands it to a registry, from which anybody may take it."""
    decorators: Iterable[ast.expr] = getattr(statement, "decorator_list", ())
    return any(_REGISTERED.search(unparse(d)) for d in decorators)


def _words(node: ast.AST, strings: bool) -> Iterator[str]:
    """What may name something elsewhere; imports use nothing by themselves, nor do tables of names."""
    for inner in walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, ast.Attribute):
            yield inner.attr
        elif strings and isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner.value
        elif isinstance(inner, ast.alias) and inner.asname:
            yield inner.name.rsplit(".", 1)[-1]  # used under another name


def _matters(statement: ast.stmt) -> bool:
    return any(
        (getattr(n.func, "attr", "") or getattr(n.func, "id", "")) in _MISSED for n in of(statement, ast.Call)
    )
