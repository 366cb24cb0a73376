"""What ports to NPU bring with them: what is said of both sides' files, and what has to stay unsaid."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from traindoctor.engine.load import load_rules
from traindoctor.engine.model import Evidence, State
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.readings import readings

RULES = load_rules()


def evidence(folder: Path, symptoms: str, *sides: dict[str, str]) -> Evidence:
    """The readings of these symptoms of a run's files, with a benchmark's beside them."""
    runs = []
    for number, files in enumerate(sides):
        for name, text in files.items():
            path = folder / str(number) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        runs.append(open_run(folder / str(number)))
    found = readings(
        runs[0], runs[1] if len(runs) > 1 else None, [RULES.symptoms[s] for s in symptoms.split()]
    )
    assert not [f for f in found.values() if "probe error" in f.why]
    return found


def state(folder: Path, symptom: str, *sides: dict[str, str]) -> str:
    """ "present", "absent" or "unknown"."""
    return str(evidence(folder, symptom, *sides)[symptom].state)


# ------------------------------------------------------------------------------------------------ scripts

LOOP = """
import torch
import torch.nn as nn
criterion = nn.CrossEntropyLoss()
for epoch in range(10):
    model.train()
    for i, (images, target) in enumerate(loader):
        images = images.cuda(non_blocking=True)
        target = target.cuda(non_blocking=True)
        output = model(images)
        loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
CODE = "script-label-code-differs script-loss-code-differs script-step-code-differs edit-label-mapping"


@pytest.mark.parametrize(
    ("line", "criterion", "told"),
    [
        ("target.to(torch.int32).npu(non_blocking=True)", "CrossEntropyLoss", False),
        ("target.npu().int()", "CrossEntropyLoss", False),
        ("target.to(device, dtype=torch.int32, non_blocking=True)", "CrossEntropyLoss", False),
        ("target.to(loc, non_blocking=True).to(torch.int32)", "CrossEntropyLoss", False),
        ("target.type(torch.int32).npu()", "NLLLoss", False),
        ("target.to(torch.int32).npu()", "MSELoss", True),  # numbers would be cut off
        ("target.to(torch.int32).npu()", "BCEWithLogitsLoss", True),
        ("(target + 0.5).int().npu()", "CrossEntropyLoss", True),
        ("(target % 7).to(torch.int32).npu()", "CrossEntropyLoss", True),
    ],
)
def test_the_kind_of_integers_of_class_indices(tmp_path: Path, line: str, criterion: str, told: bool) -> None:
    theirs = LOOP.replace("CrossEntropyLoss", criterion)
    mine = theirs.replace("images.cuda(", "images.npu(").replace("target.cuda(non_blocking=True)", line)
    found = evidence(tmp_path, CODE, {"train.py": mine}, {"train.py": theirs})
    assert any(f.state is State.PRESENT for f in found.values()) == told


LEVELS = """
from mindspore import context, Model
import mindspore.nn as nn
context.set_context(mode=context.GRAPH_MODE, device_target="GPU")
net = resnet50()
loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
opt = nn.Momentum(net.trainable_params(), 0.1, 0.9, loss_scale=1024)
model = Model(net, loss, opt, loss_scale_manager=manager, amp_level="O2", metrics={"acc"})
model.train(10, dataset)
"""


@pytest.mark.parametrize(
    ("device", "level", "told"),
    [
        ("Ascend", "O3", set()),
        ("Ascend", "auto", set()),
        ("GPU", "O1", set()),
        ("GPU", "O3", {"edit-half-precision"}),
        ("Ascend", "O0", {"edit-autocast"}),
        ("GPU", "O0", {"edit-autocast"}),
    ],
)
def test_the_level_of_mixed_precision_follows_the_device(
    tmp_path: Path, device: str, level: str, told: set[str]
) -> None:
    mine = LEVELS.replace('target="GPU"', f'target="{device}"').replace('"O2"', f'"{level}"')
    edits = "edit-autocast edit-half-precision edit-autocast-left-out"
    found = evidence(tmp_path, edits, {"train.py": mine}, {"train.py": LEVELS})
    assert {s for s, f in found.items() if f.state is State.PRESENT} == told


# ------------------------------------------------------------------------------------------- launch lines

