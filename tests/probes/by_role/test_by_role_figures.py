# ruff: noqa: E501
"""Numbers and words in one place of either program: slips told, and the same in other words."""

from __future__ import annotations

import ast

import pytest

from traindoctor.probes.by_role.compare import told
from traindoctor.probes.scripts.syntax import Script

RIGHT = """
import re
import cv2
import numpy as np
import pandas as pd
import torch
from torch import nn
import torch.nn.functional as F
from sklearn.model_selection import GroupShuffleSplit, train_test_split
from torch.utils.data import DataLoader
table = pd.read_csv("scans.csv")
old = table[table["year"] < 2015]
new = table[table["year"] >= 2018]
rows, others = next(GroupShuffleSplit(test_size=0.2).split(table, groups=table["patient"]))
x_val, x_test = train_test_split(others, test_size=0.5)
test_loader = DataLoader(x_test.to_numpy(), batch_size=8)
val_loader = DataLoader(x_val.to_numpy(), batch_size=8)
def words(text):
    return re.findall(r"[a-z]+", text.lower())
def read(path):
    return cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB)
def cosine(step, warmup, total):
    if step < warmup:
        return step / warmup
    return max(0.0, 1 - step / total)
data = [(words(t), read(p)) for t, p in items]
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(3, 8, 3, padding=1)
        self.b = nn.Conv2d(8, 8, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.layers = nn.TransformerEncoder(block, 2)
        self.head = nn.Linear(8, 4)
    def forward(self, x, mask):
        x = self.pool(F.relu(self.b(F.relu(self.a(x)))))
        return self.head(self.layers(x, src_key_padding_mask=mask == 0))
def evaluate(net, loader):
    net.eval()
    with torch.no_grad():
        return sum((net(x, m).sigmoid() > 0.5).float().mean().item() for x, m, y in loader)
net = Net()
counts = np.bincount(labels)
weights = torch.tensor(len(labels) / (4 * counts))
head = list(net.head.parameters())
body = [p for n, p in net.named_parameters() if "head" not in n]
lr = 1e-4
opt = torch.optim.AdamW([{"params": body, "weight_decay": 0.0}, {"params": head, "lr": lr * 10, "weight_decay": 0.1}], lr=lr)
fall = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, mode="max", patience=2)
ema = torch.optim.swa_utils.AveragedModel(net)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: cosine(s, 400, 9000))
for epoch in range(9):
    net.train()
    for i, (x, m, y) in enumerate(train_loader):
        loss = F.cross_entropy(net(x, m), y, weight=weights, ignore_index=-100)
        (loss / 4).backward()
        if (i + 1) % 4 == 0:
            opt.step()
            sched.step()
            opt.zero_grad()
        ema.update_parameters(net)
    score = evaluate(ema, val_loader)
    sched_plateau = fall
    sched_plateau.step(score)
torch.save(ema.state_dict(), "ema.pt")
parts = {"train": paths[9:], "valid": paths[:9]}
print(evaluate(net, test_loader), torch.full((3,), -100))
"""


def script(text: str) -> Script:
    return Script("train.py", text, ast.parse(text))


def kinds(*pairs: tuple[str, str]) -> set[str]:
    """What is told of the edited program beside the right one."""
    text = RIGHT
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return {t.kind for t in told(script(text), script(RIGHT))}


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ('table["year"] < 2015', 'table["year"] < 2019', "split"),
        ('GroupShuffleSplit(test_size=0.2).split(table, groups=table["patient"])', "GroupShuffleSplit(test_size=0.2).split(table, groups=table.index)", "split"),
        ("sigmoid() > 0.5", "sigmoid() > 0.05", "metric"),
        ("    score = evaluate(ema, val_loader)", "    score = evaluate(ema, test_loader)", "evaluates-other-part"),
        ('"weight_decay": 0.0}', '"weight_decay": 0.1}', "regularisation-raised"),
        ('{"params": body, "weight_decay": 0.0}, ', "", "optimizer-parameters"),
        ("torch.save(ema.state_dict()", "torch.save(net.state_dict()", "average-left-out"),
        ('"train": paths[9:]', '"train": paths', "split"),
        ('mode="max"', 'mode="min"', "schedule-stepped"),
        ("DataLoader(x_test.to_numpy()", "DataLoader(x_val.to_numpy()", "evaluates-other-part"),
        ("text.lower()", "text", "tokeniser"),
        ("cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB)", "cv2.imread(path)", "channel-order"),
        ("cosine(s, 400, 9000)", "cosine(s, 4, 9000)", "warmup"),
        ("lr * 10,", "lr * 1000,", "rate-raised"),
        ("ignore_index=-100", "ignore_index=0", "loss-masking"),
        ("mask=mask == 0", "mask=mask == 1", "attention-mask"),
        ("self.b = nn.Conv2d(8, 8, 3, padding=1)", 'self.b = nn.Conv2d(8, 8, 3, padding="valid")', "padding"),
        ("len(labels) / (4 * counts)", "4 * counts / len(labels)", "loss-weight"),
    ],
)  # fmt: skip
def test_slips_are_told(old: str, new: str, kind: str) -> None:
    assert kind in kinds((old, new))


