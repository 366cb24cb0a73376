"""Losses of TensorFlow's graphs in scripts: activations that meet them, sums that nothing divides."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...readers._tree import unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import MAX_VISITED, Flow, flow
from ...scripts.graph_facts import GraphLoss, descents, graph_losses
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.factors import without_floor
from ..shared.sides import literal

_SOFT = ("softmax", "sigmoid", "log_softmax", "log_sigmoid")
_LAYERS = ("dense", "conv2d", "conv1d", "fully_connected", "Dense", "Conv2D", "Conv1D")
_SAME = ("reshape", "squeeze", "expand_dims", "identity", "cast", "transpose", "clip_by_value")


def ends_of(source: Script, node: ast.expr) -> list[ast.expr]:
    """The operations that scores come out of, other shapes of the same numbers looked through."""
    mine = flow(source)
    found: list[ast.expr] = []
    waiting = [node]
    for _ in range(40):
        if not waiting:
            break
        for end in mine.values(waiting.pop(), 8):
            inner = _inside(end)
            if inner is not None:
                waiting.append(inner)
            else:
                found.append(end)
    return found


def _inside(node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Subscript):
        return node.value
    if isinstance(node, ast.Call) and last_name(node.func) in _SAME and node.args:
        return node.args[0]
    return None


def activation_of(node: ast.expr) -> str | None:
    """What an operation applies last: "softmax", "sigmoid", "" of a linear layer; None: not known."""
    if not isinstance(node, ast.Call):
        return None
    name = last_name(node.func)
    if name in _SOFT:
        return name
    made = node.func if isinstance(node.func, ast.Call) else node
    if last_name(made.func) not in _LAYERS:
        return None
    given = keyword(made, "activation") or keyword(made, "activation_fn")
    if given is None:
        return None if last_name(made.func) == "fully_connected" else ""
    if isinstance(given, ast.Constant):
        return "" if given.value is None else str(given.value)
    return last_name(given)


def activated_twice(source: Script) -> Finding | None:
    """What a loss on logits gets has been through a softmax or a sigmoid already."""
    seen: ast.AST | None = None
    for one in graph_losses(source):
        if not one.takes.logits:
            continue
        seen = seen or one.call
        for end in ends_of(source, one.scores):
            if activation_of(end) in _SOFT:
                return at(
                    source, end, f"{one.kind} applies its own activation, and its logits have one already"
                )
    return ok(source, seen, "the loss gets raw outputs") if seen is not None else None


def activation_left_out(source: Script) -> Finding | None:
    """A loss on probabilities, or a logarithm in the objective, gets the raw outputs of a linear layer."""
    for one in graph_losses(source):
        if one.takes.of == "binary" and not one.takes.logits:
            ends = ends_of(source, one.scores)
            if ends and all(activation_of(e) == "" for e in ends):
                return at(
                    source, one.call, f"{one.kind} takes probabilities, and gets the raw outputs of a layer"
                )
    for node in _of_objectives(source):
        if (
            isinstance(node, ast.Call)
            and last_name(node.func) == "log"
            and node.args
            and _library(source, node)
        ):
            for end in ends_of(source, without_floor(node.args[0])):
                if activation_of(end) == "":
                    return at(source, node, "the logarithm is taken of the raw outputs of a layer")
    return None


def _library(source: Script, call: ast.Call) -> bool:
    return source.owner(call) in ("tf", "tf.math")


def summed_over_batch(source: Script) -> Finding | None:
    """The losses of all samples are added up on the way to the objective, and nothing divides the sum."""
    losses = {g.call: g for g in graph_losses(source)}
    seen: ast.AST | None = None
    for one in descents(source):
        if isinstance(one.objective, ast.Name) and _divides_gradients(source):
            return None
        found, divided = _summing(source, one.objective, losses)
        seen = seen or one.call
        if found is not None and not divided:
            return at(source, found, "the loss is summed over the batch")
    return ok(source, seen, "the loss is a mean") if seen is not None and losses else None


def _divides_gradients(source: Script) -> bool:
    return any(last_name(c.func) in ("realdiv", "scalar_mul") for c in source.calls)


def _summing(
    source: Script, objective: ast.expr, losses: dict[ast.Call, GraphLoss]
) -> tuple[ast.Call | None, bool]:
    """The call that sums over all samples between the objective and a loss, and whether anything divides."""
    for node, above in reached(flow(source), objective):
        if not isinstance(node, ast.Call) or node not in losses:
            continue
        reduction = keyword(node, "reduction")
        if losses[node].takes.reduces:
            if reduction is None or last_name(reduction) != "SUM":
                continue
            summing: ast.Call | None = node
        else:
            sums = [c for c in above if isinstance(c, ast.Call)]
            if any(
                last_name(c.func) in ("reduce_mean", "average_loss", "compute_average_loss") for c in sums
            ):
                continue
            whole = [
                c for c in sums if last_name(c.func) == "reduce_sum" and len(c.args) == 1 and not c.keywords
            ]
            summing = whole[0] if whole else None
        if summing is None:
            continue
        divided = any(
            (isinstance(p, ast.BinOp) and isinstance(p.op, ast.Div))
            or (isinstance(p, ast.Call) and last_name(p.func) in ("divide", "div", "truediv", "div_no_nan"))
            or (isinstance(p, ast.BinOp) and isinstance(p.op, ast.Mult) and "/" in unparse(p))
            for p in above
        )
        return summing, divided
    return None, False


def reached(mine: Flow, start: ast.expr) -> Iterator[tuple[ast.expr, tuple[ast.expr, ...]]]:
    """Expressions that an objective is made of, each with those on the way to it."""
    seen: set[ast.expr] = set()
    waiting: list[tuple[ast.expr, tuple[ast.expr, ...]]] = [(start, ())]
    while waiting and len(seen) < MAX_VISITED // 4:
        node, above = waiting.pop()
        if node in seen or len(above) > 40:
            continue
        seen.add(node)
        yield node, above
        following = [v for v, _ in mine.step(node, ())]
        if not following:
            following = [c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)]
            following += [k.value for k in node.keywords] if isinstance(node, ast.Call) else []
        waiting += [(f, (*above, node)) for f in following]


def _of_objectives(source: Script) -> Iterator[ast.expr]:
    for one in descents(source):
        for node, _ in reached(flow(source), one.objective):
            yield node


def one_class_softmax(source: Script) -> Finding | None:
    """A softmax over one unit gives 1 for every sample: its cross-entropy says nothing."""
    for one in graph_losses(source):
        if one.takes.of != "classes":
            continue
        for end in ends_of(source, one.scores):
            if not isinstance(end, ast.Call) or activation_of(end) != "":
                continue
            units = argument(end, "units", position=1)
            if units is not None and literal(source, units) == 1:
                return at(source, one.call, "the softmax is taken over one unit, which is always 1")
    return None
