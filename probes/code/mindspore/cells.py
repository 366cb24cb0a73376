"""MindSpore's calls that give back a new value, refuse an argument, or leave ranks apart.

Tried with MindSpore 2.10: clips give back new gradients; a padding beside `pad_mode="same"` is refused;
`Model` runs alone in each process unless a parallel mode joins them.
"""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import updates
from ...scripts.syntax import Function, Script
from ..shared.checks import at, ok
from ..shared.sides import literal
from .steps import of_mindspore

# ------------------------------------------------------------------------------------------------ clipping

_CLIPS = re.compile(r"^clip_(?:by_(?:global_norm|norm|value)|grads?(?:_\w+)?)$")


def clip_not_taken(source: Script) -> Finding | None:
    """`ops.clip_by_global_norm(grads, 1.0)` whose result nobody takes, or that follows the update.

    MindSpore's clips give back new gradients. Counts in functions that update weights.
    """
    if not of_mindspore(source):
        return None
    seen = None
    for step in updates(source):
        function = source.function_around(step)
        if function is None or not step.args:
            continue
        for call in of(function, ast.Call):
            if (
                not _CLIPS.match(last_name(call.func))
                or last_name(call.func) in source.classes
                or not call.args
            ):
                continue
            if last_name(call.func).endswith("_") or last_name(call.func) in flow(source).functions:
                continue
            seen = seen or call
            statement = source.statement(call)
            if isinstance(statement, ast.Expr) and statement.value is call:
                return at(source, call, "the clipped gradients are given back, and nothing takes them")
            if isinstance(statement, ast.Assign) and statement.value is call:
                names = {t.id for t in statement.targets if isinstance(t, ast.Name)}
                if names and _never_read(function, statement, names) and not source.loops_around(call):
                    return at(source, call, "no update gets the clipped gradients: nothing reads them after")
    return ok(source, seen, "the clipped gradients are what the update gets") if seen is not None else None


def _never_read(function: Function, statement: ast.stmt, names: set[str]) -> bool:
    end = statement.end_lineno or statement.lineno
    return not any(
        n.id in names and isinstance(n.ctx, ast.Load) and n.lineno > end for n in of(function, ast.Name)
    )


# ------------------------------------------------------------------------------------------------- padding

_CONVOLUTIONS = re.compile(r"^Conv(?:1d|2d|3d)(?:Transpose)?$")


def padding_refused(source: Script) -> Finding | None:
    """`nn.Conv2d(a, b, 3, padding=1)`: MindSpore pads "same" by default, and refuses a number beside it."""
    if not of_mindspore(source) or "torch" in source.text:
        return None
    seen = None
    for call in source.calls:
        name = last_name(call.func)
        if not _CONVOLUTIONS.match(name) or name in source.classes or "mint" in unparse(call.func).split("."):
            continue
        if re.search(r"from mindspore\.mint|import mint", source.code) or any(
            k.arg is None for k in call.keywords
        ):
            continue
        seen = seen or call
        mode = argument(call, "pad_mode", position=4)
        number = argument(call, "padding", position=5)
        if len(call.args) > 4 and isinstance(literal(source, call.args[4]), int):
            return at(source, call, "the fifth argument is pad_mode, a word; the padding comes after it")
        said = literal(source, mode) if mode is not None else "same"
        given = number.elts if isinstance(number, (ast.Tuple, ast.List)) else [number]
        sizes = [literal(source, g) for g in given if g is not None]
        some = any(isinstance(v, int) and not isinstance(v, bool) and v > 0 for v in sizes)
        if said in ("same", "valid") and some:
            return at(source, call, f'a padding beside pad_mode "{said}" is refused; only "pad" takes one')
    return ok(source, seen, "paddings fit their mode") if seen is not None else None


# ----------------------------------------------------------------------------------------- several processes


