"""DeepSpeed in scripts: what its engine does by itself, and scripts do past it or once more.

`engine.backward` scales the loss and divides it by the accumulation steps; `engine.step` counts
micro-batches, clips, clears gradients and moves the schedule that `initialize` was given.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import lru_cache

from ....engine.model import Place
from ...readers._tree import of, unparse, walk
from ...readers.script import keyword, last_name
from ...registry import Finding, View, present
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, outer_loop
from ..shared.sides import literal
from .hooks import hugging_face

_COUNT = re.compile(r"(?i)accum|micro_?(?:batches|steps)|\bgas\b")


@dataclass(frozen=True)
class Engines:
    """The last names that engines and their schedules go by, and the calls that make them."""

    made: tuple[ast.Call, ...]
    engines: frozenset[str]
    schedules: frozenset[str]


@lru_cache(maxsize=16)
def engines(source: Script) -> Engines | None:
    """`engine, _, _, schedule = deepspeed.initialize(...)`; None where the script makes no engine."""
    if "deepspeed" not in source.text:
        return None
    made = tuple(c for c in source.named("initialize") if source.owner(c) in ("deepspeed", "ds", ""))
    made = tuple(c for c in made if keyword(c, "model") is not None or c.args)
    names: set[str] = set()
    schedules: set[str] = set()
    for call in made:
        statement = source.statement(call)
        if not isinstance(statement, ast.Assign):
            continue
        target = statement.targets[0]
        if isinstance(target, ast.Tuple):
            parts = [last_name(e) for e in target.elts]
            names |= set(parts[:1])
            starred = any(isinstance(e, ast.Starred) for e in target.elts)
            schedules |= set(parts[3:4]) if not starred else set()
        else:
            names.add(last_name(target))
        handed = keyword(call, "lr_scheduler")
        if isinstance(handed, (ast.Name, ast.Attribute)):
            schedules.add(last_name(handed))
    names -= {"", "_"}
    return Engines(made, frozenset(names), frozenset(schedules - {"", "_"})) if names else None


def _last(source: Script, call: ast.Call) -> str:
    return source.owner(call).split(".")[-1]


def through_engine(source: Script, mine: Engines) -> list[ast.Call]:
    """`engine.backward(loss)`, also where the engine was handed to a function under a name of its own."""
    return [
        c
        for c in source.backwards
        if c.args and (_last(source, c) in mine.engines or "engine" in source.owner(c).lower())
    ]


def engine_steps(source: Script, mine: Engines) -> list[ast.Call]:
    """Calls of an engine's `step`."""
    return [c for c in source.named("step") if _last(source, c) in mine.engines]


def bypassed_engine(source: Script) -> Finding | None:
    """`loss.backward()` of an engine's loss: neither scaled nor divided, and not exchanged as it should."""
    mine = engines(source)
    if mine is None or source.loose or through_engine(source, mine) or not engine_steps(source, mine):
        return None
    plain = [c for c in source.backwards if not c.args and re.search(r"(?i)loss|nll", source.owner(c))]
    if not plain:
        return None
    return at(
        source, plain[0], "this backward goes past DeepSpeed's engine, which scales and divides the loss"
    )


def divided_before_engine(source: Script) -> Finding | None:
    """`engine.backward(loss / accumulate)`: the engine divides by the accumulation steps itself."""
    mine = engines(source)
    if mine is None:
        return None
    for call in through_engine(source, mine):
        for value in (call.args[0], *flow(source).values(call.args[0], 3)):
            if (
                isinstance(value, ast.BinOp)
                and isinstance(value.op, ast.Div)
                and _counts(source, value.right)
            ):
                return at(
                    source, call, "DeepSpeed's backward divides the loss by the accumulated batches already"
                )
        function = source.function_around(call)
        for node in of(function or source.tree, ast.AugAssign):
            same = unparse(node.target) == unparse(call.args[0]) and isinstance(node.op, ast.Div)
            if same and _counts(source, node.value):
                return at(
                    source, node, "DeepSpeed's backward divides the loss by the accumulated batches already"
                )
    return None


