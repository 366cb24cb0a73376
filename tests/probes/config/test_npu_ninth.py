"""What a ninth suite of NPU directories showed: zeros in lines, dictionaries, switches, samples."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from traindoctor.engine.load import load_rules
from traindoctor.probes.assembly.assemble import open_run
from traindoctor.probes.readings import readings

RULES = load_rules()
ROWS = "".join(f"step {i} loss {2 + 9 / i:.4f} lr 1e-4\n" for i in range(1, 41))


def found(folder: Path, symptom: str, mine: dict[str, str], theirs: dict[str, str] | None = None) -> str:
    """The state of a symptom in a directory of these files, beside a benchmark of those."""
    sides = []
    for side, files in (("run", mine), ("benchmark", theirs)):
        if files is None:
            continue
        for name, text in files.items():
            path = folder / side / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        sides.append(open_run(folder / side))
    bench = sides[1] if len(sides) > 1 else None
    read = dict(readings(sides[0], bench, [RULES.symptoms[symptom]]))[symptom]
    assert "probe error" not in read.why, read.why
    return str(read.state.value)


@pytest.mark.parametrize(
    ("counts", "state"), [([0, 0, 14, 0], "present"), ([14, 0, 0, 0], "present"), ([0, 0, 0, 0], "unknown")]
)
def test_counts_after_a_line_of_zeros(tmp_path: Path, counts: list[int], state: str) -> None:
    """`npu-smi info -t ecc` prints one shape of line for each device, and the first ones are well."""
    text = "".join(
        f"    NPU ID          : {n}\n    HBM Double Bit Error Count    : {c}\n" for n, c in enumerate(counts)
    )
    assert found(tmp_path, "log-device-memory-errors", {"ecc.txt": text, "train.log": ROWS}) == state


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ("[WARNING] 17.jpg: Label class 83 exceeds nc=80. Possible class labels are 0-79", "present"),
        ("ValueError: class id 12 >= num_classes 10", "present"),
        ("corrupt image 17.jpg: cannot be read", "absent"),
        ("label smoothing 0.1, class weights are 80 numbers", "unknown"),
    ],
)
def test_labels_beyond_the_classes(tmp_path: Path, line: str, state: str) -> None:
    """However a tool says that a label is too large."""
    text = "torch 2.1.0\n" + line + "\n" + ROWS
    assert found(tmp_path, "log-labels-out-of-range", {"train.log": text}) == state


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ("the error is [Errno 2] No such file or directory: '/d/17.mp4', skip this sample", "present"),
        ("Skipping sample 17: FileNotFoundError: /d/17.wav", "present"),
        ("latest does not exist, skip loading the optimizer", "unknown"),
        ("checkpoint /out/last.ckpt does not exist, skip resume", "unknown"),
        ("No such file or directory: local_config.yaml, skipping it", "unknown"),
    ],
)
def test_samples_that_are_skipped(tmp_path: Path, line: str, state: str) -> None:
    """Files that are not there, and samples that are passed over for it."""
    assert found(tmp_path, "log-data-warning", {"train.log": line + "\n" + ROWS}) == state


DECODED = "postprocess:\n  character_dict_path: utils/{}\nlr: 0.1\n"
CODED = "train:\n  character_dict_path: utils/en_dict.txt\neval:\n  character_dict_path: utils/en_dict.txt\n"


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (CODED + DECODED.format("ch_dict.txt"), "present"),
        (CODED + DECODED.format("en_dict.txt"), "absent"),
        ("model:\n  src:\n    vocab_path: a.txt\n", "absent"),
        ("lr: 0.1\nbatch_size: 8\n", "unknown"),
    ],
)
def test_dictionaries(tmp_path: Path, text: str, state: str) -> None:
    """Labels are coded by one dictionary and decoded by another."""
    assert found(tmp_path, "dictionaries-disagree", {"config.yaml": text}) == state
    assert found(tmp_path, "held-out-file-of-training", {"config.yaml": text}) != "present"


@pytest.mark.parametrize(
    ("mode", "losses", "state"),
    [
        ("0", ["9.1", "65504", "8.8", "65504"], "present"),
        ("0", ["9.1", "9.0", "8.8", "8.7"], "unknown"),
        ("1", ["9.1", "65504", "8.8", "65504"], "unknown"),
    ],
)
def test_logged_figures_at_the_end_of_fp16(tmp_path: Path, mode: str, losses: list[str], state: str) -> None:
    """In saturation mode a loss that overflows is the largest number of the format."""
    files = {
        "env.txt": f"INF_NAN_MODE_ENABLE={mode}\nHCCL_DETERMINISTIC=true\n",
        "train.log": "".join(f"step {n} loss {v} lr 1e-4\n" for n, v in enumerate(losses * 3)),
    }
    assert found(tmp_path, "overflow-saturates-unseen", files) == state


def pipeline(*steps: str) -> str:
    """A data configuration with these steps."""
    listed: list[dict[str, Any]] = [{"trans_type": s, "param": {"size": 3}} for s in steps]
    return json.dumps({"dataset_param": {"train_pipeline": {"video": listed}}, "batch_size": 2})


@pytest.mark.parametrize(
    ("mine", "theirs", "state"),
    [
        (["ToTensor", "Crop"], ["ToTensor", "Crop", "norm_fun"], "present"),
        (["ToTensor", "Crop", "norm_fun"], ["ToTensor", "Crop"], "present"),
        (["ToTensor", "Crop"], ["ToTensor", "Crop"], "absent"),
        (["ToTensor"], [], "unknown"),
        (["ToTensor"], ["to_image"], "absent"),  # the words of another library
        (["NPUResize", "Flip"], ["Resize", "Flip"], "absent"),  # a device's own of the same step
        (["Resize", "Flip", "PackDetInputs"], ["Resize", "Flip", "Collect"], "absent"),  # packing
    ],
)
def test_steps_of_a_pipeline(tmp_path: Path, mine: list[str], theirs: list[str], state: str) -> None:
    """A step that one side leaves out."""
    sides = [{"data.json": pipeline(*steps)} for steps in (mine, theirs)]
    assert found(tmp_path, "pipeline-steps-differ", *sides) == state


PROMPT, ANSWER = [151644, 872, 198, 108386, 151645], [104198, 31838, 102661, 99718, 151645]


@pytest.mark.parametrize(
    ("mine", "theirs", "state"),
    [
        (PROMPT + ANSWER, [-100] * 5 + ANSWER, "present"),
        ([-100] * 5 + ANSWER, [-100] * 5 + ANSWER, "absent"),
        ([-100] * 5 + ANSWER, None, "unknown"),
        ([-100] * 2 + ANSWER[::-1] * 2, [-100] * 7 + ANSWER, "unknown"),  # of another sample
    ],
)
def test_labels_that_are_printed(
    tmp_path: Path, mine: list[int], theirs: list[int] | None, state: str
) -> None:
    """The first sample of LLaMA-Factory and its kin."""
    sides = [{"train.log": ("" if ids is None else f"label_ids:\n{ids}\n") + ROWS} for ids in (mine, theirs)]
    assert found(tmp_path, "printed-labels-masked-otherwise", *sides) == state


SIZES = {"hidden_size": 3584, "num_attention_heads": 28, "ffn_hidden_size": 18944, "num_hidden_layers": 28}


@pytest.mark.parametrize(
    ("theirs", "state"),
    [
        ({**SIZES, "hidden_size": 1536, "num_attention_heads": 12, "ffn_hidden_size": 8960}, "present"),
        ({**SIZES, "hidden_size": 1536, "num_hidden_layers": 14}, "unknown"),  # made too small, perhaps
    ],
)
def test_sizes_of_a_model(tmp_path: Path, theirs: dict[str, int], state: str) -> None:
    """Width, heads and inner width at once are another model, whatever its depth."""
    sides = [{"a.json": json.dumps(sizes)} for sizes in (SIZES, theirs)]
    assert found(tmp_path, "benchmark-other-task", *sides) == state


@pytest.mark.parametrize(
    ("off", "state"),
    [
        ({"qkv": 2.4}, "present"),
        ({}, "absent"),
        ({"qkv": 2.4, "out": 1.5, "up": 3.0, "down": 2.0}, "unknown"),
    ],
)
def test_gradients_of_one_kind(tmp_path: Path, off: dict[str, float], state: str) -> None:
    """One kind of weight is off in every layer."""
    sides = []
    for scales in (off, dict[str, float]()):
        rows = "".join(
            f"layers.{n}.{kind}.weight,1,-1,{(n + 1) * scales.get(kind, 1.0)},[4]\n"
            for n in range(4)
            for kind in ("qkv", "out", "up", "down")
        )
        sides.append({"grad_summary_0.csv": "param_name,max,min,norm,shape\n" + rows, "train.log": ROWS})
    assert found(tmp_path, "gradients-of-one-kind-off", *sides) == state


@pytest.mark.parametrize(("fall", "state"), [(0.9, "present"), (1.31, "unknown")])
def test_a_trained_model_that_stands_in_bf16(tmp_path: Path, fall: float, state: str) -> None:
    """Its loss would fall: the benchmark's does, from the same weights."""
    config = "finetuning_type: full\nbf16: true\nlearning_rate: 1.0e-6\n"
    rows = [
        "".join(f"step {n} loss {1.32 + (end - 1.32) * n / 60:.4f}\n" for n in range(60))
        for end in (1.315, fall)
    ]
    sides = [
        {"sft.yaml": config + pure, "train.log": text}
        for pure, text in zip(("pure_bf16: true\n", ""), rows, strict=True)
    ]
    assert found(tmp_path, "stands-in-bf16", *sides) == state


