"""What kind of operator goes wrong first: one that meets a zero, one that reads data, a fused one."""

from __future__ import annotations

from ...engine.model import ComparedOperator, Place, Subject
from ..registry import Finding, View, absent, present, probe, unknown
from ..run import Run
from ..tensors.knowledge import is_fused, knowledge, plain
from .dumps import NO_DUMP, TO_BLAME, by_bits, comparison, overflowed, subject, where_of
from .falls import fallen
from .twice import other_bits_of_equal
from .zeros import ALWAYS_FINITE, meets_zero

# They bring a batch into the graph; nothing is computed in them.
SOURCES = frozenset(
    {"getnext", "iteratorgetnext", "getnextfromqueue", "dynamicgetnext", "queuedequeue", "dequeue"}
)


@probe()
def zero_met(view: View) -> Finding:
    """The first operator that gives what is not finite divides by zero, or takes its logarithm or root.

    An input whose least or largest value is exactly zero holds one; where zero lies between the two nothing
    is known.
    """
    found = overflowed(view.run)
    if found is None or not found.report.looked:
        return unknown(NO_DUMP)
    if found.origin is None:
        if found.report.first is None and found.whole and found.report.kind != "cannot tell":
            return absent("no operator of the dump makes what is not finite from finite inputs")
        return unknown(found.report.verdict)
    operator = found.origin.operator
    if not found.origin.lasting:
        return absent(f"what {operator.name} makes is not left at the step's end")
    met = meets_zero(operator)
    if met is None and knowledge().kind(operator.kind) in ALWAYS_FINITE:
        return absent(f"{operator.name} has a value at zero: its numbers are too large")
    if met is None:
        return unknown(f"whether {operator.name} meets a zero is not recorded")
    tensor, low = met
    return present(
        f"{operator.name} is given {tensor.name} with values down to {low:g}, where it has no value",
        value=low,
        step=operator.step,
        where=(Place(operator.outputs[0].file or operator.name, step=operator.step, rank=operator.rank),),
        subject=Subject(operator.name, operator.step, operator.rank),
    )


def _brought(run: Run) -> tuple[bool | None, str]:
    """Whether the batch itself is what is not finite first; None: the dump does not tell. And in words."""
    found = overflowed(run)
    if found is None or not found.report.looked:
        return None, NO_DUMP
    report = found.report
    begin = next((o for o in report.operators if o.state in ("first", "brought")), None)
    if begin is None:
        clean = report.kind == "clean" and found.whole
        return (False if clean else None), report.verdict
    if begin.state == "first" and plain(begin.kind) in SOURCES:
        return True, f"{begin.name}, which brings the batch, gives values that are no numbers"
    if begin.state == "brought" and begin.why == "input":
        return True, f"what enters the first operator, {begin.name}, holds values that are no numbers"
    return (False if begin.state == "first" else None), report.verdict


@probe()
def input_not_finite(view: View) -> Finding:
    """What the dump shows of the batch: it is not finite before anything has been computed of it."""
    state, words = _brought(view.run)
    return unknown(words) if state is None else present(words) if state else absent(words)


@probe()
def fused_bad(view: View) -> Finding:
    """The operator that computes otherwise than the benchmark's, from inputs that agree, is a fused one."""
    found = comparison(view)
    if found is None:
        return unknown("no operators were compared")
    to_blame = found.first if found.kind in TO_BLAME and not by_bits(found) else None
    first = to_blame or fallen(found)
    if not isinstance(first, ComparedOperator):
        return unknown(first if first and not found.verdict else found.verdict)
    if not is_fused(first.kind):
        return absent(f"{first.name} is no fused operator")
    return present(
        f"{first.name}, a fused operator, gives other outputs from inputs that agree",
        value=first.output_error,
        step=first.step,
        where=where_of(first),
        subject=subject(first),
    )


@probe()
def other_bits(view: View) -> Finding:
    """A table of checksums, or dumps of two equal runs, in which one operator makes other bits of equal bits.

    All before it agrees in every bit, so both sides are runs of one program on one kind of device.
    """
    found = other_bits_of_equal(view)
    if found is None or found.first is None:
        compared = comparison(view)
        return unknown("no operators were compared" if compared is None else compared.verdict)
    return present(
        f"{found.first.name} makes other bits of equal bits, and all before it agrees in every bit",
        step=found.first.step,
        where=where_of(found.first),
        subject=subject(found.first),
    )
