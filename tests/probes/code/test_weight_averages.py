"""Averages of weights that a script keeps itself: present, absent, unknown."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

TORCH = """
import copy
import torch
from rows import loader
net = torch.nn.Linear(4, 2)
slow = copy.deepcopy(net)
decay = 0.995
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
def follow(model, ema, m):
    for p, q in zip(model.parameters(), ema.parameters()):
        {WITHIN}
for epoch in range(20):
    for x, y in loader:
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
        {STEP}
{END}
"""
CLASS = """
import torch
class Shadow:
    def __init__(self, model, decay=0.999):
        self.decay = decay
        self.model = model
        self.kept = {n: p.detach().clone() for n, p in model.named_parameters()}
    def update(self):
        for n, p in self.model.named_parameters():
            self.kept[n] = {MIX}
"""
BOTH = "zip(online.get_weights(), target.get_weights())"
KERAS = """
import tensorflow as tf
tau = 0.005
online, target = make(), make()
optimizer = tf.keras.optimizers.Adam(1e-3)
for batch in replay:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(online(batch.x) - target(batch.y)))
    optimizer.apply_gradients(zip(tape.gradient(loss, online.variables), online.variables))
    {STEP}
"""


def torch_text(within: str, step: str = "follow(net, slow, decay)", end: str = "") -> str:
    return TORCH.replace("{WITHIN}", within).replace("{STEP}", step).replace("{END}", end)


@pytest.mark.parametrize(
    ("within", "wanted"),
    [
        ("q.data.mul_(m).add_(p.data, alpha=1 - m)", A),
        ("q.data = m * q.data + (1 - m) * p.data", A),
        ("q.data.copy_(q.data * m + p.data * (1.0 - m))", A),
        ("q.data.lerp_(p.data, 1 - m)", A),
        ("q.data.copy_(p.data)", U),
        ("q.data.add_((1 - m) * (p.data - q.data))", A),
        ("q.data.mul_(1 - m).add_(p.data, alpha=m)", P),
        ("q.data = (1 - m) * q.data + m * p.data", P),
        ("q.data.lerp_(p.data, m)", P),
        ("p.data = m * q.data + (1 - m) * p.data", P),
        ("p.data.mul_(1 - m).add_(q.data, alpha=m)", P),
        ("q.data = m * q.data + m * p.data", P),
        ("q.data.mul_(m).add_(p.data)", P),
        ("q.data = 0.5 * q.data + 0.5 * p.data", A),
    ],
)
def test_in_a_function(within: str, wanted: str) -> None:
    assert state("script-average-astray", torch_text(within)) == wanted


def test_how_often() -> None:
    usual = "q.data.mul_(m).add_(p.data, alpha=1 - m)"
    assert state("script-average-astray", torch_text(usual, "pass", "follow(net, slow, decay)")) == P
    each = torch_text(usual, "pass\n    follow(net, slow, decay)")
    assert state("script-average-astray", each) == P  # 0.995 in each of 20 epochs keeps the first weights
    assert state("script-average-astray", each.replace("0.995", "0.5")) == A
    soup = torch_text("q.data = 0.5 * q.data + 0.5 * p.data", "pass", "follow(net, slow, decay)")
    assert state("script-average-astray", soup) == A


@pytest.mark.parametrize(
    ("mix", "wanted"),
    [
        ("self.decay * self.kept[n] + (1 - self.decay) * p.detach()", A),
        ("(1.0 - self.decay) * p.data + self.decay * self.kept[n]", A),
        ("(1 - self.decay) * self.kept[n] + self.decay * p.detach()", P),
        ("self.decay * p.data + (1 - self.decay) * self.kept[n]", P),
        ("p.detach()", U),
    ],
)
def test_of_a_class(mix: str, wanted: str) -> None:
    assert state("script-average-astray", CLASS.replace("{MIX}", mix)) == wanted


@pytest.mark.parametrize(
    ("step", "wanted"),
    [
        ("for a, b in zip(target.weights, online.weights):\n        a.assign(tau * b + (1 - tau) * a)", A),
        ("for a, b in zip(target.weights, online.weights):\n        a.assign(tau * a + (1 - tau) * b)", P),
        (
            "target.set_weights([tau * w + (1 - tau) * t for w, t in BOTH])",
            A,
        ),
        (
            "target.set_weights([tau * t + (1 - tau) * w for w, t in BOTH])",
            P,
        ),
        ("target.set_weights(online.get_weights())", U),
    ],
)
def test_of_keras(step: str, wanted: str) -> None:
    assert state("script-average-astray", KERAS.replace("{STEP}", step.replace("BOTH", BOTH))) == wanted


def test_what_looks_like_it() -> None:
    """A running mean of a statistic, and the slow weights of Lookahead."""
    mean = "import torch\nfor x in rows:\n    stats['m'] = 0.1 * stats['m'] + 0.9 * x.mean()\n"
    assert state("script-average-astray", mean) != P
    ahead = torch_text("q.data.add_(p.data - q.data, alpha=0.5)")
    assert state("script-average-astray", ahead) == A


def test_an_average_that_is_made_and_left() -> None:
    text = """
import copy
import torch
class Average:
    def __init__(self, model):
        self.module = copy.deepcopy(model)
    def update(self, model):
        for slow, fast in zip(self.module.parameters(), model.parameters()):
            slow.mul_(0.99).add_(fast, alpha=0.01)
net = torch.nn.Linear(4, 2)
ema = Average(net)
opt = torch.optim.Adam(net.parameters())
for x, y in loader:
    opt.zero_grad()
    torch.nn.functional.cross_entropy(net(x), y).backward()
    opt.step()
    ema.update(net)
    seen.update(len(y))
score = evaluate(ema.module)
"""
    assert state("script-average-astray", text) == A
    assert state("script-average-astray", text.replace("    ema.update(net)\n", "")) == P
    assert state("script-average-astray", text.replace("    ema.update(net)", "    follow(ema)")) != P