def test_switches_alone_and_npu_smi(tmp_path: Path) -> None:
    """A file of switches, and the listing of the devices."""
    (tmp_path / "env.txt").write_text("HCCL_DETERMINISTIC=true\nTASK_QUEUE_ENABLE=2\n")
    (tmp_path / "smi.txt").write_text(
        "+------+\n| npu-smi 24.1.rc2     Version: 24.1.rc2   |\n+------+\n"
        "| 0     910B3          | OK            | 95.3        48                0    / 0             |\n"
    )
    (tmp_path / "train.log").write_text(ROWS)
    run = open_run(tmp_path)
    assert {s.key for s in run.raw_settings} >= {"HCCL_DETERMINISTIC", "TASK_QUEUE_ENABLE"}
    assert run.facts["device"] == "Ascend910B3"
    assert run.facts["version:ascend-driver"] == "24.1.rc2"


def test_scores_of_mindocr(tmp_path: Path) -> None:
    """What the callback calls performance is that of the evaluation."""
    text = "".join(
        f"epoch: [{n}/9] step: [84/84], loss: {9 / n:.4f}, lr: 0.002\n"
        f"- Performance: {{'recall': 0.{n}1, 'f-score': 0.{n}2, 'acc': 0.{n}3}}, eval time: 9.1s\n"
        for n in range(1, 9)
    )
    (tmp_path / "log.txt").write_text(text)
    assert {"eval/f1", "eval/accuracy"} <= open_run(tmp_path).series.keys()


