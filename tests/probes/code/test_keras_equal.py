"""Equal ways to write what a Keras program trains by, and faults that look like them."""

from __future__ import annotations

import pytest

from .test_keras_pairs import _edited, _kinds

TABLE = """
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

x, y, x_val, y_val = np.load("rows.npy", allow_pickle=True)
model = keras.Sequential([
    layers.Dense(64, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(
    optimizer=keras.optimizers.Adam(1e-3),
    loss="binary_crossentropy",
    metrics=[keras.metrics.BinaryAccuracy(name="hits"), keras.metrics.AUC(name="area")],
)
model.fit(x, y, epochs=20, validation_data=(x_val, y_val))
scores = model.predict(x_val)[:, 0]
print(scores.mean())
"""
LOGITS = [
    ('layers.Dense(1, activation="sigmoid")', "layers.Dense(1)"),
    ('loss="binary_crossentropy"', "loss=keras.losses.BinaryCrossentropy(from_logits=True)"),
    ('name="hits")', 'name="hits", threshold=0.0)'),
    ('name="area")', 'name="area", from_logits=True)'),
    ("model.predict(x_val)[:, 0]", "1.0 / (1.0 + np.exp(-model.predict(x_val)[:, 0]))"),
]
TAPE = """
import tensorflow as tf
from tensorflow.keras import mixed_precision

mixed_precision.set_global_policy("mixed_float16")
model = build()
optimizer = mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam(1e-3))
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
accuracy = tf.keras.metrics.SparseCategoricalAccuracy()

def held_out(files):
    ds = tf.data.TFRecordDataset(files).map(parse)
    return ds.batch(64).prefetch(2)

def step(x, y):
    with tf.GradientTape() as tape:
        logits = model(x, training=True)
        loss = loss_fn(y, logits)
        scaled = optimizer.get_scaled_loss(loss)
    scaled_grads = tape.gradient(scaled, model.trainable_variables)
    grads = optimizer.get_unscaled_gradients(scaled_grads)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    accuracy.update_state(y, logits)

for epoch in range(9):
    accuracy.reset_state()
    for x, y in train_ds:
        step(x, y)
    print(accuracy.result())
"""
SCALED = """        scaled = optimizer.get_scaled_loss(loss)
    scaled_grads = tape.gradient(scaled, model.trainable_variables)
    grads = optimizer.get_unscaled_gradients(scaled_grads)
"""
WIDE = [
    ('"mixed_float16"', '"mixed_bfloat16"'),
    ("mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam(1e-3))", "tf.keras.optimizers.Adam(1e-3)"),
    (SCALED, "    grads = tape.gradient(loss, model.trainable_variables)\n"),
]
BY_CLASS = [('loss="binary_crossentropy"', "loss=keras.losses.BinaryCrossentropy(label_smoothing=0.1)")]
BY_HAND = [
    (
        'loss="binary_crossentropy"',
        "loss=lambda t, p: keras.losses.binary_crossentropy(t, p, label_smoothing=0.1)",
    )
]
CHANCES = [("update_state(y, logits)", "update_state(y, tf.nn.softmax(logits))")]


@pytest.mark.parametrize(
    ("theirs", "mine"),
    [
        (TABLE, _edited(TABLE, LOGITS)),
        (_edited(TABLE, LOGITS), TABLE),
        (_edited(TABLE, BY_CLASS), _edited(TABLE, BY_HAND)),
        (TAPE, _edited(TAPE, WIDE)),
        (TAPE, _edited(TAPE, CHANCES)),
    ],
    ids=["logits", "chances", "loss-as-function", "bfloat16", "largest-of-chances"],
)
def test_equal_ways(theirs: str, mine: str) -> None:
    """Neither way is an edit of the other."""
    assert _kinds(theirs, mine) == set()


@pytest.mark.parametrize(
    ("theirs", "mine"),
    [
        (TABLE, _edited(TABLE, LOGITS[1:])),
        (TABLE, _edited(TABLE, LOGITS[:1])),
        (TAPE, _edited(TAPE, WIDE[1:])),
        (TABLE, _edited(TABLE, BY_HAND)),
    ],
    ids=["sigmoid-twice", "no-sigmoid", "half-without-scale", "smoothed"],
)
def test_what_only_looks_equal(theirs: str, mine: str) -> None:
    """Half of the change is a fault, or another choice."""
    assert _kinds(theirs, mine)
