"""Texts of CTC models of Hugging Face in scripts: how answers and references are made letters again.

Answers repeat a letter for as long as it sounds, and are grouped; references hold each letter once, so that
grouping them loses every doubled one (the library's own example asks for `group_tokens=False` there).
"""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.nodes import is_false, whole_number
from ..shared.origins import origins

_DECODES = ("batch_decode", "decode")
_MARK = re.compile(r"-100\b|ignore_index|label_pad")


def ctc_texts_misread(source: Script) -> Finding | None:
    """References that are grouped, answers that are not, marks of padding that are decoded, a wrong axis."""
    if "ForCTC" not in source.text:
        return None
    for call in source.named(*_DECODES):
        given = argument(call, position=0)
        function = source.function_around(call)
        if given is None or function is None:
            continue
        made = origins(source, given)
        truth = any(isinstance(o, ast.Attribute) and o.attr == "label_ids" for o in made)
        answer = any(isinstance(o, ast.Call) and last_name(o.func) == "argmax" for o in made)
        grouped = not is_false(keyword(call, "group_tokens"))
        if truth and not answer and grouped and "processor" in unparse(call.func):
            return at(source, call, "repeated letters of the references are taken for one: they are grouped")
        if answer and not truth and not grouped:
            return at(source, call, "the letters of the answers are not grouped: one for every frame")
        if truth and not answer and not _MARK.search(unparse(function)):
            return at(source, call, "marks of padding (-100) are decoded with the references")
    for call in source.named("argmax"):
        axis = keyword(call, "axis") or keyword(call, "dim")
        about = argument(call, position=0)
        told = " ".join(unparse(a) for a in (about, call.func) if a is not None)
        if axis is not None and re.search(r"\.(?:predictions|logits)\b", told) and whole_number(axis) == 1:
            return at(source, call, "the letter is looked for along the frames, not along the letters")
    return None


def real_tokens_marked(source: Script) -> Finding | None:
    """`ids.masked_fill(attention_mask.eq(1), -100)`: what is real is left out, and padding is learnt."""
    for call in source.named("masked_fill", "masked_fill_"):
        mask, value = argument(call, "mask", position=0), argument(call, "value", position=1)
        if mask is None or whole_number(value) != -100 or "attention_mask" not in unparse(mask):
            continue
        if _is_one(mask):
            return at(source, call, "the real tokens are left out of the loss, and the padding counts")
    return None


def _is_one(mask: ast.expr) -> bool:
    """`mask.eq(1)`, `mask == 1`, `mask.bool()`: true where a token is real."""
    if isinstance(mask, ast.Compare) and len(mask.ops) == 1:
        one = whole_number(mask.comparators[0])
        return (isinstance(mask.ops[0], ast.Eq) and one == 1) or (
            isinstance(mask.ops[0], (ast.NotEq, ast.Gt)) and one == 0
        )
    if not isinstance(mask, ast.Call) or not isinstance(mask.func, ast.Attribute) or of(mask, ast.UnaryOp):
        return False
    one = whole_number(argument(mask, position=0))
    name = last_name(mask.func)
    return name == "bool" or (name == "eq" and one == 1) or (name in ("ne", "gt") and one == 0)
