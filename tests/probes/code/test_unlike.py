"""Metrics of scripts that compare other labels than the loss, stop early, or count what has no label."""

from __future__ import annotations

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.evaluation.metrics import metric_miscounts
from traindoctor.probes.code.labels.masking import label_padding_counts
from traindoctor.probes.code.scaling.drawn import evaluation_is_augmented
from traindoctor.probes.code.splits.leaks import training_sees_evaluation

from .._script import finding

PRESENT, ABSENT, UNKNOWN = State.PRESENT, State.ABSENT, State.UNKNOWN

CLASSES = """
import torch.nn as nn
criterion = nn.CrossEntropyLoss()
def fit(model, loader):
    for x, y in loader:
        y = y.to(device)
        loss = criterion({answer}, {target})
        loss.backward()
def validate(model, loader):
    right, seen = 0, 0
    for x, y in loader:
        y = y.to(device)
        pred = model(x).argmax(1)
        right += ({test}).sum().item()
        seen += y.size(0)
        {end}
    return right / seen
"""
VALUES = """
import torch.nn as nn
criterion = nn.MSELoss()
def fit(model, loader):
    for x, y in loader:
        loss = criterion(model(x){drop}, y)
        loss.backward()
def rmse(model, loader):
    total, n = 0.0, 0
    for x, y in loader:
        pred = model(x){here}
        total += ((pred - y) ** 2).sum().item()
        n += len(y)
    return (total / n) ** 0.5
"""
# the best of the classes from the second one on: the first stands for the background
FOREGROUND = CLASSES.replace("model(x).argmax(1)", "model(x)[:, 1:].argmax(1)").replace("{end}", "")
FOREGROUND = FOREGROUND.replace("{answer}", "model(x)")
COMPARED = [
    (ABSENT, CLASSES.format(answer="model(x)", target="y", test="pred == y", end="")),
    (PRESENT, CLASSES.format(answer="model(x)", target="y", test="pred == y - 1", end="")),
    (PRESENT, CLASSES.format(answer="model(x)", target="y", test="pred + 1 == y", end="")),
    (PRESENT, CLASSES.format(answer="model(x)", target="y", test="pred[1:] == y[:-1]", end="")),
    (ABSENT, CLASSES.format(answer="model(x)", target="y - 1", test="pred == y - 1", end="")),
    (PRESENT, CLASSES.format(answer="model(x)", target="y - 1", test="pred == y", end="")),
    (ABSENT, CLASSES.format(answer="model(x)", target="y - 1", test="pred + 1 == y", end="")),
    (ABSENT, CLASSES.format(answer="z[:, :-1]", target="y[:, 1:]", test="pred[:, :-1] == y[:, 1:]", end="")),
    (PRESENT, CLASSES.format(answer="z[:, :-1]", target="y[:, 1:]", test="pred == y", end="")),
    (PRESENT, CLASSES.format(answer="model(x)", target="y", test="pred == y", end="break")),
    (PRESENT, CLASSES.format(answer="model(x)", target="y", test="pred == y", end="return right / seen")),
    (ABSENT, CLASSES.format(answer="model(x)", target="y", test="pred == y", end="if seen > 9: break")),
    (ABSENT, FOREGROUND.format(target="y", test="pred + 1 == y")),
    (ABSENT, FOREGROUND.format(target="y + 1", test="pred == y")),
    (PRESENT, FOREGROUND.format(target="y", test="pred == y")),
    (ABSENT, VALUES.format(drop=".squeeze(1)", here=".squeeze(1)")),
    (PRESENT, VALUES.format(drop=".squeeze(1)", here="")),
    (ABSENT, VALUES.format(drop="", here="")),
]


@pytest.mark.parametrize(("state", "text"), COMPARED)
def test_compared_unlike_trained(state: State, text: str) -> None:
    """A metric off by one, of all pairs, or of the first batch is found; a shift on both sides is not."""
    found = finding(metric_miscounts, text)

    assert found.state is state, found.why


