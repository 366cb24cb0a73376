"""Right runs that look like what settings symptoms look for, beside their sick twins."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from traindoctor.engine.model import State
from traindoctor.probes.run import Event, Run, Setting

from .._build import run, series, written
from .._read import reading

FALL = [series("train/loss", 2.4 * np.exp(-np.arange(60) / 20) + 0.3)]
AUTOCAST = "User provided device_type of 'cuda', but CUDA is not available. Disabling"
WARNED = [Event("known-warning", "train.log", 1, text=AUTOCAST, data="amp-disabled")]
SAME_FILE = {"data.train_path": "data/all.csv", "data.val_path": "data/all.csv"}
NEURAL = {
    "config.layers.0.config.layers.5.class_name": "Dense",
    "config.layers.0.config.layers.5.config.activation": "linear",
    "config.layers.2.class_name": "Dense",
    "config.layers.2.config.activation": "softmax",
    "compile_config.loss": "sparse_categorical_crossentropy",
}


@pytest.mark.parametrize(
    ("symptom", "right", "sick"),
    [
        ("held-out-file-of-training", SAME_FILE | {"val_size": 500}, SAME_FILE),
        ("held-out-file-of-training", SAME_FILE | {"data.val_start": "2019-01-01"}, SAME_FILE),
        ("held-out-file-of-training", SAME_FILE | {"do_eval": False}, SAME_FILE | {"do_eval": True}),
        (
            "stopping-turned-round",
            {"stop.monitor": "neg_mean_squared_error", "stop.mode": "max", "stop.patience": 3},
            {"stop.monitor": "mean_squared_error", "stop.mode": "max", "stop.patience": 3},
        ),
        (
            "best-checkpoint-turned-round",
            {"best.monitor": "forget/loss", "best.mode": "max"},
            {"best.monitor": "val/loss", "best.mode": "max"},
        ),
        (
            "best-checkpoint-turned-round",
            {"best.monitor": "samples_per_second", "best.mode": "max"},
            {"best.monitor": "val/per", "best.mode": "max"},
        ),
        ("output-layer-misses-loss", NEURAL, NEURAL | {"config.layers.2.config.activation": "linear"}),
        (
            "vocab-mismatch",
            {"vocab_size": 1025, "tokenizer.vocab_size": 5000, "text_vocab_size": 5120},
            {"vocab_size": 1025, "tokenizer.vocab_size": 5000},
        ),
        (
            "betas-swapped",
            {"optimizer": "adam", "loss.beta1": 1.0, "loss.beta2": 0.1},
            {"optimizer": "adam", "beta1": 0.99, "beta2": 0.9},
        ),
        ("init-extreme", {"actor.init_std": 1.0}, {"model.init_std": 1.0}),
        ("init-extreme", {"use_mup": True, "init_std": 1.0}, {"use_mup": False, "init_std": 1.0}),
        (
            "shuffle-off",
            {"train.sampler": "DistributedSampler", "train.shuffle": False},
            {"train.shuffle": False},
        ),
    ],
)
def test_right_settings_are_not_taken_for_wrong_ones(
    symptom: str, right: dict[str, Any], sick: dict[str, Any]
) -> None:
    """Each pair differs in what makes the same condition right."""
    assert reading("settings", symptom, written(right, FALL)).state is not State.PRESENT
    assert reading("settings", symptom, written(sick, FALL)).state is State.PRESENT


@pytest.mark.parametrize(("first", "expected"), [(2.4, State.UNKNOWN), (11.2, State.PRESENT)])
def test_a_loss_far_below_a_guess_says_that_weights_were_loaded(first: float, expected: State) -> None:
    """The launch line may name the checkpoint that the configuration leaves empty."""
    told = {"run_mode": "finetune", "load_checkpoint": "", "vocab_size": 65024}
    curve = [series("train/loss", first * np.exp(-np.arange(60) / 60))]
    assert reading("settings", "fine-tuning-from-nothing", written(told, curve)).state is expected


@pytest.mark.parametrize(
    ("load", "expected"), [("/mnt/base/llama", State.UNKNOWN), ("./ckpt", State.PRESENT)]
)
def test_moments_of_another_training_are_left_out_on_purpose(load: str, expected: State) -> None:
    """Weights of another place begin another stage; one's own are gone on from."""
    told = {"no_load_optim": True, "load": load, "save": "./ckpt", "finetune": False}
    resumed = [Event("resume", "train.log", 3, step=20000, text="loaded checkpoint at iteration 20000")]
    assert (
        reading("settings", "resumed-without-moments", written(told, FALL, events=resumed)).state is expected
    )


