"""Parts of one array side by side, of which one is scaled and another is not."""

from __future__ import annotations

import pytest

from .._scripts import state

HEAD = """
import torch
from torch.utils.data import DataLoader, TensorDataset
levels = load()
a, b = 700, 850
scaler = Scaler().fit(levels[:a])
{PARTS}
net = make()
opt = torch.optim.Adam(net.parameters())
for x, y in DataLoader(TensorDataset(*windows({TRAIN}))):
    loss = torch.nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(score(net, {VAL}))
"""
DICT = 'parts = {"train": scaler.transform(levels[:a]), "val": %s, "test": %s}'
NAMES = "train = scaler.transform(levels[:a])\nval = %s"


@pytest.mark.parametrize(
    ("parts", "present"),
    [
        (DICT % ("levels[a:b]", "levels[b:]"), True),
        (DICT % ("scaler.transform(levels[a:b])", "scaler.transform(levels[b:])"), False),
        ("parts = dict(train=normalize(levels[:a]), val=levels[a:])", True),
        ("parts = dict(train=augment(levels[:a]), val=levels[a:])", False),
        (DICT % ("levels[a:b]", "levels[b:]") + '\nparts["val"] = (parts["val"] - mean) / std', False),
        (DICT % ("levels[a:b]", "levels[b:]") + "\nlate = scaler.transform(parts['val'])", False),
    ],
)
def test_parts_of_a_dict(parts: str, present: bool) -> None:
    text = (
        HEAD.replace("{PARTS}", parts).replace("{TRAIN}", "parts['train']").replace("{VAL}", "parts['val']")
    )
    assert (state("script-splits-processed-differently", text) == "present") is present


@pytest.mark.parametrize(
    ("parts", "present"),
    [
        (NAMES % "levels[a:]", True),
        ("train, val = scaler.transform(levels[:a]), levels[a:]", True),
        (NAMES % "scaler.transform(levels[a:])", False),
        (NAMES % "levels[a:]\nready = (val - mean) / std", False),
    ],
)
def test_parts_by_names(parts: str, present: bool) -> None:
    text = HEAD.replace("{PARTS}", parts).replace("{TRAIN}", "train").replace("{VAL}", "val")
    assert (state("script-splits-processed-differently", text) == "present") is present
