"""The training step in scripts: clearing, stepping, modes, schedule, accumulation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from ..engine.model import State
from .code import (
    at,
    extractor,
    first,
    imports_locals,
    is_evaluation,
    is_false,
    is_false_node,
    ok,
    outer_loop,
    runs_in,
)
from .code_rounds import CLEARS, Round, clearings, may_update, rounds, turn_of
from .flow import flow
from .readers._tree import unparse, walk
from .readers.script import keyword, last_name
from .registry import Finding, View, any_of, probe
from .syntax import Script


@probe()
def gradients_not_cleared(view: View) -> Finding:
    """Backward and step in a loop, and nothing that clears gradients (or only outside that loop).

    False positive: gradients cleared by a helper of another file.
    """
    return first(view, _not_cleared, "no hand-written training step in the scripts")


def _not_cleared(source: Script) -> Finding | None:
    if not source.trains_by_hand or source.train_scope is None:
        return None
    clears = list(source.named(*CLEARS))
    clears_by_hand = _cleared_by_hand(source)
    if any(_is_engine(source, c) for c in source.backwards) or not source.named("backward"):
        return None  # DeepSpeed's engines and functional gradients clear by themselves
    for one in rounds(source):
        if (found := _piles_up(source, one)) is not None:
            return found
    if not clears and not clears_by_hand:
        if imports_locals(source) or outer_loop(source) is None:
            return None
        return at(source, source.backwards[0], "gradients pile up: no call clears them")
    loop = source.train_loop
    if loop is not None and clears and not clears_by_hand:
        inside = [c for c in clears if loop in source.loops_around(c)]
        steps_inside = [s for s in source.steps if loop in source.loops_around(s)]
        in_helpers = [c for c in clears if source.function_around(c) is not source.function_around(loop)]
        if not inside and steps_inside and not in_helpers:
            return at(source, clears[0], _OUTSIDE)
    return ok(source, (clears or clears_by_hand)[0], "gradients are cleared in the training step")


_OUTSIDE = "gradients are cleared outside the loop that steps, so they pile up inside it"


def _piles_up(source: Script, one: Round) -> Finding | None:
    """Nothing around a step clears gradients, or only what stands before the loop that steps."""
    if not one.steps or may_update(source, one):
        return None
    clears = clearings(source, one)
    if not clears:
        if one.repeated and not imports_locals(source):
            return at(source, one.backward, "gradients pile up: nothing around this step clears them")
        return None
    loops = source.loops_around(one.backward)
    if not loops or not any(loops[0] in source.loops_around(s) for s in one.steps):
        return None
    around = source.function_around(one.backward)
    turn = turn_of(source, loops[0])
    if all(c not in turn and source.function_around(c) is around for c in clears):
        return at(source, clears[0], _OUTSIDE)
    return None


def _cleared_by_hand(source: Script) -> list[ast.stmt | ast.expr]:
    """`p.grad = None`, `p.grad.zero_()`, `p.grad.fill_(0)`, `p.grad *= 0`."""
    found: list[ast.stmt | ast.expr] = []
    for node in source.nodes:
        if isinstance(node, ast.Assign):
            nothing = isinstance(node.value, ast.Constant) or last_name(node.value).startswith("zeros")
            if isinstance(node.value, ast.Call):
                nothing = last_name(node.value.func) in ("zeros_like", "zeros")
            if nothing and any(".grad" in unparse(t) for t in node.targets):
                found.append(node)
        elif isinstance(node, ast.Call) and last_name(node.func) in ("zero_", "fill_", "mul_"):
            if source.owner(node).endswith((".grad", ".grad.data")):
                found.append(node)
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Mult):
            if ".grad" in unparse(node.target):
                found.append(node)
    return found


def _is_engine(source: Script, call: ast.Call) -> bool:
    """`engine.backward(loss)` of DeepSpeed, whose step clears the gradients."""
    owner = source.owner(call).lower()
    return bool(call.args) and ("engine" in owner or "deepspeed" in source.text)


@probe()
def cleared_before_step(view: View) -> Finding:
    """zero_grad stands after backward and before step in one block of statements."""
    return first(view, _cleared_early, "no hand-written training step in the scripts")


def _cleared_early(source: Script) -> Finding | None:
    clears = [*source.named(*CLEARS), *(c for c in _cleared_by_hand(source) if _in_turn(source, c))]
    if not source.trains_by_hand or not clears:
        return None
    judged = None
    for backward in source.backwards:
        scope = source.function_around(backward) or source.tree
        loops = source.loops_around(backward)
        mine = [b for b in source.backwards if source.function_around(b) is source.function_around(backward)]
        if len(mine) > 1 or (scope is source.tree and len(source.backwards) > 1 and not loops):
            continue  # several objectives (GAN) interleave on purpose
        judged = judged or backward
        inside = set(walk(scope))
        steps = [c for c in source.steps if c in inside and _position(c) > _position(backward)]
        late = [c for c in clears if c in inside and _position(c) > _position(backward)]
        same = [c for c in late if source.loops_around(c)[-len(loops) :] == loops or not loops]
        same = [c for c in same if not _other_branch(source, c, backward)]
        if steps and same and min(map(_position, same)) < min(map(_position, steps)):
            return at(source, same[0], "gradients are cleared between backward and the optimizer step")
        if (early := _stepped_early(source, backward, clears)) is not None:
            return at(
                source, early, "the step stands before backward, and the next round clears the gradients"
            )
    return ok(source, judged, "gradients are not cleared between backward and step") if judged else None


def _stepped_early(
    source: Script, backward: ast.Call, clears: Sequence[ast.expr | ast.stmt]
) -> ast.Call | None:
    """clear, step, backward in one turn of a loop: the step never meets a gradient.

    `step, clear, backward` is an update that is put off by one batch.
    """
    block = source.statement(backward)
    loop = source.loops_around(backward)[:1]
    if not loop or block is None or block not in source.parents or source.parents[block] is not loop[0]:
        return None
    inside = set(walk(loop[0]))
    steps = [s for s in source.steps if s in inside]
    here = [s for s in steps if (b := source.statement(s)) is not None and source.parents.get(b) is loop[0]]
    if not steps or len(here) != len(steps) or any(s.lineno > backward.lineno for s in steps):
        return None
    mine = [c for c in clears if c in inside and c.lineno < backward.lineno]
    late = [c for c in clears if c in inside and c not in mine]
    first = min((c.lineno for c in mine), default=None)
    plain = all(source.parents.get(source.statement(c) or c) is loop[0] for c in mine)
    return steps[0] if plain and not late and first is not None and first < steps[0].lineno else None


def _in_turn(source: Script, clear: ast.stmt | ast.expr) -> bool:
    """Cleared by hand, gradients are the model's where a loop goes over them: not `adv.grad.zero_()`."""
    about = unparse(clear).partition(".grad")[0]
    return any(
        isinstance(loop, (ast.For, ast.comprehension)) and unparse(loop.target).endswith(about.split(".")[0])
        for loop in source.above(clear)
    )


