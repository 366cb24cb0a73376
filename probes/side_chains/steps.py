"""What is done to a batch before the model is called on it: in the training step and in evaluation."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache

from ..code.shared.roles import model_calls
from ..code.shared.sides import side, words
from ..readers._tree import unparse, walk
from ..readers.script import last_name
from ..scripts.syntax import Function, Script
from ..scripts.untaped import untaped_function, without_gradients
from .apart import Apart, apart
from .chains import inside
from .evaluate import Evaluator
from .machine import Left, OutOfSteps
from .values import Term

MOST_STEPS = 8_000
_MODEL = re.compile(r"(?i)^(?:model|net|network|backbone|classifier|regressor|detector|student)$")
_LEARNS = frozenset(("training_step", "train_step", "forward_fn", "compute_loss", "train_one_step"))
_MASK = re.compile(r"(?i)mask|lengths?$|^lens?$|pad(?:ding)?(?:_|$)")
_OTHERS = frozenset(
    ("sample", "generate", "attack", "visualize", "plot", "embed", "extract", "attribute", "explain")
)


@lru_cache(maxsize=16)
def batches_apart(source: Script) -> Apart | None:
    """The model gets batches of other figures in evaluation than in training, or a mask on one side alone."""
    if not (source.backwards or source.trains):
        return None
    known = {node: told for node, told in _calls(source) if told is not None}
    if set(known.values()) != {True, False}:
        return None
    made: dict[bool, list[tuple[ast.Call, Term]]] = {True: [], False: []}
    run = Evaluator(source, 12_000)
    with suppress(OutOfSteps, RecursionError, Left):
        run.run_module()
    left = 3 * MOST_STEPS
    # of a function that training calls with what it has made ready: `rmse_of(net, x_va, y_va)`
    through: dict[ast.Call, list[Term]] = {}
    for function in dict.fromkeys(source.function_around(n) for n in known):
        if function is None or function in source.forwards or left < 0:
            continue
        run.steps, run.learning = MOST_STEPS, set()
        run.calls.clear()
        with suppress(OutOfSteps, RecursionError, Left):
            run.run_function(function)
        left -= MOST_STEPS - max(run.steps, 0)
        for node, term in run.calls:
            if node in known and source.function_around(node) is not function:
                through.setdefault(node, []).append(term)
            if node in known and source.function_around(node) is function:
                if all(n is not node or t.key != term.key for n, t in made[known[node]]):
                    made[known[node]].append((node, term))
    for side_ in (True, False):
        told = [(n, t) for n, _ in made[side_] for t in through.get(n, [])]
        made[side_] = [*told, *((n, t) for n, t in made[side_] if n not in through)]
    if not made[True] or not made[False]:
        return None
    if _one_inside(source, [n for n, _ in made[True]], [n for n, _ in made[False]], through):
        return None
    found: Apart | None = None
    run.steps = MOST_STEPS
    for mine, given in made[True][:4]:
        for theirs, handed in made[False][:6]:
            one = _unlike(run, mine, given, theirs, handed)
            if one is None:
                return None
            found = found or one
    return found


def _one_inside(
    source: Script, learns: list[ast.Call], scores: list[ast.Call], through: dict[ast.Call, list[Term]]
) -> bool:
    """One side stands in a function within the function of the other, and was met only by itself.

    What the outer one has made ready (`batch`, `data`) is not known there.
    """
    for inner, outer in ((learns, scores), (scores, learns)):
        around = {source.function_around(n) for n in outer} - {None}
        for node in inner:
            function = source.function_around(node)
            if node not in through and function is not None and around & set(source.above(function)):
                return True
    return False


def _unlike(run: Evaluator, mine: ast.Call, given: Term, theirs: ast.Call, handed: Term) -> Apart | None:
    first = [_inputs(t, n) for t, n in ((given, mine), (handed, theirs))]
    if not first[0] or not first[1]:
        return None
    with suppress(OutOfSteps, RecursionError):
        one = apart(run, first[0][0], first[1][0])
        if one is not None:
            return one
        return _masked_once(mine, given, theirs, handed, len(first[0]), len(first[1]))
    return None


def _inputs(made: Term, node: ast.Call) -> tuple[Term, ...]:
    """The arguments of a model's call, without the object that it is a method of."""
    return made.args[-len(node.args) :] if node.args and len(made.args) >= len(node.args) else ()


def _masked_once(
    mine: ast.Call, given: Term, theirs: ast.Call, handed: Term, size: int, other: int
) -> Apart | None:
    """A mask or lengths for the model in training, and none in evaluation, or the other way round."""
    if unparse(mine.func) != unparse(theirs.func) or any(isinstance(a, ast.Starred) for a in mine.args):
        return None
    named = [{k.arg for k in c.keywords} for c in (mine, theirs)]
    if None in named[0] | named[1]:
        return None
    for node, made, names, beside, n, fewer in (
        (mine, given, named[0], named[1], size, other),
        (theirs, handed, named[1], named[0], other, size),
    ):
        extra = [k for k in names - beside if k and _MASK.search(k)]
        if len(names - beside) == 1 and not beside - names and n == fewer and extra:
            held = made.kw.get(extra[0])
        elif n == fewer + 1 and names == beside and _MASK.search(unparse(node.args[-1])):
            held = made.args[-1]
        else:
            continue
        if held is not None and not any(t.drawn for t in inside(held, 80)):
            trains = node is mine
            return Apart("mask", mine, theirs, False, "training" if trains else "evaluation")
    return None


def _calls(source: Script) -> Iterator[tuple[ast.Call, bool | None]]:
    """Calls of the model, and whether they are those of training; None where it cannot be told."""
    nodes = dict.fromkeys(model_calls(source))
    for call in source.calls:
        name = last_name(call.func)
        itself = isinstance(call.func, ast.Name) and call.func.id == "self"
        if call.args and (_MODEL.match(name) or itself) and name not in source.classes:
            nodes[call] = None
    for call in nodes:
        function = source.function_around(call)
        handed_on = (
            _MODEL.match(last_name(call.args[0])) is not None
        )  # a function of the model, no call of it
        if function is not None and function not in source.forwards and not handed_on:
            yield call, _trains(source, call, function)


def _trains(source: Script, call: ast.Call, function: Function) -> bool | None:
    quiet = untaped_function(function) or without_gradients(source, call)
    if _OTHERS & set(words(function.name)):
        return None
    if function.name in _LEARNS:
        return True
    loops = [p for p in source.loops_around(call) if not _counts(p)]
    scope: ast.AST = loops[0] if loops else function
    if not quiet and any(b in walk(scope) for b in source.backwards):
        return True
    items = [i.context_expr for p in source.above(call) if isinstance(p, ast.With) for i in p.items]
    if any(isinstance(i, ast.Call) and last_name(i.func) == "GradientTape" for i in items):
        return True
    told = side(function.name)
    if quiet or told is False:
        return False
    return None


def _counts(loop: ast.For | ast.While) -> bool:
    """Not a loop over batches: `for t in range(steps)`."""
    return isinstance(loop, ast.While) or (
        isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) == "range"
    )
