"""What is not believed yet: a probability above one half that hangs on one or two lines of evidence.

The network takes its strengths for the truth, and lines of evidence for independent. On programs that it was
not fitted on, a cause for which three or more lines speak is right about as often as it says, one with two
clearly less often (docs/quality.md). So the rules say how many are enough, and what is believed until then.
Causes change places by it only where a rival has more that speaks for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import log
from types import MappingProxyType

from .explain import contributions
from .infer import Belief, sigmoid
from .model import RuleBase

NAME = "few-lines-of-evidence"  # its entry among the contributions to a cause
HALF = 0.5
NOTHING: Mapping[str, float] = MappingProxyType({})


def held(rules: RuleBase, belief: Belief, added: Mapping[str, float] = NOTHING) -> dict[str, float]:
    """Return cause -> log-odds to take away, for the causes that are held back.

    `added` are log-odds that something beside the network adds to causes.
    """
    given = rules.caution
    if given is None or given.share >= 1.0:
        return {}
    found: dict[str, float] = {}
    for cause, inferred in belief.odds.items():
        odds = inferred + added.get(cause, 0.0)
        if odds <= 0.0:
            continue
        lines = [n for n, part in contributions(belief, cause).items() if part >= given.weight]
        settled = any(n in rules.symptoms and rules.symptoms[n].area in given.settles for n in lines)
        if len(lines) >= given.lines or settled:
            continue
        left = HALF + given.share * (float(sigmoid(odds)) - HALF)
        found[cause] = odds - log(left / (1.0 - left))
    return found


def believed(belief: Belief, moved: Mapping[str, float]) -> dict[str, float]:
    """The probability of every cause, with these log-odds added."""
    odds = belief.odds
    return {c: float(sigmoid(odds[c] + moved[c])) if c in moved else p for c, p in belief.probability.items()}
