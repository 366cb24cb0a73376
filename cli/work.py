"""From paths to a diagnosis: the glue between probes, engine and reports."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from . import answers
from .output import say
from .progress import progressing
from .stop import UNREADABLE, Stop, usage

if TYPE_CHECKING:
    from ..engine.model import Diagnosis, RuleBase
    from ..probes.run import FileContent, Run, Series
    from ..reports.model import Curve, Extras

USUAL = 0.1  # leak from which a symptom is nothing unusual by itself


@dataclass(frozen=True, slots=True)
class Request:
    """What the user asked for."""

    run: Path
    benchmarks: tuple[Path, ...] = ()
    answers: tuple[str, ...] = ()
    answers_file: Path | None = None
    rule_packs: tuple[Path, ...] = ()
    quiet: bool = False
    data: Path | None = None
    checklist: str = "ascend"  # its name, or a YAML file
    scripts: tuple[Path, ...] = ()  # training scripts of the run that lie elsewhere


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """A diagnosis and what it was made from."""

    rules: RuleBase
    diagnosis: Diagnosis
    run: Run
    benchmark: Run | None

    def extras(self) -> Extras:
        """Return the curves, settings and sections that reports show."""
        from ..reports.model import Current, Extras
        from ..reports.story import curve_names
        from .looks import sections

        curves = {n: self._curves(n) for n in curve_names(self.diagnosis)}
        settings = {key: Current(key, s.value, s.raw, s.file, s.line) for key, s in self.run.settings.items()}
        usual = frozenset(s.id for s in self.rules.symptoms.values() if s.leak >= USUAL)
        return Extras(curves, settings, usual, sections(self))

    def _curves(self, name: str) -> tuple[Curve, ...]:
        from ..reports.model import Curve
        from ..reports.story import first_bad

        found = []
        if name in self.run.series:
            series = self.run.series[name]
            found.append(
                Curve(name, "run", series.steps.tolist(), _logged(series), first_bad(self.diagnosis, name))
            )
        if self.benchmark is not None and name in self.benchmark.series:
            series = self.benchmark.series[name]
            found.append(Curve(name, "benchmark", series.steps.tolist(), _logged(series)))
        return tuple(found)


def _logged(series: Series) -> list[float]:
    """The values, with NaN where the file hides one behind another number."""
    values: list[float] = series.values.tolist()
    if series.masked is None:
        return values
    return [math.nan if hidden else v for v, hidden in zip(values, series.masked.tolist(), strict=True)]


def examine(request: Request) -> Work:
    """Read, infer and explain. Raises `Stop`."""
    from ..engine.diagnose import diagnose
    from ..probes.readings import readings

    rules, checklist = chosen_checklist(load(request.rule_packs, request.quiet), request.checklist)
    answered = answers.given(rules, request.answers, request.answers_file)
    run = open_quietly(request.run, "", request.quiet, scripts=request.scripts)
    stored, unused = answers.own(rules, request.run)
    benchmark, repeats = benchmarks(request, run)
    run, benchmark = with_data(request, run, benchmark)
    evidence = readings(run, benchmark, rules.symptoms.values(), repeats)
    for some in (stored, answered):
        evidence, contradictions = answers.answer(evidence, some)
        for said in contradictions:
            _remark(request, said)
    if unused:
        _remark(request, unused)
        run = replace(run, info=replace(run.info, notes=(unused, *run.info.notes)))
    info = benchmark.info if benchmark is not None else None
    found = diagnose(
        rules,
        evidence,
        run=run.info,
        benchmark=info,
        repeats=[r.info for r in repeats],
        checklist=checklist,
        context=run.info.context,
    )
    return Work(rules, found, run, benchmark)


def with_data(request: Request, run: Run, benchmark: Run | None) -> tuple[Run, Run | None]:
    """Add the data files that the user named or that lie in the directories. Raises `Stop`."""
    from .data_work import named, of_run

    run = of_run(run) if request.data is None else named(run, request.data, request.quiet)
    return run, of_run(benchmark) if benchmark is not None else None


def load(packs: Sequence[Path] = (), quiet: bool = False) -> RuleBase:
    """Load the rules. A pack that is not there was mistyped; one that is broken is told and left out."""
    from ..engine.load import RuleError, load_rules

    for pack in packs:
        if not pack.is_dir():
            raise usage(f"--rules {pack}: there is no such folder")
    try:
        rules = load_rules(packs=packs)
    except RuleError as error:
        raise usage(f"the rules cannot be used: {_first_of(error.problems)}") from error
    if rules.problems and not quiet:
        say(f"left out: {_first_of(rules.problems)}")
    return rules


def chosen_checklist(rules: RuleBase, named: str) -> tuple[RuleBase, str]:
    """Return the rules with the checklist that was asked for, and its name. Raises `Stop`."""
    from ..engine.load import RuleError, with_own_checklist

    if named in rules.checklists:
        return rules, named
    if not named.endswith((".yaml", ".yml")):
        there = ", ".join(rules.checklists)
        raise usage(f"--list {named}: there is no such checklist; there are {there}, or name a YAML file")
    try:
        return with_own_checklist(rules, Path(named))
    except RuleError as error:
        raise usage(f"the checklist cannot be used: {_first_of(error.problems)}") from error
    except OSError as error:
        raise usage(f"--list {named}: {error.strerror or 'cannot be read'}") from error


def _first_of(problems: Sequence[str]) -> str:
    more = len(problems) - 1
    rest = f" (and {more} more problem{'s' if more > 1 else ''})" if more else ""
    return f"{problems[0]}{rest}"


def benchmarks(request: Request, run: Run) -> tuple[Run | None, tuple[Run, ...]]:
    """Open the benchmark, and the further runs given that repeat it; what is none of these is said.

    Where none is given, those count that lie beside the run and are called so (`npu/` and `gpu/`).

    The run is held against the first; its repeats show what chance does. Raises `Stop`, naming the benchmark
    that cannot be read.
    """
    paths = _different(request)
    opened = [open_quietly(path, "benchmark ", request.quiet) for path in paths] or list(run.beside)
    if not opened:
        return None, ()
    first, *others = opened
    if len(paths) == 1:
        others = [open_quietly(p, "benchmark ", request.quiet) for p in _repeats_within(paths[0], first)]
    if not others:
        return first, ()
    from ..probes.benchmark.repeats import ends, of_one_recipe
    from ..probes.registry import View

    kept, refused = of_one_recipe(first, others)
    for other, why in refused:
        _remark(request, f"{other.info.path} does not repeat the benchmark ({why}) and is left out")
    if not kept:
        return first, ()
    found = ends(View(first, first, kept))
    note = f"{found.said()}." if found else f"{1 + len(kept)} benchmark runs with no common end to compare."
    return replace(first, info=replace(first.info, notes=(note, *first.info.notes))), kept


_REPEATS = re.compile(r"(?i)^(?:[\W_\d]|seed|run|repeat|rep|trial|try|round|times?)+$")


def _repeats_within(path: Path, first: Run, most: int = 5) -> list[Path]:
    """`seed1/`, `seed2/`, `seed3/` in the benchmark's directory: further runs of it by their names."""
    from ..probes.assembly.layout import home, numberless

    mine = {home(s.file) for s in first.all_series}
    if len(mine) != 1 or not path.is_dir() or _REPEATS.match(name := min(mine).rpartition("/")[2]) is None:
        return []
    alike = [o for o in first.others if name and numberless(o) == numberless(min(mine))]
    return [path / o for o in alike[:most]]


