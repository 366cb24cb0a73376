"""Parts by masks: masks that share rows, losses of nodes that were sampled as neighbours alone."""

from __future__ import annotations

import ast
import math
import re

from ...readers._tree import of, unparse
from ...readers.script import keyword
from ...registry import Finding
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import assigned
from ..shared.sides import side

LOADERS = ("NeighborLoader", "HGTLoader", "LinkNeighborLoader", "NeighborSampler", "ShaDowKHopSampler")
_MASK = re.compile(r"(?i)mask|(?:^|_)is_|rows$|idx$|index$")
Reach = tuple[float, float]  # of whole numbers, both ends within


def masks_meet(source: Script) -> Finding | None:
    """`train_mask = year <= 2015` beside `val_mask = year == 2015`: a row of 2015 is on both sides."""
    found: list[tuple[bool, str, Reach, ast.AST]] = []
    for node in source.of(ast.Assign):
        for target, value in assigned(node):
            learns = side(unparse(target))
            told = _reach(value)
            if learns is None or told is None or not _MASK.search(unparse(target)):
                continue
            for other, about, reach, _ in found:
                meet = max(reach[0], told[1][0]) <= min(reach[1], told[1][1])
                if other is not learns and about == told[0] and meet:
                    return at(source, node, f"rows of one `{about}` are on both sides")
            found.append((learns, told[0], told[1], node))
    return None


def _reach(test: ast.expr) -> tuple[str, Reach] | None:
    """What is compared with a whole number, and which numbers pass."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    limit, op = test.comparators[0], test.ops[0]
    if not isinstance(limit, ast.Constant) or type(limit.value) is not int:
        return None
    n, most = limit.value, math.inf
    reaches: dict[type[ast.cmpop], Reach] = {
        ast.Lt: (-most, n - 1),
        ast.LtE: (-most, n),
        ast.Gt: (n + 1, most),
        ast.GtE: (n, most),
        ast.Eq: (n, n),
    }
    reach = reaches.get(type(op))
    return None if reach is None else (unparse(test.left), reach)


def learns_neighbours(source: Script) -> Finding | None:
    """PyTorch Geometric: the loss is of every node of a sampled batch, neighbours of other parts too.

    The nodes that a batch was asked for stand first in it: `out[:batch.batch_size]`.
    """
    if len(source.named(*LOADERS)) == 0 or re.search(r"input_id|seed_nodes|n_id\b", source.code):
        return None
    for call, _ in source.losses:
        scope = source.function_around(call) or source.tree
        if not takes_gradients(source, scope) or len(call.args) < 2:
            continue
        picked = any(
            "batch_size" in unparse(n.slice) or "mask" in unparse(n.slice) for n in of(scope, ast.Subscript)
        )
        whole = re.search(r"\.edge_index\b|\.adj_t\b|edge_index_dict", unparse(scope)) is not None
        labels = unparse(call.args[1])
        if not picked and whole and "edge_label" not in unparse(scope) and re.fullmatch(r"[\w.]+", labels):
            return at(
                source, call, "the loss is of all nodes of a batch, those sampled as neighbours with them"
            )
    return None


def starts_at_held_out(source: Script) -> Finding | None:
    """The one graph loader of a program starts at the nodes of validation or test, and it is learnt from."""
    calls = source.named(*LOADERS)
    if len(calls) != 1:
        return None
    seeds = keyword(calls[0], "input_nodes")
    name = unparse(seeds) if seeds is not None else ""
    learns = [
        s for c, _ in source.losses if takes_gradients(source, s := source.function_around(c) or source.tree)
    ]
    whole = seeds is None or name == "None"
    if whole and learns and re.search(r"train_(?:mask|idx)", source.code):
        if not any(re.search(r"train_(?:mask|idx)", unparse(s)) for s in learns):
            return at(source, calls[0], "batches start at every node, those of validation and test with them")
    statement = source.parents.get(calls[0])
    target = unparse(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
    if side(name) is False and side(target) is not False and re.search(r"train_(?:mask|idx)", source.code):
        return at(source, calls[0], f"the network learns from the nodes of `{name}`")
    return None
