"""Attention that a script writes out: the axis of its softmax, its scale, its masks, its heads."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

CELL = """
import math
import numpy as np
import mindspore as ms
from mindspore import nn, ops, Tensor
PAD = 0
class Attention(nn.Cell):
    def __init__(self, dim=64, heads=4):
        super().__init__()
        self.heads, self.size = heads, dim // heads
        self.wq, self.wk, self.wv = nn.Dense(dim, dim), nn.Dense(dim, dim), nn.Dense(dim, dim)
        self.out = nn.Dense(dim, dim)
        self.scale = {SCALE}
        self.softmax = nn.Softmax(axis={AXIS})
        self.product = ops.BatchMatMul(transpose_b=True)
        self.order = Tensor(np.{TRIANGLE}(np.ones((128, 128))), ms.float32)
    def split(self, x):
        b, s, _ = x.shape
        return {SPLIT}
    def construct(self, x, ids):
        b, s, h = x.shape
        q, k, v = self.split(self.wq(x)), self.split(self.wk(x)), self.split(self.wv(x))
        seen = ops.cast(ops.not_equal(ids, PAD), ms.float32).expand_dims(1).expand_dims(1)
        mask = {MASK}
        scores = self.product(q, k) * self.scale
        {APPLIED}
        weights = self.softmax(scores)
        y = ops.matmul(weights, v)
        return self.out({JOINED})
