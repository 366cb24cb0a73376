"""TensorFlow and Keras in scripts: right programs stay silent, slips are found where they stand."""

from __future__ import annotations

import pytest

from traindoctor.probes.registry import View, read
from traindoctor.probes.run import Run, RunInfo

from .._scripts import PROBES, SYMPTOMS
from ._keras_programs import BROKEN, RIGHT

CHECKS = sorted({symptom for *_, symptom, _ in BROKEN})


def _read(symptom: str, text: str):
    run = Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts={"train.py": text})
    return read(View(run), SYMPTOMS[symptom], PROBES)


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_program_shows_nothing(name: str) -> None:
    shown = [s for s in CHECKS if _read(s, RIGHT[name]).state == "present"]
    assert shown == []


@pytest.mark.parametrize(("name", "program", "edits", "symptom", "line"), BROKEN, ids=[b[0] for b in BROKEN])
def test_a_slip_is_found_where_it_stands(
    name: str, program: str, edits: list[tuple[str, str]], symptom: str, line: str
) -> None:
    text = RIGHT[program]
    for old, new in edits:
        assert text.count(old) == 1
        text = text.replace(old, new)
    found = _read(symptom, text)
    assert found.state == "present", (name, found.why)
    lines = text.split("\n")
    assert any(line in lines[place.line - 1] for place in found.where if place.line)


FIT = """
import keras
keep = keras.callbacks.ModelCheckpoint("a.keras", save_best_only=True)
model.fit(train, validation_data=val, epochs=9, callbacks=[keep])
"""
COUNTS = """
import keras
import numpy as np
import pandas as pd
table = pd.read_csv("birds.csv")
"""
MATRIX = """
import tensorflow as tf
matrix = tf.math.confusion_matrix(truth, guess)
"""


@pytest.mark.parametrize(
    ("symptom", "text"),
    [
        ("script-last-instead-of-best", FIT + "model.load_weights('a.keras')\nmodel.evaluate(test)\n"),
        ("script-last-instead-of-best", FIT + "model.evaluate(val)\n"),
        ("script-best-chosen-wrongly", FIT),
        (
            "script-classes-numbered-apart",
            COUNTS + "class_weight = {c: 1 / n for c, n in table['y'].value_counts().items()}\n",
        ),
        (
            "script-classes-numbered-apart",
            COUNTS + "class_weight = {i: 1 / n for i, n in enumerate(np.bincount(table['y']))}\n",
        ),
        ("script-metric-wrong", MATRIX + "recall = np.diag(matrix) / matrix.sum(axis=1)\n"),
        ("script-metric-wrong", MATRIX + "precision = np.diag(matrix) / matrix.sum(axis=0)\n"),
        ("script-metric-wrong", MATRIX + "precision, recall = scores(matrix)\n"),
        (
            "script-metric-wrong",
            "import torch\nm = confusion_matrix(preds, y)\nrecall = np.diag(m) / m.sum(axis=0)\n",
        ),
    ],
)
def test_the_right_way_is_no_slip(symptom: str, text: str) -> None:
    assert _read(symptom, text).state != "present"


@pytest.mark.parametrize(
    ("last", "state"),
    [
        ("Dense(1)", "absent"),  # a number is predicted, and accuracy says nothing of it
        ('Dense(1, activation="relu")', "absent"),
        ("Dense(10)", "present"),
        ('Dense(1, activation="sigmoid")', "present"),
        ('Dense(3, activation="softmax")', "present"),
    ],
)
def test_accuracy_beside_a_squared_error_means_classes_unless_one_number_is_given(
    last: str, state: str
) -> None:
    text = (
        "import keras\nfrom keras.layers import Dense\n"
        f"model = keras.Sequential([Dense(8, activation='relu'), {last}])\n"
        "model.compile(optimizer='adam', loss='mse', metrics=['accuracy'])\nmodel.fit(x, y, epochs=20)\n"
    )

    assert (_read("script-loss-wrong", text).state == "present") == (state == "present")
