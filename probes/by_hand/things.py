"""What stands in a program besides numbers while its functions are worked out."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

Names = dict[str, Any]


@dataclass(eq=False)
class Own:
    """A function of the program, with the names around it."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    around: list[Names]
    owner: Any = None


@dataclass(eq=False)
class Kind:
    """A class of the program."""

    node: ast.ClassDef

    def method(self, name: str) -> ast.FunctionDef | None:
        """Its method of a name."""
        return next((n for n in self.node.body if isinstance(n, ast.FunctionDef) and n.name == name), None)


@dataclass(eq=False)
class Object:
    """An object of a class of the program."""

    kind: Kind
    held: Names = field(default_factory=dict)


@dataclass(frozen=True)
class Dotted:
    """A name of a library: `np.where`, `F.softmax`."""

    path: str

    @property
    def last(self) -> str:
        """What stands last in it."""
        return self.path.rpartition(".")[2]


@dataclass(eq=False)
class Method:
    """A method that is asked for, of anything but an object of the program."""

    owner: Any
    name: str


class Back(Exception):
    """A function returns."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Break(Exception):
    """A loop is left."""


class Continue(Exception):
    """A round of a loop is left."""
