"""Samplers of loaders in a rehearsal: which rows are taught and scored, where two loaders share a set."""

from __future__ import annotations

import pytest

from ._program import told

PARTED = """
import numpy as np
import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, SubsetRandomSampler
from torchvision import datasets
from mine import Own

data = datasets.CIFAR10("d", train=True)
order = np.random.permutation(len(data))
cut = int(0.8 * len(data))
a = DataLoader(data, batch_size=8, sampler=SubsetRandomSampler(order[:cut]))
b = DataLoader(data, batch_size=8, sampler=SubsetRandomSampler(order[cut:]))
net = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters())
for epoch in range(9):
    net.train()
    for x, y in a:
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
    total = 0.0
    net.eval()
    with torch.no_grad():
        for x, y in b:
            total += nn.functional.cross_entropy(net(x), y).item()
    print(epoch, "val loss %.3f" % total)
"""
SCORED = {"scored-rows-taught", "scores-training-rows"}
FIRST = "sampler=SubsetRandomSampler(order[:cut])"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        (
            "order = np.random.permutation(len(data))",
            "order = list(range(len(data)))\nnp.random.shuffle(order)",
        ),
        ("int(0.8 * len(data))", "int(settings.share * len(data))"),  # not known: nothing is said
        (FIRST, "sampler=Own(order[:cut])"),
        (FIRST, "batch_sampler=BatchSampler(SubsetRandomSampler(order[:cut]), 8, True)"),
    ],
)
def test_samplers_that_part_one_set(old: str, new: str) -> None:
    text = PARTED.replace(old, new) if old else PARTED
    assert not told(("", ""), text=text) & SCORED


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("order[cut:]", "order[cut // 2 :]"),
        (FIRST, "sampler=RandomSampler(data)"),
        (FIRST, "shuffle=True"),
        (FIRST, "batch_sampler=BatchSampler(SubsetRandomSampler(order), 8, True)"),
        ("order[cut:]", "order[:cut]"),
    ],
)
def test_samplers_that_share_rows(old: str, new: str) -> None:
    assert told((old, new), text=PARTED) & SCORED
