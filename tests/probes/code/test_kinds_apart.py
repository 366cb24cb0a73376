"""Losses that fit something else than what is scored, and answers in a form that the loss does not take."""

from __future__ import annotations

import pytest

from .._scripts import state

FIT = """
import keras
model = keras.Sequential([keras.layers.Dense(32, activation="relu"), keras.layers.{}])
model.compile(optimizer="adam", loss={}, metrics=[{}])
model.fit(x, y)
"""
MODEL = """
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn
data = {}
model = ms.Model(net, nn.{}, nn.Adam(net.trainable_params()), metrics={{{}}})
model.train(9, data)
"""
STEP = """
import mindspore as ms
from mindspore import nn
class Net(nn.Cell):
    def construct(self, x):
        return self.out(x)
class WithLoss(nn.Cell):
    def __init__(self, net, loss_fn):
        super().__init__()
        self.net = net
        self.loss_fn = loss_fn
    def construct(self, x, stars):
        logits = self.net(x)
        return self.loss_fn({})
net = Net()
step = nn.TrainOneStepCell(WithLoss(net, nn.{}), nn.Adam(net.trainable_params()))
for x, stars in data:
    step(x, stars)
for x, stars in test:
    right += int((net(x).argmax(axis=1) == stars).sum())
"""
ROWS, FOLDER = "ds.GeneratorDataset(rows, ['x', 'y'])", "ds.ImageFolderDataset(root)"
SOFTMAX, SCORES = 'Dense(5, activation="softmax")', "Dense(5)"

CLASSES = [
    FIT.format("Dense(1)", '"binary_crossentropy"', '"mae"'),
    FIT.format(
        "Dense(1)", "keras.losses.BinaryCrossentropy(from_logits=True)", "keras.metrics.MeanSquaredError()"
    ),
    MODEL.format(ROWS, "BCEWithLogitsLoss()", '"mae"'),
    MODEL.format(ROWS, "CrossEntropyLoss()", '"mae": nn.MAE()'),
    MODEL.format(FOLDER, "SoftmaxCrossEntropyWithLogits(reduction='mean')", '"acc"'),
    FIT.format(
        SCORES,
        "keras.losses.CategoricalCrossentropy(from_logits=True)",
        '"sparse_top_k_categorical_accuracy"',
    ),
    FIT.format(SOFTMAX, '"binary_crossentropy"', '"accuracy"'),
    FIT.format(SOFTMAX, '"categorical_crossentropy"', "keras.metrics.AUC(multi_label=True)"),
]
SOUND = [
    FIT.format("Dense(1)", '"mse"', '"mae"'),
    FIT.format('Dense(1, activation="sigmoid")', '"binary_crossentropy"', '"mae"'),
    FIT.format(SOFTMAX, '"categorical_crossentropy"', '"accuracy"'),
    FIT.format(SOFTMAX, '"sparse_categorical_crossentropy"', '"accuracy", "mae"'),
    FIT.format(
        'Dense(5, activation="sigmoid")', '"binary_crossentropy"', "keras.metrics.AUC(multi_label=True)"
    ),
    MODEL.format(FOLDER, "SoftmaxCrossEntropyWithLogits(sparse=True, reduction='mean')", '"acc"'),
    MODEL.format(FOLDER + ".map(OneHot(5))", "SoftmaxCrossEntropyWithLogits(reduction='mean')", '"acc"'),
    MODEL.format(ROWS, "MSELoss()", '"mae"'),
    STEP.format("logits, stars", "CrossEntropyLoss()"),
]


@pytest.mark.parametrize("text", CLASSES)
def test_a_loss_for_classes_that_does_not_fit(text: str) -> None:
    """Numbers are scored, answers are indices, labels stand together."""
    assert state("script-class-loss-on-numbers", text) == "present"


@pytest.mark.parametrize("text", SOUND)
def test_a_loss_that_fits(text: str) -> None:
    """Losses and what is scored go together."""
    assert state("script-class-loss-on-numbers", text) != "present"
    assert state("script-regression-loss-on-classes", text) != "present"
    assert state("script-loss-arguments-swapped", text) != "present"


PLAYED = """
import torch
import torch.nn.functional as F
def choose(net, state):
    return int(net(torch.from_numpy(state)).argmax())
def move(action):
    force = 10.0 if action == 1 else -10.0
    return force
for batch in memory:
    moved = move(choose(net, batch.state))
    chosen = net(batch.state).gather(1, batch.action)
    loss = F.smooth_l1_loss({0})
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize("handed", ["chosen, wanted", "chosen, td_target", "chosen, q_target.detach()"])
def test_values_of_actions_are_numbers(handed: str) -> None:
    """Which action was chosen is compared with a constant: nothing is scored by that."""
    assert state("script-regression-loss-on-classes", PLAYED.replace("{0}", handed)) != "present"


NUMBERS = [
    MODEL.format(FOLDER, "MSELoss()", '"acc"'),
    STEP.format("logits, stars", "MSELoss()"),
    FIT.format(SCORES, '"mse"', '"sparse_categorical_accuracy"'),
]


@pytest.mark.parametrize("text", NUMBERS)
def test_a_loss_for_numbers(text: str) -> None:
    """Classes are scored, by name or by the largest score."""
    assert state("script-regression-loss-on-classes", text) == "present"


def test_predictions_where_answers_belong() -> None:
    """The model's output stands second in a loss that takes it first."""
    assert (
        state("script-loss-arguments-swapped", STEP.format("stars, logits", "CrossEntropyLoss()"))
        == "present"
    )


TAGS = """
import torch
import torch.nn as nn
import torch.nn.functional as F
def evaluate(net, rows):
    return (torch.sigmoid(net(rows)) > 0.5).float()
loss_fn = {LOSS}
for x, y in loader:
    logits = net(x)
    loss = {CALL}
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("loss", "call", "present"),
    [
        ("lambda z, y: F.binary_cross_entropy(torch.softmax(z, dim=1), y)", "loss_fn(logits, y)", True),
        ("nn.BCELoss()", "loss_fn(logits.softmax(dim=-1), y)", True),
        ("nn.BCELoss()", "loss_fn(F.softmax(logits, dim=1), y)", True),
        ("nn.BCELoss()", "loss_fn(torch.sigmoid(logits), y)", False),
        ("nn.BCELoss()", "loss_fn(F.softmax(logits, dim=1)[:, 1], y)", False),
        ("nn.KLDivLoss()", "loss_fn(F.log_softmax(logits, dim=1), F.softmax(y, dim=1))", False),
    ],
)
def test_labels_that_compete(loss: str, call: str, present: bool) -> None:
    text = TAGS.replace("{LOSS}", loss).replace("{CALL}", call)
    assert (state("script-class-loss-on-numbers", text) == "present") is present


def test_one_class_of_several_by_a_binary_loss() -> None:
    """One-hot rows beside a softmax: unusual, and right where nothing says that labels stand together."""
    text = TAGS.replace("{LOSS}", "nn.BCELoss()").replace("{CALL}", "loss_fn(F.softmax(logits, dim=1), y)")
    text = text.replace("torch.sigmoid(net(rows)) > 0.5", "net(rows)")
    assert state("script-class-loss-on-numbers", text) != "present"
