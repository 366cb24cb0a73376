"""Leaky noisy-OR inference: damped loopy belief propagation in log-odds, vectorised over arrows and cases.

All arrays have a last axis of cases, so that leave-one-out and what-if questions are one call. For an arrow
u->v with strength s and leak l, and own = +40 when v is read present, -40 when absent, 0 when unknown:

    P(v=0 | parents) = (1-l) * prod over parents that are on of (1-s)
    x = (1-l_v) * prod over the other parents w of (1 - s_wv * pi_wv);  y = x * (1-s_uv)
    lambda_uv = log[y + (1-y) e^down_v] - log[x + (1-x) e^down_v]
    down_v = own_v + sum of lambda from the children of v
    pi_uv = sigmoid(up_u + down_u - lambda_uv)

The posterior log-odds of a cause are its prior log-odds plus the lambdas from its children (Pearl 1988).
Symptoms have no children, so an arrow to one that is read absent always carries log(1-s) and an arrow to an
unknown one carries 0: only arrows to mechanisms and to present symptoms take part in the iteration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from .graph import active_causes, arrows
from .model import RuleBase, Scalar, State

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Signs: TypeAlias = npt.NDArray[np.int8]

OWN = 40.0
DAMPING = 0.5
MAX_ITERATIONS = 300
TOLERANCE = 1e-6
_CLIP = 500.0  # keeps e^down finite


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """The graph as arrays. Nodes are numbered causes first, then mechanisms, then symptoms."""

    causes: tuple[str, ...]
    mechanisms: tuple[str, ...]
    symptoms: tuple[str, ...]
    leak: Floats  # (nodes,); of a cause: its prior
    tail: Ints  # (arrows,)
    head: Ints  # (arrows,), ascending
    strength: Floats  # (arrows,)

    @property
    def nodes(self) -> tuple[str, ...]:
        """All names, in the order of their numbers."""
        return self.causes + self.mechanisms + self.symptoms

    @property
    def first_symptom(self) -> int:
        """The number of the first symptom."""
        return len(self.causes) + len(self.mechanisms)


@dataclass(frozen=True, slots=True, eq=False)
class Messages:
    """What the arrows carry after inference; the last axis is the case."""

    lam: Floats  # (arrows, cases): log-likelihood ratio that a head tells its tail
    pi: Floats  # (arrows, cases): log-odds of the tail without what this head tells it
    converged: Bools  # (cases,)

    def of(self, case: int) -> Messages:
        """The messages of one case."""
        return Messages(self.lam[:, [case]], self.pi[:, [case]], self.converged[[case]])


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One question to the network: prior log-odds of the causes and what is read of the symptoms."""

    prior: Floats  # (causes,)
    seen: Signs  # (symptoms,): +1 present, -1 absent, 0 unknown
    heard: Bools | None = None  # (arrows,): which ones carry something where their head is absent


def compile_network(rules: RuleBase) -> Network:
    """Number the nodes and arrows of the rules."""
    causes = active_causes(rules)
    mechanisms, symptoms = sorted(rules.mechanisms), sorted(rules.symptoms)
    leak = [c.prior for c in causes]
    leak += [rules.mechanisms[m].leak for m in mechanisms] + [rules.symptoms[s].leak for s in symptoms]
    number = {n: i for i, n in enumerate([*(c.id for c in causes), *mechanisms, *symptoms])}
    rows = sorted((number[link.to], number[tail], link.strength) for tail, link in arrows(rules))
    table = np.array(rows, dtype=np.float64).reshape(-1, 3)
    return Network(
        tuple(c.id for c in causes),
        tuple(mechanisms),
        tuple(symptoms),
        np.array(leak, dtype=np.float64),
        table[:, 1].astype(np.int64),
        table[:, 0].astype(np.int64),
        table[:, 2],
    )


# ----------------------------------------------------------------------------------------------- cases


def case_of(
    rules: RuleBase,
    network: Network,
    states: Mapping[str, State],
    context: Mapping[str, Scalar] | None = None,
) -> Case:
    """Return the case of these readings; symptoms that the rules do not know are left out."""
    seen = np.zeros(len(network.symptoms), dtype=np.int8)
    sign = {State.PRESENT: 1, State.ABSENT: -1, State.UNKNOWN: 0}
    for i, symptom in enumerate(network.symptoms):
        seen[i] = sign[states.get(symptom, State.UNKNOWN)]
        if seen[i] < 0 and rules.symptoms[symptom].one_of_many:
            seen[i] = 0
    priors = [prior_of(rules, cause, context or {}) for cause in network.causes]
    return Case(logit(np.array(priors, dtype=np.float64)), seen, _heard(rules, network, states))


