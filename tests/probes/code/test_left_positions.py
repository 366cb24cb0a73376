# ruff: noqa: E501
"""Places without a label: masks that are left, means over what was emptied, counts of all places, only padding."""

from __future__ import annotations

import pytest

from .._scripts import state

COUNTS, METRIC = "script-label-padding-counts", "script-metric-miscounts"
KERAS = """
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Embedding(99, 8, mask_zero=True), tf.keras.layers.Dense(5)])
opt = tf.keras.optimizers.Adam()
acc = tf.keras.metrics.Mean()
def masked_loss(labels, logits):
    ce = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    mask = tf.cast(labels {OP} 0, ce.dtype)
    return {OUT}
def step(x, labels):
    with tf.GradientTape() as tape:
        loss = masked_loss(labels, model(x, training=True))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
def val_step(x, labels):
    pred = tf.argmax(model(x, training=False), -1)
    mask = tf.cast(labels > 0, tf.float32)
    acc.update_state(tf.cast(pred == labels, tf.float32){WEIGHT})
"""
MEAN = "tf.reduce_sum(ce * mask) / tf.reduce_sum(mask)"


@pytest.mark.parametrize(
    ("op", "out", "found"),
    [
        (">", MEAN, False),
        ("!=", MEAN, False),
        (">", "tf.reduce_mean(ce)", True),
        (">", "tf.reduce_mean(ce * mask)", True),
        ("==", MEAN, True),
        (">", "tf.reduce_mean(tf.boolean_mask(ce, mask))", False),
    ],
)
def test_a_loss_of_keras(op: str, out: str, found: bool) -> None:
    code = KERAS.replace("{OP}", op).replace("{OUT}", out).replace("{WEIGHT}", ", sample_weight=mask")
    assert (state(COUNTS, code) == "present") is found
    assert state(METRIC, code) != "present"


def test_a_metric_of_keras() -> None:
    code = KERAS.replace("{OP}", ">").replace("{OUT}", MEAN).replace("{WEIGHT}", "")
    assert state(METRIC, code) == "present"
    assert state(COUNTS, code) != "present"


TORCH = """
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
PAD_ID = -100
def collate(batch):
    xs, ys = zip(*batch)
    ys = pad_sequence(ys, batch_first=True, padding_value=PAD_ID)
    return pad_sequence(xs, batch_first=True), ys
loss_fn = nn.CrossEntropyLoss(ignore_index=PAD_ID)
def train(net, loader, opt):
    for x, y in loader:
        opt.zero_grad(); loss_fn(net(x).transpose(1, 2), y).backward(); opt.step()
def evaluate(net, loader):
    hits = seen = 0
    for x, y in loader:
        pred = net(x).argmax(-1)
        {MARK}
        hits += {HITS}
        seen += {SEEN}
    return hits / seen
"""


@pytest.mark.parametrize(
    ("mark", "hits", "seen", "found"),
    [
        ("mask = y != PAD_ID", "((pred == y) & mask).sum().item()", "mask.sum().item()", False),
        ("mask = y != PAD_ID", "((pred == y) * mask).sum().item()", "y.numel()", True),
        ("mask = y.ne(PAD_ID)", "(pred == y)[mask].sum().item()", "mask.sum().item()", False),
        ("pass", "(pred == y).sum().item()", "y.numel()", True),
        ("y, pred = y[y >= 0], pred[y >= 0]", "(pred == y).sum().item()", "y.numel()", False),
    ],
)
def test_a_metric_of_tokens(mark: str, hits: str, seen: str, found: bool) -> None:
    code = TORCH.replace("{MARK}", mark).replace("{HITS}", hits).replace("{SEEN}", seen)
    assert (state(METRIC, code) == "present") is found


CELL = """
import mindspore as ms
from mindspore import nn, ops
class Loss(nn.Cell):
    def construct(self, logits, labels):
        losses = ops.cross_entropy(logits, labels, reduction="none")
        mask = ops.cast(labels {OP} {PAD}, ms.float32)
        return (losses * mask).sum() / mask.sum()
"""


@pytest.mark.parametrize(
    ("op", "pad", "found"),
    [
        ("!=", "PAD", False),
        ("==", "PAD", True),
        ("==", "-100", True),
        ("==", "1", False),
        ("==", "self.pad_id", True),
    ],
)
def test_only_padding_counts(op: str, pad: str, found: bool) -> None:
    assert (state(COUNTS, CELL.replace("{OP}", op).replace("{PAD}", pad)) == "present") is found


def test_classes_that_weigh_more_are_no_padding() -> None:
    code = """
import torch.nn.functional as F
def loss(logits, labels):
    ce = F.cross_entropy(logits, labels, reduction="none")
    hard = (labels == 0).float()
    return (ce * hard).mean() + ce.mean()
"""
    assert state(COUNTS, code) != "present"
