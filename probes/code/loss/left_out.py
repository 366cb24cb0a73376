"""Terms of the loss in scripts that are computed and never reach what is minimised."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_bound, of, unparse, walk
from ...readers.script import last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow, returns
from ...scripts.minimised import losses, makers, objectives
from ...scripts.syntax import Script
from ..shared.checks import at, first, is_evaluation, ok
from ..shared.sides import either

# what is called as a term of a loss is: `kld`, `value_loss`, `l_v`, `BCE`
_TERM = re.compile(
    r"(?i)^(?:loss|l|kl|kld|kldiv|bce|mse|nll|ce|dice|reg|penalty|entropy|ent)(?:_\w+|\d+)?$|(?:^|_)(?:loss|kld?|penalty)$|[a-z]loss$"
)
_WEIGHT = re.compile(r"(?i)^(?:w|weight|wt|coef\w*|lam|lambda_?|lmbda|scale|factor|alpha|beta|gamma)$")
# what a loss is told of the samples: without it they all count the same
_TOLD = re.compile(
    r"(?i)^(?:e|event\w*|censor\w*|observed|mask\w*|valid\w*|\w+_mask|sample_weights?|weights?|lengths?|pos_weight)$"
)
_ADDS = (ast.Add, ast.Sub)
_SHOWS = (
    "item",
    "update_state",
    "detach",
    "print",
    "float",
    "log",
    "append",
    "format",
    "numpy",
    "add_scalar",
    "update",
    "data",
)
_Scope = ast.AST


@probe()
def term_left_out(view: View) -> Finding:
    """A term of the loss is computed and nothing reads it, or a sum is made and a part of it minimised.

    Also a sum over terms that each replace the former ones, a weight of a loop over terms that none is
    multiplied by, and a mask or an event that a loss function takes and never reads. Left aside: functions
    that are handed on as values and methods, whose arguments others prescribe; names that begin with `_`.
    """
    checks = either(_never_read, _part_minimised, _replaced, _weight_unread, _argument_unread)
    return first(view, checks, "the scripts add up no terms of a loss")


def _scopes(source: Script) -> Iterator[_Scope]:
    """Functions that make what is minimised, and those (or the file) where gradients are taken, each once."""
    mine = flow(source)
    found: dict[_Scope, None] = {}
    for call, objective in objectives(source):
        for node in (call, objective, *mine.values(objective, 6)):
            if not is_evaluation(source, node):
                found[source.function_around(node) or source.tree] = None
    for function in source.of(ast.FunctionDef):
        if (
            function in source.loss_methods
            or function in makers(source)
            or re.search(r"(?i)(?:^|_)(?:loss|criterion|objective)", function.name)
        ):
            if not is_evaluation(source, function):
                found[function] = None
    yield from found


def _own(source: Script, scope: _Scope, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a scope without those of the functions and classes inside it."""
    around = scope if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)) else None
    for node in of(scope, *kinds):
        if source.function_around(node) is around and (
            around is not None or source.class_around(node) is None
        ):
            yield node


