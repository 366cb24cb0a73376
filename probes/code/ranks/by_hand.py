"""Data parallel training by hand: parameters sent round, gradients summed, samples dealt out."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse, walk
from ...readers.script import all_arguments, argument, keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import Flow, flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.uses import never_run

_WRAPPERS = ("DistributedDataParallel", "DDP", "FSDP", "FullyShardedDataParallel", "prepare", "fully_shard")
_RANK = re.compile(r"(?i)(?:^|[\W_])(?:local_|global_|node_)?rank\b(?!\w*\s*==)|get_rank\(|process_index")
_WORLD = re.compile(
    r"(?i)world|n_?(?:proc|gpu|rank|work|repl)|num_(?:proc|gpu|rank|work|repl)|\bsize\b|ranks\b"
)


def of_libraries(source: Script, *names: str) -> list[ast.Call]:
    """Calls by these names, but for functions of the script's own: its `prepare(images)` wraps no model."""
    own = flow(source).functions
    return [c for c in source.named(*names) if not (isinstance(c.func, ast.Name) and c.func.id in own)]


def process_groups(source: Script) -> list[ast.Call]:
    """Calls that start a framework's process group; a library of its own joins gradients in its own way."""
    owners = {c: source.owner(c).rpartition(".")[2] for c in source.named("init_process_group")}
    return [c for c, owner in owners.items() if not owner or re.search(r"(?i)dist|c10d|comm", owner)]


def weights_sent(source: Script) -> list[ast.Call]:
    """Calls that send parameters to all processes, but for buffers alone and what nothing calls."""
    sent = of_libraries(source, "broadcast", "broadcast_coalesced", "_broadcast_coalesced")
    sent = [c for c in sent if c.args]
    return [c for c in sent if not _idle(source, c) and not _of_buffers(source, c)]


def _idle(source: Script, call: ast.Call) -> bool:
    """It stands in a function of the module that nothing calls, whose name a library's function may have."""
    if never_run(source, call):
        return True
    function = source.function_around(call)
    if function is None or source.loose or source.class_around(function) is not None:
        return False
    plain = function.decorator_list == [] and isinstance(source.parents.get(function), ast.Module)
    named = any(n.id == function.name for n in source.of(ast.Name))
    return plain and not named and function.name != "main"


def _of_buffers(source: Script, call: ast.Call) -> bool:
    """`for t in net.buffers(): dist.broadcast(t, 0)`"""
    loops = source.loops_around(call)
    over = unparse(loops[0].iter) if loops and isinstance(loops[0], ast.For) else ""
    return re.search(r"buffers\(", over) is not None and "param" not in over and "state_dict" not in over


_FLAT = ("cat", "_flatten_dense_tensors", "flatten_dense_tensors", "parameters_to_vector", "concat")


def _reduced(source: Script) -> list[ast.Call]:
    """Calls that add up gradients of all processes, written out: `dist.all_reduce(p.grad)`."""
    if of_libraries(source, *_WRAPPERS) or "pytorch" not in source.frameworks or source.loose:
        return []
    return [c for c in source.named("all_reduce") if c.args and _of_gradients(source, c)]


def _of_gradients(source: Script, call: ast.Call) -> bool:
    """`all_reduce(p.grad)`, or a flat tensor that the same function puts gradients together to."""
    if ".grad" in unparse(call.args[0]):
        return True
    function = source.function_around(call)
    if function is None or not isinstance(call.args[0], ast.Name):
        return False
    if any(b in walk(function) for b in source.backwards):
        return False  # what else it reduces may be a loss
    held = flow(source).given(call.args[0])
    joined = held is not None and any(last_name(c.func) in _FLAT for c in of(held.value, ast.Call))
    return joined and any(n.attr == "grad" for n in of(function, ast.Attribute))


def summed_over_processes(source: Script) -> Finding | None:
    """Gradients are added up over all processes, and nothing divides by their number.

    Left aside: an operation other than the sum, any division of a gradient, a loss or a rate in the program
    and a rate that is chosen by the number of processes.
    """
    for call in _reduced(source):
        op = argument(call, "op", position=1)
        if (op is not None and "SUM" not in unparse(op)) or _divides(source, call):
            continue
        if keyword(call, "group") is not None:
            continue  # parts of one layer on several devices: their sum is the gradient
        return at(source, call, "gradients are added up over all processes and not divided by their number")
    return None


