# ruff: noqa: E501
"""Wiring and normalisation of a model, as different people write them: present, absent, unknown."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

TORCH = """
import torch
from torch import nn
class {CLASS}(nn.Module):
    def __init__(self, dim):
        super().__init__()
        {INIT}
    def forward(self, x, mask=None):
        {FORWARD}
class Model(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        self.layers = nn.ModuleList([{CLASS}(dim) for _ in range(depth)])
        self.head = nn.Linear(dim, 10)
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)
"""
CELL = """
import mindspore.nn as nn
import mindspore.ops as ops
class Unit(nn.Cell):
    def __init__(self, dim):
        super().__init__()
        {INIT}
    def construct(self, x):
        {FORWARD}
"""
KERAS = """
import keras
class Unit(keras.layers.Layer):
    def __init__(self, dim):
        super().__init__()
        {INIT}
    def call(self, x, training=None):
        {FORWARD}
"""


def _block(text: str, init: str, forward: str, name: str = "Mixer") -> str:
    pad = "\n" + " " * 8
    return (
        text.replace("{CLASS}", name)
        .replace("{INIT}", init.replace("; ", pad))
        .replace("{FORWARD}", forward.replace("; ", pad))
    )


TWO = "self.norm_a = nn.LayerNorm(dim); self.norm_b = nn.LayerNorm(dim); self.attn = Attention(dim); self.ffn = Ffn(dim)"
CONV = "self.conv = nn.Conv2d(dim, dim, 3); self.short = nn.Conv2d(dim, dim, 1)"
WIRED = [
    ("script-stream-replaced", P, TORCH, TWO, "x = x + self.attn(self.norm_a(x)); x = self.ffn(self.norm_b(x)); return x"),
    ("script-stream-replaced", P, TORCH, TWO, "x += self.attn(self.norm_a(x)); x = self.ffn(self.norm_b(x)); return x, mask"),
    ("script-stream-replaced", A, TORCH, TWO, "x = x + self.attn(self.norm_a(x)); x = x + self.ffn(self.norm_b(x)); return x"),
    ("script-stream-replaced", A, TORCH, TWO, "x = x + self.attn(self.norm_a(x)); x = self.norm_b(x); return x"),
    ("script-stream-replaced", U, TORCH, TWO, "h = self.attn(self.norm_a(x)); return self.ffn(self.norm_b(h))"),
    ("script-value-unused", P, TORCH, CONV, "residual = self.short(x); y = self.conv(x).relu(); return y"),
    ("script-value-unused", P, CELL, CONV, "identity = x; out = self.conv(x); return ops.relu(out)"),
    ("script-value-unused", P, KERAS, "self.dense = keras.layers.Dense(4)", "skip = x; return self.dense(x)"),
    ("script-value-unused", A, TORCH, CONV, "residual = self.short(x); return self.conv(x) + residual"),
    ("script-value-unused", A, TORCH, CONV, "b, c, h, w = x.shape; size = x.size(1); return self.conv(x) + self.short(x)"),
    ("script-layer-unused", P, TORCH, CONV, "return self.conv(x)"),
    ("script-layer-unused", P, TORCH, "self.pos = nn.Parameter(torch.zeros(1, dim)); self.fc = nn.Linear(dim, dim)", "return self.fc(x)"),
    ("script-layer-unused", P, CELL, "self.fc = nn.Dense(dim, dim); self.gate = nn.Dense(dim, dim)", "return self.fc(x)"),
    ("script-layer-unused", A, TORCH, CONV, "return self.conv(x) + self.short(x)"),
    ("script-layer-unused", A, TORCH, CONV, "return getattr(self, 'conv')(x)"),
    ("script-norm-unused", P, KERAS, "self.norm = keras.layers.LayerNormalization(); self.d = keras.layers.Dense(4)", "return x + self.d(x)"),
    ("script-norm-unused", P, TORCH, TWO, "x = x + self.attn(x); return x + self.ffn(self.norm_b(x))"),
    ("script-norm-unused", A, TORCH, TWO, "x = x + self.attn(self.norm_a(x)); return x + self.ffn(self.norm_b(x))"),
    ("script-norm-unused", U, TORCH, CONV, "return self.conv(x)"),
    ("script-norm-is-identity", P, TORCH, "self.norm1 = nn.Identity(); self.attn = Attention(dim)", "return x + self.attn(self.norm1(x))"),
    ("script-norm-is-identity", A, TORCH, "self.norm1 = nn.LayerNorm(dim); self.attn = Attention(dim)", "return x + self.attn(self.norm1(x))"),
    ("script-norm-is-identity", U, TORCH, "self.norm1 = nn.LayerNorm(dim) if dim > 8 else nn.Identity(); self.a = A(dim)", "return self.a(self.norm1(x))"),
    ("script-norm-is-identity", U, TORCH, CONV, "return self.conv(x)"),
]  # fmt: skip


@pytest.mark.parametrize(("symptom", "wanted", "text", "init", "forward"), WIRED)
def test_wiring(symptom: str, wanted: str, text: str, init: str, forward: str) -> None:
    assert state(symptom, _block(text, init, forward)) == wanted


@pytest.mark.parametrize(
    ("wanted", "init", "forward"),
    [
        (P, "self.attn = Attn(dim); self.ffn = Ffn(dim)", "x = x + self.attn(x); x = x + self.ffn(x); return x"),
        (A, "self.attn = Attn(dim); self.norm = nn.LayerNorm(dim)", "x = x + self.attn(self.norm(x)); return x"),
        (A, "self.attn = Attn(dim); self.gamma = nn.Parameter(torch.zeros(dim))", "x = x + self.gamma * self.attn(x); x = x + self.attn(x); return x"),
        (U, "self.fc = nn.Linear(dim, dim)", "return self.fc(x)"),
    ],
)  # fmt: skip
def test_a_stack_of_attention_blocks_needs_normalisation(wanted: str, init: str, forward: str) -> None:
    assert state("script-blocks-without-norm", _block(TORCH, init, forward)) == wanted


def test_no_model_leaves_everything_open() -> None:
    for symptom in (
        "script-value-unused",
        "script-layer-unused",
        "script-stream-replaced",
        "script-wiring-wrong",
    ):
        assert state(symptom, "import torch\nprint(torch.ones(2))\n") == U


def test_what_points_to_one_cause_is_taken_together() -> None:
    text = _block(TORCH, CONV, "residual = self.short(x); return self.conv(x)")
    assert state("script-wiring-wrong", text) == P
    assert state("script-wiring-wrong", _block(TORCH, CONV, "return self.conv(x) + self.short(x)")) == A
    assert state("script-norm-missing", _block(TORCH, TWO, "return x + self.attn(self.norm_a(x))")) == P
    assert (
        state(
            "script-norm-missing",
            _block(TORCH, TWO, "return self.ffn(self.norm_b(self.attn(self.norm_a(x))))"),
        )
        == A
    )


BLOCK = """
import torch
from torch import nn
class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.mix, self.up = nn.Linear(d, d), nn.Linear(d, d)
        self.drop = nn.Dropout(0.1)
    def attend(self, x):
        {MASK}
        return self.mix(x)
    def forward(self, x):
        x = {STREAM}self.drop(self.attend(self.norm1(x)))
        return x + self.drop(self.up(self.norm2(x)))
"""


def test_a_branch_in_place_of_the_stream_that_is_handed_back_as_a_sum() -> None:
    block = BLOCK.replace("{MASK}", "pass")
    assert state("script-wiring-wrong", block.replace("{STREAM}", "x + ")) == "absent"
    assert state("script-wiring-wrong", block.replace("{STREAM}", "")) == "present"


def test_a_mask_that_a_method_of_the_model_makes_and_leaves() -> None:
    block = BLOCK.replace("{STREAM}", "x + ")
    made = "mask = torch.ones(4, 4, device=x.device).tril()"
    assert state("script-wiring-wrong", block.replace("{MASK}", made)) == "present"
    assert state("script-wiring-wrong", block.replace("{MASK}", f"{made}; x = x * mask")) == "absent"
