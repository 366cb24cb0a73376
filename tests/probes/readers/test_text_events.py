"""What a log says in words, and the settings and facts it holds."""

# ruff: noqa: E501  (the lines of logs are as long as they are)
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from traindoctor.probes.readers import text_log
from traindoctor.probes.readers.text.events import shorten
from traindoctor.probes.readers.text.label_lists import all_masked

from ._text import events, file_of, points, read

ROW = "step 1 loss 2.0\n"


@pytest.mark.parametrize(
    ("line", "kind", "data"),
    [
        ("RuntimeError: Function 'LogBackward0' returned nan values in its 0th output.", "non-finite-value", "LogBackward0"),
        ("bbox.py:27: RuntimeWarning: invalid value encountered in log", "non-finite-value", "numpy"),
        ("x.py:3: RuntimeWarning: overflow encountered in exp", "non-finite-value", "numpy"),
        ("x.py:3: RuntimeWarning: divide by zero encountered in true_divide", "non-finite-value", "numpy"),
        ("Loss is nan, stopping training", "non-finite-loss", "stopped"),
        ("Batch 17: Invalid loss, terminating training", "non-finite-loss", "keras"),
        ("FloatingPointError: Loss became infinite or NaN at iteration=12!", "non-finite-loss", "detectron2"),
        ("Loss NaN/Inf detected (attempt 1/3), recovering from last.pt...", "non-finite-loss", "ultralytics"),
        ("WARNING: non-finite loss, ending training", "non-finite-loss", "printed"),
        ("RuntimeError: CUDA error: device-side assert triggered", "device-assert", ""),
        ("ClassNLLCriterion.cu:106: Assertion `t >= 0 && t < n_classes` failed.", "device-assert", ""),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 12.28 GiB.", "out-of-memory", ""),
        ("RuntimeError: NPU out of memory. Tried to allocate 2 GiB", "out-of-memory", ""),
        ("Some weights of BertForSequenceClassification were not initialized from the model checkpoint at bert and are newly initialized: ['classifier.weight']", "weights-newly-initialized", ""),
        ("RuntimeError: Error(s) in loading state_dict for Net: Missing key(s) in state_dict: \"fc.weight\".", "checkpoint-keys-mismatch", ""),
        ("NaN found in latents, replacing with zeros", "non-finite-value", "latents"),
        ("A tensor with all NaNs was produced in VAE.", "non-finite-value", "latents"),
        ("WARNING: tokenization mismatch: 245 vs. 247. (ignored)", "known-warning", "all-labels-masked"),
        ("Can't encode transcription: 'Total 42' in language ''", "known-warning", "labels-not-encodable"),
        ("ValueError: the characters ['\u20b9'] are not in the alphabet", "known-warning", "labels-not-encodable"),
        ("WARNING | No pretrained weights loaded for ViT-B-32 model. Model initialized randomly.", "known-warning", "random-weights"),
        ("No caption file found for 268 images. Training will continue without captions for these images.", "data-warning", ""),
        ("ppocr WARNING: The pretrained params backbone.conv1.weight not in model", "checkpoint-keys-mismatch", ""),
        ("unexpected key in source state_dict: fc.weight, fc.bias", "checkpoint-keys-mismatch", ""),
        ("UserWarning: Detected call of `lr_scheduler.step()` before `optimizer.step()`.", "scheduler-before-optimizer", ""),
        ("UserWarning: None of the inputs have requires_grad=True. Gradients will be None", "no-grad-input", ""),
        ("RuntimeError: Expected to have finished reduction. Parameter indices which did not receive grad for rank 0: 4 5", "unused-parameters", ""),
        ('UserWarning: "`sparse_categorical_crossentropy` received `from_logits=True`, but the `output` argument was produced by a Softmax activation"', "from-logits", ""),
        ("UserWarning: Using a target size (torch.Size([64])) that is different to the input size (torch.Size([64, 1])).", "shape-broadcast", ""),
        ("UndefinedMetricWarning: Precision is ill-defined and being set to 0.0", "undefined-metric", ""),
        ("Token indices sequence length is longer than the specified maximum sequence length for this model (1200 > 512).", "token-length", ""),
        ("train: WARNING: a.jpg: ignoring corrupt image/label: cannot identify image file", "data-warning", ""),
        ("invalid TFRecord file: /data/train-00117-of-01024, skipped", "data-warning", ""),
        ("bad record at offset 4411, skipping", "data-warning", ""),
        ("Corrupt JPEG data: 12 extraneous bytes before marker 0xd9", "data-warning", ""),
        ("Setting `pad_token_id` to `eos_token_id`:2 for open-end generation.", "known-warning", "pad-is-eos"),
        ("torch.distributed.launch: process exited with code 137", "exit", ""),
        ("UserWarning: optimizer contains a parameter group with duplicate parameters; in future, this will cause an error", "known-warning", "duplicate-parameters"),
        ("UserWarning: The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute", "known-warning", "grad-of-no-leaf"),
        ("Found 12 module(s) in eval mode at the start of training. This may lead to unexpected behavior", "known-warning", "eval-mode"),
        ("Using `DistributedSampler` with the dataloaders. During `trainer.validate()`, it is recommended to use `Trainer(devices=1)` to ensure each sample/batch gets evaluated exactly once.", "known-warning", "eval-duplicates"),
        ("WARNING:tensorflow:Can save best model only with val_acc available, skipping.", "known-warning", "best-model-not-saved"),
        ("UserWarning: Learning rate reduction is conditioned on metric `val_loss` which is not available. Available metrics are: loss", "known-warning", "schedule-without-metric"),
        ("UserWarning: Early stopping conditioned on metric `val_loss` which is not available. Available metrics are: loss", "known-warning", "stopping-without-metric"),
        ("UserWarning: Discrepancy between trainable weights and collected trainable weights, did you set `model.trainable` without calling `model.compile` after ?", "known-warning", "trainable-stale"),
        ("UserWarning: In loss categorical_crossentropy, expected y_pred.shape to be (batch_size, num_classes) with num_classes > 1. Received: y_pred.shape=(None, 1).", "known-warning", "one-output"),
        ("UserWarning: torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", "known-warning", "amp-disabled"),
        ("[WARNING] apex is not installed, training goes on in fp32", "known-warning", "amp-disabled"),
        ("Mixed precision is not supported on this device, falling back to fp32", "known-warning", "amp-disabled"),
        ("UserWarning: The driver version 22.0.4 does not match CANN 8.0.RC3", "known-warning", "versions-unfit"),
        ("[ERROR] DRV(11873,python): driver version [22.0.4] is lower than required by the toolkit", "known-warning", "versions-unfit"),
        ("HBM multi bit ecc error count : 3", "known-warning", "device-memory"),
        ("HBM Double Bit Error Count     : 14", "known-warning", "device-memory"),
        ("Checkpoint keys not found in model: 338, loaded 0 tensors", "checkpoint-keys-mismatch", "none-loaded"),
        ("model keys not found in checkpoint: 339", "checkpoint-keys-mismatch", ""),
        ("label value 1000 is out of range [0, 1000)", "known-warning", "labels-out-of-range"),
        ("|  | GPU 6: Detected 114 miscompares during the gemm |", "known-warning", "device-test"),
        ("| AICore | 5 | FAIL (EMERGENCY_WARN) |", "known-warning", "device-test"),
        ("[12.1] NVRM: Xid (PCI:0000:3b:00): 63, pid=1, Row Remapper", "known-warning", "device-memory"),
        ("strict=False: missing 48 keys: ['decoder.layers.0.bias', ...]", "checkpoint-keys-mismatch", ""),
        ("Some weights of the checkpoint at /data/q were not used when initializing A: ['b']", "checkpoint-keys-mismatch", ""),
        ("WARNING - optimizer state (adam_m, adam_v) is not found in the checkpoint.", "known-warning", "optimizer-state-missing"),
        ("INFO - Start load resume context from checkpoint", "resume", "checkpoint"),
        ("UserWarning: User provided device_type of 'cuda', but CUDA is not available. Disabling", "known-warning", "amp-disabled"),
        ("AMP: checks failed. Anomalies were detected with AMP on your system that may lead to NaN losses", "known-warning", "amp-anomalies"),
        ("    will not load any checkpoints and will start from random", "known-warning", "no-checkpoint"),
        ("=> no checkpoint found at 'model_best.pth.tar'", "known-warning", "no-checkpoint"),
        ("RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running ALLREDUCE", "known-warning", "ranks-out-of-step"),
        ("AssertionError: Parameter hashes not matching across DP replicas", "known-warning", "replicas-part"),
        ("WARNING:megatron.core.rerun_state_machine:Possible transient error!", "known-warning", "not-repeated"),
        ("First rerun: unexpected result is not reproducible within the tolerance", "known-warning", "not-repeated"),
        ("WARNING - skipping shard /d/00012.tar: ReadError('unexpected end of data')", "data-warning", ""),
        ("found NaN in local grad norm for bucket #0 in backward pass", "non-finite-value", "tensor"),
        ("UserWarning: Mismatch between tokenized prompt and the start of tokenized prompt+completion. This may be due to", "known-warning", "prompt-mismatch"),
        ("So now the final prompt starts with 2 BOS tokens. Are you sure this is what you want?", "known-warning", "double-bos"),
        ("Unsloth: Most labels in your dataset are -100. Training losses will be all 0.", "known-warning", "no-labels"),
        ("UserWarning: Found missing adapter keys while loading the checkpoint: ['base_model.model.layers.0.lora_A']", "checkpoint-keys-mismatch", ""),
        ("UserWarning: Skip loading for features.0.weight. features.0.weight is not found in the provided dict.", "checkpoint-keys-mismatch", ""),
        ("WARNING:tensorflow:Value in checkpoint could not be found in the restored object: (root).encoder.kernel", "checkpoint-keys-mismatch", ""),
        ("Received a label value of 10 which is outside the valid range of [0, 10).  Label values: 3 10 8", "device-assert", ""),
        ("NaN or Inf found in input tensor.", "non-finite-value", "tensor"),
        ("trainable params: 0 || all params: 124,734,720 || trainable%: 0.0", "known-warning", "nothing-trainable"),
        (" Trainable params: 0 (0.00 B)", "known-warning", "nothing-trainable"),
    ],
)  # fmt: skip
def test_phrases(tmp_path: Path, line: str, kind: str, data: str) -> None:
    """Each phrase is one event of its kind, with its line."""
    found = read(tmp_path, ROW + line + "\n").events

    assert [(e.kind, e.data, e.line) for e in found if e.kind == kind] == [(kind, data, 2)]


