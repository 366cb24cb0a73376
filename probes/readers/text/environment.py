"""Facts about where a run ran: versions, devices, how many processes."""

from __future__ import annotations

import re

from ....engine.model import Scalar

_VERSION = re.compile(
    r"\b(pytorch[-_ ]lightning|pytorch|torch[-_]npu|torch|mindspore|mindformers|mindspeed|tensorflow"
    r"|transformers|deepspeed|paddlepaddle|paddle|cann|cuda|numpy|jax|flax|accelerate|peft|trl|lightning|keras|flash[-_]attn"
    r"|megatron[-_]core|transformer[-_]engine|liger[-_]kernel|bitsandbytes|xformers|ultralytics)"
    r"(?:[ _](?:version|info))?[\"']?(?:\s*(?:==|[:=]|\bv|-|\s)\s*|\s?\.{3,}\s*)(?:version=)?[\"']?v?"
    r"(\d{1,2}\.\d{1,3}(?:\.\d{1,3})?(?:[.+-]?(?:rc|dev|post|cu|a|b)\w*)?)",
    re.IGNORECASE,
)
# The heads of `nvidia-smi` and `npu-smi info`.
_DRIVER = re.compile(
    r"\bNVIDIA-SMI .{0,40}\bDriver Version: (\d{2,4}\.[\d.]{1,12})"
    r"|\bnpu-smi (\d{1,2}\.\d[\w.]{0,12}) +Version:"
)
# "will be removed in transformers 5.0", "requires torch 2.4 or later": no word on what is installed.
_NOT_INSTALLED = re.compile(
    r"deprecat|remov|requir|upgrad|at least|or (?:later|newer|higher|above)\b|\bsince\b|prior to|\bbefore\b"
    r"|introduced|must be|should be|minimum|starting (?:from|with)|compatible|tested (?:with|on)|will be"
    r"|\be\.g\.|recommend|\binstall\b|trained with|saved (?:with|from)|\bfrom version\b",
    re.IGNORECASE,
)
_NAMES = {"pytorch": "torch", "paddlepaddle": "paddle"}
_FRAMEWORK = {
    "torch": "pytorch",
    "torch-npu": "pytorch",
    "mindspore": "mindspore",
    "tensorflow": "tensorflow",
    "paddle": "paddle",
    "jax": "jax",
}
_DEVICE = re.compile(
    r"(Ascend ?(?:910|310)\w*"
    r"|(?:NVIDIA |Tesla |GeForce |Quadro )[A-Z]\w*"
    r"(?: ?(?:RTX|GTX|Ti|SUPER|PCIe|SXM\d?|[A-Z]?\d{2,4}\w*|\d+ ?GB)\b)*"
    r"|\b(?:A100|H100|H800|A800|V100|MI250X?|MI300X?)(?:-\w+)*\b)"
)
_NPU = re.compile(r"(?i)\b(?:using |on |training on )?device(?: is)?\s*[:=]?\s*['\"(]{0,2}npu(?::\d{1,3})?\b")
_WORLD = re.compile(
    # "dp world size", "data_parallel_world_size", "local_world_size": of a part of them
    r"(?<!\b[cdemps]p[ _])(?<!\btp[ _])(?<!parallel[ _])(?<!local[ _])(?<!group[ _])"
    r"world[ _]size\s*(?::|=|is)?\s*(\d{1,6})\b|\busing (\d{1,5}) GPUs\b"
    r"|\bStarting with (\d{1,5}) processes|\bGLOBAL_RANK: \d+, MEMBER: \d+/(\d{1,5})"  # Lightning
    r"|\brank(?:_id)?\s*[=:]\s*\d{1,5}[,;]?\s+(?:group|rank)_size\s*[=:]\s*(\d{1,6})\b"
    r"|^\s*Num processes: (\d{1,5})\s*$"  # accelerate
    r"|^\s*GPU number: (\d{1,5})\s*$"  # mmengine
    r"|\bProcess \d+, total (\d{1,5})\b",  # timm
    re.IGNORECASE,
)
# How many processes a communicator joins: the world, or a part of it.
_COMMUNICATOR = re.compile(r"\bnranks[ =:]+(\d{1,6})\b|\brankSize\[(\d{1,6})\]")
# transformers; timm; open_clip; DETR, MAE and their kin
_ALONE = re.compile(
    r"\bn_gpu: [01]\b.{0,40}distributed training: False|\b(?:Training|Running) with a single process\b"
    r"|^\s*Not using distributed mode\s*$"
)
_PRECISION = re.compile(
    r"using torch\.(float16|bfloat16|float32) for parameters"
    r"|Using (16bit|bf16|32bit|16) (?:None |native )?(?:Automatic Mixed Precision|\(AMP\)|precision)",
    re.IGNORECASE,
)
# transformers' examples print their switch; timm says in which way it trains.
_SWITCH = re.compile(r"\b16-bits training: (True|False)\b|\bAMP not enabled\. Training in (float32)\b")
# Keras counts the training files first; Ultralytics says which part it scans.
_FOUND = re.compile(
    r"\bFound (\d{1,12}) (?:images|files|validated image filenames|samples) belonging to \d+ classes"
    r"|\b(?:[Dd]ata ?[Ss]et|[Tt]rain(?:ing)?)\b[^\d\n]{0,40}[:=] ?(\d{3,12}) (?:images|samples)"
    r",? (?:in |of |from )?\d+ classes"
    r"|^train: (?:Scanning|New cache|Fast image).{0,200}?(\d{1,12}) images, \d+ backgrounds, \d+ corrupt"
)
_USED = re.compile(r"\bUsing (\d{1,12}) files for training\b")
_LONG = 600


def look(text: str, facts: dict[str, Scalar]) -> None:
    """Add to `facts` what a line says of versions, devices and the number of processes."""
    if len(text) > _LONG:
        return
    for match in () if _NOT_INSTALLED.search(text) else _VERSION.finditer(text):
        written = match.group(1).lower().replace("_", "-").replace(" ", "-")
        name = _NAMES.get(written, written)
        facts.setdefault(f"version:{name}", match.group(2))
        if name in _FRAMEWORK:
            facts.setdefault("framework", _FRAMEWORK[name])
    if "-smi " in text.lower() and (found := _DRIVER.search(text)) is not None:
        name = "nvidia-driver" if found.group(1) else "ascend-driver"
        facts.setdefault(f"version:{name}", found.group(1) or found.group(2))
    if (found := _DEVICE.search(text)) is not None:
        facts.setdefault("device", found.group(1).strip())
    elif _NPU.search(text) is not None:
        facts.setdefault("device", "npu")
    if (found := _WORLD.search(text)) is not None:
        facts.setdefault("world_size", int(next(g for g in found.groups() if g)))
    elif _ALONE.search(text) is not None:
        facts.setdefault("world_size", 1)
    if (found := _COMMUNICATOR.search(text)) is not None:
        size, known = int(found.group(1) or found.group(2)), facts.get("communicator_size")
        facts["communicator_size"] = max(size, known) if isinstance(known, int) else size
    if (found := _USED.search(text)) is not None:
        facts["samples_found"] = int(found.group(1))
    elif (found := _FOUND.search(text)) is not None:
        facts.setdefault("samples_found", int(next(g for g in found.groups() if g)))
    if (found := _PRECISION.search(text)) is not None:
        facts.setdefault("precision", (found.group(1) or found.group(2)).lower())
    elif (found := _SWITCH.search(text)) is not None:
        facts.setdefault("precision", "float16" if found.group(1) == "True" else "float32")