def _other_branch(source: Script, node: ast.AST, backward: ast.AST) -> bool:
    """The node stands under a condition that backward does not stand under."""
    around = set(source.above(backward))
    return any(
        isinstance(p, (ast.If, ast.Try, ast.ExceptHandler)) and p not in around and not _about_grad(p)
        for p in source.above(node)
    )


def _about_grad(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ".grad" in unparse(node.test)


def _position(node: ast.expr | ast.stmt) -> tuple[int, int]:
    return node.lineno, node.col_offset


@probe()
def step_once_per_epoch(view: View) -> Finding:
    """The loop over batches clears gradients and calls backward, and the step comes after that loop.

    Only the last batch of each epoch counts. Gradients that pile up on purpose are not cleared in between.
    """
    return first(view, once_per_epoch, "no hand-written training step in the scripts")


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
    made = [n for n in source.nodes if isinstance(n, ast.Assign) and n.value in source.optimizer_calls]
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
    return first(view, _step_missing, "no hand-written training step in the scripts")


def _step_missing(source: Script) -> Finding | None:
    for one in rounds(source):
        if (found := _never_steps(source, one)) is not None:
            return found
    if (unused := _thrown_away(source)) is not None:
        return at(source, unused, "gradients of the weights are taken here, and nothing is done with them")
    functional = source.named("value_and_grad") or _taped(source)
    if not source.optimizer_calls or not (source.backwards or functional):
        return None
    if source.backwards and outer_loop(source) is None:
        return None
    if source.steps:
        return ok(source, source.steps[0], "the optimizer steps")
    applied = [c for c in source.calls if unparse(c.func).lower() in source.optimizers]
    if applied or source.named("apply_gradients", "update_step"):
        return ok(
            source, (applied or source.named("apply_gradients", "update_step"))[0], "the optimizer steps"
        )
    by_hand = ".grad" in source.text and any(w in source.text for w in ("-=", "sub_(", "add_(", "add(", "- "))
    others = [c for c in source.named("step", "update") if isinstance(c.func, ast.Attribute)]
    if by_hand or others or imports_locals(source) or source.trains_by_trainer:
        return None
    return at(source, (*source.backwards, *functional)[0], "an optimizer is built and never steps")


def _thrown_away(source: Script) -> ast.Call | None:
    """`grads = tape.gradient(loss, model.trainable_variables)` in a function that never reads `grads`."""
    for call in _taped(source):
        statement, scope = source.parents.get(call), source.function_around(call)
        if scope is None or not isinstance(statement, ast.Assign):
            continue
        names = {n.id for t in statement.targets for n in walk(t) if isinstance(n, ast.Name)}
        plain = all(isinstance(t, ast.Name) for t in statement.targets)
        if plain and not any(
            isinstance(n, ast.Name) and n.id in names and isinstance(n.ctx, ast.Load) for n in walk(scope)
        ):
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
    if any(n in one.nodes for n in (*source.steps, *source.named("step"))) or may_update(source, one):
        return None
    if any(isinstance(n, ast.Attribute) and n.attr == "grad" for n in one.nodes):
        return None  # the weights may be moved by hand
    return at(source, one.backward, "gradients are cleared and taken here, and nothing steps")


@probe()
def eval_mode_while_training(view: View) -> Finding:
    """`.eval()` is called in or before the epoch loop and `.train()` never brings the model back.

    False positive: a frozen teacher or feature extractor that is put into eval mode on purpose.
    """
    return first(view, _eval_while_training, "the scripts never switch the model's mode")


_COPIES = (
    "teacher",
    "dist_model",
    "distil",
    "ema",
    "vgg",
    "ref",
    "target",
    "old",
    "lpips",
    "percept",
    "reward",
)


def _eval_while_training(source: Script) -> Finding | None:
    if source.trains and not source.backwards:
        return _functional_mode(source)
    taped = _mode_under_tape(source) if source.named("GradientTape") else None
    if taped is not None and taped.state is State.PRESENT:
        return taped
    switches = [c for c in (switch_of(source, call) for call in source.calls) if c is not None]
    switches = [(c, on) for c, on in switches if not _is_copy(source, c)]
    evals, trains = [c for c, on in switches if not on], [c for c, on in switches if on]
    if not source.trains_by_hand or not evals:
        return None
    epoch_loop = outer_loop(source)
    if epoch_loop is None:
        return None
    if trains and all(_trains_first(source, b, trains, evals) for b in source.backwards):
        return ok(source, trains[0], "the function that trains puts the model into training mode itself")
    last = _last_before_training(source, switches)
    if last is not None and not last[1]:
        return at(source, last[0], "the model is put into evaluation mode right before it trains")
    if trains and any(runs_in(source, c, epoch_loop) for c in trains):
        return ok(source, trains[0], "the model is put back into training mode in each epoch")
    evals = [c for c in evals if not _is_finished(source, c)]
    reached = [c for c in evals if runs_in(source, c, epoch_loop) or _before(source, c, epoch_loop)]
    if reached:
        return at(
            source, reached[0], "the model is put into evaluation mode and never back before training goes on"
        )
    return None


def _is_finished(source: Script, switch: ast.Call) -> bool:
    """The model was made and trained in the same function, above: the next one starts anew."""
    function = source.function_around(switch)
    owner = switch.func.value if isinstance(switch.func, ast.Attribute) else None
    given = flow(source).given(owner) if isinstance(owner, ast.Name) else None
    if function is None or given is None or source.function_around(given.statement) is not function:
        return False
    mine = set(source.loops_around(switch))
    made = source.loops_around(given.statement)
    above = [b for b in source.backwards if source.function_around(b) is function]
    return bool(above) and all(
        b.lineno < switch.lineno and not (mine & set(source.loops_around(b))) - set(made) for b in above
    )


def _trains_first(source: Script, backward: ast.Call, trains: list[ast.Call], evals: list[ast.Call]) -> bool:
    """Training mode is set in the function of a backward call before it; nothing evaluates in between."""
    around = source.function_around(backward)
    loops = source.loops_around(backward)
    for switch in trains:
        if source.function_around(switch) is not around or switch.lineno > backward.lineno or around is None:
            continue
        mine = source.loops_around(switch)
        if mine == loops:
            return True
        if mine == loops[1:] and not any(runs_in(source, e, loops[0], depth=1) for e in evals):
            return True
    return False


def switch_of(source: Script, call: ast.Call) -> tuple[ast.Call, bool] | None:
    """A call that switches a module's mode, and to which: `.train()`, `.train(False)`, `.eval()`.

    A method of the same name of the script's own trainer (`self.train()`) is none.
    """
    name = last_name(call.func)
    if not isinstance(call.func, ast.Attribute) or name not in ("train", "eval", "set_train"):
        return None
    owner = call.func.value
    if isinstance(owner, ast.Name) and owner.id == "self":
        around = source.class_around(call)
        if around is not None and around not in source.modules:
            return None
    made = flow(source).made(owner)
    own = (f for f in made.body if isinstance(f, ast.FunctionDef)) if made is not None else ()
    if any(f.name == name and f"super().{name}(" not in unparse(f) for f in own):
        return None
    given = [*call.args, *(k.value for k in call.keywords if k.arg == "mode")]
    if name == "eval":
        return (call, False) if not given else None
    if given and not isinstance(given[0], ast.Constant):
        return None
    return call, not (given and is_false_node(given[0]))


def _is_copy(source: Script, call: ast.Call) -> bool:
    """The mode is that of a teacher, a copy, a model that only measures, or a part that is looped over."""
    if any(w in source.owner(call).lower() for w in _COPIES) or _of_another(source, call):
        return True
    owner = call.func.value if isinstance(call.func, ast.Attribute) else call
    if _restored(source, call):
        return True
    parent = source.parents.get(call)
    while isinstance(parent, (ast.Attribute, ast.Call)):  # `.eval().requires_grad_(False)`
        parent = source.parents.get(parent)
    if isinstance(parent, ast.Assign):  # `teacher = deepcopy(model).eval()`
        while isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute):
            if last_name(owner.func) in ("deepcopy", "copy"):
                return True
            owner = owner.func.value  # `deepcopy(model).to(device).eval()`
        if isinstance(owner, ast.Call) and last_name(owner.func) in ("deepcopy", "copy"):
            return True
        if any(w in unparse(t).lower() for t in parent.targets for w in _COPIES):
            return True
    loops = [p for p in source.above(call) if isinstance(p, ast.For)]
    return isinstance(owner, ast.Name) and any(
        isinstance(n, ast.Name) and n.id == owner.id for loop in loops for n in walk(loop.target)
    )


