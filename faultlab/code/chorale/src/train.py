"""Multi-GPU training with a hand-written loop.

    python train.py --data_dir=gs_or_local/dir --model_dir=runs/a
"""
import collections
import os

from absl import app, flags, logging
import numpy as np
import tensorflow as tf

from input_pipeline import make_dataset
from model import InstrumentNet

FLAGS = flags.FLAGS
flags.DEFINE_string("data_dir", None, "Directory of train-*.tfrecord and valid-*.tfrecord.", required=True)
flags.DEFINE_string("model_dir", None, "Where checkpoints and summaries go.", required=True)
flags.DEFINE_integer("replica_batch", 32, "Batch size per replica.")
flags.DEFINE_integer("steps", 60000, "Optimizer steps.")
flags.DEFINE_integer("eval_every", 1000, "Steps between evaluations.")
flags.DEFINE_integer("warmup", 2000, "Warm-up steps.")
flags.DEFINE_float("lr", 4e-4, "Peak learning rate.")
flags.DEFINE_float("clip", 1.0, "Global gradient norm.")
flags.DEFINE_bool("mixed", True, "Train with mixed_float16.")

Config = collections.namedtuple("Config", "frames mels num_tags shuffle_buffer seed")
CFG = Config(frames=256, mels=80, num_tags=20, shuffle_buffer=8192, seed=17)


class WarmupCosine(tf.keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, peak, warmup, total):
        super().__init__()
        self.peak, self.warmup, self.total = peak, warmup, total

    def __call__(self, step):
        step = tf.cast(step, tf.float32)
        ramp = self.peak * step / float(max(self.warmup, 1))
        progress = tf.clip_by_value((step - self.warmup) / float(self.total - self.warmup), 0.0, 1.0)
        cosine = self.peak * 0.5 * (1.0 + tf.cos(np.pi * progress))
        return tf.where(step < self.warmup, ramp, cosine)

    def get_config(self):
        return {"peak": self.peak, "warmup": self.warmup, "total": self.total}


def main(_):
    tf.keras.utils.set_random_seed(CFG.seed)
    if FLAGS.mixed:
        tf.keras.mixed_precision.set_global_policy("mixed_float16")
    strategy = tf.distribute.MirroredStrategy()
    replicas = strategy.num_replicas_in_sync
    global_batch = FLAGS.replica_batch * replicas
    logging.info("%d replicas, global batch %d", replicas, global_batch)

    def train_input(context):
        pattern = os.path.join(FLAGS.data_dir, "train-*.tfrecord")
        return make_dataset(pattern, CFG, context.get_per_replica_batch_size(global_batch), True, context)

    train_data = iter(strategy.distribute_datasets_from_function(train_input))
    valid_data = make_dataset(os.path.join(FLAGS.data_dir, "valid-*.tfrecord"), CFG, global_batch, False)
    valid_data = strategy.experimental_distribute_dataset(valid_data)

    with strategy.scope():
        model = InstrumentNet(CFG.num_tags)
        model(tf.zeros((1, CFG.frames, CFG.mels)))  # makes the variables
        schedule = WarmupCosine(FLAGS.lr, FLAGS.warmup, FLAGS.steps)
        optimizer = tf.keras.optimizers.AdamW(
            schedule, weight_decay=1e-3, beta_2=0.98, global_clipnorm=FLAGS.clip
        )
        if FLAGS.mixed:
            optimizer = tf.keras.mixed_precision.LossScaleOptimizer(optimizer)
        optimizer.build(model.trainable_variables)
        train_loss = tf.keras.metrics.Mean("loss")
        valid_loss = tf.keras.metrics.Mean("valid_loss")
        valid_map = tf.keras.metrics.AUC(curve="PR", multi_label=True, num_labels=CFG.num_tags, name="map")

    def per_example(tags, logits):
        xent = tf.nn.sigmoid_cross_entropy_with_logits(labels=tags, logits=logits)
        return tf.reduce_mean(xent, axis=-1)

    def replica_step(mel, tags):
        with tf.GradientTape() as tape:
            logits = model(mel, training=True)
            loss = tf.nn.compute_average_loss(per_example(tags, logits), global_batch_size=global_batch)
            scaled = optimizer.scale_loss(loss) if FLAGS.mixed else loss
        grads = tape.gradient(scaled, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        return loss

    @tf.function
    def train_step(mel, tags):
        losses = strategy.run(replica_step, args=(mel, tags))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

    def replica_eval(mel, tags):
        logits = model(mel, training=False)
        valid_loss.update_state(per_example(tags, logits))
        valid_map.update_state(tags, tf.sigmoid(logits))

    @tf.function
    def eval_step(mel, tags):
        strategy.run(replica_eval, args=(mel, tags))

    global_step = tf.Variable(0, dtype=tf.int64)
    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, step=global_step)
    manager = tf.train.CheckpointManager(checkpoint, os.path.join(FLAGS.model_dir, "last"), max_to_keep=2)
    best_manager = tf.train.CheckpointManager(checkpoint, os.path.join(FLAGS.model_dir, "best"), max_to_keep=1)
    if manager.latest_checkpoint:
        checkpoint.restore(manager.latest_checkpoint)
        logging.info("restored %s", manager.latest_checkpoint)
    writer = tf.summary.create_file_writer(FLAGS.model_dir)

    best = 0.0
    start = int(global_step.numpy())
    for step in range(start + 1, FLAGS.steps + 1):
        train_loss.update_state(train_step(*next(train_data)))
        global_step.assign(step)
        if step % FLAGS.eval_every and step != FLAGS.steps:
            continue
        valid_loss.reset_state()
        valid_map.reset_state()
        for mel, tags in valid_data:
            eval_step(mel, tags)
        score = float(valid_map.result())
        with writer.as_default(step=step):
            for metric in (train_loss, valid_loss, valid_map):
                tf.summary.scalar(metric.name, metric.result())
            tf.summary.scalar("lr", schedule(step))
        logging.info(
            "step %d loss %.4f valid %.4f map %.4f", step, train_loss.result(), valid_loss.result(), score
        )
        train_loss.reset_state()
        manager.save(step)
        if score > best:
            best = score
            best_manager.save(step)


if __name__ == "__main__":
    app.run(main)
