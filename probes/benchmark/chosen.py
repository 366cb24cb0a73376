"""Sizes that somebody chose: a wider model or more samples, where the run ends no worse for it.

Two runs of one program with other sizes are no port that went wrong. They may be two experiments, and their
sizes are then a fault of neither.
"""

from __future__ import annotations

from ...engine.model import State
from ..registry import View
from .both import Both, both_numbers
from .end import final_metric_below

SIZES = frozenset(("hidden_size", "num_layers", "num_heads", "intermediate_size", "embedding_size"))
_MORE = frozenset(("train_samples",))
_WORSE = 0.02  # of a share, twice of an error: what is taken for worse at the end


def by_choice(view: View, differ: list[Both]) -> bool:
    """Whether only sizes of the model or a larger training set differ, and held-out data end no worse."""
    if not differ or not all(_is_size(found) for found in differ):
        return False
    evaluated = any(name.startswith(("eval/", "test/")) for name in view.run.series)
    return evaluated and final_metric_below(view, _WORSE).state is State.ABSENT


def _is_size(found: Both) -> bool:
    key, values = found[0].key, both_numbers(found)
    return values is not None and (key in SIZES or (key in _MORE and values[0] > values[1]))
