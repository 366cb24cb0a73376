"""Weights of another training that reach no model: parts that are filled, and word vectors."""

from __future__ import annotations

import ast

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.loss.negated import _maximises
from traindoctor.probes.code.model.pretrained import _lost
from traindoctor.probes.scripts.syntax import Script

KERAS = """
import numpy as np
from tensorflow import keras

def build_model(size):
    text = keras.Input((60,))
    out = keras.layers.Dense(3)(keras.layers.Embedding(size, 8, name="words")(text))
    return keras.Model(text, out)

def main(path):
    model = build_model(10)
    vectors = np.load("glove.npy")
    {line}
    model.compile(optimizer=keras.optimizers.Adam(learning_rate={rate}), loss="mse")
    model.fit(x, y)
"""
SET = 'model.get_layer("words").set_weights([vectors])'


def lost(text: str) -> bool | None:
    found = _lost(Script("train.py", text, ast.parse(text)))
    return None if found is None else found.state is State.PRESENT


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (SET, False),
        ("pass", True),
        (f"{SET}\n    model = build_model(10)", True),
        (SET.replace("model.", "build_model(10).", 1), True),
        (f"{SET}\n    model.summary()\n    model = wrap(model)", False),
    ],
)
def test_vectors_in_keras(line: str, found: bool) -> None:
    assert lost(KERAS.replace("{line}", line).replace("{rate}", "1e-3")) is found


def test_nothing_is_read() -> None:
    text = KERAS.replace('    vectors = np.load("glove.npy")\n', "").replace("{line}", "pass")
    assert lost(text.replace("{rate}", "1e-3")) is None


ROWS = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(9, 8)
    def forward(self, x):
        return self.words(x)

def main(path):
    model = Net()
    vectors = torch.load("vectors.pt")
    with torch.no_grad():
        for i, word in enumerate(known):
            if word in vectors:
                {row}
    {line}
    opt = torch.optim.Adam(model.parameters())
"""
ROW = "model.words.weight[i] = vectors[word]"


@pytest.mark.parametrize(
    ("row", "line", "found"),
    [
        (ROW, "model = model.cuda()", False),
        (ROW, "model = Net().cuda()", True),
        ("count = i", "model = model.cuda()", True),
        ("rows.append(vectors[word])", "pass", False),
    ],
)
def test_rows_that_are_written(row: str, line: str, found: bool) -> None:
    assert bool(lost(ROWS.replace("{row}", row).replace("{line}", line))) is found


@pytest.mark.parametrize(
    ("load", "found"),
    [
        ("state = torch.load(args.start)", True),
        ("state = torch.load(args.start)\nmodel.load_state_dict(state)", False),
        ("table = torch.load(args.start)", False),  # may be data
    ],
)
def test_a_state_that_is_only_read(load: str, found: bool) -> None:
    assert bool(lost(f"import torch\nmodel = make()\n{load}\nopt = Adam(model.parameters())\n")) is found


@pytest.mark.parametrize(("rate", "found"), [("-1e-3", True), ("1e-3", False), ("-rate", False)])
def test_a_rate_below_zero(rate: str, found: bool) -> None:
    text = KERAS.replace("{line}", SET).replace("{rate}", rate)
    held = _maximises(Script("train.py", text, ast.parse(text)))
    assert (held is not None and held.state is State.PRESENT) is found


TURNED = """
import torch
from torch import nn
import torch.nn.functional as F
model = nn.Linear(4, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    opt.zero_grad()
    loss = F.cross_entropy(model(x), y)
    {back}.backward()
    for p in model.parameters():
        {turn}
    opt.step()
"""


@pytest.mark.parametrize(
    ("turn", "back", "found"),
    [
        ("p.grad.neg_()", "loss", True),
        ("p.grad = -p.grad", "loss", True),
        ("if p.grad is not None:\n            p.grad.mul_(-1.0)", "loss", True),
        ("p.grad.mul_(0.5)", "loss", False),
        ("p.grad.neg_()", "(-loss)", False),  # turned twice
        ("if p.dim() > 1:\n            p.grad.neg_()", "loss", False),
    ],
)
def test_gradients_turned_before_the_step(turn: str, back: str, found: bool) -> None:
    text = TURNED.replace("{turn}", turn).replace("{back}", back)
    held = _maximises(Script("train.py", text, ast.parse(text)))
    assert (held is not None and held.state is State.PRESENT) is found
