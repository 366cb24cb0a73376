# ruff: noqa: E501
"""Slips in Keras, TensorFlow, MindSpore, Lightning and Flax: what is seen alone, and beside the right script."""

from __future__ import annotations

import ast

import pytest

from traindoctor.engine.model import RunInfo
from traindoctor.probes.code.against.edits import compare, sorted_out
from traindoctor.probes.run import Run

from .._scripts import state

P, A, U = "present", "absent", "unknown"

KERAS = """
import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

tf.random.set_seed(7)
CLASSES = 12
BATCH = 64


def load(path):
    with np.load(path) as f:
        x, y = f["images"], f["labels"]
    order = np.random.RandomState(0).permutation(len(x))
    x, y = x[order], y[order]
    cut = int(0.8 * len(x))
    return (x[:cut], y[:cut]), (x[cut:], y[cut:])


def prepare(image, label):
    image = tf.cast(image, tf.float32) / 255.0
    return image, label


def augment(image, label):
    image = tf.image.random_flip_left_right(image)
    image = tf.image.random_brightness(image, 0.1)
    return image, label


def make_dataset(x, y, training):
    ds = tf.data.Dataset.from_tensor_slices((x, y))
    ds = ds.map(prepare, num_parallel_calls=tf.data.AUTOTUNE)
    if training:
        ds = ds.shuffle(10000)
        ds = ds.map(augment)
    ds = ds.batch(BATCH)
    return ds.prefetch(tf.data.AUTOTUNE)


def block(x, filters):
    shortcut = layers.Conv2D(filters, 1, padding="same")(x)
    x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.ReLU()(x)
    x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    x = layers.Add()([x, shortcut])
    return layers.ReLU()(x)


def build():
    inputs = keras.Input((32, 32, 3))
    x = block(inputs, 32)
    x = layers.MaxPooling2D()(x)
    x = block(x, 64)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dropout(0.3)(x)
    outputs = layers.Dense(CLASSES, activation="softmax")(x)
    return keras.Model(inputs, outputs)


def main():
    (x_train, y_train), (x_val, y_val) = load("images.npz")
    train_ds = make_dataset(x_train, y_train, training=True)
    val_ds = make_dataset(x_val, y_val, training=False)
    model = build()
    steps = len(x_train) // BATCH * 30
    schedule = keras.optimizers.schedules.CosineDecay(1e-3, steps)
    model.compile(
        optimizer=keras.optimizers.Adam(schedule),
        loss=keras.losses.SparseCategoricalCrossentropy(),
        metrics=["accuracy"],
    )
    callbacks = [
        keras.callbacks.ModelCheckpoint("best.keras", monitor="val_accuracy", mode="max", save_best_only=True),
        keras.callbacks.EarlyStopping(monitor="val_loss", patience=5, restore_best_weights=True),
    ]
    model.fit(train_ds, validation_data=val_ds, epochs=30, callbacks=callbacks)
    model.evaluate(val_ds)


if __name__ == "__main__":
    main()
"""

