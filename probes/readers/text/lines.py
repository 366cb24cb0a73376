"""From a file's bytes to lines: encodings, line ends, colours, progress bars, the prefixes of ranks."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain, pairwise

from ...assembly import languages
from . import chinese, layouts, sides_told
from .alike import Mark

LONG = 64 * 1024
CHUNK = 4 * 1024**2  # so much is held as lines at a time
_ANSI = re.compile(rb"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b\n]{0,400}(?:\x07|\x1b\\)?|[@-Z\\-_])")
_BACKSPACES = re.compile(rb"\x08+")
_TAGGED = re.compile(
    rb"^\s*(?:\[(?:rank|default)_?(\d{1,5})\]:?\s?|\((?:\w*[Ww]orker\w*|\w*[Aa]ctor\w*|\w*[Tt]rain\w*)[^()]{0,40}?pid=(\d+)[^()\n]{0,80}\)\s?"
    rb"|\[(?:\d{1,4},)?(\d{1,4})\]\s?<std(?:out|err)>:?\s?|(?:[Rr]ank|RANK)[ _:]?(\d{1,5})\s*[:|\]]\s?)"
)
# The same within a line, taken for a mark only where the numbers alternate from line to line.
_WORDS = rb"(?:global_|dp_|world_)?(?:rank|worker|process|proc|replica|device|gpu|npu|peer)(?:_?id)?"
_WITHIN = (
    re.compile(rb"[\"']" + _WORDS + rb"[\"']\s*:\s*(\d{1,4})\s*,?\s*", re.IGNORECASE),
    re.compile(
        rb"[\[(<|]?\s*(?<![\w/])"
        + _WORDS
        + rb"[\s_:=#-]{0,2}(\d{1,4})(?![\w.])(?:/\d{1,4})?\s*[\])>|]?[:,|]?",
        re.IGNORECASE,
    ),
    re.compile(rb"\blocal_rank[\s_:=#-]{0,2}(\d{1,4})(?![\w.])[\])>|:,]{0,2}", re.IGNORECASE),
    re.compile(rb"^\s*[\w.-]{0,40}?(?:node|host|pod|server|trainer)[-_]?(\d{1,4}):\s?", re.IGNORECASE),
    re.compile(rb"^\s*[\[(<]?[RWrw](\d{1,3})[\])>]?\s*[:|\]]?(?=\s)"),
    re.compile(rb"^\s*[\[(](\d{1,3})(?:/\d{1,3})?[\])]\s*[:|]?(?=\s*\w)"),
)
_HAS_VALUE = re.compile(rb"[=:\s]-?\d+\.?\d*(?:e[-+]?\d+)?", re.IGNORECASE)
_NUMBERED = re.compile(rb"^\s{0,6}(\d{1,4}):(?: |(?!\d\d\b))(?=\S)")  # "13:55:21 INFO ..." is a clock
_BAR = re.compile(rb"%\||it/s|s/it|\ds/step|\d[mu]s/step|\[=*>?\.*\]|ETA")


@dataclass(slots=True)
class Lines:
    """The lines of one file, and what had to be put right on the way."""

    data: bytes  # its lines are those before `stop`, once `changes` are made, which keep lines as lines
    notes: list[str]
    tagged: bool  # some lines begin with the mark of a rank
    numbered: bool  # lines begin with "<rank>: "
    workers: dict[bytes, int]
    within: re.Pattern[bytes] | None = None  # where a line names its rank, if not at its beginning
    changes: list[Callable[[bytes], bytes]] = field(default_factory=list)
    stop: int = -1

    def __post_init__(self) -> None:
        self.stop = len(self.data)

    def __iter__(self) -> Iterator[tuple[int, bytes, int | None, bool]]:
        """Yield (line number from 1, text without prefix, rank, whether it is a passing state of a bar)."""
        skipped = 0
        for number, ended in enumerate(chain.from_iterable(map(io.BytesIO, self.chunks())), 1):
            raw = ended.rstrip(b"\n")
            if len(raw) > LONG and b"\r" not in raw:
                skipped += 1
                continue
            if b"\r" in raw:
                states = [s for s in raw.split(b"\r") if s and not s.isspace()]
                for at, state in enumerate(states):
                    if len(state) <= LONG:
                        text, rank = self.untag(state)
                        yield number, text, rank, at < len(states) - 1 and bool(_BAR.search(state))
                continue
            if self.marked:
                text, rank = self.untag(raw)
                yield number, text, rank, False
            else:
                yield number, raw, None, False
        if skipped:
            self.notes.append(f"{skipped} lines longer than {LONG // 1024} KiB were passed over")

    @property
    def marked(self) -> bool:
        """Whether lines name the rank that wrote them."""
        return self.tagged or self.numbered or self.within is not None

    @property
    def simple(self) -> bool:
        """Whether every line is one text, with a mark of its rank or without: none is a bar's."""
        if b"\r" in self.data:
            return False
        return max(map(len, io.BytesIO(self.data)), default=0) <= LONG

    def take_tail(self) -> bytes:
        """Take off and return a last line that has no end; empty where there is none, or a bar."""
        at = self.data.rfind(b"\n") + 1
        tail = self.data[at:]
        if not at or not tail or len(tail) > LONG or b"\r" in tail:
            return b""
        self.stop = at - 1
        return self._changed(tail)

    def chunks(self) -> Iterator[bytes]:
        """Yield successive parts: whole lines, the last without its end."""
        for start, end in _parts(self.data, self.stop):
            yield self._changed(self.data[start : end - (end < self.stop)])

    def recent(self, size: int) -> list[bytes]:
        """The last lines that have an end, of about so many bytes; the first may be cut."""
        return self._changed(self.data[max(0, self.stop - size) : self.stop]).split(b"\n")

    @property
    def count(self) -> int:
        """How many lines have an end."""
        return self.data.count(b"\n", 0, self.stop) + 1

    def head(self, size: int) -> bytes:
        """The first bytes."""
        return self._changed(self.data[:size])

    def _changed(self, part: bytes) -> bytes:
        return reduce(lambda part, change: change(part), self.changes, part)

    def untag(self, raw: bytes) -> tuple[bytes, int | None]:
        """Take the mark of a rank off a line."""
        match = self._marked_at(raw)
        if match is None:
            return raw, None
        if match.lastindex == 2 and not self.numbered and self.within is None:
            return raw[match.end() :], self.workers.setdefault(match.group(2), len(self.workers))
        mark = self._mark(match)
        return mark.without(raw), mark.rank(raw)

    def mark(self, layout: bytes) -> Mark | None:
        """Where lines of a layout name their rank. Raises KeyError where they name a process instead."""
        match = self._marked_at(layout)
        if match is None:
            return None
        if match.lastindex == 2 and not self.numbered and self.within is None:
            raise KeyError(match.group(2))
        return self._mark(match)

    def _mark(self, match: re.Match[bytes]) -> Mark:
        start = match.start() if self.within is not None else 0
        before = match.string[:start]
        apart = b" " if before and not before.isspace() else b""  # it may stand between two values
        return Mark(match.span(match.lastindex or 1), (start, match.end()), apart)

    def _marked_at(self, raw: bytes) -> re.Match[bytes] | None:
        if self.within is not None:
            return self.within.search(raw[:400])
        return _NUMBERED.match(raw) if self.numbered else _TAGGED.match(raw) if self.tagged else None


