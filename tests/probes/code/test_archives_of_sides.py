"""Arrays of one archive that are named by their side, and parts of one table that are not."""

from __future__ import annotations

import pytest

from .._scripts import state

LOOP = """
import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
{DATA}
net = nn.Linear(4, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(3):
    net.train()
    for x, y in DataLoader(train_set, batch_size=8, shuffle=True):
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        for x, y in DataLoader(val_set, batch_size=8):
            print(nn.functional.cross_entropy(net(x), y).item())
"""
ARCHIVE = "data = np.load('set.npz')\ntrain_set = TensorDataset({0})\nval_set = TensorDataset({1})"


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (ARCHIVE.format("data['x_train'], data['y_train']", "data['x_val'][:90], data['y_val'][:90]"), False),
        (
            ARCHIVE.format("data['train_x'], data['train_y']", "data['test_x'][50:], data['test_y'][50:]"),
            False,
        ),
        (
            ARCHIVE.format("data['x_train'], data['y_train']", "data['x_train'][:90], data['y_train'][:90]"),
            True,
        ),
        (ARCHIVE.format("data['x'], data['y']", "data['x'][:90], data['y'][:90]"), True),
        (ARCHIVE.format("data['x'][90:], data['y'][90:]", "data['x'][:90], data['y'][:90]"), False),
    ],
)
def test_arrays_named_by_their_side_are_rows_of_their_own(data: str, says: bool) -> None:
    assert (state("script-training-sees-evaluation", LOOP.replace("{DATA}", data)) == "present") == says
