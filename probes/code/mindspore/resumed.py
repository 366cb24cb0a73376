"""MindSpore programs that are taken up again: what the checkpoint holds, and who gets it back."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from .steps import of_mindspore

_RESUME = re.compile(r"(?i)resum|restart|continue|last_?ckpt|latest")


def optimizer_not_given_back(source: Script) -> Finding | None:
    """A count is taken up from a checkpoint that holds the optimizer, and only the network is loaded.

    The checkpoint holds it where a list with `optimizer.get_parameters()`, a step cell, or `ModelCheckpoint`
    of `Model` saves it.
    """
    if not of_mindspore(source):
        return None
    loads = [c for c in source.named("load_param_into_net") if _resumes(source, c)]
    if not loads or not _takes_up(source, loads[0]):
        return None
    targets = [unparse(c.args[0]).lower() for c in loads if c.args]
    whole = re.compile(r"opt|step|train(?:_?net|er|ing)|^model\b")
    if any(whole.search(t.split(".")[-1]) or t in source.optimizers for t in targets):
        return ok(source, loads[0], "the optimizer's state is given back")
    saves = [unparse(c) for c in source.named("save_checkpoint")]
    lists = [unparse(n) for n in source.of(ast.Assign, ast.ListComp)]
    asked = {source.owner(c).lower() for c in source.named("get_parameters")}
    given = bool(asked & source.optimizers) or any("opt" in t and "get_parameters" in t for t in lists)
    held = given and any("last" in s or "resume" in s for s in saves)
    held = held or any(
        re.search(r"save_checkpoint\((?:self\.)?(?:train_step|step|train_net|train_network|opt\w*)\b", s)
        for s in saves
    )
    held = held or bool(source.named("ModelCheckpoint") and source.named("Model"))
    others = re.search(r"optim\w*\.(?:load|set|moment|global_step)|moment1?\b.*=", source.code) is not None
    if held and not others:
        return at(
            source, loads[0], "training goes on with the epoch, and the optimizer's state is not loaded"
        )
    return None


def _resumes(source: Script, call: ast.Call) -> bool:
    tests = [unparse(p.test) for p in source.above(call) if isinstance(p, ast.If)]
    return any(_RESUME.search(t) for t in [*tests, source.function_name(call)]) or _takes_up(source, call)


def _takes_up(source: Script, call: ast.Call) -> bool:
    """`first = int(saved["epoch_num"])` in the block that loads."""
    block = next((p for p in source.above(call) if isinstance(p, (ast.If, ast.FunctionDef))), None)
    return block is not None and any(
        re.search(r"(?i)epoch|step", unparse(n.value))
        and not names_in(n.value) <= {"args"}
        and isinstance(n.targets[0], (ast.Name, ast.Attribute))
        and re.search(r"(?i)epoch|first|start|begin|step", unparse(n.targets[0]))
        for n in of(block, ast.Assign)
    )


def network_not_given_back(source: Script) -> Finding | None:
    """The epoch and the optimizer's state are taken out of a checkpoint, and no network gets its weights."""
    if not of_mindspore(source):
        return None
    for call in source.named("load_checkpoint"):
        block = next((p for p in source.above(call) if isinstance(p, (ast.If, ast.FunctionDef))), None)
        if block is None or len(call.args) > 1 or keyword(call, "net") is not None or source.loose:
            continue
        loads = [c for c in of(block, ast.Call) if last_name(c.func) == "load_param_into_net" and c.args]
        end = max((c.lineno for c in source.named("train")), default=0)
        others = [c for c in source.named("load_param_into_net") if c not in loads]
        later = all(source.function_around(c) is source.function_around(call) for c in others)
        if not loads or not _resumes(source, call) or not later or any(c.lineno < end for c in others):
            continue
        if all(re.search(r"(?i)opt", unparse(c.args[0])) for c in loads):
            return at(
                source, call, "the checkpoint gives the optimizer its state back, and no network its weights"
            )
    return None


def count_in_vain(source: Script) -> Finding | None:
    """`first = int(saved["epoch_num"])`, and `model.train(epochs, data)` is not told of it."""
    if not of_mindspore(source) or not source.named("Model"):
        return None
    trains = [c for c in source.named("train") if len(c.args) > 1]
    if len(trains) != 1 or keyword(trains[0], "initial_epoch") is not None or len(trains[0].args) > 5:
        return None
    if any(k.arg is None for k in trains[0].keywords):
        return None
    for node in source.of(ast.Assign):
        target = node.targets[0]
        if not isinstance(target, ast.Name) or not re.search(
            r"[\"'](?:epoch|cur_epoch)\w*[\"']", unparse(node.value)
        ):
            continue
        if not source.named("load_checkpoint") or not re.search(r"(?i)epoch|first|start|begin", target.id):
            continue
        around = source.function_around(node)
        if around is not source.function_around(trains[0]):
            continue
        names = [n for n in source.of(ast.Name) if n.id == target.id and isinstance(n.ctx, ast.Load)]
        if not names:
            return at(
                source, node, f"{target.id} is taken out of the checkpoint, and training starts at epoch 0"
            )
    return None
