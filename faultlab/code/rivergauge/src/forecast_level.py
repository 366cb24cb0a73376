"""
Water level of a river gauge: forecast for the next 24 hours from the last 72 hours.

Input: gauge_hourly.csv with time, level (cm), rain (mm), temp (deg C), soil (share).
"""
import numpy as np
import pandas as pd
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

CSV_FILE = "gauge_hourly.csv"
BEST_FILE = "best_level.keras"
PAST = 72
AHEAD = 24
BATCH = 64
EPOCHS = 40
PEAK_LR = 1e-3
UNITS = 48
AUTOTUNE = tf.data.AUTOTUNE

keras.utils.set_random_seed(7)


# ---------------------------------------------------------------- data
def read_gauge(path):
    df = pd.read_csv(path, parse_dates=["time"])
    df = df.drop_duplicates("time").sort_values("time").set_index("time").asfreq("h")
    df["rain"] = np.log1p(df["rain"].fillna(0.0))
    for name in ["level", "temp", "soil"]:
        # short gaps only; hours in long gaps stay empty
        df[name] = df[name].interpolate(limit=6, limit_area="inside")
    df["rain_day"] = df["rain"].rolling(24, min_periods=1).sum()
    angle = 2 * np.pi * df.index.dayofyear / 365.25
    df["season_sin"] = np.sin(angle)
    df["season_cos"] = np.cos(angle)
    return df[["level", "rain", "rain_day", "temp", "soil", "season_sin", "season_cos"]]


def split_by_time(df):
    a, b = int(len(df) * 0.7), int(len(df) * 0.85)
    return df.iloc[:a], df.iloc[a:b], df.iloc[b:]


def standardise(df, mean, std):
    return ((df - mean) / std).to_numpy(dtype=np.float32)


def complete_starts(values):
    """First rows of all windows without an empty hour."""
    empty = np.isnan(values).any(axis=1)
    counted = np.concatenate([[0], np.cumsum(empty)])
    starts = np.arange(len(values) - PAST - AHEAD + 1)
    return starts[counted[starts + PAST + AHEAD] == counted[starts]]


def make_dataset(values, shuffle=False):
    starts = complete_starts(values)
    table = tf.constant(values)

    def cut(start):
        past = table[start:start + PAST]
        ahead = table[start + PAST:start + PAST + AHEAD, 0]
        return tf.ensure_shape(past, (PAST, values.shape[1])), tf.ensure_shape(ahead, (AHEAD,))

    ds = tf.data.Dataset.from_tensor_slices(starts)
    if shuffle:
        ds = ds.shuffle(len(starts))
    ds = ds.map(cut, num_parallel_calls=AUTOTUNE)
    return ds.batch(BATCH).prefetch(AUTOTUNE)


# ---------------------------------------------------------------- model
def build_model(n_features):
    past = keras.Input((PAST, n_features), name="past")
    x = layers.Dense(UNITS)(past)
    for rate in (1, 2, 4, 8):
        y = layers.Conv1D(UNITS, 3, dilation_rate=rate, padding="causal", activation="relu")(x)
        x = layers.Add()([x, y])
        x = layers.LayerNormalization()(x)
    x = layers.GRU(64)(x)
    x = layers.Dropout(0.1)(x)
    x = layers.Dense(64, activation="relu")(x)
    change = layers.Dense(AHEAD, name="change")(x)
    # the net learns the change against the last known level
    last = past[:, -1, :1]
    level = layers.Add(name="level")([change, last])
    return keras.Model(past, level)


def compile_model(model, steps_per_epoch):
    schedule = keras.optimizers.schedules.CosineDecay(
        initial_learning_rate=0.0,
        decay_steps=EPOCHS * steps_per_epoch,
        warmup_target=PEAK_LR,
        warmup_steps=steps_per_epoch,
    )
    model.compile(
        optimizer=keras.optimizers.Adam(schedule, clipnorm=1.0),
        loss=keras.losses.Huber(),
        metrics=["mae"],
    )


# ---------------------------------------------------------------- scores
def report(model, ds, level_mean, level_std):
    guess = model.predict(ds, verbose=0) * level_std + level_mean
    truth = np.concatenate([y.numpy() for _, y in ds]) * level_std + level_mean
    rmse = np.sqrt(np.mean((guess - truth) ** 2, axis=0))
    nse = 1 - np.sum((guess - truth) ** 2, axis=0) / np.sum((truth - truth.mean(axis=0)) ** 2, axis=0)
    for hour in (1, 6, 12, 24):
        print(f"+{hour:2d} h   RMSE {rmse[hour - 1]:6.2f} cm   NSE {nse[hour - 1]:.3f}")


def main():
    df = read_gauge(CSV_FILE)
    train_df, valid_df, test_df = split_by_time(df)
    mean, std = train_df.mean(), train_df.std()
    train_values = standardise(train_df, mean, std)
    valid_values = standardise(valid_df, mean, std)
    test_values = standardise(test_df, mean, std)

    train_ds = make_dataset(train_values, shuffle=True)
    valid_ds = make_dataset(valid_values)
    test_ds = make_dataset(test_values)

    model = build_model(train_values.shape[1])
    compile_model(model, int(train_ds.cardinality()))
    model.summary()

    callbacks = [
        keras.callbacks.ModelCheckpoint(BEST_FILE, monitor="val_loss", mode="min", save_best_only=True),
        keras.callbacks.EarlyStopping(monitor="val_loss", patience=10),
        keras.callbacks.CSVLogger("history.csv"),
    ]
    model.fit(train_ds, validation_data=valid_ds, epochs=EPOCHS, callbacks=callbacks, verbose=2)

    best = keras.models.load_model(BEST_FILE)
    report(best, test_ds, mean["level"], std["level"])


if __name__ == "__main__":
    main()
