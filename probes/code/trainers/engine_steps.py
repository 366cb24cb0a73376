"""Where scripts step DeepSpeed's engine: never, after the loop over the batches, or at boundaries alone.

The engine counts micro-batches in `step`: it is to be called after each `backward`, and updates the weights
when the count of accumulated batches is full.
"""

from __future__ import annotations

import ast

from ...readers._tree import of, unparse
from ...readers.script import all_arguments, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from .deepspeed import engine_steps, engines, through_engine


def engine_never_steps(source: Script) -> Finding | None:
    """`engine.backward(loss)` in a loop, and nothing called `step` for any engine.

    Left aside: programs whose modules are not all known, and an engine that is handed to something unknown.
    """
    mine = engines(source)
    if mine is None or source.loose:
        return None
    steps = engine_steps(source, mine)
    if steps:
        return ok(source, steps[0], "the engine steps")
    others = [c for c in source.named("step") if "sched" not in source.owner(c).lower()]
    handed = [
        c
        for c in source.calls
        if last_name(c.func) not in flow(source).functions
        and any(isinstance(a, ast.Name) and a.id in mine.engines for a in all_arguments(c))
    ]
    if handed:
        return None  # what it is handed to may step it
    taken = [c for c in through_engine(source, mine) if source.loops_around(c)]
    return (
        at(source, taken[0], "the engine takes gradients and never steps") if taken and not others else None
    )


def engine_steps_after_loop(source: Script) -> Finding | None:
    """`engine.step()` behind the loop over the batches that `engine.backward(loss)` stands in."""
    mine = engines(source)
    steps = engine_steps(source, mine) if mine is not None else []
    if mine is None or not steps:
        return None
    for backward in through_engine(source, mine):
        inner = source.loops_around(backward)
        if not inner or any(inner[0] in source.loops_around(s) for s in steps):
            continue
        for step in steps:
            same = source.function_around(step) is source.function_around(backward)
            if same and source.loops_around(step) == inner[1:] and step.lineno > backward.lineno:
                return at(source, step, "the engine steps once behind the loop over the micro-batches")
    return None


def engine_steps_at_boundaries(source: Script) -> Finding | None:
    """`if engine.is_gradient_accumulation_boundary(): engine.step()`: `step` counts, so none ever comes.

    Also where the loop goes on above it: `if not boundary: continue`.
    """
    mine = engines(source)
    if mine is None or "set_gradient_accumulation_boundary" in source.text:
        return None
    for step in engine_steps(source, mine):
        inner: ast.AST = step
        for parent in source.above(step):
            if isinstance(parent, (ast.For, ast.While, ast.FunctionDef, ast.AsyncFunctionDef)):
                before = [s for s in parent.body if s.end_lineno is not None and s.end_lineno < step.lineno]
                skips = [
                    s
                    for s in before
                    if isinstance(s, ast.If) and isinstance(s.body[-1], ast.Continue) and not s.orelse
                ]
                if any(_asks(source, s.test, negated=True) for s in skips):
                    return at(
                        source, step, "the engine counts micro-batches in step, which comes at the last only"
                    )
                break
            if (
                isinstance(parent, ast.If)
                and inner in parent.body
                and _asks(source, parent.test, negated=False)
            ):
                return at(
                    source, step, "the engine counts micro-batches in step, which comes at the last only"
                )
            inner = parent
    return None


def _asks(source: Script, test: ast.expr, negated: bool) -> bool:
    """The test is whether the engine is at a boundary, asked right there or of a name that was given it."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return negated and _asks(source, test.operand, negated=False)
    if negated:
        return False
    around = source.function_around(test) or source.tree
    texts = [unparse(test)]
    if isinstance(test, ast.Name):
        texts += [
            unparse(n.value)
            for n in of(around, ast.Assign)
            if len(n.targets) == 1 and unparse(n.targets[0]) == test.id
        ]
    return any(t.endswith("is_gradient_accumulation_boundary()") for t in texts)
