"""The lengths of schedules in scripts: counted in epochs or batches, and moved with the one or the other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from ...readers._tree import of, unparse, walk
from ...readers.script import SCHEDULERS, all_arguments, argument, keyword, last_name
from ...registry import Finding, View, probe
from ...rehearsal.judges import shows
from ...scripts.flow import flow
from ...scripts.syntax import Function, Loop, Script
from ..shared.checks import at, first, ok
from ..shared.sides import either
from ..shared.units import EPOCH, STEP, chain, loops_of_step, runs_per, unit
from ..tensorflow.graph import decay_of_epochs
from ..tensorflow.tape_parts import rates_that_rise
from ..trainers.configured import warmup_in_configuration
from ..trainers.deepspeed import length_in_micro_batches, schedule_moved_again, warmup_longer_in_configuration
from ..trainers.hooks import lightning
from .computed import course_misjudged
from .course import asked_of, sets_rate
from .formulas import RATE_NAME
from .of_fit import fit_misjudged
from .of_loaders import counted_by_other_loader
from .order import moved_before_update
from .rate_lists import rate_list_misjudged
from .rate_units import length_misjudged
from .tf_lengths import epochs_as_steps, steps_of_samples, warmup_outlasts_training
from .torch_lengths import (
    begins_after_training,
    counts_passes,
    gone_too_soon,
    holders,
    kept_as,
    plateau_of_batches,
    swings_back,
)
from .trainer_schedules import moves as trainer_moves
from .trainer_schedules import rate_for_factor, trainers_schedule, warmup_of_all
from .written import settings_slipped

_LENGTHS: dict[str, tuple[int, tuple[str, ...]]] = {
    "cosineannealinglr": (1, ("T_max",)),
    "onecyclelr": (9, ("total_steps",)),
    "linearlr": (3, ("total_iters",)),
    "polynomiallr": (1, ("total_iters",)),
    "get_linear_schedule_with_warmup": (2, ("num_training_steps",)),
    "get_cosine_schedule_with_warmup": (2, ("num_training_steps",)),
    "get_polynomial_decay_schedule_with_warmup": (2, ("num_training_steps",)),
    "get_scheduler": (9, ("num_training_steps",)),
}


_PER_STEP = (
    *("CosineDecay", "PolynomialDecay", "ExponentialDecay", "CosineDecayRestarts", "InverseTimeDecay"),
    *("CosineDecayLR", "PolynomialDecayLR", "WarmUpLR"),
)
# of optax: asked with each update, whoever makes them
_OPTAX = ("warmup_cosine_decay_schedule", "cosine_decay_schedule", "warmup_exponential_decay_schedule")


# lists of MindSpore with one rate for each step of the optimizer
_LISTED = {
    **dict.fromkeys(("cosine_decay_lr", "exponential_decay_lr", "natural_exp_decay_lr"), 2),
    **dict.fromkeys(("inverse_decay_lr", "polynomial_decay_lr"), 2),
    "warmup_lr": 1,
}


@probe()
def unit_wrong(view: View) -> Finding:
    """A schedule's length counts epochs and it moves with every step, or the other way round.

    The length is followed through names, settings and the function of a LambdaLR. False positive: a setting
    whose name says epochs and whose value counts steps.
    """
    return first(
        view,
        either(
            _unit_wrong,
            decay_of_epochs,
            length_misjudged,
            schedule_moved_again,
            moved_before_update,
            partial(length_in_micro_batches, view),
            trainers_schedule,
            warmup_of_all,
            rate_for_factor,
            partial(warmup_longer_in_configuration, view),
            partial(warmup_in_configuration, view),
            warmup_outlasts_training,
            begins_after_training,
            gone_too_soon,
            swings_back,
            plateau_of_batches,
            steps_of_samples,
            epochs_as_steps,
            rate_list_misjudged,
            rates_that_rise,
            course_misjudged,
            settings_slipped,
            fit_misjudged,
            counted_by_other_loader,
            shows("schedule-unit"),
        ),
        "the scripts build no schedule whose length and loop can be told",
    )


def _unit_wrong(source: Script) -> Finding | None:
    judged, fit = None, set()
    for node, counts, moves in _schedules(source):
        if counts is None or moves is None:
            continue
        fit |= {node} if counts == moves else set()
        judged = judged or node
        if counts != moves:
            words = {EPOCH: "epochs", STEP: "steps"}
            return at(
                source, node, f"this schedule's length is in {words[counts]} and it moves with every {moves}"
            )
    for call in source.calls:
        if moved_in_inner_rounds(source, call):
            return at(
                source,
                call,
                "its length is that of an outer loop, and it moves in each round of an inner one",
            )
    for node in _of_one_epoch(source):
        return at(source, node, "the schedule ends with the first epoch: its length is that of one")
    for node in _misnamed(source):
        if node not in fit:  # `total_steps` of a scheduler that moves once an epoch counts epochs
            return at(source, node, "a number of steps is given a number of epochs")
    return ok(source, judged, "the schedule moves in the unit of its length") if judged is not None else None


def _schedules(source: Script) -> Iterator[tuple[ast.AST, str | None, str | None]]:
    """Each schedule: where it is made or asked, what its length counts, with what it moves."""
    mine = flow(source)
    for call in source.calls:
        name = last_name(call.func)
        if _is_keras_schedule(source, name) and _asked_by_hand(source, call):
            continue
        if name in _OPTAX and "jax" in source.frameworks and not _asked_by_hand(source, call):
            counts = {unit(mine, g) for g in all_arguments(call)} - {None}
            steps = source.named("apply_updates", "apply_gradients", "update")
            if all(len(source.loops_around(s)) == 1 for s in steps):
                continue  # the rounds of one loop; or whoever steps may do so once an epoch
            yield call, EPOCH if counts == {EPOCH} and "batch" in source.code else STEP, STEP
        elif name in _PER_STEP or _is_keras_schedule(source, name):
            given = all_arguments(call)
            counts = {unit(mine, g) for g in given} - {None}
            yield call, EPOCH if EPOCH in counts else STEP if counts else None, STEP
        elif name in _LISTED and "mindspore" in source.frameworks and not _looked_up(source, call):
            place = _LISTED[name]
            total = call.args[place] if place < len(call.args) else keyword(call, "total_step")
            yield call, unit(mine, total) if total is not None else None, STEP
        elif name.lower() in SCHEDULERS or name.lower() in _LENGTHS:
            moves = moves_with(source, call)
            yield call, moves if _ends_with_its_loop(source, call) else _length(source, call), moves
    for function, call in _by_hand(source):
        asked = " ".join(unparse(a) for a in call.args)
        moves = runs_per(source, call)
        if "epoch" not in asked.lower() or moves == EPOCH:  # `lr_at(epoch + i / n)` moves with every step
            yield call, _closure(source, function), moves


def _asked_by_hand(source: Script, call: ast.Call) -> bool:
    """`LearningRateScheduler(lambda epoch: schedule(epoch))`, and no optimizer is given it."""
    parent = source.parents.get(call)
    names = {unparse(t) for t in parent.targets} if isinstance(parent, ast.Assign) else set()
    given = {unparse(n) for c in source.optimizer_calls for a in all_arguments(c) for n in of(a, ast.expr)}
    return bool(names) and not names & given and any(unparse(c.func) in names for c in source.calls)


def _looked_up(source: Script, call: ast.Call) -> bool:
    """The list is asked by hand: `rates[epoch]`."""
    parent = source.parents.get(call)
    names = {unparse(t) for t in parent.targets} if isinstance(parent, ast.Assign) else set()
    return not names or any(unparse(n.value) in names for n in source.of(ast.Subscript))


def _is_keras_schedule(source: Script, name: str) -> bool:
    owner = source.classes.get(name)
    return owner is not None and any(last_name(b) == "LearningRateSchedule" for b in owner.bases)


def _length(source: Script, call: ast.Call) -> str | None:
    mine, name = flow(source), last_name(call.func).lower()
    if name == "onecyclelr" and keyword(call, "steps_per_epoch") is not None:
        return STEP
    if name == "lambdalr":
        given = call.args[1] if len(call.args) > 1 else keyword(call, "lr_lambda")
        if isinstance(given, ast.Lambda):
            return _closure(source, given)
        functions = (
            mine.functions.get(last_name(given), []) if isinstance(given, (ast.Name, ast.Attribute)) else []
        )
        return _closure(source, functions[0]) if len(functions) == 1 else None
    given = _given_length(call)
    return unit(mine, given) if given is not None else None


def _ends_with_its_loop(source: Script, call: ast.Call) -> bool:
    """It moves once a round of `for _ in range(self.n_updates)`, and `self.n_updates` is its length.

    Whatever the name says, the length is that of the loop: rounds of collecting and learning, for one.
    """
    given = _given_length(call)
    if given is None:
        return False
    rounds = [source.loops_around(c)[:1] for c in _moving(source, call)]
    return bool(rounds) and all(r and _counts(r[0], given) for r in rounds)


def moved_in_inner_rounds(source: Script, call: ast.Call) -> bool:
    """`total_iters=self.rounds`, moved for each batch of each of `for _ in range(self.rounds)`."""
    given = _given_length(call)
    if not isinstance(given, (ast.Name, ast.Attribute)) or source.loose:
        return False
    for step in _moving(source, call):
        around = chain(source, step)
        tests = [p for p in source.above(step) if isinstance(p, (ast.If, ast.Try))]
        if not step.args and not tests and len(around) > 1 and not _counts(around[0], given):
            if any(_counts(p, given) for p in around[1:]):
                return True
    return False


def _moving(source: Script, call: ast.Call) -> list[ast.Call]:
    names = kept_as(source, call) | holders(source, call)
    return [c for c in source.named("step") if last_name(asked_of(c)) in names]


def _counts(loop: Loop, length: ast.expr) -> bool:
    """The loop has as many rounds as the expression says."""
    text = unparse(length)
    ends = {f"range({text})", f"range(0, {text})", f"range(1, {text} + 1)", f"trange({text})"}
    return isinstance(loop, ast.For) and unparse(loop.iter) in ends


def _given_length(call: ast.Call) -> ast.expr | None:
    name = last_name(call.func).lower()
    if name not in _LENGTHS:
        return None
    place, words = _LENGTHS[name]
    given = next((k for w in words if (k := keyword(call, w)) is not None), None)
    return given or argument(call, position=place)


def _closure(source: Script, function: ast.Lambda | Function) -> str | None:
    """What the numbers of a schedule's function count: those that it divides by or compares with."""
    mine = flow(source)
    own = {a.arg for a in function.args.args}
    found: set[str | None] = set()
    for node in walk(function):
        asked: list[ast.expr] = []
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            asked = [node.right]
        elif isinstance(node, ast.Compare):
            asked = list(node.comparators)
        for one in asked:
            if any(isinstance(n.op, ast.Mult) for n in of(one, ast.BinOp)):
                found.add(unit(mine, one))  # `epochs * len(loader)` counts what the product does
                continue
            for part in of(one, ast.Name, ast.Attribute):
                if not (isinstance(part, ast.Name) and part.id in own):
                    found.add(unit(mine, part))
    for call in of(
        function, ast.Call
    ):  # a function of the script is asked: `lambda s: factor(s, warmup, total)`
        if isinstance(call.func, ast.Name) and call.func.id in mine.functions:
            for given in all_arguments(call):
                if isinstance(given, (ast.Name, ast.Attribute, ast.BinOp)) and not own & {
                    n.id for n in of(given, ast.Name)
                }:
                    found.add(unit(mine, given))
    if _mixed(source, function):
        return EPOCH
    found -= {None}
    return found.pop() if len(found) == 1 else None


