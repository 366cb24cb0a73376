"""Rule folders -> `RuleBase`. All errors of all files are reported at once, with file and line.

A rule pack is a further folder of the same shape, without scale.yaml and with a pack.yaml that names it. One
that cannot be used costs itself only: it is left out and its problems stand in `RuleBase.problems`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..rules import root as default_root
from . import kept
from .document import Document, DocumentError, parse
from .model import RuleBase

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from pydantic import BaseModel, ValidationError

    from .resolve import Entry, Layer

    M = TypeVar("M", bound=BaseModel)

ENTRY_POINTS = "traindoctor.rule_packs"
MAX_CHECKLIST = 4 * 1024**2


class RuleError(Exception):
    """The rule files cannot be used; `problems` says all that is wrong, as "file:line: what"."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


def load_rules(root: str | Path | None = None, packs: Iterable[str | Path] = ()) -> RuleBase:
    """Load the knowledge base.

    `root` is the folder to read (default: the one that is installed, and then the rule packs of installed
    distributions too); `packs` are further folders. Raises `RuleError` when the base itself is broken.
    The installed base alone is read once in a process, as long as its files stay as they are; what it was
    resolved to is kept for the next process (`kept`).
    """
    packs = tuple(packs)
    if root is not None or packs or _entry_points():
        return load_with_places(root, packs)[0]
    folder = default_root()
    stats = ((p, p.stat()) for p in sorted(folder.rglob("*.yaml")))
    return _installed_base(folder, tuple((str(p), s.st_mtime_ns, s.st_size) for p, s in stats))


@lru_cache(maxsize=2)
def _installed_base(folder: Path, _: tuple[tuple[str, int, int], ...]) -> RuleBase:
    """The rules of a folder, for as long as its files keep their time and size."""
    known = kept.recall(folder)
    if known is not None:
        return known
    rules = load_with_places(folder)[0]
    kept.keep(folder, rules)
    return rules


def load_with_places(
    root: str | Path | None = None, packs: Iterable[str | Path] = ()
) -> tuple[RuleBase, Places]:
    """Load the knowledge base, and what tells file and line of its entries."""
    from .resolve import resolve

    packs = tuple(packs)
    folder = Path(root) if root is not None else default_root()
    digest = hashlib.sha256()
    layer, problems = _read(folder, digest)
    rules = resolve(layer, digest.hexdigest()[:12], problems)
    if problems:
        raise RuleError(_tidy(problems))
    unusable: list[str] = []
    found = [(str(p), Path(p)) for p in packs] + (list(_installed(unusable)) if root is None else [])
    for name, pack in found:
        layer, rules = _add(layer, rules, name, pack, digest, unusable)
    named = tuple(str(p) for p in packs)
    version = digest.hexdigest()[:12]
    return replace(rules, version=version, problems=tuple(unusable), packs=named), Places(layer)


@dataclass(frozen=True, eq=False)
class Places:
    """Where entries stand. Looked up only when somebody asks: a diagnosis never does."""

    layer: Layer

    @cached_property
    def _entries(self) -> Mapping[str, Entry[Any]]:
        symptoms = [entry for _, entry in self.layer.symptoms]
        nodes: list[Entry[Any]] = [*self.layer.causes, *self.layer.mechanisms, *symptoms]
        found: dict[str, Entry[Any]] = dict((*self.layer.sources, *self.layer.checklists))
        return found | {entry.spec.id: entry for entry in nodes}

    def at(self, name: str, *loc: str | int) -> str:
        """Return "file:line" of a part of an entry (or of a source or checklist); "" for an unknown name."""
        entry = self._entries.get(name)
        return entry.at(*loc) if entry is not None else ""


def with_own_checklist(rules: RuleBase, path: Path) -> tuple[RuleBase, str]:
    """Add a user's own checklist to the rules; return them and the name it goes by.

    Raises `RuleError` with all that is wrong with it, and OSError when it cannot be read.
    """
    from .resolve import Entry, head_of, own_checklist
    from .schema import ChecklistFile

    with path.open("rb") as file:
        raw = file.read(MAX_CHECKLIST)
    try:
        document = parse(str(path), raw)
    except DocumentError as error:
        raise RuleError(error.problems) from error
    entry = Entry(validated(ChecklistFile, document), document)
    items, problems = own_checklist(entry, rules)
    if problems:
        raise RuleError(_tidy(problems))
    name = path.stem if path.stem not in rules.checklists else f"{path.stem}-own"
    heads = {**rules.heads, name: head_of(entry.spec)}
    return replace(rules, checklists={**rules.checklists, name: items}, heads=heads), name


