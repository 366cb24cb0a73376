# ruff: noqa: E501 -- the edits are texts
"""Mild faults: a user would still complain, but no curve looks broken."""

from __future__ import annotations

from collections.abc import Iterator

from generate import Case, literally, unseen

from .common import faulty


def mild() -> Iterator[Case]:
    small = "hyperparameter.learning-rate-too-small"
    slow = unseen(
        "the curve falls steadily to its end: a larger rate or more epochs would do",
        "hyperparameter.epochs-too-few",
        benchmark=False,
        script=None,
    )
    yield from faulty("tabular", "b", "lr-small", small, strength="mild", lr=0.0002, accept=slow)
    yield from faulty("lm", "a", "lr-small", small, strength="mild", lr=0.0006, min_lr=0.00006, accept=slow)
    strong = "hyperparameter.regularization-too-strong"
    yield from faulty("tabular", "b", "dropout", strong, strength="mild", dropout=0.65)
    yield from faulty("images", "b", "weight-decay", strong, strength="mild", weight_decay=0.04, check="any")
    noise = (
        "mean, std = train_x.mean()",
        "flip = torch.rand(len(train_y)) < 0.12\ntrain_y[flip] = torch.randint(0, 6, (int(flip.sum()),))\nmean, std = train_x.mean()",
    )
    yield from faulty("images", "a", "labels-wrong", "data.label-errors", noise, strength="mild")
    flip = (
        "mu, sigma = x_train.mean(0), x_train.std(0)",
        "flip = np.random.default_rng(1).random(len(y_train)) < 0.12\ny_train = np.where(flip, (y_train + 1) % 4, y_train)\nmu, sigma = x_train.mean(0), x_train.std(0)",
    )
    yield from faulty("tabular", "a", "labels-wrong", "data.label-errors", flip, strength="mild")
    faint = ("    wave = np.sin(", '    dim = 0.7 if split == "val" else 1.0\n    wave = dim * np.sin(')
    other = unseen(
        "validation inputs are other ones: by their making or by their processing",
        "processing.train-eval-mismatch",
    )
    other += unseen("the same, held against the benchmark", "porting.preprocessing-differs", benchmark=True)
    other += literally("the validation set is not the benchmark's", "porting.dataset-differs", benchmark=True)
    yield from faulty("images", "b", "shift", "data.distribution-shift", faint, strength="mild", accept=other)
    yield from faulty("hf", "a", "lr-small", small, strength="mild", lr=0.0004, accept=slow, check="any")
