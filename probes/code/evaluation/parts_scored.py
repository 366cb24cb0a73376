"""Evaluations of scripts that score a part of what they go over: batches left out, the ends of lists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Function, Script
from ..shared.checks import at, gone_over, is_evaluation, ok
from ..shared.nodes import is_appended_to, whole_number
from ..shared.roles import model_calls

_METRIC = re.compile(
    r"(?:_score|_error|_loss|_report|_matrix|_auc|^auc|accuracy|^f1|^mae|^mse|^rmse|^r2|kappa|recall|precision)$"
)
_TOOLS = ("list", "tuple", "sorted")


def part_of_held_out(source: Script) -> Finding | None:
    """`for x, y in list(loader)[:-1]`, `f1_score(gold[-256:], pred[-256:])`, `preds[-1]` of a list."""
    for look in (_batches_left_out, _ends_scored, _last_of_list):
        if (found := look(source)) is not None:
            return found
    return None


def _batches_left_out(source: Script) -> Finding | None:
    """The loop that scores leaves out its first or last batch, or stops after some."""
    scored = [c for c in model_calls(source) if is_evaluation(source, c)]
    for call in scored:
        for loop in source.loops_around(call)[:1]:
            if not isinstance(loop, ast.For) or takes_gradients(source, loop):
                continue
            over = gone_over(loop.iter)
            if isinstance(over, ast.Subscript) and isinstance(over.slice, ast.Slice):
                whole = over.value
                made = isinstance(whole, ast.Call) and last_name(whole.func) in _TOOLS
                if made and _constant(over.slice):
                    return at(source, over, "batches of the held-out data are left out of the score")
    return None


def _constant(cut: ast.Slice) -> bool:
    ends = [e for e in (cut.lower, cut.upper) if e is not None]
    return bool(ends) and cut.step is None and all(whole_number(e) is not None for e in ends)


def _ends_scored(source: Script) -> Finding | None:
    """A metric is given the same cut by numbers of what was kept of all batches, truth and answers."""
    for call in source.calls:
        if not _METRIC.search(last_name(call.func)) or len(call.args) < 2:
            continue
        cuts = [a for a in call.args[:2] if isinstance(a, ast.Subscript) and isinstance(a.slice, ast.Slice)]
        if len(cuts) != 2 or unparse(cuts[0].slice) != unparse(cuts[1].slice):
            continue
        if not isinstance(cuts[0].slice, ast.Slice) or not _constant(cuts[0].slice):
            continue
        function = source.function_around(call)
        names = [c.value.id for c in cuts if isinstance(c.value, ast.Name)]
        if function is not None and len(names) == 2 and all(n in _kept(function) for n in names):
            return at(source, call, "a part of what was kept of the held-out data is scored")
    return None


def _kept(function: Function) -> frozenset[str]:
    """Lists that grow in the loops of a function."""
    return frozenset(
        unparse(c.func.value)
        for loop in of(function, ast.For)
        for c in of(loop, ast.Call)
        if isinstance(c.func, ast.Attribute) and c.func.attr in ("append", "extend")
    )


def _last_of_list(source: Script) -> Finding | None:
    """Batches are put into a list, and all that is read of it afterwards is its last entry."""
    for call in model_calls(source):
        function = source.function_around(call)
        if function is None or not is_evaluation(source, call) or takes_gradients(source, function):
            continue
        for name in sorted(_kept(function)):
            reads = [
                n
                for n in of(function, ast.Name)
                if n.id == name and isinstance(n.ctx, ast.Load) and not is_appended_to(source, n)
            ]
            ends = [source.parents.get(n) for n in reads]
            if not reads or not all(isinstance(e, ast.Subscript) and unparse(e.slice) == "-1" for e in ends):
                continue
            if not _answers(source, function, name, call):
                continue
            if any(isinstance(p, ast.For) for p in source.above(reads[0]) if function in source.above(p)):
                continue
            return at(source, ends[0] or call, "of all batches that were kept, the last one alone is scored")
    return None


def _answers(source: Script, function: Function, name: str, call: ast.Call) -> bool:
    """What the model gave is put into the list."""
    made = _names_of(source, call)
    for one in of(function, ast.Call):
        if isinstance(one.func, ast.Attribute) and one.func.attr in ("append", "extend"):
            if unparse(one.func.value) == name and one.args:
                if call in of(one.args[0], ast.Call) or made & names_in(one.args[0]):
                    return True
    return False


def _names_of(source: Script, call: ast.Call) -> set[str]:
    statement = source.statement(call)
    if not isinstance(statement, ast.Assign):
        return set()
    return {n.id for t in statement.targets for n in of(t, ast.Name)}


def hits_over_batches(source: Script) -> Finding | None:
    """`sum(g == p for g, p in zip(gold, pred)) / len(loader)`: hits of samples over the number of batches."""
    for node in source.of(ast.BinOp):
        function = source.function_around(node)
        if not isinstance(node.op, ast.Div) or function is None:
            continue
        loaders = {unparse(gone_over(f.iter)) for f in of(function, ast.For)}
        below = re.fullmatch(r"\(?len\(([\w.]+)\)(?: \* \d+)?\)?", unparse(node.right))
        if below is None or below[1] not in loaders or not isinstance(node.left, ast.Call):
            continue
        if last_name(node.left.func) != "sum" or not of(node.left, ast.Compare):
            continue
        if names_in(node.left) & _kept(function) and not source.loops_around(node):
            if any("batch_size=1" in unparse(c) for c in source.named("DataLoader")):
                return None
            return at(source, node, "hits of samples are divided by the number of batches")
    return None


def along_samples(source: Script) -> Finding | None:
    """`p.argmax(axis=0)` where `p.argmax(axis=1)` is asked elsewhere: the best sample of a class."""
    asked: dict[str, dict[str, list[ast.Call]]] = {}
    for call in _argmaxes(source):
        owner, axis = call
        asked.setdefault(unparse(owner.func.value), {}).setdefault(axis, []).append(owner)  # type: ignore[attr-defined]
    seen: ast.AST | None = None
    for axes in asked.values():
        right = axes.get("1", []) + axes.get("-1", [])
        seen = seen or (right[0] if right else None)
        wrong = axes.get("0", [])
        if right and wrong and not any(isinstance(p, ast.If) for p in source.above(wrong[0])):
            return at(
                source, wrong[0], "the likeliest sample of each class is taken, not the likeliest class"
            )
    return ok(source, seen, "classes are looked for along their axis") if seen is not None else None


def _argmaxes(source: Script) -> Iterator[tuple[ast.Call, str]]:
    for call in source.named("argmax"):
        if not isinstance(call.func, ast.Attribute) or unparse(call.func.value) in ("np", "torch"):
            continue
        given = argument(call, position=0)
        given = given or next((k.value for k in call.keywords if k.arg in ("axis", "dim")), None)
        if given is not None:
            yield call, unparse(given)
