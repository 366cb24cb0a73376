"""What stands in a network besides its layers: classes of the program, rows of layers, what is missing."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..by_hand.things import Dotted, Kind, Object

_MODULE = ("Module", "LightningModule", "Cell", "PreTrainedModel", "ModelMixin", "MessagePassing", "Layer")


class Chain(list[Any]):
    """`Sequential`: what is asked one after the other. `names` of what is named."""

    names: dict[str, int]


class Listed(list[Any]):
    """`ModuleList`, `ParameterList`."""


class Mapped(dict[str, Any]):
    """`ModuleDict`, settings whose entries are asked for as attributes."""


@dataclass(eq=False)
class Class(Kind):
    """A class of the program, and the classes of the program and names of libraries that it derives from."""

    bases: list[Any] = field(default_factory=list)
    scope: Any = None  # the names around it, as a rehearsal left them

    def line(self) -> Iterator[Class]:
        """The class and those of the program that it derives from, nearest first."""
        yield self
        for base in self.bases:
            if isinstance(base, Class):
                yield from base.line()

    def find(self, name: str, after: Class | None = None) -> tuple[Class, ast.FunctionDef] | None:
        """A method and who has it; of the classes behind one of them where that is given."""
        behind = after is None
        for kind in self.line():
            if behind and (found := kind.method(name)) is not None:
                return kind, found
            behind = behind or kind is after
        return None

    @property
    def is_network(self) -> bool:
        """Whether its objects are networks."""
        return any(isinstance(b, Dotted) and b.last in _MODULE for kind in self.line() for b in kind.bases)


@dataclass(frozen=True)
class Super:
    """`super()`: an object, and the class behind which its methods are looked for."""

    owner: Object
    of: Class


class Missing:
    """What an attribute holds that was not understood: whoever uses it does not know more."""
