"""Figures of scaling that are kept with the weights, and worked out anew where scores are taken."""

from __future__ import annotations

import pytest

from traindoctor.probes.code.scaling.kept_figures import figures_worked_out_anew
from traindoctor.probes.code.shared.checks import scripts
from traindoctor.probes.run import Run, RunInfo

TRAIN = """
import torch
mean, std = train.mean(axis=0), train.std(axis=0)
loader = DataLoader(Rows(train, mean, std), batch_size=8)
for x, y in loader:
    loss = criterion(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
torch.save({"model": model.state_dict(), "mean": mean, "std": std}, "best.pt")
"""
SCORE = """
import torch
state = torch.load("best.pt")
model.load_state_dict(state["model"])
{SCALE}
with torch.no_grad():
    for x, y in loader:
        total += criterion(model(x), y).item()
"""
OWN = "loader = DataLoader(Rows(test, test.min(axis=0), test.max(axis=0) - test.min(axis=0)))"
NAMED = "mean, std = test.mean(0), test.std(0)\nloader = DataLoader(Rows(test, mean, std))"
KEPT = 'loader = DataLoader(Rows(test, state["mean"], state["std"]))'
SHOWN = "print(test.mean(axis=0), test.std(axis=0))\nloader = DataLoader(Rows(test))"


@pytest.mark.parametrize(
    ("scale", "train", "told"),
    [
        (OWN, TRAIN, True),
        (NAMED, TRAIN, True),
        (KEPT, TRAIN, False),
        (SHOWN, TRAIN, False),  # a table of figures
        (
            OWN,
            TRAIN.replace(', "mean": mean, "std": std', ""),
            False,
        ),  # nothing is kept: another check's matter
    ],
)
def test_figures_worked_out_anew(scale: str, train: str, told: bool) -> None:
    parts = {"train.py": train, "score.py": SCORE.replace("{SCALE}", scale)}
    run = Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts=parts)
    found = figures_worked_out_anew(scripts(run))
    assert (found is not None) is told
