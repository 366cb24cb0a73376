"""Classes that a script makes rare itself: rows of the others are thinned at random, or drawn less often."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from ...readers._tree import names_in
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.numbers import Numbers, Unknown, known
from ..shared.roles import TARGET_WORDS, is_random
from ..shared.sides import side

# whoever names these deals with unequal shares, or makes them on purpose
_MEANT = re.compile(
    r"(?i)imbalanc|long_?tail|rare|balanced|focal|class_?weight|pos_weight|WeightedRandomSampler|weight=|minority"
)
_DRAWS = ("random", "rand", "uniform", "random_sample")
_EVEN = ("integers", "randint", "arange")
_PICKS = ("flatnonzero", "nonzero", "where", "compress", "argwhere", "masked_select", "boolean_mask")
_DROPS = ("logical_not", "delete", "invert")
_MOST = 2  # a program of two classes thins the larger one to balance them


def classes_thinned(source: Script, ratio: float) -> Finding | None:
    """Of some classes all rows are kept, of the others fewer than one in `ratio`, by chance.

    `keep = (y == 0) | (rng.random(n) < 0.03)`. False positive: negatives that are thinned where they are
    most, so silent where the class that is kept whole may be the rare one.
    """
    seen = None
    for test, names, kept, whole in _thinned(source):
        if any(side(n) is False for n in names) or _MEANT.search(source.code):
            continue
        if not (_all_kept(whole) or _drawn_evenly(source)):
            continue
        seen = seen or test
        if 0 < kept * ratio <= 1:
            return at(source, test, f"of some classes all rows are kept, of the others {kept:.2g} at random")
    return ok(source, seen, "rows of all classes are kept alike") if seen is not None else None


def _all_kept(whole: ast.Compare) -> bool:
    """`y == 0`, `y == 3`: one class of several is kept whole; not `y == 1`, the positives, nor `y != 0`."""
    told = whole.comparators[0]
    value = told.value if isinstance(told, ast.Constant) else None
    return isinstance(whole.ops[0], ast.Eq) and value is not True and (value == 0 or _above_one(value))


def _above_one(value: object) -> bool:
    return isinstance(value, int) and value >= _MOST


def _drawn_evenly(source: Script) -> bool:
    """`labels = rng.integers(0, 8, n)`: no class is the larger one."""
    return any(
        isinstance(n.value, ast.Call)
        and last_name(n.value.func) in _EVEN
        and any(TARGET_WORDS.search(w.lower()) for t in n.targets for w in names_in(t))
        for n in source.of(ast.Assign)
    )


def _thinned(source: Script) -> Iterator[tuple[ast.AST, set[str], float, ast.Compare]]:
    """Conditions of class and chance that choose rows, with the share that is kept of the rest."""
    for node in source.of(ast.BinOp, ast.BoolOp, ast.Call, ast.ListComp):
        parts, either = _halves(node)
        if len(parts) != 2:
            continue
        for one, other in (parts, parts[::-1]):
            label = _of_class(source, one)
            share = _chance(source, other)
            if label is None or share is None:
                continue
            used = _used(source, node)
            if either and used == "kept":
                yield node, names_in(label), share, label
            elif not either and used == "dropped":
                yield node, names_in(label), 1 - share, _turned(label)


def _halves(node: ast.AST) -> tuple[tuple[ast.expr, ...], bool]:
    """The two conditions that are joined, and whether one of them is enough."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitOr, ast.BitAnd)):
        return (node.left, node.right), isinstance(node.op, ast.BitOr)
    if isinstance(node, ast.BoolOp):
        return tuple(node.values), isinstance(node.op, ast.Or)
    if isinstance(node, ast.Call) and last_name(node.func) in ("logical_or", "logical_and"):
        return tuple(node.args[:2]), last_name(node.func) == "logical_or"
    return (), False


