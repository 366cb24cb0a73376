# ruff: noqa: E501
"""Ways of published training scripts that are right, each beside the fault that it looks like."""

from __future__ import annotations

import pytest

from .._scripts import state

KERAS = """
import numpy as np, keras
from keras.datasets import mnist
(x_train, y_train), (x_test, y_test) = mnist.load_data()
{}
model = keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(10, activation="softmax")])
model.compile("adam", "categorical_crossentropy", metrics=["accuracy"])
{}
"""
FIT = "model.fit(x_train, y_train, epochs=10, batch_size=64)\nprint(model.evaluate(x_test, y_test))"
TORCH = """
import torch, torch.nn as nn, torch.nn.functional as F
{}
net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(20):
    for x, y in train_loader:
        loss = {}
        opt.zero_grad()
        loss.backward()
        opt.step()
"""
SCORED = KERAS.format(
    "y_test = keras.utils.to_categorical(y_test, 10)\n"
    "def get_accuracy(y_pred, y):\n"
    "    hits = np.sum(np.argmax(y_pred, axis=1) == np.argmax(y, axis=1)) {}\n"
    "    return round(hits * 100, 2)",
    "model.fit(x_train, y_train)\nprint('accuracy', get_accuracy(model.predict(x_test), y_test))",
)
READ = """
def load(root):
    raw = np.fromfile(root + "/train-images", dtype=np.uint8)
    train_images = raw[16:].reshape(60000, 28, 28, 1)
    {}
    test_images = raw[16:10016].reshape(10000, 28, 28, 1)
    return train_images, test_images
"""
UNIT = """
class ResBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(dim, dim, 3), nn.Conv2d(dim, dim, 3)
    def forward(self, x):
        return self.conv2(F.relu(self.conv1(x)))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = ResBlock(64)
    def forward(self, x):
        identity = x
        x = self.body(x)
        return {}
"""
GATHERED = """
from data import Clips
from torch.utils.data import DataLoader
Net = lambda: nn.Linear(40, 12)
{}
train_loader = DataLoader(Clips("train"), batch_size=32, shuffle=True, collate_fn=join)
test_loader = DataLoader(Clips("test"), batch_size=32, collate_fn=join)
"""
JOIN = """
def join(rows):
    x = torch.cat([r[0] for r in rows])
    std = x.std(axis=(0, 2), keepdim=True)
    {}
    return x / std, torch.tensor([r[1] for r in rows])
"""
ACTORS = """
class Net(nn.Module):
    def log_prob(self, state, action):
        return torch.distributions.Normal(self.mean(state), 1.0).log_prob(action){}
ratio = torch.exp(net.log_prob(states, actions) - old)
old = torch.distributions.Normal(mean, 1.0).log_prob(actions){}
advantages = rewards - values
"""
NUMBERED = (
    "names = {n: i for i, n in enumerate(set(kinds))}\ny = [names[k] for k in kinds]\nNet = lambda: m\n"
)
CE = "F.cross_entropy(net(x), y)"
SPIKES = """
from {0} import Bend
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3), Bend(), nn.Conv2d(8, 8, 3), Bend(), nn.Linear(8, 10))
    def forward(self, x):
        return self.body(x)
"""
PLAIN = SPIKES.replace("from {0} import Bend", "Bend = nn.BatchNorm2d").replace("Bend()", "nn.BatchNorm2d(8)")
CASES = [
    (
        "script-splits-processed-differently",
        KERAS.format(
            "mean = 1\nx_train_mean = x_train.mean(0)\nx_train -= x_train_mean\nx_test -= x_train_mean", FIT
        ),
        KERAS.format("x_train_mean = x_train.mean(0)\nx_train -= x_train_mean", FIT),
    ),
    ("script-metric-miscounts", SCORED.format("/ len(y)"), SCORED.format("/ 64")),
    (
        "script-training-sees-evaluation",
        KERAS.format(READ.format("raw = np.fromfile(root + '/test-images', dtype=np.uint8)"), FIT),
        KERAS.format(READ.format("pass"), FIT),
    ),
    (
        "script-branch-lost",
        TORCH.format(UNIT.format("x + identity"), CE),
        TORCH.format(UNIT.format("F.relu(x)"), CE),
    ),
    (
        "script-division-without-floor",
        TORCH.format(GATHERED.format(JOIN.format("std.masked_fill_(std == 0, 1)")), CE),
        TORCH.format(GATHERED.format(JOIN.format("pass")), CE),
    ),
    (
        "script-loss-wrong",
        TORCH.format(ACTORS.format(".mean(-1)", ".mean(-1)"), "-(ratio * advantages).mean()"),
        TORCH.format(ACTORS.format(".mean(-1)", ".sum(-1)"), "-(ratio * advantages).mean()"),
    ),
    (
        "script-classes-numbered-apart",
        TORCH.format(NUMBERED, CE),
        TORCH.format(NUMBERED, CE) + "torch.save(net.state_dict(), 'net.pt')\n",
    ),
    ("script-layers-unbent", TORCH.format(SPIKES.format("spikes.torch"), CE), TORCH.format(PLAIN, CE)),
    (
        "script-training-data-cut",
        KERAS.format(
            "x, y = make_clips(n_samples=1200)", "model.fit(x[:1000], y[:1000], validation_split=0.1)"
        ),
        KERAS.format(
            "x, y = make_clips(n_samples=60000)", "model.fit(x[:1000], y[:1000], validation_split=0.1)"
        ),
    ),
    (
        "script-held-out-one-end",
        KERAS.format(
            "a_train, b_train = x_train[y_train < 5], x_train[y_train >= 5]\n"
            "a_test, b_test = x_test[y_test < 5], x_test[y_test >= 5]",
            FIT,
        ),
        KERAS.format("a_train = x_train[y_train < 5]\nb_test = x_test[y_test >= 5]", FIT),
    ),
    (
        "script-scaler-not-updated",
        TORCH.format("", CE).replace("opt.step()", "self.trainer.scaler.step(opt)"),
        TORCH.format("", CE).replace("opt.step()", "scaler.step(opt)"),
    ),
    (
        "script-softmax-by-hand",
        TORCH.format("p = np.exp(np.log(q) / 0.5)\np = p / np.sum(p)\nNet = lambda: m", CE),
        TORCH.format("p = np.exp(scores)\np = p / np.sum(p)\nNet = lambda: m", CE),
    ),
]


