# ruff: noqa: E501
"""Families of equal rewrites of one right program, and the slips that look like them."""

from __future__ import annotations

from pathlib import Path

import pytest

from .._pairs import edits, present
from .._scripts import state

RIGHT = """
import copy
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset
KEEP = 0.99
class Counts(Dataset):
    def __init__(self, files):
        self.files = files
    def __len__(self):
        return len(self.files)
    def __getitem__(self, i):
        image, density = np.load(self.files[i])
        density = torch.from_numpy(density)[None]
        return torch.from_numpy(image), F.avg_pool2d(density[None], 8)[0] * 64
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU())
        self.head = nn.Linear(32, 4)
    def forward(self, x):
        h = self.body(x)
        return self.head(h.amax(dim=(2, 3)))
def score(model, loader):
    model.eval()
    total, seen = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            total += ((model(x) - y) ** 2).sum().item()
            seen += y.numel()
    return total / seen
def main(files, epochs=20):
    order = np.random.permutation(len(files))
    held = len(files) // 5
    valid_files = [files[i] for i in order[:held]]
    train_files = [files[i] for i in order[held:]]
    train_set = Counts(train_files)
    train_loader = DataLoader(train_set, batch_size=16, shuffle=True)
    valid_loader = DataLoader(Counts(valid_files), batch_size=16)
    model = Net()
    average = copy.deepcopy(model)
    for p in average.parameters():
        p.requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[8, 16], gamma=0.1)
    criterion = nn.SmoothL1Loss(beta=0.5)
    for epoch in range(epochs):
        model.train()
        for x, y in train_loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for a, p in zip(average.parameters(), model.parameters()):
                    a.mul_(KEEP).add_(p, alpha=1 - KEEP)
        scheduler.step()
        print(score(average, valid_loader))
"""

STEP = "a.mul_(KEEP).add_(p, alpha=1 - KEEP)"
SPLIT = """    valid_files = [files[i] for i in order[:held]]
    train_files = [files[i] for i in order[held:]]
"""
MEAN = (
    ("    total, seen = 0.0, 0\n", "    criterion = nn.MSELoss()\n    total, seen = 0.0, 0\n"),
    ("((model(x) - y) ** 2).sum().item()", "criterion(model(x), y).item() * y.numel()"),
)
BY_HAND = (
    ("    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[8, 16], gamma=0.1)\n", ""),
    (
        "        model.train()\n",
        "        model.train()\n        for group in optimizer.param_groups:\n"
        '            group["lr"] = 0.1 * 0.1 ** sum(epoch >= m for m in (8, 16))\n',
    ),
    ("        scheduler.step()\n", ""),
)


def edited(*pairs: tuple[str, str]) -> str:
    """The right program with replacements."""
    text = RIGHT
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def told(folder: Path, *pairs: tuple[str, str]) -> set[str]:
    """What is said of the edited program beside the right one, precision and parts of no kind aside."""
    return edits(folder, edited(*pairs), RIGHT)


@pytest.mark.parametrize(
    "pairs",
    [
        ((STEP, "a.copy_(KEEP * a + (1 - KEEP) * p)"),),
        ((STEP, "a.copy_((1 - KEEP) * p + a * KEEP)"),),
        ((STEP, "a.lerp_(p, 1 - KEEP)"),),
        ((STEP, "a.add_((1 - KEEP) * (p - a))"),),
        ((STEP, "a.sub_((1 - KEEP) * (a - p))"),),
        (("F.avg_pool2d(density[None], 8)[0] * 64", "F.avg_pool2d(density[None], 8, divisor_override=1)[0]"),),
        (("h.amax(dim=(2, 3))", "F.adaptive_max_pool2d(h, 1).flatten(1)"),),
        (("h.amax(dim=(2, 3))", "h.flatten(2).amax(-1)"),),
        (("h.amax(dim=(2, 3))", "h.amax((-2, -1))"),),
        ((SPLIT, "    files = np.array(files)[order]\n    valid_files, train_files = list(files[:held]), list(files[held:])\n"),),
        (("batch_size=16, shuffle=True)", "batch_size=16, sampler=torch.utils.data.RandomSampler(train_set))"),),
        (
            (
                "    average = copy.deepcopy(model)\n    for p in average.parameters():\n        p.requires_grad_(False)\n",
                "    average = copy.deepcopy(model).requires_grad_(False)\n",
            ),
        ),
        MEAN,
        BY_HAND,
    ],
    ids=range(14),
)  # fmt: skip
def test_equal_ways_are_no_edits(tmp_path: Path, pairs: tuple[tuple[str, str], ...]) -> None:
    assert not told(tmp_path, *pairs)


