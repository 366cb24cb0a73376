"""Whether scripts step a schedule in the loop that its length is given in."""

from __future__ import annotations

import ast

from ...readers._tree import unparse
from ...readers.script import keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.syntax import Script
from ..shared.checks import at, extractor, first, ok, outer_loop
from ..shared.units import now_and_then


@probe()
def scheduler_wrong_loop(view: View) -> Finding:
    """A length in epochs and a step per batch, or a length in batches and a step per epoch."""
    return first(view, _wrong_loop, "the scripts build no scheduler with a length")


def _wrong_loop(source: Script) -> Finding | None:
    built = [
        (c, k)
        for c in source.calls
        for name in ("T_max", "total_steps", "num_training_steps", "step_size")
        if (k := keyword(c, name)) is not None
    ]
    steps = [c for c in source.named("step") if any(w in source.owner(c).lower() for w in ("sched", "lr_"))]
    if len(built) != 1 or len(steps) != 1 or source.train_loop is None or now_and_then(source, steps[0]):
        return None
    length = built[0][1]
    words = unparse(length).lower()
    per_batch = source.train_loop in source.loops_around(steps[0])
    nested = len(source.loops_around(source.backwards[0])) > 1
    epochs = (
        words == _epoch_count(source)
        or _shorter_than_run(source, length)
        or ("epoch" in words and not any(w in words for w in ("step", "len(", "iter", "batch", "*")))
    )
    batches = "len(" in words or "total_steps" in words
    if epochs and per_batch and nested:
        return at(
            source,
            steps[0],
            f"the scheduler's length is in epochs ({unparse(length)}) and it steps per batch",
        )
    if batches and not per_batch and nested:
        return at(
            source,
            steps[0],
            f"the scheduler's length is in batches ({unparse(length)}) and it steps per epoch",
        )
    return (
        ok(source, steps[0], "the scheduler steps in the unit of its length") if epochs or batches else None
    )


def _shorter_than_run(source: Script, length: ast.expr) -> bool:
    """A length that is a small number, not above the number of epochs, is meant in epochs."""
    values = extractor(source)
    loop = outer_loop(source)
    bounds = loop.iter.args if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) else []
    known, count, _ = values.value(bounds[-1]) if bounds else (False, None, False)
    found, number, _ = values.value(length)
    return bool(
        known
        and found
        and isinstance(count, (int, float))
        and isinstance(number, (int, float))
        and 0 < number <= count
    )


def _epoch_count(source: Script) -> str | None:
    """The bound of the epoch loop as written: `for epoch in range(10)` -> "10"."""
    loop = outer_loop(source)
    if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) == "range":
        return unparse(loop.iter.args[-1]).lower() if loop.iter.args else None
    return None
