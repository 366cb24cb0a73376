# %% [markdown]
# # Plumage: which species?
# Photo plus two field notes (month, altitude). MobileNetV2 with a new head first, then the upper part of it as well.

# %%
import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
import numpy as np
import pandas as pd
import tensorflow as tf
from keras import layers

ROOT = os.environ.get("PLUMAGE_ROOT", "../input/plumage")
SIDE = 160
BATCH = 32
HEAD_EPOCHS = 6
TUNE_EPOCHS = 25
SEED = 23

keras.utils.set_random_seed(SEED)

# %%
sightings = pd.read_csv(f"{ROOT}/sightings.csv").dropna(subset=["species", "month", "altitude"])
sightings = sightings.sort_values(["species", "file"]).reset_index(drop=True)
SPECIES = sorted(sightings["species"].unique())
sightings["target"] = sightings["species"].map({s: i for i, s in enumerate(SPECIES)})

# a ringed bird is photographed many times: the split goes by bird
birds = np.random.default_rng(SEED).permutation(sightings["bird"].unique())
n_held = int(0.15 * len(birds))
test_df = sightings[sightings["bird"].isin(birds[:n_held])]
val_df = sightings[sightings["bird"].isin(birds[n_held : 2 * n_held])]
train_df = sightings[sightings["bird"].isin(birds[2 * n_held :])]
ALT_MEAN, ALT_STD = train_df["altitude"].mean(), train_df["altitude"].std()
print(len(train_df), "train", len(val_df), "val", len(test_df), "test", len(SPECIES), "species")


# %%
def field_notes(df):
    angle = 2 * np.pi * (df["month"] - 1) / 12
    height = (df["altitude"] - ALT_MEAN) / ALT_STD
    return np.stack([np.sin(angle), np.cos(angle), height], axis=1).astype("float32")


def load(path, notes, target):
    photo = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    photo = tf.image.resize_with_pad(photo, SIDE, SIDE)
    return {"photo": photo, "notes": notes}, target


def make_ds(df, train=False):
    paths = (ROOT + "/photos/" + df["file"]).to_numpy(dtype=str)
    ds = tf.data.Dataset.from_tensor_slices((paths, field_notes(df), df["target"].to_numpy()))
    if train:
        ds = ds.shuffle(len(df), seed=SEED)
    ds = ds.map(load, num_parallel_calls=tf.data.AUTOTUNE)
    return ds.batch(BATCH).prefetch(tf.data.AUTOTUNE)


train_ds = make_ds(train_df, train=True)
val_ds = make_ds(val_df)
test_ds = make_ds(test_df)

counts = train_df["target"].value_counts()
class_weight = {c: len(train_df) / (len(counts) * n) for c, n in counts.items()}

# %%
augment = keras.Sequential(
    [layers.RandomFlip("horizontal"), layers.RandomRotation(0.05), layers.RandomZoom(0.15)], name="augment"
)
base = keras.applications.MobileNetV2(input_shape=(SIDE, SIDE, 3), include_top=False, weights="imagenet")
base.trainable = False

photo = keras.Input((SIDE, SIDE, 3), name="photo")
notes = keras.Input((3,), name="notes")
x = augment(photo)
x = layers.Rescaling(1 / 127.5, offset=-1)(x)
x = base(x, training=False)
x = layers.GlobalAveragePooling2D()(x)
n = layers.Dense(16, activation="relu")(notes)
x = layers.Concatenate()([x, n])
x = layers.Dense(128, activation="relu")(x)
x = layers.Dropout(0.3)(x)
logits = layers.Dense(len(SPECIES))(x)
model = keras.Model({"photo": photo, "notes": notes}, logits)


def compile_with(lr):
    model.compile(
        optimizer=keras.optimizers.Adam(lr),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )


# %%
compile_with(1e-3)
model.fit(train_ds, validation_data=val_ds, epochs=HEAD_EPOCHS, class_weight=class_weight)

# %%
base.trainable = True
for layer in base.layers[:-40]:
    layer.trainable = False

steps = len(train_ds)
compile_with(
    keras.optimizers.schedules.CosineDecay(
        0.0, decay_steps=steps * (TUNE_EPOCHS - 1), warmup_target=5e-5, warmup_steps=steps
    )
)
callbacks = [
    keras.callbacks.ModelCheckpoint("best.keras", monitor="val_accuracy", mode="max", save_best_only=True),
    keras.callbacks.EarlyStopping(monitor="val_accuracy", mode="max", patience=8),
    keras.callbacks.CSVLogger("tune.csv"),
]
model.fit(train_ds, validation_data=val_ds, epochs=TUNE_EPOCHS, class_weight=class_weight, callbacks=callbacks)

# %%
model = keras.models.load_model("best.keras")
guess = model.predict(test_ds).argmax(axis=-1)
truth = test_df["target"].to_numpy()
confusion = tf.math.confusion_matrix(truth, guess, num_classes=len(SPECIES)).numpy()
recall = np.diag(confusion) / np.maximum(confusion.sum(axis=1), 1)
print(f"top-1 {np.mean(guess == truth):.4f}   mean recall {recall.mean():.4f}")
for i in recall.argsort()[:5]:
    print(f"  {SPECIES[i]:30s} {recall[i]:.3f}")
