"""The text of a script with its syntax tree, and edits of it: what operators work with."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, overload

from traindoctor.probes.readers._tree import below, walk

A = TypeVar("A", bound=ast.AST)
B = TypeVar("B", bound=ast.AST)


@dataclass(frozen=True, slots=True)
class Edit:
    """Bytes from `start` to before `end` of a script's UTF-8 text that become `new`."""

    start: int
    end: int
    new: str


Site = tuple[Edit, ...]  # edits that make one fault together


@dataclass(eq=False)
class Code:
    """A published script. Raises SyntaxError, ValueError where it is no Python."""

    text: str
    data: bytes = field(init=False)
    tree: ast.Module = field(init=False)
    _of: dict[tuple[type[ast.AST], ...], tuple[ast.AST, ...]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.data = self.text.encode("utf-8")
        self.tree = ast.parse(self.text)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """All nodes in the order of the text."""
        found = [n for n in walk(self.tree) if hasattr(n, "lineno")]
        return tuple(sorted(found, key=lambda n: (n.lineno, n.col_offset)))

    @overload
    def of(self, first: type[A], /) -> tuple[A, ...]: ...

    @overload
    def of(self, first: type[A], second: type[B], /) -> tuple[A | B, ...]: ...

    @overload
    def of(self, *types: type[ast.AST]) -> tuple[ast.AST, ...]: ...

    def of(self, *types: Any) -> tuple[ast.AST, ...]:
        """All nodes of these types in the order of the text."""
        if types not in self._of:
            self._of[types] = tuple(n for n in self.nodes if isinstance(n, types))
        return self._of[types]

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node that holds each node."""
        return {child: node for node in walk(self.tree) for child in below(node)}

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        for line in self.data.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        return starts

    def calls(self, *names: str) -> Iterator[ast.Call]:
        """Calls of functions or methods whose last name is one of these."""
        calls = self.of(ast.Call)
        yield from (calls[n] for n in sorted(n for name in set(names) for n in self._called.get(name, ())))

    @cached_property
    def _called(self) -> dict[str, list[int]]:
        """Where among all calls those of each last name stand."""
        found: dict[str, list[int]] = {}
        for n, call in enumerate(self.of(ast.Call)):
            found.setdefault(called(call), []).append(n)
        return found

    @cached_property
    def packages(self) -> frozenset[str]:
        """The packages that are imported, by the first part of their names."""
        plain = {a.name for n in self.of(ast.Import) for a in n.names}
        return frozenset(p.split(".")[0] for p in plain | {n.module or "" for n in self.of(ast.ImportFrom)})

    def source(self, node: ast.AST) -> str:
        """The text of a node."""
        start, end = self.span(node)
        return self.data[start:end].decode("utf-8")

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where a node's text starts and ends, in bytes."""
        return (
            self._starts[node.lineno - 1] + node.col_offset,  # type: ignore[attr-defined]
            self._starts[node.end_lineno - 1] + node.end_col_offset,  # type: ignore[attr-defined]
        )

    def replace(self, node: ast.AST, new: str) -> Edit:
        """Write something else in a node's place."""
        return Edit(*self.span(node), new)

    def statement(self, node: ast.AST) -> ast.stmt | None:
        """The statement that a node stands in, or is."""
        at: ast.AST | None = node
        while at is not None and not isinstance(at, ast.stmt):
            at = self.parents.get(at)
        return at

    def without(self, statement: ast.stmt) -> Edit:
        """Leave a statement out."""
        return self.replace(statement, "pass")

    def after(self, statement: ast.stmt, new: str) -> Edit:
        """Write a statement behind a simple one, on lines of its own where it stands on its own."""
        end = self.span(statement)[1]
        return Edit(end, end, "\n" + _indented(new, self.indent(statement)))

    def before(self, statement: ast.stmt, new: str) -> Edit:
        """Write a statement before one that begins its line."""
        start = self.span(statement)[0]
        return Edit(
            start, start, _indented(new, self.indent(statement)).lstrip() + "\n" + self.indent(statement)
        )

    def indent(self, statement: ast.stmt) -> str:
        """What stands before a statement in its line."""
        start = self.span(statement)[0]
        return self.data[self._starts[statement.lineno - 1] : start].decode("utf-8")

    def alone(self, statement: ast.stmt) -> bool:
        """Whether a statement begins its line and nothing but a comment follows it there."""
        rest = self.data[self.span(statement)[1] :].split(b"\n", 1)[0].strip()
        return not self.indent(statement).strip() and (not rest or rest.startswith(b"#"))

    def edited(self, site: Site) -> str:
        """The text after the edits. Raises ValueError, SyntaxError where that is no Python."""
        data = self.data
        for edit in sorted(site, key=lambda e: -e.start):
            data = data[: edit.start] + edit.new.encode("utf-8") + data[edit.end :]
        text = data.decode("utf-8")
        ast.parse(text)
        return text

    def line(self, edit: Edit) -> int:
        """The line where an edit begins."""
        return self.data.count(b"\n", 0, edit.start) + 1


@dataclass(frozen=True, slots=True)
class Operator:
    """A way to break a script: its name, the cause that is right to say, and the places where it fits.

    `also`: causes that are right to say, too. `pair_only`: only a comparison with the script as it was can
    tell. Each place holds edits that make the fault together; one place is taken.
    """

    name: str
    cause: str
    sites: Callable[[Code], Iterator[Site]]
    also: frozenset[str] = frozenset()
    pair_only: bool = False


def called(call: ast.Call) -> str:
    """The last name of what is called: `step` of `optimizer.step()`."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def owner(call: ast.Call) -> str:
    """What a method is called on, as text: `self.optimizer` of `self.optimizer.step()`."""
    return ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""


def keyword(call: ast.Call, *names: str) -> ast.expr | None:
    """The value of a keyword argument."""
    return next((k.value for k in call.keywords if k.arg in names), None)


def _indented(text: str, indent: str) -> str:
    return "\n".join(indent + line if line else line for line in text.split("\n"))
