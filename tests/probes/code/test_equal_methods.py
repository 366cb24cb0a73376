"""Other ways to one thing, alone and beside a benchmark: marks, decibels, groups, padding."""

from __future__ import annotations

from pathlib import Path

import pytest

from .._pairs import present
from .._scripts import state

PROGRAM = """
import torch
import torchaudio
from torch import nn
from torch.utils.data import DataLoader, Dataset

UNKNOWN = 255
mel = torchaudio.transforms.MelSpectrogram(16000)


class Clips(Dataset):
    def __init__(self, files, labels):
        self.files, self.labels = files, labels

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        x, rate = torchaudio.load(self.files[i])
        return torch.log(mel(x.mean(0)) + 1e-6), self.labels[i]


def make(sizes):
    pairs = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        w = torch.randn(a, b) * (2 / a) ** 0.5
        pairs.append((w.requires_grad_(), torch.zeros(b).requires_grad_()))
    return pairs


def forward(pairs, x):
    for i, (w, b) in enumerate(pairs):
        x = x @ w + b
        if i < len(pairs) - 1:
            x = torch.relu(x)
    return x


pairs = make([128, 64, 5])
flat = [p for pair in pairs for p in pair]
opt = torch.optim.Adam(flat, lr=1e-3, weight_decay=1e-4)
loss_of = nn.CrossEntropyLoss(ignore_index=UNKNOWN)
for epoch in range(20):
    for x, y in DataLoader(Clips(*read("train.csv")), 32, shuffle=True):
        loss = loss_of(forward(pairs, x.mean(-1)), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
"""
GROUPS = '[{"params": [w for w, _ in pairs]}, {"params": [b for _, b in pairs], "weight_decay": 0}]'


@pytest.mark.parametrize(
    ("old", "new", "silent"),
    [
        ("UNKNOWN = 255", "UNKNOWN = -1", "edit-loss-masking"),
        (
            "torch.log(mel(x.mean(0)) + 1e-6)",
            "AF.amplitude_to_DB(mel(x.mean(0)), 10.0, 1e-10, 0.0)",
            "edit-floor",
        ),
        ("Adam(flat, ", f"Adam({GROUPS}, ", "edit-optimizer-parameters"),
    ],
)
def test_another_way(tmp_path: Path, old: str, new: str, silent: str) -> None:
    assert PROGRAM.count(old) == 1
    assert silent not in present(tmp_path, PROGRAM.replace(old, new), PROGRAM)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("UNKNOWN = 255", "UNKNOWN = 0", "edit-loss-masking"),
        ("mel(x.mean(0)) + 1e-6", "mel(x.mean(0))", "edit-floor"),
        ("Adam(flat, ", "Adam([b for _, b in pairs], ", "edit-optimizer-parameters"),
        ("Adam(flat, ", 'Adam([{"params": [b for _, b in pairs]}], ', "edit-optimizer-parameters"),
    ],
)
def test_no_other_way(tmp_path: Path, old: str, new: str, told: str) -> None:
    assert told in present(tmp_path, PROGRAM.replace(old, new), PROGRAM)


PADS = """
import torch
from torch import nn
from torch.utils.data import Dataset

SOS, EOS, PAD = 0, 1, 2

class Lines(Dataset):
    def pad(self, ids):
        return torch.tensor(ids + [PAD] * (48 - len(ids)))
    def __getitem__(self, i):
        src, tgt = self.rows[i]
        target = {CALL}
        return torch.tensor(src), target

net = nn.Linear(4, 9)
loss_of = nn.CrossEntropyLoss(ignore_index=PAD)
for x, y in loader:
    loss_of(net(x), y).backward()
"""


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("self.pad(tgt)", False),  # a method of its own, which pads with what the loss leaves out
        ("nn.functional.pad(tgt, (0, 48 - len(tgt)))", True),
        ("nn.functional.pad(tgt, (0, 48 - len(tgt)), value=PAD)", False),
    ],
)
def test_padded_by_itself(call: str, found: bool) -> None:
    assert (state("script-label-padding-counts", PADS.replace("{CALL}", call)) == "present") is found
