# ruff: noqa: E501
"""Switches between training and held-out data: which side they draw, shuffle, read and slice for."""

from __future__ import annotations

import pytest

from .._scripts import state

SEES, AUGMENTED, ORDER = (
    "script-training-sees-evaluation",
    "script-evaluation-augmented",
    "script-order-fixed",
)
TORCH = """
import torch
from torch.utils.data import DataLoader
from torchvision import datasets, transforms as T
def loader(root, {FLAG}):
    steps = [T.ToTensor(), T.Normalize(0.5, 0.5)]
    {AUGMENT}
    data = datasets.CIFAR10(root, {PART}, transform=T.Compose(steps))
    return DataLoader(data, 64, shuffle={SHUFFLE})
train, test = loader("cifar", {CALLS[0]}), loader("cifar", {CALLS[1]})
"""


def _torch(
    augment: str = "pass",
    shuffle: str = "training",
    part: str = "train=training",
    flag: str = "training",
    calls: tuple[str, str] = ("True", "training=False"),
) -> str:
    text = TORCH.replace("{FLAG}", flag).replace("{AUGMENT}", augment).replace("{PART}", part)
    return text.replace("{SHUFFLE}", shuffle).replace("{CALLS[0]}", calls[0]).replace("{CALLS[1]}", calls[1])


CROP = "steps.insert(0, T.RandomCrop(32, 4))"
MINE = """
import mindspore.dataset as ds
import mindspore.dataset.vision as vision
def loader(path, split):
    data = ds.Cifar10Dataset(path, usage={PART}, shuffle={SHUFFLE})
    if {TEST}:
        data = data.map([vision.RandomHorizontalFlip()], "image")
    return data.batch(32)
train, val = loader("cifar", "train"), loader("cifar", "test")
"""


@pytest.mark.parametrize(
    ("augment", "found"),
    [
        (f"if training:\n        {CROP}", False),
        (f"if not training:\n        {CROP}", True),
        (f"if training:\n        pass\n    else:\n        {CROP}", True),
        (f"if training:\n        {CROP}\n    else:\n        {CROP}", True),  # held-out data as well
        (f"{CROP}\n    if not training:\n        steps = [T.RandomHorizontalFlip()]", False),
        ("if not training:\n        steps.insert(0, T.CenterCrop(32))", False),
    ],
)
def test_the_side_that_is_augmented(augment: str, found: bool) -> None:
    assert (state(AUGMENTED, _torch(augment)) == "present") is found


@pytest.mark.parametrize(
    ("test", "found"),
    [("split == 'train'", False), ("split != 'train'", True), ("split in ('val', 'test')", True)],
)
def test_the_side_that_is_augmented_in_mindspore(test: str, found: bool) -> None:
    code = MINE.replace("{PART}", "split").replace("{SHUFFLE}", "True").replace("{TEST}", test)
    assert (state(AUGMENTED, code) == "present") is found


def test_transforms_are_chosen_crosswise() -> None:
    code = "import torch\ndef data(training):\n    return Folder(root, {} if training else {})\n"
    assert state(AUGMENTED, code.replace("{}", "train_tf", 1).replace("{}", "eval_tf", 1)) != "present"
    assert state(AUGMENTED, code.replace("{}", "eval_tf", 1).replace("{}", "train_tf", 1)) == "present"


@pytest.mark.parametrize(
    ("tf", "extra", "found"),
    [("train_tf", "", True), ("eval_tf", "", False), ("train_tf", "show(eval_tf)", True)],
)
def test_a_transform_that_is_made_and_not_used(tf: str, extra: str, found: bool) -> None:
    code = f"""
import torch
from torchvision import datasets, transforms as T
train_tf = T.Compose([T.RandomResizedCrop(224), T.ToTensor()])
eval_tf = T.Compose([T.Resize(256), T.CenterCrop(224), T.ToTensor()])
train_set = datasets.ImageFolder("train", train_tf)
val_set = datasets.ImageFolder("val", {tf})
{extra}
"""
    assert (state(AUGMENTED, code) == "present") is found


@pytest.mark.parametrize(
    ("shuffle", "found"),
    [("training", False), ("not training", True), ("True", False), ("bool(training)", False)],
)
def test_the_side_that_is_shuffled(shuffle: str, found: bool) -> None:
    assert (state(ORDER, _torch(shuffle=shuffle)) == "present") is found


