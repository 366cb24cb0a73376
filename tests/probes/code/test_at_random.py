"""Heads and words of checkpoints, stacks with a ReLU at their end, scaling left out, labels out of step."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.samples.augment import sample_torn_apart

from .._pairs import edits, present
from .._script import finding
from .._scripts import state

TUNED = """
import json
from transformers import {IMPORTS}
CHECKPOINT = "models/tiny"
WORDS = [t for row in json.load(open("train.json")) for t in row["tokens"]]
{VOCAB}
{MODEL}
trainer = Trainer(model=model, train_dataset=encode(WORDS, vocab), eval_dataset=encode(HELD, vocab))
trainer.train()
"""
OF_CHECKPOINT = "vocab = {line.strip(): i for i, line in enumerate(open(CHECKPOINT + '/vocab.txt'))}"
OF_DATA = "vocab = {w: i for i, w in enumerate(['[PAD]'] + sorted(set(WORDS)))}"
READ = "model = BertForTokenClassification.from_pretrained(CHECKPOINT, num_labels=4)"
MADE = "model = BertForTokenClassification(BertConfig.from_pretrained(CHECKPOINT, num_labels=4))"
SIZED = "model = BertForTokenClassification(BertConfig.from_pretrained(CHECKPOINT, hidden_size=64))"


def tuned(vocab: str, model: str) -> str:
    """A program that fine-tunes, or trains anew."""
    return TUNED.format(IMPORTS="BertConfig, BertForTokenClassification, Trainer", VOCAB=vocab, MODEL=model)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (tuned(OF_CHECKPOINT, READ), False),
        (tuned(OF_CHECKPOINT, MADE), True),
        (tuned(OF_CHECKPOINT, SIZED), False),  # another network
        (tuned(OF_CHECKPOINT, MADE + "\nmodel.load_state_dict(weights)"), False),
        (tuned(OF_DATA, MADE + "  # a baseline from scratch"), False),
    ],
)
def test_a_head_of_a_configuration_alone(text: str, told: bool) -> None:
    assert (state("script-pretrained-lost", text) == "present") is told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (tuned(OF_CHECKPOINT, READ), False),
        (tuned(OF_DATA, READ), True),
        (tuned(OF_DATA, READ + "\nmodel.resize_token_embeddings(len(vocab))"), False),
        (tuned(OF_DATA, READ.replace("num_labels", "vocab_size=len(vocab), num_labels")), False),
        (tuned(OF_DATA.replace("vocab =", "label2id ="), READ), False),
    ],
)
def test_words_numbered_anew_for_pretrained_weights(text: str, told: bool) -> None:
    assert (state("script-words-numbered-apart", text) == "present") is told


def test_a_network_without_its_weights_is_an_edit(tmp_path: Path) -> None:
    assert "edit-pretrained" in edits(tmp_path, tuned(OF_CHECKPOINT, MADE), tuned(OF_CHECKPOINT, READ))


DRAWN = """
import random
import torch
from torchvision.models import resnet18
def make_examples(n, seed, weights=(1, 1, 1)):
    rng = random.Random(seed)
    return [(rng.random(), y) for y in rng.choices(range(3), weights, k=n)]
train = make_examples(800, 1{SHARES})
held = make_examples(200, 2)
model = resnet18(weights={START})
loader = torch.utils.data.DataLoader(train, 32, shuffle=True)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for x, y in loader:
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("shares", "start", "told"),
    [
        (", (8, 1, 1)", "'DEFAULT'", False),  # weights of classes
        (", weights=(8, 1, 1)", "'DEFAULT'", False),
        ("", "None", True),
    ],
)
def test_weights_that_are_shares_are_no_trained_weights(
    tmp_path: Path, shares: str, start: str, told: bool
) -> None:
    mine = DRAWN.replace("{SHARES}", shares).replace("{START}", start)
    theirs = DRAWN.replace("{SHARES}", "").replace("{START}", "'DEFAULT'")
    assert ("edit-pretrained" in edits(tmp_path, mine, theirs)) is told


STACK = """
import keras
from keras import layers
model = keras.Sequential([layers.Dense(64, activation="relu"), layers.Dense(4{END})])
model.compile("adam", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
model.fit(x_train, y_train, validation_data=(x_val, y_val))
"""
RAW = "SparseCategoricalCrossentropy(from_logits=True)"
TORCH = """
import torch
from torch import nn
model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 4){END})
opt = torch.optim.Adam(model.parameters())
for x, y in train_loader:
    loss = nn.CrossEntropyLoss()(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (STACK.replace("{END}", ', activation="relu"'), True),
        (STACK.replace("{END}", ""), False),
        (STACK.replace("{END}", ', activation="relu"').replace(RAW, "MeanSquaredError()"), False),
        (TORCH.replace("{END}", ", nn.ReLU()"), True),
        (TORCH.replace("{END}", ""), False),
        (TORCH.replace("{END}", ", nn.ReLU()").replace("model =", "b = nn.Sequential(h)\nmodel ="), False),
    ],
)  # fmt: skip
def test_a_stack_that_ends_in_a_relu(text: str, told: bool) -> None:
    assert (state("script-output-rectified", text) == "present") is told


ARRAYS = """
import numpy as np
import torch
x, y = torch.from_numpy(np.load("x.npy")), torch.from_numpy(np.load("y.npy"))
x_train, y_train, x_val, y_val = x[:800], y[:800], x[800:], y[800:]
mean, std = x_train.mean(0), x_train.std(0)
x_train, x_val = (x_train - mean) / std, (x_val - mean) / std
x_train, y_train, x_val, y_val = (t.to("cpu") for t in (x_train, y_train, x_val, y_val))
opt = torch.optim.Adam(net.parameters())
for i in range(0, 800, 8):
    loss = torch.nn.functional.mse_loss(net(x_train[i : i + 8]), y_train[i : i + 8])
    opt.zero_grad()
    loss.backward()
    opt.step()
with torch.no_grad():
    print(torch.nn.functional.mse_loss(net(x_val), y_val))
"""
BOTH = "x_train, x_val = (x_train - mean) / std, (x_val - mean) / std\n"


def test_scaling_that_both_sides_lose_is_no_difference_of_the_sides(tmp_path: Path) -> None:
    found = present(tmp_path, ARRAYS.replace(BOTH, ""), ARRAYS)
    assert "edit-normalisation-left-out" in found
    assert "edit-evaluation-inputs" not in found


MISALIGNED = """
import keras
import numpy as np
x, y = np.load("x.npy"), np.load("y.npy")
order = np.random.default_rng(0).permutation(1000)
x = x[order]
x_train, y_train = x[:800], y[:800]
x_val, y_val = x[800:], y[800:]
model.fit(x_train, y_train, validation_data=(x_val, y_val))
"""


def test_labels_out_of_step_are_no_leak() -> None:
    assert state("script-training-sees-evaluation", MISALIGNED) != "present"
    assert finding(sample_torn_apart, MISALIGNED).state is State.PRESENT
