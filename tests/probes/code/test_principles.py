# ruff: noqa: E501
"""Principles that many slips share: outputs and losses, layers and switches, formulas, parts, groups, floors."""

from __future__ import annotations

import pytest

from .._scripts import state

TORCH = "import numpy as np\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
LOOP = """
def main(model, loader, optimizer):
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad(); loss.backward(); optimizer.step()
"""


def _net(init: str, forward: str) -> str:
    return (
        TORCH
        + f"class Net(nn.Module):\n    def __init__(self, num_classes, depth=4):\n        super().__init__()\n        {init}\n"
        + f"    def forward(self, x):\n        {forward}\n"
    )


def _found(symptom: str, *code: str) -> bool:
    return state(symptom, *code) == "present"


@pytest.mark.parametrize(
    ("forward", "found"),
    [
        ("return self.head(x).softmax(dim=1)", True),
        ("return torch.sigmoid(self.head(x))", True),
        ("return self.head(x)", False),
        ("return self.head(x.softmax(dim=1))", False),
    ],
)
def test_probabilities_where_scores_are_taken(forward: str, found: bool) -> None:
    net = _net("self.head = nn.Linear(8, num_classes)", forward)
    assert _found("script-loss-wrong", net + LOOP) is found


def test_probabilities_where_probabilities_are_taken() -> None:
    net = _net("self.head = nn.Linear(8, num_classes)", "return torch.sigmoid(self.head(x))")
    assert not _found("script-loss-wrong", net + LOOP.replace("F.cross_entropy", "F.binary_cross_entropy"))


@pytest.mark.parametrize(
    ("activation", "loss", "found"),
    [("softmax", "True", True), ("relu", "True", False), ("softmax", "False", False)],
)
def test_the_last_layer_of_another_file(activation: str, loss: str, found: bool) -> None:
    model = f"""
import keras
from keras import layers
class Net(keras.Model):
    def __init__(self, num_classes):
        super().__init__()
        self.head = layers.Dense(num_classes, activation="{activation}")
    def call(self, x):
        return self.head(x)
"""
    train = f"""
import tensorflow as tf
from part0 import Net
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits={loss})
net, opt = Net(3), tf.keras.optimizers.Adam()
def step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, net(x, training=True))
    opt.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
"""
    assert _found("script-loss-wrong", model, train) is found


def test_parts_of_a_softmax_into_a_cross_entropy() -> None:
    body = (
        "s = self.head(x){}\n        a, b = s.unbind(-1)\n        return self.ce(a, x[0]) + self.ce(b, x[1])"
    )
    init = "self.head = nn.Linear(8, 2); self.ce = nn.CrossEntropyLoss()"
    assert _found("script-loss-wrong", _net(init, body.format(".softmax(dim=1)")) + LOOP)
    assert not _found("script-loss-wrong", _net(init, body.format(".float()")) + LOOP)


@pytest.mark.parametrize(
    ("forward", "found"), [("return F.relu(self.head(x))", True), ("return self.head(F.relu(x))", False)]
)
def test_scores_that_are_cut(forward: str, found: bool) -> None:
    net = _net("self.head = nn.Linear(8, num_classes)", forward)
    assert _found("script-output-rectified", net + LOOP) is found


@pytest.mark.parametrize(
    ("init", "found"),
    [
        ("b = nn.Conv2d(8, 8, 3)\n        self.body = nn.Sequential(b, nn.ReLU(), b)", True),
        (
            "b = nn.Linear(8, 8)\n        self.body = nn.ModuleList()\n        for _ in range(depth):\n            self.body.append(b)",
            True,
        ),
        ("a = nn.ReLU()\n        self.body = nn.Sequential(nn.Linear(8, 8), a, nn.Linear(8, 8), a)", False),
        (
            "self.body = nn.ModuleList()\n        for _ in range(depth):\n            b = nn.Linear(8, 8)\n            self.body.append(b)",
            False,
        ),
    ],
)
def test_layers_that_are_made_once(init: str, found: bool) -> None:
    assert _found("script-layer-repeated", _net(init, "return x") + LOOP) is found


