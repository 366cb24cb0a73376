"""A model that gives scores or chances as its caller asks: only what training asks for reaches the loss."""

from __future__ import annotations

import pytest

from .._scripts import state

PROGRAM = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(8, 3)
    def forward(self, x{PARAMETER}):
        z = self.f(x)
{BODY}
net = Net()
opt = torch.optim.Adam(net.parameters(), 1e-3)
X, Y = torch.load("x.pt"), torch.load("y.pt")
for e in range(20):
    for i in torch.randperm(len(X)).split(32):
        loss = nn.functional.cross_entropy(net(X[i]{GIVEN}), Y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
"""
RAW_FIRST = "        if raw:\n            return z\n        return torch.softmax(z, 1)"
IN_LINE = "        return torch.softmax(z, 1) if chances else z"
IN_PLACE = "        if not raw:\n            z = torch.softmax(z, 1)\n        return z"
BY_WORD = "        if out == 'chances':\n            return torch.softmax(z, 1)\n        return z"


@pytest.mark.parametrize(
    ("parameter", "body", "given", "expected"),
    [
        (", raw=False", RAW_FIRST, ", raw=True", "absent"),
        (", raw=False", RAW_FIRST, ", True", "absent"),
        (", raw=True", RAW_FIRST, "", "absent"),
        (", raw=False", RAW_FIRST, "", "present"),
        (", chances=False", IN_LINE, "", "absent"),
        (", chances=False", IN_LINE, ", chances=True", "present"),
        (", raw=False", IN_PLACE, ", raw=True", "absent"),
        (", raw=False", IN_PLACE, "", "present"),
        (", out='scores'", BY_WORD, "", "absent"),
        (", out='scores'", BY_WORD, ", out='chances'", "present"),
        ("", "        return torch.softmax(z, 1)", "", "present"),
    ],
)
def test_what_training_asks_for_reaches_the_loss(
    parameter: str, body: str, given: str, expected: str
) -> None:
    text = PROGRAM.replace("{PARAMETER}", parameter).replace("{BODY}", body).replace("{GIVEN}", given)
    assert state("script-loss-wrong", text) == expected
