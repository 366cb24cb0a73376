"""From a directory to one `Run`: read all files, name all curves, cut at restarts, pick the run."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from ...engine.model import RunInfo, Scalar
from ..curves.shares import beyond_whole
from ..files import RunFile, RunUnreadable, address, walk
from ..readers import msprobe_monitor
from ..readers.config_file import clean
from ..run import RANK_PART, Configured, Event, FileContent, Run, Series
from ..scripts import project
from ..settings import resolve
from . import (
    chosen,
    continued,
    layout,
    names,
    numbered,
    reruns,
    roles,
    segments,
    siblings,
    sides,
    stand_ins,
    starts,
)
from .contents import Progress, Read, apart, checkpoint_files, read_all, read_monitored
from .context import MIN_POINTS, context_of, facts_of, format_of, optimizer_of, predicts_tokens
from .epoch_axis import by_epochs
from .twins import twins

SCRIPT = "python-script"
LIST = "data-list"
ANSWERS = "answers.yaml"  # what somebody knows of the run, read by the command line: nothing that was logged
_STEPS = re.compile(
    r"\.backward\(|\.fit\(|\.minimize\(|\.apply_gradients\(|value_and_grad|Trainer\(|TrainOneStep|GradientTape"
    r"|\.fit_generator\(|\.train_on_batch\(|\.partial_fit\(|\.fit_one_cycle\(|\.fine_tune\(|apply_updates\("
    r"|create_supervised_trainer\(|\brunner\.train\(|\.learn\(|train_and_evaluate\("
    r"|\bgrad\(\s*\w+[^()]*\)\("
    r"|\.train\(\s*(?:[\w.]*(?i:epoch)\w*|\d+)\s*[,=]"  # model.train(10, batches) of MindSpore
)
_PHASE = re.compile(r"(?i)[-_. ]?(?<![a-z])(?:first|second|resum\w*|contin\w*|restart\w*|again)(?![a-z])")
_ROTATED = re.compile(r"\.\d{1,3}$")  # train.log.1 holds what was written before train.log
_WHOLE = frozenset(["train", "training", "epoch", "avg", "average", "mean"])
USUAL = 5  # names of a loss that say the whole stand first in their list


def _trains(content: FileContent) -> bool:
    """A script of a training framework that takes training steps, or calls what takes them."""
    if content.script and "sklearn" in content.script and ".partial_fit(" in content.script:
        return True
    if content.script and _trains_unframed(content.script):
        return True
    return bool(content.script and "framework" in content.facts and _STEPS.search(content.script))


# boosted trees, settings and launchers of OpenMMLab: what is imported, and what is called further down
_UNFRAMED = (
    (
        re.compile(r"^import (?:lightgbm|xgboost)\b", re.M),
        re.compile(r"\b(?:lgb|xgb|lightgbm|xgboost)\.(?:train|cv)\("),
    ),
    (re.compile(r"\bmmengine\b"), re.compile(r"\brunner\.train\(\)")),
)
# layers that are written out in NumPy
_FRAMED = re.compile(r"\b(?:torch|tensorflow|keras|jax|mindspore|paddle)\b")
_WRITTEN_OUT = (
    re.compile(r"^import numpy\b", re.M),
    re.compile(r"\bfor (?:epoch|ep|e|it|i|_)\b"),
    re.compile(r"\bepochs?\b"),
    re.compile(r"\bdef (?:backward|backprop\w*|sgd\w*|step|train_?\w*)\("),
)


def _trains_unframed(script: str) -> bool:
    for imported, called in _UNFRAMED:
        found = imported.search(script)
        if found and called.search(script, found.end()):
            return True
    return not _FRAMED.search(script) and all(part.search(script) for part in _WRITTEN_OUT)


def open_run(
    path: Path,
    *,
    progress: Progress | None = None,
    scripts_alone: bool = False,
    beside: Mapping[str, FileContent] | None = None,
) -> Run:
    """Read the run at `path` (a directory, or a single file).

    `beside`: scripts of the run that lie elsewhere, by path; they count as if they lay in it.

    `progress` is told of each file when its turn comes, and how far large ones have come.
    `scripts_alone`: scripts of any kind are enough; otherwise one has to train where nothing else was left.

    Raises RunUnreadable with one sentence when there is nothing that can be read as a training run.
    """
    shown = address(path) or str(path)
    files, notes = walk(path)
    files = [f for f in files if f.path != ANSWERS or len(files) == 1]
    if not files:
        raise RunUnreadable(f"{shown}: {notes[0] if notes else 'the directory is empty'}")
    files, dumped = apart(files)
    not_read: list[tuple[str, str]] = []
    contents = numbered.joined(read_all(files, progress, notes, not_read))
    contents += read_monitored(dumped, progress, notes, not_read)
    contents += _added(beside or {}, contents)
    saved = checkpoint_files(files)
    contents = _without_stale_output(contents, notes)
    alone = {c.content.format for c in contents} <= {SCRIPT, LIST} and not any(map(_has_curves, contents))
    trains = alone and any(_trains(c.content) for c in contents)
    if trains and not (dumped or scripts_alone):
        notes.append("no log lies here: the training script alone was looked at")
    if not dumped and (not contents or (alone and not (scripts_alone or trains))):
        if any(read for _, read in saved):
            raise RunUnreadable(f"{shown}: only checkpoints, no log: `diagnose weights` looks at these")
        if any(c.content.format == SCRIPT for c in contents):
            raise RunUnreadable(
                f"{shown}: only scripts, and none that trains: `diagnose script` looks at these"
            )
        seen = ", ".join(sorted(f.path for f in files)[:5])
        raise RunUnreadable(f"{shown}: nothing here that a training run would leave (seen: {seen})")
    recognised = {f.path for f, read in saved if read}
    not_read = [(file, why) for file, why in not_read if file not in recognised]
    logged = {c.path for c in contents if c.content.histograms}
    summaries = tuple(f for f in files if f.path in logged)
    told = roles.sides(contents, [f.path for f in (*files, *dumped)])

    def made(foreign: frozenset[str] = frozenset(), said: Iterable[str] = ()) -> Run:
        """The run of all files but these."""
        return _Assembly(
            path,
            [c for c in contents if c.path not in foreign],
            tuple(not_read),
            [*notes, *said],
            tuple(f for f, _ in saved if f.path not in foreign),
            tuple(f for f in dumped if f.path not in foreign),
            tuple(f for f in summaries if f.path not in foreign),
        ).run()

    if told is None:
        return made()
    others = []
    for name, foreign in told.others:
        other = made(foreign)
        others.append(replace(other, info=replace(other.info, path=f"{shown}/{name}")))
    listed = " and ".join(f"{name}{'' if '.' in name.rpartition('/')[2] else '/'}" for name, _ in told.others)
    taken = "the run without operator fusion" if told.fusion else "its benchmark"
    run = made(told.foreign, [f"{listed} beside it is taken for {taken}"])
    return replace(run, unfused=others[0]) if told.fusion else replace(run, beside=tuple(others))


FEW_SCRIPTS = 8


def _without_stale_output(contents: Sequence[Read], notes: list[str]) -> list[Read]:
    """What notebooks printed counts where no log lies beside them: it may be that of another start."""
    logged = {layout.home(c.path) for c in contents if c.content.format != SCRIPT and _has_curves(c)}
    kept = []
    for read in contents:
        if read.content.format == SCRIPT and read.content.series and layout.home(read.path) in logged:
            notes.append(f"{read.path}: what its cells printed is left out, as logs lie beside it")
            read = Read(read.path, replace(read.content, series=(), events=()))
        kept.append(read)
    return kept


def _added(beside: Mapping[str, FileContent], there: Iterable[Read]) -> Iterator[Read]:
    """Contents from elsewhere: once where the same text lies in the run, renamed where another one does."""
    texts = {read.path: read.content.script for read in there}
    for path, content in beside.items():
        if content.script not in texts.values():
            yield Read(f"named/{path}" if path in texts else path, content)


def assembled(
    root: Path,
    contents: Mapping[str, FileContent],
    not_read: tuple[tuple[str, str], ...] = (),
    notes: Iterable[str] = (),
) -> Run:
    """One run out of files that have been read: path -> content."""
    return _Assembly(root, [Read(p, c) for p, c in contents.items()], not_read, list(notes)).run()


class _Assembly:
    """The steps of putting one run together, in order; lives only inside `open_run`."""

    def __init__(
        self,
        root: Path,
        contents: list[Read],
        not_read: tuple[tuple[str, str], ...],
        notes: list[str],
        saved: tuple[RunFile, ...] = (),
        dumped: tuple[RunFile, ...] = (),
        summaries: tuple[RunFile, ...] = (),
    ) -> None:
        self.root = root
        self.contents = contents
        self.not_read = not_read
        self.notes = notes
        self.saved = saved
        self.dumped = dumped
        self.summaries = summaries
        self.unit_of: dict[str, str] = {}
        self.starts: dict[str, tuple[str, ...]] = {}  # of a run in several folders, by the last of them
        self.resumes: dict[str, tuple[Event, ...]] = {}

    def run(self) -> Run:
        units = self._units()
        unit = chosen.choose(units)
        others = tuple(sorted((u or "." for u in units if u != unit), key=layout.natural))
        if others:
            listed = ", ".join(others[:6]) + (", ..." if len(others) > 6 else "")
            self.notes.append(
                f"{len(others) + 1} runs in this directory; this is about {unit or 'the one at its top'}"
                f" (others: {listed})"
            )
        self.notes += [event.text for event in self.resumes.get(unit, ())]
        mine, several = siblings.of_one_run(self._contents_of(unit, list(units)))
        self.notes += [several] if several else []
        rerun = reruns.parted(mine, self._others(unit, mine, units))
        named = self._name(mine)
        curves, ranks, rewinds, all_series, earlier = self._curves(named)
        before = self._beside(unit, mine, units)
        if before is not None and not earlier:
            earlier, taken = before
            rewinds += (taken,)
            self.notes.append(taken.text)
        scripts = {r.path: r.content.script for r in mine if r.content.script}
        told = [s for read in mine for s in read.content.settings]
        found = project.settings(scripts, (*told, *optimizer_of(named), *format_of(curves)))
        settings = tuple(replace(s, value=clean(s.key, s.value)) for s in found)
        events = tuple(e for read in mine for e in _events(read)) + rewinds + self.resumes.get(unit, ())
        events += (rerun,) if rerun is not None else ()
        facts, fact_files = facts_of(mine, self.root.name)
        resolved = resolve(settings, events, facts)
        if predicts_tokens(curves):
            resolved.pop("num_classes", None)  # Megatron lists its vision default of 1000 for every model
        curves = by_epochs(curves, resolved)
        info = self._info(mine, curves, resolved, facts, ranks, events)
        homes = self.starts.get(unit, (unit,))
        known = [*units, *homes[:-1]]
        saved, dumped = (
            tuple(f for f in files if any(layout.belongs(f.path, home, known) for home in homes))
            for files in (self.saved, self.dumped)
        )
        if not dumped:  # dumps in folders beside those of several runs: of them all
            dumped = tuple(f for f in self.dumped if not any(layout.belongs(f.path, u, known) for u in known))
        return Run(
            info,
            curves,
            all_series,
            resolved,
            settings,
            events,
            facts,
            ranks,
            earlier,
            others,
            scripts,
            saved,
            dump_files=dumped,
            other_dump_files=tuple(f for f in self.dumped if others and f not in dumped),
            summary_files=tuple(f for f in self.summaries if f.path in {r.path for r in mine}),
            lists=tuple(listed for read in mine for listed in read.content.lists),
            fact_files=fact_files,
        )

    # ------------------------------------------------------------------------------------ which run

    def _units(self) -> dict[str, list[Read]]:
        """Homes that hold curves (or, if none does, the root)."""
        units: dict[str, list[Read]] = defaultdict(list)
        for read in self.contents:
            if _has_curves(read):
                units[layout.home(read.path)].append(read)
        if not units:
            return {"": list(self.contents)}
        same = twins({home: [r.content for r in reads] for home, reads in units.items()})
        kept = layout.merged(sorted({same[home] for home in units}))
        kept |= _watched_over(units, kept)
        below, again = chosen.printed(units, kept)
        kept |= below
        if any(again.values()):
            self.contents = [chosen.without(r, again.get(r.path, frozenset())) for r in self.contents]
            units = {
                home: [chosen.without(r, again.get(r.path, frozenset())) for r in reads]
                for home, reads in units.items()
            }
        self.unit_of = {home: kept[same[home]] for home in units}
        joined: dict[str, list[Read]] = defaultdict(list)
        for home, reads in units.items():
            joined[self.unit_of[home]].extend(reads)
        return self._with_starts(joined)

    def _with_starts(self, units: Mapping[str, list[Read]]) -> dict[str, list[Read]]:
        """Join folders that one run was written to, a new one at each start (`version_0`, `version_1`)."""
        found = dict(units)
        curves = {
            u: starts.main_curve(s for r in reads for s in r.content.series) for u, reads in units.items()
        }
        for homes in starts.of_runs(curves):
            last = homes[-1]
            found[last] = [read for home in homes for read in found.pop(home)]
            self.unit_of = {home: last if unit in homes else unit for home, unit in self.unit_of.items()}
            self.starts[last] = homes
            self.resumes[last] = tuple(starts.resumes(homes, curves))
        return found

    def _beside(
        self, unit: str, mine: list[Read], units: Mapping[str, list[Read]]
    ) -> tuple[dict[str, Series], Event] | None:
        """The curves of the start in another folder that this one goes on from, and the event of it."""
        found = continued.taken_up(unit, mine, units)
        if found is None:
            return None
        theirs = self._contents_of(found[0], list(units))
        a, b = ([s for read in side for s in read.content.settings] for side in (mine, theirs))
        if not continued.of_one_data_set(a, b):
            return None
        named = self._name(siblings.of_one_run(theirs)[0])
        return _by_rank(_attempts(_merge(named))[0])[0], found[1]

    def _others(
        self, unit: str, mine: Sequence[Read], units: Mapping[str, list[Read]]
    ) -> Iterator[list[Read]]:
        """The files of each further run: of those in the same folder, then of those in other folders."""
        shared = [r for r in mine if not _has_curves(r)]
        kept = {r.path for r in mine}
        for read in self._contents_of(unit, list(units)):
            if read.path not in kept:
                yield [read, *shared]
        for other in units:
            if other != unit:
                yield siblings.of_one_run(self._contents_of(other, list(units)))[0]

    def _contents_of(self, unit: str, units: list[str]) -> list[Read]:
        mine, elsewhere = [], []
        scripts = sum(bool(read.content.script) for read in self.contents)
        own = len(units) == 1 and scripts <= FEW_SCRIPTS  # of one run: a package beside it is none of its own
        for read in self.contents:
            if _has_curves(read):
                if self.unit_of.get(layout.home(read.path), "") == unit:
                    mine.append(read)
            elif layout.belongs(read.path, unit, units) or (own and read.content.script):
                mine.append(read)
            elif own and read.content.settings and read.path.endswith((".yaml", ".yml", ".py")):
                elsewhere.append(read)
        # `configs/resnet50.yaml` beside `output/resnet50/train.log`; of several nobody knows which was used
        return [*mine, *elsewhere] if len(elsewhere) == 1 else mine

    # ------------------------------------------------------------------------------------- curves

    def _name(self, mine: list[Read]) -> list[Series]:
        named = []
        told = sides.by_file({r.path: r.content.series for r in mine})
        for read in mine:
            rank = layout.rank(read.path)
            bound = names.of_a_bound(s.raw for s in read.content.series)
            for series in read.content.series:
                name = names.canonical(series.raw, series.split or told.get(read.path, ""))
                if series.raw in bound:
                    name = names.canonical(f"{series.raw}_loss", series.split or told.get(read.path, ""))
                if name is None and stand_ins.is_rate_by_eta(series):
                    name = "learning_rate"
                if name is None or (not len(series.values) and not len(series.absent)):
                    continue
                known = series.rank if series.rank is not None else rank
                named.append(replace(series, name=name, rank=known))
        return sides.settled(named)

    def _curves(
        self, named: list[Series]
    ) -> tuple[
        dict[str, Series],
        dict[int, dict[str, Series]],
        tuple[Event, ...],
        tuple[Series, ...],
        dict[str, Series],
    ]:
        attempts, rewinds, restarts, replaced = _attempts(_merge(named))
        for file, count in sorted(restarts.items()):
            self.notes.append(f"{file}: holds {count} runs one after the other; the last one is looked at")
        for event in rewinds:
            self.notes.append(f"{event.file}: {event.text}")
        main, ranks = _by_rank(attempts)
        if "eval/loss" not in main and "test/loss" in main:
            main["eval/loss"] = replace(main["test/loss"], name="eval/loss")
        for name in [n for n in main if n.startswith("test/")]:
            main.setdefault("eval/" + name[5:], replace(main[name], name="eval/" + name[5:]))
        _add_total(main, "train")
        _add_total(main, "eval")
        _sum_beside_perplexity(main, "eval")
        self.notes.extend(stand_ins.add(main))
        main = {name: _fraction(series) for name, series in sorted(main.items()) if not beyond_whole(series)}
        return main, ranks, rewinds, tuple(attempts), _by_rank(replaced)[0]

    # --------------------------------------------------------------------------------------- info

    def _info(
        self,
        mine: list[Read],
        curves: Mapping[str, Series],
        settings: Mapping[str, Configured],
        facts: Mapping[str, Scalar],
        ranks: Mapping[int, Mapping[str, Series]],
        events: tuple[Event, ...],
    ) -> RunInfo:
        if len(ranks) > 1:
            self.notes.append(f"logs of {len(ranks)} ranks: {_ranges(sorted(ranks))}")
        main = curves.get("train/loss") or next(iter(curves.values()), None)
        framework = facts.get("framework")
        return RunInfo(
            path=address(self.root) or str(self.root),
            formats=tuple(sorted({r.content.format for r in mine})),
            framework=str(framework) if framework else None,
            steps=float(np.max(main.steps)) if main is not None and len(main.steps) else None,
            step_unit=main.unit if main is not None else "step",
            files_read=tuple(sorted(r.path for r in mine)),
            not_read=self.not_read,
            notes=tuple(dict.fromkeys(self.notes)),
            series=tuple(sorted(curves)),
            points=max(
                (len(s) for n, s in curves.items() if n.startswith(("train/", "eval/"))), default=None
            ),
            context=context_of(curves, settings, facts, ranks, events, {r.content.format for r in mine}),
        )


def _watched_over(units: Mapping[str, list[Read]], kept: Mapping[str, str]) -> dict[str, str]:
    """Homes of a monitor's files alone, each as part of the only run around it."""
    alone = {h for h, reads in units.items() if {r.content.format for r in reads} == {msprobe_monitor.FORMAT}}
    found = {}
    for home in alone & kept.keys():
        around = {u for u in kept if u not in alone and (not u or home.startswith(u + "/"))}
        if around:
            found[home] = max(around, key=len)
    parents = list(found.values())
    return {home: kept[p] for home, p in found.items() if parents.count(p) == 1}


