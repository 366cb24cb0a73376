"""Fit `rules/experience.yaml` to the recorded runs: what symptoms say beyond the links.

    python faultlab/experience.py [--jobs 4]      # some minutes: every view of the dev half is diagnosed

For every cause a logistic regression over the symptoms that are present in the views of the dev half, and
over the areas of symptoms that were looked at (many faults leave no mark in logs: which ones, no link says),
healthy runs among them, with the network's log-odds as offset and a ridge penalty that keeps weights near
zero: what the links explain is left to them. A healthy run counts several times: one false alarm costs more
than a miss. What a program shows without a fault is left out of its faulty runs, and so are symptoms seen in
few programs (both would carry the habits of programs) and weights too small to matter. The hold-out half is
not used.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import yaml

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

from score import accepted, copied, diagnosis, jobs  # noqa: E402

from traindoctor.engine import caution, experience  # noqa: E402
from traindoctor.engine.infer import Floats  # noqa: E402
from traindoctor.engine.load import load_rules  # noqa: E402
from traindoctor.engine.model import State  # noqa: E402

TARGET = HERE.parent / "rules" / "experience.yaml"
RIDGE = 3.0  # nats taken for a weight of one
HEALTHY = 5.0  # views that one view of a healthy run counts for
HABIT = 0.25  # share of the views of a program's healthy runs from which a symptom is its habit
PROGRAMS = 3  # in which a symptom must have been seen
SMALLEST = 0.2  # a weight below it is left out
MOST = 1.0  # nats by which a cause is moved at most: for programs left out more brought next to nothing
AREAS = frozenset({"loss", "script", "benchmark", "edits"})  # a curve, a script, a benchmark, and its script
WHERE = "loss"  # the one of which every recorded run shows something
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


def see(job: Job) -> Seen:
    """Diagnose one view."""
    _, label, with_benchmark, with_script = job
    with tempfile.TemporaryDirectory() as scratch:
        found = diagnosis(*copied(job, Path(scratch)))
    odds = {}
    for h in found.hypotheses:
        beside = (experience.NAME, caution.NAME)
        parts = sum(v for k, v in h.contributions.items() if k not in beside)
        odds[h.cause] = log(h.prior / (1.0 - h.prior)) + parts
    right = accepted(label, with_benchmark, with_script) if label["cause"] != "healthy" else ()
    states = {f.symptom: f.state for f in found.findings}
    present = {s for s, state in states.items() if state is State.PRESENT}
    present |= {LOOKED + area for area in experience.looked_at(load_rules(), states) & AREAS}
    return Seen(label["archetype"], frozenset(present), odds, frozenset(right))


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


def fit(views: Sequence[Seen], ridge: float = RIDGE) -> dict[str, dict[str, float]]:
    """Return symptom -> cause -> log-odds."""
    views = beyond_habits(views)
    symptoms = usable(views)
    x = np.array([[s in v.present for s in symptoms] for v in views], dtype=np.float64)
    weights: dict[str, dict[str, float]] = {s: {} for s in symptoms}
    # Of several causes that are right the one believed most counts as right, the others are left out.
    first = [max(v.right & v.odds.keys(), key=lambda c, v=v: v.odds[c], default="") for v in views]
    counted = np.array([1.0 if v.right else HEALTHY for v in views])
    for cause in sorted({c for v in views for c in v.odds}):
        kept = np.array([f == cause or cause not in v.right for v, f in zip(views, first, strict=True)])
        y = np.array([f == cause for f in first], dtype=np.float64)[kept]
        if not y.any():
            continue  # a cause that was never seen is left to the links
        offset = np.array([v.odds.get(cause, -8.0) for v in views])[kept]
        found = regression(x[kept], y, offset, counted[kept], ridge)
        for symptom, weight in zip(symptoms, found.tolist(), strict=True):
            if abs(weight) >= SMALLEST:
                weights[symptom][cause] = round(weight, 2)
    return {s: w for s, w in weights.items() if w}


def regression(x: Floats, y: Floats, offset: Floats, counted: Floats, ridge: float) -> Floats:
    """Ridge logistic regression without intercept, by Newton's method: (columns of x,)."""
    used = x.any(axis=0)
    x, all_weights = x[:, used], np.zeros(len(used))
    w = np.zeros(x.shape[1])
    for _ in range(ROUNDS):
        p = 1.0 / (1.0 + np.exp(-np.clip(offset + x @ w, -30.0, 30.0)))
        slope = x.T @ (counted * (p - y)) + 2.0 * ridge * w
        curve = (x * (counted * p * (1.0 - p))[:, None]).T @ x + 2.0 * ridge * np.eye(len(w))
        step = np.linalg.solve(curve, slope)
        step *= min(1.0, 2.0 / max(float(np.abs(step).max(initial=0.0)), 1e-12))
        w -= step
        if float(np.abs(step).max(initial=0.0)) < 1e-6:
            break
    all_weights[used] = w
    return all_weights


