"""Evaluations that do not look at what they are handed, or tell one batch for all of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, names_read, of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Function, Script
from ...scripts.untaped import untaped_in
from ..shared.checks import at

_DATA = re.compile(r"(?i)(?:^|_)(?:data|dataset|loader|dataloader|dl|batches|split|iterator|ds)$")
_LOSSES = re.compile(r"(?i)loss")


def _evaluations(source: Script) -> Iterator[Function]:
    """Functions that put a model into evaluation mode or take no gradients, and train nothing."""
    for function in source.of(ast.FunctionDef):
        asked = any(last_name(c.func) == "eval" for c in of(function, ast.Call))
        if (asked or untaped_in(function)) and not takes_gradients(source, function):
            yield function


def data_unread(source: Script) -> Finding | None:
    """`for name, data in splits.items()` with `get_batch(splits["train"])`: one set under all names."""
    for function in _evaluations(source):
        read = names_read(function)
        for loop in of(function, ast.For):
            over = loop.iter.func if isinstance(loop.iter, ast.Call) else None
            if not isinstance(loop.target, ast.Tuple) or not isinstance(over, ast.Attribute):
                continue
            names = [t.id for t in loop.target.elts if isinstance(t, ast.Name)]
            if over.attr != "items" or len(names) != 2 or not _DATA.search(names[1]):
                continue
            by_name = {unparse(n) for n in of(loop, ast.Subscript)}
            asked = f"{unparse(over.value)}[{names[0]}]" in by_name
            if names[1] not in read and names[0] in read and not asked:
                return at(source, loop, f"`{names[1]}` is handed to each round and nothing scores it")
    return None


def best_batch_told(source: Script) -> Finding | None:
    """`losses.min()` of the losses of all batches, told as the loss of the evaluation."""
    for function in _evaluations(source):
        filled = {
            unparse(n.targets[0].value)
            for loop in of(function, ast.For)
            for n in of(loop, ast.Assign)
            if isinstance(n.targets[0], ast.Subscript)
        } | {
            unparse(c.func.value)
            for loop in of(function, ast.For)
            for c in of(loop, ast.Call)
            if isinstance(c.func, ast.Attribute) and c.func.attr == "append"
        }
        for call in of(function, ast.Call):
            if last_name(call.func) not in ("min", "amin", "nanmin", "max", "amax", "nanmax"):
                continue
            given = call.args[0] if call.args else getattr(call.func, "value", None)
            if len(call.args) > 1 or given is None or unparse(given) not in filled:
                continue
            if _LOSSES.search(unparse(given)):
                return at(source, call, "the loss of one batch, by its size, is told for the loss of all")
    return None


_KNOWN = re.compile(
    r"(?i)^(?:seen|known|excluded?|history|consumed|already\w*|(?:seen|known|train|user)_items)$"
)
_RANKS = ("topk", "argsort", "argpartition", "top_k", "sort")


def known_unread(source: Script) -> Finding | None:
    """`def rank(model, pairs, seen, k)` that never looks at `seen`: what a user has is ranked along."""
    for function in _evaluations(source):
        handed = [a for a in (*function.args.args, *function.args.kwonlyargs) if _KNOWN.match(a.arg)]
        if not handed or not any(last_name(c.func) in _RANKS for c in of(function, ast.Call)):
            continue
        read = names_in(function)
        for one in handed:
            if one.arg not in read:
                return at(
                    source, one, f"`{one.arg}` is handed over, and what it holds is ranked with the rest"
                )
    return None