def _of_class(source: Script, node: ast.expr) -> ast.Compare | None:
    """`y == 0`, `train_y != 3`, of a name of targets or what a loop takes of one."""
    node = _meant_by(source, node)
    if (
        not isinstance(node, ast.Compare)
        or len(node.ops) != 1
        or not isinstance(node.ops[0], (ast.Eq, ast.NotEq))
    ):
        return None
    if not isinstance(node.comparators[0], ast.Constant) or not isinstance(node.comparators[0].value, int):
        return None
    told = last_name(node.left).lower() if isinstance(node.left, (ast.Name, ast.Attribute)) else ""
    if TARGET_WORDS.search(told):
        return node
    loops = [
        c
        for p in source.above(node)
        for c in (*getattr(p, "generators", ()), *([p] if isinstance(p, ast.For) else []))
    ]
    over = [c.iter for c in loops if told and told in {n.lower() for n in names_in(c.target)}]
    return node if any(TARGET_WORDS.search(n.lower()) for i in over for n in names_in(i)) else None


def _meant_by(source: Script, node: ast.expr) -> ast.expr:
    ways = flow(source).values(node, 2) if isinstance(node, ast.Name) else ()
    return ways[0] if len(ways) == 1 else node


def _chance(source: Script, node: ast.expr) -> float | None:
    """`rng.random(n) < 0.03`: how often it holds."""
    node = _meant_by(source, node)
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        return None
    draw = node.left
    if not (isinstance(draw, ast.Call) and last_name(draw.func) in _DRAWS and is_random(draw)):
        return None
    share = known(source, node.comparators[0])
    if share is None or not 0 < share < 1:
        return None
    return share if isinstance(node.ops[0], (ast.Lt, ast.LtE)) else 1 - share


def _turned(label: ast.Compare) -> ast.Compare:
    """`y != 0` of rows that are dropped is `y == 0` of those that are kept."""
    op: ast.cmpop = ast.Eq() if isinstance(label.ops[0], ast.NotEq) else ast.NotEq()
    return ast.copy_location(ast.Compare(label.left, [op], label.comparators), label)


def _used(source: Script, node: ast.AST) -> str:
    """Whether rows are "kept" or "dropped" by a condition; "" where it does something else."""
    above = source.parents.get(node)
    if isinstance(above, ast.comprehension):
        return "kept"
    if isinstance(above, ast.If) and above.test is node:
        return "dropped" if any(isinstance(s, ast.Continue) for s in above.body) else ""
    places: list[ast.AST] = [node]
    if isinstance(above, ast.Assign) and isinstance(above.targets[0], ast.Name):
        name, around = above.targets[0].id, source.function_around(node)
        places = [
            n
            for n in source.of(ast.Name)
            if n.id == name and isinstance(n.ctx, ast.Load) and source.function_around(n) is around
        ]
    told = {_of_place(source, p) for p in places}
    return told.pop() if len(told) == 1 else ""


def _of_place(source: Script, node: ast.AST) -> str:
    above = source.parents.get(node)
    if isinstance(above, ast.UnaryOp) and isinstance(above.op, (ast.Invert, ast.Not)):
        return "dropped"
    if isinstance(above, ast.Call):
        name = last_name(above.func)
        return "dropped" if name in _DROPS else "kept" if name in _PICKS and len(above.args) < 3 else ""
    if isinstance(above, ast.Subscript) and isinstance(above.ctx, ast.Load):
        return "kept"
    return ""


def chance_of_one(source: Script, ratio: float) -> Finding | None:
    """`labels = np.where(rng.random(n) < 0.95, 0, rng.integers(1, 8, n))`: most rows are of one class."""
    seen = None
    for node in source.of(ast.Assign):
        call = node.value
        if not (isinstance(call, ast.Call) and last_name(call.func) == "where" and len(call.args) == 3):
            continue
        if not any(TARGET_WORDS.search(w.lower()) for t in node.targets for w in names_in(t)):
            continue
        share = _chance(source, call.args[0])
        for one, other, mine in ((1, 2, share), (2, 1, None if share is None else 1 - share)):
            rest, bounds = call.args[other], []
            if isinstance(rest, ast.Call) and last_name(rest.func) in _EVEN[:2]:
                bounds = [known(source, a) for a in rest.args[:2]]
            if mine is None or not isinstance(call.args[one], ast.Constant) or len(bounds) != 2:
                continue
            low, high = bounds
            if low is None or high is None or high <= low:
                continue
            seen = seen or node
            if mine * (high - low) >= ratio * (1 - mine):
                return at(source, node, f"one class is drawn for a share of {mine:.2g} of all rows")
    return ok(source, seen, "classes are drawn with similar shares") if seen is not None else None


