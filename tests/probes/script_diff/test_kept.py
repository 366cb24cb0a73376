# ruff: noqa: E501
"""What a line stood for, found again by its role in the whole program; and slips that look like it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from traindoctor.probes.by_role.groups import covers_all
from traindoctor.probes.by_role.side import Side
from traindoctor.probes.scripts.syntax import Script

from .._pairs import edits, present

RIGHT = """
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader
RATE, DECAY, STEPS = 1e-3, 0.05, 2
def block(a, b):
    return nn.Sequential(nn.Conv1d(a, b, 3, padding=1), nn.BatchNorm1d(b), nn.ReLU())
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = block(4, 32)
        self.two = block(32, 32)
        self.head = nn.Linear(32, 1)
        nn.init.normal_(self.head.weight, std=0.02)
    def forward(self, x):
        h = F.relu(self.two(self.one(x)).mean(2))
        return self.head(h)
class Trainer:
    def __init__(self, train_set, val_set, epochs=20):
        self.train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
        self.val_loader = DataLoader(val_set, batch_size=32)
        self.model = Net()
        self.criterion = nn.BCEWithLogitsLoss()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=RATE, weight_decay=DECAY)
        self.epochs = epochs
    def train(self):
        self.model.train()
        for i, (x, y) in enumerate(self.train_loader):
            loss = self.criterion(self.model(x).view(-1), y) / STEPS
            loss.backward()
            if (i + 1) % STEPS == 0:
                self.optimizer.step()
                self.optimizer.zero_grad()
    @torch.no_grad()
    def validate(self):
        self.model.eval()
        hits, seen = 0, 0
        for x, y in self.val_loader:
            scores = self.model(x).view(-1)
            hits += ((scores > 0) == (y > 0.5)).sum().item()
            seen += len(y)
        return hits / seen
    def fit(self):
        best = 0.0
        for epoch in range(self.epochs):
            for group in self.optimizer.param_groups:
                group["lr"] = RATE * (1 - epoch / self.epochs)
            self.train()
            score = self.validate()
            if score > best:
                best = score
                torch.save({"model": self.model.state_dict(), "opt": self.optimizer.state_dict()}, "best.pt")
"""

BLOCK = """def block(a, b):
    return nn.Sequential(nn.Conv1d(a, b, 3, padding=1), nn.BatchNorm1d(b), nn.ReLU())
"""
CLASS = """class Block(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.conv = nn.Conv1d(a, b, 3, padding=1)
        self.bn = nn.BatchNorm1d(b)
    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))
"""
MADE = "torch.optim.AdamW(self.model.parameters(), lr=RATE, weight_decay=DECAY)"
GROUPS = """torch.optim.AdamW([
            {"params": [p for p in self.model.parameters() if p.ndim > 1], "weight_decay": DECAY},
            {"params": [p for p in self.model.parameters() if p.ndim <= 1], "weight_decay": 0.0},
        ], lr=RATE)"""
STEP = """            if (i + 1) % STEPS == 0:
                self.optimizer.step()
                self.optimizer.zero_grad()
"""
BY_HAND = """            for group in self.optimizer.param_groups:
                group["lr"] = RATE * (1 - epoch / self.epochs)
