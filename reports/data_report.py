"""What is wrong with a set of data files, as text, markdown and JSON: the verdict first, then worst first."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..engine.model import Place, Scalar
from .terminal import WIDTH, Page
from .text import count, locations, markdown, plain, rule_text, sentence

SCHEMA_VERSION = "1"
REMARKS = "Worth knowing (so it is in most sound data)"


@dataclass(frozen=True, slots=True)
class Found:
    """One thing that is wrong: what was measured, where, why it matters, what to do."""

    symptom: str
    title: str
    why: str
    value: Scalar
    where: tuple[Place, ...]
    matters: str
    todo: tuple[str, ...]
    cause: str | None


@dataclass(frozen=True, slots=True)
class DataReport:
    """Everything that `diagnose data` says."""

    path: str
    benchmark: str | None
    findings: tuple[Found, ...]  # worst first
    sound: tuple[tuple[str, str], ...]  # (what was looked for, what was seen instead)
    unseen: tuple[tuple[str, str], ...]  # (what was looked for, what is missing for it)
    parts: tuple[str, ...]
    notes: tuple[str, ...] = ()
    not_read: tuple[tuple[str, str], ...] = ()
    seed: int = 0
    same: str = ""  # arrays equal to the benchmark's, in words
    remarks: tuple[Found, ...] = ()  # what most sound data show, too

    @property
    def verdict(self) -> str:
        """The answer in one line."""
        if not self.findings:
            if self.same:
                return "Equal to the benchmark’s within tolerance; nothing wrong was found."
            if not self.sound:
                return "Nothing could be judged."
            return f"Sound as far as {count(len(self.sound), 'check')} can tell."
        first = self.findings[0].title
        more = f", and {len(self.findings) - 1} more" if len(self.findings) > 1 else ""
        return f"{count(len(self.findings), 'finding')}: {first[0].lower()}{first[1:]}{more}."


def render_text(
    report: DataReport, *, width: int = WIDTH, color: bool = False, everything: bool = False
) -> str:
    """Return the report for a terminal."""
    page = Page(width, color)
    page.line((report.verdict, "bold"))
    page.line(_about(report))
    if report.same:
        page.line(sentence(report.same))
    for part in report.parts[:8]:
        page.line(plain(part), indent=2, hang=2)
    if len(report.parts) > 8:
        page.line(f"and {len(report.parts) - 8} more parts", indent=2)
    for number, one in enumerate(report.findings, 1):
        page.gap()
        page.line((f"{number}. {one.title}", "bold"), hang=3)
        page.line(f"{sentence(one.why)}{_where(one.where)}", indent=3, hang=2)
        if one.matters:
            page.line(f"Why it matters: {plain(one.matters)}", indent=3, hang=2)
        for do in one.todo:
            page.line(f"What to do: {plain(do)}.", indent=3, hang=2)
    if report.remarks:
        page.head(REMARKS)
        for one in report.remarks:
            page.line(_remark(one), indent=2, mark="• ")
    for title, lines in _lists(report, everything):
        page.head(title)
        for line in lines:
            page.line(line, indent=2, mark="• ")
    return page.text()


def render_markdown(report: DataReport, *, everything: bool = False) -> str:
    """Return the report as markdown."""
    out = ["# Data", "", f"**{markdown(report.verdict)}**", "", markdown(_about(report)), ""]
    out += [f"- {markdown(p)}" for p in report.parts]
    if report.same:
        out += ["", markdown(sentence(report.same))]
    for number, one in enumerate(report.findings, 1):
        out += [
            "",
            f"## {number}. {markdown(one.title)}",
            "",
            markdown(sentence(one.why) + _where(one.where)),
        ]
        if one.matters:
            out += ["", f"**Why it matters**: {markdown(one.matters)}"]
        if one.todo:
            out += ["", "**What to do**", "", *(f"- {rule_text(do)}." for do in one.todo)]
    if report.remarks:
        out += ["", f"## {REMARKS}", "", *(f"- {markdown(_remark(one))}" for one in report.remarks)]
    for title, lines in _lists(report, everything):
        out += ["", f"## {title}", "", *(f"- {markdown(line)}" for line in lines)]
    return "\n".join(out) + "\n"


def render_json(report: DataReport) -> str:
    """Return the report as JSON, byte-identical for identical input."""
    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "data": plain(report.path),
        "benchmark": None if report.benchmark is None else plain(report.benchmark),
        "verdict": report.verdict,
        "sound": not report.findings and bool(report.sound or report.same),
        "equal_to_benchmark": bool(report.same),
        "findings": [_found(one) for one in report.findings],
        "remarks": [_found(one) for one in report.remarks],
        "checked": [{"what": t, "why": plain(w)} for t, w in report.sound],
        "not_checked": [{"what": t, "why": plain(w)} for t, w in report.unseen],
        "parts": [plain(p) for p in report.parts],
        "notes": [plain(n) for n in report.notes],
        "not_read": [{"file": plain(f), "why": plain(w)} for f, w in report.not_read],
        "seed": report.seed,
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _found(one: Found) -> dict[str, Any]:
    value = one.value
    if isinstance(value, float) and not abs(value) < float("inf"):
        value = str(value)
    return {
        "symptom": one.symptom,
        "title": one.title,
        "why": plain(one.why),
        "value": value,
        "where": [{"file": plain(p.file), "row": p.line} for p in one.where],
        "cause": one.cause,
        "matters": plain(one.matters),
        "do": [plain(d) for d in one.todo],
    }


def _remark(one: Found) -> str:
    return f"{one.title}: {plain(one.why)}{_where(one.where)}"


def _about(report: DataReport) -> str:
    beside = f", against {plain(report.benchmark)}" if report.benchmark is not None else ""
    looked = len(report.findings) + len(report.remarks) + len(report.sound)
    every = looked + len(report.unseen)
    return f"{plain(report.path)}{beside} · {looked} of {every} checks could be made"


def _where(places: Sequence[Place]) -> str:
    return f" [{', '.join(locations(places, 3))}]" if places else ""


def _lists(report: DataReport, everything: bool) -> list[tuple[str, list[str]]]:
    notes = [sentence(n) for n in report.notes]
    unread = [f"{plain(f)}: {plain(w)}" for f, w in report.not_read[:20]]
    found = [("Notes", notes), ("Not read", unread)]
    if everything:
        found[:0] = [
            ("Looked at and sound", [f"{t}: no. {sentence(w)}" for t, w in report.sound]),
            ("Not looked at", [f"{t}? {sentence(w)}" for t, w in report.unseen]),
        ]
    return [(title, lines) for title, lines in found if lines]
