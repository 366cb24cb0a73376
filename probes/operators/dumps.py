"""What operator dumps in the run's directory show: alone, against the benchmark's, against a repeat."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ...engine.model import ComparedOperator, DumpComparison, Place, Subject
from ..assembly import roles
from ..assembly.reruns import DATA as RERUN
from ..config.values import value_of
from ..curves.scale_history import told
from ..curves.scaler import scale
from ..files import RunFile
from ..registry import Finding, View, absent, present, probe, unknown
from ..run import Run
from ..tensors import anomalies, overflow
from ..tensors.compare import NotADump, Options, compare_dumps
from ..tensors.find import dumps_of
from ..tensors.knowledge import knowledge
from ..tensors.model import BENCHMARKS, Dump
from ..tensors.names import is_comparison
from ..tensors.opdebug import flags
from ..tensors.results import judge_files
from ..tensors.settings import settings
from .zeros import meets_zero

NO_DUMP = "no operator dump lies in the run directory"
TO_BLAME = frozenset({"operator", "collective"})
OTHER_CALL = frozenset({"replaced", "argument", "extra"})
CLEAN = frozenset({"identical", "agrees"})
# Sums of many products: between two kinds of device, or two libraries, they never agree in all bits.
SUMMING = frozenset({"linear", "matmul", "convolution", "layer_norm", "rms_norm", "batch_norm", "attention"})
LEAST_SAME = 3
MOST_ELEMENTS = 2_000_000_000  # values that are looked at where statistics do not tell


_NUMBERED = re.compile(r"(?i)(?:^|/)([\w-]*?(?:debug|run|repeat|rerun|time|try|trial)[_-]?)(\d{1,2})(?:/|$)")


@lru_cache(maxsize=4)
def dumps(run: Run) -> tuple[Dump, ...]:
    """The operator dumps of a run."""
    return tuple(d for d in dumps_of({f.path: f for f in run.dump_files}) if d.operators)


@lru_cache(maxsize=4)
def with_others(run: Run) -> tuple[Dump, ...]:
    """The operator dumps of a run, and of further runs in the same directory, which may be its repeats."""
    others = {f.path: f for f in run.other_dump_files}
    return (*dumps(run), *(d for d in dumps_of(others) if d.operators)) if others else dumps(run)


@lru_cache(maxsize=4)
def monitored(run: Run) -> tuple[Dump, ...]:
    """What msprobe's overflow check and monitor kept of a run, as dumps."""
    return tuple(anomalies.find({f.path: f for f in run.dump_files}))


@lru_cache(maxsize=2)
def compared(run: Run, benchmark: Run | None) -> DumpComparison | None:
    """How operators compare with the benchmark's: its dump, one beside the run's own, or a tool's results.

    precision_tool keeps the benchmark's TensorFlow dump in the run's tree. None: nothing to compare.
    """
    mine = dumps(run)
    if benchmark is not None and mine and (theirs := dumps(benchmark)):
        return compare_dumps(mine, theirs, run.info.path, benchmark.info.path)
    labels = {d.label for d in mine}
    if labels & BENCHMARKS and labels - {*BENCHMARKS, "overflow_decode"}:
        return compare_dumps(mine, mine, run.info.path, run.info.path)
    sides = {d.path: roles.of(d.path) for d in mine}
    if set(sides.values()) == {"run", "benchmark"}:  # `npu_dump/` beside `gpu_dump/`
        ours, others = ([d for d in mine if sides[d.path] == role] for role in ("run", "benchmark"))
        return compare_dumps(
            ours, others, f"{run.info.path}/{ours[0].path}", f"{run.info.path}/{others[0].path}"
        )
    tables = [f for f in run.dump_files if _is_comparison(f)]
    return judge_files(tables, run.info.path) if tables else None


def _is_comparison(file: RunFile) -> bool:
    try:
        return is_comparison(file)
    except OSError:
        return False


def _repeats(run: Run) -> tuple[list[Dump], list[Dump]] | None:
    """The first two dumps whose folders differ in the run's number alone: debug_0, dump_run1, repeat-2."""
    series: dict[str, dict[int, list[Dump]]] = {}
    for dump in with_others(run):
        found = _NUMBERED.search(f"{dump.label}/{dump.path}")
        if found is not None:
            name = found.group(1).lower()
            series.setdefault(name, {}).setdefault(int(found.group(2)), []).append(dump)
    for numbered in series.values():
        if len(numbered) > 1:
            first, second = sorted(numbered)[:2]
            return numbered[first], numbered[second]
    return None


