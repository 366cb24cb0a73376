# ruff: noqa: E501
"""What runs through a model, held against a benchmark's that is written otherwise: slips, and other words for the same."""

from __future__ import annotations

import ast

import pytest

from traindoctor.probes.by_role.compare import told
from traindoctor.probes.scripts.syntax import Script

RIGHT = """
import torch
import torch.nn as nn
import torch.nn.functional as F
class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
    def forward(self, x):
        h = self.norm(x)
        h = F.gelu(self.up(h))
        h = self.down(h)
        return x + h
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(8, 64, batch_first=True)
        self.blocks = nn.ModuleList([Block(64) for _ in range(3)])
        self.out = nn.Linear(64, 32)
    def forward(self, x):
        _, last = self.gru(x)
        x = last[-1]
        for block in self.blocks:
            x = block(x)
        return F.normalize(self.out(x), dim=1)
def main(data, args):
    loader = torch.utils.data.DataLoader(data, batch_size=32, shuffle=True)
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for epoch in range(20):
        for a, b in loader:
            one, two = net(a), net(b)
            loss = F.mse_loss(one, two)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    torch.save(net.state_dict(), "net.pt")
"""
PORT = """
import torch
from torch import nn
from torch.utils.data import DataLoader
class Layer(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.branch = nn.Sequential(nn.LayerNorm(size), nn.Linear(size, 2 * size), nn.GELU(), nn.Linear(2 * size, size))
    def forward(self, inputs):
        return inputs + self.branch(inputs)
class Encoder(nn.Module):
    def __init__(self, layers=3, size=64):
        super().__init__()
        self.memory = nn.GRU(8, size, batch_first=True)
        self.layers = nn.Sequential(*[Layer(size) for _ in range(layers)])
        self.project = nn.Linear(size, 32)
    def forward(self, series):
        states, last = self.memory(series)
        vector = self.project(self.layers(last[-1]))
        return vector / vector.norm(dim=-1, keepdim=True)
def batches(data, mixed=False):
    return DataLoader(data, batch_size=32, shuffle=mixed)
def fit(net, train, epochs, keep):
    criterion = nn.MSELoss()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    for _ in range(epochs):
        for pair in train:
            first, second = map(net, pair)
            loss = criterion(first, second)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        torch.save(net.state_dict(), keep)
def main(train_set, val_set):
    net = Encoder()
    fit(net, batches(train_set, mixed=True), 20, "encoder.pt")
    held = batches(val_set)
    net.load_state_dict(torch.load("encoder.pt"))
"""


def kinds(mine: str, theirs: str = RIGHT) -> set[str]:
    sides = [Script("train.py", t, ast.parse(t)) for t in (mine, theirs)]
    return {t.kind for t in told(*sides)}


def edited(old: str, new: str, text: str = PORT) -> str:
    assert old in text
    return text.replace(old, new)


def test_one_recipe_in_two_ways_differs_in_nothing() -> None:
    assert not kinds(PORT)
    assert not kinds(RIGHT, PORT)
    assert not kinds(PORT, PORT)


SLIPS = [
    ("inputs + self.branch(inputs)", "self.branch(inputs)", "skip"),
    ("nn.GELU(), ", "", "activation"),
    ("vector / vector.norm(dim=-1, keepdim=True)", "vector", "scores-scale"),
    ("vector.norm(dim=-1, keepdim=True)", "vector.norm(dim=0, keepdim=True)", "axis"),
    ("criterion(first, second)", "criterion(first, second.detach())", "gradient-cut"),
    ("size, batch_first=True", "size", "batch-first"),
    ("train_set, mixed=True", "train_set", "shuffling"),
]


@pytest.mark.parametrize(("old", "new", "kind"), SLIPS)
def test_a_slip_is_told(old: str, new: str, kind: str) -> None:
    assert kinds(edited(old, new)) == {kind}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return inputs + self.branch(inputs)", "return torch.add(inputs, self.branch(inputs))"),
        ("return inputs + self.branch(inputs)", "inputs += self.branch(inputs)\n        return inputs"),
        ("nn.GELU(), ", "nn.ReLU(), "),  # another one: told elsewhere
        ("nn.GELU(), ", "ACTIVATIONS[name](), "),
        (
            "vector / vector.norm(dim=-1, keepdim=True)",
            "vector * (vector ** 2).sum(-1, keepdim=True).rsqrt()",
        ),
        ("vector / vector.norm(dim=-1, keepdim=True)", "nn.functional.normalize(vector, dim=-1)"),
        ("criterion(first, second)", "criterion(first, target.detach())"),  # of another network
        ("size, batch_first=True", "size, **options"),
        ("self.memory(series)", "self.memory(series.transpose(1, 2))"),
        ("train_set, mixed=True", "train_set, True"),
        ("train_set, mixed=True", "*train_set"),
    ],
)
def test_other_words_for_the_same(old: str, new: str) -> None:
    assert not kinds(edited(old, new)) & {k for *_, k in SLIPS}


