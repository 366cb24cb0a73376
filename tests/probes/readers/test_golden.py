"""Every reader has golden files, reads them itself, and gives what docs/formats.md says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from traindoctor.probes.assembly.contents import READERS, readers
from traindoctor.probes.files import RunFile
from traindoctor.probes.readers import Reader
from traindoctor.probes.run import FileContent

from ._golden import GOLDEN, content_of, data_of, golden_files

READER: dict[str, Reader] = dict(zip(READERS, readers(), strict=True))
_ENVIRONMENT = ("version:", "framework", "device")
SEEN: dict[str, Callable[[FileContent], bool]] = {
    "scalars": lambda c: bool(c.series),
    "steps": lambda c: any(s.unit in ("step", "iteration") for s in c.series),
    "epochs": lambda c: any(s.epochs is not None or s.unit == "epoch" for s in c.series),
    "walls": lambda c: any(s.walls is not None for s in c.series),
    "lines": lambda c: any(s.lines is not None for s in c.series) or any(s.line for s in c.settings),
    "settings": lambda c: bool(c.settings),
    "environment": lambda c: any(k.startswith(_ENVIRONMENT) for k in c.facts),
    "ranks": lambda c: any(s.rank is not None for s in c.series),
    "restarts": lambda c: any(e.kind in ("resume", "restart") for e in c.events),
}


@pytest.mark.parametrize("name", READERS)
def test_a_reader_has_golden_files_and_reads_them(name: str) -> None:
    """Each golden file is taken by its own reader and by none that is asked before it."""
    files = [path for reader, path in golden_files() if reader == name]

    assert files, f"put a small file into {GOLDEN.name}/{name}/"
    for path in files:
        file = RunFile(GOLDEN / name, path, len(data_of(name, path)))
        first = next(n for n in READERS if READER[n].sniff(file))
        assert first == name, path
        assert content_of(name, path).format


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("column", sorted(SEEN))
def test_a_format_gives_what_is_said_of_it(name: str, column: str) -> None:
    """ "yes" and "where written" are seen in a golden file, "no" is seen in none."""
    contents = [content_of(reader, path) for reader, path in golden_files() if reader == name]
    said = getattr(READER[name].GIVES, column)
    seen = any(map(SEEN[column], contents))

    assert seen == (said != "no"), (said, [c.format for c in contents])


@pytest.mark.parametrize("name", READERS)
def test_what_is_always_there_is_in_every_file_that_has_curves(name: str) -> None:
    """ "yes" of what belongs to points holds for every golden file with curves."""
    for reader, path in golden_files():
        content = content_of(reader, path)
        if reader == name and content.series:
            for column in ("steps", "epochs", "walls", "lines"):
                if getattr(READER[name].GIVES, column) == "yes":
                    assert SEEN[column](content), (path, column)
