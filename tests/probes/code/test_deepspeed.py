"""DeepSpeed's schedule in micro-batches, which the configuration beside the script tells: three states."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.code.precision import half as code_precision
from traindoctor.probes.code.schedule import lengths as code_schedule
from traindoctor.probes.code.trainers import deepspeed as code_deepspeed
from traindoctor.probes.registry import View
from traindoctor.probes.scripts.project import programs

from .._build import run

PROGRAM = """
    import json, deepspeed, torch
    from torch.utils.data import DataLoader
    cfg = json.load(open("ds.json"))
    loader = DataLoader(texts, 8, sampler=sampler)
    cfg["scheduler"]["params"]["total_num_steps"] = {length}
    engine, _, _, _ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config=cfg)
    for epoch in range(epochs):
        for x, y in loader:
            loss = loss_of(engine(x), y)
            engine.backward(loss)
            {clip}
            engine.step()
"""


def _view(length: str = "10", clip: str = "pass", **settings: Any) -> View:
    text = textwrap.dedent(PROGRAM).format(length=length, clip=clip)
    return View(run(scripts={"train.py": text}, settings=settings))


@pytest.mark.parametrize(
    ("length", "steps", "state"),
    [
        ("epochs * len(loader)", 4, State.PRESENT),
        ("len(loader) * epochs", 16, State.PRESENT),
        ("epochs * len(loader)", 1, State.UNKNOWN),
        ("epochs * len(loader) // cfg['gradient_accumulation_steps']", 4, State.UNKNOWN),
    ],
)
def test_length_in_micro_batches(length: str, steps: int, state: State) -> None:
    found = code_schedule.unit_wrong(_view(length, gradient_accumulation_steps=steps))
    assert found.state is state


@pytest.mark.parametrize(
    ("warm", "total", "state"),
    [(900, 300, State.PRESENT), (30, 300, State.UNKNOWN), ("auto", 300, State.UNKNOWN)],
)
def test_a_warm_up_of_the_configuration_that_is_longer_than_its_schedule(
    warm: object, total: int, state: State
) -> None:
    told = {"scheduler.params.warmup_num_steps": warm, "scheduler.params.total_num_steps": total}
    found = code_schedule.unit_wrong(_view("cfg['steps']", **told))
    assert found.state is state


@pytest.mark.parametrize(
    ("clip", "state"),
    [
        ("torch.nn.utils.clip_grad_norm_(engine.parameters(), 1.0)", State.PRESENT),
        ("pass", State.UNKNOWN),
    ],
)
def test_a_clip_of_ones_own_meets_scaled_gradients(clip: str, state: State) -> None:
    found = code_precision.clip_before_unscale(_view(clip=clip, **{"fp16.enabled": True}))
    assert found.state is state


MOVED = """
import deepspeed, torch
def train(net, loader, opt, use_ds):
    sched = make_schedule(opt)
    engine, opt, _, sched = deepspeed.initialize(model=net, optimizer=opt, lr_scheduler=sched, config=cfg)
    for x, y in loader:
        loss = loss_of(engine(x), y)
{steps}
"""
BESIDE = "        engine.backward(loss)\n        engine.step()\n        sched.step()"
APART = """        if use_ds:
            engine.backward(loss)
            engine.step()
        else:
            loss.backward()
            opt.step()
            sched.step()"""


@pytest.mark.parametrize(("steps", "seen"), [(BESIDE, True), (APART, False)])
def test_a_schedule_that_the_engine_moves(steps: str, seen: bool) -> None:
    """Moved beside the engine's own step it moves twice; in the branch without an engine it does not."""
    (source,) = programs({"train.py": MOVED.format(steps=steps)})
    found = code_deepspeed.schedule_moved_again(source)

    assert (found is not None and found.state is State.PRESENT) is seen
