"""Units, spectra, cuts and decoding that do not fit their formula; branches of a model that nothing reads."""

from __future__ import annotations

import pytest

from .._scripts import state

TABLE = """
import numpy as np
import pandas as pd
import torch
from torch import nn

w = 2 * np.pi
table = pd.read_csv("station.csv")
{lines}
model = nn.Linear(4, 1)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for x, y in batches(table):
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ('wind = table["wind_deg"].to_numpy()\ntable["u"] = table["speed"] * np.cos(wind)', "present"),
        ('table["u"] = np.sin(table["angle_degrees"])', "present"),
        ("heading_deg = table.heading_deg\nu = np.sin(heading_deg.values.astype(float))", "present"),
        ('wind = np.deg2rad(table["wind_deg"])\ntable["u"] = np.cos(wind)', "absent"),
        ('table["u"] = np.cos(table["wind_deg"] * np.pi / 180)', "absent"),
        ('table["wind_deg"] = np.radians(table["wind_deg"])\nu = np.cos(table["wind_deg"])', "absent"),
        ('table["u"] = np.cos(table["wind_dir"])', "absent"),
        ('table["c"] = table["f"] * 5 / 9 - 32', "present"),
        ('table["c"] = 5 / 9 * table["f"] - 32', "present"),
        ('table["c"] = table["f"] / 1.8 - 32', "present"),
        ('table["f"] = table["c"] * 9 / 5 - 32', "present"),
        ('table["c"] = (table["f"] - 32) * 5 / 9', "unknown"),
        ('table["f"] = table["c"] * 1.8 + 32', "absent"),
        ('table["d"] = table["a"] * 2 - 32', "unknown"),
    ],
)
def test_units(lines: str, found: str) -> None:
    assert state("script-method-slipped", TABLE.replace("{lines}", lines)) == found


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (
            'hour = table["t"].dt.hour\na = np.sin(w * hour / 12)\nb = np.cos(w * hour / 24)',
            "present",
        ),
        (
            'h = table["t"].dt.month.to_numpy()\na, b = np.sin(w * h / 6), np.cos(w * h / 6)',
            "present",
        ),
        (
            'hour = table["t"].dt.hour\na = np.sin(w * hour / 24)\nb = np.cos(w * hour / 24)',
            "absent",
        ),
        # a day and its half: two waves that are meant
        (
            'h = table["t"].dt.hour\n'
            "a = [np.sin(w * h / 24), np.cos(w * h / 24)]\n"
            "b = [np.sin(w * h / 12), np.cos(w * h / 12)]",
            "absent",
        ),
        (
            'd = table["t"].dt.dayofyear\na, b = np.sin(w * d / 365.25), np.cos(w * d / 365.25)',
            "absent",
        ),
        (
            'hour = table["t"].dt.hour + 24 * table["t"].dt.dayofweek\na = np.sin(w * hour / 168)',
            "unknown",
        ),
    ],
)
def test_periods(lines: str, found: str) -> None:
    assert state("script-figures-impossible", TABLE.replace("{lines}", lines)) == found


SOUND = """
import numpy as np
import torch
from torch import nn

def features(x):
    {lines}
    return out

net = nn.Linear(40, 2)
opt = torch.optim.Adam(net.parameters())
for x, y in loader:
    loss = nn.functional.cross_entropy(net(features(x)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (
            "m = np.linspace(0, 2595 * np.log10(1 + 8000 / 700), 42); out = 700 * (np.exp(m / 2595) - 1)",
            "present",
        ),
        ("m = x; out = 700.0 * (10.0 ** (m / 1127.0) - 1.0)", "present"),
        ("m = x; out = 700 * np.expm1(m / 2595)", "present"),
        ("m = x; out = 700 * (10 ** (m / 2595) - 1)", "absent"),
        ("m = x; out = 700 * (np.exp(m / 1127.01) - 1)", "absent"),
        ("S = torch.stft(x, 512, return_complex=True); out = S.real ** 2", "present"),
        ("S = np.fft.rfft(x); out = np.log(S.imag ** 2 + 1e-8)", "present"),
        ("S = torch.stft(x, 512, return_complex=True); out = S.real ** 2 + S.imag ** 2", "absent"),
        ("S = torch.stft(x, 512, return_complex=True); out = S.abs() ** 2", "absent"),
        # parts that stand beside each other
        ("S = np.fft.rfft(x); out = np.stack([S.real, S.imag])", "absent"),
        ("S = np.fft.rfft(x); e = S.real ** 2; out = e + np.angle(S)", "absent"),
    ],
)
def test_spectra(lines: str, found: str) -> None:
    assert state("script-method-slipped", SOUND.replace("{lines}", lines)) == found