@pytest.mark.parametrize(("level", "state"), [(9.0, "absent"), (1.0, "present")])
def test_no_number_long_after_a_divergence(tmp_path: Path, level: float, state: str) -> None:
    """A loss that was thrown off for good is not calm when it ends in NaN."""
    losses = [f"{1 + 2 / n:.3f}" for n in range(1, 15)] + [f"{level + n % 3 / 9:.3f}" for n in range(15)]
    text = "".join(f"step {n} loss {v} lr 0.01\n" for n, v in enumerate([*losses, *["nan"] * 9]))
    assert found(tmp_path, "loss-not-finite-sudden", {"train.log": text}) == state


@pytest.mark.parametrize(
    ("other", "state"), [("head.weight 55.2000", "absent"), ("head.weight 51.4000", "present")]
)
def test_first_weights_by_name_and_number(tmp_path: Path, other: str, state: str) -> None:
    """Names and sums without a sign between them."""
    logs = {
        f"rank_{n}.log": f"[rank {n}] init checksum: embed.weight 112.3100 {head}\n" + ROWS
        for n, head in enumerate(["head.weight 55.2000", other])
    }
    assert found(tmp_path, "first-weights-of-ranks-differ", logs) == state


@pytest.mark.parametrize(
    ("growth", "reward", "state"), [(1.11, -1, "present"), (1.11, 1, "absent"), (1.0, -1, "absent")]
)
def test_a_policy_that_leaves_and_earns_less(tmp_path: Path, growth: float, reward: int, state: str) -> None:
    """A divergence told by the token is small in nats, and has left its reference all the same."""
    text = "".join(
        f"step {n} {{'policy_loss': 0.0{n % 7}, 'kl': {0.001 * growth**n:.5f},"
        f" 'reward': {0.5 + reward * n / 200:.4f}}}\n"
        for n in range(1, 81)
    )
    assert found(tmp_path, "policy-leaves-reference", {"train.log": text}) == state


