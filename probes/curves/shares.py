"""Metrics that are shares of a whole: what no share can be."""

from __future__ import annotations

import numpy as np

from ..assembly import names
from ..run import Series


def beyond_whole(series: Series) -> bool:
    """Whether a share has values above 100, which it can be in no unit: whatever they are, it is no share.

    Two such points and a fifth of all, so that one damaged line does not cost a curve.
    """
    quantity = names.base(series.name)
    if quantity is None or not quantity.fraction:
        return False
    above = series.values[np.isfinite(series.values)] > 100.5
    return int(np.sum(above)) >= 2 and float(np.mean(above)) >= 0.2