@pytest.mark.parametrize(
    "line",
    [
        'raise ValueError("loss is nan, stopping")',
        "# if loss is nan: break",
        "We once had a run in which the loss became NaN after twenty thousand steps and nobody knew why",
        "{'find_unused_parameters': False, 'nan_to_num': True, 'skip_nan_loss': True, 'overflow': 'skip'}",
        "number of corrupt images found so far in the whole data set is shown below",
        "loaded 1639, skipped 0 samples",
        "invalid argument, skipping the flag",
        "Resuming from None",
        "resume from None at step 0",
        "--resume PATH  resume from the checkpoint at PATH, if there is one",
        "Checking for NaN is enabled",
        "model keys not found in checkpoint: 0, loaded 10 tensors",
        "loaded 100/120 tensors",
        "HBM Double Bit Error Count     : 0",
        "labels drawn from the class range [0, 1000)",
        "grad_scaler enabled, overflow check on",
        "WARNING:tensorflow:Value in checkpoint could not be found in the restored object: (root).optimizer.iter",
        "Gradient accumulation steps mismatch: GradientAccumulationPlugin has 1, DeepSpeed config has 4. Using DeepSpeed's value.",
        "Warning: Device do not support double dtype now, dtype cast repalce with float.",
        "double BOS tokens were removed from 3 samples",
        " Non-trainable params: 0 (0.00 B)",
        "non trainable parameters: 0",
        "trainable params: 0.5M of 7M",
        "HBM multi bit ecc error count : 0",
        "mixed precision: disabled",
        "AMP disabled, training in fp32",
        "CANN version matches the driver",
        "optimizer state loaded from step_200.ckpt",
        "No NaN found in cached latents",
        "0 NaN values found in latents",
        "checking token ids out of range: none",
        "Found missing adapter keys while loading the checkpoint: []",
        "=> loaded 0 tensors from optimizer cache",
        "loaded 0 params from lora, which begins anew",
        "Epoch 3: training finished, validating",
    ],
)
def test_what_is_no_event(tmp_path: Path, line: str) -> None:
    """Source text, options and sentences are no events."""
    assert read(tmp_path, ROW + line + "\n").events == ()


