"""Schedules that an optimizer of Keras, TensorFlow, MindSpore or optax is given: in which unit they are long.

Such a schedule moves with every update. Its length, and that of its warm-up, are followed to what they count.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import Flow, flow
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.sides import literal

_FEW = 10  # updates: no warm-up of a training is as short
_SOON = 100  # updates after which half of the rate is gone


@dataclass(frozen=True)
class _Form:
    """Where a schedule takes its length, its warm-up, the share that is left, and the batches of an epoch."""

    length: tuple[int, str] | None = None
    warmup: tuple[int, str] | None = None
    share: tuple[int, str] | None = None
    per_epoch: tuple[int, str] | None = None


_FORMS = {
    "CosineDecay": _Form((1, "decay_steps"), (9, "warmup_steps")),
    "PolynomialDecay": _Form((1, "decay_steps")),
    "ExponentialDecay": _Form((1, "decay_steps"), share=(2, "decay_rate")),
    "exponential_decay": _Form((2, "decay_steps"), share=(3, "decay_rate")),
    "cosine_decay": _Form((2, "decay_steps")),
    "polynomial_decay": _Form((2, "decay_steps")),
    "CosineDecayLR": _Form((2, "decay_steps")),
    "PolynomialDecayLR": _Form((2, "decay_steps")),
    "ExponentialDecayLR": _Form((2, "decay_steps"), share=(1, "decay_rate")),
    "WarmUpLR": _Form(warmup=(1, "warmup_steps")),
    "cosine_decay_lr": _Form((2, "total_step"), per_epoch=(3, "step_per_epoch")),
    "polynomial_decay_lr": _Form((2, "total_step"), per_epoch=(3, "step_per_epoch")),
    "exponential_decay_lr": _Form((2, "total_step"), per_epoch=(3, "step_per_epoch")),
    "cosine_decay_schedule": _Form((1, "decay_steps")),
    "warmup_cosine_decay_schedule": _Form((3, "decay_steps"), (2, "warmup_steps")),
    "linear_schedule": _Form((2, "transition_steps")),
    "polynomial_schedule": _Form((3, "transition_steps")),
    "warmup_lr": _Form((1, "total_step"), per_epoch=(2, "step_per_epoch")),
}
_OTHERS = (
    "CosineDecayRestarts",
    "PiecewiseConstantDecay",
    "InverseTimeDecay",
    "InverseDecayLR",
    "NaturalExpDecayLR",
    "piecewise_constant_lr",
    "inverse_decay_lr",
    "natural_exp_decay_lr",
)


@dataclass(frozen=True)
class Schedule:
    """A schedule that is made, and the expressions for its parts."""

    call: ast.Call
    length: ast.expr | None
    warmup: ast.expr | None
    share: ast.expr | None
    per_epoch: ast.expr | None


@lru_cache(maxsize=16)
def schedules(source: Script) -> tuple[Schedule, ...]:
    """Every schedule of the libraries that the script makes, in source order."""
    if not {"keras", "tensorflow", "mindspore", "jax"} & set(source.frameworks):
        return ()
    return tuple(
        Schedule(c, *(_given(c, p) for p in (form.length, form.warmup, form.share, form.per_epoch)))
        for c in source.named(*_FORMS)
        if (form := _FORMS[last_name(c.func)]) and last_name(c.func) not in source.classes
        if last_name(c.func)[:1].isupper()
        or "_lr" in last_name(c.func)
        or _counts_updates(c)
        or unparse(c.func).startswith("optax.")
    )


def _counts_updates(call: ast.Call) -> bool:
    """A function of `tf.train` gets what counts updates, and not the epoch."""
    told = argument(call, "global_step", position=1)
    about = re.search(r"(?:^|\.)train\.\w+$", unparse(call.func))
    return about is not None and told is not None and "step" in unparse(told).lower()


def _given(call: ast.Call, place: tuple[int, str] | None) -> ast.expr | None:
    if place is None:
        return None
    return argument(call, place[1], position=place[0])


def length_misjudged(source: Script) -> Finding | None:
    """A length or a warm-up in epochs, in samples, of one epoch, or of next to nothing."""
    mine = flow(source)
    for one in schedules(source):
        if any(isinstance(p, ast.Subscript) for p in source.above(one.call)) or _looked_up(source, one.call):
            continue
        why = _wrong(mine, one)
        if why:
            return at(source, one.call, why)
    return _shrunk_with_each_batch(source) or _warmup_without_end(source)


def _looked_up(source: Script, call: ast.Call) -> bool:
    """A list of rates that is asked by hand: `rates[epoch]`."""
    parent = source.parents.get(call)
    names = {unparse(t) for t in parent.targets} if isinstance(parent, ast.Assign) else set()
    return any(
        unparse(n.value) in names and not isinstance(n.slice, ast.Slice) for n in source.of(ast.Subscript)
    )


def _wrong(mine: Flow, one: Schedule) -> str:
    source = mine.source
    if (
        one.per_epoch is not None
        and literal(source, one.per_epoch) == 1
        and not _in_updates(mine, one.length)
    ):
        return "this list holds one rate for each epoch, and the optimizer takes one with every batch"
    for part, name in ((one.length, "schedule"), (one.warmup, "warm-up")):
        if part is not None and _in_samples(mine, part):
            return f"this {name} is counted in samples, and it moves with every batch"
    if one.warmup is not None:
        count = literal(source, one.warmup)
        whole = literal(source, one.length) if one.length is not None else None
        short = isinstance(whole, int) and isinstance(count, int) and whole <= 20 * count  # for a try
        if isinstance(count, int) and not isinstance(count, bool) and 0 < count <= _FEW and not short:
            return f"the warm-up is over after {count} batches"
        if one.length is not None and _as_long(source, one.warmup, one.length):
            return "the warm-up is as long as the whole schedule"
    if one.length is not None and one.share is not None:
        steps, share = literal(source, one.length), literal(source, one.share)
        if isinstance(steps, (int, float)) and isinstance(share, float) and 0 < share < 1 and steps > 0:
            half = steps * math.log(2) / -math.log(share)
            if half < _SOON:
                return f"half of the rate is gone after {max(1, round(half))} batches"
    elif one.length is not None and not one.per_epoch:
        if literal(source, one.length) in _epochs(source):
            return "the schedule is over after as many batches as there are epochs"
        if _of_one_epoch(mine, one.length) and 1 not in _epochs(source):
            return "the schedule ends with the first epoch: its length is that of one"
    return ""


def _in_updates(mine: Flow, length: ast.expr | None) -> bool:
    """`epochs * steps`: a list with an entry for each update, where an "epoch" of the list is one of them."""
    ends = _behind(mine, length, 3) if length is not None else []
    return (
        re.search(r"get_dataset_size|steps|updates|batches|\blen\(", " ".join(map(unparse, ends))) is not None
    )


@lru_cache(maxsize=16)
def _epochs(source: Script) -> frozenset[object]:
    """Numbers of epochs that a trainer is told: `fit(epochs=15)`, `model.train(15, data)`."""
    given = [keyword(c, "epochs") for c in source.named("fit")]
    given += [
        keyword(c, "epoch") or c.args[0]
        for c in source.named("train")
        if len(c.args) > 1 and "mindspore" in source.frameworks
    ]
    given += [
        loop.iter.args[-1]
        for loop in source.of(ast.For)
        if re.search(r"(?i)^_?(?:ep|epochs?)(?:_|$)", unparse(loop.target)) and _goes_through_data(loop)
        if isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) == "range" and loop.iter.args
    ]
    return frozenset({literal(source, g) for g in given if g is not None} - {None})


def _goes_through_data(loop: ast.For) -> bool:
    """Batches are gone through within: `for epoch in range(30): for x, y in train:`."""
    return any(
        isinstance(n, ast.For) and n is not loop and not re.match(r"range\(", unparse(n.iter))
        for n in ast.walk(loop)
    )


def _as_long(source: Script, warmup: ast.expr, length: ast.expr) -> bool:
    """The same expression, a multiple of it, or a larger number."""
    short, long = literal(source, warmup), literal(source, length)
    if isinstance(short, (int, float)) and isinstance(long, (int, float)):
        return short >= long
    if unparse(warmup) == unparse(length):
        return True
    times = warmup.right if isinstance(warmup, ast.BinOp) and isinstance(warmup.op, ast.Mult) else None
    if times is None or not isinstance(warmup, ast.BinOp) or unparse(warmup.left) != unparse(length):
        return False
    factor = literal(source, times)
    return isinstance(factor, (int, float)) and factor >= 1


_PER_EPOCH = re.compile(
    r"(?i)^(?:n_|num_)?(?:train_)?(?:steps?|batches|iters|iterations)_(?:per|in|an)_(?:one_)?epoch$"
)


def _of_one_epoch(mine: Flow, length: ast.expr) -> bool:
    """The bare number of batches in an epoch."""
    for end in (length, *mine.values(length, 3)):
        if isinstance(end, (ast.Name, ast.Attribute)) and _PER_EPOCH.match(last_name(end)):
            return True
        if isinstance(end, ast.Call) and last_name(end.func) in ("get_dataset_size", "cardinality"):
            return True
    return False


_BATCHED = re.compile(r"batch|Loader|create_dict_iterator|bucket")


def _in_samples(mine: Flow, node: ast.expr) -> bool:
    """`len(rows) * epochs`: a number of samples that nothing divides by the size of a batch."""
    source, ends = mine.source, _behind(mine, node, 4)
    if any(_by_batch(source, n) for e in ends for n in of(e, ast.BinOp)):
        return False
    if re.search(r"get_dataset_size|cardinality|batch", " ".join(unparse(e) for e in ends)):
        return False
    products = [n for e in ends for n in of(e, ast.BinOp) if isinstance(n.op, ast.Mult)]
    counted = [c.args[0] for e in products for c in of(e, ast.Call) if last_name(c.func) == "len" and c.args]
    return any(isinstance(c, ast.Name) and _are_rows(mine, c) for c in counted) and bool(
        re.search(r"batch", source.code)
    )


def _behind(mine: Flow, node: ast.expr, depth: int) -> list[ast.expr]:
    """An expression and what the names in it stand for, but for those of data that are counted."""
    found = [node]
    data = {n for c in of(node, ast.Call) if last_name(c.func) == "len" for n in of(c, ast.Name)}
    for name in of(node, ast.Name):
        given = mine.given(name) if name not in data else None
        if depth and given is not None and not given.places:
            found += _behind(mine, given.value, depth - 1)
    return found


def _by_batch(source: Script, node: ast.BinOp) -> bool:
    """`len(rows) // 32`; not `epochs * len(rows) // 2`, which is a share of a length."""
    if not isinstance(node.op, (ast.FloorDiv, ast.Div)):
        return False
    by = literal(source, node.right)
    if re.search(r"(?i)batch", unparse(node.right)) or not isinstance(by, (int, float)) or by > _FEW:
        return True
    counts = any(last_name(c.func) == "len" for c in of(node.left, ast.Call))
    return counts and not any(isinstance(n.op, ast.Mult) for n in of(node.left, ast.BinOp))


def _are_rows(mine: Flow, name: ast.Name) -> bool:
    """What is counted was not batched, and no loop or trainer goes over it."""
    source = mine.source
    made = [v for v in mine.values(name, 3) if v is not name]
    made += [w for v in made for n in of(v, ast.Name) for w in mine.values(n, 2) if w is not n]
    if not made or any(_BATCHED.search(unparse(v)) for v in made):
        return False
    for function in (f for v in made for c in of(v, ast.Call) for f in mine.called(c)):
        if _BATCHED.search(unparse(function)):
            return False
    uses = [n for n in source.of(ast.Name) if n.id == name.id and isinstance(n.ctx, ast.Load)]
    for use in uses:
        parent = source.parents.get(use)
        if isinstance(parent, ast.Call) and last_name(parent.func) in ("fit", "train", "evaluate"):
            return False
        if isinstance(parent, ast.For) and use is parent.iter and takes_gradients(source, parent):
            return False
    handed = [
        p
        for u in uses
        if isinstance(p := source.parents.get(u), (ast.Call, ast.Tuple, ast.List, ast.Subscript))
        if not (isinstance(p, ast.Call) and last_name(p.func) in ("len", "print"))
    ]
    return bool(handed)


def _shrunk_with_each_batch(source: Script) -> Finding | None:
    """`optimizer.learning_rate.assign(optimizer.learning_rate * 0.9)` beside the update, with every batch."""
    for call, owner, value in _set_rates(source):
        loops = source.loops_around(call)
        if not loops or not takes_gradients_in(source, loops[0]) or len(loops) < 2:
            continue
        if any(isinstance(p, ast.If) and loops[0] in source.above(p) for p in source.above(call)):
            continue
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
            share = literal(source, value.right)
            shrinks = isinstance(share, float) and 0 < share < 2 ** (-1 / _SOON)
            if shrinks and unparse(value.left) in (owner, f"{owner}.numpy()", f"float({owner})"):
                return at(source, call, "the rate is lowered with every batch: it is gone within an epoch")
    return None


def takes_gradients_in(source: Script, loop: ast.AST) -> bool:
    """A loop takes gradients itself, or by a function of the script that it calls."""
    if takes_gradients(source, loop):
        return True
    mine = flow(source)
    return any(takes_gradients(source, f) for c in of(loop, ast.Call) for f in mine.called(c))


def _set_rates(source: Script) -> Iterator[tuple[ast.AST, str, ast.expr]]:
    """Where a rate is set by hand: the statement or call, what is set, to what."""
    for call in source.named("assign"):
        owner = source.owner(call)
        if re.search(r"\.(?:lr|learning_rate)$", owner) and call.args:
            yield call, owner, call.args[0]
    for call in source.named("set_value"):
        if len(call.args) == 2 and re.search(r"\.(?:lr|learning_rate)$", unparse(call.args[0])):
            yield call, unparse(call.args[0]), call.args[1]
    for node in source.of(ast.Assign):
        if len(node.targets) == 1 and re.search(
            r"\.(?:lr|learning_rate)$|\[['\"]lr['\"]\]$", unparse(node.targets[0])
        ):
            yield node, unparse(node.targets[0]), node.value


def _warmup_without_end(source: Script) -> Finding | None:
    """`rate * min(1, (epoch + 1) / 1000)` in 30 epochs: a warm-up counted in steps, told in epochs."""
    for node, _, value in _set_rates(source):
        for inner in of(value, ast.Call):
            if last_name(inner.func) not in ("min", "minimum") or len(inner.args) != 2:
                continue
            for part in inner.args:
                if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div):
                    long, rounds = literal(source, part.right), _rounds(source, node, part.left)
                    if isinstance(long, (int, float)) and rounds is not None and long >= 2 * rounds:
                        return at(source, node, "the warm-up does not end within these epochs")
    return None


def _rounds(source: Script, node: ast.AST, counter: ast.expr) -> float | None:
    """How often the loop runs whose counter an expression is made of."""
    for loop in source.loops_around(node):
        if isinstance(loop, ast.For) and names_in(loop.target) & names_in(counter):
            over = loop.iter
            if isinstance(over, ast.Call) and last_name(over.func) == "range" and over.args:
                end = literal(source, over.args[-1] if len(over.args) < 3 else over.args[1])
                return float(end) if isinstance(end, (int, float)) else None
    return None


def schedule_unused(source: Script) -> Finding | None:
    """A schedule is made and kept under a name that nobody reads: no optimizer gets it."""
    if not {"keras", "tensorflow", "mindspore"} & set(source.frameworks):
        return None
    seen: ast.AST | None = None
    for call in source.named(*_FORMS, *_OTHERS):
        parent = source.parents.get(call)
        if not isinstance(parent, ast.Assign) or not isinstance(parent.targets[0], ast.Name):
            continue
        seen = seen or call
        name, scope = parent.targets[0].id, source.function_around(parent) or source.tree
        if not any(n.id == name and isinstance(n.ctx, ast.Load) for n in of(scope, ast.Name)):
            return at(source, call, "this schedule is made, and no optimizer gets it")
    return ok(source, seen, "the schedule is handed on") if seen is not None else None


def stopped_before_lowered(source: Script) -> Finding | None:
    """Training stops after fewer rounds without progress than the rate waits before it is lowered."""
    stops = [(c, _patience(source, c, 0)) for c in source.named("EarlyStopping")]
    lowers = [(c, _patience(source, c, 10)) for c in source.named("ReduceLROnPlateau")]
    if len(stops) != 1 or len(lowers) != 1:
        return None
    (stop, soon), (lower, late) = stops[0], lowers[0]
    watched = {unparse(m) for c in (stop, lower) if (m := keyword(c, "monitor")) is not None}
    if soon is None or late is None or len(watched) > 1:
        return None
    if 0 < soon < late:
        return at(source, lower, f"training stops after {soon:g} rounds without progress, before this acts")
    return ok(source, lower, "the rate is lowered before training stops")


def _patience(source: Script, call: ast.Call, usual: float) -> float | None:
    given = keyword(call, "patience")
    value = usual if given is None else literal(source, given)
    return float(value) if isinstance(value, (int, float)) else None
