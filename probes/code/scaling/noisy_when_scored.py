"""Noise that a script adds to its inputs in the evaluation alone."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...registry import Finding
from ...scripts.syntax import Script
from ..evaluation.by_batch import scored_loops
from ..shared.checks import at
from ..shared.roles import model_calls

_NOISE = re.compile(r"\b(?:randn_like|rand_like|randn|normal|standard_normal|uniform)\(")
_ON_PURPOSE = re.compile(r"(?i)robust|attack|advers|nois|diffus|sampl|latent|reparam|corrupt|perturb")


def noisy_when_scored(source: Script) -> Finding | None:
    """`model(x + torch.randn_like(x))` in an evaluation, where training feeds its batches without noise.

    Left alone: programs that speak of noise, samples or latent values, whose task it is.
    """
    scored = list(scored_loops(source))
    trained = [loop for b in source.backwards for loop in source.loops_around(b)[:1]]
    if not scored or not trained or any(_NOISE.search(unparse(t)) for t in trained):
        return None
    for loop in scored:
        function = source.function_around(loop)
        if _ON_PURPOSE.search(unparse(function if function is not None else loop)):
            continue
        for call in model_calls(source):
            if loop not in source.above(call):
                continue
            given = [call.args[0], *(n.value for n in of(loop, ast.Assign) if _gives(n, call.args[0]))]
            noisy = next((g for g in given if isinstance(g, ast.BinOp) and _NOISE.search(unparse(g))), None)
            if noisy is not None:
                return at(source, noisy, "noise is added to what is scored, and not to what is trained on")
    return None


def _gives(node: ast.Assign, name: ast.expr) -> bool:
    return isinstance(name, ast.Name) and any(unparse(t) == name.id for t in node.targets)
