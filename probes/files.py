"""Safe, read-only access to a run directory: the one place that opens files.

A run directory comes from strangers. Nothing outside its root is opened (links are followed only while
they stay inside), only regular files, sizes and counts are capped, nothing is ever written.
"""

from __future__ import annotations

import io
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import BinaryIO

MAX_FILES = 20_000
MAX_DEPTH = 24
HEAD = 64 * 1024
MAX_MEMBER = 16 * 1024**2  # of a member of an archive; a bomb is cut off there
MAX_UNPACKED = 256 * 1024**2  # of a packed log
SWELLS = 8  # times that logs grow when they are unpacked: a guess that serves progress alone
PACKED_LOGS = (".log.gz", ".out.gz")
MAX_READ = 2 * 1024**3
_ADDRESS = re.compile(r"^([a-z][a-z0-9+.-]+):/+(?=[^/])")  # no letter of a drive
SKIP_DIRS = frozenset(
    {".git", "__pycache__", "node_modules", ".venv", "site-packages", ".mypy_cache", ".ipynb_checkpoints"}
)
# Folders with metrics in them that cannot be had: what is said of them.
CLOSED_DIRS = {
    ".aim": "an Aim repository; its database (RocksDB) cannot be read safely without Aim itself:"
    " export its metrics with Aim, or log them to CSV or TensorBoard as well",
}


class RunUnreadable(Exception):
    """The run cannot be read at all; the message is one sentence for the user (exit code 4)."""


@dataclass(frozen=True, eq=False)
class RunFile:
    """One regular file below a run's root. `path` is relative to the root, with forward slashes."""

    root: Path
    path: str
    size: int
    mtime: float = field(default=0.0)
    watch: Callable[[float], None] | None = field(default=None, repr=False)  # told the share that is read

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rsplit("/", 1)[-1]

    @cached_property
    def suffix(self) -> str:
        """The last extension, lower case, with its dot."""
        return PurePosixPath(self.name).suffix.lower()

    @cached_property
    def head(self) -> bytes:
        """The first 64 KiB, for content detection."""
        return self.read_bytes(HEAD)

    @cached_property
    def head_text(self) -> str:
        """`head` as text; see `decode`."""
        return decode(self.head)

    @property
    def binary(self) -> bool:
        """Whether NUL bytes stand near the beginning, as no text holds them but UTF-16 with its mark."""
        return b"\0" in self.head[:4096] and not self.head.startswith((b"\xff\xfe", b"\xfe\xff"))

    def read_bytes(self, limit: int = MAX_READ) -> bytes:
        """Read at most `limit` bytes. Raises OSError when the file went away or may not be read."""
        with self.open() as handle:
            there = os.fstat(handle.fileno()).st_size
            return handle.read(min(limit, there))  # read(n) takes memory for n bytes, whatever is there

    def open(self) -> BinaryIO:
        """Open for reading by parts; the caller closes. Raises OSError like `read_bytes`."""
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        try:
            fd = os.open(f"{self.root}/{self.path}", flags)
        except OSError:  # a link inside the run, as `walk` let it pass: what it leads to
            fd = os.open(os.path.realpath(self.root / self.path), flags)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise OSError(f"{self.path} is not a regular file")
        return os.fdopen(fd, "rb")

    def local(self) -> Path:
        """Return where the file lies on this machine, for what can only be opened by its path."""
        return Path(os.path.realpath(self.root / self.path))

    def read_text(self, limit: int = MAX_READ) -> str:
        """Read as text: BOMs honoured, anything undecodable replaced, line ends left as they are."""
        return decode(self.read_bytes(limit))


@dataclass(frozen=True, eq=False)
class PackedFile(RunFile):
    """One member of a packed configuration (msprobe config_check): read in memory, never unpacked to disk."""

    pack: str = ""  # the archive, relative to the root

    def read_bytes(self, limit: int = MAX_READ) -> bytes:
        """Read at most `limit` bytes. Raises OSError where the member is damaged."""
        try:
            with zipfile.ZipFile(self.root / self.pack) as archive, archive.open(self.path) as member:
                return member.read(min(limit, MAX_MEMBER))
        except (
            zipfile.BadZipFile,
            zlib.error,
            KeyError,
            RuntimeError,
            NotImplementedError,
            EOFError,
        ) as error:
            raise OSError(f"{self.path}: {error}") from error

    def open(self) -> BinaryIO:
        """Open for reading by parts."""
        return io.BytesIO(self.read_bytes())


@dataclass(frozen=True, eq=False)
class GzippedFile(RunFile):
    """A log that was packed by itself (`info.log.gz`), under its own name: read in memory up to a bound."""

    pack: str = ""  # the packed file, relative to the root

    def read_bytes(self, limit: int = MAX_READ) -> bytes:
        """Read at most `limit` bytes; of a file that was copied in part what is there. Raises OSError."""
        most = min(limit, MAX_UNPACKED)
        found, size = [], 0
        unpack = zlib.decompressobj(wbits=31)
        with RunFile(self.root, self.pack, 0).open() as handle:
            while size < most and not unpack.eof and (chunk := handle.read(HEAD)):
                try:
                    found.append(unpack.decompress(chunk, most - size))
                except zlib.error as error:
                    if not size:
                        raise OSError(f"{self.pack}: {error}") from error
                    break
                size += len(found[-1])
        return b"".join(found)

    def open(self) -> BinaryIO:
        """Open for reading by parts."""
        return io.BytesIO(self.read_bytes())


