"""Operator fusion on and off, and the search for the guilty rule, as text, markdown and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from ..engine.model import FusionReport
from .terminal import WIDTH, Page
from .text import markdown, number, percent, plain

SCHEMA_VERSION = "1"
MOST = 12
_COLOURS = {
    "no effect": "bold green",
    "worse without": "bold green",
    "found": "bold red",
    "at fault": "bold red",
}


def render_text(found: FusionReport, *, width: int = WIDTH, color: bool = False) -> str:
    """Return the answer for a terminal."""
    page = Page(width, color)
    page.line((plain(found.verdict), _COLOURS.get(found.state, "bold yellow")))
    for title, sentences in _lists(found):
        page.head(title)
        for sentence in sentences:
            page.line(plain(sentence), indent=2, mark="• ")
    return page.text()


def render_markdown(found: FusionReport) -> str:
    """Return the answer as markdown."""
    out = ["# Operator fusion", "", f"**{markdown(found.verdict)}**"]
    for title, sentences in _lists(found):
        out += ["", f"## {title}", "", *(f"- {markdown(s)}" for s in sentences)]
    return "\n".join(out) + "\n"


def render_json(found: FusionReport) -> str:
    """Return the answer as JSON, byte-identical for identical input."""
    document = {"schema_version": SCHEMA_VERSION, **asdict(found)}
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _lists(found: FusionReport) -> Iterator[tuple[str, list[str]]]:
    if found.on is not None and found.off is not None:
        ends = [f"fusion on: {number(found.on)}", f"fusion off: {number(found.off)}"]
        if found.benchmark is not None:
            ends.append(f"benchmark: {number(found.benchmark)}")
        yield f"Where the runs end ({plain(found.quantity)})", ends
    if found.switch_off:
        yield "Switched off in the next run", _some(found.switch_off)
    elif found.rules and found.state == "at fault":
        yield "Rules that took effect", _some(found.rules)
    if found.trials:
        yield (
            "Runs so far",
            [
                f"{t.run}: {number(t.value)}, {percent(min(max(t.share, 0.0), 1.0))} of the way to "
                f"fusion off, with {len(t.off)} rules off"
                for t in found.trials
            ],
        )
    if found.next_steps:
        yield "What to do", list(found.next_steps)
    if found.notes:
        yield "Notes", list(found.notes)


def _some(names: tuple[str, ...]) -> list[str]:
    return [*names[:MOST], *([f"{len(names) - MOST} more"] if len(names) > MOST else [])]
