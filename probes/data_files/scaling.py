"""Ranges of the columns of data files: unscaled, apart, constant, of two kinds, other in each split."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ...engine.model import Place
from ..dataset.model import Column, DataSet, Part
from ..dataset.naming import is_identifier, is_label
from ..dataset.tokens import LETTERS, SPECIAL
from ..registry import Finding, View, absent, present, unknown
from . import parted
from .common import FINAL, NUMBERED, RAW, columns_of, looked_at, many, needs_data, said_of, said_of_all

_OF_PICTURE = re.compile(
    r"(?:^|[/_.])(?:height|width|channels|depth|colorspace|format)$", re.I
)  # all of a size


def _scales(part: Part) -> list[Column]:
    """Columns whose scale matters: measured quantities, neither labels nor numbers of rows or tokens."""
    return [
        c
        for c in part.columns
        if c.number
        and not (c.constant or c.counting)
        and c.std > 0
        and not is_label(c.name)
        and not is_identifier(c.name)
        and not (c.dtype.startswith(("int", "bool")) or (c.dtype.startswith("uint") and c.dtype != "uint8"))
    ]


def _spread_out(column: Column) -> bool:
    """Whether at least half of its values differ from the median: rare flags and sparse counts do not."""
    values = column.values
    return bool(len(values)) and bool(np.median(np.abs(values - np.median(values))) > 0)


@needs_data
def columns_apart(data: DataSet, view: View, ratio: float) -> Finding:
    """The spreads of a raw table's columns lie orders of magnitude apart."""
    del view
    best: tuple[float, Part, Column, Column] | None = None
    for part in data.training:
        columns = [c for c in _scales(part) if _spread_out(c)] if part.kind in (*RAW, "array") else []
        if len(columns) >= 2:
            low, high = min(columns, key=lambda c: c.std), max(columns, key=lambda c: c.std)
            value = high.std / low.std
            if best is None or value > best[0]:
                best = value, part, low, high
    if best is None:
        return unknown("no table with several columns of numbers among the training data")
    value, part, low, high = best
    why = (
        f"{high.name} has {value:.3g} times the spread of {low.name} ({high.std:.3g} and {low.std:.3g}) in "
        f"{said_of(part)}"
    )
    rest = {"value": value, "threshold": ratio, "where": (Place(part.files[0]),)}
    return present(why, **rest) if value >= ratio else absent(why, **rest)


@needs_data
def inputs_unscaled(data: DataSet, view: View, large: float, small: float, ratio: float) -> Finding:
    """The inputs of dumped batches lie far outside -1..1, near zero throughout, or far apart in scale."""
    del view
    looked = [(p, c) for p in data.parts if p.kind in FINAL for c in _scales(p) if not _is_mean(c)]
    raw_bytes = [c for _, c in looked if c.dtype == "uint8"]
    # No layer takes whole numbers for reals: what turns these bytes into floats may well scale them, too.
    looked = [(p, c) for p, c in looked if c.dtype != "uint8"]
    if raw_bytes and not looked:
        return unknown(
            f"{raw_bytes[0].name} is of type uint8: what makes floats of it after the batch may scale it"
        )
    for part, column in looked:
        size = max(abs(column.low), abs(column.high))
        usual = float(np.quantile(np.abs(column.values), 0.9)) if len(column.values) else size
        said = f"{column.name} of {said_of(part)} goes from {column.low:.4g} to {column.high:.4g}"
        rest = {"where": (Place(part.files[0]),)}
        if usual > large:
            raw = (
                ": pixels that were not divided by 255"
                if 200 <= column.high <= 255 and column.low >= 0
                else ""
            )
            return present(f"{said}{raw}", value=usual, threshold=large, **rest)
        if size < small:
            return present(f"{said}: close to zero throughout", value=size, threshold=small, **rest)
    spreads = [c.std for _, c in looked]
    if len(spreads) >= 2 and max(spreads) > ratio * min(spreads):
        value = max(spreads) / min(spreads)
        return present(f"spreads of the inputs lie {value:.3g} times apart", value=value, threshold=ratio)
    if not looked:
        return unknown("no dumped batches with inputs of real numbers among the data files")
    return absent(f"the inputs of {looked_at(looked[0][0])} lie on a common scale around zero")