BATCHES = """
class Data:
    def batches(self, size, shuffle=False, rng=None):
        order = rng.permutation(9) if shuffle else np.arange(9)
        for a in range(0, 9, size):
            yield self.x[order[a:a + size]], self.y[order[a:a + size]]
def train(model, data, optimizer, rng):
    for x, y in data.batches(8, {}rng=rng):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad(); loss.backward(); optimizer.step()
def evaluate(model, data):
    return [model(x) for x, y in data.batches(8)]
"""


def test_a_shuffle_that_nobody_asks_for() -> None:
    assert _found("script-loader-keeps-order", TORCH + BATCHES.format(""))
    assert not _found("script-loader-keeps-order", TORCH + BATCHES.format("shuffle=True, "))
    mixed = TORCH + "def mix(rows, rng):\n    rng.shuffle(rows)\n" + BATCHES.format("")
    assert not _found("script-loader-keeps-order", mixed)


@pytest.mark.parametrize(("given", "found"), [("False", True), ("is_train", False)])
def test_the_order_of_mindspore(given: str, found: bool) -> None:
    code = f"""
import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn
def create(source, is_train):
    return ds.GeneratorDataset(source, ["x", "y"], shuffle={given}).batch(8, drop_remainder=is_train)
def main(source, net):
    ms.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params())).train(3, create(source, True))
"""
    assert _found("script-loader-keeps-order", code) is found


METRICS = {
    "overlap for f1": ("def f1_score(tp, fp, fn):\n    return tp / max(1, tp + fp + fn)\n", True),
    "f1": ("def f1_score(tp, fp, fn):\n    return 2 * tp / max(1, 2 * tp + fp + fn)\n", False),
    "overlap": ("def jaccard(tp, fp, fn):\n    return tp / (tp + fp + fn)\n", False),
    "natural logarithm": ("def ndcg(ranks):\n    return (1.0 / np.log(ranks + 2.0)).mean()\n", True),
    "base two": ("def ndcg(ranks):\n    return (1.0 / np.log2(ranks + 2.0)).mean()\n", False),
    "base two by hand": ("def ndcg(ranks):\n    return (np.log(2.0) / np.log(ranks + 2.0)).mean()\n", False),
    "peak of bytes": (
        "def psnr(a, b):\n    d = ((a.clamp(0, 1) - b.clamp(0, 1)) ** 2).mean()\n    return 10 * torch.log10(255.0 ** 2 / d)\n",
        True,
    ),
    "peak of one": (
        "def psnr(a, b):\n    d = ((a.clamp(0, 1) - b.clamp(0, 1)) ** 2).mean()\n    return 10 * torch.log10(1.0 / d)\n",
        False,
    ),
    "against the inputs": (
        "def evaluate(model, loader):\n    hit = 0\n    for x, y in loader:\n        z = model(x)\n        hit += (z.argmax(-1) == x).sum()\n    return hit\n",
        True,
    ),
    "against the targets": (
        "def evaluate(model, loader):\n    hit = 0\n    for x, y in loader:\n        z = model(x)\n        hit += (z.argmax(-1) == y).sum()\n    return hit\n",
        False,
    ),
    "score of the inputs": (
        "def evaluate(model, loader):\n    for a, b in loader:\n        p = model(a)\n        l = loss_fn(p, b)\n        s = psnr(a, b)\n    return s\n",
        True,
    ),
    "gain over the inputs": (
        "def evaluate(model, loader):\n    for a, b in loader:\n        p = model(a)\n        l = loss_fn(p, b)\n        s = psnr(p, b) - psnr(a, b)\n    return s\n",
        False,
    ),
    "sum and mean": (
        "def evaluate(acc, nll, count):\n    nll, count = acc.reduce(nll, 'mean'), acc.reduce(count, 'sum')\n    return nll / count\n",
        True,
    ),
    "sums": (
        "def evaluate(acc, nll, count):\n    nll, count = acc.reduce(nll, 'sum'), acc.reduce(count, 'sum')\n    return nll / count\n",
        False,
    ),
    "two of three": (
        "def evaluate(dist, sums):\n    dist.all_reduce(sums[:2])\n    return sums[0] / sums[2]\n",
        True,
    ),
    "all three": (
        "def evaluate(dist, sums):\n    dist.all_reduce(sums)\n    return sums[0] / sums[2]\n",
        False,
    ),
    "half converted": (
        "def evaluate(scaler, pred, true):\n    pred_eur, true_eur = scaler.inverse_transform(pred), true\n    return (pred_eur - true_eur).abs().mean()\n",
        True,
    ),
    "both converted": (
        "def evaluate(scaler, pred, true):\n    pred_eur, true_eur = scaler.inverse_transform(pred), scaler.inverse_transform(true)\n    return (pred_eur - true_eur).abs().mean()\n",
        False,
    ),
}


