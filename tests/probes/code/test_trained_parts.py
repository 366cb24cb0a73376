"""What trains and what does not, in Keras, TensorFlow and MindSpore: frozen, made anew, replaced, cut off."""

from __future__ import annotations

import pytest

from .._scripts import state

NET = """
import tensorflow as tf
class Net(tf.keras.Model):
    def __init__(self, units):
        super().__init__()
        self.units = units
        self.first = tf.keras.layers.{first}
        self.out = tf.keras.layers.Dense(1)
    def call(self, x, training=False):
        {call}
net = Net(8)
{before}
optimizer = tf.keras.optimizers.Adam(1e-3)
for x, y in data:
    with tf.GradientTape() as tape:
        guess = net(x, training=True)
        loss = tf.reduce_mean(tf.square(y - {guess}))
    grads = tape.gradient(loss, {weights})
    optimizer.apply_gradients(zip(grads, {weights}))
"""


def _net(
    first: str = "Dense(8)",
    call: str = "return self.out(self.first(x))",
    before: str = "",
    guess: str = "guess",
    weights: str = "net.trainable_variables",
) -> str:
    return NET.format(first=first, call=call, before=before, guess=guess, weights=weights)


CELL = """
import numpy as np
import mindspore as ms
from mindspore import nn, ops
from mindspore.common.initializer import Normal, initializer
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = nn.Dense(8, 8)
        self.query = {query}
        self.out = nn.Dense(8, 1)
    def construct(self, x):
        h = {first}
        return self.out(ops.matmul(h, self.query))
net = Net()
{before}
optimizer = nn.Adam({weights}, 1e-3)
{after}
ms.Model(net, nn.MSELoss(), optimizer).train(9, data)
"""


def _cell(
    query: str = "ms.Parameter(initializer(Normal(0.02), [8, 8]))",
    first: str = "self.first(x)",
    before: str = "",
    weights: str = "net.trainable_params()",
    after: str = "",
) -> str:
    return CELL.format(query=query, first=first, before=before, weights=weights, after=after)


GROUPS = """
groups = [
    {"params": [p for p in net.trainable_params() if p.ndim > 1]},
    {"params": [p for p in net.trainable_params() if p.ndim < 2]},
]
"""
UNTRAINED = [
    _net(first="Embedding(99, 8, trainable=False)"),
    _net(call="return tf.keras.layers.Dense(1)(self.first(x))"),
    _net(call="head = tf.keras.layers.Dense(1)\n        return head(self.first(x))"),
    _net(before="weights = net.trainable_variables\nnet.out = tf.keras.layers.Dense(1)", weights="weights"),
    _cell(before="for p in net.first.get_parameters():\n    p.requires_grad = False"),
    _cell(query="initializer(Normal(0.02), [8, 8]).init_data()"),
    _cell(before=GROUPS, weights="groups", after="net.out = nn.Dense(8, 1)"),
]
TRAINED = [
    _net(),
    _net(first="Embedding(99, 8, weights=[vectors], trainable=False)"),
    _net(
        call="if self.out is None:\n            self.out = tf.keras.layers.Dense(1)\n        return self.out(self.first(x))"  # noqa: E501
    ),
    _net(before="net.out = tf.keras.layers.Dense(1)\nweights = net.trainable_variables", weights="weights"),
    _cell(),
    _cell(query="ms.Tensor(np.ones((8, 8)), ms.float32)"),
    _cell(before="net.out = nn.Dense(8, 1)\n" + GROUPS, weights="groups"),
]


@pytest.mark.parametrize("text", UNTRAINED)
def test_a_part_never_trains(text: str) -> None:
    """Frozen where it is made, made anew at every call, no parameter, or replaced after its list was taken."""  # noqa: E501
    assert state("script-part-not-trained", text) == "present"


@pytest.mark.parametrize("text", TRAINED)
def test_everything_trains(text: str) -> None:
    """The same programs the right way round."""
    assert state("script-part-not-trained", text) != "present"


CUT = [
    _net(
        call="h = self.first(x)\n        h = tf.py_function(lambda t: t.numpy() * 2, [h], tf.float32)\n        return self.out(h)"  # noqa: E501
    ),
    _net(call="return self.out(tf.numpy_function(sharpen, [self.first(x)], tf.float32))")
    .replace("[self.first(x)]", "[h]")
    .replace("return self.out(tf", "h = self.first(x)\n        return self.out(tf"),
    _net(guess="tf.cast(guess > 0.5, tf.float32)"),
    _cell(first="ms.Tensor(self.first(x).asnumpy())"),
]
WHOLE = [
    _net(),
    _net(call="x = tf.numpy_function(sharpen, [x], tf.float32)\n        return self.out(self.first(x))"),
    _net(guess="tf.sigmoid(guess)"),
    _cell(first="self.first(ms.Tensor(np.asarray(x)))"),
]


@pytest.mark.parametrize("text", CUT)
def test_the_way_back_is_cut(text: str) -> None:
    """By Python, by arrays or by a comparison."""
    assert state("script-gradient-path-cut", text) == "present"


@pytest.mark.parametrize("text", WHOLE)
def test_the_way_back_is_whole(text: str) -> None:
    """Inputs may come from anywhere."""
    assert state("script-gradient-path-cut", text) != "present"


HALF = """
import mindspore as ms
from mindspore import amp, nn, ops
class Net(nn.Cell):
    def construct(self, x):
        return self.out(x)
net = amp.auto_mixed_precision(Net(), "O2")
criterion = nn.CrossEntropyLoss()
def forward(x, y):
    logits = net(x)
    return criterion({}, y)
grad_fn = ms.value_and_grad(forward, None, optimizer.parameters)
"""
KERAS = """
import tensorflow as tf
class Net(tf.keras.Model):
    def call(self, x):
        return self.out(x)
net = Net()
criterion = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
for x, y in data:
    with tf.GradientTape() as tape:
        logits = net(x)
        loss = criterion({})
    grads = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(grads, net.trainable_variables))
"""


def test_predictions_stand_where_the_framework_takes_them() -> None:
    """Keras takes the answers first; a network may be wrapped for mixed precision."""
    assert state("script-gradient-path-cut", KERAS.format("y, tf.stop_gradient(logits)")) == "present"
    assert state("script-gradient-path-cut", KERAS.format("tf.stop_gradient(y), logits")) != "present"
    assert state("script-gradient-path-cut", HALF.format("ops.stop_gradient(logits)")) == "present"
    assert state("script-gradient-path-cut", HALF.format("logits")) != "present"


def test_a_straight_through_estimator_cuts_nothing() -> None:
    """`x + stop_gradient(q - x)` hands the gradient on."""
    through = "h = self.first(x)\n        return self.out(h + tf.stop_gradient(tf.round(h) - h))"
    assert state("script-gradient-path-cut", _net(call=through)) != "present"
    assert (
        state("script-gradient-path-cut", _net(call="return self.out(tf.stop_gradient(self.first(x)))"))
        == "present"
    )
