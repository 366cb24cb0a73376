"""Hold two dumps against each other: `diagnose compare` and `diagnose determinism`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...engine.model import (
    ComparedOperator,
    ComparedTensor,
    DumpComparison,
    DumpSide,
    TensorFigures,
)
from .compose import composed
from .find import detect
from .judge import Pair, judged, paired
from .knowledge import Tolerances, knowledge
from .locate import Place, Start, arguments, explained, locate
from .match import Match, foreigners, match
from .measured import with_figures
from .model import BENCHMARKS, Dump, Tensor
from .pairs import compare_pairs
from .permute import Order, orders, reordered
from .say import Told, said
from .settings import differences
from .stored import Stored

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked for. `exact`: any differing bit counts (random errors)."""

    rank: int | None = None
    step: int | None = None
    cosine: float | None = None
    exact: bool = False


DEFAULTS = Options()


class NotADump(Exception):
    """There is no dump at a path, or not of the rank or step asked for; one sentence for the user."""


def compare(
    run: Path, benchmark: Path, options: Options = DEFAULTS, progress: Progress | None = None
) -> DumpComparison:
    """Compare the dumps at two paths. Raises NotADump, RunUnreadable."""
    mine, theirs = detect(run), detect(benchmark)
    for path, dumps in ((run, mine), (benchmark, theirs)):
        if not any(d.operators for d in dumps):
            raise NotADump(f"{path}: no operator dump here{_noted(dumps)}")
    return compare_dumps(mine, theirs, str(run), str(benchmark), options, progress)


def _noted(dumps: Sequence[Dump]) -> str:
    notes = [n for d in dumps for n in d.notes]
    return f" ({notes[0]})" if notes else ""


def compare_dumps(
    mine: Sequence[Dump],
    theirs: Sequence[Dump],
    run: str,
    benchmark: str,
    options: Options = DEFAULTS,
    progress: Progress | None = None,
) -> DumpComparison:
    """Compare dumps that were found already. Raises NotADump when the rank or step asked for is not there."""
    pairs, notes = _chosen(mine, theirs, run == benchmark, options)
    absent = _absent_ranks(mine, theirs, pairs) if options.rank is None else ()
    limits = knowledge().tolerances
    if options.cosine is not None:
        limits = replace(limits, cosine=options.cosine)
    pairs = [composed(a, b) if foreigners(a, b) else (a, b) for a, b in pairs]
    walks = [Walk(a, b, match(a, b)) for a, b in pairs]
    judge = Judge(limits, options.exact)
    judge.read(walks, progress)
    for walk in walks:
        walk.places = judge.places(walk)
        walk.start = locate(walk.places, limits)
    for walk in walks:
        notes.extend(n for d in (walk.run, walk.benchmark) for n in d.notes)
    return conclude(walks, judge, run, benchmark, notes, absent)


def conclude(
    walks: Sequence[Walk],
    judge: Judge,
    run: str,
    benchmark: str,
    notes: Sequence[str],
    absent: tuple[int, ...] = (),
) -> DumpComparison:
    """Say what judged and located walks come to."""
    _collectives(walks)
    first = _earliest(walks)
    operators = _explained(walks, first, judge.limits)
    chosen = next((o for o in operators if o.state == "first"), None)
    if chosen is not None and first is not None and not chosen.file and not chosen.only:
        chosen = replace(chosen, file=first.run.path)
    told = Told(
        exact=judge.exact,
        walk_start=first.start if first else None,
        operator=chosen,
        operators=tuple(operators),
        ranks=tuple(sorted({w.run.rank for w in walks if w.run.rank is not None})),
        bad_ranks=tuple(sorted(_ranks_alike(walks, first))),
        from_statistics=judge.compared > 0 and not judge.with_values,
        digests_only=judge.compared == 0,
        absent_ranks=absent,
    )
    kind, verdict, steps = said(told)
    if absent:
        listed = ", ".join(map(str, absent[:8])) + (", ..." if len(absent) > 8 else "")
        notes = [*notes, f"in one of the dumps alone, and not compared: rank {listed}"]
    return DumpComparison(
        question="determinism" if judge.exact else "compare",
        run=_side(run, [w.run for w in walks]),
        benchmark=_side(benchmark, [w.benchmark for w in walks]),
        kind=kind,
        verdict=verdict,
        first=chosen,
        next_steps=steps,
        operators=tuple(operators),
        settings=tuple(dict.fromkeys(s for w in walks for s in differences(w.run, w.benchmark))),
        notes=tuple(dict.fromkeys([*notes, *_types(operators)])),
        ranks=told.ranks,
        steps=tuple(sorted({w.run.step for w in walks if w.run.step is not None})),
        from_statistics=told.from_statistics,
        tensors=sum(t.state != "unmatched" for o in operators for t in o.tensors),
    )


