"""The golden files: golden/<reader>/ holds small files that this reader reads, laid out like a run."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from traindoctor.probes.assembly.contents import READERS, _read, readers
from traindoctor.probes.files import RunFile, walk
from traindoctor.probes.run import FileContent

GOLDEN = Path(__file__).resolve().parent / "golden"


def golden_files() -> list[tuple[str, str]]:
    """(reader, path below its folder) of every golden file; a reader without one fails in test_golden."""
    return [
        (name, file.path) for name in READERS if (GOLDEN / name).is_dir() for file in walk(GOLDEN / name)[0]
    ]


def data_of(name: str, path: str) -> bytes:
    return (GOLDEN / name / path).read_bytes()


def placed(root: Path, path: str, data: bytes) -> RunFile:
    """A file of a run directory `root` with this content."""
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_bytes(data)
    return RunFile(root, path, len(data))


@cache
def content_of(name: str, path: str) -> FileContent:
    """What is read out of a golden file."""
    content, reason = tried(RunFile(GOLDEN / name, path, len(data_of(name, path))))
    assert content is not None, reason
    return content


def tried(file: RunFile) -> tuple[FileContent | None, str]:
    """What the tool makes of a file: its content, or why there is none. No reader may crash."""
    content, reason = _read(file, readers())
    assert not (reason or "").startswith("reader error"), (file.path, reason)
    return content, reason or ""


def points(content: FileContent | None) -> dict[tuple[object, ...], list[tuple[float, float]]]:
    """Steps and values of every curve, by name, data, rank and what its steps count."""
    found: dict[tuple[object, ...], list[tuple[float, float]]] = {}
    for series in content.series if content else ():
        pairs = zip(series.steps.tolist(), series.values.tolist(), strict=True)
        found.setdefault((series.raw, series.split, series.rank, series.unit), []).extend(pairs)
    return found
