"""Demand forecast for bike-share stations.

    python train.py            # writes config.json and history.csv
"""

import json
import os

os.environ.setdefault("KERAS_BACKEND", "torch")

import keras
from keras import layers

from features import NUMERIC, load
from simulate import simulate

CONFIG = {
    "seed": 5,
    "n_stations": 8,
    "n_days": 120,
    "valid_share": 0.2,
    "batch_size": 512,
    "epochs": 30,
    "learning_rate": 3e-3,
    "units": [64, 32],
    "dropout": 0.05,
    "l2": 1e-5,
    "plateau_patience": 3,
}


def build_model(cfg):
    numeric = keras.Input((len(NUMERIC),), name="numeric")
    hour = keras.Input((), dtype="int32", name="hour")
    weekday = keras.Input((), dtype="int32", name="weekday")
    station = keras.Input((), dtype="int32", name="station")

    hour_code = layers.Embedding(24, 8, name="hour_code")(hour)
    weekday_code = layers.Embedding(7, 3, name="weekday_code")(weekday)
    station_code = layers.Embedding(cfg["n_stations"], 4, name="station_code")(station)

    x = layers.Concatenate()([numeric, hour_code, weekday_code, station_code])
    for i, units in enumerate(cfg["units"]):
        x = layers.Dense(
            units,
            kernel_initializer="he_normal",
            kernel_regularizer=keras.regularizers.L2(cfg["l2"]),
            name=f"dense_{i}",
        )(x)
        x = layers.Activation("relu")(x)
        x = layers.Dropout(1 - cfg["dropout"])(x)
    out = layers.Dense(1, name="log_demand")(x)
    return keras.Model([numeric, hour, weekday, station], out, name="bikes")


def main():
    cfg = CONFIG
    keras.utils.set_random_seed(cfg["seed"])
    with open("config.json", "w") as f:
        json.dump(cfg, f, indent=2)

    table = simulate(cfg["n_stations"], cfg["n_days"])
    (x_train, y_train), (x_valid, y_valid) = load(table, cfg["valid_share"], seed=0)
    print(f"{len(y_train)} training rows, {len(y_valid)} validation rows")

    model = build_model(cfg)
    model.compile(
        optimizer=keras.optimizers.Adam(cfg["learning_rate"]),
        loss="mse",
        metrics=["mae"],
    )

    callbacks = [
        keras.callbacks.ReduceLROnPlateau(
            monitor="val_loss", factor=0.5, patience=cfg["plateau_patience"], min_lr=1e-5
        ),
        keras.callbacks.CSVLogger("history.csv"),
    ]
    model.fit(
        x_train,
        y_train,
        validation_data=(x_valid, y_valid),
        batch_size=cfg["batch_size"],
        epochs=cfg["epochs"],
        shuffle=True,
        callbacks=callbacks,
        verbose=2,
    )


if __name__ == "__main__":
    main()
