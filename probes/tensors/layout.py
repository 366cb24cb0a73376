"""What the folders of a dump tell: the step and the rank, also when only a part of the tree was given."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..files import RunFile

_ABOVE = 4  # folders above the path that was given, which may still tell


def folders(file: RunFile) -> list[str]:
    """Names of the folders that a file stands in, outermost first, with the last ones above the root."""
    return [*file.root.parts[-_ABOVE:], *file.path.split("/")[:-1]]


def numbered(file: RunFile, word: str) -> int | None:
    """The number of the innermost folder called `word`: "rank_1", "step0"; None without one."""
    for folder in reversed(folders(file)):
        found = re.fullmatch(rf"{word}[_-]?(\d{{1,12}})", folder)
        if found:
            return int(found[1])
    return None


def by_folder(files: Mapping[str, RunFile]) -> dict[str, list[RunFile]]:
    """Group files by the folder that they stand in ("" for the root)."""
    found: dict[str, list[RunFile]] = {}
    for path, file in files.items():
        found.setdefault(path.rpartition("/")[0], []).append(file)
    return found
