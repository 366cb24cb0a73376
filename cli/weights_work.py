"""`diagnose weights`: what the checkpoints of a run say of its weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from .output import Target
from .present import show_answer
from .stop import UNREADABLE, Stop, usage
from .work import load

if TYPE_CHECKING:
    from ..engine.model import Reading, RuleBase, Symptom, WeightFinding, WeightRow, WeightsReport
    from ..probes.run import Run
    from ..probes.tensors.checkpoints import Checkpoint
    from ..probes.tensors.history import History
    from ..probes.weights.logged import Logged

LOADED = "saved-start-loaded"  # the question that --pretrained answers


def look(
    run: Path, benchmark: Sequence[Path], pretrained: Path | None, packs: Sequence[Path], *, quiet: bool
) -> WeightsReport:
    """Read all checkpoints and judge them. Raises `Stop`."""
    from ..probes.readings import readings
    from ..probes.weights import logged as weights_logged
    from ..probes.weights import saved as saved_weights

    if len(benchmark) > 1:
        raise usage("weights are held against one benchmark; give --benchmark once")
    rules = load(packs, quiet)
    mine = _opened(run, "")
    theirs = _opened(benchmark[0], "benchmark ") if benchmark else None
    past = saved_weights.history(mine)
    symptoms = [s for s in rules.symptoms.values() if _of_weights(s)]
    found = [_told(rules, r) for r in readings(mine, theirs, symptoms).values()]
    if pretrained is not None:
        found.append(_loaded(past, _one(pretrained)))
    logged = weights_logged.logged(mine)
    return _report(past, logged, found, str(run), str(benchmark[0]) if benchmark else "")


def of_diagnosis(rules: RuleBase, run: Run, benchmark: Run | None, found: Sequence[Reading]) -> WeightsReport:
    """What the checkpoints of a run that was diagnosed say; `found` are all its readings."""
    from ..probes.weights import logged as weights_logged
    from ..probes.weights import saved as saved_weights

    told = [_told(rules, r) for r in found if _of_weights(rules.symptoms[r.symptom])]
    past, logged = saved_weights.history(run), weights_logged.logged(run)
    return _report(past, logged, told, run.info.path, benchmark.info.path if benchmark is not None else "")


def _of_weights(symptom: Symptom) -> bool:
    return symptom.area == "weights" or (symptom.probe or "").startswith("weights")


def _report(
    past: History, logged: Logged, found: list[WeightFinding], run: str, benchmark: str
) -> WeightsReport:
    from ..engine.model import State, WeightsReport

    order = (State.PRESENT, State.ABSENT, State.UNKNOWN)
    found = sorted(found, key=lambda f: order.index(f.reading.state))
    rows = _rows(past) or _logged_rows(logged)
    notes = [f"{path}: not read: {why}" for path, why in past.refused]
    notes += [f"{c.path}: {n}" for c in past.every for n in c.notes]
    if past.sampled:
        notes.append(f"weights are sampled{past.sampled}")
    return WeightsReport(
        run,
        benchmark,
        _verdict(found, past, bool(logged)),
        tuple(c.said for c in past.every),
        tuple(found),
        rows,
        tuple(dict.fromkeys(notes)),
    )


def _opened(path: Path, what: str) -> Run:
    """The run at a path; checkpoints alone, or one checkpoint, are enough. Raises `Stop`."""
    from ..engine.model import RunInfo
    from ..probes.assembly.assemble import open_run
    from ..probes.files import RunUnreadable, walk
    from ..probes.run import Run
    from ..probes.weights import logged as weights_logged
    from ..probes.weights import saved as saved_weights

    try:
        files, notes = walk(path)
        try:
            run = open_run(path)
        except RunUnreadable:
            run = Run(RunInfo(str(path), notes=tuple(notes)), {}, (), {}, (), (), {})
        if not run.checkpoint_files:
            run = replace(run, checkpoint_files=tuple(files))
    except RunUnreadable as error:
        raise Stop(UNREADABLE, f"{what}{error}") from error
    past = saved_weights.history(run)
    if not past.every and not weights_logged.logged(run):
        why = f" ({past.refused[0][0]}: {past.refused[0][1]})" if past.refused else ""
        raise Stop(UNREADABLE, f"{what}{path}: no checkpoint that can be read, no histograms of weights{why}")
    return run


def _one(path: Path) -> Checkpoint:
    from ..probes.files import RunUnreadable, walk
    from ..probes.tensors.checkpoints import find

    try:
        found = find(walk(path)[0])
    except RunUnreadable as error:
        raise Stop(UNREADABLE, f"--pretrained {error}") from error
    if not found.checkpoints:
        why = f" ({found.refused[0][1]})" if found.refused else ""
        raise Stop(UNREADABLE, f"--pretrained {path}: no checkpoint that can be read{why}")
    return found.checkpoints[-1]


def _loaded(past: History, given: Checkpoint) -> WeightFinding:
    from ..engine.model import Reading, WeightFinding
    from ..probes.weights.shared import loaded_from

    found = loaded_from(past, given)
    reading = Reading(LOADED, found.state, found.why, found.value, found.threshold, found.step, found.where)
    causes = (
        (
            "init.pretrained-not-loaded",
            "The checkpoint to start from was not loaded",
            "this is the fault itself",
        ),
    )
    do = "Print what `load_state_dict` returns: no key may be missing or unexpected but those of a new head"
    return WeightFinding(reading, "Weights do not start from the given checkpoint", causes, do)


def _told(rules: RuleBase, reading: Reading) -> WeightFinding:
    from ..engine.model import WeightFinding

    symptom = rules.symptoms[reading.symptom]
    links = [(c, link) for c in rules.causes.values() for link in c.shows if link.to == symptom.id]
    links.sort(key=lambda pair: -pair[1].strength)
    causes = tuple((c.id, c.title, link.because) for c, link in links)
    remedies = rules.causes[causes[0][0]].remedies if causes else ()
    return WeightFinding(reading, symptom.title, causes, remedies[0].do if remedies else symptom.how or "")


def _rows(past: History) -> tuple[WeightRow, ...]:
    from ..engine.model import WeightRow
    from ..probes.weights import saved as saved_weights

    latest = saved_weights.latest(past)
    if latest is None:
        return ()
    rows = []
    for name, (change, figures) in saved_weights.summary(past).items():
        weight = latest.weights[name]
        if figures.bad:
            state = "not finite"
        elif figures.constant and weight.matrix:
            state = "constant"
        elif change is None:
            state = "unknown"
        else:
            state = "moves" if change.moved else "still"
        moved = change.ratio if change is not None and math.isfinite(change.ratio) else None
        low, high = (v if math.isfinite(v) else None for v in (figures.low, figures.high))
        rows.append(
            WeightRow(
                name,
                weight.shape,
                weight.type.name,
                state,  # type: ignore[arg-type]
                moved,
                figures.size if math.isfinite(figures.size) else 0.0,
                low,
                high,
                figures.zero / figures.seen,
            )
        )
    return tuple(rows)


def _logged_rows(logged: Logged) -> tuple[WeightRow, ...]:
    """Rows of histograms, where no checkpoint lies there: what moved, and how large values are at the end."""
    from ..engine.model import WeightRow

    rows = []
    for name, steps in logged.items():
        last = steps[-1]
        if last.nan or last.inf:
            state = "not finite"
        else:
            state = (
                "unknown" if len(steps) < 2 else "moves" if len({h.digest for h in steps}) > 1 else "still"
            )
        rows.append(
            WeightRow(
                name,
                (last.count,),
                "histogram",
                state,  # type: ignore[arg-type]
                None,
                abs(last.mean or 0.0),
                last.low,
                last.high,
                0.0,
            )
        )
    return tuple(rows)


def _verdict(found: Sequence[WeightFinding], past: History, logged: bool) -> str:
    present = [f for f in found if f.reading.state == "present"]
    seen = sum(f.reading.state != "unknown" for f in found)
    if present:
        more = (
            f"; {len(present) - 1} more finding{'s' if len(present) > 2 else ''}" if len(present) > 1 else ""
        )
        return f"{present[0].title}{more}."
    if not seen:
        return "Nothing can be told: " + (
            "which checkpoint is the latest does not show."
            if len(past.every) > 1
            else "one checkpoint says too little."
        )
    if len(past.line) < 2 and not logged:
        return "The weights look sound; whether they move shows only in two checkpoints of one training."
    return f"The weights look sound: {seen} of {len(found)} looks could be made, none found anything."


def show(
    found: WeightsReport, wanted: Sequence[Target], *, everything: bool, quiet: bool, no_color: bool
) -> None:
    """Write the answer in every format that was asked for."""
    from ..reports import weights_report

    show_answer(weights_report, found, wanted, quiet=quiet, no_color=no_color, everything=everything)
