"""Edits that a port to another device brings with it and that change nothing: kinds of integers, levels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...by_role.side import Side
from ...script_diff.edit import Edit
from ...script_diff.vocabulary import word_set

_INTEGERS = word_set("int8 int16 int32 int64 long int() long() 'int32' 'int64' 'int' 'long'")
_CASTS = _INTEGERS | word_set("to() type() astype() type_as() to.dtype $:to $:type $:astype $:int $:long")
# where one side puts the tensor in the same call: `.to(device, dtype=torch.int32)`
_PLACES = re.compile(
    r"^\$(?:loc|local_rank|\w*device\w*|dev|rank|args?|cfg|opt|self|gpu\w*|npu\w*)$|^device$|^gpu$"
)
_CLASSES = re.compile(r"(?i)^(?:\w*cross_?entropy\w*|nll_?loss|sparse_softmax_cross_entropy\w*)$")
_SHARES = re.compile(
    r"(?i)^(?:mixup\w*|cutmix\w*|one_?hot|\w*soft_?target\w*|bce\w*|binary_cross\w*|\w*bceloss\w*)$"
)
_MIXED_LEVELS = word_set("'O1' 'O2' 'O3' 'auto'")


def port_kept(edits: Sequence[Edit], mine: Side, theirs: Side) -> Iterator[Edit]:
    """The edits that leave what is computed as it was."""
    apex = _apex_here_alone(mine, theirs)
    for e in edits:
        if _integers(e, mine, theirs) or _level(e, mine, theirs) or (apex and _of_apex(e)):
            yield e


def _apex_here_alone(mine: Side, theirs: Side) -> bool:
    """The run computes in mixed precision by apex, with its scaled loss; the benchmark in full precision.

    That is told of the benchmark (`benchmark-not-mixed`), and is no fault of the run's step.
    """
    whole = mine.source.named("initialize") and mine.source.named("scale_loss")
    return bool(whole) and not theirs.mentions(r"autocast|^amp$|GradScaler|fp16|bf16|float16|\bhalf\b")


def _of_apex(edit: Edit) -> bool:
    words = edit.gone | edit.new
    return bool(words & {"initialize()", "scale_loss()", "$scaled_loss"}) and edit.kind != "constant"


def _integers(edit: Edit, mine: Side, theirs: Side) -> bool:
    """`target.to(torch.int32)` of class indices: the losses of torch_npu take int32, those of CUDA int64.

    Only where both programs compare with classes, and none with shares: those a cast would cut off.
    """
    words = edit.gone | edit.new
    if not words & _INTEGERS or not all(w in _CASTS or _PLACES.search(w) for w in words):
        return False
    if not {"labels", "loss.target"} & set(edit.roles[:1]) or edit.kind in (
        "moved",
        "into-loop",
        "out-of-loop",
    ):
        return False
    return all(_classes(side) for side in (mine, theirs))


def _classes(side: Side) -> bool:
    return side.mentions(_CLASSES.pattern) and not side.mentions(_SHARES.pattern)


def _level(edit: Edit, mine: Side, theirs: Side) -> bool:
    """MindSpore's level for another device: O2 is made for GPU, O3 for Ascend; both are mixed precision."""
    levels = edit.gone | edit.new
    if not edit.within or not edit.within[0].endswith(".amp_level") or not levels <= _MIXED_LEVELS:
        return False
    here, there = _device(mine), _device(theirs)
    return "'O3'" not in edit.new or here != there or not here  # on one device O3 holds more in fp16


def _device(side: Side) -> str:
    """The device that a MindSpore program sets; "" of one that does not say."""
    return next((name for name in ("Ascend", "GPU", "CPU") if side.mentions(f"^{name}$")), "")