def _different(request: Request) -> list[Path]:
    """The benchmarks, each once; the run itself counts only where it is the only one."""
    seen: dict[Path, Path] = {}
    for path in request.benchmarks:
        if path.resolve() in seen:
            _remark(request, f"benchmark {path} is given twice and counts once")
        seen.setdefault(path.resolve(), path)
    here = request.run.resolve()
    if here in seen:
        alone = len(seen) == 1
        said = "nothing can differ" if alone else "it is left out"
        _remark(request, f"benchmark {seen[here]} is the run itself: {said}")
        if not alone:
            del seen[here]
    return list(seen.values())


def _remark(request: Request, text: str) -> None:
    if not request.quiet:
        say(text)


def open_quietly(
    path: Path, what: str, quiet: bool, *, scripts_alone: bool = False, scripts: Sequence[Path] = ()
) -> Run:
    """Open a run with a line of progress on a terminal. Raises `Stop`; `what` stands before its message.

    `scripts` are training scripts (files, folders, notebooks) of the run that lie elsewhere.
    """
    from ..probes.assembly.assemble import open_run

    beside, notes = _named(scripts)
    with readable(path, what), progressing(quiet) as progress:
        run = open_run(path, progress=progress, scripts_alone=scripts_alone, beside=beside)
    return replace(run, info=replace(run.info, notes=(*notes, *run.info.notes))) if notes else run


def _named(scripts: Sequence[Path]) -> tuple[dict[str, FileContent], list[str]]:
    contents: dict[str, FileContent] = {}
    notes: list[str] = []
    for path in scripts:
        from ..probes.scripts import files as script_files

        with readable(path, "--script "):
            found, said = script_files.beside(path)
        contents.update(found)
        notes += said
    return contents, notes


@contextmanager
def readable(path: Path, what: str = "") -> Iterator[None]:
    """Turn what makes a path unreadable into `Stop`; `what` stands before its message."""
    from ..probes.files import RunUnreadable

    try:
        yield
    except RunUnreadable as error:
        raise Stop(UNREADABLE, f"{what}{error}") from error
    except OSError as error:
        raise Stop(UNREADABLE, f"{what}{path}: {error.strerror or 'cannot be read'}") from error
