"""Which files are parts of one checkpoint: shards by number, ranks of DeepSpeed and Megatron, split tensors.

DeepSpeed: `<tag>/mp_rank_00_model_states.pt`, in stage 3 `zero_pp_rank_<r>_mp_rank_00_model_states.pt`, with
experts and pipeline layers in files of their own; then the weights stand in the optimizer's flat groups.
Megatron: `iter_<n>/mp_rank_<tp>[_<pp>[_<ep>]]/model_optim_rng.pt`. torch.distributed.checkpoint: see `dcp`.
Hugging Face: `<stem>-00001-of-00003.safetensors`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from ..files import RunFile
from .dcp import METADATA, SUFFIX

MAX_INDEX = 64 * 1024**2
SHARD = re.compile(r"^(?P<stem>.+)-\d{5}-of-(?P<of>\d{5})(?P<suffix>\.\w+)$")
_DEEPSPEED = re.compile(
    r"^(?P<label>(?:zero_pp_rank_\d+_)?mp_rank_\d+|layer_\d+(?:_expert_\d+)?[-_](?:model_\d+|mp_rank_\d+))"
    r"[-_]model_states\.pt$"
)
_MEGATRON_FOLDER = re.compile(r"^mp_rank_\d{2,3}(?:_\d{3}){0,2}$")
_MEGATRON_FILE = re.compile(r"^model(?:_optim)?(?:_rng)?\.(?:pt|pth)$")
FLAT = re.compile(r"^(?:bf16_)?(?P<label>zero_pp_rank_\d+_mp_rank_\d+)_optim_states\.pt$")
_PLACE = re.compile(r"mp_rank_(?P<tensor>\d+)(?P<rest>(?:_\d{3})*)")


@dataclass(frozen=True, slots=True)
class Part:
    """Where a file belongs: the path of the checkpoint, and which part of it ("": it has no name)."""

    checkpoint: str
    label: str = ""


def described(files: Iterable[RunFile]) -> frozenset[str]:
    """Folders whose `.metadata` tells what lies in them."""
    listed = list(files)
    shards = {folder_of(f.path) for f in listed if f.suffix == SUFFIX}
    return frozenset(folder_of(f.path) for f in listed if f.name == METADATA) & shards


def part_of(file: RunFile, folders: frozenset[str]) -> Part | None:
    """Say which checkpoint a file is a part of; None: it lies in a described folder and is no shard of it."""
    folder = folder_of(file.path)
    if folder in folders:
        return Part(folder or ".") if file.name == METADATA or file.suffix == SUFFIX else None
    shard = SHARD.match(file.name)
    if shard:
        name = f"{shard['stem']}{shard['suffix']}"
        return Part(f"{folder}/{name}" if folder else name)
    deepspeed = _DEEPSPEED.match(file.name)
    if deepspeed:
        return Part(folder or ".", deepspeed["label"])
    last = PurePosixPath(folder).name
    if _MEGATRON_FOLDER.match(last) and _MEGATRON_FILE.match(file.name):
        return Part(folder_of(folder) or ".", last)
    return Part(file.path)


def folder_of(path: str) -> str:
    """The folder of a path; "" for the root."""
    folder = PurePosixPath(path).parent.as_posix()
    return "" if folder == "." else folder


def same_stage(label: str, other: str) -> bool:
    """Whether two parts are tensor-parallel ranks of one stage: what is not split is equal in both."""
    a, b = _PLACE.search(label), _PLACE.search(other)
    prefix = [x[: m.start()] for x, m in ((label, a), (other, b)) if m]
    return a is not None and b is not None and a["rest"] == b["rest"] and prefix[0] == prefix[1]


def indexed(files: Iterable[RunFile]) -> dict[str, frozenset[str]]:
    """Checkpoint path -> names that its index says are in the shards."""
    found = {}
    for file in files:
        if not file.name.endswith(".index.json") or file.size > MAX_INDEX:
            continue
        try:
            names = json.loads(file.read_text()).get("weight_map")
        except (OSError, ValueError, RecursionError, AttributeError):
            continue
        if isinstance(names, Mapping):
            found[file.path.removesuffix(".index.json")] = frozenset(map(str, names))
    return found