def test_series_with_time_first_need_a_layer_with_time_first() -> None:
    turned = edited("size, batch_first=True", "size").replace(
        "self.memory(series)", "self.memory(series.transpose(0, 1))"
    )
    assert "batch-first" not in kinds(turned)


def test_an_unused_sum_in_the_benchmark_asks_for_nothing() -> None:
    without = edited("return x + h", "return h", RIGHT)
    assert not kinds(edited("inputs + self.branch(inputs)", "self.branch(inputs)"), without)


def with_base(made: str, text: str, name: str) -> str:
    return edited(f"    net = {name}()\n", f"    net = {name}()\n    net.base = models.{made}\n", text)


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        ("resnet18()", True),
        ("resnet18(weights=None)", True),
        ('resnet18(weights="DEFAULT")', False),
        ("resnet18(pretrained=True)", False),
        ("resnet18(*options)", False),
        ("resnet34()", False),  # another network: told elsewhere
        ('resnet18()\n    net.base.load_state_dict(torch.load("eyes.pt"))', False),
    ],
)
def test_weights_to_start_from(made: str, wanted: bool) -> None:
    right = with_base('resnet18(weights="IMAGENET1K_V1")', RIGHT, "Net")
    assert ("pretrained" in kinds(with_base(made, PORT, "Encoder"), right)) == wanted


ACCUMULATED = """
import math
import torch
from transformers import get_linear_schedule_with_warmup
EVERY = 4
def main(model, loader):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    updates = 5 * math.ceil(len(loader) / EVERY)
    scheduler = get_linear_schedule_with_warmup(optimizer, math.ceil(0.1 * updates), updates)
    for i, batch in enumerate(loader, 1):
        loss = model(**batch).loss / EVERY
        loss.backward()
        if i % EVERY == 0:
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
"""
TRAINER = """
from transformers import Trainer, TrainingArguments
def main(model, data):
    args = TrainingArguments("out", learning_rate=1e-3, gradient_accumulation_steps=4, warmup_ratio=0.1, num_train_epochs=5)
    Trainer(model, args, train_dataset=data).train()
"""


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("", "", set()),
        (".loss / EVERY", ".loss", {"loss-divided"}),
        (".loss / EVERY", ".loss\n        loss /= EVERY", set()),
        (".loss / EVERY", ".loss * (1 / EVERY)", set()),
        ("math.ceil(0.1 * updates), updates", "0, updates", {"warmup"}),
        ("math.ceil(0.1 * updates), updates", "100, updates", set()),
    ],
)
@pytest.mark.parametrize("theirs", [TRAINER, ACCUMULATED])
def test_batches_that_are_added_up(old: str, new: str, wanted: set[str], theirs: str) -> None:
    if theirs is ACCUMULATED:
        theirs = theirs.replace("math.ceil(0.1 * updates)", "50")
    assert kinds(edited(old, new, ACCUMULATED), theirs) & {"loss-divided", "warmup"} == wanted


def test_a_sum_by_other_names_and_sums_over_batches() -> None:
    right = edited("loss = F.mse_loss(one, two)", "loss = F.mse_loss(one, two) + F.mse_loss(two, one)", RIGHT)
    named = (
        "near, far = F.mse_loss(one, two), F.mse_loss(two, one)\n            loss = 0.5 * near + 0.5 * far"
    )
    assert "loss-function" in kinds(RIGHT, right)
    assert "loss-function" not in kinds(edited("loss = F.mse_loss(one, two)", named, RIGHT), right)
    kept = RIGHT + "    return sum(F.mse_loss(net(a), net(b)).item() for a, b in loader)\n"
    assert "loss-function" not in kinds(RIGHT, kept)
