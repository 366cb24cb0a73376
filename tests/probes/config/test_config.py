"""Judging settings: each symptom in its three states, from raw settings as files have them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from traindoctor.probes.config.splits import splits_normalised_differently
from traindoctor.probes.registry import View, read
from traindoctor.probes.run import Event, Run, RunInfo, Setting
from traindoctor.probes.settings import resolve

from .._build import run, series, written
from .._read import evidence, probes, reading, symptoms

LOSS = series("train/loss", [2.0, 1.5, 1.2])
OUTPUT = {"output_features.0.name": "status", "status.str2freq.ok": 9876, "status.str2freq.fraud": 124}
OUTPUT |= {"status.str2freq.<UNK>": 0}
SWITCHED_OFF = Event("known-warning", "a.log", 3, text="apex is not installed, fp32", data="amp-disabled")
SCALE = series("loss_scale", [65536.0, 65536.0])


def keras(activation: str, *, from_logits: bool) -> dict[str, Any]:
    """The saved configuration of a Keras model of two layers, flattened as its reader does."""
    return {
        "config.layers.0.class_name": "Dense",
        "config.layers.0.config.activation": "relu",
        "config.layers.1.class_name": "Dense",
        "config.layers.1.config.activation": activation,
        "compile_config.loss.class_name": "SparseCategoricalCrossentropy",
        "compile_config.loss.config.from_logits": from_logits,
    }


def spacy(**scores: float) -> dict[str, Any]:
    """What spaCy stores of a pipeline that knows one label."""
    return {"labels.ner": ["PERSON"], **{f"performance.ents_per_type.{n}.f": f for n, f in scores.items()}}


MAP = {"label_map_path": "d/config.yaml"}  # the very file that the settings are of
# symptom, state, raw settings, and what else the run has
TEXT_ORDER = {f"class_to_idx.{name}": n for n, name in enumerate(sorted(map(str, range(12))))}
CASES: list[tuple[str, str, dict[str, Any], dict[str, Any]]] = [
    ("held-out-file-of-training", "present", {"train_file": "a/b.csv", "validation_file": "a/b.csv"}, {}),
    ("held-out-file-of-training", "present", {"data.train.dir": "/d/train", "data.val.dir": "/d/train"}, {}),
    (
        "held-out-file-of-training",
        "present",
        {"data.corpus_1.path_src": "d/train.en", "data.valid.path_src": "d/train.en"},
        {},
    ),
    ("held-out-file-of-training", "absent", {"train_file": "a/b.csv", "validation_file": "a/c.csv"}, {}),
    # one file and a share of its rows, a folder with both parts, and other annotations of one folder
    (
        "held-out-file-of-training",
        "absent",
        {"train_file": "a/b.csv", "validation_file": "a/b.csv", "validation_split": 0.1},
        {},
    ),
    ("held-out-file-of-training", "absent", {"data.train.root": "/d/coco", "data.val.root": "/d/coco"}, {}),
    ("held-out-file-of-training", "unknown", {"train_file": "a/b.csv"}, {}),
    # both sides have to read by one dictionary
    (
        "held-out-file-of-training",
        "unknown",
        {"train.character_dict_path": "u/en.txt", "eval.character_dict_path": "u/en.txt"},
        {},
    ),
    (
        "dictionaries-disagree",
        "present",
        {"train.character_dict_path": "u/en.txt", "post.character_dict_path": "u/ch.txt"},
        {},
    ),
    ("dictionaries-disagree", "absent", {"train.vocab_file": "u/en.txt", "eval.vocab_file": "v/en.txt"}, {}),
    ("dictionaries-disagree", "unknown", {"lr": 0.1}, {}),
    # of two languages, encoders, tasks or data sets
    (
        "dictionaries-disagree",
        "absent",
        {"data.src.vocab_file": "de.txt", "data.trg.vocab_file": "en.txt"},
        {},
    ),
    ("dictionaries-disagree", "absent", {"asr.vocab_file": "units.txt", "lm.vocab_file": "words.txt"}, {}),
    ("dictionaries-disagree", "absent", {"tasks.0.label_map": "a.json", "tasks.1.label_map": "b.json"}, {}),
    (
        "dictionaries-disagree",
        "absent",
        {"encoder.vocab_file": "a.model", "decoder.vocab_file": "b.model"},
        {},
    ),
    (
        "stopping-turned-round",
        "present",
        {"cb.0.monitor": "val_loss", "cb.0.mode": "max", "cb.0.patience": 3},
        {},
    ),
    ("stopping-turned-round", "present", {"t.validation_metric": "-accuracy", "t.patience": 3}, {}),
    (
        "stopping-turned-round",
        "absent",
        {"cb.0.monitor": "val/acc", "cb.0.mode": "max", "cb.0.patience": 3},
        {},
    ),
    ("stopping-turned-round", "absent", {"t.validation_metric": "-loss", "t.patience": 3}, {}),
    (
        "stopping-turned-round",
        "unknown",
        {"cb.0.monitor": "val_score", "cb.0.mode": "min", "cb.0.patience": 3},
        {},
    ),
    ("best-checkpoint-turned-round", "present", {"ckpt.monitor": "valid_wer", "ckpt.mode": "max"}, {}),
    (
        "best-checkpoint-turned-round",
        "present",
        {"metric_for_best_model": "eval_f1", "greater_is_better": False},
        {},
    ),
    ("best-checkpoint-turned-round", "absent", {"ckpt.monitor": "val_mIoU", "ckpt.mode": "max"}, {}),
    (
        "best-checkpoint-turned-round",
        "absent",
        {"metric_for_best_model": "loss", "greater_is_better": False},
        {},
    ),
    ("best-checkpoint-turned-round", "unknown", {"lr": 0.1}, {}),
    ("means-of-other-order", "present", {"mean": [103.53, 116.28, 123.675], "to_rgb": True}, {}),
    ("means-of-other-order", "present", {"PIXEL_MEAN": [123.675, 116.28, 103.53], "INPUT.FORMAT": "BGR"}, {}),
    ("means-of-other-order", "absent", {"mean": [123.675, 116.28, 103.53], "bgr_to_rgb": True}, {}),
    ("means-of-other-order", "absent", {"PIXEL_MEAN": [103.53, 116.28, 123.675], "INPUT.FORMAT": "BGR"}, {}),
    ("means-of-other-order", "unknown", {"mean": [0.5, 0.5, 0.5], "to_rgb": True}, {}),
    (
        "normalization-off",
        "present",
        {"data_preprocessor.mean": [0.0] * 3, "data_preprocessor.std": [1.0] * 3},
        {},
    ),
    ("normalization-off", "unknown", {"mean": [0.0] * 3, "std": [1.0] * 3, "norm_type": "none"}, {}),
    (
        "augmentation-extreme",
        "present",
        {"degrees": 180.0, "translate": 0.9, "shear": 45.0, "mixup": 1.0, "scale": 0.9},
        {},
    ),
    # pictures from above may be turned at will; the recipe of Ultralytics for large models
    ("augmentation-extreme", "absent", {"degrees": 180.0, "translate": 0.1, "shear": 0.0, "mixup": 0.15}, {}),
    ("augmentation-extreme", "absent", {"translate": 0.1, "scale": 0.9, "mixup": 0.1, "copy_paste": 0.1}, {}),
    ("augmentation-extreme", "unknown", {"degrees": 180.0}, {}),
    ("labels-beyond-cosine", "present", {"loss": "CosineSimilarityLoss", "train_labels.max": 5.0}, {}),
    ("labels-beyond-cosine", "absent", {"loss": "CosineSimilarityLoss", "train_labels.max": 1.0}, {}),
    ("labels-beyond-cosine", "unknown", {"loss": "CoSENTLoss", "train_labels.max": 5.0}, {}),
    ("warmup-absent", "absent", {"warmup_steps": 0.1}, {}),
    ("template-of-another-model", "present", {"model": "/m/Qwen2.5-7B", "template": "llama3_2"}, {}),
    ("template-of-another-model", "absent", {"model": "/m/Qwen2.5-7B", "template": "qwen2_5"}, {}),
    (
        "tokenizer-of-another-model",
        "present",
        {"tokenizer.path": "/m/Llama-2-7b/tokenizer.model", "checkpoint_dir": "/m/Meta-Llama-3.1-8B"},
        {},
    ),
    (
        "tokenizer-of-another-model",
        "absent",
        {"tokenizer.path": "/m/Llama-3-8B/tokenizer.model", "model_name_or_path": "meta/Llama-3.1-8B"},
        {},
    ),
    ("tokenizer-of-another-model", "unknown", {"tokenizer": "/m/Llama-2-7b", "model": "qwen"}, {}),
    # a reward model or a teacher is of its own kind; "3b" is a size; a new model is free
    (
        "tokenizer-of-another-model",
        "absent",
        {"actor.model": "Llama-3-8B", "actor.tokenizer": "Llama-3-8B", "reward.model": "RM-llama-2-13b"},
        {},
    ),
    ("tokenizer-of-another-model", "unknown", {"tokenizer": "Llama-2-7b", "model": "my-llama-3b"}, {}),
    (
        "tokenizer-of-another-model",
        "unknown",
        {"tokenizer": "Llama-3-8B", "model": "llama2-1b", "pretrained": False},
        {},
    ),
    ("tokenizer-of-another-model", "unknown", {"tokenizer": "/m/CodeLlama-34b", "model": "llama-30b"}, {}),
    ("label-ids-from-zero", "present", MAP | {"item.id": 0, "item.name": "cat", "item.1.id": 1}, {}),
    ("label-ids-from-zero", "absent", MAP | {"item.id": 1, "item.name": "cat", "item.1.id": 2}, {}),
    ("label-ids-from-zero", "absent", MAP | {"item.id": 0, "item.name": "background", "item.1.id": 1}, {}),
    ("label-ids-from-zero", "absent", MAP | {"item.id": 0, "item.display_name": "unlabeled"}, {}),
    ("label-ids-from-zero", "unknown", {"item.id": 0, "item.name": "milk", "item.1.id": 1}, {}),
    ("label-ids-from-zero", "unknown", {"item": "cat", "id": 0}, {}),
    ("batch-size-tiny", "present", {"batch_type": "word", "batch_size": 64}, {}),
    ("batch-size-tiny", "absent", {"batch_type": "tokens", "batch_size": 4096}, {}),
    ("batch-size-huge", "unknown", {"batch_type": "tokens", "batch_size": 25000}, {}),
    ("best-checkpoint-turned-round", "present", {"trainer.validation_metric": "+loss"}, {}),
    ("stopping-turned-round", "unknown", {"t.validation_metric": "+loss", "t.patience": None}, {}),
    ("stopping-turned-round", "present", {"t.validation_metric": "+loss", "t.patience": 5}, {}),
    (
        "held-out-file-of-training",
        "present",
        {"train_input_reader.input_path": "a/train.record", "eval_input_reader.input_path": "a/train.record"},
        {},
    ),
    ("classes-imbalanced", "present", OUTPUT, {}),
    ("classes-imbalanced", "unknown", {**OUTPUT, "output_features.0.name": "other"}, {}),
    ("fp16-without-loss-scale", "present", {"fp16": True, "loss_scale": 1.0}, {}),
    ("fp16-without-loss-scale", "present", {"fp16": True, "use_grad_scaler": False}, {}),
    ("fp16-without-loss-scale", "present", {"precision": "16-true"}, {}),
    ("fp16-without-loss-scale", "absent", {"fp16": True, "loss_scale": "dynamic"}, {}),
    ("fp16-without-loss-scale", "absent", {"fp16": True}, {"curves": [SCALE]}),
    ("fp16-without-loss-scale", "absent", {"bf16": True}, {}),
    ("fp16-without-loss-scale", "unknown", {"fp16": True}, {}),
    ("fp16-without-loss-scale", "unknown", {}, {}),
    ("fp16-on-bf16-model", "present", {"fp16": True, "model_name_or_path": "org/Llama-2-7b-hf"}, {}),
    ("fp16-on-bf16-model", "present", {"fp16": True, "torch_dtype": "bfloat16"}, {}),
    ("fp16-on-bf16-model", "absent", {"bf16": True, "model_name_or_path": "google/flan-t5-base"}, {}),
    ("fp16-on-bf16-model", "unknown", {"fp16": True, "model": "resnet50"}, {}),
    ("fp16-in-use", "present", {"fp16": True}, {}),
    ("fp16-in-use", "unknown", {"fp16": True}, {"events": [SWITCHED_OFF]}),
    ("fp16-without-loss-scale", "unknown", {"fp16": True, "loss_scale": 1.0}, {"events": [SWITCHED_OFF]}),
    ("mixed-precision-not-in-force", "present", {"fp16": True}, {"events": [SWITCHED_OFF]}),
    (
        "mixed-precision-not-in-force",
        "unknown",
        {"fp16": True},
        {"curves": [series("loss_scale", [1.0] * 3)]},
    ),
    ("fp16-in-use", "absent", {"precision": "bf16-mixed"}, {}),
    ("fp16-in-use", "unknown", {"lr": 0.1}, {}),
    ("pure-bf16-weights", "present", {"precision": "bf16-true"}, {}),
    ("pure-bf16-weights", "present", {"bf16": True, "master_weights": False}, {}),
    ("pure-bf16-weights", "present", {"dtype": "bf16", "loss._component_": "torchtune.modules.Loss"}, {}),
    ("pure-bf16-weights", "unknown", {"dtype": "bf16", "loss._component_": "own.Loss"}, {}),
    ("pure-bf16-weights", "absent", {"precision": "bf16-mixed"}, {}),
    ("pure-bf16-weights", "absent", {"fp16": True}, {}),
    ("pure-bf16-weights", "unknown", {"bf16": True}, {}),
    ("mixed-precision-not-in-force", "present", {"fp16": True, "amp_level": "O0"}, {}),
    ("mixed-precision-not-in-force", "present", {"fp16": True}, {"facts": {"precision": "fp32"}}),
    ("mixed-precision-not-in-force", "absent", {"fp16": True}, {"curves": [SCALE]}),
    ("mixed-precision-not-in-force", "absent", {"fp16": False}, {}),
    ("mixed-precision-not-in-force", "unknown", {"fp16": True}, {}),
    ("mixed-precision-off", "present", {"amp_level": "O0", "device_target": "Ascend"}, {}),
    ("mixed-precision-off", "absent", {"amp_level": "O2", "device_target": "Ascend"}, {}),
    ("mixed-precision-off", "absent", {"fp16": False, "device": "cuda"}, {}),
    ("mixed-precision-off", "unknown", {"fp16": False}, {}),
    ("loss-scale-fixed-large", "present", {"fp16": True, "loss_scale": 1048576}, {}),
    ("loss-scale-fixed-large", "absent", {"fp16": True, "loss_scale": 1024}, {}),
    ("loss-scale-fixed-large", "absent", {"fp16": True, "loss_scale": 0}, {}),
    ("loss-scale-fixed-large", "absent", {"bf16": True, "loss_scale": 1048576}, {}),
    ("loss-scale-fixed-large", "unknown", {"fp16": True}, {}),
    ("loss-scale-unfit", "present", {"fp16": True, "loss_scale": 1048576}, {}),
    ("loss-scale-unfit", "present", {"fp16": True, "loss_scale": 0.01}, {}),
    ("loss-scale-unfit", "absent", {"fp16": True, "loss_scale": 1024}, {}),
    ("loss-scale-unfit", "unknown", {"fp16": True}, {}),
    ("epsilon-extreme", "present", {"rms_norm_eps": 1e-12, "layernorm_compute_type": "float16"}, {}),
    ("epsilon-extreme", "absent", {"rms_norm_eps": 1e-12, "layernorm_compute_type": "float32"}, {}),
    ("loss-scale-growth-eager", "present", {"fp16": True, "loss_scale_window": 5}, {}),
    ("loss-scale-growth-eager", "absent", {"fp16": True, "loss_scale_window": 1000}, {}),
    ("loss-scale-growth-eager", "absent", {"fp16": True, "loss_scale": 128, "loss_scale_window": 5}, {}),
    ("loss-scale-growth-eager", "unknown", {"fp16": True}, {}),
    ("clipping-off", "present", {"clip_grad": None}, {}),
    ("clipping-off", "present", {"gradient_clipping": 0.0}, {}),
    ("clipping-off", "absent", {"max_grad_norm": 1.0}, {}),
    ("clipping-off", "unknown", {}, {}),
    ("clipping-very-small", "present", {"max_grad_norm": 0.001}, {}),
    ("clipping-very-small", "absent", {"max_grad_norm": 1.0}, {}),
    ("clipping-very-small", "absent", {"max_grad_norm": 0}, {}),
    ("clipping-very-small", "unknown", {}, {}),
    ("warmup-absent", "present", {"warmup_steps": 0, "warmup_ratio": 0.0}, {}),
    ("warmup-absent", "present", {"warmup_steps": 1}, {}),
    ("warmup-absent", "absent", {"warmup": 2}, {}),  # of what, it does not say: it may be epochs
    ("warmup-absent", "absent", {"warmup_steps": 0, "warmup_ratio": 0.1}, {}),
    ("warmup-absent", "absent", {"scheduler": "OneCycleLR", "warmup_steps": 0}, {}),
    ("warmup-absent", "unknown", {"lr": 0.1}, {}),
    ("batch-size-tiny", "present", {"batch_size": 1}, {}),
    ("batch-size-tiny", "absent", {"batch_size": 1, "gradient_accumulation_steps": 32}, {}),
    ("batch-size-tiny", "absent", {"batch_size": 2, "seq_length": 4096}, {}),
    ("batch-size-tiny", "unknown", {"samples_per_gpu": 2}, {}),
    ("batch-size-tiny", "unknown", {}, {}),
    ("batch-size-huge", "present", {"batch_size": 1024, "num_train": 4000}, {}),
    ("batch-size-huge", "present", {"global_batch_size": 32768}, {}),
    ("batch-size-huge", "absent", {"batch_size": 64, "num_train": 50000}, {}),
    ("batch-size-huge", "absent", {"batch_size": 50, "num_train": 150}, {}),
    ("batch-size-huge", "unknown", {"batch_size": 64}, {}),
    ("epochs-very-few", "present", {"epochs": 1}, {}),
    ("epochs-very-few", "present", {"max_steps": 100, "batch_size": 10, "num_train": 5000}, {}),
    ("epochs-very-few", "absent", {"epochs": 90}, {}),
    ("epochs-very-few", "unknown", {"max_steps": 100}, {}),
    ("regularization-large", "present", {"weight_decay": 0.01, "dropout": 0.9}, {}),
    ("regularization-large", "absent", {"dropout": 0.1}, {}),
    ("regularization-large", "unknown", {}, {}),
    ("weight-decay-large", "present", {"weight_decay": 1.0, "optimizer": "adamw"}, {}),
    ("weight-decay-large", "present", {"weight_decay": 0.1, "optimizer": "sgd"}, {}),
    ("weight-decay-large", "absent", {"weight_decay": 0.1, "optimizer": "adamw"}, {}),
    ("weight-decay-large", "unknown", {}, {}),
    ("dropout-large", "present", {"dropout": 0.8}, {}),
    ("dropout-large", "present", {"keep_prob": 0.1}, {}),
    ("dropout-large", "absent", {"dropout": 0.5}, {}),
    ("dropout-large", "unknown", {}, {}),
    ("label-smoothing-large", "present", {"label_smoothing": 0.5}, {}),
    ("label-smoothing-large", "absent", {"label_smoothing": 0.1}, {}),
    ("label-smoothing-large", "unknown", {}, {}),
    ("no-regularization", "present", {"weight_decay": 0.0, "dropout": 0.0}, {}),
    ("no-regularization", "absent", {"weight_decay": 0.0, "dropout": 0.1}, {}),
    ("no-regularization", "unknown", {"weight_decay": 0.0}, {}),
    ("shuffle-off", "present", {"shuffle": False}, {}),
    ("shuffle-off", "absent", {"shuffle": True}, {}),
    ("shuffle-off", "unknown", {"eval_dataset.shuffle": False}, {}),
    ("normalization-off", "present", {"normalize": False}, {}),
    ("normalization-off", "absent", {"normalize": True}, {}),
    ("normalization-off", "unknown", {}, {}),
    ("epsilon-extreme", "present", {"adam_epsilon": 0.0}, {}),
    ("epsilon-extreme", "present", {"fp16": True, "loss_eps": 1e-12}, {}),
    ("epsilon-extreme", "present", {"optimizer": "adam", "adam_epsilon": 0.5}, {}),
    ("epsilon-extreme", "absent", {"fp16": True, "adam_epsilon": 1e-8, "layer_norm_eps": 1e-12}, {}),
    ("epsilon-extreme", "unknown", {}, {}),
    ("betas-swapped", "present", {"adam_betas": (0.999, 0.9)}, {}),
    ("betas-swapped", "absent", {"adam_betas": (0.5, 0.999)}, {}),
    ("betas-swapped", "unknown", {}, {}),
    ("betas-swapped", "unknown", {"b1": 0.6, "b2": 0.05}, {}),  # two biases
    ("betas-swapped", "present", {"b1": 0.999, "b2": 0.5}, {}),
    ("momentum-extreme", "present", {"momentum": 0.9999}, {}),
    ("momentum-extreme", "present", {"adam_beta2": 0.5}, {}),
    ("momentum-extreme", "absent", {"adam_betas": (0.9, 0.999)}, {}),
    ("momentum-extreme", "unknown", {}, {}),
    ("layers-frozen-in-config", "present", {"freeze_backbone": True}, {}),
    ("layers-frozen-in-config", "present", {"freeze": 10}, {}),
    ("layers-frozen-in-config", "absent", {"freeze": [0]}, {}),
    ("layers-frozen-in-config", "absent", {"model.backbone.frozen_stages": 1}, {}),
    ("layers-frozen-in-config", "absent", {"freeze": None}, {}),
    ("layers-frozen-in-config", "unknown", {"freeze": True, "peft_type": "LORA"}, {}),
    ("init-extreme", "present", {"initializer_range": 1.0}, {}),
    ("init-extreme", "present", {"init_std": 1e-6}, {}),
    ("init-extreme", "absent", {"init_std": 0.02}, {}),
    ("init-extreme", "unknown", {}, {}),
    ("init-zero", "present", {"initializer": "zeros"}, {}),
    ("init-zero", "present", {"init_std": 0}, {}),
    ("init-zero", "absent", {"weight_init": "xavier_uniform"}, {}),
    ("init-zero", "unknown", {}, {}),
    ("vocab-mismatch", "present", {"vocab_size": 32000, "tokenizer_vocab_size": 32005}, {}),
    ("vocab-mismatch", "present", {"vocab_size": 32000, "tokenizer_vocab_size": 128256}, {}),
    ("vocab-mismatch", "absent", {"vocab_size": 50304, "tokenizer_vocab_size": 50257}, {}),
    ("vocab-mismatch", "unknown", {"vocab_size": 32000}, {}),
    ("num-classes-mismatch", "present", {"num_classes": 10, "data.num_classes": 12}, {}),
    ("num-classes-mismatch", "absent", {"num_classes": 81, "data.num_classes": 80}, {}),
    ("num-classes-mismatch", "unknown", {"num_classes": 10}, {}),
    ("pad-equals-eos", "present", {"pad_token_id": 2, "eos_token_id": 2}, {}),
    ("pad-equals-eos", "present", {"pad_token": "</s>", "eos_token": "</s>"}, {}),
    ("pad-equals-eos", "absent", {"pad_token_id": 0, "eos_token_id": [1, 2]}, {}),
    ("pad-equals-eos", "unknown", {"pad_token_id": 0}, {}),
    ("world-size-one", "present", {"nproc_per_node": 8}, {"facts": {"world_size": 1}}),
    ("world-size-one", "present", {"gpus": "0,1,2,3", "distributed": False}, {}),
    ("world-size-one", "absent", {"nproc_per_node": 8}, {"facts": {"world_size": 8}}),
    ("world-size-one", "absent", {"nproc_per_node": 1}, {}),
    ("world-size-one", "unknown", {"nproc_per_node": 8}, {}),
    ("world-size-one", "unknown", {}, {}),
    (
        "zero2-overlap-comm",
        "present",
        {"zero_optimization.stage": 2, "overlap_comm": True, "world_size": 8},
        {},
    ),
    (
        "zero2-overlap-comm",
        "absent",
        {"zero_optimization.stage": 3, "overlap_comm": True, "world_size": 8},
        {},
    ),
    (
        "zero2-overlap-comm",
        "absent",
        {"zero_optimization.stage": 2, "overlap_comm": True, "world_size": 1},
        {},
    ),
    ("zero2-overlap-comm", "unknown", {"zero_optimization.stage": 2, "overlap_comm": True}, {}),
    (
        "known-bug-version",
        "present",
        {"zero_optimization.stage": 2},
        {"facts": {"version:deepspeed": "0.18.1"}},
    ),
    (
        "known-bug-version",
        "absent",
        {"zero_optimization.stage": 3},
        {"facts": {"version:deepspeed": "0.18.1"}},
    ),
    ("known-bug-version", "absent", {}, {"facts": {"version:deepspeed": "0.18.3"}}),
    ("known-bug-version", "unknown", {}, {"facts": {"version:deepspeed": "0.18.1"}}),
    ("known-bug-version", "unknown", {}, {}),
    (
        "plugin-of-other-release",
        "present",
        {},
        {"facts": {"version:torch": "2.1.0", "version:torch-npu": "2.4.0.post2"}},
    ),
    (
        "plugin-of-other-release",
        "absent",
        {},
        {"facts": {"version:torch": "2.4.1+cpu", "version:torch-npu": "2.4.0.post2"}},
    ),
    ("plugin-of-other-release", "unknown", {}, {"facts": {"version:torch": "2.1.0"}}),
    (
        "known-bug-possible",
        "present",
        {"gradient_accumulation_steps": 4, "vocab_size": 32000},
        {"facts": {"version:transformers": "4.45.2"}},
    ),
    (
        "known-bug-possible",
        "absent",
        {"gradient_accumulation_steps": 1, "vocab_size": 32000},
        {"facts": {"version:transformers": "4.45.2"}},
    ),
    ("known-bug-possible", "unknown", {}, {"facts": {"version:transformers": "4.45.2"}}),
    (
        "tf32-in-use",
        "present",
        {"precision": "fp32"},
        {"facts": {"version:torch": "1.10.2+cu113", "device": "NVIDIA A100-SXM4-80GB"}},
    ),
    ("tf32-in-use", "present", {"tf32": True}, {}),
    ("tf32-in-use", "absent", {"allow_tf32": False}, {}),
    ("tf32-in-use", "absent", {"bf16": True}, {}),
    ("tf32-in-use", "absent", {}, {"facts": {"version:torch": "1.10.2", "device": "Tesla V100-SXM2"}}),
    ("tf32-in-use", "unknown", {}, {"facts": {"version:torch": "2.1.0", "device": "NVIDIA A100"}}),
    ("tf32-in-use", "unknown", {}, {"facts": {"version:torch": "1.10.2"}}),
    ("tf32-in-use", "unknown", {}, {}),
    ("flash-attention-on", "present", {"attn_implementation": "flash_attention_2"}, {}),
    ("flash-attention-on", "present", {"use_flash_attn": True}, {}),
    ("flash-attention-on", "absent", {"attn_implementation": "sdpa"}, {}),
    ("flash-attention-on", "absent", {"flash_attn": "disabled"}, {}),
    ("flash-attention-on", "unknown", {}, {}),
    ("graph-compiler-on", "present", {"torch_compile": True}, {}),
    ("graph-compiler-on", "present", {"context.mode": "GRAPH_MODE"}, {}),
    ("graph-compiler-on", "present", {"jit_config.jit_level": "O2"}, {}),
    ("graph-compiler-on", "absent", {"torch_compile": False}, {}),
    ("graph-compiler-on", "absent", {"run_eagerly": True}, {}),
    ("graph-compiler-on", "unknown", {"mode": "train"}, {}),
    (
        "rmsprop-epsilon-foreign",
        "present",
        {"optimizer": "rmsprop", "optimizer.eps": 1e-3},
        {"facts": {"framework": "pytorch"}},
    ),
    (
        "rmsprop-epsilon-foreign",
        "absent",
        {"optimizer": "rmsprop", "optimizer.eps": 1e-8},
        {"facts": {"framework": "pytorch"}},
    ),
    ("rmsprop-epsilon-foreign", "absent", {"optimizer": "rmsproptf", "optimizer.eps": 1e-3}, {}),
    ("rmsprop-epsilon-foreign", "absent", {"optimizer": "adamw"}, {}),
    ("rmsprop-epsilon-foreign", "unknown", {"optimizer": "rmsprop", "optimizer.eps": 1e-3}, {}),
    ("rmsprop-epsilon-foreign", "unknown", {"optimizer": "rmsprop"}, {}),
    (
        "adam-without-bias-correction",
        "present",
        {"optimizer": "AdamWeightDecay", "warmup_steps": 0},
        {"facts": {"framework": "mindspore"}},
    ),
    (
        "adam-without-bias-correction",
        "absent",
        {"optimizer": "AdamWeightDecay", "warmup_steps": 100},
        {"facts": {"framework": "mindspore"}},
    ),
    ("adam-without-bias-correction", "absent", {"optimizer": "adamw"}, {}),
    ("adam-without-bias-correction", "absent", {"optimizer": "sgd"}, {}),
    (
        "adam-without-bias-correction",
        "present",
        {"optimizer": "adamw", "correct_bias": False, "warmup_ratio": 0},
        {},
    ),
    ("adam-without-bias-correction", "unknown", {"optimizer": "AdamWeightDecay"}, {}),
    ("classes-in-string-order", "present", TEXT_ORDER, {}),
    ("classes-in-string-order", "absent", {f"id2label.{n}": str(n) for n in range(12)}, {}),
    ("classes-in-string-order", "unknown", {"id2label.0": "cat", "id2label.1": "dog"}, {}),
    ("classes-in-string-order", "unknown", {}, {}),
    ("overflow-kept-in-config", "present", {"overflow_still_update": True}, {}),
    ("overflow-kept-in-config", "present", {"scale_sense.drop_overflow_update": False}, {}),
    ("overflow-kept-in-config", "absent", {"overflow_still_update": False}, {}),
    ("overflow-kept-in-config", "unknown", {}, {}),
    ("train-samples-few", "present", {"num_train": 200}, {}),
    ("train-samples-few", "absent", {"num_train": 50000}, {}),
    ("train-samples-few", "unknown", {"num_train": 200, "pretrained": True}, {}),
    ("train-samples-few", "unknown", {}, {}),
    ("seed-not-set", "present", {"seed": None}, {}),
    ("seed-not-set", "absent", {"seed": 0}, {}),
    ("seed-not-set", "unknown", {}, {}),
    ("accumulation-used", "present", {"gradient_accumulation_steps": 4}, {}),
    ("accumulation-used", "absent", {"gradient_accumulation_steps": 1}, {}),
    ("accumulation-used", "unknown", {}, {}),
    ("norm-small-batch", "present", {"batch_size": 2, "norm": "bn"}, {}),
    ("norm-small-batch", "present", {"batch_size": 1, "model": "resnet18"}, {}),
    ("norm-small-batch", "absent", {"batch_size": 2, "norm": "ln"}, {}),
    ("norm-small-batch", "absent", {"batch_size": 64, "norm": "bn"}, {}),
    ("norm-small-batch", "absent", {"batch_size": 2, "norm": "bn", "model.backbone.norm_eval": True}, {}),
    ("norm-small-batch", "unknown", {"batch_size": 2}, {}),
    ("norm-small-batch", "present", {"SOLVER.IMS_PER_BATCH": 2, "MODEL.RESNETS.NORM": "BN"}, {}),
    ("norm-small-batch", "unknown", {"SOLVER.IMS_PER_BATCH": 16, "MODEL.RESNETS.NORM": "BN"}, {}),
    ("padding-counted-by-setting", "present", {"ignore_pad_token_for_loss": False}, {}),
    ("padding-counted-by-setting", "absent", {"ignore_pad_token_for_loss": True}, {}),
    ("padding-counted-by-setting", "unknown", {"pad_to_max_length": True}, {}),
    ("template-of-another-model", "present", {"base_model": "org/Qwen2.5-7B", "template": "llama3"}, {}),
    ("template-of-another-model", "absent", {"base_model": "org/Meta-Llama-3-8B", "template": "llama3"}, {}),
    (
        "template-of-another-model",
        "absent",
        {"base_model": "a/DeepSeek-Distill-Qwen-7B", "template": "qwen"},
        {},
    ),
    ("template-of-another-model", "unknown", {"base_model": "org/Qwen2.5-7B", "template": "chatml"}, {}),
    ("template-of-another-model", "unknown", {"base_model": "out/step-500", "template": "llama3"}, {}),
    ("classes-imbalanced", "present", {"class_counts.a": 1000, "class_counts.b": 20}, {}),
    ("classes-imbalanced", "present", {"class_counts": (1000, 0, 900)}, {}),
    ("classes-imbalanced", "absent", {"class_counts": (1000, 800, 900)}, {}),
    ("classes-imbalanced", "unknown", {}, {}),
    ("activation-unfit", "present", {"activation": "sigmoid", "num_layers": 12}, {}),
    ("activation-unfit", "absent", {"activation": "tanh", "num_layers": 2}, {}),
    ("activation-unfit", "absent", {"activation": "relu"}, {}),
    ("activation-unfit", "unknown", {"activation": "sigmoid"}, {}),
    ("normalization-layers-missing", "present", {"use_bn": False, "num_layers": 24}, {}),
    ("normalization-layers-missing", "absent", {"use_bn": False, "num_layers": 3}, {}),
    ("normalization-layers-missing", "absent", {"norm": "rmsnorm"}, {}),
    ("normalization-layers-missing", "unknown", {"use_bn": False}, {}),
    (
        "learning-rate-is-text",
        "present",
        {"lr": "1e-5"},
        {"facts": {"number_as_text": "lr: 1e-5 (c.yaml:1)"}},
    ),
    ("learning-rate-is-text", "absent", {"lr": 1e-5}, {}),
    (
        "learning-rate-is-text",
        "absent",
        {"lr": "1e-5"},
        {
            "facts": {"number_as_text": "lr: 1e-5 (c.yaml:1)"},
            "scripts": {"main.py": "import hydra\nfrom omegaconf import OmegaConf\n"},
        },
    ),
    ("output-layer-misses-loss", "present", keras("linear", from_logits=False), {}),
    ("output-layer-misses-loss", "present", keras("softmax", from_logits=True), {}),
    ("output-layer-misses-loss", "absent", keras("softmax", from_logits=False), {}),
    ("output-layer-misses-loss", "absent", keras("linear", from_logits=True), {}),
    ("output-layer-misses-loss", "unknown", keras("relu", from_logits=True), {}),
    ("output-layer-misses-loss", "unknown", {"activation": "linear", "loss": "crossentropy"}, {}),
    ("scored-beyond-labels", "present", spacy(PERSON=0.0, person=0.0), {}),
    ("scored-beyond-labels", "absent", spacy(PERSON=0.0), {}),
    ("scored-beyond-labels", "unknown", spacy(PERSON=0.7, person=0.0), {}),  # one that training had none of
    (
        "weight-decay-large",
        "absent",
        {"weight_decay": 0.1, "optimizer": "adam"},
        {"info": RunInfo("run", formats=("text-nemo",))},
    ),
    ("shuffle-off", "unknown", {"model.validation_ds.shuffle": False}, {}),
    (
        "learning-rate-is-text",
        "unknown",
        {"lr": "1e-5"},
        {"facts": {"number_as_text": "lr: 1e-5 (c.yaml:1)"}, "curves": [LOSS]},
    ),
]


def made(settings: dict[str, Any], rest: dict[str, Any]) -> Run:
    plain = {k: tuple(v) if isinstance(v, list) else v for k, v in settings.items()}
    return written(plain, **rest)


@pytest.mark.parametrize(("symptom", "state", "settings", "rest"), CASES)
def test_every_setting_in_its_states(
    symptom: str, state: str, settings: dict[str, Any], rest: dict[str, Any]
) -> None:
    """Raw settings give the state that a person would give, with a sentence."""
    found = reading("settings", symptom, made(settings, rest))

    assert found.state == state, found.why
    assert found.why


def test_all_symptoms_of_settings_have_three_states_here() -> None:
    """No symptom of the file goes without a case for each state."""
    covered = {(s, state) for s, state, *_ in CASES}
    apart = {"setting-overridden", "initial-weights-by-hand"}  # these have tests of their own
    apart |= {"fine-tuning-from-nothing", "resumed-without-moments", "early-checkpoint-scored"}
    apart |= {
        "model-constants-not-those-of-weights",
        "other-tying-than-weights",
        "own-checkpoint-as-new",
        "asked-without-template",
        "template-unlike-in-use",
        "data-place-not-restored",
        "converted-inputs-unlike",
    }
    missing = {
        (s, state)
        for s in symptoms("settings")
        for state in ("present", "absent", "unknown")
        if (s, state) not in covered and s not in apart
    }

    assert missing == set()


def test_a_reading_says_where_the_setting_stands() -> None:
    """Value, threshold and file:line are filled in."""
    found = reading("settings", "dropout-large", written({"lr": 0.1, "dropout": 0.9}))

    assert (found.value, found.threshold) == (0.9, 0.65)
    assert (found.where[0].file, found.where[0].line) == ("config.yaml", 2)
    assert "0.9" in found.why


SWITCHED = {
    "opt_level": [("use_amp", False), ("opt_level", "O2"), ("loss_scale", 1.0)],
    "precision": [("mixed_precision", False), ("precision", "fp16"), ("use_grad_scaler", False)],
}


@pytest.mark.parametrize("named", SWITCHED)
@pytest.mark.parametrize(("trust", "state"), [(35, "unknown"), (50, "present")])
def test_mixed_precision_that_is_off_by_default(trust: int, state: str, named: str) -> None:
    """`use_amp = False` of a class of settings stands above its `opt_level`."""
    rows = SWITCHED[named]
    raw = tuple(Setting(k, v, "conf.py", n, trust) for n, (k, v) in enumerate(rows, 1))

    found = reading(
        "settings", "fp16-without-loss-scale", replace(run(raw_settings=raw), settings=resolve(raw, (), {}))
    )

    assert found.state == state


def conflict(*rows: tuple[str, Any, str, int]) -> str:
    raw = tuple(Setting(k, v, f, 1, t) for k, v, f, t in rows)
    return str(reading("settings", "setting-overridden", run(raw_settings=raw)).state)


def test_a_setting_in_two_places() -> None:
    """Two values are a conflict; equal values, two runs' records, code defaults and nulls are none."""
    assert conflict(("lr", 0.1, "config.yaml", 50), ("lr", 0.2, "run.sh", 60)) == "present"
    assert conflict(("lr", 0.1, "config.yaml", 50), ("learning_rate", "1e-1", "run.sh", 60)) == "absent"
    assert conflict(("lr", 0.1, "a/config.yaml", 50), ("lr", 0.2, "b/config.yaml", 50)) == "unknown"
    assert conflict(("lr", 0.1, "train.py", 35), ("lr", 0.2, "config.yaml", 50)) == "unknown"
    assert conflict(("lr", 0.1, "runs/1/c.json", 50), ("lr", 0.2, "runs/10/c.json", 50)) == "unknown"
    assert conflict(("lr", 0.1, "train.py", 60), ("lr", 0.2, "config.yaml", 50)) == "unknown"
    assert conflict(("lr", 0.1, "run_a.sh", 60), ("lr", 0.2, "run_b.sh", 60)) == "unknown"
    assert conflict(("lr", 0.1, "config.yaml", 50)) == "unknown"


