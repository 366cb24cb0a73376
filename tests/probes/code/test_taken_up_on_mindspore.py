"""Programs that go on from a checkpoint, MindSpore's above all, and epochs that are run twice."""

from __future__ import annotations

import ast

from traindoctor.engine.model import State
from traindoctor.probes.code.evaluation.best import _comparison_reversed
from traindoctor.probes.code.mindspore import resumed
from traindoctor.probes.code.model.axes import reshaped_lambda
from traindoctor.probes.code.model.branches import added_to_itself
from traindoctor.probes.code.model.wiring import _value_unused
from traindoctor.probes.code.resume.taken_up import epoch_repeated
from traindoctor.probes.scripts.syntax import Script

MODEL = """
import mindspore as ms
from mindspore import nn
from mindspore.train import CheckpointConfig, Model, ModelCheckpoint

optimizer = nn.Adam(net.trainable_params(), 1e-3)
first = 0
if args.load:
    saved = ms.load_checkpoint(args.load)
    ms.load_param_into_net(net, saved)
    ms.load_param_into_net(optimizer, saved)
    first = int(saved["epoch_num"])
model = Model(net, loss, optimizer)
keep = ModelCheckpoint("net", "out", CheckpointConfig(append_info=["epoch_num"]))
model.train(10, data, callbacks=[keep], initial_epoch=first)
"""
LOOP = """
import torch
start, best = 0, 0.0
if args.resume:
    state = torch.load(args.resume)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    start, best = state["epoch"] + 1, state["best"]
for epoch in range(start, args.epochs):
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    best = max(best, evaluate(model))
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch, "best": best}
    torch.save(state, "last.pt")
"""
BLOCK = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1)
        self.second = nn.Conv2d(width, width, 3, padding=1)
        self.down = nn.Conv2d(width, width, 1) if width > 64 else None

    def forward(self, x):
        identity = x
        out = self.second(self.first(x).relu())
        if self.down is not None:
            identity = self.down(identity)
        out = torch.add(out, identity)
        return out.relu()
"""


def state(check: object, text: str, *edits: tuple[str, str]) -> State | None:
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    found = check(Script("train.py", text, ast.parse(text)))  # type: ignore[operator]
    return found.state if found is not None else None


def test_an_optimizer_that_is_not_given_back() -> None:
    left = ("    ms.load_param_into_net(optimizer, saved)\n", "")

    assert state(resumed.optimizer_not_given_back, MODEL) is State.ABSENT
    assert state(resumed.optimizer_not_given_back, MODEL, left) is State.PRESENT
    pretrained = ('    first = int(saved["epoch_num"])\n', "")
    assert state(resumed.optimizer_not_given_back, MODEL, left, pretrained) is None


def test_weights_that_no_network_gets() -> None:
    left = ("    ms.load_param_into_net(net, saved)\n", "")

    assert state(resumed.network_not_given_back, MODEL) is None
    assert state(resumed.network_not_given_back, MODEL, left) is State.PRESENT
    at_once = ("load_checkpoint(args.load)", "load_checkpoint(args.load, net)")
    assert state(resumed.network_not_given_back, MODEL, left, at_once) is None


def test_a_count_that_training_is_not_told_of() -> None:
    left = (", initial_epoch=first", "")

    assert state(resumed.count_in_vain, MODEL) is None
    assert state(resumed.count_in_vain, MODEL, left) is State.PRESENT
    shorter = ("model.train(10, data", "model.train(10 - first, data")
    assert state(resumed.count_in_vain, MODEL, left, shorter) is None


def test_an_epoch_that_is_done_and_run_again() -> None:
    bare = ('state["epoch"] + 1', 'state["epoch"]')

    assert state(epoch_repeated, LOOP) is None
    assert state(epoch_repeated, LOOP, bare) is State.PRESENT
    assert state(epoch_repeated, LOOP, bare, ('"epoch": epoch,', '"epoch": epoch + 1,')) is None
    assert state(epoch_repeated, LOOP, bare, ("for epoch in", "start += 1\nfor epoch in")) is None
    early = (
        "    for x, y in loader:",
        "    torch.save(dict(epoch=epoch), 'early.pt')\n    for x, y in loader:",
    )
    assert state(epoch_repeated, LOOP, bare, early) is State.PRESENT
    within = (
        "        optimizer.step()",
        '        optimizer.step()\n        torch.save({"epoch": epoch, "step": 1}, "mid.pt")',
    )
    assert state(epoch_repeated, LOOP, bare, within) is None


def test_a_skip_that_goes_nowhere() -> None:
    assert state(_value_unused, BLOCK) is State.ABSENT
    assert state(_value_unused, BLOCK, ("torch.add(out, identity)", "torch.relu(out)")) is State.PRESENT
    assert (
        state(_value_unused, BLOCK, ("identity = self.down(identity)", "identity = self.down(x)"))
        is State.ABSENT
    )


def test_a_branch_added_to_itself() -> None:
    assert state(added_to_itself, BLOCK) is None
    assert state(added_to_itself, BLOCK, ("torch.add(out, identity)", "torch.add(out, out)")) is State.PRESENT
    assert state(added_to_itself, BLOCK, ("torch.add(out, identity)", "out + out")) is State.PRESENT
    assert state(added_to_itself, BLOCK, ("torch.add(out, identity)", "2 * out + identity")) is None
    joined = ("torch.add(out, identity)", "torch.cat((self.first(x), self.first(x)), dim=1)")
    assert state(added_to_itself, BLOCK, joined) is State.PRESENT


def test_channels_that_a_reshape_puts_first() -> None:
    text = "import numpy as np\nturn = lambda x: x.reshape({})\n"

    assert state(reshaped_lambda, text.format("3, x.shape[0], x.shape[1]")) is State.PRESENT
    assert state(reshaped_lambda, text.format("1, x.shape[0], x.shape[1]")) is None
    assert state(reshaped_lambda, text.format("x.shape[0], x.shape[1], 1")) is None


def test_the_worst_kept_of_a_figure_by_its_key() -> None:
    text = """
class Keep:
    def epoch_end(self, run):
        res = self.model.eval(self.data)["top_1_accuracy"]
        if res >= self.best_res:
            self.best_res = res
            save_checkpoint(self.net, self.path)
"""

    assert state(_comparison_reversed, text) is State.ABSENT
    assert state(_comparison_reversed, text, (">=", "<=")) is State.PRESENT
    assert state(_comparison_reversed, text, (">=", "<="), ("top_1_accuracy", "loss")) is State.ABSENT