def alone_in_each_process(source: Script) -> Finding | None:
    """`init()`, data by rank and `Model(..., optimizer=...)`: no parallel mode, or that of one device."""
    if not of_mindspore(source) or not source.named("get_rank") or not source.named("init", "get_group_size"):
        return None
    models = [c for c in source.named("Model") if keyword(c, "optimizer") is not None or len(c.args) > 2]
    shared = [c for c in source.calls if keyword(c, "num_shards") is not None]
    if not models or not shared or source.named("DistributedGradReducer", "AutoParallel", "HookBackward"):
        return None
    if any(
        unparse(b).endswith("StepCell") or "StepWith" in unparse(b)
        for c in source.classes.values()
        for b in c.bases
    ):
        return None  # a step of its own, which may reduce
    contexts = source.named("set_auto_parallel_context", "set_parallel_context")
    if not contexts:
        ranks = source.named("get_rank")[0]
        return at(source, ranks, "processes are started, and no parallel mode joins their gradients")
    for call in contexts:
        mode = keyword(call, "parallel_mode")
        if mode is not None and re.search(r"(?i)stand_?alone", unparse(mode)) and len(contexts) == 1:
            return at(source, call, "the mode is that of one device: each process trains alone")
        if mode is not None:
            return ok(source, call, "a parallel mode joins the gradients")
    return None


def drawn_apart(source: Script) -> Finding | None:
    """Data-parallel processes whose weights are drawn by a seed of their own, and nothing broadcasts them.

    A seed by rank or clock. `parameter_broadcast` is False unless it is asked for.
    """
    if not of_mindspore(source) or not source.named("get_rank"):
        return None
    contexts = source.named("set_auto_parallel_context")
    parallel = [
        c
        for c in contexts
        if (mode := keyword(c, "parallel_mode")) is not None
        and re.search(r"(?i)data_parallel", unparse(mode))
        and not any(k.arg is None for k in c.keywords)
    ]
    if not parallel or source.named("Broadcast", "broadcast"):
        return None
    told = [g for c in contexts if (g := keyword(c, "parameter_broadcast")) is not None]
    if any(literal(source, g) is not False for g in told):
        return ok(source, told[0], "the weights of one process go to all")
    if not any(c in source.classes for c in {last_name(k.func) for k in source.calls}):
        return None
    of_data = re.compile(r"(?:^|\.)(?:config|ds|dataset)$")  # the order of the data alone
    seeds = [c for c in source.named("set_seed") if c.args and not of_data.search(source.owner(c))]
    for call in seeds:
        given = unparse(call.args[0])
        if re.search(r"(?i)rank|\btime\(|getpid|perf_counter", given):
            return at(source, call, "each process draws weights of its own, and nothing makes them equal")
    return ok(source, seeds[0], "all processes draw the same weights") if seeds else None


_RANK = re.compile(r"(?i)^(?:\w+_)?(?:rank|rank_id|shard_id|local_rank|device_id)$")
_COUNT = re.compile(r"(?i)^(?:\w+_)?(?:size|rank_size|group_size|world_size|num_shards|device_num|ranks)$")


def shares_crossed(source: Script) -> Finding | None:
    """A function that divides data by rank gets rank and count exchanged, or those of one process."""
    if not of_mindspore(source) or not source.named("get_rank"):
        return None
    for function in source.of(ast.FunctionDef):
        pair = _shares(function)
        if pair is None:
            continue
        names = [a.arg for a in function.args.args]
        handed = []
        for call in flow(source).calls_of(function):
            values = [_handed(call, names, p) for p in pair]
            if all(v is not None for v in values):
                handed.append((call, [unparse(v) for v in values if v is not None]))
        for call, (count, rank) in handed:
            if _RANK.match(count.split(".")[-1]) and _COUNT.match(rank.split(".")[-1]):
                return at(source, call, "rank and number of processes are handed over the wrong way round")
        fixed = [c for c, v in handed if v == ["1", "0"]]
        others = [c for c, v in handed if v != ["1", "0"]]
        train = [c for c in fixed if re.search(r"(?i)train", unparse(source.statement(c) or c))]
        beside = [
            c for c in others if source.function_around(c) in {source.function_around(t) for t in train}
        ]
        if train and beside and not any(isinstance(p, (ast.If, ast.IfExp)) for p in source.above(train[0])):
            return at(source, train[0], "training data are read as by one process: each reads all of them")
    return None


def _shares(function: ast.FunctionDef) -> tuple[str, str] | None:
    """The parameters that a function hands on as `num_shards` and `shard_id`."""
    names = {a.arg for a in function.args.args}
    for call in of(function, ast.Call):
        count, rank = keyword(call, "num_shards"), keyword(call, "shard_id")
        if isinstance(count, ast.Name) and isinstance(rank, ast.Name) and {count.id, rank.id} <= names:
            return count.id, rank.id
    return None


