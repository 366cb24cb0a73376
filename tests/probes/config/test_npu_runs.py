"""What directories of NPU clusters say by settings, scripts and logs: each symptom in its three states."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from traindoctor.engine.load import load_rules
from traindoctor.probes import data_lists
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.code.calls import old_device
from traindoctor.probes.config import (
    in_force,
    model,
    precision,
    pretrained,
    sources,
    surroundings,
    versions,
)
from traindoctor.probes.curves import metrics, untrained_start
from traindoctor.probes.readings import readings
from traindoctor.probes.registry import probes_of

from .._read import reading

MODULES = (
    surroundings,
    in_force,
    model,
    precision,
    pretrained,
    sources,
    versions,
    metrics,
    untrained_start,
    data_lists,
    old_device,
)
PROBES = {p for m in MODULES for p in probes_of(m)}
SYMPTOMS = [s for s in load_rules().symptoms.values() if s.probe in PROBES]


def state(folder: Path, symptom: str, files: dict[str, str]) -> str:
    """What is read of a directory with these files."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return str(dict(readings(open_run(folder), None, SYMPTOMS))[symptom].state.value)


def log(first: float = 9.0, end: float = 1.0, **also: str) -> str:
    """A log of sixty epochs; `also` adds a quantity that rises to its value."""
    rows = []
    for n in range(60):
        more = "".join(f" {k} {float(v) * (n + 1) / 60:.4f}" for k, v in also.items())
        rows.append(f"epoch {n + 1} loss {end + (first - end) / (n + 1):.4f}{more}\n")
    return "".join(rows)


@pytest.mark.parametrize(
    ("yaml", "expected"),
    [
        ("run_mode: finetune\nload_checkpoint: ''\nvocab_size: 8103\n", "present"),
        ("run_mode: finetune\nload_checkpoint: ./a.ckpt\nvocab_size: 8103\n", "absent"),
        ("run_mode: train\nload_checkpoint: ''\nvocab_size: 8103\n", "unknown"),
    ],
)
def test_fine_tuning_from_nothing(tmp_path: Path, yaml: str, expected: str) -> None:
    """By the settings, and by a first loss that is a guess (ln 8103 is 9.0)."""
    assert (
        state(tmp_path, "fine-tuning-from-nothing", {"finetune.yaml": yaml, "train.log": log()}) == expected
    )
    assert (state(tmp_path, "fine-tuning-starts-high", {}) == "present") is ("finetune" in yaml)


MEGATRON = (
    " iteration {:8d}/ 4000 | consumed samples: 64 | learning rate: 1.0E-04 | lm loss: {:.4f}"
    " | grad norm: 1.0 |\n"
)


@pytest.mark.parametrize(
    ("flag", "said", "expected"),
    [
        ("--no-load-optim", " successfully loaded checkpoint from ./ckpt at iteration 2000\n", "present"),
        ("--no-load-optim", "", "unknown"),  # a fine-tuning begins so
        (
            "--no-load-optim --finetune --load ./stage1 --save ./stage2",
            " loading checkpoint from ./stage1 at iteration 2000\n",
            "unknown",
        ),
        ("--no-load-rng", " successfully loaded checkpoint from ./ckpt at iteration 2000\n", "unknown"),
    ],
)
def test_resumed_without_moments(tmp_path: Path, flag: str, said: str, expected: str) -> None:
    """Only where the run goes on past its first step."""
    rows = "".join(MEGATRON.format(2001 + n, 3 + 1 / (n + 1)) for n in range(60))
    files = {
        "run.sh": f"torchrun pretrain_gpt.py --lr 1e-4 --bf16 {flag} --train-iters 4000\n",
        "a.log": said + rows,
    }

    assert state(tmp_path, "resumed-without-moments", files) == expected


@pytest.mark.parametrize(
    ("evaluated", "curve", "expected"),
    [
        ("net-1_50.ckpt", "0.9", "present"),
        ("net-60_50.ckpt", "0.9", "absent"),
        ("net-30_50.ckpt", "0.01", "absent"),  # nothing got better
        ("other.ckpt", "0.9", "unknown"),
    ],
)
def test_an_early_checkpoint_is_scored(tmp_path: Path, evaluated: str, curve: str, expected: str) -> None:
    """The evaluation's own log names it, and the curve of the run got better after it."""
    files = {f"ckpt/net-{n}_50.ckpt": "x" for n in (1, 30, 60)}
    files |= {"train.log": log(1.0, 0.99, val_accuracy=curve)}
    files |= {"eval.log": f'Namespace(data_path="/d", ckpt_path="./ckpt/{evaluated}")\naccuracy 0.31\n'}

    assert state(tmp_path, "early-checkpoint-scored", files) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("torch.npu.matmul.allow_hf32 = True", "present"),
        ("torch.npu.matmul.allow_hf32 = False", "absent"),
        ("torch.npu.conv.allow_hf32 = True", "unknown"),
    ],
)
def test_rounded_products_by_the_script(tmp_path: Path, line: str, expected: str) -> None:
    """A switch of products of matrices; convolutions are rounded by default."""
    assert (
        state(tmp_path, "tf32-in-use", {"train.py": f"import torch\n{line}\n", "train.log": log()})
        == expected
    )