TAPE = """
import numpy as np
import tensorflow as tf


class Encoder(tf.keras.layers.Layer):
    def __init__(self, units, rate=0.1):
        super().__init__()
        self.dense1 = tf.keras.layers.Dense(units, activation="relu")
        self.norm = tf.keras.layers.LayerNormalization()
        self.drop = tf.keras.layers.Dropout(rate)
        self.dense2 = tf.keras.layers.Dense(units)

    def call(self, x, training=False):
        h = self.dense1(x)
        h = self.drop(h, training=training)
        h = self.dense2(h)
        return self.norm(x + h)


class Net(tf.keras.Model):
    def __init__(self, units, classes, depth=3):
        super().__init__()
        self.embed = tf.keras.layers.Embedding(8000, units)
        self.blocks = [Encoder(units) for _ in range(depth)]
        self.head = tf.keras.layers.Dense(classes)

    def call(self, ids, training=False):
        x = self.embed(ids)
        mask = tf.cast(tf.not_equal(ids, 0), tf.float32)[..., None]
        for block in self.blocks:
            x = block(x, training=training)
        x = tf.reduce_sum(x * mask, axis=1) / tf.maximum(tf.reduce_sum(mask, axis=1), 1.0)
        return self.head(x)


model = Net(128, 6)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.Adam(3e-4)
train_loss = tf.keras.metrics.Mean()
val_loss = tf.keras.metrics.Mean()
val_acc = tf.keras.metrics.SparseCategoricalAccuracy()


@tf.function
def train_step(ids, labels):
    with tf.GradientTape() as tape:
        logits = model(ids, training=True)
        loss = loss_fn(labels, logits)
    grads = tape.gradient(loss, model.trainable_variables)
    grads, _ = tf.clip_by_global_norm(grads, 1.0)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    train_loss.update_state(loss)


@tf.function
def val_step(ids, labels):
    logits = model(ids, training=False)
    val_loss.update_state(loss_fn(labels, logits))
    val_acc.update_state(labels, logits)


def pipeline(ids, labels, training):
    ds = tf.data.Dataset.from_tensor_slices((ids, labels))
    if training:
        ds = ds.shuffle(len(ids), reshuffle_each_iteration=True)
    return ds.batch(32, drop_remainder=training).prefetch(2)


def main():
    data = np.load("reviews.npz")
    n = int(0.9 * len(data["ids"]))
    train_ds = pipeline(data["ids"][:n], data["labels"][:n], True)
    val_ds = pipeline(data["ids"][n:], data["labels"][n:], False)
    ckpt = tf.train.Checkpoint(model=model, optimizer=optimizer)
    manager = tf.train.CheckpointManager(ckpt, "ckpt", max_to_keep=3)
    ckpt.restore(manager.latest_checkpoint)
    best = 0.0
    for epoch in range(20):
        train_loss.reset_state()
        val_loss.reset_state()
        val_acc.reset_state()
        for ids, labels in train_ds:
            train_step(ids, labels)
        for ids, labels in val_ds:
            val_step(ids, labels)
        print(epoch, train_loss.result().numpy(), val_loss.result().numpy(), val_acc.result().numpy())
        if val_acc.result() > best:
            best = float(val_acc.result())
            manager.save()


main()
"""

MS = """
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn, ops
from mindspore.common.initializer import HeNormal, initializer


class Samples:
    def __init__(self, path, split):
        blob = np.load(path)
        self.x, self.y = blob[f"{split}_x"], blob[f"{split}_y"]

    def __getitem__(self, i):
        return self.x[i].astype(np.float32), self.y[i].astype(np.int32)

    def __len__(self):
        return len(self.x)


def loader(path, split, batch):
    data = ds.GeneratorDataset(Samples(path, split), ["x", "y"], shuffle=(split == "train"))
    data = data.map(lambda x: (x - 0.48) / 0.22, input_columns=["x"])
    return data.batch(batch, drop_remainder=(split == "train"))


class Net(nn.Cell):
    def __init__(self, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 32, 3, pad_mode="same", weight_init=HeNormal())
        self.bn1 = nn.BatchNorm2d(32)
        self.conv2 = nn.Conv2d(32, 64, 3, pad_mode="same", weight_init=HeNormal())
        self.bn2 = nn.BatchNorm2d(64)
        self.pool = nn.MaxPool2d(2, 2)
        self.relu = nn.ReLU()
        self.drop = nn.Dropout(p=0.2)
        self.flatten = nn.Flatten()
        self.fc = nn.Dense(64 * 8 * 8, classes)

    def construct(self, x):
        x = self.pool(self.relu(self.bn1(self.conv1(x))))
        x = self.pool(self.relu(self.bn2(self.conv2(x))))
        x = self.drop(self.flatten(x))
        return self.fc(x)


def main():
    ms.set_seed(1)
    ms.set_context(mode=ms.GRAPH_MODE)
    train_set = loader("shapes.npz", "train", 64)
    val_set = loader("shapes.npz", "val", 256)
    net = Net(10)
    criterion = nn.CrossEntropyLoss()
    steps = train_set.get_dataset_size()
    lr = nn.cosine_decay_lr(min_lr=0.0, max_lr=1e-3, total_step=steps * 20, step_per_epoch=steps, decay_epoch=20)
    optimizer = nn.Adam(net.trainable_params(), learning_rate=lr, weight_decay=1e-4)

    def forward(x, y):
        logits = net(x)
        loss = criterion(logits, y)
        return loss, logits

    grad_fn = ms.value_and_grad(forward, None, optimizer.parameters, has_aux=True)

    def step(x, y):
        (loss, _), grads = grad_fn(x, y)
        grads = ops.clip_by_global_norm(grads, 1.0)
        optimizer(grads)
        return loss

    best = 0.0
    for epoch in range(20):
        net.set_train(True)
        for x, y in train_set.create_tuple_iterator():
            loss = step(x, y)
        net.set_train(False)
        right = total = 0
        for x, y in val_set.create_tuple_iterator():
            right += (net(x).argmax(1) == y).sum().asnumpy()
            total += len(y)
        accuracy = right / total
        print(epoch, loss, accuracy)
        if accuracy > best:
            best = accuracy
            ms.save_checkpoint(net, "best.ckpt")


main()
"""

