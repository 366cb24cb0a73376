"""What of a tensor is not sound: NaN, infinity, the largest number of its type."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .model import Tensor

LARGEST = {
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "float8_e4m3fn": 448.0,
    "float8_e5m2": 57344.0,
    "float8_e4m3fnuz": 240.0,
    "float8_e5m2fnuz": 57344.0,
}


@dataclass(frozen=True, slots=True)
class Condition:
    """What of a tensor's values is not sound. `saturated`: the largest finite number of its type occurs."""

    known: bool
    nan: bool = False
    up: bool = False
    down: bool = False
    saturated: bool = False
    saturated_down: bool = False
    low: float | None = None
    high: float | None = None

    @property
    def bad(self) -> bool:
        """Whether anything is not sound."""
        return self.nan or self.up or self.down or self.saturated or self.saturated_down

    @property
    def hides(self) -> bool:
        """Only minus infinity (or the most negative number), as masks have it."""
        return (self.down or self.saturated_down) and not (self.nan or self.up or self.saturated)


def condition(tensor: Tensor) -> Condition:
    """Measure one tensor: by its statistics where these are sound, else by its values where it has some."""
    if needs_values(tensor):
        try:
            return _by_values(tensor)
        except (OSError, ValueError):
            pass
    told = tensor.statistics
    if not told.known:
        return Condition(False)
    values = [v for v in (told.min, told.max) if v is not None]
    nan = bool(told.nan) or any(math.isnan(v) for v in values) or _norm_is_nan(tensor)
    if not values and told.norm is not None and not math.isfinite(told.norm):
        return Condition(True, nan=math.isnan(told.norm), up=math.isinf(told.norm))
    up, down = told.max == math.inf or told.min == math.inf, told.min == -math.inf or told.max == -math.inf
    if told.inf and not (up or down):
        up = True
    return _limits(tensor, nan, up, down, told.min, told.max)


def non_finite(tensor: Tensor) -> bool:
    """Whether a tensor holds NaN or infinity."""
    found = condition(tensor)
    return found.nan or found.up or found.down


def needs_values(tensor: Tensor) -> bool:
    """Whether its elements have to be read to tell."""
    return tensor.stored is not None and not _told_sound(tensor)


def _told_sound(tensor: Tensor) -> bool:
    """Finite extremes rule out NaN and infinity: both would show in them."""
    told = tensor.statistics
    if told.nan or told.inf or _norm_is_nan(tensor) or told.min is None or told.max is None:
        return False
    return math.isfinite(told.min) and math.isfinite(told.max)


def _norm_is_nan(tensor: Tensor) -> bool:
    """Some tools leave NaN out of the extremes, but a sum of squares is NaN only if an element is."""
    return tensor.statistics.norm is not None and math.isnan(tensor.statistics.norm)


def _by_values(tensor: Tensor) -> Condition:
    nan = up = down = False
    low, high = math.inf, -math.inf
    for block in tensor.blocks() or ():
        with np.errstate(all="ignore"):
            least, most = float(block.min()), float(block.max())
        if not (math.isfinite(least) and math.isfinite(most)):
            nan = nan or bool(np.isnan(block).any())
            up, down = up or bool((block == np.inf).any()), down or bool((block == -np.inf).any())
            block = block[np.isfinite(block)]
            if not block.size:
                continue
            least, most = float(block.min()), float(block.max())
        low, high = min(low, least), max(high, most)
    return _limits(tensor, nan, up, down, low, high)


def _limits(
    tensor: Tensor, nan: bool, up: bool, down: bool, low: float | None, high: float | None
) -> Condition:
    largest = LARGEST.get(tensor.dtype, math.inf)
    finite = [v for v in (low, high) if v is not None and math.isfinite(v)]
    return Condition(
        True,
        nan,
        up,
        down,
        any(v >= largest for v in finite),
        any(v <= -largest for v in finite),
        low,
        high,
    )
