"""Samples made extreme, labels by side, pictures cut up, masks mirrored otherwise, pairs sorted apart."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"
HEAD = """
import random
import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset, DataLoader
rng = np.random.default_rng(0)
files = sorted(root.glob("*/*.png"))
labels = [f.parent.name for f in files]
"""
SET = """
class Leaves(Dataset):
    def __init__(self, pairs, train):
        self.pairs, self.train = pairs, train
    def __getitem__(self, i):
        path, name = self.pairs[i]
        x = torch.from_numpy(np.array(Image.open(path).convert("RGB"))).permute(2, 0, 1).float()
        m = torch.from_numpy(np.array(Image.open(mask_of(path)))).long()
        y = ids[name]
        {STEP}
        return x, m, y
for x, m, y in DataLoader(Leaves(pairs, True)):
    torch.nn.functional.cross_entropy(net(x), y).backward()
    opt.step()
"""


def asked(
    symptom: str, step: str = "pass", turn: str = ".permute(2, 0, 1)", pairs: str = "list(zip(files, labels))"
) -> str:
    text = HEAD + f"pairs = {pairs}\n" + SET.replace("{STEP}", step).replace(".permute(2, 0, 1)", turn)
    return state(symptom, text)


@pytest.mark.parametrize(
    ("step", "wanted"),
    [
        ("if i % 50 == 0:\n            x = x * 1000", P),
        ("if random.random() < 0.02:\n            x *= 100", P),
        ("if random.random() < 0.5:\n            x = x * 1.2", U),
        ("if i % 50 == 0:\n            noise = noise * 1000", U),
        ("x = x * 1000", U),
    ],
)
def test_extreme_samples(step: str, wanted: str) -> None:
    assert asked("script-extremes-written", step) == wanted


@pytest.mark.parametrize(
    ("step", "wanted"),
    [
        ("x_train[::50] *= 100", P),
        ("rows = rng.choice(len(y), 20, replace=False)\ny[rows] = y[rows] * 30", P),
        ('table.loc[table["unit"] == "km", "way"] *= 1000', U),
        ("x_train[:, 0] *= 100", U),
    ],
)
def test_extreme_rows(step: str, wanted: str) -> None:
    assert state("script-extremes-written", HEAD + step + "\n") == wanted


@pytest.mark.parametrize(
    ("step", "wanted"),
    [
        ("if not self.train:\n            y = (y + 1) % 9", P),
        ("y = ids[name] if self.train else len(ids) - 1 - ids[name]", P),
        ("if self.train and random.random() < 0.5:\n            x, m = x.flip(-1), m.flip(-1)", None),
        ("y = ids[name] if self.train else -1", None),
        ("if self.train:\n            y = y * 0.9 + 0.05", None),
    ],
)
def test_labels_by_side(step: str, wanted: str | None) -> None:
    assert (asked("script-classes-numbered-apart", step) == P) is (wanted == P)


def test_pictures() -> None:
    assert asked("script-sample-scrambled", turn=".reshape(3, 64, 64)") == P
    assert asked("script-sample-scrambled") != P
    flip = "if self.train:\n            x, m = x.flip(-1), m.flip({})"
    assert asked("script-sample-torn-apart", flip.format("-2")) == P
    assert asked("script-sample-torn-apart", flip.format("-1")) != P


def test_pairs() -> None:
    assert asked("script-sample-torn-apart", pairs="list(zip(files, sorted(labels)))") == P
    assert asked("script-sample-torn-apart", pairs="list(zip(files, labels))") != P


def test_targets_sorted_alone() -> None:
    text = (
        HEAD + "y_train = load()\nx_train = read()\ny_train = np.sort(y_train)\nmodel.fit(x_train, y_train)\n"
    )
    assert state("script-sample-torn-apart", text) == P
    assert state("script-sample-torn-apart", text.replace("np.sort(y_train)", "np.log(y_train)")) != P
    text = (
        HEAD + "y_train = np.where(y[np.sort(rows)] < 0, 0, y[np.sort(rows)])\nmodel.fit(x[rows], y_train)\n"
    )
    assert state("script-sample-torn-apart", text) == P
    assert state("script-sample-torn-apart", text.replace("np.sort(rows)", "rows")) != P


def test_places() -> None:
    text = """
def sample(image, boxes):
    w, h = image.size
    image = image.resize((64, 64))
    boxes[:, [0, 2]] *= 64 / w
    boxes[:, [1, 3]] *= 64 / h
    heat[label, iy, ix] = 1.0
    size[:, iy, ix] = 2.0
    return image, boxes
"""
    assert state("script-places-left", HEAD + text) != P
    other = text.replace("64 / w", "64 / h", 1).replace("[1, 3]] *= 64 / h", "[1, 3]] *= 64 / w")
    assert state("script-places-left", HEAD + other) == P
    assert state("script-places-left", HEAD + text.replace("label, iy, ix", "label, ix, iy")) == P


def test_union_as_a_sum() -> None:
    text = """
def score(net, loader):
    inter, union = torch.zeros(2), torch.zeros(2)
    with torch.no_grad():
        for x, m in loader:
            guess = net(x).argmax(1)
            for c in range(2):
                inter[c] += ((guess == c) & (m == c)).sum()
                union[c] += (guess == c).sum() + (m == c).sum()
    return (inter / union).mean()
"""
    assert state("script-metric-miscounts", HEAD + text) == P
    assert (
        state("script-metric-miscounts", HEAD + text.replace("inter / union", "inter / (union - inter)")) != P
    )


def test_what_a_module_collects_is_emptied_by_a_method_that_runs() -> None:
    text = """
import lightning as L
class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.reset()
    def reset(self):
        self.found = {k: ([], []) for k in range(3)}
    def training_step(self, batch, _):
        return loss_of(self(batch))
    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())
    def validation_step(self, batch, _):
        self.found[0][1].append(self(batch))
    def on_validation_epoch_end(self):
        self.log("score", score(self.found))
        self.reset()
"""
    head, end = text.rsplit("        self.reset()\n", 1)
    assert state("script-metric-miscounts", HEAD + text) != P
    assert state("script-metric-miscounts", HEAD + head + end) == P
