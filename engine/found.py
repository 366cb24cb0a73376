"""What the curves leave unsaid of a fault that was found: how far they can speak against it.

Links say how often a fault shows in each curve, and the network takes these for independent. They are not:
a fault that is mild, or comes late, shows in none of them. Where a place in a script was found that speaks
for a cause, the question is no longer whether there is such a fault, and all that is absent counts as one
witness: together it takes away no more than the rules' bound.
"""

from __future__ import annotations

from .explain import contributions
from .infer import Belief
from .model import RuleBase

NAME = "found-where-it-is-made"  # its entry among the contributions to a cause


def lifted(rules: RuleBase, belief: Belief) -> dict[str, float]:
    """Return cause -> log-odds to give back, for causes that were found and have more against them."""
    given = rules.silence
    if given is None:
        return {}
    back: dict[str, float] = {}
    for cause in belief.odds:
        parts = contributions(belief, cause)
        found = sum(v for n, v in parts.items() if v > 0.0 and _area(rules, n) in given.to)
        against = sum(v for v in parts.values() if v < 0.0)
        if found >= given.weight and against < -given.most:
            back[cause] = -given.most - against
    return back


def _area(rules: RuleBase, node: str) -> str:
    symptom = rules.symptoms.get(node)
    return symptom.area if symptom is not None else ""
