"""The learning-rate schedule in scripts: its length, formula and direction, and whether it is applied."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from ...readers._tree import of, unparse, walk
from ...readers.script import SCHEDULERS, all_arguments, keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at, first, ok
from ..shared.sides import either
from ..shared.units import EPOCH, STEP, loops_of_step, runs_per, unit
from ..tensorflow.graph import decay_of_epochs
from ..tensorflow.graph_gradient import decay_stands
from ..tensorflow.session import rate_stands_in_graph
from ..tensorflow.slips import floor_above_rate, watched_metric_unknown
from ..trainers.deepspeed import length_in_micro_batches, schedule_moved_again, warmup_longer_in_configuration
from ..trainers.hooks import lightning
from .computed import course_misjudged
from .order import moved_before_update
from .rate_lists import rate_list_misjudged
from .rate_units import length_misjudged, stopped_before_lowered
from .tf_lengths import epochs_as_steps, steps_of_samples, warmup_outlasts_training
from .torch_lengths import (
    begins_after_training,
    counts_passes,
    gone_too_soon,
    holders,
    kept_as,
    plateau_of_batches,
)
from .trainer_schedules import moves as trainer_moves
from .trainer_schedules import rate_for_factor, trainers_schedule, warmup_of_all

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
# lists of MindSpore with one rate for each step of the optimizer
_LISTED = {
    **dict.fromkeys(("cosine_decay_lr", "exponential_decay_lr", "natural_exp_decay_lr"), 2),
    **dict.fromkeys(("inverse_decay_lr", "polynomial_decay_lr"), 2),
    "warmup_lr": 1,
}
_RATE = re.compile(
    r"(?:^|_)(?:lr|learning_?rate|sched\w*|warm_?up\w*|anneal\w*|cosine\w*)(?:_|$)", re.IGNORECASE
)
_BETTER = re.compile(
    r"(?:^|_)(?:acc\w*|f1|iou|miou|map|auc|auroc|score|bleu|rouge\w*|dice|recall|precision|r2|psnr|ssim)(?:_|$)",
    re.I,
)
_WORSE = re.compile(r"(?:^|_)(?:loss\w*|err\w*|mae|mse|rmse|wer|cer|ppl|perplexity|nll|fid)(?:_|$)", re.I)


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
            warmup_outlasts_training,
            begins_after_training,
            gone_too_soon,
            plateau_of_batches,
            steps_of_samples,
            epochs_as_steps,
            rate_list_misjudged,
            course_misjudged,
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
        if name in _PER_STEP or _is_keras_schedule(source, name):
            given = all_arguments(call)
            counts = {unit(mine, g) for g in given} - {None}
            yield call, EPOCH if EPOCH in counts else STEP if counts else None, STEP
        elif name in _LISTED and "mindspore" in source.frameworks and not _looked_up(source, call):
            place = _LISTED[name]
            total = call.args[place] if place < len(call.args) else keyword(call, "total_step")
            yield call, unit(mine, total) if total is not None else None, STEP
        elif name.lower() in SCHEDULERS or name.lower() in _LENGTHS:
            yield call, _length(source, call), moves_with(source, call)
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
    if name in _LENGTHS:
        place, words = _LENGTHS[name]
        given = next((k for w in words if (k := keyword(call, w)) is not None), None)
        given = given or (call.args[place] if place < len(call.args) else None)
        return unit(mine, given) if given is not None else None
    return None


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
    steps = [c for c in source.named("step") if last_name(_owner(c)) in names]
    if len(_all_built(source)) == 1:
        steps = steps or [c for c in source.named("step") if re.search(r"sched|lr_", source.owner(c).lower())]
    found = {runs_per(source, c) for c in steps}
    return found.pop() if len(found) == 1 else None


def _all_built(source: Script) -> list[ast.Call]:
    return [c for c in source.calls if last_name(c.func).lower() in SCHEDULERS]


def _owner(call: ast.Call) -> ast.expr:
    return call.func.value if isinstance(call.func, ast.Attribute) else call.func


def _by_hand(source: Script) -> Iterator[tuple[Function, ast.Call]]:
    """Functions of the script that give a rate, with their calls that put it into the optimizer."""
    functions = flow(source).functions
    for call in source.calls:
        name = last_name(call.func)
        if name in functions and len(functions[name]) == 1 and _RATE.search(name) and call.args:
            if _applied(source, call):
                yield functions[name][0], call


def _applied(source: Script, call: ast.Call) -> bool:
    """`g["lr"] = lr_at(step)`, directly or by way of a name."""
    statement = source.statement(call)
    if not isinstance(statement, ast.Assign):
        return False
    if _sets_rate(statement):
        return True
    names = {unparse(t) for t in statement.targets}
    scope = source.function_around(call) or source.tree
    return any(
        _sets_rate(n) and names & {unparse(v) for v in of(n.value, ast.expr)} for n in of(scope, ast.Assign)
    )


def _sets_rate(node: ast.Assign) -> bool:
    for target in node.targets:
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
            if target.slice.value in ("lr", "learning_rate"):
                return True
        if isinstance(target, ast.Attribute) and target.attr in ("lr", "learning_rate"):
            return True
    return False


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
            if last_name(node.func).lower() in SCHEDULERS or last_name(node.func).endswith("Scheduler"):
                continue  # what it counts depends on where it moves
            if any(k.arg in ("step", "global_step") and _bare_epochs(source, k.value) for k in node.keywords):
                continue  # the function is handed epochs for steps throughout
            pairs = [(k.arg, k.value, node) for k in node.keywords if k.arg]
        for name, value, place in pairs:
            if _COUNTS_STEPS.match(name.lower()) and _bare_epochs(source, value):
                if not counts_passes(source, name):
                    yield place


_WHOLE = re.compile(
    r"^(?:n_|num_|max_)?(?:total|training|train|decay|whole|all)(?:_num)?(?:_training)?"
    r"(?:_?(?:steps|iters?|iterations|updates|batches))?$|^max_(?:steps|iters?)$|^t_?max$"
)


def _of_one_epoch(source: Script) -> Iterator[ast.AST]:
    """`total = len(loader)`: the length of a schedule that moves with every step of several epochs."""
    trainer = any("LightningModule" in unparse(b) for c in source.classes.values() for b in c.bases)
    if not trainer and len(loops_of_step(source)) < 2:
        return
    if re.search(r"(?i)\bepochs?\w* *= *1\b", source.code):
        return  # one epoch may be all there is
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


def _shapes_rate(source: Script, name: str) -> bool:
    """A scheduler that moves with every step has it for its length, or in the function of its rate."""
    functions = flow(source).functions
    for call in source.calls:
        kind = last_name(call.func).lower()
        if kind not in _LENGTHS and kind != "lambdalr":
            continue
        place, words = _LENGTHS.get(kind, (1, ("lr_lambda",)))
        given = next((k for w in words if (k := keyword(call, w)) is not None), None)
        given = given or (call.args[place] if place < len(call.args) else None)
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


# ------------------------------------------------------------------------------------------- the formula


@probe()
def formula_wrong(view: View) -> Finding:
    """The progress after warm-up is divided by the warm-up's length instead of what is left.

    `(step - warmup) / warmup` passes one after a second warm-up and goes on, and a cosine of it swings. Or
    the cosine goes all the way round, `1 + cos(2 * pi * done)`, and ends at the rate that it began with.
    """
    return first(view, either(_formula, _whole_turn), "the scripts write out no schedule with a warm-up")


def _formula(source: Script) -> Finding | None:
    seen = None
    for function in _rate_functions(source):
        for node in of(function, ast.BinOp):
            if isinstance(node.op, ast.Div) and isinstance(node.left, ast.BinOp):
                if not isinstance(node.left.op, ast.Sub) or "warm" not in unparse(node.left.right).lower():
                    continue
                seen = seen or node
                floor = (
                    node.right.args
                    if isinstance(node.right, ast.Call) and last_name(node.right.func) == "max"
                    else []
                )
                over = [node.right, *floor]
                if any(unparse(o) == unparse(node.left.right) for o in over):
                    return at(
                        source, node, "the progress after warm-up is divided by the length of the warm-up"
                    )
    return (
        ok(source, seen, "the progress after warm-up is a share of what is left")
        if seen is not None
        else None
    )


def _whole_turn(source: Script) -> Finding | None:
    """A cosine decay over two pi: left aside are cycles and restarts, which say so."""
    for function in _rate_functions(source):
        if re.search(r"(?i)cycl|restart|period|%|swing|wave", unparse(function)):
            continue
        for node in of(function, ast.BinOp):
            sides = (node.left, node.right)
            turns = [c for c in sides if isinstance(c, ast.Call) and last_name(c.func) == "cos" and c.args]
            ones = [c for c in sides if isinstance(c, ast.Constant) and c.value == 1]
            if not (isinstance(node.op, ast.Add) and turns and ones):
                continue
            factors, left = [], [turns[0].args[0]]
            while left:
                one = left.pop()
                if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mult):
                    left += [one.left, one.right]
                else:
                    factors.append(one)
            pis = [f for f in factors if last_name(f) == "pi"]
            twos = [f for f in factors if isinstance(f, ast.Constant) and f.value == 2]
            if len(factors) == 3 and pis and twos:
                return at(source, node, "this cosine turns all the way round: the rate ends where it began")
    return None


def _rate_functions(source: Script) -> Iterator[ast.AST]:
    """Functions, lambdas and schedule classes that give a learning rate."""
    for node in source.of(ast.FunctionDef, ast.AsyncFunctionDef):
        owner = source.parents.get(node)
        named = _RATE.search(node.name) or (isinstance(owner, ast.ClassDef) and _RATE.search(owner.name))
        if named or "warmup" in unparse(node).lower():
            yield node


@probe()
def warmup_flat(view: View) -> Finding:
    """The branch for the steps of the warm-up gives the full rate, without the step in it."""
    return first(view, _flat, "the scripts write out no warm-up")


_FULL = re.compile(
    r"^(?:(?:self\.|cfg\.|args\.|config\.)*(?:base_|peak_|max_|init_)?(?:lr|learning_rate|peak)|1(?:\.0)?)$"
)


def _flat(source: Script) -> Finding | None:
    seen = None
    for function in _rate_functions(source):
        for node in of(function, ast.If):
            if not isinstance(node.test, ast.Compare):
                continue
            if not isinstance(node.test.ops[0], (ast.Lt, ast.LtE)) or not node.body:
                continue
            before = source.parents.get(node)
            if (
                isinstance(before, ast.If)
                and node in before.orelse
                and "warm" in unparse(before.test).lower()
            ):
                continue  # what follows the warm-up: the rate is held
            step, bound = unparse(node.test.left), unparse(node.test.comparators[0])
            value = getattr(node.body[0], "value", None)
            if (
                "warm" not in bound.lower()
                or isinstance(
                    node.test.comparators[0], ast.BinOp
                )  # steps after it, at which the rate is held
                or not isinstance(node.body[0], (ast.Return, ast.Assign))
                or value is None
            ):
                continue
            seen = seen or node
            inside = {unparse(n) for n in of(value, ast.expr)}
            if step not in inside and _FULL.match(unparse(value)):
                return at(source, node.body[0], "during the warm-up the rate is the full one already")
    return ok(source, seen, "the rate rises during the warm-up") if seen is not None else None


@probe()
def rate_not_applied(view: View) -> Finding:
    """The training loop asks a function for the learning rate and never gives it to the optimizer.

    Absent where anything sets a rate: a parameter group, an attribute, `assign`.
    """
    checks = either(
        *(_not_applied, decay_stands, rate_stands_in_graph, stopped_before_lowered),
        *(floor_above_rate, partial(watched_metric_unknown, names=("ReduceLROnPlateau",))),
    )
    return first(view, checks, "the training loops ask no function for a learning rate")


def _not_applied(source: Script) -> Finding | None:
    loops = loops_of_step(source)
    functions = flow(source).functions
    asked = [
        c
        for c in source.calls
        if last_name(c.func) in functions
        and re.search(r"(?:^|_)(?:lr|learning_rate)(?:_|$)", last_name(c.func).lower())
        and c.args
        and not re.search(r"adjust|set|update|apply|assign|sched", last_name(c.func).lower())
        and any(loop in source.above(c) for loop in loops)
        and not _reads_rate(c, functions[last_name(c.func)])
    ]
    if not asked or not source.trains_by_hand:
        return None
    sets = [n for n in source.of(ast.Assign) if _sets_rate(n)]
    other = source.named("assign", "LambdaLR", "set_lr", "assign_lr", "update") or "'lr':" in source.code
    if sets or source.named("LambdaLR"):
        return ok(source, sets[0] if sets else asked[0], "the rate is given to the optimizer")
    whole = any(_gives_number(f) for f in functions[last_name(asked[0].func)])
    if not whole or (other and source.named("LambdaLR", "set_lr", "assign_lr")):
        return None
    return at(source, asked[0], "the rate of the schedule is computed and never given to the optimizer")


_HOLDS_RATE = re.compile(r"(?i)opt(?:im\w*)?(?:_|\b)|optimi[sz]er|sched|param_groups")
# what a function reads that gives back the rate in force, wherever it has its optimizer or schedule from
_IN_FORCE = re.compile(
    r"param_groups|_last_lr\b|\bget_last_lr\(|(?i:opt(?:im\w*)?|optimi[sz]er|\w*sched\w*)"
    r"\.(?:_?lr|learning_rate|get_lr|state_dict|_decayed_lr|variables)\b"
)


def _reads_rate(call: ast.Call, functions: list[Function]) -> bool:
    """`get_lr(optimizer)`: the rate in force is read, for the log."""
    given = all_arguments(call)
    handed = any(
        _HOLDS_RATE.search(n.id if isinstance(n, ast.Name) else n.attr)
        for g in given
        for n in of(g, ast.Name, ast.Attribute)
    )
    return handed or any(_IN_FORCE.search(unparse(f)) for f in functions)


def _gives_number(function: Function) -> bool:
    return any(n.value is not None for n in of(function, ast.Return))


@probe()
def plateau_direction(view: View) -> Finding:
    """ReduceLROnPlateau waits for a score to fall, or for a loss to rise."""
    return first(
        view, _plateau, "the scripts lower the rate on no plateau of a quantity that is known by name"
    )


def _plateau(source: Script) -> Finding | None:
    seen = None
    for call in source.named("ReduceLROnPlateau"):
        mode = keyword(call, "mode") or (call.args[1] if len(call.args) > 1 else None)
        if mode is not None and not (isinstance(mode, ast.Constant) and mode.value in ("min", "max")):
            continue
        keras = keyword(call, "monitor") is not None
        if keras and mode is None:
            continue  # Keras infers the direction from the name
        upward = isinstance(mode, ast.Constant) and mode.value == "max"
        for watched in _watched(source, call):
            if not (_WORSE.search(watched) or _BETTER.search(watched)):
                continue
            seen = seen or call
            if upward and _WORSE.search(watched) and not _BETTER.search(watched):
                return at(
                    source, call, f"the rate is lowered when {watched} stops rising, and it should fall"
                )
            if not upward and _BETTER.search(watched) and not _WORSE.search(watched):
                return at(
                    source, call, f"the rate is lowered when {watched} stops falling, and it should rise"
                )
    return ok(source, seen, "the plateau is looked for in the right direction") if seen is not None else None


def _watched(source: Script, call: ast.Call) -> list[str]:
    """What is watched, by name: `scheduler.step(val_acc)`, `monitor="val_acc"`."""
    said = keyword(call, "monitor")
    if isinstance(said, ast.Constant) and isinstance(said.value, str):
        return [re.sub(r"\W", "_", said.value)]
    around = source.function_around(call)
    if around is not None and around.name == "configure_optimizers":
        texts = re.findall(r"'monitor': '([^']+)'", unparse(around))
        return [re.sub(r"\W", "_", t) for t in texts]
    names = kept_as(source, call)
    given = [c.args[0] for c in source.named("step") if c.args and last_name(_owner(c)) in names]
    found = []
    for node in given:
        if isinstance(node, ast.UnaryOp):
            continue
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            found.append(re.sub(r"\W", "_", str(node.slice.value)))
        elif isinstance(node, (ast.Name, ast.Attribute)):
            found.append(last_name(node))
    return found


@probe()
def optimizer_rebuilt(view: View) -> Finding:
    """A new optimizer in every epoch: its moments start from nothing, and a scheduler keeps the old one."""
    return first(view, _rebuilt, "the scripts build no optimizer, or train in no loop over epochs")


def _new_rate(call: ast.Call, loop: ast.AST) -> bool:
    """The loop works out the rate, and a new optimizer is how it is set: no slip."""
    rate = keyword(call, "lr") or (call.args[1] if len(call.args) > 1 else None)
    given = {unparse(t) for n in of(loop, ast.Assign) for t in n.targets}
    return isinstance(rate, ast.Name) and rate.id in given


def _rebuilt(source: Script) -> Finding | None:
    loops = loops_of_step(source)
    built = source.optimizer_calls
    if not loops or not built:
        return None
    mine = flow(source)
    built = tuple(c for c in built if "parameters" in unparse(c)) or built[:0]
    if not built:
        return None
    makers = {f.name for c in built if (f := source.function_around(c)) is not None}
    calls = [*built, *(c for c in source.calls if last_name(c.func) in makers)]
    for call in calls:
        around = [p for p in source.above(call) if isinstance(p, (ast.For, ast.While, ast.If, ast.Try))]
        inside = [loop for loop in loops if loop in around]
        if not inside or any(isinstance(p, (ast.If, ast.Try)) for p in around[: around.index(inside[0])]):
            continue
        loop = inside[0]
        over = unparse(loop.target).lower() + unparse(loop.iter).lower() if isinstance(loop, ast.For) else ""
        if not re.search(r"epoch|\bep\b|step|iter|batch|loader", over) or re.search(
            r"fold|split|seed|trial|stage|task", over
        ):
            continue
        made = any(
            mine.made(n.value) in source.modules
            for n in of(loop, ast.Assign)
            if isinstance(n.value, ast.Call)
        )
        if not made and isinstance(source.parents.get(call), ast.Assign) and not _new_rate(call, loop):
            return at(source, call, "the optimizer is built anew in every round of the training loop")
    return ok(source, built[0], "the optimizer is built once")
