"""Right forms that were taken for faults, each beside the fault that is still found."""

from __future__ import annotations

import pytest

from .._scripts import state

ACCUMULATED = """
import math, torch
model = torch.nn.Linear(4, 1)
ACCUM = 16
loader = torch.utils.data.DataLoader(data, 4, shuffle=True)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
total = EPOCHS * (len(loader) // ACCUM)
rate = lambda s: min((s + 1) / (total // 10), 0.5 + 0.5 * math.cos(math.pi * s / total))
sched = torch.optim.lr_scheduler.LambdaLR(opt, rate)
EPOCHS = 5
for epoch in range(EPOCHS):
    for i, (x, y) in enumerate(loader):
        loss = torch.nn.functional.mse_loss(model(x), y)
        (loss / ACCUM).backward()
        if (i + 1) % ACCUM:
            continue
        opt.step()
        sched.step()
        opt.zero_grad()
"""


def test_a_round_that_is_left_before_the_step_gathers_gradients() -> None:
    assert state("script-schedule-unit", ACCUMULATED) != "present"
    assert state("script-cleared-between-micro-batches", ACCUMULATED) != "present"
    moved = ACCUMULATED.replace("        if (i + 1)", "        sched.step()\n        if (i + 1)").replace(
        "        opt.step()\n        sched.step()", "        opt.step()"
    )
    assert state("script-schedule-unit", moved) == "present"
    cleared = ACCUMULATED.replace("        loss = torch", "        opt.zero_grad()\n        loss = torch")
    assert state("script-cleared-between-micro-batches", cleared) == "present"


def test_a_loss_that_is_not_divided_where_rounds_are_left() -> None:
    assert state("script-accumulation-not-divided", ACCUMULATED) != "present"
    assert (
        state("script-accumulation-not-divided", ACCUMULATED.replace("(loss / ACCUM)", "loss")) == "present"
    )
    left = "        if (i + 1) % ACCUM:\n            continue\n"
    now_and_then = ACCUMULATED.replace(left, "").replace(
        "        loss = torch", left + "        loss = torch"
    )
    now_and_then = now_and_then.replace("(loss / ACCUM)", "loss")
    assert state("script-accumulation-not-divided", now_and_then) != "present"


FOLDS = """
import torch
from sklearn.model_selection import KFold
from torch.utils.data import DataLoader, Subset, TensorDataset
data = TensorDataset(torch.randn(90, 4), torch.randn(90, 1))
EPOCHS = 10
for fold, (a, b) in enumerate(KFold(3).split(range(90))):
    loader = DataLoader(Subset(data, a), 10, shuffle=True)
    model = torch.nn.Linear(4, 1)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, EPOCHS * len(loader))
    for epoch in range(EPOCHS):
        for x, y in loader:
            loss = torch.nn.functional.mse_loss(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
"""


def test_each_fold_moves_a_schedule_of_its_own() -> None:
    assert state("script-schedule-unit", FOLDS) != "present"
    short = FOLDS.replace("            sched.step()", "        sched.step()")
    assert state("script-schedule-unit", short) == "present"


SOUND = """
import torch, torchaudio
from torch import nn
class Front(nn.Module):
    def __init__(self, train):
        super().__init__()
        self.mel = torchaudio.transforms.MelSpectrogram(16000)
        self.aug = {aug}
        {norm}
    def forward(self, wav):
        return self.aug(self.mel(wav))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = {front}
        self.fc = nn.Linear(80, 5)
    def forward(self, x):
        return self.fc(self.front(x).mean(-1))
"""
MASK = "torchaudio.transforms.TimeMasking(35)"


@pytest.mark.parametrize(
    ("aug", "norm", "front", "said"),
    [
        (MASK, "pass", "Front(True)", "present"),
        (
            f"nn.Sequential({MASK}, nn.Identity())",
            "self.norm = nn.BatchNorm1d(80)",
            "nn.Identity()",
            "present",
        ),
        (f"{MASK} if train else nn.Identity()", "pass", "Front(True)", "unknown"),
        (MASK, "pass", "nn.Identity()", "unknown"),  # a step of processing, which is not in the network
    ],
)
def test_masks_of_a_module_that_is_made_for_one_side(aug: str, norm: str, front: str, said: str) -> None:
    found = state("script-evaluation-augmented", SOUND.format(aug=aug, norm=norm, front=front))
    assert (found == "present") == (said == "present")


