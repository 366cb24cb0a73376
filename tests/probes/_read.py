"""Read symptoms as the product does: by id, with the thresholds of the rule files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

import yaml

from traindoctor.engine.model import Evidence, Reading, Symptom
from traindoctor.probes.readings import all_probes
from traindoctor.probes.registry import ProbeFunction, View, collect
from traindoctor.probes.run import Run


@lru_cache(maxsize=1)
def probes() -> Mapping[str, ProbeFunction]:
    """All probes, as the product finds them."""
    return all_probes()


@lru_cache(maxsize=8)
def symptoms(area: str) -> dict[str, Symptom]:
    """The symptoms of one file, with their parameters."""
    text = (files("traindoctor") / "rules" / "symptoms" / f"{area}.yaml").read_text(encoding="utf-8")
    rows = yaml.safe_load(text)["symptoms"]
    return {
        r["id"]: Symptom(r["id"], r["title"], area, 0.01, r.get("probe"), r.get("params", {})) for r in rows
    }


def evidence(area: str, run: Run, benchmark: Run | None = None) -> Evidence:
    """Read all symptoms of an area; a probe that fails is an error here."""
    found = collect(View(run, benchmark), symptoms(area).values(), probes())
    failed = {k: r.why for k, r in found.items() if r.why.startswith("probe error")}
    assert not failed
    return found


def reading(area: str, symptom: str, run: Run, benchmark: Run | None = None) -> Reading:
    """Read one symptom."""
    return evidence(area, run, benchmark)[symptom]


def present(area: str, run: Run, benchmark: Run | None = None) -> set[str]:
    """The symptoms of an area that are present."""
    return {k for k, r in evidence(area, run, benchmark).items() if r.state == "present"}
