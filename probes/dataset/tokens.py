"""Files of token ids: flat ones (nanoGPT, llm.c) and Megatron's pairs of .bin and .idx. Nothing is unpickled.

A flat file is cut into stretches where the ids themselves say so, whatever stands before: what two files
share is then cut alike on both sides. Of Megatron's a sample is a sequence of its index.
"""

from __future__ import annotations

import json
import pickletools
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.model import Place
from ..files import RunFile
from .gather import Budget, HashGather, Problems, draw_blocks
from .model import UNIQUE, Part, Split, TokenRows

MAGIC = b"MMIDIDX\x00\x00"  # Megatron's index: version u64, element type u8, sequences u64, documents u64
_TYPES = {1: "u1", 2: "i1", 3: "<i2", 4: "<i4", 5: "<i8", 8: "<u2"}
_LLMC = 20240520  # llm.c and modded-nanogpt: 256 int32 before the ids: this, a version, how many
_FLAT = re.compile(r"(?:.*[-_])?(?:train|val|valid|validation|test|dev)(?:[-_]?\d+)?\.bin", re.IGNORECASE)
_INDEXED = re.compile(r".*_(?:document|sentence)\.bin", re.IGNORECASE)
BLOCK = 2**21  # ids looked at together
EVERY = 256  # ids of a stretch, on average
SHORTEST = 32  # ids of a stretch that is compared
UNWRITTEN = 4096  # zeros at the end of a file from which nobody wrote them
_MIX = np.uint64(0x9E3779B97F4A7C15)
_BASE = np.uint64(0x5851F42D4C957F2D)
Ids = NDArray[Any]


