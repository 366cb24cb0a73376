"""One thing in two spellings is no edit; the faults beside them are."""

from __future__ import annotations

from pathlib import Path

import pytest

from .._pairs import present

BELLS = """
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
def collate(rows, tok):
    ids = tok(rows)["input_ids"]
    labels = ids.clone()
    chosen = torch.rand(ids.shape) < 0.15
    labels[~chosen] = -100
    return ids, labels
def returns(r, g):
    out, last = np.zeros(len(r)), 0.0
    for t in range(len(r) - 1, -1, -1):
        last = r[t] + g * last
        out[t] = last
    return out
def read(img):
    if np.random.rand() < 0.5:
        img = img[:, ::-1].copy()
    return img
def pairs(a, b):
    n = len(a)
    z = torch.cat([a, b])
    sim = z @ z.T / 0.1
    sim.fill_diagonal_(-1e9)
    return F.cross_entropy(sim, torch.cat([torch.arange(n, 2 * n), torch.arange(n)]))
net = nn.Linear(4, 4)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for x, y in loader:
    loss = pairs(net(x), net(y))
    opt.zero_grad()
    loss.backward()
    opt.step()
"""
SOUND = """
import torch
import torchaudio
from torch import nn
def read(f, SR):
    x, sr = torchaudio.load(f)
    x = torchaudio.functional.resample(x, sr, SR)
    return x
net = nn.Linear(4, 4)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for x, y in loader:
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (BELLS, "labels[~chosen] = -100", "labels = labels.masked_fill(~chosen, -100)"),
        (BELLS, "range(len(r) - 1, -1, -1)", "reversed(range(len(r)))"),
        (BELLS, "img[:, ::-1].copy()", "np.fliplr(img).copy()"),
        (BELLS, "sim.fill_diagonal_(-1e9)", 'sim = sim.masked_fill(torch.eye(2 * n).bool(), float("-inf"))'),
        (SOUND, "torchaudio.functional.resample(x, sr, SR)", "torchaudio.transforms.Resample(sr, SR)(x)"),
    ],
)
def test_spellings_are_one(tmp_path: Path, text: str, old: str, new: str) -> None:
    """No edit is told of."""
    assert text.count(old) == 1
    assert not {n for n in present(tmp_path, text.replace(old, new), text) if n.startswith("edit-")}


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (BELLS, "labels[~chosen] = -100", "labels = labels.masked_fill(chosen, -100)"),
        (BELLS, "img[:, ::-1].copy()", "img[::-1].copy()"),
        (SOUND, "torchaudio.functional.resample(x, sr, SR)", "torchaudio.transforms.Resample(SR, sr)(x)"),
    ],
)
def test_faults_beside_them_are_told(tmp_path: Path, text: str, old: str, new: str) -> None:
    """An edit, or a difference of the part of the program."""
    assert text.count(old) == 1
    found = present(tmp_path, text.replace(old, new), text)
    assert {n for n in found if n.startswith(("edit-", "script-"))}
