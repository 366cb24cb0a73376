"""Equal rewrites of programs are no edits; the small faults beside them are, in the four frameworks."""

import ast
import textwrap
import time

import pytest

from traindoctor.engine.model import RunInfo
from traindoctor.probes.code.against.edits import UNCLEAR, compare, sorted_out
from traindoctor.probes.run import Run

TORCH = """
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

EPS = 1e-6
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--wd", type=float, default=5e-4)
args = parser.parse_args()


class Parts(Dataset):
    def __init__(self, table, words):
        self.table = table
        self.words = words

    def __getitem__(self, i):
        row = self.table[i]
        x = (row["x"] - row["x"].mean()) / row["x"].std()
        return x, row["y"]


class Net(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.first = nn.Linear(8, width)
        self.second = nn.Linear(width, width)
        self.gate = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        h = F.relu(self.first(x))
        g = torch.sigmoid(self.gate(h))
        h = h + g * self.norm(self.second(h))
        return self.head(self.drop(h))


def dice(prob, target):
    inter = (prob * target).sum(dim=(0, 2, 3))
    total = prob.sum(dim=(0, 2, 3)) + target.sum(dim=(0, 2, 3))
    return 1 - ((2 * inter + EPS) / (total + EPS)).mean()


def build_vocab(counts, least):
    words = [w for w, c in counts.items() if c >= least]
    return {w: i + 2 for i, w in enumerate(words)}


def evaluate(model, loader):
    model.eval()
    correct, count, losses = 0, 0, []
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            correct += (out.argmax(1) == y).sum().item()
            count += len(y)
            losses.append(F.cross_entropy(out, y).item())
    return correct / count, sum(losses) / len(losses)


def make_optimizer(model):
    decayed = [p for n, p in model.named_parameters() if p.ndim > 1]
    plain = [p for n, p in model.named_parameters() if p.ndim <= 1]
    groups = [{"params": decayed, "weight_decay": args.wd}, {"params": plain, "weight_decay": 0.0}]
    return torch.optim.SGD(groups, lr=args.lr, momentum=0.9)


vocab = build_vocab(read_counts("words.txt"), 3)
train_loader = DataLoader(Parts(read_table("train"), vocab), batch_size=32, shuffle=True)
val_loader = DataLoader(Parts(read_table("val"), vocab), batch_size=64)
model = Net(64, 3)
criterion = nn.CrossEntropyLoss()
optimizer = make_optimizer(model)
for epoch in range(20):
    model.train()
    for x, y in train_loader:
        out = model(x)
        loss = criterion(out, y)
        aux = ((out - out.mean(dim=1, keepdim=True)) ** 2).mean()
        loss = loss + 0.01 * aux + 0.1 * dice(x, y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print(epoch, evaluate(model, val_loader))
"""

LIGHTNING = """
import lightning as L
import torch
import torch.nn.functional as F
from torch import nn


class Tagger(L.LightningModule):
    def __init__(self, width=64, rate=0.001, weight=None):
        super().__init__()
        self.save_hyperparameters()
        self.body = nn.Sequential(nn.Linear(10, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.out = nn.Linear(width, 1)
        self.weight = weight

    def forward(self, x):
        return self.out(self.body(x)).squeeze(-1)

    def training_step(self, batch, batch_idx):
        x, y = batch
        logits = self(x)
        loss = F.binary_cross_entropy_with_logits(logits, y)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        prob = torch.sigmoid(self(x))
        tp = (prob * y).sum()
        score = 2 * tp / (prob.sum() + y.sum())
        self.log("score", score)
        return score

    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.rate, weight_decay=0.01)
        sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=50)
        return [opt], [sched]


trainer = L.Trainer(max_epochs=50, gradient_clip_val=1.0)
trainer.fit(Tagger(), train_loader, val_loader)
"""

