"""Schedules that are made for other moves than they are given, and plateaus waited for the wrong way."""

from __future__ import annotations

import pytest

from ._program import told

OPT = "    opt = torch.optim.Adam(net.parameters(), lr=1e-3)\n"
EPOCH = '        print(f"epoch {epoch} val acc {acc:.3f}")\n'
BATCH = "            opt.zero_grad()\n"


def program(schedule: str, where: str, call: str = "sched.step()", every: int = 1) -> set[str]:
    """The verdicts over the program with a schedule that is moved with each epoch, step or batch."""
    lr = "torch.optim.lr_scheduler"
    edits = [
        (OPT, f"{OPT}    sched = {schedule.replace('lr.', lr + '.')}\n"),
        ("learn(net, train, opt)", f"learn(net, train, opt, sched, {every})"),
        ("import copy", "import copy, math"),
        ("def learn(net, loader, opt, every=1)", "def learn(net, loader, opt, sched, every=1)"),
    ]
    if where == "epoch":
        edits.append((EPOCH, f"{EPOCH}        {call}\n"))
    elif where == "step":
        edits.append((BATCH, f"{BATCH}            {call}\n"))
    else:
        edits.append((BATCH, f"{BATCH}        {call}\n"))
    return told(*edits) & {"schedule-unit", "plateau-direction"}


NOAM = "lr.LambdaLR(opt, lambda s: 8.0 * min((s + 1) ** -0.5, (s + 1) * 4000 ** -1.5))"
FALLS = "lr.LambdaLR(opt, lambda s: max(0.0, 1 - s / (20 * len(train))))"


@pytest.mark.parametrize(
    ("schedule", "where", "every"),
    [
        ("lr.CosineAnnealingLR(opt, T_max=20)", "batch", 1),
        ("lr.CosineAnnealingLR(opt, 20 * len(train))", "epoch", 1),
        ("lr.CosineAnnealingLR(opt, 20 * len(train))", "step", 4),
        ("lr.CosineAnnealingLR(opt, 20 * (len(train) // 4))", "batch", 4),
        ("lr.OneCycleLR(opt, 0.1, epochs=20, steps_per_epoch=len(train))", "epoch", 1),
        (FALLS, "epoch", 1),
        (FALLS, "step", 4),
        ("lr.LambdaLR(opt, lambda e: max(0.0, 1 - e / 20))", "batch", 1),
        (NOAM, "epoch", 1),
        ("lr.LambdaLR(opt, lambda s: 0.5 * (1 + math.cos(math.pi * s / (20 * len(train)))))", "step", 4),
    ],
)
def test_made_for_other_moves(schedule: str, where: str, every: int) -> None:
    assert program(schedule, where, every=every) == {"schedule-unit"}


@pytest.mark.parametrize(
    ("schedule", "where", "every"),
    [
        ("lr.CosineAnnealingLR(opt, T_max=20)", "epoch", 1),
        ("lr.CosineAnnealingLR(opt, 20 * len(train))", "batch", 1),
        ("lr.CosineAnnealingLR(opt, 20 * len(train) // 4)", "step", 4),
        ("lr.CosineAnnealingLR(opt, T_max=50)", "epoch", 1),
        ("lr.CosineAnnealingLR(opt, T_max=setting)", "batch", 1),
        (FALLS, "batch", 1),
        (NOAM, "batch", 1),
        ("lr.LambdaLR(opt, lambda e: 0.99 ** e)", "epoch", 1),
        ("lr.LambdaLR(opt, lambda e: min(1.0, (e + 1) / 5))", "epoch", 1),
        ("lr.LambdaLR(opt, unknown(20))", "epoch", 1),
        ("lr.CyclicLR(opt, 1e-4, 1e-3, 20)", "batch", 1),
    ],
)
def test_made_for_these_moves_or_not_known(schedule: str, where: str, every: int) -> None:
    assert program(schedule, where, every=every) == set()


def test_a_plateau_of_an_accuracy() -> None:
    made = "lr.ReduceLROnPlateau(opt, {}patience=2)"
    assert program(made.format(""), "epoch", "sched.step(acc)") == {"plateau-direction"}
    assert program(made.format("'max', "), "epoch", "sched.step(acc)") == set()
    assert program(made.format(""), "epoch", "sched.step(1 - acc)") == set()
    assert program(made.format("mode=setting, "), "epoch", "sched.step(acc)") == set()
