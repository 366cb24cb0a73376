"""A pretrained body that is frozen under its head, and a head that is frozen with what is not the body."""

from __future__ import annotations

import pytest

from .._scripts import state

MODEL = """
from transformers import AutoModelForTokenClassification, Trainer, TrainingArguments
def build(name):
    return AutoModelForTokenClassification.from_pretrained(name, num_labels=7)
"""
MAIN = """
from part0 import build
from transformers import Trainer, TrainingArguments
model = build("bert-base-cased")
{FREEZE}
trainer = Trainer(model=model, args=TrainingArguments("out"), train_dataset=rows)
trainer.train()
"""
ALL_BUT = (
    "for n, p in model.named_parameters():\n    if not n.startswith('{}'):\n        p.requires_grad = False"
)
OVER = "for p in model.{}.parameters():\n    p.requires_grad = False"


@pytest.mark.parametrize(
    ("wanted", "freeze"),
    [
        (False, OVER.format("bert.embeddings")),
        (False, OVER.format("bert")),
        (True, OVER.format("classifier")),
        (False, ALL_BUT.format("classifier")),
    ],
)
def test_bodies_stay_and_heads_train(wanted: bool, freeze: str) -> None:
    assert (state("script-part-not-trained", MODEL, MAIN.replace("{FREEZE}", freeze)) == "present") is wanted


def test_what_is_left_to_train_holds_no_head() -> None:
    text = MAIN.replace("{FREEZE}", ALL_BUT.format("bert"))
    assert state("script-part-not-trained", MODEL, text) == "present"


KERAS = """
import keras
from keras import layers
import tensorflow_hub as hub
from stones import StoneNet
base = {base}
{cut}
base.trainable = False
x = layers.Dense(8, activation="softmax")(base.output)
model = keras.Model(inputs=base.input, outputs=x)
model.compile(loss="sparse_categorical_crossentropy", optimizer="adam")
model.fit(train, epochs=5, validation_data=val)
"""


@pytest.mark.parametrize("cut", ["", "base = keras.Model(inputs=base.input, outputs=base.layers[-2].output)"])
@pytest.mark.parametrize(
    ("base", "wanted"),
    [
        ("keras.applications.EfficientNetB0(weights='imagenet', include_top=False, pooling='avg')", False),
        ("StoneNet(pretrained=True)", False),
        ("keras.models.load_model('stones.keras')", False),
        ("hub.KerasLayer(url)", False),
        ("StoneNet()", True),
        ("keras.applications.EfficientNetB0(weights=None, include_top=False, pooling='avg')", True),
    ],
)
def test_bases_of_keras_stay_where_they_were_trained(base: str, cut: str, wanted: bool) -> None:
    text = KERAS.format(base=base, cut=cut)

    assert (state("script-part-not-trained", text) == "present") is wanted
