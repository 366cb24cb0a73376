"""Phase of the gait (heel strike, loading, stance, push-off, swing) for each sample of a walk."""

import tensorflow as tf
from absl import app, flags
from walks import PAD, channel_stats, dataset, split

FLAGS = flags.FLAGS
flags.DEFINE_string("walks", "data/walks", "folder with the recordings")
flags.DEFINE_string("out", "runs/gaits", "checkpoints and summaries")
flags.DEFINE_integer("epochs", 60, "")
flags.DEFINE_integer("batch", 32, "")
flags.DEFINE_integer("length", 256, "samples per piece")
flags.DEFINE_float("lr", 6e-4, "")
flags.DEFINE_integer("seed", 4, "")

PHASES = 5
kl = tf.keras.layers


class Attend(kl.Layer):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.dim = heads, width // heads
        self.qkv = kl.Dense(3 * width)
        self.mix = kl.Dense(width)

    def call(self, x, real):
        b, t = tf.shape(x)[0], tf.shape(x)[1]
        qkv = tf.reshape(self.qkv(x), (b, t, 3, self.heads, self.dim))
        q, k, v = tf.unstack(tf.transpose(qkv, (2, 0, 3, 1, 4)))
        score = tf.matmul(q, k, transpose_b=True) * self.dim**-0.5
        score = tf.cast(score, tf.float32) - 1e9 * tf.cast(~real, tf.float32)[:, None, None, :]
        share = tf.cast(tf.nn.softmax(score), v.dtype)
        heads = tf.transpose(tf.matmul(share, v), (0, 2, 1, 3))
        return self.mix(tf.reshape(heads, (b, t, self.heads * self.dim)))


class Block(kl.Layer):
    def __init__(self, width, heads, rate):
        super().__init__()
        self.norm1, self.norm2 = kl.LayerNormalization(epsilon=1e-5), kl.LayerNormalization(epsilon=1e-5)
        self.attend = Attend(width, heads)
        self.wide, self.narrow = kl.Dense(4 * width, activation="gelu"), kl.Dense(width)
        self.drop = kl.Dropout(rate)

    def call(self, x, real, training=False):
        x = x + self.drop(self.attend(self.norm1(x), real), training=training)
        return x + self.drop(self.narrow(self.wide(self.norm2(x))), training=training)


class PhaseNet(tf.keras.Model):
    def __init__(self, width=96, depth=3, heads=4, rate=0.1):
        super().__init__()
        self.conv1, self.bn1 = kl.Conv1D(width, 9, padding="same", use_bias=False), kl.BatchNormalization()
        self.conv2, self.bn2 = kl.Conv1D(width, 9, padding="same", use_bias=False), kl.BatchNormalization()
        self.blocks = [Block(width, heads, rate) for _ in range(depth)]
        self.norm = kl.LayerNormalization(epsilon=1e-5)
        self.head = kl.Dense(PHASES, dtype="float32")

    def call(self, imu, real, training=False):
        h = tf.nn.gelu(self.bn1(self.conv1(imu), training=training))
        h = tf.nn.gelu(self.bn2(self.conv2(h), training=training))
        for block in self.blocks:
            h = block(h, real, training=training)
        return self.head(self.norm(h))


def phase_loss(logits, phase):
    real = tf.cast(phase != PAD, tf.float32)
    ce = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.maximum(phase, 0), logits)
    return tf.reduce_sum(ce * real) / tf.maximum(tf.reduce_sum(real), 1.0)


def confusion(net, ds):
    table = tf.zeros((PHASES, PHASES), tf.int32)
    for imu, phase in ds:
        real = phase != PAD
        guess = tf.argmax(net(imu, real), axis=-1, output_type=tf.int32)
        table += tf.math.confusion_matrix(phase[real], guess[real], PHASES)
    return tf.cast(table, tf.float32)


def macro_f1(table):
    hit = tf.linalg.diag_part(table)
    both = tf.reduce_sum(table, 0) + tf.reduce_sum(table, 1)
    return float(tf.reduce_mean(2 * hit / tf.maximum(both, 1.0)))


def main(_):
    tf.keras.utils.set_random_seed(FLAGS.seed)
    tf.keras.mixed_precision.set_global_policy("mixed_float16")
    train_files, val_files, test_files = split(FLAGS.walks, FLAGS.seed)
    stats = channel_stats(train_files)
    train_ds = dataset(train_files, stats, FLAGS.length, FLAGS.batch, training=True)
    val_ds = dataset(val_files, stats, FLAGS.length, FLAGS.batch)
    test_ds = dataset(test_files, stats, FLAGS.length, FLAGS.batch)

    net = PhaseNet()
    per_epoch = sum(1 for _ in train_ds)
    rate = tf.keras.optimizers.schedules.CosineDecay(
        0.0, (FLAGS.epochs - 2) * per_epoch, warmup_target=FLAGS.lr, warmup_steps=2 * per_epoch
    )
    opt = tf.keras.optimizers.AdamW(rate, weight_decay=0.01, global_clipnorm=1.0)
    opt = tf.keras.mixed_precision.LossScaleOptimizer(opt)

    @tf.function
    def step(imu, phase):
        with tf.GradientTape() as tape:
            loss = phase_loss(net(imu, phase != PAD, training=True), phase)
            scaled = opt.scale_loss(loss)
        grads = tape.gradient(scaled, net.trainable_variables)
        opt.apply_gradients(zip(grads, net.trainable_variables))
        return loss

    for imu, phase in train_ds.take(1):
        net(imu, phase != PAD)
    opt.build(net.trainable_variables)
    epoch, best_f1 = tf.Variable(0), tf.Variable(0.0)
    state = tf.train.Checkpoint(net=net, opt=opt, epoch=epoch, best_f1=best_f1)
    last = tf.train.CheckpointManager(state, FLAGS.out + "/last", max_to_keep=1)
    best = tf.train.CheckpointManager(tf.train.Checkpoint(net=net), FLAGS.out + "/best", max_to_keep=1)
    state.restore(last.latest_checkpoint)

    mean_loss = tf.keras.metrics.Mean()
    while int(epoch) < FLAGS.epochs:
        mean_loss.reset_state()
        for imu, phase in train_ds:
            mean_loss.update_state(step(imu, phase))
        f1 = macro_f1(confusion(net, val_ds))
        print(f"{int(epoch):3d}  loss {float(mean_loss.result()):.4f}  val f1 {f1:.4f}", flush=True)
        if f1 > best_f1:
            best_f1.assign(f1)
            best.save()
        epoch.assign_add(1)
        last.save()

    best.checkpoint.restore(best.latest_checkpoint).expect_partial()
    print(f"test f1 {macro_f1(confusion(net, test_ds)):.4f}")


if __name__ == "__main__":
    app.run(main)
