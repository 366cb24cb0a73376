"""Pipelines by side: scaled on one side alone, scaled twice, changed at random where they are held out."""

from __future__ import annotations

import pytest

from .._scripts import state

TF = """
import tensorflow as tf
def load(path, label):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    image = tf.image.resize(image, (96, 96)){load}
    return image, label
def augment(image, label):
    image = tf.image.random_flip_left_right(image){augment}
    return image, label
train_ds = tf.data.Dataset.from_tensor_slices((train_paths, train_y)).shuffle(99)
train_ds = train_ds.map(load).map(augment).batch(8)
val_ds = tf.data.Dataset.from_tensor_slices((val_paths, val_y)).map(load).batch(8)
model = tf.keras.Sequential([tf.keras.layers.{layer}, tf.keras.layers.Dense(3)])
model.compile(optimizer="adam", loss="mse")
model.fit(train_ds, validation_data=val_ds)
"""
SCALE, PLAIN = " / 255.0", "Conv2D(8, 3)"
PREPARED = "\n    image = tf.keras.applications.resnet50.preprocess_input(image)"
TABLE = """
import keras
from sklearn.preprocessing import StandardScaler
scaler = StandardScaler()
x_train = scaler.fit_transform(x_train)
x_val = scaler.transform(x_val)
{}
model.compile(optimizer="adam", loss="mse")
model.fit(x_train, y_train, validation_data=(x_val, y_val))
guess = model.predict(x_test)
"""
MS = """
import mindspore.dataset as ds
import mindspore.dataset.vision as vision
def create(folder, training):
    data = ds.ImageFolderDataset(folder, shuffle=training)
    if training:
        ops = [vision.RandomCropDecodeResize(96), vision.RandomHorizontalFlip()]
    else:
        ops = [vision.Decode(), vision.Resize(96){}]
    return data.map(ops, "image").batch(8)
train = create("a/train", True)
valid = create("a/valid", False)
"""
TILES = """
import numpy as np
import mindspore.dataset as ds
class Tiles:
    def __init__(self, root, split, augment):
        self.names, self.augment = read(root, split), augment
    def __getitem__(self, i):
        x = load(self.names[i])
        if {}np.random.rand() < 0.5:
            x = x[:, ::-1]
        return x
train = ds.GeneratorDataset(Tiles("a", "train", True), ["x"])
valid = ds.GeneratorDataset(Tiles("a", "valid", {}), ["x"])
"""


@pytest.mark.parametrize(
    ("symptom", "text", "told"),
    [
        ("script-splits-processed-differently", TF.format(load="", augment=SCALE, layer=PLAIN), True),
        ("script-splits-processed-differently", TF.format(load=SCALE, augment="", layer=PLAIN), False),
        ("script-splits-processed-differently", TABLE.format(""), True),
        ("script-splits-processed-differently", TABLE.format("x_test = scaler.transform(x_test)"), False),
        ("script-range-mismatch", TF.format(load=SCALE, augment="", layer="Rescaling(1 / 255)"), True),
        ("script-range-mismatch", TF.format(load="", augment="", layer="Rescaling(1 / 255)"), False),
        ("script-range-mismatch", TF.format(load=SCALE + PREPARED, augment="", layer=PLAIN), True),
        ("script-range-mismatch", TF.format(load=PREPARED, augment="", layer=PLAIN), False),
        ("script-evaluation-augmented", MS.format(", vision.RandomHorizontalFlip()"), True),
        ("script-evaluation-augmented", MS.format(", vision.CenterCrop(96)"), False),
        ("script-evaluation-augmented", TILES.format("self.augment and ", "True"), True),
        ("script-evaluation-augmented", TILES.format("self.augment and ", "False"), False),
        ("script-evaluation-augmented", TILES.format("", "False"), True),
    ],
)
def test_sides_of_a_pipeline(symptom: str, text: str, told: bool) -> None:
    """Each fault beside the right way."""
    assert (state(symptom, text) == "present") is told


KEPT = """
import numpy as np
from torch.utils.data import DataLoader, Dataset
class Rows(Dataset):
    def __init__(self, files, augment):
        self.{name} = augment
        self.files = files
    def __getitem__(self, i):
        x = np.load(self.files[i])
        if {asked}np.random.rand() < 0.5:
            x = x[:, ::-1]
        return x
train_loader = DataLoader(Rows(train_files, True), 8, shuffle=True)
val_loader = DataLoader(Rows(val_files, False), 8)
"""


@pytest.mark.parametrize(
    ("name", "asked", "found"),
    [
        ("augment", "self.augment and ", False),
        ("m_augment", "self.m_augment and ", False),
        ("m_augment", "", True),
    ],
)
def test_a_switch_that_is_kept_under_another_name(name: str, asked: str, found: bool) -> None:
    code = KEPT.replace("{name}", name).replace("{asked}", asked)
    assert (state("script-evaluation-augmented", code) == "present") is found
