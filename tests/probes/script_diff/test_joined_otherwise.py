"""Tensors that are joined in another place or by another function are the same tensors."""

from __future__ import annotations

from pathlib import Path

import pytest

from ._rewrites import findings, told

PARCELS = """
import csv
import torch
from torch import nn
def rows(name):
    with open(name, newline="") as f:
        held = list(csv.DictReader(f))
    kinds = torch.tensor([[int(r["hub"]), int(r["class"])] for r in held])
    sizes = torch.tensor([[float(r["kg"]), float(r["cm"])] for r in held])
    return kinds, (sizes - sizes.mean(0)) / sizes.std(0), torch.tensor([float(r["days"]) for r in held])
class Days(nn.Module):
    def __init__(self, counts):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(n, 4) for n in counts)
        self.hidden = nn.Linear(10, 24)
        self.end = nn.Linear(24, 1)
    def forward(self, kinds, sizes):
        looked = [table(kinds[:, i]) for i, table in enumerate(self.tables)]
        h = torch.relu(self.hidden(torch.cat([*looked, sizes], dim=1)))
        return self.end(h).squeeze(1)
kinds, sizes, days = rows("train.csv")
net = Days([40, 5])
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(20):
    for i in torch.randperm(len(days)).split(64):
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(kinds[i], sizes[i]), days[i])
        loss.backward()
        opt.step()
    print(epoch, loss.item())
"""
_LIST = "looked = [table(kinds[:, i]) for i, table in enumerate(self.tables)]"
_ALL = "torch.cat([*looked, sizes], dim=1)"
EQUAL = {
    "by another function": [(_ALL, "torch.hstack([*looked, sizes])")],
    "by a list that is longer": [(_ALL, "torch.cat(looked + [sizes], dim=1)")],
    "in two steps": [(_ALL, "torch.cat([torch.cat(looked, dim=1), sizes], dim=1)")],
    "in two lines": [
        (_LIST, "known = torch.cat([t(kinds[:, k]) for k, t in enumerate(self.tables)], dim=1)"),
        (_ALL, "torch.cat([known, sizes], dim=1)"),
    ],
    "other names in a loop": [(_LIST, "looked = [e(kinds[:, n]) for n, e in enumerate(self.tables)]")],
}
OTHER = {
    "one column for all": [
        (_LIST, "known = torch.cat([t(kinds[:, 0]) for t in self.tables], dim=1)"),
        (_ALL, "torch.cat([known, sizes], dim=1)"),
    ],
    "zeros for the sizes": [(_ALL, "torch.hstack([*looked, torch.zeros_like(sizes)])")],
}


@pytest.mark.parametrize("name", sorted(EQUAL))
def test_joined_otherwise(name: str, tmp_path: Path) -> None:
    assert findings(told(tmp_path, PARCELS, EQUAL[name])) == []


@pytest.mark.parametrize("name", sorted(OTHER))
def test_something_else_is_joined(name: str, tmp_path: Path) -> None:
    assert findings(told(tmp_path, PARCELS, OTHER[name]))