LBFGS = """
import torch
def probe(head, x, y, epochs=100):
    opt = torch.optim.LBFGS(head.parameters(), max_iter=epochs)
    def closure():
        opt.zero_grad()
        loss = torch.nn.functional.cross_entropy(head(x), y)
        loss.backward()
        return loss
    opt.step(closure)
loader = torch.utils.data.DataLoader(data, 4)
"""


def test_a_round_of_a_solver_sees_all_data() -> None:
    assert state("script-schedule-unit", LBFGS) != "present"
    other = LBFGS.replace(
        "torch.optim.LBFGS(head.parameters(), max_iter=epochs)", "make(head, total_steps=epochs)"
    )
    assert state("script-schedule-unit", other) == "present"


SHIFTED = """
import torch
from torch import nn
class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.pre, self.rnn, self.skip = nn.Linear(80, 32), nn.GRU(32, 32), nn.Linear(80, 32)
    def forward(self, memory, mel):
        b = len(mel)
        skip = self.skip(mel)
        frames = self.pre(torch.cat([{first}, mel[:, :-1]], 1))
        return torch.cat([self.rnn(frames)[0], {second}], -1)
"""


def test_frames_that_are_shifted_by_a_step_begin_with_zeros() -> None:
    right = SHIFTED.format(first="memory.new_zeros(b, 1, 80)", second="skip")
    assert state("script-branch-lost", right) != "present"
    fault = SHIFTED.format(first="memory.new_zeros(b, 1, 80)", second="torch.zeros_like(skip)")
    assert state("script-branch-lost", fault) == "present"


DROPS = """
import torch
import torch.nn.functional as F
from torch import nn
class {name}(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(80, 32)
    def forward(self, x):
        return F.dropout(F.relu(self.a(x)), 0.5{told})
model = {name}()
{uses}
"""
DRAWN = "mean = torch.stack([model(x) for _ in range(30)]).mean(0)"


@pytest.mark.parametrize(
    ("name", "told", "uses", "fault"),
    [
        ("Net", ", training=True", "y = model(x)", True),
        ("Net", "", DRAWN, True),
        ("Net", ", training=True", "for epoch in range(9):\n    y = model(x)\n    y.sum().backward()", True),
        ("Net", ", training=self.training", "y = model(x)", False),
        ("Prenet", ", training=True", "y = model(x)", False),
        ("Net", ", training=True", DRAWN, False),
        ("Net", ", training=True", "out = []\nfor _ in range(30):\n    out.append(model(x))", False),
    ],
)
def test_dropout_that_draws_on_purpose(name: str, told: str, uses: str, fault: bool) -> None:
    found = state("script-dropout-always-on", DROPS.format(name=name, told=told, uses=uses))
    assert (found == "present") == fault


SAMPLED = """
import torch
from torch import nn
x, y = torch.randn(90, 4), torch.randn(90, 1)
xv, yv = torch.randn(30, 4), torch.randn(30, 1)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(5):
    model.train()
    loss = nn.functional.mse_loss(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
{mode}
with torch.no_grad():
    {asked}
    print("rmse", (mean - yv).pow(2).mean().sqrt().item())
"""
ALONE = """model.eval()
for m in model.modules():
    if isinstance(m, nn.Dropout):
        m.train()"""


@pytest.mark.parametrize(
    ("mode", "asked", "fault"),
    [
        ("model.train()", "mean = model(xv)", True),
        ("", "mean = model(xv)", True),
        ("model.eval()", "mean = model(xv)", False),
        (ALONE, "mean = torch.stack([model(xv) for _ in range(20)]).mean(0)", False),
        (ALONE, "mean = model(xv)", False),
    ],
)
def test_dropout_that_is_switched_on_alone(mode: str, asked: str, fault: bool) -> None:
    found = state("script-train-mode-while-evaluating", SAMPLED.format(mode=mode, asked=asked))
    assert (found == "present") == fault


