"""Rates that are multiplied with a share of the whole course in each round, or begin with nought."""

from __future__ import annotations

import pytest

from .._scripts import state

LOOP = """
import math
import torch
import torch.nn as nn
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
epochs = 50
def train(net):
    for x, y in loader:
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
for epoch in range(epochs):
    left = 1.0 - epoch / epochs
    for group in opt.param_groups:
        {rate}
    train(net)
"""
LAMBDA = """
import torch
import torch.nn as nn
from torch.utils.data import DataLoader
net = nn.Linear(4, 2)
opt = torch.optim.Adam(net.parameters(), lr=2e-4)
sched = torch.optim.lr_scheduler.LambdaLR(opt, {rule})
for epoch in range(200):
    for x, y in DataLoader(torch.load("rows.pt"), 32, shuffle=True):
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    sched.step()
"""


@pytest.mark.parametrize(
    ("rate", "told"),
    [
        ('group["lr"] = left * 0.1', False),
        ('group["lr"] *= 0.95', False),
        ('group["lr"] *= 1 - 1 / (epochs - epoch)', False),
        ('group["lr"] = group["lr"] * ((1 - (epoch + 1) / epochs) / (1 - epoch / epochs))', False),
        ('group["lr"] = group["first"] * left', False),
        ('group["lr"] = left * group["lr"]', True),
        ('group["lr"] *= 1 - epoch / epochs', True),
        ('group["lr"] *= 0.5 * (1 + math.cos(math.pi * epoch / epochs))', True),
    ],
)
def test_shares_taken_again(rate: str, told: bool) -> None:
    assert (state("script-schedule-formula", LOOP.format(rate=rate)) == "present") is told


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("lambda e: 1.0 - max(0, e - 100) / 101", False),
        ("lambda e: min(1.0, e / 10)", False),
        ("lambda e: 0.95 ** e", False),
        ("lambda e: float(e < 150)", False),
        ("lambda e: max(0, e - 100) / 101", True),
    ],
)
def test_rates_that_begin_with_nought(rule: str, told: bool) -> None:
    assert (state("script-schedule-formula", LAMBDA.format(rule=rule)) == "present") is told


COUNTED = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.load("x.pt"), torch.load("y.pt"))
loader = DataLoader(data, batch_size=32, shuffle=True)
net = nn.Linear(8, 1)
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
EPOCHS, WARMUP = 5, 80
{total}
schedule = torch.optim.lr_scheduler.LambdaLR(opt, {rule})
for epoch in range(EPOCHS):
    for x, y in loader:
        opt.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        opt.step()
        schedule.step()
"""
TOTAL = "total = EPOCHS * len(loader)"
MADE = """
def course(total, warmup):
    def rate(s):
        return min((s + 1) / warmup, max(0.0, (total - s) / (total - warmup)))
    return rate
"""


@pytest.mark.parametrize(
    ("total", "rule", "told"),
    [
        (TOTAL, "lambda s: min((s + 1) / WARMUP, max(0.0, (total - s) / (total - WARMUP)))", False),
        ("", "lambda s: max(0.0, 1 - (s - WARMUP) / (EPOCHS * len(loader) - WARMUP))", False),
        (TOTAL + MADE, "course(total, WARMUP)", False),
        ("steps = len(loader)\ntotal = steps * EPOCHS" + MADE, "course(total, WARMUP)", False),
        ("total = 4000" + MADE, "course(total, WARMUP)", False),
        ("total = 4000", "lambda s: max(0.0, (s - WARMUP) / (total - WARMUP))", True),
    ],
)
def test_courses_that_hang_on_the_number_of_batches(total: str, rule: str, told: bool) -> None:
    """How many batches a loader has is not known: a course may be longer than its warm-up."""
    text = COUNTED.replace("{total}", total).replace("{rule}", rule)
    assert (state("script-schedule-formula", text) == "present") is told
