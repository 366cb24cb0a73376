"""A learning-rate schedule that is made, or handed to a training function, and never advanced.

Every use of it is looked at under the names that it goes by: through attributes, returned tuples, parameters.
What only asks it something (`state_dict`, `get_last_lr`, a test for None) does not advance it; what hands it
to code that is not at hand may, and then nothing is said.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.learning import taken
from ...scripts.syntax import Function, Script
from ..shared.checks import at, first, imports_locals, ok
from ..shared.nodes import is_called
from ..shared.sides import either
from .asked_once import asked_for_one_step
from .of_fit import callback_unused
from .rate_units import schedule_unused
from .trainer_schedules import trainer_leaves_idle

_MAKES = re.compile(
    r"(?:LR|Restarts|OnPlateau|Scheduler|Schedule)$|^get_(?:\w+_)?schedul|^create_(?:lr_)?scheduler"
)
_OPTIMIZER = re.compile(r"(?i)(?:^|[._])opt(?:im\w*)?(?:_\w+)?(?:$|[.\[])")
_ASKS = re.compile(r"^(?:state_dict|load_state_dict|get_last_lr|get_lr|get_current_lr|print_lr|__\w+__)$")
_GOES_THROUGH = ("values", "items", "get", "copy")
_PREPARES = ("prepare", "setup", "prepare_scheduler")
_SHOWS = ("print", "len", "isinstance", "hasattr", "type", "id", "repr", "str")
_SETTINGS = re.compile(r"(?i)(?:^|[._])(?:args?|cfg|conf\w*|opts?|options|hparams|params|flags|settings)$")
ANYWHERE = "anywhere"  # the scope of an attribute
_Name = tuple[ast.AST | str | None, str]  # where a name is known (None: in the whole file), and the name
_ROUNDS = 4  # times that new names of it are looked for


@probe()
def schedule_idle(view: View) -> Finding:
    """A scheduler is made and no use of it advances it.

    False positive: a schedule that another framework's hook advances by the name of an attribute.
    """
    looks = either(_idle, schedule_unused, trainer_leaves_idle, callback_unused, asked_for_one_step)
    return first(view, looks, "the scripts build no scheduler")


def _idle(source: Script) -> Finding | None:
    if not source.trains_by_hand:
        return None
    made = [c for c in source.calls if _makes(source, c)]
    judged: ast.AST | None = None
    for call in made:
        kept = _kept_under(source, call)
        advanced = _advanced(source, kept) if kept else None
        if advanced:
            judged = judged or call
        elif advanced is False:
            return at(source, call, "this scheduler is made, and nothing steps it")
    for function, name in _handed(source) if not made else ():
        given = _named_by_callers(source, function, name)
        advanced = _advanced(source, {(function, name), *given})
        if advanced is False and not (given or _trains_to_the_end(source, function)):
            continue  # whoever calls it for each epoch may step the scheduler
        if advanced:
            judged = judged or function
        elif advanced is False:
            return at(source, function, f"{name} is handed to the training, and nothing steps it")
    return ok(source, judged, "the scheduler is stepped") if judged is not None else None


def _makes(source: Script, call: ast.Call) -> bool:
    """A call that is given an optimizer and whose name is that of a schedule; not a definition around it."""
    named = _MAKES.search(last_name(call.func)) or _sets_rates(source, last_name(call.func))
    if not named or last_name(call.func) in flow(source).functions:
        return False
    given = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "optimizer")]
    around = source.function_around(call)
    if around is not None and around.name == "configure_optimizers":
        return False
    return any(
        isinstance(g, (ast.Name, ast.Attribute, ast.Subscript)) and _OPTIMIZER.search(unparse(g))
        for g in given
    )


def _sets_rates(source: Script, name: str) -> bool:
    """A class of the script whose methods set the rate of an optimizer's groups, and no optimizer itself."""
    owner = source.classes.get(name)
    if owner is None or any("ptim" in unparse(b) for b in owner.bases):
        return False
    return any(
        isinstance(t, ast.Subscript) and isinstance(t.slice, ast.Constant) and t.slice.value == "lr"
        for n in of(owner, ast.Assign)
        for t in n.targets
    )


