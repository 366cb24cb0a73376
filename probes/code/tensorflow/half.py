"""Half precision in Keras models of scripts: where the outputs are left in fp16."""

from __future__ import annotations

import ast
import re

from ...readers._tree import unparse
from ...readers.script import keyword, last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at, first
from ..shared.sides import literal
from .keras import compiled


@probe()
def output_in_half(view: View) -> Finding:
    """The outputs of a Keras model under mixed_float16 stay in fp16 up to the loss."""
    return first(view, half_to_the_end, "the scripts set no policy of mixed_float16")


_ENDS = ("Dense", "Conv2D", "Conv1D", "Conv3D", "Activation", "Softmax")


def half_to_the_end(source: Script) -> Finding | None:
    """Under mixed_float16 the last layer of a model is left in fp16, and nothing makes its output fp32.

    Keras says to give the last layer `dtype="float32"`. Left aside: programs that name float32 for any
    layer, or cast anything to it.
    """
    policies = [
        c
        for c in source.named("set_global_policy", "set_policy", "set_dtype_policy")
        if any(isinstance(a, ast.Constant) and a.value == "mixed_float16" for a in c.args)
        or any(_is_half(source, a) for a in c.args)
    ]
    if not policies or source.loose:
        return None
    if any(isinstance(p, (ast.If, ast.IfExp)) for p in source.above(policies[0])):
        return None
    for call in source.calls:
        given = keyword(call, "dtype")
        if given is not None and last_name(call.func)[:1].isupper() and "float32" in unparse(given):
            return None
        layer = isinstance(call.func, ast.Attribute) and "layers" in unparse(call.func)
        if last_name(call.func) == "cast" and _casts_output(call) and not layer:
            return None
    for one in compiled(source):
        if one.layer is not None and _in_half(one.layer):
            return at(source, one.layer, "under mixed_float16 this last layer gives its outputs in fp16")
    made = [
        n for n in source.of(ast.Call) if last_name(n.func) in ("Model", "Functional") and len(n.args) > 1
    ]
    for call in made:
        for end in flow(source).values(call.args[1], 2):
            if isinstance(end, ast.Call) and isinstance(end.func, ast.Call):
                if _in_half(end.func):
                    return at(
                        source, end.func, "under mixed_float16 this last layer gives its outputs in fp16"
                    )
    return None


def _in_half(layer: ast.Call) -> bool:
    return last_name(layer.func) in _ENDS and not any(k.arg in (None, "dtype") for k in layer.keywords)


def _is_half(source: Script, node: ast.expr) -> bool:
    ends = flow(source).values(node, 3)
    return any(
        isinstance(e, ast.Call) and any(literal(source, a) == "mixed_float16" for a in e.args) for e in ends
    )


def _casts_output(call: ast.Call) -> bool:
    """Something that a model gave is made fp32 by hand; images and labels at the start are not meant."""
    if "float32" not in unparse(call) or not call.args:
        return False
    text = unparse(call.args[0])
    return re.search(r"(?i)logit|pred|out|prob|score|model|y_hat|recon", text) is not None
