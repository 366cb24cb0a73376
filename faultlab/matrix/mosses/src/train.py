"""Train MossNet. Usage: python train.py --config moss.json"""

import argparse
import json

import tensorflow as tf
from tensorflow import keras

from moss_data import load_arrays, training_set, validation_set
from moss_model import MossNet

DEFAULTS = {
    "data": "mosses.npz",
    "classes": 14,
    "batch_size": 64,
    "epochs": 50,
    "lr": 2e-3,
    "weight_decay": 1e-4,
    "drop_rate": 0.1,
    "seed": 3,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--config")
    cli = parser.parse_args()
    cfg = dict(DEFAULTS)
    if cli.config:
        with open(cli.config) as f:
            cfg.update(json.load(f))

    keras.utils.set_random_seed(cfg["seed"])
    train, held_out = load_arrays(cfg["data"], cfg["seed"])
    train_ds = training_set(*train, cfg["batch_size"], cfg["seed"])
    val_ds = validation_set(*held_out, cfg["batch_size"])

    steps = (len(train[0]) // cfg["batch_size"]) * cfg["epochs"]
    schedule = keras.optimizers.schedules.CosineDecay(cfg["lr"], decay_steps=steps, alpha=0.01)
    model = MossNet(cfg["classes"], rate=cfg["drop_rate"])
    model.compile(optimizer=keras.optimizers.AdamW(schedule, weight_decay=cfg["weight_decay"]))

    keep_best = keras.callbacks.ModelCheckpoint(
        "moss.weights.h5", monitor="val_accuracy", mode="max", save_best_only=True, save_weights_only=True
    )
    model.fit(train_ds, validation_data=val_ds, epochs=cfg["epochs"], callbacks=[keep_best])

    model.load_weights("moss.weights.h5")
    print(model.evaluate(val_ds, return_dict=True))


if __name__ == "__main__":
    main()
