# ruff: noqa: E501
"""What published programs do and what is right, each beside the fault that it looks like."""

from __future__ import annotations

import pytest

from .._scripts import state

NET = """
import torch
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self, dim, classes):
        super().__init__()
        self.layer = nn.Linear(dim, classes)

    def forward(self, x):
        return self.layer(x)
"""
LOOP = """
def train(model, loader, optimizer, criterion):
    model.train()
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
"""


def module(init: str, forward: str, given: str = "x") -> str:
    pad = "\n" + " " * 8
    return f"""
import torch
import torch.nn as nn
import torch.nn.functional as F

class Net(nn.Module):
    def __init__(self, dim, classes):
        super().__init__()
        {init.replace("; ", pad)}

    def forward(self, {given}):
        {forward.replace("; ", pad)}
"""


def stepped(body: str) -> str:
    return NET + "\ndef train(model, loader, optimizer, criterion, n):\n" + body


ACCUMULATED = """
    for step in range(100):
        for j in range(n.accum_steps):
            x, y = next(loader)
            loss = {}
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
"""
MICRO = """
    for epoch in range(9):
        for mode in ['a', 'b']:
            loss = criterion(model(next(loader)), mode)
            optimizer.zero_grad()
            loss.backward()
            {}
        {}
"""
PAIRS = [
    # lists that get longer, several sets made at once, indices, joined sets
    ("script-splits-processed-differently", "import torch\ntrain_x = load()\nval_x = load()\ntrain_x += offset(train_x)\n", "import torch\ntrain_x = []\nval_x = []\ntrain_x += offset(train_x)\n"),
    ("script-splits-processed-differently", "import torch\ntrain_x = load()\nval_x = load()\ntrain_x = train_x * 2\n", "import torch\ntrain_x = load()\nval_x = load()\ntrain_x = ConcatDataset([train_x] * 2 + [more])\n"),
    ("script-splits-processed-differently", "import torch\ntrain_x = load()\nval_x = load()\ntrain_x = train_x * 2\n", "import torch\ntrain_probs = load()\nval_probs = load()\ntrain_probs = train_probs * 2\n"),
    # each round steps by itself
    ("script-accumulation-wrong", stepped(MICRO.replace("{}", "pass", 1).replace("{}", "optimizer.step()")), stepped(MICRO.replace("{}", "optimizer.step()", 1).replace("{}", "optimizer.step()"))),
    # the loss of all batches that reaches one of them; a count that is handed on
    ("script-accumulation-not-divided", stepped(ACCUMULATED.replace("{}", "criterion(model(x), y)")), stepped(ACCUMULATED.replace("{}", "criterion(torch.cat(kept[:j] + [model(x)] + kept[j + 1:]), y)"))),
    ("script-accumulation-not-divided", stepped(ACCUMULATED.replace("{}", "criterion(model(x), y)")), stepped(ACCUMULATED.replace("{}", "normalize(criterion(model(x), y), n.accum_steps)"))),
    # a cache is looked up within one process
    ("script-classes-numbered-apart", "import torch\ntarget = hash(word) % 40\n", "import torch\ncache_slot = hash(word) % 40\n"),
    ("script-classes-numbered-apart", "import torch\nids = {c: i for i, c in enumerate(set(labels))}\n", "import torch\nposition = {d: i for i, d in enumerate(set(datasets))}\n"),
    # the rate in force is read for the log
    ("script-rate-not-applied", NET + "def lr_at(step):\n    return 0.1 / (1 + step)\n" + LOOP.replace("optimizer.step()", "optimizer.step()\n        print(lr_at(i))"), NET + "def get_lr(optimizer):\n    return optimizer.param_groups[0]['lr']\n" + LOOP.replace("optimizer.step()", "optimizer.step()\n        print(get_lr(optimizer))")),
    # masks that are drawn, or that a model gave
    ("script-mask-interpolated", "import torch\nnum_classes = 4\ndef load_item(path):\n    mask = cv2.imread(path)\n    mask = cv2.resize(mask, (8, 8))\n    return mask\n", "import torch\nnum_classes = 4\ndef outline(points):\n    mask = np.zeros((9, 9))\n    cv2.fillPoly(mask, points, 1)\n    mask = cv2.resize(mask, (8, 8))\n    return mask\n"),
    # cuts without effect, that are asked for, of a slow copy, of a fixed table, of what has no slope
    ("script-gradient-path-cut", module("self.a = nn.Linear(dim, dim)", "y = self.a(x).detach(); return y"), module("self.a = nn.Linear(dim, dim)", "y = self.a(x); y.detach(); return y")),
    ("script-gradient-path-cut", module("self.a = nn.Linear(dim, dim)", "y = self.a(x).detach(); return y"), module("self.a = nn.Linear(dim, dim)", "y = self.a(x)\n        if self.frozen:\n            y = y.detach()\n        return y")),
    ("script-gradient-path-cut", module("self.enc = nn.Linear(dim, dim); self.dec = nn.Linear(dim, dim)", "with torch.no_grad():\n            y = self.enc(x)\n        return self.dec(y)"), module("self.enc_q = nn.Linear(dim, dim); self.enc_k = nn.Linear(dim, dim)", "q = self.enc_q(x)\n        with torch.no_grad():\n            k = self.enc_k(z)\n        return q @ k.T", "x, z")),
    ("script-gradient-path-cut", module("self.emb = nn.Embedding(9, dim)", "return self.emb(x).detach()"), module("self.emb = nn.Embedding(9, dim); self.emb.weight.requires_grad = False", "return self.emb(x).detach()")),
    ("script-gradient-path-cut", module("self.a = nn.Linear(dim, dim)", "return x * self.a(x).detach()"), module("self.a = nn.Linear(dim, dim)", "return self.a(x) * torch.sign(x).detach()")),
    ("script-gradient-path-cut", module("self.a = nn.Linear(dim, dim)", "return F.mse_loss(self.a(x).detach(), z)", "x, z"), module("self.a = nn.Linear(dim, dim)", "return F.mse_loss(self.a(x), self.a(z).detach())", "x, z")),
    ("script-gradient-path-cut", module("self.a = nn.Linear(dim, dim)", "c = self.a(x)\n        with torch.no_grad():\n            c = self.b(c)\n        return c"), module("self.a = nn.Linear(dim, dim)", "c = self.a(x)\n        with torch.no_grad():\n            torch.clamp_max_(c, 1.0)\n        return c")),
    # losses that are chosen at run time; accuracy is a word of its own
    ("script-regression-loss-on-classes", NET + "acc = (model(x).argmax(1) == y).float().mean()\nloss = F.mse_loss(out, y)\n", NET + "acc = (model(x).argmax(1) == y).float().mean()\nloss_fn = F.cross_entropy\nloss = F.mse_loss(out, y)\n"),
    ("script-regression-loss-on-classes", NET + "acc = model(x).argmax(1) == y\nloss = F.mse_loss(out, y)\n", NET + "vaccine = model(x).argmax(1)\nloss = F.mse_loss(out, y)\n"),
    # a loss that is added to a layer after it was divided
    ("script-loss-summed", "import tensorflow as tf\nloss_fn = tf.keras.losses.SparseCategoricalCrossentropy(reduction='sum')\nloss = loss_fn(y, p)\nmodel.add_loss(loss)\n", "import tensorflow as tf\nloss_fn = tf.keras.losses.SparseCategoricalCrossentropy(reduction='sum')\nloss = loss_fn(y, p)\nloss = loss * (1.0 / size)\nmodel.add_loss(loss)\n"),
    # branches that start at nothing, weights that are drawn later, buffers, layers made for it
    ("script-zero-init", module("self.a = nn.Linear(dim, dim); self.b = nn.Linear(dim, 9); nn.init.zeros_(self.a.weight)", "return self.b(self.a(x))"), module("self.a = nn.Linear(dim, dim); nn.init.zeros_(self.a.weight)", "h = self.a(x); return x + h")),
    ("script-zero-init", module("self.a = nn.Linear(dim, dim); self.b = nn.Linear(dim, 9); nn.init.ones_(self.a.weight)", "return self.b(self.a(x))"), module("self.a = nn.Linear(dim, dim); nn.init.ones_(self.a.weight); nn.init.xavier_normal_(self.a.weight)", "return self.a(x)")),
    ("script-zero-init", module("self.mix_weight = nn.Parameter(torch.empty(9)); self.mix_weight.data.fill_(0.0)", "return x"), module("self.register_buffer('mix_weight', torch.empty(9)); self.mix_weight.data.fill_(0.0)", "return x")),
    ("script-zero-init", NET.replace("return self.layer(x)", "return self.out(self.layer(x))\n    def reset(self):\n        nn.init.zeros_(self.layer.weight)"), "import torch.nn as nn\nclass Linear0(nn.Linear):\n    def reset_parameters(self):\n        nn.init.zeros_(self.weight)\n"),
    # heads of networks that give features, modules that hold weights for others
    ("script-layer-unused", module("self.a = nn.Linear(dim, dim); self.b = nn.Linear(dim, 9)", "return self.a(x)"), module("self.a = nn.Linear(dim, dim); self.fc = nn.Linear(dim, 9)", "return self.a(x)")),
    ("script-layer-unused", module("self.a = nn.Parameter(dim)", "return x"), module("self.a = nn.Parameter(dim)", "raise NotImplementedError")),
    ("script-value-unused", module("self.a = nn.ModuleList([])", "y = self.a[0](x); return x"), module("self.observers = nn.ModuleList([])", "y = self.observers[0](x); return x")),
    # dropout of masks and of nothing
    ("script-dropout-always-on", module("self.a = nn.Linear(dim, dim)", "return F.dropout(self.a(x), 0.3)"), module("self.a = nn.Linear(dim, dim)", "return self.a(x) * F.dropout(torch.ones_like(x), 0.3)")),
    ("script-dropout-always-on", module("self.a = nn.Linear(dim, dim)", "return F.dropout(self.a(x), 0.3)"), module("self.a = nn.Linear(dim, dim)", "return F.dropout(self.a(x), 0.3)").replace("import torch.nn.functional as F", "import chainer.functions as F")),
    # targets that go into a dict, critics, columns of labels
    ("script-target-in-inputs", "import torch\nfeatures['hint'] = labels\n", "import torch\nbatch_dict['image'] = labels\n"),
    ("script-target-in-inputs", "import torch\nx = torch.cat([x, y], 1)\n", module("self.a = nn.Linear(dim, 1)", "x = torch.cat([x, y], 1); return self.a(x)", "x, y")),
    ("script-target-in-inputs", "import torch\ndata['hint'] = label_of(label)\n", "import torch\ndata[f'{column}_label'] = label_of(label)\n"),
    # names of classes are no samples; the order within a batch means nothing
    ("script-sorts-training-data", NET + LOOP + "order = sorted(train_y_labels)\n", NET + LOOP + "order = sorted(labels_list)\n"),
    ("script-sorts-training-data", NET + LOOP + "order = torch.sort(labels)\n", NET + LOOP.replace("optimizer.zero_grad()", "optimizer.zero_grad()\n        order = torch.sort(labels)")),
    # gradients that are cleared after an error
    ("script-gradients-cleared-too-early", NET + LOOP.replace("loss.backward()", "loss.backward()\n        optimizer.zero_grad()"), NET + LOOP.replace("        loss.backward()", "        try:\n            loss.backward()\n        except RuntimeError:\n            optimizer.zero_grad()\n            continue")),
    # weights of classes that are turned over in the end
    ("script-class-weights-upside-down", "import torch\nclass_weights = torch.tensor(class_counts) / total\n", "import torch\nclass_weights = (torch.tensor(class_counts) / total) ** -1\n"),
    # evaluation mode of what measures, and training mode set by the step itself
    ("script-eval-mode-while-training", NET + "def run(model, loader, optimizer, criterion):\n    for e in range(9):\n        for x, y in loader:\n            optimizer.zero_grad()\n            criterion(model(x), y).backward()\n            optimizer.step()\n        model.eval()\n", NET + "def step(model, x, y, optimizer, criterion):\n    model.train()\n    optimizer.zero_grad()\n    criterion(model(x), y).backward()\n    optimizer.step()\ndef run(model, loader, optimizer, criterion):\n    for e in range(9):\n        for x, y in loader:\n            step(model, x, y, optimizer, criterion)\n        model.eval()\n"),
    ("script-eval-mode-while-training", NET + LOOP.replace("model.train()", "model.eval()"), NET + LOOP.replace("model.train()", "encoder.eval()\n    loader = [encoder(x) for x in loader]")),
    # reduction among some of the devices, and clipping where there is no scaler
    ("script-gradients-reduced-twice", NET + "model = DistributedDataParallel(Net(3, 4))\nfor p in model.parameters():\n    dist.all_reduce(p.grad)\n", NET + "model = DistributedDataParallel(Net(3, 4))\nfor p in model.parameters():\n    dist.all_reduce(p.grad, group=tensor_group)\n"),
    ("script-clip-before-unscale", NET + LOOP.replace("loss.backward()", "scaler.scale(loss).backward()\n        nn.utils.clip_grad_norm_(model.parameters(), 1.0)"), NET + LOOP.replace("        loss.backward()", "        if scaler is None:\n            loss.backward()\n            nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n        else:\n            scaler.scale(loss).backward()")),
    # samples without labels, and channels
    ("script-labels-permuted-alone", "import torch\ndef fit(x, y):\n    x = x[torch.randperm(len(x))]\n    return x, y\n", "import torch\ndef fit(x):\n    x = x[torch.randperm(len(x))]\n    return x\n"),
    # exp of what is below zero
    ("script-softmax-by-hand", "import torch\ndef p(s):\n    e = torch.exp(s)\n    return e / e.sum(-1)\n", "import torch\ndef p(s):\n    e = torch.exp(-0.5 * s.pow(2))\n    return e / e.sum(-1)\n"),
    # the rate is held after the warm-up
    ("script-warmup-flat", "import torch\ndef lr_at(step):\n    if step < warmup:\n        return base_lr\n    return 0.1\n", "import torch\ndef lr_at(step):\n    if step < warmup:\n        return base_lr * step / warmup\n    elif step < warmup_hold:\n        return base_lr\n    return 0.1\n"),
    # what has no upper side
    ("script-augmentation-extreme", "import torch.nn as nn\nt = RandomRotation(180)\nloss = nn.CrossEntropyLoss()\n", "import torch.nn as nn\nt = RandomRotation(180)\nloss = nn.MSELoss()\n"),
]  # fmt: skip


