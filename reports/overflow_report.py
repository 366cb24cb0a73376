"""Where values leave the range of numbers, as text, markdown and JSON: one screen, the verdict first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from ..engine.model import OverflowedOperator, OverflowReport
from . import heat_strip
from .terminal import WIDTH, Page
from .text import code, count, listed, markdown, plain

SCHEMA_VERSION = "1"
TOP = 8
MOST_NOTES = 4
_COLOURS = {
    "clean": "bold green",
    "harmless": "bold green",
    "cannot tell": "bold yellow",
    "flagged": "bold yellow",
}
WORDS = {".": "sound", "#": "begins here", "!": "another beginning", "x": "passed on"}


def render_text(
    found: OverflowReport, *, width: int = WIDTH, color: bool = False, everything: bool = False
) -> str:
    """Return the answer for a terminal; `everything`: all operators that are not sound."""
    page = Page(width, color)
    page.line((plain(found.verdict), _COLOURS.get(found.kind, "bold red")))
    page.line(_about(found))
    if len(found.strip) > 1 and found.first is not None:
        page.gap()
        row = heat_strip.row(found.strip, max(20, page.width - 2))
        page.line(*row, indent=1)
        seen = {mark for mark, _ in row}
        page.line(("  ".join(f"{m} {w}" for m, w in WORDS.items() if m in seen), "dim"), indent=1)
    if found.first is not None:
        page.head("Where it begins")
        page.line((plain(found.first.name), "bold"), indent=2)
        for line in facts(found.first):
            page.line(plain(line), indent=4)
    for title, sentences in _lists(found):
        page.head(title)
        for sentence in sentences:
            page.line(plain(sentence), indent=2, mark="• ")
    shown = _shown(found, everything)
    if shown:
        page.head("Operators that are not sound, in order")
        for one in shown:
            page.line(
                (f"{one.state}  ", "dim"),
                plain(_named(one)),
                (f"  {plain(one.why)}", "dim"),
                indent=2,
                hang=4,
            )
        left = len(found.operators) - len(shown)
        if left > 0:
            page.line(f"{left} more (--all)", indent=4)
    notes = found.notes if everything else found.notes[:MOST_NOTES]
    if notes:
        page.head("Notes")
        for note in notes:
            page.line(plain(note), indent=2, mark="• ")
    return page.text()


def render_markdown(found: OverflowReport, *, everything: bool = False) -> str:
    """Return the answer as markdown."""
    out = ["# Overflow", "", f"**{markdown(found.verdict)}**", "", markdown(_about(found))]
    if found.first is not None:
        out += ["", "## Where it begins", "", code(found.first.name), ""]
        out += [f"- {markdown(line)}" for line in facts(found.first)]
    for title, sentences in _lists(found):
        out += ["", f"## {title}", "", *(f"- {markdown(s)}" for s in sentences)]
    shown = _shown(found, everything)
    if shown:
        out += [
            "",
            "## Operators that are not sound",
            "",
            "| | operator | state | why |",
            "|---|---|---|---|",
        ]
        out += [
            f"| {o.order} | {code(_named(o), cell=True)} | {o.state} | {markdown(o.why)} |" for o in shown
        ]
    if found.notes:
        out += ["", "## Notes", "", *(f"- {markdown(n)}" for n in found.notes)]
    return "\n".join(out) + "\n"


def render_json(found: OverflowReport) -> str:
    """Return the answer as JSON, byte-identical for identical input."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "path": plain(found.path),
        "formats": list(found.formats),
        "kind": found.kind,
        "verdict": plain(found.verdict),
        "first": None if found.first is None else _operator(found.first),
        "next_steps": [plain(s) for s in found.next_steps],
        "loss_scale": [plain(s) for s in found.loss_scale],
        "settings": [plain(s) for s in found.settings],
        "notes": [plain(s) for s in found.notes],
        "ranks": list(found.ranks),
        "steps": list(found.steps),
        "looked_at": found.looked,
        "operators": [_operator(o) for o in found.operators],
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _operator(one: OverflowedOperator) -> dict[str, object]:
    return {
        key: plain(value)
        if isinstance(value, str)
        else [plain(v) for v in value]
        if isinstance(value, tuple)
        else value
        for key, value in asdict(one).items()
    }


def _about(found: OverflowReport) -> str:
    parts = [plain(found.path), listed(found.formats)]
    parts.append(count(found.looked, "operator"))
    if found.steps:
        parts.append(count(len(found.steps), "step"))
    if len(found.ranks) > 1:
        parts.append(count(len(found.ranks), "rank"))
    return " · ".join(p for p in parts if p)


def _named(one: OverflowedOperator) -> str:
    rank = f", rank {one.rank}" if one.rank is not None else ""
    return f"{one.name} (step {one.step}{rank})" if one.step is not None else one.name


def facts(one: OverflowedOperator) -> Iterator[str]:
    """An operator in sentences: where its code is, what it takes and gives, what the hardware flags."""
    if one.source:
        yield f"source: {one.source}"
    if one.scope:
        yield f"in: {one.scope}"
    yield from (f"takes {t}" for t in one.inputs[:6])
    yield from (f"gives {t}" for t in one.outputs[:6])
    yield from (f"hardware: {f}" for f in one.flags)


def _lists(found: OverflowReport) -> Iterator[tuple[str, tuple[str, ...]]]:
    for title, sentences in (
        ("Settings in the dump", found.settings),
        ("What to do", found.next_steps),
        ("Loss scale, from the log", found.loss_scale),
    ):
        if sentences:
            yield title, sentences


def _shown(found: OverflowReport, everything: bool) -> tuple[OverflowedOperator, ...]:
    if everything:
        return found.operators
    telling = tuple(o for o in found.operators if o.state not in ("absorbed", "harmless"))
    return telling[:TOP] if found.first is not None else found.operators[:TOP]