KERAS = """
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers


def prepare(image, label):
    image = tf.cast(image, tf.float32)
    return keras.applications.mobilenet_v2.preprocess_input(image), label


def block(x, filters):
    h = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
    h = layers.BatchNormalization()(h)
    return layers.Dropout(0.2)(h)


inputs = keras.Input((32, 32, 3))
x = block(inputs, 16)
x = block(x, 32)
x = layers.GlobalAveragePooling2D()(x)
x = layers.Dense(64, activation="relu")(x)
outputs = layers.Dense(5)(x)
model = keras.Model(inputs, outputs)
optimizer = keras.optimizers.Adam(learning_rate=0.001)
loss_fn = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def per_batch(images, labels, batch):
    logits = model(images, training=True)
    each = tf.keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True)
    total = tf.reduce_sum(each) / batch
    penalty = tf.reduce_mean(tf.square(logits))
    return total + 0.001 * penalty


@tf.function
def train_step(images, labels):
    with tf.GradientTape() as tape:
        loss = per_batch(images, labels, 64)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


train_ds = load("train").map(prepare).shuffle(1000).batch(64)
for epoch in range(30):
    for images, labels in train_ds:
        loss = train_step(images, labels)
    print(epoch, float(loss))
"""

MINDSPORE = """
import mindspore as ms
from mindspore import nn, ops


class Block(nn.Cell):
    def __init__(self, width):
        super().__init__()
        self.dense1 = nn.Dense(width, width)
        self.dense2 = nn.Dense(width, width)
        self.norm = nn.LayerNorm((width,))
        self.relu = nn.ReLU()

    def construct(self, x):
        identity = x
        out = self.relu(self.norm(self.dense1(x)))
        out = self.dense2(out)
        return self.relu(out + identity)


class Net(nn.Cell):
    def __init__(self, width, classes):
        super().__init__()
        self.blocks = nn.CellList([Block(width) for _ in range(2)])
        self.head = nn.Dense(width, classes)

    def construct(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


net = Net(32, 4)
loss_fn = nn.CrossEntropyLoss()
optimizer = nn.Momentum(net.trainable_params(), learning_rate=0.01, momentum=0.9, weight_decay=0.0001)


def forward_fn(data, label):
    logits = net(data)
    loss = loss_fn(logits, label)
    spread = ops.mean(ops.square(logits - ops.mean(logits, 1, True)))
    return loss + 0.1 * spread


grad_fn = ms.value_and_grad(forward_fn, None, optimizer.parameters)
net.set_train()
for epoch in range(10):
    for data, label in train_set.create_tuple_iterator():
        loss, grads = grad_fn(data, label)
        grads = ops.clip_by_global_norm(grads, 1.0)
        optimizer(grads)
"""

Edit = tuple[str, str]
TORCH_STEP = (
    "        optimizer.zero_grad()\n        loss.backward()\n"
    "        nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n        optimizer.step()\n"
)

