"""What is taken up again and counts from zero; class numbers from one; conventions of TensorFlow 1."""

from __future__ import annotations

import ast
import textwrap

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.calls import arguments as code_arguments
from traindoctor.probes.code.labels import start as code_label_start
from traindoctor.probes.code.model import body as code_model
from traindoctor.probes.code.resume import taken_up as code_taken_up
from traindoctor.probes.registry import Finding
from traindoctor.probes.scripts.syntax import Script


def script(text: str) -> Script:
    text = textwrap.dedent(text)
    return Script("train.py", text, ast.parse(text))


def present(found: Finding | None) -> bool:
    return found is not None and found.state is State.PRESENT


TORCH = """
def main(args):
    start_epoch, best = 0, 0.0
    if args.resume:
        state = torch.load(args.resume)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        {taken}
    for epoch in range(start_epoch, args.epochs):
        train(model)
"""
DEEPSPEED = """
def main(args):
    first = 0
    if args.resume_from:
        _, client = engine.load_checkpoint(args.resume_from)
        {taken}
    for epoch in tqdm(range(first, args.epochs)):
        train(engine)
"""
ACCELERATE = """
start = 0
if opts.checkpoint == "latest":
    accelerator.load_state("out")
    {taken}
for epoch in trange(start, opts.epochs):
    train(model)
"""


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        (TORCH, 'start_epoch, best = state["epoch"] + 1, state["best"]'),
        (DEEPSPEED, 'first = client["epoch"] + 1'),
        (ACCELERATE, "start += int(name)"),
    ],
)
def test_the_count_goes_on(text: str, taken: str) -> None:
    assert code_taken_up.counter_not_taken_up(script(text.replace("{taken}", taken))) is None
    assert present(code_taken_up.counter_not_taken_up(script(text.replace("{taken}", "pass"))))


def test_weights_to_start_from_are_no_resuming() -> None:
    text = TORCH.replace("{taken}", "pass").replace("args.resume", "args.pretrained")
    assert code_taken_up.counter_not_taken_up(script(text)) is None


GRAPH = """
import tensorflow as tf
train_op = tf.train.AdamOptimizer(1e-3).minimize(loss)
saver = tf.train.Saver({kept})
with tf.Session() as sess:
    {first}
    {second}
    train(sess, train_op)
"""
INIT, RESTORE = "sess.run(tf.global_variables_initializer())", "saver.restore(sess, path)"


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (INIT, RESTORE, False),
        (RESTORE, INIT, True),
        (f"if again: {RESTORE}", INIT, True),
        (RESTORE, "pass", False),
    ],
)
def test_variables_are_drawn_after_restoring(first: str, second: str, said: bool) -> None:
    source = script(GRAPH.format(kept="", first=first, second=second))
    assert present(code_taken_up.drawn_after_restoring(source)) is said


@pytest.mark.parametrize(
    ("kept", "said"), [("", False), ("tf.trainable_variables()", True), ("tf.global_variables()", False)]
)
def test_what_checkpoints_hold(kept: str, said: bool) -> None:
    source = script(GRAPH.format(kept=kept, first=INIT, second=RESTORE))
    assert present(code_taken_up.statistics_not_saved(source)) is said


CLASSES = """
import torch
from torch import nn
classes = sorted(set(names))
index = {c: i for i, c in enumerate(classes)}
model = nn.Linear(16, len(classes))
loss = nn.CrossEntropyLoss()(model(x), torch.tensor([index[n] for n in names]))
"""
CELLS = """
import tensorflow as tf
CLASSES = ["a", "b", "c"]
labels = []
for label, name in enumerate(CLASSES):
    for file in files(name):
        labels.append(label)
logits = tf.layers.dense(x, len(CLASSES))
loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
"""
TABLE = """
import torch
class Signs(torch.utils.data.Dataset):
    def __getitem__(self, i):
        row = self.table.iloc[i]
        return self.image(row), int(row["ClassId"])
loss = torch.nn.functional.cross_entropy(net(x), y)
"""
FOLDER = """
import torch
from torchvision.datasets import ImageFolder
data = ImageFolder("train", transform, target_transform=lambda t: t)
loss = torch.nn.functional.cross_entropy(net(x), y)
"""


@pytest.mark.parametrize(
    ("text", "old", "new", "said"),
    [
        (CLASSES, "enumerate(classes)", "enumerate(classes, 1)", True),
        (CLASSES, "enumerate(classes)", "enumerate(classes, start=1)", True),
        (CELLS, "enumerate(CLASSES)", "enumerate(CLASSES, 1)", True),
        (TABLE, '["ClassId"])', '["ClassId"]) + 1', True),
        (FOLDER, "t: t", "t: t + 1", True),
        (
            CLASSES,
            "index = {c: i for i, c in enumerate(classes)}",
            "index = {c: i for i, c in enumerate(classes, 1)}\nwidth = len(classes) + 1",
            False,
        ),
        (CLASSES, "for i, c in enumerate(classes)", "for i, c in enumerate(words, 1)", False),
        (CLASSES, "index = ", "print({i: c for i, c in enumerate(classes)})\nindex = ", False),
        (
            TABLE,
            'return self.image(row), int(row["ClassId"])',
            'return self.image(row), int(row["ClassId"]) - 1',
            False,
        ),
    ],
)
def test_classes_are_numbered_from_one(text: str, old: str, new: str, said: bool) -> None:
    assert text.count(old) == 1
    source = script(text.replace(old, new))
    found = (code_label_start.numbered_from_one(source), code_label_start.shifted_in_training(source))
    assert any(present(f) for f in found) is said
    right = script(text)
    assert not present(code_label_start.numbered_from_one(right))
    assert not present(code_label_start.shifted_in_training(right))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("tf.nn.dropout(x, rate=keep_prob)", True),
        ("tf.layers.dropout(x, rate=1 - params['dropout'], training=train)", True),
        ("tf.nn.dropout(x, keep_prob=FLAGS.dropout_rate)", True),
        ("tf.nn.dropout(x, keep_prob=keep_prob)", False),
        ("tf.nn.dropout(x, rate=1 - keep_prob)", False),
        ("tf.layers.dropout(x, rate=params['dropout'], training=train)", False),
        ("tf.nn.dropout(x, keep_prob=1 - dropout)", False),
    ],
)
def test_shares_to_keep_and_to_drop(call: str, said: bool) -> None:
    assert present(code_arguments._keeps(script(f"import tensorflow as tf\ny = {call}\n"))) is said


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("tf.layers.batch_normalization(x, momentum=0.1, training=train)", True),
        ("tf.keras.layers.BatchNormalization(momentum=0.01)", True),
        ("tf.layers.batch_normalization(x, momentum=0.9, training=train)", False),
        ("tf.keras.layers.BatchNormalization()", False),
    ],
)
def test_momentum_is_the_weight_of_the_old(call: str, said: bool) -> None:
    assert present(code_model._bn_momentum(script(f"import tensorflow as tf\ny = {call}\n"))) is said
