"""Files that are paired by their place in two listings, and draws for each part of a sample."""

from __future__ import annotations

import pytest

from .._scripts import state

P = "present"

HEAD = """
import glob
import os
import random
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
class Pairs(Dataset):
    def __init__(self, images, masks):
        self.images, self.masks = images, masks
    def __getitem__(self, i):
        image, mask = read(self.images[i]), read(self.masks[i])
        {MOVE}
        return image, mask
"""


@pytest.mark.parametrize(
    ("body", "fires"),
    [
        ("a = os.listdir('x')\nb = os.listdir('y')\ndata = Pairs(a, b)", True),
        ("a = sorted(glob.glob('x/*'))\nb = glob.glob('y/*')\ndata = Pairs(a[:9], b[:9])", True),
        ("a = [open(p) for p in glob.glob('x/*')]\nb = list(glob.glob('y/*'))\nrows = list(zip(a, b))", True),
        ("a = sorted(os.listdir('x'))\nb = sorted(os.listdir('y'))\ndata = Pairs(a, b)", False),
        ("a = os.listdir('x')\nb = os.listdir('y')\na.sort()\nb.sort()\ndata = Pairs(a, b)", False),
        (
            "n_ = os.listdir('x')\na = ['x/' + n for n in n_]\nb = ['y/' + n for n in n_]\nzip(a, b)",
            False,
        ),
        ("cats = os.listdir('cats')\ndogs = os.listdir('dogs')\nfiles = cats + dogs", False),
    ],
)
def test_two_listings_that_go_together(body: str, fires: bool) -> None:
    assert (state("script-sample-torn-apart", HEAD.replace("{MOVE}", "pass") + body + "\n") == P) == fires


@pytest.mark.parametrize(
    ("move", "fires"),
    [
        ("image = np.rot90(image, random.randint(0, 3)); mask = np.rot90(mask, random.randint(0, 3))", True),
        ("image = np.roll(image, random.randint(0, 9)); mask = np.roll(mask, random.randint(0, 9))", True),
        ("image = rotate(image, random.uniform(-9, 9)); mask = rotate(mask, random.uniform(-9, 9))", True),
        ("k = random.randint(0, 3); image, mask = np.rot90(image, k), np.rot90(mask, k)", False),
        ("k = random.randint(0, 3); image = np.rot90(image, k); mask = np.rot90(mask, k)", False),
        ("image = image + random.random()", False),
    ],
)
def test_one_draw_moves_image_and_mask(move: str, fires: bool) -> None:
    assert (state("script-sample-torn-apart", HEAD.replace("{MOVE}", move)) == P) == fires
