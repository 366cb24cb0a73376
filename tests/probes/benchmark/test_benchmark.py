"""The run against its benchmark: settings, curves, and the two things that must stay equal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from traindoctor.probes.benchmark.compare import blocks, final, move_together, pair
from traindoctor.probes.registry import View
from traindoctor.probes.run import Event, Run, Series, Setting

from .._build import run, series, written
from .._read import evidence, present, reading, symptoms

Numbers = Any


def slow_noise(rng: np.random.Generator, count: int, scale: float) -> Numbers:
    """Noise whose neighbours resemble each other (correlation 0.9)."""
    pushes = rng.normal(size=count) * scale * (1 - 0.9**2) ** 0.5
    values = np.zeros(count)
    for at in range(1, count):
        values[at] = 0.9 * values[at - 1] + pushes[at]
    return values


def healthy(
    seed: int, count: int = 300, floor: float = 0.3, noise: float = 0.05, pace: float = 0.15
) -> Numbers:
    """A loss from 2.3 to its floor; another seed is another start, pace (5 %) and noise."""
    rng = np.random.default_rng(seed)
    at = np.arange(count) / count
    start = 2.3 * (1 + 0.02 * rng.normal())
    smooth = floor + (start - floor) * np.exp(-at / (pace * (1 + 0.05 * rng.normal())))
    return smooth * (1 + noise * rng.normal(size=count) + slow_noise(rng, count, 0.3 * noise))


def curves(
    seed: int, loss: Numbers | None = None, scale: float = 1.0, worse: float = 0.0, **rest: Any
) -> list[Series]:
    """Loss, evaluation and gradient norm of a healthy run, or with the parts that a test replaces."""
    rng = np.random.default_rng(seed + 999)
    values = healthy(seed, **rest) if loss is None else loss
    count, epochs = len(values), max(5, len(values) // 30)
    accuracy = 0.9 - 0.8 * np.exp(-np.arange(epochs) / epochs / 0.2) + 0.004 * rng.normal(size=epochs)
    eval_loss = 1.1 * np.interp(np.linspace(0, count - 1, epochs), np.arange(count), values)
    norm = np.abs(2 * np.exp(-np.arange(count) / count) * (1 + 0.2 * rng.normal(size=count)))
    return [
        series("train/loss", values),
        series("eval/accuracy", accuracy - worse, unit="epoch"),
        series("eval/loss", eval_loss, unit="epoch"),
        series("grad_norm", norm * scale),
    ]


def rescaled(factor: float = 1.0, lower: float = 0.0, moves: float = 0.5, loss: float = 1.0) -> Run:
    """One training, whose accuracy is counted with another divisor, or truly lower by as much everywhere."""
    accuracy = factor * (0.4 + moves * np.linspace(0, 1, 12) ** 0.5) - lower
    return run(
        [
            series("train/loss", loss * np.linspace(2.0, 0.5, 12), unit="epoch"),
            series("eval/accuracy", accuracy, unit="epoch"),
        ]
    )


def state(symptom: str, mine: Run, theirs: Run | None) -> str:
    return str(reading("benchmark", symptom, mine, theirs).state)


# ---------------------------------------------------------------------------------------------- settings

# symptom, state, the run's settings, the benchmark's settings
CASES: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("lr-above-benchmark", "present", {"lr": "1e-2"}, {"learning_rate": 0.001}),
    ("lr-above-benchmark", "absent", {"lr": 1e-3}, {"base_lr": "0.001"}),
    ("lr-above-benchmark", "absent", {"lr": 1e-4}, {"lr": 1e-3}),
    ("lr-above-benchmark", "unknown", {"lr": 1e-3}, {"epochs": 3}),
    ("lr-below-benchmark", "present", {"lr": 1e-5}, {"lr": 1e-3}),
    ("lr-below-benchmark", "absent", {"lr": 1e-3}, {"lr": 1e-3}),
    ("lr-below-benchmark", "unknown", {}, {"lr": 1e-3}),
    (
        "batch-above-benchmark",
        "present",
        {"batch_size": 64, "world_size": 8},
        {"batch_size": 64, "world_size": 1},
    ),
    ("batch-above-benchmark", "absent", {"batch_size": 8, "world_size": 8}, {"global_batch_size": 64}),
    ("batch-above-benchmark", "unknown", {"batch_size": 64}, {"batch_size": 64, "world_size": 8}),
    ("batch-below-benchmark", "present", {"batch_size": 8}, {"batch_size": 64}),
    ("batch-below-benchmark", "absent", {"batch_size": 64}, {"batch_size": 64}),
    ("batch-below-benchmark", "unknown", {"batch_size": 64}, {}),
    ("lr-per-sample-differs", "present", {"lr": 0.1, "batch_size": 32}, {"lr": 0.1, "batch_size": 256}),
    ("lr-per-sample-differs", "absent", {"lr": 0.1, "batch_size": 256}, {"lr": 0.2, "batch_size": 512}),
    ("lr-per-sample-differs", "unknown", {"lr": 0.1}, {"lr": 0.1, "batch_size": 256}),
    ("warmup-below-benchmark", "present", {"warmup_steps": 0}, {"warmup_ratio": 0.1}),
    ("warmup-below-benchmark", "present", {"warmup_steps": 100}, {"warmup_iters": 1000}),
    ("warmup-below-benchmark", "absent", {"warmup_steps": 900}, {"warmup_iters": 1000}),
    ("warmup-below-benchmark", "absent", {"warmup_steps": 0}, {"warmup_iters": 0}),
    ("warmup-below-benchmark", "unknown", {"warmup_steps": 100}, {"warmup_epochs": 5}),
    ("warmup-below-benchmark", "unknown", {}, {"warmup_epochs": 5}),
    ("clipping-weaker-than-benchmark", "present", {"clip_grad": 0}, {"max_grad_norm": 1.0}),
    ("clipping-weaker-than-benchmark", "present", {"clip_grad": 5.0}, {"max_grad_norm": 1.0}),
    ("clipping-weaker-than-benchmark", "absent", {"clip_grad": 1}, {"max_grad_norm": 1.0}),
    ("clipping-weaker-than-benchmark", "absent", {"clip_grad": None}, {"max_grad_norm": 0}),
    ("clipping-weaker-than-benchmark", "unknown", {}, {"max_grad_norm": 1.0}),
    ("clipping-stronger-than-benchmark", "present", {"clip_grad": 0.1}, {"max_grad_norm": None}),
    ("clipping-stronger-than-benchmark", "absent", {"clip_grad": 5.0}, {"max_grad_norm": 1.0}),
    ("clipping-stronger-than-benchmark", "unknown", {"clip_grad": 0.1}, {}),
    ("schedule-differs", "present", {"lr_scheduler_type": "linear"}, {"scheduler": "CosineAnnealingLR"}),
    ("schedule-differs", "present", {"milestones": [30, 60]}, {"lr_steps": "30,80"}),
    ("schedule-differs", "absent", {"lr_scheduler_type": "cosine"}, {"scheduler": "CosineAnnealingLR"}),
    ("schedule-differs", "unknown", {"lr_scheduler_type": "cosine"}, {}),
    ("optimizer-differs", "present", {"optim": "sgd"}, {"optimizer": {"type": "AdamW"}}),
    ("optimizer-differs", "absent", {"optim": "adamw_torch"}, {"optimizer": "AdamW"}),
    ("optimizer-differs", "unknown", {"optim": "sgd"}, {}),
    ("optimizer-details-differ", "present", {"adam_eps": 1e-7}, {"adam_epsilon": 1e-8}),
    ("optimizer-details-differ", "absent", {"betas": [0.9, 0.999]}, {"adam_beta1": 0.9}),
    ("optimizer-details-differ", "unknown", {"momentum": 0.9}, {}),
    ("regularization-above-benchmark", "present", {"dropout": 0.5}, {"dropout": 0.1, "wd": 0.1}),
    ("regularization-above-benchmark", "absent", {"wd": 0.1}, {"weight_decay": 0.1}),
    ("regularization-above-benchmark", "unknown", {"wd": 0.1}, {}),
    ("weight-decay-above-benchmark", "present", {"wd": 0.1}, {"weight_decay": 0}),
    ("weight-decay-above-benchmark", "absent", {"wd": 0.1}, {"weight_decay": 0.1}),
    ("weight-decay-above-benchmark", "unknown", {"wd": 0.1}, {}),
    ("weight-decay-below-benchmark", "present", {"wd": 0.0}, {"weight_decay": 0.1}),
    ("weight-decay-below-benchmark", "absent", {"wd": 0.0}, {"weight_decay": 0.0}),
    ("weight-decay-below-benchmark", "unknown", {}, {"weight_decay": 0.1}),
    ("dropout-above-benchmark", "present", {"dropout": 0.5}, {"keep_prob": 0.9}),
    ("dropout-above-benchmark", "absent", {"dropout": 0.1}, {"keep_prob": 0.9}),
    ("dropout-above-benchmark", "unknown", {"dropout": 0.5}, {}),
    ("dropout-below-benchmark", "present", {"dropout": 0.0}, {"dropout": 0.1}),
    ("dropout-below-benchmark", "absent", {"dropout": 0.1}, {"dropout": 0.1}),
    ("dropout-below-benchmark", "unknown", {}, {"dropout": 0.1}),
    ("label-smoothing-above-benchmark", "present", {"smoothing": 0.3}, {"label_smoothing": 0.1}),
    ("label-smoothing-above-benchmark", "absent", {"smoothing": 0.1}, {"label_smoothing": 0.1}),
    ("label-smoothing-above-benchmark", "unknown", {}, {}),
    ("epochs-below-benchmark", "present", {"epochs": 30}, {"num_train_epochs": 90}),
    ("epochs-below-benchmark", "absent", {"max_steps": 1000}, {"train_iters": 1000}),
    ("epochs-below-benchmark", "unknown", {"max_steps": 1000}, {"epochs": 90}),
    ("epochs-above-benchmark", "present", {"epochs": 300}, {"epochs": 90}),
    ("epochs-above-benchmark", "absent", {"epochs": 90}, {"epochs": 90}),
    ("epochs-above-benchmark", "unknown", {}, {"epochs": 90}),
    ("tf32-here-alone", "present", {"allow_hf32": True}, {"lr": 0.1}),
    ("tf32-here-alone", "absent", {"allow_hf32": True}, {"allow_tf32": True}),
    ("tf32-here-alone", "absent", {"allow_hf32": False}, {"lr": 0.1}),
    ("tf32-here-alone", "unknown", {"allow_hf32": True, "bf16": True}, {"bf16": True}),
    ("precision-differs", "present", {"fp16": True}, {"bf16": True}),
    ("precision-differs", "absent", {"fp16": True}, {"precision": "16-mixed"}),
    ("precision-differs", "unknown", {"fp16": True}, {}),
    ("benchmark-not-mixed", "present", {"fp16": True}, {"fp16": False}),
    ("benchmark-not-mixed", "absent", {"fp16": True}, {"fp16": True}),
    ("benchmark-not-mixed", "unknown", {"fp16": True}, {}),
    ("run-not-mixed", "present", {"fp16": False}, {"amp_level": "O2"}),
    ("run-not-mixed", "absent", {"fp16": True}, {"fp16": True}),
    ("run-not-mixed", "unknown", {}, {"fp16": True}),
    ("loss-scale-settings-differ", "present", {"init_loss_scale": 128}, {"initial_scale_power": 16}),
    ("loss-scale-settings-differ", "absent", {"loss_scale": 0}, {"loss_scale": "dynamic"}),
    ("loss-scale-settings-differ", "unknown", {"loss_scale": 128}, {}),
    ("preprocessing-settings-differ", "present", {"image_size": 224}, {"img_size": 256}),
    ("preprocessing-settings-differ", "unknown", {"mean": [0.5, 0.5]}, {"img_mean": [0.5, 0.5]}),
    (
        "preprocessing-settings-differ",
        "absent",
        {"mean": [0.5, 0.5], "image_size": 32, "std": [0.2, 0.2]},
        {"img_mean": [0.5, 0.5], "img_size": 32, "std": [0.2, 0.2]},
    ),
    ("preprocessing-settings-differ", "unknown", {"image_size": 224}, {}),
    ("dataset-settings-differ", "present", {"dataset": "cifar10"}, {"dataset": "cifar100"}),
    ("dataset-settings-differ", "absent", {"dataset": "/a/CIFAR-10"}, {"dataset": "/b/cifar10/"}),
    ("dataset-settings-differ", "unknown", {"dataset": "cifar10"}, {}),
    ("fewer-samples-than-benchmark", "present", {"num_train": 40000}, {"train_samples": 50000}),
    ("fewer-samples-than-benchmark", "absent", {"num_train": 50000}, {"train_samples": 50000}),
    ("fewer-samples-than-benchmark", "unknown", {}, {"train_samples": 50000}),
    ("more-samples-than-benchmark", "present", {"num_train": 100000}, {"train_samples": 50000}),
    ("more-samples-than-benchmark", "absent", {"num_train": 50016}, {"train_samples": 50000}),
    ("more-samples-than-benchmark", "absent", {"num_train": 25000}, {"train_samples": 50000}),
    ("more-samples-than-benchmark", "unknown", {}, {"train_samples": 50000}),
    ("further-hyperparameter-differs", "present", {"rotary_base": 10000}, {"rope_theta": 500000.0}),
    ("further-hyperparameter-differs", "present", {"gradients_mean": False}, {"gradients_mean": True}),
    ("fewer-samples-than-benchmark", "present", {"data": {"n_stores": 10}}, {"data": {"n_stores": 400}}),
    (
        "fewer-samples-than-benchmark",
        "present",
        {"data": {"images_per_class": (5, 5)}},
        {"data": {"images_per_class": (90, 80)}},
    ),
    ("fewer-samples-than-benchmark", "present", {"data.train": {"size": 160}}, {"data.train": {"size": 960}}),
    ("fewer-samples-than-benchmark", "present", {"data": {"samples": 160}}, {"data": {"samples": 960}}),
    ("preprocessing-settings-differ", "unknown", {"data": {"samples": 960}}, {"data": {"samples": 640}}),
    ("preprocessing-settings-differ", "present", {"augment": {"samples": 9}}, {"augment": {"samples": 2}}),
    ("fewer-samples-than-benchmark", "unknown", {"data.crop": {"size": 160}}, {"data.crop": {"size": 200}}),
    ("fewer-samples-than-benchmark", "absent", {"data": {"n_stores": 400}}, {"data": {"n_stores": 10}}),
    ("fewer-samples-than-benchmark", "present", {"n_stations": 2}, {"n_stations": 8}),
    ("fewer-samples-than-benchmark", "present", {"num_patients": 12}, {"num_patients": 90}),
    ("fewer-samples-than-benchmark", "unknown", {"n_blocks": 2}, {"n_blocks": 8}),
    ("fewer-samples-than-benchmark", "present", {"clips": 64}, {"clips": 1600}),
    ("fewer-samples-than-benchmark", "present", {"recordings": 12}, {"recordings": 900}),
    ("fewer-samples-than-benchmark", "unknown", {"filters": 64}, {"filters": 256}),
    ("fewer-samples-than-benchmark", "present", {"data": {"designs": 30}}, {"data": {"designs": 1600}}),
    (
        "fewer-samples-than-benchmark",
        "present",
        {"data": {"train_pages": 20}},
        {"data": {"train_pages": 400}},
    ),
    ("fewer-samples-than-benchmark", "present", {"train_pages": 20}, {"train_pages": 400}),
    ("fewer-samples-than-benchmark", "unknown", {"data": {"degrees": 20}}, {"data": {"degrees": 90}}),
    ("fewer-samples-than-benchmark", "unknown", {"transform": {"dots": 20}}, {"transform": {"dots": 90}}),
    ("fewer-samples-than-benchmark", "unknown", {"train_steps": 20}, {"train_steps": 90}),
    ("fewer-samples-than-benchmark", "unknown", {"echoes": 2}, {"echoes": 4}),
    ("fewer-samples-than-benchmark", "unknown", {"units": 64}, {"units": 256}),
    ("fewer-samples-than-benchmark", "unknown", {"num_gpus": 1}, {"num_gpus": 8}),
    ("fewer-samples-than-benchmark", "unknown", {"model": {"n_sites": 2}}, {"model": {"n_sites": 8}}),
    ("fewer-samples-than-benchmark", "unknown", {"data": {"n_mels": 40}}, {"data": {"n_mels": 80}}),
    (
        "normalisation-left-out",
        "present",
        {"norm": {"mean": 0.0, "std": 1.0}},
        {"norm": {"mean": 3150.0, "std": 35.0}},
    ),
    (
        "normalisation-left-out",
        "present",
        {"img_mean": [0, 0, 0], "img_std": [1, 1, 1]},
        {"img_mean": [123.7, 116.3, 103.5], "img_std": [58.4, 57.1, 57.4]},
    ),
    (
        "normalisation-left-out",
        "absent",
        {"image_mean": [0, 0, 0], "image_std": [1, 1, 1]},
        {"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]},
    ),
    ("normalisation-left-out", "absent", {"mean": 12.0, "std": 30.0}, {"mean": 3150.0, "std": 35.0}),
    ("normalisation-left-out", "unknown", {"mean": 0.0, "std": 1.0}, {"mean": 3150.0}),
    ("shuffle-differs", "present", {"shuffle": False}, {"shuffle": True}),
    ("shuffle-differs", "absent", {"shuffle": "True"}, {"shuffle": True}),
    ("shuffle-differs", "unknown", {"shuffle": True}, {}),
    ("init-settings-differ", "present", {"initializer_range": 0.02}, {"init_std": 0.1}),
    ("init-settings-differ", "absent", {"pretrained": "/a/x.pt"}, {"pretrained": "/b/y.pt"}),
    ("init-settings-differ", "unknown", {"init_std": 0.1}, {}),
    ("pretrained-differs", "present", {"pretrained": False}, {"pretrained": "/b/y.pt"}),
    ("pretrained-differs", "absent", {"pretrained": True}, {"pretrained": "/b/y.pt"}),
    ("pretrained-differs", "unknown", {}, {"pretrained": True}),
    ("norm-epsilon-differs", "present", {"rms_norm_eps": 1e-6}, {"layernorm_epsilon": "1e-5"}),
    ("norm-epsilon-differs", "absent", {"rms_norm_eps": 1e-6}, {"layer_norm_eps": "1e-6"}),
    ("norm-epsilon-differs", "unknown", {"rms_norm_eps": 1e-6}, {}),
    ("moe-settings-differ", "present", {"num_local_experts": 8}, {"expert_num": 16}),
    ("moe-settings-differ", "absent", {"num_experts": 8}, {"expert_num": 8}),
    ("moe-settings-differ", "unknown", {"num_experts": 8}, {"lr": 0.1}),
    (
        "data-files-named-otherwise",
        "present",
        {"data_path": "/data/alpaca/alpaca_text_document"},
        {"data_path": "/mnt/enwiki/llama2_text_document"},
    ),
    (
        "data-files-named-otherwise",
        "present",
        {"dataset_dir": "/data/wiki4096.mindrecord"},
        {"dataset_dir": "/data/alpaca-fastchat4096.mindrecord"},
    ),
    (
        "data-files-named-otherwise",
        "absent",
        {"data_path": "/home/a/wiki_text_document"},
        {"data_path": "/mnt/enwiki/llama2_text_document"},
    ),
    (  # folders are called otherwise on every machine
        "data-files-named-otherwise",
        "unknown",
        {"data_path": "/data/imagenet"},
        {"data_path": "/mnt/ILSVRC2012"},
    ),
    (
        "data-files-named-otherwise",
        "unknown",
        {"train_file": "/data/zhang/train.jsonl"},
        {"train_file": "/data/li/train.jsonl"},
    ),
    (
        "sync-norm-left-out",
        "present",
        {"norm_cfg": {"type": "BN"}, "batch_size": 2},
        {"norm_cfg": {"type": "SyncBN"}, "batch_size": 2},
    ),
    (
        "sync-norm-left-out",
        "absent",
        {"norm_cfg": {"type": "BN"}, "batch_size": 64},
        {"norm_cfg": {"type": "SyncBN"}, "batch_size": 64},
    ),
    (
        "sync-norm-left-out",
        "absent",
        {"norm_cfg": {"type": "SyncBN"}, "batch_size": 2},
        {"norm_cfg": {"type": "SyncBN"}, "batch_size": 2},
    ),
    ("sync-norm-left-out", "unknown", {"batch_size": 2}, {"norm_cfg": {"type": "SyncBN"}}),
    ("vocabulary-differs", "present", {"dict_path": "a/en.txt"}, {"dict_path": "b/zh.txt"}),
    ("vocabulary-differs", "absent", {"dict_path": "a/en.txt"}, {"vocab_file": "/b/en.txt"}),
    ("vocabulary-differs", "unknown", {"dict_path": "a/en.txt"}, {}),
    ("model-differs", "present", {"model": "resnet18"}, {"arch": "resnet50"}),
    (
        "model-differs",
        "absent",
        {"model": "ResNet-50", "num_classes": 9},
        {"arch": "resnet50", "num_classes": 9},
    ),
    ("model-differs", "unknown", {"model": "ResNet-50"}, {"arch": "resnet50"}),
    ("model-differs", "unknown", {"model": "resnet18"}, {}),
    ("activation-differs", "present", {"hidden_act": "relu"}, {"hidden_act": "gelu"}),
    ("activation-differs", "absent", {"hidden_act": "swish"}, {"act": "nn.SiLU"}),
    ("activation-differs", "unknown", {}, {"act": "relu"}),
    ("loss-function-differs", "present", {"criterion": "mse"}, {"loss_fn": "cross_entropy"}),
    ("loss-function-differs", "absent", {"criterion": "CrossEntropy"}, {"loss_fn": "cross_entropy"}),
    ("loss-function-differs", "unknown", {"criterion": "mse"}, {}),
    ("world-size-below-benchmark", "present", {"world_size": 1}, {"nproc_per_node": 8}),
    ("world-size-below-benchmark", "absent", {"world_size": 8}, {"nproc_per_node": 8}),
    ("world-size-below-benchmark", "unknown", {"world_size": 8}, {}),
    ("accumulation-differs", "present", {"accum_steps": 4}, {"gradient_accumulation_steps": 1}),
    ("accumulation-differs", "absent", {"accum_steps": 4}, {"gradient_accumulation_steps": 4}),
    ("accumulation-differs", "unknown", {"accum_steps": 4}, {}),
    ("other-setting-differs", "present", {"expansion": 1.0}, {"expansion": 0.0}),
    ("other-setting-differs", "unknown", {"mosaic": 1.0}, {"mosaic": 0.0}),  # it has a symptom of its own
    ("other-setting-differs", "unknown", {"expansion": "auto"}, {"expansion": 4}),
    ("other-setting-differs", "present", {"head_kind": "auto"}, {"head_kind": "manual"}),
    # settings of a project's own, by what their names say
    ("processing-value-far", "present", {"data": {"jitter": 4.0}}, {"data": {"jitter": 0.1}}),
    ("processing-value-far", "present", {"time_mask": 80}, {"time_mask": 10}),
    ("processing-value-far", "present", {"preprocess": {"clip_low": 0.3}}, {"preprocess": {"clip_low": 0.0}}),
    ("processing-value-far", "absent", {"aug": {"flip_ratio": 0.5}}, {"aug": {"flip_ratio": 0}}),
    ("processing-value-far", "absent", {"aug_noise": 0.11}, {"aug_noise": 0.1}),
    ("processing-value-far", "unknown", {"optimizer": {"noise": 4.0}}, {"optimizer": {"noise": 0.1}}),
    ("processing-value-far", "unknown", {"data": {"num_threads": 4}}, {"data": {"num_threads": 32}}),
    ("processing-value-far", "unknown", {"aug_noise": 0.1}, {}),
    ("label-settings-differ", "present", {"annotator": "crowd"}, {"annotator": "experts"}),
    ("label-settings-differ", "present", {"data": {"label_noise": 0.3}}, {"data": {"label_noise": 0.0}}),
    ("label-settings-differ", "present", {"data": {"error_rate": 0.3}}, {"data": {"error_rate": 0.0}}),
    ("label-settings-differ", "present", {"target_column": "price_2"}, {"target_column": "price"}),
    ("label-settings-differ", "absent", {"transcripts": "auto"}, {"transcripts": "auto"}),
    ("label-settings-differ", "unknown", {"label_smoothing": 0.1}, {"label_smoothing": 0.0}),
    ("label-settings-differ", "unknown", {"model": {"label_dim": 8}}, {"model": {"label_dim": 16}}),
    ("label-settings-differ", "unknown", {"target_modules": "all"}, {"target_modules": "q"}),
    ("label-settings-differ", "unknown", {"annotator": "crowd"}, {}),
    ("label-map-settings-differ", "present", {"label_offset": 1}, {"label_offset": 0}),
    ("label-map-settings-differ", "absent", {"class_index": "a"}, {"class_index": "a"}),
    ("label-map-settings-differ", "unknown", {}, {"label_offset": 0}),
    ("split-settings-differ", "present", {"data": {"split_by": "site"}}, {"data": {"split_by": "row"}}),
    ("split-settings-differ", "present", {"data": {"fold": 3}}, {"data": {"fold": 0}}),
    ("split-settings-differ", "absent", {"data": {"split_by": "row"}}, {"data": {"split_by": "row"}}),
    ("split-settings-differ", "unknown", {"model": {"split": 3}}, {"model": {"split": 1}}),
    ("split-settings-differ", "unknown", {"data": {"split_by": "site"}}, {}),
    ("evaluation-settings-differ", "present", {"test_snr": 0}, {"test_snr": 20}),
    ("evaluation-settings-differ", "present", {"valid_source": "b"}, {"valid_source": "a"}),
    ("evaluation-settings-differ", "absent", {"valid_source": "a"}, {"valid_source": "a"}),
    ("evaluation-settings-differ", "present", {"valid_file": "b/new.csv"}, {"valid_file": "a/valid.csv"}),
    ("evaluation-settings-differ", "absent", {"valid_file": "b/valid.csv"}, {"valid_file": "a/valid.csv"}),
    ("evaluation-settings-differ", "unknown", {"test_pred_file": "b.csv"}, {"test_pred_file": "a.csv"}),
    ("evaluation-settings-differ", "unknown", {"valid_file": "b"}, {"valid_file": "a"}),
    ("evaluation-settings-differ", "unknown", {"valid_batch_size": 8}, {"valid_batch_size": 16}),
    ("evaluation-settings-differ", "unknown", {"eval_every": 8}, {"eval_every": 16}),
    ("evaluation-settings-differ", "unknown", {"test_snr": 0}, {}),
    ("evaluation-processing-differs", "present", {"val_crop": 0.5}, {"val_crop": 0.9}),
    ("evaluation-processing-differs", "absent", {"val_crop": 0.9}, {"val_crop": 0.9}),
    ("evaluation-processing-differs", "unknown", {"val_crop": 0.9}, {}),
    (
        "class-shares-differ",
        "present",
        {"class_counts": {"a": 10, "b": 90}},
        {"class_counts": {"a": 40, "b": 60}},
    ),
    (
        "class-shares-differ",
        "absent",
        {"class_counts": {"a": 4, "b": 6}},
        {"class_counts": {"a": 41, "b": 60}},
    ),
    ("class-shares-differ", "unknown", {"class_counts": {"a": 4, "b": 6}}, {"lr": 0.1}),
    ("processing-value-far", "present", {"max_seq_length": 16}, {"max_length": 512}),
    ("columns-added", "present", {"columns": ["a", "b", "id"]}, {"columns": ["a", "b"]}),
    ("columns-added", "absent", {"columns": ["a"]}, {"columns": ["a", "b"]}),
    ("columns-added", "unknown", {"columns": ["a"]}, {}),
    ("columns-missing", "present", {"data": {"features": ("a",)}}, {"data": {"features": ("a", "b")}}),
    ("columns-missing", "absent", {"data": {"features": ("a",)}}, {"data": {"features": ("a",)}}),
    ("columns-missing", "unknown", {"data": {"features": 8}}, {"data": {"features": 9}}),
    (
        "other-setting-differs",
        "absent",
        {"a": 1, "b": "2", "c": 3, "seed": 1, "out_dir": "x"},
        {"a": 1, "b": 2, "c": 3.0, "seed": 2, "out_dir": "y"},
    ),
    ("other-setting-differs", "unknown", {"mosaic": 1.0}, {}),
    (
        "further-hyperparameter-differs",
        "present",
        {"lr": 0.1, "adam_epsilon": 1e-8},
        {"lr": 0.2, "adam_epsilon": 1e-3},
    ),
    (
        "further-hyperparameter-differs",
        "absent",
        {"lr": 0.1, "beta1": 0.9, "beta2": 0.95, "adam_epsilon": 1e-8},
        {"lr": 0.2, "beta1": 0.9, "beta2": 0.95, "adam_epsilon": 1e-8},
    ),
    (
        "schedule-differs",
        "absent",
        {"epochs": 150, "lr_decay_steps": 150},
        {"epochs": 20, "lr_decay_steps": 20},
    ),
    (
        "schedule-differs",
        "present",
        {"epochs": 20, "lr_decay_steps": 150},
        {"epochs": 20, "lr_decay_steps": 20},
    ),
    ("further-hyperparameter-differs", "unknown", {"lr": 0.1}, {"lr": 0.2}),
    ("any-hyperparameter-differs", "present", {"lr": 0.1, "seed": 1}, {"lr": 0.2, "seed": 2}),
    (
        "any-hyperparameter-differs",
        "absent",
        {"lr": 0.1, "epochs": 3, "wd": 0, "seed": 1},
        {"lr": "1e-1", "epochs": 3, "wd": 0.0, "seed": 2},
    ),
    ("any-hyperparameter-differs", "unknown", {"lr": 0.1}, {"lr": 0.1}),
    ("benchmark-other-task", "present", {"num_classes": 10}, {"num_classes": 100}),
    (
        "benchmark-other-task",
        "present",
        {"num_layers": 12, "hidden_size": 768, "num_heads": 12},
        {"num_layers": 24, "hidden_size": 1024, "num_heads": 16},
    ),
    (  # one model that was made larger
        "benchmark-other-task",
        "unknown",
        {"num_layers": 4, "hidden_size": 256},
        {"num_layers": 2, "hidden_size": 64},
    ),
    (
        "benchmark-other-task",
        "present",
        {"model": "unet", "dataset": "brats"},
        {"model": "gpt2", "dataset": "wiki"},
    ),
    ("benchmark-other-task", "absent", {"vocab_size": 50257}, {"vocab_size": 50304}),
    (
        "benchmark-other-task",
        "absent",
        {"model": "unet", "dataset": "brats"},
        {"model": "unet2", "dataset": "brats"},
    ),
    ("benchmark-other-task", "unknown", {"lr": 0.1}, {"lr": 0.1}),
    (
        "benchmark-other-task",
        "present",
        {"lr": 0.1, "batch_size": 64, "wd": 0.01, "hidden_size": 64},
        {"lr": 0.003, "batch_size": 12, "wd": 0.1, "hidden_size": 512},
    ),
    (
        "benchmark-other-task",
        "absent",
        {"lr": 0.1, "batch_size": 64, "wd": 0.01, "hidden_size": 64},
        {"lr": 0.1, "batch_size": 64, "wd": 0.1, "hidden_size": 64},
    ),
    ("fewer-samples-than-benchmark", "present", {"train_size": 150}, {"train_size": 1200}),
    ("dataset-settings-differ", "present", {"train_size": 0.5}, {"train_size": 0.8}),
    ("preprocessing-settings-differ", "present", {"train_size": (320, 320)}, {"train_size": (640, 640)}),
]


def made(settings: dict[str, Any]) -> Run:
    flat: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, dict):
            flat.update({f"{key}.{k}": v for k, v in value.items()})
        else:
            flat[key] = tuple(value) if isinstance(value, list) else value
    return written(flat)


@pytest.mark.parametrize(("symptom", "expected", "mine", "theirs"), CASES)
def test_settings_against_the_benchmark(
    symptom: str, expected: str, mine: dict[str, Any], theirs: dict[str, Any]
) -> None:
    """Names and values of different frameworks are compared as what they mean."""
    found = reading("benchmark", symptom, made(mine), made(theirs))

    assert found.state == expected, found.why


def test_both_places_are_named() -> None:
    """A difference names file and line on both sides."""
    found = reading("benchmark", "lr-above-benchmark", made({"epochs": 1, "lr": 1.0}), made({"lr": 0.1}))

    assert [(p.side, p.line) for p in found.where] == [("run", 2), ("benchmark", 1)]
    assert (found.value, found.threshold) == (1, 0.1)


def test_a_documented_default_fills_in() -> None:
    """The transformers Trainer clips at 1.0 where its record does not say otherwise."""
    mine = written({"max_grad_norm": 0.0})
    theirs = written({"lr": 0.1}, facts={"trainer": "transformers"})

    assert state("clipping-weaker-than-benchmark", mine, theirs) == "present"


def test_versions() -> None:
    """Versions are compared where both sides record them."""
    old, new = run(facts={"version:torch": "2.0.1"}), run(facts={"version:torch": "2.1.0"})

    assert state("versions-differ", old, new) == "present"
    assert state("versions-differ", old, old) == "absent"
    assert state("versions-differ", old, run(facts={"version:numpy": "1.0"})) == "unknown"


# ------------------------------------------------------------------------------------------------ curves


@pytest.mark.parametrize("count", [60, 300, 1500])
@pytest.mark.parametrize("noise", [0.005, 0.05])
@pytest.mark.parametrize("floor", [0.05, 0.5, 1.9])
def test_two_seeds_of_one_recipe_are_equal(count: int, noise: float, floor: float) -> None:
    """Other seeds differ in start, pace and noise; no symptom of the benchmark is present."""
    for seed in range(3):
        mine = run(curves(seed, count=count, noise=noise, floor=floor))
        theirs = run(curves(seed + 50, count=count, noise=noise, floor=floor))

        assert present("benchmark", mine, theirs) == set()


@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 20, 300])
def test_a_run_against_itself_differs_in_nothing(count: int) -> None:
    """Whatever its length, a run equals itself."""
    one = written(
        {"lr": 0.1, "epochs": 3, "wd": 0.1, "momentum": 0.9, "batch_size": 8, "fp16": True, "model": "m"},
        [*curves(1, healthy(1)[:count]), series("learning_rate", np.linspace(1, 0.1, count))],
    )

    assert present("benchmark", one, one) == set()


def test_nothing_is_said_without_a_benchmark() -> None:
    """Without a benchmark every symptom is unknown."""
    found = evidence("benchmark", run(curves(1)))

    assert {str(r.state) for r in found.values()} == {"unknown"}


BENCH = run(curves(50))
MINE = healthy(0)
ENDS_IN_NAN = np.where(np.arange(300) < 250, MINE, np.nan)
LATE = MINE * np.where(np.arange(300) > 180, 1 + 0.3 * np.minimum(1, (np.arange(300) - 180) / 30), 1)
SHARED = healthy(7)  # what two runs on the same batches log
LOCKED = run([series("train/loss", SHARED)])
PARTS = SHARED * np.concatenate([[1.0], 1 + 0.06 * np.minimum(1, np.arange(1, 300) / 30)])
FLAT = run([series("train/loss", np.full(300, 2.3) + 0.01 * np.random.default_rng(2).normal(size=300))])
RATE = np.concatenate([np.linspace(0.05, 1, 20), np.linspace(1, 0.01, 180)]) * 1e-3
RATED = run([series("learning_rate", RATE)])
EPOCHS = run([series("train/loss", 0.4 + 2 * np.exp(-np.arange(12) / 3), unit="epoch")])


def steps(
    first: float = 1.0,
    norm: float = 1.0,
    second: float = 1.0,
    seed: int = 1,
    interval: int = 1,
    half_life: float = 20.0,
) -> Run:
    """A run logged step by step; its first loss, gradient norms, or losses after the first are multiplied.

    `half_life`: steps in which the learning rate halves.
    """
    at = 1.0 + interval * np.arange(60)
    chance = 1 + 0.02 * np.random.default_rng(seed).normal(size=60) * (np.arange(60) > 0)
    loss = 2.3 * np.exp(-np.arange(60) / 40) * chance * np.where(np.arange(60) == 0, first, second)
    grads = 2.0 * np.exp(-np.arange(60) / 60) * norm
    rates = series("learning_rate", 0.1 * 0.5 ** (np.arange(60) / half_life), at)
    return written({"seed": seed}, [series("train/loss", loss, at), series("grad_norm", grads, at), rates])


def steps_apart(first: float = 1.0, seed: int = 1) -> Run:
    """As `steps`, of data in order: the loss leaps so far that its scatter hides a first loss that is off."""
    at = 1.0 + np.arange(60)
    loss = 2.0 + np.where(np.arange(60) % 7 == 3, 4.0 * (seed - 1), 0.0)
    loss[0] = 1.6 * first
    return written({"seed": seed}, [series("train/loss", loss, at), series("grad_norm", 2.0 * loss, at)])


def epochs_of(length: int, epochs: int, batch: int | None = 32) -> Run:
    """A run of so many epochs of so many steps, its epoch logged at every step."""
    at = np.arange(1, length * epochs + 1)
    loss = series("train/loss", 2 * np.exp(-at / 150), at, epochs=np.floor((at - 1) / length))
    return run([loss], {} if batch is None else {"global_batch_size": batch})


def judged(loss: Any, factor: float = 1.0) -> Run:
    """A training loss and an evaluation loss every thirtieth step, the latter times a factor."""
    at = np.arange(30, 301, 30)
    return run([series("train/loss", loss), series("eval/loss", factor * np.asarray(loss)[at - 1], at)])


def judged_with(loss: Any = None, factor: float = 1.0, **settings: float) -> Run:
    """As `judged`, with settings."""
    curve = MINE if loss is None else loss
    return run(judged(curve, factor).all_series, settings)


def raised(factor: float, **settings: float) -> Run:
    """A run whose training loss is raised, as by dropout, and its evaluation loss that many times as high."""
    return judged_with(np.asarray(MINE) + 0.1, factor, **settings)


def detector(box: float = 1.0, cls: float = 1.0) -> Run:
    """A detector's loss in terms of box and class, each times a factor."""
    falling = 2 * np.exp(-np.arange(40) / 20) + 0.2
    terms = {"train/loss/box": box * falling, "train/loss/cls": cls * falling}
    return run([series("train/loss", sum(terms.values())), *(series(n, v) for n, v in terms.items())])


