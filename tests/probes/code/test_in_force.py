"""What stands in a branch that the benchmark's settings do not take is not left out by the run."""

from __future__ import annotations

import pytest

from traindoctor.engine.model import RunInfo
from traindoctor.probes.registry import View, read
from traindoctor.probes.run import Run, Setting

from .._scripts import PROBES, SYMPTOMS

PLAIN = """
import torch
from torch import nn
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for x, y in loader:
    opt.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    opt.step()
"""
CHOSEN = """
import json
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

cfg = json.load(open("config.json"))


def schedule_of(cfg, opt, steps):
    if cfg["schedule"] == "onecycle":
        return torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=cfg["lr"], total_steps=steps)
    return torch.optim.lr_scheduler.StepLR(opt, 30)


def main():
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg["lr"])
    scheduler = schedule_of(cfg, optimizer, 900)
    ema = None
    if cfg["ema"]:
        ema = AveragedModel(model)
    for epoch in range(cfg["epochs"]):
        for batch, target in make_loader():
            optimizer.zero_grad()
            out = model(batch)
            loss = nn.CrossEntropyLoss()(out, target)
            loss.backward()
            optimizer.step()
            scheduler.step()
            if ema is not None:
                ema.update_parameters(model)
        print(epoch, evaluate(ema or model))


main()
"""
BY_ARGUMENTS = CHOSEN.replace('cfg["ema"]', "args.ema_decay > 0").replace(
    'cfg["schedule"] == "onecycle"', 'args.schedule in ("onecycle", "triangle")'
)


def run_of(text: str, **settings: object) -> Run:
    """A run of this program with these values in its configuration."""
    raw = tuple(Setting(key, value, "config.json", 1) for key, value in settings.items())  # type: ignore[arg-type]
    return Run(RunInfo("run"), {}, (), {}, raw, (), {}, scripts={"train.py": text})


def state(symptom: str, mine: Run, theirs: Run) -> str:
    """What the symptom's probe says of a run beside a benchmark."""
    found = read(View(mine, theirs), SYMPTOMS[symptom], PROBES)
    assert "probe error" not in found.why, found.why
    return found.state.value


@pytest.mark.parametrize(
    ("symptom", "text", "on", "off"),
    [
        ("edit-average-left-out", CHOSEN, {"ema": True}, {"ema": False}),
        ("edit-average-left-out", BY_ARGUMENTS, {"ema_decay": 0.999}, {"ema_decay": 0.0}),
        ("edit-warmup", CHOSEN, {"schedule": "onecycle"}, {"schedule": "step"}),
        ("edit-warmup", BY_ARGUMENTS, {"schedule": "OneCycle"}, {"schedule": "step"}),
    ],
)
def test_what_is_left_out_was_in_force(
    symptom: str, text: str, on: dict[str, object], off: dict[str, object]
) -> None:
    """Switched on in the benchmark it is told; switched off, or by a setting that nobody knows, it is not."""
    assert state(symptom, run_of(PLAIN), run_of(text, **on)) == "present"
    assert state(symptom, run_of(PLAIN), run_of(text, **off)) != "present"
    assert state(symptom, run_of(PLAIN), run_of(text)) != "present"


def test_tests_that_ask_for_no_setting_leave_it_in_force() -> None:
    """The first process, the type of a layer, a count of steps."""
    for test in ("rank == 0", "epoch >= 0", "isinstance(model, nn.Module)", "not args_missing"):
        text = CHOSEN.replace('if cfg["ema"]:', f"if {test}:")
        assert state("edit-average-left-out", run_of(PLAIN), run_of(text)) == "present", test
