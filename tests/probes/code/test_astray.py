# ruff: noqa: E501
"""Switches, joins, activations, CTC, counts and resuming that are written otherwise than meant."""

from __future__ import annotations

import pytest

from .._scripts import state

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


# what makes a script one that trains
TRAINS = "import torch\nloss = torch.nn.functional.mse_loss(model(x), y)\nloss.backward()\n"
ARGS = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, keep_prob=0.9, dropout=0.1):
        super().__init__()
        self.drop = {DROP}
        layer = nn.TransformerEncoderLayer(8, 2, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
    def forward(self, ids, x, attention_mask):
        return self.encoder(self.drop(x), src_key_padding_mask={MASK})
model = Net()
"""
ARGUMENTS = [
    (P, "nn.Dropout2d(keep_prob)", "ids.eq(PAD)"),
    (P, "nn.Dropout(p=1.0 - dropout)", "ids == PAD"),
    (P, "nn.Dropout(dropout)", "ids.ne(PAD)"),
    (P, "nn.Dropout(dropout)", "ids != self.pad_id"),
    (P, "nn.Dropout(dropout)", "attention_mask.bool()"),
    (A, "nn.Dropout(1 - keep_prob)", "attention_mask == 0"),
    (A, "nn.Dropout(dropout)", "~attention_mask.bool()"),
    (A, "nn.Dropout(0.9)", "ids.eq(0)"),
]


@pytest.mark.parametrize(("wanted", "drop", "mask"), ARGUMENTS)
def test_arguments_that_mean_the_opposite(wanted: str, drop: str, mask: str) -> None:
    assert state("script-argument-inverted", ARGS.replace("{DROP}", drop).replace("{MASK}", mask)) == wanted


def test_the_share_to_keep_is_right_where_the_call_wants_it() -> None:
    assert (
        state("script-argument-inverted", "import tensorflow as tf\ny = tf.nn.dropout(x, keep_prob)\n") == U
    )
    assert state("script-argument-inverted", "import mindspore.nn as nn\nd = nn.Dropout(keep_prob)\n") == U


SHAPES = """
import torch, numpy as np
from torch import nn
class Rows(torch.utils.data.Dataset):
    def __init__(self, table):
        ys = []
        for row in table:
            ys.append({Y})
        self.y = torch.tensor(np.array(ys), dtype=torch.float32)
    def __getitem__(self, i):
        return self.x[i], self.y[i]
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, {N}))
    def forward(self, x):
        return {OUT}
model, criterion = Net(), nn.MSELoss()
for x, y in loader:
    loss = criterion(model(x), {T})
    loss.backward()
"""
BROADCAST = [
    (P, "float(row[0])", "self.head(x)", "1", "y"),
    (P, "row[-1] / scale", "self.head(x)", "1", "y"),
    (A, "float(row[0])", "self.head(x)", "1", "y.unsqueeze(1)"),
    (U, "float(row[0])", "self.head(x).squeeze(-1)", "1", "y"),
    (U, "row[2:5]", "self.head(x)", "3", "y"),
    (U, "targets_of(row)", "self.head(x)", "1", "y"),
]


@pytest.mark.parametrize(("wanted", "y", "out", "n", "t"), BROADCAST)
def test_a_column_of_outputs_against_a_row_of_targets(wanted: str, y: str, out: str, n: str, t: str) -> None:
    text = SHAPES.replace("{Y}", y).replace("{OUT}", out).replace("{N}", n).replace("{T}", t)
    assert state("script-shapes-broadcast", text) == wanted


SPLITS = """
import numpy as np
class Data:
    def __init__(self, files, train):
        self.items, self.train = files, train
    def __getitem__(self, i):
        img, mask = self.items[i]
        {INPUT}
        {LABEL}
        target = (mask == cell).astype(float)
        return img, target
train_set, val_set = Data(a, True), Data(b, False)
"""
INPUTS = [
    (
        "script-splits-processed-differently",
        P,
        "img = standardize(img) if self.train else img / 65535.0",
        "cell = 255",
    ),
    ("script-splits-processed-differently", P, "img = normalize(img) if self.train else img", "cell = 255"),
    ("script-splits-processed-differently", U, "img = augment(img) if self.train else img", "cell = 255"),
    ("script-splits-processed-differently", U, "img = standardize(img)", "cell = 255"),
    ("script-labels-processed-differently", P, "pass", "cell = 255 if self.train else 0"),
    ("script-labels-processed-differently", U, "pass", "cell = 255"),
]


@pytest.mark.parametrize(("symptom", "wanted", "given", "label"), INPUTS)
def test_what_depends_on_the_split(symptom: str, wanted: str, given: str, label: str) -> None:
    assert state(symptom, TRAINS + SPLITS.replace("{INPUT}", given).replace("{LABEL}", label)) == wanted


@pytest.mark.parametrize(("coin", "wanted"), [(" and self.rng.random() < 0.5", U), ("", P)])
def test_a_coin_beside_the_flag_is_augmentation(coin: str, wanted: str) -> None:
    text = f"""
