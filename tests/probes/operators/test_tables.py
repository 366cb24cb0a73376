"""What msprobe's tables say: tests of single operators, gradients by layer, figures of batches, cosines."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from traindoctor.engine.load import load_rules
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.operators import (
    checks,
    ckpt_compare,
    config_check,
    dumps,
    falls,
    first_batch,
    layers,
    limits,
    origins,
    standing,
)
from traindoctor.probes.readings import readings
from traindoctor.probes.registry import probes_of

PROBES = {
    p
    for m in (
        checks,
        ckpt_compare,
        config_check,
        dumps,
        falls,
        first_batch,
        layers,
        limits,
        origins,
        standing,
    )
    for p in probes_of(m)
}
SYMPTOMS = [s for s in load_rules().symptoms.values() if s.probe in PROBES]
LOG = "".join(f"step {s} loss {1 + 1 / (s + 1):.4f}\n" for s in range(120))
CANN = (
    "Index,OpType,NPUDump,DataType,GroundTruth,DataType,TensorIndex,Shape,CosineSimilarity,"
    "RelativeEuclideanDistance\n"
)
DETAILS = "API Name,余弦相似度,Status\nTorch.a.0.forward.output.0"
VERDICTS = "API name,Forward Test Success,Backward Test Success\n"


def states(folder: Path, *names: str, benchmark: Path | None = None, theirs: str = LOG) -> list[str]:
    """What is read of a folder."""
    for one in (folder, benchmark):
        if one is not None:
            one.mkdir(exist_ok=True)
            (one / "train.log").write_text(LOG if one is folder else theirs)
    other = open_run(benchmark) if benchmark is not None else None
    found = dict(readings(open_run(folder), other, SYMPTOMS))
    return [found[n].state.value for n in names]


@pytest.mark.parametrize(
    ("file", "rows", "state"),
    [
        ("accuracy_checking_details_2024.csv", f"{DETAILS},0.83,error", ["unknown", "present"]),
        ("accuracy_checking_details_2024.csv", f"{DETAILS},0.999,warning", ["absent", "unknown"]),
        ("accuracy_checking_details_2024.csv", f"{DETAILS},0.97,pass", ["absent", "unknown"]),
        ("api_precision_compare_result_2024.csv", f"{VERDICTS}Torch.a.0,pass,error", ["present", "unknown"]),
        ("accuracy_checking_result_2024.csv", f"{VERDICTS}Torch.a.0,pass,SKIP", ["absent", "unknown"]),
        ("accuracy_checking_result_2024.csv", VERDICTS, ["unknown", "unknown"]),
    ],
)  # fmt: skip
def test_single_operators(tmp_path: Path, file: str, rows: str, state: list[str]) -> None:
    """By figures where there are any; a warning, or an operator that was skipped, is no error."""
    (tmp_path / file).write_text(rows + "\n", encoding="utf-8")

    assert states(tmp_path, "operator-unit-test-fails", "operator-unit-test-far") == state


@pytest.mark.parametrize(("mode", "state"), [("no_change", "present"), ("improve_precision", "unknown")])
def test_operators_run_twice(tmp_path: Path, mode: str, state: str) -> None:
    """Only where the inputs stayed the same is an operator not itself."""
    (tmp_path / "free_benchmark.csv").write_text(
        f"rank,pert_mode,stage,step,api_name,max_rel\n0,{mode},forward,3,Tensor.index_put_.2,1.01\n"
    )

    assert states(tmp_path, "operator-not-itself") == [state]


@pytest.mark.parametrize(
    ("factors", "state"),
    [
        ([2.0, 2.0, 1.9, 1.01, 1.0, 1.0], "present"),
        ([1.0, 1.01, 1.0, 0.99, 1.0, 1.0], "absent"),
        ([2.0] * 6, "unknown"),  # all of them: a scale
        ([1.0, 2.0, 1.0, 2.0, 1.0, 2.0], "unknown"),
    ],
)
def test_gradients_part_at_a_layer(tmp_path: Path, factors: list[float], state: str) -> None:
    """Of both sides in one folder, by the norm of each parameter's gradient."""
    for side, scale in (("npu", factors), ("gpu", [1.0] * 6)):
        place = tmp_path / side
        place.mkdir()
        rows = "".join(f"layer.{n}.weight,0,{0.5 * f}\n" for n, f in enumerate(scale))
        (place / "grad_summary_0.csv").write_text(f"param_name,=0,norm\n{rows}")

    assert states(tmp_path, "gradients-part-at-layer") == [state]


