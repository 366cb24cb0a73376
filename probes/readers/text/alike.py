"""Numbers of many lines of one shape, read column by column.

Lines of one layout differ in nothing but digits: every number stands at the same bytes, so that a table of
bytes holds them, and arithmetic on its columns gives them. A number of up to 15 digits, divided or
multiplied by a power of ten up to 10^22, is the float64 that `float` reads (both are exact, so that one
rounding is left: W. D. Clinger, "How to read floating point numbers accurately", PLDI 1990). All others are
given to `float`, and lines whose layout is rare to the regular expression of their shape.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ...run import Floats
from .numbers import TOKEN
from .shape import Shape
from .stamps import day_of, wall_of

Bytes = NDArray[np.uint8]
LAYOUT = bytes.maketrans(b"123456789", b"0" * 9)  # lines of one layout are equal after it
RARE = 64  # lines of a layout below which a table costs more than it saves
_DIGITS = 15
_EXACT = 22
_TENS = np.array([float(f"1e{power}") for power in range(_EXACT + 1)])
_FORM = re.compile(rb"([-+]?)(\d*)(?:\.(\d*))?(?:[eE]([-+]?)(\d{1,3}))?")
_STAMP = re.compile(rb"\d{4}\D\d\d\D\d\d\D\d\d:\d\d:")
_SECONDS = re.compile(rb"\d\d(?:\.\d{0,3})?")


class Mark(NamedTuple):
    """Where the lines of a layout name their rank: its digits; the mark itself, and what stands for it."""

    digits: tuple[int, int]
    span: tuple[int, int]
    instead: bytes = b""

    def rank(self, line: bytes) -> int:
        """The rank that a line names."""
        return int(line[slice(*self.digits)])

    def without(self, line: bytes) -> bytes:
        """The line without its mark."""
        return line[: self.span[0]] + self.instead + line[self.span[1] :]

    def left_out(self, block: Bytes) -> Bytes:
        """The same of many lines, uint8 [n, bytes]."""
        start, end = self.span
        if not start and not self.instead:
            return block[:, end:]
        blank = np.tile(np.frombuffer(self.instead, np.uint8), (len(block), 1))
        return np.concatenate([block[:, :start], blank, block[:, end:]], axis=1)


class Stretch(NamedTuple):
    """Lines of one layout in a row: the layout, how many, where they begin, the number of the first."""

    layout: bytes
    lines: int
    start: int
    number: int
    mark: Mark | None = None


class Numbers(NamedTuple):
    """What the captured tokens of n lines say: slot -> float64 [n]; seconds since the epoch, float64 [n];
    ranks, float64 [n], NaN where a line names none."""

    of: dict[int, Floats]
    walls: Floats
    ranks: Floats


def numbers_of(shape: Shape, slots: set[int], data: bytes, stretches: list[Stretch]) -> Numbers | None:
    """Read the numbers in `slots` of all lines; None where one of them needs a closer look.

    `data` holds the lines, each with its line end.
    """
    if shape.pattern is None or not shape.needed:
        return None
    total = sum(s.lines for s in stretches)
    found = Numbers({slot: np.empty(total) for slot in slots}, np.full(total, np.nan), np.full(total, np.nan))
    layouts: dict[bytes, list[tuple[int, Stretch]]] = defaultdict(list)
    at = 0
    for stretch in stretches:
        layouts[stretch.layout].append((at, stretch))
        at += stretch.lines
    rare: list[tuple[int, Stretch]] = []
    whole = np.frombuffer(data, dtype=np.uint8)
    try:
        for layout, parts in layouts.items():
            if sum(s.lines for _, s in parts) < RARE:
                rare += parts
                continue
            where, mark = _places(parts), parts[0][1].mark
            block = _gathered(whole, len(layout) + 1, [s for _, s in parts])
            if mark is not None:
                found.ranks[where] = whole_numbers(block, range(*mark.digits))
                block = mark.left_out(block)
            if not _Table(block).read(shape, slots, where, found):
                return None
        return found if not rare or _one_by_one(shape, slots, data, rare, found) else None
    except ValueError:
        return None


def spread(firsts: list[int], counts: list[int], width: int = 1) -> NDArray[np.int64]:
    """Return int64 [sum of counts]: for each first number so many, `width` apart."""
    lengths = np.array(counts, dtype=np.int64)
    ends = np.cumsum(lengths)
    within = np.arange(int(ends[-1])) - np.repeat(ends - lengths, lengths)
    return np.repeat(np.array(firsts, dtype=np.int64), lengths) + within * width


def _places(parts: list[tuple[int, Stretch]]) -> NDArray[np.int64]:
    return spread([place for place, _ in parts], [s.lines for _, s in parts])


def _gathered(whole: Bytes, width: int, parts: list[Stretch]) -> Bytes:
    """Return uint8 [lines, width]: the lines of one layout, with their line ends."""
    if len(parts) == 1:
        start, count = parts[0].start, parts[0].lines
        return whole[start : start + count * width].reshape(count, width)
    starts = spread([s.start for s in parts], [s.lines for s in parts], width)
    taken: Bytes = sliding_window_view(whole, width)[starts]
    return taken


def _one_by_one(
    shape: Shape, slots: set[int], data: bytes, rare: list[tuple[int, Stretch]], found: Numbers
) -> bool:
    """Read lines of rare layouts by the regular expression of their shape."""
    rare.sort()
    where = _places(rare)
    lines: list[bytes] = []
    ranks: list[float] = []
    for _, stretch in rare:
        mine, mark = lines_in(data, [stretch]), stretch.mark
        lines += mine if mark is None else list(map(mark.without, mine))
        ranks += [np.nan] * len(mine) if mark is None else list(map(mark.rank, mine))
    found.ranks[where] = ranks
    tokens = shape.columns(lines)
    if tokens is None:
        return False
    for slot in slots:
        found.of[slot][where] = list(map(float, tokens[slot]))
    if shape.stamped:
        found.walls[where] = list(map(wall_of, lines))
    return True


def lines_in(data: bytes, stretches: Iterable[Stretch]) -> list[bytes]:
    """The lines, without their ends."""
    lines: list[bytes] = []
    for one in stretches:
        end = one.start + one.lines * (len(one.layout) + 1) - 1
        lines += data[one.start : end].split(b"\n")
    return lines


def whole_numbers(block: Bytes, places: Iterable[int]) -> Floats:
    """The whole numbers that digits at these places of uint8 [n, bytes] make: exact up to 15 of them."""
    total, zeros = np.zeros(len(block)), 0
    for at in places:
        total *= 10
        total += block[:, at]
        zeros = 10 * zeros + 48
    total -= zeros
    return total


class _Table:
    """Lines of one layout as uint8 [lines, bytes]."""

    def __init__(self, block: Bytes) -> None:
        self.block = block
        self.first = block[0, :-1].tobytes()

    def read(self, shape: Shape, slots: set[int], where: NDArray[np.int64], found: Numbers) -> bool:
        """Write the numbers to the places `where`; False where the lines differ in more than numbers."""
        match = shape.pattern.match(self.first) if shape.pattern else None
        if match is None or not self._differ_in_tokens(match):
            return False
        for slot in slots:
            found.of[slot][where] = self._column(*match.span(slot + 1))
        if shape.stamped:
            found.walls[where] = self._walls()
        return True

    def _differ_in_tokens(self, match: re.Match[bytes]) -> bool:
        """Whether digits that are part of the text ("top1") are the same on all lines."""
        spans = [m.span() for m in TOKEN.finditer(self.first, 0, match.end())]
        spans += [match.span(at) for at in range(1, match.re.groups + 1)]
        free = {at for start, end in spans for at in range(start, end)}
        fixed = [at for at in range(match.end()) if at not in free and 48 <= self.first[at] < 58]
        return all(bool((self.block[:, at] == self.first[at]).all()) for at in fixed)

    def _column(self, start: int, end: int) -> Floats | float:
        """The numbers that stand there. Raises ValueError when they are none."""
        token = self.first[start:end]
        form = _FORM.fullmatch(token)
        if form is None or not form.group(2) + (form.group(3) or b""):
            return self._floats(start, end)
        at = [*range(start + form.start(2), start + form.end(2))]
        after = form.span(3)[1] - form.span(3)[0]
        at += range(start + form.start(3), start + form.end(3)) if after else ()
        if len(at) > _DIGITS:
            return self._floats(start, end)
        value = whole_numbers(self.block, at)
        if form.group(5) is not None:
            power = whole_numbers(self.block, range(start + form.start(5), start + form.end(5)))
            power = (-power if form.group(4) == b"-" else power) - after
            if np.abs(power).max() > _EXACT:
                return self._floats(start, end)
            scale = _TENS[np.abs(power).astype(np.intp)]
            value = np.where(power < 0, value / scale, value * scale)
        elif after:
            value /= _TENS[after]
        return -value if form.group(1) == b"-" else value

    def _floats(self, start: int, end: int) -> Floats | float:
        token = self.first[start:end]
        if token.translate(None, b"0123456789") == token:
            return float(token)  # nan, inf
        column = np.ascontiguousarray(self.block[:, start:end]).view(f"S{end - start}").ravel()
        return np.array(list(map(float, column.tolist())))

    def _walls(self) -> Floats | list[float]:
        """`wall_of` of each line."""
        at = 1 if self.first[:1] in (b"[", b"(") else 0
        seconds = self.first[at + 17 : at + 19]
        if self.first[at + 19 : at + 20] in (b".", b","):
            seconds = self.first[at + 17 : at + 23].rstrip(b" ,.]").replace(b",", b".")
        if _STAMP.match(self.first, at) is None or _SECONDS.fullmatch(seconds) is None:
            return [wall_of(line.tobytes()) for line in self.block[:, :-1]]
        dates = whole_numbers(self.block, (*range(at, at + 4), at + 5, at + 6, at + 8, at + 9))
        if dates.min() == dates.max():
            days: Floats | float = day_of(self.first[at : at + 10])
        else:
            _, first, which = np.unique(dates, return_index=True, return_inverse=True)
            days = np.array([day_of(self.block[i, at : at + 10].tobytes()) for i in first])[which]
        hours, minutes = (
            whole_numbers(self.block, (at + 11, at + 12)),
            whole_numbers(self.block, (at + 14, at + 15)),
        )
        digits = [at + 17, at + 18, *range(at + 20, at + 17 + len(seconds))]
        walls: Floats = (
            days + 60 * (60 * hours + minutes) + whole_numbers(self.block, digits) / _TENS[len(digits) - 2]
        )
        return walls
