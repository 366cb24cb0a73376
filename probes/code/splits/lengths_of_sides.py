"""Sizes and lengths that scripts read held-out samples by, where training reads them by others."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import argument, keyword
from ...registry import Finding
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.sides import number, side

_LENGTH = re.compile(
    r"(?i)^(?:max_?(?:len|length|seq_?len\w*|tokens|words)|seq_?len\w*|truncate\w*|cut_?off)$"
)
_LESS = 0.5  # of what training reads: a little less is meant to be fast


def cut_shorter_when_scored(source: Script) -> Finding | None:
    """`Texts(dev, vocab, 5)` beside `Texts(train, vocab, args.max_len)`: held-out texts lose their ends."""
    makers: list[tuple[str, Function, bool]] = [
        (f.name, f, False) for f in source.of(ast.FunctionDef) if source.class_around(f) is None
    ]
    for owner in source.classes.values():
        makers += [
            (owner.name, f, True)
            for f in owner.body
            if isinstance(f, ast.FunctionDef) and f.name == "__init__"
        ]
    for name, function, method in makers:
        places = [a.arg for a in function.args.args][method:]
        for word in (p for p in places if _LENGTH.match(p)):
            told: dict[bool, list[tuple[ast.Call, float]]] = {True: [], False: []}
            for call in source.named(name):
                value = keyword(call, word)
                at_place = places.index(word)
                value = value or argument(call, position=at_place)
                learns = _side(source, call)
                known = number(source, value) if value is not None else None
                if learns is not None and known is not None:
                    told[learns].append((call, known))
            if told[True] and told[False]:
                least = min(n for _, n in told[True])
                for call, length in told[False]:
                    if length <= _LESS * least:
                        why = f"held-out samples are cut to {length:g}, training samples to {least:g}"
                        return at(source, call, why)
    return None


def _side(source: Script, call: ast.Call) -> bool | None:
    """The side of what a call makes: by the name that it is given to, or by what it is made of."""
    statement = source.statement(call)
    if isinstance(statement, ast.Assign):
        told = [side(unparse(t)) for t in statement.targets]
        if len(told) == 1 and told[0] is not None:
            return told[0]
    found = {side(n.id) for a in call.args[:1] for n in of(a, ast.Name)} - {None}
    return found.pop() if len(found) == 1 else None
