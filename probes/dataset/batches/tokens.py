"""Rows of token ids beside the benchmark's: padding, truncation, special tokens, vocabularies, masks, labels.

Rows are [n, length] of whole numbers.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...run import Floats
from .fitting import shown
from .model import Difference

Ids = np.ndarray[tuple[int, ...], np.dtype[np.intp]]
IGNORED = (-100.0, -1.0)  # torch's ignore_index, and what TensorFlow and MindSpore codes use for "no label"
SHIFTS = (1, -1, 2, -2)
MOSTLY = 0.95
INSIDE = 0.2  # rows that hold the padding between other ids, as ends of texts that pad as well
REPEATED = 10  # ids that come again and are mapped as before: chance does not do that


def pad_of(x: Floats) -> float | None:
    """The value of the longest runs at the ends of rows, if it hardly occurs inside; None without one."""
    if x.shape[1] < 2:
        return None
    runs: dict[float, list[int]] = defaultdict(list)
    for rows in (x, x[:, ::-1]):
        for first, length in zip(rows[:, 0].tolist(), _run(rows).tolist(), strict=True):
            if length > 1:
                runs[first].append(length)
    for value, lengths in sorted(runs.items(), key=lambda r: -sum(r[1])):
        if max(lengths) < 3 and len(set(lengths)) == 1:
            continue  # a start token that stands twice
        inside = [value in stripped(row, value) for row in x[:200]]
        if float(np.mean(inside)) <= INSIDE:
            return value
    return None


def _run(rows: Floats) -> Ids:
    """How many equal values each row begins with."""
    other = rows != rows[:, :1]
    found: Ids = np.where(other.any(axis=1), other.argmax(axis=1), rows.shape[1])
    return found


def stripped(row: Floats, pad: float | None) -> Floats:
    """A row without the padding at its ends."""
    if pad is None:
        return row
    kept = np.flatnonzero(row != pad)
    return row[kept[0] : kept[-1] + 1] if len(kept) else row[:0]


def _pads(x: Floats, y: Floats) -> tuple[float | None, float | None]:
    """Both sides' padding. A side whose rows are all full pads with what the other one does."""
    mine, theirs = pad_of(x), pad_of(y)
    return (theirs if mine is None else mine), (mine if theirs is None else theirs)


def _side(x: Floats, pad: float | None) -> str:
    left, right = int((x[:, 0] == pad).sum()), int((x[:, -1] == pad).sum())
    return "left" if left > right else "right" if right else ""


def explain(name: str, x: Floats, y: Floats) -> list[Difference]:
    """Explain rows of ids of one number; their lengths may differ."""
    pads = _pads(x, y)
    rows = [(stripped(p, pads[0]), stripped(q, pads[1])) for p, q in zip(x[:2000], y[:2000], strict=True)]
    rows = [(p, q) for p, q in rows if len(p) or len(q)]
    if not rows:
        return []
    if all(np.array_equal(p, q) for p, q in rows):
        return _padded(name, x, y, pads)
    for find in (_special, _cut, _backwards):
        found = find(name, rows, x.shape[1], y.shape[1])
        if found:
            return found
    return _mapped(name, rows)


def _padded(name: str, x: Floats, y: Floats, pads: tuple[float | None, float | None]) -> list[Difference]:
    said: list[str] = []
    sides = _side(x, pads[0]), _side(y, pads[1])
    if all(sides) and sides[0] != sides[1]:
        said.append(f"padded on the {sides[0]} here, on the {sides[1]} in the benchmark")
    if None not in pads and pads[0] != pads[1]:
        said.append(f"padded with {pads[0]:g} here, with {pads[1]:g} in the benchmark")
    if x.shape[1] != y.shape[1]:
        said.append(f"padded to {x.shape[1]} positions here, to {y.shape[1]} in the benchmark")
    if not said:
        return []
    words = f"{name}: the same content, {', '.join(said)}"
    return [Difference(name, "padding", words, float(x.shape[1]))]


