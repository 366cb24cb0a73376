# ruff: noqa: E501 -- the edits are texts
"""What is wrong with the data set."""

from __future__ import annotations

from collections.abc import Iterator

from generate import Case, literally, unseen

from .common import faulty


def data() -> Iterator[Case]:
    missing = "data.missing-values"
    gap = (
        "    scale = np.logspace(-2, 4, 18)\n",
        "    scale = np.logspace(-2, 4, 18)\n    columns[rng.choice(size, 3), 5] = np.nan\n",
    )
    tolerant = (
        "mu, sigma = x_train.mean(0), x_train.std(0)",
        "mu, sigma = np.nanmean(x_train, 0), np.nanstd(x_train, 0)",
    )
    yield from faulty("tabular", "abc", "missing-fields", missing, gap, tolerant, check="nan")
    empty = (
        "encoded = [",
        'for i in range(40, len(rows), 331):\n    rows[i] = (["<empty>"] * 16, rows[i][1])\nencoded = [',
    )
    word = ("for w in words}))}\n", 'for w in words}))}\nvocab["<empty>"] = len(vocab)\n')
    pooled = (
        "hidden = self.norm(self.encoder(hidden)).mean(1)",
        'present = (input_ids != vocab["<empty>"]).float().unsqueeze(-1)\n        hidden = (self.norm(self.encoder(hidden)) * present).sum(1) / present.sum(1)',
    )
    yield from faulty(
        "hf",
        "ab",
        "empty-text",
        missing,
        empty,
        word,
        pooled,
        check="blank",
        accept=literally(
            "the mean over no word divides by zero, without a floor", "numerics.epsilon", "api.misuse"
        ),
    )
    sensor = ("    return 8200 +", "    t = np.where((t > 1900) & (t < 1904), np.nan, t)\n    return 8200 +")
    means = (
        "centre, scale = train_raw.mean(), train_raw.std()",
        "centre, scale = np.nanmean(train_raw), np.nanstd(train_raw)",
    )
    yield from faulty("series", "ab", "sensor-gap", missing, sensor, means, check="nan")
    black = (
        "train_x = (train_x - mean) / std\nval_x = (val_x - mean) / std",
        "train_x[17] = 0\ntrain_x = (train_x - train_x.mean((1, 2, 3), keepdim=True)) / train_x.std((1, 2, 3), keepdim=True)\n"
        "val_x = (val_x - val_x.mean((1, 2, 3), keepdim=True)) / val_x.std((1, 2, 3), keepdim=True)",
    )
    yield from faulty(
        "images",
        "b",
        "black-image",
        "numerics.epsilon",
        black,
        check="nan",
        accept=literally("a division that meets zero", "api.misuse")
        + unseen("a sample becomes NaN: from a black image or from a missing value", missing),
    )
    outliers = "data.outliers"
    wild = ("x_test = (x_test - mu) / sigma\n", "x_test = (x_test - mu) / sigma\nx_train[::400] *= 300\n")
    yield from faulty("tabular", "b", "outliers", outliers, wild, check="spikes")
    peaks = ("train_raw, valid_raw =", "raw[700:2000:400] *= 60\ntrain_raw, valid_raw =")
    yield from faulty(
        "series",
        "b",
        "outliers",
        outliers,
        peaks,
        ("train_raw.mean(), train_raw.std()", "np.median(train_raw), 1600.0"),
        check="spikes",
    )
    wrong = "data.label-errors"
    for archetype, style, share in (("images", "a", 0.25), ("images", "b", 0.45), ("images", "c", 0.6)):
        noise = (
            "mean, std = train_x.mean()",
            f"flip = torch.rand(len(train_y)) < {share}\ntrain_y[flip] = torch.randint(0, 6, (int(flip.sum()),))\nmean, std = train_x.mean()",
        )
        yield from faulty(archetype, style, "labels-wrong", wrong, noise, strength=str(share))
    yield from faulty(
        "sentences",
        "a",
        "labels-wrong",
        wrong,
        (
            "valid_x, valid_y = encode(valid_samples)\n",
            "valid_x, valid_y = encode(valid_samples)\nflip = torch.rand(len(train_y)) < 0.4\ntrain_y[flip] = torch.randint(0, 8, (int(flip.sum()),))\n",
        ),
        strength="0.4",
    )
    yield from faulty(
        "hf",
        "b",
        "labels-wrong",
        wrong,
        (
            "train_rows, eval_rows =",
            'for row in encoded[:-250:2]:\n    row["labels"] = random.randrange(6)\ntrain_rows, eval_rows =',
        ),
        strength="0.5",
    )
    yield from faulty(
        "images",
        "b",
        "label-out-of-range",
        "data.invalid-labels",
        ("rng.randint(0, 6, size)", "rng.randint(0, 7, size)"),
        check="crash",
        accept=literally("a label id that does not fit the model's head", "processing.tokenizer-mismatch"),
    )
    yield from faulty(
        "sentences",
        "b",
        "label-out-of-range",
        "data.invalid-labels",
        ("for target, chapter in enumerate(chapters):", "for target, chapter in enumerate(chapters, 1):"),
        check="crash",
        accept=literally("a label id that does not fit the model's head", "processing.tokenizer-mismatch"),
    )
    shift = "data.distribution-shift"
    other = unseen(
        "validation inputs are other ones: by their making or by their processing",
        "processing.train-eval-mismatch",
    )
    other += unseen("the same, held against the benchmark", "porting.preprocessing-differs", benchmark=True)
    other += literally("the validation set is not the benchmark's", "porting.dataset-differs", benchmark=True)
    faint = ("    wave = np.sin(", '    dim = 0.3 if split == "val" else 1.0\n    wave = dim * np.sin(')
    yield from faulty("images", "ac", "shift", shift, faint, accept=other)
    drift = ("train_raw, valid_raw =", "raw[-600:] = raw[-600:] * 1.6 - 2500\ntrain_raw, valid_raw =")
    yield from faulty("series", "a", "shift", shift, drift, accept=other)
    rare = (
        "labels = rng.randint(0, 6, size)",
        'share = [0.75, 0.05, 0.05, 0.05, 0.05, 0.05] if split == "train" else None\n    labels = rng.choice(6, size, p=share)',
    )
    yield from faulty(
        "images",
        "b",
        "imbalance",
        "data.class-imbalance",
        rare,
        accept=literally("validation has other shares of the classes than training", shift)
        + unseen("samples of a class are few or were lost", "data.incomplete", benchmark=False),
    )
    part = (
        'train_images, train_labels = load("train", {{train_size}})\n',
        'train_images, train_labels = load("train", {{train_size}})\ntrain_images, train_labels = train_images[train_labels < 4], train_labels[train_labels < 4]\n',
    )
    yield from faulty(
        "images",
        "a",
        "classes-missing",
        "data.incomplete",
        part,
        accept=literally("a subset of the benchmark's set", "porting.dataset-differs", benchmark=True)
        + literally("two classes have no sample, four have hundreds", "data.class-imbalance")
        + literally("validation has classes that training has not", shift),
    )
    leak = (
        "x_train, y_train = features[:-800]",
        "features[:, 7] = labels + 0.01 * features[:, 7]\nx_train, y_train = features[:-800]",
    )
    yield from faulty("tabular", "ab", "target-in-input", "data.leakage", leak, check="better")
