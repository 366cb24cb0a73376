"""Edits that a rehearsal of both programs shows to change nothing, and faults that look like them."""

from __future__ import annotations

import pytest

from traindoctor.engine.load import load_rules
from traindoctor.probes.readings import all_probes
from traindoctor.probes.registry import View, read
from traindoctor.probes.run import Run, RunInfo

KERAS = """
import keras
import numpy as np
from keras import layers

z = np.load("wine.npz")
x, y = z["x"], z["y"]
{MODEL}
model.compile(optimizer="adam", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x[:180], y[:180], validation_data=(x[180:], y[180:]), epochs=40, batch_size=32)
"""
SEQUENTIAL = """model = keras.Sequential(
    [
        keras.Input(shape=(11,)),
        layers.Dense(128, activation="relu"),
        layers.BatchNormalization(),
        layers.Dropout(0.3),
        layers.Dense(7, activation="softmax"),
    ]
)"""
FUNCTIONAL = """inputs = keras.Input(shape=(11,))
h = layers.Dense(128, activation="relu")(inputs)
h = layers.BatchNormalization()(h)
h = layers.Dropout(0.3)(h)
model = keras.Model(inputs, layers.Dense(7, activation="softmax")(h))"""

LIGHTNING = """
import lightning as L
import numpy as np
import torch
from torch import nn

z = np.load("beats.npz")
x, y = torch.from_numpy(z["x"]), torch.from_numpy(z["y"])
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=32, shuffle=True)


class Beats(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 3)

    def training_step(self, batch, _):
        x, y = batch
        return nn.functional.cross_entropy(self.net(x), y)

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=1e-3)
        sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=self.trainer.max_epochs)
        return {GIVES}


L.Trainer(max_epochs=50).fit(Beats(), loader)
"""
USUAL = '{"optimizer": opt, "lr_scheduler": sched}'


def _state(symptom: str, mine: str, theirs: str) -> str:
    runs = [Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts={"train.py": t}) for t in (mine, theirs)]
    asked = next(s for s in load_rules().symptoms.values() if s.id == symptom)
    return read(View(*runs), asked, all_probes()).state.value


@pytest.mark.parametrize(
    ("model", "state"),
    [
        (FUNCTIONAL, "absent"),
        (FUNCTIONAL.replace("h = layers.BatchNormalization()(h)\n", ""), "present"),
    ],
)
def test_networks(model: str, state: str) -> None:
    mine, theirs = (KERAS.replace("{MODEL}", m) for m in (model, SEQUENTIAL))
    assert _state("edit-norm-layer", mine, theirs) == state


@pytest.mark.parametrize(
    ("gives", "state"),
    [
        ('[opt], [{"scheduler": sched, "interval": "epoch"}]', "absent"),
        ('[opt], [{"scheduler": sched, "interval": "step"}]', "present"),
    ],
)
def test_schedules(gives: str, state: str) -> None:
    mine, theirs = (LIGHTNING.replace("{GIVES}", g) for g in (gives, USUAL))
    states = {_state(s, mine, theirs) for s in ("edit-schedule-length", "edit-schedule-stepped")}
    assert ("present" in states) == (state == "present")
