# ruff: noqa: E501
"""Switches, joins, activations, CTC, counts and resuming that are written otherwise than meant."""

from __future__ import annotations

import pytest

from ._scripts import state

P, A, U = "present", "absent", "unknown"

LIT = """
import lightning as L, torch
from torch import nn
class Mod(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 3))
    def forward(self, x):
        return self.net(x)
    def training_step(self, batch, i):
        x, y = batch
        return nn.functional.cross_entropy(self(x), y)
    def validation_step(self, batch, i):
        x, y = batch
        self.log("val_loss", nn.functional.cross_entropy(self(x), y))
{MORE}
"""
LOOP = """
import torch
from torch import nn
from torch.utils.data import DataLoader
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Dropout(0.1))
        self.head = nn.Linear(8, 2)
    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))
model = Net()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
loader, val_loader = DataLoader(a, 8, shuffle=True), DataLoader(b, batch_size=32)
@torch.no_grad()
def evaluate(model):
    {EVAL}
    hits, n = 0, 0
    for x, y in val_loader:
        logits = model(x)
        hits += (logits.argmax(1) == y).sum().item()
        n += len(y)
    return {SCORE}
for epoch in range(5):
    model.train()
    {TRAIN}
    for x, y in loader:
        opt.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        opt.step()
    print(evaluate(model))
"""


def _loop(
    evaluation: str = "model.eval()", score: str = "hits / n", train: str = "pass", before: str = ""
) -> str:
    text = LOOP.replace("{EVAL}", evaluation).replace("{SCORE}", score).replace("{TRAIN}", train)
    return text.replace("model = Net()", f"model = Net()\n{before}")


def _lit(more: str) -> str:
    return LIT.replace("{MORE}", more)


NORM_OFF = "for m in model.modules():\n        if isinstance(m, nn.BatchNorm2d): m.eval()"
MODES = [
    (P, _lit("    def on_validation_epoch_start(self):\n        self.net.train()")),
    (P, _lit("    def on_test_start(self):\n        self.train()")),
    (A, _lit("    def on_validation_epoch_start(self):\n        self.net.eval()")),
    (P, _loop(evaluation="model.train()")),
    (P, _loop(evaluation="model.train(model.training)")),
    (A, _loop(evaluation="was = model.training; model.eval(); model.train(False)")),
    (A, _loop()),
    (P, _loop(train=NORM_OFF)),
    (A, _loop(train=NORM_OFF, before="model.load_state_dict(torch.load('imagenet.pt'))")),
    (U, "import torch\n"),
]


@pytest.mark.parametrize(("wanted", "text"), MODES)
def test_modes_switched_where_the_other_one_belongs(wanted: str, text: str) -> None:
    assert state("script-mode-wrong", text) == wanted


UNET = """
import torch
from torch import nn
class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([nn.Conv2d(1, 8, 3), nn.Conv2d(8, 8, 3)])
        self.up = nn.ModuleList([nn.Conv2d(16, 8, 3), nn.Conv2d(16, 8, 3)])
    def forward(self, x):
        skips = []
        for block in self.down:
            x = block(x)
            skips.append(x)
        for block, skip in zip(self.up, reversed(skips)):
            {JOIN}
            x = block(x)
        return x
model = UNet()
"""
JOINS = [
    (P, "x = torch.cat([x, x[:, : skip.shape[1]]], dim=1)"),
    (P, "x = torch.cat([x, x], dim=1)"),
    (A, "x = torch.cat([x, skip], dim=1)"),
    (A, "x = torch.cat([x, skip[:, :, : x.shape[2]]], dim=1)"),
]


@pytest.mark.parametrize(("wanted", "join"), JOINS)
def test_joins_of_a_value_with_itself(wanted: str, join: str) -> None:
    assert state("script-wiring-wrong", UNET.replace("{JOIN}", join)) == wanted


def test_a_value_doubled_on_purpose_is_no_fault() -> None:
    ring = "import torch\nfrom torch import nn\nclass Ring(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.f = nn.Linear(8, 8)\n    def forward(self, x):\n        return self.f(torch.cat([x, x], dim=1))\nmodel = Ring()\n"
    assert state("script-wiring-wrong", ring) == A


NET = """
import torch
from torch import nn
class {NAME}(nn.Module):
    def __init__(self, widths=(8, 8)):
        super().__init__()
        {INIT}
    def forward(self, x):
        return {OUT}
model = {NAME}()
loss = nn.MSELoss()(model(x), y)
"""


