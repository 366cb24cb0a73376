"""Sort newspaper notices into sections: convolutions over word vectors, TensorFlow 1 graphs and sessions."""

import argparse
import os
import pickle
import random

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

parser = argparse.ArgumentParser()
parser.add_argument("--data", default="gazettes.pkl")
parser.add_argument("--batch_size", type=int, default=64)
parser.add_argument("--epochs", type=int, default=25)
parser.add_argument("--learning_rate", type=float, default=1e-3)
parser.add_argument("--keep", type=float, default=0.6)
parser.add_argument("--embed", type=int, default=128)
parser.add_argument("--filters", type=int, default=96)
parser.add_argument("--model_dir", default="model")
parser.add_argument("--seed", type=int, default=3)
FLAGS = parser.parse_args()

random.seed(FLAGS.seed)
np.random.seed(FLAGS.seed)
tf.set_random_seed(FLAGS.seed)


def pad(rows, length):
    out = np.zeros((len(rows), length), np.int32)
    for i, row in enumerate(rows):
        row = row[:length]
        out[i, : len(row)] = row
    return out


with open(FLAGS.data, "rb") as f:
    corpus = pickle.load(f)
VOCAB = corpus["vocab_size"]
CLASSES = len(corpus["sections"])
LENGTH = 120
train_x, train_y = pad(corpus["train"]["ids"], LENGTH), np.array(corpus["train"]["section"])
dev_x, dev_y = pad(corpus["dev"]["ids"], LENGTH), np.array(corpus["dev"]["section"])
test_x, test_y = pad(corpus["test"]["ids"], LENGTH), np.array(corpus["test"]["section"])


def batches(x, y, size, shuffle):
    order = np.arange(len(x))
    if shuffle:
        np.random.shuffle(order)
    for start in range(0, len(x), size):
        pick = order[start : start + size]
        yield x[pick], y[pick]


ids = tf.placeholder(tf.int32, [None, LENGTH], name="ids")
labels = tf.placeholder(tf.int32, [None], name="labels")
keep_prob = tf.placeholder_with_default(1.0, [], name="keep_prob")
is_training = tf.placeholder_with_default(False, [], name="is_training")

with tf.variable_scope("embedding"):
    table = tf.get_variable("table", [VOCAB, FLAGS.embed], initializer=tf.random_uniform_initializer(-0.1, 0.1))
    words = tf.nn.embedding_lookup(table, ids)
    present = tf.cast(tf.not_equal(ids, 0), tf.float32)
    words = words * tf.expand_dims(present, -1)

pooled = []
for width in (3, 4, 5):
    with tf.variable_scope("conv%d" % width):
        h = tf.layers.conv1d(words, FLAGS.filters, width, padding="same", use_bias=False)
        h = tf.layers.batch_normalization(h, training=is_training, momentum=0.99)
        h = tf.nn.relu(h)
        pooled.append(tf.reduce_max(h, axis=1))

hidden = tf.concat(pooled, axis=-1)
hidden = tf.nn.dropout(hidden, keep_prob=keep_prob)
hidden = tf.layers.dense(hidden, 128, activation=tf.nn.relu)
hidden = tf.nn.dropout(hidden, keep_prob=keep_prob)
logits = tf.layers.dense(hidden, CLASSES)

losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
loss = tf.reduce_mean(losses)
weights = [v for v in tf.trainable_variables() if "kernel" in v.name]
objective = loss + 1e-4 * tf.add_n([tf.nn.l2_loss(v) for v in weights])

predicted = tf.argmax(logits, axis=1, output_type=tf.int32)
correct = tf.reduce_sum(tf.cast(tf.equal(predicted, labels), tf.int32))

global_step = tf.train.get_or_create_global_step()
steps_per_epoch = (len(train_x) + FLAGS.batch_size - 1) // FLAGS.batch_size
rate = tf.train.exponential_decay(FLAGS.learning_rate, global_step, 5 * steps_per_epoch, 0.5, staircase=True)
optimizer = tf.train.AdamOptimizer(rate)
update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
with tf.control_dependencies(update_ops):
    grads, variables = zip(*optimizer.compute_gradients(objective))
    grads, _ = tf.clip_by_global_norm(grads, 5.0)
    train_op = optimizer.apply_gradients(zip(grads, variables), global_step=global_step)

saver = tf.train.Saver(max_to_keep=2)
init = tf.global_variables_initializer()


def evaluate(sess, x, y):
    right, total = 0, 0.0
    for bx, by in batches(x, y, 256, shuffle=False):
        c, ls = sess.run([correct, losses], feed_dict={ids: bx, labels: by})
        right += c
        total += ls.sum()
    return right / len(x), total / len(x)


with tf.Session() as sess:
    sess.run(init)
    best = 0.0
    best_path = os.path.join(FLAGS.model_dir, "best")
    os.makedirs(FLAGS.model_dir, exist_ok=True)
    for epoch in range(FLAGS.epochs):
        running = 0.0
        for step, (bx, by) in enumerate(batches(train_x, train_y, FLAGS.batch_size, shuffle=True)):
            feed = {ids: bx, labels: by, keep_prob: FLAGS.keep, is_training: True}
            _, value = sess.run([train_op, loss], feed_dict=feed)
            running += value
        accuracy, dev_loss = evaluate(sess, dev_x, dev_y)
        print("epoch %d train %.4f dev %.4f acc %.4f" % (epoch, running / (step + 1), dev_loss, accuracy))
        if accuracy > best:
            best = accuracy
            saver.save(sess, best_path)
    saver.restore(sess, best_path)
    print("test accuracy %.4f loss %.4f" % evaluate(sess, test_x, test_y))
