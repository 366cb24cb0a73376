"""Edits of what is minimised, in functions that are not called by name, and edits that make up for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from .._pairs import edits

PINBALL = """
from functools import partial
import torch
from torch import nn
def pinball(level, guess, truth):
    miss = truth - guess
    return torch.maximum(level * miss, (level - 1) * miss).mean()
def objective(levels):
    parts = [partial(pinball, level) for level in levels]
    def total(out, truth):
        return sum(part(out[:, k], truth) for k, part in enumerate(parts)) / len(parts)
    return total
net = nn.Linear(8, 3)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
loss_fn = objective((0.1, 0.5, 0.9))
for epoch in range(9):
    for x, y in loader:
        opt.zero_grad()
        value = loss_fn(net(x), y)
        value.backward()
        opt.step()
"""
COUNTS = """
import torch
from torch import nn
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
criterion = nn.PoissonNLLLoss(log_input=True)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(9):
    for x, y in loader:
        opt.zero_grad()
        pred = net(x).squeeze(1)
        loss = criterion(pred, y)
        loss.backward()
        opt.step()
"""
SERVICE = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 4)
    def forward(self, x):
        return self.head(x)
class Service:
    def __init__(self, table, key):
        self.net = Net()
        self.criterion = TABLE[key]
        self.opt = torch.optim.Adam(self.net.parameters(), lr=1e-3)
    def fit(self, loader):
        for x, y in loader:
            loss = self.criterion(self.net(x), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
    def score(self, loader):
        hits = 0
        for x, y in loader:
            hits += ((torch.sigmoid(self.net(x)) > 0.5) == y).sum().item()
        return hits
TABLE = {}
Service(TABLE, "a").fit(loader)
"""


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (PINBALL, "truth - guess", "guess - truth"),
        (PINBALL, "torch.maximum", "torch.minimum"),
        (PINBALL, "out[:, k]", "out[:, k : k + 1]"),
        (COUNTS, "log_input=True", "log_input=False"),
    ],
)
def test_edit_of_the_objective(tmp_path: Path, text: str, old: str, new: str) -> None:
    assert "edit-loss-function" in edits(tmp_path, text.replace(old, new), text)


def test_another_scale_where_it_is_handed_over(tmp_path: Path) -> None:
    assert "edit-loss-arguments" in edits(tmp_path, COUNTS.replace("squeeze(1)", "squeeze(1).exp()"), COUNTS)


def test_rates_for_a_loss_that_is_told_of_them(tmp_path: Path) -> None:
    mine = COUNTS.replace("log_input=True", "log_input=False").replace("32, 1))", "32, 1), nn.Softplus())")
    assert not edits(tmp_path, mine, COUNTS)


def test_an_axis_that_both_sides_have(tmp_path: Path) -> None:
    mine = COUNTS.replace("net(x).squeeze(1)", "net(x)").replace("(pred, y)", "(pred, y.unsqueeze(1))")
    assert "edit-loss-arguments" not in edits(tmp_path, mine, COUNTS)


@pytest.mark.parametrize(
    ("old", "new", "found"), [("(pred, y)", "(pred, raised(y))", True), ("v**2", "v * v", False)]
)
def test_a_step_of_its_own_between_target_and_loss(tmp_path: Path, old: str, new: str, found: bool) -> None:
    """`huber(pred, corners(box))` for `huber(pred, box)`: another thing is compared."""
    made = COUNTS.replace("PoissonNLLLoss(log_input=True)", "SmoothL1Loss()")
    made = made.replace("import torch\n", "import torch\ndef raised(v):\n    return v**2 + 1\n", 1)
    assert ("edit-loss-arguments" in edits(tmp_path, made.replace(old, new), made)) is found


def test_an_axis_that_one_side_has(tmp_path: Path) -> None:
    """(batch, 1) against (batch,): whatever the shapes that nothing tells, no other line makes up for it."""
    mine = COUNTS.replace("net(x).squeeze(1)", "net(x)")
    assert "edit-loss-arguments" in edits(tmp_path, mine, COUNTS)


def test_evaluation_does_not_make_up_for_the_loss(tmp_path: Path) -> None:
    mine = SERVICE.replace("self.head(x)", "self.head(x).sigmoid()")
    mine = mine.replace("torch.sigmoid(self.net(x))", "self.net(x)")
    assert "edit-output-activation" in edits(tmp_path, mine, SERVICE)