LAUNCH = """#!/bin/bash
GPT_ARGS="
    --tensor-model-parallel-size 8 \\
    --num-layers 32 \\
    --hidden-size 4096 \\
    --global-batch-size 128 \\
    --position-embedding-type rope \\
    --lr 1.25e-6 \\
    --train-iters 2000 {more}
"
torchrun --nproc_per_node 8 pretrain_gpt.py $GPT_ARGS --data-path {data}
"""


def launch(more: str = "", data: str = "/data/enwiki/llama2_text_document") -> dict[str, str]:
    """A launch line of MindSpeed-LLM."""
    lines = "".join(
        f" iteration {i:8d}/    2000 | consumed samples: {i * 128:12d} | learning rate: 1.250000E-06 |"
        f" global batch size:   128 | lm loss: {9 - i * 0.01:.6E} | loss scale: 1.0 | grad norm: 1.000 |\n"
        for i in range(1, 40)
    )
    return {"pretrain.sh": LAUNCH.format(more=more, data=data), "train.log": lines}


@pytest.mark.parametrize(
    ("mine", "theirs", "told"),
    [
        ("", "--rotary-base 500000", "present"),
        ("", "--rotary-base 10000", "absent"),  # that is its default
        ("", "--hidden-dropout 0.0 --attention-dropout 0.0", "present"),
        ("--adam-beta2 0.999", "", "absent"),
        ("--adam-beta2 0.95", "", "present"),
    ],
)
def test_what_a_launch_line_leaves_out_has_its_default(
    tmp_path: Path, mine: str, theirs: str, told: str
) -> None:
    assert state(tmp_path, "any-hyperparameter-differs", launch(mine), launch(theirs)) == told


# --------------------------------------------------------------------------------------- configurations

PADDLE = """
Global:
  epochs: 120
AMP:
  use_amp: True
  scale_loss: {scale}
  use_dynamic_loss_scaling: {dynamic}
  level: O2
Optimizer:
  name: Momentum
  lr: {{name: Piecewise, learning_rate: 0.1}}
"""
PPCLS = "".join(
    f"[2025/03/04 10:00:{i:02d}] ppcls INFO: [Train][Epoch {i + 1}/120][Iter: 0/600]"
    f"lr(PiecewiseDecay): 0.10000000, top1: 0.10000, CELoss: {7 - i / 10:.5f}, loss: {7 - i / 10:.5f}, "
    "batch_cost: 0.300s\n"
    for i in range(20)
)


@pytest.mark.parametrize(
    ("scale", "dynamic", "told"),
    [
        ("1.0", "False", "present"),
        ("1.0", "True", "absent"),
        ("65536.0", "True", "absent"),
        ("128.0", "False", "absent"),
    ],
)
def test_a_loss_scale_of_one_that_stays(tmp_path: Path, scale: str, dynamic: str, told: str) -> None:
    files = {
        "ppcls/configs/ResNet/ResNet50.yaml": PADDLE.format(scale=scale, dynamic=dynamic),
        "output/ResNet50/train.log": PPCLS,
    }
    assert state(tmp_path, "fp16-without-loss-scale", files) == told


def test_of_two_configurations_elsewhere_none_is_taken(tmp_path: Path) -> None:
    text = PADDLE.format(scale="1.0", dynamic="False")
    files = {
        "ppcls/configs/ResNet/ResNet50.yaml": text,
        "ppcls/configs/ResNet/ResNet101.yaml": text,
        "output/ResNet50/train.log": PPCLS,
    }
    assert state(tmp_path, "fp16-without-loss-scale", files) == "unknown"


@pytest.mark.parametrize(
    ("mine", "theirs", "told"),
    [
        ("ppocr/utils/en_dict.txt", "ppocr/utils/ppocr_keys_v1.txt", "present"),
        ("/home/a/ppocr_keys_v1.txt", "ppocr/utils/ppocr_keys_v1.txt", "absent"),
        ("", "ppocr/utils/ppocr_keys_v1.txt", "unknown"),
    ],
)
def test_the_dictionary_is_compared_by_its_name(tmp_path: Path, mine: str, theirs: str, told: str) -> None:
    def side(path: str) -> dict[str, str]:
        line = f"  character_dict_path: {path}\n" if path else ""
        return {"rec.yml": f"Global:\n  epoch_num: 100\n{line}", "train.log": PPCLS}

    assert state(tmp_path, "vocabulary-differs", side(mine), side(theirs)) == told


