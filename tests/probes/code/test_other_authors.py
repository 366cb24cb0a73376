"""What right programs of further authors do, each beside the slip that it looks like."""

from __future__ import annotations

from pathlib import Path

import pytest

from .._scripts import state

RATES = """
import torch
from torch import nn

class Fit:
    def __init__(self, net, cfg):
        self.net, self.cfg = net, cfg
        self.opt = torch.optim.Adam(net.parameters(), lr=cfg["lr"])
    def set_rate(self, epoch):
        rate = self.cfg["lr"] * 0.9 ** epoch
        for group in self.opt.param_groups:
            group["lr"] = rate
        return rate
    def run(self, batches):
        for e in range(self.cfg["epochs"]):
            rate = self.set_rate(e)
            for x, y in batches:
                self.opt.zero_grad()
                loss = nn.functional.mse_loss(self.net(x), y)
                loss.backward()
                self.opt.step()
            print(f"{e} {loss.item()} {rate:.2e}")
"""
SETS = """        for group in self.opt.param_groups:
            group["lr"] = rate
"""


@pytest.mark.parametrize(("text", "found"), [(RATES, False), (RATES.replace(SETS, ""), True)])
def test_a_rate_that_its_function_sets_is_applied(text: str, found: bool) -> None:
    assert (state("script-rate-not-applied", text) == "present") == found


SETS_OF_TEXTS = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

DATA = {"train": 900, "eval": 100}

class Lines(Dataset):
    def __init__(self, texts, vocabulary):
        self.rows = [[vocabulary[c] for c in t] for t in texts]
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, i):
        row = torch.tensor(self.rows[i])
        return row[:-1], row[1:]

texts = corpus(DATA["train"] + DATA["eval"])
train_texts, eval_texts = texts[: DATA["train"]], texts[DATA["train"] :]
train_set = Lines(train_texts, vocabulary)
eval_set = Lines(eval_texts, vocabulary)
loader = DataLoader(train_set, batch_size=8, shuffle=True)
eval_loader = DataLoader(eval_set, batch_size=8)
for x, y in loader:
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x).transpose(1, 2), y)
    loss.backward()
    optimizer.step()
with torch.no_grad():
    for x, y in eval_loader:
        total += nn.functional.cross_entropy(model(x).transpose(1, 2), y).item()
"""
HELD = "eval_set = Lines(eval_texts, vocabulary)"


@pytest.mark.parametrize(
    ("text", "found"),
    [(SETS_OF_TEXTS, False), (SETS_OF_TEXTS.replace(HELD, HELD.replace("eval_texts", "train_texts")), True)],
)
def test_the_count_that_cuts_a_list_is_no_place_of_data(text: str, found: bool) -> None:
    assert (state("script-training-sees-evaluation", text) == "present") == found


DRAWN = """
import numpy as np
import torch
r = np.random.RandomState(3)
calls = r.poisson(0.8 + 1.2 * (r.rand(500) < 0.2), 500)
x = torch.tensor(calls).float()[:, None]
for epoch in range(9):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(MASK), x)
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(("mask", "found"), [("x", False), ("x * (torch.rand(500, 1) < 0.2)", True)])
def test_a_share_of_what_is_drawn_masks_nothing(mask: str, found: bool) -> None:
    text = DRAWN.replace("MASK", mask)
    assert (state("script-augmentation-extreme", text) == "present") == found


HOUSES = Path(__file__).resolve().parents[3] / "faultlab" / "code" / "houses" / "src"
SPREAD = next(HOUSES.glob("*.py")).read_text(encoding="utf-8")
BY_THEMSELVES = """
import torch
from sklearn.preprocessing import StandardScaler
scaler = StandardScaler()
x_train, x_test = split(read())
x_train = scaler.fit_transform(x_train)
x_test = scaler.fit_transform(x_test)
for epoch in range(40):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(net(torch.tensor(x_train)), y_train)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        spread = (y_test - y_test.mean()).pow(2).sum()
        print((net(torch.tensor(x_test)) - y_test).pow(2).sum() / spread)
"""


@pytest.mark.parametrize(("text", "found"), [(SPREAD, False), (BY_THEMSELVES, True)])
def test_the_spread_that_r2_is_told_against_scales_nothing(text: str, found: bool) -> None:
    assert (state("script-splits-processed-differently", text) == "present") == found


BEATS = """
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset

class Beats(Dataset):
    def __init__(self, signals, labels):
        self.signals, self.labels = signals, labels
    def __len__(self):
        return len(self.labels)
    def __getitem__(self, i):
        return torch.from_numpy(self.signals[i]), int(self.labels[i])

rng = np.random.default_rng(1)
labels = rng.choice(4, size=480, p=(0.7, 0.1, 0.1, 0.1))
signals = rng.normal(0, 1, (480, 72)).astype(np.float32) + labels[:, None].astype(np.float32)
train_set = Beats(signals, labels)
loader = DataLoader(train_set, batch_size=32, shuffle=True)
for epoch in range(9):
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
"""
NET = "net = nn.Linear(72, 4)\noptimizer = torch.optim.Adam(net.parameters())\n"
WHOLE = BEATS.replace("for epoch", NET + "for epoch")
FOUR = WHOLE.replace("DataLoader(train_set,", "DataLoader(Subset(train_set, range(4)),")


@pytest.mark.parametrize(("text", "found"), [(WHOLE, False), (FOUR, True)])
def test_classes_that_are_drawn_over_and_over_are_as_many_as_asked_for(text: str, found: bool) -> None:
    assert (state("script-training-data-cut", text) == "present") == found


PICTURES = """
import torch
images = torch.from_numpy(pictures)
{}
for x, y in loader:
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(net({}), y)
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("line", "given", "found"),
    [("images[900:] = images[900:] // 4", "x", False), ("", "x // 255", True)],
)
def test_bytes_that_are_darkened_in_their_place_stay_bytes(line: str, given: str, found: bool) -> None:
    assert (state("script-integer-division", PICTURES.format(line, given)) == "present") == found


HEAD = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(8, 16), nn.Linear(16, 3)
    def forward(self, x):
        return self.head(torch.relu(self.body(x)))

net = Net()
LINES
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(9):
    for x, y in loader:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
"""
BY_LOOPS = """for p in net.parameters():
    p.requires_grad = False
for p in net.head.parameters():
    p.requires_grad = True"""
AT_ONCE = "net.requires_grad_(False)\nnet.head.requires_grad_(True)"
LOADED = 'net.load_state_dict(torch.load("source.pt"))\n'


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (AT_ONCE, True),
        (BY_LOOPS, True),
        (LOADED + AT_ONCE, False),
        (LOADED + BY_LOOPS, False),
        ("net.body.requires_grad_(False)\nnet.requires_grad_(True)", False),
        ("net.requires_grad_(False)\nif fast:\n    net.head.requires_grad_(True)", False),
    ],
)
def test_all_but_the_head_of_a_network_that_starts_at_random(lines: str, found: bool) -> None:
    assert (state("script-freezes-parameters", HEAD.replace("LINES", lines)) == "present") == found
