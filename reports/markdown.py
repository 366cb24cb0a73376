"""The diagnosis as markdown that also reads well raw, with the curves as SVG files beside it.

The template holds the words and the order; this module holds what can be computed. Every value that came
from the run passes through a filter of `text` on its way into the template.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ..engine.model import Diagnosis, Hypothesis, Reading, Reason, Result, RunInfo, State
from . import sections, story, text
from .model import Curve, Document, Extras
from .svg import chart

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_TOLD = 5
MOST_CHECKS = 6
MOST_NODES = 40
MOST_LISTED = 200


def render(diagnosis: Diagnosis, extras: Extras | None = None, *, stem: str | None = None) -> Document:
    """Return the report. With `stem` (the report's file name without its ending) charts go beside it."""
    given = extras or Extras()
    charts = _charts(diagnosis, given.curves, stem) if stem else {}
    told = story.in_full(diagnosis, story.POSSIBLE, MOST_TOLD)
    strips = _strips(given.sections, stem) if stem else {}
    page = _environment(diagnosis, given).get_template("report.md.j2")
    said = page.render(
        d=diagnosis,
        verdict=story.verdict(diagnosis),
        told=told,
        rest=[h for h in story.shown(diagnosis) if h not in told and h.probability >= story.POSSIBLE / 2],
        charts=[(name, path) for name, (path, _) in charts.items()],
        sections=[(s, strips[s.title][0] if s.title in strips else "") for s in given.sections],
        present=story.present(diagnosis),
        absent=[r for r in diagnosis.findings if r.state is State.ABSENT],
        unknown=_grouped(r for r in diagnosis.findings if r.state is State.UNKNOWN),
        tally=_tally(diagnosis),
        unexplained=story.not_explained(diagnosis, given.usual, told),
        own_title=False,
        LIKELY=story.LIKELY,
        files=_files(diagnosis),
    )
    return Document(_tidy(said), dict([*charts.values(), *strips.values()]))


def render_checklist(diagnosis: Diagnosis) -> str:
    """Return only the checklist, as a table."""
    page = _environment(diagnosis, Extras()).get_template("checklist.md.j2")
    words = story.result_words(diagnosis)
    return _tidy(page.render(d=diagnosis, tally=_tally(diagnosis), own_title=True, words=words))


def _tally(diagnosis: Diagnosis) -> list[tuple[str, int]]:
    word = story.result_word
    return [(word(diagnosis, r), sum(i.result is r for i in diagnosis.checklist)) for r in Result]


def render_workflow(diagnosis: Diagnosis) -> str:
    """Return where the run stands in the documented flows, as one table per flow."""
    page = _environment(diagnosis, Extras()).get_template("workflow.md.j2")
    return _tidy(page.render(d=diagnosis))


def _files(diagnosis: Diagnosis) -> list[tuple[str, RunInfo]]:
    """Return all runs that were read, each with what it is."""
    found = [("Run", diagnosis.run)]
    found += [("Benchmark", diagnosis.benchmark)] if diagnosis.benchmark else []
    return found + [("Repeat of the benchmark", repeat) for repeat in diagnosis.repeats]


def _environment(diagnosis: Diagnosis, extras: Extras) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("traindoctor.reports", "templates"),
        autoescape=False,  # noqa: S701 - markdown is no HTML: the filters below escape for markdown
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_finalize,
    )
    unit = diagnosis.run.step_unit
    made.filters.update(
        sentence=lambda t: Safe(text.markdown(text.sentence(t))),
        code=lambda t: Safe(text.code(t)),
        link=lambda p: Safe(quote(p)),
        rule=lambda t: Safe(text.rule_text(text.sentence(t))),
        row=lambda t: Safe(text.rule_text(text.sentence(t), cell=True)),
        ending=lambda t: Safe(text.rule_text(text.plain(t).rstrip(".") + ".")),
        program=lambda t: Safe(f"```python\n{t}\n```"),
        cell=lambda t: Safe(text.code(t, cell=True)),
        percent=lambda p: Safe(text.percent(p)),
        minutes=lambda m: Safe(text.minutes(m)),
        first=lambda t: t[:1].upper() + t[1:],
    )
    made.globals.update(
        place=lambda r, cell=False: Safe(_places(r, unit, cell)),
        said=lambda r: Safe(text.rule_text(story.told(diagnosis, r))),
        title=lambda node: story.title(diagnosis, node),
        lower=story.lower_first,
        reasons=_reasons,
        weight=lambda r: Safe(story.strength(r.weight)),
        remedies=lambda h: story.remedies(h, extras.settings),
        corrections=lambda h: story.corrections(diagnosis, h),
        next_checks=story.next_checks(diagnosis, MOST_CHECKS),
        changes=lambda r: story.changes(r.patch, extras.settings),
        chains=lambda h: story.chains(diagnosis, h),
        because=lambda r: because(diagnosis, r),
        graph=lambda h: Safe(graph(diagnosis, h)),
        probability=lambda c: text.percent(story.probability_of(diagnosis).get(c, 0.0)),
        caveats=story.caveats(diagnosis),
        about=story.about(diagnosis),
        and_repeats=story.and_repeats(diagnosis),
        flow_line=story.flow_line,
        step_line=story.step_line,
        word=lambda result: story.result_word(diagnosis, result),
        item_command=lambda item: story.item_command(diagnosis, item),
        same_as=story.same_as,
        step_command=lambda step: story.step_command(diagnosis, step),
        count=text.count,
        answer=lambda symptom: story.answer_command(diagnosis, symptom),
        ending=story.answer_ending,
        scalar=text.scalar,
        strip=lambda s: Safe(f"```text\n{sections.block(s)}\n```"),
        zip=zip,
        most=MOST_LISTED,
    )
    return made


