"""Accumulation in scripts: what runs once for several micro-batches, however its condition is written.

`if (i + 1) % n == 0:`, `if (i + 1) % n: ... else: ...`, `last = (i + 1) % n == 0` and `if last:`,
`if accelerator.sync_gradients:`.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from ...readers._tree import of, unparse
from ...scripts.flow import flow
from ...scripts.syntax import Script
from .sides import literal

COUNT = re.compile(r"(?i)accum|micro_?(?:batches|steps)|update_freq|iters_to_acc|(?:^|\W|_)gas\b")


@dataclass(frozen=True)
class Gate:
    """A condition on a count of micro-batches: the branch, the count, and whether the line runs at the last.

    `count` is None for `accelerator.sync_gradients`, whose count Accelerate knows.
    """

    branch: ast.If
    count: ast.expr | None
    last: bool


@dataclass(frozen=True)
class Turn:
    """What a test asks of a count: `count` None for Accelerate's own; `negated`: false at the last one."""

    count: ast.expr | None
    negated: bool


def gate(source: Script, node: ast.AST) -> Gate | None:
    """The nearest condition around a line, within its loop, that is true once in several micro-batches.

    Also one that leaves the round before the line: `if (i + 1) % n: continue`.
    """
    inner: ast.AST = node
    for parent in source.above(node):
        left = _left_before(source, parent, inner)
        if left is not None or isinstance(
            parent, (ast.For, ast.While, ast.FunctionDef, ast.AsyncFunctionDef)
        ):
            return left
        if isinstance(parent, ast.If) and inner is not parent.test:
            turn = turn_of_test(source, parent.test)
            if turn is not None:
                return Gate(parent, turn.count, (inner in parent.body) != turn.negated)
        inner = parent
    return None


def _left_before(source: Script, parent: ast.AST, inner: ast.AST) -> Gate | None:
    """`if (i + 1) % n: continue` above a line of the same block; `return` in a function."""
    blocks = [getattr(parent, name, None) for name in ("body", "orelse", "finalbody")]
    block = next((b for b in blocks if isinstance(b, list) and inner in b), [])
    for one in block[: block.index(inner)] if block else ():
        if isinstance(one, ast.If) and isinstance(one.body[-1], (ast.Continue, ast.Return)):
            turn = turn_of_test(source, one.test)
            if turn is not None:
                return Gate(one, turn.count, turn.negated)
    return None


def takes_turns(source: Script, step: ast.AST) -> bool:
    """A condition has a step in both arms, each of an optimizer of its own: networks that learn in turns."""
    for branch in (p for p in source.above(step) if isinstance(p, ast.If) and "%" in unparse(p.test)):
        owners = [
            {
                unparse(s.args[0]) if s.args else source.owner(s)  # `scaler.step(optimizer)`
                for s in source.steps
                if any(s in of(n, ast.Call) for n in arm)
            }
            for arm in (branch.body, branch.orelse)
        ]
        if owners[0] and owners[1] and owners[0].isdisjoint(owners[1]):
            return True
    return False


def turn_of_test(source: Script, test: ast.expr, depth: int = 3) -> Turn | None:
    """What a test asks of a count of accumulated micro-batches; None where it asks something else."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = turn_of_test(source, test.operand, depth)
        return Turn(inner.count, not inner.negated) if inner is not None else None
    if isinstance(test, ast.BoolOp):
        found = [t for v in test.values if (t := turn_of_test(source, v, depth)) is not None]
        return found[0] if len({t.negated for t in found}) == 1 else None
    if isinstance(test, ast.Attribute) and test.attr == "sync_gradients":
        return Turn(None, negated=False)
    if isinstance(test, ast.BinOp) and isinstance(test.op, ast.Mod):
        return Turn(test.right, negated=True) if counts(source, test.right) else None
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        left, other = test.left, test.comparators[0]
        if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod) and counts(source, left.right):
            zero = isinstance(other, ast.Constant) and other.value == 0
            before = isinstance(other, ast.BinOp) and isinstance(other.op, ast.Sub)
            if isinstance(test.ops[0], ast.Eq) and (zero or before):
                return Turn(left.right, negated=False)
            if isinstance(test.ops[0], (ast.NotEq, ast.Gt)) and (zero or before):
                return Turn(left.right, negated=True)
        return None
    if isinstance(test, (ast.Name, ast.Attribute)) and depth:
        given = flow(source).all_given(test)
        turns = [turn_of_test(source, g.value, depth - 1) for g in given if not g.places]
        return turns[0] if len(turns) == 1 and len(given) == 1 else None
    return None


def counts(source: Script, count: ast.expr) -> bool:
    """A number of accumulated micro-batches, by its name or by what that was given; not known to be one."""
    texts = [unparse(count)]
    if isinstance(count, (ast.Name, ast.Attribute)):
        texts += [unparse(v) for v in flow(source).values(count, 2)]
        texts += [unparse(g.value) for g in flow(source).all_given(count)]
    return any(COUNT.search(t) for t in texts) and literal(source, count) != 1


def accumulates_by_engine(source: Script, node: ast.AST) -> bool:
    """The line stands in `with accelerator.accumulate(model):`"""
    for parent in source.above(node):
        if isinstance(parent, (ast.With, ast.AsyncWith)):
            calls = [c for i in parent.items for c in of(i.context_expr, ast.Call)]
            if any(isinstance(c.func, ast.Attribute) and c.func.attr == "accumulate" for c in calls):
                return True
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
    return False