@pytest.mark.parametrize(
    ("wrapper", "written", "told"),
    [
        ("OptimWrapper", True, "present"),
        ("AmpOptimWrapper", True, "absent"),
        ("OptimWrapper", False, "unknown"),
    ],
)
def test_the_wrapper_that_mmengine_wrote_down(tmp_path: Path, wrapper: str, written: bool, told: str) -> None:
    text = (
        "model = dict(type='RetinaNet', backbone=dict(type='ResNet', depth=50))\n"
        f"optim_wrapper = dict(type='{wrapper}', optimizer=dict(type='SGD', lr=0.02))\n"
        "train_cfg = dict(type='EpochBasedTrainLoop', max_epochs=12)\n"
    )
    log = "".join(
        f"2025/03/04 10:00:{i:02d} - mmengine - INFO - Epoch(train)  [1][{i * 50}/7330]  "
        f"lr: 2.0000e-02  loss: {2 - i / 50:.4f}\n"
        for i in range(1, 30)
    )
    theirs = {
        "config.py": text.replace("'OptimWrapper'", "'AmpOptimWrapper'") + "work_dir = './w'\n",
        "a.log": log,
    }
    mine = {"config.py": text + ("work_dir = './w'\n" if written else ""), "a.log": log}
    assert state(tmp_path, "run-not-mixed", mine, theirs) == told


@pytest.mark.parametrize(
    ("rate", "batch", "end", "told"),
    [
        (0.1, 256, 0.70, "present"),
        (0.1, 256, 0.765, "absent"),  # it ends as well
        (0.1, 32, 0.70, "absent"),  # the rate follows the batch
        (0.4, 256, 0.70, "absent"),  # a choice
        (0.8, 256, 0.70, "absent"),
    ],
)
def test_a_smaller_rate_and_a_worse_end(
    tmp_path: Path, rate: float, batch: int, end: float, told: str
) -> None:
    def side(rate: float, batch: int, end: float) -> dict[str, str]:
        rows = "".join(
            f"epoch {e}: train_loss {6.9 * 0.9**e + 1:.4f} val_acc {end * (1 - 0.8 ** (e + 1)):.4f}\n"
            for e in range(40)
        )
        return {
            "config.yaml": f"lr: {rate}\nglobal_batch_size: {batch}\nepochs: 40\nmomentum: 0.9\n",
            "train.log": rows,
        }

    sides = side(rate, batch, end), side(0.8, 256, 0.766)
    assert state(tmp_path, "lr-below-benchmark-and-worse", *sides) == told


def test_beside_iou_accuracy_is_that_of_pixels(tmp_path: Path) -> None:
    def side(iou: float) -> dict[str, str]:
        rows = "".join(
            f"2025/03/04 10:00:{i:02d} - mmengine - INFO - Iter(train) [{i * 400:5d}/40000]  "
            f"lr: 9.0000e-03  loss: {2 - i / 50:.4f}\n"
            + (
                f"2025/03/04 10:00:{i:02d} - mmengine - INFO - Iter(val) [500/500]    aAcc: 94.1000"
                f"  mIoU: {iou:.4f}  mAcc: 80.0000  data_time: 0.0042  time: 0.2211\n"
                if i % 4 == 0
                else ""
            )
            for i in range(1, 60)
        )
        return {"train.log": rows}

    assert state(tmp_path, "final-metric-far-below-benchmark", side(63.0), side(78.0)) == "present"


# ---------------------------------------------------------------------------------- more of two scripts