def page(weights: Mapping[str, Mapping[str, float]], views: Sequence[Seen]) -> str:
    """The text of experience.yaml."""
    programs, faulty = len({v.program for v in views}), sum(bool(v.right) for v in views)
    parts = {"weights": "", "looked": ""}
    for name, found in sorted(weights.items()):
        inner = ", ".join(f"{c}: {w:g}" for c, w in sorted(found.items()))
        parts["looked" if name.startswith(LOOKED) else "weights"] += (
            f"  {name.removeprefix(LOOKED)}: {{{inner}}}\n"
        )
    return (
        "# Written by faultlab/experience.py; do not edit. engine/experience.py says what it is used for.\n"
        f"estimated_from: fault lab, dev half ({faulty} views of faulty runs, {len(views) - faulty}"
        f" of healthy ones, {programs} programs); ridge logistic regression beside the links\n"
        f"most: {MOST:g}\nwhere: {WHERE}\n" + "".join(f"{part}:\n{rows}" for part, rows in parts.items())
    )


def crossed(views: Sequence[Seen], folds: int = 4) -> list[str]:
    """Lines that say how often the first cause is right for programs that the fit did not see."""
    programs = sorted({v.program for v in views})
    plain, fitted, alarms = [], [], [0, 0]
    for k in range(folds):
        outside = set(programs[k::folds])
        weights = fit([v for v in views if v.program not in outside])
        for view in (v for v in views if v.program in outside):
            total: Counter[str] = Counter()
            for symptom in view.present:
                total.update(weights.get(symptom, {}))
            moved = {c: odds + max(-MOST, min(MOST, total[c])) for c, odds in view.odds.items()}
            if view.right:
                plain.append(max(view.odds, key=lambda c, v=view: v.odds[c]) in view.right)
                fitted.append(max(moved, key=lambda c, m=moved: m[c]) in view.right)
            else:
                alarms[0] += max(view.odds.values()) >= 0.0
                alarms[1] += max(moved.values()) >= 0.0
    return [
        f"programs left out of the fit, {len(plain)} views: links {np.mean(plain):.3f},"
        f" with weights {np.mean(fitted):.3f}; views of healthy runs alarmed, without the engine's bound:"
        f" {alarms[0]} and {alarms[1]}"
    ]


def main() -> None:
    """Diagnose, fit, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--dry-run", action="store_true", help="say how well it does, write nothing")
    args = parser.parse_args()
    labels = yaml.load((HERE / "cases.yaml").read_text(), Loader=yaml.CSafeLoader)
    todo = [j for j in jobs(labels) if j[1]["half"] == "dev"]
    with ProcessPoolExecutor(args.jobs) as pool:
        views = list(pool.map(see, todo, chunksize=8))
    print(*crossed(views), sep="\n")
    if not args.dry_run:
        TARGET.write_text(page(fit(views), views))


if __name__ == "__main__":
    main()