@pytest.mark.parametrize(
    "names", [("gk_on", "gk_off"), ("run", "run_no_flash_attn"), ("a_fused", "a_no_fusion")]
)
def test_folders_without_fusion(tmp_path: Path, names: tuple[str, str]) -> None:
    """A switch of fusion in the name of one of two folders."""
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.log").write_text(ROWS)
    assert open_run(tmp_path).unfused is not None


@pytest.mark.parametrize(("noise", "state"), [(0.0, "absent"), (0.4, "present")])
def test_a_smooth_loss_has_no_course_of_epochs(tmp_path: Path, noise: float, state: str) -> None:
    """A fall that bends alike in each epoch is no pattern of the epochs; teeth at their start are."""
    text = "".join(
        f"Epoch {1 + n // 6}/100, Step {100 * (1 + n % 6)}/600,"
        f" loss: {4 * math.exp(-n / 40) + 3 + noise * (n % 6 == 2):.4f}\n"
        for n in range(90)
    )
    assert found(tmp_path, "loss-epoch-sawtooth", {"train.log": text}) == state


@pytest.mark.parametrize(
    ("name", "mean", "state"),
    [
        ("validate", "[0.0, 0.0, 0.0]", "present"),
        ("eval_r50", "[125.3, 122.9, 113.8]", "absent"),
        ("test", "[0.49137, 0.48196, 0.44627]", "absent"),  # of values from 0 to 1
        ("model", "[0, 0, 0]", "unknown"),
    ],
)
def test_files_of_training_and_evaluation(tmp_path: Path, name: str, mean: str, state: str) -> None:
    """Each has a configuration of its own, called so."""
    files = {
        "train.yaml": "model: resnet50\nmean: [125.3, 122.9, 113.8]\nlr: 0.1\nbatch_size: 8\n",
        f"{name}.yaml": f"model: resnet50\nmean: {mean}\nbatch_size: 8\n",
    }
    assert found(tmp_path, "script-splits-processed-differently", files) == state


FEWSHOT = {
    "train_lora.yaml": "model: llama\nstage: sft\ntemplate: llama3\n",
    "eval_mmlu.yaml": "model: llama\ntask: mmlu_test\ntemplate: fewshot\n",
}
OWN = "model: vit\n{}:\n  std: {}\n"
COUNTED = '{{"count": {}, "mean": {}, "std": 1.9, "min": 1, "max": 5}}'
FOR = "data: {}\nmodel:\n  name: {}\nnormalize:\n  mean: [{}, 0.5, 0.4]\n"


@pytest.mark.parametrize(
    "files",
    [
        FEWSHOT,
        {"train.yaml": OWN.format("init", 0.02), "eval.yaml": OWN.format("noise", 0.1)},
        {"train_stats.json": COUNTED.format(9, 3.4), "test_stats.json": COUNTED.format(5, 3.3)},
        {"train_a.yaml": FOR.format("cifar", "vit", 0.4), "test_b.yaml": FOR.format("cifar", "clip", 0.3)},
        {"train.yaml": FOR.format("cifar", "vit", 0.4), "eval_ood.yaml": FOR.format("svhn", "vit", 0.3)},
    ],
)
def test_files_of_other_things(tmp_path: Path, files: dict[str, str]) -> None:
    """Examples for a benchmark, other figures called so, other models, other data."""
    assert found(tmp_path, "script-splits-processed-differently", files) != "present"
    same = {"train.yaml": FOR.format("c_train", "vit", 0.4), "eval.yaml": FOR.format("c_test", "vit", 0.3)}
    assert found(tmp_path / "b", "script-splits-processed-differently", same) == "present"


def test_classes_of_a_batch_are_not_those_of_the_data(tmp_path: Path) -> None:
    """Printed with each step they are as few as a batch holds."""
    text = "".join(f"step {i} loss {2 + 9 / i:.4f}\nclass counts: [14, 2]\n" for i in range(1, 41))
    assert found(tmp_path, "train-samples-few", {"train.log": text}) == "unknown"


