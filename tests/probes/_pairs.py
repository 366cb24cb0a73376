"""Two programs of one file each: what is said of the one beside the other."""

from __future__ import annotations

from pathlib import Path

from traindoctor.engine.load import load_rules
from traindoctor.engine.model import Evidence, State
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.readings import readings

RULES = load_rules()


def evidence(folder: Path, mine: str, theirs: str, begins: str = "") -> Evidence:
    """The readings of `mine`, with `theirs` as its benchmark, of symptoms whose names begin so."""
    sides = []
    for name, text in (("run", mine), ("benchmark", theirs)):
        compile(text, name, "exec")
        (folder / name).mkdir()
        (folder / name / "train.py").write_text(text, encoding="utf-8")
        sides.append(open_run(folder / name, scripts_alone=True))
    asked = [s for name, s in RULES.symptoms.items() if name.startswith(begins)]
    found = readings(*sides, asked)
    assert not [f for f in found.values() if "probe error" in f.why]
    return found


def present(folder: Path, mine: str, theirs: str) -> set[str]:
    """The symptoms that are present."""
    return {name for name, f in evidence(folder, mine, theirs).items() if f.state is State.PRESENT}


def edits(folder: Path, mine: str, theirs: str) -> set[str]:
    """The edits that are told."""
    found = evidence(folder, mine, theirs, "edit-")
    return {name for name, f in found.items() if f.state is State.PRESENT}
