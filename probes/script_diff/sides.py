"""Two aligned programs, as finding their edits looks at them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from .align import Alignment
from .anew import Totals
from .edit import LeftOut
from .edit_terms import (
    constant_fields,
    every_name,
)
from .lines import Line
from .roles import Roles
from .terms import Term


@dataclass(eq=False)
class Sides:
    """Two aligned programs, and what finding their edits asks of both again and again."""

    aligned: Alignment

    def __post_init__(self) -> None:
        self.left_out: list[LeftOut] = []  # lines that are no edits by themselves
        self.mine, self.theirs = Roles(self.aligned.mine), Roles(self.aligned.theirs)
        self.back = {
            b: a
            for table in (self.aligned.same, self.aligned.changed, self.aligned.moved)
            for a, b in table.items()
        }
        self.my_units = set(self.aligned.units)
        self.their_units = set(self.aligned.units.values())
        self.added, self.removed = dict.fromkeys(self.aligned.added), dict.fromkeys(self.aligned.removed)
        self.totals = Totals(self.aligned, self.mine, self.theirs)
        self.my_names = every_name(self.aligned.mine)
        self.their_names = {self.aligned.attributes.get(n, n) for n in every_name(self.aligned.theirs)}

    @cached_property
    def my_fields(self) -> Mapping[str, Term]:
        """Constants of my classes of settings."""
        return constant_fields(self.aligned.mine)

    @cached_property
    def theirs_fields(self) -> Mapping[str, Term]:
        """Constants of theirs."""
        return constant_fields(self.aligned.theirs)


def body_of(head: Line) -> list[Line]:
    """The lines under a head."""
    return [x for x in head.unit.lines if head in x.around]
