# ruff: noqa: E501
"""Slips in Keras and TensorFlow: gradients, answers, layers that learn nothing, best weights, counters."""

from __future__ import annotations

import pytest

from .._scripts import state

FIT = """
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(4)
x_train, y_train = np.load("x_train.npy"), np.load("y_train.npy")
x_val, y_val = np.load("x_val.npy"), np.load("y_val.npy")
norm = layers.Normalization()
norm.adapt(x_train)
inputs = keras.Input((20,))
h = norm(inputs)
h = layers.Dense(64, activation="relu")(h)
outputs = layers.Dense(9)(h)
model = keras.Model(inputs, outputs)
model.compile(
    optimizer=keras.optimizers.Adam(1e-3, clipnorm=1.0),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=[keras.metrics.SparseCategoricalAccuracy(name="accuracy")],
)
model.fit(x_train, y_train, epochs=20, batch_size=32, shuffle=True, validation_data=(x_val, y_val))
model.save("model.keras")
"""

TAPE = """
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(4)
keras.mixed_precision.set_global_policy("mixed_float16")


def build(width, words):
    ids = keras.Input((None,), dtype="int32")
    h = keras.layers.Embedding(words, 64)(ids)
    h = keras.layers.GlobalAveragePooling1D()(h)
    h = keras.layers.Dense(width, activation="relu")(h)
    h = keras.layers.Dropout(0.1)(h)
    logits = keras.layers.Dense(9, dtype="float32")(h)
    return keras.Model(ids, logits)


model = build(128, 5000)
optimizer = keras.mixed_precision.LossScaleOptimizer(keras.optimizers.Adam(1e-3))
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
seen = tf.Variable(0, dtype=tf.int64)
checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, seen=seen)
manager = tf.train.CheckpointManager(checkpoint, "runs", max_to_keep=1)
best_manager = tf.train.CheckpointManager(checkpoint, "best", max_to_keep=1)
checkpoint.restore(manager.latest_checkpoint)
mean_abs = keras.metrics.Mean()


@tf.function
def step(ids, y):
    with tf.GradientTape() as tape:
        logits = model(ids, training=True)
        loss = loss_fn(y, logits)
        scaled = optimizer.get_scaled_loss(loss)
    grads = tape.gradient(scaled, model.trainable_variables)
    grads = optimizer.get_unscaled_gradients(grads)
    grads, _ = tf.clip_by_global_norm(grads, 2.0)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


def score(batch):
    ids, y = batch
    p = tf.nn.softmax(model(ids, training=False))
    mean_abs.update_state(tf.abs(tf.one_hot(y, 9) - p))


def evaluate(model, data):
    mean_abs.reset_state()
    for batch in data:
        score(batch)
    return float(mean_abs.result())


lowest = 1e9
for epoch in range(int(seen.numpy()), 30):
    for ids, y in train_ds:
        step(ids, y)
    error = evaluate(model, val_ds)
    seen.assign_add(1)
    manager.save()
    if error < lowest:
        lowest = error
        best_manager.save()
checkpoint.restore(best_manager.latest_checkpoint)
print(evaluate(model, test_ds))
"""

APPLY = "    optimizer.apply_gradients(zip(grads, model.trainable_variables))\n"
PARTS = """
norm = layers.Normalization()
rows = np.load("rows.npy")
train_rows, test_rows = slice(0, 800), slice(800, None)


def make(part):
    return tf.data.Dataset.from_tensor_slices((rows[part], labels[part]))


train_ds, test_ds = make(train_rows), make(test_rows)
norm.adapt(rows[train_rows])
"""
PARTED = "\nnorm = layers.Normalization()\nnorm.adapt(x_train)\n"
BASE = """
base = keras.applications.ResNet50(include_top=False)
x = keras.Input((64, 64, 3))
z = base(x, training=False)
body = keras.Model(x, z)
"""

