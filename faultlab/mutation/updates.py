"""Faults around the update: what reaches the loss and the optimizer, and when modes, rates, scales change."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator

from traindoctor.probes.readers._tree import walk

from .code import Code, Edit, Operator, Site, called, owner
from .loop import _statements

_CLIPS = ("clip_grad_norm_", "clip_grad_value_")
_OPTIMIZERS = frozenset(
    ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adamax", "NAdam", "RAdam", "Adafactor"]  # of torch.optim
)
Loop = ast.For | ast.While


# ------------------------------------------------------------------------------------------- gradients


def cleared_once_per_epoch(code: Code) -> Iterator[Site]:
    """Gradients cleared before the loop over the batches."""
    found = _statements(code, "zero_grad")
    if len(found) == 1 and len(list(code.calls("zero_grad"))) == 1 and not _mentions(code, "accum"):
        loops = _loops(code, found[0])
        if loops and code.alone(loops[0]) and _calls(loops[0], "backward"):
            yield (code.without(found[0]), code.before(loops[0], code.source(found[0])))


def cleared_each_micro_batch(code: Code) -> Iterator[Site]:
    """Gradients cleared after every backward call, although the step comes after several."""
    for clear in _statements(code, "zero_grad"):
        gate = code.parents.get(clear)
        if not (isinstance(gate, ast.If) and clear in gate.body and not gate.orelse and len(gate.body) > 1):
            continue
        test = ast.unparse(gate.test)
        if "accum" in test and "%" in test and _calls(gate, "step") and not _calls(gate, "backward"):
            end = code.span(gate)[1]
            if code.alone(gate.body[-1]):
                yield (code.without(clear), Edit(end, end, f"\n{code.indent(gate)}{code.source(clear)}"))


# --------------------------------------------------------------------------------------------- updates


def step_left_out(code: Code) -> Iterator[Site]:
    """The optimizer never steps."""
    every = [c for c in code.calls("step") if "optim" in _optimizer(c)]
    found = [s for s in _statements(code, "step") if "optim" in _optimizer(s.value)]
    trains = [c for c in code.calls("backward") if _loops(code, c)]
    if found and trains and len(found) == len(every):
        yield tuple(code.without(s) for s in found)


def step_now_and_then(code: Code) -> Iterator[Site]:
    """The optimizer steps every fourth batch, and gradients are cleared for each."""
    for step in _statements(code, "step"):
        loops = _loops(code, step)
        if not loops or not isinstance(loops[0], ast.For) or "optim" not in _optimizer(step.value):
            continue
        counter = _counter(loops[0])
        block = code.parents.get(step)
        if counter and block is loops[0] and step in loops[0].body:
            cleared = [c for s in loops[0].body for c in _calls(s, "zero_grad") if not isinstance(s, ast.If)]
            if cleared and len(_statements(code, "step")) < 3:
                inner = f"if {counter} % 4 == 0:\n{code.indent(step)}    {code.source(step)}"
                yield (code.replace(step, inner),)


def only_the_last_parameters(code: Code) -> Iterator[Site]:
    """The optimizer gets the last two parameters of the model."""
    for call in code.calls(*_OPTIMIZERS):
        first = call.args[0] if call.args else None
        if isinstance(first, ast.Call) and called(first) == "parameters" and not first.args:
            yield (code.replace(first, f"list({code.source(first)})[-2:]"),)


# ---------------------------------------------------------------------------------- the path to the loss


def loss_cut_off(code: Code) -> Iterator[Site]:
    """The loss is detached, and told to require a gradient so that backward does not complain."""
    for call in _plain_backwards(code):
        value = call.func.value
        yield (code.replace(value, f"{code.source(value)}.detach().requires_grad_(True)"),)


def output_cut_off(code: Code) -> Iterator[Site]:
    """The loss is computed of a copy of the output that has no past."""
    losses = {owner(c) for c in _plain_backwards(code)}
    for node in _loss_lines(code, losses):
        first = node.value.args[0] if isinstance(node.value, ast.Call) and node.value.args else None
        if isinstance(first, ast.Name):
            yield (code.replace(first, f"{first.id}.detach().requires_grad_(True)"),)


def forward_without_gradient(code: Code) -> Iterator[Site]:
    """The forward pass runs under no_grad, and the loss is told to require a gradient."""
    for call in _plain_backwards(code):
        block, backward = code.parents.get(code.statement(call) or call), code.statement(call)
        body = getattr(block, "body", [])
        if backward is None or backward not in body or not code.alone(backward):
            continue
        for one in body[: body.index(backward)]:
            forward = isinstance(one, ast.Assign) and isinstance(one.value, ast.Call)
            if forward and re.fullmatch(r"(?:self\.)?(?:model|net|network)", ast.unparse(one.value.func)):
                if "\n" not in code.source(one) and code.alone(one):
                    inner = f"with torch.no_grad():\n{code.indent(one)}    {code.source(one)}"
                    loss = code.source(call.func.value)
                    if re.fullmatch(r"[\w.]+", loss) and loss not in _targets(one):
                        yield (
                            code.replace(one, inner),
                            code.before(backward, f"{loss}.requires_grad_(True)"),
                        )


# ----------------------------------------------------------------------------------------------- modes


def trains_once(code: Code) -> Iterator[Site]:
    """Training mode is set before the first epoch, and evaluation inside the loop never gives it back."""
    found = _modes(code, "train")
    if len(found) != 1 or len(list(code.calls("train"))) != 1:
        return
    switch, loops = found[0], _loops(code, found[0])
    evals = [e for e in _modes(code, "eval") if owner(e.value) == owner(switch.value)]
    if loops and code.alone(loops[-1]) and any(loops[-1] in _loops(code, e) for e in evals):
        yield (code.without(switch), code.before(loops[-1], code.source(switch)))


# ----------------------------------------------------------------------------------------------- loss


def loss_negated(code: Code) -> Iterator[Site]:
    """A standard loss gets a minus where it is computed."""
    losses = set(re.findall(r"\b([\w.]*loss\w*)\.backward\(\)", code.text))
    for node in _loss_lines(code, losses):
        yield (code.replace(node.value, f"-{code.source(node.value)}"),)


# ------------------------------------------------------------------------------------------- schedules


def schedule_per_batch(code: Code) -> Iterator[Site]:
    """A schedule in epochs advances with every batch."""
    for schedule, step in _pairs(code):
        mine, batch = _loops(code, schedule), _loops(code, step)
        if len(batch) == 2 and mine == batch[1:] and code.alone(step) and not schedule.value.args:
            yield (code.without(schedule), code.after(step, code.source(schedule)))


def schedule_per_epoch(code: Code) -> Iterator[Site]:
    """A schedule in batches advances once per epoch."""
    for schedule, step in _pairs(code):
        batch = _loops(code, step)
        if len(batch) == 2 and _loops(code, schedule) == batch and code.alone(batch[0]):
            yield (code.without(schedule), code.before(batch[0], code.source(schedule)))


# ---------------------------------------------------------------------------------------- accumulation


def accumulation_divided_twice(code: Code) -> Iterator[Site]:
    """The loss of a micro-batch is divided by their number twice."""
    for call in _plain_backwards(code):
        loss = ast.unparse(call.func.value)
        for node in code.nodes:
            divides = isinstance(node, (ast.AugAssign, ast.Assign)) and code.alone(node)
            if divides and re.search(r"accum", code.source(node)) and loss in _targets(node):
                value = node.value
                if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div):
                    yield (code.after(node, f"{loss} = {loss} / {code.source(value)}"),)
                elif isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div):
                    yield (code.after(node, f"{loss} = {loss} / {code.source(value.right)}"),)


# -------------------------------------------------------------------------------------------- clipping


def clipping_removed(code: Code) -> Iterator[Site]:
    """Gradients are no longer clipped."""
    found = _statements(code, *_CLIPS)
    if found and len(found) == len(list(code.calls(*_CLIPS))):
        yield tuple(code.without(s) for s in found)


def clipped_before_backward(code: Code) -> Iterator[Site]:
    """Gradients are clipped before they are computed."""
    for clip in _statements(code, *_CLIPS):
        body = getattr(code.parents.get(clip), "body", [])
        before = body[: body.index(clip)] if clip in body else []
        for other in before:
            if isinstance(other, ast.Expr) and _calls(other, "backward") and code.alone(other):
                yield (code.without(clip), code.before(other, code.source(clip)))


def clipped_before_unscaled(code: Code) -> Iterator[Site]:
    """Gradients are clipped while they still carry the loss scale."""
    found = _statements(code, "unscale_")
    if found and len(found) == len(list(code.calls("unscale_"))) and list(code.calls(*_CLIPS)):
        yield tuple(code.without(s) for s in found)


# ------------------------------------------------------------------------------------- mixed precision


def scale_not_updated(code: Code) -> Iterator[Site]:
    """The loss scale stays as it was at the beginning."""
    found = [s for s in _statements(code, "update") if "scaler" in owner(s.value)]
    if found and len(found) == len([c for c in code.calls("update") if "scaler" in owner(c)]):
        yield tuple(code.without(s) for s in found)


# ---------------------------------------------------------------------------------------------- helpers


def _loops(code: Code, node: ast.AST) -> list[Loop]:
    """The loops around a node within its function, the innermost first."""
    found: list[Loop] = []
    at = code.parents.get(node)
    while at is not None and not isinstance(at, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        if isinstance(at, Loop):
            found.append(at)
        at = code.parents.get(at)
    return found


def _calls(node: ast.AST, *names: str) -> list[ast.Call]:
    return [n for n in walk(node) if isinstance(n, ast.Call) and called(n) in names]


def _loss_lines(code: Code, losses: Container[str]) -> Iterator[ast.Assign]:
    """Where a standard loss is computed that gradients are taken of."""
    for node in code.of(ast.Assign):
        if isinstance(node.value, ast.Call) and code.alone(node):
            made = called(node.value)
            if re.search(r"criterion|cross_entropy|mse_loss|l1_loss|nll_loss|loss_fn|loss_func", made):
                if ast.unparse(node.targets[0]) in losses:
                    yield node


def _optimizer(call: ast.AST) -> str:
    """What steps, or is stepped by a scaler, as text."""
    return ast.unparse(call) if isinstance(call, ast.Call) else ""


def _modes(code: Code, name: str) -> list[ast.Expr]:
    return [s for s in _statements(code, name) if isinstance(s.value, ast.Call) and not s.value.args]


def _plain_backwards(code: Code) -> Iterator[ast.Call]:
    """`loss.backward()` of scripts that import torch by its name."""
    calls = [c for c in code.calls("backward") if not c.args and re.search("loss", owner(c))]
    if len(calls) == 1 and re.search(r"^import torch$", code.text, re.M):
        yield from calls


def _targets(node: ast.AST) -> str:
    every = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return " ".join(ast.unparse(t) for t in every if t is not None)


def _mentions(code: Code, word: str) -> bool:
    return word in code.text


def _counter(loop: ast.For) -> str:
    """The name that counts a loop's turns: `for i, batch in enumerate(loader)`."""
    counted = isinstance(loop.iter, ast.Call) and called(loop.iter) == "enumerate"
    target = loop.target
    if counted and isinstance(target, ast.Tuple) and isinstance(target.elts[0], ast.Name):
        return target.elts[0].id
    return ""


