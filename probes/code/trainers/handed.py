"""What scripts hand to a trainer or an engine that runs a part of the training step for them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import argument, last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..ranks.wrapped import past_the_engine
from ..shared.checks import at, first, ok
from ..shared.nodes import is_false, is_none
from ..shared.sides import either
from .deepspeed import bypassed_engine


@probe()
def step_returns_nothing(view: View) -> Finding:
    """A Lightning `training_step` gives back no loss: the trainer skips the batch, and nothing is updated.

    Left aside: manual optimization, steps that only raise, generators, and steps that call another one.
    """
    return first(view, _returns_nothing, "the scripts hand no training step to a trainer")


def _returns_nothing(source: Script) -> Finding | None:
    seen: ast.AST | None = None
    for owner in source.classes.values():
        methods = {f.name: f for f in owner.body if isinstance(f, ast.FunctionDef)}
        step = methods.get("training_step")
        made = methods.get("configure_optimizers")
        if step is not None and made is not None and _nothing_by_hand(owner) and _gives(made):
            why = "automatic optimization is off, and nothing in the module steps the optimizer"
            return at(source, _switch(owner) or step, why)
        if step is not None and made is not None and _manual_unsaid(owner, step):
            why = "the step runs the optimizers by hand, and automatic optimization is not switched off"
            return at(source, step, why)
        if step is None or made is None or _by_hand(owner) or not _gives(made):
            continue  # `configure_optimizers` without any: nothing is meant to train
        inside = list(_own(step))
        if any(isinstance(n, (ast.Yield, ast.YieldFrom, ast.Raise)) for n in inside) or _is_empty(step):
            continue
        seen = seen or step
        if not _gives(step):
            return at(source, step, "the training step gives back no loss, so the trainer updates nothing")
    return ok(source, seen, "the training step gives its loss back") if seen is not None else None


def _gives(function: Function) -> bool:
    """A value is returned."""
    return any(isinstance(n, ast.Return) and not _is_none(n.value) for n in _own(function))


def _by_hand(owner: ast.ClassDef) -> bool:
    """The class runs its optimizers itself: `automatic_optimization = False`."""
    text = unparse(owner)
    return (
        "automatic_optimization" in text or re.search(r"\bmanual_backward\(|\.backward\(", text) is not None
    )


def _manual_unsaid(owner: ast.ClassDef, step: Function) -> bool:
    """`self.manual_backward(loss); opt.step()` in a module of Lightning that never says it is by hand."""
    plain = [unparse(b).rsplit(".", 1)[-1] for b in owner.bases] == ["LightningModule"]
    called = {last_name(c.func) for c in of(step, ast.Call)}
    by_hand = {"manual_backward", "step"} <= called
    return plain and by_hand and "automatic_optimization" not in unparse(owner)


_BY_HAND = re.compile(
    r"manual_backward\(|\.backward\(|(?<!configure_)optimizers\(|toggle_optimizer|opt\w*\.step\("
    r"|super\(\)\.training_step\("
)


def _nothing_by_hand(owner: ast.ClassDef) -> bool:
    """`self.automatic_optimization = False`, and the class neither takes gradients nor applies any."""
    return (
        _switch(owner) is not None and _BY_HAND.search(unparse(owner).replace("super().__init__", "")) is None
    )


def _switch(owner: ast.ClassDef) -> ast.Assign | None:
    for node in of(owner, ast.Assign):
        if unparse(node.targets[0]).endswith("automatic_optimization"):
            if is_false(node.value):
                return node
    return None


def _own(function: Function) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions inside it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            waiting += ast.iter_child_nodes(node)


def _is_none(value: ast.expr | None) -> bool:
    return value is None or is_none(value)


def _is_empty(function: Function) -> bool:
    """Nothing but a text, `pass` or `...`."""
    return all(
        isinstance(s, ast.Pass) or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
        for s in function.body
    )


# ------------------------------------------------------------------------------------------- Accelerate


@probe()
def not_prepared(view: View) -> Finding:
    """`accelerator.backward(loss)` over a model that `accelerator.prepare` never got.

    Neither the data-parallel wrapper nor mixed precision is then in force. Left aside: classes derived from
    a trainer of elsewhere, which prepares itself.
    """
    return first(view, _not_prepared, "the scripts do not train with Accelerate")


def _not_prepared(source: Script) -> Finding | None:
    calls = [c for c in source.backwards if is_accelerator(source, c)]
    if not calls or source.loose or not source.named("Accelerator"):
        return None  # what is handed an accelerator may be handed what that has prepared
    if any(_derives_from_trainer(source, c) for c in calls):
        return None
    prepared = [c for c in source.named("prepare", "prepare_model") if is_accelerator(source, c)]
    if (found := _one_of_two(source, prepared, "model")) is not None:
        return found
    for call in prepared:
        if last_name(call.func) == "prepare_model" or any(_trains(source, a) for a in call.args):
            return ok(source, call, "the model is prepared")
    others = [c for c in source.calls if re.search(r"prepare", last_name(c.func)) and c not in prepared]
    if others or not source.steps:
        return None
    return at(source, calls[0], "neither model nor optimizer goes through accelerator.prepare")


def is_accelerator(source: Script, call: ast.Call) -> bool:
    """A method of Accelerate's object, by its usual name or by what the name was given."""
    owner = source.owner(call)
    if re.search(r"(?i)(?:^|\.)_?accelerator$", owner):
        return True
    made = [a for a in of(source.tree, ast.Assign) if isinstance(a.value, ast.Call)]
    return any(
        last_name(a.value.func) == "Accelerator" and owner in map(unparse, a.targets)
        for a in made
        if isinstance(a.value, ast.Call)
    )