EQUAL: dict[str, tuple[str, list[Edit]]] = {
    # PyTorch
    "negative log-likelihood of log-softmax": (
        TORCH,
        [("loss = criterion(out, y)", "loss = F.nll_loss(out.log_softmax(dim=1), y)")],
    ),
    "dice by einsum": (
        TORCH,
        [
            (
                "inter = (prob * target).sum(dim=(0, 2, 3))",
                'inter = torch.einsum("bchw,bchw->c", prob, target)',
            )
        ],
    ),
    "total of a sum": (
        TORCH,
        [
            (
                "total = prob.sum(dim=(0, 2, 3)) + target.sum(dim=(0, 2, 3))",
                "total = (prob + target).sum(dim=(0, 2, 3))",
            )
        ],
    ),
    "one minus a mean": (
        TORCH,
        [
            (
                "return 1 - ((2 * inter + EPS) / (total + EPS)).mean()",
                "score = (inter + inter + EPS) / (EPS + total)\n    return (1 - score).mean()",
            )
        ],
    ),
    "vocabulary by loop": (
        TORCH,
        [
            (
                "    words = [w for w, c in counts.items() if c >= least]\n"
                "    return {w: i + 2 for i, w in enumerate(words)}",
                "    index = {}\n    for word, number in counts.items():\n        if number >= least:\n"
                "            index[word] = len(index) + 2\n    return index",
            )
        ],
    ),
    "running mean of the losses": (
        TORCH,
        [
            ("correct, count, losses = 0, 0, []", "right, seen, summed, steps = 0, 0, 0.0, 0"),
            ("correct += (out.argmax(1) == y).sum().item()", "right += (out.argmax(1) == y).sum().item()"),
            ("count += len(y)", "seen += y.size(0)"),
            (
                "losses.append(F.cross_entropy(out, y).item())",
                "summed += F.cross_entropy(out, y).item()\n            steps += 1",
            ),
            ("return correct / count, sum(losses) / len(losses)", "return right / seen, summed / steps"),
        ],
    ),
    "layers of another name": (TORCH, [("self.gate = ", "self.valve = "), ("self.gate(h)", "self.valve(h)")]),
    "the block as a method": (
        TORCH,
        [
            (
                "        g = torch.sigmoid(self.gate(h))\n        h = h + g * self.norm(self.second(h))\n"
                "        return self.head(self.drop(h))",
                "        return self.head(self.drop(self.gated(h)))\n\n    def gated(self, h):\n"
                "        inner = self.norm(self.second(h))\n"
                "        return inner * self.gate(h).sigmoid() + h",
            )
        ],
    ),
    "relu by clamp's name": (
        TORCH,
        [("h = F.relu(self.first(x))", "z = self.first(x)\n        h = torch.relu(z)")],
    ),
    "standardised by a helper": (
        TORCH,
        [
            (
                '        x = (row["x"] - row["x"].mean()) / row["x"].std()\n',
                '        x = self.scaled(row["x"])\n',
            ),
            (
                '        return x, row["y"]\n',
                '        return x, row["y"]\n\n    def scaled(self, values):\n'
                "        centred = values - values.mean()\n        return centred / values.std()\n",
            ),
        ],
    ),
    "the step as a function": (
        TORCH,
        [
            (TORCH_STEP, "        update(loss)\n"),
            (
                "for epoch in range(20):",
                "def update(value):\n"
                + textwrap.indent(textwrap.dedent(TORCH_STEP), "    ").replace("loss.", "value.")
                + "\n\nfor epoch in range(20):",
            ),
        ],
    ),
    "squares by pow": (
        TORCH,
        [
            (
                "aux = ((out - out.mean(dim=1, keepdim=True)) ** 2).mean()",
                "aux = (out - out.mean(1, True)).pow(2).mean()",
            )
        ],
    ),
    "squares as a loss": (
        TORCH,
        [
            (
                "aux = ((out - out.mean(dim=1, keepdim=True)) ** 2).mean()",
                "aux = F.mse_loss(out, out.mean(dim=1, keepdim=True))",
            )
        ],
    ),
    "factors in another place": (
        TORCH,
        [
            (
                "loss = loss + 0.01 * aux + 0.1 * dice(x, y)",
                "loss = 0.1 * dice(x, y) + (aux * 0.01 + loss)",
            )
        ],
    ),
    "groups in a loop": (
        TORCH,
        [
            (
                "    decayed = [p for n, p in model.named_parameters() if p.ndim > 1]\n"
                "    plain = [p for n, p in model.named_parameters() if p.ndim <= 1]\n",
                "    decayed, plain = [], []\n    for _, p in model.named_parameters():\n"
                "        if p.ndim > 1:\n            decayed.append(p)\n        else:\n"
                "            plain.append(p)\n",
            )
        ],
    ),
    "groups by a function": (
        TORCH,
        [
            (
                '    groups = [{"params": decayed, "weight_decay": args.wd}, '
                '{"params": plain, "weight_decay": 0.0}]\n    return torch.optim.SGD(groups, ',
                "    def group(params, decay):\n"
                '        return {"params": params, "weight_decay": decay}\n\n'
                "    return torch.optim.SGD([group(decayed, args.wd), group(plain, 0.0)], ",
            )
        ],
    ),
    "the loss as a function": (
        TORCH,
        [
            (
                "criterion = nn.CrossEntropyLoss()",
                "def criterion(scores, wanted):\n    return F.cross_entropy(scores, wanted)\n\n",
            )
        ],
    ),
    "the loaders by a function": (
        TORCH,
        [
            (
                'train_loader = DataLoader(Parts(read_table("train"), vocab), batch_size=32, shuffle=True)\n'
                'val_loader = DataLoader(Parts(read_table("val"), vocab), batch_size=64)\n',
                "def loader(part, size, mixed):\n    data = Parts(read_table(part), vocab)\n"
                "    return DataLoader(data, batch_size=size, shuffle=mixed)\n\n\n"
                'train_loader = loader("train", 32, True)\nval_loader = loader("val", 64, False)\n',
            )
        ],
    ),
    "a class of another name": (
        TORCH,
        [
            ("class Parts(", "class TableRows("),
            ("train_loader = DataLoader(Parts(", "train_loader = DataLoader(TableRows("),
            ("val_loader = DataLoader(Parts(", "val_loader = DataLoader(TableRows("),
        ],
    ),
    "accuracy by eq": (
        TORCH,
        [("(out.argmax(1) == y).sum().item()", "out.argmax(dim=1).eq(y).sum().item()")],
    ),
    # Lightning
    "probabilities and their loss": (
        LIGHTNING,
        [
            (
                "loss = F.binary_cross_entropy_with_logits(logits, y)",
                "loss = nn.BCELoss()(logits.sigmoid(), y)",
            )
        ],
    ),
    "an unnamed prediction": (
        LIGHTNING,
        [
            (
                "        logits = self(x)\n        loss = F.binary_cross_entropy_with_logits(logits, y)",
                "        loss = F.binary_cross_entropy_with_logits(self(x), y)",
            )
        ],
    ),
    "reduced by hand": (
        LIGHTNING,
        [
            (
                "loss = F.binary_cross_entropy_with_logits(logits, y)",
                'loss = F.binary_cross_entropy_with_logits(logits, y, reduction="none").mean()',
            )
        ],
    ),
    "the body layer by layer": (
        LIGHTNING,
        [
            (
                "return self.out(self.body(x)).squeeze(-1)",
                "h = self.body(x)\n        h = self.out(h)\n        return h.squeeze(dim=-1)",
            )
        ],
    ),
    "the score by a function": (
        LIGHTNING,
        [
            (
                "        tp = (prob * y).sum()\n        score = 2 * tp / (prob.sum() + y.sum())\n",
                "        score = overlap(prob, y)\n",
            ),
            (
                "class Tagger(",
                "def overlap(a, b):\n    return 2 * (a * b).sum() / (a.sum() + b.sum())\n\n\nclass Tagger(",
            ),
        ],
    ),
    "the score's factor elsewhere": (
        LIGHTNING,
        [("score = 2 * tp / (prob.sum() + y.sum())", "score = tp / ((prob + y).sum() * 0.5)")],
    ),
    "the optimizer by a method": (
        LIGHTNING,
        [
            (
                (
                    "        opt = torch.optim.AdamW(self.parameters(), "
                    "lr=self.hparams.rate, weight_decay=0.01)\n"
                ),
                "        opt = self.adam()\n",
            ),
            (
                "    def configure_optimizers(self):",
                (
                    "    def adam(self):\n"
                    "        return torch.optim.AdamW("
                    "self.parameters(), weight_decay=0.01, lr=self.hparams.rate)\n"
                    "\n    def configure_optimizers(self):"
                ),
            ),
        ],
    ),
    "one shared step": (
        LIGHTNING,
        [
            (
                (
                    "        x, y = batch\n        logits = self(x)\n"
                    "        loss = F.binary_cross_entropy_with_logits(logits, y)\n"
                ),
                "        loss = self.loss_of(batch)\n",
            ),
            (
                "    def training_step(",
                (
                    "    def loss_of(self, batch):\n        inputs, targets = batch\n"
                    "        return F.binary_cross_entropy_with_logits(self(inputs), targets)\n"
                    "\n    def training_step("
                ),
            ),
        ],
    ),
    # Keras
    "scaled by hand": (
        KERAS,
        [
            (
                "return keras.applications.mobilenet_v2.preprocess_input(image), label",
                "return image / 127.5 - 1.0, label",
            )
        ],
    ),
    "the activation as a layer": (
        KERAS,
        [
            (
                'x = layers.Dense(64, activation="relu")(x)',
                'x = layers.Dense(64)(x)\nx = layers.Activation("relu")(x)',
            )
        ],
    ),
    "the head as a function": (
        KERAS,
        [
            (
                (
                    "x = layers.GlobalAveragePooling2D()(x)\n"
                    'x = layers.Dense(64, activation="relu")(x)\n'
                    "outputs = layers.Dense(5)(x)\n"
                ),
                "outputs = head(x, 64)\n",
            ),
            (
                "inputs = keras.Input",
                (
                    "def head(features, width):\n"
                    "    h = layers.GlobalAveragePooling2D()(features)\n"
                    '    h = layers.Dense(width, activation="relu")(h)\n'
                    "    return layers.Dense(5)(h)\n\n\ninputs = keras.Input"
                ),
            ),
        ],
    ),
    "an average by its function": (
        KERAS,
        [
            (
                "total = tf.reduce_sum(each) / batch",
                "total = tf.nn.compute_average_loss(each, global_batch_size=batch)",
            )
        ],
    ),
    "a square by a product": (
        KERAS,
        [("tf.reduce_mean(tf.square(logits))", "tf.reduce_mean(logits * logits)")],
    ),
    "the blocks in a loop": (
        KERAS,
        [
            (
                "x = block(inputs, 16)\nx = block(x, 32)\n",
                "x = inputs\nfor filters in (16, 32):\n    x = block(x, filters)\n",
            )
        ],
    ),
    "the gradients in a function": (
        KERAS,
        [
            (
                (
                    "    grads = tape.gradient(loss, model.trainable_variables)\n"
                    "    optimizer.apply_gradients(zip(grads, model.trainable_variables))\n"
                ),
                "    apply(tape, loss)\n",
            ),
            (
                "@tf.function\n",
                (
                    "def apply(tape, value):\n    weights = model.trainable_variables\n"
                    "    slopes = tape.gradient(value, weights)\n"
                    "    optimizer.apply_gradients(zip(slopes, weights))\n\n\n"
                    "@tf.function\n"
                ),
            ),
        ],
    ),
    # MindSpore
    "renamed parts of a block": (
        MINDSPORE,
        [
            (
                (
                    "        identity = x\n"
                    "        out = self.relu(self.norm(self.dense1(x)))\n"
                    "        out = self.dense2(out)\n"
                    "        return self.relu(out + identity)"
                ),
                (
                    "        y = self.dense1(x)\n        y = self.norm(y)\n"
                    "        y = self.relu(y)\n        return self.relu(x + self.dense2(y))"
                ),
            )
        ],
    ),
    "activation as an operation": (
        MINDSPORE,
        [("return self.relu(out + identity)", "return ops.relu(identity + out)")],
    ),
    "cells in a loop": (
        MINDSPORE,
        [
            (
                "        self.blocks = nn.CellList([Block(width) for _ in range(2)])\n",
                (
                    "        cells = []\n        for _ in range(2):\n"
                    "            cells.append(Block(width))\n"
                    "        self.blocks = nn.CellList(cells)\n"
                ),
            )
        ],
    ),
    "the spread as a function": (
        MINDSPORE,
        [
            (
                (
                    "    spread = ops.mean(ops.square(logits - ops.mean(logits, 1, True)))\n"
                    "    return loss + 0.1 * spread"
                ),
                "    return 0.1 * spread(logits) + loss",
            ),
            (
                "def forward_fn(",
                (
                    "def spread(z):\n    apart = z - ops.mean(z, 1, True)\n"
                    "    return ops.mean(apart * apart)\n\n\ndef forward_fn("
                ),
            ),
        ],
    ),
    "the update as a function": (
        MINDSPORE,
        [
            (
                (
                    "        loss, grads = grad_fn(data, label)\n"
                    "        grads = ops.clip_by_global_norm(grads, 1.0)\n"
                    "        optimizer(grads)\n"
                ),
                "        loss = step(data, label)\n",
            ),
            (
                "net.set_train()\n",
                (
                    "def step(inputs, wanted):\n"
                    "    value, slopes = grad_fn(inputs, wanted)\n"
                    "    optimizer(ops.clip_by_global_norm(slopes, 1.0))\n"
                    "    return value\n\n\nnet.set_train()\n"
                ),
            ),
        ],
    ),
    "the loss by its function": (
        MINDSPORE,
        [("loss = loss_fn(logits, label)", "loss = ops.cross_entropy(logits, label)")],
    ),
}

