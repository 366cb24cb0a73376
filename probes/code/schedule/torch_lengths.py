"""Schedules of PyTorch scripts against the number of epochs: what begins only after the training is over."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse, walk
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Function, Script
from ..shared.checks import at, outer_loop
from ..shared.sides import default, literal
from ..shared.units import EPOCH, STEP, runs_per
from ..trainers.hooks import epochs
from .trainer_schedules import moves as trainer_moves

_WARM = {"LinearLR": (3, "total_iters", 5), "ConstantLR": (2, "total_iters", 5)}
_JOINS = ("SequentialLR", "ChainedScheduler")
_PATIENT = 50  # rounds without a better loss that one batch may take to tell nothing


def holders(source: Script, call: ast.Call, depth: int = 3) -> set[str]:
    """The names under which a schedule is moved: its own, and those of a schedule that is made of it."""
    names = kept_as(source, call)
    if depth:
        for joined in source.named(*_JOINS):
            parts = [e for a in joined.args for e in (a.elts if isinstance(a, (ast.List, ast.Tuple)) else [])]
            given = keyword(joined, "schedulers")
            parts += given.elts if isinstance(given, (ast.List, ast.Tuple)) else []
            mine = [p for p in parts if isinstance(p, (ast.Name, ast.Attribute)) and last_name(p) in names]
            if mine or call in parts:
                names = names | holders(source, joined, depth - 1)
    return names


def kept_as(source: Script, call: ast.Call, depth: int = 3) -> set[str]:
    """The names that a scheduler is kept under: where it is made, what a function that makes it gives, and
    the parameters of functions that it is handed to.
    """
    names = _kept(source, call, depth)
    return names | _handed_as(source, call, names)


def _handed_as(source: Script, made: ast.Call, names: set[str]) -> set[str]:
    """`train(net, opt, StepLR(opt, 8))`, `train(net, opt, schedule)`: what the function calls it."""
    scope = source.function_around(made)
    found: set[str] = set()
    for name, functions in flow(source).functions.items():
        if len(functions) != 1:
            continue
        arguments = [a.arg for a in functions[0].args.args]
        for call in source.named(name):
            if not isinstance(call.func, ast.Name) or any(isinstance(a, ast.Starred) for a in call.args):
                continue
            pairs = [*zip(arguments, call.args, strict=False), *((k.arg, k.value) for k in call.keywords)]
            for word, given in pairs:
                same = isinstance(given, ast.Name) and given.id in names
                if word and (given is made or (same and source.function_around(call) is scope)):
                    found.add(word)
    return found


def _kept(source: Script, call: ast.Call, depth: int) -> set[str]:
    """Where it is made, and what a function that makes it gives."""
    parent = source.parents.get(call)
    function = source.function_around(call)
    if isinstance(parent, ast.ListComp) and parent.elt is call:
        return _unpacked(source, parent, function)
    if isinstance(parent, ast.Return) and function is not None:
        return _given_names(source, function.name, None, depth)
    if not isinstance(parent, ast.Assign):
        return set()
    names = {last_name(t) for t in parent.targets if isinstance(t, (ast.Name, ast.Attribute))}
    if function is None:
        return names
    for out in of(function, ast.Return):
        whole = out.value
        for place, one in enumerate(whole.elts if isinstance(whole, ast.Tuple) else [whole]):
            if isinstance(one, ast.Name) and one.id in names:
                names = names | _given_names(
                    source, function.name, place if isinstance(whole, ast.Tuple) else None, depth
                )
    return names


def _unpacked(source: Script, made: ast.ListComp, function: Function | None) -> set[str]:
    """`a, b = [Schedule(o) for o in ...]`, also by way of a function that gives the list back."""
    parent = source.parents.get(made)
    places = [parent]
    if isinstance(parent, ast.Return) and function is not None:
        places = [source.parents.get(c) for c in flow(source).calls_of(function)]
    targets = [t for p in places if isinstance(p, ast.Assign) for t in p.targets]
    return {last_name(e) for t in targets if isinstance(t, ast.Tuple) for e in t.elts}


def _given_names(source: Script, function: str, place: int | None, depth: int) -> set[str]:
    """What callers keep the value of a function under, or what they give back in turn."""
    names: set[str] = set()
    for call in source.named(function) if depth else ():
        parent = source.parents.get(call)
        if isinstance(parent, ast.Assign) and place is not None:
            for target in parent.targets:
                if isinstance(target, ast.Tuple) and place < len(target.elts):
                    names.add(last_name(target.elts[place]))
        elif place is None:
            names |= kept_as(source, call, depth - 1)
    return names


def moves_of(source: Script, call: ast.Call) -> list[ast.Call]:
    """The calls of `.step()` that move a schedule."""
    names = holders(source, call)
    return [
        c
        for c in source.named("step")
        if isinstance(c.func, ast.Attribute) and last_name(c.func.value) in names
    ]


def counts_passes(source: Script, name: str) -> bool:
    """`for i in range(train_iters)` around one update of all data, as on a graph: a round is an epoch."""
    bounded = [n for n in source.of(ast.For) if unparse(n.iter) == f"range({name})"]
    learn = [n for n in bounded if takes_gradients(source, n)]
    return bool(learn) and not any(
        _BATCHES.search(unparse(n)) or any(f is not n for f in of(n, ast.For)) for n in learn
    )


_BATCHES = re.compile(r"\bnext\(|batch|sampl|load")
_FAR = 4.0  # times the epochs: a short training of a program whose rate would fall later is none


def begins_after_training(source: Script) -> Finding | None:
    """A warm-up or a first step down that takes more epochs than the training has, moved once in each.

    `LinearLR(total_iters=500)`, `LambdaLR(lambda n: min(1, (n + 1) / 500))` and `StepLR(step_size=500)`
    beside `range(40)`. Told where both are numbers of the script.
    """
    if "pytorch" not in source.frameworks:
        return None
    for call, length, what in _lengths(source):
        steps = moves_of(source, call)
        if not steps or {runs_per(source, s) for s in steps} != {EPOCH}:
            continue
        rounds = epochs_around(source, steps[0])
        least = _FAR if last_name(call.func) == "StepLR" else 1.0
        if rounds is not None and rounds > 1 and length > least * rounds:
            return at(source, call, f"{what} {length:g} epochs, and the training has {rounds:g}")
    return None


def _lengths(source: Script) -> Iterator[tuple[ast.Call, float, str]]:
    for name, (place, word, usual) in _WARM.items():
        for call in source.named(name):
            given = argument(call, word, position=place)
            length = float(usual) if given is None else _number(source, given)
            start = keyword(call, "start_factor") or keyword(call, "factor")
            if length is not None and not (name == "LinearLR" and keyword(call, "end_factor") is not None):
                if start is None or (isinstance(s := _number(source, start), float) and s < 1):
                    yield call, length, "the warm-up takes"
    for call in source.named("StepLR"):
        given = argument(call, "step_size", position=1)
        length = _number(source, given) if given is not None else None
        if length is not None:
            yield call, length, "the rate falls for the first time after"
    for call in source.named("LambdaLR"):
        given = argument(call, "lr_lambda", position=1)
        length = _of_lambda(source, given) if isinstance(given, ast.Lambda) else None
        if length is not None:
            yield call, length, "the warm-up takes"


def _of_lambda(source: Script, given: ast.Lambda) -> float | None:
    """What `n` is divided by in `lambda n: min(1.0, (n + 1) / 500)`."""
    names = {a.arg for a in given.args.args}
    for call in of(given.body, ast.Call):
        if last_name(call.func) != "min" or len(call.args) != 2:
            continue
        for share in call.args:
            if isinstance(share, ast.BinOp) and isinstance(share.op, ast.Div):
                above = {n.id for n in walk(share.left) if isinstance(n, ast.Name)}
                below = {n.id for n in walk(share.right) if isinstance(n, ast.Name)}
                if above == names and not below & names:
                    return _number(source, share.right)
    return None


def epochs_around(source: Script, step: ast.Call) -> float | None:
    """The number of rounds of the loop over epochs that a step stands in, or that runs its function."""
    around = [n for n in source.loops_around(step) if isinstance(n, ast.For)]
    loop = around[-1] if around else outer_loop(source)
    if not isinstance(loop, ast.For):
        return None
    over = loop.iter
    while isinstance(over, ast.Call) and last_name(over.func) in ("tqdm", "trange", "track") and over.args:
        if last_name(over.func) == "trange":
            break
        over = over.args[0]
    if not isinstance(over, ast.Call) or last_name(over.func) not in ("range", "trange") or not over.args:
        return None
    if "epoch" not in unparse(loop.target).lower() and "epoch" not in unparse(over).lower():
        return None
    return _number(source, over.args[1] if len(over.args) > 1 else over.args[0])


def _number(source: Script, node: ast.expr) -> float | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
        one, other = _number(source, node.left), _number(source, node.right)
        if one is None or other is None:
            return None
        if isinstance(node.op, ast.Mult):
            return one * other
        return one + other if isinstance(node.op, ast.Add) else one - other
    value = literal(source, node)
    if value is None:
        ends = [v for v in flow(source).values(node, 4) if isinstance(v, (ast.Name, ast.Attribute))]
        found = {default(source, v) for v in (node, *ends) if isinstance(v, (ast.Name, ast.Attribute))} - {
            None
        }
        value = next(iter(found)) if len(found) == 1 else None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


_LEFT = 0.01  # of the rate: next to nothing
_SOON = 100  # updates after which that is left
_EARLY = 3  # times as many epochs as are trained with a rate that counts


def gone_too_soon(source: Script) -> Finding | None:
    """`StepLR(step_size=1)` or `ExponentialLR(0.9)` that is moved with every update; a rate that dies early.

    Early is within a third of the epochs, of what falls with every epoch to a half or less, or at milestones.
    Left aside: one schedule of several to choose from, whose settings are those of another.
    """
    if "pytorch" not in source.frameworks:
        return None
    for call in source.named("StepLR", "ExponentialLR"):
        steps = moves_of(source, call)
        if any(isinstance(p, (ast.If, ast.IfExp, ast.Dict)) for p in source.above(call)):
            continue
        by_steps = last_name(call.func) == "StepLR"
        size = _given(source, call, "step_size", 1) if by_steps else 1.0
        gamma = _given(source, call, "gamma", 2 if by_steps else 1)
        gamma = 0.1 if gamma is None and by_steps and not keyword(call, "gamma") else gamma
        if size is None or gamma is None or not 0 < gamma < 1 or size < 1:
            continue
        falls = size * math.ceil(math.log(_LEFT) / math.log(gamma))
        moved = {runs_per(source, s) for s in steps}
        gated = any(
            isinstance(p, ast.If) for s in steps for p in source.above(s) if p not in source.above(call)
        )
        if moved == {STEP} and falls <= _SOON and not gated and len(source.loops_around(call)) == 0:
            return at(
                source, call, f"it is moved with every update: nothing is left of the rate after {falls:g}"
            )
        rounds = epochs_around(source, steps[0]) if moved == {EPOCH} else _of_trainer(source, call)
        if rounds is not None and size == 1 and gamma <= 0.5 and not gated and _EARLY * falls <= rounds:
            why = f"next to nothing is left of the rate after {falls:g} of {rounds:g} epochs"
            return at(source, call, why)
    return _gone_at_marks(source)


def _gone_at_marks(source: Script) -> Finding | None:
    """`MultiStepLR(milestones=[1, 2], gamma=0.01)` beside many more epochs: a rate that dies early."""
    for call, rounds in _moved_by_epochs(source, "MultiStepLR"):
        told = argument(call, "milestones", position=1)
        ends = flow(source).values(told, 4) if told is not None else []
        lists = list(dict.fromkeys(e for e in (told, *ends) if isinstance(e, (ast.List, ast.Tuple))))
        marks = [_number(source, e) for e in lists[0].elts] if len(lists) == 1 else []
        if not lists and told is not None and isinstance(usual := default(source, told), tuple):
            marks = list(usual)
        gamma = _given(source, call, "gamma", 2)
        gamma = 0.1 if gamma is None and not keyword(call, "gamma") and len(call.args) < 3 else gamma
        known = sorted(m for m in marks if m is not None)
        if gamma is None or not 0 < gamma < 1 or not known or len(known) < len(marks):
            continue
        falls = math.ceil(round(math.log(_LEFT) / math.log(gamma), 9))
        if falls <= len(known) and _EARLY * known[falls - 1] < rounds:
            mark = known[falls - 1]
            why = f"next to nothing is left of the rate after {mark:g} of {rounds:g} epochs"
            return at(source, call, why)
    return None


_SHORT = 4  # epochs of a half swing that few mean
_SWINGS = 4  # half swings from which the rate has come back twice
_MEANT = re.compile(r"(?i)snapshot|cycl|restart|ensembl|swa\b|averag(?:ed|ing)")


def swings_back(source: Script) -> Finding | None:
    """`CosineAnnealingLR(T_max=2)` that is moved with each of many epochs: the rate swings up and down.

    Left aside: programs that speak of cycles or snapshots, and lengths that some mean.
    """
    if "pytorch" not in source.frameworks:
        return None
    for call, rounds in _moved_by_epochs(source, "CosineAnnealingLR"):
        half = _given(source, call, "T_max", 1)
        if half is None or not 1 <= half <= _SHORT or rounds < _SWINGS * half or _MEANT.search(source.code):
            continue
        why = f"the rate is down after {half:g} of {rounds:g} epochs and swings back up, time and again"
        return at(source, call, why)
    return None


def _moved_by_epochs(source: Script, name: str) -> Iterator[tuple[ast.Call, float]]:
    """Schedules of one kind that move once in each epoch, none of several, joined or to choose from; and the
    epochs.
    """
    for call in source.named(name) if not source.named(*_JOINS) else ():
        above = source.above(call)
        if any(isinstance(p, (ast.If, ast.IfExp, ast.Dict, ast.List, ast.Tuple)) for p in above):
            continue
        if (told := _of_trainer(source, call)) is not None:
            yield call, told
            continue
        steps = moves_of(source, call)
        if not steps or {runs_per(source, s) for s in steps} != {EPOCH} or source.loops_around(call):
            continue
        if any(isinstance(p, ast.If) for s in steps for p in source.above(s) if p not in above):
            continue
        rounds = epochs_around(source, steps[0])
        if rounds is not None:
            yield call, rounds


def _of_trainer(source: Script, call: ast.Call) -> float | None:
    """The epochs of a trainer that moves this schedule with each of them, as Lightning does."""
    return epochs(source) if trainer_moves(source, call) == EPOCH else None


def _given(source: Script, call: ast.Call, word: str, place: int) -> float | None:
    given = argument(call, word, position=place)
    return None if given is None else _number(source, given)


def plateau_of_batches(source: Script) -> Finding | None:
    """`ReduceLROnPlateau` that is handed the loss of each batch: their noise takes the rate down.

    Silent for a patience of more than fifty, and where a condition picks the batches.
    """
    for call in source.named("ReduceLROnPlateau"):
        patience = keyword(call, "patience")
        rounds = 10.0 if patience is None else _number(source, patience)
        if rounds is None or rounds > _PATIENT or len(call.args) > 3:
            continue
        for step in moves_of(source, call):
            gated = any(isinstance(p, ast.If) for p in source.above(step) if p not in source.above(call))
            if gated or runs_per(source, step) != STEP or len(source.loops_around(step)) < 2 or not step.args:
                continue
            given = step.args[0]
            if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute):
                given = given.func.value  # `loss.item()`
            if isinstance(given, ast.Name) and given.id in ("loss", "train_loss", "batch_loss"):
                return at(source, step, "the loss of one batch tells no plateau: noise takes the rate down")
    return None
