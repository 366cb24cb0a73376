"""Held-out samples that are one end of an order: of a ranked quantity, of groups, classes or values."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding, View, probe, unframed
from ...rehearsal.judges import shows
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at, first, ok
from ..shared.one_side import neutral
from ..shared.sides import HELD_OUT, either, given, side
from .class_by_class import cut_class_by_class

MIXES = frozenset(
    (
        *("shuffle", "permutation", "permuted", "randperm", "train_test_split", "random_split", "shuffled"),
        *("choice", "choices", "sample", "integers", "randint", "random_sample"),
    )
)
# an order in time or of groups is meant, one of chance mixes, one of scores picks what is looked at
_MEANT = re.compile(
    r"(?i)dates?|time|stamp|day|month|year|week|ids?\b|_id|user|patient|group|session|subject|fold|path|name|file"
    r"|rand|noise|hash|crc|md5|perm|shuf|score|prob|conf|pred|entrop|uncert|loss|dist|simil|margin|logit|key"
)
_GROUP = re.compile(r"(?i)^(?:c|k|cls|klass|class\w*|label\w*|kind\w*|categor\w*|group\w*|digit\w*|y)$")
_DEEP = 6


@probe()
@unframed
def held_out_end(view: View) -> Finding:
    """Held-out samples are one end of a ranking, of groups or classes made in order, or beyond a threshold.

    False positive: how far a model reaches beyond what it learned from is what is asked.
    """
    check = either(
        *(_by_rank, _last_groups, _last_classes, _beyond, cut_class_by_class),
        *(shows("held-out-by-label"), _cut_apart),
    )
    return first(view, check, "the scripts cut off no held-out samples of their own")


def _cut_apart(source: Script) -> Finding | None:
    """Held-out samples are cut off, by nothing that tells of their values."""
    found = next((n for n, v in _held(source) if any(True for _ in _cuts(v))), None)
    return ok(source, found, "held-out samples are cut off from what is in no known order") if found else None


def _by_rank(source: Script) -> Finding | None:
    """`held_out = days[np.argsort(warmth)][:n]`: one end of a ranking, not by time or group."""
    for node, value in _held(source):
        for cut in _cuts(value):
            ranked = _ranked(source, cut.value)
            if ranked is not None and not _MEANT.search(ranked):
                return at(source, node, f"held-out samples are one end of what is ranked by `{ranked[:60]}`")
    return None


def _last_groups(source: Script) -> Finding | None:
    """Samples that are made group after group, and cut by position without being mixed."""
    for node, value in _held(source):
        for whole in _cut_by_position(source, value):
            maker = _maker(source, whole)
            if maker is None or _mixed(source, maker, node):
                continue
            told = "held-out samples are the last of what is made group after group: new groups"
            return at(source, node, told)
    return None


def _last_classes(source: Script) -> Finding | None:
    """Samples of one class after the other (`np.sort(rng.integers(0, 8, n))`), cut by position, not mixed."""
    for node, value in _held(source):
        for whole in _cut_by_position(source, value):
            maker = _made_by(source, whole)
            made = _classes_in_order(maker) if maker is not None else None
            if maker is not None and made is not None and not _mixed(source, maker, node):
                return at(source, made, "labels are made class after class, and samples are cut by position")
    return None


def _classes_in_order(maker: Function) -> ast.AST | None:
    """`labels = np.sort(rng.integers(...))`, `np.repeat(np.arange(8), n // 8)`, `np.arange(n) * 8 // n`."""
    for node in of(maker, ast.Assign):
        target, value = node.targets[0], node.value
        if not isinstance(target, ast.Name) or not _LABELS.search(target.id):
            continue
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.FloorDiv):
            if _calls(value.left, _RANGES):
                return node
        elif isinstance(value, ast.Call) and value.args:
            name = last_name(value.func)
            if name in ("sort", "sorted") and _calls(value.args[0], _DRAWN):
                return node
            if name in ("repeat", "repeat_interleave") and _calls(value.args[0], _RANGES):
                return node
    return None


def _calls(node: ast.expr, names: frozenset[str]) -> bool:
    return any(last_name(c.func) in names for c in of(node, ast.Call))


_DRAWN = frozenset(("integers", "randint", "choice", "choices"))
_RANGES = frozenset(("range", "arange"))
_SHUFFLES = frozenset(("shuffle", "permutation", "randperm", "shuffled"))
_LABELS = re.compile(r"(?i)^(?:y|ys|labels?|targets?|class(?:es)?|kinds?|t)$")
_CLEANS = re.compile(
    r"(?i)abs|quantile|percentile|std|isnan|isfinite|notna|isnull|zscore|median|len\b|valid\b|nunique|count|length|size"
)


def _beyond(source: Script) -> Finding | None:
    """`train = t[t.level < 9]; val = t[t.level >= 9]`: a quantity that is no time, group or chance."""
    kept: dict[str, dict[bool, set[bool]]] = {}
    last: dict[str, ast.AST] = {}
    for one in given(source):
        for text, above in _thresholds(source, one.value):
            kept.setdefault(text, {}).setdefault(one.learns, set()).add(above)
            last[text] = one.node
    for text, by_side in kept.items():
        ends = [by_side.get(learns, set()) for learns in (True, False)]
        if all(len(e) == 1 for e in ends) and ends[0] != ends[1]:  # else each end has both: two tasks
            told = f"training and held-out samples lie on either side of `{text[:60]}`"
            return at(source, last[text], told)
    return None


def _thresholds(source: Script, value: ast.expr) -> Iterator[tuple[str, bool]]:
    """Quantities, without the words of their side, that rows are kept by, and whether those above are."""
    kept = [n.slice for n in of(value, ast.Subscript)]
    kept += [test for n in of(value, ast.ListComp) for test in n.generators[0].ifs]
    for written in kept:
        for test in flow(source).values(written, 3) if isinstance(written, ast.Name) else [written]:
            if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and _ORDER.get(type(test.ops[0]))):
                continue
            told = " ".join([unparse(test.left), *map(unparse, flow(source).values(test.left, 4))])
            if not (_MEANT.search(told) or _CLEANS.search(told) or isinstance(test.left, ast.Constant)):
                yield neutral(unparse(test.left)), _ORDER[type(test.ops[0])] == "above"


_ORDER: dict[type[ast.cmpop], str] = {ast.Lt: "below", ast.LtE: "below", ast.Gt: "above", ast.GtE: "above"}


def _held(source: Script) -> Iterator[tuple[ast.AST, ast.expr]]:
    """Where held-out samples, or their places, get a name, and what they are."""
    for one in given(source):
        if not one.learns:
            yield one.node, one.value
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Name) and side(target.id) is None and HELD_OUT.search(target.id):
            yield node, node.value
        elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            for name, value in zip(target.elts, node.value.elts, strict=False):
                if isinstance(name, ast.Name) and side(name.id) is None and HELD_OUT.search(name.id):
                    yield node, value


def _cuts(value: ast.expr) -> Iterator[ast.Subscript]:
    """Slices with an end and no step: one end of something."""
    for node in of(value, ast.Subscript):
        inner = node.slice
        if isinstance(inner, ast.Slice) and inner.step is None and (inner.lower or inner.upper):
            yield node


def _ranked(source: Script, node: ast.expr, depth: int = _DEEP) -> str | None:
    """The quantity that an order is ranked by, as it is written; None of what is not ranked."""
    if depth == 0:
        return None
    if isinstance(node, ast.Name):
        found = flow(source).all_given(node)
        one = found[0] if len(found) == 1 and not found[0].places else None
        return _ranked(source, one.value, depth - 1) if one is not None else None
    if isinstance(node, ast.Subscript):
        held = node.slice
        if isinstance(held, ast.Slice):
            whole = held.lower is None and held.upper is None
            return _ranked(source, node.value, depth - 1) if whole else None
        return _ranked(source, held, depth - 1)
    if not isinstance(node, ast.Call):
        return None
    name = last_name(node.func)
    if name == "argsort":
        library = isinstance(node.func, ast.Attribute) and unparse(node.func.value) in _LIBRARIES
        owner = node.func.value if isinstance(node.func, ast.Attribute) and not library else None
        ranked = owner if owner is not None else argument(node, position=0)
        return unparse(ranked) if ranked is not None else None
    key = keyword(node, "key")
    if name == "sorted" and node.args and isinstance(key, ast.Lambda) and _numbers(source, node.args[0]):
        return unparse(key.body)
    return _ranked(source, node.args[0], depth - 1) if name in _SAME and node.args else None


_LIBRARIES = frozenset(("np", "numpy", "torch", "jnp", "cp", "ops", "mnp", "tf"))
_SAME = frozenset(("list", "tuple", "set", "array", "asarray", "tensor", "reversed", "flip"))


def _numbers(source: Script, node: ast.expr) -> bool:
    """Places of samples: `range(len(rows))`."""
    ends = flow(source).values(node)
    return any(isinstance(v, ast.Call) and last_name(v.func) in _RANGES for v in ends)


def _cut_by_position(source: Script, value: ast.expr) -> Iterator[ast.expr]:
    """What the held-out part is the last of: `cards[n:]`, or the rows whose numbers are in a range."""
    for node in of(value, ast.Subscript):
        inner = node.slice
        if isinstance(inner, ast.Slice) and inner.lower and not (inner.upper or inner.step):
            yield node.value
    for made in of(value, ast.ListComp):
        loop = made.generators[0]
        over = loop.iter
        if isinstance(over, ast.Call) and last_name(over.func) == "enumerate" and over.args:
            if any(_kept_of_range(source, test) for test in loop.ifs):
                yield over.args[0]
        elif _of_range(source, over):
            place = unparse(loop.target)
            yield from (s.value for s in of(made.elt, ast.Subscript) if unparse(s.slice) == place)
    if isinstance(value, ast.Call) and last_name(value.func) == "Subset" and len(value.args) == 2:
        if _of_range(source, value.args[1]):
            yield value.args[0]


def _kept_of_range(source: Script, test: ast.expr) -> bool:
    """`if i in held_out`, of a range of numbers that does not begin at the first."""
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1):
        return False
    if isinstance(test.ops[0], ast.In):
        return _of_range(source, test.comparators[0])
    return isinstance(test.ops[0], (ast.Gt, ast.GtE)) and isinstance(test.left, ast.Name)


def _of_range(source: Script, node: ast.expr, depth: int = _DEEP) -> bool:
    """`set(range(n_train, n))`: numbers from a later one on, each of them."""
    for end in flow(source).values(node) if depth else ():
        if not isinstance(end, ast.Call) or not end.args:
            return False
        name = last_name(end.func)
        if name in ("set", "list", "sorted", "frozenset"):
            return _of_range(source, end.args[0], depth - 1)
        if name in _RANGES and len(end.args) == 2:
            return not (isinstance(end.args[0], ast.Constant) and end.args[0].value == 0)
    return False


@lru_cache(maxsize=256)
def _made_by(source: Script, whole: ast.expr) -> Function | None:
    """The function of the script that makes these samples, in its order."""
    node: ast.expr | None = whole
    for _ in range(_DEEP):
        if isinstance(node, ast.ListComp) and len(node.generators) == 1:
            node = node.generators[0].iter
        elif isinstance(node, ast.Name):
            found = flow(source).all_given(node)
            node = found[0].value if len(found) == 1 and len(found[0].places) < 2 else None
        elif isinstance(node, ast.Call) and last_name(node.func) in (*_SAME, "join") and node.args:
            node = node.args[0]
        else:
            break
    made = flow(source).called(node) if isinstance(node, ast.Call) else []
    return made[0] if len(made) == 1 else None


def _maker(source: Script, whole: ast.expr) -> Function | None:
    """The function that makes these samples group after group."""
    made = _made_by(source, whole)
    ends = flow(source).given_back(made) if made is not None else ()
    if made is None or not ends or not all(_group_after_group(source, made, e) for e in ends):
        return None
    return made


def _group_after_group(source: Script, function: Function, end: ast.expr) -> bool:
    """A list that is filled with several samples of one group, then with those of the next one."""
    if isinstance(end, ast.Call) and last_name(end.func) in (*_SAME, "join") and end.args:
        end = end.args[0]
    if isinstance(end, ast.ListComp):
        return len(end.generators) > 1 and _groups(source, end.generators[0])
    if not isinstance(end, ast.Name):
        return False
    for loop in of(function, ast.For):
        inner = [n for n in of(loop, ast.For, ast.While, ast.GeneratorExp) if n is not loop]
        fills = [c for c in of(loop, ast.Call) if last_name(c.func) in ("append", "extend")]
        mine = [c for c in fills if isinstance(c.func, ast.Attribute) and unparse(c.func.value) == end.id]
        if inner and mine and _groups(source, loop):
            return True
    return False


def _groups(source: Script, loop: ast.For | ast.comprehension) -> bool:
    """A loop over a few named things that are written out, or over classes."""
    over = loop.iter
    if isinstance(over, ast.Call) and last_name(over.func) in ("items", "keys", "values") and not over.args:
        over = over.func.value if isinstance(over.func, ast.Attribute) else over
    if isinstance(over, ast.Call) and last_name(over.func) == "enumerate" and over.args:
        over = over.args[0]
    if isinstance(over, ast.Call) and last_name(over.func) == "range":
        return isinstance(loop.target, ast.Name) and _GROUP.match(loop.target.id) is not None
    for end in flow(source).values(over):
        if isinstance(end, ast.Dict) and len(end.keys) > 1:
            return True
        if isinstance(end, (ast.List, ast.Tuple)) and len(end.elts) > 1:
            return all(isinstance(e, ast.Constant) and isinstance(e.value, str) for e in end.elts)
    return False


def _mixed(source: Script, maker: Function, node: ast.AST) -> bool:
    """Something mixes samples where they are made, or before they are cut."""
    if any(last_name(c.func) in _SHUFFLES for c in of(maker, ast.Call)):
        return True
    scope, line = source.function_around(node), getattr(node, "lineno", 0)
    here = (c for c in source.named(*MIXES) if source.function_around(c) is scope)
    return any(c.lineno <= line for c in here)
