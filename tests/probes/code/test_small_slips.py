# ruff: noqa: E501
"""Slips in one line: a step past the scaler, one epoch for all, a metric of itself, labels rolled, a second rescale."""

from __future__ import annotations

import pytest

from .._scripts import state

SCALED = """
import torch
scaler = torch.cuda.amp.GradScaler()
def train(net, loader, opt, loss_fn):
    for x, y in loader:
        opt.zero_grad()
        with torch.autocast("cuda"):
            loss = loss_fn(net(x), y)
        scaler.scale(loss).backward()
        {STEP}
        scaler.update()
"""


@pytest.mark.parametrize(
    ("step", "found"),
    [("scaler.step(opt)", False), ("opt.step()", True), ("scaler.unscale_(opt); opt.step()", True)],
)
def test_a_step_past_the_scaler(step: str, found: bool) -> None:
    assert (state("script-loss-scale-missing", SCALED.replace("{STEP}", step)) == "present") is found


@pytest.mark.parametrize(
    ("told", "wanted"), [("epoch", "absent"), ("0", "present"), ("seed + epoch", "absent")]
)
def test_the_epoch_that_a_sampler_is_told(told: str, wanted: str) -> None:
    code = f"""
import torch
from torch.utils.data.distributed import DistributedSampler
sampler = DistributedSampler(data)
for epoch in range(9):
    sampler.set_epoch({told})
    for x, y in loader:
        opt.zero_grad(); loss_fn(net(x), y).backward(); opt.step()
"""
    assert state("script-set-epoch-missing", code) == wanted


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("self.acc(logits, y)", False),
        ("self.acc(logits, logits.argmax(-1))", True),
        ("self.acc.update(logits.argmax(-1), y)", False),
        ("pred = logits.argmax(1)\n        hits = (pred == logits.argmax(1)).sum()", True),
        ("pred = logits.argmax(1); hits = (pred == y).sum()", False),
        ("hits = (logits.argmax(1) == y.argmax(1)).sum()", False),
        ("hits = (batch.logits.argmax(-1) == batch.label_ids).mean()", False),
        ("hits = (batch['logits'].argmax(-1) == batch['y']).mean()", False),
        ("hits = (batch.logits.argmax(-1) == batch.logits.argmax(-1)).mean()", True),
    ],
)
def test_a_metric_of_itself(line: str, found: bool) -> None:
    code = f"import torch\nclass M:\n    def validation_step(self, batch):\n        x, y = batch\n        logits = self(x)\n        {line}\n"
    assert (state("script-metric-miscounts", code) == "present") is found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("x, y = x.to(dev), y.to(dev)", False),
        ("x, y = x.to(dev), y.to(dev).roll(1)", True),
        ("y = torch.roll(y, 1)", True),
        ("x, y = x.roll(1, 0), y.roll(1, 0)", False),
    ],
)
def test_labels_that_are_rolled(line: str, found: bool) -> None:
    code = f"""
import torch
def train(net, loader, opt, dev):
    for x, y in loader:
        {line}
        loss = torch.nn.functional.cross_entropy(net(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
"""
    assert (state("script-labels-permuted-alone", code) == "present") is found


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        ("[vision.Rescale(1 / 255, 0.0), vision.Normalize([0.49], [0.24])]", False),
        (
            "[vision.Rescale(1 / 255, 0.0), vision.Rescale(1 / 255, 0.0), vision.Normalize([0.49], [0.24])]",
            True,
        ),
        ("[vision.Rescale(1 / 255, 0.0), vision.ToTensor()]", True),
        ("[vision.RandomCrop(32, 4), vision.Normalize([0.49], [0.24]), vision.HWC2CHW()]", True),
        ("[vision.RandomCrop(32, 4), vision.Normalize([125.3], [63.0]), vision.HWC2CHW()]", False),
    ],
)
def test_ranges_in_mindspore(steps: str, found: bool) -> None:
    code = f"""
import mindspore.dataset as ds
import mindspore.dataset.vision as vision
def load(path):
    data = ds.Cifar10Dataset(path, usage="train", shuffle=True)
    return data.map({steps}, "image").batch(8)
"""
    assert (state("script-range-mismatch", code) == "present") is found


def test_a_second_rescaling_in_keras() -> None:
    code = "import tensorflow as tf\nfrom tensorflow.keras import layers\nmodel = tf.keras.Sequential([layers.Rescaling(1 / 255), {} layers.Conv2D(8, 3)])\n"
    assert state("script-range-mismatch", code.format("")) != "present"
    assert state("script-range-mismatch", code.format("layers.Rescaling(1.0 / 255),")) == "present"


@pytest.mark.parametrize(
    ("given", "positions", "found"),
    [
        ("batch_first=True", "torch.arange(x.size(1))", False),
        ("norm_first=True", "torch.arange(x.size(1))", True),
        ("norm_first=True", "torch.arange(x.size(0))", False),
    ],
)
def test_positions_along_the_second_axis(given: str, positions: str, found: bool) -> None:
    code = f"""
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.pos = nn.Embedding(99, d)
        layer = nn.TransformerEncoderLayer(d, 4, {given})
        self.encoder = nn.TransformerEncoder(layer, 2)
    def forward(self, x):
        h = self.embed(x) + self.pos({positions})
        return self.encoder(h)
"""
    assert (state("script-batch-first-missing", code) == "present") is found


def test_loaders_that_a_function_gives_back() -> None:
    code = """
import torch
from torch.utils.data import DataLoader
def loaders(a, b):
    return DataLoader(a, 8, shuffle={}), DataLoader(b, 8, shuffle={})
train_loader, val_loader = loaders(*sets())
"""
    assert state("script-order-fixed", code.format("False", "True")) == "present"
    assert state("script-order-fixed", code.format("True", "False")) != "present"
