"""What is wrong with training scripts, as text, markdown and JSON: the verdict first, then worst first."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..engine.model import Place, Scalar
from .terminal import WIDTH, Page
from .text import code, count, location, locations, markdown, percent, plain, printable, rule_text, sentence

SCHEMA_VERSION = "1"
KINDS = ("finding", "remark", "usual")
MOST_REASONS = 6  # things that could not be told, unless all are asked for
MOST_WIDE = 160  # characters of a quoted line


@dataclass(frozen=True, slots=True)
class Quote:
    """Lines of a script as they stand there."""

    place: Place
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Points:
    """A cause that a finding points to; `diagnose explain ID` tells of it."""

    cause: str
    title: str
    because: str


@dataclass(frozen=True, slots=True)
class Found:
    """One thing that is wrong in a script."""

    symptom: str
    title: str
    why: str
    value: Scalar
    where: tuple[Place, ...]
    quotes: tuple[Quote, ...]
    matters: str
    instead: str
    exceptions: tuple[str, ...]
    points_to: tuple[Points, ...]
    weight: float  # log-odds that it gives to the cause it points to most
    kind: Literal["finding", "remark", "usual"] = "finding"  # often meant so; in most sound scripts, too


@dataclass(frozen=True, slots=True)
class Section:
    """A further part of the report, made elsewhere: its text for people and its data for programs."""

    key: str  # of the JSON document
    title: str
    lines: tuple[str, ...]
    data: Any


@dataclass(frozen=True, slots=True)
class ScriptReport:
    """Everything that `diagnose script` says."""

    path: str
    benchmark: str | None
    programs: tuple[str, ...]  # entry files
    findings: tuple[Found, ...]  # heaviest first
    sound: tuple[tuple[str, str, str], ...]  # (symptom, what was looked for, what was seen instead)
    unseen: tuple[tuple[str, str, str], ...]  # (symptom, what was looked for, why it cannot be told)
    ranking: tuple[tuple[str, str, float], ...]  # (cause, title, probability), from the scripts alone
    sections: tuple[Section, ...] = ()
    notes: tuple[str, ...] = ()
    not_read: tuple[tuple[str, str], ...] = ()

    @property
    def faults(self) -> tuple[Found, ...]:
        """What is wrong as far as code can tell."""
        return tuple(f for f in self.findings if f.kind == "finding")

    @property
    def remarks(self) -> tuple[Found, ...]:
        """What is worth a look, and often meant so."""
        return tuple(f for f in self.findings if f.kind == "remark")

    @property
    def usual(self) -> tuple[Found, ...]:
        """What most sound scripts show, too."""
        return tuple(f for f in self.findings if f.kind == "usual")

    @property
    def verdict(self) -> str:
        """The answer in one line."""
        made = len(self.findings) + len(self.sound)
        if not self.faults:
            return f"No finding in {count(made, 'check')}; {len(self.unseen)} could not be told."
        first = self.faults[0].title
        more = f", and {len(self.faults) - 1} more" if len(self.faults) > 1 else ""
        return f"{count(len(self.faults), 'finding')}: {first[0].lower()}{first[1:]}{more}."


def render_text(
    report: ScriptReport, *, width: int = WIDTH, color: bool = False, everything: bool = False
) -> str:
    """Return the report for a terminal."""
    page = Page(width, color)
    page.line((report.verdict, "bold"))
    page.line(_about(report))
    for number, one in enumerate(report.faults, 1):
        _finding(page, number, one)
    if report.remarks:
        page.head("Often meant so, and worth a look")
        for one in report.remarks:
            page.line(f"{one.title}: {plain(one.why)}{_where(one.where)}", indent=2, mark="• ")
    if report.ranking:
        page.head("Causes, from the scripts alone")
        for cause, title, probability in report.ranking:
            page.line(plain(title), f"  {percent(probability)}  ", (cause, "dim"), indent=2, mark="• ")
        page.line(("diagnose explain ID tells more of one", "dim"), indent=4)
    for section in report.sections:
        page.head(section.title)
        for line in section.lines:
            page.line(line, indent=2, mark="• ")
    for title, lines in _lists(report, everything):
        page.head(title)
        for line in lines:
            page.line(line, indent=2, mark="• ")
    return page.text()


def _finding(page: Page, number: int, one: Found) -> None:
    page.gap()
    page.line((f"{number}. {one.title}", "bold"), hang=3)
    page.line(sentence(one.why), indent=3, hang=2)
    for quote in one.quotes:
        page.line((location(quote.place), "cyan"), indent=3)
        _code(page, quote.lines)
    if one.matters:
        page.line(f"Why it matters: {plain(one.matters)}", indent=3, hang=2)
    if one.instead:
        page.line("Instead:", indent=3)
        _code(page, one.instead.rstrip().splitlines())
    for exception in one.exceptions:
        page.line((f"Not a fault: {plain(exception)}", "dim"), indent=3, hang=2)
    for cause in one.points_to:
        page.line(f"Points to: {plain(cause.title)} ", (f"({cause.cause})", "dim"), indent=3, hang=2)


def _code(page: Page, lines: Sequence[str]) -> None:
    from rich.text import Text

    for line in _dedented(lines):
        page.put(Text(" " * 7 + line, style="cyan", no_wrap=True, overflow="ellipsis"))


def _dedented(lines: Sequence[str]) -> list[str]:
    """Lines of code as they are shown: without their common indent, nothing invisible, not too wide."""
    shown = [printable(line.replace("\t", "    "))[: 4 * MOST_WIDE].rstrip() for line in lines]
    left = min((len(s) - len(s.lstrip()) for s in shown if s.strip()), default=0)
    return [s[left:] if len(s) - left <= MOST_WIDE else s[left : left + MOST_WIDE - 1] + "…" for s in shown]


def render_markdown(report: ScriptReport, *, everything: bool = False) -> str:
    """Return the report as markdown."""
    out = ["# Training script", "", f"**{markdown(report.verdict)}**", "", markdown(_about(report))]
    for number, one in enumerate(report.faults, 1):
        out += ["", f"## {number}. {markdown(one.title)}", "", markdown(sentence(one.why))]
        for quote in one.quotes:
            out += ["", code(location(quote.place)), "", *_block(quote.lines)]
        if one.matters:
            out += ["", f"**Why it matters**: {rule_text(one.matters)}"]
        if one.instead:
            out += ["", "**Instead**", "", *_block(one.instead.rstrip().splitlines())]
        if one.exceptions:
            out += ["", "**Not a fault**", "", *(f"- {rule_text(e)}" for e in one.exceptions)]
        if one.points_to:
            out += ["", "**Points to**", ""]
            out += [f"- {markdown(c.title)} ({code(c.cause)}): {rule_text(c.because)}" for c in one.points_to]
    if report.remarks:
        out += ["", "## Often meant so, and worth a look", ""]
        out += [f"- {markdown(o.title)}: {markdown(plain(o.why) + _where(o.where))}" for o in report.remarks]
    if report.ranking:
        out += [
            "",
            "## Causes, from the scripts alone",
            "",
            "| cause | probability | id |",
            "| --- | --- | --- |",
        ]
        out += [f"| {markdown(t)} | {percent(p)} | {code(c, cell=True)} |" for c, t, p in report.ranking]
    for section in report.sections:
        out += ["", f"## {markdown(section.title)}", "", *(f"- {markdown(line)}" for line in section.lines)]
    for title, lines in _lists(report, everything):
        out += ["", f"## {title}", "", *(f"- {markdown(line)}" for line in lines)]
    return "\n".join(out) + "\n"


def _block(lines: Sequence[str]) -> list[str]:
    """A fenced block; the fence is longer than any run of backticks in it."""
    shown = _dedented(lines)
    fence = "`" * max(3, 1 + max((len(run) for s in shown for run in _runs(s)), default=0))
    return [f"{fence}python", *shown, fence]


def _runs(text: str) -> list[str]:
    return [part for part in "".join(c if c == "`" else " " for c in text).split(" ") if part]


def render_json(report: ScriptReport) -> str:
    """Return the report as JSON, byte-identical for identical input."""
    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "script": plain(report.path),
        "benchmark": None if report.benchmark is None else plain(report.benchmark),
        "verdict": report.verdict,
        "programs": [plain(p) for p in report.programs],
        "findings": [_found(one) for one in report.faults],
        "remarks": [_found(one) for one in report.remarks],
        "usual": [_found(one) for one in report.usual],
        "causes": [{"cause": c, "title": plain(t), "probability": round(p, 4)} for c, t, p in report.ranking],
        "checked": [{"symptom": s, "what": t, "why": plain(w)} for s, t, w in report.sound],
        "not_checked": [{"symptom": s, "what": t, "why": plain(w)} for s, t, w in report.unseen],
        "notes": [plain(n) for n in report.notes],
        "not_read": [{"file": plain(f), "why": plain(w)} for f, w in report.not_read],
    }
    document.update({section.key: section.data for section in report.sections})
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _found(one: Found) -> dict[str, Any]:
    value = one.value
    if isinstance(value, float) and not abs(value) < float("inf"):
        value = str(value)
    return {
        "symptom": one.symptom,
        "title": one.title,
        "why": plain(one.why),
        "value": plain(value) if isinstance(value, str) else value,
        "where": [{"file": plain(p.file), "line": p.line, "side": p.side} for p in one.where],
        "code": [
            {
                "file": plain(q.place.file),
                "line": q.place.line,
                "side": q.place.side,
                "lines": _dedented(q.lines),
            }
            for q in one.quotes
        ],
        "matters": plain(one.matters),
        "instead": one.instead,
        "not_a_fault_where": [plain(e) for e in one.exceptions],
        "points_to": [
            {"cause": c.cause, "title": plain(c.title), "because": plain(c.because)} for c in one.points_to
        ],
        "weight": round(one.weight, 3),
    }


def _about(report: ScriptReport) -> str:
    beside = f", against {plain(report.benchmark)}" if report.benchmark is not None else ""
    several = f" · {count(len(report.programs), 'program')}" if len(report.programs) > 1 else ""
    made = len(report.findings) + len(report.sound)
    every = made + len(report.unseen)
    made_of = f"{made} of {every} checks could be made; nothing was executed"
    return f"{plain(report.path)}{beside}{several} · {made_of}"


def _where(places: Sequence[Place]) -> str:
    return f" [{', '.join(locations(places, 3))}]" if places else ""


def _lists(report: ScriptReport, everything: bool) -> list[tuple[str, list[str]]]:
    """What was right and what could not be told: all of it, or in short the reasons with counts."""
    found: list[tuple[str, list[str]]] = []
    if everything:
        noticed = [f"{o.title}: {plain(o.why)}{_where(o.where)}" for o in report.usual]
        found.append(("Noticed, and nothing unusual", noticed))
        found.append(("Looked at and right", [f"{t}: no. {sentence(w)}" for _, t, w in report.sound]))
        found.append(("Could not be told", [f"{t}? {sentence(w)}" for _, t, w in report.unseen]))
    else:
        found.append(("Could not be told", _grouped(report.unseen)))
    found.append(("Notes", [sentence(n) for n in report.notes]))
    found.append(("Not read", [f"{plain(f)}: {plain(w)}" for f, w in report.not_read[:20]]))
    return [(title, lines) for title, lines in found if lines]


def _grouped(unseen: Sequence[tuple[str, str, str]]) -> list[str]:
    reasons: dict[str, int] = {}
    for _, _, why in unseen:
        reasons[why] = reasons.get(why, 0) + 1
    order = sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
    shown = [f"{count(n, 'check')}: {plain(why)}" for why, n in order[:MOST_REASONS]]
    rest = sum(n for _, n in order[MOST_REASONS:])
    return [*shown, f"{count(rest, 'more check')}; --all shows each"] if rest else shown