def _one_of_two(source: Script, prepared: list[ast.Call], left: str) -> Finding | None:
    """`optimizer, loader = accelerator.prepare(optimizer, loader)`: the model is left out, or the optimizer.

    Told by names that hold a model of this script, or an optimizer; several calls count together.
    """
    given = [a for c in prepared for a in c.args]
    names = {unparse(a) for a in given}
    plain = all(isinstance(a, (ast.Name, ast.Attribute)) for a in given)
    if not given or not plain or any(last_name(c.func) != "prepare" for c in prepared):
        return None
    models = {n for n in names if re.search(r"(?i)model|net$|module", n) and not re.search(r"(?i)opt", n)}
    models |= {unparse(a) for a in given if flow(source).made(a) in source.modules}
    optimizers = {n for n in names if n.lower() in source.optimizers or re.search(r"(?i)opt", n)}
    if left == "model" and not models and optimizers and _models_left(source, names):
        return at(source, prepared[0], "the optimizer is prepared, and the model is not")
    if left == "optimizer" and models and not optimizers and source.optimizers and source.steps:
        return at(source, prepared[0], "the model is prepared, and the optimizer that steps is not")
    return None


def _models_left(source: Script, names: set[str]) -> bool:
    """A model of the script is put on the accelerator's device by hand."""
    return any(
        isinstance(c.func, ast.Attribute)
        and re.search(r"(?i)(?:^|\.)(?:model|net)$", unparse(c.func.value))
        and unparse(c.func.value) not in names
        and c.args
        and unparse(c.args[0]).endswith(".device")
        for c in source.named("to")
    )


def _trains(source: Script, given: ast.expr) -> bool:
    """A model or an optimizer, and no data: by its name, by what it was made of, or a list of them."""
    if isinstance(given, ast.Starred):
        return True
    text = unparse(given).lower()
    if re.search(r"load|data|(?:^|[._])dl$|sched", text):
        return False
    if re.search(r"model|net|module|opt|unet|policy|critic|encoder|decoder|gan|vae", text):
        return True
    return flow(source).made(given) in source.modules or text in source.optimizers


def _derives_from_trainer(source: Script, node: ast.AST) -> bool:
    """The class around, or one it derives from, comes from elsewhere and trains by itself."""
    owner = source.class_around(node)
    return owner is not None and any(
        last_name(b).endswith("Trainer") and last_name(b) not in source.classes for b in owner.bases
    )


@probe()
def engine_bypassed(view: View) -> Finding:
    """`loss.backward()` beside a model that Accelerate or Fabric prepared: its scaling is left out.

    `accelerator.backward(loss)` scales the loss in fp16 and divides it by the number of micro batches.
    """
    return first(
        view,
        either(_bypassed, _optimizer_left, bypassed_engine, past_the_engine),
        "the scripts hand no model to Accelerate or Fabric",
    )


def _optimizer_left(source: Script) -> Finding | None:
    """The optimizer steps by itself, with each micro-batch, and on gradients that are still scaled."""
    if source.loose or not any(is_accelerator(source, c) for c in source.backwards):
        return None
    prepared = [c for c in source.named("prepare", "prepare_model") if is_accelerator(source, c)]
    return _one_of_two(source, prepared, "optimizer")


def _bypassed(source: Script) -> Finding | None:
    made = [
        c
        for c in source.calls
        if last_name(c.func) in ("Accelerator", "Fabric") and not re.search("lightning_lite", unparse(c.func))
    ]
    handed = [
        c for c in source.named("prepare", "setup") if re.search(r"(?i)accelerator|fabric", source.owner(c))
    ]
    handed = [c for c in handed if any(_trains(source, a) for a in c.args)]
    if not handed or not (made or source.trains):
        return None
    through = [
        c for c in source.backwards if c.args and re.search(r"(?i)accelerator|fabric", source.owner(c))
    ]
    files = {source.place(c).file for c in handed} - {source.place(c).file for c in through}
    plain = [c for c in source.backwards if source.place(c).file in files]
    plain = [c for c in plain if not c.args and not _scaled(c)]
    if through and not plain:
        return ok(source, through[0], "the loss goes through the backward of the engine")
    if not plain or source.loose:
        return None
    return at(source, plain[0], "this backward goes past the engine, which scales and divides the loss")


def _scaled(call: ast.Call) -> bool:
    """A scaler of the script's own: `scaler.scale(loss).backward()`."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else call
    return any(last_name(n.func) == "scale" for n in of(owner, ast.Call))


# -------------------------------------------------------------------------------------------- MindSpore


def gradient_weights(source: Script) -> list[tuple[ast.Call, ast.expr]]:
    """What MindSpore takes gradients for: `value_and_grad(fn, None, weights)`."""
    if "mindspore" not in source.frameworks:
        return []
    found: list[tuple[ast.Call, ast.expr]] = []
    makers = {
        unparse(t)
        for n in source.of(ast.Assign)
        if isinstance(n.value, ast.Call) and last_name(n.value.func) == "GradOperation"
        for t in n.targets
    }
    found += [(c, c.args[1]) for c in source.calls if len(c.args) == 2 and unparse(c.func) in makers]
    for call in source.named("value_and_grad", "grad"):
        weights = argument(call, "weights", position=2)
        if weights is not None and not isinstance(weights, ast.Constant):
            found.append((call, weights))
    return found