CUTS = """
import cv2
import numpy as np
import random
from torch.utils.data import Dataset

class Roofs(Dataset):
    def __getitem__(self, i):
        img, mask = cv2.imread(self.files[i]), np.load(self.masks[i])
        h, w = mask.shape
        top, left = random.randint(0, h - 64), random.randint(0, w - 64)
        {lines}
        return img, mask
"""


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("img = img[top:top + 64, left:left + 64]; mask = mask[left:left + 64, top:top + 64]", "present"),
        ("img, mask = img[top:top + 64, left:left + 64, :], mask[left:left + 64, top:top + 64]", "present"),
        ("img = img[top:top + 64, left:left + 64]; mask = mask[top:top + 64, left:left + 64]", "absent"),
        # an array that has its columns first
        (
            "mask = mask.T; img = img[top:top + 9, left:left + 9]; mask = mask[left:left + 9, top:top + 9]",
            "absent",
        ),
        # another side of one picture
        ("img[top:top + 64, left:left + 64] = img[left:left + 64, top:top + 64]", "unknown"),
        (
            "m = cv2.getRotationMatrix2D((w / 2, h / 2), random.uniform(-9, 9), 1)\n"
            "        img = cv2.warpAffine(img, m, (w, h))\n"
            "        m = cv2.getRotationMatrix2D((w / 2, h / 2), random.uniform(-9, 9), 1)\n"
            "        mask = cv2.warpAffine(mask, m, (w, h))",
            "present",
        ),
        (
            "a = random.uniform(-9, 9)\n"
            "        img = TF.rotate(img, a)\n"
            "        a = random.uniform(-9, 9)\n"
            "        mask = TF.rotate(mask, a)",
            "present",
        ),
        (
            "m = cv2.getRotationMatrix2D((w / 2, h / 2), random.uniform(-9, 9), 1)\n"
            "        img = cv2.warpAffine(img, m, (w, h))\n"
            "        mask = cv2.warpAffine(mask, m, (w, h), flags=cv2.INTER_NEAREST)",
            "absent",
        ),
    ],
)
def test_cuts(lines: str, found: str) -> None:
    assert state("script-sample-torn-apart", CUTS.replace("{lines}", lines)) == found


STEPS = """
import torch

@torch.no_grad()
def translate(model, src):
    ys = torch.tensor([[1]])
    for _ in range(40):
        {lines}
    return ys
"""


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (
            "out = model(src, ys); n = out[:, 0].argmax(-1, keepdim=True); ys = torch.cat([ys, n], dim=1)",
            "present",
        ),
        ("out = model(src, ys); ys = torch.cat([ys, out[:, 0, :].topk(1).indices], dim=1)", "present"),
        (
            "out = model(src, ys); n = out[:, -1].argmax(-1, keepdim=True); ys = torch.cat([ys, n], dim=1)",
            "unknown",
        ),
        # the last token alone is fed: its output has one place
        (
            "out = model(src, ys[:, -1:]); ys = torch.cat([ys, out[:, 0].argmax(-1, keepdim=True)], dim=1)",
            "absent",
        ),
    ],
)
def test_steps_of_decoding(lines: str, found: str) -> None:
    assert (
        state("script-method-slipped", STEPS.replace("{lines}", lines.replace("; ", "\n        "))) == found
    )


PAIRS = """
import torch.nn.functional as F
import torch

def step(model, a, b, drawn):
    good, bad = model(a, b), model(a, drawn)
    {lines}
    return up + down
"""


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (
            "up = F.binary_cross_entropy_with_logits(good, torch.ones_like(good))\n"
            "    down = F.binary_cross_entropy_with_logits(bad, torch.ones_like(bad))",
            "present",
        ),
        (
            "up = F.binary_cross_entropy_with_logits(good, torch.ones_like(good))\n"
            "    down = F.binary_cross_entropy_with_logits(bad, torch.zeros_like(bad))",
            "absent",
        ),
        # what a generator is judged by in two pictures
        (
            "generator = 1\n    up = F.binary_cross_entropy_with_logits(good, torch.ones_like(good))\n"
            "    down = F.binary_cross_entropy_with_logits(bad, torch.ones_like(bad))",
            "unknown",
        ),
    ],
)
def test_pairs(lines: str, found: str) -> None:
    assert state("script-method-slipped", PAIRS.replace("{lines}", lines)) == found


