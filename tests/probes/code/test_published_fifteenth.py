"""Ways of published scripts that were taken for faults: networks in turns, held-out files of one form."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

TURNS = """
import torch
def run(gen, disc, loader, opts, k):
    for i, (x, y) in enumerate(loader):
        loss = gen(x).mean() if i % (k + 1) == 0 else disc(x).mean()
        opts["gen"].zero_grad()
        opts["disc"].zero_grad()
        loss.backward()
        if i % (k + 1) == 0:
            opts["gen"].step()
        {OTHER}
"""


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ('else:\n            opts["disc"].step()', U),
        ("", P),
        ('else:\n            scaler.step(opts["gen"])', P),
        ("else:\n            print(i)", P),
    ],
)
def test_networks_that_learn_in_turns_accumulate_nothing(other: str, expected: str) -> None:
    assert state("script-accumulation-wrong", TURNS.replace("{OTHER}", other)) == expected


FILES = """
import torch
from torch.utils.data import DataLoader
train_ds = HDF5Dataset(path=str(root / "{TRAIN}"), train=True)
val_ds = HDF5Dataset(path=str(root / "{HELD}"), train=True)
val_loader = DataLoader(val_ds)
train_loader = DataLoader(train_ds, shuffle=True)
for x, y in train_loader:
    opt.zero_grad()
    loss = net(x).mean()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(("held", "expected"), [("shapes_val0.h5", A), ("shapes_train0.h5", P)])
def test_held_out_samples_in_a_file_of_their_own(held: str, expected: str) -> None:
    text = FILES.replace("{TRAIN}", "shapes_train0.h5").replace("{HELD}", held)

    assert state("script-training-sees-evaluation", text) == expected
