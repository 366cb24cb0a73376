"""Tables in parts, forecasts, key points, translation: what scripts of such tasks do, right and wrong."""

from __future__ import annotations

import pytest

from .._scripts import state

SPLITS = "script-splits-processed-differently"
NUMBERED = "script-classes-numbered-apart"
MOVED = "script-labels-permuted-alone"
WRITTEN = "script-labels-overwritten"

TABLE = """
import numpy as np
import pandas as pd
import torch
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader
NUMERIC = ["age", "fee"]
KINDS = ["plan", "region"]
TARGET = "left"
def load():
    table = pd.read_csv("customers.csv")
    train, val = train_test_split(table, stratify=table[TARGET], random_state=3)
    train, val = train.copy(), val.copy()
    scaler = StandardScaler().fit(train[NUMERIC])
    {SCALE}
    for name in KINDS:
        {NUMBER}
    {LABEL}
    return train, val
class Rows(torch.utils.data.Dataset):
    def __init__(self, frame):
        self.x = torch.tensor(frame[NUMERIC].values)
        self.k = torch.tensor(frame[KINDS].values)
        self.y = torch.tensor(frame[TARGET].values)
    def __len__(self):
        return len(self.y)
    def __getitem__(self, i):
        return self.x[i], self.k[i], self.y[i]
train, val = load()
train_loader, val_loader = DataLoader(Rows(train), shuffle=True), DataLoader(Rows(val))
"""
SCALE = "for part in (train, val):\n        part[NUMERIC] = scaler.transform(part[NUMERIC])"
NUMBER = (
    "numbers = {v: i for i, v in enumerate(sorted(train[name].unique()))}\n"
    "        for part in (train, val):\n            part[name] = part[name].map(numbers).fillna(0)"
)


def table(scale: str = SCALE, number: str = NUMBER, label: str = "pass") -> str:
    return TABLE.replace("{SCALE}", scale).replace("{NUMBER}", number).replace("{LABEL}", label)


@pytest.mark.parametrize(
    ("symptom", "text", "expected"),
    [
        (SPLITS, table(), False),
        (SPLITS, table("train[NUMERIC] = scaler.transform(train[NUMERIC])"), True),
        (SPLITS, table(SCALE.replace("scaler.transform(", "StandardScaler().fit_transform(")), True),
        (NUMBERED, table(), False),
        (NUMBERED, table(number="for p in train, val:\n            p[name] = p[name].factorize()[0]"), True),
        (WRITTEN, table(), False),
        (
            WRITTEN,
            table(label="m = np.random.rand(len(train)) < 0.3\n"
                  "    train.loc[m, TARGET] = 1 - train.loc[m, TARGET]"),
            True,
        ),
        (MOVED, table(), False),
        (MOVED, table(label="train[TARGET] = train[TARGET].sample(frac=1).values"), True),
        (MOVED, table(label="train[TARGET] = train[TARGET].sample(frac=1)"), False),  # the index puts it back
    ],
)  # fmt: skip
def test_parts_of_a_table(symptom: str, text: str, expected: bool) -> None:
    assert (state(symptom, text) == "present") is expected


POINTS = """
import numpy as np
import torch
class Points(torch.utils.data.Dataset):
    def __init__(self, images, points):
        self.images, self.points = images, points
        {STEP}
    def __getitem__(self, i):
        img, pts = self.images[i].copy(), self.points[i].copy()
        return torch.from_numpy(img), torch.from_numpy(pts)
"""


@pytest.mark.parametrize(
    ("symptom", "step", "expected"),
    [
        (MOVED, "pass", False),
        (MOVED, "self.points = np.roll(self.points, 1, axis=0)", True),
        (MOVED, "self.points = np.roll(self.points, 1, axis=2)", False),
        (
            MOVED,
            "self.images, n = np.roll(self.images, 1, axis=0), 1\n"
            "        self.points = np.roll(self.points, 1, axis=0)",
            False,
        ),
        (
            WRITTEN,
            "bad = np.random.rand(len(points)) < 0.3\n        self.points[bad] = np.random.uniform(0, 63, 2)",
            True,
        ),
    ],
)
def test_fields_that_a_data_set_hands_out_last(symptom: str, step: str, expected: bool) -> None:
    assert (state(symptom, POINTS.replace("{STEP}", step)) == "present") is expected


def test_where_parts_are_cut_is_none_of_their_data() -> None:
    text = """
import numpy as np
series = np.load("load.npy")
n = len(series)
i_train, i_val = int(0.7 * n), int(0.85 * n)
mean, std = series[:i_train].mean(), series[:i_train].std()
scaled = (series - mean) / std
train, val = scaled[:i_train], scaled[i_train:i_val]
"""
    assert state(SPLITS, text) != "present"


TRANSLATES = """
import torch
from torch import nn
class Words:
    def __init__(self, texts):
        self.words = sorted({w for t in texts for w in t})
    def encode(self, text):
        return [self.words.index(w) for w in text]
    def decode(self, ids):
        return "".join(self.words[i] for i in ids)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.out = nn.Embedding(9, 4), nn.Linear(4, 9)
    def encode(self, src):
        return self.emb(src)
    def decode(self, tgt, memory):
        return self.out(self.emb(tgt) + memory.mean(1, keepdim=True))
    def forward(self, src, tgt):
        return self.decode(tgt, self.encode(src))
    @torch.no_grad()
    def greedy(self, src):
        return self.decode(src, self.encode(src)).argmax(-1)
pairs = load_pairs()
val_pairs, train_pairs = pairs[:100], pairs[100:]
words = Words([t for _, t in train_pairs])
model = Net()
optimizer = torch.optim.Adam(model.parameters())
def evaluate():
    with torch.no_grad():
        return sum(words.decode(model.greedy(s).tolist()) == t for s, t in val_pairs)
for epoch in range(9):
    for src, tgt in train_pairs:
        loss = nn.functional.cross_entropy(model(src, tgt[:, :-1]).transpose(1, 2), tgt[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(evaluate())
for src, tgt in val_pairs[:3]:
    ids = model.greedy(torch.tensor([words.encode(src)]))[0].tolist()
    print(words.decode(ids))
"""


@pytest.mark.parametrize("symptom", ["script-training-sees-evaluation", "script-gradient-path-cut"])
def test_methods_of_two_classes_by_one_name(symptom: str) -> None:
    """A table of words holds no rows, and what its `decode` is given is not given to that of the network."""
    assert state(symptom, TRANSLATES) != "present"


def test_a_loop_of_its_own_under_the_name_of_a_trainer() -> None:
    text = """
import torch
class Trainer:
    def __init__(self, net, loader):
        self.net, self.loader = net, loader
        self.opt = torch.optim.Adam(net.parameters())
        self.sched = torch.optim.lr_scheduler.StepLR(self.opt, 10)
    def fit(self):
        for epoch in range(9):
            for x, y in self.loader:
                self.opt.zero_grad()
                loss = torch.nn.functional.mse_loss(self.net(x), y)
                loss.backward()
                {STEP}
                self.sched.step()
Trainer(torch.nn.Linear(4, 1), load()).fit()
"""
    assert state("script-step-missing", text.replace("{STEP}", "pass")) == "present"
    assert state("script-step-missing", text.replace("{STEP}", "self.opt.step()")) == "absent"
