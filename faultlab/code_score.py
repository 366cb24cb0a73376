"""Score the script checks and the script comparison over the corpus of programs in faultlab/code.

Usage: python faultlab/code_score.py [--half dev|holdout] [--only TEXT] [--bad] [--symptoms] [--jobs N]
           [--json FILE] [--parts FILE] [--every N] [--against FILE]
           [--folder faultlab/matrix|faultlab/phrases]

Nothing is trained and nothing of the corpus is executed: each fault is a text edit of a right program.
Two views: `script` (the edited program alone) and `pair` (the edited program, the right one as benchmark).
A corpus is a folder of programs (NAME/project.yaml beside NAME/src), or of books: *.yaml files that each list
small programs of one file, with their text (faultlab/phrases).
A cause at 0.5 or above on a right program, or on a harmless edit of one, is a false alarm.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import sys
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "src")]

from faultlab import parts  # noqa: E402
from faultlab.score import ALARM, rules  # noqa: E402
from traindoctor.engine.diagnose import diagnose  # noqa: E402
from traindoctor.probes.assembly.assemble import open_run  # noqa: E402
from traindoctor.probes.readings import readings  # noqa: E402

CODE = HERE / "code"
STORED = HERE / "code_score.json"
SURE = 0.8
SLACK = 0.03  # of top-1, between two scores of the same cases
VIEWS = ("script", "pair")
ONE_FILE = "train.py"  # the program of an entry of a book
SAFE = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast where libyaml is there


@dataclass(frozen=True)
class Case:
    """One program of the corpus in one view: the project, what is edited in it, and what is right to say."""

    project: str
    half: str
    name: str
    cause: str  # "healthy" for the program itself and for harmless edits
    view: str
    wanted: frozenset[str]
    edits: tuple[tuple[str, str, str], ...]  # (file, old, new)
    folder: Path = CODE  # of the corpus
    row: str = ""  # in a matrix of checks: which promise of the documents is broken; in a book: its name
    text: str = ""  # of a program in a book; else it is a folder of the corpus


@dataclass(frozen=True)
class Result:
    """What the diagnosis of a case said. `rank` 0: no right cause among the hypotheses."""

    case: Case
    rank: int
    top: tuple[tuple[str, float], ...]
    present: tuple[str, ...]
    errors: tuple[str, ...]

    @property
    def probability(self) -> float:
        """Of the first hypothesis."""
        return self.top[0][1] if self.top else 0.0

    @property
    def row(self) -> dict[str, Any]:
        """What is stored of it."""
        c = self.case
        where = {"project": c.project, "name": c.name, "half": c.half, "view": c.view, "cause": c.cause}
        return {**where, "rank": self.rank, "probability": self.probability}

    def kept(self) -> dict[str, Any]:
        """What a file of parts keeps of it."""
        return {"rank": self.rank, "top": self.top, "present": self.present, "errors": self.errors}

    @staticmethod
    def of(case: Case, row: dict[str, Any]) -> Result:
        """The result of a case as a file of parts keeps it."""
        top = tuple((cause, probability) for cause, probability in row["top"])
        return Result(case, row["rank"], top, tuple(row["present"]), tuple(row["errors"]))

    @property
    def bad(self) -> bool:
        """A false alarm, or another cause first."""
        return self.probability >= ALARM if self.case.cause == "healthy" else self.rank != 1


@cache
def labels(folder: Path) -> tuple[tuple[str, dict[str, Any]], ...]:
    """The name and the label of every program of a corpus, of folders first, then of books."""
    files = sorted(folder.glob("*/project.yaml"))
    folders = [(f.parent.name, yaml.load(f.read_text(encoding="utf-8"), SAFE)) for f in files]
    books = {f.stem: yaml.load(f.read_text(encoding="utf-8"), SAFE) for f in sorted(folder.glob("*.yaml"))}
    entries = [(x["name"], {**x, "row": book}) for book, programs in books.items() for x in programs]
    return (*folders, *entries)


def cases(only: str = "", half: str | None = None, folder: Path = CODE) -> Iterable[Case]:
    """Every case of the corpus, the right programs first."""
    for project, label in labels(folder):
        if half not in (None, label["half"]):
            continue
        entries: list[tuple[str, str, dict[str, Any]]] = [("as-it-is", "healthy", {})]
        entries += [(x["name"], "healthy", x) for x in label.get("harmless") or ()]
        entries += [(x["name"], x["cause"], x) for x in label.get("faults") or ()]
        for name, cause, entry in entries:
            for view in VIEWS:
                if (entry.get("pair_only") and view == "script") or only not in f"{project} {name} {cause}":
                    continue
                also = {
                    a["cause"] for a in entry.get("accept") or () if a.get("view", "both") in ("both", view)
                }
                edits = tuple((e.get("file", ONE_FILE), e["old"], e["new"]) for e in entry.get("edits") or ())
                wanted = frozenset({cause} | also)
                group = entry.get("row", "") or label.get("row", "")
                rest = (wanted, edits, folder, group, label.get("text", ""))
                yield Case(project, label["half"], name, cause, view, *rest)


def copy(case: Case, target: Path) -> None:
    """Write the right program of a case to `target`."""
    if case.text:
        target.mkdir()
        (target / ONE_FILE).write_text(case.text, encoding="utf-8")
    else:
        shutil.copytree(case.folder / case.project / "src", target)


def write(case: Case, target: Path) -> None:
    """Write the edited program to `target`.

    Raises ValueError where an edit does not fit, or leaves what is no Python.
    """
    copy(case, target)
    for name, old, new in case.edits:
        file = target / name
        text = file.read_text(encoding="utf-8")
        if text.count(old) != 1:
            raise ValueError(f"{case.project} {case.name}: {text.count(old)} places in {name} for {old!r}")
        file.write_text(text.replace(old, new), encoding="utf-8")
    for name in {name for name, _, _ in case.edits if name.endswith(".py")}:
        ast.parse((target / name).read_text(encoding="utf-8"))


def look(case: Case) -> Result:
    """Diagnose one case in a copy whose path says nothing."""
    with tempfile.TemporaryDirectory() as scratch:
        run, other = Path(scratch) / "run", Path(scratch) / "benchmark"
        write(case, run)
        benchmark = None
        if case.view == "pair":
            copy(case, other)
            benchmark = open_run(other, scripts_alone=True)
        opened = open_run(run, scripts_alone=True)
        evidence = readings(opened, benchmark, rules().symptoms.values())
        found = diagnose(rules(), evidence, run=opened.info, benchmark=benchmark.info if benchmark else None)
    order = [h.cause for h in found.hypotheses]
    return Result(
        case=case,
        rank=min((i for i, c in enumerate(order, 1) if c in case.wanted), default=0),
        top=tuple((h.cause, round(h.probability, 3)) for h in found.hypotheses[:3]),
        present=tuple(f.symptom for f in found.findings if f.state == "present"),
        errors=tuple(f"{f.symptom}: {f.why}" for f in found.findings if f.why.startswith("probe error")),
    )


def row(title: str, results: Sequence[Result]) -> str:
    """One row of the table: cases, top-1, top-3, share that is silent, right where it is sure."""
    n = max(1, len(results))
    sure = [r for r in results if r.probability >= SURE]
    top1 = sum(r.rank == 1 for r in results) / n
    top3 = sum(1 <= r.rank <= 3 for r in results) / n
    silent = sum(r.probability < ALARM for r in results) / n
    right = f"{sum(r.rank == 1 for r in sure) / len(sure):.2f} of {len(sure)}" if sure else "-"
    return f"{title:36s} {len(results):5d}  {top1:5.2f} {top3:5.2f} {silent:6.2f}   {right}"


def table(results: Sequence[Result]) -> Iterable[str]:
    """The report of one half."""
    sick = [r for r in results if r.case.cause != "healthy"]
    well = [r for r in results if r.case.cause == "healthy"]
    yield f"{'':36s} {'n':>5s}  {'top1':>5s} {'top3':>5s} {'silent':>6s}   right at {SURE}"
    for view in VIEWS:
        mine = [r for r in sick if r.case.view == view]
        yield row(f"view {view}", mine)
        for title, key in (
            ("project", lambda r: r.case.project),
            ("category", lambda r: r.case.cause.split(".")[0]),
            ("row", lambda r: r.case.row),
        ):
            groups: dict[str, list[Result]] = defaultdict(list)
            for r in mine:
                groups[key(r)].append(r)
            yield from (row(f"  {title} {name}", groups[name]) for name in sorted(groups) if name)
    alarmed = [r for r in well if r.bad]
    yield f"right programs and harmless edits: {len(alarmed)} of {len(well)} views alarmed"
    yield from (f"probe error: {r.case.project} {r.case.name}: {e}" for r in results for e in r.errors[:3])


def figures(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Of stored rows of faulty programs: their number, top-1, top-3, and how many at `SURE` are right."""
    n, sure = max(1, len(rows)), [r for r in rows if r["probability"] >= SURE]
    return {
        "n": len(rows),
        "top1": sum(r["rank"] == 1 for r in rows) / n,
        "top3": sum(1 <= r["rank"] <= 3 for r in rows) / n,
        "sure": len(sure),
        "sure_right": sum(r["rank"] == 1 for r in sure) / len(sure) if sure else float("nan"),
    }