def _is_mean(column: Column) -> bool:
    return column.name == "mean of a sample"


@needs_data
def splits_scaled_differently(data: DataSet, view: View, shift: float, ratio: float) -> Finding:
    """A column or channel has another mean or spread in evaluation than in training."""
    del view
    other = _tones(data, TONES * shift) or _levels(data, TONES * shift) or _exchanged(data)
    if other is not None:
        return other
    train = {c.name: (p, c) for p in data.training for c in _scales(p) if len(c.values) >= 50}
    found: list[tuple[float, str, Place, Part, Column]] = []
    looked = 0
    later = {id(p) for p in data.of("eval", "test") if any(parted.apart(t, p) for t in data.training)}
    for part, column in columns_of(data.of("eval", "test")):
        if id(part) in later:
            continue
        if column.name not in train or column.std <= 0 or len(column.values) < 50:
            continue
        mine = train[column.name][1]
        if min(len(np.unique(mine.values)), len(np.unique(column.values))) < 3:
            continue  # of two values, the share of the one is all that moves
        looked += 1
        # Medians and quartile spreads: a few extreme values are another matter.
        a, b = _middle(mine.values), _middle(column.values)
        if a[1] <= 0 or b[1] <= 0:
            continue
        moved, times = abs(a[0] - b[0]) / max(a[1], b[1]), max(a[1] / b[1], b[1] / a[1])
        if moved >= shift or times >= ratio:
            why = (
                f"{column.name}: median {a[0]:.4g} and spread {a[1]:.4g} in training, "
                f"{b[0]:.4g} and {b[1]:.4g} in {part.name}"
            )
            found.append((max(moved / shift, times / ratio), why, Place(part.files[0]), part, column))
    few = [f for f in found if not _few_of_many(f[3], f[4], [c for _, _, _, p, c in found if p is f[3]])]
    worst = max(few, key=lambda f: f[0], default=None)
    if worst is not None:
        return present(worst[1], value=worst[0], threshold=1.0, where=(worst[2],))
    if found:
        return unknown("single ones of many columns alike differ, as chance lets them")
    if later and not looked:
        return unknown("the splits are other times: what drifts and what is scaled cannot be told apart")
    if not looked:
        return unknown("no column of numbers is known in both training and evaluation data")
    return absent(f"alike in training and evaluation: {many(looked, 'column')}", value=0)


APART, CLOSE = 0.25, 0.1  # Kolmogorov-Smirnov distances of columns that are exchanged: by name, and by place
LEAST_VALUES, LEAST_KINDS, MOST_COLUMNS = 100, 20, 64


def _exchanged(data: DataSet) -> Finding | None:
    """Two columns of numbers whose values stand under each other's name in evaluation."""
    for held in data.of("eval", "test"):
        for train in data.training:
            theirs = {c.name: c.values for c in _scales(held) if len(c.values) >= LEAST_VALUES}
            both = [
                c
                for c in _scales(train)
                if c.name in theirs
                and len(c.values) >= LEAST_VALUES
                # Of two columns for two answers one goes as the other where the shares of these have moved.
                and len(np.unique(c.values)) >= LEAST_KINDS
            ]
            if parted.apart(train, held) or len(both) > MOST_COLUMNS:
                continue
            moved = [c for c in both if _distance(c.values, theirs[c.name]) >= APART]
            for i, one in enumerate(moved):
                for other in moved[i + 1 :]:
                    crossed = (
                        _distance(one.values, theirs[other.name]),
                        _distance(other.values, theirs[one.name]),
                    )
                    if max(crossed) <= CLOSE:
                        why = (
                            f"{one.name} of {said_of(held)} goes as {other.name} of the training data, and "
                            "the other way round: the two are exchanged"
                        )
                        where = (Place(held.files[0]), Place(train.files[0]))
                        return present(why, value=max(crossed), threshold=CLOSE, where=where)
    return None


