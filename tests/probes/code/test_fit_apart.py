"""What fit gets for training and for validation."""

from __future__ import annotations

import pytest

from .._scripts import state

LABELS, INPUTS = "script-labels-processed-differently", "script-splits-processed-differently"
FIT = """
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit({X}, {Y}, validation_data=({VX}, {VY}), epochs=3)
"""


@pytest.mark.parametrize(
    ("y", "vy", "found"),
    [
        ("(train_y - mu) / sd", "(val_y - mu) / sd", False),
        ("(train_y - mu) / sd", "val_y", True),
        ("train_y", "(val_y - mu) / sd", True),
        ("np.log1p(y_train)", "y_test", True),
        ("np.log1p(y_train)", "np.log1p(y_test)", False),
        ("train_y", "val_y", False),
        ("train_y", "other", False),
    ],
)
def test_targets(y: str, vy: str, found: bool) -> None:
    code = FIT.replace("{X}", "train_x").replace("{VX}", "val_x").replace("{Y}", y).replace("{VY}", vy)
    assert (state(LABELS, code) == "present") is found


@pytest.mark.parametrize(
    ("x", "vx", "found"),
    [
        ("train_x / 255.0", "val_x / 255.0", False),
        ("train_x / 255.0", "val_x", True),
        ("scaler.transform(train_x)", "val_x", True),
        ("augment_noise(train_x)", "val_x", False),
    ],
)
def test_inputs(x: str, vx: str, found: bool) -> None:
    code = FIT.replace("{X}", x).replace("{VX}", vx).replace("{Y}", "train_y").replace("{VY}", "val_y")
    assert (state(INPUTS, code) == "present") is found