SUBSETS = """
import mindspore as ms
from mindspore import nn
from mindspore.dataset import Cifar10Dataset, {samplers}
def create(path, usage, batch, sampler=None):
    ds = Cifar10Dataset(path, usage=usage, sampler=sampler)
    return ds.batch(batch)
train = create(root, "train", 32, {first})
val = create(root, "train", 32, {second})
test = create(root, "test", 32)
net = nn.Dense(4, 2)
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9)
model = ms.train.Model(net, nn.CrossEntropyLoss(), opt, metrics={{"acc"}})
model.train(5, train)
print(model.eval(val))
"""
RANDOM, FIRST, REST = (
    "RandomSampler()",
    "SubsetRandomSampler(range(45000))",
    "SubsetSampler(list(range(45000, 50000)))",
)


@pytest.mark.parametrize(
    ("first", "second", "fault"), [(FIRST, REST, False), (FIRST, FIRST, True), ("None", "None", True)]
)
def test_subsets_of_one_source(first: str, second: str, fault: bool) -> None:
    text = SUBSETS.format(samplers="SubsetRandomSampler, SubsetSampler", first=first, second=second)
    assert (state("script-training-sees-evaluation", text) == "present") == fault
    if not fault:
        assert state("script-evaluates-training-data", text) != "present"


SCALED = """
import torch
from torch import nn
{scales}
model = nn.Linear(4, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    loss = nn.functional.cross_entropy(model(prepare(x)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("scales", "fault"),
    [
        ("def prepare(x):\n    return x.flatten(1)", True),
        ("def prepare(x):\n    return x / 127.5 - 1.0", False),
        ("from torchvision.transforms.functional import to_tensor\nprepare = to_tensor", False),
        ("import paddle\nprepare = paddle.to_tensor", True),
    ],
)
def test_inputs_that_are_scaled_by_half_their_range(scales: str, fault: bool) -> None:
    assert (state("script-no-normalisation", SCALED.format(scales=scales)) == "present") == fault


PADDLE = """
import numpy as np
import paddle
{seed}
class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.fc = paddle.nn.Linear(4, 2)
    def forward(self, x):
        return self.fc(x)
net = Net()
opt = paddle.optimizer.Adam(1e-3, parameters=net.parameters())
for x, y in loader:
    loss = paddle.nn.functional.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
    opt.clear_grad()
"""


def test_paddles_seed_is_one() -> None:
    assert state("script-nothing-seeded", PADDLE.format(seed="np.random.seed(1)")) == "present"
    assert (
        state("script-nothing-seeded", PADDLE.format(seed="np.random.seed(1); paddle.seed(1)")) != "present"
    )


EACH_FILE = """
import os, torch
from models import Model
{before}
for step, file in enumerate(os.listdir(root)):
    {inside}
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for x, y in loader:
        opt.zero_grad()
        loss = model(x, y)
        loss.backward()
        opt.step()
"""


@pytest.mark.parametrize(
    ("before", "inside", "fault"),
    [
        ("model = Model()", "pass", True),
        ("model = Model()", "model = model.to(device)", True),
        ("", "model = Model(file).to(device)", False),
        ("", "model = build(file)", False),
    ],
)
def test_an_optimizer_for_each_new_model(before: str, inside: str, fault: bool) -> None:
    found = state("script-optimizer-rebuilt", EACH_FILE.format(before=before, inside=inside))
    assert (found == "present") == fault


HANDED = """
import torch
def train(model: torch.nn.Module, train_loader, val_loader, optimizer, criterion: torch.nn.Module):
    for epoch in range(5):
        model.train()
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x).squeeze(), y)
            loss.backward()
            optimizer.step()
        {mode}
        total = 0.0
        with torch.no_grad():
            for x, y in val_loader:
                outputs = model(x)
                total += criterion(outputs.squeeze(), y).item()
        print(f"val loss {{total / len(val_loader)}}")
