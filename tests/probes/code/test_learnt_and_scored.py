"""Data that training goes over and that are scored, in any framework."""

from __future__ import annotations

import pytest

from .._scripts import state

FIT = """
import keras
x_train, y_train = load("train.npz")
x_val, y_val = load("val.npz")
model.compile(optimizer="adam", loss="mse")
model.fit(x_train, y_train, validation_data={}, epochs=9, callbacks=[keras.callbacks.EarlyStopping()])
print(model.evaluate(x_test, y_test))
"""
LOOP = """
import tensorflow as tf
train_set = make("train", True)
valid_set = make("valid", False)
test_set = make("test", False)
@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, net(x, training=True))
    grads = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(grads, net.trainable_variables))
@tf.function
def valid_step(x, y):
    accuracy.update_state(y, net(x, training=False))
best = 0.0
for epoch in range(9):
    for x, y in train_set:
        train_step(x, y)
    for x, y in {}:
        valid_step(x, y)
    {}
    if accuracy.result() > best:
        best = accuracy.result()
        net.save_weights("best.h5")
for x, y in test_set:
    valid_step(x, y)
"""
MINDSPORE = """
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn
train_data = ds.GeneratorDataset(rows, ["x", "y"]).batch(8)
valid_data = ds.GeneratorDataset(others, ["x", "y"]).batch(8)
test_data = ds.GeneratorDataset(last, ["x", "y"]).batch(8)
class KeepBest(ms.train.Callback):
    def __init__(self, model, data):
        self.model, self.data, self.best = model, data, 9.0
    def on_train_epoch_end(self, context):
        error = self.model.eval(self.data)["mae"]
        if error < self.best:
            self.best = error
            ms.save_checkpoint(net, "best.ckpt")
model = ms.Model(net, nn.MSELoss(), optimizer, metrics={{"mae"}})
model.train(9, train_data, callbacks=[KeepBest(model, {})])
print(model.eval(test_data))
"""

SEEN = [
    FIT.format("(x_train, y_train)"),
    LOOP.format("train_set", ""),
    MINDSPORE.format("train_data"),
]
UNSEEN = [
    FIT.format("(x_val, y_val)"),
    LOOP.format("valid_set", ""),
    LOOP.format("train_set", "print(evaluate(net, valid_set))").replace(
        "best = 0.0",
        "best = 0.0\ndef evaluate(net, data):\n    for x, y in data:\n        accuracy.update_state(y, net(x, training=False))",  # noqa: E501
    ),
    MINDSPORE.format("valid_data"),
]


@pytest.mark.parametrize("text", SEEN)
def test_what_is_scored_was_learnt(text: str) -> None:
    """By `validation_data`, by the loop over epochs, by a callback."""
    assert state("script-evaluates-training-data", text) == "present"


@pytest.mark.parametrize("text", UNSEEN)
def test_what_is_scored_is_held_out(text: str) -> None:
    """Training data may be scored beside other data."""
    assert state("script-evaluates-training-data", text) != "present"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (LOOP.format("test_set", ""), True),
        (MINDSPORE.format("test_data"), True),
        (LOOP.format("valid_set", ""), False),
        (MINDSPORE.format("valid_data"), False),
    ],
)
def test_the_test_chooses_the_best(text: str, told: bool) -> None:
    """What chooses the best epoch gives the final score, and held-out data lie beside it."""
    assert (state("script-training-sees-evaluation", text) == "present") is told


SLICES = """
import tensorflow as tf
{}
train_ds = tf.data.Dataset.from_tensor_slices(({})).shuffle(99).batch(8)
val_ds = tf.data.Dataset.from_tensor_slices((x[n:], y[n:])).batch(8)
model.compile(optimizer="adam", loss="mse")
model.fit(train_ds, validation_data=val_ds)
"""
ROWS = """
import mindspore as ms
from mindspore import nn
train_rows, test_rows = read("train.csv"), read("test.csv")
{}
step = nn.TrainOneStepCell(net, optimizer)
for x in batches(train_rows):
    step(x)
print(score(valid_rows))
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (SLICES.format("", "x, y"), True),
        (SLICES.format("", "x[:n], y[:n]"), False),
        (ROWS.format("valid_rows = train_rows[:200]"), True),
        (ROWS.format("valid_rows, train_rows = train_rows[:200], train_rows[200:]"), False),
        (ROWS.format("valid_rows = train_rows[:200]\ntrain_rows = train_rows[200:]"), False),
    ],
)
def test_parts_of_one_whole(text: str, told: bool) -> None:
    """A slice of what is trained on as a whole."""
    assert (state("script-training-sees-evaluation", text) == "present") is told


PAIRS = """
import tensorflow as tf
def pairs(folder):
    names = sorted(tf.io.gfile.glob(folder + "/*.png"))
    return tf.data.Dataset.from_tensor_slices(names), len(names)
train_pairs, count = pairs("tiles/train")
valid_pairs, _ = pairs("tiles/{}")
model.compile(optimizer="adam", loss="mse")
model.fit(train_pairs.shuffle(count).batch(8), validation_data=valid_pairs.batch(8))
"""


def test_both_sides_of_one_folder() -> None:
    """A function of the script reads the folder of training for both sides."""
    assert state("script-training-sees-evaluation", PAIRS.format("train")) == "present"
    assert state("script-training-sees-evaluation", PAIRS.format("valid")) != "present"
