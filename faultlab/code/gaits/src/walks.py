"""Walks with an insole sensor: <walker>_<nn>.npz holds `imu` (T, 6) float32 and `phase` (T,) int32, at 100 Hz."""

import os

import numpy as np
import tensorflow as tf

PAD = -1
CHANNELS = 6


def walks_by_walker(folder):
    found = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".npz"):
            found.setdefault(name.split("_")[0], []).append(os.path.join(folder, name))
    return found


def split(folder, seed, held=0.15):
    """Files for training, validation and test; nobody walks in two of them."""
    found = walks_by_walker(folder)
    walkers = sorted(found)
    np.random.default_rng(seed).shuffle(walkers)
    n = max(1, round(held * len(walkers)))
    groups = walkers[2 * n :], walkers[n : 2 * n], walkers[:n]
    return [[f for w in group for f in found[w]] for group in groups]


def channel_stats(files):
    imu = np.concatenate([np.load(f)["imu"] for f in files])
    return imu.mean(axis=0), imu.std(axis=0) + 1e-4


def pieces(files, length):
    for f in files:
        walk = np.load(f)
        imu, phase = walk["imu"], walk["phase"]
        for a in range(0, len(phase), length):
            yield imu[a : a + length], phase[a : a + length]


def jitter(imu, phase):
    gain = tf.random.uniform((1, CHANNELS), 0.9, 1.1)
    return imu * gain + tf.random.normal(tf.shape(imu), stddev=0.02), phase


def dataset(files, stats, length, batch, training=False):
    mean, std = stats
    ds = tf.data.Dataset.from_generator(
        lambda: pieces(files, length),
        output_signature=(tf.TensorSpec((None, CHANNELS), tf.float32), tf.TensorSpec((None,), tf.int32)),
    )
    ds = ds.map(lambda imu, phase: ((imu - mean) / std, phase)).cache()
    if training:
        ds = ds.shuffle(10_000).map(jitter, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.padded_batch(batch, ([length, CHANNELS], [length]), (0.0, PAD))
    return ds.prefetch(tf.data.AUTOTUNE)
