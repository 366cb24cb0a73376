"""The course of the learning rate, worked out for both programs, however each of them writes it."""

from __future__ import annotations

import ast
import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..code.schedule.lengths import moves_with
from ..code.shared.sides import default
from ..code.shared.units import EPOCH, STEP
from ..readers.script import argument, keyword, last_name
from .arithmetic import BATCHES, Arithmetic, Unseen
from .side import Side, Told
from .update import epochs_of

SAMPLES = 240  # points at which two courses are held against each other
EQUAL = 0.02  # of the highest rate
APART = 0.25
_RATE = ("lr", "learning_rate")

Factor = Callable[[float], float]  # of the rate that the optimizer is made with, by the count of moves


@dataclass(frozen=True)
class Course:
    """A schedule: its factor, after how many moves it ends (0: not known), what moves it, where it stands."""

    factor: Factor
    end: float
    unit: str | None
    lengths: frozenset[str]
    at: ast.Call


_LISTS = ("cosine_decay_lr", "exponential_decay_lr")  # MindSpore's: a rate for each step
_ORDERS = {
    "LambdaLR": ("optimizer", "lr_lambda"),
    "StepLR": ("optimizer", "step_size", "gamma"),
    "MultiStepLR": ("optimizer", "milestones", "gamma"),
    "ExponentialLR": ("optimizer", "gamma"),
    "CosineAnnealingLR": ("optimizer", "T_max", "eta_min"),
    "LinearLR": ("optimizer", "start_factor", "end_factor", "total_iters"),
    "ConstantLR": ("optimizer", "factor", "total_iters"),
    "SequentialLR": ("optimizer", "schedulers", "milestones"),
    "OneCycleLR": ("optimizer", "max_lr", "total_steps", "epochs", "steps_per_epoch", "pct_start"),
    "get_linear_schedule_with_warmup": ("optimizer", "num_warmup_steps", "num_training_steps"),
    "get_cosine_schedule_with_warmup": ("optimizer", "num_warmup_steps", "num_training_steps"),
    "get_constant_schedule_with_warmup": ("optimizer", "num_warmup_steps"),
    "get_scheduler": ("name", "optimizer", "num_warmup_steps", "num_training_steps"),
    "CosineDecay": ("initial_learning_rate", "decay_steps", "alpha"),
    "ExponentialDecay": ("initial_learning_rate", "decay_steps", "decay_rate", "staircase"),
    "PiecewiseConstantDecay": ("boundaries", "values"),
    "piecewise_constant_lr": ("milestone", "learning_rates"),
    "CosineDecayLR": ("min_lr", "max_lr", "decay_steps"),
    "cosine_decay_lr": ("min_lr", "max_lr", "total_step", "step_per_epoch", "decay_epoch"),
    "exponential_decay_lr": (
        *("learning_rate", "decay_rate", "total_step", "step_per_epoch", "decay_epoch", "is_stair"),
    ),
}
_KNOWN = {  # arguments that leave the course as it is worked out here
    "last_epoch",
    "verbose",
    "name",
    "optimizer",
    "anneal_strategy",
}


