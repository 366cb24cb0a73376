"""Weights over ranks, weights that want no gradient, fp16 at its limit: present, absent and unknown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from traindoctor.engine.load import load_rules
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.operators import limits, ranks
from traindoctor.probes.readings import readings
from traindoctor.probes.registry import probes_of

PROBES = {*probes_of(limits), *probes_of(ranks)}
SYMPTOMS = [s for s in load_rules().symptoms.values() if s.probe in PROBES]
MONITOR = "vpp_stage,name,step,min,max,mean,norm,nans,zeros,shape,dtype\n"
COMPARED = (
    "NPU Name,Bench Name,NPU Dtype,Bench Dtype,NPU Tensor Shape,Bench Tensor Shape,NPU Requires_grad,"
    "Bench Requires_grad,NPU max,NPU min,NPU mean,NPU l2norm,Bench max,Bench min,Bench mean,Bench l2norm,"
    "Result\n"
)


def state(folder: Path, symptom: str, settings: str = "") -> str:
    """What is read of the folder, of one symptom."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train.log").write_text("".join(f"step {s} loss {1 + 1 / (s + 1):.4f}\n" for s in range(120)))
    if settings:
        (folder / "config.yaml").write_text(settings)
    return str(dict(readings(open_run(folder), None, SYMPTOMS))[symptom].state.value)


def tensor(norm: float, dtype: str = "float32", high: float = 1.0) -> dict[str, object]:
    """A tensor's entry in msprobe's dump.json."""
    return {
        "type": "torch.Tensor",
        "dtype": f"torch.{dtype}",
        "shape": [8, 8],
        "Max": high,
        "Min": -1.0,
        "Mean": 0.0,
        "Norm": norm,
        "requires_grad": True,
    }


def dumped(folder: Path, norms: list[float], step: int = 0, name: str = "Module.fc.Linear.forward.0") -> Path:
    """One step of several ranks, each with a weight of its norm."""
    for rank, norm in enumerate(norms):
        place = folder / "dump" / f"step{step}" / f"rank{rank}"
        place.mkdir(parents=True, exist_ok=True)
        entry = {
            "input_args": [tensor(3)],
            "input_kwargs": {},
            "output": [tensor(2)],
            "parameters": {"weight": tensor(norm)},
        }
        (place / "dump.json").write_text(
            json.dumps({"task": "statistics", "level": "L0", "framework": "pytorch", "data": {name: entry}})
        )
    return folder


def monitored(folder: Path, kind: str, norms: list[list[float]], dtype: str = "float32") -> Path:
    """msprobe's monitor over steps (rows) and ranks (columns)."""
    for step, row in enumerate(norms, 1):
        for rank, norm in enumerate(row):
            place = folder / f"Nov21_13-07-05-rank{rank}-abc{rank}"
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{kind}_{step}-{step}.csv").write_text(
                MONITOR + f'0,fc.weight,{step},-1,{norm / 4},0,{norm},0,0.0,"[8, 8]",torch.{dtype}\n'
            )
    return folder


@pytest.mark.parametrize(
    ("norms", "settings", "expected"),
    [
        ([5.0, 5.0, 5.0], "", "absent"),
        ([5.0, 5.0, 6.0], "", "present"),  # one alone: no part of a model
        ([5.0, 6.0, 7.0], "", "unknown"),
        ([5.0, 6.0, 5.0, 6.0], "", "unknown"),
        ([5.0, 6.0], "tensor_model_parallel_size: 1\npipeline_model_parallel_size: 1\n", "present"),
        ([5.0, 6.0], "parallel_mode: data_parallel\n", "present"),
        ([5.0, 6.0], "parallel_mode: semi_auto_parallel\n", "unknown"),
        ([5.0, 6.0, 6.0], "tensor_model_parallel_size: 2\n", "unknown"),
        ([5.0], "", "unknown"),
    ],
)
def test_first_weights_over_ranks(tmp_path: Path, norms: list[float], settings: str, expected: str) -> None:
    """Ranks that start apart; what may be parts of one model says nothing."""
    assert state(dumped(tmp_path, norms), "dump-initial-ranks-differ", settings) == expected
    assert state(tmp_path, "dump-replicas-differ", settings) == "unknown"


def test_experts_are_shared_out(tmp_path: Path) -> None:
    """Each rank holds other experts."""
    made = dumped(tmp_path, [5.0, 5.0, 6.0], name="Module.mlp.experts.0.Linear.forward.0")

    assert state(made, "dump-initial-ranks-differ") == "unknown"


