"""`diagnose data`: measure data files, judge them by the rules' symptoms, say what each finding leads to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from .output import Target
from .present import show_answer
from .progress import progressing
from .stop import UNREADABLE, Stop, usage
from .work import load, readable

if TYPE_CHECKING:
    from ..engine.model import Cause, Link, Reading, RuleBase, Symptom
    from ..probes.dataset.model import DataSet, Part
    from ..probes.run import Run
    from ..reports.data_report import DataReport, Found

AREA = "data_files"
PROBES = ("data_files.", "data_compare.", "data_lists.files_missing", "data_lists.shard")
OWN_SECONDS = 10.0  # for data files that lie beside a run and were not asked for
OWN_SAMPLES = 50_000
MOST_REMEDIES = 2
# Facts of a raw table that most sound ones show: told, but no finding. Income and age are of other sizes.
REMARKS = frozenset(["data-columns-apart", "recordings-clipped", "masks-smoothed"])
# What a difference from the benchmark's batches shows on the run's own side as well: no finding of its own.
CONSEQUENCES = {
    "batches-scaled-differently": ("inputs-unnormalized", "inputs-have-outliers"),
    "batches-filled-differently": ("inputs-have-nan", "data-missing-values"),
    "batches-labels-ignored-elsewhere": ("labels-out-of-range-in-data", "classes-unbalanced-in-data"),
    "batches-labels-coded-otherwise": ("labels-out-of-range-in-data", "classes-unbalanced-in-data"),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user asked for."""

    data: Path
    benchmark: Path | None = None
    validation: Path | None = None
    label: str = ""
    limit: int | None = None
    seed: int = 0
    rule_packs: tuple[Path, ...] = ()
    quiet: bool = False


def look(asked: Asked) -> DataReport:
    """Measure and judge. Raises `Stop`."""
    from ..probes.dataset.model import LIMIT, Bounds
    from ..reports.data_report import DataReport

    if asked.limit is not None and asked.limit < 1:
        raise usage(f"--limit {asked.limit}: at least one sample must be looked at")
    if asked.seed < 0:
        raise usage(f"--seed {asked.seed}: a seed is 0 or more")
    rules = load(asked.rule_packs, asked.quiet)
    bounds = Bounds(samples=asked.limit or LIMIT, seed=asked.seed, label=asked.label)
    data = _measured(asked.data, bounds, asked.quiet, validation=asked.validation)
    if asked.label:
        _has_column(data, asked.label)
    other = (
        _measured(asked.benchmark, bounds, asked.quiet, "benchmark ") if asked.benchmark is not None else None
    )
    found = _readings(rules, data, other)
    seen = [_finding(rules, s, r) for s, r in found if r.state.value == "present"]
    return DataReport(
        str(asked.data),
        str(asked.benchmark) if asked.benchmark is not None else None,
        tuple(f for f in seen if f.symptom not in REMARKS),
        tuple((s.title, r.why) for s, r in found if r.state.value == "absent"),
        tuple((s.title, r.why) for s, r in found if r.state.value == "unknown"),
        tuple(_part_line(p) for p in data.parts),
        (*_part_notes(data), *data.notes),
        data.not_read,
        asked.seed,
        _same(data, other),
        tuple(f for f in seen if f.symptom in REMARKS),
    )


def _has_column(data: DataSet, label: str) -> None:
    """Raise `Stop` where no table has this column."""
    names = list(dict.fromkeys(c.name for p in data.parts if p.kind == "table" for c in p.columns))
    if label not in names:
        there = f"; there are {', '.join(names[:12])}{', ...' if len(names) > 12 else ''}" if names else ""
        raise usage(f"--label {label}: no table has such a column{there}")


