"""Canopy height from lidar tiles: a small U-shaped network, mixed precision, all cards of one machine."""

import argparse
import glob
import os

import numpy as np
import tensorflow as tf


def get_args():
    ap = argparse.ArgumentParser()
    ap.add_argument("--tiles", default="tiles")
    ap.add_argument("--per-replica", type=int, default=8)
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--lr", type=float, default=5e-4)
    ap.add_argument("--seed", type=int, default=11)
    ap.add_argument("--ckpt", default="ckpt")
    ap.add_argument("--resume", action="store_true")
    return ap.parse_args()


args = get_args()
tf.keras.utils.set_random_seed(args.seed)
tf.keras.mixed_precision.set_global_policy("mixed_float16")
strategy = tf.distribute.MirroredStrategy()
GLOBAL_BATCH = args.per_replica * strategy.num_replicas_in_sync


def load(paths):
    xs, ys = [], []
    for p in paths:
        with np.load(p) as z:
            xs.append(z["returns"].astype("float32"))
            ys.append(z["height"].astype("float32")[..., None])
    return np.concatenate(xs), np.concatenate(ys)


paths = sorted(glob.glob(os.path.join(args.tiles, "*.npz")))
rng = np.random.RandomState(args.seed)
rng.shuffle(paths)
cut = int(0.8 * len(paths))
x_train, y_train = load(paths[:cut])
x_val, y_val = load(paths[cut:])

mean = x_train.mean(axis=(0, 1, 2), keepdims=True)
std = x_train.std(axis=(0, 1, 2), keepdims=True) + 1e-6
x_train = (x_train - mean) / std
x_val = (x_val - mean) / std


def turn(x, y):
    both = tf.concat([x, y], axis=-1)
    both = tf.image.random_flip_left_right(both)
    both = tf.image.random_flip_up_down(both)
    return both[..., :-1], both[..., -1:]


train_ds = (
    tf.data.Dataset.from_tensor_slices((x_train, y_train))
    .cache()
    .shuffle(len(x_train))
    .map(turn, num_parallel_calls=tf.data.AUTOTUNE)
    .batch(GLOBAL_BATCH, drop_remainder=True)
    .prefetch(tf.data.AUTOTUNE)
)
val_ds = tf.data.Dataset.from_tensor_slices((x_val, y_val)).batch(GLOBAL_BATCH)
steps_per_epoch = len(x_train) // GLOBAL_BATCH

train_dist = strategy.experimental_distribute_dataset(train_ds)
val_dist = strategy.experimental_distribute_dataset(val_ds)


def block(x, filters):
    for _ in range(2):
        x = tf.keras.layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
        x = tf.keras.layers.BatchNormalization()(x)
        x = tf.keras.layers.ReLU()(x)
    return x


def build(shape):
    inputs = tf.keras.Input(shape)
    skips = []
    x = inputs
    for filters in (32, 64, 128):
        x = block(x, filters)
        skips.append(x)
        x = tf.keras.layers.MaxPooling2D()(x)
    x = block(x, 256)
    x = tf.keras.layers.Dropout(0.2)(x)
    for filters, skip in zip((128, 64, 32), reversed(skips)):
        x = tf.keras.layers.Conv2DTranspose(filters, 2, strides=2)(x)
        x = tf.keras.layers.Concatenate()([x, skip])
        x = block(x, filters)
    outputs = tf.keras.layers.Conv2D(1, 1, dtype="float32")(x)
    return tf.keras.Model(inputs, outputs)


with strategy.scope():
    model = build(x_train.shape[1:])
    schedule = tf.keras.optimizers.schedules.PolynomialDecay(
        args.lr, decay_steps=args.epochs * steps_per_epoch, end_learning_rate=args.lr / 100
    )
    optimizer = tf.keras.optimizers.Adam(schedule)
    optimizer = tf.keras.mixed_precision.LossScaleOptimizer(optimizer)
    val_sq = tf.keras.metrics.Mean()
    val_abs = tf.keras.metrics.Mean()
    epoch_var = tf.Variable(0, dtype=tf.int64)
    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, epoch=epoch_var)

manager = tf.train.CheckpointManager(checkpoint, args.ckpt, max_to_keep=3)
best_manager = tf.train.CheckpointManager(checkpoint, args.ckpt + "-best", max_to_keep=1)
if args.resume:
    checkpoint.restore(manager.latest_checkpoint)


def example_loss(y, out):
    return tf.reduce_mean(tf.square(y - out), axis=(1, 2, 3))


def replica_step(x, y):
    with tf.GradientTape() as tape:
        out = model(x, training=True)
        loss = tf.nn.compute_average_loss(example_loss(y, out), global_batch_size=GLOBAL_BATCH)
        scaled = optimizer.get_scaled_loss(loss)
    scaled_grads = tape.gradient(scaled, model.trainable_variables)
    grads = optimizer.get_unscaled_gradients(scaled_grads)
    grads = [tf.clip_by_norm(g, 1.0) for g in grads]
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


def replica_eval(x, y):
    out = model(x, training=False)
    val_sq.update_state(tf.square(y - out))
    val_abs.update_state(tf.abs(y - out))


@tf.function
def train_one(batch):
    losses = strategy.run(replica_step, args=batch)
    return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)


@tf.function
def eval_one(batch):
    strategy.run(replica_eval, args=batch)


best = np.inf
for epoch in range(int(epoch_var.numpy()), args.epochs):
    total, n = 0.0, 0
    for batch in train_dist:
        total += float(train_one(batch))
        n += 1
    val_sq.reset_state()
    val_abs.reset_state()
    for batch in val_dist:
        eval_one(batch)
    rmse = float(val_sq.result()) ** 0.5
    print(f"epoch {epoch} loss {total / n:.4f} rmse {rmse:.4f} mae {float(val_abs.result()):.4f}")
    epoch_var.assign(epoch + 1)
    manager.save()
    if rmse < best:
        best = rmse
        best_manager.save()

checkpoint.restore(best_manager.latest_checkpoint)
model.save("canopy.keras")
