"""Keras's callbacks in scripts: by what the best epoch is chosen, and whether its weights are scored."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.sides import literal

_OF_TRAINING = re.compile(
    r"loss|acc|accuracy|mae|mse|auc|(?!val_)\w*categorical_accuracy|binary_accuracy",
)
_OF_DATA = ("np", "numpy", "json", "yaml", "toml", "joblib", "pickle", "pd")


def training_watched(source: Script) -> Finding | None:
    """The best epoch is chosen by `loss` or `accuracy` of training, while `fit` has held-out data."""
    if "keras" not in source.text:
        return None
    held = [
        c
        for c in source.named("fit")
        if keyword(c, "validation_data") is not None or keyword(c, "validation_split") is not None
    ]
    fits = [c for c in source.named("fit") if isinstance(c.func, ast.Attribute) and keyword(c, "epochs")]
    if not held or len(held) < len(fits):
        return None
    seen: ast.AST | None = None
    for call in source.named("ModelCheckpoint", "EarlyStopping"):
        watched = literal(source, argument(call, "monitor", position=_PLACES[last_name(call.func)]))
        keeps = literal(source, keyword(call, "save_best_only")) or literal(
            source, keyword(call, "restore_best_weights")
        )
        if not isinstance(watched, str) or keeps is not True:
            continue
        seen = seen or call
        if _OF_TRAINING.fullmatch(watched) or watched in _metric_names(source):
            return at(source, call, f"the best epoch is chosen by `{watched}` of the training data")
    return ok(source, seen, "the best epoch is chosen by held-out data") if seen is not None else None


_PLACES = {"ModelCheckpoint": 1, "EarlyStopping": 0}  # where the name stands that is watched


def _metric_names(source: Script) -> set[str]:
    """What Keras calls a model's metrics on its training data; those on held-out data begin with `val_`."""
    found = {
        name
        for c in source.calls
        if "metric" in unparse(c.func).lower()
        and isinstance(name := literal(source, keyword(c, "name")), str)
    }
    for owner in source.of(ast.ClassDef):
        if not any(last_name(b) == "Metric" for b in owner.bases):
            continue
        for function in (f for f in owner.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"):
            args = [*function.args.posonlyargs, *function.args.args]
            pairs = zip(reversed(args), reversed(function.args.defaults), strict=False)
            told = [literal(source, d) for a, d in pairs if a.arg == "name"]
            found |= {t for t in told if isinstance(t, str)}
        for call in source.named(owner.name):
            name = literal(source, keyword(call, "name"))
            found |= {name} if isinstance(name, str) else set()
    for call in source.named("compile"):
        given = keyword(call, "metrics")
        texts = [n.value for n in of(given, ast.Constant)] if given is not None else []
        found |= {t for t in texts if isinstance(t, str)}
    return {n for n in found if not n.startswith("val_")}


def best_left_on_disk(source: Script) -> Finding | None:
    """`ModelCheckpoint(save_best_only=True)`, nobody reads the file, and the test scores the last weights."""
    if "keras" not in source.text or source.loose:
        return None
    kept = [
        c for c in source.named("ModelCheckpoint") if literal(source, keyword(c, "save_best_only")) is True
    ]
    if not kept:
        return None
    reads = source.named("load_weights", "load_model", "restore", "read", "load", "latest_checkpoint")
    reads = tuple(c for c in reads if source.owner(c) not in _OF_DATA)
    back = [
        c
        for c in source.named("EarlyStopping")
        if literal(source, keyword(c, "restore_best_weights")) is not False
        and keyword(c, "restore_best_weights") is not None
    ]
    if reads or back:
        return ok(source, (*reads, *back)[0], "the best weights are read back")
    fits = [c for c in source.named("fit") if isinstance(c.func, ast.Attribute)]
    if not fits:
        return None
    last = max(c.lineno for c in fits if source.function_around(c) is source.function_around(fits[-1]))
    owners = {unparse(c.func.value) for c in fits if isinstance(c.func, ast.Attribute)}
    owners |= {unparse(n.targets[0]) for n in source.of(ast.Assign) if unparse(n.value) in owners}
    for call in source.named("evaluate", "predict"):
        if (
            not isinstance(call.func, ast.Attribute)
            or unparse(call.func.value) not in owners
            or not call.args
        ):
            continue
        same = source.function_around(call) is source.function_around(fits[-1])
        tests = re.search(r"(?i)(?:^|_)te?st", " ".join(names_in(call.args[0])))
        if same and call.lineno > last and tests:
            return at(source, call, "the last weights are scored, and the best were saved and are never read")
    return None