"""


def cell(**given: str) -> str:
    """Right attention, but for what is given."""
    told = {
        "SCALE": "(dim // heads) ** -0.5",
        "AXIS": "-1",
        "TRIANGLE": "tril",
        "SPLIT": "x.reshape((b, s, self.heads, self.size)).transpose((0, 2, 1, 3))",
        "MASK": "self.order[:s, :s] * seen",
        "APPLIED": "scores = scores + (1.0 - mask) * -10000.0",
        "JOINED": "y.transpose((0, 2, 1, 3)).reshape((b, s, h))",
        **given,
    }
    text = CELL
    for name, value in told.items():
        text = text.replace("{" + name + "}", value)
    return text


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, U),
        ({"AXIS": "3"}, U),
        ({"AXIS": "2"}, P),
        ({"AXIS": "1"}, P),
        ({"AXIS": "-2"}, P),
    ],
)
def test_the_axis_of_the_weights(given: dict[str, str], expected: str) -> None:
    assert (state("script-softmax-axis", cell(**given)) == P) is (expected == P)


def test_two_axes_in_the_middle_of_three_are_keys() -> None:
    """Without heads the last of three axes is the second."""
    plain = cell(AXIS="2", SPLIT="x", JOINED="y")
    assert state("script-softmax-axis", plain) != P


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        ("math.sqrt(dim // heads)", P),
        ("(dim // heads) ** 0.5", P),
        ("1 / math.sqrt(dim // heads)", U),
        ("(dim // heads) ** -0.5", U),
        ("math.sqrt(1.0 / (dim // heads))", U),
    ],
)
def test_scores_are_divided(scale: str, expected: str) -> None:
    assert (state("script-attention-unscaled", cell(SCALE=scale)) == P) is (expected == P)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, U),
        ({"APPLIED": "scores = scores * mask"}, P),
        ({"APPLIED": "scores = scores + mask * -10000.0"}, P),
        ({"APPLIED": "scores = scores + mask * -1e9", "MASK": "seen"}, P),
        ({"APPLIED": "scores = scores + mask * -1e9", "MASK": "1 - seen"}, U),
        ({"APPLIED": "scores = scores + (1 - mask) * -1e9", "MASK": "1 - seen"}, P),
        ({"APPLIED": "scores = scores + mask * -1e9", "MASK": "given(ids)"}, U),
        ({"APPLIED": "scores = scores * mask + (1 - mask) * -1e9"}, U),
        ({"APPLIED": "scores = scores + mask * -1e9", "MASK": "ops.equal(ids, PAD)"}, U),
        ({"APPLIED": "scores = scores + mask * -1e9", "MASK": "ops.not_equal(ids, PAD)"}, P),
        ({"APPLIED": "scores = scores + mask * -1e9", "MASK": "ids != segment"}, U),
    ],
)
def test_masks_hide_what_they_should(given: dict[str, str], expected: str) -> None:
    assert (state("script-operator-wrong", cell(**given)) == P) is (expected == P)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, U),
        ({"TRIANGLE": "triu"}, P),
        ({"MASK": "seen"}, P),
        ({"TRIANGLE": "triu", "APPLIED": "scores = scores + mask * -1e9", "MASK": "self.order - 1"}, U),
        ({"MASK": "seen * self.order"}, U),
    ],
)
def test_what_follows_is_hidden(given: dict[str, str], expected: str) -> None:
    assert (state("script-training-sees-evaluation", cell(**given)) == P) is (expected == P)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, U),
        ({"JOINED": "y.reshape((b, s, h))"}, P),
        ({"JOINED": "ops.reshape(y, (b, s, h))"}, P),
        ({"JOINED": "y.swapaxes(1, 2).reshape((b, s, h))"}, U),
        ({"SPLIT": "x.reshape((b, s, h))", "JOINED": "y.reshape((b, s, h))"}, U),
    ],
)
def test_heads_are_turned_back(given: dict[str, str], expected: str) -> None:
    assert (state("script-reshape-for-transpose", cell(**given)) == P) is (expected == P)


@pytest.mark.parametrize(
    ("split", "expected"),
    [
        ("x.reshape((b, self.heads, s, self.size))", P),
        ("x.reshape((b, s, self.heads, self.size)).transpose((0, 2, 1, 3))", U),
        ("x.reshape((b, 1, s, self.size))", U),
    ],
)
def test_heads_come_out_of_channels(split: str, expected: str) -> None:
    assert (state("script-operator-wrong", cell(SPLIT=split)) == P) is (expected == P)


TORCH = """
import torch
from torch import nn
class Attention(nn.Module):
    def __init__(self, dim=64, heads=4):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
    def forward(self, x):
        b, n, c = x.shape
        qkv = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv[0], qkv[1], qkv[2]
        scores = (q @ k.transpose(-2, -1)) * (c // self.heads) ** -0.5
        weights = scores.softmax(dim={AXIS})
        return self.out((weights @ v){TURN}.reshape(b, n, c))
"""


@pytest.mark.parametrize(
    ("axis", "turn", "symptom", "expected"),
    [
        ("-1", ".transpose(1, 2)", "script-softmax-axis", U),
        ("1", ".transpose(1, 2)", "script-softmax-axis", P),
        ("2", ".transpose(1, 2)", "script-softmax-axis", P),
        ("-1", "", "script-reshape-for-transpose", P),
        ("-1", ".transpose(1, 2)", "script-reshape-for-transpose", U),
    ],
)
def test_attention_of_pytorch(axis: str, turn: str, symptom: str, expected: str) -> None:
    text = TORCH.replace("{AXIS}", axis).replace("{TURN}", turn)
    assert (state(symptom, text) == P) is (expected == P)


WRITTEN_OUT = """
import math
import torch
from torch import nn
HEADS, WIDTH = 4, 64
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (z.view(b, t, HEADS, c // HEADS).transpose(1, 2) for z in self.qkv(x).split(WIDTH, dim=2))
        s = q @ k.transpose(-2, -1) {SCALE}
        s = s.masked_fill(torch.ones(t, t).triu(1).bool(), float("-inf"))
        return (s.softmax(dim=-1) @ v).transpose(1, 2).reshape(b, t, c)
"""


@pytest.mark.parametrize(
    ("scale", "fires"),
    [
        ("/ math.sqrt(c // HEADS)", False),
        ("* (c // HEADS) ** -0.5", False),
        ("* (1 / math.sqrt(c // HEADS))", False),
        ("* math.sqrt(c // HEADS)", True),
        ("/ math.sqrt(HEADS)", True),
        ("/ math.sqrt(k.size(-1))", False),
    ],
)
def test_the_scale_is_the_root_of_the_width_of_a_head(scale: str, fires: bool) -> None:
    assert (state("script-attention-unscaled", WRITTEN_OUT.replace("{SCALE}", scale)) == P) == fires


GENERAL = """
import torch
from torch import nn
class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(32, 64, batch_first=True)
        self.query, self.value = nn.Linear(64, 64, bias=False), nn.Linear(64, 64)
        self.out = nn.Linear(128, 10)
    def forward(self, x, memory):
        h, _ = self.rnn(x)
        values = self.value(memory)
        weight = (self.query(h) @ memory.transpose(1, 2)).softmax(dim=-1)
        return self.out(torch.cat([h, weight @ {READ}], -1))
"""


@pytest.mark.parametrize(("read", "fires"), [("memory", False), ("values", True)])
def test_scores_over_what_is_read_itself_have_no_scale(read: str, fires: bool) -> None:
    """Luong's attention: the states of the encoder are both keys and values."""
    assert (state("script-attention-unscaled", GENERAL.replace("{READ}", read)) == P) == fires


ONE_STEP = """
import torch
from torch import nn
class Speller(nn.Module):
    def __init__(self):
        super().__init__()
        self.read = nn.LSTM(16, 24, bidirectional=True, batch_first=True)
        self.turn = nn.Linear(48, 24)
        self.step = nn.LSTM(16, 24, batch_first=True)
    def forward(self, x, y):
        states, _ = self.read(x)
        h, _ = self.step(y)
        {KEYS}
        return torch.cat([h, torch.softmax(grid, dim=-1) @ {READ}], dim=-1)
"""
_IN_PLACE = "grid = h @ self.turn(states).transpose(1, 2)"
_BY_NAME = "k = self.turn(states)\n        grid = torch.bmm(h, k.transpose(1, 2))"


@pytest.mark.parametrize("keys", [_IN_PLACE, _BY_NAME])
@pytest.mark.parametrize(("read", "fires"), [("states", False), ("self.other(states)", True)])
def test_keys_that_are_a_layer_of_what_is_read_have_no_scale(keys: str, read: str, fires: bool) -> None:
    """Luong's general form."""
    text = ONE_STEP.replace("{KEYS}", keys).replace("{READ}", read)
    assert (state("script-attention-unscaled", text) == P) == fires