def _distance(one: Any, other: Any) -> float:
    """The largest distance between the distributions of two samples of numbers (Kolmogorov-Smirnov)."""
    a, b = np.sort(one), np.sort(other)
    at = np.concatenate([a, b])
    return float(
        np.abs(np.searchsorted(a, at, "right") / len(a) - np.searchsorted(b, at, "right") / len(b)).max()
    )


ORIENTED = (0.5, 0.02)  # shares of pictures that a tag turns, in two splits


def _oriented(data: DataSet) -> Finding | None:
    """Pictures that lie turned in their files, in one split alone: not every reader turns them back."""
    for held in data.of("eval", "test"):
        for train in data.training:
            if min(len(train.sizes), len(held.sizes)) < LEAST_SEEN or {train.kind, held.kind} != {"images"}:
                continue
            shares = [len(p.oriented) / len(p.sizes) for p in (train, held)]
            if max(shares) >= ORIENTED[0] and min(shares) <= ORIENTED[1]:
                part, other = (train, held) if shares[0] > shares[1] else (held, train)
                file, tag = next(iter(part.oriented.items()))
                why = (
                    f"{len(part.oriented)} of {len(part.sizes)} images of {said_of(part)} lie turned and "
                    f"carry an EXIF tag that says so ({tag}), {len(other.oriented)} of {said_of(other)}: PIL "
                    "does not turn them back by itself"
                )
                return present(why, value=max(shares), threshold=ORIENTED[0], where=(Place(file),))
    return None


@needs_data
def splits_turned(data: DataSet, view: View) -> Finding:
    """Samples of evaluation arrays have the axes of those of training in another order ([64, 3], [3, 64]).

    Or pictures of one split carry a tag of EXIF that turns them, and those of the other do not.
    """
    del view
    tagged = _oriented(data)
    if tagged is not None:
        return tagged
    looked = 0
    for held in data.of("eval", "test"):
        for train in data.training:
            for name, shape in train.sample_shapes.items():
                other = held.sample_shapes.get(name)
                if not shape or not other or len(set(shape)) < 2:
                    continue
                looked += 1
                if other != shape and sorted(other) == sorted(shape):
                    ours, theirs = " x ".join(map(str, shape)), " x ".join(map(str, other))
                    why = f"a sample of {name} is {ours} in training, {theirs} in {held.name}: axes exchanged"
                    where = (Place(held.files[0]), Place(train.files[0]))
                    return present(why, value=len(shape), where=where)
    if not looked:
        return unknown("no arrays of training and of evaluation whose samples have axes of different lengths")
    return absent("samples of training and evaluation arrays have their axes in one order")


CUT, LONGER, ENDED = 0.2, 1.3, 0.6  # shares of texts that break off, and that end elsewhere; times as long
BERT = (101, 102)  # its [CLS] and [SEP]
TOP_IDS, EXPECTED = 20, 100  # most frequent ids of a split, and how often the other one should hold them
TAGGED, BEGUN = 50, (0.9, 0.5)  # entities; shares of them that begin with B in two ways of tagging


