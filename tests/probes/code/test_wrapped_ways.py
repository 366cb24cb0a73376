# ruff: noqa: E501
"""Training past a wrapper, in the step's helpers and under second names; best weights that are read in vain."""

from __future__ import annotations

import pytest

from .._scripts import state
from ._several import ACCELERATE, DDP, says

Pairs = list[tuple[str, str]]
CALL = "cross_entropy(model(x.to(device)), y.to(device))"
WRAPPED = "    model = DDP(net, device_ids=[rank])\n"
HELPER = (
    "def main(args):",
    "def loss_of(net, x, y):\n    return cross_entropy({}(x), y)\n\ndef main(args):",
)


def _helper(name: str) -> tuple[str, str]:
    return HELPER[0], HELPER[1].replace("{}", name)


PAST: list[tuple[str, Pairs]] = [
    ("present", [(CALL, "loss_of(model.module, x, y)"), _helper("net")]),
    ("present", [(CALL, "loss_of(model, x, y)"), _helper("net.module")]),
    ("present", [(CALL, "cross_entropy(net(x), y)")]),
    ("present", [(WRAPPED, "    bird = net\n" + WRAPPED), (CALL, "cross_entropy(bird(x), y)")]),
    ("absent", []),
    ("absent", [(CALL, "loss_of(model, x, y)"), _helper("net")]),
    ("absent", [(WRAPPED, WRAPPED + "    bird = model\n"), (CALL, "cross_entropy(bird(x), y)")]),
    ("unknown", [(WRAPPED, "    model = net\n"), ("model.module.state_dict", "model.state_dict")]),
]


@pytest.mark.parametrize(("wanted", "pairs"), PAST)
def test_the_wrapper_runs_in_training(wanted: str, pairs: Pairs) -> None:
    found = says("script-wrapper-bypassed", DDP, *pairs)
    assert found == wanted or (wanted == "absent" and found != "present")


@pytest.mark.parametrize(
    ("wrong", "way"),
    [
        (True, "net = accelerator.unwrap_model(model)"),
        (True, "net = model.module if hasattr(model, 'module') else model"),
        (False, "net = model"),
    ],
)
def test_a_second_name_for_the_prepared_model(wrong: bool, way: str) -> None:
    text = ACCELERATE.replace("loss_of(model(x), y)", "loss_of(net(x), y)")
    text = text.replace("        model.train()\n", f"        model.train()\n        {way}\n")
    assert (state("script-wrapper-bypassed", text) == "present") is wrong


KEPT = """
import torch
from net import Net, loaders, loss_of, accuracy
def main(epochs):
    net, best = Net(), 0.0
    train, val, test = loaders()
    opt = torch.optim.AdamW(net.parameters())
    for epoch in range(epochs):
        net.train()
        for x, y in train:
            opt.zero_grad()
            loss_of(net(x), y).backward()
            opt.step()
        torch.save(net.state_dict(), "last.pt")
        value = accuracy(net, val)
        if value > best:
            best = value
            torch.save(net.state_dict(), "best.pt")
    {READ}
    print(accuracy(net, test))
main(9)
"""
READS = [
    ("present", "net.load_state_dict(torch.load('last.pt'))"),
    ("present", "state = torch.load('best.pt')"),
    ("not", "net.load_state_dict(torch.load('best.pt'))"),
    ("not", "state = torch.load('best.pt')\n    net.load_state_dict(state)"),
    ("not", "net.load_state_dict(torch.load('last.pt'))\n    net.load_state_dict(torch.load('best.pt'))"),
]


@pytest.mark.parametrize(("wanted", "read"), READS)
def test_the_best_weights_are_scored(wanted: str, read: str) -> None:
    found = state("script-last-instead-of-best", KEPT.replace("{READ}", read))
    assert (found == "present") is (wanted == "present")
