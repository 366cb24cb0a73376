"""`diagnose script`: read training scripts, judge them by the rules, say what each finding leads to."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from .output import Target
from .present import show_answer
from .stop import UNREADABLE, Stop
from .work import load, readable

if TYPE_CHECKING:
    from ..engine.model import Cause, Evidence, Link, Place, Reading, RuleBase, Symptom
    from ..probes.code.against.edits import Comparison
    from ..probes.scripts.files import Scripts
    from ..reports.script_report import Found, Quote, ScriptReport, Section

AREAS = ("script", "edits")
MEANT = 0.03  # leak from which code is often meant so: "uncommon" of scale.yaml
USUAL = 0.1  # and from which it is nothing unusual: "common"
WORTH = 0.1  # probability from which a cause is named
LIKELY = 0.5  # the same where nothing was found
MOST_CAUSES = 5
MOST_POINTS = 3
MOST_QUOTES = 3
POINTS = 0.4  # of the strongest link: weaker ones are not named at a finding


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user asked for."""

    script: Path
    benchmark: Path | None = None
    rule_packs: tuple[Path, ...] = ()
    quiet: bool = False


def look(asked: Asked) -> ScriptReport:
    """Read and judge. Raises `Stop`."""
    rules = load(asked.rule_packs, asked.quiet)
    mine = _opened(asked.script, "")
    theirs = _opened(asked.benchmark, "benchmark ") if asked.benchmark is not None else None
    return report(rules, mine, str(asked.script), theirs, str(asked.benchmark) if theirs else None)


def report(
    rules: RuleBase, mine: Scripts, path: str, theirs: Scripts | None = None, benchmark: str | None = None
) -> ScriptReport:
    """Judge scripts that have been read; `theirs` are the benchmark's."""
    from ..engine.diagnose import diagnose
    from ..engine.model import State
    from ..probes.readings import readings
    from ..probes.scripts.packages import told_for_a_look
    from ..reports.script_report import KINDS, ScriptReport

    other = theirs.run if theirs is not None else None
    evidence = readings(mine.run, other, rules.symptoms.values())
    found = diagnose(
        rules,
        evidence,
        run=mine.run.info,
        benchmark=other.info if other is not None else None,
        context=mine.run.info.context,
    )
    told = list(_told(rules, mine, evidence, theirs))
    faults = [_finding(rules, s, r, mine, theirs) for s, r in told if r.state is State.PRESENT]
    faults = _claimed(faults, {h.cause for h in found.hypotheses if h.probability >= LIKELY})
    faults.sort(
        key=lambda f: (KINDS.index(f.kind), -f.weight, f.symptom, [(p.file, p.line or 0) for p in f.where])
    )
    faults = _told_once(faults)
    present = {s.id for s, r in told if r.state is State.PRESENT}
    rest = {s.id: (s, r) for s, r in reversed(told) if s.id not in present and s.area in AREAS}
    absent = {k for k, (_, r) in rest.items() if r.state is State.ABSENT}
    least = WORTH if any(f.kind != "usual" and not told_for_a_look(f.why) for f in faults) else LIKELY
    ranking = [(h.cause, h.title, h.probability) for h in found.hypotheses if h.probability >= least]
    return ScriptReport(
        path,
        benchmark,
        tuple(p.entry for p in mine.programs),
        tuple(faults),
        tuple((k, s.title, r.why) for k, (s, r) in sorted(rest.items()) if k in absent),
        tuple((k, s.title, r.why) for k, (s, r) in sorted(rest.items()) if k not in absent),
        tuple(ranking[:MOST_CAUSES]),
        tuple(_sections(rules, mine, theirs)),
        mine.run.info.notes,
        mine.run.info.not_read,
    )


