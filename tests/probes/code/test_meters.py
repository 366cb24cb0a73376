"""Meters that go on, figures taken in another order, files of every round: each slip beside right ways."""

from __future__ import annotations

import ast

import pytest

from traindoctor.probes.code.evaluation.exchanged import figures_exchanged
from traindoctor.probes.code.evaluation.meters import meters_go_on
from traindoctor.probes.code.evaluation.round_files import file_each_round
from traindoctor.probes.code.evaluation.watched import better_when_higher
from traindoctor.probes.scripts.syntax import Script

from .._scripts import state


def script(text: str) -> Script:
    return Script("train.py", text, ast.parse(text))


OWN = """
import torch
class Scores:
    def __init__(self, n):
        self.clear()
    def clear(self):
        self.table = torch.zeros(3, 3)
        self.seen = 0
    def add(self, z, y):
        for t, p in zip(y, z):
            self.table[t, p] += 1
        self.seen += len(y)
class Boss:
    def __init__(self, model, data):
        self.model, self.data = model, data
        {MADE}
    def learn(self):
        for x, y in self.data.train:
            loss(self.model(x), y).backward()
            self.opt.step()
    @torch.no_grad()
    def check(self):
        {BEFORE}
        for x, y in self.data.val:
            self.scores.add(self.model(x).argmax(1), y)
        return self.scores.table.trace() / self.scores.seen
    def run(self):
        for epoch in range(9):
            self.learn()
            print(self.check())
Boss(net, data).run()
"""


@pytest.mark.parametrize(
    ("made", "before", "wrong"),
    [
        ("self.scores = Scores(3)", "pass", True),
        ("self.scores = Scores(3)", "self.scores.clear()", False),
        ("self.scores = Scores(3)", "self.scores.table = torch.zeros(3, 3)", False),
        ("self.scores = None", "self.scores = Scores(3)", False),
        ("self.scores = Scores(3)", "empty(self.scores, 'clear')", False),
        ("self.scores = library(3)", "pass", False),
    ],
)
def test_own_meter(made: str, before: str, wrong: bool) -> None:
    text = OWN.replace("{MADE}", made).replace("{BEFORE}", before)
    assert (meters_go_on(script(text)) is not None) is wrong
    if wrong:
        assert state("script-metric-miscounts", text) == "present"


LIBRARY = """
import torch, torchmetrics
from mindspore import nn
{TOP}
def learn(model):
    for x, y in train:
        loss(model(x), y).backward()
        opt.step()
def check(model):
    {BEFORE}
    for x, y in val:
        acc.update(model(x), y)
        err.update(loss(model(x), y))
    out = acc.{ASK}(), err.{ASK}()
    {AFTER}
    return out
for epoch in range(9):
    learn(model)
    print(check(model))
"""


@pytest.mark.parametrize(
    ("top", "before", "ask", "after", "wrong"),
    [
        ("acc, err = nn.Accuracy(), nn.Loss()", "acc.clear()\n    err.clear()", "eval", "pass", False),
        ("acc, err = nn.Accuracy(), nn.Loss()", "err.clear()", "eval", "pass", True),
        (
            "acc, err = nn.Accuracy(), nn.Loss()",
            "pass",
            "eval",
            "for m in (acc, err):\n        m.clear()",
            False,
        ),
        ("acc, err = nn.Accuracy(), nn.Loss()", "pass", "eval", "for m in (err,):\n        m.clear()", True),
        ("acc, err = nn.Accuracy(), nn.Loss()", "pass", "eval", "for m in both:\n        m.clear()", False),
        ("acc, err = torchmetrics.Accuracy(), Mean()", "pass", "compute", "pass", True),
        ("acc, err = torchmetrics.Accuracy(), Mean()", "pass", "compute", "acc.reset()", False),
        ("acc, err = made(), made()", "pass", "compute", "pass", False),
        ("import lightning\nacc, err = torchmetrics.Accuracy(), Mean()", "pass", "compute", "pass", False),
    ],
)
def test_meter_of_a_library(top: str, before: str, ask: str, after: str, wrong: bool) -> None:
    text = LIBRARY.replace("{TOP}", top).replace("{BEFORE}", before).replace("{ASK}", ask)
    assert (meters_go_on(script(text.replace("{AFTER}", after))) is not None) is wrong


