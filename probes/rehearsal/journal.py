"""What happened while a program was rehearsed, in the order of time."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .values import NOTHING, Net, Optimizer, Schedule, State, Way, Weight


@dataclass(eq=False)
class Event:
    """Something that happened: where, when, in which rounds of loops, on which branch that was guessed."""

    node: ast.AST
    time: int
    loops: tuple[tuple[ast.AST, int], ...]  # outermost first: the loop and its round
    guessed: tuple[ast.AST, ...]  # conditions that are not known, around it
    calls: tuple[ast.AST, ...]  # functions that it happened in, outermost first


@dataclass(eq=False)
class Asked(Event):
    """A network was asked: what it was given, in which mode and whether gradients were kept."""

    number: int
    net: Net
    mode: bool
    graph: bool
    given: list[Any]
    version: int
    rows: np.ndarray | None
    table: int
    modal: list[tuple[str, bool]] = field(default_factory=list)
    opaque: bool = False  # its forward was not understood
    reaches: frozenset[int] = NOTHING  # the weights that a gradient through the answer would reach
    inputs: tuple[int, ...] = ()  # how what it was given was made (see `marks`)
    made: Any = None  # how the answer was made of that
    done: tuple[tuple[str, ...], ...] = ()  # what was done to each tensor of the answer, last thing last


@dataclass(eq=False)
class Backward(Event):
    """A gradient was taken of a loss. `reached`: the weights that it reaches."""

    number: int
    loss: Any
    reached: frozenset[int]


@dataclass(eq=False)
class Cleared(Event):
    """Gradients were cleared."""

    weights: list[Weight] | None
    lost: frozenset[int]  # numbers of `Backward` whose gradients no step had used


@dataclass(eq=False)
class Stepped(Event):
    """An optimizer moved weights. `gradients`: for each weight, the `Backward`s that it was moved by."""

    optimizer: Optimizer
    gradients: dict[int, tuple[int, ...]]
    stale: frozenset[int]  # `Backward`s that an earlier step had used already
    scaled: bool = False

    @property
    def used(self) -> frozenset[int]:
        """Numbers of the `Backward`s that any weight was moved by."""
        return frozenset(n for g in self.gradients.values() for n in g)


@dataclass(eq=False)
class Scheduled(Event):
    """A schedule went on by one."""

    schedule: Schedule
    after: int  # steps of its optimizer until then
    given: Any = None  # what it is told: the figure that a plateau is looked for in


@dataclass(eq=False)
class Switched(Event):
    """A network was put into training or evaluation mode."""

    net: Net
    mode: bool


@dataclass(eq=False)
class Taken(Event):
    """The weights of a network were asked for, to be kept."""

    net: Net
    version: int


@dataclass(eq=False)
class Saved(Event):
    """Something was kept in a file."""

    path: Any
    value: Any


@dataclass(eq=False)
class Loaded(Event):
    """A network took over weights."""

    net: Any
    state: State | None
    version: int  # of the network before


@dataclass(eq=False)
class Written(Event):
    """A weight was given values by hand: an average is kept, a start is drawn."""

    weight: Weight
    values: list[Any]
    how: str
    way: Way | None = None  # the arithmetic, of what the weight was before


@dataclass(eq=False)
class Told(Event):
    """A figure was printed, logged or returned to a trainer."""

    label: str
    value: Any


@dataclass(eq=False)
class Round(Event):
    """A loader began a round."""

    loader: Any
    number: int


@dataclass
class Journal:
    """All that happened."""

    events: list[Event] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # what was not understood, for a reader of the code
    ended: str = "whole"  # "whole", "too long", "raised: ...", "failed: ..."

    def of(self, *kinds: type[Event]) -> list[Any]:
        """The events of these kinds."""
        return [e for e in self.events if isinstance(e, kinds)]