@lru_cache(maxsize=2)
def overflowed(run: Run) -> overflow.Examined | None:
    """Where values leave the range of numbers: by dumps, else by what msprobe or hardware flags."""
    held = dumps(run) or monitored(run)
    flagged, notes = flags(run.dump_files)
    if not held and not flagged:
        return None
    history, settled = told(run)
    if scale(run) is None:
        history = ()
    options = overflow.Options(calibrated=settled)
    return overflow.of_dumps(
        run.info.path, held, flagged, run.dump_files, options, history, notes, MOST_ELEMENTS
    )


@lru_cache(maxsize=2)
def repeated(run: Run) -> DumpComparison | str:
    """Two dumps of equal runs (debug_0, debug_1) held against each other, bit by bit; or why not."""
    sides = _repeats(run)
    if sides is None:
        return "no two dumps of equal runs (debug_0 and debug_1, run1 and run2) lie in the run directory"
    one, two = sides
    try:
        here, there = (f"{run.info.path}/{side[0].path}" for side in (one, two))
        return compare_dumps(one, two, here, there, Options(exact=True))
    except NotADump as error:
        return str(error)


def by_bits(found: DumpComparison) -> bool:
    """Whether checksums alone were compared, of two runs that agree in all bits up to the operator to blame.

    Such runs are of one program on one kind of device: the operator gives other bits from equal bits.
    """
    first = found.first
    if found.kind not in TO_BLAME or first is None:
        return False
    apart = [t for t in first.tensors if t.state == "differs"]
    if not apart or any(t.figures is not None for t in apart):
        return False
    return sums_agree(found)


def sums_agree(found: DumpComparison) -> bool:
    """Whether several operators that sum, which show any other order, agree in every bit before the first."""
    if found.first is None:
        return False
    rank = found.first.rank
    kinds = [knowledge().kind(o.kind) for o in found.operators if o.state == "same" and o.rank == rank]
    return sum(k in SUMMING for k in kinds) >= LEAST_SAME


MANY = 3  # ranks from which one alone stands out


@dataclass(frozen=True, slots=True)
class Ranks:
    """Where the operator to blame is wrong, and where right."""

    first: ComparedOperator
    bad: frozenset[int | None]
    right: frozenset[int | None]

    @property
    def one_alone(self) -> bool:
        """Whether one rank of several is wrong and all others are right."""
        return self.bad == {self.first.rank} and len(self.right) >= MANY - 1


def ranks_of(found: DumpComparison, first: ComparedOperator) -> Ranks:
    """On which ranks operators are wrong, and on which the one to blame is right."""
    bad = frozenset(o.rank for o in found.operators if o.state in ("first", "also"))
    others = [o for o in found.operators if o.name == first.name and o.rank != first.rank]
    return Ranks(first, bad, frozenset(o.rank for o in others if o.state in ("same", "agrees")))


def comparison(view: View) -> DumpComparison | None:
    """The comparison with the benchmark's operators, if there is one."""
    return compared(view.run, view.benchmark)


def _missing(view: View) -> str:
    if not dumps(view.run):
        return NO_DUMP
    if view.benchmark is None:
        return "no benchmark was given (--benchmark) whose operator dump could be compared"
    return "no operator dump lies in the benchmark's directory"


def where_of(one: ComparedOperator) -> tuple[Place, ...]:
    """The user's own line where the dump knows it, and the file or folder of it; else the operator."""
    told = (one.source.partition(": ")[0], one.file)
    return tuple(Place(file, rank=one.rank) for file in told if file) or (Place(one.name, rank=one.rank),)


def subject(one: ComparedOperator) -> Subject:
    """The operator that a comparison names, with its step and rank."""
    return Subject(one.name, one.step, one.rank)


def _told_by_outputs(one: ComparedOperator) -> bool:
    """Whether outputs alone are known, at a cosine that the guide takes for equal: rounding may add up."""
    cosines = [t.figures.cosine for t in one.tensors if t.figures is not None]
    known = [c for c in cosines if c is not None]
    if any(t.name.startswith("input") for t in one.tensors) or len(known) < max(1, len(one.tensors)):
        return False
    return min(known) >= knowledge().tolerances.cosine


