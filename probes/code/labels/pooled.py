"""Sequences in models of scripts that are averaged over padding, or over nothing but padding."""

from __future__ import annotations

import ast
import re

from ...readers._tree import names_read, of, unparse
from ...readers.script import argument, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at

_PAD = re.compile(r"(?i)(?:^|\.|_)pad(?:ding)?(?:_?(?:id|idx|index|token|token_id))?$")
_SIZES = re.compile(
    r"(?i)^(?:length|lengths|lens|seq_?lens?|seq_?lengths?|x_lens?|mask|masks|attention_mask|pad_mask)$"
)
_LAYERS = ("LSTM", "GRU", "RNN", "TransformerEncoder")


def pooled_over_padding(source: Script) -> Finding | None:
    """`h.mean(1)` in a forward that does not look at the lengths, or a mask that keeps the pads."""
    for function in source.forwards:
        found = _keeps_pads(source, function) or _lengths_unread(source, function)
        if found is not None:
            return found
    return None


def _keeps_pads(source: Script, function: ast.AST) -> Finding | None:
    """`mask = ids == PAD`, then `(h * mask).sum(1) / mask.sum(1)`."""
    for node in of(function, ast.BinOp):
        if (
            not isinstance(node.op, ast.Div)
            or "sum(" not in unparse(node.left)
            or "sum(" not in unparse(node.right)
        ):
            continue
        for product in of(node.left, ast.BinOp):
            if not isinstance(product.op, ast.Mult):
                continue
            for mask in (product.left, product.right):
                root = re.match(r"\w+", unparse(mask))
                if root is not None and root[0] in unparse(node.right) and _is_pads(source, mask):
                    return at(
                        source, node, "what is averaged is padding: the mask keeps the places of the pads"
                    )
    return None


def _is_pads(source: Script, mask: ast.expr) -> bool:
    name = mask
    while isinstance(name, (ast.Call, ast.Attribute, ast.Subscript)) and not isinstance(name, ast.Name):
        inner = name.func if isinstance(name, ast.Call) else name.value
        name = inner
    made = flow(source).all_given(name)
    values = [g.value for g in made]
    if len(values) != 1:
        return False
    tests = of(values[0], ast.Compare)
    text = unparse(values[0])
    if len(tests) != 1 or re.search(r"~|\bnot\b|logical_not|1 - |1\.0 - ", text):
        return False
    test = tests[0]
    return isinstance(test.ops[0], ast.Eq) and _PAD.search(unparse(test.comparators[0])) is not None


def _lengths_unread(source: Script, function: ast.AST) -> Finding | None:
    """Lengths come in and nothing reads them, and the states of all places are averaged."""
    if not isinstance(function, ast.FunctionDef):
        return None
    handed = [a.arg for a in function.args.args if _SIZES.match(a.arg)]
    read = names_read(function)
    idle = [h for h in handed if h not in read]
    if not idle or len(idle) < len(handed) or not re.search(r"(?i)pad", source.code):
        return None
    around = source.class_around(function)
    if around is None or not any(last_name(c.func) in _LAYERS for c in of(around, ast.Call)):
        return None
    for call in of(function, ast.Call):
        if last_name(call.func) not in ("mean", "reduce_mean") or not isinstance(call.func, ast.Attribute):
            continue
        axis = argument(call, "dim", "axis", position=0)
        if axis is not None and unparse(axis) == "1":
            return at(
                source,
                call,
                f"padding is averaged in: nothing reads `{idle[0]}`, which tells where a sequence ends",
            )
    return None
