"""The decay rates of Adam's two moments: the first one nearer to one than the second allows."""

from __future__ import annotations

import ast
from math import sqrt

from ...readers.script import keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.syntax import Script
from ..shared.checks import at, extractor, first, ok
from ..shared.numbers import known

LOWEST = 0.8  # below the second beta of any published recipe (0.9: WGAN-GP)


@probe()
def betas_swapped(view: View) -> Finding:
    """Adam's momentum forgets more slowly than its second moment: `betas=(0.999, 0.9)`.

    The proof that Adam converges asks for beta1 below the root of beta2 (Kingma and Ba 2015, theorem 4.1).
    With both exchanged a step is the mean of many gradients over the size of the last few. A second beta
    below 0.8 is a slip as well: the lowest in published recipes is 0.9, and 0.1 keeps nothing of the past.
    """
    return first(view, _betas_swapped, "the scripts give no optimizer its betas")


def _betas_swapped(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    for call in source.optimizer_calls:
        pair = keyword(call, "betas")
        sides = pair.elts if isinstance(pair, (ast.Tuple, ast.List)) and len(pair.elts) == 2 else []
        if pair is not None and not sides:
            told, value, _ = extractor(source).value(pair)
            if told and isinstance(value, (tuple, list)) and len(value) == 2:
                sides = [ast.copy_location(ast.Constant(v), pair) for v in value]
        if not sides:
            sides = [v for n in _NAMES for v in [keyword(call, n[0]), keyword(call, n[1])] if v is not None]
        if len(sides) != 2 or "adam" not in last_name(call.func).lower():
            continue
        one, two = (known(source, side) for side in sides)
        if one is None or two is None or not 0 <= two < 1:
            continue
        seen = seen or call
        if one > sqrt(two):
            return at(source, sides[0], f"the first beta ({one:g}) is above the root of the second ({two:g})")
        if two < LOWEST:
            return at(
                source, sides[1], f"the second beta is {two:g}: the mean of squares is that of a few steps"
            )
    return ok(source, seen, "the first moment forgets faster than the second") if seen is not None else None


_NAMES = (("beta1", "beta2"), ("beta_1", "beta_2"), ("b1", "b2"))
