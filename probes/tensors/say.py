"""The verdict in words: what the first difference is, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass

from ...engine.model import ComparedOperator, ComparedTensor, VerdictKind
from .knowledge import knowledge
from .locate import Start, setting_of_name


@dataclass(frozen=True, slots=True)
class Told:
    """What the verdict is made of."""

    exact: bool
    walk_start: Start | None
    operator: ComparedOperator | None
    operators: tuple[ComparedOperator, ...]
    ranks: tuple[int, ...] = ()
    bad_ranks: tuple[int, ...] = ()
    from_statistics: bool = False
    digests_only: bool = False
    absent_ranks: tuple[int, ...] = ()  # in one of the dumps alone


Said = tuple[VerdictKind, str, tuple[str, ...]]


def said(told: Told) -> Said:
    """Return (kind, verdict, next steps)."""
    matched = [o for o in told.operators if not o.only]
    if not matched or not any(t.state not in ("unmatched", "unknown") for o in matched for t in o.tensors):
        if told.operator is None:
            return _nothing(matched)
    start, operator = told.walk_start, told.operator
    if start is None or operator is None:
        return _clean(told)
    kind = start.kind
    name = _named(operator)
    where = _ranks(told)
    tensor = f"{start.tensor.name}" if start.tensor else "its output"
    if kind in ("input", "unseen") and start.tensor is not None and operator.direction == "forward":
        if knowledge().is_weight(operator.kind, start.tensor.name, start.tensor.dtype):
            return _weight(kind, name, where, start.tensor, told.exact)
    words = _exact(kind, name, where, tensor, told) if told.exact else None
    return words or _compared(kind, name, where, tensor, start, operator)


def _weight(kind: VerdictKind, name: str, where: str, tensor: ComparedTensor, exact: bool) -> Said:
    """The first difference is a weight: no operator of this step made it."""
    other = "the other run's" if exact else "the benchmark's"
    differs = f"weight of {name} ({tensor.name}) is not {other}{where}{_no_number(tensor)}"
    return (
        kind,
        f"The dumps differ before any operator ran: a {differs}."
        if kind == "input"
        else f"A {differs}; all before it agrees.",
        (
            "Start both sides from one checkpoint (without one, with one seed on one kind of device).",
            "If they did: dump an earlier step with its backward pass and optimizer; what changed the weight "
            "is there.",
        ),
    )


def _no_number(tensor: ComparedTensor | None) -> str:
    found = tensor.figures if tensor is not None else None
    if found is None or not found.nan + found.inf or found.benchmark_nan + found.benchmark_inf:
        return ""
    return " and holds values that are not finite"


def _named(operator: ComparedOperator) -> str:
    return f"{operator.name} (step {operator.step})" if operator.step else operator.name


def _ranks(told: Told) -> str:
    if len(told.ranks) < 2:
        return ""
    if set(told.bad_ranks) == set(told.ranks):
        return ", on all ranks alike"
    return f", on rank{'s' if len(told.bad_ranks) > 1 else ''} {', '.join(map(str, told.bad_ranks))} alone"


def _absent(told: Told) -> str:
    if not told.absent_ranks:
        return ""
    listed = ", ".join(map(str, told.absent_ranks[:8])) + (", ..." if len(told.absent_ranks) > 8 else "")
    ranks, them = ("Ranks", "them") if len(told.absent_ranks) > 1 else ("Rank", "it")
    return f" {ranks} {listed} could not be compared: one of the dumps does not have {them}."


def _nothing(matched: list[ComparedOperator]) -> Said:
    if not matched:
        return (
            "nothing in common",
            "The two dumps have no operator in common, neither by name nor by kind and shape.",
            ("Check that both dumps are of the same model, the same phase and the same dump level.",),
        )
    return (
        "cannot tell",
        "Operators match, but none of their tensors can be compared: no values or statistics on both sides.",
        ("Dump again with values or statistics on both sides.",),
    )


def _clean(told: Told) -> Said:
    states = {o.state for o in told.operators}
    lone = [o for o in told.operators if o.only]
    are = "operator is" if len(lone) == 1 else "operators are"
    extra = f" {len(lone)} {are} on one side alone, without an effect that shows." if lone else ""
    extra += _absent(told)
    if told.exact:
        if states <= {"same"}:
            return (
                "identical",
                "Every recorded tensor is bit-identical in both runs: no random error shows up to here."
                + _absent(told),
                ("Dump later steps, or more operators, if the losses still differ.",),
            )
        unknown = sum(t.state == "unknown" for o in told.operators for t in o.tensors)
        by_statistics = any(t.state == "agrees" for o in told.operators for t in o.tensors)
        reason = (
            "statistics are all that was recorded, and a difference smaller than they show would not be seen"
            if by_statistics
            else f"{unknown} checksum{'' if unknown == 1 else 's'} of inputs that are changed in place "
            "cannot be relied on"
        )
        return (
            "agrees",
            f"No operator gives other results from equal inputs. Not every bit is known: {reason}.{extra}",
            ("Dump both runs with values (tensor mode) if the losses differ all the same.",)
            if by_statistics
            else (),
        )
    if states <= {"same"}:
        return "identical", f"Every tensor is bit-identical on both sides.{_absent(told)}", ()
    basis = (
        " Judged by statistics alone: a difference that leaves them equal is not seen."
        if told.from_statistics
        else ""
    )
    return (
        "agrees",
        f"Every matched operator agrees within the tolerance of its type.{extra}{basis}",
        ("Look at later steps, the data and the evaluation: the dumped operators are not to blame.",),
    )


def _compared(
    kind: VerdictKind, name: str, where: str, tensor: str, start: Start, operator: ComparedOperator
) -> Said:
    at = operator.source.partition(": ")[0]
    line = f" at {at}" if at else ""
    inside = f"; it was made inside module {operator.scope}" if operator.scope else ""
    if kind == "replaced":
        return (
            kind,
            f"{name} stands where the benchmark has {operator.benchmark_name}{where}: equal inputs, "
            "other outputs.",
            (
                f"Put the benchmark's operator in its place{line}, dump the same step again and compare.",
                "If the replacement is meant, compare with a benchmark that has it too.",
            ),
        )
    if kind == "argument":
        return (
            kind,
            f"{name} is called with another argument than in the benchmark{where} ({operator.why}): equal "
            "inputs, other outputs.",
            (f"Set the benchmark's value{line}, dump the same step again and compare.",),
        )
    if kind == "non-finite":
        return (
            kind,
            f"{name} is the first to make values that are not finite, from finite inputs{where}."
            + (" The benchmark does not run it." if operator.only == "run" else ""),
            (
                f"Look for a division by zero, a logarithm of zero or a number out of range{line}.",
                "Everything after it inherits its values: do not look there.",
            ),
        )
    if kind == "setting":
        setting = (setting_of_name(operator.kind, start.tensor) or "a setting").replace("_", " ")
        return (
            kind,
            f"The {setting} that reaches {name} is not the benchmark's{where}; all before it agrees.",
            (f"Set the benchmark's {setting} and compare again.",),
        )
    if kind == "input":
        return (
            kind,
            f"The dumps differ before any operator ran{where}: {tensor} of {name} is not the benchmark's"
            f"{_no_number(start.tensor)}.",
            (
                "Give both sides one saved batch and one checkpoint, seeds fixed, shuffling and dropout off; "
                "then dump again.",
            ),
        )
    if kind == "unseen":
        return (
            kind,
            f"{tensor} of {name} differs, and no recorded operator made it{where}: all before it agrees"
            f"{inside}.",
            (
                f"Look at what happens just before it{line}: code that the dump does not see (a library, "
                "a custom operator, a random generator).",
                "Dump again at a finer level (msprobe: mix or L1) around it.",
            ),
        )
    if kind == "extra":
        listed = ", ".join(o.name for o in start.beside[:3])
        return (
            kind,
            f"{listed}: on one side alone, and {tensor} of {name} right after it is the first to "
            f"differ{where}.",
            ("Find out why one side runs it: an added or a missing operation changes the model.",),
        )
    if kind == "collective":
        return (
            kind,
            f"{name} gives other values from equal inputs of every recorded rank{where}: communication is "
            "to blame.",
            ("Check its group, its operation (sum or mean) and the ranks that were not dumped.",),
        )
    if kind == "random":
        return (
            kind,
            f"{name} draws random numbers, and they are not the benchmark's{where}.",
            (
                "Switch dropout and other random operators off, or give both sides one generator state; dump "
                "again.",
            ),
        )
    if kind == "grows":
        return (
            kind,
            f"No single operator is to blame: errors grow from one to the next and pass the tolerance at "
            f"{name}{where}.",
            (
                "Compare the number format on both sides (TF32, bf16, fused kernels), and run both in fp32.",
                "If fp32 agrees, what is seen is rounding.",
            ),
        )
    recorded = any(t.name.startswith(("input", "parameter")) for t in operator.tensors)
    basis = "gives other outputs from inputs that agree" if recorded else "is the first whose output differs"
    tail = "" if recorded else " Its inputs are not in the dump; they are taken to be the outputs before it."
    return (
        kind,
        f"{name} {basis}{where}.{tail}",
        (
            f"Run it alone{line} on the dumped inputs on both sides, in fp32 and on the CPU: that tells a "
            "faulty kernel from a faulty call.",
            "Replace it by an unfused or CPU version and compare again.",
        ),
    )


def _exact(kind: VerdictKind, name: str, where: str, tensor: str, told: Told) -> Said | None:
    source = told.operator.source.partition(": ")[0] if told.operator else ""
    at = f", at {source}" if source else ""
    if kind in ("operator", "grows", "replaced", "non-finite"):
        basis = (
            " By statistics: its inputs are equal in all that was recorded." if told.from_statistics else ""
        )
        return (
            "operator",
            f"{name} gives other results from bit-identical inputs{where}: it is not deterministic.{basis}",
            (
                "Switch its deterministic version on (`torch.use_deterministic_algorithms(True)`; MindSpore "
                '`set_context(deterministic="ON")`), or replace it.',
                "If the operator is deterministic elsewhere, test this device for silent errors.",
            ),
        )
    if kind == "random":
        return (
            kind,
            f"{name} draws random numbers{where}: the two runs do not share a generator state.",
            ("Fix the seeds of all libraries and devices, then dump both runs again.",),
        )
    if kind == "collective":
        return (
            kind,
            f"{name} gives other results from equal inputs{where}: its order of summation is not fixed.",
            ("Set HCCL_DETERMINISTIC=true (NCCL: NCCL_ALGO=Ring, one channel), then dump both runs again.",),
        )
    if kind == "input":
        return (
            kind,
            f"The runs differ before any operator ran{where}: {tensor} of {name}.",
            ("Fix seeds, shuffling and the checkpoint: what differs is the data or the weights.",),
        )
    if kind == "unseen":
        return (
            kind,
            f"{tensor} of {name} differs, and no recorded operator made it{where}: all before it is equal.",
            (
                "Look for a random generator that is not seeded (NumPy, Python, a library) just before it"
                + f"{at}.",
            ),
        )
    return None
