"""Fit `rules/experience.yaml` to the recorded runs: what symptoms say beyond the links.

    python faultlab/experience.py [--jobs 4]      # some minutes: every view of the dev half is diagnosed

For every cause a logistic regression over the symptoms that are present in the views of the dev half, and
over the areas of symptoms that were looked at (many faults leave no mark in logs: which ones, no link says),
and over where the values of symptoms stand among those of the other views, healthy runs among them, with the
network's log-odds as offset and a ridge penalty that keeps weights near zero: what the links explain is left
to them. A healthy run counts several times: one false alarm costs more than a miss. What a program shows
without a fault is left out of its faulty runs, and so are symptoms seen in few programs (both would carry
the habits of programs) and weights too small to matter. The hold-out half is not used.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

import less_logged  # noqa: E402
from score import accepted, copied, jobs, rules  # noqa: E402

from traindoctor.engine import experience  # noqa: E402
from traindoctor.engine.infer import Floats, believe  # noqa: E402
from traindoctor.engine.model import Evidence, Graded, RunInfo, State  # noqa: E402
from traindoctor.probes.assembly.assemble import open_run  # noqa: E402
from traindoctor.probes.readings import readings  # noqa: E402
from traindoctor.probes.run import Run  # noqa: E402

TARGET = HERE.parent / "rules" / "experience.yaml"
RIDGE = 3.0  # nats taken for a weight of one
RIDGE_GRADED = 10.0  # the same for a value's weight: values carry more of a program than states do
HEALTHY = 5.0  # views that one view of a healthy run counts for
LESS_LOGGED = 0.3  # the same of a view of which something was taken away
HABIT = 0.25  # share of the views of a program's healthy runs from which a symptom is its habit
PROGRAMS = 3  # in which a symptom must have been seen
SMALLEST = 0.2  # a weight below it is left out
SMALLEST_GRADED = 0.1
MEASURED = 60  # views in which a value must have been measured
KNOTS = 9  # values of a symptom that are kept, at even shares of the views
MOST = 1.5  # nats by which a cause is moved at most: for programs left out more brought next to nothing
BALANCE = 0.5  # of the sum of probabilities given back: with all of it more was said, and less of it right
AREAS = frozenset({"loss", "script", "benchmark", "edits"})  # a curve, a script, a benchmark, and its script
WHERE = "loss"  # the one of which every recorded run shows something
UNLIKE = "policies"  # areas of kinds of training that the lab does not have
LOOKED = "looked:"  # begins the name of a column that says that an area was looked at
ROUNDS = 30  # of Newton's method; it settles in far fewer

Job = tuple[str, dict[str, Any], bool, bool]


@dataclass(frozen=True)
class Seen:
    """One view: what was present, what the links made of it, what would have been right."""

    program: str
    present: frozenset[str]  # symptoms; areas as "looked:loss"
    odds: Mapping[str, float]  # cause -> log-odds before these weights and before caution
    right: frozenset[str]  # empty: healthy
    values: Mapping[str, float] = field(
        default_factory=dict
    )  # symptom -> what was measured, whatever its state
    counts: float = 1.0  # views that this one counts for


@dataclass(frozen=True)
class Fitted:
    """What the fit gives: the two parts of experience.yaml."""

    weights: Mapping[str, Mapping[str, float]]  # symptom, or "looked:" and area -> cause -> log-odds
    graded: Mapping[str, Graded]  # symptom -> what its value adds

    def moves(self, view: Seen) -> dict[str, float]:
        """Cause -> log-odds that are added to what the links say of a view, by symptoms and values."""
        total: Counter[str] = Counter()
        for symptom in view.present:
            total.update(self.weights.get(symptom, {}))
        for symptom, graded in self.graded.items():
            if symptom in view.values and LOOKED + WHERE in view.present:
                place = experience.stands(graded, view.values[symptom])
                total.update({c: place * w for c, w in graded.weights.items()})
        moved = {c: max(-MOST, min(MOST, w)) for c, w in total.items()}
        return experience.balanced(view.odds, moved, BALANCE) if moved else {}


def see(job: Job) -> list[Seen]:
    """What one view shows; without the script as well what it would show if less had been logged."""
    _, label, with_benchmark, with_script = job
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        path, other_path = copied(job, Path(scratch))
        run, other = open_run(path), open_run(other_path) if other_path else None
        right = accepted(label, with_benchmark, with_script) if label["cause"] != "healthy" else set()
        for each, beside, counts in _sides(run, other, with_script):
            evidence = readings(each, beside, rules().symptoms.values())
            found.append(_seen(label["archetype"], evidence, run.info, frozenset(right), counts))
    return found


def _sides(run: Run, other: Run | None, with_script: bool) -> Iterator[tuple[Run, Run | None, float]]:
    """The run, its benchmark, and what the view counts: as they are, and with less logged in both."""
    yield run, other, 1.0
    if not with_script:
        less = dict(less_logged.variants(other)) if other else {}
        for name, each in less_logged.variants(run):
            yield each, less.get(name, other), LESS_LOGGED


def _seen(program: str, evidence: Evidence, info: RunInfo, right: frozenset[str], counts: float) -> Seen:
    states = {s: evidence[s].state if s in evidence else State.UNKNOWN for s in rules().symptoms}
    belief = believe(rules(), states, info.context)
    present = {s for s, state in states.items() if state is State.PRESENT}
    present |= {LOOKED + area for area in experience.looked_at(rules(), states) & AREAS}
    return Seen(program, frozenset(present), belief.odds, right, experience.measured(evidence), counts=counts)


def beyond_habits(views: Sequence[Seen]) -> list[Seen]:
    """The views, faulty ones without the symptoms that healthy runs of the same program show as well."""
    shown: dict[str, Counter[str]] = {}
    healthy = Counter(v.program for v in views if not v.right)
    for view in views:
        if not view.right:
            shown.setdefault(view.program, Counter()).update(view.present)
    habits = {
        p: {s for s, n in seen.items() if n >= HABIT * healthy[p] and not s.startswith(LOOKED)}
        for p, seen in shown.items()
    }
    return [replace(v, present=v.present - habits.get(v.program, set())) if v.right else v for v in views]


def usable(views: Sequence[Seen]) -> list[str]:
    """Symptoms that were present in enough programs, sorted."""
    programs: dict[str, set[str]] = {}
    for view in views:
        for symptom in view.present:
            programs.setdefault(symptom, set()).add(view.program)
    return sorted(s for s, found in programs.items() if len(found) >= PROGRAMS)


def scales(views: Sequence[Seen]) -> dict[str, Graded]:
    """Symptom -> where its values stand among the views, without weights; of those often measured."""
    measured: dict[str, list[tuple[float, str]]] = {}
    for view in views:
        for symptom, value in view.values.items():
            measured.setdefault(symptom, []).append((value, view.program))
    found = {}
    for symptom, pairs in sorted(measured.items()):
        values = np.sort([float(f"{value:.4g}") for value, _ in pairs])  # as they will be written
        if len(pairs) < MEASURED or len({program for _, program in pairs}) < PROGRAMS:
            continue
        at = np.unique(np.quantile(values, np.linspace(0.0, 1.0, KNOTS), method="nearest"))
        below = np.searchsorted(values, at, "left") + np.searchsorted(values, at, "right")
        if len(at) > 1:
            found[symptom] = Graded(at.tolist(), np.round(below / len(values) - 1.0, 3).tolist(), {})
    return found


def fit(views: Sequence[Seen], ridge: float = RIDGE, graded: float = RIDGE_GRADED) -> Fitted:
    """Fit the weights of present symptoms and areas, and those of values."""
    views = beyond_habits(views)
    symptoms, scale = usable(views), scales(views)
    placed = [
        [experience.stands(g, v.values[s]) if s in v.values else 0.0 for s, g in scale.items()] for v in views
    ]
    x = np.array([[s in v.present for s in symptoms] for v in views], dtype=np.float64)
    x = np.hstack([x, np.array(placed, dtype=np.float64).reshape(len(views), len(scale))])
    penalty = np.array([ridge] * len(symptoms) + [graded] * len(scale))
    weights: dict[str, dict[str, float]] = {s: {} for s in symptoms}
    valued: dict[str, dict[str, float]] = {s: {} for s in scale}
    # Of several causes that are right the one believed most counts as right, the others are left out.
    first = [max(v.right & v.odds.keys(), key=lambda c, v=v: v.odds[c], default="") for v in views]
    counted = np.array([v.counts if v.right else HEALTHY * v.counts for v in views])
    for cause in sorted({c for v in views for c in v.odds}):
        kept = np.array([f == cause or cause not in v.right for v, f in zip(views, first, strict=True)])
        y = np.array([f == cause for f in first], dtype=np.float64)[kept]
        if not y.any():
            continue  # a cause that was never seen is left to the links
        offset = np.array([v.odds.get(cause, -8.0) for v in views])[kept]
        found = regression(x[kept], y, offset, counted[kept], penalty).tolist()
        for table, smallest, part in (
            (weights, SMALLEST, found[: len(symptoms)]),
            (valued, SMALLEST_GRADED, found[len(symptoms) :]),
        ):
            for symptom, weight in zip(table, part, strict=True):
                if abs(weight) >= smallest:
                    table[symptom][cause] = round(weight, 2)
    return Fitted(
        {s: w for s, w in weights.items() if w},
        {s: replace(scale[s], weights=w) for s, w in valued.items() if w},
    )


def regression(x: Floats, y: Floats, offset: Floats, counted: Floats, ridge: Floats) -> Floats:
    """Ridge logistic regression without intercept, by Newton's method: (columns of x,), as `ridge`."""
    used = x.any(axis=0)
    x, ridge, all_weights = x[:, used], ridge[used], np.zeros(len(used))
    w = np.zeros(x.shape[1])
    for _ in range(ROUNDS):
        p = 1.0 / (1.0 + np.exp(-np.clip(offset + x @ w, -30.0, 30.0)))
        slope = x.T @ (counted * (p - y)) + 2.0 * ridge * w
        curve = (x * (counted * p * (1.0 - p))[:, None]).T @ x + 2.0 * np.diag(ridge)
        step = np.linalg.solve(curve, slope)
        step *= min(1.0, 2.0 / max(float(np.abs(step).max(initial=0.0)), 1e-12))
        w -= step
        if float(np.abs(step).max(initial=0.0)) < 1e-6:
            break
    all_weights[used] = w
    return all_weights


