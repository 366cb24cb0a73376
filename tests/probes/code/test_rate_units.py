"""Schedules of Keras, TensorFlow and MindSpore: in which unit they are long, and whether they are used."""

from __future__ import annotations

import pytest

from .._scripts import state

FIT = """
import keras
rows = read("rows.csv")
data = make(rows).batch(64)
steps_per_epoch = len(rows) // 64
schedule = {}
model.compile(optimizer=keras.optimizers.Adam({}), loss="mse")
model.fit(data, epochs=20, callbacks=[{}])
"""
MODEL = """
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn
rows = read("rows.csv")
data = ds.GeneratorDataset(rows, ["x", "y"]).batch(64)
steps = data.get_dataset_size()
rate = {}
optimizer = nn.Adam(net.trainable_params(), learning_rate={})
ms.Model(net, nn.MSELoss(), optimizer).train(20, data)
"""
LOOP = """
import tensorflow as tf
optimizer = tf.keras.optimizers.Adam(1e-3)
for epoch in range(30):
    for x, y in data:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(y - net(x, training=True)))
        grads = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(grads, net.trainable_variables))
{}
"""
COSINE = "keras.optimizers.schedules.CosineDecay(0.0, {}, warmup_target=1e-3, warmup_steps={})"

MISJUDGED = [
    FIT.format(COSINE.format("20 * steps_per_epoch", "3"), "schedule", ""),
    FIT.format(COSINE.format("20 * steps_per_epoch", "20 * len(rows) // 10"), "schedule", ""),
    FIT.format(COSINE.format("steps_per_epoch", "100"), "schedule", ""),
    FIT.format(
        "keras.optimizers.schedules.ExponentialDecay(1e-3, decay_steps=2, decay_rate=0.9)", "schedule", ""
    ),
    MODEL.format("nn.WarmUpLR(1e-3, 20 * len(rows))", "rate"),
    MODEL.format("nn.CosineDecayLR(1e-6, 1e-3, 20)", "rate"),
    MODEL.format("nn.warmup_lr(1e-3, 5, 1, 5)", "rate"),
    MODEL.format("nn.ExponentialDecayLR(1e-3, 0.95, 1)", "rate"),
    LOOP.format("        optimizer.learning_rate.assign(optimizer.learning_rate * 0.9)"),
    LOOP.format("    optimizer.learning_rate.assign(1e-3 * min(1.0, (epoch + 1) / 1000))"),
]
RIGHT = [
    FIT.format(COSINE.format("20 * steps_per_epoch", "2 * steps_per_epoch"), "schedule", ""),
    FIT.format(COSINE.format("20 * (len(rows) // 64)", "500"), "schedule", ""),
    FIT.format(
        "keras.optimizers.schedules.ExponentialDecay(1e-3, decay_steps=1000, decay_rate=0.9)", "schedule", ""
    ),
    MODEL.format("nn.WarmUpLR(1e-3, 2 * steps)", "rate"),
    MODEL.format("nn.CosineDecayLR(1e-6, 1e-3, 20 * steps)", "rate"),
    MODEL.format("nn.warmup_lr(1e-3, 5 * steps, steps, 5)", "rate"),
    MODEL.format("nn.ExponentialDecayLR(1e-3, 0.95, steps)", "rate"),
    LOOP.format("    optimizer.learning_rate.assign(optimizer.learning_rate * 0.9)"),
    LOOP.format("    optimizer.learning_rate.assign(1e-3 * min(1.0, (epoch + 1) / 5))"),
]


@pytest.mark.parametrize("text", MISJUDGED)
def test_another_unit(text: str) -> None:
    """Epochs, samples, one epoch or a handful of batches, where the schedule moves with every batch."""
    assert state("script-schedule-unit", text) == "present"


@pytest.mark.parametrize("text", RIGHT)
def test_the_unit_of_updates(text: str) -> None:
    """Lengths in batches, however they are written."""
    assert state("script-schedule-unit", text) != "present"


UNUSED = [
    FIT.format(COSINE.format("20 * steps_per_epoch", "500"), "1e-3", ""),
    MODEL.format("nn.cosine_decay_lr(0.0, 1e-3, 20 * steps, steps, 20)", "1e-3"),
    LOOP.format("").replace(
        "optimizer = ", "rate = tf.keras.optimizers.schedules.CosineDecay(1e-3, 9000)\noptimizer = "
    ),
]


@pytest.mark.parametrize("text", UNUSED)
def test_a_schedule_that_nothing_gets(text: str) -> None:
    """It is made, and the optimizer has a rate of its own."""
    assert state("script-scheduler-never-stepped", text) == "present"


@pytest.mark.parametrize("text", RIGHT)
def test_a_schedule_that_is_handed_on(text: str) -> None:
    """It goes into the optimizer."""
    assert state("script-scheduler-never-stepped", text) != "present"


STOPS = "keras.callbacks.EarlyStopping(patience={}), keras.callbacks.ReduceLROnPlateau({})"


@pytest.mark.parametrize(
    ("soon", "late", "told"),
    [("5", "patience=10", True), ("3", "", True), ("20", "patience=5", False), ("5", "patience=5", False)],
)
def test_training_stops_before_the_rate_is_lowered(soon: str, late: str, told: bool) -> None:
    """The callback that waits longer never acts; it waits ten rounds unless told."""
    text = FIT.format("None", "1e-3", STOPS.format(soon, late))
    assert (state("script-rate-not-applied", text) == "present") is told
