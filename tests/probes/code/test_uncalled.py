"""Helpers that are written and never called."""

from __future__ import annotations

import pytest

from .._scripts import state

P, U = "present", "unknown"

TRAIN = """
import torch
from model import Net, EMA, init_weights
from loader import rows

class Trainer:
    def __init__(self, cfg):
        self.net = Net()
        init_weights(self.net)
        self.ema = EMA(self.net, 0.998)
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=1e-3)

    def clip(self):
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)

    def warmup_lr(self, step):
        for group in self.opt.param_groups:
            group["lr"] = 1e-3 * min(1.0, (step + 1) / 200)

    def fit(self):
        for step, (x, y, keys) in enumerate(rows):
            self.warmup_lr(step)
            self.opt.zero_grad()
            torch.nn.functional.mse_loss(self.net(x), y).backward()
            self.clip()
            self.opt.step()
            self.ema.update(self.net)
            self.net.enqueue(keys)

Trainer({}).fit()
"""
MODEL = """
import copy
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)
        self.register_buffer("queue", torch.randn(8, 64))

    @torch.no_grad()
    def enqueue(self, keys):
        self.queue[:, : len(keys)] = keys.T

    def forward(self, x):
        return self.layer(x) @ self.queue.clone().detach()[:1]

def init_weights(model):
    for m in model.modules():
        if isinstance(m, nn.Linear):
            nn.init.kaiming_normal_(m.weight)

class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = copy.deepcopy(model)

    @torch.no_grad()
    def update(self, model):
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s.mul_(self.decay).add_(p, alpha=1.0 - self.decay)
"""


@pytest.mark.parametrize(
    ("symptom", "line"),
    [
        ("script-clipping-unread", "            self.clip()\n"),
        ("script-start-uncalled", "        init_weights(self.net)\n"),
        ("script-warmup-unread", "            self.warmup_lr(step)\n"),
        ("script-average-astray", "            self.ema.update(self.net)\n"),
        ("script-memory-uncalled", "            self.net.enqueue(keys)\n"),
    ],
)
def test_left_out(symptom: str, line: str) -> None:
    text = TRAIN.replace("from model", "from part0")
    assert state(symptom, MODEL, text) != P
    assert state(symptom, MODEL, text.replace(line, "")) == P


def test_what_says_nothing() -> None:
    left = TRAIN.replace("from model", "from part0").replace("            self.clip()\n", "")
    elsewhere = left.replace(
        "            self.opt.step()\n",
        "            torch.nn.utils.clip_grad_norm_(self.net.parameters(), 5)\n            self.opt.step()\n",
    )
    assert state("script-clipping-unread", MODEL, elsewhere) == U
    # a tool of a module that nobody imports by its name
    alone = TRAIN.replace("from model import Net, EMA, init_weights", "from part0 import Net, EMA")
    alone = alone.replace("        init_weights(self.net)\n", "")
    assert state("script-start-uncalled", MODEL, alone) == U
    # a hook of a library's class
    hook = left.replace("class Trainer:", "class Trainer(lib.Loop):")
    assert state("script-clipping-unread", MODEL, hook) == U
