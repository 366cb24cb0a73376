"""Checkpoints in a run directory: each symptom present, absent and unknown; healthy runs raise nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from traindoctor.engine.diagnose import diagnose
from traindoctor.engine.load import load_rules
from traindoctor.engine.model import Reading
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.files import RunUnreadable
from traindoctor.probes.readings import readings
from traindoctor.probes.tensors import history

from ..tensors._saved import HERE, Weights, layers, safetensors

RULES = load_rules()
SAVED = {
    s.id: s for s in RULES.symptoms.values() if s.area == "weights" or (s.probe or "").startswith("weights")
}


def log(folder: Path, steps: int = 120) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    rows = [{"step": s, "loss": 1.0 + 1.0 / s} for s in range(1, steps + 1)]
    (folder / "log.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    return folder


def saved(folder: Path, *at: tuple[str, Weights]) -> Path:
    log(folder)
    for name, weights in at:
        safetensors(folder / name, weights)
    return folder


def read(folder: Path, benchmark: Path | None = None) -> dict[str, Reading]:
    against = open_run(benchmark) if benchmark else None
    return dict(readings(open_run(folder), against, SAVED.values()))


def state(folder: Path, symptom: str) -> str:
    reading = read(folder)[symptom]
    assert not reading.why.startswith("probe error"), reading.why
    return str(reading.state)


def moved(weights: Weights, by: float = 0.01, only: str = "") -> dict[str, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(1)
    return {
        n: (a + by * rng.standard_normal(a.shape)).astype(a.dtype) if n.startswith(only) else a
        for n, a in weights.items()
    }


def test_no_probe_fails_without_checkpoints(tmp_path: Path) -> None:
    found = read(log(tmp_path))

    assert {r.why for r in found.values() if r.why.startswith("probe error")} == set()
    assert {str(r.state) for r in found.values()} == {"unknown"}


@pytest.mark.parametrize("name", ["healthy", "frozen", "bf16"])
def test_real_runs_raise_what_is_wrong_with_them_and_no_more(name: str) -> None:
    present = {k for k, r in read(HERE / name).items() if r.state == "present"}

    expected = {"healthy": set(), "frozen": {"saved-part-unchanged"}, "bf16": {"saved-norms-stuck"}}
    assert present == expected[name]


def test_a_healthy_run_with_checkpoints_has_no_cause() -> None:
    run = open_run(HERE / "healthy")
    found = diagnose(
        RULES, readings(run, None, RULES.symptoms.values()), run=run.info, context=run.info.context
    )

    assert found.leading == ()
    assert not any(file.endswith(".pt") for file, _ in run.info.not_read)


def test_equal_checkpoints_are_weights_that_do_not_change(tmp_path: Path) -> None:
    w = layers()
    still = saved(tmp_path / "a", ("step_1.safetensors", w), ("step_90.safetensors", w))
    alive = saved(tmp_path / "b", ("step_1.safetensors", w), ("step_90.safetensors", moved(w)))
    alone = saved(tmp_path / "c", ("step_90.safetensors", w))

    assert state(still, "weights-unchanged") == "present"
    assert state(alive, "weights-unchanged") == "absent"
    assert state(alone, "weights-unchanged") == "unknown"


def test_a_still_part_is_told_unless_it_is_meant(tmp_path: Path) -> None:
    w = layers()
    at = (("step_1.safetensors", w), ("step_90.safetensors", moved(w, only="head")))
    part = saved(tmp_path / "a", *at)
    meant = saved(tmp_path / "b", *at)
    (meant / "config.yaml").write_text("freeze: encoder\nlr: 0.1\n")
    whole = saved(tmp_path / "c", at[0], ("step_90.safetensors", moved(w)))

    assert state(part, "saved-part-unchanged") == "present"
    assert "encoder" in read(part)["saved-part-unchanged"].why
    assert state(meant, "saved-part-unchanged") == "unknown"
    assert state(whole, "saved-part-unchanged") == "absent"


def test_a_bias_alone_that_stands_still_is_no_frozen_part(tmp_path: Path) -> None:
    w = layers()
    after = {**moved(w), "encoder.fc.bias": w["encoder.fc.bias"]}
    run = saved(tmp_path, ("step_1.safetensors", w), ("step_90.safetensors", after))

    assert state(run, "saved-part-unchanged") == "unknown"


def test_adapters_leave_the_rest_alone_on_purpose(tmp_path: Path) -> None:
    w = {**layers(), "encoder.lora_A.weight": np.ones((2, 6), np.float32) * 0.1}
    after = moved(w, only="encoder.lora_A")
    run = saved(tmp_path, ("step_1.safetensors", w), ("step_90.safetensors", after))

    assert state(run, "saved-part-unchanged") == "unknown"


def test_how_far_weights_move_per_step(tmp_path: Path) -> None:
    w = layers()

    def of(name: str, by: float, before: int = 50, after: int = 60) -> Path:
        at = ((f"step_{before}.safetensors", w), (f"step_{after}.safetensors", moved(w, by)))
        return saved(tmp_path / name, *at)

    tiny, usual, huge, sparse = of("a", 1e-7), of("b", 0.01), of("c", 1.0), of("d", 1e-4, 1, 120)

    assert [state(r, "weight-change-tiny") for r in (tiny, usual, sparse)] == ["present", "absent", "unknown"]
    assert [state(r, "weight-change-large") for r in (huge, usual)] == ["present", "unknown"]
    assert state(of("e", 1e-3, 50, 51), "weight-change-large") == "absent"


def test_sizes_of_weights(tmp_path: Path) -> None:
    w = layers()
    at = ("step_0.safetensors", w)
    grown = saved(tmp_path / "a", at, ("step_9.safetensors", {**w, "head.weight": w["head.weight"] * 300}))
    shrunk = saved(tmp_path / "b", at, ("step_9.safetensors", {**w, "head.weight": w["head.weight"] * 1e-7}))
    usual = saved(tmp_path / "c", at, ("step_9.safetensors", moved(w)))
    late = saved(tmp_path / "d", ("step_5.safetensors", w), ("step_9.safetensors", moved(w)))
    fresh = saved(tmp_path / "e", at)

    assert [state(r, "weights-large") for r in (grown, usual, late)] == ["present", "absent", "unknown"]
    assert [state(r, "weights-small") for r in (shrunk, usual, fresh)] == ["present", "absent", "unknown"]


def test_constant_matrices_and_values_that_are_no_numbers(tmp_path: Path) -> None:
    w = layers()
    zero = saved(tmp_path / "a", ("step_9.safetensors", {**w, "head.weight": w["head.weight"] * 0}))
    nan = {**w, "head.weight": np.full_like(w["head.weight"], np.nan)}
    bad = saved(tmp_path / "b", ("step_5.safetensors", w), ("step_9.safetensors", nan))
    start = saved(tmp_path / "c", ("step_0.safetensors", {**w, "head.weight": w["head.weight"] * 0}))
    none = log(tmp_path / "d")

    assert [state(r, "saved-weights-constant") for r in (zero, bad, start)] == [
        "present",
        "absent",
        "unknown",
    ]
    assert [state(r, "saved-weights-not-finite") for r in (bad, zero, none)] == [
        "present",
        "absent",
        "unknown",
    ]
    assert read(bad)["saved-weights-not-finite"].step == 9


def test_scales_of_norms_that_stay_at_one(tmp_path: Path) -> None:
    w = layers()
    one = {**w, "norm.weight": np.ones(8, np.float32)}
    stuck = saved(
        tmp_path / "a",
        ("step_1.safetensors", one),
        ("step_90.safetensors", {**moved(one), "norm.weight": one["norm.weight"]}),
    )
    usual = saved(tmp_path / "b", ("step_1.safetensors", one), ("step_90.safetensors", moved(one)))

    assert state(stuck, "saved-norms-frozen") == "present"
    assert state(stuck, "saved-norms-stuck") == "unknown"  # 32-bit scales do not round away
    assert state(usual, "saved-norms-frozen") == "absent"
    assert state(saved(tmp_path / "c", ("step_1.safetensors", one)), "saved-norms-frozen") == "unknown"


def test_replicas_and_initial_weights_over_ranks(tmp_path: Path) -> None:
    w, other = layers(0), layers(1)

    def of(name: str, step: int, first: Weights, second: Weights) -> Path:
        at = ((f"rank_{r}/step_{step}.safetensors", x) for r, x in enumerate((first, second)))
        return saved(tmp_path / name, *at)

    apart, equal = of("a", 8, w, other), of("b", 8, w, {**w, "norm.num_batches_tracked": np.asarray(7)})
    early, same = of("c", 0, w, other), of("d", 0, w, w)
    split = of("e", 8, w, other)
    (split / "config.yaml").write_text("tensor_model_parallel_size: 2\nlr: 0.1\n")

    assert [state(r, "saved-replicas-differ") for r in (apart, equal, split, early)] == [
        "present",
        "absent",
        "unknown",
        "unknown",
    ]
    assert [state(r, "saved-initial-differ") for r in (early, same, apart)] == [
        "present",
        "absent",
        "unknown",
    ]


def test_only_matrices_that_differ_are_parts_of_one_model(tmp_path: Path) -> None:
    w, other = layers(0), layers(1)
    mixed = {n: other[n] if other[n].ndim == 2 else a for n, a in w.items()}
    run = saved(tmp_path, ("rank_0/step_8.safetensors", w), ("rank_1/step_8.safetensors", mixed))

    assert state(run, "saved-replicas-differ") == "unknown"


def test_a_run_that_should_start_from_trained_weights(tmp_path: Path) -> None:
    w = {**layers(), "ln2.weight": np.ones(8, np.float32)}
    fresh = {**w, "norm.weight": np.ones(8, np.float32), "norm.bias": np.zeros(8, np.float32)}

    def of(name: str, weights: Weights, step: int = 0, config: str = "pretrained: true\nlr: 0.1\n") -> Path:
        run = saved(tmp_path / name, (f"step_{step}.safetensors", weights))
        (run / "config.yaml").write_text(config)
        return run

    assert state(of("a", fresh), "saved-start-fresh") == "present"
    assert state(of("b", w), "saved-start-fresh") == "absent"
    assert state(of("c", fresh, config="lr: 0.1\n"), "saved-start-fresh") == "unknown"
    assert state(of("d", fresh, step=9), "saved-start-fresh") == "unknown"

    plain = {f"features.{n}.weight": np.full((4, 4), 0.1 + n, np.float32) for n in range(9)}
    assert (
        state(of("e", fresh | plain), "saved-start-fresh") == "unknown"
    )  # VGG has no norms, its decoder does


def test_a_resumed_run_needs_optimizer_state(tmp_path: Path) -> None:
    def of(name: str, *checkpoints: str, config: str = "resume_from: last\nlr: 0.1\n") -> Path:
        run = log(tmp_path / name)
        for one in checkpoints:
            shutil.copytree(HERE / "saved" / one, run / one)
        (run / "config.yaml").write_text(config)
        return run

    bare, kept = of("a", "checkpoint-120"), of("b", "checkpoint-60")

    assert state(bare, "saved-without-optimizer") == "present"
    assert state(kept, "saved-without-optimizer") == "absent"
    assert state(of("c", "checkpoint-120", config="lr: 0.1\n"), "saved-without-optimizer") == "unknown"


def test_initial_weights_are_held_against_the_benchmark(tmp_path: Path) -> None:
    mine = saved(tmp_path / "a", ("init.safetensors", layers(0)))
    theirs = saved(tmp_path / "b", ("init.safetensors", layers(1)))
    none = log(tmp_path / "c")

    assert str(read(mine, theirs)["saved-start-differs"].state) == "present"
    assert str(read(mine, mine)["saved-start-differs"].state) == "absent"
    assert str(read(mine, none)["saved-start-differs"].state) == "unknown"


def test_large_checkpoints_are_sampled_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    w = {"fc.weight": rng.standard_normal((600, 1000)).astype(np.float32)}
    run = saved(tmp_path, ("step_1.safetensors", w), ("step_90.safetensors", moved(w)))
    monkeypatch.setattr(history, "SAMPLE_ABOVE", 1000)
    reading = read(run)["weights-unchanged"]

    assert reading.state == "absent"
    assert "262,144 elements" in reading.why


def test_checkpoints_alone_are_no_run_and_the_command_for_them_is_named(tmp_path: Path) -> None:
    safetensors(tmp_path / "step_1.safetensors", layers())

    with pytest.raises(RunUnreadable, match="diagnose weights"):
        open_run(tmp_path)
