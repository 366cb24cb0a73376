"""The first operator that leaves the range of numbers, who passes it on, and what is harmless."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from traindoctor.engine.model import OverflowReport
from traindoctor.probes.files import walk
from traindoctor.probes.tensors.compare import NotADump
from traindoctor.probes.tensors.opdebug import decode, flags
from traindoctor.probes.tensors.overflow import Options, examine

from ._dumps import SHARED, msprobe

INF = math.inf
sample = pytest.mark.skipif(not SHARED.is_dir(), reason="../shared is not here")
X = np.array([1.0, 2.0, 3.0], np.float32)
BAD = np.array([1.0, np.nan, 3.0], np.float32)
UP = np.array([1.0, np.inf, 3.0], np.float32)
HIDDEN = np.array([1.0, -np.inf, 3.0], np.float32)


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


def of(tmp_path: Path, *calls: Any, **rest: Any) -> OverflowReport:
    msprobe(tmp_path / "step0" / "rank0", calls, **rest)
    return examine(tmp_path)


def states(found: OverflowReport) -> list[tuple[str, str]]:
    return [(o.name.split(".")[1], o.state) for o in found.operators]


def test_the_operator_that_makes_it_is_told_from_those_that_pass_it_on(tmp_path: Path) -> None:
    found = of(
        tmp_path,
        ("Functional.linear.0.forward", [X], [X]),
        ("Torch.div.0.forward", [X, X * 0], [UP]),
        ("Functional.relu.0.forward", [UP], [UP]),
        ("Torch.nan_to_num.0.forward", [UP], [X]),
        ("Torch.log.0.forward", [X], [BAD]),
        stack={"Torch.div.0.forward": "18, in forward, \n h = x / s"},
    )

    assert found.kind == "operator"
    assert states(found) == [
        ("div", "first"),
        ("relu", "passed on"),
        ("nan_to_num", "absorbed"),
        ("log", "also"),
    ]
    assert found.first is not None
    assert found.first.source.startswith("net.py:18")
    assert "epsilon" in found.next_steps[0]


@pytest.mark.parametrize("tensors", ["", "npy", "pt"])
def test_values_and_statistics_tell_the_same(tmp_path: Path, tensors: str) -> None:
    calls = [("Functional.gelu.0.forward", [X], [X]), ("Torch.exp.0.forward", [X], [UP])]
    found = of(tmp_path, *calls, tensors=tensors)

    assert (found.kind, found.first and found.first.kind) == ("operator", "exp")


def test_a_clean_dump_is_clean(tmp_path: Path) -> None:
    found = of(tmp_path, ("Functional.linear.0.forward", [X], [X]))

    assert (found.kind, found.first, found.operators) == ("clean", None, ())


def test_half_precision_saturates_and_fp32_does_not(tmp_path: Path) -> None:
    top = np.array([1.0, 65504.0], np.float16)
    half = of(tmp_path / "a", ("Torch.matmul.0.forward", [X.astype(np.float16)], [top]))
    full = of(tmp_path / "b", ("Torch.matmul.0.forward", [X], [top.astype(np.float32)]))

    assert half.kind == "operator"
    assert "saturated" in half.verdict
    assert any("fp32" in s and "bf16" in s for s in half.next_steps)
    assert full.kind == "clean"


def test_masks_are_harmless_until_a_row_has_nothing_left(tmp_path: Path) -> None:
    calls = [
        ("Tensor.masked_fill.0.forward", [X, -INF], [HIDDEN]),
        ("Torch.add.0.forward", [X, HIDDEN], [HIDDEN]),
    ]
    fine = of(tmp_path / "a", *calls, ("Functional.softmax.0.forward", [HIDDEN], [X]))
    empty = of(tmp_path / "b", *calls, ("Functional.softmax.0.forward", [HIDDEN], [BAD]))

    assert fine.kind == "harmless"
    assert states(fine) == [("masked_fill", "harmless"), ("add", "harmless"), ("softmax", "absorbed")]
    assert empty.kind == "operator"
    assert empty.first is not None
    assert (empty.first.kind, empty.first.why) == ("softmax", "every entry of a row is masked")


def test_a_logarithm_of_zero_is_no_mask(tmp_path: Path) -> None:
    found = of(tmp_path, ("Torch.log.0.forward", [X * 0], [HIDDEN]))

    assert (found.kind, found.first and found.first.kind) == ("operator", "log")


def test_memory_that_nobody_wrote_is_harmless(tmp_path: Path) -> None:
    found = of(tmp_path, ("Torch.empty.0.forward", [3], [BAD]), ("Functional.linear.0.forward", [X], [X]))

    assert found.kind == "harmless"


def test_what_comes_in_from_outside_is_named_by_where_it_comes_from(tmp_path: Path) -> None:
    inputs = of(tmp_path / "a", ("Functional.linear.0.forward", [BAD], [BAD]))
    between = of(
        tmp_path / "b",
        ("Functional.linear.0.forward", [X], [X]),
        ("Functional.relu.0.forward", [BAD], [BAD]),
    )

    assert inputs.kind == "input"
    assert between.kind == "outside"


def test_weights_that_are_bad_already_point_at_the_step_before(tmp_path: Path) -> None:
    folder = msprobe(tmp_path / "step3" / "rank0", [("Module.fc.Linear.forward.0", [X], [BAD])])
    content = json.loads((folder / "dump.json").read_text())
    content["data"]["Module.fc.Linear.forward.0"]["parameters"] = {
        "weight": {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [3], "Max": float("nan"),
                   "Min": float("nan"), "Mean": float("nan"), "Norm": float("nan")}
    }  # fmt: skip
    (folder / "dump.json").write_text(json.dumps(content))
    found = examine(tmp_path)

    assert found.kind == "weights"
    assert "step before" in found.next_steps[0]


def test_an_in_place_operator_is_the_source_although_its_input_reads_bad(tmp_path: Path) -> None:
    found = of(
        tmp_path,
        ("Functional.linear.0.forward", [X], [X]),
        ("Tensor.div_.0.forward", [BAD, X * 0], [BAD]),
    )

    assert (found.kind, found.first and found.first.kind) == ("operator", "div_")


def test_a_rank_that_puts_it_into_a_collective_is_found(tmp_path: Path) -> None:
    for rank, start in ((0, X), (1, BAD)):
        calls = [
            ("Torch.log.0.forward", [X], [start]),
            ("Distributed.all_reduce.0.forward", [start], [BAD]),
        ]
        msprobe(tmp_path / "step0" / f"rank{rank}", calls)
    found = examine(tmp_path)

    assert found.first is not None
    assert (found.first.kind, found.first.rank) == ("log", 1)
    assert {(o.kind, o.rank): o.state for o in found.operators}["all_reduce", 0] == "passed on"


def test_the_calibration_of_a_loss_scale_is_harmless(tmp_path: Path) -> None:
    half = X.astype(np.float16)
    over = UP.astype(np.float16)
    msprobe(tmp_path / "step0" / "rank0", [("Functional.linear.0.backward", [half], [over])])

    assert examine(tmp_path, Options(calibrated=5)).kind == "harmless"
    assert examine(tmp_path).kind == "operator"


def test_one_rank_or_step_alone(tmp_path: Path) -> None:
    msprobe(tmp_path / "step0" / "rank0", [("Torch.exp.0.forward", [X], [X])])
    msprobe(tmp_path / "step1" / "rank0", [("Torch.exp.0.forward", [X], [UP])])

    assert examine(tmp_path, Options(step=0)).kind == "clean"
    assert examine(tmp_path, Options(step=1)).kind == "operator"
    with pytest.raises(NotADump, match="no rank or step"):
        examine(tmp_path, Options(step=7))


def test_what_is_no_dump_says_so(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("step 1 loss 2\n")

    with pytest.raises(NotADump, match="no operator dump"):
        examine(tmp_path)


# -------------------------------------------------------------------------------------------- flags


FLOAT, SIGN = "floating-point arithmetic overflows", "a negative number overflows when its sign is changed"
CAST = "fp32 to fp16, or a 32-bit integer to fp16, overflows"


@pytest.mark.parametrize(
    ("unit", "status", "words"),
    [
        ("AI Core", 0x20, (FLOAT,)),
        ("AIC", 0x108, (SIGN, CAST)),
        ("DHA Atomic Add", 0x9, ("an atomic addition overflows upwards",)),
        ("DHA Atomic Add", 0xD, ("an atomic addition has NaN as source and target",)),
        ("L2 Atomic Add", 0b010 << 16, ("an atomic addition overflows downwards",)),
        ("AI Core", 0x1, ()),
    ],
)
def test_status_bits_in_words(unit: str, status: int, words: tuple[str, ...]) -> None:
    assert decode(unit, status) == words


def test_both_dialects_are_read_and_the_first_is_the_earliest(tmp_path: Path) -> None:
    old = {"DHA Atomic Add": {"status": 0}, "AI Core": {"stream_id": 5, "task_id": 7, "status": 32}}
    data = {"stream_id": 5, "task_id": 9, "context_id": 65535, "status": "0x400"}
    new = {"magic": "0x5a5a5a5a", "acc_list": {"acc_type": "AIV", "data": data}}
    (tmp_path / "Opdebug.Node_OpDebug.33.7.1619347786533995.output.0.json").write_text(json.dumps(old))
    (tmp_path / "Opdebug.Node_OpDebug.32.7.1619347786532995.output.0.json").write_text(json.dumps(new))
    (tmp_path / "Opdebug.Node_OpDebug.34.7.1619347786534995.output.0.json").write_text("{broken")
    (tmp_path / "Opdebug.Node_OpDebug.35.7.1619347786535995").write_bytes(b"\0")
    (tmp_path / "Log.loss_Log.9.5.1619347786532000").write_bytes(b"\0")
    found, notes = flags(walk(tmp_path)[0])

    assert [(f.unit, f.task, f.context) for f in found] == [("AIV", 9, None), ("AI Core", 7, None)]
    assert len(notes) == 2
    report = examine(tmp_path)
    assert report.kind == "flagged"
    assert report.first is not None
    assert (report.first.kind, report.first.name) == ("Log", "loss_Log")
    assert "padding" in report.next_steps[0]


@sample
@pytest.mark.parametrize(
    ("path", "operator", "place"),
    [
        ("precision_tool_synthetic", "fp32_vars_conv2d_1_Conv2D", (None, None)),
        ("ms_dump_cpu_nan", "SparseSoftmaxCrossEntropyWithLogits-op0", (1, 0)),
        ("msprobe_pt/stat_L1_nan", "Torch.div.0.forward", (0, None)),
        ("msprobe_pt/ddp_nan", "Torch.log.0.forward", (0, 1)),
        ("msprobe_pt/overflow/nan", "Torch.div.0.forward", (None, 0)),
        ("msprobe_monitor/spike", "actv: 0.input", (6, 0)),
    ],
)
def test_samples_name_the_operator(path: str, operator: str, place: tuple[int | None, int | None]) -> None:
    found = examine(SHARED / path)

    assert found.kind == "operator"
    assert found.first is not None
    assert found.first.name.endswith(operator)
    assert (found.first.step, found.first.rank) == place


@sample
@pytest.mark.parametrize(
    "path",
    ["ms_dump_cpu_tensor", "msprobe_pt/stat_L1_base", "msprobe_pt/ddp_base", "msprobe_monitor/healthy"],
)
def test_healthy_samples_are_clean(path: str) -> None:
    assert examine(SHARED / path).kind == "clean"


@sample
def test_the_sample_of_the_toolkit_carries_its_status_in_words() -> None:
    found = examine(SHARED / "precision_tool_synthetic")

    assert found.first is not None
    assert found.first.flags == ("AI Core, status 0x20: floating-point arithmetic overflows",)
    assert "saturated" in found.first.outputs[0]


@sample
def test_an_absurd_learning_rate_in_the_dump_comes_first() -> None:
    found = examine(SHARED / "ms_dump_cpu_nan")

    assert "learning_rate is 1e+20" in found.settings[0]
    assert "setting" in found.next_steps[0]


def ranks(tmp_path: Path, held: dict[int, list[Any]]) -> OverflowReport:
    for rank, calls in held.items():
        msprobe(tmp_path / "step0" / f"rank{rank}", calls)
    return examine(tmp_path)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_what_a_collective_brings_from_a_rank_without_a_dump_is_said_so(tmp_path: Path, dtype: Any) -> None:
    x, up = X.astype(dtype), UP.astype(dtype)
    calls = [("Distributed.all_reduce.0.forward", [x], [up]), ("Functional.relu.0.forward", [up], [up])]
    found = ranks(tmp_path, {0: calls, 1: calls})

    assert "first to bring infinite" in found.verdict and "a rank that was not dumped" in found.verdict
    assert ("range of float16" in found.verdict) == (dtype is np.float16)
    assert "every rank of its group" in found.next_steps[0]
    assert states(found)[1:] == [("all_reduce", "passed on"), ("relu", "passed on"), ("relu", "passed on")]


def test_weights_that_are_no_numbers_are_told_from_inputs(tmp_path: Path) -> None:
    """In a dump of functions a weight is an input like any other: its place in the call tells."""
    weights = of(tmp_path / "w", ("Functional.linear.0.forward", [X, BAD], [BAD]))
    inputs = of(tmp_path / "i", ("Functional.linear.0.forward", [BAD, X], [BAD]))
    later = of(
        tmp_path / "l",
        ("Functional.relu.0.forward", [X], [X]),
        ("Functional.layer_norm.0.forward", [X, 3, BAD], [BAD]),
    )

    assert (weights.kind, inputs.kind, later.kind) == ("weights", "input", "weights")
    assert "step before" in weights.next_steps[0] and "batch" in inputs.next_steps[0]


def test_one_is_counted_as_one(tmp_path: Path) -> None:
    found = of(tmp_path, ("Torch.exp.0.forward", [X], [UP]), ("Functional.relu.0.forward", [UP], [UP]))
    assert "One operator after it only passes them on." in found.verdict