@probe()
def compare_bad(view: View) -> Finding:
    """An operator gives other outputs from inputs that agree with the benchmark's; see operators.yaml."""
    found = comparison(view)
    if found is None:
        return unknown(_missing(view))
    if by_bits(found):
        return unknown(f"{found.verdict} Only checksums are compared, and all before it agrees in every bit")
    if found.kind in TO_BLAME and found.first is not None and _told_by_outputs(found.first):
        return unknown(f"{found.verdict} What goes into it is not recorded, and it is off by little")
    if found.kind in TO_BLAME and found.first is not None and ranks_of(found, found.first).one_alone:
        return unknown(f"{found.verdict} It is right on every other rank: the device may be wrong")
    if found.kind in TO_BLAME and found.first is not None:
        return present(
            found.verdict,
            value=found.first.output_error,
            step=found.first.step,
            where=where_of(found.first),
            subject=subject(found.first),
        )
    if found.kind in CLEAN and not found.from_statistics:
        return absent(found.verdict)
    return unknown(found.verdict)


@probe()
def calls_differ(view: View) -> Finding:
    """The first difference of the dumps is another operator, another argument, or one too many or too few."""
    found = comparison(view)
    if found is None:
        return unknown(_missing(view))
    if found.kind in OTHER_CALL and found.first is not None:
        return present(
            found.verdict,
            step=found.first.step,
            where=where_of(found.first),
            subject=subject(found.first),
        )
    if found.kind in CLEAN and not found.counted("unmatched"):
        return absent("both dumps run the same operators with the same arguments")
    return unknown(found.verdict)


@probe()
def rerun_differs(view: View, apart: float = 0.003) -> Finding:
    """Two equal runs part: dumps with equal inputs and other outputs, or losses after an equal first step.

    Losses have to lie `apart` (relative) in the second half, unless determinism was asked for: last digits
    differ from run to run where it is not.
    """
    found = repeated(view.run)
    if isinstance(found, str):
        return _losses_part(view, apart) or unknown(found)
    if found.kind in ("operator", "collective", "random") and found.first is not None:
        place = (Place(found.first.name),)
        return present(found.verdict, step=found.first.step, where=place, subject=subject(found.first))
    return absent(found.verdict) if found.kind == "identical" else unknown(found.verdict)


def _losses_part(view: View, apart: float) -> Finding | None:
    """What the losses of two runs of one seed and equal settings tell, where two such lie here."""
    event = next((e for e in view.run.events_of("worked-out") if e.data == RERUN), None)
    if event is None:
        return None
    asked = value_of(view.run, "deterministic") is True
    text = f"{event.text}, though determinism was asked for" if asked else event.text
    rest: dict[str, Any] = {"value": event.value, "threshold": apart, "step": event.step}
    if asked or (event.value or 0.0) > apart:
        return present(text, where=(Place(event.file, event.line, step=event.step),), **rest)
    return unknown(f"{text}: no more than rounding in another order may make", **rest)


@probe()
def first_bad(view: View) -> Finding:
    """An operator makes what is not finite from finite inputs, and it is there at the end of the step."""
    found = overflowed(view.run)
    if found is None or not found.report.looked:
        return unknown(NO_DUMP)
    if found.origin is None:
        if found.report.first is None and found.whole and found.report.kind != "cannot tell":
            return absent("no operator of the dump makes what is not finite from finite inputs")
        return unknown(found.report.verdict if found.whole else found.report.notes[-1])
    name, operator = found.origin.operator.name, found.origin.operator
    if not operator.inputs:
        return unknown(f"{found.report.verdict} What goes into it is not recorded")
    if not found.origin.lasting:
        return absent(f"{name} makes values that are not finite; none is left at the step's end")
    if meets_zero(operator) is not None:
        return unknown(f"{name} meets a zero where it has no value: no overflow")
    types = {t.dtype for t in operator.outputs}
    if operator.direction != "forward" and "float16" in types:
        return unknown(f"{name} overflows in the fp16 backward pass: the loss scale may try its limit")
    line = f" ({operator.source.partition(': ')[0]})" if operator.source else ""
    return present(
        f"{name}{line} makes values that are not finite from finite inputs",
        step=operator.step,
        where=(Place(operator.outputs[0].file or operator.name, step=operator.step, rank=operator.rank),),
        subject=Subject(name, operator.step, operator.rank),
    )


@probe()
def learning_rate_high(view: View, above: float = 100.0) -> Finding:
    """The learning rate that reached an operator of the dump is larger than `above`."""
    values = [v for d in dumps(view.run) for v in settings(d).get("learning_rate", [])]
    if not values:
        return unknown(NO_DUMP if not dumps(view.run) else "the dump shows no learning rate")
    most, operator = max(values, key=lambda v: (v[0] == v[0], v[0]))
    if most > above or most != most:
        return present(f"the learning rate at {operator} is {most:g}", value=most, threshold=above)
    return absent(f"the largest learning rate in the dump is {most:g}", value=most, threshold=above)
