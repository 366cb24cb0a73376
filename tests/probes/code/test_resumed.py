# ruff: noqa: E501
"""Checkpoints: what is put into them against what is taken out again."""

from __future__ import annotations

import pytest

from .._scripts import state

RESUME = "script-resume-incomplete"
TRAINER = """
import torch
from torch import nn
class Trainer:
    def __init__(self, net, args):
        self.net, self.args = net, args
        self.opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, args.epochs)
        self.start = 0
        self.best = 0.0
        if args.resume:
            self.load(args.resume)
        {AFTER}
    def load(self, path):
        state = torch.load(path)
        self.net.load_state_dict(state["net"])
        self.opt.load_state_dict(state["opt"])
        self.sched.load_state_dict(state["sched"])
        self.start = state["epoch"] + 1
        self.best = state["best"]
    def save(self, epoch):
        torch.save({"net": self.net.state_dict(), "opt": self.opt.state_dict(), "sched": self.sched.state_dict(), "epoch": epoch, "best": self.best}, "last.pt")
    def fit(self):
        for epoch in range(self.start, self.args.epochs):
            for x, y in self.loader:
                self.opt.zero_grad(); nn.functional.cross_entropy(self.net(x), y).backward(); self.opt.step()
            self.sched.step()
            score = self.evaluate()
            if score > self.best:
                self.best = score
            self.save(epoch)
"""
PLAIN = """
import torch
def main(net, loader, resume, epochs):
    optimizer = torch.optim.AdamW(net.parameters())
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    start_epoch = 0
    if resume:
        ckpt = torch.load(resume)
        net.load_state_dict(ckpt["model"])
        optimizer.load_state_dict(ckpt["optimizer"])
        {SCHED}
        start_epoch = ckpt["epoch"]
    for epoch in range(start_epoch, epochs):
        for x, y in loader:
            optimizer.zero_grad(); net(x).sum().backward(); optimizer.step()
        scheduler.step({ARG})
        state = dict(model=net.state_dict(), optimizer=optimizer.state_dict(), epoch=epoch + 1)
        {MORE}
        torch.save(state, "last.pt")
"""


def _trainer(*edits: tuple[str, str], after: str = "pass") -> str:
    text = TRAINER.replace("{AFTER}", after)
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    return text


def test_everything_comes_back() -> None:
    assert state(RESUME, _trainer()) == "absent"


@pytest.mark.parametrize(
    "edits",
    [
        [('        self.sched.load_state_dict(state["sched"])\n', "")],
        [
            ('        self.sched.load_state_dict(state["sched"])\n', ""),
            ('"sched": self.sched.state_dict(), ', ""),
        ],
        [('        self.opt.load_state_dict(state["opt"])\n', ""), ('"opt": self.opt.state_dict(), ', "")],
        [('        self.start = state["epoch"] + 1\n', "")],
        [('        self.best = state["best"]\n', "")],
        [('        self.net.load_state_dict(state["net"])\n', "")],
        [("range(self.start, self.args.epochs)", "range(self.args.epochs)")],
    ],
)
def test_something_is_left(edits: list[tuple[str, str]]) -> None:
    assert state(RESUME, _trainer(*edits)) == "present"


def test_the_count_is_set_again() -> None:
    assert state(RESUME, _trainer(after="self.start = 0")) == "present"
    assert state(RESUME, _trainer(after="self.total = 0")) == "absent"


def _plain(sched: str = "pass", arg: str = "", more: str = "pass") -> str:
    return PLAIN.replace("{SCHED}", sched).replace("{ARG}", arg).replace("{MORE}", more)


def test_a_schedule_that_starts_anew() -> None:
    assert state(RESUME, _plain()) == "present"


@pytest.mark.parametrize(
    ("sched", "arg", "more"),
    [
        ("scheduler.load_state_dict(ckpt['sched'])", "", "state['sched'] = scheduler.state_dict()"),
        ("pass", "epoch", "pass"),  # it is told where it is
        ("scheduler.last_epoch = ckpt['epoch']", "", "pass"),
    ],
)
def test_a_schedule_that_knows_where_it_is(sched: str, arg: str, more: str) -> None:
    assert state(RESUME, _plain(sched, arg, more)) != "present"


def test_weights_alone_are_another_training() -> None:
    code = TRAINER.replace("{AFTER}", "pass")
    for line in (
        'self.opt.load_state_dict(state["opt"])',
        'self.sched.load_state_dict(state["sched"])',
        'self.start = state["epoch"] + 1',
        'self.best = state["best"]',
    ):
        code = code.replace(line, "pass")
    code = code.replace("if args.resume:", "if args.weights:").replace("args.resume", "args.weights")
    assert state(RESUME, code) != "present"