import numpy as np
class Data:
    def __init__(self, files, flip=False):
        self.items, self.flip = files, flip
    def __getitem__(self, i):
        img, box = self.items[i]
        if self.flip{coin}:
            box = np.array([1 - box[0], box[1]])
        return img, box
train_set = Data(a, flip=True)
val_set = Data(b)
"""
    assert state("script-labels-processed-differently", TRAINS + text) == wanted


def test_tables_of_classes_of_their_own() -> None:
    one = "label2id = {y: i for i, y in enumerate(LABELS)}\n"
    other = "val_label2id = {y: i for i, y in enumerate(sorted(val_labels, reverse=True))}\n"
    assert state("script-classes-numbered-apart", TRAINS + one + other) == P
    assert state("script-classes-numbered-apart", TRAINS + one + other.replace("val_labels", "LABELS")) != P


STEP = """
import torch
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range({EPOCHS}):
    for x, y in loader:
        {FIRST}
        loss = criterion(model(x), y)
        loss.backward()
        {IN}
    {OUT}
"""


def _step(
    first: str = "optimizer.zero_grad()", inside: str = "pass", out: str = "pass", epochs: str = "10"
) -> str:
    text = STEP.replace("{FIRST}", first).replace("{IN}", inside)
    return text.replace("{OUT}", out).replace("{EPOCHS}", epochs)


def test_a_step_that_slipped_out_of_the_loop() -> None:
    slipped = _step(out="optimizer.step()")
    assert state("script-step-once-per-epoch", slipped) == P
    assert state("script-accumulation-wrong", slipped) != P  # nothing is accumulated
    assert state("script-step-once-per-epoch", _step(inside="optimizer.step()")) == A
    assert (
        state(
            "script-step-once-per-epoch", _step(first="pass", out="optimizer.step(); optimizer.zero_grad()")
        )
        == A
    )
    assert state("script-step-once-per-epoch", "x = 1\n") == U


def test_epochs_that_end_early_whatever_is_set() -> None:
    assert state("script-epochs-capped", _step(inside="optimizer.step()", epochs="min(args.epochs, 2)")) == P
    assert state("script-epochs-capped", _step(inside="optimizer.step()", epochs="args.epochs")) == A
    assert state("script-epochs-capped", "x = 1\n") == U


TABLE = """
import numpy as np
class Prep:
    def fit(self, x):
        self.mean, self.std = np.nanmean(x, axis=0), np.nanstd(x, axis=0) + 1e-6
    def apply(self, x):
        return {OUT}
"""


def test_rows_of_a_table_that_are_standardised() -> None:
    rows = TABLE.replace("{OUT}", "(x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)")
    assert state("script-scaled-by-row", TRAINS + rows) == P
    assert (
        state("script-unsafe-division", TRAINS + rows) != P
    )  # columns of different units: their spread is not zero
    assert state("script-scaled-by-row", TRAINS + TABLE.replace("{OUT}", "(x - self.mean) / self.std")) == U
    assert state("script-scaled-by-row", TRAINS + TABLE.replace("{OUT}", "(x - x.mean(0)) / x.std(0)")) == A
    signal = rows.replace("def apply(self, x)", "def normalize_signal(self, x)")
    assert state("script-scaled-by-row", TRAINS + signal) != P


SCHEDULE = """
import torch
EPOCHS = 5
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
total_steps = {TOTAL}
def factor(step):
    return max(0.0, (total_steps - step) / total_steps)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