def _kept_under(source: Script, call: ast.Call) -> set[_Name]:
    """Names that a scheduler is assigned to; nothing where it goes straight into something else."""
    parent = source.parents.get(call)
    if isinstance(parent, ast.Assign):
        return _names(source, parent.targets)
    if isinstance(parent, ast.Return) and (function := source.function_around(parent)) is not None:
        return _received(source, function, None) or set()
    return set()


def _names(source: Script, targets: Iterable[ast.expr]) -> set[_Name]:
    """What is assigned to: plain names in their function, attributes wherever they are used.

    `schedulers["body"] = s`: the collection, which is gone through where they are stepped.
    """
    found: set[_Name] = set()
    for target in targets:
        while isinstance(target, (ast.Subscript, ast.Starred)):
            target = target.value
        if isinstance(target, ast.Name):
            found.add((source.function_around(target), target.id))
        elif isinstance(target, ast.Attribute):
            found.add((ANYWHERE, target.attr))
    return found


def _received(
    source: Script, function: Function, place: int | None, beyond: frozenset[Function] = frozenset()
) -> set[_Name] | None:
    """The names that what a function returns goes by where it is called; of a tuple its part at `place`.

    None where that cannot be told: nothing here calls it, or a call hands it on to something else. What a
    caller returns as it is goes by the names of that one's callers; `beyond` are those followed so far.
    """
    found: set[_Name] = set()
    calls = flow(source).calls_of(function)
    if not calls or _goes_by_itself(source, function):
        return None
    for call in calls:
        parent = source.parents.get(call)
        if isinstance(parent, ast.Assign):
            for target in parent.targets:
                whole = isinstance(target, ast.Tuple) and place is not None and place < len(target.elts)
                found |= _names(source, [target.elts[place] if whole else target])  # type: ignore[attr-defined]
            continue
        if isinstance(parent, ast.Expr):
            continue
        around = source.function_around(parent) if isinstance(parent, ast.Return) else None
        if around is None or around in beyond:
            return None
        further = _received(source, around, place, beyond | {function})
        if further is None:
            return None
        found |= further
    return found


def _goes_by_itself(source: Script, function: Function) -> bool:
    """The function is handed on as a value (`partial(make, ...)`, a table of functions): others call it."""
    return any(
        n.id == function.name and isinstance(n.ctx, ast.Load) and not is_called(source, n)
        for n in source.of(ast.Name)
    )


def _handed(source: Script) -> Iterable[tuple[Function, str]]:
    """Functions that train, with a parameter that is called a scheduler and that they use."""
    for backward in taken(source):
        function = source.function_around(backward)
        for argument in [*function.args.args, *function.args.kwonlyargs] if function is not None else ():
            if re.search(r"(?i)^(?:lr_?)?sched(?:uler)?$", argument.arg) and function is not None:
                if function.name not in ("__init__", "forward"):
                    yield function, argument.arg


def _trains_to_the_end(source: Script, function: Function) -> bool:
    """The loops over epochs and batches both stand in it: nobody else gets to act between epochs."""
    inside = [b for b in taken(source) if source.function_around(b) is function]
    return any(len(source.loops_around(b)) > 1 for b in inside)


def _named_by_callers(source: Script, function: Function, name: str) -> set[_Name]:
    """The names that callers in the program have for what they hand over as this parameter."""
    places = [a.arg for a in function.args.args if a.arg != "self"]
    targets: list[ast.expr] = []
    for call in flow(source).calls_of(function):
        given = keyword(call, name)
        if given is None and name in places and places.index(name) < len(call.args):
            given = call.args[places.index(name)]
        targets += [given] if isinstance(given, (ast.Name, ast.Attribute)) else []
    return _names(source, targets)


def _advanced(source: Script, kept: set[_Name]) -> bool | None:
    """Whether something advances what goes by these names; None where it cannot be told."""
    known, seen = set(kept), set[ast.AST]()
    for _ in range(_ROUNDS):
        if imports_locals(source) and any(scope is ANYWHERE for scope, _ in known):
            return None  # a file that is not at hand may use the attribute
        more: set[_Name] = set()
        for use in _uses(source, known):
            if use in seen:
                continue
            seen.add(use)
            does = _does(source, use)
            if does is None or does is True:
                return does
            if does is not False:
                more |= does
        if more <= known:
            return False
        known |= more
    return None


