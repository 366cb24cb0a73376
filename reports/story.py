"""What to tell of a diagnosis, in which order: the same choice for the terminal and for markdown."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal

from ..engine.model import (
    CheckedItem,
    Diagnosis,
    FlowStanding,
    Hypothesis,
    NextCheck,
    Place,
    Reading,
    Reason,
    Remedy,
    Result,
    Scalar,
    State,
    Step,
    StepStanding,
)
from .model import Current, Mark
from .text import at_step, count, listed, locations, number, percent, plain, scalar, sentence

Kind = Literal["cause", "unclear", "healthy", "insufficient"]

LEADS = 0.5  # from here on a cause is named as what is wrong
SETTLED = 0.95  # from here on a cause that stands alone needs hardly another look
LIKELY = 0.3  # from here on a cause is told in full
POSSIBLE = 0.1  # from here on a cause is worth naming
LIFT = 0.35  # summed rise of all causes over their priors from which a run is not called healthy
ENOUGH = 8  # readings that a verdict of health needs to rest on
BEGUN = 10  # steps from which on a run is said to be healthy
DRAWN = 3  # points that make a curve: two of them have no course
# nats: readings found together 150 times more seldom than apart. Of 116 views of the fault lab's dev half
# 2 of 20 healthy ones pass 3; a cause that is named from 0.5 on is right as often above 5 as below it
CONFLICT = 5.0
UNEXPLAINED = 0.5  # share from which a symptom is said to have no explanation
MAIN_CURVES = ("train/loss", "eval/loss", "train/accuracy", "eval/accuracy", "grad_norm", "learning_rate")
MOST_CURVES = 8
WEIGHTY = 1 / 3  # share of the strongest reason's weight from which another one counts beside it
SCRIPTS = (".py", ".ipynb")
STRONG, MODERATE, SLIGHT = 2.0, 0.7, 0.1  # log-odds: changes the odds by 7, by 2, by 1.1


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer in one or two sentences; `head` is the headline, `rests` says what it rests on."""

    kind: Kind
    head: str
    rests: str


@dataclass(frozen=True, slots=True)
class Change:
    """One setting to change: what it is now (empty: not recorded), what it should be, where it stands."""

    key: str
    now: str
    then: str
    where: str

    def __str__(self) -> str:
        setting = f"{self.key}: {self.now} → {self.then}" if self.now else f"{self.key}: {self.then}"
        return f"{setting} ({self.where})" if self.where else setting


# --------------------------------------------------------------------------------------------- verdict


def verdict(diagnosis: Diagnosis) -> Verdict:
    """Say what is wrong, or that nothing is, or that this cannot be told; and on what that rests."""
    kind = kind_of(diagnosis)
    head = {
        "cause": _head_cause,
        "unclear": _head_unclear,
        "healthy": _head_healthy,
        "insufficient": _head_insufficient,
    }[kind]
    return Verdict(kind, head(diagnosis), _rests(diagnosis))


def kind_of(diagnosis: Diagnosis) -> Kind:
    """Say which of the four answers a diagnosis is."""
    best = max((h.probability for h in diagnosis.hypotheses), default=0.0)
    if best >= LEADS:
        return "cause"
    if best >= LIKELY or lift(diagnosis) >= LIFT or diagnosis.grave:
        return "unclear"
    enough = len(judged(diagnosis)) >= ENOUGH and any(_tells(name) for name in diagnosis.run.series)
    enough = enough and not _hardly_begun(diagnosis)
    return "healthy" if enough else "insufficient"


def lift(diagnosis: Diagnosis) -> float:
    """By how much all causes together rose over their priors, in expected number of causes."""
    return sum(max(0.0, h.probability - h.prior) for h in diagnosis.hypotheses)


def judged(diagnosis: Diagnosis) -> list[Reading]:
    """Return the readings that are present or absent."""
    return [r for r in diagnosis.findings if r.state is not State.UNKNOWN]


def present(diagnosis: Diagnosis) -> list[Reading]:
    """Return what was seen, in the order in which it begins; what is tied to no step comes last."""
    seen = [r for r in diagnosis.findings if r.state is State.PRESENT]
    return sorted(seen, key=lambda r: (_when(r.step), r.symptom))


def _when(step: float | None) -> float:
    return math.inf if step is None or math.isnan(step) else step


