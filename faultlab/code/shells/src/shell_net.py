"""ShellNet: a small residual network with squeeze-and-excitation and GeM pooling."""

import keras
from keras import layers
import tensorflow as tf


class ConvBN(layers.Layer):

  def __init__(self, filters, kernel_size, strides=1, activate=True, **kwargs):
    super().__init__(**kwargs)
    self.activate = activate
    self.conv = layers.Conv2D(
        filters, kernel_size, strides, padding='same', use_bias=False, kernel_initializer='he_normal')
    self.bn = layers.BatchNormalization(momentum=0.95, epsilon=1e-5)

  def call(self, x, training=False):
    x = self.conv(x)
    x = self.bn(x, training=training)
    return tf.nn.relu(x) if self.activate else x


class SqueezeExcite(layers.Layer):

  def __init__(self, filters, ratio=8, **kwargs):
    super().__init__(**kwargs)
    self.reduce = layers.Dense(filters // ratio, activation='relu')
    self.expand = layers.Dense(filters, activation='sigmoid')

  def call(self, x):
    gate = tf.reduce_mean(x, axis=[1, 2])
    gate = self.expand(self.reduce(gate))
    return x * gate[:, tf.newaxis, tf.newaxis, :]


class ResidualBlock(layers.Layer):

  def __init__(self, filters, strides=1, project=False, **kwargs):
    super().__init__(**kwargs)
    self.conv1 = ConvBN(filters, 3, strides)
    self.conv2 = ConvBN(filters, 3, activate=False)
    self.se = SqueezeExcite(filters)
    self.proj = ConvBN(filters, 1, strides, activate=False) if project else None

  def call(self, x, training=False):
    y = self.conv1(x, training=training)
    y = self.conv2(y, training=training)
    y = self.se(y)
    shortcut = self.proj(x, training=training) if self.proj is not None else x
    return tf.nn.relu(y + shortcut)


class GeMPooling(layers.Layer):
  """Generalised mean over the spatial axes, with a learnt exponent."""

  def __init__(self, power=3.0, floor=1e-5, **kwargs):
    super().__init__(dtype='float32', **kwargs)
    self.power = power
    self.floor = floor

  def build(self, input_shape):
    self.p = self.add_weight(name='p', shape=(), initializer=keras.initializers.Constant(self.power))

  def call(self, x):
    x = tf.maximum(x, self.floor)
    pooled = tf.reduce_mean(tf.pow(x, self.p), axis=[1, 2])
    return tf.pow(pooled, 1.0 / self.p)


class ShellNet(keras.Model):

  def __init__(self, num_classes, widths=(48, 96, 192, 256), depths=(2, 2, 3, 2), dropout=0.2, **kwargs):
    super().__init__(**kwargs)
    self.stem = ConvBN(widths[0], 5, strides=2)
    self.blocks = []
    for i, (width, depth) in enumerate(zip(widths, depths)):
      self.blocks.append(ResidualBlock(width, strides=1 if i == 0 else 2, project=i > 0))
      self.blocks.extend([ResidualBlock(width) for _ in range(depth - 1)])
    self.pool = GeMPooling()
    self.dropout = layers.Dropout(dropout)
    self.head = layers.Dense(num_classes, dtype='float32')

  def call(self, images, training=False):
    x = self.stem(images, training=training)
    for block in self.blocks:
      x = block(x, training=training)
    x = self.pool(x)
    x = self.dropout(x, training=training)
    return self.head(x)


class MacroRecall(keras.metrics.Metric):
  """Mean over species of the share of its photos that were recognised."""

  def __init__(self, num_classes, name='macro_recall', **kwargs):
    super().__init__(name=name, **kwargs)
    self.num_classes = num_classes
    self.confusion = self.add_weight(name='confusion', shape=(num_classes, num_classes), initializer='zeros')

  def update_state(self, labels, logits, sample_weight=None):
    predictions = tf.argmax(logits, axis=-1)
    counts = tf.math.confusion_matrix(labels, predictions, self.num_classes, dtype=tf.float32)
    self.confusion.assign_add(counts)

  def result(self):
    matrix = tf.convert_to_tensor(self.confusion)
    hits = tf.linalg.diag_part(matrix)
    support = tf.reduce_sum(matrix, axis=1)
    seen = tf.cast(support > 0, tf.float32)
    return tf.reduce_sum(tf.math.divide_no_nan(hits, support)) / tf.maximum(tf.reduce_sum(seen), 1.0)
