"""Losses, floors and dropouts that are written in another documented way, and faults that look alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from .._pairs import edits

TEXT = """
import torch
from torch import nn
import torch.nn.functional as F
STEPS = 4
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(p=0.1), nn.Linear(16, 4))
    def forward(self, x):
        return self.body(x)
class Pairs:
    def __init__(self):
        self.criterion = nn.CrossEntropyLoss()
    def __call__(self, scores, target):
        return self.criterion(scores, target)
def distance(x, mask):
    return (x.abs() * mask).sum() / mask.sum().clamp(min=1.0)
def rank(a, b):
    return -F.logsigmoid(a - b).mean()
def fit(out, x):
    return F.binary_cross_entropy(out, x, size_average=False)
def main(loader):
    net, pairs = Net(), Pairs()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(9):
        for i, (x, y, mask, chance) in enumerate(loader):
            out = net(x)
            loss = pairs(out, y) + distance(out, mask) + rank(out[:, 0], out[:, 1])
            loss = loss + fit(out.sigmoid(), chance) / len(x)
            (loss / STEPS).backward()
            if (i + 1) % STEPS == 0:
                opt.step()
                opt.zero_grad()
"""
FLOOR = "mask.sum().clamp(min=1.0)"
SIGMOID = "-F.logsigmoid(a - b).mean()"
GATE = "if (i + 1) % STEPS == 0:"


def edited(*pairs: tuple[str, str]) -> str:
    text = TEXT
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


def told(folder: Path, *pairs: tuple[str, str]) -> set[str]:
    return edits(folder, edited(*pairs), TEXT)


@pytest.mark.parametrize(
    "pairs",
    [
        [(FLOOR, "(mask.sum() + 1e-6)")],
        [(SIGMOID, "-torch.log(torch.sigmoid(a - b).clamp(min=1e-7)).mean()")],
        [("size_average=False", "reduction='sum'")],
        [(GATE, "if (i + 1) % STEPS == 0 or i + 1 == len(loader):")],
    ],
)
def test_another_way(tmp_path: Path, pairs: list[tuple[str, str]]) -> None:
    assert not told(tmp_path, *pairs)


@pytest.mark.parametrize(
    ("symptom", "pairs"),
    [
        ("edit-floor", [(FLOOR, "mask.sum()")]),
        ("edit-floor", [(SIGMOID, "-torch.log(torch.sigmoid(a - b)).mean()")]),
        ("edit-loss-reduction", [("size_average=False", "reduction='mean'")]),
        ("edit-loss-function", [("nn.CrossEntropyLoss()", "nn.NLLLoss()")]),
        ("edit-update-conditional", [(GATE, "if (i + 1) % STEPS == 0 and i > 100:")]),
    ],
)
def test_faults_that_look_like_it(tmp_path: Path, symptom: str, pairs: list[tuple[str, str]]) -> None:
    assert symptom in told(tmp_path, *pairs)