def _special(name: str, rows: Sequence[tuple[Floats, Floats]], here: int, there: int) -> list[Difference]:
    """One id more at the beginning or end of every row: the start or end token."""
    for more, less, words in (
        (0, 1, "{} more here than in the benchmark"),
        (1, 0, "{} missing here that the benchmark has"),
    ):
        for front, back in ((1, 0), (0, 1), (1, 1)):
            if not all(_without(r[more], front, back, r[less], (here, there)[less]) for r in rows):
                continue
            starts = {float(r[more][0]) for r in rows} if front else set()
            exact = [r for r in rows if len(r[more]) == len(r[less]) + front + back]
            ends = {float(r[more][-1]) for r in exact or rows}
            if len(starts) > 1 or (back and len(ends) != 1):
                continue
            which = [f"a start token ({s:g})" for s in starts] + [
                f"an end token ({e:g})" for e in ends if back
            ]
            twice = front and all(len(r[less]) and r[less][0] == r[more][0] for r in rows)
            doubled = ": it stands there twice" if twice else ""
            text = f"{name}: {words.format(' and '.join(which))}, in every row{doubled}"
            return [Difference(name, "special-tokens", text, float(len(rows)))]
    return []


def _without(more: Floats, front: int, back: int, less: Floats, room: int) -> bool:
    """Whether `less` is `more` without its first or last ids; rows that are full may have lost their end."""
    rest = more[front : len(more) - back] if back else more[front:]
    if np.array_equal(rest, less):
        return len(more) > len(less)
    if back and (
        len(less) >= room or len(more) >= room
    ):  # a full row has room for as many ids more of its text
        longer = len(less) - len(rest)
        return 0 <= longer <= front + back and len(rest) >= 2 and np.array_equal(rest, less[: len(rest)])
    full = front and not back and (len(less) >= room or len(more) >= room)
    n = min(len(rest), len(less))
    return bool(full and n >= 2 and abs(len(rest) - len(less)) <= 1 and np.array_equal(rest[:n], less[:n]))


def _cut(name: str, rows: Sequence[tuple[Floats, Floats]], here: int, there: int) -> list[Difference]:
    """Beginning or end of the other side's rows: a smaller length, or the other end cut off."""
    for p, q, side, lengths in (
        (0, 1, "here", (here, there)),
        (1, 0, "in the benchmark", (there, here)),
    ):
        pairs = [(r[p], r[q]) for r in rows]
        if not any(len(a) < len(b) for a, b in pairs) or any(len(a) > len(b) for a, b in pairs):
            continue
        cut = sum(len(a) < len(b) for a, b in pairs)
        for keeps, kept, lost in (
            (lambda a, b: np.array_equal(a, b[: len(a)]), "beginning", "the end"),
            (lambda a, b: np.array_equal(a, b[len(b) - len(a) :]), "end", "the beginning"),
            (_but_last, "beginning", "the end but for the end token"),
        ):
            if all(keeps(a, b) for a, b in pairs):
                most = max(len(a) for a, _ in pairs)
                words = (
                    f"{name}: {cut} of {len(pairs)} rows are cut to at most {most} ids {side} (rows of "
                    f"{lengths[0]} against {lengths[1]}): the {kept} is kept, {lost} is lost"
                )
                return [Difference(name, "truncation", words, cut / len(pairs))]
    return _other_end(name, rows)


def _but_last(a: Floats, b: Floats) -> bool:
    return len(a) > 1 and bool(a[-1] == b[-1]) and np.array_equal(a[:-1], b[: len(a) - 1])


