"""Rows that training learns from against rows that are scored, told by a symbolic run of the script.

Whatever the names are and whichever way the data go: the model's calls that a loss is made of learn, those
that no loss is made of score.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ...readers._tree import unparse
from ...registry import Finding
from ...scripts.syntax import Script
from ...side_chains.apart import Apart
from ...side_chains.held_rows import FIGURES, FITS, RowReader
from ...side_chains.stand_in import Held
from ...side_chains.used import apart_in_use
from ...side_chains.values import Term
from ...side_chains.watched import Event, Watch, base, watched
from ..shared.checks import at, ok
from ..shared.sides import words

_KEEPS = re.compile(r"(?i)best|patien|stop|wait")
_TEST = {"test", "te", "tst", "testing"}
SHARE = 0.35  # of the scored rows; a window of context that reaches back is less
MOST_TERMS = 3_000


@dataclass(frozen=True)
class Taught:
    """What one model learns from and is scored on."""

    event: Event
    inputs: tuple[Term, ...]
    rows: tuple[Held, ...]
    call: Term | None = None  # of the model; None of what a trainer is handed


@dataclass(frozen=True)
class Traffic:
    """What a script learns from and scores, in the order of time, and the reader of rows."""

    learnt: tuple[Taught, ...]
    scored: tuple[Taught, ...]
    reader: RowReader
    run: Watch


@lru_cache(maxsize=16)
def traffic(source: Script) -> Traffic:
    """What a symbolic run of the script shows."""
    run = watched(source)
    reader = RowReader(run)
    learnt: list[Taught] = []
    used: set[int] = set()
    for loss in run.losses:
        calls = [t for t in parts_of(loss.about) if t.head == "call:called" and _is_model(run, t)]
        used |= {id(t) for t in calls}
        for one in calls:
            inputs = tuple(a for a in (*one.args[1:], *one.kw.values()))
            event = Event(loss.node, loss.about, loss.loops, loss.time, one.args[0])
            learnt.append(Taught(event, inputs, _rows(reader, inputs), one))
    for event in run.learnt:
        learnt.append(Taught(event, (event.about,), _rows(reader, (event.about,))))
    scored: list[Taught] = []
    first = min((t.event.time for t in learnt), default=0)
    for event in run.asked:
        if id(event.about) in used or not _is_model(run, event.about) or event.time < first:
            continue
        inputs = tuple(a for a in (*event.about.args[1:], *event.about.kw.values()))
        scored.append(Taught(event, inputs, _rows(reader, inputs), event.about))
    for event in run.scored:
        scored.append(Taught(event, (event.about,), _rows(reader, (event.about,))))
    return Traffic(tuple(learnt), tuple(scored), reader, run)


def _is_model(run: Watch, call: Term) -> bool:
    return base(call.args[0]).key in run.models


def parts_of(t: Term, reader: RowReader | None = None) -> list[Term]:
    """A term and all in it, each object once; with `reader` the samples of data sets, too."""
    seen: dict[int, Term] = {}
    waiting = [t]
    while waiting and len(seen) < MOST_TERMS:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen[id(one)] = one
        waiting += [*one.args, *one.kw.values()]
        if one.head == "dict":
            waiting += one.value.values()
        if (
            reader is not None
            and one.head in ("obj", "func")
            and (inner := reader.sample_of(one)) is not None
        ):
            waiting.append(inner)
    return list(seen.values())


def _rows(reader: RowReader, inputs: tuple[Term, ...]) -> tuple[Held, ...]:
    """The rows that inputs are of, of each table."""
    found: dict[object, Held] = {}
    waiting = list(inputs)
    for _ in range(200):
        if not waiting:
            break
        one = waiting.pop(0)
        if one.head.startswith("call:") and one.name in (*FIGURES, *FITS):
            continue
        held = reader.held(one)
        if held is not None:
            if held.table not in ("#", "*") and not held.groups and not held.mask:
                found.setdefault((held.table, held.rows), held)
            continue
        if _selects(one):
            continue  # some rows, it is not known which
        waiting += [*one.args, *one.kw.values()]
        if one.head == "dict":
            waiting += one.value.values()
    parts = {h.table for h in found.values() if not h.whole}
    return tuple(h for h in found.values() if not h.whole or h.table not in parts)


_CHOOSES = re.compile(
    r"(?i)filter|select|query|take|skip|sample|drop|subset|where|choice|choose|split|slice|shard|head|tail|pop|mask"
)


def _selects(t: Term) -> bool:
    """It holds a part of what it is made of."""
    if t.head == "item":
        return t.args[1].head not in ("const", "count", "leaf")
    listed = t.head == "list_of" and bool(t.kw)
    return (
        listed or t.head in ("slice", "phi") or (t.head.startswith("call:") and bool(_CHOOSES.search(t.name)))
    )


# ------------------------------------------------------------------------------------------------- the checks


def scored_rows_learnt(source: Script) -> Finding | None:
    """Rows are scored that training learns from, although they are another part than the training rows."""
    found = traffic(source)
    seen: ast.AST | None = None
    for score in found.scored:
        for held in score.rows:
            mine = [r for t in _before(found, score) for r in t.rows if r.table == held.table]
            if not mine or held.whole or not held.rows:
                continue
            if _unlike_pair(score, held) and any(_unlike_pair(t, held) for t in _before(found, score)):
                continue  # inputs and labels of other rows: out of step, so nothing is known of the parts
            taught = frozenset().union(*(r.all for r in mine))
            if held.all in [r.all for r in mine] or held.all == taught:
                continue  # the score of training itself
            if held.all >= taught and not score.event.told:
                continue
            seen = seen or score.event.node
            beside = [r for r in score.rows if r.table == held.table and r.rows]
            # where some of what is scored is of other rows, labels are wrong or inputs reach back
            all_of_them = all(len(r.all & taught) >= SHARE * len(r.all) for r in beside)
            if all_of_them and len(held.all & taught) >= SHARE * len(held.all):
                why = "rows that are scored here are among those that training learns from"
                return at(source, score.event.node, why)
            if held.torn and any(r.torn for r in mine) and _between(held.all, taught):
                why = "windows that overlap are dealt to training and held-out data by chance"
                return at(source, score.event.node, why)
    told = "the rows that are scored are none of those learnt from"
    return ok(source, seen, told) if seen is not None else None


def _unlike_pair(event: Taught, held: Held) -> bool:
    """What one call gets of a table are parts of one size that are not the same rows."""
    rows = {r.all for r in event.rows if r.table == held.table}
    return len(rows) > 1 and len({len(r) for r in rows}) == 1


def _between(held: frozenset[int], taught: frozenset[int]) -> bool:
    """Most rows that are scored lie between rows that are learnt from."""
    return sum(r - 1 in taught or r + 1 in taught for r in held) > 0.6 * len(held)


def chosen_by_scored(source: Script) -> Finding | None:
    """What is scored in the rounds of training and chooses gives the last score too; other rows lie idle."""
    found = traffic(source)
    loops = {n for t in found.learnt for n in t.event.loops}
    inner = [s for s in found.scored if set(s.event.loops) & loops]
    end = inner[-1].event.time if inner else 0
    after = [s for s in found.scored if inner and not set(s.event.loops) & loops and s.event.time > end]
    seen: ast.AST | None = None
    for late in after:
        for held in late.rows:
            seen = seen or late.event.node
            same = [s for s in inner if any(r.table == held.table and r.all == held.all for r in s.rows)]
            if len(same) == len(inner) and same and not held.whole and _chooses(same[0]):
                rows = [r for t in found.learnt for r in t.rows if r.table == held.table]
                mine = frozenset().union(*(r.all for r in rows))
                if not mine or mine & held.all:
                    continue
                used = [r.all for s in found.scored for r in s.rows if r.table == held.table]
                others = [o for o in _idle_rows(found, held.table) if _apart(o, held, mine)]
                if others and not any(o.all & r and r != held.all for o in others for r in used):
                    why = "these rows choose the best epoch, and give the final score"
                    return at(source, same[0].event.node, why)
    return ok(source, seen, "other rows give the final score than choose") if seen is not None else None


def _chooses(score: Taught) -> bool:
    """The rounds keep the best, or stop."""
    loops = [n for n in score.event.loops if isinstance(n, (ast.For, ast.While))]
    if isinstance(score.event.node, ast.Call) and score.event.told:
        return True
    return any(_KEEPS.search(unparse(n)) for n in loops[:1])


def _apart(other: Held, held: Held, taught: frozenset[int]) -> bool:
    return bool(other.rows) and not other.all & held.all and not other.all & taught and not other.mask


def _idle_rows(found: Traffic, table: object) -> Iterator[Held]:
    """The rows of a table that names of the script hold in the end, without those of a test."""
    envs = [found.run.top.names, *(env.names for env in found.run.frames[-40:])]
    for name, value in [pair for names in envs for pair in names.items()]:
        if value.head in ("func", "const", "leaf", "class") or set(words(name)) & _TEST:
            continue
        held = found.reader.held(value)
        if held is not None and held.table == table and not held.groups:
            yield held


def _before(found: Traffic, score: Taught) -> Iterator[Taught]:
    """What the model that is scored has learnt from by then, or learns from in the same loop."""
    for one in found.learnt:
        if one.event.time < score.event.time or set(one.event.loops) & set(score.event.loops):
            if one.event.model is None or score.event.model is None or _same_model(one, score):
                yield one


def _same_model(one: Taught, other: Taught) -> bool:
    if one.event.model is None or other.event.model is None:
        return True
    mine, theirs = base(one.event.model), base(other.event.model)
    if mine.head.startswith("call:"):
        return mine is theirs  # two nets that are built alike are two nets
    return mine.key == theirs.key


def figures_of_scored(source: Script) -> ast.AST | None:
    """A mean, a deviation or a scale is learnt from rows that are scored, and the samples go by it."""
    found = traffic(source)
    by_table: dict[object, list[tuple[Taught, Held]]] = defaultdict(list)
    for score in found.scored:
        for held in score.rows:
            by_table[held.table].append((score, held))
    if not by_table:
        return None
    adapted = [made for call, made in found.run.calls if made.name == "adapt" and len(made.args) == 2]
    for taught in found.learnt:
        for figure in (*_figures(found.reader, taught.event.about), *adapted):
            of = found.reader.held(figure.args[-1] if figure.name in FITS else figure.args[0])
            if of is None or of.groups or of.mask:
                continue
            for score, held in by_table.get(of.table, ()):
                before = list(_before(found, score))
                if not any(t is taught for t in before):
                    continue  # another model goes by the figure: the last one, on more rows
                mine = [r for t in before for r in t.rows if r.table == held.table]
                learnt = frozenset().union(*(r.all for r in mine)) if mine else frozenset()
                if not learnt or len(held.all & learnt) >= SHARE * len(held.all) or not held.rows:
                    continue
                if len(of.all & held.all) >= SHARE * len(held.all) and of.all & learnt:
                    return figure.node
    return None


def _figures(reader: RowReader, about: Term) -> Iterator[Term]:
    """Figures by which samples are scaled: `(x - m) / s`, `scaler.transform(x)`."""
    for one in parts_of(about, reader):
        goes_by: list[Term] = []
        if one.head in ("op:-", "op:/") and len(one.args) == 2:
            goes_by = [one.args[1]]
        elif one.head.startswith("call:") and one.name in ("transform", "Normalize", "normalize", "called"):
            goes_by = [*one.args]
        for by in goes_by:
            if reader.held(by) is not None and not _is_figure(by):
                continue
            for part in _near(reader, by):
                if part.head.startswith("call:") and part.args and not _per_sample(part):
                    bounds = one.head == "op:/" and part.name in _BOUNDS
                    if bounds or part.name in (*FIGURES, *FITS):
                        yield part


_BOUNDS = ("min", "max", "amin", "amax")


def _per_sample(figure: Term) -> bool:
    """It is of one sample each, by its axis, or of what a model gives."""
    axis = figure.kw.get("axis") or figure.kw.get("dim") or (figure.args[1] if len(figure.args) > 1 else None)
    if figure.name not in FITS and axis is not None:
        told = axis.args if axis.head == "tuple" else (axis,)
        if told and all((t.is_number and t.value != 0) or t.head == "call:neg" for t in told):
            return True
    about = figure.args[-1] if figure.name in FITS else figure.args[0]
    return about.sampled or any(p.head == "call:called" for p in parts_of(about)[:200])


def _near(reader: RowReader, t: Term, depth: int = 8) -> Iterator[Term]:
    """What a figure is made of, as far as it is no data."""
    yield t
    if depth and not (t.head.startswith("call:") and t.name in (*FIGURES, *FITS, *_BOUNDS)):
        for one in t.args:
            if reader.held(one) is None:
                yield from _near(reader, one, depth - 1)


def _is_figure(t: Term) -> bool:
    return t.head.startswith("call:") and t.name in (*FIGURES, *FITS, *_BOUNDS)


# ----------------------------------------------------------------------------------- how inputs are processed

_OTHER_USES = frozenset(
    (
        *("sample", "generate", "attack", "visualize", "plot", "embed", "extract", "attribute", "explain"),
        *("show", "robust"),
    )
)
MOST_SCORES = 8


@lru_cache(maxsize=16)
def inputs_in_use(source: Script) -> tuple[Apart, ...]:
    """Where inputs that a model is scored on are processed otherwise than all those that it learns from."""
    traffic_ = traffic(source)
    run, found = traffic_.run, []
    for score in traffic_.scored[:MOST_SCORES]:
        function = source.function_around(score.event.node)
        if function is not None and _OTHER_USES & set(words(function.name)):
            continue
        mine = [
            t for t in traffic_.learnt if _alike_models(t, score) and (t.call is None) == (score.call is None)
        ]
        pairs = [p for t in mine if (p := _first_inputs(t, score)) is not None]
        if not pairs or len(pairs) < len(mine) or len(pairs) > MOST_SCORES:
            continue
        one = apart_in_use(run, pairs[0][1], [p[0] for p in pairs], score.call is None)
        if one is not None:
            found.append(one)
    return tuple(found)


def _alike_models(one: Taught, other: Taught) -> bool:
    """One net, or two that are built alike: it is made anew and given its weights before it is scored."""
    if one.event.model is None or other.event.model is None:
        return True
    mine, theirs = base(one.event.model), base(other.event.model)
    if mine.head == theirs.head == "call:Model" and mine.args and theirs.args:
        return mine.args[0].key == theirs.args[0].key  # a decoder is asked other things than the whole
    return mine.key == theirs.key or (mine.head.startswith("call:") and mine.head == theirs.head)


def _first_inputs(taught: Taught, score: Taught) -> tuple[Term, Term] | None:
    """The first input of both, by its place or by a name that both have."""
    mine, theirs = taught.call, score.call
    if mine is None or theirs is None:
        return (taught.inputs[0], score.inputs[0]) if taught.inputs and score.inputs else None
    if len(mine.args) > 1 and len(theirs.args) > 1:
        return mine.args[1], theirs.args[1]
    if len(mine.args) > 1 or len(theirs.args) > 1:
        return None
    same = [k for k in mine.kw if k in theirs.kw]
    return (mine.kw[same[0]], theirs.kw[same[0]]) if same else None
