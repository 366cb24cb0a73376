"""Small rule bases made in memory or on disk, and exact inference by enumeration to compare with."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from traindoctor.engine.infer import Case, Network, logit
from traindoctor.engine.model import Cause, Link, Mechanism, Remedy, RuleBase, Symptom

Changes = Mapping[str, str | None]
Arrow = tuple[str, str, float]  # tail, head, strength


def rule_base(
    causes: Mapping[str, float],
    arrows: Sequence[Arrow],
    mechanisms: Mapping[str, float] | None = None,
    leaks: Mapping[str, float] | None = None,
    **changes: Any,
) -> RuleBase:
    """Make rules of priors, arrows and leaks. Heads that are no mechanism are symptoms (leak 0.01).

    `changes` are fields of single causes: `fields={"a.x": {"refines": ("a.y",)}}`, or of the base.
    """
    inner, leaks = mechanisms or {}, leaks or {}
    fields = changes.pop("fields", {})
    heads = dict.fromkeys([*(head for _, head, _ in arrows if head not in inner), *leaks])

    def out(tail: str, to_mechanism: bool) -> tuple[Link, ...]:
        chosen = [(h, s) for t, h, s in arrows if t == tail and (h in inner) == to_mechanism]
        return tuple(Link(h, s, f"{tail} makes {h}", "src", "strong") for h, s in chosen)

    def clears(tail: str) -> tuple[str, ...]:
        return tuple(link.to for link in out(tail, False))[:1]

    def cause(name: str, prior: float) -> Cause:
        base = {
            "title": f"Title of {name}",
            "summary": "Made for a test.",
            "status": "stable",
            "leads_to": out(name, True),
            "shows": out(name, False),
            "remedies": (Remedy("Undo it", 5, 0.8, confirms="it is gone", clears=clears(name)),),
            "provenance": ("src",),
        }
        return Cause(id=name, prior=prior, **{**base, **fields.get(name, {})})

    return RuleBase(
        causes={c: cause(c, p) for c, p in causes.items()},
        mechanisms={
            m: Mechanism(m, f"Title of {m}", p, out(m, True), out(m, False)) for m, p in inner.items()
        },
        symptoms={
            s: Symptom(s, f"Title of {s}", "test", leaks.get(s, 0.01), "a.b", sources=("src",)) for s in heads
        },
        sources={"src": "A test"},
        checklists=changes.pop("checklists", {}),
        version="test",
        **changes,
    )


def enumerate_exactly(network: Network, case: Case) -> tuple[np.ndarray, float]:
    """Return the exact posterior of every cause and the log-probability of the readings."""
    hidden, causes = network.first_symptom, len(network.causes)
    worlds = np.array(list(itertools.product([False, True], repeat=hidden))).reshape(-1, hidden)
    prior = 1.0 / (1.0 + np.exp(-case.prior))
    log_p = np.where(worlds[:, :causes], np.log(prior), np.log1p(-prior)).sum(axis=1)
    for node in range(causes, len(network.leak)):
        into = network.head == node
        fails = worlds[:, network.tail[into]] * np.log1p(-network.strength[into])
        log_off = np.log1p(-network.leak[node]) + fails.sum(axis=1)
        log_on = np.log(-np.expm1(log_off))
        if node < hidden:
            log_p += np.where(worlds[:, node], log_on, log_off)
        elif case.seen[node - hidden]:
            log_p += log_on if case.seen[node - hidden] > 0 else log_off
    total = float(np.logaddexp.reduce(log_p))
    return np.exp(log_p - total) @ worlds[:, :causes], total


def random_network(seed: int, shape: tuple[int, int, int], parents: float, tree: bool = False) -> Network:
    """Make a random network of (causes, mechanisms, symptoms) with 1 + Poisson(parents) parents per node."""
    rng = np.random.default_rng(seed)
    causes, mechanisms, symptoms = shape
    first, total = causes + mechanisms, sum(shape)
    leak = np.concatenate(
        [
            rng.choice([0.004, 0.01, 0.025, 0.05], causes),
            rng.choice([0.008, 0.03], mechanisms),
            rng.choice([0.002, 0.008, 0.03, 0.1, 0.25], symptoms),
        ]
    )
    group = list(range(total))  # which nodes hang together, to keep trees trees
    rows = []
    for head in range(causes, total):
        count = 1 + rng.poisson(parents)
        for tail in rng.permutation(min(head, first))[:count]:
            if tree and group[tail] == group[head]:
                continue
            group = [group[tail] if g == group[head] else g for g in group]
            rows.append((head, int(tail), rng.choice([0.2, 0.5, 0.8, 0.95])))
    table = np.array(sorted(rows), dtype=np.float64)
    return Network(
        tuple(f"c.{i:04}" for i in range(causes)),
        tuple(f"m{i:04}" for i in range(mechanisms)),
        tuple(f"s{i:04}" for i in range(symptoms)),
        leak,
        table[:, 1].astype(np.int64),
        table[:, 0].astype(np.int64),
        table[:, 2],
    )


def sampled_case(network: Network, seed: int, unknown: float = 0.3) -> Case:
    """Draw a world with at least one cause from the network itself, and forget a share of its symptoms."""
    rng = np.random.default_rng(seed)
    on = np.zeros(len(network.leak), dtype=bool)
    while not on[: len(network.causes)].any():
        for node, leak in enumerate(network.leak):
            into = network.head == node
            fails = np.where(on[network.tail[into]], 1 - network.strength[into], 1.0)
            on[node] = rng.random() > (1 - leak) * fails.prod()
    seen = np.where(on[network.first_symptom :], 1, -1)
    seen[rng.random(len(seen)) < unknown] = 0
    return Case(logit(network.leak[: len(network.causes)]), seen.astype(np.int8))


@pytest.fixture(scope="session")
def make() -> Callable[..., RuleBase]:
    """Make rules in memory."""
    return rule_base


@pytest.fixture(scope="session")
def exactly() -> Callable[..., tuple[np.ndarray, float]]:
    """Infer by enumeration."""
    return enumerate_exactly


@pytest.fixture(scope="session")
def random_case() -> Callable[..., tuple[Network, Case]]:
    """Make a random network and a case drawn from it."""

    def make_one(
        seed: int, shape: tuple[int, int, int], parents: float, tree: bool = False
    ) -> tuple[Network, Case]:
        network = random_network(seed, shape, parents, tree)
        return network, sampled_case(network, seed)

    return make_one


SCALE = """\
prior: {rare: 0.004, common: 0.025}
leak: {never: 0.002, rare: 0.008}
strength: {weak: 0.2, medium: 0.5, strong: 0.8}
works: {seldom: 0.2, often: 0.5}
bounds: {prior_min: 0.002, leak_min: 0.002, strength_max: 0.97}
"""
SOURCES = 'sources:\n  manual: "The manual"\n'
MECHANISMS = """\
mechanisms:
  - id: gears-slip
    title: The gears slip
    leak: rare
    shows:
      - {symptom: noise, strength: strong, source: manual, because: "slipping gears are loud"}
