"""Which parameters train, in scripts: frozen, left out of the optimizer, replaced after it was built."""

from __future__ import annotations

from ...registry import Finding, View, any_of, probe
from ..shared.checks import first
from ..shared.sides import either
from ..tensorflow.graph_gradient import layer_kept
from ..tensorflow.keras_slips import new_layer_untrained
from ..tensorflow.slips import made_untrainable
from ..trainers.lightning_settings import frozen_for_fit
from .frozen import freezes_untrained
from .part import adapters_frozen, held_frozen, optimizer_gets_part


@probe()
def part_not_trained(view: View) -> Finding:
    """Parameters are frozen, or left out of the optimizer.

    Freezing counts where no adapter or linear probe is trained in place of the rest.
    """
    frozen = first(
        view,
        either(
            held_frozen,
            adapters_frozen,
            freezes_untrained,
            layer_kept,
            made_untrainable,
            new_layer_untrained,
            frozen_for_fit,
        ),
        "the scripts show no training step",
    )
    return any_of((optimizer_gets_part(view), frozen))
