"""The part that the last figure is of chooses the weights, and the part made to choose by is left."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import learns_within
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.sides import words
from .cuts_meet import handed_back

_LAST = frozenset(("test", "testing", "te", "tst"))
_LEARNS = frozenset(("train", "training", "tr", "trn", "fit"))
_CHOOSES = frozenset(("val", "valid", "validation", "va", "vl", "dev", "devel"))


def chosen_by_final_part(source: Script) -> Finding | None:
    """`score(net, c)` in every round and at the end, where `a, b, c = split(rows)` and nothing scores `b`.

    Who has two parts only scores the same one twice by right.
    """
    if source.loose or not source.trains:
        return None
    for final in source.calls:
        name = unparse(final.func)
        if source.loops_around(final) or not final.args:
            continue
        for each in source.named(last_name(final.func)):
            rounds = [n for n in source.loops_around(each) if learns_within(source, n)]
            if unparse(each.func) != name or not rounds or each.lineno > final.lineno:
                continue
            if source.function_around(each) is not source.function_around(final):
                continue
            for part in _same(each, final):
                left = next(_left(source, part, name, rounds[-1]), None)
                if left is not None:
                    why = f"`{unparse(part)}` gives the last figure as well, and `{left}` is scored nowhere"
                    return at(source, each, why)
    return None


def _same(each: ast.Call, final: ast.Call) -> Iterator[ast.expr]:
    mine = {unparse(a) for a in final.args}
    for one, other in zip(each.args, final.args, strict=False):
        # `score(net, parts["val"], scale)` and `score(net, parts["test"], scale)`: the part is another
        named = {*words(unparse(one)), *words(unparse(other))}
        if named & (_LAST | _CHOOSES | _LEARNS) and unparse(one) != unparse(other):
            return
    for one in each.args:
        if isinstance(one, (ast.Name, ast.Attribute)) and unparse(one) in mine:
            yield one


def _left(source: Script, part: ast.expr, scores: str, rounds: ast.AST) -> Iterator[str]:
    """Parts made beside this one that take no part in the rounds, and that nothing scores."""
    if isinstance(part, ast.Attribute):
        beside = [f for f in _fields(source, part) if set(words(f)) & _CHOOSES]
        read = {n.attr for n in source.of(ast.Attribute) if isinstance(n.ctx, ast.Load)}
        yield from (f"{unparse(part.value)}.{f}" for f in beside if f not in read)
        return
    inside = {n.id for n in of(rounds, ast.Name)}
    scored = {unparse(a) for c in source.calls if unparse(c.func) == scores for a in c.args}
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Tuple) or unparse(part) not in map(unparse, target.elts):
            continue
        pairs = [(unparse(t), v) for t, v in _values(source, node)]
        mine = next((v for t, v in pairs if t == unparse(part)), None)
        if mine is None:
            continue
        names = [t for t, _ in pairs]
        for name, value in pairs[: names.index(unparse(part))]:
            # what is left stands ahead: a last part that nobody reads is another matter
            if (
                set(words(name)) & (_LAST | _LEARNS)
                or name in inside | scored | {unparse(part)}
                or not _alike(source, mine, value)
            ):
                continue
            onward = [
                c
                for c in source.calls
                if any(unparse(a) == name for a in c.args) and last_name(c.func)[:1].isupper()
            ]
            if not onward:
                yield name


def _values(source: Script, node: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    target, given = node.targets[0], node.value
    if isinstance(target, ast.Tuple) and isinstance(given, ast.Tuple):
        return list(zip(target.elts, given.elts, strict=False))
    if isinstance(target, ast.Tuple) and isinstance(given, (ast.GeneratorExp, ast.ListComp)):
        over = given.generators[0].iter
        if isinstance(over, (ast.Tuple, ast.List)) and len(over.elts) == len(target.elts):
            return [(t, given.elt) for t in target.elts]
    return list(handed_back(source, node))


# `mean, std = float(y.mean()), float(y.std())`: figures of one part and no parts
_FIGURE = re.compile(
    r"^(?:float|int|len|abs|round|item|str|min|max|sum|mean|std|var|median|sqrt|tensor|as_tensor|array|log|exp"
    r"|quantile|percentile|Parameter|Variable|zeros|ones|full|rand\w*)$"
)


def _alike(source: Script, one: ast.expr, other: ast.expr) -> bool:
    """Both are made the same way: rows of one table, loaders of one kind."""
    one, other = (flow(source).whole_given(e) or e if isinstance(e, ast.Name) else e for e in (one, other))
    if type(one) is not type(other):
        return False
    if isinstance(one, ast.Subscript) and isinstance(other, ast.Subscript):
        return unparse(one.value) == unparse(other.value)
    if isinstance(one, ast.Call) and isinstance(other, ast.Call):
        same = unparse(one.func) == unparse(other.func) and bool(one.args or one.keywords)
        return same and not _FIGURE.match(last_name(one.func))
    return False


def _fields(source: Script, part: ast.Attribute) -> list[str]:
    """The fields of the record that a part is taken from: a named tuple, a dataclass."""
    made = [v for v in flow(source).values(part.value, 6) if isinstance(v, ast.Call)]
    found: list[str] = []
    for call in made:
        owner = source.classes.get(last_name(call.func))
        if owner is not None:
            found += [unparse(n.target) for n in owner.body if isinstance(n, ast.AnnAssign)]
        for node in source.of(ast.Assign):
            value = node.value
            if unparse(node.targets[0]) != last_name(call.func) or not isinstance(value, ast.Call):
                continue
            if last_name(value.func) == "namedtuple" and len(value.args) > 1:
                told = value.args[1]
                if isinstance(told, ast.Constant):
                    found += str(told.value).replace(",", " ").split()
                elif isinstance(told, (ast.List, ast.Tuple)):
                    found += [str(e.value) for e in told.elts if isinstance(e, ast.Constant)]
    return found if part.attr in found else []
