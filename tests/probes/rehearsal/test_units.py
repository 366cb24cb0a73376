"""Units in a rehearsal: what answers, truths and inputs were moved and divided by, and brought back with."""

from __future__ import annotations

import pytest

from ._program import told

TABLE = """
import csv
import numpy as np
import pandas as pd
import torch
from torch import nn
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset
rank = torch.distributed.get_rank()
df = pd.read_csv("wells.csv")
order = np.random.default_rng(3).permutation(len(df))
fit, rest = df.iloc[order[:180]], df.iloc[order[180:]]
cols = ["depth", "flow"]
mu, sd = fit[cols].to_numpy().mean(0), fit[cols].to_numpy().std(0) + 1e-6
ys = StandardScaler().fit(fit[["arsenic"]])

def pack(part, mix):
    x = torch.tensor((part[cols].to_numpy() - mu) / sd, dtype=torch.float32)
    y = torch.tensor(ys.transform(part[["arsenic"]]), dtype=torch.float32)
    return DataLoader(TensorDataset(x, y), batch_size=8, shuffle=mix)

a, b = pack(fit, True), pack(rest, False)
net = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(net.parameters())
table = csv.writer(open("log.csv", "w"))
table.writerow(["epoch", "val_mae"])
for epoch in range(9):
    for x, y in a:
        opt.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        opt.step()
    held = torch.zeros(2)
    with torch.no_grad():
        for x, y in b:
            said, true = ys.inverse_transform(net(x)), ys.inverse_transform(y)
            held[0] += np.abs(said - true).sum()
            held[1] += len(y)
    if rank == 0:
        table.writerow([epoch, held[0] / held[1]])
"""
JUDGED = {"units-apart", "scaled-one-side", "augmented-scored", "last-batch", "scaled-apart"}
FAULTS = {
    "answers stay scaled": ("ys.inverse_transform(net(x))", "net(x).numpy()", "units-apart"),
    "truths stay scaled": ("ys.inverse_transform(y)", "y.numpy()", "units-apart"),
    "held-out inputs are raw": (
        "b = pack(fit, True), pack(rest, False)",
        "b = pack(fit, True), DataLoader(TensorDataset(torch.tensor(rest[cols].to_numpy()), "
        'torch.tensor(ys.transform(rest[["arsenic"]]))), 32)',
        "scaled-one-side",
    ),
    "places set, not added to": ("held[0] += np", "held[0] = np", "last-batch"),
}
EVEN = {
    "as it is": ("", ""),
    "all in scaled units": (
        "ys.inverse_transform(net(x)), ys.inverse_transform(y)",
        "net(x).numpy(), y.numpy()",
    ),
    "by an unknown function": ("ys.inverse_transform(net(x))", "helper.back(net(x))"),
    "learnt in plain units": (
        "loss = nn.functional.mse_loss(net(x), y)",
        "loss = nn.functional.mse_loss(net(x) * ys.scale_ + ys.mean_, y * ys.scale_ + ys.mean_)",
    ),
}


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_faults_of_units(name: str) -> None:
    old, new, kind = FAULTS[name]
    assert told((old, new), text=TABLE) & JUDGED == {kind}


@pytest.mark.parametrize("name", sorted(EVEN))
def test_units_that_are_right(name: str) -> None:
    assert not told(EVEN[name], text=TABLE) & JUDGED


def test_transforms_by_chance_of_what_is_scored() -> None:
    text = """
import torch, torchaudio
from torch import nn
from torch.utils.data import DataLoader, Dataset
mask = torchaudio.transforms.TimeMasking(20)
class Clips(Dataset):
    def __init__(self, x, y, train):
        self.x, self.y, self.train = x, y, train
    def __len__(self):
        return len(self.y)
    def __getitem__(self, k):
        x = self.x[k]
        if self.train:
            x = mask(x)
        return x, self.y[k]
x, y = torch.load("clips.pt")
a = DataLoader(Clips(x[:800], y[:800], True), 32, shuffle=True)
b = DataLoader(Clips(x[800:], y[800:], False), 32)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.end = nn.Linear(64, 5)
    def forward(self, x):
        return self.end(x)
net = Net()
opt = torch.optim.Adam(net.parameters())
for epoch in range(5):
    for u, v in a:
        opt.zero_grad()
        nn.functional.cross_entropy(net(u), v).backward()
        opt.step()
    hits = 0
    with torch.no_grad():
        for u, v in b:
            hits += (net(u).argmax(1) == v).sum().item()
    print("val acc", hits / len(b.dataset))
"""
    both = ("        if self.train:\n            x = mask(x)\n", "        x = mask(x)\n")
    assert "augmented-scored" not in told(text=text)
    assert "augmented-scored" in told(both, text=text)


