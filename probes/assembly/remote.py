"""Run directories in object stores (`s3://`, `gs://`, `hf://`, whatever fsspec knows), read over the network.

The store is listed, then of each file its beginning is fetched; the rest only of files that a reader takes.
Files that would be passed over cost nothing, and checkpoints are not fetched. Needs the extra
`traindoctor[remote]` and the store's own package; credentials are those that it finds by itself.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

from ..files import CLOSED_DIRS, HEAD, MAX_DEPTH, MAX_READ, SKIP_DIRS, RunFile, RunUnreadable
from . import kinds

MAX_LOCAL = 1024**3  # bytes of a file that has to lie on disk to be read (a database)


@dataclass(eq=False)
class _Store:
    """A file system with the last file that was fetched whole, and a folder for files that must be local."""

    system: Any
    last: tuple[str, bytes] = ("", b"")
    folder: Path | None = None

    def fetch(self, key: str, size: int, limit: int) -> bytes:
        """Return the first `limit` bytes of a file. Raises OSError."""
        wanted = min(size, limit)
        if self.last[0] == key and len(self.last[1]) >= wanted:
            return self.last[1][:wanted]
        data = cast("bytes", _or_os_error(lambda: self.system.cat_file(key, start=0, end=wanted)))
        self.last = (key, data) if len(data) >= size else self.last
        return data

    def local(self, key: str, size: int) -> Path:
        """Return a copy on disk, which goes when the program ends. Raises OSError."""
        if size > MAX_LOCAL:
            raise OSError(f"larger than {MAX_LOCAL // 1024**2} MiB, not fetched")
        if self.folder is None:
            self.folder = Path(tempfile.mkdtemp(prefix="traindoctor-"))
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        copy = self.folder / hashlib.sha256(key.encode()).hexdigest()
        if not copy.exists():
            copy.write_bytes(self.fetch(key, size, size))
        return copy


@dataclass(frozen=True, eq=False)
class RemoteFile(RunFile):
    """One file of a run in an object store."""

    key: str = ""  # as the store calls it
    store: _Store = field(default_factory=lambda: _Store(None), repr=False)

    def read_bytes(self, limit: int = MAX_READ) -> bytes:
        """Fetch at most `limit` bytes. Raises OSError."""
        return self.store.fetch(self.key, self.size, limit)

    def open(self) -> BinaryIO:
        """Open for reading by parts; each part is fetched when it is read. Raises OSError."""
        opened = _or_os_error(lambda: self.store.system.open(self.key, "rb", block_size=HEAD))
        return cast("BinaryIO", opened)

    def local(self) -> Path:
        """Return a copy on disk."""
        return self.store.local(self.key, self.size)


def walk(where: str, limit: int) -> tuple[list[RunFile], list[str]]:
    """List the files below an address in a stable order, and what was passed over. Raises RunUnreadable."""
    store, top = _opened(where)
    try:
        if not store.system.exists(top):
            raise RunUnreadable(f"{where}: there is nothing at this address")
        if store.system.isfile(top):
            folder, _, name = top.rpartition("/")
            size = int(store.system.info(top).get("size") or 0)
            return [RemoteFile(Path(where).parent, name, size, key=f"{folder}/{name}", store=store)], []
        found: list[RunFile] = []
        notes: list[str] = []
        for file in _listed(store, where, top, notes):
            if len(found) >= limit:
                notes.append(f"only the first {limit} files were looked at")
                break
            found.append(file)
    except (RunUnreadable, KeyboardInterrupt):
        raise
    except Exception as error:  # each store has errors of its own
        raise RunUnreadable(f"{where}: {_sentence(error)}") from error
    weights = [f for f in found if kinds.passed_over(f.name, f.suffix) and f.suffix in kinds.WEIGHTS]
    if weights:
        notes.append(f"{len(weights)} checkpoints and binary files are not fetched over the network")
    return [f for f in found if f not in weights], notes


def _opened(where: str) -> tuple[_Store, str]:
    try:
        import fsspec
    except ImportError:
        raise RunUnreadable(
            f"{where}: reading from an object store needs one more package: pip install 'traindoctor[remote]'"
        ) from None
    try:
        system, top = fsspec.core.url_to_fs(where)
    except ImportError as error:
        raise RunUnreadable(f"{where}: a package is missing: {_sentence(error)}") from error
    except ValueError as error:
        raise RunUnreadable(f"{where}: {_sentence(error)}") from error
    except Exception as error:  # a store may look for credentials when it is made
        raise RunUnreadable(f"{where}: {_sentence(error)}") from error
    return _Store(system), str(top).rstrip("/")


def _listed(store: _Store, where: str, folder: str, notes: list[str], inner: str = "") -> Iterator[RunFile]:
    """Yield the files below a folder, `inner` as seen from the top."""
    entries = sorted(store.system.ls(folder, detail=True), key=lambda e: str(e["name"]))
    for entry in entries:
        name = str(entry["name"]).rstrip("/").rpartition("/")[2]
        path = f"{inner}/{name}" if inner else name
        if str(entry["name"]).rstrip("/").strip("/") == folder.strip("/") or not name or name == "..":
            continue
        if entry.get("type") == "directory":
            if name in SKIP_DIRS:
                continue
            if name in CLOSED_DIRS:
                notes.append(f"{path}: {CLOSED_DIRS[name]}")
                continue
            if path.count("/") >= MAX_DEPTH:
                notes.append(f"{path}: nested deeper than {MAX_DEPTH} folders, not looked at")
                continue
            yield from _listed(store, where, str(entry["name"]).rstrip("/"), notes, path)
        elif entry.get("type") == "file":
            yield RemoteFile(
                Path(where), path, int(entry.get("size") or 0), key=str(entry["name"]), store=store
            )


def _or_os_error(fetch: Any) -> object:
    try:
        return fetch()
    except OSError:
        raise
    except Exception as error:  # each store has errors of its own
        raise OSError(_sentence(error)) from error


def _sentence(error: BaseException) -> str:
    """An error's first line, short; the kind of error where it says nothing."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__
