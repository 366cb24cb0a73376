"""Figures put together wrongly around their loop, meters that go on or stay empty, and what is kept alive."""

from __future__ import annotations

import pytest

from .._scripts import state

LOOP = """
import numpy as np
import torch
from torch import nn
net = nn.Linear(8, 3)
opt = torch.optim.Adam(net.parameters(), 1e-3)
class Meter:
    def __init__(self):
        self.sum, self.count = 0.0, 0
    def update(self, v, n):
        self.sum += v * n
        self.count += n
{SCORE}
for epoch in range(9):
    net.train()
    for x, y in loader:
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(score(net, val_loader))
"""
SHARE = """
def score(net, loader):
    net.eval()
    hits, seen = 0, 0
    with torch.no_grad():
        for x, y in loader:
            hits += (net(x).argmax(1) == y).sum().item()
            seen += len(y)
    return hits / seen
"""
GAIN = """
def score(net, loader, k=10):
    net.eval()
    gain, seen = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            top = net(x).topk(k, dim=1).indices
            for row, true in zip(top.tolist(), y.tolist()):
                for i, one in enumerate(row):
                    if one == true:
                        gain += 1 / np.log2(i + 2)
            seen += len(y)
    return gain / seen
"""
BY_INDEX = """
def score(net, loader, k=10):
    net.eval()
    gains = []
    with torch.no_grad():
        for x, y in loader:
            for row, true in zip(net(x).topk(k, dim=1).indices.tolist(), y.tolist()):
                if true in row:
                    place = row.index(true)
                    gains.append(1.0 / np.log2(place + 2))
                else:
                    gains.append(0.0)
    return np.mean(gains)
"""
DISCOUNTS = """
def score(net, loader, k=10):
    net.eval()
    discount = 1 / torch.log2(torch.arange(k) + 2.0)
    gain, seen = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            top = net(x).topk(k, dim=1).indices
            gain += ((top == y[:, None]) * discount).sum().item()
            seen += y.size(0)
    return gain / seen
"""
ERRORS = """
def score(net, loader):
    net.eval()
    off, seen = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            off += (net(x)[:, 0] - y).abs().sum().item()
            seen += len(y)
    return off / seen
"""
METER = """
def score(net, loader):
    net.eval()
    meter = Meter()
    with torch.no_grad():
        for x, y in loader:
            meter.update((net(x).argmax(1) == y).float().mean().item(), len(y))
    return meter.sum / meter.count
"""
LISTED = """
def score(net, loader):
    net.eval()
    hits = []
    with torch.no_grad():
        for x, y in loader:
            hits.append((net(x).argmax(1) == y).float())
    return torch.cat(hits).mean().item()
"""
WRONG = [
    (SHARE, [("hits / seen", "hits / len(y)")]),
    (SHARE, [("hits / seen", "100.0 * hits / y.size(0)")]),
    (SHARE, [("hits / seen", "hits / x.shape[0]")]),
    (GAIN, [("i + 2", "i + 1")]),
    (BY_INDEX, [("place + 2", "place + 1")]),
    (DISCOUNTS, [("+ 2.0", "+ 1.0")]),
    (ERRORS, [(".abs().sum()", ".sum().abs()")]),
    (ERRORS, [("(net(x)[:, 0] - y).abs().sum().item()", "abs((net(x)[:, 0] - y).sum().item())")]),
    (ERRORS, [("(net(x)[:, 0] - y).abs().sum()", "torch.abs(torch.sum(net(x)[:, 0] - y))")]),
    (METER, [("net, loader)", "net, loader, meter=Meter())"), ("    meter = Meter()\n", "")]),
    (LISTED, [("net, loader)", "net, loader, hits=[])"), ("    hits = []\n", "")]),
]
RIGHT = [
    (GAIN, [("enumerate(row)", "enumerate(row, 1)"), ("i + 2", "i + 1")]),
    (BY_INDEX, [("row.index(true)", "row.index(true) + 1"), ("place + 2", "place + 1")]),
    (DISCOUNTS, [("arange(k)", "arange(1, k + 1)"), ("+ 2.0", "+ 1.0")]),
    (GAIN, [("gain += 1 / np.log2(i + 2)", "gain += 1.0 if i == 0 else 1 / np.log2(i + 1)")]),
    (METER, [("net, loader)", "net, loader, meter=None)"), ("meter = Meter()", "meter = meter or Meter()")]),
    (LISTED, [("net, loader)", "net, loader, parts=())")]),
    (SHARE, [("hits / seen", "hits / len(loader.dataset)")]),
    (
        ERRORS,
        [("off += (net(x)[:, 0] - y).abs().sum()", "off += (net(x)[:, 0] - y).abs().mean(0).sum() * len(y)")],
    ),
]


def _text(score: str, pairs: list[tuple[str, str]]) -> str:
    for old, new in pairs:
        assert score.count(old) == 1, old
        score = score.replace(old, new)
    return LOOP.replace("{SCORE}", score)


@pytest.mark.parametrize(("score", "pairs"), WRONG)
def test_figures_put_together_wrongly(score: str, pairs: list[tuple[str, str]]) -> None:
    assert state("script-metric-miscounts", _text(score, pairs)) == "present"


@pytest.mark.parametrize(
    ("score", "pairs"), [*RIGHT, *((s, []) for s in (SHARE, GAIN, BY_INDEX, ERRORS, METER))]
)
def test_figures_put_together_rightly(score: str, pairs: list[tuple[str, str]]) -> None:
    assert state("script-metric-miscounts", _text(score, pairs)) != "present"


LIGHTNING = """
import lightning as L
import torch
from torch import nn
from torchmetrics.classification import MulticlassAccuracy
class Tagger(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 3)
        self.val_acc = MulticlassAccuracy(3)
        self.test_acc = MulticlassAccuracy(3)
    def forward(self, x):
        return self.net(x)
    def training_step(self, batch, _):
        x, y = batch
        return nn.functional.cross_entropy(self(x), y)
    def validation_step(self, batch, _):
        x, y = batch
        self.val_acc(self(x), y)
        self.log("val_acc", self.val_acc, on_epoch=True)
    def test_step(self, batch, _):
        x, y = batch
        {FED}
        self.log("test_acc", self.test_acc, on_epoch=True)
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 1e-3)
"""


@pytest.mark.parametrize(
    ("fed", "expected"),
    [
        ("self.val_acc.update(self(x), y)", True),
        ("self.val_acc(self(x), y)", True),
        ("self.test_acc.update(self(x), y)", False),
        ("self.test_acc(self(x), y)", False),
        ("self.count(batch, self.test_acc)", False),
    ],
)
def test_metric_that_nothing_is_given_to(fed: str, expected: bool) -> None:
    found = state("script-metric-miscounts", LIGHTNING.replace("{FED}", fed))
    assert (found == "present") is expected
