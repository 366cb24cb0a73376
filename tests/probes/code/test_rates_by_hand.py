"""Rates that a training loop works out by hand: present or not."""

from __future__ import annotations

import pytest

from .._scripts import state

LOOP = """
import math
import torch
from torch.optim.lr_scheduler import StepLR
from rows import loader
base, EPOCHS = 0.1, 60
net = torch.nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=base)
total, done = EPOCHS * len(loader), 0
def rate_at(epoch):
    return base * 0.97 ** epoch
for ep in range(EPOCHS):
    {RATE}
    for x, y in loader:
        {EACH}
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
        done += 1
    print(ep, {SHOWN})
"""
SET = "for g in opt.param_groups:\n            g['lr'] = {}"
STAIRS = "lr = base\n    if ep >= 40:\n        lr = base * 0.1\n    if ep >= 50:\n        lr = base * 0.01"


def program(rate: str = "pass", each: str = "pass", shown: str = "0") -> str:
    return LOOP.replace("{RATE}", rate).replace("{EACH}", each).replace("{SHOWN}", shown)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (program(STAIRS, SET.format("lr"), "lr"), False),
        (program(STAIRS.replace("50", "20"), SET.format("lr"), "lr"), True),
        (program(STAIRS.replace(">=", "<"), SET.format("lr"), "lr"), True),
        (program(STAIRS, "pass", "lr"), True),
        (program("lr = rate_at(ep)", "pass", "lr"), True),
        (program("lr = rate_at(ep)", SET.format("lr"), "lr"), False),
        (program("lr = opt.param_groups[0]['lr']", "pass", "lr"), False),
        (program("lr = base * 0.5", "pass", "lr"), False),
        (program("pass", SET.format("g['lr'] * (1 - done / total) ** 0.9")), True),
        (program("pass", SET.format("base * (1 - done / total) ** 0.9")), False),
        (program("pass", SET.format("g['lr'] * (1 - 1e-4)")), False),
        (program("pass", "for g in opt.param_groups:\n            g['lr'] *= 1 - done / total"), True),
    ],
)
def test_in_the_loop(text: str, wanted: bool) -> None:
    assert (state("script-rate-not-applied", text) == "present") == wanted


STAGES = """
import torch
from torch.optim.lr_scheduler import StepLR
from rows import loaders
def train(net, opt, scheduler, epochs):
    for epoch in range(epochs):
        for phase in ["train", "val"]:
            for x, y in loaders[phase]:
                opt.zero_grad()
                with torch.set_grad_enabled(phase == "train"):
                    loss = torch.nn.functional.mse_loss(net(x), y)
                    if phase == "train":
                        loss.backward()
                        opt.step()
            {MOVE}
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Linear(8, 1))
head = torch.optim.SGD(net[1].parameters(), lr=0.01)
train(net, head, StepLR(head, 4), 8)
every = torch.optim.SGD(net.parameters(), lr=0.01)
train(net, every, StepLR({WHOSE}, 4), 8)
"""


@pytest.mark.parametrize(
    ("move", "whose", "wanted"),
    [
        ("if phase == 'train':\n                scheduler.step()", "every", False),
        ("if phase == 'train':\n                scheduler.step()", "head", True),
        ("scheduler.step()", "every", True),
    ],
)
def test_in_stages(move: str, whose: str, wanted: bool) -> None:
    text = STAGES.replace("{MOVE}", move).replace("{WHOSE}", whose)
    assert (state("script-rate-not-applied", text) == "present") == wanted


SHARDS = """
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from rows import data
rank, world = dist.get_rank(), dist.get_world_size()
sampler = DistributedSampler(data, {GIVEN})
loader = DataLoader(data, 32, sampler=sampler)
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(4):
    sampler.set_epoch(epoch)
    for x, y in loader:
        opt.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
"""


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("world, rank", False),
        ("rank, world", True),
        ("num_replicas=rank, rank=world", True),
        ("num_replicas=dist.get_world_size(), rank=dist.get_rank()", False),
        ("num_replicas=dist.get_rank(), rank=dist.get_world_size()", True),
    ],
)
def test_parts_and_rank(given: str, wanted: bool) -> None:
    assert (state("script-same-shard", SHARDS.replace("{GIVEN}", given)) == "present") == wanted


HANDED = """
import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, StepLR
from rows import loader
def fit(net, opt, plan, epochs):
    for epoch in range(epochs):
        for x, y in loader:
            opt.zero_grad()
            torch.nn.functional.mse_loss(net(x), y).backward()
            opt.step()
            {INNER}
        {OUTER}
net = torch.nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
{CALL}
"""


@pytest.mark.parametrize(
    ("inner", "outer", "call", "wanted"),
    [
        ("pass", "plan.step()", "fit(net, opt, StepLR(opt, 8), 20)", False),
        ("plan.step()", "pass", "fit(net, opt, StepLR(opt, 1), 20)", True),
        ("pass", "plan.step()", "fit(net, opt, StepLR(opt, 1, 0.1), epochs=20)", True),
        ("pass", "plan.step()", "s = StepLR(opt, 1)\nfit(net, opt, s, 20)", True),
        ("pass", "plan.step()", "s = StepLR(opt, 200)\nfit(net, opt, plan=s, epochs=20)", True),
        ("pass", "plan.step()", "fit(net, opt, StepLR(opt, 1, 0.97), 20)", False),
        ("pass", "plan.step()", "fit(net, opt, CosineAnnealingLR(opt, 20 * len(loader)), 20)", True),
        ("plan.step()", "pass", "fit(net, opt, CosineAnnealingLR(opt, 20 * len(loader)), 20)", False),
    ],
)
def test_handed_to_a_function(inner: str, outer: str, call: str, wanted: bool) -> None:
    text = HANDED.replace("{INNER}", inner).replace("{OUTER}", outer).replace("{CALL}", call)
    assert (state("script-schedule-unit", text) == "present") == wanted


def test_a_length_is_followed_to_its_end() -> None:
    """A share of the updates, through two functions: the warm-up counts steps as the loader does."""
    head = (
        "def plan_of(opt, warmup, total):\n    def factor(step):\n        if step < warmup:\n"
        "            return (step + 1) / warmup\n"
        "        return 1 - (step - warmup) / max(1, total - warmup)\n"
        "    return torch.optim.lr_scheduler.LambdaLR(opt, factor)\n"
        "updates = len(loader) // accumulate * args.epochs\n"
        "s = plan_of(opt, int(args.warmup * updates), updates)\n"
    )
    text = HANDED.replace("{INNER}", "if done % accumulate == 0:\n                plan.step()")
    text = text.replace("{OUTER}", "pass").replace("{CALL}", head + "fit(net, opt, s, args.epochs)")
    assert state("script-schedule-unit", text) != "present"
