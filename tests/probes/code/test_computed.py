"""The course of a schedule, computed over the run: present, absent, unknown."""

from __future__ import annotations

import pytest

from .._scripts import state

P, A, U = "present", "absent", "unknown"

HAND = """
import math, numpy as np, torch
d = np.load("rows.npz")
x, y = torch.tensor(d["x"]), torch.tensor(d["y"])
N, BS, EPOCHS, LR = len(x), 64, 40, 1e-3
batches = N // BS
{LENGTHS}
net = torch.nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters(), lr=LR)
def speed(t):
    if t < warm:
        return LR * (t + 1) / warm
    return LR * {FORMULA}
count = 0
for e in range(EPOCHS):
    p = torch.randperm(N)
    for b in range(batches):
        i = p[b * BS:(b + 1) * BS]
        for g in opt.param_groups:
            g["lr"] = speed({ASKED})
        opt.zero_grad()
        torch.nn.functional.mse_loss(net(x[i]), y[i]).backward()
        opt.step()
        {COUNT}
    {EPOCH}
"""
COSINE = "0.5 * (1 + math.cos(math.pi * (t - warm) / (total - warm)))"
STEPS = "warm, total = 3 * batches, EPOCHS * batches"


@pytest.mark.parametrize(
    ("parts", "wanted"),
    [
        ({}, A),
        ({"ASKED": "e * batches + b"}, A),
        ({"LENGTHS": "warm, total = 3, EPOCHS", "ASKED": "e"}, A),
        ({"LENGTHS": "warm = 3 * batches\ntotal = EPOCHS * batches // 1"}, A),
        ({"FORMULA": "max(0.05, 1 - t / total)"}, A),
        ({"FORMULA": "(1 - t / total) ** 0.9"}, A),
        ({"FORMULA": "0.97 ** (t // batches)"}, A),  # the first epochs, by chance, lose little
        ({"ASKED": "e"}, P),  # steps are asked for, and the epoch is given
        ({"ASKED": "b"}, P),  # never past the first epoch
        ({"LENGTHS": "warm, total = 3 * N, EPOCHS * N"}, P),
        ({"LENGTHS": "warm, total = 3, EPOCHS"}, P),
        ({"COUNT": "pass", "EPOCH": "count += 1"}, P),
        ({"FORMULA": "(1 - t / total) ** 0.9", "COUNT": "pass", "EPOCH": "count += 1"}, P),
        (
            {"FORMULA": "0.9999 ** (t * total / EPOCHS)", "ASKED": "e", "LENGTHS": "warm, total = 3, EPOCHS"},
            A,
        ),  # slow on purpose
        ({"LENGTHS": "warm, total = 3 * batches, EPOCHS * batches // 5"}, P),
        ({"LENGTHS": "warm, total = 3000, 77770"}, U),  # made of other numbers than the run
        ({"ASKED": "other(count)"}, U),
        ({"FORMULA": "0.5 * (1 + math.cos(math.pi * (t % 500) / 500))"}, U),  # cycles, on purpose
    ],
)
def test_a_rate_by_hand(parts: dict[str, str], wanted: str) -> None:
    """The formula is asked with every step, for a count that is raised somewhere."""
    text = HAND
    usual = {"LENGTHS": STEPS, "FORMULA": COSINE, "ASKED": "count", "COUNT": "count += 1", "EPOCH": "pass"}
    for key, value in {**usual, **parts}.items():
        text = text.replace("{" + key + "}", value)
    assert state("script-schedule-unit", text) == wanted


GROWN = """
import torch
from torch.utils.data import DataLoader
from transformers import get_cosine_schedule_with_warmup
class Settings:
    rounds = 12
    gather = 4
    size = 16
def make(optimizer, n):
    total = {TOTAL}
    return get_cosine_schedule_with_warmup(optimizer, {ARGUMENTS})
def learn(loader, net, optimizer, plan):
    for i, (x, y) in enumerate(loader):
        (torch.nn.functional.cross_entropy(net(x), y) / Settings.gather).backward()
        if (i + 1) % Settings.gather == 0:
            optimizer.step()
            optimizer.zero_grad()
            {UPDATE}
        {BATCH}
rows = Rows("train")
loader = DataLoader(rows, Settings.size, shuffle=True)
net = torch.nn.Linear(4, 2)
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
plan = make(optimizer, len(loader))
for epoch in range(Settings.rounds):
    {EPOCH}
    learn(loader, net, optimizer, plan)
"""