def _side(path: str, dumps: Sequence[Dump]) -> DumpSide:
    some = dumps[0]
    return DumpSide(path, some.format, some.framework, sum(len(d.operators) for d in dumps), some.notes)


# ---------------------------------------------------------------------------------------- which dumps


def _chosen(
    mine: Sequence[Dump], theirs: Sequence[Dump], same_tree: bool, options: Options
) -> tuple[list[tuple[Dump, Dump]], list[str]]:
    """Pairs of one rank and step, the earliest step first, and what was passed over."""
    notes: list[str] = []
    left = _labelled([d for d in mine if d.operators], "run", notes, benchmark=False)
    right = _labelled(
        [d for d in theirs if d.operators], "benchmark", notes, benchmark=True, same_tree=same_tree
    )
    for name, wanted in (("rank", options.rank), ("step", options.step)):
        if wanted is None:
            continue
        for side, dumps in (("run", left), ("benchmark", right)):
            there = sorted({getattr(d, name) for d in dumps} - {None})
            if there and wanted not in there:
                listed = ", ".join(map(str, there[:12]))
                raise NotADump(f"--{name} {wanted}: the {side}'s dump has {name} {listed}")
        left = [d for d in left if getattr(d, name) in (wanted, None)]
        right = [d for d in right if getattr(d, name) in (wanted, None)]
    pairs = _paired(left, right, notes)
    return sorted(pairs, key=lambda p: (p[0].step or 0, p[0].rank or 0)), notes


def _labelled(
    dumps: list[Dump], side: str, notes: list[str], *, benchmark: bool, same_tree: bool = False
) -> list[Dump]:
    """Of several dumps in one tree (debug_0, tf, ...): the one that is meant on this side."""
    labels = sorted({d.label for d in dumps})
    if len(labels) < 2:
        return dumps
    usable = [x for x in labels if x != "overflow_decode"] or labels
    wanted = [x for x in usable if (x in BENCHMARKS) == (benchmark and same_tree)] or usable
    chosen = wanted[0]
    left_out = ", ".join(x or "(unnamed)" for x in labels if x != chosen)
    notes.append(f"{side}: {chosen or '(unnamed)'} is compared; {left_out} is not")
    return [d for d in dumps if d.label == chosen]


def _absent_ranks(
    mine: Sequence[Dump], theirs: Sequence[Dump], pairs: Sequence[tuple[Dump, Dump]]
) -> tuple[int, ...]:
    """Ranks that one side alone has, where both have some in common."""
    left, right = ({d.rank for d in side if d.rank is not None and d.operators} for side in (mine, theirs))
    done = {d.rank for pair in pairs for d in pair}
    return tuple(sorted((left | right) - done)) if left & right else ()


def _paired(left: list[Dump], right: list[Dump], notes: list[str]) -> list[tuple[Dump, Dump]]:
    if len(left) == 1 and len(right) == 1:
        a, b = left[0], right[0]
        if a.step != b.step and None not in (a.step, b.step):
            notes.append(f"step {a.step} of the run is held against step {b.step} of the benchmark")
        return [(a, b)]
    by_place = {(d.rank, d.step): d for d in right}
    alone_rank = len({d.rank for d in left}) == 1 and len({d.rank for d in right}) == 1
    by_step = {d.step: d for d in right} if alone_rank else {}
    found = []
    missed = []
    for dump in left:
        other = by_place.get((dump.rank, dump.step)) or by_step.get(dump.step)
        if other is None:
            missed.append(f"step {dump.step}, rank {dump.rank}")
        else:
            found.append((dump, other))
    if missed:
        notes.append(f"without a counterpart in the benchmark: {'; '.join(missed[:6])}")
    if not found:
        found = [(left[0], right[0])]
        notes.append("no step and rank in common: the first dump of each side is compared")
    return found


# -------------------------------------------------------------------------------------------- reading


@dataclass(slots=True, eq=False)
class Walk:
    """One rank and step on its way through."""

    run: Dump
    benchmark: Dump
    matches: list[Match]
    places: Sequence[Place] = ()
    start: Start | None = None


