"""Schedules of Keras beside the `fit` that they run in: present or not."""

from __future__ import annotations

import pytest

from .._scripts import state

FIT = """
import numpy as np
import keras
BATCH, EPOCHS = 64, 30
z = np.load("rows.npz")
x_train, y_train = z["x"], z["y"]
{HEAD}
net = keras.Sequential([keras.layers.Dense(3)])
net.compile(optimizer=keras.optimizers.SGD({RATE}), loss="mse")
net.fit(x_train, y_train, batch_size=BATCH, epochs=EPOCHS, callbacks=[{CALL}])
"""


def program(head: str, rate: str = "0.1", call: str = "") -> str:
    return FIT.replace("{HEAD}", head).replace("{RATE}", rate).replace("{CALL}", call)


COSINE = "s = keras.optimizers.schedules.CosineDecay(0.1, n * EPOCHS)"


@pytest.mark.parametrize(
    ("head", "wanted"),
    [
        ("n = len(x_train) // BATCH\n" + COSINE, False),
        ("n = int(np.ceil(len(x_train) / BATCH))\n" + COSINE, False),
        ("n = len(x_train)\n" + COSINE, True),
        ("n = x_train.shape[0] // BATCH\n" + COSINE, False),
        ("n = len(x_train) // BATCH // EPOCHS\n" + COSINE, True),
        ("n = 1000\n" + COSINE, False),
        ("n = 1\n" + COSINE.replace("n * EPOCHS", "1000 * EPOCHS"), False),
        ("n = 1\n" + COSINE.replace("n * EPOCHS", "EPOCHS"), True),
        ("n = 0.8 * (len(x_train) // BATCH)\n" + COSINE, False),
    ],
)
def test_lengths(head: str, wanted: bool) -> None:
    assert (state("script-schedule-unit", program(head, "s")) == "present") == wanted


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("if epoch < 10:\n        return 0.1\n    return lr * 0.1", True),
        (
            "if epoch < 10:\n        return 0.1\n    if epoch < 20:\n        return lr * 0.1\n"
            "    return 0.01",
            True,
        ),
        ("if epoch in (10, 20):\n        return lr * 0.1\n    return lr", False),
        ("return lr * 0.95", False),
        ("return 0.1 if epoch < 10 else 0.01", False),
        ("return lr if epoch < 10 else lr * 0.9", False),
        ("return 0.1 * (0.5 ** (epoch // 10))", False),
        ("return 0.05 * (1 + np.cos(np.pi * epoch / EPOCHS))", False),
    ],
)
def test_played(body: str, wanted: bool) -> None:
    head = f"def ladder(epoch, lr):\n    {body}"
    text = program(head, call="keras.callbacks.LearningRateScheduler(ladder)")
    assert (state("script-schedule-unit", text) == "present") == wanted


def test_never_handed_on() -> None:
    head = "def ladder(epoch, lr):\n    return 0.1 if epoch < 10 else 0.01"
    assert state("script-scheduler-never-stepped", program(head)) == "present"
    used = program(head, call="keras.callbacks.LearningRateScheduler(ladder)")
    assert state("script-scheduler-never-stepped", used) != "present"
    other = program("def show(epoch, logs):\n    return 1", call="keras.callbacks.CSVLogger('a')")
    assert state("script-scheduler-never-stepped", other) != "present"