@pytest.mark.parametrize(
    ("parts", "wanted"),
    [
        ({}, A),
        ({"TOTAL": "n * Settings.rounds", "UPDATE": "pass", "BATCH": "plan.step()"}, A),
        (
            {
                "TOTAL": "n // Settings.gather * Settings.gather * Settings.rounds",
                "UPDATE": "pass",
                "BATCH": "plan.step()",
            },
            A,
        ),
        ({"TOTAL": "n * Settings.rounds"}, P),
        ({"UPDATE": "pass", "BATCH": "plan.step()"}, P),
        ({"ARGUMENTS": "total, total // 10"}, P),
        ({"EPOCH": "plan = make(optimizer, len(loader))"}, P),
    ],
)
def test_a_schedule_of_updates(parts: dict[str, str], wanted: str) -> None:
    """Its length against how often it is moved, through a function that makes it and one that trains."""
    text = GROWN
    usual = {
        "TOTAL": "n // Settings.gather * Settings.rounds",
        "ARGUMENTS": "total // 10, total",
        "UPDATE": "plan.step()",
        "BATCH": "pass",
        "EPOCH": "pass",
    }
    for key, value in {**usual, **parts}.items():
        text = text.replace("{" + key + "}", value)
    assert state("script-schedule-unit", text) == wanted


TWO = """
import torch
CFG = {"iters": 50000, "hold": 20000, "inner": 3}
def plans(cfg, *optimizers):
    def falling(i):
        return {FORMULA}
    return [torch.optim.lr_scheduler.LambdaLR(o, falling) for o in optimizers]
maker, judge = Maker(), Judge()
a = torch.optim.Adam(maker.parameters(), lr=1e-4)
b = torch.optim.Adam(judge.parameters(), lr=1e-4)
first, second = plans(CFG, a, b)
for i in range(CFG["iters"]):
    for _ in range(CFG["inner"]):
        b.zero_grad()
        loss_of_judge(judge, maker).backward()
        b.step()
        {INNER}
    a.zero_grad()
    loss_of_maker(judge, maker).backward()
    a.step()
    {OUTER}
"""
FALLING = '1 - max(0, i - cfg["hold"]) / (cfg["iters"] - cfg["hold"])'


@pytest.mark.parametrize(
    ("formula", "inner", "outer", "wanted"),
    [
        (FALLING, "pass", "first.step(); second.step()", A),
        (FALLING, "second.step()", "first.step()", P),
        (FALLING, "pass", "first.step(); first.step()", P),
    ],
)
def test_two_optimizers(formula: str, inner: str, outer: str, wanted: str) -> None:
    """Each schedule by its own steps."""
    text = TWO.replace("{FORMULA}", formula).replace("{INNER}", inner).replace("{OUTER}", outer)
    assert state("script-schedule-unit", text) == wanted


OWN = """
import math, torch
from torch.utils.data import DataLoader
class Slope:
    def __init__(self, optimizer, rise, length, power=0.9):
        self.optimizer, self.rise, self.length, self.power = optimizer, rise, length, power
        self.base = [g["lr"] for g in optimizer.param_groups]
        self.done = 0
        self.set()
    def factor(self):
        if self.done < self.rise:
            return (self.done + 1) / self.rise
        return max(0.0, 1 - (self.done - self.rise) / (self.length - self.rise)) ** self.power
    def set(self):
        for group, base in zip(self.optimizer.param_groups, self.base):
            group["lr"] = base * self.factor()
    def advance(self):
        {RAISED}
        self.set()
    def restore(self, state):
        self.done = state["done"]
EPOCHS = 30
rows = Rows("train.csv")
loader = DataLoader(rows, 64, shuffle=True)
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
plan = Slope(optimizer, 2 * len(loader), {LENGTH})
for epoch in range(EPOCHS):
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(net(x), y).backward()
        optimizer.step()
        {BATCH}
    {EPOCH}
    print(plan.done)
"""


@pytest.mark.parametrize(
    ("parts", "wanted"),
    [
        ({}, A),
        ({"BATCH": "pass", "EPOCH": "plan.advance()"}, P),
        ({"LENGTH": "EPOCHS"}, P),
        ({"RAISED": "pass"}, P),
        ({"LENGTH": "EPOCHS * len(rows)"}, P),
    ],
)
def test_a_class_of_ones_own(parts: dict[str, str], wanted: str) -> None:
    """A schedule written as a class, whose count stands in an attribute."""
    text = OWN
    usual = {
        "RAISED": "self.done += 1",
        "LENGTH": "EPOCHS * len(loader)",
        "BATCH": "plan.advance()",
        "EPOCH": "pass",
    }
    for key, value in {**usual, **parts}.items():
        text = text.replace("{" + key + "}", value)
    assert state("script-schedule-unit", text) == wanted


def test_a_class_that_nothing_advances() -> None:
    """It sets the rate in its own methods, and training calls none of them."""
    text = OWN.replace("{RAISED}", "self.done += 1").replace("{LENGTH}", "1000").replace("{EPOCH}", "pass")
    assert state("script-scheduler-never-stepped", text.replace("{BATCH}", "plan.advance()")) == A
    assert (
        state(
            "script-scheduler-never-stepped", text.replace("{BATCH}", "pass").replace("print(plan.done)", "")
        )
        == P
    )


