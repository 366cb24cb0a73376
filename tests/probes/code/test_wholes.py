"""Data that are cut into parts and then used whole: for a side, for figures; and steps of the wrong side."""

from __future__ import annotations

import textwrap

import pytest

from traindoctor.probes.code.scaling import drawn as scaling
from traindoctor.probes.code.splits import leaks
from traindoctor.probes.registry import View

from .._build import run

PROGRAM = """
    import numpy as np
    import torch
    from torch import nn
    from torch.utils.data import DataLoader
    from torchvision import transforms
    from sklearn.model_selection import train_test_split
    class Rows(torch.utils.data.Dataset):
        def __init__(self, rows, mean=0.0, std=1.0):
            self.rows = rows
        def __getitem__(self, i):
            return self.rows[i]
    def statistics(rows):
        rows = np.stack(rows)
        return rows.mean(0), rows.std(0)
    def plain():
        return transforms.Compose([transforms.ToTensor()])
    def changed():
        return transforms.Compose([transforms.RandomCrop(8), transforms.ToTensor()])
    def main():
        {body}
        model = nn.Linear(4, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in DataLoader(train_set, shuffle=True):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        print(evaluate(model, DataLoader(val_set)))
    main()
"""


def state(probe: str, body: str) -> str:
    text = textwrap.dedent(PROGRAM).format(body=body.replace("\n", "\n    "))
    owner = scaling if probe == "evaluation_is_augmented" else leaks
    return str(getattr(owner, probe)(View(run(scripts={"train.py": text}))).state.value)


LEAKS = [
    "train, val = split(rows)\ntrain_set = Rows(train)\nval_set = Rows(rows)",
    "train, val = split(rows, 0.1)\ntrain_set = Rows(rows)\nval_set = Rows(val)",
    "train, val = rows[:n], rows[n:]\ntrain_set = Rows(train)\nval_set = Rows(rows)",
    "train_set = Rows(rows[:n])\nval_set = Rows(rows)",
    "train_set = Rows(rows)\nval_set = Rows(rows[n:])",
    "train, rest = train_test_split(rows)\nval, test = train_test_split(rows)\n"
    "train_set, val_set = Rows(train), Rows(val)",
    "train, val = [], []\nfor i, r in enumerate(rows):\n    train.append(r)\n"
    "    if i % 9 == 0:\n        val.append(r)\n"
    "train_set, val_set = Rows(train), Rows(val)",
]
SOUND = [
    "train, val = split(rows)\ntrain_set = Rows(train)\nval_set = Rows(val)",
    "train_set = Rows(rows[:n])\nval_set = Rows(rows[n:])",
    "train, val = split(rows)\ntrain_set = Rows(train)\nval_set = Rows(val)\nevery_set = Rows(rows)",
    "train, rest = train_test_split(rows)\nval, test = train_test_split(rest)\n"
    "train_set, val_set = Rows(train), Rows(val)",
    "train, val = [], []\nfor i, r in enumerate(rows):\n    if i % 9 == 0:\n        val.append(r)\n"
    "    else:\n        train.append(r)\ntrain_set, val_set = Rows(train), Rows(val)",
    "train, val = split(rows)\nrows = load_others()\ntrain_set = Rows(train)\nval_set = Rows(rows)",
]


@pytest.mark.parametrize("body", LEAKS)
def test_a_whole_in_place_of_a_part(body: str) -> None:
    assert state("held_out_in_training", body) == "present"


@pytest.mark.parametrize("body", SOUND)
def test_parts_in_their_place(body: str) -> None:
    assert state("held_out_in_training", body) != "present"


PARTS = "train, val = rows[:n], rows[n:]\n"
SETS = "\ntrain_set, val_set = Rows(train, mean, std), Rows(val, mean, std)"
TABLE = "\ntrain, val = train_test_split({of})\ntrain_set, val_set = Rows(train), Rows(val)"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (PARTS + "mean, std = statistics(rows)" + SETS, "present"),
        (PARTS + "mean, std = statistics(train + val)" + SETS, "present"),
        (PARTS + "mean, std = statistics(np.concatenate([train, val]))" + SETS, "present"),
        (PARTS + "mean, std = statistics(train)" + SETS, "unknown"),
        (PARTS + "lengths, names = statistics(rows)" + SETS, "unknown"),
        (PARTS + "mean, std = statistics(others)" + SETS, "unknown"),
        ("t[c] = (t[c] - t[c].mean()) / t[c].std()" + TABLE.format(of="t"), "present"),
        ("t[c] = (t[c] - t[c].mean()) / t[c].std()\nX = t[c].values" + TABLE.format(of="X"), "present"),
        ("t[c] = (t[c] - 3.0) / 4.0" + TABLE.format(of="t"), "unknown"),
        ("x = (x - x.mean(axis=1)) / x.std(axis=1)" + TABLE.format(of="x"), "unknown"),
    ],
)
def test_figures_of_all_samples(body: str, expected: str) -> None:
    assert state("fitted_on_all", body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("train_set = Rows(train, changed())\nval_set = Rows(val, changed())", "present"),
        ("train_set = Rows(train, changed())\nval_set = Rows(val, plain())", "absent"),
    ],
)
def test_steps_that_a_function_makes(body: str, expected: str) -> None:
    found = state("evaluation_is_augmented", body)
    assert (found == "present") is (expected == "present")
