"""A column of numbers in two units: the same distribution twice, one round factor apart."""

from __future__ import annotations

import numpy as np

from .model import Column

LEAST = 20  # values in the smaller of the two units
SHARE = 0.01
FAR = 1000.0
DISTINCT = 10  # different values in each
# Metres, centimetres, millimetres and inches; shares and percent; seconds, minutes, hours and milliseconds.
FACTORS = (10.0, 25.4, 60.0, 100.0, 1000.0, 3600.0, 1e4, 1e6, 1e9)
_AT = (0.1, 0.25, 0.5, 0.75, 0.9)
_STEPS = 64  # gaps that are tried


def factor_of(column: Column) -> tuple[float, float] | None:
    """Return (factor, share of the values in the larger unit) of a column in two units, or None.

    All values are of one sign. They fall into two groups with a gap between them that is wider than half of
    the factor (of logarithms), and the quantiles of one are those of the other times the factor.
    """
    values = np.sort(np.abs(column.values))
    if not column.number or len(values) < 2 * LEAST or not (column.low > 0 or column.high < 0):
        return None
    logs = np.log(values)
    gaps = np.diff(logs)
    at = int(np.argmax(gaps))
    below, above = logs[: at + 1], logs[at + 1 :]
    few = min(len(below), len(above))
    if few < max(LEAST, SHARE * len(logs)) or gaps[at] < 1.0:
        return None
    if min(len(np.unique(below)), len(np.unique(above))) < DISTINCT:
        return None
    apart = float(np.median(above) - np.median(below))
    factor = min(FACTORS, key=lambda f: abs(apart - np.log(f)))
    if gaps[at] < 0.5 * np.log(factor):
        return None
    low, high = np.quantile(below, _AT), np.quantile(above, _AT)
    spread = float(max(np.ptp(low), np.ptp(high)))
    # Four standard errors of a median: 1.25 deviations over the root of the count.
    doubt = 4 * 1.25 * (spread / 2.56) / np.sqrt(few) + 0.005
    # A gap of half of a factor of a thousand and more is none that values of one unit have.
    if doubt > (0.12 if factor < FAR else 0.25) or np.abs(high - low - np.log(factor)).max() > 2 * doubt:
        return None
    return factor, len(above) / len(logs)