def _has_curves(read: Read) -> bool:
    return any(names.canonical(s.raw, s.split) for s in read.content.series)


def _merge(named: list[Series]) -> list[Series]:
    """Join what one quantity's several files say: event files of one directory, logs of several starts."""
    groups: dict[tuple[object, ...], list[Series]] = defaultdict(list)
    for series in named:
        folder, _, file = series.file.rpartition("/")
        same_kind = "events" if "tfevents" in file or "events.out" in file else series.file
        groups[(folder, same_kind, series.name, series.raw, series.rank, series.group)].append(series)
    merged = [segments.concatenate(sorted(parts, key=_start)) for parts in groups.values()]
    return _resumed(merged)


def _resumed(merged: list[Series]) -> list[Series]:
    """Join the logs of one run's starts, where each goes on from a checkpoint: `slurm-100.out`, `-101.out`.

    Their names differ in numbers only, or in a word for it: `log_first.txt`, `log_resumed.txt`. A log that
    begins where the first one does is another run, or rank.
    """
    alike: dict[tuple[object, ...], list[Series]] = defaultdict(list)
    for series in merged:
        name = layout.numberless(_PHASE.sub("", _ROTATED.sub("", series.file)))
        alike[(name, series.name, series.raw, series.rank, series.group, series.unit)].append(series)
    ordered = (sorted(parts, key=_begin) for parts in alike.values())
    chains = (chain for parts in ordered for chain in segments.chains(parts, segments.goes_on))
    return list(map(segments.concatenate, chains))


