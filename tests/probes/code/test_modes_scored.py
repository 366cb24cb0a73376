"""The mode of a model while it is scored or trained, in MindSpore and Keras."""

from __future__ import annotations

import pytest

from .._scripts import state

STEP = """
import mindspore as ms
from mindspore import nn
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(p=0.2)
    def construct(self, x):
        return self.drop(x)
class Clipped(nn.TrainOneStepCell):
    def construct(self, *inputs):
        grads = self.grad(self.network, self.weights)(*inputs, self.sens)
        return self.optimizer(grads)
def accuracy(net, data):
    {quiet}
    right = 0
    for x, y in data:
        right += int((net(x).argmax(axis=1) == y).sum())
    return right
net = Net()
step = Clipped(net, nn.Adam(net.trainable_params()))
{once}
for epoch in range(9):
    {on}
    for x, y in train_data:
        step(x, y)
    print(accuracy(net, valid_data))
{last}
"""


def _step(
    quiet: str = "net.set_train(False)", once: str = "", on: str = "step.set_train()", last: str = ""
) -> str:
    return STEP.format(quiet=quiet, once=once, on=on, last=last)


TEST = "net.set_train({})\nfor x, y in test_data:\n    score.update(net(x), y)"


@pytest.mark.parametrize(
    ("symptom", "text", "told"),
    [
        ("script-set-train-missing", _step(on="pass", quiet="pass"), True),
        ("script-set-train-missing", _step(), False),
        ("script-eval-mode-while-training", _step(on="pass", once="step.set_train()"), True),
        ("script-eval-mode-while-training", _step(), False),
        ("script-train-mode-while-evaluating", _step(quiet="pass"), True),
        ("script-train-mode-while-evaluating", _step(), False),
        ("script-train-mode-while-evaluating", _step(last=TEST.format("True")), True),
        ("script-train-mode-while-evaluating", _step(last=TEST.format("False")), False),
    ],
)
def test_a_cell_of_one_step(symptom: str, text: str, told: bool) -> None:
    """Switched on in each epoch, switched off to score."""
    assert (state(symptom, text) == "present") is told


KERAS = """
import keras
inputs = keras.Input((8,))
x = keras.layers.Dense(8)(inputs)
x = keras.layers.BatchNormalization()(x{norm})
model = keras.Model(inputs, keras.layers.Dense(1)(x))
model.compile(optimizer="adam", loss="mse")
model.fit(x_train, y_train)
print(error(model(x_test{score}), y_test))
"""
BLOCK = """
import tensorflow as tf
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.first = tf.keras.layers.Dense(8)
        self.norm = tf.keras.layers.BatchNormalization()
        self.drop = tf.keras.layers.Dropout(0.1)
    def call(self, x, training=False):
        x = self.norm(self.first(x), training={norm})
        return self.drop(x, training=training)
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (KERAS.format(norm=", training=False", score=""), True),
        (KERAS.format(norm="", score=", training=True"), True),
        (KERAS.format(norm="", score=", training=False"), False),
        (BLOCK.format(norm="False"), True),
        (BLOCK.format(norm="training"), False),
    ],
)
def test_modes_that_are_told(text: str, told: bool) -> None:
    """A new batch norm in inference, held-out data in training mode, a block that drops its mode."""
    assert (state("script-mode-wrong", text) == "present") is told


FITTED = """
import random
import tensorflow as tf
class Net(tf.keras.Model):
    def train_step(self, data):
        x, y = data
        if {} < 0.3:
            x = x + 0.1
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(y - self(x, training=True)))
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        return {{"loss": loss}}
net = Net()
net.compile(optimizer="adam"{})
net.fit(data)
"""


@pytest.mark.parametrize(
    ("draw", "more", "told"),
    [
        ("random.random()", "", True),
        ("tf.random.uniform([])", "", False),
        ("random.random()", ", run_eagerly=True", False),
    ],
)
def test_a_training_step_is_compiled(draw: str, more: str, told: bool) -> None:
    """`fit` traces `train_step`, so that Python draws once."""
    assert (state("script-drawn-at-tracing", FITTED.format(draw, more)) == "present") is told