@pytest.mark.parametrize(
    ("more", "state"), [("", "present"), ("=> resuming checkpoint 'a.pt' (epoch 3)\n", "unknown")]
)
def test_random_weights_that_are_replaced(tmp_path: Path, more: str, state: str) -> None:
    """open_clip says first that the model is random, and loads what it resumes from afterwards."""
    said = "WARNING | No pretrained weights loaded for model 'RN50'. Model initialized randomly.\n"
    text = f"{said}train_num_samples: 60000\n{more}{ROWS}"
    assert found(tmp_path, "random-weights-on-little", {"train.log": text}) == state


@pytest.mark.parametrize(("start", "state"), [("srun python", "present"), ("srun -n 1 python", "unknown")])
def test_cores_that_are_asked_for_as_tasks(tmp_path: Path, start: str, state: str) -> None:
    """Who starts one task of eight has asked for the cores of eight."""
    job = f"#!/bin/bash\n#SBATCH --ntasks-per-node=8\n{start} train.py --lr 0.1\n"
    log = "Training with a single process on 1 GPU.\n" + ROWS
    assert found(tmp_path, "trains-alone", {"job.sbatch": job, "slurm-7.out": log}) == state


@pytest.mark.parametrize(("since", "state"), [(2000, "present"), (0, "unknown")])
def test_samples_counted_from_zero(tmp_path: Path, since: int, state: str) -> None:
    """Megatron goes on with the iterations, and not with the samples."""
    text = "  successfully loaded checkpoint from ./ckpt [ t 0, p 0 ] at iteration 2000\n" + "".join(
        f" iteration {i:8d}/    4000 | consumed samples: {(i - since) * 128:12d} | learning rate: 1.0E-04 |"
        f" global batch size:   128 | lm loss: {3 - i / 9000:.6E} | loss scale: 1.0 | grad norm: 0.4 |\n"
        for i in range(2010, 2410, 10)
    )
    assert found(tmp_path, "log-samples-begin-anew", {"train.log": text}) == state


@pytest.mark.parametrize(
    "counts",
    [
        "class counts: [48211, 210, 87]",
        "类别样本数: {'ok': 48211, 'a': 210, 'b': 87}",
        "class distribution = [48211,210,87]",
    ],
)
def test_one_class_for_all_samples(tmp_path: Path, counts: str) -> None:
    """An accuracy that stands at the share of the largest class tells of no other checkpoint."""
    text = (
        counts
        + "\n"
        + "".join(
            f"epoch: {n} step: 380, loss is {0.6 / n:.5f}\nepoch {n} eval acc: 0.9938\n" for n in range(1, 31)
        )
    )
    assert found(tmp_path, "accuracy-equals-majority", {"train.log": text}) == "present"
    assert found(tmp_path / "b", "eval-stands-still", {"train.log": text}) != "present"


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ("WARNING: token id 151851 out of range for embedding of 151643 rows", "present"),
        ("token ids outside of the vocabulary were clipped", "present"),
        ("token ids are 1 to 9, labels are shifted", "unknown"),
    ],
)
def test_tokens_without_rows(tmp_path: Path, line: str, state: str) -> None:
    """What the tokenizer gives, and the model has no row for."""
    assert found(tmp_path, "log-tokens-out-of-range", {"train.log": line + "\n" + ROWS}) == state


@pytest.mark.parametrize(("clip", "state"), [("0.01", "unknown"), ("0.5", "absent")])
def test_clipping_alone_differs(tmp_path: Path, clip: str, state: str) -> None:
    """Nothing else differs, and gradients are cut a hundred times shorter: not all is equal."""
    text = "adam_beta1: 0.9\nadam_beta2: 0.95\nadam_epsilon: 1.0e-8\ngradient_accumulation_steps: 2\n"
    text += "max_grad_norm: "
    assert (
        found(tmp_path, "further-hyperparameter-differs", {"a.yaml": text + clip}, {"a.yaml": text + "1.0"})
        == state
    )


@pytest.mark.parametrize(
    ("template", "state"),
    [("llama3", "present"), ("qwen", "absent"), ("qwen2_5", "absent"), ("default", "present")],
)
def test_templates_of_training_and_inference(tmp_path: Path, template: str, state: str) -> None:
    """What is asked has to be wrapped as what was learned; families have several names."""
    files = {
        "train_sft.yaml": "stage: sft\ntemplate: qwen\nlearning_rate: 1.0e-5\n",
        "infer.yaml": f"model_name_or_path: saves/a\ntemplate: {template}\n",
    }
    assert found(tmp_path, "script-splits-processed-differently", files) == state