def _begin(series: Series) -> tuple[float, float, list[tuple[int, int | str]]]:
    first = float(series.steps[0]) if len(series) else 0.0
    return _start(series)[0], first, layout.natural(series.file)


def _start(series: Series) -> tuple[float, str]:
    wall = float(series.walls[0]) if series.walls is not None and len(series.walls) else 0.0
    return wall, series.file


def _attempts(
    merged: list[Series],
) -> tuple[list[Series], tuple[Event, ...], dict[str, int], list[Series]]:
    """Cut every series into runs and keep the last that is worth judging; the ones before it come last."""
    kept: list[Series] = []
    replaced: list[Series] = []
    rewinds: dict[tuple[str, float], Event] = {}
    restarts: dict[str, int] = {}
    for series in merged:
        runs = segments.split(series)
        chosen = _last_worth(runs)
        replaced += [before.series for before, after in pairwise(runs) if after is chosen]
        if len(runs) > 1:
            restarts[series.file] = max(restarts.get(series.file, 0), len(runs))
        for before, after in chosen.rewinds:
            text = f"the step goes back from {before:g} to {after:g}: resumed from a checkpoint"
            rewinds.setdefault(
                (series.file, after),
                Event("rewind", series.file, step=after, value=before, rank=series.rank, text=text),
            )
        kept.append(chosen.series)
    return kept, tuple(rewinds.values()), restarts, replaced