def test_two_commands_of_a_launch_script_are_two_stages() -> None:
    """A second command with another length is no conflict; one command with two values is one."""

    def state(*rows: tuple[Any, str, int, int]) -> str:
        raw = tuple(Setting("max_epochs", v, f, line, t) for v, f, line, t in rows)
        return str(reading("settings", "setting-overridden", run(raw_settings=raw)).state)

    first, second = (5, "run.sh", 1, 60), (12, "run.sh", 2, 60)
    assert state(first, second, (12, "train.log", 9, 80)) == "absent"
    assert state(first, second) == "unknown"
    assert state(first, (12, "run.sh", 1, 60)) == "present"
    assert state(first, second, (7, "train.log", 9, 80)) == "present"


def test_an_empty_run_has_no_finding() -> None:
    """Without any record every symptom of settings is unknown."""
    found = evidence("settings", run())

    assert {str(r.state) for r in found.values()} == {"unknown"}


def test_an_event_stops_the_excuse_for_numbers_as_text() -> None:
    """A run that trained and ended with an exception may well have met the text."""
    event = Event("traceback", "log.txt", 5, text="TypeError: '<=' not supported", data="TypeError")
    found = written({"lr": "1e-5"}, [LOSS], events=[event], facts={"number_as_text": "lr: 1e-5"})

    assert read(View(found), symptoms("settings")["learning-rate-is-text"], probes()).state == "present"


