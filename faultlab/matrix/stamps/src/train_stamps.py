"""Train StampNet with a TensorFlow 1 session."""

import os

import numpy as np
import tensorflow as tf

from stamp_data import Batches, read_folder, split
from stamp_net import StampNet

flags = tf.app.flags
flags.DEFINE_string("data_dir", "stamps", "folders of scans")
flags.DEFINE_string("log_dir", "log", "summaries and checkpoints")
flags.DEFINE_integer("batch_size", 64, "")
flags.DEFINE_integer("epochs", 25, "")
flags.DEFINE_float("learning_rate", 1e-3, "")
flags.DEFINE_float("keep_prob", 0.6, "share of hidden units that stay")
flags.DEFINE_integer("seed", 5, "")
FLAGS = flags.FLAGS


def evaluate(sess, net, images, labels, batch_size=256):
    correct = 0
    for i in range(0, len(images), batch_size):
        feed = {
            net.x: images[i:i + batch_size],
            net.y: labels[i:i + batch_size],
            net.keep_prob: 1.0,
            net.is_training: False,
        }
        correct += sess.run(net.correct, feed_dict=feed)
    return correct / float(len(images))


def main(_):
    tf.set_random_seed(FLAGS.seed)
    images, labels, names = read_folder(FLAGS.data_dir)
    train, valid, test = split(images, labels, FLAGS.seed)
    mean = train[0].mean()
    train_x, valid_x, test_x = train[0] - mean, valid[0] - mean, test[0] - mean
    batches = Batches(train_x, train[1], FLAGS.batch_size, FLAGS.seed)

    net = StampNet(48, len(names))
    global_step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(
        FLAGS.learning_rate, global_step, decay_steps=5 * len(batches), decay_rate=0.5, staircase=True
    )
    optimizer = tf.train.AdamOptimizer(rate)
    update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    with tf.control_dependencies(update_ops):
        grads_and_vars = optimizer.compute_gradients(net.loss)
        grads, variables = zip(*grads_and_vars)
        clipped, norm = tf.clip_by_global_norm(grads, 5.0)
        train_op = optimizer.apply_gradients(zip(clipped, variables), global_step=global_step)

    tf.summary.scalar("loss", net.loss)
    tf.summary.scalar("rate", rate)
    merged = tf.summary.merge_all()
    saver = tf.train.Saver(max_to_keep=1)
    best_path = os.path.join(FLAGS.log_dir, "best.ckpt")

    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        writer = tf.summary.FileWriter(FLAGS.log_dir, sess.graph)
        best = 0.0
        for epoch in range(FLAGS.epochs):
            losses = []
            for x, y in batches.epoch(augment=True):
                feed = {net.x: x, net.y: y, net.keep_prob: FLAGS.keep_prob, net.is_training: True}
                _, loss, summary, step = sess.run([train_op, net.loss, merged, global_step], feed_dict=feed)
                losses.append(loss)
                if step % 100 == 0:
                    writer.add_summary(summary, step)
            accuracy = evaluate(sess, net, valid_x, valid[1])
            print("epoch %d loss %.4f valid %.4f" % (epoch, np.mean(losses), accuracy))
            if accuracy > best:
                best = accuracy
                saver.save(sess, best_path)
        saver.restore(sess, best_path)
        print("test %.4f" % evaluate(sess, net, test_x, test[1]))


if __name__ == "__main__":
    tf.app.run()
