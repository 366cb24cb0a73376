# ruff: noqa: E501 -- the edits are texts
"""Mild faults: a user would still complain, but no curve looks broken."""

from __future__ import annotations

from collections.abc import Iterator

from generate import Case, literally, unseen

from .common import faulty


def mild() -> Iterator[Case]:
    large, small = "hyperparameter.learning-rate-too-large", "hyperparameter.learning-rate-too-small"
    yield from faulty("images", "b", "lr-large", large, strength="mild", lr=0.6, check="any")
    yield from faulty("tabular", "a", "lr-large", large, strength="mild", lr=0.06)
    yield from faulty("lm", "b", "lr-large", large, strength="mild", lr=0.03)
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
    share = (
        "labels = rng.randint(0, 6, size)",
        'share = [0.45, 0.11, 0.11, 0.11, 0.11, 0.11] if split == "train" else None\n    labels = rng.choice(6, size, p=share)',
    )
    yield from faulty(
        "images",
        "a",
        "imbalance",
        "data.class-imbalance",
        share,
        strength="mild",
        check="any",
        accept=literally(
            "validation has other shares of the classes than training", "data.distribution-shift"
        ),
    )
    faint = ("    wave = np.sin(", '    dim = 0.7 if split == "val" else 1.0\n    wave = dim * np.sin(')
    other = unseen(
        "validation inputs are other ones: by their making or by their processing",
        "processing.train-eval-mismatch",
    )
    other += unseen("the same, held against the benchmark", "porting.preprocessing-differs", benchmark=True)
    other += literally("the validation set is not the benchmark's", "porting.dataset-differs", benchmark=True)
    yield from faulty("images", "b", "shift", "data.distribution-shift", faint, strength="mild", accept=other)
    chunks = (
        "    order = torch.randperm(len(x_train))\n",
        "    order = torch.cat([part[y_train[part].argsort(stable=True)] for part in torch.randperm(len(x_train)).split(400)])\n",
    )
    yield from faulty(
        "tabular", "a", "not-shuffled", "processing.not-shuffled", chunks, strength="mild", check="any"
    )
    yield from faulty("hf", "a", "lr-small", small, strength="mild", lr=0.0004, accept=slow, check="any")
    yield from faulty("hf", "b", "lr-large", large, strength="mild", lr=0.03, check="any")