def _sections(rules: RuleBase, mine: Scripts, theirs: Scripts | None) -> Iterator[Section]:
    """Further parts of the report: every edit between the two sides, with what it can do to training."""
    if theirs is None:
        return
    from ..probes.code.against.edits import UNCLEAR, compare, sorted_out
    from ..reports.script_report import Section

    found = compare(mine.run, theirs.run)
    ported = _ported(mine, theirs)
    if found.told or (found.why and found.held):
        yield _by_role(rules, found)
    if ported is not None:
        yield ported
        return
    if found.why:
        yield Section("edits", "Edits against the benchmark's script", (found.why,), [])
        return
    by_kind = _by_kind(rules)
    lines, rows = [], []
    for kind, edits in sorted_out(found).items():
        symptom = by_kind.get(kind)
        links = _links(rules, symptom) if symptom is not None else []
        effect = links[0][1].because if links else "no known kind of edit: judge it yourself"
        if kind == UNCLEAR:
            effect = (
                "written in another way; whether it does the same is not understood: compare what both give"
            )
        for edit in edits:
            at = f"{edit.mine.file}:{edit.mine.line}" if edit.mine is not None else "-"
            there = f"{edit.theirs.file}:{edit.theirs.line}" if edit.theirs is not None else "-"
            lines.append(f"{at} (benchmark {there}): {edit.text} - {effect}")
            rows.append(
                {
                    "kind": kind or None,
                    "change": edit.kind,
                    "roles": list(edit.roles),
                    "run": at,
                    "benchmark": there,
                    "run_code": edit.mine_code,
                    "benchmark_code": edit.theirs_code,
                    "effect": effect,
                    "causes": [c.id for c, _ in links[:MOST_POINTS]],
                }
            )
    if not lines:
        lines = ["none that could matter to training"]
    yield Section("edits", "Edits against the benchmark's script", tuple(lines), rows)


def _by_kind(rules: RuleBase) -> dict[object, Symptom]:
    """The symptom of each kind of edit."""
    return {s.params.get("kind"): s for s in rules.symptoms.values() if s.probe == "code.against.edited"}


def _by_role(rules: RuleBase, found: Comparison) -> Section:
    """What training does on either side, where the scripts share too few lines to be held line by line."""
    from ..reports.script_report import Section

    by_kind = _by_kind(rules)
    lines, rows = [], []
    for one in found.told:
        links = _links(rules, by_kind[one.kind]) if one.kind in by_kind else []
        effect = links[0][1].because if links else ""
        at = f"{one.mine.file}:{one.mine.line}" if one.mine is not None else "-"
        there = f"{one.theirs.file}:{one.theirs.line}" if one.theirs is not None else "-"
        places = [at] * (at != "-") + [f"benchmark {there}"] * (there != "-")
        lines.append(f"{one.text} ({', '.join(places)})" if places else one.text)
        rows.append(
            {
                "kind": one.kind,
                "text": one.text,
                "run": at,
                "benchmark": there,
                "effect": effect,
                "causes": [c.id for c, _ in links[:MOST_POINTS]],
            }
        )
    nothing = (
        "nothing that is read by role differs: update, schedule, loss, model, data, weights that are kept"
    )
    title = "What training does, held against the benchmark's role by role"
    return Section("roles", title, tuple(lines or [nothing]), rows)


def _ported(mine: Scripts, theirs: Scripts) -> Section | None:
    """What a port to another framework does otherwise, by role; None where it is no such port."""
    from ..probes.code.shared.checks import scripts
    from ..probes.script_diff.ports import differences, is_port
    from ..reports.script_report import Section

    pair = next(((a, b) for a in scripts(mine.run) for b in scripts(theirs.run) if is_port(a, b)), None)
    if pair is None:
        return None
    found = differences(*pair)
    lines, rows = [], []
    for one in found:
        at = f"{one.mine.file}:{one.mine.line}" if one.mine is not None else "-"
        there = f"{one.theirs.file}:{one.theirs.line}" if one.theirs is not None else "-"
        lines.append(f"{one.role}: {one.text} ({at}, benchmark {there})")
        rows.append({"role": one.role, "text": one.text, "run": at, "benchmark": there})
    title = "The port against its benchmark in another framework, defaults included"
    return Section("port", title, tuple(lines or ["no difference in what is known of both frameworks"]), rows)


def _opened(path: Path, what: str) -> Scripts:
    from ..probes.scripts import files as script_files

    with readable(path, what):
        try:
            return script_files.read(path)
        except RecursionError as error:
            raise Stop(UNREADABLE, f"{what}{path}: nested too deeply to be read") from error


# ------------------------------------------------------------------------------------------- judgement


