"""TensorFlow's graph mode: losses, descents, modes and schedules, each in programs that differ in style."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.shared.sides import either
from traindoctor.probes.code.tensorflow import graph as code_tf_graph
from traindoctor.probes.code.tensorflow import graph_gradient, graph_loss
from traindoctor.probes.registry import Finding
from traindoctor.probes.scripts import graph_facts
from traindoctor.probes.scripts.syntax import Script

SESSION = """
import numpy as np
import tensorflow as tf
images = tf.placeholder(tf.float32, [None, 32, 32, 1])
labels = tf.placeholder(tf.int64, [None])
training = tf.placeholder(tf.bool, name="training")
net = tf.layers.conv2d(images, 16, 3, use_bias=False)
net = tf.nn.relu(tf.layers.batch_normalization(net, training=training))
features = tf.reduce_mean(net, [1, 2])
logits = tf.layers.dense(features, 10)
losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
loss = tf.reduce_mean(losses)
step = tf.train.get_or_create_global_step()
rate = tf.train.exponential_decay(1e-3, step, 1000, 0.9)
opt = tf.train.AdamOptimizer(rate)
grads, weights = zip(*opt.compute_gradients(loss))
grads, _ = tf.clip_by_global_norm(grads, 1.0)
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    train_op = opt.apply_gradients(zip(grads, weights), global_step=step)
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for x, y in batches():
        sess.run([train_op, loss], feed_dict={images: x, labels: y, training: True})
    print(sess.run(accuracy, feed_dict={images: x_test, labels: y_test, training: False}))
"""
ESTIMATOR = """
import tensorflow as tf

def model_fn(features, labels, mode, params):
    train = mode == tf.estimator.ModeKeys.TRAIN
    x = tf.feature_column.input_layer(features, params["columns"])
    x = tf.layers.dense(x, 32, activation=tf.nn.relu)
    x = tf.layers.dropout(x, rate=0.3, training=train)
    score = tf.layers.dense(x, 1)
    p = tf.sigmoid(score)
    loss = tf.losses.sigmoid_cross_entropy(labels, score)
    optimizer = tf.train.GradientDescentOptimizer(0.01)
    train_op = optimizer.minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, predictions={"p": p})
"""
TAGS = """
import tensorflow.compat.v1 as tf

class Tagger:
    def __init__(self, words, tags, train_set, valid_set):
        self.is_training = tf.placeholder_with_default(False, [])
        self.iterator = tf.data.Iterator.from_structure(train_set.output_types)
        ids, gold = self.iterator.get_next()
        train_init, valid_init = self.inits(train_set, valid_set)
        is_training = tf.placeholder_with_default(False, [])
        table = tf.get_variable("words", [words, 64], initializer=tf.random_uniform_initializer(-0.1, 0.1))
        x = tf.nn.embedding_lookup(table, ids)
        x = tf.layers.dropout(x, rate=0.3, training=is_training)
        out, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(64), x, dtype=tf.float32)
        scores = tf.layers.dense(out, tags)
        mask = tf.cast(ids > 0, tf.float32)
        ce = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=gold, logits=scores)
        loss = tf.reduce_sum(ce * mask) / tf.reduce_sum(mask)
        train_op = tf.train.AdamOptimizer(1e-3).minimize(loss)
        hits = tf.reduce_sum(tf.cast(tf.equal(tf.argmax(scores, -1), gold), tf.float32) * mask)
        sess = tf.Session()
        sess.run(train_init)
        sess.run([train_op, loss], feed_dict={is_training: True})
        sess.run(valid_init)
        print(sess.run(hits))
