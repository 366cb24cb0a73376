"""Tables that are kept compressed: gzip, bzip2, xz and Zstandard, unpacked in memory up to a bound."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from ...engine.model import Place
from ..files import MAX_READ, RunFile
from .model import Part, Problem
from .naming import LINES, TABLES

MOST = 128 * 1024**2  # bytes that one file is unpacked to
PIECE = 1024**2
_INNER = TABLES | LINES | {".json"}


class Unpacked(RunFile):
    """A compressed file as its contents; `size` is that of what was unpacked."""

    @property
    def suffix(self) -> str:
        """The extension of what is packed."""
        return inner(self.name)

    def read_bytes(self, limit: int = MAX_READ) -> bytes:
        """Read at most `limit` bytes of the contents."""
        data, _ = _contents(self.root, self.path, self.mtime)
        return data[:limit]

    def open(self) -> BinaryIO:
        """Open the contents for reading by parts."""
        return io.BytesIO(_contents(self.root, self.path, self.mtime)[0])

    @property
    def ended(self) -> str:
        """Why the contents are not whole; "" where they are, "long" where they go on."""
        return _contents(self.root, self.path, self.mtime)[1]


def inner(name: str) -> str:
    """The extension below that of the compression: ".csv" of "train.csv.gz"; "" where it is no table."""
    path = PurePosixPath(name)
    below = PurePosixPath(path.stem).suffix.lower()
    return below if path.suffix.lower() in _OPENERS and below in _INNER else ""


def unpacked(file: RunFile) -> Unpacked:
    """Return the contents as a file. Raises OSError where nothing can be unpacked, with the reason."""
    data, ended = _contents(file.root, file.path, file.mtime)
    if not data and ended:
        raise OSError(0, ended)
    return Unpacked(file.root, file.path, len(data), file.mtime)


def marked(parts: Sequence[Part], files: Sequence[RunFile]) -> list[Part]:
    """Say of parts what could not be unpacked, or was left."""
    packed = [(f, f.ended) for f in files if isinstance(f, Unpacked)]
    broken = [Problem(Place(f.path), e) for f, e in packed if e and e != "long"]
    long = sum(e == "long" for _, e in packed)
    if not broken and not long:
        return list(parts)
    told = (f"of {long} compressed files the first {MOST // 1024**2} MiB were looked at",) if long else ()
    first, *more = (replace(p, exact=False, notes=(*p.notes, *told)) for p in parts)
    first = replace(
        first, problems=(*first.problems, *broken), problem_count=first.problem_count + len(broken)
    )
    return [first, *more]


@lru_cache(maxsize=1)
def _contents(root: Path, path: str, mtime: float) -> tuple[bytes, str]:
    """Unpack a file: (contents, why they are not whole). Kept for the one that is being read."""
    del mtime
    raw = RunFile(root, path, 0)
    data = io.BytesIO()
    try:
        with raw.open() as handle, _OPENERS[PurePosixPath(path).suffix.lower()](handle) as stream:
            while data.tell() < MOST:
                piece = stream.read(min(PIECE, MOST - data.tell()))
                if not piece:
                    return data.getvalue(), ""
                data.write(piece)
    except ModuleNotFoundError:
        return b"", "needs zstandard (pip install zstandard)"
    except (EOFError, zlib.error, lzma.LZMAError, ValueError, OSError) as error:
        why = "cut off: the compressed data end early" if isinstance(error, EOFError) else str(error)[:100]
        return data.getvalue(), why or type(error).__name__
    except Exception as error:  # zstandard raises an error of its own
        return data.getvalue(), f"damaged: {str(error)[:100]}"
    return data.getvalue(), "long"


def _zstandard(handle: BinaryIO) -> Any:
    try:
        return importlib.import_module("compression.zstd").ZstdFile(handle)  # from Python 3.14 on
    except ModuleNotFoundError:
        return importlib.import_module("zstandard").ZstdDecompressor().stream_reader(handle)


_OPENERS: dict[str, Callable[[BinaryIO], Any]] = {
    ".gz": lambda h: gzip.GzipFile(fileobj=h),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": _zstandard,
}
