"""What is minimised, in any framework: its sign where it is written out, and sums where a mean belongs."""

from __future__ import annotations

import pytest

from .._scripts import state

KERAS = """
import keras
def {name}(truth, guess):
{body}
model = keras.Sequential([keras.layers.Dense(1)])
model.compile(optimizer="adam", loss={name})
model.fit(x, y, epochs=3)
"""
TAPE = """
import tensorflow as tf
{made}
@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        guess = net(x, training=True)
        {loss}
    grads = tape.gradient(loss, net.trainable_variables)
    optimizer.apply_gradients(zip(grads, net.trainable_variables))
"""
CELL = """
import mindspore as ms
from mindspore import nn, ops
class WithLoss(nn.Cell):
    def __init__(self, net, criterion):
        super().__init__()
        self.net = net
        self.criterion = criterion
    def construct(self, x, y):
        return {}
step = nn.TrainOneStepCell(WithLoss(net, nn.MSELoss({})), nn.Adam(net.trainable_params()))
for x, y in data:
    loss = step(x, y)
"""
TORCH = """
import torch
for x, y in loader:
    optimizer.zero_grad()
    logp = torch.log_softmax(model(x), 1)
    loss = {}
    loss.backward()
    optimizer.step()
"""

TURNED = [
    KERAS.format(
        name="fit_share",
        body="    rest = keras.ops.sum(keras.ops.square(truth - guess))\n"
        "    whole = keras.ops.sum(keras.ops.square(truth - keras.ops.mean(truth)))\n"
        "    return 1 - rest / whole",
    ),
    KERAS.format(
        name="overlap",
        body="    both = keras.ops.sum(truth * guess)\n"
        "    return (2 * both + 1) / (keras.ops.sum(truth) + keras.ops.sum(guess) + 1)",
    ),
    TAPE.format(made="huber = tf.keras.losses.Huber()", loss="loss = -huber(y, guess)"),
    TAPE.format(made="", loss="loss = tf.reduce_mean(tf.gather(tf.nn.log_softmax(guess), y, batch_dims=1))"),
    CELL.format("0.0 - self.criterion(self.net(x), y)", ""),
    TORCH.format("(logp * y).sum(1).mean()"),
]
DESCENDED = [
    KERAS.format(
        name="fit_share",
        body="    rest = keras.ops.sum(keras.ops.square(truth - guess))\n"
        "    whole = keras.ops.sum(keras.ops.square(truth - keras.ops.mean(truth)))\n"
        "    return rest / whole",
    ),
    KERAS.format(
        name="overlap",
        body="    both = keras.ops.sum(truth * guess)\n"
        "    return 1 - (2 * both + 1) / (keras.ops.sum(truth) + keras.ops.sum(guess) + 1)",
    ),
    KERAS.format(  # a mean over what counts is no overlap
        name="masked",
        body="    each = keras.ops.square(truth - guess)\n    mask = keras.ops.cast(truth != 0, each.dtype)\n"
        "    return keras.ops.sum(each * mask) / keras.ops.maximum(keras.ops.sum(mask), 1)",
    ),
    TAPE.format(made="huber = tf.keras.losses.Huber()", loss="loss = huber(y, guess)"),
    TAPE.format(made="", loss="loss = -tf.reduce_mean(tf.gather(tf.nn.log_softmax(guess), y, batch_dims=1))"),
    TAPE.format(made="", loss="loss = tf.reduce_mean(adversary(y) - tf.math.log(guess))"),
    CELL.format("self.criterion(self.net(x), y)", ""),
    TORCH.format("(-y * logp).sum(1).mean()"),
]


@pytest.mark.parametrize("text", TURNED)
def test_what_grows_is_minimised(text: str) -> None:
    """A share of overlap, a log-probability or a loss with a minus before it."""
    assert state("script-loss-negated", text) == "present"


@pytest.mark.parametrize("text", DESCENDED)
def test_what_falls_is_minimised(text: str) -> None:
    """The same measures the right way round."""
    assert state("script-loss-negated", text) != "present"


SUMMED = [
    KERAS.replace("loss={name}", "loss=keras.losses.MeanSquaredError(reduction='sum')").format(
        name="other", body="    return 0"
    ),
    TAPE.format(made="", loss="loss = tf.reduce_sum(tf.square(y - guess))"),
    TAPE.format(
        made="mse = tf.keras.losses.MeanSquaredError(reduction='sum')",
        loss="loss = mse(y, guess)",
    )
    + "\nprint(np.mean(losses))",
    CELL.format("self.criterion(self.net(x), y)", "reduction='sum'"),
    TORCH.format("((model(x) - y) ** 2).sum()"),
]
AVERAGED = [
    KERAS.replace("loss={name}", "loss=keras.losses.MeanSquaredError()").format(
        name="other", body="    return 0"
    ),
    TAPE.format(made="", loss="loss = tf.reduce_sum(tf.square(y - guess)) / tf.cast(tf.size(y), tf.float32)"),
    TAPE.format(made="", loss="loss = tf.reduce_mean(tf.reduce_sum(tf.square(y - guess), axis=1))"),
    TAPE.format(  # every term of a negative ELBO is summed
        made="", loss="loss = tf.reduce_sum(tf.square(y - guess)) - 0.5 * tf.reduce_sum(1 + log_var)"
    ),
    CELL.format("self.criterion(self.net(x), y)", ""),
    TORCH.replace("for x, y in loader", "for t in range(500)").format("((model(x) - y) ** 2).sum()"),
]


@pytest.mark.parametrize("text", SUMMED)
def test_the_loss_is_summed(text: str) -> None:
    """By a reduction that is asked for, or written out, and divided nowhere."""
    assert state("script-loss-summed", text) == "present"


