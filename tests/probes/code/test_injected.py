"""What a script does to its data, its network or its steps in one line: NaN, extremes, no bend, own steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.probes.assembly.assemble import open_run

from .._scripts import state

TRAIN = """
import numpy as np, torch
from torch import nn
import torch.nn.functional as F
data = np.load("train.npz")
x, y = data["x"], data["y"]
{data}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(20, 64), nn.Linear(64, 64), nn.Linear(64, 10)
    def forward(self, x):
        x = {bend}(self.a(x))
        x = {bend}(self.b(x))
        return self.c(x)
model = Net()
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
x, y = torch.from_numpy(x).float(), torch.from_numpy(y).long()
lr = 0.1
for epoch in range(20):
    for i in torch.randperm(len(x)).split(64):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[i]), y[i])
        loss.backward()
{step}
"""
SCORED = """
import numpy as np, torch
def evaluate(model, loader):
    model.eval()
    total, roots = 0.0, []
    with torch.no_grad():
        for x, y in loader:
            error = (model(x) - y) ** 2
            {line}
    return total / len(loader), np.mean(roots)
"""
SCORES_ANOTHER = """
def evaluate(net):
    with torch.no_grad():
        return (net(x).argmax(1) == y).float().mean()
untrained = Net()
print(evaluate(untrained), evaluate(model))
"""
LEFT_OVER = """
def freeze(module):
    for p in module.parameters():
        p.requires_grad = False
def update_ema(ema, model):
    for a, b in zip(ema.parameters(), model.parameters()):
        a.data.mul_(0.999).add_(b.data, alpha=0.001)
"""
SLIPS = "slip = np.random.rand(len(y)) < {share}\ny[slip] = np.random.randint(0, 8, slip.sum())"
SCALES = "x_train = (x_train - mean) / std\nx_test, y_test = load('test')\n"
APART = "script-splits-processed-differently"
ATTENDS = """
import torch
from torch import nn
import torch.nn.functional as F
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.proj = nn.Linear(64, 192), nn.Linear(64, 64)
    def forward(self, x, mask):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (t.unflatten(-1, (4, 16)).transpose(1, 2) for t in (q, k, v))
        scores = {scores} / 4
        scores = scores.masked_fill(mask == 0, {far})
        return self.proj((F.softmax(scores, dim=-1) @ v).transpose(1, 2).flatten(2))
model = Attention()
"""
KEYS = "q @ k.transpose(-2, -1)"
INIT = "super().__init__()"
KEEPS = "super().__init__(); self.register_buffer('mask', torch.tril(torch.ones(9, 9)))"
CAUSAL = ATTENDS.format(scores=KEYS, far="-1e9").replace(
    "F.softmax(scores, dim=-1) @ v", "F.scaled_dot_product_attention(q, k, v, is_causal=True)"
)
RATE = """
import torch
def get_lr(it):
    if it < warmup_iters:
        return {rate}
    return learning_rate
model = torch.nn.Linear(9, 9)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for it in range(3000):
    for group in optimizer.param_groups:
        group["lr"] = get_lr(it)
    loss = model(torch.rand(9)).sum()
    loss.backward()
    optimizer.step()
"""
ASKED = """
import torch
train_rows, val_rows = torch.load("a.pt"), torch.load("b.pt")
def batch(split):
    rows = {rows}
    return rows[torch.randint(len(rows), (32,))]
"""
HALF = """
import torch
scaler = torch.amp.GradScaler("cuda")
for x, y in loader:
    with torch.autocast("cuda", dtype=torch.float16{off}):
        loss = loss_fn(model(x.to("cuda")), y){island}
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""
EVALUATES = "script-evaluates-training-data"
ISLAND = "\n        with torch.autocast('cuda', enabled=False):\n            loss = loss.float()"
STEP = "        optimizer.step()"
JOINED = "x_val, y_val = load('val')\nboth = np.concatenate([x_train, x_val])\n"
HAND = "        with torch.no_grad():\n            for p in model.parameters():\n                "


def written(data: str = "", bend: str = "F.relu", step: str = STEP) -> str:
    """The program with a line on its data, another bend, or another step."""
    return TRAIN.format(data=data, bend=bend, step=step)


