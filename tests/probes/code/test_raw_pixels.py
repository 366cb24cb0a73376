"""Keras programs that feed pixels of 0 to 255; softmax between Keras layers; roots of slopes."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

FOLDERS = """
import tensorflow as tf
from tensorflow.keras import layers
train_ds = tf.keras.utils.image_dataset_from_directory("cats/train", image_size=(160, 160), batch_size=32)
val_ds = tf.keras.utils.image_dataset_from_directory("cats/val", image_size=(160, 160), batch_size=32)
model = tf.keras.Sequential([
    {FIRST}layers.Conv2D(16, 3, activation="relu"),
    layers.MaxPooling2D(),
    layers.Flatten(),
    layers.Dense(64, activation="{ACT}"),
    layers.Dense(2),
])
model.compile(loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), optimizer="adam")
model.fit(train_ds, validation_data=val_ds, epochs=20)
"""
DIGITS = """
from tensorflow import keras
(x_train, y_train), (x_test, y_test) = keras.datasets.cifar10.load_data()
{MORE}model = keras.Sequential()
model.add(keras.layers.Flatten(input_shape=(32, 32, 3)))
model.add(keras.layers.Dense(256, activation="{ACT}"))
model.add(keras.layers.Dense(10, activation="softmax"))
model.compile(loss="sparse_categorical_crossentropy", optimizer="adam", metrics=["accuracy"])
model.fit(x_train, y_train, epochs=10, validation_data=(x_test, y_test))
"""


def folders(first: str = "", act: str = "relu") -> str:
    return FOLDERS.replace("{FIRST}", first).replace("{ACT}", act)


def digits(more: str = "", act: str = "relu") -> str:
    return DIGITS.replace("{MORE}", more).replace("{ACT}", act)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (folders(), P),
        (digits(), P),
        (folders("layers.Rescaling(1.0 / 255), "), A),
        (folders("layers.BatchNormalization(), "), A),
        (digits("x_train, x_test = x_train / 255.0, x_test / 255.0\n"), A),
        (digits("x_train, x_test = map(keras.utils.normalize, (x_train, x_test))\n"), A),
        (digits().replace("cifar10", "imdb"), U),
        (
            folders().replace(
                "layers.Conv2D", "keras.applications.EfficientNetB0(weights=None), layers.Conv2D"
            ),
            U,
        ),
        (digits().replace("model.fit", "model.evaluate"), U),
        ("import torch\n", U),
    ],
)
def test_pixels_as_they_are(text: str, expected: str) -> None:
    assert state("script-pixels-raw", text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (folders(act="softmax"), P),
        (digits(act="softmax"), P),
        (folders(), A),
        (digits(), A),
    ],
)
def test_a_softmax_between_keras_layers(text: str, expected: str) -> None:
    """Unlike the one at the end, it lets the units of a layer share a sum of one."""
    found = state("script-softmax-misplaced", text)
    assert found == expected if expected == P else found != P


SLOPES = """
import torch
from torch import nn
import torch.nn.functional as F
class Edges(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Conv2d(1, 8, 3, padding=1)
    def forward(self, x):
        h = self.body(x)
        {LINES}
net = Edges()
opt = torch.optim.Adam(net.parameters())
for x, y in loader:
    opt.zero_grad()
    F.mse_loss(net(x), y).backward()
    opt.step()
"""
DIFFERENCES = "a, b = h[..., 1:, :] - h[..., :-1, :], h[..., 1:] - h[..., :-1]"


@pytest.mark.parametrize(
    ("lines", "fires"),
    [
        (
            "gx, gy = F.conv2d(h, self.sx), F.conv2d(h, self.sy)\n        return torch.sqrt(gx**2 + gy**2)",
            True,
        ),
        (f"{DIFFERENCES}\n        return (a.square() + b.square()).sqrt()", True),
        (f"{DIFFERENCES}\n        return torch.sqrt(a * a + b * b)", True),
        (
            "gx, gy = self.s(h), self.t(h)\n        return torch.sqrt(gx**2 + gy**2 + 1e-6)",
            False,
        ),
        ("re, im = h.chunk(2, 1)\n        return torch.sqrt(re**2 + im**2)", False),
        ("return torch.sqrt(h**2 + 1)", False),
    ],
)
def test_the_length_of_a_slope_has_a_floor(lines: str, fires: bool) -> None:
    """Flat parts of a picture have no slope: the root of zero has no derivative."""
    assert (state("script-zero-without-floor", SLOPES.replace("{LINES}", lines)) == P) == fires
