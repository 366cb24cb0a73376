"""Score the diagnosis over the recorded runs. Needs no PyTorch.

Usage: python faultlab/score.py [--cases] [--json FILE] [--only TEXT] [--half dev|holdout] [--parts FILE]
           [--against FILE]

Every faulty run is diagnosed in up to four views: alone or with its benchmark, with the training script in
the directory or without it. Where the label says that the run alone cannot show its fault, only the views
with benchmark count; where it says that the curves are quiet (nothing is wrong with them by themselves), the
view without benchmark and script does not. Right means: the injected cause, or one that the label accepts
because no log could tell the two apart.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "src")]

from faultlab import parts  # noqa: E402
from traindoctor.engine.diagnose import diagnose  # noqa: E402
from traindoctor.engine.load import load_rules  # noqa: E402
from traindoctor.engine.model import Diagnosis, RuleBase  # noqa: E402
from traindoctor.probes.assembly.assemble import open_run  # noqa: E402
from traindoctor.probes.readings import readings  # noqa: E402

RUNS = HERE / "runs"
GRADES = ("mild", "medium", "strong")
ALARM = 0.5  # a healthy run with a cause at or above this is a false alarm


@dataclass(frozen=True)
class View:
    """One diagnosis of one run and what came of it. `rank` 0: the true cause is not in the rules."""

    case: str
    cause: str
    fault: str
    strength: str
    half: str
    archetype: str
    log: str
    benchmark: bool
    script: bool
    rank: int
    probability: float  # of the first hypothesis
    top: tuple[tuple[str, float], ...]
    checklist: tuple[tuple[str, str], ...]
    seconds: float
    errors: tuple[str, ...]
    present: tuple[str, ...]

    @property
    def right(self) -> bool:
        """Whether the first hypothesis is the injected cause."""
        return self.rank == 1

    @property
    def bad(self) -> bool:
        """A false alarm on a healthy run, or another cause first on a faulty one."""
        return self.probability >= ALARM if self.cause == "healthy" else not self.right

    @property
    def order(self) -> tuple[Any, ...]:
        """What views are listed by."""
        return (self.half, self.cause, self.fault, self.case, self.benchmark, self.script)


@lru_cache(maxsize=1)
def rules() -> RuleBase:
    """The rule base, once per process."""
    return load_rules()


def diagnosis(run: Path, benchmark: Path | None) -> Diagnosis:
    """Diagnose one directory in process, as the command does."""
    opened = open_run(run)
    other = open_run(benchmark) if benchmark else None
    evidence = readings(opened, other, rules().symptoms.values())
    return diagnose(rules(), evidence, run=opened.info, benchmark=other.info if other else None)


def look(job: tuple[str, dict[str, Any], bool, bool]) -> View:
    """Diagnose one case in one view, in a copy whose path says nothing."""
    name, label, with_benchmark, with_script = job
    with tempfile.TemporaryDirectory() as scratch:
        run, benchmark = copied(job, Path(scratch))
        start = time.perf_counter()
        found = diagnosis(run, benchmark)
        seconds = time.perf_counter() - start
    order = [h.cause for h in found.hypotheses]
    wanted = accepted(label, with_benchmark, with_script)
    return View(
        case=name,
        cause=label["cause"],
        fault=label["fault"],
        strength=label.get("strength", ""),
        half=label["half"],
        archetype=label["archetype"],
        log=label["log"],
        benchmark=with_benchmark,
        script=with_script,
        rank=min((i for i, c in enumerate(order, 1) if c in wanted), default=0),
        probability=found.hypotheses[0].probability,
        top=tuple((h.cause, round(h.probability, 3)) for h in found.hypotheses[:3]),
        checklist=tuple((c.id, str(c.result)) for c in found.checklist),
        seconds=seconds,
        errors=tuple(f.symptom for f in found.findings if f.why.startswith("probe error")),
        present=tuple(f.symptom for f in found.findings if f.state == "present"),
    )


def copied(job: tuple[str, dict[str, Any], bool, bool], scratch: Path) -> tuple[Path, Path | None]:
    """Copy what a view shows below a folder; return the run's directory and its benchmark's, if any."""
    name, label, with_benchmark, with_script = job
    run = _copy(name, scratch / "run", with_script)
    return run, _benchmark(label, scratch / "benchmark", with_script) if with_benchmark else None


def _benchmark(label: dict[str, Any], target: Path, with_script: bool) -> Path:
    """The benchmark's directory; of a benchmark that was run several times one with a folder per run."""
    if "repeats" not in label:
        return _copy(label["benchmark"], target, with_script)
    for i, name in enumerate([label["benchmark"], *label["repeats"]], 1):
        _copy(name, target / f"run-{i}", with_script)
    return target


