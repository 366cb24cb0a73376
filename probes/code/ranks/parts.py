"""Several processes in scripts: shards, seeds, and what joins their gradients."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import all_arguments, argument, keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ...scripts.untaped import without_gradients
from ..mindspore.cells import alone_in_each_process, drawn_apart, shares_crossed
from ..mindspore.steps import shares_not_asked
from ..shared.checks import (
    at,
    first,
    imports_locals,
    ok,
    outer_loop,
    runs_in,
)
from ..shared.nodes import is_false, whole_number
from ..shared.sides import either, side
from ..shared.units import chain
from ..shared.uses import never_run
from ..tensorflow.ascend import ASCEND_TF, every_rank_reads_all_on_ascend, used
from ..tensorflow.tape_steps import outside_scope
from ..trainers.deepspeed import every_rank_reads_all
from ..trainers.lightning_settings import told_not_to_share
from .by_hand import of_libraries, order_by_rank, process_groups, reduced_after_step, weights_sent
from .mapped import each_device_alone
from .replicas import (
    apart_after_wrapping,
    drawn_by_rank_on_mindspore,
    unreduced_on_mindspore,
    unwrapped_in_training,
)
from .sampler_order import each_process_reads_all
from .shards import part_not_taken
from .splits import drawn_by_each_process, sampler_apart, shared_in_evaluation_only
from .wrapped import loader_not_shared, past_the_wrapper


@probe()
def set_epoch_missing(view: View) -> Finding:
    """DistributedSampler over several epochs without set_epoch: the same order in every epoch."""
    return first(view, _no_set_epoch, "the scripts use no distributed sampler")


def _no_set_epoch(source: Script) -> Finding | None:
    samplers = tuple(c for c in source.named("DistributedSampler") if not _keeps_order(c))
    if not samplers or outer_loop(source) is None:
        return None  # a trainer that runs the epochs may set them
    if imports_locals(source) and not all(_in_sight(source, s) for s in samplers):
        return None
    told = [c for c in source.named("set_epoch") if c.args]
    if told and all(never_run(source, c) for c in told):
        return at(source, samplers[0], "nothing calls the function that tells this sampler the epoch")
    if told and all(isinstance(c.args[0], ast.Constant) and source.loops_around(c) for c in told):
        return at(source, told[0], "set_epoch is told the same epoch in each round, so the order stays")
    if (astray := _set_astray(source, source.named("DistributedSampler"))) is not None:
        return astray
    if source.named("set_epoch"):
        return ok(source, source.named("set_epoch")[0], "set_epoch is called")
    if not _reaches_a_loader(source) and all(_handed(source, s) for s in samplers):
        return None  # whatever gets it, it puts nothing into an order
    return at(source, samplers[0], "set_epoch is never called, so every epoch has the same order")


def _in_sight(source: Script, sampler: ast.Call) -> bool:
    """The sampler goes into loaders and tests alone, and the loop over epochs stands in its function."""
    parent, function = source.parents.get(sampler), source.function_around(sampler)
    if not isinstance(parent, ast.Assign) or function is None:
        return False
    names = {unparse(t) for t in parent.targets}
    epochs = [n for n in of(function, ast.For) if "epoch" in unparse(n.target)]
    trains = any(last_name(c.func).startswith("train") for n in epochs for c in of(n, ast.Call))
    uses = [n for n in of(function, ast.Name) if n.id in names and isinstance(n.ctx, ast.Load)]
    inside = all(isinstance(source.parents.get(n), (ast.keyword, ast.Compare)) for n in uses)
    given = any(
        isinstance(k, ast.keyword) and k.arg == "sampler" for k in (source.parents.get(n) for n in uses)
    )
    loaders = {
        unparse(t) for n in of(function, ast.Assign) for t in n.targets if "Loader" in unparse(n.value)
    }
    tells = any(f"{name}.sampler" in unparse(n) for n in epochs for name in loaders)
    return trains and inside and given and not tells


def _reaches_a_loader(source: Script) -> bool:
    """Whether a loader of the program may be given a sampler, or the program makes none that is at hand."""
    loaders = [c for c in source.calls if last_name(c.func).endswith("DataLoader")]
    made = [c for c in loaders if last_name(c.func) not in source.classes and not _hands_on(source, c)]
    return not made or any(
        len(c.args) > _SAMPLER_PLACE
        or any(isinstance(a, ast.Starred) for a in c.args)
        or any(k.arg in (None, "sampler", "batch_sampler") for k in c.keywords)
        for c in made
    )


def _handed(source: Script, sampler: ast.Call) -> bool:
    """Whether a call is given the sampler, by its name."""
    parent = source.parents.get(sampler)
    names = {unparse(t) for t in parent.targets} if isinstance(parent, ast.Assign) else set()
    return any(unparse(a) in names for c in source.calls for a in all_arguments(c))


def _hands_on(source: Script, call: ast.Call) -> bool:
    """`return DataLoader(*args, **kwargs)` in a function called a loader too: its callers say what."""
    function = source.function_around(call)
    return (
        function is not None
        and function.name.endswith("DataLoader")
        and function.args.kwarg is not None
        and any(k.arg is None and unparse(k.value) == function.args.kwarg.arg for k in call.keywords)
        and bool(source.named(function.name))
    )


_SAMPLER_PLACE = 3  # DataLoader(dataset, batch_size, shuffle, sampler)


def _keeps_order(sampler: ast.Call) -> bool:
    """It does not shuffle, whatever epoch it is told."""
    flag = keyword(sampler, "shuffle")
    return is_false(flag)


def _of_a_hook(source: Script, function: Function, depth: int = 3) -> bool:
    """Nothing calls it, or only a hook that nothing calls: `run_epoch()` of a trainer that is not seen."""
    calls = source.named(function.name)
    around = [source.function_around(c) for c in calls]
    if not calls or depth == 0:
        return not calls
    return all(f is not None and f is not function and _of_a_hook(source, f, depth - 1) for f in around)


def _set_astray(source: Script, samplers: tuple[ast.Call, ...]) -> Finding | None:
    """set_epoch stands outside of all loops, is told what never changes there, or tells another sampler."""
    told = source.named("set_epoch")
    loops = source.of(ast.For, ast.While)
    around = [source.function_around(c) for c in told]
    if any(f is not None and _of_a_hook(source, f) for f in around):
        return None  # somebody else calls it
    if told and not any(runs_in(source, c, loop) for c in told for loop in loops):
        return at(source, told[0], "set_epoch is called once and not in each epoch, so the order stays")
    if told and (same := _told_the_same(source, told)) is not None:
        return at(source, same, "the epoch that the sampler is told stays the same in each round")
    for call in told:
        repeated = source.loops_around(call)
        given = argument(call, position=0)
        if len(told) != 1 or not repeated or not isinstance(given, (ast.Name, ast.Attribute)):
            continue
        changed = {
            unparse(n)
            for n in of(repeated[-1], ast.Name, ast.Attribute)
            if isinstance(n.ctx, (ast.Store, ast.Del))
        }
        if isinstance(given, ast.Name) and given.id not in changed:
            return at(source, call, f"set_epoch is told `{given.id}`, which stays the same in each round")
    names = {
        last_name(t): s
        for s in samplers
        if isinstance(statement := source.statement(s), ast.Assign)
        for t in statement.targets
    }
    owners = {source.owner(c).split(".")[-1] for c in told}
    trained = [n for n in names if side(n) is not False]
    if told and owners <= set(names) and len(names) == len(samplers) and trained:
        if not owners & set(trained) and all(side(o) is False for o in owners):
            return at(source, told[0], f"the epoch is told to another sampler than `{trained[0]}`")
    return None


def _told_the_same(source: Script, told: tuple[ast.Call, ...]) -> ast.AST | None:
    """By way of a function: `data.start(self.first)` with `def start(self, n): sampler.set_epoch(n)`."""
    for call in told:
        given = argument(call, position=0)
        handed = flow(source).arguments(given) if isinstance(given, ast.Name) else []
        if source.loops_around(call) or not handed:
            return None
        for one in handed:
            if not chain(source, one) or not isinstance(one, (ast.Name, ast.Attribute, ast.Constant)):
                return None
            if isinstance(one, ast.Name) and flow(source).arguments(one):
                return None
            if not isinstance(one, ast.Constant) and _changes_in_loops(source, one):
                return None
        return handed[0]
    return None


def _changes_in_loops(source: Script, name: ast.expr) -> bool:
    """A loop, or a function that runs in one, sets it."""
    word = last_name(name)
    stored = [
        n
        for n in source.of(ast.Name, ast.Attribute)
        if last_name(n) == word and isinstance(n.ctx, (ast.Store, ast.Del))
    ]
    return any(chain(source, n) or isinstance(source.parents.get(n), ast.AugAssign) for n in stored)


@probe()
def no_gradient_synchronisation(view: View) -> Finding:
    """A process group is made, and neither a wrapper nor an all-reduce joins the gradients."""
    return first(
        view,
        either(
            reduced_after_step,
            _no_sync,
            _alone_on_ascend_tf,
            unreduced_on_mindspore,
            alone_in_each_process,
            outside_scope,
            each_device_alone,
        ),
        "the scripts train in one process",
    )


def _no_sync(source: Script) -> Finding | None:
    groups = process_groups(source)
    if not groups or not source.backwards:
        return None
    names = (
        "DistributedDataParallel",
        "DDP",
        "FullyShardedDataParallel",
        "FSDP",
        "all_reduce",
        "fully_shard",
        "initialize",
        "prepare",
    )
    joined = [c for c in of_libraries(source, *names) if not _is_metric_reduce(source, c)]
    unused = [c for c in joined if never_run(source, c)]
    if unused and len(unused) == len(joined):
        return at(
            source, unused[0], "nothing calls the function that wraps the model: each process trains alone"
        )
    joined = [c for c in joined if source.owner(c).split(".")[-1] != "amp"]  # apex knows of one process
    if joined:
        return ok(source, joined[0], "gradients are synchronised")
    if imports_locals(source) or any(_JOINS.search(word) for word in _words(source)):
        return None
    return at(source, groups[0], "processes are started and nothing synchronises their gradients")


_JOINS_ON_ASCEND = re.compile(
    r"(?i)npu_?distributed|NPUOptimizer\(.*is_distributed\s*=\s*True|hccl_?ops|all_?reduce|horovod|distribute_?strategy|npu_?strategy"
    r"|distribution_strategy|get_npu_distributed|npu_distributed_optimizer"
)


def _alone_on_ascend_tf(source: Script) -> Finding | None:
    """TensorFlow on Ascend: a share of the data for each rank, and an optimizer that nothing distributes."""
    if not ASCEND_TF.search(source.code) or not re.search(r"RANK_SIZE|get_rank_size", source.code):
        return None
    steps = source.named("minimize", "apply_gradients")
    if not steps:
        return None
    if found := _JOINS_ON_ASCEND.search(used(source)):
        return ok(source, steps[0], f"{found[0]} joins the gradients")
    if not re.search(r"\b(?:train|optimizers|tf)\.\w*Optimizer\(", source.code):
        return None  # made elsewhere, where it may be wrapped too
    return at(source, steps[0], "each rank takes its own share of the data, and nothing joins the gradients")


# What joins gradients under a name of its own: a wrapper class, a helper that shards the model, an engine.
_JOINS = re.compile(
    r"(?i)data_?parallel|\bddp|fsdp|shard(?:ed)?_model|parallelize|replicate\(|horovod|deepspeed|\bzero[_-]?[123]\b"
    r"|(?:reduce|sync|average)\w*_grad|grad\w*_(?:(?:all)?_?reduce|sync|average)|^(?-i:Distributed)$|^sync_param"
)


def _words(source: Script) -> Iterator[str]:
    """Names that the script uses and texts that it hands to calls; what is only imported is not used."""
    for node in source.of(ast.Name, ast.Attribute, ast.Call):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        else:
            given = all_arguments(node)
            yield from (a.value for a in given if isinstance(a, ast.Constant) and isinstance(a.value, str))


def _is_metric_reduce(source: Script, call: ast.Call) -> bool:
    if last_name(call.func) != "all_reduce" or not call.args:
        return False
    name = source.function_name(call)
    if ".grad" in unparse(call.args[0]) or "grad" in name.lower():
        return False
    given = (unparse(a) for c in source.named(name) for a in c.args) if name else ()
    return not any(".grad" in argument for argument in given)


@probe()
def wrapper_bypassed(view: View) -> Finding:
    """The training loop calls `model.module(x)`: the wrapper never sees the forward pass."""
    return first(
        view, either(_bypassed, unwrapped_in_training, past_the_wrapper), "the scripts wrap no model"
    )


def _bypassed(source: Script) -> Finding | None:
    wrapped = source.named("DistributedDataParallel", "DDP")
    if not wrapped:
        return None
    if any(not _is_metric_reduce(source, c) for c in source.named("all_reduce")):
        return ok(source, wrapped[0], "gradients are joined by hand as well")
    for call in source.calls:
        trains = source.train_loop is not None and source.train_loop in source.loops_around(call)
        if call.args and trains and not without_gradients(source, call):
            if _is_inner(call.func):
                return at(source, call, "training calls the inner module, so gradients are not synchronised")
            inner = _taken_out(source, call)
            if inner is not None:
                return at(source, inner, "training is given the inner module: gradients are not synchronised")
    return ok(source, wrapped[0], "training calls the wrapped model")


def _is_inner(node: ast.expr | None) -> bool:
    """`model.module`; what a class calls its own module is something else."""
    return isinstance(node, ast.Attribute) and node.attr == "module" and unparse(node.value) != "self"


def _taken_out(source: Script, call: ast.Call) -> ast.AST | None:
    """Where a model that training calls by a name got it from a wrapper: by assignment, or by its callers."""
    around = source.function_around(call)
    if not isinstance(call.func, ast.Name) or around is None:
        return None
    name = call.func.id
    given = [n for n in of(around, ast.Assign) if name in map(unparse, n.targets)]
    if given:
        return given[0] if all(_is_inner(n.value) for n in given) else None
    places = [a.arg for a in (*around.args.posonlyargs, *around.args.args)]
    if name not in places or around.name in ("forward", "__call__"):
        return None
    handed = []
    for use in flow(source).calls_of(around):
        value = keyword(use, name)
        if value is None and places.index(name) < len(use.args):
            value = use.args[places.index(name)]
        handed.append((use, value))
    return handed[0][0] if handed and all(_is_inner(v) for _, v in handed) else None


@probe()
def same_shard(view: View) -> Finding:
    """Processes do not divide the data: they ask for one fixed part, or for none."""
    return first(
        view,
        either(
            part_not_taken,
            sampler_apart,
            shared_in_evaluation_only,
            drawn_by_each_process,
            order_by_rank,
            _same_shard,
            every_rank_reads_all,
            every_rank_reads_all_on_ascend,
            each_process_reads_all,
            loader_not_shared,
            shares_not_asked,
            told_not_to_share,
            shares_crossed,
        ),
        "the scripts use no distributed sampler",
    )


def _same_shard(source: Script) -> Finding | None:
    for call in source.named("DistributedSampler"):
        rank, parts = keyword(call, "rank"), keyword(call, "num_replicas")
        alone = isinstance(parts, ast.Constant) and parts.value == 1
        if alone:
            continue  # one process, whose share is everything
        if whole_number(rank) is not None:
            return at(source, call, "every process reads the same shard")
        return ok(source, call, "each process reads its own shard")
    return None


@probe()
def seed_by_rank(view: View) -> Finding:
    """Each process seeds with its rank before it builds the model, and nothing makes the replicas equal.

    A data-parallel wrapper or a broadcast makes them equal: then this is right, and wanted for the data.
    """
    launched = any(_by_process(s.key, s.value) for s in view.run.raw_settings)
    return first(
        view,
        either(
            *((_launched_apart,) if launched else ()),
            _seed_by_rank,
            apart_after_wrapping,
            drawn_by_rank_on_mindspore,
            drawn_apart,
        ),
        "the scripts train in one process",
    )


def _by_process(key: str, value: object) -> bool:
    """`--seed $((1234+i))`, `--seed $((SEED+RANK))` of a launch script: each process has its own seed."""
    return (
        key.rpartition(".")[2].lower().endswith("seed")
        and isinstance(value, str)
        and re.search(
            r"\$\(\([^)]*[A-Za-z_]\w*\s*[+*]|\$\(\([^)]*[+*]\s*\$?[A-Za-z_]|\$\{?(?:LOCAL_)?RANK\b", value
        )
        is not None
    )


def _launched_apart(source: Script) -> Finding | None:
    """A script that seeds with what it is given, where each process is given another seed."""
    given = [
        c
        for c in source.named("manual_seed", "set_seed", "seed")
        if c.args and "seed" in unparse(c.args[0]).lower() and not _OF_DATA.search(source.owner(c))
    ]
    if not given or not source.named("init_process_group") or _made_equal(source):
        return None
    return at(
        source, given[0], "each process is launched with a seed of its own, and nothing makes them equal"
    )


_OF_DATA = re.compile(r"random$|^(?:np|ds|config)\b")


def _made_equal(source: Script) -> bool:
    names = ("DistributedDataParallel", "DDP", "FSDP", "FullyShardedDataParallel", "prepare")
    return bool(of_libraries(source, *names) or weights_sent(source))


def _seed_by_rank(source: Script) -> Finding | None:
    seeds = [c for c in source.named("manual_seed", "set_seed", "seed") if c.args]
    if not seeds or not process_groups(source):
        return None
    drawn = [c for c in seeds if not _OF_DATA.search(source.owner(c))]
    ranked = [c for c in drawn if "rank" in unparse(c.args[0]).lower()]
    if ranked and not _made_equal(source):
        return at(
            source, ranked[0], "each process starts from weights of its own, and nothing makes them equal"
        )
    return ok(source, seeds[0], "replicas start equal")
