"""Dumps of two frameworks: matched by structure, layouts and layers put right, the fault still found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from traindoctor.engine.model import DumpComparison
from traindoctor.probes.tensors.compare import compare

from ._dumps import SHARED, Call, msprobe

random = np.random.default_rng(0)
Array = np.ndarray[Any, Any]


def draw(*shape: int) -> Array:
    return random.standard_normal(shape).astype(np.float32)


def mindspore(folder: Path, calls: list[tuple[str, str, list[Array], list[Array]]]) -> Path:
    """Write a dump as MindSpore does: (kind, full name, inputs, outputs) in the order of execution."""
    place = folder / "rank_0" / "Net" / "0" / "0"
    place.mkdir(parents=True)
    order = folder / "rank_0" / "execution_order" / "ms_execution_order_graph_0.csv"
    order.parent.mkdir()
    order.write_text("NodeExecutionOrder-FullNameWithScope\n" + "".join(f"{n}\n" for _, n, _, _ in calls))
    time = 1795237195488087
    for kind, name, inputs, outputs in calls:
        for side, arrays in (("input", inputs), ("output", outputs)):
            for slot, array in enumerate(arrays):
                time += 1
                flat = name.replace("/", "_")
                file = f"{kind}.{flat}.0.0.{time}.{side}.{slot}.DefaultFormat.Float32.npy"
                np.save(place / file, array)
    return folder


LAYER = "Default/network-Net/{}/{}-op0"


def images(act: Any = lambda x: np.maximum(x, 0), bias: float = 0.1) -> dict[str, Array]:
    """What a small convolutional network computes, channels first."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2, 3, 5, 5)).astype(np.float32)
    w = rng.standard_normal((4, 3, 3, 3)).astype(np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    y = np.einsum("nchwij,ocij->nohw", windows, w).astype(np.float32)
    b = np.full(4, bias, np.float32)
    z = y + b[:, None, None]
    a = act(z).astype(np.float32)
    flat = a.reshape(2, -1)
    v = rng.standard_normal((36, 36)).astype(np.float32)
    return {"x": x, "w": w, "y": y, "b": b, "z": z, "a": a, "flat": flat, "v": v, "out": flat @ v.T}


def torch_of(t: dict[str, Array], name: str = "relu") -> list[Call]:
    return [
        ("Functional.conv2d.0.forward", [t["x"], t["w"], t["b"]], [t["z"]]),
        (f"Functional.{name}.0.forward", [t["z"]], [t["a"]]),
        ("Tensor.view.0.forward", [t["a"]], [t["flat"]]),
        ("Functional.linear.0.forward", [t["flat"], t["v"]], [t["out"]]),
    ]


def last(a: Array) -> Array:
    """Channels last."""
    return np.ascontiguousarray(a.transpose(0, 2, 3, 1))


def mindspore_of(t: dict[str, Array], kind: str = "ReLU") -> list[tuple[str, str, list[Array], list[Array]]]:
    """The same network, channels last, kernels as HWIO, the bias by itself, the weight transposed."""
    kernel = np.ascontiguousarray(t["w"].transpose(2, 3, 1, 0))
    return [
        ("Conv2D", LAYER.format("conv-Conv2d", "Conv2D"), [last(t["x"]), kernel], [last(t["y"])]),
        ("BiasAdd", LAYER.format("conv-Conv2d", "BiasAdd"), [last(t["y"]), t["b"]], [last(t["z"])]),
        (kind, LAYER.format("act-Cell", kind), [last(t["z"])], [last(t["a"])]),
        ("Reshape", LAYER.format("flat-Flatten", "Reshape"), [last(t["a"])], [t["flat"]]),
        ("Dense", LAYER.format("fc-Dense", "Dense"), [t["flat"], np.ascontiguousarray(t["v"].T)], [t["out"]]),
    ]


def held(tmp_path: Path, run: list[Call], benchmark: list[Any]) -> DumpComparison:
    mine = msprobe(tmp_path / "run" / "step0" / "rank0", run, tensors="npy").parents[1]
    return compare(mine, mindspore(tmp_path / "benchmark", benchmark))


def test_layouts_and_layers_are_put_right(tmp_path: Path) -> None:
    found = held(tmp_path, torch_of(images()), mindspore_of(images()))

    assert found.kind in ("agrees", "identical"), found.verdict
    assert found.counted("unmatched") == 0
    assert [o.benchmark_name.rpartition("/")[2] for o in found.operators] == [
        "Conv2D-op0 + BiasAdd-op0",
        "ReLU-op0",
        "Reshape-op0",
        "Dense-op0",
    ]
    told = {t.name: t.why for t in found.operators[0].tensors}
    assert "order (0, 2, 3, 1)" in told["input.0"]  # NCHW to NHWC
    assert "order (2, 3, 1, 0)" in told["input.1"]  # OIHW to HWIO
    assert (
        "order (1, 0)" in {t.name: t.why for t in found.operators[3].tensors}["input.1"]
    )  # square, transposed


def test_a_kernel_that_computes_otherwise_is_found_all_the_same(tmp_path: Path) -> None:
    wrong = images(lambda x: np.maximum(x, 0) * 1.1)
    found = held(tmp_path, torch_of(wrong), mindspore_of(images()))

    assert found.first is not None and found.kind == "operator"
    assert found.first.name == "Functional.relu.0.forward"
    assert [o.state for o in found.operators][2:] == ["inherited", "inherited"]


def test_a_replaced_operator_is_a_finding(tmp_path: Path) -> None:
    wrong = images(lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))))
    found = held(tmp_path, torch_of(wrong, "elu"), mindspore_of(images()))

    assert found.kind == "replaced" and found.first is not None
    assert (found.first.name, found.first.benchmark_name.rpartition("/")[2]) == (
        "Functional.elu.0.forward",
        "ReLU-op0",
    )