@pytest.mark.parametrize(
    ("high", "norm", "expected"),
    [
        (255.0, 5.0, ["present", "absent"]),
        (2.6, 5.0, ["absent", "absent"]),
        (2.6, 9.0, ["absent", "present"]),
    ],
)
def test_first_batch_and_weights(tmp_path: Path, high: float, norm: float, expected: list[str]) -> None:
    """What config_check recorded: the range of the batch, and the scale of the weights."""
    for side, top, size in (("a", high, norm), ("b", 2.5, 5.01)):
        for kind, inner in (
            (
                "dataset",
                {"args": {"0": {"max": top, "min": -2.0 if top < 9 else 0.0, "mean": 0.1, "norm": 9.0}}},
            ),
            ("weight", {f"w{n}": {"max": 1.0, "min": -1.0, "mean": 0.0, "norm": size} for n in range(3)}),
        ):
            place = tmp_path / side / f"{kind}s" / "step0" / "rank0"
            place.mkdir(parents=True)
            (place / f"{kind}.json").write_text(json.dumps(inner))
    asked = ("first-batch-other-scale", "first-weights-other-scale")

    assert states(tmp_path / "a", *asked, benchmark=tmp_path / "b") == expected
    assert states(tmp_path / "b", *asked) == ["unknown", "unknown"]


def dumped(folder: Path, high: float, target: int, weight: float = 0.8) -> Path:
    """A dump of msprobe: a convolution of the batch, and a loss over ten classes."""

    def tensor(shape: list[int], top: float, low: float, dtype: str = "float32") -> dict[str, object]:
        figures = {"Max": top, "Min": low, "Mean": 0.0, "Norm": 1.0}
        return {"type": "torch.Tensor", "dtype": f"torch.{dtype}", "shape": shape, **figures}

    place = folder / "step0" / "rank0"
    place.mkdir(parents=True)
    data = {
        "Functional.conv2d.0.forward": {
            "input_args": [tensor([4, 3, 8, 8], high, -2.0), tensor([9, 3, 3, 3], weight, -weight)],
            "input_kwargs": {},
            "output": [tensor([4, 9, 8, 8], 3.0, -3.0)],
        },
        "Functional.cross_entropy.0.forward": {
            "input_args": [tensor([4, 10], 1.0, -1.0), tensor([4], target, 0, "int64")],
            "input_kwargs": {},
            "output": [tensor([], 2.3, 2.3)],
        },
    }
    (place / "dump.json").write_text(json.dumps({"task": "statistics", "level": "L1", "data": data}))
    return folder


@pytest.mark.parametrize(
    ("mine", "expected"),
    [
        ((255.0, 9), ["present", "absent"]),
        ((2.6, 10), ["absent", "present"]),
        ((255.0, 9, 0.5), ["unknown", "absent"]),  # other weights
    ],
)
def test_batch_of_a_dump(tmp_path: Path, mine: tuple[float, int], expected: list[str]) -> None:
    """What enters the first operator with the benchmark's weights, and the classes that a loss is given."""
    run, other = dumped(tmp_path / "a", *mine), dumped(tmp_path / "b", 2.5, 9)
    asked = ("first-batch-other-scale", "dump-targets-out-of-range")

    assert states(run, *asked, benchmark=other, theirs=LOG.replace("loss 1", "loss 0")) == expected
    assert states(run, *asked, benchmark=other)[0] != "present"  # one course: another batch, no other scale
    assert states(tmp_path / "c", *asked) == ["unknown", "unknown"]


@pytest.mark.parametrize(
    ("mode", "highest", "scale", "expected"),
    [
        (0, 65504.0, 65536, "present"),
        (0, 12.0, 65536, "absent"),
        (0, 65504.0, 4096, "absent"),
        (1, 65504.0, 65536, "unknown"),
    ],
)
def test_overflow_that_saturates(
    tmp_path: Path, mode: int, highest: float, scale: int, expected: str
) -> None:
    """Saturation mode, gradients of fp16 at 65504 in a monitor, and a loss scale that never falls."""
    place = tmp_path / "May22_11-19-40-rank0-a9d2"
    place.mkdir()
    header = "vpp_stage,name,step,min,max,mean,norm,nans,zeros,shape,dtype\n"
    row = f"0,net.conv.weight,9,-1.0,{highest},0.0,70000.0,0,0.0,[8],torch.float16\n"
    (place / "grad_unreduced_9-9.csv").write_text(header + row)
    (tmp_path / "run.sh").write_text(f"export INF_NAN_MODE_ENABLE={mode}\npython train.py --fp16\n")
    rows = (
        f"step {s} loss {1 + 1 / (s + 1):.4f} loss_scale {65536 if s < 50 else scale}\n" for s in range(90)
    )
    (tmp_path / "train.log").write_text("".join(rows))
    found = dict(readings(open_run(tmp_path), None, SYMPTOMS))

    assert found["overflow-saturates-unseen"].state.value == expected


