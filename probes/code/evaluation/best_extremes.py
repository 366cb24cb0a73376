"""Best figures in scripts that are kept by `max` or `min` beside the comparison that tells what is best."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import bare

_EXTREMES = {"max": True, "maximum": True, "fmax": True, "min": False, "minimum": False, "fmin": False}
UP: dict[type[ast.cmpop], bool] = {ast.Gt: True, ast.GtE: True, ast.Lt: False, ast.LtE: False}
_TELLS_BEST = re.compile(r"(?i)best|improv|better|record")
_TELLS_OTHERWISE = re.compile(r"(?i)(?:^|_)(?:not?|non|un|isnt|worse|stop)(?:_|$)|no_?improv|without")
_SAVES = re.compile(r"(?i)save|state_dict$|deepcopy$|copyfile$|copy2?$|dump$|get_weights$|snapshot")


def extreme_against_comparison(source: Script) -> Finding | None:
    """`is_best = accuracy < best`, and `best = max(accuracy, best)`: one of the two is turned round.

    Whatever the figure is called and whichever way it is better: what is told to be the best is never what
    is kept as the best figure.
    """
    kept = {(unparse(b), unparse(x)): (up, node) for node, b, x, up in _extremes(source)}
    if not kept:
        return None
    for test, told in _told_best(source):
        left, right, up = bare(test.left), bare(test.comparators[0]), UP[type(test.ops[0])]
        for best, new, new_above in ((right, left, up), (left, right, not up)):
            found = kept.get((unparse(best), unparse(new)))
            together = found is not None and source.function_around(found[1]) is source.function_around(test)
            if found is not None and together and found[0] != new_above:
                kind = "greater" if found[0] else "lesser"
                why = f"`{told}` is true where `{unparse(test)}`, but `{unparse(best)}` keeps the {kind} one"
                return at(source, test, why)
    return None


def _extremes(source: Script) -> Iterator[tuple[ast.Assign, ast.expr, ast.expr, bool]]:
    """`best = max(best, new)`: (assignment, best, new, it is the greater one)."""
    for node in source.of(ast.Assign):
        value, target = node.value, node.targets[0]
        if not isinstance(value, ast.Call) or len(value.args) != 2 or value.keywords:
            continue
        up = _EXTREMES.get(last_name(value.func))
        rest = [a for a in value.args if unparse(a) != unparse(target)]
        if up is not None and len(rest) == 1:
            yield node, target, rest[0], up


def _told_best(source: Script) -> Iterator[tuple[ast.Compare, str]]:
    """Comparisons that say what is best: by the name that holds them, or by weights that are saved there."""
    for test in source.of(ast.Compare):
        if len(test.ops) != 1 or type(test.ops[0]) not in UP:
            continue
        above = source.parents.get(test)
        if isinstance(above, ast.Assign) and isinstance(above.targets[0], (ast.Name, ast.Attribute)):
            name = unparse(above.targets[0])
            if _TELLS_BEST.search(name) and not _TELLS_OTHERWISE.search(name):
                yield test, name
        elif isinstance(above, ast.If) and above.test is test:
            calls = [c for s in above.body for c in of(s, ast.Call)]
            if any(_SAVES.search(last_name(c.func)) for c in calls):
                yield test, unparse(test)
