"""Whether a number of a script counts steps or epochs, and how often a line of it runs in training."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from ...readers._tree import names_in, of, unparse
from ...readers.script import argument, last_name
from ...scripts.flow import Flow, flow
from ...scripts.learning import taken, updates
from ...scripts.syntax import Loop, Script
from .sides import number

EPOCH, STEP = "epoch", "step"
_FEW = 10  # times: a larger number may be the batches of an epoch
_ROUND = "round"
_INTERACTIONS = re.compile(
    r"(?i)(?:time|env\w*|frame|agent|game|actor|sample)_?steps|frames\b|interactions|transitions"
)
_STEP = re.compile(
    r"(?:^|_)(?:steps?|iters?|iterations?|updates?|batches|stepping|every|interval|max_iters?|num_iters?)(?:_|$)"
    r"|steps_per_epoch|get_dataset_size|cardinality|estimated_stepping_batches|max_steps|num_batches"
)
_EPOCH = re.compile(r"(?:^|_)n?epochs?(?:_|$)")
_OF_ONE_EPOCH = re.compile(
    r"(?:^|_)(?:per|in|an|one|each)_epoch$"
)  # what is counted in one is no count of them
# the times that a schedule moves, whatever it moves with
_TICKS = re.compile(r"^(?:lr|sched\w*|decay|anneal\w*|cycle|restart|cosine)_(?:decay_)?steps?$")
_ACCUMULATION = re.compile(r"accum|micro|world|replica|devices|gpus")


def _word(name: str) -> str | None:
    """What a name counts: `max_epochs` epochs, `steps_per_epoch` and `total_steps` steps."""
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    if _ACCUMULATION.search(name) or _TICKS.search(name):
        return None
    if _STEP.search(name) or _OF_ONE_EPOCH.search(name):
        return STEP
    return EPOCH if _EPOCH.search(name) else None


def unit(mine: Flow, node: ast.expr, depth: int = 12) -> str | None:
    """`EPOCH`, `STEP`, or None where it cannot be told what an expression counts.

    `total_timesteps // batch_size` of reinforcement learning counts neither: rounds, of several updates each.
    """
    found = _unit(mine, node, depth)
    return None if found == _ROUND else found


def _unit(mine: Flow, node: ast.expr, depth: int) -> str | None:
    """As `unit`, and `_ROUND` for rounds of collecting samples from environments."""
    if depth == 0 or isinstance(node, ast.Constant):
        return None
    if isinstance(node, ast.Call):
        return _of_call(mine, node, depth)
    if isinstance(node, ast.BinOp):
        left, right = _unit(mine, node.left, depth - 1), _unit(mine, node.right, depth - 1)
        if _ROUND in (left, right):
            return _ROUND
        if isinstance(node.op, (ast.Div, ast.FloorDiv)):
            if _INTERACTIONS.search(unparse(node.left)):
                return _ROUND
            if "batch" in _label(node.right).lower():
                return (
                    STEP  # samples by samples in a batch, whatever the samples are called: `EPOCH // BATCH`
                )
            return EPOCH if left == right == STEP and not _sized(node.left) else left
        if isinstance(node.op, ast.Mult) and STEP not in (left, right):
            sides = (number(mine.source, node.left), number(mine.source, node.right))
            if any(
                n is not None and n > _FEW and u is None for n, u in zip(sides, (left, right), strict=True)
            ):
                return None  # `1000 * epochs`: the batches of an epoch may be told as they are
        return STEP if STEP in (left, right) else left or right
    if isinstance(node, ast.UnaryOp):  # `-(-len(loader) // k)` rounds up
        return _unit(mine, node.operand, depth)
    if isinstance(node, ast.IfExp):
        both = {_unit(mine, node.body, depth - 1), _unit(mine, node.orelse, depth - 1)} - {None}
        return both.pop() if len(both) == 1 else None
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
        behind = [v for v, _ in mine.step(node, ()) if v is not node]
        if isinstance(
            node, ast.Subscript
        ):  # step() leaves the item of a dict to be looked up: values() does it
            behind = [v for v in mine.values(node, 3) if v is not node]
        found = {_unit(mine, v, depth - 1) for v in behind} - {None}
        if len(found) == 1:
            return found.pop()
        return None if found else _word(_label(node))
    return None


def _label(node: ast.expr) -> str:
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _sized(node: ast.expr) -> bool:
    """`len(data) // batch`: what is divided is a number of samples."""
    return any(last_name(n.func) == "len" for n in of(node, ast.Call))


def _counts_rounds(call: ast.Call) -> bool:
    """`sum(1 for _ in loader)`."""
    given = argument(call, position=0)
    return isinstance(given, ast.GeneratorExp) and unparse(given.elt) == "1"


def _of_call(mine: Flow, node: ast.Call, depth: int) -> str | None:
    name = last_name(node.func)
    if name == "len" or (name == "sum" and _counts_rounds(node)):
        return STEP
    if name in ("int", "max", "min", "ceil", "round", "floor", "float", "abs", "cast"):
        found = {_unit(mine, a, depth - 1) for a in node.args} - {None}
        if _ROUND in found:
            return _ROUND
        return STEP if STEP in found else EPOCH if found else None
    if name in ("get_dataset_size", "cardinality"):
        return STEP
    return None


@lru_cache(maxsize=16)
def loops_of_step(source: Script) -> tuple[Loop, ...]:
    """The loops that the optimizer's step runs in, the innermost first, through helper functions."""
    best: tuple[Loop, ...] = ()
    for call in updates(source) or taken(source):
        found = tuple(chain(source, call, 4))
        if len(found) > len(best):
            best = found
    return best


