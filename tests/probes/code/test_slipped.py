"""Rows and parts that slipped: unlike orders, unlike cuts, parts that overlap, steps thrown away."""

from __future__ import annotations

import pytest

from .._scripts import state

ARRAYS = """
import numpy as np
import tensorflow as tf

def batches(x, y, n):
    order = np.random.permutation(len(x))
    for i in range(len(x) // n):
        rows = order[i * n : (i + 1) * n]
        yield x[rows], y[rows]

def split(images, labels, share=0.1):
    cut = int(len(images) * share)
    return (images[cut:], labels[cut:]), (images[:cut], labels[:cut])

train, val = split(np.load("x.npy"), np.load("y.npy"))
model = tf.keras.Sequential([tf.keras.layers.Dense(3)])
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
for epoch in range(9):
    for bx, by in batches(*train, 32):
        model.train_on_batch(bx, by)
    model.evaluate(*val)
"""
PIPES = """
import tensorflow as tf

def augment(image, label):
    return tf.image.random_flip_left_right(image), label

def load(path, label):
    return tf.io.decode_jpeg(tf.io.read_file(path)), label

def pipeline(paths, labels, training):
    ds = tf.data.Dataset.from_tensor_slices((paths, labels))
    if training:
        ds = ds.shuffle(len(paths))
    ds = ds.map(load)
    if training:
        ds = ds.map(augment)
    return ds.batch(32).prefetch(tf.data.AUTOTUNE)

def listed(root, names):
    paths, labels = [], []
    for number, name in enumerate(names):
        files = sorted(root.glob(name))
        paths.extend(files)
        labels.extend([number] * len(files))
    order = np.random.default_rng(1).permutation(len(paths))
    paths = [paths[i] for i in order]
    labels = [labels[i] for i in order]
    cut = len(paths) // 5
    return (paths[cut:], labels[cut:]), (paths[:cut], labels[:cut])

train, val = listed(ROOT, NAMES)
model = tf.keras.Sequential([tf.keras.layers.Conv2D(8, 3), tf.keras.layers.Dense(3)])
model.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(pipeline(*train, training=True), validation_data=pipeline(*val, training=False), epochs=9)
"""
TABLES = """
import pandas as pd
import tensorflow as tf
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

train_table, rest = train_test_split(pd.read_csv("t.csv"), test_size=0.3)
val_table, test_table = train_test_split(rest, test_size=0.5)
y_train = train_table["late"].to_numpy()
y_val = val_table["late"].to_numpy()
y_test = test_table["late"].to_numpy()
model = tf.keras.Sequential([tf.keras.layers.Dense(1, activation="sigmoid")])
model.compile("adam", "binary_crossentropy")
model.fit(train_table[COLUMNS], y_train, validation_data=(val_table[COLUMNS], y_val))
print(roc_auc_score(y_test, model.predict(test_table[COLUMNS])))
"""
SHUFFLED = "        ds = ds.shuffle(len(paths))\n"
DRAWN = "    if training:\n        ds = ds.map(augment)\n"


