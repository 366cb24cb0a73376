"""Ways of published scripts that were taken for faults: stages, steps there and back, names by condition."""

from __future__ import annotations

import pytest

from .._scripts import state

P = "present"
STEP = """
import torch
import torch.nn as nn
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in loader:
    opt.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("method", "told"),
    [
        ("def set_warm(self, on):\n        self.warm = on", False),
        ("def show(self):\n        print(self.warm)", True),
    ],
)
def test_a_cut_that_a_stage_asks_for(method: str, told: bool) -> None:
    text = f"""{STEP}
class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(8, 8)
        self.warm = True
    {method}
    def forward(self, x):
        z = self.enc(x)
        if self.warm:
            z = z.detach()
        return z
"""
    assert (state("script-wiring-wrong", text) == P) is told


SHARP = """
import tensorflow as tf
class Sharp(tf.keras.Model):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = self.compiled_loss(y, self(x, training=True))
        held = self.trainable_variables
        grads = tape.gradient(loss, self.trainable_variables)
        steps = []
        for v, g in zip(held, grads):
            v.assign_add(g)
            steps.append(g)
        with tf.GradientTape() as tape:
            loss = self.compiled_loss(y, self(x, training=True))
        again = tape.gradient(loss, self.trainable_variables)
        for v, s in zip(held, steps):
            v.assign_sub(s)
        self.optimizer.apply_gradients(zip(again, held))
        return {}
"""


def test_a_step_there_and_back_clears_no_gradients() -> None:
    assert state("script-gradients-cleared-too-early", SHARP) != P


SAVED = """
import torch
best = 0.0
for epoch in range(9):
    for x, y in loader:
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
    score = evaluate(net, held_out)
    {NAMED}
    best = max(best, score)
    torch.save(net.state_dict(), name)
"""


@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("if score > best:\n        name = 'best.pt'\n    else:\n        name = 'last.pt'", False),
        ("name = 'best.pt' if score > best else 'last.pt'", False),
        ("name = 'best.pt'", True),
    ],
)
def test_a_name_by_condition_is_no_file_of_the_best(named: str, told: bool) -> None:
    assert (state("script-best-chosen-wrongly", SAVED.replace("{NAMED}", named)) == P) is told


FIELD = """
def field(model):
    model.eval()
    x = torch.randn(1, 1, 64, requires_grad=True)
    model(x)[0, 0, 32].backward()
    return (x.grad != 0).sum()
"""


def test_a_field_that_is_measured_is_no_training() -> None:
    text = STEP.replace("loss.backward()", "learn(loss)") + FIELD

    assert state("script-eval-mode-while-training", text) != P
