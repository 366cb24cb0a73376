"""Rows that belong together, of which one part alone is put into another order."""

from __future__ import annotations

import pytest

from .._scripts import state

TORN = "script-sample-torn-apart"
HEAD = """
import random
import numpy as np
import pandas as pd
import torch
from sklearn.model_selection import train_test_split
from torch.utils.data import TensorDataset
table = pd.read_csv("rows.csv")
rng = np.random.default_rng(3)
def learn(net, opt, loader):
    for x, y in loader:
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
"""


@pytest.mark.parametrize(
    "body",
    [
        "x_train, y_train = load('train')\nx_train = x_train[torch.randperm(len(x_train)).argsort()]\n"
        "order = np.random.permutation(len(x_train))\nx_train = x_train[order]\n"
        "data = TensorDataset(x_train, y_train)",
        "cats, nums, target = read(table)\nrng.shuffle(target)\nheld = rng.random(9) < 0.2\n"
        "a, b = cats[held], target[held]",
        "def collate(items):\n    ids, labels = zip(*items)\n    ids = sorted(ids, key=len, reverse=True)\n"
        "    return pad(ids), torch.tensor(labels)",
        "files, labels = [], []\nfor n, name in enumerate(names):\n    for f in folder(name):\n"
        "        files.append(f)\n        labels.append(n)\n"
        "random.shuffle(files)\ndata = Photos(files, labels)",
        "texts = [r['text'] for r in rows]\nrandom.shuffle(texts)\nlabels = [r['kind'] for r in rows]",
        "table['text'] = table['text'].sample(frac=1, random_state=1).values",
        "x = table[cols].sample(frac=1.0).values\ny = table['price'].values",
        "data = Photos(files[rows], labels[np.sort(rows)])",
        "data = Photos([files[i] for i in rows], torch.as_tensor(labels[sorted(rows)]))",
        "x_train, y_train, x_test, y_test = train_test_split(x, y, test_size=0.2)",
        "x_train, x_test = train_test_split(x, random_state=1)\n"
        "y_train, y_test = train_test_split(y, random_state=2)",
    ],
)
def test_one_part_is_put_into_another_order(body: str) -> None:
    assert state(TORN, HEAD + body + "\n") == "present"


@pytest.mark.parametrize(
    "body",
    [
        "x_train, y_train = load('train')\norder = np.random.permutation(len(x_train))\n"
        "x_train, y_train = x_train[order], y_train[order]\ndata = TensorDataset(x_train, y_train)",
        "x_train, y_train = load('train')\norder = np.random.permutation(len(x_train))\n"
        "x_train = x_train[order]\nlabels = y_train[order]\ndata = TensorDataset(x_train, labels)",
        "def collate(items):\n    items = sorted(items, key=size)\n    ids, labels = zip(*items)\n"
        "    return pad(ids), torch.tensor(labels)",
        "def collate(items):\n    ids, labels = zip(*items)\n"
        "    lengths = torch.tensor([len(i) for i in ids])\n"
        "    lengths, order = lengths.sort(descending=True)\n    ids = [ids[i] for i in order]\n"
        "    labels = [labels[i] for i in order]\n    return pad(ids), torch.tensor(labels)",
        # mixed with another row, weighed
        "x, y = load('train')\norder = torch.randperm(len(x))\nx = 0.7 * x + 0.3 * x[order]\n"
        "data = TensorDataset(x, y)",
        "files, labels = [], []\nfor n, name in enumerate(names):\n    for f in folder(name):\n"
        "        files.append(f)\n        labels.append(n)\npairs = list(zip(files, labels))\n"
        "random.shuffle(pairs)\nfiles, labels = zip(*pairs)\ndata = Photos(files, labels)",
        "table = table.sample(frac=1).reset_index(drop=True)",
        "table = table.sample(frac=1)\nx = table[cols].values\ny = table['price'].values",
        "def permutation_importance(net, x, y):\n    x, y = load('test')\n    np.random.shuffle(x)\n"
        "    return Score(x, y)",
        "data = Photos([files[i] for i in rows], torch.as_tensor(labels[rows]))",
        "data = Photos(files[np.sort(rows)], labels[np.sort(rows)])",
        "x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.2)",
        "x_train, x_test = train_test_split(x, random_state=1)\n"
        "y_train, y_test = train_test_split(y, random_state=1)",
    ],
)
def test_what_moves_together_is_right(body: str) -> None:
    assert state(TORN, HEAD + body + "\n") != "present"