def _told(
    rules: RuleBase, mine: Scripts, whole: Evidence, theirs: Scripts | None
) -> Iterator[tuple[Symptom, Reading]]:
    """Every symptom that scripts tell, of each program by itself; each place is told once.

    What needs both sides is read of the whole, as the ranking is.
    """
    from ..engine.model import State
    from ..probes.readings import all_probes
    from ..probes.registry import View, collect
    from ..probes.scripts.packages import is_deep, without_deep
    from ..probes.scripts.shared_code import unless_shared

    probes = all_probes()
    benchmark = theirs.run if theirs is not None else None
    seen: set[tuple[str, tuple[Place, ...]]] = set()
    asked = [s for s in rules.symptoms.values() if s.probe is not None]
    single = [s for s in asked if not compares(s)]
    runs = [p.run for p in mine.programs] if len(mine.programs) > 1 else []
    # program by program: what was found out of the last few scripts is kept
    alone = [(run, without_deep(run, collect(View(run), single, probes))) for run in runs]
    for symptom in asked:
        if theirs is None and compares(symptom):
            continue
        given = [whole[symptom.id]]
        if alone and not compares(symptom):
            given = [
                unless_shared(View(run, benchmark), symptom, read[symptom.id], probes) for run, read in alone
            ]
        for reading in given:
            if is_deep(reading):  # told, and nothing more: the ranking does not see it
                reading = replace(reading, state=State.PRESENT)
            key = (symptom.id, reading.where)
            if reading.state is State.PRESENT:
                if key not in seen:
                    seen.add(key)
                    yield symptom, reading
            elif symptom.area in AREAS:
                yield symptom, reading


def compares(symptom: Symptom) -> bool:
    """Whether a symptom is seen only beside the benchmark's scripts."""
    probe = symptom.probe or ""
    return probe.startswith("code.against.") or "benchmark" in symptom.id


def _finding(
    rules: RuleBase, symptom: Symptom, reading: Reading, mine: Scripts, theirs: Scripts | None
) -> Found:
    from ..probes.scripts.packages import told_for_a_look
    from ..reports.script_report import Found, Points

    links = _links(rules, symptom)
    deep = told_for_a_look(reading.why)
    matters = symptom.matters or (f"{links[0][1].because}. {links[0][0].summary}" if links else "")
    return Found(
        symptom.id,
        symptom.title,
        reading.why,
        reading.value,
        reading.where,
        tuple(_quotes(reading.where, mine, theirs)),
        matters,
        symptom.instead or "",
        symptom.exceptions,
        tuple(Points(c.id, c.title, link.because) for c, link in links[:MOST_POINTS]),
        _weight(symptom, links),
        "usual" if symptom.leak >= USUAL else "remark" if deep or symptom.leak >= MEANT else "finding",
    )


def _claimed(found: Sequence[Found], claims: Collection[str]) -> list[Found]:
    """The findings, with what alone carries a likely cause as one: no claim stands on a mere remark."""
    made = list(found)
    for cause in sorted(claims):
        carries = [f for f in made if cause in {p.cause for p in f.points_to}]
        if carries and all(f.kind != "finding" for f in carries):
            heaviest = max(carries, key=lambda f: f.weight)
            made[made.index(heaviest)] = replace(heaviest, kind="finding")
    return made


def _told_once(found: Sequence[Found]) -> list[Found]:
    """One finding for what several symptoms say of one place in the same words: the heaviest, all causes."""
    kept: dict[tuple[str, tuple[Place, ...]], Found] = {}
    for one in found:
        key = (one.why, one.where)
        first = kept.setdefault(key, one)
        if first is not one:
            known = {p.cause for p in first.points_to}
            more = tuple(p for p in one.points_to if p.cause not in known)
            kept[key] = replace(first, points_to=(*first.points_to, *more)[:MOST_POINTS])
    return list(kept.values())


def _links(rules: RuleBase, symptom: Symptom) -> list[tuple[Cause, Link]]:
    """The causes that show a symptom, strongest first."""
    found = [(c, link) for c in rules.causes.values() for link in c.shows if link.to == symptom.id]
    found.sort(key=lambda pair: (-pair[1].strength, -pair[0].prior, pair[0].id))
    return [pair for pair in found if pair[1].strength >= POINTS * found[0][1].strength]


def _weight(symptom: Symptom, links: Sequence[tuple[Cause, Link]]) -> float:
    """Log-odds that the symptom, present, gives to the cause that shows it most strongly."""
    if not links:
        return 0.0
    strength = links[0][1].strength
    return math.log((strength + (1 - strength) * symptom.leak) / symptom.leak)


def _quotes(places: Sequence[Place], mine: Scripts, theirs: Scripts | None) -> Iterator[Quote]:
    from ..reports.script_report import Quote

    for place in places[:MOST_QUOTES]:
        side = theirs if place.side == "benchmark" else mine
        if side is None or place.line is None:
            continue
        lines = side.quote(place.file, place.line)
        if lines:
            yield Quote(place, lines)


# ---------------------------------------------------------------------------------------------- output


def show(
    found: ScriptReport, wanted: Sequence[Target], *, everything: bool, quiet: bool, no_color: bool
) -> None:
    """Write the report in every format that was asked for."""
    from ..reports import script_report

    show_answer(script_report, found, wanted, quiet=quiet, no_color=no_color, everything=everything)
