"""Gradient accumulation and reduction in scripts: divided twice, not at all, or cleared in between."""

from __future__ import annotations

import ast
import re
from functools import partial

from ....engine.model import State
from ...readers._tree import of, unparse, walk
from ...readers.script import keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow, returns
from ...scripts.syntax import Script
from ..ranks.sampler_order import accelerate_told_nothing
from ..shared.checks import at, first, ok
from ..shared.gates import gate, takes_turns
from ..shared.nodes import is_false
from ..shared.rounds import CLEARS
from ..shared.sides import either
from ..tensorflow.tape_steps import averaged_by_replica
from ..trainers.deepspeed import accumulates, divided_before_engine, stepped_by_configuration
from ..trainers.engine_steps import engine_steps_at_boundaries
from .never_last import synchronised_never
from .stepping import once_per_epoch

_COUNT = re.compile(r"accum|micro", re.IGNORECASE)


@probe()
def divided_twice(view: View) -> Finding:
    """The loss is divided by the number of accumulated batches although the framework does so as well.

    Accelerate with `gradient_accumulation_steps`, Lightning with `accumulate_grad_batches`.
    """
    return first(
        view, either(_twice, divided_before_engine), "the scripts let no framework accumulate gradients"
    )


def _twice(source: Script) -> Finding | None:
    accelerate = [
        c for c in source.named("Accelerator") if keyword(c, "gradient_accumulation_steps") is not None
    ]
    mine = flow(source)
    if accelerate and source.named("accumulate"):
        calls = [c for c in source.backwards if c.args]
        for call in calls:
            for value in mine.values(call.args[0], 3):
                if _by_count(value):
                    return at(source, call, "Accelerate divides the loss by the accumulated batches already")
        return ok(source, accelerate[0], "only Accelerate divides the loss")
    if "accumulate_grad_batches" not in source.text or not source.loss_methods:
        return None
    if re.search(r"automatic_optimization\s*=\s*False", source.text) or source.named("manual_backward"):
        return None
    for method in source.loss_methods:
        for given in returns(method):
            for value in mine.values(given, 3):
                if _by_count(value):
                    return at(source, given, "Lightning divides the loss by the accumulated batches already")
    return ok(source, source.loss_methods[0], "only Lightning divides the loss")


def _by_count(value: ast.expr) -> bool:
    return (
        isinstance(value, ast.BinOp)
        and isinstance(value.op, ast.Div)
        and bool(_COUNT.search(unparse(value.right)))
    )


@probe()
def accumulation_without_effect(view: View) -> Finding:
    """Accelerate is told how many batches to accumulate, and the step is not within `accumulate`."""
    return first(
        view,
        either(
            *(_no_effect, synchronised_never),
            partial(stepped_by_configuration, view),
            partial(_only_at_boundaries, view),
            accelerate_told_nothing,
            _counted_before_added,
        ),
        "the scripts tell Accelerate nothing of accumulation",
    )


def _counted_before_added(source: Script) -> Finding | None:
    """`if i + 1 % steps == 0:` around the step: the rest of 1 is taken first, and the sum is never zero."""
    for call in source.steps:
        for parent in source.above(call):
            test = parent.test if isinstance(parent, ast.If) else None
            left = test.left if isinstance(test, ast.Compare) else None
            if not isinstance(left, ast.BinOp) or not isinstance(left.op, ast.Add):
                continue
            rest = left.right
            if isinstance(rest, ast.BinOp) and isinstance(rest.op, ast.Mod) and unparse(rest.left) == "1":
                return at(source, parent, "`1 % n` is worked out before the sum: the step does not come")
    return None


def _no_effect(source: Script) -> Finding | None:
    for call in source.named("Accelerator"):
        given = keyword(call, "gradient_accumulation_steps")
        if given is None or (isinstance(given, ast.Constant) and given.value == 1):
            continue
        if source.named("accumulate"):
            return ok(source, source.named("accumulate")[0], "the step stands within accumulate")
        rests = [n for n in source.of(ast.BinOp) if isinstance(n.op, ast.Mod) and not _only_tells(source, n)]
        by_hand = any(_of_batches(source, n) for n in rests)
        if not by_hand and not source.named("no_sync") and source.backwards and not source.loose:
            return at(source, call, "nothing opens accumulate(model): every batch is a step of its own")
    return None


