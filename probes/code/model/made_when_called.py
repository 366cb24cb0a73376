"""Layers in scripts that are made where the model is called: new weights at every call, never trained."""

from __future__ import annotations

import ast
import re

from ...readers._tree import of, unparse
from ...readers.script import last_name
from ...registry import Finding, View, probe
from ...scripts.syntax import Script
from ..shared.checks import at, first, ok

_WEIGHTS = re.compile(
    r"^(?:Linear|Dense|Conv[123][dD]\w*|Conv[123]DTranspose|Embedding|LSTM|GRU|RNN|SimpleRNN|BatchNorm(?:[123]d)?"
    r"|BatchNormalization|LayerNorm(?:alization)?|Multi[Hh]ead[Aa]ttention|SeparableConv[123]D|GroupNorm)$"
)
_OF_LIBRARIES = re.compile(r"(?:^|\.)(?:nn|layers)$|^tf\.keras$|^keras$")
_SHARED = ("compat.v1", "variable_scope", "flax", "haiku", "nn.compact", "hk.")


@probe()
def layers_made_when_called(view: View) -> Finding:
    """A forward method makes a layer with weights and runs it at once: `return Dense(n)(x)` in `call`.

    Each call draws new weights, which no optimizer knows. Left aside: layers that are kept (`self.fc = ...`),
    and libraries whose layers are declared where they are called (Flax, Haiku, TensorFlow's graphs).
    """
    return first(view, _made, "the scripts hold no model")


def _made(source: Script) -> Finding | None:
    if {"jax"} & set(source.frameworks) or any(w in source.text for w in _SHARED):
        return None
    seen: ast.AST | None = None
    for function in source.passes:
        owner = source.parents.get(function)
        if not isinstance(owner, ast.ClassDef) or owner not in source.modules:
            continue
        seen = seen or function
        for call in of(function, ast.Call):
            if not _is_layer(source, call) or source.function_around(call) is not function:
                continue
            outer = source.parents.get(call)
            at_once = isinstance(outer, ast.Call) and outer.func is call
            named = isinstance(outer, ast.Assign) and all(isinstance(t, ast.Name) for t in outer.targets)
            if at_once or (named and isinstance(outer, ast.Assign) and _run(function, outer)):
                return at(
                    source, call, "this layer is made anew at every call: its weights are never trained"
                )
    return ok(source, seen, "layers are made once") if seen is not None else None


def _is_layer(source: Script, call: ast.Call) -> bool:
    if not _WEIGHTS.match(last_name(call.func)) or last_name(call.func) in source.classes:
        return False
    owner = source.owner(call)
    return not owner or _OF_LIBRARIES.search(owner) is not None


def _run(function: ast.AST, kept: ast.Assign) -> bool:
    """What a layer is kept as is run in the same method, and not handed to the model."""
    names = {unparse(t) for t in kept.targets}
    stored = [n for n in of(function, ast.Assign) if n is not kept and unparse(n.value) in names]
    return not stored and any(unparse(c.func) in names for c in of(function, ast.Call))
