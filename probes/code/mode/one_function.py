"""The mode of one function that trains and evaluates, and of MindSpore cells that are never switched off."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import all_arguments, keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.flow import Flow, flow
from ...scripts.learning import taken
from ...scripts.syntax import Function, Script
from ..shared.checks import at, first, ok, runs_in
from ..shared.nodes import is_false
from ..shared.sides import either

_MODES = ("train", "set_train")
_MODAL = re.compile(r"^(?:Sync)?(?:Dropout|BatchNorm|DropPath|InstanceNorm)")


@probe()
def shared_function(view: View) -> Finding:
    """A function that takes gradients for its callers who train, and none for others, has one mode for both.

    `net.train()` whoever calls, or `net.train(not training)`. In MindSpore a loop that trains and evaluates
    and never calls `set_train(False)`.
    """
    return first(view, either(_one_mode, _cell_stays), "no function both trains and evaluates")


def _one_mode(source: Script) -> Finding | None:
    seen, mine = None, flow(source)
    for function in source.of(ast.FunctionDef):
        takes = [b for b in (*source.backwards, *source.steps) if source.function_around(b) is function]
        asked = [c for b in takes if (c := _condition(mine, function, b)) is not None]
        if not asked or any(_condition(mine, function, b) is None for b in takes if b in source.backwards):
            continue  # gradients are taken for every caller
        told = asked[0]
        switches = [
            c
            for c in of(function, ast.Call)
            if isinstance(c.func, ast.Attribute) and c.func.attr in _MODES and _is_model(c.func.value)
        ]
        if any(last_name(c.func) == "eval" for c in of(function, ast.Call)):
            continue
        for call in switches:
            if source.function_around(call) is not function or _condition(mine, function, call) is not None:
                continue
            seen = seen or call
            given = [*call.args, *(k.value for k in call.keywords if k.arg == "mode")]
            if given and not isinstance(given[0], ast.Constant):
                if _meaning(mine, given[0]) == (told[0], not told[1]):
                    return at(
                        source,
                        call,
                        "the model is in evaluation mode where gradients are taken, and not else",
                    )
            elif (not given or getattr(given[0], "value", None) is True) and _left_out(mine, function, told):
                return at(source, call, "training mode is switched on, also for callers who only evaluate")
    return ok(source, seen, "the mode goes with what the caller asks for") if seen is not None else None


def _is_model(owner: ast.expr) -> bool:
    return re.search(r"(?i)trainer|engine|agent", unparse(owner)) is None


def _condition(mine: Flow, function: Function, node: ast.AST) -> tuple[str, bool] | None:
    """The parameter that decides whether a line runs, and which way round: `if optimizer is not None`."""
    inner = node
    for parent in mine.source.above(node):
        if parent is function:
            return None
        if isinstance(parent, ast.If) and (inner in parent.body or inner in parent.orelse):
            name, true = _meaning(mine, parent.test)
            if name in _names(function):
                return name, true == (inner in parent.body)
        inner = parent
    return None


def _names(function: Function) -> list[str]:
    return [a.arg for a in (*function.args.args, *function.args.kwonlyargs)]


def _meaning(mine: Flow, test: ast.expr, depth: int = 4) -> tuple[str, bool]:
    """What a condition asks of which name: `not training`, `opt is None` -> (name, whether it is so)."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        name, true = _meaning(mine, test.operand, depth - 1)
        return name, not true
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.comparators[0], ast.Constant):
        value = test.comparators[0].value
        if value is None and isinstance(test.ops[0], (ast.Is, ast.IsNot)):
            return unparse(test.left), isinstance(test.ops[0], ast.IsNot)
        if isinstance(value, str) and isinstance(test.ops[0], (ast.Eq, ast.NotEq)):
            return f"{unparse(test.left)}", isinstance(test.ops[0], ast.Eq) == (
                value in ("train", "training")
            )
    if isinstance(test, ast.Name) and depth > 0:
        found = mine.given(test)
        if found is not None and not found.places and isinstance(found.value, (ast.Compare, ast.UnaryOp)):
            return _meaning(mine, found.value, depth - 1)
    if isinstance(test, ast.Call) and last_name(test.func) == "bool" and len(test.args) == 1:
        return _meaning(mine, test.args[0], depth - 1)
    return unparse(test), True


