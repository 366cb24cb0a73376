"""DeepSpeed's engine: its steps, the unit of its schedule, its loss scale; apex past its scaled loss."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from traindoctor.probes.readings import all_probes
from traindoctor.probes.registry import View, read

from .._build import run
from .._scripts import SYMPTOMS, state

ENGINE = """
import argparse
import deepspeed, torch
from net import Net, rows, loss_of
def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--accumulate", type=int, default={COUNT})
    return parser.parse_args()
def settings(args, updates):
    return {
        "gradient_accumulation_steps": args.accumulate,
        "fp16": {"enabled": True, "loss_scale": {SCALE}},
        "scheduler": {"type": "WarmupDecayLR", "params": {"total_num_steps": {TOTAL}}},
    }
def main():
    args = arguments()
    loader = rows()
    updates = {UPDATES}
    engine, _, _, _ = deepspeed.initialize(model=Net(), config=settings(args, updates))
    for epoch in range(args.epochs):
        for x, y in loader:
            loss = loss_of(engine(x), y)
            engine.backward(loss)
            boundary = engine.is_gradient_accumulation_boundary()
            {STEP}
        {AFTER}
main()
"""
RIGHT = {
    "COUNT": "2",
    "SCALE": "0",
    "TOTAL": "updates",
    "UPDATES": "args.epochs * len(loader) // args.accumulate",
    "STEP": "engine.step()",
    "AFTER": "pass",
}


def engine(symptom: str, **changed: str) -> str:
    text = ENGINE
    for name, piece in {**RIGHT, **changed}.items():
        text = text.replace("{" + name + "}", piece)
    return state(symptom, text)


@pytest.mark.parametrize(
    "symptom",
    [
        *("script-step-missing", "script-step-once-per-epoch", "script-accumulation-without-effect"),
        *("script-schedule-wrong", "script-half-without-scaler"),
    ],
)
def test_a_right_engine_is_left_alone(symptom: str) -> None:
    assert engine(symptom) != "present"


@pytest.mark.parametrize(
    ("symptom", "changed"),
    [
        ("script-step-missing", {"STEP": "pass"}),
        ("script-step-once-per-epoch", {"STEP": "pass", "AFTER": "engine.step()"}),
        ("script-accumulation-without-effect", {"STEP": "if boundary: engine.step()"}),
        (
            "script-accumulation-without-effect",
            {"STEP": "if not boundary: continue\n            engine.step()"},
        ),
        ("script-schedule-wrong", {"STEP": "engine.step()\n            engine.lr_scheduler.step()"}),
        ("script-schedule-wrong", {"TOTAL": "args.epochs"}),
        ("script-schedule-wrong", {"UPDATES": "args.epochs * len(loader)"}),
        ("script-half-without-scaler", {"SCALE": "1"}),
        ("script-half-without-scaler", {"SCALE": "1.0"}),
    ],
)
def test_slips_with_an_engine(symptom: str, changed: dict[str, str]) -> None:
    assert engine(symptom, **changed) == "present"


@pytest.mark.parametrize(
    ("symptom", "changed"),
    [
        ("script-step-missing", {"STEP": "update(engine)"}),
        ("script-accumulation-without-effect", {"COUNT": "1", "STEP": "if boundary: engine.step()"}),
        (
            "script-accumulation-without-effect",
            {"STEP": "engine.step()\n            if boundary: print(loss)"},
        ),
        ("script-schedule-wrong", {"COUNT": "1", "UPDATES": "args.epochs * len(loader)"}),
        ("script-schedule-wrong", {"STEP": "engine.step()\n            other.lr_scheduler.step()"}),
        ("script-half-without-scaler", {"SCALE": "128"}),
    ],
)
def test_right_ways_with_an_engine(symptom: str, changed: dict[str, str]) -> None:
    assert engine(symptom, **changed) != "present"


def _read(symptom: str, text: str, **told: Any) -> str:
    view = View(run(scripts={"train.py": textwrap.dedent(text)}, settings=told))
    return read(view, SYMPTOMS[symptom], all_probes()).state.value


HALVED = """
import deepspeed
from torch import nn
class Net(nn.Module):
    def forward(self, x):
        return x
net = Net(){HALF}
engine, _, _, _ = deepspeed.initialize(model=net, config="ds.json")
for x, y in loader:
    engine.backward(loss_of(engine(x), y))
    engine.step()
"""


@pytest.mark.parametrize(
    ("wanted", "half", "told"),
    [
        (True, ".half()", {"fp16.enabled": False}),
        (True, ".half().cuda()", {"fp16.enabled": False}),
        (False, ".half()", {"fp16.enabled": True}),
        (False, ".half()", {}),
        (False, "", {"fp16.enabled": False}),
        (True, "", {"fp16.enabled": True, "fp16.loss_scale": 1}),
        (False, "", {"fp16.enabled": True, "fp16.loss_scale": 0}),
        (False, "", {"fp16.enabled": False, "fp16.loss_scale": 1}),
    ],
)
def test_half_precision_of_an_engine(wanted: bool, half: str, told: dict[str, Any]) -> None:
    assert (
        _read("script-half-without-scaler", HALVED.replace("{HALF}", half), **told) == "present"
    ) is wanted


APEX = """
import argparse, torch
from apex import amp
from net import Net, loader, loss_of
parser = argparse.ArgumentParser()
parser.add_argument("--opt-level", default="{LEVEL}")
args = parser.parse_args()
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net, optimizer = amp.initialize(net, optimizer, opt_level=args.opt_level)
for x, y in loader:
    loss = loss_of(net(x), y)
    optimizer.zero_grad()
    {BACK}
    optimizer.step()
"""
SCALED = "with amp.scale_loss(loss, optimizer) as scaled: {}.backward()"


@pytest.mark.parametrize(
    ("wanted", "level", "back"),
    [
        (True, "O2", "loss.backward()"),
        (True, "O2", SCALED.format("loss")),
        (False, "O2", SCALED.format("scaled")),
        (False, "O0", "loss.backward()"),
    ],
)
def test_apex_takes_gradients_of_its_scaled_loss(wanted: bool, level: str, back: str) -> None:
    text = APEX.replace("{LEVEL}", level).replace("{BACK}", back)
    assert (state("script-half-without-scaler", text) == "present") is wanted


SHARDED = """
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, MixedPrecision
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
from torch.amp import GradScaler
policy = MixedPrecision(param_dtype=torch.{FORMAT})
model = FSDP(net, mixed_precision=policy)
scaler = {SCALER}()
for x, y in loader:
    scaler.scale(criterion(model(x), y)).backward()
    scaler.step(optimizer)
    scaler.update()
"""


@pytest.mark.parametrize(
    ("wanted", "form", "scaler"),
    [
        (True, "float16", "GradScaler"),
        (False, "float16", "ShardedGradScaler"),
        (False, "bfloat16", "GradScaler"),
    ],
)
def test_shards_need_a_scaler_that_asks_all_processes(wanted: bool, form: str, scaler: str) -> None:
    text = SHARDED.replace("{FORMAT}", form).replace("{SCALER}", scaler)
    assert (state("script-scaler-not-updated", text) == "present") is wanted
