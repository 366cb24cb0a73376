"""Weight decay by groups as logs print it, and steps that one side holds in fewer bits."""

from __future__ import annotations

from pathlib import Path

import pytest

from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.readers.text import decay_groups

from .._build import written
from .._read import reading

ROWS = "".join(f"step {i} loss {3 / i:.3f}\n" for i in range(1, 12))
ALL = "optimizer groups: 1 | group 0: 389 tensors, weight_decay=0.05"
SPARED = (
    "optimizer groups: 2 | group 0: 197 tensors, weight_decay=0.05 | group 1: 192 tensors, weight_decay=0.0"
)
TORCH = """AdamW (
Parameter Group 0
    amsgrad: False
    lr: 0.001
    weight_decay: 0.1

Parameter Group 1
    amsgrad: False
    lr: 0.001
    weight_decay: 0.0
)"""
TORCH_ALL = TORCH.replace("weight_decay: 0.0\n", "weight_decay: 0.1\n")
MINDFORMERS = """Param groups = {
  "decay": {
    "weight_decay": 0.1,
    "params": [
      "model.layers.0.wq.weight"
    ]
  },
  "no_decay": {
    "weight_decay": 0.0,
    "params": [
      "model.norm.weight"
    ]
  }
}
"weight_decay": 0.3"""
NANO = """num decayed parameter tensors: 50, with 124,354,560 parameters
num non-decayed parameter tensors: 98, with 121,344 parameters"""
NANO_ALL = NANO.replace("tensors: 98", "tensors: 0")


@pytest.mark.parametrize(
    ("text", "free"),
    [
        *((t, 1.0) for t in (SPARED, TORCH, MINDFORMERS, NANO)),
        *((t, 0.0) for t in (ALL, TORCH_ALL, NANO_ALL)),
        ("group 0: 12 tensors, weight_decay=0.0", None),  # no decay at all is another matter
        ("param group 2: lr_decay=0.1", None),
        ("group 3 layer decay: 0.75", None),
        ("weight_decay: 0.05", None),
    ],
)
def test_groups_that_a_log_prints(text: str, free: float | None) -> None:
    found = decay_groups.printed(f"{text}\n{ROWS}".encode(), "train.log", None)
    assert [e.value for e in found] == ([] if free is None else [free])


@pytest.mark.parametrize(
    ("mine", "theirs", "wanted"),
    [
        (ALL, SPARED, "present"),
        (TORCH_ALL, MINDFORMERS, "present"),
        (NANO, ALL, "present"),
        (SPARED, MINDFORMERS, "absent"),
        (ALL, TORCH_ALL, "absent"),
        (ALL, "", "unknown"),
    ],
)
def test_parameters_that_one_side_spares(tmp_path: Path, mine: str, theirs: str, wanted: str) -> None:
    for name, text in (("npu", mine), ("gpu", theirs)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.log").write_text(f"{text}\n{ROWS}")
    sides = open_run(tmp_path / "npu"), open_run(tmp_path / "gpu")
    assert reading("benchmark", "decay-groups-differ", *sides).state == wanted


@pytest.mark.parametrize(
    ("mine", "theirs", "wanted"),
    [
        ({"softmax_compute_type": "float16"}, {"softmax_compute_type": "float32"}, "present"),
        ({"model.rotary_dtype": "bfloat16"}, {"model.rotary_dtype": "float32"}, "present"),
        ({"attention_softmax_in_fp32": False}, {"attention_softmax_in_fp32": True}, "present"),
        ({"softmax_compute_type": "float32"}, {"softmax_compute_type": "float16"}, "absent"),
        ({"layernorm_compute_type": "float16"}, {"layernorm_compute_type": "float16"}, "absent"),
        ({"param_init_type": "float16"}, {"param_init_type": "float32"}, "unknown"),
        (
            {"accumulate_allreduce_grads_in_fp32": False},
            {"accumulate_allreduce_grads_in_fp32": True},
            "unknown",
        ),
    ],
)
def test_steps_in_fewer_bits(mine: dict[str, object], theirs: dict[str, object], wanted: str) -> None:
    assert reading("benchmark", "fewer-bits-than-benchmark", written(mine), written(theirs)).state == wanted


@pytest.mark.parametrize("size", [(16, 8), (64, 8)])
def test_the_mesh_of_devices_is_no_processing(size: tuple[int, int]) -> None:
    sides = [
        written({"data_parallel_size": n, "data_parallel_sharding": s})
        for n, s in zip(size, "ab", strict=True)
    ]
    for symptom in ("processing-value-far", "preprocessing-settings-differ"):
        assert reading("benchmark", symptom, *sides).state != "present"


LINE = {"micro_batch_size": 1, "global_batch_size": 64, "lr": 1e-4, "train_iters": 900, "clip_grad": 1.0}
APART = {"reset_attention_mask": True, "eod_mask_loss": True}
UNTIED = {"untie_embeddings_and_output_weights": True}


@pytest.mark.parametrize(
    ("symptom", "mine", "theirs", "wanted"),
    [
        ("document-masks-differ", LINE, {**LINE, **APART}, "present"),
        ("document-masks-differ", {**LINE, **APART}, LINE, "present"),
        ("document-masks-differ", {**LINE, **APART}, {**LINE, **APART}, "absent"),
        ("document-masks-differ", {**LINE, **APART}, {**LINE, "eod_mask_loss": False}, "present"),
        ("document-masks-differ", LINE, {**LINE, "use_flash_attn": True}, "absent"),
        ("document-masks-differ", {"lr": 1e-4}, {**LINE, **APART}, "unknown"),
        ("tying-differs", LINE, {**LINE, **UNTIED}, "present"),
        ("tying-differs", {**LINE, **UNTIED}, {**LINE, **UNTIED}, "absent"),
        ("tying-differs", {"tie_word_embeddings": True}, {"tie_word_embeddings": False}, "present"),
        ("tying-differs", {"tie_word_embeddings": True}, {"share_embeddings": True}, "absent"),
        ("tying-differs", {"tie_word_embeddings": True}, LINE, "unknown"),
    ],
)
def test_switches_of_one_side(
    symptom: str, mine: dict[str, object], theirs: dict[str, object], wanted: str
) -> None:
    assert reading("benchmark", symptom, written(mine), written(theirs)).state == wanted


RAW = "[first batch] images shape=(64, 3, 224, 224) min=0.0000 max=255.0000 mean=114.8 std=70.1"
NORMAL = "input batch: min -2.1179, max 2.6400, mean -0.0331"


def course(floor: float) -> str:
    return "".join(f"step {i} loss {floor + 3 * 0.9**i:.4f}\n" for i in range(1, 60))


@pytest.mark.parametrize(
    ("mine", "theirs", "floor", "wanted"),
    [
        (RAW, NORMAL, 2.0, "present"),
        ("pixel_values range [0, 255]", NORMAL, 2.0, "present"),
        (RAW, NORMAL, 1.0, "unknown"),  # equal losses: it is normalised further on
        (RAW, RAW, 2.0, "absent"),
        ("label ids of the batch: min 0, max 999", NORMAL, 2.0, "unknown"),
        ("", NORMAL, 2.0, "unknown"),
    ],
)
def test_the_range_of_the_first_batch(
    tmp_path: Path, mine: str, theirs: str, floor: float, wanted: str
) -> None:
    for name, text, level in (("npu", mine, floor), ("gpu", theirs, 1.0)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.log").write_text(f"{text}\n{course(level)}")
    sides = open_run(tmp_path / "npu"), open_run(tmp_path / "gpu")
    assert reading("tensors", "first-batch-other-scale", *sides).state == wanted