@pytest.mark.parametrize(
    ("pairs", "symptom"),
    [
        (((STEP, "a.copy_((1 - KEEP) * a + KEEP * p)"),), "edit-"),
        (((STEP, "a.add_(KEEP * (p - a))"),), "edit-"),
        ((("h.amax(dim=(2, 3))", "F.adaptive_avg_pool2d(h, 1).flatten(1)"),), "edit-pooling"),
        ((("h.amax(dim=(2, 3))", "h.amax((-3, -1))[:, :32]"),), "edit-"),
        ((("batch_size=16, shuffle=True)", "batch_size=16, sampler=torch.utils.data.SequentialSampler(train_set))"),), "edit-shuffling"),
        ((*MEAN, ("nn.SmoothL1Loss(beta=0.5)", "nn.SmoothL1Loss(beta=5.0)")), "edit-loss"),
        ((("        scheduler.step()\n", ""),), "edit-schedule-stepped"),
        (((SPLIT, "    files = np.array(files)[order]\n    valid_files, train_files = list(files[:held]), list(files)\n"),), "edit-split"),
    ],
    ids=range(8),
)  # fmt: skip
def test_slips_beside_them_are_told(tmp_path: Path, pairs: tuple[tuple[str, str], ...], symptom: str) -> None:
    assert any(s.startswith(symptom) for s in told(tmp_path, *pairs))


