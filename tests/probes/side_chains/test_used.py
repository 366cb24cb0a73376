"""Inputs that a model learns from and is scored on, by use: whatever the names are, through files as well."""

from __future__ import annotations

import ast
import textwrap

import pytest

from traindoctor.probes.code.splits.rows_flowed import inputs_in_use
from traindoctor.probes.scripts.syntax import Script

LOOP = """
    import random
    import numpy as np
    import torch
    from accelerate import Accelerator
    from torch.utils.data import DataLoader, Dataset, TensorDataset
    from torchvision import datasets, transforms
    from torchvision.io import read_image

    {data}
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 3))
    opt = torch.optim.SGD(net.parameters(), 0.1)
    {prepared}
    for e in range(9):
        for x, y in one:
            loss = torch.nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        with torch.no_grad():
            for x, y in two:
                print((net(x).argmax(1) == y).float().mean())
"""
TENSORS = """
    def tensor(a):
        return torch.from_numpy(a).float().div(255)

    d, h = np.load("glyphs.npz"), np.load("more.npz")
    one = DataLoader(TensorDataset(tensor(d["x"]), torch.from_numpy(d["y"])), 32, shuffle=True)
    two = DataLoader(TensorDataset({held}, torch.from_numpy(h["y"])), 32)
"""
CLASSES = """
    class Drawn(Dataset):
        def __init__(self, items):
            self.items = items

        def __getitem__(self, i):
            path, label = self.items[i]
            x = read_image(path).float() / 255 * random.uniform(0.8, 1.2)
            return x, label

    class Plain(Dataset):
        def __init__(self, items):
            self.items = items

        def __getitem__(self, i):
            path, label = self.items[i]
            return {held}, label

    one, two = DataLoader(Drawn(first), 32), DataLoader(Plain(second), 32)
"""
PICTURES = """
    import cv2

    def read(path):
        return cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB) / 255.0

    class Drawn(Dataset):
        def __getitem__(self, i):
            return read(first[i]), i

    class Plain(Dataset):
        def __getitem__(self, i):
            return {held}, i

    one, two = DataLoader(Drawn(), 32), DataLoader(Plain(), 32)
"""
FOLDERS = """
    steps = [transforms.ToTensor()]
    steps += [transforms.Normalize((0.4, 0.4, 0.4), (0.2, 0.2, 0.2))]
    aug = transforms.Compose([transforms.RandomHorizontalFlip(), *steps])
    one = DataLoader(datasets.ImageFolder("a", aug), 32, shuffle=True)
    two = DataLoader(datasets.ImageFolder("b", transforms.Compose({held})), 32)
"""
FILES = """
    def prepare(raw):
        x = np.loadtxt(raw)
        cut = int(0.8 * len(x))
        mean, std = x[:cut].mean(0), x[:cut].std(0)
        np.savez("fit.npz", x=(x[:cut] - mean) / std)
        np.savez("figures.npz", mean=mean, std=std)
        np.save("rest.npy", x[cut:])

    prepare("rows.txt")
    f, rest = np.load("figures.npz"), np.load("rest.npy")
    one = DataLoader(TensorDataset(torch.from_numpy(np.load("fit.npz")["x"]), ys), 32)
    two = DataLoader(TensorDataset(torch.from_numpy({held}), yh), 32)
"""
COLUMNS = """
    def table(path):
        x = np.loadtxt(path)
        x[:, 0] = np.log1p(x[:, 0])
        return x

    def other(path):
        x = np.loadtxt(path)
        {held}
        return x

    one = DataLoader(TensorDataset(torch.from_numpy(table("a.txt")), ys), 32)
    two = DataLoader(TensorDataset(torch.from_numpy(other("b.txt")), yh), 32)
"""
PREPARED = "acc = Accelerator()\n    net, opt, one, two = acc.prepare(net, opt, one, two)"


def parsed(text: str) -> Script:
    return Script("train.py", text, ast.parse(text))


