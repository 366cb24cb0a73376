"""Where scripts take gradients and where they apply them, in any framework.

`Script.backwards` and `Script.steps` know calls of `backward` and `step`. What most checks ask is only
whether a loop or a function learns: `taken` and `updates` answer this for functional gradients as well.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from ..readers._tree import unparse
from ..readers.script import last_name
from .syntax import Function, Script

_MAKES_GRADIENTS = ("value_and_grad", "grad", "GradOperation")
_ONE_STEP = re.compile(r"^TrainOneStep(?:With\w+)?Cell$")
_COMPILES = ("jit", "pmap", "partial", "ms_function", "function")


@lru_cache(maxsize=64)
def taken(source: Script) -> tuple[ast.Call, ...]:
    """Calls that take gradients, in source order.

    `loss.backward()`, `tape.gradient(loss, weights)`, a call of what `value_and_grad(f)`, `jax.grad(f)` or
    `GradOperation()(net, weights)` gave, or of a MindSpore cell that does one step of training.
    """
    found = [*source.backwards]
    found += [c for c in source.named("gradient") if c.args and "tape" in source.owner(c).lower()]
    made = _gradient_functions(source)
    cells = _step_cells(source)
    for call in source.calls if made or cells or source.named(*_MAKES_GRADIENTS) else ():
        inner = call.func
        through = isinstance(inner, ast.Call) and _makes_gradients(inner, made)
        if through or unparse(inner) in made | cells:
            found.append(call)
    return tuple(sorted(dict.fromkeys(found), key=lambda c: (c.lineno, c.col_offset)))


@lru_cache(maxsize=64)
def updates(source: Script) -> tuple[ast.Call, ...]:
    """Calls that change the weights, in source order.

    `optimizer.step()`, `optimizer.apply_gradients(...)`, Keras 3's `optimizer.apply(grads, weights)`,
    MindSpore's `optimizer(gradients)`, a call of a cell
    that does one step of training.
    """
    found = [*source.steps, *source.named("apply_gradients", "apply_gradient", "apply_updates")]
    found += [c for c in source.named("apply", "stateless_apply") if source.is_optimizer_step(c)]
    cells = _step_cells(source)
    called = source.optimizers if "mindspore" in source.frameworks else frozenset()
    for call in source.calls if cells or called else ():
        text = unparse(call.func)
        if (
            text in cells
            or (call.args and text.lower() in called)
            or (call.args and text == "self.optimizer" and _in_step_cell(source, call))
            or (call.args and text.startswith("self.") and _kept_optimizer(source, call.func, called))
        ):
            found.append(call)
    return tuple(sorted(dict.fromkeys(found), key=lambda c: (c.lineno, c.col_offset)))


def _kept_optimizer(source: Script, node: ast.expr, called: frozenset[str]) -> bool:
    """`self.opt` of a class that is made with the optimizer: `Step(net, loss_fn, opt)`."""
    owner = source.class_around(node)
    for held in source.of(ast.Assign) if owner is not None else ():
        targets = [t for one in held.targets for t in (one.elts if isinstance(one, ast.Tuple) else [one])]
        values = held.value.elts if isinstance(held.value, ast.Tuple) else [held.value]
        if len(targets) == len(values) and source.class_around(held) is owner:
            for target, value in zip(targets, values, strict=True):
                if unparse(target) == unparse(node) and isinstance(value, ast.Name):
                    return value.id.lower() in called
    return False


def _in_step_cell(source: Script, node: ast.AST) -> bool:
    """Within a cell of the script that derives from MindSpore's TrainOneStepCell."""
    owner = source.class_around(node)
    return owner is not None and any(_ONE_STEP.match(last_name(b)) for b in owner.bases)


def step_cells(source: Script) -> tuple[ast.Call, ...]:
    """Calls that make a cell of MindSpore that does one step of training, of a class of the script too."""
    if "mindspore" not in source.frameworks:
        return ()
    own = {n for n, c in source.classes.items() if any(_ONE_STEP.match(last_name(b)) for b in c.bases)}
    return tuple(c for c in source.calls if _ONE_STEP.match(last_name(c.func)) or last_name(c.func) in own)


@lru_cache(maxsize=64)
def gradient_makers(source: Script) -> tuple[ast.Call, ...]:
    """Calls that make a function of gradients: `value_and_grad(f, None, weights)`."""
    return tuple(c for c in source.named("value_and_grad", "grad") if c.args and _of_library(source, c))


