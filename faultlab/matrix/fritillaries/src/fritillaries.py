"""Fine-tune EfficientNet on photographs of fritillaries, with the locality and date of each record."""

import csv
import pathlib
import random

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

ROOT = pathlib.Path("fritillaries")
SIZE = 224
BATCH = 32
HEAD_EPOCHS = 8
TUNE_EPOCHS = 20
SEED = 17

keras.utils.set_random_seed(SEED)

with open(ROOT / "records.csv", newline="") as f:
    records = list(csv.DictReader(f))
records.sort(key=lambda r: r["file"])
random.Random(SEED).shuffle(records)

species = sorted({r["species"] for r in records})
index = {name: i for i, name in enumerate(species)}

files = np.array([str(ROOT / "photos" / r["file"]) for r in records])
meta = np.array([[float(r["lat"]), float(r["lon"]), float(r["day"])] for r in records], "float32")
labels = np.array([index[r["species"]] for r in records], "int64")

n_val = int(0.15 * len(files))
n_test = int(0.15 * len(files))
val_part = slice(0, n_val)
test_part = slice(n_val, n_val + n_test)
train_part = slice(n_val + n_test, None)

counts = np.bincount(labels[train_part], minlength=len(species))
class_weight = {i: len(labels[train_part]) / (len(species) * max(c, 1)) for i, c in enumerate(counts)}


def read(path, extra, label):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    image = tf.image.resize(image, (SIZE, SIZE))
    return {"photo": image, "meta": extra}, label


def make(part, training):
    ds = tf.data.Dataset.from_tensor_slices((files[part], meta[part], labels[part]))
    if training:
        ds = ds.shuffle(len(files[part]), seed=SEED)
    ds = ds.map(read, num_parallel_calls=tf.data.AUTOTUNE)
    return ds.batch(BATCH).prefetch(tf.data.AUTOTUNE)


train_ds = make(train_part, True)
val_ds = make(val_part, False)
test_ds = make(test_part, False)

normalizer = layers.Normalization(axis=-1)
normalizer.adapt(meta[train_part])

augment = keras.Sequential(
    [
        layers.RandomFlip("horizontal"),
        layers.RandomRotation(0.08),
        layers.RandomContrast(0.2),
    ],
    name="augment",
)

base = keras.applications.EfficientNetB0(include_top=False, weights="imagenet", input_shape=(SIZE, SIZE, 3))
base.trainable = False

photo = keras.Input((SIZE, SIZE, 3), name="photo")
extra = keras.Input((3,), name="meta")
x = augment(photo)
x = base(x, training=False)
x = layers.GlobalAveragePooling2D()(x)
m = normalizer(extra)
m = layers.Dense(32, activation="relu")(m)
x = layers.Concatenate()([x, m])
x = layers.Dropout(0.3)(x)
x = layers.Dense(128, activation="relu")(x)
x = layers.Dropout(0.3)(x)
outputs = layers.Dense(len(species), activation="softmax")(x)
model = keras.Model([photo, extra], outputs)

model.compile(
    optimizer=keras.optimizers.Adam(1e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(),
    metrics=["accuracy", keras.metrics.SparseTopKCategoricalAccuracy(k=3, name="top3")],
)
model.fit(train_ds, validation_data=val_ds, epochs=HEAD_EPOCHS, class_weight=class_weight)

base.trainable = True
for layer in base.layers:
    if isinstance(layer, layers.BatchNormalization):
        layer.trainable = False

steps = TUNE_EPOCHS * len(train_ds)
schedule = keras.optimizers.schedules.CosineDecay(
    0.0, decay_steps=steps - steps // 10, warmup_target=5e-5, warmup_steps=steps // 10
)
model.compile(
    optimizer=keras.optimizers.Adam(schedule, clipnorm=1.0),
    loss=keras.losses.SparseCategoricalCrossentropy(),
    metrics=["accuracy", keras.metrics.SparseTopKCategoricalAccuracy(k=3, name="top3")],
)
callbacks = [
    keras.callbacks.ModelCheckpoint(
        "fritillaries.keras", monitor="val_accuracy", mode="max", save_best_only=True
    ),
    keras.callbacks.EarlyStopping(monitor="val_loss", patience=5, restore_best_weights=True),
    keras.callbacks.CSVLogger("tune.csv"),
]
history = model.fit(
    train_ds,
    validation_data=val_ds,
    epochs=TUNE_EPOCHS,
    class_weight=class_weight,
    callbacks=callbacks,
)

best = keras.models.load_model("fritillaries.keras")
print(best.evaluate(test_ds, return_dict=True))

probabilities = best.predict(test_ds)
predicted = probabilities.argmax(axis=1)
truth = labels[test_part]
recalls = []
for i in range(len(species)):
    mine = truth == i
    if mine.any():
        recalls.append(float((predicted[mine] == i).mean()))
print("balanced accuracy", np.mean(recalls))
