"""TFRecord shards of log-mel clips -> batches."""
import tensorflow as tf

MEL_MEAN, MEL_STD = -4.2, 3.1


def _parse(record, frames, mels, num_tags):
    example = tf.io.parse_single_example(
        record,
        {
            "mel": tf.io.FixedLenFeature([], tf.string),
            "tags": tf.io.VarLenFeature(tf.int64),
        },
    )
    mel = tf.reshape(tf.io.decode_raw(example["mel"], tf.float32), (frames, mels))
    tags = tf.reduce_max(tf.one_hot(tf.sparse.to_dense(example["tags"]), num_tags), axis=0)
    return (mel - MEL_MEAN) / MEL_STD, tags


def _spec_augment(mel, tags):
    frames, mels = mel.shape
    start = tf.random.uniform([], 0, mels - 8, tf.int32)
    width = tf.random.uniform([], 1, 8, tf.int32)
    band = tf.logical_and(tf.range(mels) >= start, tf.range(mels) < start + width)
    mel = tf.where(band[None, :], tf.zeros_like(mel), mel)
    shift = tf.random.uniform([], -frames // 8, frames // 8, tf.int32)
    return tf.roll(mel, shift, axis=0), tags


def make_dataset(pattern, cfg, batch_size, training, context=None):
    files = tf.data.Dataset.list_files(pattern, shuffle=training, seed=cfg.seed)
    if context is not None:
        files = files.shard(context.num_input_pipelines, context.input_pipeline_id)
    ds = files.interleave(
        tf.data.TFRecordDataset,
        cycle_length=8,
        num_parallel_calls=tf.data.AUTOTUNE,
        deterministic=not training,
    )
    if training:
        ds = ds.shuffle(cfg.shuffle_buffer).repeat()
    ds = ds.map(
        lambda r: _parse(r, cfg.frames, cfg.mels, cfg.num_tags), num_parallel_calls=tf.data.AUTOTUNE
    )
    if training:
        ds = ds.map(_spec_augment, num_parallel_calls=tf.data.AUTOTUNE)
    return ds.batch(batch_size, drop_remainder=training).prefetch(tf.data.AUTOTUNE)