def sound(diagnosis: Diagnosis) -> list[str]:
    """Return what was looked at and is as it should be, where there is no curve and nothing was found.

    Of a directory of dumps or tables alone this is the answer.
    """
    if kind_of(diagnosis) != "insufficient" or any(_tells(name) for name in diagnosis.run.series):
        return []
    whys = (plain(r.why).rstrip(".") for r in diagnosis.findings if r.state is State.ABSENT)
    return list(dict.fromkeys(whys))


def _tells(series: str) -> bool:
    """Whether a curve tells how well training goes (a learning rate alone does not)."""
    return series.startswith(("train/", "eval/", "test/"))


def _hardly_begun(diagnosis: Diagnosis) -> bool:
    """Whether so few steps were logged that nothing can be said of how training goes."""
    run = diagnosis.run
    short = run.step_unit in ("step", "iteration") and run.steps is not None and run.steps < BEGUN
    return short or (run.points is not None and run.points < DRAWN)


def _head_cause(diagnosis: Diagnosis) -> str:
    first = diagnosis.hypotheses[0]
    if first.probability < LEADS:  # a special case of the answer, which it stands before
        best = max(diagnosis.hypotheses, key=lambda h: h.probability)
        perhaps = _with_percent([first])[0]
        return f"{_likely(best)}: {_titled(best)} ({percent(best.probability)}), perhaps {perhaps}."
    others = [h for h in shown(diagnosis)[1:] if h.probability >= LEADS]
    at = subject(first)
    where = f", at {plain(at, 160)}" if at else ""
    also = f" Also likely: {listed(_with_percent(others))}." if others else ""
    return f"{_likely(first)}: {_titled(first)} ({percent(first.probability)}){where}.{also}"


def _likely(hypothesis: Hypothesis) -> str:
    return "Most likely" if hypothesis.probability < 0.9 else "Very likely"


def subject(hypothesis: Hypothesis) -> str:
    """Return the operator, rank and step that what speaks for a cause names; "" where it names none."""
    named = (r.reading.subject for r in hypothesis.reasons if r.reading.state is State.PRESENT)
    return next((str(s) for s in named if s is not None), "")


def _head_unclear(diagnosis: Diagnosis) -> str:
    some = [h for h in shown(diagnosis) if h.probability >= POSSIBLE][:3]
    if not some:
        seen = [lower_first(title(diagnosis, s)) for s in diagnosis.grave[:2]]
        what = f" ({listed(seen)})" if seen else ""
        return f"Something is wrong{what}, but no cause stands out."
    return f"No cause reaches 50 %. Most likely so far: {listed(_with_percent(some))}."


def _head_healthy(diagnosis: Diagnosis) -> str:
    if not diagnosis.caveats:
        return "No fault found: the run looks healthy."
    but = listed([lower_first(title(diagnosis, s)) for s in diagnosis.caveats[:2]])
    return f"No fault found: the run looks healthy, though {but}."


def _head_insufficient(diagnosis: Diagnosis) -> str:
    if not any(_tells(name) for name in diagnosis.run.series):
        return "Not enough to judge: there is no loss or metric curve here."
    if _hardly_begun(diagnosis) and (diagnosis.run.points or DRAWN) < DRAWN:
        return f"Not enough to judge: {count(diagnosis.run.points or 0, 'point')} on the longest curve."
    if _hardly_begun(diagnosis):
        steps = number(diagnosis.run.steps or 0.0)
        return f"Not enough to judge: the log ends after {steps} {_units(diagnosis)}."
    return "Not enough to judge: too few checks could be made."


def _rests(diagnosis: Diagnosis) -> str:
    made, seen = len(judged(diagnosis)), len(present(diagnosis))
    curves = [n for n in diagnosis.run.series if _tells(n) or n in MAIN_CURVES]
    named = sorted(curves, key=lambda n: (_rank(n), n))[:4]
    more = [count(len(curves) - len(named), "more curve")] if len(curves) > len(named) else []
    on = f", on {listed([*(plain(n, 60) for n in named), *more])}" if named else ""
    steps = f" over {number(diagnosis.run.steps)} {_units(diagnosis)}" if diagnosis.run.steps else ""
    total = len(diagnosis.findings)
    return f"{made} of {total} checks could be made{on}{steps}; {seen} found something."


def _units(diagnosis: Diagnosis) -> str:
    word = at_step(1.0, diagnosis.run.step_unit).split(" ")[0]
    return word if diagnosis.run.steps == 1 else f"{word}s"