@pytest.mark.parametrize(("symptom", "right", "wrong"), CASES, ids=[c[0] for c in CASES])
def test_ways(symptom: str, right: str, wrong: str) -> None:
    """The published way is silent, and the fault beside it is found."""
    assert state(symptom, right) != "present"
    assert state(symptom, wrong) == "present"


def test_one_batch_by_itself() -> None:
    """Each batch scaled by its own figures where samples are put together: alike on both sides."""
    text = TORCH.format(GATHERED.format(JOIN.format("pass")), CE)

    assert state("script-splits-processed-differently", text) != "present"


def test_frozen_after_training() -> None:
    """Layers that are frozen once the first task was learnt; frozen before all training is a fault."""
    text = KERAS.format("", "{}for layer in model.layers[:1]:\n    layer.trainable = False\n" + FIT)

    assert state("script-part-not-trained", text.format("model.fit(x_train, y_train)\n")) != "present"
    assert state("script-part-not-trained", text.format("")) == "present"


SPLIT = """
import torch
from torchvision import datasets, transforms
from torch.utils.data import DataLoader, random_split
plain = transforms.ToTensor()
train_full = datasets.MNIST("data", train=True, transform=plain)
test_ds = datasets.MNIST("data", train=False, transform={})
train_ds, val_ds = random_split(train_full, [50000, 10000])
train_loader = DataLoader(train_ds, batch_size=64, shuffle=True)
test_loader = DataLoader(test_ds, batch_size=64)
net = torch.nn.Linear(784, 10)
opt = torch.optim.Adam(net.parameters())
for x, y in train_loader:
    loss = torch.nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def test_a_part_of_a_data_set_is_processed_as_all_of_it() -> None:
    """`random_split` of the training data beside a test set of its own, which gets the same or other steps."""
    other = "transforms.Compose([plain, transforms.Normalize(0.5, 0.5)])"

    assert state("script-splits-processed-differently", SPLIT.format("plain")) != "present"
    assert state("script-splits-processed-differently", SPLIT.format(other)) == "present"


def test_parts_of_one_stream() -> None:
    """`prepare(rows.skip(n))` beside `prepare(rows.take(n))` are two parts, whatever n is called."""
    text = "train_set = prepare(rows.{}(cfg['val_size']), cfg['val_size'])\nval_set = prepare(rows.{}(cfg['val_size']))\n"
    text = TORCH.format(text + "Net = lambda: m", CE)

    assert state("script-training-sees-evaluation", text.format("skip", "take")) != "present"


def test_figures_of_the_last_round() -> None:
    """`shown_final = rate` of each round, in percent behind the loop: meant to be of the last one."""
    text = (
        TORCH.format("{}_loss = 0.0\nNet = lambda: m", CE)
        + "        {}_loss = loss.item()\nprint({}_loss / {})\n"
    )

    assert (
        state("script-metric-miscounts", text.format("final", "final", "final", "len(loader)")) != "present"
    )
    assert state("script-metric-miscounts", text.format("mean", "mean", "mean", "100.0")) != "present"
    assert state("script-metric-miscounts", text.format("mean", "mean", "mean", "len(loader)")) == "present"


def test_the_mode_is_handed_to_each_round() -> None:
    """`model.train(learns)` in every round; a picture drawn in evaluation mode leaves nothing behind."""
    rounds = "{}\nimport torch\ndef draw(net):\n    net.eval()\ndef run(net, loader, opt, learns):\n    {}\n"
    rounds += "    for x, y in loader:\n        loss = torch.nn.functional.cross_entropy(net(x), y)\n"
    rounds += "        if learns:\n            opt.zero_grad()\n            loss.backward()\n            opt.step()\n"
    rounds += "for epoch in range(9):\n    run(net, train_loader, opt, True)\n    draw(net)\n"
    symptom = "script-eval-mode-while-training"

    assert state(symptom, rounds.format("", "net.train(learns)")) != "present"
    assert state(symptom, rounds.format("", "pass")) == "present"


def test_two_losses_of_tensorflow_by_place() -> None:
    """`tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)` takes the labels first."""
    text = "import tensorflow as tf\n@tf.function\ndef step(x, y):\n    with tf.GradientTape() as tape:\n"
    text += "        logits = model(x)\n        loss = tf.nn.sparse_softmax_cross_entropy_with_logits({})\n"
    text += "    g = tape.gradient(loss, model.trainable_variables)\n    opt.apply_gradients(g)\nfor x, y in d:\n    step(x, y)\n"

    assert state("script-loss-arguments-swapped", text.format("y, logits")) != "present"
    assert state("script-loss-arguments-swapped", text.format("logits, y")) == "present"


def test_whole_percent_and_statements_on_one_line() -> None:
    """`100 * hits // n` is an accuracy in whole percent; what follows on the line of a new model loads into it."""
    text = """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(32, 10)
    def forward(self, x):
        return self.fc(x)
