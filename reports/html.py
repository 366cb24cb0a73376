"""The diagnosis as one HTML page that needs nothing else: no script, no font, no file beside it.

Curves and strips stand in it as SVG. Everything that came from the run is escaped by the template; what may
stand unescaped is made here, of escaped pieces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

from ..engine.model import Diagnosis, Reading, State
from . import sections, story, text
from .model import Curve, Extras
from .svg import chart

if TYPE_CHECKING:
    from jinja2 import Environment

MOST_TOLD = 5
MOST_CHECKS = 6
MOST_LISTED = 200
_TICKS = re.compile(r"`([^`]{1,400})`")


def render(diagnosis: Diagnosis, extras: Extras | None = None) -> str:
    """Return the page."""
    given = extras or Extras()
    told = story.in_full(diagnosis, story.POSSIBLE, MOST_TOLD)
    found = diagnosis.findings
    page = _environment(diagnosis, given).get_template("report.html.j2")
    said = page.render(
        d=diagnosis,
        verdict=story.verdict(diagnosis),
        about=story.about(diagnosis),
        caveats=story.caveats(diagnosis),
        told=told,
        rest=[h for h in story.shown(diagnosis) if h not in told and h.probability >= story.POSSIBLE / 2],
        charts=_charts(diagnosis, given.curves),
        sections=given.sections,
        present=story.present(diagnosis),
        others=[
            (f"{state.value}", [r for r in found if r.state is state])
            for state in (State.ABSENT, State.UNKNOWN)
        ],
        unexplained=story.not_explained(diagnosis, given.usual, told),
        notes=[*diagnosis.run.notes, *(diagnosis.benchmark.notes if diagnosis.benchmark else ())],
        not_read=diagnosis.run.not_read[:MOST_LISTED],
    )
    lines = (line.rstrip() for line in said.splitlines())
    return "\n".join(line for line in lines if line) + "\n"


def _environment(diagnosis: Diagnosis, extras: Extras) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("traindoctor.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda v: text.plain(v, 4000) if isinstance(v, str) and not hasattr(v, "__html__") else v,
    )
    unit = diagnosis.run.step_unit
    made.filters.update(
        sentence=lambda t: _coded(text.sentence(t)),
        ending=lambda t: _coded(text.plain(t).rstrip(".") + "."),
        percent=text.percent,
        minutes=lambda m: text.minutes(m).capitalize(),
    )
    made.globals.update(
        said=lambda r: _coded(story.told(diagnosis, r)),
        place=lambda r: _places(r, unit),
        title=lambda node: story.title(diagnosis, node),
        lower=story.lower_first,
        reasons=story.notable,
        weight=lambda r: story.strength(r.weight),
        remedies=lambda h: story.remedies(h, extras.settings),
        corrections=lambda h: [(p, Html(escape(c))) for p, c in story.corrections(diagnosis, h)],
        next_checks=story.next_checks(diagnosis, MOST_CHECKS),
        changes=lambda r: [str(c) for c in story.changes(r.patch, extras.settings)],
        chains=lambda h: story.chains(diagnosis, h),
        answer=lambda symptom: story.answer_command(diagnosis, symptom),
        ending=story.answer_ending,
        word=lambda result: story.result_word(diagnosis, result),
        picture=lambda s: Html(sections.picture(s)),
        count=text.count,
    )
    return made


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


def _coded(said: str) -> Html:
    """Escape a sentence; what stands between backticks is code."""
    return Html(_TICKS.sub(r"<code>\1</code>", escape(text.plain(said, 4000))))


def _places(reading: Reading, unit: str) -> str:
    step = text.at_step(reading.step, unit)
    return ", ".join([*text.locations(reading.where, 3), *([step] if step else [])])


def _charts(diagnosis: Diagnosis, curves: Mapping[str, tuple[Curve, ...]]) -> list[Any]:
    """The curves that matter, as SVG."""
    found = []
    for name in story.curve_names(diagnosis):
        some = curves.get(name, ())
        if any(len(c.steps) for c in some):
            found.append(Html(chart(name, some, diagnosis.run.step_unit)))
    return found