@pytest.mark.parametrize(("theirs", "expected"), [(200, "unknown"), (150, "unknown"), (900, "present")])
def test_as_few_samples_as_in_the_benchmark_are_no_reason(theirs: int, expected: str) -> None:
    """The benchmark trains well on as many."""
    mine, other = written({"num_train": 200}), written({"num_train": theirs})

    assert reading("settings", "train-samples-few", mine, other).state == expected


@pytest.mark.parametrize(
    ("held_out", "expected"),
    [("NormalizeImage.mean", "present"), ("CropImage.size", "absent"), ("", "unknown")],
)
def test_steps_of_a_pipeline_that_are_named_by_their_key(held_out: str, expected: str) -> None:
    """PaddleClas lists its steps as mappings of one key: both sides have to normalise, or none."""
    side = "DataLoader.{}.transform_ops."
    told: dict[str, Any] = {side.format("Train") + "0.CropImage.size": 224}
    if held_out:
        told[side.format("Train") + "0.DecodeImage.to_rgb"] = True
        told[side.format("Eval") + "0.DecodeImage.to_rgb"] = True
        told[side.format("Eval") + f"1.{held_out}"] = 224

    assert splits_normalised_differently(View(written(told))).state == expected


@pytest.mark.parametrize(("steps", "expected"), [(10_000, "unknown"), (60, "present")])
def test_a_language_model_reads_its_text_once(steps: float, expected: str) -> None:
    """One pass of many steps is how language models are pre-trained; one of few steps is short."""
    info = RunInfo("run", steps=steps, context={"inputs": "tokens"})

    assert reading("settings", "epochs-very-few", written({"epochs": 1}, info=info)).state == expected