def _file(root: Path, path: str, info: os.stat_result, *, beside: bool = False) -> RunFile:
    """A file as it lies there, or the log that is packed in it; `beside`: that log lies there unpacked."""
    if beside or not path.endswith(PACKED_LOGS):
        return RunFile(root, path, info.st_size, info.st_mtime)
    size = min(SWELLS * info.st_size, MAX_UNPACKED)
    return GzippedFile(root, path.removesuffix(".gz"), size, info.st_mtime, pack=path)


def _members(file: RunFile) -> list[RunFile]:
    """The members of an archive that msprobe packed (`env`, `pip`, `hyperparameters/`); else nothing."""
    if file.suffix != ".zip" or file.head[:4] != b"PK\x03\x04":
        return []
    try:
        with zipfile.ZipFile(file.root / file.path) as archive:
            rows = [i for i in archive.infolist()[:MAX_FILES] if not i.is_dir() and not i.flag_bits & 1]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return []
    names = {i.filename for i in rows}
    if not names & {"env", "pip"} or not any(n.startswith("hyperparameters/") for n in names):
        return []
    sound = [i for i in rows if i.file_size <= MAX_MEMBER and ".." not in i.filename.split("/")]
    return [
        PackedFile(file.root, i.filename, i.file_size, file.mtime, pack=file.path)
        for i in sorted(sound, key=lambda i: i.filename)
    ]


def decode(data: bytes) -> str:
    """Decode log text: UTF-8 and UTF-16 with BOM, else UTF-8 with replacement (never an error)."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
    return data.decode("utf-8", errors="replace")


def address(path: Path) -> str | None:
    """Return the address that a path stands for ("s3:/bucket/run" is what `Path` makes of one), or None."""
    match = _ADDRESS.match(path.as_posix())
    if match is None or path.exists():
        return None
    return f"{match.group(1)}://{path.as_posix()[match.end() :]}"


OUTER_LINK = "a link that leads out of the run directory, not followed"
LOST_LINK = "a link that leads out of the run directory, to a file that is not there"


def walk(root: Path, limit: int = MAX_FILES) -> tuple[list[RunFile], list[str]]:
    """List the regular files below `root` in a stable order, and what was passed over, in sentences.

    At most `limit` files. `root` may be a single file: the run is then that file alone, or what msprobe
    packed into it; or an address (`s3://...`). Raises RunUnreadable.
    """
    where = address(root)
    if where is not None:
        from .assembly import remote

        return remote.walk(where, limit)
    try:
        mode = root.stat().st_mode
    except OSError as error:
        raise RunUnreadable(f"{root}: {error.strerror or 'cannot be read'}") from error
    if stat.S_ISREG(mode):
        info = root.stat()
        alone = _file(root.parent, root.name, info)
        return _members(alone) or [alone], []
    if not stat.S_ISDIR(mode):
        raise RunUnreadable(f"{root}: neither a directory nor a regular file")
    found: list[RunFile] = []
    notes: list[str] = []
    real_root = os.path.realpath(root)
    for entry in _scan(Path(real_root), real_root, 0, notes):
        if len(found) >= limit:  # then rather what lies near the top, where logs are
            notes = [f"only the first {limit} files were looked at"]
            near = _scan(Path(real_root), real_root, 0, notes, folders_last=True)
            return sorted(islice(near, limit), key=lambda f: f.path.split("/")), notes
        found.append(entry)
    return found, notes


def _scan(
    folder: Path, real_root: str, depth: int, notes: list[str], *, folders_last: bool = False
) -> Iterator[RunFile]:
    try:
        entries = sorted(
            os.scandir(folder), key=lambda e: (folders_last and e.is_dir(follow_symlinks=False), e.name)
        )
    except OSError as error:
        if depth == 0:
            raise RunUnreadable(f"{folder}: {error.strerror or 'cannot be listed'}") from error
        notes.append(f"{os.path.relpath(folder, real_root)}: {error.strerror or 'cannot be listed'}")
        return
    names = {e.name for e in entries}
    for entry in entries:
        relative = os.path.relpath(entry.path, real_root).replace(os.sep, "/")
        if entry.is_symlink():
            target = os.path.realpath(entry.path)
            if not (target == real_root or target.startswith(real_root + os.sep)):
                lost = not os.access(target, os.F_OK)
                notes.append(f"{relative}: {LOST_LINK if lost else OUTER_LINK}")
                continue
            # A link inside the run names a file that the walk meets anyway: reading it twice would
            # count every point twice.
            continue
        if entry.is_dir():
            if entry.name in SKIP_DIRS:
                continue
            if entry.name in CLOSED_DIRS:
                notes.append(f"{relative}: {CLOSED_DIRS[entry.name]}")
                continue
            if depth >= MAX_DEPTH:
                notes.append(f"{relative}: nested deeper than {MAX_DEPTH} folders, not looked at")
                continue
            yield from _scan(Path(entry.path), real_root, depth + 1, notes, folders_last=folders_last)
        elif entry.is_file():
            info = entry.stat()
            beside = entry.name.removesuffix(".gz") in names
            yield _file(Path(real_root), relative, info, beside=beside)
