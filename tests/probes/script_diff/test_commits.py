# ruff: noqa: E501
"""What a colleague's commit changes beside training: logs, settings, flags that are off, places that are named.

Each right edit stands beside a faulty one that looks like it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .._pairs import edits

TORCH = """
import argparse
import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import models
EPOCHS = 12
RATE = 0.05
def rows_of(docs):
    return sum(docs["tokens"], [])
class Net(nn.Module):
    def __init__(self, dim=64, depth=3, dropout=0.1):
        super().__init__()
        self.emb = nn.Embedding(900, dim)
        self.layers = nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))
        self.drop = nn.Dropout(dropout)
        self.out = nn.Linear(dim, 7)
    def forward(self, x):
        h = self.emb(x).mean(1)
        for layer in self.layers:
            h = torch.relu(layer(h))
        return self.out(self.drop(h))
def accuracy(net, loader, dev):
    net.eval()
    hit, n = 0, 0
    with torch.no_grad():
        for x, y in loader:
            hit += (net(x.to(dev)).argmax(1).cpu() == y).sum().item()
            n += len(y)
    return hit / n
def main(train_set, val_set):
    dev = torch.device("cuda:0")
    net = Net().to(dev)
    opt = torch.optim.SGD(net.parameters(), lr=RATE, momentum=0.9)
    train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=64)
    best = 0
    for epoch in range(EPOCHS):
        net.train()
        for x, y in train_loader:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(x.to(dev)), y.to(dev))
            loss.backward()
            opt.step()
        score = accuracy(net, val_loader, dev)
        if score > best:
            best = score
            torch.save(net.state_dict(), "best.pt")
"""
KERAS = """
import keras
import tensorflow as tf
def load(path, label):
    return tf.io.decode_jpeg(tf.io.read_file(path)) / 255, label
def dataset(paths, labels, training):
    ds = tf.data.Dataset.from_tensor_slices((paths, labels))
    if training:
        ds = ds.shuffle(len(paths))
    return ds.map(load, tf.data.AUTOTUNE).batch(32).prefetch(2)
def main(train, val):
    model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(32, "relu"), keras.layers.Dense(1)])
    rate = keras.optimizers.schedules.CosineDecay(1e-3, 4000)
    optimizer = keras.optimizers.Adam(rate)
    model.compile(optimizer, loss="mse", metrics=["mae"])
    model.fit(dataset(*train, True), validation_data=dataset(*val, False), epochs=30)
    print(model.evaluate(dataset(*val, False)))
"""
LIGHTNING = """
import sys
import lightning as L
from parts import Data, Model
def main(root, epochs=20, seed=7):
    L.seed_everything(seed)
    trainer = L.Trainer(max_epochs=epochs, gradient_clip_val=1.0)
    trainer.fit(Model(), datamodule=Data(root))
if __name__ == "__main__":
    main(sys.argv[1])
