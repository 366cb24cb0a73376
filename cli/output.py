"""Where results go: pairs of --format and --output, files written whole, stdout that carries nothing else."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from .stop import usage

FORMATS = ("terminal", "markdown", "json")
REPORTS = ("terminal", "markdown", "html", "json")  # of a whole diagnosis
REPORT_SUFFIXES = {".html": "html", ".htm": "html"}
SUFFIXES = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".json": "json",
    ".txt": "terminal",
    ".log": "terminal",
}
_PAGES = ("html", "markdown", "json")  # a file of one of them that holds another is a mistake
WIDEST = 100  # columns beyond which lines are hard to read
_OPTIONS = {"--format": "format", "-f": "format", "--output": "output", "-o": "output"}
# What a terminal gets that cannot show the typographic signs of our own sentences.
_ASCII = str.maketrans(
    {"→": "->", "·": "-", "•": "*", "“": '"', "”": '"', "’": "'", "…": "...", "±": "+-", "×": "x"}
)


@dataclass(frozen=True, slots=True)
class Target:
    """One rendering: a format, and the file that takes it (None: stdout)."""

    format: str
    path: Path | None = None


def targets(
    arguments: Sequence[str],
    formats: Sequence[str] = FORMATS,
    suffixes: Mapping[str, str] = SUFFIXES,
) -> list[Target]:
    """Return what to write, in the order of the command line; raises `Stop` on what cannot be meant.

    An --output belongs to the --format next to it; alone, its ending tells the format.
    """
    pairs: list[list[str | None]] = []
    given = list(_given(arguments))
    for i, (kind, value) in enumerate(given):
        slot = 0 if kind == "format" else 1
        stands = pairs[-1] if pairs and pairs[-1][slot] is None else None
        followed = slot == 0 and i + 1 < len(given) and given[i + 1][0] == "output"
        if stands and followed and _apart(value, stands[1], suffixes):
            stands = None  # -o a.md -f json -o b.json: the format is the next file's
        if stands:
            stands[slot] = value
        else:
            pairs.append([value, None] if slot == 0 else [None, value])
    found = [_target(name, path, formats, suffixes) for name, path in pairs] or [Target("terminal")]
    _refuse_clashes(found)
    return found


def _apart(name: str | None, path: str | None, suffixes: Mapping[str, str]) -> bool:
    """Whether a file's ending tells one of the formats of pages, and the name another."""
    meant = suffixes.get(Path(path).suffix.lower()) if path else None
    return meant in _PAGES and name in _PAGES and meant != name


def _given(arguments: Sequence[str]) -> Iterator[tuple[str, str]]:
    rest = iter(arguments)
    for word in rest:
        if word == "--":
            return
        name, equals, value = word.partition("=")
        if word in _OPTIONS:
            yield _OPTIONS[word], next(rest, "")
        elif equals and name in ("--format", "--output"):
            yield _OPTIONS[name], value
        elif word[:2] in ("-f", "-o") and not word.startswith("--"):
            yield _OPTIONS[word[:2]], word[2:]


def _target(
    name: str | None, path: str | None, formats: Sequence[str], suffixes: Mapping[str, str]
) -> Target:
    where = Path(path) if path else None
    if name is None:
        name = suffixes.get(where.suffix.lower()) if where else None
        if name is None:
            raise usage(f"{path}: the file name does not tell the format; add --format {'|'.join(formats)}")
    if name not in formats:
        raise usage(f"--format {name}: there is no such format; choose {', '.join(formats)}")
    if _apart(name, path, suffixes):
        raise usage(f"--format {name} would be written to {path}; put each --format beside its --output")
    return Target(name, where)


def _refuse_clashes(found: Sequence[Target]) -> None:
    if sum(t.path is None for t in found) > 1:
        raise usage("only one format can go to stdout; name a file for each other one with --output")
    files = [t.path.resolve() for t in found if t.path is not None]
    if len(set(files)) < len(files):
        raise usage("two formats cannot go to the same --output")
    for target in found:
        if target.path is not None and target.path.is_dir():
            raise usage(f"{target.path}: --output names a directory, not a file")


# --------------------------------------------------------------------------------------------- writing


def write_file(path: Path, text: str) -> None:
    """Write a whole file or nothing; folders on the way are made. Raises `Stop`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():  # /dev/null, a pipe: nothing to put in place of it
            path.write_text(text, encoding="utf-8", newline="\n")
            return
        _replace(path, text)
    except OSError as error:
        raise usage(f"{path}: cannot be written: {error.strerror or error}") from error


def _replace(path: Path, text: str) -> None:
    handle, scratch = tempfile.mkstemp(prefix=f".{path.name[:40]}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
        Path(scratch).chmod(path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
        Path(scratch).replace(path)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_beside(report: Path, files: Mapping[str, str]) -> None:
    """Write the files that belong beside a report."""
    for name in sorted(files):
        write_file(report.parent / name, files[name])


def to_stdout(text: str) -> None:
    """Print a result. What the terminal's encoding cannot show becomes ASCII, never an error.

    A reader that has seen enough (`| head`) closes the pipe: that is no error either.
    """
    try:
        sys.stdout.write(fitting(text, sys.stdout))
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def fitting(text: str, stream: TextIO) -> str:
    """Return text as far as a stream's encoding can show it."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_ASCII).encode(encoding, "replace").decode(encoding)
    return text


def say(text: str) -> None:
    """Print a sentence for the user on stderr, harmless whatever file names are in it."""
    from ..reports.text import disarm, plain

    sys.stderr.write(fitting(disarm(f"diagnose: {plain(text, 2000)}\n"), sys.stderr))


# ------------------------------------------------------------------------------------------- terminal


def colored(stream: TextIO, no_color: bool) -> bool:
    """Whether to use colours: asked for, or a terminal that nobody asked to keep plain."""
    if no_color or os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("CI")


def columns(stream: TextIO) -> int:
    """Return the width to write for: COLUMNS, the terminal's, or 80; never more than can be read well."""
    given = os.environ.get("COLUMNS", "")
    if given.isdigit() and int(given) > 0:
        return max(40, min(int(given), WIDEST))
    if not stream.isatty():
        return 80
    try:
        return max(40, min(os.get_terminal_size(stream.fileno()).columns or 80, WIDEST))
    except OSError:
        return 80
