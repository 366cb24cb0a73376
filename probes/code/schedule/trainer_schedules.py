"""Learning-rate schedules that Lightning or the Hugging Face Trainer moves: when, how long, whether at all.

Lightning moves what `configure_optimizers` gives under `lr_scheduler`, once an epoch unless the dict that
holds the scheduler says `"interval": "step"`; in manual optimization it moves nothing. The Hugging Face
Trainer moves its scheduler with every update.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from fractions import Fraction

from ...readers._tree import names_in, of, unparse
from ...readers.script import SCHEDULERS, argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import Flow, flow, returns
from ...scripts.syntax import Function, Script
from ..shared.checks import at, imports_locals, ok
from ..shared.factors import lengths, product, ratio
from ..shared.sides import literal, side
from ..shared.units import EPOCH, STEP, unit
from ..trainers.hooks import (
    automatic,
    epochs,
    hook_runs_per,
    hugging_face,
    lightning,
    methods,
    number_behind,
    scheduler_steps,
    training_arguments,
)

_SOON = 100  # updates after which next to nothing is left of a rate that falls by steps
_LEFT = 0.01
_FEW = 20  # batches: the loss of single ones goes up and down for longer than that
_WARM = ("num_warmup_steps", "warmup_steps", "warmup_iters", "warmup_epochs", "num_warmup_epochs")
_WHOLE = ("num_training_steps", "total_steps", "max_steps", "max_iters", "total_iters", "max_epochs")
_WITH_WARMUP = re.compile(r"^get_\w*schedule\w*_with_warmup$")


def moves(source: Script, call: ast.Call) -> str | None:
    """With what a trainer moves a scheduler that is made here, or None: none does, or it is not told."""
    owner, around = source.class_around(call), source.function_around(call)
    if owner is not None and around is not None and around.name == "configure_optimizers":
        if owner not in lightning(source) or "lr_scheduler_step" in methods(owner):
            return None
        if automatic(owner):
            return _interval(source, call, around) if _given_back(source, call, around) else None
        found = {hook_runs_per(source, c) for c in scheduler_steps(owner)[0]}
        return found.pop() if len(found) == 1 else None
    return STEP if hugging_face(source) and _handed_to_trainer(source, call) else None


def _interval(source: Script, call: ast.Call, around: Function) -> str | None:
    """What Lightning is told in the dict that holds the scheduler; once an epoch where nothing is said."""
    names = _names(source, call)
    outside: list[ast.expr] = []
    for held in of(around, ast.Dict, ast.Call):
        pairs = dict(_pairs(held))
        here = pairs.get("scheduler")
        if here is not None and (here is call or unparse(here) in names or isinstance(here, ast.Name)):
            said = pairs.get("interval")
            if said is not None:
                value = literal(source, said)
                return {"step": STEP, "epoch": EPOCH}.get(str(value))
        elif "interval" in pairs and "optimizer" in pairs:
            outside.append(pairs["interval"])
    asked = {n for c in of(around, ast.Compare) for n in of(c, ast.Constant)}  # `if self.schedule == "step"`
    rest = [n for n in of(around, ast.Constant) if n.value == "step" and n not in outside and n not in asked]
    return STEP if rest else EPOCH


def _pairs(held: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The keys and values of `{...}`, `dict(...)`, `LRSchedulerConfig(...)`."""
    if isinstance(held, ast.Dict):
        for key, value in zip(held.keys, held.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, value
    elif isinstance(held, ast.Call):
        yield from ((k.arg, k.value) for k in held.keywords if k.arg)


def _names(source: Script, call: ast.Call) -> set[str]:
    parent = source.parents.get(call)
    return {unparse(t) for t in parent.targets} if isinstance(parent, ast.Assign) else set()


def _given_back(source: Script, call: ast.Call, around: Function) -> bool:
    """The scheduler, or what holds it, is returned."""
    names = _names(source, call)
    ends = returns(around)
    return not names or any(n in {unparse(p) for p in of(e, ast.expr)} for e in ends for n in names)


def _handed_to_trainer(source: Script, call: ast.Call) -> bool:
    """`Trainer(optimizers=(optimizer, scheduler))`, or `self.lr_scheduler = ...` of a trainer's subclass."""
    names, around = _names(source, call), source.function_around(call)
    if around is not None and around.name in ("create_scheduler", "create_optimizer_and_scheduler"):
        return "self.lr_scheduler" in names or isinstance(source.parents.get(call), ast.Return)
    for one in hugging_face(source):
        given = keyword(one, "optimizers")
        if isinstance(given, (ast.Tuple, ast.List)) and len(given.elts) == 2:
            second = given.elts[1]
            if second is call or unparse(second) in names:
                return True
    return False


def trainers_schedule(source: Script) -> Finding | None:
    """A schedule that a trainer moves is moved by hand as well, is too long, too short, or gone at once."""
    if not lightning(source) and not hugging_face(source):
        return None
    for look in (
        _moved_as_well,
        _of_other_count,
        _gone_at_once,
        _over_too_soon,
        _skipped,
        _twice_on_one,
        _of_another,
    ):
        if (found := look(source)) is not None:
            return found
    return None


def _moved_as_well(source: Script) -> Finding | None:
    """`self.lr_schedulers().step()` in automatic optimization, `lr_scheduler.step()` in a callback."""
    for owner in lightning(source):
        if automatic(owner) and "lr_scheduler_step" not in methods(owner):
            for call in scheduler_steps(owner)[0]:
                if hook_runs_per(source, call) is not None:
                    return at(source, call, "Lightning moves this schedule already: it is moved twice")
    if not hugging_face(source):
        return None
    for call in source.named("step"):
        owner_ = source.class_around(call)
        if owner_ is None or not re.search(r"(?i)(?:^|\.)(?:lr_)?scheduler$", source.owner(call)):
            continue
        derived = [last_name(b) for b in owner_.bases]
        kept = any(n.endswith("Trainer") for n in derived) and source.owner(call) == "self.lr_scheduler"
        told = any(n.endswith("Callback") for n in derived)
        if (kept or told) and hook_runs_per(source, call) is not None:
            function = source.function_around(call)
            if function is not None and function.name in ("training_step", "compute_loss", "on_step_end"):
                return at(source, call, "the Trainer moves its schedule with every update already")
    return None


# ------------------------------------------------------------------------------------------- how long


def _of_other_count(source: Script) -> Finding | None:
    """The length of a schedule that the Hugging Face Trainer moves, against its updates."""
    told = training_arguments(source)
    mine = flow(source)
    for call in source.calls:
        length = _length(call)
        if length is None or not hugging_face(source) or not _handed_to_trainer(source, call):
            continue
        why = _miscounted(mine, length, told)
        if why:
            return at(source, call, why)
    return None


def _length(call: ast.Call) -> ast.expr | None:
    name = last_name(call.func)
    places = {"CosineAnnealingLR": ("T_max", 1), "PolynomialLR": ("total_iters", 1)}
    if _WITH_WARMUP.match(name):
        places[name] = ("num_training_steps", 2)
    elif name == "OneCycleLR":
        places[name] = ("total_steps", 9)
    elif name == "get_scheduler":
        places[name] = ("num_training_steps", 3)
    if name not in places:
        return None
    word, place = places[name]
    return argument(call, word, position=place)


def _miscounted(mine: Flow, length: ast.expr, told: dict[str, ast.expr]) -> str:
    source, found = mine.source, product(mine, length)
    if found is None or not found.atoms:
        return ""
    rows = [t for t, p in lengths(found) if p == 1]
    if len(rows) != 1 or re.search(r"(?i)load|_dl\b|batches", rows[0]):
        return ""
    powers = {"batch": 0, "accum": 0, "epoch": 0}
    for text, power in found.atoms:
        for word in powers:
            if re.search(rf"(?i){word}", text.split("(")[0]) and not text.startswith("len("):
                powers[word] += power
    others = [t for t, _ in found.atoms if t != f"len({rows[0]})"]
    known = all(re.search(r"(?i)batch|accum|epoch", t) for t in others)
    if not known or "steps_per" in "".join(others):
        return ""
    if side(rows[0]) is False:
        return "this length is counted on the held-out rows, and the Trainer goes over those of training"
    constant = found.constant
    if not others and (why := _by_numbers(source, constant, told)):
        return why
    if powers["batch"] > 0 or powers["accum"] > 0:
        return "this length multiplies by what the rows of an update should be divided by"
    if powers["batch"] == 0 and constant >= 1 and "per_device_train_batch_size" in told:
        if literal(source, told["per_device_train_batch_size"]) != 1:
            return "this length counts rows, and the Trainer moves the schedule with every update"
        return ""
    given = told.get("gradient_accumulation_steps")
    many = literal(source, given) if given is not None else None
    if given is not None and many != 1 and powers["accum"] == 0 and constant >= 1:
        if isinstance(many, int) or not isinstance(given, ast.Constant):
            return "this length counts batches, and with accumulation the schedule moves once in several"
    count = epochs(source)
    if powers["epoch"] == 0 and "num_train_epochs" in told and "max_steps" not in told:
        once = constant.numerator == 1 or constant.denominator == 1
        if isinstance(count, float) and once and constant < count:
            return "this length is not that of the epochs which the Trainer is told to run"
    return ""


def _by_numbers(source: Script, constant: Fraction, told: dict[str, ast.expr]) -> str:
    """`len(rows) // 8 * 3`: the numbers of the length are held against those that the Trainer is told."""
    names = ("per_device_train_batch_size", "gradient_accumulation_steps", "num_train_epochs")
    numbers = [number_behind(source, told[n]) if n in told else 1 for n in names]
    if any(n is None or n != int(n) or n < 1 for n in numbers) or "max_steps" in told:
        return ""
    batch, many, count = (int(n) for n in numbers if n is not None)
    right = Fraction(count, batch * many)
    if many > 1 and constant == right * many:
        return "this length counts batches, and with accumulation the schedule moves once in several"
    if batch > 1 and constant in (right * batch, right * batch * many):
        return "this length counts rows, and the Trainer moves the schedule with every update"
    return ""


def _gone_at_once(source: Script) -> Finding | None:
    """`StepLR(step_size=1)` or `ExponentialLR(gamma=0.9)` that moves with every update."""
    for call in source.named("StepLR", "ExponentialLR", "ReduceLROnPlateau"):
        if moves(source, call) != STEP:
            continue
        if last_name(call.func) == "ReduceLROnPlateau":
            waits = literal(source, argument(call, "patience", position=3))
            if waits is None or (isinstance(waits, int) and waits <= _FEW):
                return at(source, call, "it looks at the value of every batch, and waits for a few of them")
            continue
        size: object = 1
        place = 1
        if last_name(call.func) == "StepLR":
            size, place = literal(source, argument(call, "step_size", position=1)), 2
        gamma = literal(source, argument(call, "gamma", position=place))
        gamma = 0.1 if gamma is None and last_name(call.func) == "StepLR" else gamma
        if not isinstance(size, int) or not isinstance(gamma, (int, float)) or not 0 < gamma < 1:
            continue
        updates = size * math.ceil(math.log(_LEFT) / math.log(gamma))
        if updates <= _SOON:
            return at(
                source, call, f"it moves with every update: nothing is left of the rate after {updates}"
            )
    return None


def _over_too_soon(source: Script) -> Finding | None:
    """A warm-up that moves once an epoch and takes more epochs than there are."""
    count = epochs(source)
    if count is None or count < 2:
        return None
    for call in source.named("LinearLR", "LambdaLR"):
        if moves(source, call) != EPOCH:
            continue
        long: object = None
        if last_name(call.func) == "LinearLR":
            start = literal(source, argument(call, "start_factor", position=1))
            rises = start is None or (isinstance(start, (int, float)) and start < 1)
            long = literal(source, argument(call, "total_iters", position=3)) if rises else None
        else:
            long = _rises_over(source, call)
        if isinstance(long, (int, float)) and long > count:
            return at(source, call, f"the warm-up takes {long:g} epochs, and there are {count:g}")
    return None


def _rises_over(source: Script, call: ast.Call) -> object:
    """`lambda s: min(1.0, (s + 1) / 500)`: over how many steps the factor rises to one."""
    given = argument(call, "lr_lambda", position=1)
    body: ast.expr | None = given.body if isinstance(given, ast.Lambda) else None
    if isinstance(given, ast.Name):
        functions = flow(source).functions.get(given.id, [])
        ends = returns(functions[0]) if len(functions) == 1 else ()
        body = ends[0] if len(ends) == 1 else None
    if not (isinstance(body, ast.Call) and last_name(body.func) == "min" and len(body.args) == 2):
        return None
    ones = [a for a in body.args if literal(source, a) == 1]
    shares = [a for a in body.args if isinstance(a, ast.BinOp) and isinstance(a.op, ast.Div)]
    return literal(source, shares[0].right) if len(ones) == 1 and len(shares) == 1 else None


def _skipped(source: Script) -> Finding | None:
    """`"frequency": 4` beside a length of all updates: it moves once in four."""
    for owner in lightning(source):
        made = methods(owner)["configure_optimizers"]
        if not automatic(owner) or "estimated_stepping_batches" not in unparse(made):
            continue
        for held in of(made, ast.Dict):
            pairs = dict(_pairs(held))
            often = literal(source, pairs.get("frequency"))
            if "scheduler" in pairs and isinstance(often, int) and often > 1:
                if literal(source, pairs.get("interval")) == "step":
                    return at(source, held, f"it moves once in {often} updates, and its length counts all")
    return None


def _twice_on_one(source: Script) -> Finding | None:
    """Two schedulers, one beside the other, hold one optimizer, and the second optimizer has none."""
    for owner in lightning(source):
        made = methods(owner)["configure_optimizers"]
        if re.search(r"SequentialLR|ChainedScheduler|warm", unparse(made)):
            continue
        optimizers = {
            unparse(n.targets[0]) for n in of(made, ast.Assign) if n.value in source.optimizer_calls
        }
        schedulers = [c for c in of(made, ast.Call) if last_name(c.func).lower() in SCHEDULERS and c.args]
        held = [unparse(c.args[0]) for c in schedulers]
        if len(optimizers) == len(schedulers) == 2 and len(set(held)) == 1 and held[0] in optimizers:
            return at(
                source, schedulers[1], f"both schedulers move {held[0]}, and the other optimizer has none"
            )
    return None


def _of_another(source: Script) -> Finding | None:
    """`Trainer(optimizers=(optimizer, scheduler))`, and the optimizer was made anew after the scheduler."""
    mine = flow(source)
    for one in hugging_face(source):
        given = keyword(one, "optimizers")
        if not isinstance(given, (ast.Tuple, ast.List)) or len(given.elts) != 2:
            continue
        optimizer, scheduler = (mine.given(e) for e in given.elts)
        if optimizer is None or scheduler is None or not isinstance(scheduler.value, ast.Call):
            continue
        held = scheduler.value.args[0] if scheduler.value.args else keyword(scheduler.value, "optimizer")
        if held is None or unparse(held) != unparse(given.elts[0]) or optimizer.places:
            continue
        if optimizer.value in source.optimizer_calls and optimizer.value.lineno > scheduler.value.lineno:
            return at(
                source, optimizer.value, "the scheduler holds the optimizer that was there before this one"
            )
    return None


# ------------------------------------------------------------------------------------------- the warm-up


def warmup_of_all(source: Script) -> Finding | None:
    """The warm-up of a schedule is as long as the whole of it, or longer.

    Told where both are constants, or where one is a multiple of the other whatever that is.
    """
    mine = flow(source)
    seen: ast.AST | None = None
    for call in source.calls:
        pair = _warm_and_whole(call)
        if pair is None:
            continue
        share = ratio(mine, *pair)
        if share is None:
            one, other = unit(mine, pair[0]), unit(mine, pair[1])
            if one == STEP and other == EPOCH and _WITH_WARMUP.match(last_name(call.func)):
                return at(source, call, "the warm-up counts steps, and the whole schedule counts epochs")
            continue
        seen = seen or call
        if share >= 1:
            much = "as long as" if share == 1 else f"{float(share):g} times as long as"
            return at(source, call, f"the warm-up is {much} the whole schedule")
    told = training_arguments(source) if hugging_face(source) else {}
    ratio_ = literal(source, told.get("warmup_ratio"))
    if isinstance(ratio_, (int, float)) and ratio_ >= 1:
        return at(source, told["warmup_ratio"], "the warm-up takes the whole training, or more")
    steps, end = literal(source, told.get("warmup_steps")), literal(source, told.get("max_steps"))
    if isinstance(steps, int) and isinstance(end, int) and 0 < end <= steps:
        return at(source, told["warmup_steps"], f"the warm-up takes {steps} steps, and the run has {end}")
    for node in _held_above(source):
        return at(source, node, "the warm-up is longer than the training whose length it is taken of")
    return ok(source, seen, "the warm-up is a part of the schedule") if seen is not None else None


def _warm_and_whole(call: ast.Call) -> tuple[ast.expr, ast.expr] | None:
    if _WITH_WARMUP.match(last_name(call.func)):
        warm = argument(call, "num_warmup_steps", position=1)
        whole = argument(call, "num_training_steps", position=2)
    elif last_name(call.func) == "get_scheduler":
        warm, whole = (
            argument(call, "num_warmup_steps", position=2),
            argument(call, "num_training_steps", position=3),
        )
    else:
        warm = next((k for w in _WARM if (k := keyword(call, w)) is not None), None)
        whole = next((k for w in _WHOLE if (k := keyword(call, w)) is not None), None)
        if not re.search(r"(?i)sched|warmup|lr", last_name(call.func)):
            return None
    return (warm, whole) if warm is not None and whole is not None else None


_WARMUP = re.compile(r"(?i)^(?:n(?:um)?_)?warm_?up(?:_(?:steps?|iters?|updates?|batches))?$")
_TOTAL = re.compile(
    r"(?i)^(?:total|all|max|num_training|train|n_train|num_train|training)(?:_(?:steps?|iters?|updates?|batches))?$"
    r"|estimated_stepping_batches$|^num_training_steps$"
)


def _held_above(source: Script) -> Iterator[ast.AST]:
    """`warmup = 10 * total // 5` in a function that makes a schedule of both."""
    mine = flow(source)
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Name) or not _WARMUP.match(target.id):
            continue
        if target.id in names_in(node.value):
            continue  # `warmup = warmup * 3` where it is over: the place of the next change
        found = product(mine, node.value)
        scope = source.function_around(node) or source.tree
        if found is None or not any(isinstance(n, ast.BinOp) for n in of(node.value, ast.expr)):
            continue
        totals = [t for t, p in found.atoms if p == 1 and _TOTAL.search(t.rsplit(".", 1)[-1])]
        rest = [(t, p) for t, p in found.atoms if t not in totals]
        if len(totals) != 1 or any(p < 0 for _, p in rest):
            continue
        size = found.constant
        for text, power in rest:
            value = _count_behind(source, text)
            if value is None:
                break
            size *= Fraction(str(value)) ** power
        else:
            used = any("warm" in unparse(n).lower() for n in of(scope, ast.Compare, ast.Call))
            if size >= 1 and used:
                yield node


