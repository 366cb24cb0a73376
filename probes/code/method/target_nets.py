"""The slow copy of a network that values to reach are asked of: made, kept up to date, and asked.

Looked for only in programs that discount rewards, by what is called a target there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import unparse
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.nodes import chosen
from ..shared.sides import words
from .replay import discounted

_TARGET = {"target", "targ", "tgt", "tgts", "slow", "frozen", "delayed"}


def _slow(node: ast.expr) -> bool:
    """`target`, `self.q_target`, `tgt_net`."""
    return isinstance(node, (ast.Name, ast.Attribute)) and bool(set(words(last_name(node))) & _TARGET)


def _copies(source: Script) -> Iterator[tuple[ast.Call, ast.expr, ast.expr]]:
    """`into.load_state_dict(out_of.state_dict())`: the call, the one written, the one read."""
    for call in source.named("load_state_dict"):
        given = argument(call, position=0)
        if (
            isinstance(given, ast.Call)
            and last_name(given.func) == "state_dict"
            and isinstance(given.func, ast.Attribute)
            and isinstance(call.func, ast.Attribute)
        ):
            yield call, call.func.value, given.func.value


def _learns_by_rewards(source: Script) -> bool:
    return (
        re.search(r"(?i)reward|\bgym", source.code) is not None
        and next(discounted(source.tree), None) is not None
    )


def copied_onto_the_learner(source: Script) -> Finding | None:
    """`online.load_state_dict(target.state_dict())` and never back: what was learnt is lost."""
    if not _learns_by_rewards(source):
        return None
    pairs = list(_copies(source))
    for call, into, out_of in pairs:
        if not _slow(out_of) or _slow(into):
            continue
        if any(unparse(a) == unparse(out_of) for _, a, _ in pairs):
            continue  # kept up to date elsewhere
        looped = any(isinstance(p, (ast.For, ast.While, ast.FunctionDef)) for p in source.above(call))
        if looped and not _moved_by_hand(source, out_of):
            return at(source, call, "the network that learns is overwritten by its old copy")
    return ok(source, pairs[0][0], "the copy follows the network that learns") if pairs else None


def _moved_by_hand(source: Script, copy: ast.expr) -> bool:
    """Its parameters are gone over for more than to switch their gradients off."""
    uses = [
        n for n in source.of(ast.Attribute) if n.attr == "parameters" and unparse(n.value) == unparse(copy)
    ]
    return not all(_leaves_alone(source, n.value) for n in uses)


def copy_is_the_learner(source: Script) -> Finding | None:
    """`target = online` without a copy: the values to reach move with each step."""
    if not _learns_by_rewards(source):
        return None
    kept = {(unparse(a), unparse(b)) for _, a, b in _copies(source)}
    for node in source.of(ast.Assign):
        target, value = node.targets[0], node.value
        if not isinstance(value, (ast.Name, ast.Attribute)) or not _slow(target) or _slow(value):
            continue
        if (unparse(target), unparse(value)) in kept and not chosen(source, node):
            return at(source, node, "the copy is the network itself: both are one object")
    return None


def copy_never_asked(source: Script) -> Finding | None:
    """`target.load_state_dict(online.state_dict())` of a network that no value is asked of.

    Silent where the network is handed to what the script does not hold, or asked under another name.
    """
    if not _learns_by_rewards(source) or source.loose:
        return None
    for call, into, _ in _copies(source):
        name = last_name(into)
        if not _slow(into) or not name.isidentifier():
            continue
        uses = [
            n
            for n in source.of(ast.Name, ast.Attribute)
            if isinstance(n.ctx, ast.Load) and last_name(n) == name
        ]
        if uses and all(_only_kept(source, n, name) for n in uses):
            return at(source, call, f"{name} is kept up to date, and no value is asked of it")
    return None


def _only_kept(source: Script, node: ast.expr, name: str) -> bool:
    """A use that asks no value: its state, its parameters, its mode; or handed to a function as `name`."""
    holder = source.parents.get(node)
    if isinstance(holder, ast.Attribute):
        return holder.attr in (
            *("load_state_dict", "state_dict", "parameters", "eval", "train", "to", "cuda"),
            *("requires_grad_", "named_parameters", "buffers"),
        )
    if isinstance(holder, ast.Call) and node in holder.args:
        functions = flow(source).functions.get(last_name(holder.func), [])
        if last_name(holder.func) in ("deepcopy",) or len(functions) != 1:
            return False
        names = [a.arg for a in functions[0].args.args]
        place = holder.args.index(node) + (names[:1] == ["self"])
        return place < len(names) and names[place] == name
    return False


def copy_never_updated(source: Script) -> Finding | None:
    """`self.target = deepcopy(self.online)` that values are asked of, and nothing ever writes again.

    Silent where it is handed on, or anything is done to it but asking, switching and moving it.
    """
    if not _learns_by_rewards(source) or source.loose:
        return None
    for node in source.of(ast.Assign):
        target, value = node.targets[0], node.value
        if not _slow(target) or not isinstance(value, ast.Call) or source.loops_around(node):
            continue
        copied = "deepcopy" in unparse(value)
        begun = [c for c, into, _ in _copies(source) if unparse(into) == unparse(target)]
        once = [c for c in begun if _at_the_start(source, c)]
        if not (copied or begun) or len(once) != len(begun):
            continue
        name = last_name(target)
        uses = [n for n in source.of(ast.Name, ast.Attribute) if last_name(n) == name and n is not target]
        if any(not isinstance(n.ctx, ast.Load) for n in uses):
            continue
        asked = [n for n in uses if isinstance(p := source.parents.get(n), ast.Call) and p.func is n]
        rest = [n for n in uses if n not in asked]
        if asked and all(_leaves_alone(source, n) for n in rest):
            return at(source, node, f"values are asked of {name}, and nothing updates it after its start")
    return None


def _at_the_start(source: Script, call: ast.Call) -> bool:
    function = source.function_around(call)
    begins = function is None or function.name == "__init__"
    return begins and not any(isinstance(p, (ast.For, ast.While, ast.If)) for p in source.above(call))


def _leaves_alone(source: Script, node: ast.expr) -> bool:
    """Its mode, its place and its gradients are switched, or it is written once where all begins."""
    holder = source.parents.get(node)
    if not isinstance(holder, ast.Attribute):
        return False
    if holder.attr == "load_state_dict":
        call = source.parents.get(holder)
        return isinstance(call, ast.Call) and _at_the_start(source, call)
    if holder.attr == "parameters":
        loop = next((p for p in source.above(node) if isinstance(p, ast.For)), None)
        return (
            loop is not None
            and node in list(ast.walk(loop.iter))
            and all("requires_grad" in unparse(s) for s in loop.body)
        )
    return holder.attr in ("eval", "to", "cuda", "requires_grad_", "train", "half", "float")
