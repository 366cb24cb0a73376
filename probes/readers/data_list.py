"""Lists of data files and samples: checksum files, manifests, what each rank reads, counts of a data set.

Only the lists are read, never the data they name. Taken by content: lines of checksum and name (`sha256sum`),
the result of checking them (`name: OK`), tables and JSON with a name beside a size or checksum, the
`dataset_info.json` of Hugging Face data sets, and plain lists of paths or sample numbers where the file is
named as one. Of MindRecord index files only the name is taken.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..assembly import layout
from ..files import RunFile
from ..run import DataList, FileContent, Listed
from . import Gives
from ._secrets import redact

FORMAT = "data-list"
GIVES = Gives(
    title="Lists of data files and samples",
    files="`sha256sums.txt`, manifests, shard and sample lists, `dataset_info.json`",
    lacks="Anything of the training itself.",
)
MAX_SIZE = 64 * 1024**2
MAX_ENTRIES = 300_000
MAX_UNPACKING = 4 * 1024**2  # of a log of unpacking, which is gone through whole
LOOK = 20  # lines that detection looks at
LONG = 1024

_SUFFIXES = frozenset(
    {".txt", ".md5", ".sha1", ".sha256", ".sha512", ".csv", ".tsv", ".json", ".lst", ".list", ".db", ""}
)
_SUM = re.compile(r"^\\?([0-9a-fA-F]{32}|[0-9a-fA-F]{40}|[0-9a-fA-F]{64}|[0-9a-fA-F]{128})[ \t]+\*?(\S.*)$")
_CHECKED = re.compile(r"^(\S.*): (OK|FAILED(?: open or read)?)$")
# What a data set was unpacked with, and what it says of archives that were cut off.
_UNPACKING = re.compile(r"untar|unzip|unpack|extract|decompress", re.IGNORECASE)
_BROKEN = re.compile(
    r"^\W{0,2}(?:(?:bsd)?tar|gzip|gunzip|pigz|bzip2|xz|zstd|unzip|7z):[ ]{1,2}(?:(\S{1,400}):[ ]{1,2})?"
    r".{0,80}?(?:unexpected (?:eof|end)|crc error|invalid compressed data|not look like a tar archive"
    r"|end-of-central-directory signature not found)",
    re.IGNORECASE | re.MULTILINE,
)
_SUMMARY = re.compile(r"^\w+sum: ")  # "md5sum: WARNING: 1 computed checksum did NOT match"
_NAMED = re.compile(
    r"shard|manifest|file_?(?:s|list|names)|(?:^|_)list|samples|indices|sample_ids", re.IGNORECASE
)
_SAMPLES = re.compile(r"shard|samples|indices|sample_ids", re.IGNORECASE)
_PATH = re.compile(r"^[^\s,;:={}\[\]\"']{1,400}\.\w{1,12}$|^[^\s,;:={}\[\]\"']*/[^\s,;={}\[\]\"']+$")
_TRAIN, _EVAL = (
    re.compile(r"(?:^|[._/-])train", re.IGNORECASE),
    re.compile(r"(?:^|[._/-])(?:val|eval|test|dev)", re.IGNORECASE),
)
_INDEX = re.compile(r"\.mindrecord\d*\.db$|_mindrecord\d*\.db$", re.IGNORECASE)
_KEYS_NAME = ("path", "file", "filename", "file_name", "name", "key")
_KEYS_SIZE = ("size", "bytes", "num_bytes", "size_bytes", "filesize", "file_size", "length")
_KEYS_SUM = ("sha256", "sha512", "sha1", "md5", "checksum", "hash", "etag", "crc32", "crc")


def sniff(file: RunFile) -> bool:
    """Say whether this is such a list."""
    if _UNPACKING.search(file.name) and file.suffix in (".log", ".txt", ".out") and _unpacked(file):
        return True
    if file.suffix not in _SUFFIXES or file.size > MAX_SIZE:
        return False
    if _INDEX.search(file.name):
        return True
    if file.suffix == ".db" or file.binary:
        return False
    if file.suffix == ".json":
        return _sniff_json(file)
    lines = _first_lines(file)
    if not lines:
        return False
    if file.suffix in (".csv", ".tsv"):
        return _columns(_cells(lines[0], file.suffix)) is not None
    return _kind(file, lines) is not None


def read(file: RunFile) -> FileContent:
    """Read the list. Raises ValueError when it holds none."""
    if _INDEX.search(file.name):
        return _content(file, {file.name: Listed(file.size)})
    if file.suffix == ".json":
        return _read_json(file)
    text = file.read_text(MAX_SIZE)
    if _UNPACKING.search(file.name) and _BROKEN.search(text):
        bad = tuple(redact("archive", name) for name in _broken(text))
        return FileContent(FORMAT, lists=(replace(_list(file, {}), failed=bad, checked=len(bad)),))
    if file.suffix in (".csv", ".tsv"):
        return _content(file, dict(_table(text, file.suffix)))
    kind = _kind(file, _first_lines(file))
    if kind == "checked":
        return _checks(file, text)
    found: dict[str, Listed] = {}
    for line in text.splitlines():
        entry = _entry(line, kind)
        if entry is not None and len(found) <= MAX_ENTRIES:
            found[entry[0]] = entry[1]
    return _content(file, found)


def _unpacked(file: RunFile) -> bool:
    """Whether a log tells of archives that could not be unpacked."""
    return (
        file.size <= MAX_UNPACKING and not file.binary and bool(_BROKEN.search(file.read_text(MAX_UNPACKING)))
    )


def _broken(text: str) -> list[str]:
    """The archives that broke off, once each; a message without a name counts by its line."""
    found = {
        m.group(1) or f"line {text.count(chr(10), 0, m.start()) + 1}": None for m in _BROKEN.finditer(text)
    }
    return list(found)[:MAX_ENTRIES]


def _first_lines(file: RunFile) -> list[str]:
    lines = [line.strip() for line in file.head_text.splitlines()]
    if file.size > len(file.head):
        lines = lines[:-1]
    return [line for line in lines if line and not line.startswith("#")][:LOOK]


def _kind(file: RunFile, lines: list[str]) -> str | None:
    """Which kind of lines these are: "sums", "checked", "plain"; None for anything else."""
    lines = [line for line in lines if not _SUMMARY.match(line)]
    if not lines or max(map(len, lines)) > LONG:
        return None
    if all(_SUM.match(line) for line in lines):
        return "sums"
    if all(_CHECKED.match(line) for line in lines):
        return "checked"
    if not _NAMED.search(file.path):
        return None
    first = [line.split()[0] for line in lines]
    if all(_PATH.match(word) for word in first) and max(len(line.split()) for line in lines) <= 3:
        return "plain"
    numbered = layout.rank(file.path) is not None and _SAMPLES.search(file.path)
    return "plain" if numbered and all(re.fullmatch(r"\d{1,12}", line) for line in lines) else None


def _entry(line: str, kind: str | None) -> tuple[str, Listed] | None:
    line = line.strip()
    if not line or line.startswith("#") or len(line) > LONG:
        return None
    if kind == "sums":
        match = _SUM.match(line)
        return (match.group(2), Listed(None, match.group(1).lower())) if match else None
    name, _, rest = line.partition(" ")
    return name, Listed(None, "", rest.strip()[:80])


def _checks(file: RunFile, text: str) -> FileContent:
    """The result of `sha256sum -c`: what agrees, and what does not or is not there."""
    good: dict[str, Listed] = {}
    bad: list[str] = []
    for line in text.splitlines():
        match = _CHECKED.match(line.strip())
        if match is None or len(good) + len(bad) > MAX_ENTRIES:
            continue
        if match.group(2) == "OK":
            good[match.group(1)] = Listed()
        else:
            bad.append(redact("checksum", match.group(1)))
    made = _list(file, good)
    return FileContent(FORMAT, lists=(replace(made, failed=tuple(bad), checked=len(good) + len(bad)),))


# ------------------------------------------------------------------------------------------- tables, JSON


def _cells(line: str, suffix: str) -> list[str]:
    return next(csv.reader([line], delimiter="\t" if suffix == ".tsv" else ","), [])


def _columns(header: list[str]) -> tuple[int, int | None, int | None] | None:
    """Which columns hold name, size and checksum; None where a table is no list of files."""
    names = [cell.strip().lower() for cell in header]

    def at(wanted: Iterable[str]) -> int | None:
        return next((names.index(w) for w in wanted if w in names), None)

    name, size, checksum = at(_KEYS_NAME), at(_KEYS_SIZE), at(_KEYS_SUM)
    return None if name is None or (size is None and checksum is None) else (name, size, checksum)


def _table(text: str, suffix: str) -> Iterator[tuple[str, Listed]]:
    lines = text.splitlines()
    columns = _columns(_cells(lines[0], suffix)) if lines else None
    if columns is None:
        raise ValueError("no column of file names beside sizes or checksums")
    name, size, checksum = columns
    for row in csv.reader(lines[1 : MAX_ENTRIES + 2], delimiter="\t" if suffix == ".tsv" else ","):
        if name < len(row) and row[name].strip():
            held = [row[at].strip() if at is not None and at < len(row) else "" for at in (size, checksum)]
            yield row[name].strip()[:LONG], Listed(_whole(held[0]), held[1].lower()[:128])


def _whole(value: object) -> int | None:
    try:
        return int(float(str(value)))
    except (ValueError, OverflowError):
        return None


def _sniff_json(file: RunFile) -> bool:
    head = file.head_text.lstrip("\ufeff \t\r\n")
    if not head.startswith(("{", "[")):
        return False
    if file.name == "dataset_info.json":
        return '"splits"' in head
    telling = any(f'"{k}"' in head for k in (*_KEYS_SIZE, *_KEYS_SUM)) or _SAMPLES.search(file.path)
    if not telling or not (_NAMED.search(file.path) or "checksum" in file.name):
        return False
    loaded = _load(file)
    return bool(dict(_rows(loaded))) or _numbers(file, loaded) is not None


def _load(file: RunFile) -> Any:
    try:
        return json.loads(file.read_text(MAX_SIZE).lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return None


def _read_json(file: RunFile) -> FileContent:
    loaded = _load(file)
    if file.name == "dataset_info.json" and isinstance(loaded, dict):
        return _dataset_info(file, loaded)
    numbers = _numbers(file, loaded)
    return _content(file, numbers if numbers is not None else dict(_rows(loaded)))


def _numbers(file: RunFile, loaded: Any) -> dict[str, Listed] | None:
    """What one rank reads, as a JSON list of sample numbers or names."""
    if not isinstance(loaded, list) or not loaded or layout.rank(file.path) is None:
        return None
    if not all(isinstance(e, (int, str)) and not isinstance(e, bool) for e in loaded[:LOOK]):
        return None
    return {str(e)[:LONG]: Listed() for e in loaded[: MAX_ENTRIES + 1] if isinstance(e, (int, str))}


def _rows(loaded: Any) -> Iterator[tuple[str, Listed]]:
    """Rows with a name and a size or checksum: a list of objects, below a key, or by name."""
    if isinstance(loaded, dict):
        below = next(
            (
                loaded[k]
                for k in ("files", "entries", "data_files", "items")
                if isinstance(loaded.get(k), (list, dict))
            ),
            None,
        )
        if below is None:
            below = loaded
        if isinstance(below, dict):
            for name, row in list(below.items())[: MAX_ENTRIES + 1]:
                listed = _listed(
                    row if isinstance(row, dict) else {"checksum": row} if _is_sum(row) else None
                )
                if listed is not None:
                    yield str(name)[:LONG], listed
            return
        loaded = below
    if isinstance(loaded, list):
        for row in loaded[: MAX_ENTRIES + 1]:
            name = (
                next((row[k] for k in _KEYS_NAME if isinstance(row.get(k), str)), None)
                if isinstance(row, dict)
                else None
            )
            listed = _listed(row) if name else None
            if name and listed is not None:
                yield name[:LONG], listed


def _is_sum(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"(?:\w{2,8}:)?[0-9a-fA-F]{32,128}", value) is not None


def _listed(row: Mapping[str, Any] | None) -> Listed | None:
    if row is None:
        return None
    lowered = {str(k).lower(): v for k, v in row.items()}
    size = next(
        (s for k in _KEYS_SIZE if isinstance(s := lowered.get(k), int) and not isinstance(s, bool)), None
    )
    checksum = next((str(v) for k in _KEYS_SUM if isinstance(v := lowered.get(k), str) and v), "")
    return None if size is None and not checksum else Listed(size, checksum.lower()[:128])


def _dataset_info(file: RunFile, loaded: Mapping[str, Any]) -> FileContent:
    """Samples per split and the checksums of what was downloaded; its other fields are settings as ever."""
    from . import config_file

    splits = loaded.get("splits")
    declared = {
        str(name)[:40]: row["num_examples"]
        for name, row in (splits.items() if isinstance(splits, dict) else ())
        if isinstance(row, dict) and isinstance(row.get("num_examples"), int)
    }
    sums = loaded.get("download_checksums")
    made = replace(_list(file, dict(_rows(sums)) if isinstance(sums, dict) else {}), declared=declared)
    try:
        base = config_file.read(file)
    except ValueError:
        base = FileContent(FORMAT)
    return replace(base, format=FORMAT, lists=(made,))


# ---------------------------------------------------------------------------------------------- content


def _list(file: RunFile, entries: dict[str, Listed]) -> DataList:
    entries = {redact("checksum", name): e for name, e in entries.items()}
    whole = len(entries) <= MAX_ENTRIES
    if not whole:
        entries = dict(list(entries.items())[:MAX_ENTRIES])
    split = "train" if _TRAIN.search(file.path) else "eval" if _EVAL.search(file.name) else ""
    return DataList(file.path, entries, split, layout.rank(file.path), complete=whole)  # type: ignore[arg-type]


def _content(file: RunFile, entries: dict[str, Listed]) -> FileContent:
    if not entries:
        raise ValueError("names no file")
    made = _list(file, entries)
    notes = () if made.complete else (f"only the first {MAX_ENTRIES} entries were read",)
    return FileContent(FORMAT, lists=(made,), notes=notes)