@pytest.mark.parametrize("case", METRICS)
def test_metrics(case: str) -> None:
    code, found = METRICS[case]
    assert _found("script-metric-miscounts", TORCH + code + LOOP) is found


PARTS = {
    "whole and slice": ("def split(files):\n    return files, files[-2:]\ntrain, val = split(F)\n", True),
    "two slices": ("def split(files):\n    return files[:-2], files[-2:]\ntrain, val = split(F)\n", False),
    "all, and the last": (
        "def parts(files):\n    return files, files[-2:]\nevery, recent = parts(F)\n",
        False,
    ),
    "whole by switch": (
        "def keep(order, split, n):\n    k = order if split == 'train' else order[:n]\n    return k\n",
        True,
    ),
    "rest by switch": (
        "def keep(order, split, n):\n    k = order[n:] if split == 'train' else order[:n]\n    return k\n",
        False,
    ),
    "fold left in": (
        "def folds(rows, v, t):\n    train = [r for r in rows if r['f'] != t]\n    val = [r for r in rows if r['f'] == v]\n    return train, val\n",
        True,
    ),
    "same fold": (
        "def folds(rows, v):\n    train = [r for r in rows if r['f'] != v]\n    val = [r for r in rows if r['f'] == v]\n    return train, val\n",
        False,
    ),
    "other key": (
        "def cut(ds, held):\n    val = ds.filter(lambda r: r['patient'] in held)\n    train = ds.filter(lambda r: r['id'] not in held)\n    return train, val\n",
        True,
    ),
    "one key": (
        "def cut(ds, held):\n    val = ds.filter(lambda r: r['patient'] in held)\n    train = ds.filter(lambda r: r['patient'] not in held)\n    return train, val\n",
        False,
    ),
    "history with its target": (
        "def pairs(items):\n    return [(items[:p + 1], items[p]) for p in range(1, len(items))]\n",
        True,
    ),
    "history before its target": (
        "def pairs(items):\n    return [(items[:p], items[p]) for p in range(1, len(items))]\n",
        False,
    ),
    "prefix and last": (
        "def pairs(items):\n    return [(items[:p + 1], items[p + 1]) for p in range(len(items) - 1)]\n",
        False,
    ),
    "not shifted": ("def pair(ids):\n    x, y = ids[:-1], ids[:-1]\n    return x, y\n", True),
    "shifted": ("def pair(ids):\n    x, y = ids[:-1], ids[1:]\n    return x, y\n", False),
    "upper triangle": (
        "def mask(same, n):\n    causal = torch.triu(torch.ones(n, n).bool())\n    return same & causal\n",
        True,
    ),
    "lower triangle": (
        "def mask(same, n):\n    causal = torch.tril(torch.ones(n, n).bool())\n    return same & causal\n",
        False,
    ),
    "turned upper triangle": (
        "def mask(same, n):\n    causal = torch.triu(torch.ones(n, n).bool())\n    return same & ~causal\n",
        False,
    ),
}