def _loads(scope: _Scope, name: str) -> list[ast.Name]:
    return [n for n in of(scope, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]


def _never_read(source: Script) -> Finding | None:
    """`KLD = -0.5 * torch.sum(...)` and nothing reads `KLD`."""
    seen: ast.AST | None = None
    standard = {c for c, _ in losses(source)}
    for scope in _scopes(source):
        if any(last_name(c.func) in ("locals", "exec", "eval", "vars") for c in of(scope, ast.Call)):
            continue
        for node in _own(source, scope, ast.Assign):
            if not isinstance(node, ast.Assign) or len(node.targets) != 1:
                continue
            target = node.targets[0]
            if (unread := _unread_of_several(source, scope, node)) is not None:
                why = f"`{unread}` is computed as a term of the loss, and nothing reads it"
                return at(source, node, why)
            if not isinstance(target, ast.Name) or target.id.startswith("_"):
                continue
            is_term = _is_term(node.value, target.id, standard) or _is_made(
                source, scope, node.value, standard
            )
            if not is_term or is_evaluation(source, node):
                continue
            seen = seen or node
            whole = source.tree if scope is source.tree else scope
            outer = any(target.id in n.names for n in of(whole, ast.Global, ast.Nonlocal))
            if not _loads(whole, target.id) and not outer:
                return at(
                    source, node, f"`{target.id}` is computed as a term of the loss, and nothing reads it"
                )
    return ok(source, seen, "the terms of the loss are used") if seen is not None else None


def _unread_of_several(source: Script, scope: _Scope, node: ast.Assign) -> str | None:
    """`rec, kld = terms(out, x)`, both made by a reduction there, and only the one is read here."""
    target = node.targets[0]
    if not isinstance(target, ast.Tuple) or not isinstance(node.value, ast.Call):
        return None
    names = [e.id if isinstance(e, ast.Name) else "" for e in target.elts]
    if is_evaluation(source, node) or not all(names):
        return None
    read = {n for n in names if any(not _of_inner(source, scope, x) for x in _loads(scope, n))}
    left = [n for n in names if n not in read and not n.startswith("_") and _TERM.search(n)]
    if not left or not read:
        return None
    outputs = [r for f in flow(source).called(node.value) for r in returns(f)]
    if not outputs or not all(isinstance(r, ast.Tuple) and len(r.elts) == len(names) for r in outputs):
        return None
    for name in left:
        parts = [r.elts[names.index(name)] for r in outputs if isinstance(r, ast.Tuple)]
        if any(_part_of_others(source, p) for p in parts):
            continue  # `return rec + beta * kl, rec, kl`
        made = [v for p in parts for v in (p, *flow(source).values(p, 2))]
        if any(_reduces(v) or _ends_in_mean(v) for v in made):
            return name
    return None


def _of_inner(source: Script, scope: _Scope, node: ast.Name) -> bool:
    """A name of a function inside the scope, which gives it a value of its own."""
    inner = source.function_around(node)
    if inner is None or inner is scope:
        return False
    stored = names_bound(inner)
    return node.id in stored | {a.arg for a in of(inner, ast.arg)}


def _part_of_others(source: Script, part: ast.expr) -> bool:
    """What a function gives back is read by something else there, too."""
    function = source.function_around(part)
    if function is None:
        return True
    if not isinstance(part, ast.Name):
        return unparse(function).count(unparse(part)) > 1
    return len(_loads(function, part.id)) > sum(
        n.id == part.id for r in of(function, ast.Return) for n in _elements(r)
    )


def _elements(node: ast.Return) -> list[ast.Name]:
    """The names that a tuple which is given back holds as they are."""
    found = node.value.elts if isinstance(node.value, ast.Tuple) else []
    return [e for e in found if isinstance(e, ast.Name)]


def _ends_in_mean(value: ast.expr) -> bool:
    calls = [n for n in walk(value) if isinstance(n, ast.Call)]
    return any(last_name(c.func) in ("mean", "sum", "reduce_mean", "reduce_sum") for c in calls)


def _is_term(value: ast.expr, name: str, standard: set[ast.Call]) -> bool:
    """A standard loss, or what is called one and ends in a mean or a sum."""
    inside = [n for n in walk(value) if isinstance(n, ast.Call)]
    if any(n in standard for n in inside):
        return True
    ends = any(last_name(c.func) in ("mean", "sum", "reduce_mean", "reduce_sum") for c in inside)
    return ends and _TERM.search(name) is not None


def _is_made(source: Script, scope: _Scope, value: ast.expr, standard: set[ast.Call]) -> bool:
    """A function of the script makes the value, which gives back a standard loss; times a weight, maybe.

    Asked only in functions that make what is minimised: elsewhere such a value may be a figure to watch.
    """
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Mult):
        return any(_is_made(source, scope, p, standard) for p in (value.left, value.right))
    if not isinstance(value, ast.Call) or scope not in makers(source):
        return False
    functions = flow(source).called(value)
    outputs = [r for f in functions for r in returns(f)]
    return bool(outputs) and all(
        not isinstance(r, ast.Tuple) and (_has_standard(source, r, standard) or _reduces(r)) for r in outputs
    )


