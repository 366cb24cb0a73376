"""Input pipeline for the shell photos: TFRecord shards of JPEG bytes plus a 1-based species id."""

import os

import tensorflow as tf

NUM_CLASSES = 24
IMAGE_SIZE = 160
RESIZE_SIZE = 184
NUM_VAL_SHARDS = 4
SHUFFLE_BUFFER = 8192

_MEAN = (0.485, 0.456, 0.406)
_STDDEV = (0.229, 0.224, 0.225)

_FEATURES = {
  'image/encoded': tf.io.FixedLenFeature([], tf.string),
  'image/species_id': tf.io.FixedLenFeature([], tf.int64),
}


def split_shards(data_dir):
  """Returns (train_files, val_files). Shards were written in random order, the last ones are held out."""
  files = sorted(tf.io.gfile.glob(os.path.join(data_dir, 'shells-*.tfrecord')))
  if len(files) <= NUM_VAL_SHARDS:
    raise ValueError(f'Only {len(files)} shards in {data_dir}')
  return files[:-NUM_VAL_SHARDS], files[-NUM_VAL_SHARDS:]


def _parse(serialized):
  example = tf.io.parse_single_example(serialized, _FEATURES)
  image = tf.io.decode_jpeg(example['image/encoded'], channels=3)
  # Species ids start at 1 in the collection's catalogue.
  label = tf.cast(example['image/species_id'], tf.int32) - 1
  # Stored at one size, so that the cache holds equal shapes.
  image = tf.image.resize(image, (RESIZE_SIZE, RESIZE_SIZE))
  return tf.cast(tf.round(image), tf.uint8), label


def _standardize(image):
  image = tf.cast(image, tf.float32) / 255.0
  return (image - tf.constant(_MEAN)) / tf.constant(_STDDEV)


def _train_transform(image, label):
  image = tf.image.random_crop(image, (IMAGE_SIZE, IMAGE_SIZE, 3))
  image = tf.image.random_flip_left_right(image)
  image = tf.image.random_brightness(image, max_delta=0.1)
  image = tf.image.random_saturation(image, 0.8, 1.2)
  return _standardize(image), label


def _eval_transform(image, label):
  image = tf.image.resize_with_crop_or_pad(image, IMAGE_SIZE, IMAGE_SIZE)
  return _standardize(image), label


def _mixup(images, labels, alpha=0.2):
  """Blends each image with the one at the mirrored position of its batch."""
  targets = tf.one_hot(labels, NUM_CLASSES)
  batch = tf.shape(images)[0]
  g1 = tf.random.gamma([batch], alpha)
  g2 = tf.random.gamma([batch], alpha)
  lam = tf.math.divide_no_nan(g1, g1 + g2)
  lam = tf.maximum(lam, 1.0 - lam)
  lam_x = tf.reshape(lam, [batch, 1, 1, 1])
  lam_y = tf.reshape(lam, [batch, 1])
  images = lam_x * images + (1.0 - lam_x) * tf.reverse(images, axis=[0])
  targets = lam_y * targets + (1.0 - lam_y) * tf.reverse(targets, axis=[0])
  return images, targets


def train_dataset(files, batch_size, seed):
  ds = tf.data.Dataset.from_tensor_slices(files)
  ds = ds.shuffle(len(files), seed=seed)
  ds = ds.interleave(tf.data.TFRecordDataset, cycle_length=8, num_parallel_calls=tf.data.AUTOTUNE)
  ds = ds.map(_parse, num_parallel_calls=tf.data.AUTOTUNE)
  ds = ds.cache()
  ds = ds.shuffle(SHUFFLE_BUFFER, seed=seed)
  ds = ds.map(_train_transform, num_parallel_calls=tf.data.AUTOTUNE)
  ds = ds.batch(batch_size, drop_remainder=True)
  ds = ds.map(_mixup, num_parallel_calls=tf.data.AUTOTUNE)
  return ds.prefetch(tf.data.AUTOTUNE)


def eval_dataset(files, batch_size):
  ds = tf.data.TFRecordDataset(files)
  ds = ds.map(_parse, num_parallel_calls=tf.data.AUTOTUNE)
  ds = ds.map(_eval_transform, num_parallel_calls=tf.data.AUTOTUNE)
  return ds.batch(batch_size).prefetch(tf.data.AUTOTUNE)
