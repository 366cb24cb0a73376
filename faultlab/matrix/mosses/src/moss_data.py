"""Arrays of moss photographs and the two random views of each."""

import numpy as np
import tensorflow as tf


def load_arrays(path, seed):
    with np.load(path) as f:
        images, labels = f["images"], f["labels"].astype("int32")
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(images))
    images, labels = images[order], labels[order]
    cut = int(0.85 * len(images))
    return (images[:cut], labels[:cut]), (images[cut:], labels[cut:])


def to_float(image):
    return tf.cast(image, tf.float32) / 127.5 - 1.0


def view(image):
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_crop(tf.pad(image, [[6, 6], [6, 6], [0, 0]], mode="REFLECT"), (64, 64, 3))
    return tf.image.random_saturation(image, 0.8, 1.2)


def training_set(images, labels, batch_size, seed):
    ds = tf.data.Dataset.from_tensor_slices((images, labels))
    ds = ds.shuffle(len(images), seed=seed)
    ds = ds.map(
        lambda x, y: ((to_float(view(x)), to_float(view(x))), y), num_parallel_calls=tf.data.AUTOTUNE
    )
    return ds.batch(batch_size, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def validation_set(images, labels, batch_size):
    ds = tf.data.Dataset.from_tensor_slices((images, labels))
    ds = ds.map(lambda x, y: (to_float(x), y), num_parallel_calls=tf.data.AUTOTUNE)
    return ds.batch(batch_size).prefetch(tf.data.AUTOTUNE)