CASES = [
    ("script-gradients-misplaced", TAPE, APPLY, APPLY + APPLY),
    ("script-gradients-misplaced", TAPE, "zip(grads, model", "zip(grads[::-1], model"),
    ("script-gradient-path-cut", TAPE, "tape.gradient(scaled,", "tape.gradient(logits,"),
    (
        "script-gradient-path-cut",
        TAPE,
        "loss_fn(y, logits)",
        "loss_fn(y, tf.constant(logits.numpy()))",
    ),
    ("script-output-in-half", TAPE, 'Dense(9, dtype="float32")', "Dense(9)"),
    ("script-class-loss-on-numbers", TAPE, "loss_fn(y, logits)", "loss_fn(tf.one_hot(y, 9), logits)"),
    (
        "script-class-loss-on-numbers",
        FIT,
        "losses.SparseCategoricalCrossentropy",
        "losses.CategoricalCrossentropy",
    ),
    ("script-metric-miscounts", FIT, "metrics.SparseCategoricalAccuracy", "metrics.CategoricalAccuracy"),
    (
        "script-metric-miscounts",
        FIT,
        "[keras.metrics.SparseCategorical",
        "['categorical_accuracy', keras.metrics.SparseTopKCategorical",
    ),
    (
        "script-metric-miscounts",
        TAPE,
        "    for batch in data:\n",
        "    for batch in data:\n        mean_abs.reset_state()\n",
    ),
    ("script-metric-miscounts", TAPE, "tf.abs(tf.one_hot(y, 9) - p)", "tf.one_hot(y, 9) - p"),
    ("script-scaling-unused", FIT, "norm.adapt(x_train)\n", ""),
    ("script-learns-from-held-out", FIT.replace(PARTED, PARTS), "adapt(rows[train_rows])", "adapt(rows)"),
    ("script-clip-without-effect", FIT, "clipnorm=1.0", "clipnorm=1e7"),
    ("script-clip-without-effect", TAPE, "(grads, 2.0)", "(grads, 1e5)"),
    ("script-order-fixed", FIT, "shuffle=True", "shuffle=False"),
    ("script-freezes-parameters", TAPE, "Embedding(words, 64)", "Embedding(words, 64, trainable=False)"),
    ("script-resume-incomplete", TAPE, "    seen.assign_add(1)\n", ""),
    ("script-last-instead-of-best", TAPE, "restore(best_manager.latest", "restore(manager.latest"),
    (
        "script-mode-fixed",
        FIT.replace("\nnorm = ", BASE + "norm = "),
        "base(x, training=False)",
        "base(x, training=True)",
    ),
]


TAGS = """
import tensorflow as tf
from tensorflow import keras

PAD, UNK = 0, 1


def numbers(sentences):
    words = sorted({w for ws, _ in sentences for w in ws})
    return {w: i + 2 for i, w in enumerate(words)}


def tag_numbers(sentences):
    tags = sorted({t for _, ts in sentences for t in ts})
    return {t: i + 1 for i, t in enumerate(tags)}


def pairs(sentences, words, tags):
    for ws, ts in sentences:
        yield [words.get(w, UNK) for w in ws], [tags[t] for t in ts]


class Net(keras.Model):
    def __init__(self, size, classes):
        super().__init__()
        self.table = keras.layers.Embedding(size, 64, mask_zero=True)
        self.body = keras.layers.LSTM(64, return_sequences=True)
        self.head = keras.layers.Dense(classes)
        self.hits = keras.metrics.Mean(name="hits")

    def call(self, ids, training=None):
        return self.head(self.body(self.table(ids), training=training))

    def loss_of(self, tags, logits):
        weights = tf.cast(tf.not_equal(tags, PAD), tf.float32)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tags, logits=logits)
        return tf.reduce_sum(losses * weights) / tf.reduce_sum(weights)

    def right(self, tags, logits):
        guess = tf.argmax(logits, axis=-1, output_type=tf.int32)
        return tf.cast(tf.equal(guess, tags), tf.float32), tf.cast(tf.not_equal(tags, PAD), tf.float32)

    def train_step(self, data):
        ids, tags = data
        with tf.GradientTape() as tape:
            logits = self(ids, training=True)
            loss = self.loss_of(tags, logits)
        grads = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
        hits, here = self.right(tags, logits)
        self.hits.update_state(hits, sample_weight=here)
        return {"loss": loss, "hits": self.hits.result()}

    def test_step(self, data):
        ids, tags = data
        logits = self(ids, training=False)
        hits, here = self.right(tags, logits)
        self.hits.update_state(hits, sample_weight=here)  # held-out
        return {"loss": self.loss_of(tags, logits), "hits": self.hits.result()}

    @property
    def metrics(self):
        return [self.hits]


words, tags = numbers(train), tag_numbers(train)
train_ds = tf.data.Dataset.from_generator(lambda: pairs(train, words, tags), output_types=(tf.int32, tf.int32))
train_ds = train_ds.shuffle(5000).padded_batch(32, ([None], [None]), padding_values=(PAD, PAD))
net = Net(len(words) + 2, len(tags) + 1)
net.compile(optimizer=keras.optimizers.Adam(1e-3))
net.fit(train_ds, epochs=9)
"""

FLIPS = """
import tensorflow as tf


def turn(image, mask):
    both = tf.concat([image, mask], axis=-1)
    both = tf.image.random_flip_left_right(both)
    return both[..., :3], both[..., 3:]


ds = tf.data.Dataset.from_tensor_slices((images, masks)).map(turn).batch(8)
model.fit(ds, epochs=3)
"""

