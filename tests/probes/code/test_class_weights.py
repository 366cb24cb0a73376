"""Weights of classes and of samples by how many there are of a class."""

from __future__ import annotations

import pytest

from .._scripts import state

HEAD = """\
from collections import Counter
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

x, y = torch.load('x.pt'), torch.load('y.pt')
net = nn.Linear(8, 1)
"""
TAIL = """
optimizer = torch.optim.Adam(net.parameters())
for a, b in loader:
    optimizer.zero_grad()
    criterion(net(a).squeeze(1), b.float()).backward()
    optimizer.step()
"""
LOADER = "loader = DataLoader(TensorDataset(x, y), 64, shuffle=True)\n"
DRAWN = "loader = DataLoader(TensorDataset(x, y), 64, sampler=sampler)\ncriterion = nn.BCEWithLogitsLoss()\n"


@pytest.mark.parametrize(
    ("weight", "found"),
    [
        ("w = (y == 1).sum() / (y == 0).sum()", True),
        ("pos, neg = (y == 0).sum(), (y == 1).sum()\nw = neg / pos", True),
        ("w = torch.tensor(float((y > 0).sum()) / float((y == 0).sum()))", True),
        ("w = (y == 0).sum() / (y == 1).sum()", False),
        ("w = (y == 0).sum() / (y == 1).sum().clamp(min=1)", False),
        ("share = (y == 1).float().mean()\nw = (1 - share) / share", False),
        ("w = len(y) / (y == 1).sum()", False),
        ("w = 1 / ((y == 1).sum() / (y == 0).sum())", False),
    ],
)
def test_the_weight_of_the_rare_class(weight: str, found: bool) -> None:
    program = f"{HEAD}{weight}\n{LOADER}criterion = nn.BCEWithLogitsLoss(pos_weight=w)\n{TAIL}"
    assert (state("script-class-weights-upside-down", program) == "present") is found


@pytest.mark.parametrize(
    ("weights", "found"),
    [
        ("counts = torch.bincount(y).float()\nw = [counts[i].item() for i in y]", True),
        ("counts = Counter(y.tolist())\nw = [counts[int(i)] for i in y]", True),
        ("_, counts = np.unique(y, return_counts=True)\nw = torch.from_numpy(counts[y])", True),
        ("counts = np.bincount(y)\nw = counts[y]", True),
        ("counts = torch.bincount(y).float()\nw = [1.0 / counts[i].item() for i in y]", False),
        ("counts = torch.bincount(y).float()\ncounts = 1 / counts\nw = counts[y]", False),
        ("weight = 1.0 / np.bincount(y)\nw = weight[y]", False),
        ("counts = np.bincount(y)\nw = (len(y) / counts)[y]", False),
        ("counts = np.load('wanted.npy')\nw = counts[y]", False),
    ],
)
def test_how_often_samples_are_drawn(weights: str, found: bool) -> None:
    program = f"{HEAD}{weights}\nsampler = WeightedRandomSampler(w, len(y))\n{DRAWN}{TAIL}"
    assert (state("script-class-weights-upside-down", program) == "present") is found
