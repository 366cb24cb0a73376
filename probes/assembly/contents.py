"""The files of a run, each read by the first reader that recognises its content."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import cast

from ..dataset.own import holds_samples
from ..files import RunFile
from ..readers import Reader, csv_log, model_card, msprobe_monitor
from ..run import FileContent
from . import kinds

# In the order in which they are asked; the first that recognises the content reads the file.
READERS = (
    "script",
    "tensorboard",
    "mindspore_summary",
    "wandb_log",
    "mlflow_store",
    "sqlite_log",
    "hf_trainer",
    "model_card",
    "rank_table",
    "data_list",
    "jsonl",
    "json_log",
    "msprobe_monitor",
    "csv_log",
    "answer_table",
    "bare_numbers",
    "text_log",
    "shell_script",
    "environment_record",
    "config_file",
)
Progress = Callable[[str, float, float], None]  # the file at hand, bytes done and bytes to do of all files
MAX_LOG = 1024**3


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """What one file holds; `path` relative to the run."""

    path: str
    content: FileContent


def readers() -> list[Reader]:
    """Return the readers, in the order in which they are asked."""
    return [cast("Reader", importlib.import_module(f"...readers.{name}", __name__)) for name in READERS]


def read_all(
    files: list[RunFile], progress: Progress | None, notes: list[str], not_read: list[tuple[str, str]]
) -> list[Read]:
    """What the readers make of the files. Adds what they note, and which were not read and why."""
    asked = readers()
    found: list[Read] = []
    with _no_collection():
        for file in _watched(files, progress) if progress else files:
            content, reason = _read(file, asked)
            if content is not None:
                found.append(Read(file.path, content))
                notes.extend(f"{file.path}: {note}" for note in content.notes)
            elif reason:
                not_read.append((file.path, reason))
    return found


def read_monitored(
    dumped: Iterable[RunFile],
    progress: Progress | None,
    notes: list[str],
    not_read: list[tuple[str, str]],
) -> Iterator[Read]:
    """The curves in what msprobe's monitor wrote; its files are parts of a dump as well."""
    mine = [f for f in dumped if msprobe_monitor.by_name(f)]
    for files in msprobe_monitor.folders(_watched(mine, progress) if progress else mine):
        contents, lost = msprobe_monitor.read_folder(files)
        not_read.extend(lost)
        for path, content in contents.items():
            notes.extend(content.notes)
            yield Read(path, content)


def _watched(files: list[RunFile], progress: Progress) -> Iterator[RunFile]:
    """Yield the files, each telling `progress` of itself: its path, and the bytes done and to do of all."""
    read = (f for f in files if kinds.passed_over(f.name, f.suffix) is None and f.size <= MAX_LOG)
    sizes = {f.path: f.size for f in read}
    total, done = sum(sizes.values()), 0
    for file in files:
        before, size = done, sizes.get(file.path, 0)

        def at(share: float, file: RunFile = file, before: int = before, size: int = size) -> None:
            progress(file.path, before + share * size, total)

        at(0.0)
        yield replace(file, watch=at)
        done += size


def apart(files: list[RunFile]) -> tuple[list[RunFile], tuple[RunFile, ...]]:
    """Set the files of operator dumps apart: they are no logs, no settings and no checkpoints."""
    from ..tensors.names import is_anchor, is_dump_file

    if not any(map(is_anchor, files)):
        return files, ()
    dumped = {f.path for f in files if is_dump_file(f)}
    return [f for f in files if f.path not in dumped], tuple(f for f in files if f.path in dumped)


_BESIDE = frozenset({"trainer_state.json", ".metadata"})  # what lies beside weights and tells of them
_INDEX = ".index.json"


def checkpoint_files(files: Iterable[RunFile]) -> list[tuple[RunFile, bool]]:
    """Files of weights and what lies beside them; True: recognised as weights by the first bytes."""
    near = [f for f in files if f.suffix in kinds.WEIGHTS or f.name in _BESIDE or f.name.endswith(_INDEX)]
    if not any(f.suffix in kinds.WEIGHTS for f in near):
        return []
    from ..tensors.checkpoints import is_checkpoint

    found = []
    for file in near:
        try:
            found.append((file, is_checkpoint(file)))
        except OSError:
            continue
    return found


@contextmanager
def _no_collection() -> Iterator[None]:
    """Hold the cyclic garbage collector: reading makes millions of objects, none of them in a cycle."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _read(file: RunFile, asked: list[Reader]) -> tuple[FileContent | None, str | None]:
    card = file.name == "README.md" and file.size > 0  # prose, but for the cards that a trainer writes
    passed = None if card else kinds.passed_over(file.name, file.suffix)
    if passed is not None:
        return None, passed or None
    if file.size == 0:
        return None, "empty"
    if file.size > MAX_LOG:
        return None, f"larger than {MAX_LOG // 1024**2} MiB"
    try:
        if holds_samples(file):
            return None, "data table"
        for reader in [r for r in asked if r.FORMAT == model_card.FORMAT] if card else asked:
            if reader.sniff(file):
                return reader.read(file), None
    except OSError as error:
        return None, error.strerror or "cannot be read"
    except (ValueError, RecursionError, MemoryError) as error:
        return None, f"damaged: {str(error)[:120] or type(error).__name__}"
    except Exception as error:  # one reader's bug costs one file, said in the report
        return None, f"reader error: {type(error).__name__}: {str(error)[:120]}"
    return None, None if card else _unread(file)


def _unread(file: RunFile) -> str:
    """Why no reader took a file, as far as its beginning tells."""
    if file.head.startswith(b"version https://git-lfs"):
        return "a pointer of Git LFS, the file itself is not here"
    if file.size >= 64 * 1024**2:
        return "not recognised (large)"
    if not file.binary and csv_log.has_no_header(file):
        return "no header: columns are not known"
    printable = file.head.translate(None, bytes(range(9)) + bytes(range(14, 27)))
    return "not recognised" if file.binary or len(printable) < len(file.head) else "no metrics in it"
