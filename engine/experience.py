"""What recorded runs have shown beyond the links: log-odds that symptoms and their values add to causes.

A link says what its author knows: this cause leads to that symptom, so strongly. What else comes with a
fault (a symptom that speaks against a rival, the second of two readings of one thing) no author writes down.
The weights of `rules/experience.yaml` are fitted to the fault lab's runs, what the network says being given
(faultlab/experience.py). Nor does a link say what to think of a run that shows nothing: which faults leave
no mark in logs, and which of them a script or a benchmark would have shown; that is weighed by the areas of
symptoms that were looked at. And a threshold tells of a value only on which side of it it lies: where the
value of a symptom stands among those of recorded runs is weighed as well. All this weighs rivals against
each other, by no more than `most`: symptoms that come together are no independent witnesses. What is said of
rivals is no reason to expect fewer faults, so `balance` of what the sum of all probabilities loses or gains
is given back to all causes alike. A cause that the links alone leave well below one half stays below it, so
that no run is alarmed by numbers for which there is no sentence. One that they bring near it may cross it in
a recorded run (of programs left out of the fit it was the right one in nine of ten). Of a kind of training
that no recorded run is (known by an area in `unlike`) they say nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite, log

import numpy as np

from .caution import NOTHING
from .infer import Belief, sigmoid
from .model import Experience, Graded, Reading, RuleBase, State

NAME = "recorded-runs"  # its entry among the contributions to a cause
BELOW_HALF = 0.05  # log-odds below one half at which a cause stops that is lifted from far below it
FARTHEST = 3.0  # log-odds that are given back at most; `most` of a move is less
HALVINGS = 30
NEAR = log(0.65 / 0.35)  # log-odds below one half from which on it may cross it: 0.35 by the links


def added(
    rules: RuleBase,
    belief: Belief,
    before: Mapping[str, float] = NOTHING,
    values: Mapping[str, float] = NOTHING,
) -> dict[str, float]:
    """Return cause -> log-odds to add, for the causes that change.

    `before` are log-odds that something else beside the network adds to causes, `values` what was measured.
    """
    given = rules.experience
    if given is None or given.unlike & looked_at(rules, belief.states):
        return {}
    total: dict[str, float] = {}
    for weights in _speaking(rules, given, belief.states, values):
        for cause, weight in weights.items():
            total[cause] = total.get(cause, 0.0) + weight
    moved = {c: max(-given.most, min(given.most, w)) for c, w in total.items() if w}
    odds = {c: x + before.get(c, 0.0) for c, x in belief.odds.items()}
    if moved:
        moved = balanced(odds, moved, given.balance)
    near = NEAR if given.where in looked_at(rules, belief.states) else 0.0
    return {c: _below_half(odds[c], odds[c] + w, near) - odds[c] for c, w in moved.items() if c in odds}


def balanced(odds: Mapping[str, float], moved: Mapping[str, float], share: float) -> dict[str, float]:
    """Cause -> log-odds to add: `moved`, and for all the same, `share` of what keeps the sum.

    `odds` are the log-odds of all causes before. The sum of their probabilities rises with what is added, so
    halving finds it.
    """
    if share <= 0.0:
        return dict(moved)
    begun = np.array(list(odds.values()))
    after = begun + np.array([moved.get(c, 0.0) for c in odds])
    total, (low, high) = float(sigmoid(begun).sum()), (-FARTHEST, FARTHEST)
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if float(sigmoid(after + middle).sum()) < total else (low, middle)
    added_to_all = share * (low + high) / 2.0
    return {c: moved.get(c, 0.0) + added_to_all for c in odds}


def looked_at(rules: RuleBase, states: Mapping[str, State]) -> frozenset[str]:
    """The areas of which a symptom is known to be present or absent."""
    return frozenset(rules.symptoms[s].area for s, state in states.items() if state is not State.UNKNOWN)


def measured(findings: Mapping[str, Reading]) -> dict[str, float]:
    """Symptom -> its value, of those that were read and are finite numbers."""
    read = {s: r.value for s, r in findings.items() if r.state is not State.UNKNOWN}
    return {
        s: float(x)
        for s, x in read.items()
        if isinstance(x, (int, float)) and not isinstance(x, bool) and isfinite(x)
    }


def stands(graded: Graded, value: float) -> float:
    """Where a value stands among recorded runs: from -1, no higher than the lowest, to 1."""
    return float(np.interp(value, graded.at, graded.stands))


def _speaking(
    rules: RuleBase, given: Experience, states: Mapping[str, State], values: Mapping[str, float]
) -> Iterator[Mapping[str, float]]:
    """The weights of the present symptoms, of the areas that were looked at, and of values.

    The latter two are of recorded runs: where nothing was recorded (a script alone) they say nothing.
    """
    yield from (w for s, w in given.weights.items() if states.get(s) is State.PRESENT)
    areas = looked_at(rules, states) if given.looked or given.graded else frozenset()
    if given.where not in areas:
        return
    yield from (w for a, w in given.looked.items() if a in areas)
    for symptom, graded in given.graded.items():
        if symptom in values:
            place = stands(graded, values[symptom])
            yield {cause: place * w for cause, w in graded.weights.items()}


def _below_half(before: float, after: float, near: float) -> float:
    """Log-odds that do not cross one half from below; what would lie further above it comes closer to it.

    What begins less than `near` below it crosses it the further, the nearer it began.
    """
    if before >= 0.0 or after <= -BELOW_HALF:
        return after
    stopped = -BELOW_HALF / (1.0 + BELOW_HALF + after)
    share = max(0.0, 1.0 + before / near) if near else 0.0
    return stopped + share * (after - stopped)


def together(*parts: Mapping[str, float]) -> dict[str, float]:
    """The sums of several mappings from causes to log-odds."""
    return {c: sum(part.get(c, 0.0) for part in parts) for c in sorted({c for part in parts for c in part})}
