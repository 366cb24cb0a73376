"""Whether facts of a rehearsal depend on what two programs write differently.

A fact may be alike because the rehearsal does not look at what was changed. So the code that differs is left
out, its value being like nothing else, and the program rehearsed again: a fact that stays as it was says
nothing of that code.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache

from ...engine.model import Place
from ..readers._tree import walk
from ..readers.script import last_name
from ..scripts.syntax import Script
from .compare import Facts, facts, facts_of
from .machine import STEPS, Machine, rehearsed
from .marks import follows

MOST = 24  # expressions that are left out, each in a rehearsal of its own
MOST_STEPS = 400_000  # of all these rehearsals


def seen(
    mine: Script,
    theirs: Script,
    places: Iterable[tuple[Place | None, Place | None]],
    names: Iterable[str],
) -> bool:
    """Whether each expression that one side alone has at these places goes into one of these facts."""
    found: list[tuple[Script, ast.expr]] = []
    for here, there in dict.fromkeys(places):
        sides = [_written(mine, here), _written(theirs, there)]
        texts = [{ast.dump(e) for s in side for e in walk(s) if isinstance(e, ast.expr)} for side in sides]
        for source, side, others in zip((mine, theirs), sides, reversed(texts), strict=True):
            found += [(source, e) for s in side for e in _only_here(s, others)]
    found = list(dict.fromkeys(found))
    if not found or len(found) > MOST or sum(_steps(source) for source, _ in found) > MOST_STEPS:
        return False
    asked = tuple(names)
    return all(_goes_into(source, node, asked) for source, node in found)


def dealt_alike(mine: Script, theirs: Script) -> bool:
    """Whether as many loaders of both programs mix their samples anew in each round.

    Rows of a part that is drawn by chance come in no order that would show it.
    """
    both = [Counter(str(one.shuffles) for one in rehearsed(source).loaders) for source in (mine, theirs)]
    return both[0].total() != both[1].total() or both[0] == both[1]


def counted(mine: Script, theirs: Script, places: Iterable[tuple[Place | None, Place | None]]) -> bool:
    """Whether something there was a plain number that is not written out: perhaps a made-up length."""
    return any(
        node in rehearsed(source).counts
        for pair in dict.fromkeys(places)
        for source, place in zip((mine, theirs), pair, strict=True)
        for statement in _written(source, place)
        for inner in ast.iter_child_nodes(statement)
        if not isinstance(inner, ast.stmt)
        for node in walk(inner)
    )


def gone_through(mine: Script, theirs: Script) -> bool:
    """Whether all functions that the other program has not, or has otherwise, were gone through."""
    known = {ast.dump(f) for f in theirs.of(ast.FunctionDef, ast.AsyncFunctionDef)}
    visited = rehearsed(mine).visited
    mine_alone = (f for f in mine.of(ast.FunctionDef, ast.AsyncFunctionDef) if ast.dump(f) not in known)
    return all(f in visited for f in mine_alone)


def _steps(source: Script) -> int:
    """What a rehearsal of a program goes through."""
    return STEPS - rehearsed(source).steps


def _goes_into(source: Script, node: ast.expr, names: tuple[str, ...]) -> bool:
    whole, rest = facts(source), _facts_without(source, node)
    return any(whole.get(n) is not None and whole[n] != rest.get(n) for n in names)


@lru_cache(maxsize=64)
def _facts_without(source: Script, node: ast.expr) -> Facts:
    machine = Machine(source, without=frozenset((node,)))
    machine.run()
    return facts_of(machine)


def _written(source: Script, place: Place | None) -> list[ast.stmt]:
    """The statements at a place; of one that holds others its head alone is looked at."""
    if place is None:
        return []
    return [n for n in _statements(source) if source.place(n) == place]


@lru_cache(maxsize=16)
def _statements(source: Script) -> tuple[ast.stmt, ...]:
    return tuple(n for n in source.nodes if isinstance(n, ast.stmt))


def _only_here(one: ast.AST, others: set[str]) -> list[ast.expr]:
    """The smallest expressions in which something is other than at the other program's place."""
    plain = isinstance(one, ast.expr) and not isinstance(getattr(one, "ctx", None), ast.Store)
    if plain and ast.dump(one) in others:
        return []
    inner = [c for c in ast.iter_child_nodes(one) if not isinstance(c, ast.stmt)]
    if plain and not any(ast.dump(e) in others for c in inner for e in _expressions(c)):
        return [one] if isinstance(one, ast.expr) else []
    told = {id(e) for e in _told_by_inputs(one)} if isinstance(one, ast.Call) else set()
    found = [e for c in inner for e in _only_here(c, others) if id(e) not in told]
    return found or ([one] if plain and isinstance(one, ast.expr) else [])


def _told_by_inputs(call: ast.Call) -> Iterator[ast.expr]:
    """Arguments of a layer that follow from what it is given: `Linear(width, 3)`."""
    for place, one in enumerate(call.args):
        if follows(last_name(call.func), place):
            yield one
    yield from (k.value for k in call.keywords if k.arg and follows("", k.arg))


def _expressions(one: ast.AST) -> Iterator[ast.expr]:
    """An expression itself, or those directly in what stands between: an argument's name, an operator."""
    if isinstance(one, ast.expr):
        yield one
    else:
        for inner in ast.iter_child_nodes(one):
            yield from _expressions(inner)
