"""What evaluation counts in tensors, arrays and objects of its own: begun anew in each batch, or never.

`stats = torch.zeros(3)` and `stats[0] += ...`; `matrix = ConfusionMatrix(n)` and `matrix.update(...)`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from ...readers._tree import names_bound, names_in, of, unparse, walk
from ...readers.script import argument, keyword, last_name, receiver
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.sides import side

_ZEROS = ("zeros", "new_zeros", "zeros_like")
_FILLS = ("update", "add", "add_batch", "process", "append")
COUNTERS = re.compile(r"^(?:\w*Meter|\w*Metrics?|\w*Matrix|\w*Accumulator|\w*Scores?|\w*Counter)$")


def anew_in_each_batch(source: Script) -> Finding | None:
    """What a loop without gradients counts in is made or emptied in each of its rounds, and read behind it.

    Left aside: loops that are left at once, and counts that an inner loop fills.
    """
    for loop in source.of(ast.For):
        scope = source.function_around(loop)
        if (
            scope is None
            or takes_gradients(source, loop)
            or any(isinstance(n, (ast.Break, ast.Return)) for n in walk(loop))
        ):
            continue
        if any("epoch" in n.id.lower() for n in of(loop.target, ast.Name)):
            continue  # a figure of each epoch, the last of which is read behind
        end = loop.end_lineno or loop.lineno
        for statement in loop.body:
            name = _emptied(source, statement)
            if not name or _inner(loop, name):
                continue
            if not any(_fills(s, name) for s in loop.body):
                continue
            behind = [n for n in of(scope, ast.Name) if n.id == name and n.lineno > end]
            if behind and isinstance(min(behind, key=lambda n: (n.lineno, n.col_offset)).ctx, ast.Load):
                why = f"`{name}` starts anew in each round of the loop that it counts"
                return at(source, statement, why)
    return None


def _emptied(source: Script, statement: ast.stmt) -> str:
    """The name that a statement makes zeros or a counter of the script, or sets to zero."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0], statement.value
        if isinstance(target, ast.Name) and isinstance(value, ast.Call):
            name = last_name(value.func)
            if name in _ZEROS or (COUNTERS.match(name) and name in source.classes):
                return target.id
        return ""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        owner = call.func.value
        zero = call.func.attr == "zero_" or (
            call.func.attr in ("fill_", "fill") and call.args and unparse(call.args[0]) in ("0", "0.0")
        )
        if zero and isinstance(owner, ast.Name):
            return owner.id
    return ""


def _fills(statement: ast.stmt, name: str) -> bool:
    """`stats[0] += hits`, `stats += counts`, `matrix.update(...)` in a statement's own rounds."""
    for node in of(statement, ast.AugAssign, ast.Call):
        if isinstance(node, ast.Call) and unparse(node.func) in ("np.add.at", "numpy.add.at"):
            if node.args and unparse(node.args[0]) == name:
                return True
        if isinstance(node, ast.AugAssign):
            target = node.target.value if isinstance(node.target, ast.Subscript) else node.target
            if isinstance(node.op, ast.Add) and unparse(target) == name:
                return True
        elif last_name(node.func) in _FILLS and isinstance(node.func, ast.Attribute):
            if unparse(node.func.value) == name:
                return True
    return False


def _inner(loop: ast.For, name: str) -> bool:
    """A loop within the loop fills the count: it is one for each round."""
    inner = [n for n in walk(loop) if isinstance(n, (ast.For, ast.While)) and n is not loop]
    return any(_fills(s, name) for i in inner for s in i.body)