def _handed(call: ast.Call, names: list[str], name: str) -> ast.expr | None:
    place = names.index(name)
    return argument(call, name, position=place)


# ------------------------------------------------------------------------------------------- the last weights


def last_tested_on_mindspore(source: Script) -> Finding | None:
    """`save_checkpoint(net, best)` under a comparison, never read back, and the test is taken at the end."""
    if not of_mindspore(source):
        return None
    kept = [
        c
        for c in source.named("save_checkpoint")
        if "best" in unparse(c).lower()
        or any(isinstance(p, ast.If) and "best" in unparse(p.test).lower() for p in source.above(c))
    ]
    if not kept or _read_later(source):
        return None
    blocks = [f.body for f in source.of(ast.FunctionDef)] + [source.tree.body]
    for statements in blocks:
        ends = [i for i, s in enumerate(statements) if _trains(source, s)]
        for later in statements[ends[-1] + 1 :] if ends else ():
            scores = [
                c
                for c in of(later, ast.Call)
                if re.match(r"(?i)_?(?:eval|test|valid|score)", last_name(c.func))
            ]
            test = [c for c in scores if re.search(r"(?i)(?<!la)test|best", unparse(later))]
            if test and isinstance(later, (ast.Expr, ast.Assign)):
                return at(source, test[0], "the last weights are scored, and the best ones were kept for it")
    return None


def _trains(source: Script, statement: ast.stmt) -> bool:
    """The statement holds the loop over epochs, or `model.train(epochs, data)`."""
    if isinstance(statement, (ast.For, ast.While)):
        return (
            any(
                re.search(r"(?i)train|step|epoch", last_name(c.func)) is not None
                for c in of(statement, ast.Call)
            )
            and re.search(r"(?i)epoch", unparse(getattr(statement, "iter", statement))) is not None
        )
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        return last_name(call.func) == "train" and len(call.args) > 1 and bool(source.named("Model"))
    return False


def _read_later(source: Script) -> bool:
    """Weights are read elsewhere than where a run begins: under `if args.resume`, `if args.pre_trained`."""
    for call in source.named("load_checkpoint"):
        tests = [unparse(p.test) for p in source.above(call) if isinstance(p, ast.If)]
        if not any(re.search(r"(?i)resum|pre_?train|init|start|ckpt|checkpoint", t) for t in tests):
            return True
    return False


# ----------------------------------------------------------------------------------------------- the mode

_MODES = ("Dropout", "Dropout2d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm")
_HOOKS = re.compile(r"^(?:on_train_)?(?:epoch|step)_end$|^on_eval\w*$")


def callback_in_training_mode(source: Script) -> Finding | None:
    """A callback of `Model.train` runs the network on data itself, and nothing calls `set_train(False)`."""
    if not of_mindspore(source) or not source.named("Model") or not source.named(*_MODES):
        return None
    for owner in source.classes.values():
        if not any(
            last_name(b).endswith("Callback") for b in owner.bases if isinstance(b, (ast.Name, ast.Attribute))
        ):
            continue
        for function in owner.body:
            if not isinstance(function, ast.FunctionDef) or not _HOOKS.match(function.name):
                continue
            for loop in of(function, ast.For):
                runs = [
                    c
                    for c in of(loop, ast.Call)
                    if re.search(r"(?i)^self\.\w*(?:net|network|model|backbone)\w*$", unparse(c.func))
                    and c.args
                ]
                if not runs:
                    continue
                own = [c for c in of(function, ast.Call) if last_name(c.func) == "set_train"]
                loud = [c for c in own if c.lineno <= loop.lineno]
                quiet = [c for c in source.named("set_train") if c.args or c.keywords]
                quiet = [c for c in quiet if "True" not in unparse(c)]
                if loud and loud[-1] not in quiet:
                    return at(
                        source, loud[-1], "the callback puts the network into training mode to score it"
                    )
                if quiet or source.named("set_grad"):
                    return ok(source, runs[0], "the network is put into evaluation mode before it is scored")
                return at(
                    source, runs[0], "the callback runs the network in training mode: Model.train set it"
                )
    return None
