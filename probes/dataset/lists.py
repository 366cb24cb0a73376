"""Lists of samples: manifests, checksum files, what each rank reads; and what of it is there."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from ...engine.model import Place
from ..files import RunFile
from . import naming
from .gather import Budget, ColumnGather, HashGather, LabelGather, Problems
from .model import Epochs, Listed, Part, Shards, Split

MOST_TEXT = 96 * 1024**2
MOST_ENTRIES = 400_000  # of one manifest; each is held while the others are read
MOST_LINES = 5_000_000  # of a list of one rank
SHOWN = 10
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


def entries(file: RunFile, problems: Problems) -> tuple[list[Entry], bool]:
    """Return the entries of a manifest, each with its line as "@", and whether these are all.

    Unreadable lines are problems. Beyond MOST_TEXT bytes or MOST_ENTRIES a manifest is not read.
    """
    text = file.read_text(MOST_TEXT)
    whole = file.size <= MOST_TEXT
    if not whole:
        text = text[: text.rfind("\n") + 1]
    found = _entries(file, text, problems)
    return found, whole and len(found) < MOST_ENTRIES


def without_last_epoch(found: Sequence[Entry]) -> list[Entry]:
    """The entries but those of the epoch that the last one is of: where a list is cut, it is not whole."""
    last = str(found[-1].get("epoch")) if found else ""
    return [e for e in found if str(e.get("epoch")) != last]


def _entries(file: RunFile, text: str, problems: Problems) -> list[Entry]:
    if is_sums(file):
        found = []
        for number, line in enumerate(_first_lines(text), 1):
            match = _SUMS.match(line)
            if match:
                found.append({"path": match[2].strip(), "hash": match[1].lower(), "@": number})
            elif line.strip():
                problems.add(file.path, "not a checksum and a path", number)
        return found
    if file.suffix in (".csv", ".tsv"):
        delimiter = "\t" if file.suffix == ".tsv" else ","
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
        return [
            {str(k).strip().lower(): v for k, v in row.items() if k} | {"@": reader.line_num}
            for row in islice(reader, MOST_ENTRIES)
        ]
    return _json_entries(file, text, problems)


def _first_lines(text: str) -> Iterator[str]:
    return (line.rstrip("\r\n") for line in islice(io.StringIO(text), MOST_ENTRIES))


def _json_entries(file: RunFile, text: str, problems: Problems) -> list[Entry]:
    found: list[Entry] = []
    if text.lstrip().startswith("["):
        rows = json.loads(text)
        return [dict(r) | {"@": 0} for r in rows[:MOST_ENTRIES] if isinstance(r, dict)]
    for number, line in enumerate(_first_lines(text), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict):
            found.append(row | {"@": number})
        else:
            problems.add(file.path, "not a JSON object", number)
    return found


def path_of(entry: Entry) -> str | None:
    """Return the path that an entry names."""
    for key in _PATHS:
        if isinstance(entry.get(key), str) and entry[key]:
            return str(entry[key])
    return None


def _identity(entry: Entry) -> str | None:
    for key in ("id", "index", "path", "file", "filename", "hash"):
        if entry.get(key) not in (None, ""):
            return str(entry[key])
    return path_of(entry)


# ---------------------------------------------------------------------------------------------- parts


def part_of(file: RunFile, split: Split, found: Sequence[Entry], problems: Problems, budget: Budget) -> Part:
    """Return what the entries of one split say of the samples themselves."""
    epochs = [e.get("epoch", 0) for e in found]
    first = [e for e, epoch in zip(found, epochs, strict=True) if str(epoch) == str(epochs[0])]
    labels, hashes = LabelGather("label"), HashGather()
    low, high = ColumnGather("smallest value", 0), ColumnGather("largest value", 1)
    means = ColumnGather("mean of a sample", 2)
    missing = 0
    missing_at: Place | None = None
    for entry in first:
        place = Place(file.path, entry["@"] or None)
        label = entry.get("label")
        if isinstance(label, (bool, int, float)):
            labels.add_numbers(np.array([float(label)]), lambda _, place=place: place)
        elif isinstance(label, str):
            labels.add_texts([label])
        digest = entry.get("hash")
        if isinstance(digest, str) and digest:
            hashes.add([hash(digest)], 0, [entry["@"]])
        for key, gather in (("low", low), ("high", high), ("mean", means)):
            value = entry.get(key)
            if isinstance(value, (int, float)):
                gather.add_numbers(np.array([float(value)]), lambda _, place=place: place)
        if entry.get("finite") is False:
            missing += 1
            missing_at = missing_at or place
    columns = [g.column() for g in (low, high, means) if g.count]
    if missing or columns:
        from dataclasses import replace

        columns = columns or [low.column()]
        count = columns[0].count + missing
        columns[0] = replace(columns[0], number=True, count=count, missing=missing, missing_at=missing_at)
    del budget
    arrays = hashes.arrays()
    return Part(
        split,
        "manifest",
        "manifest",
        (file.path,),
        len(first),
        True,
        len(first),
        tuple(columns),
        labels.labels(),
        hashes=arrays[0],
        file_of=arrays[1],
        row_of=arrays[2],
        problems=tuple(problems.found),
        problem_count=problems.count,
        hashed="samples" if len(arrays[0]) else "",
    )


def split_named(entry: Entry, file: RunFile) -> Split:
    """Return the split of an entry: its own word, else what the file's name tells."""
    said = entry.get("split")
    return naming.split_of(said) if isinstance(said, str) and said else naming.split_of(file.path)


