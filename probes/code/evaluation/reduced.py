"""Figures of several processes in scripts: whether what evaluation counts is put together, and how."""

from __future__ import annotations

import ast
import re
from collections import defaultdict

from ...readers._tree import names_in, of, unparse, walk
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ...scripts.untaped import untaped_in
from ..shared.checks import at
from ..shared.nodes import is_false, whole_number
from ..shared.rounds import turn_of
from ..shared.sides import side

PUT_TOGETHER = re.compile(
    r"all_reduce|all_gather|gather|reduce_dict|sync_dist|reduce_tensor|reduce_mean|synchronize_between|allreduce|"
    r"torchmetrics|reduce_from|\breduce\(|psum|average_across|compute_on_cpu|evaluate\.load|reduce_value|\.reduce$"
)
_RANK = re.compile(r"(?i)\brank\b|get_rank\(|process_index")
_WORLD = re.compile(r"(?i)world|get_world_size\(|num_processes|num_replicas")


def shared_for_scoring(source: Script) -> list[ast.AST]:
    """Held-out data that each process is given a share of, besides those of a sampler named for one side.

    A sampler that does not shuffle, over data that nothing trains on; `range(rank, n, world)`; a data set of
    the script's own that is told held-out rows and the rank.
    """
    found: list[ast.AST] = []
    for call in source.named("DistributedSampler"):
        flag = keyword(call, "shuffle")
        if is_false(flag) and not _for_training(source, call):
            found.append(call)
    for call in source.named("range"):
        if (
            len(call.args) == 3
            and _RANK.search(unparse(call.args[0]))
            and _WORLD.search(unparse(call.args[2]))
        ):
            if isinstance(up := source.parents.get(call), ast.Call) and last_name(up.func) == "Subset":
                found.append(call)
    for call in source.calls:
        if last_name(call.func) in source.classes and call.args and side(unparse(call.args[0])) is False:
            told = " ".join(unparse(a) for a in (*call.args[1:], *(k.value for k in call.keywords)))
            if _RANK.search(told) and _WORLD.search(told):
                found.append(call)
    return found


def _for_training(source: Script, call: ast.Call) -> bool:
    text = unparse(call.args[0]) if call.args else ""
    statement = source.statement(call)
    target = unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
    return "train" in f"{text} {target}".lower() or side(text) is True or side(target) is True


def scoring_functions(source: Script) -> list[Function]:
    """Functions that go over data without gradients, for a figure; none where that is also done inline."""
    found: list[Function] = []
    for function in source.of(ast.FunctionDef):
        inside = of(function, ast.Call)
        if any(b in inside for b in source.backwards) or not source.named(function.name):
            continue
        if untaped_in(function) and of(function, ast.For) and of(function, ast.Return):
            if any(isinstance(n.iter, (ast.Name, ast.Attribute, ast.Call)) for n in of(function, ast.For)):
                found.append(function)
    if any(_scores_inline(source, loop) for loop in source.of(ast.For)):
        return []
    return found


def _scores_inline(source: Script, loop: ast.For) -> bool:
    """A loop over held-out data in a function that also trains; not `for part in (valid, test):`."""
    if isinstance(loop.iter, (ast.Tuple, ast.List)):
        return False
    around = source.function_around(loop) or source.tree
    inside = set(of(loop, ast.Call))
    if any(b in inside for b in source.backwards):
        return False
    trains = any(b in set(of(around, ast.Call)) for b in source.backwards)
    return trains and any(side(n) is False for n in names_in(loop.iter))


