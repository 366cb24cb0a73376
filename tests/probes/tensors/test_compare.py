"""Two dumps held against each other: the first operator to blame, what is inherited, what cannot be told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from traindoctor.engine.model import DumpComparison
from traindoctor.probes.tensors.compare import NotADump, Options, compare

from ._dumps import SHARED, Call, msprobe

random = np.random.default_rng(0)
X = random.standard_normal((8, 16)).astype(np.float32)
W1 = random.standard_normal((32, 16)).astype(np.float32)
W2 = random.standard_normal((4, 32)).astype(np.float32)


def gelu(x: Any) -> Any:
    return (0.5 * x * (1 + np.tanh(0.79788456 * (x + 0.044715 * x**3)))).astype(np.float32)


def relu(x: Any) -> Any:
    return np.maximum(x, 0)


def network(
    act: Any = gelu, name: str = "gelu", *, w1: Any = W1, x: Any = X, extra: Any = None, eps: float = 1e-5
) -> list[Call]:
    """Forward and backward of a small network, and an SGD step, as msprobe records them."""
    calls: list[Call] = [("Functional.layer_norm.0.forward", [x, eps], [x / (1 + eps * 1e3)])]
    h = calls[-1][2][0] @ w1.T
    calls.append(("Functional.linear.0.forward", [calls[-1][2][0], w1], [h]))
    a = act(h)
    calls.append((f"Functional.{name}.0.forward", [h], [a]))
    if extra is not None:
        b = extra(a)
        calls.append(("Torch.div.0.forward", [a], [b]))
        a = b
    y = a @ W2.T
    calls.append(("Functional.linear.1.forward", [a, W2], [y]))
    g = (y / y.size).astype(np.float32)
    calls.append(("Functional.linear.1.backward", [g], [g @ W2, g.T @ a]))
    back = (g @ W2) * (h > 0)
    calls.append((f"Functional.{name}.0.backward", [g @ W2], [back.astype(np.float32)]))
    calls.append(("Tensor.add_.0.forward", [w1, back.T @ x], [w1 - 0.1 * (back.T @ x)]))
    return calls


def held(
    tmp_path: Path, run: list[Call], benchmark: list[Call], *, exact: bool = False, **form: Any
) -> DumpComparison:
    a = msprobe(tmp_path / "run" / "step0" / "rank0", run, **form).parents[1]
    b = msprobe(tmp_path / "benchmark" / "step0" / "rank0", benchmark, **form).parents[1]
    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")}
    found = compare(a, b, Options(exact=exact))
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")} == before  # nothing is ever written
    return found


FORMS = [{}, {"tensors": "npy"}, {"tensors": "pt"}, {"digest": True}]


@pytest.mark.parametrize("form", FORMS)
def test_a_replaced_operator_is_the_finding_and_the_rest_inherits(tmp_path: Path, form: Any) -> None:
    found = held(tmp_path, network(relu, "relu"), network(), **form)
    assert found.kind == "replaced"
    assert found.first is not None
    assert (found.first.name, found.first.benchmark_name) == (
        "Functional.relu.0.forward",
        "Functional.gelu.0.forward",
    )
    states = [o.state for o in found.operators]
    assert states[:3][2] == "first" and set(states[3:]) == {"inherited"}


@pytest.mark.parametrize("form", FORMS)
def test_equal_runs_have_nothing_to_blame(tmp_path: Path, form: Any) -> None:
    found = held(tmp_path, network(), network(), **form)
    assert found.kind == ("agrees" if form == {} else "identical")
    assert found.first is None and found.counted("inherited", "unmatched") == 0


@pytest.mark.parametrize("form", FORMS[:2])
def test_a_faulty_kernel_is_named_not_what_follows_it(tmp_path: Path, form: Any) -> None:
    found = held(tmp_path, network(lambda x: gelu(x) * 1.05), network(), **form)
    assert found.kind == "operator" and found.first is not None
    assert found.first.name == "Functional.gelu.0.forward"


@pytest.mark.parametrize("form", FORMS[:2])
def test_rounding_is_no_fault(tmp_path: Path, form: Any) -> None:
    noisy = [
        (n, i, [(o * (1 + 1e-6 * random.standard_normal(o.shape))).astype(np.float32) for o in outs])
        for n, i, outs in network()
    ]
    found = held(tmp_path, noisy, network(), **form)
    assert found.kind == "agrees", found.verdict


def test_another_argument(tmp_path: Path) -> None:
    found = held(tmp_path, network(eps=1e-4), network())
    assert found.kind == "argument" and "input.1 is 0.0001 against 1e-05" in found.verdict


@pytest.mark.parametrize("form", FORMS[:2])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_the_first_operator_that_makes_what_is_not_finite(tmp_path: Path, form: Any, value: float) -> None:
    with np.errstate(all="ignore"):
        found = held(tmp_path, network(extra=lambda a: a * np.float32(value)), network(), **form)
    assert found.kind == "non-finite" and found.first is not None
    assert found.first.name == "Torch.div.0.forward" and "does not run it" in found.verdict
    assert "first" not in [o.state for o in found.operators[4:]]


def test_an_added_operator_that_changes_the_values(tmp_path: Path) -> None:
    found = held(tmp_path, network(extra=lambda a: a * 0.5), network())
    assert found.kind == "extra" and "Torch.div.0.forward" in found.verdict


def test_an_added_operator_that_changes_nothing_is_a_finding_but_no_fault(tmp_path: Path) -> None:
    found = held(tmp_path, network(extra=lambda a: a), network())
    assert found.kind == "agrees" and found.counted("unmatched") == 1
    assert "on one side alone" in found.verdict


def test_data_and_weights_that_differ_from_the_start(tmp_path: Path) -> None:
    found = held(tmp_path, network(x=X + 1), network())
    assert found.kind == "input" and "before any operator" in found.verdict
    found = held(tmp_path / "2", network(w1=W1 * 1.5), network())
    assert found.kind == "unseen" and "weight of Functional.linear.0.forward (input.1)" in found.verdict


def test_a_call_more_shifts_no_names(tmp_path: Path) -> None:
    """Counters of later calls move up by one; they are matched by what they are all the same."""
    calls = network()
    longer: list[Call] = [("Functional.linear.0.forward", [X, W1], [X @ W1.T * 0])]
    for name, inputs, outputs in calls:
        kind, number, phase = name.rsplit(".", 2)
        longer.append((f"{kind}.{int(number) + (kind == 'Functional.linear')}.{phase}", inputs, outputs))
    found = held(tmp_path, longer, calls)
    assert found.kind == "agrees" and found.counted("unmatched") == 1


def test_a_learning_rate_that_no_training_uses_is_told(tmp_path: Path) -> None:
    a = msprobe(tmp_path / "run", network())
    b = msprobe(tmp_path / "benchmark", network())
    for folder, alpha in ((a, -1e20), (b, -0.1)):
        content = json.loads((folder / "dump.json").read_text())
        content["data"]["Tensor.add_.0.forward"]["input_kwargs"] = {
            "alpha": {"type": "float", "value": alpha}
        }
        (folder / "dump.json").write_text(json.dumps(content))
    said = " ".join(compare(a, b).settings)
    assert "1e+20" in said and "no training uses" in said and "0.1" in said


def test_only_the_rank_that_differs_is_named(tmp_path: Path) -> None:
    for side in ("run", "benchmark"):
        for rank in (0, 1):
            act = relu if side == "run" and rank == 1 else gelu
            msprobe(
                tmp_path / side / "step0" / f"rank{rank}", network(act, "relu" if act is relu else "gelu")
            )
    found = compare(tmp_path / "run", tmp_path / "benchmark")
    assert found.ranks == (0, 1) and found.first is not None and found.first.rank == 1
    assert "on rank 1 alone" in found.verdict
    only = compare(tmp_path / "run", tmp_path / "benchmark", Options(rank=0))
    assert only.kind == "agrees"
    with pytest.raises(NotADump, match="--rank 7"):
        compare(tmp_path / "run", tmp_path / "benchmark", Options(rank=7))


def test_the_earliest_step_tells(tmp_path: Path) -> None:
    for side in ("run", "benchmark"):
        for step in (2, 10):
            act = relu if side == "run" and step == 10 else gelu
            msprobe(
                tmp_path / side / f"step{step}" / "rank0", network(act, "relu" if act is relu else "gelu")
            )
    found = compare(tmp_path / "run", tmp_path / "benchmark")
    assert found.steps == (2, 10) and found.first is not None and found.first.step == 10


def test_nothing_in_common(tmp_path: Path) -> None:
    found = held(tmp_path, network(), [("Torch.fft.0.forward", [X[:2]], [X[:1]])])
    assert found.kind == "nothing in common"


def test_what_is_no_dump_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("loss 1")
    msprobe(tmp_path / "run", network())
    with pytest.raises(NotADump, match="no operator dump"):
        compare(tmp_path / "run", tmp_path / "a.txt")


# --------------------------------------------------------------------------------------- determinism


def test_the_first_operator_with_equal_inputs_and_other_outputs(tmp_path: Path) -> None:
    run = network(lambda x: np.nextafter(gelu(x), np.float32(9)))
    for n, form in enumerate(FORMS[1:]):
        found = held(tmp_path / str(n), run, network(), exact=True, **form)
        assert found.kind == "operator" and found.first is not None, form
        assert found.first.name == "Functional.gelu.0.forward"


def test_a_checksum_taken_too_late_is_no_evidence(tmp_path: Path) -> None:
    """An operator that works in place was hashed after the change in one of two equal runs."""
    a = msprobe(tmp_path / "a", network(), digest=True)
    b = msprobe(tmp_path / "b", network(), digest=True)
    content = json.loads((a / "dump.json").read_text())
    last = content["data"]["Tensor.add_.0.forward"]
    last["input_args"][0]["md5"] = last["output"][0]["md5"]
    (a / "dump.json").write_text(json.dumps(content))
    for exact in (True, False):
        found = compare(a, b, Options(exact=exact))
        assert found.first is None and found.kind == "agrees", found.verdict
    content["data"]["Functional.gelu.0.forward"]["output"][0]["md5"] = "0badf00d"
    (a / "dump.json").write_text(json.dumps(content))
    assert compare(a, b, Options(exact=True)).kind == "operator"


def test_statistics_alone_cannot_tell_bits(tmp_path: Path) -> None:
    found = held(tmp_path, network(), network(), exact=True)
    assert found.kind == "agrees" and "Not every bit is known" in found.verdict
    assert held(tmp_path / "v", network(), network(), exact=True, tensors="npy").kind == "identical"


def test_a_random_operator_is_called_one(tmp_path: Path) -> None:
    run = network(lambda x: x * (random.random(x.shape) > 0.5).astype(np.float32), "dropout")
    other = network(lambda x: x * (random.random(x.shape) > 0.5).astype(np.float32), "dropout")
    found = held(tmp_path, run, other, exact=True, tensors="npy")
    assert found.kind == "random"


# ------------------------------------------------------------------- failures of msprobe, reproduced


needs_samples = pytest.mark.skipif(not SHARED.is_dir(), reason="../shared is not here")


@needs_samples
@pytest.mark.parametrize(
    "level", ["msprobe_pt_tensor/tensor_L1_", "msprobe_pt/stat_L1_", "msprobe_pt/stat_mix_"]
)
def test_gelu_replaced_by_relu_that_passed_141_of_141(level: str) -> None:
    found = compare(SHARED / f"{level}wrongop", SHARED / f"{level}base")
    assert found.kind == "replaced" and found.first is not None
    assert found.first.name == "Functional.relu.0.forward"
    assert found.first.source.startswith("train_pt.py:18")


@needs_samples
def test_a_dump_of_modules_alone_names_the_place() -> None:
    found = compare(SHARED / "msprobe_pt/stat_L0_wrongop", SHARED / "msprobe_pt/stat_L0_base")
    assert found.kind == "unseen" and "Module.b1.fc2" in found.verdict and "module b1" in found.verdict


@needs_samples
def test_two_equal_runs_that_gave_ten_errors() -> None:
    pair = (SHARED / "msprobe_pt/repeat_run1", SHARED / "msprobe_pt/repeat_run2")
    for exact in (True, False):
        found = compare(*pair, Options(exact=exact))
        assert found.first is None and found.kind == "agrees"
    found = compare(SHARED / "msprobe_pt/random_run1", SHARED / "msprobe_pt/random_run2", Options(exact=True))
    assert found.kind == "unseen" and "train_pt_rand.py:26" in " ".join(found.next_steps)


@needs_samples
def test_a_nan_run_that_gave_75_rows() -> None:
    found = compare(SHARED / "msprobe_pt/stat_L1_nan", SHARED / "msprobe_pt/stat_L1_base")
    assert found.kind == "non-finite" and found.first is not None
    assert found.first.name == "Torch.div.0.forward" and found.first.source.startswith("train_pt.py:26")
    found = compare(SHARED / "msprobe_pt/ddp_nan", SHARED / "msprobe_pt/ddp_base")
    assert found.first is not None and (found.first.name, found.first.rank) == ("Torch.log.0.forward", 1)


@needs_samples
def test_a_learning_rate_of_1e20_that_went_unseen() -> None:
    found = compare(SHARED / "ms_dump_cpu_nan", SHARED / "ms_dump_cpu_tensor")
    assert found.kind == "setting" and "learning rate" in found.verdict
    assert found.first is not None and found.first.step == 0
    assert any("1e+20" in s and "no training" in s for s in found.settings)


@needs_samples
def test_other_real_pairs() -> None:
    eps = compare(SHARED / "msprobe_pt/stat_L1_eps", SHARED / "msprobe_pt/stat_L1_base")
    assert eps.kind == "argument" and "layer_norm.1" in eps.verdict
    half = compare(SHARED / "msprobe_pt/stat_L1_f16", SHARED / "msprobe_pt/stat_L1_base")
    assert half.kind == "agrees" and any("bfloat16" in n for n in half.notes)
    tree = SHARED / "precision_tool_synthetic"
    found = compare(tree, tree)
    assert found.first is not None and found.first.name == "fc_MatMul"


def test_a_weight_that_differs_is_called_so(tmp_path: Path) -> None:
    """What is wrong began before this step: with the checkpoint, or with an earlier update."""
    other = W2 * np.float32(1.1)
    changed = [
        (n, [other if i is W2 else i for i in given], [o * np.float32(1.1) for o in made])
        if n == "Functional.linear.1.forward"
        else (n, given, made)
        for n, given, made in network()
    ]
    found = held(tmp_path, changed, network(), tensors="npy")

    assert found.kind == "unseen"
    assert found.verdict.startswith(
        "A weight of Functional.linear.1.forward (input.1) is not the benchmark's"
    )
    assert "one checkpoint" in found.next_steps[0]


def test_an_input_that_is_no_number_is_called_so(tmp_path: Path) -> None:
    x = X.copy()
    x[0, 0] = np.nan
    found = held(tmp_path, network(x=x), network(), tensors="npy")

    assert found.kind == "input" and "holds values that are not finite" in found.verdict


@pytest.mark.parametrize("missing", ["run", "benchmark"])
def test_a_rank_that_one_side_does_not_have_is_told(tmp_path: Path, missing: str) -> None:
    for side in ("run", "benchmark"):
        for rank in range(3):
            if (side, rank) != (missing, 1):
                msprobe(tmp_path / side / "step0" / f"rank{rank}", network(), tensors="npy")
    found = compare(tmp_path / "run", tmp_path / "benchmark")

    assert "Rank 1 could not be compared" in found.verdict
    assert any("rank 1" in n for n in found.notes)


def bf16(values: Any) -> Any:
    return (np.asarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)


@pytest.mark.parametrize("factor", [1.5, 1.05])
def test_a_large_tensor_in_bf16_is_held_to_its_type(tmp_path: Path, factor: float) -> None:
    """The norm of many elements is far above each of them: it is no measure of rounding for one element."""
    x = random.standard_normal((256, 256)).astype(np.float32)

    def calls(scale: float) -> list[Call]:
        made = bf16(x * np.float32(scale))
        return [
            ("Functional.linear.0.forward", [bf16(x)], [bf16(x)]),
            ("Functional.relu.0.forward", [bf16(x)], [made]),
            ("Functional.dropout.0.forward", [made], [made]),
        ]

    for side, scale in (("run", factor), ("benchmark", 1.0)):
        folder = msprobe(tmp_path / side / "step0" / "rank0", calls(scale), tensors="pt")
        head = folder / "dump.json"
        head.write_text(head.read_text().replace("torch.uint16", "torch.bfloat16"))
    found = compare(tmp_path / "run", tmp_path / "benchmark")

    assert found.first is not None and found.first.name == "Functional.relu.0.forward"


def test_a_sum_that_cancels_to_nothing_is_rounding(tmp_path: Path) -> None:
    x = random.standard_normal((512, 64)).astype(np.float32)
    x -= x.mean(0)
    calls = [("Functional.linear.0.forward", [x], [x])]
    run = [*calls, ("Torch.sum.0.forward", [x], [x.sum(0)])]
    benchmark = [*calls, ("Torch.sum.0.forward", [x], [x[::-1].sum(0)])]

    assert held(tmp_path, run, benchmark, tensors="npy").kind == "agrees"
