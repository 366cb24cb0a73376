"""Two dumps held against each other, as text, markdown and JSON: the verdict first, on one screen."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from ..engine.model import ComparedOperator, ComparedTensor, DumpComparison, DumpSide
from . import heat_strip
from .model import Document
from .terminal import WIDTH, Page
from .text import code, count, markdown, number, plain

SCHEMA_VERSION = "1"
TOP = 10
MOST_TENSORS = 4
MOST_NOTES = 4
CLEAN = frozenset({"identical", "agrees"})
OPEN = frozenset({"nothing in common", "cannot tell"})


def render_text(
    found: DumpComparison,
    *,
    width: int = WIDTH,
    color: bool = False,
    top: int = TOP,
    everything: bool = False,
) -> str:
    """Return the comparison for a terminal; `everything`: all operators, not the first `top` that differ."""
    page = Page(width, color)
    page.line((plain(found.verdict), _colour(found)))
    page.line(_about(found))
    if len(found.operators) > 1:
        page.gap()
        page.line(*heat_strip.row(found.operators, max(20, page.width - 2)), indent=1)
        page.line((heat_strip.legend(found.operators), "dim"), indent=1)
    if found.first is not None:
        page.head("Where it begins")
        _first(page, found.first)
    for title, sentences, style in (
        ("Settings in the dump", found.settings, "bold"),
        ("What to do next", found.next_steps, "bold"),
    ):
        if sentences:
            page.head(title, style)
            for sentence in sentences[:6]:
                page.line(plain(sentence), indent=2, mark="• ")
    shown = _shown(found, top, everything)
    if shown:
        page.head(_title(found, shown, everything))
        for one in shown:
            page.line(
                (heat_strip.MARKS[one.state] + " ", heat_strip.STYLES.get(one.state, "green")),
                plain(_name(one)),
                (f"  {plain(_errors(one))}", "dim"),
                indent=2,
                hang=4,
            )
    notes = found.notes if everything else found.notes[:MOST_NOTES]
    if notes:
        page.head("Notes")
        for note in notes:
            page.line(plain(note), indent=2, mark="• ")
        if len(found.notes) > len(notes):
            page.line(f"{len(found.notes) - len(notes)} more (--all)", indent=4)
    return page.text()


def render_markdown(
    found: DumpComparison, *, stem: str | None = None, top: int = TOP, everything: bool = False
) -> Document:
    """Return the comparison as markdown; with `stem`, the strip stands beside it as a picture."""
    out = [f"# {_heading(found)}", "", f"**{markdown(found.verdict)}**", "", markdown(_about(found))]
    files: dict[str, str] = {}
    if stem is not None and len(found.operators) > 1:
        name = f"{stem}-operators.svg"
        files[name] = heat_strip.svg(_heading(found), found.operators)
        out += ["", f"![Operators in the order of execution](<{name}>)"]
    first = found.first
    if first is not None:
        out += ["", "## Where it begins", "", code(_name(first))]
        out += [f"- {markdown(line)}" for line in facts(first)]
        out += ["", *_table(first.tensors)]
    for title, sentences in (
        ("Settings in the dump", found.settings),
        ("What to do next", found.next_steps),
    ):
        if sentences:
            out += ["", f"## {title}", "", *(f"- {markdown(s)}" for s in sentences)]
    shown = _shown(found, top, everything)
    if shown:
        out += [
            "",
            f"## {_title(found, shown, everything)}",
            "",
            "| | operator | state | figures |",
            "|---|---|---|---|",
        ]
        out += [
            f"| {o.order} | {code(_name(o), cell=True)} | {o.state} | {markdown(_errors(o))} |" for o in shown
        ]
    if found.notes:
        out += ["", "## Notes", "", *(f"- {markdown(n)}" for n in found.notes)]
    return Document("\n".join(out) + "\n", files)


def render_json(found: DumpComparison) -> str:
    """Return the comparison as JSON, byte-identical for identical input; NaN and infinities are words."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "question": found.question,
        "run": _side(found.run),
        "benchmark": _side(found.benchmark),
        "kind": found.kind,
        "verdict": plain(found.verdict),
        "first": None if found.first is None else _operator(found.first),
        "next_steps": [plain(s) for s in found.next_steps],
        "settings": [plain(s) for s in found.settings],
        "notes": [plain(n) for n in found.notes],
        "ranks": list(found.ranks),
        "steps": list(found.steps),
        "from_statistics": found.from_statistics,
        "tensors": found.tensors,
        "operators": [_operator(o) for o in found.operators],
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


# ---------------------------------------------------------------------------------------------- parts


def _heading(found: DumpComparison) -> str:
    return "Operator comparison" if found.question == "compare" else "Random errors"


def _colour(found: DumpComparison) -> str:
    return "bold green" if found.kind in CLEAN else "bold yellow" if found.kind in OPEN else "bold red"


def _about(found: DumpComparison) -> str:
    parts = [f"{found.run.path} against {found.benchmark.path}"]
    parts.append(f"{count(len(found.operators), 'operator')}, {count(found.tensors, 'tensor')}")
    for name, values in (("step", found.steps), ("rank", found.ranks)):
        if values:
            listed = ", ".join(map(str, values[:6])) + (", ..." if len(values) > 6 else "")
            parts.append(f"{name}{'s' if len(values) > 1 else ''} {listed}")
    if found.from_statistics:
        parts.append("judged by min, max, mean and norm: not both dumps hold values")
    return plain("; ".join(parts), 2000) + "."