def test_monitored_weights_part(tmp_path: Path) -> None:
    """Of four ranks one goes its own way from the third step on."""
    apart = monitored(tmp_path / "a", "param_updated", [[5.0] * 4, [5.1] * 4, [5.2, 5.2, 5.4, 5.2]])
    alike = monitored(tmp_path / "b", "param_updated", [[5.0] * 4, [5.1] * 4])

    assert state(apart, "dump-replicas-differ") == "present"
    assert state(apart, "dump-initial-ranks-differ") == "unknown"
    assert state(alike, "dump-replicas-differ") == "absent"


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("Functional.linear.3.forward.input.1", "present"),
        ("Module.fc.Linear.forward.0.parameters.weight", "present"),
        ("Functional.linear.3.forward.output.0", "unknown"),  # a first pass of recomputed activations
        ("Functional.dropout.3.forward.input.1", "unknown"),
    ],
)
def test_weights_that_want_no_gradient(tmp_path: Path, row: str, expected: str) -> None:
    """Only rows of weights count."""
    cells = '{n},{n},torch.float32,torch.float32,"[8]","[8]",{a},True,1,-1,0,2,1,-1,0,2,pass\n'
    (tmp_path / "compare_result_20261120093011.csv").write_text(COMPARED + cells.format(n=row, a=False))
    assert state(tmp_path, "dump-weights-frozen") == expected

    (tmp_path / "compare_result_20261120093011.csv").write_text(COMPARED + cells.format(n=row, a=True))
    assert state(tmp_path, "dump-weights-frozen") == ("absent" if expected == "present" else "unknown")

    (tmp_path / "compare_result_20261120093011.csv").write_text(COMPARED + cells.format(n=row, a=False))
    assert state(tmp_path, "dump-weights-frozen", "peft_type: LORA\n") == "unknown"


@pytest.mark.parametrize(
    ("kind", "dtype", "high", "expected"),
    [
        ("actv", "float16", 65504.0, "present"),
        ("actv", "float16", 40000.0, "absent"),
        ("actv", "bfloat16", 70000.0, "unknown"),
        ("actv_grad", "float16", 65504.0, "unknown"),  # the loss scale tries its limit
    ],
)
def test_half_precision_at_its_limit(
    tmp_path: Path, kind: str, dtype: str, high: float, expected: str
) -> None:
    """The forward pass alone, and fp16 alone."""
    assert state(monitored(tmp_path, kind, [[high * 4]], dtype), "dump-half-at-limit") == expected


def test_masks_write_the_limit(tmp_path: Path) -> None:
    """What an operator was told to write is no overflow."""
    for name, expected in (("Tensor.masked_fill.0.forward", "absent"), ("Torch.matmul.0.forward", "present")):
        place = tmp_path / "dump" / "step0" / "rank0"
        place.mkdir(parents=True, exist_ok=True)
        entry = {"input_args": [], "input_kwargs": {}, "output": [tensor(9, "float16", 65504.0)]}
        content = {"task": "statistics", "level": "L1", "framework": "pytorch", "data": {name: entry}}
        (place / "dump.json").write_text(json.dumps(content))
        assert state(tmp_path, "dump-half-at-limit") == expected


def test_replicas_of_equal_groups(tmp_path: Path) -> None:
    """Weights that agreed before, or gradients that agree after the exchange, are no parts of one model."""
    before = monitored(tmp_path / "a", "param_origin", [[5.0] * 4, [5.2, 5.2, 5.4, 5.4]])
    parts = monitored(tmp_path / "b", "param_origin", [[5.0, 5.0, 6.0, 6.0], [5.2, 5.2, 6.2, 6.2]])
    reduced = monitored(tmp_path / "c", "param_origin", [[5.0, 5.0, 6.0, 6.0]])
    for rank in range(4):
        rows = "".join(f'0,{n}.weight,1,-1,0.1,0,2.5,0,0.0,"[8, 8]",torch.float32\n' for n in "ab")
        (reduced / f"Nov21_13-07-05-rank{rank}-abc{rank}" / "grad_reduced_1-1.csv").write_text(MONITOR + rows)

    assert state(before, "dump-replicas-differ") == "present"
    assert state(parts, "dump-initial-ranks-differ") == "unknown"
    assert state(reduced, "dump-initial-ranks-differ") == "present"


def test_some_weights_part_and_others_do_not(tmp_path: Path) -> None:
    """The exchange leaves one weight out; where all part, or none has trained, nothing is told."""

    def seen(folder: Path, first: float, second: float, alike: float) -> str:
        for step, norms in ((1, (5.0, 5.0)), (2, (first, second))):
            for rank, norm in enumerate(norms):
                place = folder / f"Nov21_13-07-05-rank{rank}-abc{rank}"
                place.mkdir(parents=True, exist_ok=True)
                rows = "".join(
                    f'0,{n}.weight,{step},-1,{v / 4},0,{v},0,0.0,"[8, 8]",torch.float32\n'
                    for n, v in (("a", norm), ("b", 3.0 if step == 1 else alike + 0.1 * rank * (alike > 4)))
                )
                (place / f"param_updated_{step}-{step}.csv").write_text(MONITOR + rows)
        return state(folder, "dump-some-weights-differ")

    assert seen(tmp_path / "a", 5.1, 5.2, 3.1) == "present"
    assert seen(tmp_path / "b", 5.1, 5.2, 3.0) == "unknown"  # the other never trains
    assert seen(tmp_path / "c", 5.1, 5.2, 4.1) == "unknown"  # all of them part
    assert seen(tmp_path / "d", 5.1, 5.1, 3.1) == "unknown"


