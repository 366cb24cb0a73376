# ruff: noqa: E501 -- the edits are texts
"""What is done to the data before the model sees them."""

from __future__ import annotations

from collections.abc import Iterator

from generate import Case, literally, unseen

from .also import mute
from .common import faulty


def processing() -> Iterator[Case]:
    raw = "processing.not-normalized"
    yield from faulty(
        "tabular",
        "abc",
        "raw-columns",
        raw,
        ("x_train = (x_train - mu) / sigma\nx_test = (x_test - mu) / sigma\n", ""),
    )
    yield from faulty("series", "ab", "raw-megawatts", raw, ("train_raw.mean(), train_raw.std()", "0.0, 1.0"))
    yield from faulty(
        "images",
        "ac",
        "eval-raw",
        "processing.train-eval-mismatch",
        ("val_x = (val_x - mean) / std\n", ""),
        accept=unseen(
            "validation inputs are other ones: by processing or by their making", "data.distribution-shift"
        )
        + literally(
            "the validation inputs are not processed as the benchmark's",
            "porting.preprocessing-differs",
            benchmark=True,
        ),
    )
    order = "processing.not-shuffled"
    by_class = (
        "mean, std = train_x.mean()",
        "by_class = train_y.argsort()\ntrain_x, train_y = train_x[by_class], train_y[by_class]\nmean, std = train_x.mean()",
    )
    yield from faulty(
        "images",
        "ab",
        "not-shuffled",
        order,
        by_class,
        ("shuffle=True, drop_last", "shuffle=False, drop_last"),
    )
    yield from faulty(
        "tabular",
        "bc",
        "not-shuffled",
        order,
        ("    order = torch.randperm(len(x_train))\n", "    order = y_train.argsort(stable=True)\n"),
    )
    yield from faulty(
        "sentences",
        "ab",
        "not-shuffled",
        order,
        ("torch.randperm(len(train_x)).split", "train_y.argsort(stable=True).split"),
    )
    yield from faulty(
        "images",
        "bc",
        "labels-shifted",
        "processing.label-mapping",
        (
            "torch.tensor(train_labels), torch.tensor(val_labels)",
            "torch.tensor(train_labels), torch.tensor((val_labels + 1) % 6)",
        ),
        accept=unseen(
            "a metric far below the training's: by its labels or by its computation", "evaluation.logic"
        ),
    )
    yield from faulty(
        "sentences",
        "a",
        "labels-shifted",
        "processing.label-mapping",
        (
            "valid_x, valid_y = encode(valid_samples)\n",
            "valid_x, valid_y = encode(valid_samples)\nvalid_y = 7 - valid_y\n",
        ),
        accept=unseen(
            "a metric far below the training's: by its labels or by its computation", "evaluation.logic"
        ),
    )
    moved = "processing.algorithm"
    chance = unseen("labels that say nothing of their sample, moved or wrong", "data.label-errors")
    yield from faulty(
        "images",
        "ab",
        "labels-moved",
        moved,
        (
            "mean, std = train_x.mean()",
            "train_x = train_x[torch.randperm(len(train_x))]\nmean, std = train_x.mean()",
        ),
        accept=chance,
    )
    yield from faulty(
        "tabular",
        "c",
        "labels-moved",
        moved,
        ("x, y = x_train[ids], y_train[ids]", "x, y = x_train[ids], y_train[ids.flip(0)]"),
        accept=chance + mute(moved, "data.label-errors"),
    )
    yield from faulty(
        "sentences",
        "b",
        "labels-moved",
        moved,
        ("x, y = train_x[ids], train_y[ids]", "x, y = train_x[ids], train_y[ids.sort().values]"),
        accept=chance + mute(moved, "data.label-errors"),
    )
    erase = (
        "        output = model(x)\n        loss = criterion(output, y)\n",
        "        x = x * (torch.rand(len(x), 1, 12, 12) < 0.12)\n        output = model(x)\n        loss = criterion(output, y)\n",
    )
    yield from faulty(
        "images",
        "a",
        "erasing",
        "processing.parameters",
        erase,
        accept=unseen("inputs that hold too little: by a parameter or by the operation", moved)
        + unseen(
            "the training data cannot be fitted", "hyperparameter.regularization-too-strong", benchmark=False
        ),
    )
    yield from faulty(
        "tabular",
        "a",
        "wrong-deviation",
        "processing.parameters",
        ("mu, sigma = x_train.mean(0), x_train.std(0)", "mu, sigma = x_train.mean(0), 300 * x_train.std(0)"),
        accept=unseen(
            "slow training: inputs of the wrong size, or small steps",
            "hyperparameter.learning-rate-too-small",
            raw,
            benchmark=False,
        ),
    )
    yield from faulty(
        "lm",
        "b",
        "vocabulary-short",
        "processing.tokenizer-mismatch",
        ("nn.Embedding(len(letters), {{n_embd}})", "nn.Embedding(64, {{n_embd}})"),
        check="crash",
    )