@pytest.mark.parametrize(
    ("line", "step"),
    [
        (" loading checkpoint from /ckpt at iteration 1000", 1000),
        ("2024-01-01 10:00:00 - mmdet - INFO - resumed epoch: 3, iter: 21987", 21987),
        ("Resuming from checkpoint at step 500", 500),
        ("[11/16 04:45:00] d2.engine.train_loop INFO: Starting training from iteration 5500", 5500),
        ("Loaded checkpoint checkpoints/last.pt (epoch 10 @ 4791 updates)", 4791),
        ("[titan] 2026-03-04 09:00:00,000 - root - INFO - Loading the checkpoint at step 250.", 250),
        ("[2026/03/01 12:00:00] ppocr INFO: resume from ./output/latest at global_step 300", 300),
    ],
)
def test_resumes(tmp_path: Path, line: str, step: float) -> None:
    """Where training went on, as far as the log says."""
    found = events(read(tmp_path, line + "\nstep 30000 loss 2.0\n"), "resume")

    assert [(e.step, e.value) for e in found] == [(step, step)]


def test_events_stand_at_the_step_before_them(tmp_path: Path) -> None:
    """An event is placed by the last row of the loss, on its running axis, and merged when it comes again."""
    text = "epoch: 1 step: 1, loss is 2\nepoch: 1 step: 2, loss is 2\nepoch: 2 step: 1, loss is 2\nx.py:3: RuntimeWarning: overflow encountered in exp\n"
    text += "epoch: 2 step: 2, loss is 2\nx.py:3: RuntimeWarning: overflow encountered in exp\n"
    [event] = events(read(tmp_path, text), "non-finite-value")

    assert (event.step, event.line, event.count) == (3, 4, 2)


