"""Windows that hold the element that is to be told."""

from __future__ import annotations

import pytest

from .._scripts import state

HEAD = """\
import numpy as np
import torch
from torch import nn

LOOK, HORIZON = 30, 1

"""
LOOP = """
net = nn.Sequential(nn.Flatten(), nn.LazyLinear(1))
optimizer = torch.optim.Adam(net.parameters())
for x, y in loader:
    optimizer.zero_grad()
    ((net(x)[:, 0] - y) ** 2).mean().backward()
    optimizer.step()
"""


def appended(window: str, answer: str) -> str:
    return (
        f"{HEAD}def cut(v):\n    xs, ys = [], []\n    for t in range(LOOK, len(v) - 1):\n"
        f"        xs.append({window})\n        ys.append({answer})\n"
        f"    return np.stack(xs), np.array(ys)\n{LOOP}"
    )


def item(window: str, answer: str) -> str:
    return (
        f"{HEAD}class Windows(torch.utils.data.Dataset):\n    def __init__(self, v, n):\n"
        "        self.v, self.n = v, n\n    def __len__(self):\n        return len(self.v) - self.n\n"
        f"    def __getitem__(self, i):\n        return {window}, {answer}\n{LOOP}"
    )


@pytest.mark.parametrize(
    "program",
    [
        appended("v[t - LOOK + 1:t + 1]", "v[t]"),
        appended("v[t - LOOK:t + 1]", "v[t + HORIZON - 1]"),
        appended("v[t - LOOK + 1:t + 1]", "v[t, 0]"),
        appended("v[t - LOOK:t + 1, 0]", "v[t, 0]"),
        item("self.v[i:i + self.n]", "self.v[i + self.n - 1]"),
        item("torch.tensor(self.v[i:i + self.n + 1])", "torch.tensor(self.v[i + self.n])"),
    ],
)
def test_the_window_holds_the_answer(program: str) -> None:
    assert state("script-training-sees-evaluation", program) == "present"


@pytest.mark.parametrize(
    "program",
    [
        appended("v[t - LOOK:t]", "v[t]"),
        appended("v[t - LOOK + 1:t + 1]", "v[t + HORIZON]"),
        appended("v[t - LOOK:t + 1, 1:]", "v[t, 0]"),  # other columns of the same moment
        appended("v[t - LOOK:t + 1]", "w[t]"),
        appended("v[t - LOOK + 1:t + 1]", "v[t + AHEAD]"),
        item("self.v[i:i + self.n]", "self.v[i + self.n]"),
        item("self.v[i:i + self.n]", "self.v[i + 1:i + self.n + 1]"),  # the next of each
        item("self.v[i:i + self.n]", "self.v[i]"[:-1] + " + self.n + self.ahead - 1]"),
        item("self.x[i:i + self.n]", "self.y[i + self.n - 1]"),
    ],
)
def test_the_window_ends_before_the_answer(program: str) -> None:
    assert state("script-training-sees-evaluation", program) != "present"
