"""Rule entries -> `RuleBase`: words become numbers, references are checked, everything wrong is collected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from .document import Document
from .model import (
    AsGood,
    Cause,
    Caution,
    ChecklistHead,
    ChecklistItem,
    ChecklistPart,
    CrosswalkEntry,
    Example,
    Experience,
    Flow,
    Graded,
    Link,
    Look,
    Mechanism,
    Remedy,
    Result,
    RuleBase,
    Scalar,
    Silence,
    State,
    Step,
    Symptom,
)
from .schema import (
    CauseFile,
    ChecklistEntry,
    ChecklistFile,
    CrosswalkFile,
    ExampleEntry,
    ExperienceFile,
    FlowEntry,
    LinkEntry,
    LookEntry,
    MechanismEntry,
    PackFile,
    RemedyEntry,
    ScaleFile,
    ShowsEntry,
    StepEntry,
    SymptomEntry,
)

T = TypeVar("T")
Loc = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Entry(Generic[T]):
    """A validated entry and where it stands."""

    spec: T
    document: Document
    loc: Loc = ()

    def at(self, *loc: str | int) -> str:
        """Return "file:line" of a part of the entry."""
        return self.document.at(*self.loc, *loc)


@dataclass(frozen=True, slots=True)
class Layer:
    """The entries of one rule folder, or of several put together."""

    scale: Entry[ScaleFile] | None = None
    sources: tuple[tuple[str, Entry[str]], ...] = ()
    mechanisms: tuple[Entry[MechanismEntry], ...] = ()
    symptoms: tuple[tuple[str, Entry[SymptomEntry]], ...] = ()  # (area, entry)
    causes: tuple[Entry[CauseFile], ...] = ()
    checklists: tuple[tuple[str, Entry[ChecklistFile]], ...] = ()  # (name, entry)
    crosswalks: tuple[Entry[CrosswalkFile], ...] = ()
    pack: Entry[PackFile] | None = None
    experience: Entry[ExperienceFile] | None = None
    flows: tuple[Entry[FlowEntry], ...] = ()
    lost: frozenset[str] = frozenset()  # ids in files that were refused: pointing at them is no second error
    unread: frozenset[str] = frozenset()  # kinds of which a file could not even be parsed

    def __add__(self, other: Layer) -> Layer:
        """Put another folder's entries after these."""
        return Layer(
            self.scale or other.scale,
            self.sources + other.sources,
            self.mechanisms + other.mechanisms,
            self.symptoms + other.symptoms,
            self.causes + other.causes,
            self.checklists + other.checklists,
            self.crosswalks + other.crosswalks,
            self.pack or other.pack,
            self.experience or other.experience,
            self.flows + other.flows,
            self.lost | other.lost,
            self.unread | other.unread,
        )


@dataclass(slots=True)
class Checker:
    """What references may point to, and the problems found so far."""

    scale: ScaleFile
    sources: frozenset[str]
    mechanisms: frozenset[str]
    symptoms: frozenset[str]
    causes: frozenset[str]
    checklists: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()
    problems: list[str] = field(default_factory=list)

    def complain(self, where: str, what: str) -> None:
        """Note a problem at "file:line"."""
        self.problems.append(f"{where}: {what}")

    def reference(self, entry: Entry[Any], loc: Loc, kind: str, name: str) -> None:
        """Demand that a name exists."""
        known: frozenset[str] = getattr(self, kind + "s")
        if name not in known and name not in self.lost and kind not in self.unread:
            self.complain(entry.at(*loc), f"there is no {kind} {name!r}{_near(name, known)}")

    def number(self, entry: Entry[Any], loc: Loc, kind: str, level: str | float) -> float:
        """Return the number of a word (or a number itself), inside the bounds; 0.5 after a problem."""
        words: Mapping[str, float] = getattr(self.scale, kind)
        if isinstance(level, str) and level not in words:
            self.complain(entry.at(*loc), f"{level!r} is no word for {kind}; there are {', '.join(words)}")
            return 0.5
        value = words[level] if isinstance(level, str) else float(level)
        problem = _out_of_bounds(self.scale, kind, value)
        if problem:
            self.complain(entry.at(*loc), problem)
        return value