TOKENS = """
import torch.nn as nn
PAD = 0
def collate(batch):
    src, tgt = zip(*batch)
    return src, pad_sequence(tgt, batch_first=True, padding_value={pad})
criterion = nn.CrossEntropyLoss({ignore})
def fit(model, loader):
    for src, tgt in loader:
        loss = criterion(model(src, {given}), {target}){more}
        loss.backward()
def score(model, loader):
    right = 0
    for src, tgt in loader:
        out = model(src, tgt[:, :-1]).argmax(-1)
        keep = tgt[:, 1:] != PAD
        right += ((out == tgt[:, 1:]){and_keep}).sum()
    return right
"""


def _tokens(**given: str) -> str:
    usual = {"pad": "PAD", "ignore": "ignore_index=PAD", "given": "tgt[:, :-1]", "target": "tgt[:, 1:]"}
    return TOKENS.format(**{**usual, "more": "", "and_keep": " & keep", **given})


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (ABSENT, _tokens()),
        (PRESENT, _tokens(ignore="")),
        (PRESENT, _tokens(ignore="ignore_index=2")),
        (PRESENT, _tokens(pad="2")),
    ],
)
def test_padded_targets(state: State, text: str) -> None:
    """What targets are padded with is not what the loss leaves out; a mask for attention is no excuse."""
    assert finding(label_padding_counts, text).state is state


def test_mask_that_nothing_uses() -> None:
    """A mask in a metric's function that is made and never read."""
    assert finding(metric_miscounts, _tokens()).state is ABSENT
    assert finding(metric_miscounts, _tokens(and_keep="")).state is PRESENT


def test_target_is_what_the_model_is_given() -> None:
    """A decoder whose target is its own input, not moved by one."""
    assert finding(training_sees_evaluation, _tokens()).state is ABSENT
    assert finding(training_sees_evaluation, _tokens(target="tgt[:, :-1]")).state is PRESENT


PIXELS = """
import torch.nn as nn
VOID = 255
criterion = nn.CrossEntropyLoss({ignore})
def fit(model, loader):
    for image, mask in loader:
        criterion(model(image), mask).backward()
def iou(model, loader):
    for image, mask in loader:
        pred = model(image).argmax(1)
        keep = mask != VOID
        add(pred[keep], mask[keep])
"""


def test_left_out_of_the_metric_alone() -> None:
    """Pixels without a label are left out of the score and learned as a class."""
    assert finding(label_padding_counts, PIXELS.format(ignore="")).state is PRESENT
    assert finding(label_padding_counts, PIXELS.format(ignore="ignore_index=VOID")).state is UNKNOWN


SETS = """
train_tf = Compose([RandomCrop(32), RandomHorizontalFlip(), ToTensor()])
test_tf = Compose([ToTensor()])
train_set = CIFAR10(root, train=True, transform=train_tf)
test_set = CIFAR10(root, train=False, transform={steps})
"""
ORDERED = """
import tensorflow as tf
def random_flip(image, label):
    return tf.image.random_flip_left_right(image), label
def made(rows, train=False):
    ds = tf.data.Dataset.from_tensor_slices(rows)
    if train:
        ds = ds.shuffle(len(rows), seed=1)
        {more}
    return ds.batch(8)
train_ds = made(train_rows, True)
test_ds = made(test_rows, True)
"""
PHOTOS = """
import numpy as np
class Photos(Dataset):
    def __init__(self, names, train):
        self.names, self.train = names, train
    def __getitem__(self, i):
        image = load(self.names[i])
        if {test}:
            image = image[:, ::-1]
        return image
train_loader = DataLoader(Photos(ours, True))
val_loader = DataLoader(Photos(theirs, {held}))
"""


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (UNKNOWN, SETS.format(steps="test_tf")),
        (PRESENT, SETS.format(steps="train_tf")),
        (ABSENT, PHOTOS.format(test="self.train and np.random.rand() < 0.5", held="False")),
        (PRESENT, PHOTOS.format(test="self.train and np.random.rand() < 0.5", held="True")),
        (PRESENT, PHOTOS.format(test="np.random.rand() < 0.5", held="False")),
        (UNKNOWN, ORDERED.format(more="")),
        (PRESENT, ORDERED.format(more="ds = ds.map(random_flip)")),
    ],
)
def test_evaluation_is_augmented(state: State, text: str) -> None:
    """Steps of training for held-out data: handed over, switched on, or behind a switch nobody asks for."""
    found = finding(evaluation_is_augmented, text)

    assert found.state is state, found.why
