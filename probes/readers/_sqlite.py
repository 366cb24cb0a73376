"""Databases of sqlite, opened for reading only."""

from __future__ import annotations

import sqlite3
import time
from urllib.parse import quote

from ..files import RunFile

MAGIC = b"SQLite format 3\0"
MAX_SECONDS = 60.0


def connected(file: RunFile) -> sqlite3.Connection:
    """Open a database for reading only; nothing is written beside it, and no query runs for ever."""
    connection = sqlite3.connect(f"file:{quote(str(file.local()))}?mode=ro&immutable=1", uri=True)
    connection.text_factory = lambda data: data.decode("utf-8", errors="replace")
    deadline = time.monotonic() + MAX_SECONDS
    connection.set_progress_handler(lambda: time.monotonic() > deadline, 100_000)
    connection.execute("PRAGMA trusted_schema=OFF")
    return connection
