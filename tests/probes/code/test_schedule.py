# ruff: noqa: E501
"""Schedules in scripts, as different people write them: present, absent, unknown."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

LOOP = """
import math, torch
from torch.optim.lr_scheduler import LambdaLR, OneCycleLR, CosineAnnealingLR, PolynomialLR, ReduceLROnPlateau
from torch.utils.data import DataLoader
loader = DataLoader(data, batch_size=8, shuffle=True)
net = torch.nn.Linear(4, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
{BEFORE}
def train_epoch():
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        {RATE}
        optimizer.step()
        {STEP}
for epoch in range(args.epochs):
    {FIRST}
    train_epoch()
    val_loss, val_acc = evaluate(net)
    {EPOCH}
"""
LIGHTNING = """
import torch, lightning as L
class Lit(L.LightningModule):
    def training_step(self, batch, i):
        return self.loss(batch)
    def configure_optimizers(self):
        opt = torch.optim.AdamW(self.parameters(), lr=1e-3)
        sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max={LENGTH})
        return {RETURN}
L.Trainer(max_epochs=4).fit(Lit())
"""
KERAS = """
import keras
BATCHES = len(train_ds)
rate = keras.optimizers.schedules.CosineDecay(1e-3, decay_steps={LENGTH})
model.compile(keras.optimizers.Adam(rate), loss="mse")
model.fit(train_ds, epochs=EPOCHS)
"""


def _loop(**parts: str) -> str:
    text = LOOP
    for key, deep in (("BEFORE", 0), ("RATE", 8), ("STEP", 8), ("FIRST", 4), ("EPOCH", 4)):
        text = text.replace("{" + key + "}", parts.get(key, "pass").replace("; ", "\n" + " " * deep))
    return text


UNITS = [
    (P, {"BEFORE": "s = CosineAnnealingLR(optimizer, T_max=args.epochs)", "STEP": "s.step()"}),
    (A, {"BEFORE": "s = CosineAnnealingLR(optimizer, T_max=args.epochs)", "EPOCH": "s.step()"}),
    (P, {"BEFORE": "total = args.epochs * len(loader); s = PolynomialLR(optimizer, total)", "EPOCH": "s.step()"}),
    (A, {"BEFORE": "total = args.epochs * len(loader); s = PolynomialLR(optimizer, total)", "STEP": "s.step()"}),
    (P, {"BEFORE": "s = OneCycleLR(optimizer, 0.1, epochs=9, steps_per_epoch=len(loader))", "EPOCH": "s.step()"}),
    (P, {"BEFORE": "s = LambdaLR(optimizer, lambda i: 1 - i / args.epochs)", "STEP": "s.step()"}),
    (A, {"BEFORE": "n = len(loader) * args.epochs; s = LambdaLR(optimizer, lambda i: 1 - i / n)", "STEP": "s.step()"}),
    (P, {"BEFORE": "n = args.epochs; def lr_at(i): return 0.1 * (1 - i / n)", "RATE": "optimizer.param_groups[0]['lr'] = lr_at(it)"}),
    (A, {"BEFORE": "n = args.epochs; def lr_at(i): return 0.1 * (1 - i / n)", "FIRST": "optimizer.param_groups[0]['lr'] = lr_at(epoch)"}),
    (A, {"BEFORE": "sched = OneCycleLR(optimizer, max_lr=0.1, total_steps=args.epochs)", "EPOCH": "sched.step()"}),
    (P, {"BEFORE": "total_steps = args.epochs"}),
    (U, {"BEFORE": "s = CosineAnnealingLR(optimizer, T_max=args.horizon)", "STEP": "s.step()"}),
    (U, {}),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "parts"), UNITS)
def test_the_length_of_a_schedule_and_its_loop(wanted: str, parts: dict[str, str]) -> None:
    assert state("script-schedule-unit", _loop(**parts)) == wanted


@pytest.mark.parametrize(
    ("wanted", "length", "handed"),
    [
        (P, "self.trainer.estimated_stepping_batches", "[opt], [sched]"),
        (
            P,
            "self.trainer.max_epochs",
            "{'optimizer': opt, 'lr_scheduler': {'scheduler': sched, 'interval': 'step'}}",
        ),
        (A, "self.trainer.max_epochs", "[opt], [sched]"),
        (
            A,
            "self.total_steps",
            "{'optimizer': opt, 'lr_scheduler': {'scheduler': sched, 'interval': 'step'}}",
        ),
        (U, "self.hparams.length", "[opt], [sched]"),
    ],
)
def test_what_lightning_is_told(wanted: str, length: str, handed: str) -> None:
    assert (
        state("script-schedule-unit", LIGHTNING.replace("{LENGTH}", length).replace("{RETURN}", handed))
        == wanted
    )


@pytest.mark.parametrize(("wanted", "length"), [(P, "EPOCHS"), (A, "EPOCHS * BATCHES"), (U, "1000")])
def test_a_keras_schedule_counts_steps(wanted: str, length: str) -> None:
    assert state("script-schedule-unit", KERAS.replace("{LENGTH}", length)) == wanted


RATE = """
import math
def lr_factor(step):
    if step < warmup_steps:
        return {UP}
    t = (step - warmup_steps) / {REST}
    return 0.5 * (1 + math.cos(math.pi * t))