LIT = """
import lightning as L
import torch
import torch.nn.functional as F
from lightning.pytorch.callbacks import EarlyStopping, LearningRateMonitor, ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split
from torchmetrics import Accuracy


class Data(L.LightningDataModule):
    def __init__(self, path, batch_size=64):
        super().__init__()
        self.path, self.batch_size = path, batch_size

    def setup(self, stage=None):
        blob = torch.load(self.path)
        full = TensorDataset(blob["x"].float(), blob["y"].long())
        n = int(0.9 * len(full))
        self.train_set, self.val_set = random_split(full, [n, len(full) - n], torch.Generator().manual_seed(0))

    def train_dataloader(self):
        return DataLoader(self.train_set, self.batch_size, shuffle=True, drop_last=True, num_workers=4)

    def val_dataloader(self):
        return DataLoader(self.val_set, self.batch_size, num_workers=4)


class Lit(L.LightningModule):
    def __init__(self, features=40, hidden=256, classes=5, lr=1e-3, warmup=500):
        super().__init__()
        self.save_hyperparameters()
        self.encoder = nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Dropout(0.2), nn.Linear(hidden, hidden))
        self.head = nn.Linear(hidden, classes)
        self.train_acc = Accuracy("multiclass", num_classes=classes)
        self.val_acc = Accuracy("multiclass", num_classes=classes)

    def forward(self, x):
        return self.head(F.relu(self.encoder(x)))

    def training_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)
        loss = F.cross_entropy(logits, y)
        self.train_acc(logits, y)
        self.log("train_loss", loss)
        self.log("train_acc", self.train_acc, on_epoch=True)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)
        self.val_acc(logits, y)
        self.log("val_loss", F.cross_entropy(logits, y), prog_bar=True)
        self.log("val_acc", self.val_acc, prog_bar=True)

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr, weight_decay=0.01)
        total = self.trainer.estimated_stepping_batches
        sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=self.hparams.lr, total_steps=total)
        return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "step"}}


def main():
    L.seed_everything(1)
    model, data = Lit(), Data("table.pt")
    best = ModelCheckpoint(monitor="val_acc", mode="max", save_top_k=1)
    stop = EarlyStopping(monitor="val_loss", mode="min", patience=8)
    trainer = L.Trainer(max_epochs=60, callbacks=[best, stop, LearningRateMonitor()], gradient_clip_val=1.0)
    trainer.fit(model, datamodule=data)
    trainer.validate(ckpt_path="best", datamodule=data)


if __name__ == "__main__":
    main()
"""

FLAX = """
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from flax.training import train_state


class CNN(nn.Module):
    classes: int = 10

    @nn.compact
    def __call__(self, x, train: bool):
        for width in (32, 64):
            x = nn.Conv(width, (3, 3))(x)
            x = nn.BatchNorm(use_running_average=not train)(x)
            x = nn.relu(x)
            x = nn.max_pool(x, (2, 2), (2, 2))
        x = x.reshape((x.shape[0], -1))
        x = nn.Dropout(0.2, deterministic=not train)(x)
        return nn.Dense(self.classes)(x)


class State(train_state.TrainState):
    batch_stats: dict


def cross_entropy(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


@jax.jit
def train_step(state, batch, key):
    def loss_fn(params):
        logits, updates = state.apply_fn(
            {"params": params, "batch_stats": state.batch_stats},
            batch["image"],
            train=True,
            mutable=["batch_stats"],
            rngs={"dropout": key},
        )
        return cross_entropy(logits, batch["label"]), updates

    (loss, updates), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    state = state.apply_gradients(grads=grads)
    state = state.replace(batch_stats=updates["batch_stats"])
    return state, loss


@jax.jit
def eval_step(state, batch):
    logits = state.apply_fn(
        {"params": state.params, "batch_stats": state.batch_stats}, batch["image"], train=False
    )
    return (jnp.argmax(logits, -1) == batch["label"]).mean()


def epochs(data, rng, size=128):
    order = rng.permutation(len(data["image"]))
    for at in range(0, len(order) - size + 1, size):
        index = order[at : at + size]
        yield {"image": data["image"][index].astype(np.float32) / 255.0, "label": data["label"][index]}


def main():
    train, test = dict(np.load("train.npz")), dict(np.load("test.npz"))
    model = CNN()
    key = jax.random.PRNGKey(0)
    variables = model.init(key, jnp.ones((1, 32, 32, 3)), train=False)
    steps = len(train["image"]) // 128 * 30
    schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-3, 500, steps)
    tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule, weight_decay=1e-4))
    state = State.create(
        apply_fn=model.apply, params=variables["params"], tx=tx, batch_stats=variables["batch_stats"]
    )
    rng = np.random.default_rng(0)
    for epoch in range(30):
        for batch in epochs(train, rng):
            key, sub = jax.random.split(key)
            state, loss = train_step(state, batch, sub)
        scores = [eval_step(state, b) for b in epochs(test, rng)]
        print(epoch, loss, np.mean(scores))


main()
"""