def resolve(layer: Layer, version: str, problems: list[str]) -> RuleBase:
    """Make the rule base of all entries; what is wrong is appended to `problems`."""
    if layer.scale is None:
        if "scale" not in layer.unread:
            problems.append("scale.yaml: the file is missing, so no word has a number")
        return RuleBase({}, {}, {}, {}, {}, version)
    check = _checker(layer, layer.scale.spec)
    _check_scale(layer.scale, check)
    _check_unique(layer, check)
    rules = RuleBase(
        causes={e.spec.id: _cause(e, check) for e in layer.causes},
        mechanisms={e.spec.id: _mechanism(e, check) for e in layer.mechanisms},
        symptoms={e.spec.id: _symptom(a, e, check) for a, e in layer.symptoms},
        sources={name: e.spec for name, e in layer.sources},
        checklists=_checklists(layer, check),
        version=version,
        prior_min=layer.scale.spec.bounds.prior_min,
        caution=_caution(layer.scale.spec),
        as_good=_as_good(layer.scale, check),
        silence=_silence(layer.scale.spec),
        experience=_experience(layer, check),
        flows=tuple(_flow(e, check) for e in layer.flows),
        heads={name: head_of(e.spec) for name, e in layer.checklists},
        crosswalk=_crosswalk(layer, check),
    )
    _check_acyclic(layer, check)
    problems += check.problems
    return rules


def _caution(scale: ScaleFile) -> Caution | None:
    given = scale.caution
    if given is None:
        return None
    return Caution(given.lines, given.weight, given.share, frozenset(given.settles))


def _as_good(scale: Entry[ScaleFile], check: Checker) -> AsGood | None:
    given = scale.spec.as_good
    if given is None:
        return None
    for symptom in given.asks:
        check.reference(scale, ("as_good", "asks"), "symptom", symptom)
    for cause, asks in given.asks_of.items():
        check.reference(scale, ("as_good", "asks_of"), "cause", cause)
        for symptom in asks:
            check.reference(scale, ("as_good", "asks_of", cause), "symptom", symptom)
    for cause in given.shown_of:
        check.reference(scale, ("as_good", "shown_of"), "cause", cause)
    asks_of, shown_of = (
        {cause: frozenset(named) for cause, named in mine.items()} for mine in (given.asks_of, given.shown_of)
    )
    for key, symptoms in (("pace", given.pace), ("differs", given.differs)):
        for symptom in symptoms:
            check.reference(scale, ("as_good", key), "symptom", symptom)
    return AsGood(
        frozenset(given.asks),
        frozenset(given.kinds),
        frozenset(given.shown),
        given.weight,
        asks_of,
        shown_of,
        frozenset(given.pace),
        frozenset(given.differs),
        given.share,
    )


def _experience(layer: Layer, check: Checker) -> Experience | None:
    entry = layer.experience
    if entry is None:
        return None
    for symptom, weights in entry.spec.weights.items():
        check.reference(entry, ("weights", symptom), "symptom", symptom)
        for cause in weights:
            check.reference(entry, ("weights", symptom, cause), "cause", cause)
    for area, weights in entry.spec.looked.items():
        for cause in weights:
            check.reference(entry, ("looked", area, cause), "cause", cause)
    for symptom, value in entry.spec.graded.items():
        check.reference(entry, ("graded", symptom), "symptom", symptom)
        for cause in value.weights:
            check.reference(entry, ("graded", symptom, "weights", cause), "cause", cause)
    graded = {s: Graded(tuple(g.at), tuple(g.stands), g.weights) for s, g in entry.spec.graded.items()}
    spec = entry.spec
    unlike = frozenset(spec.unlike)
    return Experience(spec.weights, spec.most, spec.looked, spec.where, graded, spec.balance, unlike)


def _silence(scale: ScaleFile) -> Silence | None:
    given = scale.silence
    if given is None:
        return None
    return Silence(frozenset(given.areas), frozenset(given.to), given.strength, given.weight, given.most)


def _checker(layer: Layer, scale: ScaleFile) -> Checker:
    return Checker(
        scale,
        frozenset(name for name, _ in layer.sources),
        frozenset(e.spec.id for e in layer.mechanisms),
        frozenset(e.spec.id for _, e in layer.symptoms),
        frozenset(e.spec.id for e in layer.causes),
        frozenset(name for name, _ in layer.checklists),
        layer.lost,
        layer.unread,
    )


# ---------------------------------------------------------------------------------------------- entries


