# ruff: noqa: E501
"""Flax's linen with Optax, jitted or mapped over devices."""

from __future__ import annotations

from .composed import Kit

LINEN = """from functools import partial
from typing import Any
import numpy as np
import jax
import jax.numpy as jnp
import flax
import optax
import tensorflow as tf
import tensorflow_datasets as tfds
from absl import app, flags, logging
from flax import jax_utils, linen as nn
from flax.training import checkpoints, common_utils, train_state

$CONFIG
tf.config.experimental.set_visible_devices([], 'GPU')


$DATA


$NET


$STATE


$LOSS


$STEP


$EVAL


def main():
    rng = jax.random.PRNGKey(config.seed)
    $INIT
    $RATE
    $OPTIM
    $CREATE
    $LOOP
    $SAVE


if __name__ == '__main__':
    main()
"""
CONFIG = (
    "import ml_collections\n\nconfig = ml_collections.ConfigDict()\nconfig.seed = 0\nconfig.learning_rate = 0.1\nconfig.momentum = 0.9\nconfig.batch_size = 128\nconfig.num_epochs = 30\nconfig.warmup_epochs = 2",
    "import argparse\n\nparser = argparse.ArgumentParser()\nparser.add_argument('--seed', type=int, default=42)\nparser.add_argument('--learning_rate', type=float, default=0.05)\nparser.add_argument('--momentum', type=float, default=0.9)\nparser.add_argument('--batch_size', type=int, default=256)\nparser.add_argument('--num_epochs', type=int, default=60)\nparser.add_argument('--warmup_epochs', type=int, default=5)\nconfig = parser.parse_args()",
    "import dataclasses\n\n\n@dataclasses.dataclass(frozen=True)\nclass Config:\n    seed: int = 1\n    learning_rate: float = 0.1\n    momentum: float = 0.9\n    batch_size: int = 512\n    num_epochs: int = 50\n    warmup_epochs: int = 5\n\n\nconfig = Config()",
)
DATA = (
    """MEAN = np.array([0.4914, 0.4822, 0.4465], np.float32)
STD = np.array([0.2470, 0.2435, 0.2616], np.float32)
NUM_TRAIN = 50000


def get_dataset(split, training):
    ds = tfds.load('cifar10', split=split)

    def preprocess(example):
        image = tf.cast(example['image'], tf.float32) / 255.0
        if training:
            image = tf.image.random_crop(tf.pad(image, [[4, 4], [4, 4], [0, 0]], mode='REFLECT'), (32, 32, 3))
            image = tf.image.random_flip_left_right(image)
        return {'image': (image - MEAN) / STD, 'label': example['label']}

    if training:
        ds = ds.cache().shuffle(10000, seed=0)
    ds = ds.map(preprocess, num_parallel_calls=tf.data.AUTOTUNE)
    ds = ds.batch(config.batch_size, drop_remainder=True)
    return ds.prefetch(tf.data.AUTOTUNE)


def train_batches(epoch, data=get_dataset('train', True)):
    yield from tfds.as_numpy(data)


def test_batches(data=get_dataset('test', False)):
    yield from tfds.as_numpy(data)""",
    """NUM_TRAIN = 50000


def load(split):
    data = tfds.as_numpy(tfds.load('cifar10', split=split, batch_size=-1))
    images = (np.float32(data['image']) / 255.0 - 0.5) / 0.25
    return {'image': images, 'label': np.int32(data['label'])}


train_ds, test_ds = load('train'), load('test')


def train_batches(epoch):
    rng = np.random.default_rng(epoch)
    order = rng.permutation(len(train_ds['image']))
    steps = len(order) // config.batch_size
    for idx in order[: steps * config.batch_size].reshape(steps, config.batch_size):
        images = train_ds['image'][idx]
        flip = rng.random(len(idx)) < 0.5
        images = np.where(flip[:, None, None, None], images[:, :, ::-1], images)
        yield {'image': images, 'label': train_ds['label'][idx]}


def test_batches():
    for start in range(0, len(test_ds['image']) - config.batch_size + 1, config.batch_size):
        yield {k: v[start:start + config.batch_size] for k, v in test_ds.items()}""",
    """import grain.python as grain

NUM_TRAIN = 50000
source = {s: tfds.data_source('cifar10', split=s) for s in ('train', 'test')}


class Prepare(grain.MapTransform):
    def map(self, example):
        image = (example['image'].astype(np.float32) / 255.0 - 0.45) / 0.25
        return {'image': image, 'label': example['label'].astype(np.int32)}


def loader(split, training, epochs, seed=0):
    sampler = grain.IndexSampler(num_records=len(source[split]), shuffle=training, num_epochs=epochs, seed=seed, shard_options=grain.NoSharding())
    return grain.DataLoader(data_source=source[split], sampler=sampler, operations=[Prepare(), grain.Batch(config.batch_size, drop_remainder=True)], worker_count=4)


def train_batches(epoch):
    return iter(loader('train', True, 1, seed=epoch))


def test_batches():
    return iter(loader('test', False, 1))""",
)
NET = (
    """class CNN(nn.Module):
    num_classes: int = 10
    dtype: Any = jnp.float32

    @nn.compact
    def __call__(self, x, train: bool = True):
        for width in (64, 128, 256):
            x = nn.Conv(width, (3, 3), use_bias=False, dtype=self.dtype)(x)
            x = nn.BatchNorm(use_running_average=not train, momentum=0.9, epsilon=1e-5, dtype=self.dtype)(x)
            x = nn.relu(x)
            x = nn.max_pool(x, (2, 2), strides=(2, 2))
        x = jnp.mean(x, axis=(1, 2))
        x = nn.Dropout(rate=0.2, deterministic=not train)(x)
        return nn.Dense(self.num_classes, dtype=jnp.float32)(x)


model = CNN()""",
    """class Block(nn.Module):
    features: int
    strides: int = 1

    @nn.compact
    def __call__(self, x, train):
        norm = partial(nn.BatchNorm, use_running_average=not train, momentum=0.9)
        residual = x
        y = nn.relu(norm()(nn.Conv(self.features, (3, 3), self.strides, use_bias=False)(x)))
        y = norm(scale_init=nn.initializers.zeros)(nn.Conv(self.features, (3, 3), use_bias=False)(y))
        if residual.shape != y.shape:
            residual = norm()(nn.Conv(self.features, (1, 1), self.strides, use_bias=False)(residual))
        return nn.relu(residual + y)


class ResNet(nn.Module):
    num_classes: int

    def setup(self):
        self.stem = nn.Conv(64, (3, 3))
        self.blocks = [Block(64), Block(128, 2), Block(256, 2)]
        self.drop = nn.Dropout(0.1)
        self.head = nn.Dense(self.num_classes)

    def __call__(self, x, train=False):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x, train)
        return self.head(self.drop(x.mean(axis=(1, 2)), deterministic=not train))


model = ResNet(num_classes=10)""",
)
STATE = (
    "class TrainState(train_state.TrainState):\n    batch_stats: Any\n    dropout_key: jax.Array",
    "class TrainState(train_state.TrainState):\n    batch_stats: flax.core.FrozenDict\n    dropout_key: Any",
)
LOSS = (
    "def cross_entropy_loss(logits, labels):\n    one_hot = jax.nn.one_hot(labels, 10)\n    return optax.softmax_cross_entropy(logits=logits, labels=one_hot).mean()",
    "def cross_entropy_loss(logits, labels):\n    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()",
    "def cross_entropy_loss(logits, labels):\n    logp = jax.nn.log_softmax(logits)\n    return -jnp.mean(jnp.take_along_axis(logp, labels[:, None], axis=-1))",
    "def cross_entropy_loss(logits, labels, smoothing=0.1):\n    targets = optax.smooth_labels(jax.nn.one_hot(labels, logits.shape[-1]), smoothing)\n    return jnp.mean(-jnp.sum(targets * nn.log_softmax(logits), axis=-1))",
)
STEP = (
    {
        "STEP": """@jax.jit
def train_step(state, batch):
    dropout_rng = jax.random.fold_in(state.dropout_key, state.step)

    def loss_fn(params):
        logits, updates = state.apply_fn({'params': params, 'batch_stats': state.batch_stats}, batch['image'], train=True, mutable=['batch_stats'], rngs={'dropout': dropout_rng})
        loss = cross_entropy_loss(logits, batch['label'])
        return loss, (logits, updates)

    (loss, (logits, updates)), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    state = state.apply_gradients(grads=grads)
    state = state.replace(batch_stats=updates['batch_stats'])
    accuracy = jnp.mean(jnp.argmax(logits, -1) == batch['label'])
    return state, {'loss': loss, 'accuracy': accuracy}""",
        "RUNSTEP": "state, metrics = train_step(state, batch)",
        "EVAL": """@jax.jit
def eval_step(state, batch):
    logits = state.apply_fn({'params': state.params, 'batch_stats': state.batch_stats}, batch['image'], train=False)
    return {'loss': cross_entropy_loss(logits, batch['label']), 'accuracy': jnp.mean(jnp.argmax(logits, -1) == batch['label'])}""",
        "RUNEVAL": "eval_step(state, batch)",
    },
    {
        "STEP": """@partial(jax.jit, donate_argnums=(0,))
def train_step(state, images, labels):
    step_key = jax.random.fold_in(key=state.dropout_key, data=state.step)

    def compute_loss(params):
        variables = {'params': params, 'batch_stats': state.batch_stats}
        logits, mutated = model.apply(variables, images, train=True, rngs={'dropout': step_key}, mutable='batch_stats')
        loss = cross_entropy_loss(logits, labels)
        $DECAY
        return loss, (mutated, logits)

    grad_fn = jax.value_and_grad(compute_loss, has_aux=True)
    (loss, (mutated, logits)), grads = grad_fn(state.params)
    new_state = state.apply_gradients(grads=grads, batch_stats=mutated['batch_stats'])
    return new_state, {'loss': loss, 'accuracy': (logits.argmax(-1) == labels).mean()}""",
        "RUNSTEP": "state, metrics = train_step(state, batch['image'], batch['label'])",
        "EVAL": """@jax.jit
def eval_step(params, batch_stats, images, labels):
    logits = model.apply({'params': params, 'batch_stats': batch_stats}, images, train=False, mutable=False)
    return {'loss': cross_entropy_loss(logits, labels), 'accuracy': (logits.argmax(-1) == labels).mean()}""",
        "RUNEVAL": "eval_step(state.params, state.batch_stats, batch['image'], batch['label'])",
    },
    {
        "STEP": """def train_step(state, batch):
    dropout_rng = jax.random.fold_in(jax.random.fold_in(state.dropout_key, state.step), jax.lax.axis_index('batch'))

    def loss_fn(params):
        logits, new_model_state = model.apply({'params': params, 'batch_stats': state.batch_stats}, batch['image'], train=True, mutable=['batch_stats'], rngs={'dropout': dropout_rng})
        return cross_entropy_loss(logits, batch['label']), (new_model_state, logits)

    (loss, (new_model_state, logits)), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    grads = jax.lax.pmean(grads, axis_name='batch')
    new_state = state.apply_gradients(grads=grads, batch_stats=jax.lax.pmean(new_model_state['batch_stats'], axis_name='batch'))
    metrics = {'loss': loss, 'accuracy': jnp.mean(jnp.argmax(logits, -1) == batch['label'])}
    return new_state, jax.lax.pmean(metrics, axis_name='batch')


p_train_step = jax.pmap(train_step, axis_name='batch', donate_argnums=(0,))""",
        "RUNSTEP": "state, metrics = p_train_step(state, common_utils.shard(batch))\nmetrics = jax_utils.unreplicate(metrics)",
        "EVAL": """def eval_step(state, batch):
    logits = model.apply({'params': state.params, 'batch_stats': state.batch_stats}, batch['image'], train=False, mutable=False)
    metrics = {'loss': cross_entropy_loss(logits, batch['label']), 'accuracy': jnp.mean(jnp.argmax(logits, -1) == batch['label'])}
    return jax.lax.pmean(metrics, axis_name='batch')


p_eval_step = jax.pmap(eval_step, axis_name='batch')""",
        "RUNEVAL": "jax_utils.unreplicate(p_eval_step(state, common_utils.shard(batch)))",
        "REPLICATE": "state = jax_utils.replicate(state)",
        "HOST": "jax_utils.unreplicate(state)",
    },
)
DECAY = (
    "",
    "loss = loss + 1e-4 * sum(jnp.sum(w ** 2) for w in jax.tree_util.tree_leaves(params) if w.ndim > 1) / 2",
)
INIT = (
    "rng, init_rng, dropout_key = jax.random.split(rng, 3)\nvariables = model.init(init_rng, jnp.ones((1, 32, 32, 3)), train=False)\nparams, batch_stats = variables['params'], variables['batch_stats']",
    "init_rng, dropout_key = jax.random.split(rng)\nvariables = jax.jit(partial(model.init, train=False))({'params': init_rng}, jnp.ones([1, 32, 32, 3], jnp.float32))\nbatch_stats = variables['batch_stats']\nparams = variables['params']",
)
RATE = (
    "steps_per_epoch = NUM_TRAIN // config.batch_size\nlr = optax.warmup_cosine_decay_schedule(init_value=0.0, peak_value=config.learning_rate, warmup_steps=config.warmup_epochs * steps_per_epoch, decay_steps=config.num_epochs * steps_per_epoch)",
    """steps_per_epoch = NUM_TRAIN // config.batch_size
warmup_fn = optax.linear_schedule(init_value=0.0, end_value=config.learning_rate, transition_steps=config.warmup_epochs * steps_per_epoch)
cosine_epochs = max(config.num_epochs - config.warmup_epochs, 1)
cosine_fn = optax.cosine_decay_schedule(init_value=config.learning_rate, decay_steps=cosine_epochs * steps_per_epoch)
lr = optax.join_schedules(schedules=[warmup_fn, cosine_fn], boundaries=[config.warmup_epochs * steps_per_epoch])""",
    "steps_per_epoch = NUM_TRAIN // config.batch_size\nlr = optax.piecewise_constant_schedule(config.learning_rate, {int(0.5 * config.num_epochs * steps_per_epoch): 0.1, int(0.75 * config.num_epochs * steps_per_epoch): 0.1})",
    "lr = config.learning_rate",
)
OPTIM = (
    "tx = optax.sgd(lr, momentum=config.momentum, nesterov=True)",
    "tx = optax.chain(optax.clip_by_global_norm(1.0), optax.add_decayed_weights(5e-4, mask=lambda p: jax.tree_util.tree_map(lambda x: x.ndim > 1, p)), optax.sgd(learning_rate=lr, momentum=0.9))",
    {
        "OPTIM": "tx = optax.chain(optax.clip_by_global_norm(1.0), optax.scale_by_adam(b1=0.9, b2=0.999), optax.add_decayed_weights(0.05), optax.scale_by_schedule(lambda step: -1e-3 * jnp.minimum(1.0, (step + 1) / 500)))",
        "RATE": "",
    },
    {"OPTIM": "tx = optax.adamw(learning_rate=1e-3, weight_decay=1e-4)", "RATE": ""},
)
CREATE = (
    "state = TrainState.create(apply_fn=model.apply, params=params, tx=tx, batch_stats=batch_stats, dropout_key=dropout_key)\n$REPLICATE",
    "state = TrainState.create(\n    apply_fn=model.apply,\n    params=params,\n    batch_stats=batch_stats,\n    tx=tx,\n    dropout_key=dropout_key,\n)\nprint('parameters:', sum(x.size for x in jax.tree_util.tree_leaves(params)))\n$REPLICATE",
)
LOOP = (
    """for epoch in range(1, config.num_epochs + 1):
    train_metrics = []
    for batch in train_batches(epoch):
        $RUNSTEP
        train_metrics.append(jax.device_get(metrics))
    summary = {k: np.mean([m[k] for m in train_metrics]) for k in train_metrics[0]}
    eval_metrics = []
    for batch in test_batches():
        eval_metrics.append($RUNEVAL)
    test_acc = np.mean([float(m['accuracy']) for m in eval_metrics])
    print('epoch %d train loss %.4f accuracy %.4f test accuracy %.4f' % (epoch, summary['loss'], summary['accuracy'], test_acc))""",
    """for epoch in range(config.num_epochs):
    for step, batch in enumerate(train_batches(epoch)):
        $RUNSTEP
        if step % 100 == 0:
            logging.info('epoch %d step %d loss %.4f', epoch, step, metrics['loss'])
    if (epoch + 1) % 5 == 0:
        evals = [jax.device_get($RUNEVAL) for batch in test_batches()]
        evals = jax.tree_util.tree_map(lambda *xs: np.mean(xs), *evals)
        logging.info('eval accuracy %.4f', evals['accuracy'])""",
)
SAVE = ("", "checkpoints.save_checkpoint('/tmp/ckpt', target=$HOST, step=config.num_epochs, overwrite=True)")
HOST = ("state",)
FLAX = Kit(
    "flax_linen",
    LINEN,
    {
        "HOST": HOST,
        "CONFIG": CONFIG,
        "DATA": DATA,
        "NET": NET,
        "STATE": STATE,
        "LOSS": LOSS,
        "STEP": STEP,
        "DECAY": DECAY,
        "INIT": INIT,
        "RATE": RATE,
        "OPTIM": OPTIM,
        "CREATE": CREATE,
        "LOOP": LOOP,
        "SAVE": SAVE,
    },
)
