"""Figures that cannot say what they are named for, flags the wrong way round, shares to keep and to drop."""

from __future__ import annotations

import pytest

from .._scripts import state

KERAS = """
import glob
import numpy as np
import tensorflow as tf
from sklearn.metrics import roc_auc_score

def dataset(split):
    training = split == "train"
    ds = tf.data.TFRecordDataset(sorted(glob.glob(f"{split}-*")))
    if training:
        ds = ds.shuffle(4096)
    return ds.batch(32)

class Block(tf.keras.layers.Layer):
    def __init__(self, width, rate=0.1):
        super().__init__()
        self.dense = tf.keras.layers.Dense(width, activation="relu")
        self.drop = tf.keras.layers.Dropout(rate)

    def call(self, x, training=None):
        return self.drop(self.dense(x), training=training)

inputs = tf.keras.Input((16,))
outputs = tf.keras.layers.Dense(1, activation="sigmoid")(Block(32)(inputs))
model = tf.keras.Model(inputs, outputs)
optimizer = tf.keras.optimizers.Adam(1e-3)
loss_fn = tf.keras.losses.BinaryCrossentropy()
mean = tf.keras.metrics.Mean()
eval_mae = tf.keras.metrics.Mean()
for epoch in range(9):
    mean.reset_state()
    eval_mae.reset_state()
    for x, y in dataset("train"):
        with tf.GradientTape() as tape:
            loss = loss_fn(y, model(x, training=True))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        mean.update_state(loss)
    for x, y in dataset("val"):
        guess = model(x, training=False)
        eval_mae.update_state(tf.abs(y - guess) * 11.7)
    print(epoch, mean.result(), eval_mae.result())
model.compile(optimizer, loss="binary_crossentropy")
scores = model.predict(x_test)[:, 0]
print(roc_auc_score(y_test, scores))
"""
SESSION = """
import tensorflow as tf

def cell(units, keep_prob):
    return tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.LSTMCell(units), output_keep_prob=keep_prob)

x = tf.placeholder(tf.float32, [None, 20, 8])
y = tf.placeholder(tf.int64, [None])
keep_prob = tf.placeholder(tf.float32)
share = FLAGS.keep_prob
outputs, last = tf.nn.dynamic_rnn(cell(64, share), x, dtype=tf.float32)
hidden = tf.nn.dropout(outputs[:, -1], keep_prob)
logits = tf.layers.dense(hidden, 7)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
train_op = tf.train.AdamOptimizer(1e-3).minimize(loss)
saver = tf.train.Saver()
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(9):
        for bx, by in batches:
            sess.run(train_op, feed_dict={x: bx, y: by, keep_prob: 0.6})
    saver.restore(sess, "best.ckpt")
    print(sess.run(loss, feed_dict={x: test_x, y: test_y, keep_prob: 1.0}))
"""
MISCOUNTS, ORDER, TURNED = "script-metric-miscounts", "script-order-fixed", "script-argument-inverted"
LAST, RESUME = "script-last-instead-of-best", "script-resume-incomplete"
TEST = "roc_auc_score(y_test, scores)"
FLAG = 'training = split == "train"'
RESTORE = '    saver.restore(sess, "best.ckpt")\n'
INIT = "    sess.run(tf.global_variables_initializer())\n"
EMPTY = '    mean.reset_state()\n    eval_mae.reset_state()\n    for x, y in dataset("train"):\n'

CASES = [
    (MISCOUNTS, KERAS, TEST, "roc_auc_score(y_test, scores > 0.5)", True),
    (MISCOUNTS, KERAS, TEST, "roc_auc_score(y_test, (scores > 0.5).astype(int))", True),
    (MISCOUNTS, KERAS, TEST, "roc_auc_score(y_test, y_score=scores.round())", True),
    (MISCOUNTS, KERAS, TEST, "roc_auc_score(y_test > 0, scores.round(3))", False),
    (MISCOUNTS, KERAS, TEST, TEST, False),
    (MISCOUNTS, KERAS, "model.predict(x_test)[:, 0]", "np.argmax(model.predict(x_test), axis=1)", True),
    (MISCOUNTS, KERAS, "model.predict(x_test)[:, 0]", "model.predict(x_test).ravel()", False),
    (MISCOUNTS, KERAS, "tf.abs(y - guess)", "(y - guess)", True),
    (MISCOUNTS, KERAS, "tf.abs(y - guess)", "tf.square(y - guess)", False),
    (MISCOUNTS, KERAS, EMPTY, EMPTY.split("\n", 1)[1] + "        mean.reset_state()\n", True),
    (ORDER, KERAS, FLAG, 'training = split != "train"', True),
    (ORDER, KERAS, FLAG, 'training = split == "val"', True),
    (ORDER, KERAS, FLAG, 'training = split != "val"', False),
    (ORDER, KERAS, FLAG, 'training = split in ("train", "all")', False),
    (TURNED, KERAS, "Dropout(rate)", "Dropout(1.0 - rate)", True),
    (TURNED, KERAS, "Dropout(rate)", "Dropout(1.0 - keep)", False),
    (TURNED, SESSION, "outputs[:, -1], keep_prob)", "outputs[:, -1], 1 - keep_prob)", True),
    (TURNED, SESSION, "outputs[:, -1], keep_prob)", "outputs[:, -1], 1 - drop_rate)", False),
    (TURNED, SESSION, "tf.nn.dropout(outputs", "tf.layers.dropout(outputs", True),
    (TURNED, SESSION, "tf.nn.dropout(outputs[:, -1], keep_prob)", "tf.layers.dropout(outputs, rate)", False),
    (TURNED, SESSION, "cell(64, share)", "cell(64, 1.0 - FLAGS.keep_prob)", True),
    (TURNED, SESSION, "share = FLAGS.keep_prob", "share = 1 - FLAGS.keep_prob", True),
    (TURNED, SESSION, "share = FLAGS.keep_prob", "share = 1 - FLAGS.dropout", False),
    (TURNED, SESSION, "share = FLAGS.keep_prob", "share = FLAGS.dropout", True),
    (LAST, SESSION, RESTORE, RESTORE + INIT, True),
    (RESUME, SESSION, RESTORE, RESTORE + INIT, False),
    (LAST, SESSION, RESTORE, RESTORE, False),
    (RESUME, SESSION, INIT, RESTORE + INIT, True),
]  # fmt: skip


@pytest.mark.parametrize(("symptom", "text", "old", "new", "found"), CASES)
def test_figures(symptom: str, text: str, old: str, new: str, found: bool) -> None:
    """What slipped is present; its right twin, and other ways to write it, are not."""
    assert old in text
    assert (state(symptom, text.replace(old, new, 1)) == "present") is found


def test_absent_and_unknown() -> None:
    assert state(TURNED, SESSION) == "absent"
    assert state(TURNED, "import tensorflow as tf\n") == "unknown"
    assert state(LAST, "import tensorflow as tf\n") == "unknown"
