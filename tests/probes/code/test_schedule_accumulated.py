"""Schedules of accumulated gradients, of helper functions, and MindSpore's lists of rates."""

from __future__ import annotations

import pytest

from .._scripts import state

WRONG = "script-schedule-wrong"
LOOP = """
import torch
from torch import nn
def main(net, loader, accum, epochs):
    opt = torch.optim.AdamW(net.parameters())
    steps = {STEPS}
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, steps)
    for epoch in range(epochs):
        for i, (x, y) in enumerate(loader):
            loss = nn.functional.cross_entropy(net(x), y) / accum
            loss.backward()
            {MICRO}
            if (i + 1) % accum == 0:
                opt.step()
                opt.zero_grad()
                {UPDATE}
"""


@pytest.mark.parametrize(
    ("steps", "micro", "update", "found"),
    [
        ("epochs * len(loader) // accum", "pass", "sched.step()", False),
        ("epochs * (len(loader) // accum)", "sched.step()", "pass", True),
        ("epochs * len(loader)", "sched.step()", "pass", False),
        ("epochs * len(loader)", "pass", "sched.step()", True),
        ("epochs * updates", "pass", "sched.step()", False),
    ],
)
def test_updates_and_micro_batches(steps: str, micro: str, update: str, found: bool) -> None:
    code = LOOP.replace("{STEPS}", steps).replace("{MICRO}", micro).replace("{UPDATE}", update)
    assert (state(WRONG, code) == "present") is found


HELPER = """
import torch, math
def factor(step, warmup, total):
    return min(step / warmup, 0.5 * (1 + math.cos(math.pi * step / total)))
def main(net, loader, epochs):
    opt = torch.optim.AdamW(net.parameters())
    total = {TOTAL}
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: factor(s, 100, total))
    for epoch in range(epochs):
        for x, y in loader:
            opt.zero_grad(); net(x).sum().backward(); opt.step()
            {STEP}
        {EPOCH}
"""


@pytest.mark.parametrize(
    ("total", "step", "epoch", "found"),
    [
        ("epochs * len(loader)", "sched.step()", "pass", False),
        ("epochs * len(loader)", "pass", "sched.step()", True),
        ("epochs", "sched.step()", "pass", True),
        ("epochs", "pass", "sched.step()", False),
    ],
)
def test_the_function_that_a_lambda_asks(total: str, step: str, epoch: str, found: bool) -> None:
    code = HELPER.replace("{TOTAL}", total).replace("{STEP}", step).replace("{EPOCH}", epoch)
    assert (state(WRONG, code) == "present") is found


@pytest.mark.parametrize(
    ("rates", "found"),
    [
        ("nn.cosine_decay_lr(0.0, 0.1, epochs * steps, steps, epochs)", False),
        ("nn.cosine_decay_lr(0.0, 0.1, epochs, 1, epochs)", True),
        ("nn.warmup_lr(0.1, total_step=epochs, step_per_epoch=1, warmup_epoch=3)", True),
    ],
)
def test_lists_of_mindspore(rates: str, found: bool) -> None:
    code = f"""
import mindspore as ms
from mindspore import nn
def main(net, data, epochs):
    steps = data.get_dataset_size()
    rates = {rates}
    opt = nn.Momentum(net.trainable_params(), rates, 0.9)
    grad_fn = ms.value_and_grad(net, None, opt.parameters)
    for epoch in range(epochs):
        for x, y in data.create_tuple_iterator():
            loss, grads = grad_fn(x, y)
            opt(grads)
"""
    assert (state(WRONG, code) == "present") is found
