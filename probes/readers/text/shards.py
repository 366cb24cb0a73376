"""Which data files a rank says that it reads: `[dataset] rank 2 reads 4 files: train-00, train-01, ...`."""

from __future__ import annotations

import re

from ...run import DataList, Listed

LOOK = 512 * 1024  # files are dealt out before training begins
MOST = 20_000
LONG = 300  # bytes of a line that names one file
_HEADING = re.compile(rb"(?i)\b(?:files?|shards?|parts?)\b.{0,40}:\s*$")
_FILE = re.compile(
    rb"[\w.\-/]+?(?:\.(?:tfrecords?|mindrecord\d{0,4}|parquet|arrow|npz|npy|tar|rec|lmdb|jsonl|lst|h5|hdf5)|-of-\d{2,6})\b(?:-of-\d+)?"
)
_MINE = re.compile(
    rb"\brank[ _:=#]{0,2}(\d{1,5})\b|\b(?:this|my|local|own) (?:rank|node|worker|shard|files)", re.I
)
_SHARED = re.compile(
    rb"\b(?:all|total|found|available|whole|every|global|sav(?:e|ed|ing)|writ(?:e|ing|ten))\b", re.I
)


def dealt_out(data: bytes, file: str, rank: int | None) -> tuple[DataList, ...]:
    """The lists of files by rank, in the head of a log; `rank`: of the file itself."""
    found: dict[int, dict[str, Listed]] = {}
    under: int | None = None  # whose files stand below, one to a line
    for line in data[:LOOK].split(b"\n"):
        if under is not None:
            below = _FILE.findall(line)
            if len(below) == 1 and len(line) < LONG:
                found.setdefault(under, {}).setdefault(below[0].decode("utf-8", "replace"), Listed())
                continue
            under = None
        if not (b"ank" in line or b"ocal" in line or b"this" in line or b"my " in line):
            continue
        named = _MINE.search(line)
        if named is None or _SHARED.search(line):
            continue
        of = int(named[1]) if named[1] else rank
        names = _FILE.findall(line)
        if of is not None and not names and _HEADING.search(line):
            under = of
        if of is None or len(names) < 2:
            continue
        entries = found.setdefault(of, {})
        for name in names[: MOST - len(entries)]:
            entries.setdefault(name.decode("utf-8", "replace"), Listed())
    return tuple(
        DataList(file, entries, rank=of, complete=len(entries) < MOST)
        for of, entries in sorted(found.items())
    )
