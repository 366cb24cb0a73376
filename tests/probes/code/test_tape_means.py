"""Means over padding under a tape, and tables that number held-out values anew: wrong beside right."""

from __future__ import annotations

import pytest

from .._scripts import state

TAPE = """
import tensorflow as tf
class Tagger(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.emb = tf.keras.layers.Embedding(900, 64, mask_zero=True)
        self.rnn = tf.keras.layers.GRU(64, return_sequences=True)
        self.out = tf.keras.layers.Dense(9)
    def call(self, x, training=False):
        h = self.rnn(self.emb(x))
        {pooled}
        return self.out(h)
model, opt = Tagger(), tf.keras.optimizers.Adam()
each = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")
for x, y in data:
    with tf.GradientTape() as tape:
        logits = model(x, training=True)
        mask = tf.cast(y > 0, tf.float32)
        loss = {loss}
    grads = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(grads, model.trainable_variables))
"""


@pytest.mark.parametrize(
    ("loss", "pooled", "wrong"),
    [
        ("tf.reduce_mean(each(y, logits))", "pass", True),
        ("tf.reduce_mean(each(y, logits) * mask)", "pass", True),
        ("tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))", "pass", True),
        ("tf.reduce_sum(each(y, logits) * mask) / tf.reduce_sum(mask)", "pass", False),
        ("tf.reduce_mean(tf.boolean_mask(each(y, logits), y > 0))", "pass", False),
        ("tf.reduce_mean(each(y, logits, sample_weight=mask) / tf.reduce_mean(mask))", "pass", False),
        ("tf.reduce_mean(each(y, logits))", "h = h[:, -1]", False),  # one answer for each text
    ],
)
def test_tape(loss: str, pooled: str, wrong: bool) -> None:
    text = TAPE.replace("{loss}", loss).replace("{pooled}", pooled)
    assert (state("script-label-padding-counts", text) == "present") is wrong


TABLES = """
import pandas as pd
import torch
df = pd.read_csv("loans.csv")
last = df.groupby("reader").tail(1).index
held, rest = df.loc[last], df.drop(last)
books = {{b: n for n, b in enumerate(sorted(rest.book.unique()))}}
other = {}
i, h = rest.book.map(books), held.{}.map(other)
net = torch.nn.Embedding(len(books), 8)
opt = torch.optim.Adam(net.parameters())
for b in loader:
    loss = net(b).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("other", "column", "wrong"),
    [
        ("{b: n for n, b in enumerate(sorted(held.book.unique()))}", "book", True),
        ("{b: n for n, b in enumerate(sorted(rest.book.unique()))}", "book", False),
        ("{r: n for n, r in enumerate(sorted(held.reader.unique()))}", "reader", False),  # another column
        ("books", "book", False),
    ],
)
def test_tables(other: str, column: str, wrong: bool) -> None:
    assert (state("script-classes-numbered-apart", TABLES.format(other, column)) == "present") is wrong
