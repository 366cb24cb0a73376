"""Hooks of held-out data (`val_dataloader`) in scripts that give back the training data."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.sides import side

_HOOKS = re.compile(r"^(?:val|valid|validation|test|eval)_(?:data)?loader$|^get_(?:eval|test)_dataloader$")
_DATA = re.compile(
    r"(?i)set$|data|ds$|^(?:self\.)?_?(?:train|val|valid|test|tr|va|te)$|rows|samples|split|tags|files"
)
_CUT = re.compile(r"(?i)sampler|subset|indices|_idx|\bidx\b|fold|\[\s*:|:\s*\]")


def hook_gives_training_data(source: Script) -> Finding | None:
    """`val_dataloader` reads `self.train_set` alone, and a `self.val_set` is made that nothing reads."""
    for function in source.of(ast.FunctionDef):
        owner = source.class_around(function)
        if owner is None or not _HOOKS.match(function.name):
            continue
        data = [n for n in of(function, ast.Attribute) if _is_data(n) and side(n.attr) is not None]
        if not data or any(side(n.attr) is False for n in data) or _CUT.search(unparse(function)):
            continue
        made = {
            n.attr
            for n in of(owner, ast.Attribute)
            if isinstance(n.ctx, ast.Store) and _is_data(n) and side(n.attr) is False
        }
        read = {n.attr for n in source.of(ast.Attribute) if isinstance(n.ctx, ast.Load)}
        if made - read:
            idle = sorted(made - read)[0]
            return at(
                source, data[0], f"`{function.name}` gives the training data, and nothing reads `{idle}`"
            )
    return None


def _is_data(node: ast.Attribute) -> bool:
    return (
        isinstance(node.value, ast.Name) and node.value.id == "self" and _DATA.search(node.attr) is not None
    )
