# ruff: noqa: E501
"""Accumulation whose condition is written in one of many ways; schedules in the unit of their steps."""

from __future__ import annotations

import pytest

from .._scripts import state
from ._several import ACCELERATE, says

Pairs = list[tuple[str, str]]
QUIET = "                    loss = loss_of(model(x), y)\n                    accelerator.backward(loss / every)\n"
LOUD = "                loss = loss_of(model(x), y)\n                accelerator.backward(loss / every)\n"
CLEAR = "                optimizer.zero_grad()\n"
COUNT = ("def main(epochs, every):", "def main(epochs, accumulate):\n    every = accumulate")
DIVIDED: list[tuple[str, Pairs]] = [
    ("not", [COUNT]),
    ("present", [COUNT, (QUIET, QUIET.replace(" / every", "")), ("            else:\n" + LOUD, "            else:\n" + LOUD.replace(" / every", ""))]),
    ("present", [COUNT, (QUIET, QUIET.replace(" / every", ""))]),
    ("present", [COUNT, ("            else:\n" + LOUD, "            else:\n" + LOUD.replace(" / every", ""))]),
    ("not", [COUNT, (QUIET, QUIET.replace("loss = loss_of(model(x), y)", "loss = loss_of(model(x), y) / every").replace("(loss / every)", "(loss)"))]),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "pairs"), DIVIDED)
def test_the_loss_of_either_way_is_divided(wanted: str, pairs: Pairs) -> None:
    assert (says("script-accumulation-not-divided", ACCELERATE, *pairs) == "present") is (wanted == "present")


CLEARED: list[tuple[str, Pairs]] = [
    ("not", [COUNT]),
    ("present", [COUNT, (CLEAR, ""), ("            if (i + 1) % every:\n", "            optimizer.zero_grad()\n            if (i + 1) % every:\n")]),
    ("present", [COUNT, (CLEAR, ""), (QUIET, "                    optimizer.zero_grad()\n" + QUIET)]),
    ("not", [("def main(epochs, every):", "def main(epochs, every=1):"), (CLEAR, ""), ("            if (i + 1) % every:\n", "            optimizer.zero_grad()\n            if (i + 1) % every:\n")]),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "pairs"), CLEARED)
def test_gradients_are_kept_until_the_update(wanted: str, pairs: Pairs) -> None:
    found = says("script-cleared-between-micro-batches", ACCELERATE, *pairs)
    assert (found == "present") is (wanted == "present")


GATED = """
import torch
def main(net, loader, accum, epochs):
    opt = torch.optim.AdamW(net.parameters())
    total = {TOTAL}
    sched = {MADE}
    for epoch in range(epochs):
        for i, (x, y) in enumerate(loader):
            last = (i + 1) % accum == 0 or i + 1 == len(loader)
            loss = torch.nn.functional.cross_entropy(net(x), y) / accum
            loss.backward()
            {MICRO}
            if last:
                {BEFORE}
                opt.step()
                opt.zero_grad()
                {UPDATE}
"""
COSINE = "torch.optim.lr_scheduler.CosineAnnealingLR(opt, total)"
WARM = "get_cosine_schedule_with_warmup(opt, {}, total)"
BY_HAND = "torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1, s / total))"
SCHEDULES = [
    (False, "epochs * len(loader) // accum", COSINE, "pass", "pass", "sched.step()"),
    (True, "epochs * len(loader) // accum", COSINE, "sched.step()", "pass", "pass"),
    (True, "epochs * len(loader)", COSINE, "pass", "pass", "sched.step()"),
    (True, "epochs * len(loader) // accum", COSINE, "pass", "sched.step()", "pass"),
    (True, "40", WARM.format("60"), "pass", "pass", "sched.step()"),
    (True, "epochs * len(loader) // accum", WARM.format("2 * total"), "pass", "pass", "sched.step()"),
    (False, "epochs * len(loader) // accum", WARM.format("0.1 * total"), "pass", "pass", "sched.step()"),
    (False, "epochs * len(loader) // accum", WARM.format("500"), "pass", "pass", "sched.step()"),
    (False, "epochs * len(loader) // accum", WARM.format("3 * len(loader)"), "pass", "pass", "sched.step()"),
    (False, "epochs * len(loader) // accum", BY_HAND, "pass", "pass", "sched.step()"),
]


@pytest.mark.parametrize(("wrong", "total", "made", "micro", "before", "update"), SCHEDULES)
def test_schedules_move_in_their_own_unit(
    wrong: bool, total: str, made: str, micro: str, before: str, update: str
) -> None:
    text = GATED.replace("{TOTAL}", total).replace("{MADE}", made).replace("{MICRO}", micro)
    text = text.replace("{BEFORE}", before).replace("{UPDATE}", update)
    assert (state("script-schedule-wrong", text) == "present") is wrong


OWN = """
import math
import torch
EPOCHS, WARM = {EPOCHS}, {WARM}
def factor(step, warmup, total):
    if step < warmup:
        return step / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))
def main(net, loader):
    opt = torch.optim.AdamW(net.parameters())
    sched = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda s: factor(s, WARM * len(loader), EPOCHS * len(loader)))
    for epoch in range(EPOCHS):
        for x, y in loader:
            opt.zero_grad(); net(x).sum().backward(); opt.step(); sched.step()
"""


@pytest.mark.parametrize(("epochs", "warm", "wrong"), [(30, 40, True), (30, 3, False), (30, 30, True)])
def test_a_warm_up_ends_before_its_schedule(epochs: int, warm: int, wrong: bool) -> None:
    """One that takes the whole run leaves nothing of the fall behind it."""
    text = OWN.replace("{EPOCHS}", str(epochs)).replace("{WARM}", str(warm))
    assert (state("script-schedule-wrong", text) == "present") is wrong


REGISTERED = """
import torch
from accelerate import Accelerator
def main(net, loader, epochs, resume):
    accelerator = Accelerator()
    optimizer = torch.optim.AdamW(net.parameters())
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 30)
    {PREPARE}
    if resume:
        accelerator.load_state("last")
    for epoch in range(epochs):
        for x, y in loader:
            accelerator.backward(net(x, y))
            optimizer.step()
            optimizer.zero_grad()
        scheduler.step()
        accelerator.save_state("last")
"""
PREPARES = [
    ("present", "net, optimizer, loader = accelerator.prepare(net, optimizer, loader)"),
    ("not", "net, optimizer, loader, scheduler = accelerator.prepare(net, optimizer, loader, scheduler)"),
    ("not", "net, optimizer = accelerator.prepare(net, optimizer)\n    accelerator.register_for_checkpointing(scheduler)"),
    ("not", "net, optimizer = accelerator.prepare(*[net, optimizer, scheduler])"),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "prepare"), PREPARES)
def test_accelerate_saves_what_it_knows_of(wanted: str, prepare: str) -> None:
    found = state("script-resume-incomplete", REGISTERED.replace("{PREPARE}", prepare))
    assert (found == "present") is (wanted == "present")