# one of these goes with an equal rewrite, or stands beside it
FAULTS: dict[str, tuple[str, list[Edit]]] = {
    "negative log-likelihood of softmax": (
        TORCH,
        [("loss = criterion(out, y)", "loss = F.nll_loss(out.softmax(dim=1), y)")],
    ),
    "loss of probabilities": (
        TORCH,
        [("loss = criterion(out, y)", "loss = criterion(out.softmax(dim=1), y)")],
    ),
    "intersection over the batch only": (
        TORCH,
        [("inter = (prob * target).sum(dim=(0, 2, 3))", "inter = (prob * target).sum(dim=0)")],
    ),
    "einsum that keeps the batch": (
        TORCH,
        [
            (
                "inter = (prob * target).sum(dim=(0, 2, 3))",
                'inter = torch.einsum("bchw,bchw->b", prob, target)',
            )
        ],
    ),
    "union without the target": (
        TORCH,
        [
            (
                "total = prob.sum(dim=(0, 2, 3)) + target.sum(dim=(0, 2, 3))",
                "total = prob.sum(dim=(0, 2, 3)) + prob.sum(dim=(0, 2, 3))",
            )
        ],
    ),
    "no floor in the quotient": (TORCH, [("(total + EPS)).mean()", "total).mean()")]),
    "score for a loss": (TORCH, [("return 1 - ((2 * inter", "return ((2 * inter")]),
    "indices from one": (
        TORCH,
        [
            (
                "return {w: i + 2 for i, w in enumerate(words)}",
                "return {w: i + 1 for i, w in enumerate(words)}",
            )
        ],
    ),
    "indices of a set": (TORCH, [("enumerate(words)}", "enumerate(set(words))}")]),
    "accuracy over batches": (TORCH, [("return correct / count,", "return correct / len(loader),")]),
    "argmax over the batch": (TORCH, [("out.argmax(1) == y", "out.argmax(0) == y")]),
    "the gate left out": (TORCH, [("h = h + g * self.norm", "h = h + self.norm")]),
    "the sum left out": (TORCH, [("h = h + g * self.norm", "h = g * self.norm")]),
    "the norm left out": (TORCH, [("self.norm(self.second(h))", "self.second(h)")]),
    "the wrong layer": (TORCH, [("torch.sigmoid(self.gate(h))", "torch.sigmoid(self.second(h))")]),
    "a layer detached": (TORCH, [("self.gate(h))", "self.gate(h.detach()))")]),
    "divided by the mean": (TORCH, [('/ row["x"].std()', '/ row["x"].mean()')]),
    "not divided": (TORCH, [(' / row["x"].std()', "")]),
    "the step before backward": (
        TORCH,
        [
            ("        loss.backward()\n", ""),
            ("        optimizer.step()\n", "        optimizer.step()\n        loss.backward()\n"),
        ],
    ),
    "no clearing": (TORCH, [("        optimizer.zero_grad()\n", "")]),
    "mean over the batch": (TORCH, [("out.mean(dim=1, keepdim=True)", "out.mean(dim=0, keepdim=True)")]),
    "another factor": (TORCH, [("+ 0.1 * dice(x, y)", "- 0.1 * dice(x, y)")]),
    "decay of the other group": (
        TORCH,
        [('{"params": plain, "weight_decay": 0.0}', '{"params": decayed, "weight_decay": 0.0}')],
    ),
    "validation on training data": (TORCH, [('Parts(read_table("val")', 'Parts(read_table("train")')]),
    "logits for probabilities": (
        LIGHTNING,
        [
            (
                "loss = F.binary_cross_entropy_with_logits(logits, y)",
                "loss = F.binary_cross_entropy(logits, y)",
            )
        ],
    ),
    "sigmoid twice": (LIGHTNING, [("with_logits(logits, y)", "with_logits(logits.sigmoid(), y)")]),
    "summed": (LIGHTNING, [("with_logits(logits, y)", 'with_logits(logits, y, reduction="sum")')]),
    "no factor in the score": (LIGHTNING, [("score = 2 * tp /", "score = tp /")]),
    "score of the logits": (LIGHTNING, [("prob = torch.sigmoid(self(x))", "prob = self(x)")]),
    "the head alone": (LIGHTNING, [("AdamW(self.parameters()", "AdamW(self.out.parameters()")]),
    "another schedule": (LIGHTNING, [("T_max=50", "T_max=5")]),
    "scaled to one": (
        KERAS,
        [
            (
                "return keras.applications.mobilenet_v2.preprocess_input(image), label",
                "return image / 255.0, label",
            )
        ],
    ),
    "softmax before the loss": (
        KERAS,
        [("outputs = layers.Dense(5)(x)", 'outputs = layers.Dense(5, activation="softmax")(x)')],
    ),
    "mean of the mean": (
        KERAS,
        [("total = tf.reduce_sum(each) / batch", "total = tf.reduce_mean(each) / batch")],
    ),
    "no norm in the block": (KERAS, [("    h = layers.BatchNormalization()(h)\n", "")]),
    "inference mode": (KERAS, [("training=True", "training=False")]),
    "no skip": (MINDSPORE, [("out + identity", "out")]),
    "one activation less": (
        MINDSPORE,
        [("self.relu(self.norm(self.dense1(x)))", "self.norm(self.dense1(x))")],
    ),
    "cells in a plain list": (
        MINDSPORE,
        [("nn.CellList([Block(width) for _ in range(2)])", "[Block(width) for _ in range(2)]")],
    ),
    "evaluation mode": (MINDSPORE, [("net.set_train()", "net.set_train(False)")]),
    "not clipped": (MINDSPORE, [("        grads = ops.clip_by_global_norm(grads, 1.0)\n", "")]),
    "spread over the batch": (MINDSPORE, [("ops.mean(logits, 1, True)", "ops.mean(logits, 0, True)")]),
}


