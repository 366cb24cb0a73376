"""Networks that learn to take noise away: what is mixed into their input, and what their answer is held to.

The input is a share of a sample and a share of what is drawn from a normal distribution. The shares are
measured (see `meaning`), as is what the loss is made of beside the answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..journal import Asked, Backward
from ..machine import Machine
from ..meaning import ANSWER, Leaf, Meaning, all_parts, key_of
from ..values import Tensor, Unknown
from .spreads import EVEN, NORMAL
from .verdict import Verdict

_SLIGHT = 1e-6
_NEAR = 0.01
_LEVEL = 0.4
_MOVED = ("to", "long", "view", "reshape", "squeeze", "unsqueeze", "float", "int")


@dataclass(eq=False)
class Noising:
    """One noised input of a network and the loss of its answer."""

    event: Backward
    asked: Asked
    loss: Meaning
    input: Meaning
    drawn: Leaf
    sample: Any  # the leaf that stands for the sample
    levels: list[Any]  # leaves that the shares hang on

    def shares(self, level: float | None = None) -> tuple[float, float]:
        """The shares of the sample and of the noise, at one level of noise."""
        given = dict.fromkeys(self.levels, level) if level is not None else {}
        return self.input.slope(self.sample, given), self.input.slope(self.drawn.key, given)


def _answers(loss: Meaning) -> list[Leaf]:
    return [leaf for k, leaf in list(loss.leaves.items()) if leaf.name == ANSWER and k not in loss.hidden]


def _noisings(machine: Machine) -> Iterator[Noising]:
    for event in {e.node: e for e in machine.journal.of(Backward)}.values():
        if not isinstance(event.loss, Tensor) or event.guessed:
            continue
        loss = Meaning(event.loss)
        answers = _answers(loss)
        if len(answers) != 1 or abs(loss.slope(answers[0].key)) < _SLIGHT:
            continue
        asked = answers[0].answer
        given = [g for g in asked.given if isinstance(g, Tensor)]
        if len([g for g in asked.given if isinstance(g, (Tensor, Unknown))]) < 2 or not given:
            continue  # no network that takes noise away is left without the time
        for one in given[:1]:
            noising = _mixture(event, asked, loss, one)
            if noising is not None:
                yield noising


def _mixture(event: Backward, asked: Asked, loss: Meaning, one: Tensor) -> Noising | None:
    made = Meaning(one)
    draws = [leaf for leaf in list(made.leaves.values()) if leaf.name in (*NORMAL, *EVEN)]
    live = [leaf for leaf in draws if abs(made.slope(leaf.key)) > _SLIGHT]
    if len(live) != 1 or made.hidden:
        return None
    drawn, shares = live[0], {}
    for key in list(made.leaves):
        if key == drawn.key:
            continue
        here, there = made.slope(key, {drawn.key: 0.0}), made.slope(key, {drawn.key: 1.0})
        if abs(here) > _SLIGHT and abs(here - there) < _SLIGHT and _is_straight(made, key, drawn.key):
            shares[key] = here
    if len(shares) != 1:
        return None
    sample = next(iter(shares))
    levels = [
        k
        for k in list(made.leaves)
        if k not in (sample, drawn.key) and abs(made.slope(k, {sample: 0.0, drawn.key: 1.0})) > _SLIGHT
    ]
    return Noising(event, asked, loss, made, drawn, sample, levels) if levels else None


def _is_straight(made: Meaning, key: Any, drawn: Any) -> bool:
    ends = [made.slope(key, {drawn: 0.0, key: v}) for v in (0.1, 0.9)]
    return abs(ends[0] - ends[1]) < 1e-5


def target_otherwise(machine: Machine) -> Iterator[Verdict]:
    """The answer is held to the noised input itself, or to noise that is not in the input."""
    for one in _noisings(machine):
        loss = one.loss
        level = dict.fromkeys(one.levels, _LEVEL)
        on_noise = -loss.slope(one.drawn.key, level) if one.drawn.key in loss.leaves else 0.0
        on_sample = -loss.slope(one.sample, level) if one.sample in loss.leaves else 0.0
        others = [
            leaf
            for k, leaf in list(loss.leaves.items())
            if leaf.name in NORMAL and k != one.drawn.key and abs(loss.slope(k)) > _SLIGHT
        ]
        if loss.hidden & {one.drawn.key, one.sample}:
            continue
        mine, noise = one.shares(_LEVEL)
        if abs(on_noise) < _SLIGHT and abs(on_sample) < _SLIGHT and others:
            why = "the noise that the answer is held to is drawn anew, and is not that in the input"
            yield Verdict("noise-otherwise", one.event.node, why)
        elif abs(on_noise) > _SLIGHT and abs(on_sample) > _SLIGHT and mine * noise:
            if abs(on_noise / on_sample - noise / mine) < _NEAR * abs(noise / mine):
                why = "the answer is held to the noised input, which the network is given"
                yield Verdict("noise-target", one.event.node, why)


_LEVELS = (0.05, 0.3, 0.6, 0.95)


def added_back(machine: Machine) -> Iterator[Verdict]:
    """A network answers with the noise in its input, and drawing samples adds its answers to them.

    Told where the sum of its answers raises the next input whatever the levels of noise are.
    """
    nets = {_kind(one.asked) for one in _noisings(machine) if _tells_noise(one)}
    for ask in machine.asks.values() if nets else ():
        x = ask.given[0] if ask.given and _kind(ask) in nets and not ask.graph else None
        if not isinstance(x, Tensor):
            continue
        made = Meaning(x)
        mine = [k for k, x in list(made.leaves.items()) if x.answer is not None and _kind(x.answer) in nets]
        rest = [k for k in made.leaves if k not in mine]
        if not mine or set(mine) & made.hidden or len(rest) > 8:
            continue
        totals = []
        for turn in range(3 * len(_LEVELS)):
            at = {k: _LEVELS[(turn * (i + 1) + i * (turn // 4)) % len(_LEVELS)] for i, k in enumerate(rest)}
            totals.append(sum(made.slope(k, at) for k in mine))
        if all(t > _SLIGHT for t in totals):
            why = "what the network takes for noise is added to the samples, where it should be taken away"
            yield Verdict("noise-added", ask.node, why)
            return


def _kind(asked: Asked) -> Any:
    """A network or a copy of it, which is of the same class."""
    return asked.net.kind.node if asked.net.kind is not None else id(asked.net)


def _tells_noise(one: Noising) -> bool:
    loss = one.loss
    on_noise = -loss.slope(one.drawn.key) if one.drawn.key in loss.leaves else 0.0
    on_sample = -loss.slope(one.sample) if one.sample in loss.leaves else 0.0
    return abs(on_noise) > _SLIGHT and abs(on_sample) < _SLIGHT and not loss.hidden


def nothing_noised(machine: Machine) -> Iterator[Verdict]:
    """The answer is held to what is drawn, and nothing of that went into the input."""
    for event in {e.node: e for e in machine.journal.of(Backward)}.values():
        if not isinstance(event.loss, Tensor) or event.guessed:
            continue
        loss = Meaning(event.loss)
        answers = _answers(loss)
        drawn = [k for k, x in list(loss.leaves.items()) if x.name in NORMAL and abs(loss.slope(k)) > _SLIGHT]
        if len(answers) != 1 or len(drawn) != 1 or drawn[0] in loss.hidden or loss.hidden:
            continue
        if {k for k in loss.leaves if k != drawn[0] and abs(loss.slope(k)) > _SLIGHT} != {answers[0].key}:
            continue
        asked = answers[0].answer
        inside = {key_of(t) for t in all_parts(list(asked.given))}
        if len(asked.given) > 1 and drawn[0] not in inside and not _perhaps(asked.given):
            why = "the answer is held to noise, and the network is given samples without any of it"
            yield Verdict("noise-otherwise", event.node, why)


def _perhaps(given: list[Any]) -> bool:
    return any(t.drawn for t in all_parts(list(given)) if t.how is None or t.how.name in NORMAL)


def shares_otherwise(machine: Machine) -> Iterator[Verdict]:
    """Shares of sample and noise whose squares do not add up to one, or that stand the wrong way round."""
    for one in _noisings(machine):
        points = [one.shares(v) for v in (0.2, 0.5, 0.8)]
        if any(a != a or b != b for a, b in points) or one.input.leaves[one.drawn.key].name in EVEN:
            continue
        squares, sums = [a * a + b * b for a, b in points], [a + b for a, b in points]
        moving = abs(points[0][0] - points[2][0]) > _NEAR and abs(points[0][1] - points[2][1]) > _NEAR
        if not moving or len(one.levels) != 1:
            continue
        whole = all(abs(s - 1) < _NEAR for s in squares)
        straight = all(abs(s - 1) < _NEAR for s in sums)
        both = [
            k
            for k in (one.drawn.key, one.sample)
            if k in one.loss.leaves and abs(one.loss.slope(k)) > _SLIGHT
        ]
        table = _table(one.input.leaves[one.levels[0]].value)
        if straight and len(both) == 1 and table is not None:
            why = "the shares of sample and noise add up to one as they are: their squares should"
            yield Verdict("noise-shares", one.event.node, why)
        elif whole and table is not None and _multiplied(table) and points[0][0] > points[2][0]:
            why = "the shares of sample and noise are exchanged: what is multiplied up is left of the sample"
            yield Verdict("noise-shares", one.event.node, why)


def _table(value: Any) -> Any:
    """What a level is a part of: `bar[t]`."""
    for _ in range(20):
        how = getattr(value, "how", None)
        if how is None:
            return None
        if how.name == "part" and len(how.given) == 2 and isinstance(how.given[1], (Tensor, Unknown)):
            return how.given[0]
        if how.name in ("gather", "take", "index_select"):
            return how.given[0]
        value = next((g for g in how.given if isinstance(g, Tensor)), None)
    return None


def _multiplied(table: Any) -> bool:
    for _ in range(20):
        how = getattr(table, "how", None)
        if how is None:
            return False
        if how.name == "cumprod":
            return True
        table = next((g for g in how.given if isinstance(g, Tensor)), None)
    return False


def even_noise(machine: Machine) -> Iterator[Verdict]:
    """The noise is drawn evenly between nought and one, and its shares are those of normal noise."""
    for one in _noisings(machine):
        if one.input.leaves[one.drawn.key].name not in EVEN or len(one.levels) != 1:
            continue
        points = [one.shares(v) for v in (0.2, 0.5, 0.8)]
        if all(abs(a * a + b * b - 1) < _NEAR for a, b in points):
            why = "the noise is drawn evenly between nought and one, and a normal distribution is meant"
            yield Verdict("noise-otherwise", one.event.node, why)


def time_untold(machine: Machine) -> Iterator[Verdict]:
    """The network is asked without the step that its input was noised to: it is given another number."""
    for one in _noisings(machine):
        level = one.input.leaves[one.levels[0]].value if len(one.levels) == 1 else None
        step = _index(level)
        if not isinstance(step, Tensor):
            continue
        wanted = key_of(_root(step))
        rest = [g for g in one.asked.given if isinstance(g, (Tensor, Unknown))][1:]
        told = [Meaning(g) for g in rest if isinstance(g, Tensor)]
        if len(told) != len(rest) or not told:
            continue
        live = [
            m for m in told if wanted in m.hidden or (wanted in m.leaves and abs(m.slope(wanted)) > _SLIGHT)
        ]
        if not live and all(not m.hidden for m in told):
            why = "the network is not told the step that its input was noised to"
            yield Verdict("noise-time", one.event.node, why)


def _hangs(made: Meaning, key: Any) -> bool:
    return key in made.leaves and abs(made.slope(key)) > _SLIGHT


def _root(value: Any) -> Any:
    """A value before it was moved, reshaped or put into another format."""
    for _ in range(20):
        how = getattr(value, "how", None)
        if how is None or how.name not in (
            "to",
            "long",
            "view",
            "reshape",
            "squeeze",
            "unsqueeze",
            "float",
            "int",
        ):
            return value
        value = how.given[0]
    return value


def _index(value: Any) -> Any:
    for _ in range(20):
        how = getattr(value, "how", None)
        if how is None:
            return None
        if how.name == "part" and len(how.given) == 2 and isinstance(how.given[1], Tensor):
            return how.given[1]
        value = next((g for g in how.given if isinstance(g, Tensor)), None)
    return None


def steps_left_out(machine: Machine) -> Iterator[Verdict]:
    """Steps are drawn from the first part of the schedule alone."""
    for one in _noisings(machine):
        level = one.input.leaves[one.levels[0]].value
        step, table = _root(_index(level)), _table(level)
        how = getattr(step, "how", None)
        number = getattr(table, "number", None)
        if how is None or how.name not in ("randint", "integers") or not isinstance(number, np.ndarray):
            continue
        plain = [g for g in how.given if isinstance(g, int) and not isinstance(g, bool)]
        high = how.named.get("high", plain[1] if len(plain) > 1 else plain[0] if plain else None)
        if isinstance(high, int) and number.ndim == 1 and high < 0.6 * len(number):
            why = f"steps are drawn from the first {high} of {len(number)} alone"
            yield Verdict("noise-shares", one.event.node, why)
