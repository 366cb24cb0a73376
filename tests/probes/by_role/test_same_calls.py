# ruff: noqa: E501
"""Calls that both programs make, logarithms and roots: slips told, and the same in other words silent."""

from __future__ import annotations

import ast

import pytest

from traindoctor.probes.by_role.compare import told
from traindoctor.probes.scripts.syntax import Script

RIGHT = """
import librosa
import numpy as np
import torch
from sklearn.model_selection import train_test_split
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torchvision import transforms as T
RATE = 16000
def spectrum(path):
    wave, _ = librosa.load(path, sr=RATE)
    mel = librosa.feature.melspectrogram(y=wave, sr=RATE, n_fft=1024)
    return librosa.power_to_db(mel)
crop = T.Compose([T.RandomResizedCrop(128, scale=(0.6, 1.0)), T.ToTensor()])
x = np.stack([spectrum(p) for p in paths])
train, valid = train_test_split(x, y, test_size=0.2, stratify=y, random_state=1)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3)
        nn.init.kaiming_normal_(self.conv.weight, mode="fan_out")
    def forward(self, x):
        return self.conv(x).mean((1, 2, 3))
def evaluate(net, loader):
    squares = []
    for x, y in loader:
        squares.append((net(x) - y).square())
    return torch.cat(squares).mean().sqrt().item()
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
plateau = ReduceLROnPlateau(opt, factor=0.3, patience=4, min_lr=1e-6)
loss_fn = nn.HuberLoss(delta=0.5)
for epoch in range(9):
    for x, y in loader:
        loss = loss_fn(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    plateau.step(evaluate(net, valid_loader))
"""


def _kinds(mine: str, theirs: str) -> set[str]:
    return {t.kind for t in told(*(Script("train.py", t, ast.parse(t)) for t in (mine, theirs)))}


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("RATE = 16000", "RATE = 8000", "preprocessing"),
        ("n_fft=1024", "n_fft=512", "preprocessing"),
        (", n_fft=1024", "", "preprocessing"),  # 2048 by default
        ("scale=(0.6, 1.0)", "scale=(0.06, 1.0)", "augmentation-strength"),
        ("128, scale=(0.6, 1.0)", "128", "augmentation-strength"),
        ("factor=0.3, patience=4, ", "factor=0.9, patience=4, ", "schedule-length"),
        (", min_lr=1e-6", ", min_lr=1e-3", "schedule-length"),
        ("HuberLoss(delta=0.5)", "HuberLoss(delta=50.0)", "loss-function"),
        ('mode="fan_out"', 'mode="fan_in"', "init"),
        (", stratify=y", "", "split"),
        ("return librosa.power_to_db(mel)", "return mel", "preprocessing"),
        (".mean().sqrt().item()", ".mean().item()", "metric"),
    ],
)
def test_a_slip_in_a_shared_call_is_told(old: str, new: str, kind: str) -> None:
    text = RIGHT.replace(old, new)
    assert text != RIGHT
    assert _kinds(text, RIGHT) == {kind}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("scale=(0.6, 1.0)", "scale=[0.6, 1]"),
        ("128, scale=(0.6, 1.0)", "128, (0.6, 1.0)"),
        ("scale=(0.6, 1.0)", "scale=args.scale"),
        ("RATE = 16000", "RATE = 4 * 4000"),
        ("factor=0.3, patience=4, ", '"min", 0.3, 4, '),
        ('ReduceLROnPlateau(opt, factor=0.3, patience=4, min_lr=1e-6)', "ReduceLROnPlateau(opt, **settings)"),
        (', mode="fan_out"', ', 0, "fan_out"'),
        ("nn.HuberLoss(delta=0.5)", "lambda a, b: torch.nn.functional.huber_loss(a, b, delta=0.5)"),
        (", stratify=y", ", stratify=labels"),
        ("train, valid = train_test_split(x, y, test_size=0.2, stratify=y, random_state=1)", "train, valid = next(StratifiedShuffleSplit(1).split(x, y))"),
        ("return librosa.power_to_db(mel)", "return 10 * np.log10(np.maximum(1e-10, mel))"),
        ("return librosa.power_to_db(mel)", "return 10 * np.log(np.maximum(1e-10, mel)) / 2.303"),
        ("wave, _ = librosa.load(path, sr=RATE)\n    mel = librosa.feature.melspectrogram(y=wave, sr=RATE, n_fft=1024)\n    return librosa.power_to_db(mel)", "return torch.tensor(table[path])"),
        (".mean().sqrt().item()", ".mean().item() ** 0.5"),
        ("torch.cat(squares).mean().sqrt().item()", "np.sqrt(np.mean(np.concatenate(squares)))"),
        ("torch.cat(squares).mean().sqrt().item()", "mean_squared_error(a, b, squared=False)"),
    ],
    ids=range(16),
)  # fmt: skip
def test_the_same_in_other_words_is_silent(old: str, new: str) -> None:
    text = RIGHT.replace(old, new)
    assert text != RIGHT
    assert _kinds(text, RIGHT) == set()


def test_what_the_benchmark_does_not_do_is_no_slip() -> None:
    for old, new in (
        (", stratify=y", ""),
        ("return librosa.power_to_db(mel)", "return mel"),
        (".sqrt()", ""),
    ):
        assert _kinds(RIGHT, RIGHT.replace(old, new)) == set()


def test_a_logarithm_of_a_loss_is_none_of_the_data() -> None:
    right = RIGHT.replace("return librosa.power_to_db(mel)", "return mel") + (
        "class LogLoss(nn.Module):\n    def forward(self, a, b):\n        return torch.log1p((a - b).abs()).mean()\n"
    )
    assert _kinds(RIGHT.replace("return librosa.power_to_db(mel)", "return mel"), right) == set()