def _heard(rules: RuleBase, network: Network, states: Mapping[str, State]) -> Bools | None:
    """Where absent symptoms speak against causes: see `Silence`."""
    given = rules.silence
    if given is None:
        return None
    found = {
        s
        for s, state in states.items()
        if state is State.PRESENT and s in rules.symptoms and rules.symptoms[s].area in given.to
    }
    settled = [
        any(x.to in found and x.strength >= given.strength for x in rules.causes[c].shows)
        for c in network.causes
    ]
    if not any(settled):
        return None
    tails, heads = np.zeros((2, len(network.leak)), dtype=np.bool_)
    tails[: len(network.causes)] = settled
    heads[network.first_symptom :] = [rules.symptoms[s].area in given.areas for s in network.symptoms]
    return np.asarray(~(tails[network.tail] & heads[network.head]), dtype=np.bool_)


def prior_of(rules: RuleBase, cause: str, context: Mapping[str, Scalar]) -> float:
    """Return a cause's prior; the smallest one there is, when the context is known and rules it out."""
    wanted = rules.causes[cause].applies_when
    if all(applies(condition, context.get(fact)) for fact, condition in wanted.items()):
        return rules.causes[cause].prior
    return rules.prior_min


def applies(condition: Scalar | tuple[Scalar, ...], fact: Scalar) -> bool:
    """Whether a context fact allows a condition: a value, ">1" and the like, or a tuple of alternatives.

    An unknown fact (None) allows everything, and so does one that cannot be compared.
    """
    if fact is None or condition is None:
        return True
    if isinstance(condition, tuple):
        return any(applies(c, fact) for c in condition)
    if isinstance(condition, str) and condition.startswith((">", "<", "!=", "=")):
        return _compares(condition, fact)
    return _plain(condition) == _plain(fact)


def _compares(condition: str, fact: Scalar) -> bool:
    sign = condition[:2] if condition[:2] in (">=", "<=", "!=", "==") else condition[:1]
    limit = condition[len(sign) :].strip()
    if sign in ("!=", "=", "=="):
        return (_plain(limit) == _plain(fact)) == (sign != "!=")
    a, b = _number(fact), _number(limit)
    if a is None or b is None:
        return True
    return {">": a > b, ">=": a >= b, "<": a < b, "<=": a <= b}[sign]


def _plain(value: Scalar) -> str | float:
    """A value as it is compared: numbers as numbers, also when written as text; text without case."""
    number = _number(value)
    return str(value).strip().lower() if number is None else number


def _number(value: Scalar) -> float | None:
    if value is None or isinstance(value, bool):
        return None
    try:
        return float(value)
    except ValueError:
        return None


# ------------------------------------------------------------------------------------------- inference


def infer(network: Network, cases: Sequence[Case], start: Messages | None = None) -> Messages:
    """Run belief propagation on several cases at once; `start` (of one case) makes near cases quicker."""
    prior, seen = _stacked(cases)
    strength = _strength(network, cases)
    lam, bias = _settled(network, seen, strength)
    active = np.flatnonzero(_active(network, seen, bias))
    converged = np.ones(len(cases), dtype=np.bool_)
    if len(active):
        flow = _Flow(network, active, (prior, seen, bias), strength[active])
        if start is None:
            first = (
                np.zeros((len(active), len(cases))),
                _pi(network, prior, np.zeros_like(lam), strength)[active],
            )
        else:
            first = start.lam[active].repeat(len(cases), axis=1), start.pi[active].repeat(len(cases), axis=1)
        lam[active], converged = flow.run(*first)
    return Messages(lam, _pi(network, prior, lam, strength), converged)


def log_odds(network: Network, cases: Sequence[Case], messages: Messages) -> Floats:
    """Return (causes, cases): the posterior log-odds, prior plus what the children say."""
    total = _Segments(network.tail, len(network.leak)).sum(messages.lam)
    return _stacked(cases)[0] + total[: len(network.causes)]


