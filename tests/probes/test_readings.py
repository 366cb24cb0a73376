"""All readings of a run beside its benchmark: what both scripts show."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.engine.load import load_rules
from traindoctor.engine.model import Reading, State
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.readings import all_probes, readings
from traindoctor.probes.registry import View, collect
from traindoctor.probes.scripts.shared_code import IN_BOTH

GOOD = """
import torch
from torch import nn

model = nn.Linear(4, 2)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(10):
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
"""
UNCLEARED = GOOD.replace("        optimizer.zero_grad()\n", "")
CLEARS = "script-gradients-not-cleared"


def read(folder: Path, mine: str, theirs: str | None, symptom: str) -> Reading:
    """One reading of a script, beside a benchmark's or alone."""
    runs = []
    for name, text in (("run", mine), ("benchmark", theirs)):
        (folder / name).mkdir()
        (folder / name / "train.py").write_text(text or "", encoding="utf-8")
        runs.append(open_run(folder / name, scripts_alone=True) if text else None)
    assert runs[0] is not None
    return readings(runs[0], runs[1], [load_rules().symptoms[symptom]])[symptom]


def test_what_both_scripts_show_is_unknown(tmp_path: Path) -> None:
    """The benchmark's script is written so, too, and trains: it is not known to be a fault."""
    found = read(tmp_path, UNCLEARED.replace("0.1", "0.2"), UNCLEARED, CLEARS)
    assert (found.state, found.why.endswith(IN_BOTH)) == (State.UNKNOWN, True)


@pytest.mark.parametrize("theirs", [None, GOOD])
def test_what_only_this_script_shows_is_present(tmp_path: Path, theirs: str | None) -> None:
    """Without a benchmark, or with one that does it rightly, the fault is present."""
    assert read(tmp_path, UNCLEARED, theirs, CLEARS).state is State.PRESENT


def test_what_only_the_benchmark_shows_is_absent(tmp_path: Path) -> None:
    """A fault of the benchmark alone is none of the run."""
    assert read(tmp_path, GOOD, UNCLEARED, CLEARS).state is State.ABSENT


def test_differences_stay(tmp_path: Path) -> None:
    """An edit is a reading of both: it is never taken for what both show."""
    assert read(tmp_path, UNCLEARED, GOOD, "edit-clearing-left-out").state is State.PRESENT


def test_without_data_no_check_of_data_is_imported_and_all_say_the_same(tmp_path: Path) -> None:
    """What stands for them where no data lie says word for word what each of them would say."""
    (tmp_path / "log.csv").write_text("step,loss\n" + "".join(f"{s},{2 - s / 50}\n" for s in range(40)))
    run = open_run(tmp_path)
    symptoms = [s for s in load_rules().symptoms.values() if (s.probe or "").startswith("data_files.")]
    assert run.data is None
    assert len(symptoms) > 40

    assert readings(run, None, symptoms) == collect(View(run), symptoms, all_probes())
