"""What becomes of gradients in TensorFlow's scripts: applied twice, in another order, or taken of outputs."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding, View, probe
from ...rehearsal.judges import shows
from ...scripts.flow import flow, returns
from ...scripts.syntax import Script
from ..shared.checks import at, first
from ..shared.sides import either
from ..step.several import one_holds_another, one_network_held_twice
from .tape import Taken, gradients_reach_others, taken


@probe()
def gradients_misplaced(view: View) -> Finding:
    """Gradients of a tape are applied to other variables, twice, or by the optimizer of another model.

    Also one optimizer of a Lightning module that holds what another one trains.
    """
    checks = either(
        gradients_reach_others,
        paired_in_other_order,
        applied_twice,
        one_holds_another,
        one_network_held_twice,
        shows("duel-step"),
    )
    return first(view, checks, "the scripts apply no gradients of a tape")


def applied_twice(source: Script) -> Finding | None:
    """`apply_gradients(zip(grads, v))` twice in one block, and nothing takes gradients anew in between."""
    calls = [
        c
        for c in source.named("apply_gradients")
        if c.args and isinstance(source.parents.get(c), (ast.Expr, ast.Assign))
    ]
    for one in calls:
        for other in calls:
            if one is other or one.lineno >= other.lineno or unparse(one) != unparse(other):
                continue
            block, first, second = _block(source, one), source.statement(one), source.statement(other)
            if block is None or block is not _block(source, other) or first is None or second is None:
                continue
            names = names_in(one.args[0])
            between = block[block.index(first) + 1 : block.index(second)]
            anew = {n.id for s in between for n in of(s, ast.Name) if isinstance(n.ctx, (ast.Store, ast.Del))}
            if not names & anew:
                return at(source, other, "the same gradients are applied a second time")
    return None


def _block(source: Script, call: ast.Call) -> list[ast.stmt] | None:
    statement = source.statement(call)
    holder = source.parents.get(statement) if statement is not None else None
    for block in (getattr(holder, "body", None), getattr(holder, "orelse", None)):
        if isinstance(block, list) and statement in block:
            return block
    return None


_TURNS = ("reversed", "sorted")


def paired_in_other_order(source: Script) -> Finding | None:
    """`zip(grads, reversed(model.trainable_variables))`: gradients and variables are paired by place."""
    for call in source.named("apply_gradients"):
        pair = call.args[0] if call.args else keyword(call, "grads_and_vars")
        if not isinstance(pair, ast.Call) or last_name(pair.func) != "zip" or len(pair.args) != 2:
            continue
        turned = [_turn(a) for a in pair.args]
        if (turned[0] is None) == (turned[1] is None):
            continue
        other = pair.args[0] if turned[0] is None else pair.args[1]
        ends = [other, *flow(source).values(other, 3)]
        if not any(_turn(e) is not None for e in ends) and "reversed(" not in "".join(map(unparse, ends)):
            return at(source, call, "gradients and variables are paired by place, and one of them is turned")
    return None


def _turn(node: ast.expr) -> ast.expr | None:
    """What is turned round: `reversed(v)`, `v[::-1]`."""
    if isinstance(node, ast.Call) and last_name(node.func) in _TURNS and node.args:
        return node.args[0]
    if isinstance(node, ast.Subscript) and unparse(node.slice) == "::-1":
        return node.value
    return None


def output_taken_for_loss(source: Script) -> Finding | None:
    """`tape.gradient(logits, variables)`, where a loss of these logits is worked out beside it.

    Gradients for the variables of a model, in a function that applies gradients; what a model gives for
    a batch has no place there unless it is the loss itself.
    """
    for one in taken(source):
        if not isinstance(one.objective, ast.Name):
            continue
        if not re.search(r"trainable_(?:variables|weights)|\.variables$", _said(source, one.variables)):
            continue
        name = one.objective.id
        if re.search(r"(?i)loss|cost|objective|energy|elbo|nll|error", name):
            continue
        given = [n for n in of(one.tape, ast.Assign) if any(unparse(t) == name for t in n.targets)]
        if len(given) != 1 or not isinstance(given[0].value, ast.Call):
            continue
        told = keyword(given[0].value, "training")
        if told is None or _is_loss(source, given[0].value):
            continue
        if (left := _loss_beside(source, one, name)) is not None:
            return at(
                source,
                one.call,
                f"gradients are taken of `{name}`, which the model gives, and not of `{left}`",
            )
    return None


def _said(source: Script, node: ast.expr) -> str:
    ends = flow(source).values(node, 3) if isinstance(node, ast.Name) else [node]
    return unparse(ends[0]) if len(ends) == 1 else ""


def _is_loss(source: Script, call: ast.Call) -> bool:
    return "loss" in unparse(call.func).lower() or any(
        "loss" in unparse(r).lower() for f in flow(source).called(call) for r in returns(f)
    )


def _loss_beside(source: Script, one: Taken, output: str) -> str | None:
    """A loss that is worked out of the output under the same tape, and no gradient is taken of it."""
    for node in of(one.tape, ast.Assign):
        target = unparse(node.targets[0])
        if output in names_in(node.value) and re.search(r"(?i)loss|cost|objective", target):
            others = [t for t in taken(source) if target in names_in(t.objective)]
            if not others:
                return target
    return None
