"""Samples that a script makes up itself: drawn with other settings for the held-out part than for training.

What a transform does to data that lie there is a matter of processing. A function that is given no data and
draws all of it is where the data come from: what it is told otherwise for one part is another distribution.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import isnan, nan

from ...readers._tree import of, unparse
from ...readers.script import all_arguments, last_name
from ...registry import Finding, View, probe, unframed
from ...scripts.flow import flow, returns
from ...scripts.syntax import Function, Script
from ...side_chains.apart import OTHER_DATA
from ...side_chains.checks import both_followed, differences
from ..shared.checks import at, first, number, ok
from ..shared.numbers import known
from ..shared.one_side import neutral
from ..shared.roles import TARGET_WORDS, base, is_random
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
    r"(?i)shift|scale|gain|noise|bright|contrast|mean|std|level|drift|bias|amp(?!le)|contamina|outlier"
    r"|(?:^|_)(?:low|lowest|high|highest|min|max|lower|upper|lo|hi)(?:_|$)"
)
# what is stronger for training is augmentation
_NOISE = re.compile(r"(?i)noise|jitter|sigma|corrupt|blur|distort|perturb")
_READS = re.compile(
    r"(?i)^(?:open|load|loadtxt|genfromtxt|imread|listdir|glob|rglob|walk|memmap|fromfile|download\w*|fetch\w*|"
    r"read|read_\w+|load_\w+|from_pretrained|from_csv)$"
)
_LEVEL = "level"  # of a figure inside of a sum or product, which has no name
_DEPTH = 3
Numbered = Callable[[ast.expr], float | None]


@dataclass(frozen=True)
class Drawn:
    """A setting that samples are drawn with, and what it is on either side."""

    name: str
    train: float  # NaN where training samples are told none
    held: float  # NaN where it is no setting but a change
    node: ast.AST  # where it is told for the held-out part
    maker: Function

    @property
    def why(self) -> str:
        """What is told of it."""
        if isnan(self.held):
            return "held-out samples are changed where they are made, training samples are not"
        mine = "none" if isnan(self.train) else f"{self.train:g}"
        return f"held-out samples are made with {self.name} = {self.held:g}, training samples with {mine}"


@probe()
@unframed
def drawn_apart(view: View) -> Finding:
    """Held-out samples are drawn with another setting than training samples: another shift or scale."""

    def check(source: Script) -> Finding | None:
        def told(node: ast.expr) -> float | None:
            return number(view, source, node)

        one = next(_all_apart(source, told), None)
        if one is not None:
            return at(source, one.node, one.why)
        other = _other_maker(source)
        if other is not None:
            return at(source, other, "held-out samples are made by another function than training samples")
        pairs = made_twice(source)
        return ok(source, pairs[0][2], "both parts are drawn alike") if pairs else None

    return first(view, check, "the scripts draw no samples of their own for training and evaluation")


@probe()
@unframed
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


def _other_maker(source: Script) -> ast.Call | None:
    """A call that draws the held-out samples, where another function draws those to learn from.

    Functions whose names tell their side may well do the same, and one that calls the other adds to it.
    """
    found: dict[bool, dict[str, ast.Call]] = {True: {}, False: {}}
    kinds: dict[bool, set[str]] = {True: set(), False: set()}
    for one in given(source):
        if isinstance(one.value, ast.Call) and isinstance(one.value.func, ast.Name):
            found[one.learns].setdefault(one.value.func.id, one.value)
            kinds[one.learns].add(neutral(one.name))
    mine, theirs = (
        {
            n: (maker, call)
            for n, call in found[learns].items()
            if side(n) is None
            and (maker := _maker(source, n)) is not None
            and _draws(source, maker)
            and not _hands_data(source, call)
        }
        for learns in (True, False)
    )
    if len(mine) != 1 or len(theirs) != 1 or mine.keys() == theirs.keys() or not kinds[True] & kinds[False]:
        return None
    makers, call = {m for m, _ in (*mine.values(), *theirs.values())}, next(iter(theirs.values()))[1]
    inner = {f for m in makers for c in of(m, ast.Call) for f in flow(source).called(c)}
    return None if makers & inner else call


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
    yield from _handed_on(told, maker, mine, theirs, held)
    flags = {n for n in theirs if n in mine and unparse(mine[n]) != unparse(theirs[n])}
    for target, (one, other), node in _by_side(maker, mine, theirs, flags):
        yield from _differ(target, told(one), told(other), node, maker)
    for node in _changed_alone(maker, mine, theirs, flags):
        yield Drawn("", nan, nan, node, maker)


def _handed_on(
    told: Numbered, maker: Function, mine: dict[str, ast.expr], theirs: dict[str, ast.expr], held: ast.Call
) -> Iterator[Drawn]:
    """`load(n, seed=2, low=30)`: a setting that goes on through `**settings`, of the held-out part alone."""
    own = {a.arg for a in (*maker.args.posonlyargs, *maker.args.args, *maker.args.kwonlyargs)}
    for name in theirs.keys() - mine.keys() - own if maker.args.kwarg is not None else ():
        value = told(theirs[name])
        if value and not _OF_SIDE.search(name) and (value != int(value) or _OF_VALUE.search(name)):
            yield Drawn(name, nan, value, held, maker)


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


def _by_side(
    maker: Function, mine: Mapping[str, ast.expr], theirs: Mapping[str, ast.expr], flags: set[str]
) -> Iterator[tuple[str, tuple[ast.expr, ast.expr], ast.AST]]:
    """`dim = 0.3 if split == "val" else 1.0`: the name, its values in training and else, the statement.

    Also inside of a sum or product, and `if split == "val": dim = 0.3` with an `else` for the same name.
    """
    direct = {n.value: n for n in of(maker, ast.Assign)}
    for node in of(maker, ast.IfExp):
        learns = _holds_of(node.test, mine, theirs, flags)
        if learns is not None:
            made = direct.get(node)
            target = made.targets[0] if made is not None else None
            if target is None or isinstance(target, ast.Name):
                name = target.id if target is not None else _LEVEL
                yield name, (node.body, node.orelse) if learns else (node.orelse, node.body), made or node
    for choice in of(maker, ast.If):
        learns = _holds_of(choice.test, mine, theirs, flags)
        if learns is not None and choice.orelse:
            sides = (choice.body, choice.orelse) if learns else (choice.orelse, choice.body)
            train, held = map(_named_values, sides)
            yield from ((n, (train[n].value, held[n].value), held[n]) for n in train.keys() & held.keys())


def _named_values(body: list[ast.stmt]) -> dict[str, ast.Assign]:
    """The statements of a branch that give a name a value, by the name."""
    made = [n for n in body if isinstance(n, ast.Assign)]
    return {n.targets[0].id: n for n in made if isinstance(n.targets[0], ast.Name)}


def _changed_alone(
    maker: Function, mine: Mapping[str, ast.expr], theirs: Mapping[str, ast.expr], flags: set[str]
) -> Iterator[ast.AST]:
    """`if ood: images = images * 0.6 + 40`: what held-out samples alone get of a change by figures."""
    back = {n.id for end in returns(maker) for n in of(end, ast.Name)}
    for choice in of(maker, ast.If):
        learns = _holds_of(choice.test, mine, theirs, flags)
        if learns is None:
            continue
        alone, others = (choice.orelse, choice.body) if learns else (choice.body, choice.orelse)
        for node in alone if not others else ():
            if isinstance(node, (ast.Assign, ast.AugAssign)):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                name = base(target) if isinstance(target, (ast.Name, ast.Subscript)) else ""
                own = isinstance(node, ast.AugAssign) or name in {base(n) for n in of(node.value, ast.Name)}
                figures = [c for c in of(node.value, ast.Constant) if isinstance(c.value, (int, float))]
                if own and figures and name in map(str.lower, back) and not TARGET_WORDS.search(name):
                    yield node


def _holds_of(
    test: ast.expr, mine: Mapping[str, ast.expr], theirs: Mapping[str, ast.expr], flags: set[str]
) -> bool | None:
    """Whether a test holds of training alone (True) or of the held-out part alone; else None."""
    one, other = _truth(test, mine), _truth(test, theirs)
    if one is None or other is None:
        return _asks(test, flags)
    return one if one != other else None


def _truth(test: ast.expr, given_to: Mapping[str, ast.expr]) -> bool | None:
    """What a test of one parameter comes to, of what a call gives it."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _truth(test.operand, given_to)
        return None if inner is None else not inner
    if isinstance(test, ast.Name):
        told = given_to.get(test.id)
        return bool(told.value) if isinstance(told, ast.Constant) else None
    if not (isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and len(test.ops) == 1):
        return None
    told, other = given_to.get(test.left.id), test.comparators[0]
    if not (isinstance(told, ast.Constant) and isinstance(other, ast.Constant)):
        return None
    if isinstance(test.ops[0], (ast.Eq, ast.Is)):
        return bool(told.value == other.value)
    return bool(told.value != other.value) if isinstance(test.ops[0], (ast.NotEq, ast.IsNot)) else None


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
