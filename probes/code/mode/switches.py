"""Switches of the mode in scripts that stand in the wrong place: hooks, evaluating functions, batch norm."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse, walk
from ...readers.script import last_name
from ...registry import Finding, View, probe
from ...scripts.learning import taken, updates
from ...scripts.syntax import Script
from ..shared.checks import at, first, ok
from ..shared.nodes import is_false
from ..shared.sides import either
from .loops import switch_of

_EVALUATING_HOOKS = re.compile(
    r"^(?:on_)?(?:validation|test|predict)_(?:start|epoch_start|batch_start|step)$"
)
_EVALUATES = re.compile(r"(?i)(?:^|_)(?:eval\w*|valid\w*|val|test|score|infer\w*|predict\w*)(?:_|$)")
# dropout that is left on to draw several answers, statistics that are collected anew
_LOSSES_OF_DETECTORS = re.compile(r"loss(?:es)?_dict|\.values\(\)")
_MEANT = re.compile(r"(?i)monte|(?:^|_)mc(?:_|$)|uncertain|bayes|tta|adapt|update_bn|recalib|precise|attack")


@probe()
def switched_astray(view: View) -> Finding:
    """The mode is switched where the other one belongs.

    `train()` in a method that a trainer runs for validation; `train()` and never `eval()` in a function
    that evaluates; batch norm put into evaluation mode after `train()` in a model trained from scratch.
    """
    return first(
        view,
        either(_hook_trains, _evaluation_trains, _norm_stands_still),
        "the scripts switch no mode where it can be told what for",
    )


def _hook_trains(source: Script) -> Finding | None:
    """A method that a trainer runs for held-out data puts the model into training mode."""
    seen = None
    for owner in source.classes.values():
        for method in owner.body:
            if not isinstance(method, ast.FunctionDef) or not _EVALUATING_HOOKS.match(method.name):
                continue
            switches = [s for c in of(method, ast.Call) if (s := switch_of(source, c)) is not None]
            seen = seen or (switches[0][0] if switches else None)
            if _LOSSES_OF_DETECTORS.search(unparse(method)):
                continue  # torchvision's detectors give losses in training mode alone
            if switches and all(on for _, on in switches) and not _MEANT.search(unparse(owner)):
                return at(source, switches[0][0], "held-out data are put through the model in training mode")
    return ok(source, seen, "hooks of evaluation leave the model in evaluation mode") if seen else None


def _evaluation_trains(source: Script) -> Finding | None:
    """A function that only evaluates begins with `model.train(...)` and never calls `eval()`."""
    seen = None
    for function in source.of(ast.FunctionDef):
        name = function.name
        if not _EVALUATES.search(name) or "train" in name.lower() or _MEANT.search(name):
            continue
        inside = set(walk(function))
        if any(c in inside for c in (*taken(source), *updates(source))):
            continue
        loops = of(function, ast.For, ast.While)
        if not loops:
            continue
        begins = min(loop.lineno for loop in loops)
        trains = [c for c in of(function, ast.Call) if _is_train(source, c)]
        evals = [c for c in of(function, ast.Call) if _is_eval(c)]
        if not trains:
            continue
        seen = seen or trains[0]
        before = [c for c in trains if c.lineno < begins]
        if before and not evals and not _MEANT.search(unparse(function)):
            return at(source, before[0], "the function that evaluates puts the model into training mode")
    return ok(source, seen, "what evaluates puts the model into evaluation mode") if seen else None


def _is_train(source: Script, call: ast.Call) -> bool:
    """`model.train()`, `net.train(mode)`, `net.set_train()`; not `trainer.train()`, not `train(False)`."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("train", "set_train"):
        return False
    given = [*call.args, *(k.value for k in call.keywords if k.arg == "mode")]
    if len(given) != len(call.args) + len(call.keywords) or len(given) > 1:
        return False
    if given and isinstance(given[0], ast.Constant):
        return given[0].value is True
    if given:
        told = unparse(given[0])
        return "training" in told and "not " not in told and not _off_by_default(source, given[0])
    return switch_of(source, call) is not None and not re.search(
        r"(?i)trainer|engine", unparse(call.func.value)
    )


def _off_by_default(source: Script, told: ast.expr) -> bool:
    """A parameter that is False unless a caller says otherwise: `def predict(x, training_mode=False)`."""
    function = source.function_around(told)
    if function is None or not isinstance(told, ast.Name):
        return False
    names, values = function.args.args, function.args.defaults
    pairs = [
        *zip(names[len(names) - len(values) :], values, strict=True),
        *zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True),
    ]
    return any(a.arg == told.id and is_false(v) for a, v in pairs)


def _is_eval(call: ast.Call) -> bool:
    name = last_name(call.func)
    if name == "eval" or re.search(r"eval_mode|evaluating|no_dropout", name):
        return True
    return name in ("train", "set_train") and any("False" in unparse(a) for a in call.args)


_FROM_OTHERS = re.compile(
    r"(?i)pretrained|from_pretrained|weights\s*=|load_state_dict|load_from|checkpoint_path|timm|torchvision\.models"
    r"|hub\.load|init_from|finetune|fine_tune|freeze|frozen"
)


def _norm_stands_still(source: Script) -> Finding | None:
    """`for m in model.modules(): if isinstance(m, BatchNorm2d): m.eval()` where nothing is pretrained."""
    seen = None
    for node in source.of(ast.If):
        if not re.search(r"isinstance\(.*(?:BatchNorm|_BatchNorm)", unparse(node.test)):
            continue
        evals = [
            c
            for s in node.body
            for c in of(s, ast.Call)
            if isinstance(c.func, ast.Attribute) and c.func.attr == "eval"
        ]
        if not evals:
            continue
        function = source.function_around(node)
        if function is not None and (_EVALUATES.search(function.name) or _MEANT.search(function.name)):
            continue
        seen = seen or evals[0]
        trains = [c for c in source.named("train") if switch_of(source, c) is not None]
        if trains and not _begins_elsewhere(source) and not source.loose and not _chosen(source, node):
            return at(
                source, evals[0], "batch norm is held in evaluation mode in a model trained from scratch"
            )
    return ok(source, seen, "batch norm is held still in a model that was trained before") if seen else None


def _begins_elsewhere(source: Script) -> bool:
    """Weights come from another training, but for the best of this one that is loaded in the end."""
    code = source.code
    if not _FROM_OTHERS.search(code):
        return False
    without = re.sub(r"(?m)^.*load_state_dict\(.*(?:best|last|ckpt|resume|out).*$", "", code)
    return _FROM_OTHERS.search(without) is not None


def _chosen(source: Script, node: ast.AST) -> bool:
    """Under a switch: it is told at run time."""
    return any(isinstance(p, ast.If) for p in source.above(node))
