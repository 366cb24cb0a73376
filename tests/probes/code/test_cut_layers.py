"""Layers that a forward pass runs for nothing: no gradient gets back to them, or no value gets out."""

from __future__ import annotations

import ast

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.model.cut_layers import layer_cut_off, layer_without_value
from traindoctor.probes.scripts.syntax import Script

NET = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(90, 8)
        self.rnn = nn.GRU(8, 8, batch_first=True)
        self.head = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))
        self.{more} = nn.Linear(8, 4)
    def encode(self, x):
        out, _ = self.rnn(self.emb(x))
        return out
    def forward(self, x, mask=None):
"""
CELL = """
import mindspore as ms
from mindspore import nn, ops
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Dense(8, 8)
        self.fc2 = nn.Dense(8, 1)
    def construct(self, x):
"""
KERAS = """
import tensorflow as tf
from tensorflow.keras import layers
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.a = layers.Dense(8, activation="relu")
        self.b = layers.Dense(1)
    def call(self, x, training=False):
"""


def script(text: str) -> Script:
    return Script("train.py", text, ast.parse(text))


def net(forward: str, start: str = NET, more: str = "side") -> Script:
    body = "".join(f"        {line}\n" for line in forward.splitlines())
    return script(start.replace("{more}", more) + body)


@pytest.mark.parametrize(
    "forward",
    [
        "h = self.encode(x).detach()\nreturn self.head(h.mean(1)) + self.side(h.mean(1))",
        "with torch.no_grad():\n    h = self.encode(x)\nreturn self.head(h[:, -1]) + self.side(h[:, 0])",
        "h = self.encode(x)\nh = h[:, -1].data\nreturn self.head(h) + self.side(h)",
        "h = torch.tensor(self.encode(x).detach().cpu().numpy())\nreturn self.head(h[:, 0])",
        "parts = []\nfor i in range(3):\n    parts.append(self.encode(x).detach()[:, i])\n"
        "h = torch.stack(parts).mean(0)\nreturn self.head(h) + self.side(h)",
    ],
)
def test_no_gradient_gets_back(forward: str) -> None:
    found = layer_cut_off(net(forward))
    assert found is not None and found.state is State.PRESENT


@pytest.mark.parametrize(
    ("start", "forward"),
    [
        (CELL, "h = ops.relu(self.fc1(x))\nreturn self.fc2(ops.stop_gradient(h))"),
        (CELL, "h = ms.Tensor(self.fc1(x).asnumpy())\nreturn self.fc2(h)"),
        (KERAS, "h = tf.stop_gradient(self.a(x))\nreturn self.b(h)"),
    ],
)
def test_in_other_frameworks(start: str, forward: str) -> None:
    assert layer_cut_off(net(forward, start)) is not None


@pytest.mark.parametrize(
    "forward",
    [
        "h = self.encode(x)\nreturn self.head(h.mean(1)), self.side(h.mean(1).detach())",  # a probe beside
        "h = self.encode(x)\nq = h.round()\nh = h + (q - h).detach()\nreturn self.head(h[:, 0])",
        "h = self.encode(x)\nif mask is not None:\n    h = h.detach()\nreturn self.head(h[:, 0])",
        "h = self.encode(x)\nself.seen = h.detach().mean()\nreturn self.head(h[:, 0])",
        "x = x.detach()\nreturn self.head(self.encode(x)[:, 0])",
        "def run(z):\n    return self.encode(z).detach()\nreturn self.head(run(x))",  # not followed
    ],
)
def test_gradients_get_back(forward: str) -> None:
    assert layer_cut_off(net(forward)) is None


def test_what_is_kept_as_it_is_may_be_cut() -> None:
    frozen = "with torch.no_grad():\n    h = self.encode(x)\nreturn self.head(h[:, -1])"
    tail = "net = Net()\nfor p in net.emb.parameters():\n    p.requires_grad = False\n"
    tail += "net.rnn.load_state_dict(torch.load('r.pt'))\n"
    source = net(frozen)
    assert layer_cut_off(source) is not None
    assert layer_cut_off(script(source.text + tail)) is None
    teacher = "with torch.no_grad():\n    t = self.teacher(x)\nreturn self.head(self.encode(x)[:, 0]) - t"
    assert layer_cut_off(net(teacher, more="teacher")) is None


@pytest.mark.parametrize(
    ("forward", "present"),
    [
        ("h = self.side(x)\nh = self.encode(x)\nreturn self.head(h[:, 0])", True),
        ("h = self.side(x)\nfor _ in range(2):\n    h = self.encode(x)\nreturn self.head(h[:, 0])", False),
        ("h = self.side(x)\nh = h + self.encode(x)\nreturn self.head(h[:, 0])", False),
        (
            "h = self.side(x)\nif h.sum() > 0:\n    print('warm')\nh = self.encode(x)\nreturn self.head(h)",
            False,
        ),
        ("_ = self.side(x)\nreturn self.head(self.encode(x)[:, 0])", False),
        ("h = self.side(x)\nself.keep = h\nh = self.encode(x)\nreturn self.head(h)", False),
        ("x[0] = self.side(x)\nreturn self.head(self.encode(x)[:, 0])", False),
    ],
)
def test_what_a_layer_gives_is_replaced(forward: str, present: bool) -> None:
    assert (layer_without_value(net(forward)) is not None) is present
