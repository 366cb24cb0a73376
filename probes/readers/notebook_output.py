"""What the cells of a Jupyter notebook printed: curves, events and settings as in a text log, cell by cell.

A notebook often trains several times. Cells whose curves go on where those of one before them end are one
run; of several runs the last one that is worth judging is kept, as in a log that holds several.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from typing import Any

from ..assembly import names, segments, starts
from ..files import RunFile
from ..run import FileContent, Series
from . import notebook
from .text.lines import lines_of
from .text.log import Log

FORMAT = "notebook-output"
MAX_OUTPUTS = 20_000  # of a cell: each line that a program flushes may be one
MAX_CELLS = 2_000
WORTH = 5  # points of a curve that is judged
TRAINED = 3  # points from which a cell is one that trains
_PLACES = frozenset({"epoch", "step", "steps", "iter", "iteration"})
_NO_VALUE = frozenset({"", "no log", "none"})  # "nan" is what a loss has become


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """What a cell printed, or one table of progress in it."""

    place: int  # in the order of the notebook
    cell: int  # its number, from 1
    content: FileContent
    curve: Series | None  # its main curve, if it trains

    @property
    def tells(self) -> bool:
        return bool(self.content.series or self.content.events or self.content.settings)


def read(file: RunFile) -> FileContent | None:
    """Return what the cells of a notebook printed of one training; None where they printed nothing of any."""
    try:
        found = notebook.cells_of(notebook.document_of(file))
    except ValueError:
        return None
    texts = ((n, text) for n, cell in enumerate(found[:MAX_CELLS], 1) for text in _texts(cell))
    parts = [_part(file.path, place, n, text) for place, (n, text) in enumerate(texts)]
    contents, notes = _of_one_run([p for p in parts if p.tells])
    if not contents:
        return None
    return FileContent(
        FORMAT,
        series=tuple(s for c in contents for s in c.series),
        settings=tuple(s for c in contents for s in c.settings),
        events=tuple(e for c in contents for e in c.events),
        facts={k: v for c in contents for k, v in c.facts.items()},
        notes=(*notes, *dict.fromkeys(n for c in contents for n in c.notes)),
    )


def _texts(cell: Any) -> Iterator[str]:
    """What a cell printed, its tables of progress each by itself: each may be of another training.

    Lines keep their numbers in the whole by empty ones before them.
    """
    if not isinstance(cell, dict) or cell.get("cell_type") != "code":
        return
    text, lines = "", 0
    for printed, is_table in _printed(cell):
        if is_table:
            yield "\n" * lines + text
            lines += text.count("\n")
            yield "\n" * lines + printed
            text, lines = "", lines + printed.count("\n")
        else:
            text += printed
    yield "\n" * lines + text


def _part(path: str, place: int, cell: int, text: str) -> _Part:
    log = Log(notebook.output_label(path, cell))
    if text.strip():
        log.feed(lines_of(text.encode("utf-8", "replace")))
    content = log.content()
    curve = starts.main_curve(content.series) or _longest(content.series)
    return _Part(place, cell, content, curve if curve is not None and len(curve) >= TRAINED else None)


def _longest(series: Iterable[Series]) -> Series | None:
    """A loss without a count of steps: rows of "loss: 0.3" alone."""
    losses = [s for s in series if names.canonical(s.raw, s.split) in ("train/loss", "eval/loss")]
    return max(losses, key=len, default=None)


def _of_one_run(parts: Sequence[_Part]) -> tuple[list[FileContent], list[str]]:
    """What belongs to the last training that is worth judging, and a note where there are several.

    Scores count that were printed between it and the next training; what the cells of others tell of settings
    and events counts up to there.
    """
    trained = [p for p in parts if p.curve is not None]
    if not trained:
        return [p.content for p in parts], []
    runs = segments.chains(trained, _goes_on)
    longest = max(map(_points, runs))
    chosen = next(run for run in reversed(runs) if _points(run) >= min(WORTH, longest))
    own = {p.place for p in chosen}
    later = [p.place for p in trained if p.place > chosen[-1].place]
    stop = later[0] if later else len(parts) + parts[-1].place
    contents = []
    for part in parts:
        if part.place >= stop or (part.curve is not None and part.place not in own):
            continue
        content = part.content
        if content.series and part.place < chosen[0].place:  # what it was set to may be of another training
            content = replace(content, series=(), settings=())
        contents.append(content)
    if len(runs) == 1:
        return contents, []
    others = dict.fromkeys(f"cell {run[0].cell}" for run in runs if run is not chosen)
    note = f"{len(runs)} trainings one after the other; that of cell {chosen[0].cell} is looked at"
    return contents, [f"{note} (others: {', '.join(others)})"]


def _points(run: Sequence[_Part]) -> int:
    return sum(len(c.curve) for c in run if c.curve is not None)


def _goes_on(first: _Part, before: _Part, after: _Part) -> bool:
    if first.curve is None or before.curve is None or after.curve is None:
        return False
    kinds = {(c.curve.raw, c.curve.unit) for c in (before, after) if c.curve is not None}
    return len(kinds) == 1 and segments.goes_on(first.curve, before.curve, after.curve)


def _printed(cell: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """What a code cell printed, output by output, and whether that is a table of progress."""
    outputs = cell.get("outputs")
    before, stream_before = "", ""
    for output in outputs[:MAX_OUTPUTS] if isinstance(outputs, list) else ():
        if not isinstance(output, dict):
            continue
        kind = output.get("output_type")
        stream = str(output.get("name") or output.get("stream") or "out") if kind == "stream" else ""
        if stream:
            text = _text(output.get("text"))
        elif kind in ("error", "pyerr"):
            said = f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"
            text = f"Traceback (most recent call last):\n{said}\n"
        else:
            data = output.get("data")
            text = _shown(data if isinstance(data, dict) else output)
        if before and not before.endswith("\n") and not (stream and stream == stream_before):
            yield "\n", False
        yield text, bool(text) and _is_html(output)
        before, stream_before = text or before, stream
    yield "\n", False


def _is_html(output: dict[str, Any]) -> bool:
    data = output.get("data", output)
    return isinstance(data, dict) and bool(_text(data.get("text/html") or data.get("html")))


def _shown(data: dict[str, Any]) -> str:
    """A result or display: rows of the tables that count training, else plain text that is no such table."""
    html = _text(data.get("text/html") or data.get("html"))
    if html:
        return "".join(_progress(html))
    plain = _text(data.get("text/plain") or data.get("text"))
    return "" if plain.startswith("<") else f"{plain}\n"


def _progress(html: str) -> Iterator[str]:
    """Tables of fastai and of Trainer in a notebook: a column that counts steps or epochs, then metrics."""
    tables = _Tables()
    tables.feed(html)
    for table in tables.found:
        head, *rows = table
        if not head or head[0].lower() not in _PLACES:
            continue
        title = [re.sub(r"\s+", "_", name.lower()) for name in head]
        for row in rows:
            pairs = zip(title, row, strict=False)
            yield " ".join(f"{k}={v}" for k, v in pairs if v.lower() not in _NO_VALUE) + "\n"


class _Tables(HTMLParser):
    """The cells of each table of a page, row by row."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[list[list[str]]] = []
        self._open = False

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - the parser gives them
        if tag == "table":
            self.found.append([])
        elif tag == "tr" and self.found:
            self.found[-1].append([])
        elif tag in ("td", "th") and self.found and self.found[-1]:
            self.found[-1][-1].append("")
            self._open = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th", "tr", "table"):
            self._open = False

    def handle_data(self, data: str) -> None:
        if self._open:
            self.found[-1][-1][-1] += data.strip()


def _text(value: Any) -> str:
    """A text of the notebook format: a string, or a list of its lines."""
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""