def _has_standard(source: Script, value: ast.expr, standard: set[ast.Call]) -> bool:
    ends = [value, *flow(source).values(value, 2)]
    return any(n in standard for e in ends for n in walk(e))


def _reduces(value: ast.expr) -> bool:
    """A mean or a sum over everything: one number."""
    return any(
        last_name(c.func) in ("mean", "sum") and not (c.args or c.keywords)
        for c in of(value, ast.Call)
        if isinstance(c.func, ast.Attribute)
    )


def _terms(node: ast.expr) -> Iterator[str]:
    """The names that a sum is made of, with or without a weight."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, _ADDS):
        yield from _terms(node.left)
        yield from _terms(node.right)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        for part in (node.left, node.right):
            if isinstance(part, ast.Name):
                yield part.id
    elif isinstance(node, ast.Name):
        yield node.id


def _part_minimised(source: Script) -> Finding | None:
    """`loss = a + 0.3 * b`, and then `b.backward()`: the sum is shown and not minimised."""
    taken = dict(objectives(source))
    for call, objective in taken.items():
        if not isinstance(objective, ast.Name) or is_evaluation(source, call):
            continue
        scope: _Scope = source.function_around(call) or source.tree
        handed = {
            o.id
            for c, o in taken.items()
            if isinstance(o, ast.Name) and source.function_around(c) is source.function_around(call)
        }
        for node in _own(source, scope, ast.Assign):
            if not isinstance(node, ast.Assign) or len(node.targets) != 1 or node.lineno > call.lineno:
                continue
            target, terms = node.targets[0], list(_terms(node.value))
            if not isinstance(target, ast.Name) or not isinstance(node.value, ast.BinOp):
                continue
            if not isinstance(node.value.op, _ADDS) or objective.id not in terms or target.id in handed:
                continue
            if source.loops_around(node) != source.loops_around(call) or target.id == objective.id:
                continue
            others = [
                t for t in terms if t not in handed and _TERM.search(t) and _made_here(source, scope, t)
            ]
            uses = _loads(scope, target.id)
            if others and uses and all(_is_shown(source, n) for n in uses):
                return at(
                    source, call, f"`{target.id}` is the sum of the terms, and only a part of it is minimised"
                )
    return None


def _made_here(source: Script, scope: _Scope, name: str) -> bool:
    """A call of the scope gives the name its value."""
    return any(
        isinstance(n, ast.Assign)
        and name in {unparse(e) for x in n.targets for e in (x.elts if isinstance(x, ast.Tuple) else [x])}
        and any(True for _ in of(n.value, ast.Call))
        for n in _own(source, scope, ast.Assign)
    )


def _is_shown(source: Script, node: ast.AST) -> bool:
    """The value is only printed, logged or counted up."""
    for parent in source.above(node):
        if isinstance(parent, (ast.JoinedStr, ast.FormattedValue)):
            return True
        if isinstance(parent, ast.Attribute) and parent.attr in _SHOWS:
            return True
        if isinstance(parent, ast.Call) and last_name(parent.func) in _SHOWS:
            return True
        if isinstance(parent, ast.stmt):
            return False
    return False


def _zero(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return node.value == 0 and not isinstance(node.value, bool)
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        if name in ("zeros", "new_zeros", "zeros_like"):
            return True
        return (
            name in ("tensor", "constant", "Tensor", "as_tensor") and bool(node.args) and _zero(node.args[0])
        )
    return False


def _replaced(source: Script) -> Finding | None:
    """`total = 0`, then in a loop over terms `total = w * term(x)`: only the last of them is left."""
    for scope in _scopes(source):
        for loop in _own(source, scope, ast.For):
            if not isinstance(loop, ast.For) or any(c in source.backwards for c in of(loop, ast.Call)):
                continue
            for node in loop.body:
                if not isinstance(node, ast.Assign) or len(node.targets) != 1:
                    continue
                target = node.targets[0]
                if not isinstance(target, ast.Name) or not any(True for _ in of(node.value, ast.Call)):
                    continue
                inside = {n for s in loop.body for n in walk(s)}
                uses = _loads(scope, target.id)
                start = [
                    n
                    for n in _own(source, scope, ast.Assign)
                    if isinstance(n, ast.Assign)
                    and target.id in map(unparse, n.targets)
                    and n.lineno < loop.lineno
                ]
                after = [n for n in uses if n.lineno > (loop.end_lineno or loop.lineno)]
                if not start or not _zero(start[-1].value) or any(n in inside for n in uses) or not after:
                    continue
                stored = [
                    n
                    for n in inside
                    if isinstance(n, ast.Name) and n.id == target.id and isinstance(n.ctx, ast.Store)
                ]
                if len(stored) == 1 and not any(isinstance(n, (ast.Break, ast.Return)) for n in inside):
                    why = f"`{target.id}` starts at zero, and each term of the loop replaces the former ones"
                    return at(source, node, why)
    return None


def _weight_unread(source: Script) -> Finding | None:
    """`for term, weight in terms: total = total + term(x)`: no term is multiplied by its weight."""
    for scope in _scopes(source):
        for loop in _own(source, scope, ast.For):
            if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Tuple):
                continue
            names = [e.id for e in loop.target.elts if isinstance(e, ast.Name)]
            weights = [n for n in names if _WEIGHT.match(n)]
            others = [n for n in names if n not in weights]
            inside = list(loop.body)
            for weight in weights:
                read = any(_loads(s, weight) for s in inside)
                sums = any(
                    isinstance(n, ast.AugAssign)
                    or (
                        isinstance(n, ast.Assign)
                        and isinstance(n.value, ast.BinOp)
                        and isinstance(n.value.op, ast.Add)
                    )
                    for s in inside
                    for n in walk(s)
                )
                if not read and sums and any(_loads(s, o) for s in inside for o in others):
                    return at(source, loop, f"no term is multiplied by its `{weight}`")
    return None


def _argument_unread(source: Script) -> Finding | None:
    """`def nll(out, time, event)` that never reads `event`: every sample counts the same."""
    minimised = makers(source)
    for function in source.of(ast.FunctionDef):
        if not isinstance(function, ast.FunctionDef) or source.class_around(function) is not None:
            continue
        if function not in minimised or not _called_alone(source, function):
            continue
        for argument in (*function.args.args, *function.args.kwonlyargs):
            if _TOLD.match(argument.arg) and not _loads(function, argument.arg):
                if _is_told(source, function, argument):
                    return at(source, function, f"this loss is told `{argument.arg}` and never reads it")
    return None


def _is_told(source: Script, function: ast.FunctionDef, argument: ast.arg) -> bool:
    """A call hands over something for an argument that is no constant."""
    names = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    place = names.index(argument.arg) if argument.arg in names else len(names)
    for call in flow(source).calls_of(function):
        given = [k.value for k in call.keywords if k.arg == argument.arg] + list(call.args[place : place + 1])
        if any(not isinstance(g, ast.Constant) for g in given):
            return True
    return False


def _called_alone(source: Script, function: ast.FunctionDef) -> bool:
    """The function is called by its name everywhere, and nothing prescribes its arguments."""
    calls = {id(c.func) for c in flow(source).calls_of(function)}
    loads = [n for n in source.of(ast.Name) if n.id == function.name and isinstance(n.ctx, ast.Load)]
    return bool(calls) and all(id(n) in calls for n in loads) and not function.decorator_list
