"""Augmentation that a data set does on every side, though it is told which side it is for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.sides import side

_FLAG = re.compile(
    r"(?i)^(?:is_?)?(?:train|training|trn|val|valid|validation|test|eval|augment|aug|split|mode|phase|subset|stage)$"
)
_DRAWS = frozenset(
    [
        "normal",
        "uniform",
        "rand",
        "randn",
        "random",
        "standard_normal",
        "gauss",
        "triangular",
        "randn_like",
        "rand_like",
    ]
)
_LIBRARIES = ("np.random", "numpy.random", "random", "torch", "rng", "self.rng")
# where chance is the task itself: noise that is to be taken off, views held against each other, negatives
_TASK = re.compile(
    r"(?i)nois(?:e_?(?:level|pred|sched)|y)|denois|diffus|corrupt|mask|view|contrast|simclr|negativ|neg_|triplet|anchor|sigma_t|mixup|cutmix"
)


def augmented_whatever_side(source: Script) -> Finding | None:
    """A `Dataset` is told its side, changes samples by chance in `__getitem__`, and does not ask there.

    Its held-out part is made of it as well. What is drawn and handed back is no change of a sample.
    """
    for owner in source.of(ast.ClassDef):
        methods = {f.name: f for f in owner.body if isinstance(f, ast.FunctionDef)}
        get, start = methods.get("__getitem__"), methods.get("__init__")
        if get is None or start is None or _TASK.search(unparse(owner)):
            continue
        flags = [a.arg for a in (*start.args.args, *start.args.kwonlyargs) if _FLAG.match(a.arg)]
        if not flags or not _made_for_held_out(source, owner, start, flags):
            continue
        told = _told(start, flags)
        for function, way in _passes(get, methods):
            for call in _drawn(function):
                if not _asks(source, [call, *way], told) and _changes(source, function, call):
                    return at(source, call, f"{owner.name} changes its samples by chance on every side")
    return None


def mapped_whatever_side(source: Script) -> Finding | None:
    """`make(data, batch, training)` maps a function that draws whatever it is told, and is told both."""
    mine = flow(source)
    for function in source.of(ast.FunctionDef):
        flags = [a.arg for a in (*function.args.args, *function.args.kwonlyargs) if _FLAG.match(a.arg)]
        if not flags or function.name == "__init__":
            continue
        calls = [c for c in source.named(function.name) if function not in source.above(c)]
        values = {f: [v for c in calls if (v := _argument(function, c, f)) is not None] for f in flags}
        both = any({True, False} <= {_says(v) for v in given} for given in values.values())
        if not both:
            continue
        for call in of(function, ast.Call):
            if last_name(call.func) != "map" or not isinstance(call.func, ast.Attribute):
                continue
            handed = [
                *call.args[:1],
                *(k.value for k in call.keywords if k.arg in ("operations", "map_func")),
            ]
            drawn = [
                d
                for h in handed
                if isinstance(h, ast.Name)
                for f in mine.functions.get(h.id, ())
                if not _TASK.search(unparse(f))
                for d in _drawn(f)
                if _changes(source, f, d)
            ]
            if drawn and not _asks(source, [call], set(flags)):
                why = f"`{function.name}` changes samples by chance whatever side it is told"
                return at(source, call, why)
    return None


def _told(start: Function, flags: list[str]) -> set[str]:
    """The flags of a class and the attributes that are made of them: `self.training = split == "train"`."""
    found = {*flags}
    for node in of(start, ast.Assign):
        if names_in(node.value) & found:
            found |= {t.attr for t in node.targets if isinstance(t, ast.Attribute)}
            found |= {t.id for t in node.targets if isinstance(t, ast.Name)}
            for target in node.targets:
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = zip(target.elts, node.value.elts, strict=False)
                    found |= {last_name(t) for t, v in pairs if names_in(v) & found}
    return found


def _passes(get: Function, methods: dict[str, ast.FunctionDef]) -> Iterator[tuple[Function, list[ast.AST]]]:
    """`__getitem__` and the methods that it calls on itself, each with the calls that lead there."""
    waiting: list[tuple[Function, list[ast.AST]]] = [(get, [])]
    seen = {get.name}
    for function, way in waiting:
        yield function, way
        for call in of(function, ast.Call):
            name = last_name(call.func)
            owner = receiver(call)
            if owner is not None and unparse(owner) == "self" and name in methods and name not in seen:
                seen.add(name)
                waiting.append((methods[name], [*way, call]))


def _drawn(function: Function) -> Iterator[ast.Call]:
    for call in of(function, ast.Call):
        owner = receiver(call)
        if last_name(call.func) in _DRAWS and owner is not None and unparse(owner) in _LIBRARIES:
            yield call


def _asks(source: Script, nodes: list[ast.AST], told: set[str]) -> bool:
    """A condition around one of these, or one that ends the function before, speaks of what is told."""
    for node in nodes:
        for outer in source.above(node):
            if isinstance(outer, (ast.If, ast.IfExp, ast.BoolOp)):
                test = outer.test if isinstance(outer, (ast.If, ast.IfExp)) else outer
                if _mentions(test, told) or re.search(r"(?i)transform|aug|train|None", unparse(test)):
                    return True
            if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)):
                ends = [n for n in of(outer, ast.If) if any(isinstance(s, ast.Return) for s in n.body)]
                if any(_mentions(n.test, told) for n in ends):
                    return True
                break
    return False


def _mentions(node: ast.AST, told: set[str]) -> bool:
    return any(last_name(n) in told for n in walk(node) if isinstance(n, (ast.Name, ast.Attribute)))


def _changes(source: Script, function: Function, call: ast.Call) -> bool:
    """What is drawn, or a name of it, is added to or multiplied with a value."""
    names: set[str] = set()
    statement = source.statement(call)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    # `noise = 0.1 * randn(...)` is chance alone; `piece = piece + randn(...)` is the sample
    if targets and all(isinstance(t, ast.Name) for t in targets) and not _beside(statement, call):
        names = {t.id for t in targets if isinstance(t, ast.Name)}
    for node in of(function, ast.BinOp, ast.AugAssign):
        if not isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
            continue
        sides = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.target, node.value]
        for one, other in (sides, sides[::-1]):
            chance = call in walk(one) or bool(names_in(one) & names and _plain(one, names))
            if (
                chance
                and isinstance(other, (ast.Name, ast.Subscript, ast.BinOp))
                and not _plain(other, names)
            ):
                return not _given_back(function, names)
    return False


def _beside(statement: ast.AST | None, call: ast.Call) -> bool:
    """Other values than numbers stand beside a call in what is given to a name."""
    inside = set(walk(call))
    value = getattr(statement, "value", call)
    return any(isinstance(n, (ast.Name, ast.Attribute)) and n not in inside for n in walk(value))


def _plain(node: ast.expr, names: set[str]) -> bool:
    """Numbers alone: `0.1 * noise`."""
    return not (names_in(node) - names - {"self", "np", "torch", "random"})


def _given_back(function: Function, names: set[str]) -> bool:
    ends = [n.value for n in of(function, ast.Return) if n.value is not None]
    parts = [e for end in ends for e in (end.elts if isinstance(end, ast.Tuple) else [end])]
    return any(isinstance(p, ast.Name) and p.id in names for p in parts)


def _made_for_held_out(source: Script, owner: ast.ClassDef, start: Function, flags: list[str]) -> bool:
    """It is made for a held-out side: by a call of the class, or by one that names a split to a maker."""
    calls = list(source.named(owner.name))
    for flag in flags:
        names = [a.arg for a in start.args.args][1:]
        given = [
            v
            for c in calls
            for v in (
                _keyword(c, flag),
                c.args[names.index(flag)] if flag in names and names.index(flag) < len(c.args) else None,
            )
            if v is not None
        ]
        if any(_says(v) is False for v in given):
            return True
        if not calls and {True, False} <= {
            _says(v) for c in source.calls if (v := _keyword(c, flag)) is not None
        }:
            return True  # `build("dataset", settings, split="valid")`
    return False


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((k.value for k in call.keywords if k.arg == name), None)


def _argument(function: Function, call: ast.Call, name: str) -> ast.expr | None:
    names = [a.arg for a in function.args.args]
    place = names.index(name) - (names[:1] == ["self"]) if name in names else len(call.args)
    return _keyword(call, name) or (call.args[place] if 0 <= place < len(call.args) else None)


def _says(node: ast.expr) -> bool | None:
    """True of training, False of a held-out side: `True`, `"valid"`, `Split.TEST`."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            return node.value
        return side(node.value) if isinstance(node.value, str) else None
    return side(unparse(node)) if isinstance(node, (ast.Name, ast.Attribute)) else None
