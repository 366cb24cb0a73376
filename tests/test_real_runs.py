"""The whole path on files that real frameworks and real people left behind (../shared, when it is there)."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from traindoctor.engine.diagnose import diagnose
from traindoctor.engine.load import load_rules
from traindoctor.engine.model import Diagnosis, RuleBase, State
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.files import RunUnreadable
from traindoctor.probes.readings import readings

SHARED = Path(__file__).resolve().parents[1].parent / "shared"
ROOTS = (SHARED / "samples" / "ascend", SHARED / "real")
EVERY = int(os.environ.get("EVERY_REAL_RUN", "3"))  # one of so many of the files is judged; 1 for all
CHUNKS = 24  # short tests, so that no worker waits for another at the end of the suite
NOT_FINITE = ("loss-not-finite", "loss-not-finite-transient", "loss-masked-nan", "framework-stopped-on-nan")

pytestmark = pytest.mark.skipif(not all(r.is_dir() for r in ROOTS), reason="../shared is not here")


@lru_cache(maxsize=1)
def rules() -> RuleBase:
    return load_rules()


def answer(path: Path) -> Diagnosis | None:
    """The diagnosis of a path; None where there is nothing to read."""
    try:
        run = open_run(path)
    except RunUnreadable:
        return None
    evidence = readings(run, None, rules().symptoms.values())
    return diagnose(rules(), evidence, run=run.info, context=run.info.context)


def directories() -> list[Path]:
    """All directories but those that hold one other directory alone: what can be read is the same there.

    Of those below one with files of its own, which is read with it, one in three; of all one in `EVERY`.
    """
    found = [p for root in ROOTS if root.is_dir() for p in sorted([root, *root.rglob("*")]) if p.is_dir()]
    found = [p for p in found if not (len(held := list(p.iterdir())) == 1 and held[0].is_dir())]
    filled = {p for p in found if p not in ROOTS and any(x.is_file() for x in p.iterdir())}
    within = [p for p in found if not filled.isdisjoint(p.parents)]
    return sorted({*found} - {*within, *ROOTS} | {*within[::3]})[::EVERY]


@lru_cache(maxsize=1)
def index() -> list[dict[str, Any]]:
    import yaml

    path = SHARED / "real" / "INDEX.yaml"
    loaded = yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    files: list[dict[str, Any]] = loaded["files"]
    return files


def of_state(*states: str) -> list[Path]:
    if not ROOTS[1].is_dir():
        return []
    return [SHARED / "real" / f["path"] for f in index() if f.get("state") in states]


@pytest.mark.parametrize("path", of_state("nan"), ids=lambda p: str(p)[-60:])
def test_non_finite_runs_are_found(path: Path) -> None:
    """What the index calls NaN is found to be NaN."""
    found = answer(path)

    assert found is not None
    assert [r.symptom for r in found.findings if r.symptom in NOT_FINITE and r.state is State.PRESENT]


def test_healthy_runs_stay_silent() -> None:
    """At least 95 of 100 files that the index calls healthy name no cause at 0.5 or above."""
    alarmed = []
    judged = 0
    for path in of_state("healthy")[::EVERY]:
        found = answer(path)
        if found is not None:
            judged += 1
            if found.leading:
                alarmed.append(
                    (str(path)[-70:], found.leading[0].cause, round(found.leading[0].probability, 2))
                )

    assert judged >= 0.9 * len(of_state("healthy")[::EVERY])
    assert len(alarmed) <= 0.05 * judged, alarmed


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_directory_is_diagnosed_without_a_traceback(chunk: int) -> None:
    """Each directory gives a diagnosis or one sentence; no probe and no reader crashes on it."""
    for path in directories()[chunk::CHUNKS]:
        found = answer(path)
        if found is not None:
            assert not [n for n in found.not_evaluated if "error" in n[1]], path
            assert not [n for n in found.run.not_read if "reader error" in n[1]], path