def order_of(file: RunFile, found: Sequence[Entry]) -> Epochs | None:
    """Compare the order of samples over epochs, rank by rank; None without two epochs of named samples."""
    orders: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for entry in found:
        name = _identity(entry)
        if name is not None and "epoch" in entry:
            orders[str(entry.get("rank", ""))][str(entry["epoch"])].append(name)
    judged = [list(by.values()) for by in orders.values() if len(by) >= 2]
    if not judged:
        return None
    lists = [one for some in judged for one in some]
    same = all(one == some[0] for some in judged for one in some[1:])
    same_set = all(sorted(one) == sorted(some[0]) for some in judged for one in some[1:])
    return Epochs(file.path, max(map(len, judged)), min(map(len, lists)), same, same_set)


# ---------------------------------------------------------------------------------- against what is there


def check(
    file: RunFile, found: Sequence[Entry], there: Mapping[str, RunFile], budget: Budget
) -> Listed | None:
    """Hold the files that a manifest names against those that are there; None when it names no files."""
    named = [(path, e) for e in found if (path := path_of(e)) is not None]
    if not named:
        return None
    folder = file.path.rpartition("/")[0]
    by_tail: dict[str, list[str]] = defaultdict(list)
    for path in there:
        by_tail[path.rpartition("/")[2]].append(path)
    missing: list[tuple[str, int]] = []
    changed: list[tuple[str, int, str]] = []
    missing_count = changed_count = checked = sums = 0
    met: set[str] = set()
    for path, entry in dict(named).items():
        hit = _meet(path, folder, there, by_tail)
        if hit is None:
            missing_count += 1
            if len(missing) < SHOWN:
                missing.append((path, entry["@"]))
            continue
        met.add(hit)
        checked += 1
        wrong, summed = _differs(there[hit], entry, budget)
        sums += summed
        if wrong:
            changed_count += 1
            if len(changed) < SHOWN:
                changed.append((path, entry["@"], wrong))
    suffixes = {there[m].suffix for m in met}
    folders = {m.rpartition("/")[0] for m in met}
    extra = sorted(
        p
        for p, f in there.items()
        if p not in met and f.suffix in suffixes and p.rpartition("/")[0] in folders and p != file.path
    )
    return Listed(
        file.path,
        len(named),
        tuple(missing),
        missing_count,
        tuple(changed),
        changed_count,
        tuple(extra[:SHOWN]),
        len(extra),
        checked,
        sums,
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
    lists: Mapping[RunFile, frozenset[str]], manifests: Iterable[tuple[str, Entry]]
) -> Shards | None:
    """Bring per-rank lists, or the ranks of a manifest's first epoch, together."""
    ranks: dict[int, set[str]] = defaultdict(set)
    files: dict[str, None] = {}
    for file, members in lists.items():
        rank = naming.rank_of(file.path)
        if rank is not None:
            ranks[rank] |= members
            files[file.path] = None
    if len(ranks) < 2:
        ranks.clear()
        files.clear()
        first: dict[int, str] = {}
        for path, entry in manifests:
            rank, name = entry.get("rank"), _identity(entry)
            if (
                not isinstance(rank, int)
                or name is None
                or naming.split_of(str(entry.get("split", ""))) == "eval"
            ):
                continue
            if first.setdefault(rank, str(entry.get("epoch", 0))) == str(entry.get("epoch", 0)):
                ranks[rank].add(name)
                files[path] = None
    if len(ranks) < 2:
        return None
    return Shards({r: frozenset(m) for r, m in sorted(ranks.items())}, tuple(files), _universe(ranks))


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
