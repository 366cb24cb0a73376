"""One block of a stack that is put in the place of others: `layers[i] = layers[0]`."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_in, of, unparse
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at

_STACK = re.compile(r"(?:^|\.)(?:layers?|blocks?|h|stages?|resblocks|encoder_layers|decoder_layers|cells)$")
_MEANT = re.compile(
    r"(?i)(?:share|shared|sharing)_?\s?(?:\w+_)?(?:layer|block|weight|param|encoder)"
    r"|(?:layer|block|weight|param\w*)s?[_ ](?:are )?shar"
    r"|\btied?\b|tie_|tying|albert|universal|recursive|looped"
)


def one_block_for_others(source: Script) -> Finding | None:
    """An item of a network's stack takes the place of another item of it.

    Not told: where the script says that weights are shared, and lists that are no part of a network.
    """
    if _MEANT.search(source.code):
        return None
    for node in source.of(ast.Assign):
        target, value = node.targets[0], node.value
        if not (isinstance(target, ast.Subscript) and isinstance(value, ast.Subscript)):
            continue
        if unparse(target.value) != unparse(value.value) or unparse(target.slice) == unparse(value.slice):
            continue
        if isinstance(target.slice, ast.Slice) or isinstance(value.slice, (ast.Slice, ast.Tuple)):
            continue
        if _is_stack(source, target.value) and not _swaps(source, node):
            return at(source, node, "one block stands in the place of others: they are one set of weights")
    return None


def _is_stack(source: Script, node: ast.expr) -> bool:
    """`model.encoder.layer`, or a name for it; of plain names nothing is known."""
    whole = flow(source).whole_given(node) if isinstance(node, ast.Name) else node
    text = unparse(whole) if isinstance(whole, ast.Attribute) else ""
    return "." in text and _STACK.search(text) is not None


def _swaps(source: Script, node: ast.Assign) -> bool:
    """`kept = layers[i]` before, which goes back to another place: blocks change places."""
    around = source.function_around(node) or source.tree
    base = unparse(node.targets[0].value) if isinstance(node.targets[0], ast.Subscript) else ""
    for other in of(around, ast.Assign):
        place = other.targets[0]
        if other is not node and isinstance(place, ast.Subscript) and unparse(place.value) == base:
            if names_in(other.value) - names_in(place):
                return True
    return False