def _of_batches(source: Script, rest: ast.BinOp) -> bool:
    """A rest that may tell when to step: it stands in the loop over the batches, or in no loop at all."""
    loops = {loop for b in source.backwards for loop in source.loops_around(b)[:1]}
    mine = source.loops_around(rest)
    return not loops or not mine or mine[0] in loops or source.function_around(rest) is None


def _only_tells(source: Script, rest: ast.BinOp) -> bool:
    """`if step % 20 == 0: print(loss)`: what hangs on the rest tells something, and trains nothing."""
    branch = next((p for p in source.above(rest) if isinstance(p, ast.If)), None)
    if branch is None or rest not in walk(branch.test) or branch.orelse:
        return False
    called = {last_name(c.func) for n in branch.body for c in of(n, ast.Call)}
    return bool(called) and not called & _OF_TRAINING and all(isinstance(n, ast.Expr) for n in branch.body)


_OF_TRAINING = {"step", "zero_grad", "backward", "clip_grad_norm_", "clip_grad_value_", "update", "unscale_"}


def _in_between(source: Script, clear: ast.Call, step: ast.Call) -> bool:
    """The line stands in the arm of the step's condition that runs with all micro-batches but the last."""
    mine, other = gate(source, clear), gate(source, step)
    return mine is not None and other is not None and mine.branch is other.branch and not mine.last


def _only_at_boundaries(view: View, source: Script) -> Finding | None:
    return engine_steps_at_boundaries(source) if accumulates(view, source) else None


@probe()
def cleared_between(view: View) -> Finding:
    """Gradients are cleared with every micro batch, and the optimizer steps after several of them."""
    return first(view, _cleared_between, "the scripts accumulate no gradients by hand")


def _cleared_between(source: Script) -> Finding | None:
    judged = None
    if (once := once_per_epoch(source)) is not None and once.state is State.PRESENT:
        return None  # nothing is accumulated: the step slipped out of the loop over the batches
    for step in source.steps:
        if takes_turns(source, step):
            continue
        gates = [p for p in source.above(step) if isinstance(p, ast.If) and " % " in unparse(p.test)]
        loops = source.loops_around(step)
        for backward in source.backwards:
            if source.function_around(backward) is not source.function_around(step):
                continue
            micro = source.loops_around(backward)
            if not micro:
                continue
            inner = bool(micro) and micro[0] not in loops and loops == micro[1 : 1 + len(loops)]
            gated = bool(gates) and micro[:1] == loops[:1] and gates[0] not in source.above(backward)
            if gated and any(
                " % " in unparse(p.test) for p in source.above(backward) if isinstance(p, ast.If)
            ):
                continue  # it is taken now and then by itself
            if not gated and (turn := gate(source, step)) is not None and micro[:1] == loops[:1]:
                own = gate(source, backward)  # None: in each round; the other arm: in the rounds between
                gated = turn.last and (own is None or (own.branch is turn.branch and not own.last))
            if not (inner or gated) or (inner and _steps_within(source, micro[0])):
                continue
            if gated and _steps_too(source, step, micro[0]):
                continue  # the same optimizer steps in every round as well: a second loss joins now and then
            judged = judged or step
            for clear in source.named(*CLEARS):
                around = source.loops_around(clear)
                same = around[:1] == micro[:1]
                free = not any(
                    isinstance(p, ast.If) and not _in_one_arm(p, clear, backward)
                    for p in source.above(clear)
                    if micro[0] in source.above(p)
                )
                own = gate(source, clear)
                free = free and not (own is not None and own.last)  # below `if (i + 1) % n: continue`
                if same and (free or _in_between(source, clear, step)) and _of_step(source, clear, step):
                    return at(
                        source,
                        clear,
                        "gradients are cleared with every micro batch: only the last one counts",
                    )
    return ok(source, judged, "gradients are cleared after the step") if judged is not None else None


def _in_one_arm(branch: ast.If, one: ast.AST, other: ast.AST) -> bool:
    """Where one of two lines runs, the other does: `if optimizer is not None:` around both."""
    return any(
        {one, other} <= {n for line in arm for n in of(line, type(one), type(other))}
        for arm in (branch.body, branch.orelse)
    )