WEIGHED = """
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader
counts = np.bincount(labels)
weights = torch.tensor(len(labels) / (5 * counts), dtype=torch.float32)
model = nn.Linear(8, 5)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for x, y in DataLoader(data, batch_size=8, shuffle=True):
    loss = nn.functional.cross_entropy(model(x), y, weight=weights)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
KERAS = """
import numpy as np
from tensorflow import keras
counts = np.bincount(y)
weights = {i: len(y) / (5 * c) for i, c in enumerate(counts)}
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(5, activation="softmax")])
model.compile(optimizer=keras.optimizers.Adam(1e-3), loss="sparse_categorical_crossentropy")
model.fit(x, y, batch_size=8, epochs=9, class_weight=weights)
"""
CALL = "loss = nn.functional.cross_entropy(model(x), y, weight=weights)"


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        (CALL, False),
        ('losses = nn.functional.cross_entropy(model(x), y, reduction="none"); loss = (losses * weights[y]).mean()', False),
        ('loss = (nn.functional.cross_entropy(model(x), y, reduction="none").mul(weights[y])).mean()', False),
        ("loss = nn.functional.cross_entropy(model(x), y)", True),
    ],
)  # fmt: skip
def test_losses_weighed_by_hand_are_weighed(tmp_path: Path, loss: str, said: bool) -> None:
    mine = WEIGHED.replace(CALL, loss)
    if said:
        mine = mine.replace("weights = torch.tensor(len(labels) / (5 * counts), dtype=torch.float32)\n", "")
    assert ("edit-loss-weight" in edits(tmp_path, mine, KERAS)) is said


LOOKUP = """
import torch
from torch.utils.data import DataLoader
loaders = {name: DataLoader(part, 64, shuffle=name == "train", collate_fn=together) for name, part in parts.items()}
@torch.no_grad()
def predict(model, loader):
    model.eval()
    return torch.cat([model(batch["text"], batch["lengths"]) for batch in loader])
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(9):
    model.train()
    for batch in loaders["train"]:
        out = model(batch["text"], batch["lengths"])
        loss = criterion(out, batch["label"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(predict(model, loaders["valid"]))
"""


def test_a_loader_picked_by_its_name_is_no_lookup() -> None:
    assert state("script-splits-processed-differently", LOOKUP) != "present"
    slip = LOOKUP.replace(
        'model(batch["text"], batch["lengths"])\n        loss',
        'model(batch["text"] / 255, batch["lengths"])\n        loss',
    )
    assert slip != LOOKUP
    assert state("script-splits-processed-differently", slip) == "present"


OVERLAP = """
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader
def overlap(logits, mask):
    prob = logits.softmax(dim=1)
    onehot = F.one_hot(mask, logits.shape[1]).permute(0, 3, 1, 2).float()
    inter = (prob * onehot).sum(dim=(0, 2, 3))
    total = (prob + onehot).sum(dim=(0, 2, 3))
    return 1 - (2 * inter / total).mean()
net = nn.Conv2d(4, 3, 1)
ends = ("bias", "norm.weight")
groups = [
    {"params": [p for n, p in net.named_parameters() if not n.endswith(ends)], "weight_decay": 0.01},
    {"params": [p for n, p in net.named_parameters() if n.endswith(ends)], "weight_decay": 0.0},
]
weight = torch.tensor([0.3, 1.0, 1.7], device="cuda")
huber = nn.HuberLoss(delta=0.5)
optimizer = torch.optim.AdamW(groups, lr=1e-3)
for image, mask, far in DataLoader(tiles, batch_size=8, shuffle=True):
    with torch.cuda.amp.autocast():
        logits = net(image)
        loss = F.cross_entropy(logits, mask, weight=weight)
    loss = loss + overlap(logits, mask) + huber(logits.mean((1, 2, 3)), far)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
TOTAL = "(prob + onehot).sum(dim=(0, 2, 3))"
HUBER = "huber = nn.HuberLoss(delta=0.5)\n"
HUBER_BY_HAND = """def huber(a, b, delta=0.5):
    gap = (a - b).abs()
    return torch.where(gap < delta, 0.5 * gap**2, delta * (gap - 0.5 * delta)).mean()
"""
CROSS = 'cross = nn.CrossEntropyLoss(weight=torch.tensor([0.3, 1.0, 1.7], device="cuda"))\n'


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        (((TOTAL, "prob.sum(dim=(0, 2, 3)) + onehot.sum(dim=(0, 2, 3))"),), False),
        (((TOTAL, "prob.sum(dim=(0, 2, 3))"),), True),
        (((TOTAL, 'prob.sum(dim=(0, 2, 3)) + torch.einsum("bchw->c", onehot)'),), False),
        (((HUBER, HUBER_BY_HAND),), False),
        (((HUBER, HUBER_BY_HAND.replace("delta=0.5", "delta=5.0")),), True),
        (((HUBER, "huber = lambda a, b: 0.5 * F.smooth_l1_loss(a, b, beta=0.5)\n"),), False),
        ((("not n.endswith(ends)", "not any(n.endswith(e) for e in ends)"), (" n.endswith(ends)]", " any(n.endswith(e) for e in ends)]")), False),
        ((("F.cross_entropy(logits, mask, weight=weight)", "cross(logits, mask)"), ('weight = torch.tensor([0.3, 1.0, 1.7], device="cuda")\n', CROSS)), False),
        ((("F.cross_entropy(logits, mask, weight=weight)", "cross(logits, mask)"), ('weight = torch.tensor([0.3, 1.0, 1.7], device="cuda")\n', CROSS.replace("1.7", "7.1"))), True),
    ],
    ids=range(9),
)  # fmt: skip
def test_losses_and_groups_in_other_words(
    tmp_path: Path, pairs: tuple[tuple[str, str], ...], said: bool
) -> None:
    text = OVERLAP
    for old, new in pairs:
        assert text.count(old) in (1, 2), old
        text = text.replace(old, new, 1)
    found = {
        s for s in present(tmp_path, text, OVERLAP) if s.startswith("edit-") or s.endswith("code-differs")
    }
    assert bool(found) is said, found
