"""Inputs of a batch that move or mix alone, one batch for ever, one order for all, noise in evaluation."""

from __future__ import annotations

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.labels.values import labels_permuted_alone
from traindoctor.probes.code.samples.augment import sample_torn_apart
from traindoctor.probes.code.samples.feeding import order_is_fixed
from traindoctor.probes.code.samples.limits import training_data_cut
from traindoctor.probes.code.scaling.drawn import evaluation_is_augmented
from traindoctor.probes.code.scaling.ranges import range_does_not_fit
from traindoctor.probes.code.splits.simulated import held_out_shifted

from .._script import finding

PROGRAM = """
import numpy as np
import torch.nn.functional as F
from torch.utils.data import DataLoader
def evaluate(model, loader):
    with torch.no_grad():
        for x, y in loader:
            {score}
            hits = (model(x).argmax(1) == y).sum()
def main():
    {start}
    train_loader = DataLoader(train_set, batch_size=64, shuffle=True{given})
    for epoch in range(9):
        {epoch}
        {loop}
            {batch}
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        evaluate(model, val_loader)
"""
USUAL = {"score": "pass", "start": "pass", "given": "", "epoch": "pass", "batch": "pass"}


def _text(**parts: str) -> str:
    return PROGRAM.format(**({"loop": "for x, y in train_loader:"} | USUAL | parts))


@pytest.mark.parametrize(
    ("moved", "mixed", "batch"),
    [
        (True, False, "x = x.flip(0)"),
        (True, False, "x = torch.roll(x, 1, 0)"),
        (False, True, "x = 0.5 * x + 0.5 * x[torch.randperm(len(x))]"),
        (False, True, "x = (x + x.flip(0)) / 2"),
        (False, False, "x, y = x.flip(0), y.flip(0)"),
        (False, False, "x = x.flip(3)"),
        (False, False, "p = torch.randperm(len(x)); x = 0.5 * x + 0.5 * x[p]; y = 0.5 * y + 0.5 * y[p]"),
    ],
)
def test_inputs_of_a_batch(moved: bool, mixed: bool, batch: str) -> None:
    """Inputs change places, or are mixed, and their labels stay."""
    text = _text(batch=batch)

    assert (finding(labels_permuted_alone, text).state is State.PRESENT) == moved
    assert (finding(sample_torn_apart, text).state is State.PRESENT) == mixed


@pytest.mark.parametrize(
    ("same", "parts"),
    [
        (True, {"epoch": "torch.manual_seed(0)"}),
        (True, {"given": ", generator=g", "start": "g = torch.Generator()", "epoch": "g.manual_seed(1)"}),
        (False, {"epoch": "torch.manual_seed(epoch)"}),
        (False, {"start": "torch.manual_seed(0)"}),
        (
            False,
            {"given": ", generator=g", "start": "g = torch.Generator()", "epoch": "torch.manual_seed(0)"},
        ),
    ],
)
def test_seeded_each_epoch(same: bool, parts: dict[str, str]) -> None:
    """The generator that shuffles begins anew in each epoch."""
    assert (finding(order_is_fixed, _text(**parts)).state is State.PRESENT) == same


@pytest.mark.parametrize(
    ("one", "parts"),
    [
        (True, {"epoch": "x, y = next(iter(train_loader))", "loop": "for _ in range(60):"}),
        (True, {"loop": "for x, y in [next(iter(train_loader))] * 60:"}),
        (
            False,
            {"epoch": "it = iter(train_loader)", "loop": "for _ in range(60):", "batch": "x, y = next(it)"},
        ),
        (False, {"epoch": "shown, _ = next(iter(train_loader))"}),
        (False, {"loop": "for _ in range(60):", "batch": "x, y = next(iter(train_loader))"}),
    ],
)
def test_one_batch(one: bool, parts: dict[str, str]) -> None:
    """One batch is drawn and trained on again and again."""
    found = finding(training_data_cut, _text(**parts), few=1000, batches=50)

    assert (found.state is State.PRESENT) == one


@pytest.mark.parametrize(
    ("noised", "parts"),
    [
        (True, {"start": "val_x += np.random.normal(0, 2, val_x.shape)"}),
        (True, {"start": "test_df[COLS] = test_df[COLS] + np.random.normal(0, 2, (9, 9))"}),
        (False, {"score": "x = x + 2 * torch.randn_like(x)"}),
        (False, {"start": "val_x += np.random.normal(0, 0.001, val_x.shape)"}),
        (False, {"score": "x = x + 2 * torch.randn_like(x)", "batch": "x = x + 2 * torch.randn_like(x)"}),
    ],
)
def test_held_out_noised(noised: bool, parts: dict[str, str]) -> None:
    """Held-out inputs alone are drowned in noise."""
    assert (finding(held_out_shifted, _text(**parts)).state is State.PRESENT) == noised


def test_noise_of_the_evaluation_is_another_processing() -> None:
    """Whole samples are disturbed where they are scored; with the same in training it is the task."""
    noise = "x = x + 2 * torch.randn_like(x)"
    assert finding(evaluation_is_augmented, _text(score=noise)).state is State.PRESENT
    assert finding(evaluation_is_augmented, _text(score=noise, batch=noise)).state is not State.PRESENT


@pytest.mark.parametrize(
    ("exchanged", "line"),
    [
        (True, "std, mean = x.mean(), x.std()"),
        (True, "x = (x - std) / (mean + 1e-6)"),
        (False, "mean, std = x.mean(), x.std()"),
        (False, "x = (x - mean) / std"),
    ],
)
def test_figures_exchanged(exchanged: bool, line: str) -> None:
    """Mean and deviation bear each other's names."""
    assert (finding(range_does_not_fit, line).state is State.PRESENT) == exchanged
