"""Right programs with short names, attributes of another name, scores that fall, batched data by one name."""

from __future__ import annotations

import pytest

from .._scripts import state

KEPT = """
import random
import torch
from torch.utils.data import DataLoader, Dataset
class Trays(Dataset):
    def __init__(self, files, isTraining):
        self.m_files = files
        self.m_isTraining = isTraining
    def __getitem__(self, index):
        image = load(self.m_files[index])
        if {asked}random.random() > 0.5:
            image = image.flip(-1)
        return image
train_loader = DataLoader(Trays(files[:80], True), shuffle=True)
val_loader = DataLoader(Trays(files[80:], False))
"""
SHORT = """
import torch
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset
train, val = train_test_split(frame, test_size=0.2)
ss = StandardScaler()
x_tr = ss.fit_transform(train[cols])
x_va = {scaled}
tr = TensorDataset(torch.tensor(x_tr), torch.tensor(train["y"].values))
va = TensorDataset(torch.tensor(x_va), torch.tensor(val["y"].values))
tr_dl = DataLoader(tr, batch_size=64, shuffle=True)
va_dl = DataLoader(va, batch_size=64)
for x, y in tr_dl:
    loss = loss_fn(net(x), y)
    loss.backward()
net.eval()
for x, y in va_dl:
    total += loss_fn(net(x), y).item()
"""
FALLS = """
import math
import torch
best = {start}
for epoch in range(9):
    train(model)
    score = evaluate(model)
    if score < best:
        best = score
        torch.save(model.state_dict(), "best.pt")
"""
COUNTED = """
import tensorflow as tf
def load(path, batch_size=32):
    train_ds = tf.data.Dataset.from_tensor_slices(read(path)).shuffle(1000)
    {batched}
    return train_ds
train_ds = load("x.npz")
epochs = 60
steps = epochs * len(train_ds)
schedule = tf.keras.optimizers.schedules.CosineDecay(1e-3, steps)
optimizer = tf.keras.optimizers.Adam(schedule)
for epoch in range(epochs):
    for x, y in train_ds:
        optimizer.apply_gradients(zip(gradients(x, y), variables))
"""


@pytest.mark.parametrize(
    ("text", "symptom", "expected"),
    [
        (KEPT.format(asked="self.m_isTraining and "), "script-evaluation-augmented", False),
        (KEPT.format(asked=""), "script-evaluation-augmented", True),
        (SHORT.format(scaled="ss.transform(val[cols])"), "script-splits-processed-differently", False),
        (SHORT.format(scaled="val[cols].values"), "script-splits-processed-differently", True),
        (FALLS.format(start="math.inf"), "script-best-chosen-wrongly", False),
        (FALLS.format(start="0.0"), "script-best-chosen-wrongly", True),
        (COUNTED.format(batched="train_ds = train_ds.batch(batch_size)"), "script-schedule-wrong", False),
        (COUNTED.format(batched="pass"), "script-schedule-wrong", True),
    ],
)
def test_right_programs_are_silent(text: str, symptom: str, expected: bool) -> None:
    assert (state(symptom, text) == "present") is expected
