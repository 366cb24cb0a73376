"""Answers and targets of an evaluation in unlike units."""

from __future__ import annotations

import pytest

from tests.probes._scripts import state

TEXT = """
import numpy as np
import torch
from torch import nn

class Range:
    def __init__(self, low, wide):
        self.low, self.wide = low, wide
    def there(self, v):
        return (v - self.low) / self.wide
    def again(self, v):
        return v * self.wide + self.low

def cut(t, n=8):
    xs, ys = [], []
    for i in range(len(t) - n - 2):
        xs.append(t[i : i + n])
        ys.append(t[i + n : i + n + 2, {column}])
    return np.stack(xs), np.stack(ys)

def judged(net, rows, scale, m, s):
    net.eval()
    wrong = 0.0
    for x, y in rows:
        {body}
    return wrong

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(8, 2)
    def forward(self, x):
        return self.f(x[..., 0])

net = Net()
opt = torch.optim.Adam(net.parameters())
table = np.loadtxt("load.csv", delimiter=",")
m, s = table[:900].mean(0), table[:900].std(0)
scale = Range(m[0], s[0])
data = cut((table[:900] - m) / s)
for x, y in batches(*data):
    loss = nn.functional.mse_loss(net(x), {taught})
    opt.zero_grad()
    loss.backward()
    opt.step()
print(judged(net, batches(*cut((table[900:] - m) / s)), scale, m[{figure}], s[{figure}]))
"""


def text(body: str, column: int = 0, figure: int = 0, taught: str = "y") -> str:
    return TEXT.format(body=body, column=column, figure=figure, taught=taught)


BOTH = "p, t = net(x) * s + m, y * s + m\n        wrong += np.abs(p - t).sum()"


@pytest.mark.parametrize(
    "program",
    [
        text(
            "p = net(x).detach().numpy()\n        t = y.numpy() * s + m\n        wrong += np.abs(p - t).sum()"
        ),
        text("t = scale.again(y)\n        wrong += (net(x) - t).abs().sum()"),
        text("p = net(x)\n        wrong += ((scale.again(y.numpy()) - p) ** 2).mean()"),
        text(BOTH, column=1),
        text(BOTH, figure=2),
    ],
)
def test_units_apart(program: str) -> None:
    assert "present" in (state("script-metric-wrong", program), state("script-metric-miscounts", program))


@pytest.mark.parametrize(
    "program",
    [
        text(BOTH),
        text("wrong += (net(x) - y).abs().sum()"),
        text("wrong += (scale.again(net(x)) - scale.again(y)).abs().sum()"),
        text("p = net(x) * s + m\n        wrong += (p - y).abs().sum()"),
        text("t = scale.again(y)\n        wrong += (net(x) - t).abs().sum()", taught="y * s + m"),
        text(BOTH, column=1, figure=1),
    ],
)
def test_units_alike(program: str) -> None:
    assert state("script-metric-wrong", program) != "present"
    assert state("script-metric-miscounts", program) != "present"
