"""Whether a place of a script is in force: whether the settings of the run take the branch that it stands in.

`if cfg["ema"]: averaged = AveragedModel(model)` keeps no average where `ema` is false; what such a branch
holds is nothing that the other side's script leaves out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal

from ....engine.model import Place
from ...readers.script import last_name
from ...run import Run
from ...scripts.branches import conditions
from ...scripts.syntax import Script
from ...settings.names import last_part, snake

State = Literal["on", "off", "open"]  # open: it hangs on a setting whose value is not known
_HOLDERS = re.compile(
    r"(?i)^(?:\w*_)?(?:args?|cfg|conf|config|hp|hps|hparams?|opts?|params?|flags|settings|options)$"
)
_DEPTH = 3  # functions that are called in functions
_UNKNOWN = object()


def stands(place: Place | None, sources: Sequence[Script], run: Run) -> State:
    """Whether the branches around a place of these scripts are taken."""
    if place is None or place.line is None:
        return "on"
    source = next((s for s in sources if s.path == place.file), None)
    if source is None:
        return "on"
    asked = _around(source, place.line)
    if not asked:
        return "on"
    states = {_answer(text, holds, run) for text, holds in asked}
    return "off" if "off" in states else "open" if "open" in states else "on"


@lru_cache(maxsize=512)
def _around(source: Script, line: int) -> frozenset[tuple[str, bool]]:
    node = next((n for n in source.of(ast.stmt, ast.Call) if getattr(n, "lineno", 0) == line), None)
    return frozenset() if node is None else frozenset(_asked(source, node, _DEPTH))


def _asked(source: Script, node: ast.AST, depth: int) -> Iterator[tuple[str, bool]]:
    yield from conditions(source, node)
    function = source.function_around(node)
    if function is None or depth == 0:
        return
    calls = [c for c in source.of(ast.Call) if last_name(c.func) == function.name]
    if len(calls) == 1:
        yield from _asked(source, calls[0], depth - 1)


def _answer(text: str, holds: bool, run: Run) -> State:
    try:
        test = ast.parse(text, mode="eval").body
    except SyntaxError:
        return "on"
    if isinstance(test, ast.Compare):
        if len(test.ops) != 1:
            return "on"
        asked, other = test.left, test.comparators[0]
        try:
            wanted = ast.literal_eval(other)
        except ValueError:
            return "on"
        value = _value(asked, run)
        if value is None:
            return "on"
        if value is _UNKNOWN:
            return "open"
        true = _compared(value, test.ops[0], wanted)
        if true is None:
            return "on"
    else:
        value = _value(test, run)
        if value is None:
            return "on"
        if value is _UNKNOWN:
            return "open"
        true = bool(value) and str(value).lower() not in ("none", "null", "false", "off", "no", "0")
    return "on" if true is holds else "off"


def _compared(value: object, op: ast.cmpop, wanted: object) -> bool | None:
    """What a comparison of a setting comes to; words are compared whatever their capitals."""
    mine = value.lower() if isinstance(value, str) else value
    if wanted is None:
        none = mine is None or mine in ("none", "null", "")
        return none if isinstance(op, (ast.Is, ast.Eq)) else None
    if isinstance(op, ast.Eq):
        return mine == (wanted.lower() if isinstance(wanted, str) else wanted)
    if isinstance(op, ast.In) and isinstance(wanted, (tuple, list, set)):
        return mine in [w.lower() if isinstance(w, str) else w for w in wanted]
    numbers = isinstance(value, (int, float)) and isinstance(wanted, (int, float))
    if numbers and isinstance(op, ast.Gt):
        return bool(value > wanted)  # type: ignore[operator]
    if numbers and isinstance(op, ast.GtE):
        return bool(value >= wanted)  # type: ignore[operator]
    return None


def _value(node: ast.expr, run: Run) -> object:
    """The value of the setting that this reads, `_UNKNOWN` where nobody knows it; None: no setting."""
    key, of_settings = _key(node)
    if not key:
        return None
    name = snake(key)
    found = [s for s in run.raw_settings if last_part(s.key) == name]
    if not found:
        return _UNKNOWN if of_settings else None
    best = max(s.trust for s in found)
    values = {repr(s.value): s.value for s in found if s.trust == best}
    if len(values) > 1:
        return _UNKNOWN
    value = next(iter(values.values()))
    return "" if value is None else value


def _key(node: ast.expr) -> tuple[str, bool]:
    """The name that a setting is read by, and whether it is surely one: `cfg["ema"]`, `args.ema`, `ema`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        first = node.args[0] if node.args else None
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            return first.value, _holds(node.func.value)
    if isinstance(node, ast.Call) and last_name(node.func) == "getattr" and len(node.args) > 1:
        second = node.args[1]
        if isinstance(second, ast.Constant) and isinstance(second.value, str):
            return second.value, _holds(node.args[0])
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return (node.slice.value, _holds(node.value)) if isinstance(node.slice.value, str) else ("", False)
    if isinstance(node, ast.Attribute):
        return node.attr, _holds(node.value)
    return (node.id, False) if isinstance(node, ast.Name) else ("", False)


def _holds(node: ast.expr) -> bool:
    """Whether this holds settings: `cfg`, `self.args`, `cfg["train"]`."""
    if isinstance(node, ast.Subscript):
        return _holds(node.value)
    return bool(_HOLDERS.match(last_name(node))) or (isinstance(node, ast.Attribute) and _holds(node.value))
