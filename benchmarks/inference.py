"""CPU time of inference over the whole rule base, and over a generated one of 1,000 causes x 1,000 symptoms.

Run with `make bench`. One inference is what a diagnosis does once: readings in, the probability of every
cause out, on a network that is compiled already; compiling is timed beside it. Every case is sampled from the
network itself (one draw of causes, mechanisms and symptoms, a third of the symptoms unknown), so something is
wrong in each. Printed are median and worst of CASES cases, in milliseconds of CPU (user + system), with one
thread, so that what else runs on the machine does not count.
"""

from __future__ import annotations

import os
import statistics
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy is imported

import numpy as np

from traindoctor.engine.infer import Case, Network, compile_network, infer, log_odds, logit
from traindoctor.engine.load import load_rules
from traindoctor.engine.model import Cause, Link, Mechanism, RuleBase, Symptom

CASES = 40
UNKNOWN = 1 / 3
LIMITS = {"rule base": 20.0, "1,000 x 1,000": 100.0}  # milliseconds


def generated(causes: int = 1000, mechanisms: int = 100, symptoms: int = 1000) -> RuleBase:
    """Make rules of the density of ours: 2 mechanisms and 9 symptoms per cause, 7 symptoms per mechanism."""
    rng = np.random.default_rng(0)
    strengths = [0.2, 0.5, 0.8, 0.95]

    def to(kind: str, first: int, end: int, count: int) -> tuple[Link, ...]:
        chosen = sorted(rng.choice(np.arange(first, end), min(count, end - first), replace=False).tolist())
        return tuple(Link(f"{kind}{i:04}", float(rng.choice(strengths)), "so", "src") for i in chosen)

    names = [f"x.c{i:04}" for i in range(causes)]
    return RuleBase(
        causes={
            n: Cause(n, n, n, "stable", 0.01, to("m", 0, mechanisms, 2), to("s", 0, symptoms, 9))
            for n in names
        },
        mechanisms={
            f"m{i:04}": Mechanism(
                f"m{i:04}", "m", 0.002, to("m", i + 1, mechanisms, i % 2), to("s", 0, symptoms, 7)
            )
            for i in range(mechanisms)
        },
        symptoms={f"s{i:04}": Symptom(f"s{i:04}", "s", "test", 0.03, "a.b") for i in range(symptoms)},
        sources={"src": "generated"},
        checklists={},
        version="generated",
    )


def sampled(network: Network, seed: int) -> Case:
    """Draw a world with at least one cause, and forget a share of what can be seen of it."""
    rng = np.random.default_rng(seed)
    on = np.zeros(len(network.leak), dtype=bool)
    while not on[: len(network.causes)].any():
        for node in range(len(network.leak)):
            into = network.head == node
            stays_off = np.prod(1 - network.strength[into] * on[network.tail[into]])
            on[node] = rng.random() > (1 - network.leak[node]) * stays_off
    seen = np.where(on[network.first_symptom :], 1, -1)
    seen[rng.random(len(seen)) < UNKNOWN] = 0
    return Case(logit(network.leak[: len(network.causes)]), seen.astype(np.int8))


def measured(name: str, rules: RuleBase) -> None:
    """Print the line of one rule base."""
    started = time.process_time()
    network = compile_network(rules)
    compiled = 1e3 * (time.process_time() - started)
    cases = [sampled(network, seed) for seed in range(CASES)]
    log_odds(network, cases[:1], infer(network, cases[:1]))
    taken = []
    for case in cases:
        started = time.process_time()
        log_odds(network, [case], infer(network, [case]))
        taken.append(1e3 * (time.process_time() - started))
    size = f"{len(network.causes)} causes, {len(network.symptoms)} symptoms, {len(network.tail)} arrows"
    print(
        f"{name:14} {size:48} compile {compiled:6.1f} ms   infer median {statistics.median(taken):6.2f} ms, "
        f"worst {max(taken):6.2f} ms   (limit {LIMITS[name]:.0f})"
    )


def main() -> None:
    """Print both lines."""
    measured("rule base", load_rules())
    measured("1,000 x 1,000", generated())


if __name__ == "__main__":
    main()
