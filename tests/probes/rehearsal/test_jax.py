"""JAX, flax and optax in a rehearsal: weights in trees, gradients by functions, steps by updates."""

import pytest

from traindoctor.probes.rehearsal.journal import Asked, Backward, Stepped, Told

from ._journals import learns, rehearsal
from ._program import told

FLAX = """
import flax.linen as nn
import jax, jax.numpy as jnp, numpy as np, optax
from flax.training import train_state

class Net(nn.Module):
    width: int = 16
    @nn.compact
    def __call__(self, x, train: bool):
        x = nn.relu(nn.Dense(self.width)(x))
        return nn.Dense(3)(nn.Dropout(0.2, deterministic=not train)(x))

x, y, xv, yv = np.load("x.npy"), np.load("y.npy"), np.load("xv.npy"), np.load("yv.npy")
net = Net()
params = net.init(jax.random.PRNGKey(0), x[:1], train=False)["params"]
state = train_state.TrainState.create(apply_fn=net.apply, params=params, tx=optax.adam(1e-3))

@jax.jit
def learn(state, x, y, key):
    def loss_fn(params):
        logits = state.apply_fn({"params": params}, x, train=True, rngs={"dropout": key})
        return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()
    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), loss

for epoch in range(5):
    for i in range(4):
        state, loss = learn(state, x[i::4], y[i::4], jax.random.PRNGKey(i))
    acc = (state.apply_fn({"params": state.params}, xv, train=False).argmax(-1) == yv).mean()
    print("val acc", acc)
"""
TREES = """
import jax, jax.numpy as jnp, numpy as np, optax
x, y = np.load("x.npy"), np.load("y.npy")

def init(key):
    return [(jax.random.normal(key, (8, 16)), jnp.zeros(16)), (jax.random.normal(key, (16, 1)), jnp.zeros(1))]

def forward(params, x):
    for w, b in params:
        x = jnp.tanh(x @ w + b)
    return x

def loss(params, x, y):
    return jnp.mean((forward(params, x) - y) ** 2)

params = init(jax.random.PRNGKey(1))
opt = optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1))
state = opt.init(params)

@jax.jit
def update(params, state, x, y):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    updates, state = opt.update(grads, state, params)
    return optax.apply_updates(params, updates), state, value

for epoch in range(3):
    params, state, value = update(params, state, x[:200], y[:200])
    print("val mse", jnp.mean((forward(params, x[200:]) - y[200:]) ** 2))
"""
NNX = """
from flax import nnx
import jax.numpy as jnp, numpy as np, optax
x, y = np.load("x.npy"), np.load("y.npy")

class Net(nnx.Module):
    def __init__(self, rngs):
        self.layers = [nnx.Linear(8, 16, rngs=rngs), nnx.Linear(16, 3, rngs=rngs)]
    def __call__(self, x):
        for layer in self.layers:
            x = nnx.relu(layer(x))
        return x

net = Net(nnx.Rngs(0))
optimizer = nnx.Optimizer(net, optax.adamw(1e-3))

@nnx.jit
def learn(net, optimizer, x, y):
    def loss_fn(net):
        return optax.softmax_cross_entropy_with_integer_labels(net(x), y).mean()
    loss, grads = nnx.value_and_grad(loss_fn)(net)
    optimizer.update(grads)
    return loss

for epoch in range(3):
    learn(net, optimizer, x, y)
"""


@pytest.mark.parametrize("text", [FLAX, TREES, NNX], ids=["flax", "trees", "nnx"])
def test_weights_are_moved_by_gradients(text: str) -> None:
    machine = rehearsal(text)
    assert machine.journal.ended == "whole"
    assert learns(machine.journal)
    assert not any(e.stale for e in machine.journal.of(Stepped))


def test_the_layers_in_a_list_of_nnx_belong_to_it() -> None:
    steps = rehearsal(NNX).journal.of(Stepped)
    assert len(steps[0].gradients) == 4


def test_flax_is_asked_in_the_mode_that_it_is_told_and_records_within_a_gradient_alone() -> None:
    asks = rehearsal(FLAX).journal.of(Asked)
    assert {(a.mode, a.graph) for a in asks} == {(True, True), (False, False)}


def test_a_function_of_weights_and_rows_is_a_network() -> None:
    journal = rehearsal(TREES).journal
    said = journal.of(Told)
    assert said and all(t.value.asked for t in said)
    asks = {a.number: a for a in journal.of(Asked)}
    learnt = {n for e in journal.of(Backward) for n in e.loss.asked}
    assert learnt and not any(learnt & t.value.asked for t in said)
    rows = {int(r) for n in learnt for r in asks[n].rows}
    assert not any(rows & {int(r) for r in asks[n].rows} for t in said for n in t.value.asked)


def test_dropout_of_equinox_is_told_by_an_argument() -> None:
    text = """
import equinox as eqx, jax, numpy as np, optax
x, y = np.load("x.npy"), np.load("y.npy")

class Net(eqx.Module):
    layers: list
    drop: eqx.nn.Dropout
    def __init__(self, key):
        self.layers = [eqx.nn.Linear(8, 3, key=key)]
        self.drop = eqx.nn.Dropout(0.2)
    def __call__(self, x, inference=False):
        return self.drop(self.layers[0](x), inference=inference)

def loss(net, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(jax.vmap(net)(x), y).mean()

net = Net(jax.random.PRNGKey(0))
optim = optax.adam(1e-3)
state = optim.init(eqx.filter(net, eqx.is_array))
for epoch in range(3):
    value, grads = eqx.filter_value_and_grad(loss)(net, x[:200], y[:200])
    updates, state = optim.update(grads, state, net)
    net = eqx.apply_updates(net, updates)
    said = jax.vmap(lambda row: net(row, inference=True))(x[200:])
    print("val acc", (said.argmax(1) == y[200:]).mean())
"""
    assert learns(rehearsal(text).journal)
    assert not told(text=text)