def table(folder: Path, *rows: tuple[str, str, str, float]) -> Path:
    """A comparison of CANN: type, operator, input or output, cosine; TransData has no counterpart."""
    lines = []
    for n, (kind, name, io, cosine) in enumerate(rows):
        other = "*" if kind == "TransData" else name
        told = "NaN,NaN" if kind == "TransData" else f"{cosine},{(2 - 2 * cosine) ** 0.5}"
        lines.append(f'{n},{kind},{name},float16,{other},float32,{name}:{io}:0,"[8]",{told}')
    (folder / "result_20240101.csv").write_text(CANN + "\n".join(lines) + "\n")
    return folder


ROUNDED = [("Relu", f"r{n}", io, 0.9999) for n in range(3) for io in ("input", "output")]


@pytest.mark.parametrize(
    ("rows", "state"),
    [
        ([*ROUNDED, ("Softmax", "s", "input", 0.9998), ("Softmax", "s", "output", 0.87)], "present"),
        ([*ROUNDED, ("Softmax", "s", "input", 0.9998), ("Softmax", "s", "output", 0.9997)], "absent"),
        ([*ROUNDED, ("Softmax", "s", "input", 0.97), ("Softmax", "s", "output", 0.87)], "unknown"),
        (
            [*ROUNDED, ("Conv2D", "c", "input", 0.9998), ("Conv2D", "c", "output", 0.5)],
            "unknown",
        ),  # its weights?
        (
            [*ROUNDED, ("DropoutDoMask", "d", "input", 0.9998), ("DropoutDoMask", "d", "output", 0.5)],
            "unknown",
        ),
    ],
)
def test_the_first_cosine_that_falls(
    tmp_path: Path, rows: list[tuple[str, str, str, float]], state: str
) -> None:
    """However much rounding lies before it."""
    assert states(table(tmp_path, *rows), "operator-cosine-falls") == [state]


def test_what_compilers_insert_is_no_other_call(tmp_path: Path) -> None:
    """A change of layout that only one side has does not make the graph another one."""
    rows = [
        ("TransData", "t0", "input", 0.0),
        ("Relu", "r0", "input", 0.9999),
        ("Relu", "r0", "output", 0.9999),
    ]

    assert "present" not in states(table(tmp_path, *rows), "dump-calls-differ", "operator-compare-bad")


def test_dumps_of_ptdbg(tmp_path: Path) -> None:
    """Text files called .pkl: the operator that overflows is named."""
    lines = [["Torch_mul_0_forward_input.0", [], "torch.float16", [4], [400.0, -1.0, 2.0]]]
    for name, high in (("Torch_mul_0_forward_output", 300.0), ("Tensor_pow_0_forward_input.0", 300.0)):
        lines.append([name, [], "torch.float16", [4], [high, -1.0, 2.0]])
    bad = ["Tensor_pow_0_forward_output", 1, [], "torch.float16", [4], [float("inf"), -1.0, float("inf")]]
    place = tmp_path / "step0" / "rank0"
    place.mkdir(parents=True)
    for end, state in (([bad], "present"), ([], "absent")):
        text = "\n".join(json.dumps(line) for line in [*lines, *end])
        (place / "api_stack_dump.pkl").write_text(text + "\n")
        assert states(tmp_path, "dump-first-bad-operator") == [state]


@pytest.mark.parametrize(
    ("other", "state"),
    [(1.0, "present"), (0.99999, "absent")],  # an activation that deviates as well is no product
)
def test_products_alone_are_rounded(tmp_path: Path, other: float, state: str) -> None:
    """Three products in fp32 deviate by what hf32 rounds, and three activations do not."""
    rows = []
    for n in range(3):
        for kind, name, out in (("MatMul", f"m{n}", 1 - 4e-7), ("Relu", f"r{n}", other if n == 2 else 1.0)):
            rows += [(kind, name, "input", 1.0), (kind, name, "output", out)]
    rows.append(("Tanh", "t", "input", 1.0))
    rows.append(("Tanh", "t", "output", 1.0))
    table(tmp_path, *rows)
    file = tmp_path / "result_20240101.csv"
    file.write_text(file.read_text().replace("float16", "float32"))

    assert states(tmp_path, "dump-products-rounded") == [state]
    assert states(table(tmp_path, *ROUNDED), "dump-products-rounded") == ["unknown"]