def _counts(source: Script, node: ast.expr) -> bool:
    """A name of accumulation, or what such a setting was given to."""
    return any(_COUNT.search(unparse(v)) for v in (node, *flow(source).values(node, 3)))


def stepped_now_and_then(source: Script, accumulates: bool = False) -> Finding | None:
    """`if (i + 1) % accumulate == 0: engine.step()`, where the engine counts micro-batches itself.

    `accumulates`: the configuration says so, and any number will do.
    """
    mine = engines(source)
    if mine is None or not (accumulates or _configured(source)):
        return None
    for call in engine_steps(source, mine):
        for parent in source.above(call):
            if isinstance(parent, (ast.For, ast.While, ast.FunctionDef)):
                break
            if isinstance(parent, ast.If) and "boundary" not in unparse(parent.test):
                if any(
                    isinstance(n.op, ast.Mod) and (accumulates or _counts(source, n.right))
                    for n in of(parent.test, ast.BinOp)
                ):
                    return at(
                        source, call, "the engine counts micro-batches itself, and steps only now and then"
                    )
    return None


def stepped_by_configuration(view: View, source: Script) -> Finding | None:
    """The same, where DeepSpeed's configuration accumulates several micro-batches."""
    return stepped_now_and_then(source, accumulates=accumulates(view, source))


def _configured(source: Script) -> bool:
    """The script reads or writes DeepSpeed's own count of accumulation steps."""
    return "gradient_accumulation_steps" in source.text


def _runs_with(source: Script, node: ast.AST, other: ast.AST) -> bool:
    """Whenever `other` runs, so does `node`: in one function, and in the same arm of each branch."""
    if source.function_around(node) is not source.function_around(other):
        return False
    above = source.above(node)
    for branch in (p for p in source.above(other) if isinstance(p, ast.If)):
        arms = [any(n is x for s in branch.body for x in walk(s)) for n in (node, other)]
        if branch not in above or arms[0] != arms[1]:
            return False
    return True


def schedule_moved_again(source: Script) -> Finding | None:
    """`schedule.step()` beside `engine.step()`, which moves the schedule that `initialize` knows."""
    mine = engines(source)
    if mine is None or not engine_steps(source, mine):
        return None
    steps = engine_steps(source, mine)
    for call in source.named("step"):
        inside = re.search(r"(?:^|\.)(\w+)\.lr_scheduler$", source.owner(call))
        own = inside is not None and inside[1] in mine.engines
        if own or _last(source, call) in mine.schedules - mine.engines:
            if any(_runs_with(source, call, step) for step in steps):
                return at(source, call, "DeepSpeed's engine moves this schedule with each of its own steps")
    return None


_LENGTHS = ("total_num_steps", "warmup_num_steps", "cycle_first_step_size")


def length_in_micro_batches(view: View, source: Script) -> Finding | None:
    """`total_num_steps = epochs * len(loader)` where several micro-batches make a step."""
    mine = engines(source)
    if mine is None:
        return None
    for node, value in _lengths(source):
        if re.fullmatch(r"(?:\w+\.)*(?:num_|n_|max_|train_)?epochs", unparse(value)):
            return at(
                source, node, "the schedule's length counts epochs, and it moves with the engine's steps"
            )
    if not accumulates(view, source):
        return None
    for node, value in _lengths(source):
        text = " ".join([unparse(value), *(unparse(v) for v in _beneath(source, value))])
        if re.search(r"len\(\w*(?:load|dl|batches)", text) and not _COUNT.search(text) and "/" not in text:
            return at(source, node, "the schedule's length counts micro-batches, and it moves with the steps")
    return None


