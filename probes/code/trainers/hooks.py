"""What Lightning and the Hugging Face Trainer run by themselves: which hooks, and how often."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name, receiver
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.sides import literal
from ..shared.units import EPOCH, STEP

_WITH_BATCHES = frozenset(
    (
        *("training_step", "on_train_batch_end", "on_train_batch_start", "on_after_backward"),
        *("on_before_zero_grad", "on_before_optimizer_step", "optimizer_step", "training_step_end"),
        *("compute_loss", "on_step_end", "on_step_begin", "on_substep_end", "on_optimizer_step"),
    )
)
_WITH_EPOCHS = frozenset(
    (
        *("on_train_epoch_end", "on_train_epoch_start", "training_epoch_end", "on_epoch_end"),
        *("on_validation_epoch_end", "validation_epoch_end", "on_validation_end", "on_epoch_begin"),
    )
)
_ALWAYS = re.compile(r"^[\w.]+\.training$|is not None(?: and [\w.]+\.training)?$")
_ENDS_EPOCH = re.compile(r"is_last_batch|num_training_batches|len\(")


@lru_cache(maxsize=16)
def lightning(source: Script) -> tuple[ast.ClassDef, ...]:
    """The modules that Lightning trains: classes with a training step and optimizers."""
    if "lightning" not in source.code:
        return ()
    return tuple(
        c for c in source.classes.values() if {"training_step", "configure_optimizers"} <= set(methods(c))
    )


def methods(owner: ast.ClassDef) -> dict[str, Function]:
    """The methods of a class by name."""
    return {f.name: f for f in owner.body if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef))}


def automatic(owner: ast.ClassDef) -> bool:
    """Lightning runs the optimizers: nothing in the class says otherwise, and nothing in it steps any."""
    return re.search(r"automatic_optimization|manual_backward\(|self\.optimizers\(", unparse(owner)) is None


@lru_cache(maxsize=16)
def hugging_face(source: Script) -> tuple[ast.Call, ...]:
    """Calls that make a Trainer of transformers, of a class of the script that derives from it too."""
    if "transformers" not in source.code or lightning(source):
        return ()
    own = {n for n, c in source.classes.items() if any(last_name(b).endswith("Trainer") for b in c.bases)}
    return tuple(
        c
        for c in source.calls
        if last_name(c.func) in own or last_name(c.func) in ("Trainer", "Seq2SeqTrainer")
    )


def hook_runs_per(source: Script, node: ast.AST) -> str | None:
    """How often a line in a trainer's hook runs: with every batch, every epoch, or None: not told."""
    function = source.function_around(node)
    if function is None or source.class_around(node) is None:
        return None
    tests = [p.test for p in source.above(node) if isinstance(p, ast.If)]
    tests = [t for t in tests if not _ALWAYS.search(unparse(t))]  # while it trains, with what there is
    if function.name in _WITH_EPOCHS:
        return EPOCH if not tests else None
    if function.name not in _WITH_BATCHES:
        return None
    if not tests:
        return STEP
    return EPOCH if len(tests) == 1 and _ENDS_EPOCH.search(unparse(tests[0])) else None


@lru_cache(maxsize=16)
def epochs(source: Script) -> float | None:
    """How many epochs the trainer is told to run, where the code says it."""
    given = [keyword(c, "max_epochs") for c in source.named("Trainer")]
    given += [
        keyword(c, "num_train_epochs") for c in source.calls if "TrainingArguments" in last_name(c.func)
    ]
    found = {number_behind(source, g) for g in given if g is not None}
    return found.pop() if len(found) == 1 else None


def number_behind(source: Script, node: ast.expr) -> float | None:
    """The number that an expression stands for, of a dict of settings too."""
    ends = flow(source).values(node, 6) if isinstance(node, ast.Subscript) else [node]
    found = {literal(source, e) for e in ends}
    value = found.pop() if len(found) == 1 else None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def training_arguments(source: Script) -> dict[str, ast.expr]:
    """What the Trainer of transformers is told, by name: in its arguments, or set on them afterwards."""
    found: dict[str, ast.expr] = {}
    made: set[str] = set()
    for call in source.calls:
        if last_name(call.func).endswith("TrainingArguments"):
            found |= {k.arg: k.value for k in call.keywords if k.arg}
            parent = source.parents.get(call)
            made |= {unparse(t) for t in parent.targets} if isinstance(parent, ast.Assign) else set()
    for call in hugging_face(source):
        if (given := keyword(call, "args")) is not None and isinstance(given, (ast.Name, ast.Attribute)):
            made.add(unparse(given))
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Attribute) and unparse(target.value) in made:
            found[target.attr] = node.value
    return found


def scheduler_steps(owner: ast.ClassDef) -> tuple[list[ast.Call], bool]:
    """Calls that move what `self.lr_schedulers()` gives, and whether all that it gives is moved.

    The second is False where a part of it is unpacked and left alone.
    """
    moved: list[ast.Call] = []
    whole = True
    for function in methods(owner).values():
        names: dict[str, bool] = {}
        for node in of(function, ast.Assign, ast.For):
            value = node.value if isinstance(node, ast.Assign) else node.iter
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            asked = any(last_name(c.func) == "lr_schedulers" for c in of(value, ast.Call))
            if asked or (isinstance(value, ast.Name) and value.id in names):
                names |= {n.id: isinstance(target, ast.Tuple) for n in of(target, ast.Name)}
        steps = [c for c in of(function, ast.Call) if last_name(c.func) == "step"]
        mine = set()
        for call in steps:
            held = receiver(call)
            while isinstance(held, ast.Subscript):
                held = held.value
            direct = isinstance(held, ast.Call) and last_name(held.func) == "lr_schedulers"
            if direct or (isinstance(held, ast.Name) and held.id in names):
                moved.append(call)
                mine.add(held.id if isinstance(held, ast.Name) else "")
        parts = {n for n, unpacked in names.items() if unpacked}
        if mine & parts and not parts <= mine:
            whole = False
    return moved, whole
