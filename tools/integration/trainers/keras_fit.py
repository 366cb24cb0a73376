"""Keras `fit`: CSVLogger, its progress bars, and with the TensorFlow backend its TensorBoard callback."""

import os
import sys
from pathlib import Path

import task

os.environ.setdefault("KERAS_BACKEND", "jax")
import keras  # reads the backend from the environment

case, out = sys.argv[1:]
keras.utils.set_random_seed(task.SETTINGS["seed"])
train_x, train_y, eval_x, eval_y = task.samples(case)
model = keras.Sequential([keras.layers.Dense(64, activation="tanh"), keras.layers.Dense(task.CLASSES)])
optimizer = keras.optimizers.SGD(
    task.RATES[case], momentum=task.SETTINGS["momentum"], weight_decay=task.SETTINGS["weight_decay"]
)
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile(optimizer, loss=loss, metrics=["accuracy"])
callbacks = [  # the first one adds the learning rate to what is logged
    keras.callbacks.ReduceLROnPlateau(patience=task.SETTINGS["epochs"]),
    keras.callbacks.CSVLogger(str(Path(out) / "training.log")),
]
if keras.backend.backend() == "tensorflow":
    callbacks.append(keras.callbacks.TensorBoard(str(Path(out) / "logs"), update_freq=5, write_graph=False))
model.fit(
    train_x,
    train_y,
    batch_size=task.SETTINGS["batch_size"],
    epochs=task.SETTINGS["epochs"],
    validation_data=(eval_x, eval_y),
    callbacks=callbacks,
)
