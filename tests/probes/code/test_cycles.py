"""Parts of a date on a circle; targets that are mixed under another name; parts of a checkpoint."""

from __future__ import annotations

import pytest

from .._scripts import state

DATES = """
import numpy as np
import pandas as pd
import torch
df = pd.read_csv("rows.csv", parse_dates=["time"])
hour = df.time.dt.hour
df["dow"] = df.time.dt.dayofweek
month = df.time.dt.month
minutes = df.time.dt.hour * 60 + df.time.dt.minute
df["a"] = np.sin({turn})
net = torch.nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters())
for x, y in rows:
    loss = torch.nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


@pytest.mark.parametrize(
    ("turn", "told"),
    [
        ("2 * np.pi * hour / 24", False),
        ("2 * np.pi * df['dow'] / 7", False),
        ("2 * np.pi * df.time.dt.dayofyear / 365.25", False),
        ("2 * np.pi * (month - 1) / 12", False),
        ("2 * np.pi * minutes / 1440", False),
        ("2 * np.pi * (24 * df['dow'] + hour) / 168", False),
        ("2 * np.pi * hour / 365", True),
        ("2 * np.pi * hour / 7", True),
        ("2 * np.pi * df['dow'] / 24", True),
        ("2 * np.pi * df.time.dt.month / 24", True),
    ],
)
def test_turns(turn: str, told: bool) -> None:
    assert (state("script-figures-impossible", DATES.format(turn=turn)) == "present") is told


MIXED = """
import numpy as np
import torch
def mixup(x, y, classes, smooth):
    target = torch.full((y.size(0), classes), smooth / classes)
    target.scatter_(1, y.unsqueeze(1), 1 - smooth)
    lam = np.random.beta(0.2, 0.2)
    order = torch.randperm(x.size(0))
    x = lam * x + (1 - lam) * x[order]
    {mix}
    return x, target
"""


@pytest.mark.parametrize(
    ("mix", "told"),
    [
        ("target = lam * target + (1 - lam) * target[order]", False),
        ("pass", True),
        ("target = lam * target + (1 - lam) * target[torch.randperm(len(y))]", True),
    ],
)
def test_targets_under_another_name(mix: str, told: bool) -> None:
    assert (state("script-sample-torn-apart", MIXED.format(mix=mix)) == "present") is told


KEPT = """
import os
import torch
net = torch.nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
poly = torch.optim.lr_scheduler.LambdaLR(opt, lambda i: (1 - i / 1000) ** 0.9)
scaler = torch.cuda.amp.GradScaler()
start, top = 0, -1.0
if os.path.exists("last.pt"):
    s = torch.load("last.pt")
    net.load_state_dict(s["net"])
    opt.load_state_dict(s["opt"])
    {poly}
    scaler.load_state_dict(s["scaler"])
    start, top = s["epoch"], s["top"]
for epoch in range(start, 100):
    for x, y in loader:
        loss = torch.nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
        poly.step()
    score = judge(net)
    better = score > top
    top = max(top, score)
    state = dict(net=net.state_dict(), opt=opt.state_dict(), poly=poly.state_dict(),
                 scaler=scaler.state_dict(), epoch=epoch + 1, top=top)
    torch.save(state, "last.pt")
"""


@pytest.mark.parametrize(("poly", "told"), [('poly.load_state_dict(s["poly"])', False), ("pass", True)])
def test_a_schedule_that_is_saved_and_left(poly: str, told: bool) -> None:
    assert (state("script-resume-incomplete", KEPT.format(poly=poly)) == "present") is told