def _titled(hypothesis: Hypothesis) -> str:
    return plain(hypothesis.title).rstrip(".")


def _with_percent(some: Iterable[Hypothesis]) -> list[str]:
    return [f"{lower_first(_titled(h))} ({percent(h.probability)})" for h in some]


def lower_first(text: str) -> str:
    """Return a title for the middle of a sentence; names such as NaN and FP16 keep their capitals."""
    word = text.split(" ", 1)[0]
    usual = word == "A" or (word[1:].isalpha() and word[1:].islower())
    return text[:1].lower() + text[1:] if usual else text


# ------------------------------------------------------------------------------------------ hypotheses


def shown(diagnosis: Diagnosis) -> list[Hypothesis]:
    """Return the hypotheses as a reader wants them: a general cause is told with its special case."""
    told: set[str] = set()
    found = []
    for hypothesis in diagnosis.hypotheses:
        if hypothesis.cause not in told:
            found.append(hypothesis)
            told.update(hypothesis.generalises)
    return found


def in_full(diagnosis: Diagnosis, least: float, most: int) -> list[Hypothesis]:
    """Return the first hypotheses from a probability on."""
    return [h for h in shown(diagnosis) if h.probability >= least][:most]


def probability_of(diagnosis: Diagnosis) -> dict[str, float]:
    """Return cause -> probability."""
    return {h.cause: h.probability for h in diagnosis.hypotheses}


def title(diagnosis: Diagnosis, node: str) -> str:
    """Return a node's title, or its id where it has none."""
    return plain(diagnosis.titles.get(node, node), 160).rstrip(".")


def chain(diagnosis: Diagnosis, path: Sequence[str]) -> str:
    """Return "cause → mechanism → symptom" in words."""
    return " → ".join(title(diagnosis, node) for node in path)


def strength(weight: float) -> str:
    """Return how much a reading counts beside all others, in words and log-odds."""
    size = abs(weight)
    if size < SLIGHT:
        return "fits, adds little to the others"
    word = "strong" if size >= STRONG else "moderate" if size >= MODERATE else "slight"
    return f"{word}, {weight:+.1f}"


def seen_at(reading: Reading, unit: str, most: int = 2) -> list[str]:
    """Return the places of a reading and the step at which it begins, as short texts."""
    step = at_step(reading.step, "step" if reading.subject else unit)
    return [*locations(reading.where, most), *([step] if step else [])]


def told(diagnosis: Diagnosis, reading: Reading) -> str:
    """Return a reading as one sentence: what it is, and what was measured."""
    what = title(diagnosis, reading.symptom)
    if reading.state is State.ABSENT:
        what = f"Not seen: {lower_first(what)}"
    why = plain(reading.why).rstrip(".")
    if not why or why.lower() == what.lower():
        return sentence(what)
    return f"{what}: {why}."


def notable(reasons: Sequence[Reason]) -> list[Reason]:
    """Return the reasons worth telling: what was seen before what was not, and no sentence twice."""
    said: dict[str, Reason] = {}
    for reason in sorted(reasons, key=lambda r: r.reading.state is not State.PRESENT):
        if reason.reading.state is State.PRESENT or abs(reason.weight) >= SLIGHT:
            said.setdefault(reason.reading.why or reason.reading.symptom, reason)
    return list(said.values())


def first_of(reasons: Sequence[Reason], most: int) -> list[Reason]:
    """Return the first so many reasons; one that names a line of a script is among them if there is any.

    A line is what whoever reads it can go to, so the last of the others makes room for it.
    """
    shown, rest = list(reasons[:most]), reasons[most:]
    if not any(_names_line(r) for r in shown):
        shown[-1:] = [r for r in rest if r.weight >= SLIGHT and _names_line(r)][:1] or shown[-1:]
    return shown


def _names_line(reason: Reason) -> bool:
    seen = reason.reading.state is State.PRESENT
    return seen and any(p.line is not None and p.file.endswith(SCRIPTS) for p in reason.reading.where)


def chains(diagnosis: Diagnosis, hypothesis: Hypothesis) -> list[str]:
    """Return how the cause leads to what was seen, in words; first what goes through a mechanism."""
    seen = [r for r in hypothesis.reasons if r.reading.state is State.PRESENT]
    through = sorted(seen, key=lambda r: len(r.path) < 3)
    return list(dict.fromkeys(chain(diagnosis, r.path) for r in through))


