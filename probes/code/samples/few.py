"""Limits that are left over from trying a script out: a few batches in each round, a few samples."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse, walk
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import taken
from ...scripts.syntax import Script
from ..shared.checks import at, gone_over, ok
from ..shared.sides import literal, side
from ..shared.uses import never_run

TRYING = re.compile(r"(?i)debug|smoke|quick|dry|overfit|sanity|fast_dev|toy|demo|tiny|test")
_FAST = re.compile(r"(?i)(?:^|_|\.)fast(?:_|$)")  # `if finish_fast:`
_ASIDE = re.compile(r"(?i)profil|bench|warm|find|range_test|calib|estimate|measure|eval|valid|test")
_SHOWN = ("trange", "zip", "prefetch", "log_every")  # beside what is looked through everywhere


def small(number: object, few: int) -> bool:
    """Whether it is a number of 1 to `few`."""
    return isinstance(number, int) and not isinstance(number, bool) and 0 < number <= few


def meant(source: Script, node: ast.AST) -> bool:
    """Whether a node stands under a switch for trying out."""
    tests = [unparse(p.test) for p in source.above(node) if isinstance(p, (ast.If, ast.IfExp))]
    return any(TRYING.search(t) or _FAST.search(t) for t in tests)


def few_batches(source: Script, few: int) -> Finding | None:
    """The loop that trains takes at most `few` batches of its loader, by a number that is written out.

    `[next(iter(loader))]`, `list(loader)[:5]`, `islice(loader, 5)`, `if i >= 5: break` of the loop's own
    counter. A loop for profiling or calibration, by its function's name, is left aside.
    """
    seen: ast.AST | None = None
    for loop in _training_loops(source):
        seen = seen or loop
        if _ASIDE.search(source.function_name(loop)) or meant(source, loop):
            continue
        over = gone_over(loop.iter, *_SHOWN)
        if (number := _taken(source, over)) is not None and small(number, few):
            return at(source, over, f"each round trains on {number} batches of the data")
        for stop, number in _stops(loop):
            if small(number, few) and not meant(source, stop):
                return at(source, stop, f"each round ends after {number} batches, whatever the data hold")
    return ok(source, seen, "the loop that trains goes through its data") if seen is not None else None


def _training_loops(source: Script) -> Iterator[ast.For]:
    """The nearest loops over data around the backward passes, also where a helper runs the step."""
    done: set[ast.AST] = set()
    for backward in taken(source):
        nodes: list[ast.AST] = [backward]
        function = source.function_around(backward)
        if function is not None and not source.loops_around(backward):
            nodes = list(flow(source).calls_of(function))
        for node in nodes:
            loop = next(iter(source.loops_around(node)), None)
            if isinstance(loop, ast.For) and loop not in done and not _EPOCH.search(unparse(loop.target)):
                done.add(loop)
                yield loop


_EPOCH = re.compile(r"(?i)epoch|round")


def _taken(source: Script, over: ast.expr) -> object:
    """How many batches are taken of a loader."""
    if isinstance(over, (ast.List, ast.Tuple)) and len(over.elts) == 1:
        first = over.elts[0]
        named = isinstance(first, ast.Call) and last_name(first.func) == "next" and bool(first.args)
        return 1 if named else None
    if isinstance(over, ast.Subscript) and isinstance(over.slice, ast.Slice):
        whole, bound = over.value, over.slice
        listed = isinstance(whole, ast.Call) and last_name(whole.func) in ("list", "tuple")
        if listed and bound.lower is None and bound.step is None:
            return literal(source, bound.upper)
    if isinstance(over, ast.Call) and last_name(over.func) == "islice" and len(over.args) == 2:
        return None if _goes_on(source, over) else literal(source, over.args[1])
    if isinstance(over, ast.Call) and last_name(over.func) == "take" and len(over.args) == 1:
        return literal(source, over.args[0])
    return None


def _goes_on(source: Script, taken: ast.Call) -> bool:
    """`islice(batches, 4)` of an iterator that lives longer than the loop: the next turn takes the next four.

    The iterator is made outside of the loop that the call stands in, or handed to the function.
    """
    whole = taken.args[0]
    if not isinstance(whole, (ast.Name, ast.Attribute)):
        return False
    name = unparse(whole)
    around = [p for p in source.above(taken) if isinstance(p, (ast.For, ast.While))]
    around = [p for p in around if not (isinstance(p, ast.For) and taken in set(walk(p.iter)))]
    function = source.function_around(taken)
    if function is not None and any(a.arg == name for a in of(function.args, ast.arg)):
        return not re.search(r"(?i)loader|data(?!_iter)|dl$", name)
    makers = [
        n
        for n in source.of(ast.Assign)
        if any(unparse(t) == name for t in n.targets)
        and isinstance(n.value, ast.Call)
        and last_name(n.value.func) in ("iter", "cycle", "create_tuple_iterator", "create_dict_iterator")
    ]
    return bool(makers) and bool(around) and not any(around[0] in source.above(m) for m in makers)


def _stops(loop: ast.For) -> Iterator[tuple[ast.If, object]]:
    """`if i >= 10: break` of the number that the loop counts, with the number."""
    target = loop.target
    counts = isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) == "enumerate"
    counter = target.elts[0] if counts and isinstance(target, ast.Tuple) and target.elts else None
    if not isinstance(counter, ast.Name):
        return
    for node in loop.body:
        test = node.test if isinstance(node, ast.If) else None
        if not isinstance(node, ast.If) or not isinstance(test, ast.Compare) or len(test.ops) != 1:
            continue
        over = isinstance(test.ops[0], (ast.Gt, ast.GtE, ast.Eq))
        if over and unparse(test.left) == counter.id and any(isinstance(s, ast.Break) for s in node.body):
            limit = test.comparators[0]
            yield node, limit.value if isinstance(limit, ast.Constant) else None


def few_in_a_call(source: Script, few: int) -> Finding | None:
    """The few samples stand in the call that trains: `DataLoader(Subset(train_set, range(64)))`.

    `Trainer(train_dataset=data.select(range(64)))`, `model.fit(x_train[:100], y_train[:100])`.
    """
    seen: ast.AST | None = None
    for call in source.calls:
        name = last_name(call.func)
        if name == "DataLoader" or name.endswith("DataLoader"):
            data = argument(call, "dataset", position=0)
            learns = _is_for_training(source, call)
        elif keyword(call, "train_dataset") is not None:
            data, learns = keyword(call, "train_dataset"), True
        elif name == "fit" and (len(call.args) > 1 or keyword(call, "y") is not None):
            data, learns = call.args[0] if call.args else keyword(call, "x"), True
        else:
            continue
        if data is None or isinstance(data, ast.Constant):
            continue
        if (learns if learns is not None else side(unparse(data))) is not True:
            continue
        picked = _picked(source, data)
        seen = seen or call
        if picked is not None and small(picked, few) and not meant(source, call):
            if rest_is_taken(source, picked) or _most_of_made(source, data, picked):
                continue
            if side(unparse(data)) is not False and not _ASIDE.search(source.function_name(call)):
                return at(source, data, f"training keeps only {picked} samples")
    return ok(source, seen, "training is given all of its data") if seen is not None else None


def _most_of_made(source: Script, data: ast.expr, picked: object) -> bool:
    """`x, y = make(n_samples=1200)` and `fit(x[:1000], ...)`: the larger part of what the script makes."""
    whole = data.value if isinstance(data, ast.Subscript) else data
    made = [g.value for g in flow(source).all_given(whole) if isinstance(g.value, ast.Call)]
    counts = [n.value for call in made for n in of(call, ast.Constant) if type(n.value) is int]
    return isinstance(picked, int) and any(picked < n <= 2 * picked for n in counts)


def rest_is_taken(source: Script, count: object) -> bool:
    """`Subset(data, range(600, 900))` beside `Subset(data, range(600))`: a split, and no cut."""
    made = [a for c in source.named("Subset", "select") for a in c.args if isinstance(a, ast.Call)]
    starts = [r.args[0] for r in made if last_name(r.func) == "range" and len(r.args) == 2]
    return any(isinstance(s, ast.Constant) and s.value == count for s in starts)


def few_by_setting(source: Script, few: int) -> Finding | None:
    """A trainer is told to use a part of its batches, as one does to try it out.

    `Trainer(fast_dev_run=True)`, `overfit_batches=10`, `fit(steps_per_epoch=5)`.
    """
    seen: ast.AST | None = None
    for call in source.calls:
        name = last_name(call.func)
        if not (name.endswith("Trainer") or name in ("fit", "fit_generator")):
            continue
        for given in call.keywords:
            if given.arg not in _PARTS or meant(source, call) or _ASIDE.search(source.function_name(call)):
                continue
            if _tried_first(source, call) or never_run(source, call):
                continue
            seen = seen or call
            value = literal(source, given.value)
            part = isinstance(value, float) and 0 < value < 1 and given.arg != "steps_per_epoch"
            if value is True or part or small(value, few):
                if isinstance(given.value, ast.Constant):  # an option says otherwise in another run
                    return at(source, given.value, f"each epoch is cut short: {given.arg}={value}")
    return ok(source, seen, "no setting cuts the epochs short") if seen is not None else None


def _tried_first(source: Script, call: ast.Call) -> bool:
    """A single short epoch beside a training that nothing cuts: it makes variables, or tries the code out.

    `model.fit(data, steps_per_epoch=1, epochs=1)` before weights are restored, `Trainer(fast_dev_run=True)`.
    """
    tried = keyword(call, "fast_dev_run") is not None
    epochs = keyword(call, "epochs")
    once = epochs is None or (isinstance(epochs, ast.Constant) and epochs.value == 1)
    if not tried and (not once or not last_name(call.func).startswith("fit")):
        return False
    others = [c for c in source.named(last_name(call.func)) if c is not call]
    return any(not any(_cuts(c, part) for part in _PARTS) for c in others)


def _cuts(call: ast.Call, part: str) -> bool:
    """Whether a setting that cuts epochs short is written out in a call."""
    given = keyword(call, part)
    return isinstance(given, ast.Constant) and bool(given.value)


# `limit_train_batches` is set for good in published examples: it is a choice as often as a remnant
_PARTS = ("fast_dev_run", "overfit_batches", "steps_per_epoch")


def _is_for_training(source: Script, call: ast.Call) -> bool | None:
    """Whether a loader is one of training, by the name it is given to."""
    statement = source.statement(call)
    return side(unparse(statement.targets[0])) if isinstance(statement, ast.Assign) else None


def _picked(source: Script, data: ast.expr) -> object:
    """How many samples an expression picks from the front: `x[:64]`, `Subset(x, range(64))`."""
    ends = [data]
    if isinstance(data, ast.Name):
        ends = flow(source).values(data, 2)
    for node in ends:
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            if node.slice.lower is None and node.slice.step is None and node is data:
                return literal(source, node.slice.upper)
        elif isinstance(node, ast.Call) and last_name(node.func) in ("Subset", "select") and node.args:
            count = node.args[-1]
            if isinstance(count, ast.Call) and last_name(count.func) in ("range", "arange"):
                if len(count.args) == 1:
                    return literal(source, count.args[0])
    return None