def test_a_bias_that_is_missing_is_found_in_its_layer(tmp_path: Path) -> None:
    found = held(tmp_path, torch_of(images(bias=0.0)), mindspore_of(images()))

    assert found.first is not None
    assert found.first.name == "Functional.conv2d.0.forward"


def test_sequences_with_time_first(tmp_path: Path) -> None:
    x, y = draw(6, 2, 4), draw(6, 2, 4)
    run: list[Call] = [("Functional.gelu.0.forward", [x], [y])]
    other = [x.transpose(1, 0, 2), y.transpose(1, 0, 2)]
    found = held(tmp_path, run, [("GeLU", LAYER.format("a", "GeLU"), [other[0]], [other[1]])])

    assert found.kind in ("agrees", "identical"), found.verdict


def test_one_framework_s_axes_are_not_moved(tmp_path: Path) -> None:
    """A transposed square weight between two runs of one framework is a fault, not a layout."""
    t = images()
    swapped = {**t, "v": np.ascontiguousarray(t["v"].T), "out": t["flat"] @ t["v"]}
    a = msprobe(tmp_path / "a" / "step0" / "rank0", torch_of(swapped), tensors="npy").parents[1]
    b = msprobe(tmp_path / "b" / "step0" / "rank0", torch_of(t), tensors="npy").parents[1]
    found = compare(a, b)

    assert found.first is not None and found.first.name == "Functional.linear.0.forward"


def test_each_rank_is_held_against_its_own(tmp_path: Path) -> None:
    good, bad = images(), images(lambda x: np.maximum(x, 0) * 1.1)
    for rank, t in enumerate((good, bad)):
        msprobe(tmp_path / "run" / "step0" / f"rank{rank}", torch_of(t), tensors="npy")
        made = mindspore(tmp_path / f"b{rank}", mindspore_of(good))
        (tmp_path / "benchmark").mkdir(exist_ok=True)
        (made / "rank_0").rename(tmp_path / "benchmark" / f"rank_{rank}")
    found = compare(tmp_path / "run", tmp_path / "benchmark")

    assert found.first is not None and found.first.rank == 1
    assert found.first.name == "Functional.relu.0.forward"


# --------------------------------------------------------------------------------- a real MindSpore dump

REAL = pytest.mark.skipif(not SHARED.is_dir(), reason="../shared is not here")