def test_devices_that_may_be_seen_are_no_processes() -> None:
    """One process may take all devices that it sees."""
    facts = {"world_size": 1}
    seen = written({"ASCEND_RT_VISIBLE_DEVICES": "0,1,2,3"}, FALL, facts=facts)
    asked = written({"nproc_per_node": 4}, FALL, facts=facts)
    for area, symptom in (("in_force", "trains-alone"), ("settings", "world-size-one")):
        assert reading(area, symptom, seen).state is State.UNKNOWN
        assert reading(area, symptom, asked).state is State.PRESENT


def _on_npu(**settings: Any) -> Run:
    return written(
        {"ASCEND_HOME_PATH": "/usr/local/Ascend", "device": "npu", **settings}, FALL, events=WARNED
    )


def test_a_context_that_is_off_is_not_the_format_of_training() -> None:
    """Megatron keeps its weights in bf16: a context of recomputation for CUDA that is off changes nothing."""
    megatron = _on_npu(tensor_model_parallel_size=8, bf16=True)
    assert reading("in_force", "cuda-switched-off-on-npu", megatron).state is State.UNKNOWN
    assert reading("settings", "mixed-precision-not-in-force", megatron).state is not State.PRESENT
    own = _on_npu(amp=True)
    assert reading("in_force", "cuda-switched-off-on-npu", own).state is State.PRESENT
    assert reading("settings", "mixed-precision-not-in-force", own).state is State.PRESENT


def test_a_library_without_cuda_beside_a_training_on_npus() -> None:
    """A library may look for CUDA; the log says that the training is on an NPU."""
    told = [
        Event("known-warning", "train.log", 1, text="CUDA is not available, using CPU for 8-bit operators")
    ]
    made = run(FALL, {"ASCEND_HOME_PATH": "/usr/local/Ascend"}, told, facts={"device": "npu:0"})
    assert reading("in_force", "npu-passed-over", made).state is State.ABSENT
    bare = run(FALL, {"ASCEND_HOME_PATH": "/usr/local/Ascend"}, told)
    assert reading("in_force", "npu-passed-over", bare).state is State.PRESENT


def test_questions_in_the_template_of_the_tokenizer() -> None:
    """One script writes prompts in the template, another asks with them."""
    ask = "from vllm import LLM\nllm = LLM('out')\nout = llm.generate(prompts)\n"
    make = "text = tok.apply_chat_template(messages, tokenize=False)\n"
    told = {"template": "qwen"}
    both = written(told, FALL, scripts={"infer.py": ask, "prompts.py": make})
    assert reading("settings", "asked-without-template", both).state is State.ABSENT
    assert reading(
        "settings", "asked-without-template", written(told, FALL, scripts={"infer.py": ask})
    ).state == (State.PRESENT)


def test_constants_of_another_part_of_the_model() -> None:
    """The norms of a picture encoder have another epsilon than those of the language model."""
    home = [
        Setting("model_type", "internvl", "config.json", 1),
        Setting("llm.rope_theta", 1e6, "config.json", 2),
    ]
    base = [*home, Setting("model_name_or_path", "internvl", "train.yaml", 1)]
    for key, expected in (("vision.rotary_base", State.UNKNOWN), ("rotary_base", State.PRESENT)):
        made = run(FALL, raw_settings=(*base, Setting(key, 10000, "train.yaml", 2)))
        assert reading("settings", "model-constants-not-those-of-weights", made).state is expected


