"""Functions that scripts hand to `map` or as `collate_fn`: what they tokenise, and how they number labels."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at

_TOKENISES = re.compile(r"(?i)^(?:self\.)?(?:tokenizer|tok|tokenize|processor)$")
_HANDED = re.compile(r"\.map\(|collate_fn=|data_collator=")
_LABELS = ("labels", "label", "label_ids")
_CLASSIFIES = re.compile(r"ForSequenceClassification|ForTokenClassification|ForMultipleChoice")


def _mapped(source: Script) -> Iterator[tuple[ast.FunctionDef, str]]:
    """Functions that are handed to `map` or as `collate_fn`, with the name of the batch that they get."""
    handed = {
        a.id
        for c in source.named("map")
        for a in (*c.args[:1], *(k.value for k in c.keywords if k.arg == "function"))
        if isinstance(a, ast.Name)
    } | {
        k.value.id
        for c in source.calls
        for k in c.keywords
        if k.arg in ("collate_fn", "data_collator") and isinstance(k.value, ast.Name)
    }
    for function in source.of(ast.FunctionDef):
        if function.name in handed and function.args.args:
            yield function, function.args.args[0].arg


def _labels_made(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """What stands under "labels" in what a function gives back."""
    for node in of(function, ast.Assign):
        target = node.targets[0]
        if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
            if target.slice.value in _LABELS:
                yield node.value
    for held in of(function, ast.Dict):
        for key, value in zip(held.keys, held.values, strict=True):
            if isinstance(key, ast.Constant) and key.value in _LABELS:
                yield value


def _fields(node: ast.AST, batch: str) -> set[str]:
    """The fields of the batch that an expression reads, or of its rows: `[r["text"] for r in batch]`."""
    rows = {
        unparse(g.target)
        for c in of(node, ast.ListComp, ast.SetComp, ast.GeneratorExp)
        for g in c.generators
        if unparse(g.iter) == batch
    }
    return {
        s.slice.value
        for s in of(node, ast.Subscript)
        if unparse(s.value) in {batch, *rows}
        and isinstance(s.slice, ast.Constant)
        and isinstance(s.slice.value, str)
    }


def label_in_text(source: Script) -> Finding | None:
    """`tokenizer([c + v for c, v in zip(b["claim"], b["verdict"])])`, with labels of `b["verdict"]`.

    Of models that classify; a language model is given the answer to learn it.
    """
    if not _HANDED.search(source.code) or not _CLASSIFIES.search(source.code):
        return None
    for function, batch in _mapped(source):
        labels = {f for value in _labels_made(function) for f in _fields(value, batch)}
        if not labels:
            continue
        for call in of(function, ast.Call):
            if not _TOKENISES.match(unparse(call.func)):
                continue
            for given in call.args[:2]:
                read = set().union(*(_fields(v, batch) for v in (given, *flow(source).values(given, 3))))
                if told := sorted(read & labels):
                    return at(source, call, f"`{told[0]}`, of which the labels are made, stands in the text")
    return None


def numbered_by_batch(source: Script) -> Finding | None:
    """`names = list(dict.fromkeys(b["verdict"]))`, then `names.index(v)`: each batch has its own numbers."""
    if not _HANDED.search(source.code):
        return None
    for function, batch in _mapped(source):
        made = {
            unparse(n.targets[0]): n
            for n in of(function, ast.Assign)
            if isinstance(n.targets[0], ast.Name)
            and any(
                isinstance(c, (ast.Set, ast.SetComp))
                or (
                    isinstance(c, ast.Call)
                    and last_name(c.func) in ("set", "fromkeys", "unique", "factorize")
                )
                for c in of(n.value, ast.Call, ast.SetComp)
            )
            and _fields(n.value, batch)
        }
        for value in _labels_made(function):
            for name, node in made.items():
                if re.search(rf"\b{name}\.index\(|\b{name}\[", unparse(value)):
                    return at(source, node, "classes are numbered by what stands in each batch")
    return None
