"""`diagnose fusion`: is fusion at fault, and which rule; the search goes on over any number of days."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ..engine.model import FusionReport
from .output import Target, say, write_file
from .present import show_answer
from .stop import Stop, usage
from .work import load, open_quietly

if TYPE_CHECKING:
    from ..probes.operators.search import Measure, Progress, Search
    from ..probes.run import Run
    from ..probes.tensors.fusion_result import Rule

MAX_STATE = 64 * 1024**2
BOTH_GROUPS = [("GraphFusion", "ALL"), ("UBFusion", "ALL")]


@dataclass(frozen=True, slots=True)
class Question:
    """What the user asked for; see the options of the command."""

    on: Path
    off: Path
    benchmark: Path | None = None
    state: Path | None = None
    result: Path | None = None
    config: Path | None = None
    quiet: bool = False


def answer(question: Question) -> FusionReport:
    """Decide, or take the search one step further. Raises `Stop`."""
    if question.state is None and (question.result or question.config):
        raise usage("--result and --config belong to a search: give its --state FILE")
    for path in (question.state, _config(question)):
        _outside(path, question)
    on = open_quietly(question.on, "fusion on: ", question.quiet)
    if question.state is not None and question.state.exists():
        search = _read(question.state)
        _same_runs(search, question, on)
        notes: list[str] = []
    else:
        if question.result is not None:
            raise usage(f"{question.state}: there is no such search yet; begin it without --result")
        started = _decided(question, on)
        if not isinstance(started, tuple):
            return started
        search, notes = started
    if question.result is not None:
        _take(search, question, on)
    return _step(search, question, notes)


def of_run(run: Run) -> FusionReport | None:
    """What a run directory tells of fusion: a search whose state lies there, else rules that took effect."""
    from ..probes.operators.searched import rules_in_effect, searches

    found = searches(run)
    if found:
        file, search, where = found[-1]
        question = Question(Path(run.info.path), Path("RUN_OFF"), state=Path(run.info.path) / file)
        verdict, steps = _said(search, where, question, Path("the switch file"))
        return _report(search.measure, where.state, verdict, steps, search.rules, ())
    rules = rules_in_effect(run)
    if not rules:
        return None
    return FusionReport(
        "cannot tell",
        f"{len(rules)} fusion rules took effect; whether one does harm shows in a run without fusion.",
        ("Train once more with fusion off, and compare: diagnose fusion RUN RUN_OFF",),
        rules=_names(rules),
    )


def _outside(path: Path | None, question: Question) -> None:
    """Nothing is written into a run."""
    for run in (question.on, question.off, question.benchmark, question.result):
        if path is not None and run is not None and run.is_dir() and run.resolve() in path.resolve().parents:
            raise usage(f"{path}: lies in the run {run}, which is never written to; name a file elsewhere")


def _decided(question: Question, on: Run) -> FusionReport | tuple[Search, list[str]]:
    from ..probes.files import walk
    from ..probes.operators.search import Search, measure
    from ..probes.tensors.fusion_result import effective

    off = open_quietly(question.off, "fusion off: ", question.quiet)
    benchmark = (
        open_quietly(question.benchmark, "benchmark ", question.quiet)
        if question.benchmark is not None
        else None
    )
    limits = load((), question.quiet).symptoms
    found = measure(
        on,
        off,
        benchmark,
        absolute=limits["final-metric-below-benchmark"].params["absolute"],
        relative=limits["final-loss-above-benchmark"].params["relative"],
    )
    if isinstance(found, str):
        return FusionReport(
            "cannot tell",
            f"Whether fusion harms accuracy cannot be told: {found}.",
            ("Train both to the same length",),
        )
    if found.gap <= found.margin or found.on == found.off:
        return _harmless(found)
    rules, notes = effective(walk(question.on)[0])
    if not rules:
        notes.append("no fusion_result.json with rules that took effect lies in the run with fusion on")
        rules = list(BOTH_GROUPS)
    if question.state is None:
        steps = (
            "Find the rule: run this again with --state FILE, which writes the first switch file",
            f"Tell the diagnosis: diagnose {question.on} --answer fusion-off-better=present",
        )
        return _report(
            found,
            "at fault",
            f"{_at_fault(found)} {len(rules)} fusion rules took effect.",
            steps,
            rules,
            notes,
        )
    return Search(found, list(rules)), notes


def _harmless(found: Measure) -> FusionReport:
    if found.gap < -found.margin:
        words = "Without fusion the run is worse: fusion is not what harms accuracy."
        return _report(found, "worse without", words, ("Look at the next step of the workflow",), (), ())
    words = f"Fusion makes no difference beyond noise: {_figures(found)}."
    return _report(
        found,
        "no effect",
        words,
        ("Fusion can stay on; go on with comparing operators (diagnose compare)",),
        (),
        (),
    )


def _figures(found: Measure) -> str:
    reference = f", {found.benchmark:.4g} in the benchmark" if found.benchmark is not None else ""
    return (
        f"{found.quantity} ends at {found.on:.4g} with fusion and {found.off:.4g} without{reference} "
        f"(noise {found.margin:.2g})"
    )


def _at_fault(found: Measure) -> str:
    return f"Fusion harms accuracy: {_figures(found)}."


def _report(
    measured: Measure,
    state: str,
    verdict: str,
    steps: Sequence[str],
    rules: Sequence[Rule],
    notes: Sequence[str],
    **rest: object,
) -> FusionReport:
    return FusionReport(
        state,  # type: ignore[arg-type]
        verdict,
        tuple(steps),
        measured.quantity,
        measured.on,
        measured.off,
        measured.benchmark,
        measured.margin,
        rules=_names(rules),
        notes=tuple(notes),
        **rest,  # type: ignore[arg-type]
    )


def _names(rules: Sequence[Rule]) -> tuple[str, ...]:
    return tuple(f"{group}.{name}" for group, name in rules)


def _config(question: Question) -> Path | None:
    """Where the switch file goes: beside the state, unless named."""
    if question.state is None:
        return None
    return question.config or question.state.with_name(f"{question.state.stem}-switch.cfg")


def _read(path: Path) -> Search:
    from ..probes.operators.search import BadState, from_json

    try:
        if not path.is_file() or path.stat().st_size > MAX_STATE:
            raise BadState("it is not a state file")
        return from_json(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise usage(f"{path}: {error.strerror or 'cannot be read'}") from error
    except BadState as error:
        raise usage(f"{path}: {error}") from error
    except (ValueError, RecursionError) as error:
        raise usage(f"{path}: it is damaged (no JSON)") from error


def _same_runs(search: Search, question: Question, on: Run) -> None:
    """Refuse the state of a search that was begun with other runs: results would be held against theirs."""
    from ..probes.operators.search import end_of

    off = end_of(on, open_quietly(question.off, "fusion off: ", question.quiet), search.measure.quantity)
    mine = end_of(on, on, search.measure.quantity)
    began = search.measure
    for word, now, before in (("on", mine, began.on), ("off", off, began.off)):
        if isinstance(now, float) and not math.isclose(now, before, rel_tol=1e-6, abs_tol=1e-12):
            raise usage(
                f"{question.state}: this search was begun with other runs: {began.quantity} ended at "
                f"{before:.4g} with fusion {word}, here it ends at {now:.4g}"
            )


def _take(search: Search, question: Question, on: Run) -> None:
    """Add the result of the run that was asked for."""
    from ..probes.operators.search import Trial, end_of, progress

    assumed = progress(search)
    if assumed.state != "ask":
        raise usage(f"{question.state}: this search is over; it takes no further result")
    if question.result is None:
        return
    if any(Path(t.run) == question.result.resolve() for t in search.trials):
        raise usage(f"{question.result}: this run was taken before; a repeat needs a run of its own")
    _trained_as_asked(question.result, assumed.off)
    value = end_of(on, open_quietly(question.result, "result ", question.quiet), search.measure.quantity)
    if isinstance(value, str):
        raise Stop(4, f"{question.result}: {value}")
    share = search.measure.share(value)
    search.trials.append(Trial(assumed.off, value, share, str(question.result.resolve())))


def _trained_as_asked(result: Path, off: Sequence[Rule]) -> None:
    """Refuse a result whose own fusion_result.json says that rules were in effect which had to be off."""
    from ..probes.files import RunUnreadable, walk
    from ..probes.tensors.fusion_result import effective

    try:
        there, _ = effective(walk(result)[0])
    except RunUnreadable:
        return  # opening the run says so
    groups = {group for group, name in off if name == "ALL"}
    still = [r for r in there if r in set(off) or r[0] in groups]
    if still:
        named = ", ".join(_names(still[:3]))
        raise usage(
            f"{result}: {named} took effect in it, which had to be off: was it trained with the switch file?"
        )


def _step(search: Search, question: Question, notes: Sequence[str]) -> FusionReport:
    """Say what comes next; write the switch file and the state."""
    from ..engine.model import FusionTrial
    from ..probes.operators.search import progress, to_json
    from ..probes.tensors.fusion_result import switch_file

    where = progress(search)
    config = _config(question)
    if question.state is None or config is None:
        raise usage("a search needs --state FILE")
    if where.state in ("ask", "found"):
        write_file(config, switch_file(where.off or where.found))
    write_file(question.state, json.dumps(to_json(search), indent=1, allow_nan=False) + "\n")
    if not question.quiet:
        say(f"wrote {question.state}" + (f" and {config}" if where.state in ("ask", "found") else ""))
    verdict, steps = _said(search, where, question, config)
    trials = tuple(FusionTrial(t.run, _names(t.off), t.value, t.share) for t in search.trials)
    return _report(
        search.measure,
        where.state,
        verdict,
        steps,
        search.rules,
        notes,
        found=_names(where.found),
        switch_off=_names(where.off),
        left=_names(where.left),
        trials=trials,
        switch_file=str(config) if where.state in ("ask", "found") else "",
    )


def _said(search: Search, where: Progress, question: Question, config: Path) -> tuple[str, tuple[str, ...]]:
    again = f"diagnose fusion {question.on} {question.off} --state {question.state} --result RUN"
    if where.state == "found":
        names = " and ".join(_names(where.found))
        if len(where.found) == 1:
            text = f"{names} is the guilty rule: switched off alone it restores accuracy"
            text += ", left on alone it brings the fault back." if len(search.rules) > 1 else "."
        else:
            text = f"{len(where.found)} rules are needed to explain it, each of them: {names}."
        return text, (
            f"Train with {config}, which switches only {'it' if len(where.found) == 1 else 'these'} off",
            "Report the rule with its graph to the compiler's maintainers",
        )
    if where.state == "noise":
        return "Repeats of one configuration lie too far apart to go on: no rule is named.", (
            "Fix seed, data order and determinism (diagnose determinism), and begin a new --state",
        )
    if where.state == "contradiction" and not where.left:
        return (
            "All listed rules off together do not restore accuracy: what does the harm is not among them. "
            "No rule is named.",
            (
                "Give the run with fusion on its whole fusion_result.json (every graph of every device), and "
                "look at what else differs from the run without fusion; then begin a new --state",
            ),
        )
    if where.state == "contradiction":
        return (
            "Results contradict each other: rules that restore accuracy when off do no harm when alone on. "
            "No rule is named.",
            ("Repeat the runs on which it rests with a fixed seed, and begin again with a new --state",),
        )
    tried = len(search.trials)
    if where.again:
        text = "The last results do not tell fusion on from off: the same configuration is needed again."
    elif where.confirming:
        text = f"{' and '.join(_names(where.left))} is suspected; the next run is to confirm it."
    else:
        text = f"{len(where.left)} of {len(search.rules)} fusion rules are suspected after {tried} runs."
    step = f"Train with the switch file {config} ({len(where.off)} rules off), all else as before"
    return text, (step, f"Then: {again}")


def show(found: FusionReport, wanted: Sequence[Target], *, quiet: bool, no_color: bool) -> None:
    """Write the answer in every format that was asked for."""
    from ..reports import fusion_report

    show_answer(fusion_report, found, wanted, quiet=quiet, no_color=no_color)
