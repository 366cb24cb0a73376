"""What is worked out for a model in scripts, handed to what computes it, and never read there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Function, Script
from ..shared.checks import at
from ..shared.nodes import raises

_COMPUTES = re.compile(r"^(?:relu|gelu|silu|tanh|sigmoid|matmul|mm|bmm|linear|conv[123]d|einsum|layer_norm)$")
_ABOUT = re.compile(
    r"(?i)^(?:_|args?$|cfg|config|opts?$|hparams|device|epoch|step|logger|writer|verbose|name|seed|key|rng)"
)


def handed_over_unread(source: Script) -> Finding | None:
    """`adj = normalised(edges)`, `forward(adj, params, x)`, and `forward` never reads `adj`.

    Said of plain functions that compute with tensors, of a value that a function of the script works out and
    that is read for nothing else. Silent where the function is one of several of a kind (handed about by
    name), or is decorated.
    """
    for function in source.tree.body:
        if not isinstance(function, ast.FunctionDef) or function.decorator_list or raises(function):
            continue
        unread = _unread(function)
        if not unread or not _computes(function):
            continue
        for place, name in unread:
            for given in _given(source, function, place, name):
                made = flow(source).given(given) if isinstance(given, ast.Name) else None
                if made is None or made.places or not isinstance(made.value, ast.Call):
                    continue
                own = last_name(made.value.func) in flow(source).functions
                scope = source.function_around(given) or source.tree
                reads = [
                    n for n in of(scope, ast.Name) if n.id == unparse(given) and isinstance(n.ctx, ast.Load)
                ]
                if own and len(reads) == 1:
                    return at(
                        source,
                        function,
                        f"{unparse(given)} is worked out for {function.name}, which never reads it",
                    )
    return None


def _unread(function: Function) -> list[tuple[int, str]]:
    """Arguments without a default that the body does not name, with their places."""
    plain = function.args.args[: len(function.args.args) - len(function.args.defaults)]
    named = {n.id for s in function.body for n in of(s, ast.Name)}
    if named & {"locals", "vars", "eval", "exec"}:
        return []
    return [(i, a.arg) for i, a in enumerate(plain) if a.arg not in named and not _ABOUT.match(a.arg)]


def _computes(function: Function) -> bool:
    products = [b for b in of(function, ast.BinOp) if isinstance(b.op, ast.MatMult)]
    return bool(products) or any(_COMPUTES.match(last_name(c.func)) for c in of(function, ast.Call))


def _given(source: Script, function: Function, place: int, name: str) -> Iterator[ast.expr]:
    """What the script gives an argument; nothing where the function is handed about by its name."""
    found = []
    for node in source.of(ast.Name):
        if node.id != function.name or not isinstance(node.ctx, ast.Load):
            continue
        call = source.parents.get(node)
        if not isinstance(call, ast.Call):
            return
        args = call.args
        if call.func is not node:
            if last_name(call.func) != "partial" or args[0] is not node:
                return
            args = args[1:]
        named = [k.value for k in call.keywords if k.arg == name]
        found += named or args[place : place + 1]
    yield from found
