"""What a model learns from and what it is asked of, put side by side by use, whatever the names are."""

from __future__ import annotations

from contextlib import suppress

from .apart import Apart, apart, samples_apart
from .chains import inside
from .evaluate import Evaluator
from .items import sample
from .machine import Left, OutOfSteps
from .values import Term

EACH_PAIR = 4_000
_DEPTH = 40
_JOINS = ("call:cat", "call:concat", "call:concatenate", "call:vstack")
_READS = ("read", "load", "open", "imread", "loadtxt")


def apart_in_use(run: Evaluator, scored: Term, learnt: list[Term], whole: bool) -> Apart | None:
    """The difference between an input that is scored and each of those that are learnt from.

    `whole`: they are data sets, as a trainer takes them; else batches.
    """
    found: Apart | None = None
    if not _of_data(scored):
        return None
    for train in learnt:
        if not _of_data(train):
            continue
        run.steps, one = EACH_PAIR, None
        with suppress(OutOfSteps, Left, RecursionError):
            if whole:
                one = samples_apart(run, train, scored)
            else:
                one = apart(run, opened(run, train), opened(run, scored))
        if one is None:
            return None
        found = found or one
    return found


def _of_data(held: Term) -> bool:
    """Rows or batches that are gone over or read, and no random numbers."""
    if held.drawn:
        return False
    parts = inside(held, 200)
    return any(
        t.head in ("each", "obj") or (t.head.startswith("call:") and t.name.startswith(_READS)) for t in parts
    )


def opened(run: Evaluator, held: Term, depth: int = _DEPTH) -> Term:
    """A value of a batch as what one sample of its data set is. Raises OutOfSteps."""
    run.tick()
    if depth == 0 or not held.args:
        return held
    first = held.args[0]
    if held.head == "each":
        return sample(run, first)
    if held.head in _JOINS and first.head == "tuple" and first.args:
        return opened(run, first.args[0], depth - 1)  # batches one after the other: one of them
    inner = opened(run, first, depth - 1)
    if inner.key == first.key:
        return held
    if held.head == "item":
        return run.item(inner, held.args[1], held.node)
    return run.make(held.head, held.node, (inner, *held.args[1:]), held.kw, held.value)
