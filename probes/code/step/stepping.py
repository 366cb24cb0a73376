"""Where scripts step the optimizer: never, or after the loop over the batches."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import all_arguments, last_name
from ...registry import Finding, View, probe
from ...rehearsal.journal import Stepped
from ...rehearsal.judges import shows
from ...rehearsal.machine import rehearsed
from ...scripts.flow import flow
from ...scripts.learning import updates
from ...scripts.syntax import Script
from ..mindspore.ports import cell_without_update, gradients_unused
from ..optimizer.own_steps import bound_to_name
from ..shared.checks import at, first, imports_locals, ok, outer_loop
from ..shared.rounds import CLEARS, Round, may_update, rounds
from ..shared.sides import either
from ..tensorflow.session import train_op_never_run
from ..tensorflow.tape_steps import gradients_never_applied
from ..trainers.engine_steps import engine_never_steps, engine_steps_after_loop
from .logged import stepped_when_logging
from .several import one_never_steps


@probe()
def step_once_per_epoch(view: View) -> Finding:
    """The loop over batches clears gradients and calls backward, and the step comes after that loop.

    Only the last batch of each epoch counts, or only batches that are logged. Gradients that pile up on
    purpose are not cleared in between.
    """
    return first(
        view,
        either(stepped_when_logging, once_per_epoch, engine_steps_after_loop),
        "no hand-written training step in the scripts",
    )


def once_per_epoch(source: Script) -> Finding | None:
    """Whether the step of a script stands in the loop over its batches."""
    seen = None
    for step in source.steps:
        loops = source.loops_around(step)
        for backward in source.backwards:
            if source.function_around(backward) is not source.function_around(step):
                continue
            inner = source.loops_around(backward)
            if not inner or source.owner(step) not in _optimizers(source):
                continue
            seen = seen or step
            outside = inner[0] not in loops and loops == inner[1:] and step.lineno > backward.lineno
            others = [s for s in source.steps if inner[0] in source.loops_around(s)]
            if not outside or others or not over_batches(inner[0]):
                continue
            clears = [c for c in source.named(*CLEARS) if source.loops_around(c)[:1] == inner[:1]]
            if clears and not any(
                isinstance(p, ast.If) and inner[0] in source.above(p) for p in source.above(clears[0])
            ):
                return at(
                    source, step, "the step stands after the loop over the batches, which clears gradients"
                )
    return ok(source, seen, "the step stands in the loop over the batches") if seen is not None else None


def _optimizers(source: Script) -> set[str]:
    """Names of optimizers that the scripts build."""
    made = [n for n in source.of(ast.Assign) if n.value in source.optimizer_calls]
    return {unparse(t) for n in made for t in n.targets}


def over_batches(loop: ast.AST) -> bool:
    """The loop goes over a loader, under a bar or not."""
    over = unparse(loop.iter).lower() if isinstance(loop, ast.For) else ""
    return re.search(r"load|batches|(?:^|_)dl\b|^bar$|pbar|tqdm|train_iter|enumerate\(", over) is not None


@probe()
def step_missing(view: View) -> Finding:
    """Backward in a loop and no optimizer step anywhere.

    False positive: weights updated by hand (`p -= lr * p.grad`), which is looked for.
    """
    return first(
        view,
        either(
            bound_to_name,
            _step_missing,
            gradients_never_applied,
            train_op_never_run,
            one_never_steps,
            engine_never_steps,
            gradients_unused,
            cell_without_update,
            no_gradient_taken,
        ),
        "no hand-written training step in the scripts",
    )


@probe()
def step_doubled(view: View) -> Finding:
    """An optimizer steps twice on one gradient, or the gradient of one loss is taken twice for a step.

    Seen in a rehearsal of the program, so only where its steps and weights are known.
    """
    return first(view, either(shows("used-twice"), _stepped), "no rehearsed training step in the scripts")


def _stepped(source: Script) -> Finding | None:
    steps = rehearsed(source).journal.of(Stepped)
    return ok(source, steps[0].node, "each step uses a gradient of its own") if steps else None


_TAKES = re.compile(
    r"backward|autograd|\.grad\b|closure|functional_call|\bgrad\(|and_grad|vjp|jvp|Trainer|engine|deepspeed|\.fit\("
)


def no_gradient_taken(source: Script) -> Finding | None:
    """A loop works out a loss and calls the optimizer's step, and nothing in the program takes a gradient."""
    if source.loose or not {"pytorch", "paddle"} & set(source.frameworks) or _TAKES.search(source.code):
        return None
    for step in source.steps:
        loops = source.loops_around(step)
        body = unparse(loops[0]) if loops else ""
        if re.search(r"\bloss\w* = |\.loss\b", body) and re.search(r"zero_grad|clear_grad", source.code):
            return at(source, step, "no gradient is taken: nothing calls backward before this step")
    return None


# what has a step or an update and moves no weight
_MOVES_NO_WEIGHT = re.compile(
    r"scaler|sched|warm_?up|bar$|tqdm|meter|metric|prof|timer|stopp|(?:^|[._])envs?(?:$|[._])|environment"
)


def _updates_by_function(node: ast.Assign) -> bool:
    """`params = sgd(params, grads, 0.001)`: a function gives the weights after the step."""
    if not isinstance(node.value, ast.Call):
        return False
    given = [unparse(a) for a in node.value.args]
    return unparse(node.targets[0]) in given and any("grad" in g.lower() for g in given)


