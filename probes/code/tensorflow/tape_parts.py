"""Loops with a tape: rates that rise, pictures against a peak of another range, raw scores for chances."""

from __future__ import annotations

import ast
import re

from ...readers._tree import unparse
from ...readers.script import argument, keyword, last_name
from ...registry import Finding
from ...scripts.flow import flow
from ...scripts.syntax import Script
from ..shared.checks import at
from ..shared.sides import literal
from .keras import last_layer_of

_OF_CHANCES = ("AUC", "BinaryAccuracy", "Precision", "Recall", "BinaryIoU")
_KERAS = ("tf", "keras", "metrics", "tensorflow", *_OF_CHANCES)
_UNIT = (["0.0", "1.0"], ["0", "1"], ["0.0", "1"])


def rates_that_rise(source: Script) -> Finding | None:
    """`PiecewiseConstantDecay([200000], [1e-5, 1e-2])`: the rate goes up, late, by ten times or more."""
    for call in source.named("PiecewiseConstantDecay", "piecewise_constant_lr", "piecewise_constant"):
        values = argument(call, "values", position=1) or keyword(call, "learning_rates")
        told = [literal(source, e) for e in values.elts] if isinstance(values, (ast.List, ast.Tuple)) else []
        rates = [t for t in told if isinstance(t, (int, float)) and not isinstance(t, bool)]
        if len(rates) == len(told) > 1 and rates[-1] >= 10 * rates[0] > 0 and rates[-1] == max(rates):
            why = f"the rate ends at {rates[-1]:g}, far above the {rates[0]:g} of the start"
            return at(source, call, why)
    return None


def peak_of_other_range(source: Script) -> Finding | None:
    """`tf.image.psnr(a, b, max_val=255)` of pictures that were clipped to 0 and 1, or converted to floats."""
    for call in source.named("psnr", "ssim", "peak_signal_noise_ratio", "ssim_multiscale"):
        peak = literal(source, argument(call, "max_val", position=2) or keyword(call, "data_range"))
        if not isinstance(peak, (int, float)) or isinstance(peak, bool) or len(call.args) < 2:
            continue
        if unparse(call.args[0]) == unparse(call.args[1]):
            return at(source, call, "a picture is held against itself")
        cuts = source.named("clip_by_value", "clip", "clamp", "clamp_")
        unit = any([unparse(a) for a in c.args[-2:]] in _UNIT for c in cuts)
        unit |= bool(source.named("convert_image_dtype"))
        whole = re.search(r"\* 255|127\.5|saturate_cast|uint8", source.code) is not None
        if peak == 255 and unit and not whole:
            return at(source, call, "the pictures go from 0 to 1, and this takes them to go to 255")
    return None


def scores_into_metric_of_chances(source: Script) -> Finding | None:
    """`auc.update_state(y, z)` of `keras.metrics.AUC()`, where `z` comes out of a layer as it is."""
    mine = flow(source)
    for call in source.named("update_state"):
        if len(call.args) < 2 or not isinstance(call.func, ast.Attribute):
            continue
        made = [v for v in mine.values(call.func.value, 4) if isinstance(v, ast.Call)]
        kind = last_name(made[0].func) if len(made) == 1 else ""
        if kind not in _OF_CHANCES or kind in source.classes:
            continue
        if {k.arg for k in made[0].keywords} & {"from_logits", "threshold", "thresholds", None}:
            continue
        if unparse(made[0].func).split(".")[0] in _KERAS and last_layer_of(mine, call.args[1]) == "linear":
            return at(source, call, f"`{kind}` takes chances, and gets raw outputs of the last layer")
    return None
