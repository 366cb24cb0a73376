"""Samples that a script draws for both sides by one function and with one seed: they are the same."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.nodes import is_none
from ..shared.numbers import known
from ..shared.roles import RANDOM
from ..shared.sides import given
from .simulated import bound, made_twice

_SIZE = re.compile(
    r"(?i)^(?:n|num|size|count|samples|length|len|total|rows|images|n_\w+|num_\w+|\w+_(?:size|count))$"
)
_GENERATORS = ("default_rng", "RandomState", "Random", "manual_seed", "PRNGKey", "key", "from_seed")
_SEEDS = {"seed": "", "manual_seed": "torch", "set_seed": "tf", "set_random_seed": "tf", "seed_all": ""}


def drawn_with_one_seed(source: Script) -> Finding | None:
    """`make(4000, seed=1)` for training and `make(800, seed=1)` for the held-out part.

    Silent where anything but the number of samples differs (and what a data set keeps for later), where a
    generator goes on from one call to the next, where the function draws by anything else, and where parts
    are cut out of what it gives.
    """
    for maker, train, held in made_twice(source):
        if not (_given_whole(source, train) and _given_whole(source, held)):
            continue
        mine, theirs = bound(maker, train), bound(maker, held)
        shared = {n for n in theirs if n in mine and _same(source, mine[n], theirs[n])}
        others = (set(mine) | set(theirs)) - shared
        if not all(
            (_SIZE.match(n) and _whole(source, mine.get(n)) and _whole(source, theirs.get(n)))
            or _put_aside(maker, n)
            for n in others
        ):
            continue
        if _draws_only_by_seed(source, maker, shared):
            return at(source, held, "the held-out samples are drawn with the seed of the training samples")
    return _by_library(source)


_ONLY_TRAINING = re.compile(r"(?i)aug|transform|flip|jitter|tta|mixup|noisy$")


def part_of_twin(source: Script) -> Finding | None:
    """`held = Subset(whole, ids)` of the data that training has all of, made once more without augmentation.

    Silent where training takes a part, or a sampler, and where the two are not known to be made alike.
    """
    if source.named("SubsetRandomSampler", "WeightedRandomSampler", "random_split"):
        return None
    sides = [(one.learns, one.value) for one in given(source)]
    whole = [w for learns, value in sides if learns for w in _ways(source, value)]
    for held in (value for learns, value in sides if learns is False):
        if not isinstance(held, ast.Call) or last_name(held.func) != "Subset" or not held.args:
            continue
        ways = _ways(source, held.args[0])
        for train in whole:
            if train in ways or len(ways) != 1 or not _given_whole(source, train):
                continue
            if _twins(source, train, ways[0]):
                return at(
                    source, held, "training has all of these samples as well: they are made twice alike"
                )
    return None


def _ways(source: Script, value: ast.expr) -> list[ast.Call]:
    """The calls that a name, or a call, stands for."""
    found = flow(source).values(value, 3) if isinstance(value, ast.Name) else [value]
    return [w for w in found if isinstance(w, ast.Call)]


def _twins(source: Script, one: ast.Call, other: ast.Call) -> bool:
    """Two calls of a class with a seed of its own that differ in nothing but augmentation."""
    name = last_name(one.func)
    if unparse(one.func) != unparse(other.func) or name not in source.classes:
        return False
    maker = next((f for f in of(source.classes[name], ast.FunctionDef) if f.name == "__init__"), None)
    if maker is None:
        return False
    mine, theirs = bound(maker, one), bound(maker, other)
    shared = {n for n in mine if n in theirs and _same(source, mine[n], theirs[n])}
    apart = (set(mine) | set(theirs)) - shared
    if not all(_ONLY_TRAINING.search(n) for n in apart):
        return False
    return _draws_only_by_seed(source, maker, shared)


_SKLEARN = ("make_moons", "make_circles", "make_blobs", "make_classification", "make_regression")


def _by_library(source: Script) -> Finding | None:
    """`make_moons(1000, noise=0.1, random_state=0)` twice, the same throughout."""
    made: dict[str, dict[bool, ast.Call]] = {}
    for one in given(source):
        call = one.value
        if isinstance(call, ast.Call) and last_name(call.func) in _SKLEARN:
            seed = keyword(call, "random_state")
            if seed is not None and not is_none(seed):
                made.setdefault(unparse(call), {}).setdefault(one.learns, call)
    for sides in made.values():
        if len(sides) == 2 and all(_given_whole(source, c) for c in sides.values()):
            if all(_same(source, k.value, k.value) for k in sides[True].keywords):
                return at(source, sides[False], "the held-out samples are the training samples, drawn again")
    return None


def _given_whole(source: Script, call: ast.Call) -> bool:
    """All that is made goes to names, and no part of them is taken later."""
    statement = source.parents.get(call)
    if isinstance(statement, ast.Call) and last_name(statement.func) == "DataLoader":
        statement = source.parents.get(statement)
    if not isinstance(statement, ast.Assign):
        return False
    names = {n for t in statement.targets for n in names_in(t)}
    if any(map(_NO_DATA.search, names)):
        return False
    scope = source.function_around(call) or source.tree
    cut = [n for n in of(scope, ast.Subscript) if isinstance(n.value, ast.Name) and n.value.id in names]
    wrapped = [c for c in of(scope, ast.Call) if last_name(c.func) in _PARTS and names & names_in(c)]
    return not wrapped and all(isinstance(n.slice, ast.Constant) for n in cut)


def _put_aside(maker: Function, name: str) -> bool:
    """`self.augment = augment`, and nothing else is done with it where the samples are drawn."""
    kept = [
        v
        for a in of(maker, ast.Assign)
        for t, v in (
            zip(a.targets[0].elts, a.value.elts, strict=False)
            if isinstance(a.targets[0], ast.Tuple) and isinstance(a.value, ast.Tuple)
            else [(a.targets[0], a.value)]
        )
        if isinstance(t, ast.Attribute) and isinstance(v, ast.Name) and v.id == name
    ]
    own = {f"self.{name}"} | {unparse(t) for a in of(maker, ast.Assign) for t in a.targets if a.value in kept}
    used = [n for n in of(maker, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
    later = [n for n in of(maker, ast.Attribute) if isinstance(n.ctx, ast.Load) and unparse(n) in own]
    return maker.name == "__init__" and bool(kept) and len(used) == len(kept) and not later


# an environment or a network of one seed is meant to be the same
_NO_DATA = re.compile(
    r"(?i)(?:^|_)(?:envs?|agents?|models?|nets?|network|state|params|rng|keys?|idx|indices)(?:_|$)"
)
_PARTS = ("Subset", "random_split", "train_test_split", "split", "take", "skip", "array_split", "islice")


def _whole(source: Script, node: ast.expr | None) -> bool:
    number = known(source, node)
    return number is not None and number == int(number)


def _same(source: Script, one: ast.expr, other: ast.expr) -> bool:
    """The same setting or number on both sides; a generator or data may be another one the second time."""
    if unparse(one) != unparse(other):
        mine, theirs = known(source, one), known(source, other)
        return mine is not None and mine == theirs
    if isinstance(one, (ast.Constant, ast.Attribute)) or known(source, one) is not None:
        return True
    if isinstance(one, ast.Subscript):
        return isinstance(one.slice, ast.Constant)
    ways = flow(source).values(one, 2) if isinstance(one, ast.Name) else []
    return bool(ways) and all(
        isinstance(w, (ast.Constant, ast.Attribute, ast.Tuple, ast.List))
        or (isinstance(w, ast.Call) and last_name(w.func) in source.classes and not w.args)  # `Config()`
        for w in ways
    )


def _draws_only_by_seed(source: Script, maker: Function, shared: set[str]) -> bool:
    """All that the function draws comes from what it seeds itself, alike for both sides."""
    seeded, globals_ = set[str](), set[str]()
    for call, name in _seedings(maker):
        if not call.args or not names_in(call.args[0]) - {"int"} <= shared:
            return False
        if any(isinstance(n, ast.Call) and last_name(n.func) != "int" for n in of(call.args[0], ast.Call)):
            return False
        if name:
            seeded.add(name)
        else:
            owner = receiver(call)
            globals_.add(unparse(owner) if owner is not None else "")
    if not seeded | globals_:
        return False
    drawn = 0
    for call in of(maker, ast.Call):
        name = last_name(call.func)
        if RANDOM.fullmatch(name):
            drawn += 1
            owner = receiver(call)
            told = keyword(call, "generator")
            names = {unparse(owner)} if owner is not None else set()
            names |= {unparse(told)} if told is not None else set()
            names |= {unparse(a) for a in call.args[:1]}  # `jax.random.normal(key, ...)`
            meant = {
                unparse(v) for n in (owner,) if isinstance(n, ast.Name) for v in flow(source).values(n, 1)
            }
            if not names & seeded and not (names | meant) & globals_:
                return False
        elif any(_draws(f) for f in flow(source).called(call) if f is not maker):
            if not seeded & {unparse(a) for a in (*call.args, *(k.value for k in call.keywords))}:
                return False
            drawn += 1
    return drawn > 0


def _draws(function: Function) -> bool:
    return any(RANDOM.fullmatch(last_name(c.func)) for c in of(function, ast.Call))


def _seedings(maker: Function) -> Iterator[tuple[ast.Call, str]]:
    """Where the function seeds something: the call and the name of the generator, "" of a library's own."""
    for node in of(maker, ast.Assign):
        call = node.value
        if isinstance(call, ast.Call) and last_name(call.func) in _GENERATORS:
            yield call, unparse(node.targets[0])
    for step in of(maker, ast.Expr):
        call = step.value
        if isinstance(call, ast.Call) and last_name(call.func) in _SEEDS:
            owner = receiver(call)
            made = isinstance(owner, ast.Name) and owner.id not in ("torch", "random", "np", "tf")
            yield call, unparse(owner) if made and owner is not None else ""