SWITCHED = """import argparse
import mindspore as ms
from mindspore import nn
args = argparse.ArgumentParser()
args.add_argument("--epochs", type=int)
args.add_argument("--run_distribute", type=bool, default=False)
cfg = args.parse_args()
if cfg.run_distribute:
    ms.communication.init()
ms.Model(net, loss, opt).train(cfg.epochs, data)
"""


@pytest.mark.parametrize(
    ("options", "expected"),
    [("--epochs 9", "present"), ("--epochs 9 --run_distribute True", "absent"), ("", "absent")],
)
def test_a_switch_that_the_launch_line_leaves_out(tmp_path: Path, options: str, expected: str) -> None:
    """Eight ranks train, and none of them was told that it is one of eight."""
    files = {f"device{n}/train.log": log(9.0 + n) for n in range(4)}
    files |= {"device0/train.py": SWITCHED, "start.sh": f"python train.py {options} > train.log\n"}

    assert state(tmp_path, "trains-alone", files) == expected


FLAGGED = """import argparse, torch_npu
import torch.distributed as dist
p = argparse.ArgumentParser()
p.add_argument("--lr", type=float, default=0.1)
p.add_argument("--distributed", action="store_true")
a = p.parse_args()
if a.distributed:
    dist.init_process_group("hccl")
"""


@pytest.mark.parametrize(("flag", "expected"), [("", "present"), (" --distributed", "absent")])
def test_a_flag_that_a_loop_of_launches_leaves_out(tmp_path: Path, flag: str, expected: str) -> None:
    """One process to a rank, in a loop of the shell."""
    files = {f"rank{n}.log": log(9.0 + n) for n in range(4)}
    files |= {"tune.py": FLAGGED}
    files |= {"run.sh": f"for r in 0 1 2 3; do RANK=$r python tune.py --lr 0.2{flag} > rank$r.log & done\n"}

    assert state(tmp_path, "trains-alone", files) == expected


@pytest.mark.parametrize(
    ("reads", "expected"),
    [
        (["a-0.tfrecord, a-1.tfrecord", "a-1.tfrecord, a-2.tfrecord"], "present"),
        (["a-0.tfrecord, a-1.tfrecord", "a-2.tfrecord, a-3.tfrecord"], "absent"),
        (["a-0.tfrecord, a-1.tfrecord"] * 2, "unknown"),  # ranks that share a model read the same
    ],
)
def test_files_that_ranks_say_they_read(tmp_path: Path, reads: list[str], expected: str) -> None:
    """In the logs of the ranks, before training begins; what all of them list together says nothing."""
    files = {
        f"rank_{n}/train.log": "found 9 files: a-0.tfrecord, a-9.tfrecord\n"
        f"rank {n} reads 2 files: {told}\n{log(9.0 + n)}"
        for n, told in enumerate(reads)
    }

    assert state(tmp_path, "shards-overlap", files) == expected


PORT = (
    "import torch\nimport torch_npu\ndevice = torch.device({})\nnet.to(device)\nloss.backward()\nopt.step()\n"
)


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ('"cuda" if torch.cuda.is_available() else "cpu"', "present"),
        ('"npu" if torch.npu.is_available() else "cpu"', "absent"),
        ("name", "unknown"),
    ],
)
def test_no_npu_is_asked_for(tmp_path: Path, device: str, expected: str) -> None:
    """torch_npu is imported, and the device is CUDA or the processor."""
    files = {"train.py": PORT.format(device), "train.log": log()}

    assert state(tmp_path, "script-old-device-left", files) == expected