def _of_library(source: Script, call: ast.Call) -> bool:
    """`ms.grad(f)`, `jax.grad(f)`, not `torch.autograd.grad(loss, x)`, which takes gradients at once."""
    return "autograd" not in source.owner(call) and bool(
        {"mindspore", "jax", "flax"} & set(source.frameworks)
    )


def _gradient_functions(source: Script) -> frozenset[str]:
    """Names of functions that give gradients: `f = value_and_grad(net)`, `self.grad = GradOperation()`."""
    if not {"mindspore", "jax", "flax"} & set(source.frameworks):
        return frozenset()
    makers: set[str] = set()
    found: set[str] = set()
    for node in source.of(ast.Assign):
        value = node.value
        while isinstance(value, ast.Call) and last_name(value.func) in _COMPILES and value.args:
            if not isinstance(value.args[0], ast.Call):
                break
            value = value.args[0]
        if not isinstance(value, ast.Call):
            continue
        name = last_name(value.func)
        targets = {unparse(t) for t in node.targets}
        if name == "GradOperation":
            makers |= targets
            continue
        inner = value.func
        at_once = isinstance(inner, ast.Call) and last_name(inner.func) == "GradOperation"
        functional = name in ("value_and_grad", "grad") and "autograd" not in unparse(inner)
        if functional or at_once or unparse(inner) in makers:
            found |= targets
    return frozenset(found | makers)


def _makes_gradients(made: ast.Call, known: frozenset[str]) -> bool:
    """`value_and_grad(f)(x, y)`, `self.grad(self.net, self.weights)(x, y)`."""
    return unparse(made.func) in known or (
        last_name(made.func) in _MAKES_GRADIENTS and "autograd" not in unparse(made.func)
    )


def _step_cells(source: Script) -> frozenset[str]:
    """Names of cells that do one step of training when they are called."""
    if "mindspore" not in source.frameworks:
        return frozenset()
    own = {n for n, c in source.classes.items() if any(_ONE_STEP.match(last_name(b)) for b in c.bases)}
    return frozenset(
        unparse(t)
        for node in source.of(ast.Assign)
        if isinstance(node.value, ast.Call)
        if _ONE_STEP.match(last_name(node.value.func)) or last_name(node.value.func) in own
        for t in node.targets
    )


@lru_cache(maxsize=64)
def differentiated(source: Script) -> frozenset[ast.AST]:
    """Functions that gradients are taken of by handing them over: `value_and_grad(forward, None)`."""
    found: set[ast.AST] = set()
    for call in gradient_makers(source):
        given = call.args[0]
        if isinstance(given, ast.Lambda):
            found.add(given)
        elif isinstance(given, (ast.Name, ast.Attribute)):
            found |= {f for f in source.of(ast.FunctionDef) if f.name == last_name(given)}
    return frozenset(found)


def takes_gradients(source: Script, node: ast.AST) -> bool:
    """Say whether gradients are taken within a node, or of it."""
    return node in differentiated(source) or any(c is node or node in source.above(c) for c in taken(source))


@lru_cache(maxsize=64)
def _trainers(source: Script) -> frozenset[Function]:
    """Functions that a step of training stands in, and those that call them."""
    found = {f for c in taken(source) if (f := source.function_around(c)) is not None}
    for _ in range(3):
        calls = source.named(*{f.name for f in found})
        found |= {f for c in calls if (f := source.function_around(c)) is not None}
    return frozenset(found)


def trainings(source: Script, scope: Function | None) -> list[ast.Call]:
    """Where a function (None: the module) trains: its own steps, and calls of functions that do."""
    calls = [*taken(source), *source.named(*{f.name for f in _trainers(source)})]
    return [c for c in calls if source.function_around(c) is scope]


def learns_within(source: Script, node: ast.AST) -> bool:
    """As `takes_gradients`; also by functions of the script that are called there."""
    if takes_gradients(source, node):
        return True
    return any(node in source.above(c) for c in source.named(*{f.name for f in _trainers(source)}))


def training_over(source: Script, node: ast.stmt) -> bool:
    """Whether a function has trained before a statement of it, and does so no more after it."""
    ran = trainings(source, source.function_around(node))
    around = set(source.loops_around(node))
    return bool(ran) and all(
        c.lineno < node.lineno and around.isdisjoint(source.loops_around(c)) for c in ran
    )
