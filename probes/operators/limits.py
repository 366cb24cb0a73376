"""Values of fp16 tensors that stand at the end of its range, in dumps and in what msprobe's monitor keeps."""

from __future__ import annotations

import re

import numpy as np

from ...engine.model import Place
from ..registry import Finding, View, absent, place, present, probe, unknown
from ..run import Setting
from ..tensors.condition import LARGEST, condition
from ..tensors.model import Operator, Tensor
from ..tensors.opdebug import flags
from .dumps import NO_DUMP, dumps, monitored

NEAR = 0.999  # share of the largest number from which on a value counts as at the limit
FILLS = (
    "fill",
    "mask",
    "full",
    "where",
    "clamp",
    "finfo",
    "set",
    "copy",
    "empty",
)  # they write a chosen number


def _at_limit(operator: Operator, tensor: Tensor) -> bool:
    """A positive value at the end of the range: masks use the negative end, and backward the loss scale's."""
    if tensor.dtype != "float16" or operator.direction != "forward":
        return False
    if any(word in operator.kind.lower() for word in FILLS):
        return False
    high = tensor.statistics.max
    if high is None:
        found = condition(tensor)
        high = found.high if found.known else None
    return high is not None and NEAR * LARGEST["float16"] <= high


def _saturates(operator: Operator) -> bool:
    """Inputs lie inside the range of fp16, and an output stands at its end or beyond."""
    if operator.direction != "forward" or re.search(r"(?i)grad", operator.name):
        return False  # backward, the loss scale may try its limit
    if any(word in operator.kind.lower() for word in FILLS) or not operator.inputs:
        return False
    inside = [_highest(t) for t in operator.inputs]
    if any(v is None or not v < NEAR * LARGEST["float16"] for v in inside):
        return False
    over = [_highest(t) for t in operator.outputs if t.dtype == "float16"]
    return any(v is not None and not v < NEAR * LARGEST["float16"] for v in over)


def _highest(tensor: Tensor) -> float | None:
    """The largest value by size; NaN where the tensor holds one."""
    low, high = tensor.statistics.min, tensor.statistics.max
    if low is None or high is None:
        found = condition(tensor)
        if not found.known:
            return None
        low, high = found.low, found.high
    return None if low is None or high is None else max(abs(low), abs(high))


@probe()
def flagged_saturates(view: View) -> Finding:
    """The operator that the hardware flags takes values of fp16's range and gives such as have left it."""
    found, notes = flags(view.run.dump_files)
    if not found:
        return unknown(
            notes[0] if notes else "no decoded overflow data (Opdebug.*.json) lies in the run directory"
        )
    tasks = {f".{f.task}.{f.stream}." for f in found}
    held = [o for d in dumps(view.run) for o in d.operators if any(t in _file(o) for t in tasks)]
    if not held:
        return unknown("no dump of the operators that were flagged lies beside the flags")
    for operator in held:
        if _saturates(operator):
            return present(
                f"{operator.name}, which the hardware flags, leaves the range of fp16 from inputs inside it",
                step=operator.step,
                where=(
                    Place(operator.outputs[0].file or operator.name, step=operator.step, rank=operator.rank),
                ),
            )
    return unknown("what the flagged operators take and give does not show an overflow of theirs")


def _file(operator: Operator) -> str:
    """The name of a file of its output: it holds task and stream."""
    return (
        operator.outputs[0].file.rpartition("/")[2] if operator.outputs and operator.outputs[0].file else ""
    )


@probe()
def half_at_limit(view: View) -> Finding:
    """A tensor of the forward pass in fp16 reaches 65504, the largest number of the format, or infinity."""
    held = (*dumps(view.run), *monitored(view.run))
    looked = 0
    for dump in sorted(held, key=lambda d: (d.step or 0, d.rank or 0)):
        for operator in dump.operators:
            for tensor in operator.outputs:
                looked += tensor.dtype == "float16" and operator.direction == "forward"
                if _at_limit(operator, tensor):
                    name = operator.name.partition(": ")[2] or operator.name
                    at = "" if operator.step is None else f" at step {operator.step}"
                    return present(
                        f"{name} gives fp16 values at the end of the format's range, 65504{at}",
                        value=tensor.statistics.max,
                        threshold=LARGEST["float16"],
                        step=operator.step,
                        where=(Place(tensor.file or name, step=operator.step, rank=operator.rank),),
                    )
    if not held:
        return unknown(NO_DUMP)
    if not looked:
        return unknown("no output in the dumps is known to be of fp16")
    return absent(f"{looked} outputs of fp16 stay below 65504", value=looked)


_SATURATES = {
    "INF_NAN_MODE_ENABLE": ("0", "false"),
    "MS_ASCEND_CHECK_OVERFLOW_MODE": ("saturation_mode",),
}


@probe()
def saturates_unseen(view: View) -> Finding:
    """Overflow is set to saturate, values of fp16 stand at 65504, and the loss scale does not answer.

    In this mode nothing becomes infinite: a scaler that looks for infinities goes on as if all were well.
    """
    said = next(
        (
            s
            for s in view.run.raw_settings
            if str(s.value).lower() in _SATURATES.get(s.key.rpartition(".")[2], ())
        ),
        None,
    )
    if said is None:
        return unknown("no setting says that an overflow saturates (INF_NAN_MODE_ENABLE=0)")
    scale = view.run.series.get("loss_scale")
    known = scale.values[np.isfinite(scale.values)] if scale is not None else np.zeros(0)
    if len(known) and np.min(known) < known[0]:
        return absent("the loss scale goes down: overflows are seen")
    looked = 0
    for dump in (*dumps(view.run), *monitored(view.run)):
        for operator in dump.operators:
            for tensor in (*operator.inputs, *operator.outputs):
                looked += tensor.dtype == "float16"
                high = _highest(tensor) if tensor.dtype == "float16" else None
                if high is not None and NEAR * LARGEST["float16"] <= high <= LARGEST["float16"]:
                    if any(word in operator.kind.lower() for word in FILLS):
                        continue
                    return present(
                        f"{said.key} = {said.value}, and {operator.name} stands at {high:g}, the end of fp16",
                        value=high,
                        step=operator.step,
                        where=(
                            Place(said.file, said.line),
                            Place(tensor.file or operator.name, step=operator.step),
                        ),
                    )
    if (logged := _logged(view, said)) is not None:
        return logged
    if not looked:
        return unknown("nothing of fp16 was dumped or monitored, and no logged figure stands at its end")
    return absent(f"{looked} tensors of fp16 stay below 65504", value=looked)


def _logged(view: View, said: Setting) -> Finding | None:
    """A loss or gradient norm that is 65504 exactly, more than once: the largest number of fp16."""
    for name in ("train/loss", "grad_norm"):
        one = view.run.series.get(name)
        if one is None:
            continue
        at = np.flatnonzero(np.abs(one.values) == LARGEST["float16"])
        if len(at) > 1:
            return present(
                f"{said.key} = {said.value}, and {name} is 65504, the end of fp16, at {len(at)} points",
                value=LARGEST["float16"],
                step=float(one.steps[at[0]]),
                series=(name,),
                where=(Place(said.file, said.line), place(one, int(at[0]))),
            )
    return None
