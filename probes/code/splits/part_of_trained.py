"""Held-out data that are a subset of the very data set that the training loader goes over."""

from __future__ import annotations

import ast

from ...readers._tree import unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.sides import side


def part_of_trained_set(source: Script) -> Finding | None:
    """`train_loader = DataLoader(full, ...)` beside `val = Subset(full, range(800))`.

    Told by the names of both sides; a loader with a sampler may go over another part.
    """
    trained: dict[str, ast.Call] = {}
    held: list[tuple[str, ast.Call]] = []
    given: dict[str, int] = {}
    for node in source.of(ast.Assign):
        target, call = node.targets[0], node.value
        given[unparse(target)] = given.get(unparse(target), 0) + 1
        if not isinstance(call, ast.Call) or not isinstance(target, (ast.Name, ast.Attribute)):
            continue
        about = call.args[0] if call.args else keyword(call, "dataset")
        if not isinstance(about, (ast.Name, ast.Attribute)):
            continue
        told = side(last_name(target))
        if last_name(call.func) == "DataLoader" and told is True:
            if keyword(call, "sampler") is None and keyword(call, "batch_sampler") is None:
                trained[unparse(about)] = call
        elif last_name(call.func) == "Subset" and told is False:
            held.append((unparse(about), call))
    for name, call in held:
        if name in trained and given.get(name, 0) == 1 and side(name.split(".")[-1]) is not False:
            return at(
                source, call, f"the training loader goes over all of `{name}`, this part of it included"
            )
    return None