def _mixed(source: Script, function: ast.Lambda | Function) -> bool:
    """A number of steps is taken off a number of epochs: `total - warmup`, one of each."""
    mine = flow(source)
    return any(
        isinstance(n.op, ast.Sub) and {unit(mine, n.left), unit(mine, n.right)} == {EPOCH, STEP}
        for n in of(function, ast.BinOp)
    )


def moves_with(source: Script, call: ast.Call) -> str | None:
    """With what a scheduler moves: where `.step()` is called on it, or what a trainer is told."""
    owner, around = source.class_around(call), source.function_around(call)
    if (moved := trainer_moves(source, call)) is not None or owner in lightning(source):
        return moved
    if around is not None and around.name == "configure_optimizers" and not source.trains_by_hand:
        if "automatic_optimization" in source.text or "lr_scheduler_step" in source.text:
            return None
        text = unparse(around)
        return STEP if re.search(r"'interval': 'step'|interval='step'", text) else EPOCH
    names = kept_as(source, call) | holders(source, call)
    steps = [c for c in source.named("step") if last_name(asked_of(c)) in names]
    if len(_all_built(source)) == 1:
        steps = steps or [c for c in source.named("step") if re.search(r"sched|lr_", source.owner(c).lower())]
    found = {runs_per(source, c) for c in steps}
    return found.pop() if len(found) == 1 else None


