"""What is not believed of a run that ends as well as its benchmark: settings that differ and show nowhere.

A rate, a schedule or a dropout that is another one than the benchmark's is no reason for a bad result where
the result is not bad. Where all that the rules ask of the end (its metric, its loss) is known and not worse,
a cause of the named kinds stays below one half, unless something in the run's own curves speaks for it
(losses that turn up, gradients that jump): then there is harm to see. Of some causes less is asked: dropout
and smoothed labels raise the training loss itself, so that only what is evaluated tells of their harm. Nor is
a choice a fault (another optimizer, another loss, a layer that is kept as it is, fewer epochs) that costs no
more than choices do: of those only a metric far below the benchmark's tells, or a place in the script that is
wrong by itself; that code differs is none. And where all of the end is as good, a steady pace alone is no
harm: it arrived. There only `share` of what is believed of such a cause is left, so that a run which differs
from its benchmark and ends as well is called healthy, and what differs is told beside.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import log

from .caution import NOTHING
from .experience import BELOW_HALF
from .explain import contributions
from .graph import Outline, descendants, outline
from .infer import Belief, sigmoid
from .model import AsGood, RuleBase, State

WORTH = log(0.05 / 0.95)  # log-odds below which nobody is told of a cause
NAME = "as-good-as-the-benchmark"  # its entry among the contributions to a cause


def held(rules: RuleBase, belief: Belief, added: Mapping[str, float] = NOTHING) -> dict[str, float]:
    """Return cause -> log-odds to take away, for the causes that are held back.

    `added` are log-odds that something beside the network adds to causes.
    """
    given = rules.as_good
    if given is None:
        return {}
    arrived = _absent(belief, given.asks)
    lessened = arrived and given.share < 1.0
    asked: dict[str, float] = {}
    for cause, inferred in belief.odds.items():
        odds = inferred + added.get(cause, 0.0)
        if not {cause, cause.split(".")[0]} & given.kinds or odds <= (WORTH if lessened else 0.0):
            continue
        if lessened or _absent(belief, given.asks_of.get(cause, given.asks)):
            asked[cause] = odds
    if not asked:
        return {}
    graph = outline(rules)
    found: dict[str, float] = {}
    for cause, odds in asked.items():
        if _shows(given, rules, graph, belief, cause, arrived):
            continue
        if lessened:
            left = given.share * float(sigmoid(odds))
            found[cause] = odds - log(left / (1.0 - left))
        else:
            # what was likelier stays closer to one half, and below it when it is rounded to percents
            found[cause] = odds + BELOW_HALF * (0.5 + 0.5 / (1.0 + odds))
    return found


def _absent(belief: Belief, asks: Collection[str]) -> bool:
    """Whether all of these symptoms are known to be absent."""
    return bool(asks) and all(belief.states.get(s) is State.ABSENT for s in asks)


def _shows(given: AsGood, rules: RuleBase, graph: Outline, belief: Belief, cause: str, arrived: bool) -> bool:
    """Something in the curves that is there speaks for the cause, by itself or through a mechanism.

    Where all of the end is as good (`arrived`), a steady pace is no harm.
    """
    speaking = {
        n for n, part in contributions(belief, cause).items() if part >= given.weight
    } & graph.adj.keys()
    areas = given.shown | given.shown_of.get(cause, frozenset())
    harmless = given.differs | (given.pace if arrived else frozenset())
    below = speaking.union(*(descendants(graph, node) for node in speaking))
    return any(
        belief.states.get(s) is State.PRESENT and rules.symptoms[s].area in areas
        for s in (below & rules.symptoms.keys()) - harmless
    )
