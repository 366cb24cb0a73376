"""Schedules that a script writes out, and the settings of ready-made ones: present, absent, unknown."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

LOOP = """
import math
import torch
from torch import optim
from torch.optim.lr_scheduler import *
import dataset
{HEAD}
loader = torch.utils.data.DataLoader(dataset.rows("rows.csv"), batch_size=32, shuffle=True)
net = torch.nn.Linear(4, 2)
opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
{MADE}
for epoch in range(60):
    {BEFORE}
    for x, y in loader:
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
    {AFTER}
{END}
"""
SET = """
def adjust(optimizer, epoch):
    {BODY}
"""


def program(**parts: str) -> str:
    text = LOOP
    for key in ("HEAD", "MADE", "BEFORE", "AFTER", "END"):
        text = text.replace("{" + key + "}", parts.get(key, "pass"))
    return text


def by_hand(body: str, call: str = "adjust(opt, epoch)") -> str:
    return program(HEAD=SET.replace("{BODY}", body.replace("\n", "\n    ")), BEFORE=call)


EACH = "for g in optimizer.param_groups:\n    g['lr'] = lr"

FORMULAS = [
    (f"lr = 0.05 * (1 + math.cos(epoch / 60))\n{EACH}", P),
    (f"done = epoch / 60\nlr = 1e-4 + 0.5 * (0.1 - 1e-4) * (math.cos(done) + 1.0)\n{EACH}", P),
    (f"lr = 0.05 * (1 + math.cos(math.pi * epoch / 60))\n{EACH}", U),
    (f"done = math.pi * epoch / 60\nlr = 0.05 * (1 + math.cos(done))\n{EACH}", U),
    ("for g in optimizer.param_groups:\n    g['lr'] = g['lr'] * (0.1 ** (epoch // 20))", P),
    ("for g in optimizer.param_groups:\n    g['lr'] *= 0.5 ** (epoch // 20)", P),
    (f"lr = optimizer.param_groups[0]['lr'] * 0.1 ** (epoch // 20)\n{EACH}", P),
    ("for g in optimizer.param_groups:\n    g['lr'] = g['initial_lr'] * (0.1 ** (epoch // 20))", U),
    ("for g in optimizer.param_groups:\n    g['lr'] = g['base'] * g['lr_mult'] * (0.1 ** (epoch // 20))", U),
    ("for g in optimizer.param_groups:\n    if epoch % 20 == 0:\n        g['lr'] *= 0.1", U),
    (f"lr = 0.1 * 0.1 ** (epoch % 20)\n{EACH}", P),
    (f"lr = 0.1 * (0.1 ** (epoch // 20))\n{EACH}", U),
    (f"lr = 0.1 * 0.5 ** (epoch % 20)  # restarts\nrestarts = epoch // 20\n{EACH}", U),
    (f"lr = 0.1\nif epoch > 20:\n    lr = 0.01\nelif epoch > 40:\n    lr = 0.001\n{EACH}", P),
    (f"lr = 0.1\nif epoch > 40:\n    lr = 0.001\nelif epoch > 20:\n    lr = 0.01\n{EACH}", U),
    (f"lr = 0.1\nif epoch > 20:\n    lr = 0.01\nif epoch > 40:\n    lr = 0.001\n{EACH}", U),
    (f"lr = 0.1 * ((epoch + 1) // 5) if epoch < 5 else 0.1\n{EACH}", P),
    (f"lr = 0.1 * ((epoch + 1) / 5) if epoch < 5 else 0.1\n{EACH}", U),
    (f"lr = 64 ** -0.5 * max((epoch + 1) ** -0.5, (epoch + 1) * 5 ** -1.5)\n{EACH}", P),
    (f"lr = 64 ** -0.5 * min((epoch + 1) ** -0.5, (epoch + 1) * 5 ** -1.5)\n{EACH}", U),
]


@pytest.mark.parametrize(("body", "wanted"), FORMULAS)
def test_formulas(body: str, wanted: str) -> None:
    assert state("script-schedule-formula", by_hand(body)) == wanted


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("for g in opt.param_groups:\n        g['lr'] *= 0.95 ** epoch", P),
        ("opt.param_groups[0]['lr'] *= 0.5 ** epoch", P),
        ("for g in opt.param_groups:\n        g['lr'] = 0.1 * 0.95 ** epoch", U),
        ("opt.param_groups[0]['lr'] = 0.1\n    opt.param_groups[0]['lr'] *= 0.95 ** epoch", U),
        ("if epoch == 30:\n        opt.param_groups[0]['lr'] *= 0.9 ** epoch", U),
        ("for g in opt.param_groups:\n        g['lr'] *= 0.95", U),
    ],
)
def test_a_power_of_the_epoch_taken_off_in_each(body: str, wanted: str) -> None:
    assert state("script-schedule-formula", program(BEFORE=body)) == wanted


KERAS = """
import numpy as np
import keras
z = np.load("rows.npz")
def ladder(epoch, lr):
    {BODY}