def of_sample(act: Any = lambda x: np.maximum(x, 0), name: str = "relu") -> list[Call]:
    """What PyTorch computes from the inputs and weights of the MindSpore sample: forward and backward."""
    place = SHARED / "ms_dump_cpu_tensor/dump/rank_0"
    place = next(p for p in place.iterdir() if (p / "0" / "0").is_dir()) / "0" / "0"

    def tensor(kind: str, at: str, side: str) -> Array:
        (file,) = (f for f in place.glob(f"{kind}.Default*.npy") if at in f.name and f".{side}." in f.name)
        array: Array = np.load(file)
        return array

    x, w1 = (tensor("MatMul", "-N_fc1-Dense_MatMul-op0", f"input.{n}") for n in (0, 1))
    b1, b2 = (tensor("BiasAdd", f"{layer}-Dense_BiasAdd", "input.1") for layer in ("fc1", "fc2"))
    w2 = tensor("MatMul", "-N_fc2-Dense_MatMul-op0", "input.1")
    labels = np.load(next(iter(place.glob("SparseSoftmax*.input.1.*.npy"))))
    z = x @ w1.T + b1
    a = act(z).astype(np.float32)
    y = a @ w2.T + b2
    shifted = y - y.max(1, keepdims=True)
    share = np.exp(shifted) / np.exp(shifted).sum(1, keepdims=True)
    picked = share[np.arange(len(labels)), labels]
    loss = np.float32(-np.log(picked).mean())
    grad = share.copy()
    grad[np.arange(len(labels)), labels] -= 1
    grad = (grad / len(labels)).astype(np.float32)
    back = grad @ w2
    hidden = back * (z > 0)
    one = np.float32(1.0)
    return [
        ("Functional.linear.0.forward", [x, w1, b1], [z]),
        (f"Functional.{name}.0.forward", [z], [a]),
        ("Functional.linear.1.forward", [a, w2, b2], [y]),
        ("Functional.cross_entropy.0.forward", [y, labels], [np.asarray(loss)]),
        ("Functional.cross_entropy.0.backward", [np.asarray(one)], [grad]),
        ("Functional.linear.1.backward", [grad], [grad.sum(0), back, (a.T @ grad)]),
        (f"Functional.{name}.0.backward", [back], [hidden]),
        ("Functional.linear.0.backward", [hidden], [hidden.sum(0), x.T @ hidden]),
    ]


@REAL
def test_pytorch_against_a_real_mindspore_dump_agrees_forward_and_backward(tmp_path: Path) -> None:
    mine = msprobe(tmp_path / "run" / "step0" / "rank0", of_sample(), tensors="npy").parents[1]
    found = compare(mine, SHARED / "ms_dump_cpu_tensor")
    matched = [o for o in found.operators if not o.only]

    assert found.kind == "agrees", found.verdict
    assert [(o.name, o.state) for o in matched if o.state not in ("agrees", "same")] == []
    assert [o.name for o in matched] == [name for name, _, _ in of_sample()]


@REAL
def test_a_replaced_activation_against_a_real_mindspore_dump(tmp_path: Path) -> None:
    wrong = of_sample(lambda x: np.where(x > 0, x, 0.2 * x), "leaky_relu")
    mine = msprobe(tmp_path / "run" / "step0" / "rank0", wrong, tensors="npy").parents[1]
    found = compare(mine, SHARED / "ms_dump_cpu_tensor")

    assert found.kind == "replaced" and found.first is not None
    assert found.first.name == "Functional.leaky_relu.0.forward"
    assert found.first.benchmark_name.endswith("ReLU-op0")


@REAL
def test_a_wrong_gradient_against_a_real_mindspore_dump(tmp_path: Path) -> None:
    wrong = [
        (
            name,
            taken,
            [made[0], made[1] * np.float32(1.5), *made[2:]] if "linear.1.backward" in name else made,
        )
        for name, taken, made in of_sample()
    ]
    mine = msprobe(tmp_path / "run" / "step0" / "rank0", wrong, tensors="npy").parents[1]
    found = compare(mine, SHARED / "ms_dump_cpu_tensor")

    assert found.first is not None and found.kind == "operator"
    assert found.first.name == "Functional.linear.1.backward"
    assert found.counted("also") == 0


@REAL
def test_statistics_are_enough_to_match_frameworks(tmp_path: Path) -> None:
    mine = msprobe(tmp_path / "run" / "step0" / "rank0", of_sample()).parents[1]
    found = compare(mine, SHARED / "ms_dump_cpu_tensor")

    assert len([o for o in found.operators if not o.only]) == 8
