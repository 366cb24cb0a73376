"""Keras models that a tape runs: what their last layer gives against what the loss takes."""

from __future__ import annotations

import pytest

from .._scripts import state

TEXT = """
import tensorflow as tf
from tensorflow.keras import layers
def net():
    image = layers.Input((32, 32, 3))
    x = layers.Conv2D(8, 3, activation="relu")(image)
    return tf.keras.Model(image, layers.Conv2D(4, 1{})(x))
cross = tf.keras.losses.SparseCategoricalCrossentropy({})
def objective(mask, out):
    return cross(mask, out)
def main():
    model = net()
    opt = tf.keras.optimizers.Adam(1e-3)
    for image, mask in data:
        with tf.GradientTape() as tape:
            out = model(image, training=True)
            loss = objective(mask, out)
        opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
TWICE, MISSING = "script-double-softmax", "script-activation-missing-before-loss"
SOFT, LOGITS = ", activation='softmax'", "from_logits=True"


@pytest.mark.parametrize(
    ("symptom", "activation", "told", "present"),
    [
        (TWICE, SOFT, LOGITS, True),
        (TWICE, "", LOGITS, False),
        (TWICE, SOFT, "", False),
        (MISSING, "", "", True),
        (MISSING, SOFT, "", False),
        (MISSING, "", LOGITS, False),
    ],
)
def test_last_layer(symptom: str, activation: str, told: str, present: bool) -> None:
    assert (state(symptom, TEXT.format(activation, told)) == "present") == present