def builtin(name: str) -> bytes:
    """Return a file of the installed rules that is no part of the rule base, such as profiles.yaml."""
    return (default_root() / name).read_bytes()


def scale_words(root: str | Path | None = None) -> dict[str, tuple[str, ...]]:
    """Return the words of scale.yaml: "prior" -> ("rare", ...). Raises `RuleError` when it cannot be read."""
    from .schema import ScaleFile

    path = (Path(root) if root is not None else default_root()) / "scale.yaml"
    try:
        scale = validated(ScaleFile, parse(path.name, path.read_bytes()))
    except OSError as error:
        raise RuleError([f"{path.name}:1: cannot be read: {error.strerror}"]) from error
    except DocumentError as error:
        raise RuleError(error.problems) from error
    return {kind: tuple(getattr(scale, kind)) for kind in ("prior", "leak", "strength", "works")}


def _add(
    layer: Layer, rules: RuleBase, name: str, pack: Path, digest: Any, unusable: list[str]
) -> tuple[Layer, RuleBase]:
    """Return the base with a pack, or unchanged (and the reason in `unusable`) when the pack is no good."""
    from .resolve import outside_name_space, resolve

    if not pack.is_dir():
        unusable.append(f"rule pack {name}: there is no such folder")
        return layer, rules
    trial = digest.copy()
    more, problems = _read(pack, trial)
    if more.scale is not None:
        problems.append("scale.yaml: a rule pack does not bring its own scale")
    if more.experience is not None:
        problems.append("experience.yaml: a rule pack does not bring weights for all causes")
    problems += outside_name_space(more)
    both = layer + replace(more, pack=None)
    merged = resolve(both, "", problems)
    if problems:
        unusable.extend(f"rule pack {name}: {p}" for p in _tidy(problems))
        return layer, rules
    digest.update(trial.digest())
    return both, merged


def _entry_points() -> list[EntryPoint]:
    """The rule packs that installed distributions declare, by name."""
    from importlib.metadata import entry_points

    return sorted(entry_points(group=ENTRY_POINTS), key=lambda p: p.name)


def _installed(unusable: list[str]) -> Iterator[tuple[str, Path]]:
    """The folders that installed distributions name: a path, or a function that returns one."""
    for point in _entry_points():
        try:
            target = point.load()
            yield point.name, Path(target() if callable(target) else target)
        except Exception as error:  # a stranger's code: whatever it raises is its own problem
            unusable.append(f"rule pack {point.name}: {type(error).__name__}: {error}")


# ------------------------------------------------------------------------------------------------ files


def _read(folder: Path, digest: Any) -> tuple[Layer, list[str]]:
    """Read all rule files of a folder; return their entries and everything that is wrong with them."""
    from .resolve import Layer

    problems: list[str] = []
    layer = Layer()
    paths = sorted(folder.rglob("*.yaml"))
    if not paths:
        return layer, [f"{folder}: there are no rule files here"]
    for path in paths:
        layer = layer + _read_one(path, path.relative_to(folder).as_posix(), digest, problems)
    return layer, problems


def _read_one(path: Path, name: str, digest: Any, problems: list[str]) -> Layer:
    """Read one file; what is wrong goes to `problems`, and lost entries are remembered."""
    from .resolve import Layer

    try:
        raw = path.read_bytes()
        digest.update(f"{name}\0{len(raw)}\0".encode() + raw)
        reader = _reader_of(name)
        if reader is None:
            return Layer()
        document = parse(name, raw)
    except OSError as error:
        problems.append(f"{name}:1: cannot be read: {error.strerror}")
        return Layer(unread=frozenset({_kind(name)}))
    except DocumentError as error:
        problems.extend(error.problems)
        return Layer(unread=frozenset({_kind(name)}))
    try:
        return reader(name, document)
    except RuleError as error:
        problems.extend(error.problems)
        return _refused(name, document.data)


def _reader_of(name: str) -> Callable[[str, Document], Layer] | None:
    """Say how a file of this name is read; None for data that only probes use."""
    folder = name.split("/", 1)[0] if "/" in name else ""
    return {
        "scale.yaml": _scale,
        "experience.yaml": _experience,
        "sources.yaml": _sources,
        "mechanisms.yaml": _mechanisms,
        "pack.yaml": _pack,
        "workflow.yaml": _workflow,
        "crosswalk.yaml": _crosswalk,
    }.get(name) or {"symptoms": _symptoms, "causes": _causes, "checklists": _checklist}.get(folder)


def _kind(name: str) -> str:
    """ "symptoms/loss.yaml" -> "symptom"; "sources.yaml" -> "source"."""
    return Path(name.split("/", 1)[0]).stem.removesuffix("s")


