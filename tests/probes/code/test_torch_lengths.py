"""Schedules of PyTorch scripts that begin only after the training, or move with the noise of batches."""

from __future__ import annotations

import textwrap

import pytest

from traindoctor.probes.code.schedule import lengths as schedule
from traindoctor.probes.registry import View

from .._build import run

PROGRAM = """
    import argparse
    import torch
    from torch import nn
    from torch.optim.lr_scheduler import *
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=40)
    args = parser.parse_args()
    warm = 3
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    {made}
    for epoch in range(args.epochs):
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            {batch}
        {epoch}
"""


def state(made: str, batch: str = "pass", epoch: str = "scheduler.step()") -> str:
    text = textwrap.dedent(PROGRAM).format(made=made, batch=batch, epoch=epoch)
    return str(schedule.unit_wrong(View(run(scripts={"t.py": text}))).state.value)


JOINED = (
    "warmup = LinearLR(optimizer, start_factor=0.1, total_iters={warm})\n"
    "cosine = CosineAnnealingLR(optimizer, T_max={length})\n"
    "scheduler = SequentialLR(optimizer, [warmup, cosine], milestones=[{warm}])"
)


@pytest.mark.parametrize(
    "made",
    [
        "scheduler = LinearLR(optimizer, start_factor=0.1, total_iters=500)",
        "scheduler = LambdaLR(optimizer, lambda n: min(1.0, (n + 1) / 500))",
        "w = 4000\nscheduler = LambdaLR(optimizer, lambda n: min((n + 1) / w, (w / (n + 1)) ** 0.5))",
        "scheduler = StepLR(optimizer, step_size=500, gamma=0.5)",
        JOINED.format(warm=500, length=40),
        JOINED.format(warm=3, length="args.epochs * len(train_loader)"),
    ],
)
def test_what_begins_after_the_training(made: str) -> None:
    assert state(made) == "present"


@pytest.mark.parametrize(
    "made",
    [
        "scheduler = LinearLR(optimizer, start_factor=0.1, total_iters=5)",
        "scheduler = LinearLR(optimizer, start_factor=1.0, end_factor=0.1, total_iters=60)",
        "scheduler = LambdaLR(optimizer, lambda n: min(1.0, (n + 1) / 5))",
        "scheduler = LambdaLR(optimizer, lambda n: 0.95**n)",
        "scheduler = StepLR(optimizer, step_size=10)",
        "scheduler = StepLR(optimizer, step_size=cfg.step)",
        JOINED.format(warm="warm", length="args.epochs - warm"),
    ],
)
def test_what_fits_into_the_training(made: str) -> None:
    assert state(made) != "present"


def test_lengths_in_batches_are_no_epochs() -> None:
    made = "scheduler = LinearLR(optimizer, start_factor=0.1, total_iters=500)"
    assert state(made, batch="scheduler.step()", epoch="pass") != "present"
    joined = JOINED.format(warm="warm", length="args.epochs - warm")
    assert state(joined, batch="scheduler.step()", epoch="pass") == "present"


@pytest.mark.parametrize(
    ("batch", "epoch", "expected"),
    [
        ("scheduler.step(loss.item())", "pass", True),
        ("scheduler.step(loss)", "pass", True),
        ("pass", "scheduler.step(val_loss)", False),
        ("if i % 1000 == 0: scheduler.step(loss)", "pass", False),
        ("scheduler.step(mean_of_last)", "pass", False),
    ],
)
def test_a_plateau_of_batches(batch: str, epoch: str, expected: bool) -> None:
    found = state("scheduler = ReduceLROnPlateau(optimizer, patience=5)", batch, epoch)
    assert (found == "present") is expected
    patient = state("scheduler = ReduceLROnPlateau(optimizer, patience=500)", batch, epoch)
    assert patient != "present"


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("scheduler = MultiStepLR(optimizer, milestones=[1, 2], gamma=0.01)", True),
        ("marks = (1, 2, 3)\nscheduler = MultiStepLR(optimizer, marks)", True),
        ("scheduler = MultiStepLR(optimizer, milestones=[1, 2], gamma=0.5)", False),
        ("scheduler = MultiStepLR(optimizer, milestones=[20, 30], gamma=0.01)", False),
        ("scheduler = MultiStepLR(optimizer, milestones=cfg.marks)", False),
        ("scheduler = CosineAnnealingLR(optimizer, T_max=2)", True),
        ("scheduler = CosineAnnealingLR(optimizer, T_max=40)", False),
        ("scheduler = CosineAnnealingLR(optimizer, T_max=2)  # of a cycle\nper_cycle = 4", False),
    ],
)
def test_a_rate_that_dies_early_or_swings_back(made: str, expected: bool) -> None:
    assert (state(made) == "present") is expected
