"""The diagnosis as calm text for a terminal: the verdict first, then why, what to do and what to check.

Made for 80 columns. Colour only underlines what the words say; without it nothing is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import TYPE_CHECKING

from ..engine.model import (
    CheckedItem,
    Diagnosis,
    Hypothesis,
    Reading,
    Reason,
    Result,
    State,
    StepStanding,
)
from . import story
from .model import Extras
from .text import count, disarm, listed, minutes, percent, plain, printable, sentence

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

WIDTH = 80
MOST_TOLD = 3
MOST_REASONS = 4
MOST_AGAINST = 2
MOST_REMEDIES = 3
MOST_CHECKS = 3
MOST_NOTES = 6
MOST_NOTICED = 5
TIE = "\u2800"  # stands for a space that must not become a line end; a blank, and no space to `wrap`
_TIED = re.compile(r"(?<=\d) (?=%)|(?<=→) ")
COLOURS = {
    "cause": "bold red",
    "unclear": "bold yellow",
    "healthy": "bold green",
    "insufficient": "bold yellow",
}
STEPS = {"done": "green", "next": "bold yellow", "open": "dim"}
LOOKS = {"clear": "green", "found": "bold red", "open": "yellow", "not needed": "dim"}
RESULTS = {Result.PASSED: "green", Result.FAILED: "bold red", Result.NOT_CHECKED: "yellow"}
STATES = {State.PRESENT: "red", State.ABSENT: "green", State.UNKNOWN: "dim"}


def render(
    diagnosis: Diagnosis,
    extras: Extras | None = None,
    *,
    width: int = WIDTH,
    color: bool = False,
    verbose: bool = False,
) -> str:
    """Return the report as text, at most `width` columns wide, with ANSI colours only if `color`."""
    page, given = Page(width, color), extras or Extras()
    told = story.in_full(diagnosis, story.LIKELY, MOST_TOLD)
    _verdict(page, diagnosis)
    for number, hypothesis in enumerate(told, 1):
        _hypothesis(page, diagnosis, hypothesis, given, number, verbose)
    _others(page, diagnosis, told)
    if not told:
        _noticed(page, diagnosis, given, verbose)
    _unexplained(page, diagnosis, given, told)
    sound = story.sound(diagnosis)
    if sound:
        page.head("Looked at, and sound")
        for why in sound[:MOST_NOTICED]:
            page.line(sentence(why), mark="  • ")
    for section in given.sections:
        if section.telling or verbose or sound:
            from .sections import put

            put(page, section)
    if told or story.kind_of(diagnosis) == "unclear":
        _next_checks(page, diagnosis, verbose)
    if verbose or diagnosis.benchmark is not None:
        _checklist(page, diagnosis.checklist, verbose)
    if verbose:
        _findings(page, diagnosis)
    _notes(page, diagnosis, verbose)
    return page.text()


def render_checklist(diagnosis: Diagnosis, *, width: int = WIDTH, color: bool = False) -> str:
    """Return only the checklist, with the reason of each result and what would check the open ones."""
    page = Page(width, color)
    head = diagnosis.checklist_head
    tally = [
        f"{sum(i.result is r for i in diagnosis.checklist)} {story.tally_word(diagnosis, r)}" for r in Result
    ]
    page.head(f"Checklist: {listed(tally)}")
    if head is not None:
        page.line((sentence(head.title), "dim"), (" " + story.result_words(diagnosis), "dim"), indent=2)
    wide = max((len(i.id) for i in diagnosis.checklist), default=1)
    for item in diagnosis.checklist:
        _item(page, diagnosis, item, min(max(wide, 4), 16))
    return page.text()


def _item(page: Page, diagnosis: Diagnosis, item: CheckedItem, wide: int) -> None:
    """An item with its result, why, and what would check it."""
    word = plain(story.result_word(diagnosis, item.result), 24)
    mark, indent = f"{plain(item.id, 16):>{wide}}  ", wide + 2
    page.line((word, RESULTS[item.result]), f"  {plain(item.title, 160)}", mark=mark, hang=2)
    page.line((sentence(item.why), "dim"), indent=indent + 2)
    if item.result is Result.NOT_CHECKED and item.check:
        page.line((f"To check: {sentence(item.check)}", "dim"), indent=indent + 2)
        said = story.item_command(diagnosis, item)
        if said:
            page.line((said, "cyan"), indent=indent + 4, hang=2)
    if story.same_as(item):
        page.line((story.same_as(item), "dim"), indent=indent + 2)


def render_workflow(diagnosis: Diagnosis, *, width: int = WIDTH, color: bool = False) -> str:
    """Return where the run stands in the documented flows, with the evidence that decided each step."""
    page = Page(width, color)
    for standing in diagnosis.workflow:
        page.head(f"{plain(standing.flow.title, 160)}: {story.flow_line(standing)}")
        for step in standing.steps:
            _step(page, diagnosis, step)
    return page.text()


def _step(page: Page, diagnosis: Diagnosis, standing: StepStanding) -> None:
    step = standing.step
    state = (f"{standing.state:<5}", STEPS[standing.state])
    page.line(state, (plain(step.title, 160), "bold"), mark=f"{standing.number:>3}  ", hang=5)
    page.line((f"Excludes {plain(step.excludes)}. {story.step_line(standing)}", "dim"), indent=10)
    for look in standing.looks:
        # what an open look of a later step lacks is told when that step is next
        why = sentence(look.why) if look.state in ("clear", "found") or standing.state == "next" else ""
        title = f"  {plain(look.title, 160)}" + (": " if why else "")
        page.line((f"{look.state:<10}", LOOKS[look.state]), title, (why, "dim"), indent=10, hang=2)
    if standing.state == "next":
        page.line(sentence(step.do), indent=10)
    if standing.state != "done":
        said = story.step_command(diagnosis, step)
        page.line((said, "cyan"), story.answer_ending(said), indent=12, hang=2)


class Page:
    """Text in the making: paragraphs with a hanging indent, of styled pieces."""

    def __init__(self, width: int, color: bool) -> None:
        from rich.console import Console

        self.width = max(40, width)
        self.console: Console = Console(
            file=StringIO(),
            width=self.width,
            force_terminal=color,
            color_system="standard" if color else None,
            no_color=not color,
            highlight=False,
            markup=False,
            emoji=False,
            legacy_windows=False,
            _environ={},
        )

    def put(self, thing: RenderableType) -> None:
        """Print as it is."""
        self.console.print(thing)

    def gap(self) -> None:
        """Leave a line empty."""
        self.console.print("")

    def head(self, title: str, style: str = "bold") -> None:
        """Begin a section."""
        self.gap()
        self.line((title, style))

    def line(self, *pieces: str | tuple[str, str], indent: int = 0, hang: int = 0, mark: str = "") -> None:
        """Print one paragraph: `mark` stands in the indent, further lines are indented by `hang` more."""
        text = _joined(_unbroken(p) for p in pieces)
        first = " " * indent + mark
        rest = " " * (len(first) + hang)
        for number, part in enumerate(text.wrap(self.console, max(20, self.width - len(rest)))):
            prefix = first if number == 0 else rest
            self.put(_joined([prefix, part]) if prefix else part)

    def text(self) -> str:
        """Return what was printed."""
        file = self.console.file
        lines = file.getvalue().splitlines() if isinstance(file, StringIO) else []
        said = "\n".join(line.rstrip() for line in lines).strip("\n") + "\n"
        return disarm(said.replace(TIE, " "))


def _unbroken(piece: str | tuple[str, str]) -> str | tuple[str, str]:
    """Tie numbers to their per cent signs and arrows to what they point at."""
    if isinstance(piece, tuple):
        return _TIED.sub(TIE, piece[0]), piece[1]
    return _TIED.sub(TIE, piece)


def _joined(pieces: Iterable[str | tuple[str, str] | Text]) -> Text:
    from rich.text import Text

    text = Text()
    for piece in pieces:
        if isinstance(piece, Text):
            text.append_text(piece)
        elif isinstance(piece, tuple):
            text.append(printable(piece[0]), style=piece[1])
        else:
            text.append(printable(piece))
    return text


# --------------------------------------------------------------------------------------------- verdict


def _verdict(page: Page, diagnosis: Diagnosis) -> None:
    said = story.verdict(diagnosis)
    page.line((said.head, COLOURS[said.kind]))
    page.line((said.rests, "dim"))
    where = plain(diagnosis.run.path, 200)
    if diagnosis.benchmark is not None:
        where += f", against {plain(diagnosis.benchmark.path, 200)}{story.and_repeats(diagnosis)}"
    page.line((f"{where} · {' · '.join(story.about(diagnosis))}", "dim"))
    for caveat in story.caveats(diagnosis):
        page.line((caveat, "yellow"))


def _noticed(page: Page, diagnosis: Diagnosis, extras: Extras, verbose: bool) -> None:
    seen = sorted(story.present(diagnosis), key=lambda r: r.symptom in extras.usual)
    if not seen:
        return
    page.head("Noticed")
    unit = diagnosis.run.step_unit
    for reading in seen if verbose else seen[:MOST_NOTICED]:
        _reading(page, diagnosis, reading, "  • ", unit)
    if len(seen) > MOST_NOTICED and not verbose:
        page.line((f"and {len(seen) - MOST_NOTICED} more; -v shows all", "dim"), indent=4)


# ---------------------------------------------------------------------------------------- one hypothesis


def _hypothesis(
    page: Page, diagnosis: Diagnosis, hypothesis: Hypothesis, extras: Extras, number: int, verbose: bool
) -> None:
    page.gap()
    share = percent(hypothesis.probability)
    title = plain(hypothesis.title, 160)
    page.line((title, "bold"), f"  {share}", mark=f"{number}. ")
    page.line((plain(hypothesis.cause, 120), "dim"), indent=3)
    for general in hypothesis.generalises:
        share = percent(story.probability_of(diagnosis).get(general, 0.0))
        about = story.lower_first(story.title(diagnosis, general))
        page.line((f"a special case of: {about} ({share})", "dim"), indent=3)
    _why(page, diagnosis, hypothesis, verbose)
    _remedies(page, diagnosis, hypothesis, extras, verbose)
    _against(page, diagnosis, hypothesis, verbose)
    _chain(page, diagnosis, hypothesis, verbose)


def _why(page: Page, diagnosis: Diagnosis, hypothesis: Hypothesis, verbose: bool) -> None:
    reasons = list(hypothesis.reasons) if verbose else story.notable(hypothesis.reasons)
    most = len(reasons) if verbose else MOST_REASONS
    _reasons(page, diagnosis, "Why", story.first_of(reasons, most), "+", verbose)
    if len(reasons) > most:
        page.line((f"and {count(len(reasons) - most, 'more reason')}; -v shows all", "dim"), indent=5)


def _against(page: Page, diagnosis: Diagnosis, hypothesis: Hypothesis, verbose: bool) -> None:
    against = hypothesis.against if verbose else hypothesis.against[:MOST_AGAINST]
    _reasons(page, diagnosis, "What speaks against it", against, "-", verbose)
    if hypothesis.unexplained_earliest:
        first = story.lower_first(story.title(diagnosis, hypothesis.unexplained_earliest))
        page.line(f"It does not explain what came first: {first}.", indent=3)


def _reasons(
    page: Page, diagnosis: Diagnosis, head: str, reasons: Sequence[Reason], mark: str, verbose: bool
) -> None:
    if reasons:
        page.line((head, "underline"), indent=3)
    for reason in reasons:
        _reading(page, diagnosis, reason.reading, f"   {mark} ", diagnosis.run.step_unit)
        if verbose:
            because = "; ".join(plain(b) for b in reason.because)
            page.line((f"{story.strength(reason.weight)}: {because}", "dim"), indent=5)


def _reading(page: Page, diagnosis: Diagnosis, reading: Reading, mark: str, unit: str) -> None:
    seen = story.seen_at(reading, unit)
    pieces: list[str | tuple[str, str]] = [story.told(diagnosis, reading)]
    if seen:
        pieces.append((f" [{', '.join(seen)}]", "cyan"))
    page.line(*pieces, mark=mark)


def _chain(page: Page, diagnosis: Diagnosis, hypothesis: Hypothesis, verbose: bool) -> None:
    chains = story.chains(diagnosis, hypothesis)
    if not chains:
        return
    page.line(("How it leads there", "underline"), indent=3)
    for chain in chains if verbose else chains[:1]:
        page.line(chain, indent=5)


def _remedies(
    page: Page, diagnosis: Diagnosis, hypothesis: Hypothesis, extras: Extras, verbose: bool
) -> None:
    remedies = story.remedies(hypothesis, extras.settings)
    if not remedies:
        return
    page.line(("What to do", "underline"), indent=3)
    for place, code in story.corrections(diagnosis, hypothesis):
        page.line(f"Right code for {place}:", indent=3)
        for line in code.splitlines():
            inset = len(line) - len(line.lstrip())
            page.line((line.strip(), "cyan"), indent=6 + inset, hang=2)
    for number, remedy in enumerate(remedies if verbose else remedies[:MOST_REMEDIES], 1):
        page.line(sentence(remedy.do), mark=f"   {number}. ")
        for change in story.changes(remedy.patch, extras.settings):
            page.line((str(change), "cyan"), indent=6, hang=2)
        effect = f"It worked if {plain(remedy.confirms).rstrip('.')}." if remedy.confirms else ""
        if verbose and remedy.clears:
            effect += f" Gone from the next run then: {', '.join(map(plain, remedy.clears))}."
        page.line((f"{minutes(remedy.minutes).capitalize()}. {effect}".strip(), "dim"), indent=6)


# ------------------------------------------------------------------------------------------- the rest


def _others(page: Page, diagnosis: Diagnosis, told: Sequence[Hypothesis]) -> None:
    rest = [h for h in story.shown(diagnosis) if h not in told and h.probability >= story.POSSIBLE][:6]
    if not rest:
        return
    page.head("Also possible" if told else "Possible")
    for hypothesis in rest:
        page.line(
            plain(hypothesis.title, 160),
            f"  {percent(hypothesis.probability)}  ",
            (hypothesis.cause, "dim"),
            mark="  • ",
        )


def _unexplained(page: Page, diagnosis: Diagnosis, extras: Extras, told: Sequence[Hypothesis]) -> None:
    left = story.not_explained(diagnosis, extras.usual, told) if told else []
    if not left:
        return
    page.head("Seen, and not explained by any of this")
    for symptom, _ in left[:4]:
        reading = next(r for r in diagnosis.findings if r.symptom == symptom)
        _reading(page, diagnosis, reading, "  • ", diagnosis.run.step_unit)
    if len(left) > 4:
        page.line((f"and {len(left) - 4} more", "dim"), indent=4)


def _next_checks(page: Page, diagnosis: Diagnosis, verbose: bool) -> None:
    checks = diagnosis.next_checks[:MOST_CHECKS] if verbose else story.next_checks(diagnosis, MOST_CHECKS)
    if not checks:
        return
    page.head("Next check" if len(checks) == 1 else "Next checks, most telling first")
    for number, check in enumerate(checks, 1):
        page.line(plain(check.title).rstrip("."), "?", mark=f"  {number}. ")
        page.line(sentence(check.do), indent=5)
        if check.step:
            page.line((f"({plain(check.step, 200)})", "dim"), indent=5)
        said = story.answer_command(diagnosis, check.symptom)
        page.line(
            (f"{minutes(check.minutes).capitalize()}. Then: {said}{story.answer_ending(said)}", "dim"),
            indent=5,
            hang=2,
        )
        page.line(f"if so: {plain(check.if_present)}", indent=5, hang=2)
        page.line(f"if not: {plain(check.if_absent)}", indent=5, hang=2)


def _checklist(page: Page, items: Sequence[CheckedItem], verbose: bool) -> None:
    if not items:
        return
    tally = [f"{sum(i.result is r for i in items)} {r.value.lower()}" for r in Result]
    page.head(f"Checklist: {listed(tally)}")
    for item in items:
        result = (f"{item.result.value:<11}", RESULTS[item.result])
        page.line(result, f" {plain(item.title, 160)}", mark=f"{plain(item.id, 8):>4}  ", hang=12)
        if item.result is Result.FAILED or verbose:
            page.line((sentence(item.why), "dim"), indent=18)
        if item.result is Result.NOT_CHECKED and verbose and item.check:
            page.line((f"To check: {sentence(item.check)}", "dim"), indent=18)


def _findings(page: Page, diagnosis: Diagnosis) -> None:
    page.head("All readings")
    for state in State:
        some = [r for r in diagnosis.findings if r.state is state]
        page.line((f"{state.value} ({len(some)})", STATES[state]), indent=2)
        for reading in some:
            why = plain(reading.why)
            seen = ", ".join(story.seen_at(reading, diagnosis.run.step_unit))
            page.line(reading.symptom, (f"  {why}" + (f" [{seen}]" if seen else ""), "dim"), indent=4, hang=2)


def _notes(page: Page, diagnosis: Diagnosis, verbose: bool) -> None:
    notes = [sentence(n) for n in diagnosis.run.notes]
    if diagnosis.benchmark is not None:
        notes += [f"Benchmark: {plain(n)}" for n in diagnosis.benchmark.notes]
    notes += [
        f"Not evaluated: {plain(what, 80)} ({plain(why, 160)})" for what, why in diagnosis.not_evaluated
    ]
    most = len(notes) if verbose else MOST_NOTES
    shown, left = notes[:most], len(notes) - most
    not_read = [f"{plain(file, 120)} ({plain(why, 120)})" for file, why in diagnosis.run.not_read]
    named = len(not_read) if verbose else 3
    if not_read:
        more = f" and {len(not_read) - named} more" if len(not_read) > named else ""
        shown.append(f"Not read: {', '.join(not_read[:named])}{more}.")
    if not shown:
        return
    page.head("Notes")
    for note in shown:
        page.line((note, "dim"), mark="  • ")
    if left > 0:
        page.line((f"and {count(left, 'note')} more; -v shows all", "dim"), indent=4)