def _divides(source: Script, call: ast.Call) -> bool:
    around = source.function_around(call) or source.tree
    if any(_is_division(n) for n in walk(around) if _near_gradient(source, n, call)):
        return True
    for node in source.of(ast.BinOp, ast.AugAssign, ast.Call):
        if _is_division(node) and re.search(r"(?i)grad|loss|\blr\b|_lr\b|rate|p\.data", unparse(node)):
            if _WORLD.search(unparse(node)) and not _is_shown(source, node):
                return True
    return False


def _near_gradient(source: Script, node: ast.AST, call: ast.Call) -> bool:
    """In the same loop over the parameters, or about a gradient."""
    loops = source.loops_around(call)
    if not any(b in walk(source.function_around(call) or source.tree) for b in source.backwards):
        return True  # a function that does nothing else
    return (bool(loops) and loops[0] in source.loops_around(node)) or "grad" in unparse(node)


def _is_division(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        return name in ("div_", "div", "true_divide", "true_divide_") or (
            name in ("mul_", "mul", "_foreach_div_", "_foreach_mul_")
        )
    op = node.op if isinstance(node, (ast.BinOp, ast.AugAssign)) else None
    return isinstance(op, (ast.Div, ast.Mult))


def _is_shown(source: Script, node: ast.AST) -> bool:
    shows = ("print", "info", "log", "write", "add_scalar", "append", "debug")
    return any(isinstance(p, ast.Call) and last_name(p.func) in shows for p in source.above(node))


def reduced_after_step(source: Script) -> Finding | None:
    """The gradients are joined below the step of the optimizer in the same round, and nowhere above it."""
    reducers = {f.name for c in _reduced(source) if (f := source.function_around(c)) is not None}
    for step in source.steps:
        line = source.statement(step)
        around = source.parents.get(line) if line is not None else None
        block = getattr(around, "body", [])
        if line not in block or not source.loops_around(step):
            continue
        place = block.index(line)
        joins = [i for i, s in enumerate(block) if _joins(s, reducers)]
        backs = [i for i, s in enumerate(block) if any(c in source.backwards for c in of(s, ast.Call))]
        if joins and backs and min(backs) < place < min(joins):
            return at(source, block[min(joins)], "gradients are joined after the step that they were for")
    return None


def _joins(statement: ast.stmt, reducers: set[str]) -> bool:
    for call in of(statement, ast.Call):
        if last_name(call.func) in reducers:
            return True
        if last_name(call.func) == "all_reduce" and call.args and ".grad" in unparse(call.args[0]):
            return True
    return False


def order_by_rank(source: Script) -> Finding | None:
    """`order = RandomState(seed + rank).permutation(n)` and then `order[rank::world]`: the parts overlap.

    What is dealt out to processes must be one order on all of them, else samples are met twice or never.
    """
    mine = flow(source)
    for part in source.of(ast.Subscript):
        cut = part.slice
        if not isinstance(cut, ast.Slice) or cut.step is None or cut.lower is None:
            continue
        if not _RANK.search(unparse(cut.lower)):
            continue
        for value in _ordered(mine, part.value):
            for call in of(value, ast.Call):
                draws = last_name(call.func) in ("permutation", "randperm", "sample")
                if draws and _seeded_by_rank(source, call):
                    return at(source, call, "each process draws an order of its own to take its part of")
    return None


def _ordered(mine: Flow, node: ast.expr, depth: int = 3) -> list[ast.expr]:
    """What an order is made of, also where it is cut to a length: `order[:n]`."""
    found: list[ast.expr] = []
    for value in mine.values(node, 4):
        found.append(value)
        if isinstance(value, ast.Subscript) and depth:
            found += _ordered(mine, value.value, depth - 1)
    return found


def _seeded_by_rank(source: Script, draw: ast.Call) -> bool:
    """The generator that draws is made with a seed that hangs on the process."""
    owner = receiver(draw)
    given = keyword(draw, "generator")
    for held in (owner, given):
        if held is None:
            continue
        for value in (held, *flow(source).values(held, 3)):
            made = [
                c
                for c in of(value, ast.Call)
                if re.search(r"(?i)rng|RandomState|Random|seed|Generator", unparse(c.func))
            ]
            if any(_RANK.search(unparse(a)) for c in made for a in all_arguments(c)):
                return True
    return False