def _all_built(source: Script) -> list[ast.Call]:
    return [c for c in source.calls if last_name(c.func).lower() in SCHEDULERS]


def _by_hand(source: Script) -> Iterator[tuple[Function, ast.Call]]:
    """Functions of the script that give a rate, with their calls that put it into the optimizer."""
    functions = flow(source).functions
    for call in source.calls:
        name = last_name(call.func)
        if name in functions and len(functions[name]) == 1 and RATE_NAME.search(name) and call.args:
            if _applied(source, call):
                yield functions[name][0], call


def _applied(source: Script, call: ast.Call) -> bool:
    """`g["lr"] = lr_at(step)`, directly or by way of a name."""
    statement = source.statement(call)
    if not isinstance(statement, ast.Assign):
        return False
    if sets_rate(statement):
        return True
    names = {unparse(t) for t in statement.targets}
    scope = source.function_around(call) or source.tree
    return any(
        sets_rate(n) and names & {unparse(v) for v in of(n.value, ast.expr)} for n in of(scope, ast.Assign)
    )


_COUNTS_STEPS = re.compile(
    r"^(?:total|max|num|n|warmup|decay|training|train|num_training|num_warmup)_(?:steps|iters?|iterations|updates)$"
    r"|^(?:iterations|decay_steps|total_steps)$"
)