@pytest.mark.parametrize(("shuffle", "found"), [("split == 'train'", False), ("split != 'train'", True)])
def test_the_side_that_is_shuffled_in_mindspore(shuffle: str, found: bool) -> None:
    code = MINE.replace("{PART}", "split").replace("{SHUFFLE}", shuffle).replace("{TEST}", "split == 'train'")
    assert (state(ORDER, code) == "present") is found


def test_the_held_out_loader_shuffles_alone() -> None:
    code = "import torch\nfrom torch.utils.data import DataLoader\ntrain_loader = DataLoader(a, 8, shuffle={})\nval_loader = DataLoader(b, 8, shuffle={})\n"
    for told, found in ((("True", "False"), False), (("False", "True"), True), (("False", "False"), False)):
        assert (state(ORDER, code.format(*told)) == "present") is found
    private = code.format("False", "True") + "net, train_loader = engine.make_private(net, train_loader)\n"
    assert state(ORDER, private) != "present"


@pytest.mark.parametrize(
    ("part", "calls", "found"),
    [
        ("train=training", ("True", "False"), False),
        ("train=True", ("True", "False"), True),
        ("train=True", ("True", "True"), False),
    ],
)
def test_one_part_for_both_sides(part: str, calls: tuple[str, str], found: bool) -> None:
    assert (state(SEES, _torch(part=part, calls=calls)) == "present") is found


@pytest.mark.parametrize(("part", "found"), [("split", False), ("'train'", True)])
def test_one_part_for_both_sides_in_mindspore(part: str, found: bool) -> None:
    code = MINE.replace("{PART}", part).replace("{SHUFFLE}", "True").replace("{TEST}", "split == 'train'")
    assert (state(SEES, code) == "present") is found


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ("Rows(x[:n]), Rows(x[n:])", False),
        ("Rows(x[:n]), Rows(x[:m])", True),
        ("Rows(x[:n]), Rows(y[:m])", False),
        ("Rows(x[n:]), Rows(x[:n])", False),
    ],
)
def test_parts_that_begin_at_one_place(parts: str, found: bool) -> None:
    code = f"import torch\nclass Rows: pass\ntrain_set, val_set = {parts}\n"
    assert (state(SEES, code) == "present") is found


@pytest.mark.parametrize(
    ("one", "two", "found"),
    [("train", "val", False), ("val", "val", True), ("test", "val", False)],
)
def test_training_is_read_from_held_out_files(one: str, two: str, found: bool) -> None:
    code = f"""
import os, torch
from torchvision import datasets
train_set = datasets.ImageFolder(os.path.join(root, "{one}"), train_tf)
val_set = datasets.ImageFolder(os.path.join(root, "{two}"), eval_tf)
"""
    assert (state(SEES, code) == "present") is found


@pytest.mark.parametrize(
    ("loaders", "found"),
    [
        ("DataLoader(train, 8, shuffle=True), DataLoader(val, 8)", False),
        ("DataLoader(val, 8, shuffle=True), DataLoader(train, 8)", True),
        ("DataLoader(train, 8, shuffle=True), DataLoader(train, 8)", True),
        ("train_dataloaders=DataLoader(train, 8), val_dataloaders=DataLoader(val, 8)", False),
        ("train_dataloaders=DataLoader(val, 8), val_dataloaders=DataLoader(train, 8)", True),
    ],
)
def test_what_a_trainer_gets(loaders: str, found: bool) -> None:
    code = f"import lightning as L\nfrom torch.utils.data import DataLoader\ntrain, val = sets()\ntrainer = L.Trainer()\ntrainer.fit(model, {loaders})\n"
    assert (state(SEES, code) == "present") is found


def test_histories_of_one_user_begin_at_one_place() -> None:
    code = """
import torch
for items in users:
    train.append((items[: n - 3], items[n - 3]))
    val.append((items[: n - 2], items[n - 2]))
    train_part, val_part = items[: n - 3], items[: n - 2]
"""
    assert state(SEES, code) != "present"


def test_parts_of_each_row_are_no_parts_of_the_rows() -> None:
    code = HISTORIES_BY_ROW
    assert state(LEARNS_AND_SCORES, code) != "present"
    cut = code.replace("[h[:-1] for h in rows]", "rows[:-9]").replace(
        "[(h[:-1], h[-1]) for h in rows]", "rows[:-5]"
    )
    assert state(LEARNS_AND_SCORES, cut) == "present"


LEARNS_AND_SCORES = "script-training-sees-evaluation"
HISTORIES_BY_ROW = """
import torch
def split(rows):
    train = [h[:-1] for h in rows]
    valid = [(h[:-1], h[-1]) for h in rows]
    return train, valid
"""
