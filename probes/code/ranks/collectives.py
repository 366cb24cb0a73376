"""What several processes must do together in scripts, and what one of them does alone, or all at once."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding, View, probe
from ...scripts.conditions import asks_first_process
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, first, ok
from ..shared.sides import either
from ..trainers.deepspeed import engines
from .wrapped import wraps

_STATES = ("state_dict", "full_optim_state_dict", "optim_state_dict", "summon_full_params")


@probe()
def one_rank_alone(view: View) -> Finding:
    """One process alone makes a call that all of them must make: the others never join in.

    `if rank == 0: engine.save_checkpoint(...)` of DeepSpeed, whose processes each write a part;
    `if rank == 0: model.state_dict()` of a model under FSDP, whose shards are gathered from all.
    """
    return first(view, either(_engine_saves, _shards_gathered), "no process calls what all of them must call")


def _engine_saves(source: Script) -> Finding | None:
    mine = engines(source)
    saves = [
        c
        for c in source.named("save_checkpoint")
        if mine is not None and source.owner(c).split(".")[-1] in mine.engines
    ]
    for call in saves:
        if _of_first(source, call):
            return at(source, call, "all processes must save: each holds a part of the optimizer's state")
    return ok(source, saves[0], "all processes save") if saves else None


def _shards_gathered(source: Script) -> Finding | None:
    if "use_orig_params=False, NO_SHARD" in source.code or "NO_SHARD" in source.code or source.loose:
        return None
    shards = {
        w.outer.split(".")[-1]
        for w in wraps(source)
        if last_name(w.call.func) in ("FSDP", "FullyShardedDataParallel")
    }
    if not source.named("FSDP", "FullyShardedDataParallel"):
        return None
    seen: ast.AST | None = None
    for call in source.named(*_STATES):
        whole = source.owner(call) in ("FSDP", "FullyShardedDataParallel")
        if not whole and source.owner(call).split(".")[-1] not in shards:
            continue
        seen = seen or call
        if _of_first(source, call):
            return at(source, call, "all processes must gather the shards of the state, and one asks for it")
    for call in source.calls:  # `if rank == 0: state = full_state(model)` of the script's own
        if last_name(call.func) in _gathering(source) and _of_first(source, call):
            return at(source, call, "all processes must gather the shards of the state, and one asks for it")
    return ok(source, seen, "all processes gather the state") if seen is not None else None


def _gathering(source: Script) -> set[str]:
    """Functions of the script that set FSDP's kind of state and give it back."""
    return {
        f.name
        for f in source.of(ast.FunctionDef)
        if any(last_name(c.func) == "state_dict_type" for c in of(f, ast.Call)) and of(f, ast.Return)
    }


def _of_first(source: Script, call: ast.Call) -> bool:
    """The call stands where one process comes alone, in its function or in all callers of that."""
    inner: ast.AST = call
    for parent in source.above(call):
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef)):
            break
        if isinstance(parent, ast.If) and inner in parent.body and asks_first_process(parent.test):
            return True
        inner = parent
    return False


_SEVERAL = ("DistributedDataParallel", "DDP", "FSDP", "FullyShardedDataParallel")
_CHOSEN = re.compile(
    r"(?i)rank|main|master|first|primary|process|leader|chief|node|should_save|save_on|local|gpu"
)


@probe()
def every_rank_saves(view: View) -> Finding:
    """All processes write the same file at the same time, whatever their rank.

    `torch.save(..., "best.pt")` of a program with a data-parallel wrapper, where no condition, early end or
    decorator chooses one process, and the path does not hang on it. Often it goes well. Not with Accelerate,
    whose programs run in one process as well.
    """
    return first(view, _every_rank_saves, "no program of several processes writes checkpoints")


def _every_rank_saves(source: Script) -> Finding | None:
    if not source.named(*_SEVERAL) or source.loose or not source.backwards:
        return None
    if not source.named("init_process_group"):
        return None
    saves = [c for c in source.named("save") if source.owner(c) == "torch" and len(c.args) > 1]
    for call in saves:
        if _CHOSEN.search(unparse(call.args[1])) or _chooses(source, call, 3):
            continue
        return at(source, call, "every process writes this file, all of them at once")
    return ok(source, saves[0], "one process writes checkpoints") if saves else None


def _says(node: ast.AST) -> bool:
    """Words that choose one process; `__name__ == "__main__"` chooses none."""
    return _CHOSEN.search(unparse(node).replace("__main__", "")) is not None


def _chooses(source: Script, node: ast.AST, depth: int) -> bool:
    """Something around a line lets one process through alone; a function that nothing calls is not judged."""
    function = source.function_around(node)
    for parent in source.above(node):
        if isinstance(parent, (ast.If, ast.IfExp)) and _says(parent.test):
            return True
        if isinstance(parent, ast.With) and any(_says(i) for i in parent.items):
            return True
    around = function if function is not None else source.tree
    for branch in of(around, ast.If):
        ends = any(isinstance(s, (ast.Return, ast.Continue, ast.Raise)) for s in branch.body)
        if ends and _says(branch.test) and branch.lineno < getattr(node, "lineno", 0):
            return True
    if function is None:
        return False
    if any(_CHOSEN.search(unparse(d)) for d in function.decorator_list) or _CHOSEN.search(
        function.name.replace("main", "")
    ):
        return True
    mine = flow(source)
    calls = [
        c
        for c in flow(source).calls_of(function)
        if function not in source.above(c) and function in mine.called(c)  # not `torch.save` for `save`
    ]
    if not calls or depth == 0:
        return function.name != "main" and not calls
    return all(_chooses(source, c, depth - 1) for c in calls)