def test_traceback(tmp_path: Path) -> None:
    """Of a traceback its last line counts; source lines in it are no metrics; ranks that say the same are merged."""
    body = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    loss = step(1, loss=2.5)\n           ^^^^\n'
    text = (
        ROW
        + (body + "ZeroDivisionError: division by zero\n") * 2
        + body
        + "\nDuring handling of the above exception, another exception occurred:\n\n"
        + body
        + "KeyboardInterrupt\n"
    )
    content = read(tmp_path, text)

    assert [(e.data, e.count) for e in events(content, "traceback")] == [
        ("ZeroDivisionError", 2),
        ("KeyboardInterrupt", 1),
    ]
    assert points(content, "train/loss") == [(1, 2.0)]


def test_a_traceback_that_ends_nothing(tmp_path: Path) -> None:
    """What Python ignores, and what a thread beside the training raises, ended no run."""
    body = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\nRuntimeError: worker killed\n'
    for said in ("Exception ignored in: <function f at 0x7f>\n", "Exception in thread Thread-3:\n"):
        assert not events(read(tmp_path, ROW + said + body), "traceback")
    assert events(read(tmp_path, ROW + body), "traceback")


def test_a_log_of_nothing_but_a_crash_is_a_log(tmp_path: Path) -> None:
    """A run that died before its first row left something to read."""
    content = read(
        tmp_path, 'Traceback (most recent call last):\n  File "a.py", line 3\nTypeError: bad argument\n'
    )

    assert [(e.data, e.step) for e in content.events] == [("TypeError", None)]