class Judge:
    """Reads all pairs of tensors at once, so that all cores have work, and judges them."""

    def __init__(self, limits: Tolerances, exact: bool) -> None:
        self.limits = limits
        self.exact = exact
        self.found: dict[int, TensorFigures | str] = {}
        self.orders: dict[int, Order] = {}  # of pairs that were compared with their axes in another order
        self.pairs: dict[int, list[Pair]] = {}
        self.compared = 0
        self.with_values = 0

    def read(self, walks: Sequence[Walk], progress: Progress | None) -> None:
        """Pair the tensors of all matched operators, and walk over their values."""
        wanted: list[Pair] = []
        foreign: set[int] = set()
        for walk in walks:
            others = foreigners(walk.run, walk.benchmark)
            for one in walk.matches:
                if one.run is not None and one.benchmark is not None:
                    loose = others or one.replaced
                    self.pairs[id(one)] = [_measured(p) for p in paired(one.run, one.benchmark, loose)]
                    mine = [p for p in self.pairs[id(one)] if p.comparable and not p.same_digest]
                    wanted += mine
                    foreign |= {id(p) for p in mine if others}
        figures = compare_pairs([self._sides(p) for p in wanted], progress)
        self.found = {id(p): f for p, f in zip(wanted, figures, strict=True)}
        self._reorder([p for p in wanted if id(p) in foreign])

    def _sides(self, pair: Pair) -> tuple[Stored, Stored]:
        """Both sides' values; where only another order of axes gives one shape, in that order."""
        a, b = pair.run, pair.benchmark
        if a is None or b is None or a.stored is None or b.stored is None:
            raise ValueError("not comparable")  # `Pair.comparable` is asked before
        if a.shape != b.shape:
            for order in orders(a, b):
                moved = reordered(a.stored, order)
                if moved is not None:
                    self.orders[id(pair)] = order
                    return moved, b.stored
        return a.stored, b.stored

    def _reorder(self, pairs: Sequence[Pair]) -> None:
        """Of two frameworks: try what differs with its axes in every usual order, and keep what agrees."""
        tried: list[tuple[Pair, Order, tuple[Stored, Stored]]] = []
        for pair in pairs:
            a, b, figures = pair.run, pair.benchmark, self.found[id(pair)]
            if a is None or b is None or a.stored is None or b.stored is None or isinstance(figures, str):
                continue
            bound = self.limits.bound(a.dtype, b.dtype)
            if figures.relative is None or figures.relative <= bound:
                continue
            for order in orders(a, b):
                moved = reordered(a.stored, order) if order != self.orders.get(id(pair)) else None
                if moved is not None:
                    tried.append((pair, order, (moved, b.stored)))
        for (pair, order, _), figures in zip(tried, compare_pairs([s for _, _, s in tried]), strict=True):
            a, b = pair.run, pair.benchmark
            bound = self.limits.bound(a.dtype, b.dtype) if a is not None and b is not None else 0.0
            if (
                isinstance(figures, TensorFigures)
                and figures.relative is not None
                and figures.relative <= bound
            ):
                self.found[id(pair)], self.orders[id(pair)] = figures, order

    def places(self, walk: Walk) -> list[Place]:
        """Judge in order: what has been through a coarse type keeps its tolerance from there on."""
        coarse = 0.0
        found = []
        for one in walk.matches:
            for operator in (one.run, one.benchmark):
                types = {t.dtype for t in operator.tensors} if operator is not None else set()
                coarse = max(coarse, self.limits.bound(*types))
            found.append(self._place(one, coarse))
        return found

    def _place(self, one: Match, coarse: float) -> Place:
        if one.run is None or one.benchmark is None:
            alone = one.run or one.benchmark
            side = "run" if one.run else "benchmark"
            return Place(one, tuple(_alone(t, side) for t in (alone.tensors if alone else ())))
        in_place = knowledge().is_in_place(one.run.kind)
        size = self._size(one)
        tensors = tuple(
            self._tensor(p, size, coarse, in_place and n == 0) for n, p in enumerate(self.pairs[id(one)])
        )
        return Place(one, tensors, arguments(one.run, one.benchmark))

    def _size(self, one: Match) -> float:
        """The largest norm among the operator's inputs."""
        norms = [0.0]
        for pair in self.pairs[id(one)]:
            figures = self.found.get(id(pair))
            if isinstance(figures, TensorFigures) and figures.norm is not None:
                norm: float | None = figures.norm
            else:
                norm = pair.run.statistics.norm if pair.run else None
            if (
                pair.run is not None
                and pair.run.role != "output"
                and norm is not None
                and math.isfinite(norm)
            ):
                norms.append(norm)
        return max(norms)

    def _tensor(self, pair: Pair, size: float, coarse: float, late: bool) -> ComparedTensor:
        figures = self.found.get(id(pair))
        one = judged(pair, figures, self.limits, size=size, coarse=coarse, late=late)
        order = self.orders.get(id(pair))
        if order is not None:
            said = f"its axes are those of the benchmark in the order {order}"
            one = replace(one, why=f"{one.why}; {said}" if one.why else said)
        if one.figures is not None:
            self.compared += 1
            self.with_values += not one.figures.from_statistics
        return _exactly(pair, one, late) if self.exact else one


