"""Cuts that put the same rows into training and into what is held out."""

from __future__ import annotations

import pytest

from .._scripts import state

SEES = "script-training-sees-evaluation"

HEAD = """
import argparse, glob, random
import torch
from torch import nn
parser = argparse.ArgumentParser()
parser.add_argument("--held", type=float, default=0.2)
parser.add_argument("--files", type=int, default=12)
args = parser.parse_args()
files = sorted(glob.glob("data/*.npz"))
random.Random(3).shuffle(files)
n_val = int(len(files) * args.held)
cut = int(0.9 * len(files))
"""
TAIL = """
net = nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters())
for x, y in torch.utils.data.DataLoader(Rows(train_files)):
    opt.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    opt.step()
"""


@pytest.mark.parametrize(
    "body",
    [
        "train_files, val_files = files[:cut], files[-cut:]",
        "val_files, train_files = files[:n_val], files[n_val // 2:]",
        "train_files = [f for f in files[args.files:]]\ntest_files = [f for f in files]",
        "held, rest = files[-args.files:], files[args.files:]\n"
        "train_files = [r for f in rest for r in read(f)]\nval_files = [r for f in held for r in read(f)]",
        "parts = {'train': files[n_val // 2:], 'val': files[:n_val]}\ntrain_files = parts['train']",
        "order = torch.randperm(len(files)).tolist()\n"
        "train_files = [files[i] for i in order[:cut]]\n"
        "val_files = [files[i] for i in order[int(len(files) * args.held):]]",
    ],
)
def test_the_same_rows_are_in_both(body: str) -> None:
    assert state(SEES, HEAD + body + TAIL) == "present"


@pytest.mark.parametrize(
    "body",
    [
        "train_files, val_files = files[:cut], files[cut:]",
        "train_files, val_files = files[n_val:], files[:n_val]",
        "val_files, train_files = files[-n_val:], files[:-n_val]",
        "parts = {'train': files[n_val:], 'val': files[:n_val]}\ntrain_files = parts['train']",
        # every input is drawn anew, and the labels stay
        "train_files = turned(files)\ntrain_y, test_y = labels[1:], labels",
        # steps of context before the first forecast
        "train_files, val_files = files[:cut], files[cut - 48:]",
        "train_files = files[:cut]\nrandom.shuffle(files)\nval_files = files[:n_val]",
        "train_files = files[::2]\nval_files = files[1::2]",
        # bounds that nothing tells
        "train_files, val_files = files[:first()], files[second():]",
        # the training part is cut again, and the held-out part is of what is left
        "train_files = files[:cut]\nval_files = train_files[:n_val]\ntrain_files = train_files[n_val:]",
    ],
)
def test_parts_without_common_rows_are_right(body: str) -> None:
    assert state(SEES, HEAD + body + TAIL) != "present"