def test_ranks(tmp_path: Path) -> None:
    """The marks of ranks give a curve for each rank, and events their rank."""
    for mark in ("[rank{}]: ", "[default{}]:", "{}: ", "(RayTrainWorker pid=4{}, ip=10.0.0.1) "):
        text = "".join(mark.format(r) + f"step {s} loss {s}.{r}\n" for s in (1, 2, 3) for r in (0, 1))
        text += mark.format(1) + "RuntimeError: CUDA error: device-side assert triggered\n"
        content = read(tmp_path, text)

        assert points(content, "train/loss", rank=0) == [(1, 1.0), (2, 2.0), (3, 3.0)]
        assert points(content, "train/loss", rank=1) == [(1, 1.1), (2, 2.1), (3, 3.1)]
        assert [e.rank for e in events(content, "device-assert")] == [1]


def test_a_leading_step_is_no_rank(tmp_path: Path) -> None:
    """`100: loss ...` counts steps when the number goes up."""
    content = read(tmp_path, "".join(f"{s}: loss {s}.5\n" for s in range(0, 50, 10)))

    assert points(content, "train/loss")[-1] == (40, 40.5)


def test_secrets_are_replaced(tmp_path: Path) -> None:
    """No token, key or password gets into an event or a setting."""
    hidden = ["hf_" + "a" * 34, "AKIA" + "B" * 16, "s3cr3tvalue", "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJ"]
    text = f"+ python train.py --lr 0.1 --api_key {hidden[2]} --hub_token={hidden[0]}\n" + ROW
    text += f"Traceback (most recent call last):\nOSError: token={hidden[2]} {hidden[0]} {hidden[1]} {hidden[3]} https://user:{hidden[2]}@example.org\n"
    text += f"cannot identify image file password: {hidden[2]}\n"
    content = read(tmp_path, text)
    said = repr(content.events) + repr(content.settings)

    assert len(content.events) == 2 and len(content.settings) == 3
    assert not [secret for secret in hidden if secret in said]


# -------------------------------------------------------------------------------------- settings


def settings(folder: Path, text: str) -> dict[str, tuple[Any, int]]:
    """The settings of a log: value and trust by key."""
    return {s.key: (s.value, s.trust) for s in read(folder, text + ROW).settings}


def test_namespace(tmp_path: Path) -> None:
    """An argparse namespace, also with objects in it and a prefix before it."""
    found = settings(
        tmp_path,
        "2024-01-01 10:00:00 INFO Namespace(lr=0.1, batch_size=32, fp16=True, optim='adam', resume=None, betas=(0.9, 0.99), device=<device cpu>)\n",
    )

    assert found["lr"] == (0.1, 80) and found["fp16"] == (True, 80) and found["optim"] == ("adam", 80)
    assert found["resume"] == (None, 80) and found["betas"] == ((0.9, 0.99), 80)


def test_nested_dump(tmp_path: Path) -> None:
    """Dataclasses and dictionaries become dotted keys."""
    found = settings(
        tmp_path,
        "TrainConfig(run_name='x', seed=7, optimizer=OptimizerConfig(name='adamw', learning_rate=0.0004), data={'seed': 1})\n",
    )

    assert found["optimizer.learning_rate"] == (0.0004, 80) and found["data.seed"] == (1, 80)


@pytest.mark.parametrize(
    "line",
    [
        "learning_rate: 0.001",
        "  learning rate = 0.001",
        "Overriding: learning_rate = 0.001",
        "2024-01-01 10:00:00 - INFO -   learning_rate: 0.001",
        '"learning_rate": 0.001,',
        "| learning_rate | 0.001 |",
    ],
)
def test_banner_before_the_first_row(tmp_path: Path, line: str) -> None:
    """A line that is a known setting and nothing else is one, and no curve."""
    content = read(tmp_path, line + "\nhello: 0.5\n" + ROW)

    assert [(s.value, s.trust) for s in content.settings] == [(0.001, 80)]
    assert [s.raw for s in content.series] == ["loss"]


