"""Switches of a network's mode that went into a function of their own: only the line is gone."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ...by_role.side import Side
from ...readers._tree import of
from ...readers.script import argument, last_name, receiver
from ...script_diff.edit import Edit
from ..shared.nodes import is_false

_OFF = frozenset({"eval()", "set_train()", "train()"})


def modes_in_functions(edits: Sequence[Edit], mine: Side, theirs: Side) -> Iterator[Edit]:
    """Lines `net.eval()` that are gone here, where a new function that something calls does the same.

    The function asks the network as well: what it judges is judged in the mode that it sets.
    """
    gone = [e for e in edits if e.kind == "removed" and e.gone & _OFF and not e.new]
    if not gone:
        return
    named = {f.name for f in theirs.source.of(ast.FunctionDef)}
    new = [f for f in mine.source.of(ast.FunctionDef) if f.name not in named and mine.runs(f)]
    off = [c for c in _switches(mine) if mine.source.function_around(c) in new and _asks(mine, c)]
    if off and len(_switches(mine)) >= len(_switches(theirs)):
        yield from gone


def _switches(side: Side) -> list[ast.Call]:
    """Calls that put a network into evaluation mode."""
    named = side.source.named("eval", "set_train", "train")
    return [c for c in named if isinstance(c.func, ast.Attribute) and _is_off(c) and side.runs(c)]


def _is_off(call: ast.Call) -> bool:
    if last_name(call.func) == "eval":
        return not call.args
    first = argument(call, position=0)
    return is_false(first)


def _asks(side: Side, switch: ast.Call) -> bool:
    """Whether the function around a switch calls the network that is switched, below it."""
    function = side.source.function_around(switch)
    owner = receiver(switch)
    if function is None or owner is None:
        return False
    name = ast.dump(owner)
    return any(ast.dump(c.func) == name and c.lineno > switch.lineno for c in of(function, ast.Call))
