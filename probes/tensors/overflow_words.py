"""An overflow in words: tensors, the verdict, and what to do."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...engine.model import ComparedOperator, OverflowedOperator, OverflowReport
from .knowledge import knowledge, plain
from .model import Tensor

if TYPE_CHECKING:
    from .condition import Condition

_DIVIDES = re.compile(r"^(?:divide|div|realdiv|truediv|reciprocal|rsqrt|sqrt|log|log2|log10|log1p|pow|norm)$")
_EXPONENTIAL = re.compile(r"^(?:exp|expm1|softplus|logsumexp|softmax|logsoftmax|cosh|sinh|square|pow)$")


UNDUMPED = "every recorded rank puts sound values in: a rank that was not dumped brings them"


def described(tensor: Tensor, found: Condition) -> str:
    """One tensor: "input.0 float16 [4, 8]: -255.2 to 227"."""
    shape = "x".join(map(str, tensor.shape)) or "scalar"
    words = []
    if not found.known:
        words.append("values unknown")
    else:
        words += [w for w, on in (("NaN", found.nan), ("+inf", found.up), ("-inf", found.down)) if on]
        if found.saturated or found.saturated_down:
            words.append("saturated")
        finite = [v for v in (found.low, found.high) if v is not None and math.isfinite(v)]
        if finite:
            words.append(f"{finite[0]:.4g} to {finite[-1]:.4g}")
    return f"{tensor.name} {tensor.dtype or 'of unknown type'} {shape}: {', '.join(words)}"


def report(
    path: str,
    found: Sequence[OverflowedOperator],
    *,
    strip: tuple[ComparedOperator, ...],
    formats: Sequence[str],
    loss_scale: tuple[str, ...],
    settings: tuple[str, ...],
    notes: tuple[str, ...],
    ranks: tuple[int, ...],
    steps: tuple[int, ...],
    looked: int,
    unknown: int,
) -> OverflowReport:
    """Put the answer together."""
    first = next((o for s in ("first", "brought", "flagged") for o in found if o.state == s), None)
    kind, verdict = _verdict(first, found, looked, unknown)
    todo = _next(kind, first, settings) if first is not None else ()
    if kind == "clean" and unknown:
        notes = (*notes, f"{unknown} operators tell nothing of their values")
    return OverflowReport(
        path,
        tuple(formats),
        kind,  # type: ignore[arg-type]
        verdict,
        first,
        tuple(found),
        strip,
        todo,
        loss_scale,
        settings,
        notes,
        ranks,
        steps,
        looked,
    )


def _verdict(
    first: OverflowedOperator | None, found: Sequence[OverflowedOperator], looked: int, unknown: int
) -> tuple[str, str]:
    if first is None:
        if any(o.state in ("harmless", "absorbed") for o in found):
            harmless = sum(o.state == "harmless" for o in found)
            hold = "operator holds" if harmless == 1 else "operators hold"
            return "harmless", f"Nothing overflows: {harmless} {hold} values by design that are not finite."
        if looked and unknown < looked:
            return "clean", f"No operator of {looked} makes a value that is not finite or is saturated."
        return "cannot tell", "The dump holds no values or statistics to tell by."
    where = f"{first.name}{_place(first)}"
    after = sum(o.state == "passed on" for o in found)
    rest = f" {after} operators after it only pass them on." if after > 1 else ""
    rest = " One operator after it only passes them on." if after == 1 else rest
    if first.state == "first":
        what = _what(first)
        verb = "bring" if first.why.startswith(UNDUMPED) else "make"
        return "operator", f"{where} is the first to {verb} {what}; {first.why}.{rest}"
    if first.state == "flagged":
        return "flagged", (
            f"The hardware flags {where} first ({first.flags[0] if first.flags else 'no detail'}); "
            f"{first.why}."
        )
    if first.why == "weights":
        return (
            "weights",
            f"The weights of {where} are not finite when the step begins: it began before.{rest}",
        )
    if first.why == "input":
        return "input", f"The input of the first operator, {where}, is not finite.{rest}"
    return "outside", (
        f"{where} takes values that are not finite from something that the dump does not hold.{rest}"
    )


def _place(one: OverflowedOperator) -> str:
    parts = [f"step {one.step}"] if one.step is not None else []
    parts += [f"rank {one.rank}"] if one.rank is not None else []
    return f" ({', '.join(parts)})" if parts else ""


def _what(one: OverflowedOperator) -> str:
    text = " ".join(one.outputs)
    words = [
        w for w, sign in (("NaN", "NaN"), ("infinite", "inf"), ("saturated", "saturated")) if sign in text
    ]
    return f"{' and '.join(words) or 'unsound'} values"


def _next(kind: str, first: OverflowedOperator, settings: tuple[str, ...]) -> tuple[str, ...]:
    todo: list[str] = []
    if settings:
        todo.append("Correct the setting above first: it explains the rest")
    if kind == "weights":
        todo.append(
            "Dump the step before, with its backward pass and optimizer: what makes the weights is there"
        )
    elif kind == "input":
        todo.append(
            "Check the batch of this step: `assert np.isfinite(x).all()` on every input; name the sample"
        )
    elif kind == "outside":
        todo.append(
            "Dump at a finer level (msprobe level mix, all operators): what makes the values is not recorded"
        )
    elif kind == "flagged":
        todo.append(
            f"If {first.kind or 'the operator'} works on padding (private formats are padded with zeros: "
            "log or division of them overflows), the flag is harmless: exempt it, or set "
            "enable_overflow_check=False"
        )
        todo.append("Else decode its tensors, and look at them again")
    else:
        todo += _repairs(first)
    if kind in ("operator", "flagged") and not first.why.startswith(UNDUMPED):
        todo.append("Rerun the step: it worked if this operator no longer stands in the dump")
    return tuple(todo)


def _repairs(first: OverflowedOperator) -> list[str]:
    todo = []
    if first.why.startswith(UNDUMPED):
        todo.append("Dump every rank of its group at this step: the operator to look for is on another rank")
        if "float16" in first.why:
            todo.append("If all of them are sound: reduce in fp32, or divide before the sum")
        return todo
    word = knowledge().kind(first.kind)
    half = any(" float16 " in t for t in (*first.inputs, *first.outputs))
    eight = any(" float8" in t for t in (*first.inputs, *first.outputs))
    if first.why.startswith("every entry"):
        todo.append(
            "Give rows in which everything is masked something to attend to, or a finite mask value (-1e4)"
        )
    if _DIVIDES.match(word) or _DIVIDES.match(plain(first.kind)):
        todo.append(
            "Add an epsilon (1e-6; in fp16 at least 1e-4) to what it divides by, or takes a root or log of"
        )
    if _EXPONENTIAL.match(plain(first.kind)):
        todo.append("Bound its input: subtract the maximum, clamp it, or use the operator's stable form")
    if half or eight:
        small = "float16" if half else "float8"
        todo.append(
            "Keep this operator in fp32 (`.float()` around it, the mixed-precision black list, keep_dtype), "
            f"or train in bf16: {small} ends at {'65504' if half else '448 or 57344'}"
        )
    if half and first.direction == "backward":
        todo.append("Let the loss scale fall (dynamic loss scale), or lower a fixed one")
    if knowledge().kind(first.kind) == "cross_entropy":
        todo.append("Look at its input: such logits come from weights that ran away; lower the learning rate")
    if not todo:
        todo.append(
            "Look at its inputs for extreme values; lower the learning rate or clip gradients if they grow"
        )
    return todo