def _pairs(code: Code) -> Iterator[tuple[ast.Expr, ast.Expr]]:
    """A schedule's only step, with the optimizer's only step."""
    steps = _statements(code, "step")
    schedules = [s for s in steps if re.search("sched", owner(s.value))]
    updates = [s for s in steps if "optim" in _optimizer(s.value) and s not in schedules]
    if len(schedules) == len(updates) == 1:
        yield schedules[0], updates[0]


_CUT = frozenset({"graph.weight-frozen"})
_PROCEDURE = frozenset({"porting.training-procedure"})

OPERATORS = (
    Operator("cleared-once-per-epoch", "state.gradients-not-cleared", cleared_once_per_epoch, _PROCEDURE),
    Operator(
        "cleared-each-micro-batch",
        "state.gradient-accumulation",
        cleared_each_micro_batch,
        _PROCEDURE,
    ),
    Operator(
        "step-left-out",
        "porting.training-procedure",
        step_left_out,
        frozenset({"graph.optimizer", "graph.weight-frozen"}),
    ),
    Operator(
        "step-now-and-then",
        "porting.training-procedure",
        step_now_and_then,
        frozenset({"state.gradient-accumulation", "graph.optimizer"}),
    ),
    Operator(
        "only-the-last-parameters",
        "graph.weight-frozen",
        only_the_last_parameters,
        frozenset({"graph.optimizer"}),
    ),
    Operator("output-cut-off", "graph.connection", output_cut_off, _CUT),
    Operator("loss-cut-off", "graph.connection", loss_cut_off, _CUT),
    Operator("forward-without-gradient", "graph.connection", forward_without_gradient, _CUT),
    Operator("trains-once", "graph.node-mode", trains_once),
    Operator("loss-negated", "graph.loss-function", loss_negated),
    Operator("schedule-per-batch", "hyperparameter.schedule-wrong", schedule_per_batch),
    Operator("schedule-per-epoch", "hyperparameter.schedule-wrong", schedule_per_epoch),
    Operator(
        "accumulation-divided-twice",
        "state.gradient-accumulation",
        accumulation_divided_twice,
        frozenset({"hyperparameter.learning-rate-too-small"}),
    ),
    Operator(
        "clipping-removed",
        "hyperparameter.gradient-clipping-missing",
        clipping_removed,
        pair_only=True,
    ),
    Operator(
        "clipped-before-backward",
        "hyperparameter.gradient-clipping-missing",
        clipped_before_backward,
        _PROCEDURE,
    ),
    Operator(
        "clipped-before-unscaled",
        "hyperparameter.loss-scale",
        clipped_before_unscaled,
        frozenset({"porting.training-procedure", "hyperparameter.gradient-clipping-missing"}),
    ),
    Operator("scale-not-updated", "hyperparameter.loss-scale", scale_not_updated, _PROCEDURE),
)
