"""Functions that draw samples of a part by its name: the name that nobody reads, and the wrong name."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.sides import side

_DATA = re.compile(r"(?i)batch(?!_?size)|loader|data|path|file|folder|dir$|^[xy]s?$|train|val(?!ue)|test")
_PART = re.compile(r"(?i)^(?:split|part|phase|mode|subset|which|name|kind|stage|set_name)$")


def _calls(source: Script) -> list[tuple[ast.Call, Function, str]]:
    """Calls of the script's functions that name a part: `get_batch("val")`, with the name."""
    found = []
    for name, functions in flow(source).functions.items():
        if len(functions) != 1 or not functions[0].args.args:
            continue
        own = [a.arg for a in functions[0].args.args if a.arg != "self"]
        if not own or not _PART.match(own[0]):
            continue
        for call in source.named(name):
            given = argument(call, position=0)
            if isinstance(given, ast.Constant) and isinstance(given.value, str):
                found.append((call, functions[0], given.value))
            elif isinstance(given, ast.Name):
                found += [(call, functions[0], p) for p in _of_loop(source, call, given.id)]
    return found


def _of_loop(source: Script, call: ast.Call, name: str) -> list[str]:
    """`for split in ("train", "val")`: the parts that a name stands for."""
    for loop in source.loops_around(call):
        if isinstance(loop, ast.For) and unparse(loop.target) == name:
            parts = loop.iter.elts if isinstance(loop.iter, (ast.Tuple, ast.List)) else []
            return [p.value for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str)]
    return []


def name_of_part_unread(source: Script) -> Finding | None:
    """`def get_batch(split)` that never looks at `split`, asked for "train" and for "val"."""
    asked: dict[str, set[bool | None]] = {}
    known: dict[str, Function] = {}
    for call, function, part in _calls(source):
        if not _is_handed_data(call):
            asked.setdefault(function.name, set()).add(side(part))
            known[function.name] = function
    for name, sides in asked.items():
        function = known[name]
        if isinstance(function.body[-1], ast.Raise):
            continue  # others write it
        first = next(a.arg for a in function.args.args if a.arg != "self")
        read = any(n.id == first for n in of(function, ast.Name))
        if sides >= {True, False} and not read and "locals" not in names_in(function):
            return at(
                source, function, f"`{first}` is asked for and never read: both parts are the same samples"
            )
    return None


def _is_handed_data(call: ast.Call) -> bool:
    """It is given samples, files or a loader beside the name, which is a label of theirs then."""
    given = (*call.args[1:], *(k.value for k in call.keywords if k.arg not in ("split", "stage", "mode")))
    return any(_DATA.search(n) for value in given for n in names_in(value))


def trains_on_named_part(source: Script) -> Finding | None:
    """`x, y = get_batch("val")` in the loop that takes gradients, and no training part is asked for there."""
    calls = _calls(source)
    for backward in source.backwards:
        for loop in source.loops_around(backward)[:1]:
            inside = [(c, p) for c, _, p in calls if loop in source.loops_around(c)]
            inside = [
                (c, p) for c, p in inside if source.function_around(c) is source.function_around(backward)
            ]
            given = {id(c): p for c, p in inside if _feeds(source, c, backward)}
            sides = {side(p) for p in given.values()}
            if sides == {False}:
                call = next(c for c, _ in inside if id(c) in given)
                return at(source, call, f"gradients are taken on the part {given[id(call)]!r}")
    return None


def _feeds(source: Script, call: ast.Call, backward: ast.Call) -> bool:
    """What is drawn stands above backward in the same block, and names of it are asked of below."""
    statement = source.statement(call)
    if not isinstance(statement, ast.Assign) or statement.lineno > backward.lineno:
        return False
    names = {n.id for t in statement.targets for n in of(t, ast.Name)}
    loops = source.loops_around(backward)[:1]
    between = [
        n
        for loop in loops
        for n in of(loop, ast.Call)
        if statement.lineno < n.lineno <= backward.lineno and last_name(n.func) != "print"
    ]
    return any(names & names_in(n) for n in between)
