"""Views of one tensor whose sizes are written in other ways; groups of the same parameters."""

from __future__ import annotations

from pathlib import Path

import pytest

from .._pairs import edits

TRAIN = """import itertools
import torch
from torch import nn
from torchvision import models
class Mixer(nn.Module):
    def __init__(self, heads=6):
        super().__init__()
        self.heads = heads
        self.eye = models.resnet18(weights="IMAGENET1K_V1")
        self.qkv, self.out = nn.Linear(96, 288), nn.Linear(96, 96)
        self.cell = nn.GRUCell(96, 96)
        self.top = nn.Linear(96, 10)
    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).split(d, dim=2)
        q, k, v = (z.view(b, t, self.heads, d // self.heads).transpose(1, 2) for z in (q, k, v))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = self.out(y.transpose(1, 2).contiguous().view(b, t, d))
        y = self.cell(y.reshape(-1, d), x.reshape(-1, d)).reshape(b, t, d)
        return self.top(y.mean(1))
def main(loader):
    net = Mixer()
    optimizer = torch.optim.AdamW([
        {"params": net.eye.parameters(), "lr": 1e-4}, {"params": net.qkv.parameters()},
        {"params": net.out.parameters()}, {"params": net.cell.parameters()}, {"params": net.top.parameters()},
    ], lr=1e-3)
    for epoch in range(20):
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()
    torch.save(net.state_dict(), "mixer.pt")
"""
JOINED = "y.transpose(1, 2).contiguous().view(b, t, d)"
CELL = "self.cell(y.reshape(-1, d), x.reshape(-1, d)).reshape(b, t, d)"
TAIL = '{"params": net.out.parameters()}, {"params": net.cell.parameters()}, {"params": net.top.parameters()}'
SAME = [
    (JOINED, "y.permute(0, 2, 1, 3).flatten(2)"),
    (JOINED, "y.swapaxes(1, 2).reshape(x.shape)"),
    (JOINED, "torch.flatten(y.transpose(1, 2), 2)"),
    (CELL, "self.cell(y.flatten(0, 1), x.flatten(0, 1)).unflatten(0, (b, t))"),
    (CELL, "self.cell(y.reshape(-1, d), x.reshape(b * t, d)).view(b, t, -1)"),
    (TAIL, '{"params": [*net.out.parameters(), *net.cell.parameters(), *net.top.parameters()]}'),
    (
        TAIL,
        '{"params": list(net.out.parameters()) + list(net.cell.parameters()) + list(net.top.parameters())}',
    ),
    (
        TAIL,
        '{"params": itertools.chain(net.out.parameters(), net.cell.parameters(), net.top.parameters())}',
    ),
    ('weights="IMAGENET1K_V1"', "weights=models.ResNet18_Weights.DEFAULT"),
    ('weights="IMAGENET1K_V1"', 'weights="DEFAULT"'),
]
OTHER = [
    (JOINED, "y.contiguous().view(b, t, d)"),
    (JOINED, "y.permute(0, 3, 1, 2).flatten(2)"),
    (CELL, "self.cell(y.reshape(-1, d), x.reshape(-1, d)).reshape(t, b, d).transpose(0, 1)"),
    (CELL, "self.cell(y.flatten(0, 1), x.flatten(0, 1)).unflatten(0, (t, b)).transpose(0, 1)"),
    (TAIL, '{"params": net.out.parameters()}, {"params": net.top.parameters()}'),
    (TAIL, '{"params": [*net.out.parameters(), *net.top.parameters()]}'),
    ('weights="IMAGENET1K_V1"', "weights=None"),
]


def told(folder: Path, edit: tuple[str, str]) -> set[str]:
    assert edit[0] in TRAIN
    return edits(folder, TRAIN.replace(*edit), TRAIN)


@pytest.mark.parametrize("edit", SAME, ids=lambda e: e[1][:50])
def test_one_layout_in_other_words(tmp_path: Path, edit: tuple[str, str]) -> None:
    assert told(tmp_path, edit) == set()


@pytest.mark.parametrize("edit", OTHER, ids=lambda e: e[1][:50])
def test_another_layout_is_told(tmp_path: Path, edit: tuple[str, str]) -> None:
    assert told(tmp_path, edit)
