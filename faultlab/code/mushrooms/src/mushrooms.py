# %% [markdown]
# Mushroom genera from photos: a small convolutional net in Keras 3, read with tf.data.

# %%
import os
import pathlib

import keras
import numpy as np
import tensorflow as tf
from keras import layers

DATA_DIR = pathlib.Path(os.environ.get("MUSHROOMS", "mushrooms"))
IMG = 128
BATCH = 32
EPOCHS = 40
BASE_LR = 1e-3
WARMUP_EPOCHS = 2
SEED = 1912
GENERA = sorted(p.name for p in (DATA_DIR / "train").iterdir() if p.is_dir())

keras.utils.set_random_seed(SEED)


# %%
def file_list(part):
    paths, labels = [], []
    for idx, genus in enumerate(GENERA):
        for path in sorted((DATA_DIR / part / genus).glob("*.jpg")):
            paths.append(str(path))
            labels.append(idx)
    return np.array(paths), np.array(labels, dtype="int32")


def load_image(path, label):
    img = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    img = tf.image.resize(img, (IMG, IMG))
    return img / 255.0, label


def augment(img, label):
    img = tf.image.random_flip_left_right(img)
    img = tf.image.random_brightness(img, 0.15)
    img = tf.image.random_contrast(img, 0.8, 1.2)
    return tf.clip_by_value(img, 0.0, 1.0), label


def make_dataset(paths, labels, training):
    ds = tf.data.Dataset.from_tensor_slices((paths, labels))
    if training:
        ds = ds.shuffle(len(paths), seed=SEED, reshuffle_each_iteration=True)
    ds = ds.map(load_image, num_parallel_calls=tf.data.AUTOTUNE)
    if training:
        ds = ds.map(augment, num_parallel_calls=tf.data.AUTOTUNE)
    return ds.batch(BATCH).prefetch(tf.data.AUTOTUNE)


train_paths, train_labels = file_list("train")
val_paths, val_labels = file_list("val")
test_paths, test_labels = file_list("test")
train_ds = make_dataset(train_paths, train_labels, training=True)
val_ds = make_dataset(val_paths, val_labels, training=False)
test_ds = make_dataset(test_paths, test_labels, training=False)
print(len(train_paths), "train", len(val_paths), "val", len(GENERA), "genera")


# %%
def conv_block(x, filters, stride):
    skip = x
    x = layers.Conv2D(filters, 3, strides=stride, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU()(x)
    x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    if stride != 1 or skip.shape[-1] != filters:
        skip = layers.Conv2D(filters, 1, strides=stride, use_bias=False)(skip)
        skip = layers.BatchNormalization()(skip)
    return layers.ReLU()(layers.Add()([x, skip]))


def build_model():
    inputs = keras.Input((IMG, IMG, 3))
    x = layers.Normalization(mean=[0.45, 0.42, 0.36], variance=[0.06, 0.06, 0.06])(inputs)
    x = layers.Conv2D(32, 3, strides=2, padding="same", activation="relu")(x)
    for filters, stride in [(32, 1), (64, 2), (128, 2), (192, 2)]:
        x = conv_block(x, filters, stride)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dropout(0.3)(x)
    outputs = layers.Dense(len(GENERA))(x)
    return keras.Model(inputs, outputs)


# %%
steps = -(-len(train_paths) // BATCH)
schedule = keras.optimizers.schedules.CosineDecay(
    initial_learning_rate=BASE_LR * 0.05,
    decay_steps=(EPOCHS - WARMUP_EPOCHS) * steps,
    warmup_target=BASE_LR,
    warmup_steps=WARMUP_EPOCHS * steps,
)
model = build_model()
model.compile(
    optimizer=keras.optimizers.AdamW(schedule, weight_decay=1e-4, clipnorm=1.0),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"],
)

freq = np.bincount(train_labels, minlength=len(GENERA))
class_weight = {i: len(train_labels) / (len(GENERA) * max(n, 1)) for i, n in enumerate(freq)}
best = keras.callbacks.ModelCheckpoint("mushrooms.weights.h5", monitor="val_accuracy", mode="max",
                                       save_best_only=True, save_weights_only=True)
stop = keras.callbacks.EarlyStopping(monitor="val_accuracy", mode="max", patience=10)
log = keras.callbacks.CSVLogger("history.csv")
history = model.fit(train_ds, validation_data=val_ds, epochs=EPOCHS, class_weight=class_weight,
                    callbacks=[best, stop, log], verbose=2)

# %%
model.load_weights("mushrooms.weights.h5")
test_loss, test_acc = model.evaluate(test_ds, verbose=0)
pred = model.predict(test_ds, verbose=0).argmax(axis=-1)
per_genus = [(pred[test_labels == i] == i).mean() for i in range(len(GENERA)) if (test_labels == i).any()]
print(f"test loss {test_loss:.4f}  accuracy {test_acc:.4f}  mean per genus {np.mean(per_genus):.4f}")
