"""Dumped tensors: two sides compared, operators that overflow, a fusion that is left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class TensorFigures:
    """How far a tensor of the run lies from the benchmark's. None: not known.

    Over elements finite on both sides. `relative` is the L2 norm of the difference over the benchmark's;
    `max_rel`, `mean_rel` are element-wise where the benchmark is not zero; `within_1`, `within_5` are the
    shares of elements within one and five thousandths; `max_ulp` counts representable values (equal dtypes).
    From statistics alone (`from_statistics`), `relative` is a lower bound made of min, max, mean and norm.
    """

    count: int = 0
    identical: bool = False
    cosine: float | None = None
    relative: float | None = None
    max_abs: float | None = None
    mean_abs: float | None = None
    max_rel: float | None = None
    mean_rel: float | None = None
    within_1: float | None = None
    within_5: float | None = None
    norm: float | None = None
    benchmark_norm: float | None = None
    max_ulp: int | None = None
    nan: int = 0
    inf: int = 0
    benchmark_nan: int = 0
    benchmark_inf: int = 0
    misplaced: int = 0  # elements that are not finite on one side alone, or in another way
    from_statistics: bool = False


@dataclass(frozen=True, slots=True)
class ComparedTensor:
    """One tensor of an operator on both sides.

    "agrees": within the tolerance of its type; "unknown": cannot be compared, `why` says so; "unmatched": one
    side alone has it.
    """

    name: str  # "input.0"
    state: Literal["identical", "agrees", "differs", "unknown", "unmatched"]
    dtype: str = ""
    benchmark_dtype: str = ""
    shape: tuple[int, ...] = ()
    benchmark_shape: tuple[int, ...] = ()
    figures: TensorFigures | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class ComparedOperator:
    """One operator on both sides, at its place in the order of execution.

    "first": inputs agree, outputs do not, and nothing before it went wrong; "also": the same, further down,
    not explained by the first; "inherited": its inputs differ already; "unmatched": one side alone has it.
    """

    name: str  # the run's; the benchmark's where the run has none
    kind: str
    direction: str
    order: int
    state: Literal["same", "agrees", "first", "also", "inherited", "unmatched", "unknown"]
    why: str = ""
    benchmark_name: str = ""
    only: Literal["", "run", "benchmark"] = ""
    source: str = ""
    scope: str = ""
    rank: int | None = None
    step: int | None = None
    tensors: tuple[ComparedTensor, ...] = ()
    input_error: float = 0.0  # the largest `relative` of its inputs, and of its outputs
    output_error: float = 0.0
    file: str = ""  # of the run that holds its outputs, relative to the run


@dataclass(frozen=True, slots=True)
class DumpSide:
    """One of two dumps, as a report names it."""

    path: str
    format: str
    framework: str = ""
    operators: int = 0
    notes: tuple[str, ...] = ()


VerdictKind = Literal[
    "identical",
    "agrees",
    "operator",
    "replaced",
    "argument",
    "non-finite",
    "setting",
    "input",
    "unseen",
    "extra",
    "collective",
    "random",
    "grows",
    "nothing in common",
    "cannot tell",
]


@dataclass(frozen=True, slots=True)
class DumpComparison:
    """Two dumps held against each other; `verdict` is the answer, in one or two sentences."""

    question: Literal["compare", "determinism"]
    run: DumpSide
    benchmark: DumpSide
    kind: VerdictKind
    verdict: str
    first: ComparedOperator | None
    next_steps: tuple[str, ...]
    operators: tuple[ComparedOperator, ...]  # by step, rank and order of execution
    settings: tuple[str, ...] = ()  # of the dumps: absurd, or not the same on both sides
    notes: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    from_statistics: bool = False
    tensors: int = 0  # compared

    def counted(self, *states: str) -> int:
        """How many operators are in one of these states."""
        return sum(o.state in states for o in self.operators)


@dataclass(frozen=True, slots=True)
class OverflowedOperator:
    """An operator whose values leave the range of numbers, or that the hardware flags.

    "first": makes them of sound inputs, and nothing before it did; "also": the same, later; "passed on": its
    inputs hold them already; "absorbed": it takes them and gives sound values; "harmless": `why` says how;
    "flagged": the hardware flags it and its values are sound; "brought": they come in with weights or inputs.
    """

    name: str
    kind: str
    state: Literal["first", "also", "passed on", "absorbed", "harmless", "flagged", "brought"]
    why: str
    order: int
    direction: str = ""
    source: str = ""
    scope: str = ""
    rank: int | None = None
    step: int | None = None
    inputs: tuple[str, ...] = ()  # each tensor in words
    outputs: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()  # what the hardware says, in words


@dataclass(frozen=True, slots=True)
class OverflowReport:
    """Where values leave the range of numbers; `verdict` is the answer, in one or two sentences."""

    path: str
    formats: tuple[str, ...]
    kind: Literal["operator", "weights", "input", "outside", "flagged", "harmless", "clean", "cannot tell"]
    verdict: str
    first: OverflowedOperator | None
    operators: tuple[OverflowedOperator, ...]  # all that are not sound, in order
    strip: tuple[ComparedOperator, ...]  # every operator of the step it begins in, for the heat strip
    next_steps: tuple[str, ...]
    loss_scale: tuple[str, ...] = ()  # its history, from the log
    settings: tuple[str, ...] = ()  # absurd ones that the dump shows
    notes: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    looked: int = 0  # operators


@dataclass(frozen=True, slots=True)
class FusionTrial:
    """One run of the search. `share`: how far it went from fusion on (0) to fusion off (1)."""

    run: str
    off: tuple[str, ...]
    value: float
    share: float


@dataclass(frozen=True, slots=True)
class FusionReport:
    """Whether operator fusion harms accuracy, and which rule; `verdict` is the answer."""

    state: Literal[
        "no effect", "worse without", "cannot tell", "at fault", "ask", "found", "contradiction", "noise"
    ]
    verdict: str
    next_steps: tuple[str, ...]
    quantity: str = ""
    on: float | None = None
    off: float | None = None
    benchmark: float | None = None
    margin: float | None = None
    found: tuple[str, ...] = ()  # the guilty rules, as "GraphFusion.Name"
    switch_off: tuple[str, ...] = ()  # what the next run has to switch off
    left: tuple[str, ...] = ()  # suspects
    rules: tuple[str, ...] = ()  # all that took effect
    trials: tuple[FusionTrial, ...] = ()
    switch_file: str = ""
    notes: tuple[str, ...] = ()
