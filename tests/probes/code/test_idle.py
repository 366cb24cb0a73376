"""A schedule that nothing advances, under whatever names it goes by."""

import textwrap

import pytest

from traindoctor.engine.model import RunInfo, State
from traindoctor.probes.code.schedule.idle import schedule_idle
from traindoctor.probes.registry import View
from traindoctor.probes.run import Run

LOOP = """
import torch
from torch.optim.lr_scheduler import CosineAnnealingLR

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = CosineAnnealingLR(optimizer, T_max=30)
if resume:
    scheduler.load_state_dict(state["scheduler"])
for epoch in range(30):
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
    print(scheduler.get_last_lr())
    save({"epoch": epoch, "scheduler": scheduler.state_dict()})
"""
TRAINER = """
import torch
from transformers import get_linear_schedule_with_warmup


class Work:
    def make(self, args):
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr)
        if args.scheduler == "linear":
            schedule = get_linear_schedule_with_warmup(optimizer, 100, args.steps)
        else:
            raise ValueError("unknown: {}".format(args.scheduler))
        return optimizer, schedule

    def train(self, args):
        self.optimizer, scheduler = self.make(args)
        for epoch in range(args.epochs):
            for batch in self.loader:
                self.optimizer.zero_grad()
                self.model(batch).loss.backward()
                self.optimizer.step()
            self.save(epoch, scheduler)

    def save(self, epoch, scheduler=None):
        if scheduler is not None:
            torch.save(scheduler.state_dict(), "s.pt")
"""
HANDED = """
import torch

def fit(model, loader, optimizer, scheduler=None):
    for epoch in range(30):
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
        if scheduler is not None:
            pass
"""


def state(text: str) -> State:
    """What the probe says of one script."""
    script = textwrap.dedent(text)
    return schedule_idle(
        View(Run(RunInfo("run"), {}, (), {}, (), (), {}, scripts={"train.py": script}))
    ).state


@pytest.mark.parametrize("text", [LOOP, TRAINER, HANDED])
def test_what_only_asks_a_schedule_does_not_advance_it(text: str) -> None:
    """Saved, restored, printed, tested for None, handed to a function that saves it."""
    assert state(text) is State.PRESENT


@pytest.mark.parametrize(
    "text",
    [
        LOOP.replace("    print(scheduler", "    scheduler.step()\n    print(scheduler"),
        TRAINER.replace("            self.save(", "            scheduler.step()\n            self.save("),
        HANDED.replace("            pass", "            scheduler.step(epoch)"),
        TRAINER.replace('torch.save(scheduler.state_dict(), "s.pt")', "scheduler.step_update(epoch)"),
    ],
)
def test_a_schedule_that_is_advanced_somewhere(text: str) -> None:
    """In the loop, or in the function that it is handed to."""
    assert state(text) is State.ABSENT


@pytest.mark.parametrize(
    "text",
    [
        LOOP.replace("print(scheduler.get_last_lr())", "hooks.after_epoch(scheduler)"),
        LOOP.replace("print(scheduler.get_last_lr())", "parts = [model, scheduler]"),
        LOOP.replace("scheduler", "other").replace(
            "CosineAnnealingLR(optimizer, T_max=30)", "make(optimizer)"
        ),
        "import torch\nmodel = torch.nn.Linear(2, 2)\n",
    ],
)
def test_what_is_handed_to_unknown_code_cannot_be_told(text: str) -> None:
    """A hook, a list, a maker that is not known, no training."""
    assert state(text) is State.UNKNOWN