def not_explained(
    diagnosis: Diagnosis, usual: Set[str] = frozenset(), told: Sequence[Hypothesis] = ()
) -> list[tuple[str, float]]:
    """Return the unusual symptoms that no cause accounts for, most so first.

    What speaks for a likely one of the causes that are told is not called unexplained beside it, nor is what
    was seen at the very lines where that was.
    """
    shares = diagnosis.unexplained.items()
    reasons = [r for h in told if h.probability >= LIKELY for r in h.reasons if r.weight > 0.0]
    used = {r.reading.symptom for r in reasons}
    lines = {place for r in reasons if r.reading.state is State.PRESENT for place in _lines(r.reading)}
    used |= {r.symptom for r in diagnosis.findings if (at := _lines(r)) and at <= lines}
    found = [(s, share) for s, share in shares if share >= UNEXPLAINED and s not in usual | used]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))


def _lines(reading: Reading) -> set[tuple[str, str, int]]:
    """The lines where a symptom was seen (side, file, line); empty where one of its places is no line."""
    found = {(str(place.side), place.file, place.line) for place in reading.where if place.line is not None}
    return found if all(place.line is not None for place in reading.where) else set()


# -------------------------------------------------------------------------------------------- remedies


def remedies(hypothesis: Hypothesis, settings: Mapping[str, Current]) -> list[Remedy]:
    """Return the remedies without those whose every setting stands already where they would put it.

    Where that leaves none, the rule fits the run badly and all are kept.
    """
    left = [r for r in hypothesis.remedies if not r.patch or not _as_it_is(r.patch, settings)]
    return left or list(hypothesis.remedies)


def corrections(diagnosis: Diagnosis, hypothesis: Hypothesis) -> list[tuple[str, str]]:
    """Return where code shows a cause most clearly, and the code that belongs there; at most one."""
    seen = [r.reading for r in hypothesis.reasons if r.reading.state is State.PRESENT and r.weight > 0]
    for reading in seen:
        code = diagnosis.instead.get(reading.symptom)
        lines = [p for p in reading.where if p.line is not None and p.file.endswith((".py", ".ipynb"))]
        if code and lines:
            return [(locations(lines, 1)[0], code.rstrip())]
    return []


def _as_it_is(patch: Mapping[str, Scalar], settings: Mapping[str, Current]) -> bool:
    return all(key in settings and _keeps(patch[key], settings[key].value) for key in patch)


def _keeps(patch: Scalar, value: Scalar | tuple[Scalar, ...]) -> bool:
    then, now = _applied(patch, value), scalar(value)
    if then is None or then.lower() == now.lower():
        return then is not None
    try:
        return float(then) == float(now)
    except ValueError:
        return False


def next_checks(diagnosis: Diagnosis, most: int) -> tuple[NextCheck, ...]:
    """Return the checks worth showing: where the answer is as good as sure, one at most, of that answer."""
    likely = [h for h in diagnosis.hypotheses if h.probability >= LEADS]
    if len(likely) > 1 or not likely or likely[0].probability < SETTLED:
        return diagnosis.next_checks[:most]
    named = f"“{likely[0].title}”"
    return tuple(c for c in diagnosis.next_checks if named in c.if_present + c.if_absent)[:1]


def changes(patch: Mapping[str, Scalar], settings: Mapping[str, Current]) -> list[Change]:
    """Return the settings that a remedy changes: from what, to what, and where they stand."""
    return [_change(key, patch[key], settings.get(key)) for key in patch]


def _change(key: str, patch: Scalar, current: Current | None) -> Change:
    if current is None:
        return Change(plain(key, 80), "", _instruction(patch), "")
    then = _applied(patch, current.value)
    now = scalar(current.value)
    if then is None:
        return Change(
            plain(current.raw or key, 80), "", f"{_instruction(patch)} (now {now})", _written(current)
        )
    if _keeps(patch, current.value):
        return Change(plain(current.raw or key, 80), "", f"{now} already", _written(current))
    return Change(plain(current.raw or key, 80), now, then, _written(current))


def _written(current: Current) -> str:
    return locations([Place(current.file, current.line)])[0] if current.file else ""