net = keras.Sequential([keras.layers.Dense(3)])
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
net.compile(optimizer=keras.optimizers.SGD(0.1), loss=loss)
net.fit(z["x"], z["y"], epochs=30, callbacks=[keras.callbacks.LearningRateScheduler(ladder)])
"""


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("if epoch < 20:\n        return 0.1\n    if epoch < 10:\n        return 0.01\n    return 0.001", P),
        ("if epoch < 10:\n        return 0.1\n    if epoch < 20:\n        return 0.01\n    return 0.001", U),
        ("return lr * 0.5 ** (epoch // 10)", P),
        ("return 0.1 * 0.5 ** (epoch // 10)", U),
        ("return lr * 0.95", U),
    ],
)
def test_formulas_of_keras(body: str, wanted: str) -> None:
    assert state("script-schedule-formula", KERAS.replace("{BODY}", body)) == wanted


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        ("s = StepLR(opt, 20, gamma=10)", P),
        ("s = MultiStepLR(opt, [20, 40], gamma=2.0)", P),
        ("s = ExponentialLR(opt, 1.05)", P),
        ("s = StepLR(opt, 20, gamma=0.1)", A),
        ("s = MultiStepLR(opt, milestones=[20, 40])", A),
        ("s = MultiStepLR(opt, milestones=[100, 150])", P),
        ("s = MultiStepLR(opt, milestones=[20, 150])", A),
    ],
)
def test_settings_of_steps(made: str, wanted: str) -> None:
    found = state("script-schedule-unit", program(MADE=made, AFTER="s.step()"))
    assert (found == P) == (wanted == P)


@pytest.mark.parametrize(
    ("share", "wanted"),
    [("pct_start=1.0", True), ("pct_start=0.95", True), ("pct_start=0.3", False), ("", False)],
)
def test_a_cycle_that_is_all_rise(share: str, wanted: bool) -> None:
    made = f"s = OneCycleLR(opt, 0.1, 60, {share})"
    assert (state("script-schedule-unit", program(MADE=made, AFTER="s.step()")) == P) == wanted


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        ("CosineDecay(1e-3, 1000, warmup_target=1e-4, warmup_steps=100)", True),
        ("CosineDecay(1e-4, 1000, warmup_target=1e-3, warmup_steps=100)", False),
        ("PolynomialDecay(1e-4, 1000, 1e-3)", True),
        ("PolynomialDecay(1e-3, 1000, 1e-4)", False),
    ],
)
def test_ends_of_keras(made: str, wanted: bool) -> None:
    text = KERAS.replace("{BODY}", "return lr").replace("SGD(0.1)", f"SGD(keras.optimizers.schedules.{made})")
    assert (state("script-schedule-unit", text) == P) == wanted


REACHES = [
    (program(BEFORE="opt.defaults['lr'] = 0.1 * 0.97 ** epoch"), True),
    (program(BEFORE="opt.lr = 0.1 * 0.97 ** epoch"), True),
    (program(BEFORE="for g in opt.param_groups:\n        g['learning_rate'] = 0.1 * 0.97 ** epoch"), True),
    (program(BEFORE="for g in opt.param_groups:\n        g['lr'] = 0.1 * 0.97 ** epoch"), False),
    (by_hand(f"lr = 0.1 * (0.1 ** (epoch // 20))\n{EACH}", "adjust(opt, 60)"), True),
    (by_hand(f"lr = 0.1 * (0.1 ** (epoch // 20))\n{EACH}", "adjust(opt, epoch + 1)"), False),
    (
        program(
            HEAD=SET.replace("{BODY}", f"lr = 0.1 * (0.1 ** (epoch // 20))\n{EACH}".replace("\n", "\n    ")),
            END="adjust(opt, epoch)",
        ),
        True,
    ),
    (
        program(
            HEAD=SET.replace("{BODY}", f"lr = epoch\n{EACH}".replace("\n", "\n    ")),
            MADE="adjust(opt, 0.1)",
        ),
        False,
    ),
]


@pytest.mark.parametrize(("text", "wanted"), REACHES)
def test_rates_that_reach_nothing(text: str, wanted: bool) -> None:
    assert (state("script-rate-not-applied", text) == P) == wanted