def _cause(entry: Entry[CauseFile], check: Checker) -> Cause:
    spec = entry.spec
    for key in ("refines", "looks_like"):
        for i, other in enumerate(getattr(spec, key)):
            check.reference(entry, (key, i), "cause", other)
            if other == spec.id:
                check.complain(entry.at(key, i), f"{spec.id} stands in its own {key}")
    for i, origin in enumerate(spec.provenance):
        check.reference(entry, ("provenance", i), "source", origin.source)
    return Cause(
        id=spec.id,
        title=spec.title,
        summary=spec.summary,
        status=spec.status,
        prior=check.number(entry, ("prior",), "prior", spec.prior),
        leads_to=_leads_to(entry, check),
        shows=_shows(entry, check),
        remedies=tuple(_remedy(entry, i, r, check) for i, r in enumerate(spec.remedies)),
        applies_when={k: _condition(v) for k, v in spec.applies_when.items()},
        refines=spec.refines,
        looks_like=spec.looks_like,
        provenance=tuple(p.source for p in spec.provenance),
        examples=tuple(_example(entry, i, e, check) for i, e in enumerate(spec.examples)),
        path=entry.document.name,
    )


def _mechanism(entry: Entry[MechanismEntry], check: Checker) -> Mechanism:
    spec = entry.spec
    leak = check.number(entry, ("leak",), "leak", spec.leak)
    return Mechanism(spec.id, spec.title, leak, _leads_to(entry, check), _shows(entry, check))


def _symptom(area: str, entry: Entry[SymptomEntry], check: Checker) -> Symptom:
    spec = entry.spec
    for i, source in enumerate(spec.sources):
        check.reference(entry, ("sources", i), "source", source)
    return Symptom(
        id=spec.id,
        title=spec.title,
        area=area,
        leak=check.number(entry, ("leak",), "leak", spec.leak),
        probe=spec.probe,
        params=spec.params,
        question=spec.question,
        how=spec.how,
        minutes=spec.minutes,
        sources=spec.sources,
        grave=spec.grave,
        caveat=spec.caveat,
        matters=spec.matters,
        instead=spec.instead,
        exceptions=spec.exceptions,
        one_of_many=spec.one_of_many,
    )


def _leads_to(entry: Entry[Any], check: Checker) -> tuple[Link, ...]:
    links: Sequence[LinkEntry] = entry.spec.leads_to
    _check_repeated(entry, "leads_to", [link.to for link in links], check)
    for i, link in enumerate(links):
        check.reference(entry, ("leads_to", i, "to"), "mechanism", link.to)
    return tuple(_link(entry, ("leads_to", i), link, link.to, check) for i, link in enumerate(links))


def _shows(entry: Entry[Any], check: Checker) -> tuple[Link, ...]:
    links: Sequence[ShowsEntry] = entry.spec.shows
    _check_repeated(entry, "shows", [link.symptom for link in links], check)
    for i, link in enumerate(links):
        check.reference(entry, ("shows", i, "symptom"), "symptom", link.symptom)
    return tuple(_link(entry, ("shows", i), link, link.symptom, check) for i, link in enumerate(links))


def _link(entry: Entry[Any], loc: Loc, link: LinkEntry | ShowsEntry, to: str, check: Checker) -> Link:
    check.reference(entry, (*loc, "source"), "source", link.source)
    strength = check.number(entry, (*loc, "strength"), "strength", link.strength)
    word = link.strength if isinstance(link.strength, str) else ""
    return Link(to, strength, link.because, link.source, word)


def _remedy(entry: Entry[CauseFile], i: int, remedy: RemedyEntry, check: Checker) -> Remedy:
    works = check.number(entry, ("remedies", i, "works"), "works", remedy.works)
    for at, symptom in enumerate(remedy.clears):
        check.reference(entry, ("remedies", i, "clears", at), "symptom", symptom)
    for at, symptom in enumerate(remedy.done_by):
        check.reference(entry, ("remedies", i, "done_by", at), "symptom", symptom)
    when = {k: _condition(v) for k, v in remedy.applies_when.items()}
    return Remedy(
        remedy.do,
        remedy.minutes,
        works,
        remedy.patch,
        remedy.confirms,
        remedy.clears,
        when,
        remedy.done_by,
    )


def _example(entry: Entry[CauseFile], i: int, example: ExampleEntry, check: Checker) -> Example:
    for symptom in example.given:
        check.reference(entry, ("examples", i, "given", symptom), "symptom", symptom)
    given = {s: State(v) for s, v in example.given.items()}
    return Example(given, example.context, example.rank, example.below, example.above)


def _condition(value: Any) -> Scalar | tuple[Scalar, ...]:
    return tuple(value) if isinstance(value, list) else value