APART = """    image = tf.image.random_flip_left_right(image)
    mask = tf.image.random_flip_left_right(mask)
    return image, mask
"""
JOINED = FLIPS[FLIPS.index("    both = tf.concat") : FLIPS.index("\n\nds = ")]
MEAN = "tf.reduce_sum(losses * weights) / tf.reduce_sum(weights)"
HELD = "self.hits.update_state(hits, sample_weight=here)  # held-out"

CASES += [
    ("script-label-padding-counts", TAGS, MEAN, "tf.reduce_mean(losses * weights)"),
    ("script-label-padding-counts", TAGS, MEAN, "tf.reduce_mean(losses)"),
    (
        "script-label-padding-counts",
        TAGS,
        "tf.not_equal(tags, PAD), tf.float32)\n        losses",
        "tf.equal(tags, PAD), tf.float32)\n        losses",
    ),
    ("script-label-padding-counts", TAGS, "padding_values=(PAD, PAD)", "padding_values=(PAD, 1)"),
    ("script-label-padding-counts", TAGS, "{t: i + 1 for", "{t: i for"),
    ("script-words-numbered-apart", TAGS, "{w: i + 2 for", "{w: i for"),
    ("script-words-numbered-apart", TAGS, "Net(len(words) + 2,", "Net(len(words),"),
    ("script-metric-miscounts", TAGS, HELD, "self.hits.update_state(hits)"),
    ("script-metric-miscounts", TAGS, "tf.argmax(logits, axis=-1", "tf.argmax(logits, axis=1"),
    (
        "script-gradient-path-cut",
        TAGS,
        "            loss = self.loss_of(tags, logits)\n        grads",
        "            hits, here = self.right(tags, logits)\n            loss = 1.0 - tf.reduce_mean(hits * here)\n        grads",
    ),
    ("script-sample-torn-apart", FLIPS, JOINED, APART),
]


@pytest.mark.parametrize(("symptom", "text", "old", "new"), CASES)
def test_slips(symptom: str, text: str, old: str, new: str) -> None:
    """What slipped is present, and its right twin is not."""
    assert old in text
    assert state(symptom, text) != "present"
    assert state(symptom, text.replace(old, new)) == "present"


RIGHT = [
    # gradients are taken anew between two steps; both lists are turned
    ("script-gradients-misplaced", TAPE, APPLY, APPLY + "    grads = [0.5 * g for g in grads]\n" + APPLY),
    (
        "script-gradients-misplaced",
        TAPE,
        "zip(grads, model.trainable_variables)",
        "zip(grads[::-1], model.trainable_variables[::-1])",
    ),
    # an energy, and gradients for what a picture looks like
    (
        "script-gradient-path-cut",
        TAPE,
        "tape.gradient(scaled, model.trainable_variables)",
        "tape.gradient(logits, ids)",
    ),
    # the figures are looked at, beside the loss
    (
        "script-gradient-path-cut",
        TAPE,
        "        scaled = ",
        "        shown = tf.constant(logits.numpy())\n        scaled = ",
    ),
    # the loss is cast, the policy is bfloat16
    (
        "script-output-in-half",
        TAPE.replace("loss_fn(y, logits)", "loss_fn(y, tf.cast(logits, tf.float32))"),
        'Dense(9, dtype="float32")',
        "Dense(9)",
    ),
    (
        "script-output-in-half",
        TAPE.replace("mixed_float16", "mixed_bfloat16"),
        'Dense(9, dtype="float32")',
        "Dense(9)",
    ),
    # answers are one-hot where the loss wants them so
    (
        "script-class-loss-on-numbers",
        FIT.replace("metrics.Sparse", "metrics.").replace(
            "x_val, y_val", "y_train = keras.utils.to_categorical(y_train)\nx_val, y_val", 1
        ),
        "losses.SparseCategoricalCrossentropy",
        "losses.CategoricalCrossentropy",
    ),
    # vectors that come from elsewhere, a frozen table of random features
    (
        "script-freezes-parameters",
        TAPE,
        "Embedding(words, 64)",
        "Embedding(words, 64, weights=[vectors], trainable=False)",
    ),
    # what another layer learned; mean and variance by hand
    (
        "script-scaling-unused",
        FIT.replace("norm.adapt(x_train)\n", ""),
        "Normalization()",
        "Normalization(mean=m, variance=v)",
    ),
    (
        "script-scaling-unused",
        FIT.replace("norm.adapt(x_train)\n", ""),
        "model.fit",
        "model.load_weights('w.h5')\nmodel.fit",
    ),
    # the norm is what is asked for
    (
        "script-clip-without-effect",
        TAPE,
        "grads, _ = tf.clip_by_global_norm(grads, 2.0)",
        "grads, norm = tf.clip_by_global_norm(grads, 1e9)",
    ),
    # a series in time, and one epoch
    (
        "script-order-fixed",
        FIT.replace("x_train, y_train = ", "window = 12\nx_train, y_train = "),
        "shuffle=True",
        "shuffle=False",
    ),
    ("script-order-fixed", FIT.replace("epochs=20", "epochs=1"), "shuffle=True", "shuffle=False"),
    # the last weights are meant, and the best lie on the disk for later
    (
        "script-last-instead-of-best",
        TAPE.replace("test_ds", "val_ds"),
        "checkpoint.restore(best_manager.latest_checkpoint)\n",
        "",
    ),
    # the mode is left to Keras
    ("script-mode-fixed", FIT.replace("\nnorm = ", BASE + "norm = "), "base(x, training=False)", "base(x)"),
]