def _refused(name: str, data: Any) -> Layer:
    """Remember what a refused file would have brought, so that references to it are not errors too."""
    from .resolve import Layer

    if _kind(name) in ("scale", "source") or not isinstance(data, dict):
        return Layer(unread=frozenset({_kind(name)}))
    rows = [data, *(row for value in data.values() if isinstance(value, list) for row in value)]
    return Layer(lost=frozenset(str(row["id"]) for row in rows if isinstance(row, dict) and "id" in row))


def _scale(_: str, document: Document) -> Layer:
    from .resolve import Entry, Layer
    from .schema import ScaleFile

    return Layer(scale=Entry(validated(ScaleFile, document), document))


def _experience(_: str, document: Document) -> Layer:
    from .resolve import Entry, Layer
    from .schema import ExperienceFile

    return Layer(experience=Entry(validated(ExperienceFile, document), document))


def _sources(_: str, document: Document) -> Layer:
    from .resolve import Entry, Layer
    from .schema import SourcesFile

    file = validated(SourcesFile, document)
    return Layer(sources=tuple((k, Entry(v, document, ("sources", k))) for k, v in file.sources.items()))


def _mechanisms(_: str, document: Document) -> Layer:
    from .resolve import Entry, Layer
    from .schema import MechanismsFile

    file = validated(MechanismsFile, document)
    entries = (Entry(m, document, ("mechanisms", i)) for i, m in enumerate(file.mechanisms))
    return Layer(mechanisms=tuple(entries))


def _pack(_: str, document: Document) -> Layer:
    from .resolve import Entry, Layer
    from .schema import PackFile

    return Layer(pack=Entry(validated(PackFile, document), document))


def _symptoms(_: str, document: Document) -> Layer:
    from .resolve import Entry, Layer
    from .schema import SymptomsFile

    file = validated(SymptomsFile, document)
    entries = ((file.area, Entry(s, document, ("symptoms", i))) for i, s in enumerate(file.symptoms))
    return Layer(symptoms=tuple(entries))


def _causes(_: str, document: Document) -> Layer:
    from .resolve import Entry, Layer
    from .schema import CauseFile

    return Layer(causes=(Entry(validated(CauseFile, document), document),))


def _checklist(name: str, document: Document) -> Layer:
    from .resolve import Entry, Layer
    from .schema import ChecklistFile

    return Layer(checklists=((Path(name).stem, Entry(validated(ChecklistFile, document), document)),))


def _crosswalk(_: str, document: Document) -> Layer:
    from .resolve import Entry, Layer
    from .schema import CrosswalkFile

    return Layer(crosswalks=(Entry(validated(CrosswalkFile, document), document),))


def _workflow(_: str, document: Document) -> Layer:
    from .resolve import Entry, Layer
    from .schema import WorkflowFile

    file = validated(WorkflowFile, document)
    return Layer(flows=tuple(Entry(f, document, ("flows", i)) for i, f in enumerate(file.flows)))


# ----------------------------------------------------------------------------------------------- errors


def validated(kind: type[M], document: Document) -> M:
    """Validate a file; raises `RuleError` with all that its schema refuses."""
    from pydantic import ValidationError

    try:
        return kind.model_validate(document.data)
    except ValidationError as error:
        raise RuleError([_sentence(document, e) for e in _errors(error)]) from error


def _errors(error: ValidationError) -> list[Any]:
    return list(error.errors(include_url=False, include_context=False, include_input=False))


_WORDS = {  # what a schema says, in a user's words
    "extra_forbidden": "unknown field",
    "missing": "this field is missing",
    "model_type": "must hold `name: value` lines",
    "dict_type": "must hold `name: value` lines",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "too_short": "must not be empty",
    "string_type": "must be text",
    **dict.fromkeys(
        ("date_type", "date_parsing", "date_from_datetime_parsing", "date_from_datetime_inexact"),
        "is no day; write it as YYYY-MM-DD",
    ),
}


def _sentence(document: Document, error: Any) -> str:
    loc = tuple(part for part in error["loc"] if part != "[key]")
    path = ".".join(map(str, loc))
    what = _WORDS.get(error["type"]) or error["msg"].removeprefix("Value error, ").replace(
        "Input should be", "must be"
    )
    return f"{document.at(*loc)}: {path + ': ' if path else ''}{what}"


def _tidy(problems: Sequence[str]) -> list[str]:
    """Each problem once, in the order of files and lines."""

    def key(problem: str) -> tuple[str, int, str]:
        file, _, rest = problem.partition(":")
        line = rest.partition(":")[0]
        return file, int(line) if line.isdigit() else 0, problem

    return sorted(dict.fromkeys(problems), key=key)