def is_tokens(file: RunFile, there: Mapping[str, RunFile]) -> bool:
    """Whether a .bin or .idx holds token ids, by its name, what lies beside it and its content."""
    if file.suffix == ".idx":
        return file.head.startswith(MAGIC)
    if file.suffix != ".bin":
        return False
    index = there.get(f"{file.path[:-4]}.idx")
    if index is not None and index.head.startswith(MAGIC):
        return True
    if _INDEXED.fullmatch(file.name):
        return _natural(np.frombuffer(file.head[: len(file.head) // 4 * 4], "<u2"))
    return bool(_FLAT.fullmatch(file.name)) and _flat(file) is not None


def read_tokens(files: Sequence[RunFile], split: Split, there: Mapping[str, RunFile], budget: Budget) -> Part:
    """Read the files of one split: a hash for each stretch of a flat file or sequence of an indexed one."""
    problems, hashes = Problems(), HashGather()
    notes: list[str] = []
    looked = 0
    exact = True
    tally = _Tally()
    data = [f for f in files if f.suffix == ".bin"]
    for index in files:
        if index.suffix == ".idx" and f"{index.path[:-4]}.bin" not in there:
            problems.add(index.path, "the .bin file beside it is not there")
    for number, file in enumerate(data):
        beside = there.get(f"{file.path[:-4]}.idx")
        room = max(2**20, budget.bytes // (len(data) - number))
        if beside is None and _INDEXED.fullmatch(file.name):
            problems.add(file.path, "its index (.idx) is not there")
            continue
        found = _Indexed.of(beside, file, problems) if beside is not None else _flat(file)
        if found is None:
            continue
        if isinstance(found, _Flat):
            _sizes(file, found, problems)
            pieces = _stretches(file, found, room, budget, tally)
        else:
            pieces = _sequences(file, found, room, budget, tally)
        highest = 0
        for some, high, whole in pieces:
            hashes.add(some, number, np.arange(len(some)) + looked + 1)
            looked += len(some)
            highest = max(highest, high)
            exact = exact and whole
        notes.append(f"{file.path}: {found.count} token ids up to {highest}")
        told = _told(file, there)
        narrow = isinstance(found, _Flat) and found.dtype == "<u2"
        if told is not None and narrow and told[0] > 2**16:
            why = (
                f"ids of two bytes, of a vocabulary of {told[0]} ({told[1]}): those from 65536 on are others"
            )
            problems.add(file.path, why)
        elif told is not None and highest >= told[0]:
            problems.add(file.path, f"token id {highest}, of a vocabulary of {told[0]} ({told[1]})")
        if budget.spent_out:
            exact = False
            break
    contents, file_of, _ = hashes.arrays()
    return Part(
        split,
        "records",
        "tokens",
        tuple(f.path for f in data) or tuple(f.path for f in files),
        looked,
        exact,
        looked,
        hashes=contents,
        inputs=contents,
        file_of=file_of,
        row_of=np.zeros(len(contents), dtype=np.int64),
        problems=tuple(problems.found),
        problem_count=problems.count,
        notes=tuple(notes[:8]),
        bits=UNIQUE,
        hashed="rows" if len(contents) else "",
        token_rows=tally.rows(tuple(f.path for f in data)),
        token_counts=tally.counts,
    )


FEW_IDS = 2**20  # ids up to which they are counted one by one
SPECIAL = 4  # the first ids, and as many last ones, are those of special tokens in most vocabularies
LEAST_DOUBLED, EVENLY = 100, 0.02
LETTERS = 300  # ids up to which they may be letters or bytes


class _Tally:
    """How often each id stands there, and how often it follows itself."""

    def __init__(self) -> None:
        self.counts = np.zeros(0, dtype=np.int64)
        self.twice = np.zeros(0, dtype=np.int64)

    def add(self, ids: NDArray[np.uint64]) -> None:
        """Take ids [n] that stand one after the other."""
        if not len(ids) or int(ids.max()) >= FEW_IDS:
            return
        size = max(len(self.counts), int(ids.max()) + 1)
        plain = ids.astype(np.int64)
        again = plain[1:][plain[1:] == plain[:-1]]
        self.counts = np.pad(self.counts, (0, size - len(self.counts))) + np.bincount(plain, minlength=size)
        self.twice = np.pad(self.twice, (0, size - len(self.twice))) + np.bincount(again, minlength=size)

    def rows(self, files: Sequence[str]) -> tuple[TokenRows, ...]:
        """A special id that stands there by twos throughout: it was added twice."""
        if not len(self.counts) or not files:
            return ()
        if len(self.counts) <= LETTERS:  # a line break that parts paragraphs comes by twos
            return (TokenRows("token ids", int(self.counts.sum())),)
        ends = [*range(SPECIAL), *range(max(SPECIAL, len(self.counts) - SPECIAL), len(self.counts))]
        for one in ends:
            count = int(self.counts[one]) if one < len(self.counts) else 0
            if count >= LEAST_DOUBLED and abs(2 * int(self.twice[one]) / count - 1) <= EVENLY:
                why = f"with id {one} by twos throughout: a special token that was added twice"
                return (TokenRows("token ids", count // 2, {why: count // 2}, {why: Place(files[0])}),)
        return (TokenRows("token ids", int(self.counts.sum())),)


# ------------------------------------------------------------------------------------------ flat files


@dataclass(frozen=True, slots=True)
class _Flat:
    dtype: str
    offset: int  # bytes before the ids
    count: int


def _flat(file: RunFile) -> _Flat | None:
    """How a file without an index holds ids; None where it does not look like any."""
    head = file.head
    if len(head) < 1024 + 256:
        return None
    first = struct.unpack("<3i", head[:12])
    if first[0] == _LLMC:
        return _Flat("<u2", 1024, first[2]) if first[1] == 1 else _Flat("<u4", 1024, first[2])
    usable = len(head) // 8 * 8
    wide, narrow = np.frombuffer(head[:usable], "<u4"), np.frombuffer(head[:usable], "<u2")
    if int(wide.max()) < 2**20 and not (narrow[1::2] > 15).any() and _natural(wide):
        return _Flat("<u4", 0, file.size // 4)
    # Of floats every second half of the bits is frequent, and the other one is not.
    return _Flat("<u2", 0, file.size // 2) if _natural(narrow[::2]) and _natural(narrow[1::2]) else None


def _natural(ids: Ids) -> bool:
    """Whether whole numbers come as words and letters do: a few of them very often. Floats do not."""
    if len(ids) < 256:
        return False
    kinds, times = np.unique(ids, return_counts=True)
    if len(kinds) < 8:
        return False
    # A tenth of the kinds makes up much of a text, or there are few kinds (letters).
    often = np.sort(times)[::-1]
    return len(kinds) < 300 or float(often[: max(1, len(kinds) // 10)].sum()) >= 0.3 * len(ids)


def _sizes(file: RunFile, found: _Flat, problems: Problems) -> None:
    """Say where a flat file ends in the middle of an id, early, or in what was never written."""
    width = np.dtype(found.dtype).itemsize
    held = file.size - found.offset
    if held % width or held < found.count * width:
        wanted = found.count * width if held < found.count * width else held + width - held % width
        problems.add(file.path, f"cut off: {held} of {wanted} bytes of token ids")
    ids = _mapped(file, found.dtype, found.offset, min(found.count, held // width))
    step = min(len(ids), 2**22)
    tail = np.flatnonzero(np.asarray(ids[len(ids) - step :]))
    empty = step - 1 - int(tail[-1]) if len(tail) else step
    if empty >= max(UNWRITTEN, 0.01 * len(ids)) and empty < len(ids):
        more = "or more " if empty == step else ""
        problems.add(
            file.path, f"the last {empty} {more}of {len(ids)} token ids are 0: they were never written"
        )


def _mapped(file: RunFile, dtype: str, offset: int, count: int) -> Ids:
    with file.open() as handle:
        return np.memmap(handle, dtype=dtype, mode="r", offset=offset, shape=(max(0, count),))


def _stretches(
    file: RunFile, found: _Flat, room: int, budget: Budget, tally: _Tally
) -> Iterator[tuple[NDArray[np.int64], int, bool]]:
    """Yield (hashes of stretches, highest id, whether nothing was left out) block by block."""
    width = np.dtype(found.dtype).itemsize
    ids = _mapped(file, found.dtype, found.offset, min(found.count, (file.size - found.offset) // width))
    limit = max(1, room // width)
    whole = limit >= len(ids)
    for start, stop in draw_blocks(len(ids), limit, budget.bounds.seed, BLOCK) if not whole else _all(ids):
        # A stretch may go over the end of a block: blocks of a file that is read whole overlap by some.
        block = np.asarray(ids[start : min(len(ids), stop + 8 * EVERY)]).astype(np.uint64)
        if not budget.take(block.nbytes // 8 * width):
            return
        tally.add(block[: stop - start])
        cuts = _cuts(block)
        first = 0 if start == 0 else int(np.searchsorted(cuts, 4))
        bounds = np.concatenate([[0], cuts]) if start == 0 else cuts[first:]
        if start + len(block) >= len(ids):
            bounds = np.append(bounds, len(block))
        # What begins in the next block is left to it.
        bounds = bounds[: int(np.searchsorted(bounds, stop - start + 4)) + 1]
        yield _hashed(block, bounds), int(block.max(initial=0)), whole


def _all(ids: Ids) -> list[tuple[int, int]]:
    return [(at, min(at + BLOCK, len(ids))) for at in range(0, len(ids), BLOCK)]


def _cuts(ids: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Where stretches begin: behind four ids whose mixture says so, one place in `EVERY`."""
    if len(ids) < 5:
        return np.empty(0, dtype=np.int64)
    mixed = ids + np.uint64(1)
    four = np.zeros(len(ids) - 3, dtype=np.uint64)
    for i in range(4):
        four = (four + mixed[i : len(mixed) - 3 + i]) * _MIX
        four ^= four >> np.uint64(29)
    return np.flatnonzero(four % np.uint64(EVERY) == 0) + 4


def _hashed(ids: NDArray[np.uint64], bounds: NDArray[np.int64]) -> NDArray[np.int64]:
    """A hash of the ids between neighbouring bounds: a sum of powers, over which sums of stretches differ."""
    if len(bounds) < 2:
        return np.empty(0, dtype=np.int64)
    keep = np.diff(bounds) >= SHORTEST
    with np.errstate(over="ignore"):
        mixed = (ids + np.uint64(1)) * _MIX
        mixed ^= mixed >> np.uint64(31)
        places = np.concatenate([np.arange(b - a, dtype=np.uint64) for a, b in pairwise(bounds.tolist())])
        weights = (places * np.uint64(2) + np.uint64(1)) * _BASE
        weights ^= weights >> np.uint64(33)
        sums = np.add.reduceat(
            mixed[bounds[0] : bounds[-1]] * (weights | np.uint64(1)), bounds[:-1] - bounds[0]
        )
        sums ^= np.diff(bounds).astype(np.uint64) * _MIX
    return sums.view(np.int64)[keep]


# ---------------------------------------------------------------------------------------- indexed files


@dataclass(frozen=True, slots=True, eq=False)
class _Indexed:
    dtype: str
    lengths: NDArray[np.int64]  # ids of each sequence
    starts: NDArray[np.int64]  # bytes before each of them
    count: int

    @classmethod
    def of(cls, index: RunFile, data: RunFile, problems: Problems) -> _Indexed | None:
        """Read an index and hold it against its file of ids."""
        with index.open() as handle:
            raw = handle.read(34)
            if len(raw) < 34 or raw[17] not in _TYPES:
                problems.add(index.path, "its header cannot be read")
                return None
            many = int(struct.unpack("<Q", raw[18:26])[0])
            body = handle.read(12 * many) if many <= (index.size - 34) // 12 else b""
        if len(body) < 12 * many or not many:
            problems.add(index.path, f"cut off: it lists {many} sequences and ends before")
            return None
        lengths = np.frombuffer(body[: 4 * many], "<i4").astype(np.int64)
        starts = np.frombuffer(body[4 * many :], "<i8").astype(np.int64)
        dtype = _TYPES[raw[17]]
        ends = starts + lengths * np.dtype(dtype).itemsize
        if (lengths < 0).any() or (starts < 0).any():
            problems.add(index.path, "it has sequences of negative length or place")
            return None
        if int(ends.max()) > data.size:
            lost = int((ends > data.size).sum())
            said = f"cut off: {data.size} of {int(ends.max())} bytes of token ids"
            problems.add(data.path, f"{said}; {lost} of {many} sequences of its index lie behind its end")
        kept = ends <= data.size
        return cls(dtype, lengths[kept], starts[kept], int(lengths.sum()))


def _sequences(
    file: RunFile, found: _Indexed, room: int, budget: Budget, tally: _Tally
) -> Iterator[tuple[NDArray[np.int64], int, bool]]:
    """Yield (hashes of sequences, highest id, whether nothing was left out), seeded ones of many."""
    width = np.dtype(found.dtype).itemsize
    ids = _mapped(file, found.dtype, 0, file.size // width)
    mean = max(1.0, float(found.lengths.mean()) * width)
    limit = int(min(budget.bounds.samples, max(64, room / mean)))
    blocks = draw_blocks(len(found.lengths), limit, budget.bounds.seed)
    whole = limit >= len(found.lengths)
    for start, stop in blocks:
        for at in range(start, stop, 256):
            some = slice(at, min(at + 256, stop))
            pieces = [
                np.asarray(ids[s // width : s // width + n]).astype(np.uint64)
                for s, n in zip(found.starts[some].tolist(), found.lengths[some].tolist(), strict=True)
                if n
            ]
            if not pieces:
                continue
            joined = np.concatenate(pieces)
            if not budget.take(joined.nbytes // 8 * width):
                return
            tally.add(joined)
            bounds = np.concatenate([[0], np.cumsum([len(p) for p in pieces])])
            yield _hashed(joined, bounds), int(joined.max(initial=0)), whole


def _told(file: RunFile, there: Mapping[str, RunFile]) -> tuple[int, str] | None:
    """The size of the vocabulary as a file beside this one tells it, and that file's name."""
    folder = file.path.rpartition("/")[0]
    for name in ("meta.pkl", "meta.json", "metadata.json", "config.json"):
        beside = there.get(f"{folder}/{name}".lstrip("/"))
        size = _vocabulary(beside) if name == "meta.pkl" else _vocabulary_of_json(beside)
        if size is not None:
            return size, name
    return None


def _vocabulary_of_json(meta: RunFile | None) -> int | None:
    if meta is None or meta.size > 1024**2:
        return None
    try:
        found = json.loads(meta.read_text())
    except (ValueError, OSError, RecursionError):
        return None
    size = found.get("vocab_size") if isinstance(found, dict) else None
    return size if isinstance(size, int) and not isinstance(size, bool) and size > 1 else None


def _vocabulary(meta: RunFile | None) -> int | None:
    """The size of the vocabulary that nanoGPT's meta.pkl tells; its pickle is read as text, never run."""
    if meta is None or meta.size > 4 * 1024**2:
        return None
    told = False
    try:
        for code, value, _ in pickletools.genops(meta.read_bytes(4 * 1024**2)):
            if told and isinstance(value, int) and code.name.startswith(("BININT", "INT", "LONG")):
                return value
            told = value == "vocab_size" or (told and code.name in ("MEMOIZE", "BINPUT"))
    except (ValueError, OSError, EOFError, IndexError, struct.error):
        return None
    return None
