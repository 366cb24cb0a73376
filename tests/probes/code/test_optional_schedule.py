"""A schedule that is only there where a setting asks for it, and a resume that does not give it back."""

from __future__ import annotations

import pytest

from .._scripts import state

PROGRAM = """
import torch
from torch import nn
net = nn.Linear(8, 1)
opt = torch.optim.Adam(net.parameters(), lr=hp["rate"])
{}
first = 0
if hp["resume"]:
    kept = torch.load(hp["resume"])
    net.load_state_dict(kept["net"])
    opt.load_state_dict(kept["opt"])
    first = kept["epoch"]
for epoch in range(first, hp["epochs"]):
    for x, y in loader:
        opt.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        opt.step()
    {}
    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "epoch": epoch + 1}, "last.pt")
"""
MADE = "torch.optim.lr_scheduler.CosineAnnealingLR(opt, 40)"


@pytest.mark.parametrize(
    ("made", "moved", "told"),
    [
        (f"scheduler = {MADE}", "scheduler.step()", True),
        (
            f"scheduler = None\nif hp['cosine']:\n    scheduler = {MADE}",
            "if scheduler: scheduler.step()",
            False,
        ),
        (
            f"scheduler = {MADE} if hp['cosine'] else None",
            "if scheduler is not None: scheduler.step()",
            False,
        ),
    ],
)
def test_a_schedule_by_choice(made: str, moved: str, told: bool) -> None:
    text = PROGRAM.replace("{}", made, 1).replace("{}", moved, 1)
    assert (state("script-resume-incomplete", text) == "present") is told
