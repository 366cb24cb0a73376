"""What makes a total of a loss go its own way: terms taken off, weights that grow, values added up."""

from __future__ import annotations

import re

import numpy as np

from ..run import Floats, Run
from ..settings import last_part, number
from . import situation, stats
from .shapes import Shape, shape

# A term that is added or taken off with a weight of its own: an entropy, a diversity, an adversary
_WEIGHED = re.compile(
    r"(?:^|_)(?:ent|entropy|diversity|confidence_penalty|mutual_info|mi|adv|adversarial|gan|kl)"
    r"_(?:weight|coeff?|coefficient|lambda|reg|beta|w)$"
    r"|^(?:lambda|lam|alpha|beta|weight|w|coef)_(?:ent|entropy|diversity|adv|gan|kl|mi)$"
)
_CLASS_WEIGHTS = re.compile(r"^(?:pos_weights?|class_weights?|scale_pos_weight|label_weights?)$")


def weighed_term(run: Run) -> str | None:
    """The setting that weighs a further term of the loss, which may lie below zero; else None."""
    for setting in run.raw_settings:
        if _WEIGHED.search(last_part(setting.key)) and number(setting.value):
            return f"{setting.key} = {setting.value}"
    return None


def weighed_classes(run: Run) -> str | None:
    """The setting that weighs classes, so that a guess costs more than its logarithm."""
    for setting in run.raw_settings:
        heavy = (
            setting.value
            if not isinstance(setting.value, tuple)
            else max(map(_size, setting.value), default=0)
        )
        if _CLASS_WEIGHTS.match(last_part(setting.key)) and heavy not in (None, False, "", "none", 1, 1.0):
            return f"{setting.key} = {setting.value}"
    return None


def _size(value: object) -> float:
    return number(value) or 0.0


def of_other_scale(train: Shape, held: Shape) -> float | None:
    """By what the evaluation loss is a multiple of the training loss, where both fall far and together."""
    if not (train.positive and held.positive) or train.series.unit != held.series.unit or held.count < 4:
        return None
    logs = np.log(held.y / np.maximum(np.interp(held.x, train.sx, train.sy), 1e-300))
    if min(train.progress, held.progress) < 0.6 or float(np.min(logs)) < np.log(8) or np.ptp(logs) > 1:
        return None
    return float(np.exp(np.median(logs)))


def adds_up(values: Floats) -> bool:
    """Whether values are a sum over all that came before: each adds about as much as the first, or less.

    So count gensim, and programs that never set their sum back. What runs away adds more and more; what only
    rises to another level adds ever less, and nothing in the end.
    """
    y = values[np.isfinite(values)]
    if len(y) < 6 or y[0] <= 0:
        return False
    steps = np.diff(y)
    if float(np.min(steps)) <= 0 or not 0.4 <= y[0] / steps[0] <= 2.5:
        return False
    return bool(np.max(steps) <= 1.5 * y[0] and np.median(steps[len(steps) // 2 :]) >= 0.05 * y[0])


def terms_stay(run: Run, curve: Shape, since: float) -> bool:
    """Whether the total rises by weights alone: several terms were logged, and none rises from a step on."""
    terms = [s for s in situation.terms(run).values() if s.unit == curve.series.unit]
    shapes = [s for s in map(shape, terms) if s is not None and s.count >= 5]
    if len(shapes) < 2 or len(shapes) < len(terms):
        return False
    for term in shapes:
        after = term.y[term.x >= since]
        if len(after) < 3:
            return False
        margin = max(0.02 * abs(float(np.median(after))), 3 * stats.noise(term.y))
        if term.end.value - float(np.median(after[:3])) > margin:
            return False
    return True
