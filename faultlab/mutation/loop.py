"""Faults of the training loop: gradients, updates, modes, schedules."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from .code import Code, Operator, Site, called, owner


def _statements(code: Code, *methods: str) -> list[ast.Expr]:
    """Statements that are nothing but a call of one of these methods, each on a line of its own."""
    found = [code.parents.get(c) for c in code.calls(*methods)]
    return [s for s in found if isinstance(s, ast.Expr) and code.alone(s)]


def never_cleared(code: Code) -> Iterator[Site]:
    """Every clearing of the gradients left out."""
    every = [c for c in code.calls("zero_grad") if "optim" in owner(c) or "model" in owner(c)]
    found = _statements(code, "zero_grad")
    if found and len(found) == len(every):
        yield tuple(code.without(s) for s in found)


def cleared_before_step(code: Code) -> Iterator[Site]:
    """Gradients cleared between the backward pass and the update."""
    for step in _statements(code, "step"):
        call = step.value
        if isinstance(call, ast.Call) and "optim" in owner(call) and not call.args:
            yield (code.before(step, f"{owner(call)}.zero_grad()"),)


def no_evaluation_mode(code: Code) -> Iterator[Site]:
    """Evaluated in training mode."""
    found = [s for s in _statements(code, "eval") if isinstance(s.value, ast.Call) and not s.value.args]
    if found and len(found) == len(list(code.calls("eval"))):
        yield tuple(code.without(s) for s in found)


def stays_in_evaluation_mode(code: Code) -> Iterator[Site]:
    """Training goes on in evaluation mode."""
    trained = [s for s in _statements(code, "train") if isinstance(s.value, ast.Call) and not s.value.args]
    if trained and list(code.calls("eval")) and len(trained) == len(list(code.calls("train"))):
        yield tuple(
            code.replace(s, f"{owner(s.value)}.eval()") for s in trained if isinstance(s.value, ast.Call)
        )


def loss_turned(code: Code) -> Iterator[Site]:
    """The loss is maximised."""
    for call in code.calls("backward"):
        function = call.func
        if isinstance(function, ast.Attribute) and re.search(r"loss", owner(call)) and not call.args:
            yield (code.replace(function.value, f"(-{owner(call)})"),)


def schedule_stands(code: Code) -> Iterator[Site]:
    """The schedule is made and never advanced."""
    found = [
        s
        for s in _statements(code, "step")
        if isinstance(s.value, ast.Call) and re.search("sched", owner(s.value))
    ]
    if found:
        yield tuple(code.without(s) for s in found)


def accumulation_not_divided(code: Code) -> Iterator[Site]:
    """The loss of a micro-batch is no longer divided by their number."""
    for node in code.of(ast.BinOp):
        if isinstance(node.op, ast.Div):
            statement = code.statement(node)
            about = ast.unparse(statement) if isinstance(statement, (ast.Assign, ast.Expr)) else ""
            if re.search("accum", ast.unparse(node.right)) and "loss" in about:
                yield (code.replace(node, code.source(node.left)),)
    for node in code.of(ast.AugAssign):
        if isinstance(node.op, ast.Div) and code.alone(node):
            if re.search("accum", ast.unparse(node.value)) and "loss" in ast.unparse(node.target):
                yield (code.without(node),)


def epoch_not_told(code: Code) -> Iterator[Site]:
    """The distributed sampler gives every epoch the same order."""
    found = _statements(code, "set_epoch")
    if found and len(found) == len(list(code.calls("set_epoch"))):
        yield tuple(code.without(s) for s in found)


def clipped_after_update(code: Code) -> Iterator[Site]:
    """Gradients are clipped when the update is over."""
    names = ("clip_grad_norm_", "clip_grad_value_")
    for clip in _statements(code, *names):
        block = code.parents.get(clip)
        body = getattr(block, "body", [])
        after = body[body.index(clip) + 1 :] if clip in body else []
        for step in after:
            call = step.value if isinstance(step, ast.Expr) else None
            if (
                isinstance(call, ast.Call)
                and called(call) == "step"
                and "optim" in owner(call) + code.source(call)
            ):
                if code.alone(step):
                    yield (code.without(clip), code.after(step, code.source(clip)))
                break


OPERATORS = (
    Operator("never-cleared", "state.gradients-not-cleared", never_cleared),
    Operator(
        "cleared-before-step",
        "porting.training-procedure",
        cleared_before_step,
        frozenset({"state.gradients-not-cleared", "graph.optimizer"}),
    ),
    Operator("no-evaluation-mode", "graph.node-mode", no_evaluation_mode, frozenset({"evaluation.logic"})),
    Operator("stays-in-evaluation-mode", "graph.node-mode", stays_in_evaluation_mode),
    Operator("loss-turned", "graph.loss-function", loss_turned),
    Operator("schedule-stands", "hyperparameter.schedule-wrong", schedule_stands),
    Operator(
        "accumulation-not-divided",
        "state.gradient-accumulation",
        accumulation_not_divided,
        frozenset({"hyperparameter.learning-rate-too-large"}),
    ),
    Operator("epoch-not-told", "processing.not-shuffled", epoch_not_told),
    Operator(
        "clipped-after-update",
        "hyperparameter.gradient-clipping-missing",
        clipped_after_update,
        frozenset({"porting.training-procedure"}),
    ),
)
