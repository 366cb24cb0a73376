"""What is put into a memory that is learned from: in the order that it takes, and as a value of its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow, returns
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.nodes import assigned
from .replay import batches, is_following, is_reward

_MAKES_ARRAYS = {
    *("zeros", "ones", "full", "empty", "array", "asarray", "zeros_like", "tensor", "copy", "arange"),
    *("uniform", "normal", "standard_normal", "rand", "randn", "random", "integers", "astype", "clone"),
}
_KEEPS = ("append", "appendleft", "push", "add", "store", "remember", "put", "save", "insert")


def stored_exchanged(source: Script) -> Finding | None:
    """`memory.push(following, action, reward, state, done)` into a memory that takes the state first."""
    for call in source.calls:
        given = _handed(call)
        names = [g.id if isinstance(g, ast.Name) else "" for g in given]
        if len(names) < 4 or not any(map(is_reward, names[1:])) or not is_following(names[0]):
            continue
        if any(map(is_following, names[1:])):
            continue
        if (place := _place_of_following(source, call, len(names))) and names[place]:
            return at(
                source,
                call,
                f"`{names[0]}` is stored as the state, `{names[place]}` as the next one: exchanged",
            )
    return None


def _handed(call: ast.Call) -> list[ast.expr]:
    one = call.args[0] if len(call.args) == 1 else None
    return one.elts if isinstance(one, (ast.Tuple, ast.List)) else call.args


def _place_of_following(source: Script, call: ast.Call, count: int) -> int:
    """The place, not the first, at which the next state is taken: by a parameter, or in a batch."""
    for function in flow(source).called(call):
        names = [a.arg for a in function.args.args if a.arg not in ("self", "cls")]
        told = [i for i, n in enumerate(names[:count]) if is_following(n)]
        if len(told) == 1:
            return told[0]
    for batch in batches(source):
        if len(batch.names) == count and batch.following in batch.names:
            return batch.names.index(batch.following)
    return 0


def changed_in_place(source: Script) -> Finding | None:
    """A state is given out, stored, and then changed in place: all that is stored is one array.

    `self.state += step` and `return self.state` in an environment of the program, whose result goes into a
    memory as it is.
    """
    for owner in source.of(ast.ClassDef):
        for method in (n for n in owner.body if isinstance(n, ast.FunctionDef)):
            for field in _changed(method) & _given_out(method):
                if not _is_array(owner, field) or _set_anew(method, field):
                    continue
                for call in source.named(method.name):
                    for name in _bound(source, call, method, field):
                        if _stored(source, name):
                            return at(
                                source,
                                method,
                                f"`{field}` is stored as it is, and the next call changes it in place",
                            )
    return None


def _changed(method: ast.FunctionDef) -> set[str]:
    """Fields that are changed in place: `self.x += d`, `self.x[i] = v`."""
    found = {unparse(n.target) for n in of(method, ast.AugAssign) if isinstance(n.target, ast.Attribute)}
    for node in of(method, ast.Assign, ast.AugAssign):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Subscript):
                found.add(unparse(target.value))
    return {f for f in found if f.startswith("self.") and f.count(".") == 1}


def _given_out(method: ast.FunctionDef) -> set[str]:
    """Fields that are returned as they are."""
    found = set()
    for end in returns(method):
        found |= {unparse(e) for e in (end.elts if isinstance(end, ast.Tuple) else [end])}
    return found


def _is_array(owner: ast.ClassDef, field: str) -> bool:
    """Every value that the field is given is an array of a library."""
    given = [v for n in of(owner, ast.Assign) for t, v in assigned(n) if unparse(t) == field]
    return bool(given) and all(
        isinstance(v, ast.Call) and last_name(v.func) in _MAKES_ARRAYS and v.args for v in given
    )


def _set_anew(method: ast.FunctionDef, field: str) -> bool:
    return any(unparse(t) == field for n in of(method, ast.Assign) for t, _ in assigned(n))


def _bound(source: Script, call: ast.Call, method: ast.FunctionDef, field: str) -> Iterator[ast.Name]:
    """The name that takes the field from a call of the method."""
    statement = source.parents.get(call)
    if not isinstance(statement, ast.Assign) or statement.value is not call:
        return
    target = statement.targets[0]
    for end in returns(method):
        if isinstance(end, ast.Tuple) and isinstance(target, ast.Tuple):
            for name, value in zip(target.elts, end.elts, strict=False):
                if isinstance(name, ast.Name) and unparse(value) == field:
                    yield name
        elif isinstance(target, ast.Name) and unparse(end) == field:
            yield target


def _stored(source: Script, name: ast.Name) -> bool:
    """The name goes into a list, also by way of a method of the program, and nothing makes a copy of it."""
    scope = source.function_around(name) or source.tree
    written = [n for n in of(scope, ast.Name) if n.id == name.id and isinstance(n.ctx, ast.Store)]
    if any(_copied(source, n) for n in written):
        return False
    for call in of(scope, ast.Call):
        if last_name(call.func) not in _KEEPS or not isinstance(call.func, ast.Attribute):
            continue
        given = _handed(call)
        at_ = next((i for i, g in enumerate(given) if isinstance(g, ast.Name) and g.id == name.id), None)
        if at_ is None:
            continue
        own = flow(source).called(call)
        if not own and last_name(call.func) in ("append", "appendleft"):
            return True
        if any(_appended(f, at_) for f in own):
            return True
    return False


def _copied(source: Script, name: ast.Name) -> bool:
    statement = source.statement(name)
    value = statement.value if isinstance(statement, ast.Assign) else None
    text = unparse(value) if value is not None else ""
    return isinstance(value, ast.Call) and last_name(value.func) in _MAKES_ARRAYS and name.id in text


def _appended(function: Function, place: int) -> bool:
    """The parameter at a place is put into a list as it is."""
    names = [a.arg for a in function.args.args if a.arg not in ("self", "cls")]
    if place >= len(names):
        return False
    return any(
        last_name(call.func) in ("append", "appendleft")
        and any(isinstance(g, ast.Name) and g.id == names[place] for g in _handed(call))
        for call in of(function, ast.Call)
    )
