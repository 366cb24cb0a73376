"""Random orders and choices in a rehearsal: concrete ones, other ones each time they are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...scripts.bounds import MOST_ITEMS
from ..expressions import doubtful
from ..libraries import Call, function, method
from ..values import Tensor, Unknown
from .frames import seeded
from .known_numbers import LARGEST
from .tensors import ARRAYS, anything

if TYPE_CHECKING:
    from ..machine import Machine


class Generator:
    """A source of random numbers: `random.Random(0)`, `np.random.default_rng(0)`; a seed gives them again."""

    def __init__(self, random: np.random.Generator | None = None) -> None:
        self.random = random

    def draw(self, machine: Machine) -> np.random.Generator:
        """Its next numbers; without a seed those of the program."""
        return machine.draw() if self.random is None else self.random


@function("default_rng", "RandomState", "Random", "SystemRandom", of=("numpy.random.", "random."))
def _generator(call: Call) -> Any:
    seed = call.given[0] if call.given else call.named.get("seed")
    return Generator(None if seed is None else seeded(call.machine, seed))


@method(Generator, "*")
def _of_generator(call: Call) -> Any:
    name = call.callee.name
    owner: Generator = call.callee.owner
    if name == "permutation":
        return permuted(call.machine, call.given, owner.draw(call.machine))
    if name == "shuffle":
        return _shuffled(call)
    if name in ("sample", "choice", "choices"):
        return _chosen(call)
    if name in ("seed", "setstate", "set_state"):
        return None
    held = anything(call.machine, name, call.given, call.named, call.node)
    return Unknown(name) if held is NotImplemented else held


@function("permutation", "randperm", of=ARRAYS)
def _permuted(call: Call) -> Any:
    return permuted(call.machine, call.given)


def permuted(machine: Machine, given: list[Any], random: np.random.Generator | None = None) -> Any:
    """Places in a drawn order."""
    random = random or machine.draw()
    held = given[0] if given else None
    if isinstance(held, int) and 0 <= held <= LARGEST:
        return Tensor(number=random.permutation(held), drawn=True)
    if isinstance(held, range) and len(held) > LARGEST:
        return Tensor(drawn=True)
    if isinstance(held, (list, tuple, range)) and all(isinstance(h, (int, float)) for h in held):
        held = Tensor(number=np.asarray(list(held)))
    if isinstance(held, list):
        return [held[i] for i in random.permutation(len(held))]
    if isinstance(held, Tensor):
        made = held.like(number=held.number, drawn=True)
        shuffle(random, made)
        return made
    return Tensor(drawn=True, done=("permutation",))


@function("shuffle", of=("random.", "numpy.random."))
def _shuffled(call: Call) -> Any:
    held = call.given[0] if call.given else None
    if isinstance(held, list):
        held[:] = [held[i] for i in _source(call).permutation(len(held))]
    elif isinstance(held, Tensor):
        shuffle(_source(call), held)
    return None


def _source(call: Call) -> np.random.Generator:
    """Where a call draws from."""
    owner = getattr(call.callee, "owner", None)
    return owner.draw(call.machine) if isinstance(owner, Generator) else call.machine.draw()


def shuffle(random: np.random.Generator, held: Tensor) -> None:
    """Put an array's rows into a drawn order, in place."""
    whole = held.number if isinstance(held.number, np.ndarray) and held.number.ndim else held.rows
    if whole is not None and len(whole):
        order = random.permutation(len(whole))
        number = held.number[order] if isinstance(held.number, np.ndarray) and held.number.ndim else None
        rows = held.rows[order] if held.rows is not None and len(held.rows) == len(order) else held.rows
        held.become(held.then("shuffled", rows=rows, number=number))


@function("sample", "choices", "choice", of=("random.", "numpy.random."))
def _chosen(call: Call) -> Any:
    held = call.given[0] if call.given else None
    if isinstance(held, Tensor) and isinstance(held.number, np.ndarray) and held.rows is None:
        held = held.number.tolist() if held.number.ndim == 1 else None
    array = not isinstance(held, (list, tuple))
    if isinstance(held, int) and 0 < held <= LARGEST:
        asked = call.given[1] if len(call.given) > 1 else call.named.get("size")
        if isinstance(asked, int) and asked > held:  # over and over: classes of samples, not a part of a set
            return anything(call.machine, "integers", [0, held, asked], {}, call.node)
        held = list(range(held))
    if not isinstance(held, (list, tuple, range)) or not held:
        found = list(call.machine.tensors([held]))
        return found[0].then("chosen", vague=True) if found else Unknown(call.callee.name)
    count = call.given[1] if len(call.given) > 1 else call.named.get("k", call.named.get("size"))
    if count is None and call.callee.name.rpartition(".")[2] == "choice":
        return doubtful(held[0])
    count = min(count, len(held)) if isinstance(count, int) else max(len(held) // 2, 1)
    if len(held) > LARGEST:
        places = _source(call).choice(len(held), size=min(count, MOST_ITEMS), replace=False)
    else:
        places = _source(call).permutation(len(held))[:count]
    drawn = [held[int(i)] for i in places]
    plain = array and all(isinstance(d, (int, float)) for d in drawn)
    return Tensor(number=np.asarray(drawn), drawn=True) if plain else drawn
