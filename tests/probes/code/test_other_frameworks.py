"""Mistakes in the spellings of JAX, TensorFlow on Ascend and MindSpore, each beside what is right."""

from __future__ import annotations

import pytest

from .._scripts import state

JAX = """
import jax, jax.numpy as jnp, numpy as np, optax
import equinox as eqx

x, y = load_split("train")
key = jax.random.PRNGKey(0)
model = Net(key)
optim = optax.adam(1e-3)
state = optim.init(eqx.filter(model, eqx.is_array))

def loss_fn(model, bx, by, key):
    logits = jax.vmap(model)(bx, jax.random.split(key, bx.shape[0]))
    return {LOSS}

@eqx.filter_jit
def step(model, state, bx, by, key):
    loss, grads = eqx.filter_value_and_grad(loss_fn)(model, bx, by, key)
    updates, state = optim.update(grads, state, eqx.filter(model, eqx.is_array))
    return eqx.apply_updates(model, updates), state, loss

for epoch in range(9):
    order = {ORDER}
    for i in range(len(x) // 32):
        rows = order[i * 32 : (i + 1) * 32]
        {KEY}
        {KEPT} = step(model, state, x[rows], y[rows], sub)
"""
RIGHT = {
    "LOSS": "optax.softmax_cross_entropy_with_integer_labels(logits, by).mean()",
    "ORDER": "np.random.permutation(len(x))",
    "KEY": "key, sub = jax.random.split(key)",
    "KEPT": "model, state, loss",
}


def _jax(**other: str) -> str:
    text = JAX
    for mark, value in (RIGHT | other).items():
        text = text.replace("{" + mark + "}", value)
    return text


@pytest.mark.parametrize(
    ("symptom", "other"),
    [
        ("script-double-softmax", {"LOSS": RIGHT["LOSS"].replace("logits", "jax.nn.softmax(logits)")}),
        ("script-double-softmax", {"LOSS": "-jnp.mean(jax.nn.log_softmax(jax.nn.softmax(logits))[:, 0])"}),
        ("script-order-fixed", {"ORDER": "np.arange(len(x))"}),
        ("script-order-fixed", {"ORDER": "list(range(len(x)))"}),
        ("script-key-reused", {"KEY": "sub = key"}),
        ("script-key-reused", {"KEY": "sub = jax.random.PRNGKey(7)"}),
        ("script-optimizer-rebuilt", {"KEPT": "model, _, loss"}),
    ],
)
def test_steps_of_jax(symptom: str, other: dict[str, str]) -> None:
    assert state(symptom, _jax(**other)) == "present"
    assert state(symptom, _jax()) != "present"


def test_an_order_that_counts_up_over_shuffled_rows_or_a_state_is_meant_so() -> None:
    for line in ("np.random.shuffle(x_rows)", "hidden = carry_over(hidden)"):
        assert state("script-order-fixed", _jax(ORDER=f"np.arange(len(x)); {line}")) != "present"


HAIKU = """
import haiku as hk, jax, optax
net = hk.transform(forward)
{RNG}
params = net.init(jax.random.PRNGKey(1), x0)
tx = optax.adam(1e-3)
state = tx.init(params)

def loss_fn(params, key, x, y):
    return optax.softmax_cross_entropy(net.apply(params, key, x), y).mean()

for epoch in range(9):
    for x, y in batches():
        grads = jax.grad(loss_fn)(params, {KEY}, x, y)
        updates, state = tx.update(grads, state, params)
        params = optax.apply_updates(params, updates)
"""


@pytest.mark.parametrize(
    ("rng", "key", "told"),
    [("rng = hk.PRNGSequence(3)", "next(rng)", False), ("rng = jax.random.PRNGKey(3)", "rng", True)],
)
def test_keys_of_haiku_go_by_place(rng: str, key: str, told: bool) -> None:
    found = state("script-key-reused", HAIKU.replace("{RNG}", rng).replace("{KEY}", key))
    assert (found == "present") is told


NNX = """
import jax
import optax
from flax import nnx

class Net(nnx.Module):
    def __init__(self, rngs):
        self.drop, self.head = nnx.Dropout(0.2, rngs=rngs), nnx.Linear(9, 3, rngs=rngs)

    def __call__(self, x):
        return self.head(self.drop(x))

model = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)

def loss_fn(model, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean()

@nnx.jit
def step(model, optimizer, x, y):
    optimizer.update(model, nnx.grad(loss_fn)(model, x, y))

@nnx.jit
def hits(model, x, y):
    return (model(x).argmax(1) == y).sum()

for epoch in range(9):
    {ON}
    for x, y in train_batches():
        step(model, optimizer, x, y)
    {OFF}
    print(sum(hits(model, x, y) for x, y in test_batches()))
"""


@pytest.mark.parametrize(
    ("on", "off", "told"),
    [
        ("model.train()", "model.eval()", False),
        ("model.train()", "pass", True),
        ("pass", "model.eval()", True),
    ],
)
def test_modes_of_nnx(on: str, off: str, told: bool) -> None:
    found = state("script-mode-wrong", NNX.replace("{ON}", on).replace("{OFF}", off))
    assert (found == "present") is told