@pytest.mark.parametrize(
    ("launch", "expected"),
    [
        ("--load ./weights --rotary-base 10000 --seq-length 4096", "present"),
        ("--load ./weights --rotary-base 1000000 --seq-length 4096", "absent"),
        ("--load ./weights --rotary-base 1000000 --norm-epsilon 1e-6", "absent"),
        ("--load ./weights --rotary-base 1000000 --norm-epsilon 1e-3", "present"),
        ("--load ./weights --rotary-base 5000000 --seq-length 131072", "unknown"),  # made for longer texts
        ("--rotary-base 10000 --seq-length 4096", "unknown"),  # weights of its own
    ],
)
def test_constants_of_the_weights(tmp_path: Path, launch: str, expected: str) -> None:
    model = {"model_type": "qwen2", "rope_theta": 1e6, "rms_norm_eps": 1e-6, "max_position_embeddings": 32768}
    files = {
        "hf/config.json": json.dumps(model),
        "run.sh": f"torchrun --nproc_per_node 8 pretrain_gpt.py --lr 1e-6 {launch}\n",
        "train.log": log(),
    }
    assert state(tmp_path, "model-constants-not-those-of-weights", files) == expected


QWEN = '{"model_type": "qwen2", "tie_word_embeddings": %s}'


@pytest.mark.parametrize(
    ("flag", "tied", "expected"),
    [
        ("--untie-embeddings-and-output-weights", "true", "present"),
        ("--untie-embeddings-and-output-weights", "false", "absent"),
        ("--bf16", "false", "present"),
        ("--bf16", "true", "absent"),
    ],
)
def test_tied_embeddings(tmp_path: Path, flag: str, tied: str, expected: str) -> None:
    """Megatron ties embeddings and output layer unless a flag says otherwise."""
    launch = f"torchrun pretrain_gpt.py --lr 1e-4 --tensor-model-parallel-size 1 {flag} --load ./ckpt\n"
    files = {"run.sh": launch, "hf/config.json": QWEN % tied, "a.log": log()}

    assert state(tmp_path, "other-tying-than-weights", files) == expected


def test_tied_embeddings_without_weights_to_load(tmp_path: Path) -> None:
    """A model that is trained from nothing may be tied as one likes."""
    launch = "torchrun pretrain_gpt.py --lr 1e-4 --untie-embeddings-and-output-weights\n"
    files = {"run.sh": launch, "hf/config.json": QWEN % "true", "a.log": log()}

    assert state(tmp_path, "other-tying-than-weights", files) == "unknown"


SAVES = "torchrun pretrain_gpt.py --lr 1e-4 --load /c/p --save /c/p {} --train-iters 4000\n"
FORMERS = (
    "output_dir: './output'\nload_checkpoint: './output/checkpoint/rank_0/glm_rank_0-1200_1.ckpt'\n"
    "resume_training: {}\nlearning_rate: 1.0e-4\n"
)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("run.sh", SAVES.format("--finetune"), "present"),
        ("run.sh", SAVES.format("--finetune").replace("--load /c/p", "--load /c/hf"), "absent"),
        ("run.sh", SAVES.format("--bf16"), "unknown"),
        ("run.yaml", FORMERS.format("False"), "present"),
        ("run.yaml", FORMERS.format("True"), "absent"),
        ("run.yaml", FORMERS.format("False").replace("/rank_0/glm_rank_0-1200_1.ckpt", ""), "present"),
        (
            "run.yaml",
            FORMERS.format("False").replace("glm_rank_0", "pretrain_rank_0"),
            "absent",
        ),  # a stage before
    ],
)
def test_its_own_checkpoint_as_a_new_training(tmp_path: Path, name: str, text: str, expected: str) -> None:
    """By where it saves, what it loads, and what says that it begins anew."""
    said = " loading checkpoint from /c/p at iteration 2000\n"
    rows = "".join(MEGATRON.format(1 + n, 3 + 1 / (n + 1)) for n in range(60))

    assert state(tmp_path, "own-checkpoint-as-new", {name: text, "a.log": said + rows}) == expected


def test_processes_that_each_train_alone(tmp_path: Path) -> None:
    """A loop starts them, and the log of each says that it is the only one."""
    loop = "for i in 0 1\ndo\n python t.py --lr 1 --dist-backend hccl --npu $i > $i.log 2>&1 &\ndone\n"
    files = {f"rank_{n}.log": f"world size: 1\n{log()}" for n in (0, 1)}

    assert state(tmp_path, "world-size-one", {"run.sh": loop, **files}) == "present"