def test_formats_that_a_graph_engine_keeps() -> None:
    """`must_keep_origin_dtype` keeps bf16 where the program casts to it."""
    told = {"precision_mode": "must_keep_origin_dtype", "compute_dtype": "bfloat16"}
    assert written(told).settings["precision"].value == "bf16"
    assert written({"precision_mode": "must_keep_origin_dtype"}).settings["precision"].value == "fp32"
    assert written({"amp_level": "O0", "compute_dtype": "float16"}).settings["precision"].value == "fp16"
    assert written({"amp_level": "O0"}).settings["precision"].value == "fp32"


def test_weight_decay_of_a_regularizer() -> None:
    """PaddlePaddle's configurations call it so."""
    assert written({"Optimizer.regularizer.coeff": 1e-4}).settings["weight_decay"].value == 1e-4


RIGHT = [
    series("train/loss", 2.3 * np.exp(-np.arange(120) / 15) + 0.2),
    series("eval/accuracy", 0.93 - 0.8 * np.exp(-np.arange(8) / 2), np.arange(15, 121, 15)),
]
POOR = [series("train/loss", 2.3 + 0.1 * np.sin(np.arange(120.0))), RIGHT[1]]


@pytest.mark.parametrize(
    ("area", "symptom", "told"),
    [
        ("settings", "weight-decay-large", {"optimizer": "adamw", "weight_decay": 1.0}),
        ("settings", "dropout-large", {"dropout": 0.7}),
        ("settings", "regularization-large", {"label_smoothing": 0.4}),
        ("learning_rate", "lr-extreme", {"optimizer": "sgd", "learning_rate": 30.0}),
        ("learning_rate", "lr-very-small", {"optimizer": "adamw", "learning_rate": 1e-7}),
    ],
)
def test_what_learned_well_was_not_kept_from_it(area: str, symptom: str, told: dict[str, Any]) -> None:
    """A setting at the end of its range, of a run whose loss falls and whose held-out data score well."""
    assert reading(area, symptom, run(RIGHT, told)).state is State.UNKNOWN
    assert reading(area, symptom, run(POOR, told)).state is State.PRESENT


@pytest.mark.parametrize("told", [{"optimizer": "adamw", "weight_decay": 1.0}, {"dropout": 0.7}])
def test_what_was_learned_by_heart_was_not_held_back(told: dict[str, Any]) -> None:
    """A decay of one is what grokking is shown with; the training loss comes to next to nothing."""
    symptom = "dropout-large" if "dropout" in told else "weight-decay-large"
    by_heart, half = (
        [series("train/loss", 2.3 * np.exp(-np.arange(120) / 15) + end)] for end in (0.001, 0.4)
    )

    assert reading("settings", symptom, run(by_heart, told)).state is State.UNKNOWN
    assert reading("settings", symptom, run(half, told)).state is State.PRESENT


@pytest.mark.parametrize(
    ("symptom", "rate", "beside"),
    [
        ("lr-extreme", {"optimizer": "adamw", "learning_rate": 0.3}, {"peft_type": "PROMPT_TUNING"}),
        ("lr-extreme", {"optimizer": "sgd", "learning_rate": 30.0}, {"freeze": "backbone"}),
        ("lr-extreme", {"optimizer": "sgd", "learning_rate": 30.0}, {"linear_probe": True}),
        ("lr-very-small", {"optimizer": "adamw", "learning_rate": 1e-7}, {"stage": "dpo"}),
    ],
)
def test_rates_of_what_is_trained(symptom: str, rate: dict[str, Any], beside: dict[str, Any]) -> None:
    """A last layer, vectors before the input, preferences: each with rates of its own."""
    assert reading("learning_rate", symptom, written(rate | beside, POOR)).state is State.UNKNOWN
    assert reading("learning_rate", symptom, written(rate, POOR)).state is State.PRESENT


def test_a_decay_that_takes_little_in_so_many_steps() -> None:
    """Decoupled decay shrinks by rate times decay: Lion's recipes have a large decay and a small rate."""
    for rate, expected in ((3e-5, State.UNKNOWN), (1e-1, State.PRESENT)):
        told = {"optimizer": "lion", "learning_rate": rate, "weight_decay": 1.0}
        assert reading("settings", "weight-decay-large", run(POOR, told)).state is expected
