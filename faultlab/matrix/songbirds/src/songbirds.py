"""Songbird calls as log-mel spectrograms: a recurrent convolutional net in mixed precision, own training loop."""

import glob
import os

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers, mixed_precision

CONFIG = {
    "records": "records",
    "species": 24,
    "mels": 64,
    "frames": 128,
    "batch_size": 48,
    "epochs": 30,
    "peak_lr": 2e-3,
    "warmup_steps": 500,
    "train_clips": 38400,
    "clip_norm": 2.0,
    "dropout": 0.25,
    "label_smoothing": 0.05,
    "seed": 23,
    "out": "ckpt/songbirds",
}

FEATURES = {
    "mel": tf.io.FixedLenFeature([], tf.string),
    "species": tf.io.FixedLenFeature([], tf.int64),
}


def parse(example, cfg):
    item = tf.io.parse_single_example(example, FEATURES)
    mel = tf.io.decode_raw(item["mel"], tf.float32)
    mel = tf.reshape(mel, (cfg["frames"], cfg["mels"]))
    mel = tf.math.log(tf.maximum(mel, 1e-6))
    return mel, tf.cast(item["species"], tf.int32)


def standardise(mel, label, mean, std):
    return (mel - mean) / (std + 1e-5), label


def mask_time(mel, label):
    frames = tf.shape(mel)[0]
    width = tf.random.uniform([], 0, 16, tf.int32)
    start = tf.random.uniform([], 0, frames - width, tf.int32)
    position = tf.range(frames)
    keep = tf.cast((position < start) | (position >= start + width), mel.dtype)
    return mel * keep[:, None], label


def dataset(cfg, split, mean, std):
    training = split == "train"
    files = sorted(glob.glob(os.path.join(cfg["records"], f"{split}-*.tfrecord")))
    ds = tf.data.Dataset.from_tensor_slices(files)
    if training:
        ds = ds.shuffle(len(files), seed=cfg["seed"])
    ds = ds.interleave(tf.data.TFRecordDataset, cycle_length=4, num_parallel_calls=4)
    ds = ds.map(lambda e: parse(e, cfg), num_parallel_calls=8)
    ds = ds.map(lambda x, y: standardise(x, y, mean, std), num_parallel_calls=8)
    if training:
        ds = ds.shuffle(4096, seed=cfg["seed"])
        ds = ds.map(mask_time, num_parallel_calls=8)
    ds = ds.batch(cfg["batch_size"], drop_remainder=training)
    return ds.prefetch(2)


def build(cfg):
    inputs = tf.keras.Input((cfg["frames"], cfg["mels"]))
    x = layers.Reshape((cfg["frames"], cfg["mels"], 1))(inputs)
    for width in (32, 64):
        x = layers.Conv2D(width, 3, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        x = layers.ReLU()(x)
        x = layers.MaxPooling2D((1, 2))(x)
    x = layers.Reshape((cfg["frames"], -1))(x)
    x = layers.Bidirectional(layers.GRU(96))(x)
    x = layers.Dropout(cfg["dropout"])(x)
    logits = layers.Dense(cfg["species"], dtype="float32")(x)
    return tf.keras.Model(inputs, logits)


class Noam(tf.keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, peak, warmup, total):
        self.peak, self.warmup, self.total = peak, warmup, total

    def __call__(self, step):
        step = tf.cast(step, tf.float32)
        up = (step + 1.0) / self.warmup
        down = (self.total - step) / (self.total - self.warmup)
        return self.peak * tf.maximum(tf.minimum(up, down), 0.0)


def make_train_step(model, optimizer, cfg):
    loss_fn = tf.keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=cfg["label_smoothing"])

    @tf.function
    def train_step(x, y):
        targets = tf.one_hot(y, cfg["species"])
        with tf.GradientTape() as tape:
            logits = model(x, training=True)
            loss = loss_fn(targets, logits)
            scaled = optimizer.get_scaled_loss(loss)
        scaled_grads = tape.gradient(scaled, model.trainable_variables)
        grads = optimizer.get_unscaled_gradients(scaled_grads)
        grads, norm = tf.clip_by_global_norm(grads, cfg["clip_norm"])
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss, norm

    return train_step


def evaluate(model, ds):
    correct, seen = 0, 0
    for x, y in ds:
        logits = model(x, training=False)
        correct += int(tf.reduce_sum(tf.cast(tf.argmax(logits, axis=-1, output_type=tf.int32) == y, tf.int32)))
        seen += int(y.shape[0])
    return correct / max(seen, 1)


def run(cfg):
    tf.random.set_seed(cfg["seed"])
    np.random.seed(cfg["seed"])
    mixed_precision.set_global_policy("mixed_float16")

    stats = np.load(os.path.join(cfg["records"], "train_stats.npz"))
    mean, std = stats["mean"].astype("float32"), stats["std"].astype("float32")
    train_ds = dataset(cfg, "train", mean, std)
    val_ds = dataset(cfg, "val", mean, std)

    steps_per_epoch = cfg["train_clips"] // cfg["batch_size"]
    schedule = Noam(cfg["peak_lr"], cfg["warmup_steps"], cfg["epochs"] * steps_per_epoch)
    model = build(cfg)
    optimizer = mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam(schedule))
    train_step = make_train_step(model, optimizer, cfg)

    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer)
    last = tf.train.CheckpointManager(checkpoint, cfg["out"], max_to_keep=1)
    checkpoint.restore(last.latest_checkpoint)
    start = int(optimizer.iterations) // steps_per_epoch

    mean_loss = tf.keras.metrics.Mean()
    best = 0.0
    for epoch in range(start, cfg["epochs"]):
        mean_loss.reset_state()
        for x, y in train_ds:
            loss, norm = train_step(x, y)
            mean_loss.update_state(loss)
        accuracy = evaluate(model, val_ds)
        print(f"epoch {epoch} loss {mean_loss.result():.4f} norm {norm:.2f} val_acc {accuracy:.4f}")
        last.save()
        if accuracy > best:
            best = accuracy
            model.save_weights(os.path.join(cfg["out"], "best"))

    model.load_weights(os.path.join(cfg["out"], "best"))
    print("test accuracy", evaluate(model, dataset(cfg, "test", mean, std)))


if __name__ == "__main__":
    run(CONFIG)