@pytest.mark.parametrize("text", AVERAGED)
def test_the_loss_is_averaged(text: str) -> None:
    """Means, sums that are divided, sums on purpose, and all data at once."""
    assert state("script-loss-summed", text) != "present"


STEPS = """
import keras, tensorflow as tf
class Net(keras.Model):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(y - self(x, training=True)))
        grads = tape.gradient(loss, self.trainable_weights)
        {}
        return {{"loss": loss}}
net = Net()
net.compile(optimizer=keras.optimizers.Adam(1e-3))
net.fit(data, epochs=3)
"""


def test_keras_applies_gradients_by_apply() -> None:
    """`optimizer.apply(grads, weights)` is the step of Keras 3."""
    assert (
        state("script-step-missing", STEPS.format("self.optimizer.apply(grads, self.trainable_weights)"))
        == "absent"
    )
    assert state("script-step-missing", STEPS.format("pass")) == "present"


BEST = """
import mindspore as ms
from mindspore import nn
net = nn.Dense(3, 2)
step = nn.TrainOneStepCell(net, nn.Adam(net.trainable_params()))
for epoch in range(9):
    for x in data:
        step(x)
    if accuracy(net) > best:
        best = accuracy(net)
        ms.save_checkpoint(net, "best.ckpt")
weights = ms.load_checkpoint("{}")
{}
print(accuracy(net))
"""


def test_own_weights_are_read_and_dropped() -> None:
    """The best weights of its own training are no pretrained ones."""
    dropped, used = "print(len(weights))", "ms.load_param_into_net(net, weights)"
    assert state("script-best-chosen-wrongly", BEST.format("best.ckpt", dropped)) == "present"
    assert state("script-pretrained-lost", BEST.format("best.ckpt", dropped)) != "present"
    assert state("script-best-chosen-wrongly", BEST.format("best.ckpt", used)) != "present"
    assert state("script-pretrained-lost", BEST.format("backbone.ckpt", dropped)) == "present"


ZEROS = [
    KERAS.format(
        name="focal",
        body="    return -keras.ops.mean(truth * keras.ops.log(guess) + (1 - truth) * keras.ops.log(1 - guess))",  # noqa: E501
    ),
    KERAS.format(
        name="share", body="    return keras.ops.mean(keras.ops.abs(truth - guess) / keras.ops.abs(truth))"
    ),
    TAPE.format(made="", loss="loss = -tf.reduce_mean(y * tf.math.log(1 - tf.sigmoid(guess)))"),
    CELL.format("-ops.log(ops.gather_elements(ops.softmax(self.net(x)), 1, y)).mean()", ""),
]
FLOORS = [
    KERAS.format(
        name="focal",
        body="    guess = keras.ops.clip(guess, 1e-7, 1 - 1e-7)\n"
        "    return -keras.ops.mean(truth * keras.ops.log(guess + 1e-7))",
    ),
    KERAS.format(
        name="share",
        body="    return keras.ops.mean(keras.ops.abs(truth - guess) / (keras.ops.abs(truth) + 1e-6))",
    ),
    TAPE.format(made="", loss="loss = -tf.reduce_mean(tf.math.log(tf.sigmoid(guess - y)))"),  # of ranking
    CELL.format("-ops.gather_elements(ops.log_softmax(self.net(x)), 1, y).mean()", ""),
]


@pytest.mark.parametrize("text", ZEROS)
def test_what_is_minimised_meets_zero(text: str) -> None:
    """Chances that underflow, errors over bare targets."""
    assert state("script-zero-without-floor", text) == "present"


@pytest.mark.parametrize("text", FLOORS)
def test_what_is_minimised_has_a_floor(text: str) -> None:
    """The same with a floor, or in a form that needs none."""
    assert state("script-zero-without-floor", text) != "present"


SUMS_OF_ONE = """
import tensorflow as tf
class Net(tf.keras.Model):
    def call(self, x):
        out = self.out(x)
        {}
        return out
    def train_step(self, data):
        with tf.GradientTape() as tape:
            loss = loss_fn(data[1], self(data[0], training=True))
        grads = tape.gradient(loss, self.trainable_variables)
        grads = [a + b for a, b in zip(grads, tape.gradient(tf.add_n(self.losses), self.trainable_variables))]
        self.optimizer.apply_gradients(zip(grads, self.trainable_variables))
"""


def test_two_gradients_of_one_step() -> None:
    """Terms of one step are added; what is kept for the log is cut off."""
    assert state("script-gradients-not-cleared", SUMS_OF_ONE.format("")) != "present"
    kept = SUMS_OF_ONE.format("self._last = tf.stop_gradient(out)")
    assert state("script-gradient-path-cut", kept) != "present"
    assert state("script-gradient-path-cut", SUMS_OF_ONE.format("out = tf.stop_gradient(out)")) == "present"


BY_WORD = """
import torch
from torch import nn
def nll(net, x, y, reduction="mean"):
    lost = -net(x).log_softmax(-1).gather(-1, y[:, None]).squeeze(-1)
    return {RETURN}
net = nn.Linear(8, 4)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in loader:
    opt.zero_grad()
    nll(net, x, y).backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("returned", "summed"),
    [
        ("lost.sum()", True),
        ('lost.sum() if reduction == "sum" else lost.mean()', False),
        ("lost.mean()", False),
    ],
)
def test_a_sum_that_is_asked_for_by_a_word(returned: str, summed: bool) -> None:
    assert (state("script-loss-wrong", BY_WORD.replace("{RETURN}", returned)) == "present") is summed