@pytest.mark.parametrize(("symptom", "wrong", "right"), PAIRS)
def test_what_is_right_is_told_from_the_fault_that_it_looks_like(
    symptom: str, wrong: str, right: str
) -> None:
    assert state(symptom, wrong) == "present"
    assert state(symptom, right) != "present"


BLOCK = """
import torch.nn as nn
class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attn = Attention(dim)
    def forward(self, x):
        x = x + self.attn(x)
        return x
class Model(nn.Module):
    def __init__(self, dim, depth):
        super().__init__()
        self.blocks = nn.ModuleList([Block(dim) for _ in range({})])
        self.end = {}
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.end(x)
"""


@pytest.mark.parametrize(
    ("depth", "end", "wanted"),
    [("depth", "nn.Linear(dim, 4)", "absent"), ("12", "nn.Linear(dim, 4)", "present"), ("depth", "nn.LayerNorm(dim)", "present")],
)  # fmt: skip
def test_blocks_without_norm_may_be_a_design(depth: str, end: str, wanted: str) -> None:
    """Said for sure only of a deep stack, or where the program normalises its stream elsewhere."""
    text = BLOCK.replace("{}", depth, 1).replace("{}", end)

    assert state("script-norm-missing", text) == wanted
    assert state("script-blocks-without-norm", text) == "present"


def test_calls_that_are_told_apart_by_a_flag_read_other_data() -> None:
    text = "import torch\ntrain_set = Tiles('train'{})\nval_set = Tiles('train')\n"

    assert state("script-training-sees-evaluation", text.replace("{}", "")) == "present"
    assert state("script-training-sees-evaluation", text.replace("{}", ", train=True")) != "present"


def test_a_value_that_many_ways_lead_to_is_found_in_time() -> None:
    """Each name is set in two branches from the one before: two to the power of forty ways."""
    lines = ["import torch", "import torch.nn.functional as F", "def go(x, y, model):", "    a0 = F.mse_loss(model(x), y)"]  # fmt: skip
    for i in range(40):
        lines += [
            "    if x:",
            f"        a{i + 1} = a{i} + a{i}",
            "    else:",
            f"        a{i + 1} = a{i} + a{i}",
        ]
    lines += ["    (-a40).backward()", "    shuffle(a40, flag=a40)"]

    for symptom in ("script-loss-negated", "script-loss-summed", "script-metric-miscounts"):
        assert state(symptom, "\n".join(lines)) in ("present", "absent", "unknown")
