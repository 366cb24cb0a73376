import numpy as np
import pandas as pd
import tensorflow as tf
from sklearn.model_selection import GroupShuffleSplit
from tensorflow import keras
from tensorflow.keras import layers

P = {"seed": 8, "vocab": 20000, "length": 120, "batch": 128, "epochs": 30, "rate": 1e-3}
keras.utils.set_random_seed(P["seed"])

NUMBERS = ["estimate_low", "estimate_high", "height_mm", "width_mm", "year"]


def read(path):
    frame = pd.read_csv(path, parse_dates=["sold_on"])
    frame = frame.drop_duplicates(subset=["lot_text", "sold_on"])
    frame = frame[frame["hammer"] > 0].copy()
    frame["log_hammer"] = np.log(frame["hammer"])
    return frame.sort_values("sold_on").reset_index(drop=True)


def parts(frame):
    """Objects that came up twice stay in one part."""
    outer = GroupShuffleSplit(n_splits=1, test_size=0.15, random_state=P["seed"])
    rest, test = next(outer.split(frame, groups=frame["object_id"]))
    inner = GroupShuffleSplit(n_splits=1, test_size=0.15, random_state=P["seed"])
    kept = frame.iloc[rest].reset_index(drop=True)
    train, valid = next(inner.split(kept, groups=kept["object_id"]))
    return kept.iloc[train].copy(), kept.iloc[valid].copy(), frame.iloc[test].copy()


def fill(train, *others):
    middle = train[NUMBERS].median()
    for part in (train, *others):
        part[NUMBERS] = part[NUMBERS].fillna(middle)


def inputs(part):
    return {
        "text": tf.constant(part["lot_text"].fillna("").tolist()),
        "house": tf.constant(part["house"].fillna("other").tolist()),
        "numbers": part[NUMBERS].to_numpy("float32"),
    }


frame = read("lots.csv")
train, valid, test = parts(frame)
fill(train, valid, test)
print(len(train), len(valid), len(test))

words = layers.TextVectorization(max_tokens=P["vocab"], output_sequence_length=P["length"])
words.adapt(train["lot_text"].fillna("").tolist())
houses = layers.StringLookup(output_mode="one_hot")
houses.adapt(train["house"].fillna("other").tolist())
scale = layers.Normalization()
scale.adapt(train[NUMBERS].to_numpy("float32"))


def make_model():
    text = keras.Input((), dtype=tf.string, name="text")
    house = keras.Input((), dtype=tf.string, name="house")
    numbers = keras.Input((len(NUMBERS),), name="numbers")
    t = layers.Embedding(P["vocab"], 64)(words(text))
    t = layers.Bidirectional(layers.GRU(48))(t)
    n = layers.Dense(32, activation="relu")(scale(numbers))
    h = layers.concatenate([t, houses(house), n])
    h = layers.Dropout(0.3)(layers.Dense(64, activation="relu")(h))
    return keras.Model([text, house, numbers], layers.Dense(1)(h))


model = make_model()
model.compile(keras.optimizers.Adam(P["rate"]), loss="mse", metrics=["mae"])
stop = keras.callbacks.EarlyStopping("val_loss", patience=4, restore_best_weights=True)
model.fit(
    inputs(train), train["log_hammer"].to_numpy("float32"),
    validation_data=(inputs(valid), valid["log_hammer"].to_numpy("float32")),
    batch_size=P["batch"], epochs=P["epochs"], callbacks=[stop], verbose=2,
)
loss, mae = model.evaluate(inputs(test), test["log_hammer"].to_numpy("float32"), batch_size=P["batch"], verbose=0)
print("test: log error", round(mae, 4))
model.save("lots.keras")
