"""Skips that nothing reads, softmaxes between layers, counts that nothing reads, one value twice."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from tests.probes._scripts import state
from traindoctor.probes.code.evaluation.size_unread import counted_and_divided_by_batches
from traindoctor.probes.code.evaluation.twice_alike import one_value_under_two_names
from traindoctor.probes.code.model.skips_lost import skip_gathered_and_unread, softmax_in_each_round
from traindoctor.probes.registry import Finding
from traindoctor.probes.scripts.syntax import Script

KERAS = """
from keras import layers, Input, Model
def net():
    h, kept = Input((64, 64, 1)), []
    for n in (8, 16):
        h = layers.Conv2D(n, 3, padding="same")(h)
        h = {bend}(h)
        kept.append(h)
        h = layers.MaxPooling2D()(h)
    for n, side in zip((16, 8), {over}):
        h = layers.UpSampling2D()(h)
        h = {joined}
    return h
"""
TORCH = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([nn.Conv2d(1, 8, 3), nn.Conv2d(8, 16, 3)])
        self.up = nn.ModuleList([nn.Conv2d(16, 8, 3), nn.Conv2d(8, 1, 3)])
    def forward(self, h):
        kept = []
        for d in self.down:
            h = d(h)
            kept.append(h)
        for i, (u, side) in enumerate(zip(self.up, reversed(kept))):
            h = {joined}
        return h
"""
SUMS = """
def judged(net, loader):
    wrong, seen = 0.0, 0
    for x, y in loader:
        wrong += {added}
        seen += y.numel()
    return wrong / {below}
"""
TWICE = """
def dice(said, truth, k):
    a, b = {one} > 0, {other} > 0
    return 2 * (a & b).sum() / (a.sum() + b.sum())
"""
RELU = 'layers.Activation("relu")'
JOINED = "layers.Concatenate()([h, side])"

CASES: list[tuple[Callable[[Script], Finding | None], str, bool]] = [
    (
        skip_gathered_and_unread,
        KERAS.format(bend=RELU, over="kept[::-1]", joined="layers.Conv2D(n, 3)(h)"),
        True,
    ),
    (skip_gathered_and_unread, KERAS.format(bend=RELU, over="reversed(kept)", joined="block(h, n)"), True),
    (skip_gathered_and_unread, TORCH.format(joined="u(h)"), True),
    (skip_gathered_and_unread, KERAS.format(bend=RELU, over="kept[::-1]", joined=JOINED), False),
    (skip_gathered_and_unread, TORCH.format(joined="u(h + side)"), False),
    (
        skip_gathered_and_unread,
        TORCH.format(joined="u(torch.cat([h, kept[i]]))").replace("side)", "_)"),
        False,
    ),
    (skip_gathered_and_unread, KERAS.format(bend=RELU, over="rates", joined="layers.Dropout(0.1)(h)"), False),
    (
        softmax_in_each_round,
        KERAS.format(bend='layers.Activation("softmax")', over="kept", joined=JOINED),
        True,
    ),
    (softmax_in_each_round, KERAS.format(bend="layers.Softmax()", over="kept", joined=JOINED), True),
    (softmax_in_each_round, KERAS.format(bend=RELU, over="kept", joined=JOINED), False),
    (
        softmax_in_each_round,
        KERAS.format(bend=RELU, over="kept", joined=JOINED)
        + '    # gate\n    layers.Activation("softmax")(h)\n',
        False,
    ),
    (
        counted_and_divided_by_batches,
        SUMS.format(added="(net(x) - y).abs().sum().item()", below="len(loader)"),
        True,
    ),
    (
        counted_and_divided_by_batches,
        SUMS.format(added="float(((net(x) - y) ** 2).sum())", below="len(loader)"),
        True,
    ),
    (
        counted_and_divided_by_batches,
        SUMS.format(added="(net(x) - y).abs().sum().item()", below="seen"),
        False,
    ),
    (
        counted_and_divided_by_batches,
        SUMS.format(added="(net(x) - y).abs().mean().item()", below="len(loader)"),
        False,
    ),
    (
        counted_and_divided_by_batches,
        SUMS.format(added="(net(x) - y).abs().sum()", below="len(loader.dataset)"),
        False,
    ),
    (one_value_under_two_names, TWICE.format(one="said[k]", other="said[k]"), True),
    (one_value_under_two_names, TWICE.format(one="said[k]", other="truth[k]"), False),
    (
        one_value_under_two_names,
        TWICE.format(one="said[k]", other="said[k]").replace("a & b", "a & c"),
        False,
    ),
    (
        one_value_under_two_names,
        TWICE.format(one="k", other="k").replace("    return", "    b = b + 1\n    return"),
        False,
    ),
]


@pytest.mark.parametrize(("check", "text", "found"), CASES)
def test_found(check: Callable[[Script], Finding | None], text: str, found: bool) -> None:
    assert (check(Script("train.py", text, ast.parse(text))) is not None) is found


PLAIN = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = {made}
        for _ in range(3):
            one = nn.Sequential(nn.Conv2d(8, 8, 3), nn.ReLU())
            self.parts.append({held})
    def forward(self, x):
        for p in self.parts:
            x = p(x)
        return x
net = Net()
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in loader:
    nn.functional.mse_loss(net(x), y).backward()
    opt.step()
    opt.zero_grad()
"""


@pytest.mark.parametrize(
    ("made", "held", "found"),
    [("[]", "one", True), ("nn.ModuleList()", "one", False), ("[]", "3", False)],
)
def test_layers_by_name(made: str, held: str, found: bool) -> None:
    assert (state("script-layers-in-plain-list", PLAIN.format(made=made, held=held)) == "present") is found