ESTIMATOR = """
import os
import tensorflow as tf
from npu_bridge.npu_init import *

def input_fn():
    d = tf.data.TFRecordDataset(sorted(tf.gfile.Glob("train*")))
    {SHARD}
    return d.shuffle(9000).repeat().map(decode).batch(32)

def encode(ids, mask, training):
    mask = tf.cast(mask, tf.float32)
    hidden = tf.nn.embedding_lookup(table, ids)
    scores = tf.matmul(hidden, hidden, transpose_b=True) + {HIDDEN} * -10000.0
    hidden = tf.matmul(tf.nn.softmax(scores), hidden)
    if training:
        hidden = tf.nn.dropout(hidden, keep_prob=0.9)
    return hidden[:, 0]

def model_fn(features, labels, mode):
    training = {MODE}
    logits = tf.layers.dense(encode(features["input_ids"], features["input_mask"], training), 3)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    step = tf.train.get_or_create_global_step()
    rate = tf.train.cosine_decay(1e-3, step, {LENGTH})
    optimizer = tf.train.AdamOptimizer(rate)
    {JOIN}
    {SCALE}
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=optimizer.minimize(loss, global_step=step))

config = NPURunConfig(hcom_parallel=True, precision_mode="allow_mix_precision")
NPUEstimator(model_fn, config=config).train(input_fn, max_steps=FLAGS.epochs * STEPS)
"""
GOOD = {
    "SHARD": 'd = d.shard(int(os.getenv("RANK_SIZE")), int(os.getenv("RANK_ID")))',
    "HIDDEN": "(1.0 - mask[:, None, :])",
    "MODE": "mode == tf.estimator.ModeKeys.TRAIN",
    "LENGTH": "FLAGS.epochs * STEPS",
    "JOIN": "optimizer = NPUDistributedOptimizer(optimizer)",
    "SCALE": "optimizer = NPULossScaleOptimizer(optimizer, manager, is_distributed=True)",
}


@pytest.mark.parametrize(
    ("symptom", "mark", "line"),
    [
        ("script-same-shard", "SHARD", "pass"),
        ("script-mode-wrong", "MODE", "True"),
        ("script-schedule-wrong", "LENGTH", "FLAGS.epochs"),
        ("script-no-gradient-synchronisation", "JOIN", "pass"),
        ("script-loss-scale-missing", "SCALE", "pass"),
    ],
)
def test_estimators_on_ascend(symptom: str, mark: str, line: str) -> None:
    def program(**other: str) -> str:
        text = ESTIMATOR
        for name, value in (GOOD | other).items():
            text = text.replace("{" + name + "}", value)
        return text

    assert state(symptom, program(**{mark: line})) == "present"
    assert state(symptom, program()) != "present"


ZOO = """
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import context, nn
from mindspore.communication import get_group_size, get_rank, init
from mindspore.train import Model

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.head = nn.Dense(9, 3)

    def construct(self, x):
        return {OUT}

def create_dataset(path, do_train, rank_size=1, rank_id=0):
    data = ds.MindDataset(path, columns_list=["x", "y"], shuffle={SHUFFLE}{SHARD})
    return data.batch(32, drop_remainder=do_train)

init()
context.set_auto_parallel_context(parallel_mode=context.ParallelMode.DATA_PARALLEL, gradients_mean=True)
train_set = create_dataset("train.mindrecord", True, get_group_size(), get_rank())
steps = train_set.get_dataset_size()
{RATE}
net = Net()
opt = nn.Momentum(net.trainable_params(), lr, 0.9)
model = Model(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"), opt)
model.train(config.epochs, train_set)
"""
SOUND = {
    "OUT": "self.head(x)",
    "SHUFFLE": "do_train",
    "SHARD": ", num_shards=rank_size, shard_id=rank_id",
    "RATE": "lr = nn.piecewise_constant_lr([30 * steps, config.epochs * steps], [0.1, 0.01])",
}
EACH = "lr = [0.1 * 0.5 ** (epoch // 10) for epoch in range(config.epochs)]"


@pytest.mark.parametrize(
    ("symptom", "mark", "line"),
    [
        ("script-loss-wrong", "OUT", "nn.Softmax(axis=1)(self.head(x))"),
        ("script-order-fixed", "SHUFFLE", "False"),
        ("script-same-shard", "SHARD", ""),
        ("script-schedule-wrong", "RATE", EACH),
        (
            "script-schedule-wrong",
            "RATE",
            "lr = nn.piecewise_constant_lr([int(config.epochs * f) for f in (0.5, 1)], [1, 0.1])",
        ),
    ],
)
def test_the_zoo_of_mindspore(symptom: str, mark: str, line: str) -> None:
    def program(**other: str) -> str:
        text = ZOO
        for name, value in (SOUND | other).items():
            text = text.replace("{" + name + "}", value)
        return text

    assert state(symptom, program(**{mark: line})) == "present"
    assert state(symptom, program()) != "present"
    repeated = EACH + "\nlr = ms.Tensor(np.repeat(lr, steps).astype(np.float32))"
    assert state(symptom, program(RATE=repeated)) != "present"
