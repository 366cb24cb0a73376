"""Shares that are counted in loops: what is counted above has to count below as well."""

from __future__ import annotations

import pytest

from tests.probes._scripts import state

LOOP = """
import torch

@torch.no_grad()
def validate(net, loader):
    net.eval()
    above = below = 0
    for x, y, seen in loader:
        out = net(x)
        p = out.argmax(1)
        {body}
    return above / max(below, 1)

for x, y, seen in train_loader:
    loss = torch.nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(validate(net, held_loader))
"""


@pytest.mark.parametrize(
    "body",
    [
        "above += (p == y).sum().item()\n        below += (seen > 0).sum().item()",
        "close = (out - y).abs() < 3\n        above += close.sum()\n        below += (seen > 0).sum()",
        "above += ((p == 1) | (y == 1)).sum().item()\n        below += (y == 1).sum().item()",
        "above += (p == y).sum().item()\n        below += (y != 0).sum().item()",
        "above += int((p == 1).sum())\n        below += int((y == 1).sum())",
    ],
)
def test_more_above_than_below(body: str) -> None:
    assert state("script-metric-miscounts", LOOP.format(body=body)) == "present" or (
        state("script-metric-wrong", LOOP.format(body=body)) == "present"
    )


@pytest.mark.parametrize(
    "body",
    [
        "above += (p == y).sum().item()\n        below += len(y)",
        "above += ((p == 1) & (y == 1)).sum().item()\n        below += (y == 1).sum().item()",
        "above += ((p == y) & (y != 0)).sum().item()\n        below += (y != 0).sum().item()",
        "k = seen > 0\n        p, y = p[k], y[k]\n        above += (p == y).sum()\n        below += k.sum()",
        "above += (p == y).sum().item()\n        below += (y != -100).sum().item()",
        "above += (y == 0).sum().item()\n        below += (y == 1).sum().item()",
        "good = (p == y) & (seen > 0)\n        above += good.sum()\n        below += (seen > 0).sum()",
    ],
)
def test_no_more_above_than_below(body: str) -> None:
    assert state("script-metric-miscounts", LOOP.format(body=body)) != "present"
    assert state("script-metric-wrong", LOOP.format(body=body)) != "present"
