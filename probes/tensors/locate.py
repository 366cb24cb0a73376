"""Find the first operator whose inputs agree and whose outputs do not, and say what the rest inherits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...engine.model import ComparedOperator, ComparedTensor, Scalar, VerdictKind
from .condition import non_finite
from .knowledge import Tolerances, knowledge
from .match import Match
from .model import Operator


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """One place in the order of execution, judged but not yet explained."""

    match: Match
    tensors: tuple[ComparedTensor, ...]
    arguments: tuple[str, ...] = ()  # scalar arguments that differ, in words

    @property
    def operator(self) -> Operator:
        """The run's operator, or the benchmark's where the run has none."""
        found = self.match.run or self.match.benchmark
        if found is None:  # never made so
            raise ValueError("a place without an operator")
        return found

    def side(self, *roles: str) -> list[ComparedTensor]:
        """Its tensors of these roles."""
        return [t for t in self.tensors if t.name.partition(".")[0] in roles]

    @property
    def inputs(self) -> list[ComparedTensor]:
        """What it took (for an entry that is no operator: nothing)."""
        return [] if self.operator.direction == "state" else self.side("input", "parameter")

    @property
    def outputs(self) -> list[ComparedTensor]:
        """What it made."""
        roles = (
            ("output", "gradient", "parameter")
            if self.operator.direction == "state"
            else ("output", "gradient")
        )
        return self.side(*roles)


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """Where the first difference begins in one rank and step."""

    index: int
    kind: VerdictKind
    tensor: ComparedTensor | None = None
    beside: tuple[Operator, ...] = ()  # operators that one side alone has, just before


def error(tensors: Sequence[ComparedTensor]) -> float:
    """The largest relative error; infinite where a tensor differs in a way that has no size."""
    found = 0.0
    for tensor in tensors:
        if (
            tensor.figures is not None
            and tensor.figures.relative is not None
            and not tensor.figures.misplaced
        ):
            found = max(found, tensor.figures.relative)
        elif tensor.state == "differs":
            return math.inf
    return found


def bad(tensors: Sequence[ComparedTensor]) -> bool:
    """Whether any differs."""
    return any(t.state == "differs" for t in tensors)


def arguments(run: Operator, benchmark: Operator) -> tuple[str, ...]:
    """Scalar arguments that both sides tell, and tell differently."""
    found = []
    for name, mine in run.arguments.items():
        theirs = benchmark.arguments.get(name)
        if theirs is not None and not _equal(mine, theirs):
            found.append(f"{name} is {_said(mine)} against {_said(theirs)}")
    return tuple(found)


def _equal(a: Scalar, b: Scalar) -> bool:
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return math.isclose(a, b, rel_tol=1e-6) or (a != a and b != b)
    return a == b


def _said(value: Scalar) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


# ----------------------------------------------------------------------------------------------- walk


def locate(places: Sequence[Place], limits: Tolerances) -> Start | None:
    """Walk in the order of execution to the first thing that went wrong; None: nothing did."""
    beside: list[Operator] = []
    grows: Start | None = None
    seen = False  # an operator whose outputs agree
    before = (
        0.0  # the largest error of outputs so far, of which an operator without recorded inputs takes some
    )
    stood_in: set[tuple[str, str]] = set()  # kinds that stood for each other, and agreed
    for index, place in enumerate(places):
        known = knowledge()
        operator = place.operator
        if known.is_uninitialised(operator.kind):
            continue
        if place.match.run is None or place.match.benchmark is None:
            if place.match.run is not None and _makes_non_finite(place.match.run):
                return Start(index, "non-finite")
            if not known.is_inserted(operator.kind):
                beside.append(operator)
            continue
        inputs_bad, outputs_bad = bad(place.inputs), bad(place.outputs)
        if not inputs_bad and outputs_bad and operator.direction != "state":
            kind = _kind(place)
            if kind == "replaced" and _kinds(place) in stood_in:
                kind = "operator"
            grown = error(place.outputs) > limits.growth * (error(place.inputs) if place.inputs else before)
            if kind != "operator" or grown:
                return Start(index, kind, _first(place.outputs), tuple(beside))
            grows = grows or Start(index, "grows", _first(place.outputs))
        elif inputs_bad or outputs_bad:
            if grows is not None:
                return grows
            tensor = _first(place.inputs) or _first(place.outputs)
            if beside:
                return Start(index, "extra", tensor, tuple(beside))
            setting = next((t for t in _all_bad(place.inputs) if setting_of_name(operator.kind, t)), None)
            if setting is not None:
                return Start(index, "setting", setting)
            return Start(index, "unseen" if seen else "input", tensor)
        else:
            seen = seen or bool(place.outputs)
            beside.clear()
            if place.match.replaced and place.outputs:
                stood_in.add(_kinds(place))
        before = max(before, error(place.outputs))
    return grows


def _kinds(place: Place) -> tuple[str, str]:
    mine, theirs = place.match.run, place.match.benchmark
    return (mine.kind if mine else "", theirs.kind if theirs else "")


def _all_bad(tensors: Sequence[ComparedTensor]) -> list[ComparedTensor]:
    return [t for t in tensors if t.state == "differs"]


def _first(tensors: Sequence[ComparedTensor]) -> ComparedTensor | None:
    return next((t for t in tensors if t.state == "differs"), None)


def _kind(place: Place) -> VerdictKind:
    known = knowledge()
    if any(
        t.figures is not None
        and t.figures.nan + t.figures.inf > 0
        and t.figures.benchmark_nan + t.figures.benchmark_inf == 0
        for t in place.outputs
    ):
        return "non-finite"
    if place.match.replaced:
        return "replaced"
    if place.arguments:
        return "argument"
    if known.is_collective(place.operator.name, place.operator.kind):
        return "collective"
    if known.is_random(place.operator.kind):
        return "random"
    return "operator"


def _makes_non_finite(operator: Operator) -> bool:
    return any(map(non_finite, operator.outputs)) and not any(
        map(non_finite, (*operator.inputs, *operator.parameters))
    )


def setting_of_name(kind: str, tensor: ComparedTensor | None) -> str | None:
    """Which setting an input is: input 2 of ApplyMomentum is the learning rate."""
    if tensor is None:
        return None
    known = knowledge()
    index = tensor.name.partition(".")[2]
    return known.named_inputs.get(kind.lower(), {}).get(index) or known.setting_names.get(index)


# ------------------------------------------------------------------------------------------ explained


def explained(
    places: Sequence[Place], start: Start | None, limits: Tolerances, *, after: bool = False
) -> list[ComparedOperator]:
    """Give every place its state. `after`: something went wrong in an earlier step already."""
    wrong = after
    found: list[ComparedOperator] = []
    for index, place in enumerate(places):
        if start is not None and index == start.index:
            wrong = True
            found.append(_made(place, "first", _why(place)))
        else:
            found.append(_made(place, *_state(place, wrong, start, limits)))
    return found


def _state(place: Place, wrong: bool, start: Start | None, limits: Tolerances) -> tuple[str, str]:
    if place.match.run is None or place.match.benchmark is None:
        side = "benchmark" if place.match.run is None else "run"
        return "unmatched", f"only the {side} has it"
    inputs_bad, outputs_bad = bad(place.inputs), bad(place.outputs)
    states = {t.state for t in place.tensors}
    if not (inputs_bad or outputs_bad):
        if not states & {"identical", "agrees"}:
            return "unknown", "nothing of it could be compared"
        return ("same" if states == {"identical"} else "agrees"), ""
    own = (
        outputs_bad
        and not inputs_bad
        and bool(place.inputs)
        and place.operator.direction == "forward"
        and not knowledge().is_collective(place.operator.name, place.operator.kind)
        and start is not None
        and not place.operator.module
        and error(place.outputs) > limits.growth * error(place.inputs)
    )
    if own and wrong:
        return "also", _why(place)
    return "inherited", "" if inputs_bad else _why(place)


def _why(place: Place) -> str:
    if place.match.replaced and place.match.benchmark is not None:
        return f"the benchmark has {place.match.benchmark.kind} here"
    if place.arguments:
        return "; ".join(place.arguments)
    tensor = _first(place.outputs) or _first(place.inputs)
    return tensor.why if tensor is not None else ""


def _made(place: Place, state: str, why: str) -> ComparedOperator:
    operator, other = place.operator, place.match.benchmark
    only = "" if place.match.run and other else "run" if place.match.run else "benchmark"
    made = ComparedOperator(
        operator.name,
        operator.kind,
        operator.direction,
        operator.order,
        state,  # type: ignore[arg-type]
        why,
        other.name if other is not None and not only else "",
        only,  # type: ignore[arg-type]
        operator.source,
        operator.scope,
        operator.rank,
        operator.step,
        place.tensors,
    )
    held = next((t.file for t in operator.outputs if t.file), "")
    return replace(
        made, input_error=error(place.inputs), output_error=error(place.outputs), file="" if only else held
    )