def _first(page: Page, one: ComparedOperator) -> None:
    page.line((plain(_name(one)), "bold"), indent=2)
    for line in facts(one):
        page.line(plain(line), indent=4, hang=2)
    for tensor in _telling(one.tensors):
        page.line(f"{tensor.name}  ", (plain(figures(tensor)), "dim"), indent=4, hang=2)


def facts(one: ComparedOperator) -> list[str]:
    """An operator in sentences: phase and place, the user's own line, why it is the one."""
    place = [f"{one.direction} {one.kind}"]
    if one.rank is not None:
        place.append(f"rank {one.rank}")
    if one.step is not None:
        place.append(f"step {one.step}")
    if one.scope:
        place.append(f"in {one.scope}")
    found = [", ".join(place)]
    if one.source:
        found.append(f"source: {one.source}")
    if one.why:
        found.append(one.why)
    return found


def _telling(tensors: Sequence[ComparedTensor]) -> list[ComparedTensor]:
    """Those that differ first; those of one side alone only where there is nothing else."""
    told = [t for t in tensors if t.state != "unmatched"] or list(tensors)
    return sorted(told, key=lambda t: t.state != "differs")[:MOST_TENSORS]


def figures(tensor: ComparedTensor) -> str:
    """A tensor's figures in a few words, the telling ones first."""
    found = tensor.figures
    if found is None or tensor.state == "identical":
        return tensor.why or tensor.state
    parts = [tensor.why] if tensor.why else []
    if found.misplaced and not found.from_statistics and found.cosine is not None:
        parts.append("where both are finite:")
    if found.cosine is not None:
        parts.append(f"cosine {found.cosine:.4f}")
    if found.relative is not None:
        least = "at least " if found.from_statistics and found.relative else ""
        parts.append(f"relative error {least}{number(found.relative)}")
    if not found.from_statistics:
        if found.max_abs is not None:
            parts.append(f"largest difference {number(found.max_abs)}")
        if found.within_1 is not None:
            parts.append(f"{found.within_1:.1%} within 1 ‰, {found.within_5 or 0:.1%} within 5 ‰")
        if found.max_ulp is not None:
            parts.append(f"up to {found.max_ulp} ULP")
    return "; ".join(parts).replace("finite:;", "finite:")


def _table(tensors: Sequence[ComparedTensor]) -> list[str]:
    rows = [
        f"| {code(t.name, cell=True)} | {markdown(t.dtype)} | {t.state} | {markdown(figures(t))} |"
        for t in tensors[:20]
    ]
    return ["| tensor | type | state | figures |", "|---|---|---|---|", *rows] if rows else []


def _shown(found: DumpComparison, top: int, everything: bool) -> list[ComparedOperator]:
    if everything:
        return list(found.operators)
    telling = [o for o in found.operators if o.state in ("first", "also", "unmatched", "inherited")]
    return [] if len(telling) < 2 and found.first is not None else telling[:top]


def _title(found: DumpComparison, shown: Sequence[ComparedOperator], everything: bool) -> str:
    differing = found.counted("first", "also", "unmatched", "inherited")
    if everything:
        return f"All {count(len(shown), 'operator')}"
    more = f"the first {len(shown)} of {differing}" if differing > len(shown) else "all"
    return f"Operators that differ ({more}, in the order of execution)"


def _name(one: ComparedOperator) -> str:
    if one.only == "benchmark":
        return f"{one.name} (benchmark alone)"
    if one.benchmark_name and one.benchmark_name != one.name:
        return f"{one.name} for {one.benchmark_name}"
    return one.name


def _errors(one: ComparedOperator) -> str:
    if one.only or one.state in ("same", "unknown"):
        return "" if one.only == "benchmark" else one.why
    words = [f"inputs {_error(one.input_error)}, outputs {_error(one.output_error)}"]
    if one.rank is not None:
        words.append(f"rank {one.rank}")
    if one.why and one.state in ("first", "also"):
        words.append(one.why)
    return "; ".join(words)


def _error(value: float) -> str:
    return "differ" if math.isinf(value) else "equal" if value == 0 else f"off by {number(value)}"


# ----------------------------------------------------------------------------------------------- JSON


def _side(side: DumpSide) -> dict[str, Any]:
    return {
        "path": plain(side.path),
        "format": side.format,
        "framework": plain(side.framework),
        "operators": side.operators,
    }


def _operator(one: ComparedOperator) -> dict[str, Any]:
    return {
        "name": plain(one.name),
        "benchmark_name": plain(one.benchmark_name),
        "kind": plain(one.kind),
        "direction": one.direction,
        "order": one.order,
        "rank": one.rank,
        "step": one.step,
        "state": one.state,
        "only": one.only or None,
        "why": plain(one.why),
        "source": plain(one.source),
        "scope": plain(one.scope),
        "input_error": _number(one.input_error),
        "output_error": _number(one.output_error),
        "tensors": [_tensor(t) for t in one.tensors],
    }


def _tensor(tensor: ComparedTensor) -> dict[str, Any]:
    found = tensor.figures
    return {
        "name": plain(tensor.name),
        "state": tensor.state,
        "dtype": plain(tensor.dtype),
        "benchmark_dtype": plain(tensor.benchmark_dtype),
        "shape": list(tensor.shape),
        "benchmark_shape": list(tensor.benchmark_shape),
        "why": plain(tensor.why),
        "figures": None
        if found is None
        else {name: _number(getattr(found, name)) for name in type(found).__dataclass_fields__},
    }


def _number(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