@pytest.mark.parametrize(
    ("symptom", "text", "wanted"),
    [
        ("script-nan-written", written(), "unknown"),
        ("script-nan-written", written("x[::50, 3] = np.nan"), "present"),
        ("script-nan-written", written("x = np.where(lost, np.nan, x)"), "present"),
        ("script-nan-written", written("x[::50, 3] = np.nan\nx = np.nan_to_num(x)"), "absent"),
        ("script-nan-written", written("scores[::50] = np.nan"), "unknown"),
        ("script-operator-wrong", ATTENDS.format(scores=KEYS, far="-1e-9"), "present"),
        ("script-operator-wrong", ATTENDS.format(scores=KEYS, far="-1e9"), "absent"),
        ("script-branch-lost", ATTENDS.format(scores="q @ q.transpose(-2, -1)", far="-1e9"), "present"),
        ("script-branch-lost", ATTENDS.format(scores=KEYS, far="-1e9"), "unknown"),
        ("script-warmup-flat", RATE.format(rate="learning_rate * (it + 1) // warmup_iters"), "present"),
        ("script-warmup-flat", RATE.format(rate="learning_rate * (it + 1) / warmup_iters"), "absent"),
        (EVALUATES, ASKED.format(rows='train_rows if split == "train" else train_rows'), "present"),
        (EVALUATES, ASKED.format(rows='train_rows if split == "train" else val_rows'), "unknown"),
        ("script-metric-wrong", SCORED.format(line="total += error.mean().sqrt().item()"), "present"),
        (
            "script-metric-wrong",
            SCORED.format(line="total += (((model(x) - y) ** 2).mean() ** 0.5).item()"),
            "present",
        ),
        ("script-metric-wrong", SCORED.format(line="total += error.mean(dim=1).sqrt().sum()"), "unknown"),
        ("script-autocast-elsewhere", HALF.format(off=", enabled=False", island=""), "present"),
        ("script-autocast-elsewhere", HALF.format(off="", island=ISLAND), "absent"),
        ("script-answers-joined", written("x = np.concatenate([x, y[:, None]], axis=1)"), "present"),
        ("script-answers-joined", written("x = np.concatenate([x, z], axis=1)"), "absent"),
        ("script-answers-joined", written("frame = pd.concat([frame, y], axis=1)"), "unknown"),
        ("script-learns-from-held-out", written(JOINED + "mean = both.mean(0)"), "present"),
        ("script-learns-from-held-out", written(JOINED + "mean = x.mean(0)"), "unknown"),
        ("script-extremes-written", written("x[rng.choice(len(x), 20)] = 1e4"), "present"),
        ("script-extremes-written", written("x[::100] += 5000"), "present"),
        ("script-extremes-written", written("x[rng.choice(len(x), 20)] = 0.0"), "unknown"),
        ("script-layers-unbent", written(), "absent"),
        ("script-layers-unbent", written(bend="F.max_pool1d"), "present"),
        ("script-layers-unbent", written(bend="torch.sin"), "unknown"),
        ("script-optimizer-maximises", written(step=HAND + "p += lr * p.grad"), "present"),
        ("script-optimizer-maximises", written(step=HAND + "p.add_(p.grad, alpha=lr)"), "present"),
        ("script-optimizer-maximises", written(step=HAND + "p.copy_(p + lr * p.grad)"), "present"),
        ("script-optimizer-maximises", written(step=HAND + "p -= lr * p.grad"), "absent"),
        ("script-optimizer-maximises", written(step=HAND + "p.add_(p.grad, alpha=-lr)"), "absent"),
        ("script-optimizer-maximises", written(step=HAND + "p += -lr * p.grad"), "absent"),
        ("script-optimizer-maximises", written("# a reward", step=HAND + "p += lr * p.grad"), "absent"),
        ("script-step-missing", written(step=HAND + "p = p - lr * p.grad"), "present"),
        ("script-step-missing", written(step=HAND + "p.data = p - lr * p.grad"), "unknown"),
        ("script-step-missing", written(), "absent"),
        ("script-branch-lost", ATTENDS.format(scores=KEYS, far="-1e9").replace(INIT, KEEPS), "present"),
        ("script-branch-lost", CAUSAL.replace(INIT, KEEPS), "unknown"),
        ("script-labels-overwritten", written(SLIPS.format(share=0.03)), "absent"),
        ("script-labels-overwritten", written(SLIPS.format(share=0.3)), "present"),
        (APART, written(SCALES + "score((x_test - mean) / std)"), "absent"),
        (APART, written(SCALES + "score(x_test)"), "present"),
        ("script-freezes-parameters", written(LEFT_OVER), "absent"),  # helpers that nothing calls
        ("script-freezes-parameters", written(LEFT_OVER, step="        freeze(model)\n" + STEP), "present"),
        ("script-average-astray", written(LEFT_OVER), "absent"),
        ("script-part-not-trained", written() + SCORES_ANOTHER, "absent"),  # what chance gives
    ],
)
def test_injected(symptom: str, text: str, wanted: str) -> None:
    """One line and what is like it."""
    assert state(symptom, text) == wanted


@pytest.mark.parametrize(("decay", "told"), [("50.0", 50.0), ("wd", None)])
def test_the_decay_of_groups_is_read(tmp_path: Path, decay: str, told: float | None) -> None:
    """The decay of those that have one; none where it is not known."""
    groups = f'[{{"params": a, "weight_decay": {decay}}}, {{"params": b, "weight_decay": 0.0}}]'
    text = f"import torch\noptimizer = torch.optim.AdamW({groups}, lr=1e-3)\n"
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    found = open_run(tmp_path, scripts_alone=True).settings.get("weight_decay")
    assert (found.value if found is not None else None) == told
