"""What was asked for is no proof: half precision, loss scaling and several processes, seen at work or not."""

from __future__ import annotations

from typing import Any

import pytest

from traindoctor.engine.model import Reading
from traindoctor.probes.registry import View, collect
from traindoctor.probes.run import Event, Run

from .._build import run, series, written
from .._read import probes, symptoms

DISABLED = Event("known-warning", "log.txt", 3, text="CUDA is not available. Disabling", data="amp-disabled")
NO_SCALER = Event(
    "known-warning",
    "log.txt",
    3,
    text="GradScaler is enabled, but CUDA is not available",
    data="amp-disabled",
)
ONE_PROCESS = "model = Net()\nfor x, y in loader:\n    loss(model(x), y).backward()\n    opt.step()\n"
DDP = f"import torch.distributed as dist\ndist.init_process_group('nccl')\n{ONE_PROCESS}"


def read(symptom: str, mine: Run, benchmark: Run | None = None) -> Reading:
    found = collect(View(mine, benchmark), [symptoms("in_force")[symptom]], probes())[symptom]
    assert not found.why.startswith("probe error")
    return found


def scale(*values: float) -> Any:
    return series("loss_scale", values)


PRECISION: list[tuple[str, Run]] = [
    ("present", written({"precision": "fp32"})),
    ("present", written({"fp16": True}, events=[DISABLED])),
    ("present", written({"fp16": True}, facts={"precision": "32bit"})),
    ("absent", written({"fp16": True}, facts={"precision": "16bit"})),
    ("absent", written({"precision": "bf16"}, facts={"precision": "bfloat16"})),
    ("absent", written({"fp16": True}, [scale(1024, 1024, 512)])),
    ("absent", written({"fp16": True}, events=[Event("overflow", "log.txt", 9, value=512.0)])),
    ("unknown", written({"fp16": True})),
    (
        "unknown",
        written({"precision": "bf16"}, scripts={"train.py": "with autocast('cuda', torch.bfloat16): pass"}),
    ),
    ("unknown", written({"fp16": True}, [scale(1, 1, 1)])),
    ("unknown", written({"lr": 0.1})),
]


@pytest.mark.parametrize(("expected", "side"), PRECISION)
def test_full_precision_of_both_sides(expected: str, side: Run) -> None:
    """Half precision counts once the log shows it; asking for it, in settings or script, leaves it open."""
    mine = read("full-precision-in-use", side)
    theirs = read("benchmark-full-precision", run(), side)

    assert (mine.state, theirs.state) == (expected, expected), mine.why
    assert theirs.why.startswith("the benchmark: ")
    assert {p.side for p in theirs.where} <= {"benchmark"}


def test_without_a_benchmark_its_format_is_unknown() -> None:
    """No benchmark, no reading; the sentence says what to give."""
    assert read("benchmark-full-precision", run()).why == "needs a benchmark run (--benchmark)"


@pytest.mark.parametrize(
    ("expected", "mine"),
    [
        ("present", written({"fp16": True}, [scale(*[1.0] * 12)])),
        ("present", written({"fp16": True}, events=[NO_SCALER])),
        ("absent", written({"fp16": True}, [scale(65536, 65536, 32768)])),
        ("absent", written({"fp16": True}, events=[Event("loss-scale", "log.txt", 9, value=512.0)])),
        ("absent", written({"precision": "bf16"})),
        ("absent", written({"precision": "fp32"})),
        ("unknown", written({"fp16": True, "loss_scale": 1024})),
        ("unknown", written({"fp16": True, "initial_loss_scale": 1024})),
        ("unknown", written({"fp16": True}, [scale(1, 1, 1)])),
        ("unknown", written({"fp16": True})),
        ("unknown", written({"lr": 0.1})),
    ],
)
def test_loss_not_scaled(expected: str, mine: Run) -> None:
    """A configured scale is a wish; a logged one above 1 is at work, one that stays at 1 is not."""
    found = read("loss-not-scaled", mine)

    assert found.state == expected, found.why


def test_a_scale_at_work_is_told_with_its_changes() -> None:
    """The sentence says from where the scale came and how often it moved."""
    found = read("loss-not-scaled", written({"fp16": True}, [scale(1024, 512, 512, 256)]))

    assert found.why == "the log shows a loss scale from 1024 that changes 2 times"


@pytest.mark.parametrize(
    ("expected", "mine"),
    [
        ("present", written({"world_size": 8}, facts={"world_size": 1})),
        ("present", written({"nproc_per_node": 4, "distributed": False})),
        ("present", written({"device_num": 1, "run_distribute": False}, ranks={0: {}, 1: {}})),
        ("absent", written({"world_size": 1, "distributed": True}, ranks={0: {}, 1: {}})),  # one machine
        ("absent", written({"world_size": 8}, facts={"world_size": 8})),
        ("absent", written({"world_size": 8}, facts={"communicator_size": 8})),
        ("absent", run(ranks={0: {}, 1: {}})),
        ("absent", written({"world_size": 1})),
        ("absent", written({"distributed": False})),
        ("absent", run(scripts={"train.py": ONE_PROCESS})),
        ("unknown", written({"world_size": 8})),
        ("unknown", written({"world_size": 8}, ranks={0: {}, 1: {}})),
        ("unknown", run(scripts={"train.py": DDP})),
        ("unknown", run()),
    ],
)
def test_trains_alone(expected: str, mine: Run) -> None:
    """Eight asked for and one counted is the fault; eight asked for and nothing counted is not known."""
    found = read("trains-alone", mine)

    assert found.state == expected, found.why


@pytest.mark.parametrize(
    ("expected", "ends", "scales"),
    [("present", 0.1, [1.0] * 20), ("absent", 1.8, [1.0] * 20), ("unknown", 0.1, [1024.0] * 20)],
)
def test_a_run_that_needs_no_scale_may_not_be_in_half_precision(
    expected: str, ends: float, scales: list[float]
) -> None:
    """A scale of 1 and a loss that falls to the end: the scaler was switched off, and the rest with it."""
    loss = series("train/loss", [2.3 + (ends - 2.3) * i / 19 for i in range(20)])

    assert (
        read("learns-without-loss-scale", written({"fp16": True}, [loss, scale(*scales)])).state == expected
    )
