"""Two figures of a share that are gone through batch by batch, of which one is added up and one is not."""

from __future__ import annotations

import pytest

from .._scripts import state

SCORES = """
import torch
from torch import nn
net = nn.Conv2d(1, 3, 1)
optimizer = torch.optim.Adam(net.parameters())
def learn(loader):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
@torch.no_grad()
def validate(val_loader):
    net.eval()
    {BEGIN}
    for x, y in val_loader:
        pred = net(x).argmax(1)
        {BODY}
    {END}
for epoch in range(9):
    net.train()
    learn(loader)
    print(epoch, validate(val_loader))
"""
ZEROS = "inter, union = torch.zeros(3), torch.zeros(3)"
LOOP = """for c in range(3):
            inter[c] {IS} ((pred == c) & (y == c)).sum()
            union[c] += ((pred == c) | (y == c)).sum()"""
BEGUN = "hits = 0\n    seen = 0"
HITS = "hits {IS} (pred == y).sum().item()\n        seen += y.numel()"
RATIO = "return (inter / union.clamp(min=1)).mean().item()"


@pytest.mark.parametrize(
    ("begin", "body", "end", "told"),
    [
        (ZEROS, LOOP.replace("{IS}", "+="), RATIO, False),
        (ZEROS, LOOP.replace("{IS}", "="), RATIO, True),
        (ZEROS, LOOP.replace("{IS}", "=") + "\n            all_of = all_of + inter", RATIO, False),  # read
        (ZEROS, "inter = inter + (pred & y).sum()\n        union += (pred | y).sum()", RATIO, False),
        (BEGUN, HITS.replace("{IS}", "="), "return hits / seen", True),
        (BEGUN, HITS.replace("{IS}", "+="), "return hits / seen", False),
        (BEGUN.replace("hits", "last"), HITS.replace("hits {IS}", "last ="), "return last / seen", False),
        (BEGUN, HITS.replace("{IS}", "=") + "\n        parts += [hits]", "return sum(parts) / seen", False),
    ],
)  # fmt: skip
def test_one_of_two_sums(begin: str, body: str, end: str, told: bool) -> None:
    text = SCORES.replace("{BEGIN}", begin).replace("{BODY}", body).replace("{END}", end)
    assert (state("script-metric-miscounts", text) == "present") is told
