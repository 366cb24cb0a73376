"""docs/formats.md: what each format gives and what cannot be had from it, from the readers themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..probes.files import CLOSED_DIRS
from ..probes.readers import Gives, Said

NOTE = "<!-- Written by `diagnose rules docs` from the readers in probes/readers; edit their GIVES. -->"
COLUMNS = {
    "scalars": "scalars",
    "steps": "steps",
    "epochs": "epochs",
    "walls": "time of day",
    "lines": "line in the file",
    "settings": "settings",
    "environment": "environment",
    "ranks": "ranks",
    "restarts": "restarts",
}
SHOWN: Mapping[Said, str] = {"yes": "yes", "some": "where written", "no": "–"}


def formats_page(formats: Mapping[str, Gives]) -> str:
    """Return the page as markdown; `formats` maps the format's id to what it gives."""
    return "\n".join(_lines(formats)).rstrip("\n") + "\n"


def _lines(formats: Mapping[str, Gives]) -> Iterator[str]:
    yield from (NOTE, "", "# Formats", "")
    yield "What `diagnose` gets out of the files that training leaves. Files are recognised by what they"
    yield "hold; their names are hints. Nothing is executed or unpickled, every value is taken as written; a"
    yield "damaged part costs itself and a note."
    yield from ("", f"| Format | {' | '.join(COLUMNS.values())} |", "| --- |" + " --- |" * len(COLUMNS))
    for name, gives in formats.items():
        cells = [SHOWN[getattr(gives, column)] for column in COLUMNS]
        yield f"| [{gives.title}](#{name}) | {' | '.join(cells)} |"
    yield ""
    yield "*where written*: only if whoever wrote the file put it there. For every format a rank in the name"
    yield "of a file or folder counts (`rank_3/`, `log.rank3.txt`), and a step that goes back is taken for a"
    yield "resumed run."
    yield ""
    yield "No metrics in here, for `diagnose`:"
    yield ""
    for folder, why in CLOSED_DIRS.items():
        yield f"- `{folder}/`: {why}."
    for name, gives in formats.items():
        yield from ("", f"## {name}", "", f"{gives.title}: {gives.files}.", "", f"Not in them: {gives.lacks}")
