"""What kind of operator goes wrong first: each symptom present, absent or unknown."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from traindoctor.engine.load import load_rules
from traindoctor.engine.model import Reading
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.operators import dumps, origins
from traindoctor.probes.readings import readings
from traindoctor.probes.registry import probes_of

from ..tensors._dumps import Call, msprobe

PROBES = {*probes_of(dumps), *probes_of(origins)}
SYMPTOMS = [s for s in load_rules().symptoms.values() if s.probe in PROBES]

HEAD = (
    "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,"
    "NaN Count"
)
MD5 = (
    "NPU Name,Bench Name,NPU Dtype,Bench Dtype,NPU Tensor Shape,Bench Tensor Shape,NPU Requires_grad,"
    "Bench Requires_grad,NPU MD5,BENCH MD5,Requires_grad Consistent,Result,Err_message,NPU_Stack_Info"
)
COSINE = (
    "NPU Name,Bench Name,NPU Dtype,Bench Dtype,NPU Tensor Shape,Bench Tensor Shape,Cosine,EucDist,MaxAbsErr,"
    "MaxRelativeErr,One Thousandth Err Ratio,Five Thousandths Err Ratio,NPU max,NPU min,NPU mean,NPU l2norm,"
    "Bench max,Bench min,Bench mean,Bench l2norm,Result"
)


def read(folder: Path) -> dict[str, Reading]:
    """What is read of the folder, by symptom."""
    (folder / "train.log").write_text("".join(f"step {s} loss {1 + 1 / (s + 1):.4f}\n" for s in range(120)))
    return dict(readings(open_run(folder), None, SYMPTOMS))


def stated(folder: Path, *names: str) -> list[str]:
    found = read(folder)
    return [found[name].state.value for name in names]


def statistics(folder: Path, *calls: tuple[str, list[tuple[str, str]], list[tuple[str, str]]]) -> None:
    """A statistics table of MindSpore: operators with the largest and least values of inputs and outputs."""
    rows = [HEAD]
    for time, (kind, taken, made) in enumerate(calls, 1741655722000001):
        for io, tensors in (("input", taken), ("output", made)):
            for slot, (high, low) in enumerate(tensors):
                bad = 3 if "nan" in (high, low) else 0
                name = f"Default_net_{kind}-op{time % 100}"
                rows.append(f'{kind},{name},1,3,{time},{io},{slot},64,float32,"(4, 4)",{high},{low},{bad}')
    where = folder / "dump" / "rank_0" / "net" / "0" / "7"
    where.mkdir(parents=True)
    (where / "statistic.csv").write_text("\n".join(rows) + "\n")


SOUND = ("MatMul", [("2.0", "-2.0"), ("0.3", "-0.3")], [("1.5", "-1.5")])
BAD = [("inf", "nan")]


@pytest.mark.parametrize(
    ("call", "state"),
    [
        (("RealDiv", [("2.0", "0.5"), ("9.0", "0.0")], BAD), "present"),
        (("Log", [("2.0", "0.0")], BAD), "present"),
        (("Log", [("2.0", "-0.1")], BAD), "present"),
        (("Rsqrt", [("2.0", "0.0")], BAD), "present"),
        (("RmsNorm", [("0.0", "0.0"), ("1.0", "1.0")], BAD), "present"),  # a spread of zero, and no floor
        (("RmsNorm", [("3.0", "0.0"), ("1.0", "1.0")], BAD), "unknown"),
        (("RealDiv", [("0.0", "0.0"), ("9.0", "0.1")], BAD), "unknown"),  # the divisor is no zero
        (("RealDiv", [("2.0", "0.5"), ("9.0", "-1.0")], BAD), "unknown"),  # zero may lie between the two
        (("MatMul", [("60000.0", "0.0"), ("9.0", "0.0")], BAD), "absent"),
        (("RealDiv", [("2.0", "0.5"), ("9.0", "0.0")], [("4.0", "0.0")]), "absent"),  # DivNoNan, or guarded
    ],
)
def test_a_zero_that_is_met(tmp_path: Path, call: tuple, state: str) -> None:
    statistics(tmp_path, SOUND, call)
    assert stated(tmp_path, "dump-zero-met", "dump-input-not-finite") == [state, "absent"]


def test_a_batch_that_is_no_number(tmp_path: Path) -> None:
    batch = ("GetNext", [], [("nan", "nan"), ("3.0", "0.0")])
    statistics(tmp_path, batch, ("MatMul", [("nan", "nan"), ("0.3", "-0.3")], [("nan", "nan")]))
    assert stated(tmp_path, "dump-input-not-finite") == ["present"]


def test_what_comes_first_without_inputs_may_be_anything(tmp_path: Path) -> None:
    statistics(tmp_path, ("RandomNormal", [], [("nan", "nan")]), SOUND)
    assert stated(tmp_path, "dump-input-not-finite") == ["absent"]


def test_without_a_dump_nothing_is_known(tmp_path: Path) -> None:
    names = ("dump-zero-met", "dump-input-not-finite", "dump-fused-operator-bad", "operator-other-bits")
    assert stated(tmp_path, *names) == ["unknown"] * 4


def bits(folder: Path, *rows: tuple[str, str, str]) -> None:
    """A table of checksums: tensor, and what both sides have."""
    lines = [MD5]
    for name, mine, theirs in rows:
        lines.append(
            f'{name},{name},torch.float16,torch.float16,"[4]","[4]",True,True,{mine},{theirs},True,pass,[],'
        )
    (folder / "compare_result_20260311.csv").write_text("\n".join(lines) + "\n")


def same(count: int) -> list[tuple[str, str, str]]:
    return [
        (f"Functional.linear.{i}.forward.{io}.0", f"{n}1{i}", f"{n}1{i}")
        for i in range(count)
        for n, io in enumerate(("input", "output"))
    ]


APART = [
    ("Tensor.index_add.0.forward.input.0", "aa1", "aa1"),
    ("Tensor.index_add.0.forward.output.0", "cc1", "dd7"),
]


def test_other_bits_of_equal_bits(tmp_path: Path) -> None:
    bits(tmp_path, *same(4), *APART)
    assert stated(tmp_path, "operator-other-bits", "operator-compare-bad") == ["present", "unknown"]


def test_too_little_agrees_for_two_runs_of_one_program(tmp_path: Path) -> None:
    bits(tmp_path, *same(1), *APART)
    assert stated(tmp_path, "operator-other-bits", "operator-compare-bad") == ["unknown", "present"]


def test_equal_bits_throughout(tmp_path: Path) -> None:
    bits(tmp_path, *same(5))
    assert stated(tmp_path, "operator-other-bits", "dump-fused-operator-bad") == ["unknown", "unknown"]


@pytest.mark.parametrize(
    ("name", "state"),
    [("NPU.npu_fusion_attention.0.forward", "present"), ("Functional.gelu.0.forward", "absent")],
)
def test_a_fused_operator(tmp_path: Path, name: str, state: str) -> None:
    figures = "3.0,-3.0,0.0,8.0,3.0,-3.0,0.0,8.0,pass"
    lines = [COSINE]
    for io, cosine, apart in (("input", "0.99999", "0.0001"), ("output", "0.81", "4.0")):
        tensor = f"{name}.{io}.0"
        shape = '"[4, 4]","[4, 4]"'
        lines.append(
            f"{tensor},{tensor},torch.float32,torch.float32,{shape},{cosine},{apart},1.0,1.0,0.1,0.2,{figures}"
        )
    (tmp_path / "compare_result_20260311.csv").write_text("\n".join(lines) + "\n")
    assert stated(tmp_path, "dump-fused-operator-bad", "operator-compare-bad") == [state, "present"]


def test_what_meets_a_zero_is_no_overflow(tmp_path: Path) -> None:
    statistics(tmp_path, SOUND, ("RealDiv", [("2.0", "0.5"), ("9.0", "0.0")], BAD))
    assert stated(tmp_path, "dump-first-bad-operator") == ["unknown"]


def test_numbers_that_grow_too_large(tmp_path: Path) -> None:
    statistics(tmp_path, SOUND, ("Mul", [("41000.0", "-38000.0")], BAD))
    assert stated(tmp_path, "dump-first-bad-operator", "dump-zero-met") == ["present", "absent"]


def test_repeats_by_the_number_of_the_run(tmp_path: Path) -> None:
    """Other digits in the folder's name (`md5_run1`) do not hide which run it is."""
    for name in ("net_md5_run1", "net_md5_run2"):
        place = tmp_path / name / "step0" / "rank0"
        place.mkdir(parents=True)
        entry = {"type": "torch.Tensor", "dtype": "torch.float32", "shape": [4], "md5": "12ab34cd"}
        data = {"Torch.add.0.forward": {"input_args": [entry], "output": [entry]}}
        (place / "dump.json").write_text(json.dumps({"task": "statistics", "level": "L1", "data": data}))

    assert stated(tmp_path, "deterministic-rerun-differs") == ["absent"]


@pytest.mark.parametrize(
    ("one", "two", "same", "expected"),
    [
        ("第一次", "第二次", 3, "present"),
        ("npu", "gpu", 3, "unknown"),  # two devices
        ("a", "b", 0, "unknown"),  # nothing that sums agrees before it: perhaps two programs
    ],
)
def test_equal_programs_by_their_checksums(
    tmp_path: Path, one: str, two: str, same: int, expected: str
) -> None:
    """Whatever their folders are called: operators that sum agree in every bit, and one does not."""
    x = np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8)
    for side, off in ((one, 0.0), (two, 1e-6)):
        calls: list[Call] = [(f"Functional.linear.{n}.forward", [x, x], [x]) for n in range(same)]
        calls.append(("Tensor.scatter_add.0.forward", [x], [x + np.float32(off)]))
        msprobe(tmp_path / side / "step0" / "rank0", calls, digest=True)

    assert stated(tmp_path, "operator-other-bits") == [expected]
