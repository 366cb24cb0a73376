"""Slips in programs of TensorFlow and Keras: outputs unlike the loss, estimators, checkpoints, callbacks."""

from __future__ import annotations

import pytest

from .._scripts import state

KERAS = """
import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

x, y, x_val, y_val, x_test, y_test = np.load("rows.npy", allow_pickle=True)
model = keras.Sequential([
    keras.Input(shape=(12,)),
    layers.Dense(32, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile(
    optimizer=keras.optimizers.Adam(learning_rate=1e-3),
    loss="binary_crossentropy",
    metrics=[keras.metrics.BinaryAccuracy(name="hits"), "AUC"],
)
watch = [
    keras.callbacks.ReduceLROnPlateau(monitor="val_loss", min_lr=1e-6),
    keras.callbacks.ModelCheckpoint("best.keras", monitor="val_hits", mode="max", save_best_only=True),
]
model.fit(x, y, epochs=20, validation_data=(x_val, y_val), callbacks=watch)
best = keras.models.load_model("best.keras")
print(best.evaluate(x_test, y_test))
"""
LAST = 'layers.Dense(1, activation="sigmoid")'
LOSS = '"binary_crossentropy"'
ESTIMATOR = """
import tensorflow as tf

def cell(units, keep):
    return tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.LSTMCell(units), output_keep_prob=keep)

def model_fn(features, labels, mode, params):
    training = mode == tf.estimator.ModeKeys.TRAIN
    table = tf.get_variable("embedding", [5000, 64])
    words = tf.nn.embedding_lookup(table, features["words"])
    keep = params["keep"] if training else 1.0
    cells = tf.nn.rnn_cell.MultiRNNCell([cell(64, keep) for _ in range(2)])
    outputs, last = tf.nn.dynamic_rnn(cells, words, dtype=tf.float32)
    logits = tf.layers.dense(last[-1].h, 7)
    answer = tf.argmax(logits, axis=1)
    loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
    if mode == tf.estimator.ModeKeys.EVAL:
        hits = {"accuracy": tf.metrics.accuracy(labels, answer)}
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=hits)
    step = tf.train.AdamOptimizer(1e-3).minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)

def reader(pattern, training):
    def input_fn():
        ds = tf.data.TFRecordDataset(tf.gfile.Glob(pattern))
        return (ds.shuffle(9999).repeat() if training else ds).batch(64)
    return input_fn

train_pattern = "rows/train-*"
eval_pattern = "rows/eval-*"
train_fn = reader(train_pattern, True)
eval_fn = reader(eval_pattern, False)
estimator = tf.estimator.Estimator(model_fn, params={"keep": 0.7})
tf.estimator.train_and_evaluate(
    estimator, tf.estimator.TrainSpec(train_fn, max_steps=9000), tf.estimator.EvalSpec(eval_fn, steps=None)
)
"""
TAPE = """
import tensorflow as tf

class Trunk(tf.keras.layers.Layer):
    def __init__(self, width, **kwargs):
        super().__init__(**kwargs)
        self.dense = tf.keras.layers.Dense(width, activation="relu")

    def call(self, x):
        return self.dense(x)

class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.trunk = Trunk(64)
        self.head = tf.keras.layers.Dense(7)

    def call(self, x, training=False):
        return self.head(self.trunk(x))

model = Net()
optimizer = tf.keras.optimizers.Adam(1e-3)
loss_fn = tf.keras.losses.CategoricalCrossentropy(from_logits=True)
epoch_done = tf.Variable(0)
hits = tf.keras.metrics.Mean()
checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, epoch=epoch_done)
manager = tf.train.CheckpointManager(checkpoint, "run", max_to_keep=2)

def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(tf.one_hot(y, 7), model(x, training=True))
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))

def eval_step(x, y):
    def replica(x, y):
        logits = model(x, training=False)
        hits.update_state(tf.cast(tf.argmax(logits, axis=-1, output_type=tf.int32) == y, tf.float32))
    strategy.run(replica, args=(x, y))

if manager.latest_checkpoint:
    checkpoint.restore(manager.latest_checkpoint)
for epoch in range(int(epoch_done.numpy()), 30):
    for x, y in train_data:
        train_step(x, y)
    hits.reset_state()
    for x, y in val_data:
        eval_step(x, y)
    epoch_done.assign(epoch + 1)
    manager.save()
"""
RESTORE = "    checkpoint.restore(manager.latest_checkpoint)\n"
HOLDS = "Checkpoint(model=model, optimizer=optimizer, epoch=epoch_done)"
RANGE = "range(int(epoch_done.numpy()), 30)"
FROM = "epoch_done = tf.Variable(0)\n"