@pytest.mark.parametrize(
    ("start", "wrong"),
    [
        ("start_epoch, best = 0, 0.0", True),
        ("start_epoch, best = first_and_best()", False),
        ("start_epoch, best = 0, 0.0\n    if resume: start_epoch += 1", False),
    ],
)
def test_an_epoch_that_is_begun_with_beside_others(start: str, wrong: bool) -> None:
    text = PLAIN.replace("start_epoch = 0", start).replace('        start_epoch = ckpt["epoch"]\n', "")
    text = text.replace("{SCHED}", "pass").replace("{ARG}", "").replace("{MORE}", "torch.save(state, resume)")
    text = text.replace("epoch=epoch + 1)", "epoch=epoch + 1, sched=scheduler.state_dict())")
    text = text.replace("        pass\n", '        scheduler.load_state_dict(ckpt["sched"])\n')
    assert (state(RESUME, text) == "present") is wrong


SHARDED = """
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
def save(path, model, optimizer, scheduler, scaler, epoch):
    weights, moments = gathered(model), FSDP.full_optim_state_dict(model, optimizer)
    extra = {"scheduler": scheduler.state_dict(), "scaler": scaler.state_dict(), "epoch": epoch}
    torch.save({"model": weights, "optimizer": moments, **extra}, path)
def restore(path, model, optimizer, scheduler, scaler):
    saved = torch.load(path)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(FSDP.shard_full_optim_state_dict(saved["optimizer"], model))
    scheduler.load_state_dict(saved["scheduler"])
    scaler.load_state_dict(saved["scaler"])
    return saved["epoch"] + 1
def weights_of(path, model):
    model.load_state_dict(torch.load(path)["model"])
"""
BACK = {
    "optimizer": '    optimizer.load_state_dict(FSDP.shard_full_optim_state_dict(saved["optimizer"], model))\n',
    "scheduler": '    scheduler.load_state_dict(saved["scheduler"])\n',
}


@pytest.mark.parametrize("gone", [None, "optimizer", "scheduler"])
def test_a_state_that_is_saved_beside_others_and_never_read(gone: str | None) -> None:
    text = SHARDED.replace(BACK[gone], "") if gone else SHARDED

    assert (state(RESUME, text) == "present") is (gone is not None)


CLIENT = """
import deepspeed, torch
def main(net, loader, epochs, resume):
    engine, _, _, _ = deepspeed.initialize(model=net, config="ds.json")
    first, best = 0, 0.0
    if resume:
        _, client = engine.load_checkpoint("out", tag="last")
        {READ}
    for epoch in range(first, epochs):
        for x, y in loader:
            engine.backward(engine(x, y))
            engine.step()
        score = evaluate(engine)
        if score > best:
            best = score
            engine.save_checkpoint("out", tag="best")
        engine.save_checkpoint("out", tag="last", client_state={"epoch": epoch, "best": best})
"""


@pytest.mark.parametrize(
    ("read", "wrong"),
    [
        ('first, best = client["epoch"] + 1, client["best"]', False),
        ('first = client["epoch"] + 1', True),
        ('best = client["best"]', True),
    ],
)
def test_what_the_client_of_an_engine_keeps(read: str, wrong: bool) -> None:
    assert (state(RESUME, CLIENT.replace("{READ}", read)) == "present") is wrong


QUEUED = """
import copy
import torch
from pathlib import Path
def run(cfg):
    net = make(cfg)
    slow = copy.deepcopy(net)
    opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 9)
    first = 0
    if Path("last.pt").exists():
        saved = torch.load("last.pt")
        {GIVEN}
        first = saved["epoch"] + 1
    for epoch in range(first, 9):
        for x, y in loader:
            opt.zero_grad(); net(x).sum().backward(); opt.step()
        sched.step()
        torch.save({"net": net.state_dict(), "{KEY}": slow.state_dict(), "opt": opt.state_dict(), "sched": sched.state_dict(), "epoch": epoch}, "last.pt")
run(load_config())
"""
ALL = """net.load_state_dict(saved["net"])
        ema.load_state_dict(saved["ema"])
        opt.load_state_dict(saved["opt"])
        sched.load_state_dict(saved["sched"])"""


@pytest.mark.parametrize(
    ("given", "present"),
    [
        (ALL, False),
        ('ema.load_state_dict(saved["ema"])', True),
        ('opt.load_state_dict(saved["opt"])\n        sched.load_state_dict(saved["sched"])', True),
    ],
)
def test_the_weights_are_left_where_they_are(given: str, present: bool) -> None:
    """The average, or the optimizer, is given back, and the network begins anew."""
    text = QUEUED.replace("{GIVEN}", given).replace("slow", "ema").replace("{KEY}", "ema")
    assert (state(RESUME, text) == "present") is present