def _last_worth(runs: list[segments.Attempt]) -> segments.Attempt:
    longest = max(len(r.series) for r in runs)
    for run in reversed(runs):
        if len(run.series) >= min(MIN_POINTS, longest):
            return run
    return runs[-1]


def _by_rank(attempts: Iterable[Series]) -> tuple[dict[str, Series], dict[int, dict[str, Series]]]:
    """The best series of each name over all ranks, and the best of each rank."""
    main: dict[str, list[Series]] = defaultdict(list)
    ranks: dict[int, dict[str, list[Series]]] = defaultdict(lambda: defaultdict(list))
    for series in attempts:
        main[series.name].append(series)
        if series.rank is not None:
            ranks[series.rank][series.name].append(series)
    best = {name: max(found, key=_quality) for name, found in main.items()}
    return best, {r: {n: max(f, key=_quality) for n, f in by.items()} for r, by in sorted(ranks.items())}


def _quality(series: Series) -> tuple[bool, bool, float, bool, bool, bool, int, int, str]:
    """The whole model before a part; more points (2 % do not count); a known unit, usual name, low rank."""
    return (
        series.group != RANK_PART,
        series.rank is None or bool(np.isfinite(series.values).any()),  # a stage of a pipeline has no loss
        round(math.log(max(len(series.values), 1)) / 0.02),
        series.unit not in ("unknown", "row"),
        names.order(series.raw) < USUAL or not series.name.endswith("/loss"),
        _of_whole_epochs(series),
        -len(series.raw),
        -(series.rank or 0),
        series.file,
    )