CASES = [
    ("script-activation-missing-before-loss", KERAS, LAST, LAST.replace("sigmoid", "tanh"), True),
    ("script-activation-missing-before-loss", KERAS, LAST, LAST.replace("sigmoid", "relu"), True),
    ("script-activation-missing-before-loss", KERAS, LOSS, '"hinge"', True),
    ("script-activation-missing-before-loss", KERAS, LOSS, "keras.losses.SquaredHinge()", True),
    ("script-activation-missing-before-loss", KERAS, LOSS, '"mse"', False),
    ("script-activation-missing-before-loss", KERAS, LAST, LAST, False),
    ("script-class-loss-on-numbers", KERAS, LOSS, '"categorical_crossentropy"', True),
    ("script-class-loss-on-numbers", KERAS, LOSS, "keras.losses.SparseCategoricalCrossentropy()", True),
    ("script-class-loss-on-numbers", KERAS, LOSS, LOSS, False),
    ("script-rate-not-applied", KERAS, "min_lr=1e-6", "min_lr=1e-2", True),
    ("script-rate-not-applied", KERAS, "min_lr=1e-6", "min_lr=1e-4", False),
    ("script-rate-not-applied", KERAS, '"val_loss", min', '"val_accuracy", min', True),
    ("script-rate-not-applied", KERAS, '"val_loss", min', '"val_auc", min', False),
    ("script-best-chosen-wrongly", KERAS, '"val_hits"', '"val_accuracy"', True),
    ("script-best-chosen-wrongly", KERAS, '"val_hits"', '"val_hits"', False),
    ("script-last-instead-of-best", KERAS, 'keras.models.load_model("best.keras")', "model", True),
    ("script-last-instead-of-best", KERAS, "best = ", "best = ", False),
    ("script-mode-fixed", ESTIMATOR, 'params["keep"] if training else 1.0', 'params["keep"]', True),
    ("script-mode-fixed", ESTIMATOR, "if training else 1.0", "if training else 0.0", True),
    ("script-mode-fixed", ESTIMATOR, "if training else 1.0", "if training else 1.0", False),
    ("script-mode-fixed", ESTIMATOR, "[cell(64, keep)", "[cell(64, keep if training else 1.0)", False),
    ("script-layer-repeated", ESTIMATOR, "[cell(64, keep) for _ in range(2)]", "[one] * 2", True),
    ("script-layer-repeated", ESTIMATOR, "range(2)", "range(3)", False),
    ("script-freezes-parameters", ESTIMATOR, "[5000, 64]", "[5000, 64], trainable=False", True),
    ("script-freezes-parameters", ESTIMATOR, 'g", [5000, 64]', 'g_glove", [5, 4], trainable=False', False),
    ("script-metric-miscounts", ESTIMATOR, "tf.argmax(logits, axis=1)", "tf.argmax(logits)", True),
    ("script-metric-miscounts", ESTIMATOR, "tf.argmax(logits, axis=1)", "tf.argmax(logits, 0)", True),
    ("script-metric-miscounts", ESTIMATOR, "tf.argmax(logits, axis=1)", "tf.argmax(logits, -1)", False),
    ("script-training-sees-evaluation", ESTIMATOR, '"rows/eval-*"', '"rows/train-*"', True),
    ("script-training-sees-evaluation", ESTIMATOR, "EvalSpec(eval_fn", "EvalSpec(train_fn", True),
    ("script-training-sees-evaluation", ESTIMATOR, "steps=None", "steps=50", False),
    ("script-freezes-parameters", TAPE, "Trunk(64)", "Trunk(64, trainable=False)", True),
    ("script-freezes-parameters", TAPE, "Trunk(64)", "Trunk(64, trainable=True)", False),
    ("script-classes-numbered-apart", TAPE, "tf.one_hot(y, 7)", "tf.one_hot(y + 1, 7)", True),
    ("script-classes-numbered-apart", TAPE, "tf.one_hot(y, 7)", "tf.one_hot(y, 8)", False),
    ("script-mode-fixed", TAPE, "training=False)\n        hits", "training=True)\n        hits", True),
    ("script-mode-fixed", TAPE, "training=False)\n        hits", "training=False)\n        hits", False),
    ("script-resume-incomplete", TAPE, HOLDS, "Checkpoint(model=model)", True),
    ("script-resume-incomplete", TAPE, RANGE, "range(30)", True),
    ("script-resume-incomplete", TAPE, RANGE, "range(30 - int(epoch_done))", False),
    ("script-resume-incomplete", TAPE, RESTORE, "    print('going on')\n", True),
    ("script-resume-incomplete", TAPE, RESTORE, RESTORE, False),
]  # fmt: skip


@pytest.mark.parametrize(("symptom", "text", "old", "new", "found"), CASES)
def test_slips(symptom: str, text: str, old: str, new: str, found: bool) -> None:
    """What slipped is present; its right twin, and other ways to write it, are not."""
    assert old in text
    edited = text.replace(old, new, 1)
    if "[one] * 2" in new:
        edited = edited.replace("    cells = ", "    one = cell(64, keep)\n    cells = ", 1)
    assert (state(symptom, edited) == "present") is found


def test_absent_and_unknown() -> None:
    """A program that holds the construct and is right says so; one without it says nothing."""
    assert state("script-resume-incomplete", TAPE) == "absent"
    assert state("script-resume-incomplete", KERAS) == "unknown"
    assert state("script-layer-repeated", KERAS) != "present"
    assert state("script-training-sees-evaluation", "import tensorflow as tf\n") == "unknown"


def test_metrics_of_unknown_names_are_left_aside() -> None:
    """A list of metrics that is not written out may hold anything."""
    told = KERAS.replace('metrics=[keras.metrics.BinaryAccuracy(name="hits"), "AUC"]', "metrics=METRICS")
    assert state("script-best-chosen-wrongly", told.replace("val_hits", "val_accuracy")) != "present"
