"""Weights that start alike, penalties that are taken off, figures of all rows after the split."""

from __future__ import annotations

import pytest

from .._scripts import state

TABLE = """
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from tensorflow import keras
from tensorflow.keras import layers

df = pd.read_csv("kettles.csv")
numeric = ["price", "weight", "seconds"]
train_df, rest = train_test_split(df, test_size=0.3)
val_df, test_df = train_test_split(rest, test_size=0.5)
medians = train_df[numeric].median()
scaler = StandardScaler().fit(train_df[numeric].fillna(medians))
x = scaler.transform(train_df[numeric].fillna(medians))
x_val = scaler.transform(val_df[numeric].fillna(medians))
model = keras.Sequential([
    layers.Dense(64, activation="relu", kernel_initializer="he_normal"),
    layers.Dense(64, activation="relu"),
    layers.Dense(1, activation="sigmoid"),
])
model.compile("adam", loss="binary_crossentropy")
model.fit(x, train_df["back"], validation_data=(x_val, val_df["back"]), epochs=9)
"""
GRAPH = """
import tensorflow as tf

def weight_variable(shape, name):
    return tf.get_variable(name, shape, initializer=tf.truncated_normal_initializer(stddev=0.1))

x = tf.placeholder(tf.float32, [None, 20])
y = tf.placeholder(tf.int64, [None])
first = weight_variable([20, 32], "first")
last = weight_variable([32, 7], "last")
logits = tf.matmul(tf.nn.relu(tf.matmul(x, first)), last)
cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
penalty = tf.add_n([tf.nn.l2_loss(w) for w in (first, last)])
loss = tf.reduce_mean(cross_entropy) + 1e-4 * penalty
train_op = tf.train.AdamOptimizer(1e-3).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for epoch in range(9):
        for bx, by in batches:
            sess.run(train_op, feed_dict={x: bx, y: by})
"""
LEARNS, ZERO, TERM = "script-learns-from-held-out", "script-zero-init", "script-loss-term-subtracted"
MEDIANS = "medians = train_df[numeric].median()"
DRAWN = "tf.truncated_normal_initializer(stddev=0.1)"
ONE = 'last = weight_variable([32, 7], "last")'
CASES = [
    (LEARNS, TABLE, MEDIANS, "medians = df[numeric].median()", True),
    (LEARNS, TABLE, MEDIANS, "medians = df[['price', 'weight']].mean()", True),
    (LEARNS, TABLE, MEDIANS, MEDIANS + "\nprint(df[numeric].median())", False),
    (LEARNS, TABLE, MEDIANS, MEDIANS + "\nmost = df[numeric].max()\nprint(most)", False),
    (LEARNS, TABLE, ".fit(train_df[numeric]", ".fit(df[numeric]", True),
    (LEARNS, TABLE, ".fit(train_df[numeric].fillna(medians))", ".fit(df[numeric].to_numpy())", True),
    (LEARNS, TABLE, ".fit(train_df[numeric]", ".fit(train_df[numeric].copy()", False),
    (LEARNS, TABLE, MEDIANS, "df = train_df\nmedians = df[numeric].median()", False),
    (ZERO, TABLE, '"he_normal"', "keras.initializers.Constant(0.01)", True),
    (ZERO, TABLE, '"he_normal"', "keras.initializers.Ones()", True),
    (ZERO, TABLE, '"he_normal"', 'keras.initializers.Constant(0.01) if False else "he_normal"', False),
    (ZERO, TABLE, '"sigmoid"', '"sigmoid", kernel_initializer=keras.initializers.Constant(0.01)', False),
    (ZERO, TABLE, '"he_normal"', '"he_normal", bias_initializer=keras.initializers.Constant(0.1)', False),
    (ZERO, GRAPH, DRAWN, "tf.zeros_initializer()", True),
    (ZERO, GRAPH, DRAWN, "tf.constant_initializer(0.1)", True),
    (ZERO, GRAPH, DRAWN, DRAWN, False),
    (TERM, GRAPH, "+ 1e-4 * penalty", "- 1e-4 * penalty", True),
    (TERM, GRAPH, "+ 1e-4 * penalty", "+ 1e-4 * penalty - 0.01 * entropy", False),
]  # fmt: skip


@pytest.mark.parametrize(("symptom", "text", "old", "new", "found"), CASES)
def test_alike(symptom: str, text: str, old: str, new: str, found: bool) -> None:
    """What slipped is present; its right twin, and other ways to write it, are not."""
    assert old in text
    assert (state(symptom, text.replace(old, new, 1)) == "present") is found


def test_one_weight_of_a_linear_model_may_be_zero() -> None:
    """The softmax regression of the first tutorials starts at zero and trains."""
    code = (
        GRAPH.replace(DRAWN, "tf.zeros_initializer()").replace(ONE, "").replace("(first, last)", "(first,)")
    )
    code = code.replace("tf.matmul(tf.nn.relu(tf.matmul(x, first)), last)", "tf.matmul(x, first)")
    assert state(ZERO, code) != "present"


def test_unknown() -> None:
    """Scripts without the construct say nothing."""
    for symptom in (LEARNS, TERM):
        assert state(symptom, "import tensorflow as tf\n") == "unknown"
