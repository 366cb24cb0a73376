"""JSON documents that were cut off: what is whole of them."""

from __future__ import annotations

import json
import re
from typing import Any

MAX_OPEN = 200
_MARK = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},]')


def load_cut(text: str) -> tuple[Any, int]:
    """Load a document whose end is missing, up to its last whole element.

    Returns it with the number of the line where it breaks off. Raises ValueError when nothing is whole, or
    when the document is wrong before its end.
    """
    open_: list[str] = []
    whole: tuple[int, tuple[str, ...]] | None = None
    for match in _MARK.finditer(text):
        mark = match.group()
        if mark in "[{":
            open_.append("]" if mark == "[" else "}")
            if len(open_) > MAX_OPEN:
                break
        elif mark in "]}":
            if not open_ or open_.pop() != mark:
                break
            whole = match.end(), tuple(open_)
        elif mark == "," and open_:
            whole = match.start(), tuple(open_)
    if whole is None or not whole[1]:
        raise ValueError("nothing in it is whole")
    end, missing = whole
    return json.loads(text[:end] + "".join(reversed(missing))), text.count("\n", 0, end) + 1
