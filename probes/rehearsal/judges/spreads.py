"""Variational models: whether the codes that are drawn and the divergence speak of one and the same spread.

A code is a mean and a drawn number times a spread. Both are measured (see `meaning`): the spread as the slope
of the code along what is drawn, the divergence as what the loss does with the mean and with the value that
the spread is made of. Of a Gaussian against the standard one these have to fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ..journal import Backward
from ..machine import Machine
from ..meaning import Leaf, Meaning, all_parts, parts_of
from ..values import Tensor
from .verdict import Verdict

NORMAL = ("randn", "randn_like", "normal", "standard_normal", "random_normal", "StandardNormal")
EVEN = ("rand", "rand_like", "uniform", "random", "random_uniform", "UniformReal")
_GRID = (-1.0, -0.3, 0.4, 1.0)
_NEAR = 0.02
MOST = 60  # sums in a loss that are looked at


@dataclass(eq=False)
class Code:
    """A code that is drawn: what its mean and its spread are made of."""

    tensor: Tensor
    meaning: Meaning
    draw: Any
    mean: Any
    spread: Any

    def width(self, value: float) -> float:
        """The spread where what it is made of has this value."""
        return self.meaning.slope(self.draw, {self.spread: value, self.draw: 0.0})


def _open(leaf: Leaf) -> bool:
    return leaf.answer is not None


def codes(loss: Tensor) -> Iterator[Code]:
    """The codes that a loss is made of."""
    sums = (t for t in all_parts(loss) if t.how is not None and t.how.name in ("add", "iadd", "sub"))
    for one in islice(sums, MOST):
        meaning = Meaning(one, _open)
        draws = [k for k, leaf in list(meaning.leaves.items()) if leaf.name in NORMAL + EVEN]
        if len(draws) != 1 or meaning.hidden or draws[0] not in meaning.leaves:
            continue
        rest = [k for k in meaning.leaves if k != draws[0]]
        still = {k: meaning.slope(k, {draws[0]: 0.0}) for k in rest}
        apart = {k: meaning.slope(k, {draws[0]: 1.0}) - s for k, s in still.items()}
        means = [k for k, s in still.items() if abs(s - 1) < 1e-6 and abs(apart[k]) < 1e-6]
        spreads = [k for k in rest if abs(apart[k]) > 1e-6 and abs(still[k]) < 1e-6]
        if len(rest) == 2 and len(means) == len(spreads) == 1:
            yield Code(one, meaning, draws[0], means[0], spreads[0])


_FORMS: tuple[Callable[[float], float], ...] = (
    lambda v: 0.5 * (math.exp(v) - v),  # of the logarithm of the variance
    lambda v: 0.5 * math.exp(2 * v) - v,  # of the logarithm of the deviation
)


def _divergence(meaning: Meaning, mean: Any, spread: Any) -> tuple[float, list[float]] | None:
    """The weight of the squared mean in a loss, and what the loss comes to along the spread's value."""
    if mean in meaning.hidden or spread in meaning.hidden or not {mean, spread} <= set(meaning.leaves):
        return None
    along = [meaning.at({mean: 0.0, spread: v}) for v in _GRID]
    weight = 2 * (meaning.at({mean: 1.0, spread: _GRID[0]}) - along[0])
    if any(a != a for a in along) or weight != weight or max(along) - min(along) < 1e-9:
        return None
    return weight, [a - along[0] for a in along]


def _fits(weight: float, along: list[float], form: Callable[[float], float]) -> bool:
    told = [weight * (form(v) - form(_GRID[0])) for v in _GRID]
    scale = max(abs(weight), *(abs(t) for t in told))
    return all(abs(a - t) < _NEAR * scale for a, t in zip(along, told, strict=True))


# What holds terms above a least value: `torch.clamp(divergence, min=free_bits)` is level where it is small
_ENDS = ("clamp", "clip", "clamp_min", "clip_by_value", "max", "maximum", "relu", "softplus", "where")


def spread_and_divergence(machine: Machine) -> Iterator[Verdict]:
    """The divergence is that of another spread than the codes are drawn with, or is no divergence."""
    for event in {e.node: e for e in machine.journal.of(Backward)}.values():
        if not isinstance(event.loss, Tensor):
            continue
        found = list(codes(event.loss))
        if len(found) != 1:
            continue
        code, whole = found[0], Meaning(event.loss, _open)
        told = _divergence(whole, code.mean, code.spread)
        if told is None:
            continue
        if code.meaning.leaves[code.draw].name in EVEN:
            why = "the code is drawn from a uniform distribution, and the divergence is that of a normal one"
            yield Verdict("spread-otherwise", event.node, why)
            return
        weight, along = told
        if abs(weight) < 1e-9:
            continue
        widths = [code.width(v) for v in _GRID]
        mine = _of_widths(widths)
        if weight > 0 and mine is not None and _fits_numbers(weight, along, mine):
            return
        form = any(_fits(weight, along, f) for f in _FORMS)
        if weight < 0 and any(_fits(weight, along, f) for f in _FORMS):
            yield Verdict(
                "divergence-turned", event.node, "the loss falls as the divergence of the codes grows"
            )
        elif form:
            why = "the codes are drawn with another spread than the divergence takes for theirs"
            yield Verdict("spread-otherwise", event.node, why)
        elif not any(p.how is not None and p.how.name.rstrip("_") in _ENDS for p in parts_of(event.loss)):
            why = "the divergence is not least where the codes have mean nought and spread one"
            yield Verdict("divergence-turned", event.node, why)
        return


def _of_widths(widths: list[float]) -> list[float] | None:
    if any(w <= 0 for w in widths):
        return None
    held = [0.5 * w * w - math.log(w) for w in widths]
    return [h - held[0] for h in held]


def _fits_numbers(weight: float, along: list[float], told: list[float]) -> bool:
    scale = max(weight, *(abs(weight * t) for t in told))
    return all(abs(a - weight * t) < _NEAR * scale for a, t in zip(along, told, strict=True))


def never_drawn(machine: Machine) -> Iterator[Verdict]:
    """A loss has the divergence of codes, and nothing that is drawn goes into it: the mean is decoded."""
    for event in {e.node: e for e in machine.journal.of(Backward)}.values():
        if not isinstance(event.loss, Tensor):
            continue
        parts = list(all_parts(event.loss))
        if any(t.drawn or (t.how is not None and _perhaps_drawn(t.how.name)) for t in parts):
            continue
        whole = Meaning(event.loss, _open)
        layers = [k for k, leaf in whole.leaves.items() if k not in whole.hidden and leaf.name[:1].isupper()]
        for spread in layers if len(layers) <= 6 else ():
            for mean in layers:
                told = _divergence(whole, mean, spread) if mean != spread else None
                if told is not None and told[0] > 1e-9 and any(_fits(*told, f) for f in _FORMS):
                    why = (
                        "the loss has the divergence of codes, and none is drawn: their mean alone is decoded"
                    )
                    yield Verdict("code-not-drawn", event.node, why)
                    return


def _perhaps_drawn(name: str) -> bool:
    return any(
        w in name.lower()
        for w in ("sampl", "draw", "rand", "noise", "normal", "unknown", "reparam", "lambda")
    )
