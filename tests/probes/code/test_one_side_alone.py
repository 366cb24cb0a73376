"""What is done to training data alone: labels written, classes dropped, rows copied, pictures ruined."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.labels.values import labels_overwritten
from traindoctor.probes.code.samples.changed import augmentation_extreme, drops_training_samples
from traindoctor.probes.code.samples.missing import nan_written
from traindoctor.probes.code.samples.spoiled import inputs_overwritten
from traindoctor.probes.code.splits.alike import splits_processed_differently
from traindoctor.probes.code.splits.leaks import held_out_in_training
from traindoctor.probes.registry import Finding

from .._script import finding

PROGRAM = """
import numpy as np, torch
import torch.nn.functional as F
def main():
    train_x, train_y = make("train")
    val_x, val_y = make("val")
    mean, std = train_x.mean(), train_x.std()
    train_x, val_x = (train_x - mean) / std, (val_x - mean) / std
    {data}
    train_loader, val_loader = load(train_x, train_y), load(val_x, val_y)
    for epoch in range(9):
        for x, y in train_loader:
            {batch}
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        for x, y in val_loader:
            hits += (model(x).argmax(1) == y).sum()
"""


def _asked(probe: Callable[..., Finding], line: str, **settings: object) -> State:
    held = line.startswith("train") or "val_" in line or "train" in line
    text = PROGRAM.format(data=line if held else "pass", batch="pass" if held else line)
    return finding(probe, text, **settings).state


@pytest.mark.parametrize(
    ("present", "line"),
    [
        (True, "train_y[train_y == 3] = 2"),
        (True, "train_y[:2000] = 0"),
        (True, "train_y = np.array([2 if t == 3 else t for t in train_y])"),
        (True, "y[y == 3] = 2"),
        (True, "train_df.loc[train_df.label == 3, 'label'] = 2"),
        (True, "train_df['label'] = train_df['label'].apply(lambda v: 0 if v == 2 else v)"),
        (
            False,
            "train_df['y'] = train_df['y'].replace(2, 0); val_df['y'] = val_df['y'].replace(2, 0)",
        ),
        (True, "y = torch.zeros_like(y)"),
        (False, "train_y[train_y == 3] = 2; val_y[val_y == 3] = 2"),
        (False, "train_y[train_y == 255] = -100"),
        (False, "train_y[17] = 3"),
        (False, "train_y[train_y == 3] = 2; val_x, val_y = train_x[:90], train_y[:90]"),
    ],
)
def test_labels_written(present: bool, line: str) -> None:
    """A class is written over labels of training samples, and not over those of held-out ones."""
    assert (_asked(labels_overwritten, line) is State.PRESENT) == present


def test_classes_exchanged() -> None:
    """Two classes change places in training alone; on both sides that is a numbering."""
    swap = "{0} = np.where({0} == 1, 2, np.where({0} == 2, 1, {0}))"
    one, both = swap.format("train_y"), "; ".join(map(swap.format, ("train_y", "val_y")))

    assert _asked(splits_processed_differently, one, labels=True) is State.PRESENT
    assert _asked(splits_processed_differently, both, labels=True) is not State.PRESENT


@pytest.mark.parametrize(
    ("present", "line"),
    [
        (True, "keep = train_y < 5; train_x, train_y = train_x[keep], train_y[keep]"),
        (True, "keep = ~np.isin(train_y, [6, 7]); train_x, train_y = train_x[keep], train_y[keep]"),
        (
            True,
            "at = [i for i, t in enumerate(train_y) if t != 4]; train_x, train_y = train_x[at], train_y[at]",
        ),
        (True, "train_df = train_df.query('label < 3')"),
        (False, "train_x, train_y = train_x[train_y >= 0], train_y[train_y >= 0]"),
        (False, "rare = train_x[train_y == 3]; train_x = np.concatenate([train_x, rare])"),
        (False, "train_x = train_x[train_y < 5]; val_x = val_x[val_y < 5]"),
    ],
)
def test_classes_dropped(present: bool, line: str) -> None:
    """Classes are left out of training, which held-out data have."""
    parts = [p.strip() for p in line.split(";")]
    text = PROGRAM.format(data="\n    ".join(parts), batch="pass")
    if "val_x" in line:  # the older check of a condition on `train` looks at no other side
        text = text.replace("train_x[train_y < 5]", "train_x[keep(train_y)]")

    assert (finding(drops_training_samples, text).state is State.PRESENT) == present


@pytest.mark.parametrize(
    ("present", "line"),
    [
        (True, "val_x[:400] = train_x[:400]"),
        (True, "val_x = np.concatenate([val_x, train_x[:200]])"),
        (True, "train_df = pd.concat([train_df, val_df.head(200)])"),
        (False, "val_x = np.concatenate([val_x, train_x[:200]]); train_x = train_x[200:]"),
        (False, "val_x[:] = np.clip(val_x, train_x.min(), train_x.max())"),
    ],
)
def test_rows_copied(present: bool, line: str) -> None:
    """Training rows stand among held-out rows."""
    assert (_asked(held_out_in_training, line) is State.PRESENT) == present


@pytest.mark.parametrize(
    ("present", "line"),
    [
        (True, "model(x + 10 * torch.randn_like(x))"),
        (True, "train_x += np.random.normal(0, 9, train_x.shape)"),
        (True, "x = x * (torch.rand_like(x) > 0.95)"),
        (True, "x[torch.rand_like(x) < 0.9] = 0"),
        (True, "x = F.interpolate(x[:, :, :4, :4], size=16)"),
        (True, "x = F.pad(x[:, :, 6:10, 6:10], (6, 6, 6, 6))"),
        (False, "x = x + 0.1 * torch.randn_like(x)"),
        (False, "noisy = x + 10 * torch.randn_like(x)"),
        (False, "x = x * (torch.rand_like(x) > 0.1)"),
        (False, "x = F.interpolate(x[:, :, 2:14, 2:14], size=16)"),
    ],
)
def test_ruined(present: bool, line: str) -> None:
    """Noise, masks and crops by hand, of which little of a picture is left."""
    assert (_asked(augmentation_extreme, line) is State.PRESENT) == present


@pytest.mark.parametrize(
    ("present", "line"),
    [
        (True, "train_x[::2] = 0"),
        (True, "x[torch.rand(len(x)) < 0.5] = 0"),
        (True, "train_x = train_x * 0"),
        (False, "x[torch.rand(len(x)) < 0.1] = 0"),
        (False, "train_x[:, :, 0, :] = 0"),
    ],
)
def test_rows_blanked(present: bool, line: str) -> None:
    """Whole samples lose their content and keep their labels."""
    assert (_asked(inputs_overwritten, line) is State.PRESENT) == present


def test_infinity_written() -> None:
    """Infinity in a picture; not among distances."""
    assert _asked(nan_written, "train_x[::50, 0, 3] = np.inf") is State.PRESENT
    assert _asked(nan_written, "dist_x[3] = np.inf") is not State.PRESENT
