"""Validation data that nothing reads while the test data choose the model, and decoders that see."""

from __future__ import annotations

import pytest

from .._scripts import state

SEES = "script-training-sees-evaluation"

LOOP = """
import torch
from torch import nn
net = nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters())
train_set, valid_set, test_set = read("train"), read("valid"), read("test")
def score(data):
    net.eval()
    with torch.no_grad():
        return sum(((net(x) - y) ** 2).sum().item() for x, y in data) / len(data)
best = 1e9
for epoch in range(9):
    net.train()
    for x, y in torch.utils.data.DataLoader(train_set):
        opt.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        opt.step()
    now = score({watched})
    {also}
    if now < best:
        best = now
        torch.save(net.state_dict(), "best.pt")
net.load_state_dict(torch.load("best.pt"))
print(score(test_set))
"""


def test_the_test_set_chooses() -> None:
    assert state(SEES, LOOP.format(watched="test_set", also="pass")) == "present"


@pytest.mark.parametrize(
    ("watched", "also"),
    [
        ("valid_set", "pass"),
        ("valid_set", "print(score(test_set))"),
        ("valid_set + test_set", "pass"),
    ],
)
def test_the_validation_set_chooses(watched: str, also: str) -> None:
    assert state(SEES, LOOP.format(watched=watched, also=also)) != "present"


def test_no_validation_set_at_all() -> None:
    """Nothing was set aside: the program has two parts, and says nothing of a third."""
    script = LOOP.format(watched="test_set", also="pass").replace(
        "train_set, valid_set, test_set", "train_set, test_set"
    )
    assert state(SEES, script.replace(', read("valid")', "")) != "present"


MODULE = """
import lightning as L
from torch.utils.data import DataLoader
class Data(L.LightningDataModule):
    def setup(self, stage=None):
        train, val, test = read_parts()
        self.train_set, self.val_set, self.test_set = Photos(train), Photos(val), Photos(test)
    def train_dataloader(self):
        return DataLoader(self.train_set, shuffle=True)
    def val_dataloader(self):
        return DataLoader(self.{watched})
    def test_dataloader(self):
        return DataLoader(self.test_set)
"""


def test_a_module_that_validates_on_the_test_set() -> None:
    assert state(SEES, MODULE.format(watched="test_set")) == "present"
    assert state(SEES, MODULE.format(watched="val_set")) != "present"


SPELLER = """
import torch
from torch import nn
class Speller(nn.Module):
    def __init__(self):
        super().__init__()
        self.src, self.dst = nn.Embedding(40, 64), nn.Embedding(40, 64)
        self.body = nn.Transformer(64, 4, batch_first=True)
        self.out = nn.Linear(64, 40)
    def forward(self, src, given):
        n = given.shape[1]
        ahead = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal={diagonal})
        return self.out(self.body(self.src(src), self.dst(given){mask}))
def letter_loss(net, src, dst):
    logits = net(src, dst[:, {given}])
    return nn.functional.cross_entropy(logits.flatten(0, 1), dst[:, 1:].flatten())
net = Speller()
opt = torch.optim.Adam(net.parameters())
for src, dst in loader:
    opt.zero_grad()
    letter_loss(net, src, dst).backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("diagonal", "mask", "given"),
    [("1", "", ":-1"), ("2", ", tgt_mask=ahead", ":-1"), ("1", ", tgt_mask=ahead", "1:")],
)
def test_a_decoder_that_sees_its_target(diagonal: str, mask: str, given: str) -> None:
    assert state(SEES, SPELLER.format(diagonal=diagonal, mask=mask, given=given)) == "present"


@pytest.mark.parametrize(
    "mask", [", tgt_mask=ahead", ", tgt_is_causal=True, tgt_mask=ahead", ", None, ahead"]
)
def test_a_decoder_that_is_masked(mask: str) -> None:
    assert state(SEES, SPELLER.format(diagonal="1", mask=mask, given=":-1")) != "present"


def test_a_test_part_that_is_not_read() -> None:
    script = """
import torch
from torch import nn
import numpy as np
table = np.load("rows.npy")
train, val, test = table[:700], table[700:850], table[850:]
net = nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters())
best = 1e9
for epoch in range(9):
    opt.zero_grad()
    nn.functional.mse_loss(net(train), train[:, :1]).backward()
    opt.step()
    with torch.no_grad():
        now = nn.functional.mse_loss(net({watched}), {watched}[:, :1])
    if now < best:
        best = now
print(nn.functional.mse_loss(net({scored}), {scored}[:, :1]))
"""
    assert state(SEES, script.format(watched="val", scored="val")) != "present"
    assert state(SEES, script.format(watched="test", scored="test")) == "present"
    assert state(SEES, script.format(watched="val", scored="test")) != "present"
