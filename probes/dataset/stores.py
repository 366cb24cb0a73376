"""Data that is kept in containers: Parquet, and Hugging Face data sets on disk."""

from __future__ import annotations

import datetime
import hashlib
import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ...engine.model import Place
from ..files import RunFile
from . import thrift
from .gather import MOST_PROBLEMS, Budget
from .media import Damaged, read_header
from .model import Part, Problem, Split
from .rows import TableGather, shortened
from .tables import label_of
from .tars import Member

PARQUET = b"PAR1"
MOST_FOOTER = 64 * 1024**2
MOST_JSON = 16 * 1024**2
SHORT = 64  # bytes that are shown as they are
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", ".png"),
    (b"\xff\xd8\xff", ".jpg"),
    (b"RIFF", ".wav"),
    (b"fLaC", ".flac"),
)


# --------------------------------------------------------------------------------------------- Parquet


def is_parquet(file: RunFile) -> bool:
    """Whether a file is Parquet, by its first bytes."""
    return file.head.startswith(PARQUET)


def read_parquet(files: Sequence[RunFile], split: Split, budget: Budget) -> list[Part]:
    """Read Parquet: rows and columns from the footer; values through pyarrow where it is installed."""
    problems: list[Problem] = []
    good: list[RunFile] = []
    total = 0
    names: list[str] = []
    for file in files:
        try:
            rows, names_here = _footer(file)
        except (ValueError, OSError) as error:
            problems.append(Problem(Place(file.path), str(error)[:120]))
            continue
        total += rows
        names = names or names_here
        good.append(file)
    if not good:
        return [_counted(split, "Parquet", files, None, problems, ())]
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        note = "values not looked at: needs pyarrow (pip install traindoctor[data])"
        told = (f"columns: {', '.join(names[:12])}", note)
        return [_counted(split, "Parquet", files, total, problems, told)]

    def batches(file: RunFile, limit: int) -> Any:
        with file.open() as handle:
            yield from parquet.ParquetFile(handle).iter_batches(batch_size=min(8192, limit))

    return _arrow(good, split, "Parquet", batches, total, problems, budget)


def _counted(
    split: Split,
    form: str,
    files: Sequence[RunFile],
    rows: int | None,
    problems: Sequence[Problem],
    notes: tuple[str, ...],
) -> Part:
    return Part(
        split,
        "records",
        form,
        tuple(f.path for f in files),
        rows,
        rows is not None,
        0,
        problems=tuple(problems[:20]),
        problem_count=len(problems),
        notes=notes,
    )


def _footer(file: RunFile) -> tuple[int, list[str]]:
    """Return (rows, names of the columns) of a Parquet file's footer. Raises ValueError or OSError."""
    with file.open() as handle:
        handle.seek(max(0, file.size - 8))
        tail = handle.read(8)
        if tail[4:] != PARQUET or file.size < 12:
            raise ValueError("cut off: the footer is missing")
        length = int(struct.unpack("<I", tail[:4])[0])
        if length > min(MOST_FOOTER, file.size - 12):
            raise ValueError("its footer is longer than the file")
        handle.seek(file.size - 8 - length)
        footer = thrift.struct_of(handle.read(length))
    rows, schema = footer.get(3), footer.get(2)
    if not isinstance(rows, int) or not isinstance(schema, list):
        raise ValueError("its footer cannot be understood")
    leaves = [s.get(4, b"") for s in schema if isinstance(s, dict) and 5 not in s]
    return rows, [n.decode("utf-8", "replace") for n in leaves if isinstance(n, bytes)]