def _measured(pair: Pair) -> Pair:
    """Where one dump holds values and the other figures alone: the pair with figures on both sides."""
    a, b = pair.run, pair.benchmark
    if a is None or b is None or (a.stored is None) == (b.stored is None):
        return pair
    return Pair(with_figures(a, b), with_figures(b, a))


def _alone(tensor: Tensor, side: str) -> ComparedTensor:
    told = tensor.statistics
    reach = f", from {told.min:g} to {told.max:g}" if told.min is not None and told.max is not None else ""
    why = f"only the {side} has it{reach}"
    return ComparedTensor(tensor.name, "unmatched", tensor.dtype, shape=tensor.shape, why=why)


def _exactly(pair: Pair, one: ComparedTensor, late: bool) -> ComparedTensor:
    """Judge by bits: what is not the same is another result, however near."""
    a, b = pair.run, pair.benchmark
    if a is None or b is None or one.state in ("unknown", "unmatched", "identical"):
        return one
    if one.figures is not None and not one.figures.from_statistics:
        return replace(one, state="differs")
    if a.statistics.digest and b.statistics.digest:
        if not late:
            return replace(one, state="differs", why=one.why or "checksums differ")
        if a.statistics.figures == b.statistics.figures:
            return replace(
                one, state="unknown", why="changed in place: its checksum may be that of the result"
            )
        return replace(one, state="differs")
    if a.statistics.known and _same_figures(a, b):
        return replace(one, state="agrees", why="statistics are equal; bits are not recorded")
    return replace(one, state="differs") if a.statistics.known else one


def _same_figures(a: Tensor, b: Tensor) -> bool:
    pairs = zip(a.statistics.figures, b.statistics.figures, strict=True)
    return all(x == y or (x is not None and y is not None and x != x and y != y) for x, y in pairs)


# ------------------------------------------------------------------------------------- over all ranks


def _collectives(walks: Sequence[Walk]) -> None:
    """What comes out of a collective wrong may have gone in wrong at another rank of the same step."""
    for walk in walks:
        if walk.start is None or walk.start.kind != "collective":
            continue
        if any(
            w.run.step == walk.run.step and w.start is not None and w.start.kind != "collective"
            for w in walks
        ):
            walk.start = None


def _earliest(walks: Sequence[Walk]) -> Walk | None:
    found = [w for w in walks if w.start is not None]

    def place(walk: Walk) -> tuple[int, int, int]:
        index = walk.start.index if walk.start else 0
        return (walk.run.step or 0, index, walk.run.rank or 0)

    return min(found, key=place, default=None)


def _ranks_alike(walks: Sequence[Walk], first: Walk | None) -> set[int]:
    """Ranks that show the first difference at the same operator."""
    if first is None or first.start is None:
        return set()
    name = first.places[first.start.index].operator.name
    return {
        w.run.rank
        for w in walks
        if w.start is not None
        and w.run.rank is not None
        and w.run.step == first.run.step
        and w.places[w.start.index].operator.name == name
    }


def _explained(walks: Sequence[Walk], first: Walk | None, limits: Tolerances) -> list[ComparedOperator]:
    found: list[ComparedOperator] = []
    for walk in walks:
        later = first is not None and (walk.run.step or 0) > (first.run.step or 0)
        inherits = first is not None and walk is not first and not later
        start = walk.start if walk is first or not later else None
        made = explained(walk.places, start, limits, after=later or (inherits and walk.start is None))
        if walk is not first:
            same = {first.places[first.start.index].operator.name} if first and first.start else set()
            made = [
                replace(o, state="also" if o.name in same else "inherited") if o.state == "first" else o
                for o in made
            ]
        found.extend(made)
    return found


def _types(operators: Sequence[ComparedOperator]) -> list[str]:
    """Element types that differ, as one sentence however many tensors it is."""
    counts: dict[tuple[str, str], int] = {}
    for operator in operators:
        for tensor in operator.tensors:
            if tensor.dtype and tensor.benchmark_dtype and tensor.dtype != tensor.benchmark_dtype:
                key = (tensor.dtype, tensor.benchmark_dtype)
                counts[key] = counts.get(key, 0) + 1
    return [
        f"{n} tensors are {a} where the benchmark's are {b}; the coarser type's tolerance holds"
        for (a, b), n in sorted(counts.items(), key=lambda item: -item[1])
    ]
