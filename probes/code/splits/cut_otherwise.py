"""Both sides are made by one call, which is told for each how samples are cut out of the data."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.nodes import assigned
from .done import Change

# how far apart windows or tiles start, and how many there are: no property of the values
_CUTTING = re.compile(
    r"(?i)(?:^|_)(?:hop|hops|stride|strides|step|overlap|every|skip|shift_by|repeat|repeats|per_\w+|crops?|tiles?"
    r"|n|num|count|size|length|len|window|context|batch|seed)(?:_|$)"
)


def cut_otherwise(source: Script, node: Change, other: str) -> bool:
    """`val = windows(val_runs, step=10)` beside `train = windows(train_runs, step=2)`."""
    mine = node.value
    if not isinstance(mine, ast.Call):
        return False
    theirs = [
        v
        for made in source.of(ast.Assign)
        for t, v in assigned(made)
        if isinstance(t, (ast.Name, ast.Attribute)) and unparse(t).removeprefix("self.").lower() == other
    ]
    return bool(theirs) and all(
        isinstance(v, ast.Call) and unparse(v.func) == unparse(mine.func) and _only_cut(source, mine, v)
        for v in theirs
    )


def _only_cut(source: Script, mine: ast.Call, theirs: ast.Call) -> bool:
    """All but the first argument, which is the data, are the same or tell how samples are cut."""
    names = _parameters(source, mine)
    if len(mine.args) != len(theirs.args) or {k.arg for k in mine.keywords} != {
        k.arg for k in theirs.keywords
    }:
        return False
    pairs = [
        (names.get(i, ""), a, b) for i, (a, b) in enumerate(zip(mine.args, theirs.args, strict=True)) if i
    ]
    told = {k.arg: k.value for k in theirs.keywords}
    pairs += [(k.arg or "", k.value, told[k.arg]) for k in mine.keywords]
    differ = [(n, a, b) for n, a, b in pairs if unparse(a) != unparse(b)]
    return bool(differ) and all(_CUTTING.search(n) for n, _, _ in differ)


def _parameters(source: Script, call: ast.Call) -> dict[int, str]:
    """What the arguments of a function, class or lambda of the script are called, by their place."""
    functions: list[ast.arguments] = [f.args for f in flow(source).called(call)]
    if isinstance(call.func, ast.Name):
        functions += [
            n.value.args
            for n in source.of(ast.Assign)
            if isinstance(n.value, ast.Lambda) and any(unparse(t) == call.func.id for t in n.targets)
        ]
        owner = source.classes.get(last_name(call.func))
        made = [f for f in of(owner, ast.FunctionDef) if f.name == "__init__"] if owner is not None else []
        functions += [f.args for f in made]
    for arguments in functions:
        names = [a.arg for a in (*arguments.posonlyargs, *arguments.args) if a.arg not in ("self", "cls")]
        return dict(enumerate(names))
    return {}
