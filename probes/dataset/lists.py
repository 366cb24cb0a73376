"""Lists of samples: manifests, checksum files, what each rank reads; and what of it is there."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..files import RunFile
from . import naming
from .gather import Budget, Problems
from .media import Damaged, read_header
from .model import Listed, Shards, Split

MOST_TEXT = 96 * 1024**2
MOST_ENTRIES = 400_000  # of one manifest
LONGEST = 4 * 1024**2  # characters of a line; what is longer lists no samples
_BETWEEN = re.compile(r"[\s,]*")
MOST_LINES = 5_000_000  # of a list of one rank
SHOWN = 10
ODD = 100  # times a recording's length beyond which a duration is of another unit
_SUMS = re.compile(r"^([0-9a-fA-F]{32,128})[ \t]+[ *]?(\S.*)$")
_BY_LENGTH = {32: "md5", 40: "sha1", 56: "sha224", 64: "sha256", 96: "sha384", 128: "sha512"}
_SUM_KEYS = {"md5": "md5", "sha1": "sha1", "sha256": "sha256", "sha512": "sha512", "checksum": "", "hash": ""}
_PATHS = ("path", "file", "filename", "file_name", "filepath", "file_path", "image_path", "audio_filepath")

Entry = dict[str, Any]


def is_manifest(file: RunFile) -> bool:
    """Whether a file lists samples: called manifest, or a list of checksums."""
    name = file.name.lower()
    if "manifest" in name and file.suffix in (".jsonl", ".csv", ".json", ".tsv", ".ndjson"):
        return True
    return is_sums(file)


def is_sums(file: RunFile) -> bool:
    """Whether a file is what sha256sum or md5sum writes."""
    lines = file.head_text.splitlines()[:20]
    if file.size > len(file.head):
        lines = lines[:-1]
    lines = [line for line in lines if line.strip()]
    return bool(lines) and all(_SUMS.match(line) for line in lines)


class Entries:
    """The entries of a manifest one after the other, each with its line as "@"; `whole`: these were all.

    Unreadable lines are problems. Beyond MOST_TEXT bytes or MOST_ENTRIES a manifest is not read, nor when the
    budget of seconds is spent. One entry is held at a time.
    """

    def __init__(self, file: RunFile, problems: Problems, budget: Budget) -> None:
        self.file = file
        self.problems = problems
        self.budget = budget
        self.whole = True
        self.count = 0

    def __iter__(self) -> Iterator[Entry]:
        found = self._all()
        for entry in found:
            if self.count >= MOST_ENTRIES:
                self.whole = False
                return
            if self.count % 10_000 == 9_999 and not self.budget.take(0):
                self.whole = False
                return
            self.count += 1
            yield entry

    def _all(self) -> Iterator[Entry]:
        if is_sums(self.file):
            return self._sums()
        if self.file.suffix in (".csv", ".tsv"):
            return self._rows()
        if self.file.head_text.lstrip().startswith("["):
            return self._array()
        return self._objects()

    def _lines(self) -> Iterator[str]:
        """The lines, until MOST_TEXT bytes are read; what is cut off there is no line."""
        coding = "utf-16" if self.file.head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
        left = MOST_TEXT
        with io.TextIOWrapper(self.file.open(), encoding=coding, errors="replace", newline=None) as handle:
            while line := handle.readline(LONGEST):
                left -= len(line)
                if left < 0 or (len(line) == LONGEST and not line.endswith("\n")):
                    self.whole = False
                    return
                yield line

    def _sums(self) -> Iterator[Entry]:
        for number, line in enumerate(self._lines(), 1):
            match = _SUMS.match(line.rstrip("\r\n"))
            if match:
                yield {"path": match[2].strip(), "hash": match[1].lower(), "@": number}
            elif line.strip():
                self.problems.add(self.file.path, "not a checksum and a path", number)

    def _rows(self) -> Iterator[Entry]:
        reader = csv.DictReader(self._lines(), delimiter="\t" if self.file.suffix == ".tsv" else ",")
        for row in reader:
            yield {str(k).strip().lower(): v for k, v in row.items() if k} | {"@": reader.line_num}

    def _objects(self) -> Iterator[Entry]:
        for number, line in enumerate(self._lines(), 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            if isinstance(row, dict):
                yield row | {"@": number}
            elif not line.endswith("\n"):
                self.whole = False  # a run is writing it still, or died at it: what it drew is all above
            else:
                self.problems.add(self.file.path, "not a JSON object", number)

    def _array(self) -> Iterator[Entry]:
        """The objects of one JSON array, decoded one by one: all of them at once would take ten times more.

        Raises ValueError where it is no JSON.
        """
        text = self.file.read_text(MOST_TEXT)
        cut = self.file.size > MOST_TEXT
        decoder, at = json.JSONDecoder(), _BETWEEN.match(text, text.index("[") + 1).end()  # type: ignore[union-attr]
        while at < len(text) and text[at] != "]":
            try:
                row, at = decoder.raw_decode(text, at)
            except ValueError:
                if not cut:
                    raise
                self.whole = False
                return
            if isinstance(row, dict):
                yield row | {"@": 0}
            at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]
        self.whole = self.whole and not cut


def path_of(entry: Entry) -> str | None:
    """Return the path that an entry names."""
    for key in _PATHS:
        if isinstance(entry.get(key), str) and entry[key]:
            return str(entry[key])
    return None


def identity(entry: Entry) -> str | None:
    """Return what names an entry's sample."""
    for key in ("id", "index", "path", "file", "filename", "hash"):
        if entry.get(key) not in (None, ""):
            return str(entry[key])
    return path_of(entry)


