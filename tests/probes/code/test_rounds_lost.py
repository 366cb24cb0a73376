"""Rounds of a network: each has to read what the one before it gave."""

from __future__ import annotations

import pytest

from .._scripts import state

NET = """
import torch
import torch.nn as nn
import torch.nn.functional as F
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(8, 16)
        self.layers = nn.ModuleList([nn.Linear(16, 16) for _ in range(4)])
        self.table = nn.Parameter(torch.randn(16, 16))
        self.out = nn.Linear(16, 2)
    def forward(self, x):
        x = x + self.table.mean()
        {body}
net = Net()
opt = torch.optim.Adam(net.parameters())
for epoch in range(10):
    for x, y in torch.utils.data.DataLoader(torch.load("rows.pt"), 32, shuffle=True):
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
"""


def net(*lines: str) -> str:
    return NET.format(body="\n        ".join(lines))


RIGHT = (
    "h = self.inp(x); for l in self.layers: | h = F.relu(l(h)); return self.out(h)",
    # branches
    "inp = self.inp(x); x = inp; outs = []; for l in self.layers: | x = F.relu(l(inp)); | outs.append(x)"
    "; return self.out(sum(outs))",
    "h = self.inp(x); outs = [h]; for l in self.layers: | h = F.relu(l(sum(outs))); | outs.append(h)"
    "; return self.out(h)",
    "h = self.inp(x); x0 = h; for l in self.layers: | h = x0 * l(h) + h; return self.out(h)",
    "h = self.inp(x); z = h; for l in self.layers: | y = l(z); | z = F.relu(y); return self.out(z)",
)
WRONG = (
    "x = self.inp(x); h = x; for l in self.layers: | h = F.relu(l(x)); return self.out(h)",
    "h = self.inp(x); first = h; for l in self.layers: | h = F.relu(l(first)); return self.out(h)",
    "h = self.inp(x); outs = [h]; for l in self.layers: | h = F.relu(l(outs[0])); | outs.append(h)"
    "; return self.out(sum(outs))",
    "h = self.table; outs = [h]; for _ in range(3): | h = torch.mm(self.table, self.table); | outs.append(h)"
    "; return self.out(self.inp(x) @ sum(outs))",
)


@pytest.mark.parametrize("body", RIGHT)
def test_rounds_that_go_on(body: str) -> None:
    assert state("script-wiring-wrong", net(*lines(body))) != "present"


@pytest.mark.parametrize("body", WRONG)
def test_rounds_that_begin_anew(body: str) -> None:
    assert state("script-wiring-wrong", net(*lines(body))) == "present"


def lines(body: str) -> list[str]:
    """Statements between semicolons; a bar stands for what is within the loop."""
    found = [part.strip() for text in body.split(";") for part in text.replace(": |", ":; |").split(";")]
    return [f"    {part[1:].strip()}" if part.startswith("|") else part for part in found]
