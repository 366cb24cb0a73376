"""Sums over layers that a forward pass adds up for nothing."""

from __future__ import annotations

import ast

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.model.lost_sums import sum_without_reader
from traindoctor.probes.scripts.syntax import Script

NET = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inlet = nn.Conv1d(4, 8, 1)
        self.stack = nn.ModuleList([Gated(8, 2 ** i) for i in range(6)])
        self.outlet = nn.Conv1d(8, 2, 1)
    def forward(self, x):
        x = self.inlet(x)
{}
"""
LOST = {
    "unpacked": """
        total = 0
        for block in self.stack:
            x, s = block(x)
            total = total + s
        return self.outlet(s)
""",
    "augmented": """
        y = torch.zeros_like(x)
        for i in range(len(self.stack)):
            x = self.stack[i](x)
            y += self.outlet(x)
        return self.outlet(x)
""",
    "other side": """
        summed = 0.0
        for layer in self.stack:
            h = layer(x)
            summed = h + summed
            x = x + h
        return self.outlet(h)
""",
}
READ = {
    "returned": """
        total = 0
        for block in self.stack:
            x, s = block(x)
            total = total + s
        return self.outlet(total)
""",
    "the stream": """
        for block in self.stack:
            x = x + block(x)
        return self.outlet(x)
""",
    "kept for later": """
        aux = 0.0
        for block in self.stack:
            x, penalty = block(x)
            aux += penalty
        self.aux = aux
        return self.outlet(x)
""",
    "a counter": """
        n = 0
        for block in self.stack:
            x = block(x)
            n += 1
        return self.outlet(x)
""",
    "nothing added up": """
        return self.outlet(self.stack[0](x))
""",
}


def lost(body: str) -> bool:
    text = NET.replace("{}", body.strip("\n"))
    found = sum_without_reader(Script("train.py", text, ast.parse(text)))
    return found is not None and found.state is State.PRESENT


@pytest.mark.parametrize("name", LOST)
def test_a_sum_that_nothing_reads(name: str) -> None:
    assert lost(LOST[name])


@pytest.mark.parametrize("name", READ)
def test_a_sum_that_goes_on(name: str) -> None:
    assert not lost(READ[name])
