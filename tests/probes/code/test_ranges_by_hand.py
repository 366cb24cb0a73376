"""Mean and deviation that a script takes off by arithmetic, and the range that its pixels come in."""

from __future__ import annotations

import pytest

from .._scripts import state

SYMPTOM = "script-range-mismatch"
KAGGLE = """
import cv2
import numpy as np
import torch
class CFG:
    mean = {MEAN}
    std = (0.229, 0.224, 0.225)
class Photos(torch.utils.data.Dataset):
    def __getitem__(self, i):
        img = cv2.cvtColor(cv2.imread(self.files[i]), cv2.COLOR_BGR2RGB)
        img = cv2.resize(img, (224, 224)).astype(np.float32){DIVIDE}
        if self.train and np.random.rand() < 0.5:
            img = img[:, ::-1].copy()
        img = (img - CFG.mean) / CFG.std
        return torch.from_numpy(img.transpose(2, 0, 1)).float(), self.labels[i]
"""
TAPE = """
import tensorflow as tf
MEAN = tf.constant({MEAN})
STD = tf.constant([0.229, 0.224, 0.225])
def load(path, label):
    x = tf.image.decode_jpeg(tf.io.read_file(path), channels=3)
    x = tf.image.resize(tf.cast(x, tf.float32){DIVIDE}, (224, 224))
    return (x - MEAN) / STD, label
"""
FLAT = """
import numpy as np
import torch
from PIL import Image
mean = np.array({MEAN})
std = np.array([0.229, 0.224, 0.225])
def read(path):
    a = np.asarray(Image.open(path).convert("RGB"), dtype=np.float32)
    a = a{DIVIDE}
    a = (a - mean) / std
    return torch.from_numpy(a.transpose(2, 0, 1))
"""
OWN = """
import torch
from torchvision.io import read_image
MEAN = torch.tensor({MEAN}).view(3, 1, 1)
STD = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)
class Shots(torch.utils.data.Dataset):
    def __getitem__(self, i):
        shot = read_image(self.names[i]).float(){DIVIDE}
        return (shot - MEAN) / STD, self.kinds[i]
"""
UNIT, BYTES = "[0.485, 0.456, 0.406]", "[123.7, 116.3, 103.5]"


@pytest.mark.parametrize("text", [KAGGLE, TAPE, FLAT, OWN])
@pytest.mark.parametrize(
    ("mean", "divide", "what"),
    [
        (UNIT, " / 255", "absent"),
        (UNIT, "", "present"),
        (BYTES, " / 255", "present"),
        (BYTES, "", "absent"),
        (UNIT, " * (1.0 / 255)", "absent"),
        (UNIT, " / scale", "unknown"),
    ],
)
def test_the_mean_is_for_the_range_of_the_pixels(text: str, mean: str, divide: str, what: str) -> None:
    assert state(SYMPTOM, text.replace("{MEAN}", mean).replace("{DIVIDE}", divide)) == what


@pytest.mark.parametrize(
    "text",
    [
        "import matplotlib.pyplot as plt\nMEAN = [0.4, 0.4, 0.4]\ndef read(f):\n"
        "    return (plt.imread(f) - MEAN) / 0.2\n",
        "import cv2\nMEAN = [0.4, 0.4, 0.4]\ndef read(f):\n    x = cv2.imread(f)\n    x /= 255\n"
        "    return (x - MEAN) / 0.2\n",
        "import cv2\nMEAN = [0.4, 0.4, 0.4]\ndef read(f):\n    x = prepare(cv2.imread(f))\n"
        "    return (x - MEAN) / 0.2\n",
    ],
)
def test_ranges_that_are_not_known(text: str) -> None:
    assert state(SYMPTOM, "import numpy as np\n" + text) != "present"


STEPS = """
from dataclasses import dataclass, field
import mindspore.dataset as ds
import mindspore.dataset.vision as V
@dataclass
class Settings:
    mean: list = field(default_factory=lambda: {MEAN})
    std: list = field(default_factory=lambda: [0.229 * 255, 0.224 * 255, 0.225 * 255])
def operations(c, training):
    if training:
        first = [V.RandomCropDecodeResize(160), V.RandomHorizontalFlip(0.5)]
    else:
        first = [V.Decode(), V.Resize(180), V.CenterCrop(160)]
    return first + [{SCALE}V.Normalize(mean=c.mean, std=c.std), V.HWC2CHW()]
"""


@pytest.mark.parametrize(
    ("mean", "scale", "fires"),
    [
        ("[0.485 * 255, 0.456 * 255, 0.406 * 255]", "", False),
        ("[0.485, 0.456, 0.406]", "", True),
        ("[0.485 * 255, 0.456 * 255, 0.406 * 255]", "V.Rescale(1.0 / 255.0, 0.0), ", True),
        ("[0.485, 0.456, 0.406]", "V.Rescale(1.0 / 255.0, 0.0), ", False),
    ],
)
def test_steps_that_are_added_up_and_figures_of_a_dataclass(mean: str, scale: str, fires: bool) -> None:
    text = STEPS.replace("{MEAN}", mean).replace("{SCALE}", scale)
    assert (state(SYMPTOM, text) == "present") is fires


FIGURES = """
import numpy as np
import torch
def load(images):
    x = torch.tensor(np.stack(images), dtype=torch.float32).unsqueeze(1){DIVIDE}
    x = (x - {MEAN}) / {STD}
    return x
"""


@pytest.mark.parametrize(
    ("divide", "mean", "deviation", "present"),
    [
        (" / 255", "123.7", "58.4", True),
        (" / 255.0", "127.5", "127.5", True),
        ("", "123.7", "58.4", False),
        (" / 255", "0.17", "0.2", False),
        (" / 16", "12.0", "3.0", False),
    ],
)
def test_figures_that_stand_in_the_line(divide: str, mean: str, deviation: str, present: bool) -> None:
    text = FIGURES.replace("{DIVIDE}", divide).replace("{MEAN}", mean).replace("{STD}", deviation)
    assert (state(SYMPTOM, text) == "present") is present