"""


def test_the_mode_of_a_loss_that_is_handed_in() -> None:
    assert state("script-train-mode-while-evaluating", HANDED.format(mode="pass")) == "present"
    assert state("script-train-mode-while-evaluating", HANDED.format(mode="model.eval()")) != "present"


SOLVED = """
import jax, jinns, optax
grads = jax.value_and_grad(loss.evaluate, 0, has_aux=True)(params, batch)
tx = optax.adamw(learning_rate=5e-4)
params, *_ = {solves}
"""


def test_an_optimizer_that_a_solver_of_a_library_is_handed() -> None:
    assert (
        state("script-step-missing", SOLVED.format(solves="jinns.solve(params, optimizer=tx)")) != "present"
    )
    annealed = SOLVED.replace("grads = ", "grads = 1\nvg = ").replace(", has_aux=True)(params, batch)", ")")
    assert state("script-step-missing", annealed.format(solves="anneal(vg, params, opt=tx)")) != "present"
    assert state("script-step-missing", SOLVED.format(solves="jinns.plot(params, title=tx)")) == "present"


def test_an_attribute_that_is_given_itself() -> None:
    text = """
import torch
from torch import nn
from base import SteppedTrainer
class Trainer(SteppedTrainer):
    def __init__(self, *args):
        super().__init__(*args)
        self.model: Net = self.model
        self.lossf = nn.NLLLoss()
    def epoch(self, rows):
        for x, y in rows:
            self.lossf(self.model(x), y).backward()
