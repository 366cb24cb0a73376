"""Samples that a script makes up itself: drawn with other settings for the held-out part than for training.

What a transform does to data that lie there is a matter of processing. A function that is given no data and
draws all of it is where the data come from: what it is told otherwise for one part is another distribution.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from ...readers._tree import of, unparse
from ...readers.script import all_arguments, last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ...side_chains.apart import OTHER_DATA
from ...side_chains.checks import both_followed, differences
from ..shared.checks import at, first, number, ok
from ..shared.numbers import known
from ..shared.roles import is_random
from ..shared.sides import given, side
from .held_noise import held_out_noised

# what is augmentation, a share of the rows, or tells the sides apart: no property of the samples
_OF_SIDE = re.compile(
    r"(?i)(?:^|_)(?:seeds?|rng|state|split|train|training|is|aug|augment|augmentation|masks?|masking|flip|crop|shuffle"
    r"|drop|dropout|mixup|cutout|smooth\w*|p|prob|cache|verbose|device|workers?|shares?|frac|fraction|portion|percent"
    r"|ratio|size|start|stop|begin|end)(?:_|$)"
)
# whole numbers count or number something, but for these
_OF_VALUE = re.compile(
    r"(?i)shift|scale|gain|noise|bright|contrast|mean|std|level|drift|bias|amp|contamina|outlier"
)
# what is stronger for training is augmentation
_NOISE = re.compile(r"(?i)noise|jitter|sigma|corrupt|blur|distort|perturb")
_READS = re.compile(
    r"(?i)^(?:open|load|loadtxt|genfromtxt|imread|listdir|glob|rglob|walk|memmap|fromfile|download\w*|fetch\w*|"
    r"read|read_\w+|load_\w+|from_pretrained|from_csv)$"
)
_DEPTH = 3
Numbered = Callable[[ast.expr], float | None]


@dataclass(frozen=True)
class Drawn:
    """A setting that samples are drawn with, and what it is on either side."""

    name: str
    train: float
    held: float
    node: ast.AST  # where it is told for the held-out part
    maker: Function


@probe()
def drawn_apart(view: View) -> Finding:
    """Held-out samples are drawn with another setting than training samples: another shift or scale."""

    def check(source: Script) -> Finding | None:
        def told(node: ast.expr) -> float | None:
            return number(view, source, node)

        one = next(_all_apart(source, told), None)
        if one is not None:
            sides = f"{one.name} = {one.held:g}, training samples with {one.train:g}"
            why = f"held-out samples are made with {sides}"
            return at(source, one.node, why)
        pairs = made_twice(source)
        return ok(source, pairs[0][2], "both parts are drawn alike") if pairs else None

    return first(view, check, "the scripts draw no samples of their own for training and evaluation")


@probe()
def held_out_shifted(view: View) -> Finding:
    """Held-out inputs are changed by figures that no unit or range has, and training inputs are not."""

    def check(source: Script) -> Finding | None:
        for one in (*changed(source), *held_out_noised(source)):
            return at(source, one, "held-out inputs are changed here, training inputs are not")
        return ok(source, None, "both sides' inputs were followed") if both_followed(source) else None

    return first(view, check, "the scripts change no held-out inputs by figures alone")


def changed(source: Script) -> tuple[ast.AST, ...]:
    """Where held-out inputs are shifted or scaled so that they are meant to be of another kind."""
    found = differences(source)
    return tuple(d.held for d in found if d.kind == OTHER_DATA and not d.label and d.held is not None)


@lru_cache(maxsize=16)
def samples_apart(source: Script) -> tuple[Drawn, ...]:
    """All settings that differ between the drawn samples of both sides, by the script alone."""
    return tuple(_all_apart(source, lambda node: known(source, node)))


def _all_apart(source: Script, told: Numbered) -> Iterator[Drawn]:
    for maker, train, held in made_twice(source):
        yield from _apart(told, maker, train, held)


@lru_cache(maxsize=16)
def made_twice(source: Script) -> tuple[tuple[Function, ast.Call, ast.Call], ...]:
    """Functions that draw the samples of both sides (of classes `__init__`), with a call of each side."""
    calls: dict[str, dict[bool, ast.Call]] = {}
    for one in given(source):
        for call in of(one.value, ast.Call):
            if isinstance(call.func, (ast.Name, ast.Attribute)):
                calls.setdefault(last_name(call.func), {}).setdefault(one.learns, call)
    found = []
    for name, sides in calls.items():
        maker = _maker(source, name) if len(sides) == 2 else None
        if (
            maker is not None
            and _draws(source, maker)
            and not any(_hands_data(source, c) for c in sides.values())
        ):
            found.append((maker, sides[True], sides[False]))
    return tuple(found)


def _maker(source: Script, name: str) -> Function | None:
    if name in source.classes:
        body = source.classes[name].body
        return next((f for f in body if isinstance(f, ast.FunctionDef) and f.name == "__init__"), None)
    functions = flow(source).functions.get(name, [])
    return functions[0] if len(functions) == 1 else None


def _draws(source: Script, maker: Function, depth: int = _DEPTH) -> bool:
    """The function draws, by itself or by others of the script, and reads nothing."""
    calls = of(maker, ast.Call)
    if any(_READS.match(last_name(c.func)) for c in calls):
        return False
    inner = [f for c in calls for f in flow(source).called(c) if f is not maker] if depth else []
    return any(map(is_random, calls)) or any(_draws(source, f, depth - 1) for f in inner)


def _hands_data(source: Script, call: ast.Call) -> bool:
    """An argument is data: made by a function of the script, or a part of something."""
    for value in (*call.args, *(k.value for k in call.keywords)):
        if known(source, value) is not None or isinstance(value, (ast.Constant, ast.Attribute)):
            continue
        if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
            continue  # a setting: `hp["noise"]`
        ends = flow(source).values(value) if isinstance(value, ast.Name) else [value]
        if not all(_is_setting(e) or _is_settings_made(source, e) for e in ends):
            return True
    return False


def _is_settings_made(source: Script, node: ast.expr) -> bool:
    """`Config()`: an object of the script's own that is told nothing."""
    return isinstance(node, ast.Call) and last_name(node.func) in source.classes and not all_arguments(node)