"""
SYMPTOMS = """\
area: sound
symptoms:
  - {id: noise, title: It is loud, probe: ears.noise, params: {above: 1e-5}, leak: rare, sources: [manual]}
  - {id: smell, title: It smells, question: "Does it smell?", leak: never, sources: [manual]}
"""
CAUSE = """\
id: parts.worn
title: A part is worn
summary: Parts wear out.
status: stable
prior: common
leads_to:
  - {to: gears-slip, strength: strong, source: manual, because: "worn teeth do not hold"}
shows:
  - {symptom: smell, strength: medium, source: manual, because: "worn parts run hot"}
remedies:
  - {do: "Replace the part", minutes: 30, works: often, confirms: "it is quiet", clears: [noise]}
provenance: [{source: manual}]
examples:
  - {given: {noise: present, smell: present}, rank: 1}
"""
FILES = {
    "scale.yaml": SCALE,
    "sources.yaml": SOURCES,
    "mechanisms.yaml": MECHANISMS,
    "symptoms/sound.yaml": SYMPTOMS,
    "causes/parts/worn.yaml": CAUSE,
}


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """Write a small sound rule folder; `changes` replace a file, add one, or (None) leave one out."""

    def write(
        changes: Mapping[str, str | None] | None = None, name: str = "rules", only: bool = False
    ) -> Path:
        root = tmp_path / name
        for path, text in {**({} if only else FILES), **(changes or {})}.items():
            if text is not None:
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text, encoding="utf-8")
        return root

    return write


@pytest.fixture
def texts() -> dict[str, str]:
    """The files of the small sound rule folder."""
    return dict(FILES)
