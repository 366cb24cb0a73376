"""Lengths to which scripts cut texts, where hardly anything of a text is left."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import keyword, last_name
from ...registry import Finding, View
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.checks import number as told_number

# Sentences of English have 15 to 20 words, the shortest of the usual sets of single sentences (CoLA) eight. A
# tokenizer puts two marks of its own among its pieces, and some words are several of them.
FEWEST_PIECES = 8
FEWEST_WORDS = 5
_LENGTH = re.compile(r"(?i)^max_?(?:seq(?:uence)?_?)?(?:len(?:gth)?|words|tokens)$")
_SHORT = re.compile(r"(?i)target|label|answer|char|name|title|letter|digit|query|keyword|summar|decoder")
_WORDS = re.compile(r"(?i)tok|word|split\(|encode|ids")


def text_cut_short(view: View, source: Script) -> Finding | None:
    """`tokenizer(texts, truncation=True, max_length=8)`, `vocab.encode(text)[:max_len]` with a length of 4.

    Of inputs alone: an answer may be one word. Not of letters, names, titles and queries.
    """
    seen: ast.AST | None = None
    for call in source.calls:
        given = keyword(call, "max_length")
        cut = keyword(call, "truncation")
        if given is None or cut is None or unparse(cut) == "False":
            continue
        if not re.search(r"(?i)okeniz", unparse(call.func)):
            continue
        about = " ".join([*map(unparse, call.args), *(k.arg or "" for k in call.keywords)])
        if _SHORT.search(about + source.function_name(call)):
            continue
        seen = seen or call
        length = told_number(view, source, given)
        if length is not None and 0 < length <= FEWEST_PIECES:
            return at(source, call, f"texts are cut to {length:g} pieces, marks among them")
    for node in source.of(ast.Subscript):
        upper = node.slice.upper if isinstance(node.slice, ast.Slice) and node.slice.lower is None else None
        if upper is None or not isinstance(upper, (ast.Name, ast.Attribute, ast.Subscript)):
            continue
        key = upper.slice if isinstance(upper, ast.Subscript) else None
        name = str(key.value) if isinstance(key, ast.Constant) else last_name(upper)
        if not _LENGTH.match(name) or not _WORDS.search(unparse(node.value)):
            continue
        if _SHORT.search(unparse(node.value) + source.function_name(node)):
            continue
        seen = seen or node
        length = told_number(view, source, upper)
        if length is not None and 0 < length <= FEWEST_WORDS and not _of_letters(source):
            return at(source, node, f"texts are cut to their first {length:g} words")
    return ok(source, seen, "texts keep more than a few words") if seen is not None else None


def _of_letters(source: Script) -> bool:
    """Names and the like, one letter at a time."""
    return any(re.search(r"(?i)char|letter|alphabet", n.id) for n in of(source.tree, ast.Name))
