"""Dumps of MindSpore and precision_tool, and plain folders of arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from traindoctor.probes.tensors.compare import compare
from traindoctor.probes.tensors.find import detect
from traindoctor.probes.tensors.model import Dump, Tensor
from traindoctor.probes.tensors.overflow import examine

from ._dumps import SHARED, pt

X = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)
HEADER = (
    "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,"
    "L2Norm Value,NaN Count,Positive Inf Count,Negative Inf Count"
)


def values(tensor: Tensor) -> Any:
    blocks = tensor.blocks(5)
    assert blocks is not None
    return np.concatenate([b.copy() for b in blocks])


def mindspore(root: Path, order: bool = True) -> Path:
    """Two operators, one parameter; the order of the time stamps is not that of execution."""
    folder = root / "rank_2" / "Net" / "0" / "5"
    folder.mkdir(parents=True)
    for name, time in (
        ("ReLU.Default_net_ReLU-op0.0.0.300.input.0.DefaultFormat.Float32.npy", X),
        ("ReLU.Default_net_ReLU-op0.0.0.301.output.0.DefaultFormat.Float32.npy", np.maximum(X, 0)),
        ("MatMul.Default_net_MatMul-op0.0.0.400.output.0.DefaultFormat.Float32.npy", X),
        ("MatMul.Gradients_Default_net_MatMul-op1.0.0.500.output.0.DefaultFormat.Float32.npy", X),
        (
            "ApplyMomentum.Default_optimizer_ApplyMomentum-op0.0.0.600.input.2.DefaultFormat.Float32.npy",
            np.float32(0.1),
        ),
        ("Parameter.fc_weight.0.0.100.output.0.DefaultFormat.Float32.npy", X),
    ):
        np.save(folder / name, time)
    if order:
        (root / "rank_2" / "execution_order").mkdir()
        (root / "rank_2" / "execution_order" / "ms_execution_order_graph_0.csv").write_text(
            "NodeExecutionOrder-FullNameWithScope\nDefault/net/MatMul-op0\nDefault/net/ReLU-op0\n"
            "Gradients/Default/net/MatMul-op1\nDefault/optimizer/ApplyMomentum-op0\n"
        )
    return folder


def only(root: Path) -> Dump:
    (found,) = detect(root)
    return found


def test_mindspore_order_names_and_phases(tmp_path: Path) -> None:
    mindspore(tmp_path)
    dump = only(tmp_path)
    assert (dump.format, dump.rank, dump.step, dump.framework) == ("mindspore-dump", 2, 5, "mindspore")
    assert [(o.kind, o.direction) for o in dump.operators] == [
        ("MatMul", "forward"),
        ("ReLU", "forward"),
        ("MatMul", "backward"),
        ("ApplyMomentum", "optimizer"),
        ("Parameter", "state"),
    ]
    assert dump.operators[0].name == "Default/net/MatMul-op0"
    assert np.array_equal(values(dump.operators[1].outputs[0]), np.maximum(X, 0).ravel())
    assert [t.name for t in dump.operators[4].parameters] == ["parameter.0"]
    assert not dump.notes


def test_mindspore_without_an_execution_order_goes_by_time(tmp_path: Path) -> None:
    folder = mindspore(tmp_path, order=False)
    for root in (tmp_path, folder):  # the iteration's own folder will do: its place in the tree still tells
        dump = only(root)
        assert [o.kind for o in dump.operators][:2] == ["ReLU", "MatMul"]
        assert (dump.rank, dump.step) == (2, 5)
        assert any("time stamps" in n for n in dump.notes)


def test_mindspore_statistics(tmp_path: Path) -> None:
    folder = tmp_path / "rank_0" / "Net" / "0" / "0"
    folder.mkdir(parents=True)
    (folder / "statistic.csv").write_text(
        f"{HEADER}\n"
        'Conv2D,Default/net/Conv2D-op1,3,1,1000,input,0,64,float16,"(2, 8)",2.5,-1.5,4.25,0,0,0\n'
        'Conv2D,Default/net/Conv2D-op1,3,1,1000,output,0,64,bfloat16,"(2, 8)",inf,-3,nan,1,2,3\n'
        "Conv2D,broken row\n"
    )
    dump = only(tmp_path)
    (conv,) = dump.operators
    assert conv.inputs[0].statistics.figures == (-1.5, 2.5, None, 4.25)
    assert (conv.outputs[0].statistics.nan, conv.outputs[0].statistics.inf) == (1, 5)
    assert conv.outputs[0].dtype == "bfloat16" and conv.outputs[0].shape == (2, 8)
    assert conv.inputs[0].blocks() is None
    assert any("1 damaged" in n for n in dump.notes)


def test_an_operator_that_runs_twice_is_two_calls(tmp_path: Path) -> None:
    folder = tmp_path / "rank_0" / "Net" / "0" / "0"
    folder.mkdir(parents=True)
    for time in (10, 20):
        np.save(folder / f"Add.Default_Add-op0.0.0.{time}.input.0.DefaultFormat.Float32.npy", X * time)
        np.save(folder / f"Add.Default_Add-op0.0.0.{time + 1}.output.0.DefaultFormat.Float32.npy", X)
    dump = only(tmp_path)
    assert [values(o.inputs[0])[0] for o in dump.operators] == [-30.0, -60.0]


def test_a_bf16_tensor_of_mindspore(tmp_path: Path) -> None:
    folder = tmp_path / "rank_0" / "Net" / "0" / "0"
    folder.mkdir(parents=True)
    bits = (X.view(np.uint32) >> 16).astype(np.uint16)
    np.save(folder / "Cast.Default_Cast-op0.0.0.10.output.0.DefaultFormat.BFloat16.npy", bits)
    (tensor,) = only(tmp_path).operators[0].outputs
    assert tensor.dtype == "bfloat16"
    assert np.allclose(values(tensor), X.ravel(), rtol=2**-7)


def test_precision_tool_tree(tmp_path: Path) -> None:
    decoded = tmp_path / "temp" / "decode" / "dump_decode" / "debug_0"
    tensorflow = tmp_path / "tf" / "dump"
    raw = tmp_path / "npu" / "debug_0" / "dump"
    for folder in (decoded, tensorflow, raw):
        folder.mkdir(parents=True)
    np.save(decoded / "Relu.net_relu.31.5.1620612694000002.output.0.npy", X)
    np.save(decoded / "Conv2D.net_conv.30.5.1620612694000001.output.0.3x4.npy", X)
    np.save(decoded / "1234.output.0.npy", X)
    (decoded / "mapping.csv").write_text("1234,MatMul.net_fc.32.5.1620612694000003\n")
    np.save(tensorflow / "net_conv.0.1620612694000001.npy", X)
    for name in ("Conv2D.net_conv.30.5.1620612694000001", "Add.net_add.40.5.1620612694000009"):
        (raw / name).write_bytes(b"raw")
    dumps = detect(tmp_path)
    assert [(d.label, [o.name for o in d.operators]) for d in dumps] == [
        ("debug_0", ["net_conv", "net_relu", "net_fc"]),
        ("tf", ["net_conv"]),
    ]
    assert any("1 dump files that were never decoded" in n for n in dumps[0].notes)
    assert {p.name for p in decoded.iterdir()} == {
        "1234.output.0.npy",
        "Conv2D.net_conv.30.5.1620612694000001.output.0.3x4.npy",
        "Relu.net_relu.31.5.1620612694000002.output.0.npy",
        "mapping.csv",
    }


@pytest.mark.parametrize("header", [True, False])
def test_tables_of_figures_per_operator(tmp_path: Path, header: bool) -> None:
    tree = tmp_path / "20210425184946" / "0" / "ge_default_20210425184947_1" / "1" / "5"
    tree.mkdir(parents=True)
    head = "Input/Output,Index,Data Size,Data Type,Format,Shape,Max Value,Min Value,Avg Value\n"
    rows = "Input,0,96,DT_FLOAT16,ND,4x3,2.5,-1.5,0.25\nOutput,0,96,DT_FLOAT16,ND,4x3,inf,-1.5,nan\n"
    for n, kind in enumerate(("Conv2D", "Relu")):
        text = (head if header else "") + rows
        (tree / f"{kind}.net_{kind.lower()}.{30 + n}.5.161934778653287{n}.csv").write_text(text)
    (tree / "Add.net_add.40.5.1619347786532879.csv").write_text("nothing here\n")
    dump = only(tmp_path)

    assert [(o.name, o.step, o.rank) for o in dump.operators] == [("net_conv2d", 5, 0), ("net_relu", 5, 0)]
    taken, made = dump.operators[0].inputs[0], dump.operators[0].outputs[0]
    assert (taken.dtype, taken.shape, taken.statistics.figures[:3]) == ("float16", (4, 3), (-1.5, 2.5, 0.25))
    assert made.statistics.max == np.inf
    assert any("net_add" in n for n in dump.notes)
    assert examine(tmp_path).first is not None


def test_a_folder_of_arrays(tmp_path: Path) -> None:
    np.save(tmp_path / "layer10.input.0.npy", X)
    np.save(tmp_path / "layer10_out.npy", X)
    np.save(tmp_path / "layer2.npy", X)
    np.savez_compressed(tmp_path / "rest.npz", a=X, b=np.arange(4))
    (tmp_path / "t.pt").write_bytes(pt(X))
    np.save(tmp_path / "bad.npy", np.array([{}], dtype=object))
    dump = only(tmp_path)
    assert [o.name for o in dump.operators] == ["a", "b", "layer2", "layer10", "t"]
    ten = dump.operators[3]
    assert (len(ten.inputs), len(ten.outputs)) == (1, 1)
    assert np.array_equal(values(dump.operators[0].outputs[0]), X.ravel())
    assert not dump.ordered and any("bad.npy" in n for n in dump.notes)


def test_links_that_lead_out_are_not_followed(tmp_path: Path) -> None:
    inside = tmp_path / "run"
    inside.mkdir()
    np.save(tmp_path / "secret.npy", X)
    (inside / "a.npy").symlink_to(tmp_path / "secret.npy")
    np.save(inside / "b.npy", X)
    dump = only(inside)
    assert [o.name for o in dump.operators] == ["b"]
    assert any("leads out" in n for n in dump.notes)


@pytest.mark.skipif(not SHARED.is_dir(), reason="../shared is not here")
def test_real_trees() -> None:
    dumps = detect(SHARED / "ms_dump_cpu_tensor")
    assert [(d.step, len(d.operators), d.notes) for d in dumps] == [(0, 31, ()), (1, 31, ())]
    assert sum(len(o.tensors) for o in dumps[0].operators) == 90
    for operator in dumps[0].operators:
        for tensor in operator.tensors:
            assert np.isfinite(values(tensor)).all()
    labels = [d.label for d in detect(SHARED / "precision_tool_synthetic")]
    assert labels == ["debug_0", "overflow_decode", "tf"]


def statistics(folder: Path, tensors: dict[str, np.ndarray[Any, Any]]) -> Path:
    """Write what an accelerator records: NaN is left out of the extremes, not out of the norm."""
    place = folder / "rank_0" / "Net" / "0" / "0"
    place.mkdir(parents=True)
    rows = []
    for n, (name, array) in enumerate(tensors.items()):
        kind, op, side = name.split(":")
        with np.errstate(all="ignore"):
            told = (np.nanmax(array), np.nanmin(array), np.sqrt((array.astype(np.float64) ** 2).sum()))
        shape = ",".join(map(str, array.shape))
        rows.append(
            f'{kind},{op},0,0,{1700000000000000 + n // 2},{side},0,{array.nbytes},float32,"({shape})",'
            + ",".join(map(str, told))
        )
    head = "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape"
    (place / "statistic.csv").write_text(
        "\n".join([f"{head},Max Value,Min Value,L2Norm Value", *rows]) + "\n"
    )
    return folder


def in_tensors(folder: Path, tensors: dict[str, np.ndarray[Any, Any]]) -> Path:
    place = folder / "rank_0" / "Net" / "0" / "0"
    place.mkdir(parents=True)
    for n, (name, array) in enumerate(tensors.items()):
        kind, op, side = name.split(":")
        np.save(
            place / f"{kind}.{op}.0.0.{1700000000000000 + n // 2}.{side}.0.DefaultFormat.float32.npy", array
        )
    return folder


@pytest.mark.parametrize("bad", [None, "scale", "nan"])
def test_values_of_one_side_are_held_against_statistics_of_the_other(tmp_path: Path, bad: str | None) -> None:
    """A CPU dumps values alone, an accelerator often statistics alone."""
    x = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)
    y = np.maximum(x, 0)
    made = y * np.float32(1.03) if bad == "scale" else y.copy()
    made[0, 0] = np.nan if bad == "nan" else made[0, 0]
    mine = {"Add:a-op0:input": x, "Add:a-op0:output": x, "ReLU:r-op1:input": x, "ReLU:r-op1:output": made}
    sound = {**mine, "ReLU:r-op1:output": y}
    for way, (run, benchmark) in enumerate(((statistics, in_tensors), (in_tensors, statistics))):
        found = compare(run(tmp_path / f"{way}/run", mine), benchmark(tmp_path / f"{way}/benchmark", sound))
        assert found.kind == {None: "agrees", "scale": "operator", "nan": "non-finite"}[bad]
        assert found.first is None or found.first.name == "r-op1"


def test_nan_in_both_agrees_whatever_the_extremes_say(tmp_path: Path) -> None:
    x = np.arange(1, 9, dtype=np.float32)
    x[3] = np.nan
    both = {"Add:a-op0:input": np.ones(8, np.float32), "Add:a-op0:output": x}
    found = compare(in_tensors(tmp_path / "run", both), statistics(tmp_path / "benchmark", both))

    assert found.kind == "agrees"


def test_a_norm_that_is_no_number_tells_what_extremes_leave_out(tmp_path: Path) -> None:
    x = np.arange(1, 9, dtype=np.float32)
    bad = x.copy()
    bad[3] = np.nan
    found = examine(statistics(tmp_path, {"Add:a-op0:input": x, "Add:a-op0:output": bad}))

    assert found.first is not None and "NaN" in found.first.outputs[0]


def atb(folder: Path, name: str, array: Any, code: int = 0) -> None:
    """A tensor as ATB writes it: lines of text, then the elements."""
    folder.mkdir(parents=True, exist_ok=True)
    raw, dims = array.tobytes(), ",".join(map(str, array.shape))
    head = f"format=2\ndtype={code}\ndims={dims}\n$Version=1.0\n$Object.data=0,{len(raw)}\n$End=1\n"
    (folder / name).write_bytes(head.encode() + raw)


def transformer(root: Path, off: float = 1.0) -> Path:
    for order, (kind, factor) in enumerate((("RmsNorm", 1.0), ("SelfAttention", off), ("Linear", 1.0))):
        folder = root / "data" / "0_39943" / "2" / "10_Decoder_layer" / f"{order}_{kind}Operation"
        atb(folder / "before", "intensor0.bin", X)
        atb(folder / "after", "outtensor0.bin", (X * np.float32(factor)).astype(np.float16), 1)
    return root


def test_a_dump_of_atb(tmp_path: Path) -> None:
    (dump,) = detect(transformer(tmp_path))
    assert (dump.format, dump.rank, dump.step, dump.notes) == ("atb-dump", 0, 2, ())
    assert [(o.name, o.kind) for o in dump.operators][1] == (
        "10_Decoder_layer/1_SelfAttentionOperation",
        "SelfAttention",
    )
    assert np.array_equal(values(dump.operators[0].inputs[0]), X.ravel())
    assert dump.operators[0].outputs[0].dtype == "float16"


def test_dumps_of_atb_are_compared(tmp_path: Path) -> None:
    found = compare(transformer(tmp_path / "a", 1.5), transformer(tmp_path / "b"))
    assert found.kind == "operator" and found.first is not None and "SelfAttention" in found.first.name


def test_a_damaged_dump_of_atb(tmp_path: Path) -> None:
    file = next(transformer(tmp_path).rglob("1_*/after/*.bin"))
    file.write_bytes(file.read_bytes()[:-4])
    file.with_name("outtensor1.bin").write_bytes(b"format=2\ndims=3\n$End=1\n")
    (dump,) = detect(tmp_path)
    whole, headless = dump.operators[1].outputs
    assert whole.stored is None and "shorter" in whole.note
    assert headless.stored is None and len(dump.notes) == 1