RIGHT += [
    # marks are numbered with the words, so that nothing is added
    (
        "script-words-numbered-apart",
        TAGS.replace("words = sorted({w for", "words = ['<pad>', '<unk>'] + sorted({w for").replace(
            "Net(len(words) + 2,", "Net(len(words),"
        ),
        "{w: i + 2 for",
        "{w: i for",
    ),
    # one more row than there are numbers
    ("script-words-numbered-apart", TAGS, "Net(len(words) + 2,", "Net(len(words) + 10,"),
    # the mean of the places that are left
    ("script-label-padding-counts", TAGS, MEAN, "tf.reduce_mean(tf.boolean_mask(losses, weights > 0))"),
    # labels of one step of the sequence, where axis 1 holds the classes
    (
        "script-metric-miscounts",
        TAGS.replace(
            "self.body(self.table(ids), training=training)",
            "self.body(self.table(ids), training=training)[:, -1]",
        ),
        "tf.argmax(logits, axis=-1",
        "tf.argmax(logits, axis=1",
    ),
    # two views of one picture are to be turned apart
    (
        "script-sample-torn-apart",
        FLIPS.replace("mask", "other"),
        JOINED.replace("mask", "other"),
        APART.replace("mask", "other"),
    ),
    # a part of the loss without a slope, beside one that has it
    (
        "script-gradient-path-cut",
        TAGS,
        "loss = self.loss_of(tags, logits)\n        grads",
        "loss = self.loss_of(tags, logits) * tf.cast(tf.size(tags) > 0, tf.float32)\n        grads",
    ),
]


@pytest.mark.parametrize(("symptom", "text", "old", "new"), RIGHT)
def test_other_right_ways(symptom: str, text: str, old: str, new: str) -> None:
    """What resembles a slip and is none is left aside."""
    assert old in text
    assert state(symptom, text.replace(old, new)) != "present"


def test_best_of_a_saver() -> None:
    """A saver that keeps the best, and a test that is run with the last weights."""
    text = """
import tensorflow.compat.v1 as tf

loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=tf.layers.dense(x, 5)))
train_op = tf.train.AdamOptimizer(1e-3).minimize(loss)
saver = tf.train.Saver()


def evaluate(sess, xs, ys):
    return sess.run(loss, {x: xs, y: ys})


with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    best = 1e9
    for epoch in range(20):
        sess.run(train_op, {x: train_x, y: train_y})
        now = evaluate(sess, dev_x, dev_y)
        if now < best:
            best = now
            saver.save(sess, path)
    saver.restore(sess, path)
    print(evaluate(sess, test_x, test_y))
"""
    symptom = "script-last-instead-of-best"
    assert state(symptom, text) != "present"
    assert state(symptom, text.replace("    saver.restore(sess, path)\n", "")) == "present"
    assert (
        state(
            symptom,
            text.replace("    saver.restore(sess, path)\n    print(evaluate(sess, test_x, test_y))\n", ""),
        )
        != "present"
    )
    swapped = "script-loss-arguments-swapped"
    assert state(swapped, text) == "absent" or state(swapped, text) == "unknown"
    assert (
        state(swapped, text.replace("labels=y, logits=tf.layers.dense(x, 5)", "labels=logits, logits=y"))
        == "present"
    )


def test_absent_and_unknown() -> None:
    """A program that holds the construct and is right says so; one without it says nothing."""
    assert state("script-gradients-misplaced", TAPE) == "absent"
    assert state("script-gradients-misplaced", FIT) == "unknown"
    assert state("script-output-in-half", FIT) == "unknown"
