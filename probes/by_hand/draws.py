"""Random draws of a program that is worked out: the same at each run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .sizes import Unfit, few

_MADE = ("default_rng", "RandomState", "Random", "manual_seed", "Generator", "PRNGKey")


class Source:
    """What draws: `random`, `np.random`, a generator."""

    def __init__(self) -> None:
        self.of = np.random.default_rng(5)

    def draw(self, name: str, given: list[Any], named: dict[str, Any]) -> Any:
        """What a function of a source of randomness gives. Raises Unfit."""
        if name in _MADE:
            return Source()
        if name in ("seed", "set_state"):
            return None
        if name not in _DRAWS:
            raise Unfit
        return _DRAWS[name](self.of, *given, **named)


def _shuffled(of: np.random.Generator, x: Any) -> None:
    if not isinstance(x, (list, np.ndarray)):
        raise Unfit
    order = of.permutation(len(x))
    x[:] = [x[i] for i in order] if isinstance(x, list) else x[order]


def _order(of: np.random.Generator, x: Any, **_: Any) -> Any:
    _sized(x if isinstance(x, int) else len(x))
    return of.permutation(x if isinstance(x, int) else np.asarray(x))


def _sized(*counts: Any) -> None:
    few(math.prod(float(n) for c in counts for n in np.atleast_1d(c)))


def _some(of: np.random.Generator, x: Any, k: int) -> Any:
    items = list(x)
    return [items[i] for i in of.permutation(len(items))[:k]]


def _chosen(of: np.random.Generator, x: Any, size: Any = None, replace: bool = True, **_: Any) -> Any:
    if size is None and isinstance(x, (list, tuple)):
        return x[int(of.integers(len(x)))]
    _sized(1 if size is None else size)
    _sized(x if isinstance(x, int) and not replace else 1)
    return of.choice(x if isinstance(x, int) else np.asarray(x), size, replace)


def _whole(of: Any, low: Any, high: Any = None, size: Any = None) -> Any:
    _sized(1 if size is None else size)
    return of.integers(*((0, low) if high is None else (low, high)), size)


def _shares(of: np.random.Generator, size: Any) -> Any:
    _sized(1 if size is None else size)
    return of.random(size)


_DRAWS: Mapping[str, Callable[..., Any]] = {
    "shuffle": _shuffled,
    "permutation": _order,
    "randperm": _order,
    "sample": _some,
    "choice": _chosen,
    "randint": _whole,
    "integers": _whole,
    "randrange": lambda of, *ends: int(of.integers(*ends)),
    "random": lambda of, size=None: _shares(of, size),
    "rand": lambda of, *sizes: _shares(of, sizes or None),
}
