"""Rates of PyTorch scripts that are gone long before the training is over."""

from __future__ import annotations

import pytest

from .._scripts import state

UNIT = "script-schedule-unit"
CODE = """
import torch
from torch.optim.lr_scheduler import ExponentialLR, StepLR
def train(net, loader, opt, sched):
    for x, y in loader:
        opt.zero_grad()
        torch.nn.functional.mse_loss(net(x), y).backward()
        opt.step()
        BATCH
def main(net, loader, held):
    opt = torch.optim.Adam(net.parameters())
    sched = MADE
    for epoch in range(30):
        train(net, loader, opt, sched)
        EPOCH
main(net, loader, held)
"""


def _program(made: str, batch: str = "pass", epoch: str = "pass") -> str:
    return CODE.replace("MADE", made).replace("BATCH", batch).replace("EPOCH", epoch)


@pytest.mark.parametrize(
    "made", ["StepLR(opt, 1, gamma=0.7)", "StepLR(opt, step_size=4, gamma=0.3)", "ExponentialLR(opt, 0.9)"]
)
def test_a_rate_that_falls_with_every_update(made: str) -> None:
    assert state(UNIT, _program(made, batch="sched.step()")) == "present"
    assert state(UNIT, _program(made, epoch="sched.step()")) != "present"


@pytest.mark.parametrize(
    "made", ["StepLR(opt, 2000, gamma=0.5)", "ExponentialLR(opt, 0.9999)", "StepLR(opt, size, 0.1)"]
)
def test_a_rate_that_falls_slowly_with_every_update_is_right(made: str) -> None:
    assert state(UNIT, _program(made, batch="sched.step()")) != "present"


def test_a_condition_around_the_step_is_not_judged() -> None:
    gated = _program("ExponentialLR(opt, 0.9)", batch="if len(x) % 100 == 0:\n            sched.step()")
    assert state(UNIT, gated) != "present"


@pytest.mark.parametrize(("gamma", "found"), [("0.3", True), ("0.05", True), ("0.7", False), ("0.95", False)])
def test_a_rate_that_dies_in_the_first_epochs(gamma: str, found: bool) -> None:
    assert (
        state(UNIT, _program(f"ExponentialLR(opt, gamma={gamma})", epoch="sched.step()")) == "present"
    ) is found


def test_one_schedule_of_several_is_not_judged() -> None:
    made = "None\n    if kind == 'exponential':\n        sched = ExponentialLR(opt, gamma=0.1)"
    assert state(UNIT, _program(made, epoch="sched.step()")) != "present"
