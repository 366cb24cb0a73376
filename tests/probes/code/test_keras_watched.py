"""What the callbacks of Keras watch: figures of held-out data, or those of training by the same name."""

from __future__ import annotations

import pytest

from tests.probes._scripts import state

TEXT = """
import keras

class Overlap(keras.metrics.Metric):
    def __init__(self, name="overlap", **kw):
        super().__init__(name=name, **kw)

net = keras.Sequential([keras.layers.Dense(1, activation="sigmoid")])
net.compile("adam", "binary_crossentropy", metrics=[Overlap(), keras.metrics.AUC(name="area"), "accuracy"])
calls = [keras.callbacks.{callback}]
net.fit(train.shuffle(999), validation_data=held, epochs=9, callbacks=calls)
net.load_weights("best.weights.h5")
net.evaluate(test)
"""


@pytest.mark.parametrize(
    ("callback", "found"),
    [
        ('ModelCheckpoint("b", monitor="overlap", mode="max", save_best_only=True)', True),
        ('ModelCheckpoint("b", "area", mode="max", save_best_only=True)', True),
        ('EarlyStopping("area", mode="max", restore_best_weights=True)', True),
        (
            'ModelCheckpoint("b", monitor="val_overlap", mode="max", save_best_only=True)',
            False,
        ),
        ('ModelCheckpoint("b", monitor="overlap", mode="max")', False),
        (
            'ModelCheckpoint("b", monitor="held_score", mode="max", save_best_only=True)',
            False,
        ),
        ('EarlyStopping("val_area", mode="max", restore_best_weights=True)', False),
    ],
)
def test_watched(callback: str, found: bool) -> None:
    assert (state("script-best-chosen-wrongly", TEXT.format(callback=callback)) == "present") is found
