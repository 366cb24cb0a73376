"""The knowledge base as text: lists, one entry as YAML, one entry explained."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from textwrap import TextWrapper
from typing import TYPE_CHECKING, Any

from . import reads

if TYPE_CHECKING:
    from ..engine.about import Alike, Atlas, Entry
    from ..engine.model import Cause, Link, Mechanism, Remedy, RuleBase, Symptom

WIDTH = 80
KINDS = ("causes", "mechanisms", "symptoms", "sources")
BY_ITSELF = "shows up by itself in"
CAUSES_SHOWN = 12  # causes that the page of a symptom names


def listing(rules: RuleBase, kind: str, find: str = "") -> str:
    """Return one line per entry, id and title, of those that hold the text `find` anywhere in the line."""
    entries = getattr(rules, kind)
    titles = {i: e if isinstance(e, str) else _marked(e) for i, e in sorted(entries.items())}
    wanted = {i: t for i, t in titles.items() if find.lower() in f"{i} {t}".lower()}
    wide = max((len(i) for i in wanted), default=0)
    return "".join(f"{i:<{wide}}  {t}\n" for i, t in wanted.items())


def _marked(entry: Entry) -> str:
    status = getattr(entry, "status", "stable")
    return entry.title if status == "stable" else f"{entry.title} [{status}]"


def as_yaml(found: Entry, place: str) -> str:
    """Return an entry as the engine sees it, numbers in place of words, and where it is written."""
    import yaml

    text = yaml.safe_dump(_plain(found), sort_keys=False, allow_unicode=True, width=WIDTH)
    return text + (f"# written in {place}\n" if place else "")


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        pairs = ((f.name, getattr(value, f.name)) for f in fields(value))
        return {k: _plain(v) for k, v in pairs if v not in (None, "", ()) and v != {}}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return {str(k): _plain(v) for k, v in value.items()} if hasattr(value, "items") else value


# ------------------------------------------------------------------------------------------- explaining


def explained(atlas: Atlas, found: Entry) -> str:
    """Return an entry so that nothing else is needed to understand it and to test it."""
    from ..engine.model import Cause, Mechanism

    if isinstance(found, Cause):
        lines = _cause(atlas, found)
    elif isinstance(found, Mechanism):
        lines = _mechanism(atlas, found)
    else:
        lines = _symptom(atlas, found)
    return "\n".join(lines).rstrip("\n") + "\n"


def _cause(atlas: Atlas, cause: Cause) -> Iterator[str]:
    from ..engine.words import percent

    yield cause.title
    status = "" if cause.status == "stable" else f", {cause.status}"
    yield f"{cause.id} (a cause{status}; before anything is read: {percent(cause.prior)})"
    yield ""
    yield _fill(cause.summary, WIDTH)
    if cause.applies_when:
        only = ", ".join(f"{k} {_condition(v)}" for k, v in cause.applies_when.items())
        yield _fill(f"Only where {only}; where that is not known, it is not ruled out.", WIDTH)
    yield ""
    yield from _shows(atlas, cause.shows)
    for link in cause.leads_to:
        yield from _through(atlas, link)
    yield from _alike(atlas, cause)
    yield from _remedies(cause)
    yield from _more_general(atlas, cause)
    yield from _sources(atlas.rules, cause.provenance, (*cause.leads_to, *cause.shows))


def _mechanism(atlas: Atlas, found: Mechanism) -> Iterator[str]:
    from ..engine.words import percent

    yield found.title
    yield f"{found.id} (a mechanism; {BY_ITSELF} {percent(found.leak)} of runs)"
    yield ""
    yield from _shows(atlas, found.shows)
    for link in found.leads_to:
        yield from _through(atlas, link)
    yield from _comes_from(atlas, found.id)
    yield from _sources(atlas.rules, (), (*found.leads_to, *found.shows))


def _symptom(atlas: Atlas, found: Symptom) -> Iterator[str]:
    from ..engine.words import percent

    yield found.title
    yield f"{found.id} (a symptom; {BY_ITSELF} {percent(found.leak)} of runs)"
    yield ""
    yield "How it is read"
    if found.probe is None:
        yield _item("Nothing in a run directory tells it: it is a question to you.")
    else:
        yield _item(f"From {reads.source(found)}.")
        if reads.measured(found):
            yield _item(reads.measured(found))
    if found.params:
        yield _item(f"Thresholds: {reads.limits(found)}")
    yield from _by_hand(found)
    yield ""
    yield from _in_code(found)
    yield from _comes_from(atlas, found.id)
    causes = atlas.above(found.id)
    lines = [f"{c}: {atlas.title(c)}" for c in causes[:CAUSES_SHOWN]]
    if len(causes) > CAUSES_SHOWN:
        lines.append(f"and {len(causes) - CAUSES_SHOWN} more, less likely to show it")
    yield from _section("Causes that may be behind it, the likeliest to show it first", lines)
    yield from _sources(atlas.rules, found.sources, ())


def _in_code(found: Symptom) -> Iterator[str]:
    """Why code that shows it trains worse, how it should read, and when it is right all the same."""
    if found.matters:
        yield from _section("Why it matters", [found.matters])
    if found.instead:
        yield "Instead"
        yield from (f"    {line}" for line in found.instead.rstrip().splitlines())
        yield ""
    if found.exceptions:
        yield from _section("Not a fault", found.exceptions)


def _by_hand(found: Symptom) -> Iterator[str]:
    """How a person finds out, and how to tell the answer."""
    if found.question:
        yield _item(f"Question: {found.question}")
    if found.how:
        yield _item(f"By hand: {found.how} (about {found.minutes:g} min).")
    yield _item(f"What you know counts: diagnose RUN --answer {found.id}=present (or =absent)")


# --------------------------------------------------------------------------------------------- sections


def _shows(atlas: Atlas, links: Iterable[Link]) -> Iterator[str]:
    """How it shows: each symptom with how strongly, why, and who reads it where."""
    from ..engine.about import strongest_first

    order = strongest_first(tuple(links))
    if not order:
        return
    yield "How it shows, strongest first"
    for link in order:
        symptom = atlas.rules.symptoms[link.to]
        yield _item(f"{_word(link)}: {symptom.title}")
        yield _under(f"because {link.because}")
        yield _under(f"{link.to}: {_how_read(symptom)}")
    for line in reads.legend(atlas.rules.symptoms[link.to] for link in order):
        yield _fill(f"  ({line})", WIDTH, subsequent_indent="   ")
    yield ""


def _how_read(symptom: Symptom) -> str:
    if symptom.probe is not None:
        return f"read from {reads.source(symptom)}"
    return f"a question to you: {symptom.how or symptom.question} (about {symptom.minutes:g} min)"


def _through(atlas: Atlas, link: Link) -> Iterator[str]:
    """A mechanism it leads to, and the symptoms of that."""
    from ..engine.about import strongest_first

    mechanism = atlas.rules.mechanisms[link.to]
    yield _fill(f"Through: {mechanism.title} ({link.to}), {_word(link)}, because {link.because}", WIDTH)
    for one in strongest_first(mechanism.shows):
        yield _item(f"{_word(one)}: {atlas.title(one.to)} ({one.to})")
    for one in mechanism.leads_to:
        yield _item(f"{_word(one)}, and so on: {atlas.title(one.to)} ({one.to})")
    yield ""


def _alike(atlas: Atlas, cause: Cause) -> Iterator[str]:
    found = atlas.alike(cause)
    if not found:
        return
    yield "Confused with"
    for other in (a for a in found if a.cause in cause.looks_like):
        yield _item(f"{other.cause}: {atlas.title(other.cause)}")
        for line in separation(other):
            yield _under(line)
    others = ", ".join(a.cause for a in found if a.cause not in cause.looks_like)
    if others:
        yield _item(f"Others that name it as a look-alike, and tell what separates them: {others}")
    yield ""


def separation(other: Alike) -> list[str]:
    """Return what speaks for the one and for the other of two causes that look alike."""

    lines = [f"this one shows rather: {', '.join(other.here)}"] if other.here else []
    return lines + ([f"that one shows rather: {', '.join(other.there)}"] if other.there else [])


def _remedies(cause: Cause) -> Iterator[str]:
    if not cause.remedies:
        return
    yield "What to do"
    for number, remedy in enumerate(cause.remedies, 1):
        mark = f"  {number}. "
        yield _fill(remedy.do, WIDTH, initial_indent=mark, subsequent_indent=" " * len(mark))
        yield _fill(effort(remedy), WIDTH, initial_indent=" " * len(mark), subsequent_indent=" " * len(mark))
    yield ""


def effort(remedy: Remedy) -> str:
    """Return what a remedy costs, how often it helps, what it sets and what confirms it."""
    said = f"About {remedy.minutes:g} min; helps in about {100 * remedy.works:.0f} of 100 such cases."
    if remedy.patch:
        said += f" Setting: {', '.join(f'{k} {_patch(v)}' for k, v in remedy.patch.items())}."
    said += f" It worked if {remedy.confirms}." if remedy.confirms else ""
    return said + (f" Gone from the next run then: {', '.join(remedy.clears)}." if remedy.clears else "")


def _patch(value: Any) -> str:
    text = str(value)
    signs = {"/": "divided by ", "*": "times ", "=": "= "}
    return signs[text[0]] + text[1:] if text[:1] in signs else f"= {text}"


def _more_general(atlas: Atlas, cause: Cause) -> Iterator[str]:
    lines = [f"{c}: {atlas.title(c)}" for c in cause.refines]
    yield from _section("A special case of", lines)


def _comes_from(atlas: Atlas, name: str) -> Iterator[str]:
    lines = [
        f"{_word(link)}: {atlas.title(tail)} ({tail}), because {link.because}"
        for tail, link in atlas.leading_to(name)
    ]
    yield from _section("What leads to it directly, strongest first", lines)


def _sources(rules: RuleBase, own: Iterable[str], links: Iterable[Link]) -> Iterator[str]:
    """Where it comes from: what documents it first, then what its arrows cite."""
    cited = dict.fromkeys((*own, *(link.source for link in links)))
    yield from _section("Where it comes from", [f"{s}: {rules.sources.get(s, '')}" for s in cited])


def _section(head: str, lines: Iterable[str]) -> Iterator[str]:
    found = [_item(line) for line in lines]
    if found:
        yield from (head, *found, "")


def _fill(text: str, width: int, initial_indent: str = "", subsequent_indent: str = "") -> str:
    """Wrap text; ids and options are never broken at their hyphens."""
    wrapper = TextWrapper(width, initial_indent, subsequent_indent, break_on_hyphens=False)
    return wrapper.fill(text)


def _item(text: str) -> str:
    return _fill(text, WIDTH, initial_indent="  - ", subsequent_indent="    ")


def _under(text: str) -> str:
    return _fill(text, WIDTH, initial_indent="    ", subsequent_indent="    ")


def _word(link: Link) -> str:
    return link.word or f"{link.strength:g}"


def _condition(value: Any) -> str:
    return "is " + " or ".join(map(str, value)) if isinstance(value, tuple) else f"is {value}"
