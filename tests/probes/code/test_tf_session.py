"""TensorFlow's sessions: what is built or begun anew in their loop, never run, or fed the wrong way."""

from __future__ import annotations

import pytest

from .._scripts import state

NET = """
import numpy as np
import tensorflow as tf

class Net(object):
    def __init__(self, n):
        self.x = tf.placeholder(tf.float32, [None, 20])
        self.y = tf.placeholder(tf.int64, [None])
        self.keep_prob = tf.placeholder(tf.float32)
        self.is_training = tf.placeholder(tf.bool)
        h = tf.layers.batch_normalization(tf.layers.dense(self.x, 64), training=self.is_training)
        h = tf.nn.dropout(tf.nn.relu(h), keep_prob=self.keep_prob)
        self.logits = tf.layers.dense(h, n)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.y, logits=self.logits)
        self.loss = tf.reduce_mean(losses)
        self.hits = tf.reduce_sum(tf.cast(tf.equal(tf.argmax(self.logits, 1), self.y), tf.int32))

def evaluate(sess, net, images, labels):
    correct = 0
    for i in range(0, len(images), 100):
        part = slice(i, i + 100)
        feed = {net.x: images[part], net.y: labels[part], net.keep_prob: 1.0, net.is_training: False}
        correct += sess.run(net.hits, feed_dict=feed)
    return correct / len(images)

def main(cfg):
    net = Net(10)
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(1e-3, step, 2000, 0.9)
    optimizer = tf.train.AdamOptimizer(rate)
    update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    with tf.control_dependencies(update_ops):
        train_op = optimizer.minimize(net.loss, global_step=step)
    saver = tf.train.Saver()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        if cfg.resume:
            saver.restore(sess, cfg.resume)
        for epoch in range(20):
            for x, y in batches():
                feed = {net.x: x, net.y: y, net.keep_prob: cfg.keep, net.is_training: True}
                _, loss = sess.run([train_op, net.loss], feed_dict=feed)
            print(epoch, loss, evaluate(sess, net, x_val, y_val))

main(read())
"""
RUN = "                _, loss = sess.run([train_op, net.loss], feed_dict=feed)\n"
EPOCH = "        for epoch in range(20):\n"
UPDATES = "    update_ops = tf.get_collection(tf.GraphKeys.UPDATE_OPS)\n"


@pytest.mark.parametrize(
    ("symptom", "old", "new", "said"),
    [
        (
            "script-graph-grows",
            RUN,
            RUN + "                loss = sess.run(tf.reduce_mean(loss))\n",
            "present",
        ),
        (
            "script-graph-grows",
            EPOCH,
            EPOCH + "            train_op = optimizer.minimize(net.loss)\n",
            "present",
        ),
        (
            "script-graph-grows",
            "correct += sess.run(net.hits,",
            "hits = tf.equal(tf.argmax(net.logits, 1), net.y)\n        correct += sess.run(hits,",
            "present",
        ),
        # protocol buffers, files and the like are no operations
        (
            "script-graph-grows",
            RUN,
            RUN + "                writer.add_summary(tf.Summary(value=[]), epoch)\n"
            "                tf.logging.info('%f', loss)\n",
            "absent",
        ),
        # a graph for each fold
        (
            "script-graph-grows",
            "main(read())",
            "for fold in range(5):\n    tf.reset_default_graph()\n    net = Net(10)\n"
            "    loss = tf.reduce_mean(net.loss)\n"
            "    with tf.Session() as sess:\n        sess.run(loss)\n",
            "absent",
        ),
        ("script-graph-grows", "", "", "absent"),
        (
            "script-weights-begun-anew",
            EPOCH,
            EPOCH + "            sess.run(tf.global_variables_initializer())\n",
            "present",
        ),
        (
            "script-weights-begun-anew",
            EPOCH,
            "        saver.restore(sess, 'best')\n        sess.run(tf.global_variables_initializer())\n"
            + EPOCH,
            "present",
        ),
        ("script-weights-begun-anew", "", "", "absent"),
        ("script-mode-fixed", "net.is_training: False", "net.is_training: True", "present"),
        ("script-mode-fixed", "net.keep_prob: 1.0", "net.keep_prob: cfg.keep", "present"),
        ("script-mode-fixed", "net.keep_prob: 1.0", "net.keep_prob: 0.0", "present"),
        ("script-mode-fixed", "net.is_training: True", "net.is_training: False", "present"),
        ("script-mode-fixed", "net.keep_prob: cfg.keep", "net.keep_prob: 0.5", "absent"),
        ("script-mode-fixed", "", "", "absent"),
        ("script-batch-statistics-off", UPDATES, "", "present"),
        ("script-batch-statistics-off", "", "", "absent"),
        ("script-rate-not-applied", "AdamOptimizer(rate)", "AdamOptimizer(1e-3)", "present"),
        (
            "script-rate-not-applied",
            "AdamOptimizer(rate)",
            "AdamOptimizer(1e-3)\n    tf.summary.scalar('rate', rate)",
            "present",
        ),
        (
            "script-rate-not-applied",
            "rate = tf.train.exponential_decay(1e-3, step,",
            "count = tf.Variable(0, trainable=False)\n    rate = tf.train.exponential_decay(1e-3, count,",
            "present",
        ),
        ("script-rate-not-applied", "", "", "unknown"),
        (
            "script-optimizer-gets-part",
            "global_step=step)",
            "global_step=step, var_list=[v for v in tf.trainable_variables() if 'dense_1' in v.name])",
            "present",
        ),
        (
            "script-optimizer-gets-part",
            "global_step=step)",
            "global_step=step, var_list=[v for v in tf.trainable_variables() if 'frozen' not in v.name])",
            "unknown",
        ),
        (
            "script-step-missing",
            "_, loss = sess.run([train_op, net.loss],",
            "loss = sess.run(net.loss,",
            "present",
        ),
        ("script-step-missing", "", "", "unknown"),
    ],
)
def test_session(symptom: str, old: str, new: str, said: str) -> None:
    """Faults of the loop that runs a graph, and right programs that look alike."""
    text = NET.replace(old, new) if old else NET
    assert not old or text != NET
    assert state(symptom, text) == said


def test_update_ops_in_time() -> None:
    """The collection of updates holds what was built before it is read."""
    early = NET.replace(UPDATES, "").replace("    net = Net(10)\n", UPDATES + "    net = Net(10)\n")
    assert state("script-batch-statistics-off", early) == "present"
    beside = NET.replace(
        "        train_op = optimizer.minimize(net.loss, global_step=step)\n",
        "        nothing = tf.no_op()\n    train_op = optimizer.minimize(net.loss, global_step=step)\n",
    )
    assert state("script-batch-statistics-off", beside) == "present"
    fetched = beside.replace("[train_op, net.loss]", "[train_op, net.loss, nothing][:2]")
    assert state("script-batch-statistics-off", fetched) == "absent"
