"""Functional models in which a name is made anew before anything read what it held."""

from __future__ import annotations

import pytest

from .._scripts import state

MODEL = """
import keras
from keras import layers
def block(x, filters):
    h = layers.Conv2D(filters, 3, padding="same")(x)
    return layers.Add()([h, x])
def build():
    inputs = keras.Input((8, 8, 1))
    {BODY}
    outputs = layers.Dense(10, activation="softmax")(x)
    return keras.Model(inputs, outputs)
model = build()
model.compile("adam", loss="sparse_categorical_crossentropy")
model.fit(x_train, y_train, validation_data=(x_val, y_val))
"""
BEGIN = "x = layers.Conv2D(16, 3)(inputs)\n    "
LOOP = "for _ in range(2):\n        x = block(x, 16)\n    "


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (BEGIN + LOOP + "x = layers.GlobalAveragePooling2D()(x)", False),
        (BEGIN + LOOP + "x = layers.GlobalAveragePooling2D()(inputs)", True),
        (
            BEGIN + "x = layers.BatchNormalization()(x)\n    x = layers.Flatten()(inputs)",
            True,
        ),
        (BEGIN + "x = layers.Conv2D(32, 3)(inputs)\n    x = layers.Flatten()(x)", True),
        ("x = layers.Rescaling(1 / 255)(inputs)\n    x = layers.Flatten()(inputs)", False),  # no weights
        (
            BEGIN + "skip = x\n    x = layers.Flatten()(inputs)\n    x = layers.Concatenate()([x, skip])",
            False,
        ),
        (BEGIN + "side = keras.Model(inputs, x)\n    x = layers.Flatten()(inputs)", False),  # another model
    ],
)
def test_what_layers_made_is_lost(body: str, told: bool) -> None:
    assert (state("script-branch-lost", MODEL.replace("{BODY}", body)) == "present") is told
