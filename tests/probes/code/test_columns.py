"""Columns of shape (batch, 1) that are held against rows of shape (batch,)."""

from __future__ import annotations

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.loss.shapes import column_against_row

from .._script import finding

HEADS = """
import torch
from torch import nn
class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.pi, self.v = nn.Linear(6, 64), nn.Linear(64, 5), nn.Linear(64, 1)
    def forward(self, x):
        h = torch.tanh(self.body(x))
        return self.pi(h), self.v(h){}
net = Two()
returns = torch.from_numpy(table.reshape(-1))
for idx in torch.randperm(len(returns)).split(64):
    logits, v = net(obs[idx])
    loss = 0.5 * ((v - returns[idx]{}) ** 2).mean()
    loss.backward()
"""
SLICES = """
import torch
def gauss(out, y):
    mean, spread = {}, out[:, 1].exp()
    return ((y - mean) ** 2).mean()
for x, y in loader:
    gauss(net(x), {}).backward()
    optimizer.step()
"""
SAMPLES = """
import torch
import torch.nn.functional as F
from torch import nn
class Rows(torch.utils.data.Dataset):
    def __getitem__(self, i):
        return self.x[i], self.mask[i], {}
head = nn.Linear(64, 1)
for step, (x, mask, y) in enumerate(loader):
    out = head(x * mask)
    loss = F.smooth_l1_loss(out, y)
    loss.backward()
"""
TEXTS = [
    (True, HEADS.format("", "")),
    (False, HEADS.format("[:, 0]", "")),
    (False, HEADS.format(".squeeze(-1)", "")),
    (False, HEADS.format("", "[:, None]")),
    (True, SLICES.format("out[:, :1]", "y[:, 0]")),
    (True, SLICES.format("out[:, 0:1]", "y.view(-1)")),
    (False, SLICES.format("out[:, 0]", "y[:, 0]")),
    (False, SLICES.format("out[:, :1]", "y.view(-1, 1)")),
    (False, SLICES.format("out[:, :2]", "y[:, 0]")),
    (False, SLICES.format("out[:, 0][:, None]", "y[:, 0]")),  # every pair, on purpose
    (False, SLICES.format("out.mean(0, keepdim=True)", "y[:, 0]")),
    (True, SAMPLES.format("float(self.y[i])")),
    (False, SAMPLES.format("self.y[i]")),
]


@pytest.mark.parametrize(("meets", "text"), TEXTS)
def test_columns(meets: bool, text: str) -> None:
    assert (finding(column_against_row, text).state is State.PRESENT) == meets
