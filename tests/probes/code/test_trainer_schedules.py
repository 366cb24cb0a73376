# ruff: noqa: E501
"""Schedules that Lightning or the Hugging Face Trainer moves: present, absent, unknown."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

LIT = """
import math, torch, lightning as L
class Lit(L.LightningModule):
    def __init__(self, lr=1e-3, warmup=400):
        super().__init__()
        self.save_hyperparameters()
    def training_step(self, batch, i):
        return self.loss(batch)
    {HOOK}
    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=self.hparams.lr)
        total = self.trainer.estimated_stepping_batches
        warmup = {WARMUP}
        {SCHED}
        {RETURN}
L.Trainer(max_epochs=8).fit(Lit())
"""
COSINE = "sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=total)"
FACTOR = "sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1, (s + 1) / warmup) * {})"
STEPS = 'return {"optimizer": opt, "lr_scheduler": {"scheduler": sched, "interval": "step"}}'


def _lit(sched: str = COSINE, end: str = STEPS, hook: str = "pass", warmup: str = "10") -> str:
    text = LIT.replace("{SCHED}", sched).replace("{RETURN}", end).replace("{WARMUP}", warmup)
    return text.replace("{HOOK}", hook)


MANUAL = """
import torch, pytorch_lightning as pl
class Two(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
    def training_step(self, batch, i):
        a, b = self.optimizers()
        a.zero_grad(); b.zero_grad()
        self.manual_backward(self.loss(batch))
        a.step(); b.step()
        {STEP}
    def on_train_epoch_end(self):
        {EPOCH}
    def configure_optimizers(self):
        a = torch.optim.Adam(self.one.parameters(), lr=1e-3)
        b = torch.optim.Adam(self.two.parameters(), lr=1e-3)
        sa = torch.optim.lr_scheduler.CosineAnnealingLR(a, T_max=self.trainer.max_epochs)
        sb = torch.optim.lr_scheduler.CosineAnnealingLR(b, T_max=self.trainer.max_epochs)
        return [a, b], [sa, sb]
pl.Trainer(max_epochs=8).fit(Two())
"""
EACH = "for s in self.lr_schedulers(): s.step()"


def _manual(step: str = "pass", epoch: str = "pass") -> str:
    return MANUAL.replace("{STEP}", step).replace("{EPOCH}", epoch)


HF = """
import math, torch
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments, TrainerCallback, get_linear_schedule_with_warmup
model = AutoModelForCausalLM.from_pretrained("gpt2")
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
updates = {UPDATES}
scheduler = get_linear_schedule_with_warmup(optimizer, {WARMUP}, updates)
args = TrainingArguments("out", num_train_epochs=3, per_device_train_batch_size=8, gradient_accumulation_steps=4)
trainer = Trainer(model=model, args=args, train_dataset=rows, optimizers=(optimizer, {GIVEN}))
trainer.train()
"""
RIGHT = "math.ceil(len(rows) / (8 * 4)) * 3"


def _hf(updates: str = RIGHT, warmup: str = "updates // 10", given: str = "scheduler") -> str:
    return HF.replace("{UPDATES}", updates).replace("{WARMUP}", warmup).replace("{GIVEN}", given)


UNITS = [
    (A, _lit()),
    (P, _lit(end="return [opt], [sched]")),
    (P, _lit(end='return {"optimizer": opt, "lr_scheduler": sched, "interval": "step"}')),
    (
        A,
        _lit(
            end='return {"optimizer": opt, "lr_scheduler": dict(scheduler=sched, interval="step", frequency=1)}'
        ),
    ),
    (P, _lit(end=STEPS.replace('"step"', '"step", "frequency": 3'))),
    (P, _lit(hook="def on_train_batch_end(self, *a): self.lr_schedulers().step()")),
    (P, _lit(sched="sched = torch.optim.lr_scheduler.StepLR(opt, step_size=5, gamma=0.5)")),
    (P, _lit(sched="sched = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.95)")),
    (U, _lit(sched="sched = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.9999)")),
    (U, _lit(sched="sched = torch.optim.lr_scheduler.StepLR(opt, 5, 0.5)", end="return [opt], [sched]")),
    (
        P,
        _lit(
            sched="sched = torch.optim.lr_scheduler.LinearLR(opt, 0.1, total_iters=20)",
            end="return [opt], [sched]",
        ),
    ),
    (
        U,
        _lit(
            sched="sched = torch.optim.lr_scheduler.LinearLR(opt, 0.1, total_iters=3)",
            end="return [opt], [sched]",
        ),
    ),
    (
        P,
        _lit(
            sched="sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / 300))",
            end="return [opt], [sched]",
        ),
    ),
    (A, _lit(sched=FACTOR.replace("{}", "0.5"))),
    (P, _lit(sched=FACTOR.replace("{}", "self.hparams.lr"))),
    (P, _lit(sched=FACTOR.replace("{}", "0.5"), warmup="self.hparams.warmup * total // 20")),
    (A, _lit(sched=FACTOR.replace("{}", "0.5"), warmup="int(0.1 * total)")),
    (A, _manual(epoch=EACH)),
    (P, _manual(step=EACH)),
    (A, _manual(step="if self.trainer.is_last_batch: [s.step() for s in self.lr_schedulers()]", epoch=EACH)),
    (A, _hf()),
    (A, _hf(given="scheduler", updates="steps_per_epoch * 3")),
    (P, _hf(updates="len(rows) * 3")),
    (P, _hf(updates="math.ceil(len(rows) / 8) * 3")),
    (P, _hf(updates="len(rows) // (8 * 4)")),
    (P, _hf(updates="len(valid_rows) // 32 * 3")),
    (P, _hf(warmup="updates")),
    (P, _hf(warmup="int(2 * updates)")),
    (P, _hf(warmup="2 * math.ceil(len(rows) / 32) * 3")),
    (U, "print('hello')"),
]


@pytest.mark.parametrize(("wanted", "text"), UNITS)
def test_unit_and_length(wanted: str, text: str) -> None:
    assert state("script-schedule-unit", text) == wanted


IDLE = [
    (A, _lit()),
    (P, _lit(end="return opt")),
    (P, _lit(end='return {"optimizer": opt, "scheduler": sched}')),
    (A, _manual(epoch=EACH)),
    (P, _manual()),
    (P, _manual(epoch="_, s = self.lr_schedulers(); s.step()")),
    (A, _hf()),
    (P, _hf(given="None")),
]


@pytest.mark.parametrize(("wanted", "text"), IDLE)
def test_schedules_that_nobody_moves(wanted: str, text: str) -> None:
    assert state("script-scheduler-never-stepped", text) == wanted