def page(fitted: Fitted, views: Sequence[Seen]) -> str:
    """The text of experience.yaml."""
    whole = [v for v in views if v.counts == 1.0]
    programs, faulty = len({v.program for v in whole}), sum(bool(v.right) for v in whole)
    parts = {"weights": "", "looked": "", "graded": ""}
    for name, found in sorted(fitted.weights.items()):
        inner = ", ".join(f"{c}: {w:g}" for c, w in sorted(found.items()))
        parts["looked" if name.startswith(LOOKED) else "weights"] += (
            f"  {name.removeprefix(LOOKED)}: {{{inner}}}\n"
        )
    for name, value in sorted(fitted.graded.items()):
        inner = ", ".join(f"{c}: {w:g}" for c, w in sorted(value.weights.items()))
        at, stands = (", ".join(f"{x:g}" for x in xs) for xs in (value.at, value.stands))
        parts["graded"] += f"  {name}:\n    at: [{at}]\n    stands: [{stands}]\n    weights: {{{inner}}}\n"
    return (
        "# Written by faultlab/experience.py; do not edit. engine/experience.py says what it is used for.\n"
        f"estimated_from: fault lab, dev half ({faulty} views of faulty runs, {len(whole) - faulty}"
        f" of healthy ones, {programs} programs; {len(views) - len(whole)} more with less logged);"
        " ridge logistic regression beside the links\n"
        f"most: {MOST:g}\nbalance: {BALANCE:g}\nwhere: {WHERE}\nunlike: [{UNLIKE}]\n"
        + "".join(f"{part}:\n{rows}" for part, rows in parts.items())
    )