def warmup_longer_in_configuration(view: View, source: Script) -> Finding | None:
    """DeepSpeed's configuration file asks for more warm-up steps than its schedule has in all."""
    if engines(source) is None:
        return None
    said = {(s.file, s.key): s for s in view.run.raw_settings if not s.file.endswith(".py")}
    for (file, key), warm in said.items():
        stem, _, name = key.rpartition(".")
        total = said.get((file, f"{stem}.total_num_steps" if stem else "total_num_steps"))
        if name != "warmup_num_steps" or total is None:
            continue
        if isinstance(warm.value, (int, float)) and isinstance(total.value, (int, float)):
            if warm.value > total.value > 0:
                why = f"the warm-up takes {warm.value:g} steps, and the schedule has {total.value:g}"
                return present(why, value=warm.value, where=(Place(file, warm.line),))
    return None


def _lengths(source: Script) -> list[tuple[ast.AST, ast.expr]]:
    found: list[tuple[ast.AST, ast.expr]] = []
    for node in source.of(ast.Assign, ast.Dict):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value in _LENGTHS[:1]:
                    found.append((value, value))
        else:
            target = node.targets[0]
            if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
                if target.slice.value in _LENGTHS[:1]:
                    found.append((node, node.value))
    return found


def _beneath(source: Script, value: ast.expr) -> list[ast.expr]:
    """What the names of an expression were given, two steps back."""
    found: list[ast.expr] = []
    waiting = [value]
    for _ in range(2):
        names = [n for w in waiting for n in of(w, ast.Name)]
        waiting = [g.value for n in names if (g := flow(source).given(n))]
        waiting += [v for n in names if not flow(source).all_given(n) for v in flow(source).arguments(n)]
        found += waiting
    return found


def accumulates(view: View, source: Script) -> bool:
    """Several micro-batches make a step, as the configuration says, or the script itself."""
    said: list[object] = [
        s.value for s in view.run.raw_settings if s.key.endswith("gradient_accumulation_steps")
    ]
    for node in source.of(ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and key.value == "gradient_accumulation_steps":
                said.append(literal(source, value))
    numbers = [v for v in said if isinstance(v, (int, float)) and not isinstance(v, bool)]
    return any(n > 1 for n in numbers)


def scale_of_one(view: View, source: Script) -> Finding | None:
    """fp16 of DeepSpeed at a loss scale that is fixed at one, in its configuration or the script's dict."""
    if engines(source) is None and not hugging_face(source):
        return None
    for node in source.of(ast.Dict):
        items = {
            k.value: v for k, v in zip(node.keys, node.values, strict=True) if isinstance(k, ast.Constant)
        }
        half = items.get("fp16")
        if isinstance(half, ast.Dict):
            told = {
                k.value: literal(source, v)
                for k, v in zip(half.keys, half.values, strict=True)
                if isinstance(k, ast.Constant)
            }
            if told.get("enabled") is True and _is_one(told.get("loss_scale")):
                return at(source, half, "the loss scale is fixed at one: small fp16 gradients become zero")
    said = {(s.file, s.key): s for s in view.run.raw_settings if not s.file.endswith(".py")}
    for (file, key), scale in said.items():
        on = said.get((file, "fp16.enabled"))
        if key == "fp16.loss_scale" and _is_one(scale.value) and on is not None and on.value is True:
            why = "the loss scale is fixed at one: small fp16 gradients become zero"
            return present(why, value=scale.value, where=(Place(file, scale.line),))
    return None


def engine_in_fp16(view: View) -> bool | None:
    """Whether DeepSpeed's configuration file switches fp16 on; None where no file says so."""
    said = [s.value for s in view.run.raw_settings if s.key == "fp16.enabled" and not s.file.endswith(".py")]
    return said[0] if len(said) == 1 and isinstance(said[0], bool) else None


def _is_one(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == 1


def weights_alone_resumed(source: Script) -> Finding | None:
    """Training goes on from `load_checkpoint(..., load_module_only=True)`: without moments and scale."""
    mine = engines(source)
    loop = outer_loop(source) if mine is not None else None
    if mine is None or loop is None:
        return None
    for call in source.named("load_checkpoint"):
        if _last(source, call) not in mine.engines or call.lineno > loop.lineno or source.loops_around(call):
            continue
        about = unparse(call) + " ".join(unparse(p.test) for p in source.above(call) if isinstance(p, ast.If))
        if re.search(r"(?i)best|pretrain|init|base|warm|finetun", about):
            continue
        off = [k for k in call.keywords if isinstance(k.value, ast.Constant)]
        less = any(
            (k.arg == "load_module_only" and k.value.value is True)  # type: ignore[attr-defined]
            or (k.arg in ("load_optimizer_states", "load_lr_scheduler_states") and k.value.value is False)  # type: ignore[attr-defined]
            for k in off
        )
        if less and _takes_up(source, call):
            return at(
                source,
                call,
                "training goes on from the weights alone: moments, scale and schedule start anew",
            )
    return None


def _takes_up(source: Script, call: ast.Call) -> bool:
    """A count or the client's state is taken out of the checkpoint, or the branch says that it resumes."""
    statement = source.statement(call)
    kept = isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple)
    if kept and isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple):
        second = statement.targets[0].elts[-1]
        return isinstance(second, ast.Name) and any(
            isinstance(n, ast.Name) and n.id == second.id and isinstance(n.ctx, ast.Load)
            for n in walk(source.function_around(call) or source.tree)
        )
    tests = [unparse(p.test) for p in source.above(call) if isinstance(p, ast.If)]
    return any(re.search(r"(?i)resum|latest|last", t) for t in (*tests, unparse(call)))


