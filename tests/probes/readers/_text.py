"""Helpers of the tests of the text-log reader."""

from __future__ import annotations

from pathlib import Path

from traindoctor.probes.assembly.names import canonical
from traindoctor.probes.files import RunFile
from traindoctor.probes.readers import text_log
from traindoctor.probes.run import Event, EventKind, FileContent, Series


def file_of(folder: Path, data: bytes | str, name: str = "train.log") -> RunFile:
    """Write a file and describe it as the walk would."""
    content = data.encode() if isinstance(data, str) else data
    (folder / name).write_bytes(content)
    return RunFile(folder, name, len(content))


def read(folder: Path, data: bytes | str, name: str = "train.log") -> FileContent:
    """Read a log, which the reader must recognise."""
    file = file_of(folder, data, name)
    assert text_log.sniff(file)
    return text_log.read(file)


def curve(content: FileContent, name: str, rank: int | None = None) -> Series:
    """The longest curve of a canonical name."""
    found = [s for s in content.series if canonical(s.raw, s.split) == name and s.rank == rank]
    assert found, [s.raw for s in content.series]
    return max(found, key=len)


def points(content: FileContent, name: str, rank: int | None = None) -> list[tuple[float, float]]:
    """The (step, value) pairs of the longest curve of a canonical name."""
    series = curve(content, name, rank)
    return list(zip(series.steps.tolist(), series.values.tolist(), strict=True))


def names(content: FileContent) -> set[str]:
    """The canonical names of all curves."""
    return {n for s in content.series if (n := canonical(s.raw, s.split))}


def events(content: FileContent, *kinds: EventKind) -> list[Event]:
    """The events of these kinds."""
    return [e for e in content.events if e.kind in kinds]