def crossed(views: Sequence[Seen], folds: int = 4) -> list[str]:
    """Lines that say how often causes are right for programs that the fit did not see."""
    programs = sorted({v.program for v in views})
    ranks: dict[bool, list[tuple[int, int]]] = {True: [], False: []}  # as logged? -> by links, with weights
    alarms = [0, 0]
    for k in range(folds):
        outside = set(programs[k::folds])
        fitted = fit([v for v in views if v.program not in outside])
        for view in (v for v in views if v.program in outside):
            moves = fitted.moves(view)
            moved = {c: odds + moves.get(c, 0.0) for c, odds in view.odds.items()}
            if view.right:
                ranks[view.counts == 1.0].append((_rank(view.odds, view.right), _rank(moved, view.right)))
            elif view.counts == 1.0:
                alarms[0] += max(view.odds.values()) >= 0.0
                alarms[1] += max(moved.values()) >= 0.0
    lines = []
    for title, found in (("as logged", ranks[True]), ("with less logged", ranks[False])):
        shares = [[np.mean([r[i] <= n for r in found]) for n in (1, 3)] for i in (0, 1)] if found else []
        by_links, weighed = (f"{one:.3f}/{three:.3f}" for one, three in shares) if shares else ("-", "-")
        lines.append(f"{title}, {len(found)} views, first/three: links {by_links}, with weights {weighed}")
    return [
        "programs left out of the fit",
        *lines,
        f"views of healthy runs alarmed, without the engine's bound: {alarms[0]} and {alarms[1]}",
    ]


def _rank(odds: Mapping[str, float], right: frozenset[str]) -> int:
    order = sorted(odds, key=lambda c: -odds[c])
    return min(i for i, cause in enumerate(order, 1) if cause in right)


def main() -> None:
    """Diagnose, fit, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--dry-run", action="store_true", help="say how well it does, write nothing")
    args = parser.parse_args()
    labels = yaml.load((HERE / "cases.yaml").read_text(), Loader=yaml.CSafeLoader)
    todo = [j for j in jobs(labels) if j[1]["half"] == "dev"]
    with ProcessPoolExecutor(args.jobs) as pool:
        views = [view for found in pool.map(see, todo, chunksize=8) for view in found]
    print(*crossed(views), sep="\n")
    if not args.dry_run:
        TARGET.write_text(page(fit(views), views))


if __name__ == "__main__":
    main()