"""
    assert state("script-activation-missing-before-loss", text) != "present"


KEPT = """
import torch
best, state = float("inf"), None
for epoch in range(9):
    model.train()
    for x, y in loader:
        loss = lossf(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    nll = likelihood(model, held)
    rmse = distance(model, held)
    if {test}:
        best = nll
        torch.save(model.state_dict(), "best.pt")
"""


@pytest.mark.parametrize(
    ("test", "fault"),
    [
        ("nll < best", False),
        ("nll + 1e-4 < best", False),
        ("nll + min_delta < best", False),
        ("rmse < best", True),
        ("nll + rmse < best", True),
    ],
)
def test_a_figure_with_a_margin_is_the_figure(test: str, fault: bool) -> None:
    assert (state("script-best-chosen-wrongly", KEPT.format(test=test)) == "present") == fault


STORED = """
import torch
class Net(torch.nn.Module):
    def fit(self, x, y, xv):
        for a, b in loader:
            loss = lossf(self(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
        out = self(xv)
        self.{name}_mean_ = float({of}.mean())
        self.{name}_std_ = float({of}.std())
"""


def test_figures_of_answers_that_are_kept_to_be_read() -> None:
    assert state("script-scaling-unused", STORED.format(name="input", of="x")) == "present"
    assert state("script-scaling-unused", STORED.format(name="gate_val", of="out")) != "present"


JOINED = """
import numpy as np, torch
train_y = torch.tensor(labels)
{made}
test_x = torch.cat(({parts}), dim=1)
"""


def test_places_on_a_grid_are_inputs() -> None:
    grid = JOINED.format(
        made="x_mat, y_mat = np.meshgrid(np.linspace(0, 1, 9), np.linspace(0, 1, 9))",
        parts="torch.Tensor(x_mat).view(-1, 1), torch.Tensor(y_mat).view(-1, 1)",
    )
    assert state("script-target-in-inputs", grid) != "present"
    joined = JOINED.format(made="", parts="x.view(-1, 1), train_y.view(-1, 1)")
    assert state("script-target-in-inputs", joined) == "present"


EXPERTS = """
import torch
from torch import nn
class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(8, 4)
        self.experts = nn.ModuleList(nn.Linear(8, 8) for _ in range(4))
    def forward(self, x):
        w, idx = self.router(x).softmax(-1).topk(2, dim=-1)
        out = torch.zeros_like(x)
        for e, f in enumerate(self.experts):
            rows, slot = (idx == e).nonzero(as_tuple=True)
            {adds}
        return out
model = nn.Sequential(nn.Linear(8, 8), Experts(), nn.Linear(8, 3))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
x, y = torch.randn(64, 8), torch.randint(0, 3, (64,))
for step in range(100):
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("adds", "fault"),
    [
        ("out.index_add_(0, rows, w[rows, slot, None] * f(x[rows]))", False),
        ("out.scatter_add_(0, rows[:, None].expand(-1, 8), w[rows, slot, None] * f(x[rows]))", False),
        ("out.index_put_((rows,), w[rows, slot, None] * f(x[rows]), accumulate=True)", False),
        ("out[rows] += w[rows, slot, None] * f(x[rows])", False),
        ("out.index_add_(0, rows, w[rows, slot, None] * f(x[rows]).detach())", True),
        ("out.index_add_(0, rows, w[rows, slot, None].detach() * f(x[rows]))", True),
    ],
)
def test_values_that_are_put_into_a_tensor_carry_gradients(adds: str, fault: bool) -> None:
    assert (state("script-gradient-path-cut", EXPERTS.format(adds=adds)) == "present") == fault


FOLD = """
from torch.utils.data import DataLoader
def {head}:
    {name} = DataLoader(Skin(rows, True), 32, shuffle=True, drop_last=True)
    vl = DataLoader(Skin(val, False), 64)
"""


def test_a_loader_of_a_fold_that_is_handed_both_parts() -> None:
    assert (
        state("script-evaluation-drops-samples", FOLD.format(head="fold(k, train, val)", name="tl"))
        != "present"
    )
    assert (
        state("script-evaluation-drops-samples", FOLD.format(head="load(rows, train)", name="dl"))
        == "present"
    )
    assert (
        state("script-evaluation-drops-samples", FOLD.format(head="fold(k, rows, val)", name="val_dl"))
        == "present"
    )


COUNTED = """
train_{what} = {first}
valid_{what} = {second}
train_{what} += rest
train_data, valid_data = random_split(dataset, [train_{what}, valid_{what}])
"""


def test_a_number_of_rows_is_no_row() -> None:
    numbers = COUNTED.format(what="split", first="int(0.8 * len(dataset))", second="int(0.2 * len(dataset))")
    assert state("script-splits-processed-differently", numbers) != "present"


BY_CLASS = """
import numpy as np
def evaluate(net, loader):
    hit, cnt = np.zeros(40), np.zeros(40)
    for x, y in loader:
        pred = net(x).argmax(1)
        for c in y.unique().tolist():
            m = y == c
            hit[c] += {above}.sum().item()
            cnt[c] += m.sum().item()
    return (hit / cnt).mean()
"""


def test_hits_among_rows_that_a_mask_picks() -> None:
    assert state("script-metric-miscounts", BY_CLASS.format(above="(pred[m] == c)")) != "present"
    assert state("script-metric-miscounts", BY_CLASS.format(above="((pred == c) & m)")) != "present"


WEIGHED = """
import torch
import torch.nn as nn
import torch.nn.functional as F
net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
opt = torch.optim.Adam(net.parameters(), 1e-3)
for x, y in torch.utils.data.DataLoader(torch.load("d.pt"), batch_size=32, shuffle=True):
    bad = net(x)
    w = {weights}
    loss = {loss}
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("weights", "loss", "cut"),
    [
        ("(0.5 * bad).softmax(1).detach()", "-(w * F.logsigmoid(-bad)).sum(1).mean()", False),
        ("torch.exp(-bad).detach()", "(w * (bad - y) ** 2).mean()", False),
        ("bad.softmax(1).detach()", "F.nll_loss(torch.log(w), y)", True),
        ("bad.detach()", "F.cross_entropy(w, y)", True),
    ],
)
def test_weights_that_answers_give_to_their_own_terms(weights: str, loss: str, cut: bool) -> None:
    text = WEIGHED.format(weights=weights, loss=loss)
    assert (state("script-gradient-path-cut", text) == "present") is cut
