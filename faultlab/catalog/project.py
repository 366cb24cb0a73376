"""Cases of a project: a training of several files in a folder of scripts/, with logs of its own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from generate import Archetype, Case, Edit


@dataclass(frozen=True)
class Project:
    """One archetype of the held-out half; its plain healthy run is the benchmark of the faulty ones."""

    archetype: Archetype
    twin: Case = field(init=False)

    def __post_init__(self) -> None:
        seed = int(self.archetype.settings["seed"])
        object.__setattr__(self, "twin", self.healthy("plain", seed + 300))

    def healthy(self, name: str, seed: int, *edits: Edit, **options: Any) -> Case:
        """A run with nothing wrong. Options of the case by name; all others are settings."""
        return self._case(f"healthy-{name}-{seed}", None, edits, options, {"seed": seed})

    def faulty(
        self,
        fault: str,
        cause: str,
        *edits: Edit,
        twin: Case | None = None,
        same_seed: bool = False,
        **options: Any,
    ) -> Case:
        """The twin with one fault in it, and with another seed unless told otherwise."""
        beside = twin or self.twin
        base = {**beside.set, "seed": self.archetype.settings["seed"]} if not same_seed else dict(beside.set)
        options = {"benchmark": beside.name, "check": "worse", "commands": beside.commands} | options
        return self._case(fault, cause, (*beside.edits, *edits), options, base)

    def _case(
        self,
        fault: str,
        cause: str | None,
        edits: tuple[Edit, ...],
        options: dict[str, Any],
        base: dict[str, Any],
    ) -> Case:
        cause = options.pop("cause", cause)
        own = {k: options.pop(k) for k in Case.__dataclass_fields__ if k in options}
        unknown = set(options) - set(self.archetype.settings)
        if unknown:
            raise ValueError(f"{self.archetype.name} has no setting {sorted(unknown)}")
        return Case(self.archetype.name, "a", fault, cause, set={**base, **options}, edits=edits, **own)