PEOPLE = """
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
arc = np.load("beats.npz")
x, y, who = arc["signal"], arc["kind"], arc["who"]

def part(name):
    people = np.unique(who)
    np.random.default_rng(5).shuffle(people)
    n = len(people) // 5
    held, last = np.isin(who, people[:n]), np.isin(who, people[n : 2 * n])
    rows = {"train": ~(held | last), "val": held, "test": last}[name]
    return TensorDataset(torch.tensor(x[rows]), torch.tensor(y[rows]))

train = DataLoader(part("train"), 16, shuffle=True)
val = DataLoader(part("val"), 16)
net = nn.Sequential(nn.Linear(60, 16), nn.ReLU(), nn.Linear(16, 5))
opt = torch.optim.Adam(net.parameters())
for epoch in range(8):
    for u, v in train:
        opt.zero_grad()
        nn.functional.cross_entropy(net(u), v).backward()
        opt.step()
    hits = 0
    with torch.no_grad():
        for u, v in val:
            hits += (net(u).argmax(1) == v).sum().item()
    print("val acc", hits / len(val.dataset))
"""


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("~(held | last)", "~last", "scored-rows-taught"),
        ("default_rng(5)", "default_rng()", "scored-rows-taught"),  # other people for each part
        ("torch.tensor(y[rows])", "torch.tensor(np.roll(y[rows], 1))", "labels-apart"),
        ("torch.tensor(y[rows]))", "torch.tensor(y[rows]))  # ", ""),
        ("default_rng(5)", "default_rng(seed)", ""),
        ('"val": held,', '"val": held & (y < 2),', "held-out-by-label"),
        ("hits = 0", "hits, rare = 0, y < 2", ""),  # asked for, and nothing is chosen by it
    ],
)
def test_parts_by_people(old: str, new: str, kind: str) -> None:
    judged = {"scored-rows-taught", "labels-apart", "scores-training-rows", "held-out-by-label"}
    assert told((old, new), ('"kind"', '"target"'), text=PEOPLE) & judged == ({kind} if kind else set())


CUT = """
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
arc = np.load("clips.npz")
x, y = arc["clip"], arc["kind"]
train_x, train_y = x[:160], y[:160]
val_x, val_y = x[160:], y[160:]
net = nn.Sequential(nn.Linear(60, 16), nn.ReLU(), nn.Linear(16, 5))
opt = torch.optim.Adam(net.parameters())
train = DataLoader(TensorDataset(torch.tensor(train_x), torch.tensor(train_y)), 16, shuffle=True)
val = DataLoader(TensorDataset(torch.tensor(val_x), torch.tensor(val_y)), 16)
for epoch in range(8):
    for u, v in train:
        opt.zero_grad()
        nn.functional.cross_entropy(net(u), v).backward()
        opt.step()
    hits = 0
    with torch.no_grad():
        for u, v in val:
            hits += (net(u).argmax(1) == v).sum().item()
    print("val acc", hits / len(val.dataset))
"""


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("y[160:]\n", "y[159:-1]\n", "labels-apart"),
        ("y[160:]\n", "y[160:]\nval_x[:, :8] = 0\n", "held-out-changed"),
        ("y[160:]\n", "y[160:]\ntrain_x[:, :8] = val_x[:, :8] = 0\n", ""),
        ("y[160:]\n", "y[160:]\ntrain_x[:, :8] = 0\n", ""),  # erased to learn from, as recipes do
    ],
)
def test_one_side_that_is_changed(old: str, new: str, kind: str) -> None:
    judged = {"labels-apart", "held-out-changed", "scaled-one-side"}
    assert told((old, new), text=CUT) & judged == ({kind} if kind else set())


WINDOWS = """
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
LONG = 48
def windows(rows):
    xs, ys = [], []
    for i in range(len(rows) - LONG):
        xs.append(rows[i : i + LONG])
        ys.append(rows[i + LONG])
    return torch.tensor(np.array(xs)), torch.tensor(np.array(ys))
rows = np.loadtxt("flow.csv", delimiter=",", dtype=np.float32)
cut = int(0.8 * len(rows))
early, late = rows[:cut], rows[cut:]
mu, sd = early.mean(0), early.std(0)
early, late = (early - mu) / sd, (late - mu) / sd
a = DataLoader(TensorDataset(*windows(early)), 64, shuffle=True)
b = DataLoader(TensorDataset(*windows(late)), 64)
net = nn.Sequential(nn.Flatten(), nn.Linear(96, 2))
opt = torch.optim.Adam(net.parameters())
for epoch in range(9):
    for x, y in a:
        opt.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        opt.step()
    worst = 0.0
    with torch.no_grad():
        for x, y in b:
            worst += ((net(x) - y) ** 2).sum().item()
    print("val", worst / len(b.dataset))
"""


@pytest.mark.parametrize("long", [3, 48])
def test_windows_longer_than_the_rows_that_are_made(long: int) -> None:
    """Of too few rows nothing is left, which is not to say that nothing was done to them."""
    size = ("LONG = 48", f"LONG = {long}")
    assert not told(size, text=WINDOWS) & JUDGED
    raw = ("(early - mu) / sd, (late - mu) / sd", "(early - mu) / sd, late")
    assert (told(size, raw, text=WINDOWS) & JUDGED == {"scaled-one-side"}) == (long == 3)
