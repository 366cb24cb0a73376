"""Outputs of models that reach the loss without a slope: rounded, cut to a sign or a class."""

from __future__ import annotations

from ...readers.script import last_name
from ...registry import Finding, View, probe
from ...scripts.flow import flow, losses, predicted
from ...scripts.syntax import Script, outermost_call
from ..shared.checks import at, first, is_evaluation, ok
from ..shared.sides import either
from ..tensorflow.graph_loss import one_class_softmax
from ..tensorflow.keras_model import softmax_of_one
from .cuts import STEPS


@probe()
def output_without_gradient(view: View) -> Finding:
    """The model's output, or what the loss gets, is rounded, cut to a sign or replaced by an index.

    These have a gradient of zero, or none. False positive: straight-through estimators (skipped where the
    value is added to something), outputs of functions that only predict.
    """
    return first(
        view, either(_no_slope, softmax_of_one, one_class_softmax), "the scripts hold no model or loss"
    )


def _no_slope(source: Script) -> Finding | None:
    known = losses(source)
    if not source.models and not known:
        return None
    if any(last_name(b) == "Function" for c in source.classes.values() for b in c.bases):
        return None  # a slope of its own may be given to what has none
    outputs = [o for m in source.models for f in source.forwards if f in m.body for o in source.output_of(f)]
    for value in outputs:
        if outermost_call(value) in STEPS:
            return at(source, value, "the model's output has no slope, so no gradient reaches its weights")
    mine = flow(source)
    for call, _ in known:
        output = predicted(source, call)
        if is_evaluation(source, call) or output is None:
            continue
        for given in mine.values(output):
            if outermost_call(given) in STEPS:
                return at(source, given, "what the loss gets has no slope, so no gradient reaches the model")
    node = known[0][0] if known else source.models[0]
    return ok(source, node, "the output passes its gradient on")
