"""Gradients that are added up by hand in TensorFlow and MindSpore: cleared, and divided."""

from __future__ import annotations

import pytest

from .._scripts import state

VARIABLES = """
import tensorflow as tf
sums = [tf.Variable(tf.zeros_like(w), trainable=False) for w in net.trainable_variables]
@tf.function
def collect(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, net(x, training=True)){loss}
    for s, g in zip(sums, tape.gradient(loss, net.trainable_variables)):
        s.assign_add(g)
@tf.function
def apply():
{before}    optimizer.apply_gradients(zip({given}, net.trainable_variables))
{after}
for i, (x, y) in enumerate(data):
    collect(x, y)
    if (i + 1) % every == 0:
        apply()
"""
LIST = """
import tensorflow as tf
held = None
for epoch in range(9):
    for step, (x, y) in enumerate(data, 1):
        with tf.GradientTape() as tape:
            loss = loss_fn(y, net(x, training=True)){loss}
        grads = tape.gradient(loss, net.trainable_variables)
        held = grads if held is None else [a + b for a, b in zip(held, grads)]
        if step % 8 == 0:
{before}            optimizer.apply_gradients(zip({given}, net.trainable_variables))
{after}
"""
CELL = """
import mindspore as ms
from mindspore import nn, ops
class Step(nn.TrainOneStepCell):
    def __init__(self, network, optimizer, every=4):
        super().__init__(network, optimizer)
        self.every = every
        self.sums = self.weights.clone(prefix="sum", init="zeros")
        self.zeros = self.weights.clone(prefix="zero", init="zeros")
        self.map = ops.HyperMap()
    def construct(self, *inputs):
        loss = self.network(*inputs)
        grads = self.grad(self.network, self.weights)(*inputs, self.sens){loss}
        loss = ops.depend(loss, self.map(ops.partial(ops.assign_add), self.sums, grads))
        self.counter += 1
        if self.counter % self.every == 0:
{before}            loss = ops.depend(loss, self.optimizer({given}))
{after}
        return loss
step = Step(net, optimizer)
for x, y in data:
    step(x, y)
"""
CLEAR = {
    VARIABLES: "    for s in sums:\n        s.assign(tf.zeros_like(s))\n",
    LIST: "            held = None\n",
    CELL: "            self.map(ops.partial(ops.assign), self.sums, self.zeros)\n",
}
SUM = {VARIABLES: "sums", LIST: "held", CELL: "self.sums"}
MEAN = {VARIABLES: "[s / every for s in sums]", LIST: "[h / 8 for h in held]", CELL: "self.sums"}
SHARE = {VARIABLES: "", LIST: "", CELL: " / self.every"}
FORMS = pytest.mark.parametrize("form", [VARIABLES, LIST, CELL], ids=["variables", "list", "cell"])


@FORMS
def test_sums_that_are_cleared_and_divided(form: str) -> None:
    """By the number of batches, at the sum or at the loss."""
    for given, loss in ((MEAN[form], SHARE[form]), (SUM[form], " / every")):
        text = form.format(given=given, loss=loss, before="", after=CLEAR[form])
        assert state("script-gradients-not-cleared", text) != "present"
        assert state("script-gradients-cleared-too-early", text) != "present"
        assert state("script-accumulation-not-divided", text) != "present"


@FORMS
def test_sums_that_nothing_clears(form: str) -> None:
    """They grow for ever."""
    text = form.format(given=MEAN[form], loss=SHARE[form], before="", after="")
    assert state("script-gradients-not-cleared", text) == "present"


@FORMS
def test_sums_that_nothing_divides(form: str) -> None:
    """Every so many batches their sum is applied."""
    text = form.format(given=SUM[form], loss="", before="", after=CLEAR[form])
    assert state("script-accumulation-not-divided", text) == "present"


def test_sums_that_are_cleared_before_they_are_applied() -> None:
    """What is applied is zero."""
    text = VARIABLES.format(given=MEAN[VARIABLES], loss="", before=CLEAR[VARIABLES], after="")
    assert state("script-gradients-cleared-too-early", text) == "present"
    zeros = "[tf.zeros_like(g) for g in grads]"
    text = LIST.format(given="grads", loss="", before=f"            grads = {zeros}\n", after="")
    assert state("script-gradients-cleared-too-early", text) == "present"


def test_cleared_before_the_next_batches() -> None:
    """Cleared at first, then filled, then applied."""
    text = """
import tensorflow as tf
for step in range(900):
    for s in sums:
        s.assign(tf.zeros_like(s))
    for x, y in next(groups):
        with tf.GradientTape() as tape:
            loss = loss_fn(y, net(x, training=True)) / every
        for s, g in zip(sums, tape.gradient(loss, net.trainable_variables)):
            s.assign_add(g)
    optimizer.apply_gradients(zip(sums, net.trainable_variables))
"""
    assert state("script-gradients-cleared-too-early", text) != "present"
    assert state("script-gradients-not-cleared", text) != "present"


TWO_FUNCTIONS = """
import tensorflow as tf
def explain(net, x, steps):
    gradients = None
    for part in range(steps):
        with tf.GradientTape() as tape:
            score = tf.reduce_sum(net(x * part / steps))
        gradients = [a + b for a, b in zip(gradients, tape.gradient(score, [x]))] if gradients else [x * 0]
    return gradients
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, net(x, training=True))
    gradients = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(gradients, net.trainable_variables))
for x, y in data:
    train_step(x, y)
"""


def test_one_name_in_two_functions_is_two_things() -> None:
    assert state("script-gradients-not-cleared", TWO_FUNCTIONS) != "present"