def told(data: str, held: str, prepared: str = "") -> list[str]:
    text = LOOP.format(data=data.format(held=held), prepared=prepared)
    return [one.kind for one in inputs_in_use(parsed(textwrap.dedent(text)))]


@pytest.mark.parametrize(
    ("data", "held"),
    [
        (TENSORS, "torch.from_numpy(h['x']).float()"),
        (CLASSES, "read_image(path).float()"),
        (CLASSES, "read_image(path).float() / 127.5 - 1"),
        (PICTURES, "cv2.imread(second[i]) / 255.0"),
        (FOLDERS, "[transforms.ToTensor()]"),
        (FOLDERS, "[transforms.ToTensor(), transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))]"),
        (FILES, "rest"),
        (FILES, "(rest - rest.mean(0)) / rest.std(0)"),
        (COLUMNS, "pass"),
        (COLUMNS, "x[:, 0] = np.log(x[:, 0])"),
        (COLUMNS, "x[:, 1] = np.log1p(x[:, 1])"),
    ],
)
def test_apart(data: str, held: str) -> None:
    assert told(data, held)


def test_apart_behind_accelerate() -> None:
    assert told(CLASSES, "read_image(path).float()", PREPARED)


@pytest.mark.parametrize(
    ("data", "held"),
    [
        (TENSORS, "tensor(h['x'])"),
        (TENSORS, "torch.from_numpy(h['x'] / 255.0).float()"),
        (TENSORS, "torch.rand(64, 64)"),  # no data at all
        (CLASSES, "read_image(path).float() / 255"),
        (CLASSES, "read_image(path).float().mul(1 / 255)"),
        (PICTURES, "cv2.imread(second[i])[:, :, ::-1] / 255.0"),
        (FOLDERS, "steps"),
        (FILES, "(rest - f['mean']) / f['std']"),
        (FILES, "rest / f['std'] - f['mean'] / f['std']"),
        (COLUMNS, "x[:, 0] = np.log1p(x[:, 0])"),
        (COLUMNS, "x[:, 0] = np.log(x[:, 0] + 1)"),
    ],
)
def test_alike(data: str, held: str) -> None:
    assert not told(data, held)
    assert not told(data, held, PREPARED)


def test_what_is_sampled_is_no_evaluation() -> None:
    made = """
    d = np.load("glyphs.npz")
    one = DataLoader(TensorDataset(torch.from_numpy(d["x"]).float().div(255), torch.from_numpy(d["y"])), 32)
    two = []

    def sample(n):
        with torch.no_grad():
            return net(torch.from_numpy(d["z"])[:n])
    """
    assert not told(made, "")


def test_unknown_without_a_loop() -> None:
    assert inputs_in_use(parsed("x = 1")) == ()


LIGHTNING = """
import lightning as L
import torch
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms as T
from torchvision.io import read_image

class Tiles(Dataset):
    def __init__(self, paths, augment=False):
        self.paths = paths
        flips = [T.RandomHorizontalFlip()] if augment else []
        self.tf = T.Compose([*flips, T.ConvertImageDtype(torch.float32){}])

    def __getitem__(self, i):
        return self.tf(read_image(self.paths[i])), i

class Net(L.LightningModule):
    def training_step(self, batch, _):
        return self.loss(self(batch[0]), batch[1])

first, second = DataLoader(Tiles(a, True), 32), DataLoader(Tiles(b), 32)
trainer = L.Trainer(max_epochs=5)
trainer.fit(Net(), first, second)
"""


@pytest.mark.parametrize(
    ("more", "apart"),
    [
        (", *([T.Normalize((0.4,), (0.2,))] if augment else [])", True),
        (", T.Normalize((0.4,), (0.2,))", False),
    ],
)
def test_lightning(more: str, apart: bool) -> None:
    assert bool(inputs_in_use(parsed(LIGHTNING.format(more)))) is apart
