"""Heads with fewer answers than the classes that a program lists."""

from __future__ import annotations

import ast
import re

from ...readers._tree import unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at

_HOW_MANY = ("num_labels", "num_classes", "n_classes", "num_class", "nb_classes", "n_labels", "classes")
# names of entries that are no answers of their own, or that a head leaves out on purpose
_NO_ANSWER = re.compile(
    r"(?i)pad|ignore|void|blank|background|unlabel|none|unknown|^bg$|<|\[|__|other|reject"
)


def fewer_answers_than_classes(source: Script) -> Finding | None:
    """`num_labels=len(TAGS) - 1`, where every name of `TAGS` is an answer: the last class has no place."""
    for call in source.of(ast.Call):
        for told in call.keywords:
            value = told.value
            if (
                told.arg not in _HOW_MANY
                or not isinstance(value, ast.BinOp)
                or not isinstance(value.op, ast.Sub)
            ):
                continue
            left, right = value.left, value.right
            if not (isinstance(right, ast.Constant) and type(right.value) is int and right.value > 0):
                continue
            if not isinstance(left, ast.Call) or last_name(left.func) != "len" or not left.args:
                continue
            names = _listed(source, left.args[0])
            if names and not any(_NO_ANSWER.search(n) for n in names):
                why = f"`{unparse(left.args[0])}` lists {len(names)} classes, and the head has"
                return at(source, call, f"{why} {len(names) - right.value} answers")
    return None


def _listed(source: Script, node: ast.expr) -> list[str]:
    for value in (node, *flow(source).values(node, 4)):
        if isinstance(value, (ast.List, ast.Tuple)) and value.elts:
            names = [e.value for e in value.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
            return names if len(names) == len(value.elts) else []
    return []
