"""Heads of attention that are split off, or put back, by a reshape alone."""

from __future__ import annotations

import pytest

from .._scripts import state

MIXED = "script-reshape-for-transpose"
NET = """
import torch
from torch import nn
import torch.nn.functional as F
class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.d = heads, width // heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
    def forward(self, x):
        b, t, c = x.shape
        SPLIT
        a = F.softmax(q @ k.transpose(-2, -1) / self.d ** 0.5, dim=AXIS)
        BACK
net = Attention(64, 4)
opt = torch.optim.Adam(net.parameters())
for x, y in loader:
    opt.zero_grad()
    F.cross_entropy(net(x), y).backward()
    opt.step()
"""
SPLIT = "q, k, v = (z.view(b, t, self.heads, self.d).transpose(1, 2) for z in self.qkv(x).chunk(3, dim=-1))"
BACK = "return self.out((a @ v).transpose(1, 2).reshape(b, t, c))"


def _program(split: str = SPLIT, back: str = BACK, axis: int = -1) -> str:
    return (
        NET.replace("AXIS", str(axis))
        .replace("SPLIT", split.replace("\n", "\n        "))
        .replace("BACK", back.replace("\n", "\n        "))
    )


@pytest.mark.parametrize(
    ("split", "back"),
    [
        ("q, k, v = (z.reshape(b, self.heads, t, -1) for z in self.qkv(x).chunk(3, dim=-1))", BACK),
        (
            "q, k, v = self.qkv(self.norm(x)).split(c, dim=2)\nq = q.view(b, self.heads, t, self.d)\n"
            "k = k.view(b, self.heads, t, self.d)\nv = v.view(b, self.heads, t, self.d)",
            BACK,
        ),
        (SPLIT, "return self.out((a @ v).reshape(b, t, c))"),
        (
            "q, k, v = self.qkv(x).view(b, t, 3, self.heads, self.d).permute(2, 0, 3, 1, 4)",
            "return self.out((a @ v).view(b, t, c))",
        ),
        (
            "q, k, v = self.qkv(x).split(c, dim=-1)\nq = q.view(b, t, self.heads, self.d).transpose(1, 2)\n"
            "k = k.view(b, t, self.heads, self.d).transpose(1, 2)\n"
            "v = v.view(b, t, self.heads, self.d).permute(0, 2, 1, 3)",
            "y = torch.matmul(a, v)\ny = y.contiguous().view(b, t, c)\nreturn self.out(y)",
        ),
    ],
)
def test_steps_and_heads_are_mixed(split: str, back: str) -> None:
    assert state(MIXED, _program(split, back)) == "present"


@pytest.mark.parametrize(
    ("split", "back"),
    [
        (SPLIT, BACK),
        ("q, k, v = self.qkv(x).view(b, t, 3, self.heads, self.d).permute(2, 0, 3, 1, 4)", BACK),
        (SPLIT, "y = a @ v\ny = y.permute(0, 2, 1, 3)\nreturn self.out(y.contiguous().view(b, t, -1))"),
        # channels first: the heads are cut out of the channels
        (
            "x = x.transpose(1, 2)\nq = k = v = x.reshape(b, self.heads, self.d, t).transpose(2, 3)",
            "return (a @ v).transpose(2, 3).reshape(b, c, t).transpose(1, 2)",
        ),
        # the pass back undoes the same cut: (b, t, h, d) all the way
        (
            "q, k, v = (z.view(b, t, self.heads, self.d) for z in self.qkv(x).chunk(3, dim=-1))",
            "return self.out((a @ v).reshape(b, t, c))",
        ),
        ("q, k, v = self.cut(x)", "return self.out((a @ v).reshape(b, t, c))"),
    ],
)
def test_heads_in_their_places_are_right(split: str, back: str) -> None:
    assert state(MIXED, _program(split, back)) != "present"


@pytest.mark.parametrize(("axis", "found"), [(-1, False), (3, False), (1, True), (-3, True), (0, True)])
@pytest.mark.parametrize(
    "split", [SPLIT, "q, k, v = self.qkv(x).view(b, t, 3, self.heads, self.d).permute(2, 0, 3, 1, 4)"]
)
def test_the_axis_of_the_shares(split: str, axis: int, found: bool) -> None:
    assert (state(MIXED, _program(split, BACK, axis)) == "present") is found


def test_layers_made_by_a_generator_are_known() -> None:
    layers = "self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))"
    code = _program("q = self.q(x).view(b, self.heads, t, self.d)\nk = v = q", BACK)
    assert state(MIXED, code.replace("self.qkv = nn.Linear(width, 3 * width)", layers)) == "present"
