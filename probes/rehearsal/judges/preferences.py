"""Losses of preferences: two answers of one network, and which of them is to be likelier than the other.

The loss bends a difference of likelihoods or scores (`logsigmoid`, `softplus`, ...). How it hangs on each is
measured (see `meaning`); what each was asked of is followed back to the fields of the data. With a network
that is held still beside it, each likelihood stands beside its own of the same sequence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..journal import Asked, Backward
from ..machine import Machine
from ..meaning import ANSWER, Meaning, parts_of
from ..values import Bound, Tensor, Unknown, Way
from .verdict import Verdict

_BENDS = frozenset(
    ("logsigmoid", "log_sigmoid", "LogSigmoid", "softplus", "Softplus", "sigmoid", "Sigmoid", "relu", "hinge")
)
_LIKELIHOODS = ("log_softmax", "LogSoftmax", "softmax", "Softmax", "log_prob", "selective_log_softmax")
_BETTER = frozenset(("chosen", "preferred", "winner", "winning", "win", "better", "accepted", "best"))
_WORSE = frozenset(("rejected", "reject", "dispreferred", "loser", "losing", "lose", "worse", "worst"))
_SLIGHT = 1e-6
_POINTS = (-1.7, -0.4, 0.6, 1.9)


@dataclass(eq=False)
class Likelihood:
    """How likely a network takes what it was given to be, or a score of it, in a loss."""

    key: Any
    name: str
    value: Any
    asked: Asked
    slope: float  # no number where its sign is not the same everywhere

    @property
    def learns(self) -> bool:
        """Whether a gradient flows through it."""
        return bool(self.value.deps)

    @property
    def given(self) -> tuple[Any, ...]:
        """The sequences that the network was asked of."""
        return tuple(_which(g) for g in self.asked.given[:1] if g is not None)


def _which(value: Any) -> Any:
    """An entry of a batch of which only the name is known is the same wherever it is asked for."""
    named = isinstance(value, Unknown) and not value.mark and value.key
    return ("entry", value.key) if named else id(value)


def _asked(value: Any) -> Asked | None:
    found = {t.how.given[0].number: t.how.given[0] for t in parts_of(value) if t.how and t.how.name == ANSWER}
    return next(iter(found.values())) if len(found) == 1 else None


@lru_cache(maxsize=64)
def likelihoods(event: Backward) -> tuple[Likelihood, ...]:
    """The likelihoods in a loss of preferences; none where it is another loss."""
    if not isinstance(event.loss, Tensor) or not any(
        t.how is not None and t.how.name in _BENDS for t in parts_of(event.loss)
    ):
        return ()
    meaning = Meaning(event.loss)
    found = []
    for key, leaf in list(meaning.leaves.items()):
        if leaf.name not in (*_LIKELIHOODS, ANSWER) or (leaf.name == ANSWER and key in meaning.hidden):
            continue
        asked = _asked(leaf.value)
        if asked is None:
            return ()
        slopes = [meaning.slope(key), *(meaning.slope(key, _moved(meaning, key, p)) for p in _POINTS)]
        live = [s for s in slopes if abs(s) > _SLIGHT]
        sure = len({s > 0 for s in live}) == 1
        found.append(Likelihood(key, leaf.name, leaf.value, asked, live[0] if sure else 0.0))
    return tuple(found)


def _moved(meaning: Meaning, key: Any, point: float) -> dict[Any, float]:
    """Values of likelihoods around which a slope is measured: this one's, and others of either sign."""
    others = [k for k, x in meaning.leaves.items() if x.name in (*_LIKELIHOODS, ANSWER)]
    return {k: point if k == key else point * (-0.7 if i % 2 else 0.5) for i, k in enumerate(others)}


def _pairs(machine: Machine) -> Iterator[tuple[Backward, list[Likelihood], list[Likelihood]]]:
    """Losses over two answers of the network that learns, and those of what is held still."""
    for event in {e.node: e for e in machine.journal.of(Backward)}.values():
        found = likelihoods(event)
        learn = [x for x in found if x.learns]
        still = [x for x in found if not x.learns]
        if len(learn) == 2 and learn[0].asked.net is learn[1].asked.net and not event.guessed:
            yield event, learn, still


