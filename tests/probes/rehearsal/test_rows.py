"""Rows that are learnt from and scored, in a rehearsal: leaks, statistics of both sides, labels of others."""

from __future__ import annotations

import pytest

from ._program import told

TABLE = """
import numpy as np
import pandas as pd
import torch
from torch import nn
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

df = pd.read_csv("wells.csv")
cols = ["depth", "flow"]
scaler = StandardScaler()
order = np.random.default_rng(3).permutation(len(df))
fit, rest = df.iloc[order[:180]], df.iloc[order[180:]]
scaler.fit(fit[cols])

def pack(part, mix):
    x = torch.tensor(scaler.transform(part[cols]), dtype=torch.float32)
    y = torch.tensor(part["arsenic"].to_numpy(), dtype=torch.float32)
    return DataLoader(TensorDataset(x, y), batch_size=32, shuffle=mix)

a, b = pack(fit, True), pack(rest, False)
net = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters())
for epoch in range(9):
    for x, y in a:
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x).squeeze(1), y)
        loss.backward()
        opt.step()
    total = 0.0
    with torch.no_grad():
        for x, y in b:
            total += nn.functional.mse_loss(net(x).squeeze(1), y).item()
    print(epoch, "val %.3f" % total)
"""
JUDGED = {
    "scored-rows-taught",
    "scores-training-rows",
    "statistics-of-scored",
    "labels-apart",
    "target-among-inputs",
}
FAULTS = {
    "parts overlap": ("df.iloc[order[180:]]", "df.iloc[order[120:]]", "scored-rows-taught"),
    "trained on all": ("pack(fit, True)", "pack(df, True)", "scored-rows-taught"),
    "scored where learnt": ("pack(rest, False)", "pack(fit, False)", "scores-training-rows"),
    "learnt from as well": (
        "    total = 0.0\n",
        "    for x, y in b:\n        opt.zero_grad()\n"
        "        nn.functional.mse_loss(net(x).squeeze(1), y).backward()\n"
        "        opt.step()\n    total = 0.0\n",
        "scored-rows-taught",
    ),
    "scaled by all": ("scaler.fit(fit[cols])", "scaler.fit(df[cols])", "statistics-of-scored"),
    "target inside": ('cols = ["depth", "flow"]', 'cols = ["depth", "arsenic"]', "target-among-inputs"),
    "other order": (
        'y = torch.tensor(part["arsenic"].to_numpy()',
        'y = torch.tensor(part.sort_values("arsenic")["arsenic"].to_numpy()',
        "labels-apart",
    ),
}
EVEN = {
    "as it is": ("", ""),
    "a mask of years": (
        "fit, rest = df.iloc[order[:180]], df.iloc[order[180:]]",
        "fit, rest = df[df.year < 2015], df[df.year >= 2015]",
    ),
    "wells not known": ("df.iloc[order[180:]]", "df[df.well.isin(held_wells())]"),
    "figure of training": ('"val %.3f" % total', '"train %.3f" % total'),
    "sorted as a whole": (
        'df = pd.read_csv("wells.csv")',
        'df = pd.read_csv("wells.csv").sort_values("arsenic")',
    ),
    "calibrated on the rest": (
        "    total = 0.0\n",
        "    heat = torch.nn.Parameter(torch.ones(1))\n    warm = torch.optim.SGD([heat], lr=.1)\n"
        "    for x, y in b:\n        warm.zero_grad()\n"
        "        nn.functional.mse_loss(heat * net(x).squeeze(1), y).backward()\n        warm.step()\n"
        "    total = 0.0\n",
    ),
    "gradients of the rest looked at": (
        "    total = 0.0\n",
        "    for x, y in b:\n        nn.functional.mse_loss(net(x).squeeze(1), y).backward()\n"
        "    opt.zero_grad()\n    total = 0.0\n",
    ),
    "mixed pairs": (
        "        loss = nn.functional.mse_loss(net(x).squeeze(1), y)",
        "        p = torch.randperm(len(x))\n        out = net(.7 * x + .3 * x[p]).squeeze(1)\n"
        "        loss = .7 * nn.functional.mse_loss(out, y) + .3 * nn.functional.mse_loss(out, y[p])",
    ),
}


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_faults_of_rows(name: str) -> None:
    old, new, kind = FAULTS[name]
    assert told((old, new), text=TABLE) & JUDGED == {kind}


@pytest.mark.parametrize("name", sorted(EVEN))
def test_rows_that_are_right(name: str) -> None:
    assert not told(EVEN[name], text=TABLE) & JUDGED


WINDOWS = """
import numpy as np
import torch
from torch import nn

def load(hours=4000):
    rng = np.random.default_rng(0)
    return np.stack([rng.normal(size=hours), rng.normal(size=hours)], -1)

def windows(series, length):
    {X}
    return torch.tensor(x).float(), torch.tensor(series[length:-1, 0]).float()

xs, ys = windows(load(), 36)
net = nn.Sequential(nn.Flatten(), nn.Linear(72, 1))
opt = torch.optim.Adam(net.parameters(), 1e-3)
for step in range(300):
    pick = np.random.choice(len(xs), 64)
    opt.zero_grad()
    nn.functional.mse_loss(net(xs[pick])[:, 0], {Y}).backward()
    opt.step()
"""


@pytest.mark.parametrize(
    "made",
    [
        "x = np.stack([series[i:i + length] for i in range(len(series) - length - 1)])",
        "x = np.array([series[i:i + length] for i in range(len(series) - length - 1)])",
        "x = np.concatenate([series[None, i:i + length] for i in range(len(series) - length - 1)])",
        "x = []\n    for i in range(len(series) - length - 1):\n        x.append(series[i:i + length])\n"
        "    x = np.stack(x)",
    ],
)
def test_windows_of_a_long_series_are_not_all_gone_through(made: str) -> None:
    """A loop over thousands of windows is left early: which rows a chosen one has is not known."""
    text = WINDOWS.replace("{X}", made).replace("{Y}", "ys[pick]")
    assert not JUDGED & told(text=text)
