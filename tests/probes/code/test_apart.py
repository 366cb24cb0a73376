"""Inputs and targets of scripts that are put into order, or filtered, apart from each other."""

from __future__ import annotations

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.samples.augment import sample_torn_apart

from .._script import finding

PRESENT, ABSENT, UNKNOWN = State.PRESENT, State.ABSENT, State.UNKNOWN

TABLE = """
import numpy as np
rng = np.random.default_rng(0)
x, y = np.load("x.npy"), np.load("y.npy")
order = rng.permutation(len(x))
{what}
train_set = TensorDataset(torch.from_numpy(x).float(), torch.from_numpy(y))
"""
CUT = """
import numpy as np
x, y = np.load("x.npy"), np.load("y.npy")
order = np.random.default_rng(0).permutation(len(x))
{what}
cut = int(0.8 * len(x))
x_train, y_train = x[:cut], y[:cut]
x_val, y_val = x[cut:], y[cut:]
mean, std = x_train.mean(0), x_train.std(0)
x_train = (x_train - mean) / std
model.fit(x_train, y_train, validation_data=((x_val - mean) / std, y_val))
"""
OWN = """
import numpy as np
paths, labels = np.load("p.npy"), np.load("l.npy")
order = np.random.permutation(len(paths))
{what}
def make(paths, labels):
    return tf.data.Dataset.from_tensor_slices((paths, labels))
train = make(paths[10:], labels[10:])
"""
COLLATE = """
def collate(batch):
    src, tgt = zip(*batch)
    {what}
    return pad_sequence(src), pad_sequence(tgt)
def fit(batch):
    src, tgt = zip(*batch)
    {what}
    return src, tgt
"""
LABELS = """
import random
train_set = CIFAR10(root, train=True)
{what}
"""
CASES = [
    (ABSENT, TABLE, "x, y = x[order], y[order]"),
    (PRESENT, TABLE, "x = x[order]"),
    (PRESENT, TABLE, "y = np.sort(y)"),
    (PRESENT, TABLE, "np.random.shuffle(x)"),
    (PRESENT, TABLE, "x, y = rng.permutation(x), rng.permutation(y)"),
    (PRESENT, TABLE, "x = x[~np.isnan(x).any(1)]\ny = y[: len(x)]"),
    (ABSENT, TABLE, "keep = ~np.isnan(x).any(1)\nx = x[keep]\ny = y[keep]"),
    (ABSENT, TABLE, "np.random.seed(1)\nnp.random.shuffle(x)\nnp.random.seed(1)\nnp.random.shuffle(y)"),
    (UNKNOWN, TABLE, "x = x[:, :4]\ny = y[:100]"),
    (UNKNOWN, TABLE, "y = x[order]"),
    (PRESENT, CUT, "x = x[order]"),
    (ABSENT, CUT, "x, y = x[order], y[order]"),
    (PRESENT, OWN, "labels = labels[order]"),
    (ABSENT, OWN, "paths = paths[order]\nlabels = labels[order]"),
    (PRESENT, COLLATE, "src = sorted(src, key=len)"),
    (PRESENT, LABELS, "random.shuffle(train_set.targets)"),
    (PRESENT, LABELS, "train_set.targets = train_set.targets[::-1]"),
    (PRESENT, LABELS, "train_set.targets = [train_set.targets[i] for i in torch.randperm(9)]"),
    (UNKNOWN, LABELS, "train_set.targets = [int(t) for t in train_set.targets]"),
]


@pytest.mark.parametrize(("state", "program", "what"), CASES)
def test_ordered_apart(state: State, program: str, what: str) -> None:
    """One of a pair that is turned alone is found; both by one order, a range and a seed twice are not."""
    found = finding(sample_torn_apart, program.format(what=what))

    assert found.state is state, found.why