def tensors_go_on(source: Script) -> Finding | None:
    """A function adds to zeros that are made once for all of its calls: a default, or a name of the module.

    Counts where the function divides by, or gives back, what it has added up, runs without gradients, and
    nothing sets it back to zero.
    """
    for function in source.of(ast.FunctionDef):
        for name, made in _made_once(source, function):
            added = [
                n
                for n in of(function, ast.AugAssign)
                if isinstance(n.op, ast.Add) and _root(n.target) == name
            ]
            if not added or takes_gradients(source, function):
                continue
            if not any(source.loops_around(n) and function in source.above(n) for n in added):
                continue
            if _set_back(source, name, function) or not _called_again(source, function):
                continue
            read = [n for n in of(function, ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
            if any(
                not source.loops_around(n) or function not in source.above(source.loops_around(n)[0])
                for n in read
            ):
                return at(source, made, f"`{name}` goes on from evaluation to evaluation: nothing empties it")
    return None


def _root(target: ast.expr) -> str:
    while isinstance(target, (ast.Subscript, ast.Attribute)):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""


def _made_once(source: Script, function: Function) -> Iterator[tuple[str, ast.AST]]:
    """Names of zeros that outlive a call: defaults of parameters, and names of the module."""
    arguments = [*function.args.posonlyargs, *function.args.args]
    defaults = function.args.defaults
    for parameter, value in zip(arguments[len(arguments) - len(defaults) :], defaults, strict=True):
        if isinstance(value, ast.Call) and last_name(value.func) in _ZEROS:
            yield parameter.arg, value
    own = names_bound(function) | {a.arg for a in arguments}
    for name, node in _zeros_of_module(source):
        if _only_slots(function, name, own):
            yield name, node


@lru_cache(maxsize=16)
def _zeros_of_module(source: Script) -> tuple[tuple[str, ast.Assign], ...]:
    """Names that the module gives zeros, once, with the assignment."""
    return tuple(
        (target.id, node)
        for node in source.of(ast.Assign)
        if isinstance(node.value, ast.Call) and last_name(node.value.func) in _ZEROS
        if source.function_around(node) is None and source.class_around(node) is None
        if not source.loops_around(node)
        for target in node.targets
        if isinstance(target, ast.Name)
    )


def _only_slots(function: Function, name: str, own: set[str]) -> bool:
    """The function writes into the tensor and never gives the name to another."""
    written = any(
        isinstance(n.target, ast.Subscript) and _root(n.target) == name for n in of(function, ast.AugAssign)
    )
    return written and name not in own


def _set_back(source: Script, name: str, function: Function) -> bool:
    """Something sets the tensor to zero, or the name to another one, in the function or elsewhere."""
    for call in source.named("zero_", "fill_", "fill"):
        if source.owner(call).split("[")[0] == name:
            return True
    for node in source.of(ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Subscript) and _root(target) == name:
                return True
    inside = [n for n in of(function, ast.Name) if n.id == name and isinstance(n.ctx, ast.Store)]
    return any(not isinstance(source.parents.get(n), ast.AugAssign) for n in inside)


def _called_again(source: Script, function: Function) -> bool:
    """The function is called in a loop, or at several places, each time without the argument."""
    calls = [c for c in flow(source).calls_of(function) if function in flow(source).called(c)]
    short = [
        c
        for c in calls
        if len(c.args) < len(function.args.args) and not any(k.arg is None for k in c.keywords)
    ]
    return len(calls) > 1 or any(source.loops_around(c) for c in short or calls)


def padding_in_divisor(source: Script) -> Finding | None:
    """`hits += ((guess == tags) & known).sum()` beside `seen += known.numel()` of a mask `known`."""
    for call in source.named("numel", "size"):
        owner = receiver(call)
        if last_name(call.func) != "numel" or not isinstance(owner, ast.Name):
            continue
        scope = source.function_around(call)
        given = flow(source).all_given(owner)
        if scope is None or len(given) != 1 or given[0].places or takes_gradients(source, scope):
            continue
        mask = given[0].value
        if not isinstance(mask, ast.Compare) or not isinstance(mask.ops[0], ast.NotEq):
            continue
        adds = [p for p in source.above(call) if isinstance(p, (ast.AugAssign, ast.BinOp))]
        used = any(
            isinstance(n.op, (ast.BitAnd, ast.Mult)) and owner.id in (unparse(n.left), unparse(n.right))
            for n in of(scope, ast.BinOp)
        ) or any(unparse(n.slice) == owner.id for n in of(scope, ast.Subscript))
        if adds and used and not any(unparse(n) == f"{owner.id}.sum()" for n in of(scope, ast.Call)):
            return at(source, call, f"all positions are counted, and hits only where `{owner.id}` holds")
    return None


def repeated_rows_counted(source: Script) -> Finding | None:
    """`accelerator.gather` of what a prepared loader gives in evaluation: rows that fill its last batch too.

    Left aside: rows that are cut off by hand, loaders that drop or split what is left, `gather` of sums, and
    of losses: each process has one number, which holds no rows to drop.
    """
    if source.named("gather_for_metrics") or re.search(
        r"even_batches|samples_seen|remainder|\[:\s*len\(", source.code
    ):
        return None
    if (
        not source.named("Accelerator")
        or source.loose
        or any(_drops(source, c) for c in source.named("DataLoader"))
    ):
        return None
    prepared = {n.id for c in source.named("prepare") for a in c.args for n in of(a, ast.Name)}
    for call in source.named("gather"):
        loops = source.loops_around(call)
        if "accelerator" not in source.owner(call).lower() or not call.args or not loops:
            continue
        loop = loops[0]
        if not isinstance(loop, ast.For) or takes_gradients(source, loop):
            continue
        fresh = names_in(loop.target) & names_in(call.args[0])
        counted = any(last_name(c.func) in _COUNTS for c in of(loop, ast.Call))
        sums = [c for c in of(call.args[0], ast.Call) if last_name(c.func) in _FIGURES]
        if re.search(r"(?i)\bloss\b|_loss\b", unparse(call.args[0])):
            continue
        if fresh and counted and not sums and _goes_over(source, loop) & prepared:
            why = "the rows that fill the last batch are counted too: gather_for_metrics drops them"
            return at(source, call, why)
    return None


_COUNTS = ("sum", "argmax", "add_batch", "update", "append", "extend")
_FIGURES = ("sum", "mean", "repeat", "tensor", "numel")


def _drops(source: Script, made: ast.Call) -> bool:
    """A loader that is not named for training leaves its last, smaller batch out."""
    statement = source.statement(made)
    name = unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
    flag = keyword(made, "drop_last")
    return flag is not None and unparse(flag) != "False" and side(name) is not True


def _goes_over(source: Script, loop: ast.For) -> set[str]:
    """Names of what a loop goes over, here and where its function is called."""
    names = names_in(loop.iter)
    function = source.function_around(loop)
    calls = flow(source).calls_of(function) if function is not None else ()
    return names | {a.id for c in calls for a in c.args if isinstance(a, ast.Name)}


def most_of_counts(source: Script) -> Finding | None:
    """`all_reduce(counts, op=MAX)` of what each process has added up: the counts of one process alone."""
    for call in source.named("all_reduce", "reduce"):
        given = argument(call, position=0)
        scope = source.function_around(call)
        how = argument(call, "op", position=1)
        if scope is None or not isinstance(given, ast.Name) or how is None:
            continue
        if not re.search(r"(?:^|\.)(?:MAX|MIN|PRODUCT)$", unparse(how)):
            continue
        added = [
            n for n in of(scope, ast.AugAssign) if isinstance(n.op, ast.Add) and _root(n.target) == given.id
        ]
        looped = [n for n in added if source.loops_around(n) and n.lineno < call.lineno]
        if looped:
            return at(source, call, "the counts of the processes are not added up: one process's are kept")
    return None
