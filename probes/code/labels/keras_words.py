"""Keras's Tokenizer and TextVectorization: how many numbers they give out, and to whom."""

from __future__ import annotations

import ast

from ...readers._tree import unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at, ok
from ..shared.nodes import chosen
from ..shared.sides import number

_NUMBERS = ("Tokenizer", "TextVectorization")


def _of_keras(source: Script) -> list[ast.Call]:
    if "keras" not in source.code:
        return []
    return [c for c in source.named(*_NUMBERS) if "from_" not in unparse(c.func)]


def more_words_than_rows(source: Script) -> Finding | None:
    """`Tokenizer(num_words=12000)` before `Embedding(10000, d)`, or no limit and a fixed table."""
    made, tables = _of_keras(source), source.named("Embedding")
    if len(made) != 1 or len(tables) != 1:
        return None
    call, table = made[0], tables[0]
    rows = argument(table, "input_dim", position=0)
    most = argument(call, "num_words", "max_tokens", position=0)
    size = number(source, rows) if rows is not None else None
    if size is None or keyword(call, "vocabulary") is not None:
        return None
    if most is None or unparse(most) == "None":
        if last_name(call.func) == "Tokenizer" and keyword(call, "char_level") is None:
            return _unlimited(source, call)
        return None
    limit = number(source, most)
    if limit is not None and limit > size > 1:
        return at(source, table, f"{limit:g} words are numbered, and the table has {size:g} rows")
    return ok(source, table, "the table has a row for each word") if limit is not None else None


_LIMITS = ("word_index) +", "clip(", "minimum(", "num_words", "< max", "max_words:", "pop(")


def _unlimited(source: Script, call: ast.Call) -> Finding | None:
    held = any(s in source.code for s in _LIMITS)
    if held or not source.named("texts_to_sequences"):
        return None
    return at(source, call, "all words are numbered, and the table has a fixed number of rows")


def numbered_anew(source: Script) -> Finding | None:
    """A second `Tokenizer` under the same name is fitted on other texts, for the same model."""
    made = [c for c in _of_keras(source) if last_name(c.func) == "Tokenizer"]
    names = []
    for call in made:
        holder = source.statement(call)
        plain = isinstance(holder, ast.Assign) and holder.value is call and not chosen(source, holder)
        names.append(unparse(holder.targets[0]) if plain and isinstance(holder, ast.Assign) else "")
    if len(made) != 2 or not names[0] or names[0] != names[1]:
        return None
    fits = [c for c in source.named("fit_on_texts") if source.owner(c) == names[0] and c.args]
    scopes = {source.function_around(c) for c in (*made, *fits)}
    if len(fits) == 2 and len(scopes) == 1 and unparse(fits[0].args[0]) != unparse(fits[1].args[0]):
        if not any(isinstance(p, ast.For) for p in source.above(made[1])) and len(source.named("fit")) == 1:
            return at(source, fits[1], "a second tokenizer gives these texts numbers of its own")
    return None


def text_for_texts(source: Script) -> Finding | None:
    """`fit_on_texts(" ".join(texts))`: of one string each letter is a text."""
    seen = None
    for call in source.named("fit_on_texts", "texts_to_sequences"):
        given = argument(call, position=0)
        if given is None or not _of_keras(source):
            continue
        seen = seen or call
        joined = isinstance(given, ast.Call) and last_name(given.func) in ("join", "read", "lower", "strip")
        quoted = isinstance(given, ast.Constant) and isinstance(given.value, str)
        if (joined or quoted) and "char_level" not in source.code:
            return at(source, call, "one string is taken for a list of texts: each letter is a text")
    return ok(source, seen, "lists of texts are numbered") if seen is not None else None
