"""Splits and orders of several processes in scripts that each process draws for itself.

What is dealt out to processes by a sampler or by `[rank::world]` must be one list on all of them. A split
that hangs on the state of a process trains one of them on what another holds out.
"""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, extractor
from ..shared.nodes import is_false, is_true
from ..shared.sides import side
from ..shared.uses import in_full

_SEVERAL = ("init_process_group", "init_distributed", "DistributedSampler", "Accelerator")
_RANK = re.compile(r"(?i)\b(?:local_|global_)?rank\b|process_index|get_rank\(")
_FIRST = re.compile(r"(?i)rank\w*(?:\(\))? == 0|is_(?:main|master|first)|main_process_first|not [\w.]*rank")
_SHARES = ("broadcast", "broadcast_object_list", "scatter_object_list")
_SEEDERS = {
    "numpy": re.compile(r"(?:^|\.)(?:np|numpy)\.random$"),
    "random": re.compile(r"^random$"),
    "torch": re.compile(r"^torch$"),
}
_OF_ONE_LIBRARY = re.compile(
    r"^(?:torch|random|np|numpy|tf)\.(?:\w+\.)*(?:manual_seed|manual_seed_all|seed)$"
)
_ALL = ("set_seed", "seed_everything", "seed_all", "set_random_seed", "init_seeds", "setup_seed", "set_seeds")


def drawn_by_each_process(source: Script) -> Finding | None:
    """The parts for training and evaluation are drawn from a state that differs between processes.

    Left aside: one process draws and the others are told, a part that is read from a file, and programs
    that seed all processes alike.
    """
    if source.loose or not source.named(*_SEVERAL) or source.named(*_SHARES):
        return None
    for call, given in _seeded_draws(source):
        if _hangs_on_rank(source, [given]):
            return at(source, call, "the split is drawn with the rank's seed: processes hold out other rows")
    for call, library in _draws(source):
        if any(isinstance(p, (ast.If, ast.With)) and _FIRST.search(_head(p)) for p in source.above(call)):
            continue
        if library is None:
            return at(
                source, call, "each process draws a split of its own: one trains on what another holds out"
            )
        seeds = _seeds(source, library)
        if any(_by_rank(source, s) for s in seeds):
            return at(
                source,
                call,
                "the split hangs on the rank's seed: one process trains on what another holds out",
            )
        if not seeds and not _seeded_elsewhere(source):
            return at(source, call, "nothing seeds this split, and each process draws its own")
    return None


def _head(node: ast.If | ast.With) -> str:
    return unparse(node.test) if isinstance(node, ast.If) else " ".join(unparse(i) for i in node.items)


def _draws(source: Script) -> list[tuple[ast.Call, str | None]]:
    """Calls that decide which row is of which part, with whose state they draw from; None: a fresh one."""
    found: list[tuple[ast.Call, str | None]] = []
    for call in source.calls:
        name, owner = last_name(call.func), source.owner(call)
        if name in ("permutation", "shuffle", "sample") and _makes_parts(source, call):
            if owner in ("np.random", "numpy.random"):
                found.append((call, "numpy"))
            elif owner == "random":
                found.append((call, "random"))
            elif re.fullmatch(r"(?:np|numpy)\.random\.default_rng\(\)|random\.Random\(\)", owner):
                found.append((call, None))
        elif name == "randperm" and owner == "torch" and keyword(call, "generator") is None:
            if _makes_parts(source, call):
                found.append((call, "torch"))
        elif name == "random_split" and keyword(call, "generator") is None and len(call.args) < 3:
            found.append((call, "torch"))
        elif name == "train_test_split" and keyword(call, "random_state") is None:
            shuffled = keyword(call, "shuffle")
            if not is_false(shuffled):
                found.append((call, "numpy"))
    return found


def _seeded_draws(source: Script) -> list[tuple[ast.Call, ast.expr]]:
    """Draws of a split with a seed of their own: `np.random.default_rng(seed).permutation(n)`."""
    found: list[tuple[ast.Call, ast.expr]] = []
    for call in source.named("permutation", "shuffle", "sample"):
        made = receiver(call)
        if isinstance(made, ast.Call) and last_name(made.func) in ("default_rng", "RandomState", "Random"):
            if made.args and _makes_parts(source, call):
                found.append((call, made.args[0]))
    for call in source.named("train_test_split"):
        if (seed := keyword(call, "random_state")) is not None:
            found.append((call, seed))
    return found


def _makes_parts(source: Script, call: ast.Call) -> bool:
    """What is drawn is cut at least twice right after: `order[:n]`, `order[n:]`."""
    statement = source.statement(call)
    around = source.function_around(call) or source.tree
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        name = unparse(statement.targets[0])
    elif isinstance(statement, ast.Expr) and statement.value is call and call.args:
        name = unparse(call.args[0])
    else:
        return False
    cuts = {
        unparse(n.slice)
        for n in of(around, ast.Subscript)
        if unparse(n.value) == name and isinstance(n.slice, ast.Slice) and n.lineno > call.lineno
    }
    return len(cuts) > 1


def _seeds(source: Script, library: str) -> list[ast.Call]:
    found = [c for c in source.named(*_ALL) if c.args or c.keywords]
    names = ("manual_seed",) if library == "torch" else ("seed",)
    found += [c for c in source.named(*names) if _SEEDERS[library].search(source.owner(c)) and c.args]
    if library == "torch":
        found += [c for c in source.named("manual_seed_all") if c.args]
    return found


