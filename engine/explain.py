"""Why a cause is believed: the parts of its log-odds, the weight of each reading, what nothing explains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan

import numpy as np

from .graph import Path
from .infer import Belief, Case, Floats, infer, log_evidence, log_odds, sigmoid
from .model import Evidence, Reading, Reason, State

MIN_WEIGHT = 0.01  # log-odds below which a reading adds nothing
MIN_AGAINST = 0.1  # log-odds below which a reading is not worth calling an objection
MIN_ALONE = 0.1  # log-odds by which a reading that others make superfluous would count by itself


@dataclass(frozen=True, slots=True)
class Reasons:
    """The readings that speak for a cause and against it, strongest first."""

    speak_for: tuple[Reason, ...] = ()
    against: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class Weights:
    """symptom -> cause -> log-odds, measured in two ways."""

    left_out: Mapping[str, Mapping[str, float]]  # with all readings, minus with all but this one
    alone: Mapping[str, Mapping[str, float]]  # with this reading only, minus with none
    # mechanism -> cause -> with all readings, minus with all but the present ones that the mechanism shows
    together: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def contributions(belief: Belief, cause: str) -> dict[str, float]:
    """Return child -> log-odds, largest first: prior log-odds plus their sum is the posterior exactly."""
    network = belief.network
    arrows = np.flatnonzero(network.tail == network.causes.index(cause))
    nodes = network.nodes
    parts = {nodes[network.head[a]]: float(belief.messages.lam[a, 0]) for a in arrows}
    return {k: v for k, v in sorted(parts.items(), key=lambda kv: (-abs(kv[1]), kv[0])) if v != 0.0}


def weights(belief: Belief, symptoms: Sequence[str]) -> Weights:
    """Return how much each of these readings counts for every cause."""
    alone = [_only(belief, s) for s in symptoms]
    kinds = _shown_together(belief, symptoms)
    without = [_without(belief, found) for found in (*([s] for s in symptoms), *kinds.values())]
    lost = belief.log_odds[:, None] - posteriors(belief, without)
    prior = belief.case.prior
    return Weights(
        _table(belief, symptoms, lost[:, : len(symptoms)]),
        _table(belief, symptoms, posteriors(belief, alone) - prior[:, None]),
        _table(belief, list(kinds), lost[:, len(symptoms) :]),
    )


def _shown_together(belief: Belief, symptoms: Sequence[str]) -> dict[str, list[str]]:
    """Mechanism -> the present ones of these symptoms that it shows, where these are several."""
    network, read = belief.network, set(symptoms)
    found: dict[str, list[str]] = {}
    for tail, head in zip(network.tail.tolist(), network.head.tolist(), strict=True):
        place = head - network.first_symptom
        if tail < len(network.causes) or place < 0 or belief.case.seen[place] <= 0:
            continue
        if network.nodes[head] in read:
            found.setdefault(network.nodes[tail], []).append(network.nodes[head])
    return {m: shown for m, shown in found.items() if len(shown) > 1}


def posteriors(belief: Belief, cases: Sequence[Case]) -> Floats:
    """Return (causes, cases): posterior log-odds in other cases than the one believed in."""
    if not cases:
        return np.zeros((len(belief.network.causes), 0))
    return log_odds(belief.network, cases, infer(belief.network, cases, belief.messages))


def _table(belief: Belief, symptoms: Sequence[str], values: Floats) -> dict[str, dict[str, float]]:
    rows = zip(symptoms, values.T.tolist(), strict=True)
    return {s: dict(zip(belief.network.causes, row, strict=True)) for s, row in rows}


def _without(belief: Belief, symptoms: Sequence[str]) -> Case:
    seen = belief.case.seen.copy()
    seen[[belief.network.symptoms.index(s) for s in symptoms]] = 0
    return replace(belief.case, seen=seen)


def _only(belief: Belief, symptom: str) -> Case:
    seen = np.zeros_like(belief.case.seen)
    i = belief.network.symptoms.index(symptom)
    seen[i] = belief.case.seen[i]
    return replace(belief.case, seen=seen)


def with_state(belief: Belief, symptom: str, sign: int) -> Case:
    """The case with one symptom read otherwise: +1 present, -1 absent, 0 unknown."""
    seen = belief.case.seen.copy()
    seen[belief.network.symptoms.index(symptom)] = sign
    return replace(belief.case, seen=seen)


def reasons(evidence: Evidence, cause: str, paths: Mapping[str, Path], weight: Weights) -> Reasons:
    """Return what speaks for and against a cause, among the readings that it leads to.

    A reading that others make superfluous weighs next to nothing when it is left out; it is still told when
    it would count by itself. Where several show one mechanism, the most telling of them stands for all: it
    weighs as much as they do together.
    """
    read = [s for s in sorted(paths) if s in weight.left_out]
    alone = {s: weight.alone[s][cause] for s in read}
    stands_for = _most_telling(evidence, paths, alone, weight.together)
    counts = {s: weight.left_out[s][cause] for s in read}
    counts |= {s: max(counts[s], weight.together[kind][cause]) for s, kind in stands_for.items()}
    found = [(counts[s], alone[s], s) for s in read]
    pro = sorted((-w, -a, s) for w, a, s in found if w >= MIN_WEIGHT or (w > -MIN_WEIGHT and a >= MIN_ALONE))
    # What is present and follows from the cause lowers it only where a rival explains it better.
    missing = (x for x in found if evidence[x[2]].state is not State.PRESENT)
    contra = sorted((w, a, s) for w, a, s in missing if w <= -MIN_AGAINST)
    return Reasons(
        tuple(_reason(evidence[s], -w, paths[s]) for w, _, s in pro),
        tuple(_reason(evidence[s], w, paths[s]) for w, _, s in contra),
    )


def _most_telling(
    evidence: Evidence, paths: Mapping[str, Path], alone: Mapping[str, float], kinds: Mapping[str, object]
) -> dict[str, str]:
    """Symptom -> the mechanism whose readings it stands for."""
    found: dict[str, list[tuple[float, str]]] = {}
    for symptom, weight in alone.items():
        kind = paths[symptom][0][-2]
        if kind in kinds and evidence[symptom].state is State.PRESENT:
            found.setdefault(kind, []).append((-weight, symptom))
    return {min(shown)[1]: kind for kind, shown in found.items() if len(shown) > 1}


def _reason(reading: Reading, weight: float, path: Path) -> Reason:
    nodes, links = path
    return Reason(reading, weight, nodes, tuple(link.because for link in links))


# ----------------------------------------------------------------------------- what does not fit the rules


def unexplained(belief: Belief) -> dict[str, float]:
    """Return present symptom -> probability that it is there by itself, not through any cause.

    A mechanism that is on by itself explains nothing: what it shows counts as unexplained too.
    """
    network, pi = belief.network, sigmoid(belief.messages.pi[:, 0])
    stays_off = np.log1p(-network.leak) + _sum_by_head(belief, np.log1p(-network.strength * pi))
    explained = np.ones(len(network.leak))
    for _ in range(len(network.mechanisms) + 1):
        no_cause = _sum_by_head(belief, np.log1p(-network.strength * pi * explained[network.tail]))
        by_itself = (np.exp(no_cause) - np.exp(stays_off)) / -np.expm1(stays_off)
        after = 1.0 - np.clip(by_itself, 0.0, 1.0)
        after[: len(network.causes)] = 1.0
        if np.allclose(after, explained, rtol=0.0, atol=1e-12):
            break
        explained = after
    share = 1.0 - explained[network.first_symptom :]
    return {s: float(share[i]) for i, s in enumerate(network.symptoms) if belief.case.seen[i] > 0}


def _sum_by_head(belief: Belief, values: Floats) -> Floats:
    total = np.bincount(belief.network.head, weights=values, minlength=len(belief.network.leak))
    return total.astype(np.float64)


def conflict(belief: Belief) -> float:
    """Return by how much the present readings and the absent ones rule each other out, in nats.

    log P(present) + log P(absent) - log P(both): 0 when they have nothing to do with each other; 3 means that
    they are found together 20 times more seldom than apart (runs drawn from the shipped rules themselves stay
    below 10 in 99 of 100). Causes only raise symptoms here, so two present
    readings never contradict each other; a present and an absent one may.
    """
    seen = belief.case.seen
    cases = [replace(belief.case, seen=s) for s in (np.maximum(seen, 0), np.minimum(seen, 0), seen)]
    present, absent, both = log_evidence(belief.network, cases, infer(belief.network, cases))
    return max(0.0, float(present + absent - both))


def earliest(evidence: Evidence) -> tuple[str, ...]:
    """Return the present symptoms that begin first (several when they begin at the same step)."""
    present = [r for r in evidence.values() if r.state is State.PRESENT]
    dated = sorted((r.step, r.symptom) for r in present if r.step is not None and not isnan(r.step))
    return tuple(symptom for step, symptom in dated if step == dated[0][0])


def misses_earliest(first: Sequence[str], paths: Mapping[str, Path]) -> str | None:
    """Return the earliest symptom, if a cause leads to none of those that begin first."""
    return first[0] if first and not any(s in paths for s in first) else None
