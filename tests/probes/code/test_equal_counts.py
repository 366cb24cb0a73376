"""Counts that two scripts write in different ways: alike but for rounding, or not."""

from __future__ import annotations

import pytest

from traindoctor.engine.load import load_rules
from traindoctor.probes.readings import all_probes
from traindoctor.probes.registry import View, read
from traindoctor.probes.run import Run, RunInfo

TEXT = """
import numpy as np
import keras
BATCH, EPOCHS = 64, 30
z = np.load("rows.npz")
x, y = z["x"], z["y"]
per_epoch = {COUNT}
rate = keras.optimizers.schedules.CosineDecay(1e-3, EPOCHS * per_epoch)
net = keras.Sequential([keras.layers.Dense(3)])
net.compile(optimizer=keras.optimizers.Adam(rate), loss="mse")
net.fit(x, y, batch_size=BATCH, epochs=EPOCHS)
"""
USUAL = "int(np.ceil(len(x) / BATCH))"


def _run(count: str) -> Run:
    text = TEXT.replace("{COUNT}", count)
    return Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts={"train.py": text})


@pytest.mark.parametrize(
    ("count", "differs"),
    [
        ("len(x) // BATCH", False),
        ("(len(x) + BATCH - 1) // BATCH", False),
        ("-(-len(x) // BATCH)", False),
        ("len(x) // BATCH // 2", True),
        ("len(x)", True),
        ("len(x) // EPOCHS", True),
    ],
)
def test_counts(count: str, differs: bool) -> None:
    symptom = next(s for s in load_rules().symptoms.values() if s.id == "edit-schedule-length")
    found = read(View(_run(count), _run(USUAL)), symptom, all_probes())
    assert (found.state.value == "present") == differs, found.why