def _left_out(mine: Flow, function: Function, told: tuple[str, bool]) -> bool:
    """A caller does not ask for training: the argument is left out, None, False, or names another side."""
    name, wanted = told
    names = _names(function)
    place = names.index(name) - (1 if names[:1] == ["self"] else 0)
    defaults = dict(zip(reversed(function.args.args), reversed(function.args.defaults), strict=False))
    defaults |= {
        a: d
        for a, d in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
        if d is not None
    }
    default = next((d for a, d in defaults.items() if a.arg == name), None)
    for call in flow(mine.source).calls_of(function):
        if function in mine.source.above(call) or any(isinstance(a, ast.Starred) for a in call.args):
            continue
        given = keyword(call, name) or (call.args[place] if place < len(call.args) else default)
        if isinstance(given, ast.Constant):
            trains = (
                given.value in ("train", "training") if isinstance(given.value, str) else bool(given.value)
            )
            if trains is not wanted:
                return True
    return False


# ------------------------------------------------------------------------------------------------- MindSpore


def _cell_stays(source: Script) -> Finding | None:
    """`net.set_train()` where it trains, the same net run on other data, and never `set_train(False)`."""
    switches = source.named("set_train")
    if not switches or source.backwards or source.loose:
        return None
    if not any(_MODAL.match(last_name(c.func)) for c in source.calls):
        return None
    if any(_says_false(c) for c in switches) or source.named("eval"):
        return ok(source, switches[0], "the cell is switched to evaluation")
    if any(c.args and not isinstance(c.args[0], ast.Constant) for c in switches):
        return None
    for call in switches:
        for run in _evaluations(source, call):
            return at(source, run, "the cell is in training mode, and nothing switches it off for evaluation")
    return None


def _says_false(call: ast.Call) -> bool:
    given = all_arguments(call)
    return any(is_false(g) for g in given)


def _evaluations(source: Script, switch: ast.Call) -> Iterator[ast.Call]:
    """Calls of the cell in a loop over data that takes no gradients, after it was switched on."""
    owner = source.owner(switch)
    trains = taken(source)
    functions = {source.function_around(t) for t in trains}
    for call in source.calls:
        if not call.args or not _same_cell(unparse(call.func), owner):
            continue
        loops = source.loops_around(call)
        if not loops or source.function_around(call) in source.forwards:
            continue
        data = isinstance(loops[0], ast.For) and re.search(
            r"create_(?:tuple|dict)_iterator|loader|dataset|(?:^|_)(?:val|test|eval)", unparse(loops[0].iter)
        )
        if data and trains and not any(runs_in(source, t, loops[0]) for t in trains):
            if source.function_around(call) in functions or _runs_after(source, call, switch):
                yield call


def _same_cell(called: str, owner: str) -> bool:
    """`learner.net` that is switched outside of the class is `self.net` within it."""
    same = called.split(".")[-1] == owner.split(".")[-1]
    return called == owner or (same and "self" in (called.split(".")[0], owner.split(".")[0]))


def _runs_after(source: Script, call: ast.Call, switch: ast.Call) -> bool:
    """The function of the call is run in the loop, or after the line, that the switch stands in."""
    function = source.function_around(call)
    if function is None or function is source.function_around(switch):
        return function is not None
    around = source.loops_around(switch)
    return any(
        runs_in(source, c, around[-1])
        if around
        else source.function_around(c) is source.function_around(switch)
        for c in flow(source).calls_of(function)
    )
