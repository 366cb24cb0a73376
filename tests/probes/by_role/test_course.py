# ruff: noqa: E501
"""The course of the learning rate in two programs: one course in many ways, and courses that part."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from traindoctor.probes.by_role.arithmetic import Arithmetic, Unseen
from traindoctor.probes.by_role.compare import same_course
from traindoctor.probes.by_role.course import course, course_differs
from traindoctor.probes.by_role.side import Side
from traindoctor.probes.scripts.syntax import Script

from .._pairs import present

TRAIN = """
import argparse
import math
import numpy as np
import torch
from torch import optim
from torch.optim.lr_scheduler import *
from torch.utils.data import DataLoader
parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=60)
parser.add_argument("--lr", type=float, default=0.1)
args = parser.parse_args()
loader = DataLoader(leaves, batch_size=8, shuffle=True)
opt = optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
{schedule}
for epoch in range(args.epochs):
    for x, y in loader:
        loss = criterion(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        {inner}
    {outer}
"""


def program(schedule: str, per: str = "epoch") -> str:
    """A program with a schedule that moves with every epoch or step."""
    inner, outer = ("pass", "sched.step()") if per == "epoch" else ("sched.step()", "pass")
    return TRAIN.format(schedule=schedule, inner=inner, outer=outer)


def script(text: str) -> Script:
    """A text as it is read."""
    return Script("train.py", text, ast.parse(text))


WARM = program("""warm = LinearLR(opt, start_factor=0.1, total_iters=5)
cosine = CosineAnnealingLR(opt, T_max=args.epochs - 5, eta_min=1e-4)
sched = SequentialLR(opt, [warm, cosine], milestones=[5])""")
WARM_BY_HAND = program("""low = 1e-4 / args.lr
def factor(epoch):
    if epoch < 5:
        return 0.1 + 0.9 * epoch / 5
    done = (epoch - 5) / (args.epochs - 5)
    return low + (1 - low) * 0.5 * (1 + math.cos(math.pi * done))
sched = LambdaLR(opt, factor)""")
IN_CLASS = program("""class Rate:
    def __init__(self, warm, epochs):
        self.warm, self.total = warm, epochs
    def factor(self, e):
        low = 1e-3
        return 0.1 + 0.9 * e / 5 if e < 5 else low + (1 - low) * (1 + np.cos(np.pi * (e - 5) / (args.epochs - 5))) / 2
rate = Rate(5, args.epochs)
sched = LambdaLR(opt, lr_lambda=rate.factor)""")
STAIRS = program("sched = MultiStepLR(opt, milestones=[20, 32], gamma=0.1)")
STAIRS_BY_HAND = program("sched = LambdaLR(opt, lambda e: 1.0 if e < 20 else 0.1 if e < 32 else 0.01)")
LINEAR = program(
    """from transformers import get_linear_schedule_with_warmup
total = args.epochs * len(loader)
sched = get_linear_schedule_with_warmup(opt, int(0.1 * total), total)""",
    "step",
)
LINEAR_BY_HAND = program(
    """steps = len(loader) * args.epochs
warm = int(0.1 * steps)
sched = LambdaLR(opt, lambda s: s / max(1, warm) if s < warm else max(0.0, (steps - s) / max(1, steps - warm)))""",
    "step",
)
LINEAR_MIN = program(
    """def made(opt, total, share=0.1):
    warm = total * share
    return LambdaLR(opt, lambda s: min(s / warm, max(0.0, (total - s) / (total - warm))))
sched = made(opt, args.epochs * len(loader))""",
    "step",
)
INVERSE = program(
    """warmup = 400
def rate(step):
    step = max(step, 1)
    return min(step / warmup, (warmup / step) ** 0.5)
sched = LambdaLR(opt, rate)""",
    "step",
)
INVERSE_AGAIN = program(
    "sched = LambdaLR(opt, lambda s: max(s, 1) / 400 if s < 400 else math.sqrt(400 / s))", "step"
)
MINDSPORE = """
import mindspore as ms
from mindspore import nn
per_epoch = data.get_dataset_size()
net = Net()
rates = nn.piecewise_constant_lr([20 * per_epoch, 32 * per_epoch, 40 * per_epoch], [0.1, 0.01, 0.001])
opt = nn.SGD(net.trainable_params(), learning_rate=rates, momentum=0.9)
"""
KERAS = """
from tensorflow import keras
steps = len(rows) // 8
rate = keras.optimizers.schedules.CosineDecay(1e-3, 50 * steps, alpha=0.01)
opt = keras.optimizers.Adam(rate)
"""


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (WARM_BY_HAND, WARM),
        (IN_CLASS, WARM),
        (STAIRS_BY_HAND, STAIRS),
        (STAIRS.replace("[20, 32]", "(20, 32)"), STAIRS),
        (LINEAR_BY_HAND, LINEAR),
        (LINEAR_MIN, LINEAR),
        (INVERSE_AGAIN, INVERSE),
        (MINDSPORE, STAIRS_BY_HAND),
        (KERAS.replace("1e-3, 50 * steps", "1e-3, decay_steps=steps * 50"), KERAS),
        (program("sched = StepLR(opt, 1, 0.9)"), program("sched = ExponentialLR(opt, 0.9)")),
    ],
    ids=range(10),
)  # fmt: skip
def test_one_course_in_other_words(tmp_path: Path, mine: str, theirs: str) -> None:
    assert not [t.text for t in course_differs(Side(script(mine)), Side(script(theirs)))]
    assert same_course(script(mine), script(theirs)) or mine is MINDSPORE  # whose data tell the steps
    assert not {s for s in present(tmp_path, mine, theirs) if s in ("edit-schedule-length", "edit-warmup")}


@pytest.mark.parametrize(
    ("mine", "old", "new", "theirs", "kind"),
    [
        (WARM_BY_HAND, "return 0.1 + 0.9 * epoch / 5", "return 1.0", WARM, "warmup"),
        (WARM_BY_HAND, "math.cos(math.pi * done)", "math.cos(2 * math.pi * done)", WARM, "schedule-length"),
        (WARM_BY_HAND, "0.5 * (1 + math.cos", "0.5 * (1 - math.cos", WARM, "schedule-length"),
        (STAIRS_BY_HAND, "0.1 if e < 32 else 0.01", "1.0 if e < 32 else 0.1", STAIRS, "schedule-length"),
        (LINEAR_BY_HAND, "int(0.1 * steps)", "int(0.9 * steps)", LINEAR, "schedule-length"),
        (LINEAR_BY_HAND, "(steps - s) / max", "(steps + s) / max", LINEAR, "schedule-length"),
        (MINDSPORE, "[20 * per_epoch, 32 * per_epoch, 40", "[2 * per_epoch, 3 * per_epoch, 40", STAIRS, "schedule-length"),
        (KERAS, "alpha=0.01", "alpha=1.0", KERAS, "schedule-length"),
    ],
    ids=range(8),
)  # fmt: skip
def test_another_course_is_told(mine: str, old: str, new: str, theirs: str, kind: str) -> None:
    assert old in mine
    found = list(course_differs(Side(script(mine.replace(old, new))), Side(script(theirs))))
    assert [t.kind for t in found] == [kind]
    assert found[0].mine is not None


@pytest.mark.parametrize("text", [WARM, LINEAR, KERAS])
def test_a_course_over_fewer_epochs_or_rows_is_the_same_course(text: str) -> None:
    """Shorter training is told as such, not as another schedule."""
    shorter = text.replace("default=60", "default=30").replace("50 * steps", "5 * steps")
    assert shorter != text
    assert not list(course_differs(Side(script(shorter)), Side(script(text))))


@pytest.mark.parametrize(
    "schedule",
    [
        "sched = LambdaLR(opt, given)",
        "sched = LambdaLR(opt, lambda e: table[e])",
        "sched = CosineAnnealingLR(opt, T_max=args.horizon)",
        "sched = CosineAnnealingWarmRestarts(opt, T_0=10)",
        "sched = StepLR(opt, 30)\nother = StepLR(opt2, 10)",
        "sched = CosineAnnealingLR(opt, **settings)",
        "def f(e):\n    while e > 1:\n        e -= 1\n    return e\nsched = LambdaLR(opt, f)",
    ],
)
def test_of_what_is_not_worked_out_nothing_is_said(schedule: str) -> None:
    mine = script(program(schedule))
    assert course(Side(mine)) is None
    assert not same_course(mine, script(STAIRS))
    assert not list(course_differs(Side(mine), Side(script(STAIRS))))


def test_numbers_are_looked_up_where_they_stand() -> None:
    text = """
total = 9
def f(total):
    half = total / 2
    return half
def g():
    total = 4
    return total
f(30)
"""
    side = Side(script(text))
    half = next(n for n in side.source.of(ast.Name) if n.id == "half" and isinstance(n.ctx, ast.Load))
    inner = next(n for n in side.source.of(ast.Return) if ast.unparse(n) == "return total")
    assert Arithmetic(side).number(half) == 15
    assert Arithmetic(side).number(inner.value) == 4
    with pytest.raises(Unseen):
        Arithmetic(side).number(ast.parse("unknown + 1", mode="eval").body)


LISTED = """
import mindspore as ms
from mindspore import nn
EPOCHS, LR = 60, 0.1
size = rows.get_dataset_size()
rates = nn.cosine_decay_lr(0.0, LR, EPOCHS * size, size, {decay})
opt = nn.AdamWeightDecay(net.trainable_params(), learning_rate=rates, weight_decay=0.01)
grad = ms.value_and_grad(forward, None, opt.parameters)
for epoch in range(EPOCHS):
    for x, y in rows.create_tuple_iterator():
        loss, grads = grad(x, y)
        opt(grads)
"""
COSINE = program("sched = CosineAnnealingLR(opt, T_max=args.epochs)")


@pytest.mark.parametrize(
    ("decay", "differs"), [("EPOCHS", False), ("60", False), ("6", True), ("EPOCHS // 10", True)]
)
def test_a_list_of_rates_in_mindspore(decay: str, differs: bool) -> None:
    mine, theirs = (Side(script(t)) for t in (LISTED.replace("{decay}", decay), COSINE))
    assert bool(list(course_differs(mine, theirs))) == differs


HOOKED = """
import lightning as L
import torch
class Module(L.LightningModule):
    def training_step(self, batch, i):
        return torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])
    def configure_optimizers(self):
        opt = torch.optim.SGD(self.parameters(), lr=0.1)
        sched = torch.optim.lr_scheduler.MultiStepLR(opt, [30, 45], 0.1)
        return {GIVEN}
L.Trainer(max_epochs=60).fit(Module(), loader)
"""
SETTINGS = TRAIN.replace("parser = ", "class Options:\n    steps: tuple = (30, 45)\nparser = ").format(
    schedule="sched = MultiStepLR(opt, milestones=options.steps)", inner="pass", outer="sched.step()"
)


@pytest.mark.parametrize(
    ("given", "differs"),
    [
        ("[opt], [sched]", False),
        ("{'optimizer': opt, 'lr_scheduler': {'scheduler': sched, 'interval': 'epoch'}}", False),
        ("[opt], [{'scheduler': sched, 'interval': 'step'}]", True),
        ("{'optimizer': opt, 'lr_scheduler': {'scheduler': sched, 'interval': 'step'}}", True),
    ],
)
def test_points_of_epochs_that_count_steps(given: str, differs: bool) -> None:
    mine = Side(script(HOOKED.replace("{GIVEN}", given)))
    assert bool(list(course_differs(mine, Side(script(SETTINGS))))) == differs