def lines_of(data: bytes) -> Lines:
    """Normalise a file's bytes (see module); never fails."""
    notes: list[str] = []
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        data = data.decode("utf-16", errors="replace").encode("utf-8", errors="replace")
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\x00" in data:
        notes.append("NUL bytes in the file were passed over")
        data = data.replace(b"\x00", b"")
    if b"\x1b" in data:
        data = _by_parts(data, lambda part: _ANSI.sub(b"", part))
    if b"\x08" in data:
        data = _by_parts(data, lambda part: _BACKSPACES.sub(b"\r", part))
    if b"\r" in data:
        data = _line_ends(data)
    data, told = sides_told.written_out(layouts.written_out(data), layouts.FAR)
    notes += told
    start = data[:CHUNK]
    changes: list[Callable[[bytes], bytes]] = []
    if not start.isascii() and chinese.is_gbk(data):
        data = _by_parts(data, chinese.from_gbk)
        start = data[:CHUNK]
    if not start.isascii() and chinese.speaks(data):
        changes.append(chinese.in_english)
        notes.append("Chinese words for losses, metrics and steps are read as their English names")
    elif languages.speaks(start):
        changes.append(languages.in_english)
        notes.append(
            "words of another language for losses, metrics and steps are read as their English names"
        )
    lines = Lines(data, notes, False, False, {}, changes=changes)
    if b"," in start and languages.with_commas(lines.head(languages.FAR)):
        changes.append(languages.with_points)
        notes.append("commas in numbers are read as decimal points")
    head = lines.head(256 * 1024).split(b"\n")[:4000]
    lines.tagged, lines.numbered = any(_TAGGED.match(s) for s in head), _is_numbered(head)
    lines.within = None if lines.tagged or lines.numbered else _within(head)
    return lines


def _by_parts(data: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """The data with a change made part by part: made at once it takes many times the data's memory."""
    return b"".join(change(data[start:end]) for start, end in _parts(data, len(data)))


def _parts(data: bytes, stop: int) -> Iterator[tuple[int, int]]:
    """Yield where successive parts begin and end: whole lines with their ends."""
    start = 0
    while start < stop:
        end = data.find(b"\n", start + CHUNK, stop) + 1 or stop
        yield start, end
        start = end


def _within(head: list[bytes]) -> re.Pattern[bytes] | None:
    """The pattern by which most lines with values name a rank: few numbers, in turns."""
    filled = [s for s in head if _HAS_VALUE.search(s)]
    if len(filled) < 6:
        return None
    for pattern in _WITHIN:
        found = [int(m.group(1)) for m in (pattern.search(s[:400]) for s in filled) if m]
        kinds = sorted(set(found))
        if len(kinds) < 2 or len(found) < 0.6 * len(filled) or kinds[-1] - kinds[0] >= 2 * len(kinds):
            continue
        back = sum(b < a for a, b in pairwise(found))
        again = sum(b == a for a, b in pairwise(found))
        counts = [found.count(k) for k in kinds]
        alternates = back >= 3 and back >= 0.5 * min(counts) and again <= 0.5 * len(found)
        if alternates and min(counts) >= 0.25 * max(counts):
            return pattern
    return None


def _line_ends(data: bytes) -> bytes:
    """Make all line ends one \\n; a \\r that is left begins the next state of a progress bar."""
    data = data.replace(b"\r\r\n", b"\n").replace(b"\r\n", b"\n")
    if b"\r" in data and (b"\n" not in data or data.count(b"\r\r") > 2 * data.count(b"\n")):
        if not _BAR.search(data[:65536]):
            return data.replace(b"\r\r", b"\n").replace(b"\r", b"\n")
    return data


def _is_numbered(head: list[bytes]) -> bool:
    """Say whether "0: " at the beginning of lines is a rank, not a step: few numbers, on nearly all lines."""
    filled = [s for s in head if s and not s.isspace()]
    matches = [m.group(1) for m in map(_NUMBERED.match, filled) if m]
    if len(filled) < 4 or len(matches) < 0.7 * len(filled):
        return False
    return len(set(matches)) <= max(1, len(matches) // 3)
