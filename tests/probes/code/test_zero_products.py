# ruff: noqa: E501
"""Two factors at zero that are multiplied: adapters, gates, tables."""

from __future__ import annotations

import pytest

from .._scripts import state

ZERO = "script-zero-init"
TORCH = """
import torch
import torch.nn.functional as F
from torch import nn
class Adapter(nn.Module):
    def __init__(self, base, d, r=8):
        super().__init__()
        self.base, self.drop = base, nn.Dropout(0.1)
        {INIT}
    def forward(self, x):
        return self.base(x) + {DELTA}
"""
PAIR = "self.a = nn.Parameter(torch.{})\n        self.b = nn.Parameter(torch.{})"
LAYERS = "self.a = nn.Linear(d, r, bias={})\n        self.b = nn.Linear(r, d, bias=False)\n        {}\n        nn.init.zeros_(self.b.weight)"
GATE = "self.gate = nn.Parameter(torch.zeros(1))\n        self.out = nn.Linear(d, d)\n        nn.init.zeros_(self.out.weight)\n        {}"


@pytest.mark.parametrize(
    ("init", "delta", "found"),
    [
        (PAIR.format("zeros(d, r)", "zeros(r, d)"), "x @ self.a @ self.b", True),
        (PAIR.format("randn(d, r)", "zeros(r, d)"), "x @ self.a @ self.b", False),
        (PAIR.format("zeros(r, d)", "zeros(d, r)"), "F.linear(F.linear(self.drop(x), self.a), self.b)", True),
        (PAIR.format("zeros(d, r)", "zeros(d, r)"), "x + self.a + self.b", False),
        (
            PAIR.format("zeros(r, d)", "zeros(d, r)") + "\n        nn.init.kaiming_uniform_(self.a)",
            "x @ self.a.T @ self.b.T",
            False,
        ),
        (LAYERS.format("False", "nn.init.zeros_(self.a.weight)"), "self.b(self.drop(self.a(x))) * 2", True),
        (LAYERS.format("True", "nn.init.zeros_(self.a.weight)"), "self.b(self.a(x))", False),
        (LAYERS.format("False", "nn.init.kaiming_uniform_(self.a.weight)"), "self.b(self.a(x))", False),
        (GATE.format("nn.init.zeros_(self.out.bias)"), "self.gate * self.out(x)", True),
        (GATE.format("pass"), "self.gate * self.out(x)", False),
        (GATE.format("nn.init.zeros_(self.out.bias)"), "torch.sigmoid(self.gate) * self.out(x)", False),
    ],
)
def test_factors_in_torch(init: str, delta: str, found: bool) -> None:
    code = TORCH.replace("{INIT}", init).replace("{DELTA}", delta)
    assert (state(ZERO, code) == "present") is found


@pytest.mark.parametrize(("start", "found"), [("'zeros'", True), ("'he_normal'", False)])
def test_factors_in_keras(start: str, found: bool) -> None:
    code = f"""
import tensorflow as tf
from tensorflow.keras import layers
class Adapter(layers.Layer):
    def __init__(self, d, r):
        super().__init__()
        self.down = layers.Dense(r, use_bias=False, kernel_initializer={start})
        self.up = layers.Dense(d, use_bias=False, kernel_initializer='zeros')
    def call(self, x):
        h = self.down(x)
        return x + self.up(h)
"""
    assert (state(ZERO, code) == "present") is found


@pytest.mark.parametrize(("start", "found"), [("'zeros'", True), ("'normal'", False)])
def test_factors_in_mindspore(start: str, found: bool) -> None:
    code = f"""
from mindspore import nn
class Adapter(nn.Cell):
    def __init__(self, d, r):
        super().__init__()
        self.down = nn.Dense(d, r, weight_init={start}, has_bias=False)
        self.up = nn.Dense(r, d, weight_init='zeros', has_bias=False)
    def construct(self, x):
        return x + self.up(self.down(x))
"""
    assert (state(ZERO, code) == "present") is found
