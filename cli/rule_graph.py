"""`diagnose rules graph`: the network of causes, mechanisms and symptoms as mermaid, dot or JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ..reports.text import mermaid, plain

if TYPE_CHECKING:
    from ..engine.model import Link, RuleBase

FORMATS = ("mermaid", "dot", "json")
KINDS = ("cause", "mechanism", "symptom")
_SHAPES = {"cause": ('["', '"]'), "mechanism": ('("', '")'), "symptom": ('{{"', '"}}')}
_DOT_SHAPES = {"cause": "box", "mechanism": "ellipse", "symptom": "hexagon"}


def drawn(rules: RuleBase, name: str | None, form: str) -> str:
    """Return the neighbourhood of one entry, or everything for None."""
    from ..engine.about import neighbourhood
    from ..engine.graph import arrows, outline

    kinds = {n: str(data["kind"]) for n, data in outline(rules).nodes.items()}
    wanted = kinds.keys() if name is None else neighbourhood(rules, name) & kinds.keys()
    nodes = {n: kinds[n] for n in sorted(wanted, key=lambda n: (KINDS.index(kinds[n]), n))}
    edges = [(tail, link) for tail, link in arrows(rules) if tail in nodes and link.to in nodes]
    return {"mermaid": _mermaid, "dot": _dot, "json": _json}[form](rules, nodes, edges)


Edges = list[tuple[str, "Link"]]


def _title(rules: RuleBase, node: str) -> str:
    return (rules.causes.get(node) or rules.mechanisms.get(node) or rules.symptoms[node]).title


def _mermaid(rules: RuleBase, nodes: dict[str, str], edges: Edges) -> str:
    number = {n: f"n{i}" for i, n in enumerate(nodes)}
    lines = ["flowchart LR"]
    for node, kind in nodes.items():
        start, end = _SHAPES[kind]
        lines.append(f"  {number[node]}{start}{mermaid(_title(rules, node))}{end}")
    lines += [f"  {number[t]} -->|{mermaid(_strength(link))}| {number[link.to]}" for t, link in edges]
    return "\n".join(lines) + "\n"


def _dot(rules: RuleBase, nodes: dict[str, str], edges: Edges) -> str:
    lines = ["digraph rules {", "  rankdir=LR;"]
    for node, kind in nodes.items():
        label = _quoted(_title(rules, node))
        lines.append(f"  {_quoted(node)} [label={label}, shape={_DOT_SHAPES[kind]}];")
    for tail, link in edges:
        said = f"label={_quoted(_strength(link))}, tooltip={_quoted(link.because)}"
        lines.append(f"  {_quoted(tail)} -> {_quoted(link.to)} [{said}];")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    """A dot string: only the quote and the backslash mean anything inside."""
    return '"' + plain(text).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _strength(link: Link) -> str:
    return link.word or f"{link.strength:g}"


def _json(rules: RuleBase, nodes: dict[str, str], edges: Edges) -> str:
    data = {
        "nodes": [{"id": n, "kind": kind, "title": _title(rules, n)} for n, kind in nodes.items()],
        "edges": [
            {
                "from": tail,
                "to": link.to,
                "strength": link.strength,
                "word": link.word,
                "because": link.because,
                "source": link.source,
            }
            for tail, link in edges
        ],
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
