"""Metrics of Keras of the program's own, worked out batch by batch."""

from __future__ import annotations

import ast
import re

import pytest

from traindoctor.probes.by_hand.keras_metrics import broken_keras_metric
from traindoctor.probes.scripts.syntax import Script

TWO = """
import tensorflow as tf

class {name}(tf.keras.metrics.Metric):
    def __init__(self, name="score", **kw):
        super().__init__(name=name, **kw)
        self.over = self.add_weight(name="over", initializer="zeros")
        self.below = self.add_weight(name="below", initializer="zeros")

    def update_state(self, y_true, y_pred, sample_weight=None):
        hard = tf.cast(y_pred > 0.5, tf.float32)
        both = tf.reduce_sum(y_true * hard)
        self.over.assign_add({over})
        self.below.{adds}({below})

    def result(self):
        return self.over / (self.below + tf.keras.backend.epsilon())

    def reset_state(self):
        self.over.assign(0.0)
        {reset}
"""
SUMS = "tf.reduce_sum(y_true) + tf.reduce_sum(hard)"
MATRIX = """
import keras
from keras import ops

class MeanIoU(keras.metrics.Metric):
    def __init__(self, num_classes, **kw):
        super().__init__(**kw)
        self.n = num_classes
        self.inter = self.add_weight(shape=(num_classes,), initializer="zeros", name="i")
        self.either = self.add_weight(shape=(num_classes,), initializer="zeros", name="u")

    def update_state(self, y_true, y_pred, sample_weight=None):
        t = ops.one_hot(ops.cast(y_true, "int32"), self.n)
        p = ops.one_hot(ops.argmax(y_pred, axis=-1), self.n)
        axes = list(range(len(t.shape) - 1))
        self.inter.assign_add(ops.sum(t * p, axis=axes))
        self.either.assign_add(ops.sum({either}, axis=axes))

    def result(self):
        return ops.mean(self.inter / ops.maximum(self.either, 1.0))
"""


def two(name: str = "BinaryIoU", over: str = "both", below: str = f"{SUMS} - both", **rest: str) -> str:
    reset = rest.get("reset", "self.below.assign(0.0)")
    return TWO.format(name=name, over=over, below=below, adds=rest.get("adds", "assign_add"), reset=reset)


def why(text: str) -> str | None:
    found = broken_keras_metric(Script("train.py", text, ast.parse(text)))
    return found[1] if found is not None else None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (two(below=SUMS), "where every answer is right"),
        (two("DiceScore", below=SUMS), "where every answer is right"),
        (two("Recall", over="both", below="both"), "whatever the misses"),
        (two(reset="pass"), "each epoch adds to the last"),
        (two(adds="assign"), "."),
        (MATRIX.replace("{either}", "t + p"), "where every answer is right"),
    ],
)
def test_broken(text: str, told: str) -> None:
    found = why(text)
    assert found is not None and re.search(told, found), found


@pytest.mark.parametrize(
    "text",
    [
        two(),
        two("DiceScore", over="2.0 * both", below=SUMS),
        two("Recall", below="tf.reduce_sum(y_true)"),
        two("Precision", below="tf.reduce_sum(hard)"),
        two("BinaryIoU", below="unknown(y_true, hard)"),
        two("MeanWidth", below=SUMS),
        MATRIX.replace("{either}", "t + p - t * p"),
        MATRIX.replace("{either}", "ops.maximum(t, p)"),
    ],
)
def test_right(text: str) -> None:
    assert why(text) is None
