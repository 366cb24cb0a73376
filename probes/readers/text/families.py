"""Which framework prints like this: marks on lines that hold metrics."""

from __future__ import annotations

import re
from collections import Counter

from ...run import Window

_MARKS = (
    (", loss is ", "mindspore"),
    ("per_step_time", "mindformers"),
    ("elapsed time per iteration", "megatron"),
    ("consumed samples", "megatron"),
    ("number of skipped iterations", "megatron"),
    ("reduced_train_loss", "nemo"),
    ("skipped=", "deepspeed"),
    ("num_updates", "fairseq"),
    ("wps=", "fairseq"),
    ("optim/total_grad_norm", "olmo"),
    ("train/CrossEntropyLoss", "olmo"),
    ("'loss':", "hf"),
    ("'eval_loss':", "hf"),
    ("s/sample", "keras"),
    (" - loss: ", "keras-like"),
    ("tokens_per_second_per_gpu", "torchtune"),
    ("tps:", "torchtitan"),
    ("step_avg:", "modded-nanogpt"),
    ("imgsize", "mindyolo"),
    ("batch_cost", "paddle"),
    ("reader_cost", "paddle"),
    ("sec/step", "tf-slim"),
    ("completed step:", "maxtext"),
)
_IN_PREFIX = (
    ("tensorflow:", "tensorflow"),
    ("solver.cpp", "caffe"),
    ("ppgan", "paddle"),
    ("ppdet", "paddle"),
)
_OVERFLOW = re.compile(r"overflow(?: cond)?[:=]\s*(True|False)")
_OPENMMLAB = re.compile(r"(?:Epoch|Iter)(?:\(\w+\))?\s*\[")
_KERAS_BAR = re.compile(r"^\s*\d+/\d+\s+(?:\[[=>.]*\]\s*|━+\s*)?- (?:ETA: )?[\d:]+(?:m?s|us)?\b")
_PER_STEP = re.compile(r"\d(?:[mun]?|\N{MICRO SIGN})s/step")  # no name, as "timing_s/step:95" has it
_BAR_MARKS = ("%|", "[=", "[>", "ETA:", "it/s", "s/it", "s/step", "━")

WINDOWS: dict[str, Window] = {
    "megatron": "mean-since-last",
    "hf": "mean-since-last",
    "openmmlab": "mean-since-last",
    "detectron2": "median",
    "fairseq": "mean-since-last",
    "keras": "epoch-mean",
    "mindspore": "point",
    "mindformers": "point",
}
FRAMEWORKS = {
    "mindspore": "mindspore",
    "mindformers": "mindspore",
    "mindyolo": "mindspore",
    "megatron": "pytorch",
    "nemo": "pytorch",
    "deepspeed": "pytorch",
    "fairseq": "pytorch",
    "hf": "pytorch",
    "openmmlab": "pytorch",
    "detectron2": "pytorch",
    "torchtune": "pytorch",
    "torchtitan": "pytorch",
    "nanogpt": "pytorch",
    "modded-nanogpt": "pytorch",
    "olmo": "pytorch",
    "keras": "keras",
    "tensorflow": "tensorflow",
    "tf-slim": "tensorflow",
    "paddle": "paddle",
    "maxtext": "jax",
    "caffe": "caffe",
}
NAMED = {"mindspore": "mindspore-lossmonitor", "tensorflow": "tf-estimator", "": "key-value"}
_NO_FAMILY = frozenset(
    {"overflow-true", "overflow-false", "keras-like", "detection", "printed-dict", "keras-2"}
)
# More telling than what else their lines hold.
_SPECIAL = (
    "mindformers",
    "megatron",
    "fairseq",
    "hf",
    "nemo",
    "detectron2",
    "mindyolo",
    "paddle",
    "keras",
    "tf-slim",
)


def marks(body: str, prefix: str) -> frozenset[str]:
    """Return the marks of a line; "overflow-true" and "overflow-false" are MindFormers' condition."""
    found = {family for mark, family in _MARKS if mark in body}
    found |= {family for mark, family in _IN_PREFIX if mark in prefix}
    overflow = _OVERFLOW.search(body)
    if overflow:
        found.add(f"overflow-{overflow.group(1).lower()}")
    if "data_time" in body and _OPENMMLAB.search(body):
        found.add("openmmlab")
    if "{'" in body:
        found.add("printed-dict")
    if "step: " not in body:
        found.discard("mindspore")
    if "mfu" in body and "iter " in body:
        found.add("nanogpt")
    if _KERAS_BAR.search(body) or _PER_STEP.search(body):
        found.add("keras")
    if "keras" in found and ("[=" in body or "[>" in body or "s/epoch" in body):
        found.add("keras-2")  # its later versions draw other bars, with TensorFlow, JAX or PyTorch below
    if "max_mem:" in body and "eta:" in body:
        found.add("detectron2")
    return frozenset(found)


def most(marked: Counter[str]) -> str:
    """The family of a log whose lines bear these marks, so many each; empty where none is known."""
    counts = Counter({f: c for f, c in marked.items() if f not in _NO_FAMILY})
    if counts["mindspore"]:
        del counts["hf"]  # there a dict is what its evaluation gave
    if not counts:
        return "keras" if marked["keras-like"] else ""
    for special in _SPECIAL:
        if counts[special] and counts[special] >= 0.3 * max(counts.values()):
            return special
    return max(sorted(counts), key=lambda f: counts[f])


def is_bar(body: str) -> bool:
    """Say whether a line is a state of a progress bar."""
    return any(mark in body for mark in _BAR_MARKS) or bool(_KERAS_BAR.search(body))