NET = """
import torch
from torch import nn

class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten())
        self.short = nn.Sequential(nn.Conv2d(3, 8, 1), nn.BatchNorm2d(8))
        self.pool, self.pool2 = nn.MaxPool2d(2), nn.MaxPool2d(2)
        self.mean = nn.Linear(64, 8)
        self.spread = nn.Linear(64, 8)
    def forward(self, x):
        h = self.body(x)
        {lines}
"""


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("return self.mean(h + self.short(x)), self.mean(h + self.short(x))", "present"),
        ("mu, var = self.mean(h), self.mean(h); return mu, var + self.short(x)", "present"),
        ("return self.mean(h), self.spread(h)", "present"),  # the shortcut is left
        ("return self.mean(h + self.short(x)), self.spread(h)", "absent"),
        # without weights one of two does as well as the other
        ("h = self.pool(self.pool(h)); return self.mean(h + self.short(x)), self.spread(h)", "absent"),
    ],
)
def test_layers_left(lines: str, found: str) -> None:
    assert state("script-wiring-wrong", NET.replace("{lines}", lines)) == found


KERAS = """
from tensorflow import keras
from tensorflow.keras import layers

def build():
    photo, lab = keras.Input((64, 64, 3)), keras.Input((4,))
    x = layers.Flatten()(photo)
    z = layers.Dense(8)(lab)
    {lines}
    return keras.Model([photo, lab], layers.Dense(3)(both))
"""


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        ("both = layers.Concatenate()([x, z])\n    both = layers.Dropout(0.3)(x)", "present"),
        ("both = layers.Concatenate()([x, z])\n    both = layers.Dropout(0.3)(both)", "absent"),
        ("both = layers.concatenate([x, z])\n    both = layers.Dense(9)(z)", "present"),
        # tried and left: no branch is lost
        ("both = layers.Dense(4)(x)\n    both = layers.Concatenate()([x, z])", "absent"),
    ],
)
def test_overwritten_in_keras(lines: str, found: str) -> None:
    program = KERAS.replace("{lines}", lines)
    assert (state("script-wiring-wrong", program) == "present") is (found == "present")


GRAPH = """
import torch
import torch.nn.functional as F
from functools import partial

def adjacency(edges, n):
    dense = torch.zeros(n, n)
    dense[edges[0], edges[1]] = 1.0
    return dense / dense.sum(1, keepdim=True)

def weights(sizes):
    made = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        w = {START}
        made.append(w.requires_grad_())
    return made

def forward(adj, params, x):
    for w in params:
        x = F.relu({LINE})
    return x

def fit(x, edges, y):
    adj = adjacency(edges, len(x))
    params = weights([8, 16, 3])
    net = partial(forward, adj, params)
    opt = torch.optim.Adam(params, lr=1e-2)
    for _ in range(100):
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
"""


@pytest.mark.parametrize(("line", "found"), [("x @ w", "present"), ("adj @ x @ w", "quiet")])
def test_handed_over_unread(line: str, found: str) -> None:
    program = GRAPH.replace("{LINE}", line).replace("{START}", "torch.randn(a, b) * 0.1")
    assert (state("script-branch-lost", program) == "present") is (found == "present")


def test_handed_over_for_an_interface() -> None:
    """One of several functions of a kind is handed about by its name: what it need not read, it need not."""
    program = (
        GRAPH.replace("{LINE}", "x @ w").replace("{START}", "torch.randn(a, b)")
        + "\nWAYS = {'plain': forward}\n"
    )
    assert state("script-branch-lost", program) != "present"


@pytest.mark.parametrize(
    ("start", "found"), [("torch.zeros(a, b)", "present"), ("torch.randn(a, b) * (2 / a) ** 0.5", "quiet")]
)
def test_matrices_at_zero(start: str, found: str) -> None:
    program = GRAPH.replace("{LINE}", "adj @ x @ w").replace("{START}", start)
    assert (state("script-zero-init", program) == "present") is (found == "present")