from torchvision.datasets import MNIST
train_loader = torch.utils.data.DataLoader(MNIST("data", train=True), batch_size=64, shuffle=True)
test_loader = torch.utils.data.DataLoader(MNIST("data", train=False), batch_size=64)
net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(9):
    for x, y in train_loader:
        opt.zero_grad()
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
torch.save(net.state_dict(), 'net.pt')
net = Net(){}
hits = n = 0
with torch.no_grad():
    for x, y in test_loader:
        hits += (net(x).argmax(1) == y).sum().item()
        n += y.size(0)
print(f"accuracy: {100 * {} // n} %")
"""
    loads = "; net.load_state_dict(torch.load('net.pt'))"
    right = text.replace("Net(){}", "Net()" + loads).replace("100 * {}", "100 * hits")

    assert state("script-metric-miscounts", right) != "present"
    assert state("script-evaluates-stale-copy", right) != "present"
    assert state("script-evaluates-stale-copy", right.replace(loads, "")) == "present"
    assert state("script-metric-miscounts", right.replace("100 * hits", "80 * hits")) == "present"


def test_a_rate_that_falls_where_a_score_asks_for_it() -> None:
    """`StepLR(opt, 1, gamma=0.1)` that is stepped only in epochs that got no better."""
    text = TORCH.format("Net = lambda: torch.nn.Linear(4, 2)", CE).replace(
        "opt = torch.optim.Adam(net.parameters(), lr=1e-3)",
        "opt = torch.optim.SGD(net.parameters(), lr=1e-1)\nsched = torch.optim.lr_scheduler.StepLR(opt, 1, gamma=0.1)",
    )

    assert state("script-schedule-wrong", text + "    if score < best:\n        sched.step()\n") != "present"
    assert state("script-schedule-wrong", text + "    sched.step()\n") == "present"


TABLE = """
import pandas as pd, numpy as np, tensorflow as tf
df = pd.read_csv("cars.csv")
train = df.sample(frac=0.8, random_state=0)
test = df.drop(train.index)
{}
model = tf.keras.Sequential([tf.keras.layers.Dense(64, activation="relu"), tf.keras.layers.Dense(1)])
model.compile(loss="mse", optimizer="adam")
model.fit(x, y, epochs=100)
print(model.evaluate(tx, ty))
"""


@pytest.mark.parametrize(
    ("way", "told"),
    [
        ("x, tx = train.copy(), test.copy()\ny, ty = x.pop('mpg'), tx.pop('mpg')", False),
        (
            "y, ty = np.array(train.pop('mpg')), np.array(test.pop('mpg'))\nx, tx = np.array(train), np.array(test)",
            False,
        ),
        ("y, ty = train['mpg'], test['mpg']\ndel train['mpg']\ndel test['mpg']\nx, tx = train, test", False),
        ("y, ty = train['mpg'], test['mpg']\nx, tx = train, test", True),
    ],
)
def test_columns_that_are_taken_out(way: str, told: bool) -> None:
    """`y = x.pop("mpg")` and `del x["mpg"]` leave the table without its target."""
    assert (state("script-answers-joined", TABLE.format(way)) == "present") is told


def test_places_have_no_slope() -> None:
    """`_, best = scores.topk(1)`, which a decoder is fed next, is cut off as it has no gradient; its scores have."""
    text = TORCH.format(
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(4, 4)\n"
        "    def forward(self, x):\n        best, place = self.a(x).topk(1)\n        h = {}.squeeze(-1).detach()\n"
        "        return self.a(x + h)",
        CE,
    )

    assert state("script-gradient-path-cut", text.format("place")) != "present"
    assert state("script-gradient-path-cut", text.format("best")) == "present"


FLOWS = """
import tensorflow as tf, tensorflow_datasets as tfds
def prep(x, y):
    return tf.cast(x, tf.float32) / 255.0, y
