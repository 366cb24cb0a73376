"""Trains ShellNet on the shell photos.

python main.py --data_dir=shards --workdir=out/base
"""

import json
import math
import os

from absl import app
from absl import flags
from absl import logging
import keras
import tensorflow as tf

import input_pipeline
import shell_net

FLAGS = flags.FLAGS
flags.DEFINE_string('data_dir', 'shards', 'Folder with shells-*.tfrecord.')
flags.DEFINE_string('workdir', 'out', 'Checkpoints and the metrics file go here.')
flags.DEFINE_integer('batch_size', 64, 'Batch size.')
flags.DEFINE_integer('epochs', 60, 'Number of epochs.')
flags.DEFINE_integer('num_train_images', 18432, 'Images in the training shards.')
flags.DEFINE_float('base_lr', 0.1, 'Peak learning rate.')
flags.DEFINE_integer('warmup_epochs', 3, 'Epochs of linear warm-up.')
flags.DEFINE_float('weight_decay', 1e-4, 'L2 on convolution and dense kernels.')
flags.DEFINE_float('label_smoothing', 0.1, 'Label smoothing.')
flags.DEFINE_bool('mixed', True, 'Compute in float16.')
flags.DEFINE_integer('seed', 17, 'Random seed.')


class WarmupCosine(keras.optimizers.schedules.LearningRateSchedule):

  def __init__(self, peak, warmup_steps, total_steps):
    super().__init__()
    self.peak = peak
    self.warmup_steps = warmup_steps
    self.total_steps = total_steps

  def __call__(self, step):
    step = tf.cast(step, tf.float32)
    warm = self.peak * (step + 1.0) / self.warmup_steps
    progress = (step - self.warmup_steps) / (self.total_steps - self.warmup_steps)
    cosine = 0.5 * self.peak * (1.0 + tf.cos(math.pi * tf.clip_by_value(progress, 0.0, 1.0)))
    return tf.where(step < self.warmup_steps, warm, cosine)


def make_optimizer(steps_per_epoch):
  schedule = WarmupCosine(
      FLAGS.base_lr, FLAGS.warmup_epochs * steps_per_epoch, FLAGS.epochs * steps_per_epoch)
  optimizer = keras.optimizers.SGD(schedule, momentum=0.9, nesterov=True, global_clipnorm=5.0)
  if FLAGS.mixed:
    optimizer = keras.optimizers.LossScaleOptimizer(optimizer, initial_scale=2.0**15)
  return optimizer


def kernel_l2(model):
  kernels = [v for v in model.trainable_variables if v.name == 'kernel']
  return tf.add_n([tf.nn.l2_loss(v) for v in kernels])


def make_steps(model, optimizer, train_loss, val_loss, val_acc, val_recall):
  cross_entropy = keras.losses.CategoricalCrossentropy(
      from_logits=True, label_smoothing=FLAGS.label_smoothing)
  sparse_ce = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

  @tf.function
  def train_step(images, targets):
    with tf.GradientTape() as tape:
      logits = model(images, training=True)
      loss = cross_entropy(targets, logits)
      total = loss + FLAGS.weight_decay * kernel_l2(model)
      scaled = optimizer.scale_loss(total)
    grads = tape.gradient(scaled, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    train_loss.update_state(loss)

  @tf.function
  def eval_step(images, labels):
    logits = model(images, training=False)
    val_loss.update_state(sparse_ce(labels, logits), sample_weight=tf.shape(images)[0])
    val_acc.update_state(labels, logits)
    val_recall.update_state(labels, logits)

  return train_step, eval_step


def main(argv):
  del argv
  keras.utils.set_random_seed(FLAGS.seed)
  if FLAGS.mixed:
    keras.mixed_precision.set_global_policy('mixed_float16')

  train_files, val_files = input_pipeline.split_shards(FLAGS.data_dir)
  logging.info('%d training shards, %d validation shards', len(train_files), len(val_files))
  train_ds = input_pipeline.train_dataset(train_files, FLAGS.batch_size, FLAGS.seed)
  val_ds = input_pipeline.eval_dataset(val_files, FLAGS.batch_size)
  steps_per_epoch = FLAGS.num_train_images // FLAGS.batch_size

  model = shell_net.ShellNet(input_pipeline.NUM_CLASSES)
  model(tf.zeros([1, input_pipeline.IMAGE_SIZE, input_pipeline.IMAGE_SIZE, 3]))
  optimizer = make_optimizer(steps_per_epoch)
  optimizer.build(model.trainable_variables)

  train_loss = keras.metrics.Mean()
  val_loss = keras.metrics.Mean()
  val_acc = keras.metrics.SparseCategoricalAccuracy()
  val_recall = shell_net.MacroRecall(input_pipeline.NUM_CLASSES)
  train_step, eval_step = make_steps(model, optimizer, train_loss, val_loss, val_acc, val_recall)

  epoch_var = tf.Variable(0, dtype=tf.int64)
  checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, epoch=epoch_var)
  manager = tf.train.CheckpointManager(checkpoint, os.path.join(FLAGS.workdir, 'ckpt'), max_to_keep=3)
  if manager.latest_checkpoint:
    checkpoint.restore(manager.latest_checkpoint)
    logging.info('Resuming after epoch %d', int(epoch_var))

  best = 0.0
  for epoch in range(int(epoch_var), FLAGS.epochs):
    for metric in (train_loss, val_loss, val_acc, val_recall):
      metric.reset_state()
    for images, targets in train_ds:
      train_step(images, targets)
    for images, labels in val_ds:
      eval_step(images, labels)

    row = {
        'epoch': epoch + 1,
        'lr': float(optimizer.learning_rate),
        'train_loss': float(train_loss.result()),
        'val_loss': float(val_loss.result()),
        'val_acc': float(val_acc.result()),
        'val_macro_recall': float(val_recall.result()),
    }
    logging.info(json.dumps(row))
    with open(os.path.join(FLAGS.workdir, 'metrics.jsonl'), 'a') as f:
      f.write(json.dumps(row) + '\n')

    epoch_var.assign(epoch + 1)
    manager.save()
    if row['val_macro_recall'] > best:
      best = row['val_macro_recall']
      model.save_weights(os.path.join(FLAGS.workdir, 'best.weights.h5'))
  logging.info('Best macro recall %.4f', best)


if __name__ == '__main__':
  app.run(main)