def _handed_to_solver(source: Script) -> bool:
    """`jinns.solve(params, data, optimizer=tx)`: a library's function takes the steps."""
    held = {
        unparse(t)
        for c in source.optimizer_calls
        if isinstance(parent := source.parents.get(c), ast.Assign)
        for t in parent.targets
    }
    gradients = {
        unparse(t)
        for n in source.of(ast.Assign)
        if isinstance(n.value, ast.Call) and last_name(n.value.func) in ("grad", "value_and_grad")
        for t in n.targets
    }
    for call in source.calls:
        given = {unparse(a) for a in all_arguments(call)}
        if last_name(call.func) in flow(source).functions or not given & held:
            continue
        if given & gradients or re.match(_SOLVES, last_name(call.func)):
            return True
    return False


_SOLVES = r"(?i)solve|train|fit|run|learn|optimi[sz]e|minimi[sz]e"


def _step_missing(source: Script) -> Finding | None:
    for one in rounds(source):
        if (found := _never_steps(source, one)) is not None:
            return found
    if (unused := _thrown_away(source)) is not None:
        return at(source, unused, "gradients of the weights are taken here, and nothing is done with them")
    if (unused := _updates_unused(source)) is not None:
        return at(source, unused, "the updates of the weights are worked out here, and nothing applies them")
    functional = source.named("value_and_grad") or _taped(source)
    if not source.optimizer_calls or not (source.backwards or functional):
        return None
    if source.backwards and outer_loop(source) is None:
        return None
    if source.steps:
        return ok(source, source.steps[0], "the optimizer steps")
    applied = [c for c in source.calls if unparse(c.func).lower() in source.optimizers]
    if applied := [*updates(source), *applied, *source.named("update_step")]:
        return ok(source, applied[0], "the optimizer steps")
    signs = ("-=", "sub_(", "add_(", "add(", "- ")
    by_hand = re.search(r"\.grad\b", source.text) is not None and any(w in source.text for w in signs)
    measures = {source.owner(c) for c in source.named("compute", "reset")}  # what is updated and read
    others = [
        c
        for c in source.named("step", "update")
        if isinstance(c.func, ast.Attribute)
        and not _MOVES_NO_WEIGHT.search(source.owner(c).lower())
        and source.owner(c) not in measures
    ]
    by_hand = by_hand or bool(source.named("assign", "assign_sub", "assign_add", "set_data"))
    by_hand = by_hand or any(map(_updates_by_function, source.of(ast.Assign)))
    if by_hand or others or imports_locals(source) or source.trains_by_trainer or _handed_to_solver(source):
        return None
    return at(source, (*source.backwards, *functional)[0], "an optimizer is built and never steps")


def _updates_unused(source: Script) -> ast.Call | None:
    """Optax's `updates, state = tx.update(grads, state)`, and nothing in the function asks for `updates`."""
    if "optax" not in source.text:
        return None
    pairs = {  # `opt_init, opt_update = optax.adam(1e-2)`
        unparse(n.targets[0].elts[1])
        for n in source.of(ast.Assign)
        if isinstance(n.targets[0], ast.Tuple) and len(n.targets[0].elts) == 2
        if isinstance(n.value, ast.Call) and unparse(n.value.func).startswith("optax.")
    }
    for node in source.of(ast.Assign):
        target, call = node.targets[0], node.value
        function = source.function_around(node)
        if function is None or not isinstance(target, ast.Tuple) or not isinstance(call, ast.Call):
            continue
        steps = last_name(call.func) == "update" or unparse(call.func) in pairs
        first = target.elts[0] if len(target.elts) == 2 else None
        if not steps or not isinstance(first, ast.Name) or not first.id.lstrip("_").startswith("update"):
            continue
        if not any(n.id == first.id and isinstance(n.ctx, ast.Load) for n in of(function, ast.Name)):
            return call
    return None


def _thrown_away(source: Script) -> ast.Call | None:
    """`grads = tape.gradient(loss, model.trainable_variables)` in a function that never reads `grads`."""
    for call in _taped(source):
        statement, scope = source.parents.get(call), source.function_around(call)
        if scope is None or not isinstance(statement, ast.Assign):
            continue
        names = {n.id for t in statement.targets for n in of(t, ast.Name)}
        plain = all(isinstance(t, ast.Name) for t in statement.targets)
        if plain and not any(n.id in names and isinstance(n.ctx, ast.Load) for n in of(scope, ast.Name)):
            return call
    return None


def _taped(source: Script) -> tuple[ast.Call, ...]:
    """`grads = tape.gradient(loss, model.trainable_variables)`: gradients of weights, to be applied."""
    return tuple(
        c
        for c in source.named("gradient")
        if len(c.args) > 1 and re.search(r"trainable_(?:variables|weights)", unparse(c.args[1]))
    )


def _never_steps(source: Script, one: Round) -> Finding | None:
    """A function clears an optimizer's gradients and takes new ones, and nothing around it steps."""
    function = source.function_around(one.backward)
    clears = [
        c
        for c in source.named(*CLEARS)
        if source.function_around(c) is function and re.search(r"opt", source.owner(c).lower())
    ]
    if not clears or not one.repeated or imports_locals(source):
        return None
    steps = [c for c in source.named("step") if not _MOVES_NO_WEIGHT.search(source.owner(c).lower())]
    if any(n in one.nodes for n in (*source.steps, *steps)) or may_update(source, one):
        return None
    if any(isinstance(n, ast.Attribute) and n.attr == "grad" for n in one.nodes):
        return None  # the weights may be moved by hand
    return at(source, one.backward, "gradients are cleared and taken here, and nothing steps")