def _measured(
    path: Path, bounds: object, quiet: bool, what: str = "", validation: Path | None = None
) -> DataSet:
    from ..probes.dataset.measure import NOT_READ, measure
    from ..probes.dataset.model import Bounds

    with readable(path, what), progressing(quiet) as progress:
        assert isinstance(bounds, Bounds)  # noqa: S101 - for the type checker: Bounds is imported lazily
        data = measure(path, bounds, validation=validation, progress=progress)
    if not data.parts and data.shards is None and not data.listed:
        told = [f"{file}: {reason}" for file, reason in data.not_read]
        why = "; ".join((told + [n for n in data.notes if NOT_READ in n])[:3])
        seen = f" ({why})" if why else ""
        raise Stop(UNREADABLE, f"{what}{path}: nothing here that can be read as data{seen}")
    return data


# --------------------------------------------------------------------------------------- beside a run


def named(run: Run, path: Path, quiet: bool) -> Run:
    """Return the run with the data files that the user named. Raises `Stop`."""
    from ..probes.dataset.model import Bounds

    return replace(run, data=_measured(path, Bounds(), quiet, "--data "))


def of_run(run: Run) -> Run:
    """Return the run with the data files that lie in its directory, if there are any.

    Only what stands in a folder of data, is called like a split or a manifest, or is read by the training
    counts, and nothing that was read as a log, a configuration or a script.
    """
    from ..probes.dataset import own

    root = Path(run.info.path)
    if not root.is_dir():
        return run
    asked = own.asked_for(((s.key, s.value) for s in run.raw_settings), run.scripts.values())
    data = own.of_run(root, frozenset(run.info.files_read), OWN_SECONDS, OWN_SAMPLES, asked)
    if data is None:
        return run
    mine = {f for part in data.parts for f in part.files}
    left = tuple(n for n in run.info.not_read if n[0] not in mine)
    return replace(run, data=data, info=replace(run.info, not_read=left))


# ------------------------------------------------------------------------------------------- judgement


def _readings(rules: RuleBase, data: DataSet, other: DataSet | None) -> list[tuple[Symptom, Reading]]:
    """Every symptom that data files tell, in the order of the rules: worst first."""
    from ..probes.readings import all_probes
    from ..probes.registry import View, read

    view = View(_bare(data), _bare(other) if other is not None else None)
    symptoms = [s for s in rules.symptoms.values() if (s.probe or "").startswith(PROBES)]
    asked = [s for s in symptoms if s.area != AREA]
    ordered = [*asked, *(s for s in symptoms if s.area == AREA)]
    probes = all_probes()
    if other is None:
        return [(s, read(view, s, probes)) for s in ordered if not _compares(s)]
    found = [(s, read(view, s, probes)) for s in ordered]
    alone = View(_bare(other))
    return _beside(found, lambda s: read(alone, s, probes).state.value == "present")


def _beside(
    found: list[tuple[Symptom, Reading]], theirs: Callable[[Symptom], bool]
) -> list[tuple[Symptom, Reading]]:
    """Put first how dumped batches differ, last what the benchmark's show as well; leave out consequences."""
    told = {s.id for s, r in found if s.id.startswith("batches-") and r.state.value == "present"}
    if not told:
        return found
    follows = {c for s in told for c in CONSEQUENCES.get(s, ())}
    if told - {"batches-samples-differ", "batches-type-differs"}:
        follows |= {"data-differs-from-benchmark", "data-fewer-than-benchmark"}
    ranked: list[tuple[int, tuple[Symptom, Reading]]] = []
    for symptom, reading in found:
        if symptom.id in follows:
            continue
        if symptom.id in told:
            ranked.append((0, (symptom, reading)))
        elif reading.state.value == "present" and not _compares(symptom) and theirs(symptom):
            shared = replace(reading, why=f"{reading.why}; so do the benchmark's data")
            ranked.append((2, (symptom, shared)))
        else:
            ranked.append((1, (symptom, reading)))
    return [one for _, one in sorted(ranked, key=lambda r: r[0])]


def _compares(symptom: Symptom) -> bool:
    comparing = ("data_compare.", "data_lists.shard_lists_differ")
    return (symptom.probe or "").startswith(comparing) or "benchmark" in symptom.id


def _bare(data: DataSet) -> Run:
    """A run that holds nothing but data files."""
    from ..engine.model import RunInfo
    from ..probes.run import Run

    return Run(RunInfo(data.path), {}, (), {}, (), (), {}, data=data)


