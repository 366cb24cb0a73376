"""Tokens that are added to a pretrained tokenizer, and the table of the model that they need."""

from __future__ import annotations

import ast
import re

from ...readers._tree import unparse
from ...readers.script import keyword
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at, ok

_GROWS = (
    "resize_token_embeddings",
    "_resize_token_embeddings",
    "resize_embeddings",
    "smart_tokenizer_and_embedding_resize",
)


def _adds(source: Script) -> list[ast.Call]:
    """Calls that surely add tokens: `add_tokens([...])`, or special tokens beyond the padding."""
    found = list(source.named("add_tokens"))
    for call in source.named("add_special_tokens"):
        given = call.args[0] if call.args else keyword(call, "special_tokens_dict")
        keys = (
            [k.value for k in given.keys if isinstance(k, ast.Constant)]
            if isinstance(given, ast.Dict)
            else []
        )
        if "additional_special_tokens" in keys:
            found.append(call)
    return [
        c for c in found if isinstance(c.func, ast.Attribute) and re.search(r"(?i)tok", unparse(c.func.value))
    ]


def table_not_grown(source: Script) -> Finding | None:
    """Tokens are added for a pretrained model, and its table is not resized, or before they are added."""
    adds = _adds(source)
    models = [
        c
        for c in source.named("from_pretrained")
        if re.search(r"Model|For[A-Z]|LMHead", unparse(c.func))
        and not re.search(r"(?i)tok|processor|config", unparse(c.func))
    ]
    if not adds or not models or source.loose:
        return None
    grown = list(source.named(*_GROWS))
    if not grown:
        if re.search(r"vocab_size\s*=|\bnn\.Embedding\(|resize|modules_to_save", source.code):
            return None  # a table of its own
        return at(
            source,
            adds[0],
            "tokens are added, and the table of the model is not resized: their ids have no row",
        )
    for call in grown:
        given = call.args[0] if call.args else keyword(call, "new_num_tokens")
        if (
            isinstance(given, ast.Attribute)
            and given.attr == "vocab_size"
            and re.search(r"(?i)tok", unparse(given.value))
        ):
            return at(source, call, "vocab_size leaves out the added tokens: len(tokenizer) counts them")
    scope = source.function_around(adds[0])
    same = [g for g in grown if source.function_around(g) is scope]
    if len(same) == len(grown) and len(adds) == 1 and all(g.lineno < adds[0].lineno for g in same):
        return at(source, same[-1], "the table is resized before the tokens are added")
    return ok(source, grown[0], "the table is resized for the added tokens")