def turned(machine: Machine) -> Iterator[Verdict]:
    """The loss falls as what was rejected becomes likelier, or as both do."""
    for event, learn, _ in _pairs(machine):
        kinds = [_kind(x) for x in learn]
        if sorted(str(k) for k in kinds) != ["False", "True"]:
            continue
        better, worse = learn if kinds[0] else learn[::-1]
        if better.slope > _SLIGHT and worse.slope < -_SLIGHT:
            why = "the loss falls as what was rejected becomes likelier than what was chosen"
            yield Verdict("preference-turned", event.node, why)


def _kind(one: Likelihood) -> bool | None:
    """True of what is preferred, False of what is not, None where the fields of the data do not tell."""
    told = frozenset(w for g in one.asked.given[:1] for w in _words(g))
    better, worse = bool(told & _BETTER), bool(told & _WORSE)
    return better if better != worse else None


def _words(value: Any) -> set[str]:
    """The words of the fields of the data that a value is made of."""
    found: set[str] = set()
    seen: set[int] = set()
    waiting: list[Any] = [value]
    while waiting and len(seen) < 300:
        one = waiting.pop()
        if isinstance(one, (list, tuple)):
            waiting += one[:16]
        elif isinstance(one, dict):
            waiting += list(one.values())[:16]
        elif isinstance(one, (Unknown, Tensor, Bound)) and id(one) not in seen:
            seen.add(id(one))
            if isinstance(one, Bound):
                found |= _split(one.name)
                waiting.append(one.owner)
                continue
            way: Way | None = one.how or (one.source if isinstance(one, Unknown) else None)
            found |= {w for name in getattr(one, "held", ()) for w in _split(name)}
            if way is not None and way.name != ANSWER:
                waiting += [*way.given, *(v for k, v in way.named.items() if not k.startswith("<"))]
                found |= {w for g in way.given[1:2] if isinstance(g, str) for w in _split(g)}
    return found


def _split(name: str) -> set[str]:
    return set(re.split(r"[^a-z]+", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()))


def held_to_itself(machine: Machine) -> Iterator[Verdict]:
    """What should be held still is the network that learns, or is of another sequence than the answer."""
    if re.search(r"(?i)adapter|old_|advantage|ratio", machine.source.code):
        return  # a network without its adapters, or as it was
    for event, learn, still in _pairs(machine):
        if not still or any(len(x.given) != 1 for x in (*learn, *still)):
            continue
        own = [s for s in still if s.asked.net is learn[0].asked.net]
        if own and all(any(s.given == x.given for x in learn) for s in own):
            why = "the likelihoods that should stay as they were are those of the network that learns"
            yield Verdict("preference-itself", event.node, why)
            return
        alone = [x for x in learn if not any(s.given == x.given for s in still)]
        if len(alone) == 1 and learn[0].given != learn[1].given and not own:
            why = "one of the two answers is held against the reference's likelihood of the other one"
            yield Verdict("preference-crossed", event.node, why)
            return
        beside = [(x, [s for s in still if s.given == x.given]) for x in learn]
        if not own and all(len(s) == 1 and s[0].slope * x.slope > 0 for x, s in beside):
            why = "the reference's likelihoods are added to those that learn: they should be taken away"
            yield Verdict("preference-crossed", event.node, why)
            return


def same_twice(machine: Machine) -> Iterator[Verdict]:
    """Both sides of the difference are answers to the same samples: nothing is left to learn."""
    for event, learn, _ in _pairs(machine):
        kinds = [_kind(x) for x in learn]
        given = [tuple(id(g) for g in x.asked.given) for x in learn]
        same = kinds[0] is not None and kinds[0] == kinds[1]
        if (same or (given[0] and given[0] == given[1])) and learn[0].slope * learn[1].slope < 0:
            why = "both answers of each pair are of the same samples: their difference says nothing"
            yield Verdict("preference-same", event.node, why)
            return


def chances_for_logs(machine: Machine) -> Iterator[Verdict]:
    """`logsigmoid(beta * (p - q))` of chances: the difference is meant to be one of their logarithms."""
    for event, learn, _ in _pairs(machine):
        if all(x.name in ("softmax", "Softmax") for x in learn) and all(_gathered(event, x) for x in learn):
            why = "the difference is one of chances, where it should be one of their logarithms"
            yield Verdict("preference-chances", event.node, why)
            return


def _gathered(event: Backward, one: Likelihood) -> bool:
    """One of the chances is taken out, and no logarithm is taken of it."""
    above = [
        t for t in parts_of(event.loss) if t.how is not None and any(p is one.value for p in parts_of(t))
    ]
    names = [t.how.name for t in above if t.how is not None]
    return "gather" in names and not any(n.startswith("log") and n not in _BENDS for n in names)
