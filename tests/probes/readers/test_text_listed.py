"""Several settings in one line of words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from traindoctor.probes.readers.text.listed import listed

from ._text import read

TWO = {"lr": 0.001, "batch_size": 32}


@pytest.mark.parametrize(
    ("line", "settings"),
    [
        ("lr=0.001, batch_size=32", TWO),
        ("training with lr=0.001 batch_size=32", TWO),
        ("Learning rate = 1e-3, batch size = 32", {"Learning_rate": 0.001, "batch_size": 32}),
        (
            "2000 training pictures, batch size 32, learning rate 0.001",
            {"batch_size": 32, "learning_rate": 0.001},
        ),
        ("config: lr 0.001 batch 64 dropout 0.1", {"lr": 0.001, "batch": 64, "dropout": 0.1}),
        ("config {'lr': 0.001, 'batch_size': 32} world_size=2", {**TWO, "world_size": 2}),
        ("settings | lr 0.001 | optimizer Adam", {"lr": 0.001, "optimizer": "Adam"}),
        ("Optimizer: SGD (lr=0.1, momentum=0.9)", {"Optimizer": "SGD", "lr": 0.1, "momentum": 0.9}),
        ("== lr: 0.001; bs: 32; epochs: 10 ==", {"lr": 0.001, "bs": 32, "epochs": 10}),
        ("[config] lr: 0.001", {"lr": 0.001}),
        ("groups: lr 0.1 dropout 0.2, lr 0.01 dropout 0.2", {"dropout": 0.2}),
    ],
)
def test_settings_in_one_line(line: str, settings: dict[str, Any]) -> None:
    """Names and values, however they are joined; a name with two values is left out."""
    assert dict(listed(line)) == settings


@pytest.mark.parametrize(
    "line",
    [
        "lr 0.001",  # alone, with nothing that announces it
        "epoch 3 lr 0.001 dropout 0.1",
        "step 10: lr=0.001, momentum=0.9",
        "val_loss 0.5 lr 0.001 momentum 0.9",
        "best accuracy 0.9 with lr 0.1 and batch size 32",
        "--lr LR  learning rate (default: 0.001), --momentum M",
        "optimizer = SGD(lr=args.lr, momentum=args.momentum)",
        "  (bn1): BatchNorm2d(64, eps=1e-05, momentum=0.1, affine=True)",
        "BatchNorm2d(64, eps=1e-05, momentum=0.1)",
        "reducing lr from 0.1 to 0.01, momentum 0.9",
        "forward: 35.1 | optimizer: 386.53 | batch generator: 13.17",
        "if lr == 0.1 and momentum == 0.9:",
        "it took 12 seconds to load 300 files",
    ],
)
def test_what_lists_no_settings(line: str) -> None:
    """Measures, source text, printed models, help and one-time changes set nothing."""
    assert listed(line) == []


def test_settings_are_those_before_the_first_row(tmp_path: Path) -> None:
    """The greeting of a script counts, what stands among its rows does not."""
    text = "lr=0.001, batch_size=32, epochs=8\nepoch 1 loss 0.9\nlr=0.5, batch_size=64\nepoch 2 loss 0.8\n"
    found = {s.key: s.value for s in read(tmp_path, text).settings}
    assert found == {"lr": 0.001, "batch_size": 32, "epochs": 8}