class Safe(str):
    """Text that is markdown already."""

    __slots__ = ()


def _finalize(value: Any) -> Any:
    """Escape whatever the template prints and no filter has made markdown."""
    if isinstance(value, (Safe, int, float)):
        return value
    return Safe(text.markdown(value))


def _tidy(said: str) -> str:
    """No blanks at line ends, no more than one empty line, one newline at the end."""
    lines = [line.rstrip() for line in said.splitlines()]
    return text.disarm(re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n") + "\n")


def _places(reading: Reading, unit: str, cell: bool) -> str:
    places = [text.code(p, cell=cell) for p in text.locations(reading.where, 3)]
    step = text.at_step(reading.step, unit)
    return ", ".join([*places, *([step] if step else [])])


def _reasons(reasons: Sequence[Reason]) -> list[Reason]:
    return story.notable(reasons)[:12]


def _grouped(readings: Iterable[Reading]) -> list[tuple[str, list[str]]]:
    """Group unknown readings by what was missing, the largest group first."""
    groups: dict[str, list[str]] = {}
    for reading in readings:
        groups.setdefault(text.plain(reading.why), []).append(reading.symptom)
    return sorted(groups.items(), key=lambda pair: (-len(pair[1]), pair[0]))


# ------------------------------------------------------------------------------------------------ chain


def because(diagnosis: Diagnosis, reason: Reason) -> list[str]:
    """Return one line per arrow of a chain: from what to what, and why."""
    arrows = zip(reason.path, reason.path[1:], reason.because, strict=False)
    return [
        f"{story.title(diagnosis, a)} → {story.lower_first(story.title(diagnosis, b))}: {text.plain(why)}"
        for a, b, why in arrows
    ]


def graph(diagnosis: Diagnosis, hypothesis: Hypothesis) -> str:
    """Return the chains of a hypothesis as a mermaid graph of at most `MOST_NODES` nodes."""
    nodes: dict[str, str] = {}
    arrows: dict[tuple[str, str], None] = {}
    for reason in (r for r in hypothesis.reasons if r.reading.state is State.PRESENT):
        fresh = [n for n in reason.path if n not in nodes]
        if len(nodes) + len(fresh) > MOST_NODES:
            continue
        for node in fresh:
            nodes[node] = f"n{len(nodes)}"
        arrows.update(dict.fromkeys(zip(reason.path, reason.path[1:], strict=False)))
    if not arrows:
        return ""
    ends = {r.reading.symptom for r in hypothesis.reasons}
    lines = ["```mermaid", "graph LR"]
    for node, short in nodes.items():
        label = text.mermaid(story.title(diagnosis, node))
        left, right = (
            ("([", "])") if node == hypothesis.cause else ("[/", "/]") if node in ends else ("[", "]")
        )
        lines.append(f'  {short}{left}"{label}"{right}')
    lines += [f"  {nodes[a]} --> {nodes[b]}" for a, b in arrows]
    return "\n".join([*lines, "```"])


# ----------------------------------------------------------------------------------------------- pictures


def _strips(given: Sequence[sections.Section], stem: str) -> dict[str, tuple[str, str]]:
    """Return section -> (relative path, SVG) of the strips."""
    return {
        s.title: (f"{stem}_files/{s.title.lower().replace(' ', '-')}.svg", sections.picture(s))
        for s in given
        if s.drawn
    }


def _charts(
    diagnosis: Diagnosis, curves: Mapping[str, tuple[Curve, ...]], stem: str
) -> dict[str, tuple[str, str]]:
    """Return curve name -> (relative path, SVG) of the curves that matter."""
    charts: dict[str, tuple[str, str]] = {}
    used: set[str] = set()
    for name in story.curve_names(diagnosis):
        found = curves.get(name, ())
        if not any(len(c.steps) for c in found):
            continue
        base = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")[:60] or "curve"
        file = base if base not in used else f"{base}-{len(used)}"
        used.add(file)
        charts[name] = (f"{stem}_files/{file}.svg", chart(name, found, diagnosis.run.step_unit))
    return charts