def _count_behind(source: Script, text: str) -> float | None:
    """The default of a setting by its last name: `self.hparams.warmup` of a parameter `warmup=500`."""
    name = text.rsplit(".", 1)[-1]
    found: set[float] = set()
    for function in source.of(ast.FunctionDef):
        arguments = function.args.args
        for one, value in zip(
            arguments[len(arguments) - len(function.args.defaults) :], function.args.defaults, strict=True
        ):
            if one.arg == name and isinstance(value, ast.Constant) and isinstance(value.value, (int, float)):
                found.add(float(value.value))
    return found.pop() if len(found) == 1 else None


# ------------------------------------------------------------------------------ a rate in place of a factor


_A_RATE = re.compile(r"(?i)^(?:base_|max_|init(?:ial)?_|peak_)?(?:lr|learning_?rate)$")


def rate_for_factor(source: Script) -> Finding | None:
    """`LambdaLR(optimizer, lambda s: lr * ...)`: the rate is multiplied with it already."""
    seen: ast.AST | None = None
    for call in source.named("LambdaLR"):
        given = argument(call, "lr_lambda", position=1)
        ends: list[ast.expr] = [given.body] if isinstance(given, ast.Lambda) else []
        if isinstance(given, (ast.Name, ast.Attribute)):
            functions = flow(source).functions.get(last_name(given), [])
            ends = list(returns(functions[0])) if len(functions) == 1 else []
        if not ends or _rate_is_one(source):
            continue
        seen = seen or call
        for end in ends:
            factors = [n for n in _factors(end) if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript))]
            factors = [n for n in factors if not _looped(source, n)]
            divides = any(
                _is_rate(n)
                for b in of(end, ast.BinOp)
                if isinstance(b.op, ast.Div)
                for n in of(b.right, ast.expr)
            )
            if any(_is_rate(n) for n in factors) and not divides:
                return at(
                    source, end, "LambdaLR multiplies the rate with this, and this holds the rate itself"
                )
    return ok(source, seen, "the lambda gives a factor") if seen is not None else None


