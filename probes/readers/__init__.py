"""One file per format. A reader sniffs a file's content and turns it into `FileContent`."""

from __future__ import annotations

from typing import Protocol

from ..files import RunFile
from ..run import FileContent


class Reader(Protocol):
    """What a reader module offers: three names at module level."""

    FORMAT: str  # the id shown to users, e.g. "hf-trainer"

    def sniff(self, file: RunFile) -> bool:
        """Say whether this file is of this format, from `file.head` (and its name as a hint). Cheap."""
        ...

    def read(self, file: RunFile) -> FileContent:
        """Read the file. Damaged parts cost themselves and a note; ValueError if nothing is readable."""
        ...
