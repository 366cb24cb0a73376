"""How scripts divide data among processes: the parts that are asked for, and what is left of them."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.nodes import whole_number
from ..shared.uses import in_full

_LOADERS = ("DataLoader", "StatefulDataLoader")
_RANKS = re.compile(r"(?i)^(?:global_)?(?:rank|shard|worker|device|process)(?:_?(?:id|idx|index|rank))?$")
_SIZES = re.compile(
    r"(?i)^(?:world|size|world_size|(?:num|n)_(?:replicas|shards|parts|processes|devices)|(?:device|rank|group|shard)_(?:num|size|count))$"
)


def part_not_taken(source: Script) -> Finding | None:
    """A process does not take its own part of the data: the sampler is unread, the rank is not its own."""
    for look in (
        _sampler_unread,
        _local_rank,
        _parts_for_rank,
        _first_shard,
        _ranks_unread,
        _ranks_not_given,
    ):
        if (found := look(source)) is not None:
            return found
    return None


def _sampler_unread(source: Script) -> Finding | None:
    """A distributed sampler is made, and only its epoch is ever set: the loader does without it."""
    for node in source.of(ast.Assign):
        if not (isinstance(node.value, ast.Call)):
            continue
        name = unparse(node.targets[0])
        target = node.targets[0]
        if last_name(node.value.func) != "DistributedSampler" or source.loose:
            continue
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            read = [
                n for n in source.of(ast.Attribute) if n.attr == target.attr and isinstance(n.ctx, ast.Load)
            ]
            told = any(isinstance(m, ast.Constant) for m in source.mentions.get(target.attr, ()))
            if source.named(*_LOADERS) and not told and all(_only_asked(source, n) for n in read):
                return at(
                    source, node, "the sampler that divides the data is made, and no loader is given it"
                )
        if not isinstance(target, ast.Name):
            continue
        uses = [
            n
            for n in source.of(ast.Name)
            if n.id == name and isinstance(n.ctx, ast.Load)
            if not _only_asked(source, n)
        ]
        if not uses and source.named(*_LOADERS):
            return at(source, node, "the sampler that divides the data is made, and no loader is given it")
    return None


def _only_asked(source: Script, node: ast.Name | ast.Attribute) -> bool:
    """`sampler.set_epoch(e)`, `if sampler is not None`; given back to callers that do no more with it."""
    parent = source.parents.get(node)
    if isinstance(parent, ast.Tuple) and isinstance(source.parents.get(parent), ast.Return):
        return _given_back_for_its_epoch(source, parent, parent.elts.index(node))
    if isinstance(parent, ast.Attribute):
        return parent.attr in ("set_epoch", "epoch")
    return isinstance(parent, (ast.Compare, ast.If))


def _given_back_for_its_epoch(source: Script, given: ast.Tuple, place: int) -> bool:
    """`loader, sampler = loaders()`, and each caller only sets the sampler's epoch."""
    function = source.function_around(given)
    calls = flow(source).calls_of(function) if function is not None else ()
    for call in calls:
        statement = source.statement(call)
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if not isinstance(target, ast.Tuple) or len(target.elts) != len(given.elts):
            return False
        name, scope = target.elts[place], source.function_around(call) or source.tree
        if not isinstance(name, ast.Name) or any(
            n.id == name.id and isinstance(n.ctx, ast.Load) and not _only_asked(source, n)
            for n in of(scope, ast.Name)
        ):
            return False
    return bool(calls)


def _local_rank(source: Script) -> Finding | None:
    """Shards are chosen by the rank within the machine, of as many as there are processes in all."""
    for call in source.named("DistributedSampler"):
        rank, parts = keyword(call, "rank"), keyword(call, "num_replicas")
        if rank is None or parts is None:
            continue
        many, mine = in_full(source, parts), in_full(source, rank)
        of_all = re.search(r"(?i)world", many) and not re.search(r"(?i)local", many)
        own = [c for c in of(rank, ast.Call, ast.Name, ast.Attribute) if _GLOBAL.search(in_full(source, c))]
        if of_all and re.search(r"(?i)local_?rank", mine) and not own:
            return at(
                source, call, "the part is chosen by the rank within one machine, of all machines' parts"
            )
    return None


_GLOBAL = re.compile(r"['\"]RANK['\"]|dist(?:ributed)?\.get_rank\(|global_rank|node_rank|\*")