def _restored(source: Script, call: ast.Call) -> bool:
    """The function puts the mode back that it found: `was = net.training` ... `net.train(was)`."""
    function = source.function_around(call)
    return any(
        source.owner(c) == source.owner(call)
        and any(not isinstance(a, ast.Constant) for a in (*c.args, *(k.value for k in c.keywords)))
        and source.function_around(c) is function
        and c.lineno > call.lineno
        for c in source.named("train", "set_train")
    )


def _of_another(source: Script, call: ast.Call) -> bool:
    """A part of an object that trains nothing (`self.inception.eval()` of what measures quality)."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    around = source.class_around(call)
    function = source.function_around(call)
    loop = source.train_loop
    if isinstance(owner, ast.Name) and loop is not None and function is source.function_around(loop):
        # a model that the training loop does not run: it only prepared what is trained on
        return not any(isinstance(n, ast.Name) and n.id == owner.id for n in walk(loop))
    if around is None or not isinstance(owner, ast.Attribute):
        return False
    root = unparse(owner).split(".")[0]
    if function is not None and root in {a.arg for a in function.args.args} - {"self", "cls"}:
        return True  # `strategy.model.eval()`: who trains that one sets its mode
    if unparse(owner.value) != "self":
        return False
    trains = any(around in source.above(c) for c in (*source.backwards, *source.steps))
    name = owner.attr
    elsewhere = [
        n
        for n in source.mentions.get(name, ())
        if isinstance(n, ast.Attribute) and around not in source.above(n)
    ]
    return not trains and not elsewhere


def _last_before_training(
    source: Script, switches: list[tuple[ast.Call, bool]]
) -> tuple[ast.Call, bool] | None:
    """The last switch above the training loop, in the same function, whatever else happens."""
    loop = source.train_loop or outer_loop(source)
    if source.train_loop is None:  # the step stands in a function: look at the loop that calls it
        function = source.train_scope
        calls = source.named(function.name) if isinstance(function, ast.FunctionDef) else ()
        loop = next((loops[0] for c in calls if (loops := source.loops_around(c))), None)
    if loop is None:
        return None
    around = set(source.above(loop)) | {loop}
    before = [
        (c, on)
        for c, on in switches
        if source.function_around(c) is source.function_around(loop)
        and c.lineno < getattr(loop, "lineno", 0)
        and source.loops_around(c) == source.loops_around(loop)
        and not any(isinstance(p, ast.If) and p not in around for p in source.above(c))
    ]
    return before[-1] if before else None


def _functional_mode(source: Script) -> Finding | None:
    """Mode in functional training: `model(x, training=False)` under a tape, `net.set_train(False)`."""
    if (found := _mode_under_tape(source)) is not None:
        return found
    modes = source.named("set_train")
    if (left := _left_in_evaluation(source, modes)) is not None:
        return at(
            source, left, "the evaluation leaves the model in its mode, and the next epoch trains in it"
        )
    loops = [c for c in modes if source.loops_around(c) or len(modes) == 1]
    if loops and all(is_false(c) for c in loops):
        return at(source, loops[0], "the model is put into evaluation mode and trains in it")
    return ok(source, modes[0], "the model is put into training mode") if modes else None


def _left_in_evaluation(source: Script, modes: tuple[ast.Call, ...]) -> ast.Call | None:
    """MindSpore: the loop that takes gradients switches to evaluation, and nothing in it switches back."""
    taken = {
        unparse(t)
        for n in source.nodes
        if isinstance(n, ast.Assign) and isinstance(n.value, ast.Call)
        if last_name(n.value.func) in ("value_and_grad", "TrainOneStepCell", "TrainOneStepWithLossScaleCell")
        for t in n.targets
    }
    trains = [c for c in source.calls if unparse(c.func) in taken]
    for call in modes if trains and not source.loose else ():
        if not is_false(call):
            continue
        for loop in (n for n in source.nodes if isinstance(n, (ast.For, ast.While))):
            if not any(runs_in(source, t, loop) for t in trains) or not runs_in(source, call, loop):
                continue
            back = [m for m in modes if not is_false(m) and runs_in(source, m, loop)]
            return None if back else call
    return None


def _mode_under_tape(source: Script) -> Finding | None:
    """The mode of the model under each tape whose gradients are applied."""
    seen = None
    for block in source.nodes:
        if not (isinstance(block, ast.With) and "GradientTape" in unparse(block.items[0].context_expr)):
            continue
        calls = [c for c in walk(block) if isinstance(c, ast.Call) and keyword(c, "training") is not None]
        off = [c for c in calls if (given := keyword(c, "training")) is not None and is_false_node(given)]
        if calls and len(off) == len(calls) and _applies(source, block):
            return at(source, off[0], "the model is run in evaluation mode where its gradient is taken")
        bare = next((c for c in walk(block) if isinstance(c, ast.Call) and _mode_left_open(source, c)), None)
        if bare is not None and not calls and _applies(source, block):
            return at(source, bare, "nothing tells the model that it trains where its gradient is taken")
        seen = seen or (calls[0] if calls else None)
    return ok(source, seen, "the model is run in training mode where its gradient is taken") if seen else None


def _mode_left_open(source: Script, call: ast.Call) -> bool:
    """A Keras model that drops or normalises is called without `training=`, whose default is off.

    Not within a model's own `call`: what is called there takes the mode of the call around it.
    """
    if len(call.args) != 1 or any(k.arg is None for k in call.keywords) or last_name(call.func)[:1].isupper():
        return False
    if not source.named("Dropout", "BatchNormalization", "SpatialDropout2D", "GaussianDropout"):
        return False
    function = source.function_around(call)
    around = source.class_around(call)
    if function in source.forwards or (
        function is not None and function.name == "train_step" and around in source.modules
    ):
        return False  # `train_step` of a Keras model is run by `fit`
    made = flow(source).made(call.func)
    if made is None:
        built = flow(source).values(call.func, 4) if isinstance(call.func, (ast.Name, ast.Attribute)) else []
        return bool(built) and all(
            isinstance(b, ast.Call)
            and unparse(b.func).endswith(("Sequential", "keras.Model", "models.Model"))
            for b in built
        )
    for own in (f for f in made.body if isinstance(f, ast.FunctionDef) and f.name == "call"):
        plain, defaults = own.args.args, own.args.defaults
        told = dict(zip([a.arg for a in plain][len(plain) - len(defaults) :], defaults, strict=True))
        default = told.get("training")
        return isinstance(default, ast.Constant) and not default.value
    return False


def _applies(source: Script, tape: ast.With) -> bool:
    """The function, or the model's class, around a tape updates weights: no gradient of an attack."""
    around = [source.function_around(tape), *(p for p in source.above(tape) if isinstance(p, ast.ClassDef))]
    scopes = [a for a in around if a is not None and (isinstance(a, ast.FunctionDef) or a in source.modules)]
    updates = source.named("apply_gradients", "minimize", "apply")
    return not scopes or any(scope in source.above(c) for c in updates for scope in scopes)


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
    evaluates = [c for c in source.named("no_grad", "inference_mode") if _measures(source, c)]
    if not source.trains_by_hand or not modal or not evaluates:
        return None
    if source.named("eval") or re.search(
        r"train(?:ing|_mode)?\([^()]*\bFalse\)|eval(?:uation)?_mode", source.text
    ):
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