def _checklists(layer: Layer, check: Checker) -> dict[str, tuple[ChecklistItem, ...]]:
    return {name: _checklist(entry, check) for name, entry in layer.checklists}


def _checklist(entry: Entry[ChecklistFile], check: Checker) -> tuple[ChecklistItem, ...]:
    _sourced(entry, (), entry.spec.source, check)
    for i, item in enumerate(entry.spec.items):
        _sourced(entry, ("items", i), item.source, check)
    return _items(entry, check)


def own_checklist(
    entry: Entry[ChecklistFile], rules: RuleBase
) -> tuple[tuple[ChecklistItem, ...], list[str]]:
    """Return the items of a user's own checklist, and what is wrong with them; it may cite what it likes."""
    check = Checker(
        ScaleFile.model_construct(),
        frozenset(rules.sources),
        frozenset(rules.mechanisms),
        frozenset(rules.symptoms),
        frozenset(rules.causes),
    )
    items = _items(entry, check)
    for i, item in enumerate(entry.spec.items):
        for j, cause in enumerate(item.causes):
            check.reference(entry, ("items", i, "causes", j), "cause", cause)
    return items, check.problems


def _sourced(entry: Entry[ChecklistFile], loc: Loc, source: str | None, check: Checker) -> None:
    if source is None:
        check.complain(entry.at(*loc), "source: this field is missing")
    else:
        check.reference(entry, (*loc, "source"), "source", source)


def _items(entry: Entry[ChecklistFile], check: Checker) -> tuple[ChecklistItem, ...]:
    _check_repeated(entry, "items", [item.id for item in entry.spec.items], check)
    for i, item in enumerate(entry.spec.items):
        for key in ("fails_on", "passes_on"):
            for j, symptom in enumerate(getattr(item, key)):
                check.reference(entry, ("items", i, key, j), "symptom", symptom)
        for k, part in enumerate(item.parts):
            for j, symptom in enumerate(part.passes_on):
                check.reference(entry, ("items", i, "parts", k, "passes_on", j), "symptom", symptom)
    return tuple(_item(item) for item in entry.spec.items)


def _item(spec: ChecklistEntry) -> ChecklistItem:
    parts = tuple(ChecklistPart(p.title, p.passes_on) for p in spec.parts)
    said = (spec.id, spec.title, spec.causes, spec.fails_on, spec.passes_on, spec.check, spec.source or "")
    return ChecklistItem(*said, parts, spec.command or "")


def head_of(spec: ChecklistFile) -> ChecklistHead:
    """Return what a checklist says of itself."""
    words = spec.results
    if words is None:
        return ChecklistHead(spec.title)
    named = {Result.PASSED: words.passed, Result.FAILED: words.failed, Result.NOT_CHECKED: words.unchecked}
    return ChecklistHead(spec.title, named)


def _crosswalk(layer: Layer, check: Checker) -> tuple[CrosswalkEntry, ...]:
    found: list[CrosswalkEntry] = []
    items = {name: {item.id for item in entry.spec.items} for name, entry in layer.checklists}
    for entry in layer.crosswalks:
        check.reference(entry, ("source",), "source", entry.spec.source)
        _check_repeated(entry, "rows", [row.id for row in entry.spec.rows], check)
        for i, row in enumerate(entry.spec.rows):
            for j, cause in enumerate(row.causes):
                check.reference(entry, ("rows", i, "causes", j), "cause", cause)
            for name, ids in row.items.items():
                loc = ("rows", i, "items", name)
                check.reference(entry, loc, "checklist", name)
                for j, wanted in enumerate(ids):
                    if name in items and wanted not in items[name]:
                        check.complain(entry.at(*loc, j), f"checklist {name} has no item {wanted!r}")
            found.append(CrosswalkEntry(row.id, row.title, row.causes, row.items))
    return tuple(found)


# ------------------------------------------------------------------------------------------------ flows


def _flow(entry: Entry[FlowEntry], check: Checker) -> Flow:
    spec = entry.spec
    check.reference(entry, ("source",), "source", spec.source)
    _check_repeated(entry, "steps", [step.id for step in spec.steps], check)
    steps = tuple(_step(entry, ("steps", i), step, check) for i, step in enumerate(spec.steps))
    return Flow(spec.id, spec.title, spec.source, spec.compares, steps)


