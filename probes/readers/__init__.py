"""One file per format. A reader sniffs a file's content and turns it into `FileContent`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from ..files import RunFile
from ..run import FileContent

Said = Literal["yes", "some", "no"]  # always, where it was written down, never


@dataclass(frozen=True, slots=True)
class Gives:
    """What files of a format can tell: the row of docs/formats.md, held against the reader's golden files."""

    title: str
    files: str  # how such files are called, in a user's words
    lacks: str  # what cannot be had from them, one sentence
    scalars: Said = "no"
    steps: Said = "no"  # training steps or iterations, as the file counts them
    epochs: Said = "no"
    walls: Said = "no"  # the time of day of each point
    lines: Said = "no"  # the line in the file of each point or setting
    settings: Said = "no"
    environment: Said = "no"  # framework, versions, device
    ranks: Said = "no"  # in the file itself; a rank in a file's name or folder counts for every format
    restarts: Said = "no"  # said in the file; a step that goes back is noticed in every format with steps


class Reader(Protocol):
    """What a reader module offers: four names at module level."""

    FORMAT: str  # the id shown to users, e.g. "hf-trainer"
    GIVES: Gives

    def sniff(self, file: RunFile) -> bool:
        """Say whether this file is of this format, from `file.head` (and its name as a hint). Cheap."""
        ...

    def read(self, file: RunFile) -> FileContent:
        """Read the file. Damaged parts cost themselves and a note; ValueError if nothing is readable."""
        ...