for epoch in range(EPOCHS):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
"""


def test_a_schedule_that_is_over_after_one_epoch() -> None:
    assert state("script-schedule-unit", SCHEDULE.replace("{TOTAL}", "len(loader)")) == P
    assert state("script-schedule-unit", SCHEDULE.replace("{TOTAL}", "EPOCHS * len(loader)")) == A


MADE = """
import torch
def make(args, optimizer, steps_per_epoch):
    total = {TOTAL}
    if args.kind == "poly":
        return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda it: max(0.0, 1 - it / total))
    return torch.optim.lr_scheduler.MultiStepLR(optimizer, [total // 2], gamma=0.1)
def train(loader, optimizer, scheduler):
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
        scheduler.step()
scheduler = make(args, optimizer, len(loader))
for epoch in range(args.epochs):
    train(loader, optimizer, scheduler)
"""


def test_a_schedule_that_a_function_makes_is_followed() -> None:
    assert state("script-schedule-unit", MADE.replace("{TOTAL}", "args.epochs")) == P
    assert state("script-schedule-unit", MADE.replace("{TOTAL}", "args.epochs * steps_per_epoch")) == A


def test_values_marked_as_missing_and_never_filled() -> None:
    marks = "import numpy as np\ndef clean(table):\n    table[table > 60] = np.nan\n    return table\n"
    assert state("script-statistics-skip-missing", TRAINS + marks) == P
    assert state("script-statistics-skip-missing", TRAINS + marks + "x = np.nan_to_num(clean(t))\n") == A
    assert state("script-statistics-skip-missing", TRAINS + "import numpy as np\n") == U


AUGMENT = """
import numpy as np
def augment(img, mask, rng):
    k = rng.integers(4)
    {TURN}
    return img, mask
"""


def test_an_image_turned_without_its_mask() -> None:
    assert (
        state("script-sample-torn-apart", TRAINS + AUGMENT.replace("{TURN}", "img = np.rot90(img, k)")) == P
    )
    both = "img, mask = np.rot90(img, k), np.rot90(mask, k)"
    assert state("script-sample-torn-apart", TRAINS + AUGMENT.replace("{TURN}", both)) != P
    lines = "img = np.rot90(img, k)\n    mask = np.rot90(mask, k)"
    assert state("script-sample-torn-apart", TRAINS + AUGMENT.replace("{TURN}", lines)) != P


def test_a_relu_behind_the_head_of_a_segmentation() -> None:
    text = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.head = nn.Conv2d(8, 1, 1)\n    def forward(self, x):\n        return torch.relu(self.head(x))\nmodel = Net()\nloss = F.binary_cross_entropy_with_logits(model(x), y)\n"
    assert state("script-output-rectified", text) == P
    assert state("script-output-rectified", text.replace("8, 1, 1)", "8, 8, 3)")) != P


def test_a_sum_that_is_divided_under_its_own_name() -> None:
    text = "import torch.nn.functional as F\ndef loss_fn(z, y):\n    nll = F.cross_entropy(z, y, reduction='sum')\n    return nll{OVER}\nloss = loss_fn(model(x), y)\nloss.backward()\n"
    assert state("script-loss-summed", text.replace("{OVER}", " / (y != 0).sum()")) == A
    assert state("script-loss-summed", text.replace("{OVER}", "")) == P


FLOOR = "import numpy as np\nclass Data:\n    def __getitem__(self, i):\n        power, img = self.rows[i]\n        return {OUT}\n"


def test_floors_under_what_samples_are_divided_by_or_the_logarithm_of() -> None:
    symptom = "script-division-without-floor"
    for out in ("np.log(power)", "(img - img.mean()) / img.std()"):
        assert state(symptom, TRAINS + FLOOR.replace("{OUT}", out)) == P
    for out in ("np.log(power + 1e-6)", "np.log1p(power)", "(img - img.mean()) / (img.std() + 1e-6)"):
        assert state(symptom, TRAINS + FLOOR.replace("{OUT}", out)) != P


def test_authors_who_do_not_call_it_self() -> None:
    text = "import torch\nfrom torch import nn\nclass Net(nn.Module):\n    def __init__(s):\n        super().__init__()\n        s.fc = nn.Linear(4, 3)\n    def forward(s, x):\n        return torch.relu(s.fc(x))\nmodel = Net()\nloss = torch.nn.functional.cross_entropy(model(x), y)\nloss.backward()\n"
    assert state("script-output-rectified", text) == P
    assert state("script-output-rectified", text.replace("torch.relu(s.fc(x))", "s.fc(x)")) == A


def test_steps_are_no_samples() -> None:
    """`epochs * len(loader)` is how many steps there are, not how many samples."""
    text = "EPOCHS = 8\n" + _loop(score="hits / (len(val_loader) * EPOCHS)")
    assert state("script-metric-miscounts", text) != P
    assert state("script-metric-miscounts", text.replace("EPOCHS", "BATCH")) == P
