"""Rates that rise, peaks of another range, raw scores, kept boxes, masks and maps that losses are handed."""

# ruff: noqa: E501
from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from traindoctor.probes.by_hand.box_codes import broken_box_codes
from traindoctor.probes.code.labels.mask_unread import mask_of_loss_unread
from traindoctor.probes.code.method.kept_boxes import suppressed_wrongly
from traindoctor.probes.code.model.maps_taken_apart import channels_torn
from traindoctor.probes.code.tensorflow.tape_parts import (
    peak_of_other_range,
    rates_that_rise,
    scores_into_metric_of_chances,
)
from traindoctor.probes.registry import Finding
from traindoctor.probes.scripts.syntax import Script

RATES = (
    "import tensorflow as tf\nrate = tf.keras.optimizers.schedules.PiecewiseConstantDecay([900], {values})\n"
)
PEAK = "import tensorflow as tf\na = tf.clip_by_value(net(x), 0.0, 1.0)\nprint(tf.image.psnr(a, {other}, max_val={peak}))\n"
METRIC = """
import tensorflow as tf
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.out = tf.keras.layers.Dense(1{end})
        self.score = tf.keras.metrics.AUC({told})
    def call(self, x):
        return self.out(x)
    def test_step(self, data):
        x, y = data
        z = self(x, training=False)
        self.score.update_state(y, {given})
        return {{"auc": self.score.result()}}
"""
NMS = "from torchvision.ops import nms\nkeep = nms(boxes, {scores}, {limit})\n"
LOSS = """
def pose_loss(pred, maps, {name}):
    per = ((pred - maps) ** 2).mean((2, 3))
    return {value}
total = pose_loss(net(x), maps, seen)
"""
HEAD = """
def loss_of(net, x):
    kinds, boxes = net(x)
    n, _, h, w = kinds.shape
    kinds = kinds{turned}.reshape(n, -1, {last})
    boxes = boxes.permute(0, 2, 3, 1).reshape(n, -1, 4)
    return kinds, boxes
"""
CODES = """
import torch
def centred(b):
    return torch.cat([(b[:, :2] + b[:, 2:]) / 2, b[:, 2:] - b[:, :2]], 1)
def encode(boxes, anchors):
    g, a = centred(boxes), centred(anchors)
    return torch.cat([(g[:, :2] - a[:, :2]) / a[:, 2:], torch.log(g[:, 2:] / a[:, 2:])], 1)
def decode(delta, anchors):
    a = centred(anchors)
    xy = delta[:, :2] * {by} + a[:, :2]
    wh = {wide} * a[:, 2:]
    return {form}
"""
CORNERS = "torch.cat([xy - wh / 2, xy + wh / 2], 1)"


def codes(by: str = "a[:, 2:]", wide: str = "torch.exp(delta[:, 2:])", form: str = CORNERS) -> str:
    return CODES.format(by=by, wide=wide, form=form)


CASES: list[tuple[Callable[[Script], object], str, bool]] = [
    (rates_that_rise, RATES.format(values="[1e-5, 1e-2]"), True),
    (rates_that_rise, RATES.format(values="[1e-4, 5e-4, 2e-3]"), True),
    (rates_that_rise, RATES.format(values="[1e-4, 1e-5]"), False),
    (rates_that_rise, RATES.format(values="[1e-5, 1e-3, 1e-4]"), False),
    (rates_that_rise, RATES.format(values="[low, 1e-2]"), False),
    (peak_of_other_range, PEAK.format(other="b", peak="255"), True),
    (peak_of_other_range, PEAK.format(other="a", peak="1.0"), True),
    (peak_of_other_range, PEAK.format(other="b", peak="1.0"), False),
    (peak_of_other_range, PEAK.format(other="b", peak="255").replace("print(", "a = a * 255\nprint("), False),
    (peak_of_other_range, PEAK.format(other="b", peak="255").replace("0.0, 1.0", "0, 255"), False),
    (scores_into_metric_of_chances, METRIC.format(end="", told="name='auc'", given="z"), True),
    (scores_into_metric_of_chances, METRIC.format(end="", told="from_logits=True", given="z"), False),
    (scores_into_metric_of_chances, METRIC.format(end="", told="", given="tf.sigmoid(z)"), False),
    (scores_into_metric_of_chances, METRIC.format(end=", activation='sigmoid'", told="", given="z"), False),
    (scores_into_metric_of_chances, METRIC.format(end=", activation=kind", told="", given="z"), False),
    (suppressed_wrongly, NMS.format(scores="1 - s", limit="0.5"), True),
    (suppressed_wrongly, NMS.format(scores="-s", limit="0.5"), True),
    (suppressed_wrongly, NMS.format(scores="s", limit="0.01"), True),
    (suppressed_wrongly, NMS.format(scores="s", limit="0.99"), True),
    (suppressed_wrongly, NMS.format(scores="s", limit="0.5"), False),
    (
        suppressed_wrongly,
        NMS.format(scores="1 - background", limit="limit").replace("1 - background", "a - b"),
        False,
    ),
    (suppressed_wrongly, NMS.format(scores="s", limit="0.7"), False),
    (mask_of_loss_unread, LOSS.format(name="weight", value="per.mean()"), True),
    (mask_of_loss_unread, LOSS.format(name="visible", value="per.sum()"), True),
    (mask_of_loss_unread, LOSS.format(name="weight", value="(per * weight).sum()"), False),
    (mask_of_loss_unread, LOSS.format(name="step", value="per.mean()"), False),
    (
        mask_of_loss_unread,
        LOSS.format(name="weight", value="per.mean()").replace("maps, seen)", "maps, None)"),
        False,
    ),
    (
        mask_of_loss_unread,
        "class A(Base):\n" + LOSS.format(name="weight", value="per").replace("\n", "\n    "),
        False,
    ),
    (channels_torn, HEAD.format(turned="", last="classes"), True),
    (channels_torn, HEAD.format(turned="", last="5"), True),
    (channels_torn, HEAD.format(turned=".permute(0, 2, 3, 1)", last="classes"), False),
    (channels_torn, HEAD.format(turned="", last="1"), False),
    (channels_torn, HEAD.format(turned="", last="-1"), False),
    (broken_box_codes, codes(by="1.0"), True),
    (broken_box_codes, codes(wide="delta[:, 2:]"), True),
    (broken_box_codes, codes(form="torch.cat([xy, xy + wh], 1)"), True),
    (broken_box_codes, codes(), False),
    (broken_box_codes, codes(form="torch.cat([xy, wh], 1)"), False),
    (broken_box_codes, codes(by="unknown(a)"), False),
    (broken_box_codes, codes(by="1.0").replace("def encode", "def prepared"), False),
]


@pytest.mark.parametrize(("check", "text", "found"), CASES)
def test_found(check: Callable[[Script], object], text: str, found: bool) -> None:
    told = check(Script("train.py", text, ast.parse(text)))
    if isinstance(told, Finding):
        told = told if told.state.value == "present" else None
    assert (told is not None) is found
