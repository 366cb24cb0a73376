import zlib

import tensorflow as tf
from absl import app, flags

FLAGS = flags.FLAGS
flags.DEFINE_string("pattern", "spec/*/*.npy", "spec/<kind>/<speaker>-<take>.npy")
flags.DEFINE_integer("batch", 64, "")
flags.DEFINE_integer("epochs", 30, "")
flags.DEFINE_float("rate", 1e-3, "")

KINDS = ["dry", "wet", "whooping", "throat"]
FRAMES, BANDS = 96, 64


def list_files(pattern):
    paths = sorted(tf.io.gfile.glob(pattern))
    kinds = [KINDS.index(p.split("/")[-2]) for p in paths]
    speakers = [p.split("/")[-1].split("-")[0] for p in paths]
    return paths, kinds, speakers


def bucket(speaker):
    return zlib.crc32(speaker.encode()) % 10


def select(paths, kinds, speakers, wanted):
    rows = [(p, k) for p, k, s in zip(paths, kinds, speakers) if bucket(s) in wanted]
    return [p for p, _ in rows], [k for _, k in rows]


def load(path, kind):
    raw = tf.io.read_file(path)
    spec = tf.io.decode_raw(tf.strings.substr(raw, 128, FRAMES * BANDS * 4), tf.float32)
    return tf.reshape(spec, [FRAMES, BANDS, 1]), kind


def moments(ds):
    total, squares, count = tf.zeros([BANDS]), tf.zeros([BANDS]), 0
    for spec, _ in ds:
        total += tf.reduce_sum(spec[..., 0], 0)
        squares += tf.reduce_sum(spec[..., 0] ** 2, 0)
        count += FRAMES
    mean = total / count
    return mean, tf.sqrt(squares / count - mean ** 2 + 1e-6)


def mask_bands(spec, kind):
    start = tf.random.uniform([], 0, BANDS - 8, tf.int32)
    keep = tf.concat([tf.ones([start]), tf.zeros([8]), tf.ones([BANDS - 8 - start])], 0)
    return spec * keep[None, :, None], kind


def pipeline(rows, scale, training):
    ds = tf.data.Dataset.from_tensor_slices(rows)
    if training:
        ds = ds.shuffle(len(rows[0]))
    ds = ds.map(load, tf.data.AUTOTUNE).map(scale, tf.data.AUTOTUNE)
    if training:
        ds = ds.map(mask_bands, tf.data.AUTOTUNE)
    return ds.batch(FLAGS.batch).prefetch(tf.data.AUTOTUNE)


def build():
    return tf.keras.Sequential([
        tf.keras.layers.Conv2D(24, 3, 2, activation="relu", input_shape=(FRAMES, BANDS, 1)),
        tf.keras.layers.BatchNormalization(),
        tf.keras.layers.Conv2D(48, 3, 2, activation="relu"),
        tf.keras.layers.BatchNormalization(),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dropout(0.3),
        tf.keras.layers.Dense(len(KINDS)),
    ])


def main(_):
    tf.random.set_seed(21)
    files = list_files(FLAGS.pattern)
    train_rows = select(*files, wanted=range(0, 8))
    valid_rows = select(*files, wanted=[8])
    test_rows = select(*files, wanted=[9])
    mean, deviation = moments(tf.data.Dataset.from_tensor_slices(train_rows).map(load))

    def scale(spec, kind):
        return (spec - mean[None, :, None]) / deviation[None, :, None], kind

    train_ds = pipeline(train_rows, scale, training=True)
    valid_ds = pipeline(valid_rows, scale, training=False)
    test_ds = pipeline(test_rows, scale, training=False)
    model = build()
    optimizer = tf.keras.optimizers.Adam(FLAGS.rate)
    criterion = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    @tf.function
    def train_step(x, y):
        with tf.GradientTape() as tape:
            loss = criterion(y, model(x, training=True))
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    def accuracy(ds):
        metric = tf.keras.metrics.SparseCategoricalAccuracy()
        for x, y in ds:
            metric.update_state(y, model(x, training=False))
        return float(metric.result())

    best = 0.0
    checkpoint = tf.train.Checkpoint(model=model)
    for epoch in range(FLAGS.epochs):
        mean_loss = tf.keras.metrics.Mean()
        for x, y in train_ds:
            mean_loss.update_state(train_step(x, y), sample_weight=tf.shape(y)[0])
        score = accuracy(valid_ds)
        print(f"epoch {epoch} loss {mean_loss.result():.4f} valid {score:.4f}")
        if score > best:
            best = score
            checkpoint.write("best")
    checkpoint.read("best")
    print("test", accuracy(test_ds))


if __name__ == "__main__":
    app.run(main)