"""
SETTINGS = [
    ("EPOCHS = 12\nRATE = 0.05", "from dataclasses import dataclass\n@dataclass\nclass Config:\n    epochs: int = 12\n    rate: float = 0.05\ncfg = Config()\nEPOCHS, RATE = cfg.epochs, cfg.rate"),
]  # fmt: skip
OF_MODEL = [
    ("class Net(nn.Module):\n    def __init__(self, dim=64, depth=3, dropout=0.1):", "from dataclasses import dataclass\n@dataclass\nclass Sizes:\n    dim: int = 64\n    depth: int = 3\n    dropout: float = 0.1\nclass Net(nn.Module):\n    def __init__(self, config):"),
    ("        self.emb = nn.Embedding(900, dim)", "        self.config = config\n        self.emb = nn.Embedding(900, config.dim)"),
    ("nn.Linear(dim, dim) for _ in range(depth)", "nn.Linear(config.dim, config.dim) for _ in range(config.depth)"),
    ("nn.Dropout(dropout)", "nn.Dropout(config.dropout)"),
    ("nn.Linear(dim, 7)", "nn.Linear(config.dim, 7)"),
    ("net = Net().to(dev)", "net = Net(Sizes()).to(dev)"),
]  # fmt: skip
DEVICE = ('torch.device("cuda:0")', 'torch.device("cuda:0" if torch.cuda.is_available() else "cpu")')
SAVED = ("torch.save(net.state_dict(),", "torch.save({k: v.cpu() for k, v in net.state_dict().items()},")
FLAG = [
    ("import sys\n", "import argparse\n"),
    ("def main(root, epochs=20, seed=7):", "def main(root, epochs, seed, fast_dev_run=False):"),
    ("max_epochs=epochs,", "max_epochs=epochs, fast_dev_run=fast_dev_run,"),
    ("    main(sys.argv[1])", '    parser = argparse.ArgumentParser()\n    parser.add_argument("root")\n    parser.add_argument("--epochs", type=int, default=20)\n    parser.add_argument("--seed", type=int, default=7)\n    parser.add_argument("--fast-dev-run", action="store_true")\n    main(**vars(parser.parse_args()))'),
]  # fmt: skip
NAMED = ("ds.shuffle(len(paths))", "ds.shuffle(buffer_size=len(paths), reshuffle_each_iteration=True)")
MAPPED = ("ds.map(load, tf.data.AUTOTUNE)", "ds.map(load, num_parallel_calls=tf.data.AUTOTUNE)")
METRIC = ('metrics=["mae"]', 'metrics=[keras.metrics.MeanAbsoluteError(name="mae")]')
BOARD = (
    "    print(model.evaluate(",
    '    writer = tf.summary.create_file_writer("tb")\n    with writer.as_default():\n        tf.summary.scalar("lr", rate(optimizer.iterations), step=0)\n    print(model.evaluate(',
)
SCHEDULE = (
    "    train_loader = DataLoader(train_set",
    "    total = EPOCHS * 100\n    def factor(step):\n        return min(1.0, (step + 1) / 50) * (1 - step / total)\n    sched = torch.optim.lr_scheduler.LambdaLR(opt, factor)\n    train_loader = DataLoader(train_set",
)
STEPPED = ("            opt.step()\n", "            opt.step()\n            sched.step()\n")
BOUND = [
    ("    def factor(step):\n        return min(1.0, (step + 1) / 50) * (1 - step / total)\n", "    factor = partial(warm, total=total)\n"),
    ("def main(", "def warm(step, total):\n    return min(1.0, (step + 1) / 50) * (1 - step / total)\ndef main("),
    ("import torch\n", "import torch\nfrom functools import partial\n"),
]  # fmt: skip
CHAINED = ('sum(docs["tokens"], [])', 'list(chain.from_iterable(docs["tokens"]))')
IN_TURN = ('sum(docs["tokens"], [])', '[t for doc in docs["tokens"] for t in doc]')


TABLE = [
    ("import torch\n", "import pandas as pd\nimport torch\n"),
    ("    best = 0\n", "    best, table = 0, []\n"),
    ("        if score > best:", '        table.append({"epoch": epoch, "score": score})\n        pd.DataFrame(table).to_json("scores.json")\n        if score > best:'),
]  # fmt: skip


def edited(text: str, *pairs: tuple[str, str]) -> str:
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


def told(folder: Path, text: str, *pairs: tuple[str, str]) -> set[str]:
    return edits(folder, edited(text, *pairs), text)


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        (TORCH, SETTINGS),
        (TORCH, OF_MODEL),
        (TORCH, [DEVICE, SAVED]),
        (TORCH, [CHAINED, ("import argparse\n", "from itertools import chain\n")]),
        (TORCH, [IN_TURN]),
        (TORCH, TABLE),
        (LIGHTNING, FLAG),
        (KERAS, [NAMED, MAPPED]),
        (KERAS, [METRIC]),
        (KERAS, [BOARD]),
    ],
)
def test_silent(tmp_path: Path, text: str, pairs: list[tuple[str, str]]) -> None:
    assert told(tmp_path, text, *pairs) == set()


@pytest.mark.parametrize(
    ("text", "pairs", "symptom"),
    [
        (TORCH, [*SETTINGS, ("rate: float = 0.05", "rate: float = 5.0")], "edit-rate-raised"),
        (TORCH, [*OF_MODEL, ("dim: int = 64", "dim: int = 6")], "edit-layer-size"),
        (TORCH, [DEVICE, SAVED, ("            opt.zero_grad()\n", "")], "edit-clearing-left-out"),
        (LIGHTNING, [*FLAG, ('action="store_true"', "default=True")], "edit-length-cut"),
        (KERAS, [(NAMED[0], "ds.shuffle(buffer_size=1)"), MAPPED], "edit-shuffling"),
        (KERAS, [METRIC, ('metrics.MeanAbsoluteError(name="mae")', "metrics.MeanSquaredError()")], "edit-metric"),
    ],
)  # fmt: skip
def test_the_fault_beside_it(tmp_path: Path, text: str, pairs: list[tuple[str, str]], symptom: str) -> None:
    assert symptom in told(tmp_path, text, *pairs)


HANDED = [
    ("def main(train_set, val_set):\n", 'def main(train_set, val_set, nesterov=False):\n'),
    ("momentum=0.9)", "momentum=0.9, nesterov=nesterov)"),
]  # fmt: skip


def test_a_flag_that_is_off(tmp_path: Path) -> None:
    """A parameter's default, where no call says otherwise; one call does, and the flag is no longer off."""
    assert told(tmp_path, TORCH, *HANDED) == set()
    (tmp_path / "on").mkdir()
    on = (*HANDED, ("def main(", "def again(a, b):\n    main(a, b, nesterov=True)\ndef main("))
    assert told(tmp_path / "on", TORCH, *on) != set()


COUNTED = ("hit += (net(x.to(dev)).argmax(1).cpu() == y).sum().item()\n            n += len(y)\n    return hit / n",
           "guess = net(x.to(dev)).max(1)[1].cpu()\n            parts.append(guess.eq(y))\n    found = torch.cat(parts)\n    return {}")  # fmt: skip


def test_a_function_written_anew(tmp_path: Path) -> None:
    """Among many differences of one function a small one is no slip by itself."""
    anew = (COUNTED[0], COUNTED[1].format("found.float().mean().item()"))
    assert told(tmp_path, TORCH, ("hit, n = 0, 0", "parts = []"), anew) == set()


def test_arguments_that_are_bound(tmp_path: Path) -> None:
    """A schedule's function with `partial`, for one inside another; what is bound tells the difference."""
    before = edited(TORCH, SCHEDULE, STEPPED)
    assert told(tmp_path, before, *BOUND) == set()
    (tmp_path / "other").mkdir()
    other = [(old, new.replace("total=total", "total=50")) for old, new in BOUND]
    assert told(tmp_path / "other", before, *other) != set()
