"""Which way a best value is asked for, where more than names says so: a mode, a start, a harm."""

from __future__ import annotations

import ast
import re

from ...readers._tree import unparse
from ...scripts.syntax import Script
from ..shared.nodes import paired

_ASKS_WAY = re.compile(
    r"(?i)['\"](?:min|max)\w*['\"]|(?:higher|lower|greater|bigger|larger|smaller)_?(?:is_?)?better|greater_"
    r"|(?:maxi|mini)mi[sz]e|(?:^|_)direction|\bis_(?:min|max)\b|mode_(?:min|max)\b"
)


def by_mode(source: Script, test: ast.Compare) -> bool:
    """`if self.mode == "min": better = score < self.best`: which way is asked for each time."""
    conditions = [p.test for p in source.above(test) if isinstance(p, (ast.If, ast.IfExp))]
    return any(_ASKS_WAY.search(unparse(c).replace(unparse(test), "")) for c in conditions)


def from_infinity(source: Script, best: str) -> bool:
    """`best = math.inf`, `step, best = 0, math.inf`: the first value is below it.

    `runner.best` of a function outside is what the class itself sets as `self.best`.
    """
    field = best.rpartition(".")[2] if "." in best else None
    for node in source.of(ast.Assign):
        for target in node.targets:
            for one, held in paired(target, node.value):
                same = unparse(one) == best or (isinstance(one, ast.Attribute) and one.attr == field)
                if same and _INFINITY.fullmatch(unparse(held)):
                    return True
    return False


_MAY_BE_NEGATIVE = re.compile(
    r"(?i)loss|nll|energy|reward|return|elbo|cost|log|obj|err|diff|delta|ll\b|lik|score|fit|val|metric|dist|gap"
)


def nothing_below(source: Script, test: ast.Compare, new: ast.expr, best: ast.expr) -> bool:
    """`best = 0.0`, then `if figures["LAS"] < best`: of what is no loss and no score of any sign."""
    around = source.parents.get(test)
    if isinstance(around, ast.BoolOp) and isinstance(around.op, ast.Or):
        return False  # the first one is kept for another reason
    key = new.slice if isinstance(new, ast.Subscript) else new
    if _MAY_BE_NEGATIVE.search(unparse(key)) or isinstance(new, (ast.Constant, ast.Call)):
        return False
    starts = [
        held
        for node in source.of(ast.Assign)
        for target in node.targets
        for one, held in paired(target, node.value)
        if unparse(one) == unparse(best) and node.lineno < test.lineno and not source.loops_around(node)
    ]
    return bool(starts) and all(isinstance(h, ast.Constant) and h.value == 0 for h in starts)


_INFINITY = re.compile(r"(?:\w+\.)?(?:inf|Inf|Infinity)|float\(['\"]\+?inf\w*['\"]\)")
_HARMS = re.compile(r"(?i)attack|poison|adversar|perturb|evasion|backdoor|trojan|worst")


def harms(source: Script, node: ast.If) -> bool:
    """What is kept is what does a model the most harm: an attack is the better the lower its accuracy."""
    held = " ".join(p.name for p in source.above(node) if isinstance(p, (ast.ClassDef, ast.FunctionDef)))
    return _HARMS.search(held + " ".join(unparse(s) for s in node.body)) is not None