"""
RIGHT = (SESSION, ESTIMATOR, TAGS)
Check = Callable[[Script], Finding | None]


def script(text: str) -> Script:
    text = textwrap.dedent(text)
    return Script("train.py", text, ast.parse(text))


def says(check: Check, text: str) -> bool:
    found = check(script(text))
    return found is not None and found.state is State.PRESENT


def edited(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1, old
    return text.replace(old, new)


CASES: tuple[tuple[Check, str, str, str], ...] = (
    (graph_loss.activated_twice, SESSION, "logits=logits", "logits=tf.nn.softmax(logits)"),
    (graph_loss.activated_twice, SESSION, "dense(features, 10)", "dense(features, 10, activation='softmax')"),
    (graph_loss.activated_twice, ESTIMATOR, "entropy(labels, score)", "entropy(labels, p)"),
    (
        graph_loss.activated_twice,
        TAGS,
        "dense(out, tags)",
        "dense(out, tags, tf.nn.relu, activation=tf.nn.softmax)",
    ),
    (graph_loss.activation_left_out, ESTIMATOR, "sigmoid_cross_entropy(labels", "log_loss(labels"),
    (
        graph_loss.activation_left_out,
        SESSION,
        "loss = tf.reduce_mean(losses)",
        "loss = -tf.reduce_mean(tf.one_hot(labels, 10) * tf.log(logits + 1e-8))",
    ),
    (
        graph_loss.activation_left_out,
        TAGS,
        "ce = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=gold, logits=scores)",
        "ce = -tf.reduce_sum(tf.one_hot(gold, tags) * tf.math.log(scores), -1)",
    ),
    (graph_loss.summed_over_batch, SESSION, "loss = tf.reduce_mean(losses)", "loss = tf.reduce_sum(losses)"),
    (graph_loss.summed_over_batch, TAGS, " / tf.reduce_sum(mask)\n", "\n"),
    (
        graph_loss.summed_over_batch,
        ESTIMATOR,
        "entropy(labels, score)",
        "entropy(labels, score, reduction=tf.losses.Reduction.SUM)",
    ),
    (
        graph_loss.one_class_softmax,
        ESTIMATOR,
        "sigmoid_cross_entropy(labels, score)",
        "softmax_cross_entropy(labels, score)",
    ),
    (graph_gradient.cut_in_graph, SESSION, "dense(features, 10)", "dense(tf.stop_gradient(features), 10)"),
    (
        graph_gradient.cut_in_graph,
        ESTIMATOR,
        "x = tf.layers.dropout",
        "x = tf.py_func(clean, [x], tf.float32)\n    x = tf.layers.dropout",
    ),
    (
        graph_gradient.cut_in_graph,
        TAGS,
        "tf.nn.embedding_lookup(table, ids)",
        "tf.stop_gradient(tf.nn.embedding_lookup(table, ids))",
    ),
    (graph_gradient.layer_kept, SESSION, "3, use_bias=False", "3, use_bias=False, trainable=False"),
    (graph_gradient.layer_kept, ESTIMATOR, "activation=tf.nn.relu", "activation=tf.nn.relu, trainable=False"),
    (graph_gradient.layer_kept, TAGS, "(-0.1, 0.1)", "(-0.1, 0.1), trainable=False"),
    (
        graph_gradient.descends_part,
        SESSION,
        "gradients(loss)",
        "gradients(loss, tf.trainable_variables()[-2:])",
    ),
    (
        graph_gradient.descends_part,
        ESTIMATOR,
        "minimize(loss,",
        "minimize(loss, var_list=tf.trainable_variables(scope='dense_1'),",
    ),
    (
        graph_gradient.descends_part,
        TAGS,
        "minimize(loss)",
        "minimize(loss, var_list=tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, 'dense'))",
    ),
    (graph_gradient.clip_not_applied, SESSION, "grads, _ = tf.clip", "clipped_grads, _ = tf.clip"),
    (graph_gradient.decay_stands, SESSION, "AdamOptimizer(rate)", "AdamOptimizer(1e-3)"),
    (graph_gradient.decay_stands, SESSION, ", global_step=step)", ")"),
    (code_tf_graph.mode_not_fed, SESSION, "training: True", "training: False"),
    (code_tf_graph.mode_not_fed, TAGS, "{is_training: True}", "{is_training: False}"),
    (code_tf_graph.mode_not_fed, TAGS, ", feed_dict={is_training: True}", ""),
    (
        code_tf_graph.kept_in_evaluation,
        TAGS,
        "sess.run(hits)",
        "sess.run(hits, feed_dict={is_training: True})",
    ),
    (code_tf_graph.mode_turned_in_model_fn, ESTIMATOR, "ModeKeys.TRAIN", "ModeKeys.EVAL"),
    (code_tf_graph.mode_turned_in_model_fn, ESTIMATOR, "mode == tf", "mode != tf"),
    (code_tf_graph.mode_turned_in_model_fn, ESTIMATOR, "mode == tf.estimator.ModeKeys.TRAIN", "True"),
    (
        code_tf_graph.mode_left_out,
        SESSION,
        "batch_normalization(net, training=training)",
        "batch_normalization(net)",
    ),
    (code_tf_graph.mode_left_out, ESTIMATOR, ", training=train", ""),
    (code_tf_graph.mode_left_out, TAGS, ", training=is_training", ""),
    (
        code_tf_graph.statistics_never_run,
        SESSION,
        "with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):",
        "updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)\nif True:",
    ),
)


@pytest.mark.parametrize(("check", "text", "old", "new"), CASES)
def test_a_slip_is_seen(check: Check, text: str, old: str, new: str) -> None:
    assert says(check, edited(text, old, new))


@pytest.mark.parametrize("text", RIGHT)
@pytest.mark.parametrize("check", sorted({c for c, *_ in CASES}, key=lambda c: c.__name__))
def test_right_programs_are_left_alone(check: Check, text: str) -> None:
    assert not says(check, text)


MEANT = (
    (
        graph_gradient.cut_in_graph,
        SESSION,
        "loss = tf.reduce_mean(losses)",
        "target = tf.stop_gradient(features)\nloss = tf.reduce_mean(losses) + cosine(features, target)",
    ),
    (
        graph_gradient.cut_in_graph,
        SESSION,
        "dense(features, 10)",
        "dense(features + tf.stop_gradient(tf.round(features) - features), 10)",
    ),
    (
        graph_gradient.layer_kept,
        TAGS,
        "(-0.1, 0.1)",
        "(-0.1, 0.1), trainable=False)\n        load_glove(table",
    ),
    (
        graph_gradient.layer_kept,
        TAGS,
        "(-0.1, 0.1))",
        "(-0.1, 0.1), trainable=False)\n        table.assign(power_iteration(table))",
    ),
    (graph_gradient.layer_kept, SESSION, "step = tf", "count = tf.Variable(0, trainable=False)\nstep = tf"),
    (graph_gradient.descends_part, SESSION, "gradients(loss)", "gradients(loss, tf.trainable_variables())"),
    (graph_loss.activated_twice, ESTIMATOR, "p = tf.sigmoid(score)", "p = tf.nn.softmax(score)"),
    (
        graph_loss.summed_over_batch,
        SESSION,
        "loss = tf.reduce_mean(losses)",
        "loss = tf.reduce_sum(losses) / tf.cast(tf.shape(images)[0], tf.float32)",
    ),
    (
        graph_loss.summed_over_batch,
        SESSION,
        "loss = tf.reduce_mean(losses)",
        "loss = tf.reduce_mean(tf.reduce_sum(losses, axis=-1))",
    ),
    (
        code_tf_graph.mode_not_fed,
        SESSION,
        "accuracy, feed_dict={images: x_test",
        "accuracy, feed_dict={images: x_other",
    ),
    (
        code_tf_graph.kept_in_evaluation,
        SESSION,
        "sess.run([train_op, loss], feed_dict={images: x",
        "sess.run([train_op, loss], feed_dict={images: x_test",
    ),
    (
        code_tf_graph.mode_turned_in_model_fn,
        ESTIMATOR,
        "mode == tf.estimator.ModeKeys.TRAIN",
        "mode != tf.estimator.ModeKeys.EVAL",
    ),
)


@pytest.mark.parametrize(("check", "text", "old", "new"), MEANT)
def test_what_is_meant_so_is_left_alone(check: Check, text: str, old: str, new: str) -> None:
    assert not says(check, edited(text, old, new))


def test_without_a_graph_nothing_is_said() -> None:
    text = "import torch\nopt = torch.optim.SGD(net.parameters(), 0.1)\nopt.minimize(loss)\n"
    checks = either(*{c for c, *_ in CASES})
    assert checks(script(text)) is None


def test_descents_are_those_of_optimizers() -> None:
    text = """
    import tensorflow as tf
    from scipy import optimize
    best = optimize.minimize(cost, start)
    opt = tf.train.MomentumOptimizer(0.1, 0.9)
    a = opt.minimize(loss)
    b = tf.train.AdamOptimizer().minimize(loss, var_list=weights)
    g = tf.gradients(loss, weights)
    k = tf.keras.optimizers.Adam().minimize(lambda: cost(x), weights)
    """
    found = graph_facts.descents(script(text))
    assert [(ast.unparse(d.objective), d.over is not None) for d in found] == [
        ("loss", False),
        ("loss", True),
        ("loss", True),
    ]
