"""Whether scripts divide the loss by the number of batches that they accumulate."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse, walk
from ...readers.script import all_arguments, argument, last_name
from ...registry import Finding, View, probe
from ...rehearsal.judges import shows
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..ranks.sampler_order import accelerate_not_divided
from ..shared.checks import at, first, ok
from ..shared.gates import gate, takes_turns
from ..shared.sides import either
from ..trainers.trainer_settings import micro_losses_summed
from .held_gradients import not_divided


@probe()
def accumulation_not_divided(view: View) -> Finding:
    """The optimizer steps every N batches and the loss is not divided by N."""
    return first(
        view,
        either(
            _one_of_two_divided,
            _not_divided,
            not_divided,
            accelerate_not_divided,
            micro_losses_summed,
            shows("undivided", "divided-otherwise", "gathered-lost"),
        ),
        "the scripts do not accumulate gradients by hand",
    )


def _not_divided(source: Script) -> Finding | None:
    for node, count in _accumulates(source):
        divided = [
            n
            for n in source.of(ast.BinOp, ast.AugAssign)
            if isinstance(n.op, ast.Div)
            and count in _factors(source, n.right if isinstance(n, ast.BinOp) else n.value)
            and ".item()" not in unparse(n)  # a figure for the log
        ]
        if divided:
            return ok(source, divided[0], f"the loss is divided by {count}")
        if any(_scaled_by_share(n) for n in source.of(ast.AugAssign)):
            return None
        if _scales_gradients(source) or any(_by_engine(source, c) for c in source.backwards):
            return None  # by the number of tokens or samples, as it seems
        if _handed_on(source, count):
            return None
        if any(_joins_all(loop) for b in source.backwards for loop in source.loops_around(b)[:1]):
            return None
        return at(
            source, node, f"the optimizer steps every {count} batches and the loss is not divided by {count}"
        )
    return None


def _scaled_by_share(node: ast.AugAssign) -> bool:
    """`loss *= len(part) / len(batch)`: each part counts by its size."""
    shared = any(isinstance(n.op, ast.Div) for n in of(node.value, ast.BinOp))
    return isinstance(node.op, ast.Mult) and "loss" in unparse(node.target) and shared


def _one_of_two_divided(source: Script) -> Finding | None:
    """Two backward calls of one step, in the arms of a gate, of which one has its loss divided."""
    for one in source.backwards:
        mine = gate(source, one)
        if mine is None or mine.count is None:
            continue
        for other in source.backwards:
            beside = gate(source, other)
            if beside is None or beside.branch is not mine.branch or beside.last == mine.last:
                continue
            divided = [_is_divided(source, b, mine.count) for b in (one, other)]
            if divided == [False, True]:
                why = f"this loss is not divided by {unparse(mine.count)}, and that of the other way is"
                return at(source, one, why)
    return None


def _is_divided(source: Script, backward: ast.Call, count: ast.expr) -> bool:
    """What gradients are taken of is a quotient by the count, there or where the value was given."""
    taken_of: ast.expr | None = argument(backward, position=0)
    if taken_of is None and isinstance(backward.func, ast.Attribute):
        taken_of = backward.func.value
    if taken_of is None:
        return True
    if isinstance(taken_of, ast.Call) and last_name(taken_of.func) == "scale" and taken_of.args:
        taken_of = taken_of.args[0]
    text = unparse(count)
    return any(
        isinstance(n.op, ast.Div) and text in _factors(source, n.right)
        for v in (taken_of, *flow(source).values(taken_of, 3))
        for n in of(v, ast.BinOp)
    ) or any(
        isinstance(n.op, (ast.Div, ast.Mult)) and unparse(n.target) == unparse(taken_of)
        for n in source.of(ast.AugAssign)
    )


def _factors(source: Script, value: ast.expr) -> Iterator[str]:
    """What a product is made of, as written: `tokens * accum` -> "tokens * accum", "tokens", "accum".

    Also by way of a name: `pairs = micro * accum` of `loss.sum() / pairs`.
    """
    if isinstance(value, ast.Call) and last_name(value.func) in ("float", "int") and len(value.args) == 1:
        value = value.args[0]
    yield unparse(value)
    products = flow(source).values(value, 2) if isinstance(value, ast.Name) else [value]
    for product in products:
        if isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult):
            yield from _factors(source, product.left)
            yield from _factors(source, product.right)


def _handed_on(source: Script, count: str) -> bool:
    """The number of batches is given to something that may divide by it: `normalize(loss, parts=count)`."""
    return any(
        unparse(given) == count
        for call in source.calls
        if re.search(r"(?i)normali[sz]e|average|divide|scale|reduce|distributed", last_name(call.func))
        for given in all_arguments(call)
    )


def _joins_all(loop: ast.AST) -> bool:
    """`cat(kept[:j] + [mine] + kept[j + 1:])`: each loss is that of all batches, and reaches one of them."""
    return any(
        last_name(n.func) in ("cat", "concat", "concatenate")
        and bool(n.args)
        and isinstance(n.args[0], ast.BinOp)
        and any(isinstance(part, ast.Slice) for part in walk(n.args[0]))
        for n in of(loop, ast.Call)
    )


def _by_engine(source: Script, call: ast.Call) -> bool:
    """`accelerator.backward(loss)`: engines divide by the number of batches that they were told."""
    return any(w in source.owner(call).lower() for w in ("accelerator", "engine", "fabric"))


def _scales_gradients(source: Script) -> bool:
    """Gradients are multiplied or divided after backward: `scale_grads(model, 1 / tokens)`, `p.grad /= n`."""
    for node in source.of(ast.Call, ast.AugAssign):
        if isinstance(node, ast.Call) and _SCALES.search(last_name(node.func)):
            return True
        if isinstance(node, ast.Call) and last_name(node.func) in ("mul_", "div_"):
            if ".grad" in source.owner(node):
                return True
        if isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Mult, ast.Div)):
            if ".grad" in unparse(node.target):
                return True
    return False


_SCALES = re.compile(r"(?i)(?:scale|multiply|divide|normali[sz]e|average)_?grad")


def _reports(count: ast.expr) -> bool:
    """How often something is logged or saved, which is no number of accumulated batches."""
    return any(w in unparse(count).lower() for w in ("log", "print", "eval", "save", "report", "display"))


def _in_both_arms(source: Script, branch: ast.If) -> bool:
    """Gradients are taken in either arm of a condition."""
    arms = [{n for s in arm for n in of(s, ast.Call)} for arm in (branch.body, branch.orelse)]
    return all(any(b in arm for b in source.backwards) for arm in arms)


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1


def _accumulates(source: Script) -> Iterator[tuple[ast.AST, str]]:
    """Where the optimizer steps once for several backward calls, and for how many, as written."""
    for step in source.steps:
        if takes_turns(source, step):
            continue
        for parent in source.above(step):
            if isinstance(parent, ast.If) and not any(parent in source.above(b) for b in source.backwards):
                for asked in of(parent.test, ast.BinOp):
                    if isinstance(asked.op, ast.Mod) and not _reports(asked.right):
                        yield step, unparse(asked.right)
        mine = gate(source, step)
        if mine is not None and mine.count is not None and mine.last and not _reports(mine.count):
            written = any(isinstance(n.op, ast.Mod) for n in of(mine.branch.test, ast.BinOp))
            # `if (i + 1) % n: continue` above the step, and not above the gradients
            left = mine.branch not in source.above(step) and not any(
                (own := gate(source, b)) is not None and own.branch is mine.branch for b in source.backwards
            )
            if (not written or left or _in_both_arms(source, mine.branch)) and not _reports(mine.count):
                yield step, unparse(mine.count)
    for backward in source.backwards:
        loops = source.loops_around(backward)
        over = loops[0].iter if loops and isinstance(loops[0], ast.For) else None
        if isinstance(over, ast.Call) and last_name(over.func) == "range" and len(over.args) == 1:
            outside = [s for s in source.steps if loops[0] not in source.loops_around(s)]
            rounds = over.args[0]  # all but the last, whose gradients are taken behind the loop
            if isinstance(rounds, ast.BinOp) and isinstance(rounds.op, ast.Sub) and _is_one(rounds.right):
                rounds = rounds.left
            count = unparse(rounds)
            if outside and any(w in count.lower() for w in ("accum", "micro")):
                yield backward, count
