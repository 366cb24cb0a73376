"""Metrics that callbacks and trainers watch: which way each gets better, and which way they are told."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.nodes import is_false
from ..shared.sides import literal, words

HIGHER = frozenset(
    (
        *(
            "acc",
            "accuracy",
            "f",
            "auc",
            "auroc",
            "map",
            "iou",
            "miou",
            "dice",
            "bleu",
            "rouge",
            "recall",
            "precision",
        ),
        *(
            "score",
            "top",
            "kappa",
            "mcc",
            "psnr",
            "ssim",
            "ndcg",
            "mrr",
            "reward",
            "r",
            "fscore",
            "em",
            "hits",
            "jaccard",
            "fitness",
        ),
    )
)
_LOWER = frozenset(
    (
        *(
            "loss",
            "error",
            "err",
            "mae",
            "mse",
            "rmse",
            "perplexity",
            "ppl",
            "wer",
            "cer",
            "fid",
            "nll",
            "eer",
            "mape",
        ),
        *("logloss", "bpc", "rmsle", "per", "ter"),
    )
)


_ONE_OF = {"losses": "loss", "accs": "acc", "scores": "score", "errors": "error"}


def better_when_higher(name: str) -> bool | None:
    """Which way a metric gets better, by its name; None where the name does not tell (or tells both)."""
    found = {*words(name), *re.split(r"[^a-z]+", name.lower())}
    if re.search(r"(?i)(?:^|[^a-z])(?:f|r)_?[12](?:[^0-9]|$)", name):
        found.add("score")
    found |= {w[1:] for w in found if w in ("vacc", "tacc", "vloss", "tloss", "verr", "terr", "vauc", "vmae")}
    found |= {_ONE_OF[w] for w in found if w in _ONE_OF}
    found -= {"f", "r"}
    lower, higher = bool(found & _LOWER), bool(found & HIGHER)
    return None if lower == higher else higher


def mode_reversed(source: Script) -> Finding | None:
    """What keeps the best is told to keep the worst: `ModelCheckpoint(monitor="val_loss", mode="max")`."""
    return _watched_reversed(source, lambda call: not only_stops(call))


def stops_while_improving(source: Script) -> Finding | None:
    """`EarlyStopping(monitor="val_loss", mode="max")`: what gets better is taken for getting worse."""
    return _watched_reversed(source, only_stops)


def only_stops(call: ast.Call) -> bool:
    """It ends the training and gives no weights back."""
    kept = keyword(call, "restore_best_weights")
    return last_name(call.func) == "EarlyStopping" and not (kept is not None and not is_false(kept))


def _watched_reversed(source: Script, asked: Callable[[ast.Call], bool]) -> Finding | None:
    seen: ast.AST | None = None
    for call in source.calls:
        metric = next((k.value for k in call.keywords if k.arg in _MONITORS), None)
        if metric is None and last_name(call.func) == "EarlyStopping" and call.args:
            metric = call.args[0]
        name = literal(source, metric)
        if not isinstance(name, str) or last_name(call.func).startswith("ReduceLR") or not asked(call):
            continue
        higher = better_when_higher(name)
        mode, greater = literal(source, keyword(call, "mode")), keyword(call, "greater_is_better")
        said: bool | None = {"max": True, "min": False}.get(str(mode))
        if greater is not None:
            value = literal(source, greater)
            said = value if isinstance(value, bool) else None
        if (
            said is None
            and keyword(call, "mode") is None
            and greater is None
            and _defaults_to_min(source, call)
        ):
            said = False
        if higher is None or said is None:
            continue
        seen = seen or call
        if higher != said:
            way = "higher" if higher else "lower"
            place = keyword(call, "mode") or greater or call
            return at(
                source, place, f"{name} is better when it is {way}, and the other way round is asked for"
            )
    return (
        ok(source, seen, "the monitored metric is compared the right way round") if seen is not None else None
    )


def _defaults_to_min(source: Script, call: ast.Call) -> bool:
    """Lightning's ModelCheckpoint and EarlyStopping take `mode="min"` where nothing is said."""
    spread = any(k.arg is None for k in call.keywords)
    known = last_name(call.func) in ("ModelCheckpoint", "EarlyStopping") and len(call.args) < 3 and not spread
    return known and "lightning" in source.code and "keras" not in source.code


_MONITORS = ("monitor", "metric_for_best_model", "monitor_metric", "early_stopping_metric")
