"""The decision of a gate as text, markdown (a pull-request comment) and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..engine.model import Diagnosis, Gate, GateFinding
from .story import with_paths
from .terminal import WIDTH, Page
from .text import code, count, locations, markdown, plain, sentence

SCHEMA_VERSION = "1"
MOST_COMMENT = 60_000  # characters; GitHub takes 65,536 in a comment
_COLOURS = {"passed": "bold green", "failed": "bold red", "inconclusive": "bold yellow"}
_SIGNS = {"passed": "✅", "failed": "❌", "inconclusive": "❔"}


def verdict(gate: Gate) -> str:
    """Return the decision in one sentence."""
    blocking = [f for f in gate.findings if f.blocks]
    unchecked = [f for f in gate.findings if f.outcome == "open" and f.level == "error" and f.waived is None]
    name = gate.profile.name
    if gate.decision == "failed":
        return f"Gate failed: {count(len(blocking), 'demand')} of profile {name} not met."
    if gate.decision == "inconclusive":
        return f"Gate undecided: {count(len(unchecked), 'item')} not checked that profile {name} demands."
    left = f"; {len(unchecked)} not checked" if unchecked else ""
    return f"Gate passed by profile {name}{left}."


def groups(gate: Gate) -> list[tuple[str, list[GateFinding]]]:
    """Return the findings in the order in which they are told, under their headings."""
    failing = [f for f in gate.findings if f.outcome == "fail"]
    undecided = [f for f in gate.findings if f.outcome == "open"]
    rows = [
        ("Failed", [f for f in failing if f.blocks]),
        ("Not checked, and demanded", [f for f in undecided if f.level == "error" and not f.waived]),
        ("Known from the baseline", [f for f in failing if f.known and not f.waived and f.level == "error"]),
        ("Waived", [f for f in gate.findings if f.waived]),
        ("Warnings", [f for f in failing if f.level == "warning" and not f.waived]),
        ("Not checked, and not demanded", [f for f in undecided if f.level != "error" and not f.waived]),
        ("Passed", [f for f in gate.findings if f.outcome == "pass"]),
    ]
    return [(title, found) for title, found in rows if found]


def render_text(
    gate: Gate, diagnosis: Diagnosis, *, width: int = WIDTH, color: bool = False, verbose: bool = False
) -> str:
    """Return the decision for a terminal."""
    page = Page(width, color)
    page.line((verdict(gate), _COLOURS[gate.decision]))
    page.line(_about(diagnosis))
    for title, found in groups(gate):
        short = title in ("Passed", "Not checked, and not demanded") and not verbose
        page.head(title)
        if short:
            page.line(", ".join(f.rule for f in found), indent=2)
            continue
        for finding in found:
            page.line((finding.rule, "bold"), f"  {plain(finding.title)}", indent=2, hang=2)
            for line in _lines(finding):
                page.line(line, indent=4, hang=2)
            if finding.command:
                page.line((with_paths(diagnosis, finding.command), "cyan"), indent=6, hang=2)
    _tell(page, "Waivers and baseline", [*gate.warnings, *_fixed(gate)])
    return page.text()


def _tell(page: Page, title: str, sentences: Sequence[str]) -> None:
    if sentences:
        page.head(title)
        for one in sentences:
            page.line(sentence(plain(one)), indent=2, mark="• ")


def _about(diagnosis: Diagnosis) -> str:
    benchmark = diagnosis.benchmark
    against = f", against {plain(benchmark.path)}" if benchmark is not None else ", without a benchmark"
    return f"{plain(diagnosis.run.path)}{against}"


def _lines(finding: GateFinding) -> list[str]:
    lines = [sentence(plain(finding.why))]
    if finding.where:
        lines.append("at " + ", ".join(locations(finding.where, 3)))
    if finding.waived:
        w = finding.waived
        lines.append(f"waived by {plain(w.owner)} until {w.expires}: {plain(w.reason)} [{plain(w.at)}]")
    elif finding.check and finding.outcome != "pass":
        lines.append(
            ("To check: " if finding.outcome == "open" else "To do: ") + sentence(plain(finding.check))
        )
    return lines


def _fixed(gate: Gate) -> list[str]:
    if not gate.fixed:
        return []
    return [f"no longer failing, so the baseline can be written anew: {', '.join(gate.fixed)}"]


def render_markdown(gate: Gate, diagnosis: Diagnosis, *, limit: int = MOST_COMMENT) -> str:
    """Return the decision as markdown of at most `limit` characters, the weightiest first."""
    out = [f"## {_SIGNS[gate.decision]} {markdown(verdict(gate))}", "", markdown(_about(diagnosis)), ""]
    size = sum(len(line) + 1 for line in out)
    for title, found in groups(gate):
        block = [f"### {title}", ""]
        if title in ("Passed", "Not checked, and not demanded"):
            block += [", ".join(code(f.rule) for f in found), ""]
        else:
            block += ["| rule | what | why |", "|---|---|---|"]
            for f in found:
                lines = [markdown(line) for line in _lines(f)]
                lines += [code(with_paths(diagnosis, f.command), cell=True)] if f.command else []
                why = "<br>".join(lines)
                block.append(f"| {code(f.rule, cell=True)} | {markdown(f.title)} | {why} |")
            block.append("")
        more = sum(len(line) + 1 for line in block)
        if size + more > limit - 200:
            out += ["", "*The rest is left out: the full report is the job's artefact.*", ""]
            break
        out += block
        size += more
    notes = [*gate.warnings, *_fixed(gate)]
    if notes and size < limit - 2000:
        out += ["### Waivers and baseline", "", *(f"- {markdown(sentence(n))}" for n in notes[:10]), ""]
    return "\n".join(out)


def render_json(gate: Gate, diagnosis: Diagnosis) -> str:
    """Return the decision for programs, byte-identical for identical input."""
    document: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "decision": gate.decision,
        "profile": gate.profile.name,
        "run": plain(diagnosis.run.path),
        "benchmark": plain(diagnosis.benchmark.path) if diagnosis.benchmark else None,
        "findings": [_as_json(f, diagnosis) for f in gate.findings],
        "warnings": list(map(plain, gate.warnings)),
        "fixed": list(gate.fixed),
        "rules_version": diagnosis.rules_version,
    }
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def _as_json(f: GateFinding, diagnosis: Diagnosis) -> dict[str, Any]:
    waiver = f.waived
    return {
        "rule": f.rule,
        "title": plain(f.title),
        "outcome": f.outcome,
        "level": f.level,
        "blocks": f.blocks,
        "why": plain(f.why),
        "check": plain(f.check),
        "command": with_paths(diagnosis, f.command) if f.command else "",
        "where": [{"file": plain(p.file), "line": p.line, "side": p.side} for p in f.where],
        "decided_by": list(f.decided_by),
        "fingerprint": f.fingerprint,
        "known": f.known,
        "waived": None
        if waiver is None
        else {"owner": plain(waiver.owner), "reason": plain(waiver.reason), "expires": waiver.expires},
    }