def up_of(network: Network, pi: Floats, strength: Floats | None = None) -> Floats:
    """Return (nodes, cases): log-odds that parents and leak give every node; of a cause, its rule's prior.

    `strength`: of the arrows, where it is not that of the network.
    """
    strength = network.strength[:, None] if strength is None else strength
    off = np.log1p(-strength * sigmoid(pi))
    total = _Segments(network.head, len(network.leak)).sum(off)
    return odds_of_log_off(np.log1p(-network.leak)[:, None] + total)


def _stacked(cases: Sequence[Case]) -> tuple[Floats, Signs]:
    return np.stack([c.prior for c in cases], axis=1), np.stack([c.seen for c in cases], axis=1)


def _strength(network: Network, cases: Sequence[Case]) -> Floats:
    """(arrows, cases): strengths of the arrows, 0 where an absent symptom says nothing."""
    strength = np.repeat(network.strength[:, None], len(cases), axis=1)
    for i, case in enumerate(cases):
        if case.heard is not None:
            absent = np.zeros(len(network.leak), dtype=np.bool_)
            absent[network.first_symptom :] = case.seen < 0
            strength[:, i] *= np.where(absent[network.head], case.heard, 1.0)
    return strength


def logit(p: Floats) -> Floats:
    """Log-odds of probabilities."""
    return np.asarray(np.log(p) - np.log1p(-p), dtype=np.float64)