def _misnamed(source: Script) -> Iterator[ast.AST]:
    """`total_steps = epochs`: a name that counts steps is given a bare number of epochs."""
    if not _in_batches(source):
        return
    for node in source.of(ast.Assign, ast.Call):
        pairs: list[tuple[str, ast.expr, ast.AST]] = []
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Name, ast.Attribute)):
            pairs = [(last_name(node.targets[0]), node.value, node)]
        elif isinstance(node, ast.Call):
            if last_name(node.func).lower() in SCHEDULERS or "scheduler" in last_name(node.func).lower():
                continue  # what it counts depends on where it moves
            if _is_solver(source, node):
                continue
            if any(k.arg in ("step", "global_step") and _bare_epochs(source, k.value) for k in node.keywords):
                continue  # the function is handed epochs for steps throughout
            pairs = [(k.arg, k.value, node) for k in node.keywords if k.arg]
        for name, value, place in pairs:
            if _COUNTS_STEPS.match(name.lower()) and _bare_epochs(source, value):
                if not counts_passes(source, name):
                    yield place


def _is_solver(source: Script, call: ast.Call) -> bool:
    """`LBFGS(weights, max_iter=epochs)`, `LogisticRegression(max_iter=epochs)`: a round sees all data."""
    name = last_name(call.func)
    return (
        call in source.optimizer_calls
        or re.search(r"LBFGS$|Regress|Classifier$|SV[CMR]$|Means$", name) is not None
    )


_WHOLE = re.compile(
    r"^(?:n_|num_|max_)?(?:total|training|train|decay|whole|all)(?:_num)?(?:_training)?"
    r"(?:_?(?:steps|iters?|iterations|updates|batches))?$|^max_(?:steps|iters?)$|^t_?max$"
)


# nothing is left of the rate once their length is over
_RUNS_OUT = ("PolynomialLR", "get_linear_schedule_with_warmup", "get_polynomial_decay_schedule_with_warmup")