_CLIPS = ("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm")


def clipped_past_engine(view: View, source: Script) -> Finding | None:
    """PyTorch's clip beside `engine.backward` in fp16 or with ZeRO: gradients are scaled, or in parts."""
    mine = engines(source)
    if mine is None or not through_engine(source, mine):
        return None
    said = {s.key for s in view.run.raw_settings if s.value is True and "fp16" in s.key}
    if not said and not re.search(r"['\"]fp16['\"]|loss_scale", source.text):
        return None
    functions = {source.function_around(c) for c in through_engine(source, mine)}
    for call in source.named(*_CLIPS):
        if source.function_around(call) in functions and re.search(r"utils|^$", source.owner(call)):
            return at(
                source, call, "DeepSpeed unscales and clips in its own step; this clip meets scaled gradients"
            )
    return None


_SPREADS = re.compile(r"get_rank\(|get_world_size\(|local_rank|init_distributed\(|init_process_group\(")


def every_rank_reads_all(source: Script) -> Finding | None:
    """The loader that trains an engine draws from the whole set on each rank: no sampler divides it."""
    mine = engines(source)
    if mine is None or source.loose or not _SPREADS.search(source.code):
        return None
    if source.named("RandomSampler", "deepspeed_io", "DistributedBatchSampler"):
        return None
    if any(keyword(c, "training_data") is not None for c in mine.made):
        return None
    for loop in (p for c in through_engine(source, mine) for p in source.loops_around(c)):
        if not isinstance(loop, ast.For):
            continue
        for name in of(loop.iter, ast.Name):
            for value in flow(source).values(name, 6):
                if (
                    isinstance(value, ast.Call)
                    and last_name(value.func) == "DataLoader"
                    and _whole(source, value)
                ):
                    return at(source, value, "each process reads the whole of the data: nothing divides them")
    return None


def _whole(source: Script, loader: ast.Call) -> bool:
    """A loader without a sampler, over data that were made without a rank."""
    if any(k.arg in ("sampler", "batch_sampler", None) for k in loader.keywords):
        return False
    given = loader.args[0] if loader.args else keyword(loader, "dataset")
    if given is None:
        return False
    ways = [given, *flow(source).values(given, 4)]
    return not any(re.search(r"(?i)rank|world|shard|split_by_node", unparse(v)) for v in ways)


def handed_to_engine(source: Script) -> list[tuple[ast.Call, ast.expr]]:
    """The parameters that `initialize` hands to the optimizer of its configuration."""
    mine = engines(source)
    pairs = [(c, keyword(c, "model_parameters")) for c in (mine.made if mine is not None else ())]
    return [(c, g) for c, g in pairs if g is not None and keyword(c, "optimizer") is None]
