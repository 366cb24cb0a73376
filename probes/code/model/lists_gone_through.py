"""Loops over lists of layers in a forward pass: layers left out of rounds, rounds that bend nothing."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import assigned

_NORM = re.compile(r"(?i)norm|bn(?:s|\d)?$")
_LINEAR = re.compile(r"^(?:Linear|Dense|Conv\d?d?|\w*(?:SAGE|GCN|GAT|GATv2|GIN|Cheb|Graph)Conv)$")
_BENDS = re.compile(
    r"(?i)relu|elu\b|gelu|silu|swish|mish|tanh|sigmoid|softplus|\bact\w*|nonlin|glu\b|softmax"
)


def left_out_of_rounds(source: Script, norms: bool) -> Finding | None:
    """`for conv, norm in zip(self.convs, self.norms): x = relu(conv(x))`: no round asks its `norm`."""
    for function in source.forwards:
        for loop in of(function, ast.For):
            pairs = _lists(loop)
            read = {n.id for s in loop.body for n in of(s, ast.Name) if isinstance(n.ctx, ast.Load)}
            for name, held in pairs:
                used = any(
                    held in unparse(n) for n in of(function, ast.Subscript, ast.Call) if n is not loop.iter
                )
                again = unparse(function).count(held) > 1
                if (
                    name in read
                    or name.startswith("_")
                    or (used and again)
                    or _NORM.search(held) is None is norms
                ):
                    continue
                if bool(_NORM.search(held)) is norms and len(pairs) > 1:
                    return at(source, loop, f"the loop goes over `{held}` and asks none of it")
    return None


def _lists(loop: ast.For) -> list[tuple[str, str]]:
    """(what a round calls a layer, the list that it comes of) of `zip(self.convs, self.norms)`."""
    over, target = loop.iter, loop.target
    if isinstance(over, ast.Call) and last_name(over.func) == "enumerate" and over.args:
        over = over.args[0]
        target = target.elts[1] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else target
    if not isinstance(over, ast.Call) or last_name(over.func) != "zip" or not isinstance(target, ast.Tuple):
        return []
    found = zip(target.elts, over.args, strict=False)
    return [(unparse(t), unparse(a)) for t, a in found if unparse(a).startswith("self.")]


def rounds_unbent(source: Script) -> Finding | None:
    """Each round runs a linear layer of a list, at most with a norm and a dropout; nothing bends."""
    for function in source.forwards:
        owner = source.parents.get(function)
        if (
            not isinstance(owner, ast.ClassDef)
            or owner not in source.modules
            or _BENDS.search(unparse(owner))
        ):
            continue
        linear = _linear_lists(owner)
        for loop in of(function, ast.For):
            text = unparse(loop.iter)
            runs = [
                c
                for c in of(loop, ast.Call)
                if isinstance(c.func, ast.Name) and c.func.id in names_in(loop.target)
            ]
            if runs and any(re.search(rf"self\.{name}\b", text) for name in linear) and _carries(loop, runs):
                return at(source, loop, "layer follows layer, and no activation stands between them")
    return None


def _carries(loop: ast.For, runs: list[ast.Call]) -> bool:
    """The stream goes from round to round: `x = conv(x)`."""
    return any(
        isinstance(n.targets[0], ast.Name) and n.value in runs and n.targets[0].id in names_in(n.value)
        for n in of(loop, ast.Assign)
    )


def _linear_lists(owner: ast.ClassDef) -> set[str]:
    """Lists of the class that linear layers of a library are put into, one for each round."""
    lists = {
        target.attr
        for node in of(owner, ast.Assign)
        for target, value in assigned(node)
        if isinstance(target, ast.Attribute) and isinstance(value, ast.Call)
        if last_name(value.func) in ("ModuleList", "CellList")
    }
    found: set[str] = set()
    for call in of(owner, ast.Call):
        if last_name(call.func) != "append" or not isinstance(call.func, ast.Attribute) or not call.args:
            continue
        held, one = call.func.value, call.args[0]
        name = held.attr if isinstance(held, ast.Attribute) else ""
        if name in lists and isinstance(one, ast.Call) and _LINEAR.match(last_name(one.func)):
            found.add(name)
    return found
