"""Parts of a forward pass that are not asked as they are meant: positions, stacks, scores of attention."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse, walk
from ...readers.script import last_name
from ...registry import Finding, View
from ...scripts.syntax import Script
from ..shared.checks import at, first
from ..shared.sides import either

_POSITIONS = re.compile(r"(?i)(?:^|\.|_)(?:pos|wpe|position(?:s|al)?)(?:_?(?:emb\w*|enc\w*|table))?$")
_DRAWN = ("randperm", "randint")
_ALIKE = ("full", "zeros", "ones", "zeros_like", "full_like", "ones_like")


def operators_misasked(view: View) -> Finding:
    """Positions that do not count, and weights of attention that do not add up to one."""
    return first(view, either(positions_not_counted, scores_without_softmax), "the scripts hold no model")


def positions_not_counted(source: Script) -> Finding | None:
    """`self.pos(torch.randperm(T))`, `self.pos(torch.full((T,), T - 1))`: positions that do not count up."""
    for function in source.passes:
        for call in of(function, ast.Call):
            if (
                not call.args
                or not unparse(call.func).startswith("self.")
                or not _POSITIONS.search(unparse(call.func))
            ):
                continue
            given = call.args[0]
            while isinstance(given, ast.Call) and last_name(given.func) in (
                "to",
                "long",
                "unsqueeze",
                "expand",
            ):
                given = given.func.value if isinstance(given.func, ast.Attribute) else given
            if not isinstance(given, ast.Call) or "mask" in unparse(function):
                continue
            if last_name(given.func) in _DRAWN:
                return at(source, call, "positions are drawn at random, so the order of the sequence is lost")
            if last_name(given.func) in _ALIKE:
                return at(source, call, "every place of the sequence gets the same position")
    return None


def scores_without_softmax(source: Script) -> Finding | None:
    """`F.relu(q @ k.transpose(-2, -1)) @ v`: the scores of attention, not turned into shares of one.

    Only where they are masked with minus infinity, which says that a softmax was to follow.
    """
    for function in source.passes:
        if not any(
            isinstance(n, ast.Constant) and n.value in ("-inf", float("-inf")) for n in walk(function)
        ):
            continue
        if any(last_name(c.func) in ("softmax", "Softmax", "softmax_") for c in of(function, ast.Call)):
            continue
        for call in of(function, ast.Call):
            if last_name(call.func) not in ("relu", "sigmoid", "tanh", "gelu"):
                continue
            owner = source.owner(call)
            given = (
                call.args[0] if call.args and owner in ("F", "torch") else getattr(call.func, "value", None)
            )
            if given is not None and re.fullmatch(
                r"(?i)(?:attn?\w*|scores?|w|weights?|energy|wei|sim)", unparse(given)
            ):
                name = last_name(call.func)
                why = f"scores masked with -inf go through {name}, and no softmax makes shares of them"
                return at(source, call, why)
    return None


def nought_times(source: Script) -> Finding | None:
    """`x = 0 * x + self.attn(x)` in a forward pass: a branch is multiplied by nought."""
    for function in source.passes:
        owner = source.parents.get(function)
        if not isinstance(owner, ast.ClassDef) or owner not in source.modules:
            continue
        for node in of(function, ast.BinOp):
            if not isinstance(node.op, ast.Mult):
                continue
            above = source.parents.get(node)
            added = isinstance(above, ast.BinOp) and isinstance(above.op, ast.Add)
            for factor, other in ((node.left, node.right), (node.right, node.left)):
                nought = (
                    isinstance(factor, ast.Constant)
                    and not isinstance(factor.value, bool)
                    and factor.value == 0
                )
                if nought and added and not re.search(r"(?i)sum|mean|loss|unused|dummy", unparse(node)):
                    if not isinstance(other, ast.Call) or unparse(other.func).startswith("self."):
                        return at(
                            source, node, f"`{unparse(other)}` is multiplied by nought: it reaches nothing"
                        )
    return None


def part_of_another(source: Script) -> Finding | None:
    """`for b in self.blocks[1:]: b.attn = self.blocks[0].attn`: blocks share what each should have."""
    for loop in source.of(ast.For):
        if not isinstance(loop.target, ast.Name) or source.class_around(loop) not in source.modules:
            continue
        if re.search(
            r"(?i)shar|tie|cross[-_ ]?layer|albert|universal", unparse(source.class_around(loop) or loop)
        ):
            continue
        for node in of(loop, ast.Assign):
            target, value = node.targets[0], node.value
            if not isinstance(target, ast.Attribute) or not isinstance(value, ast.Attribute):
                continue
            mine = isinstance(target.value, ast.Name) and target.value.id == loop.target.id
            if mine and target.attr == value.attr and isinstance(value.value, ast.Subscript):
                return at(source, node, f"all blocks get the same {target.attr}")
    return None