def sigmoid(x: Floats | float) -> Floats:
    """Probabilities of log-odds."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)), dtype=np.float64)


def _settled(network: Network, seen: Signs, strength: Floats) -> tuple[Floats, Floats]:
    """Messages that need no iteration (arrows to absent symptoms), and their sums at all nodes."""
    absent = np.zeros((len(network.leak), seen.shape[1]))
    never_present = (seen <= 0).all(axis=1, keepdims=True)
    absent[network.first_symptom :] = (seen < 0) & never_present
    lam = absent[network.head] * np.log1p(-strength)
    return lam, _Segments(network.tail, len(network.leak)).sum(lam)


def _active(network: Network, seen: Signs, bias: Floats) -> Bools:
    """Arrows to iterate: into symptoms that are present somewhere and into informed mechanisms."""
    live: Bools = np.zeros(len(network.leak), dtype=np.bool_)
    live[network.first_symptom :] = (seen > 0).any(axis=1)
    live[: network.first_symptom] = (bias[: network.first_symptom] != 0).any(axis=1)
    for _ in network.mechanisms:
        before = int(live.sum())
        live[network.tail[live[network.head]]] = True
        if live.sum() == before:
            break
    return live[network.head]


class _Flow:
    """The iteration over the active arrows, with nodes numbered anew from 0."""

    def __init__(
        self, network: Network, arrows: Ints, given: tuple[Floats, Signs, Floats], strength: Floats
    ) -> None:
        prior, seen, bias = given
        self.strength = strength
        ends = np.concatenate([network.tail[arrows], network.head[arrows]])
        nodes, local = np.unique(ends, return_inverse=True)
        self.tail, self.head = np.split(local.reshape(-1), 2)
        self.by_tail, self.by_head = _Segments(self.tail, len(nodes)), _Segments(self.head, len(nodes))
        self.log_no_leak = np.log1p(-network.leak[nodes])[:, None]
        self.causes = int(np.searchsorted(nodes, len(network.causes)))
        self.prior = prior[nodes[: self.causes]]
        self.own = bias[nodes]
        symptom = nodes >= network.first_symptom
        self.own[symptom] = OWN * seen[nodes[symptom] - network.first_symptom]

    def run(self, lam: Floats, pi: Floats) -> tuple[Floats, Bools]:
        """Iterate until no message moves; return lambda and which cases settled."""
        moved = np.full(lam.shape[1], np.inf)
        for _ in range(MAX_ITERATIONS):
            new_lam, new_pi = self._step(lam, pi)
            moved = np.maximum(np.abs(new_lam - lam).max(axis=0), np.abs(new_pi - pi).max(axis=0))
            lam, pi = lam + DAMPING * (new_lam - lam), pi + DAMPING * (new_pi - pi)
            if moved.max() < TOLERANCE:
                return new_lam, moved < TOLERANCE
        return lam, moved < TOLERANCE

    def _step(self, lam: Floats, pi: Floats) -> tuple[Floats, Floats]:
        down = self.own + self.by_tail.sum(lam)
        off = np.log1p(-self.strength * sigmoid(pi))
        log_off = self.log_no_leak + self.by_head.sum(off)
        up = odds_of_log_off(log_off)
        up[: self.causes] = self.prior
        x = np.exp(log_off[self.head] - off)
        y = x * (1.0 - self.strength)
        odds = np.exp(np.minimum(down, _CLIP))[self.head]
        new_lam = np.log((y + (1.0 - y) * odds) / (x + (1.0 - x) * odds))
        return new_lam, (up + down)[self.tail] - lam


class _Segments:
    """Sums rows that belong to the same node."""

    def __init__(self, node: Ints, nodes: int) -> None:
        self.order = np.argsort(node, kind="stable")
        self.found, self.starts = np.unique(node[self.order], return_index=True)
        self.nodes = nodes

    def sum(self, rows: Floats) -> Floats:
        """Return (nodes, cases); zero for nodes without rows."""
        total = np.zeros((self.nodes, rows.shape[1]))
        if len(self.found):
            total[self.found] = np.add.reduceat(rows[self.order], self.starts, axis=0)
        return total


def odds_of_log_off(log_off: Floats) -> Floats:
    """Log-odds of being on, from the logarithm of the probability of being off."""
    return np.asarray(np.log(-np.expm1(log_off)) - log_off, dtype=np.float64)


def _pi(network: Network, prior: Floats, lam: Floats, strength: Floats) -> Floats:
    """What tails tell their heads once lambda is settled; each pass gets one mechanism further down."""
    down = _Segments(network.tail, len(network.leak)).sum(lam)
    up = np.repeat(logit(network.leak)[:, None], lam.shape[1], axis=1)
    up[: len(network.causes)] = prior
    pi = (up + down)[network.tail] - lam
    for _ in network.mechanisms:
        up = up_of(network, pi, strength)
        up[: len(network.causes)] = prior
        after = (up + down)[network.tail] - lam
        if np.abs(after - pi).max() < TOLERANCE:
            break
        pi = after
    return pi


# ---------------------------------------------------------------------------------------------- belief


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """What the rules make of one run: the network, the case put to it, and its settled messages."""

    network: Network
    case: Case
    messages: Messages
    log_odds: Floats  # (causes,), posterior
    states: Mapping[str, State]

    @property
    def converged(self) -> bool:
        """Whether belief propagation settled."""
        return bool(self.messages.converged[0])

    @property
    def odds(self) -> dict[str, float]:
        """Posterior log-odds of every cause."""
        return dict(zip(self.network.causes, self.log_odds.tolist(), strict=True))

    @property
    def probability(self) -> dict[str, float]:
        """Posterior probability of every cause."""
        return dict(zip(self.network.causes, sigmoid(self.log_odds).tolist(), strict=True))


def believe(
    rules: RuleBase,
    states: Mapping[str, State],
    context: Mapping[str, Scalar] | None = None,
    network: Network | None = None,
) -> Belief:
    """Infer the causes from the states of symptoms; `network` saves compiling the rules again."""
    network = network or compile_network(rules)
    case = case_of(rules, network, states, context)
    messages = infer(network, [case])
    return Belief(network, case, messages, log_odds(network, [case], messages)[:, 0], dict(states))


def log_evidence(network: Network, cases: Sequence[Case], messages: Messages) -> Floats:
    """Return (cases,): the natural logarithm of the probability of the readings (Bethe; exact on trees)."""
    prior, seen = _stacked(cases)
    lam, pi = messages.lam, messages.pi
    up = up_of(network, pi, _strength(network, cases))
    up[: len(network.causes)] = prior
    read = np.where(seen == 0, 0.0, log_sigmoid(seen * up[network.first_symptom :])).sum(axis=0)
    by_tail = _Segments(network.tail, len(network.leak))
    on = log_sigmoid(up) + by_tail.sum(log_sigmoid(lam))
    off = log_sigmoid(-up) + by_tail.sum(log_sigmoid(-lam))
    hidden = np.logaddexp(on, off)[: network.first_symptom].sum(axis=0)
    both_on, both_off = log_sigmoid(pi) + log_sigmoid(lam), log_sigmoid(-pi) + log_sigmoid(-lam)
    shared = np.logaddexp(both_on, both_off).sum(axis=0)
    return np.asarray(read + hidden - shared, dtype=np.float64)


def log_sigmoid(x: Floats) -> Floats:
    """Logarithm of the probability of log-odds."""
    return np.asarray(-np.logaddexp(0.0, -x), dtype=np.float64)