def _finding(rules: RuleBase, symptom: Symptom, reading: Reading) -> Found:
    from ..reports.data_report import Found

    cause, link = _cause_of(rules, symptom.id)
    matters = (
        f"{cause.title}: {link.because}. {cause.summary}" if cause is not None and link is not None else ""
    )
    return Found(
        symptom.id,
        symptom.title,
        reading.why,
        reading.value,
        reading.where,
        matters,
        _remedies(cause, symptom.id),
        cause.id if cause is not None else None,
    )


def _cause_of(rules: RuleBase, symptom: str) -> tuple[Cause | None, Link | None]:
    """The cause that shows a symptom most strongly, the most frequent one of equals."""
    found = [
        (link.strength, cause.prior, cause.id, link)
        for cause in rules.causes.values()
        for link in cause.shows
        if link.to == symptom
    ]
    if not found:
        return None, None
    _, _, name, link = max(found, key=lambda f: f[:3])
    return rules.causes[name], link


def _remedies(cause: Cause | None, symptom: str) -> tuple[str, ...]:
    """What corrects it, best what corrects this; a remedy that clears no symptom is a look, and was taken."""
    if cause is None:
        return ()
    own = [r.do for r in cause.remedies if symptom in r.clears]
    if own:
        return tuple(own[:MOST_REMEDIES])
    cures = [r.do for r in cause.remedies if r.clears] or [r.do for r in cause.remedies]
    return tuple(cures[:MOST_REMEDIES])


def _same(data: DataSet, other: DataSet | None) -> str:
    """What can be said where two folders of arrays are equal."""
    if other is None:
        return ""
    from ..probes.data_compare import compared
    from ..probes.dataset.batches import ATOL, RTOL

    found = compared(data, other)
    if found is None or found.differences or not found.fields:
        return ""
    return (
        f"{', '.join(found.fields[:6])}: {found.batches} batches, {found.numbers} numbers, equal to the "
        f"benchmark's within rtol {RTOL:g} and atol {ATOL:g}"
    )


def _part_line(part: object) -> str:
    from ..probes.dataset.model import Part

    assert isinstance(part, Part)  # noqa: S101 - for the type checker: Part is imported lazily
    rows = "an unknown number of" if part.rows is None else f"{'' if part.exact else 'about '}{part.rows}"
    split = {"": "no split named", "train": "training", "eval": "validation", "test": "test"}[part.split]
    looked = "" if part.whole else f", {part.looked} looked at"
    from ..probes.data_files.common import many

    files = part.files[0] if len(part.files) == 1 else f"{len(part.files)} files from {part.files[0]}"
    labels = ""
    if part.labels is not None and part.labels.classes:
        labels = f", {many(len(part.labels.counts), 'class')}"
    samples = "sample" if part.rows == 1 else "samples"
    columns = f", {many(len(part.columns), 'column')}" if part.columns else ""
    return f"{part.format}, {split}: {rows} {samples}{looked}{columns}{labels} ({files})"


def _part_notes(data: DataSet) -> list[str]:
    notes = [n for p in data.parts for n in p.notes]
    if any(not p.whole and p.looked for p in data.parts):
        notes.append(f"looked at a sample, drawn with seed {data.bounds.seed} (--seed, --limit)")
    notes += [_unlabelled(p) for p in data.training if _may_have_labels(p)]
    return list(dict.fromkeys(notes))


def _may_have_labels(part: Part) -> bool:
    """Whether a table has columns of numbers beside each other, and none is called like labels."""
    return part.kind == "table" and part.labels is None and sum(c.number for c in part.columns) > 1


def _unlabelled(part: Part) -> str:
    return (
        f"{part.files[0]}: no column is called like labels, and none was looked at as such (--label names it)"
    )


def show(
    report: DataReport,
    wanted: Sequence[Target],
    *,
    everything: bool,
    quiet: bool,
    no_color: bool,
) -> None:
    """Write the report in every format that was asked for."""
    from ..reports import data_report

    show_answer(data_report, report, wanted, quiet=quiet, no_color=no_color, everything=everything)
