"""What loading cannot see: rules that are well-formed and still useless, inconsistent or wrong in effect."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Literal

from .diagnose import ranked
from .graph import Path, active_causes, arrows, strongest_paths, to_digraph
from .infer import Network, believe, compile_network, prior_of
from .model import Cause, Example, RuleBase, Scalar, State

TEXTBOOK = 0.75  # strength from which a symptom belongs to the textbook case of a cause
TEXTBOOK_RANK = 5
_FRAGMENT = re.compile(r"[^A-Z\s]\S*|[A-Z]\S*[A-Z0-9]\S*")  # first word: lower case, or like NaN and TF32


@dataclass(frozen=True, slots=True)
class Lint:
    """One thing that is wrong with the rules. Warnings do not make a rule base unfit for use."""

    name: str
    subject: str  # id of the cause, mechanism, symptom or checklist
    message: str
    level: Literal["error", "warning"] = "error"

    def __str__(self) -> str:
        return f"{self.level}: {self.subject}: {self.message} [{self.name}]"


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


def lint(rules: RuleBase) -> tuple[Lint, ...]:
    """Run every lint over all rules."""
    subject = Subject(rules, active_causes(rules))
    found = [x for check in (*CAUSE_LINTS, *BASE_LINTS) for x in check(subject)]
    return tuple(sorted(found, key=lambda x: (x.level, x.subject, x.name, x.message)))


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


def separable(subject: Subject) -> Iterator[Lint]:
    """Causes that look alike need a symptom that only one of them leads to."""
    for cause in subject.causes:
        for other in cause.looks_like:
            if subject.paths.get(other, {}).keys() == subject.paths[cause.id].keys():
                yield Lint("not-separable", cause.id, f"no symptom separates it from {other}")


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
                yield Lint("example", cause.id, f"example {number}: {failure}")


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
    """A mechanism stands between something and something."""
    heads = {link.to for _, link in arrows(subject.rules)}
    graph = to_digraph(subject.rules)
    for name in sorted(subject.rules.mechanisms):
        if name not in heads:
            yield Lint("mechanism-without-cause", name, "no cause and no mechanism leads to it")
        if not strongest_paths(graph, name):
            yield Lint("mechanism-without-symptom", name, "it shows in no symptom")


def symptoms_used(subject: Subject) -> Iterator[Lint]:
    """A symptom that nothing shows is read for nothing."""
    heads = {link.to for _, link in arrows(subject.rules)}
    for name in sorted(subject.rules.symptoms.keys() - heads):
        yield Lint("symptom-without-cause", name, "no cause and no mechanism shows it", "warning")


def fragments(subject: Subject) -> Iterator[Lint]:
    """A because is a fragment that is put into a sentence: it starts small and has no full stop."""
    for tail, link in arrows(subject.rules):
        text = link.because
        if text.endswith(".") or text != text.strip() or not _FRAGMENT.match(text):
            yield Lint("because", tail, f"the because of {link.to} is no lower-case fragment: {text!r}")


def checklist_causes(subject: Subject) -> Iterator[Lint]:
    """A checklist asks for causes that exist."""
    for name in sorted(subject.rules.checklists):
        for item in subject.rules.checklists[name]:
            for cause in item.causes:
                if cause not in subject.rules.causes:
                    yield Lint("checklist-cause", name, f"item {item.id} names {cause}, which does not exist")


Check = Callable[[Subject], Iterator[Lint]]
CAUSE_LINTS: tuple[Check, ...] = (complete, seen, separable, named_by_file, examples_hold, textbook)
BASE_LINTS: tuple[Check, ...] = (mechanisms_used, symptoms_used, fragments, checklist_causes)
