"""What the parts that run a script on terms share: the state, and what each part asks of the others."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from ..scripts.learning import differentiated, taken
from ..scripts.syntax import Script
from .values import Env, Obj, Store, Term

STEPS = 30_000
LIBRARIES = frozenset(
    ("np", "numpy", "torch", "tf", "F", "TF", "jnp", "ops", "mint", "paddle", "math", "functional", "keras")
)
RANDOMLY = "randomly"


class OutOfSteps(Exception):
    """The budget is used up."""


class Left(Exception):
    """A branch that raises, breaks or goes on: nothing is returned from it."""


class Machine(ABC):
    """What the parts of an evaluator share: the script, the budget, and what was met on the way."""

    def __init__(self, source: Script, steps: int = STEPS) -> None:
        self.source = source
        self.store = Store()
        self.make = self.store.make
        self.steps = steps
        self.objects: list[Obj] = []
        self.frames: list[Env] = []  # of all functions that were gone into
        self.calls: list[tuple[ast.Call, Term]] = []  # calls that were not gone into
        self.returned: list[tuple[ast.Tuple, Term]] = []  # tuples that functions gave back
        self.files: dict[int, Term] = {}  # what was saved, by the key of its path
        self.entered: set[ast.AST] = set()
        self.stack: list[ast.AST] = []
        self.top = Env({})
        self.imported = LIBRARIES | {
            (a.asname or a.name).split(".")[0] for n in source.of(ast.Import, ast.ImportFrom) for a in n.names
        }
        self.learning = {
            f for b in taken(source) if (f := source.function_around(b)) is not None
        } | differentiated(source)

    def tick(self) -> None:
        """Count one step; raises OutOfSteps."""
        self.steps -= 1
        if self.steps < 0:
            raise OutOfSteps

    def const(self, value: Any, node: ast.AST) -> Term:
        """A value that is written out."""
        return self.make("const", node, value=value)

    def leaf(self, text: str, node: ast.AST) -> Term:
        """A value of which nothing is known but its name."""
        return self.make("leaf", node, value=text)

    def phi(self, test: str, first: Term, second: Term, node: ast.AST) -> Term:
        """One of two values, by a condition that is not known."""
        if first.key == second.key:
            return first
        return self.make("phi", node, (first, second), value=test)

    @abstractmethod
    def of(self, node: ast.expr, env: Env) -> Term:
        """The value of an expression. Raises OutOfSteps."""

    @abstractmethod
    def run(self, body: Sequence[ast.stmt], env: Env) -> Term | None:
        """Run statements; what is returned, or None where the end is reached. Raises Left, OutOfSteps."""

    @abstractmethod
    def assign(self, target: ast.expr, value: Term, env: Env) -> None:
        """Give a value to a name, an attribute of an instance, an item, or to several."""

    @abstractmethod
    def item(self, held: Term, place: Term, node: ast.AST) -> Term:
        """`held[place]`."""

    @abstractmethod
    def each(self, over: Term, node: ast.AST) -> Term:
        """What a loop gets of what it goes over."""

    @abstractmethod
    def operation(self, op: ast.operator, both: tuple[Term, Term], node: ast.AST) -> Term:
        """`a + b`; numbers that are written out are computed."""

    @abstractmethod
    def attribute(self, held: Term, name: str, node: ast.AST) -> Term:
        """`held.name`: what an instance was given, a method of its, or a part of something unknown."""

    @abstractmethod
    def method(self, obj: Obj, name: str) -> Term | None:
        """A method of an instance, if its class has one of that name."""

    @abstractmethod
    def call(self, held: Term, args: tuple[Term, ...], kw: dict[str, Term], node: ast.AST) -> Term:
        """Call a value: functions and classes of the script are gone into. Raises OutOfSteps."""

    @abstractmethod
    def call_of(self, node: ast.Call, env: Env) -> Term:
        """The value of a call."""

    @abstractmethod
    def truth(self, test: ast.expr, env: Env) -> bool | str | None:
        """Whether a condition holds: RANDOMLY by random numbers, None where it is not known."""
