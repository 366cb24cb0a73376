"""The first operator that makes non-finite or saturated values of sound ones, over steps and ranks."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...engine.model import ComparedOperator, OverflowedOperator, OverflowReport
from ..files import RunFile, walk
from . import anomalies, overflow_words
from .compare import NotADump
from .condition import Condition, condition, needs_values, non_finite
from .find import MAX_FILES, dumps_of
from .knowledge import knowledge, plain
from .model import Dump, Operator, Tensor
from .opdebug import Flag, flags
from .overflow_words import UNDUMPED
from .settings import absurd

EXTREME = 1e4  # a given argument beyond this is meant to hide something: a mask's -1e9, finfo.min
_MASK = re.compile(r"mask|^where|^select|^full|^fill|^triu|^tril|^newfull|^fulllike|finfo", re.I)
_TASK = re.compile(r"\.(\d+)\.(\d{1,9})\.\d{10,20}(?:\.\d+){0,4}(?:\.(?:input|output)\.|$)")
_AUXILIARY = {"npufusionattention": ("4", "5"), "flashattentionscore": ("4", "5")}


Seen = tuple[Tensor, Condition]
Tell = Callable[[str, str], OverflowedOperator]


@dataclass(frozen=True, slots=True)
class Options:
    """What to look at: one rank or step alone; up to which step a loss scale was still being found."""

    rank: int | None = None
    step: int | None = None
    calibrated: float | None = None


def examine(path: Path, options: Options = Options(), loss_scale: Sequence[str] = ()) -> OverflowReport:
    """Look for the first overflow in the dumps at a path. Raises NotADump, RunUnreadable."""
    listed, notes = walk(path, limit=MAX_FILES)
    files = {f.path: f for f in listed}
    dumps = dumps_of(files) or list(anomalies.find(files))
    flagged, told = flags(listed)
    notes.extend(told)
    if not any(d.operators for d in dumps) and not flagged:
        why = next((n for d in dumps for n in d.notes), next(iter(notes), ""))
        raise NotADump(f"{path}: no operator dump and no overflow result{f' ({why})' if why else ''}")
    chosen = [
        d
        for d in dumps
        if (options.rank is None or d.rank in (None, options.rank))
        and (options.step is None or d.step in (None, options.step))
    ]
    if dumps and not chosen:
        raise NotADump(f"{path}: the dump has no rank or step of that number")
    return of_dumps(str(path), chosen, flagged, files.values(), options, loss_scale, notes).report


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """An operator that makes what is not finite, and whether that is still there at the end of the step."""

    operator: Operator
    dump: Dump
    lasting: bool


@dataclass(frozen=True, slots=True, eq=False)
class Examined:
    """The report, where the first values begin that are no numbers, and whether every dump was looked at."""

    report: OverflowReport
    origin: Origin | None
    whole: bool


def of_dumps(
    path: str,
    dumps: Sequence[Dump],
    flagged: Sequence[Flag],
    files: Iterable[RunFile],
    options: Options = Options(),
    loss_scale: Sequence[str] = (),
    notes: Sequence[str] = (),
    most: int | None = None,
) -> Examined:
    """Look for the first overflow in dumps that were found already.

    `most`: of dumps whose statistics do not tell, the first ones with that many elements are looked at.
    """
    said = [*notes, *(n for d in dumps for n in d.notes)]
    # A tree with an overflow dump tells where the overflow is; ordinary dumps beside it are other steps.
    meant = [d for d in dumps if d.label == "overflow_decode"] or list(dumps)
    chosen = meant if most is None else _within(meant, most)
    if len(chosen) < len(meant):
        said.append(f"{len(chosen)} of {len(meant)} dumps are looked at here: diagnose overflow reads all")
    walk_ = _Walk(chosen, flagged, options, files)
    walk_.run()
    report = overflow_words.report(
        path,
        walk_.found,
        strip=walk_.strip(),
        formats=sorted({d.format for d in dumps} | ({"opdebug"} if flagged else set())),
        loss_scale=tuple(loss_scale),
        settings=tuple(dict.fromkeys(s for d in dumps for s in absurd(d))),
        notes=tuple(dict.fromkeys(said)),
        ranks=tuple(sorted({d.rank for d in dumps if d.rank is not None})),
        steps=tuple(sorted({d.step for d in dumps if d.step is not None})),
        looked=walk_.looked,
        unknown=walk_.unknown,
    )
    return Examined(report, walk_.origin(), len(chosen) == len(meant))


def _within(dumps: Sequence[Dump], most: int) -> list[Dump]:
    """The first dumps, in order of steps, whose values are no more than `most` elements."""
    kept: list[Dump] = []
    for dump in sorted(dumps, key=lambda d: (d.step or 0, d.rank or 0)):
        most -= sum(t.count for o in dump.operators for t in o.tensors if needs_values(t))
        if most < 0:
            break
        kept.append(dump)
    return kept


class _Walk:
    """All operators of a label, step by step, in the order in which ranks execute them."""

    def __init__(
        self, dumps: Sequence[Dump], flagged: Sequence[Flag], options: Options, files: Iterable[RunFile]
    ) -> None:
        self.dumps = dumps
        self.options = options
        self.flags: dict[tuple[int, int], list[Flag]] = defaultdict(list)
        for flag in flagged:
            self.flags[flag.task, flag.stream].append(flag)
        self.files = list(files)
        self.used: set[tuple[int, int]] = set()
        self.found: list[OverflowedOperator] = []
        self.states: dict[int, str] = {}
        self.begun = False  # a source was met
        self.entered = False  # unsound values came in from outside
        self.collective: set[str] = set()  # calls that bring what no recorded rank puts in
        self.masks = False
        self.buffers = False
        self.makers: list[tuple[Operator, Dump]] = []  # of what is no number, from sound inputs
        self.looked = self.unknown = 0

    def run(self) -> None:
        """Judge every operator; then add flags that belong to none of them."""
        steps: dict[tuple[str, int], list[Dump]] = defaultdict(list)
        for dump in self.dumps:
            steps[dump.label, -1 if dump.step is None else dump.step].append(dump)
        for _, dumps in sorted(steps.items(), key=lambda item: item[0]):
            self.masks = self.buffers = False
            calls = [
                (o.order, d.rank or 0, o, d)
                for d in dumps
                for o in d.operators
                if not o.module or len(d.operators) < 2
            ]
            calls = calls or [(o.order, d.rank or 0, o, d) for d in dumps for o in d.operators]
            ranks_bad = self._collectives(o for _, _, o, _ in calls)
            for _, _, operator, dump in sorted(calls, key=lambda c: c[:2]):
                self.looked += 1
                made = self._judge(operator, dump, ranks_bad)
                if made is not None:
                    self.found.append(made)
                    self.states[id(operator)] = made.state
                    own = made.state in ("first", "also") and not made.why.startswith(UNDUMPED)
                    if own and any(map(non_finite, operator.outputs)):
                        self.makers.append((operator, dump))
        for key, some in self.flags.items():
            if key not in self.used:
                self.found.extend(self._flag_alone(f) for f in some)

    def strip(self) -> tuple[ComparedOperator, ...]:
        """The operators of the step in which it begins, each with a state of the heat strip."""
        first = next((o for o in self.found if o.state in ("first", "brought")), None)
        chosen = [d for d in self.dumps if first is None or (d.step == first.step and d.rank == first.rank)]
        words = {"first": "first", "also": "also", "passed on": "inherited", "brought": "inherited"}
        return tuple(
            ComparedOperator(
                o.name,
                o.kind,
                o.direction,
                o.order,
                words.get(self.states.get(id(o), ""), "same"),  # type: ignore[arg-type]
                rank=o.rank,
                step=o.step,
            )
            for o in (chosen[0].operators if chosen else ())
        )

    def origin(self) -> Origin | None:
        """The first operator that makes NaN or infinity; an overflow to the largest number does not count."""
        if not self.makers:
            return None
        operator, dump = self.makers[0]
        return Origin(operator, dump, any(map(non_finite, _left(dump, operator))))

    def _collectives(self, operators: Iterable[Operator]) -> dict[str, int]:
        """Collective calls into which some rank puts unsound values: name -> that rank."""
        found: dict[str, int] = {}
        for o in operators:
            if o.rank is not None and knowledge().is_collective(o.name, o.kind):
                if any(condition(t).bad for t in o.inputs):
                    found.setdefault(o.name, o.rank)
        return found

    def _flags_of(self, operator: Operator) -> list[Flag]:
        for tensor in operator.tensors:
            match = _TASK.search(tensor.file.rpartition("/")[2])
            if match and (key := (int(match[1]), int(match[2]))) in self.flags:
                self.used.add(key)
                return self.flags[key]
        return []

    def _judge(self, operator: Operator, dump: Dump, ranks_bad: dict[str, int]) -> OverflowedOperator | None:
        taken = [(t, condition(t)) for t in (*operator.inputs, *operator.parameters)]
        auxiliary = _AUXILIARY.get(plain(operator.kind), ())
        made = [(t, condition(t)) for t in operator.outputs if t.index not in auxiliary]
        flagged = self._flags_of(operator)
        if not any(c.known for _, c in (*taken, *made)):
            self.unknown += 1
        if not (flagged or any(c.bad for _, c in (*taken, *made))):
            return None

        def tell(state: str, why: str) -> OverflowedOperator:
            return OverflowedOperator(
                operator.name,
                operator.kind,
                state,  # type: ignore[arg-type]
                why,
                operator.order,
                operator.direction,
                operator.source,
                operator.scope,
                operator.rank if operator.rank is not None else dump.rank,
                operator.step if operator.step is not None else dump.step,
                tuple(overflow_words.described(t, c) for t, c in taken),
                tuple(overflow_words.described(t, c) for t, c in made),
                tuple(f.said for f in flagged),
            )

        return self._state(operator, taken, made, ranks_bad, tell)

    def _state(
        self, operator: Operator, taken: list[Seen], made: list[Seen], ranks_bad: dict[str, int], tell: Tell
    ) -> OverflowedOperator | None:
        known = knowledge()
        bad_in = [(t, c) for t, c in taken if c.bad]
        bad_out = [(t, c) for t, c in made if c.bad]
        only_hidden = bool(bad_in) and all(c.hides for _, c in bad_in) and (self.masks or not self.begun)
        if not bad_out:
            if bad_in and operator.direction != "state":
                return tell("absorbed", "its inputs are not sound, what it gives is")
            return None if bad_in else tell("flagged", "its values are finite and not saturated")
        hides = all(c.hides for _, c in bad_out)
        if known.is_uninitialised(operator.kind):
            self.buffers = True
            return tell("harmless", "memory that nobody has written yet")
        given = any(
            isinstance(v, (int, float))
            and not isinstance(v, bool)
            and (not math.isfinite(v) or abs(v) >= EXTREME)
            for v in operator.arguments.values()
        )
        if (
            hides
            and not self.begun
            and (_MASK.search(plain(operator.kind)) or given or (only_hidden and self.masks))
        ):
            self.masks = True
            return tell("harmless", "a mask: minus infinity hides what must not be seen")
        if operator.direction == "state":
            return tell("passed on", "its value at the end of the step")
        if bad_in and not (only_hidden and any(c.nan or c.up for _, c in bad_out)):
            return self._carried(operator, bad_in, tell)
        if known.is_collective(operator.name, operator.kind) and operator.name in ranks_bad:
            return tell("passed on", f"rank {ranks_bad[operator.name]} puts them in")
        if not taken and not self.begun and not self.entered:
            # a monitor's row, or an operator without tensor inputs: what went in is not in the dump
            self.begun = True
            return tell("first", "the first values that are not sound; what went in is not in the dump")
        if not taken:
            return tell("passed on", "after the first")
        early = (
            operator.direction in ("backward", "optimizer")
            and self.options.calibrated is not None
            and operator.step is not None
            and operator.step <= self.options.calibrated
        )
        if early:
            return tell("harmless", "a gradient overflows while the loss scale is still being found")
        if self.begun and operator.name in self.collective:
            return tell("passed on", "what the collective gives to every rank")
        if self.begun:
            return tell("also", "its inputs are sound, its outputs are not")
        self.begun = True
        if known.is_collective(operator.name, operator.kind):
            self.collective.add(operator.name)
            half = any(t.dtype == "float16" for t, _ in made)
            sum_ = ", or their sum leaves the range of float16" if half else ""
            return tell("first", f"{UNDUMPED}{sum_}")
        why = "every entry of a row is masked" if only_hidden else "its inputs are sound, its outputs are not"
        return tell("first", why)

    def _carried(self, operator: Operator, bad_in: list[Seen], tell: Tell) -> OverflowedOperator:
        if self.begun or self.entered:
            return tell("passed on", "its inputs are not sound already")
        first_tensor = bad_in[0][0]
        if (
            knowledge().is_in_place(operator.name)
            or knowledge().is_in_place(operator.kind)
            or (operator.kind.endswith("_") and len(bad_in) == 1)
        ):
            self.begun = True
            return tell("first", "it writes in place, and what is recorded as its input may be its result")
        self.entered = True
        weights = operator.direction == "forward" and all(
            knowledge().is_weight(operator.kind, t.name, t.dtype) for t, _ in bad_in
        )
        if weights or any(t.role == "parameter" for t, _ in bad_in) or operator.direction == "state":
            return tell("brought", "weights")
        if operator.order == 0 or not self.looked - 1:
            return tell("brought", "input")
        return tell("brought", f"outside {first_tensor.name}")

    def _flag_alone(self, flag: Flag) -> OverflowedOperator:
        """A flag whose operator has no decoded tensors: named by the raw dump files, if these lie there."""
        name, kind = f"task {flag.task}, stream {flag.stream}", ""
        for file in self.files:
            match = re.match(
                rf"^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.{flag.task}\.{flag.stream}\.\d{{10,20}}", file.name
            )
            if match and match[1] != "Opdebug":
                kind, name = match[1], match[2]
                break
        return OverflowedOperator(name, kind, "flagged", "its values were not decoded", 0, flags=(flag.said,))


def _left(dump: Dump, start: Operator) -> list[Tensor]:
    """What the step leaves behind: the last forward result, and what later phases made."""
    every = [o for o in dump.operators if o.direction == "forward" and o.outputs]
    forward = [o for o in every if not o.module] or every  # a dump of whole modules holds nothing else
    found = list(forward[-1].outputs) if forward else []
    for operator in dump.operators:
        if operator.direction != "forward" and operator.order >= start.order:
            found += [*operator.outputs, *operator.parameters]
    return found
