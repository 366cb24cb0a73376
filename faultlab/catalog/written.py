"""Cases of the trained programs of other authors: every `code/*/project.yaml` that says how it is trained."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from generate import Also, Archetype, Case, Edit
from programs import TRAINED
from project_logs import log_of

TWIN_SEED = 300  # what the healthy twin's seed lies above that of the faulty runs


ARCHETYPES = {
    name: Archetype(
        name, {}, {"a": (log_of(name), "project")}, p["half"], tuple(p["train"]["launch"].split())
    )
    for name, p in TRAINED.items()
}


def cases() -> Iterator[Case]:
    """The twin of each project, its other healthy runs, and its faults with the twin as benchmark."""
    for name, project in TRAINED.items():
        own = _own(project)
        twin = Case(name, "a", "healthy-plain", edits=_seeded(project, TWIN_SEED), **own)
        yield twin
        for i, healthy in enumerate(project.get("healthy", ()), 1):
            edits = (*_seeded(project, TWIN_SEED + i), *_edits(healthy))
            yield Case(name, "a", f"healthy-{healthy['name']}", edits=edits, **own)
        for fault in project["faults"]:
            yield Case(
                name,
                "a",
                fault["name"],
                fault["cause"],
                fault.get("strength", ""),
                edits=_edits(fault),
                accept=tuple(_accepted(fault)),
                check=fault.get("check", "worse"),
                benchmark=twin.name,
                alone=not fault.get("pair_only"),
                **own,
            )


def _own(project: dict[str, Any]) -> dict[str, Any]:
    train = project["train"]
    return {
        "commands": tuple(train.get("commands", ("",))),
        "requires": tuple(train.get("requires", ())),
    }


def _edits(entry: dict[str, Any]) -> tuple[Edit, ...]:
    return tuple((e["file"], e["old"], e["new"]) for e in entry.get("edits", ()))


def _seeded(project: dict[str, Any], more: int) -> tuple[Edit, ...]:
    seed = project["train"]["seed"]
    return ((seed["file"], seed["old"], seed["new"].replace("{seed}", str(more))),)


def _accepted(fault: dict[str, Any]) -> Iterator[Also]:
    """The accepted causes of the views that the case has, each once."""
    named = {fault["cause"]}
    entries = [
        (a, {"script": False, "pair": True, "both": None}[a.get("view", "both")], None)
        for a in _listed(fault, "accept")
    ]
    entries += [(a, None, False) for a in _listed(fault, "log_accept")]
    for also, benchmark, script in entries:
        if also["cause"] in named or (fault.get("pair_only") and benchmark is False):
            continue
        named.add(also["cause"])
        yield Also(also["cause"], also["because"], benchmark, script)


def _listed(fault: dict[str, Any], key: str) -> list[dict[str, str]]:
    return list(fault.get(key) or ())
