# Passengers of the next sailing from the last days, the weather and the port: a Keras functional model
import numpy as np
import pandas as pd
import keras
from keras import layers

CONFIG = dict(past=48, horizon=6, batch=128, epochs=30, lr=1e-3, units=64, ports=14, seed=11)
keras.utils.set_random_seed(CONFIG["seed"])

table = pd.read_parquet("sailings.parquet").sort_values("time")
calendar = ["hour_sin", "hour_cos", "wind", "rain", "holiday"]
cut = table.time.quantile(0.8)
stats = table.loc[table.time < cut, ["passengers", *calendar]].agg(["mean", "std"])
scaled = (table[["passengers", *calendar]] - stats.loc["mean"]) / stats.loc["std"]
table = pd.concat([scaled, table[["port", "time"]]], axis=1)


def windows(part):
    past, known, port, target = [], [], [], []
    for code, rows in part.groupby("port"):
        values = rows[["passengers", *calendar]].to_numpy("float32")
        for k in range(CONFIG["past"], len(values) - CONFIG["horizon"]):
            past.append(values[k - CONFIG["past"]:k])
            known.append(values[k:k + CONFIG["horizon"], 1:])
            port.append(code)
            target.append(values[k:k + CONFIG["horizon"], 0])
    return {"past": np.stack(past), "known": np.stack(known), "port": np.array(port, "int32")}, np.stack(target)


x_train, y_train = windows(table[table.time < cut])
x_valid, y_valid = windows(table[table.time >= cut])


def residual(x, units, rate):
    h = layers.Conv1D(units, 3, padding="causal", dilation_rate=rate)(x)
    h = layers.LayerNormalization()(h)
    h = layers.Activation("gelu")(h)
    h = layers.Dropout(0.1)(h)
    if x.shape[-1] != units:
        x = layers.Dense(units)(x)
    return layers.Add()([x, h])


def build():
    past = keras.Input((CONFIG["past"], 1 + len(calendar)), name="past")
    known = keras.Input((CONFIG["horizon"], len(calendar)), name="known")
    port = keras.Input((), dtype="int32", name="port")
    embedded = layers.Embedding(CONFIG["ports"], 8)(port)
    x = past
    for rate in (1, 2, 4, 8):
        x = residual(x, CONFIG["units"], rate)
    query = layers.Dense(CONFIG["units"])(known)
    context = layers.MultiHeadAttention(4, CONFIG["units"] // 4)(query, x)
    context = layers.LayerNormalization()(layers.Add()([query, context]))
    where = layers.RepeatVector(CONFIG["horizon"])(embedded)
    h = layers.Concatenate()([context, where])
    h = layers.TimeDistributed(layers.Dense(CONFIG["units"], activation="relu"))(h)
    out = layers.Dense(1)(h)
    out = layers.Reshape((CONFIG["horizon"],))(out)
    return keras.Model([past, known, port], out)


model = build()
model.compile(optimizer=keras.optimizers.Adam(CONFIG["lr"]), loss="huber", metrics=["mae"])
stop = keras.callbacks.EarlyStopping(monitor="val_mae", patience=4, restore_best_weights=True)
history = model.fit(x_train, y_train, validation_data=(x_valid, y_valid), batch_size=CONFIG["batch"], epochs=CONFIG["epochs"], callbacks=[stop])
print("valid mae in passengers", model.evaluate(x_valid, y_valid, verbose=0)[1] * stats.loc["std", "passengers"])
model.save("ferries.keras")
