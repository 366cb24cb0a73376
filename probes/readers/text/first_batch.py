"""The range of the first batch as a log prints it: `first batch images min=0.0 max=255.0 mean=114.8`."""

from __future__ import annotations

import re

from ...run import Event

DATA = "first-batch"
LOOK = 512 * 1024  # it is printed before the first step, or with it
_OF_INPUTS = re.compile(
    r"(?i)\b(?:input|image|img|pixel|batch|sample|data|feature)s?(?:_values)?\b|(?<![\w.])x(?![\w.])"
)
_OTHER = re.compile(
    r"(?i)label|target|loss|grad|\blr\b|learning|weight|param|logit|output|pred|time|token|(?<![a-z])ids?(?![a-z])"
    r"|mask|length|accura|kernel|step\W{0,2}[1-9]|iter\w*\W{0,2}[1-9]|epoch\W{0,2}[1-9]|/s\b|memory|\bmb\b|\bms\b"
)
_N = r"(-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)(?![\w.])"
_RANGE = re.compile(rf"(?i)\brange\W{{0,3}}[\[(]?\s*{_N}\s*(?:,|to|\.\.+|~)\s*{_N}")


def printed(data: bytes, file: str, rank: int | None) -> tuple[Event, ...]:
    """The event of the first such line; its value is how far apart the largest and the least value are."""
    head = data[:LOOK]
    if re.search(rb"(?i)\bmin|\brange\b", head) is None:
        return ()
    for number, line in enumerate(head.decode("utf-8", "replace").split("\n"), 1):
        told = _range(line)
        if told is not None and told[1] > told[0]:
            low, high = told
            text = f"a batch that is printed reaches from {low:g} to {high:g}"
            return (Event("worked-out", file, number, None, high - low, rank, text, DATA),)
    return ()


def _range(line: str) -> tuple[float, float] | None:
    if len(line) > 500 or not _OF_INPUTS.search(line) or _OTHER.search(line):
        return None
    if (both := _RANGE.search(line)) is not None:
        return float(both[1]), float(both[2])
    ends = [re.search(rf"(?i)(?<![a-z]){word}(?:imum)?\s*[=:]?\s*{_N}", line) for word in ("min", "max")]
    if ends[0] is None or ends[1] is None:
        return None
    return float(ends[0][1]), float(ends[1][1])
