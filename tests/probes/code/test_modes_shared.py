"""One function for training and evaluation, and cells of MindSpore: which mode the model is in."""

from __future__ import annotations

import pytest

from .._scripts import state

MODE = "script-mode-wrong"
SHARED = """
import torch
from torch import nn
net = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1), nn.Linear(4, 2))
def run(net, loader, loss_fn, {PARAM}):
    {SET}
    {MODE}
    for x, y in loader:
        loss = loss_fn(net(x), y)
        if {TEST}:
            opt.zero_grad(); loss.backward(); opt.step()
opt = torch.optim.SGD(net.parameters(), 0.1)
for epoch in range(9):
    run(net, train, nn.CrossEntropyLoss(), {CALLS[0]})
    run(net, val, nn.CrossEntropyLoss(), {CALLS[1]})
"""
WAYS = [
    ("opt=None", "training = opt is not None", "training", ("opt", "opt=None"), "training"),
    ("train=True", "pass", "train", ("True", "train=False"), "train"),
    ("opt=None", "pass", "opt is not None", ("opt=opt", "None"), "opt is not None"),
    ("phase", "pass", "phase == 'train'", ("'train'", "'val'"), "phase == 'train'"),
    ("is_train", "pass", "is_train", ("True", "is_train=False"), "bool(is_train)"),
]


def _shared(way: tuple[str, str, str, tuple[str, str], str], mode: str) -> str:
    param, set_, test, calls, _ = way
    text = (
        SHARED.replace("{PARAM}", param)
        .replace("{SET}", set_)
        .replace("{TEST}", test)
        .replace("{MODE}", mode)
    )
    return text.replace("{CALLS[0]}", calls[0]).replace("{CALLS[1]}", calls[1])


@pytest.mark.parametrize("way", WAYS)
def test_one_function_for_both(way: tuple[str, str, str, tuple[str, str], str]) -> None:
    asked = way[4]
    assert state(MODE, _shared(way, f"net.train({asked})")) != "present"
    assert state(MODE, _shared(way, f"if {asked}: net.train()\n    else: net.eval()")) != "present"
    assert state(MODE, _shared(way, f"net.train(not ({asked}))")) == "present"
    assert state(MODE, _shared(way, "net.train()")) == "present"


def test_a_caller_that_only_trains() -> None:
    way = ("opt=None", "pass", "opt is not None", ("opt", "other"), "")
    assert state(MODE, _shared(way, "net.train()")) != "present"


CELL = """
import mindspore as ms
from mindspore import nn
net = nn.SequentialCell(nn.Dense(4, 4), nn.Dropout(p=0.1), nn.Dense(4, 2))
opt = nn.SGD(net.trainable_params(), 0.1)
grad_fn = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, opt.parameters)
def step(x, y):
    loss, grads = grad_fn(x, y)
    opt(grads)
def score(net, test):
    {OFF}
    for x, y in test.create_tuple_iterator():
        right = (net(x).argmax(1) == y).sum()
def main():
    for epoch in range(9):
        net.set_train()
        for x, y in train.create_tuple_iterator():
            step(x, y)
        score(net, test)
main()
"""


@pytest.mark.parametrize(
    ("off", "found"), [("net.set_train(False)", False), ("pass", True), ("net.set_train(mode=False)", False)]
)
def test_a_cell_is_switched_off(off: str, found: bool) -> None:
    assert (state(MODE, CELL.replace("{OFF}", off)) == "present") is found


def test_a_cell_without_modes() -> None:
    assert state(MODE, CELL.replace("{OFF}", "pass").replace("nn.Dropout(p=0.1)", "nn.ReLU()")) != "present"
