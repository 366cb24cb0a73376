"""`diagnose rules docs`: the knowledge base as pages of markdown, made from the rules alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..engine.about import Atlas, strongest_first
from ..engine.checklist import same_as
from ..engine.words import percent
from ..reports.text import code, rule_text
from . import reads
from .rules_text import effort

if TYPE_CHECKING:
    from ..engine.model import Cause, Link, Mechanism, RuleBase, Symptom

NOTE = "<!-- Written by `diagnose rules docs` from the rule files; edit those. -->"
INDEX, SYMPTOMS, MECHANISMS, SOURCES = "README.md", "symptoms.md", "mechanisms.md", "sources.md"
CHECKLISTS = "checklists.md"
MOST_CAUSES = 8  # causes named at a symptom


def rule_pages(rules: RuleBase) -> dict[str, str]:
    """Return file name -> text: a page for each cause, and five that list."""
    atlas = Atlas(rules)
    pages = {f"{name}.md": _page(_cause(atlas, cause)) for name, cause in sorted(rules.causes.items())}
    pages[INDEX] = _page(_index(rules))
    pages[SYMPTOMS] = _page(_symptoms(atlas))
    pages[MECHANISMS] = _page(_mechanisms(atlas))
    pages[SOURCES] = _page(_sources(atlas))
    pages[CHECKLISTS] = _page(_checklists(rules))
    return pages


def _page(lines: Iterable[str]) -> str:
    return "\n".join([NOTE, "", *lines]).rstrip("\n") + "\n"


# --------------------------------------------------------------------------------------------- indexes


def _index(rules: RuleBase) -> Iterator[str]:
    yield "# Rules"
    yield ""
    yield (
        f"{len(rules.causes)} causes, {len(rules.mechanisms)} [mechanisms]({MECHANISMS}), "
        f"{len(rules.symptoms)} [symptoms]({SYMPTOMS}), {len(rules.sources)} [sources]({SOURCES}), "
        f"{len(rules.checklists)} [checklists]({CHECKLISTS}). "
        "How they work together: [one network](../adr/0001-noisy-or-network.md). "
        "What the documents ask for and which rule holds it: [coverage](../coverage.md)."
    )
    groups: dict[str, list[Cause]] = {}
    for name in sorted(rules.causes):
        groups.setdefault(name.partition(".")[0], []).append(rules.causes[name])
    for category, causes in groups.items():
        rows = [(_to_cause(rules, c.id), rule_text(c.title, cell=True), _often(c)) for c in causes]
        yield from ("", f"## {category}", "", *_table(("Cause", "What is wrong", "Before any reading"), rows))


def _often(cause: Cause) -> str:
    return percent(cause.prior) + ("" if cause.status == "stable" else f", {cause.status}")


def _symptoms(atlas: Atlas) -> Iterator[str]:
    rules = atlas.rules
    yield "# Symptoms"
    yield ""
    yield "One observable fact each: present, absent or unknown. *By itself*: how often without a cause."
    areas: dict[str, list[Symptom]] = {}
    for symptom in rules.symptoms.values():
        areas.setdefault(symptom.area, []).append(symptom)
    for area in sorted(areas):
        yield from ("", f"## {area}")
        for symptom in areas[area]:
            yield from ("", *_symptom(atlas, symptom))


def _symptom(atlas: Atlas, symptom: Symptom) -> Iterator[str]:
    yield f"### {symptom.id}"
    yield ""
    yield f"**{rule_text(symptom.title)}** (by itself: {percent(symptom.leak)})"
    yield ""
    if symptom.probe is not None:
        yield f"- Read from {rule_text(reads.source(symptom))}"
        if reads.measured(symptom):
            yield f"- Measured: {rule_text(reads.measured(symptom))}"
    else:
        yield "- No probe reads it: a question to you"
    if symptom.params:
        yield f"- Thresholds: {rule_text(reads.limits(symptom))}"
    if symptom.question:
        yield f"- Question: {rule_text(symptom.question)}"
    if symptom.how:
        yield f"- By hand, about {symptom.minutes:g} min: {rule_text(symptom.how)}"
    if symptom.matters:
        yield f"- Why it matters: {rule_text(symptom.matters)}"
    if symptom.exceptions:
        yield f"- Not a fault: {rule_text('; or '.join(symptom.exceptions))}"
    shown = [_to(atlas.rules, tail) for tail, _ in atlas.leading_to(symptom.id)]
    if shown:
        yield f"- Shown by {_some(shown)}"
    yield f"- From {', '.join(_to_source(s) for s in symptom.sources)}"
    if symptom.instead:
        yield from ("", "Instead:", "", "```python", *symptom.instead.rstrip().splitlines(), "```")


def _some(parts: Sequence[str]) -> str:
    more = [f"{len(parts) - MOST_CAUSES} more"] if len(parts) > MOST_CAUSES else []
    return ", ".join([*parts[:MOST_CAUSES], *more])


def _checklists(rules: RuleBase) -> Iterator[str]:
    yield "# Checklists"
    yield ""
    yield (
        "An item is Failed when a symptom that fails it is present or one of its causes is at 50 % or more, "
        "Passed when a symptom that clears it (one of each part) was read as absent and no cause is above "
        "5 %, and Not checked otherwise: nothing passes for lack of evidence."
    )
    for name, items in rules.checklists.items():
        head = rules.heads[name]
        yield from (
            "",
            f"## {name}",
            "",
            f"{rule_text(head.title)}. `diagnose checklist RUN --list {name}`",
            "",
        )
        if head.results:
            said = ", ".join(f"“{word}” is {result.value}" for result, word in head.results.items())
            yield from (f"Its words: {rule_text(said)}.", "")
        rows = []
        for item in items:
            parts = [f"{rule_text(p.title, cell=True)}: {_ids(rules, p.passes_on)}" for p in item.parts]
            passes = "<br>".join(parts) or _ids(rules, item.passes_on)
            fellows = ", ".join(f"{n} {i}" for n, i in same_as(rules, name, item.id))
            causes = ", ".join(_to_cause(rules, c) for c in item.causes)
            row = (
                item.id,
                rule_text(item.title, cell=True),
                _ids(rules, item.fails_on),
                passes,
                causes,
                fellows,
            )
            rows.append(row)
        yield from _table(("Item", "Asks", "Fails on", "Passes on absence of", "Causes", "Same as"), rows)
    yield from ("", "## Crosswalk", "", "Items of the lists that ask for the same thing.", "")
    names = list(rules.checklists)
    found = [
        (rule_text(r.title, cell=True), *(", ".join(r.items.get(n, ())) for n in names))
        for r in rules.crosswalk
    ]
    yield from _table(("What", *names), found)


def _mechanisms(atlas: Atlas) -> Iterator[str]:
    yield "# Mechanisms"
    yield ""
    yield "What goes wrong inside training: between causes and symptoms, and never seen itself."
    for name, mechanism in sorted(atlas.rules.mechanisms.items()):
        yield from ("", f"## {name}", "", f"**{rule_text(mechanism.title)}**", "")
        tails = [f"{_to(atlas.rules, tail)} ({_word(link)})" for tail, link in atlas.leading_to(name)]
        yield f"- Comes from {', '.join(tails)}"
        yield from _arrows(atlas, mechanism)


def _arrows(atlas: Atlas, mechanism: Mechanism) -> Iterator[str]:
    for link in strongest_first((*mechanism.leads_to, *mechanism.shows)):
        verb = "Leads to" if link.to in atlas.rules.mechanisms else "Shows"
        said = f"{_word(link)}: {rule_text(link.because)}; {_to_source(link.source)}"
        yield f"- {verb} {_to(atlas.rules, link.to)} ({said})"


def _sources(atlas: Atlas) -> Iterator[str]:
    rules = atlas.rules
    used: dict[str, list[str]] = {s: [] for s in rules.sources}
    for name, cause in sorted(rules.causes.items()):
        for source in _cited(cause):
            used[source].append(_to_cause(rules, name))
    yield "# Sources"
    for source, citation in rules.sources.items():
        yield from ("", f"## {source}", "", rule_text(citation))
        if used[source]:
            yield from ("", f"Cited by {', '.join(used[source])}")


# ----------------------------------------------------------------------------------------------- cause


def _cause(atlas: Atlas, cause: Cause) -> Iterator[str]:
    yield f"# {rule_text(cause.title)}"
    yield ""
    yield f"{code(cause.id)}, a cause; before anything is read: {_often(cause)}. [All rules]({INDEX})"
    yield ""
    yield rule_text(cause.summary)
    if cause.applies_when:
        only = ", ".join(code(f"{k}: {v}") for k, v in cause.applies_when.items())
        yield from ("", f"Only where {only}; where that is not known, it is not ruled out.")
    yield from ("", "## How it shows", "", *_shown(atlas, cause.shows))
    if cause.leads_to:
        yield from ("", "Through what goes wrong inside training:", "", *_leads(atlas, cause.leads_to))
    yield from ("", "## What to do", "", *_remedies(cause))
    alike = [
        (_to(atlas.rules, a.cause), _ids(atlas.rules, a.here), _ids(atlas.rules, a.there))
        for a in atlas.alike(cause)
    ]
    if alike:
        heads = ("Cause", "This one shows rather", "That one shows rather")
        yield from ("", "## What it is confused with", "", *_table(heads, alike))
    if cause.refines:
        yield from ("", f"A special case of {', '.join(_to(atlas.rules, c) for c in cause.refines)}.")
    yield from ("", "## Where it comes from", "")
    yield from (f"- {rule_text(atlas.rules.sources[s])} ({_to_source(s)})" for s in _cited(cause))


def _cited(cause: Cause) -> list[str]:
    """What documents a cause first, then what its arrows cite; each once."""
    return list(dict.fromkeys((*cause.provenance, *(k.source for k in (*cause.leads_to, *cause.shows)))))


def _shown(atlas: Atlas, links: Sequence[Link]) -> Iterator[str]:
    rules = atlas.rules
    rows = []
    for link in strongest_first(links):
        symptom = rules.symptoms[link.to]
        read = reads.source(symptom) if symptom.probe is not None else f"a question: {symptom.how}"
        title = f"{rule_text(symptom.title, cell=True)} ({_to(rules, link.to)})"
        because = f"{rule_text(link.because, cell=True)} ({_to_source(link.source)})"
        rows.append((title, _word(link), because, rule_text(read, cell=True)))
    yield from _table(("Symptom", "How often", "Because", "Read from"), rows)


def _leads(atlas: Atlas, links: Sequence[Link]) -> Iterator[str]:
    for link in links:
        title = rule_text(atlas.title(link.to))
        said = f"{_word(link)}: {rule_text(link.because)}; {_to_source(link.source)}"
        yield f"- {title} ({_to(atlas.rules, link.to)}, {said})"


def _remedies(cause: Cause) -> Iterator[str]:
    for number, remedy in enumerate(cause.remedies, 1):
        yield f"{number}. {rule_text(remedy.do)}<br>"
        yield f"   {rule_text(effort(remedy))}"
        if remedy.patch:
            yield f"   {code(', '.join(f'{k}: {v}' for k, v in remedy.patch.items()))}"


# --------------------------------------------------------------------------------------------- helpers


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(heads)} |"
    yield f"|{' --- |' * len(heads)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def _ids(rules: RuleBase, symptoms: Iterable[str]) -> str:
    return ", ".join(_to(rules, s) for s in symptoms)


def _to(rules: RuleBase, name: str) -> str:
    """A link to the page, or the place on a page, of an entry."""
    if name in rules.causes:
        return _to_cause(rules, name)
    page = MECHANISMS if name in rules.mechanisms else SYMPTOMS
    return f"[{name}]({page}#{name})"


def _to_cause(rules: RuleBase, name: str) -> str:
    return f"[{name}]({name}.md)" if name in rules.causes else name


def _to_source(name: str) -> str:
    return f"[{name}]({SOURCES}#{name.replace('.', '')})"  # as GitHub makes anchors of headings


def _word(link: Link) -> str:
    return link.word or f"{link.strength:g}"