HANDED = """
import tensorflow as tf


def step(model, x, y, loss_fn, optimizer):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))
    grads = tape.gradient(loss, model.trainable_variables)
    return loss
"""
CELLS = """
import mindspore as ms
from mindspore import nn
from mindspore.common.initializer import XavierUniform, initializer


class Net(nn.Cell):
    def __init__(self, n, dropout):
        super().__init__()
        layer = nn.Dense(n, n)
        self.layers = {LAYERS}
        self.drop = nn.Dropout(p={RATE})
        for _, cell in self.cells_and_names():
            if isinstance(cell, nn.Dense):
                cell.weight.set_data(initializer({START}, cell.weight.shape))

    def construct(self, x):
        for layer in self.layers:
            x = self.drop(layer(x))
        return x


net = Net(8, 0.1)
optimizer = nn.Adam(net.trainable_params())
"""
ACCELERATE = """
import torch
from accelerate import Accelerator


class Tuner:
    def __init__(self, model, loader):
        self.accelerator = Accelerator(mixed_precision="fp16")
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
        self.model, self.optimizer, self.loader = self.accelerator.prepare(model, self.optimizer, loader)

    def epoch(self):
        for batch in self.loader:
            loss = self.model(**batch).loss
            self.accelerator.backward(loss)
            self.optimizer.step()
            self.optimizer.zero_grad()
"""


def _with(text: str, *edits: tuple[str, str]) -> str:
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    return text