def _around(source: Script, node: ast.AST) -> list[Loop]:
    """The loops around a node, but for those over several optimizers or schedulers."""
    return [
        loop
        for loop in source.loops_around(node)
        if not (
            isinstance(loop, ast.For)
            and re.search(r"(?i)opt|sched", unparse(loop.iter))
            and not (isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) == "range")
        )
    ]


def chain(source: Script, node: ast.AST, depth: int = 4) -> list[Loop]:
    """The loops that a line runs in, the innermost first, through the functions that are called in them."""
    loops = _around(source, node)
    function = source.function_around(node)
    if function is None or depth == 0:
        return loops
    outer: list[Loop] = []
    for call in flow(source).calls_of(function):
        if function not in source.above(call):
            found = chain(source, call, depth - 1)
            outer = max(outer, found, key=len)
    return [*loops, *outer]


def runs_per(source: Script, node: ast.AST) -> str | None:
    """How often a line runs: with every optimizer step, with every epoch, or None: it cannot be told."""
    loops = loops_of_step(source)
    if len(loops) < 2 or now_and_then(source, node):
        return None
    if source.backwards and not updates(source):
        return None  # nothing steps: the loop around backward may be one over micro batches
    around = chain(source, node, 4)
    mine = _around(source, node)[:1]
    if loops[0] in around or (mine and any(_around(source, s)[:1] == mine for s in updates(source))):
        return STEP
    return EPOCH if loops[-1] in around or loops[1] in around else None


def now_and_then(source: Script, node: ast.AST) -> bool:
    """A line runs at some batches of an epoch alone: `if i + 1 in tenths:`, `if i == len(loader) - 1:`."""
    loops = [p for p in source.loops_around(node)[:1] if isinstance(p, ast.For)]
    counters = {n.id for p in loops for n in of(p.target, ast.Name)}
    tests = [p.test for p in source.above(node) if isinstance(p, ast.If) and isinstance(p.test, ast.Compare)]
    return any(
        isinstance(t.ops[0], (ast.In, ast.Eq)) and "%" not in unparse(t) and bool(counters & names_in(t))
        for t in tests
    )
