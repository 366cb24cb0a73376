"""Settings that programs on Ascend have of their own, and what follows from them."""

from __future__ import annotations

from typing import Any

import pytest

from traindoctor.engine.model import State
from traindoctor.probes.config.optimisation import setting_above
from traindoctor.probes.config.precision import pure_bf16_weights
from traindoctor.probes.config.surroundings import npu_passed_over
from traindoctor.probes.readers.script.ascend import graph_options
from traindoctor.probes.registry import View
from traindoctor.probes.run import Event, Run

from .._build import run, written

NO_CUDA = Event(
    "known-warning", "log.txt", 3, text="CUDA is not available. Disabling GPU, using CPU", data="no-device"
)
CANN = {"version:cann": "8.0.RC2"}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"optimizer": "adam", "lr_decay_style": "cosine", "adam_beta2": 0.95}, "adamw"),
        ({"optimizer": "adam", "lr-decay-style": "cosine", "adam-beta2": 0.95}, "adamw"),
        (
            {
                "optimizer": "adam",
                "lr_decay_style": "cosine",
                "adam_beta2": 0.95,
                "decoupled_weight_decay": False,
            },
            "adam",
        ),
        ({"optimizer.type": "Adam", "train_micro_batch_size_per_gpu": 4}, "adamw"),
        (
            {"optimizer.type": "Adam", "optimizer.params.adam_w_mode": False, "zero_optimization.stage": 1},
            "adam",
        ),
        (
            {"optimizer.type": "Adam", "optimizer.params.torch_adam": True, "zero_optimization.stage": 1},
            "adam",
        ),
        ({"optimizer": "adam"}, "adam"),
        ({"optimizer": "sgd", "lr_decay_style": "cosine", "adam_beta2": 0.95}, "sgd"),
    ],
)
def test_adam_that_decays_apart_from_the_gradient(settings: dict[str, Any], expected: str) -> None:
    """Megatron-LM and DeepSpeed call AdamW Adam: a decay of 0.1 is what they usually have."""
    made = written({**settings, "weight_decay": 0.1})

    assert made.settings["optimizer"].value == expected
    large = setting_above(View(made), "weight_decay", 0.3, 0.05)
    assert large.state == (State.ABSENT if expected == "adamw" else State.PRESENT)


@pytest.mark.parametrize(
    ("expected", "mine"),
    [
        ("present", run(events=[NO_CUDA], facts=CANN)),
        ("absent", run(events=[NO_CUDA], facts=CANN, scripts={"train.py": "import torch_npu\n"})),
        ("unknown", run(events=[NO_CUDA])),
        ("unknown", run(facts=CANN)),
    ],
)
def test_the_processor_instead_of_the_npu(expected: str, mine: Run) -> None:
    assert npu_passed_over(View(mine)).state == expected


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("allow_mix_precision", "fp16"),
        ("must_keep_origin_dtype", "fp32"),
        ("allow_mix_precision_bf16", "bf16"),
        ("allow_fp32_to_fp16", None),
    ],
)
def test_the_precision_of_the_graph_engine(mode: str, expected: str | None) -> None:
    found = written({"precision_mode": mode}).settings.get("precision")

    assert (found.value if found else None) == expected


def test_options_that_a_script_hands_over() -> None:
    import ast

    text = (
        'op.parameter_map["precision_mode"].s = tf.compat.as_bytes("allow_mix_precision")\n'
        'op.parameter_map["use_off_line"].b = True\n'
        'config = NPURunConfig(precision_mode="force_fp16")\n'
    )

    found = [(s.key, s.value, s.line) for s in graph_options(ast.parse(text), "train.py")]
    assert found == [("precision_mode", "allow_mix_precision", 1), ("precision_mode", "force_fp16", 3)]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"compute_dtype": "bfloat16", "param_init_type": "bfloat16"}, "present"),
        ({"bf16": True, "params_dtype": "torch.bfloat16"}, "unknown"),  # Megatron keeps a copy in fp32
        ({"compute_dtype": "float16", "param_init_type": "float16"}, "absent"),
    ],
)
def test_weights_that_are_made_in_bf16(settings: dict[str, Any], expected: str) -> None:
    made = written(settings)

    assert pure_bf16_weights(View(made)).state == expected
