"""One layer where each round of a loop should have its own: made before the loop and called in it."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...scripts.syntax import Script

_WITH_WEIGHTS = re.compile(
    r"^(?:Dense|Linear|Embedding|LSTM|GRU|RNN|\w*Conv\w*|\w*Norm(?:alization)?\w*|\w*Attention\w*|\w*(?:Layer|Block))$"
)


def one_in_all_rounds(source: Script) -> ast.Call | None:
    """The call that lets a stream through one layer in each round of a loop over settings.

    A layer that is called in every round may be meant so (a recurrent design). It is not where the loop goes
    over settings, one for each layer, and reads none of them: `for rate in (1, 2, 4): x = conv(x)`.
    """
    for loop in source.of(ast.For):
        before = _made_before(source, loop) if _reads_no_setting(loop) else set()
        if not before:
            continue
        given = {t.id for a in of(loop, ast.Assign) for t in a.targets if isinstance(t, ast.Name)}
        for call in of(loop, ast.Call):
            first = call.args[0] if len(call.args) == 1 else None
            if not isinstance(first, ast.Name):
                continue
            applied = isinstance(call.func, ast.Name) and call.func.id in before
            if applied and first.id in given:
                return call
    return None


def _made_before(source: Script, loop: ast.For) -> set[str]:
    """Names of layers with weights that the function around a loop makes outside of it, and only there."""
    function = source.function_around(loop)
    made: set[str] = set()
    other: set[str] = set()
    inside = set(of(loop, ast.Assign))
    for node in source.of(ast.Assign):
        if source.function_around(node) is not function:
            continue
        for target in node.targets:
            if isinstance(target, ast.Name):
                layer = node not in inside and _makes_layer(source, node.value)
                (made if layer else other).add(target.id)
    return made - other


def _makes_layer(source: Script, value: ast.expr) -> bool:
    if not isinstance(value, ast.Call):
        return False
    name = last_name(value.func)
    return bool(_WITH_WEIGHTS.match(name)) or any(m.name == name for m in source.modules)


def _reads_no_setting(loop: ast.For) -> bool:
    """`for rate in (1, 2, 4)` in which no line reads the rate."""
    over = loop.iter
    different = isinstance(over, (ast.Tuple, ast.List)) and len({unparse(e) for e in over.elts}) > 1
    named = isinstance(over, ast.Name)
    targets = {n.id for n in of(loop.target, ast.Name)}
    if not (different or named) or not targets or any(t.startswith("_") for t in targets):
        return False
    reads = {n.id for line in loop.body for n in of(line, ast.Name) if isinstance(n.ctx, ast.Load)}
    return not targets & reads