def _net(init: str, out: str = "self.net(x)", name: str = "Net") -> str:
    pad = "\n" + " " * 8
    return NET.replace("{INIT}", init.replace("; ", pad)).replace("{OUT}", out).replace("{NAME}", name)


LIST = "parts = []; w = 4\n        for h in widths:\n            parts += [nn.Linear(w, h), nn.BatchNorm1d(h), {ACT}, nn.Dropout(0.1)]\n            w = h; self.net = nn.Sequential(*parts, nn.Linear(w, 3))"
STACKS = [
    (P, _net(LIST.replace("{ACT}", "nn.Softmax(dim=1)"))),
    (P, _net("self.net = nn.Sequential(nn.Linear(4, 8), nn.Softmax(dim=-1), nn.Linear(8, 3))")),
    (P, _net("self.net = nn.Sequential(nn.Linear(4, 1), nn.Softmax(dim=-1))")),
    (P, _net("self.fc = nn.Linear(4, 1)", out="torch.softmax(self.fc(x), dim=-1)")),
    (A, _net("self.net = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=-1))")),
    (
        A,
        _net(
            "self.attn = nn.Sequential(nn.Linear(4, 8), nn.Softmax(dim=-1), nn.Linear(8, 3))",
            out="self.attn(x)",
        ),
    ),
    # the weights of a pooling over time: one score for each step
    (A, _net("self.score = nn.Linear(4, 1)", out="(torch.softmax(self.score(x), dim=1) * x).sum(1)")),
]


@pytest.mark.parametrize(("wanted", "text"), STACKS)
def test_softmax_within_a_stack_or_over_one_output(wanted: str, text: str) -> None:
    assert state("script-operator-wrong", text) == wanted


CTC = """
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence
class Enc(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(40, 64, batch_first=True)
        self.fc = nn.Linear(64, 30)
    def forward(self, x):
        h, _ = self.rnn(x)
        return self.fc(h)
model = Enc()
def collate(rows):
    xs, ys = zip(*rows)
    return pad_sequence(xs, batch_first=True), pad_sequence(ys, batch_first=True), {LENGTHS}
def decode(ids):
    out, last = [], None
    for s in ids:
        if s != last and {KEEP}:
            out.append(s)
        last = s
    return out
for x, y, n in loader:
    logits = model(x)
    logp = {LOGP}
    loss = F.ctc_loss(logp, y, torch.full((len(x),), 50), n, blank=BLANK)
    loss.backward()
"""


def _ctc(
    logp: str = "F.log_softmax(logits, dim=-1).transpose(0, 1)",
    lengths: str = "torch.tensor([len(t) for t in ys])",
    keep: str = "s != BLANK",
) -> str:
    return CTC.replace("{LOGP}", logp).replace("{LENGTHS}", lengths).replace("{KEEP}", keep)


CTC_CASES = [
    ("script-loss-wrong", A, _ctc()),
    ("script-loss-wrong", A, _ctc(logp="logits.log_softmax(2).permute(1, 0, 2)")),
    ("script-loss-wrong", P, _ctc(logp="logits.transpose(0, 1)")),
    ("script-loss-wrong", P, _ctc(logp="F.log_softmax(logits, dim=1).transpose(0, 1)")),
    # channels first: the symbols are axis 1 before they become the last one
    ("script-loss-wrong", A, _ctc(logp="F.log_softmax(logits.transpose(1, 2), dim=1).permute(2, 0, 1)")),
    ("script-label-padding-counts", P, _ctc(lengths="torch.tensor([max(len(t) for t in ys)] * len(ys))")),
    ("script-label-padding-counts", A, _ctc()),
    ("script-metric-miscounts", P, _ctc(keep="s != PAD")),
    ("script-metric-miscounts", A, _ctc()),
]


@pytest.mark.parametrize(("symptom", "wanted", "text"), CTC_CASES)
def test_ctc(symptom: str, wanted: str, text: str) -> None:
    assert state(symptom, text) == wanted