TF = """
import tensorflow as tf
import horovod.tensorflow as hvd
hvd.init()
def model_fn(features, labels, mode):
    net = base(features)
    net = tf.nn.dropout(net, keep_prob=0.9)
    logits = tf.layers.dense(net, 1001)
    loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
    opt = hvd.DistributedOptimizer(tf.train.MomentumOptimizer(0.1, 0.9))
    return opt.minimize(loss)
def main():
    config = tf.estimator.RunConfig(model_dir=FLAGS.model_dir)
    est = tf.estimator.Estimator(model_fn=model_fn, config=config)
    est.train(input_fn=input_fn, max_steps=1000)
"""
ASCEND = (
    ("import horovod.tensorflow as hvd\nhvd.init()\n", "from npu_bridge.npu_init import *\n"),
    ("hvd.Dist", "NPUDist"),
    (
        "    config = tf.estimator.RunConfig(model_dir=FLAGS.model_dir)\n",
        "    session = tf.ConfigProto()\n"
        "    op = session.graph_options.rewrite_options.custom_optimizers.add()\n"
        '    op.name = "NpuOptimizer"\n'
        '    op.parameter_map["use_off_line"].b = True\n'
        '    op.parameter_map["hcom_parallel"].b = True\n'
        '    op.parameter_map["enable_data_pre_proc"].b = True\n'
        '    op.parameter_map["iterations_per_loop"].i = 100\n'
        '    op.parameter_map["mix_compile_mode"].b = False\n'
        "    session.graph_options.rewrite_options.remapping = RewriterConfig.OFF\n"
        "    session.graph_options.rewrite_options.memory_optimization = RewriterConfig.OFF\n"
        "    session.graph_options.rewrite_options.function_optimization = RewriterConfig.OFF\n"
        "    config = NPURunConfig(model_dir=FLAGS.model_dir, session_config=session)\n",
    ),
    ("tf.estimator.Estimator(", "NPUEstimator("),
)
CODES = "script-model-code-differs script-step-code-differs script-evaluation-code-differs"


@pytest.mark.parametrize(
    ("dropout", "told"),
    [
        ("npu_ops.dropout(net, 0.1)", {"edit-keep-probability"}),
        ("npu_ops.dropout(net, keep_prob=0.1)", {"edit-keep-probability"}),
        ("npu_ops.dropout(net, 0.9)", set()),
        ("npu_ops.dropout(net, keep_prob=0.9)", set()),
    ],
)
def test_what_a_port_of_the_session_brings_is_no_edit(tmp_path: Path, dropout: str, told: set[str]) -> None:
    mine = TF.replace("tf.nn.dropout(net, keep_prob=0.9)", dropout)
    for old, new in ASCEND:
        assert old in mine
        mine = mine.replace(old, new)
    found = evidence(tmp_path, f"edit-keep-probability {CODES}", {"train.py": mine}, {"train.py": TF})
    assert {s for s, f in found.items() if f.state is State.PRESENT} == told


MODELS = LOOP.replace(
    "import torch.nn as nn", "import torch.nn as nn\nfrom torchvision import models"
).replace(
    "for epoch",
    "model = models.resnet101().to(device)\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\nfor epoch",
)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("models.resnet50()", "present"),
        ("models.vgg16()", "present"),
        ("models.resnet101()", "absent"),
        ("ResNetV1(101)", "absent"),  # what that is, is not known
    ],
)
def test_another_model_of_the_library(tmp_path: Path, model: str, told: str) -> None:
    mine = MODELS.replace("models.resnet101()", model)
    assert state(tmp_path, "edit-other-model", {"train.py": mine}, {"train.py": MODELS}) == told


APEX = (
    ("import torch\n", "import torch\nfrom apex import amp\n"),
    ("0.1)\nfor", '0.1)\nmodel, optimizer = amp.initialize(model, optimizer, opt_level="O2")\nfor'),
    (
        "        loss.backward()\n",
        "        with amp.scale_loss(loss, optimizer) as scaled_loss:\n            scaled_loss.backward()\n",
    ),
)


@pytest.mark.parametrize(
    ("here", "there", "told"), [(1, 0, True), (1, 1, False), (0, 0, False), (0, 1, False)]
)
def test_a_benchmark_without_mixed_precision(tmp_path: Path, here: int, there: int, told: bool) -> None:
    def side(mixed: int) -> dict[str, str]:
        text = MODELS
        for old, new in APEX if mixed else ():
            assert old in text
            text = text.replace(old, new)
        return {"train.py": text}

    symptoms = "benchmark-not-mixed script-loss-code-differs script-step-code-differs"
    found = evidence(tmp_path, symptoms, side(here), side(there))
    assert (found["benchmark-not-mixed"].state is State.PRESENT) == told
    if told:  # and nothing else is made of it
        assert [s for s, f in found.items() if f.state is State.PRESENT] == ["benchmark-not-mixed"]


