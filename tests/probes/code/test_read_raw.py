"""Pictures that reach the network as bytes, and figures of a scaling that goes one way alone."""

from __future__ import annotations

import pytest

from tests.probes._scripts import state

TF = """
import tensorflow as tf
from tensorflow.keras import layers

def read(path, kind):
    photo = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    photo = tf.image.resize(photo, (96, 96))
    {scale}
    return photo, kind

ds = tf.data.Dataset.from_tensor_slices((paths, kinds)).shuffle(5000).map(read).batch(32)
net = tf.keras.Sequential([{head}layers.Conv2D(16, 3, activation="relu"), layers.Flatten(), layers.Dense(3)])
net.compile("adam", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True))
net.fit(ds, epochs=3)
"""
TORCH = """
import cv2
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

M, S = np.array([0.48, 0.45, 0.40], np.float32), np.array([0.22, 0.23, 0.22], np.float32)

class Photos(Dataset):
    def __init__(self, rows):
        self.rows = rows
    def __len__(self):
        return len(self.rows)
    def __getitem__(self, i):
        pixels = cv2.imread(self.rows[i][0])[:, :, ::-1]
        {scale}
        return torch.from_numpy(z.transpose(2, 0, 1).copy()), self.rows[i][1]

net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten(), nn.Linear(288, 2))
opt = torch.optim.SGD(net.parameters(), 0.1)
for x, y in DataLoader(Photos(rows), 8, shuffle=True):
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    "text",
    [
        TF.format(scale="photo = tf.image.random_flip_left_right(photo)", head=""),
        TF.format(scale="photo = photo * tf.random.uniform((), 0.9, 1.1)", head=""),
        TORCH.format(scale="z = pixels.astype(np.float32)"),
    ],
)
def test_bytes_reach_the_network(text: str) -> None:
    assert state("script-pixels-raw", text) == "present"


@pytest.mark.parametrize(
    "scale", ["z = (pixels.astype(np.float32) - M) / S", "z = np.float32(pixels)\n        z = (z - M) / S"]
)
def test_figures_of_another_range_meet_bytes(scale: str) -> None:
    assert state("script-range-mismatch", TORCH.format(scale=scale)) == "present"


@pytest.mark.parametrize(
    "text",
    [
        TF.format(scale="photo = photo / 255.0", head=""),
        TF.format(scale="photo = photo / SPAN", head=""),
        TF.format(scale="photo = tf.image.per_image_standardization(photo)", head=""),
        TF.format(scale="pass", head="layers.Rescaling(1 / 127.5, -1), "),
        TF.format(scale="pass", head="layers.BatchNormalization(), "),
        TORCH.format(scale="z = pixels.astype(np.float32) / 255"),
        TORCH.format(scale="z = (pixels / 255.0 - M) / S"),
        TORCH.format(scale="z = (pixels.astype(np.float32) * FACTOR - M) / S"),
        TORCH.format(scale="z = prepare(pixels).astype(np.float32)\n        z = (z - M * 255) / (S * 255)"),
    ],
)
def test_pixels_are_scaled(text: str) -> None:
    assert state("script-pixels-raw", text) != "present"


TABLE = """
import numpy as np
import torch
from torch import nn

rows = np.loadtxt("load.csv", delimiter=",").astype(np.float32)
cut = int(0.8 * len(rows))
{figures}
net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters())
x, y = torch.from_numpy({inputs}[:, :6]), torch.from_numpy({inputs}[:, 6:])

def score(net, x, y, m, s):
    return ((net(x) * s + m) - (y * s + m)).abs().mean()

for step in range(900):
    at = torch.randint(0, cut, (64,))
    loss = nn.functional.mse_loss(net(x[at]), y[at])
    opt.zero_grad()
    loss.backward()
    opt.step()
{told}
"""
FIGURES = "centre, width = rows[:cut].mean(0), rows[:cut].std(0) + 1e-6"
TOLD = "print(score(net, x[cut:], y[cut:], centre[6], width[6]))"


@pytest.mark.parametrize(
    "text",
    [
        TABLE.format(figures=FIGURES, inputs="rows", told=TOLD),
        TABLE.format(
            figures=FIGURES,
            inputs="rows",
            told=TOLD.replace("centre[6], width[6]", "m=centre[6], s=width[6]"),
        ),
        TABLE.format(figures=FIGURES, inputs="rows", told="print(loss.item())"),
    ],
)
def test_figures_go_one_way(text: str) -> None:
    assert state("script-scaling-unused", text) == "present"


@pytest.mark.parametrize(
    "text",
    [
        TABLE.format(figures=FIGURES + "\nrows = (rows - centre) / width", inputs="rows", told=TOLD),
        TABLE.format(figures=FIGURES, inputs="((rows - centre) / width)", told=TOLD),
        TABLE.format(figures=FIGURES + "\nrows = scaled(rows, centre, width)", inputs="rows", told=TOLD),
        TABLE.format(figures=FIGURES + "\nrows -= centre\nrows /= width", inputs="rows", told=TOLD),
        TABLE.format(figures=FIGURES + "\nscale = (centre, width)", inputs="use(rows, scale)", told=TOLD),
    ],
)
def test_figures_go_both_ways(text: str) -> None:
    assert state("script-scaling-unused", text) != "present"
