"""Which rows statistics are taken of: those of training in the benchmark, and all of them here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..readers._tree import of, unparse, walk
from ..readers.script import last_name
from .side import MAX_DEPTH, Side, Told

_TAKEN = ("mean", "std", "var", "median", "min", "max", "quantile")
_KEPT = re.compile(
    r"(?i)(?:^|_)(?:mean|avg|average|std|mu|sigma|median|cent(?:er|re)|scale|min|max|lo|hi|low|high|var)s?(?:_|$)"
)
_SCORE = re.compile(r"(?i)loss|error|score|acc|metric|auc|f1|iou|recall|grad|reward")
_LEARNS = ("fit", "adapt", "fit_transform")
_LEARNER = re.compile(r"Scaler$|Imputer$|^Normalization$|^PowerTransformer$|^QuantileTransformer$|^PCA$")
_READS = re.compile(r"^(?:read_\w+|load|loadtxt|genfromtxt|fetch_\w+|load_\w+)$")
_TRAINS = re.compile(r"(?i)(?:^|_)(?:train|training|tr|trn|fit)(?:_|$|set|\d)")
_OF_TRAINING = re.compile(r"(?i)(?:^|[/_.\\-])train(?:ing)?(?:[/_.\\-]|$)")
_LIBRARY = ("np", "numpy", "torch", "tf", "ops", "jnp")


def statistics_differ(mine: Side, theirs: Side) -> Iterator[Told]:
    """Mean, deviation or median are those of the training rows in the benchmark, and of every row here.

    Counts where all rows come from one reading, and are divided in this program.
    """
    if mine.source.loose or theirs.source.loose:
        return
    there = [_rows(theirs, data) for _, data in _statistics(theirs)]
    if not there or any(found != "part" for found in there):
        return
    reads = [c for c in mine.source.calls if _READS.match(last_name(c.func)) and mine.runs(c) and c.args]
    reads = [c for c in reads if not re.match(r"load_(?:state|weights|model|check)", last_name(c.func))]
    several = len({unparse(c) for c in reads}) > 1
    for call, data in _statistics(mine):
        if _rows(mine, data) == "whole" and (not several or _parted(mine, data)):
            first = next(call for call, _ in _statistics(theirs))
            text = f"`{unparse(call)}` is taken of all rows here, of those of training in the benchmark"
            yield Told("statistics-fitted", text, mine.place(call), theirs.place(first))
            return


def _parted(side: Side, data: ast.expr) -> bool:
    """Whether a name of all rows is what training and held-out rows are drawn of."""
    cuts = side.source.named("train_test_split", "random_split")
    return isinstance(data, ast.Name) and any(
        isinstance(a, ast.Name) and a.id == data.id for c in cuts for a in c.args
    )


def _statistics(side: Side) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Calls that take statistics for later, with the data that they are taken of."""
    for call in side.source.calls:
        name = last_name(call.func)
        if not side.runs(call) or not isinstance(call.func, ast.Attribute):
            continue
        owner = call.func.value
        if name in _TAKEN:
            statement = side.source.statement(call)
            targets = [n for t in getattr(statement, "targets", []) for n in walk(t)]
            kept = [
                t for t in targets if isinstance(t, (ast.Name, ast.Attribute)) and _KEPT.search(last_name(t))
            ]
            held = side.source.parents.get(call)
            held = side.source.parents.get(held) if isinstance(held, ast.BinOp) else held
            if isinstance(held, ast.Dict):  # `{"mean": x.mean(axis=0), "std": x.std(axis=0) + eps}`
                entries = {
                    getattr(k, "value", "")
                    for k, v in zip(held.keys, held.values, strict=True)
                    if call in set(walk(v))
                }
                kept = (
                    [t for t in targets if isinstance(t, ast.Name)]
                    if any(_KEPT.search(str(e)) for e in entries)
                    else []
                )
            if not kept or any(_SCORE.search(last_name(t)) for t in kept):
                continue
            if isinstance(owner, ast.Name) and owner.id in _LIBRARY:
                if call.args:
                    yield call, call.args[0]
            else:
                yield call, owner
        elif name in _LEARNS and call.args:
            made = [owner, *side.given.get(last_name(owner), [])]
            if any(isinstance(m, ast.Call) and _LEARNER.search(last_name(m.func)) for m in made):
                yield call, call.args[0]


def _rows(side: Side, node: ast.expr, depth: int = 4 * MAX_DEPTH) -> str:
    """ "part" of the rows, the "whole" of what is read, or "" where that is not seen."""
    if depth == 0:
        return ""
    if isinstance(node, (ast.Name, ast.Attribute)):
        if _TRAINS.search(last_name(node)) and not side.given.get(last_name(node)):
            return "part"
        made = side.given.get(last_name(node), [])
        if len(made) == 1 and isinstance(node, ast.Name):
            found = _rows(side, made[0], depth - 1)
            return "part" if not found and _TRAINS.search(node.id) else found
        if isinstance(node, ast.Attribute) and node.attr in ("values", "T", "iloc", "loc", "data"):
            return _rows(side, node.value, depth - 1)
        return "part" if _TRAINS.search(last_name(node)) else ""
    if isinstance(node, ast.Subscript):
        at = node.slice
        if isinstance(at, ast.Constant) and isinstance(at.value, str) and _TRAINS.search(at.value):
            return "part"  # `parts["train"]`
        return _rows(side, node.value, depth - 1) if _of_columns(node) else "part"
    if isinstance(node, ast.Call):
        if last_name(node.func) in side.own and _cuts(side, last_name(node.func)):
            return ""
        if _READS.match(last_name(node.func)):
            texts = [n.value for a in node.args for n in walk(a) if isinstance(n, ast.Constant)]
            return "part" if any(isinstance(t, str) and _OF_TRAINING.search(t) for t in texts) else "whole"
        if isinstance(node.func, ast.Attribute) and not (
            isinstance(node.func.value, ast.Name) and node.func.value.id in _LIBRARY
        ):
            if last_name(node.func) in ("sample", "head", "tail", "query", "take", "filter", "groupby"):
                return "part"
            return _rows(side, node.func.value, depth - 1)
        return _rows(side, node.args[0], depth - 1) if node.args else ""
    return ""


def _cuts(side: Side, name: str) -> bool:
    """Whether a function of the program takes rows out of what it is given."""
    made = [f for f in side.source.of(ast.FunctionDef) if f.name == name]
    taken = [n for f in made for n in of(f, ast.Subscript) if isinstance(n.ctx, ast.Load)]
    return not made or any(not _of_columns(n) for n in taken if not _of_table(n))


def _of_table(node: ast.Subscript) -> bool:
    """`part[name]`: a column by a name that goes over names, or an item of a dict."""
    return isinstance(node.slice, ast.Name) and bool(re.search(r"(?i)^(?:name|key|kind|c|k)$", node.slice.id))


def _of_columns(node: ast.Subscript) -> bool:
    """`table["age"]`, `table[COLUMNS]`, `x[:, 1:3]`, `table.drop(...)`: every row of it."""
    at = node.slice
    if isinstance(at, ast.Tuple) and at.elts:
        first = at.elts[0]
        return (
            isinstance(first, ast.Slice)
            and first.lower is None
            and first.upper is None
            and first.step is None
        )
    if isinstance(at, ast.Constant):
        return isinstance(at.value, str)
    if isinstance(at, (ast.List, ast.JoinedStr)):
        return True
    return isinstance(at, ast.Name) and (
        at.id.isupper() or bool(re.search(r"(?i)col|feature|name|field", at.id))
    )
