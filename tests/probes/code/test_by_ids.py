"""Parts chosen by ids, one cut for two parts, patterns of all files, streams that nothing mixes."""

from __future__ import annotations

import pytest

from .._scripts import state

HEAD = """
import numpy as np
import pandas as pd
import torch
import torch.nn as nn
import tensorflow as tf
from glob import glob
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

FEATURES = ["a", "b", "c", "d"]
df = pd.read_csv("rows.csv").sort_values(["patient", "hour"])
label = df.groupby("patient")["died"].max()
ids = label.index.to_numpy()
rng = np.random.default_rng(0)
rng.shuffle(ids)
a, b = int(0.7 * len(ids)), int(0.85 * len(ids))
"""
BODY = """
{cut}
own = df[df["patient"].isin(train_ids)]
{fit}

def arrays(ids):
    x = np.zeros((len(ids), 24, 4), "float32")
    for k, i in enumerate(ids):
        rows = df[df["patient"].isin([i])].head(24)
        x[k, :len(rows)] = scaler.transform(rows[FEATURES])
    return torch.tensor(x), torch.tensor(label.loc[ids].to_numpy("float32"))

def whole(ids):
    return df[df["patient"].isin(ids)]

net = nn.Sequential(nn.Flatten(), nn.Linear(96, 1))
opt = torch.optim.Adam(net.parameters())
loss_fn = nn.BCEWithLogitsLoss()
print(len(whole(train_ids)), len(whole(val_ids)))
for epoch in range(20):
    for x, y in DataLoader(TensorDataset(*arrays(train_ids)), 32, shuffle=True):
        loss = loss_fn(net(x)[:, 0], y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        x, y = arrays(val_ids)
        print(epoch, ((net(x)[:, 0] > 0) == y.bool()).float().mean().item())
"""
CUT = "train_ids, val_ids, test_ids = ids[:a], ids[a:b], ids[b:]"
FIT = "scaler = StandardScaler().fit(own[FEATURES])"


def wards(cut: str = CUT, fit: str = FIT, head: str = HEAD) -> str:
    return head + BODY.format(cut=cut, fit=fit)


def test_parts_by_ids_are_right() -> None:
    for text in (
        wards(),
        wards(fit="scaler = StandardScaler(); scaler.fit(df[df.patient.isin(train_ids)][FEATURES])"),
    ):
        for symptom in ("script-learns-from-held-out", "script-training-sees-evaluation"):
            assert state(symptom, text) != "present"


@pytest.mark.parametrize(
    ("text", "symptom"),
    [
        (wards(fit="scaler = StandardScaler().fit(df[FEATURES])"), "script-learns-from-held-out"),
        (
            wards(fit="scaler = StandardScaler(); scaler.fit(df[FEATURES].values)"),
            "script-learns-from-held-out",
        ),
        (wards(cut=CUT.replace("ids[a:b]", "ids[:a]")), "script-training-sees-evaluation"),
        (
            wards(
                cut="order = np.arange(len(ids)); t, v = order[:a], order[a:]\n"
                "train_ids, val_ids = ids[t], ids[t]"
            ),
            "script-training-sees-evaluation",
        ),
        (wards(head=HEAD.replace('"c", "d"]', '"c", "died"]')), "script-training-sees-evaluation"),
    ],
)
def test_parts_by_ids_that_meet(text: str, symptom: str) -> None:
    assert state(symptom, text) == "present"


FILES = """
import torch
import torch.nn as nn
from glob import glob
from torch.utils.data import DataLoader, Dataset

class Tiles(Dataset):
    def __init__(self, files):
        self.files = files
    def __len__(self):
        return len(self.files)
    def __getitem__(self, i):
        return torch.load(self.files[i])

train_files = sorted(glob("tiles/train/*.pt"))
val_files = {val}
net = nn.Linear(4, 2)
opt = torch.optim.Adam(net.parameters())
for epoch in range(20):
    for x, y in DataLoader(Tiles(train_files), 32, shuffle=True):
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print(sum((net(x).argmax(1) == y).float().mean().item() for x, y in DataLoader(Tiles(val_files), 32)))
"""


@pytest.mark.parametrize(
    ("val", "told"),
    [
        ('sorted(glob("tiles/val/*.pt"))', False),
        ('[f for f in glob("tiles/*/*.pt") if "train" not in f]', False),
        ('sorted(set(glob("tiles/*/*.pt")) - set(train_files))', False),
        ('sorted(glob("extra/*/*.pt"))', False),
        ('sorted(glob("tiles/*/*.pt"))', True),
        ('glob("tiles/*/*.pt")[:100]', True),
    ],
)
def test_patterns_of_files(val: str, told: bool) -> None:
    assert (state("script-training-sees-evaluation", FILES.format(val=val)) == "present") is told


TAPE = """
import numpy as np
import tensorflow as tf
from sklearn.model_selection import train_test_split

{rows}
train = tf.data.Dataset.from_tensor_slices({given}){mix}.batch(32).prefetch(2)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.Adam()
@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
    grads = tape.gradient(loss, model.trainable_variables)
    opt.apply_gradients(zip(grads, model.trainable_variables))
    return loss
for epoch in range({epochs}):
    for x, y in train:
        step(x, y)
"""
ROWS = 'z = np.load("z.npz")\nx_train, y_train = z["x"], z["y"]'


@pytest.mark.parametrize(
    ("rows", "given", "mix", "epochs", "told"),
    [
        (ROWS, "(x_train, y_train)", ".shuffle(1000)", 20, False),
        (
            ROWS + "\nx_train, _, y_train, _ = train_test_split(x_train, y_train)",
            "(x_train, y_train)",
            "",
            20,
            False,
        ),
        (ROWS + "\no = np.random.permutation(len(x_train))", "(x_train[o], y_train[o])", "", 20, False),
        (ROWS, "(x_train, y_train)", "", 1, False),
        (ROWS, "(x_train, y_train)", "", 20, True),
        (ROWS, "(x_train, y_train)", ".cache().repeat()", 20, True),
        (ROWS, "(x_train, y_train)", ".map(lambda x, y: (x / 255.0, y))", 20, True),
    ],
)
def test_streams_in_order(rows: str, given: str, mix: str, epochs: int, told: bool) -> None:
    text = TAPE.format(rows=rows, given=given, mix=mix, epochs=epochs)
    if epochs == 1:
        text = text.replace(
            "for epoch in range(1):\n    for x, y in train:\n        step(x, y)",
            "for x, y in train:\n    step(x, y)",
        )
    assert (state("script-no-shuffling", text) == "present") is told
