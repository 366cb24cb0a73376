# ruff: noqa: E501
"""Operators, modes and registration of layers in scripts: present, absent, unknown."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

NET = """
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader
class Net(nn.Module):
    def __init__(self, dim, classes):
        super().__init__()
        self.body = nn.Linear(dim, dim)
        {INIT}
    def forward(self, x):
        h = self.body(x)
        {FORWARD}
model = Net(8, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(5):
    model.train()
    for x, y in DataLoader(data, batch_size=4, shuffle=True):
        optimizer.zero_grad()
        loss = F.{LOSS}(model(x), y)
        loss.backward()
        optimizer.step()
"""


def _net(
    init: str = "self.fc = nn.Linear(dim, classes)",
    forward: str = "return self.fc(h)",
    loss: str = "cross_entropy",
) -> str:
    pad = "\n" + " " * 8
    return (
        NET.replace("{INIT}", init.replace("; ", pad))
        .replace("{FORWARD}", forward.replace("; ", pad))
        .replace("{LOSS}", loss)
    )


QKV = "self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)"
CASES = [
    ("script-output-rectified", P, _net(forward="return F.relu(self.fc(h))")),
    ("script-output-rectified", P, _net(init="self.fc = nn.Sequential(nn.Linear(dim, classes), nn.ReLU())")),
    ("script-output-rectified", P, _net(forward="out = self.fc(h); return torch.relu(out)")),
    ("script-output-rectified", A, _net()),
    ("script-output-rectified", A, _net(forward="return F.relu(self.fc(h))", loss="mse_loss")),
    ("script-output-rectified", P, "y = (y - y_mean) / y_std\n" + _net(forward="return F.relu(self.fc(h))", loss="mse_loss")),
    ("script-output-rectified", U, "import torch\n"),
    ("script-softmax-axis", P, _net(forward="w = torch.softmax(self.fc(h), dim=0); return w")),
    ("script-softmax-axis", P, _net(init=QKV, forward="s = self.q(h) @ self.k(h).transpose(-2, -1) / 2.8; s = s.softmax(-2); return s @ self.v(h)")),
    ("script-softmax-axis", A, _net(init=QKV, forward="s = self.q(h) @ self.k(h).transpose(-2, -1) / 2.8; s = s.softmax(-1); return s @ self.v(h)")),
    ("script-softmax-axis", U, _net()),
    ("script-attention-unscaled", P, _net(init=QKV, forward="s = torch.matmul(self.q(h), self.k(h).transpose(1, 2)); w = F.softmax(s, dim=-1); return w @ self.v(h)")),
    ("script-attention-unscaled", A, _net(init=QKV + "; self.scale = dim ** -0.5", forward="s = torch.matmul(self.q(h) * self.scale, self.k(h).transpose(1, 2)); w = F.softmax(s, dim=-1); return w @ self.v(h)")),
    ("script-attention-unscaled", U, _net()),
    ("script-reshape-for-transpose", P, _net(init=QKV, forward="b, t, c = x.shape; q = self.q(x).view(b, self.n, t, c // self.n); return q")),
    ("script-reshape-for-transpose", A, _net(init=QKV, forward="b, t, c = x.shape; q = self.q(x).view(b, t, self.n, c // self.n).transpose(1, 2); return q")),
    ("script-reshape-for-transpose", U, _net()),
    ("script-operator-wrong", P, _net(forward="return F.relu(self.fc(h))")),
    ("script-operator-wrong", A, _net()),
    ("script-dropout-always-on", P, _net(forward="return self.fc(F.dropout(h, 0.2))")),
    ("script-dropout-always-on", P, _net(forward="return self.fc(F.dropout2d(h, p=0.2))")),
    ("script-dropout-always-on", P, _net(init="self.p = cfg.p", forward="return F.scaled_dot_product_attention(h, h, h, dropout_p=self.p)")),
    ("script-dropout-always-on", A, _net(init="self.p = cfg.p", forward="return F.scaled_dot_product_attention(h, h, h, dropout_p=self.p if self.training else 0.0)")),
    ("script-dropout-always-on", A, _net(forward="return self.fc(F.dropout(h, 0.2, self.training))")),
    ("script-dropout-always-on", A, _net(forward="h = F.dropout(h, 0.2) if self.training else h; return self.fc(h)")),
    ("script-dropout-always-on", U, _net()),
    ("script-layers-in-plain-list", P, _net(init="self.fcs = [nn.Linear(dim, dim) for _ in range(3)]")),
    ("script-layers-in-plain-list", P, _net(init="self.heads = {'a': nn.Linear(dim, 2), 'b': nn.Linear(dim, 3)}")),
    ("script-layers-in-plain-list", P, _net(init="self.fcs = [nn.Sequential(nn.Linear(dim, dim), nn.ReLU())] + [nn.Linear(dim, 2)]")),
    ("script-layers-in-plain-list", P, _net(init="self.fcs = []; self.fcs.append(nn.ModuleList([nn.Linear(dim, dim)]))")),
    ("script-layers-in-plain-list", P, _net(init="self.fcs = []; self.fcs.append(nn.Linear(dim, 2) if dim else nn.Conv1d(dim, 2, 1))")),
    ("script-layers-in-plain-list", P, "import torch\nclass Block(nn.Module):\n    def __init__(self):\n        self.part = Part()\n    def forward(self, x):\n        return self.part(x)\nclass Part(nn.Module):\n    def __init__(self):\n        self.fc = nn.Linear(2, 2)\n    def forward(self, x):\n        return self.fc(x)\n" + _net(init="self.blocks = [Block() for _ in range(3)]")),
    ("script-layers-in-plain-list", A, _net(init="self.fcs = []; self.fcs.append(nn.Linear(dim, dim)); self.all = nn.Sequential(*self.fcs)")),
    ("script-layers-in-plain-list", A, _net(init="self.losses = []; self.losses.append(nn.CrossEntropyLoss())")),
    ("script-layers-in-plain-list", A, _net(init="self.fcs = [nn.Linear(dim, dim) for _ in range(3)]; self.all = nn.ModuleList(self.fcs)")),
    ("script-layers-in-plain-list", A, _net(init="self.sizes = [dim, classes]; self.acts = [nn.ReLU(), nn.Tanh()]")),
    ("script-layers-in-plain-list", P, _net(init="layers = []; layers.append(nn.Linear(dim, dim)); self.fcs = layers")),
    ("script-layers-in-plain-list", P, _net(init="layers = [nn.Linear(dim, dim)]; self.by_name = {i: f for i, f in enumerate(layers)}")),
    ("script-layers-in-plain-list", P, _net(init="self.fcs = [nn.Sequential(*[nn.Linear(dim, dim), nn.ReLU()])]")),
    ("script-layers-in-plain-list", A, _net(init="layers = [nn.Linear(dim, dim)]; self.fcs = layers; self.all = nn.Sequential(*layers)")),
    ("script-layers-in-plain-list", A, _net(init="layers = [nn.Linear(dim, dim)]; self.sizes = [f.out_features for f in layers]; self.all = nn.ModuleList(layers)")),
    ("script-layers-in-plain-list", U, "import torch\n"),
    ("script-layer-repeated", P, _net(init="self.fcs = [nn.Linear(dim, dim) for _ in range(2)] * 3")),
    ("script-part-not-trained", P, _net(init="self.fcs = [nn.Linear(dim, dim) for _ in range(3)]")),
    ("script-part-not-trained", A, _net()),
    ("script-mode-wrong", P, _net(forward="return self.fc(F.dropout(h, 0.2))")),
]  # fmt: skip


@pytest.mark.parametrize(("symptom", "wanted", "text"), CASES)
def test_models(symptom: str, wanted: str, text: str) -> None:
    assert state(symptom, text) == wanted


TWO = """
import torch
from torch import nn
model, critic = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)), nn.Linear(4, 1)
{MADE}
for x, y in loader:
    loss = (model(x) - critic(y)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
CHOICE = """if args.sgd:
    optimizer = torch.optim.SGD({FIRST}, lr=0.1)
else:
    optimizer = torch.optim.Adam({SECOND}, lr=0.1)"""
BOTH = "optimizer = torch.optim.SGD({FIRST}, lr=0.1)\nother = torch.optim.Adam({SECOND}, lr=0.1)"
SEVERAL = [
    (A, CHOICE, "model.parameters()", "model.parameters()"),
    (P, CHOICE, "[p for p in model.parameters() if p.ndim > 1]", "model.parameters()"),
    (P, CHOICE, "model.parameters()", "list(model.parameters())[-2:]"),
    (P, BOTH, "[p for p in model.parameters() if p.ndim > 1]", "critic.parameters()"),
    (A, BOTH, "[p for p in model.parameters() if p.ndim > 1]", "[p for p in model.parameters() if p.ndim < 2]"),
    (A, BOTH, "list(model.parameters())[-2:]", "model.parameters()"),  # first the head, then all
    (A, BOTH, "list(model.parameters())[-2:]", "the_rest"),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "text", "one", "other"), SEVERAL)