def _arrow(
    files: Sequence[RunFile],
    split: Split,
    form: str,
    batches: Callable[[RunFile, int], Any],
    total: int | None,
    problems: list[Problem],
    budget: Budget,
) -> list[Part]:
    """Bring Arrow record batches through the same table as CSV: numbers stay numbers, the rest is text."""
    table: TableGather | None = None
    notes: list[str] = []
    contents = _Contents()
    counted, ended = 0, True
    classes: dict[str, int] = {}
    for number, file in enumerate(files):
        limit = max(64, (budget.bounds.samples - (table.rows if table else 0)) // (len(files) - number))
        taken = 0
        try:
            for batch in batches(file, limit):
                if not budget.take(int(batch.nbytes)) or taken >= limit:
                    ended = False
                    break
                names = [str(n) for n in batch.schema.names]
                classes = classes or _named_classes(batch.schema.metadata)
                table = table or TableGather(
                    names, budget.bounds.seed, label_of(names, budget.bounds.label), 5000
                )
                if names != table.names:
                    problems.append(Problem(Place(file.path), "other columns than the files before"))
                    break
                while len(table.files) <= number:
                    table.files.append(files[len(table.files)].path)
                rows = batch.slice(0, limit - taken)
                ended = ended and len(rows) == len(batch)
                found = [column.to_pylist() for column in rows.columns]
                cells = list(zip(*([_cell(v) for v in column] for column in found), strict=True))
                if not split:
                    table.divide(cells[:200])
                for name, column in zip(names, found, strict=True):
                    contents.look(name, column, files[number], taken + 1)
                table.add(cells, list(range(taken + 1, taken + 1 + len(rows))), number)
                if table.takes_read:
                    path = files[number].path
                    table.add_read(
                        [dict(zip(names, row, strict=True)) for row in zip(*found, strict=True)],
                        [Place(path, taken + 1 + i) for i in range(len(rows))],
                    )
                taken += len(rows)
        except Exception as error:  # pyarrow raises errors of its own for what is damaged
            problems.append(Problem(Place(file.path), f"damaged: {str(error)[:100]}"))
        counted += taken
    if table is None:
        return [_counted(split, form, files, total, problems, ())]
    rows_known = total if total is not None else counted
    first, *more = table.parts(split, form, rows_known, total is not None or ended, tuple(notes))
    problems += contents.found
    count = len(problems) + contents.count - len(contents.found)
    first = replace(first, problems=tuple(problems[:MOST_PROBLEMS]), problem_count=count)
    return [replace(p, named_classes=classes) for p in (first, *more)]


def _named_classes(metadata: Any) -> dict[str, int]:
    """Column -> classes that it names, of what `datasets` writes into a schema (ClassLabel)."""
    try:
        found = json.loads((metadata or {}).get(b"huggingface", b"{}"))
        features = found["info"]["features"]
        kinds = {name: one.get("names") for name, one in features.items() if isinstance(one, dict)}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
    return {name: len(names) for name, names in kinds.items() if isinstance(names, list)}


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, list) and value[:1] == [-100] and all(v == -100 for v in value):
        return "[-100]"  # however long: nothing of it counts
    if isinstance(value, dict) and isinstance(value.get("bytes"), bytes):
        value = value["bytes"]  # a picture or recording of Hugging Face; its path may be any
    if isinstance(value, bytes) and len(value) > SHORT:
        return f"{len(value)} bytes {hashlib.blake2b(value, digest_size=8).hexdigest()}"
    return value.strip() if isinstance(value, str) else shortened(repr(value))


class _Contents:
    """Pictures and recordings in the cells of a container: their headers and ends, as of files."""

    def __init__(self) -> None:
        self.found: list[Problem] = []
        self.count = 0

    def look(self, column: str, cells: Sequence[Any], file: RunFile, first: int) -> None:
        """Look at the cells of a column; `first` is the row of the first one."""
        for i, cell in enumerate(cells):
            data = cell.get("bytes") if isinstance(cell, dict) else cell
            if not isinstance(data, bytes):
                continue
            suffix = next((s for magic, s in _MAGIC if data.startswith(magic)), "")
            if not suffix:
                continue
            try:
                read_header(Member.of(file, f"{column}{suffix}", data))
            except Damaged as error:
                self.count += 1
                if len(self.found) < MOST_PROBLEMS:
                    self.found.append(Problem(Place(file.path, first + i), f"{column}: {error}"))
            except OSError:
                continue


# ---------------------------------------------------------------------------------- Hugging Face, on disk


def declared(file: RunFile) -> dict[str, int]:
    """Return split -> samples as a dataset_info.json says; nothing where it says nothing."""
    if file.size > MOST_JSON:
        return {}
    found = json.loads(file.read_text())
    splits = found.get("splits") if isinstance(found, dict) else None
    if not isinstance(splits, dict):
        return {}
    return {
        str(name): int(entry["num_examples"])
        for name, entry in splits.items()
        if isinstance(entry, dict) and isinstance(entry.get("num_examples"), int)
    }


def files_of_state(file: RunFile) -> list[str]:
    """Return the Arrow files that a state.json of `save_to_disk` names."""
    if file.size > MOST_JSON:
        return []
    found = json.loads(file.read_text())
    entries = found.get("_data_files") if isinstance(found, dict) else None
    if not isinstance(entries, list):
        return []
    return [e["filename"] for e in entries if isinstance(e, dict) and isinstance(e.get("filename"), str)]


def read_arrow(files: Sequence[RunFile], split: Split, budget: Budget) -> list[Part]:
    """Read Arrow files (stream or file format) through pyarrow; without it they are only named."""
    try:
        import pyarrow as pa
    except ImportError:
        note = "samples not looked at: needs pyarrow (pip install traindoctor[data])"
        return [_counted(split, "Arrow", files, None, [], (note,))]

    def batches(file: RunFile, limit: int) -> Any:
        del limit
        with file.open() as handle:
            if file.head.startswith(b"ARROW1"):
                reader = pa.ipc.open_file(handle)
                yield from (reader.get_batch(i) for i in range(reader.num_record_batches))
            else:
                yield from pa.ipc.open_stream(handle)

    return _arrow(list(files), split, "Arrow", batches, None, [], budget)