def test_a_comparison_of_ptdbg(tmp_path: Path) -> None:
    """Names with underscores, and types in a column of another name."""
    rows = [
        "NPU Name,Bench Name,NPU Tensor Dtype,Bench Tensor Dtype,NPU Tensor Shape,Bench Tensor Shape,Cosine"
    ]
    for name, cosine in (("gelu_0_forward_input.0", 1.0), ("gelu_0_forward_output", 0.99999)):
        rows.append(f'Functional_{name},Functional_{name},torch.float16,torch.float16,"[8]","[8]",{cosine}')
    for name, cosine in (("tanh_0_forward_input.0", 0.99999), ("tanh_0_forward_output", 0.81)):
        rows.append(f'Torch_{name},Torch_{name},torch.float16,torch.float16,"[8]","[8]",{cosine}')
    (tmp_path / "compare_result_2023.csv").write_text("\n".join(rows) + "\n")

    assert states(tmp_path, "operator-cosine-falls", "operator-compare-bad") == ["present", "present"]


@pytest.mark.parametrize(
    ("norms", "state"),
    [
        ([0.0, 0.4, 0.5, 0.6], "present"),
        ([None, 0.4, 0.5, 0.6], "present"),  # not among those that have one
        ([0.3, 0.4, 0.5, 0.6], "absent"),
        ([0.0, 0.0, 0.0, 0.6], "unknown"),  # most of them: other names, or nothing recorded
    ],
)
def test_gradients_that_are_gone(tmp_path: Path, norms: list[float | None], state: str) -> None:
    """Zero or missing at every step here, and not in the benchmark."""
    for side, kept in (("npu", norms), ("gpu", [0.3, 0.4, 0.5, 0.6])):
        for step in (0, 1):
            place = tmp_path / f"{side}_grad" / "rank0"
            place.mkdir(parents=True, exist_ok=True)
            rows = "".join(f"l.{n}.gate.weight,0,{v}\n" for n, v in enumerate(kept) if v is not None)
            (place / f"grad_summary_{step}.csv").write_text(f"param_name,=0,norm\n{rows}")

    assert states(tmp_path, "gradients-gone") == [state]
    (tmp_path / "adapter.yaml").write_text("peft_type: LORA\nlora_rank: 8\n")
    assert states(tmp_path, "gradients-gone") == ["unknown"]


@pytest.mark.parametrize(
    ("cosines", "state"),
    [
        ([1.0, 1.0, 0.0004, -0.0007], "present"),
        ([1.0, 0.9999, 0.9998, 1.0], "absent"),
        ([0.0003, 0.0004, 0.0001, -0.0007], "unknown"),  # two runs that started for themselves
        ([1.0, 1.0, 0.4, 0.3], "absent"),  # trained apart
    ],
)
def test_checkpoints_partly_unrelated(tmp_path: Path, cosines: list[float], state: str) -> None:
    """Some weights the same, some drawn anew; a vector's cosine says nothing."""
    told = {
        f"decoder.layers.{n}.mlp.linear_fc1.weight": {"l2": 1.0, "cos": c, "numel": 4096, "shape": [64, 64]}
        for n, c in enumerate(cosines)
    }
    for name in ("decoder.layers.0.lora_A.weight", "decoder.layers.1.lora_A.weight", "mm_projector.0.weight"):
        told[name] = {"l2": 9.0, "cos": 0.0, "numel": 4096, "shape": [4, 1024]}  # drawn anew by design
    told["decoder.final_norm.weight"] = {"l2": 9.0, "cos": 0.0, "numel": 4096, "shape": [4096]}
    (tmp_path / "ckpt_cmp.json").write_text(json.dumps(told))

    assert states(tmp_path, "checkpoints-partly-unrelated") == [state]


def workbook(path: Path, **sheets: list[list[str]]) -> Path:
    """An XLSX file with its texts in the cells."""
    space = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    with zipfile.ZipFile(path, "w") as archive:
        names = "".join(f'<sheet name="{n}" sheetId="{i}"/>' for i, n in enumerate(sheets, 1))
        archive.writestr("xl/workbook.xml", f"<workbook {space}><sheets>{names}</sheets></workbook>")
        for number, rows in enumerate(sheets.values(), 1):
            cells = "".join(
                "<row>" + "".join(f'<c t="inlineStr"><is><t>{c}</t></is></c>' for c in row) + "</row>"
                for row in rows
            )
            sheet = f"<worksheet {space}><sheetData>{cells}</sheetData></worksheet>"
            archive.writestr(f"xl/worksheets/sheet{number}.xml", sheet)
    return path


