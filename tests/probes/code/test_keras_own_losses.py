"""Losses that programs of Keras write themselves, against the layer that their model ends in."""

from __future__ import annotations

import pytest

from tests.probes._scripts import state

FUNCTIONAL = """
import keras
import tensorflow as tf
from keras import layers, ops

def built():
    entry = keras.Input((64, 64, 3))
    h = layers.Conv2D(8, 3, padding="same", activation="relu")(entry)
    return keras.Model(entry, layers.Conv2D({kinds}, 1{end})(h))

{loss}
net = built()
net.compile("adam", loss={name})
net.fit(ds.shuffle(999), epochs=3)
"""
OWN = """
def mixed(y, p):
    rest = ops.mean(ops.square(y - p))
    return keras.losses.{call} + rest
"""
MADE = """
def weighed(w):
    def loss(truth, said):
        return w * tf.reduce_mean(keras.losses.{call})
    return loss
"""
TAPED = """
import tensorflow as tf
from tensorflow.keras import layers

class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.body = layers.Dense(32, activation="relu")
        self.out = layers.Dense(1{end})
    def call(self, x, training=False):
        return self.out(self.body(x))
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            z = self(x, training=True)
            loss = tf.reduce_mean(tf.nn.{call})
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        return {{"loss": loss}}

net = Net()
net.compile("adam")
net.fit(ds.shuffle(999), epochs=3)
"""


def own(call: str, end: str = "", kinds: int = 1) -> str:
    return FUNCTIONAL.format(loss=OWN.format(call=call), name="mixed", end=end, kinds=kinds)


def made(call: str, end: str = "", kinds: int = 1) -> str:
    return FUNCTIONAL.format(loss=MADE.format(call=call), name="weighed(2.0)", end=end, kinds=kinds)


SIGMOID, SOFTMAX = ', activation="sigmoid"', ', activation="softmax"'
SIGMOID_CALL = "sigmoid_cross_entropy_with_logits(labels=y, logits=z)"
WEIGHTED_CALL = "weighted_cross_entropy_with_logits(y, z, 3.0)"


@pytest.mark.parametrize(
    ("symptom", "text"),
    [
        ("script-activation-missing-before-loss", own("binary_crossentropy(y, p)")),
        (
            "script-activation-missing-before-loss",
            made("sparse_categorical_crossentropy(truth, said)", kinds=4),
        ),
        (
            "script-activation-missing-before-loss",
            own("sparse_categorical_crossentropy(y, p)", SIGMOID, 4),
        ),
        ("script-double-softmax", own("binary_crossentropy(y, p, from_logits=True)", SIGMOID)),
        (
            "script-double-softmax",
            made("categorical_crossentropy(truth, said, from_logits=True)", SOFTMAX, 4),
        ),
        ("script-double-softmax", TAPED.format(end=SIGMOID, call=SIGMOID_CALL)),
        ("script-double-softmax", TAPED.format(end=SIGMOID, call=WEIGHTED_CALL)),
    ],
)
def test_loss_unlike_the_last_layer(symptom: str, text: str) -> None:
    assert state(symptom, text) == "present"


@pytest.mark.parametrize(
    "text",
    [
        own("binary_crossentropy(y, p)", SIGMOID),
        own("binary_crossentropy(y, p, from_logits=True)"),
        own("binary_crossentropy(y, tf.sigmoid(p))"),
        own("binary_crossentropy(y, p, from_logits=RAW)"),
        made("categorical_crossentropy(truth, said)", SOFTMAX, 4),
        made("sparse_categorical_crossentropy(truth, said, True)", kinds=4),
        TAPED.format(end="", call=SIGMOID_CALL),
        TAPED.format(end="", call=WEIGHTED_CALL),
    ],
)
def test_loss_that_fits_the_last_layer(text: str) -> None:
    for symptom in ("script-activation-missing-before-loss", "script-double-softmax"):
        assert state(symptom, text) != "present"
