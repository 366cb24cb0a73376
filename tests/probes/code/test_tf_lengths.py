"""Warm-ups longer than the training, samples and epochs in place of steps, and metrics that go on."""

from __future__ import annotations

import pytest

from .._scripts import state

NOAM = """
import argparse
import tensorflow as tf

CONFIG = {"warmup_steps": 500, "epochs": 30, "batch_size": 32, "train_clips": 32000}

class Noam(tf.keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, peak, warmup_steps, total_steps):
        self.peak, self.warmup_steps, self.total_steps = peak, warmup_steps, total_steps

    def __call__(self, step):
        step = tf.cast(step, tf.float32)
        done = (step - self.warmup_steps) / (self.total_steps - self.warmup_steps)
        warm = self.peak * step / self.warmup_steps
        return tf.where(step < self.warmup_steps, warm, self.peak * (1 - done))

def run(cfg):
    model = build(cfg)
    steps_per_epoch = cfg["train_clips"] // cfg["batch_size"]
    schedule = Noam(1e-3, cfg["warmup_steps"], cfg["epochs"] * steps_per_epoch)
    optimizer = tf.keras.optimizers.Adam(schedule)
    loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    mean = tf.keras.metrics.Mean()
    for epoch in range(cfg["epochs"]):
        mean.reset_state()
        for x, y in data:
            with tf.GradientTape() as tape:
                loss = loss_fn(y, model(x, training=True))
            grads = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(grads, model.trainable_variables))
            mean.update_state(loss)
        print(epoch, mean.result())

run(CONFIG)
"""
ESTIMATOR = """
import argparse
import tensorflow as tf

def model_fn(features, labels, mode, params):
    logits = tf.layers.dense(features["x"], 7)
    loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
    step = tf.train.get_global_step()
    warm = tf.minimum(1.0, tf.cast(step, tf.float32) / params["warmup_steps"])
    rate = warm * tf.train.cosine_decay(1e-3, step, params["train_steps"])
    train_op = tf.train.AdamOptimizer(rate).minimize(loss, global_step=step)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=8)
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--train-examples", type=int, default=64000)
args = parser.parse_args()
train_steps = args.epochs * (args.train_examples // args.batch_size)
params = {"warmup_steps": 800, "train_steps": train_steps}
estimator = tf.estimator.Estimator(model_fn, params=params)
tf.estimator.train_and_evaluate(
    estimator,
    tf.estimator.TrainSpec(train_fn, max_steps=train_steps),
    tf.estimator.EvalSpec(eval_fn, steps=None),
)
"""
SESSION = """
import os
import tensorflow as tf

def read(root):
    names = sorted(os.listdir(root))
    images, labels = [], []
    for k, name in enumerate(names):
        for f in sorted(os.listdir(os.path.join(root, name))):
            images.append(load(f))
            labels.append(k)
    return images, labels, names

images, labels, names = read("stamps")
x = tf.placeholder(tf.float32, [None, 48, 48, 1])
y = tf.placeholder(tf.int64, [None])
logits = tf.layers.dense(tf.layers.flatten(x), len(names))
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
global_step = tf.train.get_or_create_global_step()
rate = tf.train.exponential_decay(1e-3, global_step, decay_steps=5000, decay_rate=0.5)
train_op = tf.train.AdamOptimizer(rate).minimize(loss, global_step=global_step)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(9):
        for bx, by in batches(images, labels):
            sess.run(train_op, feed_dict={x: bx, y: by})
"""
TABLE = """
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from tensorflow import keras

df = pd.read_csv("kettles.csv")
numeric = ["price", "weight", "seconds"]
target = "returned"
train_df, rest = train_test_split(df, test_size=0.3)
val_df, test_df = train_test_split(rest, test_size=0.5)
scaler = StandardScaler()
x_train = scaler.fit_transform(train_df[numeric])
x_val = scaler.transform(val_df[numeric])
y_train = train_df[target].to_numpy()
y_val = val_df[target].to_numpy()
model = keras.Sequential([keras.layers.Dense(1, activation="sigmoid")])
model.compile("adam", "binary_crossentropy")
model.fit(x_train, y_train, validation_data=(x_val, y_val), epochs=9)
"""
UNIT, SEES = "script-schedule-unit", "script-training-sees-evaluation"
MISCOUNTS, NUMBERED = "script-metric-miscounts", "script-classes-numbered-apart"
STEPS = 'cfg["train_clips"] // cfg["batch_size"]'
RESET = "        mean.reset_state()\n"

CASES = [
    (UNIT, NOAM, '"warmup_steps": 500', '"warmup_steps": 50000', True),
    (UNIT, NOAM, '"warmup_steps": 500', '"warmup_steps": 30000', False),
    (UNIT, NOAM, '"warmup_steps": 500', '"warmup_steps": 5000', False),
    (UNIT, NOAM, 'run(CONFIG)', 'CONFIG["warmup_steps"] = 9\nrun(CONFIG)', False),
    (UNIT, NOAM, STEPS, 'cfg["train_clips"]', True),
    (UNIT, NOAM, STEPS, 'int(cfg["train_clips"] / cfg["batch_size"])', False),
    (UNIT, NOAM, STEPS, 'len(data)', False),
    (UNIT, ESTIMATOR, "max_steps=train_steps", "max_steps=args.epochs", True),
    (UNIT, ESTIMATOR, '"train_steps": train_steps', '"train_steps": args.epochs', True),
    (UNIT, ESTIMATOR, "(args.train_examples // args.batch_size)", "args.train_examples", True),
    (UNIT, ESTIMATOR, '"warmup_steps": 800', '"warmup_steps": 80000', True),
    (UNIT, ESTIMATOR, '"warmup_steps": 800', '"warmup_steps": 300', False),
    (UNIT, SESSION, "decay_steps=5000", "decay_steps=5", True),
    (UNIT, SESSION, "decay_steps=5000", "decay_steps=500", False),
    (UNIT, SESSION, "1e-3, global_step, decay_steps=5000", "1e-3, epoch_number, decay_steps=5", False),
    (MISCOUNTS, NOAM, RESET, "", True),
    (MISCOUNTS, NOAM, RESET, "        mean = tf.keras.metrics.Mean()\n", False),
    (MISCOUNTS, NOAM, RESET, "        for m in (mean,):\n            m.reset_state()\n", False),
    (NUMBERED, SESSION, "enumerate(names)", "enumerate(names, start=1)", True),
    (NUMBERED, SESSION, "enumerate(names)", "enumerate(names, 0)", False),
    (SEES, TABLE, "train_test_split(rest", "train_test_split(df", True),
    (SEES, TABLE, "val_df, test_df = train", "val_df, dev_df = train", False),
]  # fmt: skip


@pytest.mark.parametrize(("symptom", "text", "old", "new", "found"), CASES)
def test_lengths(symptom: str, text: str, old: str, new: str, found: bool) -> None:
    """What is of the wrong length is present; right lengths, also by other ways, are not."""
    assert old in text
    assert (state(symptom, text.replace(old, new, 1)) == "present") is found


def test_one_more_place_for_what_is_unknown() -> None:
    """Classes from one are right where the output has a place before them."""
    code = SESSION.replace("enumerate(names)", "enumerate(names, 1)").replace(
        "len(names))", "len(names) + 1)"
    )
    assert state(NUMBERED, code) != "present"


def test_the_target_by_a_name() -> None:
    """`target = "returned"`, and the list of inputs holds it; nothing else is said of other lists."""
    assert state(SEES, TABLE.replace('"seconds"]', '"returned"]')) == "present"
    assert state(SEES, TABLE) != "present"
