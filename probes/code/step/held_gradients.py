"""Gradients that a script of TensorFlow or MindSpore adds up itself over several batches: cleared, divided.

Without `zero_grad` and `.grad` the sums are variables or lists of the script: `s.assign_add(g)`,
`held[i] = held[i] + g`, `held = [a + b for a, b in zip(held, grads)]`, `map(assign_add, sums, grads)`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ...readers._tree import of, unparse, walk
from ...readers.script import all_arguments, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import taken, updates
from ...scripts.minimised import objectives
from ...scripts.syntax import Script
from ..shared.checks import at, ok

_DEPTH = 4


@dataclass(frozen=True)
class Held:
    """Sums of gradients by their name: where they grow, are applied, and are cleared."""

    name: str
    grows: ast.AST
    applied: ast.Call
    clears: tuple[ast.AST, ...]


@lru_cache(maxsize=16)
def held(source: Script) -> tuple[Held, ...]:
    """Sums of gradients that reach an update."""
    if not {"tensorflow", "keras", "mindspore"} & set(source.frameworks) or not taken(source):
        return ()
    found: dict[str, Held] = {}
    for name, grows in _sums(source):
        if name in found or _are_weights(source, name):
            continue
        applied = [
            u
            for u in updates(source)
            if any(_names(source, a, name) for a in all_arguments(u)) and _one_name(source, name, grows, u)
        ]
        if applied:
            found[name] = Held(name, grows, applied[0], tuple(_clears(source, name, applied[0])))
    return tuple(found.values())


def _are_weights(source: Script, name: str) -> bool:
    """`weights = model.trainable_variables`: added to and taken back from (sharpness-aware), no sums."""
    return any(
        name in map(unparse, n.targets)
        and re.fullmatch(
            r"(?:list\()?[\w.]*trainable_(?:variables|weights|params)(?:\(\))?\)?", unparse(n.value)
        )
        for n in source.of(ast.Assign)
    )


def _one_name(source: Script, name: str, first: ast.AST, second: ast.AST) -> bool:
    """A plain name means the same in both places: within one function, or of the file as a whole."""
    if "." in name:
        return True
    if source.place(first).file != source.place(second).file:
        return False
    outer = [
        [a for a in source.above(n) if isinstance(a, (ast.FunctionDef, ast.AsyncFunctionDef))]
        for n in (first, second)
    ]
    shared = any(name in node.names for node in source.of(ast.Global, ast.Nonlocal)) or any(
        name in map(unparse, node.targets) and source.function_around(node) is None
        for node in source.of(ast.Assign)
    )
    return shared or not (outer[0] and outer[1]) or outer[0][-1] is outer[1][-1]


def _names(source: Script, node: ast.expr, name: str, depth: int = _DEPTH) -> bool:
    """The name stands in an expression, or in what the names in it were given."""
    if any(unparse(n) == name for n in of(node, ast.Name, ast.Attribute)):
        return True
    mine = flow(source)
    behind = [g.value for n in of(node, ast.Name) for g in mine.all_given(n)] if depth else []
    return any(_names(source, v, name, depth - 1) for v in behind)


def _sums(source: Script) -> Iterator[tuple[str, ast.AST]]:
    """Names that gradients are added to, with the place."""
    for call in source.named("assign_add"):
        for target in (receiver(call), *call.args[:1]):
            if target is not None and (name := _whole(source, target)):
                yield name, call
    for call in source.calls:
        if len(call.args) >= 3 and "assign_add" in unparse(call.args[0]):
            yield unparse(call.args[1]), call
    for node in source.of(ast.Assign, ast.AugAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        text = unparse(target)
        if isinstance(target, ast.Subscript):
            adds = isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add)
            adds = adds or any(
                isinstance(n.op, ast.Add) and text in (unparse(n.left), unparse(n.right))
                for n in of(node.value, ast.BinOp)
            )
            if adds and re.search(r"(?i)grad", unparse(node.value)):
                yield unparse(target.value), node
        elif isinstance(node, ast.Assign) and isinstance(target, (ast.Name, ast.Attribute)):
            for made in of(node.value, ast.ListComp):
                over = made.generators[0].iter
                zips = isinstance(over, ast.Call) and last_name(over.func) == "zip"
                if zips and isinstance(made.elt, ast.BinOp) and isinstance(made.elt.op, ast.Add):
                    if (
                        isinstance(over, ast.Call)
                        and text in map(unparse, over.args)
                        and _starts(source, text)
                    ):
                        yield text, node


def _starts(source: Script, name: str) -> bool:
    """The sums start at nothing: `held = None`, `held = [tf.zeros_like(w) for w in weights]`."""
    return any(
        name in map(unparse, node.targets)
        and re.search(r"^None$|^\[\]$|zeros", unparse(node.value)) is not None
        for node in source.of(ast.Assign)
    )


def _whole(source: Script, target: ast.expr) -> str:
    """The list that a part belongs to: `held[i]`, `s` of `for s, g in zip(sums, grads)`."""
    if isinstance(target, ast.Subscript):
        return unparse(target.value)
    if not isinstance(target, ast.Name):
        return ""
    for loop in source.loops_around(target):
        if not isinstance(loop, ast.For):
            continue
        over = loop.iter.args if isinstance(loop.iter, ast.Call) else [loop.iter]
        names = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
        for one, whole in zip(names, over, strict=False):
            if unparse(one) == target.id:
                return unparse(whole)
    return ""


def _clears(source: Script, name: str, applied: ast.Call) -> Iterator[ast.AST]:
    """Where the sums are set back: `s.assign(zeros)`, `held[i] = zeros`, `held = None`."""
    for call in source.named("assign", "assign_sub", "set_data", "fill"):
        for target in (receiver(call), *call.args[:1]):
            if target is not None and name in (unparse(target), _whole(source, target)):
                yield call
    for call in source.calls:
        if len(call.args) >= 2 and any(unparse(a) == name for a in call.args[1:]):
            first_ = unparse(call.args[0])
            back = "assign" in first_ and "assign_add" not in first_
            if back or re.search(r"clear|zero|reset", first_):
                yield call
        if re.search(r"(?i)clear|zero|reset", last_name(call.func)) and name in map(
            unparse, all_arguments(call)
        ):
            if last_name(call.func) not in ("zeros_like", "zeros"):
                yield call
    around = source.function_around(applied)
    loops = set(source.loops_around(applied)[:1])
    for node in source.of(ast.Assign):
        for target in node.targets:
            whole = unparse(target.value) if isinstance(target, ast.Subscript) else unparse(target)
            if whole != name or _adds(node, name):
                continue
            again = isinstance(target, ast.Subscript) or bool(loops & set(source.loops_around(node)))
            again = again or (source.function_around(node) is around and not loops and around is not None)
            if again and re.search(r"zeros|None|\[\]|\* 0|tuple\(\)", unparse(node.value)):
                yield node


def _adds(node: ast.Assign, name: str) -> bool:
    return any(
        isinstance(n.op, ast.Add) and name in (unparse(n.left).split("[")[0], unparse(n.right).split("[")[0])
        for n in of(node.value, ast.BinOp)
    ) or any("zip" in unparse(m.generators[0].iter) for m in of(node.value, ast.ListComp))


# ------------------------------------------------------------------------------------------------- the checks


def never_cleared(source: Script) -> Finding | None:
    """Sums of gradients are applied, and nothing sets them back."""
    for one in held(source):
        if source.loose:
            return None
        if not one.clears:
            return at(source, one.applied, f"`{one.name}` grows with every batch, and nothing clears it")
        return ok(source, one.clears[0], "the sums of gradients are cleared")
    return None


def cleared_before_applied(source: Script) -> Finding | None:
    """The sums are set back right before they are applied: what is applied is zero."""
    for one in held(source):
        function = source.function_around(one.applied)
        before = [
            c
            for c in one.clears
            if source.function_around(c) is function
            and getattr(c, "lineno", 0) < one.applied.lineno
            and source.loops_around(one.applied) == _loops_without(source, c, one.name)
        ]
        for clear in before:
            between = range(getattr(clear, "lineno", 0), one.applied.lineno)
            grows = any(
                source.function_around(g) is function and getattr(g, "lineno", 0) in between
                for n, g in _sums(source)
                if n == one.name
            )
            runs = [
                c
                for c in of(function or source.tree, ast.Call)
                if c.lineno in between and any(one.grows in walk(f) for f in flow(source).called(c))
            ]
            if not grows and not runs:
                return at(source, clear, f"`{one.name}` is cleared before it is applied")
    return _zeroed(source)


def _loops_without(source: Script, node: ast.AST, name: str) -> list[ast.For | ast.While]:
    """The loops around a clearing, without the one over the sums themselves."""
    return [
        loop
        for loop in source.loops_around(node)
        if not (isinstance(loop, ast.For) and name in unparse(loop.iter))
    ]


def _zeroed(source: Script) -> Finding | None:
    """`gradients = [tf.zeros_like(g) for g in gradients]` on the way to the update."""
    mine = flow(source)
    for call in updates(source):
        for node in (n for a in all_arguments(call) for n in of(a, ast.Name)):
            made = mine.whole_given(node)
            if isinstance(made, ast.ListComp) and isinstance(made.elt, ast.Call):
                if last_name(made.elt.func) in ("zeros_like", "zeros") and node.id == unparse(
                    made.generators[0].iter
                ):
                    return at(source, made, "the gradients are set to zero before they are applied")
    return None


def not_divided(source: Script) -> Finding | None:
    """Gradients of several batches are added up and applied as their sum."""
    for one in held(source):
        if source.loose or not _now_and_then(source, one):
            return None
        shares = [*all_arguments(one.applied), *_behind(source, all_arguments(one.applied))]
        shares += [n for n in (one.grows, source.statement(one.grows)) if isinstance(n, (ast.expr, ast.stmt))]
        shares += _behind(source, all_arguments(one.grows)) if isinstance(one.grows, ast.Call) else []
        shares += [o for _, o in objectives(source)]
        shares += _behind(source, [o for _, o in objectives(source)])
        if any(_divides(n) for n in shares):
            return ok(source, one.applied, "the sums of gradients are divided")
        return at(
            source, one.applied, f"`{one.name}` is the sum over several batches, and nothing divides it"
        )
    return None


def _behind(source: Script, nodes: list[ast.expr], depth: int = _DEPTH) -> list[ast.AST]:
    mine = flow(source)
    found: list[ast.AST] = []
    for node in nodes:
        for name in of(node, ast.Name, ast.Attribute):
            values = [g.value for g in mine.all_given(name)] if depth else []
            found += values
            found += _behind(source, values, depth - 1)
    return found


def _divides(node: ast.AST) -> bool:
    if any(isinstance(n.op, (ast.Div, ast.Mult)) for n in of(node, ast.BinOp)):
        return True
    if isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Div, ast.Mult)):
        return True
    return any(
        re.search(r"(?i)div|mean|average|mul|scale_?grad", last_name(c.func))
        for c in of(node, ast.Call)
        if not re.search(r"(?i)loss|criterion|reduce_mean|^mean$", last_name(c.func))
    )


def _now_and_then(source: Script, one: Held) -> bool:
    """The update runs every so many batches: under `step % n == 0`, itself or the function around it."""
    places: list[ast.AST] = [one.applied]
    function = source.function_around(one.applied)
    if function is not None:
        places += flow(source).calls_of(function)
    return any(
        isinstance(p, ast.If) and any(isinstance(n.op, ast.Mod) for n in of(p.test, ast.BinOp))
        for place in places
        for p in source.above(place)
    )
