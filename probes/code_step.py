"""The training step in scripts: clearing, stepping, modes, schedule, accumulation."""

from __future__ import annotations

import ast

from .code import at, first, imports_locals, is_false, is_false_node, ok, outer_loop, runs_in
from .readers.script import SCHEDULERS, Extractor, keyword, last_name
from .registry import Finding, View, any_of, probe
from .syntax import Script

_CLEARS = ("zero_grad", "clear_grad", "clear_gradients", "zero_grads")


@probe()
def gradients_not_cleared(view: View) -> Finding:
    """Backward and step in a loop, and nothing that clears gradients (or only outside that loop).

    False positive: gradients cleared by a helper of another file.
    """
    return first(view, _not_cleared, "no hand-written training step in the scripts")


def _not_cleared(source: Script) -> Finding | None:
    if not source.trains_by_hand or source.train_scope is None:
        return None
    clears = list(source.named(*_CLEARS))
    clears_by_hand = [
        n
        for n in ast.walk(source.tree)
        if isinstance(n, ast.Assign)
        and any(isinstance(t, ast.Attribute) and t.attr == "grad" for t in n.targets)
        and isinstance(n.value, ast.Constant)
        and n.value.value is None
    ]
    if not clears and not clears_by_hand:
        if imports_locals(source):
            return None
        return at(source, source.backwards[0], "gradients pile up: no call clears them")
    if source.train_loop is None or clears_by_hand:
        return ok(source, (clears or clears_by_hand)[0], "gradients are cleared")
    loop = source.train_loop
    inside = [c for c in clears if loop in source.loops_around(c)]
    steps_inside = [s for s in source.steps if loop in source.loops_around(s)]
    in_helpers = [c for c in clears if source.function_around(c) is not source.function_around(loop)]
    if not inside and steps_inside and not in_helpers:
        return at(
            source, clears[0], "gradients are cleared outside the loop that steps, so they pile up inside it"
        )
    return ok(source, clears[0], "gradients are cleared in the training step")


@probe()
def cleared_before_step(view: View) -> Finding:
    """zero_grad stands after backward and before step in one block of statements."""
    return first(view, _cleared_early, "no hand-written training step in the scripts")


def _cleared_early(source: Script) -> Finding | None:
    if not source.trains_by_hand or not source.named(*_CLEARS):
        return None
    for backward in source.backwards:
        scope = source.function_around(backward) or source.tree
        block = [c for c in ast.walk(scope) if isinstance(c, ast.Call)]
        steps = [c for c in block if c in source.steps and _position(c) > _position(backward)]
        clears = [c for c in block if last_name(c.func) in _CLEARS and _position(c) > _position(backward)]
        same = [c for c in clears if source.loops_around(c) == source.loops_around(backward)]
        if steps and same and min(map(_position, same)) < min(map(_position, steps)) and not _several(source):
            return at(source, same[0], "gradients are cleared between backward and the optimizer step")
    return ok(source, source.backwards[0], "gradients are not cleared between backward and step")