"""
LOADERS = (
    ("batch_size=32, shuffle=True)", "batch_size=32, shuffle=True, collate_fn=together)"),
    ("DataLoader(val_set, batch_size=32)", "DataLoader(val_set, batch_size=32, collate_fn=together)"),
    (
        "class Trainer:",
        "def together(rows):\n    x, y = zip(*rows)\n    return torch.stack(x), torch.stack(y)\nclass Trainer:",
    ),
)
SCHEDULE = (
    (BY_HAND, ""),
    (
        "        self.epochs = epochs\n",
        "        self.epochs = epochs\n        self.scheduler = torch.optim.lr_scheduler.PolynomialLR(self.optimizer, epochs)\n",
    ),
    ("            self.train()\n", "            self.train()\n            self.scheduler.step()\n"),
)
CLASSES = ((BLOCK, CLASS), ("block(4, 32)", "Block(4, 32)"), ("block(32, 32)", "Block(32, 32)"))


def told(folder: Path, *pairs: tuple[str, str]) -> set[str]:
    """What is said of the edited program beside the right one, in kinds of edits."""
    text = RIGHT
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return edits(folder, text, RIGHT)


@pytest.mark.parametrize(
    "pairs",
    [
        ((MADE, GROUPS),),
        CLASSES,
        SCHEDULE,
        LOADERS,
        (("F.relu(self.two", "F.gelu(self.two"),),
        (("nn.init.normal_(self.head.weight, std=0.02)", "self.head.weight.data.normal_(0, 0.02)"),),
        (
            ("return self.head(h)", "return self.head(h).squeeze(-1)"),
            ("self.criterion(self.model(x).view(-1), y)", "self.criterion(self.model(x), y)"),
            ("scores = self.model(x).view(-1)", "scores = self.model(x)"),
        ),
        ((STEP, "            if i % STEPS != STEPS - 1:\n                continue\n            self.optimizer.step()\n            self.optimizer.zero_grad()\n"),),
        (
            ("def validate(self):\n        self.model.eval()", "def validate(self, model):\n        model.eval()"),
            ("scores = self.model(x).view(-1)", "scores = model(x).view(-1)"),
            ("self.validate()", "self.validate(self.model)"),
        ),
        (('"opt": self.optimizer.state_dict()}', '"opt": self.optimizer.state_dict(), "scheduler": epoch}'),),
    ],
    ids=["groups", "classes", "schedule", "loaders", "activation", "start", "shape", "guard", "handed", "saved"],
)  # fmt: skip
def test_kept(tmp_path: Path, pairs: tuple[tuple[str, str], ...]) -> None:
    assert not told(tmp_path, *pairs)


@pytest.mark.parametrize(
    ("pairs", "symptom"),
    [
        (((MADE, GROUPS.replace("p.ndim <= 1", "p.ndim > 1")),), "edit-optimizer-parameters"),
        (((MADE, MADE.replace("self.model.", "self.model.head.")),), "edit-optimizer-parameters"),
        (((", nn.BatchNorm1d(b)", ""),), "edit-norm-layer"),
        ((("F.relu(self.two", "torch.sigmoid(self.two"),), "edit-activation"),
        ((("hits / seen", "hits / len(self.val_loader)"),), "edit-metric"),
    ],
)
def test_slips_are_still_told(tmp_path: Path, pairs: tuple[tuple[str, str], ...], symptom: str) -> None:
    assert symptom in told(tmp_path, *pairs)


MODEL = "import torch\nmodel = Net()\n{}"


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ("a = [p for p in model.parameters() if p.dim() >= 2]\nb = [p for p in model.parameters() if p.dim() < 2]", True),
        ("a = [p for n, p in model.named_parameters() if n.endswith('bias')]\nb = [w for n, w in model.named_parameters() if not n.endswith('bias')]", True),
        ("thin = lambda p: p.ndim < 2\na = [p for p in model.parameters() if not thin(p)]\nb = list(filter(thin, model.parameters()))", True),
        ("a = [p for p in model.parameters() if 'a' not in p.name and 'b' not in p.name]\nb = [p for p in model.parameters() if 'a' in p.name or 'b' in p.name]", True),
        ("a = [p for p in model.parameters() if len(p.shape) > 1]\nb = [p for p in model.parameters() if len(p.shape) == 1]", True),
        ("a = [p for p in model.parameters() if p.ndim > 1]\nb = [p for p in model.parameters() if p.ndim > 1]", False),
        ("a = [p for p in model.parameters() if p.ndim > 2]\nb = [p for p in model.parameters() if p.ndim <= 1]", False),
        ("a = [p for n, p in model.named_parameters() if 'a' in n]\nb = [p for n, p in model.named_parameters() if 'b' in n]", False),
    ],
)  # fmt: skip
def test_groups_between_them(groups: str, expected: bool) -> None:
    text = MODEL.format(f"{groups}\nopt = torch.optim.AdamW([dict(params=a), dict(params=b)], lr=0.1)\n")

    assert covers_all(Side(Script("train.py", text, ast.parse(text)))) is expected


@pytest.mark.parametrize(
    ("mine", "told"),
    [
        ("optimizer = tf.keras.optimizers.Adam(1e-3, global_clipnorm=5.0)", False),
        ("optimizer = tf.keras.optimizers.Adam(1e-3, global_clipnorm=50.0)", True),
        ("optimizer = tf.keras.optimizers.Adam(1e-3)", True),
    ],
)
def test_clipped_by_the_optimizer(tmp_path: Path, mine: str, told: bool) -> None:
    right = """
import tensorflow as tf
def main(model, dataset, epochs=9):
    optimizer = tf.keras.optimizers.Adam(1e-3)
    for epoch in range(epochs):
        for x, y in dataset:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
            gradients = tape.gradient(loss, model.trainable_variables)
            gradients, _ = tf.clip_by_global_norm(gradients, 5.0)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""
    text = right.replace("            gradients, _ = tf.clip_by_global_norm(gradients, 5.0)\n", "")
    text = text.replace("optimizer = tf.keras.optimizers.Adam(1e-3)", mine)

    assert any("clipping" in s for s in present(tmp_path, text, right)) is told
