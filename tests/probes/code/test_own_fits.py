"""Figures that nothing reads, parts scaled by figures of their own, and one part left as it is."""

from __future__ import annotations

import pytest

from .._scripts import state

UNUSED = "script-scaling-unused"
APART = "script-splits-processed-differently"

HEAD = """
import numpy as np
import torch
from torch import nn
from sklearn.preprocessing import StandardScaler
x = np.load("spectra.npy")
n = int(0.8 * len(x))
"""
TAIL = """
net = nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters())
for batch, y in torch.utils.data.DataLoader(train):
    opt.zero_grad()
    nn.functional.mse_loss(net(batch), y).backward()
    opt.step()
print(net(val))
"""


@pytest.mark.parametrize(
    "body",
    [
        "s = np.std(x[:n], axis=0) + 1e-6\ntrain, val = x[:n], x[n:]",
        "scaler = StandardScaler().fit(x[:n])\ntrain, val = x[:n], x[n:]",
        "mean = total / count\ndev = (squares / count - mean ** 2) ** 0.5\ntrain, val = x[:n], x[n:]",
        "def scale(v):\n    return (v - 3.0) / 2.0\ndef ready(rows, scale):\n    return torch.tensor(rows)\n"
        "train, val = ready(x[:n], scale), ready(x[n:], scale)",
    ],
)
def test_worked_out_and_never_read(body: str) -> None:
    assert state(UNUSED, HEAD + body + TAIL) == "present"


@pytest.mark.parametrize(
    "body",
    [
        "s = np.std(x[:n], axis=0) + 1e-6\ntrain, val = x[:n] / s, x[n:] / s",
        "scaler = StandardScaler().fit(x[:n])\ntrain, val = scaler.transform(x[:n]), scaler.transform(x[n:])",
        "mean = total / count\ndev = (squares / count - mean ** 2) ** 0.5\nprint(mean, dev)\n"
        "train, val = x[:n], x[n:]",
        "def scale(v):\n    return (v - 3.0) / 2.0\n"
        "def ready(rows, scale):\n    return torch.tensor(scale(rows))\n"
        "train, val = ready(x[:n], scale), ready(x[n:], scale)",
        # the deviation of the scores is told, and not of inputs
        "score_std = np.std(scores)\ntrain, val = x[:n], x[n:]",
        "s = np.std(x[:n], axis=0)\ntrain = (x[:n] - x[:n].mean(0)) / x[:n].std(0)\nval = x[n:]",
    ],
)
def test_figures_that_are_read(body: str) -> None:
    assert state(UNUSED, HEAD + body + TAIL) != "present"


CLASS = """
class Rows:
    def __init__(self):
        self.scaler = StandardScaler()
    def fit(self, part):
        self.scaler.fit(part)
        return self
    def ready(self, part):
        return torch.tensor(self.scaler.{method}(part))
rows = Rows().fit(x_train)
train, val = rows.ready(x_train), rows.ready(x_val)
"""


def test_every_part_by_a_fit_of_its_own() -> None:
    assert state(APART, HEAD + CLASS.format(method="fit_transform") + TAIL) == "present"
    assert state(APART, HEAD + CLASS.format(method="transform") + TAIL) != "present"


SETS = """
class Scans(torch.utils.data.Dataset):
    def __init__(self, rows):
        self.rows = rows
def {step}(rows):
    return (rows - 1.0) / 4.0
train = Scans({step}(x_train))
val = Scans({step}(x_val))
test = Scans({test})
"""


def test_one_part_is_left_as_it_is() -> None:
    assert state(APART, HEAD + SETS.format(step="scale", test="x_test") + TAIL) == "present"


@pytest.mark.parametrize(
    ("step", "test"),
    [("scale", "scale(x_test)"), ("augment", "x_test"), ("scale", "ready")],
)
def test_all_parts_alike(step: str, test: str) -> None:
    ready = "" if test != "ready" else "ready = scale(x_test)\n"
    body = SETS.format(step=step, test=test).replace("train = Scans", ready + "train = Scans", 1)
    assert state(APART, HEAD + body + TAIL) != "present"
