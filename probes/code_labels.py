"""Labels in scripts: reordered alone, overwritten."""

from __future__ import annotations

import ast

from .code import at, first, ok
from .registry import Finding, View, probe
from .syntax import Script

_LABELS = ("label", "target", "_y", "y_")


@probe()
def labels_permuted_alone(view: View) -> Finding:
    """`y = y[randperm]` where no other array is indexed by the same permutation."""
    return first(view, _labels_alone, "the scripts do not reorder labels")


def _labels_alone(source: Script) -> Finding | None:
    alone = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript):
            target, taken = ast.unparse(node.targets[0]), ast.unparse(node.value.value)
            if target == taken and isinstance(node.targets[0], ast.Name):
                alone.append((node, ast.unparse(node.value.slice)))
    for node, index in alone:
        fresh = "randperm" in index or "permutation" in index
        if fresh or (
            "perm" in index.lower() and sum(i == index for _, i in alone) == 1 and _used_once(source, index)
        ):
            return at(source, node, "inputs and labels are not reordered together")
    return ok(source, alone[0][0], "inputs and labels are reordered together") if alone else None


def _used_once(source: Script, index: str) -> bool:
    """The permutation indexes one array only."""
    uses = [
        n for n in ast.walk(source.tree) if isinstance(n, ast.Subscript) and ast.unparse(n.slice) == index
    ]
    return len(uses) == 1


@probe()
def labels_overwritten(view: View) -> Finding:
    """Labels are assigned random values."""
    return first(view, _overwritten, "the scripts do not touch labels")


def _overwritten(source: Script) -> Finding | None:
    seen = None
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign):
            target = ast.unparse(node.targets[0]).lower()
            if any(w in target for w in _LABELS) or target in ("y", "ys"):
                seen = seen or node
                value = ast.unparse(node.value)
                inside = isinstance(node.targets[0], ast.Subscript)
                if inside and any(w in value for w in ("randint", "random", "rand(")):
                    return at(source, node, "labels are overwritten with random values")
    return ok(source, seen, "labels are not overwritten") if seen is not None else None
