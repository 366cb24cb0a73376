"""Orders that samplers keep in training, in scripts, and accumulation that Accelerate is told nothing of."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import taken
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.gates import gate
from ..shared.nodes import is_false, is_none
from ..shared.sides import side
from .by_hand import of_libraries


def sampler_keeps_order(source: Script) -> Finding | None:
    """`DistributedSampler(rows, shuffle=False)` of the loader that gradients are taken from.

    Left aside: data that were mixed before, and sequences, whose order is their meaning.
    """
    mixed = re.search(r"random_split|randperm|permutation|\.shuffle\(|\.sample\(", source.code)
    if source.loose:
        return None
    for call in source.named("DistributedSampler", "DistributedBatchSampler", "SequentialSampler"):
        flag = keyword(call, "shuffle")
        kept = last_name(call.func) == "SequentialSampler" or is_false(flag)
        if mixed and not _epoch_set(source, call):
            continue  # one order may be meant; a sampler whose epoch is set is to draw another in each
        if kept and _trains(source, call):
            return at(source, call, "the sampler of the training data keeps the stored order")
    return None


def _epoch_set(source: Script, sampler: ast.Call) -> bool:
    """`sampler.set_epoch(epoch)` of this very sampler."""
    statement = source.statement(sampler)
    names = {unparse(t) for t in statement.targets} if isinstance(statement, ast.Assign) else set()
    return any(source.owner(c) in names for c in source.named("set_epoch"))


def _trains(source: Script, sampler: ast.Call) -> bool:
    """The sampler is handed to the loader of a loop that takes gradients, or stands in one for training."""
    for loader in source.named("DataLoader"):
        given = keyword(loader, "sampler") or keyword(loader, "batch_sampler")
        if given is None or (given is not sampler and sampler not in flow(source).values(given, 3)):
            continue
        statement = source.statement(loader)
        names = statement.targets if isinstance(statement, ast.Assign) else []
        told = side(unparse(names[0])) if names else None
        data = side(unparse(loader.args[0])) if loader.args else None
        if told is False or data is False:
            return False
        if told or data:
            return True
        for backward in taken(source):
            for loop in source.loops_around(backward)[:1]:
                if isinstance(loop, ast.For) and any(
                    loader in flow(source).values(n, 4) for n in of(loop.iter, ast.Name)
                ):
                    return True
    return False


_WRAPPERS = ("DistributedDataParallel", "DDP")
_DIVIDES = re.compile(
    r"(?i)rank|world|shard|split_by_node|islice|replica|IterableDataset|\bdrawn?_|randn|fake"
)


def each_process_reads_all(source: Script) -> Finding | None:
    """DDP around the model, and the training loader draws from all rows in each process.

    Left aside: data that were made with the rank or as a stream, and samplers of any kind.
    """
    if source.loose or not source.named(*_WRAPPERS):
        return None
    if of_libraries(source, "prepare", "use_distributed_sampler"):
        return None
    for call in taken(source):
        for loop in source.loops_around(call)[:1]:
            names = of(loop.iter, ast.Name, ast.Attribute) if isinstance(loop, ast.For) else ()
            made = [v for n in names for v in flow(source).values(n, 6) if isinstance(v, ast.Call)]
            loaders = [v for v in made if last_name(v.func) == "DataLoader"]
            if loaders and len(loaders) == len(made) and all(_reads_all(source, v) for v in loaders):
                return at(source, loaders[0], "each process reads all of the data: no sampler divides them")
    return None


def _reads_all(source: Script, loader: ast.Call) -> bool:
    """No sampler, or one that can only be None, over rows that do not hang on the rank."""
    mine = flow(source)
    if any(k.arg is None for k in loader.keywords) or keyword(loader, "batch_sampler") is not None:
        return False
    sampler = keyword(loader, "sampler")
    if sampler is not None and not _is_none(mine.values(sampler, 3)):
        return False
    rows = loader.args[0] if loader.args else keyword(loader, "dataset")
    ways = [rows, *mine.values(rows, 4)] if rows is not None else []
    owners = [c for v in ways if isinstance(v, ast.Call) and (c := source.classes.get(last_name(v.func)))]
    return bool(ways) and not any(_DIVIDES.search(unparse(w)) for w in (*ways, *owners))


def _is_none(values: list[ast.expr]) -> bool:
    return bool(values) and all(is_none(v) for v in values)


_COUNT = re.compile(r"(?i)(?:^|_)(?:grad(?:ient)?_)?accum\w*")


def accelerate_told_nothing(source: Script) -> Finding | None:
    """`with accelerator.accumulate(model)` and an `Accelerator()` that was told no number.

    Counts where the script holds a number of accumulated batches that it uses elsewhere.
    """
    made = source.named("Accelerator")
    asked = [c for c in source.named("accumulate") if "accelerator" in source.owner(c).lower()]
    if len(made) != 1 or not asked or source.loose or made[0].args:
        return None
    if _is_told(made[0]) or "accelerator.gradient_accumulation_steps" in source.code:
        return None
    names = [n for n in source.of(ast.Name, ast.Attribute) if isinstance(n.ctx, ast.Load)]
    for name in names:
        word = last_name(name)
        whole = not isinstance(source.parents.get(name), ast.Attribute)
        if _COUNT.search(word) and word != "accumulate" and whole:
            why = f"`{unparse(name)}` batches are to be accumulated, and Accelerate is not told"
            return at(source, made[0], why)
    return None


def _is_told(made: ast.Call) -> bool:
    """The number of accumulated batches is handed over, or may be, in a plugin or out of a dict."""
    words = {"gradient_accumulation_steps", "gradient_accumulation_plugin", "deepspeed_plugin", None}
    return bool({k.arg for k in made.keywords} & words)


def accelerate_not_divided(source: Script) -> Finding | None:
    """`if step % accumulate == 0: optimizer.step()` by hand: Accelerate, told no number, divides by one."""
    made = source.named("Accelerator")
    if len(made) != 1 or source.named("accumulate") or source.loose or made[0].args:
        return None
    if _is_told(made[0]):
        return None
    calls = [c for c in source.backwards if c.args and "accelerator" in source.owner(c).lower()]
    for step in source.steps:
        mine = gate(source, step)
        if mine is None or mine.count is None or not mine.last or not calls:
            continue
        if all(
            g is not None and g.branch is mine.branch and g.last for g in (gate(source, c) for c in calls)
        ):
            continue  # gradients are taken with the step alone
        count = unparse(mine.count)
        steps = rf"len\([\w.]+\) ?/ ?{re.escape(count)}(?!\w)"
        code = re.sub(steps, "", source.code)
        if not re.search(rf"(?<!/)/=? ?\(?{re.escape(count)}(?!\w)", code):
            why = f"gradients of {count} batches are added up, and nothing divides them"
            return at(source, calls[0], why)
    return None