def _token_of_one(train: Part, held: Part) -> str | None:
    """A frequent special token of one split that the other one never holds: the first and last ids."""
    a, b = train.token_counts, held.token_counts
    if not len(a) or not len(b) or train.format != held.format:
        return None
    size = max(len(a), len(b))
    if size <= LETTERS:
        return None  # letters of another text
    a, b = (np.pad(c, (0, size - len(c))) for c in (a, b))
    for there, gone, one, other in ((a, b, train, held), (b, a, held, train)):
        share = there / max(1, there.sum())
        for at in np.argsort(-share)[:TOP_IDS].tolist():
            special = at < SPECIAL or at >= size - SPECIAL or at in BERT
            if special and gone[at] == 0 and share[at] * gone.sum() >= EXPECTED:
                return (
                    f"token id {at} is {share[at]:.1%} of {said_of(one)} and never stands in "
                    f"{said_of(other)}: a mark between documents that is left out, or another tokenizer"
                )
    return None


def _tagged_otherwise(train: Part, held: Part) -> str | None:
    """Entities that always begin with B in one split, and mostly with I in the other (IOB2 and IOB1)."""
    if min(train.begun[0], held.begun[0]) < TAGGED:
        return None
    a, b = (p.begun[1] / p.begun[0] for p in (train, held))
    if max(a, b) >= BEGUN[0] and min(a, b) <= BEGUN[1]:
        return f"entities begin with B- in {a:.0%} in training, in {b:.0%} in {said_of(held)}: other tags"
    return None


@needs_data
def splits_written_differently(data: DataSet, view: View, share: float, none: float, least: int) -> Finding:
    """Texts have capital letters (or marks between words) in one split and hardly any in the other.

    Or they break off at one length in one split alone, a frequent token id stands in one split alone, or
    entities are tagged in two ways.
    """
    del view
    looked = ""
    for held in data.of("eval", "test"):
        for train in data.training:
            tokens = _token_of_one(train, held) or _tagged_otherwise(train, held)
            if tokens is not None:
                where = (Place(held.files[0]), Place(train.files[0]))
                return present(tokens, value=1.0, threshold=share, where=where)
            if len(train.token_counts) and len(held.token_counts):
                looked = looked or "every frequent token id"
            theirs = {c.name: c for c in held.columns if c.free_text and not c.number}
            for mine in train.columns:
                other = theirs.get(mine.name)
                counts = [c.count - c.missing for c in (mine, other) if c is not None]
                if len(counts) < 2 or other is None or min(counts) < least or not mine.free_text:
                    continue
                looked = looked or mine.name
                for what, a, b in (
                    ("capital letters", mine.capitals / counts[0], other.capitals / counts[1]),
                    ("marks such as full stops", mine.marks / counts[0], other.marks / counts[1]),
                    ("tags of HTML", mine.tagged / counts[0], other.tagged / counts[1]),
                ):
                    if max(a, b) >= share and min(a, b) <= none:
                        why = f"{what} stand in {a:.0%} of {mine.name} in training, in {b:.0%} in {held.name}"
                        where = (Place(held.files[0]), Place(train.files[0]))
                        return present(why, value=abs(a - b), threshold=share, where=where)
                for cut, whole, in_split, n in (
                    (other, mine, f"in {held.name}", counts[1]),
                    (mine, other, "in training", counts[0]),
                ):
                    rest = counts[0] + counts[1] - n
                    if (
                        cut.cut >= max(least / 2, CUT * n)
                        and whole.longest > LONGER * cut.longest
                        and whole.ended >= ENDED * rest
                    ):
                        why = (
                            f"{cut.cut} of {n} {mine.name} {in_split} break off at {cut.longest} characters, "
                            f"those of the other split go up to {whole.longest}"
                        )
                        where = (Place(held.files[0]), Place(train.files[0]))
                        return present(why, value=cut.cut / n, threshold=CUT, where=where)
    if not looked:
        return unknown("no column of texts is known in both training and evaluation data")
    return absent(f"{looked} is written alike in training and evaluation", threshold=share)


def _middle(values: Any) -> tuple[float, float]:
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
    return float(middle), float(high - low) / 1.349