def _applied(patch: Scalar, value: Scalar | tuple[Scalar, ...]) -> str | None:
    """Return the new value as text; None when the old one is no number that can be scaled."""
    if not isinstance(patch, str) or patch[:1] not in ("/", "*"):
        return _target(patch)
    try:
        factor = float(patch[1:])
    except ValueError:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not factor:
        return None
    return number(value / factor if patch[0] == "/" else value * factor)


def _target(patch: Scalar) -> str:
    text = patch.removeprefix("=") if isinstance(patch, str) else scalar(patch)
    return plain(text, 120)


def _instruction(patch: Scalar) -> str:
    if isinstance(patch, str) and patch[:1] == "/":
        return f"divide by {plain(patch[1:], 40)}"
    if isinstance(patch, str) and patch[:1] == "*":
        return f"multiply by {plain(patch[1:], 40)}"
    return _target(patch)


# --------------------------------------------------------------------------------------- commands to type


def command(diagnosis: Diagnosis, name: str = "", *options: str) -> str:
    """Return the command line that looks at the same runs again, ready to paste."""
    runs = [diagnosis.run.path]
    benchmarks = [b.path for b in (diagnosis.benchmark, *diagnosis.repeats) if b is not None]
    packs = [w for p in diagnosis.packs for w in ("--rules", p)]
    against = [w for b in benchmarks for w in ("--benchmark", b)]
    words = [plain(w, 1000) for w in (*runs, *against, *packs, *options)]
    return " ".join(["diagnose", *([name] if name else []), *(shlex.quote(w) for w in words)])


def answer_command(diagnosis: Diagnosis, symptom: str) -> str:
    """Return the command line that takes the answer to a next check, with the answers given before.

    A symptom that only lacks a benchmark is not answered but measured: the command then asks for one.
    """
    read = {r.symptom: r for r in diagnosis.findings}
    if symptom in read and "--benchmark" in read[symptom].why and diagnosis.benchmark is None:
        return f"{command(diagnosis)} --benchmark BENCHMARK_DIR"
    before = [f"--answer={r.symptom}={r.state.value}" for r in diagnosis.findings if r.answered]
    return f"{command(diagnosis, '', *before)} --answer {symptom}=present"


def step_command(diagnosis: Diagnosis, step: Step) -> str:
    """Return the command of a step with the paths of this run; BENCHMARK stays where there is none."""
    return with_paths(diagnosis, step.command)


def item_command(diagnosis: Diagnosis, item: CheckedItem) -> str:
    """Return the command that gives an item what it lacks, with the paths of this run; "" for none."""
    return with_paths(diagnosis, item.command) if item.command else ""


def result_word(diagnosis: Diagnosis, result: Result) -> str:
    """Return what the checklist calls a result."""
    head = diagnosis.checklist_head
    return (head.results if head else {}).get(result, result.value)


def tally_word(diagnosis: Diagnosis, result: Result) -> str:
    """Return the word for a result after its count."""
    head = diagnosis.checklist_head
    return head.results[result] if head and result in head.results else result.value.lower()


def result_words(diagnosis: Diagnosis) -> str:
    """Say which words the checklist has for the three results; "" where it has those of the documents."""
    head = diagnosis.checklist_head
    if head is None or not head.results:
        return ""
    said = [f"“{head.results[r]}” is {r.value}" for r in Result]
    return f"The words of this table: {listed(said)}."


def same_as(item: CheckedItem) -> str:
    """Name the items of other checklists that ask for the same; "" for none."""
    names: dict[str, list[str]] = {}
    for name, other in item.same_as:
        names.setdefault(name, []).append(other)
    said = [f"{_LISTS.get(n, n)} {listed(ids)}" for n, ids in names.items()]
    return f"Same as {', '.join(said)}." if said else ""


_LISTS = {"ascend": "Ascend item", "mindspore": "MindSpore", "mindformers": "MindFormers"}


def with_paths(diagnosis: Diagnosis, given_command: str) -> str:
    """Put the paths of this run into a command of the rules: RUN and, where it is missing, BENCHMARK."""
    benchmarks = [b.path for b in (diagnosis.benchmark, *diagnosis.repeats) if b is not None]
    given = [w for b in benchmarks for w in ("--benchmark", shlex.quote(plain(b, 1000)))]
    if not given and "BENCHMARK" in given_command:
        given = ["--benchmark", "BENCHMARK"]
    runs = " ".join([shlex.quote(plain(diagnosis.run.path, 1000)), *given])
    words = given_command.replace(" --benchmark BENCHMARK", "").split(" ")
    return " ".join(runs if w == "RUN" else w for w in words)


