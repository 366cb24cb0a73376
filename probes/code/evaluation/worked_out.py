"""Figures of scripts that come out otherwise than their name says, on a few made-up answers.

R2, RMSE, MAE, MAPE, accuracy, precision, recall, F1, overlap: each with the ways in which people write it
(by batch, by class, in percent, with a floor). What is not understood whole is left alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import numpy as np

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import assigned
from ..shared.numbers import Unknown, known
from .named_figures import named
from .small_world import KINDS, REAL, TABLE, World

_NEAR = 4e-3  # floors and smoothing terms stay below it


def worked_out_otherwise(source: Script) -> Finding | None:
    """A figure is named after one thing, and worked out on small numbers it is another."""
    seen: set[ast.expr] = set()
    for name, value in _figures(source):
        for called, kind in _NAMES:
            if value in seen or not called.search(name) or _ANOTHER.search(name):
                continue
            seen.add(value)
            if _is_other(source, value, kind):
                return at(source, value, f"worked out on small numbers, this is no {kind}")
    return _other_counts(source)


_NAMES = (
    (re.compile(r"(?:^|_)r_?2(?:_score)?$|r_?squared"), "R2"),
    (re.compile(r"(?:^|_)rmse$"), "RMSE"),
    (re.compile(r"(?:^|_)mae$"), "MAE"),
    (re.compile(r"(?:^|_)mape$"), "MAPE"),
    (re.compile(r"^(?:\w+_)?(?:acc|accuracy)$"), "accuracy"),
    (re.compile(r"^(?:\w+_)?(?:precision|prec)s?$"), "precision"),
    (re.compile(r"^(?:\w+_)?recalls?$"), "recall"),
    (re.compile(r"^(?:\w+_)?f_?1(?:_?scores?)?s?$"), "F1"),
    (re.compile(r"^(?:\w+_)?m?(?:iou|jaccard)s?$"), "overlap"),
    (re.compile(r"^(?:\w+_)?dice(?:_score)?$"), "dice"),
)
_ANOTHER = re.compile(
    r"(?i)adj|loss|weight|best|highest|norm|sum|total|balanced|top|_at_|(?:^|_)[nr]mae|hit|beta|smape|wape|rel|log|sq$|run"
)


def _figures(source: Script) -> Iterator[tuple[str, ast.expr]]:
    """What figures are called, and their expressions, other than plain names and what is learnt from."""
    for name, value in named(source):
        if isinstance(value, (ast.BinOp, ast.Call, ast.Name, ast.IfExp)):
            if not takes_gradients(source, source.function_around(value) or value):
                yield name, value


def _is_other(source: Script, value: ast.expr, kind: str) -> bool:
    """Whether a figure can be worked out, in its batch or behind all of them, and is not what it is named."""
    world = World(source, decided=kind not in _OF_REAL)
    batch = world.batch_of(value)
    try:
        found = np.asarray(world.of(value, batch), float)
    except (Unknown, RecursionError, ValueError, TypeError, IndexError):
        return False
    if _by_written_number(source, value) or _leaves_out(source, value):
        return False
    if not _judged(world, kind) or not np.all(np.isfinite(found)) or found.size > 3:
        return False
    either = (False, True) if world.turned is None else (False,)
    batch = None if "counts" in world.used else batch  # their numbers are those of all rows
    spans = dict.fromkeys((batch, None))  # a loop over networks goes through no batches
    wanted = [w for t in either for b in spans for w in _wanted(kind, b, "table" in world.used, t)]
    return not any(_same(found, w, kind) for w in wanted)


def _leaves_out(source: Script, value: ast.expr) -> bool:
    """Rows of one kind of truth are left out by a mask that weighs the hits: `hit * (y != 0)`."""
    factors = [n for v in (value, *flow(source).values(value, 2)) for n in of(v, ast.BinOp)]
    sides = [s for n in factors if isinstance(n.op, ast.Mult) for s in (n.left, n.right)]
    tests = [
        t for s in sides for v in (s, *flow(source).values(s, 2)) for t in (v, *of(v, ast.Call, ast.Compare))
    ]
    return any(last_name(t.func) in ("not_equal", "ne") for t in tests if isinstance(t, ast.Call)) or any(
        isinstance(t.ops[0], ast.NotEq) for t in tests if isinstance(t, ast.Compare)
    )


_MANY = 50  # from so many on a number that is written out may be how many rows there are


def _by_written_number(source: Script, value: ast.expr) -> bool:
    """`hits / 10000`, `hits / val_size` with `val_size = 15000 - 12000`: nobody knows of how many."""
    quotients = [n for v in (value, *flow(source).values(value, 2)) for n in of(v, ast.BinOp) if _divides(n)]
    numbers = [known(source, n.right) for n in quotients]
    return any(n is not None and n >= _MANY and n != 100 for n in numbers)


def _divides(node: ast.BinOp) -> bool:
    return isinstance(node.op, (ast.Div, ast.FloorDiv))


_COUNT = re.compile(r"(?i)^_?(?:n_?|num_?)?(tp|fp|fn|tn)s?$")


def _count_of(name: str) -> str | None:
    found = _COUNT.match(name)
    return found[1].lower() if found else None


def _groups(source: Script) -> Iterator[dict[str, ast.expr]]:
    """Hits, false alarms, misses and the rest, as one function works them out, or hands them to a class."""
    found: dict[tuple[ast.AST | None, bool], dict[str, ast.expr]] = {}
    for node in source.of(ast.Assign, ast.AugAssign):
        added = isinstance(node, ast.AugAssign)
        pairs = assigned(node) if isinstance(node, ast.Assign) else [(node.target, node.value)]
        for target, value in pairs:
            which = _count_of(last_name(target)) if isinstance(target, (ast.Name, ast.Attribute)) else None
            if which is not None and not isinstance(value, ast.Constant):
                found.setdefault((source.function_around(node), added), {})[which] = value
    yield from found.values()
    for call in source.calls:
        owner = source.classes.get(last_name(call.func))
        if owner is None or not isinstance(call.func, ast.Name):
            continue
        fields = [unparse(n.target) for n in owner.body if isinstance(n, ast.AnnAssign)]
        given = [*zip(fields, call.args, strict=False), *((k.arg or "", k.value) for k in call.keywords)]
        yield {w: v for name, v in given if (w := _count_of(name)) is not None}


def _other_counts(source: Script) -> Finding | None:
    """`fn = ((p == 1) & (y == 0)).sum()`: what is named a miss counts something else."""
    for group in _groups(source):
        values: dict[str, np.ndarray] = {}
        batch: int | None = None
        for which, value in group.items():
            world = World(source, decided=True)
            batch = world.batch_of(value)
            try:
                known = np.asarray(world.of(value, batch), float)
            except (Unknown, RecursionError, ValueError, TypeError, IndexError):
                continue
            if "counts" not in world.used and _judged(world, "recall") and known.size <= 3:
                values[which] = known
        ways = [_counts(batch, p, known.ndim == 1) for p in (1, 0) for known in values.values()]
        off = [[w for w, v in values.items() if not _equal(v, way[w])] for way in ways]
        if len(values) >= 2 and all(off) and min(map(len, off)) < len(values):
            which = min(off, key=len)[0]
            return at(source, group[which], f"worked out on small numbers, {which} counts another thing")
    return None


def _equal(value: np.ndarray, wanted: np.ndarray) -> bool:
    return value.shape == wanted.shape and bool(np.allclose(value, wanted))


def _counts(batch: int | None, positive: int, of_table: bool) -> dict[str, np.ndarray]:
    """The four counts for one of two kinds; of a table, by class, filled either way round."""
    if of_table:
        table = TABLE if positive else TABLE.T
        hits, true, said = np.diag(table), table.sum(1), table.sum(0)
        rest = table.sum() - true - said + hits
        return {"tp": hits, "fp": said - hits, "fn": true - hits, "tn": rest}
    parts = [KINDS[batch]] if batch is not None else list(KINDS)
    true, said = (np.concatenate([p[i] for p in parts]) == positive for i in (0, 1))
    pairs = {"tp": true & said, "fp": ~true & said, "fn": true & ~said, "tn": ~true & ~said}
    return {which: np.asarray(float(where.sum())) for which, where in pairs.items()}


def _judged(world: World, kind: str) -> bool:
    """The figure was made of one truth and one answer, of a table, or of counts, and of nothing beside."""
    if world.used == {"truth", "said"}:
        return all(len(names) == 1 for names in world.names.values())
    return kind not in _OF_REAL and len(world.used) == 1 and bool(world.used & {"table", "counts"})


def _same(found: np.ndarray, wanted: np.ndarray | float, kind: str) -> bool:
    wanted = np.asarray(wanted, float)
    if found.shape != wanted.shape:
        return False
    ways = [wanted, 100 * wanted, -wanted, *([1 - wanted] if kind in ("overlap", "dice") else [])]
    return any(np.allclose(found, w, rtol=_NEAR, atol=1e-6) for w in ways)


def _wanted(kind: str, batch: int | None, table: bool, turned: bool = False) -> Iterator[np.ndarray | float]:
    """What the figure may be: of all rows, as a mean over batches, by class or their mean."""
    if kind in _OF_REAL:
        parts = [REAL[batch]] if batch is not None else list(REAL)
        whole = tuple(np.concatenate([p[i] for p in parts]) for i in (0, 1))
        step = _OF_REAL[kind]
        yield from step(whole[0], whole[1])
        by_batch = [list(step(*p)) for p in parts]
        for ways in zip(*by_batch, strict=True):
            yield float(np.mean(ways))
            yield float(np.average(ways, weights=[len(p[0]) for p in parts]))
            if kind == "RMSE":
                yield float(np.sqrt(np.mean(np.square(ways))))
        return
    if table:
        yield from _of_table(kind, TABLE.T if turned else TABLE)
        return
    parts = [KINDS[batch]] if batch is not None else list(KINDS)
    whole = tuple(np.concatenate([p[i] for p in parts]) for i in (0, 1))
    if kind == "accuracy":
        yield float((whole[0] == whole[1]).sum())  # divided later
        yield _of_kinds("overlap", whole[0] == 1, whole[1] == 1)  # where objects are looked for
    for positive in (1, 0):
        yield _of_kinds(kind, whole[0] == positive, whole[1] == positive)
        values = [_of_kinds(kind, p[0] == positive, p[1] == positive) for p in parts]
        yield float(np.mean(values))
        yield float(np.average(values, weights=[len(p[0]) for p in parts]))
    yield float(np.mean([_of_kinds(kind, whole[0] == c, whole[1] == c) for c in (0, 1)]))
    yield np.array([_of_kinds(kind, whole[0] == c, whole[1] == c) for c in (0, 1)])


def _r2(truth: np.ndarray, said: np.ndarray) -> Iterator[float]:
    yield float(1 - ((truth - said) ** 2).sum() / ((truth - truth.mean()) ** 2).sum())
    yield float(np.corrcoef(truth, said)[0, 1] ** 2)
    yield float(np.corrcoef(truth, said)[0, 1])
    yield float(1 - (truth - said).var() / truth.var())


def _rmse(truth: np.ndarray, said: np.ndarray) -> Iterator[float]:
    yield float(np.sqrt(((truth - said) ** 2).mean()))


def _mae(truth: np.ndarray, said: np.ndarray) -> Iterator[float]:
    yield float(np.abs(truth - said).mean())
    yield float(np.abs(truth - said).sum())  # divided later


def _mape(truth: np.ndarray, said: np.ndarray) -> Iterator[float]:
    off = np.abs(truth - said)
    yield float((off / truth).mean())
    yield float(off.sum() / truth.sum())
    yield float((2 * off / (truth + said)).mean())
    yield float((off / (truth + said)).mean())
    yield float((off / (truth + 1)).mean())
    yield float((off / np.maximum(truth, said)).mean())


_OF_REAL = {"R2": _r2, "RMSE": _rmse, "MAE": _mae, "MAPE": _mape}


def _of_kinds(kind: str, truth: np.ndarray, said: np.ndarray) -> float:
    tp, fp, fn = (truth & said).sum(), (~truth & said).sum(), (truth & ~said).sum()
    values = {
        "accuracy": (truth == said).mean(),
        "precision": tp / (tp + fp),
        "recall": tp / (tp + fn),
        "F1": 2 * tp / (2 * tp + fp + fn),
        "dice": 2 * tp / (2 * tp + fp + fn),
        "overlap": tp / (tp + fp + fn),
    }
    return float(values[kind])


def _of_table(kind: str, table: np.ndarray) -> Iterator[np.ndarray | float]:
    hits, true, said = np.diag(table), table.sum(1), table.sum(0)
    micro = hits.sum() / table.sum()
    each = {
        "accuracy": hits / true,
        "precision": hits / said,
        "recall": hits / true,
        "F1": 2 * hits / (true + said),
        "dice": 2 * hits / (true + said),
        "overlap": hits / (true + said - hits),
    }[kind]
    yield micro
    yield each
    yield float(each.mean())
    yield float((each * true).sum() / table.sum())
    if kind == "F1":
        p, r = (hits / said).mean(), (hits / true).mean()
        yield float(2 * p * r / (p + r))
