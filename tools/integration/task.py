"""What every integration run trains on: samples that a small network learns within seconds, and three cases.

`healthy` should stay silent; `rate` trains with a far too large learning rate; `missing` has one field that
was never filled in. Frameworks that train by themselves take the arrays; trackers that only log take
`training`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

FEATURES, CLASSES, TRAIN, EVAL = 16, 5, 2000, 500
CASES = ("healthy", "rate", "missing")
SETTINGS: dict[str, Any] = {
    "batch_size": 32,
    "epochs": 12,
    "momentum": 0.9,
    "weight_decay": 0.001,
    "optimizer": "sgd",
    "seed": 7,
}
RATES = {"healthy": 0.02, "missing": 0.02, "rate": 8.0}


def samples(case: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return train x [2000, 16] float32, train y [2000] int64, and the same of 500 evaluation samples."""
    draw = np.random.default_rng(11)
    x = draw.normal(size=(TRAIN + EVAL, FEATURES)).astype(np.float32)
    hidden = np.tanh(x @ draw.normal(size=(FEATURES, 12)) / 2)
    scores = hidden @ draw.normal(size=(12, CLASSES)) + 0.3 * draw.normal(size=(len(x), CLASSES))
    y = scores.argmax(1).astype(np.int64)
    if case == "missing":
        x[1403, 3] = np.nan
    return x[:TRAIN], y[:TRAIN], x[TRAIN:], y[TRAIN:]


def training(case: str) -> Iterator[tuple[int, int, dict[str, float]]]:
    """Train a network of one hidden layer in numpy; yield (step, epoch, what a script would log).

    Training values every five steps, evaluation values at the end of each epoch.
    """
    x, y, eval_x, eval_y = samples(case)
    draw = np.random.default_rng(SETTINGS["seed"])
    weights = [draw.normal(size=shape) / np.sqrt(shape[0]) for shape in ((FEATURES, 32), (32, CLASSES))]
    velocity = [np.zeros_like(w) for w in weights]
    rate, size, step = RATES[case], SETTINGS["batch_size"], 0
    with np.errstate(all="ignore"):
        for epoch in range(SETTINGS["epochs"]):
            order = draw.permutation(TRAIN)
            for at in range(0, TRAIN - size + 1, size):
                chosen = order[at : at + size]
                loss, _, gradients = _pass(weights, x[chosen], y[chosen])
                norm = float(np.sqrt(sum((g**2).sum() for g in gradients)))
                for w, v, g in zip(weights, velocity, gradients, strict=True):
                    v *= SETTINGS["momentum"]
                    v += g + SETTINGS["weight_decay"] * w
                    w -= rate * v
                step += 1
                if step % 5 == 0:
                    yield step, epoch, {"train/loss": loss, "train/grad_norm": norm, "learning_rate": rate}
            loss, accuracy, _ = _pass(weights, eval_x, eval_y)
            yield step, epoch, {"eval/loss": loss, "eval/accuracy": accuracy}


def _pass(weights: list[np.ndarray], x: np.ndarray, y: np.ndarray) -> tuple[float, float, list[np.ndarray]]:
    """Mean cross-entropy, accuracy and the gradients of one batch."""
    hidden = np.tanh(x @ weights[0])
    scores = hidden @ weights[1]
    scores = scores - scores.max(1, keepdims=True)
    chances = np.exp(scores)
    chances /= chances.sum(1, keepdims=True)
    loss = float(-np.log(chances[np.arange(len(y)), y]).mean())
    accuracy = float((scores.argmax(1) == y).mean())
    wrong = chances
    wrong[np.arange(len(y)), y] -= 1
    wrong /= len(y)
    inner = (wrong @ weights[1].T) * (1 - hidden**2)
    return loss, accuracy, [x.T @ inner, hidden.T @ wrong]
