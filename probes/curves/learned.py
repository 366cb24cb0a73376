"""Whether a run learned what it was to learn: then no setting at the end of its range kept it from it."""

from __future__ import annotations

import re

import numpy as np

from .. import settings as names
from ..run import Run
from .shapes import shape
from .situation import FRACTIONS, main_loss, metric, reached

FALLS = 0.8  # of the first training loss
NEARLY_ALL = 0.98
ALL = 0.99
GAINS = 0.04  # of the whole fall, in the last quarter
SCORES = 0.85  # of a score between 0 and 1 on held-out data


def learned_well(run: Run, settled: bool = False) -> str:
    """In words, that the training loss falls far and stays there, and that held-out data score well; else "".

    `settled`: over the last quarter it gains next to nothing more.
    """
    loss, held = main_loss(run), metric(run, "eval", FRACTIONS)
    curve = shape(loss) if loss is not None else None
    if curve is None or held is None or curve.count < 10 or not curve.positive or curve.progress < FALLS:
        return ""
    level, values = reached(held), held.values[np.isfinite(held.values)]
    if level < SCORES or len(values) < 3 or curve.end.value > 1.3 * float(np.min(curve.sy)):
        return ""
    before = float(np.median(curve.sy[len(curve.sy) // 2 : 3 * len(curve.sy) // 4]))
    if settled and before - curve.end.value > GAINS * (curve.start.value - curve.end.value):
        return ""
    return f"{curve.name} falls by {curve.progress:.0%}, and {held.name} comes to {level:.3g}"


def learned_by_heart(run: Run) -> str:
    """In words, that next to nothing is left of the training loss, which nothing held back then; else ""."""
    loss = main_loss(run)
    curve = shape(loss) if loss is not None else None
    if curve is None or curve.count < 10 or not curve.positive or curve.progress < NEARLY_ALL:
        return ""
    return f"{curve.name} falls by {curve.progress:.1%} all the same"


def learned_all(run: Run) -> str:
    """In words, that next to nothing is left of the first loss, and that to the end; else ""."""
    loss = main_loss(run)
    curve = shape(loss) if loss is not None else None
    if loss is None or curve is None or curve.count < 10 or not curve.positive:
        return ""
    first, end = float(loss.values[0]), curve.end.value
    if not end <= (1.0 - ALL) * first or end > 1.3 * float(np.min(curve.sy)):
        return ""
    return f"{curve.name} comes from {first:.3g} to {end:.3g} all the same"


_PROMPTS = re.compile(r"(?i)prompt_?tuning|p_?tuning|prefix")
_LAST_LAYER = re.compile(r"(?i)^(?:lin_?cls|linear_?(?:prob(?:e|ing)|eval\w*|classif\w*))$")
_BACKBONE = re.compile(r"(?i)^(?:backbone|encoder|features?|feature_extractor|all_but_head|trunk|body)$")


def trains_little(run: Run) -> str:
    """In words, that a last layer or a few vectors alone are trained, with rates of their own; else ""."""
    for setting in run.raw_settings:
        name, value = names.last_part(setting.key), str(setting.value)
        if name in ("peft_type", "adapter", "finetuning_type", "tuner_type") and _PROMPTS.search(value):
            return f"{setting.key} = {value}: vectors before the input alone are trained"
        probe = _LAST_LAYER.match(name) and setting.value not in (None, False, 0, "")
        named = name in ("mode", "task", "protocol", "evaluation") and _LAST_LAYER.match(value)
        frozen = name.startswith("freeze") and _BACKBONE.match(value)
        if probe or named or frozen:
            return f"{setting.key} = {value}: the last layer alone is trained"
    return ""
