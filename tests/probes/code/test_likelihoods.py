"""Likelihoods, quantile losses, sums of terms and temperatures that scripts write out: present and not."""

from __future__ import annotations

import pytest

from .._scripts import state

END = """
for x, y in loader:
    loss = objective(net, x, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
SPREAD = (
    """
import torch
def objective(net, x, y):
    mu, lv = net(x).chunk(2, 1)
    return (0.5 * (y - mu) ** 2 * torch.exp(-lv) + 0.5 * lv).mean()
"""
    + END
)
SPREAD_IN_NAMES = (
    """
import torch
def objective(net, x, y):
    mean, log_var = net(x)
    miss = (y - mean).pow(2)
    weighed = miss * (-log_var).exp()
    return torch.mean(weighed + log_var)
"""
    + END
)
PRECISION = (
    """
import torch
def objective(net, x, y):
    mu, s = net(x)
    return (torch.exp(s) * (y - mu) ** 2 - s).mean()
"""
    + END
)
KERNEL = (
    """
import torch
def objective(net, x, y):
    mu, log_scale = net(x)
    near = torch.exp(-0.5 * (y - mu) ** 2 * torch.exp(-2 * log_scale))
    return -near.mean()
"""
    + END
)
QUANTILE = (
    """
import torch
def objective(net, x, y):
    pred, total = net(x), 0.0
    for i, q in enumerate((0.1, 0.5, 0.9)):
        e = y - pred[:, i]
        total = total + torch.maximum(q * e, (q - 1) * e).mean()
    return total
"""
    + END
)
MIRRORED = (
    """
import torch
def objective(net, x, y):
    pred = net(x)
    e = pred - y
    return torch.max((1 - 0.9) * e, -0.9 * e).mean()
"""
    + END
)
PAIRS = """
import torch
import torch.nn.functional as F
tau = 0.07
for a, b in loader:
    u, v = F.normalize(left(a), dim=1), F.normalize(right(b), dim=1)
    sim = u @ v.T / tau
    goal = torch.arange(len(u))
    loss = F.cross_entropy(sim, goal) + F.cross_entropy(sim.t(), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
TERMS = """
import torch
def terms(out, x, mu, lv):
    rec = ((out - x) ** 2).mean()
    kld = -0.5 * (1 + lv - mu ** 2 - lv.exp()).sum(1).mean()
    return rec, kld
for x in loader:
    out, mu, lv = net(x)
    rec, kld = terms(out, x, mu, lv)
    loss = rec + 0.1 * kld
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
WHOLE = TERMS.replace("return rec, kld", "return rec + 0.1 * kld, kld").replace(
    "rec, kld = terms(out, x, mu, lv)\n    loss = rec + 0.1 * kld", "loss, kld = terms(out, x, mu, lv)"
)
WEIGHED = """
import torch
from torch import nn
counts = labels.sum(0)
ratio = (len(labels) - counts) / counts.clamp(min=1)
criterion = nn.BCEWithLogitsLoss(pos_weight=ratio)
"""
CLOSURE = """
import torch
def make_step(net, optimizer):
    def step(x, y):
        optimizer.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss.item()
    return step
step = make_step(net, optimizer)
for x, y in loader:
    step(x, y)
"""
CLEARED_ONCE = CLOSURE.replace("        optimizer.zero_grad()\n", "").replace(
    "    def step(x", "    optimizer.zero_grad()\n    def step(x"
)


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (SPREAD, "exp(-lv)", "exp(lv)"),
        (SPREAD, " + 0.5 * lv)", ")"),
        (SPREAD_IN_NAMES, "(-log_var).exp()", "log_var.exp()"),
        (SPREAD_IN_NAMES, "weighed + log_var", "weighed"),
        (QUANTILE, "torch.maximum", "torch.minimum"),
        (QUANTILE, "y - pred[:, i]", "pred[:, i] - y"),
        (PAIRS, "/ tau", "* tau"),
        (PAIRS, "sim.t()", "sim"),
        (TERMS, "rec + 0.1 * kld", "rec + 0.1 * rec"),
        (
            WEIGHED,
            "(len(labels) - counts) / counts.clamp(min=1)",
            "counts / (len(labels) - counts).clamp(min=1)",
        ),
    ],
)
def test_objective_wrong(text: str, old: str, new: str) -> None:
    assert text.count(old) == 1
    assert state("script-loss-wrong", text.replace(old, new)) == "present"


@pytest.mark.parametrize(
    "text",
    [
        SPREAD,
        SPREAD_IN_NAMES,
        PRECISION,
        KERNEL,
        QUANTILE,
        MIRRORED,
        PAIRS,
        TERMS,
        WHOLE,
        WEIGHED,
        WEIGHED.replace("labels.sum(0)", "(labels == 0).sum(0)").replace(
            "(len(labels) - counts) / counts", "counts / (len(labels) - counts)"
        ),
        PAIRS.replace("/ tau", "* tau").replace("0.07", "14.0"),
    ],
)
def test_objective_right(text: str) -> None:
    assert state("script-loss-wrong", text) != "present"
    assert state("script-loss-term-left-out", text) != "present"


def test_term_that_nothing_reads() -> None:
    assert state("script-loss-term-left-out", TERMS.replace("rec + 0.1 * kld", "rec")) == "present"


def test_gradients_cleared_where_the_step_is_made() -> None:
    assert state("script-gradients-not-cleared", CLEARED_ONCE) == "present"


@pytest.mark.parametrize(
    "text",
    [
        CLOSURE,
        CLEARED_ONCE.replace("    return step\n", "    return step(x, y)\n").replace(
            "make_step(net, optimizer):", "make_step(net, optimizer, x, y):"
        ),
    ],
)
def test_gradients_cleared_each_time(text: str) -> None:
    assert state("script-gradients-not-cleared", text) != "present"


def test_nothing_minimised_tells_nothing() -> None:
    assert state("script-loss-wrong", "import torch\nprint(torch.ones(3))\n") == "unknown"


EARLY = """
import torch
import torch.nn.functional as F
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 4)
    def forward(self, x):
        z = self.head(x)
        if self.training:
            return z
        return torch.softmax(z, 1)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in loader:
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
"""


def test_chances_where_nothing_trains_are_no_fault() -> None:
    assert state("script-loss-wrong", EARLY) != "present"
    assert state("script-double-softmax", EARLY) != "present"


@pytest.mark.parametrize(
    ("old", "new"), [("self.training:", "not self.training:"), ("return z\n", "z = 2 * z\n")]
)
def test_chances_in_training_are_a_fault(old: str, new: str) -> None:
    assert state("script-loss-wrong", EARLY.replace(old, new)) == "present"