SEQUENCE = """
import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR
from torch.utils.data import DataLoader
EPOCHS, WARM = 30, 2
loader = DataLoader(Rows("train.csv"), 64, shuffle=True)
net = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
n = len(loader)
plan = SequentialLR(optimizer, [{PARTS}], milestones=[{MARK}])
for epoch in range(EPOCHS):
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(net(x), y).backward()
        optimizer.step()
        plan.step()
"""
RISE, FALL = "LinearLR(optimizer, 0.01, 1.0, WARM * n)", "CosineAnnealingLR(optimizer, (EPOCHS - WARM) * n)"


@pytest.mark.parametrize(
    ("parts", "mark", "wanted"),
    [
        (f"{RISE}, {FALL}", "WARM * n", A),
        (f"{RISE}, {FALL}", "WARM", P),
        (f"{FALL}, {RISE}", "WARM * n", P),
        (f"{RISE}, CosineAnnealingLR(optimizer, (EPOCHS - WARM) * n // 4)", "WARM * n", P),
        (f"{RISE}, LinearLR(optimizer, 1.0, 0.1, (EPOCHS - WARM) * n)", "WARM * n", A),
    ],
)
def test_a_sequence(parts: str, mark: str, wanted: str) -> None:
    """A warm-up, and what follows it at its milestone."""
    text = SEQUENCE.replace("{PARTS}", parts).replace("{MARK}", mark)
    assert state("script-schedule-unit", text) == wanted


KERAS = """
import tensorflow as tf, numpy as np
from tensorflow import keras
class Slope(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, top, rise, length):
        self.top, self.rise, self.length = top, rise, length
    def __call__(self, step):
        step = tf.cast(step, tf.float32)
        share = tf.clip_by_value((step - self.rise) / (self.length - self.rise), 0.0, 1.0)
        down = 0.5 * (1 + tf.cos(np.pi * share))
        return self.top * tf.where(step < self.rise, {UP}, {DOWN})
x, y = load()
EPOCHS = 40
steps = len(x) // 32
plan = Slope(1e-3, {LENGTHS})
model = keras.Sequential([keras.layers.Dense(3)])
model.compile(keras.optimizers.Adam({RATE}), "mse")
model.fit(rows, steps_per_epoch=steps, epochs=EPOCHS, callbacks=[{CALLBACK}])
"""


@pytest.mark.parametrize(
    ("parts", "wanted"),
    [
        ({}, A),
        ({"LENGTHS": "2 * len(x), EPOCHS * len(x)"}, P),
        ({"UP": "down", "DOWN": "(step + 1) / self.rise"}, P),
        ({"LENGTHS": "2, EPOCHS"}, P),
        (
            {
                "LENGTHS": "2, EPOCHS",
                "RATE": "1e-3",
                "CALLBACK": "keras.callbacks.LearningRateScheduler(lambda e: float(plan(e)))",
            },
            U,
        ),
    ],
)
def test_keras(parts: dict[str, str], wanted: str) -> None:
    """A schedule class that the optimizer asks with every batch, or a callback with every epoch."""
    text = KERAS
    usual = {
        "UP": "(step + 1) / self.rise",
        "DOWN": "down",
        "LENGTHS": "2 * steps, EPOCHS * steps",
        "RATE": "plan",
        "CALLBACK": "",
    }
    for key, value in {**usual, **parts}.items():
        text = text.replace("{" + key + "}", value)
    assert state("script-schedule-unit", text) == wanted


BOUND = """
from functools import partial
import math, numpy as np, torch
d = np.load("rows.npz")
x, y = torch.tensor(d["x"]), torch.tensor(d["y"])
N, BS, EPOCHS = len(x), 64, 40
batches = N // BS
net = torch.nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
def fall(total, low, t):
    return max(low, 1 - t / total)
def maker(total):
    def factor(t):
        return 0.5 * (1 + math.cos(math.pi * min(1.0, t / total)))
    return factor
{MADE}
for e in range(EPOCHS):
    for b in range(batches):
        i = torch.randint(N, (BS,))
        opt.zero_grad()
        torch.nn.functional.mse_loss(net(x[i]), y[i]).backward()
        opt.step()
        s.step()
"""
LAMBDA = "s = torch.optim.lr_scheduler.LambdaLR(opt, {})"


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        (LAMBDA.format("partial(fall, EPOCHS * batches, 0.01)"), False),
        (LAMBDA.format("partial(fall, batches, 0.01)"), True),
        (LAMBDA.format("maker(EPOCHS * batches)"), False),
        (LAMBDA.format("maker(batches)"), True),
        ("f = maker(20 * EPOCHS * batches)\n" + LAMBDA.format("f"), True),
        ("f = partial(fall, EPOCHS * batches, 0.0)\n" + LAMBDA.format("lambda t: f(t)"), False),
        ("f = partial(fall, batches, 0.0)\n" + LAMBDA.format("lambda t: f(t)"), True),
        ("f = lambda t: fall(EPOCHS * batches, 0.0, t)\n" + LAMBDA.format("f"), False),
    ],
)
def test_functions_that_are_handed_on(made: str, wanted: bool) -> None:
    """Arguments that are bound, and functions that give a function back."""
    assert (state("script-schedule-unit", BOUND.replace("{MADE}", made)) == P) == wanted
