"""Tables of comparison results: CSV, and the sheets of an XLSX file.

An XLSX file is a zip of XML. Its XML is read as a stream, with a cap on what it unpacks to, and refused when
it declares a document type: without one there are no entities to expand.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

from ..files import RunFile
from .npy import Unreadable

MAX_BYTES = 512 * 1024**2
MAX_ROWS = 2_000_000
CHUNK = 1 << 16
_SPACE = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def rows(file: RunFile, sheet: str = "") -> Iterator[list[str]]:
    """Yield the rows of a table as text: of an XLSX file those of the first sheet, or of the one called so.

    Raises Unreadable or OSError.
    """
    if file.size > MAX_BYTES:
        raise Unreadable(f"larger than {MAX_BYTES >> 20} MiB")
    if file.suffix == ".xlsx":
        yield from _xlsx(file, sheet)
        return
    csv.field_size_limit(1 << 24)
    reader = csv.reader(io.StringIO(file.read_text().replace("\0", "")))
    try:
        for number, row in enumerate(reader):
            if number >= MAX_ROWS:
                return
            yield row
    except csv.Error as error:
        raise Unreadable(f"damaged: {error}") from error


def peek(file: RunFile) -> str:
    """The beginning of the texts of an XLSX file, with its headers; "" for any other. Raises OSError."""
    if file.suffix != ".xlsx" or not file.head.startswith(b"PK"):
        return ""
    try:
        with file.open() as handle, zipfile.ZipFile(handle) as archive:
            texts = []
            for name in ("xl/sharedStrings.xml", "xl/workbook.xml", "xl/worksheets/sheet1.xml"):
                if name in archive.NameToInfo:
                    with archive.open(name) as stream:
                        texts.append(stream.read(CHUNK).decode("utf-8", "replace"))
            return "\n".join(texts)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError):
        return ""


def _xlsx(file: RunFile, called: str) -> Iterator[list[str]]:
    with file.open() as handle:
        try:
            with zipfile.ZipFile(handle) as archive:
                names = set(archive.namelist())
                words = []
                if "xl/sharedStrings.xml" in names:
                    for item in _elements(archive, "xl/sharedStrings.xml", "si"):
                        words.append(_text(item))
                sheets = sorted(
                    (n for n in names if re.fullmatch(r"xl/worksheets/sheet\d+\.xml", n)),
                    key=lambda n: (len(n), n),
                )
                if not sheets:
                    raise Unreadable("no sheet in it")
                titles = (
                    [e.get("name") for e in _elements(archive, "xl/workbook.xml", "sheet")] if called else []
                )
                if called and (called not in titles or len(titles) != len(sheets)):
                    raise Unreadable(f"no sheet called {called} in it")
                at = titles.index(called) if called else 0
                for number, row in enumerate(_elements(archive, sheets[at], "row")):
                    if number >= MAX_ROWS:
                        return
                    yield _cells(row, words)
        except (
            zipfile.BadZipFile,
            ElementTree.ParseError,
            NotImplementedError,
            RuntimeError,
            EOFError,
        ) as error:
            raise Unreadable(f"damaged: {error}") from error


def _elements(archive: zipfile.ZipFile, member: str, tag: str) -> Iterator[ElementTree.Element]:
    """Yield every element of a name, each forgotten once it was looked at."""
    parser: Any = ElementTree.XMLPullParser(("start", "end"))  # no document type gets through to it
    read = 0
    tail = b""
    root: ElementTree.Element | None = None
    with archive.open(member) as stream:
        while chunk := stream.read(CHUNK):
            read += len(chunk)
            if read > MAX_BYTES:
                raise Unreadable(f"unpacks to more than {MAX_BYTES >> 20} MiB")
            if b"<!DOCTYPE" in (tail + chunk).upper() or b"\0" in chunk:
                raise Unreadable("its XML declares a document type, which no spreadsheet does")
            tail = chunk[-16:]
            parser.feed(chunk)
            for event, element in parser.read_events():
                if root is None:
                    root = element
                elif event == "end" and element.tag == _SPACE + tag:
                    yield element
                    element.clear()
                    root.clear()


def _text(element: ElementTree.Element) -> str:
    return "".join(t.text or "" for t in element.iter(_SPACE + "t"))


def _cells(row: ElementTree.Element, words: list[str]) -> list[str]:
    found: list[str] = []
    for cell in row.iter(_SPACE + "c"):
        letters = re.match(r"[A-Z]{1,3}", cell.get("r") or "")
        column = _column(letters[0]) if letters else len(found)
        found.extend([""] * (column - len(found)))
        value = cell.find(_SPACE + "v")
        text = (value.text or "") if value is not None else _text(cell)
        if cell.get("t") == "s":
            text = words[int(text)] if text.isdigit() and int(text) < len(words) else ""
        found.append(text)
    return found


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1
