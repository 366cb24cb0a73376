"""What a log prints of the columns of a table: pandas' `describe()`, as it is or turned round."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...run import Event

LOOK = 256 * 1024  # a table is described before training begins
APART = 1000.0  # times from the smallest to the largest deviation
LEAST = 3  # columns
_ROWS = re.compile(
    rb"^([ \t]+\S[^\n]*)\n[ \t]*count[ \t]+[^\n]+\n[ \t]*mean[ \t]+[^\n]+\n[ \t]*std[ \t]+([^\n]+)\n"
    rb"[ \t]*min[ \t]",
    re.MULTILINE,
)
_TURNED = re.compile(
    rb"^[ \t]*count[ \t]+mean[ \t]+std[ \t]+min[ \t][^\n]*\n"
    rb"((?:[^\n]{0,120}\S[ \t]+[-\d.e+]+(?:[ \t]+[-\d.e+naNA]+){5,7}[ \t]*\n)+)",
    re.MULTILINE,
)


def _deviations(head: bytes) -> tuple[int, dict[str, float]] | None:
    """The place of the table and the deviation of each of its columns."""
    found: dict[str, float] = {}
    first = None
    for rows in _ROWS.finditer(head):  # a wide table is cut into several
        names, told = rows[1].rstrip(b" \t\\\r").split(), rows[2].rstrip(b" \t\\\r").split()
        if len(names) == len(told):
            first = rows.start() if first is None else first
            found |= _numbers(zip(names, told, strict=True))
    if first is None and (turned := _TURNED.search(head)) is not None:
        first = turned.start()
        found = _numbers(
            (row.split()[0], row.split()[-6]) for row in turned[1].splitlines() if len(row.split()) >= 8
        )
    return None if first is None else (first, found)


def _numbers(pairs: Iterable[tuple[bytes, bytes]]) -> dict[str, float]:
    kept = {}
    for name, value in pairs:
        try:
            kept[name.decode("utf-8", "replace")] = float(value)
        except ValueError:
            continue
    return kept


def columns_apart(data: bytes, file: str, rank: int | None) -> tuple[Event, ...]:
    """The event of a described table whose columns deviate by very different amounts."""
    head = data[:LOOK]
    if b"std" not in head or b"count" not in head or (table := _deviations(head)) is None:
        return ()
    at, found = table
    spread = {name: value for name, value in found.items() if value > 0}
    if len(spread) < LEAST:
        return ()
    least, most = min(spread, key=lambda n: spread[n]), max(spread, key=lambda n: spread[n])
    if spread[most] < APART * spread[least]:
        return ()
    ends = f"{least} (deviation {spread[least]:g}) to {most} ({spread[most]:g})"
    text = f"the table that is described has columns from {ends}"
    line = head.count(b"\n", 0, at) + 1
    return (Event("worked-out", file, line, rank=rank, text=text, data="columns-apart"),)
