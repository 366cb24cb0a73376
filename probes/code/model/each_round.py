"""Rounds of a loop in a model: one layer for all, the same input in each, a state that none hands on."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_bound, names_in, of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Loop, Script
from ..shared.checks import at
from ..shared.nodes import assigned

_WITH_WEIGHTS = re.compile(
    r"^(?:Dense|Linear|Embedding|LSTM|GRU|RNN|\w*Conv\w*|\w*Norm(?:alization)?\w*|\w*Attention\w*|\w*(?:Layer|Block))$"
)


def one_in_all_rounds(source: Script) -> ast.Call | None:
    """The call that lets a stream through one layer in each round of a loop over settings.

    A layer that is called in every round may be meant so (a recurrent design). It is not where the loop goes
    over settings, one for each layer, and reads none of them: `for rate in (1, 2, 4): x = conv(x)`.
    """
    for loop in source.of(ast.For):
        before = _made_before(source, loop) if _reads_no_setting(loop) else set()
        if not before:
            continue
        given = {t.id for a in of(loop, ast.Assign) for t in a.targets if isinstance(t, ast.Name)}
        for call in of(loop, ast.Call):
            first = call.args[0] if len(call.args) == 1 else None
            if not isinstance(first, ast.Name):
                continue
            applied = isinstance(call.func, ast.Name) and call.func.id in before
            if applied and first.id in given:
                return call
    return None


def one_appended_again(source: Script) -> ast.Call | None:
    """A loop puts one layer, made before it, into a list in each round: `self.convs.append(middle)`."""
    for owner in source.modules:
        lists = {
            unparse(target)
            for node in of(owner, ast.Assign)
            for target, value in assigned(node)
            if isinstance(value, ast.Call) and last_name(value.func) in ("ModuleList", "CellList")
        }
        for loop in of(owner, ast.For) if lists else ():
            made = _made_before(source, loop)
            for call in of(loop, ast.Call):
                given = (
                    call.args[0] if last_name(call.func) in ("append", "add_module") and call.args else None
                )
                kept = isinstance(call.func, ast.Attribute) and unparse(call.func.value) in lists
                if kept and isinstance(given, ast.Name) and given.id in made:
                    return call
    return None


def _made_before(source: Script, loop: ast.For) -> set[str]:
    """Names of layers with weights that the function around a loop makes outside of it, and only there."""
    function = source.function_around(loop)
    made: set[str] = set()
    other: set[str] = set()
    inside = set(of(loop, ast.Assign))
    for node in source.of(ast.Assign):
        if source.function_around(node) is not function:
            continue
        for target in node.targets:
            if isinstance(target, ast.Name):
                layer = node not in inside and _makes_layer(source, node.value)
                (made if layer else other).add(target.id)
    return made - other


def _makes_layer(source: Script, value: ast.expr) -> bool:
    if not isinstance(value, ast.Call):
        return False
    name = last_name(value.func)
    return bool(_WITH_WEIGHTS.match(name)) or any(m.name == name for m in source.modules)


def _reads_no_setting(loop: ast.For) -> bool:
    """`for rate in (1, 2, 4)` in which no line reads the rate."""
    over = loop.iter
    different = isinstance(over, (ast.Tuple, ast.List)) and len({unparse(e) for e in over.elts}) > 1
    named = isinstance(over, ast.Name)
    targets = names_in(loop.target)
    if not (different or named) or not targets or any(t.startswith("_") for t in targets):
        return False
    reads = {n.id for line in loop.body for n in of(line, ast.Name) if isinstance(n.ctx, ast.Load)}
    return not targets & reads


def every_round_from_the_start(source: Script) -> Finding | None:
    """Each round of a loop over settings runs layers of Keras on one value, and keeps the last output alone.

    `for rate in (1, 2, 4): x = block(past, 32, rate)`: nothing there reads `x`, and `past` stays as it is.
    """
    for function in source.of(ast.FunctionDef) if "keras" in source.text else ():
        for loop in of(function, ast.For):
            run = loop.body[0] if len(loop.body) == 1 else None
            if not isinstance(run, ast.Assign) or not isinstance(run.value, ast.Call):
                continue
            target = run.targets[0]
            if not isinstance(target, ast.Name) or target.id in names_in(run.value):
                continue
            given = {n.id for a in run.value.args for n in of(a, ast.Name)} - names_in(loop.target)
            if (
                given
                and _runs_layers(source, run.value)
                and isinstance(loop.iter, (ast.Tuple, ast.List, ast.Call))
            ):
                return at(
                    source, run, "each round gets the same input, and only the last one's output is kept"
                )
    return None


def _runs_layers(source: Script, call: ast.Call) -> bool:
    """`layers.Dense(8)(x)`, or a function of the script that does such a thing."""
    if isinstance(call.func, ast.Call):
        return re.match(r"(?:tf\.)?(?:keras\.)?(?:layers|L)\.\w+$", unparse(call.func.func)) is not None
    made = flow(source).functions.get(call.func.id, []) if isinstance(call.func, ast.Name) else []
    inner = [c for f in made for c in of(f, ast.Call) if isinstance(c.func, ast.Call)]
    return len(made) == 1 and any(_runs_layers(source, c) for c in inner)


def state_not_carried(source: Script) -> Finding | None:
    """A model gives its state back with the output, and a loop over steps drops it: each step starts afresh.

    `logits, _ = decoder(word, hidden)` in a loop that feeds `word` anew and never sets `hidden`.
    """
    for node in source.of(ast.Assign):
        target, call = node.targets[0], node.value
        loops = source.loops_around(node)
        if not isinstance(target, ast.Tuple) or not isinstance(call, ast.Call) or not loops:
            continue
        for function in flow(source).called(call):
            for place, handed in _states(function, call, len(target.elts)):
                dropped = target.elts[place]
                if (
                    isinstance(dropped, ast.Name)
                    and not dropped.id.strip("_")
                    and _is_fed(loops[0], call, handed)
                ):
                    return at(
                        source,
                        node,
                        f"the state given back is dropped: every step starts from the same {handed}",
                    )
    return None


def _states(function: Function, call: ast.Call, width: int) -> list[tuple[int, str]]:
    """Places of what a function gives back under a parameter's name, set anew, and what is handed in."""
    names = [a.arg for a in function.args.args if a.arg not in ("self", "cls")]
    given = dict(zip(names, call.args, strict=False)) | {k.arg: k.value for k in call.keywords if k.arg}
    ends = [r.value for r in of(function, ast.Return)]
    last = ends[0] if len(ends) == 1 else None
    if not isinstance(last, ast.Tuple) or len(last.elts) != width:
        return []
    stored = names_bound(function)
    return [
        (place, handed.id)
        for place, one in enumerate(last.elts)
        if isinstance(one, ast.Name)
        and one.id in stored
        and isinstance(handed := given.get(one.id), ast.Name)
    ]


def _is_fed(loop: Loop, call: ast.Call, state: str) -> bool:
    """The loop goes over steps, sets another input of the call anew, and never sets the state."""
    if (
        not isinstance(loop, ast.For)
        or not isinstance(loop.iter, ast.Call)
        or last_name(loop.iter.func) != "range"
    ):
        return False
    stored = {n.id for line in loop.body for n in of(line, ast.Name) if isinstance(n.ctx, ast.Store)}
    others = {n for a in (*call.args, *(k.value for k in call.keywords)) for n in names_in(a)} - {state}
    return state not in stored and bool(others & stored)