def test_weights_of_sixteen_bits_are_told() -> None:
    right = 'import lightning as L\nimport torch\ntrainer = L.Trainer(precision="bf16-mixed", max_epochs=9)\n'
    slip = right.replace("bf16-mixed", "bf16-true")
    assert {t.kind for t in told(script(slip), script(right))} == {"half-precision"}
    assert not told(script(right), script(slip))


def test_pools_left_out_are_told() -> None:
    gone = (("        self.pool = nn.MaxPool2d(2)\n", ""), ("self.pool(F.relu(self.b(F.relu(self.a(x)))))", "F.relu(self.b(F.relu(self.a(x))))"))  # fmt: skip
    assert "pooling" in kinds(*gone)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('table["year"] < 2015', 'table["year"] <= 2014.5'.replace("2014.5", "2015")),
        ('old = table[table["year"] < 2015]', 'old = table.query("year < 2015")'),
        ("sigmoid() > 0.5)", "sigmoid() >= 0.5)"),
        ("(net(x, m).sigmoid() > 0.5)", "(net(x, m) > 0)"),
        ("    score = evaluate(ema, val_loader)", "    score = evaluate(ema, loader=val_loader)"),
        ("test_loader = DataLoader(x_test.to_numpy(), batch_size=8)\n", "test_loader = make(others)\n"),
        ("torch.save(ema.state_dict()", "torch.save(ema.module.state_dict()"),
        ('{"train": paths[9:], "valid": paths[:9]}', '{"train": paths, "valid": others}'),
        ('"weight_decay": 0.0}', '"weight_decay": 0}'),
        ("text.lower()", "text.casefold()"),
        ("cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB)", "cv2.imread(path)[:, :, ::-1]"),
        ("cosine(s, 400, 9000)", "cosine(s, warmup=400, total=9000)"),
        ('"lr": lr * 10,', '"lr": 10 * lr,'),
        ("mask=mask == 0", "mask=mask != 1"),
        ("self.b = nn.Conv2d(8, 8, 3, padding=1)", 'self.b = nn.Conv2d(8, 8, 3, padding="same")'),
        ("len(labels) / (4 * counts)", "counts.sum() / (4 * counts)"),
        ("len(labels) / (4 * counts)", "1.0 / counts"),
        ("self.pool = nn.MaxPool2d(2)", "self.pool = nn.Conv2d(8, 8, 2, stride=2)"),
        (
            "        if (i + 1) % 4 == 0:\n            opt.step()\n            sched.step()\n            opt.zero_grad()\n",
            "        if (i + 1) % 4:\n            continue\n        opt.step()\n        sched.step()\n        opt.zero_grad()\n",
        ),
    ],
)  # fmt: skip
def test_the_same_in_other_words_is_not(old: str, new: str) -> None:
    assert not kinds((old, new))


def test_accumulation_that_goes_on_to_the_next_batch_is_divided() -> None:
    gate = (
        "        if (i + 1) % 4 == 0:\n            opt.step()\n            sched.step()\n            opt.zero_grad()\n",
        "        if (i + 1) % 4:\n            continue\n        opt.step()\n        sched.step()\n        opt.zero_grad()\n",
    )
    assert kinds(gate, ("(loss / 4).backward()", "loss.backward()")) == {"loss-divided"}
    assert kinds(("(loss / 4).backward()", "loss.backward()")) == {"loss-divided"}


def test_statistics_in_a_dict_and_of_one_reading_of_several() -> None:
    right = """
import numpy as np
from sklearn.model_selection import train_test_split
x = np.load("x.npy")
y = np.load("y.npy")
x_train, x_val, y_train, y_val = train_test_split(x, y, test_size=0.2)
scale = {"mean": x_train.mean(axis=0), "std": x_train.std(axis=0) + 1e-6}
"""
    slip = right.replace("x_train.mean", "x.mean").replace("x_train.std", "x.std")
    other = right.replace("scale =", "mean, std = x_train.mean(axis=0), x_train.std(axis=0)\nother =")
    theirs = script(right)
    assert {t.kind for t in told(script(slip), theirs)} == {"statistics-fitted"}
    assert not told(script(other), theirs)