def accepted(label: dict[str, Any], benchmark: bool, script: bool) -> set[str]:
    """The causes that are right in this view: the injected one, and those that the label accepts in it."""
    return {label["cause"]} | {
        also["cause"]
        for also in label.get("accept", ())
        if also.get("benchmark") in (None, benchmark) and also.get("script") in (None, script)
    }


def _copy(name: str, target: Path, with_script: bool) -> Path:
    ignore = None if with_script else shutil.ignore_patterns("*.py")
    shutil.copytree(RUNS / name, target, ignore=ignore)
    return target


def jobs(labels: dict[str, dict[str, Any]]) -> list[tuple[str, dict[str, Any], bool, bool]]:
    """Every view of every case; healthy runs are also held against another healthy run of their kind."""
    made = []
    for name, label in labels.items():
        if label["cause"] == "reference":  # part of a benchmark, no case
            continue
        sides = [False] if label.get("alone", True) else []
        sides += [True] if label.get("benchmark") else []
        views = [(side, script) for side in sides for script in (False, True)]
        made += [
            (name, label, *view) for view in views if not (label.get("quiet") and view == (False, False))
        ]
    return made


# ------------------------------------------------------------------------------------------------ figures


def share(views: Sequence[View], test: Callable[[View], float]) -> float:
    """The share of views that pass (or the mean of a figure of theirs), or NaN of none."""
    return sum(map(test, views)) / len(views) if views else float("nan")


def figures(views: Sequence[View]) -> dict[str, float]:
    """The figures of a group of faulty views."""
    return {
        "n": len(views),
        "top1": share(views, lambda v: v.rank == 1),
        "top3": share(views, lambda v: 1 <= v.rank <= 3),
        "mrr": sum(1 / v.rank for v in views if v.rank) / len(views) if views else float("nan"),
        "brier": sum((v.probability - v.right) ** 2 for v in views) / len(views) if views else float("nan"),
        "silent": share(views, lambda v: v.probability < ALARM),
    }


def by_case(views: Sequence[View]) -> dict[str, float]:
    """The figures where a case counts once: the mean over its views, then the mean over the cases."""
    cases: dict[str, list[View]] = defaultdict(list)
    for v in views:
        cases[v.case].append(v)
    each = [figures(mine) for mine in cases.values()]
    means = (
        {k: sum(f[k] for f in each) / len(each) if each else float("nan") for k in each[0]} if each else {}
    )
    return {**means, "n": len(each)}


def by_view(views: Sequence[View]) -> Iterable[tuple[str, list[View]]]:
    """The four views: their names and what belongs to each."""
    for script in (False, True):
        for benchmark in (False, True):
            title = (
                f"{'with' if benchmark else 'without'} benchmark, {'with' if script else 'without'} script"
            )
            yield title, [v for v in views if v.benchmark == benchmark and v.script == script]


def line(title: str, views: Sequence[View]) -> str:
    """One row of a table."""
    return row(title, figures(views))


def row(title: str, f: dict[str, float]) -> str:
    """One row of a table, of these figures."""
    shares = " ".join(f"{f[k]:5.2f}" for k in ("top1", "top3", "mrr"))
    return f"{title:44s} {f['n']:4.0f}  {shares} {f['brier']:6.3f} {f['silent']:6.2f}"


