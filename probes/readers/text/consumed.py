"""Megatron's count of samples, which goes on with the iterations unless a restart begins it anew."""

from __future__ import annotations

import re

from ...run import Event

DATA = "samples-begin-anew"
LOOK = 4 * 1024 * 1024  # the first rows after a restart
_LOADED = re.compile(rb"loaded checkpoint .{0,300}? at iteration +(\d{1,9})\b")
_ROW = re.compile(
    rb"\biteration +(\d{1,9})/ *\d+ \| consumed samples: +(\d{1,12}) \|[^\n]{0,300}?"
    rb"\bglobal batch size: +(\d{1,7}) "
)


def begun_anew(data: bytes, file: str, rank: int | None) -> tuple[Event, ...]:
    """The event of a log that goes on with the iterations, and counts its samples from zero."""
    head = data[:LOOK]
    loaded = _LOADED.search(head)
    row = _ROW.search(head, loaded.end()) if loaded is not None else None
    if loaded is None or row is None or not int(loaded[1]):
        return ()
    since, (iteration, consumed, batch) = int(loaded[1]), map(int, row.groups())
    if not iteration > since or consumed != (iteration - since) * batch:
        return ()
    line = data.count(b"\n", 0, row.start()) + 1
    text = (
        f"training goes on from iteration {since}, and the samples are counted from zero: {consumed} consumed"
        f" at iteration {iteration}, with {batch} to each"
    )
    return (Event("worked-out", file, line, float(iteration), consumed, rank, text, DATA),)