def _few_of_many(part: Part, column: Column, found: list[Column]) -> bool:
    """Whether it is one of few that differ among many columns alike: pixels that are mostly empty."""
    key = NUMBERED.sub("", column.name)
    alike = sum(NUMBERED.sub("", c.name) == key for c in part.columns)
    return alike >= 16 and sum(NUMBERED.sub("", c.name) == key for c in found) < 0.1 * alike


@needs_data
def constant_columns(data: DataSet, view: View) -> Finding:
    """Columns of numbers of the training data with one and the same value everywhere.

    Passed over: texts (a source, an instruction), and single ones of many alike, as the pixels of a border.
    """
    del view
    parts = [p for p in data.training if p.kind in (*RAW, "array", "batches") and p.looked >= 20]
    still = [(p, c) for p, c in columns_of(parts) if c.constant and c.number and c.missing < 0.5 * c.count]
    found = [
        (p, c)
        for p, c in still
        if not (_one_of_many(p, c) or _OF_PICTURE.search(c.name)) and (p.kind == "batches" or _quantities(p))
    ]
    if found:
        named = ", ".join(c.name for _, c in found[:4])
        never = "never changes" if len(found) == 1 else "never change"
        why = f"{many(len(found), 'column')} of {said_of(found[0][0])} {never}: {named}"
        return present(why, value=len(found), threshold=0, where=(Place(found[0][0].files[0]),))
    if not any(p.columns for p in parts):
        return unknown("no table or array of at least 20 samples among the training data")
    return absent(f"every column changes over {said_of_all(parts)}", value=0)


def _quantities(part: Part) -> bool:
    """Whether another column of numbers changes: pairs of ids with a score of 1 are no inputs."""
    return part.kind == "array" or any(
        c.number and not (c.constant or c.counting or is_identifier(c.name)) for c in part.columns
    )


def _one_of_many(part: Part, column: Column) -> bool:
    """`pixel_0_3` beside dozens of other pixels, most of which change."""
    alike = [c for c in part.columns if NUMBERED.sub("", c.name) == NUMBERED.sub("", column.name)]
    return len(alike) >= 16 and sum(c.constant for c in alike) < 0.5 * len(alike)


@needs_data
def modes_mixed(data: DataSet, view: View) -> Finding:
    """Images of one part differ in their number of channels."""
    del view
    parts = [p for p in data.parts if p.kind == "images" and p.shapes]
    grey = _grey(data)
    if grey is not None:
        return grey
    for part in parts:
        modes: dict[str, int] = {}
        for shape, count in part.shapes.items():
            mode = {"palette": "RGB"}.get(shape.rpartition(" ")[2], shape.rpartition(" ")[2])
            modes[mode] = modes.get(mode, 0) + count
        if len(modes) > 1:
            said = ", ".join(f"{n} {m}" for m, n in sorted(modes.items(), key=lambda kv: -kv[1]))
            return present(
                f"images of {said_of(part)} differ in their channels: {said}", value=len(modes), threshold=1
            )
    if not parts:
        return unknown("no folder of images among the data files")
    one = {p.name: next(iter(p.shapes)).rpartition(" ")[2] for p in parts if p.split}
    if "grey" in one.values() and "RGB" in one.values():  # a conversion on loading brings no colour back
        said = ", ".join(f"{mode} in the {name}" for name, mode in one.items())
        where = tuple(Place(p.files[0]) for p in parts if p.split)[:2]
        return present(f"images differ in their channels: {said}", value=len(one), threshold=1, where=where)
    return absent(f"all images have the same channels ({said_of_all(parts)})", value=1)


GREY = (0.2, 0.8)  # shares of pictures without colour between which a set is mixed
LEAST_SEEN = 20
DECIBELS = 15.0  # between the levels of two splits: other microphones differ by less
TONES = 4 / 3  # times the shift of a column: pictures of another day differ, too