@pytest.mark.parametrize(
    ("name", "theirs", "mine", "state"),
    [
        ("adam-beta2", "0.95", "0.999", "present"),
        ("lr", "1e-4", "1.0e-04", "absent"),  # told as text
        ("bf16", "--use-flash-attn", "--swiglu", "absent"),  # a flag read wrongly by the tool
        ("save-interval", "100", "200", "absent"),
        ("train-iters", "5000", "100", "absent"),  # a short run to compare
    ],
)
def test_config_check_table(tmp_path: Path, name: str, theirs: str, mine: str, state: str) -> None:
    """Hyperparameters that its own table tells to differ."""
    head = ["file_name", "bench_para", "cmp_para", "bench_value", "cmp_value", "matched_with", "level"]
    summary = [["filename", "pass_check"], ["hyperparameters", "error"]]
    row = ["static.json", name, name, theirs, mine, name, "error"]
    workbook(tmp_path / "result.xlsx", summary=summary, hyperparameters=[head, row])
    (tmp_path / "rest").mkdir()
    workbook(tmp_path / "rest" / "result.xlsx", summary=summary, pip=[["package"]])

    assert states(tmp_path, "config-check-differs") == [state]
    assert states(tmp_path / "rest", "config-check-differs") == ["unknown"]


HEAD = (
    "NPU Name,Bench Name,NPU Dtype,Bench Dtype,NPU Tensor Shape,Bench Tensor Shape,"
    "NPU max,NPU min,NPU mean,NPU l2norm,Bench max,Bench min,Bench mean,Bench l2norm,Result\n"
)


def compared(folder: Path, rank: int, off: float, name: str) -> None:
    """A comparison by figures in which the output of one operator is `off`."""
    folder.mkdir(exist_ok=True)
    rows = []
    for place, factor in (("input.0", 1.0), ("output.0", 1 + off)):
        for number in (0, 1):
            it = f"Functional.gelu.{number}.forward.{place}"
            scale = factor if number else 1.0
            mine = ",".join(f"{v * scale}" for v in (2.0, -2.0, 0.5, 30.0))
            rows.append(
                f'{it},{it},torch.bfloat16,torch.bfloat16,"[8, 8]","[8, 8]",{mine},2.0,-2.0,0.5,30.0,pass'
            )
    ordered = sorted(rows, key=lambda r: r.split(".")[2])
    (folder / name.format(rank)).write_text(HEAD + "\n".join(ordered) + "\n", encoding="gbk")


@pytest.mark.parametrize(
    ("offs", "expected"),
    [
        ([0.0, 0.0, 0.3], ["unknown", "present", "present", "unknown"]),  # the device may be wrong
        ([0.3, 0.3, 0.3], ["present", "absent", "unknown", "present"]),
        ([0.0, 0.0, 0.0], ["unknown"] * 4),
        ([0.3], ["present", "unknown", "unknown", "present"]),
    ],
)
def test_how_far_and_on_which_ranks(tmp_path: Path, offs: list[float], expected: list[str]) -> None:
    """Several roundings off; on one rank alone, or on all. The tables are found by what they hold."""
    for rank, off in enumerate(offs):
        compared(tmp_path, rank, off, "比对_rank{}.csv")

    one = ("operator-bad-on-one-rank", "operator-far-off-on-one-rank")
    assert states(tmp_path, "operator-deviates-clearly", *one, "operator-compare-bad") == expected


def test_a_little_off_on_one_rank(tmp_path: Path) -> None:
    """In fp32 a hundredth is more than rounding, and still may be what the operator does there."""
    for rank, off in enumerate([0.0, 0.0, 0.01]):
        compared(tmp_path, rank, off, "rank{}.csv")
    for file in tmp_path.glob("*.csv"):
        file.write_text(file.read_text().replace("bfloat16", "float32"))
    one = ("operator-bad-on-one-rank", "operator-far-off-on-one-rank")
    assert states(tmp_path, *one) == ["present", "absent"]


MSIT = (
    "token_id,data_id,golden_data_path,golden_dtype,golden_shape,my_data_path,my_dtype,my_shape,"
    "cosine_similarity,max_relative_error,relative_euclidean_distance\n"
)


