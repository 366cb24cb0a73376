"""One net that is trained on through the folds, and is scored in each on rows of the rounds before."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import all_arguments, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Script
from ..shared.checks import at, ok

_FOLD = re.compile(r"(?i)^(?:(?:k_?)?fold(?:_?(?:id|idx|no|num|i|k|n))?|(?:left|held)(?:_?out)?)$")
_BEGINS_ANEW = re.compile(
    r"(?i)load_state_dict|reset|deepcopy|clone_model|set_weights|load_weights|restore|re_?init|init_weights|apply|copy"
)


def net_through_folds(source: Script) -> Finding | None:
    """`net = Net()` above `for train, val in kfold.split(x):`, trained and scored in each round.

    Rows that one round holds out were learned from in another. Not told of splits in time, whose later rounds
    hold later rows out, nor where the loop puts weights back.
    """
    seen: ast.AST | None = None
    for loop in _over_folds(source):
        if not _trains(source, loop):
            continue
        seen = seen or loop
        stored = _made_in(loop)
        for name, owner in _models(source, loop):
            anew = any(
                _BEGINS_ANEW.search(last_name(c.func)) and name in names_in(c) for c in of(loop, ast.Call)
            )
            if name in stored or anew or not _is_handed(source, loop, name):
                continue
            return at(source, owner, f"`{name}` is made once, and trained on from fold to fold")
    return ok(source, seen, "each fold has a net of its own") if seen is not None else None


def _made_in(loop: ast.For) -> set[str]:
    """Names that a loop gives a value to, but `net = trained(net, rows)`, which is the same net."""
    same = {
        t
        for n in of(loop, ast.Assign)
        if isinstance(n.value, ast.Call)
        for t in n.targets
        if isinstance(t, ast.Name) and any(isinstance(a, ast.Name) and a.id == t.id for a in n.value.args)
    }
    return {n.id for n in of(loop, ast.Name) if isinstance(n.ctx, ast.Store) and n not in same}


def _over_folds(source: Script) -> Iterator[ast.For]:
    """Loops over what a splitter gives, or over the numbers of folds that are compared."""
    for loop in source.of(ast.For):
        counted = isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) == "enumerate"
        over = loop.iter.args[0] if counted and loop.iter.args else loop.iter  # type: ignore[attr-defined]
        inner = loop.target.elts[-1] if counted and isinstance(loop.target, ast.Tuple) else loop.target
        if isinstance(over, ast.Call) and last_name(over.func) == "split" and over.args:
            owner = over.func.value if isinstance(over.func, ast.Attribute) else over
            made = {last_name(v.func) for v in flow(source).values(owner, 3) if isinstance(v, ast.Call)}
            known = any(re.search(r"(?:KFold|ShuffleSplit|Leave\w+Out|Leave\w+)$", m) for m in made)
            if known and isinstance(inner, ast.Tuple) and len(inner.elts) == 2:
                yield loop
        elif isinstance(inner, ast.Name) and _FOLD.match(inner.id):
            tests = {
                type(o)
                for c in of(loop, ast.Compare)
                for o in c.ops
                if inner.id in {unparse(x) for x in (c.left, *c.comparators)}
            }
            if {ast.Eq, ast.NotEq} <= tests or (ast.Eq in tests and _deals(loop, inner.id)):
                yield loop


def _deals(loop: ast.For, name: str) -> bool:
    """`if group[i] == left: test.append(i)`, `else: train.append(i)`."""
    for node in of(loop, ast.If):
        asked = isinstance(node.test, ast.Compare) and name in {
            unparse(x) for x in (node.test.left, *node.test.comparators)
        }
        sides = [
            {unparse(c.func) for s in body for c in of(s, ast.Call)} for body in (node.body, node.orelse)
        ]
        if (
            asked
            and all(any(c.endswith(".append") for c in calls) for calls in sides)
            and sides[0] != sides[1]
        ):
            return True
    return False


def _trains(source: Script, loop: ast.For) -> bool:
    if takes_gradients(source, loop):
        return True
    called = (f for c in of(loop, ast.Call) for f in flow(source).called(c))
    return any(takes_gradients(source, f) for f in called)


def _models(source: Script, loop: ast.For) -> Iterator[tuple[str, ast.AST]]:
    """Nets that are made once above a loop, in the same function, by an assignment of a call."""
    function = source.function_around(loop)
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Name) or source.function_around(node) is not function:
            continue
        if node.lineno >= loop.lineno or set(source.loops_around(node)) - set(source.loops_around(loop)):
            continue
        if len(source.loops_around(node)) != len(source.loops_around(loop)):
            continue
        made = isinstance(node.value, ast.Call) and _has_weights(source, loop, target.id)
        if made and "optim" not in unparse(node.value):
            yield target.id, node


def _has_weights(source: Script, loop: ast.For, name: str) -> bool:
    """Weights are asked of it, or of the parameter that it is handed to in the loop."""
    weighed = {
        source.owner(c) for c in source.named("parameters", "train", "eval", "compile", "trainable_params")
    }
    weighed |= {n for c in source.named("compile", "DataParallel") for n in names_in(c)}
    places = (
        (f, i)
        for c in of(loop, ast.Call)
        for i, a in enumerate(c.args)
        if isinstance(a, ast.Name) and a.id == name
        for f in flow(source).called(c)
    )
    return name in weighed or any(i < len(f.args.args) and f.args.args[i].arg in weighed for f, i in places)


def _is_handed(source: Script, loop: ast.For, name: str) -> bool:
    """The net is called, or handed to what trains, in the loop."""
    for call in of(loop, ast.Call):
        if isinstance(call.func, ast.Name) and call.func.id == name and takes_gradients(source, loop):
            return True
        handed = any(isinstance(a, ast.Name) and a.id == name for a in all_arguments(call))
        if handed and any(takes_gradients(source, f) for f in flow(source).called(call)):
            return True
    return False