@pytest.mark.parametrize(
    ("given", "taken", "wrong"),
    [
        ("loss_sum / n, correct / n", "val_loss, val_acc", False),
        ("loss_sum / n, acc_sum / n", "val_acc, val_loss", True),
        ("accuracy.eval(), mean_loss.eval()", "loss, acc", True),
        ("accuracy.eval(), mean_loss.eval()", "acc, loss", False),
        ("float(losses.avg), float(top1_acc.avg)", "acc, loss", True),
        ("mae, rmse", "rmse, mae", False),
        ("a, b", "acc, loss", False),
        ("loss, extra, acc", "acc, _, loss", True),
    ],
)
def test_figures_in_order(given: str, taken: str, wrong: bool) -> None:
    text = f"def check(m):\n    return {given}\n{taken} = check(model)\n"
    assert (figures_exchanged(script(text)) is not None) is wrong


ROUNDS = """
import torch
best = 1e9
for epoch in range(30):
    train(model)
    mae = check(model)
    if mae < best:
        best = mae
    {SAVE}
model.load_state_dict(torch.load('a.pt'))
print(check(model))
"""


@pytest.mark.parametrize(
    ("save", "wrong"),
    [
        ("torch.save(model.state_dict(), 'a.pt')", True),
        ("    torch.save(model.state_dict(), 'a.pt')", False),
        ("torch.save(model.state_dict(), 'last.pt')", False),
        ("torch.save(model.state_dict(), f'{epoch}.pt')", False),
        ("torch.save(model.state_dict(), 'a.pt')\n    print(best)", False),
    ],
)
def test_file_of_each_round(save: str, wrong: bool) -> None:
    assert (file_each_round(script(ROUNDS.replace("{SAVE}", save))) is not None) is wrong


CHOICE = """
import torch
lowest, top, highestF1 = float('inf'), -1.0, -1.0
for epoch in range(30):
    for x, y in loader:
        loss(model(x), y).backward()
        opt.step()
    out = check(model)
    vloss, vacc, f1 = check(model)
    {LINES}
"""


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ("if f1 > highestF1:\n        torch.save(model.state_dict(), 'a.pt')", True),
        ("if f1 > highestF1:\n        highestF1 = f1\n        torch.save(model.state_dict(), 'a.pt')", False),
        ("if vacc < lowest:\n        lowest = vacc\n        torch.save(model.state_dict(), 'a.pt')", True),
        ("e = error()\n    if e < lowest:\n        lowest = e\n        torch.save(model, 'a.pt')", False),
        ("if vloss < lowest:\n        lowest = vloss\n        torch.save(model.state_dict(), 'a.pt')", False),
        (
            "if out['loss'] > top:\n        top = out['loss']\n        torch.save(model, 'a.pt')",
            True,
        ),
        (
            "if out['acc'] > top:\n        top = out['acc']\n        torch.save(model.state_dict(), 'a.pt')",
            False,
        ),
    ],
)
def test_figure_to_beat(lines: str, wrong: bool) -> None:
    assert (state("script-best-chosen-wrongly", CHOICE.replace("{LINES}", lines)) == "present") is wrong


def test_names_of_held_out_figures() -> None:
    assert better_when_higher("vacc") is True
    assert better_when_higher("vloss") is False
    assert better_when_higher("vase") is None


TAPE = """
import tensorflow as tf
model, opt = Net(), tf.keras.optimizers.Adam()
accuracy = tf.keras.metrics.SparseCategoricalAccuracy()
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(each(y, model(x, training=True)))
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
for epoch in range(9):
    for x, y in train:
        step(x, y)
    {}
    for x, y in held:
        accuracy.update_state(y, model(x, training=False))
    print(float(accuracy.result()))
"""


@pytest.mark.parametrize(
    ("before", "told"),
    [
        ("pass", "present"),
        ("accuracy.reset_state()", "absent"),
        ("accuracy = tf.keras.metrics.SparseCategoricalAccuracy()", "absent"),
    ],
)
def test_metric_made_anew(before: str, told: str) -> None:
    assert state("script-metric-miscounts", TAPE.format(before)) == told