def _measures(source: Script, switch: ast.Call) -> bool:
    """What runs without gradients may be an evaluation: it is no part of the training step or of a module.

    A block inside the forward pass, or a function that goes through weights, keeps an average or a teacher.
    """
    outer = source.parents.get(switch)
    decorated = isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef))
    block = outer if decorated else next((p for p in source.above(switch) if isinstance(p, ast.With)), None)
    if block is None:
        return True
    function = block if decorated else source.function_around(block)
    if function is not None and function in source.forwards:
        return False
    if any(isinstance(p, ast.ClassDef) and p in source.modules for p in source.above(block)):
        return not source.loss_methods and is_evaluation(source, block)
    called = {last_name(n.func) for n in walk(block) if isinstance(n, ast.Call)}
    weights = called & {"parameters", "named_parameters", "state_dict", "buffers"}
    return not (weights and not called & {"argmax", "item", "append"})


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


@probe()
def accumulation_not_divided(view: View) -> Finding:
    """The optimizer steps every N batches and the loss is not divided by N."""
    return first(view, _not_divided, "the scripts do not accumulate gradients by hand")


def _not_divided(source: Script) -> Finding | None:
    for node, count in _accumulates(source):
        divided = [
            n
            for n in source.nodes
            if isinstance(n, (ast.BinOp, ast.AugAssign))
            and isinstance(n.op, ast.Div)
            and unparse(n.right if isinstance(n, ast.BinOp) else n.value) == count
            and ".item()" not in unparse(n)  # a figure for the log
        ]
        if divided:
            return ok(source, divided[0], f"the loss is divided by {count}")
        if _scales_gradients(source) or any(_by_engine(source, c) for c in source.backwards):
            return None  # by the number of tokens or samples, as it seems
        if _handed_on(source, count):
            return None
        if any(_joins_all(loop) for b in source.backwards for loop in source.loops_around(b)[:1]):
            return None
        return at(
            source, node, f"the optimizer steps every {count} batches and the loss is not divided by {count}"
        )
    return None


