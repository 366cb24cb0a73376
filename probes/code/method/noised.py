"""Denoising diffusion that a script writes out: what the model is trained towards, and from which steps."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from .noise import LOSSES, bare, diffuses, is_bar, mixed, rest_of, rooted

_STEPS = re.compile(r"(?i)^(?:t|ts|steps?|time_?steps?|times?)$")
_FIXED = ("full", "zeros", "ones", "full_like", "zeros_like", "ones_like")


def alphas_not_multiplied(source: Script) -> Finding | None:
    """`a = alphas[t]; a.sqrt() * x + (1 - a).sqrt() * noise`: alphas of one step, nowhere multiplied up."""
    if "beta" not in source.code or "alpha" not in source.code or source.loose:
        return None
    if re.search(
        r"(?i)cumprod|cumsum|\bprod\(|log\([^)]*alpha|alpha\w*\.log\(|accumulate\([^)]*(?:alpha|beta)",
        source.code,
    ):
        return None
    drawn = [c for c in source.named("linspace") if re.search(r"(?i)beta", unparse(source.statement(c) or c))]
    if not drawn or not source.trains_by_hand:
        return None
    for node, picture, noise in mixed(source):
        one, other = rooted(picture), rooted(noise)
        rest = rest_of(other) if other is not None else None
        if one is not None and rest is not None and unparse(rest) == unparse(one) and is_bar(source, one):
            return at(source, node, "the alphas of one step stand here, and nothing multiplies them up")
    return None


def shares_without_roots(source: Script) -> Finding | None:
    """`a * x + (1 - a) * noise` with the product of the alphas: the spread is one with their roots alone."""
    if not diffuses(source):
        return None
    for node, picture, noise in mixed(source):
        rest = rest_of(noise)
        if rest is not None and unparse(rest) == unparse(picture) and is_bar(source, picture):
            if not re.search(r"sqrt|\*\* 0\.5", unparse(flow(source).whole_given(picture) or picture)):
                return at(source, node, "picture and noise are weighted by a and 1 - a, not by their roots")
    return None


def target_is_input(source: Script) -> Finding | None:
    """`pred = model(noisy, t)`, `mse_loss(pred, noisy)`: the model learns to give back what it is given."""
    if not diffuses(source):
        return None
    for call, pred, target in _objectives(source):
        asked = flow(source).whole_given(pred) or pred
        if not isinstance(asked, ast.Call) or not asked.args or not isinstance(target, ast.Name):
            continue
        given = asked.args[0]
        made = flow(source).given(target)
        noised = made is not None and re.search(r"(?i)nois|q_sample|diffus", unparse(made.value)) is not None
        if isinstance(given, ast.Name) and given.id == target.id and noised and len(asked.args) > 1:
            return at(source, call, f"the target of the loss is {target.id}, which the model was given")
    return None


def _objectives(source: Script) -> Iterator[tuple[ast.Call, ast.expr, ast.expr]]:
    """Losses with what the model gave and its target, casts taken off."""
    for call in source.calls:
        if LOSSES.match(last_name(call.func)) and len(call.args) > 1:
            yield call, bare(call.args[0]), bare(call.args[1])


def one_step_alone(source: Script) -> Finding | None:
    """`t = torch.full((n,), T - 1)` in the loop that learns: one step of the noise is all that is trained."""
    if not diffuses(source) or source.loose:
        return None
    for backward in source.backwards:
        loops = source.loops_around(backward)
        for node in of(loops[0], ast.Assign) if loops else ():
            made, target = node.value, node.targets[0]
            while isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute):
                if made.func.attr not in ("long", "to", "cuda"):
                    break
                made = made.func.value
            if not isinstance(target, ast.Name) or not _STEPS.match(target.id):
                continue
            if not isinstance(made, ast.Call) or last_name(made.func) not in _FIXED:
                continue
            bound = {n.id for p in loops for n in of(p, ast.Name) if isinstance(n.ctx, ast.Store)}
            if names_in(made) & (bound - {target.id}) & _fills(made) or _kept_again(
                loops[0], target.id, node
            ):
                continue
            return at(source, node, "the same step of the noise is trained each time")
    return None


def _fills(made: ast.Call) -> set[str]:
    """Names in the number that a tensor is filled with."""
    return {n for a in made.args[1:] for n in names_in(a)}


def _kept_again(loop: ast.AST, name: str, node: ast.Assign) -> bool:
    """Another line gives the name another value, or fills a part of it."""
    stores = [n for n in of(loop, ast.Assign, ast.AugAssign) if n is not node]
    return any(
        name in names_in(t) for n in stores for t in (n.targets if isinstance(n, ast.Assign) else [n.target])
    )
