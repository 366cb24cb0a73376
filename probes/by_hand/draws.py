"""Random draws of a program that is worked out: the same at each run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .arrays import Unfit, checked

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
    return of.permutation(checked(x) if isinstance(x, int) else np.asarray(x))


def _some(of: np.random.Generator, x: Any, k: int) -> Any:
    items = list(x)
    return [items[i] for i in of.permutation(len(items))[:k]]


def _chosen(of: np.random.Generator, x: Any, size: Any = None, replace: bool = True, **_: Any) -> Any:
    if size is None and isinstance(x, (list, tuple)):
        return x[int(of.integers(len(x)))]
    return of.choice(x if isinstance(x, int) else np.asarray(x), size, replace)


_DRAWS: Mapping[str, Callable[..., Any]] = {
    "shuffle": _shuffled,
    "permutation": _order,
    "randperm": _order,
    "sample": _some,
    "choice": _chosen,
    "randint": lambda of, low, high=None, size=None: of.integers(
        *((0, low) if high is None else (low, high)), size
    ),
    "integers": lambda of, low, high=None, size=None: of.integers(low, high, size),
    "randrange": lambda of, *ends: int(of.integers(*ends)),
    "random": lambda of, size=None: of.random(size),
    "rand": lambda of, *sizes: of.random(sizes or None),
}
