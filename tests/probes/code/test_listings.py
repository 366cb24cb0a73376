"""Files in the order of a listing that decides on splits, shares and class numbers, in all three states."""

from __future__ import annotations

import textwrap

import pytest

from traindoctor.probes.code.samples import listings
from traindoctor.probes.registry import View

from .._build import run

TORCH = """
    import glob, os, random, json
    from pathlib import Path
    import numpy as np
    import torch
    from torch import nn
    from sklearn.model_selection import train_test_split
    from torch.utils.data import random_split, Subset
    {lists}
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in load(train):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
"""
KERAS = """
    import glob, os
    import tensorflow as tf
    {lists}
    model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
    model.compile("adam", "mse")
    model.fit(load(train), validation_data=load(val))
"""


def state(probe: str, lists: str, program: str = TORCH) -> str:
    text = textwrap.dedent(program).format(lists=textwrap.dedent(lists))
    return getattr(listings, probe)(View(run(scripts={"train.py": text}))).state.value


DIVIDED = [
    "files = glob.glob('data/*.npz')\ntrain, val = files[:800], files[800:]",
    "files = os.listdir('data')\nn = int(0.9 * len(files))\ntrain = files[:n]\nval = files[n:]",
    "files = [f for f in os.listdir('data') if f.endswith('.png')]\n"
    "random.seed(0)\n"
    "random.shuffle(files)\n"
    "train, val = files[9:], files[:9]",
    "files = list(Path('data').rglob('*.wav'))\ntrain, val = train_test_split(files, random_state=0)",
    "train, val = train_test_split([str(p) for p in Path('data').iterdir()], test_size=0.1, random_state=0)",
    "files = [e.path for e in os.scandir('data')]\nmine = files[rank::world]\ntrain = mine",
    "def found(root):\n"
    "    return glob.glob(root + '/*.npz')\n"
    "files = found('data')\n"
    "train, val = files[5:], files[:5]",
    "files = []\n"
    "for root, _, names in os.walk('data'):\n"
    "    files += [os.path.join(root, n) for n in names]\n"
    "train, val = files[5:], files[:5]",
    "files = os.listdir('data')\n"
    "order = np.random.RandomState(0).permutation(len(files))\n"
    "train, val = order[5:], order[:5]",
    "train, val = [], []\n"
    "for i, f in enumerate(os.listdir('data')):\n"
    "    (val if i % 10 == 0 else train).append(f)",
]
SOUND = [
    "files = sorted(glob.glob('data/*.npz'))\ntrain, val = files[:800], files[800:]",
    "files = os.listdir('data')\nfiles.sort()\ntrain, val = files[:800], files[800:]",
    "files = glob.glob('data/*.npz')\n"
    "files = sorted(files)\n"
    "train, val = train_test_split(files, random_state=0)",
    "train, val = glob.glob('data/train/*.npz'), glob.glob('data/val/*.npz')",
    "train = glob.glob('data/*.npz')\nprint(train[:3])",
    "old = glob.glob('runs/*.ckpt')\n"
    "for path in old[:-3]:\n"
    "    os.remove(path)\n"
    "train = sorted(os.listdir('data'))",
]


@pytest.mark.parametrize("lists", DIVIDED)
def test_a_listing_that_is_divided_is_told(lists: str) -> None:
    assert state("split_in_listing_order", lists) == "present"


@pytest.mark.parametrize("lists", SOUND)
def test_a_listing_that_is_sorted_or_whole_is_not(lists: str) -> None:
    assert state("split_in_listing_order", lists) == "absent"


def test_without_a_listing_nothing_is_said() -> None:
    assert state("split_in_listing_order", "train = np.load('x.npy')") == "unknown"


def test_other_frameworks_are_read_alike() -> None:
    loose = "files = glob.glob('data/*.tfrecord')\ntrain, val = files[2:], files[:2]"
    assert state("split_in_listing_order", loose, KERAS) == "present"
    assert (
        state("split_in_listing_order", loose.replace("glob.glob(", "tf.io.gfile.glob("), KERAS) != "absent"
    )
    assert state("split_in_listing_order", loose.replace("glob.glob(", "sorted(glob.glob(") + ")", KERAS) != (
        "present"
    )


NUMBERED = [
    "classes = os.listdir('data')\nnumber = {c: i for i, c in enumerate(classes)}\ntrain = number",
    "classes = [d.name for d in Path('data').iterdir() if d.is_dir()]\n"
    "label = classes.index('cat')\n"
    "train = label",
    "train = []\n"
    "for i, c in enumerate(os.listdir('data')):\n"
    "    for f in sorted(os.listdir('data/' + c)):\n"
    "        train.append((f, i))",
]
FIXED = [
    "classes = sorted(os.listdir('data'))\nnumber = {c: i for i, c in enumerate(classes)}\ntrain = number",
    "classes = os.listdir('data')\nnumber = {c: i for i, c in enumerate(sorted(classes))}\ntrain = number",
    "classes = os.listdir('data')\n"
    "json.dump(classes, open('c.json', 'w'))\n"
    "number = {c: i for i, c in enumerate(classes)}\n"
    "train = number",
]


@pytest.mark.parametrize("lists", NUMBERED)
def test_classes_numbered_by_a_listing_are_told(lists: str) -> None:
    assert state("classes_in_listing_order", lists) == "present"


@pytest.mark.parametrize("lists", FIXED)
def test_classes_in_a_fixed_order_or_stored_are_not(lists: str) -> None:
    assert state("classes_in_listing_order", lists) == "absent"


def test_without_classes_nothing_is_said() -> None:
    assert state("classes_in_listing_order", "train = os.listdir('data')") == "unknown"
