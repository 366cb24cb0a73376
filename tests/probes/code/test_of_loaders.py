"""Lengths of schedules that are counted with one loader or another: present or not."""

from __future__ import annotations

import pytest

from .._scripts import state

LOOP = """
import torch
from torch.utils.data import DataLoader
from transformers import get_linear_schedule_with_warmup, get_scheduler
import rows
EPOCHS = 5
def train_fn(loader, net, opt, sched):
    for i, (x, y) in enumerate(loader):
        torch.nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
        opt.zero_grad()
        sched.step()
def valid_fn(loader, net):
    return sum((net(x).argmax(1) == y).sum() for x, y in loader)
def run():
    tl = DataLoader(rows.train(), 32, shuffle=True)
    vl = DataLoader(rows.valid(), 64)
    net = torch.nn.Linear(4, 2)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    {STEPS}
    sched = {MADE}
    for epoch in range(EPOCHS):
        train_fn(tl, net, opt, sched)
        print(valid_fn(vl, net))
run()
"""
LINEAR = "get_linear_schedule_with_warmup(opt, 10, steps)"


@pytest.mark.parametrize(
    ("steps", "made", "wanted"),
    [
        ("steps = len(tl) * EPOCHS", LINEAR, False),
        (
            "steps = EPOCHS * len(tl)",
            "torch.optim.lr_scheduler.OneCycleLR(opt, 1e-3, total_steps=steps)",
            False,
        ),
        ("steps = len(vl) * EPOCHS", LINEAR, True),
        ("steps = len(vl) * EPOCHS", "torch.optim.lr_scheduler.CosineAnnealingLR(opt, steps)", True),
        ("n = len(vl)\n    steps = n * EPOCHS", "get_scheduler('linear', opt, 0, steps)", True),
        ("steps = len(tl)", LINEAR, True),
        (
            "accum = 4\n    steps = len(tl) // accum",
            "get_scheduler('cosine', opt, num_training_steps=steps)",
            True,
        ),
        ("steps = 1000", LINEAR, False),
        ("accum = 5\n    steps = len(tl) // accum", LINEAR, True),
        ("accum = 5\n    steps = -(-len(tl) // accum)", LINEAR, True),
        ("steps = len(vl) // 4 * EPOCHS", "torch.optim.lr_scheduler.OneCycleLR(opt, 1e-3, steps + 1)", True),
        ("steps = len(tl) + len(vl)\n    steps = steps * EPOCHS", LINEAR, False),
        ("steps = len(tl)", "torch.optim.lr_scheduler.CosineAnnealingLR(opt, 2 * steps)", False),
    ],
)
def test_what_is_counted(steps: str, made: str, wanted: bool) -> None:
    text = LOOP.replace("{STEPS}", steps).replace("{MADE}", made)
    assert (state("script-schedule-unit", text) == "present") == wanted


def test_one_epoch_is_all() -> None:
    text = (
        LOOP.replace("{STEPS}", "steps = len(tl)")
        .replace("{MADE}", LINEAR)
        .replace("EPOCHS = 5", "EPOCHS = 1")
    )
    assert state("script-schedule-unit", text) != "present"