def _other_end(name: str, rows: Sequence[tuple[Floats, Floats]]) -> list[Difference]:
    """Rows of one text of which the two sides kept different ends: what overlaps is equal."""
    moved = []
    rows = _without_marks(rows)
    for a, b in rows:
        least = max(4, min(len(a), len(b)) // 4)
        most = min(len(a), len(b))
        if np.array_equal(a, b):
            continue
        start = next((k for k in range(most, least - 1, -1) if np.array_equal(a[-k:], b[:k])), 0)
        end = next((k for k in range(most, least - 1, -1) if np.array_equal(a[:k], b[-k:])), 0)
        moved.append(1 if start > end else -1 if end else 0)
    told = sum(m != 0 for m in moved)  # rows that are too long have nothing in common
    if told < max(2, 0.2 * len(moved)) or abs(sum(moved)) < told:
        return []
    kept, other = ("beginning", "end") if sum(moved) > 0 else ("end", "beginning")
    words = (
        f"{name}: the {kept} of long rows is kept here, the {other} in the benchmark: cut at the other side"
    )
    return [Difference(name, "truncation", words, len(moved) / len(rows))]


def _without_marks(rows: Sequence[tuple[Floats, Floats]]) -> Sequence[tuple[Floats, Floats]]:
    """The rows without a start or end token that every row of both sides has."""
    kept = [(a, b) for a, b in rows if len(a) > 2 and len(b) > 2]
    if len(kept) < len(rows):
        return rows
    if len({float(r[0]) for pair in rows for r in pair}) == 1:
        rows = [(a[1:], b[1:]) for a, b in rows]
    if len({float(r[-1]) for pair in rows for r in pair}) == 1:
        rows = [(a[:-1], b[:-1]) for a, b in rows]
    return rows


def _backwards(name: str, rows: Sequence[tuple[Floats, Floats]], *_lengths: int) -> list[Difference]:
    if all(np.array_equal(p, q[::-1]) for p, q in rows):
        return [Difference(name, "flip", f"{name}: every row runs backwards")]
    return []


def _mapped(name: str, rows: Sequence[tuple[Floats, Floats]]) -> list[Difference]:
    """Rows of equal lengths: ids that stand for others, one to one or many to one."""
    if any(len(p) != len(q) for p, q in rows):
        return []
    here, there = (np.concatenate([r[i] for r in rows]) for i in (0, 1))
    pairs = Counter(zip(here.tolist(), there.tolist(), strict=True))
    mine, theirs = Counter(p for p, _ in pairs), Counter(q for _, q in pairs)
    off = float(np.mean(here != there))
    changed = [(p, q) for p, q in pairs if p != q]
    # Every repetition of an id that is mapped to the same id again is one chance to be refuted.
    repeated = sum(n for (p, q), n in pairs.items() if p != q) - len(changed)
    if len(mine) == len(theirs) == len(pairs) and len(changed) >= 2 and repeated >= REPEATED:
        gaps = {p - q for p, q in changed}
        how = (
            f"every changed id is {gaps.pop():+g} against the benchmark's"
            if len(gaps) == 1
            else ", ".join(f"{p:g} for {q:g}" for p, q in sorted(changed)[:3])
        )
        words = (
            f"{name}: ids stand one to one for other ids ({how}; {off:.0%} of the ids): another "
            "vocabulary or tokenizer"
        )
        return [Difference(name, "vocabulary", words, off)]
    return _one_id(name, here, there, off)


def _one_id(name: str, here: Floats, there: Floats, off: float) -> list[Difference]:
    """What differs holds one id on one side: unknown words, or masked tokens."""
    for p, q, side, other in (
        (here, there, "here", "in the benchmark"),
        (there, here, "in the benchmark", "here"),
    ):
        held, wide = np.unique(p[p != q]), np.unique(q[p != q])
        if len(held) != 1 or len(wide) < 3:
            continue
        hit = np.isin(q, wide)
        if float(np.mean(p[hit] == held[0])) >= MOSTLY:
            words = (
                f"{name}: {len(wide)} ids of the other side are all {held[0]:g} {side} ({off:.0%} "
                "of the ids): words "
                "that are unknown to a smaller or other vocabulary"
            )
            return [Difference(name, "vocabulary", words, off)]
        words = (
            f"{name}: {off:.0%} of the ids are {held[0]:g} {side} and others {other}, here and there: tokens "
            "masked at random on one side"
        )
        return [Difference(name, "augmentation", words, off)]
    return []


# ----------------------------------------------------------------------------------- labels of tokens


def labels(name: str, x: Floats, y: Floats) -> list[Difference]:
    """Explain labels for each position, both [n, length]: ignored positions, and shifts."""
    found = ignored(name, x, y)
    if found:
        return found
    for by in SHIFTS:
        for edges in (0, 1):  # what a shift leaves at the end may be filled in any way
            a, b = (x[:, : x.shape[1] - by], y[:, by:]) if by > 0 else (x[:, -by:], y[:, :by])
            if edges:
                keep = ~(np.isin(a, IGNORED) | np.isin(b, IGNORED))
                a, b = a[keep], b[keep]
            if a.size >= 4 and float(np.mean(a == b)) >= 0.98 and len(np.unique(a)) > 2:
                ahead = "ahead of" if by > 0 else "behind"
                words = (
                    f"{name}: every label stands {abs(by)} position{'s' * (abs(by) > 1)} {ahead} "
                    "the benchmark's: shifted "
                    "on one side alone, or twice where the model shifts by itself"
                )
                return [Difference(name, "label-shift", words, float(by))]
    return []


def ignored(name: str, x: Floats, y: Floats) -> list[Difference]:
    """Positions that one side ignores and the other counts; elsewhere both are equal."""
    off = x != y
    for ignore in (*IGNORED, 255.0):
        there, here = off & (y == ignore), off & (x == ignore)
        some = int(there.sum()), int(here.sum())
        if not any(some) or not (there | here)[off].all():
            continue
        if ignore != IGNORED[0] and (not _odd(ignore, x, y) or (ignore == -1 and _one_to_one(x, y))):
            continue
        if _drawn(x != ignore, y != ignore, some):
            words = f"{name}: as many positions are labelled on both sides, others each: drawn at random"
            return [Difference(name, "augmentation", words, float(sum(some)) / x.size)]
        said = []
        if some[0]:
            held, counts = np.unique(x[there], return_counts=True)
            most = float(held[counts.argmax()])
            what = f"{most:g} here" if counts.max() >= MOSTLY * some[0] else "labels here"
            said.append(
                f"{some[0]} positions are {ignore:g} (ignored) in the benchmark and {what}, so that "
                "they count"
            )
        if some[1]:
            share = some[1] / x.size
            held = np.unique(y[here])
            what = f"{held[0]:g}" if len(held) == 1 else "labels"
            said.append(
                f"{some[1]} positions ({share:.1%}) are {ignore:g} (ignored) here and {what} in the benchmark"
            )
        value = float(sum(some)) / x.size
        return [Difference(name, "ignored", f"{name}: {'; '.join(said)}", value)]
    return []


def _drawn(here: NDArray[np.bool_], there: NDArray[np.bool_], apart: tuple[int, int]) -> bool:
    """Whether labelled positions stand alone, as many on either side: those of a masked language model."""
    if min(apart) < 8 or abs(apart[0] - apart[1]) > 3 * sum(apart) ** 0.5:
        return False
    runs = [np.sum(side[:, 1:] & side[:, :-1]) / max(1, int(side.sum())) for side in (here, there)]
    return bool(here.ndim == 2 and max(here.mean(), there.mean()) < 0.5 and max(runs) < 0.4)


def _one_to_one(x: Floats, y: Floats) -> bool:
    pairs = np.unique(np.stack([x.reshape(-1), y.reshape(-1)], 1), axis=0)
    return len(pairs) == len(np.unique(pairs[:, 0])) == len(np.unique(pairs[:, 1]))


def _odd(ignore: float, x: Floats, y: Floats) -> bool:
    """Whether a number lies outside the other labels, as what means "no label" does."""
    rest = np.concatenate([x[x != ignore].reshape(-1), y[y != ignore].reshape(-1)])
    return bool(len(rest)) and (ignore < rest.min() or ignore > 2 * rest.max() + 1)


# --------------------------------------------------------------------------------------------- masks


def masks(name: str, x: Floats, y: Floats, ids: Floats | None) -> list[Difference]:
    """Explain masks of attention, [n, ...] of equal shape; `ids` are the run's tokens."""
    held = [set(np.unique(s)) for s in (x, y)]
    if held[0] <= {0.0, 1.0} and held[1] <= {0.0, 1.0}:
        if np.array_equal(x, 1 - y):
            return [Difference(name, "mask", f"{name}: inverted: 1 here where the benchmark has 0")]
        more, less = int((x > y).sum()), int((x < y).sum())
        said = []
        if more:
            pad = _of_padding(x > y, ids)
            said.append(
                f"{more} positions ({more / x.size:.1%}) are attended here and not in the benchmark{pad}"
            )
        if less:
            said.append(f"{less} positions ({less / x.size:.1%}) are attended in the benchmark and not here")
        all_ones = ": the mask is all ones" if held[0] == {1.0} else ""
        return [Difference(name, "mask", f"{name}: {'; '.join(said)}{all_ones}", (more + less) / x.size)]
    if len(held[0]) == len(held[1]) == 2:
        low, high = min(held[0]), max(held[0])
        same = np.array_equal(x == high, y == max(held[1]))
        how = "the same positions, written otherwise" if same else "and the positions differ"
        if np.array_equal(x == low, y == max(held[1])):
            how = "and what was 1 there is the smaller number here" if low < -1 else "and inverted"
        words = (
            f"{name}: {shown(low)} and {shown(high)} here, {shown(min(held[1]))} and "
            f"{shown(max(held[1]))} in the "
            f"benchmark, {how}: one is multiplied or compared, the other is added to the scores"
        )
        return [Difference(name, "mask", words)]
    return []


def _of_padding(where: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], ids: Floats | None) -> str:
    if ids is None or ids.shape != where.shape:
        return ""
    pad = pad_of(ids)
    return f", all on padding ({pad:g})" if pad is not None and bool((ids[where] == pad).all()) else ""
