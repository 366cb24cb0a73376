"""What there is to know of one entry: what leads to it, how it shows, what it is confused with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod

from .graph import Path, active_causes, arrows, links, outline, strongest_paths
from .model import Cause, Link, Mechanism, RuleBase, Symptom

Entry = Cause | Mechanism | Symptom
CLEARLY = 0.15  # by how much likelier under one cause than under another a symptom tells them apart
MOST = 3  # symptoms named on each side


@dataclass(frozen=True, slots=True)
class Alike:
    """A cause that this one is confused with, and what tells them apart."""

    cause: str
    here: tuple[str, ...]  # symptoms that speak for this one, most telling first
    there: tuple[str, ...]  # symptoms that speak for the other


@dataclass(frozen=True, eq=False)
class Atlas:
    """The rules as somebody reads them who wants to understand one entry."""

    rules: RuleBase

    def entry(self, name: str) -> Entry | None:
        """Return the cause, mechanism or symptom of this id."""
        rules = self.rules
        return rules.causes.get(name) or rules.mechanisms.get(name) or rules.symptoms.get(name)

    def title(self, name: str) -> str:
        """Return an entry's title; the id itself when there is none."""
        found = self.entry(name)
        return found.title if found is not None else name

    def leading_to(self, name: str) -> Sequence[tuple[str, Link]]:
        """Return the arrows that end at an entry with their tails, strongest first."""
        return self._into.get(name, ())

    def above(self, name: str) -> Sequence[str]:
        """Return all causes that lead to an entry, directly or not, the likeliest to show it first."""
        if name in self.rules.mechanisms:
            found = {c: 1.0 for c in self.paths if any(name in p[0] for p in self.paths[c].values())}
        else:
            found = {c: _strength(p[name]) for c, p in self.paths.items() if name in p}
        return sorted(found, key=lambda c: (-found[c], c))

    def alike(self, cause: Cause) -> tuple[Alike, ...]:
        """Return what a cause is confused with: what it names, and what names it."""
        back = sorted(c for c in self.paths if cause.id in self.rules.causes[c].looks_like)
        named = [*cause.looks_like, *back]
        return tuple(self._alike(cause.id, other) for other in dict.fromkeys(named) if other in self.paths)

    def _alike(self, one: str, other: str) -> Alike:
        return Alike(other, self._for(one, other), self._for(other, one))

    def _for(self, one: str, other: str) -> tuple[str, ...]:
        """Symptoms that are clearly likelier under one cause than under another."""
        theirs = self.paths[other]
        more = {
            s: _strength(p) - (_strength(theirs[s]) if s in theirs else 0.0)
            for s, p in self.paths.get(one, {}).items()
        }
        order = sorted((s for s in more if more[s] >= CLEARLY), key=lambda s: (-round(more[s], 6), s))
        return tuple(order[:MOST])

    @cached_property
    def paths(self) -> Mapping[str, Mapping[str, Path]]:
        """Cause -> symptom -> strongest chain."""
        graph = outline(self.rules)
        return {c.id: strongest_paths(graph, c.id) for c in active_causes(self.rules)}

    @cached_property
    def _into(self) -> Mapping[str, Sequence[tuple[str, Link]]]:
        found: dict[str, list[tuple[str, Link]]] = {}
        for tail, link in arrows(self.rules):
            found.setdefault(link.to, []).append((tail, link))
        return {name: sorted(some, key=lambda pair: -pair[1].strength) for name, some in found.items()}


def strongest_first(some: Sequence[Link]) -> list[Link]:
    """Return arrows by strength; equal ones keep the order of the file."""
    return sorted(some, key=lambda link: -link.strength)


def neighbourhood(rules: RuleBase, name: str) -> set[str]:
    """Return an entry, all that leads to it (through mechanisms too), and all that it leads to."""
    atlas, found = Atlas(rules), {name}
    below = [name]
    while below:
        node = atlas.entry(below.pop())
        if isinstance(node, Cause | Mechanism):
            fresh = {link.to for link in links(node)} - found
            found |= fresh
            below += sorted(n for n in fresh if n in rules.mechanisms)
    above = [name]
    while above:
        fresh = {tail for tail, _ in atlas.leading_to(above.pop())} - found
        found |= fresh
        above += sorted(n for n in fresh if n in rules.mechanisms)
    return found


def _strength(path: Path) -> float:
    return prod(link.strength for link in path[1])