def test_of_several_optimizers_one_may_get_a_part(wanted: str, text: str, one: str, other: str) -> None:
    made = text.replace("{FIRST}", one).replace("{SECOND}", other)
    found = state("script-optimizer-gets-part", TWO.replace("{MADE}", made))
    assert (found == P) == (wanted == P)  # else it cannot be told


KERAS = """
import keras, tensorflow as tf
from keras import layers
base = keras.applications.ResNet50(weights="imagenet", include_top=False)
base.trainable = False
inputs = keras.Input((32, 32, 3))
x = base(inputs, training={BASE})
x = layers.Dropout(0.5)(x{DROP})
model = keras.Model(inputs, layers.Dense(4{ACT})(x))
loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
model.compile("adam", loss=loss)
model.fit(train, epochs=2)
{OPEN}
model.fit(train, epochs=5)
"""
AGAIN = "base.trainable = True\nfor layer in base.layers{PART}:\n    layer.trainable = False\nmodel.compile('adam', loss=loss)"


def _keras(base: str = "False", drop: str = "", act: str = "", opened: str = "") -> str:
    text = KERAS.replace("{BASE}", base).replace("{DROP}", drop).replace("{ACT}", act)
    return text.replace("{OPEN}", opened)


STAGES = [
    ("script-mode-fixed", P, _keras(base="True")),
    ("script-mode-fixed", P, _keras(drop=", training=False")),
    ("script-mode-fixed", A, _keras()),
    ("script-mode-fixed", U, "import keras\n"),
    ("script-output-rectified", P, _keras(act=", activation='relu'")),
    ("script-output-rectified", A, _keras()),
    ("script-trainable-undone", P, _keras(opened=AGAIN.replace("{PART}", ""))),
    ("script-trainable-undone", P, _keras(opened="base.trainable = True")),
    ("script-trainable-undone", A, _keras(opened=AGAIN.replace("{PART}", "[:50]"))),
    ("script-trainable-undone", A, _keras(opened="base.trainable = True\nmodel.compile('adam', loss=loss)")),
    ("script-trainable-undone", U, "import keras\nmodel = keras.Sequential([])\n"),
]