def reliability(views: Sequence[View]) -> Iterable[str]:
    """How often the first hypothesis is right, by the probability it was given."""
    for low, high in ((0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 0.9), (0.9, 1.01)):
        group = [v for v in views if low <= v.probability < high]
        if group:
            said = sum(v.probability for v in group) / len(group)
            right = share(group, lambda v: v.right)
            upper = min(high, 1.0)
            yield f"  said {low:.1f} to {upper:.1f}: n {len(group):4d}  mean {said:.2f}  right {right:.2f}"


def table(views: Sequence[View]) -> list[str]:
    """The report of one half."""
    sick = [v for v in views if v.cause != "healthy"]
    well = [v for v in views if v.cause == "healthy"]
    lines = [
        f"{'':44s} {'n':>4s}  {'top1':>5s} {'top3':>5s} {'mrr':>5s} {'brier':>6s} {'silent':>6s}",
        line("all", sick),
        *([row("each case once", by_case(sick))] if sick else []),
        *(line(title, mine) for title, mine in by_view(sick)),
    ]
    for kind, key in (
        ("strength (where cases are graded)", lambda v: v.strength if v.strength in GRADES else ""),
        ("category", lambda v: v.cause.split(".")[0]),
        ("format", lambda v: v.log),
        ("archetype", lambda v: v.archetype),
    ):
        groups: dict[str, list[View]] = defaultdict(list)
        for v in sick:
            if key(v):
                groups[key(v)].append(v)
        lines += [f"by {kind}", *(line(f"  {name}", groups[name]) for name in sorted(groups))]
    alarmed = {v.case for v in well if v.probability >= ALARM}
    lines += [
        f"healthy: {len(alarmed)} of {len({v.case for v in well})} runs alarmed "
        f"({sum(v.probability >= ALARM for v in well)} of {len(well)} views)",
        "reliability of the first hypothesis (faulty runs)",
        *reliability(sick),
        f"checklist: {_verdicts(sick)} (faulty), {_verdicts(well)} (healthy)",
        f"seconds per diagnosis: {share(views, lambda v: v.seconds):.2f} on average, "
        f"{max((v.seconds for v in views), default=0):.2f} at most",
    ]
    errors = sorted({(v.case, e) for v in views for e in v.errors})
    return lines + [f"probe error: {case} {symptom}" for case, symptom in errors[:20]]


def _verdicts(views: Sequence[View]) -> str:
    counts: dict[str, int] = defaultdict(int)
    for v in views:
        for _, result in v.checklist:
            counts[result] += 1
    return ", ".join(f"{n} {r}" for r, n in sorted(counts.items()))


def case_lines(views: Sequence[View]) -> Iterable[str]:
    """Each view with the rank of its true cause; b: with benchmark, s: with script."""
    for v in views:
        mark = ("*" if v.bad else " ") + ("b" if v.benchmark else "-") + ("s" if v.script else "-")
        top = "  ".join(f"{c} {p:.2f}" for c, p in v.top)
        yield f"{mark} {v.case} {v.log:11s} {v.cause} [{v.fault} {v.strength}] rank {v.rank}: {top}"


