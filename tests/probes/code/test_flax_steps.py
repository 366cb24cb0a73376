"""Training steps of flax: keys, statistics, averages and new states."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

STEP = """
import jax
import jax.numpy as jnp
import optax
from typing import Any
from flax.training import train_state
from net import Net, batches

class State(train_state.TrainState):
    batch_stats: Any
    ema_params: Any

def make(key):
    net = Net()
    v = net.init(key, jnp.ones((1, 8)), train=False)
    return State.create(apply_fn=net.apply, params=v["params"], tx=optax.adam(1e-3),
                        batch_stats=v["batch_stats"], ema_params=v["params"])

@jax.jit
def train_step(state, batch, key):
    step_key = jax.random.fold_in(key, state.step)

    def loss_fn(params):
        v = {"params": params, "batch_stats": state.batch_stats}
        x = batch["x"]
        out, new = state.apply_fn(v, x, train=True, mutable=["batch_stats"], rngs={"dropout": step_key})
        return optax.l2_loss(out, batch["y"]).mean(), new

    (loss, new), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    state = state.apply_gradients(grads=grads)
    ema = jax.tree_util.tree_map(lambda e, p: 0.999 * e + 0.001 * p, state.ema_params, state.params)
    state = state.replace(batch_stats=new["batch_stats"], ema_params=ema)
    return state, loss

def score(state, batch):
    v = {"params": state.ema_params, "batch_stats": state.batch_stats}
    return state.apply_fn(v, batch["x"], train=False)

def main():
    first, key = jax.random.split(jax.random.PRNGKey(0))
    state = make(first)
    for epoch in range(30):
        for batch in batches("train"):
            state, loss = train_step(state, batch, key)
        print(epoch, loss, score(state, next(batches("val"))))

main()
"""
AVERAGE, KEY = "script-average-astray", "script-key-reused"


@pytest.mark.parametrize(
    ("symptom", "old", "new", "wanted"),
    [
        (KEY, "", "", A),
        (KEY, "jax.random.fold_in(key, state.step)", "key", P),
        (KEY, "jax.random.fold_in(key, state.step)", "jax.random.split(key)[0]", P),
        (KEY, "jax.random.fold_in(key, state.step)", "jax.random.PRNGKey(3)", P),
        (KEY, "state, loss = train", "key, sub = jax.random.split(key)\n            state, loss = train", A),
        (KEY, ', rngs={"dropout": step_key}', "", U),
        (AVERAGE, "", "", A),
        (AVERAGE, "state.ema_params, state.params)", "state.params, state.ema_params)", P),
        (AVERAGE, "0.999 * e + 0.001 * p", "0.001 * e + 0.999 * p", P),
        (AVERAGE, 'batch_stats=new["batch_stats"], ', "", P),
        (AVERAGE, ", ema_params=ema)", ")", P),
        (AVERAGE, 'state.replace(batch_stats=new["batch_stats"], ema_params=ema)', "state.replace(**new)", A),
        ("script-part-not-trained", "    state = state.apply_grad", "    s = state.apply_grad", P),
    ],
)  # fmt: skip
def test_steps(symptom: str, old: str, new: str, wanted: str) -> None:
    text = STEP.replace(old, new) if old else STEP
    assert text != STEP or not old
    assert state(symptom, text) == wanted


def test_a_key_of_each_step() -> None:
    """What the caller draws anew in the loop is another one, whatever the step does with it."""
    text = STEP.replace("jax.random.fold_in(key, state.step)", "key")
    drawn = "key, sub = jax.random.split(key)\n            state, loss = train_step(state, batch, sub)"
    assert state(KEY, text.replace("state, loss = train_step(state, batch, key)", drawn)) == A
    same = "_, sub = jax.random.split(key)\n            state, loss = train_step(state, batch, sub)"
    assert state(KEY, text.replace("state, loss = train_step(state, batch, key)", same)) == P


PLAIN = """
import jax, optax
import flax.linen as nn
from data import batches
SEQ = 64

class LM(nn.Module):
    @nn.compact
    def __call__(self, tokens, train):
        x = nn.Embed(65, 32)(tokens)
        mask = nn.make_causal_mask(tokens)
        x = x + nn.MultiHeadDotProductAttention(num_heads=4)(x, x, mask=mask)
        return nn.Dense(65)(nn.Dropout(0.1, deterministic=not train)(x))

def main():
    model, tx = LM(), optax.adamw(1e-3)
    key, first = jax.random.split(jax.random.PRNGKey(0))
    params = model.init(first, next(batches())[:, :-1], False)["params"]
    ema_params, opt_state = params, tx.init(params)

    def loss_fn(params, window, key):
        out = model.apply({"params": params}, window[:, :-1], True, rngs={"dropout": key})
        return optax.softmax_cross_entropy_with_integer_labels(out, window[:, 1:]).mean()

    @jax.jit
    def step_fn(params, ema_params, opt_state, window, key):
        loss, grads = jax.value_and_grad(loss_fn)(params, window, key)
        updates, opt_state = tx.update(grads, opt_state, params)
        params = optax.apply_updates(params, updates)
        ema_params = optax.incremental_update(params, ema_params, 0.002)
        return params, ema_params, opt_state, loss

    for step in range(9000):
        key, sub = jax.random.split(key)
        params, ema_params, opt_state, loss = step_fn(params, ema_params, opt_state, next(batches()), sub)

main()
"""


@pytest.mark.parametrize(
    ("symptom", "old", "new"),
    [
        (KEY, "key, sub = jax.random.split(key)\n", "_, sub = jax.random.split(key)\n"),
        (AVERAGE, "        ema_params = optax.incremental_update(params, ema_params, 0.002)\n", ""),
        ("script-optimizer-rebuilt", "updates, opt_state = tx", "updates, _ = tx"),
        ("script-training-sees-evaluation", "window[:, 1:]", "window[:, :-1]"),
        ("script-training-sees-evaluation", "nn.make_causal_mask(tokens)", "None"),
    ],
)
def test_a_plain_loop(symptom: str, old: str, new: str) -> None:
    assert state(symptom, PLAIN) != P
    assert PLAIN.replace(old, new) != PLAIN
    assert state(symptom, PLAIN.replace(old, new)) == P


def test_noise_of_a_shape_hands_slopes_on() -> None:
    text = """
import jax, jax.numpy as jnp, optax
import flax.linen as nn
class VAE(nn.Module):
    @nn.compact
    def __call__(self, x):
        mean, logvar = nn.Dense(4)(x), nn.Dense(4)(x)
        z = mean + jnp.exp(0.5 * logvar) * jax.random.normal(self.make_rng("sample"), mean.shape)
        return nn.Dense(8)(z), mean, logvar
def loss(out, x, mean, logvar):
    kl = -0.5 * (1 + logvar - mean**2 - jnp.exp(logvar)).sum(-1)
    return (optax.sigmoid_binary_cross_entropy(out, x).sum(-1) + kl).mean()
"""
    assert state("script-gradient-path-cut", text) != P


def test_one_average_into_another() -> None:
    soft = "import jax, optax\nfor b in rows:\n    target_params = optax.incremental_update({}, 0.005)\n"
    assert state(AVERAGE, soft.replace("{}", "params, target_params")) == A
    assert state(AVERAGE, soft.replace("{}", "target_params, params")) == P
    assert state(AVERAGE, "import jax\nprint(1)\n") == U