def _is_setting(node: ast.expr) -> bool:
    """A constant, a generator of random numbers, or something of the command line."""
    if isinstance(node, ast.Call):
        return bool(
            re.search(
                r"(?i)rng|RandomState|Generator|manual_seed|PRNGKey|parse_args|Random$", unparse(node.func)
            )
        )
    return isinstance(node, (ast.Constant, ast.Attribute, ast.Dict, ast.Tuple, ast.UnaryOp, ast.BinOp))


def _apart(told: Numbered, maker: Function, train: ast.Call, held: ast.Call) -> Iterator[Drawn]:
    mine, theirs = (bound(maker, call) for call in (train, held))
    given_here = {k.arg for k in held.keywords} | set(list(theirs)[: len(held.args)])
    for name, value in theirs.items():
        if name not in given_here or name not in mine:
            continue
        yield from _differ(name, told(mine[name]), told(value), held, maker)
    flags = {n for n in theirs if n in mine and unparse(mine[n]) != unparse(theirs[n])}
    for target, (one, other), node in _by_side(maker, flags):
        yield from _differ(target, told(one), told(other), node, maker)


def _differ(
    name: str, train: float | None, held: float | None, node: ast.AST, maker: Function
) -> Iterator[Drawn]:
    """Two numbers, of which the one of the held-out part switches nothing off."""
    if train is None or held is None or not held or abs(train - held) <= 1e-9 * max(abs(train), abs(held)):
        return
    if _OF_SIDE.search(name) or (train == int(train) and held == int(held) and not _OF_VALUE.search(name)):
        return
    if not (_NOISE.search(name) and abs(held) < abs(train)):
        yield Drawn(name, train, held, node, maker)


def bound(maker: Function, call: ast.Call) -> dict[str, ast.expr]:
    """What each parameter is given by a call, or has by default."""
    places = [a.arg for a in (*maker.args.posonlyargs, *maker.args.args) if a.arg not in ("self", "cls")]
    defaults = dict(zip(reversed(places), reversed(maker.args.defaults), strict=False))
    only = zip(maker.args.kwonlyargs, maker.args.kw_defaults, strict=True)
    defaults |= {a.arg: d for a, d in only if d is not None}
    passed = dict(zip(places, call.args, strict=False)) | {k.arg: k.value for k in call.keywords if k.arg}
    return {
        **{p: passed[p] for p in places if p in passed},
        **passed,
        **{p: d for p, d in defaults.items() if p not in passed},
    }


def _by_side(maker: Function, flags: set[str]) -> Iterator[tuple[str, tuple[ast.expr, ast.expr], ast.AST]]:
    """`dim = 0.3 if split == "val" else 1.0`: the name, its values in training and else, the statement."""
    for node in of(maker, ast.Assign):
        value, target = node.value, node.targets[0]
        if not (isinstance(value, ast.IfExp) and isinstance(target, ast.Name)):
            continue
        learns = _asks(value.test, flags)
        if learns is not None:
            yield target.id, (value.body, value.orelse) if learns else (value.orelse, value.body), node


def _asks(test: ast.expr, flags: set[str]) -> bool | None:
    """Whether a test holds of training (True) or of the held-out part, by a parameter of the two."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _asks(test.operand, flags)
        return None if inner is None else not inner
    if isinstance(test, ast.Name) and test.id in flags:
        return side(test.id)
    if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id in flags:
        told = test.comparators[0]
        if isinstance(told, ast.Constant) and isinstance(told.value, str):
            learns = side(told.value)
            return learns if isinstance(test.ops[0], ast.Eq) or learns is None else not learns
    return None
