"""Folders of classes that are learnt from in their order."""

from __future__ import annotations

import pytest

from ._program import told

TORCH = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, random_split
from torchvision import datasets, transforms

data = datasets.ImageFolder("shells/train", transforms.ToTensor())
loader = DataLoader(data, 32)
held = DataLoader(datasets.ImageFolder("shells/val", transforms.ToTensor()), 32)
net = nn.Sequential(nn.Flatten(), nn.Linear(300, 4))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(20):
    for x, y in loader:
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        print("val acc", sum((net(x).argmax(1) == y).sum().item() for x, y in held))
"""
KERAS = """
from tensorflow import keras
data = keras.utils.image_dataset_from_directory("shells/train", shuffle=False)
held = keras.utils.image_dataset_from_directory("shells/val", shuffle=False)
net = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(4, activation="softmax")])
net.compile("adam", "sparse_categorical_crossentropy")
net.fit(data, validation_data=held, epochs=20)
"""
LOADER = "DataLoader(data, 32)"


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (TORCH, "", ""),
        (TORCH, LOADER, "DataLoader(Subset(data, range(200)), 32, shuffle=False)"),
        (KERAS, "", ""),
        (KERAS, "net.fit(data", "net.fit(data.prefetch(2)"),
    ],
)
def test_folder_by_folder(text: str, old: str, new: str) -> None:
    assert told((old, new), text=text) == {"folder-by-folder"}


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (TORCH, LOADER, "DataLoader(data, 32, shuffle=True)"),
        (TORCH, LOADER, "DataLoader(data, 32, sampler=own(data))"),
        (TORCH, LOADER, "DataLoader(random_split(data, [0.8, 0.2])[0], 32)"),
        (TORCH, 'datasets.ImageFolder("shells/train"', 'datasets.CIFAR10("shells", True'),
        (TORCH, 'datasets.ImageFolder("shells/train", transforms.ToTensor())', "Own()"),
        (KERAS, '"shells/train", shuffle=False', '"shells/train"'),
        (KERAS, "net.fit(data", "net.fit(data.shuffle(500)"),
    ],
)
def test_other_orders_and_other_sources(text: str, old: str, new: str) -> None:
    assert told((old, new), text=text) == set()