@pytest.mark.parametrize(("symptom", "wanted", "text"), STAGES)
def test_keras(symptom: str, wanted: str, text: str) -> None:
    assert state(symptom, text) == wanted


HF = """
from transformers import Trainer, AutoModelForSequenceClassification
model = AutoModelForSequenceClassification.from_pretrained("some-model", num_labels=3)
for name, p in model.named_parameters():
    p.requires_grad = {TEST}
class Mine(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        {FIRST}
        return model(**inputs).loss
Mine(model=model).train()
"""


@pytest.mark.parametrize(
    ("symptom", "wanted", "test", "begin"),
    [
        ("script-new-head-frozen", P, "'encoder.layer' in name", "pass"),
        ("script-new-head-frozen", P, "name.startswith('bert.')", "pass"),
        ("script-new-head-frozen", A, "'encoder.layer.11' in name or 'classifier' in name", "pass"),
        ("script-new-head-frozen", A, "'embeddings' not in name", "pass"),
        ("script-new-head-frozen", U, "flag", "pass"),
    ],
)
def test_a_new_head(symptom: str, wanted: str, test: str, begin: str) -> None:
    assert state(symptom, HF.replace("{TEST}", test).replace("{FIRST}", begin)) == wanted


LIT = """
import torch, lightning as L
class Lit(L.LightningModule):
    def {HOOK}(self):
        {DO}
    def training_step(self, batch, i):
        return self.loss(batch)
"""


@pytest.mark.parametrize(
    ("wanted", "hook", "do"),
    [
        (P, "on_train_epoch_start", "self.net.eval()"),
        (A, "on_train_epoch_start", "self.net.train()"),
        (A, "on_validation_epoch_start", "self.net.eval()"),
        (A, "on_train_epoch_start", "self.net.requires_grad_(False); self.net.eval()"),
    ],
)
def test_modes_of_trainers(wanted: str, hook: str, do: str) -> None:
    assert state("script-eval-in-training-step", LIT.replace("{HOOK}", hook).replace("{DO}", do)) == wanted
    assert state("script-eval-in-training-step", "import torch\n") == U


@pytest.mark.parametrize(
    ("wanted", "more"), [(P, ", use_batch_statistics=False"), (A, ", use_batch_statistics=True"), (U, "")]
)
def test_batch_statistics(wanted: str, more: str) -> None:
    assert (
        state("script-batch-statistics-off", f"import mindspore.nn as nn\nn = nn.BatchNorm2d(8{more})\n")
        == wanted
    )


GROUPS = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(4, 4)
        self.mid = nn.Sequential(make(4), make(4))
        self.blocks = nn.ModuleList([make(4)])
        self.head = nn.Linear(4, 2)
    def forward(self, x):
        return self.head(self.mid(self.stem(x)))
model = Net()
a = [p for n, p in model.named_parameters() if {ONE}]
b = [p for n, p in model.named_parameters() if {TWO}]
optimizer = torch.optim.AdamW({GIVEN}, lr=1e-3)
for x, y in loader:
    optimizer.zero_grad(); model(x).sum().backward(); optimizer.step()
