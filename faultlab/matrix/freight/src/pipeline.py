"""Input pipelines: windows of past delays per train, and the delay at the next station."""

import tensorflow as tf

from settings import Settings

DELAY_MEAN, DELAY_STD = 4.1, 11.7


def _parse(serialized: tf.Tensor, settings: Settings):
    features = tf.io.parse_single_example(
        serialized,
        {
            "stations": tf.io.VarLenFeature(tf.int64),
            "delays": tf.io.VarLenFeature(tf.float32),
            "next_delay": tf.io.FixedLenFeature([], tf.float32),
        },
    )
    stations = tf.sparse.to_dense(features["stations"])[-settings.window:]
    delays = tf.sparse.to_dense(features["delays"])[-settings.window:]
    delays = (delays - DELAY_MEAN) / DELAY_STD
    target = (features["next_delay"] - DELAY_MEAN) / DELAY_STD
    return {"stations": stations, "delays": delays}, target


def _jitter(inputs, target):
    noise = tf.random.normal(tf.shape(inputs["delays"]), stddev=0.02)
    return {"stations": inputs["stations"], "delays": inputs["delays"] + noise}, target


def make_dataset(settings: Settings, global_batch: int, training: bool) -> tf.data.Dataset:
    pattern = settings.train_pattern if training else settings.eval_pattern
    files = tf.data.Dataset.list_files(pattern, shuffle=training, seed=settings.seed)
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.FILE
    ds = files.interleave(tf.data.TFRecordDataset, cycle_length=8, num_parallel_calls=tf.data.AUTOTUNE)
    if training:
        ds = ds.shuffle(50_000, seed=settings.seed)
    ds = ds.map(lambda s: _parse(s, settings), num_parallel_calls=tf.data.AUTOTUNE)
    if training:
        ds = ds.map(_jitter, num_parallel_calls=tf.data.AUTOTUNE).repeat()
    shapes = ({"stations": [settings.window], "delays": [settings.window]}, [])
    ds = ds.padded_batch(global_batch, padded_shapes=shapes, drop_remainder=training)
    return ds.with_options(options).prefetch(tf.data.AUTOTUNE)
