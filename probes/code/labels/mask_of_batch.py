"""Masks that a loader of a script hands out beside the targets, and that the loss does not look at."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Script
from ..shared.checks import at

_MASK = re.compile(r"(?i)^(?:mask|masks|loss_mask|valid|valid_mask|target_mask|label_mask|reg_mask|keep)$")
_MOVES = ("to", "cuda", "float", "bool", "long", "unsqueeze")
_LOSS = re.compile(r"(?i)loss|criterion|crit$|cross_entropy|^mse$|^l1$|focal")


def mask_of_batch_unread(source: Script) -> Finding | None:
    """`for x, y, mask in loader`, and the mask is moved to the device, renamed, and read by nothing."""
    for loop in source.of(ast.For):
        target = loop.target
        if isinstance(target, ast.Tuple) and _counts(loop):
            target = target.elts[-1]
        if not isinstance(target, ast.Tuple) or not takes_gradients(source, loop):
            continue
        if source.class_around(loop) is not None and source.loose:
            continue
        for one in target.elts:
            if not isinstance(one, ast.Name) or not _MASK.match(one.id):
                continue
            moved = _reads(source, loop, one.id)
            if moved is None or not any(_LOSS.search(last_name(c.func)) for c in of(loop, ast.Call)):
                continue
            if moved:  # something was begun with it: a name that nobody meant says nothing
                return at(
                    source, moved[0], f"`{one.id}` tells which targets count, and the loss counts all of them"
                )
    return None


def _counts(loop: ast.For) -> bool:
    """`for i, (x, y, mask) in enumerate(loader)`."""
    return (
        isinstance(loop.iter, ast.Call)
        and last_name(loop.iter.func) == "enumerate"
        and isinstance(loop.target, ast.Tuple)
        and isinstance(loop.target.elts[-1], ast.Tuple)
    )


def _reads(source: Script, loop: ast.For, name: str, depth: int = 2) -> list[ast.stmt] | None:
    """The statements that only move it on, or to a name that nothing reads; None where it is used."""
    found: list[ast.stmt] = []
    for node in of(loop, ast.Name):
        if node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        statement = source.statement(node)
        if not isinstance(statement, ast.Assign):
            return None
        stored = [unparse(t) for t in statement.targets]
        whole = isinstance(statement.targets[0], ast.Tuple)
        names = (
            [unparse(e) for e in statement.targets[0].elts]
            if isinstance(statement.targets[0], ast.Tuple)
            else stored
        )
        if name in names and (whole or _moved(statement.value, name)):
            found.append(statement)
            continue
        if (
            depth
            and len(stored) == 1
            and isinstance(statement.targets[0], ast.Name)
            and _moved(statement.value, name)
        ):
            if _reads(source, loop, stored[0], 0) == []:
                found.append(statement)
                continue
        return None
    return found


def _moved(value: ast.expr, name: str) -> bool:
    """`mask.to(dev)`, `mask[:, None]`, `mask.float()`."""
    node = value
    for _ in range(5):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MOVES:
            node = node.func.value
        elif isinstance(node, ast.Subscript):
            node = node.value
        else:
            break
    return isinstance(node, ast.Name) and node.id == name
