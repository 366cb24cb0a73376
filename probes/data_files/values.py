"""Missing, infinite and outlying values in data files."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...engine.model import Place
from ..dataset import units
from ..dataset.garbled import LOST
from ..dataset.model import Column, DataSet, Part
from ..dataset.naming import is_answer, is_identifier, is_label
from ..registry import Finding, View, absent, present, unknown
from ..run import Floats
from .common import FINAL, RAW, columns_of, many, needs_data, said_of, said_of_all

TAIL = 40  # values by which the weight of a tail is estimated
LEAST_GARBLED = 5  # texts that were decoded wrongly
SURPRISE = 9.0  # -log of the probability (1 in 8000) from which on a gap is none of the tail


def _gone(parts: Sequence[Part], which: Callable[[Part, Column], bool]) -> list[tuple[Part, Column]]:
    return [(p, c) for p, c in columns_of(parts) if which(p, c) and c.missing + c.infinite > 0]


def _missing_words(found: Sequence[tuple[Part, Column]]) -> tuple[str, int, tuple[Place, ...]]:
    part, worst = max(found, key=lambda pc: pc[1].missing + pc[1].infinite)
    count = sum(c.missing + c.infinite for _, c in found)
    what = "infinite" if worst.infinite > worst.missing else "missing"
    share = (worst.missing + worst.infinite) / max(1, worst.entries)
    others = f", {count} in all over {len(found)} columns" if len(found) > 1 else ""
    worst_count = worst.missing + worst.infinite
    values = many(worst_count, f"{what} value")
    why = f"{values} in {worst.name} of {said_of(part)} ({share:.2%}){others}"
    places = tuple(p for _, c in found[:3] if (p := c.missing_at or c.infinite_at) is not None)
    return why, count, places


def _optional(column: Column, usual: float) -> bool:
    return column.missing > usual * column.count


def _only_text(part: Part, column: Column) -> bool:
    """Whether a text is all that a labelled sample has for a model to read, and most samples have it."""
    others = [
        c for c in part.columns if c is not column and not is_label(c.name) and not is_identifier(c.name)
    ]
    return part.labels is not None and not others and column.missing <= 0.5 * column.count


@needs_data
def missing_values(data: DataSet, view: View, usual: float) -> Finding:
    """Empty cells and NaN in columns of numbers, in labels and in the texts that a model reads.

    A text that is empty in more than a share `usual` of the samples is optional by design ("input" beside
    "instruction"); what is to be answered is not.
    """
    del view
    parts = [p for p in data.parts if p.kind in (*RAW, "manifest") and p.looked]
    found = _gone(
        parts,
        lambda p, c: (
            (c.number and p.kind != "manifest")
            or is_label(c.name)
            or (c.free_text and (is_answer(c.name) or _only_text(p, c) or not _optional(c, usual)))
        ),
    )
    if found:
        why, count, places = _missing_words(found)
        return present(why, value=count, threshold=0, where=places)
    if not any((c.number and p.kind != "manifest") or c.free_text for p, c in columns_of(parts)):
        return unknown("no table among the data files")
    return absent(f"no value is missing in {said_of_all(parts)}", value=0)


@needs_data
def answers_missing(data: DataSet, view: View, share: float) -> Finding:
    """The text that a model is to learn to write is empty in `share` of the samples or more."""
    del view
    parts = [p for p in data.parts if p.kind in RAW and p.looked]
    asked = [(p, c) for p, c in columns_of(parts) if c.free_text and is_answer(c.name)]
    if not asked:
        return unknown("no column of answers among the data files")
    found = [(p, c) for p, c in asked if c.missing >= max(1, share * c.entries)]
    if found:
        why, count, places = _missing_words(found)
        return present(why, value=count, threshold=share, where=places)
    return absent(f"of {', '.join(sorted({c.name for _, c in asked}))} less than {share:.0%} are empty")


@needs_data
def inputs_not_finite(data: DataSet, view: View) -> Finding:
    """NaN or infinite values in arrays; absent only in what the model itself receives (dumped batches)."""
    del view
    parts = [p for p in data.parts if p.kind in ("array", *FINAL) and p.looked]
    found = _gone(parts, lambda _, c: not c.free_text)
    if found:
        why, count, places = _missing_words(found)
        return present(why, value=count, threshold=0, where=places)
    final = [p for p in parts if p.kind in FINAL and p.columns]
    if final:
        return absent(f"all values of {said_of_all(final)} are finite", value=0)
    if parts:
        return unknown("the arrays on disk are finite; what reaches the model was not dumped")
    return unknown("no dumped batches among the data files")


@needs_data
def missing_coded(data: DataSet, view: View, share: float) -> Finding:
    """A number repeats at the end of a column, far from all others: a code for a missing value (-999)."""
    del view
    parts = [p for p in data.parts if p.kind in (*RAW, "array") and p.looked]
    found = [(p, c, v, s) for p, c in columns_of(parts) for v, s in c.codes if s >= share]
    if found:
        part, column, value, of_all = max(found, key=lambda f: f[3])
        more = len({c.name for _, c, _, _ in found}) - 1
        others = f"; such numbers stand in {many(more, 'other column')} too" if more else ""
        why = (
            f"{column.name} of {said_of(part)} is {value:.6g} in {of_all:.1%} of its rows, and from "
            f"{column.low:.4g} to {column.high:.4g} in the others: a code for a missing value{others}"
        )
        places = tuple(c.code_at for _, c, _, _ in found[:3] if c.code_at is not None)
        return present(why, value=of_all, threshold=share, where=places)
    if not any(c.number and len(c.values) >= 50 for _, c in columns_of(parts)):
        return unknown("no column of at least 50 numbers among the data files")
    return absent("no number repeats far from all others", threshold=share)


MIXED = 0.01  # share of either way of writing decimals


@needs_data
def words_among_numbers(data: DataSet, view: View, share: float) -> Finding:
    """A column that is mostly numbers holds a few words: read as it stands, it is a column of texts."""
    del view
    parts = [p for p in data.parts if p.kind in RAW and p.looked]
    for part, column in columns_of(parts):
        filled = column.count - column.missing
        if min(column.commas, column.written) >= MIXED * filled > 0 and filled >= 50:
            if column.commas + column.written >= share * filled and not is_identifier(column.name):
                held = (
                    f"{many(column.written, 'number')} with a point or none and {column.commas} with a comma"
                )
                why = f"{column.name} of {said_of(part)} holds {held}: decimals are written in two ways"
                where = (column.commas_at,) if column.commas_at else ()
                return present(why, value=column.commas / filled, threshold=MIXED, where=where)
        if (
            column.words
            and column.written >= share * max(1, filled)
            and filled >= 50
            and not (is_label(column.name) or is_identifier(column.name))
        ):
            words = ", ".join(f"“{w}”" for w in column.words[:3])
            rest = many(filled - column.written, "cell")
            held = many(column.written, "number")
            why = f"{column.name} of {said_of(part)} holds {held}, and {words} in {rest}"
            where = (column.words_at,) if column.words_at else ()
            return present(why, value=column.written / filled, threshold=share, where=where)
    if not any(c.number or c.written for _, c in columns_of(parts)):
        return unknown("no table with a column of numbers among the data files")
    return absent(f"no column of numbers holds words in {said_of_all(parts)}")


@needs_data
def dates_mixed(data: DataSet, view: View, share: float, least: int) -> Finding:
    """Dates of one column stand there in two ways of writing (2024-01-31 and 31/01/2024)."""
    del view
    looked = False
    for part, column in columns_of([p for p in data.parts if p.kind in RAW and p.looked]):
        forms = {f: n for f, n in column.dates.items() if f != "01/02/2024"}
        told = sum(column.dates.values())
        if told < 0.5 * max(1, column.count - column.missing) or told < least:
            continue
        looked = True
        if len(column.dates) > 1 and not any("/" in f for f in forms):
            forms = dict(column.dates)  # days and months up to 12 alone, beside another way
        often = sorted((n, f) for f, n in forms.items() if n >= max(least, share * told))
        if len(often) > 1:
            (few, form), (_, usual) = often[0], often[-1]
            why = f"{column.name} of {said_of(part)} holds dates as {usual} and {few} as {form}"
            why += ": read in one way, days and months change places or nothing is read"
            return present(why, value=few / told, threshold=share, where=(column.dates_at[form],))
    if not looked:
        return unknown("no column of dates among the data files")
    return absent("every column of dates is written in one way", threshold=share)


def _extreme(part: Part, column: Column, factor: float, score: float) -> tuple[float, float, float] | None:
    """The value that lies farthest out: (value, robust z-score, times the 99th percentile); None if none."""
    values = column.values
    if not column.number or len(values) < 50 or is_identifier(column.name) or column.constant:
        return None
    if part.labels is not None and column.name == part.labels.name and part.labels.classes:
        return None
    middle = float(np.median(values))
    distances = np.abs(values - middle)
    usual = float(np.quantile(distances, 0.99))
    spread = 1.4826 * float(np.median(distances))  # 0 where half of the values are one: nothing to measure by
    far = column.high if column.high - middle >= middle - column.low else column.low
    distance = abs(far - middle)
    if usual <= 0 or spread <= 0 or distance < factor * usual or distance < score * spread:
        return None
    if not _breaks_off(distances, distance, max(factor * usual, score * spread)):
        return None
    return far, distance / spread, distance / usual


def _breaks_off(distances: Floats, farthest: float, bound: float) -> bool:
    """Whether what lies beyond the bound is cut off from the rest by a gap that its tail does not have.

    Of a heavy tail (incomes, clicks) the i largest values lie a factor g or more beyond the next one with
    probability g**(-alpha*i) (Renyi's representation of order statistics), alpha being Hill's estimate over
    the values that follow.
    """
    ordered = np.sort(distances)[::-1]
    if not len(ordered) or farthest > ordered[0]:
        ordered = np.concatenate([[farthest], ordered])
    ordered = ordered[ordered > 0]
    beyond = int((ordered >= bound).sum())
    most = min(beyond, max(1, len(ordered) // 50), len(ordered) - TAIL - 1)
    for i in range(1, most + 1):
        gap = float(np.log(ordered[i - 1] / ordered[i]))
        rest = ordered[i : i + TAIL + 1]
        mean = float(np.mean(np.log(rest[:-1] / rest[-1])))
        if gap > 0 and (mean <= 0 or gap * i / mean > SURPRISE):
            return True
    return False


def _outliers(parts: Sequence[Part], factor: float, score: float) -> Finding | None:
    found = []
    for part, column in columns_of(parts):
        one = _extreme(part, column, factor, score)
        if one is not None:
            found.append((one, part, column))
    if not found:
        return None
    (far, z, times), part, column = max(found, key=lambda f: f[0][1])
    place = column.high_at if far == column.high else column.low_at
    more = f"; {len(found)} columns have such values" if len(found) > 1 else ""
    why = (
        f"{column.name} of {said_of(part)} reaches {far:.6g}, {times:.3g} times the 99th percentile of "
        f"the distance from the median (robust z-score {z:.3g}){more}"
    )
    return present(why, value=z, threshold=factor, where=(place,) if place else ())


@needs_data
def outliers(data: DataSet, view: View, factor: float, score: float) -> Finding:
    """A value of a table many times farther from the median than 99 % of its column, by robust z-score."""
    del view
    parts = [p for p in data.parts if p.kind in RAW and p.looked]
    found = _outliers(parts, factor, score)
    if found is not None:
        return found
    if not any(c.number and len(c.values) >= 50 for _, c in columns_of(parts)):
        return unknown("no column of at least 50 numbers among the data files")
    return absent(f"no value lies that far out in {said_of_all(parts)}", threshold=factor)


@needs_data
def inputs_have_outliers(data: DataSet, view: View, factor: float, score: float) -> Finding:
    """The same for arrays; absent only in what the model itself receives (dumped batches)."""
    del view
    parts = [p for p in data.parts if p.kind in ("array", *FINAL) and p.looked]
    found = _outliers(parts, factor, score)
    if found is not None:
        return found
    final = [p for p in parts if p.kind in FINAL and any(len(c.values) >= 50 for c in p.columns)]
    if final:
        return absent(f"no value lies that far out in {said_of_all(final)}", threshold=factor)
    return unknown("no dumped batches among the data files")


@needs_data
def text_miscoded(data: DataSet, view: View, share: float) -> Finding:
    """Texts with letters that show UTF-8 read as Latin-1 ("Ã©"), or the mark for letters that were lost."""
    del view
    parts = [p for p in data.parts if p.kind in RAW and p.looked]
    for part, column in columns_of(parts):
        filled = column.count - column.missing
        if column.garbled >= max(LEAST_GARBLED, share * filled):
            what = "the mark of lost letters" if column.garbled_as == LOST else f"“{column.garbled_as}”"
            held = f"{column.garbled} of {many(filled, 'text')}"
            why = f"{held} in {column.name} of {said_of(part)} were decoded wrongly: they hold {what}"
            where = (column.garbled_at,) if column.garbled_at else ()
            return present(why, value=column.garbled / filled, threshold=share, where=where)
    texts = [c for _, c in columns_of(parts) if not c.number and c.count > c.missing]
    if not texts:
        return unknown("no column of texts among the data files")
    if any(c.garbled for c in texts):
        return unknown("only single texts were decoded wrongly")
    return absent(f"no text was decoded wrongly in {said_of_all(parts)}", threshold=share)


@needs_data
def units_mixed(data: DataSet, view: View) -> Finding:
    """A column holds one distribution twice, a factor between units apart (1.75 and 175, seconds and ms).

    Or one sensor's series goes on in another unit from some row on.
    """
    del view
    for part in data.parts:
        for one in part.switched:
            of = f" of {one.sensor}" if one.sensor else ""
            why = f"{one.column}{of} of {said_of(part)} goes on from some row on {one.how}: another unit"
            return present(why, value=1.0, where=(one.place,))
    parts = [p for p in data.parts if p.kind in RAW and p.looked]
    judged = False
    for part, column in columns_of(parts):
        judged = judged or (column.number and len(column.values) >= 2 * units.LEAST)
        if column.constant or (part.labels is not None and column.name == part.labels.name):
            continue
        found = units.factor_of(column)
        if found is not None:
            factor, of_all = found
            less = 1 - of_all if of_all > 0.5 else of_all
            which = "smaller" if of_all > 0.5 else "larger"
            why = (
                f"{column.name} of {said_of(part)} holds two groups of values that are alike but for a "
                f"factor of {factor:g} ({less:.1%} are the {which} ones): two units in one column"
            )
            place = column.high_at if which == "larger" else column.low_at
            return present(why, value=factor, where=(place,) if place else ())
    if not judged:
        return unknown("no column of numbers to judge units by")
    return absent(f"no column in two units in {said_of_all(parts)}")