def split_named(entry: Entry, file: RunFile) -> Split:
    """Return the split of an entry: its own word, else what the file's name tells."""
    said = entry.get("split")
    return naming.split_of(said) if isinstance(said, str) and said else naming.split_of(file.path)


# ---------------------------------------------------------------------------------- against what is there


class Check:
    """Holds the files that a manifest names against those that are there, entry by entry."""

    def __init__(self, file: RunFile, there: Mapping[str, RunFile], budget: Budget) -> None:
        self.file = file
        self.there = there
        self.budget = budget
        self.folder = file.path.rpartition("/")[0]
        self.by_tail: dict[str, list[str]] | None = None
        self.named: set[int] = set()
        self.met: set[str] = set()
        self.missing: list[tuple[str, int]] = []
        self.changed: list[tuple[str, int, str]] = []
        self.entries = self.missing_count = self.changed_count = self.checked = self.sums = 0

    def add(self, entry: Entry) -> None:
        """Look for the file that an entry names, if it names one, and none named before."""
        path = path_of(entry)
        if path is None:
            return
        self.entries += 1
        if hash(path) in self.named:
            return
        self.named.add(hash(path))
        if self.by_tail is None:
            self.by_tail = defaultdict(list)
            for there in self.there:
                self.by_tail[there.rpartition("/")[2]].append(there)
        hit = _meet(path, self.folder, self.there, self.by_tail)
        if hit is None:
            self.missing_count += 1
            if len(self.missing) < SHOWN:
                self.missing.append((path, entry["@"]))
            return
        self.met.add(hit)
        self.checked += 1
        wrong, summed = _differs(self.there[hit], entry, self.budget)
        self.sums += summed
        if wrong:
            self.changed_count += 1
            if len(self.changed) < SHOWN:
                self.changed.append((path, entry["@"], wrong))

    def listed(self) -> Listed | None:
        """Return what was found; None when no files were named."""
        if not self.entries:
            return None
        suffixes = {self.there[m].suffix for m in self.met}
        folders = {m.rpartition("/")[0] for m in self.met}
        extra = sorted(
            p
            for p, f in self.there.items()
            if p not in self.met
            and f.suffix in suffixes
            and p.rpartition("/")[0] in folders
            and p != self.file.path
        )
        return Listed(
            self.file.path,
            self.entries,
            tuple(self.missing),
            self.missing_count,
            tuple(self.changed),
            self.changed_count,
            tuple(extra[:SHOWN]),
            len(extra),
            self.checked,
            self.sums,
        )


def _meet(
    path: str, folder: str, there: Mapping[str, RunFile], by_tail: Mapping[str, list[str]]
) -> str | None:
    """The file that a manifest means: by its path from the manifest or the root, else by its longest tail."""
    plain = path.replace("\\", "/").removeprefix("./")
    for candidate in (f"{folder}/{plain}" if folder else plain, plain):
        if candidate in there:
            return candidate
    tails = by_tail.get(plain.rpartition("/")[2], [])
    fitting = [t for t in tails if plain.endswith("/" + t) or t.endswith("/" + plain)]
    return fitting[0] if len(fitting) == 1 else None


def _differs(file: RunFile, entry: Entry, budget: Budget) -> tuple[str, bool]:
    """Return (what differs, whether a checksum was computed)."""
    size = entry.get("size", entry.get("bytes"))
    try:
        told = int(size) if size not in (None, "") else None
    except (TypeError, ValueError):
        told = None
    if told is not None and told != file.size:
        return f"{file.size} bytes instead of {told}", False
    long = _longer(file, entry)
    if long:
        return long, False
    if entry.get("shape") is not None or entry.get("dtype") is not None:
        return "", False  # its checksum is of the decoded sample, not of the file
    for key, kind in _SUM_KEYS.items():
        digest = entry.get(key)
        algorithm = kind or _BY_LENGTH.get(len(digest) if isinstance(digest, str) else 0, "")
        if not isinstance(digest, str) or not algorithm or not re.fullmatch(r"[0-9a-fA-F]+", digest):
            continue
        if not kind and len(digest) == 32 and key == "hash" and not is_md5(entry):
            continue
        if not budget.take(file.size):
            return "", False
        try:
            return ("" if _sum(file, algorithm) == digest.lower() else f"another {algorithm}"), True
        except OSError as error:
            return error.strerror or "cannot be read", False
    return "", False


