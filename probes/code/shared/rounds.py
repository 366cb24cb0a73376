"""What is run around a backward call in scripts: its function, what calls that, and what it calls.

A program of several files holds several training steps. Whether one of them clears its gradients, or steps,
is asked of the code around it, not of the whole program.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ...readers._tree import unparse, walk
from ...readers.script import all_arguments, last_name
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script

MAX_FUNCTIONS = 300  # that are gone through for one backward call
_UP, _DOWN = 4, 5  # calls that are followed to callers, and into what is called
CLEARS = ("zero_grad", "clear_grad", "clear_gradients", "zero_grads")
# a hook or a helper that is not at hand, and that may clear or step
_MAY_UPDATE = re.compile(
    r"(?i)zero(?!s)|clear|reset_?grad|optim|update|apply|minimi[sz]e|hook|callback|trigger|(?:^|_)step"
)
# what only asks for optimizers or for their state
_ASKS = ("state_dict", "load_state_dict", "append", "get", "optimizers", "clip_gradients", "toggle_optimizer")
_HANDS_ON = ("print", "len", "isinstance", "hasattr", "getattr", "type", "super", "str", "format")


@dataclass(frozen=True, eq=False)
class Round:
    """One backward call, the optimizer steps beside it, and every node that may be run around both.

    `steps` are those of the function that takes gradients. `repeated`: the backward call stands in a loop, or
    is called from one.
    """

    backward: ast.Call
    steps: tuple[ast.Call, ...]
    nodes: frozenset[ast.AST]
    repeated: bool


@lru_cache(maxsize=16)
def rounds(source: Script) -> tuple[Round, ...]:
    """The training steps of a program, one for each backward call."""
    return tuple(_round(source, b) for b in source.backwards)


def _round(source: Script, backward: ast.Call) -> Round:
    function = source.function_around(backward)
    own = set(walk(_outermost(source, backward) or source.tree))
    roots, repeated = _above(source, backward)
    nodes = _below(source, roots)
    steps = tuple(s for s in source.steps if s in own)
    if function is None:
        steps = source.steps
    return Round(backward, steps, frozenset(nodes), repeated)


def _outermost(source: Script, node: ast.AST) -> Function | None:
    """The function around a node that stands in no other function."""
    found = [p for p in source.above(node) if isinstance(p, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return found[-1] if found else None


def _above(source: Script, node: ast.AST) -> tuple[set[ast.AST], bool]:
    """The functions around a node and its callers, with the rest of their classes; and whether it repeats."""
    roots: set[ast.AST] = set()
    repeated = False
    waiting: list[tuple[ast.AST, int]] = [(node, _UP)]
    while waiting and len(roots) < MAX_FUNCTIONS:
        at, left = waiting.pop()
        repeated = repeated or bool(source.loops_around(at))
        function = _outermost(source, at)
        if function is None:
            roots.add(source.tree)
            continue
        repeated = repeated or function in source.loss_methods  # a trainer runs it for each batch
        owner = source.parents.get(function)
        root = owner if isinstance(owner, ast.ClassDef) else function
        if function in roots:
            continue
        roots |= {function, root}
        if left:
            named = [f for f in source.above(at) if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef))]
            for one in named:
                waiting += [(c, left - 1) for c in flow(source).calls_of(one) if one not in source.above(c)]
    return roots, repeated


def _below(source: Script, roots: set[ast.AST]) -> set[ast.AST]:
    """All nodes of these, and of the functions of this program that they call."""
    mine = flow(source)
    seen: set[ast.AST] = set()
    nodes: set[ast.AST] = set()
    waiting = [(r, _DOWN) for r in roots]
    while waiting and len(seen) < MAX_FUNCTIONS:
        root, left = waiting.pop()
        if root in seen:
            continue
        seen.add(root)
        inside = [root, *(top_level(root) if isinstance(root, ast.Module) else walk(root))]
        nodes.update(inside)
        for call in inside if left else ():
            if isinstance(call, ast.Call):
                waiting += [(f, left - 1) for f in mine.functions.get(last_name(call.func), ())]
    return nodes


def top_level(tree: ast.Module) -> Iterator[ast.AST]:
    """What runs when a file is run: not the insides of its functions and classes."""
    for statement in tree.body:
        if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from walk(statement)


def turn_of(source: Script, loop: ast.AST) -> set[ast.AST]:
    """All nodes that one turn of a loop may run."""
    return _below(source, {loop})


def clearings(source: Script, around: Round) -> list[ast.expr | ast.stmt]:
    """What clears gradients in a round, by a call or by hand: `zero_grad()`, `p.grad = None`."""
    found = [n for n in around.nodes if isinstance(n, (ast.expr, ast.stmt)) and _clears(source, n)]
    return sorted(found, key=lambda n: (n.lineno, n.col_offset))


def _clears(source: Script, node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        if re.search(r"(?i)(?:zero|clear|reset)\w*grad", name):
            return True
        return name in ("zero_", "fill_", "mul_") and ".grad" in source.owner(node)
    if isinstance(node, ast.Assign):
        return any(".grad" in unparse(t) for t in node.targets)
    return isinstance(node, ast.AugAssign) and ".grad" in unparse(node.target)


def may_update(source: Script, around: Round) -> bool:
    """Something that is not at hand may clear gradients or step, as its name or what it is given says."""
    functions = flow(source).functions
    for node in around.nodes:
        if not isinstance(node, ast.Call) or node is around.backward or node in source.steps:
            continue
        name = last_name(node.func)
        if name in functions or name in CLEARS or name in _HANDS_ON or _is_schedule(source, node):
            continue
        if node in source.optimizer_calls or name in _ASKS or source.is_scaler(node.func):
            continue
        given = all_arguments(node)
        if _MAY_UPDATE.search(name) and source.owner(node) not in ("", "pbar", "bar"):
            return True
        if any(_is_optimizer(source, g) for g in given) and not _holds(name):
            return True
    return False


def _is_schedule(source: Script, call: ast.Call) -> bool:
    """A step or an update of something else: a schedule, a bar, a meter, a dict, a sampler."""
    return (
        re.search(
            r"(?i)sched|warm|meter|metric|loss|acc|log|bar|prof|writer|record|stat|dict|config|args|env|ema"
            r"|history|kwargs|param|buffer|scaler|timer|lr_|hash|tracker|wandb|monitor",
            source.owner(call),
        )
        is not None
    )


def _holds(name: str) -> bool:
    """What is given an optimizer to keep it, to save it or to clip by it, and not to step: a schedule."""
    return (
        re.search(
            r"(?i)LR$|sched|save|load|restore|resume|checkpoint|plateau|warm|dict|adjust|clip|unscale|toggle",
            name,
        )
        is not None
    )


def _is_optimizer(source: Script, node: ast.expr) -> bool:
    text = unparse(node).lower() if isinstance(node, (ast.Name, ast.Attribute)) else ""
    return bool(text) and (
        text in source.optimizers or re.search(r"(?:^|[._])opt(?:im\w*)?$", text) is not None
    )
