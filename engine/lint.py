"""What loading cannot see: rules that are well-formed and still useless, inconsistent or wrong in effect."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Literal, Protocol

from .diagnose import ranked
from .graph import Path, active_causes, arrows, descendants, links, strongest_paths, to_digraph
from .infer import Network, believe, compile_network, prior_of
from .model import Cause, Example, Mechanism, RuleBase, Scalar, State

TEXTBOOK = 0.75  # strength from which a symptom belongs to the textbook case of a cause
TEXTBOOK_RANK = 5
_FRAGMENT = re.compile(r"[^A-Z\s]\S*|[A-Z]\S*[A-Z0-9]\S*")  # first word: lower case, or like NaN and TF32


class Places(Protocol):
    """What tells where an entry stands."""

    def at(self, name: str, *loc: str | int) -> str:
        """Return "file:line"."""


@dataclass(frozen=True, slots=True)
class Lint:
    """One thing that is wrong with the rules. Warnings do not make a rule base unfit for use."""

    name: str
    subject: str  # id of the cause, mechanism, symptom, source or checklist
    message: str
    level: Literal["error", "warning"] = "error"
    part: tuple[str | int, ...] = field(default=(), compare=False)  # path of keys inside the subject
    where: str = field(default="", compare=False)  # "file:line"

    def __str__(self) -> str:
        said = f"{self.level}: {self.subject}: {self.message} [{self.name}]"
        return f"{self.where}: {said}" if self.where else said


@dataclass(frozen=True)
class Subject:
    """The rules with what several lints need of them, computed once."""

    rules: RuleBase
    causes: Sequence[Cause] = field(default=())

    @cached_property
    def network(self) -> Network:
        """The compiled rules."""
        return compile_network(self.rules)

    @cached_property
    def paths(self) -> Mapping[str, Mapping[str, Path]]:
        """cause -> symptom -> strongest chain, for all causes that take part in inference."""
        graph = to_digraph(self.rules)
        return {c.id: strongest_paths(graph, c.id) for c in active_causes(self.rules)}

    def probability(self, states: Mapping[str, State], context: Mapping[str, Scalar]) -> dict[str, float]:
        """Return the posterior of every cause."""
        return believe(self.rules, states, context, self.network).probability


def lint(rules: RuleBase, places: Places | None = None) -> tuple[Lint, ...]:
    """Run every lint over all rules; `places` add file and line."""
    subject = Subject(rules, active_causes(rules))
    found = located((x for check in (*CAUSE_LINTS, *BASE_LINTS) for x in check(subject)), places)
    return tuple(sorted(found, key=lambda x: (x.level, x.subject, x.name, x.message)))


def located(found: Iterable[Lint], places: Places | None) -> list[Lint]:
    """Add file and line to what was found."""
    if places is None:
        return list(found)
    return [replace(x, where=places.at(x.subject, *x.part)) for x in found]


def lint_cause(subject: Subject, cause: str) -> tuple[Lint, ...]:
    """Run the lints that concern one cause; `subject` may be shared between calls."""
    one = _Narrowed(subject, subject.rules.causes[cause])
    return tuple(x for check in CAUSE_LINTS for x in check(one))


class _Narrowed(Subject):
    """The same rules, looked at for one cause; shares what is already computed."""

    def __init__(self, subject: Subject, cause: Cause) -> None:
        super().__init__(subject.rules, (cause,) if cause.status != "deprecated" else ())
        self.__dict__.update(network=subject.network, paths=subject.paths)


# ---------------------------------------------------------------------------------------- of one cause


def complete(subject: Subject) -> Iterator[Lint]:
    """A cause says what to do, where it is from, and shows by example that it works."""
    for cause in subject.causes:
        for part in ("remedies", "provenance", "examples"):
            if not getattr(cause, part):
                yield Lint(f"no-{part}", cause.id, f"has no {part}")


def seen(subject: Subject) -> Iterator[Lint]:
    """A cause that shows in nothing can never be found."""
    for cause in subject.causes:
        if not subject.paths[cause.id]:
            yield Lint("no-symptom", cause.id, "leads to no symptom")


def shown_directly(subject: Subject) -> Iterator[Lint]:
    """A cause with no symptom of its own looks like every other cause of its mechanisms."""
    for cause in subject.causes:
        if cause.leads_to and not cause.shows:
            yield Lint("no-direct-symptom", cause.id, "shows nothing itself, only through mechanisms")


def confirmed(subject: Subject) -> Iterator[Lint]:
    """The first thing to do says by what one sees that it worked, and something clears a symptom."""
    for cause in subject.causes:
        if cause.remedies and not cause.remedies[0].confirms:
            what = "its first remedy does not say what confirms it"
            yield Lint("no-confirmation", cause.id, what, part=("remedies", 0))
        if cause.remedies and not any(r.clears for r in cause.remedies):
            yield Lint("clears-nothing", cause.id, "no remedy clears a symptom", "warning", ("remedies",))


def clears_its_own(subject: Subject) -> Iterator[Lint]:
    """What a remedy removes is something that the cause shows."""
    for cause in subject.causes:
        for i, remedy in enumerate(cause.remedies):
            for symptom in remedy.clears:
                if symptom not in subject.paths[cause.id]:
                    what = f"a remedy clears {symptom}, which the cause does not lead to"
                    yield Lint("clears", cause.id, what, part=("remedies", i))


def separable(subject: Subject) -> Iterator[Lint]:
    """Causes that look alike need a symptom that only one of them leads to."""
    for cause in subject.causes:
        for i, other in enumerate(cause.looks_like):
            if subject.paths.get(other, {}).keys() == subject.paths[cause.id].keys():
                what = f"no symptom separates it from {other}"
                yield Lint("not-separable", cause.id, what, part=("looks_like", i))


def named_by_file(subject: Subject) -> Iterator[Lint]:
    """The file says where to find the cause."""
    for cause in subject.causes:
        expected = f"causes/{cause.id.replace('.', '/', 1)}.yaml"
        if cause.path and cause.path != expected:
            yield Lint("file-name", cause.id, f"stands in {cause.path}, not in {expected}", "warning")


def examples_hold(subject: Subject) -> Iterator[Lint]:
    """Inference gives what the examples of a cause say."""
    for cause in subject.causes:
        for number, example in enumerate(cause.examples, 1):
            for failure in _failures(subject, cause, example):
                part = ("examples", number - 1)
                yield Lint("example", cause.id, f"example {number}: {failure}", part=part)


def textbook(subject: Subject) -> Iterator[Lint]:
    """With its own strong symptoms present and nothing else known, a cause is among the first."""
    for cause in subject.causes:
        states = dict.fromkeys(textbook_case(subject.paths[cause.id]), State.PRESENT)
        rank = ranked(subject.rules, subject.probability(states, {})).index(cause.id) + 1
        if rank > TEXTBOOK_RANK:
            given = ", ".join(states)
            yield Lint("textbook", cause.id, f"its textbook case ({given}) puts it at rank {rank}")


def textbook_case(paths: Mapping[str, Path]) -> list[str]:
    """Return the symptoms that a cause shows directly and strongly, or else those it leads to best."""
    strength = {s: prod(link.strength for link in links) for s, (_, links) in paths.items()}
    direct = [s for s, (_, links) in paths.items() if len(links) == 1 and strength[s] >= TEXTBOOK]
    most = max(strength.values(), default=0.0)
    return direct or [s for s in strength if strength[s] >= most - 1e-9]


def _failures(subject: Subject, cause: Cause, example: Example) -> Iterator[str]:
    probability = subject.probability(example.given, example.context)
    p = probability[cause.id]
    if example.rank is not None:
        order = ranked(subject.rules, probability)
        if order.index(cause.id) + 1 > example.rank:
            first = order[0]
            where = f"it is at rank {order.index(cause.id) + 1}, with {p:.2f}"
            yield f"{where}; {first} comes first, with {probability[first]:.2f}"
    prior = prior_of(subject.rules, cause.id, example.context)
    below = prior if example.below == "prior" else example.below
    if below is not None and not p < below:
        yield f"its probability is {p:.3f}, not below {below:.3f}"
    if example.above is not None and not p > example.above:
        yield f"its probability is {p:.3f}, not above {example.above:.3f}"


# --------------------------------------------------------------------------------------- of the whole base


def mechanisms_used(subject: Subject) -> Iterator[Lint]:
    """A mechanism stands between some cause and some symptom."""
    graph = to_digraph(subject.rules)
    reached = {node for c in active_causes(subject.rules) for node in descendants(graph, c.id)}
    for name in sorted(subject.rules.mechanisms):
        if name not in reached:
            yield Lint("mechanism-without-cause", name, "no cause leads to it")
        if not strongest_paths(graph, name):
            yield Lint("mechanism-without-symptom", name, "it shows in no symptom")


def symptoms_used(subject: Subject) -> Iterator[Lint]:
    """A symptom that nothing shows is read for nothing."""
    heads = {link.to for _, link in arrows(subject.rules)}
    for item in (item for items in subject.rules.checklists.values() for item in items):
        heads |= {*item.fails_on, *item.clearing}
    for name in sorted(subject.rules.symptoms.keys() - heads):
        yield Lint(
            "symptom-without-cause",
            name,
            "no cause and no mechanism shows it, and no checklist asks for it",
            "warning",
        )


def sources_used(subject: Subject) -> Iterator[Lint]:
    """A source that nothing cites is left over."""
    rules = subject.rules
    cited = {link.source for _, link in arrows(rules)}
    cited |= {s for c in rules.causes.values() for s in c.provenance}
    cited |= {s for y in rules.symptoms.values() for s in y.sources}
    cited |= {item.source for items in rules.checklists.values() for item in items}
    cited |= {s for flow in rules.flows for s in (flow.source, *(step.source for step in flow.steps))}
    for name in sorted(rules.sources.keys() - cited):
        yield Lint("source-unused", name, "nothing cites it", "warning")


def thresholds_sourced(subject: Subject) -> Iterator[Lint]:
    """A number that decides comes from somewhere."""
    for symptom in subject.rules.symptoms.values():
        numbers = [k for k, v in symptom.params.items() if isinstance(v, int | float)]
        if numbers and not symptom.sources:
            yield Lint("threshold-source", symptom.id, f"no source for {', '.join(numbers)}")


def fragments(subject: Subject) -> Iterator[Lint]:
    """A because is a fragment that is put into a sentence: it starts small and has no full stop."""
    for tail, link in arrows(subject.rules):
        text = link.because
        if text.endswith(".") or text != text.strip() or not _FRAGMENT.match(text):
            what = f"the because of {link.to} is no lower-case fragment: {text!r}"
            yield Lint("because", tail, what, part=_part(subject, tail, link.to))


def because_repeated(subject: Subject) -> Iterator[Lint]:
    """Two arrows of one node with one sentence: the sentence says too little about at least one of them."""
    nodes: list[Cause | Mechanism] = [*subject.causes, *subject.rules.mechanisms.values()]
    for tail in nodes:
        said = Counter(link.because for link in links(tail))
        for link in links(tail):
            if said[link.because] > 1:
                said[link.because] = 0
                what = f"another arrow has the same because as that to {link.to}: {link.because!r}"
                yield Lint("because-repeated", tail.id, what, "warning", _part(subject, tail.id, link.to))


def _part(subject: Subject, tail: str, head: str) -> tuple[str | int, ...]:
    node = subject.rules.causes.get(tail) or subject.rules.mechanisms[tail]
    for key, some in (("leads_to", node.leads_to), ("shows", node.shows)):
        for i, link in enumerate(some):
            if link.to == head:
                return key, i
    return ()


def titles(subject: Subject) -> Iterator[Lint]:
    """Titles are headings without a full stop; questions ask; summaries are sentences."""
    rules = subject.rules
    for group in (rules.causes, rules.mechanisms, rules.symptoms):
        for node in group.values():
            if node.title.endswith((".", ":")) or node.title[:1] in " -":
                yield Lint("title", node.id, f"the title is no heading: {node.title!r}", part=("title",))
    for symptom in rules.symptoms.values():
        if symptom.question and not symptom.question.endswith("?"):
            yield Lint("question", symptom.id, "the question does not end with ?", part=("question",))
    for cause in rules.causes.values():
        if not cause.summary.endswith((".", "?", "!")):
            yield Lint("summary", cause.id, "the summary does not end with a full stop", part=("summary",))


def checklist_causes(subject: Subject) -> Iterator[Lint]:
    """A checklist asks for causes that exist."""
    for name in sorted(subject.rules.checklists):
        for item in subject.rules.checklists[name]:
            for cause in item.causes:
                if cause not in subject.rules.causes:
                    what = f"item {item.id} names {cause}, which does not exist"
                    yield Lint("checklist-cause", name, what)


def crosswalk_causes(subject: Subject) -> Iterator[Lint]:
    """Items of a row of the crosswalk are about a cause of that row; each item stands in one row at most."""
    placed: dict[tuple[str, str], str] = {}
    for row in subject.rules.crosswalk:
        for name, ids in row.items.items():
            about = {item.id: set(item.causes) for item in subject.rules.checklists.get(name, ())}
            for wanted in ids:
                if not about.get(wanted, set()) & set(row.causes):
                    what = f"row {row.id}: {name} {wanted} is about none of its causes"
                    yield Lint("crosswalk-causes", row.id, what)
                if (name, wanted) in placed:
                    what = f"row {row.id}: {name} {wanted} stands in row {placed[name, wanted]} too"
                    yield Lint("crosswalk-twice", row.id, what)
                placed.setdefault((name, wanted), row.id)


def corrected(subject: Subject) -> Iterator[Lint]:
    """What is found in code says why it matters, how it should read and when it is right all the same."""
    for symptom in subject.rules.symptoms.values():
        parts = {"matters": symptom.matters, "instead": symptom.instead, "exceptions": symptom.exceptions}
        given = [name for name, part in parts.items() if part]
        for name in parts:
            if given and name not in given:
                yield Lint(f"no-{name}", symptom.id, f"has {given[0]} and no {name}")


def items_decided(subject: Subject) -> Iterator[Lint]:
    """An item that nothing can pass stays Not checked for ever."""
    for name, items in sorted(subject.rules.checklists.items()):
        for item in items:
            if not item.clearing:
                yield Lint("item-never-passes", name, f"item {item.id} has nothing that it passes on")


Check = Callable[[Subject], Iterator[Lint]]
CAUSE_LINTS: tuple[Check, ...] = (
    complete,
    seen,
    shown_directly,
    confirmed,
    clears_its_own,
    separable,
    named_by_file,
    examples_hold,
    textbook,
)
BASE_LINTS: tuple[Check, ...] = (
    mechanisms_used,
    symptoms_used,
    sources_used,
    thresholds_sourced,
    fragments,
    because_repeated,
    titles,
    checklist_causes,
    crosswalk_causes,
    items_decided,
    corrected,
)
