"""Train a small CNN on microscope images of pollen grains (one folder per species)."""

import argparse
import json
import os
import pathlib
import random

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

AUTOTUNE = tf.data.AUTOTUNE
IMAGENET_MEAN = [0.485, 0.456, 0.406]
IMAGENET_STD = [0.229, 0.224, 0.225]


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="pollen_images")
    p.add_argument("--image-size", type=int, default=96)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--warmup-epochs", type=int, default=2)
    p.add_argument("--dropout", type=float, default=0.3)
    p.add_argument("--seed", type=int, default=7)
    p.add_argument("--out", default="runs/pollen")
    return p.parse_args()


def list_images(root, seed):
    classes = sorted(d.name for d in pathlib.Path(root).iterdir() if d.is_dir())
    paths, labels = [], []
    for index, name in enumerate(classes):
        files = sorted(str(f) for f in (pathlib.Path(root) / name).glob("*.png"))
        paths.extend(files)
        labels.extend([index] * len(files))
    order = list(range(len(paths)))
    random.Random(seed).shuffle(order)
    paths = [paths[i] for i in order]
    labels = [labels[i] for i in order]
    n_val = len(paths) // 10
    n_test = len(paths) // 10
    parts = {
        "val": (paths[:n_val], labels[:n_val]),
        "test": (paths[n_val:n_val + n_test], labels[n_val:n_val + n_test]),
        "train": (paths[n_val + n_test:], labels[n_val + n_test:]),
    }
    return classes, parts


def decode(path, label, size):
    image = tf.io.decode_png(tf.io.read_file(path), channels=3)
    image = tf.image.resize(image, (size, size))
    return image / 255.0, label


def augment(image, label):
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_flip_up_down(image)
    image = tf.image.random_brightness(image, 0.1)
    image = tf.image.random_contrast(image, 0.9, 1.1)
    return tf.clip_by_value(image, 0.0, 1.0), label


def normalise(image, label):
    return (image - IMAGENET_MEAN) / IMAGENET_STD, label


def make_dataset(part, args, training):
    paths, labels = part
    ds = tf.data.Dataset.from_tensor_slices((paths, labels))
    ds = ds.map(lambda p, y: decode(p, y, args.image_size), num_parallel_calls=AUTOTUNE)
    ds = ds.cache()
    if training:
        ds = ds.shuffle(len(paths), seed=args.seed)
        ds = ds.map(augment, num_parallel_calls=AUTOTUNE)
    ds = ds.map(normalise, num_parallel_calls=AUTOTUNE)
    return ds.batch(args.batch_size).prefetch(AUTOTUNE)


def conv_bn(x, filters, stride=1):
    x = layers.Conv2D(filters, 3, strides=stride, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    return layers.Activation("relu")(x)


def residual(x, filters, stride):
    shortcut = layers.Conv2D(filters, 1, strides=stride, use_bias=False)(x)
    shortcut = layers.BatchNormalization()(shortcut)
    y = conv_bn(x, filters, stride)
    y = layers.Conv2D(filters, 3, padding="same", use_bias=False)(y)
    y = layers.BatchNormalization()(y)
    return layers.Activation("relu")(layers.Add()([y, shortcut]))


def build_model(num_classes, args):
    inputs = keras.Input(shape=(args.image_size, args.image_size, 3))
    x = conv_bn(inputs, 32, 2)
    for filters in (32, 64, 128):
        x = residual(x, filters, 2)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dropout(args.dropout)(x)
    outputs = layers.Dense(num_classes)(x)
    return keras.Model(inputs, outputs, name="pollen_net")


class WarmupCosine(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, peak, warmup_steps, total_steps):
        super().__init__()
        self.peak = peak
        self.warmup_steps = warmup_steps
        self.total_steps = total_steps

    def __call__(self, step):
        step = tf.cast(step, tf.float32)
        warm = self.peak * (step + 1) / self.warmup_steps
        done = (step - self.warmup_steps) / (self.total_steps - self.warmup_steps)
        cosine = 0.5 * self.peak * (1 + tf.cos(np.pi * tf.clip_by_value(done, 0.0, 1.0)))
        return tf.where(step < self.warmup_steps, warm, cosine)

    def get_config(self):
        return {"peak": self.peak, "warmup_steps": self.warmup_steps, "total_steps": self.total_steps}


def main():
    args = parse_args()
    keras.utils.set_random_seed(args.seed)
    os.makedirs(args.out, exist_ok=True)

    classes, parts = list_images(args.data, args.seed)
    train_ds = make_dataset(parts["train"], args, training=True)
    val_ds = make_dataset(parts["val"], args, training=False)
    test_ds = make_dataset(parts["test"], args, training=False)

    steps_per_epoch = -(-len(parts["train"][0]) // args.batch_size)
    schedule = WarmupCosine(args.lr, args.warmup_epochs * steps_per_epoch, args.epochs * steps_per_epoch)
    model = build_model(len(classes), args)
    model.compile(
        optimizer=keras.optimizers.Adam(schedule, clipnorm=1.0),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )

    best = os.path.join(args.out, "best.weights.h5")
    callbacks = [
        keras.callbacks.ModelCheckpoint(
            best, monitor="val_accuracy", mode="max", save_best_only=True, save_weights_only=True
        ),
        keras.callbacks.EarlyStopping(monitor="val_loss", mode="min", patience=10),
        keras.callbacks.CSVLogger(os.path.join(args.out, "log.csv")),
    ]
    model.fit(train_ds, validation_data=val_ds, epochs=args.epochs, callbacks=callbacks)

    model.load_weights(best)
    loss, accuracy = model.evaluate(test_ds)
    with open(os.path.join(args.out, "test.json"), "w") as f:
        json.dump({"loss": loss, "accuracy": accuracy, "classes": classes}, f)
    print(f"test accuracy {accuracy:.4f}")


if __name__ == "__main__":
    main()
