"""Number formats that a JAX program casts its parameters to, where it takes its loss of them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...run import Setting
from .._tree import of, unparse
from .calls import last_name

_FORMATS = {"float16": "fp16", "half": "fp16", "bfloat16": "bf16"}
_HELD = re.compile(r"(?i)param|weight|variables|theta")
_LITERAL = 60  # the code that lies there most likely ran


def cast_parameters(tree: ast.Module, file: str) -> Iterator[Setting]:
    """`jax.tree.map(lambda p: p.astype(jnp.float16), params)` in a function whose gradients are taken.

    Elsewhere it may be an export, or a network that is asked after training.
    """
    taught = {
        unparse(c.args[0])
        for c in of(tree, ast.Call)
        if last_name(c.func) in ("grad", "value_and_grad") and c.args
    }
    for function in of(tree, ast.FunctionDef):
        if function.name not in taught:
            continue
        for call in of(function, ast.Call):
            mapped = last_name(call.func) in ("map", "tree_map") and len(call.args) == 2
            found = _casts(call.args[0]) if mapped else ""
            if found and _HELD.search(unparse(call.args[1])):
                yield Setting("precision", found, file, call.lineno, _LITERAL)


def _casts(given: ast.expr) -> str:
    """The format that `lambda p: p.astype(jnp.float16)` casts to, "" for none."""
    body = given.body if isinstance(given, ast.Lambda) else None
    if not isinstance(body, ast.Call) or last_name(body.func) != "astype" or len(body.args) != 1:
        return ""
    return _FORMATS.get(unparse(body.args[0]).strip("'\"").rpartition(".")[2], "")
