"""A smaller learning rate than the benchmark's, together with a worse result."""

from __future__ import annotations

from ...engine.model import State
from ..registry import Finding, View, absent, present, probe, unknown
from .both import both, both_numbers, both_rates
from .end import final_loss_above, final_metric_below
from .rates import rate_below


@probe("benchmark")
def rate_below_and_worse(view: View, ratio: float, absolute: float, relative: float) -> Finding:
    """The rate per sample is the benchmark's divided by `ratio` or less, and loss or metric end worse.

    `absolute` of the metric, `relative` of the loss as in `final_metric_below` and `final_loss_above`. A
    smaller rate that ends as well, by longer training or because the model does not mind, is no fault.
    """
    below = rate_below(view, ratio, 1.0)
    if below.state is not State.PRESENT:
        return below
    batch = both_numbers(both(view, "global_batch_size"))
    lr = both_numbers(both_rates(view))
    if batch is None or lr is None or min(*batch, *lr) <= 0:
        return unknown("the learning rate or the batch size of one side is not known")
    factor = min(lr[1] / lr[0], (lr[1] / batch[1]) / (lr[0] / batch[0]))
    if factor < ratio:
        return absent("the learning rate follows the batch size", value=factor, threshold=ratio)
    metric, loss = final_metric_below(view, absolute), final_loss_above(view, relative)
    end = loss if metric.state is State.UNKNOWN else metric
    if end.state is State.UNKNOWN:
        return unknown(f"{below.why}; which side ends better is not known")
    if end.state is State.ABSENT:
        return absent(f"{below.why}; it ends as well", value=factor, threshold=ratio)
    return present(f"{below.why}; {end.why}", value=factor, threshold=ratio, where=below.where)