COUNTS = [
    (P, _loop(score="hits / (len(val_loader) * 8)")),
    (A, _loop(score="hits / (len(val_loader) * 32)")),
    (P, _loop(score="hits / n").replace("logits = model(x)", "logits = model(x).softmax(dim=0)")),
    (A, _loop(score="hits / n").replace("logits = model(x)", "logits = model(x).softmax(dim=1)")),
    (P, _loop().replace("(logits.argmax(1) == y)", "(torch.sigmoid(torch.sigmoid(logits)) > 0.5)")),
    (
        P,
        "import torchmetrics\n"
        + _lit("")
        .replace("super().__init__()", "super().__init__()\n        self.acc = torchmetrics.Accuracy()")
        .replace(
            'self.log("val_loss", nn.functional.cross_entropy(self(x), y))',
            'self.acc.update(self(x), y)\n        self.log("acc", self.acc.compute())',
        ),
    ),
    (
        U,
        "import torchmetrics\n"
        + _lit("")
        .replace("super().__init__()", "super().__init__()\n        self.acc = torchmetrics.Accuracy()")
        .replace(
            'self.log("val_loss", nn.functional.cross_entropy(self(x), y))',
            'self.acc.update(self(x), y)\n        self.log("acc", self.acc)',
        ),
    ),
]


@pytest.mark.parametrize(("wanted", "text"), COUNTS)
def test_counts_of_a_metric(wanted: str, text: str) -> None:
    assert state("script-metric-miscounts", text) == wanted


RESUME = """
import torch
class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters())
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 3)
        self.epoch = 0
    def save(self, path):
        torch.save({"net": self.model.state_dict(), "opt": self.optimizer.state_dict(), "sched": self.scheduler.state_dict(), "epoch": self.epoch}, path)
    def load(self, path):
        state = torch.load(path)
        self.model.load_state_dict(state["net"])
        {REST}
    def fit(self):
        for self.epoch in range(self.epoch, 10):
            for x, y in loader:
                loss = self.model(x, y)
                loss.backward()
                self.optimizer.step()
trainer = Trainer(model)
if args.restore:
    trainer.load(args.restore)
trainer.fit()
"""
REST = [
    (P, "self.optimizer.load_state_dict(state['opt']); self.epoch = state['epoch']"),
    (P, "self.epoch = state['epoch']"),
    (
        A,
        "self.optimizer.load_state_dict(state['opt']); self.scheduler.load_state_dict(state['sched']); self.epoch = state['epoch']",
    ),
    (U, "pass"),  # it takes the weights alone: another training begins with them
]


@pytest.mark.parametrize(("wanted", "rest"), REST)
def test_states_that_are_saved_and_not_given_back(wanted: str, rest: str) -> None:
    assert state("script-resume-incomplete", RESUME.replace("{REST}", rest)) == wanted


EMA = """
import copy, torch
class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.model = copy.deepcopy(model).eval()
    def step(self, model):
        for e, p in zip(self.model.parameters(), model.parameters()):
            e.data.mul_(self.decay).add_(p.data, alpha=1 - self.decay)
class Trainer:
    def __init__(self, model):
        self.model, self.optimizer = model, torch.optim.SGD(model.parameters(), lr=0.1)
        self.ema = EMA(model, 0.99)
    def fit(self):
        for epoch in range(10):
            for x, y in loader:
                self.optimizer.zero_grad()
                self.model(x, y).backward()
                self.optimizer.step()
                {MOVE}
            evaluate(self.ema.model)
Trainer(model).fit()
"""


def test_an_average_that_nobody_moves_on() -> None:
    assert state("script-evaluates-stale-copy", EMA.replace("{MOVE}", "pass")) == P
    assert state("script-evaluates-stale-copy", EMA.replace("{MOVE}", "self.ema.step(self.model)")) == A


def test_a_loss_is_followed_through_a_module_in_a_module() -> None:
    inner = "import lightning as L, torch\nfrom torch import nn\nclass Inner(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.head = nn.Linear(4, 3)\n    def forward(self, x):\n        return self.head(x).softmax(dim=1)\nclass Mod(L.LightningModule):\n    def __init__(self):\n        super().__init__()\n        self.net = Inner()\n        self.criterion = nn.CrossEntropyLoss()\n    def forward(self, x):\n        return self.net(x)\n    def training_step(self, batch, i):\n        x, y = batch\n        return self.criterion(self(x), y)\n"
    assert state("script-double-softmax", inner) == P
    assert state("script-double-softmax", inner.replace(".softmax(dim=1)", "")) == A


def test_joining_the_batches_of_one_split_is_no_processing() -> None:
    text = "import torch\ntrain = load('train')\nval = load('val')\nval = [torch.cat(val[i:i + 32]) for i in range(0, 64, 32)]\n"
    assert state("script-splits-processed-differently", text) != P
    assert state("script-splits-processed-differently", text + "val = [v / 255 for v in val]\n") == P
