# %% [markdown]
# # Leaf diseases - MobileNetV2, two stages
# train.csv has the columns image_id, plant_id, disease; the pictures are in train_images/

# %%
import os

import keras
import numpy as np
import pandas as pd
import tensorflow as tf
from keras import layers
from sklearn.metrics import classification_report, f1_score
from sklearn.model_selection import StratifiedGroupKFold

DATA = os.environ.get("LEAF_DATA", "input/leaves")
OUT = os.environ.get("LEAF_OUT", "working")
IMG = 224
BATCH = 32
FOLD = 0
SEED = 2023
HEAD_EPOCHS = 5
FINE_EPOCHS = 20
HEAD_LR = 1e-3
FINE_LR = 1e-4
AUTO = tf.data.AUTOTUNE

keras.utils.set_random_seed(SEED)
keras.mixed_precision.set_global_policy("mixed_float16")
os.makedirs(OUT, exist_ok=True)

# %%
df = pd.read_csv(f"{DATA}/train.csv")
CLASSES = sorted(df.disease.unique())
df["target"] = df.disease.map({c: i for i, c in enumerate(CLASSES)})
df["path"] = DATA + "/train_images/" + df.image_id

# several pictures show the same plant -> keep them in one fold
skf = StratifiedGroupKFold(n_splits=5, shuffle=True, random_state=SEED)
train_idx, valid_idx = list(skf.split(df, df.target, groups=df.plant_id))[FOLD]
train_df = df.iloc[train_idx].reset_index(drop=True)
valid_df = df.iloc[valid_idx].reset_index(drop=True)
print(len(train_df), "train", len(valid_df), "valid", CLASSES)

counts = train_df.target.value_counts()
class_weight = {i: len(train_df) / (len(CLASSES) * counts[i]) for i in range(len(CLASSES))}


# %%
def decode(path, label):
    img = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    img = tf.image.resize(img, (IMG, IMG))
    return img, label


def augment(img, label):
    img = tf.image.random_flip_left_right(img)
    img = tf.image.random_flip_up_down(img)
    img = tf.image.random_brightness(img, 20.0)
    img = tf.image.random_contrast(img, 0.8, 1.2)
    return tf.clip_by_value(img, 0.0, 255.0), label


def scale(img, label):
    return keras.applications.mobilenet_v2.preprocess_input(img), label


def make_ds(frame, training):
    ds = tf.data.Dataset.from_tensor_slices((frame.path.values, frame.target.values))
    ds = ds.map(decode, num_parallel_calls=AUTO).cache()
    if training:
        ds = ds.shuffle(len(frame), seed=SEED, reshuffle_each_iteration=True)
        ds = ds.map(augment, num_parallel_calls=AUTO)
    ds = ds.map(scale, num_parallel_calls=AUTO)
    ds = ds.batch(BATCH)
    return ds.prefetch(AUTO)


train_ds = make_ds(train_df, training=True)
valid_ds = make_ds(valid_df, training=False)

# %%
backbone = keras.applications.MobileNetV2(
    input_shape=(IMG, IMG, 3),
    include_top=False,
    weights="imagenet",
)
backbone.trainable = False

inputs = keras.Input((IMG, IMG, 3))
# training=False keeps the batch norm statistics of ImageNet, also while fine-tuning
x = backbone(inputs, training=False)
x = layers.GlobalAveragePooling2D()(x)
x = layers.Dropout(0.3)(x)
x = layers.Dense(256, activation="relu", kernel_initializer="he_normal")(x)
x = layers.Dropout(0.3)(x)
outputs = layers.Dense(len(CLASSES), dtype="float32", name="logits")(x)
model = keras.Model(inputs, outputs)

loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

# %% stage 1: head only
model.compile(keras.optimizers.Adam(HEAD_LR), loss=loss_fn, metrics=["accuracy"])
model.fit(train_ds, validation_data=valid_ds, epochs=HEAD_EPOCHS, class_weight=class_weight, verbose=2)

# %% stage 2: upper blocks too
backbone.trainable = True
for layer in backbone.layers[:100]:
    layer.trainable = False

steps = len(train_ds) * FINE_EPOCHS
schedule = keras.optimizers.schedules.CosineDecay(FINE_LR, decay_steps=steps, alpha=0.01)
model.compile(
    keras.optimizers.AdamW(schedule, weight_decay=1e-5, clipnorm=1.0),
    loss=loss_fn,
    metrics=["accuracy"],
)

callbacks = [
    keras.callbacks.ModelCheckpoint(
        f"{OUT}/fold{FOLD}.weights.h5",
        monitor="val_accuracy",
        mode="max",
        save_best_only=True,
        save_weights_only=True,
    ),
    keras.callbacks.EarlyStopping(monitor="val_loss", patience=6, restore_best_weights=False),
    keras.callbacks.CSVLogger(f"{OUT}/fold{FOLD}.csv"),
]
history = model.fit(
    train_ds,
    validation_data=valid_ds,
    epochs=FINE_EPOCHS,
    class_weight=class_weight,
    callbacks=callbacks,
    verbose=2,
)

# %% out-of-fold score
model.load_weights(f"{OUT}/fold{FOLD}.weights.h5")
logits = model.predict(valid_ds, verbose=0)
pred = np.argmax(logits, axis=-1)
print(classification_report(valid_df.target, pred, target_names=CLASSES, zero_division=0))
print("macro F1", f1_score(valid_df.target, pred, average="macro"))

oof = valid_df[["image_id", "target"]].copy()
oof["pred"] = pred
oof.to_csv(f"{OUT}/oof_fold{FOLD}.csv", index=False)
