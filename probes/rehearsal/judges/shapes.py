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
    known = [(n, a) for n, _, a, guessed in machine.crossed if n is not None and a and not guessed]
    both = any(a & learnt for _, a in known)
    for node in dict.fromkeys(n for n, _ in known):
        mine = frozenset().union(*(a for n, a in known if n is node))
        if both and not mine & learnt:
            continue  # the same answers are learnt from in this shape: that is told
        kind = "column-row" if mine & learnt else "column-row-scored"
        yield Verdict(kind, node, "a column of shape (batch, 1) is held against a row of shape (batch,)")
