"""Data that a program draws itself have rows: pairs that are broken, statistics of all, columns on rows."""

from __future__ import annotations

import pytest

from ._program import told

MADE = """
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(3)
flow = rng.uniform(0, 9, 3000)
heat = rng.normal(300, 15, 3000)
y = np.log10(flow + 1) * heat + rng.normal(0, 1, 3000)
X = np.stack([flow, heat], axis=1).astype("float32")
y = y.astype("float32").reshape(-1, 1)
order = rng.permutation(3000)
a, b = order[:2400], order[2400:]
mean, std = X[a].mean(axis=0), X[a].std(axis=0)
Xa, ya = torch.from_numpy((X[a] - mean) / std), torch.from_numpy(y[a])
Xb, yb = torch.from_numpy((X[b] - mean) / std), torch.from_numpy(y[b])
net = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(30):
    net.train()
    for i in range(0, len(Xa), 60):
        at = torch.randperm(len(Xa))[:60]
        loss = ((net(Xa[at]) - ya[at]) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        off = ((net(Xb) - yb) ** 2).mean().sqrt()
    print("rmse", off.item())
"""
KINDS = {"labels-apart", "statistics-of-scored", "column-row", "scored-rows-taught", "scores-training-rows"}


def test_right_program_is_silent() -> None:
    """A right program on drawn data has no verdict of these kinds."""
    assert not KINDS & told(text=MADE)


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("ya[at]", "ya[i : i + 60]", "labels-apart"),
        ("X[a].mean(axis=0), X[a].std(axis=0)", "X.mean(axis=0), X.std(axis=0)", "statistics-of-scored"),
        ('.astype("float32").reshape(-1, 1)', '.astype("float32")', "column-row"),
    ],
)
def test_faults_of_drawn_data(old: str, new: str, kind: str) -> None:
    """What is wrong with the rows of drawn data is told."""
    assert MADE.count(old) == 1
    assert kind in told(text=MADE.replace(old, new))


def test_two_draws_of_one_length_are_no_leak() -> None:
    """As many rows that are drawn apart are other rows: nothing is shared."""
    text = MADE.replace("a, b = order[:2400], order[2400:]", "a = b = slice(None)")
    text = text.replace(
        "Xb, yb = torch.from_numpy((X[b] - mean) / std)",
        "Z = rng.uniform(0, 9, (3000, 2))\nXb, yb = torch.from_numpy((Z - mean) / std)",
    )
    text = text.replace('"rmse"', '"valid rmse"')
    assert not {"scored-rows-taught", "scores-training-rows", "labels-apart"} & told(text=text)


def test_noise_of_a_batch_is_no_data() -> None:
    """Numbers that are drawn in a loop, few of them, or beside known rows make no table."""
    text = MADE.replace("ya[at])", "ya[at] + torch.randn(60, 1))")
    assert not KINDS & told(text=text)


def test_one_scale_for_all_columns() -> None:
    """One figure for columns of other things is told, one for each column and one for one column not."""
    whole = MADE.replace("X[a].mean(axis=0), X[a].std(axis=0)", "X[a].mean(), X[a].std()")
    assert "one-scale" in told(text=whole)
    assert "one-scale" not in told(text=MADE)
    single = whole.replace("np.stack([flow, heat], axis=1)", "heat.reshape(-1, 1)")
    assert "one-scale" not in told(text=single.replace("nn.Linear(2, 16)", "nn.Linear(1, 16)"))
    picture = whole.replace("np.stack([flow, heat], axis=1)", "rng.normal(0, 1, (3000, 2))")
    assert "one-scale" not in told(text=picture)


def test_scaled_apart() -> None:
    """The held-out rows have figures of their own; the same figures for both are right."""
    apart = MADE.replace("(X[b] - mean) / std", "(X[b] - X[b].mean(axis=0)) / X[b].std(axis=0)")
    assert "scaled-apart" in told(text=apart)
    assert "scaled-apart" not in told(text=MADE)
    alike = MADE.replace("X[a].mean(axis=0), X[a].std(axis=0)", "X.mean(axis=0), X.std(axis=0)")
    assert "scaled-apart" not in told(text=alike)


def test_figures_of_a_pandas_table_are_by_column() -> None:
    """`frame[columns].mean()` is one figure for each column."""
    text = MADE.replace(
        'X = np.stack([flow, heat], axis=1).astype("float32")',
        'import pandas as pd\nf = pd.read_csv("a.csv")[["flow", "heat"]]\n'
        "X = ((f - f.mean()) / f.std()).to_numpy()",
    )
    text = text.replace("X[a].mean(axis=0), X[a].std(axis=0)", "0.0, 1.0")
    assert "one-scale" not in told(text=text)


MASK = "held = rng.random(3000) < 0.2\na, b = {}\n"


@pytest.mark.parametrize(
    ("sides", "shared"),
    [("~held, held", False), ("held == False, held", False), ("rng.random(3000) < 0.9, held", True)],
)
def test_sides_by_a_drawn_mask(sides: str, shared: bool) -> None:
    """A mask of drawn numbers and its opposite part the rows; two that are drawn apart share some."""
    text = MADE.replace("a, b = order[:2400], order[2400:]\n", MASK.format(sides)).replace(
        '"rmse"', '"valid rmse"'
    )
    assert ("scored-rows-taught" in told(text=text)) == shared
    assert "labels-apart" not in told(text=text)