def worse_than(now: Sequence[dict[str, Any]], before: Sequence[dict[str, Any]]) -> Iterable[str]:
    """Sentences on what is clearly worse than the stored score, on the cases of `now`."""

    def key(row: dict[str, Any]) -> tuple[str, ...]:
        return row["project"], row["name"], row["view"]

    stored = {key(r): r for r in before}
    missing = sorted({r["project"] for r in now if key(r) not in stored})
    if missing:
        where = ", ".join(missing)
        yield f"  not stored yet: cases of {where}; python faultlab/quality.py stores the score anew"
        return
    for half in ("dev", "holdout"):
        for view in VIEWS:
            mine = [r for r in now if (r["half"], r["view"]) == (half, view)]
            then = [stored[key(r)] for r in mine]
            is_now, was = (
                figures([r for r in rows if r["cause"] != "healthy"])["top1"] for rows in (mine, then)
            )
            if is_now < was - SLACK:
                yield f"  {half}, view {view}: top-1 fell from {was:.3f} to {is_now:.3f}"
            alarms, were = (
                {key(r) for r in rows if r["cause"] == "healthy" and r["probability"] >= ALARM}
                for rows in (mine, then)
            )
            if len(alarms) > len(were):
                new = ", ".join(f"{p}/{n}" for p, n, _ in sorted(alarms - were))
                counts = f"{len(alarms)} right programs alarmed, {len(were)} were"
                yield f"  {half}, view {view}: {counts}; new: {new}"