def test_several_assignments_and_nothing_else(tmp_path: Path) -> None:
    """A line of `name=value` words is a list of them, and one of other words is none."""
    found = settings(tmp_path, "precision_mode=force_fp16 op_select_implmode=high_performance\n" + ROW)

    assert found == {"precision_mode": ("force_fp16", 80), "op_select_implmode": ("high_performance", 80)}
    assert "a" not in settings(tmp_path, "took a=1 b=2 to do it\n" + ROW)


@pytest.mark.parametrize(
    "line",
    [
        "+ python -u train.py --lr 0.1 --batch-size=32 --fp16 --tags a b",
        "cmd = deepspeed main.py --lr 0.1 --batch-size 32 --fp16 --tags a b",
        "torchrun --nproc_per_node 8 train.py --lr 0.1 --batch-size 32 --tags a b --fp16",
    ],
)
def test_command_line(tmp_path: Path, line: str) -> None:
    """The options of a printed command line, not those of the interpreter or launcher."""
    found = settings(tmp_path, line + "\n")

    assert found == {"lr": (0.1, 70), "batch-size": (32, 70), "fp16": (True, 70), "tags": (("a", "b"), 70)}


def test_openmmlab_configuration(tmp_path: Path) -> None:
    """The Python text of a configuration over many lines."""
    text = "2021-12-07 13:57:39,351 - mmdet - INFO - Config:\nmodel = dict(\n    type='FasterRCNN',\n    backbone=dict(depth=50))\noptimizer = dict(type='SGD', lr=0.02)\n"
    text += "optimizer_config = dict(grad_clip=None)\n\n2021-12-07 13:57:40,000 - mmdet - INFO - Set random seed to 0\n"
    found = settings(tmp_path, text)

    assert found["optimizer.lr"] == (0.02, 90) and found["model.backbone.depth"] == (50, 90)
    assert found["optimizer_config.grad_clip"] == (None, 90)


@pytest.mark.parametrize(
    "text",
    [
        "{t} - INFO - Config:\n{{'data': {{'samples_per_gpu': 32,\n          'size': [1, 2]}},\n 'optimizer': {{'type': 'SGD', 'lr': 0.02}}}}\n",
        "{{'data': {{'samples_per_gpu': 32}},\n 'optimizer': {{'type': 'SGD',\n               'lr': 0.02}}}}\n",
        '{{\n  "data": {{"samples_per_gpu": 32}},\n  "optimizer": {{"type": "SGD", "lr": 0.02}}\n}}\n',
        "TrainConfig(data=Data(samples_per_gpu=32),\n            optimizer=Optim(type='SGD',\n                            lr=0.02))\n",
    ],
)
def test_configuration_printed_over_lines(tmp_path: Path, text: str) -> None:
    """What pprint, json.dumps and a dataclass print, with or without a heading."""
    stamp = "2021-12-07 13:57:39,351 - mmcls"
    rows = "".join(f"{stamp} - INFO - step {i} loss: {9 - i}.5\n" for i in range(1, 8))
    content = read(tmp_path, text.format(t=stamp) + rows)
    found = {s.key: s.value for s in content.settings}

    assert (found["optimizer.lr"], found["optimizer.type"], found["data.samples_per_gpu"]) == (
        0.02,
        "SGD",
        32,
    )
    assert next(s.line for s in content.settings if s.key == "optimizer.lr") in range(1, 5)
    assert [len(s.values) for s in content.series if s.raw == "loss"] == [7]


def test_metrics_printed_as_a_dict_over_lines_are_no_configuration(tmp_path: Path) -> None:
    """A dict with a loss holds what was measured."""
    text = "".join(f"step {i} loss: {9 - i}.5\n" for i in range(1, 8))
    content = read(tmp_path, "{\n  'learning_rate': 0.1,\n  'loss': 0.25\n}\n" + text)

    assert not [s for s in content.settings if s.trust == 90]