def shares_of(source: Script, node: ast.expr, depth: int = 6) -> list[float]:
    """The numbers of a list that is written out, repeated, joined or counted up; [] where it is not."""
    if not depth:
        return []
    if isinstance(node, ast.IfExp):
        return shares_of(source, node.body, depth - 1) or shares_of(source, node.orelse, depth - 1)
    if isinstance(node, ast.Name):
        ways = flow(source).values(node, 1)
        if len(ways) != 1 or isinstance(ways[0], ast.Name):
            return []
        return _filled(source, node, shares_of(source, ways[0], depth - 1))
    if isinstance(node, (ast.List, ast.Tuple)):
        found: list[float] = []
        for one in node.elts:
            if isinstance(one, ast.Starred):
                found += shares_of(source, one.value, depth - 1)
            elif isinstance(one, ast.Constant) and isinstance(one.value, (int, float)):
                found.append(float(one.value))
        return found
    if isinstance(node, ast.BinOp):
        return _of_lists(source, node, depth)
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return _counted_up(source, node)
    if isinstance(node, ast.Call) and node.args:
        size = known(source, node.args[0])
        if last_name(node.func) in ("full", "ones") and size is not None and 1 < size < 1e4:
            value = (
                known(source, node.args[1]) if last_name(node.func) == "full" and len(node.args) > 1 else 1.0
            )
            return [value] * int(size) if value is not None else []
        return shares_of(source, node.args[0], depth - 1)
    return []


def _counted_up(source: Script, node: ast.ListComp | ast.GeneratorExp) -> list[float]:
    """`[0.5**k for k in range(8)]`."""
    over = node.generators[0]
    if len(node.generators) > 1 or over.ifs or not isinstance(over.target, ast.Name):
        return []
    times = known(source, over.iter.args[0]) if isinstance(over.iter, ast.Call) and over.iter.args else None
    if times is None or not 1 < times < 1e3 or last_name(getattr(over.iter, "func", over.iter)) != "range":
        return []
    found: list[float] = []
    for k in range(int(times)):
        numbers = Numbers(source, lookup=partial(_counter, over.target.id, float(k)))
        try:
            found.append(numbers.of(node.elt))
        except (Unknown, RecursionError, OverflowError):
            return []
    return found


def _counter(name: str, value: float, node: ast.expr) -> float | None:
    return value if isinstance(node, ast.Name) and node.id == name else None


def _of_lists(source: Script, node: ast.BinOp, depth: int) -> list[float]:
    """`[0.9] + [0.01] * 7`, and `weights / weights.sum()`, whose ratios are those of the weights."""
    one, other = (shares_of(source, n, depth - 1) for n in (node.left, node.right))
    listed = [isinstance(n, (ast.List, ast.BinOp)) for n in (node.left, node.right)]
    if isinstance(node.op, ast.Add) and one and other and any(listed):
        return one + other
    if isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List):
        times = known(source, node.right)
        return one * int(times) if times is not None and 0 < times < 1e4 else []
    return one if isinstance(node.op, ast.Div) else []


def _filled(source: Script, name: ast.Name, numbers: list[float]) -> list[float]:
    """`p[0] = 0.93` of an array that was filled with one number before."""
    around = source.function_around(name)
    for node in source.of(ast.Assign):
        place = node.targets[0]
        if not (
            isinstance(place, ast.Subscript)
            and isinstance(place.value, ast.Name)
            and place.value.id == name.id
        ):
            continue
        value = known(source, node.value)
        index = known(source, place.slice)
        if source.function_around(node) is not around or value is None or index is None:
            continue
        if -len(numbers) <= int(index) < len(numbers):
            numbers = [*numbers]
            numbers[int(index)] = value
    return numbers
