"""Programs with a second network (a teacher, an average), with groups of parameters, with own evaluation."""

from __future__ import annotations

import pytest

from .._scripts import state

DISTIL = """
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
class Pupil(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.drop, self.fc = nn.Linear(8, 8), nn.Dropout(0.1), nn.Linear(8, 3)
    def forward(self, x):
        return self.fc(self.drop(self.body(x)))
def hits(model, loader):
    model.eval()
    right = n = 0
    with torch.no_grad():
        for x, y in loader:
            right += (model(x).argmax(1) == y).sum().item()
            n += len(y)
    return right / n
def main():
    teacher = torch.load("teacher.pt")
    teacher.eval()
    for p in teacher.parameters():
        p.requires_grad_(False)
    student = Pupil()
    average = copy.deepcopy(student)
    decayed, plain = [], []
    for name, p in student.named_parameters():
        (plain if p.ndim == 1 else decayed).append(p)
    optimizer = torch.optim.SGD(
        [{"params": decayed, "weight_decay": 1e-4}, {"params": plain, "weight_decay": 0.0}], lr=0.1
    )
    for epoch in range(9):
        student.train()
        for x, y in train_loader:
            with torch.no_grad():
                goal = teacher(x)
            guess = student(x)
            loss = F.cross_entropy(guess, y) + F.mse_loss(guess, goal)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(hits(average, val_loader))
main()
"""
GRIDS = """
import torch
import torch.nn as nn
class Grid(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3)
        self.body = nn.Conv2d(8, 8, 3)
        self.boxes = nn.Conv2d(8, 4, 1)
        self.kinds = nn.Conv2d(8, 3, 1)
    def forward(self, x):
        f = self.body(self.stem(x))
        return self.boxes(f), self.kinds(f)
model = Grid()
back = list(model.stem.parameters()) + list(model.body.parameters())
heads = list(model.boxes.parameters()) + list(model.kinds.parameters())
optimizer = torch.optim.SGD([{"params": back, "lr": 0.1}, {"params": heads, "lr": 0.2}], lr=0.1)
for x, y in train_loader:
    out = model(x)
    out = [o.float() for o in out]
    loss = criterion(out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
QUIET = """
import torch
import torch.nn as nn
class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.drop, self.out = nn.GRUCell(8, 8), nn.Dropout(0.2), nn.Linear(8, 9)
    def forward(self, x, y):
        return self.out(self.drop(self.cell(x)))
    @torch.no_grad()
    def write(self, x):
        return self.out(self.drop(self.cell(x))).argmax(-1)
def exact(model, loader):
    model.eval()
    right = 0
    for x, y in loader:
        right += (model.write(x) == y).sum().item()
    return right
model = Writer()
optimizer = torch.optim.Adam(model.parameters())
for epoch in range(9):
    model.train()
    for x, y in train_loader:
        loss = nn.functional.cross_entropy(model(x, y), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(exact(model, val_loader))
"""
RUN = "            guess = student(x)"
CALM = "            with torch.no_grad():\n                goal"
BUILT = "    optimizer = torch.optim.SGD(\n        ["
FAULTS = [
    ("script-gradient-path-cut", DISTIL, RUN, "    " + RUN),
    ("script-part-not-trained", DISTIL, ', {"params": plain, "weight_decay": 0.0}', ""),
    ("script-mode-wrong", DISTIL, "    model.eval()\n", ""),
    ("script-optimizer-gets-part", GRIDS, " + list(model.kinds.parameters())", ""),
    ("script-optimizer-gets-part", GRIDS, "list(model.stem.parameters()) + ", ""),
    ("script-gradient-path-cut", GRIDS, "o.float() for", "o.detach().float() for"),
    ("script-mode-wrong", QUIET, "    model.eval()\n", ""),
]
SOUND = [
    (DISTIL, "", ""),
    (DISTIL, CALM, CALM.replace("no_grad", "inference_mode")),
    (DISTIL, "(plain if p.ndim == 1 else decayed).append(p)", "(decayed if p.ndim > 1 else plain).append(p)"),
    (DISTIL, BUILT, "    groups = [decayed, plain]\n" + BUILT),
    (GRIDS, "", ""),
    (GRIDS, "model.stem.parameters()) + list(model.body", "model.body.parameters()) + list(model.stem"),
    (QUIET, "", ""),
]
TILES = """
import torch
from tiles import Tiles
ids = sorted(read("ids.txt"))
train_set = Tiles("root", ids[:90], 256, train=True)
val_set = Tiles("root", {held}, 256, train=True)
train_loader = torch.utils.data.DataLoader(train_set, 16, shuffle=True)
val_loader = torch.utils.data.DataLoader(val_set, 16)
"""


@pytest.mark.parametrize(("held", "leaks"), [("ids[90:]", False), ("val_ids", False), ("ids[:90]", True)])
def test_a_switch_of_augmentation_picks_no_part(held: str, leaks: bool) -> None:
    found = state("script-training-sees-evaluation", TILES.format(held=held))
    assert (found == "present") is leaks


SYMPTOMS = (
    "script-gradient-path-cut",
    "script-part-not-trained",
    "script-mode-wrong",
    "script-optimizer-gets-part",
)


@pytest.mark.parametrize(("symptom", "text", "old", "new"), FAULTS)
def test_faults_are_found(symptom: str, text: str, old: str, new: str) -> None:
    assert text.count(old) == 1
    assert state(symptom, text.replace(old, new)) == "present"


@pytest.mark.parametrize(("text", "old", "new"), SOUND)
def test_right_programs_are_left_alone(text: str, old: str, new: str) -> None:
    assert not old or text.count(old) == 1
    for symptom in SYMPTOMS:
        assert state(symptom, text.replace(old, new) if old else text) != "present", symptom


def test_nothing_to_judge() -> None:
    assert [state(s, "import torch\nprint(torch.ones(3))\n") for s in SYMPTOMS] == ["unknown"] * 4
