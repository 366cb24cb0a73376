"""Answers and truths of scripts that are of unlike rows: filtered apart, shuffled, of another fold."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow, returns
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.sides import literal, side


def filtered_apart(source: Script) -> Finding | None:
    """`[a for a, b in zip(p, t) if a != 0]` beside `[b for a, b in zip(p, t) if b != -100]`."""
    found: dict[tuple[ast.AST | None, str, str], list[ast.comprehension]] = {}
    for comp in source.of(ast.ListComp):
        loop = comp.generators[0]
        if len(comp.generators) == 1 and len(loop.ifs) == 1 and isinstance(loop.target, ast.Tuple):
            if isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) == "zip":
                key = (source.function_around(comp), unparse(loop.target), unparse(loop.iter))
                found.setdefault(key, []).append(loop)
    for (_, target, _), loops in found.items():
        if len(loops) != 2:
            continue
        one, other = (names_in(c.ifs[0]) for c in loops)
        own = [names_in(source.parents[c].elt) for c in loops]  # type: ignore[attr-defined]
        parts = set(target.strip("()").split(", "))
        first, second = one & parts, other & parts
        if first and second and not first & second and not own[0] & own[1] & parts:
            return at(
                source,
                loops[0].iter,
                "answers and truths are filtered by unlike conditions: they are of other places",
            )
    return None


_METRICS = (
    "roc_auc_score",
    "log_loss",
    "accuracy_score",
    "f1_score",
    "average_precision_score",
    "mean_squared_error",
    "mean_absolute_error",
    "r2_score",
    "cohen_kappa_score",
    "matthews_corrcoef",
    "precision_score",
    "recall_score",
    "brier_score_loss",
)


def scored_in_another_order(source: Script) -> Finding | None:
    """`DataLoader(val, shuffle=True)`, and its answers alone are held against a column of the table."""
    for loader in source.named("DataLoader"):
        shuffle = keyword(loader, "shuffle")
        statement = source.statement(loader)
        if shuffle is None or literal(source, shuffle) is not True or not isinstance(statement, ast.Assign):
            continue
        name = statement.targets[0]
        if not isinstance(name, ast.Name) or side(name.id) is True:
            continue
        for call in source.calls:
            if not any(isinstance(a, ast.Name) and a.id == name.id for a in call.args):
                continue
            if _answers_alone(source, call) and _held_against_else(source, call, name.id):
                why = "hands out rows in a drawn order, and its answers are held against the table's"
                return at(source, loader, f"`{name.id}` {why}")
    return None


def _answers_alone(source: Script, call: ast.Call) -> bool:
    """The function gives back one value, reads no truth of its batches, and learns nothing."""
    functions = flow(source).called(call)
    if not functions or any(takes_gradients(source, f) for f in functions):
        return isinstance(call.func, ast.Attribute) and last_name(call.func) == "predict" and not functions
    for function in functions:
        ends = returns(function)
        if not ends or any(isinstance(e, (ast.Tuple, ast.Dict)) for e in ends):
            return False
        text = unparse(function)
        if any(w in text for w in ("target", "label", "truth", "loss", "correct", "_score(")):
            return False
    return True


def _held_against_else(source: Script, call: ast.Call, loader: str) -> bool:
    statement = source.statement(call)
    if not isinstance(statement, ast.Assign) or statement.value is not call:
        return False
    target = statement.targets[0]
    if not isinstance(target, ast.Name):
        return False
    for metric in source.named(*_METRICS):
        if source.function_around(metric) is not source.function_around(call) or len(metric.args) < 2:
            continue
        with_it = [a for a in metric.args[:2] if target.id in names_in(a)]
        others = [a for a in metric.args[:2] if target.id not in names_in(a)]
        if len(with_it) == 1 and len(others) == 1 and loader not in names_in(others[0]):
            behind = [unparse(v) for v in flow(source).values(others[0], 3)]
            if not any(loader in b for b in behind):
                return True
    return False


def weights_of_another_fold(source: Script) -> Finding | None:
    """`save(net, f"f{fold}.pth")` in a loop over folds that reads `"f0.pth"` for each of them.

    Also in a function that is given the fold.
    """
    for loop in source.of(ast.For, ast.FunctionDef):
        own = {a.arg for a in loop.args.args} if isinstance(loop, ast.FunctionDef) else names_in(loop.target)
        saved = [
            c
            for c in of(loop, ast.Call)
            if last_name(c.func) in ("save", "save_weights", "save_checkpoint", "save_model")
            and any(
                names_in(a) & own
                for a in (*c.args, *(k.value for k in c.keywords))
                if isinstance(a, ast.JoinedStr)
            )
        ]
        forms = [_shape(a, own) for c in saved for a in c.args if isinstance(a, ast.JoinedStr)]
        for call in of(loop, ast.Call):
            if last_name(call.func) not in ("load", "load_weights", "load_checkpoint", "load_model"):
                continue
            for given in call.args:
                if isinstance(given, ast.Constant) and isinstance(given.value, str):
                    if any(re.fullmatch(form, given.value) for form in forms):
                        return at(source, call, "each fold reads the weights of one and the same fold")
    return None


def _shape(text: ast.JoinedStr, own: set[str]) -> str:
    """The names of files that an f-string may make, with a number for what the loop counts."""
    parts = [
        re.escape(str(v.value)) if isinstance(v, ast.Constant) else r"\d+" if names_in(v) & own else ".+"
        for v in text.values
    ]
    return "".join(parts)
