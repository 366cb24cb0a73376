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