class _Maker:
    """Works a schedule out of its call."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.by = Arithmetic(side)

    def given(self, call: ast.Call, name: str) -> ast.expr | None:
        order = _ORDERS[last_name(call.func)]
        return argument(call, name, position=order.index(name) if name in order else None)

    def number(self, call: ast.Call, name: str, default: float | None = None) -> float:
        node = self.given(call, name)
        if node is None and default is not None:
            return default
        return self.by.number(node)

    def numbers(self, call: ast.Call, name: str) -> list[float]:
        node = self.given(call, name)
        if isinstance(node, ast.Name):
            made = self.side.given.get(node.id, [])
            node = made[0] if len(made) == 1 else node
        if isinstance(node, (ast.List, ast.Tuple)):
            return [self.by.number(e) for e in node.elts]
        held = default(self.side.source, node) if node is not None else None
        if isinstance(held, tuple):
            return [float(v) for v in held]
        raise Unseen

    def base(self) -> float:
        """The rate that the only optimizer is made with."""
        calls = self.side.matching(r"^(?:SGD|Adam\w*|RMSprop|NAdam|RAdam|Lion|Adagrad)$")
        if len(calls) != 1:
            raise Unseen
        return self.by.number(argument(calls[0], *_RATE, position=1))

    def made(self, call: ast.Call) -> tuple[Factor, float]:
        """The factor by the count of moves, and the count at the end (0: not known).

        Raises Unseen.
        """
        name = last_name(call.func)
        told = {k.arg for k in call.keywords}
        if name not in _ORDERS or None in told or told - {*_ORDERS[name], *_KNOWN}:
            raise Unseen
        if name.startswith("get_"):
            return self._with_warmup(call, name)
        return getattr(self, "_" + name.lower())(call)  # type: ignore[no-any-return]

    def _lambdalr(self, call: ast.Call) -> tuple[Factor, float]:
        node = self.given(call, "lr_lambda")
        function = self.by.function(node) if node is not None else None
        if function is None:
            raise Unseen
        self.by.run(function, [1.0])  # raises where it is not seen
        return lambda s: self.by.run(function, [s]), 0.0

    def _steplr(self, call: ast.Call) -> tuple[Factor, float]:
        size, gamma = self.number(call, "step_size"), self.number(call, "gamma", 0.1)
        return lambda s: gamma ** (s // size), 0.0

    def _multisteplr(self, call: ast.Call) -> tuple[Factor, float]:
        points, gamma = sorted(self.numbers(call, "milestones")), self.number(call, "gamma", 0.1)
        return lambda s: gamma ** bisect_right(points, s), 1.2 * points[-1]

    def _exponentiallr(self, call: ast.Call) -> tuple[Factor, float]:
        gamma = self.number(call, "gamma")
        return lambda s: gamma**s, 0.0

    def _cosineannealinglr(self, call: ast.Call) -> tuple[Factor, float]:
        end, low = self.number(call, "T_max"), self.number(call, "eta_min", 0.0)
        low = low / self.base() if low else 0.0
        return lambda s: low + (1 - low) * (1 + math.cos(math.pi * s / end)) / 2, end

    def _linearlr(self, call: ast.Call) -> tuple[Factor, float]:
        first, last = self.number(call, "start_factor", 1 / 3), self.number(call, "end_factor", 1.0)
        count = self.number(call, "total_iters", 5.0)
        return lambda s: first + (last - first) * min(s, count) / count, count

    def _constantlr(self, call: ast.Call) -> tuple[Factor, float]:
        factor, count = self.number(call, "factor", 1 / 3), self.number(call, "total_iters", 5.0)
        return lambda s: factor if s < count else 1.0, count

    def _sequentiallr(self, call: ast.Call) -> tuple[Factor, float]:
        points = self.numbers(call, "milestones")
        parts = [self.made(c) for c in children(self.side, call)]
        if len(parts) != len(points) + 1:
            raise Unseen
        starts = [0.0, *points]

        def factor(s: float) -> float:
            i = bisect_right(points, s)
            return parts[i][0](s - starts[i])

        return factor, starts[-1] + parts[-1][1] if parts[-1][1] else 0.0

    def _onecyclelr(self, call: ast.Call) -> tuple[Factor, float]:
        if self.given(call, "total_steps") is not None:
            end = self.number(call, "total_steps")
        else:
            end = self.number(call, "epochs") * self.number(call, "steps_per_epoch")
        top = self.number(call, "pct_start", 0.3) * end - 1
        if keyword(call, "anneal_strategy") is not None or top <= 0:
            raise Unseen

        def between(a: float, b: float, share: float) -> float:
            return b + (a - b) / 2 * (1 + math.cos(math.pi * share))

        def factor(s: float) -> float:
            return (
                between(0.04, 1.0, s / top) if s <= top else between(1.0, 4e-6, (s - top) / (end - 1 - top))
            )

        return factor, end

    def _with_warmup(self, call: ast.Call, name: str) -> tuple[Factor, float]:
        if name == "get_scheduler":
            name = f"get_{self.side.value(self.given(call, 'name'))}_schedule_with_warmup"
        warm = self.number(call, "num_warmup_steps")
        if name == "get_constant_schedule_with_warmup":
            return lambda s: min(1.0, s / max(1.0, warm)), 0.0
        end = self.number(call, "num_training_steps")

        def factor(s: float) -> float:
            if s < warm:
                return s / max(1.0, warm)
            done = min(1.0, (s - warm) / max(1.0, end - warm))
            return 1 - done if "linear" in name else (1 + math.cos(math.pi * done)) / 2

        if name not in ("get_linear_schedule_with_warmup", "get_cosine_schedule_with_warmup"):
            raise Unseen
        return factor, end

    def _cosinedecay(self, call: ast.Call) -> tuple[Factor, float]:
        end, low = self.number(call, "decay_steps"), self.number(call, "alpha", 0.0)
        return lambda s: low + (1 - low) * (1 + math.cos(math.pi * min(1.0, s / end))) / 2, end

    def _exponentialdecay(self, call: ast.Call) -> tuple[Factor, float]:
        size, gamma = self.number(call, "decay_steps"), self.number(call, "decay_rate")
        stairs = self.side.value(self.given(call, "staircase")) is True
        return lambda s: gamma ** (s // size if stairs else s / size), 0.0

    def _piecewiseconstantdecay(self, call: ast.Call) -> tuple[Factor, float]:
        points, values = self.numbers(call, "boundaries"), self.numbers(call, "values")
        if len(values) != len(points) + 1:
            raise Unseen
        return lambda s: values[sum(s > p for p in points)], 1.2 * points[-1]

    def _piecewise_constant_lr(self, call: ast.Call) -> tuple[Factor, float]:
        points, values = self.numbers(call, "milestone"), self.numbers(call, "learning_rates")
        if len(values) != len(points):
            raise Unseen
        return lambda s: values[min(bisect_right(points, s), len(values) - 1)], points[-1]

    def _cosinedecaylr(self, call: ast.Call) -> tuple[Factor, float]:
        low, high = self.number(call, "min_lr"), self.number(call, "max_lr")
        end = self.number(call, "decay_steps")
        return lambda s: low + (high - low) * (1 + math.cos(math.pi * min(1.0, s / end))) / 2, end

    def _cosine_decay_lr(self, call: ast.Call) -> tuple[Factor, float]:
        low, high = self.number(call, "min_lr"), self.number(call, "max_lr")
        size, epochs = self.number(call, "step_per_epoch"), self.number(call, "decay_epoch")
        turn = math.pi / epochs
        return lambda s: low + (high - low) * (1 + math.cos(turn * (s // size))) / 2, self._listed(call)

    def _exponential_decay_lr(self, call: ast.Call) -> tuple[Factor, float]:
        gamma, size = self.number(call, "decay_rate"), self.number(call, "step_per_epoch")
        epochs, stairs = (
            self.number(call, "decay_epoch"),
            self.side.value(self.given(call, "is_stair")) is True,
        )
        return lambda s: gamma ** (s // size // epochs if stairs else s // size / epochs), self._listed(call)

    def _listed(self, call: ast.Call) -> float:
        """How many rates a list of MindSpore has: one for each step."""
        return self.number(call, "total_step")


def children(side: Side, call: ast.Call) -> list[ast.Call]:
    """The schedules that a `SequentialLR` is given, in order; [] where they are not seen."""
    node = argument(call, "schedulers", position=1)
    found: list[ast.Call] = []
    for one in node.elts if isinstance(node, (ast.List, ast.Tuple)) else ():
        made = side.given.get(one.id, []) if isinstance(one, ast.Name) else [one]
        if len(made) != 1 or not isinstance(made[0], ast.Call):
            return []
        found.append(made[0])
    return found


def course(side: Side) -> Course | None:
    """The course of the program's only schedule; None where there are several, or it is not understood."""
    calls = side.calls(*_ORDERS)
    parts = {c for call in calls if last_name(call.func) == "SequentialLR" for c in children(side, call)}
    whole = [c for c in calls if c not in parts]
    others = side.matching(r"LR$|_schedule(?:_with_warmup)?$|^get_scheduler$|Decay(?:LR)?$|_decay_lr$")
    others = tuple(c for c in others if c not in parts and last_name(c.func) != "AdamWeightDecay")
    if len(whole) != 1 or len(others) > 1:
        return None
    maker = _Maker(side)
    try:
        factor, end = maker.made(whole[0])
    except (Unseen, ArithmeticError, ValueError, IndexError, RecursionError):
        return None
    unit = moves_with(side.source, whole[0]) if side.framework == "torch" else STEP
    return Course(factor, end, unit, frozenset(maker.by.lengths), whole[0])