def _handed_on(source: Script, count: str) -> bool:
    """The number of batches is given to something that may divide by it: `normalize(loss, parts=count)`."""
    return any(
        unparse(given) == count
        for call in source.calls
        if re.search(r"(?i)normali[sz]e|average|divide|scale|reduce|distributed", last_name(call.func))
        for given in (*call.args, *(k.value for k in call.keywords))
    )


def _joins_all(loop: ast.AST) -> bool:
    """`cat(kept[:j] + [mine] + kept[j + 1:])`: each loss is that of all batches, and reaches one of them."""
    return any(
        isinstance(n, ast.Call)
        and last_name(n.func) in ("cat", "concat", "concatenate")
        and bool(n.args)
        and isinstance(n.args[0], ast.BinOp)
        and any(isinstance(part, ast.Slice) for part in walk(n.args[0]))
        for n in walk(loop)
    )


def _by_engine(source: Script, call: ast.Call) -> bool:
    """`accelerator.backward(loss)`: engines divide by the number of batches that they were told."""
    return any(w in source.owner(call).lower() for w in ("accelerator", "engine", "fabric"))


def _scales_gradients(source: Script) -> bool:
    """Gradients are multiplied or divided after backward: `scale_grads(model, 1 / tokens)`, `p.grad /= n`."""
    for node in source.nodes:
        if isinstance(node, ast.Call) and _SCALES.search(last_name(node.func)):
            return True
        if isinstance(node, ast.Call) and last_name(node.func) in ("mul_", "div_"):
            if ".grad" in source.owner(node):
                return True
        if isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Mult, ast.Div)):
            if ".grad" in unparse(node.target):
                return True
    return False


