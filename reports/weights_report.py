"""What checkpoints say of weights, as text, markdown and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..engine.model import ComparedOperator, State, WeightFinding, WeightRow, WeightsReport
from . import heat_strip
from .terminal import WIDTH, Page
from .text import code, count, locations, markdown, number, percent, plain, sentence

SCHEMA_VERSION = "1"
TOP = 6
_STATES = {
    "moves": "same",
    "unknown": "unknown",
    "still": "inherited",
    "constant": "also",
    "not finite": "first",
}
WORDS = {".": "moves", "x": "stands still", "!": "constant", "#": "not finite", "?": "cannot be told"}


def render_text(
    found: WeightsReport, *, width: int = WIDTH, color: bool = False, everything: bool = False
) -> str:
    """Return the answer for a terminal; `everything`: all looks and all weights."""
    page = Page(width, color)
    page.line((plain(found.verdict), "bold red" if _present(found) else "bold green"))
    page.line(_about(found))
    if len(found.rows) > 1:
        page.gap()
        row = heat_strip.row(strip(found.rows), max(20, page.width - 2))
        page.line(*row, indent=1)
        seen = {mark for mark, _ in row}
        page.line(("  ".join(f"{m} {w}" for m, w in WORDS.items() if m in seen), "dim"), indent=1)
    for one in _present(found):
        page.head(plain(one.title))
        page.line(sentence(one.reading.why), f" {_where(one)}", indent=2)
        for cause, title, because in one.causes[:3]:
            page.line(f"speaks for {cause} ({plain(title)}): {plain(because)}", indent=2, mark="→ ", hang=2)
        if one.do:
            page.line(sentence(one.do), indent=2, mark="• ")
    for state, title in ((State.ABSENT, "Looked at and sound"), (State.UNKNOWN, "Could not be looked at")):
        some = [f for f in found.findings if f.reading.state is state]
        if some and (everything or state is State.ABSENT):
            page.head(title)
            for one in some:
                name = f"{plain(one.title)}: " if state is State.UNKNOWN else ""
                page.line((name, "dim"), sentence(one.reading.why), indent=2, mark="• ")
        elif some:
            page.gap()
            page.line(f"{count(len(some), 'look')} could not be made (--all says why)", indent=0)
    rows = _shown(found.rows, everything)
    if rows:
        page.head("Weights" if everything else "Weights, those that move least first")
        for row_ in rows:
            page.line(plain(row_.name), (f"  {_figures(row_)}", "dim"), indent=2, hang=2)
    if found.notes:
        page.head("Notes")
        for note in found.notes if everything else found.notes[:4]:
            page.line(plain(note), indent=2, mark="• ")
    return page.text()


def render_markdown(found: WeightsReport, *, everything: bool = False) -> str:
    """Return the answer as markdown."""
    out = ["# Weights", "", f"**{markdown(found.verdict)}**", "", markdown(_about(found))]
    for one in _present(found):
        out += [
            "",
            f"## {markdown(one.title)}",
            "",
            f"{markdown(sentence(one.reading.why))} {markdown(_where(one))}",
        ]
        out += [""] + [f"- speaks for {code(c)} ({markdown(t)}): {markdown(b)}" for c, t, b in one.causes[:3]]
        out += [f"- {markdown(sentence(one.do))}"] if one.do else []
    out += ["", "## All looks", "", "| look | state | why |", "|---|---|---|"]
    out += [
        f"| {markdown(f.title)} | {f.reading.state} | {markdown(f.reading.why)} |" for f in found.findings
    ]
    rows = _shown(found.rows, everything)
    if rows:
        out += ["", "## Weights", "", "| weight | figures |", "|---|---|"]
        out += [f"| {code(r.name, cell=True)} | {markdown(_figures(r))} |" for r in rows]
    if found.notes:
        out += ["", "## Notes", "", *(f"- {markdown(n)}" for n in found.notes)]
    return "\n".join(out) + "\n"


def render_json(found: WeightsReport) -> str:
    """Return the answer as JSON, byte-identical for identical input."""
    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "path": plain(found.path),
        "benchmark": plain(found.benchmark) or None,
        "verdict": plain(found.verdict),
        "checkpoints": [plain(c) for c in found.checkpoints],
        "findings": [
            {
                "symptom": f.reading.symptom,
                "title": plain(f.title),
                "state": str(f.reading.state),
                "value": f.reading.value,
                "threshold": f.reading.threshold,
                "why": plain(f.reading.why),
                "where": [plain(p.file) for p in f.reading.where],
                "causes": [c for c, _, _ in f.causes],
            }
            for f in found.findings
        ],
        "weights": [
            {
                "name": plain(r.name),
                "shape": list(r.shape),
                "dtype": r.dtype,
                "state": r.state,
                "change": r.change,
                "mean_size": r.size,
                "min": r.low,
                "max": r.high,
                "zero_share": r.zeros,
            }
            for r in found.rows
        ],
        "notes": [plain(n) for n in found.notes],
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _present(found: WeightsReport) -> list[WeightFinding]:
    return [f for f in found.findings if f.reading.state is State.PRESENT]


def strip(rows: Sequence[WeightRow]) -> tuple[ComparedOperator, ...]:
    """The weights as a strip draws them."""
    return tuple(ComparedOperator(r.name, "", "", n, _STATES[r.state]) for n, r in enumerate(rows))  # type: ignore[arg-type]


def _about(found: WeightsReport) -> str:
    against = f", against {plain(found.benchmark)}" if found.benchmark else ""
    what = f"{count(len(found.checkpoints), 'checkpoint')}, {count(len(found.rows), 'weight')}"
    return f"{plain(found.path)}{against} · {what}"


def _where(one: WeightFinding) -> str:
    places = locations(one.reading.where)
    return f"[{', '.join(places)}]" if places else ""


def _shown(rows: Sequence[WeightRow], everything: bool) -> list[WeightRow]:
    if everything:
        return list(rows)
    rank = {"not finite": 0, "constant": 1, "still": 2, "moves": 3, "unknown": 4}
    return sorted(rows, key=lambda r: (rank[r.state], r.change or 0.0, r.name))[:TOP]


def _figures(row: WeightRow) -> str:
    shape = "x".join(map(str, row.shape)) or "scalar"
    parts = [f"{row.dtype} {shape}", row.state]
    if row.change is not None:
        parts.append(f"changed by {number(row.change)} of its size")
    if row.low is not None and row.high is not None:
        parts.append(f"{number(row.low)} to {number(row.high)}, mean size {number(row.size)}")
    if row.zeros >= 0.5:
        parts.append(f"{percent(row.zeros)} zero")
    return ", ".join(parts)