@pytest.mark.parametrize(
    ("cosines", "found"),
    [
        ([0.99998, 0.99997, 0.81], ["unknown", "present"]),
        (
            [0.99996, 0.99997, 0.99995],
            ["unknown", "absent"],
        ),  # inputs are not recorded, and rounding adds up
    ],
)
def test_a_table_of_msit(tmp_path: Path, cosines: list[float], found: list[str]) -> None:
    rows = [
        f"0,{n},/g/tensors/0_1/0/model.layers.{n}/output_0.pth,torch.float16,[4],"
        f"/n/tensors/0_2/0/{n}_Decoder_layer/3_SelfAttentionOperation/after/outtensor0.bin,torch.float16,[4],"
        f"{cosine},0.01,{(2 - 2 * cosine) ** 0.5}\n"
        for n, cosine in enumerate(cosines)
    ]
    (tmp_path / "msit_cmp_report_1.csv").write_text(MSIT + "".join(rows))
    assert states(tmp_path, "operator-compare-bad", "operator-cosine-falls") == found


BATCHES = [
    (2.61, -2.1, 0.01, 388.1),
    (2.55, -2.0, 0.02, 391.7),
    (2.7, -2.2, 0.0, 379.4),
    (2.4, -2.3, 0.03, 385.2),
]


@pytest.mark.parametrize(
    ("order", "state"),
    [((2, 0, 3, 1), "present"), ((0, 1, 2, 3), "absent"), ((0, 1), "unknown")],
)
def test_first_batches_in_another_order(tmp_path: Path, order: tuple[int, ...], state: str) -> None:
    """What config_check recorded of several steps."""
    for side, steps in (("a", order), ("b", range(4))):
        for step, at in enumerate(steps):
            place = tmp_path / side / "dataset" / f"step{step}" / "rank0"
            place.mkdir(parents=True)
            told = dict(zip(("max", "min", "mean", "norm"), BATCHES[at], strict=True))
            (place / "dataset.json").write_text(json.dumps({"args": {"0": told}}))

    assert states(tmp_path / "a", "first-batches-in-other-order", benchmark=tmp_path / "b") == [state]


@pytest.mark.parametrize(
    ("dtype", "after", "steps", "state"),
    [
        ("torch.bfloat16", 45.254833, 4, "present"),
        ("torch.bfloat16", 45.254911, 4, "absent"),
        ("torch.bfloat16", 45.254833, 2, "unknown"),
        ("torch.float32", 45.254833, 4, "unknown"),
    ],
)
def test_weights_that_an_update_leaves(
    tmp_path: Path, dtype: str, after: float, steps: int, state: str
) -> None:
    """What the monitor kept before and after each update, of a weight that has a gradient."""
    place = tmp_path / "Feb11_09-10-22-rank0-1a2b3c4d"
    place.mkdir()
    for kind, norm in (("param_origin", 45.254833), ("param_updated", after), ("grad_reduced", 0.2)):
        rows = "".join(f'0,w,{n},-1.0,1.0,0.1,{norm},0,0.0,"[2048]",{dtype}\n' for n in range(steps))
        header = "vpp_stage,name,step,min,max,mean,norm,nans,zeros,shape,dtype\n"
        (place / f"{kind}_0-99.csv").write_text(header + rows)

    assert states(tmp_path, "half-weights-stand") == [state]
    (tmp_path / "args.yaml").write_text("tensor_model_parallel_size: 1\n")  # Megatron updates copies in fp32
    assert states(tmp_path, "half-weights-stand") == ["unknown"]


@pytest.mark.parametrize(("size", "expected"), [(2e-8, "absent"), (0.2, "present")])
def test_gradients_that_are_rounding_alone(tmp_path: Path, size: float, expected: str) -> None:
    """A bias of keys changes no attention: its gradient is what rounding leaves, and differs everywhere."""
    for side, off in (("npu", 1.5), ("gpu", 1.0)):
        place = tmp_path / f"{side}_grad" / "rank0"
        place.mkdir(parents=True)
        rows = [f"layers.{n}.{k}.weight,0,{0.1 + n / 50}" for n in range(4) for k in ("q", "k", "v", "up")]
        rows += [f"layers.{n}.k.bias,0,{size * off * (1 + n / 9)}" for n in range(4)]
        (place / "grad_summary_0.csv").write_text("param_name,=0,norm\n" + "\n".join(rows) + "\n")

    assert states(tmp_path, "gradients-of-one-kind-off") == [expected]