@pytest.mark.parametrize(
    ("weights", "gradients", "settings", "expected"),
    [
        ([5.0, 5.0], [0.5, 0.7], "", "present"),
        ([5.0, 5.0], [0.5, 0.5], "", "absent"),
        ([5.0, 6.0], [0.5, 0.7], "", "unknown"),  # parts of one model?
        ([5.0, 5.0], [0.5, 0.7], "tensor_model_parallel_size: 2\n", "unknown"),
        ([5.0, 5.0], [0.5, 0.7], "use_distributed_optimizer: true\n", "unknown"),  # each has its part's sum
    ],
)
@pytest.mark.parametrize("second", [False, True])
def test_gradients_after_the_exchange(
    tmp_path: Path, weights: list[float], gradients: list[float], settings: str, expected: str, second: bool
) -> None:
    """They differ over ranks although the weights do not; of both versions of the monitor."""
    for rank, (weight, norm) in enumerate(zip(weights, gradients, strict=True)):
        rows = [("grad_reduced", "reduced", norm), ("param_origin", "param_origin", weight)]
        for kind, scope, of in rows:
            names = ("fc.weight", "out.weight")
            if second:
                place = tmp_path / f"rank_{rank}"
                text = "vpp_stage,step,module_name,scope,min,max,mean,norm,nans\n" + "".join(
                    f"-1,0,{n},{scope},-{of / 4},{of / 4},0,{of},0\n" for n in names
                )
                file = f"{'weight_grad' if scope == 'reduced' else 'param'}_step0-0.csv"
            else:
                place = tmp_path / f"Nov21_13-07-05-rank{rank}-abc{rank}"
                text = MONITOR + "".join(
                    f'0,{n},0,-{of / 4},{of / 4},0,{of},0,0.0,"[8, 8]",torch.float32\n' for n in names
                )
                file = f"{kind}_0-0.csv"
            place.mkdir(exist_ok=True)
            (place / file).write_text(text)

    assert state(tmp_path, "reduced-gradients-differ", settings) == expected


@pytest.mark.parametrize(
    ("gradients", "expected"),
    [
        ([0.5, 0.5, 0.7], "present"),
        ([0.5, 0.5, 0.5], "absent"),
        ([0.5, 0.6, 0.7], "unknown"),  # parts of one model?
        ([0.5, 0.7], "unknown"),  # none stands alone of two
    ],
)
def test_one_rank_alone_after_the_exchange(tmp_path: Path, gradients: list[float], expected: str) -> None:
    for rank, norm in enumerate(gradients):
        place = tmp_path / f"Nov21_13-07-05-rank{rank}-abc{rank}"
        place.mkdir()
        rows = (
            f'0,{n},0,-{norm / 4},{norm / 4},0,{norm},0,0.0,"[8, 8]",torch.float32\n'
            for n in ("a.weight", "b.weight")
        )
        (place / "grad_reduced_0-0.csv").write_text(MONITOR + "".join(rows))
    assert state(tmp_path, "reduced-gradients-differ-on-one-rank") == expected


@pytest.mark.parametrize(
    ("off", "begin", "wanted"),
    [
        ({2: 0.02}, 30, "present"),
        ({}, 0, "absent"),
        ({1: 0.02, 2: 0.04, 3: 0.06}, 0, "unknown"),  # norms before the exchange
        ({1: 0.02, 2: 0.02}, 30, "unknown"),
    ],
)
def test_a_logged_norm_of_one_rank_alone(
    tmp_path: Path, off: dict[int, float], begin: int, wanted: str
) -> None:
    """The norm of exchanged gradients is one on all ranks, until one device computes otherwise."""
    for rank in range(4):
        rows = (
            f"step {s} loss {1 + 1 / (s + 1) + 0.001 * rank:.4f}"
            f" grad_norm {(0.5 + s % 7 / 10) * (1 + (off.get(rank, 0.0) if s >= begin else 0.0)):.6f}\n"
            for s in range(50)
        )
        (tmp_path / f"rank{rank}.log").write_text("".join(rows))
    found = dict(readings(open_run(tmp_path), None, SYMPTOMS))

    assert found["reduced-gradients-differ-on-one-rank"].state.value == wanted