@pytest.mark.parametrize("case", PARTS)
def test_parts_and_targets(case: str) -> None:
    code, found = PARTS[case]
    assert _found("script-training-sees-evaluation", TORCH + code + LOOP) is found


GROUPS = {
    "overwritten": (
        "def groups(model):\n    g = {}\n    for n, p in model.named_parameters():\n        key = 'b' in n\n        g[key] = [p]\n    return torch.optim.SGD(list(g.values()))\n",
        True,
    ),
    "collected": (
        "def groups(model):\n    g = {}\n    for n, p in model.named_parameters():\n        key = 'b' in n\n        g.setdefault(key, []).append(p)\n    return torch.optim.SGD(list(g.values()))\n",
        False,
    ),
    "one each": (
        "def groups(model):\n    g = {}\n    for n, p in model.named_parameters():\n        g[n] = [p]\n    return torch.optim.SGD(list(g.values()))\n",
        False,
    ),
    "one part": (
        _net(
            "self.body = nn.Linear(8, 8)\n        self.head = nn.Linear(8, num_classes)",
            "return self.head(self.body(x))",
        )
        + "net = Net(3)\nopt = torch.optim.SGD(net.head.parameters(), lr=0.1)\n",
        True,
    ),
    "one part on purpose": (
        _net(
            "self.body = nn.Linear(8, 8)\n        self.head = nn.Linear(8, num_classes)",
            "return self.head(self.body(x))",
        )
        + "net = Net(3)\nnet.body.requires_grad_(False)\nopt = torch.optim.SGD(net.head.parameters(), lr=0.1)\n",
        False,
    ),
    "method without gradients": (
        _net(
            "self.body = nn.Linear(8, 8)\n        self.head = nn.Linear(8, num_classes)",
            "h = self.encode(x)\n        return self.head(h)\n    @torch.no_grad()\n    def encode(self, x):\n        return self.body(x)",
        ),
        True,
    ),
    "method with gradients": (
        _net(
            "self.body = nn.Linear(8, 8)\n        self.head = nn.Linear(8, num_classes)",
            "h = self.encode(x)\n        return self.head(h)\n    def encode(self, x):\n        return self.body(x)",
        ),
        False,
    ),
    "frozen with the new": (
        "class Extra(nn.Module):\n    pass\ndef inject(model, names):\n    for n in names:\n        setattr(model, n, Extra())\n    for p in model.parameters():\n        p.requires_grad_(False)\n",
        True,
    ),
    "trained again": (
        "class Extra(nn.Module):\n    pass\ndef inject(model, names):\n    for n in names:\n        setattr(model, n, Extra())\n    for p in model.parameters():\n        p.requires_grad_(False)\n    for n in names:\n        getattr(model, n).requires_grad_(True)\n",
        False,
    ),
}


@pytest.mark.parametrize("case", GROUPS)
def test_parameters_that_are_left(case: str) -> None:
    code, found = GROUPS[case]
    assert _found("script-part-not-trained", TORCH + code + LOOP) is found


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ("wd if n.endswith(('bias', 'norm.weight')) else 0.0", True),
        ("weight_decay if any(s in n for s in no_decay) else 0.0", True),
        ("0.0 if n.endswith(('bias', 'norm.weight')) else wd", False),
        ("wd if not any(s in n for s in no_decay) else 0.0", False),
    ],
)
def test_decay_by_name(rule: str, found: bool) -> None:
    code = f"def groups(model, wd, weight_decay):\n    no_decay = ['bias', 'LayerNorm.weight']\n    return [{{'params': [p], 'weight_decay': {rule}}} for n, p in model.named_parameters()]\n"
    assert _found("script-decay-turned-round", TORCH + code + LOOP) is found


LOGGED = """
def main(model, loader, optimizer, log_every):
    for step, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        {}if step % log_every == 0:
            print(step, loss.item()){}
"""


