"""Labels of some samples that change places, or are drawn anew, while the inputs stay."""

from __future__ import annotations

import pytest

from .._scripts import state

TRAIN = """
import numpy as np, torch
rng = np.random.default_rng(0)
data = np.load("train.npz")
x_train, y_train = data["x"], data["y"]
{line}
model = torch.nn.Linear(20, 10)
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
x_train, y_train = torch.from_numpy(x_train).float(), torch.from_numpy(y_train).long()
for epoch in range(20):
    for i in torch.randperm(len(x_train)).split(64):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x_train[i]), y_train[i])
        loss.backward()
        optimizer.step()
"""
PICKED = "idx = rng.choice(len(y_train), 500, replace=False)\n"


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("", "absent"),
        ("y_train[:1600] = y_train[:1600][::-1].copy()", "present"),
        (PICKED + "y_train[idx] = y_train[rng.permutation(idx)]", "present"),
        (PICKED + "y_train[idx] = y_train[idx[::-1]]", "present"),
        ("y_train[::3] = np.roll(y_train[::3], 1)", "present"),
        ("y_train[:900] = rng.permutation(y_train[:900])", "present"),
        ("y_train[:900] = (y_train[:900] + 1) % 10", "present"),
        ("y_train = np.array([rng.integers(10) if rng.random() < 0.3 else t for t in y_train])", "present"),
        ("y_train = np.array([rng.integers(10) if rng.random() < 0.04 else t for t in y_train])", "absent"),
        ("y_train = np.array([0 if t > 4 else t for t in y_train])", "absent"),
        # with their inputs
        ("x_train[:9] = x_train[:9][::-1]\ny_train[:9] = y_train[:9][::-1]", "absent"),
        ("y_train[:, ::-1] = y_train[:, ::-1][:, ::-1]", "absent"),  # of each sample, not of the samples
        ("y_train[y_train > 9] = 9", "absent"),
    ],
)
def test_labels_swapped(line: str, wanted: str) -> None:
    """A part in another order, or of the next class; not what moves with its inputs."""
    assert state("script-labels-overwritten", TRAIN.format(line=line)) == wanted


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("y_train = rng.permutation(y_train)", "present"),
        (
            "order = rng.permutation(len(x_train))\nx_train, y_train = x_train[order], y_train[order]",
            "unknown",
        ),
    ],
)
def test_all_labels_drawn_in_another_order(line: str, wanted: str) -> None:
    """A permutation of the labels alone."""
    assert state("script-labels-permuted-alone", TRAIN.format(line=line)) == wanted


DRAWN = """
order = rng.permutation(len(x_train))
test, train = order[:900], order[900:]
x_test, y_test = x_train[test], y_train[test]
x_train, y_train = {taken}
"""


@pytest.mark.parametrize(
    ("taken", "wanted"),
    [
        ("x_train[train], y_train[: len(train)]", "present"),
        ("x_train[order[900:]], y_train[900:]", "present"),
        ("x_train[train], y_train[train]", "unknown"),
        ("x_train[900:], y_train[900:]", "unknown"),
    ],
)
def test_labels_of_a_cut_with_drawn_inputs(taken: str, wanted: str) -> None:
    """Labels in their stored order go with inputs in a drawn one."""
    assert state("script-labels-permuted-alone", TRAIN.format(line=DRAWN.format(taken=taken))) == wanted


LAYER = """
import torch
from torch import nn
cfg = {{"keep": 0.9, "drop": 0.1}}
keep_prob = cfg["keep"]
layer = {layer}
"""


@pytest.mark.parametrize(
    ("layer", "wanted"),
    [
        ("nn.TransformerEncoderLayer(64, 4, 128, keep_prob, batch_first=True)", "present"),
        ("nn.MultiheadAttention(64, 4, dropout=cfg['keep'])", "present"),
        ("nn.Dropout(p=cfg['keep'])", "present"),
        ("nn.Dropout(p=cfg['drop'])", "absent"),
        (
            "nn.Sequential(nn.TransformerEncoderLayer(64, 4, 128, cfg['drop']), nn.Dropout(1 - keep_prob))",
            "absent",
        ),
    ],
)
def test_share_to_keep_for_that_to_drop(layer: str, wanted: str) -> None:
    """Layers that take the share to drop beside other things; settings by their keys."""
    assert state("script-argument-inverted", LAYER.format(layer=layer)) == wanted
