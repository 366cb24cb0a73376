"""Segmentation of vineyard tiles into soil, grass, canopy and pole."""
import argparse
import glob

import tensorflow as tf
from tensorflow.keras import layers, mixed_precision

CLASSES = 4
SIDE = 256


def parse(record):
    features = tf.io.parse_single_example(
        record, {"image": tf.io.FixedLenFeature([], tf.string), "mask": tf.io.FixedLenFeature([], tf.string)}
    )
    image = tf.reshape(tf.io.decode_raw(features["image"], tf.uint8), (SIDE, SIDE, 3))
    mask = tf.reshape(tf.io.decode_raw(features["mask"], tf.uint8), (SIDE, SIDE))
    return tf.cast(image, tf.float32) / 127.5 - 1.0, tf.cast(mask, tf.int32)


def flip(image, mask):
    turn = tf.random.uniform([]) < 0.5
    image = tf.cond(turn, lambda: tf.image.flip_left_right(image), lambda: image)
    mask = tf.cond(turn, lambda: tf.image.flip_left_right(mask[..., None])[..., 0], lambda: mask)
    return image, mask


def pipeline(pattern, batch, training):
    data = tf.data.TFRecordDataset(sorted(glob.glob(pattern))).map(parse, num_parallel_calls=tf.data.AUTOTUNE)
    if training:
        data = data.shuffle(2000).map(flip).batch(batch, drop_remainder=True)
    else:
        data = data.batch(batch)
    return data.prefetch(tf.data.AUTOTUNE)


def block(x, width):
    for _ in range(2):
        x = layers.Conv2D(width, 3, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        x = layers.ReLU()(x)
    return x


def unet():
    image = layers.Input((SIDE, SIDE, 3))
    a = block(image, 32)
    b = block(layers.MaxPool2D()(a), 64)
    c = block(layers.MaxPool2D()(b), 128)
    b = block(layers.Concatenate()([layers.UpSampling2D()(c), b]), 64)
    a = block(layers.Concatenate()([layers.UpSampling2D()(b), a]), 32)
    logits = layers.Conv2D(CLASSES, 1, dtype="float32")(a)
    return tf.keras.Model(image, logits)


cross = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def dice_loss(mask, logits):
    probs = tf.nn.softmax(logits, axis=-1)
    truth = tf.one_hot(mask, CLASSES)
    inter = tf.reduce_sum(probs * truth, axis=[1, 2])
    total = tf.reduce_sum(probs + truth, axis=[1, 2])
    return 1.0 - tf.reduce_mean((2.0 * inter + 1.0) / (total + 1.0))


def objective(mask, logits, weight):
    return cross(mask, logits) + weight * dice_loss(mask, logits)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--train", default="tiles/train-*.tfrecord")
    parser.add_argument("--valid", default="tiles/valid-*.tfrecord")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--accumulate", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--dice", type=float, default=0.5)
    args = parser.parse_args()

    tf.keras.utils.set_random_seed(5)
    mixed_precision.set_global_policy("mixed_float16")
    model = unet()
    optimizer = mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam(args.rate))
    sums = [tf.Variable(tf.zeros_like(v), trainable=False) for v in model.trainable_variables]

    @tf.function
    def micro_step(image, mask):
        with tf.GradientTape() as tape:
            logits = model(image, training=True)
            loss = objective(mask, logits, args.dice)
            scaled = optimizer.get_scaled_loss(loss)
        grads = tape.gradient(scaled, model.trainable_variables)
        grads = optimizer.get_unscaled_gradients(grads)
        for total, grad in zip(sums, grads):
            total.assign_add(grad / args.accumulate)
        return loss

    @tf.function
    def update():
        optimizer.apply_gradients(zip(sums, model.trainable_variables))
        for total in sums:
            total.assign(tf.zeros_like(total))

    best = 0.0
    for epoch in range(args.epochs):
        seen = tf.keras.metrics.Mean()
        for i, (image, mask) in enumerate(pipeline(args.train, args.batch, True)):
            seen.update_state(micro_step(image, mask))
            if (i + 1) % args.accumulate == 0:
                update()
        iou = tf.keras.metrics.MeanIoU(CLASSES)
        for image, mask in pipeline(args.valid, args.batch, False):
            iou.update_state(mask, tf.argmax(model(image, training=False), axis=-1))
        print(f"epoch {epoch} loss {seen.result():.4f} iou {iou.result():.4f}")
        if iou.result() > best:
            best = iou.result()
            model.save_weights("vineyards.h5")


if __name__ == "__main__":
    main()
