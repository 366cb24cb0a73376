"""Right programs of other hands beside each other: one thing written in two ways is no edit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.probes._pairs import edits, present

GAN = """
import torch
from torch import nn
from own import Real, loader

G = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 784), nn.Tanh())
D = nn.Sequential(nn.Linear(784, 128), nn.LeakyReLU(0.2), nn.Linear(128, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
loss_fn = nn.BCEWithLogitsLoss()
for epoch in range(20):
    for real in loader:
        z = torch.randn(len(real), 64)
        FAKE
        loss_d = loss_fn(D(real), torch.ones(len(real), 1)) + loss_fn(D(fake), torch.zeros(len(real), 1))
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()
        loss_g = loss_fn(D(G(z)), torch.ones(len(real), 1))
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
"""
CUT = GAN.replace("FAKE", "fake = G(z).detach()")
UNTAPED = GAN.replace("FAKE", "with torch.no_grad():\n            fake = G(z)")

# the answers of the network that learns as well
GAN_BOTH = GAN.replace("loss_fn(D(real), ", "loss_fn(right, ")
BOTH_CUT = "fake = G(z).detach()\n        right = D(real)"
ALL_UNTAPED = "with torch.no_grad():\n            fake = G(z)\n            right = D(real)"

TAGGER = """
import numpy as np
from transformers import AutoModelForTokenClassification, Trainer, TrainingArguments
from own import train_set, dev_set

model = AutoModelForTokenClassification.from_pretrained("camembert-base", num_labels=9)


def compute_metrics(p):
    logits, labels = GIVEN
    guesses = logits.argmax(-1)
    kept = KEPT
    return {"accuracy": (guesses == labels)[kept].mean()}


args = TrainingArguments("out", learning_rate=5e-5, num_train_epochs=3)
trainer = Trainer(model, args, train_dataset=train_set, eval_dataset=dev_set, compute_metrics=compute_metrics)
trainer.train()
"""


def tagger(given: str = "p", kept: str = "(labels != -100) & (labels != 0)") -> str:
    return TAGGER.replace("GIVEN", given).replace("KEPT", kept)


UNET = """
from tensorflow import keras
from tensorflow.keras import layers
from own import train, val

x = inputs = keras.Input((128, 128, 3))
x = layers.Conv2D(16, 3, padding="same", activation="relu")(x)
x = layers.Conv2D(16, 3, padding="same", activation="relu")(x)
OUT
model = keras.Model(inputs, out)
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(train, validation_data=val, epochs=20)
"""
WITHIN = UNET.replace("OUT", 'out = layers.Conv2D(5, 1, activation="softmax", dtype="float32")(x)')
APART = UNET.replace("OUT", 'out = layers.Softmax(dtype="float32")(layers.Conv2D(5, 1)(x))')


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (UNTAPED, CUT),
        (CUT, UNTAPED),
        (tagger("p.predictions, p.label_ids"), tagger()),
        (tagger(), tagger("p.predictions, p.label_ids")),
        (tagger(kept="np.logical_and(labels != -100, labels != 0)"), tagger()),
        (APART, WITHIN),
        (WITHIN, APART),
    ],
)
def test_written_in_two_ways(tmp_path: Path, mine: str, theirs: str) -> None:
    assert not edits(tmp_path, mine, theirs)


@pytest.mark.parametrize(
    ("mine", "theirs", "told"),
    [
        (GAN_BOTH.replace("FAKE", ALL_UNTAPED), GAN_BOTH.replace("FAKE", BOTH_CUT), "edit-"),
        (tagger("p.label_ids, p.predictions"), tagger(), "edit-"),
        (tagger(kept="np.logical_or(labels != -100, labels != 0)"), tagger(), "edit-metric"),
        (APART.replace("Softmax", "ReLU"), WITHIN, "edit-"),
    ],
)
def test_something_else(tmp_path: Path, mine: str, theirs: str, told: str) -> None:
    assert any(s.startswith(told) for s in present(tmp_path, mine, theirs))
