"""One thing in two spellings is no edit; the faults beside them are."""

from __future__ import annotations

from pathlib import Path

import pytest

from .._pairs import edits, present

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
    assert not edits(tmp_path, text.replace(old, new), text)


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


VISITS = """
import pandas as pd
import torch
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, KFold, StratifiedGroupKFold
from sklearn.preprocessing import StandardScaler
from torch import nn
TARGET = "missed"
table = pd.read_csv("visits.csv")
COLUMNS = ["age", "fee"]
folds = GroupKFold(n_splits=5)
for a, b in folds.split(table, groups=table["patient"]):
    train, val = table.iloc[a], table.iloc[b]
    scaler = StandardScaler().fit(train[COLUMNS])
    x = scaler.transform(train[COLUMNS])
    vx = scaler.transform(val[COLUMNS])
    net = nn.Linear(2, 1)
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(9):
        opt.zero_grad()
        out = net(torch.tensor(x).float())[:, 0]
        y = torch.tensor(train[TARGET].values).float()
        nn.functional.binary_cross_entropy_with_logits(out, y).backward()
        opt.step()
    print(((net(torch.tensor(vx).float())[:, 0] > 0).numpy() == val[TARGET].values).mean())
"""
FITS = (
    "scaler = StandardScaler().fit(train[COLUMNS])\n    x = scaler.transform(train[COLUMNS])",
    "scaler = StandardScaler()\n    x = scaler.fit_transform(train[COLUMNS])",
)
CHOSEN = '[c for c in table.select_dtypes("number").columns if c not in ("patient", TARGET)]'


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("GroupKFold(n_splits=5)", "StratifiedGroupKFold(n_splits=5, shuffle=True, random_state=0)"),
        FITS,
        ('["age", "fee"]', CHOSEN),
        ('["age", "fee"]', "[c for c in table.columns if c != TARGET]"),
    ],
)
def test_ways_to_folds_and_columns_are_one(tmp_path: Path, old: str, new: str, back: bool) -> None:
    """Neither way is told of, from either side."""
    both = [VISITS.replace(old, new), VISITS]
    assert VISITS.count(old) == 1
    mine, theirs = both[::-1] if back else both
    assert not edits(tmp_path, mine, theirs)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("GroupKFold(n_splits=5)", "KFold(n_splits=5, shuffle=True, random_state=0)"),
        (FITS[0], FITS[1].replace("train[", "table[")),
        ('["age", "fee"]', '[c for c in table.columns if c != "patient"]'),
    ],
)
def test_folds_and_columns_that_differ_are_told(tmp_path: Path, old: str, new: str) -> None:
    assert VISITS.count(old) == 1
    found = present(tmp_path, VISITS.replace(old, new), VISITS)
    assert {n for n in found if n.startswith(("edit-", "script-"))}