def _step(entry: Entry[FlowEntry], loc: Loc, step: StepEntry, check: Checker) -> Step:
    check.reference(entry, (*loc, "source"), "source", step.source)
    if step.checklist is not None:
        check.reference(entry, (*loc, "checklist"), "checklist", step.checklist)
    for i, cause in enumerate(step.causes):
        check.reference(entry, (*loc, "causes", i), "cause", cause)
    about = dict.fromkeys(step.causes)
    for i, category in enumerate(step.categories):
        found = [c for c in sorted(check.causes) if c.partition(".")[0] == category]
        if not found and "cause" not in check.unread:
            check.complain(entry.at(*loc, "categories", i), f"there is no cause of the category {category!r}")
        about.update(dict.fromkeys(found))
    looks = tuple(_look(entry, (*loc, "looks", i), look, check) for i, look in enumerate(step.looks))
    said = (step.id, step.title, step.excludes, step.source, step.do, step.command)
    return Step(*said, tuple(about), looks, step.checklist)


def _look(entry: Entry[FlowEntry], loc: Loc, look: LookEntry, check: Checker) -> Look:
    for key in ("any", "all", "reads", "finds", "only_after"):
        for i, symptom in enumerate(getattr(look, key)):
            check.reference(entry, (*loc, key, i), "symptom", symptom)
    fields = look.model_dump()
    fields["applies_when"] = {k: _condition(v) for k, v in look.applies_when.items()}
    return Look(**fields)


# --------------------------------------------------------------------------------------------- checks


def _check_scale(entry: Entry[ScaleFile], check: Checker) -> None:
    for kind in ("prior", "leak", "strength"):
        for word, value in getattr(entry.spec, kind).items():
            problem = _out_of_bounds(entry.spec, kind, value)
            if problem:
                check.complain(entry.at(kind, word), problem)


def _out_of_bounds(scale: ScaleFile, kind: str, value: float) -> str | None:
    bounds = scale.bounds
    low = {"prior": bounds.prior_min, "leak": bounds.leak_min}.get(kind, 0.0)
    high = bounds.strength_max if kind == "strength" else 1.0
    if value < low or value > high or value in (0.0, 1.0):
        return f"{kind} {value:g} is outside the bounds of scale.yaml ({low:g} to {high:g})"
    return None


def _named(layer: Layer) -> Iterator[tuple[str, Entry[Any]]]:
    """All nodes of the graph with their names; they share one name space."""
    yield from ((e.spec.id, e) for e in layer.causes)
    yield from ((e.spec.id, e) for e in layer.mechanisms)
    yield from ((e.spec.id, e) for _, e in layer.symptoms)


def _check_unique(layer: Layer, check: Checker) -> None:
    flows = [(e.spec.id, e) for e in layer.flows]
    kinds = (
        ("id", _named(layer)),
        ("source", layer.sources),
        ("checklist", layer.checklists),
        ("flow", flows),
    )
    for what, entries in kinds:
        first: dict[str, Entry[Any]] = {}
        for name, entry in entries:
            if name in first:
                taken = first[name].at("id")
                check.complain(entry.at("id"), f"the {what} {name!r} is already taken at {taken}")
            first.setdefault(name, entry)


def outside_name_space(layer: Layer) -> list[str]:
    """Say what a rule pack adds that does not carry the pack's name, where it says its name."""
    if layer.pack is None:
        return []
    name = layer.pack.spec.name
    found = [*_named(layer), *layer.sources, *layer.checklists]
    return [
        f"{entry.at('id')}: the pack is called {name!r}, so {given!r} has to be called {name}.something, "
        f"something.{name}-something or {name}-something"
        for given, entry in found
        if not any(part == name or part.startswith(name + "-") for part in given.split("."))
    ]


def _check_repeated(entry: Entry[Any], key: str, names: Sequence[str], check: Checker) -> None:
    for i, name in enumerate(names):
        if name in names[:i]:
            check.complain(entry.at(key, i), f"{name!r} stands twice in {key}")


def _check_acyclic(layer: Layer, check: Checker) -> None:
    """Repeatedly take out mechanisms that lead nowhere still there; what remains runs in circles."""
    heads = {e.spec.id: {link.to for link in e.spec.leads_to} for e in layer.mechanisms}
    while True:
        ends = sorted(m for m, to in heads.items() if not to & heads.keys())
        if not ends:
            break
        for end in ends:
            del heads[end]
    for entry in layer.mechanisms:
        if entry.spec.id in heads:
            check.complain(entry.at(), f"the mechanism {entry.spec.id!r} runs in a circle")


def _near(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches  # only needed once something is wrong

    near = get_close_matches(name, sorted(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