def run(text: str) -> Run:
    """A run that holds nothing but this script."""
    return Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts={"train.py": text})


def changed(text: str, pairs: list[Edit]) -> str:
    """The program with pieces replaced; each has to stand in it exactly once."""
    for old, new in pairs:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    ast.parse(text)
    return text


def kinds(mine: str, theirs: str) -> set[str]:
    """The kinds of edits that are evidence for a cause."""
    found = sorted_out(compare(run(mine), run(theirs)))
    return {kind for kind, edits in found.items() if edits} - {UNCLEAR}


@pytest.mark.parametrize(("text", "pairs"), EQUAL.values(), ids=EQUAL)
def test_an_equal_rewrite_is_no_edit_of_a_kind(text: str, pairs: list[Edit]) -> None:
    rewritten = changed(text, pairs)

    assert kinds(rewritten, text) == set()
    assert kinds(text, rewritten) == set()


@pytest.mark.parametrize(("text", "pairs"), FAULTS.values(), ids=FAULTS)
def test_a_small_fault_is_an_edit_of_a_kind(text: str, pairs: list[Edit]) -> None:
    assert kinds(changed(text, pairs), text) != set()


ODD = {
    "a list that doubles": (
        "x = [1]\nfor a in range(8):\n    for b in range(8):\n        x = x + x\nprint(len(x))\n"
    ),
    "a list in itself": "x = []\nx.append(x)\nsave(x)\n",
    "lists in lists": "x = [1]\n" + "x = [x, x]\n" * 60 + "save(x)\n",
    "a function that calls itself": "def f(n):\n    return f(f(n))\n\n\nf(3)\n",
    "a large product": "import torch\ny = torch.einsum('a,b,c,d,e->abcde', a, b, c, d, e)\n",
    "numbers that overflow": "x = 10.0\nfor i in range(8):\n    x = x ** 60\nsave(int(x), 1 % 0, x // 0)\n",
    "lists as keys": "x = {(a, b): 1, (c, [d]): 2}\nx[(a, b)] += 1\nsave(x[(a, b)], 3 * None, 2 * 'a')\n",
    "no end": "while True:\n    x = step(x)\n    for y in x:\n        use(y)\n",
}


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_odd_programs_are_compared_in_bounded_time(text: str) -> None:
    start = time.process_time()
    found = compare(run(text + TORCH), run(TORCH))

    assert found.alike > 0.9
    assert time.process_time() - start < 30