def _uses(source: Script, known: set[_Name]) -> Iterable[ast.expr]:
    words = {name for _, name in known}
    for node in source.of(ast.Constant, ast.Name, ast.Attribute):
        if isinstance(node, ast.Constant) and node.value in words:
            parent = source.parents.get(node)
            if isinstance(parent, ast.Call) and last_name(parent.func) in ("getattr", "pop"):
                yield node
        elif isinstance(node, ast.Name) and node.id in words and isinstance(node.ctx, ast.Load):
            around = {None, *source.above(node)}
            if any(name == node.id and scope in around for scope, name in known):
                yield node
        elif isinstance(node, ast.Attribute) and node.attr in words and isinstance(node.ctx, ast.Load):
            if (ANYWHERE, node.attr) in known and not _SETTINGS.search(unparse(node.value)):
                yield node


def _does(source: Script, use: ast.expr) -> bool | set[_Name] | None:
    """What a use does: True advances, False only asks, None cannot be told, else further names of it."""
    parent = source.parents.get(use)
    if isinstance(parent, (ast.For, ast.AsyncFor, ast.comprehension)):
        if parent.iter is use:
            inside = [n for n in of(parent.target, ast.Name, ast.Attribute) if isinstance(n.ctx, ast.Store)]
            return _names(source, inside)
        return None
    if isinstance(parent, ast.Subscript) and parent.value is use:  # one of a collection, or its place
        return _does(source, parent) if isinstance(parent.ctx, ast.Load) else False
    if isinstance(parent, ast.Attribute):
        call = source.parents.get(parent)
        if isinstance(call, ast.Call) and call.func is parent and parent.attr in _GOES_THROUGH:
            return _does(source, call)
        if isinstance(call, ast.Call) and call.func is parent:
            return not _ASKS.match(parent.attr)
        return False
    if isinstance(parent, (ast.Compare, ast.BoolOp, ast.UnaryOp)):
        return False
    if isinstance(parent, (ast.If, ast.IfExp, ast.While, ast.Assert)) and parent.test is use:
        return False
    if isinstance(parent, ast.Expr):
        return False
    if isinstance(parent, ast.IfExp):
        return None
    if isinstance(parent, ast.Assign):
        return _names(source, parent.targets)
    if isinstance(parent, ast.Return) and (function := source.function_around(parent)) is not None:
        return _received(source, function, None)
    if isinstance(parent, ast.Tuple):
        outer = source.parents.get(parent)
        if isinstance(outer, ast.Return) and (function := source.function_around(outer)) is not None:
            return _received(source, function, parent.elts.index(use))
        return None
    if isinstance(parent, ast.Call) and use is not parent.func:
        return _given_to(source, parent, use)
    if isinstance(parent, ast.keyword):
        outer = source.parents.get(parent)
        return _given_to(source, outer, use) if isinstance(outer, ast.Call) else None
    return None


def _given_to(source: Script, call: ast.Call, use: ast.expr) -> bool | set[_Name] | None:
    """A function of the program that is handed the schedule, by its parameter; a printer, a wrapper."""
    name = last_name(call.func)
    if name in _SHOWS:
        return False
    parent = source.parents.get(call)
    if name in ("enumerate", "zip", "reversed", "list", "tuple", "filter", "iter"):
        return _does(source, call)
    if name in _PREPARES and isinstance(parent, ast.Assign):
        inside = [n for t in parent.targets for n in of(t, ast.Name, ast.Attribute)]
        return _names(source, [n for n in inside if last_name(n) == last_name(use)])
    keyword = next((k.arg for k in call.keywords if k.value is use), None)
    found: set[_Name] = set()
    for function in flow(source).functions.get(name, ()) or _initialisers(source, name):
        names = [a.arg for a in function.args.args]
        every = {*names, *(a.arg for a in function.args.kwonlyargs)}
        if keyword is not None:
            if keyword not in every:
                return None
            found.add((function, keyword))
            continue
        if use not in call.args or any(isinstance(a, ast.Starred) for a in call.args):
            return None
        place = call.args.index(use) + (1 if names[:1] == ["self"] else 0)
        if place >= len(names):
            return None
        found.add((function, names[place]))
    return found or None


def _initialisers(source: Script, name: str) -> list[Function]:
    owner = source.classes.get(name)
    body = owner.body if owner is not None else []
    return [n for n in body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