_SCALES = re.compile(r"(?i)(?:scale|multiply|divide|normali[sz]e|average)_?grad")


def _reports(count: ast.expr) -> bool:
    """How often something is logged or saved, which is no number of accumulated batches."""
    return any(w in unparse(count).lower() for w in ("log", "print", "eval", "save", "report", "display"))


def _accumulates(source: Script) -> Iterator[tuple[ast.AST, str]]:
    """Where the optimizer steps once for several backward calls, and for how many, as written."""
    for step in source.steps:
        for parent in source.above(step):
            if isinstance(parent, ast.If) and not any(parent in source.above(b) for b in source.backwards):
                for gate in walk(parent.test):
                    if (
                        isinstance(gate, ast.BinOp)
                        and isinstance(gate.op, ast.Mod)
                        and not _reports(gate.right)
                    ):
                        yield step, unparse(gate.right)
    for backward in source.backwards:
        loops = source.loops_around(backward)
        over = loops[0].iter if loops and isinstance(loops[0], ast.For) else None
        if isinstance(over, ast.Call) and last_name(over.func) == "range" and len(over.args) == 1:
            outside = [s for s in source.steps if loops[0] not in source.loops_around(s)]
            count = unparse(over.args[0])
            if outside and any(w in count.lower() for w in ("accum", "micro")):
                yield backward, count
