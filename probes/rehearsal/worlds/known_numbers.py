"""What functions of arrays come to, where all that they are given is known as numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...made_numbers.arrays import SAME, Pair, of_arrays
from ..values import Tensor

Named = dict[str, Any]
LARGEST = 100_000  # items of an array


def computed(name: str, given: list[Any], named: Named) -> Any:
    """What a function of arrays comes to, or None where a value is not known or the function is not."""
    plain = [plain_of(g) for g in given]
    keys = {k: plain_of(v) for k, v in named.items() if k not in ("device", "dtype", "non_blocking")}
    if name not in SAME and any(p is None and g is not None for p, g in zip(plain, given, strict=True)):
        return None
    if (plain and plain[0] is None) or any(v is None and named[k] is not None for k, v in keys.items()):
        return None
    try:
        found = of_arrays(name, plain, keys, places=True)
    except Exception:
        return None
    return found if isinstance(found, (np.ndarray, np.generic, int, float, Pair)) else None


def by_numpy(name: str, given: list[Any], named: Named) -> Any:
    """What a function of numpy gives, or None."""
    plain = [plain_of(g) for g in given]
    keys = {k: plain_of(v) for k, v in named.items() if k not in ("device", "dtype")}
    if any(p is None for p in plain) or any(v is None for v in keys.values()):
        return None
    name = {"cat": "concatenate"}.get(name, name)
    keys = {"axis" if k == "dim" else k: v for k, v in keys.items()}
    if name in ("repeat", "tile") and any(np.size(p) * np.size(plain[0]) > LARGEST for p in plain[1:]):
        return None
    try:
        return getattr(np, name)(*plain, **keys)
    except Exception:
        return None


def plain_of(value: Any) -> Any:
    """A value as numbers, or None."""
    if isinstance(value, Tensor):
        return value.number
    if isinstance(value, (list, tuple)):
        held = [plain_of(v) for v in value]
        return None if any(h is None for h in held) else type(value)(held)
    return value if isinstance(value, (bool, int, float, str, np.ndarray, range)) else None


def cuts_nothing(name: str, bounds: list[Any]) -> bool:
    """Whether a bound is lost in single precision: `1 - 1e-9` is 1 there."""
    if name not in ("clamp", "clip", "clip_by_value"):
        return False
    return any(isinstance(b, float) and b < 1 and float(np.float32(b)) == 1 for b in bounds)