# ------------------------------------------------------------------------------------- scripts by themselves

STEP = """
import mindspore as ms
from mindspore import nn, value_and_grad
from {module} import {model}
net = {model}(num_classes=100)
opt = nn.SGD(net.trainable_params(), 0.1)
grad_fn = value_and_grad(forward, None, opt.parameters)
for epoch in range(10):
    {line}
    for x, y in data.create_tuple_iterator():
        loss, grads = grad_fn(x, y)
        opt(grads)
"""


@pytest.mark.parametrize(
    ("module", "model", "line", "told"),
    [
        ("src.model", "MobileNetV2", "pass", "present"),
        ("mindcv.models", "resnet50", "pass", "present"),
        ("src.model", "MobileNetV2", "net.set_train()", "absent"),
        ("src.trainer", "MobileNetV2", "pass", "unknown"),  # what else that file does is not seen
        ("src.model", "Perceptron", "pass", "unknown"),
    ],
)
def test_a_mindspore_model_that_never_trains(
    tmp_path: Path, module: str, model: str, line: str, told: str
) -> None:
    text = STEP.format(module=module, model=model, line=line)
    assert state(tmp_path, "script-set-train-missing", {"train.py": text}) == told


MASKED = """
import torch
import torch.nn.functional as F
for epoch in range(10):
    for x, y, mask in loader:
        optimizer.zero_grad()
        per = F.smooth_l1_loss(net(x), y, reduction="none")
        loss = (per * mask).sum() / {count}
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("count", "bad", "told"),
    [
        ("mask.sum()", 17, "present"),
        ("torch.sum(valid_mask)", 17, "present"),
        ("mask.float().sum()", 17, "present"),
        ("mask.sum().clamp(min=1)", 17, "unknown"),
        ("(mask.sum() + 1e-6)", 17, "unknown"),
        ("mask.sum()", 0, "absent"),  # common, and harmless
    ],
)
def test_a_mean_over_a_mask(tmp_path: Path, count: str, bad: int, told: str) -> None:
    rows = "".join(
        f"step {i} loss {'nan' if i == bad else f'{2 + 9 / i:.4f}'} lr 1e-4\n" for i in range(1, 41)
    )
    files = {"train.py": MASKED.format(count=count), "train.log": rows}
    assert state(tmp_path, "script-masked-mean-meets-zero", files) == told


@pytest.mark.parametrize(
    ("held", "more", "told"),
    [
        ("/data/sft/all.jsonl", {}, "present"),
        ("/data/sft/all.jsonl", {"warmup_ratio": 0.05}, "present"),
        ("/data/sft/all.jsonl", {"val_split_ratio": 0.1}, "absent"),  # other rows of the file
        ("/data/sft/dev.jsonl", {}, "absent"),
    ],
)
def test_one_file_to_train_and_to_evaluate(
    tmp_path: Path, held: str, more: dict[str, float], told: str
) -> None:
    settings = {"dataset": ["/data/sft/all.jsonl"], "val_dataset": [held], "learning_rate": 1e-4, **more}
    files = {"args.json": json.dumps(settings), "train.log": PPCLS}
    assert state(tmp_path, "held-out-file-of-training", files) == told


@pytest.mark.parametrize(
    ("mode", "told"), [("must_keep_origin_dtype", "present"), ("allow_mix_precision", "absent")]
)
def test_the_graph_of_the_benchmark_is_mixed(tmp_path: Path, mode: str, told: str) -> None:
    theirs = TF.replace(
        "    return opt", "    opt = enable_mixed_precision_graph_rewrite(opt)\n    return opt"
    )
    mine = TF
    for old, new in ASCEND:
        mine = mine.replace(old, new)
    line = f'    op.parameter_map["precision_mode"].s = tf.compat.as_bytes("{mode}")\n'
    mine = mine.replace("    config = NPURunConfig(", f"{line}    config = NPURunConfig(")
    assert state(tmp_path, "run-not-mixed", {"train.py": mine}, {"train.py": theirs}) == told
