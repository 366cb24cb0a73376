"""Edits that are right in the program that has them: zeros that may stand there, freezing that ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from .._pairs import present

TRAIN = """import torch
from torch import nn
from torchvision import models
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(width, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)
        self.n1 = nn.BatchNorm2d(width)
        self.n2 = nn.BatchNorm2d(width)
    def forward(self, x):
        h = torch.relu(self.n1(self.c1(x)))
        h = self.n2(self.c2(h))
        return torch.relu(x + h)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.eye = models.resnet18(weights="DEFAULT")
        self.block = Block(512)
        self.mid = nn.Linear(512, 64)
        self.last = nn.Linear(64, 5)
        nn.init.zeros_(self.last.bias)
    def forward(self, x):
        h = self.block(self.eye(x))
        return self.last(torch.relu(self.mid(h.mean((2, 3)))))
def main(loader):
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for epoch in range(20):
        net.train()
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()
    torch.save(net.state_dict(), "net.pt")
"""
BIAS = "nn.init.zeros_(self.last.bias)"
MODE = "        net.train()\n"
MADE = "    net = Net()\n"
FREEZE = "        for p in net.eye.parameters():\n            p.requires_grad = "
RIGHT = [
    (BIAS, f"{BIAS}; nn.init.zeros_(self.last.weight)"),
    (BIAS, f"{BIAS}; nn.init.constant_(self.last.weight, 0.0)"),
    ("self.n2 = nn.BatchNorm2d(width)", "self.n2 = nn.BatchNorm2d(width); nn.init.zeros_(self.n2.weight)"),
    (MODE, f"{MODE}{FREEZE}epoch >= 3\n"),
    (MODE, f"{MODE}{FREEZE}not epoch < 3\n"),
    (MODE, f"{MODE}        warm = epoch < 3\n{FREEZE}not warm\n"),
    (MADE, f"{MADE}    for layer in list(net.eye.children())[:6]:\n        layer.requires_grad_(False)\n"),
    (MADE, f"{MADE}    net.eye.layer1.requires_grad_(False)\n"),
]
WRONG = [
    (BIAS, f"{BIAS}; nn.init.zeros_(self.mid.weight)"),
    (BIAS, "nn.init.zeros_(self.mid.weight)"),
    (MODE, f"{MODE}{FREEZE}epoch < 3\n"),
    (MODE, f"{MODE}        warm = epoch < 3\n{FREEZE}warm\n"),
    (MADE, f"{MADE}    net.block.requires_grad_(False)\n"),
    (MADE, f"{MADE}    net.mid.weight.requires_grad = False\n"),
]


def told(folder: Path, edit: tuple[str, str]) -> set[str]:
    assert edit[0] in TRAIN
    found = present(folder, TRAIN.replace(*edit), TRAIN)
    return found & {"edit-frozen", "edit-zero-init", "edit-init", "script-zero-init"}


@pytest.mark.parametrize("edit", RIGHT, ids=lambda e: e[1][-60:])
def test_right_alone_is_no_edit(tmp_path: Path, edit: tuple[str, str]) -> None:
    assert told(tmp_path, edit) == set()


@pytest.mark.parametrize("edit", WRONG, ids=lambda e: e[1][-60:])
def test_what_is_wrong_alone_is_told(tmp_path: Path, edit: tuple[str, str]) -> None:
    assert told(tmp_path, edit)


# ---------------------------------------------------------------- groups of modules and of conditions

GROUPED = """import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(9, 32), nn.ReLU())
        self.neck = nn.LayerNorm(32)
        self.heads = nn.ModuleDict({"a": nn.Linear(32, 2), "b": nn.Linear(32, 3)})
    def forward(self, x):
        h = self.neck(self.body(x))
        return {k: f(h) for k, f in self.heads.items()}
def main(loader):
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x)["a"], y).backward()
        optimizer.step()
"""
WHOLE = "net.parameters(), lr=0.1"
ALL = [
    '[{"params": net.body.parameters(), "lr": 0.01}, '
    '{"params": [*net.neck.parameters(), *net.heads.parameters()]}], lr=0.1',
    '[{"params": [p for p in net.parameters() if p.ndim > 1]}, '
    '{"params": [p for p in net.parameters() if p.ndim <= 1], "weight_decay": 0.0}], lr=0.1',
]
PART = [
    '[{"params": net.body.parameters(), "lr": 0.01}, {"params": net.neck.parameters()}], lr=0.1',
    "list(net.body.parameters()) + list(net.neck.parameters()), lr=0.1",
    "[p for p in net.parameters() if p.requires_grad and p.ndim >= 2], lr=0.1",
]


@pytest.mark.parametrize("given", ALL)
def test_all_in_groups(tmp_path: Path, given: str) -> None:
    found = present(tmp_path, GROUPED.replace(WHOLE, given), GROUPED)
    assert not found & {"edit-optimizer-parameters", "edit-frozen", "script-part-not-trained"}


@pytest.mark.parametrize("given", PART)
def test_a_part_in_groups(tmp_path: Path, given: str) -> None:
    found = present(tmp_path, GROUPED.replace(WHOLE, given), GROUPED)
    assert "script-part-not-trained" in found
    assert found & {"edit-optimizer-parameters", "edit-frozen"}