"""


@pytest.mark.parametrize(
    ("symptom", "wanted", "up", "rest"),
    [
        ("script-schedule-formula", P, "step / warmup_steps", "warmup_steps"),
        ("script-schedule-formula", P, "step / warmup_steps", "max(1, warmup_steps)"),
        ("script-schedule-formula", A, "step / warmup_steps", "(total - warmup_steps)"),
        ("script-warmup-flat", P, "1.0", "(total - warmup_steps)"),
        ("script-warmup-flat", P, "cfg.base_lr", "(total - warmup_steps)"),
        ("script-warmup-flat", A, "(step + 1) / warmup_steps", "(total - warmup_steps)"),
        ("script-warmup-flat", A, "cfg.warmup_lr", "(total - warmup_steps)"),
    ],
)
def test_the_formula_of_a_schedule(symptom: str, wanted: str, up: str, rest: str) -> None:
    text = "import torch\n" + RATE.replace("{UP}", up).replace("{REST}", rest)
    assert state(symptom, text) == wanted


HAND = "def get_lr(i): return 0.1 / (1 + i)"
OTHERS = [
    ("script-rate-not-applied", P, {"BEFORE": HAND, "RATE": "now = get_lr(it); print(now)"}),
    ("script-rate-not-applied", A, {"BEFORE": HAND, "RATE": "optimizer.param_groups[0]['lr'] = get_lr(it)"}),
    ("script-rate-not-applied", U, {}),
    ("script-plateau-direction", P, {"BEFORE": "s = ReduceLROnPlateau(optimizer, patience=3)", "EPOCH": "s.step(val_acc)"}),
    ("script-plateau-direction", P, {"BEFORE": "s = ReduceLROnPlateau(optimizer, 'max')", "EPOCH": "s.step(val_loss)"}),
    ("script-plateau-direction", A, {"BEFORE": "s = ReduceLROnPlateau(optimizer)", "EPOCH": "s.step(val_loss)"}),
    ("script-plateau-direction", A, {"BEFORE": "s = ReduceLROnPlateau(optimizer, mode='max')", "EPOCH": "s.step(val_acc)"}),
    ("script-plateau-direction", U, {"BEFORE": "s = ReduceLROnPlateau(optimizer)", "EPOCH": "s.step(value)"}),
    ("script-optimizer-rebuilt", P, {"FIRST": "optimizer = torch.optim.SGD(net.parameters(), lr=0.1)"}),
    ("script-optimizer-rebuilt", A, {"FIRST": "if epoch == 5: optimizer = torch.optim.SGD(net.parameters(), lr=0.01)"}),
    ("script-optimizer-rebuilt", A, {}),
]  # fmt: skip


@pytest.mark.parametrize(("symptom", "wanted", "parts"), OTHERS)
def test_rates_that_go_elsewhere(symptom: str, wanted: str, parts: dict[str, str]) -> None:
    assert state(symptom, _loop(**parts)) == wanted


def test_without_a_loop_nothing_is_said() -> None:
    for symptom in (
        "script-optimizer-rebuilt",
        "script-schedule-unit",
        "script-schedule-formula",
        "script-warmup-flat",
    ):
        assert state(symptom, "import torch\nprint(torch.ones(2))\n") == U


@pytest.mark.parametrize(("handed", "present"), [("step=epoch, ", False), ("", True)])
def test_a_function_that_is_handed_epochs_for_steps_throughout(handed: str, present: bool) -> None:
    text = (
        "import torch\nfrom torch.utils.data import DataLoader\nloader = DataLoader(data, 8)\n"
        "class Schedule(torch.optim.lr_scheduler.LambdaLR):\n"
        "    def scale(self, epoch):\n"
        f"        return warm_up({handed}max_steps=self.max_epochs)\n"
    )
    assert (state("script-schedule-wrong", text) == "present") is present