def main() -> None:
    """Score, print, and store or compare what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--half", choices=("dev", "holdout"))
    parser.add_argument("--only", default="", help="cases whose project, name or cause holds this text")
    parser.add_argument("--bad", action="store_true", help="list what is wrong (dev, or the half asked for)")
    parser.add_argument("--symptoms", action="store_true", help="with --bad: the present symptoms, too")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2))
    parser.add_argument("--json", type=Path, help="store the score")
    parser.add_argument("--parts", type=Path, help="a file that keeps what was diagnosed, to go on from")
    parser.add_argument("--every", type=int, default=1, help="one case of so many, always the same ones")
    parser.add_argument("--against", type=Path, help="a stored score; clearly worse than it is an error")
    parser.add_argument("--folder", type=Path, default=CODE, help="another corpus of the same form")
    options = parser.parse_args()
    chosen = [
        c
        for c in cases(options.only, options.half, options.folder.resolve())
        if zlib.crc32(f"{c.project}/{c.name}".encode()) % options.every == 0
    ]
    results = parts.each(
        look,
        chosen,
        options.jobs,
        options.parts,
        name=lambda c: f"{c.folder.name}/{c.project}/{c.name}/{c.view}",
        pack=Result.kept,
        unpack=Result.of,
    )
    for r in results:
        if options.bad and r.bad and r.case.half == (options.half or "dev"):
            said = "  ".join(f"{c} {p:.2f}" for c, p in r.top)
            print(f"{r.case.view:6s} {r.case.project}/{r.case.name} [{r.case.cause}] rank {r.rank}: {said}")
            if options.symptoms:
                print("      ", " ".join(r.present))
    for half in ("dev", "holdout"):
        mine = [r for r in results if r.case.half == half]
        if mine:
            print(f"\n== {half}", *table(mine), sep="\n")
    rows = [r.row for r in results]
    if options.json:
        text = ",\n".join(json.dumps(r) for r in rows)
        options.json.write_text(f"[\n{text}\n]\n", encoding="utf-8")
    if options.against:
        worse = list(worse_than(rows, json.loads(options.against.read_text(encoding="utf-8"))))
        if worse:
            sys.exit(f"Clearly worse than the stored score ({options.against}):\n" + "\n".join(worse))


if __name__ == "__main__":
    main()
