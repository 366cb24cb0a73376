"""The knowledge base as text: lists, one entry as YAML, one entry explained."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from textwrap import fill
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..engine.model import Cause, Link, Mechanism, RuleBase, Symptom

WIDTH = 80
KINDS = ("causes", "mechanisms", "symptoms")


def listing(rules: RuleBase, kind: str) -> str:
    """Return one line per entry: id and title."""
    entries = getattr(rules, kind)
    wide = max((len(i) for i in entries), default=0)
    return "".join(f"{i:<{wide}}  {entries[i].title}\n" for i in sorted(entries))


def entry(rules: RuleBase, name: str) -> Cause | Mechanism | Symptom | None:
    """Return the cause, mechanism or symptom of this id."""
    return rules.causes.get(name) or rules.mechanisms.get(name) or rules.symptoms.get(name)


def as_yaml(found: Cause | Mechanism | Symptom) -> str:
    """Return an entry as the engine sees it, numbers in place of words."""
    import yaml

    return yaml.safe_dump(_plain(found), sort_keys=False, allow_unicode=True, width=WIDTH)


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        pairs = ((f.name, getattr(value, f.name)) for f in fields(value))
        return {k: _plain(v) for k, v in pairs if v not in (None, "", ()) and v != {}}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return {str(k): _plain(v) for k, v in value.items()} if hasattr(value, "items") else value


def explained(rules: RuleBase, found: Cause | Mechanism | Symptom) -> str:
    """Return what an entry means, what it leads to, what leads to it, and what to do about it."""
    lines = [found.title, found.id, ""]
    summary = getattr(found, "summary", "")
    if summary:
        lines += [fill(summary, WIDTH), ""]
    how = getattr(found, "how", None) or getattr(found, "question", None)
    if how:
        lines += [fill(f"How to check it: {how}", WIDTH), ""]
    if getattr(found, "params", None):
        limits = ", ".join(f"{k} = {v}" for k, v in getattr(found, "params", {}).items())
        lines += [fill(f"Present from: {limits}", WIDTH), ""]
    leads = [*getattr(found, "leads_to", ()), *getattr(found, "shows", ())]
    lines += _section("Leads to", (_arrow(rules, link.to, link) for link in leads))
    lines += _section("Comes from", (_arrow(rules, tail, link) for tail, link in _into(rules, found.id)))
    lines += _section("What to do", (r.do for r in getattr(found, "remedies", ())))
    alike = [f"{c}: {rules.causes[c].title}" for c in getattr(found, "looks_like", ()) if c in rules.causes]
    lines += _section("Looks like", alike)
    cited = getattr(found, "provenance", ()) or getattr(found, "sources", ())
    lines += _section("Sources", (f"{s}: {rules.sources.get(s, '')}" for s in cited))
    return "\n".join(lines).rstrip("\n") + "\n"


def _section(head: str, entries: Iterable[str]) -> list[str]:
    found: Sequence[str] = [fill(e, WIDTH, initial_indent="  - ", subsequent_indent="    ") for e in entries]
    return [head, *found, ""] if found else []


def _arrow(rules: RuleBase, node: str, link: Link) -> str:
    about = entry(rules, node)
    title = about.title if about is not None else node
    return f"{title} ({node}), {link.word or link.strength}: {link.because}"


def _into(rules: RuleBase, node: str) -> list[tuple[str, Link]]:
    tails: list[Cause | Mechanism] = [*rules.causes.values(), *rules.mechanisms.values()]
    return [(t.id, link) for t in tails for link in (*t.leads_to, *t.shows) if link.to == node]