def put_together(source: Script, functions: list[Function]) -> bool:
    """What these functions count is put together over processes: in them, or of what they give back."""
    mine: set[ast.AST] = set()
    for function in functions:
        mine |= turn_of(source, function)
    names = {f.name for f in functions}
    for call in source.calls:
        if flow(source).called(call) or not PUT_TOGETHER.search(unparse(call.func)):
            continue
        if call in mine:
            return True
        around = source.function_around(call)
        trains = around is not None and any(b in set(of(around, ast.Call)) for b in source.backwards)
        if around is not None and not trains and not flow(source).calls_of(around):
            continue  # a helper that nothing calls
        if not trains or not call.args:
            return True  # a helper, or a meter of its own
        ways = [v for a in call.args for n in of(a, ast.Name) for v in (n, *flow(source).values(n, 4))]
        if any(isinstance(n, ast.Call) and last_name(n.func) in names for w in ways for n in walk(w)):
            return True
        given = {
            unparse(g.statement)
            for a in call.args
            for n in of(a, ast.Name)
            for g in flow(source).all_given(n)
        }
        if any(re.search(rf"\b{name}\(", text) for name in names for text in given):
            return True
    return False


def reduced_in_part(source: Script) -> Finding | None:
    """`all_reduce(sums[1])`, and `sums[0]`, which no call reduces, is divided by or beside it."""
    by_name: dict[tuple[ast.AST, str], list[tuple[ast.Call, int]]] = defaultdict(list)
    whole: set[str] = set()
    for call in source.named("all_reduce", "reduce", "all_gather", "gather", "gather_for_metrics"):
        around = source.function_around(call)
        for given in call.args[:1] if around is not None else ():
            if isinstance(given, ast.Subscript) and isinstance(given.slice, ast.Constant):
                place = whole_number(given.slice)
                if place is not None and isinstance(given.value, ast.Name) and around is not None:
                    by_name[around, given.value.id].append((call, place))
            else:
                whole |= names_in(given)
    for (scope, name), told in by_name.items():
        if name in whole or any(isinstance(p, ast.If) for c, _ in told for p in source.above(c)):
            continue
        reduced = {i for _, i in told}
        first = min(c.lineno for c, _ in told)
        for node in of(scope, ast.Subscript):
            if unparse(node.value) != name or not isinstance(node.ctx, ast.Load) or node.lineno < first - 2:
                continue
            if (one := whole_number(node.slice)) is not None and one >= 0 and one not in reduced:
                if source.loops_around(node) or isinstance(source.statement(node), ast.AugAssign):
                    continue
                return at(
                    source, node, f"{unparse(node)} is that of one process, and what stands beside it of all"
                )
    return None


def mean_summed(source: Script) -> Finding | None:
    """`all_reduce(mean)` of a quotient, which adds up, and nothing divides by the number of processes."""
    for call in source.named("all_reduce"):
        given = argument(call, position=0)
        around = source.function_around(call)
        if (
            not isinstance(given, ast.Name)
            or around is None
            or len(call.args) > 2
            or source.loops_around(call)[1:]
        ):
            continue
        how = argument(call, "op", position=1)
        if how is not None and not unparse(how).endswith("SUM"):
            continue
        if not isinstance(source.parents.get(call), ast.Expr) or not _is_mean(source, given):
            continue
        after = [n for n in of(around, ast.BinOp, ast.AugAssign) if n.lineno >= call.lineno]
        if any(given.id in names_in(n) and isinstance(n.op, (ast.Div, ast.Mult)) for n in after):
            continue
        if any(
            given.id in names_in(c)
            for c in of(around, ast.Call)
            if last_name(c.func) in ("div_", "mul_", "div")
        ):
            continue
        if any(_WORLD.search(unparse(g.value)) for g in flow(source).all_given(given)):
            continue
        shown = [n for n in of(around, ast.Attribute) if n.attr == "item" and unparse(n.value) == given.id]
        if any(n.lineno > call.lineno for n in shown):
            return at(
                source,
                call,
                "means are added up over processes, and nothing divides them by how many they are",
            )
    return None


def _is_mean(source: Script, given: ast.Name) -> bool:
    """The last thing that the name was given is a quotient of sums, or a tensor made of one."""
    values = flow(source).all_given(given)
    if len(values) != 1 or values[0].places:
        return False
    value = values[0].value
    if isinstance(value, ast.Call) and last_name(value.func) in ("tensor", "as_tensor") and value.args:
        value = value.args[0]
    return (
        isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div) and not _WORLD.search(unparse(value))
    )
