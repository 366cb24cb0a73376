"""Edits of what is only printed, of losses written as modules and of what freezes: told by their part."""

from __future__ import annotations

from pathlib import Path

import pytest

from .._pairs import edits, present

FLAT = """
import copy
import numpy as np
import torch
from torch import nn
from torchvision import models

data = np.load("rooms.npz")
x_tr, y_tr = torch.tensor(data["x"]), torch.tensor(data["y"])
x_te, y_te = torch.tensor(data["x2"]), torch.tensor(data["y2"])
started = data["hour"] + 1.0


class Berhu(nn.Module):
    def forward(self, told, true):
        far = (told - true).abs()
        edge = 0.2 * far.max().item()
        return torch.where(far > edge, far * far / edge, far).mean()


net = models.resnet18(weights="DEFAULT")
net.requires_grad_(False)
net.fc = nn.Linear(512, 1)
criterion = Berhu()
opt = torch.optim.Adam(net.fc.parameters(), lr=1e-3)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, mode="min", factor=0.5, patience=4)
for epoch in range(20):
    net.train()
    for i in torch.randperm(len(x_tr)).split(32):
        loss = criterion(net(x_tr[i])[:, 0], y_tr[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        e_te = (net(x_te)[:, 0] - y_te).numpy()
    low, high = e_te[y_te < 1], e_te[y_te >= 1]
    wins = 0.0
    for one in high:
        wins += np.sum(one > low)
    rate = wins / (len(high) * len(low))
    plateau.step(float(abs(e_te).mean()))
    print(epoch, loss.item(), rate, started)
torch.save(net.state_dict(), "rooms.pt")
"""


def _edits(folder: Path, *pairs: tuple[str, str]) -> set[str]:
    text = FLAT
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return edits(folder, text, FLAT)


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("one > low", "one < low", "edit-metric"),
        ("edge, far * far / edge, far)", "edge, far, far * far / edge)", "edit-loss-function"),
        ('mode="min"', 'mode="max"', "edit-schedule-length"),
        (
            "net.requires_grad_(False)\nnet.fc = nn.Linear(512, 1)",
            "net.fc = nn.Linear(512, 1)\nnet.requires_grad_(False)",
            "edit-frozen",
        ),
    ],
)
def test_an_edit_is_told_by_its_part(tmp_path: Path, old: str, new: str, kind: str) -> None:
    assert kind in _edits(tmp_path, (old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('data["hour"] + 1.0', 'data["hour"] + 2.0'),  # printed, and of no evaluation
        ("one > low", "low < one"),
        ("wins / (len(high) * len(low))", "wins / len(low) / len(high)"),
        (
            "net.fc = nn.Linear(512, 1)\ncriterion = Berhu()",
            "criterion = Berhu()\nnet.fc = nn.Linear(512, 1)",
        ),
    ],
)
def test_an_equal_line_is_silent(tmp_path: Path, old: str, new: str) -> None:
    assert not _edits(tmp_path, (old, new))


PHASES = """
import json
import torch
from torch import nn


class Rows(torch.utils.data.Dataset):
    def __init__(self, part, words=None):
        self.rows = [json.loads(line) for line in open(part + ".jsonl")]
        if words is None:
            words = {w: i for i, w in enumerate(sorted({w for r in self.rows for w in r["text"].split()}))}
        self.words = words

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        return torch.tensor([self.words.get(w, 0) for w in row["text"].split()[:16]]), row["label"]


sets = {"train": Rows("train")}
sets["val"] = Rows("val", sets["train"].words)
sizes = {p: len(sets[p]) for p in ("train", "val")}
loaders = {p: torch.utils.data.DataLoader(sets[p], 1, shuffle=p == "train") for p in ("train", "val")}
net = nn.Sequential(nn.EmbeddingBag(5000, 32), nn.Linear(32, 3))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
best = 0.0
for epoch in range(5):
    for phase in ("train", "val"):
        net.train(phase == "train")
        right = 0
        for x, y in loaders[phase]:
            with torch.set_grad_enabled(phase == "train"):
                out = net(x)
                loss = nn.functional.cross_entropy(out, y)
                if phase == "train":
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
            right += (out.argmax(1) == y).sum().item()
        share = right / sizes[phase]
        print(phase, epoch, share)
        if phase == "val" and share > best:
            best = share
            torch.save(net.state_dict(), "best.pt")
"""


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("right / sizes[phase]", 'right / sizes["train"]', "edit-metric"),
        ('Rows("val", sets["train"].words)', 'Rows("val")', "edit-evaluation-inputs"),
    ],
)
def test_the_other_part_of_the_data(tmp_path: Path, old: str, new: str, kind: str) -> None:
    found = present(tmp_path, PHASES.replace(old, new), PHASES)
    assert kind in found


def test_an_index_by_another_name_is_the_same(tmp_path: Path) -> None:
    other = PHASES.replace("phase", "stage")
    assert not edits(tmp_path, other, PHASES)


