"""Returns and advantages over the steps of a game: which way they are added up, and where a game ends."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import block_of, factors
from .replay import ENDS, NOT_END, is_gamma

_REWARD = re.compile(
    r"(?i)^(?:r|rs|rew|rews|rewards?|deltas?|td(?:_?errors?)?)(?:_?\w)?$|(?:^|_)rewards?(?:_|$)"
)
_BACK = re.compile(r"reversed\(|\[::-1\]|\.flip\(|flipud\(|\.reverse\(\)|insert\(0,|appendleft\(|-1, -1\)")


def added_up_forwards(source: Script) -> Finding | None:
    """`for t in range(n): last = delta[t] + gamma * last; out[t] = last`: what follows, from the start.

    Left aside: what is turned round anywhere in the function, and sums that are kept at no place of the loop.
    """
    for loop in source.of(ast.For):
        scope = source.function_around(loop) or source.tree
        if not isinstance(loop.target, (ast.Name, ast.Tuple)) or _BACK.search(_around(source, loop, scope)):
            continue
        if (
            isinstance(loop.iter, ast.Call)
            and unparse(loop.iter.func) == "range"
            and len(loop.iter.args) == 3
        ):
            continue
        counted = names_in(loop.target)
        for node in loop.body:
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
                continue
            name = node.targets[0].id
            if _follows(loop, node, name, counted) and _kept(loop, node, name, counted):
                return at(source, loop, f"`{name}` adds up what follows a step, and begins at the first one")
    return None


def _around(source: Script, loop: ast.For, scope: ast.AST) -> str:
    """The loop, and the statements beside and after it in its function."""
    beside = [scope] if scope is not source.tree else block_of(source, loop) or [loop]
    return "\n".join(map(unparse, beside))


def _follows(loop: ast.For, node: ast.Assign, name: str, counted: set[str]) -> bool:
    """`name = reward + gamma * name`, of a reward of this round."""
    value = node.value
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
        return False
    for mine, rest in ((value.left, value.right), (value.right, value.left)):
        if name not in names_in(mine) or name in names_in(rest):
            continue
        if not any(is_gamma(f) for f in factors(mine)):
            return False
        rewards = [n for n in names_in(rest) if _REWARD.search(n)]
        made = {n.id for s in loop.body for n in of(s, ast.Name) if isinstance(n.ctx, ast.Store)} | counted
        return bool(rewards) and bool(names_in(rest) & made)
    return False


def _kept(loop: ast.For, node: ast.Assign, name: str, counted: set[str]) -> bool:
    """Each round's sum is kept: at the place of the round, or at the end of a list."""
    for later in loop.body:
        if later.lineno <= node.lineno:
            continue
        if isinstance(later, ast.Assign) and isinstance(later.targets[0], ast.Subscript):
            place = later.targets[0].slice
            if isinstance(place, ast.Name) and place.id in counted and name in names_in(later.value):
                return True
        if isinstance(later, ast.Expr) and isinstance(later.value, ast.Call):
            call = later.value
            if isinstance(call.func, ast.Attribute) and call.func.attr == "append":
                if call.args and unparse(call.args[0]) == name:
                    return True
    return False


def end_counted_in_one(source: Script) -> Finding | None:
    """`r[t] + gamma * v[t + 1] - v[t]` beside a sum that stops at ends: the next game's value is counted.

    The values are those of one list, so that what stands behind an end is the next game's first state.
    """
    for node in source.of(ast.BinOp):
        above = source.parents.get(node)
        whole = not (isinstance(above, ast.BinOp) and isinstance(above.op, ast.Mult))
        if not isinstance(node.op, ast.Mult) or not whole:
            continue
        parts = factors(node)
        if not any(is_gamma(p) for p in parts) or len(parts) != 2:
            continue
        nexts = [p for p in parts if isinstance(p, ast.Subscript) and _next_of(p.slice)]
        loops = source.loops_around(node)
        statement = source.statement(node)
        if len(nexts) != 1 or not loops or statement is None:
            continue
        values = unparse(nexts[0].value)
        at_once = {unparse(s) for s in of(statement, ast.Subscript)}
        if f"{values}[{_next_of(nexts[0].slice)}]" not in at_once or _about_ends(statement):
            continue
        others = [s for s in loops[0].body if s is not statement and isinstance(s, ast.Assign)]
        if any(_stops(o) for o in others) and not any(values in names_in(o.targets[0]) for o in others):
            return at(
                source, node, f"what `{values}` says of the next game is counted at the end of this one"
            )
    return None


def _next_of(place: ast.expr) -> str:
    """`t + 1` -> "t"."""
    if isinstance(place, ast.BinOp) and isinstance(place.op, ast.Add) and isinstance(place.left, ast.Name):
        if isinstance(place.right, ast.Constant) and place.right.value == 1:
            return place.left.id
    return ""


def _about_ends(node: ast.AST) -> bool:
    return any(n.lower() in ENDS or NOT_END.search(n) for n in names_in(node))


def _stops(node: ast.Assign) -> bool:
    """`last = delta + gamma * lam * (1 - done[t]) * last`."""
    name = unparse(node.targets[0])
    return any(
        isinstance(m.op, ast.Mult)
        and name in names_in(m)
        and _about_ends(m)
        and any(map(is_gamma, factors(m)))
        for m in of(node.value, ast.BinOp)
    )


def sum_runs_over_ends(source: Script) -> Finding | None:
    """`last = delta + gamma * lam * last` where `delta` heeds the ends of games, and the sum does not.

    Left aside where a condition or another statement of the loop sets the sum back.
    """
    for loop in source.of(ast.For):
        ends = {
            t
            for s in loop.body
            if isinstance(s, ast.Assign) and _about_ends(s)
            for t in map(unparse, s.targets)
        }
        for node in loop.body:
            if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
                continue
            name = node.targets[0].id
            others = [s for s in loop.body if s is not node]
            if not _only_discounted(node.value, name) or any(isinstance(s, ast.If) for s in others):
                continue
            if any(name == n.id for s in others for n in of(s, ast.Name) if isinstance(n.ctx, ast.Store)):
                continue
            if any(_heeds_ends(s, ends) for s in others if isinstance(s, ast.Assign)):
                return at(
                    source, node, f"`{name}` runs on over the ends of games that the step's error heeds"
                )
    return None


def _only_discounted(value: ast.expr, name: str) -> bool:
    """`delta + gamma * lam * name`, and nothing else is in the product."""
    if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Add):
        return False
    for mine, rest in ((value.left, value.right), (value.right, value.left)):
        if isinstance(mine, ast.BinOp) and isinstance(mine.op, ast.Mult) and name not in names_in(rest):
            parts = factors(mine)
            if sum(unparse(p) == name for p in parts) != 1 or not any(map(is_gamma, parts)):
                continue
            left = [p for p in parts if unparse(p) != name and not is_gamma(p)]
            return all(re.search(r"(?i)(?:^|[._])(?:lam\w*|tau|gae_?\w*)$", unparse(p)) for p in left)
    return False


def _heeds_ends(node: ast.Assign, ends: set[str]) -> bool:
    """`delta = r + gamma * v_next * (1 - done[t]) - v`, also by way of a name of the loop."""
    return any(
        isinstance(m.op, ast.Mult)
        and any(map(is_gamma, factors(m)))
        and (_about_ends(m) or any(unparse(p) in ends for p in factors(m)))
        for m in of(node.value, ast.BinOp)
    )
