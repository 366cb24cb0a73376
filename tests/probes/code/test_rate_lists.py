"""Lists of rates that a script of MindSpore makes for its optimizer: one an epoch, short warm-ups."""

from __future__ import annotations

import ast

import pytest

from traindoctor.probes.code.schedule.rate_lists import _lowest_too_soon
from traindoctor.probes.scripts.syntax import Script

from .._scripts import state

P, A, U = "present", "absent", "unknown"

RATES = """
import math
import numpy as np
import mindspore as ms
from mindspore import nn
CFG = {"peak": 0.1, "warmup": {WARM}, "epochs": 60}
def get_lr(peak, warmup_epochs, epochs, steps_per_epoch):
    total = epochs * steps_per_epoch
    warmup = {COUNT}
    rates = []
    for step in range(total):
        if step < warmup:
            rates.append(peak * (step + 1) / warmup)
        else:
            rates.append(0.5 * peak * (1 + math.cos(math.pi * (step - warmup) / (total - warmup))))
    return np.array(rates, dtype=np.float32)
train_set, valid_set = load("train"), load("valid")
steps = {STEPS}
net = nn.Dense(4, 2)
lr = get_lr(CFG["peak"], CFG["warmup"], CFG["epochs"], {EACH})
opt = nn.Momentum(net.trainable_params(), ms.Tensor({LR}), 0.9)
model = ms.train.Model(net, nn.CrossEntropyLoss(), opt)
model.train(CFG["epochs"], train_set)
"""


def rates(**given: str) -> str:
    """A right program, but for what is given."""
    told = {
        "WARM": "5",
        "COUNT": "warmup_epochs * steps_per_epoch",
        "STEPS": "train_set.get_dataset_size()",
        "EACH": "steps",
        "LR": "lr",
        **given,
    }
    text = RATES
    for name, value in told.items():
        text = text.replace("{" + name + "}", value)
    return text


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, U),
        ({"EACH": "1"}, P),
        ({"EACH": "1", "LR": "lr[0]"}, U),
        ({"COUNT": "warmup_epochs"}, P),
        ({"COUNT": "500"}, U),
        ({"COUNT": "warmup_epochs", "EACH": "1", "LR": "0.1"}, U),
        ({"WARM": "90"}, P),
        ({"WARM": "0"}, U),
        ({"STEPS": "valid_set.get_dataset_size()"}, P),
        ({"STEPS": "len(rows) // 32"}, U),
    ],
)
def test_lists_of_rates(given: dict[str, str], expected: str) -> None:
    assert (state("script-schedule-unit", rates(**given)) == P) is (expected == P)


JOINED = """
import mindspore as ms
from mindspore import nn
def main(args, train_set):
    steps = train_set.get_dataset_size()
    warm = [0.1 * (i + 1) / {COUNT} for i in range({COUNT})]
    left = args.epochs - args.warmup
    rest = nn.cosine_decay_lr(1e-5, 0.1, left * steps, steps, left)
    net = nn.Dense(4, 2)
    opt = nn.SGD(net.trainable_params(), warm + rest)
    ms.train.Model(net, nn.CrossEntropyLoss(), opt).train(args.epochs, train_set)
"""
PARSED = """
import argparse
p = argparse.ArgumentParser()
p.add_argument("--warmup", type=int, default=5)
p.add_argument("--epochs", type=int, default=90)
"""


@pytest.mark.parametrize(
    ("count", "expected"), [("args.warmup", P), ("(args.warmup * steps)", U), ("1000", U), ("4", P)]
)
def test_warm_ups_in_front_of_a_list(count: str, expected: str) -> None:
    text = PARSED + JOINED.replace("{COUNT}", count)
    assert (state("script-schedule-unit", text) == P) is (expected == P)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ('{"warmup_epochs": 40, "epochs": 30}', P),
        ('{"warmup_epochs": 5, "epochs": 30}', U),
        ('{"warmup_steps": 400, "epochs": 30}', U),
    ],
)
def test_settings_of_a_warm_up(settings: str, expected: str) -> None:
    loop = "for e in range(config['epochs']):\n    loss.backward(); opt.step()\n"
    text = f"import torch\nconfig = {settings}\n{loop}"
    assert (state("script-schedule-unit", text) == P) is (expected == P)


LOWEST = """
import mindspore as ms
from mindspore import nn

EPOCHS = 40
steps = data.get_dataset_size()
whole = EPOCHS * steps
rates = nn.cosine_decay_lr({given})
optimizer = nn.Momentum(net.trainable_params(), rates, 0.9)
ms.Model(net, loss, optimizer).train(EPOCHS, data)
"""


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("0.0, 0.1, EPOCHS * steps, steps, 5", True),
        ("min_lr=0.0, max_lr=0.1, total_step=whole, step_per_epoch=steps, decay_epoch=2", True),
        ("0.0, 0.1, EPOCHS * steps, steps, EPOCHS", False),
        ("0.0, 0.1, whole, steps, 38", False),
        ("0.0, 0.1, total, steps, 5", False),
        ("0.0, 0.1, EPOCHS * steps, steps, decay", False),
    ],
)
def test_lowest_rate_long_before_the_end(given: str, found: bool) -> None:
    text = LOWEST.format(given=given)
    told = _lowest_too_soon(Script("train.py", text, ast.parse(text)))
    assert (told is not None and "at its lowest" in told.why) is found
