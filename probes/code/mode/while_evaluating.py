"""Models that a script leaves in training mode where it evaluates them."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator

from ...readers._tree import names_bound, of, unparse
from ...readers.script import UNTAPED, keyword, last_name
from ...registry import Finding, View, any_of, probe
from ...rehearsal.judges import shows
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..mindspore.cells import callback_in_training_mode
from ..shared.checks import (
    at,
    first,
    imports_locals,
    is_evaluation,
    ok,
)
from ..shared.nodes import is_false
from ..shared.sides import either
from .loops import eval_mode_while_training
from .scored import loaded_and_left_in_training, never_quiet, switched_on_to_score


@probe()
def train_mode_while_evaluating(view: View) -> Finding:
    """The model holds dropout or batch norm, the script evaluates, and `.eval()` is never called."""
    checks = either(
        _train_while_evaluating,
        never_quiet,
        switched_on_to_score,
        loaded_and_left_in_training,
        callback_in_training_mode,
        shows("scored-in-train"),
    )
    return first(view, checks, "the scripts hold no evaluation of a model with modes")


def _train_while_evaluating(source: Script) -> Finding | None:
    modal = [
        c
        for c in source.calls
        if last_name(c.func).startswith(("Dropout", "BatchNorm", "SyncBatchNorm"))
        if not is_false(keyword(c, "track_running_stats"))  # the figures of the batch, in either mode
    ]
    evaluates = [c for c in source.named(*UNTAPED) if _measures(source, c)]
    if not source.trains_by_hand or not modal or not evaluates:
        return None
    if source.named("eval") or re.search(
        r"train(?:ing|_mode)?\([^()]*\bFalse\)|eval(?:uation)?_mode", source.text
    ):
        return ok(
            source,
            source.named("eval")[0] if source.named("eval") else None,
            "the model is put into evaluation mode",
        )
    if imports_locals(source):
        return None
    return at(
        source,
        evaluates[0],
        "evaluation runs with dropout and batch norm in training mode: eval() is never called",
    )


def _serves_step(source: Script, block: ast.With) -> bool:
    """What is computed in the block goes into a loss further down in its function: a teacher's answer."""
    function = source.function_around(block)
    made = names_bound(block)
    if function is None or not made:
        return False
    backward = [c for c in source.backwards if source.function_around(c) is function]
    same = [c for c in backward if c.lineno > block.lineno and _loops(source, c) == _loops(source, block)]
    return any(
        n.id in made and isinstance(n.ctx, ast.Load) and block.lineno < n.lineno < same[0].lineno
        for n in (of(function, ast.Name) if same else ())
        if n not in set(of(block, ast.Name))
    )


def _loops(source: Script, node: ast.AST) -> list[ast.AST]:
    return list(source.loops_around(node))


_AMONG_PROCESSES = frozenset({"all_gather", "all_reduce", "broadcast", "all_gather_into_tensor"})


_LIBRARIES = frozenset({"torch", "nn", "init", "np", "numpy", "math", "F", "functional", "random", "cv2"})
_BUILTINS = frozenset(dir(builtins))


def _moves_weights(source: Script, function: ast.AST) -> bool:
    """A method of an optimizer of the script's own: what it does to weights, it does without gradients."""
    owner = source.class_around(function)
    return owner is not None and any(unparse(b).endswith("Optimizer") for b in owner.bases)


_DEPTH = 3  # functions of the script that are looked into


def _reached(source: Script, block: ast.AST, depth: int = _DEPTH) -> Iterator[ast.Call]:
    """The calls in a block; of those of the script's own functions, the calls in these.

    Changes of a tensor by its own methods are none of them: `MEAN.to(x.device)`.
    """
    for call in of(block, ast.Call):
        inner = flow(source).called(call) if isinstance(call.func, ast.Name) and depth else []
        if inner and not any(isinstance(source.parents.get(f), ast.ClassDef) for f in inner):
            for function in inner:
                yield from _reached(source, function, depth - 1)
        elif not (isinstance(call.func, ast.Attribute) and call.func.attr in _OF_TENSORS):
            yield call


_OF_TENSORS = frozenset(
    (
        *("to", "cpu", "cuda", "float", "half", "double", "long", "int", "bool", "type", "type_as", "numpy"),
        *("view", "reshape", "expand", "expand_as", "repeat", "permute", "transpose", "flatten", "squeeze"),
        *("unsqueeze", "clone", "contiguous", "detach", "size", "dim", "split", "chunk", "flip", "roll"),
        *("mean", "sum", "std", "var", "min", "max", "abs", "sqrt", "pow", "exp", "log", "clamp", "clip"),
        *("round", "floor", "uniform_", "normal_", "bernoulli_", "fill_", "item"),
    )
)


def _may_run_a_model(call: ast.Call) -> bool:
    """It is no function of a library, no class, nothing of Python's own, and changes no tensor in place."""
    name = last_name(call.func)
    root = unparse(call.func).split(".")[0]
    return not (root in _LIBRARIES | _BUILTINS or name.endswith("_") or name[:1].isupper())


def _measures(source: Script, switch: ast.Call) -> bool:
    """What runs without gradients may be an evaluation: it is no part of the training step or of a module.

    A block inside the forward pass, or a function that goes through weights, keeps an average or a teacher.
    """
    outer = source.parents.get(switch)
    decorated = isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef))
    block = outer if decorated else next((p for p in source.above(switch) if isinstance(p, ast.With)), None)
    if block is None:
        return True
    function = block if decorated else source.function_around(block)
    if function is not None and (function in source.forwards or _moves_weights(source, function)):
        return False
    if isinstance(block, ast.With) and _serves_step(source, block):
        return False
    if any(isinstance(p, ast.ClassDef) and p in source.modules for p in source.above(block)):
        return not source.loss_methods and is_evaluation(source, block)
    called = {last_name(n.func) for n in of(block, ast.Call)}
    if called & _AMONG_PROCESSES and not of(block, ast.For):
        return False  # it gathers what a training step compares
    asked = [c for c in of(block, ast.Call) if _asks_network(c)]
    if asked and all(map(_draws_from_noise, asked)):
        return False  # samples to look at
    weights = called & {"parameters", "named_parameters", "state_dict", "buffers"}
    if not any(_may_run_a_model(c) for c in _reached(source, block)):
        return False  # it fills weights, or changes the data by functions of the script
    return not (weights and not called & {"argmax", "item", "append"})


def _asks_network(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and _may_run_a_model(call)


def _draws_from_noise(call: ast.Call) -> bool:
    """`netG(fixed_noise)`, `decoder(torch.randn(64, 20))`: a net that makes samples is given noise."""
    return bool(call.args) and _NOISE.search(unparse(call.args[0])) is not None


_NOISE = re.compile(r"(?i)noise|randn|latent|^z(?:_|$)|_z$|codes?$")


@probe()
def mode_wrong(view: View) -> Finding:
    """The model trains in evaluation mode or is evaluated in training mode; see each."""
    return any_of((eval_mode_while_training(view), train_mode_while_evaluating(view)))