FINAL = "self.head = tf.keras.layers.Dense(classes)"
RESETS = """        train_loss.reset_state()
        val_loss.reset_state()
        val_acc.reset_state()
"""
DRAW = ("image = tf.image.random_brightness(image, 0.1)", "image = tf.image.adjust_brightness(image, {})")
PY = "ds.map(lambda i, l: tf.py_function(augment, [i, l], [tf.float32, tf.int64]))"
MANUAL = (
    "self.save_hyperparameters()",
    "self.save_hyperparameters()\n        self.automatic_optimization = False",
)
CASES = [
    ("script-eval-mode-while-training", A, _with(TAPE)),
    ("script-eval-mode-while-training", P, _with(TAPE, ("model(ids, training=True)", "model(ids)"))),
    (
        "script-eval-mode-while-training",
        U,
        _with(
            TAPE,
            ("model(ids, training=True)", "model(ids)"),
            ("training=False):\n        x = self", "training=True):\n        x = self"),
        ),
    ),
    (
        "script-double-softmax",
        P,
        _with(TAPE, (FINAL, FINAL.replace("classes", "classes, activation='softmax'"))),
    ),
    ("script-double-softmax", P, _with(TAPE, ("return self.head(x)", "return tf.nn.softmax(self.head(x))"))),
    ("script-double-softmax", A, TAPE),
    ("script-activation-missing-before-loss", P, _with(TAPE, ("(from_logits=True)", "()"))),
    (
        "script-step-missing",
        P,
        _with(TAPE, ("    optimizer.apply_gradients(zip(grads, model.trainable_variables))\n", "")),
    ),
    ("script-step-missing", A, TAPE),
    ("script-step-missing", P, HANDED),
    ("script-step-missing", U, HANDED.replace("return loss", "return loss, grads")),
    (
        "script-metric-miscounts",
        P,
        _with(
            TAPE,
            (RESETS, ""),
            (
                "    for epoch in range",
                "    val_acc.reset_state()\n    val_loss.reset_state()\n    for epoch in range",
            ),
        ),
    ),
    ("script-metric-miscounts", A, TAPE),
    ("script-mode-fixed", P, _with(KERAS, ("Dropout(0.3)(x)", "Dropout(0.3)(x, training=True)"))),
    ("script-order-fixed", P, _with(KERAS, ("ds.map(augment)", "ds.map(augment).cache()"))),
    ("script-order-fixed", A, _with(KERAS, ("ds = ds.shuffle(10000)", "ds = ds.cache().shuffle(10000)"))),
    ("script-drawn-at-tracing", P, _with(KERAS, (DRAW[0], DRAW[1].format("np.random.uniform(-0.1, 0.1)")))),
    ("script-drawn-at-tracing", A, KERAS),
    (
        "script-drawn-at-tracing",
        A,
        _with(KERAS, (DRAW[0], DRAW[1].format("np.random.uniform(-0.1, 0.1)")), ("ds.map(augment)", PY)),
    ),
    ("script-drawn-at-tracing", U, LIT),
    (
        "script-training-data-cut",
        P,
        _with(KERAS, ("epochs=30, callbacks", "epochs=30, steps_per_epoch=10, callbacks")),
    ),
    ("script-training-data-cut", P, _with(LIT, ("max_epochs=60", "max_epochs=60, fast_dev_run=True"))),
    ("script-training-data-cut", A, _with(LIT, ("max_epochs=60", "max_epochs=60, fast_dev_run=False"))),
    (
        "script-mode-wrong",
        P,
        MS.replace("    for epoch in", "    net.set_train(True)\n    for epoch in").replace(
            "        net.set_train(True)\n", ""
        ),
    ),
    ("script-mode-wrong", A, MS),
    ("script-layer-repeated", P, CELLS.replace("{LAYERS}", "nn.CellList([layer] * 3)")),
    (
        "script-layer-repeated",
        P,
        CELLS.replace("{LAYERS}", "nn.CellList()\n        self.more.extend([nn.Dense(n, n)] * 2)"),
    ),
    (
        "script-layer-repeated",
        A,
        CELLS.replace("{LAYERS}", "nn.CellList([nn.Dense(n, n) for _ in range(3)])"),
    ),
    ("script-zero-init", P, CELLS.replace("{START}", "'zeros'")),
    (
        "script-zero-init",
        A,
        CELLS.replace("{START}", "XavierUniform()").replace(
            "nn.Dense(n, n)", "nn.Dense(n, n, weight_init='normal')"
        ),
    ),
    ("script-argument-inverted", P, CELLS.replace("{RATE}", "1 - dropout")),
    ("script-argument-inverted", A, CELLS.replace("{RATE}", "dropout")),
    ("script-argument-inverted", P, '"""Ported from torch."""\n' + CELLS.replace("p={RATE}", "0.1")),
    ("script-argument-inverted", "unknown", CELLS.replace("p={RATE}", "0.9")),
    ("script-argument-inverted", "unknown", CELLS.replace("p={RATE}", "keep_prob=0.1")),
    ("script-best-chosen-wrongly", P, MS + 'ms.load_checkpoint("best.ckpt")\n'),
    ("script-best-chosen-wrongly", A, MS + 'ms.load_checkpoint("best.ckpt", net)\n'),
    ("script-step-returns-nothing", P, _with(LIT, MANUAL)),
    (
        "script-step-returns-nothing",
        U,
        _with(
            LIT,
            MANUAL,
            (
                "        return loss\n",
                "        self.manual_backward(loss)\n        self.optimizers().step()\n",
            ),
        ),
    ),
]


@pytest.mark.parametrize(("symptom", "wanted", "text"), CASES)
def test_alone(symptom: str, wanted: str, text: str) -> None:
    assert state(symptom, text) == wanted


def _kinds(text: str, *edits: tuple[str, str]) -> set[str]:
    made = []
    for script in (_with(text, *edits), text):
        ast.parse(script)
        made.append(Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts={"train.py": script}))
    return {k for k, found in sorted_out(compare(made[0], made[1])).items() if found}


