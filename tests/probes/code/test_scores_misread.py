"""Metrics that misread what a model gives."""

from __future__ import annotations

import pytest

from .._scripts import state

FIT = """
import keras
import numpy as np
model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.{}])
model.compile(optimizer="adam", loss={}, metrics=[{}])
model.fit(x_train, y_train)
predicted = model.predict(x_test)
{}
"""
SPARSE = "keras.losses.SparseCategoricalCrossentropy(from_logits=True)"
BINARY = "keras.losses.BinaryCrossentropy(from_logits=True)"
NET = """
import tensorflow as tf
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.iou = tf.keras.metrics.BinaryIoU(target_class_ids=[1], threshold=0.5)
    def test_step(self, data):
        x, mask = data
        logits = self(x, training=False)
        loss = tf.nn.sigmoid_cross_entropy_with_logits(labels=mask, logits=logits)
        self.iou.update_state(mask, {})
        return {{"iou": self.iou.result()}}
"""
MISREAD = [
    FIT.format("Dense(5)", SPARSE, "keras.metrics.Accuracy()", ""),
    FIT.format("Dense(1)", BINARY, "keras.metrics.AUC()", ""),
    FIT.format("Dense(1)", '"mse"', "", "error = (predicted - y_test).mean()"),
    FIT.format('Dense(3, activation="sigmoid")', '"binary_crossentropy"', "", "hits = (predicted > 0).sum()"),
    FIT.format("Dense(5)", SPARSE, "", "guess = predicted.argmax(axis=0)"),
    NET.format("logits"),
]
READ = [
    FIT.format("Dense(5)", SPARSE, "keras.metrics.SparseCategoricalAccuracy()", ""),
    FIT.format("Dense(1)", BINARY, "keras.metrics.AUC(from_logits=True)", ""),
    FIT.format('Dense(1, activation="sigmoid")', '"binary_crossentropy"', "keras.metrics.AUC()", ""),
    FIT.format("Dense(1)", '"mse"', "", "error = np.abs(predicted - y_test).mean()"),
    FIT.format("Dense(1)", '"mse"', "", "bias = (predicted - y_test).mean()"),
    FIT.format("Dense(3)", BINARY, "", "hits = (predicted > 0).sum()"),
    FIT.format("Dense(5)", SPARSE, "", "guess = predicted.argmax(axis=1)"),
    NET.format("tf.sigmoid(logits)"),
]


@pytest.mark.parametrize("text", MISREAD)
def test_what_is_misread(text: str) -> None:
    """Scores for classes, logits for chances, errors that cancel, a threshold of nothing, another axis."""
    assert state("script-metric-miscounts", text) == "present"


@pytest.mark.parametrize("text", READ)
def test_what_is_read_as_it_is(text: str) -> None:
    """The same metrics on what they take."""
    assert state("script-metric-miscounts", text) != "present"