def main() -> None:
    """Score, print, and store what is asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", action="store_true", help="list every view with its top three")
    parser.add_argument("--symptoms", action="store_true", help="with --cases: the present symptoms, too")
    parser.add_argument("--bad", action="store_true", help="with --cases: only those that are wrong")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default="", help="cases whose label holds this text")
    parser.add_argument("--every", type=int, default=1, help="one case of so many, always the same ones")
    parser.add_argument("--half", choices=("dev", "holdout"))
    parser.add_argument("--parts", type=Path, help="a file that keeps what was diagnosed, to go on from")
    parser.add_argument("--against", type=Path, help="a stored score; clearly worse than it is an error")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    options = parser.parse_args()
    labels = yaml.load((HERE / "cases.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    labels = {
        n: x
        for n, x in labels.items()
        if options.only in f"{n} {x}"
        and options.half in (None, x["half"])
        and zlib.crc32(n.encode()) % options.every == 0
    }
    views = parts.each(
        look,
        jobs(labels),
        options.jobs,
        options.parts,
        name=lambda job: f"{job[0]}/{job[2]}/{job[3]}",
        pack=asdict,
        unpack=lambda _, row: View(**row),
    )
    if options.cases:
        half = options.half or "dev"  # the held-out half is listed only when asked for
        shown = sorted(
            (v for v in views if v.half == half and (v.bad or not options.bad)), key=lambda v: v.order
        )
        for text, view in zip(case_lines(shown), shown, strict=True):
            print(text)
            if options.symptoms:
                print("      ", " ".join(view.present))
    halves = {h: [v for v in views if v.half == h] for h in ("dev", "holdout")}
    for half, mine in halves.items():
        if mine:
            print(f"\n== {half}", *table(mine), sep="\n")
    figures_now = {h: _stored(mine) for h, mine in halves.items() if mine}
    if options.json:
        kept = [
            {k: x for k, x in asdict(v).items() if k not in ("seconds", "present", "checklist")}
            for v in views
        ]
        lines = ",\n".join(json.dumps(v) for v in kept)
        options.json.write_text(
            f'{{"figures": {json.dumps(figures_now, indent=1)},\n"views": [\n{lines}\n]}}\n', encoding="utf-8"
        )
    if options.against:
        before = [restored(v) for v in json.loads(options.against.read_text(encoding="utf-8"))["views"]]
        worse = [w for half, mine in halves.items() for w in worse_than(half, mine, before)]
        if worse:
            sys.exit(
                f"The score is clearly worse than the stored one ({options.against}):\n" + "\n".join(worse)
            )


def restored(row: dict[str, Any]) -> View:
    """A view as score.json keeps it."""
    return View(**{**row, "checklist": (), "seconds": 0.0, "present": ()})


def worse_than(half: str, now: Sequence[View], before: Sequence[View], slack: float = 0.03) -> Iterable[str]:
    """Sentences on what fell by more than the slack: top-1 of the half or of a view, or one more alarm.

    Both are held against each other on the views of `now`; a view that is not stored is told. Where a part of
    the cases leaves so few views that one alone is more than the slack, it takes two to be clearly worse.
    """
    stored = {(v.case, v.benchmark, v.script): v for v in before}
    keys = [(v.case, v.benchmark, v.script) for v in now]
    unknown = sorted({key[0] for key in keys if key not in stored})
    if unknown:
        yield (
            f"  {half}: {len(unknown)} cases have views that are not stored ({', '.join(unknown[:3])}); "
            "python faultlab/quality.py stores the score anew"
        )
        return
    then = [stored[key] for key in keys]
    sick_now, sick_then = ([v for v in views if v.cause != "healthy"] for views in (now, then))
    for title, one, other in (
        ("all views", sick_now, sick_then),
        *((a[0], a[1], b[1]) for a, b in zip(by_view(sick_now), by_view(sick_then), strict=True)),
    ):
        is_now, was = (share(views, lambda v: v.right) for views in (one, other))
        if is_now < was - max(slack, 1.5 / max(len(one), 1)):
            yield f"  {half}, {title}: top-1 fell from {was:.3f} to {is_now:.3f} (more than {slack})"
    alarmed, before_alarmed = (
        {v.case for v in views if v.cause == "healthy" and v.probability >= ALARM} for views in (now, then)
    )
    if len(alarmed) > len(before_alarmed):
        yield (
            f"  {half}: {len(alarmed)} healthy runs are alarmed, {len(before_alarmed)} were; "
            f"new: {', '.join(sorted(alarmed - before_alarmed))}"
        )


def _rounded(numbers: dict[str, float]) -> dict[str, float]:
    return {k: round(x, 4) for k, x in numbers.items()}


def _stored(views: Sequence[View]) -> dict[str, Any]:
    sick = [v for v in views if v.cause != "healthy"]
    well = {v.case: v.probability >= ALARM for v in views if v.cause == "healthy"}
    sure = [v for v in sick if v.probability >= 0.8]
    return {
        **_rounded(figures(sick)),
        "each_case_once": _rounded(by_case(sick)),
        "healthy_runs": len(well),
        "healthy_alarmed": len({v.case for v in views if v.cause == "healthy" and v.probability >= ALARM}),
        "sure": len(sure),
        "sure_right": round(share(sure, lambda v: v.right), 4) if sure else None,
    }


if __name__ == "__main__":
    main()