@pytest.mark.parametrize(
    ("evaluated", "expected"),
    [("net-3_50.ckpt", "present"), ("net-60_50.ckpt", "absent"), ("net-3_70.ckpt", "unknown")],
)
def test_an_early_checkpoint_by_the_length_of_the_run(tmp_path: Path, evaluated: str, expected: str) -> None:
    """The checkpoints are not there: MindSpore's names tell the epoch and its steps."""
    rows = "".join(f"epoch: {n} step: 50, loss is {1 + 5 / n:.4f}\n" for n in range(1, 61))
    launch = {"eval/run.sh": f"python eval.py --ckpt ./ckpt/{evaluated} --batch 8\n"}
    told = {"eval/log": f"Load checkpoint from /w/ckpt/{evaluated} successfully\ntop1 accuracy: 0.3\n"}

    for place, said in (("launched", launch), ("told", told)):
        found = state(tmp_path / place, "early-checkpoint-scored", {"train.log": rows, **said})
        assert found == expected


def test_an_early_checkpoint_where_not_every_step_is_logged(tmp_path: Path) -> None:
    """The last row is not the last step of its epoch: the epoch in the name tells."""
    at = ((n, s) for n in range(1, 61) for s in (100, 200, 300, 600))
    rows = "".join(f"epoch: {n} step: {s}, loss is {1 + 5 / n:.4f}\n" for n, s in at)
    for name, expected in (("net-5_625.ckpt", "present"), ("net-55_625.ckpt", "absent")):
        told = {"eval/log": f"Load checkpoint from /w/ckpt/{name} successfully\ntop1 accuracy: 0.3\n"}
        found = state(tmp_path / name, "early-checkpoint-scored", {"train.log": rows, **told})
        assert found == expected


GRAPH = """import tensorflow as tf
from npu_bridge.npu_init import *
op.parameter_map["precision_mode"].s = tf.compat.as_bytes("{}")
train = {}
"""


@pytest.mark.parametrize(
    ("mode", "train", "expected"),
    [
        ("force_fp16", "opt.minimize(loss)", "present"),
        ("force_fp16", "NPULossScaleOptimizer(opt, manager).minimize(loss)", "unknown"),
        ("must_keep_origin_dtype", "opt.minimize(loss)", "absent"),
    ],
)
def test_a_graph_in_fp16_without_loss_scale(tmp_path: Path, mode: str, train: str, expected: str) -> None:
    """No script that lies there speaks of a loss scale."""
    files = {"train.py": GRAPH.format(mode, train), "train.log": log()}

    assert state(tmp_path, "fp16-without-loss-scale", files) == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Namespace(amp=False, opt_level='O1', lr=0.1)", "present"),
        ("device: npu:0 n_gpu: 1, 16-bits training: False", "present"),
        ("Namespace(amp=True, opt_level='O1', lr=0.1)", "unknown"),
        ('args: {"lr": 0.1, "fp16": false, "epochs": 60, "batch": 8, "seed": 1}', "present"),  # of JSON
    ],
)
def test_full_precision_by_the_log(tmp_path: Path, said: str, expected: str) -> None:
    """The switch that was off when it ran stands above its level."""
    assert state(tmp_path, "full-precision-in-use", {"train.log": f"{said}\n{log()}"}) == expected


@pytest.mark.parametrize(
    ("said", "device", "wanted"),
    [
        (
            "UserWarning: User provided device_type of 'cuda', but CUDA is not available. Disabling",
            "npu:0",
            "present",
        ),
        ("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", "npu:3", "present"),
        ("torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", "cpu", "unknown"),
        ("UserWarning: CUDA is not available", "npu:0", "unknown"),
    ],
)
def test_mixed_precision_of_the_old_device(tmp_path: Path, said: str, device: str, wanted: str) -> None:
    rows = "".join(f"step {i} loss {3 / i:.3f}\n" for i in range(1, 20))
    (tmp_path / "train.log").write_text(f"using device: {device}\n{said}\n{rows}")
    assert reading("in_force", "cuda-switched-off-on-npu", open_run(tmp_path)).state == wanted


def test_processes_of_one_node_that_train_alone(tmp_path: Path) -> None:
    """`worker-0-proc-3.txt` is of process 3; each says that its group has one member."""
    for rank in range(4):
        rows = "".join(f"epoch: 1 step: {i}, loss is {3 / i + 0.1 * rank:.4f}\n" for i in range(1, 30))
        head = "Namespace(batch_size=32, device_num=4, lr=0.1)\n[init] rank=0 group_size=1\n"
        (tmp_path / f"modelarts-worker-0-proc-{rank}.txt").write_text(head + rows)
    run = open_run(tmp_path)
    assert sorted(run.ranks) == [0, 1, 2, 3]
    assert reading("in_force", "trains-alone", run).state == "present"
