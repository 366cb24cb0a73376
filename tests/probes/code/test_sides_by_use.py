"""What training and held-out data are made with, told by what it is handed to and by what lies idle."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

LOOP = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset
from torchvision import transforms as T
def learn(net, loader, opt):
    for x, y in loader:
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
def evaluate(net, loader):
    net.eval()
    hits = 0
    with torch.no_grad():
        for x, y in loader:
            hits += (net(x).argmax(1) == y).sum().item()
    return hits
"""
PHOTOS = (
    LOOP
    + """
class Photos(Dataset):
    def __init__(self, root, steps):
        self.root, self.steps = root, steps
    def __getitem__(self, i):
        return self.steps(read(self.root, i)), i
one = T.Compose([{ONE}])
two = T.Compose([{TWO}])
train_set = Photos("photos/train", one)
val_set = Photos("photos/val", two)
"""
)
DRAWS = "T.RandomResizedCrop(64), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize([0.5], [0.5])"
PLAIN = "T.Resize(64), T.ToTensor(), T.Normalize([0.5], [0.5])"


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        (DRAWS, DRAWS, P),
        (PLAIN, DRAWS, P),
        (DRAWS, "T.ColorJitter(0.2), " + PLAIN, P),
        (DRAWS, PLAIN, U),
        (PLAIN, PLAIN, U),
        (DRAWS, "T.CenterCrop(64), T.ToTensor()", U),
    ],
)
def test_held_out_data_are_not_changed_at_random(one: str, two: str, expected: str) -> None:
    assert (
        state("script-evaluation-augmented", PHOTOS.replace("{ONE}", one).replace("{TWO}", two)) == expected
    )


def test_held_out_data_in_several_versions_are_meant() -> None:
    text = PHOTOS.replace("{ONE}", DRAWS).replace("{TWO}", DRAWS) + "\nloss = nt_xent(views)\n"

    assert state("script-evaluation-augmented", text) == U


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        (DRAWS, "T.Resize(64), T.ToTensor()", P),
        ("T.RandomCrop(64), T.ToTensor()", PLAIN, P),
        (DRAWS, "T.Resize(64), T.ToTensor(), T.Normalize([0.4], [0.2])", P),
        (DRAWS, PLAIN, A),
        (PLAIN, "T.CenterCrop(64), " + PLAIN, A),
        ("T.RandomCrop(64), T.ToTensor()", "T.CenterCrop(64), T.ToTensor()", U),
    ],
)
def test_both_sides_are_normalised_by_one_pair_of_figures(one: str, two: str, expected: str) -> None:
    text = PHOTOS.replace("{ONE}", one).replace("{TWO}", two)

    assert (state("script-splits-processed-differently", text) == P) == (expected == P)


SWITCH = (
    LOOP
    + """
class Rolls(Dataset):
    def __init__(self, files, train):
        self.files, self.train = files, train
        self.blank = T.RandomErasing(0.5)
    def __getitem__(self, i):
        x = read(self.files[i])
        {BODY}
        return x, i
train_set = Rolls(files[:90], train=True)
val_set = Rolls(files[90:], train={HELD})
"""
)
ASKED = "x = self.blank(x) if self.train else x"


@pytest.mark.parametrize(
    ("body", "held", "expected"),
    [(ASKED, "True", P), ("x = self.blank(x)", "False", P), (ASKED, "False", A), ("x = x / 255", "False", A)],
)
def test_a_switch_for_augmentation_is_no_part_of_the_data(body: str, held: str, expected: str) -> None:
    text = SWITCH.replace("{BODY}", body).replace("{HELD}", held)

    assert state("script-training-sees-evaluation", text) != P
    if body != "x = x / 255":
        assert state("script-evaluation-augmented", text) == expected


TABLE = (
    LOOP
    + """
x_train, x_test, y_train, y_test = train_test_split(x, y)
x_train, x_val, y_train, y_val = train_test_split(x_train, y_train)
{SCALE}
train_dl = DataLoader(TensorDataset(x_train, y_train), shuffle=True)
val_dl = DataLoader(TensorDataset({HELD}))
print(evaluate(net, val_dl), net(x_test), y_test)
"""
)
SCALED = "x_train = scaler.fit_transform(x_train)\nx_val = scaler.transform(x_val)\n"


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        (SCALED, P),
        ("x_train = scaler.fit_transform(x_train)\nx_test = scaler.transform(x_test)\n", P),
        ("x_train = pca.fit_transform(x_train)\n", P),
        (SCALED + "x_test = scaler.transform(x_test)\n", A),
        (SCALED + "x_new = scaler.transform(x_test)\n", A),
        ("x_train, x_val, x_test = map(scaler.transform, (x_train, x_val, x_test))\n", U),
    ],
)
def test_all_splits_are_transformed(scale: str, expected: str) -> None:
    text = TABLE.replace("{SCALE}", scale).replace("{HELD}", "x_val, y_val")

    assert (state("script-splits-processed-differently", text) == P) == (expected == P)


@pytest.mark.parametrize(
    ("held", "expected"),
    [("x_train, y_train", P), ("x_val, y_val", A)],
)
def test_held_out_data_that_lie_idle(held: str, expected: str) -> None:
    text = TABLE.replace("{SCALE}", "").replace("{HELD}", held)

    assert (state("script-evaluates-training-data", text) == P) == (expected == P)


ONE_SET = (
    LOOP
    + """
train_names, val_names = split_names(cfg["root"])
sets = [Rolls(train_names), Rolls(val_names)]
train_set = {MINE}
val_set = {HELD}
"""
)


