"""What looks at operators and weights add to a diagnosis: a section each, with a strip over them in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..engine.model import (
    ComparedOperator,
    DumpComparison,
    FusionReport,
    OverflowedOperator,
    OverflowReport,
    State,
    WeightsReport,
)
from . import dump_report, heat_strip, overflow_report, weights_report
from .text import listed, plain, sentence

if TYPE_CHECKING:
    from .terminal import Page

MOST_FACTS = 6
ROW = 72  # characters of a strip in a block of text


@dataclass(frozen=True, slots=True)
class Section:
    """One look: its answer, a strip, what stands under it, and the command that tells more.

    `question` is the command that asks it ("overflow", "compare", ...), `kind` its answer in one word and
    `first` the operator that it begins at. `telling`: there is something that somebody has to look at.
    `words` says what the marks of the strip mean.
    """

    question: str
    title: str
    verdict: str
    telling: bool
    command: str
    strip: tuple[ComparedOperator, ...] = ()
    words: Mapping[str, str] = field(default_factory=lambda: heat_strip.WORDS)
    facts: tuple[str, ...] = ()
    unit: str = "operator"  # what a place of the strip is
    kind: str = ""
    first: OverflowedOperator | ComparedOperator | None = None

    @property
    def drawn(self) -> bool:
        """Whether a strip says more than its verdict."""
        return len(self.strip) > 1


def of_overflow(found: OverflowReport, command: str) -> Section:
    """Where values leave the range of numbers."""
    telling = found.kind not in ("clean", "harmless", "cannot tell")
    facts = [*(overflow_report.facts(found.first) if found.first else ()), *found.settings]
    facts += found.loss_scale if telling else ()
    return Section(
        "overflow",
        "Overflow",
        found.verdict,
        telling,
        command,
        found.strip,
        overflow_report.WORDS,
        tuple(facts[:MOST_FACTS]),
        kind=found.kind,
        first=found.first,
    )


def of_comparison(found: DumpComparison, command: str) -> Section:
    """How operators compare with the benchmark's, or with those of an equal run."""
    title = "Operator comparison" if found.question == "compare" else "Random errors"
    first = dump_report.facts(found.first) if found.first else []
    return Section(
        found.question,
        title,
        found.verdict,
        found.kind not in dump_report.CLEAN,
        command,
        found.operators,
        facts=tuple([*first, *found.settings][:MOST_FACTS]),
        kind=found.kind,
        first=found.first,
    )


def of_weights(found: WeightsReport, command: str) -> Section:
    """What checkpoints say."""
    seen = [f for f in found.findings if f.reading.state is State.PRESENT]
    return Section(
        "weights",
        "Weights",
        found.verdict,
        bool(seen),
        command,
        weights_report.strip(found.rows),
        weights_report.WORDS,
        tuple(f.reading.why for f in seen[:MOST_FACTS]),
        "weight",
        kind="faults" if seen else "none seen",
    )


def of_fusion(found: FusionReport, command: str) -> Section:
    """What is known of operator fusion."""
    rules = listed(found.rules[:MOST_FACTS])
    more = f" and {len(found.rules) - MOST_FACTS} more" if len(found.rules) > MOST_FACTS else ""
    facts = [f"rules that took effect: {rules}{more}"] if rules else []
    return Section(
        "fusion",
        "Operator fusion",
        found.verdict,
        found.state not in ("no effect", "worse without", "cannot tell"),
        command,
        facts=(*facts, *found.next_steps[:2]),
        kind=found.state,
    )


def put(page: Page, section: Section) -> None:
    """Add a section to a terminal report."""
    page.head(section.title)
    page.line(plain(section.verdict), indent=2)
    if section.drawn:
        page.line(*heat_strip.row(section.strip, max(20, page.width - 4)), indent=2)
        page.line((heat_strip.legend(section.strip, section.words), "dim"), indent=2)
    for fact in section.facts[:3]:
        page.line(sentence(fact), indent=2, mark="• ")
    page.line((plain(section.command), "cyan"), indent=2, hang=2)


def picture(section: Section) -> str:
    """The strip as SVG."""
    return heat_strip.svg(section.title, section.strip, section.words, section.unit)


def block(section: Section) -> str:
    """The strip as a block of text: a row of marks, and what they mean."""
    row = "".join(mark for mark, _ in heat_strip.row(section.strip, ROW))
    return f"{row}\n{heat_strip.legend(section.strip, section.words)}"
