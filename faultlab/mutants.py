"""Score `diagnose script` over published training scripts into which one fault each was written.

Usage: python faultlab/mutants.py [--folder DIR] [--half dev|holdout] [--only TEXT] [--bad] [--most N]
           [--jobs N] [--json FILE]

The scripts are those of public.py, which downloads them; none of their code is stored here or executed.
The faults are those of faultlab/mutation: an operator finds the places of a script where its fault can be
written, and one of them is taken. The halves are parted by package. Each mutant is judged alone (`script`)
and with the script as it was for a benchmark (`pair`), in the midst of its package. Scripts that are said to
have the cause as they are do not count.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "src")]

from faultlab import public  # noqa: E402
from faultlab.mutation import data, frameworks, loop, loss, model, settings, state, updates  # noqa: E402
from faultlab.mutation.code import Code, Operator  # noqa: E402
from traindoctor.cli.script_work import report  # noqa: E402
from traindoctor.probes.files import RunUnreadable  # noqa: E402
from traindoctor.probes.scripts import files as script_files  # noqa: E402

OPERATORS: dict[str, Operator] = {
    o.name: o
    for family in (data, frameworks, loop, loss, model, settings, state, updates)
    for o in family.OPERATORS
}
ALARM, SURE = 0.5, 0.8
NEAR = 5  # lines between the edit and a finding that is at its place
KEPT = 3  # of so many packages one is kept aside


def half_of(script: str) -> str:
    """Which half a script belongs to, by its package."""
    return "dev" if zlib.crc32(script.partition("/")[0].encode()) % KEPT else "holdout"


@dataclass(frozen=True)
class Mutant:
    """One script with one fault: an operator at one of its places."""

    script: str  # below the folder of packages
    operator: str

    @property
    def half(self) -> str:
        """Which half the package belongs to."""
        return half_of(self.script)

    @property
    def label(self) -> str:
        """Operator and script."""
        return f"{self.operator} {self.script}"


@dataclass(frozen=True)
class Result:
    """What was said of one mutant in one view. `rank` 0: none of the right causes is named."""

    operator: str
    script: str
    half: str
    view: str
    line: int
    rank: int
    probability: float  # of the first cause
    placed: bool  # a finding stands at the edit
    top: tuple[tuple[str, float], ...]
    findings: tuple[str, ...]
    missed: str = ""  # why it could not be judged


@lru_cache(maxsize=64)
def _code(path: Path) -> Code | None:
    try:
        return Code(path.read_text(encoding="utf-8"))
    except (ValueError, SyntaxError, RecursionError):
        return None


def chosen(folder: Path, names: Sequence[str], operators: Iterable[Operator], most: int) -> list[Mutant]:
    """At most so many mutants of each operator in each half, of as many packages as there are."""
    fitting: dict[tuple[str, str], list[Mutant]] = defaultdict(list)
    for name in names:
        code = _code(folder / "src" / name)
        for operator in operators if code is not None else ():
            if next(operator.sites(code), None) is not None:
                mutant = Mutant(name, operator.name)
                fitting[operator.name, mutant.half].append(mutant)
    found: list[Mutant] = []
    for mutants in fitting.values():
        mutants.sort(key=lambda m: zlib.crc32(m.label.encode()))
        seen: dict[str, int] = defaultdict(int)
        turns = []
        for mutant in mutants:  # the second script of a package comes after the first of all others
            package = mutant.script.partition("/")[0]
            turns.append((seen[package], len(turns), mutant))
            seen[package] += 1
        found += [mutant for *_, mutant in sorted(turns)[:most]]
    return found


def look(mutant: Mutant, folder: Path) -> list[Result]:
    """Write the fault into a copy of the package, and judge it in both views."""
    root = folder / "src"
    operator, path = OPERATORS[mutant.operator], root / mutant.script
    code = _code(path)
    sites = list(operator.sites(code)) if code is not None else []
    if code is None or not sites:
        return []
    site = sites[zlib.crc32(mutant.label.encode()) % len(sites)]
    line = code.line(min(site, key=lambda e: e.start))
    try:
        text = code.edited(site)
    except (ValueError, SyntaxError) as error:
        return [_missed(mutant, line, f"the edit leaves no Python: {error}")]
    wanted = {operator.cause, *operator.also}
    with tempfile.TemporaryDirectory() as scratch:
        home = script_files._top(path.parent)
        shift = path.relative_to(home)
        copy = Path(scratch) / home.name
        shutil.copytree(home, copy, ignore=lambda _, names: [n for n in names if n == "__pycache__"])
        try:
            before = script_files.read(copy / shift)
            if any(c in wanted and p >= ALARM for c, _, p in report(public.rules(), before, "").ranking):
                return []
            (copy / shift).write_text(text, encoding="utf-8")
            after = script_files.read(copy / shift)
        except RunUnreadable as error:
            return [_missed(mutant, line, str(error))]
        results = []
        for view, other in (("script", None), ("pair", before)):
            if view == "script" and operator.pair_only:
                continue
            try:
                told = report(public.rules(), after, "", other, "" if other else None)
            except Exception as error:  # a fault of ours: it is shown, and the others go on
                results.append(_missed(mutant, line, f"{view}: {error!r:.200}"))
                continue
            order = [c for c, _, _ in told.ranking]
            places = [p for f in told.faults for p in f.where]
            results.append(
                Result(
                    mutant.operator,
                    mutant.script,
                    mutant.half,
                    view,
                    line,
                    min((i for i, c in enumerate(order, 1) if c in wanted), default=0),
                    round(told.ranking[0][2], 3) if told.ranking else 0.0,
                    any(p.file == shift.as_posix() and abs((p.line or 0) - line) <= NEAR for p in places),
                    tuple((c, round(p, 3)) for c, _, p in told.ranking[:3]),
                    tuple(f"{f.symptom}@{p.line}" for f in told.faults for p in f.where[:1]),
                )
            )
        return results


def _missed(mutant: Mutant, line: int, why: str) -> Result:
    return Result(mutant.operator, mutant.script, mutant.half, "", line, 0, 0.0, False, (), (), why)


def table(results: Sequence[Result]) -> Iterator[str]:
    """For each half and view a row over all operators and one for each."""
    yield f"{'':34s} {'n':>4s} {'top1':>5s} {'top3':>5s} {'sure':>10s} {'wrong':>6s} {'line':>5s}"
    for half in ("dev", "holdout"):
        for view in ("script", "pair"):
            mine = [r for r in results if (r.half, r.view) == (half, view)]
            if mine:
                yield _row(f"{half}, {view}", mine)
                for name in sorted({r.operator for r in mine}):
                    yield _row(f"  {name}", [r for r in mine if r.operator == name])


def _row(title: str, results: Sequence[Result]) -> str:
    """Cases; first; among the first three; right where SURE; a wrong cause claimed; at the right line."""
    n = len(results)
    sure = [r for r in results if r.probability >= SURE]
    right = f"{sum(r.rank == 1 for r in sure) / len(sure):.2f} of {len(sure)}" if sure else "-"
    wrong = sum(r.probability >= ALARM and r.rank != 1 for r in results)
    shares = [
        sum(x) / n for x in zip(*((r.rank == 1, 1 <= r.rank <= 3, r.placed) for r in results), strict=True)
    ]
    return f"{title:34s} {n:4d} {shares[0]:5.2f} {shares[1]:5.2f} {right:>10s} {wrong:6d} {shares[2]:5.2f}"


def _said(r: Result) -> str:
    """One line on a mutant that was not judged, or not rightly."""
    if r.missed:
        return f"left out: {r.operator} {r.script}:{r.line}: {r.missed}"
    said = "  ".join(f"{c} {p:.2f}" for c, p in r.top) or "nothing"
    return f"{r.view:6s} {r.operator} {r.script}:{r.line} rank {r.rank}: {said} | {' '.join(r.findings)}"


def _judged(pair: tuple[Mutant, Path]) -> list[Result]:
    return look(*pair)


def main() -> int:
    """Make the mutants, judge them, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--folder", type=Path, default=HERE / "public", help="where public.py keeps downloads"
    )
    parser.add_argument("--half", choices=("dev", "holdout"))
    parser.add_argument("--only", default="", help="mutants whose operator and script hold this text")
    parser.add_argument("--operators", default="", help="only these operators, parted by commas")
    parser.add_argument("--most", type=int, default=12, help="mutants of each operator in each half")
    parser.add_argument("--bad", action="store_true", help="list what is wrong (dev, or the half asked for)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path, help="write each result as a JSON line")
    given = parser.parse_args()
    operators = (
        [OPERATORS[n] for n in given.operators.split(",")] if given.operators else list(OPERATORS.values())
    )
    names = [path.relative_to(given.folder / "src").as_posix() for path in public.scripts(given.folder)]
    names = [n for n in names if given.half in (None, half_of(n))]  # the halves are chosen apart
    mutants = [m for m in chosen(given.folder, names, operators, given.most) if given.only in m.label]
    results: list[Result] = []
    log = given.json or Path(os.devnull)
    with ProcessPoolExecutor(given.jobs) as pool, log.open("w", encoding="utf-8") as kept:
        for found in pool.map(_judged, [(m, given.folder) for m in mutants]):
            results += found
            for r in found:  # at once: a run that is cut off has been of use
                kept.write(json.dumps(asdict(r)) + "\n")
                if r.missed or (given.bad and r.rank != 1 and r.half == (given.half or "dev")):
                    print(_said(r), flush=True)
            kept.flush()
    print("\n".join(table([r for r in results if r.view])))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