def test_detectron2_configuration(tmp_path: Path) -> None:
    """The YAML text of a configuration over many lines; its numbers are no curves."""
    text = "[11/18 14:20:11] detectron2 INFO: Running with full config:\nSOLVER:\n  BASE_LR: 0.02\n  STEPS: (100, 200)\n  MAX_ITER: 300\n[11/18 14:20:12] detectron2 INFO: Starting\n"
    content = read(tmp_path, text + ROW)

    assert {s.key: (s.value, s.line) for s in content.settings}["SOLVER.BASE_LR"] == (0.02, 3)
    assert [s.raw for s in content.series] == ["loss"]


def test_facts(tmp_path: Path) -> None:
    """Versions, device and number of processes."""
    facts = read(
        tmp_path, "PyTorch version: 2.1.0+cu118\nGPU 0: NVIDIA A100-SXM4-80GB\nWorld size: 8\n" + ROW
    ).facts

    assert facts["version:torch"] == "2.1.0+cu118" and facts["framework"] == "pytorch"
    assert "A100" in str(facts["device"]) and facts["world_size"] == 8


def test_a_configuration_alone_is_left_to_others(tmp_path: Path) -> None:
    """Settings without any row or telling event make no log."""
    assert not text_log.sniff(file_of(tmp_path, "lr: 0.1\nbatch_size: 32\nWorld size: 8\n"))


def test_a_text_without_metrics_is_read_for_what_the_device_says(tmp_path: Path) -> None:
    """The figures of a device are taken only where they tell of a fault."""
    assert text_log.sniff(file_of(tmp_path, "NPU 5\nHBM multi bit ecc error count: 3\n", "npu-smi.txt"))
    assert not text_log.sniff(file_of(tmp_path, "NPU 5\nHBM multi bit ecc error count: 0\n", "npu-smi.txt"))


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        ("label_ids:\n[-100, -100, -100, -100, -100]\nlabels:\n", ["all-labels-masked"]),
        ("labels: tensor([[-100, -100, -100, -100]])\n", ["all-labels-masked"]),
        ("[INFO:swift] [LABELS_IDS] [-100, -100, -100, -100]\n", ["all-labels-masked"]),
        ("[INFO:swift] [LABELS] [-100 * 35]\n", ["all-labels-masked"]),
        ("[INFO:swift] [LABELS] [-100 * 35]The answer is 4.\n", []),
        ("label_ids:\n[-100, -100, -100, 77, 2]\n", []),
        ("input_ids:\n[5, 6, 7, 8, 9]\n", []),
        (" ".join(f"w(-100, {n})" for n in range(9)) + "\n", ["all-labels-masked"]),  # axolotl
        (" ".join(f"w({-100 if n < 8 else n}, {n})" for n in range(12)) + "\n", []),
        ("`total_supervised_tokens: 0`\n", ["all-labels-masked"]),
        ("total_supervised_tokens: 0.2M\n", []),
    ],
)
def test_a_sample_whose_labels_are_all_masked(labels: str, found: list[str]) -> None:
    """Printed before training, below its inputs, whose line looks the same."""
    text = f"input_ids:\n[11, 12, 13, 14, 15]\n{labels}step 1 loss 2.0\nstep 2 loss 1.9\n"
    assert [e.data for e in all_masked(text.encode(), "train.log")] == found


@pytest.mark.parametrize(
    ("line", "end", "length"),
    [("word " * 100, "word…", 300), ("x" * 500, "x…", 300), ("as it is", "is", 8)],
    ids=["after a word", "one long word", "short"],
)
def test_a_long_line_is_cut_where_it_can_be_read(line: str, end: str, length: int) -> None:
    """The cut shows, and stands after a word where there is one near."""
    said = shorten(line)

    assert said.endswith(end)
    assert length - 5 <= len(said) <= length