@pytest.mark.parametrize(
    ("mine", "held", "expected"),
    [
        ("DataLoader(sets[0], shuffle=True)", "DataLoader(sets[0])", P),
        ("DataLoader(data['train'], shuffle=True)", "DataLoader(data['train'])", P),
        ("DataLoader(sets[0], shuffle=True)", "DataLoader(sets[1])", A),
        # one root, and a list of names that parts it
        ("RollDataset(cfg['root'], train_names)", "RollDataset(cfg['root'], val_names)", A),
        ("RollDataset(cfg['root'])", "RollDataset(cfg['root'], transform=plain)", A),
    ],
)
def test_both_sides_of_one_set(mine: str, held: str, expected: str) -> None:
    text = ONE_SET.replace("{MINE}", mine).replace("{HELD}", held)

    assert (state("script-evaluates-training-data", text) == P) == (expected == P)


RUN = (
    LOOP
    + """
def loaders():
    train_loader = DataLoader(train_set, shuffle=True)
    val_loader = DataLoader(val_set)
    return train_loader, val_loader
train_loader, val_loader = loaders()
for epoch in range(9):
    learn(net, train_loader, opt)
    {SCORE}
"""
)


@pytest.mark.parametrize(
    ("score", "expected"),
    [
        ("accuracy = evaluate(net, train_loader)", P),
        ("print(epoch, evaluate(net, train_loader))", P),
        ("best = max(best, evaluate(net, train_loader))", P),
        ("accuracy = evaluate(net, val_loader)", A),
        ("train_accuracy = evaluate(net, train_loader); accuracy = evaluate(net, val_loader)", A),
        ("train_accuracy, accuracy = evaluate(net, train_loader), evaluate(net, val_loader)", A),
    ],
)
def test_a_score_of_the_training_data_beside_idle_held_out_data(score: str, expected: str) -> None:
    assert (state("script-evaluates-training-data", RUN.replace("{SCORE}", score)) == P) == (expected == P)


FRAMES = """
import torch
import pandas as pd
frame = pd.read_csv("meals.csv")
train, val, test = frame[:70].copy(), frame[70:85].copy(), frame[85:].copy()
columns = ["meals", "heat"]
{BODY}
sets = [Windows(p) for p in (train, val, test)]
"""
FIGURES = "mean, std = train[columns].mean(), train[columns].std()\n"
SCALE = "    part[columns] = (part[columns] - mean) / std\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (FIGURES + "for part in (train, test):\n" + SCALE, P),
        (FIGURES + "for part in [train, val]:\n" + SCALE, P),
        (FIGURES + "for part in (train, test):\n    part[columns] -= mean\n", P),
        (FIGURES + "for part in (train, val, test):\n" + SCALE, A),
        (FIGURES + "for part in (train, test):\n    print(part[columns])\n", U),
        (FIGURES + "for part in (val, test):\n" + SCALE, P),
    ],
)
def test_a_loop_over_the_splits_leaves_none_out(body: str, expected: str) -> None:
    assert (state("script-splits-processed-differently", FRAMES.replace("{BODY}", body)) == P) == (
        expected == P
    )


OWN = "    part[columns] = (part[columns] - part[columns].mean()) / part[columns].std()\n"


@pytest.mark.parametrize(
    ("body", "fires"),
    [
        ("for part in (train, val, test):\n" + OWN, True),
        (
            "def scaled(x):\n    return (x[columns] - x[columns].mean()) / (x[columns].std() + 1e-8)\n"
            "train, val = scaled(train), scaled(val)\n",
            True,
        ),
        (
            "def scaled(x):\n    return (x - x.mean(axis=0)) / x.std(axis=0)\n"
            "a, b = scaled(train), scaled(test)\n",
            True,
        ),
        (FIGURES + "for part in (train, val, test):\n" + SCALE, False),
        (
            "def scaled(x):\n    return (x - x.mean(axis=1)) / x.std(axis=1)\n"
            "a, b = scaled(train), scaled(test)\n",
            False,
        ),
        ("def scaled(wave):\n    return (wave - wave.mean()) / wave.std()\nw = scaled(read(name))\n", False),
    ],
)
def test_held_out_data_are_not_scaled_by_themselves(body: str, fires: bool) -> None:
    assert (state("script-splits-processed-differently", FRAMES.replace("{BODY}", body)) == P) == fires


@pytest.mark.parametrize(
    ("body", "fires"),
    [
        (
            "mean, std = frame[columns].mean(), frame[columns].std()\nfor part in (train, val, test):\n"
            + SCALE,
            True,
        ),
        ("mean = frame[columns].mean()\ntrain, val = train - mean, val - mean\n", True),
        (
            "top = frame['heat'].std()\nfor p in (train, val, test):\n    p['heat'] = p['heat'] / top\n",
            True,
        ),
        (FIGURES + "for part in (train, val, test):\n" + SCALE, False),
        ("mean = frame[columns].mean()\nprint(mean)\n", False),
        (
            "class Scale:\n    def fit(self, frame):\n        self.mean = frame.mean()\n"
            "    def turn(self, x):\n        return x - self.mean\n",
            False,
        ),
        ("mean = frame[:70][columns].mean()\nfor part in (train, val):\n    part[columns] -= mean\n", False),
    ],
)
def test_figures_are_of_the_training_rows(body: str, fires: bool) -> None:
    assert (state("script-learns-from-held-out", FRAMES.replace("{BODY}", body)) == P) == fires
