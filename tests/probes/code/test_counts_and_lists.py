# ruff: noqa: E501
"""Schedules that are counted in another unit, lists that belong together, settings that one side lacks."""

from __future__ import annotations

import pytest

from .._scripts import state

TORCH = "import math\nimport random\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
LOOP = """
def main(model, loader, optimizer, batch_size):
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad(); loss.backward(); optimizer.step()
"""

COUNTS = {
    "samples": (
        "def plan(opt, train_set, epochs):\n    total = len(train_set) * epochs\n    return get_linear_schedule_with_warmup(opt, 10, total)\n",
        True,
    ),
    "batches": (
        "def plan(opt, train_loader, epochs):\n    total = len(train_loader) * epochs\n    return get_linear_schedule_with_warmup(opt, 10, total)\n",
        False,
    ),
    "divided": (
        "def plan(opt, train_set, epochs, batch_size):\n    total = len(train_set) // batch_size * epochs\n    return get_linear_schedule_with_warmup(opt, 10, total)\n",
        False,
    ),
    "steps over epochs": (
        "def lr_at(i, warmup_steps, epochs, warmup_epochs):\n    return math.cos((i - warmup_steps) / (epochs - warmup_epochs))\n",
        True,
    ),
    "steps over steps": (
        "def lr_at(i, warmup_steps, epochs, steps_per_epoch):\n    return math.cos((i - warmup_steps) / (epochs * steps_per_epoch))\n",
        False,
    ),
    "a decay for each of both": (
        "def decay_rate(steps, decay_epochs):\n    return 1.0 / steps / decay_epochs\n",
        False,
    ),
    "a milestone in steps": (
        "def plan(sched, total_iters, milestone, epochs):\n    lr_step = total_iters * milestone / epochs\n    return lr_step\n",
        False,
    ),
    "one for all": (
        "def rates(cfg, steps_per_epoch):\n    return [0.1] * cfg.epochs * steps_per_epoch\ndef plan(cfg, loader):\n    steps_per_epoch = len(loader)\n    return rates(cfg, 1)\n",
        True,
    ),
    "its own": (
        "def rates(cfg, steps_per_epoch):\n    return [0.1] * cfg.epochs * steps_per_epoch\ndef plan(cfg, loader):\n    steps_per_epoch = len(loader)\n    return rates(cfg, steps_per_epoch)\n",
        False,
    ),
    "warm-up beyond the end": ("C = dict(steps=300, lr=1e-3, warmup=20000)\n", True),
    "warm-up of two parts": ("C = {'steps': 300, 'warmup': 20, 'tune_steps': 50, 'tune_warmup': 5}\n", False),
    "warm-up of the other part": (
        "C = {'steps': 300, 'warmup': 20, 'tune_steps': 50, 'tune_warmup': 500}\n",
        True,
    ),
}


@pytest.mark.parametrize("case", COUNTS)
def test_counts_of_a_schedule(case: str) -> None:
    code, found = COUNTS[case]
    assert (state("script-schedule-wrong", TORCH + code + LOOP) == "present") is found


DATA = """
class Data:
    def __init__(self, rows):
        {}
    def __getitem__(self, i):
        return self.x[i], self.y[i]
"""
LISTS = {
    "one shuffled": (
        "self.x, self.y = [], []\n        for r in rows:\n            self.x.append(r[0])\n            self.y.append(r[1])\n        random.shuffle(self.x)",
        True,
    ),
    "both by one seed": (
        "self.x, self.y = [], []\n        random.seed(1)\n        random.shuffle(self.x)\n        random.seed(1)\n        random.shuffle(self.y)",
        False,
    ),
    "rows before": (
        "random.shuffle(rows)\n        self.x = [r[0] for r in rows]\n        self.y = [r[1] for r in rows]",
        False,
    ),
    "one filtered": (
        "self.x = [r[0] for r in rows if r[0] is not None]\n        self.y = [r[1] for r in rows]",
        True,
    ),
    "both filtered": (
        "self.x = [r[0] for r in rows if r[0] is not None]\n        self.y = [r[1] for r in rows if r[0] is not None]",
        False,
    ),
}


@pytest.mark.parametrize("case", LISTS)
def test_lists_side_by_side(case: str) -> None:
    body, found = LISTS[case]
    assert (state("script-labels-permuted-alone", TORCH + DATA.format(body) + LOOP) == "present") is found


@pytest.mark.parametrize(
    ("train", "held", "found"),
    [
        ("window=args.window", "", True),
        ("window=args.window", "window=args.window", False),
        ("flip=True", "", False),
        ("window=1", "", False),
        ("pairs=True", "", False),
    ],
)
def test_settings_of_one_side(train: str, held: str, found: bool) -> None:
    code = (
        TORCH
        + f"""
class Rows:
    def __init__(self, x, window=1, flip=False, pairs=False):
        self.x, self.window, self.flip = x, window, flip
    def __getitem__(self, i):
        return self.x[i:i + self.window], 0
def load(x, args):
    train_set = Rows(x[:90], {train})
    val_set = Rows(x[90:], {held})
    return train_set, val_set
"""
    )
    assert (state("script-splits-processed-differently", code + LOOP) == "present") is found


TAPE = """
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers
class Unit(layers.Layer):
    def __init__(self):
        super().__init__()
        self.fc, self.bn = layers.Dense(8), layers.BatchNormalization()
    def call(self, x, training=False):
        return self.bn(self.fc(x), training=training)
class Net(keras.Model):
    def __init__(self):
        super().__init__()
        self.one, self.two = Unit(), Unit()
    def call(self, x, training=False):
        return self.two(self.one(x, training=training), training={mode})
model, opt = Net(), keras.optimizers.Adam()
def step(x, y, loss_fn):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x{told}))
    grads = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(grads, model.trainable_variables))
def evaluate(x):
    return model(x, training=False)
"""


@pytest.mark.parametrize(
    ("mode", "told", "found"),
    [
        ("training", ", training=True", False),
        ("training", "", True),
        ("False", ", training=True", True),
    ],
)
def test_training_in_the_mode_of_inference(mode: str, told: str, found: bool) -> None:
    assert (state("script-mode-wrong", TAPE.format(mode=mode, told=told)) == "present") is found
