# ruff: noqa: E501
"""Equal ways that look like faults, and the faults that look like them: shapes kept, pairs counted, modes put back."""

from __future__ import annotations

from pathlib import Path

import pytest

from .._pairs import edits, present
from .._scripts import state

EVAL = """
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.2))
        self.head = nn.Linear(16, 4)
    def forward(self, x):
        return self.head(self.body(x))
def evaluate(net, loader):
    net.eval()
    right = seen = 0
    table = np.zeros((4, 4))
    with torch.no_grad():
        for x, y in loader:
            out = net(x)
            guess = out.argmax(dim=1)
            right += (guess == y).sum().item()
            seen += len(y)
            table += np.bincount(y.numpy() * 4 + guess.numpy(), minlength=16).reshape(4, 4)
    return right / seen, table
def main(train_loader, val_loader):
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for epoch in range(9):
        net.train()
        for x, y in train_loader:
            opt.zero_grad()
            F.cross_entropy(net(x), y).backward()
            opt.step()
        print(evaluate(net, val_loader))
"""
COUNT = "table += np.bincount(y.numpy() * 4 + guess.numpy(), minlength=16).reshape(4, 4)"


def edited(*pairs: tuple[str, str]) -> str:
    text = EVAL
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


KEPT = ("guess = out.argmax(dim=1)", "guess = out.argmax(dim=1, keepdim=True)")


@pytest.mark.parametrize(
    "pairs",
    [
        [KEPT, ("(guess == y)", "(guess == y.view_as(guess))"), (COUNT, "pass")],
        [KEPT, ("(guess == y)", "guess.eq(y.view_as(guess))"), (COUNT, "pass")],
        [KEPT, ("(guess == y)", "(guess.squeeze(1) == y)"), (COUNT, "pass")],
    ],
)
def test_an_axis_that_is_kept_and_made_up_for_is_the_same(
    tmp_path: Path, pairs: list[tuple[str, str]]
) -> None:
    assert not {
        s for s in present(tmp_path, edited(*pairs), edited((COUNT, "pass"))) if s.startswith("edit-")
    }


@pytest.mark.parametrize(
    "pairs",
    [
        [KEPT],
        [("guess = out.argmax(dim=1)", "guess = out.argmax(1, keepdim=True)")],
        [("(guess == y)", "(guess[:, None] == y)")],
    ],
)
def test_an_axis_that_is_kept_and_broadcast_is_told(tmp_path: Path, pairs: list[tuple[str, str]]) -> None:
    mine, theirs = edited(*pairs, (COUNT, "pass")), edited((COUNT, "pass"))
    assert edits(tmp_path, mine, theirs)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("np.add.at(table, (y.numpy(), guess.numpy()), 1)", False),
        ("np.add.at(table, (guess.numpy(), y.numpy()), 1)", True),
        ("np.add.at(table, (y.numpy(), y.numpy()), 1)", True),
    ],
)
def test_pairs_that_are_counted_in_another_way(tmp_path: Path, line: str, told: bool) -> None:
    found = edits(tmp_path, edited((COUNT, line)), EVAL)
    assert bool(found) is told


@pytest.mark.parametrize(
    ("first", "last", "told"),
    [
        ("was = net.training\n    net.eval()", "net.train(was)\n    return", False),
        ("was = net.training\n    net.eval()", "if was:\n        net.train()\n    return", False),
        ("net.eval()\n    was = net.training", "net.train(was)\n    return", True),
        ("net.eval()", "net.train(False)\n    return", True),
    ],
)
def test_the_mode_that_was_before_is_put_back(tmp_path: Path, first: str, last: str, told: bool) -> None:
    mine = edited(("net.eval()", first), ("return right", last + " right"))
    assert ("edit-mode" in edits(tmp_path, mine, EVAL)) is told