def noisy(level: float, accuracy: float, seed: int = 5) -> Run:
    """A loss so noisy that its end says little, and an accuracy."""
    wild = level * np.exp(1.5 * np.random.default_rng(seed).normal(size=60))
    return run([series("train/loss", wild), series("eval/accuracy", [accuracy] * 6, np.arange(10, 61, 10))])


def scored(loss: list[float], error: list[float]) -> Run:
    """A run with a loss and an error of evaluation per epoch."""
    return run([series("train/loss", loss, unit="epoch"), series("eval/mae", error, unit="epoch")])


def evaluated(length: int, epochs: int) -> Run:
    """The same without epochs in the log; an evaluation ends each."""
    at = np.arange(1, length * epochs + 1)
    held = np.arange(length, length * epochs + 1, length)
    return run([series("train/loss", 2 * np.exp(-at / 150), at), series("eval/loss", np.ones(epochs), held)])


def paced(pace: float, length: int, end: float = 1.0) -> Run:
    """A run whose loss falls by so much in so many steps; twenty evaluations end at `end`."""
    at = np.arange(1, length + 1)
    loss = 1 + np.exp(-at / pace) + 0.005 * np.random.default_rng(3).normal(size=length)
    held = np.linspace(2.0, end, 20)
    return run(
        [series("train/loss", loss, at), series("eval/loss", held, at[length // 20 - 1 :: length // 20])]
    )


CURVES: list[tuple[str, str, Run, Run]] = [
    ("first-loss-differs", "present", run(curves(0, MINE * 2)), BENCH),
    ("first-loss-differs", "present", run([series("train/loss", SHARED * 1.01)]), LOCKED),
    ("first-loss-differs", "absent", run([series("train/loss", SHARED * 1.001)]), LOCKED),
    ("first-loss-differs", "unknown", run(curves(0)), BENCH),  # another seed
    (
        "first-loss-differs",
        "unknown",
        run([series("train/loss", MINE, steps=np.arange(300) * 10 + 500)]),
        BENCH,
    ),
    ("first-loss-differs", "unknown", run([series("train/loss", MINE, unit="epoch")]), BENCH),
    ("first-grad-norm-differs", "present", run(curves(0, scale=20.0)), BENCH),
    ("first-grad-norm-differs", "absent", steps(), steps()),
    ("first-grad-norm-differs", "unknown", run(curves(0)), BENCH),  # another seed
    ("first-grad-norm-differs", "present", steps(norm=1.3), steps()),
    ("first-grad-norm-differs", "absent", run(curves(0, MINE * 3, scale=20.0)), BENCH),
    (
        "first-grad-norm-differs",
        "unknown",
        steps_apart(1.13, seed=2),
        steps_apart(),
    ),  # neither apart nor equal
    ("loss-departs-after-first", "unknown", steps_apart(1.13, seed=2), steps_apart()),
    ("first-grad-norm-differs", "unknown", run(curves(0)[:3]), BENCH),
    ("first-grad-norm-differs", "unknown", steps(norm=0.1), steps()),  # grad-norm-far-below-at-start tells it
    ("grad-norm-far-below-at-start", "present", run(curves(0, scale=0.1)), BENCH),
    ("grad-norm-far-below-at-start", "absent", run(curves(0, scale=0.6)), BENCH),
    ("grad-norm-far-below-at-start", "unknown", run(curves(0, MINE * 3, scale=0.1)), BENCH),
    ("grad-norm-below-at-start", "present", run(curves(0, scale=0.5)), BENCH),
    ("grad-norm-below-at-start", "unknown", run(curves(0, scale=0.1)), BENCH),
    ("grad-norm-below-at-start", "absent", run(curves(0)), BENCH),
    ("grad-norm-below-at-start", "unknown", run(curves(0, MINE * 3, scale=0.33)), BENCH),
    ("second-loss-differs", "present", steps(second=1.05), steps()),
    ("second-loss-differs", "absent", steps(), steps()),
    ("second-loss-differs", "absent", steps(first=1.05, second=1.05), steps()),  # the forward pass
    ("second-loss-differs", "absent", steps(norm=1.5, second=1.05), steps()),  # the backward pass
    ("second-loss-differs", "unknown", steps(second=1.05, seed=2), steps()),  # other batches
    ("second-loss-differs", "unknown", steps(second=1.05, interval=5), steps(interval=5)),
    ("second-loss-differs", "unknown", run([series("train/loss", SHARED)]), LOCKED),  # no gradient norm
    ("grad-norm-scaled", "present", run(curves(0, scale=0.33)), BENCH),
    ("grad-norm-scaled", "absent", run(curves(0)), BENCH),
    ("grad-norm-scaled", "absent", run(curves(0, np.maximum(MINE, 1.5) * 2, scale=0.33)), BENCH),
    (
        "grad-norm-scaled",
        "present",  # a step that is off by the number of batches leaves no loss that agrees
        run(curves(0, np.maximum(MINE, 1.5) * 2, scale=8.0), {"gradient_accumulation_steps": 8}),
        BENCH,
    ),
    ("grad-norm-scaled", "unknown", run(curves(0)[:3]), BENCH),
    (
        "grad-norm-scaled",
        "unknown",
        run([*curves(0, scale=0.33), series("learning_rate", np.full(300, 2e-3))]),
        run([*curves(50), series("learning_rate", np.full(300, 1e-3))]),
    ),
    (
        "epochs-above-benchmark",
        "unknown",
        run(curves(0), {"epochs": 60}),
        run(curves(50), {"epochs": 12}),
    ),
    ("loss-departs-after-first", "present", run([series("train/loss", PARTS)]), LOCKED),
    ("loss-departs-after-first", "present", run(curves(0, healthy(0, pace=0.5))), BENCH),
    ("loss-departs-after-first", "absent", run(curves(0)), BENCH),
    ("loss-departs-after-first", "absent", run(curves(0, LATE)), BENCH),
    (
        "loss-departs-after-first",
        "unknown",
        run([series("train/loss", MINE[20:], steps=np.arange(21, 301))]),
        BENCH,
    ),
    ("loss-departs-late", "present", run(curves(0, LATE)), BENCH),
    ("loss-departs-late", "absent", run(curves(0)), BENCH),
    ("loss-departs-late", "absent", run(curves(0, MINE * 2)), BENCH),
    ("loss-departs-late", "unknown", run([series("train/loss", MINE[:6])]), BENCH),
    (
        "loss-scaled-by-constant",
        "present",
        run([series("train/loss", MINE * 4), *curves(0, MINE, scale=4.0)[1:]]),
        BENCH,
    ),
    (
        "loss-multiple-of-batches",
        "present",
        run([series("train/loss", MINE * 4), *curves(0, MINE, scale=4.0)[1:]], {"global_batch_size": 8}),
        run(curves(50), {"global_batch_size": 32}),
    ),
    (
        "loss-multiple-of-batches",
        "absent",
        run([series("train/loss", MINE * 4), *curves(0, MINE, scale=4.0)[1:]], {"global_batch_size": 16}),
        run(curves(50), {"global_batch_size": 32}),
    ),
    (
        "loss-multiple-of-batches",
        "absent",
        run(curves(0, MINE), {"global_batch_size": 8}),
        run(curves(50), {"global_batch_size": 32}),
    ),
    ("loss-multiple-of-batches", "unknown", run([series("train/loss", MINE * 4), *curves(0)[1:]]), BENCH),
    ("loss-scaled-by-constant", "absent", run(curves(0, MINE * 4)), BENCH),
    ("loss-scaled-by-constant", "absent", run(curves(0)), BENCH),
    ("loss-scaled-by-constant", "absent", run(curves(0, MINE + 2)), BENCH),
    (
        "loss-scaled-by-constant",
        "unknown",
        run([series("train/loss", FLAT.series["train/loss"].values * 2)]),
        FLAT,
    ),
    ("final-loss-above-benchmark", "present", run(curves(0, np.maximum(MINE, 0.9))), BENCH),
    ("final-loss-above-benchmark", "absent", run(curves(0)), BENCH),
    # more dropout or smoother labels raise the training loss; what is evaluated tells whether it is worse
    ("final-loss-above-benchmark", "absent", raised(0.6, dropout=0.2), judged_with(dropout=0.0)),
    (
        "final-loss-above-benchmark",
        "absent",
        raised(0.6, label_smoothing=0.1),
        judged_with(label_smoothing=0.0),
    ),
    ("final-loss-above-benchmark", "present", raised(1.0, dropout=0.2), judged_with(dropout=0.0)),
    ("final-loss-above-benchmark", "present", raised(0.6, dropout=0.1), judged_with(dropout=0.1)),
    ("final-loss-above-benchmark", "present", raised(0.6), judged_with()),
    ("final-loss-above-benchmark", "unknown", run(), BENCH),
    # half as fast over twice the steps: the same end
    ("final-loss-above-benchmark", "absent", paced(300, 600), paced(150, 300)),
    ("final-loss-above-benchmark", "present", paced(300, 300), paced(150, 300)),
    ("final-loss-above-benchmark", "present", paced(300, 600, end=1.3), paced(150, 300)),
    ("slower-than-benchmark", "unknown", paced(300, 600), paced(150, 300)),
    ("slower-than-benchmark", "present", paced(300, 600, end=1.3), paced(150, 300)),
    # without a metric the evaluation loss can only say that nothing is worse
    ("final-metric-below-benchmark", "absent", paced(300, 600), paced(150, 300)),
    ("final-metric-below-benchmark", "unknown", paced(300, 600, end=1.3), paced(150, 300)),
    ("final-loss-far-above-benchmark", "present", run(curves(0, np.maximum(MINE, 0.9))), BENCH),
    ("final-loss-far-above-benchmark", "absent", run(curves(0, 1.2 * MINE)), BENCH),
    ("final-loss-far-above-benchmark", "unknown", run(), BENCH),
    ("final-metric-below-benchmark", "present", run(curves(0, worse=0.1)), BENCH),
    ("final-metric-below-benchmark", "absent", run(curves(0)), BENCH),
    ("final-metric-below-benchmark", "unknown", run(curves(0)[:1]), BENCH),
    ("slower-than-benchmark", "present", run(curves(0, healthy(0, pace=0.4))), BENCH),
    ("slower-than-benchmark", "absent", run(curves(0)), BENCH),
    ("slower-than-benchmark", "unknown", run(curves(0)), FLAT),
    ("final-metric-far-below-benchmark", "present", run(curves(0, worse=0.1)), BENCH),
    ("final-metric-far-below-benchmark", "absent", run(curves(0, worse=0.03)), BENCH),
    ("final-metric-far-below-benchmark", "unknown", run(curves(0)[:1]), BENCH),
    ("eval-scaled-training-identical", "present", rescaled(0.78), rescaled()),
    ("eval-scaled-training-identical", "present", rescaled(1.25), rescaled()),
    ("eval-scaled-training-identical", "absent", rescaled(), rescaled()),
    ("eval-scaled-training-identical", "absent", rescaled(0.78, lower=0.02), rescaled()),
    ("eval-scaled-training-identical", "absent", rescaled(0.5, moves=0.0), rescaled(moves=0.0)),
    ("eval-scaled-training-identical", "unknown", rescaled(0.78, loss=1.01), rescaled()),
    ("eval-worse-train-equal", "present", run(curves(0, worse=0.1)), BENCH),
    ("eval-worse-train-equal", "absent", run(curves(0)), BENCH),
    ("eval-worse-train-equal", "absent", run(curves(0, MINE * 2, worse=0.1)), BENCH),
    ("eval-worse-train-equal", "unknown", run(curves(0)[:1]), BENCH),
    ("better-than-benchmark", "present", run(curves(0, MINE * 0.3, worse=-0.09)), BENCH),
    ("better-than-benchmark", "absent", run(curves(0)), BENCH),
    ("better-than-benchmark", "absent", run(curves(0, MINE * 0.5)), BENCH),
    ("better-than-benchmark", "unknown", run(curves(0)[:1]), BENCH),
    ("eval-worse-train-equal", "unknown", run(curves(0, ENDS_IN_NAN, worse=0.1)), BENCH),
    ("train-better-eval-worse", "present", run(curves(0, MINE * np.linspace(1, 0.4, 300), worse=0.1)), BENCH),
    ("train-better-eval-worse", "absent", run(curves(0, worse=0.1)), BENCH),
    ("train-better-eval-worse", "unknown", run(curves(0)[:1]), BENCH),
    ("noisier-than-benchmark", "present", run(curves(0, healthy(0, noise=0.2))), BENCH),
    ("noisier-than-benchmark", "absent", run(curves(0)), BENCH),
    ("noisier-than-benchmark", "unknown", run([series("train/loss", MINE, window="running-mean")]), BENCH),
    ("benchmark-not-finite", "present", run(), run([series("train/loss", [2.0, 1.0, np.nan])])),
    (
        "benchmark-not-finite",
        "present",
        run(),
        run(events=[Event("non-finite-loss", "log.txt", 4, step=2.0)]),
    ),
    ("benchmark-not-finite", "absent", run(), BENCH),
    ("benchmark-not-finite", "unknown", run(), run()),
    ("benchmark-unstable", "unknown", run(), run(others=("b", "c"))),
    (
        "lr-curve-differs-from-benchmark",
        "present",
        run([series("learning_rate", np.linspace(1, 0, 50))]),
        run([series("learning_rate", np.ones(50))]),
    ),
    (
        "lr-curve-differs-from-benchmark",
        "absent",
        run([series("learning_rate", np.ones(50))]),
        run([series("learning_rate", np.ones(40))]),
    ),
    ("lr-curve-differs-from-benchmark", "unknown", run([series("learning_rate", np.ones(50))]), run()),
    (
        "lr-curve-differs-from-benchmark",
        "absent",
        run([series("learning_rate", 1 + np.cos(np.pi * np.arange(200) / 200))]),
        run([series("learning_rate", 1 + np.cos(np.pi * np.arange(50) / 50))]),
    ),
    ("lr-below-benchmark", "present", run([series("learning_rate", RATE * 0.1)]), RATED),
    ("lr-below-benchmark", "absent", run([series("learning_rate", RATE)]), RATED),
    ("lr-below-benchmark", "unknown", run([series("learning_rate", RATE[:8] * 0.1)]), RATED),
    ("warmup-below-benchmark", "present", run([series("learning_rate", RATE[20:])]), RATED),
    ("warmup-below-benchmark", "absent", run([series("learning_rate", RATE * 0.1)]), RATED),
    ("warmup-below-benchmark", "absent", RATED, run([series("learning_rate", RATE[20:])])),
    ("warmup-below-benchmark", "unknown", run([series("learning_rate", RATE, unit="epoch")]), RATED),
    ("stops-before-benchmark", "present", run(curves(0, MINE[:60])), BENCH),
    ("stops-before-benchmark", "present", run([series("train/loss", [2.1, 1.8], unit="epoch")]), EPOCHS),
    ("stops-before-benchmark", "absent", run(curves(0)), BENCH),
    ("stops-before-benchmark", "absent", run(curves(0, MINE[:270])), BENCH),
    ("stops-before-benchmark", "absent", run([series("train/loss", SHARED[:220])]), LOCKED),
    ("stops-before-benchmark", "unknown", run(curves(0)[1:2]), BENCH),
    ("stops-before-benchmark", "unknown", run([series("train/loss", [*MINE[:60], *[np.nan] * 9])]), BENCH),
    ("stops-before-benchmark", "absent", epochs_of(20, 12), epochs_of(35, 12)),
    ("stops-before-benchmark", "absent", evaluated(20, 12), evaluated(35, 12)),
    ("stops-before-benchmark", "present", evaluated(35, 6), evaluated(35, 12)),
    (
        "stops-before-benchmark",  # the loss tells nothing beside where it began, the metric does
        "present",
        scored([90.0, 0.06, 0.056], [4.9, 4.6, 4.4]),
        scored([90.0, 0.06, 0.056, 0.04, 0.03, 0.02, 0.02, 0.02], [5.0, 4.6, 4.4, 3.6, 3.2, 3.1, 3.0, 3.0]),
    ),
    (
        "stops-before-benchmark",
        "absent",
        scored([90.0, 0.06, 0.056], [3.9, 3.1, 3.0]),
        scored([90.0, 0.06, 0.056, 0.04, 0.03, 0.02, 0.02, 0.02], [5.0, 4.6, 4.4, 3.6, 3.2, 3.1, 3.0, 3.0]),
    ),
    ("eval-differs-training-identical", "present", judged(SHARED, 1.3), judged(SHARED)),
    ("eval-differs-training-identical", "absent", judged(SHARED, 1.001), judged(SHARED)),
    ("eval-differs-training-identical", "unknown", judged(MINE, 1.3), judged(SHARED)),
    ("eval-differs-training-identical", "unknown", LOCKED, LOCKED),
    ("grad-norm-departs-on-same-batches", "present", steps(norm=0.85), steps()),
    (
        "grad-norm-departs-on-same-batches",
        "unknown",
        steps(norm=0.85, half_life=12),
        steps(),
    ),  # other weights
    ("grad-norm-departs-on-same-batches", "absent", steps(norm=1.01), steps()),
    ("grad-norm-departs-on-same-batches", "unknown", steps(norm=4.0), steps()),  # grad-norm-scaled tells it
    ("grad-norm-departs-on-same-batches", "unknown", steps(norm=0.85, seed=2), steps()),
    ("grad-norm-departs-on-same-batches", "unknown", steps(norm=0.85, second=1.1), steps()),
    ("class-terms-above-benchmark", "present", detector(cls=3.0), detector()),
    ("class-terms-above-benchmark", "absent", detector(box=3.0), detector()),
    ("class-terms-above-benchmark", "absent", detector(box=3.0, cls=3.0), detector()),
    ("class-terms-above-benchmark", "unknown", LOCKED, LOCKED),
    ("place-terms-above-benchmark", "present", detector(box=3.0), detector()),
    ("place-terms-above-benchmark", "absent", detector(cls=3.0), detector()),
    ("place-terms-above-benchmark", "unknown", LOCKED, LOCKED),
    ("eval-worse-train-equal", "unknown", noisy(0.7, 0.6, 6), noisy(0.3, 0.9)),
    ("epoch-shorter-than-benchmark", "present", epochs_of(20, 12), epochs_of(35, 12)),
    ("epoch-shorter-than-benchmark", "absent", epochs_of(35, 6), epochs_of(35, 12)),
    ("epoch-shorter-than-benchmark", "unknown", epochs_of(20, 12, batch=64), epochs_of(35, 12)),
    ("epoch-shorter-than-benchmark", "unknown", epochs_of(20, 12, batch=None), epochs_of(35, 12, batch=None)),
    ("epoch-shorter-than-benchmark", "unknown", evaluated(20, 12), epochs_of(35, 12)),
]


@pytest.mark.parametrize(("symptom", "expected", "mine", "theirs"), CURVES)
def test_curves_against_the_benchmark(symptom: str, expected: str, mine: Run, theirs: Run) -> None:
    """Made faults are found, seeds are not, and what was not logged is unknown."""
    found = reading("benchmark", symptom, mine, theirs)

    assert found.state == expected, found.why


def test_all_symptoms_have_three_states_here() -> None:
    """No symptom of the file goes without a case for each state (those of repeats have their own file)."""
    covered = {(s, state) for s, state, *_ in (*CASES, *CURVES)}
    repeated = {"benchmark-unstable", "loss-outside-benchmark-band", "benchmark-curves-apart"}
    repeated |= {"benchmark-far-apart"}
    relations = {
        "metric-apart-at-equal-loss",
        "eval-loss-apart-at-equal-metric",
        "loss-above-at-equal-metric",
        "loss-out-of-scale-at-equal-metric",
        "eval-partly-identical",
        "training-harder-than-benchmark",
    }
    apart = {*repeated, *relations, "versions-differ", "hyperparameter-in-force-differs"}
    apart |= {"versions-alone-differ", "decay-groups-differ", "fewer-bits-than-benchmark"}
    apart |= {"document-masks-differ", "tying-differs", "prompt-counts-differ", "gradients-summed-coarsely"}
    apart |= {"printed-labels-masked-otherwise", "pipeline-steps-differ", "lr-below-benchmark-and-worse"}
    missing = {
        (s, t)
        for s in symptoms("benchmark").keys() - apart
        for t in ("present", "absent", "unknown")
        if (s, t) not in covered
    }

    assert missing == set()


def test_a_departure_says_when_and_where() -> None:
    """The step of the departure and both lines are named."""
    found = reading("benchmark", "loss-departs-late", run(curves(0, LATE)), BENCH)

    assert found.step == pytest.approx(190, abs=25)
    assert {p.side for p in found.where} == {"run", "benchmark"}


# -------------------------------------------------------------------------------------------------- grid


def grid(mine: Series, theirs: Series) -> Any:
    return pair(View(run([mine]), run([theirs])), "train/loss")


def test_uneven_steps_are_brought_to_one_grid() -> None:
    """Other intervals are interpolated over the common part only."""
    found = grid(
        series("train/loss", np.arange(10.0), steps=np.arange(10) * 10),
        series("train/loss", np.arange(30.0), steps=np.arange(30) * 3 + 1),
    )

    assert found.x.min() >= 1
    assert found.x.max() <= 88
    assert np.allclose(found.bench, (found.x - 1) / 3)


def test_epochs_counted_from_zero_and_from_one_are_the_same() -> None:
    """Keras counts epochs from zero, others from one."""
    found = grid(
        series("train/loss", [3.0, 2.0, 1.0], steps=[0, 1, 2], unit="epoch"),
        series("train/loss", [3.0, 2.0, 1.0], unit="epoch"),
    )

    assert np.array_equal(found.run, found.bench)


def test_steps_and_epochs_meet_in_epochs_or_not_at_all() -> None:
    """A log over steps that knows its epochs is compared over these; one that does not is not."""
    steps = series("train/loss", [3.0, 2.0, 1.0, 0.5], epochs=np.array([1.0, 2.0, 3.0, 4.0]))
    epochs = series("train/loss", [3.0, 2.0, 1.0], unit="epoch")

    assert len(grid(steps, epochs)) == 3
    assert "logged over" in grid(series("train/loss", [3.0, 2.0, 1.0]), epochs)


def test_points_that_are_not_finite_are_left_out() -> None:
    """NaN on either side takes a point out of the comparison."""
    found = grid(
        series("train/loss", [3.0, np.nan, 1.0, 1.0, 1.0]), series("train/loss", [3.0, 2.0, np.inf, 1.0, 1.0])
    )

    assert found.x.tolist() == [1.0, 4.0, 5.0]


def test_runs_on_the_same_batches_are_recognised() -> None:
    """Common noise is seen in the difference; other batches are not taken for the same."""
    rng = np.random.default_rng(0)
    together = grid(
        series("train/loss", SHARED), series("train/loss", SHARED * (1 + 1e-3 * rng.normal(size=300)))
    )
    apart = grid(series("train/loss", healthy(1)), series("train/loss", healthy(2)))

    assert move_together(together)
    assert not move_together(apart)


def test_blocks_and_final_levels_keep_their_lengths() -> None:
    """Any number of points gives blocks of equal arrays, and a final level inside the values."""
    for count in (3, 7, 19, 21, 41, 400):
        found = grid(series("train/loss", healthy(1)[:count]), series("train/loss", healthy(2)[:count]))
        made_of = blocks(found)
        mine, _, error = final(found)

        assert len(made_of.x) == len(made_of.run) == len(made_of.bench) == len(made_of.error) <= max(20, 40)
        assert found.run.min() <= mine <= found.run.max()
        assert error >= 0


def test_secrets_and_paths_are_no_differences() -> None:
    """Hidden values and places of files never count as a difference."""
    mine = run(raw_settings=(Setting("my_token", "***", "a.yaml"), Setting("labels", "/a/x", "a.yaml")))
    theirs = run(raw_settings=(Setting("my_token", "x", "a.yaml"), Setting("labels", "/b/x", "a.yaml")))

    assert state("other-setting-differs", mine, theirs) == "unknown"


def test_a_plan_as_long_says_nothing_of_a_run_that_ended_early() -> None:
    """Twelve epochs were planned on both sides, and the log of one ends after three."""
    whole = written({"epochs": 12}, [series("train/loss", np.linspace(2, 1, 12), unit="epoch")])
    cut = written({"epochs": 12}, [series("train/loss", np.linspace(2, 1.8, 3), unit="epoch")])

    assert state("epochs-below-benchmark", whole, whole) == "absent"
    assert state("epochs-below-benchmark", cut, whole) == "unknown"


def test_training_a_little_better_and_evaluation_far_worse() -> None:
    """A training loss 4 % below the benchmark's is as good as equal: evaluation differs alone."""

    def made_of(loss: float, accuracy: float) -> Run:
        ends = [series("train/loss", [2.0, 1.4, 1.1, *[loss] * 9], unit="epoch")]
        return run([*ends, series("eval/accuracy", [0.3, *[accuracy] * 11], unit="epoch")])

    assert state("eval-worse-train-equal", made_of(0.96, 0.6), made_of(1.0, 0.8)) == "present"
    assert state("eval-worse-train-equal", made_of(0.8, 0.6), made_of(1.0, 0.8)) == "absent"
    assert state("eval-worse-train-equal", made_of(1.2, 0.6), made_of(1.0, 0.8)) == "absent"


def test_a_shorter_run_that_ends_as_well_is_not_below() -> None:
    """Only a worse end may be a question of time."""

    def made_of(epochs: int, end: float) -> Run:
        loss = series("train/loss", np.linspace(2.0, 0.5, epochs), unit="epoch")
        return run([loss, series("eval/accuracy", [0.3, *[end] * (epochs - 1)], unit="epoch")])

    assert state("final-metric-below-benchmark", made_of(10, 0.8), made_of(30, 0.8)) == "absent"
    assert state("final-metric-below-benchmark", made_of(10, 0.6), made_of(30, 0.8)) == "unknown"
    assert state("final-metric-below-benchmark", made_of(30, 0.6), made_of(30, 0.8)) == "present"


@pytest.mark.parametrize(
    ("end", "count", "expected"),
    [
        (2.101, 300, "absent"),
        (2.05, 300, "absent"),
        (2.3, 300, "unknown"),
        (1.5, 300, "unknown"),
        (2.1, 60, "unknown"),
    ],
)
def test_training_losses_that_end_together_where_nothing_is_evaluated(
    end: float, count: int, expected: str
) -> None:
    """So it is with language models; one that ends far lower may have seen what it should not."""

    def made_of(end: float, count: int = 300) -> Run:
        return run([series("train/loss", end + 8 * np.exp(-np.arange(count) / count * 12))])

    assert state("final-metric-below-benchmark", made_of(end, count), made_of(2.1)) == expected


def test_parts_drawn_with_another_seed_are_not_another_data_set() -> None:
    """Counts that a log tells of a part differ by a few per cent between seeds; a setting has to agree."""

    def told(count: int) -> Run:
        return written({"class_counts.cat": count, "class_counts.dog": count})

    assert state("dataset-settings-differ", told(500), told(520)) == "absent"
    assert state("fewer-samples-than-benchmark", told(500), told(520)) == "absent"
    assert state("dataset-settings-differ", told(500), told(900)) == "present"
    assert state("fewer-samples-than-benchmark", told(500), told(900)) == "present"
    assert state("dataset-settings-differ", written({"n_train": 500}), written({"n_train": 520})) == "present"


def test_curves_that_hardly_fall_have_no_factor() -> None:
    """A factor is told from an offset by how the curves fall: where both fit, it is unknown."""
    low = 0.03 * np.exp(-np.linspace(0.0, 0.4, 200))
    mine, theirs = run([series("train/loss", low + 0.03)]), run([series("train/loss", low)])
    assert reading("benchmark", "loss-scaled-by-constant", mine, theirs).state != "present"
    mine = run([series("train/loss", 3 * low)])
    assert reading("benchmark", "loss-scaled-by-constant", mine, theirs).state == "present"