def _longer(file: RunFile, entry: Entry) -> str:
    """What is wrong where a recording is said to last clearly longer than it does; a part of one is not."""
    told = entry.get("duration")
    if not isinstance(told, (int, float)) or file.suffix not in (".wav", ".flac"):
        return ""
    try:
        header = read_header(file)
    except (Damaged, OSError):
        return ""  # said where the file itself is looked at
    if not header.rate or not header.frames or told > ODD * header.frames / header.rate:
        return ""  # another unit
    lasts = header.frames / header.rate
    return f"{lasts:.3g} s instead of {told:g}" if told > 1.05 * lasts + 0.1 else ""


def is_md5(entry: Entry) -> bool:
    """Whether a 32-digit hash is md5: from a checksum file; our own manifest's is of the sample's bytes."""
    return set(entry) == {"path", "hash", "@"}


def _sum(file: RunFile, algorithm: str) -> str:
    made = hashlib.new(algorithm, usedforsecurity=False)
    with file.open() as handle:
        while piece := handle.read(1024**2):
            made.update(piece)
    return made.hexdigest()


# --------------------------------------------------------------------------------------------- shards


def rank_list(file: RunFile) -> frozenset[str] | None:
    """Return the samples that a per-rank list names: text lines, a JSON list, or an integer .npy."""
    if naming.rank_of(file.path) is None or file.size > MOST_TEXT:
        return None
    try:
        if file.suffix in (".txt", ".lst", ".list"):
            lines = [line.strip() for line in file.read_text().splitlines() if line.strip()]
            plain = lines and all(len(line.split()) == 1 for line in lines[:200])
            return frozenset(lines) if plain and (len(lines) >= 2) else None
        if file.suffix == ".json":
            found = json.loads(file.read_text())
            if isinstance(found, list) and all(isinstance(v, (int, str)) for v in found[:200]):
                return frozenset(map(str, found))
        if file.suffix == ".npy":
            from .arrays import Refused, fields

            try:
                one = next(iter(fields(file)))
            except Refused:
                return None
            if not isinstance(one, tuple) and one.data.ndim == 1 and one.data.dtype.kind in "iu":
                return frozenset(map(str, np.asarray(one.data[:MOST_LINES]).tolist()))
    except (ValueError, RecursionError, OSError):
        return None
    return None


def shards_of(
    lists: Mapping[RunFile, frozenset[str]], drawn: Mapping[int, set[str]], files: Sequence[str]
) -> Shards | None:
    """Bring per-rank lists together, or what each rank draws in its first epoch by manifests (`files`)."""
    ranks: dict[int, set[str]] = defaultdict(set)
    named: dict[str, None] = {}
    for file, members in lists.items():
        rank = naming.rank_of(file.path)
        if rank is not None:
            ranks[rank] |= members
            named[file.path] = None
    if len(ranks) < 2:
        ranks, named = dict(drawn), dict.fromkeys(files)
    if len(ranks) < 2:
        return None
    parts = {r: frozenset(m) for r, m in sorted(ranks.items())}
    return Shards(
        parts, tuple(named), _universe(ranks), bool(lists) and set(named) <= {f.path for f in lists}
    )


def _universe(ranks: Mapping[int, set[str]]) -> frozenset[str] | None:
    """Everything that should be read: sample numbers from 0 to the largest, all 8 shards of "3 of 8".

    None where the numbers that are left out look drawn by chance: they may well be the validation part.
    """
    together = frozenset().union(*ranks.values())
    if together and all(m.isdigit() for m in together):
        numbers = set(map(int, together))
        most = max(numbers)
        if most < 4 * len(together) and _by_rule(sorted(set(range(most + 1)) - numbers), ranks):
            return frozenset(map(str, range(most + 1)))
        return None
    of = {m: naming.one_of(m.rpartition("/")[2]) for m in together}
    sets = {(o[0], o[2]) for o in of.values() if o is not None}
    if len(sets) == 1 and None not in of.values():
        have = {o[1]: m for m, o in of.items() if o is not None}
        count = next(iter(sets))[1]
        first = 0 if 0 in have or count not in have else 1
        return together | {f"shard {i}" for i in range(first, first + count) if i not in have}
    return None


def _by_rule(holes: Sequence[int], ranks: Mapping[int, set[str]]) -> bool:
    """Whether numbers that no rank has are few, stand together or at equal steps, or are of a lost rank."""
    if len(holes) < len(ranks) or max(ranks) - min(ranks) + 1 > len(ranks):
        return True
    steps = np.diff(np.array(holes))
    stretches = 1 + int((steps > 1).sum())
    return stretches <= len(ranks) + 1 or bool((steps == np.median(steps)).mean() > 0.95)
