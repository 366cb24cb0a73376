"""Losses held against what was done to the answer before."""

from __future__ import annotations

import pytest

from traindoctor.probes.rehearsal.judges.losses import given_otherwise

from ._journals import rehearsal

STEPS = """
import torch
from torch import nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 16)
        self.head = nn.Linear(16, 2)

    def forward(self, x):
        x = self.head(F.relu(self.body(x)))
        return {END}

net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
measure = nn.NLLLoss()
rows = torch.utils.data.TensorDataset(torch.randn(64, 8), torch.randint(0, 2, (64,)))
for x, y in torch.utils.data.DataLoader(rows, 8):
    opt.zero_grad()
    {LOSS}.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("end", "loss", "kinds"),
    [
        ("F.softmax(x, dim=1)", "F.nll_loss(net(x), y)", ["not-logs"]),
        ("F.softmax(x, dim=1)", "measure(net(x).view(-1, 2), y)", ["not-logs"]),
        ("x", "measure(net(x), y)", ["not-logs"]),
        ("F.log_softmax(x, dim=1)", "measure(net(x), y)", []),
        ("torch.log(torch.softmax(x, 1) + 1e-8)", "F.nll_loss(net(x), y)", []),
        ("x - x.logsumexp(1, keepdim=True)", "F.nll_loss(net(x), y)", []),
        ("x if self.training else F.softmax(x, 1)", "F.cross_entropy(net(x), y)", []),
        ("F.softmax(x, dim=1)", "F.cross_entropy(net(x), y)", ["bent-twice"]),
        ("F.softmax(x, dim=1) / 0.1", "F.cross_entropy(net(x), y)", []),
        ("x", "F.cross_entropy(net(x), torch.softmax(net(x).detach(), 1))", []),
        ("x", "F.binary_cross_entropy(net(x), y)", ["not-logs"]),
        ("torch.sigmoid(x)", "F.binary_cross_entropy(net(x), y)", []),
        ("unknown(F.softmax(x, dim=1))", "F.cross_entropy(net(x), y)", []),
    ],
)
def test_what_a_loss_is_given(end: str, loss: str, kinds: list[str]) -> None:
    machine = rehearsal(STEPS.replace("{END}", end).replace("{LOSS}", loss))

    assert [v.kind for v in given_otherwise(machine)] == kinds
