"""Columns of answers that meet rows of targets, in losses and scores."""

from __future__ import annotations

import pytest

from ._program import told

TEXT = """
import pandas as pd
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

table = pd.read_csv("wells.csv")
x = torch.tensor(table[["a", "b"]].values, dtype=torch.float32)
y = torch.tensor(table["depth"].values, dtype=torch.float32)
data = TensorDataset(x[:900], y[:900])
held_x, held_y = x[900:], y[900:]

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.start = nn.Linear(2, 16)
        self.end = nn.Linear(16, 1)
    def forward(self, x):
        return self.end(torch.relu(self.start(x))).squeeze(-1)

net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(20):
    for bx, by in DataLoader(data, 32, shuffle=True):
        loss = F.mse_loss(net(bx), by)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        off = (net(held_x) - held_y).abs().mean()
    print("val off", off.item())
"""
SQUEEZED = ".squeeze(-1)"
ABOUT = {"column-row", "column-row-scored"}


def kinds(*edits: tuple[str, str]) -> set[str]:
    """The verdicts about shapes."""
    return told(*edits, text=TEXT) & ABOUT


@pytest.mark.parametrize(
    ("edits", "kind"),
    [
        (((SQUEEZED, ""),), {"column-row"}),
        (((SQUEEZED, ""), ("F.mse_loss(net(bx), by)", "((net(bx) - by) ** 2).mean()")), {"column-row"}),
        (
            ((SQUEEZED, ""), ("F.mse_loss(net(bx), by)", "nn.HuberLoss()(net(bx).clamp(-9, 9), by)")),
            {"column-row"},
        ),
        ((("by)\n", "by.unsqueeze(1))\n"),), {"column-row"}),
        (((SQUEEZED, ""), ("(net(bx), by)", "(net(bx)[:, 0], by)")), {"column-row-scored"}),
    ],
)
def test_a_column_meets_a_row(edits: tuple[tuple[str, str], ...], kind: set[str]) -> None:
    assert kinds(*edits) == kind


@pytest.mark.parametrize(
    "edits",
    [
        (),
        ((SQUEEZED, ""), ('table["depth"].values', 'table["depth"].values.reshape(-1, 1)')),
        ((SQUEEZED, ""), ('table["depth"].values', 'table[["depth"]].values')),
        ((SQUEEZED, ""), ("by)\n", "by[:, None])\n"), ("- held_y", "- held_y.view(-1, 1)")),
        ((SQUEEZED, ".flatten()"),),
        ((SQUEEZED, "[:, 0]"),),
        ((SQUEEZED, ""), ("nn.Linear(16, 1)", "nn.Linear(16, units)")),
        ((SQUEEZED, ")"), ("return self.end", "return unknown(self.end")),
        ((SQUEEZED, ""), ('torch.tensor(table["depth"].values, dtype=torch.float32)', "torch.load('y')")),
    ],
)
def test_alike_shapes_or_ones_that_are_not_known(edits: tuple[tuple[str, str], ...]) -> None:
    assert kinds(*edits) == set()
