"""Shapes: columns of answers that are held against rows of targets."""

from __future__ import annotations

from collections.abc import Iterator

from ..machine import Machine
from .verdict import Verdict, taught


def columns_meet_rows(machine: Machine) -> Iterator[Verdict]:
    """Answers of shape (batch, 1) meet targets of shape (batch,): each is held against each.

    "column-row" where a gradient is taken of it, "column-row-scored" where none is.
    """
    learnt = taught(machine)
    for node, _, asked, guessed in machine.crossed:
        if node is None or not asked or guessed:
            continue
        kind = "column-row" if asked & learnt else "column-row-scored"
        yield Verdict(kind, node, "a column of shape (batch, 1) is held against a row of shape (batch,)")