@pytest.mark.parametrize(
    ("symptom", "text", "old", "new", "said"),
    [
        # labels in their stored order beside inputs in a drawn one, under a name as well
        ("script-labels-permuted-alone", ARRAYS, "y[rows]", "y[i * n : (i + 1) * n]", "present"),
        (
            "script-labels-permuted-alone",
            ARRAYS,
            "yield x[rows], y[rows]",
            "part = x[rows].copy()\n        yield part, y[i * n : (i + 1) * n]",
            "present",
        ),
        (
            "script-labels-permuted-alone",
            ARRAYS,
            "yield x[rows], y[rows]",
            "yield x[rows], y[order[i * n : (i + 1) * n]]",
            "unknown",
        ),
        (
            "script-labels-permuted-alone",
            ARRAYS,
            "np.random.permutation(len(x))",
            "np.arange(len(x))",
            "unknown",
        ),
        # cut at another place than what they go with
        (
            "script-labels-permuted-alone",
            ARRAYS,
            "images[cut:], labels[cut:]",
            "images[cut:], labels[:-cut]",
            "present",
        ),
        ("script-labels-permuted-alone", PIPES, "    labels = [labels[i] for i in order]\n", "", "present"),
        (
            "script-labels-permuted-alone",
            PIPES,
            "    paths = [paths[i] for i in order]\n    labels = [labels[i] for i in order]\n",
            "    pairs = [(paths[i], labels[i]) for i in order]\n    paths, labels = zip(*pairs)\n",
            "unknown",
        ),
        # both parts hold the first rows
        (
            "script-training-sees-evaluation",
            ARRAYS,
            "(images[cut:], labels[cut:]), ",
            "(images[:-cut], labels[:-cut]), ",
            "present",
        ),
        ("script-training-sees-evaluation", ARRAYS, "images[cut:]", "images[cut:]", "absent"),
        # a pipeline that is shuffled and thrown away
        ("script-order-fixed", PIPES, SHUFFLED, SHUFFLED.replace("ds = ", ""), "present"),
        ("script-order-fixed", PIPES, SHUFFLED, SHUFFLED, "absent"),
        ("script-order-fixed", PIPES, SHUFFLED, "        random.shuffle(paths)\n" + SHUFFLED, "absent"),
        # augmented on both sides
        ("script-evaluation-augmented", PIPES, DRAWN, "    ds = ds.map(augment)\n", "present"),
        (
            "script-evaluation-augmented",
            PIPES,
            DRAWN,
            "    ds = ds.map(lambda i, l: augment(i, l) if training else (i, l))\n",
            "unknown",
        ),
        (
            "script-evaluation-augmented",
            PIPES,
            DRAWN,
            "    if not training:\n        return ds.batch(32)\n    ds = ds.map(augment)\n",
            "unknown",
        ),
        # the answers of another part
        (
            "script-metric-miscounts",
            TABLES,
            'y_test = test_table["late"]',
            'y_test = val_table["late"]',
            "present",
        ),
        (
            "script-metric-miscounts",
            TABLES,
            'y_test = test_table["late"]',
            'y_test = test_table["late"]',
            "quiet",
        ),
    ],
)
def test_slipped(symptom: str, text: str, old: str, new: str, said: str) -> None:
    """What slipped is present; its right twin, and other ways to write it, are not."""
    assert old in text
    found = state(symptom, text.replace(old, new, 1))
    if said == "present":
        assert found == "present"
    else:
        assert found != "present"


@pytest.mark.parametrize("symptom", ["script-labels-permuted-alone", "script-training-sees-evaluation"])
def test_series_are_cut_apart_on_purpose(symptom: str) -> None:
    """The next value is the target: inputs and targets of a series are one step apart."""
    series = ARRAYS.replace("images", "past").replace("labels", "future")
    shifted = series.replace("past[cut:], future[cut:]", "past[cut:-1], future[cut + 1:]")
    assert shifted != series
    assert state(symptom, shifted) != "present"


PAIRS = """
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

def prepare(images):
    return torch.tensor(images).float() / 255

images, labels = draw(500)
rng = np.random.default_rng(0)
order = rng.permutation(500)
{}
net = nn.Linear(64, 4)
opt = torch.optim.Adam(net.parameters())
for i in range(0, 500, 50):
    loss = F.cross_entropy(net(x[i:i + 50]), y[i:i + 50])
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("x, y = prepare(images[order]), torch.tensor(labels)", True),
        ("x, y = prepare(images), torch.tensor(labels[order])", True),
        ("data = torch.utils.data.TensorDataset(prepare(images[order]), torch.tensor(labels))", True),
        ("x, y = prepare(images[order]), torch.tensor(labels[order])", False),
        ("labels = labels[order]\nx, y = prepare(images[order]), torch.tensor(labels)", False),
        ("x, y = prepare(images), torch.tensor(labels)", False),
        ("x_permuted, y = prepare(images[order]), torch.tensor(labels)", False),
        ("x, y = prepare(images[order]), torch.tensor(other)", False),
        (
            "images = images[order]\nlabels = labels[order]\nx, y = prepare(images), torch.tensor(labels)",
            False,
        ),
    ],
)
def test_one_of_two_that_belong_together_is_reordered(line: str, told: bool) -> None:
    assert (state("script-labels-permuted-alone", PAIRS.replace("{}", line)) == "present") is told
