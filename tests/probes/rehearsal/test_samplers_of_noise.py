"""Samplers of networks that take noise away: what is taken for noise has to be taken off."""

from __future__ import annotations

import pytest

from tests.probes._scripts import state

PROGRAM = """
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader

T = 200
beta = torch.linspace(1e-4, 0.02, T)
alpha = 1 - beta
bar = torch.cumprod(alpha, 0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Embedding(T, 32)
        self.inp = nn.Linear(8, 32)
        self.out = nn.Linear(32, 8)

    def forward(self, x, t):
        return self.out(F.silu(self.inp(x) + self.time(t)))


net = Net()
slow = copy.deepcopy(net)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)


@torch.no_grad()
def draw(model, n):
    x = torch.randn(n, 8)
    for i in reversed(range(T)):
        t = torch.full((n,), i, dtype=torch.long)
        eps = model(x, t)
        {step}
    return x


for epoch in range(50):
    for x in DataLoader(torch.load("rows.pt"), 64, shuffle=True):
        t = torch.randint(0, T, (len(x),))
        noise = torch.randn_like(x)
        a = bar[t].view(-1, 1)
        loss = F.mse_loss(net(a.sqrt() * x + (1 - a).sqrt() * noise, t), {truth})
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        for p, q in zip(slow.parameters(), net.parameters()):
            p.lerp_(q, 0.01)
    torch.save(draw(slow, 16), "drawn.pt")
"""
PLAIN = (
    "x = (x - beta[i] / (1 - bar[i]).sqrt() * eps) / alpha[i].sqrt()"
    "\n        if i > 0: x = x + beta[i].sqrt() * torch.randn_like(x)"
)
BY_CLEAN = (
    "x0 = (x - (1 - bar[i]).sqrt() * eps) / bar[i].sqrt()"
    "\n        p = bar[i - 1] if i > 0 else torch.tensor(1.0)"
    "\n        x = p.sqrt() * x0 + (1 - p).sqrt() * eps"
)


def told(step: str, truth: str = "noise") -> bool:
    text = PROGRAM.replace("{step}", step).replace("{truth}", truth)
    return state("script-metric-miscounts", text) == "present"


@pytest.mark.parametrize("step", [PLAIN, BY_CLEAN])
def test_right_samplers(step: str) -> None:
    assert not told(step)


def test_samples_themselves_are_added() -> None:
    """A network that answers with the sample: its answer is added."""
    step = "x = bar[i].sqrt() * eps + (1 - bar[i]).sqrt() * torch.randn_like(x)"
    assert not told(step, truth="x")


@pytest.mark.parametrize(
    "step",
    [
        PLAIN.replace("x - beta[i]", "x + beta[i]"),
        "x = (x + (1 - alpha[i]) / torch.sqrt(1 - bar[i]) * eps) / torch.sqrt(alpha[i])",
    ],
)
def test_noise_that_is_added(step: str) -> None:
    assert told(step)
