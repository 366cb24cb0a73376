"""Counts that a schedule is made of in scripts: samples for steps, steps over epochs, one for all steps."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse, walk
from ...readers.script import all_arguments, argument
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from .accumulated import moved_otherwise
from .warmups import longer_than_all

_SAMPLES = re.compile(r"(?i)(?:^|[._])(?:\w*(?:set|data|dataset|ds|samples|rows|examples|texts|windows))$")
_STEPS = re.compile(r"(?i)(?:^|_)(?:steps?|updates?|iters?|iterations|total)(?:_|$)")
_SCHEDULES = re.compile(r"(?i)schedul|LambdaLR|OneCycle|CosineAnnealing|Decay|warmup|get_lr|lr_at|_lr$")


def counted_otherwise(source: Script) -> Finding | None:
    """The length of a schedule is counted in another unit than its steps."""
    for look in (
        _samples_for_steps,
        _steps_over_epochs,
        _one_for_all,
        _warmup_beyond_end,
        longer_than_all,
        moved_otherwise,
    ):
        if (found := look(source)) is not None:
            return found
    return None


def _samples_for_steps(source: Script) -> Finding | None:
    """`updates = len(train_set) * epochs`, handed to a schedule, of a program that trains in batches."""
    if not re.search(r"batch_?size", source.code):
        return None
    for node in of(source.tree, ast.Assign):
        target, value = node.targets[0], node.value
        if (
            not isinstance(target, ast.Name)
            or not _STEPS.search(target.id)
            or not isinstance(value, ast.BinOp)
        ):
            continue
        if not isinstance(value.op, ast.Mult) or any(
            isinstance(n.op, (ast.Div, ast.FloorDiv)) for n in of(value, ast.BinOp)
        ):
            continue
        lengths = [unparse(c.args[0]) for c in of(value, ast.Call) if unparse(c.func) == "len" and c.args]
        samples = [t for t in lengths if _SAMPLES.search(t) and "load" not in t.lower()]
        samples = [t for t in samples if not re.search(rf"\b{re.escape(t)}\b.*\.batch\(", source.code)]
        if not samples or "epoch" not in unparse(value):
            continue
        if _goes_to_schedule(source, target.id, node):
            return at(source, node, f"{target.id} counts samples, and the schedule goes on with each batch")
    return None


def _goes_to_schedule(source: Script, name: str, node: ast.AST) -> bool:
    around = source.function_around(node) or source.tree
    for call in of(around, ast.Call):
        given = all_arguments(call)
        if any(isinstance(n, ast.Name) and n.id == name for g in given for n in walk(g)):
            keys = " ".join(k.arg or "" for k in call.keywords)
            if _SCHEDULES.search(unparse(call.func)) or re.search(
                r"warmup_steps|training_steps|total_steps", keys
            ):
                return True
    return False


def _steps_over_epochs(source: Script) -> Finding | None:
    """`(i - warmup_steps) / (total_epochs - warmup_epochs)`: a share of steps among epochs."""
    for node in of(source.tree, ast.BinOp):
        if not isinstance(node.op, ast.Div):
            continue
        if isinstance(node.left, ast.BinOp) and isinstance(node.left.op, (ast.Mult, ast.Div)):
            continue  # steps in an epoch, times epochs; a rate for each of both
        above, below = " ".join(_names(node.left)), " ".join(_names(node.right))
        steps = re.search(r"(?i)\b\w*(?:steps?|iters?)\b", above) and "epoch" not in above.lower()
        epochs = re.search(r"(?i)\b\w*epochs?\b", below) and not re.search(
            r"(?i)step|iter|batch|len|per_", below
        )
        if steps and epochs and re.search(r"(?i)lr|rate|sched|warm|decay|cos", _about(source, node)):
            return at(source, node, "a count of steps is divided by a count of epochs")
    return None


def _names(node: ast.AST) -> Iterator[str]:
    for inner in walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, ast.Attribute):
            yield inner.attr


def _about(source: Script, node: ast.AST) -> str:
    function = source.function_around(node)
    return f"{function.name if function else ''} {source.line(node)}"


def _one_for_all(source: Script) -> Finding | None:
    """`get_lr(cfg, 1)` for a parameter called `steps_per_epoch`, which the caller knows and leaves."""
    for function in of(source.tree, ast.FunctionDef):
        names = [a.arg for a in function.args.args]
        for name in (n for n in names if re.search(r"steps_per_epoch|total_steps|num_steps", n)):
            calls = flow(source).calls_of(function)
            for call in calls:
                place = names.index(name)
                given = argument(call, name, position=place)
                if not (isinstance(given, ast.Constant) and given.value == 1):
                    continue
                around = source.function_around(call) or source.tree
                known = [n for n in of(around, ast.Name) if n.id == name and isinstance(n.ctx, ast.Store)]
                if known:
                    return at(source, call, f"{name} is known here, and one is handed on in its place")
    return None


def _warmup_beyond_end(source: Script) -> Finding | None:
    """Settings that stand together: a warm-up of more steps than the run has."""
    for numbers, node in _settings(source):
        for name, warm in numbers.items():
            stem = re.fullmatch(r"(\w*?)_?warm_?up(?:_(?:steps|iters|updates))?", name)
            if stem is None or warm < 2:
                continue
            prefix = stem.group(1)
            for kind in ("steps", "iters", "updates", "max_steps", "total_steps", "max_iters", "num_steps"):
                end = numbers.get(f"{prefix}_{kind}" if prefix else kind)
                if end is not None and end > 1 and warm > end:
                    return at(source, node, f"the warm-up takes {warm:g} steps, and the run has {end:g}")
    return None


def _settings(source: Script) -> Iterator[tuple[dict[str, float], ast.AST]]:
    for node in of(source.tree, ast.Dict, ast.Call):
        pairs: list[tuple[str, ast.expr]] = []
        if isinstance(node, ast.Dict):
            keys = [k.value if isinstance(k, ast.Constant) else None for k in node.keys]
            pairs = [(k, v) for k, v in zip(keys, node.values, strict=True) if isinstance(k, str)]
        elif unparse(node.func) in ("dict", "SimpleNamespace", "EasyDict", "edict"):
            pairs = [(k.arg, k.value) for k in node.keywords if k.arg]
        numbers = {
            k: float(v.value)
            for k, v in pairs
            if isinstance(v, ast.Constant)
            and isinstance(v.value, (int, float))
            and not isinstance(v.value, bool)
        }
        if len(numbers) > 1:
            yield numbers, node