def flow_line(standing: FlowStanding) -> str:
    """Return how far a run has come in a flow, in one sentence."""
    done = sum(s.state == "done" for s in standing.steps)
    ahead = next((s for s in standing.steps if s.state == "next"), None)
    steps = f"{done} of {len(standing.steps)} steps done"
    return f"{steps}; next is step {ahead.number}." if ahead else f"{steps}."


def step_line(standing: StepStanding) -> str:
    """Return what a step's looks came to, in one sentence."""
    needed = [look for look in standing.looks if look.state != "not needed"]
    tally = {state: sum(look.state == state for look in needed) for state in ("clear", "found", "open")}
    parts = [f"{n} {word}" for word, n in tally.items() if n]
    return f"{count(len(needed), 'look')}: {listed(parts)}." if parts else "No look is needed here."


def answer_ending(said: str) -> str:
    """Return what may stand in place of the end of an answer's command line."""
    return " (or =absent, =unknown)" if said.endswith("=present") else ""


# ---------------------------------------------------------------------------------------------- curves


def curve_names(diagnosis: Diagnosis) -> list[str]:
    """Return the curves worth a look, first those that the leading causes rest on."""
    readings = [r.reading for h in in_full(diagnosis, POSSIBLE, 5) for r in h.reasons]
    named = [name for r in [*readings, *present(diagnosis)] if r.state is State.PRESENT for name in r.series]
    main = [n for n in MAIN_CURVES[:2] if n in diagnosis.run.series]
    wanted = list(dict.fromkeys([*main, *named]))
    return wanted[:MOST_CURVES]


def first_bad(diagnosis: Diagnosis, name: str) -> tuple[Mark, ...]:
    """Return where a curve goes wrong: the earliest weighty reason of a leading cause, else any sign."""
    for hypothesis in in_full(diagnosis, POSSIBLE, 5):
        found = [r for r in hypothesis.reasons if _on(r.reading, name)]
        least = max((r.weight for r in found), default=0.0) * WEIGHTY
        if found:
            return _marked(diagnosis, [r.reading for r in found if r.weight >= least])
    return _marked(diagnosis, [r for r in present(diagnosis) if _on(r, name)])


def _on(reading: Reading, name: str) -> bool:
    seen = reading.state is State.PRESENT and name in reading.series
    return seen and math.isfinite(_when(reading.step))


def _marked(diagnosis: Diagnosis, readings: Sequence[Reading]) -> tuple[Mark, ...]:
    first = min(readings, key=lambda r: (_when(r.step), r.symptom), default=None)
    if first is None:
        return ()
    where = at_step(first.step, "step" if first.subject else diagnosis.run.step_unit)
    return (Mark(_when(first.step), f"{where}: {lower_first(title(diagnosis, first.symptom))}"),)


def _rank(name: str) -> int:
    return MAIN_CURVES.index(name) if name in MAIN_CURVES else len(MAIN_CURVES)


# ----------------------------------------------------------------------------------------------- notes


def caveats(diagnosis: Diagnosis) -> list[str]:
    """Return what limits the answer: readings that do not fit together, inference that did not settle."""
    found = []
    if diagnosis.conflict >= CONFLICT and not any(h.probability >= LEADS for h in diagnosis.hypotheses):
        found.append(
            "These readings do not fit together well: the fault may lie outside the rules, "
            "or a reading is wrong."
        )
    if not diagnosis.converged:
        found.append("The probabilities did not settle; take their order, not their size.")
    return found


def and_repeats(diagnosis: Diagnosis) -> str:
    """Return " and 2 repeats of it", or nothing for a single benchmark."""
    more = len(diagnosis.repeats)
    return f" and {count(more, 'repeat')} of it" if more else ""


def about(diagnosis: Diagnosis) -> list[str]:
    """Return what run this is: framework, formats, length, benchmark."""
    run = diagnosis.run
    parts = [plain(run.framework or "", 60)]
    if run.steps:
        parts.append(f"{number(run.steps)} {_units(diagnosis)}")
    parts.append(count(len(run.files_read), "file") + " read")
    if run.not_read:
        parts.append(f"{len(run.not_read)} not read")
    return [p for p in parts if p]
