"""Samples that a script makes up or shifts, for one side otherwise than for the other."""

from __future__ import annotations

import pytest

from .._scripts import state

MAKES = """
import numpy as np, torch
def record(count, seed, noise=0.3, level=1.0, masking=0.0, per_kind=5, split="train"):
    rng = np.random.default_rng(seed)
    gain = 1.0
    x = gain * level * rng.normal(size=(count, 8)) + noise * rng.normal(size=(count, 8))
    return torch.from_numpy(x).float(), torch.from_numpy(rng.integers(0, 3, count))
train_x, train_y = record(800, 1)
valid_x, valid_y = record(200, 2)
model = torch.nn.Linear(8, 3)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for epoch in range(9):
    for x, y in zip(train_x.split(32), train_y.split(32)):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        print((model(valid_x).argmax(1) == valid_y).float().mean())
"""
BACK = "    return torch.from_numpy(x)"
DIMMED = '    if split == "night":\n        x = 0.6 * x - 0.4\n' + BACK
OTHER = """
def sketch(count, seed):
    rng = np.random.default_rng(seed)
    return torch.rand(count, 8), torch.from_numpy(rng.integers(0, 3, count))
"""
WRAPS = "def kept(count, seed):\n    return record(count, seed)\n"
HELD = "valid_x, valid_y = record(200, 2)"
BY_SIDE = 'gain = 0.4 if split == "valid" else 1.0'


def written(*edits: tuple[str, str]) -> str:
    """The program with some of its text replaced."""
    text = MAKES
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(
    ("edits", "wanted"),
    [
        ([], "absent"),
        ([(HELD, HELD[:-1] + ", noise=1.5)")], "present"),
        ([(HELD, HELD[:-1] + ", level=2)")], "present"),
        ([(HELD, HELD[:-1] + ', split="valid")'), ("gain = 1.0", BY_SIDE)], "present"),
        ([(HELD, HELD[:-1] + ", noise=0.1)")], "absent"),  # what is stronger for training is augmentation
        ([(HELD, HELD[:-1] + ", noise=0.0)")], "absent"),
        ([(HELD, HELD[:-1] + ", masking=0.4)")], "absent"),
        ([(HELD, HELD[:-1] + ", per_kind=9)")], "absent"),  # a count by any name
        ([("record(800, 1)", "record(800, 1, level=2)"), (HELD, HELD[:-1] + ", level=2)")], "absent"),
        ([("rng = np.random.default_rng(seed)", "rng = np.load('x.npy')")], "unknown"),  # data that lie there
        ([(', split="train")', ", **more)"), (HELD, HELD[:-1] + ", lowest=0.5)")], "present"),
        (
            [("x = gain", 'x = (0.4 if split == "night" else 1.0)'), (HELD, HELD[:-1] + ', split="night")')],
            "present",
        ),
        ([(BACK, DIMMED), (HELD, HELD[:-1] + ', split="night")')], "present"),
        ([(BACK, DIMMED)], "absent"),  # never asked for
        (
            [(BACK, DIMMED.replace("night", "train")), (HELD, HELD[:-1] + ', split="night")')],
            "absent",
        ),  # augmentation
        ([("train_x, train", OTHER + "train_x, train"), (HELD, HELD.replace("record", "sketch"))], "present"),
        ([("train_x, train", WRAPS + "train_x, train"), (HELD, HELD.replace("record", "kept"))], "unknown"),
    ],
)
def test_samples_drawn_apart(edits: list[tuple[str, str]], wanted: str) -> None:
    """Settings that shape the samples have to be the same; sizes, seeds and augmentation need not."""
    assert state("script-samples-drawn-apart", written(*edits)) == wanted


SHIFT = HELD + "\nvalid_x = valid_x * 1.6 - 2.5"
SCALED = HELD + "\nvalid_x = valid_x / 255.0"
BOTH = HELD + "\ntrain_x, valid_x = train_x * 1.6, valid_x * 1.6"


@pytest.mark.parametrize(
    ("edits", "wanted", "mismatch"),
    [
        ([], "absent", "unknown"),
        ([(HELD, SHIFT)], "present", None),
        ([(HELD, SCALED)], "absent", "present"),  # a range: that is processing
        ([(HELD, BOTH)], "absent", None),
        ([("train_x, train_y =", "x, y ="), ("valid_x, valid_y =", "a, b =")], "unknown", None),
    ],
)
def test_held_out_shifted(edits: list[tuple[str, str]], wanted: str, mismatch: str | None) -> None:
    """Figures of no unit make held-out inputs others; those of a range process them otherwise."""
    assert state("script-held-out-shifted", written(*edits)) == wanted
    if mismatch is not None:
        assert state("script-splits-processed-differently", written(*edits)) == mismatch
