"""TensorFlow on Ascend (npu_bridge) in scripts: shares of the data, and the scale of the loss."""

from __future__ import annotations

import ast
import re

from ...readers.script import keyword
from ...registry import Finding
from ...scripts.syntax import Script
from ..shared.checks import at, ok

ASCEND_TF = re.compile(r"^\s*(?:import|from)\s+(?:npu_bridge|npu_device)\b", re.MULTILINE)
_IMPORT = re.compile(r"^\s*(?:import|from)\s.*$", re.MULTILINE)
_STEPS = ("minimize", "apply_gradients")
_SEVERAL = re.compile(
    r"hcom_parallel\s*=\s*True|NPUDistributedOptimizer\(|npu_distributed_optimizer_wrapper\("
)
_SHARES = re.compile(r"(?i)shard|rank_?id|get_rank\b|get_rank_id|part_id|num_parts|input_context|device_id")
_READERS = (
    "TFRecordDataset",
    "FixedLengthRecordDataset",
    "TextLineDataset",
    "from_tensor_slices",
    "list_files",
)
_SCALES = re.compile(r"(?i)loss_?scale_?optimizer|NPUOptimizer\(|\*\s*\w*loss_scale|scale_loss")
_MIXED = ("allow_mix_precision", "allow_mix_precision_fp16")


def used(source: Script) -> str:
    """The program without its imports: what is only imported is not used."""
    return _IMPORT.sub("", source.code)


def every_rank_reads_all_on_ascend(source: Script) -> Finding | None:
    """Gradients are joined over ranks, and no part of the program asks which share a rank takes."""
    if not ASCEND_TF.search(source.code) or source.loose or not source.named(*_STEPS):
        return None
    readers = source.named(*_READERS)
    code = used(source)
    if not readers or not _SEVERAL.search(code):
        return None
    if _SHARES.search(code):
        return ok(source, readers[0], "each rank takes its own share")
    return at(source, readers[0], "every rank reads all samples: nothing shards them")


def mixed_without_scale(source: Script) -> Finding | None:
    """`precision_mode="allow_mix_precision"` of a session or an Estimator that trains, and no loss scale."""
    if not ASCEND_TF.search(source.code) or source.loose or not source.named(*_STEPS):
        return None
    for call in source.calls:
        given = keyword(call, "precision_mode")
        texts = [given] if given is not None else []
        if not texts and "precision_mode" in ast.unparse(source.statement(call) or call):
            texts = list(call.args[:1])
        for text in texts:
            if not isinstance(text, ast.Constant) or text.value not in _MIXED:
                continue
            if _SCALES.search(used(source)):
                return ok(source, call, "the loss is scaled")
            why = f"`{text.value}` trains in fp16, and nothing scales the loss: small gradients become zero"
            return at(source, call, why)
    return None