"""


@pytest.mark.parametrize(
    ("wanted", "given", "one", "two"),
    [
        (P, "[{'params': a}, {'params': b}]", "'bias' in n", "n.startswith('head')"),
        (A, "[{'params': a}, {'params': b}]", "'bias' in n", "'bias' not in n"),
        (P, "[{'params': model.stem.parameters()}, {'params': model.mid.parameters()}, {'params': model.head.parameters()}]", "True", "True"),
    ],
)  # fmt: skip
def test_groups_that_leave_something_out(wanted: str, given: str, one: str, two: str) -> None:
    text = GROUPS.replace("{GIVEN}", given).replace("{ONE}", one).replace("{TWO}", two)
    assert state("script-optimizer-gets-part", text) == wanted


def test_a_frozen_copy_is_no_part_of_the_model() -> None:
    copy = "import copy\nema = copy.deepcopy(model).requires_grad_(False)\n"
    assert state("script-freezes-parameters", _net() + copy) == A


def test_a_tape_that_leaves_out_the_body() -> None:
    text = """
import tensorflow as tf
opt = tf.keras.optimizers.Adam(1e-3)
for x, y in data:
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x, training=True))
    grads = tape.gradient(loss, WHAT)
    opt.apply_gradients(zip(grads, WHAT))
"""
    assert state("script-optimizer-gets-part", text.replace("WHAT", "model.head.trainable_variables")) == P
    assert state("script-optimizer-gets-part", text.replace("WHAT", "model.trainable_variables")) == A


def test_of_several_models_none_is_taken_for_the_one_that_the_loss_gets() -> None:
    embed = "class Embed(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.net = nn.Sequential(nn.Linear(4, 4), nn.ReLU())\n    def forward(self, x):\n        return self.net(x)\nembed = Embed()\n"
    assert state("script-output-rectified", _net() + embed) == U


def test_a_layer_that_is_made_on_a_condition_may_stay_unused() -> None:
    assert (
        state(
            "script-layer-unused",
            _net(init="self.fc = nn.Linear(dim, classes); if solo: self.extra = nn.Linear(dim, dim)"),
        )
        == A
    )


def test_a_rate_of_tensorflow_that_is_a_name_may_follow_the_mode() -> None:
    text = "import tensorflow as tf\nclass Net(tf.keras.Model):\n    def call(self, x):\n        return tf.nn.dropout(x, rate={RATE})\n"
    assert state("script-dropout-always-on", text.replace("{RATE}", "0.3")) == P
    assert state("script-dropout-always-on", text.replace("{RATE}", "drop")) == U


BLOCK = """
import torch
import torch.nn.functional as F
from torch import nn
class Residual(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.conv = nn.Conv2d(n_in, n_out, 3)
        self.norm = nn.BatchNorm2d(n_out)
    def forward(self, x):
        return F.relu(self.norm(self.conv(x)) + x)
class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        {HELD}
        self.fc = nn.Linear(8, classes)
    def forward(self, x):
        return self.fc(self.blocks(x).mean((2, 3)))
model = Net(**settings)
loss = F.cross_entropy(model(x), y)
"""


@pytest.mark.parametrize(
    "held",
    [
        "self.blocks = nn.Sequential(Residual(3, 8), Residual(8, 8))",
        "self.blocks = nn.Sequential(*[Residual(8, 8) for _ in range(4)])",
    ],
)
def test_a_block_with_its_own_relu_is_no_output(held: str) -> None:
    """Parts of a model are as wide as their `n_out`, which says nothing of classes."""
    assert state("script-output-rectified", BLOCK.replace("{HELD}", held)) != P


IN_LOSS = """
import torch
import torch.nn.functional as F
from torch import nn
BATCH = 50
net = nn.Linear(64, 4)
opt = torch.optim.Adam(net.parameters())
criterion = nn.NLLLoss()
for i in range(0, len(x), BATCH):
    j = order[i:i + BATCH]
    {}
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("logits = net(x[j])\n    loss = F.nll_loss(logits.log_softmax(0), y[j])", True),
        ("out = F.log_softmax(net(x[j]), dim=0)\n    loss = criterion(out, y[j])", True),
        ("logits = net(x[j])\n    loss = F.nll_loss(logits.log_softmax(1), y[j])", False),
        ("logits = net(x[j])\n    loss = F.nll_loss(logits.log_softmax(-1), y[j])", False),
        ("logits = net(x[i])\n    loss = F.nll_loss(logits.log_softmax(0), y[i])", False),
        ("logits = net(x[j]).view(-1)\n    loss = F.nll_loss(logits.log_softmax(0), target)", False),
        ("loss = F.nll_loss(net(x[j]), y[j])", False),
    ],
)
def test_a_softmax_of_the_loss_over_the_batch(line: str, told: bool) -> None:
    found = state("script-softmax-axis", IN_LOSS.replace("{}", line))
    assert (found == "present") is told
