"""Checks of scripts taken together by what they point to: present where any of them is.

One cause has many faces in code, and a script shows one of them: what else is absent says nothing against it.
"""

from __future__ import annotations

from .code_model import deep_without_normalisation
from .code_path import gradient_path_cut
from .code_schedule import (
    formula_wrong,
    plateau_direction,
    rate_not_applied,
    unit_wrong,
)
from .code_step import scheduler_never_stepped, scheduler_wrong_loop
from .code_wiring import (
    blocks_without_norm,
    layer_unused,
    norm_is_identity,
    norm_unused,
    stream_replaced,
    value_unused,
)
from .registry import Finding, View, any_of, probe


@probe()
def wiring_wrong(view: View) -> Finding:
    """The model is wired otherwise than designed: a branch left out, a stream replaced, the way back cut."""
    return any_of(look(view) for look in (stream_replaced, value_unused, layer_unused, gradient_path_cut))


@probe()
def norm_missing(view: View, *, layers: int) -> Finding:
    """Normalisation that the model should have is missing or has no effect."""
    return any_of(
        (
            norm_unused(view),
            norm_is_identity(view),
            blocks_without_norm(view),
            deep_without_normalisation(view, layers=layers),
        )
    )


@probe()
def schedule_wrong(view: View) -> Finding:
    """The schedule of the learning rate has a wrong length, formula or direction, or is never applied."""
    return any_of(
        look(view)
        for look in (
            unit_wrong,
            scheduler_wrong_loop,
            formula_wrong,
            plateau_direction,
            rate_not_applied,
            scheduler_never_stepped,
        )
    )
