"""Comparison results of other tools, judged again by our own rules, whatever theirs said."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from traindoctor.engine.model import DumpComparison
from traindoctor.probes.files import RunFile
from traindoctor.probes.tensors.npy import Unreadable
from traindoctor.probes.tensors.results import judge_again
from traindoctor.probes.tensors.sheet import rows

from ._dumps import SHARED

HEAD = "NPU Name,Bench Name,NPU Dtype,Bench Dtype,NPU Tensor Shape,Bench Tensor Shape"
STATISTICS = "NPU max,NPU min,NPU mean,NPU l2norm,Bench max,Bench min,Bench mean,Bench l2norm,Result"


def row(mine: str, theirs: str, a: str, b: str) -> str:
    kind = "torch.float32"
    return f'{mine},{theirs},{kind if mine != "N/A" else "N/A"},{kind},"[4, 4]","[4, 4]",{a},{b},pass'


ONE, TWO, BAD = "1.0,-1.0,0.1,2.0", "2.0,-2.0,0.2,4.0", "inf,-2.0,nan,nan"
NONE = "N/A,N/A,N/A,N/A"


def judged(folder: Path, *lines: str, name: str = "compare_result_rank1_2026.csv") -> DumpComparison:
    (folder / name).write_text("\n".join((f"{HEAD},{STATISTICS}", *lines)) + "\n")
    found = judge_again(folder)
    assert found is not None
    return found


def both(name: str, a: str, b: str) -> str:
    return row(name, name, a, b)


def test_the_first_bad_operator_of_rows_that_all_pass(tmp_path: Path) -> None:
    found = judged(
        tmp_path,
        both("Functional.linear.0.forward.input.0", ONE, ONE),
        both("Functional.linear.0.forward.output.0", TWO, ONE),
        both("Functional.gelu.0.forward.input.0", TWO, ONE),
    )
    assert found.kind == "operator" and found.first is not None
    assert (found.first.name, found.first.rank) == ("Functional.linear.0.forward", 1)
    assert [o.state for o in found.operators] == ["first", "inherited"]


def test_an_unmatched_row_is_a_finding(tmp_path: Path) -> None:
    found = judged(
        tmp_path,
        both("Functional.linear.0.forward.output.0", ONE, ONE),
        row("Functional.relu.0.forward.output.0", "N/A", ONE, NONE),
        both("Functional.linear.1.forward.input.0", TWO, ONE),
    )
    assert found.kind == "extra" and "relu" in found.verdict


def test_not_finite_from_finite(tmp_path: Path) -> None:
    found = judged(
        tmp_path,
        both("Torch.div.0.forward.input.0", ONE, ONE),
        both("Torch.div.0.forward.output.0", BAD, ONE),
    )
    assert found.kind == "non-finite"


def test_scalars_are_arguments(tmp_path: Path) -> None:
    scalar = "Functional.layer_norm.0.forward.input.4"
    values = ",".join(["0.01"] * 4 + ["1e-5"] * 4)
    line = f"{scalar},{scalar},<class 'float'>,<class 'float'>,[],[],{values},pass"
    found = judged(
        tmp_path,
        both("Functional.layer_norm.0.forward.input.0", ONE, ONE),
        line,
        both("Functional.layer_norm.0.forward.output.0", TWO, ONE),
    )
    assert found.kind == "argument" and "0.01 against 1e-05" in found.verdict


@pytest.mark.parametrize("left", ["LeftOp,RightOp", "OpType,NPUDump,DataType,GroundTruth,DataType"])
def test_both_generations_of_vector_compare(tmp_path: Path, left: str) -> None:
    new = "NPUDump" in left
    lines = [f"Index,{left},TensorIndex,CosineSimilarity,MaxAbsoluteError,RelativeEuclideanDistance"]
    for n, (name, cosine) in enumerate((("conv1/Conv2D", 1.0), ("fc/MatMul", 0.9), ("loss/Softmax", 0.91))):
        sides = f"T,{name},float16,{name},float32" if new else f"{name},{name}"
        lines += [f"{n},{sides},NaN,NaN,NaN,NaN", f"{n},{sides},{name}:output:0,{cosine},0.1,{1 - cosine}"]
    (tmp_path / "result_1.csv").write_text("\n".join(lines))
    found = judge_again(tmp_path)
    assert found is not None and found.first is not None
    assert found.first.name == "fc/MatMul"
    assert [o.state for o in found.operators] == ["agrees", "first", "inherited"]


def test_other_tables_are_none(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text("step,loss\n1,2\n")
    assert judge_again(tmp_path) is None


def xlsx(path: Path, sheet: str, strings: str = "") -> RunFile:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", sheet)
        if strings:
            archive.writestr("xl/sharedStrings.xml", strings)
    return RunFile(path.parent, path.name, path.stat().st_size)


SPACE = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def test_a_sheet_with_shared_strings_and_gaps(tmp_path: Path) -> None:
    cells = (
        '<c r="A1" t="s"><v>1</v></c><c r="C1"><v>2.5</v></c><c r="D1" t="inlineStr"><is><t>x</t></is></c>'
    )
    sheet = f'<worksheet {SPACE}><sheetData><row r="1">{cells}</row></sheetData></worksheet>'
    strings = f"<sst {SPACE}><si><t>no</t></si><si><r><t>ye</t></r><r><t>s</t></r></si></sst>"
    assert list(rows(xlsx(tmp_path / "a.xlsx", sheet, strings))) == [["yes", "", "2.5", "x"]]


def test_a_sheet_that_declares_entities_is_refused(tmp_path: Path) -> None:
    bomb = f'<!DOCTYPE a [<!ENTITY b "cc">]><worksheet {SPACE}><row>&b;</row></worksheet>'
    for text in (bomb, " " * 65530 + bomb):
        with pytest.raises(Unreadable):
            list(rows(xlsx(tmp_path / "a.xlsx", text)))


def test_a_damaged_sheet_is_said_and_costs_itself(tmp_path: Path) -> None:
    file = xlsx(tmp_path / "a.xlsx", f"<worksheet {SPACE}><row></worksheet>")
    with pytest.raises(Unreadable, match="damaged"):
        list(rows(file))
    data = (tmp_path / "a.xlsx").read_bytes()
    for cut in range(0, len(data), 5):
        (tmp_path / "a.xlsx").write_bytes(data[:cut])
        with pytest.raises(Unreadable):
            list(rows(RunFile(tmp_path, "a.xlsx", cut)))


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared is not here")
@pytest.mark.parametrize(
    ("folder", "kind", "name"),
    [
        (
            "msprobe_compare/tensor_wrongop_vs_base",
            "extra",
            "Functional.linear.1.forward",
        ),  # 141 of 141 passed
        ("msprobe_compare/stat_wrongop_vs_base", "extra", "Functional.linear.1.forward"),
        ("msprobe_compare/ddp_wrongop_vs_base", "extra", "Functional.linear.1.forward"),
        ("msprobe_compare/stat_nan_vs_base", "non-finite", "Torch.div.0.forward"),
        ("msprobe_compare/tensor_eps_vs_base", "argument", "Functional.layer_norm.1.forward"),
        ("msprobe_compare/repeat_1_vs_2", "agrees", None),  # 10 errors
        ("msprobe_compare/ms_graph_step0", "setting", "Default_optimizer-Momentum_ApplyMomentum-op0"),
        ("precision_tool_synthetic/precision_data/temp/vector_compare", "operator", "fc/MatMul"),
    ],
)
def test_real_results(folder: str, kind: str, name: str | None) -> None:
    found = judge_again(SHARED / folder)
    assert found is not None and found.kind == kind, found
    assert (found.first.name if found.first else None) == name
