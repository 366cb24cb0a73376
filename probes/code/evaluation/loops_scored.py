"""Loops in the midst of scripts that score training data, while the held-out data lie idle."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.learning import takes_gradients, trainings
from ...scripts.syntax import Script
from ...scripts.untaped import maybe_untaped_block, without_gradients
from ..shared.checks import at, gone_over
from ..shared.sides import side
from ..splits.evaluated import is_idle
from .answer_kinds import is_parameter

# what is done to training data on purpose once more: statistics, representations, weights of samples
_ASIDE = re.compile(
    r"(?i)bn|recal|calib|feat|embed|proto|bank|memor|gallery|centroid|fisher|stat|latent|codes|cache|pseudo|influence"
    r"|train"
)
_KEEPS = ("append", "extend", "update", "add_batch", "add")


def scores_loop_of_training(source: Script) -> Finding | None:
    """`model.eval()`, then a loop over the training loader that counts; the held-out one lies idle.

    Left aside: statistics, features and prototypes of the training data, figures that are named for them.
    """
    for loop in source.of(ast.For):
        over = gone_over(loop.iter, "list")
        if not isinstance(over, (ast.Name, ast.Attribute)) or side(last_name(over)) is not True:
            continue
        if takes_gradients(source, loop) or not _in_evaluation(source, loop) or is_parameter(source, over):
            continue
        if _ASIDE.search(source.function_name(loop)) or any(map(_ASIDE.search, _named_by(loop, over))):
            continue
        if _stored(source, loop):
            continue
        if is_idle(source, over):
            return at(source, over, "what is evaluated is the training data, and the held-out data lie idle")
    return None


def _stored(source: Script, loop: ast.For) -> bool:
    """What is kept goes to a file, as the answers of a teacher do."""
    kept = {unparse(c.func.value) for c in of(loop, ast.Call) if isinstance(c.func, ast.Attribute)}
    saves = [c for c in source.calls if re.match(r"save|dump|to_(?:csv|parquet)", last_name(c.func))]
    return any(kept & {unparse(n) for n in of(c, ast.Name)} for c in saves)


def _in_evaluation(source: Script, loop: ast.For) -> bool:
    """The model was put to evaluation above it, no gradient is taken, and it counts or keeps something."""
    scope = source.function_around(loop)
    modes = [c for c in source.named("eval", "train") if source.function_around(c) is scope and not c.args]
    before = [c for c in modes if c.lineno < loop.lineno]
    if not before or last_name(before[-1].func) != "eval":
        return False
    untaped = without_gradients(source, loop) or any(map(maybe_untaped_block, of(loop, ast.With)))
    counts = bool(of(loop, ast.AugAssign)) or any(last_name(c.func) in _KEEPS for c in of(loop, ast.Call))
    return untaped and counts and bool(trainings(source, scope))


def _named_by(loop: ast.For, over: ast.expr) -> list[str]:
    """What the loop counts into."""
    kept = [unparse(n.target) for n in of(loop, ast.AugAssign)]
    kept += [unparse(c.func) for c in of(loop, ast.Call) if last_name(c.func) in _KEEPS]
    return [k for k in kept if k != unparse(over)]
