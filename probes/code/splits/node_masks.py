"""One graph whose nodes are parted by masks, in scripts: a loss over other nodes than those of training."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Script
from ..shared.checks import at, ok

_TRAIN = re.compile(r"(?i)(?:\b|_)(?:train|trn|tr)(?:ing)?_?(?:mask|idx|index|nodes?|ids?)")
_HELD = re.compile(r"(?i)(?:\b|_)(?:test|val|valid|validation)_?(?:mask|idx|index|nodes?|ids?)")
_GRAPH = re.compile(r"(?i)edge_index|adj|torch_geometric|\bdgl\b")
_PARTS = re.compile(
    r"(?i)batch_size|NeighborLoader|NeighborSampler|GraphSAINT|ClusterLoader|seed_nodes|output_nodes"
)


def learns_other_nodes(source: Script) -> Finding | None:
    """The loss is of all nodes of the graph, or of all but one held-out part, beside a mask of training."""
    if not (_GRAPH.search(source.code) and _TRAIN.search(source.code) and _HELD.search(source.code)):
        return None
    if _PARTS.search(source.code):
        return None  # batches of sampled nodes, which loaders cut by their masks
    seen: ast.AST | None = None
    for call, _ in source.losses:
        scope = source.function_around(call) or source.tree
        if len(call.args) < 2 or not takes_gradients(source, scope):
            continue
        picks = [_picked(source, a) for a in call.args[:2]]
        seen = seen or call
        if picks[0] is None and picks[1] is None:
            if _labels_of_graph(source, call.args[1]):
                return at(source, call, "the loss is of every node, those of the test with them")
        elif all(p is not None and _joined(p) for p in picks):
            return at(source, call, "the loss is of the nodes of training and of held-out ones")
        elif all(p is not None and _all_but_one(source, p) for p in picks):
            return at(source, call, "the loss is of all nodes but the test's, those of validation with them")
    return ok(source, seen, "the loss is of the nodes of training") if seen is not None else None


def _joined(pick: ast.expr) -> bool:
    """`train_mask | val_mask`."""
    either = isinstance(pick, ast.BinOp) and isinstance(pick.op, ast.BitOr)
    text = unparse(pick)
    return either and _TRAIN.search(text) is not None and _HELD.search(text) is not None


def _picked(source: Script, value: ast.expr) -> ast.expr | None:
    """What picks nodes of a value, through names; None where it is whole."""
    for one in flow(source).values(value, 4):
        for part in of(one, ast.Subscript):
            return part.slice
    text = unparse(value)
    return value if _TRAIN.search(text) or "mask" in text.lower() or "select" in text else None


def _labels_of_graph(source: Script, value: ast.expr) -> bool:
    """`data.y`, `graph.ndata["label"]`, `labels`: of every node, and masked elsewhere in the script."""
    text = unparse(value)
    picked = [n.slice for n in source.of(ast.Subscript) if unparse(n.value) == text]
    plain = isinstance(value, (ast.Name, ast.Attribute))
    return plain and any(isinstance(p, (ast.Name, ast.Attribute)) for p in picked)


def _all_but_one(source: Script, pick: ast.expr) -> bool:
    """`~data.test_mask` where another mask holds the validation."""
    turned = isinstance(pick, ast.UnaryOp) and isinstance(pick.op, ast.Invert)
    kinds = set(re.findall(r"(?i)(?:^|[_.'\"])(test|val)\w*_?(?:mask|idx)", unparse(pick)))
    return turned and len(kinds) == 1 and len(set(re.findall(r"(?i)\b(test|val)\w*_mask", source.code))) > 1