def _steps_within(source: Script, micro: ast.AST) -> bool:
    """An optimizer steps in every round of the loop: each batch is a step of its own."""
    for step in source.steps:
        above = list(source.above(step))
        if micro in above and not any(
            isinstance(p, ast.If) and " % " in unparse(p.test) for p in above[: above.index(micro)]
        ):
            return True
    return False


def _steps_too(source: Script, step: ast.Call, loop: ast.AST) -> bool:
    """The optimizer of a step that waits steps elsewhere in the loop without waiting."""
    for other in source.steps:
        above = list(source.above(other))
        if other is step or source.owner(other) != source.owner(step) or loop not in above:
            continue
        if not any(isinstance(p, ast.If) for p in above[: above.index(loop)]):
            return True
    return False


def _of_step(source: Script, clear: ast.Call, step: ast.Call) -> bool:
    """What is cleared is what the step is of: the same optimizer, or the model that it was made of.

    Where several optimizers step, a network is known to be of this one only by how this one was made.
    """
    owner = source.owner(clear)
    mine = {source.owner(step), *(unparse(a) for a in step.args)}
    if owner in mine:
        return True
    others = {o for s in source.steps for o in (source.owner(s), *map(unparse, s.args))} - mine
    if owner in others or owner.lower() in source.optimizers or re.search(r"opt", owner.lower()):
        return False
    made = [n.value for n in source.of(ast.Assign) if any(unparse(t) in mine for t in n.targets)]
    return not others or any(owner in map(unparse, of(v, ast.Name, ast.Attribute)) for v in made)


@probe()
def mean_of_parts(view: View) -> Finding:
    """The mean is taken over a part (a micro batch, a replica) where a framework sums the parts.

    `compute_loss` of a Hugging Face trainer that gets the number of items of all micro batches and does not
    divide by it; a loss under a TensorFlow strategy that is a mean of one replica; MindSpore's data parallel
    mode without `gradients_mean`.
    """
    return first(view, _mean_of_parts, "no framework of the scripts sums parts of a batch")


def _mean_of_parts(source: Script) -> Finding | None:
    for look in (_items_unused, averaged_by_replica, _mean_per_replica, _summed_gradients):
        if (found := look(source)) is not None:
            return found
    return None


def _items_unused(source: Script) -> Finding | None:
    if "model_accepts_loss_kwargs" in source.text:
        return None  # the trainer is told to divide by itself
    accumulates = "gradient_accumulation_steps" in source.text
    for method in source.loss_methods:
        names = [a.arg for a in (*method.args.args, *method.args.kwonlyargs)]
        if method.name != "compute_loss" or "num_items_in_batch" not in names:
            continue
        used = [n for n in of(method, ast.Name) if n.id == "num_items_in_batch"]
        if used:
            return ok(source, method, "the loss is divided by the number of items of all micro batches")
        if accumulates:
            return at(source, method, "num_items_in_batch is not used: means of micro batches are summed")
    return None


def _mean_per_replica(source: Script) -> Finding | None:
    text = source.code
    if not re.search(r"strategy\.run\(|experimental_run_v2", text) or not source.named("GradientTape"):
        return None
    scaled = source.named("compute_average_loss", "scale_regularization_loss")
    if scaled or re.search(r"num_replicas_in_sync|global_batch", "".join(_in_tapes(source))):
        return ok(
            source,
            scaled[0] if scaled else source.named("GradientTape")[0],
            "the loss counts the whole batch",
        )
    mine = flow(source)
    for call in source.named("gradient"):
        for value in mine.values(call.args[0], 3) if call.args else ():
            for node in of(value, ast.Call):
                if last_name(node.func) == "reduce_mean":
                    return at(
                        source, node, "this is the mean of one replica, and gradients of replicas are summed"
                    )
    return None


def _in_tapes(source: Script) -> list[str]:
    return [unparse(n) for n in source.of(ast.With) if "GradientTape" in unparse(n.items[0])]


def _summed_gradients(source: Script) -> Finding | None:
    for call in source.named("set_auto_parallel_context"):
        mode = keyword(call, "parallel_mode")
        if mode is None or not re.search(r"(?:^|[._'\"])data_parallel", unparse(mode).lower()):
            continue
        mean = keyword(call, "gradients_mean")
        if mean is None or is_false(mean):
            return at(source, call, "gradients of the devices are summed: gradients_mean is off by default")
        return ok(source, call, "gradients of the devices are averaged")
    return None