def _of_whole_epochs(series: Series) -> bool:
    """A loss per epoch that says whose: "train loss" is a mean, the "loss" of a bar its last batch's."""
    words = re.split(r"[^a-z]+", series.raw.lower())
    return series.unit == "epoch" and series.name.endswith("/loss") and not _WHOLE.isdisjoint(words)


def _sum_beside_perplexity(curves: dict[str, Series], split: str) -> None:
    """A held-out loss that is summed over the set, where its perplexity tells that of a token (JoeyNMT)."""
    loss, told = curves.get(f"{split}/loss"), curves.get(f"{split}/perplexity")
    if loss is None or told is None or len(loss) < 3 or not np.array_equal(loss.steps, told.steps):
        return
    with np.errstate(all="ignore"):
        means = np.log(told.values)
        ratio = loss.values / means
    known = ratio[np.isfinite(ratio)]
    if len(known) < 3 or np.median(known) < SUMMED or np.ptp(known) > 0.02 * np.median(known):
        return
    curves[loss.name] = replace(loss, raw=f"ln {told.raw}", values=means)


SUMMED = 20.0  # times the mean: of so many tokens and more a loss is summed
_TOTALS = frozenset({"total", "combined", "overall", "sum", "whole"})


def _add_total(curves: dict[str, Series], split: str) -> None:
    """A run that logs only terms of its loss gets their sum, if they stand at the same steps."""
    if f"{split}/loss" in curves:
        return
    terms = [s for n, s in sorted(curves.items()) if n.startswith(f"{split}/loss/")]
    if not terms:
        return
    whole = [s for s in terms if s.name.rpartition("/")[2] in _TOTALS]
    if len(whole) == 1:  # named beside what it is the sum of
        curves[f"{split}/loss"] = replace(whole[0], name=f"{split}/loss")
        return
    first = terms[0]
    if all(len(t) == len(first) and np.array_equal(t.steps, first.steps) for t in terms):
        with np.errstate(all="ignore"):
            values = np.sum([t.values for t in terms], axis=0)
        raw = " + ".join(t.raw for t in terms)
        curves[f"{split}/loss"] = replace(first, name=f"{split}/loss", raw=raw, values=values)


def _fraction(series: Series) -> Series:
    """Read a metric logged in percent as a fraction."""
    quantity = names.base(series.name)
    finite = series.values[np.isfinite(series.values)]
    if quantity is None or not quantity.fraction or not len(finite):
        return series
    if 1.5 < float(np.max(finite)) <= 100.0 and float(np.min(finite)) >= 0.0:
        return replace(series, values=series.values / 100.0)
    return series


def _events(read: Read) -> Iterable[Event]:
    rank = layout.rank(read.path)
    for event in read.content.events:
        yield event if event.rank is not None or rank is None else replace(event, rank=rank)


def _ranges(numbers: list[int]) -> str:
    if numbers == list(range(numbers[0], numbers[-1] + 1)) and len(numbers) > 2:
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(map(str, numbers))
