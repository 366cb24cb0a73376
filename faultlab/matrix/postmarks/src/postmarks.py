"""Postmarks that look alike: embeddings by pairs of views of one stamp; TensorFlow 2 with GradientTape."""
import os

import numpy as np
import tensorflow as tf

SIDE = 96
BATCH = 128
EPOCHS = 50
TEMPERATURE = 0.1
WIDTH = 64
ROOT = os.environ.get("POSTMARKS", "postmarks")


def listing(part):
    with open(os.path.join(ROOT, part + ".txt")) as f:
        return [os.path.join(ROOT, line.strip()) for line in f]


def load(file):
    image = tf.io.decode_png(tf.io.read_file(file), channels=3)
    image = tf.image.resize(image, (SIDE + 16, SIDE + 16))
    return image / 255.0


def view(image):
    image = tf.image.random_crop(image, (SIDE, SIDE, 3))
    image = tf.image.random_brightness(image, 0.2)
    image = tf.image.random_contrast(image, 0.7, 1.3)
    image = tf.image.random_saturation(image, 0.7, 1.3)
    image = tf.clip_by_value(image, 0.0, 1.0)
    return image * 2.0 - 1.0


def plain(image):
    image = tf.image.resize_with_crop_or_pad(image, SIDE, SIDE)
    return image * 2.0 - 1.0


def training():
    files = listing("train")
    data = tf.data.Dataset.from_tensor_slices(files).shuffle(len(files), seed=2)
    data = data.map(load, num_parallel_calls=tf.data.AUTOTUNE)
    data = data.map(lambda x: (view(x), view(x)), num_parallel_calls=tf.data.AUTOTUNE)
    return data.batch(BATCH, drop_remainder=True).prefetch(2)


def judging(part):
    files = listing(part)
    marks = [os.path.basename(f).split("-")[0] for f in files]
    data = tf.data.Dataset.from_tensor_slices(files).map(load).map(plain)
    return data.batch(BATCH), np.array(marks)


def encoder():
    image = tf.keras.Input((SIDE, SIDE, 3))
    x = image
    for filters in (32, 64, 128, 256):
        x = tf.keras.layers.Conv2D(filters, 3, strides=2, padding="same", use_bias=False)(x)
        x = tf.keras.layers.BatchNormalization()(x)
        x = tf.keras.layers.ReLU()(x)
    x = tf.keras.layers.GlobalAveragePooling2D()(x)
    return tf.keras.Model(image, tf.keras.layers.Dense(WIDTH)(x))


def contrast(a, b):
    """Each view finds its fellow among the views of all other stamps."""
    a = tf.math.l2_normalize(a, axis=1)
    b = tf.math.l2_normalize(b, axis=1)
    both = tf.concat([a, b], axis=0)
    n = tf.shape(a)[0]
    near = tf.matmul(both, both, transpose_b=True) / TEMPERATURE
    near -= tf.eye(2 * n) * 1e9
    fellow = tf.concat([tf.range(n) + n, tf.range(n)], axis=0)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=fellow, logits=near))


def found_first(model, part):
    data, marks = judging(part)
    codes = np.concatenate([model(x, training=False).numpy() for x in data])
    codes /= np.linalg.norm(codes, axis=1, keepdims=True) + 1e-9
    near = codes @ codes.T
    np.fill_diagonal(near, -np.inf)
    return float(np.mean(marks[near.argmax(axis=1)] == marks))


def main():
    tf.keras.utils.set_random_seed(2)
    model = encoder()
    data = training()
    steps = EPOCHS * (len(listing("train")) // BATCH)
    rate = tf.keras.optimizers.schedules.CosineDecay(1e-3, steps)
    optimizer = tf.keras.optimizers.Adam(rate)

    @tf.function
    def step(one, other):
        with tf.GradientTape() as tape:
            loss = contrast(model(one, training=True), model(other, training=True))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    best = 0.0
    for epoch in range(EPOCHS):
        losses = [step(one, other) for one, other in data]
        score = found_first(model, "valid")
        print(epoch, float(tf.reduce_mean(losses)), score)
        if score > best:
            best = score
            model.save_weights("postmarks.weights.h5")
    model.load_weights("postmarks.weights.h5")
    print("test", found_first(model, "test"))


if __name__ == "__main__":
    main()
