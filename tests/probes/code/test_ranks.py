"""Several processes in scripts: calls past the data-parallel wrapper, shares of samples, mixed precision."""

from __future__ import annotations

import pytest

from traindoctor.engine.model import State

from ..script_diff.test_script_diff import kinds
from .test_checks import readings

TRAINS = """
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler


def train_one_epoch(model, loader, optimizer, scaler, amp):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16, enabled=amp):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def main(net, data, epochs, amp):
    dist.init_process_group("nccl")
    model = DDP(net)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=32, sampler=sampler)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda", enabled=amp)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        train_one_epoch(model, loader, optimizer, scaler, amp)
        torch.save(model.module.state_dict(), "last.pt")
"""
BYPASSED = {
    "at the call": [("cross_entropy(model(x)", "cross_entropy(model.module(x)")],
    "by another name": [
        ("    model.train()\n", "    model.train()\n    inner = model.module\n"),
        ("cross_entropy(model(x)", "cross_entropy(inner(x)"),
    ],
    "by the caller": [("        train_one_epoch(model,", "        train_one_epoch(model.module,")],
}
NOT_BYPASSED = {
    "the wrapped model": [],
    "one of two ways": [
        ("    model.train()\n", "    model.train()\n    inner = model.module\n    inner = model\n"),
        ("cross_entropy(model(x)", "cross_entropy(inner(x)"),
    ],
    "a target without gradients": [
        (
            "        optimizer.zero_grad()\n",
            "        with torch.no_grad():\n            soft = model.module(x)\n"
            "        optimizer.zero_grad()\n",
        )
    ],
    "joined by hand": [
        ("cross_entropy(model(x)", "cross_entropy(model.module(x)"),
        (
            "        scaler.step(",
            "        for p in model.parameters():\n            dist.all_reduce(p.grad)\n        scaler.step(",
        ),
    ],
}


def changed(pairs: list[tuple[str, str]]) -> str:
    """The program with some of its text replaced."""
    text = TRAINS
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("way", BYPASSED)
def test_training_past_the_wrapper_is_seen_however_the_inner_module_is_reached(way: str) -> None:
    assert readings(changed(BYPASSED[way]))["script-wrapper-bypassed"].state is State.PRESENT


@pytest.mark.parametrize("way", NOT_BYPASSED)
def test_what_trains_through_the_wrapper_is_not_told(way: str) -> None:
    assert readings(changed(NOT_BYPASSED[way]))["script-wrapper-bypassed"].state is State.ABSENT


def test_without_a_wrapper_nothing_is_known_of_it() -> None:
    text = changed([("model = DDP(net)", "model = net"), ("model.module", "model")])

    assert readings(text)["script-wrapper-bypassed"].state is State.UNKNOWN


@pytest.mark.parametrize(
    ("kind", "pairs"),
    [
        ("wrapper-bypassed", BYPASSED["at the call"]),
        ("autocast-left-out", [("enabled=amp):", "enabled=False):")]),
        (
            "autocast-left-out",
            [('with torch.autocast("cuda", dtype=torch.float16, enabled=amp):', "with scaler:")],
        ),
        (
            "sharding-left-out",
            [
                ("= DistributedSampler(data)", "= RandomSampler(data)"),
                ("        sampler.set_epoch(epoch)\n", ""),
            ],
        ),
    ],
)
def test_what_is_left_out_against_the_benchmark_is_told_for_what_it_is(
    kind: str, pairs: list[tuple[str, str]]
) -> None:
    assert kind in kinds(changed(pairs), TRAINS)


@pytest.mark.parametrize(
    ("kind", "pairs"),
    [
        ("autocast-left-out", [("torch.float16", "torch.bfloat16")]),
        ("sharding-left-out", [("DistributedSampler(data)", "DistributedSampler(data, shuffle=False)")]),
    ],
)
def test_what_is_there_in_another_form_is_not_left_out(kind: str, pairs: list[tuple[str, str]]) -> None:
    assert kind not in kinds(changed(pairs), TRAINS)
