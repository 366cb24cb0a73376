"""A line on stderr that tells how far reading is, where somebody looks at a terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from .output import columns, fitting

LARGE = 16 * 1024**2  # bytes from which there is a bar
WIDTH = 24
PAUSE = 0.1  # seconds between two states


class Line:
    """Shows the file at hand, and for large inputs a bar over all of them."""

    def __init__(self) -> None:
        self.shown = 0.0

    def __call__(self, file: str, done: float = 0.0, total: float = 0.0) -> None:
        """Show a state; `done` and `total` in bytes, or any other measure of work."""
        now = time.monotonic()
        if now - self.shown < PAUSE:
            return
        self.shown = now
        from ..reports.text import plain

        line = f"reading {bar(done, total)}{plain(file, columns(sys.stderr) - WIDTH - 20)}"
        sys.stderr.write(f"\r\x1b[K{fitting(line, sys.stderr)}")
        sys.stderr.flush()


def bar(done: float, total: float) -> str:
    """Return a bar with the share in percent; nothing for small inputs."""
    if total < LARGE:
        return ""
    share = min(1.0, max(0.0, done / total))
    filled = int(share * WIDTH)
    return f"[{'#' * filled}{'.' * (WIDTH - filled)}] {share:4.0%}  "


def watched(quiet: bool) -> bool:
    """Whether somebody looks: stderr is a terminal that can move its cursor, and nothing asks for silence."""
    return not quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("CI")


@contextmanager
def progressing(quiet: bool) -> Iterator[Line | None]:
    """Give what shows the progress, and wipe it off in the end; None where nobody looks."""
    looked_at = watched(quiet)
    try:
        yield Line() if looked_at else None
    finally:
        if looked_at:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
