"""Programs that leave a handful of training samples: by the number they draw, or by rows picked at random."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.nodes import flat
from ..shared.numbers import known
from ..shared.sides import given, literal, side
from ..splits.simulated import bound, made_twice
from .few import meant, small

# a function fitted to a few points, or a method for few samples, is what the program is about
_MEANT = re.compile(
    r"(?i)few_?shot|n_?shot|meta_?learn|episode|active_?learn|overfit|low_?data|data_?efficien|learning_?curve"
)
_CLASSES = re.compile(r"cross_entropy|CrossEntropy|crossentropy|NLLLoss|nll_loss|softmax_cross")
SIZE = re.compile(
    r"(?i)^(?:n|num|size|count|length|total|n_?(?:samples|images|rows|items|examples|points)|num_\w+)$"
)
_TIMES = 5  # held-out samples for one to learn from: nobody splits data so
_A_CLASS = 10  # samples of each class, fewer than which no network learns from the start


def returned_in_first_round(source: Script) -> Finding | None:
    """`for line in f: rows.append(line); return rows`: the reader gives back what its first round found."""
    for function in source.of(ast.FunctionDef):
        last = function.body[-1] if function.body else None
        if not isinstance(last, ast.Return) or not isinstance(last.value, ast.Name):
            continue
        for loop in of(function, ast.For):
            end = loop.body[-1]
            if not isinstance(end, ast.Return) or end.value is None or len(loop.body) < 2:
                continue
            grown = [c for c in of(loop, ast.Call) if last_name(c.func) in ("append", "extend", "add")]
            whole = end.value.value if isinstance(end.value, ast.Subscript) else end.value
            if unparse(whole) == last.value.id and any(source.owner(c) == last.value.id for c in grown):
                return at(source, end, "the reader returns in the first round of its loop")
    return None


def read_short(source: Script, few: int) -> Finding | None:
    """`if len(rows) > 200: break` in the loop of a reader, or `return rows[:64]` of what it has read."""
    for function in source.of(ast.FunctionDef):
        if not _READS.match(function.name) or not _reads_training(source, function.name):
            continue
        grown = {
            source.owner(c)
            for loop in of(function, ast.For)
            for c in of(loop, ast.Call)
            if last_name(c.func) == "append"
        }
        for node in of(function, ast.Return):
            cut = node.value.slice if isinstance(node.value, ast.Subscript) else None
            if isinstance(cut, ast.Slice) and isinstance(node.value, ast.Subscript) and cut.lower is None:
                number = literal(source, cut.upper)
                if unparse(node.value.value) in grown and small(number, few) and not meant(source, node):
                    return at(source, node, f"the reader keeps {number} of the rows that it reads")
        for stop in of(function, ast.If):
            test = stop.test
            ends = len(stop.body) == 1 and isinstance(stop.body[0], (ast.Break, ast.Return))
            if not ends or not isinstance(test, ast.Compare) or not source.loops_around(stop):
                continue
            counted = re.fullmatch(r"len\(([\w.]+)\)", unparse(test.left))
            number = literal(source, test.comparators[0])
            if (
                counted is not None
                and counted[1] in grown
                and isinstance(test.ops[0], (ast.Gt, ast.GtE, ast.Eq))
            ):
                if small(number, few) and not meant(source, stop):
                    return at(source, stop, f"the reader stops after {number} rows, whatever the file holds")
    return None


def _reads_training(source: Script, name: str) -> bool:
    """What a reader gives goes to a name of training data: `train, dev = (read(p) for p in parts)`."""
    return any(
        side(unparse(target)) is True
        for call in source.named(name)
        if isinstance(statement := source.statement(call), ast.Assign)
        for one in statement.targets
        for target in flat([one])
    )


_READS = re.compile(
    r"(?i)^_?(?:read|load|parse|fetch|collect|get)_?(?!model|batch|config|args|vocab|embed|weight)\w*$"
)


def few_drawn(source: Script) -> Finding | None:
    """`make(40, seed=1)` to train on and `make(800, seed=2)` to evaluate: too few for the classes or a batch.

    Told of classes alone: a curve that is fitted to 20 points and drawn on 1000 is right.
    """
    if not _CLASSES.search(source.code) or _MEANT.search(source.code):
        return None
    seen = None
    for maker, train, held in made_twice(source):
        mine, theirs = bound(maker, train), bound(maker, held)
        for name in (n for n in mine if SIZE.match(n) and n in theirs):
            count, others = known(source, mine[name]), known(source, theirs[name])
            if count is None or others is None or count < 1:
                continue
            seen = seen or train
            few = count <= _A_CLASS * _classes(source, maker) or count <= _batch(source)
            if few and others >= _TIMES * count and not meant(source, train):
                return at(source, train, f"{count:g} samples are trained on, and {others:g} evaluated")
    return ok(source, seen, "more samples are drawn for training") if seen is not None else None


def _classes(source: Script, maker: ast.AST) -> float:
    """How many classes are drawn: `rng.integers(0, 8, n)`; 0 where it is not told."""
    found = 0.0
    for call in of(maker, ast.Call):
        if last_name(call.func) in ("integers", "randint") and call.args:
            bounds = [known(source, a) for a in call.args[:2]]
            high = bounds[-1] if bounds[0] == 0 or len(bounds) == 1 else None
            found = max(found, high or 0.0) if (high or 0.0) <= 1000 else found
    return found


def _batch(source: Script) -> float:
    """The batch of the training loader; 0 where it is not told."""
    for one in given(source):
        call = one.value
        if one.learns and isinstance(call, ast.Call) and last_name(call.func) == "DataLoader":
            size = argument(call, "batch_size", position=1)
            return known(source, size) or 0.0
    return 0.0


def few_at_random(source: Script, few: int) -> Finding | None:
    """`idx = rng.permutation(len(train_x))[:48]; train_x = train_x[idx]`: the rest is never read."""
    for one in given(source):
        value = one.value
        if not (one.learns and isinstance(value, ast.Subscript) and unparse(value.value) == one.name):
            continue
        ways = flow(source).values(value.slice, 2) if isinstance(value.slice, ast.Name) else [value.slice]
        for count in (c for w in ways for c in _picked(source, w, one.name)):
            if small(int(count), few) and not meant(source, value) and side(one.name) is True:
                return at(source, value, f"training keeps only {count:g} samples")
    return None


def _picked(source: Script, node: ast.expr, name: str) -> Iterator[float]:
    """How many places of all rows a random order or choice gives."""
    cut = node.slice if isinstance(node, ast.Subscript) else None
    if isinstance(cut, ast.Slice) and cut.lower is None and cut.step is None and cut.upper is not None:
        drawn, upper = node.value if isinstance(node, ast.Subscript) else node, cut.upper
        names = ("permutation", "randperm")
    elif isinstance(node, ast.Call) and len(node.args) > 1:
        drawn, upper = node, node.args[1]
        names = ("choice", "sample")
    else:
        return
    if isinstance(drawn, ast.Call) and last_name(drawn.func) in names and drawn.args:
        size = known(source, upper)
        rows = unparse(drawn.args[0])
        if size is not None and size >= 1 and name in rows and re.search(r"len\(|\.shape|\.size", rows):
            yield size