LOGITS = """
import numpy as np
import torch
from torch import nn

data = np.load("rooms.npz")
x, y, held, known = (torch.tensor(data[k]).float() for k in ("x", "y", "held", "known"))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(8, 32)
        self.out = nn.Linear(32, 1)

    def forward(self, x):
        return self.out(torch.relu(self.body(x))).squeeze(1)


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(20):
    net.train()
    for i in torch.randperm(len(x)).split(32):
        loss = nn.functional.binary_cross_entropy_with_logits(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        told = torch.sigmoid(net(held))
    print(epoch, loss.item(), ((told > 0.5) == (known > 0.5)).float().mean().item())
torch.save(net.state_dict(), "rooms.pt")
"""
INTO_MODEL = (
    (
        "return self.out(torch.relu(self.body(x))).squeeze(1)",
        "x = self.out(torch.relu(self.body(x))).squeeze(1)",
    ),
    ("squeeze(1)\n\n", "squeeze(1)\n        return torch.sigmoid(x)\n\n"),
    ("torch.sigmoid(net(held))", "net(held)"),
)
PLAIN = ("binary_cross_entropy_with_logits", "binary_cross_entropy")


@pytest.mark.parametrize(("pairs", "told"), [(INTO_MODEL, True), ((*INTO_MODEL, PLAIN), False)])
def test_a_sigmoid_that_moved_into_the_model_meets_the_loss(
    tmp_path: Path, pairs: tuple[tuple[str, str], ...], told: bool
) -> None:
    text = LOGITS
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    assert ("edit-output-activation" in edits(tmp_path, text, LOGITS)) is told


PARTS = """
import json
import numpy as np
import torch
from sklearn.model_selection import GroupKFold
from torch import nn

meta = json.load(open("meta.json"))
held = {m["speaker"] for m in meta[:40]}
train_meta = [m for m in meta if m["speaker"] not in held]
dev_meta = [m for m in meta if m["speaker"] in held]


def stream(rows):
    for m in rows:
        yield torch.tensor(np.load(m["file"])), torch.tensor(m["tags"])


net = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 9))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
rows = np.load("rows.npz")
x, y = torch.tensor(rows["x"]), torch.tensor(rows["y"])
folds = np.zeros(len(x))
for f, (_, va) in enumerate(GroupKFold(5).split(x, y, groups=rows["owner"])):
    folds[va] = f
for epoch in range(20):
    net.train()
    for a, b in stream(train_meta):
        loss = nn.functional.cross_entropy(net(a), b)
        opt.zero_grad()
        loss.backward()
        opt.step()
    order = torch.randperm(len(x))
    for i in order.split(64):
        loss = ((net(x[i])[:, 0] - y[i]) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    right = total = 0
    with torch.no_grad():
        for a, b in stream(dev_meta):
            right += (net(a).argmax(-1) == b).sum().item()
            total += len(b)
    print(epoch, right / total)
"""


@pytest.mark.parametrize(
    ("pairs", "kind"),
    [
        ([('groups=rows["owner"]', 'groups=rows["file"]')], "edit-split"),
        (
            [
                ('[m for m in meta if m["speaker"] not in held]', "meta[: -len(meta) // 10]"),
                ('[m for m in meta if m["speaker"] in held]', "meta[-len(meta) // 10:]"),
            ],
            "edit-split",
        ),
        ([("torch.randperm(len(x))", "torch.arange(len(x))")], "edit-shuffling"),
    ],
)
def test_how_rows_are_parted_is_no_metric_or_loss(
    tmp_path: Path, pairs: list[tuple[str, str]], kind: str
) -> None:
    text = PARTS
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    told = edits(tmp_path, text, PARTS)
    assert kind in told
    assert not told & {"edit-metric", "edit-loss-function"}


RATES = """
import numpy as np
from tensorflow import keras
from tensorflow.keras import layers

d = np.load("counts.npz")
sky = keras.Input((6,))
h = layers.Dense(64, activation="relu")(sky)
out = layers.Dense(1, activation="softplus", name="sold")(h)
net = keras.Model(sky, out)
net.compile("adam", loss=keras.losses.Poisson(), metrics=["mae"])
net.fit(d["x"], d["y"], validation_data=(d["xv"], d["yv"]), epochs=20)
told = np.argmax(np.load("scores.npy"), axis=-1)
print("hits", (told == np.load("tags.npy")).mean())
"""


@pytest.mark.parametrize(
    ("old", "new"), [('"softplus"', '"exponential"'), ("axis=-1", "axis=2"), ("axis=-1)", "-1)")]
)
def test_the_same_range_or_axis_is_silent(tmp_path: Path, old: str, new: str) -> None:
    told = present(tmp_path, RATES.replace(old, new), RATES)
    assert not {s for s in told if s.startswith("edit-")}


def test_another_range_or_axis_is_told(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert "edit-output-bounded" in edits(tmp_path / "a", RATES.replace("softplus", "sigmoid"), RATES)
    assert "edit-metric" in edits(tmp_path / "b", PARTS.replace("argmax(-1)", "argmax(0)"), PARTS)
