"""Schedules that are moved before the update, and engines that step now and then, as JSON tells."""

from __future__ import annotations

import ast
import textwrap

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.schedule.order import moved_before_update
from traindoctor.probes.code.step import accumulated as code_accumulation
from traindoctor.probes.code.trainers import deepspeed as code_deepspeed
from traindoctor.probes.registry import View
from traindoctor.probes.scripts.syntax import Script

from .._build import run

LOOP = """
for epoch in range(epochs):
    {top}
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        {backward}
        {first}
        {second}
"""


def source(text: str) -> Script:
    text = textwrap.dedent(text)
    return Script("train.py", text, ast.parse(text))


@pytest.mark.parametrize(
    ("backward", "first", "second", "said"),
    [
        ("loss.backward()", "scheduler.step()", "optimizer.step()", True),
        ("accelerator.backward(loss)", "lr_scheduler.step()", "optimizer.step()", True),
        ("scaler.scale(loss).backward()", "sched.step()", "scaler.step(optimizer)", True),
        ("loss.backward()", "optimizer.step()", "scheduler.step()", False),
        ("scaler.scale(loss).backward()", "scaler.step(optimizer)", "scheduler.step()", False),
        ("loss.backward()", "scheduler.step_update(i)", "optimizer.step()", False),
        ("loss.backward()", "env.step()", "optimizer.step()", False),
    ],
)
def test_the_schedule_moves_after_the_update(backward: str, first: str, second: str, said: bool) -> None:
    text = LOOP.format(top="pass", backward=backward, first=first, second=second)
    found = moved_before_update(source(text))
    assert (found is not None and found.state is State.PRESENT) is said


def test_a_schedule_at_the_top_of_an_epoch_is_left_aside() -> None:
    text = LOOP.format(
        top="scheduler.step()", backward="loss.backward()", first="optimizer.step()", second=""
    )
    assert moved_before_update(source(text)) is None


ENGINE = """
import deepspeed
import torch.distributed as dist
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

def loaders(rows):
    sampler = DistributedSampler(rows)
    return DataLoader(rows, batch_size=4, {given}), sampler

print(dist.get_rank())
loader, sampler = loaders(read())
engine, _, _, _ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config="ds.json")
for i, (x, y) in enumerate(loader):
    engine.backward(loss_of(engine(x), y))
    {step}
"""


@pytest.mark.parametrize(
    ("step", "steps", "state"),
    [
        ("if (i + 1) % 2 == 0: engine.step()", 2, State.PRESENT),
        ("if (i + 1) % 2 == 0: engine.step()", 1, State.UNKNOWN),
        ("engine.step()", 2, State.UNKNOWN),
    ],
)
def test_the_configuration_counts_micro_batches(step: str, steps: int, state: State) -> None:
    text = ENGINE.format(given="sampler=sampler", step=step)
    view = View(run(scripts={"train.py": text}, settings={"gradient_accumulation_steps": steps}))
    assert code_accumulation.accumulation_without_effect(view).state is state


@pytest.mark.parametrize(("given", "said"), [("shuffle=True", True), ("sampler=sampler", False)])
def test_a_loader_out_of_a_function(given: str, said: bool) -> None:
    found = code_deepspeed.every_rank_reads_all(source(ENGINE.format(given=given, step="engine.step()")))
    assert (found is not None) is said
