"""The graph of the stamp classifier (TensorFlow 1)."""

import tensorflow as tf


def weight_variable(shape, name):
    return tf.get_variable(name, shape, initializer=tf.truncated_normal_initializer(stddev=0.1))


def bias_variable(shape, name):
    return tf.get_variable(name, shape, initializer=tf.constant_initializer(0.1))


def conv2d(x, w):
    return tf.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME")


def max_pool(x):
    return tf.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")


class StampNet(object):
    def __init__(self, size, num_classes, decay=1e-4):
        self.x = tf.placeholder(tf.float32, [None, size, size, 1], name="x")
        self.y = tf.placeholder(tf.int64, [None], name="y")
        self.keep_prob = tf.placeholder(tf.float32, name="keep_prob")
        self.is_training = tf.placeholder(tf.bool, name="is_training")
        self.size = size
        self.num_classes = num_classes
        self.decay = decay
        self.logits = self._build()
        self._losses()

    def _layer(self, x, depth, name):
        with tf.variable_scope(name):
            w = weight_variable([5, 5, int(x.shape[-1]), depth], "w")
            h = tf.layers.batch_normalization(conv2d(x, w), training=self.is_training)
            tf.add_to_collection("decayed", w)
            return max_pool(tf.nn.relu(h))

    def _build(self):
        h = self._layer(self.x, 32, "conv1")
        h = self._layer(h, 64, "conv2")
        side = self.size // 4
        flat = tf.reshape(h, [-1, side * side * 64])
        with tf.variable_scope("fc1"):
            w = weight_variable([side * side * 64, 512], "w")
            b = bias_variable([512], "b")
            tf.add_to_collection("decayed", w)
            hidden = tf.nn.relu(tf.matmul(flat, w) + b)
        dropped = tf.nn.dropout(hidden, keep_prob=self.keep_prob)
        with tf.variable_scope("fc2"):
            w = weight_variable([512, self.num_classes], "w")
            b = bias_variable([self.num_classes], "b")
            return tf.matmul(dropped, w) + b

    def _losses(self):
        cross_entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.y, logits=self.logits)
        penalty = tf.add_n([tf.nn.l2_loss(w) for w in tf.get_collection("decayed")])
        self.loss = tf.reduce_mean(cross_entropy) + self.decay * penalty
        self.predictions = tf.argmax(self.logits, 1)
        self.correct = tf.reduce_sum(tf.cast(tf.equal(self.predictions, self.y), tf.int32))