def _grey(data: DataSet) -> Finding | None:
    """Pictures without colour, stored with three channels: in a part of one split, or all of another."""
    shares = {
        p.name: (p.seen.grey / p.seen.coloured, p)
        for p in data.parts
        if p.seen is not None and p.seen.coloured >= LEAST_SEEN
    }
    even = (
        len(shares) > 1 and max(s for s, _ in shares.values()) - min(s for s, _ in shares.values()) < GREY[0]
    )
    for name, (share, part) in shares.items() if not even else ():  # every split has as many: so they came
        if part.seen is not None and GREY[0] <= share <= GREY[1]:
            of = f"{part.seen.grey} of {part.seen.coloured} {name}"
            why = f"{of} hold no colour, though they are stored as RGB"
            return present(why, value=share, threshold=GREY[0], where=part.seen.grey_at)
    if len(shares) > 1:
        low, high = min(shares.values(), key=lambda s: s[0]), max(shares.values(), key=lambda s: s[0])
        if low[0] <= 0.05 and high[0] >= 0.95 and high[1].seen is not None:
            why = f"the {high[1].name} hold no colour, though they are stored as RGB; the {low[1].name} do"
            return present(why, value=high[0], threshold=GREY[1], where=high[1].seen.grey_at)
    return None


def _levels(data: DataSet, shift: float) -> Finding | None:
    """Recordings of evaluation that are far louder or quieter than those of training: another gain."""
    for held in data.of("eval", "test"):
        for train in data.training:
            if min(len(train.levels), len(held.levels)) < LEAST_SEEN:
                continue
            (a, wide), (b, other) = _middle(train.levels), _middle(held.levels)
            if abs(a - b) >= max(DECIBELS, shift * max(wide, other)):
                why = f"level of a recording: median {a:.0f} dB in training, {b:.0f} dB in the {held.name}"
                return present(why, value=abs(a - b), threshold=DECIBELS, where=(Place(held.files[0]),))
    return None


REVERSED = (
    8.0  # standard errors that red and blue lie from their own, and at most a quarter from each other's
)


def _reversed(one: Any, other: Any) -> bool:
    """Whether the mean colours [n, 3] of pictures are those of other ones with red and blue exchanged."""
    error = np.sqrt(one.var(axis=0) / len(one) + other.var(axis=0) / len(other)) + 0.1
    a, b = one.mean(axis=0), other.mean(axis=0)
    kept, turned = np.abs(a - b) / error, np.abs(a - b[::-1]) / (error + error[::-1]) * 2
    return bool(
        min(kept[0], kept[2]) >= REVERSED
        and (a[0] - a[2]) * (b[0] - b[2]) < 0
        and turned.max() <= REVERSED / 4
    )


def _tones(data: DataSet, shift: float) -> Finding | None:
    """Pictures of evaluation that are darker, brighter or of another colour than those of training."""
    for held in data.of("eval", "test"):
        for train in data.training:
            one, other = train.seen, held.seen
            if one is None or other is None or min(len(one.tones), len(other.tones)) < LEAST_SEEN:
                continue
            a, b = np.median(one.tones, axis=0), np.median(other.tones, axis=0)
            if _reversed(one.tones, other.tones):
                why = (
                    f"red and blue of a picture: median {a[0]:.0f} and {a[2]:.0f} in training, "
                    f"{b[0]:.0f} and {b[2]:.0f} in {held.name}: as if they were exchanged"
                )
                return present(why, value=1.0, threshold=1.0, where=(Place(held.files[0]),))
            spread = max(_middle(t[:, i])[1] for t in (one.tones, other.tones) for i in range(3))
            moved = np.abs(a - b) / max(spread, 1.0)
            if moved.max() < shift:
                continue
            at = int(moved.argmax())
            colour = ("red", "green", "blue")[at]
            why = f"{colour} of a picture: median {a[at]:.0f} in training, {b[at]:.0f} in {held.name}"
            return present(why, value=float(moved.max()), threshold=shift, where=(Place(held.files[0]),))
    return None