KERAS = """
import keras
from keras import layers
def build(n):
    inputs = keras.Input((32, 32, 3))
    x = layers.Conv2D(16, 3, activation="relu")(inputs)
    x = layers.GlobalAveragePooling2D()(x)
    outputs = layers.Dense(n)(x)
    return keras.Model(inputs, outputs)
model = build(7)
model.compile("adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
model.fit(train_ds, validation_data=val_ds, epochs=9)
"""
SOFT = ("layers.Dense(n)(x)", "layers.Softmax()(layers.Dense(n)(x))")


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        ([SOFT, ("from_logits=True", "from_logits=False")], False),
        ([SOFT, ("from_logits=True", "")], False),
        ([SOFT], True),
        ([("from_logits=True", "from_logits=False")], True),
    ],
)
def test_an_activation_that_goes_from_the_loss_to_the_model(
    tmp_path: Path, pairs: list[tuple[str, str]], told: bool
) -> None:
    text = KERAS
    for old, new in pairs:
        text = text.replace(old, new)
    assert bool(edits(tmp_path, text, KERAS)) is told


TAGS = """
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
IGNORE = -100
criterion = nn.CrossEntropyLoss(ignore_index=IGNORE)
def collate(rows):
    ids, tags = zip(*rows)
    lengths = torch.tensor([len(t) for t in tags])
    padded = pad_sequence(tags, batch_first=True)
    beyond = torch.arange(padded.size(1))[None, :] >= lengths[:, None]
    {LINES}
    return pad_sequence(ids, batch_first=True), padded
"""


@pytest.mark.parametrize(
    ("lines", "wanted"),
    [
        ("padded = padded.masked_fill(beyond, IGNORE)", "absent"),
        ("padded[beyond] = -100", "absent"),
        ("padded = torch.where(beyond, IGNORE, padded)", "absent"),
        ("padded = padded.masked_fill(beyond, 0)", "present"),
        ("lengths[beyond.any(1)] = IGNORE", "present"),
        ("pass", "present"),
    ],
)
def test_padding_that_is_written_over(lines: str, wanted: str) -> None:
    found = state("script-label-padding-counts", TAGS.replace("{LINES}", lines))
    assert (found == "present") is (wanted == "present")


PIPE = """
import tensorflow as tf
def augment(x, y):
    return tf.image.random_flip_left_right(x), y
def make(paths, training):
    ds = tf.data.Dataset.from_tensor_slices(paths).map(load)
    {STEPS}
    return ds.batch(32)
train_ds = make(a, training=True)
val_ds = make(b, training=False)
model.fit(train_ds, validation_data=val_ds)
"""


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        ("if training:\n        ds = ds.map(augment)\n    else:\n        ds = ds.cache()", False),
        ("if training:\n        ds = ds.map(augment)\n    if not training:\n        ds = ds.cache()", False),
        (
            "if training:\n        ds = ds.map(augment)\n        return ds.batch(8)\n    ds = ds.cache()",
            False,
        ),
        ("if training:\n        ds = ds.map(augment)\n    ds = ds.cache()", True),
        ("if training:\n        ds = ds.map(augment)\n    if training:\n        ds = ds.cache()", True),
        ("ds = ds.map(augment)\n    if not training:\n        ds = ds.cache()", True),
    ],
)
@pytest.mark.parametrize("symptom", ["script-sample-torn-apart", "script-augmentation-kept"])
def test_what_stands_in_the_other_branch_comes_not_before(symptom: str, steps: str, found: bool) -> None:
    assert (state(symptom, PIPE.replace("{STEPS}", steps)) == "present") is found


def test_data_that_are_made_have_no_mode() -> None:
    code = PIPE.replace("{STEPS}", "if training:\n        ds = ds.map(augment)")
    assert state("script-mode-fixed", code + "test_ds = make(c, training=True)\n") != "present"


@pytest.mark.parametrize(
    ("called", "expected"),
    [("Calls(val_paths, training=True)", False), ("net(x_val, training=True)", True)],
)
def test_an_object_is_made_in_no_mode(called: str, expected: bool) -> None:
    """A data set that is made for training is no model that is scored in training mode."""
    code = f"""
import tensorflow as tf

class Calls(tf.keras.utils.Sequence):
    def __init__(self, paths, training):
        self.paths, self.training = paths, training

net = tf.keras.Sequential([tf.keras.layers.Dense(3)])
net.compile("adam", "mse")
net.fit(Calls(train_paths, training=True))
val = {called}
"""
    assert (state("script-mode-fixed", code) == "present") == expected