def _parts_for_rank(source: Script) -> Finding | None:
    """`DistributedSampler(rows, rank, world)`: the number of parts and the part's own are exchanged."""
    for call in source.named("DistributedSampler"):
        parts = argument(call, "num_replicas", position=1)
        mine = argument(call, "rank", position=2)
        if parts is None or mine is None:
            continue
        many, own = in_full(source, parts), in_full(source, mine)
        ranks = re.search(r"(?i)rank|process_index", many) and not re.search(r"(?i)world|size|num_", many)
        sizes = re.search(r"(?i)world|size|num_(?:proc|repl)", own) and not re.search(r"(?i)rank", own)
        if ranks and sizes:
            return at(source, call, "the number of parts and the rank of this process are exchanged")
    return None


def _first_shard(source: Script) -> Finding | None:
    """`num_shards=n, shard_id=0`: all processes ask for one part."""
    for call in source.calls:
        parts, mine = keyword(call, "num_shards"), keyword(call, "shard_id") or keyword(call, "index")
        if parts is None or mine is None or isinstance(parts, ast.Constant):
            continue
        if whole_number(mine) is not None:
            return at(source, call, "every process asks for the same part of the data")
        if (use := _first_handed(source, call, parts, mine)) is not None:
            return at(source, use, "every process asks for the same part of the data")
    return None


def _first_handed(source: Script, call: ast.Call, parts: ast.expr, mine: ast.expr) -> ast.Call | None:
    """`make(root, 0, size)` of a function that asks for part `rank` of `size`."""
    function = source.function_around(call)
    names = [a.arg for a in function.args.args] if function is not None else []
    if (
        not isinstance(parts, ast.Name)
        or not isinstance(mine, ast.Name)
        or not {parts.id, mine.id} <= {*names}
    ):
        return None
    for use in flow(source).calls_of(function) if function is not None else ():
        many, own = (argument(use, n, position=names.index(n)) for n in (parts.id, mine.id))
        if whole_number(own) is not None and many is not None and not isinstance(many, ast.Constant):
            return use
    return None


def _ranks_unread(source: Script) -> Finding | None:
    """A function that makes a data set is told rank and number of processes, and looks at neither."""
    for function in source.of(ast.FunctionDef):
        names = [a.arg for a in (*function.args.args, *function.args.kwonlyargs)]
        ranks, sizes = [n for n in names if _RANKS.match(n)], [n for n in names if _SIZES.match(n)]
        if not ranks or not sizes or not _makes_data(function) or not _handed(source, function, ranks[0]):
            continue
        body = ast.Module(function.body, [])
        read = names_in(body)
        if any(last_name(c.func).endswith("Sampler") for c in of(body, ast.Call)):
            continue  # a distributed sampler asks for both itself
        if not read & {*ranks, *sizes}:
            return at(
                source,
                function,
                f"{ranks[0]} and {sizes[0]} are handed in, and the data are not divided by them",
            )
    return None


def _makes_data(function: Function) -> bool:
    return any(
        re.search(r"(?:Dataset|DataLoader|TFRecord\w*)$", last_name(n.func)) for n in of(function, ast.Call)
    )


def _handed(source: Script, function: Function, name: str) -> bool:
    """Somebody hands the parameter over, not as a constant."""
    place = (
        [a.arg for a in function.args.args].index(name) if name in [a.arg for a in function.args.args] else 99
    )
    for call in flow(source).calls_of(function):
        value = argument(call, name, position=place)
        if value is not None and not isinstance(value, ast.Constant):
            return True
    return False


def _ranks_not_given(source: Script) -> Finding | None:
    """A function divides data by parts whose defaults mean one process, and no call gives them.

    Counts where the caller knows its rank, under the very names.
    """
    for function in source.of(ast.FunctionDef):
        args = function.args.args
        optional = [a.arg for a in args[len(args) - len(function.args.defaults) :]]
        ranks, sizes = [n for n in optional if _RANKS.match(n)], [n for n in optional if _SIZES.match(n)]
        if not ranks or not sizes or not _makes_data(function):
            continue
        calls = flow(source).calls_of(function)
        if not calls or any(_gives(c, args, ranks[0]) for c in calls):
            continue
        for call in calls:
            around = source.function_around(call)
            known = {n.id for n in of(around or source.tree, ast.Name) if isinstance(n.ctx, ast.Store)}
            if ranks[0] in known and sizes[0] in known:
                return at(source, call, f"{ranks[0]} and {sizes[0]} are known here and not handed on")
    return None


def _gives(call: ast.Call, args: list[ast.arg], name: str) -> bool:
    place = [a.arg for a in args].index(name)
    starred = any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)
    return starred or keyword(call, name) is not None or place < len(call.args)