def _apart(here: Course, there: Course) -> tuple[list[float], list[float]] | None:
    """Both courses by steps, each as shares of its highest rate; None where they cannot be held so."""
    units = [here.unit or there.unit or STEP, there.unit or here.unit or STEP]
    ends = [c.end * (BATCHES if u == EPOCH else 1) for c, u in zip((here, there), units, strict=True)]
    end = min([e for e in ends if e > 0], default=60 * BATCHES if units[0] == units[1] else 0.0)
    if end < 2:
        return None
    one = units[0] == units[1]  # then what moves them does not matter
    if one and units[0] == EPOCH:
        end, units = end / BATCHES, [STEP, STEP]
    moves = [round(i * (end - 1) / (SAMPLES - 1)) for i in range(SAMPLES)]
    found = []
    for c, unit in zip((here, there), units, strict=True):
        try:
            values = [c.factor(float(s // BATCHES if unit == EPOCH else s)) for s in moves]
        except (Unseen, ArithmeticError, ValueError, IndexError, RecursionError):
            return None
        top = max(values)
        if not math.isfinite(top) or top <= 0:
            return None
        found.append([v / top for v in values])
    return found[0], found[1]


def same_course(mine: Side, theirs: Side) -> bool:
    """Whether the rates of both programs take the same course, as far as it is worked out."""
    here, there = course(mine), course(theirs)
    if here is None or there is None or here.lengths != there.lengths:
        return False
    listed = all(last_name(c.at.func) in _LISTS for c in (here, there))
    if listed and abs(here.end - there.end) > EQUAL * there.end:
        return False  # one list has more rates than the other
    held = _apart(here, there)
    return held is not None and max(abs(a - b) for a, b in zip(*held, strict=True)) < EQUAL


def course_differs(mine: Side, theirs: Side) -> Iterator[Told]:
    """The rate takes another course than the benchmark's, by what both programs work out for it."""
    here, there = course(mine), course(theirs)
    if here is None or there is None:
        return
    if here.lengths != there.lengths and (here.unit is None or there.unit is None):
        return
    if (here.unit is None) != (there.unit is None) or "rows" in here.lengths ^ there.lengths:
        return
    held = _apart(here, there)
    if held is None or (not _of_one_length(mine, theirs, here, there) and _alike_to_the_end(here, there)):
        return
    gaps = [abs(a - b) for a, b in zip(*held, strict=True)]
    far = [i for i, gap in enumerate(gaps) if gap > APART]
    if len(far) < SAMPLES // 50:
        return
    at = max(far, key=lambda i: gaps[i])
    a, b = held[0][at], held[1][at]
    early = far[-1] < SAMPLES // 3 and a > b and there.factor(0.0) < there.factor(there.end / 2)
    kind = "warmup" if early and held[0][0] > 0.7 else "schedule-length"
    text = f"{at / SAMPLES:.0%} of the way the rate is {a:.0%} of its highest here, {b:.0%} in the benchmark"
    yield Told(kind, text, mine.place(here.at), theirs.place(there.at))


def _of_one_length(mine: Side, theirs: Side, here: Course, there: Course) -> bool:
    """Whether both programs train for as many epochs of as many batches, so that lengths may be compared."""
    epochs = [_rounds(s) for s in (mine, theirs)]
    sizes = [{s.number(w.value) for w in s.keywords.get("batch_size", [])} for s in (mine, theirs)]
    if epochs[0] is None or epochs[0] != epochs[1] or sizes[0] != sizes[1]:
        return False
    return "rows" not in here.lengths | there.lengths


def _rounds(side: Side) -> float | None:
    """How many epochs the program trains, by its loop or its settings; None where that is not seen."""
    found = set()
    for loop in side.source.of(ast.For):
        over = loop.iter
        if isinstance(loop.target, ast.Name) and re.search(r"(?i)epoch|^e$|^ep$", loop.target.id):
            while isinstance(over, ast.Call) and last_name(over.func) == "tqdm" and over.args:
                over = over.args[0]
            if isinstance(over, ast.Call) and last_name(over.func) in ("range", "trange") and over.args:
                try:
                    found.add(Arithmetic(side).number(over.args[min(1, len(over.args) - 1)]))
                except (Unseen, RecursionError):
                    return epochs_of(side)
    return found.pop() if len(found) == 1 else epochs_of(side)


def _alike_to_the_end(here: Course, there: Course) -> bool:
    """Whether both courses are one where each is stretched to its own end: training is longer or shorter."""
    if here.end <= 0 or there.end <= 0:
        return True  # one of them has no end of its own: it is not seen what it is stretched to
    ends = [here.end, there.end]
    if here.unit and there.unit and here.unit != there.unit:
        ends = [c.end * (BATCHES if c.unit == EPOCH else 1) for c in (here, there)]
    ratio = max(ends) / min(ends)
    if abs(ratio / BATCHES - 1) < EQUAL:
        return False  # epochs for steps
    shares = [i / (SAMPLES - 1) for i in range(SAMPLES)]
    try:
        courses = [[float(c.factor(x * (c.end - 1))) for x in shares] for c in (here, there)]
    except (Unseen, ArithmeticError, ValueError, IndexError, RecursionError):
        return True
    tops = [max(max(c), 1e-12) for c in courses]
    gaps = [abs(a / tops[0] - b / tops[1]) for a, b in zip(*courses, strict=True)]
    return (
        sum(bool(gap > APART) for gap in gaps) < SAMPLES // 10
    )  # a warm-up of as many steps is another share
