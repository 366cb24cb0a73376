"""Attention masks that training hands to a model and an evaluation in scripts does not."""

from __future__ import annotations

import ast
import re

from ...readers._tree import unparse
from ...readers.script import keyword, last_name
from ...registry import Finding
from ...scripts.learning import takes_gradients
from ...scripts.syntax import Script
from ...scripts.untaped import maybe_untaped_block
from ..shared.checks import at, ok

_MODEL = re.compile(r"(?i)^(?:self\.)?(?:model|net|encoder|classifier|tagger|bert|lm)$")
_PADS = re.compile(r"padding=(?:True|'longest'|'max_length')|DataCollator(?:With|For)|pad_sequence|\.pad\(")


def mask_left_out(source: Script) -> Finding | None:
    """`model(**batch)` in training, `model(input_ids=ids)` where it is scored: padding is seen there."""
    if "transformers" not in source.code or not _PADS.search(source.code):
        return None
    with_, without = [], []
    for call in source.calls:
        if not _MODEL.match(unparse(call.func)) or source.function_around(call) in source.forwards:
            continue
        masked = keyword(call, "attention_mask") is not None or any(k.arg is None for k in call.keywords)
        ids = keyword(call, "input_ids")
        if masked:
            with_.append(call)
        elif ids is not None and not call.args and re.search(r"input_ids|batch|\bids\b", unparse(ids)):
            without.append(call)
    learns = [c for c in with_ if _learns(source, c)]
    bare = [c for c in without if not _learns(source, c)]
    if not learns or any(last_name(c.func) != last_name(learns[0].func) for c in bare):
        return None
    if bare:
        return at(source, bare[0], "training hands the attention mask over, and this call does not")
    return ok(source, learns[0], "the attention mask is handed over everywhere") if len(with_) > 1 else None


def _learns(source: Script, call: ast.Call) -> bool:
    function = source.function_around(call)
    if function is not None and takes_gradients(source, function):
        near = [p for p in source.above(call) if isinstance(p, (ast.With, ast.For))]
        return not any(isinstance(p, ast.With) and maybe_untaped_block(p) for p in near)
    return any(takes_gradients(source, p) for p in source.loops_around(call)[:1])
