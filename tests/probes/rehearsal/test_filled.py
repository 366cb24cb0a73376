"""Samples that a program draws row by row, gives itself twice, or leaves aside."""

from __future__ import annotations

import pytest

from traindoctor.probes.rehearsal.journal import Told

from ._program import rehearse, told

TEXT = """
import json
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, SubsetRandomSampler, TensorDataset

def make(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    x = np.zeros((n, 1, 8, 8), dtype=np.float32)
    for i, k in enumerate(y):
        x[i, 0] = 40 * k + rng.normal(0, 25, (8, 8))
    return x, y

def score(net, loader):
    net.eval()
    with torch.no_grad():
        return sum((net(x).argmax(1) == y).float().mean().item() for x, y in loader) / len(loader)

x, y = make(1200, 1)
order = np.random.default_rng(0).permutation(len(x))
fit, rest = order[:1000], order[1000:]
train_set = TensorDataset(torch.from_numpy(x[fit]), torch.from_numpy(y[fit]))
val_set = TensorDataset(torch.from_numpy(x[rest]), torch.from_numpy(y[rest]))
train_loader = DataLoader(train_set, 50, shuffle=True)
val_loader = DataLoader(val_set, 50)
net = nn.Sequential(nn.Flatten(), nn.Linear(64, 4))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(9):
    net.train()
    for a, b in train_loader:
        opt.zero_grad()
        nn.functional.cross_entropy(net(a), b).backward()
        opt.step()
    print(json.dumps({"epoch": epoch, "val_acc": score(net, val_loader)}))
"""
ROWS = {"scored-rows-taught", "scores-training-rows", "mostly-unread", "worked-otherwise"}
SPLIT = "order = np.random"
LOADER = "DataLoader(train_set, 50, shuffle=True)"


@pytest.mark.parametrize(
    ("edits", "wanted"),
    [
        ([], set()),
        (
            [("fit, rest = order[:1000], order[1000:]", "fit, rest = order[:1100], order[900:]")],
            {"scored-rows-taught"},
        ),
        ([(SPLIT, "x, y = np.repeat(x, 4, axis=0), np.repeat(y, 4)\n" + SPLIT)], {"scored-rows-taught"}),
        (
            [(SPLIT, "x, y = np.concatenate([x, x]), np.concatenate([y, y])\n" + SPLIT)],
            {"scored-rows-taught"},
        ),
        (
            [
                (
                    "order = np.random.default_rng(0).permutation(len(x))",
                    "order = np.random.default_rng(0).integers(0, 1200, 1200)",
                )
            ],
            {"scored-rows-taught"},
        ),
        ([(LOADER, "DataLoader(Subset(train_set, list(range(60))), 50, shuffle=True)")], {"mostly-unread"}),
        ([(LOADER, "DataLoader(train_set, 50, sampler=SubsetRandomSampler(range(90)))")], {"mostly-unread"}),
        (
            [
                ("x, y = make(1200, 1)", "x, y = make(1200, 1)\nx, y = x[:600], y[:600]"),
                ("1000", "500"),
                ("1000", "500"),
            ],
            set(),
        ),
    ],
)
def test_rows_of_what_is_drawn(edits: list[tuple[str, str]], wanted: set[str]) -> None:
    """Rows are known of arrays that are filled one by one; what is right, or halved, is silent."""
    text = TEXT
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    assert told(text=text) & ROWS == wanted


MADE = TEXT[TEXT.index("def make") : TEXT.index("def score")]
LISTS = """def make(n, seed):
    rng = np.random.default_rng(seed)
    x, y = [], []
    for i in range(n):
        k = int(rng.integers(4))
        x.append(rng.normal(k, 1.0, (1, 8, 8)))
        y.append(k)
    return np.stack(x).astype(np.float32), np.array(y)

"""
ROWS_OF = """def make(n, seed):
    rows = [sample(seed + i) for i in range(n)]
    return np.array([r[0] for r in rows]), np.array([r[1] for r in rows])

"""
BLOBS = """def make(n, seed):
    rng = np.random.default_rng(seed)
    x, y = [], []
    for k in range(4):
        x.append(rng.normal(k, 1.0, (300, 1, 8, 8)))
        y.append(np.full(300, k))
    return np.concatenate(x), np.concatenate(y)

"""
DRAWN = """def make(n, seed):
    return torch.cat([torch.randn(300, 1, 8, 8) + k for k in range(4)]).numpy(), np.arange(4).repeat(300)

"""


@pytest.mark.parametrize("maker", [LISTS, ROWS_OF, BLOBS, DRAWN])
def test_samples_that_are_drawn_in_other_ways(maker: str) -> None:
    """Lists that are filled in a loop are as long as the loop is; parts that are joined are other rows."""
    right = TEXT.replace(MADE, maker)
    assert right != TEXT and not told(text=right) & ROWS
    scaled = right.replace(SPLIT, "x = (x - x.mean()) / x.std()\n" + SPLIT)
    assert scaled != right and "one-scale" not in told(text=scaled)  # samples, not columns of a table
    wrong = right.replace("fit, rest = order[:1000], order[1000:]", "fit, rest = order[:1100], order[900:]")
    assert wrong != right and "scored-rows-taught" in told(text=wrong)


def test_figures_that_are_written_as_json() -> None:
    """Each figure of a row of JSON has its own name, written in place or by the name of the row."""
    by_name = TEXT.replace("print(json.dumps({", "row = {").replace(
        "val_loader)}))", "val_loader)}\n    print(json.dumps(row) + '')"
    )
    assert by_name != TEXT
    for text in (TEXT, by_name):
        assert {t.label for t in rehearse(text=text).journal.of(Told)} == {"val_acc"}
