"""One reader of a script that is called for both sides with another setting of how a sample is read."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.sides import side

# settings of what a sample is, whichever side it stands on; not of drawing, order, number or labels
_HOW = re.compile(
    r"(?i)^(?:do_?|to_?|use_?)?(?:lower(?:case)?|norm(?:ali[sz]e)?|scale|standardi[sz]e|clean|strip|stem|ascii|mono|gray|grey"
    r"|rgb|bgr|log|centre|center|resample|detrend|whiten|dedup|fold_case|casefold)$"
)


def read_by_other_settings(source: Script) -> Finding | None:
    """`read(train_path)` with `lower=True` by default, and `read(test_path, lower=False)`."""
    for function in source.of(ast.FunctionDef):
        parameters = [*function.args.args, *function.args.kwonlyargs]
        how = [a.arg for a in parameters if _HOW.match(a.arg)]
        if not how:
            continue
        defaults = dict(
            zip([a.arg for a in reversed(function.args.args)], reversed(function.args.defaults), strict=False)
        )
        defaults |= {
            a.arg: d
            for a, d in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
            if d is not None
        }
        for name in how:
            if not any(name in names_in(n) for s in function.body for n in of(s, ast.Name, ast.Call)):
                continue
            told: dict[bool, set[object]] = {True: set(), False: set()}
            place: ast.Call | None = None
            for call in flow(source).calls_of(function):
                statement = source.statement(call)
                learns = side(unparse(statement.targets[0])) if isinstance(statement, ast.Assign) else None
                learns = side(unparse(call.args[0])) if learns is None and call.args else learns
                given = next((k.value for k in call.keywords if k.arg == name), defaults.get(name))
                if learns is None or not isinstance(given, ast.Constant) or not isinstance(given.value, bool):
                    continue
                told[learns].add(given.value)
                place = call if not learns else place
            if len(told[True]) == 1 and len(told[False]) == 1 and told[True] != told[False] and place:
                return at(source, place, f"held-out data are read with another `{name}` than training data")
    return None