def _of_one_epoch(source: Script) -> Iterator[ast.AST]:
    """`total = len(loader)`: the length of a schedule that moves with every step of several epochs.

    Also where the schedule is given it as it is, and ends there: `PolynomialLR(opt, len(loader))`.
    """
    trainer = any("LightningModule" in unparse(b) for c in source.classes.values() for b in c.bases)
    if not trainer and len(loops_of_step(source)) < 2:
        return
    if re.search(r"(?i)\bepochs?\w* *= *1\b", source.code):
        return  # one epoch may be all there is
    for call in source.calls:
        length = _given_length(call)
        if last_name(call.func) in _RUNS_OUT and length is not None:
            if (_batches_of_one(length) or _of_loader(source, length)) and moves_with(source, call) == STEP:
                yield call
    for node in source.of(ast.Assign):
        if not isinstance(node.targets[0], (ast.Name, ast.Attribute)):
            continue
        name = last_name(node.targets[0])
        if not _WHOLE.match(name.lower()) or not _batches_of_one(node.value):
            continue
        target = unparse(node.targets[0])
        given = [g for g in source.of(ast.Assign, ast.AugAssign) if _gives(g, target)]
        if len(given) == 1 and _shapes_rate(source, name):
            yield node


def _gives(node: ast.AST, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else []
    targets = [node.target] if isinstance(node, ast.AugAssign) else targets
    return any(unparse(t) == name for t in targets)


def _batches_of_one(value: ast.expr) -> bool:
    """`len(train_loader)`, `trainer.num_training_batches`."""
    while isinstance(value, ast.Call) and last_name(value.func) in ("int", "float", "max") and value.args:
        value = value.args[-1]
    if isinstance(value, ast.Call) and last_name(value.func) == "len" and value.args:
        return re.search(r"(?i)load|(?:^|_)dl$|batches|iterator", unparse(value.args[0])) is not None
    return isinstance(value, ast.Attribute) and value.attr == "num_training_batches"


def _of_loader(source: Script, value: ast.expr) -> bool:
    """`len(train)` of a name that holds a `DataLoader`."""
    given = (
        value.args[0]
        if isinstance(value, ast.Call) and last_name(value.func) == "len" and value.args
        else None
    )
    made = flow(source).values(given, 2) if given is not None else []
    return any(isinstance(m, ast.Call) and last_name(m.func) == "DataLoader" for m in made)


def _shapes_rate(source: Script, name: str) -> bool:
    """A scheduler that moves with every step has it for its length, or in the function of its rate."""
    functions = flow(source).functions
    for call in source.calls:
        kind = last_name(call.func).lower()
        if kind not in _LENGTHS and kind != "lambdalr":
            continue
        place, words = _LENGTHS.get(kind, (1, ("lr_lambda",)))
        given = next((k for w in words if (k := keyword(call, w)) is not None), None)
        given = given or argument(call, position=place)
        if given is None or kind == "linearlr" or moves_with(source, call) != STEP:
            continue
        inside: list[ast.AST] = [given]
        if kind == "lambdalr" and isinstance(given, (ast.Name, ast.Attribute)):
            inside += functions.get(last_name(given), [])
        if any(last_name(n) == name for i in inside for n in of(i, ast.Name, ast.Attribute)):
            return True
    return False


def _bare_epochs(source: Script, value: ast.expr) -> bool:
    while isinstance(value, ast.Call) and last_name(value.func) in ("int", "float") and value.args:
        value = value.args[0]
    if not isinstance(value, (ast.Name, ast.Attribute, ast.Subscript)):
        return False
    label = (
        value.slice.value
        if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant)
        else None
    )
    word = str(label) if label is not None else last_name(value)
    return bool(re.search(r"(?:^|_)epochs?(?:$|_size$)", word.lower())) and unit(flow(source), value) == EPOCH


def _in_batches(source: Script) -> bool:
    """An epoch has several steps: loops in one another, a loader, a data set that is batched."""
    return (
        len(loops_of_step(source)) > 1
        or bool(source.named("DataLoader", "batch"))
        or source.trains_by_trainer
    )