UNSCALE = "        grads = scaler.unscale(grads)\n"
CLIP = "        grads = ops.clip_by_global_norm(grads, 1.0)\n"
SCALED = _with(MS, (CLIP, UNSCALE + CLIP))
KINDS = [
    ("skip", KERAS, [("layers.Add()([x, shortcut])", "x")]),
    ("layer-input", KERAS, [("[x, shortcut]", "[x, x]")]),
    ("side-asked", KERAS, [("        ds = ds.map(augment)\n    ds", "    ds = ds.map(augment)\n    ds")]),
    ("fewer-samples", KERAS, [("epochs=30, callbacks", "epochs=30, steps_per_epoch=10, callbacks")]),
    ("best-checkpoint", KERAS, [('monitor="val_accuracy"', 'monitor="accuracy"')]),
    (
        "update-left-out",
        TAPE,
        [("    optimizer.apply_gradients(zip(grads, model.trainable_variables))\n", "")],
    ),
    ("resume", TAPE, [("Checkpoint(model=model, optimizer=optimizer)", "Checkpoint(model=model)")]),
    ("shuffling", TAPE, [("reshuffle_each_iteration=True", "reshuffle_each_iteration=False")]),
    ("evaluates-other-part", TAPE, [("in val_ds:", "in train_ds:")]),
    ("optimizer-parameters", MS, [("None, optimizer.parameters", "None, net.fc.trainable_params()")]),
    (
        "normalisation-left-out",
        MS,
        [('    data = data.map(lambda x: (x - 0.48) / 0.22, input_columns=["x"])\n', "")],
    ),
    ("schedule-length", MS, [("total_step=steps * 20", "total_step=20")]),
    ("gradient-cut", LIT, [("        return loss\n", "        return loss.detach()\n")]),
    ("update-left-out", LIT, [("on_epoch=True)\n        return loss", "on_epoch=True)")]),
    ("schedule-stepped", LIT, [('"interval": "step"', '"interval": "epoch"')]),
    ("scaler-left-out", ACCELERATE, [("self.accelerator.backward(loss)", "loss.backward()")]),
    ("step-order", SCALED, [(f"{UNSCALE}{CLIP}", f"{CLIP}{UNSCALE}")]),
    ("mode", FLAX, [("            train=True,\n", "            train=False,\n")]),
]


@pytest.mark.parametrize(("kind", "text", "edits"), KINDS)
def test_pair(kind: str, text: str, edits: list[tuple[str, str]]) -> None:
    assert kind in _kinds(text, *edits)


@pytest.mark.parametrize("other", ["x.swapaxes(1, 2)", "ops.transpose(x, (0, 2, 1))"])
def test_two_axes_are_changed_over_in_other_words(other: str) -> None:
    turned = _with(
        MS, ("        return self.fc(x)", "        x = x.transpose(0, 2, 1)\n        return self.fc(x)")
    )
    assert _kinds(turned, ("x.transpose(0, 2, 1)", other)) <= {"rewritten"}
    assert _kinds(turned, ("x.transpose(0, 2, 1)", "x.transpose(1, 0, 2)")) > set()


MANAGED = """
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn
from mindspore.train import Model
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(4, 2)
    def construct(self, x):
        return self.fc(x)
train_set = ds.MindDataset("train.mindrecord", shuffle=True).batch(32)
net = Net()
criterion = nn.CrossEntropyLoss()
manager = ms.amp.FixedLossScaleManager(1024, drop_overflow_update=False)
optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9, loss_scale=1024)
model = Model(net, criterion, optimizer, loss_scale_manager=manager, amp_level="O2")
model.train(20, train_set)
"""


@pytest.mark.parametrize(
    ("edits", "kind", "found"),
    [
        ([("0.9, loss_scale=1024", "0.9")], "scale-not-divided-out", True),
        (
            [("0.9, loss_scale=1024", "0.9"), (", drop_overflow_update=False", "")],
            "scale-not-divided-out",
            False,
        ),
        (
            [
                ("0.9, loss_scale=1024", "0.9"),
                ("FixedLossScaleManager(1024, drop_overflow_update=False)", "DynamicLossScaleManager()"),
            ],
            "scaler-left-out",
            False,
        ),
        ([("loss_scale_manager=manager, ", "")], "scaler-left-out", True),
    ],
)
def test_who_takes_the_loss_scale_out(edits: list[tuple[str, str]], kind: str, found: bool) -> None:
    """The manager does unless it is told not to drop updates; then the optimizer must know the scale."""
    assert (kind in _kinds(MANAGED, *edits)) is found