def test_the_update_in_the_branch_that_logs() -> None:
    assert _found("script-step-once-per-epoch", TORCH + LOGGED.format("", "\n            optimizer.step()"))
    assert not _found("script-step-once-per-epoch", TORCH + LOGGED.format("optimizer.step()\n        ", ""))


def test_micro_batches_whose_clearing_stands_before_all_steps() -> None:
    code = """
def main(model, batches, optimizer):
    {0}for step in range(100):
        {1}for _ in range(4):
            x, y = next(batches)
            loss = F.cross_entropy(model(x), y) / 4
            loss.backward()
        optimizer.step()
"""
    clear = "optimizer.zero_grad()\n"
    assert _found("script-gradients-not-cleared", TORCH + code.format(clear + "    ", ""))
    assert not _found("script-gradients-not-cleared", TORCH + code.format("", clear + "        "))


FLOORS = {
    "silence": (
        "def features(w):\n    power = np.abs(np.fft.rfft(w)) ** 2\n    return np.log(power)\n",
        True,
    ),
    "silence with a floor": (
        "def features(w):\n    power = np.abs(np.fft.rfft(w)) ** 2\n    return np.log(power + 1e-6)\n",
        False,
    ),
    "floor above": (
        "def features(w):\n    power = np.maximum(np.abs(np.fft.rfft(w)) ** 2, 1e-6)\n    return np.log(power)\n",
        False,
    ),
    "root of a square": ("def charbonnier(p, t):\n    return torch.sqrt((p - t) ** 2).mean()\n", True),
    "root with a floor": (
        "def charbonnier(p, t, eps=1e-3):\n    return torch.sqrt((p - t) ** 2 + eps ** 2).mean()\n",
        False,
    ),
    "root of a mean": ("def rmse(p, t):\n    return torch.sqrt(((p - t) ** 2).mean())\n", False),
    "norm": (
        _net(
            "self.g = nn.Parameter(torch.ones(8))",
            "return x * torch.rsqrt((x * x).mean(-1, keepdim=True)) * self.g",
        ),
        True,
    ),
    "norm with a floor": (
        _net(
            "self.g = nn.Parameter(torch.ones(8))",
            "return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * self.g",
        ),
        False,
    ),
    "log of a softmax": (
        "def loss(z, y):\n    return F.nll_loss(torch.log(torch.softmax(z, dim=1)), y)\n",
        True,
    ),
    "log of a sigmoid": (
        "def loss(z, target):\n    p = torch.sigmoid(z)\n    return -(target * torch.log(p)).mean()\n",
        True,
    ),
    "entropy": (
        "def entropy(z):\n    p = torch.softmax(z, dim=1)\n    return -(p * torch.log(p)).sum()\n",
        False,
    ),
    "log softmax": ("def loss(z, y):\n    return F.nll_loss(F.log_softmax(z, dim=1), y)\n", False),
}


@pytest.mark.parametrize("case", FLOORS)
def test_floors(case: str) -> None:
    code, found = FLOORS[case]
    assert _found("script-zero-without-floor", TORCH + code + LOOP) is found


def test_a_score_that_is_minimised() -> None:
    code = "def psnr(a, b):\n    return 10 * torch.log10(1.0 / ((a - b) ** 2).mean())\ndef main(net, loader, opt):\n    for x, y in loader:\n        loss = {}psnr(net(x), y).mean()\n        opt.zero_grad(); loss.backward(); opt.step()\n"
    assert _found("script-loss-wrong", TORCH + code.format(""))
    assert not _found("script-loss-wrong", TORCH + code.format("-"))


@pytest.mark.parametrize(("share", "found"), [("0.1", True), ("0.9", False)])
def test_the_momentum_of_mindspore(share: str, found: bool) -> None:
    code = f"import mindspore\nfrom mindspore import nn\nbn = nn.BatchNorm2d(8, momentum={share})\n"
    assert _found("script-batch-norm-momentum", code) is found