def _by_rank(source: Script, call: ast.Call) -> bool:
    """The seed is another one in each process."""
    special = keyword(call, "device_specific")
    if is_true(special):
        return True
    given = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "seed")]
    return _hangs_on_rank(source, given)


def _hangs_on_rank(source: Script, given: list[ast.expr]) -> bool:
    ways = [v for g in given for v in (g, *flow(source).values(g, 3))]
    ways += [a for g in given for n in of(g, ast.Name) for a in flow(source).arguments(n)]
    return any(_RANK.search(unparse(w)) for w in ways)


def _seeded_elsewhere(source: Script) -> bool:
    """Some call may seed everything under a name of its own; what one library alone is told does not."""
    calls = (c for c in source.calls if re.search(r"(?i)seed|determinis|reproduc", last_name(c.func)))
    return any(not _OF_ONE_LIBRARY.search(unparse(c.func)) for c in calls)


def sampler_apart(source: Script) -> Finding | None:
    """`DistributedSampler(rows, seed=seed + rank)`: processes cut their parts out of different orders.

    And `DistributedSampler(rows, 1, 0)` of a model whose gradients several processes exchange, and parts for
    more or fewer processes than are started.
    """
    wrapped = source.named("DistributedDataParallel", "DDP", "FSDP", "FullyShardedDataParallel")
    for call in source.named("DistributedSampler"):
        seed = keyword(call, "seed")
        if seed is not None and _RANK.search(in_full(source, seed)):
            return at(
                source, call, "each process orders the rows by a seed of its own, so their parts overlap"
            )
        parts = argument(call, "num_replicas", position=1)
        mine = argument(call, "rank", position=2)
        alone = all(isinstance(a, ast.Constant) for a in (parts, mine))
        if alone and wrapped and source.named("init_process_group") and _trains_with(source, call):
            if not any(isinstance(p, (ast.If, ast.IfExp)) for p in source.above(call)):
                return at(
                    source, call, "every process reads all of the data: this sampler knows of one alone"
                )
        made, started = _figure(source, parts), _processes(source)
        told = isinstance(parts, ast.Constant)  # a setting of its own may be given otherwise
        if not alone and told and made and started and started > 1 and made != started:
            return at(source, call, f"the data are cut for {made} processes, and {started} are started")
    return None


def _processes(source: Script) -> int | None:
    """How many processes are started, where the script says so and in one way."""
    said = [keyword(c, "world_size") for c in source.named("init_process_group")]
    said += [keyword(c, "nprocs") for c in source.named("spawn")]
    known = {_figure(source, s) for s in said if s is not None}
    return known.pop() if len(known) == 1 else None


def _figure(source: Script, node: ast.expr | None) -> int | None:
    """A whole number that an expression comes to."""
    told, value, _ = extractor(source).value(node) if node is not None else (False, None, None)
    return value if told and type(value) is int else None


def shared_in_evaluation_only(source: Script) -> Finding | None:
    """Held-out data are divided by a sampler, and the loader for training shuffles all rows in each process.

    Left aside: loaders under a condition, data that are told the rank, wrappers under a condition.
    """
    samplers = source.named("DistributedSampler")
    wrapped = source.named("DistributedDataParallel", "DDP", "FSDP", "FullyShardedDataParallel")
    if not samplers or not wrapped or not source.named("init_process_group") or source.loose:
        return None
    if any(isinstance(p, (ast.If, ast.IfExp)) for w in wrapped for p in source.above(w)):
        return None
    for call in samplers:
        statement = source.statement(call)
        name = unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
        data = unparse(call.args[0]) if call.args else ""
        flag = keyword(call, "shuffle")
        kept = is_false(flag)
        held = side(name) is False or side(data) is False or (kept and "train" not in f"{name} {data}")
        if not held:
            return None
    for loader in source.named("DataLoader"):
        statement = source.statement(loader)
        name = unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
        rows = argument(loader, position=0)
        if rows is None or not (side(name) is True or side(unparse(rows)) is True):
            continue
        if any(isinstance(p, (ast.If, ast.IfExp)) for p in source.above(loader)):
            continue
        given = keyword(loader, "sampler")
        ends = [given, *flow(source).values(given, 3)] if given is not None else []
        random = bool(ends) and all(
            isinstance(e, ast.Name) or (isinstance(e, ast.Call) and last_name(e.func) == "RandomSampler")
            for e in ends
        )
        drawn = any(isinstance(e, ast.Call) for e in ends)
        shuffled = keyword(loader, "shuffle")
        mixed = given is None and is_true(shuffled)
        told = [rows, *flow(source).values(rows, 3)]
        if ((random and drawn) or mixed) and not any(_RANK.search(unparse(t)) for t in told):
            why = "each process goes through all training rows: only held-out rows are divided"
            return at(source, loader, why)
    return None


def _trains_with(source: Script, call: ast.Call) -> bool:
    """The sampler's epoch is set, or it is named for training."""
    statement = source.statement(call)
    if not isinstance(statement, ast.Assign):
        return False
    name = last_name(statement.targets[0])
    return "train" in name or any(source.owner(c).split(".")[-1] == name for c in source.named("set_epoch"))
