"""What is cut off takes part uncut as well: two heads on one value, a correction, a copy that is shown."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name, receiver
from ...scripts.flow import Flow, flow
from ...scripts.syntax import Function, Script
from ...scripts.untaped import without_gradients
from .cuts import runs_model

_CUTS = ("detach", "detach_", "stop_gradient", "numpy", "item", "tolist", "asnumpy", "cpu")
# what tells something of a value, and computes nothing with it
_TOLD = ("shape", "dtype", "device", "ndim", "size", "dim", "is_cuda", "requires_grad", "register_hook")
_SHOWN = ("print", "len", "isinstance", "info", "debug", "log", "append", "zeros_like", "ones_like")
_JOINS = ("append", "extend", "insert", "add", "cat", "concat", "concatenate", "stack", "mul", "matmul")
_DEPTH = 3  # arithmetic that is gone back through


def taken_uncut(source: Script, function: Function, cut: ast.Call) -> bool:
    """The values that `cut` cuts off, or what they were computed of, go on with their gradient elsewhere.

    A head of its own (`value = h.detach()` beside `actor(h)`), or a correction by a quotient or a product:
    `r = (std / running).detach()` beside `var / r ** 2`. What is cut has a name of its own. Told
    all the same is a cut value that joins the way of the other (`cat([up, skip])`); arguments do not count.
    """
    inner = cut.args[0] if cut.args else receiver(cut)
    named = source.parents.get(cut)
    if inner is None or not isinstance(named, ast.Assign) or not isinstance(named.targets[0], ast.Name):
        return False
    if _twin(source, function, named.targets[0].id, inner):
        return True
    if not isinstance(inner, ast.BinOp) and _joins(source, function, named.targets[0].id):
        return False
    return any(_goes_on(flow(source), function, n, {named}, _DEPTH) for n in _computed_of(source, inner))


def made_beside(source: Script, function: Function, cut: ast.Call) -> bool:
    """The value that is cut was computed, without weights, of one that stands uncut beside it.

    `u = decay * u * (1 - s.detach())` with `s = fire(u - 1)`: a state that is set back keeps its own slope.
    """
    inner = cut.args[0] if cut.args else receiver(cut)
    if not isinstance(inner, ast.Name):
        return False
    named, mine = source.parents.get(cut), flow(source)
    target = named.targets[0] if isinstance(named, ast.Assign) else None
    uses: list[ast.expr] = [cut]
    if isinstance(target, ast.Name):
        loads = [n for n in of(function, ast.Name) if n.id == target.id and isinstance(n.ctx, ast.Load)]
        uses = [n for n in loads if n is not inner]
    made = {
        n.id
        for v in _last_values(source, function, inner.id)
        if _weightless(mine, v)
        for n in of(v, ast.Name)
    }
    return bool(uses) and all(made & _beside_in_sum(source, use) for use in uses)


def _last_values(source: Script, function: Function, name: str) -> list[ast.expr]:
    """What a name is given in a function, without what it starts with before a loop."""
    given = [
        n for n in of(function, ast.Assign) for t in n.targets if isinstance(t, ast.Name) and t.id == name
    ]
    most = max((len(list(source.loops_around(n))) for n in given), default=0)
    return [n.value for n in given if len(list(source.loops_around(n))) == most]


def _weightless(mine: Flow, value: ast.expr) -> bool:
    """No layer of the model is asked for it; `self.fire = Fire.apply` is none."""
    for call in of(value, ast.Call):
        if runs_model(mine, call):
            given = mine.given(call.func)
            if not (given is not None and isinstance(given.value, ast.Attribute)):
                return False
    return True


def _beside_in_sum(source: Script, use: ast.expr) -> set[str]:
    """The names that stand uncut in the sum or product that a value stands in."""
    whole: ast.AST = use
    for outer in source.above(use):
        if not isinstance(outer, (ast.BinOp, ast.UnaryOp)):
            break
        whole = outer
    if whole is use:
        return set()
    left = set(of(use, ast.Name))
    return {n.id for n in of(whole, ast.Name) if n not in left and _works(source, n)}


def _twin(source: Script, function: Function, name: str, inner: ast.expr) -> bool:
    """The same is computed of the value uncut: `(c * u).sum(1)` beside `(c * stopped).sum(1)`."""
    if not isinstance(inner, ast.Name) or inner.id == name:
        return False
    done = {unparse(n) for n in of(function, ast.BinOp, ast.Call)}
    return any(
        isinstance(outer := source.parents.get(use), (ast.BinOp, ast.Call))
        and re.sub(rf"\b{name}\b", inner.id, unparse(outer)) in done
        for use in of(function, ast.Name)
        if use.id == name and isinstance(use.ctx, ast.Load)
    )


def _joins(source: Script, function: Function, name: str) -> bool:
    """What is cut off is put into a list, added to or joined with something that the model computed."""
    handed = {a.arg for a in of(function.args, ast.arg)}
    for use in of(function, ast.Name):
        if use.id == name and isinstance(use.ctx, ast.Load):
            outer = source.parents.get(use)
            beside = _beside(outer, use)
            if beside and all(
                isinstance(n, ast.Name) and n.id in handed and flow(source).given(n) is None for n in beside
            ):
                continue  # `cat([code.detach(), noise])`: the input of another network
            if isinstance(outer, (ast.BinOp, ast.List, ast.Tuple)):
                return True
            if isinstance(outer, ast.Call) and last_name(outer.func) in _JOINS:
                return True
    return False


def _beside(outer: ast.AST | None, use: ast.Name) -> list[ast.expr]:
    """What a value stands beside: in a list, in a sum, as an argument."""
    if isinstance(outer, (ast.List, ast.Tuple)):
        return [e for e in outer.elts if e is not use]
    if isinstance(outer, ast.BinOp):
        return [e for e in (outer.left, outer.right) if e is not use]
    return [a for a in outer.args if a is not use] if isinstance(outer, ast.Call) else []


def _computed_of(source: Script, value: ast.expr) -> list[ast.Name]:
    """What a value is computed of by arithmetic and methods of tensors: `var` of `(var + eps).sqrt()`.

    Nothing that a layer or a function is given: the slope of what stands below it is another matter.
    """
    found = []
    for name in of(value, ast.Name):
        inner: ast.AST = name
        for outer in source.above(name) if name is not value else ():
            if isinstance(outer, ast.Call) and inner is not outer.func:
                break
            inner = outer
            if outer is value:
                found.append(name)
                break
        else:
            found += [name] if name is value else []
    return [n for n in found if n.id not in ("self", "cls")]


def _goes_on(mine: Flow, function: Function, name: ast.Name, left: set[ast.stmt | None], depth: int) -> bool:
    source = mine.source
    given = mine.all_given(name)
    if not given:
        return False
    for use in of(function, ast.Name):
        if use.id != name.id or not isinstance(use.ctx, ast.Load) or source.statement(use) in left:
            continue
        if _works(source, use) and any(g in given for g in mine.all_given(use)):
            return True
    if not depth:
        return False
    for one in given:
        if not one.places:
            below = left | {source.statement(one.value)}
            if any(_goes_on(mine, function, n, below, depth - 1) for n in _computed_of(source, one.value)):
                return True
    return False


def _works(source: Script, use: ast.Name) -> bool:
    """Something is computed of the value where it stands, with its gradient."""
    for outer in source.above(use):
        if isinstance(outer, ast.Attribute) and outer.attr in (*_TOLD, *_CUTS):
            return False
        if isinstance(outer, ast.Call) and last_name(outer.func) in (*_SHOWN, *_CUTS):
            return False
        if isinstance(outer, (ast.Compare, ast.FormattedValue, ast.Assert, ast.Raise, ast.Return)):
            return isinstance(outer, ast.Return) and not _handed_out(outer, use)
        if isinstance(outer, (ast.If, ast.While)):
            return False
        if isinstance(outer, ast.stmt):
            return not without_gradients(source, outer) and not isinstance(outer, ast.Delete)
    return False


def _handed_out(statement: ast.Return, use: ast.Name) -> bool:
    """The value itself is given back, beside others: what becomes of it is not told here."""
    value = statement.value
    return value is use or (isinstance(value, (ast.Tuple, ast.List)) and use in value.elts)