train_ds = tfds.load("mnist", split="{}", as_supervised=True).map(prep).shuffle(10000).batch(128)
test_ds = tfds.load("mnist", split="{}", as_supervised=True).map(prep).batch(512)
model = tf.keras.Sequential([tf.keras.layers.Flatten(), tf.keras.layers.Dense(10)])
opt = tf.keras.optimizers.AdamW(1e-3)
ce = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
for epoch in range(5):
    for x, y in train_ds:
        with tf.GradientTape() as tape:
            loss = ce(y, model(x))
        g = tape.gradient(loss, model.trainable_variables)
        opt.apply_gradients(zip(g, model.trainable_variables))
    total = n = 0.0
    for x, y in test_ds:
        total += float(ce(y, model(x))) * len(y)
        n += len(y)
    print(f"test_loss={{total / n:.4f}}")
"""


@pytest.mark.parametrize(
    ("learnt", "scored", "told"),
    [
        ("train", "test", False),
        ("train[:80%]", "train[80%:]", False),
        ("train", "train", True),
        ("train[:80%]", "train[:20%]", True),
    ],
)
def test_splits_that_are_loaded_one_by_one(learnt: str, scored: str, told: bool) -> None:
    """`tfds.load(name, split=...)` twice: rows of two splits, or of two shares of one, are others."""
    found = [
        state(f"script-{s}", FLOWS.format(learnt, scored))
        for s in ("evaluates-training-data", "training-sees-evaluation")
    ]

    assert ("present" in found) is told


def test_labels_by_a_threshold_choose_no_rows() -> None:
    """`(series[w:] > 0).astype(int)` are the labels of all windows, and those of either part are other rows."""
    text = """
import numpy as np, pandas as pd, torch
from torch.utils.data import DataLoader, TensorDataset
s = pd.read_csv("a.csv")["v"].values.astype("float32")
n = int(len(s) * 0.8)
def windows(a, w=16):
    return np.stack([a[i : i + w] for i in range(len(a) - w)]), (a[w:] > 0).astype("int64")
(x, y), (vx, vy) = windows(s[:n]), windows({})
train_loader = DataLoader(TensorDataset(torch.tensor(x), torch.tensor(y)), batch_size=32, shuffle=True)
val_loader = DataLoader(TensorDataset(torch.tensor(vx), torch.tensor(vy)), batch_size=64)
net = torch.nn.Linear(16, 2)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for x, y in train_loader:
    loss = torch.nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
hits = 0
with torch.no_grad():
    for x, y in val_loader:
        hits += (net(x).argmax(1) == y).sum().item()
print(f"accuracy {{hits / len(val_loader.dataset):.4f}}")
"""

    assert state("script-training-sees-evaluation", text.format("s[n:]")) != "present"
    assert state("script-training-sees-evaluation", text.format("s[n // 2 : n]")) == "present"