def _position(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _several(source: Script) -> bool:
    """Several backward calls (GAN) interleave on purpose."""
    return len(source.backwards) > 1


@probe()
def step_missing(view: View) -> Finding:
    """Backward in a loop and no optimizer step anywhere.

    False positive: weights updated by hand (`p -= lr * p.grad`), which is looked for.
    """
    return first(view, _step_missing, "no hand-written training step in the scripts")


def _step_missing(source: Script) -> Finding | None:
    if not source.backwards or source.train_loop is None:
        return None
    if source.steps:
        return ok(source, source.steps[0], "the optimizer steps")
    by_hand = ".grad" in source.text and (
        "-=" in source.text or ".sub_(" in source.text or ".add_(" in source.text
    )
    if by_hand or not source.optimizers or source.named("step") or imports_locals(source):
        return None
    return at(source, source.backwards[0], "an optimizer is built and never steps")


@probe()
def eval_mode_while_training(view: View) -> Finding:
    """`.eval()` is called in or before the epoch loop and `.train()` never brings the model back.

    False positive: a frozen teacher or feature extractor that is put into eval mode on purpose.
    """
    return first(view, _eval_while_training, "the scripts never switch the model's mode")


def _eval_while_training(source: Script) -> Finding | None:
    evals = [c for c in source.named("eval") if isinstance(c.func, ast.Attribute) and not c.args]
    evals = [
        c
        for c in evals
        if not any(w in source.owner(c).lower() for w in ("teacher", "ema", "vgg", "ref", "target"))
    ]
    trains = [c for c in source.named("train") if isinstance(c.func, ast.Attribute)]
    trains += [c for c in source.named("set_train") if not is_false(c)]
    if not source.trains_by_hand or not evals:
        return None
    if any(c.args and is_false_node(c.args[0]) for c in source.named("train")) and not [
        c for c in trains if not c.args
    ]:
        return at(source, source.named("train")[0], "train(False) puts the model into evaluation mode")
    epoch_loop = outer_loop(source)
    if epoch_loop is None:
        return None
    if trains and any(runs_in(source, c, epoch_loop) for c in trains):
        return ok(source, trains[0], "the model is put back into training mode in each epoch")
    reached = [c for c in evals if runs_in(source, c, epoch_loop) or _before(source, c, epoch_loop)]
    if reached:
        return at(
            source, reached[0], "the model is put into evaluation mode and never back before training goes on"
        )
    return None


@probe()
def mode_wrong(view: View) -> Finding:
    """The model trains in evaluation mode or is evaluated in training mode; see each."""
    return any_of((eval_mode_while_training(view), train_mode_while_evaluating(view)))


def _before(source: Script, node: ast.AST, loop: ast.AST) -> bool:
    same = source.function_around(node) is source.function_around(loop)
    return same and getattr(node, "lineno", 0) < getattr(loop, "lineno", 0)


@probe()
def train_mode_while_evaluating(view: View) -> Finding:
    """The model holds dropout or batch norm, the script evaluates, and `.eval()` is never called."""
    return first(view, _train_while_evaluating, "the scripts hold no evaluation of a model with modes")


def _train_while_evaluating(source: Script) -> Finding | None:
    modal = [
        c for c in source.calls if last_name(c.func).startswith(("Dropout", "BatchNorm", "SyncBatchNorm"))
    ]
    evaluates = list(source.named("no_grad", "inference_mode"))
    if not source.trains_by_hand or not modal or not evaluates:
        return None
    if source.named("eval") or "train(False)" in source.text:
        return ok(
            source,
            source.named("eval")[0] if source.named("eval") else None,
            "the model is put into evaluation mode",
        )
    if imports_locals(source):
        return None
    return at(
        source,
        evaluates[0],
        "evaluation runs with dropout and batch norm in training mode: eval() is never called",
    )


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
    if len(built) != 1 or len(steps) != 1 or source.train_loop is None or not steps:
        return None
    length = built[0][1]
    words = ast.unparse(length).lower()
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
            f"the scheduler's length is in epochs ({ast.unparse(length)}) and it steps per batch",
        )
    if batches and not per_batch and nested:
        return at(
            source,
            steps[0],
            f"the scheduler's length is in batches ({ast.unparse(length)}) and it steps per epoch",
        )
    return (
        ok(source, steps[0], "the scheduler steps in the unit of its length") if epochs or batches else None
    )


def _shorter_than_run(source: Script, length: ast.expr) -> bool:
    """A length that is a small number, not above the number of epochs, is meant in epochs."""
    values = Extractor(source.tree, source.path)
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
        return ast.unparse(loop.iter.args[-1]).lower() if loop.iter.args else None
    return None


@probe()
def scheduler_never_stepped(view: View) -> Finding:
    """A scheduler object is built and no step is called on it."""
    return first(view, _never_stepped, "the scripts build no scheduler")


def _never_stepped(source: Script) -> Finding | None:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            if last_name(node.value.func).lower() in SCHEDULERS and source.trains_by_hand:
                name = ast.unparse(node.targets[0])
                if source.text.count(name) == 1:
                    return at(source, node, "this scheduler is built and never used")
                return ok(source, node, "the scheduler is used")
    return None


@probe()
def accumulation_not_divided(view: View) -> Finding:
    """The optimizer steps every N batches and the loss is not divided by N."""
    return first(view, _not_divided, "the scripts do not accumulate gradients by hand")


def _not_divided(source: Script) -> Finding | None:
    for step in source.steps:
        for parent in source.above(step):
            if isinstance(parent, ast.If):
                gates = [
                    n for n in ast.walk(parent.test) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod)
                ]
                if not gates:
                    continue
                count = ast.unparse(gates[0].right)
                divided = [
                    n
                    for n in ast.walk(source.tree)
                    if isinstance(n, (ast.BinOp, ast.AugAssign))
                    and isinstance(n.op, ast.Div)
                    and ast.unparse(n.right if isinstance(n, ast.BinOp) else n.value) == count
                ]
                if divided:
                    return ok(source, divided[0], f"the loss is divided by {count}")
                return at(
                    source,
                    step,
                    f"the optimizer steps every {count} batches and the loss is not divided by {count}",
                )
    return None