def _looped(source: Script, node: ast.expr) -> bool:
    """`for milestone, lr in periods: ... return lr`: one of a list, of rates or of factors."""
    return isinstance(node, ast.Name) and any(
        n.id == node.id
        for loop in source.above(node)
        if isinstance(loop, ast.For)
        for n in of(loop.target, ast.Name)
    )


def _is_rate(node: ast.expr) -> bool:
    label = (
        node.slice.value if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) else None
    )
    if label is not None:
        return isinstance(label, str) and _A_RATE.match(label) is not None
    return isinstance(node, (ast.Name, ast.Attribute)) and _A_RATE.match(last_name(node)) is not None


def _factors(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield from _factors(node.left)
        yield from _factors(node.right)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        yield from _factors(node.left)
    else:
        yield node


def _rate_is_one(source: Script) -> bool:
    """An optimizer with the rate 1, or with one that is not said, takes rates for factors."""
    rates: list[ast.expr | None] = []
    for call in source.optimizer_calls:
        groups = [v for d in of(call, ast.Dict) for k, v in _pairs(d) if k == "lr"]
        rates += groups or [argument(call, "lr", position=1)]
    return not rates or any(r is None or literal(source, r) == 1 for r in rates)


# ------------------------------------------------------------------------------------------- not at all


def trainer_leaves_idle(source: Script) -> Finding | None:
    """A scheduler is made for a trainer and never gets to it, or nobody moves it in manual optimization."""
    seen: ast.AST | None = None
    for owner in lightning(source):
        made = methods(owner)["configure_optimizers"]
        for call in of(made, ast.Call):
            if last_name(call.func).lower() not in SCHEDULERS or source.function_around(call) is not made:
                continue
            seen = seen or call
            why = _left_by_lightning(source, owner, made, call)
            if why:
                return at(source, call, why)
    for call in source.calls if hugging_face(source) else ():
        if last_name(call.func).lower() not in SCHEDULERS and not _WITH_WARMUP.match(last_name(call.func)):
            continue
        seen = seen or call
        names = _names(source, call)
        if imports_locals(source) or len(names) != 1 or not next(iter(names)).isidentifier():
            continue
        scope = source.function_around(call) or source.tree
        reads = [n for n in of(scope, ast.Name) if n.id in names and isinstance(n.ctx, ast.Load)]
        if not reads and "lr_scheduler" not in "".join(names):
            return at(source, call, "this scheduler is made, and the Trainer does not get it")
    return ok(source, seen, "the trainer gets the scheduler") if seen is not None else None


def _left_by_lightning(source: Script, owner: ast.ClassDef, made: Function, call: ast.Call) -> str:
    names = _names(source, call)
    held = {unparse(p) for n in of(made, ast.expr) if not isinstance(n, ast.Call) for p in [n]}
    if len(names) == 1 and next(iter(names)).isidentifier():
        name = next(iter(names))
        reads = [n for n in of(made, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
        if not reads and held:
            return "this scheduler is made, and configure_optimizers does not give it back"
    for end in returns(made):
        pairs = dict(_pairs(end)) if isinstance(end, ast.Dict) else {}
        if "optimizer" not in pairs or "lr_scheduler" in pairs or len(returns(made)) != 1:
            continue
        if any(n in unparse(v) for v in pairs.values() for n in names if v is not pairs["optimizer"]):
            return "Lightning looks for the scheduler under `lr_scheduler`, and it stands under another key"
    if automatic(owner) or "automatic_optimization = False" not in unparse(owner) or imports_locals(source):
        return ""
    if "lr_schedulers(" not in unparse(owner) and not re.search(r"sched\w*\.step\(", unparse(owner)):
        if not re.search(r"lr_schedulers\(|sched\w*\.step\(", source.code):
            return "in manual optimization nobody but the module moves this scheduler, and it does not"
    steps, whole = scheduler_steps(owner)
    if steps and not whole:
        return "of several schedulers only a part is moved"
    return ""
