"""Orders and sides of data in TensorFlow's graphs, orders of samplers, accumulation unheard of."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.ranks import sampler_order as code_sampler_order
from traindoctor.probes.code.samples import feeding as code_feeding
from traindoctor.probes.code.tensorflow import graph_data
from traindoctor.probes.registry import Finding
from traindoctor.probes.scripts.syntax import Script

FED = """
import numpy as np
import tensorflow as tf
x_train, y_train = load("train")
x_test, y_test = load("test")
images = tf.placeholder(tf.float32, [None, 8])
labels = tf.placeholder(tf.int64, [None])
train_op = tf.train.AdamOptimizer(1e-3).minimize(loss)
with tf.Session() as sess:
    for epoch in range(10):
        order = np.random.permutation(len(x_train))
        for start in range(0, len(order), 32):
            rows = order[start : start + 32]
            sess.run(train_op, feed_dict={images: x_train[rows], labels: y_train[rows]})
        for start in range(0, len(x_test), 32):
            hits = sess.run(correct, feed_dict={images: x_test[start:], labels: y_test[start:]})
"""
PIPED = """
import tensorflow.compat.v1 as tf
train = tf.data.Dataset.from_generator(rows, tf.int32).shuffle(1000).padded_batch(32, [None])
valid = tf.data.Dataset.from_generator(others, tf.int32).padded_batch(32, [None])
iterator = tf.data.Iterator.from_structure(train.output_types)
train_start, valid_start = iterator.make_initializer(train), iterator.make_initializer(valid)
train_op = tf.train.AdamOptimizer(1e-3).minimize(loss)
with tf.Session() as sess:
    for epoch in range(10):
        sess.run(train_start)
        sess.run(train_op)
        sess.run({scored})
        print(sess.run(hits))
"""
ESTIMATOR = """
import tensorflow as tf
from sklearn.model_selection import train_test_split
train, test = train_test_split(table, test_size=0.2)
spec = tf.estimator.TrainSpec(input_fn({given}), max_steps=100)
"""
TORCH = """
import torch
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
sampler = DistributedSampler(rows, shuffle={flag})
loader = DataLoader(rows, 32, sampler=sampler)
held = DataLoader(others, 32, sampler=DistributedSampler(others, shuffle=False))
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
ACCELERATE = """
from accelerate import Accelerator
ACCUMULATE = 4
accelerator = Accelerator({told})
steps = len(loader) // ACCUMULATE
for i, batch in enumerate(loader):
    with accelerator.accumulate(model):
        loss = model(**batch).loss
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
"""
BY_HAND = """
from accelerate import Accelerator
accelerator = Accelerator()
total = len(loader) / accumulate
for i, batch in enumerate(loader):
    loss = model(**batch).loss{divided}
    accelerator.backward(loss)
    if (i + 1) % accumulate == 0:
        optimizer.step()
        optimizer.zero_grad()
"""
Check = Callable[[Script], Finding | None]


def says(check: Check, text: str) -> bool:
    text = textwrap.dedent(text)
    found = check(Script("train.py", text, ast.parse(text)))
    return found is not None and found.state is State.PRESENT


@pytest.mark.parametrize(
    ("check", "text", "said"),
    [
        (graph_data.fed_in_stored_order, FED, False),
        (
            graph_data.fed_in_stored_order,
            FED.replace("np.random.permutation(len(x_train))", "np.arange(len(x_train))"),
            True,
        ),
        (
            graph_data.fed_in_stored_order,
            FED.replace("    for epoch in range(10):\n", "    if True:\n").replace(
                "np.random.permutation(len(x_train))", "np.arange(len(x_train))"
            ),
            False,
        ),
        (graph_data.piped_in_stored_order, PIPED.format(scored="valid_start"), False),
        (
            graph_data.piped_in_stored_order,
            PIPED.format(scored="valid_start").replace(".shuffle(1000)", ""),
            True,
        ),
        (graph_data.scored_on_training_run, PIPED.format(scored="valid_start"), False),
        (graph_data.scored_on_training_run, PIPED.format(scored="train_start"), True),
        (graph_data.scored_on_training_run, FED, False),
        (graph_data.scored_on_training_run, FED.replace('load("test")', 'load("train")'), True),
        (graph_data.scored_on_training_run, FED.replace('load("test")', 'load("held")'), False),
        (
            graph_data.scored_on_training_run,
            FED.replace("images: x_test[start:], labels: y_test", "images: x_train[start:], labels: y_train"),
            True,
        ),
        (graph_data.whole_table_given, ESTIMATOR.format(given="train"), False),
        (graph_data.whole_table_given, ESTIMATOR.format(given="table"), True),
        (graph_data.whole_table_given, ESTIMATOR.format(given="other"), False),
        (code_sampler_order.sampler_keeps_order, TORCH.format(flag=True), False),
        (code_sampler_order.sampler_keeps_order, TORCH.format(flag=False), True),
        (
            code_sampler_order.sampler_keeps_order,
            TORCH.format(flag=False).replace("in loader", "in batches"),
            False,
        ),
        (code_sampler_order.accelerate_told_nothing, ACCELERATE.format(told=""), True),
        (code_sampler_order.accelerate_told_nothing, ACCELERATE.format(told="mixed_precision='bf16'"), True),
        (
            code_sampler_order.accelerate_told_nothing,
            ACCELERATE.format(told="gradient_accumulation_steps=ACCUMULATE"),
            False,
        ),
        (code_sampler_order.accelerate_told_nothing, ACCELERATE.format(told="**settings"), False),
        (code_sampler_order.accelerate_not_divided, BY_HAND.format(divided=""), True),
        (code_sampler_order.accelerate_not_divided, BY_HAND.format(divided=" / accumulate"), False),
        (
            code_sampler_order.accelerate_not_divided,
            BY_HAND.format(divided="").replace("% accumulate", "% every"),
            False,
        ),
    ],
)
def test_what_is_said(check: Check, text: str, said: bool) -> None:
    assert says(check, text) is said


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("ds = ds.padded_batch(32, [None])\n    return ds.shuffle(1000)", True),
        ("ds = ds.batch(32)\n    return ds.shuffle(1000)", True),
        ("ds = ds.shuffle(1000)\n    return ds.padded_batch(32, [None])", False),
    ],
)
def test_padded_batches_are_batches(line: str, said: bool) -> None:
    made = "ds = tf.data.Dataset.from_tensor_slices(files)"
    text = f"import tensorflow as tf\ndef pipe(files):\n    {made}\n    {line}\n"
    assert says(code_feeding._pipeline, text) is said
