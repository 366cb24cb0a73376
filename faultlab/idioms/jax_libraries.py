# ruff: noqa: E501
"""JAX beside Flax's linen: Equinox, Haiku, nnx and plain functions, with Optax."""

from __future__ import annotations

from .composed import Kit

OTHERS = """import functools
import math
import numpy as np
import pandas as pd
import jax
import jax.numpy as jnp
import optax
$LIBRARY

SEED, BATCH, EPOCHS = 5678, 128, 40
$TABLE
$MODEL
$RATES
$TX
$UPDATE
$SCORING
$TRAINING
"""
TABLE = (
    """frame = pd.read_csv('covtype.csv').sample(frac=1.0, random_state=SEED)
labels = frame.pop('Cover_Type').to_numpy().astype(np.int32) - 1
inputs = frame.to_numpy().astype(np.float32)
cut = int(0.8 * len(inputs))
mean, std = inputs[:cut].mean(axis=0), inputs[:cut].std(axis=0) + 1e-8
inputs = (inputs - mean) / std
train_x, train_y, test_x, test_y = inputs[:cut], labels[:cut], inputs[cut:], labels[cut:]
DIM, CLASSES = train_x.shape[1], 7""",
    """def load_split(name):
    with np.load('fashion.npz') as f:
        return f[f'x_{name}'].reshape(-1, 784).astype(np.float32) / 255.0, f[f'y_{name}'].astype(np.int32)


train_x, train_y = load_split('train')
test_x, test_y = load_split('test')
DIM, CLASSES = 784, 10""",
)
LIBRARY = (
    {
        "LIBRARY": "import equinox as eqx",
        "MODEL": """class MLP(eqx.Module):
    layers: list
    dropout: eqx.nn.Dropout

    def __init__(self, key, width=256):
        k1, k2, k3 = jax.random.split(key, 3)
        self.layers = [eqx.nn.Linear(DIM, width, key=k1), eqx.nn.Linear(width, width, key=k2), eqx.nn.Linear(width, CLASSES, key=k3)]
        self.dropout = eqx.nn.Dropout(0.2)

    def __call__(self, x, key=None, inference=False):
        for layer in self.layers[:-1]:
            x = jax.nn.relu(layer(x))
        x = self.dropout(x, key=key, inference=inference)
        return self.layers[-1](x)


key = jax.random.PRNGKey(SEED)
model_key, key = jax.random.split(key)
model = MLP(model_key)""",
        "UPDATE": """opt_state = optim.init(eqx.filter(model, eqx.is_array))


def loss_fn(model, x, y, key):
    keys = jax.random.split(key, x.shape[0])
    logits = jax.vmap(model)(x, keys)
    return $CE


@eqx.filter_jit
def make_step(model, opt_state, x, y, key):
    loss, grads = eqx.filter_value_and_grad(loss_fn)(model, x, y, key)
    updates, opt_state = optim.update(grads, opt_state, eqx.filter(model, eqx.is_inexact_array))
    model = eqx.apply_updates(model, updates)
    return model, opt_state, loss""",
        "SCORING": """@eqx.filter_jit
def predict(model, x):
    model = eqx.nn.inference_mode(model)
    return jnp.argmax(jax.vmap(model)(x), axis=-1)""",
        "ONE": "key, step_key = jax.random.split(key)\nmodel, opt_state, loss = make_step(model, opt_state, x, y, step_key)",
        "PREDICTED": "predict(model, x)",
    },
    {
        "LIBRARY": "import haiku as hk",
        "MODEL": """def forward(x, is_training):
    net = hk.Sequential([hk.Linear(256), jax.nn.relu, hk.Linear(128), jax.nn.relu])
    h = net(x)
    if is_training:
        h = hk.dropout(hk.next_rng_key(), 0.2, h)
    return hk.Linear(CLASSES)(h)


network = hk.transform(forward)
rng = hk.PRNGSequence(SEED)
params = network.init(next(rng), train_x[:1], is_training=True)""",
        "UPDATE": """opt_state = optim.init(params)


def loss_fn(params, key, x, y):
    logits = network.apply(params, key, x, is_training=True)
    return $CE


@jax.jit
def update(params, opt_state, key, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, key, x, y)
    updates, opt_state = optim.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    return params, opt_state, loss""",
        "SCORING": """@jax.jit
def predict(params, x):
    return jnp.argmax(network.apply(params, None, x, is_training=False), axis=-1)""",
        "ONE": "params, opt_state, loss = update(params, opt_state, next(rng), x, y)",
        "PREDICTED": "predict(params, x)",
    },
    {
        "LIBRARY": "from flax import nnx",
        "MODEL": """class Model(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.linear1 = nnx.Linear(DIM, 256, rngs=rngs)
        self.bn = nnx.BatchNorm(256, rngs=rngs)
        self.dropout = nnx.Dropout(0.2, rngs=rngs)
        self.linear2 = nnx.Linear(256, CLASSES, rngs=rngs)

    def __call__(self, x):
        x = nnx.relu(self.bn(self.linear1(x)))
        return self.linear2(self.dropout(x))


model = Model(rngs=nnx.Rngs(SEED))""",
        "UPDATE": """optimizer = nnx.Optimizer(model, optim, wrt=nnx.Param)
metrics = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), loss=nnx.metrics.Average('loss'))


def loss_fn(model, x, y):
    logits = model(x)
    return $CE, logits


@nnx.jit
def train_step(model, optimizer, metrics, x, y):
    grad_fn = nnx.value_and_grad(loss_fn, has_aux=True)
    (loss, logits), grads = grad_fn(model, x, y)
    metrics.update(loss=loss, logits=logits, labels=y)
    optimizer.update(model, grads)
    return loss""",
        "SCORING": """@nnx.jit
def predict(model, x):
    return model(x).argmax(axis=1)""",
        "ONE": "loss = train_step(model, optimizer, metrics, x, y)",
        "BEFORE": "model.train()",
        "AFTER": "model.eval()",
        "PREDICTED": "predict(model, x)",
    },
    {
        "LIBRARY": "from jax import grad, jit, lax, random, vmap",
        "MODEL": """def init_layer(key, n_in, n_out):
    w_key, _ = random.split(key)
    return {'w': random.normal(w_key, (n_in, n_out)) * jnp.sqrt(2.0 / n_in), 'b': jnp.zeros((n_out,))}


def init_params(key, sizes):
    keys = random.split(key, len(sizes) - 1)
    return [init_layer(k, m, n) for k, m, n in zip(keys, sizes[:-1], sizes[1:])]


def apply(params, x):
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer['w'] + layer['b'])
    return x @ params[-1]['w'] + params[-1]['b']


params = init_params(random.PRNGKey(SEED), [DIM, 256, 128, CLASSES])""",
        "UPDATE": """opt_state = optim.init(params)


def loss_fn(params, x, y):
    logits = apply(params, x)
    return $CE


def scan_step(carry, batch):
    params, opt_state = carry
    x, y = batch
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    updates, opt_state = optim.update(grads, opt_state, params)
    return (optax.apply_updates(params, updates), opt_state), loss


@jit
def train_epoch(params, opt_state, xs, ys):
    (params, opt_state), losses = lax.scan(scan_step, (params, opt_state), (xs, ys))
    return params, opt_state, losses.mean()""",
        "SCORING": "predict = jit(lambda params, x: jnp.argmax(apply(params, x), axis=-1))",
        "PREDICTED": "predict(params, x)",
        "TRAINING": """steps = len(train_x) // BATCH
for epoch in range(EPOCHS):
    perm = np.random.RandomState(epoch).permutation(len(train_x))[: steps * BATCH]
    xs = jnp.asarray(train_x[perm]).reshape(steps, BATCH, DIM)
    ys = jnp.asarray(train_y[perm]).reshape(steps, BATCH)
    params, opt_state, loss = train_epoch(params, opt_state, xs, ys)
    x = jnp.asarray(test_x)
    print(epoch, float(loss), 'test', float(jnp.mean($PREDICTED == test_y)))""",
    },
)
CE = (
    "optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()",
    "-jnp.mean(jnp.sum(jax.nn.one_hot(y, CLASSES) * jax.nn.log_softmax(logits), axis=-1))",
    "jnp.mean(optax.softmax_cross_entropy(logits=logits, labels=jax.nn.one_hot(y, CLASSES)))",
)
RATES = (
    "learning_rate = 1e-3",
    "learning_rate = optax.cosine_decay_schedule(1e-3, decay_steps=EPOCHS * (len(train_x) // BATCH))",
    "learning_rate = optax.exponential_decay(1e-3, transition_steps=10 * (len(train_x) // BATCH), decay_rate=0.5)",
    "total_steps = EPOCHS * (len(train_x) // BATCH)\nlearning_rate = optax.schedules.warmup_cosine_decay_schedule(0.0, 2e-3, total_steps // 20, total_steps)",
)
TX = (
    "optim = optax.adam(learning_rate)",
    "optim = optax.adamw(learning_rate, weight_decay=1e-4)",
    "optim = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(learning_rate=learning_rate))",
)
TRAINING = (
    """def batches(x, y, rng):
    order = rng.permutation(len(x))
    for i in range(len(x) // BATCH):
        idx = order[i * BATCH:(i + 1) * BATCH]
        yield x[idx], y[idx]


shuffler = np.random.default_rng(SEED)
for epoch in range(EPOCHS):
    $BEFORE
    losses = []
    for x, y in batches(train_x, train_y, shuffler):
        $ONE
        losses.append(loss)
    $AFTER
    hits = 0
    for start in range(0, len(test_x), 1000):
        x, y = test_x[start:start + 1000], test_y[start:start + 1000]
        hits += int(jnp.sum($PREDICTED == y))
    print(f'epoch {epoch} loss {float(jnp.mean(jnp.array(losses))):.4f} test accuracy {hits / len(test_x):.4f}')""",
    """def dataloader(arrays, batch_size, *, seed):
    dataset_size = arrays[0].shape[0]
    generator = np.random.RandomState(seed)
    while True:
        perm = generator.permutation(np.arange(dataset_size))
        start, end = 0, batch_size
        while end <= dataset_size:
            batch_perm = perm[start:end]
            yield tuple(array[batch_perm] for array in arrays)
            start, end = end, end + batch_size


$BEFORE
for step, (x, y) in zip(range(EPOCHS * (len(train_x) // BATCH)), dataloader((train_x, train_y), BATCH, seed=SEED)):
    $ONE
    if step % 500 == 0:
        print('step', step, 'loss', float(loss))
$AFTER
x = test_x
print('test accuracy', float(np.mean(np.asarray($PREDICTED) == test_y)))""",
)
LIBRARIES = Kit(
    "jax_libraries",
    OTHERS,
    {"TRAINING": TRAINING, "TABLE": TABLE, "LIBRARY": LIBRARY, "CE": CE, "RATES": RATES, "TX": TX},
)
